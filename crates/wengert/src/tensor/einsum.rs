//! Einsum: sums of products that a text of labels names, in the order with the fewest multiplications.

use super::compose::{check_count, compose, joint_shape, refuse, twins};
use super::join::diagonal;
use super::linalg::{LABELS, check_dtypes};
use super::{Tensor, references};
use crate::error::{Error, Misfit, OrRaise, misfit};
use crate::primitives::{Einsum, Reduce, Reducer};
use crate::program::{Builder, Value};

impl Tensor {
    /// The sum of products that a text of labels names, for any number of operands: `ij,jk->ik` is
    /// the matrix product, `ii->i` the diagonal, `ij->` the sum. Without an arrow the result has the
    /// labels that occur once, in alphabetical order. `...` stands for the axes of an operand that have no label: those of
    /// all operands are stretched to each other, and stand in the result where `...` is there; without an arrow they come
    /// first. Operands are contracted two by two, in the order
    /// with the fewest multiplications; of more than ten, the cheapest pair goes first until ten are
    /// left.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let a = Tensor::from([[1.0, 2.0], [3.0, 4.0]]);
    /// assert_eq!(Tensor::einsum("ii", &[&a]).item(), 5.0);
    /// assert_eq!(Tensor::einsum("ij,jk,k->i", [&a, &a, &Tensor::ones(&[2])]).to_vec(), [17.0, 37.0]);
    /// let batch = Tensor::ones(&[5, 3, 2, 2]);
    /// assert_eq!(Tensor::einsum("...ij,...jk->...ik", [&batch, &a]).shape(), [5, 3, 2, 2]);
    /// ```
    ///
    /// # Panics
    /// As [`Tensor::try_einsum`] returns an error.
    #[track_caller]
    pub fn einsum(spec: &str, operands: impl IntoIterator<Item: AsRef<Tensor>>) -> Tensor {
        Self::try_einsum(spec, operands).or_raise()
    }
}

twins! { TryEinsum: "contractions by labels";
    /// As [`Tensor::einsum`], with an error instead of a panic.
    ///
    /// # Errors
    /// Where that panics.
    fn try_einsum(spec: &str, operands: impl IntoIterator<Item: AsRef<Tensor>>) -> Result<Tensor, Error>;
}

impl TryEinsum for Tensor {
    /// As [`Tensor::einsum`], with an error instead of a panic.
    ///
    /// # Errors
    /// If the text does not fit the operands, or lengths or element types differ.
    #[track_caller]
    fn try_einsum(spec: &str, operands: impl IntoIterator<Item: AsRef<Tensor>>) -> Result<Tensor, Error> {
        einsum_of(spec, &references(&operands.into_iter().collect::<Vec<_>>()))
    }
}

#[track_caller]
fn einsum_of(spec: &str, operands: &[&Tensor]) -> Result<Tensor, Error> {
    if operands.is_empty() {
        return refuse("einsum", operands, "it takes at least one tensor");
    }
    compose("einsum", operands, |b, args| einsum(b, spec, args))
}

/// A value with the labels of its axes.
type Labelled = (Value, Vec<u8>);

pub(crate) fn einsum(b: &mut Builder, spec: &str, args: &[Value]) -> Result<Value, Misfit> {
    check_dtypes(b, args)?;
    let (inputs, out) = parse(spec, args.len())?;
    let (args, inputs, out) = without_dots(b, args, inputs, out)?;
    let mut lengths = [None; 256];
    let mut operands: Vec<Labelled> = Vec::with_capacity(args.len());
    for (k, (arg, labels)) in args.into_iter().zip(inputs).enumerate() {
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

/// `...` among labels.
const DOTS: u8 = b'.';

/// The labels of the operands and of the result, [`DOTS`] for `...`.
fn parse(spec: &str, operands: usize) -> Result<(Vec<Vec<u8>>, Vec<u8>), Misfit> {
    let text: String = spec.chars().filter(|letter| !letter.is_whitespace()).collect();
    if text.replace("...", "").contains('.') {
        misfit!("`.` in `{spec}` is no label; `...` stands for axes without one");
    }
    let text = text.replace("...", ".");
    let (inputs, out) = text.split_once("->").map_or((&text[..], None), |(inputs, out)| (inputs, Some(out)));
    let is_label = |letter: char| letter.is_ascii_alphabetic() || letter == ',' || letter == '.';
    if let Some(letter) = inputs.chars().chain(out.unwrap_or("").chars()).find(|&letter| !is_label(letter)) {
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
            let mut out: Vec<u8> = all.iter().copied().filter(|label| *label != DOTS && once(label)).collect();
            out.sort_unstable();
            if all.contains(&DOTS) {
                out.insert(0, DOTS);
            }
            out
        }
    };
    if out.contains(&b',') {
        misfit!("the result in `{spec}` has to be one group of labels");
    }
    let twice = |labels: &Vec<u8>| labels.iter().filter(|&&label| label == DOTS).count() > 1;
    if labels.iter().chain([&out]).any(twice) {
        misfit!("`...` occurs twice in a group of `{spec}`");
    }
    match (1..out.len()).find(|&k| out[..k].contains(&out[k])) {
        Some(k) => misfit!("the label `{}` occurs twice in the result", char::from(out[k])),
        None => Ok((labels, out)),
    }
}

/// Operands, the labels of each, and those of the result.
type Expanded = (Vec<Value>, Vec<Vec<u8>>, Vec<u8>);

/// The operands and all labels with letters in the place of [`DOTS`]: those of axes that are stretched to each other have
/// the same one, and an axis of length 1 that meets a longer one is left out.
fn without_dots(
    b: &mut Builder,
    args: &[Value],
    mut inputs: Vec<Vec<u8>>,
    mut out: Vec<u8>,
) -> Result<Expanded, Misfit> {
    let mut args = args.to_vec();
    let dots = |labels: &[u8]| labels.iter().position(|&label| label == DOTS);
    let mut unnamed = Vec::with_capacity(args.len());
    let mut joint = Vec::new();
    for (k, (&arg, labels)) in args.iter().zip(&inputs).enumerate() {
        let shape = b.shape(arg);
        let own = match dots(labels) {
            None => None,
            Some(_) if shape.len() + 1 < labels.len() => {
                misfit!("operand {k} has {} axes, and {} labels beside `...`", shape.len(), labels.len() - 1)
            }
            Some(place) => Some(place..place + shape.len() + 1 - labels.len()),
        };
        if let Some(own) = &own {
            joint = joint_shape(&joint, &shape[own.clone()]).map_err(|why| Misfit(format!("under `...` {}", why.0)))?;
        }
        unnamed.push(own);
    }
    let used = [inputs.concat(), out.clone()].concat();
    let names: Vec<u8> = LABELS.iter().copied().filter(|label| !used.contains(label)).take(joint.len()).collect();
    if names.len() < joint.len() {
        misfit!("there are more different axes than the {} labels", LABELS.len());
    }
    for (k, own) in unnamed.into_iter().enumerate() {
        let Some(own) = own else { continue };
        let shape = b.shape(args[k]).to_vec();
        let new = joint.len() - own.len();
        let stays = |&axis: &usize| !own.contains(&axis) || shape[axis] == joint[axis - own.start + new];
        let kept: Vec<usize> = (0..shape.len()).filter(stays).collect();
        let lengths: Vec<usize> = kept.iter().map(|&axis| shape[axis]).collect();
        args[k] = b.reshape(args[k], &lengths);
        let letters = kept.iter().filter(|axis| own.contains(axis)).map(|axis| names[axis - own.start + new]);
        inputs[k].splice(own.start..=own.start, letters.collect::<Vec<u8>>());
    }
    match dots(&out) {
        Some(place) => drop(out.splice(place..=place, names)),
        None if joint.is_empty() => {}
        None => misfit!(
            "the result lacks `...`, which stands for {} axes of the operands; write it there too, or sum over them first",
            joint.len()
        ),
    }
    Ok((args, inputs, out))
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
mod tests;
