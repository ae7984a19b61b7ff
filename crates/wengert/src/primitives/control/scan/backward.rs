//! The transpose of a loop: a loop from the last step to the first, whose carry is the cotangents of the carry, and the sums of
//! those of the invariants.

use super::super::CotangentLayout;
use super::super::loops::{Made, cotangent_inputs, count, in_layout, joined, layout_of, sum};
use super::super::{cotangents, inside};
use super::{ByRole, Scan, stands_apart};
use crate::array::Type;
use crate::error::{Misfit, misfit};
use crate::primitives::{Cotangent, MaskedCotangents, Operand};
use crate::program::{Builder, Program, Value, dce};
use crate::transform::transpose;

/// What a step backwards makes of cotangents of the carry, before what invariants have of other steps is added.
#[derive(Clone)]
struct Pulled {
    b: Builder,
    /// The inputs that come before the cotangents, and those behind them.
    inputs: [Vec<Value>; 2],
    /// The cotangents of the carry that it takes.
    given: Vec<Option<Cotangent>>,
    /// Those of all operands.
    pulled: Vec<Option<Cotangent>>,
}

/// A step backwards.
struct Backward {
    body: Program,
    /// What every linear invariant and every part of the carry has after the step.
    carry: CotangentLayout,
    /// What every row has.
    rows: CotangentLayout,
}

impl Scan {
    pub(super) fn transpose_steps(
        &self,
        b: &mut Builder,
        cts: &[Option<Cotangent>],
        operands: &[Operand],
    ) -> MaskedCotangents {
        let [invariants, carry, rows] = self.roles();
        let types = self.body.input_types();
        // What a step makes of a carry that begins with known zeros is linear.
        let is_linear = |k: usize| operands[k].is_linear() || carry.contains(&k);
        if let Some(k) = carry.clone().find(|&k| !types[k].dtype.is_float()) {
            misfit!("part {} of the carry, {}, depends on what is transposed", k - carry.start, types[k]);
        }
        let linear: Vec<bool> = (0..operands.len()).map(is_linear).collect();
        let given: CotangentLayout = cts.iter().map(|ct| ct.map(|ct| ct.mask.is_some())).collect();
        // The sums of invariants begin with nothing, the carry with what comes from behind the loop.
        let mut layout: CotangentLayout = vec![None; invariants.len()];
        layout.extend(&given[..self.carry]);
        let mut made = Made::new();
        let mut backward = |layout: &CotangentLayout| {
            // The transpose does not depend on what invariants have.
            let of_carry = layout[invariants.len()..].to_vec();
            let pulled = made.of(&of_carry, |carry| self.pulled(&linear, carry, &given[self.carry..]))?;
            Ok(self.backward(pulled, layout))
        };
        if self.length > 0 && self.ends_otherwise(&layout, &mut backward)? {
            let args: Vec<Option<Value>> =
                operands.iter().map(|operand| (!operand.is_linear()).then(|| operand.known())).collect();
            return transpose::transpose_masked(b, &self.last_apart(), &args, cts).map_err(inside);
        }
        let backward = loop {
            let backward = backward(&layout)?;
            let wider = joined(&layout, &backward.carry, invariants.len());
            if wider == layout {
                break backward;
            }
            layout = wider;
        };
        let mut operands_of: ByRole<Value> = ByRole::new();
        let known = |role: std::ops::Range<usize>| role.filter(|&k| !linear[k]).map(|k| operands[k].known());
        operands_of.invariants.extend(known(invariants.clone()));
        let start: Vec<Option<Cotangent>> =
            invariants.clone().map(|_| None).chain(cts[..self.carry].iter().copied()).collect();
        operands_of.carry.extend(in_layout(b, &start, &types[..carry.end], &layout));
        operands_of.rows.extend(known(rows.clone()));
        let given = &cts[self.carry..];
        operands_of.rows.extend(given.iter().flatten().map(|ct| ct.value));
        operands_of.rows.extend(given.iter().flatten().filter_map(|ct| ct.mask));
        let rows_taken = operands_of.rows.len();
        let step = self.with(backward.body, count(&layout), rows_taken).reversed(!self.reverse);
        let mut results = b.ops(step, &operands_of.all());
        let stacked = results.split_off(count(&layout));
        let mut pulled = cotangents(results, &layout);
        pulled.extend(cotangents(stacked, &backward.rows));
        let pulled = pulled.into_iter().zip(operands);
        Ok(pulled.map(|(ct, operand)| ct.filter(|_| operand.is_linear())).collect())
    }

    /// Whether the carry of the last step has cotangents in other parts than that of the others.
    fn ends_otherwise(
        &self,
        layout: &[Option<bool>],
        mut backward: impl FnMut(&CotangentLayout) -> Result<Backward, Misfit>,
    ) -> Result<bool, Misfit> {
        let invariants = layout.len() - self.carry;
        stands_apart(layout[invariants..].to_vec(), self.carry + 2, |carry| {
            let layout = [&layout[..invariants], carry].concat();
            Ok(backward(&layout)?.carry.split_off(invariants))
        })
    }

    /// The transpose of a step, for cotangents of the carry as in `layout`, and of the rows of results as in `given`.
    fn pulled(&self, linear: &[bool], layout: &CotangentLayout, given: &[Option<bool>]) -> Result<Pulled, Misfit> {
        let [invariants, carry, rows] = self.roles();
        let types = self.body.input_types();
        let mut b = Builder::new();
        let mut args: Vec<Option<Value>> = vec![None; types.len()];
        for k in invariants.filter(|&k| !linear[k]) {
            args[k] = Some(b.input("", types[k].clone()));
        }
        let before: Vec<Value> = b.inputs().collect();
        let of_carry = cotangent_inputs(&mut b, &types[carry], layout);
        let taken = b.inputs().count();
        for k in rows.filter(|&k| !linear[k]) {
            args[k] = Some(b.input("", types[k].clone()));
        }
        let outputs: Vec<Type> = self.body.output_types().split_off(self.carry);
        let of_rows = cotangent_inputs(&mut b, &outputs, given);
        let behind: Vec<Value> = b.inputs().skip(taken).collect();
        let cts: Vec<Option<Cotangent>> = of_carry.iter().chain(&of_rows).copied().collect();
        let pulled = transpose::transpose_masked(&mut b, &self.body, &args, &cts).map_err(inside)?;
        Ok(Pulled { b, inputs: [before, behind], given: of_carry, pulled })
    }

    /// A step backwards, whose state is in `layout`: the sums of invariants, then the cotangents of the carry.
    fn backward(&self, of: Pulled, layout: &CotangentLayout) -> Backward {
        let Pulled { mut b, inputs: [before, behind], given, pulled } = of;
        let [invariants, carry, rows] = self.roles();
        let types = self.body.input_types();
        let sums = cotangent_inputs(&mut b, &types[..invariants.len()], &layout[..invariants.len()]);
        let state = || sums.iter().chain(&given).flatten();
        let masks = state().filter_map(|ct| ct.mask);
        let inputs = before.into_iter().chain(state().map(|ct| ct.value)).chain(masks).chain(behind);
        let mut b = b.with_inputs_in_order(&inputs.collect::<Vec<Value>>());
        let mut after = Vec::with_capacity(carry.end);
        for (k, &own) in sums.iter().enumerate() {
            after.push(sum(&mut b, own, pulled[k]));
        }
        after.extend(&pulled[carry.clone()]);
        let (carry_after, rows_after) = (layout_of(&after), layout_of(&pulled[rows.clone()]));
        let mut results = in_layout(&mut b, &after, &types[..carry.end], layout);
        results.extend(in_layout(&mut b, &pulled[rows.clone()], &types[rows], &rows_after));
        Backward { body: dce(b.finish(&results)), carry: carry_after, rows: rows_after }
    }
}
