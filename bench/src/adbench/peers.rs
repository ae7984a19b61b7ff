//! The other systems: Python programs that read the same folder, check the same numbers and give a line of JSON.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use super::Options;
use super::table::Timed;

/// Names the interpreter if `--python` does not.
pub(crate) const PYTHON: &str = "WENGERT_PEERS_PYTHON";

/// All of them.
pub(super) const ALL: [&str; 2] = ["jax", "torch"];

/// A system that is installed.
pub(super) struct Peer {
    pub(super) name: &'static str,
    python: PathBuf,
}

/// The peers of a list like `jax,torch`.
pub(super) fn named(names: &str) -> Result<Vec<&'static str>, String> {
    if names == "none" {
        return Ok(Vec::new());
    }
    let known = |name: &str| ALL.into_iter().find(|peer| *peer == name);
    names.split(',').map(|name| known(name).ok_or_else(|| format!("no peer is called `{name}`"))).collect()
}

/// The peers; an error if one is not installed.
pub(super) fn installed(python: &Path, names: &[&'static str]) -> Result<Vec<Peer>, String> {
    let mut peers = Vec::new();
    for &name in names {
        let asked = format!("import importlib.metadata as m; print(m.version('{name}'))");
        let version = Command::new(python)
            .args(["-c", &asked])
            .stderr(Stdio::null())
            .output()
            .map_err(|error| format!("the Python of the peers, {}: {error}", python.display()))?;
        if !version.status.success() {
            return Err(format!("{} has no {name}: install it there, or choose --peers", python.display()));
        }
        eprintln!("{name} {}", String::from_utf8_lossy(&version.stdout).trim());
        peers.push(Peer { name, python: python.to_owned() });
    }
    Ok(peers)
}

impl Peer {
    /// Measures a case.
    pub(super) fn measure(&self, options: &Options, case: &str) -> Result<Timed, String> {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("peers/adbench/{}_peer.py", self.name));
        let output = Command::new(&self.python)
            .arg(script)
            .arg("--dir")
            .arg(&options.dir)
            .args(["--only", case, "--threads", &options.threads.to_string()])
            .args(["--seconds", &options.seconds.to_string()])
            .env("PYTHONWARNINGS", "ignore")
            .output()
            .map_err(|error| error.to_string())?;
        if !output.status.success() {
            let text = String::from_utf8_lossy(&output.stderr);
            return Err(text.lines().next_back().unwrap_or("it failed without a word").to_owned());
        }
        read(self.name, &String::from_utf8_lossy(&output.stdout))
    }
}

/// The line of a peer.
fn read(name: &str, text: &str) -> Result<Timed, String> {
    let line: Value = serde_json::from_str(text.trim()).map_err(|error| format!("{error} in `{}`", text.trim()))?;
    let seconds = |field: &str| line[field].as_f64().ok_or_else(|| format!("no `{field}` in {line}"));
    Ok(Timed {
        system: name.to_owned(),
        form: line["form"].as_str().map(str::to_owned),
        objective: seconds("objective_s")?,
        derivative: seconds("derivative_s")?,
        least: None,
        errors: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read() {
        let timed = read("jax", r#"{"form": "rows", "objective_s": 0.5, "derivative_s": 1.5}"#).unwrap();
        assert_eq!((timed.form.as_deref(), timed.objective, timed.derivative), (Some("rows"), 0.5, 1.5));
        assert!(read("jax", r#"{"objective_s": 0.5}"#).err().unwrap().contains("derivative_s"));
        assert!(read("jax", "Traceback").is_err());
    }

    #[test]
    fn every_script_is_there() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("peers/adbench");
        assert!(ALL.iter().all(|name| folder.join(format!("{name}_peer.py")).is_file()));
    }
}
