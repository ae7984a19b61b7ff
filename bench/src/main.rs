//! Benchmarks of Wengert.
//!
//! ```text
//! bench scalar [--json] [--only a,c] [--no-peers] [--rounds N]
//! bench workloads [--only W1,W6:f32] [--threads N] [--primal] [--recorded] [--json] [--check] [--seconds S] [--size N]
//! bench indexing [the same flags]
//! bench batches [the same flags]
//! bench linalg [the same flags]
//! bench fft [the same flags]
//! bench counts
//! bench memory [--threads N] [--size N]
//! bench planning [--only NAME] [--steps N [--count]]
//! bench captured
//! bench carriers
//! bench inplace [--rows MOST]
//! bench loops [--only NAME]
//! bench nested
//! bench sparse-solve [--side N]
//! bench sparse [--only arrays|scalars]
//! bench adbench --dir DIR [--only NAMES] [--threads N] [--json] [--seconds S] [--peers jax,torch | none] [--python PATH]
//! bench calibrate
//! ```
//!
//! `scalar`: six functions of scalars, recorded and swept, replayed, replayed on lanes; and in the
//! same run, block by block in turn, other systems and adjoints written by hand. Then products with the Jacobian and the
//! Hessian, and both matrices, at many points: on lanes, and by the driver of one point.
//!
//! `workloads`: programs of arrays, timed; their values and derivatives against numbers that other systems agree on. With
//! `--check` one that is off is an error. `--primal` times the function alone too, `--seconds` is how long calls are
//! repeated, `--size` the length of W8. `--recorded` leaves `compile` out: functions are recorded at every call, and their
//! plans found by hash. Several workloads run in a process each, for the peak of memory.
//!
//! `indexing`: the same for programs that gather, scatter, pick and slide, in several sizes: the rows of
//! `peers/arrays/indexing.json`, whose numbers are JAX's in double precision.
//!
//! `batches`: the same for many derivatives at once, shifted views and contractions: the rows of `peers/arrays/batches.json`.
//!
//! `linalg`, `fft`: the same for factorisations, functions of matrices and complex products, and for Fourier transforms: the
//! rows of `peers/arrays/linalg.json` and `fft.json`; with `--features linalg,fft`, or by plain definitions.
//!
//! `counts`: what the derivative of each costs, counted: the page `docs/counts.md`, without allocations.
//!
//! `memory`: the predicted peak of W8 beside what the process takes.
//!
//! `planning`: what the first gradient of programs of up to 50,000 steps costs per step, in time and memory, and whether
//! the second one finds its plan; `--only` takes a part of a case's name, `--steps` one number of steps, of which `--count`
//! prints how many steps the plan has.
//!
//! `captured`: what a plain number costs that a function captures and that changes at every call.
//!
//! `carriers`: what a point costs with duals over eight lanes, and with duals over plain numbers.
//!
//! `inplace`: rows of an array written one by one, and stencils written in three ways.
//!
//! `loops`: what a step of a loop costs, forwards and in the gradient; of loops over numbers also in `jvp` and `hvp`.
//!
//! `nested`: derivatives inside of derivatives of numbers, in every order of modes: GradBench's particle and saddle.
//!
//! `sparse-solve`: a differential equation on a square, the gradient by every entry of its matrix beside the system itself; with
//! `--features linalg`.
//!
//! `sparse`: sparse Jacobians and Hessians beside one evaluation of their function.
//!
//! `adbench`: the four problems of ADBench from a folder with their data and references, every entry checked; ours, the
//! derivatives by hand (`hand/`) and the peers of `peers/adbench`.
//!
//! `calibrate`: the planner's costs, measured on this machine, and what the plans of the workloads would be with them.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program that reports on its terminal")]

mod adbench;
mod calibrate;
mod captured;
mod carriers;
mod formulas;
mod growth;
mod hand;
mod inplace;
mod loops;
mod many;
mod nested;
mod numbers;
mod peers;
mod planning;
mod scalar;
mod sparse;
mod sparse_solve;
mod workloads;

use std::process::ExitCode;

use workloads::Suite;

const USAGE: &str = "\
usage: bench scalar [--json] [--only a,c] [--no-peers] [--rounds N]
       bench workloads [--only W1,W6:f32] [--threads N] [--primal] [--recorded] [--json] [--check]
                       [--seconds S] [--size N]
       bench indexing [the same flags]
       bench batches [the same flags]
       bench linalg [the same flags]
       bench fft [the same flags]
       bench counts
       bench memory [--threads N] [--size N]
       bench planning [--only NAME] [--steps N [--count]]
       bench captured
       bench carriers
       bench inplace [--rows MOST]
       bench loops [--only NAME]
       bench nested
       bench sparse-solve [--side N]
       bench sparse [--only arrays|scalars]
       bench adbench --dir DIR [--only NAMES] [--threads N] [--check] [--json] [--seconds S]
                     [--peers jax,torch | none] [--python PATH]
       bench calibrate";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let done = match arguments.first().map(String::as_str) {
        Some("scalar") => scalar::Options::parse(&arguments[1..]).and_then(|options| scalar::run(&options)),
        Some("workloads") => timed(Suite::Workloads, &arguments[1..]),
        Some("indexing") => timed(Suite::Indexing, &arguments[1..]),
        Some("batches") => timed(Suite::Batches, &arguments[1..]),
        Some("linalg") => timed(Suite::Linalg, &arguments[1..]),
        Some("fft") => timed(Suite::Fourier, &arguments[1..]),
        Some("counts") => {
            print!("{}", workloads::page());
            Ok(())
        }
        Some("memory") => memory(&arguments[1..]),
        Some("planning") => planning::Options::parse(&arguments[1..]).and_then(|options| planning::run(&options)),
        Some("captured") => {
            print!("{}", captured::table());
            Ok(())
        }
        Some("carriers") => {
            print!("{}", carriers::table());
            Ok(())
        }
        Some("inplace") => inplace::run(&arguments[1..]),
        Some("loops") => loops::run(&arguments[1..]),
        Some("sparse") => sparse::run(&arguments[1..]),
        Some("nested") => {
            nested::run();
            Ok(())
        }
        Some("sparse-solve") => sparse_solve::run(&arguments[1..]),
        Some("adbench") => {
            let python = std::env::var_os(adbench::PYTHON).map(Into::into);
            adbench::Options::parse(&arguments[1..], python).and_then(|options| adbench::run(&options))
        }
        Some("calibrate") => calibrate::run().map(|text| print!("{text}")),
        _ => Err(USAGE.to_owned()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::from(2)
        }
    }
}

/// Measures the workloads of a suite.
fn timed(suite: Suite, arguments: &[String]) -> Result<(), String> {
    workloads::Options::parse(suite, arguments).and_then(|options| workloads::run(&options))
}

/// Prints the predicted peak of W8 beside the memory that this process takes.
fn memory(arguments: &[String]) -> Result<(), String> {
    let (mut threads, mut chain) = (1, workloads::CHAIN);
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().ok_or(format!("{argument} needs a value"));
        match argument.as_str() {
            "--threads" => threads = workloads::from_one(argument, value()?)?,
            "--size" => chain = workloads::from_one(argument, value()?)?,
            other => return Err(format!("unknown flag `{other}`")),
        }
    }
    println!("{}", workloads::memory(chain, threads)?);
    Ok(())
}
