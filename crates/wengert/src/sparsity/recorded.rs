//! Sparse derivatives of recorded functions: what users ask a [`Recorded`] for.

mod error;
mod plan;
mod prepared;
mod products;

use std::panic::Location;
use std::sync::{Arc, OnceLock};

pub use self::error::SparseError;
use self::plan::{Kind, Plan};
pub use self::prepared::SparseRecorded;
use super::edge::TooMany;
use super::matrix::Csr;
use crate::record::path::Path;
use crate::record::{GuardFlipped, Recorded, or_panic};
use crate::scalar::{Scalar, Sealed};
use crate::tape::Var;
use crate::tape::recording::Line;
use crate::task::Task;
use crate::tree::{Tree, leaves};

impl<T, O, F> Recorded<T, O, F>
where
    T: Tree<Leaf = f64>,
    O: Tree<Leaf = Var>,
    F: Fn(T::Vars) -> O,
{
    /// The Jacobian at `x`, `∂ f_i / ∂ x_j`, as a sparse matrix: a row for every number of the result, a column for every
    /// number of the point, both in the order of the leaves.
    ///
    /// The pattern is that of the path which `f` takes at `x`: an entry stands there if its output depends on its input, at
    /// whichever point the path is taken, with both branches of a [`select`](crate::Real::select). It is found the first
    /// time and kept with the path. Values may be zero, infinite or NaN.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let f = record([0.0; 4], |x| [x[0] * x[1], x[3].sin()]);
    /// let j = f.sparse_jacobian([2.0, 3.0, 4.0, 0.0]);
    /// assert_eq!(j.pattern().row(0), [0, 1]);
    /// assert_eq!(j.values(), [3.0, 2.0, 1.0]);
    /// ```
    ///
    /// Source of the method: A. Griewank and A. Walther, *Evaluating Derivatives* (2008), chapter 9: vertices are eliminated
    /// in reverse order.
    ///
    /// # Panics
    /// As [`value`](Recorded::value).
    #[track_caller]
    pub fn sparse_jacobian<X: Tree<Leaf: Scalar>>(&self, x: X) -> Csr<X::Leaf> {
        or_panic(self.sparse(Location::caller(), Kind::Jacobian, &x, &[]))
    }

    /// The Hessian at `x` of the Lagrangian `sigma f_0 + Σ lambda_i f_{i+1}`, where the first number of the result is the
    /// objective and the others are constraints: what interior point methods ask for.
    ///
    /// The matrix is symmetric, and all its entries are there; [`Csr::lower`] gives the half that solvers take. The
    /// pattern is that of all outputs together, whatever the multipliers are; see
    /// [`sparse_jacobian`](Recorded::sparse_jacobian).
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let f = record([0.0; 3], |[x, y, z]| (x * x, [x * y, z.exp()]));
    /// let h = f.sparse_hessian_of_lagrangian([1.0, 2.0, 0.0], 0.5, [3.0, 4.0]);
    /// assert_eq!(h.to_dense(), [[1.0, 3.0, 0.0], [3.0, 0.0, 0.0], [0.0, 0.0, 4.0]]);
    /// ```
    ///
    /// Source of the method: R. M. Gower and M. P. Mello, *A new framework for the computation of Hessians* (2012).
    ///
    /// # Panics
    /// As [`value`](Recorded::value), and if there are not as many multipliers as constraints.
    #[track_caller]
    pub fn sparse_hessian_of_lagrangian<X: Tree<Leaf: Scalar>>(
        &self,
        x: X,
        sigma: X::Leaf,
        lambda: impl Tree<Leaf = X::Leaf>,
    ) -> Csr<X::Leaf> {
        let mut weights = vec![sigma];
        lambda.for_each_leaf(&mut |leaf| weights.push(leaf));
        or_panic(self.sparse(Location::caller(), Kind::Lagrangian, &x, &weights))
    }

    #[track_caller]
    fn sparse<X: Tree<Leaf: Scalar>>(
        &self,
        line: Line,
        kind: Kind,
        x: &X,
        weights: &[X::Leaf],
    ) -> Result<Csr<X::Leaf>, GuardFlipped> {
        self.check_point(x);
        let point = &leaves(x)[..];
        let matrix = self.on_path(line, point, |path| {
            let constraints = path.trace.outputs.len().saturating_sub(1);
            if kind == Kind::Lagrangian && constraints + 1 != weights.len() {
                // Another path may have as many constraints: it counts only if this one is taken here.
                path.ask(line, point, &[], &Task::Value, &mut |_| ())?;
                return Some(Err(Unprepared::Constraints(constraints)));
            }
            match kind.plan(path) {
                Ok(plan) => plan.matrix(&path.trace, line, point, weights).ok().map(Ok),
                Err(many) => Some(Err(Unprepared::TooMany(many))),
            }
        })?;
        match matrix {
            Ok(matrix) => Ok(matrix),
            Err(why) => why.raise(kind, weights.len()),
        }
    }
}

impl<T, F> Recorded<T, Var, F>
where
    T: Tree<Leaf = f64>,
    F: Fn(T::Vars) -> Var,
{
    /// The Hessian at `x`, `∂² f / ∂ x_i ∂ x_j`, as a sparse matrix with a row and a column for every number of the point;
    /// symmetric, and all its entries are there.
    ///
    /// Two inputs meet in the pattern if an operation on the path depends on both and is not linear in them; see
    /// [`sparse_jacobian`](Recorded::sparse_jacobian). The entries come from one sweep over the recording that carries second
    /// derivatives beside adjoints.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let f = record(vec![0.0; 4], |x| x.windows(2).map(|w| (w[1] - w[0] * w[0]).powi(2)).sum::<Var>());
    /// let h = f.sparse_hessian(vec![1.0; 4]);
    /// assert_eq!(h.pattern().row(0), [0, 1]);
    /// assert_eq!(h.to_dense()[1], [-4.0, 10.0, -4.0, 0.0]);
    /// ```
    ///
    /// Sources of the method: R. M. Gower and M. P. Mello, *A new framework for the computation of Hessians* (2012); M. Wang,
    /// A. Gebremedhin and A. Pothen, *Capitalizing on live variables* (2016).
    ///
    /// # Panics
    /// As [`value`](Recorded::value).
    #[track_caller]
    pub fn sparse_hessian<X: Tree<Leaf: Scalar>>(&self, x: X) -> Csr<X::Leaf> {
        let one = X::Leaf::from_plain(1.0);
        or_panic(self.sparse(Location::caller(), Kind::Hessian, &x, &[one]))
    }
}

/// Why a path has no matrix.
enum Unprepared {
    /// The number of its constraints, where another number of multipliers was given.
    Constraints(usize),
    TooMany(TooMany),
}

impl Unprepared {
    #[cold]
    #[track_caller]
    fn raise(self, kind: Kind, weights: usize) -> ! {
        match self {
            Unprepared::Constraints(wanted) => panic!(
                "`{}`: the vector of multipliers has {} numbers where {wanted} are needed",
                kind.driver(),
                weights - 1
            ),
            Unprepared::TooMany(many) => panic!("`{}`: {many}", kind.driver()),
        }
    }
}

impl Kind {
    /// What is kept of a path for it.
    fn plan<O>(self, path: &Path<O>) -> Result<Arc<Plan>, TooMany> {
        let kept = path.keep(|_| Plans::default());
        let plan = kept.0[self as usize].get_or_init(|| Plan::new(&path.trace, self).map(Arc::new));
        plan.clone()
    }
}

/// The plans of a path, by kind.
#[derive(Debug, Default)]
struct Plans([OnceLock<Result<Arc<Plan>, TooMany>>; 3]);
