//! Gather and scatter: elements at indices that are computed. The transpose of a gather adds at the
//! same places, that of a scatter gathers from them.

mod empty;

use std::borrow::Cow;

#[cfg(feature = "text")]
use super::parse::Fields;
use super::sample::{numbers, numbers_f32};
use super::{
    Attributes, Batched, Cotangents, Family, Form, Iota, Operand, OperandSet, Primitive, Reach, Reaches, Sample, Site,
    arity, check_axis,
};
use crate::array::{Array, DType, Data, Element, Strided, Type, row_major};
use crate::error::{Misfit, misfit};
use crate::ops::Compare;
use crate::program::{Builder, Value};
pub(super) use empty::batched_on_empty;

/// What happens at an index that is negative or not less than the axis is long.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum OutOfBounds {
    /// The Program fails with a message that names the index and the axis.
    #[default]
    Error,
    /// The nearest index that exists counts instead.
    Clamp,
    /// A gather gives 0 (`false`) there; a scatter drops the update.
    Fill,
}

impl OutOfBounds {
    /// Every member of the family.
    pub const ALL: [OutOfBounds; 3] = [OutOfBounds::Error, OutOfBounds::Clamp, OutOfBounds::Fill];

    const fn name(self) -> &'static str {
        match self {
            OutOfBounds::Error => "error",
            OutOfBounds::Clamp => "clamp",
            OutOfBounds::Fill => "fill",
        }
    }

    /// The index that counts; `None` where there is none.
    #[inline]
    pub(crate) fn inside(self, index: i64, length: usize) -> Option<usize> {
        let inside = usize::try_from(index).ok().filter(|&index| index < length);
        match self {
            OutOfBounds::Error | OutOfBounds::Fill => inside,
            OutOfBounds::Clamp if length == 0 => None,
            OutOfBounds::Clamp if index < 0 => Some(0),
            OutOfBounds::Clamp => inside.or(Some(length - 1)),
        }
    }

    /// The same, and an error where this mode has one. It names no axis: where operands are turned, or have a batch in front, that
    /// of this operation is not the user's.
    pub(crate) fn resolve(self, index: i64, length: usize) -> Result<Option<usize>, Misfit> {
        let inside = self.inside(index, length);
        if self == OutOfBounds::Error && inside.is_none() {
            misfit!("the index {index} is out of range for an axis that is {length} long");
        }
        Ok(inside)
    }
}

// ---- gather -------------------------------------------------------------------------------------

/// `gather(x, indices)`: the elements of `x` at index vectors.
///
/// The first `batch` axes are shared by both operands; the last axis of the indices (i64) holds a
/// vector with an index for each of `axes`. With b over the shared axes, i over the other axes of
/// the indices, and r over the axes of x that are neither shared nor indexed:
/// `out[b, i, r] = x[b, r with axes[j] at indices[b, i, j]]`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Gather {
    /// How many leading axes the operands share.
    pub batch: usize,
    /// The axes of `x` that are indexed, increasing and after the shared ones.
    pub axes: Vec<usize>,
    /// What happens at an index that does not exist.
    pub mode: OutOfBounds,
}

/// The places of the elements in `x`, in row-major order of the result: the sum of one place per
/// index vector, if it exists, and one per element of the block there.
pub(super) struct ElementPlaces {
    vectors: Vec<Option<usize>>,
    block: Vec<usize>,
}

impl ElementPlaces {
    pub(super) fn iter(&self) -> impl Iterator<Item = Option<usize>> {
        self.vectors.iter().flat_map(|vector| self.block.iter().map(move |place| vector.map(|vector| vector + place)))
    }
}

impl Gather {
    /// The elements at index vectors for these axes, without shared axes.
    pub fn new(axes: &[usize], mode: OutOfBounds) -> Self {
        Gather { batch: 0, axes: axes.to_vec(), mode }
    }

    /// The axes that are neither shared nor indexed.
    fn block_axes(&self, rank: usize) -> Vec<usize> {
        (self.batch..rank).filter(|axis| !self.axes.contains(axis)).collect()
    }

    /// With one more shared axis in front.
    fn with_batch(&self) -> Self {
        Gather { batch: self.batch + 1, axes: self.shifted(), mode: self.mode }
    }

    /// With one more axis in `x` before all that are indexed.
    fn with_block_axis(&self) -> Self {
        Gather { batch: self.batch, axes: self.shifted(), mode: self.mode }
    }

    fn shifted(&self) -> Vec<usize> {
        self.axes.iter().map(|axis| axis + 1).collect()
    }

    /// The type of the result.
    pub(super) fn result(&self, x: &Type, indices: &Type) -> Result<Type, Misfit> {
        for &axis in &self.axes {
            check_axis(axis, x)?;
        }
        if !self.axes.is_sorted_by(|a, b| a < b) {
            misfit!("the axes {:?} are not increasing", self.axes);
        }
        if self.batch > x.rank() {
            misfit!("the first {} axes are shared, and {x} has {}", self.batch, x.rank());
        }
        if let Some(axis) = self.axes.iter().find(|&&axis| axis < self.batch) {
            misfit!("axis {axis} is indexed and among the {} shared ones", self.batch);
        }
        if indices.dtype != DType::I64 {
            misfit!("the indices are {}, and have to be i64", indices.dtype);
        }
        if indices.rank() <= self.batch {
            misfit!("the indices {indices} need {} shared axes and one for the index vector", self.batch);
        }
        if let Some(axis) = (0..self.batch).find(|&axis| x.shape[axis] != indices.shape[axis]) {
            misfit!("the shared axis {axis} is {} long in one and {} in the other", x.shape[axis], indices.shape[axis]);
        }
        let last = indices.rank() - 1;
        if indices.shape[last] != self.axes.len() {
            misfit!("axis {last} of the indices is {} long for {} axes", indices.shape[last], self.axes.len());
        }
        let mut shape = indices.shape[..last].to_vec();
        shape.extend(self.block_axes(x.rank()).into_iter().map(|axis| x.shape[axis]));
        let result = x.with_shape(shape);
        if self.mode == OutOfBounds::Clamp
            && !result.shape.contains(&0)
            && let Some(axis) = self.axes.iter().find(|&&axis| x.shape[axis] == 0)
        {
            misfit!("no index exists on axis {axis}, which is empty, and the mode is clamp");
        }
        Ok(result)
    }

    pub(super) fn places(&self, x: &[usize], indices: &Array) -> Result<ElementPlaces, Misfit> {
        let strides = row_major(x);
        let (k, last) = (self.axes.len(), indices.shape().len() - 1);
        let vector_shape = &indices.shape()[..last];
        let elements = indices.known::<i64>();
        // The shared axes move through x, the others of the indices do not.
        let mut shared = vec![0isize; last];
        (0..self.batch).for_each(|axis| shared[axis] = strides[axis].cast_signed());
        let starts = Strided::new(vector_shape, &shared, 0).enumerate();
        let vectors = starts.map(|(n, start)| {
            let vector = self.axes.iter().zip(&elements[n * k..(n + 1) * k]);
            let mut place = Some(start);
            for (&axis, &index) in vector {
                let index = self.mode.resolve(index, x[axis])?;
                place = place.zip(index).map(|(place, index)| place + index * strides[axis]);
            }
            Ok(place)
        });
        let vectors: Vec<Option<usize>> = vectors.collect::<Result<_, Misfit>>()?;
        let block = self.block_axes(x.len());
        let block_shape: Vec<usize> = block.iter().map(|&axis| x[axis]).collect();
        let block_strides: Vec<isize> = block.iter().map(|&axis| strides[axis].cast_signed()).collect();
        Ok(ElementPlaces { vectors, block: Strided::new(&block_shape, &block_strides, 0).collect() })
    }

    fn scatter(&self, write: Write) -> Scatter {
        Scatter { batch: self.batch, axes: self.axes.clone(), mode: self.mode, write }
    }

    /// For each axis of the result the axis of x that it is, if places along it are those of x: the shared ones and those of
    /// the blocks.
    fn kept_axes(&self, x: usize, indices: usize) -> Vec<Option<usize>> {
        let vectors = (0..indices - 1).map(|axis| (axis < self.batch).then_some(axis));
        vectors.chain(self.block_axes(x).into_iter().map(Some)).collect()
    }

    fn options(&self) -> Attributes {
        Attributes::default().with("batch", self.batch).with("axes", &self.axes[..]).with("mode", self.mode.name())
    }

    /// The operand whose values can make the operation fail.
    fn failing(&self) -> Vec<(usize, f64)> {
        if self.mode == OutOfBounds::Error { vec![(1, 0.0)] } else { Vec::new() }
    }
}

fn picked<T: Element>(x: &Array, shape: &[usize], places: &ElementPlaces) -> Array {
    let elements = x.known::<T>();
    let at = |place: Option<usize>| place.map_or_else(T::default, |place| elements[place]);
    Array::new(shape, places.iter().map(at).collect::<Vec<T>>())
}

impl Primitive for Gather {
    fn name(&self) -> Cow<'static, str> {
        "gather".into()
    }
    fn infer(&self, args: &[&Type]) -> Result<Vec<Type>, Misfit> {
        arity(args, 2)?;
        Ok(vec![self.result(args[0], args[1])?])
    }
    fn eval(&self, args: &[&Array]) -> Result<Vec<Array>, Misfit> {
        let x = args[0];
        let shape = self.result(x.ty(), args[1].ty())?.shape;
        let places = self.places(x.shape(), args[1])?;
        Ok(vec![match x.dtype() {
            DType::Bool => picked::<bool>(x, &shape, &places),
            DType::I64 => picked::<i64>(x, &shape, &places),
            DType::F32 => picked::<f32>(x, &shape, &places),
            DType::F64 => picked::<f64>(x, &shape, &places),
        }])
    }
    fn form(&self, _: &[&Type]) -> Form {
        Form::Kernel
    }
    fn reach(&self, site: &Site) -> Reaches {
        if site.known[1].is_some() {
            return site.moved(&[1], |args| self.eval(args));
        }
        let [x, indices] = [0, 1].map(|k| &site.args[k].shape);
        let anywhere = site.boxes(x, &site.outs[0].shape, &self.kept_axes(x.len(), indices.len()));
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
        Ok(vec![Some(b.op(self.scatter(Write::Add), &[zeros, args[1].known(), ct])), None])
    }
    fn batch(&self, b: &mut Builder, args: &[Value], batched: &[bool], length: usize) -> Batched {
        Ok(vec![match (batched[0], batched[1]) {
            (false, false) => (b.op(self.clone(), args), false),
            // The lanes' indices are more index vectors into the same x.
            (false, true) if self.batch == 0 => (b.op(self.clone(), args), true),
            (true, false) => {
                let x = b.move_axis(args[0], 0, self.batch);
                let result = b.op(self.with_block_axis(), &[x, args[1]]);
                let place = b.shape(args[1]).len() - 1;
                (b.move_axis(result, place, 0), true)
            }
            (_, true) => {
                let args = b.batch_all(args, batched, length);
                (b.op(self.with_batch(), &args), true)
            }
        }])
    }
    fn batch_masked(
        &self,
        b: &mut Builder,
        args: &[Value],
        batched: &[bool],
        length: usize,
        mask: Value,
    ) -> Option<Batched> {
        batched_on_empty(self, |places| places, b, args, batched, (length, mask))
    }
    fn harmless(&self) -> Vec<(usize, f64)> {
        self.failing()
    }
    fn attributes(&self) -> Attributes {
        self.options()
    }
}

// ---- scatter ------------------------------------------------------------------------------------

/// What a scatter does with an update.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Write {
    /// Adds it to the element; in single precision the sum is rounded once.
    Add,
    /// Replaces the element; of several updates for one element the last counts, in row-major order.
    Set,
}

impl Write {
    /// Every member of the family.
    #[cfg(feature = "text")]
    pub(crate) const ALL: [Write; 2] = [Write::Add, Write::Set];
}

/// `scatter(x, indices, updates)`: `x` with the updates added or written where a [`Gather`] with the
/// same options would read; the updates have the type of its result.
///
/// An element that is replaced has no part in the derivative, nor has an update that another one
/// replaces or that is dropped.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Scatter {
    /// How many leading axes the operands share.
    pub batch: usize,
    /// The axes of `x` that are indexed, increasing and after the shared ones.
    pub axes: Vec<usize>,
    /// What happens at an index that does not exist.
    pub mode: OutOfBounds,
    /// Whether updates are added or written.
    pub write: Write,
}

impl Scatter {
    /// Updates at index vectors for these axes, without shared axes.
    pub fn new(axes: &[usize], mode: OutOfBounds, write: Write) -> Self {
        Gather::new(axes, mode).scatter(write)
    }

    /// The gather that reads where this writes.
    pub(crate) fn gather(&self) -> Gather {
        Gather { batch: self.batch, axes: self.axes.clone(), mode: self.mode }
    }

    /// Which updates stay: each update writes its number, from 1 on, and those that read it back
    /// were the last at their place. 0 is read where an update was dropped.
    fn winners(&self, b: &mut Builder, x: &Type, indices: Value, updates: &Type) -> Value {
        let ids = b.op(Iota { length: updates.size() }, &[]);
        let one = b.full(1.0, &Type::new(DType::I64, &[updates.size()]));
        let ids = b.add(ids, one);
        let ids = b.reshape(ids, &updates.shape);
        let nobody = b.full(0.0, &x.with_dtype(DType::I64));
        let written = b.op(self.clone(), &[nobody, indices, ids]);
        let last = b.op(self.gather(), &[written, indices]);
        b.op(Compare::Eq, &[last, ids])
    }
}

fn written<T: Element>(args: &[&Array], places: &ElementPlaces) -> Array {
    let mut elements = args[0].known::<T>().to_vec();
    for (place, &update) in places.iter().zip(args[2].known::<T>()) {
        if let Some(place) = place {
            elements[place] = update;
        }
    }
    Array::new(args[0].shape(), elements)
}

/// Adds into the elements as numbers of type `A`, so that single precision is rounded once.
fn added<T: Element, A: Copy>(
    args: &[&Array],
    places: &ElementPlaces,
    widen: fn(T) -> A,
    add: fn(A, A) -> A,
    narrow: fn(A) -> T,
) -> Array {
    let mut sums: Vec<A> = args[0].known::<T>().iter().map(|&x| widen(x)).collect();
    for (place, &update) in places.iter().zip(args[2].known::<T>()) {
        if let Some(place) = place {
            sums[place] = add(sums[place], widen(update));
        }
    }
    Array::new(args[0].shape(), sums.into_iter().map(narrow).collect::<Vec<T>>())
}

impl Primitive for Scatter {
    fn name(&self) -> Cow<'static, str> {
        match self.write {
            Write::Add => "scatter_add",
            Write::Set => "scatter_set",
        }
        .into()
    }
    fn infer(&self, args: &[&Type]) -> Result<Vec<Type>, Misfit> {
        arity(args, 3)?;
        let wanted = self.gather().result(args[0], args[1])?;
        if *args[2] != wanted {
            misfit!("the updates are {}, and have to be {wanted}", args[2]);
        }
        if self.write == Write::Add && args[0].dtype == DType::Bool {
            misfit!("truth values cannot be added; convert first");
        }
        Ok(vec![args[0].clone()])
    }
    fn eval(&self, args: &[&Array]) -> Result<Vec<Array>, Misfit> {
        let places = self.gather().places(args[0].shape(), args[1])?;
        Ok(vec![match (self.write, args[0].data()) {
            (Write::Add, Data::F64(_)) => added(args, &places, |x: f64| x, |x, y| x + y, |x| x),
            (Write::Add, Data::F32(_)) => added(args, &places, f64::from, |x, y| x + y, |x| x as f32),
            (Write::Add, Data::I64(_)) => added(args, &places, |x: i64| x, i64::wrapping_add, |x| x),
            (Write::Add, Data::Bool(_)) => unreachable!("inference refuses to add truth values"),
            (Write::Set, Data::Bool(_)) => written::<bool>(args, &places),
            (Write::Set, Data::I64(_)) => written::<i64>(args, &places),
            (Write::Set, Data::F32(_)) => written::<f32>(args, &places),
            (Write::Set, Data::F64(_)) => written::<f64>(args, &places),
        }])
    }
    fn form(&self, _: &[&Type]) -> Form {
        Form::Planned
    }
    fn reach(&self, site: &Site) -> Reaches {
        let [x, indices, updates] = [0, 1, 2].map(|k| &site.args[k].shape);
        match (site.known[1], self.write) {
            (Some(_), Write::Set) => site.moved(&[1], |args| self.eval(args)),
            (Some(indices), Write::Add) => {
                let places = self.gather().places(x, indices)?.iter().collect();
                Ok(vec![vec![Reach::Same, Reach::Nothing, Reach::Added(places)]])
            }
            (None, _) => {
                // What the gather reads of x axis by axis, this writes.
                let gathered = self.gather().kept_axes(x.len(), indices.len());
                let mut axes = vec![None; x.len()];
                (0..updates.len()).for_each(|axis| {
                    if let Some(own) = gathered[axis] {
                        axes[own] = Some(axis);
                    }
                });
                let anywhere = site.boxes(updates, x, &axes);
                Ok(vec![vec![Reach::Same, Reach::Nothing, Reach::Boxes(anywhere)]])
            }
        }
    }
    fn decides(&self) -> Vec<usize> {
        vec![1]
    }
    fn linear_in(&self, _: usize) -> Vec<OperandSet> {
        vec![vec![0, 2]]
    }
    fn multiplies(&self) -> bool {
        false
    }
    fn transpose(&self, b: &mut Builder, cotangents: &[Option<Value>], args: &[Operand]) -> Cotangents {
        let Some(ct) = cotangents[0] else { return Ok(vec![None; 3]) };
        let (indices, x, updates) = (args[1].known(), args[0].ty(b), args[2].ty(b));
        let x_bar = args[0].is_linear().then(|| match self.write {
            Write::Add => ct,
            Write::Set => {
                let zeros = b.full(0.0, &updates);
                b.op(self.clone(), &[ct, indices, zeros])
            }
        });
        let u_bar = args[2].is_linear().then(|| {
            let read = b.op(self.gather(), &[ct, indices]);
            match self.write {
                Write::Add => read,
                Write::Set => {
                    let wins = self.winners(b, &x, indices, &updates);
                    let zeros = b.zeros_like(read);
                    b.select(wins, read, zeros)
                }
            }
        });
        Ok(vec![x_bar, None, u_bar])
    }
    fn batch(&self, b: &mut Builder, args: &[Value], batched: &[bool], length: usize) -> Batched {
        batched_scatter(&self.gather(), |places| places.scatter(self.write), b, args, batched, length)
    }
    fn batch_masked(
        &self,
        b: &mut Builder,
        args: &[Value],
        batched: &[bool],
        length: usize,
        mask: Value,
    ) -> Option<Batched> {
        batched_on_empty(&self.gather(), |places| places.scatter(self.write), b, args, batched, (length, mask))
    }
    fn harmless(&self) -> Vec<(usize, f64)> {
        self.gather().failing()
    }
    fn attributes(&self) -> Attributes {
        self.gather().options()
    }
}

/// A scatter with one more axis; `at` is the same one that writes where another gather reads.
pub(super) fn batched_scatter<S: Into<super::Op>>(
    places: &Gather,
    at: impl Fn(Gather) -> S,
    b: &mut Builder,
    args: &[Value],
    batched: &[bool],
    length: usize,
) -> Batched {
    if !batched.contains(&true) {
        return Ok(vec![(b.op(at(places.clone()), args), false)]);
    }
    if batched[1] {
        let args = b.batch_all(args, batched, length);
        return Ok(vec![(b.op(at(places.with_batch()), &args), true)]);
    }
    // The same places in every lane: the lanes are one more axis of the block at each.
    let place = b.shape(args[1]).len() - 1;
    let x = b.batch_all(&args[..1], &batched[..1], length)[0];
    let x = b.move_axis(x, 0, places.batch);
    let updates = b.batch_all(&args[2..], &batched[2..], length)[0];
    let updates = b.move_axis(updates, 0, place);
    let result = b.op(at(places.with_block_axis()), &[x, args[1], updates]);
    Ok(vec![(b.move_axis(result, places.batch, 0), true)])
}

// ---- samples ------------------------------------------------------------------------------------

/// An operand and indices for it; the index that does not exist is left out in the mode `Error`.
pub(super) fn cases() -> Vec<(Gather, Array, Array)> {
    let mut cases = Vec::new();
    for mode in OutOfBounds::ALL {
        let far = |index: i64| if mode == OutOfBounds::Error { 1 } else { index };
        let gather = |batch, axes: &[usize]| Gather { batch, axes: axes.to_vec(), mode };
        let index = |shape: &[usize], elements: &[i64]| Array::new(shape, elements.to_vec());
        cases.extend([
            (gather(0, &[0]), numbers(1, &[4]), index(&[3, 1], &[2, far(7), 2])),
            (gather(0, &[0]), numbers_f32(2, &[3]), index(&[1], &[far(-1)])),
            (gather(0, &[1]), numbers(3, &[2, 3]), index(&[2, 2, 1], &[0, 2, far(-4), 0])),
            (gather(0, &[0, 2]), numbers_f32(4, &[2, 2, 3]), index(&[3, 2], &[1, 2, 0, far(3), 1, 2])),
            (gather(1, &[2]), numbers(5, &[2, 2, 3]), index(&[2, 2, 1], &[0, 2, far(5), 1])),
            (gather(2, &[2, 3]), numbers(6, &[2, 1, 2, 3]), index(&[2, 1, 2, 2], &[0, far(9), 1, 2, far(-2), 0, 1, 1])),
            (gather(1, &[1]), numbers(7, &[2, 3]), index(&[2, 1], &[1, far(3)])),
            (gather(0, &[]), numbers(8, &[2]), index(&[2, 0], &[])),
            (gather(0, &[]), numbers(9, &[]), index(&[0], &[])),
            (gather(0, &[0]), numbers(10, &[2, 0]), index(&[2, 1], &[1, 0])),
            (gather(0, &[0]), numbers(11, &[0, 2]), index(&[0, 1], &[])),
            (gather(1, &[1]), numbers(12, &[0, 2]), index(&[0, 3, 1], &[])),
            (gather(0, &[0]), index(&[3], &[7, 8, 9]), index(&[4, 1], &[2, 0, far(-1), 2])),
            (gather(0, &[0]), Array::new(&[2], vec![true, false]), index(&[3, 1], &[0, far(2), 0])),
        ]);
    }
    cases
}

impl Family for Gather {
    #[cfg(feature = "text")]
    fn parse(name: &str, fields: &mut Fields) -> Option<Result<Self, Misfit>> {
        (name == "gather").then(|| {
            let (batch, axes) = (fields.integer("batch")?, fields.integers("axes")?);
            Ok(Gather { batch, axes, mode: fields.one_of("mode", &OutOfBounds::ALL.map(|mode| (mode.name(), mode)))? })
        })
    }
    fn samples() -> Vec<Sample> {
        cases().into_iter().map(|(op, x, indices)| Sample::new(op, &[x, indices])).collect()
    }
}

impl Family for Scatter {
    #[cfg(feature = "text")]
    fn parse(name: &str, fields: &mut Fields) -> Option<Result<Self, Misfit>> {
        let write =
            Write::ALL.into_iter().find(|&write| Scatter::new(&[], OutOfBounds::Error, write).name() == name)?;
        let mut read = || {
            let (batch, axes) = (fields.integer("batch")?, fields.integers("axes")?);
            Ok(Scatter {
                batch,
                axes,
                mode: fields.one_of("mode", &OutOfBounds::ALL.map(|mode| (mode.name(), mode)))?,
                write,
            })
        };
        Some(read())
    }
    fn samples() -> Vec<Sample> {
        let mut samples = Vec::new();
        for (op, x, indices) in cases() {
            let ty = op.result(x.ty(), indices.ty()).unwrap_or_else(|why| panic!("a sample does not fit: {}", why.0));
            let updates = match ty.dtype {
                DType::F64 => numbers(20, &ty.shape),
                DType::F32 => numbers_f32(21, &ty.shape),
                DType::I64 => Array::new(&ty.shape, (0..ty.size() as i64).map(|k| 3 * k - 4).collect()),
                DType::Bool => Array::new(&ty.shape, (0..ty.size()).map(|k| k % 2 == 1).collect()),
            };
            for write in [Write::Add, Write::Set] {
                if write == Write::Set || ty.dtype != DType::Bool {
                    samples.push(Sample::new(op.scatter(write), &[x.clone(), indices.clone(), updates.clone()]));
                }
            }
        }
        samples
    }
}

#[cfg(test)]
mod tests;
