//! The functions of a complex number, each written once over [`Real`].
//!
//! Formulas and branch cuts are those of W. Kahan, *Branch cuts for complex elementary functions, or much ado about nothing's
//! sign bit*, 1987, as C99 has them: on a cut the sign of a zero says which side is meant. A sign that is taken from a number
//! is flat, so that derivatives on a cut are those of the side.

use std::f64::consts::FRAC_PI_2;

use super::Complex;
use crate::ops::Compare;
use crate::real::{Real, lit};

/// Where sums of squares near 1 are taken from 1 before they are added, as that of a product.
const AROUND_ONE: [f64; 2] = [0.7, 1.4];

/// Below the first and above the last of these the parts of a number are scaled before halves of them are taken and added.
const SMALL_OR_LARGE: [f64; 2] = [1e-290, 1e300];

/// A part from which on `atanh z` is `±i pi/2 + 1/z`: the next term, `1/(3 z^3)`, is below half a unit in the last place, of
/// the value and of its derivatives.
const FAR: f64 = 1e9;

/// Below this both parts of a number are small: inverse functions are series there. Formulas have the derivatives that vanish at
/// 0 as differences of equal numbers.
const SMALL: f64 = 1.0 / 32.0;

/// The coefficients of `z, z^3, ... z^17` in `asin z`; the next term is below 1e-22 of the first, and 1e-18 in second derivatives.
const ASIN: [f64; 9] = [
    1.0,
    1.0 / 6.0,
    3.0 / 40.0,
    5.0 / 112.0,
    35.0 / 1152.0,
    63.0 / 2816.0,
    231.0 / 13312.0,
    143.0 / 10240.0,
    6435.0 / 557_056.0,
];

/// The coefficients of `z, z^3, ... z^17` in `atanh z`.
const ATANH: [f64; 9] =
    [1.0, 1.0 / 3.0, 1.0 / 5.0, 1.0 / 7.0, 1.0 / 9.0, 1.0 / 11.0, 1.0 / 13.0, 1.0 / 15.0, 1.0 / 17.0];

impl<R: Real> Complex<R> {
    /// A number that nothing is differentiated by.
    #[must_use]
    pub fn constant(re: f64, im: f64) -> Self {
        Complex { re: R::constant(re), im: R::constant(im) }
    }

    /// The imaginary unit.
    #[must_use]
    pub fn i() -> Self {
        Complex::constant(0.0, 1.0)
    }

    /// `r e^(i angle)`
    #[track_caller]
    #[must_use]
    pub fn from_polar(r: R, angle: R) -> Self {
        Complex { re: r * angle.cos(), im: r * angle.sin() }
    }

    /// The conjugate, `re - i im`.
    #[track_caller]
    #[must_use]
    pub fn conj(self) -> Self {
        Complex { re: self.re, im: -self.im }
    }

    /// `|z|^2 = re^2 + im^2`
    #[track_caller]
    #[must_use]
    pub fn norm_sqr(self) -> R {
        self.re.square() + self.im.square()
    }

    /// `|z|`, without overflow or underflow in between. Its derivative at 0 is 0 by convention.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let g = grad(Complex::new(3.0, 4.0), |z| z.abs());
    /// assert!((g.re - 0.6).abs() < 1e-15 && (g.im - 0.8).abs() < 1e-15);
    /// assert_eq!(grad(Complex::new(0.0, 0.0), |z| z.abs()), Complex::new(0.0, 0.0));
    /// assert_eq!(Complex::new(3e300, 4e300).abs(), 5e300);
    /// ```
    #[track_caller]
    #[must_use]
    pub fn abs(self) -> R {
        R::branch(self.is_zero(), || R::constant(0.0), || self.re.hypot(self.im))
    }

    /// The angle from the positive real axis, in `[-pi, pi]`; on the negative real axis it has the sign of the imaginary
    /// part, also where that is 0 or -0. 0 or pi at 0, where it has no derivative.
    #[track_caller]
    #[must_use]
    pub fn arg(self) -> R {
        self.im.atan2(self.re)
    }

    /// `z^2`
    #[track_caller]
    #[must_use]
    pub fn square(self) -> Self {
        Complex { re: (self.re - self.im) * (self.re + self.im), im: self.re * self.im * 2.0 }
    }

    /// `1 / z`; NaN at 0.
    #[track_caller]
    #[must_use]
    pub fn recip(self) -> Self {
        Complex::constant(1.0, 0.0) / self
    }

    /// `e^re (cos im + i sin im)`
    #[track_caller]
    #[must_use]
    pub fn exp(self) -> Self {
        Self::from_polar(self.re.exp(), self.im)
    }

    /// The principal logarithm, `ln |z| + i arg z`, cut along the negative real axis. `-inf + i arg z` at 0.
    ///
    /// ```
    /// use wengert::Complex;
    /// // |z| - 1 = 5e-21, which the root of a sum of squares does not show.
    /// let y = Complex::new(1.0, 1e-10).ln();
    /// assert!((y.re / 5e-21 - 1.0).abs() < 1e-15 && y.im == 1e-10);
    /// ```
    #[track_caller]
    #[must_use]
    pub fn ln(self) -> Self {
        let size = self.re.hypot(self.im);
        let [from, to] = AROUND_ONE.map(R::constant);
        let near = size.compare(from, Compare::Gt) & size.compare(to, Compare::Lt);
        // |z|^2 - 1, from the larger part on.
        let beyond = |large: R, small: R| (large - 1.0) * (large + 1.0) + small.square();
        let flat = self.re.abs().compare(self.im.abs(), Compare::Ge);
        let around_one = || R::branch(flat, || beyond(self.re, self.im), || beyond(self.im, self.re)).log1p() * 0.5;
        Complex { re: R::branch(near, around_one, || size.ln()), im: self.arg() }
    }

    /// The square root with a real part that is not negative, cut along the negative real axis: there the imaginary part has
    /// the sign of that of z. Its derivative at 0 is infinite.
    ///
    /// ```
    /// use wengert::Complex;
    /// assert_eq!(Complex::new(-4.0, 0.0).sqrt(), Complex::new(0.0, 2.0));
    /// assert_eq!(Complex::new(-4.0, -0.0).sqrt(), Complex::new(0.0, -2.0));
    /// ```
    #[track_caller]
    #[must_use]
    pub fn sqrt(self) -> Self {
        let sign = sign_of(self.im);
        let right = self.re.compare(R::constant(0.0), Compare::Ge);
        let root = || {
            let (scale, back) = self.scale();
            let (re, im) = (self.re * scale, self.im * scale);
            // The larger part of the root by a sum without cancellation, the other from the imaginary part.
            let size = R::branch(right, || re, || -re);
            let large = (size * 0.5 + re.hypot(im) * 0.5).sqrt();
            let (large, small) = (large * back, im / large * 0.5 * back);
            Complex::branch(
                right,
                || Complex { re: large, im: small },
                || Complex { re: sign * small, im: sign * large },
            )
        };
        let origin = || Complex { re: (self.re + 0.0).sqrt(), im: sign * (sign * self.im).sqrt() };
        Complex::branch(self.is_zero(), origin, root)
    }

    /// A power of 4 that keeps halves and sums of the parts in range, and the inverse of its root.
    #[track_caller]
    fn scale(self) -> (R, R) {
        let [small, large] = SMALL_OR_LARGE.map(R::constant);
        let (re, im) = (self.re.abs(), self.im.abs());
        let is_small = re.compare(small, Compare::Lt) & im.compare(small, Compare::Lt);
        let is_large = re.compare(large, Compare::Gt) | im.compare(large, Compare::Gt);
        let choose = |[small, large]: [f64; 2]| {
            let rest = || R::branch(is_large, || R::constant(large), || R::constant(1.0));
            R::branch(is_small, || R::constant(small), rest)
        };
        (choose([2f64.powi(120), 0.0625]), choose([2f64.powi(-60), 4.0]))
    }

    /// `z^n` by repeated squaring, of `1/z` if n is negative; 1 for n = 0, also of 0.
    #[track_caller]
    #[must_use]
    pub fn powi(self, n: i32) -> Self {
        let mut rest = n.unsigned_abs();
        // The inverse first: a power that overflows has no inverse that can be told from 0 / 0.
        let base = if n < 0 { self.recip() } else { self };
        let (mut square, mut power): (Self, Option<Self>) = (base, None);
        while rest > 0 {
            if rest & 1 == 1 {
                power = Some(power.map_or(square, |power| power * square));
            }
            rest >>= 1;
            if rest > 0 {
                square = square.square();
            }
        }
        power.unwrap_or_else(|| Complex::constant(1.0, 0.0))
    }

    /// `z^p = |z|^p e^(i p arg z)` for a real number p, cut along the negative real axis; of a small integer as
    /// [`Complex::powi`]. Of 0 it is 0 if p > 0, with derivative 0.
    ///
    /// The derivative is formed from the power: where that leaves the range of the type, or is subnormal, the derivative is not to be
    /// relied on, though `p z^(p-1)` may be in range.
    #[track_caller]
    #[must_use]
    pub fn powf(self, p: f64) -> Self {
        if p == p.trunc() && p.abs() <= 64.0 {
            return self.powi(p as i32);
        }
        let angle = R::branch(self.is_zero(), || R::constant(0.0), || self.arg());
        Self::from_polar(self.abs().powf(p), angle * p)
    }

    /// `z^w = e^(w ln z)`, cut in z along the negative real axis. Of z = 0 it is 0 if the real part of w is positive, and 1 if w
    /// is 0, both with derivative 0. In the derivative as [`Complex::powf`].
    #[track_caller]
    #[must_use]
    pub fn powc(self, w: Self) -> Self {
        let of_zero = self.is_zero();
        let (vanishes, is_one) = (of_zero & R::constant(0.0).less(w.re), of_zero & w.is_zero());
        let rest = || Complex::branch(is_one, || Complex::constant(1.0, 0.0), || (w * self.ln()).exp());
        Complex::branch(vanishes, || Complex::constant(0.0, 0.0), rest)
    }

    /// `sin re cosh im + i cos re sinh im`
    #[track_caller]
    #[must_use]
    pub fn sin(self) -> Self {
        Complex { re: self.re.sin() * self.im.cosh(), im: self.re.cos() * self.im.sinh() }
    }

    /// `cos re cosh im - i sin re sinh im`
    #[track_caller]
    #[must_use]
    pub fn cos(self) -> Self {
        Complex { re: self.re.cos() * self.im.cosh(), im: -(self.re.sin() * self.im.sinh()) }
    }

    /// `sin z / cos z`; it does not overflow for large imaginary parts.
    #[track_caller]
    #[must_use]
    pub fn tan(self) -> Self {
        self.times_i().tanh().over_i()
    }

    /// `sinh re cos im + i cosh re sin im`
    #[track_caller]
    #[must_use]
    pub fn sinh(self) -> Self {
        Complex { re: self.re.sinh() * self.im.cos(), im: self.re.cosh() * self.im.sin() }
    }

    /// `cosh re cos im + i sinh re sin im`
    #[track_caller]
    #[must_use]
    pub fn cosh(self) -> Self {
        Complex { re: self.re.cosh() * self.im.cos(), im: self.re.sinh() * self.im.sin() }
    }

    /// `sinh z / cosh z`; it does not overflow for large real parts.
    #[track_caller]
    #[must_use]
    pub fn tanh(self) -> Self {
        // With T = tanh re, the numerator and denominator over cosh(re)^2: the latter is T^2 + (1 - T^2) cos(im)^2. Written as
        // cos^2 + T^2 sin^2 it would have a derivative by the imaginary part that is a difference of equal numbers for large T.
        let (cos, sin) = (self.im.cos(), self.im.sin());
        let (t, rest) = (self.re.tanh(), self.re.sech2());
        let below = t.square() + rest * cos.square();
        Complex { re: t / below, im: sin * cos * rest / below }
    }

    /// The arc sine with a real part in `[-pi/2, pi/2]`, cut along the real axis beyond -1 and 1.
    #[track_caller]
    #[must_use]
    pub fn asin(self) -> Self {
        let formula = || {
            let (below, above) = (self.one_minus().sqrt(), self.one_plus().sqrt());
            Complex { re: self.re.atan2((below * above).re), im: (below.re * above.im - below.im * above.re).asinh() }
        };
        Complex::branch(self.is_small(), || self.odd(&ASIN), formula)
    }

    /// The arc cosine with a real part in `[0, pi]`, cut along the real axis beyond -1 and 1.
    #[track_caller]
    #[must_use]
    pub fn acos(self) -> Self {
        let formula = || {
            let (below, above) = (self.one_minus().sqrt(), self.one_plus().sqrt());
            Complex { re: below.re.atan2(above.re) * 2.0, im: (above.re * below.im - above.im * below.re).asinh() }
        };
        Complex::branch(self.is_small(), || self.beside_quarter(), formula)
    }

    /// `acos z = pi/2 - asin z` of a small number.
    #[track_caller]
    fn beside_quarter(self) -> Self {
        let sine = self.odd(&ASIN);
        Complex { re: lit(FRAC_PI_2) - sine.re, im: -sine.im }
    }

    /// The arc tangent with a real part in `[-pi/2, pi/2]`, cut along the imaginary axis beyond -i and i.
    #[track_caller]
    #[must_use]
    pub fn atan(self) -> Self {
        self.times_i().atanh().over_i()
    }

    /// The inverse of `sinh`, cut along the imaginary axis beyond -i and i.
    #[track_caller]
    #[must_use]
    pub fn asinh(self) -> Self {
        self.times_i().asin().over_i()
    }

    /// The inverse of `cosh` with a real part that is not negative, cut along the real axis below 1.
    #[track_caller]
    #[must_use]
    pub fn acosh(self) -> Self {
        let formula = || {
            let (below, above) = (Complex { re: self.re - 1.0, im: self.im }.sqrt(), self.one_plus().sqrt());
            Complex { re: (below.re * above.re + below.im * above.im).asinh(), im: below.im.atan2(above.re) * 2.0 }
        };
        // `i acos z` from above the cut, and `-i acos z` from below.
        let series = || {
            let (sign, cosine) = (sign_of(self.im), self.beside_quarter());
            Complex { re: -(sign * cosine.im), im: sign * cosine.re }
        };
        Complex::branch(self.is_small(), series, formula)
    }

    /// The inverse of `tanh` with an imaginary part in `[-pi/2, pi/2]`, cut along the real axis beyond -1 and 1.
    #[track_caller]
    #[must_use]
    pub fn atanh(self) -> Self {
        // Mirrored to the right half-plane, so that ln1p is not taken near -1.
        let sign = sign_of(self.re);
        let right = sign * self.re;
        let far = right.compare(R::constant(FAR), Compare::Ge) | self.im.abs().compare(R::constant(FAR), Compare::Ge);
        let series = || {
            // i pi / 2 + 1/z, of whose squares none is taken.
            let inverse = Complex { re: right, im: self.im }.recip();
            // It is not negative, but the quotient may be -0: with the 0 it is 0.
            Complex { re: sign * (inverse.re + 0.0), im: R::constant(FRAC_PI_2).copysign(self.im) + inverse.im }
        };
        let formula = || {
            let off = lit(1.0) - right;
            let (distance, square) = (off.hypot(self.im), off.square() + self.im.square());
            // Near 1 the square of the distance may underflow, and is not divided by.
            let near = distance.less(R::constant(0.5));
            let re = R::branch(
                near,
                || (square + right * 4.0).ln() * 0.25 - distance.ln() * 0.5,
                || (right * 4.0 / square).log1p() * 0.25,
            );
            let angle = (self.im * 2.0).atan2(off * (right + 1.0) - self.im.square());
            Complex { re: sign * re, im: angle * 0.5 }
        };
        let rest = || Complex::branch(far, series, formula);
        Complex::branch(self.is_small(), || self.odd(&ATANH), rest)
    }

    #[track_caller]
    fn is_small(self) -> R::Mask {
        let small = R::constant(SMALL);
        self.re.abs().compare(small, Compare::Lt) & self.im.abs().compare(small, Compare::Lt)
    }

    /// `z (c_0 + c_1 z^2 + c_2 z^4 + ...)` by Horner's rule. Each part is written as itself times a number near `c_0`, so that
    /// zeros keep their signs.
    #[track_caller]
    fn odd(self, coefficients: &[f64]) -> Self {
        let (a, b) = (self.re.square(), self.im.square());
        let (flat, twice_a, twice_b) = (a - b, a * 2.0, b * 2.0);
        let (last, rest) = coefficients.split_last().expect("a series has terms");
        let of_last = (R::constant(*last), R::constant(*last));
        let (re, im) = rest
            .iter()
            .rev()
            .fold(of_last, |(re, im), &c| (flat * re - twice_b * im + c, flat * im + twice_a * re + c));
        Complex { re: self.re * re, im: self.im * im }
    }

    /// `yes()` where the mask holds, else `no()`.
    #[track_caller]
    pub(super) fn branch(mask: R::Mask, yes: impl FnOnce() -> Self, no: impl FnOnce() -> Self) -> Self {
        match crate::real::Mask::known(mask) {
            Some(true) => yes(),
            Some(false) => no(),
            None => {
                let (yes, no) = (yes(), no());
                Complex { re: R::select(mask, yes.re, no.re), im: R::select(mask, yes.im, no.im) }
            }
        }
    }

    #[track_caller]
    fn is_zero(self) -> R::Mask {
        self.re.equal(R::constant(0.0)) & self.im.equal(R::constant(0.0))
    }

    #[track_caller]
    fn times_i(self) -> Self {
        Complex { re: -self.im, im: self.re }
    }

    #[track_caller]
    fn over_i(self) -> Self {
        Complex { re: self.im, im: -self.re }
    }

    /// `1 - z`, where a zero of the imaginary part turns its sign too.
    #[track_caller]
    fn one_minus(self) -> Self {
        Complex { re: lit(1.0) - self.re, im: -self.im }
    }

    #[track_caller]
    fn one_plus(self) -> Self {
        Complex { re: self.re + 1.0, im: self.im }
    }
}

/// 1 or -1, also of zeros; flat.
#[track_caller]
fn sign_of<R: Real>(x: R) -> R {
    R::constant(1.0).copysign(x)
}

/// `z w`
#[track_caller]
pub(super) fn product<R: Real>(z: Complex<R>, w: Complex<R>) -> Complex<R> {
    Complex { re: z.re * w.re - z.im * w.im, im: z.re * w.im + z.im * w.re }
}

/// `z / w`, without overflow where the quotient does not (R. L. Smith, *Algorithm 116: complex division*, 1962).
#[track_caller]
pub(super) fn quotient<R: Real>(z: Complex<R>, w: Complex<R>) -> Complex<R> {
    let flat = w.re.abs().compare(w.im.abs(), Compare::Ge);
    Complex::branch(
        flat,
        || {
            let ratio = w.im / w.re;
            let below = w.re + w.im * ratio;
            Complex { re: (z.re + z.im * ratio) / below, im: (z.im - z.re * ratio) / below }
        },
        || {
            let ratio = w.re / w.im;
            let below = w.re * ratio + w.im;
            Complex { re: (z.re * ratio + z.im) / below, im: (z.im * ratio - z.re) / below }
        },
    )
}
