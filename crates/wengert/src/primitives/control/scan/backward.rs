//! The transpose of a loop: a loop from the last step to the first, whose carry is the cotangents of the carry, and the sums of
//! those of the invariants.

use super::super::CotangentLayout;
use super::super::loops::{Made, cotangent_inputs, count, in_layout, joined, sum};
use super::super::{cotangents, inside};
use super::{ByRole, Scan, stands_apart};
use crate::array::Type;
use crate::error::{Misfit, misfit};
use crate::primitives::{Cotangent, MaskedCotangents, Operand};
use crate::program::{Builder, Program, Value, dce};
use crate::transform::transpose;

/// A step backwards.
#[derive(Clone)]
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
        let mut backward =
            |layout: &CotangentLayout| made.of(layout, |layout| self.backward(&linear, layout, &given[self.carry..]));
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

    /// A step backwards, for cotangents of the carry as in `layout`, and of the rows of results as in `given`.
    fn backward(&self, linear: &[bool], layout: &CotangentLayout, given: &[Option<bool>]) -> Result<Backward, Misfit> {
        let [invariants, carry, rows] = self.roles();
        let types = self.body.input_types();
        let mut b = Builder::new();
        let mut args: Vec<Option<Value>> = vec![None; types.len()];
        for k in invariants.clone().filter(|&k| !linear[k]) {
            args[k] = Some(b.input("", types[k].clone()));
        }
        let state = cotangent_inputs(&mut b, &types[..carry.end], layout);
        for k in rows.clone().filter(|&k| !linear[k]) {
            args[k] = Some(b.input("", types[k].clone()));
        }
        let outputs: Vec<Type> = self.body.output_types().split_off(self.carry);
        let given = cotangent_inputs(&mut b, &outputs, given);
        let (sums, cts) = state.split_at(invariants.len());
        let cts: Vec<Option<Cotangent>> = cts.iter().chain(&given).copied().collect();
        let pulled = transpose::transpose_masked(&mut b, &self.body, &args, &cts).map_err(inside)?;
        let mut after = Vec::with_capacity(carry.end);
        for (k, &own) in sums.iter().enumerate() {
            after.push(sum(&mut b, own, pulled[k]));
        }
        after.extend(&pulled[carry.clone()]);
        let has = |cts: &[Option<Cotangent>]| -> CotangentLayout {
            cts.iter().map(|ct| ct.map(|ct| ct.mask.is_some())).collect()
        };
        let (carry_after, rows_after) = (has(&after), has(&pulled[rows.clone()]));
        let mut results = in_layout(&mut b, &after, &types[..carry.end], layout);
        results.extend(in_layout(&mut b, &pulled[rows.clone()], &types[rows], &rows_after));
        Ok(Backward { body: dce(b.finish(&results)), carry: carry_after, rows: rows_after })
    }
}
