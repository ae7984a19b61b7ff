//! Hessians and Jacobians of functions of numbers, by every method.

use std::hint::black_box;
use std::time::Instant;

use wengert::prelude::*;
use wengert::sparsity::{Method, SparseOptions, SparseRecorded};

use super::apart;
use crate::growth::Growth;

/// Prints a line for every case and size.
pub(super) fn table() -> Result<(), String> {
    println!(
        "The Hessian of a chained Rosenbrock function, 3 n - 2 entries. Recorded, prepared, evaluated: in calls of the"
    );
    println!(
        "function on plain numbers; the peak is by how much the process grows, without the points and the values."
    );
    println!("case          method               n   recorded   prepared   evaluated   ns/entry   bytes/entry");
    for size in [10_000, 100_000, 1_000_000] {
        print!("{}", apart("rosenbrock", "edge pushing", size)?);
    }
    for method in ["star", "dense"] {
        print!("{}", apart("rosenbrock", method, if method == "dense" { 1000 } else { 10_000 })?);
    }
    println!("The Jacobian of a nonlinear Laplacian on a square grid.");
    for (method, size) in [("direct", 10_000), ("columns", 10_000), ("direct", 1_000_000)] {
        print!("{}", apart("laplacian", method, size)?);
    }
    Ok(())
}

/// The row of a case.
pub(super) fn row(case: &str, method: &str, size: usize) -> Result<String, String> {
    let method = match method {
        "edge pushing" => Method::EdgePushing,
        "star" => Method::Star,
        "dense" => Method::Dense,
        "direct" => Method::Direct,
        "columns" => Method::Columns,
        other => return Err(format!("there is no method `{other}`")),
    };
    let options = SparseOptions::default().method(method);
    let growth = Growth::begin()?;
    let wave =
        |size: usize, shift: f64| -> Vec<f64> { (0..size).map(|k| 0.5 + shift + 0.3 * (k as f64).sin()).collect() };
    let points = [0.0, 0.1, -0.1].map(|shift| wave(size, shift));
    match case {
        "rosenbrock" => {
            let call = median(9, |k| {
                black_box(chained(black_box(&points[k % 3][..])));
            });
            let start = Instant::now();
            let f = record(points[0].clone(), |x| chained(&x[..]));
            let recorded = start.elapsed().as_secs_f64();
            // What was recorded is kept; the tape's memory waits for the next recording.
            wengert::release_memory();
            let start = Instant::now();
            let prepared = options.recorded_hessian(&f, &points[0]).map_err(|error| error.to_string())?;
            let prepare = start.elapsed().as_secs_f64();
            Ok(line(case, method, &growth, &prepared, &points, [call, recorded, prepare]))
        }
        "laplacian" => {
            let side = size.isqrt();
            let points = points.map(|point| point[..side * side].to_vec());
            let call = median(9, |k| drop(black_box(laplacian(black_box(&points[k % 3][..]), side))));
            let start = Instant::now();
            let f = record(points[0].clone(), |x| laplacian(&x[..], side));
            let recorded = start.elapsed().as_secs_f64();
            // What was recorded is kept; the tape's memory waits for the next recording.
            wengert::release_memory();
            let start = Instant::now();
            let prepared = options.recorded_jacobian(&f, &points[0]).map_err(|error| error.to_string())?;
            let prepare = start.elapsed().as_secs_f64();
            Ok(line(case, method, &growth, &prepared, &points, [call, recorded, prepare]))
        }
        other => Err(format!("there is no row `{other}`")),
    }
}

/// The line of a prepared derivative.
fn line<O, F>(
    case: &str,
    method: Method,
    growth: &Growth,
    prepared: &SparseRecorded<'_, Vec<f64>, O, F>,
    points: &[Vec<f64>; 3],
    [call, recorded, prepare]: [f64; 3],
) -> String
where
    O: Tree<Leaf = Var>,
    F: Fn(Vec<Var>) -> O,
{
    let nnz = prepared.pattern().nnz();
    let mut values = vec![0.0; nnz];
    let evaluated = median(9, |k| {
        prepared.evaluate(black_box(&points[k % 3]), &mut values).expect("the function has one path");
    });
    let points_take = (8 * (points[0].len() * points.len() + nnz)) as f64;
    let peak = (growth.bytes() - points_take) / nnz as f64;
    format!(
        "{case:<13} {method:<12} {:>9} {:>10.1} {:>10.1} {:>11.1} {:>10.1} {peak:>13.0}\n",
        points[0].len(),
        recorded / call,
        prepare / call,
        evaluated / call,
        1e9 * evaluated / nnz as f64,
    )
}

fn chained<R: Real>(x: &[R]) -> R {
    x.windows(2).map(|w| (w[1] - w[0] * w[0]).powi(2) * 100.0 + (-w[0] + 1.0).powi(2)).sum()
}

/// The five-point Laplacian of `u`, zero outside of the grid, and `e^u`.
fn laplacian<R: Real>(u: &[R], side: usize) -> Vec<R> {
    let at = |k: usize| {
        let (i, j) = (k / side, k % side);
        let mut sum = u[k].exp() - u[k] * 4.0;
        for (inside, k) in [(i > 0, k.wrapping_sub(side)), (i + 1 < side, k + side), (j > 0, k.wrapping_sub(1))] {
            if inside {
                sum += u[k];
            }
        }
        if j + 1 < side { sum + u[k + 1] } else { sum }
    };
    (0..side * side).map(at).collect()
}

/// The median of the seconds that calls take, after one that is not counted.
fn median(rounds: usize, mut call: impl FnMut(usize)) -> f64 {
    call(rounds);
    let mut times: Vec<f64> = (0..rounds)
        .map(|k| {
            let start = Instant::now();
            call(k);
            start.elapsed().as_secs_f64()
        })
        .collect();
    times.sort_by(f64::total_cmp);
    times[rounds / 2]
}
