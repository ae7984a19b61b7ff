//! `wengert functions`: the table of functions.

use std::fmt::Write;

use crate::failure::Failure;
use crate::output;
use crate::syntax::functions::{ArrayFunction, Function};

/// Lists the functions with their arguments, one a line.
pub(crate) fn run(color: anstream::ColorChoice) -> Result<(), Failure> {
    let mut text = String::new();
    let width = Function::all().map(|function| function.signature().len()).max().unwrap_or(0);
    for function in Function::all() {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{:width$}  {}", function.signature(), function.help());
    }
    text.push_str(
        "\nof arrays, as in `sum(x^2)` with `--at x=[1,2,3]`; all above take arrays too, element by element\n",
    );
    for function in ArrayFunction::all() {
        let _ = writeln!(text, "{:width$}  {}", function.signature(), function.line);
    }
    output::write(&text, None, color)
}
