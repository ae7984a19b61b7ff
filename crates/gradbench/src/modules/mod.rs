//! GradBench's modules: what each is asked for, how it is prepared and how it is timed.
//!
//! An evaluation has four parts: its input is read and checked; it is prepared, which is tracing, differentiating and planning,
//! so that nothing of that is in the timed runs, and no run of the function is in the preparation; it runs as often as the input
//! asks for, each run from the numbers of the input to the numbers of the result; the last result becomes the answer. Only the
//! second and the third are timed, the second as `prepare`.

mod ba;
mod det;
mod gmm;
mod hello;
mod ht;
mod input;
mod kmeans;
mod llsq;
mod lse;
mod lstm;
mod nested;
mod ode;
mod output;

use std::any::Any;
use std::fmt;
use std::time::{Duration, Instant};

use serde::Serialize;
use wengert::Compile;

pub use self::output::Output;

/// The bytes that the plan of one evaluation may take. The largest of the public sizes take a tenth of it; what an input asks
/// for beyond that is an error that says so, instead of the end of the process.
const MEMORY: usize = 16 << 30;

/// How evaluations run.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// The number of threads, or those that [`wengert::set_threads`] has set.
    pub threads: Option<usize>,
}

impl Settings {
    /// One thread.
    pub fn single_threaded() -> Self {
        Settings { threads: Some(1) }
    }

    /// The options of what is compiled for an evaluation.
    fn compile(&self) -> Compile {
        let compile = Compile::new().memory(MEMORY);
        match self.threads {
            Some(threads) => compile.threads(threads),
            None => compile,
        }
    }
}

/// A module.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[expect(missing_docs, reason = "the names are GradBench's")]
pub enum Module {
    Hello,
    Ba,
    Det,
    Gmm,
    Ht,
    Kmeans,
    Llsq,
    Lse,
    Lstm,
    Ode,
    Particle,
    Saddle,
}

impl Module {
    /// Every one.
    pub const ALL: [Module; 12] = [
        Module::Hello,
        Module::Ba,
        Module::Det,
        Module::Gmm,
        Module::Ht,
        Module::Kmeans,
        Module::Llsq,
        Module::Lse,
        Module::Lstm,
        Module::Ode,
        Module::Particle,
        Module::Saddle,
    ];

    /// What a message calls it.
    pub fn name(self) -> &'static str {
        match self {
            Module::Hello => "hello",
            Module::Ba => "ba",
            Module::Det => "det",
            Module::Gmm => "gmm",
            Module::Ht => "ht",
            Module::Kmeans => "kmeans",
            Module::Llsq => "llsq",
            Module::Lse => "lse",
            Module::Lstm => "lstm",
            Module::Ode => "ode",
            Module::Particle => "particle",
            Module::Saddle => "saddle",
        }
    }

    /// The module of a name.
    ///
    /// # Errors
    /// If there is none.
    pub fn named(name: &str) -> Result<Module, Failure> {
        Module::ALL.into_iter().find(|module| module.name() == name).ok_or_else(|| {
            let names = Module::ALL.map(Module::name).join(", ");
            Failure::new(format!("there is no module `{}`; there are {names}", shortened(name)))
        })
    }

    /// The functions that it has.
    pub fn functions(self) -> &'static [&'static str] {
        match self {
            Module::Hello => &["square", "double"],
            Module::Ba | Module::Gmm | Module::Ht | Module::Lstm => &["objective", "jacobian"],
            Module::Kmeans => &["cost", "dir"],
            Module::Det | Module::Llsq | Module::Lse | Module::Ode => &["primal", "gradient"],
            Module::Particle | Module::Saddle => &["rr", "ff", "fr", "rf"],
        }
    }

    /// Evaluates a function at an input, which is text of JSON.
    ///
    /// # Errors
    /// If there is no such function; if the input is not what it takes, or asks for more memory or work than is allowed; if the
    /// function has no finite result there.
    pub fn evaluate(self, function: &str, input: &str, settings: &Settings) -> Result<Measured, Failure> {
        let Some(&function) = self.functions().iter().find(|&&name| name == function) else {
            let names = self.functions().join(", ");
            let name = shortened(function);
            return Err(Failure::new(format!("module `{}` has no function `{name}`; it has {names}", self.name())));
        };
        match self {
            Module::Hello => hello::evaluate(function, input),
            Module::Ba => ba::evaluate(function, input, settings),
            Module::Det => det::evaluate(function, input, settings),
            Module::Gmm => gmm::evaluate(function, input, settings),
            Module::Ht => ht::evaluate(function, input, settings),
            Module::Kmeans => kmeans::evaluate(function, input, settings),
            Module::Llsq => llsq::evaluate(function, input, settings),
            Module::Lse => lse::evaluate(function, input, settings),
            Module::Lstm => lstm::evaluate(function, input, settings),
            Module::Ode => ode::evaluate(function, input, settings),
            Module::Particle => nested::evaluate_particle(function, input),
            Module::Saddle => nested::evaluate_saddle(function, input),
        }
    }
}

/// The result of an evaluation and its times.
#[derive(Debug)]
pub struct Measured {
    /// The result of the last run.
    pub output: Output,
    /// The preparation, then every run.
    pub timings: Vec<Timing>,
}

/// How long a part took.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Timing {
    /// `prepare` or `evaluate`.
    pub name: &'static str,
    /// Its time.
    pub nanoseconds: u64,
}

impl Timing {
    fn new(name: &'static str, time: Duration) -> Self {
        Timing { name, nanoseconds: u64::try_from(time.as_nanos()).unwrap_or(u64::MAX) }
    }
}

/// Why there is no result: a sentence for the one who reads the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure(String);

impl Failure {
    /// A failure with this reason.
    pub fn new(why: impl Into<String>) -> Self {
        Failure(why.into())
    }

    /// What a panic said.
    pub(crate) fn of_panic(panic: &(dyn Any + Send)) -> Self {
        let said = panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
        Failure(format!("the evaluation failed: {}", said.unwrap_or("a panic without a message")))
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Failure {}

impl From<wengert::Error> for Failure {
    fn from(error: wengert::Error) -> Self {
        Failure(error.to_string())
    }
}

/// Prepares, runs as often as is asked for, and makes the answer of the last result.
///
/// A run is repeated while fewer than `min_runs` are done or all of them together took less than `min_seconds`; there is at least
/// one.
fn measure<P, R>(
    runs: &input::Runs,
    prepare: impl FnOnce() -> Result<P, Failure>,
    mut run: impl FnMut(&mut P) -> Result<R, Failure>,
    output: impl FnOnce(R) -> Output,
) -> Result<Measured, Failure> {
    let begin = Instant::now();
    let mut prepared = prepare()?;
    let mut timings = vec![Timing::new("prepare", begin.elapsed())];
    let (mut done, mut spent) = (0, Duration::ZERO);
    loop {
        let begin = Instant::now();
        let result = run(&mut prepared)?;
        let time = begin.elapsed();
        timings.push(Timing::new("evaluate", time));
        (done, spent) = (done + 1, spent + time);
        if done >= runs.min_runs && spent.as_secs_f64() >= runs.min_seconds {
            return Ok(Measured { output: output(result), timings });
        }
    }
}

/// The beginning of a text that may be long.
fn shortened(text: &str) -> String {
    const MOST: usize = 40;
    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs(min_runs: u64, min_seconds: f64, time: Duration) -> usize {
        let mut prepared = 0;
        let runs = input::Runs { min_runs, min_seconds };
        let mut run = || {
            prepared += 1;
            std::thread::sleep(time);
            Ok(f64::from(prepared))
        };
        let measured = measure(&runs, || Ok(()), |()| run(), Output::Number).unwrap();
        assert_eq!(measured.timings[0].name, "prepare");
        assert!(measured.timings[1..].iter().all(|timing| timing.name == "evaluate"));
        let count = measured.timings.len() - 1;
        assert_eq!(measured.output, Output::Number(count as f64), "the result of the last run");
        let sum = |timings: &[Timing]| timings.iter().map(|timing| timing.nanoseconds).sum::<u64>() as f64 / 1e9;
        assert!(sum(&measured.timings[1..]) >= min_seconds);
        assert!(
            count as u64 <= min_runs.max(1) || sum(&measured.timings[1..count]) < min_seconds,
            "the last run was asked for"
        );
        count
    }

    #[test]
    fn runs_are_repeated_as_often_as_is_asked_for() {
        assert_eq!(runs(1, 0.0, Duration::ZERO), 1);
        assert_eq!(runs(0, 0.0, Duration::ZERO), 1);
        assert_eq!(runs(0, -1.0, Duration::ZERO), 1);
        assert_eq!(runs(17, 0.0, Duration::ZERO), 17);
        assert!(runs(1, 0.02, Duration::from_millis(1)) > 1);
        assert_eq!(runs(1, 0.001, Duration::from_millis(5)), 1);
        assert_eq!(runs(3, 0.001, Duration::from_millis(5)), 3);
    }

    #[test]
    fn a_name_that_does_not_exist_is_refused_with_those_that_do() {
        let why = Module::named(&"ä".repeat(1000)).unwrap_err().to_string();
        assert!(why.contains("hello, ba, det") && why.len() < 300, "{why}");
        let why = Module::Lse.evaluate("cost", "{}", &Settings::default()).unwrap_err().to_string();
        assert_eq!(why, "module `lse` has no function `cost`; it has primal, gradient");
    }
}
