//! A condition that has to hold.

use wengert_kernels::region::{Kind, Slice};

use super::copy::copy_all;
use super::{Cell, Kernel, KernelCall, for_kind, original};
use crate::array::Type;
use crate::error::Misfit;
use crate::plan::kernel::kind;
use crate::primitives::{Ensure, told};

/// The first operand, if all of the second is true.
#[derive(Clone, Debug)]
pub(super) struct EnsureKernel {
    op: Ensure,
    kind: Kind,
    size: usize,
    /// The shape of what has to hold.
    shape: Vec<usize>,
}

impl EnsureKernel {
    pub(super) fn new(op: &Ensure, x: &Type, holds: &Type) -> Self {
        EnsureKernel { op: op.clone(), kind: kind(x.dtype), size: x.size(), shape: holds.shape.clone() }
    }
}

/// The number at a place of a detail.
fn detail(of: &Slice<'_>, place: usize) -> String {
    match of {
        Slice::U8(x) => (x[place] != 0).to_string(),
        Slice::I64(x) => x[place].to_string(),
        Slice::F32(x) => told(f64::from(x[place])),
        Slice::F64(x) => told(x[place]),
        Slice::Output(_) => unreachable!("the first operand alone is overwritten"),
    }
}

impl Kernel for EnsureKernel {
    fn name(&self) -> String {
        "ensure".to_owned()
    }
    fn in_place(&self) -> &[(u16, u16)] {
        &[(0, 0)]
    }
    fn operations(&self) -> usize {
        self.size
    }
    fn run(&self, call: KernelCall<'_, '_>) -> Result<(), Misfit> {
        if let Some(place) = u8::of(&call.args[1]).iter().position(|&holds| holds == 0) {
            let details = call.args[2..].iter().map(|of| detail(of, place));
            return Err(self.op.refused(&self.shape, place, details));
        }
        for_kind!(self.kind, T => {
            if let Some(x) = original::<T>(&call.args[0]) {
                copy_all(call.pool, x, T::of_mut(&mut call.outs[0]));
            }
        });
        Ok(())
    }
}
