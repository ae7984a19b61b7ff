//! The tasks of this repository, run as `cargo xtask TASK`.
//!
//! - `ci` is what CI runs; `ci STEP…` runs only these steps, in the order of CI.
//! - `tidy` checks the layout: module order, file heads, dependencies, generated files.
//! - `codegen` writes the generated pages.
//! - `bless` writes the generated pages and every snapshot that a test compares with; read the
//!   difference before you commit it.
//! - `machine NAME COMMAND…` runs a command as on another processor.
//! - `bench …` runs the benchmarks with these arguments.
//! - `calibrate` measures the planner's costs on this machine, and says what plans would be with them.
//! - `house` prints figures about how the library is built, of this commit or of a checkout in a folder.
//! - `release` says whether the packages can be published, and publishes nothing.
//! - `compare …` times the array workloads and the rows of `indexing.json` and `batches.json` beside other systems.

#![expect(clippy::print_stdout, reason = "a command reports to its user")]
#![expect(clippy::print_stderr, reason = "a command reports to its user")]

mod beside;
mod ci;
mod codegen;
mod compare;
mod deny;
mod house;
mod licence;
mod machine;
mod metadata;
mod release;
mod run;
mod tidy;
mod workspace;

use std::process::ExitCode;

use crate::run::cargo;
use crate::workspace::{Workspace, root};

const USAGE: &str = "\
usage: cargo xtask TASK
  ci [STEP…]   everything CI runs, or only these steps
  tidy         layout: module order, file heads, dependencies, generated files
  codegen      write the generated pages
  bless        write the generated pages and the snapshots of the tests
  machine NAME COMMAND…  a command as on another processor: small, medium or large
  bench …      the benchmarks, with these arguments
  calibrate    the planner's costs, measured on this machine beside those in the code
  compare …    the array workloads beside other systems
  release      whether the packages can be published; nothing is
  house [FOLDER]  ranks of modules, lines, types that share a name, places of drivers; of a checkout in a folder";

/// Why a task failed, for its user.
type Failure = String;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match arguments[..] {
        ["ci", ref steps @ ..] => return ci::ci(steps),
        ["tidy"] => tidy::tidy(),
        ["codegen"] => write_pages(),
        ["bless"] => bless(),
        ["machine", name, ref command @ ..] => machine::machine(name, command),
        ["bench", ref rest @ ..] => {
            run::run(cargo(&["run", "--quiet", "--release", "--package", "bench", "--"]).args(rest))
        }
        ["calibrate"] => {
            run::run(&mut cargo(&["run", "--quiet", "--release", "--package", "bench", "--", "calibrate"]))
        }
        ["house"] => house::house(None),
        ["house", folder] => house::house(Some(folder)),
        ["release"] => release::release(),
        ["compare", ref rest @ ..] => compare::compare(rest),
        _ => Err(USAGE.to_owned()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("{failure}");
            ExitCode::FAILURE
        }
    }
}

/// Writes the generated pages.
fn write_pages() -> Result<(), Failure> {
    let page = codegen::primitives(&Workspace::load()?)?;
    let path = root().join(codegen::PRIMITIVES);
    std::fs::write(&path, page).map_err(|error| format!("cannot write {}: {error}", path.display()))
}

/// Writes the generated pages and the snapshots.
fn bless() -> Result<(), Failure> {
    write_pages()?;
    let members = metadata::members()?;
    let mut tests = cargo(&["test", "--all-features", "--tests"]);
    for member in &members {
        if member.depends_on("expect-test") {
            tests.args(["--package", &member.name]);
        }
    }
    // The name by which the library is told to write instead of compare.
    run::run(tests.env("UPDATE_EXPECT", "1"))
}
