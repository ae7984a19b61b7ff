//! Pairs of numbers that carry twice the digits, without fused multiply-add.
//!
//! Sums and products of two numbers are split into the rounded result and what rounding
//! lost (Dekker, "A floating-point technique for extending the available precision", 1971;
//! Knuth, The Art of Computer Programming, volume 2, section 4.2.2; Møller 1965).
//! Hardware with fused multiply-add would need fewer operations for the product, but then
//! either the results or the speed would depend on the machine.

/// The unevaluated sum `hi + lo`, with `|lo|` at most about half a unit in the last place
/// of `hi`.
#[derive(Clone, Copy)]
pub(crate) struct Double {
    pub(crate) hi: f64,
    pub(crate) lo: f64,
}

/// `a + b` without error, if `|a| >= |b|` or `a` is zero.
#[inline(always)]
pub(crate) fn fast_two_sum(a: f64, b: f64) -> Double {
    let hi = a + b;
    Double { hi, lo: b - (hi - a) }
}

/// `a + b` without error, for any finite numbers whose sum does not overflow.
#[inline(always)]
pub(crate) fn two_sum(a: f64, b: f64) -> Double {
    let hi = a + b;
    let a_part = hi - b;
    let b_part = hi - a_part;
    Double { hi, lo: (a - a_part) + (b - b_part) }
}

/// The number without its last 27 bits: what remains has 26, so products of such are exact.
#[inline(always)]
pub(crate) fn upper_half(a: f64) -> f64 {
    f64::from_bits(a.to_bits() & 0xffff_ffff_f800_0000)
}

/// `a * b` with a relative error of at most 2^-103, where nothing underflows or overflows.
///
/// The lower halves have 27 bits, so their product, below 2^-50 of the whole, may be rounded
/// by 2^-104; the classical splitting has 26 by using the sign, at twice the operations.
#[inline(always)]
pub(crate) fn two_product(a: f64, b: f64) -> Double {
    let hi = a * b;
    let (a_up, b_up) = (upper_half(a), upper_half(b));
    let (a_low, b_low) = (a - a_up, b - b_up);
    let lo = ((a_up * b_up - hi) + a_up * b_low + a_low * b_up) + a_low * b_low;
    Double { hi, lo }
}

/// `a^2` with a relative error of at most 2^-103, where nothing underflows or overflows.
#[inline(always)]
pub(crate) fn square(a: f64) -> Double {
    let hi = a * a;
    let up = upper_half(a);
    let low = a - up;
    let lo = ((up * up - hi) + 2.0 * (up * low)) + low * low;
    Double { hi, lo }
}

impl Double {
    /// The product, with a relative error of about 2^-102.
    #[inline(always)]
    pub(crate) fn times(self, other: Double) -> Double {
        let p = two_product(self.hi, other.hi);
        fast_two_sum(p.hi, p.lo + (self.hi * other.lo + self.lo * other.hi))
    }

    /// The quotient `self / other`, with a relative error of about 2^-100.
    ///
    /// `other` must be neither zero nor so large that its reciprocal is subnormal.
    #[inline(always)]
    pub(crate) fn over(self, other: Double) -> Double {
        let (q, rest) = self.divided(other, 1.0 / other.hi);
        fast_two_sum(q, rest)
    }

    /// The same, rounded to one number.
    #[inline(always)]
    pub(crate) fn quotient(self, other: Double) -> f64 {
        self.over_about(other, 1.0 / other.hi)
    }

    /// The quotient rounded to one number, given the reciprocal of `other` to a few units in the last place.
    #[inline(always)]
    pub(crate) fn over_about(self, other: Double, reciprocal: f64) -> f64 {
        let (q, rest) = self.divided(other, reciprocal);
        q + rest
    }

    /// The quotient to a few units in the last place, and what is missing.
    #[inline(always)]
    fn divided(self, other: Double, reciprocal: f64) -> (f64, f64) {
        let q = self.hi * reciprocal;
        let p = two_product(q, other.hi);
        let rest = ((self.hi - p.hi) - p.lo) + (self.lo - q * other.lo);
        (q, rest * reciprocal)
    }

    /// The pair rounded to one number.
    #[inline(always)]
    pub(crate) fn sum(self) -> f64 {
        self.hi + self.lo
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A plain generator of numbers with random bits and exponents from -20 to 20.
    fn numbers() -> Vec<f64> {
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            state >> 11
        };
        (0..2000)
            .map(|_| {
                let mantissa = 1.0 + next() as f64 * 2f64.powi(-53);
                let exponent = (next() % 41) as i32 - 20;
                let sign = if next() % 2 == 0 { 1.0 } else { -1.0 };
                sign * mantissa * 2f64.powi(exponent)
            })
            .collect()
    }

    #[test]
    fn sums_are_exact() {
        // The lost part of a sum is itself a number; the sum the other way round has the
        // same one, and taking the parts away again leaves nothing.
        let x = numbers();
        for (&a, &b) in x.iter().zip(&x[1..]) {
            let s = two_sum(a, b);
            let (large, small) = if a.abs() >= b.abs() { (a, b) } else { (b, a) };
            let fast = fast_two_sum(large, small);
            assert_eq!((s.hi, s.lo), (fast.hi, fast.lo));
            assert_eq!((s.hi - large) + s.lo, small);
        }
    }

    #[test]
    fn products_agree_with_fused_multiply_add() {
        let x = numbers();
        for (&a, &b) in x.iter().zip(&x[1..]) {
            let p = two_product(a, b);
            let exact = a.mul_add(b, -p.hi);
            assert!((p.lo - exact).abs() <= p.hi.abs() * 2f64.powi(-103), "{a:e} {b:e}");
            let s = square(a);
            let exact = a.mul_add(a, -s.hi);
            assert!((s.lo - exact).abs() <= s.hi.abs() * 2f64.powi(-103), "{a:e}");
        }
    }

    #[test]
    fn quotients_times_divisors_give_back_the_dividend() {
        let x = numbers();
        for w in x.windows(2) {
            let n = Double { hi: w[0], lo: w[0] * 2f64.powi(-55) };
            let d = Double { hi: w[1], lo: -w[1] * 2f64.powi(-56) };
            let back = n.over(d).times(d);
            let gap = (back.hi - n.hi) + (back.lo - n.lo);
            assert!(gap.abs() <= n.hi.abs() * 2f64.powi(-97), "{:e} {:e}", w[0], w[1]);
            assert_eq!(n.quotient(d), n.over(d).sum());
        }
    }
}
