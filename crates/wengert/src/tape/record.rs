//! One entry of the Wengert list, packed into 64 bits: second operand 28, first 28, operation 8.
//!
//! The second operand is at the top and the operation at the bottom, so that each is one shift or one byte, to pack and
//! to take apart: the other bits fall off by themselves.

use crate::ops::{Binary, Compare, LARGEST_POWER, Unary};

/// How many bits an index has.
pub(crate) const INDEX_BITS: u32 = 28;
const _: () = assert!(LARGEST_POWER < 1 << (INDEX_BITS - 1), "a signed exponent stands in the place of an index");
/// The bits of an index.
pub(crate) const INDEX_MASK: u64 = (1 << INDEX_BITS) - 1;

/// Which operands of a two-argument operation are on the list; the other one is a constant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Form {
    /// `op(a, b)`
    Both,
    /// `op(a, constant b)`
    Right,
    /// `op(constant b, a)`
    Left,
}

impl Form {
    const ALL: [Form; 3] = [Form::Both, Form::Right, Form::Left];
}

/// One of the two operands of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    A,
    B,
}

/// What a record says. `a` and `b` are the indices of its operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Op {
    /// An independent variable.
    Input,
    /// The constant number `b`; or a value of the level's Program with this number, and `a` is 1 if
    /// a derivative flows to it from a variable.
    Constant,
    /// The same value: the input of a nested recording.
    Copy,
    /// `op(a)`
    Unary(Unary),
    /// A function of two arguments.
    Binary(Binary, Form),
    /// A comparison that steered control flow; its value is the outcome, 1 or 0.
    Guard(Compare, Form),
    /// A comparison for a later `select`; its value is the outcome, 1 or 0.
    Condition(Compare, Form),
    /// The opposite of condition `a`.
    Not,
    /// Both conditions.
    And,
    /// One of the conditions.
    Or,
    /// Announces the condition `a` of the `select` in the next record.
    Choose,
    /// `a` if the condition announced before holds, else `b`.
    Select,
    /// The number of `a`, which no derivative flows to, was taken out (recorded on diagnostic runs only).
    Taken,
    /// Block `b`, a loop whose results are the next records: see `block/mod.rs`.
    Loop,
    /// A result of the loop that was announced before.
    Result,
    /// The end of the results of block `b`, where its cotangents are known.
    LoopEnd,
}

/// Codes: plain operations first, then the families.
const UNARY: u8 = 16;
const BINARY: u8 = 96;
const GUARD: u8 = 172;
const CONDITION: u8 = 200;
const PLAIN: [Op; 12] = [
    Op::Input,
    Op::Constant,
    Op::Copy,
    Op::Not,
    Op::And,
    Op::Or,
    Op::Choose,
    Op::Select,
    Op::Taken,
    Op::Loop,
    Op::Result,
    Op::LoopEnd,
];

const _: () = assert!(UNARY + Unary::COUNT <= BINARY);
const _: () = assert!(BINARY + 3 * Binary::COUNT <= GUARD);
const _: () = assert!(GUARD + 3 * Compare::COUNT <= CONDITION);
const _: () = assert!(CONDITION as u16 + 3 * (Compare::COUNT as u16) <= 256);

/// Where the operands begin.
const A: u32 = 8;
const B: u32 = A + INDEX_BITS;

/// A packed record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Record(pub(crate) u64);

impl Record {
    /// Packs; only the low 28 bits of `a` and `b` count, so that tags can be given as they are.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) const fn new(code: u8, a: u64, b: u64) -> Self {
        Record((b << B) | ((a & INDEX_MASK) << A) | code as u64)
    }

    /// The first operand.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) const fn a(self) -> usize {
        ((self.0 >> A) & INDEX_MASK) as usize
    }

    /// The second operand: an index, the index of a constant, or a number that belongs to the
    /// operation.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) const fn b(self) -> usize {
        (self.0 >> B) as usize
    }

    /// The operand on this side.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) const fn operand(self, side: Side) -> usize {
        match side {
            Side::A => self.a(),
            Side::B => self.b(),
        }
    }

    /// The code of the operation, as [`Op::encode`] gives it.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) const fn code(self) -> u8 {
        self.0 as u8
    }

    /// The operation.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn op(self) -> Op {
        let code = self.code();
        match code {
            UNARY..BINARY => {
                // The number is signed: bring its 28 bits to the top and back.
                let number = ((self.b() as u32) << 4).cast_signed() >> 4;
                Op::Unary(Unary::decode(code - UNARY, number.cast_unsigned()))
            }
            BINARY..GUARD => {
                let code = code - BINARY;
                Op::Binary(Binary::decode(code / 3, 0), Form::ALL[usize::from(code % 3)])
            }
            GUARD..CONDITION => {
                let code = code - GUARD;
                Op::Guard(Compare::decode(code / 3, 0), Form::ALL[usize::from(code % 3)])
            }
            CONDITION.. => {
                let code = code - CONDITION;
                Op::Condition(Compare::decode(code / 3, 0), Form::ALL[usize::from(code % 3)])
            }
            code => PLAIN[usize::from(code)],
        }
    }

    /// The same record with another second field.
    pub(crate) const fn with_b(self, b: usize) -> Self {
        Record::new(self.code(), self.a() as u64, b as u64)
    }

    /// The same record with its operands renumbered.
    pub(crate) fn map_operands(self, mut map: impl FnMut(usize) -> usize) -> Self {
        let code = self.code();
        let (uses_a, uses_b) = self.op().operands();
        let a = if uses_a { map(self.a()) } else { self.a() };
        let b = if uses_b { map(self.b()) } else { self.b() };
        Record::new(code, a as u64, b as u64)
    }
}

impl Op {
    /// The code of the operation, and the number it carries in place of a second operand.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) const fn encode(self) -> (u8, u64) {
        match self {
            Op::Input => (0, 0),
            Op::Constant => (1, 0),
            Op::Copy => (2, 0),
            Op::Not => (3, 0),
            Op::And => (4, 0),
            Op::Or => (5, 0),
            Op::Choose => (6, 0),
            Op::Select => (7, 0),
            Op::Taken => (8, 0),
            Op::Loop => (9, 0),
            Op::Result => (10, 0),
            Op::LoopEnd => (11, 0),
            Op::Unary(op) => {
                let (code, number) = op.encode();
                (UNARY + code, number as u64)
            }
            Op::Binary(op, form) => (BINARY + 3 * op.encode().0 + form as u8, 0),
            Op::Guard(op, form) => (GUARD + 3 * op.encode().0 + form as u8, 0),
            Op::Condition(op, form) => (CONDITION + 3 * op.encode().0 + form as u8, 0),
        }
    }

    /// Whether it belongs to a loop: `b` is then no operand, and what a sweep does stands in `block/`.
    pub(crate) const fn is_of_loop(self) -> bool {
        matches!(self, Op::Loop | Op::Result | Op::LoopEnd)
    }

    /// Whether `a` and `b` are indices of operands on the list.
    pub(crate) const fn operands(self) -> (bool, bool) {
        match self {
            Op::Input | Op::Constant | Op::Loop | Op::Result | Op::LoopEnd => (false, false),
            Op::Copy | Op::Unary(_) | Op::Not | Op::Choose | Op::Taken => (true, false),
            Op::And | Op::Or | Op::Select => (true, true),
            Op::Binary(_, form) | Op::Guard(_, form) | Op::Condition(_, form) => (true, matches!(form, Form::Both)),
        }
    }

    /// Whether `b` is the index of a constant.
    pub(crate) const fn has_constant(self) -> bool {
        match self {
            Op::Constant => true,
            Op::Binary(_, form) | Op::Guard(_, form) | Op::Condition(_, form) => !matches!(form, Form::Both),
            Op::Input | Op::Copy | Op::Unary(_) | Op::Not | Op::And | Op::Or | Op::Choose | Op::Select | Op::Taken => {
                false
            }
            Op::Loop | Op::Result | Op::LoopEnd => false,
        }
    }

    /// The number that belongs to the operation, if it carries one.
    pub(crate) const fn number(self) -> Option<i64> {
        match self {
            Op::Unary(Unary::Powi(n)) => Some(n as i64),
            Op::Unary(Unary::Polygamma(n) | Unary::Sinc(n) | Unary::Erfcx(n) | Unary::LogNormalCdf(n)) => {
                Some(n as i64)
            }
            _ => None,
        }
    }

    /// The name in messages and listings.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Op::Input => "input",
            Op::Constant => "constant",
            Op::Copy => "copy",
            Op::Unary(op) => op.name(),
            Op::Binary(op, _) => op.name(),
            Op::Guard(op, _) | Op::Condition(op, _) => op.name(),
            Op::Not => "not",
            Op::And => "and",
            Op::Or => "or",
            Op::Choose => "choose",
            Op::Select => "select",
            Op::Taken => "value",
            Op::Loop => "loop",
            Op::Result => "result",
            Op::LoopEnd => "loop_end",
        }
    }
}

#[cfg(test)]
mod tests;
