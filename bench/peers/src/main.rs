//! Times other Rust systems, and gradients written by hand, on the six functions of the scalar benchmark.
//!
//! ```text
//! peers           a table of all workloads and systems
//! peers --json    the same, one line of JSON for each pair
//! peers --list    the pairs that can be measured, one "workload system" on a line
//! peers --serve   reads lines "workload system", answers each with one line of JSON from one short block of repetitions
//! ```
//!
//! With `--serve` a driver alternates this process with another system, block by block, so that both see the same machine.
//! A pair is prepared, and its gradient compared with the one written by hand, when it is first asked for.
//!
//! Times are those of one thread. `ns_per_op` divides the time of a whole gradient, the function included, by the number of
//! operations of the function, which is one count for all systems.

#[path = "../../src/formulas.rs"]
mod formulas;
#[path = "../../src/hand/scalar.rs"]
mod hand;
mod measure;
mod numbers;
mod systems;

use std::io::{BufRead, Write};
use std::process::ExitCode;
use std::time::Duration;

use formulas::Workload;
use measure::{Effort, Prepared, json_skipped};
use systems::System;

/// Repetitions of a whole report.
const REPORT: Effort = Effort { time: Duration::from_millis(300), samples: 7 };
/// Repetitions of one gradient block of `--serve`.
const BLOCK: Effort = Effort { time: Duration::from_millis(150), samples: 3 };
/// Repetitions of the primal in a block of `--serve`.
const PRIMAL_BLOCK: Effort = Effort { time: Duration::from_millis(30), samples: 3 };

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match arguments[..] {
        [] => report(Form::Table),
        ["--json"] => report(Form::Json),
        ["--list"] => list(),
        ["--serve"] => serve(),
        _ => {
            eprintln!("usage: peers [--json | --list | --serve]");
            return ExitCode::from(2);
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        // The reader went away, as in `peers --json | head`.
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("peers: {error}");
            ExitCode::FAILURE
        }
    }
}

/// How a report is printed.
#[derive(Clone, Copy)]
enum Form {
    /// Lines for people.
    Table,
    /// Lines of JSON.
    Json,
}

/// Measures every pair.
fn report(form: Form) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    if let Form::Table = form {
        writeln!(
            out,
            "w  {:<15} {:<15} {:>12} {:>12} {:>8} {:>8} {:>8}",
            "system", "mode", "primal", "gradient", "ratio", "ns/op", "min"
        )?;
    }
    for workload in Workload::ALL {
        for system in System::ALL {
            let prepared = Prepared::new(workload, system);
            let line = match (form, prepared) {
                (Form::Json, Ok(mut prepared)) => prepared.measure(REPORT, REPORT).json(),
                (Form::Json, Err(reason)) => json_skipped(workload, system, &reason),
                (Form::Table, Ok(mut prepared)) => prepared.measure(REPORT, REPORT).text(),
                (Form::Table, Err(reason)) => {
                    format!("{}  {:<15} skipped: {reason}", workload.letter(), system.name())
                }
            };
            writeln!(out, "{line}")?;
            out.flush()?;
        }
    }
    Ok(())
}

/// Prints the pairs that can be measured.
fn list() -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    for workload in Workload::ALL {
        for system in System::ALL {
            if system.skips(workload).is_none() {
                writeln!(out, "{} {}", workload.letter(), system.name())?;
            }
        }
    }
    Ok(())
}

/// Answers requests until the input ends.
fn serve() -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    let mut prepared = Vec::new();
    for line in std::io::stdin().lock().lines() {
        let answer = answer(&line?, &mut prepared);
        writeln!(out, "{answer}")?;
        out.flush()?;
    }
    Ok(())
}

/// A pair asked for before, or why it is not measured.
type Known = (Workload, System, Result<Prepared, String>);

/// The answer to one request; a pair is prepared once.
fn answer(request: &str, known: &mut Vec<Known>) -> String {
    let words: Vec<&str> = request.split_whitespace().collect();
    let pair = match words[..] {
        [workload, system] => Workload::from_letter(workload).zip(System::from_name(system)),
        _ => None,
    };
    let Some((workload, system)) = pair else {
        return "{\"suite\":\"scalar\",\"error\":\"expected a workload and a system of --list\"}".to_owned();
    };
    let position = known.iter().position(|&(w, s, _)| (w, s) == (workload, system)).unwrap_or_else(|| {
        known.push((workload, system, Prepared::new(workload, system)));
        known.len() - 1
    });
    match &mut known[position].2 {
        Ok(prepared) => prepared.measure(PRIMAL_BLOCK, BLOCK).json(),
        Err(reason) => json_skipped(workload, system, reason),
    }
}
