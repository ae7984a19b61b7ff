//! Text to a [`Program`]: the inverse of printing.
//!
//! ```text
//! program   = "program" "(" [input {"," input}] ")" "{" {equation ends} "return" {value} [ends] "}"
//! input     = value [string] ":" type
//! equation  = [result {"," result}] "=" name ["[" option {"," option} "]"] {value}
//! result    = value ":" type
//! type      = ("bool" | "i64" | "f32" | "f64") "[" [length {"," length}] "]"
//! option    = name "=" (integer | number dtype | word | string | list | program)
//! list      = "[" [(integer {"," integer}) | (list {"," list})] "]"
//! ends      = (line end | ";") {line end | ";"}
//! ```
//!
//! A value is any `v` with digits that is defined once: the numbers of the Program that is read are those of its own
//! order. A line end means something only in braces; elsewhere it is a blank. `#` begins a comment.
//!
//! Operations are typed as they are read, by [`Builder::emit`](super::Builder::emit); the types in the text have to
//! be those that the operations infer. Only options nest, and [`MAX_DEPTH`](grammar::MAX_DEPTH) bounds them.

mod grammar;
mod token;

use std::str::FromStr;

use super::Program;
use crate::error::{Error, ErrorKind};

/// What is wrong with a text, and where.
#[derive(Debug)]
struct Fault {
    /// The place, in bytes.
    at: usize,
    why: String,
    /// Whether no memory can hold it.
    too_large: bool,
}

impl Fault {
    fn new(at: usize, why: impl Into<String>) -> Self {
        Fault { at, why: why.into(), too_large: false }
    }

    /// A size that no memory can hold.
    fn too_large(at: usize, why: impl Into<String>) -> Self {
        Fault { too_large: true, ..Fault::new(at, why) }
    }
}

/// Reads the text form.
///
/// ```
/// use wengert::{Array, Program};
/// let program: Program = "program(v0: f64[]) { v1: f64[] = sin v0; return v1 }".parse()?;
/// assert_eq!(program.to_string(), "program(v0: f64[]) {\n  v1: f64[] = sin v0\n  return v1\n}");
/// let error = "program(v0: f64[]) { return v7 }".parse::<Program>().unwrap_err();
/// assert_eq!(error.to_string(), "`parse`: line 1, column 29: there is no value v7 before this place");
/// # Ok::<(), wengert::Error>(())
/// ```
impl FromStr for Program {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let program = token::tokens(text).and_then(|tokens| grammar::program(&tokens));
        program.map_err(|Fault { at, why, too_large }| {
            let before = &text[..at];
            let line = 1 + before.matches('\n').count();
            let column = 1 + before.rsplit('\n').next().unwrap_or_default().chars().count();
            let error = Error::new(ErrorKind::Parse, "parse", format!("line {line}, column {column}: {why}"));
            if too_large { error.of_memory() } else { error }
        })
    }
}
