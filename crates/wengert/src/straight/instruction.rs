//! Which instruction of the kernels a function is.

use wengert_kernels::region as kernels;
use wengert_kernels::region::{Call1, Call2};
use wengert_kernels::straight::Function;

use crate::ops::{Binary, Compare, Unary};

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
pub(crate) fn call_of_unary(op: Unary) -> Function {
    let call: fn(u64, f64) -> f64 = match op {
        Unary::Exp => |_, x| Unary::Exp.eval(x),
        Unary::Ln => |_, x| Unary::Ln.eval(x),
        Unary::Sin => |_, x| Unary::Sin.eval(x),
        Unary::Cos => |_, x| Unary::Cos.eval(x),
        Unary::Tanh => |_, x| Unary::Tanh.eval(x),
        Unary::Sign => |_, x| Unary::Sign.eval(x),
        _ => call_unary,
    };
    Function::One(Call1(call), packed(op.encode()))
}

/// The function itself, to be called.
pub(crate) fn call_of_binary(op: Binary) -> Function {
    Function::Two(Call2(call_binary), packed(op.encode()))
}

/// The function with the bits that arrays have: that of many numbers where there is a loop over them.
pub(super) fn many_of_unary(op: Unary) -> Function {
    match (op, op.kernel()) {
        (_, Some(kernel)) => Function::Many1(kernel),
        (Unary::Powi(n), None) => Function::Power(n),
        (_, None) => call_of_unary(op),
    }
}

/// The function with the bits that arrays have.
pub(super) fn many_of_binary(op: Binary) -> Function {
    op.kernel().map_or_else(|| call_of_binary(op), Function::Many2)
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
