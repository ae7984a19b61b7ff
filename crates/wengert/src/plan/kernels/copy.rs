//! Copies: the elements of one operand at places that follow from the types, or from a start that is computed.

use wengert_kernels::Pool;
use wengert_kernels::parallel::for_chunks;
use wengert_kernels::region::Kind;

use super::nest::{Axis, Picture, each, merged};
use super::scatter::Addend;
use super::{Cell, GRAIN, Kernel, KernelCall, for_kind, original};
use crate::array::{DType, Type, row_major};
use crate::error::Misfit;
use crate::plan::kernel::kind;
use crate::plan::view::View;
use crate::primitives;
use crate::primitives::{Write, clamped_start};

fn signed(strides: &[usize]) -> Vec<isize> {
    strides.iter().map(|stride| stride.cast_signed()).collect()
}

/// Elements at places known from the types: broadcast, reshape, permute, reverse, slice.
#[derive(Clone, Debug)]
pub(super) struct CopyKernel {
    name: &'static str,
    kind: Kind,
    picture: Picture,
    offset: usize,
    size: usize,
}

impl CopyKernel {
    fn new(name: &'static str, x: &Type, shape: &[usize], strides: &[isize], offset: usize) -> Self {
        let size = shape.iter().product();
        CopyKernel { name, kind: kind(x.dtype), picture: Picture::new(shape, strides), offset, size }
    }

    /// The elements of a view of an array.
    pub(super) fn view(dtype: DType, view: &View) -> Self {
        let size = view.count();
        CopyKernel {
            name: "copy",
            kind: kind(dtype),
            picture: Picture::new(&view.shape, &view.strides),
            offset: view.offset,
            size,
        }
    }

    /// All elements in their order.
    pub(super) fn whole(x: &Type) -> Self {
        CopyKernel::new("reshape", x, &[x.size()], &[1], 0)
    }

    pub(super) fn broadcast(op: &primitives::Broadcast, x: &Type) -> Self {
        let mut strides = vec![0; op.shape.len()];
        for (&axis, stride) in op.axes.iter().zip(signed(&row_major(&x.shape))) {
            strides[axis] = stride;
        }
        CopyKernel::new("broadcast", x, &op.shape, &strides, 0)
    }

    pub(super) fn permute(op: &primitives::Permute, x: &Type) -> Self {
        let strides = signed(&row_major(&x.shape));
        let shape: Vec<usize> = op.order.iter().map(|&axis| x.shape[axis]).collect();
        let strides: Vec<isize> = op.order.iter().map(|&axis| strides[axis]).collect();
        CopyKernel::new("permute", x, &shape, &strides, 0)
    }

    pub(super) fn reverse(op: &primitives::Reverse, x: &Type) -> Self {
        let mut strides = signed(&row_major(&x.shape));
        let mut offset = 0;
        for &axis in &op.axes {
            offset += strides[axis].cast_unsigned() * x.shape[axis].saturating_sub(1);
            strides[axis] = -strides[axis];
        }
        CopyKernel::new("reverse", x, &x.shape, &strides, offset)
    }

    pub(super) fn slice(op: &primitives::Slice, x: &Type, out: &Type) -> Self {
        let strides = row_major(&x.shape);
        let offset = strides.iter().zip(&op.start).map(|(stride, start)| stride * start).sum();
        let steps: Vec<isize> = strides.iter().zip(&op.stride).map(|(s, step)| (s * step).cast_signed()).collect();
        CopyKernel::new("slice", x, &out.shape, &steps, offset)
    }
}

impl Kernel for CopyKernel {
    fn name(&self) -> String {
        self.name.to_owned()
    }
    fn operations(&self) -> usize {
        self.size
    }
    fn run(&self, call: KernelCall<'_, '_>) -> Result<(), Misfit> {
        for_kind!(self.kind, T => {
            let (x, out) = (T::of(&call.args[0]), T::of_mut(&mut call.outs[0]));
            if self.size > 0 {
                self.picture.copy(call.pool, x, self.offset, out);
            }
        });
        Ok(())
    }
}

/// Where a block starts.
#[derive(Clone, Debug)]
struct Corner {
    /// Length of the array, length of the block and stride for each axis.
    axes: Vec<[usize; 3]>,
}

impl Corner {
    fn new(x: &[usize], sizes: &[usize]) -> Self {
        let strides = row_major(x);
        Corner { axes: (0..x.len()).map(|axis| [x[axis], sizes[axis], strides[axis]]).collect() }
    }

    fn offset(&self, start: &[i64]) -> usize {
        let axes = self.axes.iter().zip(start);
        axes.map(|(&[length, size, stride], &start)| clamped_start(start, length, size) * stride).sum()
    }
}

/// A block at a computed start.
#[derive(Clone, Debug)]
pub(super) struct DynamicSliceKernel {
    kind: Kind,
    picture: Picture,
    corner: Corner,
    size: usize,
}

impl DynamicSliceKernel {
    pub(super) fn new(op: &primitives::DynamicSlice, x: &Type) -> Self {
        let picture = Picture::new(&op.sizes, &signed(&row_major(&x.shape)));
        let size = op.sizes.iter().product();
        DynamicSliceKernel { kind: kind(x.dtype), picture, corner: Corner::new(&x.shape, &op.sizes), size }
    }
}

impl Kernel for DynamicSliceKernel {
    fn name(&self) -> String {
        "dynamic_slice".to_owned()
    }
    fn operations(&self) -> usize {
        self.size
    }
    fn run(&self, call: KernelCall<'_, '_>) -> Result<(), Misfit> {
        let offset = self.corner.offset(i64::of(&call.args[1]));
        for_kind!(self.kind, T => {
            let (x, out) = (T::of(&call.args[0]), T::of_mut(&mut call.outs[0]));
            if self.size > 0 {
                self.picture.copy(call.pool, x, offset, out);
            }
        });
        Ok(())
    }
}

/// An array with a block of another one written or added to it. The array may lie where the result does: then only the
/// block is touched.
#[derive(Clone, Debug)]
struct BlockUpdate {
    kind: Kind,
    /// The block's axes in the array but for its runs.
    axes: Vec<Axis>,
    /// Elements that follow each other in both.
    run: usize,
    size: usize,
}

impl BlockUpdate {
    /// A block with steps of this many elements of the array.
    fn new(x: &Type, update: &Type, strides: &[isize]) -> Self {
        let mut axes = merged(&update.shape, strides);
        let run = axes.pop_if(|last| last.stride == 1).map_or(1, |last| last.length);
        BlockUpdate { kind: kind(x.dtype), axes, run, size: update.size() }
    }

    /// Hands every run of the block, from `offset` on, with its place to `write`.
    fn write<T: Cell>(&self, call: &mut KernelCall<'_, '_>, offset: usize, write: impl Fn(&mut [T], &[T])) {
        let (update, out) = (T::of(&call.args[1]), T::of_mut(&mut call.outs[0]));
        if let Some(x) = original(&call.args[0]) {
            copy_all(call.pool, x, out);
        }
        if self.size > 0 {
            let mut runs = update.chunks_exact(self.run);
            each(&self.axes, offset.cast_signed(), &mut |place| {
                let run = runs.next().expect("a run for each place");
                write(&mut out[place.cast_unsigned()..][..self.run], run);
            });
        }
    }
}

/// A block replaced at a computed start.
#[derive(Clone, Debug)]
pub(super) struct DynamicUpdateKernel {
    block: BlockUpdate,
    corner: Corner,
}

impl DynamicUpdateKernel {
    pub(super) fn new(x: &Type, update: &Type) -> Self {
        let block = BlockUpdate::new(x, update, &signed(&row_major(&x.shape)));
        DynamicUpdateKernel { block, corner: Corner::new(&x.shape, &update.shape) }
    }
}

impl Kernel for DynamicUpdateKernel {
    fn name(&self) -> String {
        "dynamic_update".to_owned()
    }
    fn in_place(&self) -> &[(u16, u16)] {
        &[(0, 0)]
    }
    fn operations(&self) -> usize {
        self.block.size
    }
    fn run(&self, mut call: KernelCall<'_, '_>) -> Result<(), Misfit> {
        let offset = self.corner.offset(i64::of(&call.args[2]));
        for_kind!(self.block.kind, T => self.block.write::<T>(&mut call, offset, <[T]>::copy_from_slice));
        Ok(())
    }
}

/// A slice written or added to.
#[derive(Clone, Debug)]
pub(super) struct UpdateKernel {
    block: BlockUpdate,
    write: Write,
}

impl UpdateKernel {
    pub(super) fn new(op: &primitives::Update, x: &Type, update: &Type) -> Self {
        let strides = row_major(&x.shape);
        let steps: Vec<isize> = strides.iter().zip(&op.stride).map(|(s, step)| (s * step).cast_signed()).collect();
        UpdateKernel { block: BlockUpdate::new(x, update, &steps), write: op.write }
    }
}

/// Adds a run to another one.
fn add<T: Addend>(out: &mut [T], run: &[T]) {
    out.iter_mut().zip(run).for_each(|(out, &update)| *out = out.plus(update));
}

impl Kernel for UpdateKernel {
    fn name(&self) -> String {
        match self.write {
            Write::Add => "update_add",
            Write::Set => "update_set",
        }
        .to_owned()
    }
    fn in_place(&self) -> &[(u16, u16)] {
        &[(0, 0)]
    }
    fn operations(&self) -> usize {
        self.block.size
    }
    fn run(&self, mut call: KernelCall<'_, '_>) -> Result<(), Misfit> {
        let (block, offset) = (&self.block, call.start);
        match (self.write, block.kind) {
            (Write::Set, kind) => for_kind!(kind, T => block.write::<T>(&mut call, offset, <[T]>::copy_from_slice)),
            (Write::Add, Kind::F64) => block.write::<f64>(&mut call, offset, add),
            (Write::Add, Kind::F32) => block.write::<f32>(&mut call, offset, add),
            (Write::Add, Kind::I64) => block.write::<i64>(&mut call, offset, add),
            (Write::Add, Kind::U8) => unreachable!("inference refuses to add truth values"),
        }
        Ok(())
    }
}

/// All elements, by parts.
pub(super) fn copy_all<T: Cell>(pool: &Pool, x: &[T], out: &mut [T]) {
    for_chunks(pool, out, 4 * GRAIN, |number, out| {
        let first = number * 4 * GRAIN;
        out.copy_from_slice(&x[first..first + out.len()]);
    });
}
