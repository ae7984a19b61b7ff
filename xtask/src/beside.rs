//! Steps of CI that run beside the others: in a process, and a target folder, of their own.
//!
//! Cargo lets one command at a time into a target folder. The code is checked and translated separately anyway; what is
//! compiled twice are build scripts and macros.

use std::fs::{self, File};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use crate::Failure;
use crate::metadata::target_folder;

/// A run of some steps that is under way. What it prints waits in a file.
pub(crate) struct Beside {
    child: Child,
    printed: PathBuf,
}

impl Beside {
    /// Begins to run these steps.
    pub(crate) fn start(steps: &[&str]) -> Result<Self, Failure> {
        let folder = target_folder()?.join("checks");
        let printed = folder.join("printed.txt");
        let failure = |error: std::io::Error| format!("cannot run {} beside the tests: {error}", steps.join(", "));
        fs::create_dir_all(&folder).map_err(failure)?;
        let file = File::create(&printed).map_err(failure)?;
        let mut command = Command::new(std::env::current_exe().map_err(failure)?);
        command.arg("ci").args(steps).env("CARGO_TARGET_DIR", folder).stdin(Stdio::null());
        let child = command.stderr(file.try_clone().map_err(failure)?).stdout(file).spawn().map_err(failure)?;
        Ok(Self { child, printed })
    }

    /// Waits for the steps, and prints what they printed.
    pub(crate) fn end(mut self) -> Result<(), Failure> {
        let status = self.child.wait().map_err(|error| format!("steps beside the tests: {error}"))?;
        let printed = fs::read(&self.printed).map_err(|error| format!("{}: {error}", self.printed.display()))?;
        println!("== beside\n{}", String::from_utf8_lossy(&printed).trim_end());
        if status.success() { Ok(()) } else { Err(format!("the steps beside the tests: {status}")) }
    }
}
