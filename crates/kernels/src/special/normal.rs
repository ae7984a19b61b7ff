//! The normal distribution: density, distribution function, its logarithm with derivatives of every order, quantiles; and
//! the derivatives of the scaled complementary error function that they are made of.
//!
//! What a tail loses is never formed: the distribution function far left is a density times a ratio (Mills's), the ratio
//! and its relatives are a continued fraction of positive terms, and quantiles are found from logarithms.

use std::f64::consts::{FRAC_1_SQRT_2, FRAC_2_SQRT_PI, LN_2, PI, SQRT_2};

use super::erf::{erfcx, erfinv};
use super::exp_of_sum;

/// `1 / sqrt(2 pi)`.
const FRAC_1_SQRT_TAU: f64 = 0.3989422804014327;
/// `sqrt(2 / pi)`.
const SQRT_FRAC_2_PI: f64 = FRAC_2_SQRT_PI * FRAC_1_SQRT_2;
/// `ln 2 - LN_2`: what the rounding of the logarithm to `f64` loses.
const LN_2_LOW: f64 = 2.3190468138462996e-17;

/// The derivative of order `n` of `erfcx(x) = e^(x^2) erfc(x)`.
///
/// With `y_n` the derivative of order `n`, `y_0 = erfcx(x)`, `y_1 = 2x y_0 - 2/sqrt(pi)` and
/// `y_(n+1) = 2x y_n + 2n y_(n-1)`, Abramowitz and Stegun 7.2.5 with 7.2.9. Read upwards this cancels for positive `x`;
/// there the ratios `r_n = -y_n / y_(n-1)` are read downwards, `r_n = 2n / (2x + r_(n+1))` (Gautschi, 1961), where all
/// terms are positive. Signs alternate: `(-1)^n y_n > 0`. `-inf` or `inf` where `e^(x^2)` overflows; NaN gives NaN.
pub fn erfcx_derivative(n: u32, x: f64) -> f64 {
    let y = erfcx(x);
    if n == 0 || x.is_nan() {
        return y;
    }
    if x == f64::INFINITY {
        return if n.is_multiple_of(2) { 0.0 } else { -0.0 };
    }
    if x < 0.75 / f64::from(n) {
        let (mut below, mut here) = (y, 2.0 * x * y - FRAC_2_SQRT_PI);
        for k in 1..n {
            // Two infinities have the same sign.
            (below, here) = (here, 2.0 * x * here + 2.0 * f64::from(k) * below);
        }
        return here;
    }
    let mut product = y;
    let mut ratio = ratio_above(n, x);
    for k in (1..=n).rev() {
        ratio = 2.0 * f64::from(k) / (2.0 * x + ratio);
        product *= -ratio;
    }
    product
}

/// `r_(n+1) = -y_(n+1)/y_n` of [`erfcx_derivative`] for positive `x`.
fn ratio_above(n: u32, x: f64) -> f64 {
    // Started from where r is about sqrt(2k): an error shrinks by the factor e^(-2x sqrt(2/k)) or faster at each k.
    let steps = 20.0 + (14.0 / x) * (14.0 / x);
    let last = f64::from(n) + steps.min(1e5).ceil();
    let mut ratio = (x * x + 2.0 * last).sqrt() - x;
    let mut k = last;
    while k > f64::from(n) {
        ratio = 2.0 * k / (2.0 * x + ratio);
        k -= 1.0;
    }
    ratio
}

/// The density of the normal distribution.
///
/// `normal_pdf(x) = e^(-x^2/2) / sqrt(2 pi)`, with the square in two parts; 0 at `±inf`; NaN gives NaN.
#[inline]
pub fn normal_pdf(x: f64) -> f64 {
    if x.abs() > 40.0 {
        return 0.0; // e^(-800) underflows.
    }
    let square = x * x;
    FRAC_1_SQRT_TAU * exp_of_sum(-0.5 * square, -0.5 * x.mul_add(x, -square))
}

/// The distribution function of the normal distribution.
///
/// `normal_cdf(x) = erfc(-x / sqrt 2) / 2`; below -1 it is `e^(-x^2/2) erfcx(-x / sqrt 2) / 2` with the square in two
/// parts, as the complement itself would multiply the rounding of `x / sqrt 2` by `x^2`. 0 at `-inf`, 1 at `inf`; NaN gives
/// NaN.
#[inline]
pub fn normal_cdf(x: f64) -> f64 {
    if x > -1.0 {
        return 0.5 * libm::erfc(-x * FRAC_1_SQRT_2);
    }
    if x < -40.0 {
        return 0.0;
    }
    let square = x * x;
    0.5 * erfcx(-x * FRAC_1_SQRT_2) * exp_of_sum(-0.5 * square, -0.5 * x.mul_add(x, -square))
}

/// The derivative of order `n` of `ln normal_cdf(x)`.
///
/// Order 0 is `-x^2/2 + ln(erfcx(-x/sqrt 2)/2)` on the left, and `log1p(-normal_cdf(-x))` on the right. With
/// `h = normal_pdf/normal_cdf` (Mills's ratio inverted) and `u = x + h > 0` the derivatives are
///
/// ```text
/// h,  -h u,  h (u^2 - 1 + h u),  ...
/// ```
///
/// From order 2 on they are the cumulants of a normal distribution cut off at `-x`, less one for order 2; on the left, where
/// the formulas cancel, they come from the ratios of [`erfcx_derivative`], in which all terms are positive, and from order 4
/// on far left by the series of `u` in `1/x`, whose coefficients follow from `u' = 1 + x u - u^2`.
/// Tested: 1e-14 to order 3; higher orders lose digits between `-9 - n` and -1.
pub fn log_normal_cdf(n: u32, x: f64) -> f64 {
    match n {
        _ if x.is_nan() => x,
        0 if x > 0.0 => (-normal_cdf(-x)).ln_1p(),
        0 => (0.5 * erfcx(-x * FRAC_1_SQRT_2)).ln() - 0.5 * x * x,
        1 => hazard(x),
        // The next terms are 1/x^2 of these.
        2 if x < -1e9 => -1.0,
        3 if x < -1e9 => -2.0 / x / x / x,
        2 if x < -0.5 => -hazard(x) * excess(x),
        2 => -hazard(x) * (x.min(1e10) + hazard(x)),
        3 if x < -0.5 => third(x),
        3 => {
            let (h, x) = (hazard(x), x.min(1e10));
            let u = x + h;
            h * (u * u - 1.0 + h * u)
        }
        n if x < -9.0 - f64::from(n) => cumulant_far_left(n, -x),
        n => by_leibniz(n, x.min(1e10)),
    }
}

/// `normal_pdf(x) / normal_cdf(x)`, about `-x` far left.
fn hazard(x: f64) -> f64 {
    if x > 0.0 { normal_pdf(x) / normal_cdf(x) } else { SQRT_FRAC_2_PI / erfcx(-x * FRAC_1_SQRT_2) }
}

/// `x + hazard(x)` for `x <= -1/2`, about `-1/x` far left.
fn excess(x: f64) -> f64 {
    let t = -x * FRAC_1_SQRT_2;
    FRAC_1_SQRT_2 / (t + 0.5 * ratio_above(1, t))
}

/// The third derivative for `x <= -1/2`: `h r_1 (r_1 - r_2/2)` with the difference resolved by `r_n = 2n/(2t + r_(n+1))`
/// twice, after which all that is left of it is positive.
fn third(x: f64) -> f64 {
    let t = -x * FRAC_1_SQRT_2;
    let r4 = ratio_above(3, t);
    let r3 = 6.0 / (2.0 * t + r4);
    let r2 = 4.0 / (2.0 * t + r3);
    let r1 = 2.0 / (2.0 * t + r2);
    let difference = (4.0 * t + 6.0 * r3 - 4.0 * r4) / (2.0 * t + r3) / (2.0 * t + r4);
    hazard(x) * r1 * (2.0 * difference / (2.0 * t + r2) / (2.0 * t + r3))
}

/// The cumulant of order `n >= 2` for a cut at `a`, far out: the series of `u` differentiated term by term.
fn cumulant_far_left(n: u32, a: f64) -> f64 {
    const TERMS: usize = 24;
    let mut c = [0.0f64; TERMS];
    c[0] = 1.0;
    let (mut sum, mut least) = (0.0, f64::INFINITY);
    // (2k+1)(2k+2)...(2k+n-1) a^-(2k+n)
    for k in 0..TERMS {
        if k > 0 {
            let squares: f64 = (0..k).map(|i| c[i] * c[k - 1 - i]).sum();
            c[k] = -squares - (2 * k - 1) as f64 * c[k - 1];
        }
        let term = (1..n).fold(c[k] / a.powi(2 * k as i32 + 1), |term, j| term * ((2 * k) as f64 + f64::from(j)) / a);
        if term.abs() >= least {
            break; // The series diverges from here on.
        }
        least = term.abs();
        sum += term;
    }
    sum
}

/// The derivative of order `n` from `h' = -h u`, `u' = 1 + h'` by Leibniz's rule.
fn by_leibniz(n: u32, x: f64) -> f64 {
    let n = n as usize;
    let mut h = vec![hazard(x)];
    let mut u = vec![if x < -0.5 { excess(x) } else { x + h[0] }];
    for k in 0..n - 1 {
        let mut binomial = 1.0;
        let mut next = 0.0;
        for j in 0..=k {
            next -= binomial * h[j] * u[k - j];
            binomial *= (k - j) as f64 / (j + 1) as f64;
        }
        h.push(next);
        u.push(if k == 0 { 1.0 + next } else { next });
    }
    h[n - 1]
}

/// The inverse of [`normal_cdf`].
///
/// `normal_cdf(normal_quantile(p)) = p` for `p` in `[0, 1]`; `∓inf` at 0 and 1; NaN outside and for NaN. Around 1/2 it is
/// `sqrt 2 erfinv(2p - 1)`, where the difference is exact; in the tails see [`normal_quantile_of_log`].
pub fn normal_quantile(p: f64) -> f64 {
    if (0.25..=0.75).contains(&p) {
        SQRT_2 * erfinv(2.0 * p - 1.0)
    } else if p < 0.5 {
        quantile_far_left(p.ln())
    } else {
        -quantile_far_left((1.0 - p).ln()) // Exact above 1/2; NaN stays NaN.
    }
}

/// The slope of [`normal_quantile`], `1 / normal_pdf(normal_quantile(p))`; `inf` at 0 and 1.
///
/// In the tails it is `1 / (p h)` with `h` the ratio of density and distribution function, which hardly depends on the
/// quantile: the density itself would multiply its rounding by its square.
pub fn normal_quantile_slope(p: f64) -> f64 {
    let q = normal_quantile(p);
    if (0.25..=0.75).contains(&p) {
        (0.5 * q * q).exp() / FRAC_1_SQRT_TAU
    } else if p < 0.5 {
        1.0 / hazard(q) / p
    } else {
        1.0 / hazard(-q) / (1.0 - p)
    }
}

/// The quantile for a probability given by its logarithm, `normal_quantile(e^l)`, also where `e^l` underflows or rounds
/// to 1.
///
/// `∓inf` at `-inf` and 0; NaN above 0 and for NaN. In the tails by Halley's method on `log_normal_cdf(q) = l`, which is
/// concave and nearly a parabola; around `ln(1/2)` by `erfinv`.
pub fn normal_quantile_of_log(l: f64) -> f64 {
    if l < -1.4 {
        quantile_far_left(l)
    } else if l < -0.28 {
        // 2 e^l - 1
        SQRT_2 * erfinv(((l + LN_2) + LN_2_LOW).exp_m1())
    } else {
        -quantile_far_left((-l.exp_m1()).ln())
    }
}

/// The slope of [`normal_quantile_of_log`], `1 / h` at the quantile with `h` the ratio of density and distribution function.
pub fn normal_quantile_of_log_slope(l: f64) -> f64 {
    let q = normal_quantile_of_log(l);
    if l < -0.28 { 1.0 / hazard(q) } else { l.exp() / hazard(-q) / -l.exp_m1() }
}

/// The quantile for a logarithm of a probability of at most about 1/4.
fn quantile_far_left(l: f64) -> f64 {
    if l == f64::NEG_INFINITY {
        return l;
    }
    if l > 0.0 || l.is_nan() {
        return f64::NAN;
    }
    // From normal_cdf(q) = normal_pdf(q)/(-q) nearly: q^2 = -2l - ln(2 pi q^2), once from q^2 = -2l. In halves: 2l may
    // overflow.
    let half = -0.5 * l;
    let correction = 0.25 * (8.0 * PI).ln() + 0.25 * half.ln();
    let mut q = -2.0 * (half - correction).max(0.1).sqrt();
    for _ in 0..5 {
        let (h, u) = (hazard(q), if q < -0.5 { excess(q) } else { q + hazard(q) });
        // Beyond the reach of squares the first guess is right.
        let step = (log_normal_cdf(0, q) - l) / h;
        if !step.is_finite() || step == 0.0 {
            break;
        }
        q -= step / (1.0 + 0.5 * step * u);
    }
    q
}
