//! A change that depends on a condition stays a change of the part: `select(c, update(x, u, i), x)` would copy all of `x`.
//!
//! It is done before a step of a loop is differentiated: its derivative then changes parts too, forwards and backwards.

use crate::array::DType;
use crate::primitives::{Broadcast, DynamicSlice, DynamicUpdate, Op, Select};
use crate::program::{Builder, Program, Value, everywhere, rebuild};

/// The Program, and those in it, with every choice between an array and that array with a changed block made in the block.
pub(crate) fn choices_in_place(program: Program) -> Program {
    if !chooses(&program) {
        return program;
    }
    everywhere(program, &|program| {
        rebuild(program, |b, op, args, types| in_block(b, &op, args).or_else(|| b.again(op, args, types)))
    })
}

fn chooses(program: &Program) -> bool {
    let inside = |op: &Op| op.programs().into_iter().any(|program| chooses(program));
    let updates = program.eqns().iter().any(|eqn| matches!(eqn.op, Op::DynamicUpdate(_)));
    (updates && program.eqns().iter().any(|eqn| matches!(eqn.op, Op::Select(_))))
        || program.eqns().iter().any(|eqn| inside(&eqn.op))
}

/// `select(c, update(x, u, i), x)` as `update(x, select(c[i], u, x[i]), i)`, where `[i]` is the block at `i`; and with the
/// branches the other way round.
fn in_block(b: &mut Builder, op: &Op, args: &[Value]) -> Option<Value> {
    let Op::Select(_) = op else { return None };
    let [condition, yes, no] = *args else { return None };
    let update_of = |b: &Builder, changed: Value, x: Value| match b.defined_by(changed) {
        Some((Op::DynamicUpdate(_), own)) if own[0] == x => Some((own[1], own[2])),
        _ => None,
    };
    let (x, (new, start), chosen) = match (update_of(b, yes, no), update_of(b, no, yes)) {
        (Some(update), _) => (no, update, true),
        (None, Some(update)) => (yes, update, false),
        (None, None) => return None,
    };
    let sizes = b.shape(new).to_vec();
    let block = DynamicSlice { sizes: sizes.clone() };
    let mask = match b.defined_by(condition) {
        // One truth value for all of it.
        Some((Op::Broadcast(broadcast), single)) if broadcast.axes.is_empty() => {
            let single = single[0];
            b.op(Broadcast::new(&sizes, &[]), &[single])
        }
        _ => b.op(block.clone(), &[condition, start]),
    };
    debug_assert_eq!(b.dtype(mask), DType::Bool);
    let old = b.op(block, &[x, start]);
    let (one, other) = if chosen { (new, old) } else { (old, new) };
    let within = b.op(Select, &[mask, one, other]);
    Some(b.op(DynamicUpdate, &[x, within, start]))
}
