//! The forms of a Program that have to compute the same bits.

use wengert::Program;

/// Other forms of a Program, by name.
pub(crate) fn forms(program: &Program) -> Result<Vec<(&'static str, Program)>, String> {
    program.verify()?;
    Ok(vec![("again", program.clone())])
}
