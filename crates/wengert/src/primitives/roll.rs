//! A rotation along axes.

use std::borrow::Cow;

#[cfg(feature = "text")]
use super::parse::Fields;
use super::sample::{numbers, numbers_f32};
use super::{
    Along, Attributes, Batched, Cotangents, Family, Form, Masks, Operand, OperandSet, Primitive, Reaches, Sample, Site,
    arity,
};
use crate::array::{Array, Type, for_each_index, row_major};
use crate::error::{Misfit, misfit};
use crate::program::{Builder, Value};

/// The elements moved forward along each axis, those that leave at the end entering at the start:
/// `y[i, j, ..] = x[i - by[0], j - by[1], ..]`, with indices modulo the lengths.
///
/// Negative amounts move backward; amounts may be longer than their axes. Linear; the transpose moves by as much the other
/// way. One pass over the array for any number of axes; [`Tensor::roll`](crate::Tensor::roll) is made of slices instead,
/// which are read where they lie by what is computed from them.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Roll {
    /// How far along each axis.
    pub by: Vec<i64>,
}

impl Roll {
    /// By these amounts, one for each axis.
    pub fn new(by: &[i64]) -> Self {
        Roll { by: by.to_vec() }
    }

    /// How far the elements go forward along each axis: less than its length.
    pub(crate) fn shifts(&self, shape: &[usize]) -> Vec<usize> {
        self.by.iter().zip(shape).map(|(by, &length)| by.rem_euclid(length.max(1) as i64) as usize).collect()
    }
}

impl Primitive for Roll {
    fn name(&self) -> Cow<'static, str> {
        "roll".into()
    }
    fn infer(&self, args: &[&Type]) -> Result<Vec<Type>, Misfit> {
        arity(args, 1)?;
        if self.by.len() != args[0].rank() {
            misfit!("it has {} amounts for an operand with {} axes", self.by.len(), args[0].rank());
        }
        Ok(vec![args[0].clone()])
    }
    fn eval(&self, args: &[&Array]) -> Result<Vec<Array>, Misfit> {
        let shape = args[0].shape();
        if args[0].ty().size() == 0 {
            return Ok(vec![args[0].clone()]);
        }
        let (shifts, strides) = (self.shifts(shape), row_major(shape));
        let mut places = Vec::with_capacity(args[0].ty().size());
        for_each_index(shape, |index| {
            let axes = index.iter().zip(&shifts).zip(shape).zip(&strides);
            places.push(axes.map(|(((&k, &by), &length), stride)| (k + length - by) % length * stride).sum());
        });
        Ok(vec![args[0].pick(shape, places.into_iter())])
    }
    fn along(&self, axis: usize, _: &[&Type]) -> Option<Along> {
        (self.by[axis] == 0).then(|| vec![Some(axis)])
    }
    fn form(&self, _: &[&Type]) -> Form {
        Form::Kernel
    }
    fn reach(&self, site: &Site) -> Reaches {
        site.moved(&[], |args| self.eval(args))
    }
    fn linear_in(&self, _: usize) -> Vec<OperandSet> {
        vec![vec![0]]
    }
    fn multiplies(&self) -> bool {
        false
    }
    fn masks(&self) -> Masks {
        Masks::Moved
    }
    fn transpose(&self, b: &mut Builder, cotangents: &[Option<Value>], args: &[Operand]) -> Cotangents {
        // From the shifts, because not every amount has a negative.
        let shifts = self.shifts(&args[0].ty(b).shape);
        let back = Roll { by: shifts.into_iter().map(|by| -(by as i64)).collect() };
        Ok(vec![cotangents[0].map(|ct| b.op(back, &[ct]))])
    }
    fn batch(&self, b: &mut Builder, args: &[Value], batched: &[bool], _: usize) -> Batched {
        let by = if batched[0] { [&[0], &self.by[..]].concat() } else { self.by.clone() };
        Ok(vec![(b.op(Roll { by }, args), batched[0])])
    }
    fn attributes(&self) -> Attributes {
        Attributes::default().with("by", &self.by[..])
    }
}

impl Family for Roll {
    #[cfg(feature = "text")]
    fn parse(name: &str, fields: &mut Fields) -> Option<Result<Self, Misfit>> {
        (name == "roll").then(|| Ok(Roll { by: fields.integers("by")? }))
    }
    fn samples() -> Vec<Sample> {
        let truth = Array::new(&[2, 2], vec![true, false, false, false]);
        vec![
            Sample::new(Roll::new(&[]), &[numbers(1, &[])]),
            Sample::new(Roll::new(&[1]), &[numbers(2, &[4])]),
            Sample::new(Roll::new(&[-1, 5]), &[numbers(3, &[3, 2])]),
            Sample::new(Roll::new(&[0, 2]), &[numbers_f32(4, &[2, 3])]),
            Sample::new(Roll::new(&[1, 0, -2]), &[numbers(5, &[2, 2, 3])]),
            Sample::new(Roll::new(&[1, 0, 1, 0]), &[numbers(6, &[2, 1, 2, 2])]),
            Sample::new(Roll::new(&[i64::MIN]), &[numbers(7, &[3])]),
            Sample::new(Roll::new(&[1, 1]), &[numbers(8, &[2, 0])]),
            Sample::new(Roll::new(&[2]), &[Array::new(&[3], vec![1i64, 2, 3])]),
            Sample::new(Roll::new(&[1, 1]), &[truth]),
        ]
    }
}
