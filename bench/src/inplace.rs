//! Parts of arrays that are written row by row, and stencils: run times of value and gradient, on one thread.

use std::hint::black_box;
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
    println!("rows of 100 added to one by one, value and gradient: first call, then nanoseconds a row of a later one,");
    println!("and of the same passes over memory written by hand");
    let mut each = Vec::new();
    for rows in ROWS.into_iter().filter(|&rows| rows <= most) {
        let x = numbers(&[rows, 100]);
        let f = rows_of(rows);
        let (first, later) = timed(|x| f.call(x), &x);
        let (_, hand) = timed(by_hand, &x.to_vec()[..]);
        each.push([later, hand].map(|time| time / rows as f64 * 1e9));
        let [later, hand] = each[each.len() - 1];
        println!("{rows:8} rows  {:10.1} ms  {later:10.1} ns  by hand {hand:10.1} ns", first * 1e3);
    }
    let growth = [0, 1].map(|k| {
        let times = each.iter().map(|times| times[k]);
        times.clone().fold(0.0, f64::max) / times.fold(f64::MAX, f64::min)
    });
    println!("largest over least time of a row: {:.2}, by hand {:.2}", growth[0], growth[1]);
    println!("stencil of five points, value and gradient: microseconds, and over the one with `pad`");
    for side in SIDES {
        let x = numbers(&[side, side]);
        let times = [padded, rolled, sliced].map(|f| {
            let f = stencil(f);
            timed(|x| f.call(x), &x).1
        });
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

/// Value and gradient of [`rows_of`], with an array for each that a derivative of rows has.
fn by_hand(x: &[f64]) -> (f64, Vec<f64>) {
    let mut y = vec![0.0; x.len()];
    for (y, x) in y.chunks_mut(100).zip(x.chunks(100)) {
        y.iter_mut().zip(x).for_each(|(y, x)| *y += x * 2.0);
    }
    let value = y.iter().map(|y| y * y).sum();
    let y_bar: Vec<f64> = y.iter().map(|y| y * 2.0).collect();
    let mut x_bar = vec![0.0; x.len()];
    for (x_bar, y_bar) in x_bar.chunks_mut(100).zip(y_bar.chunks(100)).rev() {
        x_bar.iter_mut().zip(y_bar).for_each(|(x_bar, y_bar)| *x_bar += y_bar * 2.0);
    }
    (value, x_bar)
}

/// The first call in seconds, planning included, and the median of later ones.
fn timed<T: ?Sized, R>(f: impl Fn(&T) -> R, x: &T) -> (f64, f64) {
    let clock = Instant::now();
    let _ = black_box(f(x));
    let first = clock.elapsed().as_secs_f64();
    let mut times = Vec::new();
    let begun = Instant::now();
    while begun.elapsed() < SPENT || times.len() < 5 {
        let clock = Instant::now();
        let _ = black_box(f(x));
        times.push(clock.elapsed().as_secs_f64());
    }
    times.sort_by(f64::total_cmp);
    (first, times[times.len() / 2])
}
