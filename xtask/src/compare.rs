//! `compare`: the array workloads, ours and those of other systems in turn, in one table.
//!
//! For every workload and round our program runs, then each peer's script, each in a process of its own, so that all
//! see the machine in the same hours. The figure of a system is the median over the rounds of the medians it measured.
//! The peers are Python programs (`bench/peers/arrays`); the interpreter that has them is given by `--python` or
//! `WENGERT_PEERS_PYTHON`. Our program is bound to the same processors as the peers bind themselves to.

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde::Deserialize;
use serde_json::{Value, json};

use crate::Failure;
use crate::run::{cargo, is_installed, output};
use crate::workspace::root;

/// The workloads as the programs name them, and how our time should stand to the best peer's, at most.
const WORKLOADS: [(&str, f64); 11] = [
    ("W1:f32", 1.0),
    ("W2:f32", 0.5),
    ("W3:f32", 0.9),
    ("W4:f32", 1.0),
    ("W6:f32", 0.7),
    ("W6:f64", 0.7),
    ("W7a:f64", 0.5),
    ("W7b:f64", 0.7),
    ("W8:f32", 0.6),
    ("W9:f64", 0.7),
    ("W11:f64", 0.25),
];

/// Workloads whose figure is that of one thread: threads cannot help where only the overhead counts.
const ONE_THREAD: &[&str] = &["W2:f32"];

/// The systems that we are compared with, and their scripts.
const PEERS: [(&str, &str); 3] =
    [("jax", "jax_peer.py"), ("torch", "torch_peer.py"), ("torch-compile", "torch_peer.py")];

/// Where the scripts are.
const SCRIPTS: &str = "bench/peers/arrays";
/// Names the interpreter if `--python` does not.
const PYTHON: &str = "WENGERT_PEERS_PYTHON";

const USAGE: &str = "\
usage: cargo xtask compare [--only W1,W6:f32] [--threads N] [--peers jax,torch,torch-compile | none] [--rounds N]
                           [--seconds S] [--python PATH] [--out FILE]";

/// What is asked for on the command line.
#[derive(Debug, PartialEq)]
struct Options {
    workloads: Vec<(&'static str, f64)>,
    peers: Vec<(&'static str, &'static str)>,
    threads: usize,
    rounds: usize,
    /// Handed on as it is: the programs know what a number of seconds is.
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

/// What a system needed for a workload.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Figures {
    median_ms: f64,
    primal_ms: f64,
    /// The first call of the first round, when nothing was kept from before.
    compile_s: f64,
    peak_mb: Option<f64>,
}

/// A line of the table.
#[derive(Debug, PartialEq)]
struct Row {
    workload: &'static str,
    threads: usize,
    target: f64,
    ours: Figures,
    /// In the order of the columns; `None` where a peer could not do it.
    peers: Vec<Option<Figures>>,
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
    for &(workload, target) in &options.workloads {
        let threads = if ONE_THREAD.contains(&workload) { 1 } else { options.threads };
        // Hours of other figures are not thrown away because ours of one workload were off.
        let row = rounds(&options, &program, &cache, workload, threads).and_then(|measured| {
            let row = Row::new(workload, threads, target, &options.peers, &measured)?;
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
            workloads: WORKLOADS.to_vec(),
            peers: PEERS.to_vec(),
            threads: 2,
            rounds: 3,
            seconds: "1".to_owned(),
            python,
            out: None,
        };
        let mut arguments = arguments.iter();
        while let Some(&argument) = arguments.next() {
            let mut value = || arguments.next().copied().ok_or(format!("{argument} needs a value\n{USAGE}"));
            match argument {
                "--only" => options.workloads = workloads(value()?)?,
                "--peers" => options.peers = peers(value()?)?,
                "--threads" => options.threads = from_one(argument, value()?)?,
                "--rounds" => options.rounds = from_one(argument, value()?)?,
                "--seconds" => options.seconds = value()?.to_owned(),
                "--python" => options.python = Some(value()?.into()),
                "--out" => options.out = Some(value()?.into()),
                other => return Err(format!("unknown flag `{other}`\n{USAGE}")),
            }
        }
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

/// The workloads of a list like `W1,W6:f32,W7`; `W7` names `W7a` and `W7b`, `W6` both precisions.
fn workloads(names: &str) -> Result<Vec<(&'static str, f64)>, Failure> {
    let mut found = Vec::new();
    for name in names.split(',') {
        let before = found.len();
        found.extend(WORKLOADS.into_iter().filter(|(key, _)| {
            let workload = key.split(':').next().unwrap_or(key);
            *key == name || workload == name || workload.trim_end_matches(['a', 'b']) == name
        }));
        if found.len() == before {
            return Err(format!("no workload is called `{name}`"));
        }
    }
    Ok(found)
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
    let messages = output(&mut cargo(&["build", "--release", "--package", "bench", "--message-format", "json"]))?;
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
        // What stays behind is in the folder for temporary files.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Ours and every peer in turn, as often as asked. A peer that fails is left out from then on.
fn rounds(
    options: &Options,
    program: &Path,
    cache: &Cache,
    workload: &str,
    threads: usize,
) -> Result<Vec<(Line, Value)>, Failure> {
    let mut measured = Vec::new();
    let mut peers = options.peers.clone();
    for round in 0..options.rounds {
        eprintln!("{workload}, {threads} threads, round {} of {}", round + 1, options.rounds);
        let mut ours = bound(program, threads);
        ours.args(["workloads", "--json", "--check", "--primal"]);
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

// ---- the table ------------------------------------------------------------------------------------

impl Figures {
    /// The figures of a system over its rounds; `None` if it has none.
    fn of<'a>(lines: impl Iterator<Item = &'a Line>) -> Option<Self> {
        let lines: Vec<&Line> = lines.collect();
        let of = |number: fn(&Line) -> f64| median(lines.iter().map(|line| number(line)).collect());
        Some(Figures {
            median_ms: of(|line| line.median_s)? * 1e3,
            primal_ms: of(|line| line.primal_s)? * 1e3,
            compile_s: lines.first()?.compile_s,
            peak_mb: lines.iter().filter_map(|line| line.peak_rss_mb).max_by(f64::total_cmp),
        })
    }

    /// How many times the primal the derivative takes.
    fn over_primal(&self) -> f64 {
        self.median_ms / self.primal_ms
    }

    fn to_json(self) -> Value {
        json!({
            "median_ms": self.median_ms, "primal_ms": self.primal_ms, "gradient_over_primal": self.over_primal(),
            "compile_s": self.compile_s, "peak_rss_mb": self.peak_mb,
        })
    }
}

/// The middle number; of two middles, their mean; `None` of none.
fn median(mut numbers: Vec<f64>) -> Option<f64> {
    numbers.sort_by(f64::total_cmp);
    let upper = *numbers.get(numbers.len() / 2)?;
    let lower = numbers[(numbers.len() - 1) / 2];
    Some((lower + upper) / 2.0)
}

impl Row {
    fn new(
        workload: &'static str,
        threads: usize,
        target: f64,
        peers: &[(&'static str, &'static str)],
        measured: &[(Line, Value)],
    ) -> Result<Self, Failure> {
        let of = |system: &str| Figures::of(measured.iter().map(|(line, _)| line).filter(|l| l.system == system));
        let ours = of("wengert").ok_or(format!("{workload}: ours was not measured"))?;
        Ok(Row { workload, threads, target, ours, peers: peers.iter().map(|(name, _)| of(name)).collect() })
    }

    /// The fastest peer.
    fn best(&self) -> Option<&Figures> {
        self.peers.iter().flatten().min_by(|a, b| a.median_ms.total_cmp(&b.median_ms))
    }

    /// Our time over the fastest peer's.
    fn ratio(&self) -> Option<f64> {
        self.best().map(|best| self.ours.median_ms / best.median_ms)
    }

    fn to_json(&self, peers: &[&str]) -> Value {
        let peers: BTreeMap<&str, Option<Value>> =
            peers.iter().copied().zip(self.peers.iter().map(|figures| figures.map(Figures::to_json))).collect();
        json!({
            "workload": self.workload, "threads": self.threads, "target": self.target, "ratio": self.ratio(),
            "wengert": self.ours.to_json(), "peers": peers,
        })
    }

    /// The cells of its line.
    fn cells(&self) -> Vec<String> {
        let best = self.best();
        let dash = || "-".to_owned();
        let beside = |own: String, peers: Option<String>| peers.map_or(own.clone(), |peers| format!("{own} / {peers}"));
        let mut cells = vec![self.workload.to_owned(), self.threads.to_string(), milliseconds(self.ours.median_ms)];
        cells.extend(self.peers.iter().map(|peer| peer.map_or_else(dash, |figures| milliseconds(figures.median_ms))));
        cells.push(self.ratio().map_or_else(dash, |ratio| format!("{ratio:.2}")));
        cells.push(format!("{:.2}", self.target));
        cells.push(self.ratio().map_or_else(dash, |ratio| if ratio <= self.target { "yes" } else { "no" }.to_owned()));
        let over_primal = |figures: &Figures| format!("{:.1}", figures.over_primal());
        cells.push(beside(over_primal(&self.ours), best.map(over_primal)));
        let compile = |figures: &Figures| format!("{:.2}", figures.compile_s);
        cells.push(beside(compile(&self.ours), best.map(compile)));
        let peak = |figures: &Figures| figures.peak_mb.map_or_else(dash, |peak| format!("{peak:.0}"));
        cells.push(beside(peak(&self.ours), best.map(peak)));
        cells
    }
}

/// Milliseconds with four digits that mean something.
fn milliseconds(ms: f64) -> String {
    let digits = match ms {
        100.0.. => 0,
        10.0.. => 1,
        1.0.. => 2,
        _ => 4,
    };
    format!("{ms:.digits$}")
}

/// The table in Markdown, to be read on a terminal and put on a page. Where two numbers stand, the first is ours, the
/// second the fastest peer's.
fn table(peers: &[&str], rows: &[Row]) -> String {
    let mut heads = vec!["workload".to_owned(), "threads".to_owned(), "wengert ms".to_owned()];
    heads.extend(peers.iter().map(|peer| format!("{peer} ms")));
    heads.extend(["ratio", "target", "met", "gradient / primal", "first call s", "peak MiB"].map(str::to_owned));
    let cells: Vec<Vec<String>> = rows.iter().map(Row::cells).collect();
    let width = |column: usize| {
        let lengths = cells.iter().chain([&heads]).map(|row| row[column].len());
        lengths.max().unwrap_or(0)
    };
    let line = |row: &Vec<String>| {
        let padded = row.iter().enumerate().map(|(column, cell)| format!("{cell:>0$}", width(column)));
        format!("| {} |", padded.collect::<Vec<_>>().join(" | "))
    };
    let rule: Vec<String> = (0..heads.len()).map(|column| format!("{}:", "-".repeat(width(column) - 1))).collect();
    let mut lines = vec![line(&heads), line(&rule)];
    lines.extend(cells.iter().map(line));
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(system: &str, median_s: f64, compile_s: f64) -> (Line, Value) {
        let line = Line {
            system: system.to_owned(),
            workload: "W1".to_owned(),
            dtype: "f32".to_owned(),
            threads: 2,
            compile_s,
            median_s,
            primal_s: median_s / 2.0,
            peak_rss_mb: Some(median_s * 1e3),
        };
        (line, Value::Null)
    }

    #[test]
    fn flags_are_read() {
        let text = "--only W7,W6:f32 --threads 1 --peers torch --rounds 5 --seconds 0.5 --python p --out o";
        let options = Options::parse(&text.split(' ').collect::<Vec<_>>(), None).unwrap();
        let wanted = Options {
            workloads: vec![("W7a:f64", 0.5), ("W7b:f64", 0.7), ("W6:f32", 0.7)],
            peers: vec![("torch", "torch_peer.py")],
            threads: 1,
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
    fn rows_hold_medians_over_rounds_and_the_ratio_to_the_fastest_peer() {
        let measured = [
            line("wengert", 0.003, 0.5),
            line("torch", 0.004, 3.0),
            line("wengert", 0.009, 0.1),
            line("torch", 0.008, 1.0),
            line("wengert", 0.004, 0.1),
        ];
        let row = Row::new("W1:f32", 2, 0.7, &PEERS, &measured).unwrap();
        let ours = Figures { median_ms: 4.0, primal_ms: 2.0, compile_s: 0.5, peak_mb: Some(9.0) };
        let torch = Figures { median_ms: 6.0, primal_ms: 3.0, compile_s: 3.0, peak_mb: Some(8.0) };
        assert_eq!(row.ours, ours);
        assert_eq!(row.peers, [None, Some(torch), None]);
        assert_eq!(row.ratio(), Some(4.0 / 6.0));
        let cells = "W1:f32 2 4.00 - 6.00 - 0.67 0.70 yes 2.0 / 2.0 0.50 / 3.00 9 / 8";
        assert_eq!(row.cells().join(" "), cells);
        assert!(Row::new("W1:f32", 2, 0.7, &PEERS, &measured[1..2]).is_err());
    }

    #[test]
    fn the_fastest_peer_is_the_one_compared_with() {
        let measured = [line("wengert", 0.02, 0.5), line("jax", 0.01, 3.0), line("torch", 0.04, 1.0)];
        let row = Row::new("W1:f32", 2, 1.0, &PEERS, &measured).unwrap();
        assert_eq!(row.ratio(), Some(2.0));
        assert!(row.cells().contains(&"no".to_owned()));
        assert_eq!(row.to_json(&["jax", "torch", "torch-compile"])["peers"]["torch-compile"], Value::Null);
    }

    #[test]
    fn the_columns_of_the_table_stand_below_each_other() {
        let measured = [line("wengert", 0.002, 0.5), line("jax", 0.01, 3.0)];
        let rows = [Row::new("W1:f32", 2, 1.0, &PEERS[..1], &measured).unwrap()];
        let table = table(&["jax"], &rows);
        let places = |line: &str| line.match_indices('|').map(|(place, _)| place).collect::<Vec<_>>();
        let lines: Vec<&str> = table.lines().collect();
        assert_eq!(lines.len(), 3);
        assert!(lines.iter().all(|line| places(line) == places(lines[0])), "{table}");
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
