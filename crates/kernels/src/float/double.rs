//! `f64`: the functions of [`math`](crate::math), one number at a time.

use super::{Float, plain_functions, power_by_squaring, powers_by_squaring, repair, slice_function};
use crate::math::{
    activation, arc, error_function, exponential, hyperbolic, inverse_hyperbolic, logarithm, power, root, trigonometric,
};

/// Names the methods of one argument and the functions behind them.
macro_rules! unary {
    ($($name:ident = $one:path;)*) => {$(
        #[inline(always)]
        fn $name(self) -> f64 {
            $one(self)
        }
    )*};
}

/// The same for two arguments.
macro_rules! binary {
    ($($name:ident = $one:path;)*) => {$(
        #[inline(always)]
        fn $name(self, y: f64) -> f64 {
            $one(self, y)
        }
    )*};
}

/// Whether the standard library must compute the sine.
#[inline(always)]
fn large(x: f64) -> bool {
    x.abs() > trigonometric::LARGEST
}

impl Float for f64 {
    #[inline(always)]
    fn from_f64(x: f64) -> f64 {
        x
    }

    plain_functions!(f64, 4_503_599_627_370_496.0);

    unary! {
        cbrt = root::cbrt_one;
        exp = exponential::exp_one;
        exp2 = exponential::exp2_one;
        expm1 = exponential::expm1_one;
        ln = logarithm::ln_one;
        log2 = logarithm::log2_one;
        log10 = logarithm::log10_one;
        log1p = logarithm::log1p_one;
        asin = arc::asin_one;
        acos = arc::acos_one;
        atan = arc::atan_one;
        sinh = hyperbolic::sinh_one;
        cosh = hyperbolic::cosh_one;
        tanh = hyperbolic::tanh_one;
        sech2 = hyperbolic::sech2_one;
        asinh = inverse_hyperbolic::asinh_one;
        acosh = inverse_hyperbolic::acosh_one;
        atanh = inverse_hyperbolic::atanh_one;
        sigmoid = hyperbolic::sigmoid_one;
        softplus = hyperbolic::softplus_one;
        gelu_erf = activation::gelu_erf_one;
        gelu_tanh = activation::gelu_tanh_one;
        gelu_tanh_slope = activation::gelu_tanh_slope_one;
        silu = activation::silu_one;
        erf = error_function::erf_one;
        erfc = error_function::erfc_one;
        erfinv = error_function::erfinv_one;
    }

    binary! {
        pow = power::pow_one;
        atan2 = arc::atan2_one;
        hypot = root::hypot_one;
        logaddexp = activation::logaddexp_one;
        xlogy = activation::xlogy_one;
    }

    #[inline(always)]
    fn sin(self) -> f64 {
        if large(self) { f64::sin(self) } else { trigonometric::sin_one(self) }
    }
    #[inline(always)]
    fn cos(self) -> f64 {
        if large(self) { f64::cos(self) } else { trigonometric::cos_one(self) }
    }
    #[inline(always)]
    fn tan(self) -> f64 {
        if large(self) { f64::tan(self) } else { trigonometric::tan_one(self) }
    }
    #[inline(always)]
    fn tanh_sech2(self) -> (f64, f64) {
        hyperbolic::tanh_sech2_one(self)
    }
    #[inline(always)]
    fn gelu_tanh_with_slope(self) -> (f64, f64) {
        activation::gelu_tanh_with_slope_one(self)
    }
    #[inline(always)]
    fn powi(self, n: i32) -> f64 {
        power_by_squaring(self, n)
    }

    slice_function!(sin_slice, f64, trigonometric::sin_one, large, f64::sin);
    slice_function!(cos_slice, f64, trigonometric::cos_one, large, f64::cos);
    #[inline(always)]
    fn sin_cos_slice(x: &[f64], sine: &mut [f64], cosine: &mut [f64]) {
        assert_eq!([sine.len(), cosine.len()], [x.len(); 2], "the slices have one length");
        let mut any = false;
        for ((sine, cosine), &x) in sine.iter_mut().zip(&mut *cosine).zip(x) {
            (*sine, *cosine) = trigonometric::sin_cos_one(x);
            any |= large(x);
        }
        if any {
            repair(x, sine, large, f64::sin);
            repair(x, cosine, large, f64::cos);
        }
    }
    slice_function!(tan_slice, f64, trigonometric::tan_one, large, f64::tan);
    #[inline(always)]
    fn powi_slice(x: &[f64], n: i32, y: &mut [f64]) {
        powers_by_squaring(x, n, y);
    }
}
