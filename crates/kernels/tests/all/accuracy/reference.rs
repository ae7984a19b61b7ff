//! Reference values with about 100 bits, in double-double arithmetic.
//!
//! Written as plainly as possible and by other formulas than the kernels: Taylor series and
//! corrections of the standard library's value. The golden table, computed with
//! mpmath, checks these functions in turn.

use std::f64::consts::{FRAC_2_PI, LOG2_E};
use std::ops::{Add, Div, Mul, Neg, Sub};
use std::sync::LazyLock;

/// The unevaluated sum of two numbers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Dd {
    pub(crate) hi: f64,
    pub(crate) lo: f64,
}

/// The value `value * 2^exponent`, so that it may be below or above the range of numbers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Exact {
    pub(crate) value: Dd,
    pub(crate) exponent: i32,
}

const LN_2: Dd = Dd { hi: std::f64::consts::LN_2, lo: 2.3190468138462996e-17 };
const LN_2_THIRD: f64 = 5.707708438416212e-34;
const LN_10: Dd = Dd { hi: std::f64::consts::LN_10, lo: -2.1707562233822494e-16 };
const PI: Dd = Dd { hi: std::f64::consts::PI, lo: 1.2246467991473532e-16 };
const HALF_PI: [f64; 3] = [std::f64::consts::FRAC_PI_2, 6.123233995736766e-17, -1.4973849048591698e-33];
const TWO_OVER_ROOT_PI: Dd = Dd { hi: std::f64::consts::FRAC_2_SQRT_PI, lo: 1.533545961316588e-17 };

/// `1/n!` for `n` up to 32.
static INVERSE_FACTORIALS: LazyLock<[Dd; 33]> = LazyLock::new(|| {
    let mut table = [dd(1.0); 33];
    for n in 1..table.len() {
        table[n] = table[n - 1] / dd(n as f64);
    }
    table
});

/// A number as a pair.
pub(crate) fn dd(x: f64) -> Dd {
    Dd { hi: x, lo: 0.0 }
}

/// `x * 2^n`, rounded once if the result is subnormal.
pub(crate) fn ldexp(x: f64, n: i32) -> f64 {
    let mut x = x;
    let mut n = n;
    while n > 1000 {
        x *= 2f64.powi(1000);
        n -= 1000;
    }
    // Going down, the last step must be the one that may round.
    while n < -1000 {
        x *= 2f64.powi(-900);
        n += 900;
    }
    x * 2f64.powi(n)
}

/// The exponent of a nonzero finite number: `2^e <= |x| < 2^(e+1)`.
pub(crate) fn exponent_of(x: f64) -> i32 {
    let lifted = x.abs() < f64::MIN_POSITIVE;
    let bits = (if lifted { x * 2f64.powi(60) } else { x }).abs().to_bits();
    (bits >> 52) as i32 - 1023 - if lifted { 60 } else { 0 }
}

fn two_sum(a: f64, b: f64) -> Dd {
    let hi = a + b;
    let a_part = hi - b;
    let b_part = hi - a_part;
    Dd { hi, lo: (a - a_part) + (b - b_part) }
}

fn quick_two_sum(a: f64, b: f64) -> Dd {
    let hi = a + b;
    Dd { hi, lo: b - (hi - a) }
}

fn two_product(a: f64, b: f64) -> Dd {
    let hi = a * b;
    Dd { hi, lo: a.mul_add(b, -hi) }
}

impl Add for Dd {
    type Output = Dd;
    fn add(self, other: Dd) -> Dd {
        let s = two_sum(self.hi, other.hi);
        let t = two_sum(self.lo, other.lo);
        let s = quick_two_sum(s.hi, s.lo + t.hi);
        quick_two_sum(s.hi, s.lo + t.lo)
    }
}

impl Neg for Dd {
    type Output = Dd;
    fn neg(self) -> Dd {
        Dd { hi: -self.hi, lo: -self.lo }
    }
}

impl Sub for Dd {
    type Output = Dd;
    fn sub(self, other: Dd) -> Dd {
        self + -other
    }
}

impl Mul for Dd {
    type Output = Dd;
    fn mul(self, other: Dd) -> Dd {
        let p = two_product(self.hi, other.hi);
        quick_two_sum(p.hi, p.lo + (self.hi * other.lo + self.lo * other.hi))
    }
}

impl Div for Dd {
    type Output = Dd;
    fn div(self, other: Dd) -> Dd {
        let first = self.hi / other.hi;
        let rest = self - other * dd(first);
        let second = rest.hi / other.hi;
        let rest = rest - other * dd(second);
        quick_two_sum(first, second) + dd(rest.hi / other.hi)
    }
}

impl Dd {
    /// The pair times `2^n`, exact unless it leaves the range.
    pub(crate) fn ldexp(self, n: i32) -> Dd {
        Dd { hi: ldexp(self.hi, n), lo: ldexp(self.lo, n) }
    }

    fn sqrt(self) -> Dd {
        if self.hi == 0.0 {
            return self;
        }
        let root = self.hi.sqrt();
        let rest = self - two_product(root, root);
        quick_two_sum(root, rest.hi / (2.0 * root))
    }

    fn exact(self) -> Exact {
        Exact { value: self, exponent: 0 }
    }
}

/// `k` and `e^r - 1` with `x = k ln 2 + r`.
fn reduced_expm1(x: Dd) -> (i32, Dd) {
    let k = (x.hi * LOG2_E).round();
    let r = (x - two_product(k, LN_2.hi)) - two_product(k, LN_2.lo);
    let r = (r - dd(k * LN_2_THIRD)).ldexp(-6);
    let table = &*INVERSE_FACTORIALS;
    let mut p = table[11];
    for n in (1..11).rev() {
        p = p * r + table[n];
    }
    p = p * r;
    // e^(2r) - 1 = (e^r - 1)(e^r + 1), six times.
    for _ in 0..6 {
        p = p * (p + dd(2.0));
    }
    (k as i32, p)
}

fn exp_dd(x: Dd) -> Exact {
    let (k, p) = reduced_expm1(x);
    Exact { value: p + dd(1.0), exponent: k }
}

pub(crate) fn exp(x: f64) -> Exact {
    exp_dd(dd(x))
}

pub(crate) fn exp2(x: f64) -> Exact {
    let k = x.round();
    let e = exp_dd(LN_2 * dd(x - k));
    Exact { value: e.value, exponent: e.exponent + k as i32 }
}

/// `e^x - 1` over `2^k`, and `k`.
pub(crate) fn expm1(x: f64) -> Exact {
    if x.abs() < 1e-100 {
        return dd(x).exact();
    }
    let (k, p) = reduced_expm1(dd(x));
    if k == 0 {
        return p.exact();
    }
    let minus = if k < -200 { dd(-1.0) } else { p + dd(1.0) - dd(ldexp(1.0, -k)) };
    Exact { value: minus, exponent: if k < -200 { 0 } else { k } }
}

pub(crate) fn sinh(x: f64) -> Exact {
    if x.abs() < 1e-100 {
        return dd(x).exact();
    }
    let e = expm1(x.abs());
    let half = if e.exponent > 200 {
        e.value
    } else {
        let whole = e.value.ldexp(e.exponent);
        (whole + whole / (whole + dd(1.0))).ldexp(-e.exponent)
    };
    let value = if x < 0.0 { -half } else { half };
    Exact { value, exponent: e.exponent - 1 }
}

pub(crate) fn cosh(x: f64) -> Exact {
    let e = exp(x.abs());
    let inverse = (dd(1.0) / e.value).ldexp(-2 * e.exponent);
    Exact { value: e.value + inverse, exponent: e.exponent - 1 }
}

pub(crate) fn tanh(x: f64) -> Exact {
    if x.abs() < 1e-100 {
        return dd(x).exact();
    }
    let e = expm1(2.0 * x.abs().min(60.0));
    let whole = e.value.ldexp(e.exponent);
    let value = whole / (whole + dd(2.0));
    (if x < 0.0 { -value } else { value }).exact()
}

pub(crate) fn sigmoid(x: f64) -> Exact {
    let e = exp(-x.abs());
    let total = e.value.ldexp(e.exponent) + dd(1.0);
    if x >= 0.0 { (dd(1.0) / total).exact() } else { Exact { value: e.value / total, exponent: e.exponent } }
}

pub(crate) fn softplus(x: f64) -> Exact {
    let e = exp(-x.abs());
    if x < -80.0 {
        return e;
    }
    let tail = log1p_dd(e.value.ldexp(e.exponent));
    (if x > 0.0 { tail + dd(x) } else { tail }).exact()
}

/// `2 artanh(f / (2 + f))` by its series, for small `f`.
fn log1p_series(f: Dd) -> Dd {
    let s = f / (f + dd(2.0));
    let z = s * s;
    let mut sum = dd(0.0);
    for n in (0..9).rev() {
        sum = sum * z + dd(1.0) / dd(f64::from(2 * n + 1));
    }
    (s * sum).ldexp(1)
}

/// The standard library's value and two terms of Newton's correction.
fn ln_dd(x: Dd) -> Dd {
    let near = x - dd(1.0);
    if near.hi.abs() < 0.01 {
        return log1p_series(near);
    }
    let first = x.hi.ln();
    let e = exp(-first);
    // Undo the exponent of x first: the product may leave the range.
    let k = exponent_of(x.hi);
    let off = (x.ldexp(-k) * e.value).ldexp(e.exponent + k) - dd(1.0);
    dd(first) + (off - (off * off).ldexp(-1))
}

fn log1p_dd(x: Dd) -> Dd {
    if x.hi.abs() < 0.01 { log1p_series(x) } else { ln_dd(x + dd(1.0)) }
}

pub(crate) fn ln(x: f64) -> Exact {
    ln_dd(dd(x)).exact()
}

pub(crate) fn log1p(x: f64) -> Exact {
    if x.abs() < 1e-200 {
        return dd(x).exact();
    }
    log1p_dd(dd(x)).exact()
}

pub(crate) fn log2(x: f64) -> Exact {
    (ln_dd(dd(x)) / LN_2).exact()
}

pub(crate) fn log10(x: f64) -> Exact {
    (ln_dd(dd(x)) / LN_10).exact()
}

/// Sine and cosine of `r`, for `|r| < 0.8`, by Taylor's series.
fn sin_cos_series(r: Dd) -> (Dd, Dd) {
    let z = -(r * r);
    let table = &*INVERSE_FACTORIALS;
    let (mut sin, mut cos) = (table[29], table[28]);
    for n in (0..14).rev() {
        sin = sin * z + table[2 * n + 1];
        cos = cos * z + table[2 * n];
    }
    (sin * r, cos)
}

/// Sine and cosine, for `|x|` up to a million.
fn sin_cos_dd(x: f64) -> (Dd, Dd) {
    let k = (x * FRAC_2_PI).round();
    let mut r = dd(x);
    for part in HALF_PI {
        r = r - two_product(k, part);
    }
    let (sin, cos) = sin_cos_series(r);
    match (k as i64).rem_euclid(4) {
        0 => (sin, cos),
        1 => (cos, -sin),
        2 => (-sin, -cos),
        _ => (-cos, sin),
    }
}

pub(crate) fn sin(x: f64) -> Exact {
    if x.abs() < 1e-100 { dd(x).exact() } else { sin_cos_dd(x).0.exact() }
}

pub(crate) fn cos(x: f64) -> Exact {
    sin_cos_dd(x).1.exact()
}

pub(crate) fn tan(x: f64) -> Exact {
    let (sin, cos) = sin_cos_dd(x);
    if x.abs() < 1e-100 { dd(x).exact() } else { (sin / cos).exact() }
}

/// The angle of `(x, y)`: the standard library's, turned back by the sine of what is left.
fn angle(y: Dd, x: Dd) -> Dd {
    let first = y.hi.atan2(x.hi);
    let (sin, cos) = sin_cos_dd(first);
    // The cross product of two vectors, the second of length one.
    let off = (y * cos - x * sin) / (x * cos + y * sin);
    dd(first) + off
}

pub(crate) fn atan(x: f64) -> Exact {
    if x.abs() < 1e-100 {
        return dd(x).exact();
    }
    if x.abs() > 1e100 {
        return (PI.ldexp(-1) * dd(x.signum())).exact();
    }
    angle(dd(x), dd(1.0)).exact()
}

pub(crate) fn atan2(y: f64, x: f64) -> Exact {
    let (ey, ex) = (exponent_of(y), exponent_of(x));
    if ex - ey > 60 && x > 0.0 {
        // The difference to the quotient is its cube.
        let value = dd(ldexp(y, -ey)) / dd(ldexp(x, -ex));
        return Exact { value, exponent: ey - ex };
    }
    let top = ex.max(ey);
    angle(dd(ldexp(y, -top)), dd(ldexp(x, -top))).exact()
}

/// `sqrt(1 - x^2)`.
fn complement(x: f64) -> Dd {
    ((dd(1.0) - dd(x)) * (dd(1.0) + dd(x))).sqrt()
}

pub(crate) fn asin(x: f64) -> Exact {
    if x.abs() < 1e-100 { dd(x).exact() } else { angle(dd(x), complement(x)).exact() }
}

pub(crate) fn acos(x: f64) -> Exact {
    angle(complement(x), dd(x)).exact()
}

pub(crate) fn sqrt(x: f64) -> Exact {
    let half = exponent_of(x).div_euclid(2);
    Exact { value: dd(ldexp(x, -2 * half)).sqrt(), exponent: half }
}

/// The standard library's value and a step of Newton's method.
pub(crate) fn cbrt(x: f64) -> Exact {
    let third = exponent_of(x).div_euclid(3);
    let x = ldexp(x, -3 * third);
    let first = x.cbrt();
    let square = two_product(first, first);
    let off = (dd(x) - square * dd(first)) / (square * dd(3.0));
    Exact { value: dd(first) + off, exponent: third }
}

pub(crate) fn hypot(a: f64, b: f64) -> Exact {
    let large = a.abs().max(b.abs());
    if large == 0.0 {
        return dd(0.0).exact();
    }
    let top = exponent_of(large);
    let (p, q) = (ldexp(a, -top), ldexp(b, -top));
    Exact { value: (two_product(p, p) + two_product(q, q)).sqrt(), exponent: top }
}

/// For positive `x`.
pub(crate) fn pow(x: f64, y: f64) -> Exact {
    exp_dd(ln_dd(dd(x)) * dd(y))
}

/// Coefficients of `erf(x) / x` in `-x^2`: `2/sqrt(pi) / (n! (2n + 1))`.
static ERF_SERIES: LazyLock<[Dd; 30]> =
    LazyLock::new(|| std::array::from_fn(|n| TWO_OVER_ROOT_PI * INVERSE_FACTORIALS[n] / dd(2.0 * n as f64 + 1.0)));

/// By Taylor's series, for `|x|` up to one.
fn erf_series(x: Dd) -> Dd {
    let z = -(x * x);
    let mut sum = dd(0.0);
    for &c in ERF_SERIES.iter().rev() {
        sum = sum * z + c;
    }
    sum * x
}

/// Step of the trapezoidal rule below; its error is about `e^(-pi^2/h^2)`, or 2e-34.
const STEP: f64 = 0.359375;

/// `e^(-k^2 h^2)` for `k` from one.
static TRAPEZOID: LazyLock<[Dd; 25]> = LazyLock::new(|| {
    std::array::from_fn(|k| {
        let node = (k + 1) as f64 * STEP;
        let e = exp_dd(-two_product(node, node));
        e.value.ldexp(e.exponent)
    })
});

/// For `x >= 1/2`, by the trapezoidal rule (Chiarella and Reichel, "On the evaluation of
/// integrals related to the error function", 1968): `h x e^(-x^2) / pi` times
/// `1/x^2 + 2 sum of e^(-k^2 h^2) / (k^2 h^2 + x^2)`, minus the residue of a pole for small `x`.
fn erfc_large(x: Dd) -> Exact {
    let square = x * x;
    let mut sum = dd(1.0) / square.ldexp(1);
    for (k, &weight) in TRAPEZOID.iter().enumerate() {
        let node = (k + 1) as f64 * STEP;
        sum = sum + weight / (square + two_product(node, node));
    }
    let e = exp_dd(-square);
    let value = e.value * sum.ldexp(1) * x * dd(STEP) / PI;
    if x.hi > std::f64::consts::PI / STEP {
        return Exact { value, exponent: e.exponent };
    }
    let pole = exp_dd(PI * x * dd(2.0) / dd(STEP));
    let pole = dd(2.0) / (pole.value.ldexp(pole.exponent) - dd(1.0));
    (value.ldexp(e.exponent) - pole).exact()
}

pub(crate) fn erf(x: f64) -> Exact {
    if x.abs() < 1e-100 {
        // The cube is too small to matter; the product must not lose its second half.
        let exponent = exponent_of(x);
        return Exact { value: TWO_OVER_ROOT_PI * dd(ldexp(x, -exponent)), exponent };
    }
    if x.abs() < 0.75 {
        return erf_series(dd(x)).exact();
    }
    let e = erfc_large(dd(x.abs()));
    let value = dd(1.0) - e.value.ldexp(e.exponent);
    (if x < 0.0 { -value } else { value }).exact()
}

fn erfc_dd(x: Dd) -> Exact {
    if x.hi > 0.75 {
        erfc_large(x)
    } else if x.hi < -0.75 {
        let e = erfc_large(-x);
        (dd(2.0) - e.value.ldexp(e.exponent)).exact()
    } else {
        (dd(1.0) - erf_series(x)).exact()
    }
}

pub(crate) fn erfc(x: f64) -> Exact {
    erfc_dd(dd(x))
}

/// A step of Newton's method from a double near it, which doubles the digits.
pub(crate) fn erfinv(x: f64) -> Exact {
    let (a, root) = (x.abs(), PI.sqrt() * dd(0.5));
    if a < 1e-100 {
        return times(x, root, 0);
    }
    let y = wengert_kernels::special::erfinv(a);
    let whole = |e: Exact| e.value.ldexp(e.exponent);
    let far = || dd(1.0) - dd(a) - whole(erfc_large(dd(y)));
    let residual = if y < 0.75 { erf_series(dd(y)) - dd(a) } else { far() };
    let value = dd(y) - residual * root * whole(exp_dd(two_product(y, y)));
    (if x < 0.0 { -value } else { value }).exact()
}

pub(crate) fn gelu_erf(x: f64) -> Exact {
    let e = erfc_dd(-(dd(x) / dd(2.0).sqrt()));
    times(x, e.value, e.exponent - 1)
}

/// `x value 2^exponent`; the product of pairs must not underflow.
fn times(x: f64, value: Dd, exponent: i32) -> Exact {
    if x == 0.0 {
        return dd(0.0).exact();
    }
    let top = exponent_of(x);
    Exact { value: dd(ldexp(x, -top)) * value, exponent: exponent + top }
}

/// `x / (1 + e^-w)`.
fn times_sigmoid(x: f64, w: Dd) -> Exact {
    let right = w.hi >= 0.0;
    let e = exp_dd(if right { -w } else { w });
    let total = e.value.ldexp(e.exponent) + dd(1.0);
    if right { times(x, dd(1.0) / total, 0) } else { times(x, e.value / total, e.exponent) }
}

pub(crate) fn silu(x: f64) -> Exact {
    times_sigmoid(x, dd(x))
}

pub(crate) fn gelu_tanh(x: f64) -> Exact {
    let slope = (dd(8.0) / PI).sqrt();
    let cubic = dd(44715.0) / dd(1e6) * two_product(x, x);
    // Below 1e-100 only the first summand counts, and its product would underflow.
    let w = if x.abs() < 1e-100 { dd(x) } else { slope * dd(x) * (cubic + dd(1.0)) };
    times_sigmoid(x, w)
}

/// `s (1 + x w' t)` with `s = 1 / (1 + e^-w)` and `t = 1 / (1 + e^w)`.
pub(crate) fn gelu_tanh_slope(x: f64) -> Exact {
    let scale = (dd(8.0) / PI).sqrt();
    let cubic = dd(44715.0) / dd(1e6) * two_product(x, x);
    let w = scale * dd(x) * (cubic + dd(1.0));
    let e = exp_dd(if w.hi >= 0.0 { -w } else { w });
    let small = e.value.ldexp(e.exponent);
    let total = small + dd(1.0);
    let factor = |t: Dd| dd(1.0) + dd(x) * scale * (cubic * dd(3.0) + dd(1.0)) * t;
    if w.hi >= 0.0 {
        (factor(small / total) / total).exact()
    } else {
        Exact { value: factor(dd(1.0) / total) * e.value / total, exponent: e.exponent }
    }
}

/// `4 e / (1 + e)^2` with `e = e^-2|x|`.
pub(crate) fn sech2(x: f64) -> Exact {
    let e = exp_dd(dd(-2.0 * x.abs()));
    let total = e.value.ldexp(e.exponent) + dd(1.0);
    Exact { value: e.value / (total * total), exponent: e.exponent + 2 }
}

/// `ln(1 + t)` where `t` may be of any size.
fn log1p_any(t: Dd) -> Dd {
    if t.hi > 1e30 { ln_dd(t) } else { log1p_dd(t) }
}

pub(crate) fn asinh(x: f64) -> Exact {
    let a = x.abs();
    if a < 1e-100 {
        return dd(x).exact();
    }
    let value = if a > 1e100 {
        ln_dd(dd(a)) + LN_2
    } else {
        let root = (two_product(a, a) + dd(1.0)).sqrt();
        log1p_any(dd(a) + two_product(a, a) / (root + dd(1.0)))
    };
    (if x < 0.0 { -value } else { value }).exact()
}

pub(crate) fn acosh(x: f64) -> Exact {
    if x > 1e100 {
        return (ln_dd(dd(x)) + LN_2).exact();
    }
    let t = dd(x) - dd(1.0);
    log1p_any(t + (t * (t + dd(2.0))).sqrt()).exact()
}

pub(crate) fn atanh(x: f64) -> Exact {
    let a = x.abs();
    if a < 1e-100 {
        return dd(x).exact();
    }
    let value = log1p_any(dd(2.0 * a) / (dd(1.0) - dd(a))).ldexp(-1);
    (if x < 0.0 { -value } else { value }).exact()
}

pub(crate) fn logaddexp(x: f64, y: f64) -> Exact {
    let high = dd(x.max(y));
    let e = exp_dd(dd(x.min(y)) - high);
    // A tail too small to be seen; its pair would underflow.
    if e.exponent < -900 {
        return high.exact();
    }
    (high + log1p_dd(e.value.ldexp(e.exponent))).exact()
}

/// For nonzero `x` and positive `y`.
pub(crate) fn xlogy(x: f64, y: f64) -> Exact {
    times(x, ln_dd(dd(y)), 0)
}
