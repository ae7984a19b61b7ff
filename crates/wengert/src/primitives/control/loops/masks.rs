//! Masks of loops that are run backwards over what they went through.
//!
//! A step backwards has coefficients that depend on the loop forwards alone, so that it can be transposed again; therefore it
//! carries no masks. They are found before, by a loop that carries nothing else: where what comes out of the loop counts, and
//! where what is carried counts before *some* step. The latter are invariants of the loop with the values.

use std::ops::Range;

use super::{mask_of, of_more_inputs};
use crate::array::Type;
use crate::primitives::{Cotangent, Logic};
use crate::program::{Builder, Program, Value, dce, inline};
use crate::transform::mask_out;

/// What a loop of masks finds.
#[derive(Default)]
pub(in super::super) struct Masks {
    /// Where the cotangents count when they leave the loop, in the order of their layout.
    pub before: Vec<Value>,
    /// Where those of the carry count before some step.
    pub ever: Vec<Value>,
}

impl Masks {
    /// Cotangents that left a loop of values, with their masks.
    pub(in super::super) fn cover(&self, b: &mut Builder, cts: &mut [Option<Cotangent>]) {
        for (ct, &mask) in cts.iter_mut().flatten().zip(&self.before) {
            *ct = Cotangent { value: mask_out(b, mask, ct.value), mask: Some(mask) };
        }
    }
}

/// Whether one of these cotangents does not count everywhere.
pub(in super::super) fn has_masks(cts: &[Option<Cotangent>]) -> bool {
    cts.iter().flatten().any(|ct| ct.mask.is_some())
}

/// Inputs for masks of those parts, of these types, that have a cotangent in a layout; none if the masks are not invariants.
pub(in super::super) fn mask_inputs(
    b: &mut Builder,
    types: &[Type],
    layout: &[Option<bool>],
    is_masked: bool,
) -> Vec<Value> {
    let present = types.iter().zip(layout).filter(|(_, has)| is_masked && has.is_some());
    present.map(|(ty, _)| b.input("", mask_of(ty))).collect()
}

/// The layout in which every cotangent has a mask.
pub(in super::super) fn all_masked(layout: &[Option<bool>]) -> Vec<Option<bool>> {
    layout.iter().map(|has| has.map(|_| true)).collect()
}

/// The cotangents with these masks instead of their own, one for each that there is.
pub(in super::super) fn with_masks(cts: &mut [Option<Cotangent>], masks: &[Value]) {
    debug_assert!(masks.is_empty() || masks.len() == cts.iter().flatten().count());
    cts.iter_mut().flatten().zip(masks).for_each(|(ct, &mask)| ct.mask = Some(mask));
}

/// A Program that takes values of these types before its own inputs, and ignores them.
pub(in super::super) fn behind(program: &Program, types: &[Type]) -> Program {
    if types.is_empty() {
        return program.clone();
    }
    let all: Vec<Type> = types.iter().chain(program.input_types()).cloned().collect();
    of_more_inputs(program, &all, &(types.len()..all.len()).collect::<Vec<usize>>())
}

/// A step without these inputs, which are zeros in it: no mask depends on the cotangents themselves, and any numbers will do.
pub(in super::super) fn zeroed(step: &Program, zeros: &[Range<usize>]) -> Program {
    let mut b = Builder::new();
    let types = step.input_types();
    let is_zero = |k: usize| zeros.iter().any(|range| range.contains(&k));
    // Inputs come first, as they do everywhere.
    let inputs: Vec<Option<Value>> =
        types.iter().enumerate().map(|(k, ty)| (!is_zero(k)).then(|| b.input("", ty.clone()))).collect();
    let args: Vec<Value> =
        inputs.into_iter().zip(types).map(|(input, ty)| input.unwrap_or_else(|| b.full(0.0, ty))).collect();
    let outs = inline(&mut b, step, &args);
    dce(b.finish(&outs))
}

/// A step that takes one more value for each of these outputs, which are masks, behind all of its inputs, and gives behind all
/// of its outputs where one of both holds.
pub(in super::super) fn joining(step: &Program, outputs: Range<usize>) -> Program {
    let mut b = Builder::new();
    let inputs: Vec<Value> = step.input_types().iter().map(|ty| b.input("", ty.clone())).collect();
    let masks = &step.output_types()[outputs.clone()];
    let before: Vec<Value> = masks.iter().map(|ty| b.input("", ty.clone())).collect();
    let mut outs = inline(&mut b, step, &inputs);
    let own = outs[outputs].to_vec();
    outs.extend(own.iter().zip(before).map(|(&mask, before)| b.op(Logic::Or, &[mask, before])));
    b.finish(&outs)
}
