//! Common subexpressions: the same operation on the same operands is computed once.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hash, Hasher};

use super::{Program, Value, everywhere, rebuild};
use crate::hash::FastHasher;
use crate::primitives::Op;

/// The Program with equal equations merged. Regions that are to be computed again stay apart: keeping the first one's
/// results for the second is what [`Recompute`](crate::primitives::Recompute) is there to prevent.
pub(crate) fn cse(program: Program) -> Program {
    let mut seen = Seen::default();
    rebuild(program, |b, op, args, types| {
        if matches!(op, Op::Recompute(_)) || types.is_empty() {
            return b.again(op, args, types);
        }
        let key = key(&op, args);
        let same = |eqn: &usize| b.eqns()[*eqn].args[..] == *args && b.eqns()[*eqn].op == op;
        match seen.get(&key).and_then(|eqns| eqns.iter().find(|eqn| same(eqn))) {
            Some(&eqn) => Some(b.eqns()[eqn].first),
            None => {
                seen.entry(key).or_default().push(b.eqns().len());
                b.again(op, args, types)
            }
        }
    })
}

/// The Program with equal equations merged, and in the Programs inside too.
pub(crate) fn cse_everywhere(program: Program) -> Program {
    everywhere(program, &cse)
}

/// The equations by the hash of operation and operands; that they are equal is looked up in the list.
type Seen = HashMap<u64, Vec<usize>, BuildHasherDefault<FastHasher>>;

fn key(op: &Op, args: &[Value]) -> u64 {
    let mut hasher = FastHasher::default();
    op.hash(&mut hasher);
    args.hash(&mut hasher);
    hasher.finish()
}
