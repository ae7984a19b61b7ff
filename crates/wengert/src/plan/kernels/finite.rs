//! Matrices that have to be finite.

use wengert_kernels::region::Kind;

use super::copy::copy_all;
use super::{Cell, Kernel, KernelCall, original};
use crate::array::Type;
use crate::error::Misfit;
use crate::plan::kernel::kind;
use crate::primitives::Finite;

/// Entries that are looked at between two branches.
const TOGETHER: usize = 256;

/// The operand, if all its entries are finite.
#[derive(Clone, Debug)]
pub(super) struct FiniteKernel {
    ty: Type,
}

impl FiniteKernel {
    pub(super) fn new(ty: &Type) -> Self {
        FiniteKernel { ty: ty.clone() }
    }

    fn run_in<T: Cell + Into<f64>>(&self, call: KernelCall<'_, '_>) -> Result<(), Misfit> {
        let KernelCall { args, outs, pool, .. } = call;
        let out = T::of_mut(&mut outs[0]);
        let given = original::<T>(&args[0]);
        let entries: &[T] = given.unwrap_or(out);
        // Some at a time without a branch, which is what vectors are for.
        let wrong = |entries: &[T]| entries.iter().fold(false, |wrong, &x| wrong | !x.into().is_finite());
        if entries.chunks(TOGETHER).any(wrong) {
            let place = entries.iter().position(|&x| !x.into().is_finite()).expect("one is not finite");
            return Err(Finite::refused(&self.ty, place, entries[place].into()));
        }
        if let Some(x) = given {
            copy_all(pool, x, out);
        }
        Ok(())
    }
}

impl Kernel for FiniteKernel {
    fn name(&self) -> String {
        "finite".to_owned()
    }
    fn in_place(&self) -> &[(u16, u16)] {
        &[(0, 0)]
    }
    fn operations(&self) -> usize {
        self.ty.size()
    }
    fn run(&self, call: KernelCall<'_, '_>) -> Result<(), Misfit> {
        if kind(self.ty.dtype) == Kind::F32 { self.run_in::<f32>(call) } else { self.run_in::<f64>(call) }
    }
}
