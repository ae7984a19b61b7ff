//! Divisions by the gaps of a spectrum, and derivatives of its values: each matrix as the definition computes it.

use std::sync::Mutex;

use wengert_kernels::Float;
use wengert_kernels::parallel::for_chunks;
use wengert_kernels::region::Kind;

use super::{Cell, Kernel, KernelCall, rows_per_part};
use crate::array::Type;
use crate::error::Misfit;
use crate::plan::kernel::kind;
use crate::primitives::linalg::in_batch;
use crate::primitives::{Clusters, Op, Primitive, Separate};

/// One of both, of every matrix of a batch.
#[derive(Debug)]
pub(super) struct GapsKernel {
    work: GapsWork,
    /// Elements of the first operand and of the result, of one matrix; and its number of values.
    sizes: [usize; 2],
    values: usize,
    /// Elements that are read or written.
    operations: usize,
    ty: Type,
    /// The axes of the batch.
    lead: Vec<usize>,
}

/// Which one it is.
#[derive(Clone, Copy, Debug)]
enum GapsWork {
    Separate(Separate),
    Clusters(Clusters),
}

impl GapsKernel {
    pub(super) fn new(op: &Op, args: &[&Type], out: &Type) -> Self {
        let work = match op {
            Op::Separate(op) => GapsWork::Separate(*op),
            Op::Clusters(op) => GapsWork::Clusters(*op),
            _ => unreachable!("{op:?} has no gaps"),
        };
        let (values, lead) = args[1].shape.split_last().expect("inference asks for a vector for each matrix");
        let count: usize = lead.iter().product();
        let sizes = [args[0], out].map(|ty| ty.size() / count.max(1));
        let operations = args[0].size() + out.size();
        GapsKernel { work, sizes, values: *values, operations, ty: args[0].clone(), lead: lead.to_vec() }
    }

    /// One matrix, by its operands.
    fn one<T: Cell + Into<f64>>(
        &self,
        p: &[T],
        w: &[T],
        counts: Option<&[u8]>,
        give: impl FnMut(f64),
    ) -> Result<(), String> {
        match self.work {
            GapsWork::Separate(op) => {
                op.divide(p, w, |j| counts.is_none_or(|counts| counts[j] != 0), self.ty.dtype, give)
            }
            GapsWork::Clusters(op) => op.checked(p, w, self.ty.dtype, give),
        }
    }

    fn run_in<T: Cell + Float + Into<f64>>(&self, call: KernelCall<'_, '_>) -> Result<(), Misfit> {
        let (p, w) = (T::of(&call.args[0]), T::of(&call.args[1]));
        let counts = call.args.get(2).map(u8::of);
        let ([size, results], n) = (self.sizes, self.values);
        let together = rows_per_part(size.max(results));
        // The first matrix that is refused, with the reason.
        let refused = Mutex::new(None);
        for_chunks(call.pool, T::of_mut(&mut call.outs[0]), (together * results).max(1), |part, out| {
            for (k, out) in out.chunks_exact_mut(results).enumerate().map(|(k, out)| (part * together + k, out)) {
                let mut places = out.iter_mut();
                let give = |x: f64| *places.next().expect("as many as the result has") = T::from_f64(x);
                let counts = counts.map(|counts| &counts[k * n..(k + 1) * n]);
                if let Err(why) = self.one(&p[k * size..(k + 1) * size], &w[k * n..(k + 1) * n], counts, give) {
                    let mut first = refused.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                    if first.as_ref().is_none_or(|(first, _)| k < *first) {
                        *first = Some((k, why));
                    }
                    return;
                }
            }
        });
        match refused.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner) {
            Some((k, why)) => Err(Misfit(why + &in_batch(&self.lead, k))),
            None => Ok(()),
        }
    }
}

impl Kernel for GapsKernel {
    fn name(&self) -> String {
        match self.work {
            GapsWork::Separate(op) => op.name().into_owned(),
            GapsWork::Clusters(op) => op.name().into_owned(),
        }
    }
    fn operations(&self) -> usize {
        self.operations
    }
    fn run(&self, call: KernelCall<'_, '_>) -> Result<(), Misfit> {
        if kind(self.ty.dtype) == Kind::F32 { self.run_in::<f32>(call) } else { self.run_in::<f64>(call) }
    }
}
