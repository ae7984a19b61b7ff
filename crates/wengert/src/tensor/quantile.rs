//! Quantiles along an axis.

use super::compose::{axis_of, compose, twins};
use super::sort::sorted;
use super::{Dim, Tensor};
use crate::error::{Error, OrRaise, misfit};
use crate::ops::Compare;
use crate::primitives::{Concat, Slice, check_float};
use crate::program::{Builder, Value};

/// What a quantile between two elements is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Interpolation {
    /// On the line between both.
    #[default]
    Linear,
    /// The smaller one.
    Lower,
    /// The larger one.
    Higher,
    /// The nearer one; halfway the one at the even position.
    Nearest,
    /// The mean of both.
    Midpoint,
}

/// Which quantiles: a number from 0 to 1, whose axis disappears, or several, for which a first axis comes. Sealed.
///
/// They are plain numbers: nothing is differentiated by them.
pub trait Quantiles {
    /// The numbers, and whether they are for an axis.
    #[doc(hidden)]
    fn quantiles(self) -> (Vec<f64>, bool);
}

impl Quantiles for f64 {
    fn quantiles(self) -> (Vec<f64>, bool) {
        (vec![self], false)
    }
}

impl Quantiles for &[f64] {
    fn quantiles(self) -> (Vec<f64>, bool) {
        (self.to_vec(), true)
    }
}

impl Quantiles for Vec<f64> {
    fn quantiles(self) -> (Vec<f64>, bool) {
        (self, true)
    }
}

impl Quantiles for &Vec<f64> {
    fn quantiles(self) -> (Vec<f64>, bool) {
        (self.clone(), true)
    }
}

impl<const N: usize> Quantiles for [f64; N] {
    fn quantiles(self) -> (Vec<f64>, bool) {
        (self.to_vec(), true)
    }
}

impl Tensor {
    /// The quantile `q`, a number from 0 to 1, along an axis, which disappears; or several, along a new first axis: of `n`
    /// elements in order the one at position `q (n - 1)`, on the line between its neighbours if that is no integer. NaN if one
    /// is NaN.
    ///
    /// The derivative goes to the elements it lies between, with their weights; of equal elements the lower index comes first,
    /// as in [`Tensor::sort`].
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let x = Tensor::from([40.0, 10.0, 20.0]);
    /// assert_eq!(x.quantile(0.25, 0).item(), 15.0);
    /// assert_eq!(x.quantile([0.0, 0.5, 1.0], 0).to_vec(), [10.0, 20.0, 40.0]);
    /// assert_eq!(grad(x, |x| x.quantile(0.625, 0)).to_vec(), [0.25, 0.0, 0.75]);
    /// ```
    ///
    /// # Panics
    /// As [`Tensor::try_quantile`] returns an error.
    #[doc(alias = "percentile")]
    #[track_caller]
    pub fn quantile(&self, q: impl Quantiles, axis: impl Dim) -> Tensor {
        self.try_quantile(q, axis).or_raise()
    }

    /// As [`Tensor::quantile`], with another answer between two elements. [`Interpolation::Nearest`] and those that take one
    /// element jump where it changes; their derivative is that of the element.
    ///
    /// ```
    /// use wengert::{Interpolation, Tensor};
    /// let x = Tensor::from([1.0, 2.0, 4.0, 8.0]);
    /// let by = |interpolation| x.quantile_by(0.5, 0, interpolation).item();
    /// assert_eq!([by(Interpolation::Lower), by(Interpolation::Higher)], [2.0, 4.0]);
    /// assert_eq!([by(Interpolation::Midpoint), by(Interpolation::Nearest)], [3.0, 4.0]);
    /// ```
    ///
    /// # Panics
    /// As [`Tensor::try_quantile_by`] returns an error.
    #[track_caller]
    pub fn quantile_by(&self, q: impl Quantiles, axis: impl Dim, interpolation: Interpolation) -> Tensor {
        self.try_quantile_by(q, axis, interpolation).or_raise()
    }
}

twins! { TryQuantile: "quantiles";
    /// As [`Tensor::quantile`], with an error instead of a panic.
    ///
    /// # Errors
    /// If a number is not from 0 to 1, the axis does not exist or is empty, or the elements are not real.
    fn try_quantile(&self, q: impl Quantiles, axis: impl Dim) -> Result<Tensor, Error>;
    /// As [`Tensor::quantile_by`], with an error instead of a panic.
    ///
    /// # Errors
    /// As [`TryQuantile::try_quantile`].
    fn try_quantile_by(
        &self,
        q: impl Quantiles,
        axis: impl Dim,
        interpolation: Interpolation,
    ) -> Result<Tensor, Error>;
}

impl TryQuantile for Tensor {
    #[track_caller]
    fn try_quantile(&self, q: impl Quantiles, axis: impl Dim) -> Result<Tensor, Error> {
        quantiles("quantile", self, q.quantiles(), axis.dim().0, Interpolation::Linear)
    }

    #[track_caller]
    fn try_quantile_by(
        &self,
        q: impl Quantiles,
        axis: impl Dim,
        interpolation: Interpolation,
    ) -> Result<Tensor, Error> {
        quantiles("quantile_by", self, q.quantiles(), axis.dim().0, interpolation)
    }
}

#[track_caller]
fn quantiles(
    name: &str,
    x: &Tensor,
    (q, several): (Vec<f64>, bool),
    axis: isize,
    interpolation: Interpolation,
) -> Result<Tensor, Error> {
    compose(name, &[x], |b, args| {
        check_float(b.ty(args[0]))?;
        if let Some(q) = q.iter().find(|q| !(0.0..=1.0).contains(*q)) {
            misfit!("a quantile is {q}, and has to be from 0 to 1");
        }
        let axis = axis_of(axis, b.shape(args[0]).len())?;
        if b.shape(args[0])[axis] == 0 {
            misfit!("there is no quantile of no elements: axis {axis} is empty");
        }
        let sorted = sorted(b, args[0], axis.cast_signed(), false)?.0;
        let line = Line { sorted, axis };
        let found: Vec<Value> = q.iter().map(|&q| line.quantile(b, q, interpolation)).collect();
        if !several {
            return Ok(found[0]);
        }
        let mut shape = b.shape(sorted).to_vec();
        shape.remove(axis);
        shape.insert(0, 1);
        if found.is_empty() {
            shape[0] = 0;
            let ty = b.ty(sorted).with_shape(shape);
            return Ok(b.full(0.0, &ty));
        }
        let rows: Vec<Value> = found.into_iter().map(|found| b.reshape(found, &shape)).collect();
        Ok(b.emit(Concat { axis: 0 }, &rows)?[0])
    })
}

/// Elements in order along an axis.
struct Line {
    sorted: Value,
    axis: usize,
}

impl Line {
    /// The elements at a position.
    fn at(&self, b: &mut Builder, place: usize) -> Value {
        let mut shape = b.shape(self.sorted).to_vec();
        let element = b.op(Slice::along(&shape, self.axis, place, place + 1), &[self.sorted]);
        shape.remove(self.axis);
        b.reshape(element, &shape)
    }

    fn quantile(&self, b: &mut Builder, q: f64, interpolation: Interpolation) -> Value {
        let last = b.shape(self.sorted)[self.axis] - 1;
        let position = q * last as f64;
        let (place, weight) = (position.floor() as usize, position.fract());
        let single = match interpolation {
            _ if weight == 0.0 => Some(place),
            Interpolation::Lower => Some(place),
            Interpolation::Higher => Some(place + 1),
            Interpolation::Nearest => Some(position.round_ties_even() as usize),
            Interpolation::Linear | Interpolation::Midpoint => None,
        };
        let found = match single {
            Some(place) => self.at(b, place),
            None => {
                let weight = if interpolation == Interpolation::Midpoint { 0.5 } else { weight };
                self.between(b, place, weight)
            }
        };
        // NaN comes last in the order.
        let last = self.at(b, last);
        let nan = b.op(Compare::Unordered, &[last, last]);
        b.select(nan, last, found)
    }

    /// Between the elements at a position and the next.
    fn between(&self, b: &mut Builder, place: usize, weight: f64) -> Value {
        let (low, high) = (self.at(b, place), self.at(b, place + 1));
        let ty = b.ty(low).clone();
        let scaled = |b: &mut Builder, x: Value, factor: f64| {
            let factor = b.full(factor, &ty);
            b.mul(x, factor)
        };
        // From the nearer one, so that equal elements give themselves and the order of quantiles is kept.
        let gap = b.sub(high, low);
        let finite = super::reduce::is_finite(b, gap);
        let from_nearer = if weight < 0.5 {
            let step = scaled(b, gap, weight);
            b.add(low, step)
        } else {
            let step = scaled(b, gap, 1.0 - weight);
            b.sub(high, step)
        };
        // Infinite ones have no gap, and one between numbers of opposite signs may overflow.
        let (low, high) = (scaled(b, low, 1.0 - weight), scaled(b, high, weight));
        let weighted = b.add(low, high);
        b.select(finite, from_nearer, weighted)
    }
}
