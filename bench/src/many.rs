//! Products and matrices of a recorded function at many points: on lanes, and by the driver of one point in a loop.

use std::fmt::Write;
use std::hint::black_box;
use std::time::Instant;

use wengert::{Real, record};

use crate::formulas::unit;

/// Inputs of the functions.
const INPUTS: usize = 10;
/// Outputs of the Jacobian.
const OUTPUTS: usize = 4;
/// Points of one pass.
const POINTS: usize = 1024;
/// How often the two take turns; the least times are compared.
const ROUNDS: usize = 15;

type Point = [f64; INPUTS];

/// Polynomials with quotients: what a derivative costs where there is only arithmetic.
fn arithmetic<R: Real>(x: [R; INPUTS]) -> [R; OUTPUTS] {
    std::array::from_fn(|output| {
        let mut y = R::constant(0.5);
        for k in 0..INPUTS {
            y = y * x[k] + x[(k + output + 1) % INPUTS] / (x[k] * x[k] + 1.5);
        }
        y
    })
}

/// Sums of exponentials and sines, one of each for a number.
fn functions<R: Real>(x: [R; INPUTS]) -> [R; OUTPUTS] {
    std::array::from_fn(|output| {
        let mut y = R::constant(0.5);
        for k in 0..INPUTS {
            y += (x[k] * x[k] * -0.5).exp() * x[(k + output + 1) % INPUTS].sin();
        }
        y
    })
}

/// A table of nanoseconds for a point.
pub(crate) fn table() -> String {
    let mut text = format!(
        "a recorded function of {INPUTS} numbers at {POINTS} points, ns for a point\n\
         {:10}  {:16} {:>10} {:>10} {:>10}\n",
        "function", "driver", "in a loop", "on lanes", "lanes/loop"
    );
    let points: Vec<Point> = points(2050);
    let vectors: Vec<Point> = self::points(2051);
    let cotangents: Vec<[f64; OUTPUTS]> = vectors.iter().map(|v| std::array::from_fn(|k| v[k])).collect();
    macro_rules! rows {
        ($name:literal, $f:ident) => {{
            let all = record(points[0], |x| $f(x));
            let first = record(points[0], |x| $f(x)[0]);
            let pairs = || points.iter().zip(&vectors);
            let mut row = |driver: &str, alone: &dyn Fn(), together: &dyn Fn()| {
                let [alone, together] = least([alone, together]);
                let _ =
                    writeln!(text, "{:10}  {driver:16} {alone:10.1} {together:10.1} {:10.2}", $name, together / alone);
            };
            row("jvp_many", &|| pairs().for_each(|(x, v)| keep(all.jvp(*x, *v))), &|| {
                keep(all.jvp_many(&points, &vectors))
            });
            row("vjp_many", &|| points.iter().zip(&cotangents).for_each(|(x, c)| keep(all.vjp(*x, *c))), &|| {
                keep(all.vjp_many(&points, &cotangents))
            });
            row("jacobian_many", &|| points.iter().for_each(|x| keep(all.jacobian(*x))), &|| {
                keep(all.jacobian_many(&points))
            });
            row("hvp_many", &|| pairs().for_each(|(x, v)| keep(first.hvp(*x, *v))), &|| {
                keep(first.hvp_many(&points, &vectors))
            });
            row("hessian_many", &|| points.iter().for_each(|x| keep(first.hessian(*x))), &|| {
                keep(first.hessian_many(&points))
            });
        }};
    }
    rows!("arithmetic", arithmetic);
    rows!("functions", functions);
    text
}

/// Takes a result as a user would.
fn keep<G>(result: G) {
    black_box(result);
}

/// Numbers between 0.5 and 1.5.
fn points(seed: u64) -> Vec<Point> {
    (0..POINTS).map(|i| std::array::from_fn(|k| 0.5 + unit(seed, (i * INPUTS + k) as u64))).collect()
}

/// The least time of each pass for one of its points, in turn.
fn least(passes: [&dyn Fn(); 2]) -> [f64; 2] {
    let mut least = [f64::INFINITY; 2];
    for _ in 0..ROUNDS {
        for (least, pass) in least.iter_mut().zip(passes) {
            let begin = Instant::now();
            pass();
            *least = least.min(begin.elapsed().as_secs_f64() * 1e9 / POINTS as f64);
        }
    }
    least
}
