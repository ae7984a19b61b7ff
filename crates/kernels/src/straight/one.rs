//! Code at one point: a place is a number, and an instruction a branch of a `match`.
//!
//! What one point costs is reading instructions, jumping to the branch of each, and waiting for a number that was stored just
//! before. So an instruction is packed into one word of 64 bits. Sums and products are told apart by single bits, whose
//! branches a processor predicts better than a jump to one of many targets. A word that takes the result of the word before
//! finds it in a register. An operation on three numbers is two words, unless one of the numbers is where the result goes or
//! the result before. Code with more places than the fields of a word can tell is run as it is.

use super::{Function, Instr, Op, Parts};
use crate::Float;
use crate::dispatch::{Work, is_fused};
use crate::region::{Compare, Pair, Twin};

/// Bits of the operation.
const OP: u32 = 7;
/// Bits of a place.
const PLACE: u32 = 19;
const MASK: u64 = (1 << PLACE) - 1;

// ---- words ----------------------------------------------------------------------------------------
//
// A word has the fields `a`, `b` and `out`, which are places, above the bits of its operation. The result goes to `out`, and
// `before` is the result of the word before. Without any of these bits it is `a * b`.

/// Something else than a sum or a product: a [`Rare`] stands in the other bits.
const RARE: u64 = 1;
/// `before` takes the place of the number at `a`.
const BEFORE: u64 = 2;
/// A sum, not a product.
const SUM: u64 = 4;
/// Of a sum: `a - b`. Of a product: it is added to the number at `out`.
const MORE: u64 = 8;
/// Of a product with [`MORE`]: it is subtracted.
const LESS: u64 = 16;

/// What the other words do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
enum Rare {
    Div,
    /// `before / b`
    DivLast,
    /// `a / before`
    DivLastB,
    /// `a - before`
    SubLastB,
    /// `before + a * b`
    AddOn,
    /// `before - a * b`
    SubOn,
    /// `a * b - out`
    SubOut,
    /// `before + a * b`, rounded as in products of matrices.
    FusedOn,
    /// `out + a * b`, rounded so.
    FusedOut,
    Max,
    Min,
    Neg,
    Square,
    Copy,
    Abs,
    Sqrt,
    Recip,
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    Unordered,
    And,
    Or,
    Xor,
    Not,
    /// `a` if the result before, a condition, holds, else `b`
    SelectLast,
    /// The code is not valid unless the condition before holds.
    Holds,
    /// The code is not valid if the condition before holds.
    Fails,
    /// The function with number `b`, of `a`.
    Call1,
    /// The function with number `b`, of `a` and the result before.
    Call2,
    /// Both functions of `a`, with the bits of many: the first is the result, the second goes to `b`.
    TanhSech2,
    SinCos,
    GeluTanh,
}

impl Rare {
    /// The bits of the operation.
    const fn bits(self) -> u64 {
        (self as u64) << 1 | RARE
    }
}

const _: () = assert!((Rare::GeluTanh as u64) < 1 << (OP - 1) && OP + 3 * PLACE <= u64::BITS);

/// Code as words; none if there are too many places.
pub(super) fn pack(parts: &Parts) -> Vec<u64> {
    // One more place takes what nobody reads from memory.
    if parts.places as u64 >= MASK || parts.calls.len() as u64 > MASK {
        return Vec::new();
    }
    let mut packer = Packer { words: Vec::with_capacity(parts.code.len()), last: u32::MAX, spare: parts.places as u32 };
    parts.code.iter().for_each(|instr| packer.instr(instr, &parts.calls));
    packer.words
}

struct Packer {
    words: Vec<u64>,
    /// The place of the result of the word before.
    last: u32,
    /// A place that no instruction reads.
    spare: u32,
}

impl Packer {
    fn push(&mut self, operation: u64, a: u32, b: u32, out: u32) {
        let fields = u64::from(a) << OP | u64::from(b) << (OP + PLACE) | u64::from(out) << (OP + 2 * PLACE);
        self.words.push(fields | operation);
        self.last = out;
    }

    fn rare(&mut self, rare: Rare, a: u32, b: u32, out: u32) {
        self.push(rare.bits(), a, b, out);
    }

    /// A sum or a product whose operands may be exchanged.
    fn symmetric(&mut self, operation: u64, a: u32, b: u32, out: u32) {
        match self.last {
            before if before == a => self.push(operation | BEFORE, a, b, out),
            before if before == b => self.push(operation | BEFORE, b, a, out),
            _ => self.push(operation, a, b, out),
        }
    }

    fn binary(&mut self, op: Op, a: u32, b: u32, out: u32) {
        match op {
            Op::Mul => self.symmetric(0, a, b, out),
            Op::Add => self.symmetric(SUM, a, b, out),
            Op::Sub if self.last == a => self.push(SUM | MORE | BEFORE, a, b, out),
            Op::Sub if self.last == b => self.rare(Rare::SubLastB, a, b, out),
            Op::Sub => self.push(SUM | MORE, a, b, out),
            _ if self.last == a => self.rare(Rare::DivLast, a, b, out),
            _ if self.last == b => self.rare(Rare::DivLastB, a, b, out),
            _ => self.rare(Rare::Div, a, b, out),
        }
    }

    fn pair(&mut self, pair: Pair, instr: &Instr) {
        let Instr { a, b, c, out, .. } = *instr;
        match pair {
            Pair::MulAdd if self.last == c => self.rare(Rare::AddOn, a, b, out),
            Pair::MulAdd if out == c => self.symmetric(MORE, a, b, out),
            Pair::SubMul if self.last == c => self.rare(Rare::SubOn, a, b, out),
            Pair::SubMul if out == c => self.symmetric(MORE | LESS, a, b, out),
            Pair::MulSub if out == c => self.rare(Rare::SubOut, a, b, out),
            Pair::Fused if self.last != c && out == c => self.rare(Rare::FusedOut, a, b, out),
            Pair::Fused => {
                self.bring(c);
                self.rare(Rare::FusedOn, a, b, out);
            }
            _ => {
                let (first, second) = match pair {
                    Pair::MulAdd => (Op::Mul, SUM | BEFORE),
                    Pair::MulSub => (Op::Mul, SUM | MORE | BEFORE),
                    Pair::SubMul => (Op::Mul, Rare::SubLastB.bits()),
                    Pair::AddMul => (Op::Add, BEFORE),
                    Pair::SubTimes => (Op::Sub, BEFORE),
                    Pair::MulMul => (Op::Mul, BEFORE),
                    Pair::AddAdd => (Op::Add, SUM | BEFORE),
                    Pair::Fused => unreachable!("it is one word"),
                };
                self.binary(first, a, b, self.spare);
                self.push(second, c, c, out);
            }
        }
    }

    /// Makes the number at a place the result before.
    fn bring(&mut self, place: u32) {
        if self.last != place {
            self.rare(Rare::Copy, place, place, self.spare);
        }
    }

    fn instr(&mut self, instr: &Instr, calls: &[Function]) {
        let Instr { op, a, b, c, out } = *instr;
        match op {
            Op::Add | Op::Sub | Op::Mul | Op::Div => self.binary(op, a, b, out),
            Op::Max => self.rare(Rare::Max, a, b, out),
            Op::Min => self.rare(Rare::Min, a, b, out),
            Op::Pair(pair) => self.pair(pair, instr),
            Op::Copy => self.rare(Rare::Copy, a, a, out),
            Op::Neg => self.rare(Rare::Neg, a, a, out),
            Op::Abs => self.rare(Rare::Abs, a, a, out),
            Op::Square => self.rare(Rare::Square, a, a, out),
            Op::Sqrt => self.rare(Rare::Sqrt, a, a, out),
            Op::Recip => self.rare(Rare::Recip, a, a, out),
            Op::Compare(op) => self.rare(comparison(op), a, b, out),
            Op::And => self.rare(Rare::And, a, b, out),
            Op::Or => self.rare(Rare::Or, a, b, out),
            Op::Xor => self.rare(Rare::Xor, a, b, out),
            Op::Not => self.rare(Rare::Not, a, a, out),
            Op::Select => {
                self.bring(a);
                self.rare(Rare::SelectLast, b, c, out);
            }
            Op::Guard(op, expected) => {
                self.rare(comparison(op), a, b, self.spare);
                self.rare(if expected { Rare::Holds } else { Rare::Fails }, a, b, self.spare);
            }
            Op::Unary(_) | Op::Call1 => self.rare(Rare::Call1, a, c, out),
            Op::Binary(_) | Op::Call2 => {
                self.bring(b);
                self.rare(Rare::Call2, a, c, out);
            }
            Op::Twin(twin) if is_of_many(twin, calls, c) => {
                let both = match twin {
                    Twin::TanhSech2 => Rare::TanhSech2,
                    Twin::SinCos => Rare::SinCos,
                    Twin::GeluTanh => Rare::GeluTanh,
                };
                self.rare(both, a, b, out);
            }
            Op::Twin(_) => {
                self.rare(Rare::Call1, a, c, out);
                self.rare(Rare::Call1, a, c + 1, b);
            }
        }
    }
}

fn comparison(op: Compare) -> Rare {
    match op {
        Compare::Eq => Rare::Eq,
        Compare::Ne => Rare::Ne,
        Compare::Lt => Rare::Lt,
        Compare::Le => Rare::Le,
        Compare::Gt => Rare::Gt,
        Compare::Ge => Rare::Ge,
        Compare::Unordered => Rare::Unordered,
    }
}

/// Whether two functions of an operand, from this number on, are those of many numbers.
fn is_of_many(twin: Twin, calls: &[Function], number: u32) -> bool {
    let functions = calls.iter().skip(number as usize).zip(twin.functions());
    functions.take(2).all(|(call, function)| *call == Function::Many1(function))
}

/// Runs packed code, with the functions [for one point](super::many), over its places and one more, of which inputs and constants are filled; false at a guard that does not
/// hold. Nothing in it is rounded once.
#[inline(never)]
pub(super) fn run_packed(words: &[u64], parts: &Parts, calls: &[Function], places: &mut [f64]) -> bool {
    run_words::<false>(words, parts, calls, places)
}

/// [`run_packed`] for code in which some sums are rounded once, compiled where that is an instruction.
pub(super) struct Fused<'a> {
    pub(super) words: &'a [u64],
    pub(super) parts: &'a Parts,
    pub(super) calls: &'a [Function],
    pub(super) places: &'a mut [f64],
}

impl Work for Fused<'_> {
    type Output = bool;

    #[inline(always)]
    fn run(self) -> bool {
        run_words::<true>(self.words, self.parts, self.calls, self.places)
    }
}

/// `a * b + c`, rounded once or twice.
#[inline(always)]
fn times_plus<const FUSED: bool>(a: f64, b: f64, c: f64) -> f64 {
    if FUSED { a.mul_add(b, c) } else { a * b + c }
}

#[inline(always)]
fn run_words<const FUSED: bool>(words: &[u64], parts: &Parts, calls: &[Function], places: &mut [f64]) -> bool {
    assert!(places.len() > parts.places, "places of one point");
    let places = places.as_mut_ptr();
    // SAFETY: `pack` writes places of instructions, which `Code::new` checked against the number of places, and one more
    // place after them; there are as many here. Test `one_point_and_many_agree_with_the_definition`.
    let get = |place: u64| unsafe { *places.add((place & MASK) as usize) };
    let mut last = 0.0;
    for &word in words {
        let (a, b, out) = (word >> OP, word >> (OP + PLACE), word >> (OP + 2 * PLACE));
        last = if word & RARE == 0 {
            let x = if word & BEFORE == 0 { get(a) } else { last };
            let y = get(b);
            if word & SUM != 0 {
                if word & MORE == 0 { x + y } else { x - y }
            } else if word & MORE == 0 {
                x * y
            } else if word & LESS == 0 {
                get(out) + x * y
            } else {
                get(out) - x * y
            }
        } else {
            // SAFETY: the bits are those of a `Rare`, from `Packer::rare`. Test as above.
            let rare = unsafe { std::mem::transmute::<u8, Rare>((word as u8 & ((1 << OP) - 1)) >> 1) };
            match rare {
                Rare::Div => get(a) / get(b),
                Rare::DivLast => last / get(b),
                Rare::DivLastB => get(a) / last,
                Rare::SubLastB => get(a) - last,
                Rare::AddOn => last + get(a) * get(b),
                Rare::SubOn => last - get(a) * get(b),
                Rare::SubOut => get(a) * get(b) - get(out),
                Rare::FusedOn => times_plus::<FUSED>(get(a), get(b), last),
                Rare::FusedOut => times_plus::<FUSED>(get(a), get(b), get(out)),
                Rare::Max => Float::max(get(a), get(b)),
                Rare::Min => Float::min(get(a), get(b)),
                Rare::Neg => -get(a),
                Rare::Square => get(a) * get(a),
                Rare::Copy => get(a),
                Rare::Abs => get(a).abs(),
                Rare::Sqrt => get(a).sqrt(),
                Rare::Recip => 1.0 / get(a),
                Rare::Eq => truth(compare(Compare::Eq, get(a), get(b))),
                Rare::Ne => truth(compare(Compare::Ne, get(a), get(b))),
                Rare::Lt => truth(compare(Compare::Lt, get(a), get(b))),
                Rare::Le => truth(compare(Compare::Le, get(a), get(b))),
                Rare::Gt => truth(compare(Compare::Gt, get(a), get(b))),
                Rare::Ge => truth(compare(Compare::Ge, get(a), get(b))),
                Rare::Unordered => truth(compare(Compare::Unordered, get(a), get(b))),
                Rare::And => get(a) * get(b),
                Rare::Or => get(a).max(get(b)),
                Rare::Xor => (get(a) - get(b)).abs(),
                Rare::Not => 1.0 - get(a),
                Rare::SelectLast if last == 0.0 => get(b),
                Rare::SelectLast => get(a),
                Rare::Holds if last == 0.0 => return false,
                Rare::Fails if last != 0.0 => return false,
                Rare::Holds | Rare::Fails => last,
                Rare::Call1 => call1(calls, (b & MASK) as u32, get(a)),
                Rare::Call2 => call2(calls, (b & MASK) as u32, get(a), last),
                Rare::TanhSech2 | Rare::SinCos | Rare::GeluTanh => {
                    let functions = match rare {
                        Rare::SinCos => Twin::SinCos,
                        Rare::GeluTanh => Twin::GeluTanh,
                        _ => Twin::TanhSech2,
                    };
                    let [first, second] = twin(functions, get(a));
                    // SAFETY: as in `get`.
                    unsafe { *places.add((b & MASK) as usize) = second };
                    first
                }
            }
        };
        // SAFETY: as in `get`.
        unsafe { *places.add((out & MASK) as usize) = last };
    }
    true
}

#[inline(always)]
fn truth(outcome: bool) -> f64 {
    f64::from(u8::from(outcome))
}

/// Runs code as it is, with the functions for one point, over its places, of which inputs and constants are filled; false at a guard that does not hold.
#[inline(never)]
pub(super) fn run(parts: &Parts, calls: &[Function], places: &mut [f64]) -> bool {
    for instr in &parts.code {
        let uses = instr.op.uses();
        let read = |place: u32, which: usize| if which < uses.reads { places[place as usize] } else { 0.0 };
        let (a, b, c) = (read(instr.a, 0), read(instr.b, 1), read(instr.c, 2));
        let value = match instr.op {
            Op::Copy => a,
            Op::Neg => -a,
            Op::Abs => a.abs(),
            Op::Square => a * a,
            Op::Sqrt => a.sqrt(),
            Op::Recip => 1.0 / a,
            Op::Add => a + b,
            Op::Sub => a - b,
            Op::Mul => a * b,
            Op::Div => a / b,
            Op::Max => Float::max(a, b),
            Op::Min => Float::min(a, b),
            Op::Pair(Pair::MulAdd) => a * b + c,
            Op::Pair(Pair::MulSub) => a * b - c,
            Op::Pair(Pair::SubMul) => c - a * b,
            Op::Pair(Pair::AddMul) => (a + b) * c,
            Op::Pair(Pair::SubTimes) => (a - b) * c,
            Op::Pair(Pair::MulMul) => a * b * c,
            Op::Pair(Pair::AddAdd) => a + b + c,
            Op::Pair(Pair::Fused) if is_fused() => a.mul_add(b, c),
            Op::Pair(Pair::Fused) => a * b + c,
            Op::Compare(op) => truth(compare(op, a, b)),
            Op::And => a * b,
            Op::Or => a.max(b),
            Op::Xor => (a - b).abs(),
            Op::Not => 1.0 - a,
            Op::Select => {
                if a == 0.0 {
                    c
                } else {
                    b
                }
            }
            Op::Guard(op, expected) => {
                if compare(op, a, b) != expected {
                    return false;
                }
                continue;
            }
            Op::Unary(_) | Op::Call1 => call1(calls, instr.c, a),
            Op::Binary(_) | Op::Call2 => call2(calls, instr.c, a, b),
            Op::Twin(_) => {
                places[instr.b as usize] = call1(calls, instr.c + 1, a);
                call1(calls, instr.c, a)
            }
        };
        places[instr.out as usize] = value;
    }
    true
}

#[inline(always)]
pub(super) fn compare(op: Compare, x: f64, y: f64) -> bool {
    match op {
        Compare::Eq => x == y,
        Compare::Ne => x != y,
        Compare::Lt => x < y,
        Compare::Le => x <= y,
        Compare::Gt => x > y,
        Compare::Ge => x >= y,
        Compare::Unordered => x.is_nan() | y.is_nan(),
    }
}

#[inline]
pub(super) fn call1(calls: &[Function], number: u32, x: f64) -> f64 {
    match calls[number as usize] {
        Function::One(f, which) => (f.0)(which, x),
        other => unreachable!("`Code::new` has seen a function of one number, not {other:?}"),
    }
}

/// Two functions of a number, with the bits of the loop over many.
#[inline(never)]
fn twin(functions: Twin, x: f64) -> [f64; 2] {
    match functions {
        Twin::TanhSech2 => Float::tanh_sech2(x).into(),
        Twin::GeluTanh => Float::gelu_tanh_with_slope(x).into(),
        Twin::SinCos => {
            let (mut sine, mut cosine) = ([0.0], [0.0]);
            f64::sin_cos_slice(&[x], &mut sine, &mut cosine);
            [sine[0], cosine[0]]
        }
    }
}

#[inline]
pub(super) fn call2(calls: &[Function], number: u32, x: f64, y: f64) -> f64 {
    match calls[number as usize] {
        Function::Two(f, which) => (f.0)(which, x, y),
        other => unreachable!("`Code::new` has seen a function of two numbers, not {other:?}"),
    }
}
