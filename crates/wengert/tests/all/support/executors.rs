//! The forms of a Program that have to compute the same bits.

use wengert::Program;

/// Other forms of a Program, by name: optimised, and printed and read again. Reading gives back the
/// same equations.
pub(crate) fn forms(program: &Program) -> Result<Vec<(&'static str, Program)>, String> {
    program.verify()?;
    let text = program.to_string();
    let read: Program = text.parse().map_err(|error| format!("its own text: {error}\n{text}"))?;
    if read != *program {
        return Err(format!("reads back as another one:\n{read}\ninstead of\n{text}"));
    }
    let optimised = program.optimize();
    optimised.verify().map_err(|why| format!("optimised: {why}"))?;
    Ok(vec![("optimised", optimised), ("read", read)])
}
