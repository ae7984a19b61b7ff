//! Sparse derivatives: patterns, colourings and evaluations, in units of one evaluation of the function.

mod arrays;
mod scalars;

use std::process::Command;

/// Measures all, or the part that `--only` names. With `--row` it is one row of a table, in a process of its own.
pub(crate) fn run(arguments: &[String]) -> Result<(), String> {
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        [] => {
            arrays::run();
            scalars::table()
        }
        ["--only", "arrays"] => {
            arrays::run();
            Ok(())
        }
        ["--only", "scalars"] => scalars::table(),
        ["--row", case, method, size] => {
            let size = size.parse().map_err(|_| format!("`{size}` is no size"))?;
            print!("{}", scalars::row(case, method, size)?);
            Ok(())
        }
        _ => Err(format!("unknown arguments {words:?}: there is `--only arrays` and `--only scalars`")),
    }
}

/// A row that is measured in a process of its own, for the peak of its memory.
fn apart(case: &str, method: &str, size: usize) -> Result<String, String> {
    let program = std::env::current_exe().map_err(|error| format!("this program has no path: {error}"))?;
    let output = Command::new(program).args(["sparse", "--row", case, method, &size.to_string()]).output();
    let output = output.map_err(|error| format!("the row `{case}` did not start: {error}"))?;
    if !output.status.success() {
        return Err(format!("the row `{case}` of {size} failed: {}", String::from_utf8_lossy(&output.stderr)));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
