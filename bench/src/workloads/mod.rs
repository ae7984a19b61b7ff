//! The array workloads: their values and gradients, checked against numbers that other systems agree on.

mod data;
mod networks;
mod science;

use std::time::Instant;

/// What is asked for on the command line.
pub(crate) struct Options {
    check: bool,
    workloads: Vec<&'static Workload>,
}

/// One workload and what it has to give.
struct Workload {
    name: &'static str,
    /// The value and the Euclidean norm of the derivative.
    wanted: [f64; 2],
    /// How far they may be off, in relation to themselves.
    tolerance: f64,
    run: fn() -> [f64; 2],
}

/// What single precision has to agree to: sums in another order differ.
const SINGLE: f64 = 1e-5;
/// What double precision has to agree to.
const DOUBLE: f64 = 1e-10;

/// All of them. The numbers are those on which at least two independent systems agreed.
const ALL: [Workload; 9] = [
    Workload { name: "W1", wanted: [2.339531, 1.268062], tolerance: SINGLE, run: networks::mlp },
    Workload { name: "W2", wanted: [2.273801, 0.8238038], tolerance: SINGLE, run: networks::small_mlp },
    Workload { name: "W3", wanted: [2.352916, 3.887263], tolerance: SINGLE, run: networks::cnn },
    Workload { name: "W4", wanted: [6.051133, 1.644795], tolerance: SINGLE, run: networks::transformer },
    Workload { name: "W6", wanted: [0.4554196103150214, 4.645464864218287], tolerance: DOUBLE, run: science::burgers },
    Workload {
        name: "W7a",
        wanted: [0.7190363392046594, 1.1940651061636531],
        tolerance: DOUBLE,
        run: science::logistic_hessian,
    },
    Workload {
        name: "W7b",
        wanted: [5.011914759973961, 0.6567108068786606],
        tolerance: DOUBLE,
        run: science::logistic_hvp,
    },
    Workload {
        name: "W9",
        wanted: [158838.6237132799, 2034.5755363455144],
        tolerance: DOUBLE,
        run: science::gaussian_mixture,
    },
    Workload { name: "W11", wanted: [16225.279209484113, 285.14838232368555], tolerance: DOUBLE, run: science::arm },
];

impl Options {
    pub(crate) fn parse(arguments: &[String]) -> Result<Self, String> {
        let mut options = Options { check: false, workloads: ALL.iter().collect() };
        let mut arguments = arguments.iter();
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                "--check" => options.check = true,
                "--only" => {
                    let names = arguments.next().ok_or("--only needs a value")?;
                    options.workloads = named(names)?;
                }
                other => return Err(format!("unknown flag `{other}`")),
            }
        }
        Ok(options)
    }
}

/// The workloads of a list like `W1,W7`; `W7` names `W7a` and `W7b`.
fn named(names: &str) -> Result<Vec<&'static Workload>, String> {
    let mut workloads = Vec::new();
    for name in names.split(',') {
        let is_named =
            |workload: &&Workload| workload.name.trim_end_matches(['a', 'b']) == name || workload.name == name;
        let before = workloads.len();
        workloads.extend(ALL.iter().filter(is_named));
        if workloads.len() == before {
            return Err(format!("no workload is called `{name}`"));
        }
    }
    Ok(workloads)
}

/// Runs the workloads and prints a line for each; an error if `--check` is given and one is off.
pub(crate) fn run(options: &Options) -> Result<(), String> {
    println!(
        "{:4} {:>20} {:>20} {:>20} {:>20} {:>8} {:>8}",
        "", "value", "wanted", "norm", "wanted", "verdict", "seconds"
    );
    let mut missed = Vec::new();
    for workload in &options.workloads {
        let begin = Instant::now();
        let got = (workload.run)();
        let seconds = begin.elapsed().as_secs_f64();
        let agrees = got.iter().zip(&workload.wanted).all(|(got, wanted)| agrees(*got, *wanted, workload.tolerance));
        let ([value, norm], [wanted_value, wanted_norm]) = (got, workload.wanted);
        let verdict = if agrees { "ok" } else { "OFF" };
        println!(
            "{:4} {value:>20.15} {wanted_value:>20} {norm:>20.15} {wanted_norm:>20} {verdict:>8} {seconds:>8.2}",
            workload.name
        );
        if !agrees {
            missed.push(workload.name);
        }
    }
    if options.check && !missed.is_empty() {
        return Err(format!("not the wanted numbers: {}", missed.join(", ")));
    }
    Ok(())
}

/// Relative agreement; NaN agrees with nothing.
fn agrees(got: f64, wanted: f64, tolerance: f64) -> bool {
    (got - wanted).abs() <= tolerance * wanted.abs()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workloads_are_found_by_their_names() {
        let names = |text: &str| named(text).map(|found| found.iter().map(|w| w.name).collect::<Vec<_>>());
        assert_eq!(names("W7,W1").unwrap(), ["W7a", "W7b", "W1"]);
        assert_eq!(names("W7b").unwrap(), ["W7b"]);
        assert!(names("W").is_err());
    }

    #[test]
    fn numbers_that_are_off_are_told_from_those_that_agree() {
        assert!(agrees(1.0 + 0.9e-10, 1.0, DOUBLE));
        assert!(!agrees(1.0 + 1.1e-10, 1.0, DOUBLE));
        assert!(!agrees(f64::NAN, 1.0, SINGLE));
    }

    #[test]
    fn a_wrong_number_is_an_error_where_it_is_checked() {
        static WRONG: [Workload; 2] = [
            Workload { name: "right", wanted: [1.0, 2.0], tolerance: DOUBLE, run: || [1.0, 2.0] },
            Workload { name: "wrong", wanted: [1.0, 2.0], tolerance: DOUBLE, run: || [1.0, 2.1] },
        ];
        let options = |check| Options { check, workloads: WRONG.iter().collect() };
        assert_eq!(run(&options(false)), Ok(()));
        assert_eq!(run(&options(true)), Err("not the wanted numbers: wrong".to_owned()));
    }

    #[test]
    fn the_fastest_agree() {
        for workload in named("W2,W7b").unwrap() {
            let got = (workload.run)();
            let close = got.iter().zip(&workload.wanted).all(|(got, wanted)| agrees(*got, *wanted, workload.tolerance));
            assert!(close, "{}: {got:?}", workload.name);
        }
    }
}
