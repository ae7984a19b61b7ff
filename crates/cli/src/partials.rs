//! The derivative of one entry of the Wengert list in each of its operands.
//!
//! The rules are the library's; here they are only asked for at the values of a run.

use crate::eval::{Entry, Evaluation, Operand, Operation};

/// `d entry / d operand` for each operand that is an entry; a constant has none.
///
/// `chosen` says for a `select` whether its condition held. The side not chosen has derivative 0
/// whatever its value, since `select` masks it.
pub(crate) fn partials(run: &Evaluation<f64>, entry: &Entry<f64>, chosen: Option<bool>) -> Vec<Option<f64>> {
    let operand = |index: usize| run.value(entry.operands[index]);
    let all: [f64; 3] = match entry.operation {
        Operation::Input(_) => [0.0; 3],
        Operation::Unary(op) => [op.partial(operand(0), entry.value), 0.0, 0.0],
        Operation::Binary(op) => {
            let (x, y) = (operand(0), operand(1));
            [op.partial_x(x, y, entry.value), op.partial_y(x, y, entry.value), 0.0]
        }
        Operation::MulAdd => [operand(1), operand(0), 1.0],
        Operation::Select(_) if chosen == Some(true) => [1.0, 0.0, 0.0],
        Operation::Select(_) => [0.0, 1.0, 0.0],
        // As the library has it: the lower bound first, and a bound at equality.
        Operation::Clamp if operand(0) <= operand(1) => [0.0, 1.0, 0.0],
        Operation::Clamp if operand(0) >= operand(2) => [0.0, 0.0, 1.0],
        Operation::Clamp => [1.0, 0.0, 0.0],
    };
    let operands = &entry.operands[..entry.operation.arity()];
    let known = |(operand, partial): (&Operand, f64)| match operand {
        Operand::Entry(_) => Some(partial),
        Operand::Constant(_) => None,
    };
    operands.iter().zip(all).map(known).collect()
}
