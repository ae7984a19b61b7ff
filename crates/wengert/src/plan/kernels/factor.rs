//! Factorisations of matrices, and triangular systems.
//!
//! They are computed in the element type, while the definitions compute in double precision and round: the results agree as
//! far as the conditioning of the problem lets them, and refusals are the definitions'.

use wengert_kernels::Pool;
use wengert_kernels::factor::{self, Failed, Fault, Number, Reads};
use wengert_kernels::region::{Kind, Slice, SliceMut};

use super::copy::copy_all;
use super::{Allocated, Cell, Kernel, KernelCall, original};
use crate::array::Type;
use crate::error::Misfit;
use crate::plan::kernel::kind;
use crate::primitives::linalg::{in_batch, not_positive, plain};
use crate::primitives::{Op, Side, Triangle};

/// A factorisation of every matrix of a batch.
#[derive(Debug)]
pub(super) struct FactorKernel {
    work: FactorWork,
    /// Elements of the results.
    given: usize,
    kind: Kind,
    /// The axes of the batch.
    lead: Vec<usize>,
    name: String,
}

/// Which one it is.
#[derive(Clone, Copy, Debug)]
enum FactorWork {
    Cholesky(factor::Cholesky),
    CholeskyTangent(factor::CholeskyTangent),
    Solve(factor::Solve),
    Lu(factor::Lu),
    LuTangent(factor::LuTangent),
    Qr(factor::Qr),
    Eigh(factor::Eigh),
    Svd(factor::Svd),
    Det(factor::Determinants),
    Cofactors(factor::Cofactors),
}

impl FactorKernel {
    /// The kernel of an operation on such operands, if there is one.
    pub(super) fn new(op: &Op, args: &[&Type], outs: &[Type]) -> Option<Self> {
        let [lead @ .., rows, columns] = &args[0].shape[..] else { return None };
        let (rows, columns, count) = (*rows, *columns, lead.iter().product());
        let work = match op {
            Op::Cholesky(_) => FactorWork::Cholesky(factor::Cholesky { n: rows, count, reads: Reads::Mean }),
            Op::CholeskyTangent(op) => {
                FactorWork::CholeskyTangent(factor::CholeskyTangent { n: rows, count, transposed: op.transpose })
            }
            Op::Lu(_) => FactorWork::Lu(factor::Lu { rows, columns, count }),
            Op::LuTangent(op) => FactorWork::LuTangent(factor::LuTangent { n: rows, count, transposed: op.transpose }),
            Op::Qr(_) => FactorWork::Qr(factor::Qr { rows, columns, count }),
            Op::Eigh(_) => FactorWork::Eigh(factor::Eigh { n: rows, count, reads: Reads::Mean }),
            Op::Svd(_) => FactorWork::Svd(factor::Svd { rows, columns, count }),
            Op::Det(_) => FactorWork::Det(factor::Determinants { n: rows, count }),
            Op::Cofactor(_) => FactorWork::Cofactors(factor::Cofactors { n: rows, count }),
            Op::TriangularSolve(op) => {
                let (side, at) = match op.side {
                    Side::Left => (factor::Side::Left, 1),
                    Side::Right => (factor::Side::Right, 2),
                };
                let triangle = match op.triangle {
                    Triangle::Lower => factor::Triangle::Lower,
                    Triangle::Upper => factor::Triangle::Upper,
                };
                let columns = args[1].shape[args[1].shape.len() - at];
                let (transposed, unit) = (op.transpose, op.unit);
                FactorWork::Solve(factor::Solve { n: rows, columns, count, triangle, side, transposed, unit })
            }
            _ => return None,
        };
        let given = outs.iter().map(Type::size).sum();
        Some(FactorKernel { work, given, kind: kind(args[0].dtype), lead: lead.to_vec(), name: op.name().into_owned() })
    }

    /// What the definition says of such a matrix.
    fn refused(&self, failed: Failed) -> Misfit {
        let why = match failed.fault {
            Fault::NotFinite { row, column, entry } => format!("the element [{row}, {column}] is {entry}"),
            Fault::NotPositive { minor } => not_positive(minor),
            Fault::Singular { pivot } => plain::singular(pivot),
            Fault::NoConvergence => "the rotations do not end".to_owned(),
        };
        Misfit(why + &in_batch(&self.lead, failed.index))
    }

    fn scratch<T: Number>(&self, threads: usize) -> usize {
        match self.work {
            FactorWork::Cholesky(work) => work.workspace::<T>(threads),
            FactorWork::CholeskyTangent(work) => work.workspace::<T>(threads),
            FactorWork::Solve(work) => work.workspace::<T>(threads),
            FactorWork::Lu(work) => work.workspace::<T>(threads),
            FactorWork::LuTangent(work) => work.workspace::<T>(threads),
            FactorWork::Qr(work) => work.workspace::<T>(threads),
            FactorWork::Eigh(work) => work.workspace::<T>(threads),
            FactorWork::Svd(work) => work.workspace::<T>(threads),
            FactorWork::Det(work) => work.workspace::<T>(threads),
            FactorWork::Cofactors(work) => work.workspace::<T>(threads),
        }
    }

    fn own<T: Number>(&self, threads: usize) -> Allocated {
        let of_factors =
            |factors: usize| Allocated { factors: factors.saturating_mul(threads), ..Allocated::default() };
        match self.work {
            FactorWork::Cholesky(work) => work.library::<T>(threads).into(),
            FactorWork::CholeskyTangent(work) => work.library::<T>(threads).into(),
            FactorWork::LuTangent(work) => work.library::<T>(threads).into(),
            FactorWork::Solve(work) => work.library::<T>(threads).into(),
            FactorWork::Lu(work) => work.library::<T>(threads).into(),
            FactorWork::Det(work) => work.library::<T>(threads).into(),
            FactorWork::Qr(work) => {
                let products: Allocated = work.library::<T>(threads).into();
                Allocated { factors: of_factors(work.packing::<T>()).factors, ..products }
            }
            FactorWork::Cofactors(work) => {
                let products: Allocated = work.library::<T>(threads).into();
                let factors = of_factors(work.packing::<T>()).factors;
                Allocated { factors, definitions: work.definition(), ..products }
            }
            FactorWork::Eigh(work) => {
                let products: Allocated = work.library::<T>(threads).into();
                Allocated { factors: of_factors(work.packing::<T>()).factors, ..products }
            }
            FactorWork::Svd(work) => of_factors(work.packing::<T>()),
        }
    }

    fn run_in<T: Cell + Number>(&self, call: KernelCall<'_, '_>) -> Result<(), Failed> {
        let KernelCall { args, outs, workspace, pool, .. } = call;
        match (self.work, outs) {
            (FactorWork::Cholesky(work), [l]) => work.run(worked_on::<T>(&args[0], l, pool), workspace, pool),
            (FactorWork::CholeskyTangent(work), [x]) => {
                work.run(T::of(&args[0]), worked_on::<T>(&args[1], x, pool), workspace, pool)
            }
            (FactorWork::Solve(work), [x]) => {
                work.run(T::of(&args[0]), worked_on::<T>(&args[1], x, pool), workspace, pool)
            }
            (FactorWork::Lu(work), [l, u, order]) => {
                work.run(T::of(&args[0]), T::of_mut(l), T::of_mut(u), i64::of_mut(order), workspace, pool)
            }
            (FactorWork::LuTangent(work), [x]) => {
                let x = worked_on::<T>(&args[2], x, pool);
                work.run(T::of(&args[0]), T::of(&args[1]), x, workspace, pool)
            }
            (FactorWork::Qr(work), [q, r]) => work.run(T::of(&args[0]), T::of_mut(q), T::of_mut(r), workspace, pool),
            (FactorWork::Eigh(work), [values, vectors]) => {
                let vectors = worked_on::<T>(&args[0], vectors, pool);
                work.run(vectors, T::of_mut(values), workspace, pool)
            }
            (FactorWork::Svd(work), [u, values, vt]) => {
                work.run(T::of(&args[0]), T::of_mut(u), T::of_mut(values), T::of_mut(vt), workspace, pool)
            }
            (FactorWork::Det(work), [det]) => work.run(T::of(&args[0]), T::of_mut(det), workspace, pool),
            (FactorWork::Cofactors(work), [c]) => work.run(T::of(&args[0]), T::of_mut(c), workspace, pool),
            (work, outs) => unreachable!("{work:?} has not {} results", outs.len()),
        }
    }
}

/// A result that holds the operand, which is worked on in place.
fn worked_on<'a, T: Cell>(arg: &Slice<'_>, out: &'a mut SliceMut<'_>, pool: &Pool) -> &'a mut [T] {
    let out = T::of_mut(out);
    if let Some(arg) = original::<T>(arg) {
        copy_all(pool, arg, out);
    }
    out
}

impl Kernel for FactorKernel {
    fn name(&self) -> String {
        self.name.clone()
    }
    fn workspace(&self, threads: usize) -> usize {
        if self.kind == Kind::F32 { self.scratch::<f32>(threads) } else { self.scratch::<f64>(threads) }
    }
    fn allocated(&self, threads: usize) -> Allocated {
        if self.kind == Kind::F32 { self.own::<f32>(threads) } else { self.own::<f64>(threads) }
    }
    fn in_place(&self) -> &[(u16, u16)] {
        match self.work {
            FactorWork::Cholesky(_) => &[(0, 0)],
            FactorWork::Solve(_) | FactorWork::CholeskyTangent(_) => &[(1, 0)],
            FactorWork::LuTangent(_) => &[(2, 0)],
            FactorWork::Eigh(_) => &[(0, 1)],
            FactorWork::Lu(_) | FactorWork::Qr(_) | FactorWork::Svd(_) => &[],
            FactorWork::Det(_) | FactorWork::Cofactors(_) => &[],
        }
    }
    /// Multiplications, of the leading terms (G. H. Golub, C. F. Van Loan, *Matrix Computations*, 2013).
    fn operations(&self) -> usize {
        let cube = |m: usize, n: usize| m.saturating_mul(n).saturating_mul(m.min(n));
        let computed = match self.work {
            FactorWork::Cholesky(work) => cube(work.n, work.n) / 6 * work.count,
            FactorWork::CholeskyTangent(work) => cube(work.n, work.n) / 3 * work.count,
            FactorWork::Solve(work) => work.n * work.n / 2 * work.columns * work.count,
            FactorWork::Lu(work) => cube(work.rows, work.columns) / 3 * work.count,
            FactorWork::Det(work) => cube(work.n, work.n) / 3 * work.count,
            FactorWork::LuTangent(work) => cube(work.n, work.n) / 3 * 2 * work.count,
            // The factors and the two systems of a regular matrix.
            FactorWork::Cofactors(work) => cube(work.n, work.n) / 3 * 4 * work.count,
            FactorWork::Qr(work) => cube(work.rows, work.columns) * 2 * work.count,
            FactorWork::Eigh(work) => cube(work.n, work.n) * 9 * work.count,
            FactorWork::Svd(work) => cube(work.rows, work.columns) * 20 * work.count,
        };
        self.given + computed
    }
    fn note(&self) -> Option<&'static str> {
        let order = match self.work {
            FactorWork::Eigh(work) if work.is_shared() => return Some("brought to tridiagonal form on one thread"),
            FactorWork::Qr(work) if !work.is_shared() => work.rows.max(work.columns),
            FactorWork::Eigh(work) => work.n,
            FactorWork::Svd(work) => work.rows.max(work.columns),
            _ => 0,
        };
        (order > factor::SMALL).then_some("each matrix on one thread")
    }
    fn run(&self, call: KernelCall<'_, '_>) -> Result<(), Misfit> {
        let result = if self.kind == Kind::F32 { self.run_in::<f32>(call) } else { self.run_in::<f64>(call) };
        result.map_err(|failed| self.refused(failed))
    }
}
