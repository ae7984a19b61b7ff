//! Complex numbers, as far as the definitions need them.

use std::ops::{Add, AddAssign, Div, Mul, Neg, Sub, SubAssign};

/// `re + i im`
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct C64 {
    /// The real part.
    pub re: f64,
    /// The imaginary part.
    pub im: f64,
}

impl C64 {
    /// 0
    pub const ZERO: C64 = C64::new(0.0, 0.0);
    /// 1
    pub const ONE: C64 = C64::new(1.0, 0.0);

    /// `re + i im`
    pub const fn new(re: f64, im: f64) -> C64 {
        C64 { re, im }
    }

    /// `re - i im`
    pub fn conj(self) -> C64 {
        C64::new(self.re, -self.im)
    }

    /// The modulus, without overflow on the way.
    pub fn abs(self) -> f64 {
        self.re.hypot(self.im)
    }

    /// The square of the modulus.
    pub fn square(self) -> f64 {
        self.re * self.re + self.im * self.im
    }

    /// A real multiple.
    pub fn times(self, factor: f64) -> C64 {
        C64::new(factor * self.re, factor * self.im)
    }

    /// The number of modulus 1 in the same direction; 1 for 0.
    pub fn phase(self) -> C64 {
        let size = self.re.abs().max(self.im.abs());
        if size == 0.0 {
            return C64::ONE;
        }
        // The modulus of a subnormal number has few digits.
        let scaled = C64::new(self.re / size, self.im / size);
        scaled.times(1.0 / scaled.abs())
    }

    /// The square root with a real part that is not negative.
    pub fn sqrt(self) -> C64 {
        let size = self.abs();
        if size == 0.0 {
            return C64::ZERO;
        }
        // The sum without cancellation, and the other part from the product of both.
        let large = (0.5 * (size + self.re.abs())).sqrt();
        let small = 0.5 * self.im.abs() / large;
        let (re, im) = if self.re >= 0.0 { (large, small) } else { (small, large) };
        C64::new(re, im.copysign(self.im))
    }
}

impl From<f64> for C64 {
    fn from(re: f64) -> C64 {
        C64::new(re, 0.0)
    }
}

impl Add for C64 {
    type Output = C64;
    fn add(self, other: C64) -> C64 {
        C64::new(self.re + other.re, self.im + other.im)
    }
}

impl Sub for C64 {
    type Output = C64;
    fn sub(self, other: C64) -> C64 {
        C64::new(self.re - other.re, self.im - other.im)
    }
}

impl Neg for C64 {
    type Output = C64;
    fn neg(self) -> C64 {
        C64::new(-self.re, -self.im)
    }
}

impl Mul for C64 {
    type Output = C64;
    fn mul(self, other: C64) -> C64 {
        C64::new(self.re * other.re - self.im * other.im, self.re * other.im + self.im * other.re)
    }
}

impl Div for C64 {
    type Output = C64;
    fn div(self, other: C64) -> C64 {
        // Scaled, so that the square of the divisor neither overflows nor vanishes.
        let size = other.re.abs().max(other.im.abs());
        let other = C64::new(other.re / size, other.im / size);
        let (product, square) = (self * other.conj(), other.square());
        C64::new(product.re / square / size, product.im / square / size)
    }
}

impl AddAssign for C64 {
    fn add_assign(&mut self, other: C64) {
        *self = *self + other;
    }
}

impl SubAssign for C64 {
    fn sub_assign(&mut self, other: C64) {
        *self = *self - other;
    }
}

impl std::iter::Sum for C64 {
    fn sum<I: Iterator<Item = C64>>(numbers: I) -> C64 {
        numbers.fold(C64::ZERO, Add::add)
    }
}
