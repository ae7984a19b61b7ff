//! Sorting: the permutation that sorts. Sorted values are a gather with it, so that derivatives are
//! those of the gather.

use std::borrow::Cow;
use std::cmp::Ordering;

#[cfg(feature = "text")]
use super::parse::Fields;
use super::sample::{numbers, numbers_f32};
use super::{Attributes, Batched, Family, Form, OperandSet, Primitive, Sample, arity, check_axis};
use crate::array::{Array, DType, Element, Type};
use crate::error::{Misfit, misfit};
use crate::program::{Builder, Value};

/// The positions (i64) of the elements along an axis in increasing or decreasing order, of all or of the first `count`.
///
/// The sort is stable in both orders: of equal elements, as 0 and -0 are, the first comes first. NaN
/// comes last in both.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ArgSort {
    /// The axis.
    pub axis: usize,
    /// Whether the largest comes first.
    pub descending: bool,
    /// How many positions are wanted, if not all: the first of the order.
    pub count: Option<usize>,
}

impl ArgSort {
    /// All positions along this axis.
    pub fn new(axis: usize, descending: bool) -> Self {
        ArgSort { axis, descending, count: None }
    }

    /// The first positions alone.
    pub fn first(self, count: usize) -> Self {
        ArgSort { count: Some(count), ..self }
    }

    /// The shape of the positions.
    fn shape(self, x: &Type) -> Vec<usize> {
        let mut shape = x.shape.clone();
        shape[self.axis] = self.count.unwrap_or(shape[self.axis]);
        shape
    }

    fn order<T: Element>(self, x: &T, y: &T) -> Ordering {
        let nan = |x: &T| x.partial_cmp(x).is_none();
        match x.partial_cmp(y) {
            Some(order) if self.descending => order.reverse(),
            Some(order) => order,
            None => nan(x).cmp(&nan(y)),
        }
    }

    fn positions<T: Element>(self, x: &Array) -> Array {
        let elements = x.known::<T>();
        let (length, inner) = (x.shape()[self.axis], x.shape()[self.axis + 1..].iter().product::<usize>());
        let outer: usize = x.shape()[..self.axis].iter().product();
        let count = self.count.unwrap_or(length);
        let mut positions = vec![0i64; outer * count * inner];
        for (row, column) in (0..outer).flat_map(|row| (0..inner).map(move |column| (row, column))) {
            let from = |k: usize| &elements[(row * length + k) * inner + column];
            let mut line: Vec<usize> = (0..length).collect();
            line.sort_by(|&i, &j| self.order(from(i), from(j)));
            for (k, &position) in line[..count].iter().enumerate() {
                positions[(row * count + k) * inner + column] = position as i64;
            }
        }
        Array::new(&self.shape(x.ty()), positions)
    }
}

impl Primitive for ArgSort {
    fn name(&self) -> Cow<'static, str> {
        "argsort".into()
    }
    fn infer(&self, args: &[&Type]) -> Result<Vec<Type>, Misfit> {
        arity(args, 1)?;
        check_axis(self.axis, args[0])?;
        let length = args[0].shape[self.axis];
        if let Some(count) = self.count.filter(|&count| count > length) {
            misfit!("axis {} has {length} elements, and {count} are asked for", self.axis);
        }
        Ok(vec![Type::new(DType::I64, &self.shape(args[0]))])
    }
    fn eval(&self, args: &[&Array]) -> Result<Vec<Array>, Misfit> {
        Ok(vec![match args[0].dtype() {
            DType::Bool => self.positions::<bool>(args[0]),
            DType::I64 => self.positions::<i64>(args[0]),
            DType::F32 => self.positions::<f32>(args[0]),
            DType::F64 => self.positions::<f64>(args[0]),
        }])
    }
    fn form(&self, _: &[&Type]) -> Form {
        Form::Kernel
    }
    fn linear_in(&self, _: usize) -> Vec<OperandSet> {
        Vec::new()
    }
    fn batch(&self, b: &mut Builder, args: &[Value], batched: &[bool], _: usize) -> Batched {
        let axis = self.axis + usize::from(batched[0]);
        Ok(vec![(b.op(ArgSort { axis, ..*self }, args), batched[0])])
    }
    fn attributes(&self) -> Attributes {
        let all = Attributes::default().with("axis", self.axis).with("descending", self.descending);
        match self.count {
            Some(count) => all.with("count", count),
            None => all,
        }
    }
}

impl Family for ArgSort {
    #[cfg(feature = "text")]
    fn parse(name: &str, fields: &mut Fields) -> Option<Result<Self, Misfit>> {
        (name == "argsort").then(|| {
            let all = ArgSort::new(fields.integer("axis")?, fields.flag("descending")?);
            Ok(if fields.has("count") { all.first(fields.integer("count")?) } else { all })
        })
    }
    fn samples() -> Vec<Sample> {
        let special = vec![0.0, f64::NAN, -0.0, f64::INFINITY, 1.0, 0.0, f64::NEG_INFINITY, f64::NAN];
        let operands = [
            (0, numbers(1, &[5])),
            (0, Array::new(&[8], special)),
            (1, numbers_f32(2, &[2, 3])),
            (1, numbers(3, &[2, 3, 2])),
            (0, numbers(4, &[2, 0])),
            (1, numbers(5, &[2, 0])),
            (2, Array::new(&[1, 2, 3, 1], vec![4i64, 1, 4, 0, -3, i64::MIN])),
            (0, Array::new(&[4], vec![true, false, true, false])),
        ];
        let cases = operands.iter().flat_map(|(axis, x)| {
            [false, true].into_iter().flat_map(move |descending| {
                let (all, length) = (ArgSort::new(*axis, descending), x.shape()[*axis]);
                let some = [0, 1, length / 2, length].map(|count| all.first(count.min(length)));
                some.into_iter().chain([all]).map(move |op| Sample::new(op, std::slice::from_ref(x)))
            })
        });
        cases.collect()
    }
}

#[cfg(test)]
mod tests;
