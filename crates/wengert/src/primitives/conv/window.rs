//! The positions of the extremes of windows: what max pooling gathers at.

use std::borrow::Cow;

use super::{LIMIT, positions};
use crate::array::{Array, DType, Element, Type, for_each_index, row_major};
use crate::error::{Misfit, misfit};
#[cfg(feature = "text")]
use crate::primitives::parse::Fields;
use crate::primitives::sample::{numbers, numbers_f32};
use crate::primitives::{Attributes, Batched, Extreme, Family, Form, OperandSet, Primitive, Sample, arity};
use crate::program::{Builder, Value};

/// The position of the extreme of every window over the last axes: an index into these axes as if
/// they were one. The first of equal ones; the first NaN if there is one; never the padding. A
/// window has to reach an element. An integer: it has no derivative.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct WindowArg {
    /// Which extreme.
    pub extreme: Extreme,
    /// The lengths of a window; there are as many spatial axes.
    pub window: Vec<usize>,
    /// How far it moves at a time.
    pub stride: Vec<usize>,
    /// How many places before and after an axis windows reach.
    pub padding: Vec<(usize, usize)>,
}

impl WindowArg {
    /// Windows of these lengths, one beside the other, without padding.
    pub fn new(extreme: Extreme, window: &[usize]) -> Self {
        let padding = vec![(0, 0); window.len()];
        WindowArg { extreme, window: window.to_vec(), stride: window.to_vec(), padding }
    }

    /// How many windows there are along an axis, and whether each reaches an element.
    fn count(&self, axis: usize, length: usize) -> Result<(usize, bool), Misfit> {
        let (low, high) = self.padding[axis];
        let number = |count: usize| i64::try_from(count).ok().filter(|&count| count < LIMIT);
        let numbers = [length, low, high, self.window[axis]].map(number);
        let [Some(x), Some(low), Some(high), Some(window)] = numbers else {
            misfit!("spatial axis {axis} is too long with its window and padding");
        };
        let count = positions(x + low + high, window, self.stride[axis]);
        let last = count.saturating_sub(1) * self.stride[axis];
        Ok((count, count == 0 || (low < window && (last as i64) < x + low && x > 0)))
    }

    /// The elements of a window along one axis.
    fn range(&self, axis: usize, place: usize, length: usize) -> std::ops::Range<usize> {
        let start = place * self.stride[axis];
        let low = self.padding[axis].0;
        start.saturating_sub(low)..(start + self.window[axis]).saturating_sub(low).min(length)
    }

    /// The position of the extreme of one window of the elements of one image.
    fn best<T: Element>(&self, x: &[T], lengths: &[usize], window: &[usize]) -> i64 {
        let strides = row_major(lengths);
        let ranges: Vec<_> = (0..lengths.len()).map(|axis| self.range(axis, window[axis], lengths[axis])).collect();
        let shape: Vec<usize> = ranges.iter().map(ExactSizeIterator::len).collect();
        let mut best = None;
        for_each_index(&shape, |index| {
            let at = |axis: usize| (ranges[axis].start + index[axis]) * strides[axis];
            let place = (0..shape.len()).map(at).sum::<usize>();
            if best.is_none_or(|best: usize| self.extreme.replaces(&x[place], &x[best])) {
                best = Some(place);
            }
        });
        best.expect("every window reaches an element") as i64
    }

    fn all<T: Element>(&self, x: &Array, out: &[usize]) -> Array {
        let leading = x.shape().len() - self.window.len();
        let (lengths, windows) = (&x.shape()[leading..], &out[leading..]);
        let area: usize = lengths.iter().product();
        let images: usize = x.shape()[..leading].iter().product();
        let mut places = Vec::new();
        for image in 0..images {
            let x = &x.known::<T>()[image * area..(image + 1) * area];
            for_each_index(windows, |window| places.push(self.best(x, lengths, window)));
        }
        Array::new(out, places)
    }
}

impl Primitive for WindowArg {
    fn name(&self) -> Cow<'static, str> {
        match self.extreme {
            Extreme::Max => "window_argmax",
            Extreme::Min => "window_argmin",
        }
        .into()
    }
    fn infer(&self, args: &[&Type]) -> Result<Vec<Type>, Misfit> {
        arity(args, 1)?;
        let (x, spatial) = (args[0], self.window.len());
        let Some(leading) = x.rank().checked_sub(spatial) else {
            misfit!("the window has {spatial} axes, and the operand {}", x.rank());
        };
        if self.stride.len() != spatial || self.padding.len() != spatial {
            misfit!("stride and padding are needed for each of the {spatial} axes of the window");
        }
        for (name, values) in [("window", &self.window), ("stride", &self.stride)] {
            if let Some(axis) = values.iter().position(|&value| value == 0) {
                misfit!("{name} of spatial axis {axis} is 0");
            }
        }
        let mut shape = x.shape[..leading].to_vec();
        let mut empty = None;
        for axis in 0..spatial {
            let (count, reaches) = self.count(axis, x.shape[leading + axis])?;
            shape.push(count);
            empty = empty.or((!reaches).then_some(axis));
        }
        match empty {
            Some(axis) if !shape[leading..].contains(&0) => {
                misfit!("a window lies wholly in the padding of spatial axis {axis}, {} long", x.shape[leading + axis])
            }
            _ => Ok(vec![Type { dtype: DType::I64, shape }]),
        }
    }
    fn eval(&self, args: &[&Array]) -> Result<Vec<Array>, Misfit> {
        let out = self.infer(&[args[0].ty()])?.swap_remove(0);
        if out.size() == 0 {
            return Ok(vec![Array::zeros(&out)]);
        }
        Ok(vec![match args[0].dtype() {
            DType::Bool => self.all::<bool>(args[0], &out.shape),
            DType::I64 => self.all::<i64>(args[0], &out.shape),
            DType::F32 => self.all::<f32>(args[0], &out.shape),
            DType::F64 => self.all::<f64>(args[0], &out.shape),
        }])
    }
    fn form(&self, _: &[&Type]) -> Form {
        Form::Kernel
    }
    fn linear_in(&self, _: usize) -> Vec<OperandSet> {
        Vec::new()
    }
    fn batch(&self, b: &mut Builder, args: &[Value], batched: &[bool], _: usize) -> Batched {
        // The spatial axes are the last ones: one more in front changes nothing.
        Ok(vec![(b.op(self.clone(), args), batched[0])])
    }
    fn attributes(&self) -> Attributes {
        let padding: Vec<Vec<i64>> = self.padding.iter().map(|&(low, high)| vec![low as i64, high as i64]).collect();
        let attributes = Attributes::default().with("window", &self.window[..]).with("stride", &self.stride[..]);
        attributes.with("padding", padding)
    }
}

impl Family for WindowArg {
    #[cfg(feature = "text")]
    fn parse(name: &str, fields: &mut Fields) -> Option<Result<Self, Misfit>> {
        let extreme = [("window_argmax", Extreme::Max), ("window_argmin", Extreme::Min)];
        let &(_, extreme) = extreme.iter().find(|(own, _)| *own == name)?;
        let mut read = || {
            let (window, stride) = (fields.integers("window")?, fields.integers("stride")?);
            Ok(WindowArg { extreme, window, stride, padding: fields.pairs("padding")? })
        };
        Some(read())
    }
    fn samples() -> Vec<Sample> {
        let (max, min) = (Extreme::Max, Extreme::Min);
        let overlapping =
            WindowArg { extreme: max, window: vec![2, 3], stride: vec![1, 2], padding: vec![(1, 0), (1, 1)] };
        vec![
            Sample::new(WindowArg::new(max, &[2]), &[numbers(1, &[2, 5])]),
            Sample::new(WindowArg::new(min, &[2, 2]), &[numbers(2, &[1, 2, 4, 4])]),
            Sample::new(overlapping, &[numbers_f32(3, &[2, 3, 4])]),
            Sample::new(WindowArg::new(max, &[3]), &[Array::new(&[3], vec![2i64, 5, 5])]),
            Sample::new(WindowArg::new(max, &[3]), &[numbers(4, &[2, 2])]),
            Sample::new(WindowArg::new(min, &[]), &[numbers(5, &[2])]),
            Sample::new(WindowArg::new(min, &[2]), &[numbers(6, &[0, 4])]),
        ]
    }
}
