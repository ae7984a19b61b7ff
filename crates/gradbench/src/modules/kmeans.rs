//! `kmeans`: the sum of squared distances to the nearest centroids, and the step of Newton's method.

use serde::Deserialize;
use wengert::{Tensor, grad, jvp, map};

use super::input::{Matrix, check_work, read};
use super::{Failure, Measured, Output, Settings, measure};

#[derive(Deserialize)]
struct Input {
    points: Matrix,
    centroids: Matrix,
}

pub(super) fn evaluate(function: &str, input: &str, settings: &Settings) -> Result<Measured, Failure> {
    let (Input { points, centroids }, runs) = read(input)?;
    if centroids.rows == 0 || points.rows == 0 {
        return Err(Failure::new(format!("there are {} points and {} centroids", points.rows, centroids.rows)));
    }
    if points.width != centroids.width || points.width == 0 {
        let (points, centroids) = (points.width, centroids.width);
        return Err(Failure::new(format!("points have {points} coordinates, and centroids {centroids}")));
    }
    let work = (points.rows as u64).checked_mul(centroids.rows as u64);
    check_work("these points and centroids", work.and_then(|work| work.checked_mul(points.width as u64)))?;
    let (points, centroids) = (points.into_tensor()?, centroids.into_tensor()?);
    let f = settings.compile().function(if function == "cost" { costs } else { directions });
    let arguments = || (&points, &centroids);
    let prepare = || Ok(f.plan(arguments()).map(|_| ())?);
    let measured = measure(&runs, prepare, |()| Ok(f.try_call(arguments())?), Output::of)?;
    match &measured.output {
        Output::Rows(width, numbers) => check_rows(numbers.chunks_exact(*width))?,
        _ => measured.output.check_finite()?,
    }
    Ok(measured)
}

/// The entries of the Hessian are twice the number of points of a centroid: without any, there is no step.
fn check_rows<'a>(mut rows: impl Iterator<Item = &'a [f64]>) -> Result<(), Failure> {
    match rows.position(|row| row.iter().any(|x| !x.is_finite())) {
        Some(j) => Err(Failure::new(format!("centroid {j} has no direction: it is the nearest one of no point"))),
        None => Ok(()),
    }
}

fn costs((points, centroids): (Tensor, Tensor)) -> Tensor {
    cost(&points, &centroids, &nearest(&points, &centroids))
}

/// `G / H`: the gradient by the centroids and the diagonal of the Hessian, which has no other entries. The derivative of the
/// gradient along the matrix of ones is that diagonal.
fn directions((points, centroids): (Tensor, Tensor)) -> Tensor {
    let nearest = nearest(&points, &centroids);
    let slope = |centroids: Tensor| grad(&centroids, |centroids| cost(&points, &centroids, &nearest));
    let ones = Tensor::ones(centroids.shape());
    let (first, second) = jvp(&centroids, &ones, slope);
    first / second
}

/// `sum_i |P_i - C_(nearest i)|^2`.
///
/// The choice is constant where it is unique, and where it is not the lowest centroid counts: so the derivative of the
/// smallest distance is that of the chosen one.
fn cost(points: &Tensor, centroids: &Tensor, nearest: &Tensor) -> Tensor {
    (points - centroids.take(nearest, 0)).square().sum()
}

/// The number of the nearest centroid of each point, the lowest one of several.
fn nearest(points: &Tensor, centroids: &Tensor) -> Tensor {
    const BLOCK: usize = 256;
    let centroids = centroids.detach();
    // |P - C|^2 without |P|^2, which is the same for all centroids.
    let lengths = centroids.square().sum_over(1);
    let of = |points: Tensor| (&lengths - 2.0 * points.matmul(&centroids.t())).argmin(1);
    let (n, d) = (points.shape()[0], points.shape()[1]);
    let whole = n / BLOCK * BLOCK;
    let blocks = points.slice(..whole as isize).reshape(&[-1, BLOCK as isize, d as isize]);
    let rest = of(points.slice(whole as isize..));
    if whole == 0 {
        return rest;
    }
    let blocks = map(&blocks, of).reshape(&[-1]);
    Tensor::concat(&[&blocks, &rest], 0)
}
