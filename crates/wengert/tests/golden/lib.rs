//! Compares the library with golden files: values and derivatives that other systems computed.
//!
//! `GOLDEN_DIR` names the directory of the files, absolute or from the project's root; without it,
//! `../shared/golden` beside the project is read if it exists, else the copy in
//! `data`. Every case of every file is run, one
//! line per family is printed, and each failure and each unsupported function by name:
//!
//! ```text
//! golden unary: 220 passed, 0 failed, 0 unsupported
//! ```
//!
//! What may be unsupported stands in `golden/unsupported.txt`; any other case of a function that does not exist here is a
//! failure, and so is one of these that does.
//!
//! Functions exist over scalars (`functions`), as array programs (`arrays`) or as both; a case is run
//! in every way there is, and the last lines say how many were run as array programs.
//!
//! The target that calls it, `main.rs`, has no test harness, because a harness swallows what a passing test prints. [`main`]
//! understands the arguments that `cargo test` and `cargo nextest` give to a target with the one
//! test `golden`. The comparison is a library beside that target so that it is compiled without optimisation, which takes a
//! fifth of the time and runs as fast.

mod array;
mod arrays;
mod attrs;
mod bound;
mod check;
mod compare;
mod conventions;
mod derivatives;
mod documented;
mod functions;
mod listed;
mod load;
mod orders;
mod program;
mod sparse;
mod sums;

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use array::Trouble;
use load::{Cases, Read};

/// The functions that may be missing: `family: function (cases)`.
const UNSUPPORTED: &str = include_str!("unsupported.txt");

/// What became of a family's cases.
#[derive(Default)]
struct Tally {
    passed: usize,
    /// How many of these were run as array programs, be it besides scalars or alone.
    arrays: usize,
    /// Names of cases and what is wrong with them.
    failed: Vec<(String, String)>,
    /// Names of functions that do not exist here, and how many cases each has.
    unsupported: BTreeMap<String, usize>,
}

impl Tally {
    fn count(&mut self, name: String, result: Result<bool, Trouble>) {
        match result {
            Ok(arrays) => {
                self.passed += 1;
                self.arrays += usize::from(arrays);
            }
            Err(Trouble::Misfit(why)) => self.failed.push((name, why)),
            Err(Trouble::Unsupported(function)) => *self.unsupported.entry(function).or_default() += 1,
        }
    }

    fn print(&self, family: &str, out: &mut impl Write) -> io::Result<()> {
        let (passed, failed) = (self.passed, self.failed.len());
        let unsupported: usize = self.unsupported.values().sum();
        writeln!(out, "golden {family}: {passed} passed, {failed} failed, {unsupported} unsupported")?;
        for (name, why) in &self.failed {
            writeln!(out, "  failed {family}: {name}: {why}")?;
        }
        for (function, count) in &self.unsupported {
            writeln!(out, "  unsupported {family}: {function} ({count})")?;
        }
        Ok(())
    }
}

/// Runs `check` on every case that could be read; a panic in it is a failure of the case.
fn run<C>(cases: Vec<Read<C>>, check: impl Fn(&C) -> Result<bool, Trouble>) -> Tally {
    let mut tally = Tally::default();
    for (name, case) in cases {
        let result = match case {
            Err(why) => Err(Trouble::Misfit(why)),
            Ok(case) => catch_unwind(AssertUnwindSafe(|| check(&case)))
                .unwrap_or_else(|payload| Err(Trouble::Misfit(panic_message(payload.as_ref())))),
        };
        tally.count(name, result);
    }
    tally
}

fn panic_message(payload: &dyn std::any::Any) -> String {
    let message = payload.downcast_ref::<String>().map(String::as_str);
    let message = message.or_else(|| payload.downcast_ref::<&str>().copied());
    format!("panicked: {}", message.unwrap_or("without a message"))
}

/// The directory to read.
fn directory() -> PathBuf {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let root = package.join("../../../..");
    if let Some(directory) = std::env::var_os("GOLDEN_DIR") {
        // `cargo test` starts the program in the library's package; who sets the variable is at the root.
        let from_root = root.join(&directory);
        return if from_root.is_dir() { from_root } else { directory.into() };
    }
    let shared = root.join("../shared/golden");
    if shared.is_dir() { shared } else { package.join("data") }
}

/// Runs every family of a directory; gives how many cases passed and how many failed, where a file
/// that cannot be read counts as one failure.
fn run_directory(directory: &Path, out: &mut impl Write) -> io::Result<(usize, usize)> {
    let shown = directory.canonicalize().unwrap_or_else(|_| directory.to_owned());
    writeln!(out, "golden files from {}", shown.display())?;
    let files = match load::files(directory) {
        Ok(files) => files,
        Err(why) => {
            writeln!(out, "  failed: {why}")?;
            return Ok((0, 1));
        }
    };
    let (mut passed, mut failed, mut unsupported) = (0, 0, 0);
    let mut arrays = Vec::new();
    let mut add = |name: &str, tally: &Tally| {
        if tally.arrays > 0 {
            arrays.push(format!("{name} {}", tally.arrays));
        }
        passed += tally.passed;
        failed += tally.failed.len();
        unsupported += tally.unsupported.values().sum::<usize>();
    };
    for file in files {
        let family = match load::family(&file) {
            Ok(family) => family,
            Err(why) => {
                let name = file.file_stem().unwrap_or_default().to_string_lossy();
                let tally = Tally { failed: vec![("the file".to_owned(), why)], ..Tally::default() };
                tally.print(&name, out)?;
                add(&name, &tally);
                continue;
            }
        };
        let name = family.name;
        let mut tally = match family.cases {
            Cases::Functions(cases) => run(cases, |case| check::check(&name, case)),
            Cases::Conventions(cases) => run(cases, conventions::check),
        };
        tally.failed.extend(listed::misfits(&name, &tally.unsupported, UNSUPPORTED));
        tally.print(&name, out)?;
        add(&name, &tally);
    }
    let documented = documented::check_all().into_iter().map(|(name, result)| (name, Ok(result))).collect();
    let tally = run(documented, |result: &Result<(), String>| Ok(result.clone().map(|()| true)?));
    tally.print("documented conventions", out)?;
    add("documented conventions", &tally);
    writeln!(out, "golden as array programs: {}", arrays.join(", "))?;
    // What runs at once, outside a recording; the drivers' Programs run on the engine.
    writeln!(out, "golden operations on the reference executor: {}", wengert::reference_steps())?;
    writeln!(out, "golden: {passed} passed, {failed} failed, {unsupported} unsupported")?;
    Ok((passed, failed))
}

/// What the arguments ask for.
#[derive(Default)]
struct Request {
    list: bool,
    ignored: bool,
    exact: bool,
    names: Vec<String>,
    skip: Vec<String>,
}

impl Request {
    fn parse(mut arguments: impl Iterator<Item = String>) -> Self {
        let mut request = Request::default();
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                "--list" => request.list = true,
                "--ignored" => request.ignored = true,
                "--exact" => request.exact = true,
                "--skip" => request.skip.extend(arguments.next()),
                "--format" | "--color" | "--test-threads" | "--logfile" | "--report-time" | "-Z" => {
                    arguments.next();
                }
                flag if flag.starts_with('-') => {}
                name => request.names.push(name.to_owned()),
            }
        }
        request
    }

    fn selects(&self, test: &str) -> bool {
        let fits = |name: &String| if self.exact { test == name } else { test.contains(name.as_str()) };
        // `--ignored` selects the ignored tests only, and there are none.
        !self.ignored && (self.names.is_empty() || self.names.iter().any(fits)) && !self.skip.iter().any(fits)
    }
}

/// Runs what the arguments of the process ask for.
pub fn main() -> ExitCode {
    let request = Request::parse(std::env::args().skip(1));
    match answer(&request, &mut io::stdout().lock()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        // Nobody reads any more: what was computed until then does not matter.
        Err(_) => ExitCode::FAILURE,
    }
}

/// Whether all is well.
fn answer(request: &Request, out: &mut impl Write) -> io::Result<bool> {
    let selected = request.selects("golden");
    if request.list {
        if selected {
            writeln!(out, "golden: test")?;
        }
        return Ok(true);
    }
    let start = Instant::now();
    let (passed, failed) = if selected {
        // A panic becomes the message of a case; the default hook would print each as well.
        std::panic::set_hook(Box::new(|_| {}));
        run_directory(&directory(), out)?
    } else {
        (0, 0)
    };
    let outcome = if failed == 0 { "ok" } else { "FAILED" };
    let filtered = usize::from(!selected);
    writeln!(
        out,
        "\ntest result: {outcome}. {passed} passed; {failed} failed; 0 ignored; 0 measured; \
         {filtered} filtered out; finished in {:.2}s\n",
        start.elapsed().as_secs_f64()
    )?;
    Ok(failed == 0)
}
