//! The contract of a step that is not a fused region: one operation on whole arrays.

use std::fmt::Debug;

use wengert_kernels::arena::Line;
use wengert_kernels::pool::Pool;
use wengert_kernels::region::{Kind, Slice, SliceMut};

use super::allocated::Allocated;
use crate::array::{DType, Type};
use crate::error::Misfit;

/// What a kernel works on. Arrays are row-major and whole; truth values are bytes 0 and 1.
pub(crate) struct KernelCall<'a, 'data> {
    /// The operands, in the operation's order.
    pub(crate) args: &'a [Slice<'data>],
    /// The results. Their contents are undefined at the start: every element must be written.
    pub(crate) outs: &'a mut [SliceMut<'data>],
    /// [`Kernel::workspace`] bytes, whose contents are undefined at the start.
    pub(crate) workspace: &'a mut [Line],
    /// The threads.
    pub(crate) pool: &'a Pool,
    /// The element of the first result at which the work begins: [`super::kernels::start`] of the operation.
    pub(crate) start: usize,
}

/// One operation on whole arrays, prepared for operands of fixed types.
///
/// A kernel agrees with the operation's definition to the bit, except where it says how it does not. The bits do not
/// depend on the number of threads. Running allocates nothing, but for definitions and libraries of factorisations.
pub(crate) trait Kernel: Debug + Send + Sync {
    /// The name, as in logs.
    fn name(&self) -> String;

    /// Bytes of workspace for this many threads.
    fn workspace(&self, _threads: usize) -> usize {
        0
    }

    /// Bytes that it allocates for itself on this many threads: matrix products inside of it, a library, a definition.
    fn allocated(&self, _threads: usize) -> Allocated {
        Allocated::default()
    }

    /// Pairs of an operand and a result that may be one piece of memory ([`Slice::Output`]): the operand is then overwritten.
    fn in_place(&self) -> &[(u16, u16)] {
        &[]
    }

    /// Operations on elements, for the cost model: multiplications, additions, comparisons.
    fn operations(&self) -> usize;

    /// What [`Plan::explain`](super::Plan::explain) tells beside the name.
    fn note(&self) -> Option<&'static str> {
        None
    }

    /// Runs the operation.
    ///
    /// # Errors
    /// If the values are wrong: an index out of range. The message is that of the operation's definition.
    fn run(&self, call: KernelCall<'_, '_>) -> Result<(), Misfit>;
}

/// The kind of the elements.
pub(crate) fn kind(dtype: DType) -> Kind {
    match dtype {
        DType::Bool => Kind::U8,
        DType::I64 => Kind::I64,
        DType::F32 => Kind::F32,
        DType::F64 => Kind::F64,
    }
}

/// Bytes of an array of this type.
pub(crate) fn bytes(ty: &Type) -> usize {
    ty.bytes()
}
