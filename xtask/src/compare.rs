//! `compare`: the array workloads, ours and those of other systems in turn, in one table.
//!
//! For every workload and round our program runs, then each peer's script, each in a process of its own, so that all
//! see the machine in the same hours. The figure of a system is the median over the rounds of the medians it measured.
//! The peers are Python programs (`bench/peers/arrays`); the interpreter that has them is given by `--python` or
//! `WENGERT_PEERS_PYTHON`. Our program is bound to the same processors as the peers bind themselves to.

mod programs;
mod table;

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use programs::Program;
use serde::Deserialize;
use serde_json::{Value, json};
use table::{Row, table};

use crate::Failure;
use crate::run::{cargo, is_installed, output};
use crate::workspace::root;

/// The systems that we are compared with, and their scripts.
const PEERS: [(&str, &str); 3] =
    [("jax", "jax_peer.py"), ("torch", "torch_peer.py"), ("torch-compile", "torch_peer.py")];

/// Where the scripts are.
const SCRIPTS: &str = "bench/peers/arrays";
/// Names the interpreter if `--python` does not.
const PYTHON: &str = "WENGERT_PEERS_PYTHON";

const USAGE: &str = "\
usage: cargo xtask compare [--only W1,W6:f32,gather,linalg] [--threads N,M] [--peers jax,torch,torch-compile | none] [--rounds N]
                           [--seconds S] [--python PATH] [--out FILE]";

/// What is asked for on the command line.
#[derive(Debug, PartialEq)]
struct Options {
    programs: Vec<Program>,
    peers: Vec<(&'static str, &'static str)>,
    /// Of every program, one number after the other; if there is none, each has its own.
    threads: Vec<usize>,
    rounds: usize,
    /// Passed on as it is: the programs check it.
    seconds: String,
    python: Option<PathBuf>,
    out: Option<PathBuf>,
}

/// A line of JSON of one measurement.
#[derive(Clone, Debug, PartialEq, Deserialize)]
struct Line {
    system: String,
    workload: String,
    dtype: String,
    threads: usize,
    compile_s: f64,
    median_s: f64,
    primal_s: f64,
    peak_rss_mb: Option<f64>,
}

/// Runs the comparison that the arguments ask for.
pub(crate) fn compare(arguments: &[&str]) -> Result<(), Failure> {
    let options = Options::parse(arguments, env::var_os(PYTHON).map(PathBuf::from))?;
    let versions = versions(&options)?;
    let program = built()?;
    let cache = Cache::new()?;
    let mut lines = Vec::new();
    let mut rows = Vec::new();
    let mut failures = Vec::new();
    let each = |asked: &'_ Program| asked.threads(&options.threads);
    let asked = options.programs.iter().flat_map(|asked| each(asked).into_iter().map(move |threads| (asked, threads)));
    for (asked, threads) in asked {
        // Hours of other figures are kept even if ours of one workload are off.
        let row = rounds(&options, &program, &cache, asked, threads).and_then(|measured| {
            let row = Row::new(asked, threads, &options.peers, &measured)?;
            lines.extend(measured);
            Ok(row)
        });
        match row {
            Ok(row) => rows.push(row),
            Err(failure) => failures.push(failure),
        }
    }
    let names: Vec<&str> = options.peers.iter().map(|(name, _)| *name).collect();
    println!("{}", table(&names, &rows));
    if let Some(path) = &options.out {
        let raw: Vec<&Value> = lines.iter().map(|(_, raw)| raw).collect();
        let rows: Vec<Value> = rows.iter().map(|row| row.to_json(&names)).collect();
        let file = json!({ "versions": versions, "rounds": options.rounds, "rows": rows, "lines": raw });
        let written = fs::write(path, format!("{file:#}\n"));
        written.map_err(|error| format!("cannot write {}: {error}", path.display()))?;
    }
    if failures.is_empty() { Ok(()) } else { Err(failures.join("\n")) }
}

impl Options {
    fn parse(arguments: &[&str], python: Option<PathBuf>) -> Result<Self, Failure> {
        let mut options = Options {
            programs: Vec::new(),
            peers: PEERS.to_vec(),
            threads: Vec::new(),
            rounds: 3,
            seconds: "1".to_owned(),
            python,
            out: None,
        };
        let mut only = None;
        let mut arguments = arguments.iter();
        while let Some(&argument) = arguments.next() {
            let mut value = || arguments.next().copied().ok_or(format!("{argument} needs a value\n{USAGE}"));
            match argument {
                "--only" => only = Some(value()?),
                "--peers" => options.peers = peers(value()?)?,
                "--threads" => {
                    options.threads = value()?.split(',').map(|n| from_one(argument, n)).collect::<Result<_, _>>()?
                }
                "--rounds" => options.rounds = from_one(argument, value()?)?,
                "--seconds" => options.seconds = value()?.to_owned(),
                "--python" => options.python = Some(value()?.into()),
                "--out" => options.out = Some(value()?.into()),
                other => return Err(format!("unknown flag `{other}`\n{USAGE}")),
            }
        }
        options.programs = programs::named(only)?;
        Ok(options)
    }

    /// The interpreter of the peers.
    fn python(&self) -> Result<&Path, Failure> {
        self.python.as_deref().ok_or_else(|| {
            format!(
                "no Python for the peers: make an environment with `pip install -r {SCRIPTS}/requirements.txt` and \
                 name its interpreter with --python or {PYTHON}; `--peers none` measures ours alone"
            )
        })
    }
}

/// The number of a flag, at least 1.
fn from_one(flag: &str, text: &str) -> Result<usize, Failure> {
    text.parse().ok().filter(|&number| number > 0).ok_or(format!("{flag} takes a number from 1, not `{text}`"))
}

/// The peers of a list like `jax,torch`.
fn peers(names: &str) -> Result<Vec<(&'static str, &'static str)>, Failure> {
    if names == "none" {
        return Ok(Vec::new());
    }
    let known = |name: &str| PEERS.into_iter().find(|(peer, _)| *peer == name);
    names.split(',').map(|name| known(name).ok_or(format!("no peer is called `{name}`"))).collect()
}

// ---- running --------------------------------------------------------------------------------------

/// The packages of the peers with their versions; an error if one is not installed.
fn versions(options: &Options) -> Result<Vec<String>, Failure> {
    let mut packages: Vec<&str> = options.peers.iter().map(|(_, script)| script.trim_end_matches("_peer.py")).collect();
    packages.dedup();
    let mut versions = Vec::new();
    for package in packages {
        let python = options.python()?;
        let asked = format!("import importlib.metadata as m; print(m.version('{package}'))");
        let version = Command::new(python)
            .args(["-c", &asked])
            .stderr(Stdio::null())
            .output()
            .map_err(|error| format!("the Python of the peers, {}: {error}", python.display()))?;
        if !version.status.success() {
            return Err(format!(
                "{} has no {package}: install {SCRIPTS}/requirements.txt, or choose --peers",
                python.display()
            ));
        }
        versions.push(format!("{package} {}", String::from_utf8_lossy(&version.stdout).trim()));
    }
    Ok(versions)
}

/// Builds our program and says where it is.
fn built() -> Result<PathBuf, Failure> {
    let messages = output(&mut cargo(&[
        "build",
        "--release",
        "--package",
        "bench",
        "--all-features",
        "--message-format",
        "json",
    ]))?;
    executable(&messages).ok_or("cargo does not say where it built `bench`".to_owned())
}

/// The program among the messages of cargo.
fn executable(messages: &str) -> Option<PathBuf> {
    let messages = messages.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let mut paths = messages.filter_map(|message| message["executable"].as_str().map(PathBuf::from));
    paths.next_back()
}

/// A folder for what the peers compile, new so that the first round is without what earlier runs left there.
struct Cache(PathBuf);

impl Cache {
    fn new() -> Result<Self, Failure> {
        let folder = env::temp_dir().join(format!("wengert-compare-{}", std::process::id()));
        fs::create_dir_all(&folder).map_err(|error| format!("cannot make {}: {error}", folder.display()))?;
        Ok(Cache(folder))
    }
}

impl Drop for Cache {
    fn drop(&mut self) {
        // Whatever stays behind is in the folder for temporary files.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Ours and every peer in turn, as often as asked. A peer that fails is left out from then on.
fn rounds(
    options: &Options,
    program: &Path,
    cache: &Cache,
    asked: &Program,
    threads: usize,
) -> Result<Vec<(Line, Value)>, Failure> {
    let mut measured = Vec::new();
    let mut peers = options.peers.clone();
    for round in 0..options.rounds {
        let workload = asked.key.as_str();
        eprintln!("{workload}, {threads} threads, round {} of {}", round + 1, options.rounds);
        let mut ours = bound(program, threads);
        ours.args([asked.command, "--json", "--check", "--primal"]);
        measured.push(measure(&mut ours, options, workload, threads)?);
        for (name, script) in peers.clone() {
            let mut command = Command::new(options.python()?);
            command.arg(root().join(SCRIPTS).join(script)).args(["--system", name]);
            command.env("TORCHINDUCTOR_CACHE_DIR", &cache.0).env("PYTHONWARNINGS", "ignore");
            match measure(&mut command, options, workload, threads) {
                Ok(line) => measured.push(line),
                Err(failure) => {
                    eprintln!("{name} is left out of {workload}: {failure}");
                    peers.retain(|(peer, _)| *peer != name);
                }
            }
        }
    }
    Ok(measured)
}

/// Runs a program that measures one workload.
fn measure(command: &mut Command, options: &Options, workload: &str, threads: usize) -> Result<(Line, Value), Failure> {
    let threads = threads.to_string();
    let text = output(command.args(["--only", workload, "--threads", &threads, "--seconds", &options.seconds]))?;
    let read = || {
        let raw: Value = serde_json::from_str(text.trim())?;
        Ok((Line::deserialize(&raw)?, raw))
    };
    let (line, raw) = read().map_err(|error: serde_json::Error| format!("{error} in `{}`", text.trim()))?;
    match format!("{}:{}", line.workload, line.dtype) == workload {
        true => Ok((line, raw)),
        false => Err(format!("asked for {workload}, got `{}`", text.trim())),
    }
}

/// Our program, bound to the last processors as the peers' scripts bind themselves, if there are more than threads.
fn bound(program: &Path, threads: usize) -> Command {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    match last_processors(&status, threads) {
        Some(list) if is_installed(Command::new("taskset")) => {
            let mut command = Command::new("taskset");
            command.args(["--cpu-list", &list]).arg(program);
            command
        }
        _ => Command::new(program),
    }
}

/// The last `count` of the processors that Linux lets a process use, if it may use more than these.
fn last_processors(status: &str, count: usize) -> Option<String> {
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?;
    let mut processors: Vec<usize> = Vec::new();
    for range in list.trim().split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (first, last): (usize, usize) = (first.parse().ok()?, last.parse().ok()?);
        processors.extend(first..=last);
    }
    let first = processors.len().checked_sub(count).filter(|&first| first > 0)?;
    Some(processors[first..].iter().map(usize::to_string).collect::<Vec<_>>().join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_are_read() {
        let text = "--only W7,W6:f32 --threads 1,2 --peers torch --rounds 5 --seconds 0.5 --python p --out o";
        let options = Options::parse(&text.split(' ').collect::<Vec<_>>(), None).unwrap();
        let wanted = Options {
            programs: programs::named(Some("W7a,W7b,W6:f32")).unwrap(),
            peers: vec![("torch", "torch_peer.py")],
            threads: vec![1, 2],
            rounds: 5,
            seconds: "0.5".to_owned(),
            python: Some("p".into()),
            out: Some("o".into()),
        };
        assert_eq!(options, wanted);
        for wrong in ["--only W0", "--peers tf", "--rounds 0", "--threads two", "--out", "--fast"] {
            assert!(Options::parse(&wrong.split(' ').collect::<Vec<_>>(), None).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_missing_interpreter_is_said_to_be_missing() {
        let options = Options::parse(&[], None).unwrap();
        assert!(versions(&options).unwrap_err().contains(PYTHON));
        let options = Options::parse(&["--python", "/no/such/python"], None).unwrap();
        assert!(versions(&options).unwrap_err().contains("/no/such/python"));
        let alone = Options::parse(&["--peers", "none"], None).unwrap();
        assert_eq!(versions(&alone), Ok(Vec::new()));
    }

    #[test]
    fn every_script_is_there() {
        for (_, script) in PEERS {
            assert!(root().join(SCRIPTS).join(script).is_file(), "{script}");
        }
    }

    #[test]
    fn lines_are_read() {
        let text = r#"{"system":"jax","workload":"W6","dtype":"f64","threads":2,"compile_s":1.0,"median_s":0.5,
            "min_s":0.25,"primal_s":0.125,"reps":5,"peak_rss_mb":null,"check":[1.0,2.0]}"#;
        let read: Line = serde_json::from_str(text).unwrap();
        assert_eq!((read.system.as_str(), read.median_s, read.peak_rss_mb), ("jax", 0.5, None));
        assert!(serde_json::from_str::<Line>(&text.replace("primal_s", "primal")).is_err());
    }

    #[test]
    fn the_last_processors_are_taken() {
        let last = |list: &str, count| last_processors(&format!("Name:\tx\nCpus_allowed_list:\t{list}\n"), count);
        assert_eq!(last("0-1", 1).as_deref(), Some("1"));
        assert_eq!(last("0-1", 2), None);
        assert_eq!(last("0-2,5", 2).as_deref(), Some("2,5"));
        assert_eq!(last_processors("", 1), None);
    }

    #[test]
    fn the_program_is_found_in_what_cargo_says() {
        let messages = "{\"executable\":null}\nplain text\n{\"executable\":\"/t/bench\"}\n{\"reason\":\"done\"}\n";
        assert_eq!(executable(messages), Some("/t/bench".into()));
    }
}
