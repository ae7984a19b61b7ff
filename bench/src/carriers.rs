//! Duals over eight lanes beside duals over plain numbers: the same gradients, eight points at a time and one by one.

use std::fmt::Write;
use std::hint::black_box;
use std::time::Instant;

use wengert::{Dual, Lanes, Real};

use crate::formulas::unit;

/// Points of a lane vector.
const WIDTH: usize = 8;
/// Points of one pass.
const POINTS: usize = 512;
/// How often the two take turns; the medians are compared.
const ROUNDS: usize = 15;

/// A polynomial with quotients: what tangents cost where there is only arithmetic.
fn arithmetic<R: Real, const N: usize>(x: &[R; N]) -> R {
    let mut y = R::constant(0.5);
    for k in 0..N {
        y = y * x[k] + x[(k + 3) % N] / (x[k] * x[k] + 1.5);
    }
    y
}

/// A chain of exponentials and hyperbolic tangents, one of each for a number.
fn functions<R: Real, const N: usize>(x: &[R; N]) -> R {
    let mut y = R::constant(0.5);
    for &x in x {
        y = (y * x).tanh() + (x * -0.5).exp();
    }
    y
}

/// A table of nanoseconds for a point.
pub(crate) fn table() -> String {
    let mut text = "value and all tangents of a function of N numbers, ns for a point\n\
                    function      N   Dual<f64, N>   Dual<Lanes<8>, N>   lanes/f64\n"
        .to_owned();
    row::<4>(&mut text, "arithmetic", arithmetic, arithmetic);
    row::<15>(&mut text, "arithmetic", arithmetic, arithmetic);
    row::<4>(&mut text, "functions", functions, functions);
    row::<15>(&mut text, "functions", functions, functions);
    text
}

fn row<const N: usize>(
    text: &mut String,
    name: &str,
    alone: fn(&[Dual<f64, N>; N]) -> Dual<f64, N>,
    together: fn(&[Dual<Lanes<WIDTH>, N>; N]) -> Dual<Lanes<WIDTH>, N>,
) {
    let points: Vec<[f64; N]> =
        (0..POINTS).map(|i| std::array::from_fn(|k| 0.5 + unit(2040, (i * N + k) as u64))).collect();
    let one_by_one = || {
        for point in &points {
            black_box(alone(&std::array::from_fn(|k| Dual::seed(point[k], k))));
        }
    };
    let on_lanes = || {
        for group in points.chunks_exact(WIDTH) {
            let lanes = |k: usize| Lanes(std::array::from_fn(|lane| group[lane][k]));
            black_box(together(&std::array::from_fn(|k| Dual::seed(lanes(k), k))));
        }
    };
    let (mut first, mut second) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        first.push(nanoseconds(one_by_one));
        second.push(nanoseconds(on_lanes));
    }
    let [alone, lanes] = [first, second].map(|mut times| {
        times.sort_by(f64::total_cmp);
        times[ROUNDS / 2]
    });
    let _ = writeln!(text, "{name:10} {N:4} {alone:14.1} {lanes:19.1} {:11.2}", lanes / alone);
}

/// The time of a pass for each of its points.
fn nanoseconds(pass: impl Fn()) -> f64 {
    let begin = Instant::now();
    pass();
    begin.elapsed().as_secs_f64() * 1e9 / POINTS as f64
}
