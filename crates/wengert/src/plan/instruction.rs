//! Which instruction of the kernels an equation is.

use wengert_kernels::region::{self as kernels, Kind};
use wengert_kernels::straight::Function;

use super::kernel::kind;
use crate::array::DType;
use crate::ops::{Binary, Logic, Unary};
use crate::primitives::{Convert, Op};
use crate::straight::instruction::{call_of_binary, call_of_unary, compare};

/// The instruction for an equation on operands of a type.
pub(super) fn instruction(op: &Op, dtype: DType) -> kernels::Op {
    let own = kind(dtype);
    match op {
        Op::Unary(op) => unary(*op, own),
        Op::Binary(op) => binary(*op, own),
        Op::Compare(op) => kernels::Op::Compare(compare(*op), own),
        Op::Logic(op) => logic(*op),
        Op::Convert(Convert(to)) => kernels::Op::Convert(own, kind(*to)),
        _ => unreachable!("`{op:?}` is no part of a region"),
    }
}

/// The instruction for a function of one argument.
pub(super) fn unary(op: Unary, kind: Kind) -> kernels::Op {
    match (op, op.kernel()) {
        (_, Some(kernel)) => kernels::Op::Unary(kernel, kind),
        (Unary::Powi(n), None) => kernels::Op::Power(n, kind),
        (_, None) => called(call_of_unary(op), kind),
    }
}

/// The instruction for a function of two arguments.
pub(super) fn binary(op: Binary, kind: Kind) -> kernels::Op {
    op.kernel().map_or_else(|| called(call_of_binary(op), kind), |kernel| kernels::Op::Binary(kernel, kind))
}

/// The instruction that calls a function for every element.
fn called(call: Function, kind: Kind) -> kernels::Op {
    match call {
        Function::One(function, number) => kernels::Op::Call1(function, number, kind),
        Function::Two(function, number) => kernels::Op::Call2(function, number, kind),
        Function::Many1(function) => kernels::Op::Unary(function, kind),
        Function::Many2(function) => kernels::Op::Binary(function, kind),
        Function::Power(n) => kernels::Op::Power(n, kind),
    }
}

/// The instruction for a function of truth values.
pub(super) fn logic(op: Logic) -> kernels::Op {
    match op {
        Logic::And => kernels::Op::Binary(kernels::Binary::And, Kind::U8),
        Logic::Or => kernels::Op::Binary(kernels::Binary::Or, Kind::U8),
        Logic::Xor => kernels::Op::Binary(kernels::Binary::Xor, Kind::U8),
        Logic::Not => kernels::Op::Unary(kernels::Unary::Not, Kind::U8),
    }
}
