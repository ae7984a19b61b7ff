//! A loop with its first or its last step apart.
//!
//! A zero that is structural is never multiplied. But a part of the carry that gets a tangent in some step has one in every step
//! of the loop, and where the loop begins with none that is zeros: 0 * inf is NaN at a point where the derivative of the first
//! step is singular and nobody asked for it. So the steps before the tangents, or the cotangents, are those of every other step
//! stand apart, where a structural zero is nothing.

use std::ops::Range;

use super::Scan;
use crate::array::Type;
use crate::error::Misfit;
use crate::primitives::{Concat, Reshape, Slice};
use crate::program::{Builder, Program, Value, inline};

/// Whether steps that begin like this have to stand apart: what they make of it is something else, and after a few more steps
/// it stays. What never settles is left to the loop: parts that change places in every step.
pub(super) fn stands_apart<L: PartialEq>(
    start: L,
    most: usize,
    mut step: impl FnMut(&L) -> Result<L, Misfit>,
) -> Result<bool, Misfit> {
    let mut now = start;
    for number in 0..most {
        let after = step(&now)?;
        if after == now {
            return Ok(number > 0);
        }
        now = after;
    }
    Ok(false)
}

impl Scan {
    /// The first step, then the loop of the others.
    pub(super) fn first_apart(&self) -> Program {
        self.apart(
            |b, scan, operands, [single, rest]| {
                let roles = scan.roles();
                let (invariants, start) = (&operands[roles[0].clone()], &operands[roles[1].clone()]);
                let mut carry = inline(b, &scan.body, &[invariants, start, &single].concat());
                let given = carry.split_off(scan.carry);
                let mut results = scan.others(b, &[invariants, &carry, &rest].concat());
                let stacked = results.split_off(scan.carry);
                (results, given, stacked)
            },
            0,
        )
    }

    /// The loop of all steps but the last, then that one.
    pub(super) fn last_apart(&self) -> Program {
        self.apart(
            |b, scan, operands, [single, rest]| {
                let roles = scan.roles();
                let (invariants, start) = (&operands[roles[0].clone()], &operands[roles[1].clone()]);
                let mut carry = scan.others(b, &[invariants, start, &rest].concat());
                let stacked = carry.split_off(scan.carry);
                let mut results = inline(b, &scan.body, &[invariants, &carry, &single].concat());
                let given = results.split_off(scan.carry);
                (results, given, stacked)
            },
            self.length - 1,
        )
    }

    /// The loop with one step less.
    fn others(&self, b: &mut Builder, operands: &[Value]) -> Vec<Value> {
        b.ops(Scan { length: self.length - 1, ..self.clone() }, operands)
    }

    /// A Program that takes what the loop takes; `steps` gives the carry, and the rows of this step and of the others.
    fn apart(
        &self,
        steps: impl FnOnce(&mut Builder, &Scan, &[Value], [Vec<Value>; 2]) -> (Vec<Value>, Vec<Value>, Vec<Value>),
        step: usize,
    ) -> Program {
        let mut b = Builder::new();
        let [_, _, rows] = self.roles();
        let types = self.body.input_types().iter().enumerate();
        let types = types.map(|(k, ty)| if rows.contains(&k) { super::stacked(ty, self.length) } else { ty.clone() });
        let operands: Vec<Value> = types.collect::<Vec<Type>>().into_iter().map(|ty| b.input("", ty)).collect();
        let at = self.row_of(step);
        let others = if at == 0 { 1..self.length } else { 0..self.length - 1 };
        let single = operands[rows.clone()].iter().map(|&array| row(&mut b, array, at)).collect();
        let rest = operands[rows].iter().map(|&array| part(&mut b, array, others.clone())).collect();
        let (mut results, given, stacked) = steps(&mut b, self, &operands, [single, rest]);
        for (given, stacked) in given.into_iter().zip(stacked) {
            let shape = [&[1], b.shape(given)].concat();
            let given = b.op(Reshape::new(&shape), &[given]);
            let order = if at == 0 { [given, stacked] } else { [stacked, given] };
            results.push(b.op(Concat { axis: 0 }, &order));
        }
        b.finish(&results)
    }
}

/// Rows of an array.
fn part(b: &mut Builder, array: Value, rows: Range<usize>) -> Value {
    let slice = Slice::along(b.shape(array), 0, rows.start, rows.end);
    b.op(slice, &[array])
}

/// One row of an array.
fn row(b: &mut Builder, array: Value, at: usize) -> Value {
    let one = part(b, array, at..at + 1);
    let shape = b.shape(one)[1..].to_vec();
    b.op(Reshape::new(&shape), &[one])
}
