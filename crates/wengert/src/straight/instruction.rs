//! Which instruction of the kernels a function is.

use wengert_kernels::region as kernels;
use wengert_kernels::region::{Call1, Call2, Kind};
use wengert_kernels::straight::Call;

use crate::ops::{Binary, Compare, Logic, Unary};

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

/// The function itself, to be called: the commonest without looking for it first.
pub(super) fn call_of_unary(op: Unary) -> Call {
    let call: fn(u64, f64) -> f64 = match op {
        Unary::Exp => |_, x| Unary::Exp.eval(x),
        Unary::Ln => |_, x| Unary::Ln.eval(x),
        Unary::Sin => |_, x| Unary::Sin.eval(x),
        Unary::Cos => |_, x| Unary::Cos.eval(x),
        Unary::Tanh => |_, x| Unary::Tanh.eval(x),
        Unary::Sign => |_, x| Unary::Sign.eval(x),
        _ => call_unary,
    };
    Call::One(Call1(call), packed(op.encode()))
}

/// The function itself, to be called.
pub(super) fn call_of_binary(op: Binary) -> Call {
    Call::Two(Call2(call_binary), packed(op.encode()))
}

/// The instruction of a region for a function of one argument.
#[cfg(feature = "engine")]
pub(crate) fn unary(op: Unary, kind: Kind) -> kernels::Op {
    match (op, op.kernel()) {
        (_, Some(kernel)) => kernels::Op::Unary(kernel, kind),
        (Unary::Powi(n), None) => kernels::Op::Power(n, kind),
        (_, None) => kernels::Op::Call1(Call1(call_unary), packed(op.encode()), kind),
    }
}

/// The instruction of a region for a function of two arguments.
#[cfg(feature = "engine")]
pub(crate) fn binary(op: Binary, kind: Kind) -> kernels::Op {
    match op.kernel() {
        Some(kernel) => kernels::Op::Binary(kernel, kind),
        None => kernels::Op::Call2(Call2(call_binary), packed(op.encode()), kind),
    }
}

/// The instruction of a region for a function of truth values.
#[cfg(feature = "engine")]
pub(crate) fn logic(op: Logic) -> kernels::Op {
    match op {
        Logic::And => kernels::Op::Binary(kernels::Binary::And, Kind::U8),
        Logic::Or => kernels::Op::Binary(kernels::Binary::Or, Kind::U8),
        Logic::Xor => kernels::Op::Binary(kernels::Binary::Xor, Kind::U8),
        Logic::Not => kernels::Op::Unary(kernels::Unary::Not, Kind::U8),
    }
}

/// A comparison.
pub(crate) fn compare(op: Compare) -> kernels::Compare {
    match op {
        Compare::Eq => kernels::Compare::Eq,
        Compare::Ne => kernels::Compare::Ne,
        Compare::Lt => kernels::Compare::Lt,
        Compare::Le => kernels::Compare::Le,
        Compare::Gt => kernels::Compare::Gt,
        Compare::Ge => kernels::Compare::Ge,
        Compare::Unordered => kernels::Compare::Unordered,
    }
}
