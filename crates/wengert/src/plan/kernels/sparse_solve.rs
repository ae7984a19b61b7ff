//! Systems with sparse matrices: the structure of the factors is found once for each pattern, and factors are kept.
//!
//! Factors are no arrays: with pivots their size is known only when they are there. So they are not results of an equation; a
//! system asks for those of its matrix, and finds them if they were made, which is told by the bits of all its numbers. The
//! systems of a value and its gradient, forward and transposed, then have one factorisation, and so have the steps of a loop
//! with one matrix. What is found and what is made again are the same bits.

use std::any::Any;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex, OnceLock, PoisonError, Weak};

use wengert_kernels::factor::Number;
use wengert_kernels::parallel::for_chunks;
use wengert_kernels::region::Kind;
use wengert_kernels::sparse::{Analysis, Factors, SparseFault, SparseKind};

use super::copy::copy_all;
use super::{Cell, Kernel, KernelCall, original};
use crate::array::Type;
use crate::error::Misfit;
use crate::plan::kernel::kind;
use crate::primitives::linalg::in_batch;
use crate::primitives::sparse::Refusal;
use crate::primitives::{MatrixKind, SharedPattern, SparseSolve};

/// Numbers in the factors of one pattern that are kept besides the newest ones: 256 MiB in double precision.
const MOST_KEPT: usize = 1 << 25;

/// How many patterns were analysed, and how many matrices factored, in this process.
static COUNTS: [AtomicU64; 2] = [AtomicU64::new(0), AtomicU64::new(0)];

/// How many patterns were analysed, and how many matrices factored.
pub(crate) fn sparse_counts() -> [u64; 2] {
    [0, 1].map(|k| COUNTS[k].load(Ordering::Relaxed))
}

/// A system for every matrix of a batch.
#[derive(Debug)]
pub(super) struct SparseSolveKernel {
    matrices: Arc<Matrices>,
    transpose: bool,
    kind: Kind,
    /// The axes of the batch.
    lead: Vec<usize>,
    columns: usize,
}

/// All matrices of a pattern.
struct Matrices {
    pattern: SharedPattern,
    kind: MatrixKind,
    analysis: OnceLock<Result<Analysis, SparseFault>>,
    /// How many matrices were factored.
    made: AtomicU64,
    /// About how many numbers the factors of one matrix have.
    size: OnceLock<usize>,
    /// Factors, the newest last.
    kept: Mutex<Vec<Arc<dyn Any + Send + Sync>>>,
}

impl SparseSolveKernel {
    pub(super) fn new(op: &SparseSolve, args: &[&Type]) -> Self {
        let [lead @ .., _, columns] = &args[1].shape[..] else { unreachable!("inference asks for a matrix") };
        SparseSolveKernel {
            matrices: Matrices::of(&op.pattern, op.kind),
            transpose: op.transpose,
            kind: kind(args[0].dtype),
            lead: lead.to_vec(),
            columns: *columns,
        }
    }

    fn run_in<T: Cell + Number>(&self, call: KernelCall<'_, '_>) -> Result<(), (usize, SparseFault)> {
        let KernelCall { args, outs, pool, .. } = call;
        let x = T::of_mut(&mut outs[0]);
        if let Some(b) = original::<T>(&args[1]) {
            copy_all(pool, b, x);
        }
        let (count, size) = (self.matrices.pattern.nnz(), self.matrices.pattern.rows() * self.columns);
        if size == 0 {
            return Ok(());
        }
        let (values, first) = (T::of(&args[0]), Mutex::new(None::<(usize, SparseFault)>));
        for_chunks(pool, x, size, |k, x| {
            let solved = self.matrices.solve(&values[k * count..][..count], self.transpose, (x, self.columns));
            if let Err(fault) = solved {
                let mut first = first.lock().unwrap_or_else(PoisonError::into_inner);
                if first.is_none_or(|(other, _)| k < other) {
                    *first = Some((k, fault));
                }
            }
        });
        first.into_inner().unwrap_or_else(PoisonError::into_inner).map_or(Ok(()), Err)
    }
}

impl Matrices {
    /// Those of a pattern: what was found out about it is kept as long as a plan has a system with it.
    fn of(pattern: &SharedPattern, kind: MatrixKind) -> Arc<Matrices> {
        static KNOWN: LazyLock<Mutex<Vec<Weak<Matrices>>>> = LazyLock::new(|| Mutex::new(Vec::new()));
        let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        known.retain(|matrices| matrices.strong_count() > 0);
        let mut all = known.iter().filter_map(Weak::upgrade);
        if let Some(found) = all.find(|own| own.kind == kind && own.pattern == *pattern) {
            return found;
        }
        let (analysis, made, size, kept) = Default::default();
        let matrices = Arc::new(Matrices { pattern: pattern.clone(), kind, analysis, made, size, kept });
        known.push(Arc::downgrade(&matrices));
        matrices
    }

    fn analysis(&self) -> Result<&Analysis, SparseFault> {
        let analysed = self.analysis.get_or_init(|| {
            COUNTS[0].fetch_add(1, Ordering::Relaxed);
            let kind = match self.kind {
                MatrixKind::General => SparseKind::General,
                MatrixKind::Positive => SparseKind::Positive,
            };
            Analysis::new(self.pattern.starts(), self.pattern.columns(), kind)
        });
        analysed.as_ref().map_err(|&fault| fault)
    }

    fn solve<T: Number>(
        &self,
        values: &[T],
        transpose: bool,
        (x, columns): (&mut [T], usize),
    ) -> Result<(), SparseFault> {
        let analysis = self.analysis()?;
        let factors = match self.found(values) {
            Some(factors) => factors,
            None => {
                COUNTS[1].fetch_add(1, Ordering::Relaxed);
                self.made.fetch_add(1, Ordering::Relaxed);
                let factors = Arc::new(analysis.factors(values)?);
                self.keep(Arc::clone(&factors) as Arc<dyn Any + Send + Sync>);
                factors
            }
        };
        analysis.solve(&factors, transpose, x, columns)
    }

    /// The factors of the matrix with these numbers, if they are kept; they are the newest then.
    fn found<T: Number>(&self, values: &[T]) -> Option<Arc<Factors<T>>> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let fits = |factors: &Arc<dyn Any + Send + Sync>| {
            factors.downcast_ref::<Factors<T>>().is_some_and(|factors| factors.are_of(values))
        };
        let place = kept.iter().rposition(fits)?;
        let factors = kept.remove(place);
        kept.push(Arc::clone(&factors));
        factors.downcast().ok()
    }

    fn keep(&self, factors: Arc<dyn Any + Send + Sync>) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.push(factors);
        if kept.len() > 1 {
            let most = 1 + MOST_KEPT / self.size.get_or_init(|| self.estimated()).max(&1);
            let over = kept.len().saturating_sub(most);
            kept.drain(..over);
        }
    }

    /// About how many numbers factors have: those of the lower triangle of the symmetric pattern, or, with pivots, a few times as
    /// many, which the library does not tell.
    fn estimated(&self) -> usize {
        match self.analysis() {
            Ok(analysis) => analysis.estimated_size(),
            Err(_) => usize::MAX,
        }
    }
}

/// Sizes and counts alone.
impl fmt::Debug for Matrices {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let made = self.made.load(Ordering::Relaxed);
        write!(f, "{:?} {:?}, of which {made} were factored", self.kind, self.pattern)
    }
}

/// What the definition says, where it is known: the row of a pivot depends on the order of the rows.
fn refusal(fault: SparseFault, values: impl Fn(usize) -> f64) -> Refusal {
    match fault {
        SparseFault::NotFinite { entry } => Refusal::NotFinite { entry, value: values(entry) },
        SparseFault::Singular { row } => Refusal::Singular { row },
        SparseFault::NotPositive { row } => Refusal::NotPositive { row },
        SparseFault::Overflow => Refusal::Overflow,
        SparseFault::Memory => Refusal::Memory,
    }
}

impl Kernel for SparseSolveKernel {
    fn name(&self) -> String {
        "sparse_solve".to_owned()
    }
    fn in_place(&self) -> &[(u16, u16)] {
        &[(1, 0)]
    }
    /// As of five points of a square: about eight multiplications for each entry and each halving of the square, and as many for
    /// each right-hand side as there are entries.
    fn operations(&self) -> usize {
        let (order, entries) = (self.matrices.pattern.rows(), self.matrices.pattern.nnz());
        let one = entries.saturating_mul(8 * (order.max(2).ilog2() as usize + self.columns));
        one.saturating_mul(self.lead.iter().product())
    }
    fn run(&self, call: KernelCall<'_, '_>) -> Result<(), Misfit> {
        let values = call.args[0];
        let result = if self.kind == Kind::F32 { self.run_in::<f32>(call) } else { self.run_in::<f64>(call) };
        result.map_err(|(k, fault)| {
            let pattern = &self.matrices.pattern;
            let value = |entry: usize| match self.kind {
                Kind::F32 => f64::from(f32::of(&values)[k * pattern.nnz() + entry]),
                Kind::F64 | Kind::I64 | Kind::U8 => f64::of(&values)[k * pattern.nnz() + entry],
            };
            Misfit(refusal(fault, value).told(pattern) + &in_batch(&self.lead, k))
        })
    }
}

#[cfg(test)]
mod tests;
