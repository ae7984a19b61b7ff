//! Which instruction of the kernels an equation is.

use wengert_kernels::region::{self as kernels, Kind};

use super::kernel::kind;
use crate::array::DType;
use crate::ops::{Binary, Compare, Unary};
use crate::primitives::{Convert, Logic, Op};

/// The instruction for an equation on operands of a type.
pub(super) fn instruction(op: &Op, dtype: DType) -> kernels::Op {
    let own = kind(dtype);
    match op {
        Op::Unary(op) => unary(*op, own),
        Op::Binary(op) => binary(*op, own),
        Op::Compare(op) => kernels::Op::Compare(
            match op {
                Compare::Eq => kernels::Compare::Eq,
                Compare::Ne => kernels::Compare::Ne,
                Compare::Lt => kernels::Compare::Lt,
                Compare::Le => kernels::Compare::Le,
                Compare::Gt => kernels::Compare::Gt,
                Compare::Ge => kernels::Compare::Ge,
                Compare::Unordered => kernels::Compare::Unordered,
            },
            own,
        ),
        Op::Logic(op) => match op {
            Logic::And => kernels::Op::Binary(kernels::Binary::And, Kind::U8),
            Logic::Or => kernels::Op::Binary(kernels::Binary::Or, Kind::U8),
            Logic::Xor => kernels::Op::Binary(kernels::Binary::Xor, Kind::U8),
            Logic::Not => kernels::Op::Unary(kernels::Unary::Not, Kind::U8),
        },
        Op::Convert(Convert(to)) => kernels::Op::Convert(own, kind(*to)),
        _ => unreachable!("`{op:?}` is no part of a region"),
    }
}

/// A function of one argument, called for every element.
fn call_unary(number: u64, x: f64) -> f64 {
    Unary::decode((number >> 32) as u8, number as u32).eval(x)
}

/// A function of two arguments, called for every element.
fn call_binary(number: u64, x: f64, y: f64) -> f64 {
    Binary::decode((number >> 32) as u8, number as u32).eval(x, y)
}

fn packed((code, number): (u8, u32)) -> u64 {
    u64::from(code) << 32 | u64::from(number)
}

fn unary(op: Unary, kind: Kind) -> kernels::Op {
    match (op, op.kernel()) {
        (_, Some(kernel)) => kernels::Op::Unary(kernel, kind),
        (Unary::Powi(n), None) => kernels::Op::Power(n, kind),
        (_, None) => kernels::Op::Call1(kernels::Call1(call_unary), packed(op.encode()), kind),
    }
}

fn binary(op: Binary, kind: Kind) -> kernels::Op {
    match op.kernel() {
        Some(kernel) => kernels::Op::Binary(kernel, kind),
        None => kernels::Op::Call2(kernels::Call2(call_binary), packed(op.encode()), kind),
    }
}
