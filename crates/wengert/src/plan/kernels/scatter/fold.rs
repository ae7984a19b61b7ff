//! Extremes and products at indices that are computed.

use super::{ScatterKernel, operands};
use crate::array::Type;
use crate::error::Misfit;
use crate::plan::kernel::{Kernel, KernelCall};
use crate::plan::kernels::Cell;
use crate::primitives::{self, Fold, Folded, Write};
use wengert_kernels::region::Kind;

/// The kernel: the pieces and the order of a [`ScatterKernel`], each element with what it meets.
#[derive(Clone, Debug)]
pub(in super::super) struct ScatterReduceKernel {
    scatter: ScatterKernel,
    fold: Fold,
    include: bool,
}

impl ScatterReduceKernel {
    pub(in super::super) fn new(op: &primitives::ScatterReduce, x: &Type, indices: &Type) -> Self {
        let scatter = ScatterKernel::new(&op.scatter(Write::Set), x, indices, None);
        ScatterReduceKernel { scatter, fold: op.fold, include: op.include }
    }

    fn fold<T: Cell + Folded>(&self, call: KernelCall<'_, '_>) -> Result<(), Misfit> {
        match self.fold {
            Fold::Max => self.fold_by(call, T::larger),
            Fold::Min => self.fold_by(call, T::smaller),
            Fold::Mul => self.fold_by(call, T::times),
        }
    }

    fn fold_by<T: Cell + Folded>(
        &self,
        call: KernelCall<'_, '_>,
        meet: impl Fn(T, T) -> T + Sync,
    ) -> Result<(), Misfit> {
        let (scatter, operands, neutral) = (&self.scatter, operands::<T>(call.args), T::neutral(self.fold));
        scatter.pieces::<T>(call, |missing, out, piece, item, _| {
            if !self.include {
                scatter.for_each_run(missing, &piece, item, operands, |run, place| {
                    out[place..][..run.len()].fill(neutral);
                });
            }
            scatter.for_each_run(missing, &piece, item, operands, |run, place| {
                let met = out[place..][..run.len()].iter_mut().zip(run);
                met.for_each(|(out, &update)| *out = meet(*out, update));
            });
        })
    }
}

impl Kernel for ScatterReduceKernel {
    fn name(&self) -> String {
        match self.fold {
            Fold::Max => "scatter_max",
            Fold::Min => "scatter_min",
            Fold::Mul => "scatter_mul",
        }
        .to_owned()
    }
    fn in_place(&self) -> &[(u16, u16)] {
        self.scatter.in_place()
    }
    fn operations(&self) -> usize {
        self.scatter.operations()
    }
    fn run(&self, call: KernelCall<'_, '_>) -> Result<(), Misfit> {
        match self.scatter.kind {
            Kind::F64 => self.fold::<f64>(call),
            Kind::F32 => self.fold::<f32>(call),
            Kind::I64 => self.fold::<i64>(call),
            Kind::U8 => unreachable!("inference refuses truth values"),
        }
    }
}
