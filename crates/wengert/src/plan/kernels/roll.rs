//! Rotations: every run of neighbouring elements is copied in two pieces.

use wengert_kernels::parallel::for_chunks;
use wengert_kernels::region::Kind;

use super::{Cell, Kernel, KernelCall, for_kind, rows_per_part};
use crate::array::{Type, row_major};
use crate::error::Misfit;
use crate::plan::kernel::kind;
use crate::primitives;

/// An array as rows, whose last axis is the last one that moves, with all that lies behind it.
#[derive(Clone, Debug)]
pub(super) struct RollKernel {
    kind: Kind,
    /// Length, shift and stride in rows of each axis before the rows.
    axes: Vec<[usize; 3]>,
    /// Elements of a row, and how many of them enter at its start.
    row: usize,
    shift: usize,
    size: usize,
}

impl RollKernel {
    pub(super) fn new(op: &primitives::Roll, x: &Type) -> Self {
        let (kind, size) = (kind(x.dtype), x.size());
        let shifts = op.shifts(&x.shape);
        let Some(last) = shifts.iter().rposition(|&shift| shift > 0) else {
            return RollKernel { kind, axes: Vec::new(), row: size, shift: 0, size };
        };
        let behind: usize = x.shape[last + 1..].iter().product();
        let strides = row_major(&x.shape[..last]);
        let axes = (0..last).map(|axis| [x.shape[axis], shifts[axis], strides[axis]]).collect();
        RollKernel { kind, axes, row: x.shape[last] * behind, shift: shifts[last] * behind, size }
    }

    /// The row of the operand that becomes this row.
    fn source(&self, row: usize) -> usize {
        let place = |&[length, shift, stride]: &[usize; 3]| (row / stride % length + length - shift) % length * stride;
        self.axes.iter().map(place).sum()
    }

    fn rows<T: Copy>(&self, x: &[T], first: usize, out: &mut [T]) {
        for (k, out) in out.chunks_exact_mut(self.row).enumerate() {
            let x = &x[self.source(first + k) * self.row..][..self.row];
            let (start, rest) = out.split_at_mut(self.shift);
            start.copy_from_slice(&x[self.row - self.shift..]);
            rest.copy_from_slice(&x[..self.row - self.shift]);
        }
    }
}

impl Kernel for RollKernel {
    fn name(&self) -> String {
        "roll".to_owned()
    }
    fn operations(&self) -> usize {
        self.size
    }
    fn run(&self, call: KernelCall<'_, '_>) -> Result<(), Misfit> {
        if self.size == 0 {
            return Ok(());
        }
        let rows = rows_per_part(self.row);
        for_kind!(self.kind, T => {
            let x = T::of(&call.args[0]);
            for_chunks(call.pool, T::of_mut(&mut call.outs[0]), rows * self.row, |part, out| {
                self.rows(x, part * rows, out);
            });
        });
        Ok(())
    }
}
