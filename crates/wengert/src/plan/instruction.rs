//! Which instruction of the kernels an equation is.

use wengert_kernels::region as kernels;

use super::kernel::kind;
use crate::array::DType;
use crate::primitives::{Convert, Op};
use crate::straight::instruction::{binary, compare, logic, unary};

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
