//! What the tests have in common: points, comparison, and one check of all derivatives.

use wengert::prelude::*;
use wengert::{DType, Error};

/// Numbers without a pattern, in [-1, 1].
pub(crate) fn noise(seed: u64, count: usize) -> Vec<f64> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    };
    (0..count).map(|_| next()).collect()
}

/// A tensor of [`noise`].
pub(crate) fn points(seed: u64, shape: &[usize]) -> Tensor {
    Tensor::from_vec(shape, noise(seed, shape.iter().product()))
}

/// That numbers agree to `ulps` units in the last place of the largest.
#[track_caller]
pub(crate) fn close(got: &[f64], want: &[f64], ulps: f64) {
    assert_eq!(got.len(), want.len(), "{got:?} and {want:?}");
    let largest = want.iter().filter(|x| x.is_finite()).fold(0.0, |largest: f64, x| largest.max(x.abs()));
    for (got, want) in got.iter().zip(want) {
        let same = got == want || got.is_nan() && want.is_nan();
        assert!(
            same || (got - want).abs() <= ulps * f64::EPSILON * largest,
            "{got} is not {want}, the largest {largest}"
        );
    }
}

/// `f` as a loss, every number of its result with a weight of its own.
fn weighted(f: impl Fn(&[Tensor]) -> Tensor) -> impl Fn(&[Tensor]) -> Tensor {
    move |x| {
        let y = f(x);
        let weights = points(99, y.shape()).convert(y.dtype());
        (y * weights).sum()
    }
}

fn dot(x: &[Tensor], y: &[Tensor]) -> f64 {
    x.iter().zip(y).map(|(x, y)| (x * y).sum().item()).sum()
}

fn moved(x: &[Tensor], by: f64, direction: &[Tensor]) -> Vec<Tensor> {
    x.iter().zip(direction).map(|(x, v)| x + v * by).collect()
}

fn directions(seed: u64, x: &[Tensor]) -> Vec<Tensor> {
    x.iter().enumerate().map(|(k, x)| points(seed + 10 * k as u64, x.shape())).collect()
}

/// The derivative of `phi` at 0 by central differences of order 4, and how far it may be off: what half the step
/// changes, which is 15/16 of the error of the formula at the wider step, and rounding, where every value of `phi` may
/// be wrong by `noise`.
fn central(noise: f64, phi: impl Fn(f64) -> f64) -> (f64, f64) {
    let at = |h: f64| (8.0 * (phi(h) - phi(-h)) - (phi(2.0 * h) - phi(-2.0 * h))) / (12.0 * h);
    let h = 2f64.powi(-9);
    let (wide, narrow) = (at(h), at(h / 2.0));
    (narrow, (wide - narrow).abs() + 18.0 * noise / (6.0 * h))
}

/// First and second derivatives of a function of double precision tensors by every driver: along random directions
/// against differences, forward against backward, the Hessian against its transpose.
#[track_caller]
pub(crate) fn check_derivatives(x: &[Tensor], f: impl Fn(&[Tensor]) -> Tensor) {
    let loss = weighted(f);
    // A hundred roundings of the value's size, or of 1 where terms of that size cancel.
    let noise = |size: f64| 100.0 * f64::EPSILON * size.abs().max(1.0);
    let (value, slope) = value_and_grad(x.to_vec(), |x| loss(&x));
    assert!(value.to_array().same_bits(&loss(x).to_array()), "recorded and not: {value:?}, {:?}", loss(x));
    for seed in [3, 5] {
        let v = directions(seed, x);
        let w = directions(seed + 100, x);
        let along = dot(&slope, &v);
        let (wanted, error) = central(noise(value.item()), |h| loss(&moved(x, h, &v)).item());
        assert!((along - wanted).abs() <= error, "gradient {along}, differences {wanted} up to {error}");
        assert!(error <= 1e-6 * wanted.abs().max(1.0), "differences {wanted} that are off by {error} show nothing");
        let (_, forward) = jvp(x.to_vec(), v.clone(), |x| loss(&x));
        let forward = forward.item();
        assert!((forward - along).abs() <= noise(along), "forward {forward}, backward {along}");
        let bent = hvp(x.to_vec(), v.clone(), |x| loss(&x));
        let second = dot(&bent, &w);
        let slope_along = |h: f64| dot(&grad(moved(x, h, &v), |x| loss(&x)), &w);
        let (wanted, error) = central(noise(second), slope_along);
        assert!((second - wanted).abs() <= error, "second order {second}, differences {wanted} up to {error}");
        let mirrored = dot(&hvp(x.to_vec(), w, |x| loss(&x)), &v);
        assert!((second - mirrored).abs() <= noise(second), "the Hessian is not symmetric: {second}, {mirrored}");
    }
}

/// That single precision gives the values and gradients of double precision, to this many units of its own.
#[track_caller]
pub(crate) fn check_single(x: &[Tensor], ulps: f64, f: impl Fn(&[Tensor]) -> Tensor) {
    let single: Vec<Tensor> = x.iter().map(Tensor::to_f32).collect();
    let double: Vec<Tensor> = single.iter().map(Tensor::to_f64).collect();
    let ulps = ulps * (f64::from(f32::EPSILON) / f64::EPSILON);
    let y = f(&single);
    assert_eq!(y.dtype(), DType::F32);
    close(&y.to_vec(), &f(&double).to_vec(), ulps);
    let loss = weighted(f);
    let (got, want) = (grad(single, |x| loss(&x)), grad(double, |x| loss(&x)));
    for (got, want) in got.iter().zip(&want) {
        assert_eq!(got.dtype(), DType::F32);
        close(&got.to_vec(), &want.to_vec(), ulps);
    }
}

/// That an operation is refused with a message that has all of these in it, and this file's line.
#[track_caller]
pub(crate) fn refused(result: Result<Tensor, Error>, words: &[&str]) {
    let text = result.expect_err("it has to be refused").to_string();
    for word in words.iter().chain(&["crates/wengert/tests/all/nn/"]) {
        assert!(text.contains(word), "`{word}` is not in: {text}");
    }
}

#[test]
#[should_panic(expected = "gradient")]
fn a_wrong_derivative_is_seen() {
    check_derivatives(&[points(1, &[3])], |x| x[0].sin() * x[0].detach());
}

#[test]
#[should_panic(expected = "second order")]
fn a_wrong_second_derivative_is_seen() {
    // The slope of the second term is right, but a number to the next derivative.
    let inner = |x: &Tensor| grad(x.detach(), |x| x.exp().sum()).detach();
    check_derivatives(&[points(1, &[3])], |x| {
        let centre = x[0].detach();
        (&x[0] - &centre) * inner(&centre) + centre.exp()
    });
}
