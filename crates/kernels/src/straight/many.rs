//! The functions of vector loops for one number: what is written for one number, without a loop around it, has the same bits.

use super::Function;
use crate::Float;
use crate::region::{Binary, Call1, Call2, Unary};

/// The functions that a call at one point runs: those of many numbers as plain functions of one.
pub(super) fn for_one(calls: &[Function]) -> Vec<Function> {
    let one = |function: &Function| match *function {
        Function::Many1(f) => Function::One(unary(f), 0),
        Function::Many2(f) => Function::Two(binary(f), 0),
        Function::Power(n) => Function::One(Call1(|n, x| Float::powi(x, n as i32)), n as u64),
        function => function,
    };
    calls.iter().map(one).collect()
}

fn unary(f: Unary) -> Call1 {
    Call1(match f {
        Unary::Copy | Unary::Not => |_, x| x,
        Unary::Square => |_, x| x * x,
        Unary::Recip => |_, x| 1.0 / x,
        Unary::Sign => |_, x| Float::sign(x),
        Unary::Rsqrt => |_, x| Float::rsqrt(x),
        Unary::Relu => |_, x| Float::relu(x),
        Unary::Floor => |_, x| Float::floor(x),
        Unary::Ceil => |_, x| Float::ceil(x),
        Unary::Round => |_, x| Float::round(x),
        Unary::Trunc => |_, x| Float::trunc(x),
        Unary::Cbrt => |_, x| Float::cbrt(x),
        Unary::Exp => |_, x| Float::exp(x),
        Unary::Exp2 => |_, x| Float::exp2(x),
        Unary::Expm1 => |_, x| Float::expm1(x),
        Unary::Ln => |_, x| Float::ln(x),
        Unary::Log2 => |_, x| Float::log2(x),
        Unary::Log10 => |_, x| Float::log10(x),
        Unary::Log1p => |_, x| Float::log1p(x),
        Unary::Sin => |_, x| Float::sin(x),
        Unary::Cos => |_, x| Float::cos(x),
        Unary::Tan => |_, x| Float::tan(x),
        Unary::Asin => |_, x| Float::asin(x),
        Unary::Acos => |_, x| Float::acos(x),
        Unary::Atan => |_, x| Float::atan(x),
        Unary::Sinh => |_, x| Float::sinh(x),
        Unary::Cosh => |_, x| Float::cosh(x),
        Unary::Tanh => |_, x| Float::tanh(x),
        Unary::Sech2 => |_, x| Float::sech2(x),
        Unary::Asinh => |_, x| Float::asinh(x),
        Unary::Acosh => |_, x| Float::acosh(x),
        Unary::Atanh => |_, x| Float::atanh(x),
        Unary::Sigmoid => |_, x| Float::sigmoid(x),
        Unary::Softplus => |_, x| Float::softplus(x),
        Unary::GeluErf => |_, x| Float::gelu_erf(x),
        Unary::GeluTanh => |_, x| Float::gelu_tanh(x),
        Unary::GeluTanhSlope => |_, x| Float::gelu_tanh_slope(x),
        Unary::Silu => |_, x| Float::silu(x),
        Unary::Erf => |_, x| Float::erf(x),
        Unary::Erfc => |_, x| Float::erfc(x),
        Unary::Erfinv => |_, x| Float::erfinv(x),
        Unary::Neg => |_, x: f64| -x,
        Unary::Abs => |_, x| Float::abs(x),
        Unary::Sqrt => |_, x| Float::sqrt(x),
    })
}

fn binary(f: Binary) -> Call2 {
    Call2(match f {
        Binary::Add | Binary::And | Binary::Or | Binary::Xor => |_, x, y| x + y,
        Binary::Sub => |_, x, y| x - y,
        Binary::Mul => |_, x, y| x * y,
        Binary::Div => |_, x, y| x / y,
        Binary::Pow => |_, x, y| Float::pow(x, y),
        Binary::Atan2 => |_, x, y| Float::atan2(x, y),
        Binary::Hypot => |_, x, y| Float::hypot(x, y),
        Binary::Copysign => |_, x, y| Float::copysign(x, y),
        Binary::Logaddexp => |_, x, y| Float::logaddexp(x, y),
        Binary::Xlogy => |_, x, y| Float::xlogy(x, y),
        Binary::Max => |_, x, y| Float::max(x, y),
        Binary::Min => |_, x, y| Float::min(x, y),
    })
}
