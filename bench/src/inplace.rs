//! Parts of arrays that are written row by row, and stencils: run times of value and gradient, on one thread.

use std::time::{Duration, Instant};

use wengert::prelude::*;
use wengert::{Array, Compile, Compiled, span};

/// Rows of 100 numbers that are added to one by one.
const ROWS: [usize; 4] = [250, 1000, 4000, 16_000];
/// Sides of the square grids of the stencils.
const SIDES: [usize; 3] = [100, 400, 1000];
/// For how long each program is called, at least.
const SPENT: Duration = Duration::from_millis(600);

fn numbers(shape: &[usize]) -> Tensor {
    let count: usize = shape.iter().product();
    Tensor::from_array(Array::new(shape, (0..count).map(|k| (k % 97) as f64 / 97.0).collect::<Vec<f64>>()))
}

/// Prints how long rows and stencils take; `most` is the largest number of rows that is tried.
pub(crate) fn run(arguments: &[String]) -> Result<(), String> {
    let most = match arguments {
        [] => usize::MAX,
        [flag, most] if flag == "--rows" => most.parse().map_err(|_| format!("{most} is no number of rows"))?,
        _ => return Err("usage: bench inplace [--rows MOST]".to_owned()),
    };
    wengert::set_threads(1);
    println!("rows of 100 added to one by one, value and gradient: first call, then nanoseconds a row of a later one");
    let mut each = Vec::new();
    for rows in ROWS.into_iter().filter(|&rows| rows <= most) {
        let (first, later) = timed(rows_of(rows), &numbers(&[rows, 100]));
        each.push(later / rows as f64);
        println!("{rows:8} rows  {:10.1} ms  {:10.1} ns", first * 1e3, later / rows as f64 * 1e9);
    }
    let (least, largest) = each.iter().fold((f64::MAX, 0.0), |(a, b): (f64, f64), &x| (a.min(x), b.max(x)));
    println!("largest over least time of a row: {:.2}", largest / least);
    println!("stencil of five points, value and gradient: microseconds, and over the one with `pad`");
    for side in SIDES {
        let x = numbers(&[side, side]);
        let times = [padded, rolled, sliced].map(|f| timed(stencil(f), &x).1);
        let ratios = times.map(|time| time / times[0]);
        println!(
            "{side:5}^2  pad {:9.1}  roll {:9.1} ({:.2})  slices {:9.1} ({:.2})",
            times[0] * 1e6,
            times[1] * 1e6,
            ratios[1],
            times[2] * 1e6,
            ratios[2]
        );
    }
    Ok(())
}

type Gradient<F> = Compiled<Tensor, (Tensor, Tensor), F>;

fn rows_of(rows: usize) -> Gradient<impl Fn(Tensor) -> (Tensor, Tensor)> {
    Compile::new().function(move |x: Tensor| {
        value_and_grad(&x, |x| {
            let mut y = Tensor::zeros(&[rows, 100]);
            for i in 0..rows as isize {
                *y.slice_mut(i) += x.slice(i) * 2.0;
            }
            y.square().sum()
        })
    })
}

fn stencil(f: fn(&Tensor) -> Tensor) -> Gradient<impl Fn(Tensor) -> (Tensor, Tensor)> {
    Compile::new().function(move |x: Tensor| value_and_grad(&x, |x| f(&x).square().sum()))
}

/// The sum of the four neighbours less four times the middle; the edges continue with zeros.
fn padded(x: &Tensor) -> Tensor {
    let y = x.pad(&[(1, 1, 0), (1, 1, 0)], 0.0);
    inside(&y)
}

/// The inner points of an array.
fn inside(y: &Tensor) -> Tensor {
    let middle = y.slice((span(1, -1), span(1, -1)));
    y.slice((..-2, span(1, -1)))
        + y.slice((2.., span(1, -1)))
        + y.slice((span(1, -1), ..-2))
        + y.slice((span(1, -1), 2..))
        - middle * 4.0
}

/// The same on a torus.
fn rolled(x: &Tensor) -> Tensor {
    x.roll(1, 0) + x.roll(-1, 0) + x.roll(1, 1) + x.roll(-1, 1) - x * 4.0
}

/// The same for inner points alone.
fn sliced(x: &Tensor) -> Tensor {
    inside(x)
}

/// The first call in seconds, planning included, and the median of later ones.
fn timed<F: Fn(Tensor) -> (Tensor, Tensor)>(f: Gradient<F>, x: &Tensor) -> (f64, f64) {
    let clock = Instant::now();
    let _ = f.call(x);
    let first = clock.elapsed().as_secs_f64();
    let mut times = Vec::new();
    let begun = Instant::now();
    while begun.elapsed() < SPENT || times.len() < 5 {
        let clock = Instant::now();
        let _ = f.call(x);
        times.push(clock.elapsed().as_secs_f64());
    }
    times.sort_by(f64::total_cmp);
    (first, times[times.len() / 2])
}
