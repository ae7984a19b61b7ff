//! Benchmarks of Wengert.
//!
//! ```text
//! bench scalar [--json] [--only a,c] [--no-peers] [--rounds N]
//! bench workloads [--only W1,W7] [--check]
//! ```
//!
//! `scalar`: six functions of scalars, recorded and swept, replayed, replayed on lanes; and in the
//! same run, block by block in turn, other systems and adjoints written by hand.
//!
//! `workloads`: programs of arrays; value and gradient against numbers that other systems agree on. With `--check` one
//! that is off is an error.

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
                  bench workloads [--only W1,W7] [--check]"
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
