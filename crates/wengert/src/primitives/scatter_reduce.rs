//! Scatter with an extreme or a product in place of a sum.

use std::borrow::Cow;

#[cfg(feature = "text")]
use super::parse::Fields;
use super::sample::{numbers, numbers_f32};
use super::{
    ArgSort, Attributes, Batched, Family, Form, Gather, Iota, OperandSet, OutOfBounds, Pad, Primitive, Reaches, Sample,
    Scatter, Site, Tangents, Write, arity,
};
use crate::array::{Array, DType, Data, Element, Type};
use crate::error::{Misfit, misfit};
use crate::ops::{Binary, Compare};
use crate::program::{Builder, Value};
use wengert_kernels::Float;

/// What becomes of the updates that meet at one element.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fold {
    /// The largest, 0 of 0 and -0; NaN if one is NaN; equal ones share the derivative.
    Max,
    /// The smallest, -0 of 0 and -0; else as the largest.
    Min,
    /// The product, in row-major order of the updates. Its derivative does not divide: zeros do no harm.
    Mul,
}

impl Fold {
    /// Every member of the family.
    pub const ALL: [Fold; 3] = [Fold::Max, Fold::Min, Fold::Mul];

    const fn name(self) -> &'static str {
        match self {
            Fold::Max => "scatter_max",
            Fold::Min => "scatter_min",
            Fold::Mul => "scatter_mul",
        }
    }
}

/// Elements that can be folded.
pub(crate) trait Folded: Element {
    /// What changes nothing that it meets.
    fn neutral(fold: Fold) -> Self;
    /// The larger of two, as a reduction takes it.
    fn larger(self, other: Self) -> Self;
    /// The smaller of two.
    fn smaller(self, other: Self) -> Self;
    /// The product of two.
    fn times(self, other: Self) -> Self;
}

macro_rules! folded {
    ($float:ident) => {
        impl Folded for $float {
            fn neutral(fold: Fold) -> Self {
                match fold {
                    Fold::Max => $float::NEG_INFINITY,
                    Fold::Min => $float::INFINITY,
                    Fold::Mul => 1.0,
                }
            }
            #[inline(always)]
            fn larger(self, other: Self) -> Self {
                let larger = Float::max(self, other);
                if larger.is_nan() { $float::NAN } else { larger }
            }
            #[inline(always)]
            fn smaller(self, other: Self) -> Self {
                let smaller = Float::min(self, other);
                if smaller.is_nan() { $float::NAN } else { smaller }
            }
            #[inline(always)]
            fn times(self, other: Self) -> Self {
                self * other
            }
        }
    };
}
folded!(f32);
folded!(f64);

impl Folded for i64 {
    fn neutral(fold: Fold) -> Self {
        match fold {
            Fold::Max => i64::MIN,
            Fold::Min => i64::MAX,
            Fold::Mul => 1,
        }
    }
    #[inline(always)]
    fn larger(self, other: Self) -> Self {
        self.max(other)
    }
    #[inline(always)]
    fn smaller(self, other: Self) -> Self {
        self.min(other)
    }
    #[inline(always)]
    fn times(self, other: Self) -> Self {
        self.wrapping_mul(other)
    }
}

/// `scatter_max(x, indices, updates)`: `x` with the extreme or the product of the updates where a [`Gather`] with the same
/// options would read; the updates have the type of its result.
///
/// If `include` is true, the element of `x` is one of those that meet; else it stands only where no update comes. An update
/// that is dropped has no part in the derivative.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ScatterReduce {
    /// How many leading axes the operands share.
    pub batch: usize,
    /// The axes of `x` that are indexed, increasing and after the shared ones.
    pub axes: Vec<usize>,
    /// What happens at an index that does not exist.
    pub mode: OutOfBounds,
    /// What becomes of the updates that meet.
    pub fold: Fold,
    /// Whether the element of `x` meets them.
    pub include: bool,
}

impl ScatterReduce {
    /// Updates at index vectors for these axes, without shared axes.
    pub fn new(axes: &[usize], mode: OutOfBounds, fold: Fold, include: bool) -> Self {
        ScatterReduce { batch: 0, axes: axes.to_vec(), mode, fold, include }
    }

    /// The gather that reads where this writes.
    pub(crate) fn gather(&self) -> Gather {
        Gather { batch: self.batch, axes: self.axes.clone(), mode: self.mode }
    }

    /// The scatter that writes at the same places.
    pub(crate) fn scatter(&self, write: Write) -> Scatter {
        Scatter { batch: self.batch, axes: self.axes.clone(), mode: self.mode, write }
    }

    fn at(&self, places: Gather) -> Self {
        ScatterReduce {
            batch: places.batch,
            axes: places.axes,
            mode: places.mode,
            fold: self.fold,
            include: self.include,
        }
    }

    fn folded<T: Folded>(&self, args: &[&Array]) -> Result<Array, Misfit> {
        let places = self.gather().places(args[0].shape(), args[1])?;
        let mut elements = args[0].known::<T>().to_vec();
        if !self.include {
            places.iter().flatten().for_each(|place| elements[place] = T::neutral(self.fold));
        }
        let meet = match self.fold {
            Fold::Max => T::larger,
            Fold::Min => T::smaller,
            Fold::Mul => T::times,
        };
        for (place, &update) in places.iter().zip(args[2].known::<T>()) {
            if let Some(place) = place {
                elements[place] = meet(elements[place], update);
            }
        }
        Ok(Array::new(args[0].shape(), elements))
    }

    /// Where an update comes.
    fn touched(&self, b: &mut Builder, x: Value, indices: Value, updates: Value) -> Value {
        let nowhere = b.full(0.0, &b.ty(x).with_dtype(DType::Bool));
        let here = b.full(1.0, &b.ty(updates).with_dtype(DType::Bool));
        b.op(self.scatter(Write::Set), &[nowhere, indices, here])
    }

    /// Which elements and updates reach an extreme, as 1 and 0, and how many there are of each, 1 if none: the derivative is the mean
    /// of theirs.
    fn reached(&self, b: &mut Builder, [x, indices, updates]: [Value; 3], extreme: Value) -> ([Value; 2], Value) {
        let (x_ty, updates_ty) = (b.ty(x).clone(), b.ty(updates).clone());
        let there = b.op(self.gather(), &[extreme, indices]);
        let reached = b.op(Compare::Eq, &[updates, there]);
        let reached = b.convert(reached, updates_ty.dtype);
        let own = if self.include {
            let reached = b.op(Compare::Eq, &[x, extreme]);
            b.convert(reached, x_ty.dtype)
        } else {
            b.full(0.0, &x_ty)
        };
        let count = b.op(self.scatter(Write::Add), &[own, indices, reached]);
        // Where the extreme is NaN nothing reaches it: the derivative is 0, not 0/0. A dropped update counts nothing.
        let one = b.full(1.0, &x_ty);
        ([own, reached], b.op(Binary::Max, &[count, one]))
    }

    /// For each index vector the number of its place, from 1 on; 0 where there is none.
    fn numbers(&self, b: &mut Builder, x: &Type, indices: Value) -> Value {
        let lengths: Vec<usize> = self.axes.iter().map(|&axis| x.shape[axis]).collect();
        let count = lengths.iter().product();
        let from_zero = b.op(Iota { length: count }, &[]);
        let one = b.full(1.0, &Type::new(DType::I64, &[count]));
        let from_one = b.add(from_zero, one);
        let table = b.reshape(from_one, &lengths);
        let shape: Vec<usize> = x.shape[..self.batch].iter().chain(&lengths).copied().collect();
        let table = b.spread(table, &shape, &(0..self.batch).collect::<Vec<usize>>());
        let axes = (self.batch..shape.len()).collect();
        b.op(Gather { batch: self.batch, axes, mode: self.mode }, &[table, indices])
    }

    /// For each update the product of the others that meet it; 0 for one that is dropped.
    ///
    /// No division, and every factor in it as itself, so that zeros do no harm to derivatives of any order: sorted by their
    /// places, the updates of one place stand side by side, and what comes before and after each is multiplied by doubling
    /// (W. D. Hillis and G. L. Steele, *Data parallel algorithms*, 1986).
    fn product_of_others(&self, b: &mut Builder, [x, indices, updates]: [Value; 3]) -> Value {
        let (x_ty, updates_ty, axis) = (b.ty(x).clone(), b.ty(updates).clone(), self.batch);
        let vectors = b.shape(indices).len() - 1;
        let shared = x_ty.shape[..axis].to_vec();
        let count: usize = updates_ty.shape[axis..vectors].iter().product();
        let size: usize = updates_ty.shape[vectors..].iter().product();
        let numbers = self.numbers(b, &x_ty, indices);
        let with = |further: &[usize]| shared.iter().chain(further).copied().collect::<Vec<usize>>();
        let (lines, rows, vector) = (with(&[count]), with(&[count, size]), with(&[count, 1]));
        let numbers = b.reshape(numbers, &lines);
        let updates = b.reshape(updates, &rows);
        let order = b.op(ArgSort::new(axis, false), &[numbers]);
        let back = b.op(ArgSort::new(axis, false), &[order]);
        let pick = Gather { batch: axis, axes: vec![axis], mode: OutOfBounds::Error };
        let order = b.reshape(order, &vector);
        let sorted = [numbers, updates].map(|x| b.op(pick.clone(), &[x, order]));
        let [before, after] = [false, true].map(|reverse| product_before(b, sorted, axis, reverse));
        let others = b.mul(before, after);
        let back = b.reshape(back, &vector);
        let others = b.op(pick, &[others, back]);
        if self.mode != OutOfBounds::Fill {
            return b.reshape(others, &updates_ty.shape);
        }
        let nowhere = b.zeros_like(numbers);
        let dropped = b.op(Compare::Eq, &[numbers, nowhere]);
        let dropped = b.spread(dropped, &rows, &[axis + 1]);
        let zeros = b.zeros_like(others);
        let others = b.select(dropped, zeros, others);
        b.reshape(others, &updates_ty.shape)
    }

    /// The tangent of the product.
    fn product_tangent(&self, b: &mut Builder, args: [Value; 3], tangents: [Option<Value>; 2]) -> Value {
        let [x, indices, updates] = args;
        let zeros = b.zeros_like(x);
        let own = tangents[0].map(|x_dot| {
            if !self.include {
                let touched = self.touched(b, x, indices, updates);
                return b.select(touched, zeros, x_dot);
            }
            let ones = b.full(1.0, &b.ty(x).clone());
            let product = b.op(self.clone(), &[ones, indices, updates]);
            b.mul(x_dot, product)
        });
        let own = own.unwrap_or(zeros);
        // Without updates there is nothing to sort, and perhaps no place to number.
        let Some(u_dot) = tangents[1].filter(|_| b.ty(updates).size() > 0) else { return own };
        let mut others = self.product_of_others(b, args);
        if self.include {
            let there = b.op(self.gather(), &[x, indices]);
            others = b.mul(there, others);
        }
        let moved = b.mul(u_dot, others);
        b.op(self.scatter(Write::Add), &[own, indices, moved])
    }
}

/// For each row along an axis the product of the rows before it with the same number, of rows sorted by numbers; or after
/// it, in reverse.
fn product_before(b: &mut Builder, [numbers, rows]: [Value; 2], axis: usize, reverse: bool) -> Value {
    let ty = b.ty(rows).clone();
    let ones = b.full(1.0, &ty);
    let same = |b: &mut Builder, distance: usize| {
        let other = moved(b, numbers, axis, distance, reverse, -1.0);
        let same = b.op(Compare::Eq, &[numbers, other]);
        b.spread(same, &ty.shape, &[axis + 1])
    };
    // The product of as many rows as the distance, up to each and with it.
    let (mut product, mut distance) = (rows, 1);
    while distance < ty.shape[axis] {
        let same = same(b, distance);
        let before = moved(b, product, axis, distance, reverse, 1.0);
        let longer = b.mul(product, before);
        product = b.select(same, longer, product);
        distance *= 2;
    }
    if ty.shape[axis] == 0 {
        return rows;
    }
    let same = same(b, 1);
    let before = moved(b, product, axis, 1, reverse, 1.0);
    b.select(same, before, ones)
}

/// The elements moved along an axis by a distance that is at most its length, `first` before them.
fn moved(b: &mut Builder, x: Value, axis: usize, distance: usize, reverse: bool, first: f64) -> Value {
    let ty = b.ty(x).clone();
    let (mut pad, distance) = (Pad::new(&vec![0; ty.rank()], &vec![0; ty.rank()]), distance as i64);
    (pad.low[axis], pad.high[axis]) = if reverse { (-distance, distance) } else { (distance, -distance) };
    let first = b.full(first, &ty.with_shape(Vec::new()));
    b.op(pad, &[x, first])
}

impl Primitive for ScatterReduce {
    fn name(&self) -> Cow<'static, str> {
        self.fold.name().into()
    }
    fn infer(&self, args: &[&Type]) -> Result<Vec<Type>, Misfit> {
        arity(args, 3)?;
        if args[0].dtype == DType::Bool {
            misfit!("it does not take truth values; convert first");
        }
        self.scatter(Write::Set).infer(args)
    }
    fn eval(&self, args: &[&Array]) -> Result<Vec<Array>, Misfit> {
        Ok(vec![match args[0].data() {
            Data::F64(_) => self.folded::<f64>(args)?,
            Data::F32(_) => self.folded::<f32>(args)?,
            Data::I64(_) => self.folded::<i64>(args)?,
            Data::Bool(_) => unreachable!("inference refuses truth values"),
        }])
    }
    fn form(&self, _: &[&Type]) -> Form {
        Form::Planned
    }
    fn reach(&self, site: &Site) -> Reaches {
        let mut reaches = self.scatter(Write::Add).reach(site)?;
        if !self.include && site.known[1].is_some() {
            // An element that updates come to is replaced.
            reaches[0][0] = self.scatter(Write::Set).reach(site)?.remove(0).remove(0);
        }
        Ok(reaches)
    }
    fn decides(&self) -> Vec<usize> {
        vec![1]
    }
    fn linear_in(&self, _: usize) -> Vec<OperandSet> {
        Vec::new()
    }
    fn jvp(&self, b: &mut Builder, args: &[Value], outs: &[Value], tangents: &[Option<Value>]) -> Tangents {
        let (operands, tangents) = ([args[0], args[1], args[2]], [tangents[0], tangents[2]]);
        if tangents == [None, None] {
            return Ok(vec![None]);
        }
        if self.fold == Fold::Mul {
            return Ok(vec![Some(self.product_tangent(b, operands, tangents))]);
        }
        let ([own, reached], count) = self.reached(b, operands, outs[0]);
        let kept = tangents[0].map(|x_dot| {
            if self.include {
                return b.mul(x_dot, own);
            }
            let touched = self.touched(b, args[0], args[1], args[2]);
            let zeros = b.zeros_like(x_dot);
            b.select(touched, zeros, x_dot)
        });
        let sum = match (kept, tangents[1]) {
            (kept, Some(u_dot)) => {
                let kept = kept.unwrap_or_else(|| b.zeros_like(args[0]));
                let met = b.mul(u_dot, reached);
                b.op(self.scatter(Write::Add), &[kept, args[1], met])
            }
            (Some(kept), None) if self.include => kept,
            // An element that stands is alone.
            (kept, None) => return Ok(vec![kept]),
        };
        // One division for each element, not for each update.
        Ok(vec![Some(b.div(sum, count))])
    }
    fn batch(&self, b: &mut Builder, args: &[Value], batched: &[bool], length: usize) -> Batched {
        super::gather::batched_scatter(&self.gather(), |places| self.at(places), b, args, batched, length)
    }
    fn batch_masked(
        &self,
        b: &mut Builder,
        args: &[Value],
        batched: &[bool],
        length: usize,
        mask: Value,
    ) -> Option<Batched> {
        super::gather::batched_on_empty(&self.gather(), |places| self.at(places), b, args, batched, (length, mask))
    }
    fn harmless(&self) -> Vec<(usize, f64)> {
        self.scatter(Write::Set).harmless()
    }
    fn attributes(&self) -> Attributes {
        self.scatter(Write::Set).attributes().with("include", self.include)
    }
}

impl Family for ScatterReduce {
    #[cfg(feature = "text")]
    fn parse(name: &str, fields: &mut Fields) -> Option<Result<Self, Misfit>> {
        let fold = Fold::ALL.into_iter().find(|fold| fold.name() == name)?;
        let mut read = || {
            let Gather { batch, axes, mode } = Gather::parse("gather", fields).expect("it has this name")?;
            Ok(ScatterReduce { batch, axes, mode, fold, include: fields.flag("include")? })
        };
        Some(read())
    }
    fn samples() -> Vec<Sample> {
        let mut samples = Vec::new();
        for (k, (op, x, indices)) in super::gather::cases().into_iter().enumerate() {
            let ty = op.result(x.ty(), indices.ty()).unwrap_or_else(|why| panic!("a sample does not fit: {}", why.0));
            let updates = match ty.dtype {
                DType::F64 => numbers(22, &ty.shape),
                DType::F32 => numbers_f32(23, &ty.shape),
                DType::I64 => Array::new(&ty.shape, (0..ty.size() as i64).map(|k| 5 * k - 4).collect()),
                DType::Bool => continue,
            };
            for (j, fold) in Fold::ALL.into_iter().enumerate() {
                // Both answers with each option, not each with each; and one update is not now the extreme and then not.
                let include = (k + j) % 2 == 0 && (ty.size() > 1 || fold == Fold::Mul);
                let op = ScatterReduce { batch: op.batch, axes: op.axes.clone(), mode: op.mode, fold, include };
                samples.push(Sample::new(op, &[x.clone(), indices.clone(), updates.clone()]));
            }
        }
        // Factors that are zero: none, one and two of those that meet.
        let indices = Array::new(&[7, 1], vec![2i64, 0, 1, 2, 0, 2, 1]);
        let updates = Array::new(&[7], vec![0.0, 1.5, -2.0, 3.0, 0.5, 0.0, 0.0]);
        for include in [false, true] {
            let op = ScatterReduce::new(&[0], OutOfBounds::Error, Fold::Mul, include);
            let x = Array::new(&[4], vec![2.0, -1.5, 0.0, 4.0]);
            samples.push(Sample::new(op, &[x, indices.clone(), updates.clone()]));
        }
        samples
    }
}
