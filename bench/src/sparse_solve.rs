//! A differential equation on a square: the system, its gradient by every entry of the matrix, and what products with the
//! matrix take.

use std::hint::black_box;
use std::time::Instant;

use wengert::prelude::*;
use wengert::sparse::{self, SharedPattern};
use wengert::sparsity::Pattern;
use wengert::{Compile, Compiled};

/// The side of the square: 100,489 unknowns.
const SIDE: usize = 317;
/// How often each is timed.
const ROUNDS: usize = 15;

type Solved<F> = Compiled<Tensor, Tensor, F>;
type Gradient<F> = Compiled<Tensor, (Tensor, Tensor), F>;

/// Prints times of the system and its gradient on one thread, every call at other values, so that each has to factor.
pub(crate) fn run(arguments: &[String]) -> Result<(), String> {
    let side = match arguments {
        [] => SIDE,
        [flag, side] if flag == "--side" => side.parse().map_err(|_| format!("{side} is no side of a square"))?,
        _ => return Err("usage: bench sparse-solve [--side N]".to_owned()),
    };
    if !cfg!(feature = "linalg") {
        return Err("sparse systems run by their definition: call it with `--features linalg`".to_owned());
    }
    wengert::set_threads(1);
    let pattern = five_points(side);
    let (values, load) = (conductivities(&pattern, side), Tensor::ones(&[side * side]));
    println!("{} unknowns, {} entries; medians of {ROUNDS} calls in turn, milliseconds", side * side, pattern.nnz());
    println!("{:12} {:>9} {:>9} {:>9} {:>12} {:>9}", "", "first", "solve", "gradient", "ratio", "factored");
    for spd in [false, true] {
        let solved = solution(&pattern, &load, spd);
        let gradient = gradient(&pattern, &load, spd);
        check(&pattern, &values, &gradient.call(&values), &solved.call(&values), &load)?;
        let first = seconds(|| solution(&pattern, &load, spd).call(&(&values * 0.5)));
        let (mut times, before) = ([Vec::new(), Vec::new()], factored());
        for round in 0..ROUNDS {
            let at = |part: usize| &values * (1.0 + (2 * round + part) as f64 * 1e-3);
            let (one, other) = (at(0), at(1));
            times[0].push(seconds(|| solved.call(&one)));
            times[1].push(seconds(|| gradient.call(&other)));
        }
        let [solve, slope] = times.map(median);
        let name = if spd { "positive" } else { "general" };
        let count = (factored() - before) as f64 / (2 * ROUNDS) as f64;
        println!(
            "{name:12} {:9.1} {:9.1} {:9.1} {:12.2} {count:9.2}",
            first * 1e3,
            solve * 1e3,
            slope * 1e3,
            slope / solve
        );
    }
    products(&pattern, &values, &load);
    Ok(())
}

/// The energy `b^T A^-1 b` with its gradient, which is `-x x^T` at the entries.
fn gradient(
    pattern: &SharedPattern,
    load: &Tensor,
    spd: bool,
) -> Gradient<impl Fn(Tensor) -> (Tensor, Tensor) + use<>> {
    let (pattern, load) = (pattern.clone(), load.clone());
    Compile::new().function(move |v: Tensor| {
        value_and_grad(&v, |v| {
            let x = if spd { sparse::solve_spd(&pattern, &v, &load) } else { sparse::solve(&pattern, &v, &load) };
            x.square().sum()
        })
    })
}

fn solution(pattern: &SharedPattern, load: &Tensor, spd: bool) -> Solved<impl Fn(Tensor) -> Tensor + use<>> {
    let (pattern, load) = (pattern.clone(), load.clone());
    Compile::new().function(move |v: Tensor| {
        if spd { sparse::solve_spd(&pattern, &v, &load) } else { sparse::solve(&pattern, &v, &load) }
    })
}

/// The gradient of `|x|^2` is `-y x^T` with `A^T y = 2 x`, at the entries.
fn check(
    pattern: &SharedPattern,
    values: &Tensor,
    (value, slope): &(Tensor, Tensor),
    x: &Tensor,
    load: &Tensor,
) -> Result<(), String> {
    let residual = (sparse::multiply(pattern, values, x) - load).abs().max().item();
    let y = sparse::solve_transposed(pattern, values, &(x * 2.0));
    let wanted = -sparse::outer(pattern, &y, x);
    let off = (slope - &wanted).abs().max().item() / wanted.abs().max().item();
    let value = (value.item() - x.square().sum().item()).abs() / value.item();
    // The matrix is symmetric, so that the mean of both triangles changes nothing but roundings.
    if residual < 1e-7 && off < 1e-9 && value < 1e-12 {
        return Ok(());
    }
    Err(format!("the residual is {residual:e}, the gradient off by {off:e}, the value by {value:e}"))
}

/// A product with the matrix beside the same made of a gather and a scatter, with gradients.
fn products(pattern: &SharedPattern, values: &Tensor, x: &Tensor) {
    let (rows, cols): (Vec<i64>, Vec<i64>) = pattern.entries().map(|(row, col)| (row as i64, col as i64)).unzip();
    let [rows, cols] = [rows, cols].map(|list| Tensor::from_vec(&[list.len()], list));
    let own = pattern.clone();
    let made = x.clone();
    let one = Compile::new()
        .function(move |v: Tensor| value_and_grad(&v, |v| sparse::multiply(&own, &v, &made).square().sum()));
    let (x, count) = (x.clone(), x.size());
    let other = Compile::new().function(move |v: Tensor| {
        value_and_grad(&v, |v| {
            let terms = v * x.take(&cols, 0);
            terms.segment_sum(&rows, count).square().sum()
        })
    });
    let (mut times, mut sums) = ([Vec::new(), Vec::new()], [0.0; 2]);
    for _ in 0..ROUNDS {
        times[0].push(seconds(|| sums[0] = one.call(values).1.sum().item()));
        times[1].push(seconds(|| sums[1] = other.call(values).1.sum().item()));
    }
    let [one, other] = times.map(median);
    println!(
        "product, value and gradient: {:.2}, by gather and scatter {:.2} ({:.2})",
        one * 1e3,
        other * 1e3,
        other / one
    );
    assert!((sums[0] - sums[1]).abs() <= 1e-9 * sums[0].abs().max(1.0), "{sums:?}");
}

/// The points of a square with their neighbours.
fn five_points(side: usize) -> SharedPattern {
    let mut entries = Vec::with_capacity(5 * side * side);
    for place in 0..side * side {
        let (i, j) = (place / side, place % side);
        entries.push((place, place));
        entries.extend((i > 0).then(|| (place, place - side)));
        entries.extend((j > 0).then(|| (place, place - 1)));
        entries.extend((j + 1 < side).then(|| (place, place + 1)));
        entries.extend((i + 1 < side).then(|| (place, place + side)));
    }
    Pattern::from_entries(side * side, side * side, entries).expect("neighbours are in the square").into()
}

/// `-div (k grad u)` with a conductivity between 1 and 3 for each pair of neighbours, and zero around the square.
fn conductivities(pattern: &SharedPattern, side: usize) -> Tensor {
    let between = |one: usize, other: usize| 2.0 + ((one.min(other) * 7 + one.max(other) * 3) as f64).sin();
    let value = |(row, col): (usize, usize)| {
        if row != col {
            return -between(row, col);
        }
        let inside: f64 = pattern
            .row(row)
            .iter()
            .map(|&other| other as usize)
            .filter(|&other| other != row)
            .map(|other| between(row, other))
            .sum();
        let (i, j) = (row / side, row % side);
        let edges = [i == 0, j == 0, i + 1 == side, j + 1 == side].into_iter().filter(|&edge| edge).count();
        inside + 2.0 * edges as f64
    };
    Tensor::from_vec(&[pattern.nnz()], pattern.entries().map(value).collect::<Vec<f64>>())
}

fn seconds<R>(f: impl FnOnce() -> R) -> f64 {
    let clock = Instant::now();
    let _ = black_box(f());
    clock.elapsed().as_secs_f64()
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

#[cfg(feature = "linalg")]
fn factored() -> u64 {
    sparse::factorisations_made()
}

#[cfg(not(feature = "linalg"))]
fn factored() -> u64 {
    0
}
