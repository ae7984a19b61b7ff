//! Units in which the derivatives of a spectrum neither overflow nor vanish on the way.
//!
//! `D^k h(A)[E_1, …, E_k]` multiplies k directions by a divided difference of order k. Of a matrix of size `s`, directions as large
//! and a result of size `s^p`, the directions have the product `s^k` and the difference is of size `s^(p-k)`: beyond 1e154 or below
//! 1e-154 one of them leaves the range of numbers at the second order, although the result does not. With `A = s B`,
//! `E_j = s_j F_j` and `g(y) = h(s y)`,
//!
//! ```text
//! D^k h(A)[E_1, …, E_k] = (s_1 … s_k / s^k) D^k g(B)[F_1, …, F_k]
//! ```
//!
//! All scales are powers of two, so that nothing is rounded. What is not far from 1 is left as it is.

/// Numbers up to `2^MODERATE`, and down to its reciprocal, are left as they are: five of them can be multiplied.
const MODERATE: i32 = 200;

/// The exponents of two by which a matrix and the directions were divided.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Units {
    /// Of the matrix, and so of its eigenvalues.
    matrix: i32,
    /// Of each direction.
    directions: Vec<i32>,
}

impl Units {
    /// Those for a derivative of this order at these eigenvalues or singular values.
    pub(super) fn of_values(values: &[f64], order: usize) -> Self {
        let norm = exponent_of(values);
        if order == 0 || norm.abs() <= MODERATE {
            return Units::default();
        }
        // The smallest of them keeps its digits.
        let least = values.iter().filter(|x| **x != 0.0).fold(f64::MAX, |least, x| least.min(x.abs()));
        Units { matrix: norm.min(exponent_of(&[least]) - f64::MIN_EXP + 1), directions: Vec::new() }
    }

    /// One more direction, which is left in its unit.
    pub(super) fn direction(&mut self, direction: &mut [f64]) {
        let own = exponent_of(direction);
        let own = if own.abs() <= MODERATE { 0 } else { own };
        self.directions.push(own);
        if own != 0 {
            direction.iter_mut().for_each(|x| *x = scaled(*x, -own));
        }
    }

    /// That of the matrix as a number.
    pub(super) fn of_matrix(&self) -> f64 {
        power(self.matrix)
    }

    /// A number in the unit of the matrix.
    pub(super) fn point(&self, x: f64) -> f64 {
        scaled(x, -self.matrix)
    }

    /// What a derivative of this order, in all directions, is in the units of the user.
    pub(super) fn told(&self, x: f64, order: usize) -> f64 {
        let order = i32::try_from(order).unwrap_or(i32::MAX);
        scaled(x, self.directions.iter().sum::<i32>().saturating_sub(self.matrix.saturating_mul(order)))
    }

    /// A number of one direction in the units of the user.
    pub(super) fn of_direction(&self, x: f64, direction: usize) -> f64 {
        scaled(x, self.directions[direction])
    }
}

/// The exponent of two of the largest of these numbers; 0 if that is 0 or infinite.
fn exponent_of(numbers: &[f64]) -> i32 {
    let largest = numbers.iter().fold(0.0f64, |largest, x| largest.max(x.abs()));
    if largest == 0.0 || !largest.is_finite() {
        return 0;
    }
    let biased = (largest.to_bits() >> 52) as i32;
    biased.max(1) - f64::MAX_EXP + 1
}

/// `2^exponent`, of one that a number can have.
fn power(exponent: i32) -> f64 {
    f64::from_bits(((exponent + f64::MAX_EXP - 1).max(1) as u64) << 52)
}

/// `2^exponent x`, of any exponent: in steps, which a number can have each.
fn scaled(x: f64, exponent: i32) -> f64 {
    const STEP: i32 = 1000;
    let (mut x, mut left) = (x, exponent);
    while left != 0 && x != 0.0 && x.is_finite() {
        let step = left.clamp(-STEP, STEP);
        x *= power(step);
        left -= step;
    }
    x
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_near_one_is_left_as_it_is() {
        let mut units = Units::of_values(&[1e60, -3.0, 0.0], 2);
        let mut direction = [1e-60, 5.0];
        units.direction(&mut direction);
        assert_eq!(direction, [1e-60, 5.0]);
        assert_eq!((units.of_matrix(), units.point(7.0), units.told(7.0, 2)), (1.0, 7.0, 7.0));
        // The value of a function is that at the numbers themselves.
        assert_eq!(Units::of_values(&[1e300], 0), Units::default());
        assert_eq!(Units::of_values(&[], 3), Units::default());
    }

    #[test]
    fn scales_are_exact_and_undo_each_other() {
        for size in [1e-310, 5e-324, 1e-200, 1e100, 1.7e308] {
            let mut units = Units::of_values(&[size, 0.5 * size], 2);
            let in_units = units.point(size);
            assert!(size < 1e-307 || (1.0..2.0).contains(&in_units), "{size:e} is {in_units:e}");
            assert_eq!(in_units * units.of_matrix(), size);
            let mut direction = [size, -0.25 * size];
            units.direction(&mut direction);
            assert_eq!(units.of_direction(direction[0], 0), size);
            // One direction and the first order: the scales are one.
            assert_eq!(units.told(1.5, 1), 1.5);
        }
        let mut units = Units::of_values(&[f64::powi(2.0, 900)], 2);
        let mut direction = [f64::powi(2.0, -950)];
        units.direction(&mut direction);
        assert_eq!(direction, [1.0]);
        assert_eq!((units.told(1.0, 1), units.told(1.0, 2)), (0.0, 0.0));
        assert_eq!(Units::of_values(&[f64::powi(2.0, -900)], 2).told(f64::powi(2.0, -1000), 2), f64::powi(2.0, 800));
    }

    #[test]
    fn a_small_value_beside_a_large_one_keeps_its_digits() {
        let units = Units::of_values(&[1e300, 1.1e-200], 1);
        assert_eq!(units.point(1.1e-200) * units.of_matrix(), 1.1e-200);
        assert_eq!(Units::of_values(&[f64::NAN, 1e300], 1).point(f64::INFINITY), f64::INFINITY);
    }
}
