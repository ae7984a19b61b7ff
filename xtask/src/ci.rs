//! `cargo xtask ci`: everything that must hold before a change is taken.
//!
//! The steps go from the quick to the slow, and the first one that fails ends the run. Clippy, features and pages only check the
//! code, much of it in one thread: they run beside the tests, in a folder of their own, and what fails there is told after the
//! tests. In each folder everything is built in one profile with one set of features, so that what ours is built from is compiled
//! once.

use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use crate::Failure;
use crate::beside::Beside;
use crate::machine::MACHINES;
use crate::metadata::{described, is_published};
use crate::run::{cargo, is_installed, run, run_reading};
use crate::{deny, release, tidy};

/// Tests counted so far.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Tally {
    passed: u64,
    failed: u64,
}

type Step = fn(&mut Tally) -> Result<(), Failure>;

/// When a step of a whole run has its turn.
#[derive(Clone, Copy, PartialEq)]
enum Turn {
    /// Before all others: it takes seconds.
    First,
    /// In a process beside those that come last.
    Beside,
    Last,
}

/// In the order in which they run where only some are asked for.
const STEPS: &[(&str, Turn, Step)] = &[
    ("format", Turn::First, format),
    ("tidy", Turn::First, |_| tidy::tidy()),
    ("deny", Turn::First, deny),
    ("typos", Turn::First, typos),
    ("packages", Turn::First, |_| release::packages()),
    ("clippy", Turn::Beside, clippy),
    ("features", Turn::Beside, features),
    ("docs", Turn::Beside, docs),
    ("tests", Turn::Last, tests),
    ("machines", Turn::Last, machines),
    ("doctests", Turn::Last, doctests),
    ("semver", Turn::Last, |_| release::compatible()),
    ("oldest", Turn::Last, |_| release::oldest()),
];

/// The whole workspace with everything in it.
const ALL: [&str; 2] = ["--workspace", "--all-features"];

/// Everything that has tests. `--all-targets` takes the macro's package too, which says that it has none: what its tests
/// need would be compiled a second time, for the compiler's side, and that is the library. Examples are not built as programs:
/// the library's tests hold their functions (`crates/wengert/tests/all/examples.rs`), and clippy reads them.
const TESTED: [&str; 1] = ["--tests"];

/// Runs every step, or those named. The last line counts tests; a step that fails otherwise counts
/// as one failure.
pub(crate) fn ci(names: &[&str]) -> ExitCode {
    if let Some(unknown) = names.iter().find(|name| !STEPS.iter().any(|(step, ..)| step == *name)) {
        let steps: Vec<&str> = STEPS.iter().map(|(step, ..)| *step).collect();
        eprintln!("ci: there is no step `{unknown}`, but {}", steps.join(", "));
        return ExitCode::FAILURE;
    }
    let mut run = Run { begin: Instant::now(), tally: Tally::default(), times: Vec::new(), failed: None };
    if names.is_empty() {
        run.whole();
    } else {
        run.steps(|name, _| names.contains(&name));
    }
    run.report();
    if run.failed.is_some() { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

/// A run of the steps, as far as it has come.
struct Run {
    begin: Instant,
    tally: Tally,
    times: Vec<(&'static str, Duration)>,
    failed: Option<&'static str>,
}

impl Run {
    /// Every step. What runs beside the tests is waited for whatever becomes of them.
    fn whole(&mut self) {
        self.steps(|_, turn| turn == Turn::First);
        if self.failed.is_some() {
            return;
        }
        let names: Vec<&str> =
            STEPS.iter().filter(|(_, turn, _)| *turn == Turn::Beside).map(|(name, ..)| *name).collect();
        println!("== beside what follows: {}", names.join(", "));
        let begin = Instant::now();
        let beside = Beside::start(&names);
        self.steps(|_, turn| turn == Turn::Last);
        let ended = beside.and_then(Beside::end);
        self.take("beside", begin, ended);
    }

    /// The steps that are chosen by name and turn, until one fails.
    fn steps(&mut self, is_chosen: impl Fn(&str, Turn) -> bool) {
        for &(name, _, step) in STEPS.iter().filter(|(name, turn, _)| is_chosen(name, *turn)) {
            println!("== {name}");
            let begin = Instant::now();
            let done = step(&mut self.tally);
            self.take(name, begin, done);
            if self.failed.is_some() {
                return;
            }
        }
    }

    /// Notes how long a step took, and whether it failed.
    fn take(&mut self, name: &'static str, begin: Instant, done: Result<(), Failure>) {
        self.times.push((name, begin.elapsed()));
        if let Err(failure) = done {
            eprintln!("{failure}");
            self.tally.failed = self.tally.failed.max(1);
            self.failed.get_or_insert(name);
        }
    }

    fn report(&self) {
        println!("== times");
        for (name, time) in &self.times {
            println!("{name:<9} {:7.1} s", time.as_secs_f64());
        }
        println!("{:<9} {:7.1} s", "total", self.begin.elapsed().as_secs_f64());
        match self.failed {
            Some("beside") => println!("a step beside the tests failed; run it alone with `cargo xtask ci STEP`"),
            Some(name) => println!("the step `{name}` failed; run it alone with `cargo xtask ci {name}`"),
            None => {}
        }
        println!("{} passed, {} failed", self.tally.passed, self.tally.failed);
    }
}

fn format(_: &mut Tally) -> Result<(), Failure> {
    run(&mut cargo(&["fmt", "--all", "--check"]))?;
    run(&mut cargo(&["fmt", "--manifest-path", "bench/peers/Cargo.toml", "--check"]))
}

fn deny(_: &mut Tally) -> Result<(), Failure> {
    let count = deny::check()?;
    println!("{count} packages: licences, sources and duplicate versions are as deny.toml has them");
    if is_installed(cargo(&["deny"])) {
        // Advisories come and go without a change of ours; they are not a reason to stop one.
        return run(&mut cargo(&["--locked", "deny", "check", "bans", "licenses", "sources"]));
    }
    println!("cargo-deny is not installed; its own check is left out");
    Ok(())
}

fn typos(_: &mut Tally) -> Result<(), Failure> {
    if is_installed(Command::new("typos")) {
        return run(Command::new("typos").current_dir(crate::workspace::root()));
    }
    println!("typos is not installed (`pip install typos`); the spelling is not checked");
    Ok(())
}

fn clippy(_: &mut Tally) -> Result<(), Failure> {
    run(cargo(&["clippy", "--lib", "--bins", "--examples"]).args(TESTED).args(ALL).args(["--", "-D", "warnings"]))
}

/// What the library is without the features that the other steps have all of: scalars, alone and in the matrices of other
/// libraries; arrays without the engine and the text form; and the engine without a place on disk. Each leaves out what a `cfg`
/// could have forgotten.
const FEATURES: [&str; 4] =
    ["", "derive,nalgebra,ndarray,sprs,nalgebra-sparse", "arrays,argmin,npy,num_complex", "engine"];

/// The libraries with fewer features: whether they compile, and without warnings of the compiler, which are what a `cfg` that is missing
/// leads to. Clippy has read the same lines with all features.
fn features(_: &mut Tally) -> Result<(), Failure> {
    let check = |package: &str, features: &str| {
        let library = ["rustc", "--package", package, "--lib", "--no-default-features", "--features", features];
        run(cargo(&library).args(["--profile", "check", "--", "-D", "warnings"]))
    };
    FEATURES.iter().try_for_each(|features| check("wengert", features))?;
    // The kernels alone: what only products of large matrices, factorisations or transforms use is not to be left without them.
    check("wengert-kernels", "")
}

/// Every test but the examples in the documentation.
fn tests(tally: &mut Tally) -> Result<(), Failure> {
    let mut command = if is_installed(cargo(&["nextest"])) {
        cargo(&["nextest", "run"])
    } else {
        println!("cargo-nextest is not installed; `cargo test` runs the tests");
        cargo(&["test", "--no-fail-fast"])
    };
    run_reading(command.args(TESTED).args(ALL), |line| tally.read(line))
}

/// Runs the tests whose outcome could depend on the processor as on other processors; the step before has built them.
///
/// The kernels' own tests run every level whatever the machine is. What is left is what plans make of a level and of caches. Of a
/// level: every operation and every golden case on the engine, the layouts, memory and lanes of whole Programs. Of the sizes of
/// caches, which the products alone read: the products, and the layouts that plans choose for them. Of both: the page of counts. The other
/// tests of the battery compute by definitions, which know no level.
fn machines(tally: &mut Tally) -> Result<(), Failure> {
    for machine in &MACHINES {
        println!("as on another processor, {}", machine.described());
        for command in machine_tests(machine.has_own_level(), machine.has_other_caches) {
            run_reading(&mut machine.command(&command)?, |line| tally.read(line))?;
        }
    }
    Ok(())
}

/// The commands that run the tests of levels, or of caches, or both; and the page of counts, which depends on neither.
fn machine_tests(levels: bool, caches: bool) -> Vec<Command> {
    const OF_LEVELS: &[&str] = &[
        "battery::the_engine_agrees_with_the_reference",
        "engine::",
        "lanes::",
        "layouts::",
        "replay::",
        "straight::",
    ];
    let modules = if levels { OF_LEVELS } else { &["layouts::"] };
    if is_installed(cargo(&["nextest"])) {
        let modules: Vec<String> = modules.iter().map(|module| format!("test(/^{module}/)")).collect();
        let library = format!("(package(wengert-tests) & ({}))", modules.join(" | "));
        let mut filter = format!("(package(bench) & test(counts)) | {library}");
        if levels {
            filter += " | binary(golden)";
        }
        if caches {
            filter += " | (package(wengert-kernels-tests) & test(product))";
        }
        let mut all = cargo(&["nextest", "run"]);
        all.args(TESTED).args(ALL).args(["--filterset", &filter]);
        return vec![all];
    }
    let test = |package: &str, kinds: &[&str], filters: &[&str]| {
        let mut command = cargo(&["test", "--all-features", "--package", package]);
        command.args(kinds).arg("--").args(filters);
        command
    };
    let mut commands =
        vec![test("wengert-tests", &["--test", "all"], modules), test("bench", &["--bins"], &["counts"])];
    if levels {
        commands.push(test("wengert", &["--test", "golden"], &[]));
    }
    if caches {
        commands.push(test("wengert-kernels-tests", &["--tests"], &["product"]));
    }
    commands
}

/// The examples of the pages. Those of the macros stand on the library's pages too; beside the macros they would need the library
/// compiled once more, for the compiler's side.
fn doctests(tally: &mut Tally) -> Result<(), Failure> {
    run_reading(cargo(&["test", "--doc"]).args(ALL).args(["--exclude", "wengert-derive"]), |line| tally.read(line))
}

/// The pages of the libraries that are published; nobody reads those of programs.
fn docs(_: &mut Tally) -> Result<(), Failure> {
    let mut doc = cargo(&["doc", "--no-deps", "--lib", "--all-features"]);
    for package in described()?.iter().filter(|package| is_published(package)) {
        doc.args(["--package", package["name"].as_str().unwrap_or_default()]);
    }
    run(doc.env("RUSTDOCFLAGS", "-D warnings"))
}

impl Tally {
    /// Adds a summary of tests: `test result: ok. 5 passed; 0 failed; …` of cargo, or
    /// `Summary [ 0.1s] 7 tests run: 5 passed, 2 failed, …` of nextest.
    fn read(&mut self, line: &str) {
        // At the start of the line: nextest quotes the output of a test that fails, indented.
        let nextest = || line.trim_start().strip_prefix("Summary [")?.split_once("run: ").map(|(_, counts)| counts);
        let Some(summary) = line.strip_prefix("test result: ").or_else(nextest) else { return };
        let words: Vec<&str> = summary.split_whitespace().collect();
        for pair in words.windows(2) {
            let Ok(count) = pair[0].parse::<u64>() else { continue };
            match pair[1].trim_end_matches([',', ';']) {
                "passed" => self.passed += count,
                "failed" => self.failed += count,
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(lines: &[&str], passed: u64, failed: u64) {
        let mut tally = Tally::default();
        lines.iter().for_each(|line| tally.read(line));
        assert_eq!(tally, Tally { passed, failed }, "{lines:?}");
    }

    #[test]
    fn summaries_are_added_up() {
        let cargo = "test result: ok. 5 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out";
        check(&["test a::b ... ok", cargo], 5, 0);
        check(&["     Summary [   0.1s] 7 tests run: 5 passed (1 slow), 2 failed, 3 skipped"], 5, 2);
        check(&["     Summary [   0.1s] 1 test run: 1 passed, 0 skipped", cargo], 6, 0);
        check(&["2 passed, 1 failed, printed by a test"], 0, 0);
        check(&["    test result: FAILED. 0 passed; 1 failed, quoted by nextest"], 0, 0);
    }
}
