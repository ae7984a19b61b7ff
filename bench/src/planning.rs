//! The cost of the first gradient of a long program per step: recording, transforming, optimising, planning.
//!
//! Each case is a loop of many small steps in a process of its own. Time and memory per step must not grow with the number of
//! steps; the second call has to find the plan of the first.

use std::process::{Command, Stdio};
use std::time::Instant;

use wengert::Tensor;
use wengert::prelude::*;
use wengert::profile::collect;

use crate::growth::Growth;
use crate::workloads::from_one;

/// A program of this many steps: its loss at a point.
struct Case {
    name: &'static str,
    /// Numbers of steps.
    sizes: &'static [usize],
    point: fn() -> Tensor,
    loss: fn(&Tensor, usize) -> Tensor,
}

static CASES: [Case; 7] = [
    Case { name: "numbers", sizes: &[1_000, 10_000, 50_000], point: vector, loss: elementwise },
    Case { name: "products", sizes: &[1_000, 10_000, 50_000], point: matrix, loss: products },
    Case { name: "vectors", sizes: &[1_000, 10_000, 50_000], point: matrix, loss: matrix_vector },
    Case { name: "heat 1-D, slices", sizes: &[1_000, 10_000], point: rod, loss: heat_slices },
    Case { name: "heat 1-D, pad", sizes: &[1_000, 10_000], point: rod, loss: heat_pad },
    Case { name: "heat 1-D, roll", sizes: &[1_000, 10_000], point: rod, loss: heat_roll },
    Case { name: "heat 2-D, slices", sizes: &[1_000, 10_000], point: plate, loss: heat_plate },
];

fn vector() -> Tensor {
    Tensor::linspace(0.9, 1.1, 8)
}

fn matrix() -> Tensor {
    Tensor::linspace(-0.4, 0.5, 16).reshape(&[4, 4])
}

fn rod() -> Tensor {
    Tensor::linspace(0.0, 1.0, 64).sin()
}

fn plate() -> Tensor {
    Tensor::linspace(0.0, 1.0, 144).sin().reshape(&[12, 12])
}

fn elementwise(x: &Tensor, steps: usize) -> Tensor {
    let mut y = x.clone();
    for _ in 0..steps {
        y = &y * x * 0.999;
    }
    y.sum()
}

fn products(x: &Tensor, steps: usize) -> Tensor {
    let mut y = x.clone();
    for _ in 0..steps {
        y = y.matmul(x);
    }
    y.sum()
}

fn matrix_vector(x: &Tensor, steps: usize) -> Tensor {
    let mut y = Tensor::linspace(1.0, 2.0, 4);
    for _ in 0..steps {
        y = x.matmul(&y);
    }
    y.sum()
}

fn heat_slices(x: &Tensor, steps: usize) -> Tensor {
    let mut u = x.clone();
    for _ in 0..steps {
        let inner = u.slice(1..63) + 0.1 * (u.slice(0..62) - 2.0 * u.slice(1..63) + u.slice(2..64));
        u = Tensor::concat(&[&u.slice(0..1), &inner, &u.slice(63..64)], 0);
    }
    u.square().sum()
}

fn heat_pad(x: &Tensor, steps: usize) -> Tensor {
    let mut u = x.clone();
    for _ in 0..steps {
        let wide = u.pad(&[(1, 1, 0)], 0.0);
        u = &u + 0.1 * (wide.slice(0..64) - 2.0 * &u + wide.slice(2..66));
    }
    u.square().sum()
}

fn heat_roll(x: &Tensor, steps: usize) -> Tensor {
    let mut u = x.clone();
    for _ in 0..steps {
        u = &u + 0.1 * (u.roll(1, 0) - 2.0 * &u + u.roll(-1, 0));
    }
    u.square().sum()
}

fn heat_plate(x: &Tensor, steps: usize) -> Tensor {
    let mut u = x.clone();
    for _ in 0..steps {
        let wide = u.pad(&[(1, 1, 0), (1, 1, 0)], 0.0);
        let sides = wide.slice((0..12, 1..13)) + wide.slice((2..14, 1..13));
        let sides = sides + wide.slice((1..13, 0..12)) + wide.slice((1..13, 2..14));
        u = &u + 0.1 * (sides - 4.0 * &u);
    }
    u.square().sum()
}

/// What one case with this many steps costs.
struct Cost {
    /// Seconds of the first call.
    first: f64,
    /// Seconds of the second call.
    second: f64,
    /// Bytes that the process grew by, at most, in the first call.
    bytes: f64,
}

/// Measures a case in this process, which has done nothing else.
fn measured(case: &Case, steps: usize) -> Result<Cost, String> {
    wengert::set_threads(1);
    let x = (case.point)();
    let gradient = |steps: usize| grad(&x, |x| (case.loss)(&x, steps)).to_vec();
    // What is made once for a process is not part of a step.
    gradient(3);
    let growth = Growth::begin()?;
    let start = Instant::now();
    let numbers = gradient(steps);
    let first = start.elapsed().as_secs_f64();
    let bytes = growth.bytes();
    let start = Instant::now();
    let again = gradient(steps);
    let second = start.elapsed().as_secs_f64();
    if again != numbers {
        return Err(format!("{}: the second call has other numbers", case.name));
    }
    Ok(Cost { first, second, bytes })
}

/// The steps of the plan that two calls run; none if they do not run the same one.
fn planned(case: &Case, steps: usize) -> Option<usize> {
    wengert::set_threads(1);
    let x = (case.point)();
    let call = || drop(grad(&x, |x| (case.loss)(&x, steps)).to_vec());
    let ((), profiles) = collect(|| (0..2).for_each(|_| call()));
    match &profiles[..] {
        [profile] if profile.runs == 2 => Some(profile.steps.len()),
        _ => None,
    }
}

/// What is asked for on the command line.
pub(crate) struct Options {
    only: Option<String>,
    /// One measurement in this process, whose figures are printed for the process that started it.
    apart: Option<usize>,
    /// Whether that is how many steps the plan has, instead of what it costs.
    counts: bool,
}

impl Options {
    pub(crate) fn parse(arguments: &[String]) -> Result<Self, String> {
        let mut options = Options { only: None, apart: None, counts: false };
        let mut arguments = arguments.iter();
        while let Some(argument) = arguments.next() {
            let mut value = || arguments.next().ok_or(format!("{argument} needs a value"));
            match argument.as_str() {
                "--only" => options.only = Some(value()?.clone()),
                "--count" => options.counts = true,
                "--steps" => options.apart = Some(from_one(argument, value()?)?),
                other => return Err(format!("unknown flag `{other}`")),
            }
        }
        Ok(options)
    }
}

/// By how much costs per step may grow with the number of steps.
const CONSTANT: f64 = 1.3;
/// What a step may take: microseconds and bytes.
const MOST: [f64; 2] = [25.0, 4096.0];

/// Prints what each case costs per step, and how much more that is for the most steps than for the fewest.
pub(crate) fn run(options: &Options) -> Result<(), String> {
    let chosen = |case: &&Case| options.only.as_ref().is_none_or(|only| case.name.contains(only.as_str()));
    let cases: Vec<&Case> = CASES.iter().filter(chosen).collect();
    if cases.is_empty() {
        return Err("no case has this in its name".to_owned());
    }
    if let Some(steps) = options.apart {
        if options.counts {
            println!("{}", planned(cases[0], steps).map_or("-".to_owned(), |planned| planned.to_string()));
            return Ok(());
        }
        let Cost { first, second, bytes } = measured(cases[0], steps)?;
        println!("{first} {second} {bytes}");
        return Ok(());
    }
    println!(
        "{:18} {:>7} {:>8} {:>8} {:>8} {:>8}  second call",
        "", "steps", "first s", "µs/step", "B/step", "planned"
    );
    let mut missed = Vec::new();
    for case in cases {
        let mut per_step: Vec<[f64; 2]> = Vec::new();
        for &steps in case.sizes {
            let (cost, planned) = apart(case, steps)?;
            let here = [1e6 * cost.first / steps as f64, cost.bytes / steps as f64];
            let found = if planned.is_some() { "finds the plan" } else { "PLANS AGAIN" };
            println!(
                "{:18} {steps:>7} {:>8.3} {:>8.2} {:>8.0} {:>8}  {found}, {:.3} s",
                case.name,
                cost.first,
                here[0],
                here[1],
                planned.map_or("-".to_owned(), |planned| planned.to_string()),
                cost.second
            );
            if planned.is_none() || here[0] > MOST[0] || here[1] > MOST[1] {
                missed.push(format!("{} of {steps} steps", case.name));
            }
            per_step.push(here);
        }
        let growth = [0, 1].map(|which| growth(&per_step, which));
        println!("{:18} per step, growth with their number: time {:.2}, memory {:.2}", case.name, growth[0], growth[1]);
        if growth.iter().any(|&growth| growth > CONSTANT) {
            missed.push(format!("{}: not constant", case.name));
        }
    }
    if missed.is_empty() { Ok(()) } else { Err(format!("above what a step may cost: {}", missed.join("; "))) }
}

/// The largest of these costs per step by that of the fewest steps, in which what is made once counts the most.
fn growth(per_step: &[[f64; 2]], which: usize) -> f64 {
    let costs = per_step.iter().map(|cost| cost[which]);
    costs.fold(0.0, f64::max) / per_step[0][which]
}

/// Measures a case in processes of their own, because memory is that of a process: what it costs, and how many steps the
/// plan of both calls has.
fn apart(case: &Case, steps: usize) -> Result<(Cost, Option<usize>), String> {
    let program = std::env::current_exe().map_err(|error| format!("cannot start this program again: {error}"))?;
    let started = |more: &[&str]| {
        let mut command = Command::new(&program);
        command.args(["planning", "--only", case.name, "--steps", &steps.to_string()]).args(more);
        let output = command.stderr(Stdio::inherit()).output().map_err(|error| format!("{}: {error}", case.name))?;
        match output.status.success() {
            true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
            false => Err(format!("{} of {steps} steps: {}", case.name, output.status)),
        }
    };
    let text = started(&[])?;
    let numbers: Vec<f64> = text.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    let &[first, second, bytes] = &numbers[..] else { return Err(format!("{}: `{text}` is no cost", case.name)) };
    Ok((Cost { first, second, bytes }, started(&["--count"])?.trim().parse().ok()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn costs_per_step_do_not_depend_on_their_number() {
        // Counted, not timed: what is allocated, how often, and how much of it at a time.
        wengert::set_threads(1);
        for case in &CASES {
            let x = (case.point)();
            let first = |steps: usize| {
                let info = allocation_counter::measure(|| drop(grad(&x, |x| (case.loss)(&x, steps)).to_vec()));
                [info.count_total, info.bytes_total, info.bytes_max].map(|count| count as f64 / steps as f64)
            };
            first(3);
            let sizes = [1200, 4800, 19_200];
            let costs = sizes.map(first);
            for (k, what) in ["allocations", "bytes", "bytes at a time"].into_iter().enumerate() {
                // Of further steps: what is made once does not count.
                let further = |j: usize| {
                    let total = |j: usize| costs[j][k] * sizes[j] as f64;
                    (total(j) - total(j - 1)) / (sizes[j] - sizes[j - 1]) as f64
                };
                let [few, many] = [1, 2].map(further);
                assert!(many < CONSTANT * few.max(1.0), "{}: {what} of further steps are {few} and {many}", case.name);
            }
            // Asked of one case: steps of the others are several equations each, and lists that grow have room to spare, which
            // counts here and takes no memory.
            if case.name == "products" {
                assert!(costs[0][2] < MOST[1], "{}: {} bytes at a time per step", case.name, costs[0][2]);
            }
        }
    }

    #[test]
    fn the_second_call_finds_the_plan() {
        wengert::set_threads(1);
        for case in &CASES {
            assert!(planned(case, 500).is_some(), "{}", case.name);
        }
    }
}
