//! The transpose of a loop of unknown length: an [`Unwind`], which goes forwards again, and backwards over what it went
//! through.

use super::super::loops::masks::{Masks, all_masked, behind, has_masks, joining, mask_inputs, with_masks, zeroed};
use super::super::loops::{
    cotangent_inputs, count, ending, in_layout, layout_of, part_of, positions, settled_layout, sum, unmasked,
};
use super::super::unwind::Unwind;
use super::super::{CotangentLayout, cotangents, inside};
use super::While;
use crate::array::Type;
use crate::error::{Misfit, misfit};
use crate::primitives::{Cotangent, MaskedCotangents, Operand};
use crate::program::{Builder, Program, Value, dce};
use crate::transform::partial::unknown_outputs;
use crate::transform::transpose;

impl While {
    pub(super) fn transpose_steps(
        &self,
        b: &mut Builder,
        cts: &[Option<Cotangent>],
        operands: &[Operand],
    ) -> MaskedCotangents {
        let carry = self.carry_range();
        let (divided, linear) = self.divided(&operands.iter().map(Operand::is_linear).collect::<Vec<bool>>());
        let types = divided.body.input_types();
        if unknown_outputs(&self.condition, &linear)[0] {
            misfit!("the condition depends on what is transposed");
        }
        if let Some(k) = carry.clone().find(|&k| linear[k] && !types[k].dtype.is_float()) {
            misfit!("part {} of the carry, {}, depends on what is transposed", k - carry.start, types[k]);
        }
        // What comes from behind the loop, for every operand: nothing for invariants and for what is no result.
        let mut start: Vec<Option<Cotangent>> = vec![None; carry.start];
        let mut cts = cts.iter();
        start.extend(self.given.iter().map(|&given| if given { *cts.next()? } else { None }));
        let is_masked = has_masks(&start);
        let ends = layout_of(&unmasked(&start));
        let (_, layout) =
            settled_layout(ends.clone(), |layout| divided.backward(&linear, [layout, layout], is_masked))?;
        // What comes from behind alone has a cotangent in the last step and in none before, where it would be a zero that is
        // multiplied.
        let (last, before) = divided.backward(&linear, [&layout, &ends], is_masked)?;
        let (mut second, steady) =
            settled_layout(before, |used| divided.backward(&linear, [&layout, used], is_masked))?;
        let known: Vec<bool> = linear.iter().map(|linear| !linear).collect();
        let condition = part_of(&self.condition, &[true], &known);
        let first = part_of(&divided.body, &known[carry.clone()], &known);
        let known_args: Vec<Value> = positions(&known).into_iter().map(|k| operands[k].known()).collect();
        let mut masks = Masks::default();
        if is_masked {
            masks = divided.masks(b, &linear, (&start, &layout), [&condition, &first], &known_args)?;
        }
        let ever: Vec<Type> = masks.ever.iter().map(|&mask| b.ty(mask).clone()).collect();
        let (condition, first) = (behind(&condition, &ever), behind(&first, &ever));
        if steady[carry.clone()] != ends[carry.clone()] {
            second = ending(&condition, &first, second, last);
        }
        let cts = in_layout(b, &start, types, &layout);
        let args = [&masks.ever[..], &known_args, &cts].concat();
        let (steps, back) = (known[carry].iter().filter(|known| **known).count(), count(&layout));
        let unwind = Unwind::new(condition, [first, second], [steps, back], self.bounds);
        let results = b.ops(unwind.giving(&[vec![false; steps], vec![true; back]].concat()), &args);
        let mut pulled = cotangents(results, &layout);
        masks.cover(b, &mut pulled);
        Ok(pulled.into_iter().zip(operands).map(|(ct, operand)| ct.filter(|_| operand.is_linear())).collect())
    }

    /// The masks beside the loop backwards, by a loop of them alone.
    fn masks(
        &self,
        b: &mut Builder,
        linear: &[bool],
        (start, layout): (&[Option<Cotangent>], &CotangentLayout),
        [condition, first]: [&Program; 2],
        known: &[Value],
    ) -> Result<Masks, Misfit> {
        let (carry, types) = (self.carry_range(), self.body.input_types());
        let (layout, count) = (all_masked(layout), layout.iter().flatten().count());
        let sums = layout[..carry.start].iter().flatten().count();
        let (step, _) = self.backward(linear, [&layout, &layout], false)?;
        let values = known.len()..known.len() + count;
        let step = zeroed(&step, std::slice::from_ref(&values)).with_outputs(count..);
        let step = joining(&step, sums..count);
        let masks = in_layout(b, start, types, &layout).split_off(count);
        let args = [known, &masks, &masks[sums..]].concat();
        let counts = [first.outputs().len(), args.len() - known.len()];
        let given = [vec![false; counts[0]], vec![true; counts[1]]].concat();
        let unwind = Unwind::new(condition.clone(), [first.clone(), step], counts, self.bounds);
        let mut before = b.ops(unwind.giving(&given), &args);
        let ever = before.split_off(count);
        Ok(Masks { before, ever })
    }

    /// A step backwards: takes masks of the carry if they are invariants, then what is known of a step, then the cotangents of all
    /// operands as in `layout`, those of invariants as sums; of those of the carry only what there is in `used` too is looked
    /// at. Also which cotangents there are after it.
    fn backward(
        &self,
        linear: &[bool],
        [layout, used]: [&CotangentLayout; 2],
        is_masked: bool,
    ) -> Result<(Program, CotangentLayout), Misfit> {
        let carry = self.carry_range();
        let types = self.body.input_types();
        let mut b = Builder::new();
        let masks = mask_inputs(&mut b, &types[carry.clone()], &layout[carry.clone()], is_masked);
        let known = types.iter().zip(linear);
        let args: Vec<Option<Value>> = known.map(|(ty, linear)| (!linear).then(|| b.input("", ty.clone()))).collect();
        let mut state = cotangent_inputs(&mut b, types, layout);
        with_masks(&mut state[carry.clone()], &masks);
        carry.clone().filter(|&k| used[k].is_none()).for_each(|k| state[k] = None);
        let mut after =
            transpose::transpose_masked(&mut b, &self.body, &args, &state[carry.clone()]).map_err(inside)?;
        for k in 0..carry.start {
            after[k] = sum(&mut b, state[k], after[k]);
        }
        let results = in_layout(&mut b, &after, types, layout);
        Ok((dce(b.finish(&results)), layout_of(&unmasked(&after))))
    }
}
