//! Benchmarks of Wengert.
//!
//! ```text
//! bench scalar [--json] [--only a,c] [--no-peers] [--rounds N]
//! bench workloads [--only W1,W6:f32] [--threads N] [--primal] [--json] [--check] [--seconds S] [--size N]
//! ```
//!
//! `scalar`: six functions of scalars, recorded and swept, replayed, replayed on lanes; and in the
//! same run, block by block in turn, other systems and adjoints written by hand.
//!
//! `workloads`: programs of arrays, timed; their values and derivatives against numbers that other systems agree on.
//! With `--check` one that is off is an error. `--primal` times the function alone too, `--seconds` is how long calls
//! are repeated, `--size` the length of W8. Several workloads run in a process each, for the peak of memory.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program that reports on its terminal")]

mod formulas;
mod hand;
mod numbers;
mod peers;
mod scalar;
mod workloads;

use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let done = match arguments.first().map(String::as_str) {
        Some("scalar") => scalar::Options::parse(&arguments[1..]).and_then(|options| scalar::run(&options)),
        Some("workloads") => workloads::Options::parse(&arguments[1..]).and_then(|options| workloads::run(&options)),
        _ => Err("usage: bench scalar [--json] [--only a,c] [--no-peers] [--rounds N]\n       \
                  bench workloads [--only W1,W6:f32] [--threads N] [--primal] [--json] [--check] [--seconds S] \
                  [--size N]"
            .to_owned()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::from(2)
        }
    }
}
