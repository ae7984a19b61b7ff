//! Small arrays that are looked at in another way: sliced, reshaped, permuted.

use smallvec::SmallVec;

use crate::array::{Array, Type};
use crate::primitives::{Form, Op};
use crate::program::{Eqn, Program};

/// Arrays of up to this many elements are moved at once: a plan of it takes longer to be found, and a hundred times as long
/// to be made, which a loop over the rows of an array would do for each of them.
const MOST_MOVED: usize = 1 << 12;

/// The results of a Program that only looks at its operands in another way, if they are small; `None` for others.
pub(super) fn moved<'a>(program: &Program, inputs: impl Iterator<Item = &'a Array>) -> Option<super::Results> {
    let is_move = |eqn: &Eqn| match &eqn.op {
        // The same elements.
        Op::Reshape(_) => true,
        _ => {
            let is_small = || program.types_of(eqn).iter().all(|ty| ty.size() <= MOST_MOVED);
            matches!(program.form(eqn), Form::View | Form::Number) && is_small()
        }
    };
    if !program.eqns().iter().all(is_move) {
        return None;
    }
    let mut values: Vec<Array> = Vec::with_capacity(program.types.len());
    values.extend(inputs.cloned());
    for eqn in program.eqns() {
        let results = {
            let args: SmallVec<[&Array; 4]> = eqn.args.iter().map(|arg| &values[arg.index()]).collect();
            eqn.op.eval(&args).ok()?
        };
        values.extend(results);
    }
    Some(program.outputs().iter().map(|output| values[output.index()].clone()).collect())
}

/// The result of one operation that only looks at its operand in another way, if it is small; `None` for others.
pub(super) fn moved_by<'a>(
    op: &Op,
    types: &[&Type],
    inputs: impl Iterator<Item = &'a Array>,
) -> Option<super::Results> {
    if op.form(types) != Form::View {
        return None;
    }
    let is_large = || op.infer(types).is_ok_and(|results| results.iter().any(|ty| ty.size() > MOST_MOVED));
    if !matches!(op, Op::Reshape(_)) && is_large() {
        return None;
    }
    let args: SmallVec<[&Array; 4]> = inputs.collect();
    Some(op.eval(&args).ok()?.into_iter().collect())
}
