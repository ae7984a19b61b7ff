//! Extremes and products at indices that are computed.

use std::marker::PhantomData;

use super::rows::Combine;
use super::{ScatterKernel, Start, operands};
use crate::array::Type;
use crate::error::Misfit;
use crate::plan::kernel::{Kernel, KernelCall};
use crate::plan::kernels::Cell;
use crate::primitives::{self, Fold, Folded, Literal, Write};
use wengert_kernels::region::Kind;

/// What two elements that meet become.
trait Meeting: Copy + Send + Sync {
    const FOLD: Fold;
    fn meet<T: Folded>(x: T, y: T) -> T;
    /// Whether x surely stays as it is.
    fn stays<T: Folded>(x: T, y: T) -> bool;
}

macro_rules! meeting {
    ($name:ident, $fold:expr, $meet:ident, $stays:expr) => {
        #[derive(Clone, Copy)]
        struct $name;
        impl Meeting for $name {
            const FOLD: Fold = $fold;
            #[inline(always)]
            fn meet<T: Folded>(x: T, y: T) -> T {
                x.$meet(y)
            }
            #[inline(always)]
            fn stays<T: Folded>(x: T, y: T) -> bool {
                $stays(x, y)
            }
        }
    };
}
meeting!(Largest, Fold::Max, larger, |x, y| y < x);
meeting!(Smallest, Fold::Min, smaller, |x, y| y > x);
meeting!(Product, Fold::Mul, times, |_, _| false);

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
    fn keeps(sum: T, update: T) -> bool {
        M::stays(sum, update)
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
    /// Whether updates meet what is there, because they do or because that changes nothing.
    include: bool,
}

impl ScatterReduceKernel {
    /// `fill` is what every element of the array is, if that is known: then it is no operand.
    pub(in super::super) fn new(
        op: &primitives::ScatterReduce,
        x: &Type,
        indices: &Type,
        fill: Option<Literal>,
    ) -> Self {
        let scatter = ScatterKernel::new(&op.scatter(Write::Set), x, indices, fill);
        let is_neutral = |fill: Literal| match scatter.kind {
            Kind::F64 => f64::of_literal(fill) == f64::neutral(op.fold),
            Kind::F32 => f32::of_literal(fill) == f32::neutral(op.fold),
            Kind::I64 => i64::of_literal(fill) == i64::neutral(op.fold),
            Kind::U8 => false,
        };
        let include = op.include || fill.is_some_and(is_neutral);
        ScatterReduceKernel { scatter, fold: op.fold, include }
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
