//! Newton's method for a handful of numbers, as the examples use it.

use wengert::prelude::*;

/// Where the search ended.
pub struct Minimum {
    /// The point.
    pub point: Tensor,
    /// The Hessian there: its inverse is the covariance of the point, if the function is the negative logarithm of a density.
    pub hessian: Tensor,
    /// The value and the length of the gradient at each point on the way.
    pub course: Vec<[f64; 2]>,
}

impl Minimum {
    /// The square roots of the diagonal of the inverse of the Hessian.
    pub fn deviations(&self) -> Vec<f64> {
        self.hessian.inv().diagonal(0).sqrt().to_vec()
    }
}

/// The minimum of a function of which value, gradient and Hessian are given at any point.
///
/// A step solves with the Hessian plus a multiple of the identity, which grows where that is not positive definite or the value
/// would not fall, and shrinks where it does (K. Levenberg, 1944): at the end steps are Newton's own.
///
/// # Errors
/// If the gradient does not vanish within 200 evaluations.
pub fn minimise(
    start: Tensor,
    derivatives: impl Fn(&Tensor) -> (Tensor, Tensor, Tensor),
) -> Result<Minimum, Box<dyn std::error::Error>> {
    let one = Tensor::eye(start.size());
    let (mut point, mut damping) = (start, 0.0);
    let (mut value, mut gradient, mut hessian) = derivatives(&point);
    let slope = |gradient: &Tensor| gradient.square().sum().item().sqrt();
    let mut course = vec![[value.item(), slope(&gradient)]];
    for _ in 0..200 {
        if slope(&gradient) < 1e-9 * (1.0 + value.item().abs()) {
            return Ok(Minimum { point, hessian, course });
        }
        if let Ok(step) = (&hessian + damping * &one).try_solve_spd(&gradient) {
            let next = &point - step;
            let (lower, slopes, curvature) = derivatives(&next);
            // Near the minimum values differ by rounding alone.
            if lower.item() <= value.item() + 1e-13 * value.item().abs() {
                (point, value, gradient, hessian) = (next, lower, slopes, curvature);
                course.push([value.item(), slope(&gradient)]);
                damping = if damping > 1e-3 { 0.2 * damping } else { 0.0 };
                continue;
            }
        }
        damping = (5.0 * damping).max(1e-2);
    }
    Err("the gradient does not vanish within 200 evaluations".into())
}
