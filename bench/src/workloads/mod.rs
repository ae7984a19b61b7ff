//! The array workloads: their values and derivatives, timed, and checked against numbers that other systems agree on.

mod batches;
mod case;
mod counts;
mod data;
mod fourier;
mod indexing;
mod linalg;
mod measure;
mod networks;
mod rows;
mod science;
mod time;

use std::borrow::Cow;
use std::cell::RefCell;
use std::process::{Command, Stdio};
use std::rc::Rc;
use std::sync::LazyLock;
use std::time::Duration;

use case::{Case, Setup, Way};
pub(crate) use counts::{memory, page};
use measure::{Effort, Line, Primal, measure};
use rows::{BATCHES, FOURIER, INDEXING, LINALG, Row, Table};

/// The workloads of one command.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Suite {
    /// Those that stand for what people do.
    Workloads,
    /// The rows of `indexing.json`: what gathers, scatters, picks and slides.
    Indexing,
    /// The rows of `batches.json`: many derivatives at once, shifted views, contractions.
    Batches,
    /// The rows of `linalg.json`: factorisations, functions of matrices, complex products.
    Linalg,
    /// The rows of `fft.json`: Fourier transforms.
    Fourier,
}

/// What is asked for on the command line.
pub(crate) struct Options {
    suite: Suite,
    /// Whether numbers that are off are an error.
    check: bool,
    form: Form,
    effort: Effort,
    setup: Setup,
    workloads: Vec<&'static Workload>,
}

/// How results are printed.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Form {
    Table,
    Json,
}

/// One workload and what it has to give.
struct Workload {
    name: Cow<'static, str>,
    dtype: Cow<'static, str>,
    /// The value and the Euclidean norm of the derivative.
    wanted: [f64; 2],
    /// How far they may be off, in relation to themselves.
    tolerance: f64,
    program: Program,
}

/// What makes the case of a workload.
enum Program {
    Own(fn(&Setup) -> Case),
    Row(Box<Row>),
}

/// The agreement that single precision must reach: sums in another order differ.
const SINGLE: f64 = 1e-5;
/// The agreement that double precision must reach.
const DOUBLE: f64 = 1e-10;

/// The numbers in W8, for which its wanted numbers hold.
pub(crate) const CHAIN: usize = 1 << 24;

const fn single(name: &'static str, wanted: [f64; 2], prepare: fn(&Setup) -> Case) -> Workload {
    let (name, dtype) = (Cow::Borrowed(name), Cow::Borrowed("f32"));
    Workload { name, dtype, wanted, tolerance: SINGLE, program: Program::Own(prepare) }
}

const fn double(name: &'static str, wanted: [f64; 2], prepare: fn(&Setup) -> Case) -> Workload {
    let (name, dtype) = (Cow::Borrowed(name), Cow::Borrowed("f64"));
    Workload { name, dtype, wanted, tolerance: DOUBLE, program: Program::Own(prepare) }
}

/// All of them. The numbers are those on which at least two independent systems agreed.
static ALL: [Workload; 15] = [
    single("W1", [2.339531, 1.268062], networks::mlp),
    single("W2", [2.273801, 0.8238038], networks::small_mlp),
    single("W3", [2.352916, 3.887263], networks::cnn),
    single("W4", [6.051133, 1.644795], networks::transformer),
    single("W5", [0.09217966, 0.003452449], time::lstm),
    single("W6", [0.4554196103150214, 4.645464864218287], science::burgers_single),
    double("W6", [0.4554196103150214, 4.645464864218287], science::burgers_double),
    double("W7a", [0.7190363392046594, 1.1940651061636531], science::logistic_hessian),
    double("W7b", [5.011914759973961, 0.6567108068786606], science::logistic_product),
    single("W8", [0.1237257, 8.37012e-05], science::chain),
    double("W9", [158838.6237132799, 2034.5755363455144], science::gaussian_mixture),
    double("W10", [5.3560867405885, 32.92869085995], time::greeks),
    double("W11", [16225.279209484113, 285.14838232368555], science::arm),
    double("W12a", [0.009646542526516401, 1.3209991334079208e-06], time::heat),
    double("W12b", [0.009646542526516401, 1.3209991334079208e-06], time::heat_in_blocks),
];

/// The Programs of the derivatives of all of them by their names, as they are recorded: of a training step its value and
/// gradient.
pub(crate) fn programs() -> impl Iterator<Item = (String, Vec<wengert::Program>)> {
    ALL.iter().map(|workload| {
        let programs = Rc::new(RefCell::new(Vec::new()));
        let setup = Setup { chain: CHAIN >> 8, way: Way::Recorded, programs: Some(Rc::clone(&programs)) };
        (workload.prepare(&setup).check)();
        (workload.key(), programs.take())
    })
}

/// Those of `indexing.json`.
static INDEXED: LazyLock<Vec<Workload>> = LazyLock::new(|| rows(INDEXING));
/// Those of `batches.json`.
static BATCHED: LazyLock<Vec<Workload>> = LazyLock::new(|| rows(BATCHES));
/// Those of `linalg.json`.
static FACTORED: LazyLock<Vec<Workload>> = LazyLock::new(|| rows(LINALG));
/// Those of `fft.json`.
static TRANSFORMED: LazyLock<Vec<Workload>> = LazyLock::new(|| rows(FOURIER));

fn rows(table: Table) -> Vec<Workload> {
    let workload = |row: Row| Workload {
        name: row.name.clone().into(),
        dtype: row.dtype.clone().into(),
        wanted: row.wanted,
        tolerance: row.tolerance,
        program: Program::Row(row.into()),
    };
    table.rows().into_iter().map(workload).collect()
}

impl Suite {
    /// Its command.
    fn name(self) -> &'static str {
        match self {
            Suite::Workloads => "workloads",
            Suite::Indexing => "indexing",
            Suite::Batches => "batches",
            Suite::Linalg => "linalg",
            Suite::Fourier => "fft",
        }
    }

    fn all(self) -> &'static [Workload] {
        match self {
            Suite::Workloads => &ALL,
            Suite::Indexing => &INDEXED,
            Suite::Batches => &BATCHED,
            Suite::Linalg => &FACTORED,
            Suite::Fourier => &TRANSFORMED,
        }
    }

    /// The workloads of a list like `W1,W6:f32,W7`; `W7` names `W7a` and `W7b`, `W6` both precisions, a kind its rows.
    fn named(self, names: &str) -> Result<Vec<&'static Workload>, String> {
        let mut workloads = Vec::new();
        for name in names.split(',') {
            let before = workloads.len();
            workloads.extend(self.all().iter().filter(|workload| workload.is_called(name)));
            if workloads.len() == before {
                return Err(format!("no workload is called `{name}`"));
            }
        }
        Ok(workloads)
    }
}

impl Workload {
    /// It on its data.
    fn prepare(&self, setup: &Setup) -> Case {
        match &self.program {
            Program::Own(prepare) => prepare(setup),
            Program::Row(row) => row.case(setup),
        }
    }

    fn is_called(&self, name: &str) -> bool {
        let family = match &self.program {
            Program::Own(_) => self.name.trim_end_matches(['a', 'b']),
            Program::Row(row) => &row.kind,
        };
        family == name || self.name == name || self.key() == name
    }

    /// The name with the type, as the command line takes it.
    fn key(&self) -> String {
        format!("{}:{}", self.name, self.dtype)
    }

    /// Whether the numbers are those wanted; nothing is known of a chain of another length.
    fn agrees(&self, got: [f64; 2], setup: &Setup) -> Option<bool> {
        let known = self.name != "W8" || setup.chain == CHAIN;
        known.then(|| got.iter().zip(&self.wanted).all(|(got, wanted)| agrees(*got, *wanted, self.tolerance)))
    }
}

impl Options {
    pub(crate) fn parse(suite: Suite, arguments: &[String]) -> Result<Self, String> {
        let effort = Effort { threads: 1, time: Duration::from_secs(1), primal: Primal::LeftOut };
        let mut options = Options {
            suite,
            check: false,
            form: Form::Table,
            effort,
            setup: Setup { chain: CHAIN, way: Way::Compiled, programs: None },
            workloads: suite.all().iter().collect(),
        };
        let mut arguments = arguments.iter();
        while let Some(argument) = arguments.next() {
            let mut value = || arguments.next().ok_or(format!("{argument} needs a value"));
            match argument.as_str() {
                "--check" => options.check = true,
                "--json" => options.form = Form::Json,
                "--recorded" => options.setup.way = Way::Recorded,
                "--primal" => options.effort.primal = Primal::Timed,
                "--only" => options.workloads = suite.named(value()?)?,
                "--threads" => options.effort.threads = from_one(argument, value()?)?,
                "--size" => options.setup.chain = from_one(argument, value()?)?,
                "--seconds" => options.effort.time = seconds(value()?)?,
                other => return Err(format!("unknown flag `{other}`")),
            }
        }
        Ok(options)
    }

    /// The name of the system in the lines.
    fn system(&self) -> &'static str {
        match self.setup.way {
            Way::Compiled => measure::SYSTEM,
            Way::Recorded => "wengert-recorded",
        }
    }
}

/// The number of a flag, at least 1.
pub(crate) fn from_one(flag: &str, text: &str) -> Result<usize, String> {
    text.parse().ok().filter(|&number| number > 0).ok_or(format!("{flag} takes a number from 1, not `{text}`"))
}

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds = text.parse().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    seconds.ok_or(format!("--seconds takes a number of seconds, not `{text}`"))
}

/// Measures the workloads and prints a line for each; an error if `--check` is given and one is off.
pub(crate) fn run(options: &Options) -> Result<(), String> {
    if options.form == Form::Table {
        println!("{}", head());
    }
    let mut missed = Vec::new();
    for workload in &options.workloads {
        // The peak of memory is that of a process: several workloads have one each.
        let line = match options.workloads.len() {
            1 => Line {
                system: options.system().into(),
                ..measure(&workload.name, &workload.dtype, workload.prepare(&options.setup), options.effort)
            },
            _ => measured_apart(workload, options)?,
        };
        let agrees = workload.agrees(line.check, &options.setup);
        match options.form {
            Form::Json => println!("{}", line.to_json()),
            Form::Table => println!("{}", row(&line, agrees)),
        }
        if agrees == Some(false) {
            missed.push(workload.key());
        }
    }
    if options.check && !missed.is_empty() {
        return Err(format!("not the wanted numbers: {}", missed.join(", ")));
    }
    Ok(())
}

/// Measures a workload in a process of its own.
fn measured_apart(workload: &Workload, options: &Options) -> Result<Line, String> {
    let program = std::env::current_exe().map_err(|error| format!("cannot start this program again: {error}"))?;
    let output = Command::new(program)
        .args(arguments_apart(workload, options))
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| format!("{}: {error}", workload.key()))?;
    if !output.status.success() {
        return Err(format!("{}: {}", workload.key(), output.status));
    }
    Line::from_json(String::from_utf8_lossy(&output.stdout).trim())
}

/// The arguments that measure one workload as these options say; the caller checks the numbers.
fn arguments_apart(workload: &Workload, options: &Options) -> Vec<String> {
    let Effort { threads, time, primal } = options.effort;
    let mut arguments: Vec<String> =
        vec![options.suite.name().into(), "--json".into(), "--only".into(), workload.key()];
    for (flag, value) in [
        ("--threads", threads.to_string()),
        ("--seconds", time.as_secs_f64().to_string()),
        ("--size", options.setup.chain.to_string()),
    ] {
        arguments.extend([flag.to_owned(), value]);
    }
    if primal == Primal::Timed {
        arguments.push("--primal".into());
    }
    if options.setup.way == Way::Recorded {
        arguments.push("--recorded".into());
    }
    arguments
}

/// The heads of the columns.
fn head() -> String {
    format!(
        "{:24} {:>20} {:>20} {:>7} {:>9} {:>11} {:>11} {:>11} {:>6} {:>9}",
        "", "value", "norm", "verdict", "first s", "median ms", "least ms", "primal ms", "ratio", "peak MiB"
    )
}

/// A line of the table.
fn row(line: &Line, agrees: Option<bool>) -> String {
    let verdict = match agrees {
        Some(true) => "ok",
        Some(false) => "OFF",
        None => "-",
    };
    let maybe = |number: Option<f64>, digits: usize| number.map_or("-".to_owned(), |n| format!("{n:.digits$}"));
    format!(
        "{:24} {:>20.15} {:>20.15} {verdict:>7} {:>9.3} {:>11.4} {:>11.4} {:>11} {:>6} {:>9}",
        format!("{}:{}", line.workload, line.dtype),
        line.check[0],
        line.check[1],
        line.compile_s,
        line.median_s * 1e3,
        line.min_s * 1e3,
        maybe(line.primal_s.map(|primal| primal * 1e3), 4),
        maybe(line.primal_s.map(|primal| line.median_s / primal), 1),
        maybe(line.peak_rss_mb, 0),
    )
}

/// Relative agreement; NaN agrees with nothing.
fn agrees(got: f64, wanted: f64, tolerance: f64) -> bool {
    (got - wanted).abs() <= tolerance * wanted.abs()
}

#[cfg(test)]
mod tests {
    use super::*;

    use Suite::{Batches, Fourier, Indexing, Linalg, Workloads};

    fn parsed(text: &str) -> Result<Options, String> {
        Options::parse(Workloads, &text.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    fn named(text: &str) -> Result<Vec<&'static Workload>, String> {
        Workloads.named(text)
    }

    #[test]
    fn workloads_are_found_by_their_names() {
        let keys = |text: &str| named(text).map(|found| found.iter().map(|w| w.key()).collect::<Vec<_>>());
        assert_eq!(keys("W7,W1").unwrap(), ["W7a:f64", "W7b:f64", "W1:f32"]);
        assert_eq!(keys("W7b").unwrap(), ["W7b:f64"]);
        assert_eq!(keys("W6").unwrap(), ["W6:f32", "W6:f64"]);
        assert_eq!(keys("W6:f32").unwrap(), ["W6:f32"]);
        assert!(keys("W").is_err());
        assert!(keys("W1:f64").is_err());
        let rows = |text: &str| Indexing.named(text).map(|found| found.iter().map(|w| w.key()).collect::<Vec<_>>());
        assert_eq!(rows("top").unwrap(), ["top-10-of-100k:f32", "top-100-of-1m:f64", "top-50-of-1k:f32"]);
        assert_eq!(rows("gather-2m").unwrap(), ["gather-2m:f64"]);
        assert!(rows("W1").is_err());
        assert_eq!(Batches.named("rosenbrock-300").unwrap().len(), 1);
        assert!(Batches.named("gather").is_err());
    }

    #[test]
    fn flags_are_read() {
        let options = parsed("--threads 2 --json --seconds 0.5 --size 1024 --primal --only W8").unwrap();
        let wanted = Effort { threads: 2, time: Duration::from_millis(500), primal: Primal::Timed };
        assert_eq!((options.effort, options.form, options.setup.chain), (wanted, Form::Json, 1024));
        assert!(!options.check);
        for wrong in ["--threads 0", "--threads", "--seconds -1", "--size x", "--only W99", "--fast"] {
            assert!(parsed(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_process_of_its_own_is_told_the_same() {
        let asked = parsed("--threads 2 --seconds 0.25 --size 64 --primal --recorded").unwrap();
        let workload = ALL.iter().find(|workload| workload.key() == "W6:f32").unwrap();
        let told = arguments_apart(workload, &asked);
        assert_eq!(told[0], "workloads");
        let options = Options::parse(Workloads, &told[1..]).unwrap();
        assert_eq!((options.effort, options.setup.chain, options.form), (asked.effort, 64, Form::Json));
        assert_eq!((options.setup.way, options.system()), (Way::Recorded, "wengert-recorded"));
        assert_eq!(options.workloads.iter().map(|w| w.key()).collect::<Vec<_>>(), ["W6:f32"]);
    }

    #[test]
    fn numbers_that_are_off_are_told_from_those_that_agree() {
        assert!(agrees(1.0 + 0.9e-10, 1.0, DOUBLE));
        assert!(!agrees(1.0 + 1.1e-10, 1.0, DOUBLE));
        assert!(!agrees(f64::NAN, 1.0, SINGLE));
    }

    #[test]
    fn a_wrong_number_is_an_error_where_it_is_checked() {
        fn case(_: &Setup) -> Case {
            Case::new(|| (), || (), |(), ()| [1.0, 2.1])
        }
        static WRONG: Workload = double("wrong", [1.0, 2.0], case);
        static RIGHT: Workload = double("right", [1.0, 2.1], case);
        let checked = |workload: &'static Workload, flags: &str| {
            let mut options = parsed(flags).unwrap();
            options.workloads = vec![workload];
            run(&options)
        };
        assert_eq!(checked(&WRONG, "--seconds 0"), Ok(()));
        assert_eq!(checked(&RIGHT, "--seconds 0 --check"), Ok(()));
        assert_eq!(checked(&WRONG, "--seconds 0 --check"), Err("not the wanted numbers: wrong:f64".to_owned()));
    }

    #[test]
    fn the_fastest_agree() {
        for way in [Way::Compiled, Way::Recorded] {
            let setup = Setup { chain: CHAIN, way, programs: None };
            for workload in named("W2,W7b").unwrap() {
                let mut case = workload.prepare(&setup);
                let got = (case.check)();
                (case.derivative)();
                assert_eq!(workload.agrees(got, &setup), Some(true), "{} {way:?}: {got:?}", workload.name);
            }
        }
    }

    #[test]
    fn rows_agree() {
        let setup = Setup { chain: CHAIN, way: Way::Compiled, programs: None };
        // The quickest of each kind.
        let names = "graph-30k-3,segment-100k-3,peaks-50k-3,gather-30k-100,embedding-50k-16,top-50-of-1k,\
                     depthwise-32-56,pool-2-32-56,average-2-32-56,middle-200-50-30,logs-100-300-20";
        let indexed = Indexing.named(names).unwrap();
        // Without the features the same rows run by definitions, which take too long for large ones.
        let factored = Linalg.named("solves-512-16,svds-4096-3,logdet-64,expm-64").unwrap();
        let transformed = Fourier.named("filtered-64-1000").unwrap();
        for workload in indexed.into_iter().chain(factored).chain(transformed) {
            let got = (workload.prepare(&setup).check)();
            assert_eq!(workload.agrees(got, &setup), Some(true), "{}: {got:?}", workload.name);
        }
    }

    #[test]
    fn a_short_chain_has_the_gradient_of_its_formula() {
        // The formula once more, in double precision, and differences of it.
        fn formula(x: f64) -> f64 {
            let y = 0.5 * x + 0.1;
            let a = y.tanh();
            let b = (-a * a).exp();
            let e = (b * b).ln_1p() * y + a;
            let s = 1.0 / (1.0 + (-e).exp());
            (s * s + 0.25).sqrt() * e.tanh()
        }
        let setup = Setup { chain: 64, way: Way::Compiled, programs: None };
        let x: Vec<f64> = (0..64).map(|i| 2.0 * data::signed(800, i)).collect();
        let value = x.iter().map(|&x| formula(x)).sum::<f64>() / 64.0;
        let slope = |x: f64| (formula(x + 1e-5) - formula(x - 1e-5)) / 2e-5;
        let norm = x.iter().map(|&x| (slope(x) / 64.0).powi(2)).sum::<f64>().sqrt();
        let got = (named("W8").unwrap()[0].prepare(&setup).check)();
        assert!(agrees(got[0], value, SINGLE) && agrees(got[1], norm, SINGLE), "{got:?}, not {value} {norm}");
    }
}
