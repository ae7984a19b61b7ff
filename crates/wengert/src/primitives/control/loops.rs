//! What the loops have in common: parts of the carry that get a tangent, a cotangent, a mask or an axis in some step have it
//! in every step.

pub(super) mod masks;

use super::{CotangentLayout, inside, run};
use crate::array::{Array, DType, Element, Type};
use crate::error::{Misfit, misfit};
use crate::ops::Binary;
use crate::primitives::{Attributes, Cond, Cotangent, Logic};
use crate::program::{Builder, Program, Value, dce, inline, with_inputs, with_outputs};
use crate::transform::{in_one_of, vmap};

/// Marks what `more` marks as well; whether that changed anything.
pub(super) fn widen(marks: &mut [bool], more: &[bool]) -> bool {
    let before = marks.to_vec();
    marks.iter_mut().zip(more).for_each(|(mark, more)| *mark |= more);
    marks != before
}

/// What is made of a step, by what it is made for: a step may hold loops, whose steps hold loops, and to make each twice would be
/// to make the innermost once for every way down.
pub(super) struct Made<K, T>(Vec<(K, T)>);

impl<K: Clone + PartialEq, T: Clone> Made<K, T> {
    pub(super) fn new() -> Self {
        Made(Vec::new())
    }

    /// What was made for this, or is now.
    pub(super) fn of(&mut self, key: &K, make: impl FnOnce(&K) -> Result<T, Misfit>) -> Result<T, Misfit> {
        if let Some((_, made)) = self.0.iter().find(|(own, _)| own == key) {
            return Ok(made.clone());
        }
        let made = make(key)?;
        self.0.push((key.clone(), made.clone()));
        Ok(made)
    }
}

/// Marks that hold in every step: `step` gives what a step makes of them for the carry, and something that was found on the way.
pub(super) fn settled<T>(
    marks: &mut [bool],
    carry: std::ops::Range<usize>,
    mut step: impl FnMut(&[bool]) -> Result<(T, Vec<bool>), Misfit>,
) -> Result<T, Misfit> {
    loop {
        let (found, after) = step(marks)?;
        if !widen(&mut marks[carry.clone()], &after) {
            return Ok(found);
        }
    }
}

/// The cotangents of all operands but rows before and after a step, in one layout for every step. A part of the carry, behind
/// this many invariants, that has one in some steps has a mask, so that where it has none it counts nowhere; the sums of
/// invariants begin with zeros.
pub(super) fn joined(before: &[Option<bool>], after: &[Option<bool>], invariants: usize) -> CotangentLayout {
    let both = |(k, (&before, &after)): (usize, (&Option<bool>, &Option<bool>))| match (before, after) {
        (None, None) => None,
        (Some(one), Some(other)) => Some(one || other),
        (Some(one), None) | (None, Some(one)) => Some(one || k >= invariants),
    };
    before.iter().zip(after).enumerate().map(both).collect()
}

/// Cotangents without their masks: where one does not count it is 0. What is carried backwards over a loop forwards carries no
/// masks, see [`masks`].
pub(super) fn unmasked(cts: &[Option<Cotangent>]) -> Vec<Option<Cotangent>> {
    cts.iter().map(|ct| ct.map(|ct| Cotangent { mask: None, ..ct })).collect()
}

/// The layout of cotangents.
pub(super) fn layout_of(cts: &[Option<Cotangent>]) -> CotangentLayout {
    cts.iter().map(|ct| ct.map(|ct| ct.mask.is_some())).collect()
}

/// A layout without masks that holds for every step, from what there is in the beginning: `step` gives what there is after one,
/// and something that was found on the way.
pub(super) fn settled_layout<T>(
    mut layout: CotangentLayout,
    mut step: impl FnMut(&CotangentLayout) -> Result<(T, CotangentLayout), Misfit>,
) -> Result<(T, CotangentLayout), Misfit> {
    loop {
        let (found, after) = step(&layout)?;
        let both: CotangentLayout = layout.iter().zip(&after).map(|(one, other)| one.or(*other)).collect();
        if both == layout {
            return Ok((found, layout));
        }
        layout = both;
    }
}

/// The type of a value that is stacked along a new axis in front.
pub(super) fn stacked(ty: &Type, length: usize) -> Type {
    ty.with_shape([&[length], &ty.shape[..]].concat())
}

/// The truth values beside an array.
pub(super) fn mask_of(ty: &Type) -> Type {
    ty.with_dtype(DType::Bool)
}

/// Checks that a carry comes out of a step as it went in.
pub(super) fn check_carry(body: &Program, carry: std::ops::Range<usize>) -> Result<(), Misfit> {
    let (inputs, outputs) = (body.input_types(), body.output_types());
    if outputs.len() < carry.len() {
        misfit!("a step gives {} values, which are fewer than the {} of the carry", outputs.len(), carry.len());
    }
    match carry.clone().zip(&outputs).position(|(k, out)| inputs[k] != *out) {
        Some(k) => {
            misfit!("part {k} of the carry is {} before a step and {} after it", inputs[carry.start + k], outputs[k])
        }
        None => Ok(()),
    }
}

/// Inputs for cotangents of these types: their values, then their masks.
pub(super) fn cotangent_inputs(b: &mut Builder, types: &[Type], layout: &[Option<bool>]) -> Vec<Option<Cotangent>> {
    let values: Vec<Option<Value>> =
        layout.iter().zip(types).map(|(has, ty)| has.map(|_| b.input("", ty.clone()))).collect();
    let masked = |(k, value): (usize, Option<Value>)| {
        let value = value?;
        let mask = (layout[k] == Some(true)).then(|| b.input("", mask_of(&types[k])));
        Some(Cotangent { value, mask })
    };
    values.into_iter().enumerate().map(masked).collect()
}

/// Cotangents in this layout, as values and then masks: zeros that count nowhere where there is none, a mask that is true where
/// one has none.
pub(super) fn in_layout(
    b: &mut Builder,
    cotangents: &[Option<Cotangent>],
    types: &[Type],
    layout: &CotangentLayout,
) -> Vec<Value> {
    let (mut values, mut masks) = (Vec::new(), Vec::new());
    for ((ct, ty), has) in cotangents.iter().zip(types).zip(layout) {
        let Some(masked) = has else { continue };
        values.push(ct.map_or_else(|| b.full(0.0, ty), |ct| ct.value));
        if *masked {
            let known = ct.map_or(0.0, |_| 1.0);
            masks.push(ct.and_then(|ct| ct.mask).unwrap_or_else(|| b.full(known, &mask_of(ty))));
        }
    }
    values.extend(masks);
    values
}

/// How many values a layout has, with their masks.
pub(super) fn count(layout: &[Option<bool>]) -> usize {
    layout.iter().flatten().map(|masked| 1 + usize::from(*masked)).sum()
}

/// The sum of two cotangents; a place counts if it counts in one of them.
pub(super) fn sum(b: &mut Builder, one: Option<Cotangent>, other: Option<Cotangent>) -> Option<Cotangent> {
    let (Some(one), Some(other)) = (one, other) else { return one.or(other) };
    let mask = one.mask.zip(other.mask).and_then(|(x, y)| in_one_of(b, x, y));
    Some(Cotangent { value: b.op(Binary::Add, &[one.value, other.value]), mask })
}

/// The values that are marked.
pub(super) fn marked<T: Clone>(values: &[T], marks: &[bool]) -> Vec<T> {
    values.iter().zip(marks).filter(|(_, mark)| **mark).map(|(value, _)| value.clone()).collect()
}

/// The part of a Program that gives the outputs marked, which need no other inputs than those marked.
pub(super) fn part_of(program: &Program, outputs: &[bool], inputs: &[bool]) -> Program {
    with_inputs(with_outputs(program, outputs), inputs)
}

/// A Program of more inputs than it uses: those of these types, of which it takes the ones at `used`.
pub(super) fn of_more_inputs(program: &Program, types: &[Type], used: &[usize]) -> Program {
    let mut b = Builder::new();
    let inputs: Vec<Value> = types.iter().map(|ty| b.input("", ty.clone())).collect();
    let args: Vec<Value> = used.iter().map(|&k| inputs[k]).collect();
    let outs = inline(&mut b, program, &args);
    b.finish(&outs)
}

/// The positions that are marked.
pub(super) fn positions(marks: &[bool]) -> Vec<usize> {
    (0..marks.len()).filter(|&k| marks[k]).collect()
}

/// Checks that a Program says whether a loop goes on.
pub(super) fn check_condition(condition: &Program) -> Result<(), Misfit> {
    match &condition.output_types()[..] {
        [ty] if *ty == Type::new(DType::Bool, &[]) => Ok(()),
        other => {
            let list = other.iter().map(ToString::to_string).collect::<Vec<String>>().join(", ");
            misfit!("the condition gives ({list}), and has to be bool[]")
        }
    }
}

/// A step backwards that is `last` where the loop does not go on after the step forwards, else `steady`: there what comes from
/// behind the loop has cotangents in other parts. Both take what is known of a step, then the cotangents. Whether it is the last
/// step is asked of what is known.
pub(super) fn ending(condition: &Program, first: &Program, steady: Program, last: Program) -> Program {
    let mut b = Builder::new();
    let inputs: Vec<Value> = steady.input_types().iter().map(|ty| b.input("", ty.clone())).collect();
    let known = &inputs[..first.input_types().len()];
    let invariants = known.len() - first.outputs().len();
    let after = inline(&mut b, first, known);
    let goes_on = inline(&mut b, condition, &[&known[..invariants], &after].concat())[0];
    let results = b.ops(Cond::new(steady, last), &[&[goes_on], &inputs[..]].concat());
    dce(b.finish(&results))
}

/// Whether a loop goes on, by definition.
pub(super) fn goes_on(condition: &Program, operands: &[&Array]) -> Result<bool, Misfit> {
    Ok(run(condition, operands)?[0].known::<bool>()[0])
}

/// What bounds a loop whose length is not known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Bounds {
    /// How many steps there are at most: one more is an error.
    pub limit: Option<usize>,
    /// How many carries are kept at most when steps are needed backwards: those between are computed again. All are kept if there
    /// is no bound.
    pub snapshots: Option<usize>,
}

impl Bounds {
    /// The attributes of a loop with these bounds.
    pub(super) fn added_to(self, attributes: Attributes) -> Attributes {
        let with = |attributes: Attributes, name, bound: Option<usize>| match bound {
            Some(bound) => attributes.with(name, bound),
            None => attributes,
        };
        with(with(attributes, "limit", self.limit), "snapshots", self.snapshots)
    }
}

/// That a loop has not ended within its limit.
pub(super) fn endless(limit: usize) -> Misfit {
    Misfit(format!("the loop has not ended after {limit} steps, which is its limit"))
}

/// Which lanes go on: those for which the condition holds, of those of the mask.
pub(super) fn lanes_that_go_on(
    b: &mut Builder,
    condition: &Program,
    args: &[Value],
    batched: &[bool],
    length: usize,
    mask: Option<Value>,
) -> Result<(Value, bool), Misfit> {
    let outs = match mask {
        Some(mask) => vmap::vmap_guarded(b, condition, args, batched, length, mask),
        None => vmap::vmap(b, condition, args, batched, length),
    };
    let (holds, has_lanes) = outs.map_err(inside)?[0];
    let Some(mask) = mask else { return Ok((holds, has_lanes)) };
    let holds = b.batch_all(&[holds], &[has_lanes], length)[0];
    Ok((b.op(Logic::And, &[holds, mask]), true))
}

/// What is new in the lanes that go on, and what was before in the others; all with lanes.
pub(super) fn frozen(
    b: &mut Builder,
    lanes: Value,
    new: &[(Value, bool)],
    before: &[Value],
    length: usize,
) -> Vec<Value> {
    let one = |b: &mut Builder, (&(new, has), &before): (&(Value, bool), &Value)| {
        let new = b.batch_all(&[new], &[has], length)[0];
        let shape = b.shape(new).to_vec();
        let mask = b.spread(lanes, &shape, &(1..shape.len()).collect::<Vec<usize>>());
        b.select(mask, new, before)
    };
    new.iter().zip(before).map(|pair| one(b, pair)).collect()
}

/// Row `t` of an array, along its first axis.
pub(super) fn row(array: &Array, t: usize) -> Array {
    let shape = &array.shape()[1..];
    let size: usize = shape.iter().product();
    array.pick(shape, t * size..(t + 1) * size)
}

/// Arrays of this type, stacked along a new axis in front.
pub(super) fn stack(ty: &Type, rows: &[Array]) -> Array {
    fn joined<T: Element>(shape: &[usize], rows: &[Array]) -> Array {
        Array::new(shape, rows.iter().flat_map(|row| row.known::<T>()).copied().collect::<Vec<T>>())
    }
    let shape = stacked(ty, rows.len()).shape;
    match ty.dtype {
        DType::Bool => joined::<bool>(&shape, rows),
        DType::I64 => joined::<i64>(&shape, rows),
        DType::F32 => joined::<f32>(&shape, rows),
        DType::F64 => joined::<f64>(&shape, rows),
    }
}
