//! `wengert functions`: the table of functions.

use std::fmt::Write;

use crate::failure::Failure;
use crate::output;
use crate::syntax::functions::Function;

/// Lists the functions with their arguments, one a line.
pub(crate) fn run(color: anstream::ColorChoice) -> Result<(), Failure> {
    let mut text = String::new();
    let width = Function::all().map(|function| function.signature().len()).max().unwrap_or(0);
    for function in Function::all() {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{:width$}  {}", function.signature(), function.help());
    }
    output::write(&text, None, color)
}
