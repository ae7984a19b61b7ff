//! The complex derivative of a holomorphic function, which is checked to be one.

use std::fmt;

use super::Complex;
use crate::api::vjp;
use crate::leaf::{Active, Leaf};
use crate::tape::Var;
#[cfg(feature = "arrays")]
use crate::tensor::Tensor;
use crate::tree::Tree;

/// The leaves that [`holomorphic_grad`] takes: `f64`, [`Var`] and `Tensor`.
///
/// Sealed: implemented for these three.
pub trait HolomorphicLeaf: Leaf + Tree<Leaf = Self> {
    /// See [`try_holomorphic_grad`].
    #[doc(hidden)]
    #[track_caller]
    fn derivative(
        z: &Complex<Self>,
        f: impl FnOnce(Complex<Self::Active>) -> Complex<Self::Active>,
    ) -> Result<Complex<Self>, NotHolomorphic>;
}

/// The equations of Cauchy and Riemann do not hold: there is no complex derivative.
#[derive(Clone, Debug, PartialEq)]
pub struct NotHolomorphic(String);

impl fmt::Display for NotHolomorphic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for NotHolomorphic {}

/// The complex derivative `f'(z) = du/dre + i dv/dre` of a function `f = u + i v`, where the equations of Cauchy and Riemann,
/// `du/dre = dv/dim` and `du/dim = -dv/dre`, hold at the point to half the digits, or up
/// to rounding errors of the value where all four are as small.
///
/// Over tensors it is the derivative of the sum of all results in each element of z: of a function that works element by
/// element, the derivative at each of them. The gradient of a real loss needs no such function: [`grad`](crate::grad) gives it.
///
/// ```
/// use wengert::prelude::*;
/// use wengert::holomorphic_grad;
/// let z = Complex::new(0.5, 1.0);
/// assert!((holomorphic_grad(z, |z| z.exp()) - z.exp()).abs() < 1e-15);
/// ```
///
/// The conjugate is not holomorphic anywhere, and a function that is real has derivative 0 or none:
///
/// ```should_panic
/// use wengert::prelude::*;
/// wengert::holomorphic_grad(Complex::new(0.5, 1.0), |z| z.conj());
/// ```
///
/// # Panics
/// If the equations do not hold. Where the numbers of tensors are not known, as inside of `vmap`, because it cannot be checked.
#[track_caller]
pub fn holomorphic_grad<L: HolomorphicLeaf>(
    z: Complex<L>,
    f: impl FnOnce(Complex<Active<L>>) -> Complex<Active<L>>,
) -> Complex<L> {
    match try_holomorphic_grad(z, f) {
        Ok(derivative) => derivative,
        Err(error) => panic!("{error}"),
    }
}

/// As [`holomorphic_grad`], with an error instead of a panic where the equations do not hold.
///
/// # Errors
/// If the equations of Cauchy and Riemann do not hold.
#[track_caller]
pub fn try_holomorphic_grad<L: HolomorphicLeaf>(
    z: Complex<L>,
    f: impl FnOnce(Complex<Active<L>>) -> Complex<Active<L>>,
) -> Result<Complex<L>, NotHolomorphic> {
    L::derivative(&z, f)
}

/// The four derivatives at a place, if they break the equations.
fn refused(place: &str, [u_re, u_im, v_re, v_im]: [&dyn fmt::Display; 4]) -> NotHolomorphic {
    NotHolomorphic(format!(
        "`holomorphic_grad`: the function is not holomorphic{place}: du/dre = {u_re} and dv/dim = {v_im} have to be equal, and \
         du/dim = {u_im} and dv/dre = {v_re} opposite. The gradient of a real loss is `grad`"
    ))
}

/// Of numbers: plain ones, and variables, which are compared without being read.
macro_rules! numbers {
    ($carrier:ty) => {
        impl HolomorphicLeaf for $carrier {
            fn derivative(
                z: &Complex<$carrier>,
                f: impl FnOnce(Complex<Var>) -> Complex<Var>,
            ) -> Result<Complex<$carrier>, NotHolomorphic> {
                let (y, pullback) = vjp(*z, f);
                let number = <$carrier>::from;
                let u = pullback.pull(Complex::new(number(1.0), number(0.0)));
                let v = pullback.pull(Complex::new(number(0.0), number(1.0)));
                let off = (u.re - v.im).abs() + (u.im + v.re).abs();
                let size = u.re.abs() + u.im.abs() + v.re.abs() + v.im.abs();
                // What cancels in a derivative leaves rounding errors of the value, by distances in z.
                let [value, distance] = [y.re.abs() + y.im.abs(), z.re.abs() + z.im.abs() + 1.0];
                if off > size * TOLERANCE + value / distance * ROUNDING {
                    return Err(refused("", [&u.re, &u.im, &v.re, &v.im]));
                }
                Ok(Complex { re: u.re, im: v.re })
            }
        }
    };
}
numbers!(f64);
numbers!(Var);

/// Half the digits of double precision.
const TOLERANCE: f64 = 1.5e-8;

/// Some rounding units of double precision.
const ROUNDING: f64 = 64.0 * f64::EPSILON;

#[cfg(feature = "arrays")]
impl HolomorphicLeaf for Tensor {
    fn derivative(
        z: &Complex<Tensor>,
        f: impl FnOnce(Complex<Tensor>) -> Complex<Tensor>,
    ) -> Result<Complex<Tensor>, NotHolomorphic> {
        let (y, pullback) = vjp(z.clone(), f);
        let of = |value: f64, like: &Tensor| Tensor::full_of(like.dtype(), like.shape(), value);
        let u = pullback.pull(Complex::new(of(1.0, &y.re), of(0.0, &y.im)));
        let v = pullback.pull(Complex::new(of(0.0, &y.re), of(1.0, &y.im)));
        let numbers = [&u.re, &u.im, &v.re, &v.im].map(|part| part.detach().to_vec());
        let is_single = z.re.dtype() == crate::DType::F32;
        let [tolerance, rounding] =
            if is_single { [3e-4, 64.0 * f64::from(f32::EPSILON)] } else { [TOLERANCE, ROUNDING] };
        let largest = numbers.iter().flatten().fold(0.0f64, |largest, x| largest.max(x.abs()));
        let [u_re, u_im, v_re, v_im] = &numbers;
        let value =
            [&y.re, &y.im].map(|part| part.detach().to_vec().into_iter().fold(0.0f64, |value, x| value.max(x.abs())));
        let at = [&z.re, &z.im].map(|part| part.detach().to_vec());
        for (k, (((u_re, u_im), v_re), v_im)) in u_re.iter().zip(u_im).zip(v_re).zip(v_im).enumerate() {
            let size = u_re.abs() + u_im.abs() + v_re.abs() + v_im.abs() + tolerance * largest;
            let distance = at[0][k].abs() + at[1][k].abs() + 1.0;
            let off = (u_re - v_im).abs() + (u_im + v_re).abs();
            if off > tolerance * size + (value[0] + value[1]) / distance * rounding {
                return Err(refused(&format!(" in element {k}"), [u_re, u_im, v_re, v_im]));
            }
        }
        Ok(Complex { re: u.re, im: v.re })
    }
}
