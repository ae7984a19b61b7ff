//! Runs other programs.

use std::ffi::OsString;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use crate::Failure;
use crate::workspace::root;

/// The cargo that runs us, in the root of the repository.
pub(crate) fn cargo(arguments: &[&str]) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or(OsString::from("cargo")));
    command.args(arguments).current_dir(root());
    command
}

/// Whether a program is there: it answers with its version.
pub(crate) fn is_installed(command: &mut Command) -> bool {
    let command = command.arg("--version").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// The command as one would type it.
fn typed(command: &Command) -> String {
    let program = std::path::Path::new(command.get_program()).file_name().unwrap_or(command.get_program());
    let words = std::iter::once(program).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

/// Runs a command that must succeed.
pub(crate) fn run(command: &mut Command) -> Result<(), Failure> {
    let failed = |why: &dyn std::fmt::Display| format!("`{}`: {why}", typed(command));
    let status = Command::status;
    match status(&mut rebuilt(command)) {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(failed(&status)),
        Err(error) => Err(failed(&error)),
    }
}
