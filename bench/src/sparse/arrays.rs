//! Sparse Jacobians of functions of tensors: a nonlinear Laplacian, the Brusselator, bundle adjustment's pattern.
//!
//! All times are medians, and stand beside that of one evaluation of the function, compiled, in the same run. The same
//! functions with coloured products by hand in JAX are in `peers/sparse/jax_sparse.py`.

use std::time::Instant;

use wengert::sparsity::{Method, Sparse};
use wengert::{Tensor, compile, span, vmap};

/// A function and the point that it is measured at.
struct Problem {
    name: &'static str,
    point: Tensor,
    function: fn(Tensor) -> Tensor,
}

/// `Δu + e^u` on a grid with zeros around (Bratu's problem): five points.
fn laplacian(u: Tensor) -> Tensor {
    let (n, m) = (u.shape()[0] as isize, u.shape()[1] as isize);
    let around = u.pad(&[(1, 1, 0), (1, 1, 0)], 0.0);
    let at = |di: isize, dj: isize| around.slice((span(1 + di, 1 + di + n), span(1 + dj, 1 + dj + m)));
    at(-1, 0) + at(1, 0) + at(0, -1) + at(0, 1) - 4.0 * &u + u.exp()
}

/// `div((1 + u²) grad u)` on the same grid: every entry depends on the point.
fn diffusion(u: Tensor) -> Tensor {
    let (n, m) = (u.shape()[0] as isize, u.shape()[1] as isize);
    let around = u.pad(&[(1, 1, 0), (1, 1, 0)], 0.0);
    let at = |di: isize, dj: isize| around.slice((span(1 + di, 1 + di + n), span(1 + dj, 1 + dj + m)));
    let flux = |near: Tensor| (1.0 + 0.5 * (near.square() + u.square())) * (near - &u);
    flux(at(-1, 0)) + flux(at(1, 0)) + flux(at(0, -1)) + flux(at(0, 1))
}

/// The Brusselator with diffusion on a periodic grid (Hairer and Wanner, *Solving Ordinary Differential Equations II*,
/// 1996): `u` and `v` in the two planes of the point.
fn brusselator(x: Tensor) -> Tensor {
    let n = x.shape()[1] as f64;
    let (u, v) = (x.slice(0), x.slice(1));
    let spread = |w: &Tensor| (w.roll(1, 0) + w.roll(-1, 0) + w.roll(1, 1) + w.roll(-1, 1) - 4.0 * w) * (0.1 * n * n);
    let mixed = u.square() * &v;
    Tensor::stack(&[&(1.0 + &mixed - 4.4 * &u + spread(&u)), &(3.4 * &u - &mixed + spread(&v))], 0)
}

fn wave(shape: &[usize]) -> Tensor {
    let size: usize = shape.iter().product();
    let signed: Vec<isize> = shape.iter().map(|&length| length as isize).collect();
    Tensor::from((0..size).map(|k| 0.5 + 0.3 * (k as f64 * 0.37).sin()).collect::<Vec<f64>>()).reshape(&signed)
}

/// The median time of a few calls, in milliseconds, without that of dropping what they give.
fn median<T>(calls: usize, mut call: impl FnMut() -> T) -> f64 {
    call();
    let mut times: Vec<f64> = (0..calls)
        .map(|_| {
            let start = Instant::now();
            let made = call();
            let time = start.elapsed().as_secs_f64() * 1e3;
            drop(made);
            time
        })
        .collect();
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

/// Measures all.
pub(crate) fn run() {
    let grid = |n: usize| wave(&[n, n]);
    let problems = [
        Problem { name: "laplacian 100", point: grid(100), function: laplacian },
        Problem { name: "laplacian 1000", point: grid(1000), function: laplacian },
        Problem { name: "diffusion 1000", point: grid(1000), function: diffusion },
        Problem { name: "brusselator 128", point: wave(&[2, 128, 128]), function: brusselator },
    ];
    println!(
        "{:<16} {:>9} {:>9} {:>8} {:>8} {:>8}  in evaluations of the function",
        "", "unknowns", "entries", "pattern", "prepared", "colours"
    );
    for problem in &problems {
        jacobian(problem);
    }
    bundle();
}

fn jacobian(problem: &Problem) {
    let Problem { name, point, function } = problem;
    let compiled = compile(*function);
    let calls = if point.ty().size() > 100_000 { 9 } else { 51 };
    let value = median(calls, || compiled.call(point));
    let prepared = median(5, || Sparse::jacobian(function, point).expect("it has a Jacobian"));
    let sparse = Sparse::jacobian(function, point).expect("it has a Jacobian");
    let start = Instant::now();
    let colours = sparse.colours();
    let coloured = start.elapsed().as_secs_f64() * 1e3;
    let mut values = vec![0.0; sparse.pattern().nnz()];
    let evaluated = median(calls, || sparse.evaluate(point, &mut values).expect("the point is that of before"));
    println!(
        "{name:<16} {:>9} {:>9}  f {value:.3} ms; prepared {:.1}, colours {colours} in {:.1}, evaluated {:.2} by {}",
        point.ty().size(),
        sparse.pattern().nnz(),
        prepared / value,
        coloured / value,
        evaluated / value,
        sparse.method(),
    );
    let options = Sparse::options().pattern(sparse.pattern().clone()).method(Method::Columns);
    let by_colours = options.jacobian(function, point).expect("it has a Jacobian");
    let mut others = vec![0.0; sparse.pattern().nnz()];
    let evaluated = median(calls, || by_colours.evaluate(point, &mut others).expect("the point is that of before"));
    let off = values.iter().zip(&others).fold(0.0, |most: f64, (x, y)| most.max((x - y).abs()));
    println!("{:<36} by products with colours {:.2}, which differ by {off:.1e}", "", evaluated / value);
}

/// The pattern of a bundle adjustment of random cameras and points: 11 numbers of a camera, 3 of a point, and a weight.
fn bundle() {
    let (cameras, points, observations) = (49, 7_776, 31_843);
    let pick = |count: usize, seed: usize| -> Tensor {
        Tensor::from((0..observations).map(|k| ((k * 7919 + seed) % count) as i64).collect::<Vec<i64>>())
    };
    let (from, to) = (pick(cameras, 3), pick(points, 11));
    let x = (wave(&[cameras, 11]), wave(&[points, 3]), wave(&[observations]));
    let residuals = move |(cameras, points, weights): (Tensor, Tensor, Tensor)| {
        vmap((from.clone(), to.clone(), weights), |(i, j, w): (Tensor, Tensor, Tensor)| {
            let (camera, point) = (cameras.take(&i, 0), points.take(&j, 0));
            let (turn, centre) = (camera.slice(span(0, 3)), camera.slice(span(3, 6)));
            let shifted = point - centre;
            let angle = turn.square().sum().sqrt();
            let axis = &turn / &angle;
            let cross = cross(&axis, &shifted);
            let along = (&axis * &shifted).sum();
            let turned = &shifted * angle.cos() + cross * angle.sin() + &axis * along * (1.0 - angle.cos());
            let flat = turned.slice(span(0, 2)) / turned.slice(2);
            let radius = flat.square().sum();
            let distortion = 1.0 + camera.slice(9) * &radius + camera.slice(10) * radius.square();
            (flat * distortion * camera.slice(6) + camera.slice(span(7, 9))) * w
        })
    };
    let compiled = compile(residuals.clone());
    let value = median(9, || compiled.call(&x));
    let prepared = median(3, || Sparse::jacobian(&residuals, &x).expect("it has a Jacobian"));
    let sparse = Sparse::jacobian(&residuals, &x).expect("it has a Jacobian");
    let mut values = vec![0.0; sparse.pattern().nnz()];
    let evaluated = median(9, || sparse.evaluate(&x, &mut values).expect("the point is that of before"));
    println!(
        "bundle {observations:<9} {:>9} {:>9}  f {value:.3} ms; prepared {:.1}, evaluated {:.2} by {}",
        sparse.pattern().cols(),
        sparse.pattern().nnz(),
        prepared / value,
        evaluated / value,
        sparse.method(),
    );
}

fn cross(a: &Tensor, b: &Tensor) -> Tensor {
    let at = |x: &Tensor, k: isize| x.slice(k);
    let part = |i: isize, j: isize| at(a, i) * at(b, j) - at(a, j) * at(b, i);
    Tensor::stack(&[&part(1, 2), &part(2, 0), &part(0, 1)], 0)
}
