//! Polynomials with the scheme of Estrin (1960): halves are independent of each other.
//!
//! Horner's rule has the fewest roundings but is one long chain; a block of eight numbers is
//! one vector, so nothing else would fill the waiting. Coefficients ascend: `c[0]` first.
//! The functions take the powers that they share with their neighbours.

/// Degree 1.
#[inline(always)]
pub(crate) fn linear(x: f64, c0: f64, c1: f64) -> f64 {
    c0 + c1 * x
}

/// Degree 3, from four coefficients at `c[at..]`.
#[inline(always)]
fn cubic<const K: usize>(x: f64, x2: f64, c: &[f64; K], at: usize) -> f64 {
    linear(x, c[at], c[at + 1]) + x2 * linear(x, c[at + 2], c[at + 3])
}

/// Degree 7, from eight coefficients at `c[at..]`.
#[inline(always)]
fn septic<const K: usize>(x: f64, x2: f64, x4: f64, c: &[f64; K], at: usize) -> f64 {
    cubic(x, x2, c, at) + x4 * cubic(x, x2, c, at + 4)
}

/// Degree 3.
#[inline(always)]
pub(crate) fn degree3(x: f64, c: &[f64; 4]) -> f64 {
    cubic(x, x * x, c, 0)
}

/// Degree 5.
#[inline(always)]
pub(crate) fn degree5(x: f64, c: &[f64; 6]) -> f64 {
    let x2 = x * x;
    cubic(x, x2, c, 0) + (x2 * x2) * linear(x, c[4], c[5])
}

/// Degree 6.
#[inline(always)]
pub(crate) fn degree6(x: f64, c: &[f64; 7]) -> f64 {
    let x2 = x * x;
    cubic(x, x2, c, 0) + (x2 * x2) * (linear(x, c[4], c[5]) + x2 * c[6])
}

/// Degree 7.
#[inline(always)]
pub(crate) fn degree7(x: f64, c: &[f64; 8]) -> f64 {
    let x2 = x * x;
    septic(x, x2, x2 * x2, c, 0)
}

/// Degree 10.
#[inline(always)]
pub(crate) fn degree10(x: f64, c: &[f64; 11]) -> f64 {
    let x2 = x * x;
    let x4 = x2 * x2;
    septic(x, x2, x4, c, 0) + (x4 * x4) * (linear(x, c[8], c[9]) + x2 * c[10])
}

/// Degree 12.
#[inline(always)]
pub(crate) fn degree12(x: f64, c: &[f64; 13]) -> f64 {
    let x2 = x * x;
    let x4 = x2 * x2;
    septic(x, x2, x4, c, 0) + (x4 * x4) * (cubic(x, x2, c, 8) + x4 * c[12])
}

/// Degree 19.
#[inline(always)]
pub(crate) fn degree19(x: f64, c: &[f64; 20]) -> f64 {
    let x2 = x * x;
    let x4 = x2 * x2;
    let x8 = x4 * x4;
    septic(x, x2, x4, c, 0) + x8 * (septic(x, x2, x4, c, 8) + x8 * cubic(x, x2, c, 16))
}

/// Any degree, given the square of `x`: linear parts by Horner's rule in the square.
///
/// A product less for every second power than above, and a longer chain. Loops over numbers
/// that are independent of each other fill the waiting, as long as there is room for them.
#[inline(always)]
pub(crate) fn paired<const K: usize>(x: f64, x2: f64, c: &[f64; K]) -> f64 {
    let mut at = (K - 1) & !1;
    let mut sum = if at + 1 < K { linear(x, c[at], c[at + 1]) } else { c[at] };
    while at > 0 {
        at -= 2;
        sum = linear(x, c[at], c[at + 1]) + x2 * sum;
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    /// At two and with the coefficients 1, 3, 5, ... every operation is exact, and a swapped
    /// or forgotten coefficient changes the sum.
    #[test]
    fn every_degree_agrees_with_horner() {
        fn odd<const K: usize>() -> [f64; K] {
            std::array::from_fn(|i| (2 * i + 1) as f64)
        }
        fn horner(c: &[f64]) -> f64 {
            c.iter().rev().fold(0.0, |sum, c| sum * 2.0 + c)
        }
        assert_eq!(linear(2.0, 1.0, 3.0), 7.0);
        assert_eq!(degree3(2.0, &odd()), horner(&odd::<4>()));
        assert_eq!(degree5(2.0, &odd()), horner(&odd::<6>()));
        assert_eq!(degree6(2.0, &odd()), horner(&odd::<7>()));
        assert_eq!(degree7(2.0, &odd()), horner(&odd::<8>()));
        assert_eq!(degree10(2.0, &odd()), horner(&odd::<11>()));
        assert_eq!(degree12(2.0, &odd()), horner(&odd::<13>()));
        assert_eq!(paired(2.0, 4.0, &odd::<1>()), horner(&odd::<1>()));
        assert_eq!(paired(2.0, 4.0, &odd::<2>()), horner(&odd::<2>()));
        assert_eq!(paired(2.0, 4.0, &odd::<5>()), horner(&odd::<5>()));
        assert_eq!(paired(2.0, 4.0, &odd::<12>()), horner(&odd::<12>()));
        assert_eq!(degree19(2.0, &odd()), horner(&odd::<20>()));
    }
}
