//! What makes code safe to run.

use super::{Op, Parts};
use crate::region::Invalid;

/// What an instruction uses of its fields.
pub(super) struct Uses {
    /// How many of `a`, `b` and `c` are places that are read.
    pub(super) reads: usize,
    /// Whether it has a result in `out`.
    pub(super) writes: bool,
    /// How many functions it calls, of how many arguments, from number `c` on.
    calls: Option<(usize, usize)>,
    /// Whether it is a loop of its own at many points, whose result must not lie where an operand does.
    pub(super) apart: bool,
}

impl Op {
    pub(super) fn uses(self) -> Uses {
        let plain = |reads| Uses { reads, writes: true, calls: None, apart: false };
        let function = |reads, count| Uses { reads, writes: true, calls: Some((count, reads)), apart: true };
        match self {
            Op::Copy | Op::Neg | Op::Abs | Op::Square | Op::Sqrt | Op::Recip | Op::Not => plain(1),
            Op::Add | Op::Sub | Op::Mul | Op::Div | Op::Max | Op::Min => plain(2),
            Op::Compare(_) | Op::And | Op::Or | Op::Xor => plain(2),
            Op::Pair(_) | Op::Select => plain(3),
            Op::Guard(..) => Uses { writes: false, ..plain(2) },
            Op::Unary(_) | Op::Call1 => function(1, 1),
            Op::Twin(_) => function(1, 2),
            Op::Binary(_) | Op::Call2 => function(2, 1),
        }
    }

    /// Whether the result may lie where an operand does.
    pub fn is_in_place(self) -> bool {
        !self.uses().apart
    }
}

/// Checks every index, and that everything is computed before it is read.
pub(super) fn check(parts: &Parts) -> Result<(), Invalid> {
    let fail = |why: String| Err(Invalid(why));
    let given = parts.inputs.checked_add(parts.constants.len());
    let end = parts.results_at.checked_add(parts.results);
    let (Some(given), Some(end)) = (given, end) else { return fail("more places than memory".into()) };
    if given > parts.places || end > parts.places || parts.places > u32::MAX as usize {
        return fail(format!("{given} given places and results up to {end} in {} places", parts.places));
    }
    let mut computed = vec![false; parts.places];
    computed[..given].fill(true);
    for (k, instr) in parts.code.iter().enumerate() {
        let uses = instr.op.uses();
        let fields = [instr.a, instr.b, instr.c].map(|place| place as usize);
        let operands = &fields[..uses.reads];
        if let Some(place) = operands.iter().find(|&&place| computed.get(place) != Some(&true)) {
            return fail(format!("instruction {k}, {instr:?}: nothing has been computed at {place}"));
        }
        if let Some((count, arguments)) = uses.calls {
            let calls = fields[2].checked_add(count).and_then(|end| parts.calls.get(fields[2]..end));
            if !calls.is_some_and(|calls| calls.iter().all(|call| call.arguments() == arguments)) {
                return fail(format!("instruction {k}, {instr:?}: no such function"));
            }
        }
        let outs: &[usize] = match instr.op {
            Op::Twin(_) => &[instr.out as usize, fields[1]],
            _ if uses.writes => &[instr.out as usize],
            _ => &[],
        };
        for (n, &out) in outs.iter().enumerate() {
            let constant = (parts.inputs..given).contains(&out);
            if out >= parts.places || constant || outs[..n].contains(&out) {
                return fail(format!("instruction {k}, {instr:?}: it cannot write at {out}"));
            }
            if uses.apart && operands.contains(&out) {
                return fail(format!("instruction {k}, {instr:?}: a function writes where it reads"));
            }
            computed[out] = true;
        }
    }
    match (parts.results_at..end).find(|&place| !computed[place]) {
        Some(place) => fail(format!("the result at {place} has not been computed")),
        None => Ok(()),
    }
}
