//! Slice, pad and concat: elements at places known when the Program is made. The transpose of a
//! slice is a pad, of a pad a slice, of a concat slices.

use std::borrow::Cow;

use super::axes::replaced;
#[cfg(feature = "text")]
use super::parse::Fields;
use super::sample::{numbers, numbers_f32};
use super::{
    Along, Attributes, Batched, Cotangents, Family, Form, Masks, Op, Operand, OperandSet, Primitive, Reaches, Sample,
    Site, arity, check_axis,
};
use crate::array::{Array, Strided, Type, element_count, for_each_index, row_major};
use crate::error::{Misfit, misfit};
use crate::program::{Builder, Value};

// ---- slice --------------------------------------------------------------------------------------

/// Along every axis the elements `start, start + stride, …` below `limit`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Slice {
    /// The first index along each axis.
    pub start: Vec<usize>,
    /// The index before which it ends.
    pub limit: Vec<usize>,
    /// The step, at least 1.
    pub stride: Vec<usize>,
}

impl Slice {
    /// With these bounds and steps. A step beyond the limit is as one to it.
    pub fn new(start: &[usize], limit: &[usize], stride: &[usize]) -> Self {
        let length =
            |axis: usize| limit.get(axis).zip(start.get(axis)).map(|(limit, start)| limit.saturating_sub(*start));
        let within = |(axis, &stride): (usize, &usize)| length(axis).map_or(stride, |length| stride.min(length.max(1)));
        let stride = stride.iter().enumerate().map(within).collect();
        Slice { start: start.to_vec(), limit: limit.to_vec(), stride }
    }

    /// The elements `start..limit` along one axis of a shape, and all along the others.
    pub(crate) fn along(shape: &[usize], axis: usize, start: usize, limit: usize) -> Self {
        let mut slice = Slice::new(&vec![0; shape.len()], shape, &vec![1; shape.len()]);
        (slice.start[axis], slice.limit[axis]) = (start, limit);
        slice
    }

    fn shape(&self) -> Vec<usize> {
        let bounds = self.start.iter().zip(&self.limit).zip(&self.stride);
        bounds.map(|((&start, &limit), &stride)| (limit - start).div_ceil(stride)).collect()
    }
}

impl Primitive for Slice {
    fn name(&self) -> Cow<'static, str> {
        "slice".into()
    }
    fn infer(&self, args: &[&Type]) -> Result<Vec<Type>, Misfit> {
        arity(args, 1)?;
        let x = args[0];
        if [&self.start, &self.limit, &self.stride].iter().any(|bounds| bounds.len() != x.rank()) {
            misfit!("bounds are needed for each of the {} axes", x.rank());
        }
        for axis in 0..x.rank() {
            let (start, limit, length) = (self.start[axis], self.limit[axis], x.shape[axis]);
            if start > limit || limit > length {
                misfit!("the range {start}..{limit} does not fit axis {axis}, which is {length} long");
            }
            if self.stride[axis] == 0 {
                misfit!("the step along axis {axis} is 0");
            }
        }
        Ok(vec![x.with_shape(self.shape())])
    }
    fn eval(&self, args: &[&Array]) -> Result<Vec<Array>, Misfit> {
        let strides = row_major(args[0].shape());
        let shape = self.shape();
        if shape.contains(&0) {
            return Ok(vec![args[0].pick(&shape, std::iter::empty())]);
        }
        let offset = strides.iter().zip(&self.start).map(|(stride, start)| stride * start).sum();
        let steps: Vec<isize> = strides.iter().zip(&self.stride).map(|(s, step)| (s * step).cast_signed()).collect();
        // The last axes lie next to each other as long as they are whole; of the one before them a range does.
        let whole = (0..shape.len()).rev().take_while(|&axis| shape[axis] == args[0].shape()[axis]).count();
        let first = shape.len() - whole;
        let outer = if first > 0 && self.stride[first - 1] == 1 { first - 1 } else { first };
        let starts = Strided::new(&shape[..outer], &steps[..outer], offset);
        Ok(vec![args[0].pick_runs(&shape, starts, shape[outer..].iter().product())])
    }
    fn along(&self, axis: usize, args: &[&Type]) -> Option<Along> {
        let is_whole = self.start[axis] == 0 && self.limit[axis] == args[0].shape[axis] && self.stride[axis] == 1;
        is_whole.then(|| vec![Some(axis)])
    }
    fn with_length(&self, axis: usize, length: usize) -> Option<Op> {
        Some(Slice { limit: replaced(&self.limit, axis, length), ..self.clone() }.into())
    }
    fn form(&self, _: &[&Type]) -> Form {
        Form::View
    }
    fn linear_in(&self, _: usize) -> Vec<OperandSet> {
        super::axes::linear()
    }
    fn multiplies(&self) -> bool {
        false
    }
    fn masks(&self) -> Masks {
        Masks::Moved
    }
    fn transpose(&self, b: &mut Builder, cotangents: &[Option<Value>], args: &[Operand]) -> Cotangents {
        let Some(ct) = cotangents[0] else { return Ok(vec![None]) };
        let ty = args[0].ty(b);
        let zero = b.full(0.0, &ty.with_shape(Vec::new()));
        let count = b.shape(ct).to_vec();
        let pad = Pad {
            low: self.start.iter().map(|&start| start as i64).collect(),
            high: (0..ty.rank())
                .map(|axis| {
                    let span = if count[axis] == 0 { 0 } else { (count[axis] - 1) * self.stride[axis] + 1 };
                    (ty.shape[axis] - self.start[axis]) as i64 - span as i64
                })
                .collect(),
            interior: self.stride.iter().map(|stride| stride - 1).collect(),
        };
        Ok(vec![Some(b.op(pad, &[ct, zero]))])
    }
    fn batch(&self, b: &mut Builder, args: &[Value], batched: &[bool], length: usize) -> Batched {
        let mut slice = self.clone();
        if batched[0] {
            slice.start.insert(0, 0);
            slice.limit.insert(0, length);
            slice.stride.insert(0, 1);
        }
        Ok(vec![(b.op(slice, args), batched[0])])
    }
    fn attributes(&self) -> Attributes {
        let attributes = Attributes::default().with("start", &self.start[..]).with("limit", &self.limit[..]);
        attributes.with("stride", &self.stride[..])
    }
}

impl Family for Slice {
    #[cfg(feature = "text")]
    fn parse(name: &str, fields: &mut Fields) -> Option<Result<Self, Misfit>> {
        (name == "slice").then(|| {
            let (start, limit) = (fields.integers("start")?, fields.integers("limit")?);
            Ok(Slice::new(&start, &limit, &fields.integers("stride")?))
        })
    }
    fn samples() -> Vec<Sample> {
        vec![
            Sample::new(Slice::new(&[1], &[6], &[2]), &[numbers(1, &[7])]),
            Sample::new(Slice::new(&[0, 1], &[2, 3], &[1, 1]), &[numbers_f32(2, &[2, 4])]),
            Sample::new(Slice::new(&[1, 2], &[1, 4], &[3, 2]), &[numbers(3, &[2, 4])]),
            Sample::new(Slice::new(&[0], &[4], &[3]), &[Array::new(&[4], vec![1i64, 2, 3, 4])]),
            Sample::new(Slice::new(&[], &[], &[]), &[numbers(4, &[])]),
        ]
    }
}

// ---- pad ----------------------------------------------------------------------------------------

/// `pad(x, v)`: the number v added `low` times before, `high` times after and `interior` times
/// between any two elements along each axis. Negative `low` and `high` take elements away, after the
/// interior ones are in.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Pad {
    /// How many before.
    pub low: Vec<i64>,
    /// How many after.
    pub high: Vec<i64>,
    /// How many between.
    pub interior: Vec<usize>,
}

/// More than memory has places.
const MOST_BETWEEN: usize = 1 << 48;

/// The same of places before and after, and of those that are cut off.
const MOST_BESIDE: i64 = 1 << 48;

impl Pad {
    /// `low` before and `high` after, none between.
    pub fn new(low: &[i64], high: &[i64]) -> Self {
        Pad { low: low.to_vec(), high: high.to_vec(), interior: vec![0; low.len()] }
    }

    /// The length of an axis of the result; `None` if it is negative or overflows.
    fn length(&self, axis: usize, length: usize) -> Option<usize> {
        let gaps = length.saturating_sub(1).checked_mul(self.interior[axis])?;
        let spread = i64::try_from(length.checked_add(gaps)?).ok()?;
        usize::try_from(spread.checked_add(self.low[axis])?.checked_add(self.high[axis])?).ok()
    }

    /// The place in the result of index `i` along an axis, if it is there.
    fn place(&self, axis: usize, i: usize, length: usize) -> Option<usize> {
        let place = self.low[axis] + (i * (self.interior[axis] + 1)) as i64;
        usize::try_from(place).ok().filter(|&place| place < length)
    }
}

impl Primitive for Pad {
    fn name(&self) -> Cow<'static, str> {
        "pad".into()
    }
    fn infer(&self, args: &[&Type]) -> Result<Vec<Type>, Misfit> {
        arity(args, 2)?;
        let (x, v) = (args[0], args[1]);
        if *v != x.with_shape(Vec::new()) {
            misfit!("the padding value is {v}, and has to be {}[]", x.dtype);
        }
        if self.low.len() != x.rank() || self.high.len() != x.rank() || self.interior.len() != x.rank() {
            misfit!("amounts are needed for each of the {} axes", x.rank());
        }
        let mut shape = Vec::with_capacity(x.rank());
        for axis in 0..x.rank() {
            // Also where there is no gap for them.
            if self.interior[axis] > MOST_BETWEEN {
                misfit!("axis {axis} cannot have {} places between its elements", self.interior[axis]);
            }
            let bounds = -MOST_BESIDE..=MOST_BESIDE;
            let fits = bounds.contains(&self.low[axis]) && bounds.contains(&self.high[axis]);
            match self.length(axis, x.shape[axis]).filter(|_| fits) {
                Some(length) => shape.push(length),
                None => misfit!(
                    "axis {axis}, {} long, cannot be padded by {} and {}",
                    x.shape[axis],
                    self.low[axis],
                    self.high[axis]
                ),
            }
        }
        Ok(vec![x.with_shape(shape)])
    }
    fn eval(&self, args: &[&Array]) -> Result<Vec<Array>, Misfit> {
        let x = args[0];
        let shape: Vec<usize> =
            (0..x.shape().len()).map(|axis| self.length(axis, x.shape()[axis]).expect("inferred")).collect();
        let strides = row_major(&shape);
        // The position of each element's source: the operands one after the other.
        let mut sources = vec![x.size(); element_count(&shape).expect("inferred")];
        let mut source = 0;
        for_each_index(x.shape(), |index| {
            let place = index
                .iter()
                .enumerate()
                .try_fold(0, |place, (axis, &i)| Some(place + self.place(axis, i, shape[axis])? * strides[axis]));
            if let Some(place) = place {
                sources[place] = source;
            }
            source += 1;
        });
        Ok(vec![concatenated(&[x, args[1]]).pick(&shape, sources.into_iter())])
    }
    fn along(&self, axis: usize, _: &[&Type]) -> Option<Along> {
        let is_as_it_was = (self.low[axis], self.high[axis], self.interior[axis]) == (0, 0, 0);
        is_as_it_was.then(|| vec![Some(axis), None])
    }
    fn form(&self, _: &[&Type]) -> Form {
        Form::Kernel
    }
    fn reach(&self, site: &Site) -> Reaches {
        site.moved(&[], |args| self.eval(args))
    }
    fn linear_in(&self, _: usize) -> Vec<OperandSet> {
        vec![vec![0, 1]]
    }
    fn multiplies(&self) -> bool {
        false
    }
    fn transpose(&self, b: &mut Builder, cotangents: &[Option<Value>], args: &[Operand]) -> Cotangents {
        let Some(ct) = cotangents[0] else { return Ok(vec![None; 2]) };
        let ty = args[0].ty(b);
        let scalar = ty.with_shape(Vec::new());
        let x_bar = args[0].is_linear().then(|| {
            let zero = b.full(0.0, &scalar);
            let opposite = |amounts: &[i64]| amounts.iter().map(|amount| -amount).collect::<Vec<i64>>();
            let cut = b.op(Pad::new(&opposite(&self.low), &opposite(&self.high)), &[ct, zero]);
            let shape = b.shape(cut).to_vec();
            let stride: Vec<usize> = self.interior.iter().map(|interior| interior + 1).collect();
            b.op(Slice::new(&vec![0; shape.len()], &shape, &stride), &[cut])
        });
        let v_bar = args[1].is_linear().then(|| {
            // The sum over the places that hold v: chosen, not subtracted from the total.
            let bool_ty = ty.with_dtype(crate::array::DType::Bool);
            let (no, yes) = (b.full(0.0, &bool_ty), b.full(1.0, &bool_ty.with_shape(Vec::new())));
            let padded = b.op(self.clone(), &[no, yes]);
            let zero = b.zeros_like(ct);
            let chosen = b.select(padded, ct, zero);
            b.sum(chosen, &(0..ty.rank()).collect::<Vec<usize>>())
        });
        Ok(vec![x_bar, v_bar])
    }
    fn batch(&self, b: &mut Builder, args: &[Value], batched: &[bool], length: usize) -> Batched {
        if !batched[1] {
            let mut pad = self.clone();
            pad.low.insert(0, 0);
            pad.high.insert(0, 0);
            pad.interior.insert(0, 0);
            return Ok(vec![(b.op(pad, args), true)]);
        }
        // A value of its own in every lane: where the padding is, it is chosen.
        let x = b.batch_all(&args[..1], &batched[..1], length)[0];
        let ty = b.ty(x).clone();
        let bool_ty = ty.with_dtype(crate::array::DType::Bool).with_shape(ty.shape[1..].to_vec());
        let (no, yes) = (b.full(0.0, &bool_ty), b.full(1.0, &bool_ty.with_shape(Vec::new())));
        let padded = b.op(self.clone(), &[no, yes]);
        let padded = b.repeat_in_front(padded, length);
        let zero = b.full(0.0, &ty.with_shape(Vec::new()));
        let elements = self.batch(b, &[x, zero], &[true, false], length)?[0].0;
        let shape = b.shape(elements).to_vec();
        let values = b.spread(args[1], &shape, &(1..shape.len()).collect::<Vec<usize>>());
        Ok(vec![(b.select(padded, values, elements), true)])
    }
    fn attributes(&self) -> Attributes {
        let attributes = Attributes::default().with("low", &self.low[..]).with("high", &self.high[..]);
        attributes.with("interior", &self.interior[..])
    }
}

impl Family for Pad {
    #[cfg(feature = "text")]
    fn parse(name: &str, fields: &mut Fields) -> Option<Result<Self, Misfit>> {
        (name == "pad").then(|| {
            let (low, high) = (fields.integers("low")?, fields.integers("high")?);
            Ok(Pad { low, high, interior: fields.integers("interior")? })
        })
    }
    fn samples() -> Vec<Sample> {
        let pad = |low: &[i64], high: &[i64], interior: &[usize]| Pad {
            low: low.to_vec(),
            high: high.to_vec(),
            interior: interior.to_vec(),
        };
        vec![
            Sample::new(pad(&[1], &[2], &[0]), &[numbers(1, &[3]), numbers(9, &[])]),
            Sample::new(pad(&[-1, 0], &[1, 2], &[1, 2]), &[numbers(2, &[3, 2]), numbers(9, &[])]),
            Sample::new(pad(&[0, -2], &[0, -1], &[0, 1]), &[numbers_f32(3, &[2, 4]), numbers_f32(9, &[])]),
            Sample::new(pad(&[2], &[0], &[3]), &[numbers(4, &[0]), numbers(9, &[])]),
            Sample::new(pad(&[1], &[1], &[1]), &[Array::new(&[2], vec![4i64, 5]), Array::scalar(7i64)]),
            Sample::new(pad(&[], &[], &[]), &[numbers(5, &[]), numbers(9, &[])]),
        ]
    }
}

// ---- concat -------------------------------------------------------------------------------------

/// The operands one after the other along an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Concat {
    /// The axis.
    pub axis: usize,
}

/// The elements of arrays of one type, one array after the other.
fn concatenated(arrays: &[&Array]) -> Array {
    use crate::array::Element;
    fn join<T: Element>(arrays: &[&Array]) -> Array {
        let elements: Vec<T> = arrays.iter().flat_map(|array| array.known::<T>().iter().copied()).collect();
        Array::new(&[elements.len()], elements)
    }
    match arrays[0].dtype() {
        crate::array::DType::Bool => join::<bool>(arrays),
        crate::array::DType::I64 => join::<i64>(arrays),
        crate::array::DType::F32 => join::<f32>(arrays),
        crate::array::DType::F64 => join::<f64>(arrays),
    }
}

impl Primitive for Concat {
    fn name(&self) -> Cow<'static, str> {
        "concat".into()
    }
    fn infer(&self, args: &[&Type]) -> Result<Vec<Type>, Misfit> {
        let [first, others @ ..] = args else { misfit!("it takes at least one operand") };
        check_axis(self.axis, first)?;
        let mut length = first.shape[self.axis];
        for other in others {
            if other.dtype != first.dtype {
                misfit!("the element types differ; convert first");
            }
            if other.rank() != first.rank() {
                misfit!("the operands have {} and {} axes", first.rank(), other.rank());
            }
            let differs = |&axis: &usize| axis != self.axis && other.shape[axis] != first.shape[axis];
            if let Some(axis) = (0..first.rank()).find(differs) {
                misfit!(
                    "axis {axis} is {} long in one and {} in another; only axis {} may differ",
                    first.shape[axis],
                    other.shape[axis],
                    self.axis
                );
            }
            match length.checked_add(other.shape[self.axis]) {
                Some(sum) => length = sum,
                None => misfit!("axis {} would be too long", self.axis),
            }
        }
        let mut result = (*first).clone();
        result.shape[self.axis] = length;
        Ok(vec![result])
    }
    fn eval(&self, args: &[&Array]) -> Result<Vec<Array>, Misfit> {
        let mut shape = args[0].shape().to_vec();
        shape[self.axis] = args.iter().map(|arg| arg.shape()[self.axis]).sum();
        let outer: usize = shape[..self.axis].iter().product();
        let inner: usize = shape[self.axis + 1..].iter().product();
        let starts: Vec<usize> = args
            .iter()
            .scan(0, |start, arg| {
                let own = *start;
                *start += arg.size();
                Some(own)
            })
            .collect();
        let rows = (0..outer).flat_map(|row| {
            args.iter().zip(&starts).flat_map(move |(arg, &start)| {
                let width = arg.shape()[self.axis] * inner;
                start + row * width..start + (row + 1) * width
            })
        });
        Ok(vec![concatenated(args).pick(&shape, rows)])
    }
    fn along(&self, axis: usize, args: &[&Type]) -> Option<Along> {
        (axis != self.axis).then(|| vec![Some(axis); args.len()])
    }
    fn form(&self, _: &[&Type]) -> Form {
        Form::Planned
    }
    fn reach(&self, site: &Site) -> Reaches {
        site.moved(&[], |args| self.eval(args))
    }
    fn linear_in(&self, args: usize) -> Vec<OperandSet> {
        vec![(0..args).collect()]
    }
    fn multiplies(&self) -> bool {
        false
    }
    fn masks(&self) -> Masks {
        Masks::Moved
    }
    fn transpose(&self, b: &mut Builder, cotangents: &[Option<Value>], args: &[Operand]) -> Cotangents {
        let Some(ct) = cotangents[0] else { return Ok(vec![None; args.len()]) };
        let shape = b.shape(ct).to_vec();
        let mut start = 0;
        let mut pulled = Vec::with_capacity(args.len());
        for arg in args {
            let limit = start + arg.ty(b).shape[self.axis];
            pulled.push(arg.is_linear().then(|| b.op(Slice::along(&shape, self.axis, start, limit), &[ct])));
            start = limit;
        }
        Ok(pulled)
    }
    fn batch(&self, b: &mut Builder, args: &[Value], batched: &[bool], length: usize) -> Batched {
        let args = b.batch_all(args, batched, length);
        Ok(vec![(b.op(Concat { axis: self.axis + 1 }, &args), true)])
    }
    fn attributes(&self) -> Attributes {
        Attributes::default().with("axis", self.axis)
    }
}

impl Family for Concat {
    #[cfg(feature = "text")]
    fn parse(name: &str, fields: &mut Fields) -> Option<Result<Self, Misfit>> {
        (name == "concat").then(|| Ok(Concat { axis: fields.integer("axis")? }))
    }
    fn samples() -> Vec<Sample> {
        let two = |axis, x: &[usize], y: &[usize]| Sample::new(Concat { axis }, &[numbers(1, x), numbers(2, y)]);
        vec![
            two(0, &[2], &[3]),
            two(1, &[2, 1], &[2, 2]),
            two(0, &[0, 2], &[1, 2]),
            Sample::new(
                Concat { axis: 1 },
                &[numbers_f32(1, &[1, 1]), numbers_f32(2, &[1, 2]), numbers_f32(3, &[1, 1])],
            ),
            Sample::new(Concat { axis: 0 }, &[Array::new(&[1], vec![1i64]), Array::new(&[2], vec![2i64, 3])]),
            Sample::new(Concat { axis: 0 }, &[numbers(4, &[2])]),
        ]
    }
}
