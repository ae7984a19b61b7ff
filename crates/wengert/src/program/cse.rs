//! Common subexpressions: the same operation on the same operands is computed once.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hash, Hasher};

use super::{Program, Value, everywhere, rebuild};
use crate::hash::FastHasher;
use crate::primitives::Op;

/// The Program with equal equations merged. Regions that are to be computed again stay apart: keeping the first one's
/// results for the second is what [`Recompute`](crate::primitives::Recompute) is there to prevent.
pub(crate) fn cse(program: Program) -> Program {
    let mut seen = Seen::with_room(program.eqns.len());
    rebuild(program, |b, op, args, types| {
        if matches!(op, Op::Recompute(_)) || types.is_empty() {
            return b.again(op, args, types);
        }
        let key = key(&op, args);
        let same = |eqn: &usize| b.eqns()[*eqn].args[..] == *args && b.eqns()[*eqn].op == op;
        let found = seen.of(key).find(same);
        if let Some(eqn) = found {
            return Some(b.eqns()[eqn].first);
        }
        seen.add(key, b.eqns().len());
        b.again(op, args, types)
    })
}

/// The Program with equal equations merged, and in the Programs inside too.
pub(crate) fn cse_everywhere(program: Program) -> Program {
    everywhere(program, &cse)
}

/// The equations by the hash of operation and operands; that they are equal is looked up in the list.
struct Seen {
    /// The newest equation with a hash.
    newest: HashMap<u64, usize, BuildHasherDefault<FastHasher>>,
    /// For an equation: the one with its hash before it.
    before: HashMap<usize, usize, BuildHasherDefault<FastHasher>>,
}

impl Seen {
    fn with_room(eqns: usize) -> Self {
        Seen {
            newest: HashMap::with_capacity_and_hasher(eqns, BuildHasherDefault::default()),
            before: HashMap::default(),
        }
    }

    /// Those with a hash.
    fn of(&self, key: u64) -> impl Iterator<Item = usize> {
        std::iter::successors(self.newest.get(&key).copied(), |eqn| self.before.get(eqn).copied())
    }

    fn add(&mut self, key: u64, eqn: usize) {
        if let Some(before) = self.newest.insert(key, eqn) {
            self.before.insert(eqn, before);
        }
    }
}

fn key(op: &Op, args: &[Value]) -> u64 {
    let mut hasher = FastHasher::default();
    op.hash(&mut hasher);
    args.hash(&mut hasher);
    hasher.finish()
}
