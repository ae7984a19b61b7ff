//! Axes: broadcast, reshape, permute, reverse. All are linear and move elements only.

use std::borrow::Cow;

#[cfg(feature = "text")]
use super::parse::Fields;
use super::sample::{numbers, numbers_f32};
use super::{
    Along, Attributes, Batched, Cotangents, Family, Form, Masks, Op, Operand, OperandSet, Primitive, Sample, arity,
    check_axes,
};
use crate::array::{Array, DType, Strided, Type, row_major};
use crate::error::{Misfit, misfit};
use crate::program::{Builder, Value};

/// The one set of operands of an operation that is linear in its only one.
pub(super) fn linear() -> Vec<OperandSet> {
    vec![vec![0]]
}

fn signed(strides: &[usize]) -> Vec<isize> {
    strides.iter().map(|stride| stride.cast_signed()).collect()
}

// ---- broadcast ----------------------------------------------------------------------------------

/// The operand repeated along new axes: `out[i] = x[i[axes[0]], i[axes[1]], …]`. Axis k of the
/// operand becomes axis `axes[k]` of the result, with the same length; nothing stretches.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Broadcast {
    /// The shape of the result.
    pub shape: Vec<usize>,
    /// Where the operand's axes go, increasing.
    pub axes: Vec<usize>,
}

impl Broadcast {
    /// To this shape, with the operand's axes at these places.
    pub fn new(shape: &[usize], axes: &[usize]) -> Self {
        Broadcast { shape: shape.to_vec(), axes: axes.to_vec() }
    }

    /// The axes along which the elements repeat.
    fn new_axes(&self) -> Vec<usize> {
        (0..self.shape.len()).filter(|axis| !self.axes.contains(axis)).collect()
    }
}

impl Primitive for Broadcast {
    fn name(&self) -> Cow<'static, str> {
        "broadcast".into()
    }
    fn infer(&self, args: &[&Type]) -> Result<Vec<Type>, Misfit> {
        arity(args, 1)?;
        let (x, result) = (args[0], args[0].with_shape(self.shape.clone()));
        if self.axes.len() != x.rank() {
            misfit!("it names {} axes for an operand with {}", self.axes.len(), x.rank());
        }
        check_axes(&self.axes, &result)?;
        if !self.axes.is_sorted() {
            misfit!("the axes {:?} are not in order; permute first", self.axes);
        }
        for (k, &axis) in self.axes.iter().enumerate() {
            if x.shape[k] != self.shape[axis] {
                misfit!("axis {k} is {} long, and axis {axis} of the result {}", x.shape[k], self.shape[axis]);
            }
        }
        Ok(vec![result])
    }
    fn eval(&self, args: &[&Array]) -> Result<Vec<Array>, Misfit> {
        let mut strides = vec![0; self.shape.len()];
        for (&axis, stride) in self.axes.iter().zip(signed(&row_major(args[0].shape()))) {
            strides[axis] = stride;
        }
        Ok(vec![args[0].pick(&self.shape, Strided::new(&self.shape, &strides, 0))])
    }
    fn along(&self, axis: usize, args: &[&Type]) -> Option<Along> {
        let own = self.axes.iter().position(|&place| place == axis);
        Some(vec![own.filter(|&own| args[0].shape[own] == self.shape[axis])])
    }
    fn with_length(&self, axis: usize, length: usize) -> Option<Op> {
        Some(Broadcast { shape: replaced(&self.shape, axis, length), axes: self.axes.clone() }.into())
    }
    fn form(&self, _: &[&Type]) -> Form {
        Form::View
    }
    fn linear_in(&self, _: usize) -> Vec<OperandSet> {
        linear()
    }
    fn multiplies(&self) -> bool {
        false
    }
    fn masks(&self) -> Masks {
        Masks::Moved
    }
    fn transpose(&self, b: &mut Builder, cotangents: &[Option<Value>], _: &[Operand]) -> Cotangents {
        let new = self.new_axes();
        // A mask counts where one of the repetitions does.
        let joined = |ct| if b.dtype(ct) == DType::Bool { b.any(ct, &new) } else { b.sum(ct, &new) };
        Ok(vec![cotangents[0].map(joined)])
    }
    fn batch(&self, b: &mut Builder, args: &[Value], batched: &[bool], length: usize) -> Batched {
        if !batched[0] {
            return Ok(vec![(b.op(self.clone(), args), false)]);
        }
        let shape: Vec<usize> = [&[length], &self.shape[..]].concat();
        let axes: Vec<usize> = std::iter::once(0).chain(self.axes.iter().map(|axis| axis + 1)).collect();
        Ok(vec![(b.op(Broadcast { shape, axes }, args), true)])
    }
    fn attributes(&self) -> Attributes {
        Attributes::default().with("shape", &self.shape[..]).with("axes", &self.axes[..])
    }
}

impl Family for Broadcast {
    #[cfg(feature = "text")]
    fn parse(name: &str, fields: &mut Fields) -> Option<Result<Self, Misfit>> {
        (name == "broadcast")
            .then(|| Ok(Broadcast { shape: fields.integers("shape")?, axes: fields.integers("axes")? }))
    }
    fn samples() -> Vec<Sample> {
        vec![
            Sample::new(Broadcast::new(&[2, 3], &[1]), &[numbers(1, &[3])]),
            Sample::new(Broadcast::new(&[2, 3], &[0]), &[numbers_f32(2, &[2])]),
            Sample::new(Broadcast::new(&[2, 0, 3], &[0, 2]), &[numbers(3, &[2, 3])]),
            Sample::new(Broadcast::new(&[2, 2], &[]), &[numbers(4, &[])]),
            Sample::new(Broadcast::new(&[2, 2], &[0]), &[Array::new(&[2], vec![1i64, 2])]),
            Sample::new(Broadcast::new(&[1, 2], &[1]), &[Array::new(&[2], vec![true, false])]),
        ]
    }
}

/// A shape with another length of an axis.
pub(super) fn replaced(shape: &[usize], axis: usize, length: usize) -> Vec<usize> {
    let mut shape = shape.to_vec();
    shape[axis] = length;
    shape
}

// ---- reshape ------------------------------------------------------------------------------------

/// The same elements, in row-major order, in another shape.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Reshape {
    /// The shape of the result.
    pub shape: Vec<usize>,
}

impl Reshape {
    /// To this shape.
    pub fn new(shape: &[usize]) -> Self {
        Reshape { shape: shape.to_vec() }
    }
}

impl Primitive for Reshape {
    fn name(&self) -> Cow<'static, str> {
        "reshape".into()
    }
    fn infer(&self, args: &[&Type]) -> Result<Vec<Type>, Misfit> {
        arity(args, 1)?;
        let count = crate::array::element_count(&self.shape);
        if count != Some(args[0].size()) {
            let count = count.map_or("too many".to_owned(), |count| count.to_string());
            misfit!("the shape {:?} has {count} elements, the operand {}", self.shape, args[0].size());
        }
        Ok(vec![args[0].with_shape(self.shape.clone())])
    }
    fn eval(&self, args: &[&Array]) -> Result<Vec<Array>, Misfit> {
        Ok(vec![args[0].reshaped(&self.shape)])
    }
    fn along(&self, axis: usize, args: &[&Type]) -> Option<Along> {
        // The axis that begins after as many elements, and is as long.
        let (x, before) = (&args[0].shape, self.shape[..axis].iter().product::<usize>());
        let is_same = |own: &usize| x[*own] == self.shape[axis] && x[..*own].iter().product::<usize>() == before;
        (0..x.len()).find(is_same).map(|own| vec![Some(own)])
    }
    fn with_length(&self, axis: usize, length: usize) -> Option<Op> {
        Some(Reshape { shape: replaced(&self.shape, axis, length) }.into())
    }
    fn form(&self, _: &[&Type]) -> Form {
        Form::View
    }
    fn linear_in(&self, _: usize) -> Vec<OperandSet> {
        linear()
    }
    fn multiplies(&self) -> bool {
        false
    }
    fn masks(&self) -> Masks {
        Masks::Moved
    }
    fn transpose(&self, b: &mut Builder, cotangents: &[Option<Value>], args: &[Operand]) -> Cotangents {
        let shape = args[0].ty(b).shape;
        Ok(vec![cotangents[0].map(|ct| b.reshape(ct, &shape))])
    }
    fn batch(&self, b: &mut Builder, args: &[Value], batched: &[bool], length: usize) -> Batched {
        let shape = if batched[0] { [&[length], &self.shape[..]].concat() } else { self.shape.clone() };
        Ok(vec![(b.op(Reshape { shape }, args), batched[0])])
    }
    fn attributes(&self) -> Attributes {
        Attributes::default().with("shape", &self.shape[..])
    }
}

impl Family for Reshape {
    #[cfg(feature = "text")]
    fn parse(name: &str, fields: &mut Fields) -> Option<Result<Self, Misfit>> {
        (name == "reshape").then(|| Ok(Reshape { shape: fields.integers("shape")? }))
    }
    fn samples() -> Vec<Sample> {
        vec![
            Sample::new(Reshape::new(&[3, 2]), &[numbers(1, &[2, 3])]),
            Sample::new(Reshape::new(&[]), &[numbers_f32(2, &[1, 1])]),
            Sample::new(Reshape::new(&[0, 5]), &[numbers(3, &[2, 0])]),
            Sample::new(Reshape::new(&[1, 2]), &[Array::new(&[2], vec![1i64, 2])]),
        ]
    }
}

// ---- permute ------------------------------------------------------------------------------------

/// The axes in another order: axis k of the result is axis `order[k]` of the operand.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Permute {
    /// The operand's axes in the order of the result.
    pub order: Vec<usize>,
}

impl Permute {
    /// In this order.
    pub fn new(order: &[usize]) -> Self {
        Permute { order: order.to_vec() }
    }
}

impl Primitive for Permute {
    fn name(&self) -> Cow<'static, str> {
        "permute".into()
    }
    fn infer(&self, args: &[&Type]) -> Result<Vec<Type>, Misfit> {
        arity(args, 1)?;
        let x = args[0];
        if self.order.len() != x.rank() {
            misfit!("the order {:?} names {} axes of {}", self.order, self.order.len(), x.rank());
        }
        check_axes(&self.order, x)?;
        Ok(vec![x.with_shape(self.order.iter().map(|&axis| x.shape[axis]).collect())])
    }
    fn eval(&self, args: &[&Array]) -> Result<Vec<Array>, Misfit> {
        let strides = row_major(args[0].shape());
        let strides: Vec<isize> = self.order.iter().map(|&axis| strides[axis].cast_signed()).collect();
        let shape: Vec<usize> = self.order.iter().map(|&axis| args[0].shape()[axis]).collect();
        Ok(vec![args[0].pick(&shape, Strided::new(&shape, &strides, 0))])
    }
    fn along(&self, axis: usize, _: &[&Type]) -> Option<Along> {
        Some(vec![Some(self.order[axis])])
    }
    fn form(&self, _: &[&Type]) -> Form {
        Form::View
    }
    fn linear_in(&self, _: usize) -> Vec<OperandSet> {
        linear()
    }
    fn multiplies(&self) -> bool {
        false
    }
    fn masks(&self) -> Masks {
        Masks::Moved
    }
    fn transpose(&self, b: &mut Builder, cotangents: &[Option<Value>], _: &[Operand]) -> Cotangents {
        let mut inverse = vec![0; self.order.len()];
        self.order.iter().enumerate().for_each(|(k, &axis)| inverse[axis] = k);
        Ok(vec![cotangents[0].map(|ct| b.permute(ct, &inverse))])
    }
    fn batch(&self, b: &mut Builder, args: &[Value], batched: &[bool], _: usize) -> Batched {
        if !batched[0] {
            return Ok(vec![(b.op(self.clone(), args), false)]);
        }
        let order: Vec<usize> = std::iter::once(0).chain(self.order.iter().map(|axis| axis + 1)).collect();
        Ok(vec![(b.op(Permute { order }, args), true)])
    }
    fn attributes(&self) -> Attributes {
        Attributes::default().with("order", &self.order[..])
    }
}

impl Family for Permute {
    #[cfg(feature = "text")]
    fn parse(name: &str, fields: &mut Fields) -> Option<Result<Self, Misfit>> {
        (name == "permute").then(|| Ok(Permute { order: fields.integers("order")? }))
    }
    fn samples() -> Vec<Sample> {
        vec![
            Sample::new(Permute::new(&[1, 0]), &[numbers(1, &[2, 3])]),
            Sample::new(Permute::new(&[2, 0, 1]), &[numbers_f32(2, &[2, 3, 4])]),
            Sample::new(Permute::new(&[1, 2, 0]), &[numbers(3, &[2, 0, 3])]),
            Sample::new(Permute::new(&[1, 0]), &[Array::new(&[1, 2], vec![1i64, 2])]),
        ]
    }
}

// ---- reverse ------------------------------------------------------------------------------------

/// The opposite order along axes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Reverse {
    /// The axes.
    pub axes: Vec<usize>,
}

impl Reverse {
    /// Along these axes.
    pub fn new(axes: &[usize]) -> Self {
        Reverse { axes: axes.to_vec() }
    }
}

impl Primitive for Reverse {
    fn name(&self) -> Cow<'static, str> {
        "reverse".into()
    }
    fn infer(&self, args: &[&Type]) -> Result<Vec<Type>, Misfit> {
        arity(args, 1)?;
        check_axes(&self.axes, args[0])?;
        Ok(vec![args[0].clone()])
    }
    fn eval(&self, args: &[&Array]) -> Result<Vec<Array>, Misfit> {
        let shape = args[0].shape();
        let mut strides = signed(&row_major(shape));
        let mut offset = 0;
        for &axis in &self.axes {
            offset += strides[axis].cast_unsigned() * shape[axis].saturating_sub(1);
            strides[axis] = -strides[axis];
        }
        Ok(vec![args[0].pick(shape, Strided::new(shape, &strides, offset))])
    }
    fn along(&self, axis: usize, _: &[&Type]) -> Option<Along> {
        (!self.axes.contains(&axis)).then(|| vec![Some(axis)])
    }
    fn form(&self, _: &[&Type]) -> Form {
        Form::View
    }
    fn linear_in(&self, _: usize) -> Vec<OperandSet> {
        linear()
    }
    fn multiplies(&self) -> bool {
        false
    }
    fn masks(&self) -> Masks {
        Masks::Moved
    }
    fn transpose(&self, b: &mut Builder, cotangents: &[Option<Value>], _: &[Operand]) -> Cotangents {
        Ok(vec![cotangents[0].map(|ct| b.op(self.clone(), &[ct]))])
    }
    fn batch(&self, b: &mut Builder, args: &[Value], batched: &[bool], _: usize) -> Batched {
        let shift = usize::from(batched[0]);
        let axes: Vec<usize> = self.axes.iter().map(|axis| axis + shift).collect();
        Ok(vec![(b.op(Reverse { axes }, args), batched[0])])
    }
    fn attributes(&self) -> Attributes {
        Attributes::default().with("axes", &self.axes[..])
    }
}

impl Family for Reverse {
    #[cfg(feature = "text")]
    fn parse(name: &str, fields: &mut Fields) -> Option<Result<Self, Misfit>> {
        (name == "reverse").then(|| Ok(Reverse { axes: fields.integers("axes")? }))
    }
    fn samples() -> Vec<Sample> {
        vec![
            Sample::new(Reverse::new(&[0]), &[numbers(1, &[4])]),
            Sample::new(Reverse::new(&[0, 2]), &[numbers_f32(2, &[2, 3, 2])]),
            Sample::new(Reverse::new(&[1]), &[numbers(3, &[2, 0])]),
            Sample::new(Reverse::new(&[0]), &[Array::new(&[2], vec![true, false])]),
        ]
    }
}
