//! The logarithm of the beta function and its derivatives, differences of polygamma functions.

use super::gamma::lgamma;

/// `B_2k` for `k` from 1 to 10.
const BERNOULLI: [f64; 10] = [
    1.0 / 6.0,
    -1.0 / 30.0,
    1.0 / 42.0,
    -1.0 / 30.0,
    5.0 / 66.0,
    -691.0 / 2730.0,
    7.0 / 6.0,
    -3617.0 / 510.0,
    43867.0 / 798.0,
    -174611.0 / 330.0,
];

/// From here on Stirling's series has all digits.
const LARGE: f64 = 10.0;

/// `ln(2 pi) / 2`.
const HALF_LN_TAU: f64 = 0.9189385332046727;

/// The logarithm of the beta function.
///
/// `betaln(x, y) = ln Gamma(x) + ln Gamma(y) - ln Gamma(x + y)` for positive `x` and `y`; `inf` where one is 0, `-inf` where one
/// is infinite; NaN for negative ones, and if either is NaN. Where an argument is large, the logarithms cancel; there it is
/// Stirling's formula with the large terms cancelled by hand (A. R. DiDonato and A. H. Morris, algorithm 708, 1992).
/// Tested: within 1e-14 of the larger of 1 and the value; the value is 0 along a curve through (1, 1).
pub fn betaln(x: f64, y: f64) -> f64 {
    let (a, b) = if x < y { (x, y) } else { (y, x) };
    if x.is_nan() || y.is_nan() || a < 0.0 {
        return f64::NAN;
    }
    if a == 0.0 {
        return if b == f64::INFINITY { f64::NAN } else { f64::INFINITY };
    }
    if b == f64::INFINITY {
        return f64::NEG_INFINITY;
    }
    if b < LARGE {
        return lgamma(a) + lgamma(b) - lgamma(a + b);
    }
    let sum = a + b;
    let drop = stirling(b) - stirling(sum);
    if a < LARGE {
        // ln Gamma(b) - ln Gamma(a + b)
        return lgamma(a) + (drop + a - (sum - 0.5) * (a / b).ln_1p() - a * b.ln());
    }
    HALF_LN_TAU - 0.5 * b.ln() + (stirling(a) + drop) - (a - 0.5) * (b / a).ln_1p() - b * (a / b).ln_1p()
}

/// `ln Gamma(x) - ((x - 1/2) ln x - x + ln(2 pi)/2)` for large `x`: the sum of `B_2k / (2k (2k-1) x^(2k-1))`, Abramowitz and
/// Stegun 6.1.41.
fn stirling(x: f64) -> f64 {
    let t = 1.0 / x;
    let coefficient = |k: usize| BERNOULLI[k - 1] / ((2 * k) * (2 * k - 1)) as f64;
    t * (1..=8).rev().fold(0.0, |sum, k| coefficient(k) + sum * t * t)
}

/// `polygamma(n, x) - polygamma(n, x + y)` for positive `x` and `y`, without cancellation.
///
/// By `polygamma(n, x) = polygamma(n, x + 1) -/+ n! / x^(n+1)` up to where the asymptotic series (Abramowitz and Stegun 6.3.18
/// and 6.4.11) has all digits, and then term by term: the difference of two powers is
/// `x^-m - (x + y)^-m = -x^-m expm1(-m log1p(y/x))`, and all terms but small ones have one sign.
/// NaN for negative arguments and if either is NaN.
pub fn polygamma_drop(n: u32, x: f64, y: f64) -> f64 {
    if x.is_nan() || y.is_nan() || x < 0.0 || y < 0.0 {
        return f64::NAN;
    }
    let factorial = |m: u32| (1..=m).map(f64::from).product::<f64>();
    // x^-m - (x + y)^-m
    let power = |x: f64, m: f64| -x.powf(-m) * (-m * (y / x).ln_1p()).exp_m1();
    let (mut at, mut shifts) = (x, 0.0);
    while at < LARGE + f64::from(n) {
        shifts += power(at, f64::from(n) + 1.0);
        at += 1.0;
    }
    let order = f64::from(n);
    // (2k+n-1)! / (2k)! B_2k
    let rest = (1..=BERNOULLI.len()).rev().fold(0.0, |sum, k| {
        let k2 = (2 * k) as f64;
        let rising: f64 = if n == 0 { 1.0 / k2 } else { (1..n).map(|j| k2 + f64::from(j)).product() };
        sum + BERNOULLI[k - 1] * rising * power(at, k2 + order)
    });
    let leading = if n == 0 { (y / at).ln_1p() } else { factorial(n - 1) * power(at, order) };
    let sign = if n.is_multiple_of(2) { -1.0 } else { 1.0 };
    sign * (leading + (0.5 * factorial(n) * power(at, order + 1.0) + rest) + factorial(n) * shifts)
}
