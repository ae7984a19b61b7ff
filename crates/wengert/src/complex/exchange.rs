//! num-complex: its numbers as ours and back, and vectors of them as complex tensors.

use super::Complex;
use crate::array::Element;
use crate::error::{Error, OrRaise};
use crate::real::Real;
use crate::tensor::Tensor;
use crate::tensor::compose::refuse;

impl<R: Real> From<num_complex::Complex<R>> for Complex<R> {
    fn from(z: num_complex::Complex<R>) -> Self {
        Complex { re: z.re, im: z.im }
    }
}

impl<R: Real> From<Complex<R>> for num_complex::Complex<R> {
    fn from(z: Complex<R>) -> Self {
        num_complex::Complex { re: z.re, im: z.im }
    }
}

/// As a vector. The parts are copied apart.
///
/// ```
/// use num_complex::Complex64;
/// use wengert::{Complex, Tensor};
/// let data = [Complex64::new(1.0, 2.0), Complex64::new(3.0, 4.0)];
/// let z: Complex<Tensor> = Complex::from(&data[..]);
/// assert_eq!((z * 2.0).to_num_complex::<f64>(), data.map(|z| z * 2.0));
/// ```
impl<T: Element> From<&[num_complex::Complex<T>]> for Complex<Tensor> {
    fn from(data: &[num_complex::Complex<T>]) -> Self {
        let part = |f: fn(&num_complex::Complex<T>) -> T| {
            Tensor::from_vec(&[data.len()], data.iter().map(f).collect::<Vec<T>>())
        };
        Complex { re: part(|z| z.re), im: part(|z| z.im) }
    }
}

impl Complex<Tensor> {
    /// The elements in row-major order, as numbers of num-complex.
    ///
    /// # Panics
    /// As [`Complex::try_to_num_complex`] returns an error.
    #[track_caller]
    pub fn to_num_complex<T: Element>(&self) -> Vec<num_complex::Complex<T>> {
        self.try_to_num_complex().or_raise()
    }

    /// As [`Complex::to_num_complex`], with an error instead of a panic.
    ///
    /// # Errors
    /// If the elements have another type, or as [`Tensor::try_to_array`].
    #[track_caller]
    pub fn try_to_num_complex<T: Element>(&self) -> Result<Vec<num_complex::Complex<T>>, Error> {
        let z = self.aligned("to_num_complex")?;
        if z.dtype() != T::DTYPE {
            return refuse(
                "to_num_complex",
                &[&z.re, &z.im],
                format!("the elements are not {}; convert first", T::DTYPE),
            );
        }
        let (re, im) = (z.re.try_into_array()?, z.im.try_into_array()?);
        let pairs = re.known::<T>().iter().zip(im.known::<T>());
        Ok(pairs.map(|(&re, &im)| num_complex::Complex { re, im }).collect())
    }
}
