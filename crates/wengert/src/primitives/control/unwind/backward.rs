//! The transpose of a loop with two phases: the phases swap their roles.

use std::ops::Range;

use super::super::loops::masks::{Masks, all_masked, behind, has_masks, joining, mask_inputs, with_masks, zeroed};
use super::super::loops::{
    cotangent_inputs, ending, in_layout, layout_of, marked, of_more_inputs, part_of, settled_layout, sum, unmasked,
};
use super::super::repeat::While;
use super::super::{CotangentLayout, cotangents, inside};
use super::{Roles, Unwind};
use crate::array::{DType, Type};
use crate::error::{Misfit, misfit};
use crate::primitives::{Cotangent, MaskedCotangents, Operand};
use crate::program::{Builder, Program, Value, dce, inline, with_outputs};
use crate::transform::linear::check_affine;
use crate::transform::partial::unknown_outputs;
use crate::transform::transpose;

/// Which operands the loop is linear in, and how.
struct Linear<'a> {
    unwind: &'a Unwind,
    roles: Roles,
    marks: Vec<bool>,
}

/// The operands that are known: those of the phase forwards, and what is carried backwards.
struct Known {
    steps: Vec<Value>,
    back: Vec<Value>,
}

/// The cotangents that run through a phase.
struct Running {
    step: Program,
    /// The step that comes first backwards, if what comes from behind the loop has cotangents in other parts than all other steps.
    last: Option<Program>,
    layout: CotangentLayout,
    /// What they are in the beginning.
    begins: Vec<Option<Cotangent>>,
    /// If they do not count everywhere.
    masks: Option<Masks>,
}

impl Running {
    /// Where they count before some step, which the phases get as invariants.
    fn ever(&self) -> &[Value] {
        self.masks.as_ref().map_or(&[], |masks| &masks.ever)
    }

    /// What they are in the end.
    fn ends(&self, b: &mut Builder, results: Vec<Value>) -> Vec<Option<Cotangent>> {
        let mut pulled = cotangents(results, &self.layout);
        if let Some(masks) = &self.masks {
            masks.cover(b, &mut pulled);
        }
        pulled
    }
}

impl Unwind {
    /// With `b` a known part of what is carried backwards, and a dot for what is linear, a step is
    ///
    /// ```text
    /// c' = F(c)      c_dot' = A(c) c_dot + …
    /// b = G(c, b')   b_dot = M(c) b_dot' + N(c, b') c_dot + …
    /// ```
    ///
    /// where the dots stand for invariants that are linear. The cotangent of `b_dot` runs forwards by `M^T` beside `c`; that
    /// of `c_dot` runs backwards by `A^T`, and takes `N^T` of the other one, beside `b`; so do the sums of the invariants'.
    pub(super) fn transpose_steps(
        &self,
        b: &mut Builder,
        cts: &[Option<Cotangent>],
        operands: &[Operand],
    ) -> MaskedCotangents {
        let (divided, marks) = self.divided(&operands.iter().map(Operand::is_linear).collect::<Vec<bool>>());
        let linear = Linear { unwind: &divided, roles: self.roles(), marks };
        self.check_linear()?;
        linear.check()?;
        let Roles { invariants, carry, back } = &linear.roles;
        // What comes from behind the loop, for every operand: nothing for invariants and for what is no result.
        let mut start: Vec<Option<Cotangent>> = vec![None; invariants.len()];
        let mut cts = cts.iter();
        start.extend(self.given.iter().map(|&given| if given { *cts.next()? } else { None }));
        let begins = start.split_off(carry.end);
        let known_of = |role: Range<usize>| role.filter(|&k| !linear.marks[k]).map(|k| operands[k].known()).collect();
        let known = Known { steps: known_of(0..carry.end), back: known_of(back.clone()) };
        let forth = linear.running_forth(b, begins, &known)?;
        let back = linear.running_back(b, start, &forth, &known)?;
        let pulled = linear.run(b, &forth, &back, known)?;
        Ok(pulled.into_iter().zip(operands).map(|(ct, operand)| ct.filter(|_| operand.is_linear())).collect())
    }
}

impl Unwind {
    /// Whether what is carried backwards is linear in itself, so that no coefficient of it depends on it.
    fn check_linear(&self) -> Result<(), Misfit> {
        let Roles { back, .. } = self.roles();
        let marks: Vec<bool> = (0..back.end).map(|k| back.contains(&k)).collect();
        match check_affine(&self.second, &marks) {
            Ok(()) => Ok(()),
            Err(why) => misfit!("its second phase is not linear in what it carries backwards: {why}"),
        }
    }
}

impl Linear<'_> {
    fn check(&self) -> Result<(), Misfit> {
        let Roles { carry, back, .. } = &self.roles;
        if unknown_outputs(&self.unwind.condition, &self.marks[..carry.end])[0] {
            misfit!("the condition depends on what is transposed");
        }
        let types = self.unwind.second.input_types();
        match (carry.start..back.end).find(|&k| self.marks[k] && !types[k].dtype.is_float()) {
            Some(k) => misfit!("part {} of the carry, {}, depends on what is transposed", k - carry.start, types[k]),
            None => Ok(()),
        }
    }

    fn known(&self) -> Vec<bool> {
        self.marks.iter().map(|linear| !linear).collect()
    }

    /// Inputs for the known ones of these operands; `None` for the others.
    fn inputs(&self, b: &mut Builder, role: Range<usize>, args: &mut [Option<Value>]) {
        let types = self.unwind.second.input_types();
        for k in role.filter(|&k| !self.marks[k]) {
            args[k] = Some(b.input("", types[k].clone()));
        }
    }

    /// How many parts of the carry of the first phase are known.
    fn known_carry(&self) -> usize {
        self.roles.carry.clone().filter(|&k| !self.marks[k]).count()
    }

    fn running_forth(&self, b: &mut Builder, begins: Vec<Option<Cotangent>>, known: &Known) -> Result<Running, Misfit> {
        let is_masked = has_masks(&begins);
        let (step, layout) = settled_layout(layout_of(&unmasked(&begins)), |layout| self.forth(layout, is_masked))?;
        let masks = if is_masked { Some(self.masks_forth(b, &begins, &layout, known)?) } else { None };
        Ok(Running { step, last: None, layout, begins, masks })
    }

    fn running_back(
        &self,
        b: &mut Builder,
        begins: Vec<Option<Cotangent>>,
        forth: &Running,
        known: &Known,
    ) -> Result<Running, Misfit> {
        let is_masked = has_masks(&begins) || forth.masks.is_some() || self.has_masks_as_invariants();
        let of = |layout: &CotangentLayout| self.back(forth, [layout, layout], is_masked);
        let ends = layout_of(&unmasked(&begins));
        let (_, layout) = settled_layout(ends.clone(), of)?;
        let (last, before) = self.back(forth, [&layout, &ends], is_masked)?;
        let (step, steady) = settled_layout(before, |used| self.back(forth, [&layout, used], is_masked))?;
        let carry = self.roles.carry.clone();
        let last = (steady[carry.clone()] != ends[carry]).then_some(last);
        let masks = if is_masked { Some(self.masks_back(b, (&begins, &layout), forth, known)?) } else { None };
        Ok(Running { step, last, layout, begins, masks })
    }

    /// Whether truth values beside arrays are invariants: masks in front of a loop that was transposed to this one are.
    fn has_masks_as_invariants(&self) -> bool {
        self.unwind.second.input_types()[self.roles.invariants.clone()].iter().any(|ty| ty.dtype == DType::Bool)
    }

    /// The loop with both kinds of cotangents, of which it gives what they are in the end.
    fn run(&self, b: &mut Builder, forth: &Running, back: &Running, known: Known) -> MaskedCotangents {
        let (carry, types) = (self.roles.carry.clone(), self.unwind.second.input_types());
        let types_of = |b: &Builder, values: &[Value]| values.iter().map(|&value| b.ty(value).clone()).collect();
        let (of_back, of_forth): (Vec<Type>, Vec<Type>) = (types_of(b, back.ever()), types_of(b, forth.ever()));
        let condition = behind(&self.condition(&forth.layout), &[&of_back[..], &of_forth].concat());
        let (first, mut second) = (behind(&forth.step, &of_back), back.step.clone());
        if let Some(last) = &back.last {
            second = ending(&condition, &first, second, last.clone());
        }
        let forwards = in_layout(b, &forth.begins, &types[carry.end..], &forth.layout);
        let backwards = in_layout(b, &back.begins, &types[..carry.end], &back.layout);
        let counts = [self.known_carry() + forwards.len(), known.back.len() + backwards.len()];
        let given: Vec<bool> =
            [(self.known_carry(), false), (forwards.len(), true), (known.back.len(), false), (backwards.len(), true)]
                .iter()
                .flat_map(|&(count, given)| std::iter::repeat_n(given, count))
                .collect();
        let args = [back.ever(), forth.ever(), &known.steps, &forwards, &known.back, &backwards].concat();
        let mut results = b.ops(self.unwind.with(condition, [first, second], counts, &given), &args);
        let backwards = results.split_off(forwards.len());
        let mut pulled = back.ends(b, backwards);
        pulled.extend(forth.ends(b, results));
        Ok(pulled)
    }

    /// Masks of the cotangents that run forwards, by a loop of them alone.
    fn masks_forth(
        &self,
        b: &mut Builder,
        begins: &[Option<Cotangent>],
        layout: &CotangentLayout,
        known: &Known,
    ) -> Result<Masks, Misfit> {
        let Roles { carry, back, .. } = &self.roles;
        let types = self.unwind.second.input_types();
        let (layout, count) = (all_masked(layout), layout.iter().flatten().count());
        let (step, _) = self.forth(&layout, false)?;
        let carried = self.known_carry();
        let is_mask: Vec<bool> = (0..carried + 2 * count).map(|k| !(carried..carried + count).contains(&k)).collect();
        let values = known.steps.len()..known.steps.len() + count;
        let step = with_outputs(&zeroed(&step, std::slice::from_ref(&values)), &is_mask);
        let step = joining(&step, carried..carried + count);
        let condition = part_of(&self.unwind.condition, &[true], &self.known()[..carry.end]);
        let condition = of_more_inputs(&condition, step.input_types(), &(0..known.steps.len()).collect::<Vec<usize>>());
        let masks = in_layout(b, begins, &types[back.clone()], &layout).split_off(count);
        let args = [&known.steps[..], &masks, &masks].concat();
        let mut results = b.ops(While::new(condition, step, self.unwind.bounds), &args).split_off(carried);
        let ever = results.split_off(count);
        Ok(Masks { before: results, ever })
    }

    /// Masks of the cotangents that run backwards, by a loop of them alone.
    fn masks_back(
        &self,
        b: &mut Builder,
        (begins, layout): (&[Option<Cotangent>], &CotangentLayout),
        forth: &Running,
        known: &Known,
    ) -> Result<Masks, Misfit> {
        let Roles { invariants, carry, .. } = &self.roles;
        let types = self.unwind.second.input_types();
        let of_forth: Vec<Type> = forth.ever().iter().map(|&mask| b.ty(mask).clone()).collect();
        let (layout, count) = (all_masked(layout), layout.iter().flatten().count());
        let sums = layout[invariants.clone()].iter().flatten().count();
        let (step, _) = self.back(forth, [&layout, &layout], false)?;
        let forwards = forth.layout.iter().flatten().count();
        let from = of_forth.len() + known.steps.len();
        let values = from + forwards + known.back.len();
        let carried = known.back.len();
        let is_mask: Vec<bool> = (0..carried + 2 * count).map(|k| !(carried..carried + count).contains(&k)).collect();
        let step = with_outputs(&zeroed(&step, &[from..from + forwards, values..values + count]), &is_mask);
        let step = joining(&step, carried + sums..carried + count);
        let marks = self.known();
        let condition = part_of(&self.unwind.condition, &[true], &marks[..carry.end]);
        let first = part_of(&self.unwind.first, &marks[carry.clone()], &marks[..carry.end]);
        let masks = in_layout(b, begins, &types[..carry.end], &layout).split_off(count);
        let args = [forth.ever(), &known.steps, &known.back, &masks, &masks[sums..]].concat();
        let counts = [self.known_carry(), carried + count + masks[sums..].len()];
        let given = [vec![false; counts[0] + carried], vec![true; counts[1] - carried]].concat();
        let steps = [behind(&first, &of_forth), step];
        let mut results = b.ops(self.unwind.with(behind(&condition, &of_forth), steps, counts, &given), &args);
        let ever = results.split_off(count);
        Ok(Masks { before: results, ever })
    }

    /// The condition, which also gets the cotangents that run forwards.
    fn condition(&self, forth: &CotangentLayout) -> Program {
        let Roles { carry, back, .. } = &self.roles;
        let known = &self.known()[..carry.end];
        let condition = part_of(&self.unwind.condition, &[true], known);
        let mut types: Vec<Type> = marked(&self.unwind.first.input_types()[..carry.end], known);
        let used: Vec<usize> = (0..types.len()).collect();
        let mut b = Builder::new();
        for ct in cotangent_inputs(&mut b, &self.unwind.second.input_types()[back.clone()], forth).iter().flatten() {
            types.push(b.ty(ct.value).clone());
        }
        super::super::loops::of_more_inputs(&condition, &types, &used)
    }

    /// A step forwards: takes masks of what was carried backwards if they are invariants, then `c`, and the cotangents of what was
    /// carried backwards. Also which of these there are after it.
    fn forth(&self, layout: &CotangentLayout, is_masked: bool) -> Result<(Program, CotangentLayout), Misfit> {
        let Roles { carry, back, .. } = &self.roles;
        let types = self.unwind.second.input_types();
        let mut b = Builder::new();
        let masks = mask_inputs(&mut b, &types[back.clone()], layout, is_masked);
        let mut args: Vec<Option<Value>> = vec![None; types.len()];
        self.inputs(&mut b, 0..carry.end, &mut args);
        let mut state = cotangent_inputs(&mut b, &types[back.clone()], layout);
        with_masks(&mut state, &masks);
        // What is carried backwards is not known here, and no coefficient needs it: any numbers will do.
        for k in back.clone().filter(|&k| !self.marks[k]) {
            args[k] = Some(b.full(0.0, &types[k]));
        }
        let after = transpose::transpose_masked(&mut b, &self.unwind.second, &args, &state).map_err(inside)?;
        let after = &after[back.clone()];
        let known = self.known();
        let first = part_of(&self.unwind.first, &known[carry.clone()], &known[..carry.end]);
        let known_args: Vec<Value> = args[..carry.end].iter().flatten().copied().collect();
        let mut results = inline(&mut b, &first, &known_args);
        results.extend(in_layout(&mut b, after, &types[back.clone()], layout));
        Ok((dce(b.finish(&results)), layout_of(&unmasked(after))))
    }

    /// A step backwards: takes masks of the carry, and of what runs forwards, where they are invariants, then what is known of a step
    /// and what runs forwards, then `b`, the cotangents of `c`, and the sums of those of the invariants, in a layout; of the
    /// cotangents of `c` only what there is in a second one too is looked at. Also which of these there are after it.
    fn back(
        &self,
        forth: &Running,
        [layout, used]: [&CotangentLayout; 2],
        is_masked: bool,
    ) -> Result<(Program, CotangentLayout), Misfit> {
        let Roles { invariants, carry, back } = &self.roles;
        let types = self.unwind.second.input_types();
        let mut b = Builder::new();
        let masks = mask_inputs(&mut b, &types[carry.clone()], &layout[carry.clone()], is_masked);
        let masks_forth = mask_inputs(&mut b, &types[back.clone()], &forth.layout, forth.masks.is_some());
        let mut args: Vec<Option<Value>> = vec![None; types.len()];
        self.inputs(&mut b, 0..carry.end, &mut args);
        let mut forth = cotangent_inputs(&mut b, &types[back.clone()], &forth.layout);
        with_masks(&mut forth, &masks_forth);
        self.inputs(&mut b, back.clone(), &mut args);
        let mut state = cotangent_inputs(&mut b, &types[..carry.end], layout);
        with_masks(&mut state[carry.clone()], &masks);
        carry.clone().filter(|&k| used[k].is_none()).for_each(|k| state[k] = None);
        let of_first =
            transpose::transpose_masked(&mut b, &self.unwind.first, &args[..carry.end], &state[carry.clone()]);
        let of_first = of_first.map_err(inside)?;
        let of_second = transpose::transpose_masked(&mut b, &self.unwind.second, &args, &forth).map_err(inside)?;
        let mut after = Vec::with_capacity(carry.end);
        for k in 0..carry.end {
            let both = sum(&mut b, of_first[k], of_second[k]);
            after.push(if invariants.contains(&k) { sum(&mut b, state[k], both) } else { both });
        }
        let known = self.known();
        let second = part_of(&self.unwind.second, &known[back.clone()], &known);
        let known_args: Vec<Value> = args.iter().flatten().copied().collect();
        let mut results = inline(&mut b, &second, &known_args);
        results.extend(in_layout(&mut b, &after, &types[..carry.end], layout));
        Ok((dce(b.finish(&results)), layout_of(&unmasked(&after))))
    }
}
