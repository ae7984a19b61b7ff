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
    use kernels::Unary as To;
    let to = match op {
        Unary::Neg => To::Neg,
        Unary::Abs => To::Abs,
        Unary::Sign => To::Sign,
        Unary::Square => To::Square,
        Unary::Sqrt => To::Sqrt,
        Unary::Rsqrt => To::Rsqrt,
        Unary::Cbrt => To::Cbrt,
        Unary::Recip => To::Recip,
        Unary::Exp => To::Exp,
        Unary::Exp2 => To::Exp2,
        Unary::Expm1 => To::Expm1,
        Unary::Ln => To::Ln,
        Unary::Log2 => To::Log2,
        Unary::Log10 => To::Log10,
        Unary::Log1p => To::Log1p,
        Unary::Sin => To::Sin,
        Unary::Cos => To::Cos,
        Unary::Tan => To::Tan,
        Unary::Asin => To::Asin,
        Unary::Acos => To::Acos,
        Unary::Atan => To::Atan,
        Unary::Sinh => To::Sinh,
        Unary::Cosh => To::Cosh,
        Unary::Tanh => To::Tanh,
        Unary::Sech2 => To::Sech2,
        Unary::Asinh => To::Asinh,
        Unary::Acosh => To::Acosh,
        Unary::Atanh => To::Atanh,
        Unary::Sigmoid => To::Sigmoid,
        Unary::Softplus => To::Softplus,
        Unary::Relu => To::Relu,
        Unary::GeluErf => To::GeluErf,
        Unary::GeluTanh => To::GeluTanh,
        Unary::GeluTanhSlope => To::GeluTanhSlope,
        Unary::Silu => To::Silu,
        Unary::Erf => To::Erf,
        Unary::Erfc => To::Erfc,
        Unary::Floor => To::Floor,
        Unary::Ceil => To::Ceil,
        Unary::Round => To::Round,
        Unary::Trunc => To::Trunc,
        Unary::Detach => To::Copy,
        Unary::Powi(n) => return kernels::Op::Power(n, kind),
        // Those with a slope in their name are written out before: they come here only in a Program that is planned as it is.
        Unary::AtanSlope
        | Unary::OneMinusSquare
        | Unary::CbrtSlope
        | Unary::SigmoidSlope
        | Unary::SiluSlope
        | Unary::ErfSlope
        | Unary::Erfinv
        | Unary::Lgamma
        | Unary::Digamma
        | Unary::Polygamma(_)
        | Unary::Sinc(_)
        | Unary::Erfcx(_)
        | Unary::NormalPdf
        | Unary::NormalCdf
        | Unary::LogNormalCdf(_)
        | Unary::NormalQuantile
        | Unary::NormalQuantileSlope
        | Unary::NormalQuantileOfLog
        | Unary::NormalQuantileOfLogSlope => {
            return kernels::Op::Call1(kernels::Call1(call_unary), packed(op.encode()), kind);
        }
    };
    kernels::Op::Unary(to, kind)
}

fn binary(op: Binary, kind: Kind) -> kernels::Op {
    use kernels::Binary as To;
    let to = match op {
        Binary::Add => To::Add,
        Binary::Sub => To::Sub,
        Binary::Mul => To::Mul,
        Binary::Div => To::Div,
        Binary::Pow => To::Pow,
        Binary::Atan2 => To::Atan2,
        Binary::Hypot => To::Hypot,
        Binary::Max => To::Max,
        Binary::Min => To::Min,
        Binary::Copysign => To::Copysign,
        Binary::Logaddexp => To::Logaddexp,
        Binary::Xlogy => To::Xlogy,
        Binary::Rem
        | Binary::PowSlope
        | Binary::PowLog
        | Binary::HypotCos
        | Binary::Xlog1py
        | Binary::Betaln
        | Binary::DigammaDrop
        | Binary::TrigammaDrop
        | Binary::TetragammaDrop => {
            return kernels::Op::Call2(kernels::Call2(call_binary), packed(op.encode()), kind);
        }
    };
    kernels::Op::Binary(to, kind)
}
