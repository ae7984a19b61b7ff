//! Operations that run by their definition, where no kernel does their work.

use wengert_kernels::region::{Slice, SliceMut};

use super::{Allocated, Kernel, KernelCall};
use crate::array::{Array, Type};
use crate::error::Misfit;
use crate::plan::kernel::bytes;
use crate::primitives::Op;
use crate::program::defined;

/// An operation as its definition computes it: one thread, on copies of its operands.
///
/// It is right, slow, and allocates while it runs: copies of its operands, its results, and what the operation says
/// ([`Primitive::defined_bytes`]). Each run counts as a step of the reference executor
/// ([`reference_steps`](crate::reference_steps)).
#[derive(Clone, Debug)]
pub(super) struct DefinedKernel {
    op: Op,
    args: Vec<Type>,
    operations: usize,
}

impl DefinedKernel {
    /// For operands of these types; `operations` is about how many operations on elements the definition takes.
    pub(super) fn new(op: impl Into<Op>, args: &[&Type], operations: usize) -> Self {
        DefinedKernel { op: op.into(), args: args.iter().map(|&ty| ty.clone()).collect(), operations }
    }
}

/// A copy of an operand.
pub(super) fn copied(from: &Slice<'_>, ty: &Type) -> Array {
    match from {
        Slice::U8(x) => Array::new(&ty.shape, x.iter().map(|&x| x != 0).collect::<Vec<bool>>()),
        Slice::I64(x) => Array::new(&ty.shape, x.to_vec()),
        Slice::F32(x) => Array::new(&ty.shape, x.to_vec()),
        Slice::F64(x) => Array::new(&ty.shape, x.to_vec()),
        Slice::Output(_) => unreachable!("no operand is overwritten"),
    }
}

impl Kernel for DefinedKernel {
    fn name(&self) -> String {
        format!("{}, by its definition", self.op.name())
    }
    fn operations(&self) -> usize {
        self.operations
    }
    fn allocated(&self, _: usize) -> Allocated {
        let args: Vec<&Type> = self.args.iter().collect();
        let results = self.op.infer(&args).expect("the operation was made of such operands");
        let copies: usize = args.iter().copied().chain(&results).map(bytes).sum();
        Allocated::by_definition(copies + self.op.defined_bytes(&args))
    }
    fn note(&self) -> Option<&'static str> {
        let spectral = matches!(
            self.op,
            Op::Eigh(_)
                | Op::Svd(_)
                | Op::Eig(_)
                | Op::Schur(_)
                | Op::ComplexEigh(_)
                | Op::ComplexSvd(_)
                | Op::ComplexEig(_)
                | Op::ComplexSchur(_)
        );
        spectral.then_some("on one thread")
    }
    fn run(&self, call: KernelCall<'_, '_>) -> Result<(), Misfit> {
        let args: Vec<Array> = call.args.iter().zip(&self.args).map(|(arg, ty)| copied(arg, ty)).collect();
        let results = defined(&self.op, &args.iter().collect::<Vec<&Array>>())?;
        write(&results, call.outs);
        Ok(())
    }
}

/// Copies results to where they belong.
pub(super) fn write(results: &[Array], outs: &mut [SliceMut<'_>]) {
    for (result, out) in results.iter().zip(outs) {
        match out {
            SliceMut::U8(out) => out.iter_mut().zip(result.known::<bool>()).for_each(|(to, &x)| *to = x.into()),
            SliceMut::I64(out) => out.copy_from_slice(result.known()),
            SliceMut::F32(out) => out.copy_from_slice(result.known()),
            SliceMut::F64(out) => out.copy_from_slice(result.known()),
        }
    }
}
