//! [`Factors`]: what systems with one matrix are solved with.

use std::sync::OnceLock;

use faer::Conj;
use faer::dyn_stack::{MemBuffer, MemStack, StackReq};
use faer::linalg::cholesky::llt::factor::{LltError, LltRegularization};
use faer::sparse::SparseColMatRef;
use faer::sparse::linalg::LuError;
use faer::sparse::linalg::cholesky::{LltRef, SymbolicCholesky, SymbolicCholeskyRaw};
use faer::sparse::linalg::lu::{LuRef, NumericLu, SymbolicLu, simplicial};

use super::{Analysis, SparseFault, Symbolic};
use crate::factor::Number;
use crate::factor::library::{self, ALONE};

/// Columns of right-hand sides that are solved together: each entry of the factors is read once for all of them.
const TOGETHER: usize = 16;

/// The factors of a matrix, with the numbers that they are of.
#[derive(Debug)]
pub struct Factors<T> {
    values: Vec<T>,
    numeric: Numeric<T>,
    /// The row without a pivot; looked for when a solution is no number.
    singular: OnceLock<Option<usize>>,
}

#[derive(Debug)]
enum Numeric<T> {
    Lu(Box<NumericLu<usize, T>>),
    Cholesky(Vec<T>),
}

impl<T: Number> Factors<T> {
    /// Whether they are those of the matrix with these numbers, to the bit.
    pub fn are_of(&self, values: &[T]) -> bool {
        self.values.len() == values.len() && self.values.iter().zip(values).all(|(one, other)| one.same_bits(*other))
    }
}

impl Analysis {
    /// The factors of the matrix with these numbers.
    ///
    /// A pivot that is 0 shows when a system is solved.
    ///
    /// # Errors
    /// [`SparseFault::NotFinite`], [`SparseFault::NotPositive`], [`SparseFault::Memory`].
    ///
    /// # Panics
    /// If there are not as many numbers as entries.
    pub fn factors<T: Number>(&self, values: &[T]) -> Result<Factors<T>, SparseFault> {
        T::sparse_factors(self, values)
    }

    pub(crate) fn factors_here<T: Number>(&self, values: &[T]) -> Result<Factors<T>, SparseFault> {
        assert_eq!(values.len(), self.columns.len(), "a number for each entry");
        if let Some(entry) = values.iter().position(|x| !x.finite()) {
            return Err(SparseFault::NotFinite { entry });
        }
        let numeric = match &self.symbolic {
            Symbolic::General(symbolic) => Numeric::Lu(Box::new(self.lu(symbolic, values)?)),
            Symbolic::Positive { cholesky, mirrors } => Numeric::Cholesky(self.cholesky(cholesky, mirrors, values)?),
        };
        Ok(Factors { values: values.to_vec(), numeric, singular: OnceLock::new() })
    }

    fn lu<T: Number>(&self, symbolic: &SymbolicLu<usize>, values: &[T]) -> Result<NumericLu<usize, T>, SparseFault> {
        let mut numeric = NumericLu::new();
        let params = library::auto::<T, _>();
        let mut scratch = scratch(symbolic.factorize_numeric_lu_scratch::<T>(ALONE, params))?;
        let matrix = SparseColMatRef::new(self.matrix(), values);
        let stack = MemStack::new(&mut scratch);
        match symbolic.factorize_numeric_lu(&mut numeric, matrix, ALONE, stack, params) {
            Ok(_) => Ok(numeric),
            Err(LuError::SymbolicSingular { index }) => {
                Err(SparseFault::Singular { row: symbolic.col_perm().arrays().0[index] })
            }
            Err(LuError::Generic(_)) => Err(SparseFault::Memory),
        }
    }

    fn cholesky<T: Number>(
        &self,
        symbolic: &SymbolicCholesky<usize>,
        mirrors: &[usize],
        values: &[T],
    ) -> Result<Vec<T>, SparseFault> {
        let half = T::ONE / (T::ONE + T::ONE);
        let mean: Vec<T> = values.iter().zip(mirrors).map(|(&x, &mirror)| half * x + half * values[mirror]).collect();
        let mut factor = Vec::new();
        factor.try_reserve_exact(symbolic.len_val()).map_err(|_| SparseFault::Memory)?;
        factor.resize(symbolic.len_val(), T::ZERO);
        let params = library::auto::<T, _>();
        let mut scratch = scratch(symbolic.factorize_numeric_llt_scratch::<T>(ALONE, params))?;
        let matrix = SparseColMatRef::new(self.matrix(), &mean[..]);
        let (stack, regular) = (MemStack::new(&mut scratch), LltRegularization::default());
        match symbolic.factorize_numeric_llt(&mut factor, matrix, faer::Side::Upper, regular, ALONE, stack, params) {
            Ok(_) => Ok(factor),
            Err(LltError::NonPositivePivot { index }) => {
                // By columns the library counts from 1, in blocks from 0.
                let step = match symbolic.raw() {
                    SymbolicCholeskyRaw::Simplicial(_) => index - 1,
                    SymbolicCholeskyRaw::Supernodal(_) => index,
                };
                Err(SparseFault::NotPositive { row: symbolic.perm().map_or(step, |order| order.arrays().0[step]) })
            }
        }
    }

    /// Solves `A x = b`, or `A^T x = b`, in place for the columns of b, which is row-major. A column with an entry that is not
    /// finite has NaN as its solution.
    ///
    /// # Errors
    /// [`SparseFault::Singular`], [`SparseFault::Overflow`], [`SparseFault::Memory`].
    ///
    /// # Panics
    /// If the factors are those of another analysis, or b has not that many rows.
    pub fn solve<T: Number>(
        &self,
        factors: &Factors<T>,
        transpose: bool,
        b: &mut [T],
        columns: usize,
    ) -> Result<(), SparseFault> {
        T::sparse_solve(self, factors, transpose, b, columns)
    }

    pub(crate) fn solve_here<T: Number>(
        &self,
        factors: &Factors<T>,
        transpose: bool,
        b: &mut [T],
        columns: usize,
    ) -> Result<(), SparseFault> {
        let order = self.order();
        assert_eq!(b.len(), order * columns, "{columns} right-hand sides of {order} rows");
        if b.is_empty() {
            return Ok(());
        }
        let mut together = Vec::new();
        let most = TOGETHER.min(columns);
        together.try_reserve_exact(order * most).map_err(|_| SparseFault::Memory)?;
        together.resize(order * most, T::ZERO);
        let request = match &self.symbolic {
            Symbolic::General(symbolic) => symbolic.solve_in_place_scratch::<T>(most, ALONE),
            Symbolic::Positive { cholesky, .. } => cholesky.solve_in_place_scratch::<T>(most, ALONE),
        };
        let mut scratch = scratch(request)?;
        for first in (0..columns).step_by(most) {
            let count = most.min(columns - first);
            let x = &mut together[..order * count];
            let mut finite = [true; TOGETHER];
            for (place, column) in x.chunks_exact_mut(order).enumerate() {
                for (row, x) in column.iter_mut().enumerate() {
                    *x = b[row * columns + first + place];
                    finite[place] &= x.finite();
                }
            }
            self.solve_columns(factors, transpose, (&mut *x, count), MemStack::new(&mut scratch));
            for (place, column) in x.chunks_exact(order).enumerate() {
                let mut solved = true;
                for (row, x) in column.iter().enumerate() {
                    b[row * columns + first + place] = if finite[place] { *x } else { T::NAN };
                    solved &= x.finite();
                }
                if finite[place] && !solved {
                    let singular = *factors.singular.get_or_init(|| self.singular(factors));
                    return Err(singular.map_or(SparseFault::Overflow, |row| SparseFault::Singular { row }));
                }
            }
        }
        Ok(())
    }

    /// Columns one behind the other. What is factored is the transposed matrix.
    fn solve_columns<T: Number>(
        &self,
        factors: &Factors<T>,
        transpose: bool,
        (x, columns): (&mut [T], usize),
        stack: &mut MemStack,
    ) {
        let x = library::columns_mut(x, self.order(), columns);
        match (&self.symbolic, &factors.numeric) {
            (Symbolic::General(symbolic), Numeric::Lu(numeric)) => {
                let lu = LuRef::new_unchecked(symbolic, numeric);
                if transpose {
                    lu.solve_in_place_with_conj(Conj::No, x, ALONE, stack);
                } else {
                    lu.solve_transpose_in_place_with_conj(Conj::No, x, ALONE, stack);
                }
            }
            (Symbolic::Positive { cholesky, .. }, Numeric::Cholesky(values)) => {
                LltRef::new(cholesky, values).solve_in_place_with_conj(Conj::No, x, ALONE, stack);
            }
            (Symbolic::General(_), Numeric::Cholesky(_)) | (Symbolic::Positive { .. }, Numeric::Lu(_)) => {
                panic!("the factors are those of another analysis")
            }
        }
    }

    /// The first row in the order of elimination whose pivot is 0. The library does not show the pivots of factors in blocks, so
    /// that the matrix is factored once more, column by column.
    fn singular<T: Number>(&self, factors: &Factors<T>) -> Option<usize> {
        let Symbolic::General(symbolic) = &self.symbolic else { return None };
        let order = self.order();
        let mut permutations = [vec![0; order], vec![0; order]];
        let [forward, back] = &mut permutations;
        let mut lu = simplicial::SimplicialLu::new();
        let mut scratch =
            scratch(simplicial::factorize_simplicial_numeric_lu_scratch::<usize, T>(order, order)).ok()?;
        let matrix = SparseColMatRef::new(self.matrix(), &factors.values[..]);
        let (rows, stack) = (symbolic.col_perm(), MemStack::new(&mut scratch));
        match simplicial::factorize_simplicial_numeric_lu(forward, back, &mut lu, matrix, rows, stack) {
            Ok(()) => {}
            Err(LuError::SymbolicSingular { index }) => return Some(rows.arrays().0[index]),
            Err(LuError::Generic(_)) => return None,
        }
        let upper = lu.u_factor_unsorted();
        let pivots = (0..order).map(|step| upper.val_of_col(step).last().copied());
        let step = pivots.into_iter().position(|pivot| pivot.is_none_or(|pivot| pivot == T::ZERO))?;
        Some(rows.arrays().0[step])
    }
}

fn scratch(request: StackReq) -> Result<MemBuffer, SparseFault> {
    MemBuffer::try_new(request).map_err(|_| SparseFault::Memory)
}
