//! Runs other programs.

use std::ffi::OsString;
use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};

use crate::Failure;
use crate::workspace::root;

/// The cargo that runs us, in the root of the repository.
pub(crate) fn cargo(arguments: &[&str]) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or(OsString::from("cargo")));
    command.args(arguments).current_dir(root());
    command
}

/// Whether the program that `command` starts is there: asked for its version, it answers.
pub(crate) fn is_installed(mut command: Command) -> bool {
    command.arg("--version").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// Runs a command that must succeed.
pub(crate) fn run(command: &mut Command) -> Result<(), Failure> {
    let status = command.status();
    succeeded(command, status)
}

/// Runs a command that must succeed, prints what it prints, and hands on every line of it.
pub(crate) fn run_reading(command: &mut Command, mut line_read: impl FnMut(&str)) -> Result<(), Failure> {
    let mut printed = || -> io::Result<ExitStatus> {
        let (reader, writer) = io::pipe()?;
        let mut child = command.stdin(Stdio::null()).stdout(writer.try_clone()?).stderr(writer).spawn()?;
        // The command holds ends of the pipe, which would never close.
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let mut reader = BufReader::new(reader);
        let mut line = Vec::new();
        while reader.read_until(b'\n', &mut line)? > 0 {
            io::stdout().write_all(&line)?;
            io::stdout().flush()?;
            line_read(&String::from_utf8_lossy(&line));
            line.clear();
        }
        child.wait()
    };
    let status = printed();
    succeeded(command, status)
}

/// What a command that must succeed prints on its standard output.
pub(crate) fn output(command: &mut Command) -> Result<String, Failure> {
    let output = command.stderr(Stdio::inherit()).output();
    let (status, text) = match output {
        Ok(output) => (Ok(output.status), output.stdout),
        Err(error) => (Err(error), Vec::new()),
    };
    succeeded(command, status)?;
    String::from_utf8(text).map_err(|error| format!("`{}`: {error}", typed(command)))
}

fn succeeded(command: &Command, status: io::Result<ExitStatus>) -> Result<(), Failure> {
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("`{}`: {status}", typed(command))),
        Err(error) => Err(format!("`{}`: {error}", typed(command))),
    }
}

/// The command as one would type it.
fn typed(command: &Command) -> String {
    let program = Path::new(command.get_program()).file_name().unwrap_or(command.get_program());
    let words = std::iter::once(program).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}
