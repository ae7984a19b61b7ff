//! Common subexpressions: the same operation on the same operands is computed once.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hash, Hasher};

use super::{Program, Value, everywhere, rebuild};
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
type Seen = HashMap<u64, Vec<usize>, BuildHasherDefault<Quick>>;

fn key(op: &Op, args: &[Value]) -> u64 {
    let mut hasher = Quick::default();
    op.hash(&mut hasher);
    args.hash(&mut hasher);
    hasher.finish()
}

/// A hash of few instructions: a rotation, an exclusive or and a product for every word, as in the Rust
/// compiler. No attacker can choose the keys.
#[derive(Default)]
struct Quick(u64);

impl Hasher for Quick {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.write_u64(u64::from_le_bytes(word));
        }
    }
    fn write_u8(&mut self, word: u8) {
        self.write_u64(word.into());
    }
    fn write_u32(&mut self, word: u32) {
        self.write_u64(word.into());
    }
    fn write_usize(&mut self, word: usize) {
        self.write_u64(word as u64);
    }
    fn write_u64(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(5) ^ word).wrapping_mul(0x51_7c_c1_b7_27_22_0a_95);
    }
}
