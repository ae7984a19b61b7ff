//! Operations that run by their definition: one thread, no workspace of its own.

use wengert_kernels::region::{Slice, SliceMut};

use super::{Kernel, KernelCall};
use crate::array::{Array, Data, Type};
use crate::error::Misfit;
use crate::primitives::Op;
use crate::program::by_definition;

/// An operation without a kernel of its own: [`reference_steps`](crate::reference_steps) counts each of its runs.
#[derive(Clone, Debug)]
pub(super) struct DefinedKernel {
    op: Op,
    args: Vec<Type>,
}

impl DefinedKernel {
    pub(super) fn new(op: &Op, args: &[&Type]) -> Self {
        DefinedKernel { op: op.clone(), args: args.iter().map(|&ty| ty.clone()).collect() }
    }
}

/// An operand as an array.
fn array(slice: &Slice<'_>, shape: &[usize]) -> Array {
    match slice {
        Slice::U8(x) => Array::new(shape, x.iter().map(|&x| x != 0).collect::<Vec<bool>>()),
        Slice::I64(x) => Array::new(shape, x.to_vec()),
        Slice::F32(x) => Array::new(shape, x.to_vec()),
        Slice::F64(x) => Array::new(shape, x.to_vec()),
        Slice::Output(_) => unreachable!("no operand is overwritten"),
    }
}

/// Copies a result to its place.
fn write(out: &mut SliceMut<'_>, result: &Array) {
    match (out, result.data()) {
        (SliceMut::U8(out), Data::Bool(x)) => out.iter_mut().zip(x.iter()).for_each(|(out, &x)| *out = x.into()),
        (SliceMut::I64(out), Data::I64(x)) => out.copy_from_slice(x),
        (SliceMut::F32(out), Data::F32(x)) => out.copy_from_slice(x),
        (SliceMut::F64(out), Data::F64(x)) => out.copy_from_slice(x),
        _ => unreachable!("a result has the type that was inferred"),
    }
}

impl Kernel for DefinedKernel {
    fn name(&self) -> String {
        self.op.name().into_owned()
    }
    fn operations(&self) -> usize {
        // The order of a factorisation: elements times the length of a row.
        let one = |ty: &Type| ty.size() * ty.shape.last().copied().unwrap_or(1);
        self.args.iter().map(one).sum()
    }
    fn run(&self, call: KernelCall<'_, '_>) -> Result<(), Misfit> {
        let args: Vec<Array> = call.args.iter().zip(&self.args).map(|(slice, ty)| array(slice, &ty.shape)).collect();
        let results = by_definition(&self.op, &args.iter().collect::<Vec<&Array>>())?;
        call.outs.iter_mut().zip(&results).for_each(|(out, result)| write(out, result));
        Ok(())
    }
}
