//! What can go wrong, and the exit code that says so.

use std::fmt;

use crate::source::Source;
use crate::syntax::diagnostic::Diagnostic;

/// A failure that ends the command.
#[derive(Debug)]
pub(crate) enum Failure {
    /// A derivative does not agree with differences: exit code 1.
    Check(String),
    /// The command line does not fit the program: exit code 2.
    Usage(String),
    /// The same, about a place in the program. The text is the rendered message.
    UsageAt(String),
    /// The program is wrong: exit code 3. The text is the rendered message.
    Program(String),
    /// A file cannot be read or written: exit code 4.
    File(String),
    /// There is not enough memory: exit code 4.
    Memory(String),
}

impl Failure {
    /// A mistake in the program, with its line and a caret.
    pub(crate) fn program(source: &Source, message: &Diagnostic) -> Self {
        Self::Program(message.render(&source.text, &source.name))
    }

    /// A command line that does not fit the program, with the line it is about.
    pub(crate) fn usage(source: &Source, message: &Diagnostic) -> Self {
        Self::UsageAt(message.render(&source.text, &source.name))
    }

    /// What the library says about a program in this file, which has its own line and column.
    pub(crate) fn library(file: &str, error: &wengert::Error) -> Self {
        if error.lacks_memory() {
            return Self::Memory(format!("{file}: {error}"));
        }
        let style = anstyle::AnsiColor::BrightRed.on_default().bold();
        Self::Program(format!("{style}error{style:#}: {file}: {error}"))
    }

    /// The exit code.
    pub(crate) fn code(&self) -> u8 {
        match self {
            Self::Check(_) => 1,
            Self::Usage(_) | Self::UsageAt(_) => 2,
            Self::Program(_) => 3,
            Self::File(_) | Self::Memory(_) => 4,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            // Rendered messages have their own heading.
            Self::UsageAt(text) | Self::Program(text) => f.write_str(text),
            Self::Check(text) | Self::Usage(text) | Self::File(text) | Self::Memory(text) => {
                let style = anstyle::AnsiColor::BrightRed.on_default().bold();
                write!(f, "{style}error{style:#}: {text}")
            }
        }
    }
}
