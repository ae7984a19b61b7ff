//! Products of tensors: dot, matmul, outer, einsum and their relatives, all contractions by labels.

use super::compose::{axes_of, axis_of, check_count, compose, joint_shape, or_raise, refuse, together};
use super::join::diagonal;
use super::shape::reshaped;
use super::{Dim, Dims, Tensor, references};
use crate::error::{Error, Misfit, OrRaise, misfit};
use crate::primitives::{Concat, Einsum, Reduce, Reducer, Slice};
use crate::program::{Builder, Value};

or_raise! {
    /// The matrix product of the last two axes, the axes before stretched to each other. A vector on
    /// the left is a row, on the right a column, and that axis disappears.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let a = Tensor::from([[1.0, 2.0], [3.0, 4.0]]);
    /// assert_eq!(a.matmul(&a).to_vec(), [7.0, 10.0, 15.0, 22.0]);
    /// assert_eq!(a.matmul(&Tensor::from([1.0, 1.0])).to_vec(), [3.0, 7.0]);
    /// ```
    fn matmul = try_matmul(other: &Tensor);
    /// The sum over the last axis of `self` and the last but one (or only) of `other`; the other
    /// axes of both stay, one after the other.
    fn dot = try_dot(other: &Tensor);
    /// All products of an element of each: the axes of both, one after the other.
    fn outer = try_outer(other: &Tensor);
    /// The sum of the products of all elements; both are read as vectors.
    fn vdot = try_vdot(other: &Tensor);
    /// The sum over pairs of axes, one of each; the other axes of both stay, one after the other.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let (x, y) = (Tensor::ones(&[2, 3, 4]), Tensor::ones(&[4, 3, 5]));
    /// assert_eq!(x.tensordot(&y, [1, 2], [1, 0]).shape(), [2, 5]);
    /// ```
    fn tensordot = try_tensordot(other: &Tensor, axes: impl Dims, other_axes: impl Dims);
    /// The sum over the last `count` axes of `self` with the first `count` of `other`, in order; the other axes of both
    /// stay. NumPy's `tensordot(x, y, count)`.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let (x, y) = (Tensor::ones(&[2, 3, 4]), Tensor::ones(&[3, 4, 5]));
    /// assert_eq!(x.tensordot_by(&y, 2).to_vec(), [12.0; 10]);
    /// assert_eq!(x.tensordot_by(&y, 0).shape(), [2, 3, 4, 3, 4, 5]);
    /// ```
    #[doc(alias = "tensordot")]
    fn tensordot_by = try_tensordot_by(other: &Tensor, count: usize);
    /// The sum over pairs of axes for each index of pairs of shared ones, which come first in the
    /// result; then the other axes of both.
    fn dot_general = try_dot_general(other: &Tensor, contracted: [&[isize]; 2], batch: [&[isize]; 2]);
    /// The vector product of 3-vectors along an axis, the shapes stretched to each other.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let (x, y) = (Tensor::from([1.0, 0.0, 0.0]), Tensor::from([0.0, 1.0, 0.0]));
    /// assert_eq!(x.cross(&y, -1).to_vec(), [0.0, 0.0, 1.0]);
    /// ```
    fn cross = try_cross(other: &Tensor, axis: impl Dim);
}

/// The labels of einsum, in order.
const LABELS: &[u8; 52] = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

/// The first `count` labels.
fn labels(count: usize) -> Result<Vec<u8>, Misfit> {
    match LABELS.get(..count) {
        Some(labels) => Ok(labels.to_vec()),
        None => misfit!("there are {count} different axes, and at most {} are possible", LABELS.len()),
    }
}

impl Tensor {
    /// As [`Tensor::matmul`], with an error instead of a panic.
    ///
    /// # Errors
    /// If an operand is a single number, or shapes or element types do not fit.
    #[track_caller]
    pub fn try_matmul(&self, other: &Tensor) -> Result<Tensor, Error> {
        compose("matmul", &[self, other], |b, args| matmul(b, args[0], args[1]))
    }

    /// As [`Tensor::dot`], with an error instead of a panic.
    ///
    /// # Errors
    /// If an operand is a single number, or shapes or element types do not fit.
    #[track_caller]
    pub fn try_dot(&self, other: &Tensor) -> Result<Tensor, Error> {
        let axis = if other.rank() > 1 { -2 } else { -1 };
        compose("dot", &[self, other], |b, args| general(b, args, [&[-1], &[axis]], [&[], &[]]))
    }

    /// As [`Tensor::outer`], with an error instead of a panic.
    ///
    /// # Errors
    /// If the element types differ or the result does not fit in memory.
    #[track_caller]
    pub fn try_outer(&self, other: &Tensor) -> Result<Tensor, Error> {
        compose("outer", &[self, other], |b, args| general(b, args, [&[], &[]], [&[], &[]]))
    }

    /// As [`Tensor::vdot`], with an error instead of a panic.
    ///
    /// # Errors
    /// If sizes or element types differ.
    #[track_caller]
    pub fn try_vdot(&self, other: &Tensor) -> Result<Tensor, Error> {
        compose("vdot", &[self, other], |b, args| {
            let mut vectors = Vec::with_capacity(2);
            for &arg in args {
                let size = b.ty(arg).size();
                vectors.push(reshaped(b, arg, &[size])?);
            }
            general(b, &vectors, [&[0], &[0]], [&[], &[]])
        })
    }

    /// As [`Tensor::tensordot`], with an error instead of a panic.
    ///
    /// # Errors
    /// If axes do not exist or differ in length, or the element types differ.
    #[track_caller]
    pub fn try_tensordot(&self, other: &Tensor, axes: impl Dims, other_axes: impl Dims) -> Result<Tensor, Error> {
        tensordot(self, other, &axes.dims(), &other_axes.dims())
    }

    /// As [`Tensor::tensordot_by`], with an error instead of a panic.
    ///
    /// # Errors
    /// If an operand has fewer axes, they differ in length, or the element types differ.
    #[track_caller]
    pub fn try_tensordot_by(&self, other: &Tensor, count: usize) -> Result<Tensor, Error> {
        compose("tensordot_by", &[self, other], |b, args| {
            let ranks = [0, 1].map(|k| b.shape(args[k]).len());
            if let Some(k) = (0..2).find(|&k| ranks[k] < count) {
                misfit!("operand {k} has {} axes, and {count} are to be summed", ranks[k]);
            }
            let signed = |axes: std::ops::Range<usize>| axes.map(usize::cast_signed).collect::<Vec<isize>>();
            general(b, args, [&signed(ranks[0] - count..ranks[0]), &signed(0..count)], [&[], &[]])
        })
    }

    /// As [`Tensor::dot_general`], with an error instead of a panic.
    ///
    /// # Errors
    /// If axes do not exist or differ in length, or the element types differ.
    #[track_caller]
    pub fn try_dot_general(
        &self,
        other: &Tensor,
        contracted: [&[isize]; 2],
        batch: [&[isize]; 2],
    ) -> Result<Tensor, Error> {
        compose("dot_general", &[self, other], |b, args| general(b, args, contracted, batch))
    }

    /// As [`Tensor::cross`], with an error instead of a panic.
    ///
    /// # Errors
    /// If the axis is not 3 long, or shapes or element types do not fit.
    #[track_caller]
    pub fn try_cross(&self, other: &Tensor, axis: impl Dim) -> Result<Tensor, Error> {
        cross(self, other, axis.dim().0)
    }

    /// The sum of products that a text of labels names, for any number of operands: `ij,jk->ik` is
    /// the matrix product, `ii->i` the diagonal, `ij->` the sum. Without an arrow the result has the
    /// labels that occur once, in alphabetical order. Operands are contracted two by two, in the order
    /// with the fewest multiplications; of more than ten, the cheapest pair goes first until ten are
    /// left.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let a = Tensor::from([[1.0, 2.0], [3.0, 4.0]]);
    /// assert_eq!(Tensor::einsum("ii", &[&a]).item(), 5.0);
    /// assert_eq!(Tensor::einsum("ij,jk,k->i", &[&a, &a, &Tensor::ones(&[2])]).to_vec(), [17.0, 37.0]);
    /// ```
    ///
    /// # Panics
    /// As [`Tensor::try_einsum`] returns an error.
    #[track_caller]
    pub fn einsum(spec: &str, operands: impl IntoIterator<Item: AsRef<Tensor>>) -> Tensor {
        Self::try_einsum(spec, operands).or_raise()
    }

    /// As [`Tensor::einsum`], with an error instead of a panic.
    ///
    /// # Errors
    /// If the text does not fit the operands, or lengths or element types differ.
    #[track_caller]
    pub fn try_einsum(spec: &str, operands: impl IntoIterator<Item: AsRef<Tensor>>) -> Result<Tensor, Error> {
        einsum_of(spec, &references(&operands.into_iter().collect::<Vec<_>>()))
    }
}

#[track_caller]
fn tensordot(x: &Tensor, other: &Tensor, axes: &[isize], other_axes: &[isize]) -> Result<Tensor, Error> {
    compose("tensordot", &[x, other], |b, args| general(b, args, [axes, other_axes], [&[], &[]]))
}

#[track_caller]
fn cross(x: &Tensor, other: &Tensor, axis: isize) -> Result<Tensor, Error> {
    compose("cross", &[x, other], |b, args| {
        check_dtypes(b, args)?;
        crate::primitives::check_float(b.ty(args[0]))?;
        let (x, y) = together(b, args[0], args[1])?;
        let shape = b.shape(x).to_vec();
        let axis = axis_of(axis, shape.len())?;
        if shape[axis] != 3 {
            misfit!("axis {axis} is {} long, and vectors of 3 are needed", shape[axis]);
        }
        let mut turned = |x: Value, by: usize| {
            let end = b.op(Slice::along(&shape, axis, by, 3), &[x]);
            let start = b.op(Slice::along(&shape, axis, 0, by), &[x]);
            b.op(Concat { axis }, &[end, start])
        };
        let [x1, x2, y1, y2] = [turned(x, 1), turned(x, 2), turned(y, 1), turned(y, 2)];
        let (plus, minus) = (b.mul(x1, y2), b.mul(x2, y1));
        Ok(b.sub(plus, minus))
    })
}

#[track_caller]
fn einsum_of(spec: &str, operands: &[&Tensor]) -> Result<Tensor, Error> {
    if operands.is_empty() {
        return refuse("einsum", operands, "it takes at least one tensor");
    }
    compose("einsum", operands, |b, args| einsum(b, spec, args))
}

fn check_dtypes(b: &Builder, args: &[Value]) -> Result<(), Misfit> {
    let first = b.ty(args[0]).dtype;
    match args.iter().map(|&arg| b.ty(arg).dtype).find(|&dtype| dtype != first) {
        Some(other) => misfit!("the element types {first} and {other} differ; convert one of them first"),
        None => Ok(()),
    }
}

/// The matrix product, batched and with vectors.
pub(crate) fn matmul(b: &mut Builder, x: Value, y: Value) -> Result<Value, Misfit> {
    check_dtypes(b, &[x, y])?;
    let (left, right) = (b.shape(x).to_vec(), b.shape(y).to_vec());
    if left.is_empty() || right.is_empty() {
        misfit!("a single number is no matrix; multiply with `*`");
    }
    let inner = [left[left.len() - 1], right[right.len().saturating_sub(2)]];
    if inner[0] != inner[1] {
        misfit!("the rows of the first are {} long, the columns of the second {}", inner[0], inner[1]);
    }
    let batch = [&left[..left.len().saturating_sub(2)], &right[..right.len().saturating_sub(2)]];
    let shared = joint_shape(batch[0], batch[1])?;
    let names = labels(shared.len() + 3)?;
    let [row, sum, column] = [0, 1, 2].map(|k| names[shared.len() + k]);
    // An axis of length 1 that meets a longer one is not stretched but left out.
    let mut side = |x: Value, shape: &[usize], batch: &[usize], matrix: &[u8]| {
        let new = shared.len() - batch.len();
        let kept: Vec<usize> = (0..batch.len()).filter(|&axis| batch[axis] == shared[axis + new]).collect();
        let lengths = kept.iter().map(|&axis| batch[axis]).chain(shape[batch.len()..].iter().copied());
        let narrow = b.reshape(x, &lengths.collect::<Vec<usize>>());
        let own: Vec<u8> = kept.iter().map(|axis| names[axis + new]).chain(matrix.iter().copied()).collect();
        (narrow, own)
    };
    let rows: &[u8] = if left.len() > 1 { &[row, sum] } else { &[sum] };
    let columns: &[u8] = if right.len() > 1 { &[sum, column] } else { &[sum] };
    let (x, lhs) = side(x, &left, batch[0], rows);
    let (y, rhs) = side(y, &right, batch[1], columns);
    let mut out = names[..shared.len()].to_vec();
    out.extend((left.len() > 1).then_some(row));
    out.extend((right.len() > 1).then_some(column));
    Ok(b.emit(Einsum::from_labels(&lhs, &rhs, &out)?, &[x, y])?[0])
}

/// A contraction by numbers of axes: over `contracted`, for each index of `batch`.
fn general(b: &mut Builder, args: &[Value], contracted: [&[isize]; 2], batch: [&[isize]; 2]) -> Result<Value, Misfit> {
    check_dtypes(b, args)?;
    if contracted[0].len() != contracted[1].len() || batch[0].len() != batch[1].len() {
        misfit!("the axes of the operands do not come in pairs");
    }
    let shapes = [0, 1].map(|k| b.shape(args[k]).to_vec());
    let count = shapes[0].len() + shapes[1].len();
    let names = labels(count.saturating_sub(contracted[0].len() + batch[0].len()))?;
    let mut own: [Vec<Option<u8>>; 2] = [0, 1].map(|k| vec![None; shapes[k].len()]);
    let mut next = names.into_iter();
    let mut shared = Vec::new();
    for (pairs, stays) in [(batch, true), (contracted, false)] {
        let axes = [axes_of(pairs[0], shapes[0].len())?, axes_of(pairs[1], shapes[1].len())?];
        for (&first, &second) in axes[0].iter().zip(&axes[1]) {
            if shapes[0][first] != shapes[1][second] {
                let lengths = (shapes[0][first], shapes[1][second]);
                misfit!("axis {first} of the first is {} long, axis {second} of the second {}", lengths.0, lengths.1);
            }
            // With more pairs than axes the labels are used up.
            let fresh = own[0][first].is_none() && own[1][second].is_none();
            let Some(label) = next.next().filter(|_| fresh) else { misfit!("an axis is both shared and summed") };
            (own[0][first], own[1][second]) = (Some(label), Some(label));
            shared.extend(stays.then_some(label));
        }
    }
    let mut out = shared;
    let named = own.map(|own| {
        own.into_iter()
            .map(|label| {
                label.unwrap_or_else(|| {
                    let label = next.next().expect("there is a label for every axis");
                    out.push(label);
                    label
                })
            })
            .collect::<Vec<u8>>()
    });
    Ok(b.emit(Einsum::from_labels(&named[0], &named[1], &out)?, args)?[0])
}

// ---- einsum -------------------------------------------------------------------------------------

/// A value with the labels of its axes.
type Labelled = (Value, Vec<u8>);

pub(crate) fn einsum(b: &mut Builder, spec: &str, args: &[Value]) -> Result<Value, Misfit> {
    check_dtypes(b, args)?;
    let (inputs, out) = parse(spec, args.len())?;
    let mut lengths = [None; 256];
    let mut operands: Vec<Labelled> = Vec::with_capacity(args.len());
    for (k, (&arg, labels)) in args.iter().zip(inputs).enumerate() {
        let shape = b.shape(arg).to_vec();
        if shape.len() != labels.len() {
            misfit!("operand {k} has {} axes, and {} labels", shape.len(), labels.len());
        }
        for (&label, &length) in labels.iter().zip(&shape) {
            match lengths[usize::from(label)].replace(length) {
                Some(other) if other != length => {
                    misfit!("the label `{}` stands for {other} and for {length}", char::from(label))
                }
                _ => {}
            }
        }
        operands.push(without_repeats(b, arg, labels)?);
    }
    if let Some(&label) = out.iter().find(|&&label| lengths[usize::from(label)].is_none()) {
        misfit!("the label `{}` of the result is no operand's", char::from(label));
    }
    let length = |label: u8| lengths[usize::from(label)].unwrap_or(1);
    while operands.len() > MOST_COMPARED {
        let (first, second) = cheapest(&operands, length);
        // `second` is behind `first`: taken out first, it leaves `first` where it is.
        let (right, left) = (operands.remove(second), operands.remove(first));
        let others: Vec<u8> =
            operands.iter().flat_map(|(_, labels)| labels.iter().copied()).chain(out.clone()).collect();
        let product = contracted(b, left, right, |label| others.contains(label), length)?;
        operands.insert(first, product);
    }
    let sets: Vec<u64> = operands.iter().map(|(_, labels)| set_of(labels)).collect();
    let parts = order(&sets, set_of(&out), |set| {
        let labels = (0..64u32).filter(|bit| set >> bit & 1 == 1);
        labels.map(|bit| length(b'A' + bit as u8) as f64).product()
    });
    let all = (1 << operands.len()) - 1;
    let mut operands = vec![contract(b, &operands, &parts, all, &out, length)?];
    let (x, labels) = operands.remove(0);
    let summed: Vec<usize> = (0..labels.len()).filter(|&axis| !out.contains(&labels[axis])).collect();
    let x = if summed.is_empty() { x } else { b.emit(Reduce::new(Reducer::Sum, &summed), &[x])?[0] };
    let left: Vec<u8> = labels.into_iter().filter(|label| out.contains(label)).collect();
    let order: Vec<usize> = out.iter().filter_map(|label| left.iter().position(|own| own == label)).collect();
    Ok(b.permute(x, &order))
}

/// The labels of the operands and of the result.
fn parse(spec: &str, operands: usize) -> Result<(Vec<Vec<u8>>, Vec<u8>), Misfit> {
    let text: String = spec.chars().filter(|letter| !letter.is_whitespace()).collect();
    let (inputs, out) = text.split_once("->").map_or((&text[..], None), |(inputs, out)| (inputs, Some(out)));
    if let Some(letter) =
        inputs.chars().chain(out.unwrap_or("").chars()).find(|c| !c.is_ascii_alphabetic() && *c != ',')
    {
        misfit!("`{letter}` in `{spec}` is no label: labels are ASCII letters");
    }
    let labels: Vec<Vec<u8>> = inputs.split(',').map(|labels| labels.as_bytes().to_vec()).collect();
    if labels.len() != operands {
        misfit!("`{spec}` names {} operands, and there are {operands}", labels.len());
    }
    let out = match out {
        Some(out) => out.as_bytes().to_vec(),
        None => {
            let all = labels.concat();
            let once = |label: &u8| all.iter().filter(|other| *other == label).count() == 1;
            let mut out: Vec<u8> = all.iter().copied().filter(once).collect();
            out.sort_unstable();
            out
        }
    };
    if out.contains(&b',') {
        misfit!("the result in `{spec}` has to be one group of labels");
    }
    match (1..out.len()).find(|&k| out[..k].contains(&out[k])) {
        Some(k) => misfit!("the label `{}` occurs twice in the result", char::from(out[k])),
        None => Ok((labels, out)),
    }
}

/// The diagonal over axes with the same label.
fn without_repeats(b: &mut Builder, x: Value, labels: Vec<u8>) -> Result<Labelled, Misfit> {
    let repeated = (1..labels.len()).find_map(|k| Some((labels.iter().take(k).position(|own| *own == labels[k])?, k)));
    let Some((first, second)) = repeated else { return Ok((x, labels)) };
    let last = labels.len() - 1;
    let x = b.move_axis(x, second, last);
    let x = b.move_axis(x, first, last);
    let x = diagonal(b, x, 0)?;
    let mut left = labels;
    let label = left.remove(second);
    left.remove(first);
    left.push(label);
    without_repeats(b, x, left)
}

fn union(left: &[u8], right: &[u8]) -> Vec<u8> {
    left.iter().copied().chain(right.iter().copied().filter(|label| !left.contains(label))).collect()
}

/// The contraction of two operands; `needed` says which labels stay.
fn contracted(
    b: &mut Builder,
    (x, left): Labelled,
    (y, right): Labelled,
    needed: impl Fn(&u8) -> bool,
    length: impl Fn(u8) -> usize,
) -> Result<Labelled, Misfit> {
    let result: Vec<u8> = union(&left, &right).into_iter().filter(needed).collect();
    check_count(&result.iter().map(|&label| length(label)).collect::<Vec<usize>>())?;
    Ok((b.emit(Einsum::from_labels(&left, &right, &result)?, &[x, y])?[0], result))
}

/// The contraction of a set of operands, in the order that [`order`] has found.
fn contract(
    b: &mut Builder,
    operands: &[Labelled],
    parts: &[usize],
    set: usize,
    out: &[u8],
    length: impl Fn(u8) -> usize + Copy,
) -> Result<Labelled, Misfit> {
    if set.is_power_of_two() {
        return Ok(operands[set.trailing_zeros() as usize].clone());
    }
    let [(x, left), (y, right)] = [
        contract(b, operands, parts, parts[set], out, length)?,
        contract(b, operands, parts, set & !parts[set], out, length)?,
    ];
    if set + 1 == 1 << operands.len() {
        // The last product is the result, its labels in their order.
        check_count(&out.iter().map(|&label| length(label)).collect::<Vec<usize>>())?;
        return Ok((b.emit(Einsum::from_labels(&left, &right, out)?, &[x, y])?[0], out.to_vec()));
    }
    let outside = |k: usize| set >> k & 1 == 0;
    let others = |label: &u8| (0..operands.len()).any(|k| outside(k) && operands[k].1.contains(label));
    contracted(b, (x, left), (y, right), |label| out.contains(label) || others(label), length)
}

/// All orders of contraction are compared for at most this many operands; of more, the cheapest pairs go first until this
/// many are left.
const MOST_COMPARED: usize = 10;

/// Labels as a set of bits; they are ASCII letters.
fn set_of(labels: &[u8]) -> u64 {
    labels.iter().fold(0, |set, label| set | 1 << (label - b'A'))
}

/// The cheapest order of contraction of operands with these labels: for every set of them, the part that holds its first
/// operand and is contracted apart from the rest. `size` is the number of elements that an array with such labels has.
///
/// What a product of two parts costs is the number of its multiplications and of its results. Sets are looked at by dynamic
/// programming, as by Pfeifer, Haegeman and Verstraete, *Faster identification of optimal contraction sequences for tensor
/// networks*, 2014.
fn order(labels: &[u64], out: u64, size: impl Fn(u64) -> f64) -> Vec<usize> {
    let all = (1usize << labels.len()) - 1;
    let members = |set: usize| (0..labels.len()).filter(move |k| set >> k & 1 == 1);
    let held: Vec<u64> = (0..=all).map(|set| members(set).fold(0, |held, k| held | labels[k])).collect();
    // What is left of a set: what the result or other operands have too.
    let left = |set: usize| if set.is_power_of_two() { held[set] } else { held[set] & (out | held[all & !set]) };
    let (mut costs, mut parts) = (vec![0.0; all + 1], vec![0; all + 1]);
    for set in (1..=all).filter(|set: &usize| !set.is_power_of_two()) {
        let rest = set & (set - 1);
        let mut best = (f64::INFINITY, f64::INFINITY);
        let mut other = rest;
        while other > 0 {
            let part = set & !other;
            let before = costs[part] + costs[other];
            // Of orders that cost the same, the one that leaves most to its last product: a large one is the faster.
            let cost = (before + size(left(part) | left(other)) + size(left(set)), before);
            // Lengths whose product is no number cost infinitely much, in whatever order.
            if cost < best || parts[set] == 0 {
                (best, parts[set]) = (cost, part);
            }
            other = (other - 1) & rest;
        }
        costs[set] = best.0;
    }
    parts
}

/// The pair whose contraction has the fewest products; the first of equal ones.
fn cheapest(operands: &[Labelled], length: impl Fn(u8) -> usize) -> (usize, usize) {
    let cost = |first: usize, second: usize| -> f64 {
        union(&operands[first].1, &operands[second].1).into_iter().map(|label| length(label) as f64).product()
    };
    let mut best = (0, 1);
    for second in 1..operands.len() {
        for first in 0..second {
            if cost(first, second) < cost(best.0, best.1) {
                best = (first, second);
            }
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What contracting these costs at least, by trying all pairs.
    fn least(labels: &[u64], out: u64, size: &impl Fn(u64) -> f64, first: bool) -> f64 {
        if labels.len() == 1 {
            return 0.0;
        }
        let mut best = f64::INFINITY;
        for second in 1..labels.len() {
            for one in 0..second {
                let mut others = labels.to_vec();
                let (y, x) = (others.remove(second), others.remove(one));
                let kept = (x | y) & others.iter().fold(out, |needed, own| needed | own);
                others.push(kept);
                best = best.min(size(x | y) + size(kept) + least(&others, out, size, false));
            }
        }
        assert!(first || best.is_finite());
        best
    }

    /// What an order costs.
    fn cost(labels: &[u64], out: u64, size: &impl Fn(u64) -> f64, parts: &[usize], set: usize) -> (u64, f64) {
        if set.is_power_of_two() {
            return (labels[set.trailing_zeros() as usize], 0.0);
        }
        let [x, y] = [parts[set], set & !parts[set]].map(|part| cost(labels, out, size, parts, part));
        let others = (0..labels.len()).filter(|k| set >> k & 1 == 0).fold(out, |needed, k| needed | labels[k]);
        let kept = (x.0 | y.0) & others;
        (kept, x.1 + y.1 + size(x.0 | y.0) + size(kept))
    }

    #[test]
    fn no_order_of_contraction_is_cheaper() {
        let mut state = 5u64;
        let mut next = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        for _ in 0..300 {
            let lengths: Vec<u64> = (0..7).map(|_| 1 + next(40)).collect();
            let size = |set: u64| (0..7).filter(|bit| set >> bit & 1 == 1).map(|bit| lengths[bit] as f64).product();
            let labels: Vec<u64> = (0..2 + next(4)).map(|_| 1 + next(127)).collect();
            let out = labels.iter().fold(0, |all, own| all | own) & next(128);
            let parts = order(&labels, out, size);
            let (_, found) = cost(&labels, out, &size, &parts, (1 << labels.len()) - 1);
            let wanted = least(&labels, out, &size, true);
            assert!((found - wanted).abs() <= 1e-9 * wanted, "{labels:?} {out} {lengths:?}: {found} {wanted}");
        }
    }
}
