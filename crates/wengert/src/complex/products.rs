//! Products of complex tensors: matrix products, contractions by labels, inner products.

use super::Complex;
use super::parts::IntoComplex;
use crate::error::{Error, Misfit, OrRaise};
use crate::program::{Builder, Value};
use crate::tensor::Tensor;
use crate::tensor::compose::{compose_all, refuse};
use crate::tensor::einsum::einsum;
use crate::tensor::linalg::matmul;

/// By how many real products a complex matrix product is computed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ComplexProducts {
    /// `ac - bd` and `ad + bc`: each part has the rounding error of a real product.
    #[default]
    Four,
    /// `p = ac`, `q = bd` and `(a + b)(c + d) - p - q`: a quarter fewer operations for large matrices. The imaginary part has
    /// an error relative to the whole product instead of its own (N. J. Higham, *Stability of a method for multiplying
    /// complex matrices with three real matrix multiplications*, 1992).
    Three,
}

impl Complex<Tensor> {
    /// The matrix product of the last two axes, as [`Tensor::matmul`], by four real products.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let z = Complex::new(Tensor::from([[0.0, 1.0], [1.0, 0.0]]), Tensor::from([[1.0, 0.0], [0.0, 2.0]]));
    /// let square = z.matmul(&z);
    /// assert_eq!(square.re.to_vec(), [0.0, 0.0, 0.0, -3.0]);
    /// assert_eq!(square.im.to_vec(), [0.0, 3.0, 3.0, 0.0]);
    /// ```
    ///
    /// # Panics
    /// As [`Complex::try_matmul_by`] returns an error.
    #[track_caller]
    pub fn matmul(&self, other: impl IntoComplex) -> Complex<Tensor> {
        self.try_matmul_by(other, ComplexProducts::Four).or_raise()
    }

    /// As [`Complex::matmul`], by as many real products as asked for.
    ///
    /// # Panics
    /// As [`Complex::try_matmul_by`] returns an error.
    #[track_caller]
    pub fn matmul_by(&self, other: impl IntoComplex, products: ComplexProducts) -> Complex<Tensor> {
        self.try_matmul_by(other, products).or_raise()
    }

    /// As [`Complex::matmul_by`], with an error instead of a panic.
    ///
    /// # Errors
    /// If an operand is a single number, or shapes or element types do not fit.
    #[track_caller]
    pub fn try_matmul_by(&self, other: impl IntoComplex, products: ComplexProducts) -> Result<Complex<Tensor>, Error> {
        let z = self.aligned("matmul")?;
        let other = other.into_complex();
        let others: Vec<&Tensor> = other.tensors().collect();
        let operands: Vec<&Tensor> = [&z.re, &z.im].into_iter().chain(others).collect();
        if operands.len() == 2 {
            return refuse("matmul", &operands, "a single number is no matrix; multiply with `*`");
        }
        let results = compose_all("matmul", &operands, |b, args| {
            let [re, im] = [args[0], args[1]];
            match (args.get(3), products) {
                (None, _) => Ok(vec![matmul(b, re, args[2])?, matmul(b, im, args[2])?]),
                (Some(&other_im), ComplexProducts::Four) => {
                    let [ac, bd] = [matmul(b, re, args[2])?, matmul(b, im, other_im)?];
                    let [ad, bc] = [matmul(b, re, other_im)?, matmul(b, im, args[2])?];
                    Ok(vec![b.sub(ac, bd), b.add(ad, bc)])
                }
                (Some(&other_im), ComplexProducts::Three) => by_three(b, [re, im], [args[2], other_im]),
            }
        })?;
        Ok(Complex::pair(results))
    }

    /// A sum over labels of products of complex tensors, as [`Tensor::einsum`].
    ///
    /// Of n operands it is the sum of `2^n` real ones, which share what they have in common: two are four real products.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let z = Complex::new(Tensor::from([1.0, 2.0]), Tensor::from([0.0, 1.0]));
    /// // z^H z is real.
    /// let norm = Complex::einsum("i,i->", &[&z.conj(), &z]);
    /// assert_eq!((norm.re.item(), norm.im.item()), (6.0, 0.0));
    /// ```
    ///
    /// # Panics
    /// As [`Complex::try_einsum`] returns an error.
    #[track_caller]
    pub fn einsum(spec: &str, operands: &[&Complex<Tensor>]) -> Complex<Tensor> {
        Self::try_einsum(spec, operands).or_raise()
    }

    /// As [`Complex::einsum`], with an error instead of a panic.
    ///
    /// # Errors
    /// If there is no operand or more than 16, the text does not fit them, or lengths or element types differ.
    #[track_caller]
    pub fn try_einsum(spec: &str, operands: &[&Complex<Tensor>]) -> Result<Complex<Tensor>, Error> {
        let count = operands.len();
        let mut parts = Vec::with_capacity(2 * count);
        for z in operands {
            let z = z.aligned("einsum")?;
            parts.extend([z.re, z.im]);
        }
        let parts: Vec<&Tensor> = parts.iter().collect();
        if count == 0 || count > MOST_OPERANDS {
            return refuse("einsum", &parts, format!("it takes 1 to {MOST_OPERANDS} complex tensors, and got {count}"));
        }
        let results = compose_all("einsum", &parts, |b, args| {
            let mut sums = [None, None];
            for choice in 0..1usize << count {
                let chosen: Vec<Value> = (0..count).map(|k| args[2 * k + (choice >> k & 1)]).collect();
                let term = einsum(b, spec, &chosen)?;
                // i^n of n imaginary parts: 1, i, -1, -i.
                let power = choice.count_ones() as usize % 4;
                let sum: &mut Option<Value> = &mut sums[power % 2];
                *sum = Some(match *sum {
                    None => term,
                    Some(before) if power < 2 => b.add(before, term),
                    Some(before) => b.sub(before, term),
                });
            }
            Ok(sums.into_iter().flatten().collect())
        })?;
        Ok(Complex::pair(results))
    }

    /// `sum of conj(z_k) w_k` over all elements: the inner product, conjugated on the left.
    ///
    /// # Panics
    /// If sizes or element types differ.
    #[track_caller]
    pub fn vdot(&self, other: &Complex<Tensor>) -> Complex<Tensor> {
        let (z, w) = (self.aligned("vdot").or_raise(), other.aligned("vdot").or_raise());
        Complex { re: z.re.vdot(&w.re) + z.im.vdot(&w.im), im: z.re.vdot(&w.im) - z.im.vdot(&w.re) }
    }
}

/// Of how many operands a contraction is written out.
const MOST_OPERANDS: usize = 16;

/// A product by three real ones.
fn by_three(b: &mut Builder, [a, bi]: [Value; 2], [c, d]: [Value; 2]) -> Result<Vec<Value>, Misfit> {
    let (p, q) = (matmul(b, a, c)?, matmul(b, bi, d)?);
    let (left, right) = (b.add(a, bi), b.add(c, d));
    let all = matmul(b, left, right)?;
    let re = b.sub(p, q);
    let rest = b.sub(all, p);
    Ok(vec![re, b.sub(rest, q)])
}
