//! The instructions of a region.

use std::hash::{Hash, Hasher};

/// The element types that kernels move. Truth values are bytes 0 and 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Truth values.
    U8,
    /// Integers.
    I64,
    /// Single precision.
    F32,
    /// Double precision.
    F64,
}

impl Kind {
    /// Bytes of one element.
    pub const fn size(self) -> usize {
        match self {
            Kind::U8 => 1,
            Kind::F32 => 4,
            Kind::I64 | Kind::F64 => 8,
        }
    }

    /// Whether the elements are real numbers.
    pub const fn is_float(self) -> bool {
        matches!(self, Kind::F32 | Kind::F64)
    }
}

/// Functions of one argument that exist as vector loops. Integers have only the first five, truth values `Copy` and
/// `Not`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names are those of the functions in `float::Float`")]
pub enum Unary {
    Copy,
    Neg,
    Abs,
    Sign,
    Square,
    Not,
    Sqrt,
    Rsqrt,
    Cbrt,
    Recip,
    Exp,
    Exp2,
    Expm1,
    Ln,
    Log2,
    Log10,
    Log1p,
    Sin,
    Cos,
    Tan,
    Asin,
    Acos,
    Atan,
    Sinh,
    Cosh,
    Tanh,
    Sech2,
    Asinh,
    Acosh,
    Atanh,
    Sigmoid,
    Softplus,
    Relu,
    GeluErf,
    GeluTanh,
    GeluTanhSlope,
    Silu,
    Erf,
    Erfc,
    Erfinv,
    Floor,
    Ceil,
    Round,
    Trunc,
}

/// Functions of two arguments that exist as vector loops. Integers have the first five, truth values the three logical
/// ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names are those of the functions in `float::Float`")]
pub enum Binary {
    Add,
    Sub,
    Mul,
    Max,
    Min,
    And,
    Or,
    Xor,
    Div,
    Pow,
    Atan2,
    Hypot,
    Copysign,
    Logaddexp,
    Xlogy,
}

/// Comparisons; the result is a truth value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Compare {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    /// Whether one is NaN.
    Unordered,
}

/// The operation that joins elements in a reduction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Join {
    /// The sum, 0 of none; a fixed tree, so that the bits do not depend on the number of threads.
    Sum,
    /// The product, 1 of none.
    Prod,
    /// The largest; NaN if one is NaN.
    Max,
    /// The smallest; NaN if one is NaN.
    Min,
    /// Whether all are true.
    All,
    /// Whether one is true.
    Any,
}

/// Two multiplications and additions in one loop, each rounded: the bits are those of two instructions. One is rounded as in
/// products of matrices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Pair {
    /// `a * b + c`
    MulAdd,
    /// `a * b - c`
    MulSub,
    /// `c - a * b`
    SubMul,
    /// `(a + b) * c`
    AddMul,
    /// `(a - b) * c`
    SubTimes,
    /// `a * b * c`
    MulMul,
    /// `a + b + c`
    AddAdd,
    /// `a * b + c` as products of matrices add up: rounded once where the [level](crate::level()) has an instruction for it,
    /// else twice.
    Fused,
}

/// Two functions of one argument whose work is mostly the same: the bits are those of each alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Twin {
    /// [`Unary::Tanh`] and its derivative, [`Unary::Sech2`].
    TanhSech2,
    /// [`Unary::Sin`] and [`Unary::Cos`].
    SinCos,
    /// [`Unary::GeluTanh`] and its derivative, [`Unary::GeluTanhSlope`].
    GeluTanh,
}

impl Twin {
    /// All of them.
    pub const ALL: [Twin; 3] = [Twin::TanhSech2, Twin::SinCos, Twin::GeluTanh];

    /// The first function, whose result is an instruction's `out`, and the second one, whose result is its `b`.
    pub const fn functions(self) -> [Unary; 2] {
        match self {
            Twin::TanhSech2 => [Unary::Tanh, Unary::Sech2],
            Twin::SinCos => [Unary::Sin, Unary::Cos],
            Twin::GeluTanh => [Unary::GeluTanh, Unary::GeluTanhSlope],
        }
    }
}

/// A function of one number that is called once per element.
#[derive(Clone, Copy, Debug)]
pub struct Call1(pub fn(u64, f64) -> f64);

/// A function of two numbers that is called once per element.
#[derive(Clone, Copy, Debug)]
pub struct Call2(pub fn(u64, f64, f64) -> f64);

/// Functions are equal if their addresses are: one with two addresses counts as two, which costs only a copy.
macro_rules! equal_by_address {
    ($($name:ident)*) => { $(
        impl PartialEq for $name {
            fn eq(&self, other: &Self) -> bool {
                std::ptr::fn_addr_eq(self.0, other.0)
            }
        }
        impl Eq for $name {}
        impl Hash for $name {
            fn hash<H: Hasher>(&self, state: &mut H) {
                (self.0 as *const ()).hash(state);
            }
        }
    )* };
}
equal_by_address! { Call1 Call2 }

/// One instruction: `table[out] = op(table[a], table[b], table[c])` for every element of the chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Instr {
    /// What to do.
    pub op: Op,
    /// The first operand, an index into the table of places: slots first, then operands used in place.
    pub a: u16,
    /// The second operand, or the second result of [`Op::Twin`].
    pub b: u16,
    /// The third operand.
    pub c: u16,
    /// The result.
    pub out: u16,
}

/// What an instruction does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    /// A function of one argument.
    Unary(Unary, Kind),
    /// A function of two arguments.
    Binary(Binary, Kind),
    /// A comparison of two elements of a kind.
    Compare(Compare, Kind),
    /// `a ? b : c`, where `a` is a truth value.
    Select(Kind),
    /// Another kind.
    Convert(Kind, Kind),
    /// Two operations at once.
    Pair(Pair, Kind),
    /// Two functions of `a`: the first into `out`, the second into `b`.
    Twin(Twin, Kind),
    /// A whole power.
    Power(i32, Kind),
    /// A function of one argument, called element by element, with a number that selects it.
    Call1(Call1, u64, Kind),
    /// A function of two arguments, called element by element.
    Call2(Call2, u64, Kind),
    /// Joins the columns of each row: full level to row level.
    JoinCols(Join, Kind),
    /// Sums `a * b` over the columns of each row: the bits are those of a multiplication and a join.
    Dot(Kind),
    /// Repeats each row's element along its columns: row level to full level.
    Spread(Kind),
    /// Fills `out` from the input with this number.
    Load(u16),
    /// Fills `out` from the blocks with this number.
    Blocks(u16),
    /// Fills `out` from the lookup with this number.
    Take(u16),
    /// Writes `a` to the output with this number.
    Store(u16),
    /// Joins `a` to the accumulator with this number.
    Accumulate(u16),
    /// Joins `a * b` to the accumulator with this number, which sums; `a` may have row level, and is then the same in all
    /// columns. The bits are those of the instructions one by one.
    AccumulateProduct(u16),
}

impl Op {
    /// Whether it takes no longer than reading and writing its elements in the first-level cache.
    pub(super) fn is_quick(self) -> bool {
        match self {
            Op::Unary(f, _) => {
                use Unary::{Abs, Copy, Neg, Not, Relu, Sign, Square};
                matches!(f, Copy | Neg | Abs | Sign | Square | Relu | Not)
            }
            Op::Binary(f, _) => {
                use Binary::{Add, And, Copysign, Max, Min, Mul, Or, Sub, Xor};
                matches!(f, Add | Sub | Mul | Max | Min | And | Or | Xor | Copysign)
            }
            Op::Compare(..)
            | Op::Select(_)
            | Op::Convert(..)
            | Op::Pair(..)
            | Op::Load(_)
            | Op::Blocks(_)
            | Op::Take(_)
            | Op::Store(_)
            | Op::Accumulate(_)
            | Op::AccumulateProduct(_) => true,
            Op::Twin(..)
            | Op::Power(..)
            | Op::Call1(..)
            | Op::Call2(..)
            | Op::JoinCols(..)
            | Op::Dot(_)
            | Op::Spread(_) => false,
        }
    }
}
