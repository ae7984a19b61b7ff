//! The transpose of a loop with two phases: the phases swap their roles.

use std::ops::Range;

use super::super::loops::{
    cotangent_inputs, count, ending, in_layout, layout_of, marked, part_of, positions, sum, unmasked, wider,
};
use super::super::{CotangentLayout, cotangents, inside};
use super::{Roles, Unwind};
use crate::array::Type;
use crate::error::{Misfit, misfit};
use crate::primitives::{Cotangent, MaskedCotangents, Operand};
use crate::program::{Builder, Program, Value, dce};
use crate::transform::linear::check_affine;
use crate::transform::partial::unknown_outputs;
use crate::transform::transpose;

/// Which operands the loop is linear in, and how.
struct Linear<'a> {
    unwind: &'a Unwind,
    roles: Roles,
    marks: Vec<bool>,
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
        let (begins, start) = (unmasked(&start[back.clone()]), unmasked(&start[..carry.end]));
        let mut forth = layout_of(&begins);
        let first = loop {
            let (first, after) = linear.forth(&forth)?;
            let both = wider(&forth, &after);
            if both == forth {
                break first;
            }
            forth = both;
        };
        let ends = layout_of(&start);
        let mut layout = ends.clone();
        let mut second = loop {
            let (second, after) = linear.back(&forth, [&layout, &layout])?;
            let both = wider(&layout, &after);
            if both == layout {
                break second;
            }
            layout = both;
        };
        let known = linear.known();
        let condition = linear.condition(&forth);
        if layout[carry.clone()] != ends[carry.clone()] {
            let (last, _) = linear.back(&forth, [&layout, &ends])?;
            second = ending(&condition, &first, second, last);
        }
        let types = self.second.input_types();
        let known_carry = positions(&known[carry.clone()]).len();
        let known_back = positions(&known[back.clone()]).len();
        let value = |k: usize| operands[k].known();
        let mut args: Vec<Value> = positions(&known[..carry.end]).into_iter().map(value).collect();
        args.extend(in_layout(b, &begins, &types[back.clone()], &forth));
        args.extend(positions(&known[back.clone()]).into_iter().map(|k| value(back.start + k)));
        args.extend(in_layout(b, &start, &types[..carry.end], &layout));
        let counts = [known_carry + count(&forth), known_back + count(&layout)];
        let given: Vec<bool> =
            [(known_carry, false), (count(&forth), true), (known_back, false), (count(&layout), true)]
                .iter()
                .flat_map(|&(count, given)| std::iter::repeat_n(given, count))
                .collect();
        let mut results = b.ops(self.with(condition, [first, second], counts, &given), &args);
        let backwards = results.split_off(count(&forth));
        let mut pulled = cotangents(backwards, &layout);
        pulled.extend(cotangents(results, &forth));
        let pulled = pulled.into_iter().zip(operands);
        Ok(pulled.map(|(ct, operand)| ct.filter(|_| operand.is_linear())).collect())
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

    /// A step forwards: `c`, and the cotangents of what was carried backwards.
    fn forth(&self, forth: &CotangentLayout) -> Result<(Program, CotangentLayout), Misfit> {
        let Roles { carry, back, .. } = &self.roles;
        let types = self.unwind.second.input_types();
        let mut b = Builder::new();
        let mut args: Vec<Option<Value>> = vec![None; types.len()];
        self.inputs(&mut b, 0..carry.end, &mut args);
        let state = cotangent_inputs(&mut b, &types[back.clone()], forth);
        // What is carried backwards is not known here, and no coefficient needs it: any numbers will do.
        for k in back.clone().filter(|&k| !self.marks[k]) {
            args[k] = Some(b.full(0.0, &types[k]));
        }
        let after = transpose::transpose_masked(&mut b, &self.unwind.second, &args, &state).map_err(inside)?;
        let after = unmasked(&after[back.clone()]);
        let known = self.known();
        let first = part_of(&self.unwind.first, &known[carry.clone()], &known[..carry.end]);
        let known_args: Vec<Value> = args[..carry.end].iter().flatten().copied().collect();
        let mut results = crate::program::inline(&mut b, &first, &known_args);
        results.extend(in_layout(&mut b, &after, &types[back.clone()], forth));
        Ok((dce(b.finish(&results)), layout_of(&after)))
    }

    /// A step backwards: `b`, the cotangents of `c`, and the sums of those of the invariants, in a layout; of the cotangents of
    /// `c` only what there is in a second one too is looked at.
    fn back(
        &self,
        forth: &CotangentLayout,
        [layout, used]: [&CotangentLayout; 2],
    ) -> Result<(Program, CotangentLayout), Misfit> {
        let Roles { invariants, carry, back } = &self.roles;
        let types = self.unwind.second.input_types();
        let mut b = Builder::new();
        let mut args: Vec<Option<Value>> = vec![None; types.len()];
        self.inputs(&mut b, 0..carry.end, &mut args);
        let forth = cotangent_inputs(&mut b, &types[back.clone()], forth);
        self.inputs(&mut b, back.clone(), &mut args);
        let mut state = cotangent_inputs(&mut b, &types[..carry.end], layout);
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
        let mut results = crate::program::inline(&mut b, &second, &known_args);
        let after = unmasked(&after);
        results.extend(in_layout(&mut b, &after, &types[..carry.end], layout));
        Ok((dce(b.finish(&results)), layout_of(&after)))
    }
}
