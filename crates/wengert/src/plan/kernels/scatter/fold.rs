//! Extremes and products at indices that are computed.

use std::marker::PhantomData;

use super::rows::Combine;
use super::{ScatterKernel, Start, operands};
use crate::array::Type;
use crate::error::Misfit;
use crate::plan::kernel::{Kernel, KernelCall};
use crate::plan::kernels::Cell;
use crate::primitives::{self, Fold, Folded, Write};
use wengert_kernels::region::Kind;

/// What two elements that meet become.
trait Meeting: Copy + Send + Sync {
    const FOLD: Fold;
    fn meet<T: Folded>(x: T, y: T) -> T;
}

macro_rules! meeting {
    ($name:ident, $fold:expr, $meet:ident) => {
        #[derive(Clone, Copy)]
        struct $name;
        impl Meeting for $name {
            const FOLD: Fold = $fold;
            #[inline(always)]
            fn meet<T: Folded>(x: T, y: T) -> T {
                x.$meet(y)
            }
        }
    };
}
meeting!(Largest, Fold::Max, larger);
meeting!(Smallest, Fold::Min, smaller);
meeting!(Product, Fold::Mul, times);

/// Updates meet their elements.
#[derive(Clone, Copy)]
struct Met<T, M>(PhantomData<(T, M)>);

impl<T: Cell + Folded, M: Meeting> Combine for Met<T, M> {
    type Item = T;
    type Sum = T;
    #[inline(always)]
    fn widen(x: T) -> T {
        x
    }
    #[inline(always)]
    fn take(sum: T, update: T) -> T {
        M::meet(sum, update)
    }
    #[inline(always)]
    fn narrow(sum: T) -> T {
        sum
    }
}

/// The kernel: the pieces, the rows and the order of a [`ScatterKernel`], each element with what it meets.
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
            Fold::Max => self.fold_by::<T, Largest>(call),
            Fold::Min => self.fold_by::<T, Smallest>(call),
            Fold::Mul => self.fold_by::<T, Product>(call),
        }
    }

    fn fold_by<T: Cell + Folded, M: Meeting>(&self, call: KernelCall<'_, '_>) -> Result<(), Misfit> {
        let (scatter, operands) = (&self.scatter, operands::<T>(call.args));
        if let Some(rows) = scatter.rows {
            let mut start = scatter.start::<T>(call.args);
            if !self.include {
                let out = T::of_mut(&mut call.outs[0]);
                start.begin(0, out);
                rows.fill(&scatter.places, operands.0, T::neutral(M::FOLD), out);
                start = Start::There;
            }
            return rows.plain::<T, Met<T, M>>(&scatter.places, call, start);
        }
        scatter.pieces::<T>(call, |missing, out, piece, item, _| {
            if !self.include {
                scatter.for_each_run(missing, &piece, item, operands, |run, place| {
                    out[place..][..run.len()].fill(T::neutral(M::FOLD));
                });
            }
            scatter.for_each_run(missing, &piece, item, operands, |run, place| {
                let met = out[place..][..run.len()].iter_mut().zip(run);
                met.for_each(|(out, &update)| *out = M::meet(*out, update));
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
    fn workspace(&self, threads: usize) -> usize {
        self.scatter.workspace(threads)
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
