//! Points that are known by equations: against closed forms, differences, and each mode against the others.

mod errors;
mod examples;
mod frozen;
mod linear;
mod points;

use wengert::prelude::*;

/// Asserts that numbers agree up to this distance.
#[track_caller]
pub(crate) fn near(what: &str, got: &Tensor, want: &Tensor, tolerance: f64) {
    assert_eq!(got.shape(), want.shape(), "{what}");
    for (got, want) in got.to_vec().iter().zip(want.to_vec()) {
        assert!((got - want).abs() <= tolerance, "{what}: {got} instead of {want}, off by {:e}", (got - want).abs());
    }
}

/// Numbers between -1 and 1 without a pattern.
fn numbers(from: usize, shape: &[usize]) -> Tensor {
    let size: usize = shape.iter().product();
    let numbers: Vec<f64> = (from..from + size).map(|k| (k as f64 * 12.9898).sin()).collect();
    let shape: Vec<isize> = shape.iter().map(|&length| length as isize).collect();
    Tensor::from(numbers).reshape(&shape)
}

/// The derivatives of a function of one tensor, three ways and in two orders: the tangent against differences, the pullback
/// against the tangent by the dot product, the second derivative against differences of the gradient.
#[track_caller]
pub(crate) fn check_derivatives(what: &str, x: &Tensor, f: impl Fn(&Tensor) -> Tensor) {
    let direction = numbers(77, x.shape());
    let (value, tangent) = jvp(x, &direction, |x| f(&x));
    near(what, &value, &f(x), 1e-9);
    // Central differences of order 4, whose error is 1e-12 for these steps and functions without large derivatives.
    let h = 1e-3;
    let difference = |of: &dyn Fn(f64) -> Tensor| {
        (of(h) - of(-h)) * (8.0 / (12.0 * h)) - (of(2.0 * h) - of(-2.0 * h)) * (1.0 / (12.0 * h))
    };
    near(&format!("{what}: jvp"), &tangent, &difference(&|t| f(&(x + &direction * t))), 2e-7);
    let ct = numbers(99, value.shape());
    let pulled = grad(x, |x| (f(&x) * &ct).sum());
    let (one, other) = ((&pulled * &direction).sum(), (&tangent * &ct).sum());
    near(&format!("{what}: transpose"), &one, &other, 1e-8 * (1.0 + one.item().abs()));
    let slope = |x: &Tensor| grad(x, |x| (f(&x) * &ct).sum());
    let second = hvp(x, &direction, |x| (f(&x) * &ct).sum());
    near(&format!("{what}: hvp"), &second, &difference(&|t| slope(&(x + &direction * t))), 5e-6);
    // The Hessian is symmetric.
    let hessian = jacobian(x, |x| grad(&x, |x| (f(&x) * &ct).sum()));
    let n = x.size() as isize;
    let hessian = hessian.reshape(&[n, n]);
    near(&format!("{what}: symmetry"), &hessian, &hessian.t(), 1e-7);
}
