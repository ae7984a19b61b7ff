//! Where a program comes from: the argument itself, a file, or the standard input.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use crate::failure::Failure;

/// The largest program that is read.
const LIMIT: u64 = 16 << 20;

/// A program's text and what it is called in messages.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    /// The file name, `<expression>` or `<stdin>`.
    pub(crate) name: String,
    /// The text.
    pub(crate) text: String,
    /// Whether the text is the argument itself and looks like the name of a file.
    pub(crate) may_be_path: bool,
}

/// Reads what `argument` stands for: `-` is the standard input, the name of something that
/// exists is a file, and anything else is the program itself.
pub(crate) fn read(argument: &OsStr) -> Result<Source, Failure> {
    if argument == "-" {
        let bytes = limited(io::stdin().lock(), "<stdin>")?;
        return from_bytes("<stdin>".to_owned(), bytes);
    }
    let path = Path::new(argument);
    match path.metadata() {
        Ok(metadata) => {
            let name = path.display().to_string();
            let refuse = |why: &str| Err(Failure::File(format!("cannot read `{name}`: {why}")));
            if metadata.is_dir() {
                return refuse("it is a directory");
            }
            if !metadata.is_file() {
                return refuse("it is not a regular file; `-` reads the standard input");
            }
            if metadata.len() > LIMIT {
                return refuse(&too_large(Some(metadata.len())));
            }
            let file = File::open(path).map_err(|error| unreadable(&name, &error))?;
            let bytes = limited(file, &name)?;
            from_bytes(name, bytes)
        }
        Err(error) => expression(argument, &error),
    }
}

/// Reads a program that can only be a file or, as `-`, the standard input.
pub(crate) fn read_file(argument: &OsStr) -> Result<Source, Failure> {
    if argument != "-" && !Path::new(argument).exists() {
        return Err(Failure::File(format!("there is no file `{}`", argument.display())));
    }
    read(argument)
}

/// The argument as the program, unless it can only be meant as a file.
fn expression(argument: &OsStr, error: &io::Error) -> Result<Source, Failure> {
    let name = argument.display().to_string();
    let absent = matches!(
        error.kind(),
        io::ErrorKind::NotFound
            | io::ErrorKind::NotADirectory
            | io::ErrorKind::InvalidInput
            | io::ErrorKind::InvalidFilename
    );
    if !absent {
        return Err(unreadable(&name, error));
    }
    let Some(text) = argument.to_str() else {
        return Err(Failure::File(format!(
            "there is no file `{name}`, and it is no expression because it is not UTF-8"
        )));
    };
    let may_be_path = looks_like_a_path(text);
    Ok(Source { name: "<expression>".to_owned(), text: text.to_owned(), may_be_path })
}

/// Whether a text without blanks or parentheses has a `.` before a letter, or starts like a path.
/// Such a text that is no expression either was meant as a file.
fn looks_like_a_path(text: &str) -> bool {
    if text.len() > 4096 || text.contains(|c: char| c.is_whitespace() || "()[]=,;@".contains(c)) {
        return false;
    }
    let suffix = Path::new(text).extension().and_then(OsStr::to_str);
    let suffix = suffix.is_some_and(|suffix| suffix.starts_with(char::is_alphabetic));
    suffix || ["/", "./", "../", "~/"].iter().any(|start| text.starts_with(start))
}

fn unreadable(name: &str, error: &io::Error) -> Failure {
    Failure::File(format!("cannot read `{name}`: {error}"))
}

fn too_large(size: Option<u64>) -> String {
    let size = size.map_or(String::new(), |size| format!("{size} bytes, "));
    format!("it is too large ({size}at most {LIMIT} bytes are read)")
}

/// The bytes of `input`, refused when there are more than the limit.
fn limited(input: impl Read, name: &str) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    let read = input.take(LIMIT + 1).read_to_end(&mut bytes);
    read.map_err(|error| unreadable(name, &error))?;
    if bytes.len() as u64 > LIMIT {
        return Err(Failure::File(format!("cannot read `{name}`: {}", too_large(None))));
    }
    Ok(bytes)
}

fn from_bytes(name: String, bytes: Vec<u8>) -> Result<Source, Failure> {
    let text = String::from_utf8(bytes).map_err(|error| {
        let valid = error.utf8_error().valid_up_to();
        let line = error.as_bytes()[..valid].iter().filter(|byte| **byte == b'\n').count() + 1;
        Failure::File(format!("cannot read `{name}`: it is not UTF-8 text (byte {} in line {line})", valid + 1))
    })?;
    Ok(Source { name, text, may_be_path: false })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_texts_that_look_like_paths_are_taken_for_them() {
        for path in ["f.wg", "dir/f.txt", "/data/x", "./x", "../x", "a.b.c"] {
            assert!(looks_like_a_path(path), "{path}");
        }
        for text in ["x", "x/y", "1.5", "x*.5", "sin(x).y", "a = b.c", "x1/2.5"] {
            assert!(!looks_like_a_path(text), "{text}");
        }
    }
}
