//! Patterns of a point: finer than those that hold everywhere, and used only where they hold.

use std::panic::Location;

use super::super::arrays::{Source, given};
use super::{Sparse, leaves, prepare};
use crate::array::{Array, Data};
use crate::error::{Error, ErrorKind};
use crate::tensor::Tensor;
use crate::transform::pattern::{Decisions, of_hessian, patterns};
use crate::tree::Tree;
use wengert_kernels::pattern::Pattern;

impl Sparse {
    /// The same derivative with the pattern of another point; without [`SparseOptions::local`](super::SparseOptions::local)
    /// with the one that it has. The function is not recorded again: what is new are the pattern, the colours and the plan.
    ///
    /// ```
    /// use wengert::Tensor;
    /// use wengert::sparsity::Sparse;
    /// // The larger of two neighbours, squared.
    /// let f = |x: Tensor| {
    ///     let (left, right) = (x.slice(0..2), x.slice(1..3));
    ///     left.gt(&right).where_(&left, &right).square()
    /// };
    /// let x = Tensor::from([1.0, 2.0, 3.0]);
    /// let rising = Sparse::options().local().jacobian(f, &x)?;
    /// assert_eq!(rising.pattern().entries().collect::<Vec<_>>(), [(0, 1), (1, 2)]);
    /// let x = Tensor::from([3.0, 2.0, 1.0]);
    /// assert!(!rising.holds_at(&x)?);
    /// let falling = rising.at(&x)?;
    /// assert_eq!(falling.pattern().entries().collect::<Vec<_>>(), [(0, 0), (1, 1)]);
    /// let mut values = [0.0; 2];
    /// falling.evaluate(&x, &mut values)?;
    /// assert_eq!(values, [6.0, 4.0]);
    /// # Ok::<(), wengert::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the point has leaves of other types than the one that this was prepared with, or an operation fails on it.
    #[track_caller]
    pub fn at<T: Tree<Leaf = Tensor>>(&self, x: &T) -> Result<Sparse, Error> {
        let line = Location::caller();
        let point = leaves(x);
        given("at", "point", &self.types()[..self.source.active], &point, line)?;
        let source = self.source.clone().at_line(line);
        prepare(self.kind, source, self.factors.clone(), self.options.clone(), Some(&point))
    }

    /// Whether the pattern holds at a point: it does everywhere, unless it is that of a point
    /// ([`SparseOptions::local`](super::SparseOptions::local)) and a mask, an index or a condition has another value here.
    ///
    /// # Errors
    /// As [`Sparse::at`].
    #[track_caller]
    pub fn holds_at<T: Tree<Leaf = Tensor>>(&self, x: &T) -> Result<bool, Error> {
        let line = Location::caller();
        let point = given("holds_at", "point", &self.types()[..self.source.active], &leaves(x), line)?;
        match &self.decisions {
            Some(decisions) => hold(&self.source, decisions, &point).map_err(|error| error.at(Some(line))),
            None => Ok(true),
        }
    }

    /// That the pattern holds at a point, before values are computed there.
    pub(super) fn check_holds(&self, point: &[Data]) -> Result<(), Error> {
        let Some(decisions) = &self.decisions else { return Ok(()) };
        if hold(&self.source, decisions, &point[..self.source.active])? {
            return Ok(());
        }
        let why = "a mask, an index or a condition has another value here than at the point that the pattern is of: `at` \
                   prepares this derivative for another point";
        Err(Error::new(ErrorKind::Run, "evaluate", why))
    }
}

/// The pattern of the matrix at a point, and what it rests on.
///
/// # Errors
/// If an operation fails on the point, or the pattern does not fit in memory.
pub(super) fn pattern(source: &Source, point: &[Tensor]) -> Result<(Pattern, Decisions), Error> {
    let point = given("sparse", "point", &source.program.input_types()[..source.active], point, source.line)?;
    let found = patterns(&source.program, &source.marks(), &values(source, &point));
    let made = found.and_then(|found| {
        let blocks = found.to_patterns(&source.program)?;
        let whole = Pattern::stacked(&blocks, source.shape().1);
        let whole = source.objective().map_or_else(|| whole.clone(), |function| of_hessian(function, &whole));
        Ok((whole, found.decisions))
    });
    made.map_err(|error| error.at(Some(source.line)))
}

fn hold(source: &Source, decisions: &Decisions, point: &[Data]) -> Result<bool, Error> {
    decisions.hold_at(&source.program, &source.marks(), &values(source, point))
}

/// What is known of the inputs of a Program at a point: weights are not.
fn values(source: &Source, point: &[Data]) -> Vec<Option<Array>> {
    let mut values = source.constants();
    let types = source.program.input_types();
    for ((value, data), ty) in values.iter_mut().zip(point).zip(types) {
        *value = Some(Array::from_data(ty.shape.clone(), data.clone()));
    }
    values
}
