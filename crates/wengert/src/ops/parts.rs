//! Parts of the rules of functions of one argument.

use crate::number::Float;
use crate::real::Real;

/// -1, 0 or 1; NaN stays NaN.
pub(super) fn sign(x: f64) -> f64 {
    if x > 0.0 {
        1.0
    } else if x < 0.0 {
        -1.0
    } else {
        x * 0.0 // keeps NaN
    }
}

/// `1 - tanh(x)^2` as `4e/(1+e)^2` with `e = exp(-2|x|)`, which neither cancels nor overflows.
#[cfg_attr(not(debug_assertions), inline(always))]
pub(super) fn sech2<F: Float>(x: F) -> F {
    let e = (x.map(f64::abs) * F::from_f64(-2.0)).exp();
    let sum = F::from_f64(1.0) + e;
    e * F::from_f64(4.0) / (sum * sum)
}

/// The derivative of `silu`.
#[cfg_attr(not(debug_assertions), inline(always))]
pub(super) fn silu_slope<R: Real>(x: R) -> R {
    let x = bounded(x, 800.0);
    x.sigmoid() * (x * (-x).sigmoid() + 1.0)
}

/// 1 above zero, else 0.
#[cfg_attr(not(debug_assertions), inline(always))]
pub(super) fn step<R: Real>(x: R) -> R {
    R::branch(R::constant(0.0).less(x), || R::constant(1.0), || R::constant(0.0))
}

/// `x` limited to `[-bound, bound]`. Beyond the bound the derivative has reached 0 on the left and 1
/// on the right to the last bit, while its formula would meet `0 * inf` at infinity. A limited
/// argument needs no choice between two formulas, so nothing behind it carries a mask.
#[cfg_attr(not(debug_assertions), inline(always))]
pub(super) fn bounded<R: Real>(x: R, bound: f64) -> R {
    x.max(R::constant(-bound)).min(R::constant(bound))
}

/// The derivative of `mish`: `t + x (1 - t^2) sigmoid(x)` with `t = tanh(softplus(x))`.
#[cfg_attr(not(debug_assertions), inline(always))]
pub(super) fn mish_slope<R: Real>(x: R) -> R {
    let x = bounded(x, 800.0);
    let above = x.softplus();
    above.tanh() + x * above.sech2() * x.sigmoid()
}
