//! `f32`: the functions of [`wide`](super::wide), rounded once.

use super::wide::{activation, arc, error_function, exponential, logarithm, root, trigonometric};
use super::{Float, plain_functions, power_by_squaring, powers_by_squaring, slice_function};

/// Names the methods of one argument and the functions behind them.
macro_rules! unary {
    ($($name:ident = $wide:path;)*) => {$(
        #[inline(always)]
        fn $name(self) -> f32 {
            $wide(self)
        }
    )*};
}

/// The same for two arguments.
macro_rules! binary {
    ($($name:ident = $wide:path;)*) => {$(
        #[inline(always)]
        fn $name(self, y: f32) -> f32 {
            $wide(self, y)
        }
    )*};
}

/// Whether an angle needs more digits of `pi`.
#[inline(always)]
fn large(x: f32) -> bool {
    x.abs() > trigonometric::LARGEST
}

impl Float for f32 {
    #[inline(always)]
    fn from_f64(x: f64) -> f32 {
        x as f32
    }

    plain_functions!(f32, 8_388_608.0);

    unary! {
        cbrt = root::cbrt;
        exp = exponential::exp;
        exp2 = exponential::exp2;
        expm1 = exponential::expm1;
        ln = logarithm::ln;
        log2 = logarithm::log2;
        log10 = logarithm::log10;
        log1p = logarithm::log1p;
        asin = arc::asin;
        acos = arc::acos;
        atan = arc::atan;
        sinh = exponential::sinh;
        cosh = exponential::cosh;
        tanh = exponential::tanh;
        sech2 = exponential::sech2;
        asinh = logarithm::asinh;
        acosh = logarithm::acosh;
        atanh = logarithm::atanh;
        sigmoid = activation::sigmoid;
        softplus = logarithm::softplus;
        gelu_erf = activation::gelu_erf;
        gelu_tanh = activation::gelu_tanh;
        gelu_tanh_slope = activation::gelu_tanh_slope;
        silu = activation::silu;
        erf = error_function::erf;
        erfc = error_function::erfc;
        erfinv = error_function::erfinv;
    }

    binary! {
        pow = logarithm::pow;
        atan2 = arc::atan2;
        hypot = root::hypot;
        logaddexp = logarithm::logaddexp;
        xlogy = logarithm::xlogy;
    }

    #[inline(always)]
    fn sin(self) -> f32 {
        if large(self) { trigonometric::sin_large(self) } else { trigonometric::sin(self) }
    }
    #[inline(always)]
    fn cos(self) -> f32 {
        if large(self) { trigonometric::cos_large(self) } else { trigonometric::cos(self) }
    }
    #[inline(always)]
    fn tan(self) -> f32 {
        if large(self) { trigonometric::tan_large(self) } else { trigonometric::tan(self) }
    }
    #[inline(always)]
    fn tanh_sech2(self) -> (f32, f32) {
        exponential::tanh_sech2(self)
    }
    #[inline(always)]
    fn gelu_tanh_with_slope(self) -> (f32, f32) {
        activation::gelu_tanh_with_slope(self)
    }
    #[inline(always)]
    fn powi(self, n: i32) -> f32 {
        power_by_squaring(f64::from(self), n) as f32
    }

    slice_function!(sin_slice, f32, trigonometric::sin, large, trigonometric::sin_large);
    slice_function!(cos_slice, f32, trigonometric::cos, large, trigonometric::cos_large);
    #[inline(always)]
    fn sin_cos_slice(x: &[f32], sine: &mut [f32], cosine: &mut [f32]) {
        Self::sin_slice(x, sine);
        Self::cos_slice(x, cosine);
    }
    slice_function!(tan_slice, f32, trigonometric::tan, large, trigonometric::tan_large);
    #[inline(always)]
    fn powi_slice(x: &[f32], n: i32, y: &mut [f32]) {
        powers_by_squaring(x, n, y);
    }
}
