//! Contraction of two operands by axis labels: inner, outer, matrix and batched products.

use std::borrow::Cow;

use smallvec::SmallVec;

#[cfg(feature = "text")]
use super::parse::Fields;
use super::sample::{numbers, numbers_f32};
use super::{
    Along, Attributes, Batched, Cotangents, Family, Form, Masks, Operand, OperandSet, Primitive, Reach, Reaches,
    Sample, Site, arity,
};
use crate::array::{Array, DType, Element, Strided, Type, row_major};
use crate::error::{Misfit, misfit};
use crate::program::{Builder, Value};

/// Two operands contracted by axis labels: `out[labels of out] = sum over all other labels of
/// lhs[its labels] * rhs[its labels]`. `ij,jk->ik` is the matrix product.
///
/// A label is an ASCII letter. The labels of an operand differ from each other (there are no
/// diagonals), those of the result too, and each of these is one of an operand's. A label of one
/// operand alone that the result lacks is summed. An empty sum is 0. Single precision is summed in
/// double precision and rounded once.
///
/// ```
/// use wengert::primitives::Einsum;
/// assert_eq!(Einsum::new("bij,bjk->bik").unwrap().spec(), "bij,bjk->bik");
/// assert!(Einsum::new("ii,ij->j").is_err());
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Einsum {
    lhs: Labels,
    rhs: Labels,
    out: Labels,
}

/// The labels of an operand: without memory of their own as long as they are few, because equations are copied often.
type Labels = SmallVec<[u8; 16]>;

/// A letter that is not among those in use.
pub(crate) fn fresh_label(used: impl Fn(u8) -> bool) -> Result<u8, Misfit> {
    let mut letters = (b'a'..=b'z').chain(b'A'..=b'Z');
    letters.find(|&label| !used(label)).ok_or_else(|| Misfit("all 52 labels are in use".to_owned()))
}

/// Checks that labels are letters and differ.
fn check_labels(labels: &[u8], whose: &str) -> Result<(), Misfit> {
    for (k, &label) in labels.iter().enumerate() {
        if !label.is_ascii_alphabetic() {
            misfit!("the labels of {whose} have to be ASCII letters, at most 52 different ones");
        }
        if labels[..k].contains(&label) {
            misfit!("the label `{}` occurs twice in {whose}", char::from(label));
        }
    }
    Ok(())
}

impl Einsum {
    /// By a text like `ij,jk->ik`.
    ///
    /// # Errors
    /// If the text has another form, labels repeat, or a label of the result is not an operand's.
    pub fn new(spec: &str) -> Result<Self, Misfit> {
        let parts = spec.split_once("->").and_then(|(operands, out)| Some((operands.split_once(',')?, out)));
        let Some(((lhs, rhs), out)) = parts else {
            misfit!("`{spec}` does not have the form `ij,jk->ik`");
        };
        Einsum::from_labels(lhs.as_bytes(), rhs.as_bytes(), out.as_bytes())
    }

    /// The axis of each operand that has this label.
    fn places_of(&self, label: u8) -> Along {
        [&self.lhs, &self.rhs].map(|labels| labels.iter().position(|&own| own == label)).to_vec()
    }

    /// By the labels of the operands and of the result.
    ///
    /// # Errors
    /// As [`Einsum::new`].
    pub fn from_labels(lhs: &[u8], rhs: &[u8], out: &[u8]) -> Result<Self, Misfit> {
        check_labels(lhs, "the first operand")?;
        check_labels(rhs, "the second operand")?;
        check_labels(out, "the result")?;
        if let Some(&label) = out.iter().find(|label| !lhs.contains(label) && !rhs.contains(label)) {
            misfit!("the label `{}` of the result is in neither operand", char::from(label));
        }
        Ok(Einsum { lhs: lhs.into(), rhs: rhs.into(), out: out.into() })
    }

    /// The labels of the first operand's axes.
    pub fn lhs(&self) -> &[u8] {
        &self.lhs
    }

    /// The labels of the second operand's axes.
    pub fn rhs(&self) -> &[u8] {
        &self.rhs
    }

    /// The labels of the result's axes.
    pub fn out(&self) -> &[u8] {
        &self.out
    }

    /// The text form.
    pub fn spec(&self) -> String {
        let text = |labels: &[u8]| labels.iter().copied().map(char::from).collect::<String>();
        format!("{},{}->{}", text(&self.lhs), text(&self.rhs), text(&self.out))
    }

    /// A label that does not occur.
    pub(crate) fn fresh(&self) -> Result<u8, Misfit> {
        fresh_label(|label| self.lhs.contains(&label) || self.rhs.contains(&label))
    }

    /// The length that a label stands for.
    fn length(&self, label: u8, lhs: &[usize], rhs: &[usize]) -> usize {
        let find = |labels: &[u8], shape: &[usize]| Some(shape[labels.iter().position(|&own| own == label)?]);
        find(&self.lhs, lhs).or_else(|| find(&self.rhs, rhs)).expect("a label is an operand's")
    }

    /// The cotangent of one operand, given the labels and the value of the other one.
    fn pull(
        b: &mut Builder,
        (labels, ty): (&[u8], &Type),
        (left, x): (&[u8], Value),
        (right, y): (&[u8], Value),
    ) -> Result<Value, Misfit> {
        let reached = |label: &u8| left.contains(label) || right.contains(label);
        let inner: Vec<u8> = labels.iter().copied().filter(reached).collect();
        let bar = b.op(Einsum::from_labels(left, right, &inner)?, &[x, y]);
        // What was summed away in this operand alone had the same weight everywhere.
        let summed: Vec<usize> = (0..labels.len()).filter(|&axis| !reached(&labels[axis])).collect();
        Ok(b.spread(bar, &ty.shape, &summed))
    }

    /// Where an operand meets a place of the result that is marked, if the other operand is 1: some
    /// place with the same labels is. No sum is needed for that.
    fn met_at(&self, b: &mut Builder, mask: Value, operand: usize, types: &[Type; 2]) -> Value {
        let (labels, ty) = ([&self.lhs, &self.rhs][operand], &types[operand].with_dtype(DType::Bool));
        if types[1 - operand].size() == 0 {
            return b.full(0.0, ty);
        }
        let others: Vec<usize> = (0..self.out.len()).filter(|&axis| !labels.contains(&self.out[axis])).collect();
        let mask = b.any(mask, &others);
        let kept: Vec<u8> = self.out.iter().copied().filter(|label| labels.contains(label)).collect();
        let place = |label: &u8| kept.iter().position(|own| own == label);
        let order: Vec<usize> = labels.iter().filter_map(place).collect();
        let mask = b.permute(mask, &order);
        let summed: Vec<usize> = (0..labels.len()).filter(|&axis| !kept.contains(&labels[axis])).collect();
        b.spread(mask, &ty.shape, &summed)
    }

    fn contract<T: Element>(
        &self,
        shapes: [&[usize]; 2],
        x: &[T],
        y: &[T],
        add_mul: impl AddMul<T>,
    ) -> (Vec<usize>, Vec<T>) {
        let [lhs, rhs] = shapes;
        let roles = Roles::of(self);
        let count = |labels: &[u8]| labels.iter().map(|&label| self.length(label, lhs, rhs)).product::<usize>();
        let (batch, m, k, n) = (count(&roles.batch), count(&roles.left), count(&roles.inner), count(&roles.right));
        let x = arrange(x, lhs, &self.lhs, [&roles.batch, &roles.left, &roles.inner], &add_mul);
        let y = arrange(y, rhs, &self.rhs, [&roles.batch, &roles.inner, &roles.right], &add_mul);
        let mut out = vec![T::default(); batch * m * n];
        for p in 0..batch {
            let (x, y) = (&x[p * m * k..(p + 1) * m * k], &y[p * k * n..(p + 1) * k * n]);
            product([m, k, n], x, y, &mut out[p * m * n..(p + 1) * m * n], &add_mul);
        }
        let natural = [&roles.batch[..], &roles.left, &roles.right].concat();
        let shape: Vec<usize> = natural.iter().map(|&label| self.length(label, lhs, rhs)).collect();
        let result: Vec<usize> = self.out.iter().map(|&label| self.length(label, lhs, rhs)).collect();
        if natural[..] == self.out[..] {
            return (result, out);
        }
        let elements = permuted(&out, &shape, &natural, &self.out).into_owned();
        (result, elements)
    }
}

/// `(sum, x, y) -> sum + x * y`, with 1 for y where only a sum is wanted.
trait AddMul<T>: Fn(T, T, Option<T>) -> T {}
impl<T, F: Fn(T, T, Option<T>) -> T> AddMul<T> for F {}

/// The labels by what they do, in the order of the first operand that has them.
struct Roles {
    /// In both operands and the result.
    batch: Vec<u8>,
    /// In the first operand and the result.
    left: Vec<u8>,
    /// In both operands only.
    inner: Vec<u8>,
    /// In the second operand and the result.
    right: Vec<u8>,
}

impl Roles {
    fn of(op: &Einsum) -> Self {
        let pick = |labels: &[u8], other: &[u8], shared: bool, kept: bool| -> Vec<u8> {
            let fits = |label: &u8| other.contains(label) == shared && op.out.contains(label) == kept;
            labels.iter().copied().filter(fits).collect()
        };
        Roles {
            batch: pick(&op.lhs, &op.rhs, true, true),
            left: pick(&op.lhs, &op.rhs, false, true),
            inner: pick(&op.lhs, &op.rhs, true, false),
            right: pick(&op.rhs, &op.lhs, false, true),
        }
    }
}

/// The elements with their axes in another order.
fn permuted<'a, T: Element>(x: &'a [T], shape: &[usize], labels: &[u8], order: &[u8]) -> Cow<'a, [T]> {
    if labels == order {
        return x.into();
    }
    let strides = row_major(shape);
    let axes: Vec<usize> =
        order.iter().map(|label| labels.iter().position(|own| own == label).expect("the same labels")).collect();
    let lengths: Vec<usize> = axes.iter().map(|&axis| shape[axis]).collect();
    let steps: Vec<isize> = axes.iter().map(|&axis| strides[axis].cast_signed()).collect();
    Strided::new(&lengths, &steps, 0).map(|place| x[place]).collect()
}

/// The elements with their axes in groups, those in no group summed.
fn arrange<'a, T: Element>(
    x: &'a [T],
    shape: &[usize],
    labels: &[u8],
    groups: [&[u8]; 3],
    add_mul: &impl AddMul<T>,
) -> Cow<'a, [T]> {
    let kept = groups.concat();
    let alone: Vec<usize> = (0..labels.len()).filter(|&axis| !kept.contains(&labels[axis])).collect();
    if alone.is_empty() {
        return permuted(x, shape, labels, &kept);
    }
    let order: Vec<u8> = kept.iter().copied().chain(alone.iter().map(|&axis| labels[axis])).collect();
    let count: usize = alone.iter().map(|&axis| shape[axis]).product();
    let rows: usize = (0..shape.len()).filter(|axis| !alone.contains(axis)).map(|axis| shape[axis]).product();
    let x = permuted(x, shape, labels, &order);
    let sum = |row: &[T]| row.iter().fold(T::default(), |sum, &x| add_mul(sum, x, None));
    (0..rows).map(|row| sum(&x[row * count..(row + 1) * count])).collect()
}

/// `out[i,j] += sum_k x[i,k] y[k,j]`, for every element in the order of k. The block of y that all
/// rows of x meet stays in the cache, and the innermost loop runs along rows, unless they are single
/// numbers.
fn product<T: Element>([m, k, n]: [usize; 3], x: &[T], y: &[T], out: &mut [T], add_mul: &impl AddMul<T>) {
    const ROWS: usize = 64;
    const COLUMNS: usize = 256;
    if n == 1 {
        for (sum, row) in out.iter_mut().zip(x.chunks_exact(k)) {
            *sum = row.iter().zip(y).fold(*sum, |sum, (&x, &y)| add_mul(sum, x, Some(y)));
        }
        return;
    }
    for first in (0..n).step_by(COLUMNS) {
        let last = n.min(first + COLUMNS);
        for start in (0..k).step_by(ROWS) {
            for i in 0..m {
                let sums = &mut out[i * n + first..i * n + last];
                for l in start..k.min(start + ROWS) {
                    let factor = x[i * k + l];
                    let row = &y[l * n + first..l * n + last];
                    sums.iter_mut().zip(row).for_each(|(sum, &y)| *sum = add_mul(*sum, factor, Some(y)));
                }
            }
        }
    }
}

/// The elements in double precision.
pub(super) fn widened(x: &Array) -> Cow<'_, [f64]> {
    match x.dtype() {
        DType::F64 => x.known::<f64>().into(),
        _ => x.known::<f32>().iter().map(|&x| f64::from(x)).collect(),
    }
}

/// Sums in double precision as an array of the operands' type.
pub(super) fn rounded(dtype: DType, shape: &[usize], sums: Vec<f64>) -> Array {
    match dtype {
        DType::F64 => Array::new(shape, sums),
        _ => Array::new(shape, sums.into_iter().map(|sum| sum as f32).collect::<Vec<f32>>()),
    }
}

impl Primitive for Einsum {
    fn name(&self) -> Cow<'static, str> {
        "einsum".into()
    }
    fn infer(&self, args: &[&Type]) -> Result<Vec<Type>, Misfit> {
        arity(args, 2)?;
        let (x, y) = (args[0], args[1]);
        if x.dtype != y.dtype {
            misfit!("the element types differ; convert one of them first");
        }
        if x.dtype == DType::Bool {
            misfit!("it takes numbers, not bool; convert first");
        }
        for (ty, labels, whose) in [(x, &self.lhs, "first"), (y, &self.rhs, "second")] {
            if ty.rank() != labels.len() {
                misfit!("`{}` has {} labels for {} axes of the {whose} operand", self.spec(), labels.len(), ty.rank());
            }
        }
        for (axis, label) in self.lhs.iter().enumerate() {
            if let Some(other) = self.rhs.iter().position(|own| own == label)
                && x.shape[axis] != y.shape[other]
            {
                let label = char::from(*label);
                misfit!("the axis `{label}` is {} long in one and {} in the other", x.shape[axis], y.shape[other]);
            }
        }
        Ok(vec![x.with_shape(self.out.iter().map(|&label| self.length(label, &x.shape, &y.shape)).collect())])
    }
    fn eval(&self, args: &[&Array]) -> Result<Vec<Array>, Misfit> {
        let (x, y) = (args[0], args[1]);
        let shapes = [x.shape(), y.shape()];
        if shapes.iter().any(|shape| shape.contains(&0)) {
            return Ok(vec![Array::zeros(&self.infer(&[x.ty(), y.ty()])?[0])]);
        }
        if x.dtype() == DType::I64 {
            let add_mul = |sum: i64, x: i64, y: Option<i64>| sum.wrapping_add(y.map_or(x, |y| x.wrapping_mul(y)));
            let (shape, sums) = self.contract(shapes, x.known(), y.known(), add_mul);
            return Ok(vec![Array::new(&shape, sums)]);
        }
        let add_mul = |sum: f64, x: f64, y: Option<f64>| sum + y.map_or(x, |y| x * y);
        let (shape, sums) = self.contract(shapes, &widened(x), &widened(y), add_mul);
        Ok(vec![rounded(x.dtype(), &shape, sums)])
    }
    fn along(&self, axis: usize, _: &[&Type]) -> Option<Along> {
        Some(self.places_of(self.out[axis]))
    }
    fn sums_over(&self, operand: usize, axis: usize) -> Option<Along> {
        let label = if operand == 0 { self.lhs[axis] } else { self.rhs[axis] };
        (!self.out.contains(&label)).then(|| self.places_of(label))
    }
    fn form(&self, _: &[&Type]) -> Form {
        Form::Planned
    }
    fn reach(&self, site: &Site) -> Reaches {
        // A sum of no products depends on nothing.
        match site.args.iter().any(|arg| arg.size() == 0) {
            true => Ok(site.all(&Reach::Nothing)),
            false => Ok(site.along(|axis| self.along(axis, site.args))),
        }
    }
    fn linear_in(&self, _: usize) -> Vec<OperandSet> {
        vec![vec![0], vec![1]]
    }
    fn masks(&self) -> Masks {
        Masks::Contracted
    }
    fn met(&self, b: &mut Builder, mask: Value, operand: usize, types: &[Type; 2]) -> Option<Value> {
        Some(self.met_at(b, mask, operand, types))
    }
    fn transpose(&self, b: &mut Builder, cotangents: &[Option<Value>], args: &[Operand]) -> Cotangents {
        let Some(ct) = cotangents[0] else { return Ok(vec![None; 2]) };
        let out = (&self.out[..], ct);
        if args[0].is_linear() {
            let lhs = (&self.lhs[..], &args[0].ty(b));
            return Ok(vec![Some(Einsum::pull(b, lhs, out, (&self.rhs, args[1].known()))?), None]);
        }
        let rhs = (&self.rhs[..], &args[1].ty(b));
        Ok(vec![None, Some(Einsum::pull(b, rhs, (&self.lhs, args[0].known()), out)?)])
    }
    fn batch(&self, b: &mut Builder, args: &[Value], batched: &[bool], _: usize) -> Batched {
        let lane = self.fresh()?;
        let with_lane =
            |labels: &[u8], batched: bool| if batched { [&[lane], labels].concat() } else { labels.to_vec() };
        let any = batched[0] || batched[1];
        let (lhs, rhs) = (with_lane(&self.lhs, batched[0]), with_lane(&self.rhs, batched[1]));
        let op = Einsum::from_labels(&lhs, &rhs, &with_lane(&self.out, any))?;
        Ok(vec![(b.op(op, args), any)])
    }
    fn attributes(&self) -> Attributes {
        Attributes::default().with("spec", self.spec())
    }
}

impl Family for Einsum {
    #[cfg(feature = "text")]
    fn parse(name: &str, fields: &mut Fields) -> Option<Result<Self, Misfit>> {
        (name == "einsum").then(|| Einsum::new(&fields.word("spec")?))
    }
    fn samples() -> Vec<Sample> {
        let cases: [(&str, &[usize], &[usize]); 12] = [
            ("ij,jk->ik", &[2, 3], &[3, 2]),
            ("i,i->", &[4], &[4]),
            ("i,j->ji", &[2], &[3]),
            (",->", &[], &[]),
            (",ij->ij", &[], &[2, 2]),
            ("bij,bjk->bik", &[2, 2, 3], &[2, 3, 1]),
            ("ibj,kjb->kbi", &[2, 2, 3], &[2, 3, 2]),
            ("ijs,tjk->k", &[2, 3, 2], &[2, 3, 2]),
            ("ij,ij->ij", &[2, 3], &[2, 3]),
            ("ij,jk->ik", &[2, 0], &[0, 3]),
            ("ij,kl->ik", &[2, 0], &[1, 2]),
            ("aZ,Zb->ab", &[0, 2], &[2, 2]),
        ];
        let op = |spec: &str| Einsum::new(spec).expect("the samples are written with care");
        let mut samples: Vec<Sample> =
            cases.iter().map(|&(spec, x, y)| Sample::new(op(spec), &[numbers(1, x), numbers(2, y)])).collect();
        for &(spec, x, y) in &[cases[0], cases[6], cases[7]] {
            samples.push(Sample::new(op(spec), &[numbers_f32(3, x), numbers_f32(4, y)]));
        }
        let (x, y) = (Array::new(&[2, 2], vec![1i64, -2, 3, i64::MAX]), Array::new(&[2], vec![5i64, 2]));
        samples.push(Sample::new(op("ij,j->i"), &[x.clone(), y.clone()]));
        samples.push(Sample::new(op("ij,k->kj"), &[x, y]));
        samples
    }
}

#[cfg(test)]
mod tests;
