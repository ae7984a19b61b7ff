//! GradBench's protocol: a message of JSON on each line of the input, an answer on a line of the output, strictly in turn.
//!
//! What a line holds is never trusted. A line that is no JSON, or not the message it should be, has an answer that says so, with
//! the `id` of the message wherever one could be read, even out of a line that breaks off behind it. Of a line only its fields
//! are taken apart here; the input of an evaluation is read by its module, into numbers of eight bytes.

mod envelope;

use std::collections::BTreeSet;
use std::io::{self, BufRead, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};

use serde::Serialize;
use serde_json::Number;

use self::envelope::Envelope;
use crate::modules::{Failure, Measured, Module, Output, Settings, Timing};

/// The bytes that a line may have, unless [`Tool::longest_line`] says otherwise. The longest message of the public evals, the
/// largest hand with 100,000 correspondences, has about twenty million.
pub const LONGEST_LINE: usize = 1 << 30;

/// A session: what was started and defined so far.
///
/// ```
/// use wengert_gradbench::modules::Settings;
/// use wengert_gradbench::protocol::Tool;
///
/// let mut tool = Tool::new(Settings::default());
/// assert_eq!(tool.answer(br#"{"id": 0, "kind": "start", "eval": "hello"}"#), r#"{"id":0,"tool":"wengert"}"#);
/// assert_eq!(tool.answer(br#"{"id": 1, "kind": "define", "module": "hello"}"#), r#"{"id":1,"success":true}"#);
/// let answer = tool.answer(br#"{"id": 2, "kind": "evaluate", "module": "hello", "function": "double", "input": 8}"#);
/// assert!(answer.starts_with(r#"{"id":2,"success":true,"output":16.0,"#), "{answer}");
/// ```
#[derive(Debug)]
pub struct Tool {
    settings: Settings,
    longest_line: usize,
    /// The modules that were defined. None as long as nothing was started or defined: evaluations alone, as recorded
    /// conversations have them, are answered; in a session each module has to be defined first.
    defined: Option<BTreeSet<Module>>,
}

impl Tool {
    /// A session that begins.
    pub fn new(settings: Settings) -> Self {
        Tool { settings, longest_line: LONGEST_LINE, defined: None }
    }

    /// Lines with more bytes are not kept; they are answered with an error.
    #[must_use]
    pub fn longest_line(mut self, bytes: usize) -> Self {
        self.longest_line = bytes;
        self
    }

    /// Answers every line of the input until it ends.
    ///
    /// # Errors
    /// If reading or writing fails; nothing that a line holds is an error here.
    pub fn serve(&mut self, mut input: impl BufRead, mut output: impl Write) -> io::Result<()> {
        let mut line = Vec::new();
        loop {
            let answer = match read_line(&mut input, &mut line, self.longest_line)? {
                Line::End => return Ok(()),
                Line::Whole => self.answer(&line),
                Line::TooLong => {
                    let why = format!("the line has more than {} bytes", self.longest_line);
                    Reply::refused(None, why).to_line()
                }
            };
            output.write_all(answer.as_bytes())?;
            output.write_all(b"\n")?;
            output.flush()?;
        }
    }

    /// The answer to a line, without a line break.
    pub fn answer(&mut self, line: &[u8]) -> String {
        let mut message = Envelope::default();
        let read = message.read(line);
        let id = message.id.clone();
        let reply = match (read, &id) {
            (Err(why), _) => Reply::refused(id, why),
            (Ok(()), None) => Reply::refused(None, "the message has no `id`".to_owned()),
            (Ok(()), Some(_)) => self.reply(&message).unwrap_or_else(|why| Reply::refused(id, why.to_string())),
        };
        reply.to_line()
    }

    fn reply(&mut self, message: &Envelope<'_>) -> Result<Reply, Failure> {
        let id = message.id.clone();
        match message.text("kind", message.kind)?.as_str() {
            "start" => {
                message.text("eval", message.eval)?;
                self.defined = Some(BTreeSet::new());
                Ok(Reply { tool: Some("wengert"), ..Reply::to(id) })
            }
            "define" => {
                let module = Module::named(&message.text("module", message.module)?)?;
                self.defined.get_or_insert_default().insert(module);
                Ok(Reply { success: Some(true), ..Reply::to(id) })
            }
            "evaluate" => {
                let measured = self.evaluate(message)?;
                let (output, timings) = (Some(measured.output), Some(measured.timings));
                Ok(Reply { success: Some(true), output, timings, ..Reply::to(id) })
            }
            "analysis" => message.check_analysis().map(|()| Reply::to(id)),
            _ => Ok(Reply::to(id)),
        }
    }

    fn evaluate(&self, message: &Envelope<'_>) -> Result<Measured, Failure> {
        let module = Module::named(&message.text("module", message.module)?)?;
        if self.defined.as_ref().is_some_and(|defined| !defined.contains(&module)) {
            return Err(Failure::new(format!("module `{}` was not defined in this session", module.name())));
        }
        let function = message.text("function", message.function)?;
        let input = message.input.ok_or_else(|| Failure::new("the message has no `input`"))?;
        // What an input can cause is an error of the module; a panic would be a mistake of ours, and must not end the session.
        let done = catch_unwind(AssertUnwindSafe(|| module.evaluate(&function, input.get(), &self.settings)));
        let measured = done.unwrap_or_else(|panic| Err(Failure::of_panic(panic.as_ref())))?;
        measured.output.check_finite()?;
        Ok(measured)
    }
}

/// An answer; what is absent is not written.
#[derive(Debug, Serialize)]
struct Reply {
    id: Option<Number>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    success: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output: Option<Output>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    timings: Option<Vec<Timing>>,
}

impl Reply {
    fn to(id: Option<Number>) -> Reply {
        Reply { id, tool: None, success: None, output: None, error: None, timings: None }
    }

    fn refused(id: Option<Number>, why: String) -> Reply {
        Reply { success: Some(false), error: Some(why), ..Reply::to(id) }
    }

    fn to_line(&self) -> String {
        serde_json::to_string(self).unwrap_or_else(|why| {
            // Not reached by what is known: an answer holds texts, finite numbers and lists of them.
            let refused = Reply::refused(self.id.clone(), why.to_string());
            serde_json::to_string(&refused).expect("texts and a number")
        })
    }
}

enum Line {
    Whole,
    TooLong,
    End,
}

/// Reads up to a line break or the end; of a line that is too long nothing is kept, but all of it is read.
fn read_line(input: &mut impl BufRead, line: &mut Vec<u8>, most: usize) -> io::Result<Line> {
    line.clear();
    let (mut is_empty, mut is_too_long) = (true, false);
    loop {
        let chunk = match input.fill_buf() {
            Err(why) if why.kind() == io::ErrorKind::Interrupted => continue,
            chunk => chunk?,
        };
        if chunk.is_empty() && is_empty {
            return Ok(Line::End);
        }
        is_empty = false;
        let stop = chunk.iter().position(|&byte| byte == b'\n');
        let part = &chunk[..stop.unwrap_or(chunk.len())];
        is_too_long |= part.len() > most - line.len();
        if is_too_long {
            *line = Vec::new();
        } else {
            line.extend_from_slice(part);
        }
        let is_last = stop.is_some() || chunk.is_empty();
        let used = part.len() + usize::from(stop.is_some());
        input.consume(used);
        if is_last {
            return Ok(if is_too_long { Line::TooLong } else { Line::Whole });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn served(tool: &mut Tool, input: &[u8], chunk: usize) -> Vec<String> {
        let mut output = Vec::new();
        tool.serve(io::BufReader::with_capacity(chunk, input), &mut output).unwrap();
        String::from_utf8(output).unwrap().lines().map(str::to_owned).collect()
    }

    #[test]
    fn each_line_has_one_answer_however_it_arrives() {
        let input =
            b"{\"id\":0,\"kind\":\"other\"}\n\nnothing\r\n{\"id\":7,\"kind\":\"x\"}\r\n{\"id\":8,\"kind\":\"last\"}";
        for chunk in [1, 2, 7, 1000] {
            let answers = served(&mut Tool::new(Settings::default()), input, chunk);
            assert_eq!(answers.len(), 5, "{answers:?}");
            assert_eq!([&answers[0], &answers[3], &answers[4]], [r#"{"id":0}"#, r#"{"id":7}"#, r#"{"id":8}"#]);
            assert!(answers[1..3].iter().all(|answer| answer.starts_with(r#"{"id":null,"success":false,"error":""#)));
        }
    }

    #[test]
    fn a_line_that_is_too_long_is_refused_and_the_next_one_answered() {
        let mut tool = Tool::new(Settings::default()).longest_line(30);
        for length in [30, 31, 32, 5000] {
            let line = format!("{{\"id\":1,\"kind\":\"{}\"}}", "k".repeat(length - 18));
            assert_eq!(line.len(), length);
            let input = format!("{line}\n{{\"id\":2,\"kind\":\"x\"}}\n");
            for chunk in [1, 16, 8192] {
                let answers = served(&mut tool, input.as_bytes(), chunk);
                let first = if length <= 30 {
                    "{\"id\":1}"
                } else {
                    "{\"id\":null,\"success\":false,\"error\":\"the line has more than 30 bytes\"}"
                };
                assert_eq!(answers, [first, "{\"id\":2}"], "{length}, {chunk}");
            }
        }
    }
}
