//! A slice of an array written or added to, at places known when the Program is made. The transpose of adding to a slice
//! is a slice; so is that of writing it, for what is written.

use std::borrow::Cow;

#[cfg(feature = "text")]
use super::parse::Fields;
use super::sample::{numbers, numbers_f32};
use super::{
    Along, Attributes, Batched, Cotangents, Family, Form, Masks, Operand, OperandSet, Primitive, Reach, Reaches,
    Sample, Site, Slice, Write, arity,
};
use crate::array::{Array, DType, Data, Element, Strided, Type, row_major};
use crate::error::{Misfit, misfit};
use crate::program::{Builder, Value};

/// `update_set(x, u)`: `x` with the elements `start, start + stride, …` along each axis replaced by `u`;
/// `update_add(x, u)`: `x` with `u` added to them. There are as many along each axis as `u` has.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Update {
    /// The first index along each axis.
    pub start: Vec<usize>,
    /// The step along each axis, at least 1.
    pub stride: Vec<usize>,
    /// Whether the elements are replaced or added to.
    pub write: Write,
}

impl Update {
    /// The elements of a slice.
    pub fn of(slice: &Slice, write: Write) -> Self {
        Update { start: slice.start.clone(), stride: slice.stride.clone(), write }
    }

    /// The slice that an update of this shape writes.
    pub fn slice(&self, update: &[usize]) -> Slice {
        let end = |axis: usize| match update[axis] {
            0 => self.start[axis],
            length => self.start[axis] + (length - 1) * self.stride[axis] + 1,
        };
        Slice::new(&self.start, &(0..update.len()).map(end).collect::<Vec<usize>>(), &self.stride)
    }

    /// The places of the update's elements in an array of this shape.
    fn places(&self, x: &[usize], update: &[usize]) -> Strided {
        let strides = row_major(x);
        let offset = strides.iter().zip(&self.start).map(|(stride, start)| stride * start).sum();
        let steps: Vec<isize> = strides.iter().zip(&self.stride).map(|(s, step)| (s * step).cast_signed()).collect();
        Strided::new(update, &steps, offset)
    }

    fn written<T: Element>(&self, args: &[&Array], write: impl Fn(T, T) -> T) -> Array {
        let mut elements = args[0].known::<T>().to_vec();
        let places = self.places(args[0].shape(), args[1].shape());
        places.zip(args[1].known::<T>()).for_each(|(place, &update)| elements[place] = write(elements[place], update));
        Array::new(args[0].shape(), elements)
    }
}

impl Primitive for Update {
    fn name(&self) -> Cow<'static, str> {
        match self.write {
            Write::Add => "update_add",
            Write::Set => "update_set",
        }
        .into()
    }
    fn infer(&self, args: &[&Type]) -> Result<Vec<Type>, Misfit> {
        arity(args, 2)?;
        let (x, u) = (args[0], args[1]);
        if x.dtype != u.dtype {
            misfit!("the element types differ; convert one of them first");
        }
        if self.write == Write::Add && x.dtype == DType::Bool {
            misfit!("truth values cannot be added");
        }
        if u.rank() != x.rank() {
            misfit!("the update has {} axes, and {x} has {}", u.rank(), x.rank());
        }
        if self.start.len() != x.rank() || self.stride.len() != x.rank() {
            misfit!("starts and steps are needed for each of the {} axes", x.rank());
        }
        for axis in 0..x.rank() {
            let (start, step, count, length) = (self.start[axis], self.stride[axis], u.shape[axis], x.shape[axis]);
            if step == 0 {
                misfit!("the step along axis {axis} is 0");
            }
            let end = match count.checked_sub(1) {
                None => Some(start),
                Some(steps) => steps.checked_mul(step).and_then(|reach| reach.checked_add(start)?.checked_add(1)),
            };
            if end.is_none_or(|end| end > length) {
                misfit!(
                    "{count} elements from {start} on by steps of {step} do not fit axis {axis}, which is {length} long"
                );
            }
        }
        Ok(vec![x.clone()])
    }
    fn eval(&self, args: &[&Array]) -> Result<Vec<Array>, Misfit> {
        Ok(vec![match (self.write, args[0].data()) {
            (Write::Add, Data::F64(_)) => self.written(args, |x: f64, u| x + u),
            (Write::Add, Data::F32(_)) => self.written(args, |x: f32, u| x + u),
            (Write::Add, Data::I64(_)) => self.written(args, i64::wrapping_add),
            (Write::Add, Data::Bool(_)) => unreachable!("inference refuses to add truth values"),
            (Write::Set, Data::Bool(_)) => self.written(args, |_: bool, u| u),
            (Write::Set, Data::I64(_)) => self.written(args, |_: i64, u| u),
            (Write::Set, Data::F32(_)) => self.written(args, |_: f32, u| u),
            (Write::Set, Data::F64(_)) => self.written(args, |_: f64, u| u),
        }])
    }
    fn along(&self, axis: usize, args: &[&Type]) -> Option<Along> {
        // An update that is as long as the array writes all of it.
        (args[1].shape[axis] == args[0].shape[axis]).then(|| vec![Some(axis); 2])
    }
    fn form(&self, _: &[&Type]) -> Form {
        Form::Kernel
    }
    fn reach(&self, site: &Site) -> Reaches {
        let set = Update { write: Write::Set, ..self.clone() };
        let mut reaches = site.moved(&[], |args| set.eval(args))?;
        if self.write == Write::Add {
            reaches[0][0] = Reach::Same;
        }
        Ok(reaches)
    }
    fn linear_in(&self, _: usize) -> Vec<OperandSet> {
        vec![vec![0, 1]]
    }
    fn multiplies(&self) -> bool {
        false
    }
    fn masks(&self) -> Masks {
        Masks::Moved
    }
    fn transpose(&self, b: &mut Builder, cotangents: &[Option<Value>], args: &[Operand]) -> Cotangents {
        let Some(ct) = cotangents[0] else { return Ok(vec![None; 2]) };
        let block = args[1].ty(b);
        let x_bar = args[0].is_linear().then(|| match self.write {
            Write::Add => ct,
            Write::Set => {
                let zeros = b.full(0.0, &block.with_dtype(b.dtype(ct)));
                b.op(self.clone(), &[ct, zeros])
            }
        });
        let u_bar = args[1].is_linear().then(|| b.op(self.slice(&block.shape), &[ct]));
        Ok(vec![x_bar, u_bar])
    }
    fn batch(&self, b: &mut Builder, args: &[Value], batched: &[bool], length: usize) -> Batched {
        if !batched.contains(&true) {
            return Ok(vec![(b.op(self.clone(), args), false)]);
        }
        let both = b.batch_all(args, batched, length);
        let mut update = self.clone();
        update.start.insert(0, 0);
        update.stride.insert(0, 1);
        Ok(vec![(b.op(update, &both), true)])
    }
    fn attributes(&self) -> Attributes {
        Attributes::default().with("start", &self.start[..]).with("stride", &self.stride[..])
    }
}

impl Family for Update {
    #[cfg(feature = "text")]
    fn parse(name: &str, fields: &mut Fields) -> Option<Result<Self, Misfit>> {
        let empty = |write| Update { start: Vec::new(), stride: Vec::new(), write };
        let write = Write::ALL.into_iter().find(|&write| empty(write).name() == name)?;
        let mut read = || Ok(Update { start: fields.integers("start")?, stride: fields.integers("stride")?, write });
        Some(read())
    }
    fn samples() -> Vec<Sample> {
        let sample = |write: Write, start: &[usize], stride: &[usize], x: Array, u: Array| {
            Sample::new(Update { start: start.to_vec(), stride: stride.to_vec(), write }, &[x, u])
        };
        let mut samples = Vec::new();
        for write in [Write::Add, Write::Set] {
            samples.extend([
                sample(write, &[2], &[1], numbers(1, &[5]), numbers(11, &[2])),
                sample(write, &[1], &[2], numbers(2, &[6]), numbers(12, &[3])),
                sample(write, &[1, 0], &[1, 3], numbers_f32(3, &[3, 4]), numbers_f32(13, &[2, 2])),
                sample(write, &[1, 0, 1], &[1, 2, 1], numbers(4, &[2, 3, 3]), numbers(14, &[1, 2, 2])),
                sample(write, &[0, 0], &[1, 1], numbers(5, &[2, 3]), numbers(15, &[2, 3])),
                sample(write, &[0, 1], &[1, 1], numbers(6, &[0, 3]), numbers(16, &[0, 2])),
                sample(write, &[3, 1], &[1, 5], numbers(7, &[3, 2]), numbers(17, &[0, 1])),
                sample(write, &[], &[], numbers(8, &[]), numbers(18, &[])),
                sample(write, &[1], &[1], Array::new(&[3], vec![1i64, 2, 3]), Array::new(&[2], vec![8i64, 9])),
            ]);
        }
        let (truths, one) = (Array::new(&[2], vec![true, false]), Array::new(&[1], vec![true]));
        samples.push(sample(Write::Set, &[1], &[1], truths, one));
        samples
    }
}

#[cfg(test)]
mod tests;
