//! `adbench`: ADBench's problems, ours beside derivatives by hand and other systems.
//!
//! The folder has an `index.json` with a record for each case, the data files and the references; its layout is that of
//! `docs/adbench.md`. Every objective and every entry of every derivative is compared with the references before anything
//! is timed. Ours and the derivatives by hand are called in turn, so that both see the machine in the same seconds; the
//! peers are processes of their own that follow.

mod cases;
mod peers;
mod references;
mod table;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use cases::{Call, System};
pub(crate) use peers::PYTHON;
use peers::Peer;
use references::{Errors, Record};
use table::{Row, Timed};

/// What is asked for on the command line.
#[derive(Debug, PartialEq)]
pub(crate) struct Options {
    dir: PathBuf,
    only: Vec<String>,
    threads: usize,
    json: bool,
    seconds: f64,
    peers: Vec<&'static str>,
    python: Option<PathBuf>,
}

/// Least calls of which a median is taken.
const CALLS: usize = 5;

impl Options {
    /// Reads the command line; `python` is the interpreter of the peers if no flag names one.
    pub(crate) fn parse(arguments: &[String], python: Option<PathBuf>) -> Result<Self, String> {
        let mut options = Options {
            dir: PathBuf::new(),
            only: Vec::new(),
            threads: 1,
            json: false,
            seconds: 1.0,
            peers: peers::ALL.to_vec(),
            python,
        };
        let mut arguments = arguments.iter();
        while let Some(argument) = arguments.next() {
            let mut value = || arguments.next().ok_or(format!("{argument} needs a value"));
            match argument.as_str() {
                "--dir" => options.dir = value()?.into(),
                "--only" => options.only = value()?.split(',').map(str::to_owned).collect(),
                "--threads" => options.threads = crate::workloads::from_one(argument, value()?)?,
                // Kept for its use with the other suites: here a result that is off is an error in any case.
                "--check" => {}
                "--json" => options.json = true,
                "--seconds" => options.seconds = seconds(value()?)?,
                "--peers" => options.peers = peers::named(value()?)?,
                "--python" => options.python = Some(value()?.into()),
                other => return Err(format!("unknown flag `{other}`")),
            }
        }
        match options.dir.as_os_str().is_empty() {
            true => Err("adbench needs --dir, the folder with index.json".to_owned()),
            false => Ok(options),
        }
    }

    fn wants(&self, record: &Record) -> bool {
        self.only.is_empty() || self.only.iter().any(|name| *name == record.name || *name == record.kind)
    }
}

fn seconds(text: &str) -> Result<f64, String> {
    let seconds =
        text.parse().ok().filter(|seconds: &f64| *seconds >= 0.0 && Duration::try_from_secs_f64(*seconds).is_ok());
    seconds.ok_or_else(|| format!("--seconds takes a number from 0, not `{text}`"))
}

/// Checks and measures the cases of a folder; an error names every case that could not be read or is off.
pub(crate) fn run(options: &Options) -> Result<(), String> {
    let records: Vec<Record> =
        references::read(&options.dir)?.into_iter().filter(|record| options.wants(record)).collect();
    if records.is_empty() {
        return Err(format!("{}: no case is called `{}`", options.dir.display(), options.only.join(",")));
    }
    let peers = match &options.python {
        Some(python) => peers::installed(python, &options.peers)?,
        None if options.peers.is_empty() => Vec::new(),
        None => {
            eprintln!("no peers: name a Python that has them with --python or {}", PYTHON);
            Vec::new()
        }
    };
    let (mut rows, mut failures) = (Vec::new(), Vec::new());
    for record in &records {
        eprintln!("{} …", record.name);
        match case(options, record, &peers) {
            Ok(row) => {
                if options.json {
                    row.lines(options.threads).iter().for_each(|line| println!("{line}"));
                }
                rows.push(row);
            }
            Err(failure) => failures.push(failure),
        }
    }
    if !options.json && !rows.is_empty() {
        let names: Vec<&str> = peers.iter().map(|peer| peer.name).collect();
        print!("{}", table::text(&names, &rows));
    }
    if failures.is_empty() { Ok(()) } else { Err(failures.join("\n")) }
}

/// One case: its checks, our times and those by hand, then the peers'.
fn case(options: &Options, record: &Record, peers: &[Peer]) -> Result<Row, String> {
    let wanted = record.wanted()?;
    let systems = cases::systems(record, options.threads)?;
    let mut errors = Vec::new();
    for system in &systems {
        let objective = wanted.objective.compare(&(system.objective.flat)());
        let derivative = wanted.derivative.compare(&(system.derivative.flat)());
        let all = objective.and_then(|objective| Ok(objective.join(derivative?)));
        let all: Errors = all.map_err(|why| format!("{}, {}: {why}", record.name, system.name))?;
        all.check().map_err(|why| format!("{}, {}: {why}", record.name, system.name))?;
        errors.push(all);
    }
    let derivatives = in_turn(&systems, |system| &system.derivative, options.seconds);
    let objectives = in_turn(&systems, |system| &system.objective, options.seconds / 2.0);
    let mut row = Row::new(record);
    for (k, system) in systems.iter().enumerate() {
        row.push(Timed {
            system: system.name.to_owned(),
            form: None,
            objective: objectives[k].0,
            derivative: derivatives[k].0,
            least: Some((objectives[k].1, derivatives[k].1)),
            errors: Some(errors[k]),
        });
    }
    drop(systems);
    for peer in peers {
        match peer.measure(options, &record.name) {
            Ok(timed) => row.push(timed),
            // Ours are worth a row even if a peer cannot do it.
            Err(why) => eprintln!("{} is left out of {}: {why}", peer.name, record.name),
        }
    }
    Ok(row)
}

/// The median and the least time of a call of each system, in seconds, one call of each after the other.
fn in_turn(systems: &[System], call: impl Fn(&System) -> &Call, seconds: f64) -> Vec<(f64, f64)> {
    let mut times = vec![Vec::new(); systems.len()];
    systems.iter().for_each(|system| (call(system).run)());
    let begin = Instant::now();
    while times[0].len() < CALLS || begin.elapsed().as_secs_f64() < seconds * systems.len() as f64 {
        for (times, system) in times.iter_mut().zip(systems) {
            let begin = Instant::now();
            (call(system).run)();
            times.push(begin.elapsed().as_secs_f64());
        }
    }
    let summary = |mut times: Vec<f64>| {
        times.sort_by(f64::total_cmp);
        (times[times.len() / 2], times[0])
    };
    times.into_iter().map(summary).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Result<Options, String> {
        let arguments: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
        Options::parse(&arguments, None)
    }

    #[test]
    fn flags_are_read() {
        let options = parsed("--dir d --only gmm,ba1 --threads 2 --check --json --seconds 0.5 --peers jax --python p");
        let wanted = Options {
            dir: "d".into(),
            only: vec!["gmm".to_owned(), "ba1".to_owned()],
            threads: 2,
            json: true,
            seconds: 0.5,
            peers: vec!["jax"],
            python: Some("p".into()),
        };
        assert_eq!(options, Ok(wanted));
        assert!(parsed("--only gmm").unwrap_err().contains("--dir"));
        for wrong in ["--threads 0", "--seconds -1", "--seconds inf", "--peers tf", "--dir", "--fast"] {
            assert!(parsed(&format!("--dir d {wrong}")).is_err(), "{wrong}");
        }
    }

    /// The small cases of the problems' package.
    fn small() -> PathBuf {
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../crates/gradbench/tests/data/adbench")
    }

    #[test]
    fn ours_and_those_by_hand_have_the_numbers_of_the_references() {
        let records = references::read(&small()).unwrap();
        assert!(records.len() >= 9);
        for record in &records {
            let wanted = record.wanted().unwrap();
            for system in cases::systems(record, 1).unwrap() {
                for (call, wanted) in [(&system.objective, &wanted.objective), (&system.derivative, &wanted.derivative)]
                {
                    let errors = wanted.compare(&(call.flat)()).unwrap();
                    errors.check().unwrap_or_else(|why| panic!("{}, {}: {why}", record.name, system.name));
                    // Stricter than the rule: these cases are small.
                    assert!(errors.largest < 1e-12, "{}, {}: {errors:?}", record.name, system.name);
                }
            }
        }
    }

    #[test]
    fn a_folder_is_measured_whole() {
        let text = format!("--dir {} --seconds 0 --peers none --json", small().display());
        assert_eq!(run(&parsed(&text).unwrap()), Ok(()));
        let text = format!("--dir {} --only nothing", small().display());
        assert!(run(&parsed(&text).unwrap()).unwrap_err().contains("nothing"));
        assert!(run(&parsed("--dir /no/such/folder").unwrap()).unwrap_err().contains("index.json"));
    }
}
