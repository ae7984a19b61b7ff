//! The other systems: a process of their own, built outside the workspace, asked block by block.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::Value;

/// The running process of the peers.
pub(crate) struct Peers {
    child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    /// The pairs it can measure, as (workload, system).
    pub(crate) pairs: Vec<(String, String)>,
}

impl Peers {
    /// Builds the peers if need be and starts them.
    pub(crate) fn start() -> Result<Self, String> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("peers");
        eprintln!("building the other systems (once; --no-peers leaves them out) ...");
        let built = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
            .args(["build", "--release", "--locked", "--quiet", "--ignore-rust-version", "--target-dir"])
            .arg(folder.join("target"))
            .current_dir(&folder)
            .status()
            .map_err(|error| format!("cargo for the peers: {error}"))?;
        if !built.success() {
            return Err("the peers do not build; --no-peers leaves them out".to_owned());
        }
        let program = folder.join("target/release/peers");
        let list = Command::new(&program).arg("--list").output().map_err(|error| error.to_string())?;
        let pairs = String::from_utf8_lossy(&list.stdout)
            .lines()
            .filter_map(|line| line.split_once(' '))
            .map(|(workload, system)| (workload.to_owned(), system.to_owned()))
            .collect();
        let mut child = Command::new(&program)
            .arg("--serve")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| error.to_string())?;
        let to = child.stdin.take().ok_or("the peers have no standard input")?;
        let from = BufReader::new(child.stdout.take().ok_or("the peers have no standard output")?);
        Ok(Peers { child, to, from, pairs })
    }

    /// One timed block of a system on a workload.
    pub(crate) fn measure(&mut self, workload: &str, system: &str) -> Result<Value, String> {
        writeln!(self.to, "{workload} {system}").and_then(|()| self.to.flush()).map_err(|e| e.to_string())?;
        let mut line = String::new();
        self.from.read_line(&mut line).map_err(|error| error.to_string())?;
        serde_json::from_str(&line).map_err(|error| format!("{system} on {workload}: {error}: {line}"))
    }
}

impl Drop for Peers {
    fn drop(&mut self) {
        // Whether it could be stopped does not matter any more.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
