//! Which operations of a list are needed, and which are computed together with their only user.

use wengert_kernels::region::Pair;

use super::list::{Func, List, Node, Scalar};
use crate::ops::Binary;

/// What one instruction does.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Step {
    Plain,
    Pair(Pair, [Node; 3]),
}

/// The instructions: which operations are needed, and which are computed together with their only user.
pub(crate) fn steps(list: &List, roots: &[Node]) -> Vec<Option<Step>> {
    let mut uses = vec![0u32; list.len()];
    roots.iter().for_each(|root| uses[root.index()] += 2);
    for k in (0..list.len()).rev() {
        if uses[k] > 0 {
            list.get(Node(k as u32)).operands().iter().for_each(|arg| uses[arg.index()] += 1);
        }
    }
    let mut absorbed = vec![false; list.len()];
    let mut steps = vec![None; list.len()];
    for k in (0..list.len()).rev() {
        if uses[k] == 0 || absorbed[k] {
            continue;
        }
        let scalar = list.get(Node(k as u32));
        let single = |node: Node, op: Binary| -> Option<&Scalar> {
            let inner = list.get(node);
            (uses[node.index()] == 1 && inner.func == Func::Binary(op)).then_some(inner)
        };
        let pair = pair(scalar, single);
        steps[k] = Some(match pair {
            Some((pair, args, inner)) => {
                absorbed[inner.index()] = true;
                Step::Pair(pair, args)
            }
            None => Step::Plain,
        });
    }
    steps
}

/// The operation together with one that is only its operand: which pair, its operands, and the operation inside.
fn pair<'g>(scalar: &Scalar, single: impl Fn(Node, Binary) -> Option<&'g Scalar>) -> Option<(Pair, [Node; 3], Node)> {
    if !scalar.kind.is_float() {
        return None;
    }
    let Func::Binary(op) = scalar.func else { return None };
    let [x, y, _] = scalar.args;
    if x == y {
        return None;
    }
    let with = |pair: Pair, inner: Node, found: &Scalar, other: Node| {
        Some((pair, [found.args[0], found.args[1], other], inner))
    };
    let sides = [(y, x), (x, y)];
    match op {
        Binary::Add => {
            for (pair, inner) in [(Pair::MulAdd, Binary::Mul), (Pair::AddAdd, Binary::Add)] {
                for (node, other) in sides {
                    if let Some(found) = single(node, inner) {
                        return with(pair, node, found, other);
                    }
                }
            }
            None
        }
        Binary::Sub => {
            if let Some(found) = single(y, Binary::Mul) {
                return with(Pair::SubMul, y, found, x);
            }
            single(x, Binary::Mul).and_then(|found| with(Pair::MulSub, x, found, y))
        }
        Binary::Mul => {
            let inner = [(Pair::AddMul, Binary::Add), (Pair::SubTimes, Binary::Sub), (Pair::MulMul, Binary::Mul)];
            for (pair, inner) in inner {
                for (node, other) in sides {
                    if let Some(found) = single(node, inner) {
                        return with(pair, node, found, other);
                    }
                }
            }
            None
        }
        _ => None,
    }
}

impl Step {
    /// The operands that the instruction of an operation reads.
    pub(crate) fn operands<'a>(&'a self, list: &'a List, node: Node) -> &'a [Node] {
        match self {
            Step::Pair(_, args) => args,
            Step::Plain => list.get(node).operands(),
        }
    }
}
