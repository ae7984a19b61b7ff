//! Reductions over axes: sum, product, extremes, all and any; and the position of an extreme.

use std::borrow::Cow;

#[cfg(feature = "text")]
use super::parse::Fields;
use super::sample::{numbers, numbers_f32};
use super::{
    Along, Attributes, Batched, Cotangents, Cumulative, Family, Form, Masks, Operand, OperandSet, Primitive, Sample,
    Tangents, arity, check_axes, check_axis,
};
use crate::array::{Array, DType, Data, Element, Strided, Type, row_major};
use crate::error::{Misfit, misfit};
use crate::ops::{Binary, Compare, Logic, Unary};
use crate::program::{Builder, Value};

/// What a reduction does with the elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reducer {
    /// The sum, in the order of the elements; 0 of none.
    Sum,
    /// The product, in the order of the elements; 1 of none.
    Prod,
    /// The largest, 0 of 0 and -0; NaN if one is NaN; equal ones share the derivative. Refused for no elements.
    Max,
    /// The smallest, -0 of 0 and -0; else as the largest.
    Min,
    /// Whether all are true; true for none.
    All,
    /// Whether one is true; false for none.
    Any,
}

impl Reducer {
    /// Every member of the family.
    pub const ALL: [Reducer; 6] = [Reducer::Sum, Reducer::Prod, Reducer::Max, Reducer::Min, Reducer::All, Reducer::Any];

    const fn name(self) -> &'static str {
        match self {
            Reducer::Sum => "sum",
            Reducer::Prod => "prod",
            Reducer::Max => "max_over",
            Reducer::Min => "min_over",
            Reducer::All => "all",
            Reducer::Any => "any",
        }
    }
}

/// A reduction over axes, which disappear.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Reduce {
    /// What it does.
    pub reducer: Reducer,
    /// The axes, increasing.
    pub axes: Vec<usize>,
}

impl Reduce {
    /// Over these axes.
    pub fn new(reducer: Reducer, axes: &[usize]) -> Self {
        let mut axes = axes.to_vec();
        axes.sort_unstable();
        Reduce { reducer, axes }
    }
}

/// The lengths of the axes that stay.
fn kept(shape: &[usize], axes: &[usize]) -> Vec<usize> {
    (0..shape.len()).filter(|axis| !axes.contains(axis)).map(|axis| shape[axis]).collect()
}

/// Folds the elements over axes: for each result, its elements in row-major order.
fn fold<T: Element, A: Copy>(x: &Array, axes: &[usize], start: A, step: impl Fn(A, T) -> A) -> (Vec<usize>, Vec<A>) {
    let shape = x.shape();
    let result = kept(shape, axes);
    // The stride of each axis of the operand in the result: 0 where it disappears.
    let mut strides = vec![0isize; shape.len()];
    let kept_axes = (0..shape.len()).filter(|axis| !axes.contains(axis));
    for (axis, stride) in kept_axes.zip(row_major(&result)) {
        strides[axis] = stride.cast_signed();
    }
    let mut results = vec![start; result.iter().product()];
    for (&element, place) in x.known::<T>().iter().zip(Strided::new(shape, &strides, 0)) {
        results[place] = step(results[place], element);
    }
    (result, results)
}

/// The larger number, 0 of 0 and -0; NaN, always the same one, if one is NaN. The bits of an extreme of several do not
/// depend on their order.
pub(crate) fn larger(x: f64, y: f64) -> f64 {
    if x.is_nan() || y.is_nan() {
        f64::NAN
    } else if x > y || x == y && x.is_sign_positive() {
        x
    } else {
        y
    }
}

/// The smaller number, -0 of 0 and -0; NaN as [`larger`].
pub(crate) fn smaller(x: f64, y: f64) -> f64 {
    if x.is_nan() || y.is_nan() {
        f64::NAN
    } else if x < y || x == y && x.is_sign_negative() {
        x
    } else {
        y
    }
}

/// What arithmetic on elements of a type is, for reductions.
struct Arithmetic<T> {
    one: T,
    add: fn(T, T) -> T,
    mul: fn(T, T) -> T,
    larger: fn(T, T) -> T,
    smaller: fn(T, T) -> T,
    /// The start of an extreme: it is smaller than every element, or larger.
    least: T,
    greatest: T,
}

const F64: Arithmetic<f64> = Arithmetic {
    one: 1.0,
    add: |x, y| x + y,
    mul: |x, y| x * y,
    larger,
    smaller,
    least: f64::NEG_INFINITY,
    greatest: f64::INFINITY,
};

const F32: Arithmetic<f32> = Arithmetic {
    one: 1.0,
    add: |x, y| x + y,
    mul: |x, y| x * y,
    larger: |x, y| larger(x.into(), y.into()) as f32,
    smaller: |x, y| smaller(x.into(), y.into()) as f32,
    least: f32::NEG_INFINITY,
    greatest: f32::INFINITY,
};

const I64: Arithmetic<i64> = Arithmetic {
    one: 1,
    add: i64::wrapping_add,
    mul: i64::wrapping_mul,
    larger: i64::max,
    smaller: i64::min,
    least: i64::MIN,
    greatest: i64::MAX,
};

impl Reduce {
    fn arithmetic<T: Element>(&self, x: &Array, by: &Arithmetic<T>) -> Array {
        let (shape, results) = match self.reducer {
            Reducer::Sum => fold(x, &self.axes, T::default(), by.add),
            Reducer::Prod => fold(x, &self.axes, by.one, by.mul),
            Reducer::Max => fold(x, &self.axes, by.least, by.larger),
            Reducer::Min => fold(x, &self.axes, by.greatest, by.smaller),
            Reducer::All | Reducer::Any => unreachable!("inference asks for truth values"),
        };
        Array::new(&shape, results)
    }

    /// The weight of each element in the derivative of an extreme: 1 over the number of those that
    /// reach it.
    fn shares(&self, b: &mut Builder, x: Value, extreme: Value) -> Value {
        let ty = b.ty(x).clone();
        let everywhere = b.spread(extreme, &ty.shape, &self.axes);
        let reached = b.op(Compare::Eq, &[x, everywhere]);
        let reached = b.convert(reached, ty.dtype);
        let count = b.sum(reached, &self.axes);
        // Where the extreme is NaN nothing reaches it: the derivative is 0, not 0/0.
        let count_ty = b.ty(count).clone();
        let one = b.full(1.0, &count_ty);
        let count = b.op(Binary::Max, &[count, one]);
        let count = b.spread(count, &ty.shape, &self.axes);
        b.div(reached, count)
    }
}

impl Primitive for Reduce {
    fn name(&self) -> Cow<'static, str> {
        self.reducer.name().into()
    }
    fn infer(&self, args: &[&Type]) -> Result<Vec<Type>, Misfit> {
        arity(args, 1)?;
        let x = args[0];
        check_axes(&self.axes, x)?;
        if !self.axes.is_sorted() {
            misfit!("the axes {:?} are not increasing", self.axes);
        }
        let boolean = matches!(self.reducer, Reducer::All | Reducer::Any);
        if boolean != (x.dtype == DType::Bool) {
            misfit!("it does not take elements of type {}; convert first", x.dtype);
        }
        let result = x.with_shape(kept(&x.shape, &self.axes));
        if matches!(self.reducer, Reducer::Max | Reducer::Min)
            && result.size() > 0
            && let Some(axis) = self.axes.iter().find(|&&axis| x.shape[axis] == 0)
        {
            misfit!("an extreme of no elements does not exist: axis {axis} is empty");
        }
        Ok(vec![result])
    }
    fn eval(&self, args: &[&Array]) -> Result<Vec<Array>, Misfit> {
        let x = args[0];
        Ok(vec![match x.data() {
            Data::F64(_) => self.arithmetic(x, &F64),
            // Summed in double precision and rounded once: the definition should not lose digits.
            Data::F32(_) if self.reducer == Reducer::Sum => {
                let (shape, sums) = fold(x, &self.axes, 0f64, |sum, x: f32| sum + f64::from(x));
                Array::new(&shape, sums.into_iter().map(|sum| sum as f32).collect::<Vec<f32>>())
            }
            Data::F32(_) => self.arithmetic(x, &F32),
            Data::I64(_) => self.arithmetic(x, &I64),
            Data::Bool(_) => {
                let all = self.reducer == Reducer::All;
                let step = |x: bool, y: bool| if all { x & y } else { x | y };
                let (shape, results) = fold(x, &self.axes, all, step);
                Array::new(&shape, results)
            }
        }])
    }
    fn along(&self, axis: usize, _: &[&Type]) -> Option<Along> {
        // The axes that are reduced come in between.
        let own = self.axes.iter().fold(axis, |own, &reduced| own + usize::from(reduced <= own));
        Some(vec![Some(own)])
    }
    fn sums_over(&self, _: usize, axis: usize) -> Option<Along> {
        (self.reducer == Reducer::Sum && self.axes.contains(&axis)).then(|| vec![Some(axis)])
    }
    fn form(&self, _: &[&Type]) -> Form {
        Form::Reduction
    }
    fn linear_in(&self, _: usize) -> Vec<OperandSet> {
        if self.reducer == Reducer::Sum { super::axes::linear() } else { Vec::new() }
    }
    fn multiplies(&self) -> bool {
        false
    }
    fn masks(&self) -> Masks {
        Masks::Moved
    }
    fn jvp(&self, b: &mut Builder, args: &[Value], outs: &[Value], tangents: &[Option<Value>]) -> Tangents {
        let Some(tangent) = tangents[0] else { return Ok(vec![None]) };
        let weights = match self.reducer {
            Reducer::Max | Reducer::Min => self.shares(b, args[0], outs[0]),
            Reducer::Prod => product_of_others(b, args[0], &self.axes),
            Reducer::Sum | Reducer::All | Reducer::Any => return Ok(vec![None]),
        };
        let weighted = b.mul(tangent, weights);
        Ok(vec![Some(b.sum(weighted, &self.axes))])
    }
    fn transpose(&self, b: &mut Builder, cotangents: &[Option<Value>], args: &[Operand]) -> Cotangents {
        let shape = args[0].ty(b).shape;
        Ok(vec![cotangents[0].map(|ct| b.spread(ct, &shape, &self.axes))])
    }
    fn batch(&self, b: &mut Builder, args: &[Value], batched: &[bool], length: usize) -> Batched {
        let shift = usize::from(batched[0]);
        let axes: Vec<usize> = self.axes.iter().map(|axis| axis + shift).collect();
        let _ = length;
        Ok(vec![(b.op(Reduce { reducer: self.reducer, axes }, args), batched[0])])
    }
    fn attributes(&self) -> Attributes {
        Attributes::default().with("axes", &self.axes[..])
    }
}

/// For each element the product of the others over the axes: no division, so that zeros do no harm.
fn product_of_others(b: &mut Builder, x: Value, axes: &[usize]) -> Value {
    // All reduced axes as one, the last.
    let shape = b.shape(x).to_vec();
    let mut order: Vec<usize> = (0..shape.len()).filter(|axis| !axes.contains(axis)).collect();
    let rank = order.len();
    order.extend(axes);
    let moved = b.permute(x, &order);
    let moved_shape = b.shape(moved).to_vec();
    let count: usize = moved_shape[rank..].iter().product();
    let flat_shape: Vec<usize> = moved_shape[..rank].iter().copied().chain([count]).collect();
    let flat = b.reshape(moved, &flat_shape);
    let before = exclusive_product(b, flat, false);
    let after = exclusive_product(b, flat, true);
    let others = b.mul(before, after);
    let others = b.reshape(others, &moved_shape);
    let mut inverse = vec![0; order.len()];
    order.iter().enumerate().for_each(|(k, &axis)| inverse[axis] = k);
    b.permute(others, &inverse)
}

/// The running product along the last axis without the element itself.
fn exclusive_product(b: &mut Builder, x: Value, reverse: bool) -> Value {
    let ty = b.ty(x).clone();
    let axis = ty.rank() - 1;
    if ty.shape[axis] == 0 {
        return x;
    }
    let running = b.op(Cumulative::new(super::Running::Prod, axis, reverse), &[x]);
    super::cumulative::shift(b, running, axis, reverse, 1.0)
}

/// `2^-600`: the smallest number of all, `2^-1074`, divided by it still has a square, and tangents up to `2^423` do not overflow.
const LEAST_SCALE: f64 = f64::from_bits((1023 - 600) << 52);
/// `2^-90`, so in single precision.
const LEAST_SCALE_F32: f64 = f64::from_bits((1023 - 90) << 52);

/// A power of two near the largest size along axes, and 1 where that is 0 or no finite number: what is divided by it has squares
/// that neither overflow nor vanish, and is not rounded for it. To derivatives it is a number.
///
/// It is not so small that tangents divided by it overflow: the squares of the smallest numbers do not vanish either way.
pub(crate) fn scale_along(b: &mut Builder, x: Value, axes: &[usize]) -> Value {
    let sizes = b.op(Unary::Abs, &[x]);
    let sizes = b.op(Unary::Detach, &[sizes]);
    let largest = b.op(Reduce::new(Reducer::Max, axes), &[sizes]);
    let exponent = b.op(Unary::Log2, &[largest]);
    let exponent = b.op(Unary::Floor, &[exponent]);
    let ty = b.ty(exponent).clone();
    // The logarithm of the largest numbers rounds to the next exponent, which has no power.
    let (most, least) = if ty.dtype == DType::F32 { (127.0, LEAST_SCALE_F32) } else { (1023.0, LEAST_SCALE) };
    let [zero, one, infinity, most, least] = [0.0, 1.0, f64::INFINITY, most, least].map(|number| b.full(number, &ty));
    let exponent = b.op(Binary::Min, &[exponent, most]);
    let scale = b.op(Unary::Exp2, &[exponent]);
    let (positive, finite) = (b.op(Compare::Gt, &[largest, zero]), b.op(Compare::Lt, &[largest, infinity]));
    let usable = b.op(Logic::And, &[positive, finite]);
    let scale = b.op(Binary::Max, &[scale, least]);
    b.select(usable, scale, one)
}

impl Family for Reduce {
    #[cfg(feature = "text")]
    fn parse(name: &str, fields: &mut Fields) -> Option<Result<Self, Misfit>> {
        let reducer = Reducer::ALL.into_iter().find(|&reducer| Reduce::new(reducer, &[]).name() == name)?;
        Some(fields.integers("axes").map(|axes| Reduce::new(reducer, &axes)))
    }
    fn samples() -> Vec<Sample> {
        let mut samples = Vec::new();
        for reducer in [Reducer::Sum, Reducer::Prod, Reducer::Max, Reducer::Min] {
            samples.push(Sample::new(Reduce::new(reducer, &[0]), &[numbers(1, &[4])]));
            samples.push(Sample::new(Reduce::new(reducer, &[0, 2]), &[numbers(2, &[2, 3, 2])]));
            samples.push(Sample::new(Reduce::new(reducer, &[1]), &[numbers_f32(3, &[2, 3])]));
            samples.push(Sample::new(Reduce::new(reducer, &[]), &[numbers(4, &[2])]));
            samples.push(Sample::new(Reduce::new(reducer, &[1]), &[Array::new(&[1, 3], vec![3i64, -4, 5])]));
        }
        samples.push(Sample::new(Reduce::new(Reducer::Sum, &[0]), &[numbers(1, &[0, 2])]));
        samples.push(Sample::new(Reduce::new(Reducer::Prod, &[0]), &[numbers(1, &[0, 2])]));
        samples.push(Sample::new(Reduce::new(Reducer::Prod, &[0]), &[Array::new(&[3], vec![2.0, 0.0, 3.0])]));
        let truth = Array::new(&[2, 2], vec![true, false, true, true]);
        for reducer in [Reducer::All, Reducer::Any] {
            samples.push(Sample::new(Reduce::new(reducer, &[1]), std::slice::from_ref(&truth)));
        }
        samples
    }
}

// ---- positions of extremes ----------------------------------------------------------------------

/// Which extreme.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Extreme {
    /// The largest.
    Max,
    /// The smallest.
    Min,
}

impl Extreme {
    /// Every member of the family.
    #[cfg(feature = "text")]
    const ALL: [Extreme; 2] = [Extreme::Max, Extreme::Min];

    /// Whether `new` takes the place of `best`, which came before: NaN wins, ties do not.
    ///
    /// Without a branch, so that loops compare many at once: what is not at most the best is more, or NaN.
    #[inline(always)]
    #[expect(clippy::eq_op, reason = "NaN alone differs from itself")]
    pub(crate) fn replaces<T: PartialOrd>(self, new: &T, best: &T) -> bool {
        let loses = match self {
            Extreme::Max => new <= best,
            Extreme::Min => new >= best,
        };
        !loses & (best == best)
    }
}

/// The position of the extreme along an axis, which disappears: the first of equal ones, the first
/// NaN if there is one. An integer: it has no derivative.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ArgReduce {
    /// Which extreme.
    pub extreme: Extreme,
    /// The axis.
    pub axis: usize,
}

impl ArgReduce {
    fn positions<T: Element>(self, x: &Array) -> Array {
        let elements = x.known::<T>();
        let (length, inner) = (x.shape()[self.axis], x.shape()[self.axis + 1..].iter().product::<usize>());
        let shape = kept(x.shape(), &[self.axis]);
        let position = |out: usize| {
            let start = out / inner * inner * length + out % inner;
            let at = |k: usize| &elements[start + k * inner];
            (1..length).fold(0, |best, k| if self.extreme.replaces(at(k), at(best)) { k } else { best }) as i64
        };
        Array::new(&shape, (0..shape.iter().product()).map(position).collect::<Vec<i64>>())
    }
}

impl Primitive for ArgReduce {
    fn name(&self) -> Cow<'static, str> {
        match self.extreme {
            Extreme::Max => "argmax",
            Extreme::Min => "argmin",
        }
        .into()
    }
    fn infer(&self, args: &[&Type]) -> Result<Vec<Type>, Misfit> {
        arity(args, 1)?;
        check_axis(self.axis, args[0])?;
        let result = Type::new(DType::I64, &kept(&args[0].shape, &[self.axis]));
        if args[0].shape[self.axis] == 0 && result.size() > 0 {
            misfit!("an extreme of no elements does not exist: axis {} is empty", self.axis);
        }
        Ok(vec![result])
    }
    fn eval(&self, args: &[&Array]) -> Result<Vec<Array>, Misfit> {
        Ok(vec![match args[0].dtype() {
            DType::Bool => self.positions::<bool>(args[0]),
            DType::I64 => self.positions::<i64>(args[0]),
            DType::F32 => self.positions::<f32>(args[0]),
            DType::F64 => self.positions::<f64>(args[0]),
        }])
    }
    fn along(&self, axis: usize, _: &[&Type]) -> Option<Along> {
        Some(vec![Some(axis + usize::from(self.axis <= axis))])
    }
    fn form(&self, _: &[&Type]) -> Form {
        Form::Kernel
    }
    fn linear_in(&self, _: usize) -> Vec<OperandSet> {
        Vec::new()
    }
    fn batch(&self, b: &mut Builder, args: &[Value], batched: &[bool], _: usize) -> Batched {
        let axis = self.axis + usize::from(batched[0]);
        Ok(vec![(b.op(ArgReduce { axis, ..*self }, args), batched[0])])
    }
    fn attributes(&self) -> Attributes {
        Attributes::default().with("axis", self.axis)
    }
}

impl Family for ArgReduce {
    #[cfg(feature = "text")]
    fn parse(name: &str, fields: &mut Fields) -> Option<Result<Self, Misfit>> {
        let extreme = Extreme::ALL.into_iter().find(|&extreme| ArgReduce { extreme, axis: 0 }.name() == name)?;
        Some(fields.integer("axis").map(|axis| ArgReduce { extreme, axis }))
    }
    fn samples() -> Vec<Sample> {
        let operands = [numbers(1, &[3, 2]), numbers_f32(2, &[2, 2]), Array::new(&[2, 2], vec![3i64, 3, 1, 2])];
        let cases = operands.iter().flat_map(|x| {
            [(Extreme::Max, 0), (Extreme::Min, 1)]
                .map(|(extreme, axis)| Sample::new(ArgReduce { extreme, axis }, std::slice::from_ref(x)))
        });
        cases.collect()
    }
}
