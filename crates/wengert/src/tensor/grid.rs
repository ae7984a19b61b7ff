//! Grids of points.

use super::compose::{check_count, compose_all};
use super::{Tensor, references};
use crate::error::{Error, OrRaise, misfit};
use crate::primitives::Broadcast;
use crate::program::Value;

impl Tensor {
    /// The coordinates of the points of a grid: for vectors of lengths `n, m, …` as many tensors of shape `[n, m, …]`, the
    /// k-th of which varies along axis k alone and has there the elements of the k-th vector.
    ///
    /// This is NumPy's and JAX's `indexing="ij"`, and PyTorch's default; what they call `"xy"` is this of `y`, `x` in
    /// that order.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let grid = Tensor::meshgrid([Tensor::from([1.0, 2.0]), Tensor::from([5.0, 6.0, 7.0])]);
    /// assert_eq!(grid[0].to_vec(), [1.0, 1.0, 1.0, 2.0, 2.0, 2.0]);
    /// assert_eq!(grid[1].to_vec(), [5.0, 6.0, 7.0, 5.0, 6.0, 7.0]);
    /// ```
    ///
    /// # Panics
    /// As [`Tensor::try_meshgrid`] returns an error.
    #[doc(alias = "mgrid")]
    #[track_caller]
    pub fn meshgrid(vectors: impl IntoIterator<Item: AsRef<Tensor>>) -> Vec<Tensor> {
        Self::try_meshgrid(vectors).or_raise()
    }

    /// As [`Tensor::meshgrid`], with an error instead of a panic.
    ///
    /// # Errors
    /// If an operand is no vector or the grid does not fit in memory.
    #[track_caller]
    pub fn try_meshgrid(vectors: impl IntoIterator<Item: AsRef<Tensor>>) -> Result<Vec<Tensor>, Error> {
        let vectors: Vec<_> = vectors.into_iter().collect();
        grid(&references(&vectors))
    }
}

#[track_caller]
fn grid(vectors: &[&Tensor]) -> Result<Vec<Tensor>, Error> {
    compose_all("meshgrid", vectors, |b, args| {
        let mut shape = Vec::with_capacity(args.len());
        for (k, &arg) in args.iter().enumerate() {
            let &[length] = b.shape(arg) else {
                misfit!("operand {k} is {}, and has to be a vector", b.ty(arg));
            };
            shape.push(length);
        }
        check_count(&shape)?;
        let spread = |(k, &arg): (usize, &Value)| b.op(Broadcast::new(&shape, &[k]), &[arg]);
        Ok(args.iter().enumerate().map(spread).collect())
    })
}
