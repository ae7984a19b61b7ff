//! Common subexpressions: the same operation on the same operands is computed once.

use std::collections::HashMap;

use super::{Config, rebuild};
use crate::primitives::Op;
use crate::program::{Program, Value};

/// The Program with equal equations merged. Regions that are to be computed again stay apart: keeping the first one's
/// results for the second is what [`Recompute`](crate::primitives::Recompute) is there to prevent.
pub(super) fn cse(program: &Program, _: &Config) -> Program {
    let mut seen: HashMap<(Op, Vec<Value>), Vec<Value>> = HashMap::new();
    rebuild(program, |b, op, args| {
        if matches!(op, Op::Recompute(_)) {
            return b.ops(op.clone(), args);
        }
        seen.entry((op.clone(), args.to_vec())).or_insert_with(|| b.ops(op.clone(), args)).clone()
    })
}
