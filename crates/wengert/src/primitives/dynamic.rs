//! Blocks at a computed start. Slice and update are transposes of one another.

use std::borrow::Cow;

#[cfg(feature = "text")]
use super::parse::Fields;
use super::sample::{numbers, numbers_f32};
use super::{
    Attributes, Batched, Broadcast, Concat, Cotangents, Family, Form, Gather, Iota, Literal, Operand, OperandSet,
    OutOfBounds, Primitive, Reach, Reaches, Sample, Scatter, Site, Slice, Write, arity,
};
use crate::array::{Array, DType, Strided, Type, row_major};
use crate::error::{Misfit, misfit};
use crate::ops::Binary;
use crate::program::{Builder, Value};

/// Checks that a block of this shape fits, and the type of the start.
fn check_block(x: &Type, sizes: &[usize], start: &Type) -> Result<(), Misfit> {
    if sizes.len() != x.rank() {
        misfit!("the block has {} axes, and {x} has {}", sizes.len(), x.rank());
    }
    if let Some(axis) = (0..x.rank()).find(|&axis| sizes[axis] > x.shape[axis]) {
        misfit!("the block is {} long on axis {axis}, which is {} long", sizes[axis], x.shape[axis]);
    }
    let wanted = Type::new(DType::I64, &[x.rank()]);
    if *start != wanted {
        misfit!("the start is {start}, and has to be {wanted}");
    }
    Ok(())
}

/// The start of a block along an axis, moved so that it fits.
pub(crate) fn clamped_start(start: i64, length: usize, size: usize) -> usize {
    start.clamp(0, (length - size) as i64) as usize
}

/// Of an array and a block of it: the axes along which the start can only be 0, each of the one an axis of the other.
fn block_axes(x: &[usize], block: &[usize]) -> Vec<Option<usize>> {
    (0..x.len()).map(|axis| (x[axis] == block[axis]).then_some(axis)).collect()
}

/// The places of a block's elements, its start moved so that it fits.
fn places(x: &[usize], sizes: &[usize], start: &Array) -> Strided {
    let strides = row_major(x);
    let start = start.known::<i64>().iter().zip(x.iter().zip(sizes));
    let start = start.map(|(&start, (&length, &size))| clamped_start(start, length, size));
    let offset = start.zip(&strides).map(|(start, stride)| start * stride).sum();
    let steps: Vec<isize> = strides.iter().map(|stride| stride.cast_signed()).collect();
    Strided::new(sizes, &steps, offset)
}

/// A start with one more axis in front, which is taken whole.
fn start_with_axis(b: &mut Builder, start: Value) -> Value {
    let zero = b.full(0.0, &Type::new(DType::I64, &[1]));
    b.op(Concat { axis: 0 }, &[zero, start])
}

/// A block with a start of its own in every lane, as index vectors.
struct BatchedBlock {
    /// The axes, in an operand with lanes, along which the block is shorter than the operand: the
    /// start along the others can only be 0.
    axes: Vec<usize>,
    /// The order of the block's axes in which these come first, after the lanes.
    order: Vec<usize>,
    /// An index vector for each of their elements.
    indices: Value,
}

impl BatchedBlock {
    /// For an operand of this shape, a block of these sizes and starts, the last two with lanes.
    fn new(b: &mut Builder, x: &[usize], sizes: &[usize], starts: Value, length: usize) -> Self {
        let rank = x.len();
        let (short, whole): (Vec<usize>, Vec<usize>) = (0..rank).partition(|&axis| sizes[axis] < x[axis]);
        let mut shape = vec![length];
        shape.extend(short.iter().map(|&axis| sizes[axis]));
        shape.push(1);
        let columns: Vec<Value> = short
            .iter()
            .enumerate()
            .map(|(k, &axis)| {
                let start = b.op(Slice::along(&[length, rank], 1, axis, axis + 1), &[starts]);
                let start = b.reshape(start, &[length]);
                let limit = b.op(Literal::I64((x[axis] - sizes[axis]) as i64), &[]);
                let limit = b.broadcast_scalar(limit, &[length]);
                let start = b.op(Binary::Min, &[start, limit]);
                let zero = b.zeros_like(start);
                let start = b.op(Binary::Max, &[start, zero]);
                let start = b.op(Broadcast::new(&shape, &[0]), &[start]);
                let step = b.op(Iota { length: sizes[axis] }, &[]);
                let step = b.op(Broadcast::new(&shape, &[k + 1]), &[step]);
                b.add(start, step)
            })
            .collect();
        let indices = if columns.is_empty() {
            b.full(0.0, &Type::new(DType::I64, &[length, 0]))
        } else {
            b.op(Concat { axis: shape.len() - 1 }, &columns)
        };
        let order = std::iter::once(0).chain(short.iter().chain(&whole).map(|axis| axis + 1)).collect();
        BatchedBlock { axes: short.iter().map(|axis| axis + 1).collect(), order, indices }
    }

    /// A block with the indexed axes first, in the order of the operand.
    fn in_order(&self, b: &mut Builder, block: Value) -> Value {
        let mut inverse = vec![0; self.order.len()];
        self.order.iter().enumerate().for_each(|(k, &axis)| inverse[axis] = k);
        b.permute(block, &inverse)
    }
}

// ---- slice --------------------------------------------------------------------------------------

/// `dynamic_slice(x, start)`: the block of this size at `start` (i64, one index per axis):
/// `out[i] = x[start + i]`. A start at which the block would not fit is moved to the nearest at
/// which it does.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct DynamicSlice {
    /// The lengths of the block.
    pub sizes: Vec<usize>,
}

impl DynamicSlice {
    /// A block of this size.
    pub fn new(sizes: &[usize]) -> Self {
        DynamicSlice { sizes: sizes.to_vec() }
    }
}

impl Primitive for DynamicSlice {
    fn name(&self) -> Cow<'static, str> {
        "dynamic_slice".into()
    }
    fn infer(&self, args: &[&Type]) -> Result<Vec<Type>, Misfit> {
        arity(args, 2)?;
        check_block(args[0], &self.sizes, args[1])?;
        Ok(vec![args[0].with_shape(self.sizes.clone())])
    }
    fn eval(&self, args: &[&Array]) -> Result<Vec<Array>, Misfit> {
        Ok(vec![args[0].pick(&self.sizes, places(args[0].shape(), &self.sizes, args[1]))])
    }
    fn form(&self, _: &[&Type]) -> Form {
        Form::Kernel
    }
    fn reach(&self, site: &Site) -> Reaches {
        if site.known[1].is_some() {
            return site.moved(&[1], |args| self.eval(args));
        }
        let x = &site.args[0].shape;
        let anywhere = site.boxes(x, &self.sizes, &block_axes(x, &self.sizes));
        Ok(vec![vec![Reach::Boxes(anywhere), Reach::Nothing]])
    }
    fn decides(&self) -> Vec<usize> {
        vec![1]
    }
    fn linear_in(&self, _: usize) -> Vec<OperandSet> {
        super::axes::linear()
    }
    fn multiplies(&self) -> bool {
        false
    }
    fn transpose(&self, b: &mut Builder, cotangents: &[Option<Value>], args: &[Operand]) -> Cotangents {
        let Some(ct) = cotangents[0] else { return Ok(vec![None; 2]) };
        let ty = args[0].ty(b);
        let zeros = b.full(0.0, &ty);
        Ok(vec![Some(b.op(DynamicUpdate, &[zeros, ct, args[1].known()])), None])
    }
    fn batch(&self, b: &mut Builder, args: &[Value], batched: &[bool], length: usize) -> Batched {
        if !batched[1] {
            if !batched[0] {
                return Ok(vec![(b.op(self.clone(), args), false)]);
            }
            let start = start_with_axis(b, args[1]);
            let sizes: Vec<usize> = std::iter::once(length).chain(self.sizes.iter().copied()).collect();
            return Ok(vec![(b.op(DynamicSlice { sizes }, &[args[0], start]), true)]);
        }
        let x = b.batch_all(&args[..1], &batched[..1], length)[0];
        let shape = b.shape(x)[1..].to_vec();
        let lanes = BatchedBlock::new(b, &shape, &self.sizes, args[1], length);
        // The starts were moved: every index exists.
        let gather = Gather { batch: 1, axes: lanes.axes.clone(), mode: OutOfBounds::Clamp };
        let block = b.op(gather, &[x, lanes.indices]);
        Ok(vec![(lanes.in_order(b, block), true)])
    }
    fn attributes(&self) -> Attributes {
        Attributes::default().with("sizes", &self.sizes[..])
    }
}

impl Family for DynamicSlice {
    #[cfg(feature = "text")]
    fn parse(name: &str, fields: &mut Fields) -> Option<Result<Self, Misfit>> {
        (name == "dynamic_slice").then(|| Ok(DynamicSlice { sizes: fields.integers("sizes")? }))
    }
    fn samples() -> Vec<Sample> {
        let start = |start: &[i64]| Array::new(&[start.len()], start.to_vec());
        let sample = |sizes: &[usize], x: Array, at: &[i64]| Sample::new(DynamicSlice::new(sizes), &[x, start(at)]);
        vec![
            sample(&[2], numbers(1, &[5]), &[2]),
            sample(&[2], numbers(2, &[5]), &[9]),
            sample(&[2, 2], numbers_f32(3, &[3, 4]), &[-1, 1]),
            sample(&[1, 3, 2], numbers(4, &[2, 3, 3]), &[1, 2, 1]),
            sample(&[2, 1, 2, 1], numbers(5, &[2, 2, 3, 1]), &[0, 1, -7, i64::MAX]),
            sample(&[0, 2], numbers(6, &[0, 3]), &[0, 1]),
            sample(&[2, 0], numbers(7, &[3, 2]), &[1, 1]),
            sample(&[], numbers(8, &[]), &[]),
            sample(&[2], Array::new(&[3], vec![1i64, 2, 3]), &[1]),
            sample(&[1], Array::new(&[2], vec![true, false]), &[i64::MIN]),
        ]
    }
}

// ---- update -------------------------------------------------------------------------------------

/// `dynamic_update(x, u, start)`: `x` with the block at `start` (i64, one index per axis) replaced by
/// `u`. A start at which the block would not fit is moved to the nearest at which it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DynamicUpdate;

impl Primitive for DynamicUpdate {
    fn name(&self) -> Cow<'static, str> {
        "dynamic_update".into()
    }
    fn infer(&self, args: &[&Type]) -> Result<Vec<Type>, Misfit> {
        arity(args, 3)?;
        if args[0].dtype != args[1].dtype {
            misfit!("the element types differ; convert one of them first");
        }
        check_block(args[0], &args[1].shape, args[2])?;
        Ok(vec![args[0].clone()])
    }
    fn eval(&self, args: &[&Array]) -> Result<Vec<Array>, Misfit> {
        fn updated<T: crate::Element>(args: &[&Array]) -> Array {
            let mut elements = args[0].known::<T>().to_vec();
            let places = places(args[0].shape(), args[1].shape(), args[2]);
            places.zip(args[1].known::<T>()).for_each(|(place, &update)| elements[place] = update);
            Array::new(args[0].shape(), elements)
        }
        Ok(vec![match args[0].dtype() {
            DType::Bool => updated::<bool>(args),
            DType::I64 => updated::<i64>(args),
            DType::F32 => updated::<f32>(args),
            DType::F64 => updated::<f64>(args),
        }])
    }
    fn form(&self, _: &[&Type]) -> Form {
        Form::Kernel
    }
    fn reach(&self, site: &Site) -> Reaches {
        if site.known[2].is_some() {
            return site.moved(&[2], |args| self.eval(args));
        }
        let [x, u] = [0, 1].map(|k| &site.args[k].shape);
        let anywhere = site.boxes(u, x, &block_axes(x, u));
        let x = if u.contains(&0) || x != u { Reach::Same } else { Reach::Nothing };
        Ok(vec![vec![x, Reach::Boxes(anywhere), Reach::Nothing]])
    }
    fn decides(&self) -> Vec<usize> {
        vec![2]
    }
    fn linear_in(&self, _: usize) -> Vec<OperandSet> {
        vec![vec![0, 1]]
    }
    fn multiplies(&self) -> bool {
        false
    }
    fn transpose(&self, b: &mut Builder, cotangents: &[Option<Value>], args: &[Operand]) -> Cotangents {
        let Some(ct) = cotangents[0] else { return Ok(vec![None; 3]) };
        let (block, start) = (args[1].ty(b), args[2].known());
        let x_bar = args[0].is_linear().then(|| {
            let zeros = b.full(0.0, &block);
            b.op(DynamicUpdate, &[ct, zeros, start])
        });
        let u_bar = args[1].is_linear().then(|| b.op(DynamicSlice::new(&block.shape), &[ct, start]));
        Ok(vec![x_bar, u_bar, None])
    }
    fn batch(&self, b: &mut Builder, args: &[Value], batched: &[bool], length: usize) -> Batched {
        if !batched.contains(&true) {
            return Ok(vec![(b.op(*self, args), false)]);
        }
        let both = b.batch_all(&args[..2], &batched[..2], length);
        if !batched[2] {
            let start = start_with_axis(b, args[2]);
            return Ok(vec![(b.op(*self, &[both[0], both[1], start]), true)]);
        }
        let (shape, sizes) = (b.shape(both[0])[1..].to_vec(), b.shape(both[1])[1..].to_vec());
        let lanes = BatchedBlock::new(b, &shape, &sizes, args[2], length);
        let block = b.permute(both[1], &lanes.order);
        let scatter = Scatter { batch: 1, axes: lanes.axes.clone(), mode: OutOfBounds::Clamp, write: Write::Set };
        Ok(vec![(b.op(scatter, &[both[0], lanes.indices, block]), true)])
    }
}

impl Family for DynamicUpdate {
    #[cfg(feature = "text")]
    fn parse(name: &str, _: &mut Fields) -> Option<Result<Self, Misfit>> {
        (name == "dynamic_update").then_some(Ok(DynamicUpdate))
    }
    fn samples() -> Vec<Sample> {
        let start = |start: &[i64]| Array::new(&[start.len()], start.to_vec());
        let sample = |x: Array, u: Array, at: &[i64]| Sample::new(DynamicUpdate, &[x, u, start(at)]);
        vec![
            sample(numbers(1, &[5]), numbers(11, &[2]), &[2]),
            sample(numbers(2, &[5]), numbers(12, &[2]), &[-3]),
            sample(numbers_f32(3, &[3, 4]), numbers_f32(13, &[2, 2]), &[1, 7]),
            sample(numbers(4, &[2, 3, 3]), numbers(14, &[1, 3, 2]), &[1, 2, 1]),
            sample(numbers(5, &[2, 2, 3, 1]), numbers(15, &[2, 1, 2, 1]), &[0, 1, i64::MIN, 5]),
            sample(numbers(6, &[0, 3]), numbers(16, &[0, 2]), &[0, 1]),
            sample(numbers(7, &[3, 2]), numbers(17, &[2, 0]), &[1, 1]),
            sample(numbers(8, &[]), numbers(18, &[]), &[]),
            sample(Array::new(&[3], vec![1i64, 2, 3]), Array::new(&[2], vec![8i64, 9]), &[i64::MAX]),
            sample(Array::new(&[2], vec![true, false]), Array::new(&[1], vec![false]), &[0]),
        ]
    }
}

#[cfg(test)]
mod tests;
