//! Code at a block of points: a place is a row of numbers, one for each point.

use super::one::{call1, call2, compare};
use super::{Code, Instr, LANES, Op, fill};
use crate::Float;
use crate::arena::Line;
use crate::dispatch::{Work, dispatch, is_fused};
use crate::region::{Kind, Pair, loops};
use crate::transpose::transpose;

/// Eight numbers: a row is some of them.
type Eight = [f64; LANES];

/// The memory of one thread.
pub(super) struct PointBlock<'a> {
    code: &'a Code,
    numbers: &'a mut [f64],
}

impl<'a> PointBlock<'a> {
    /// Over memory for all places and one more.
    pub(super) fn new(code: &'a Code, lines: &'a mut [Line]) -> Self {
        let count = lines.len() * LANES;
        assert!(count >= (code.parts.places + 1) * code.width, "the places of a block");
        // SAFETY: a line is 64 bytes of plain data, aligned for numbers; every pattern of bits is a number. Test
        // `one_point_and_many_agree_with_the_definition`.
        let numbers = unsafe { std::slice::from_raw_parts_mut(lines.as_mut_ptr().cast(), count) };
        PointBlock { code, numbers }
    }

    /// The rows of the results, and of each how many guards did not hold.
    pub(super) fn run(&mut self, points: &[f64], rows: &mut [f64]) {
        let (parts, width) = (&self.code.parts, self.code.width);
        for (k, &constant) in parts.constants.iter().enumerate() {
            self.numbers[(parts.inputs + k) * width..][..width].fill(constant);
        }
        let row = parts.results + 1;
        let mut points = points;
        for rows in rows.chunks_mut(width * row) {
            let count = rows.len() / row;
            let (these, rest) = points.split_at(count * parts.inputs);
            points = rest;
            fill(these, parts.inputs, self.numbers, width);
            let failed = parts.places * width;
            self.numbers[failed..failed + width].fill(0.0);
            run(self.code, self.numbers, width);
            let first = parts.results_at * width;
            transpose([count, parts.results], self.numbers, first, width.cast_signed(), rows, row);
            for (row, &failed) in rows.chunks_exact_mut(row).zip(&self.numbers[failed..]) {
                row[parts.results] = failed;
            }
        }
    }
}

/// The code on one block whose rows have this many numbers, a power of two and no fewer than a line has.
pub(super) fn run(code: &Code, numbers: &mut [f64], width: usize) {
    assert!(width.is_power_of_two() && width >= LANES, "rows of {width} numbers");
    // Of the narrowest blocks a row is one group, and there are no loops.
    match width {
        LANES => dispatch(BlockRun::<true> { code, width, numbers }),
        _ => dispatch(BlockRun::<false> { code, width, numbers }),
    }
}

/// All instructions on one block; `NARROW` if a row is one group of eight numbers.
struct BlockRun<'a, const NARROW: bool> {
    code: &'a Code,
    width: usize,
    numbers: &'a mut [f64],
}

/// Where the rows of an instruction lie.
#[derive(Clone, Copy)]
struct Rows {
    a: *const Eight,
    b: *const Eight,
    c: *const Eight,
    out: *mut Eight,
    /// Groups of eight numbers in each.
    groups: usize,
}

impl Rows {
    /// `out = f(a)`, number by number.
    ///
    /// # Safety
    /// The rows that are used are inside of the block, and the result is an operand or does not overlap it.
    #[inline(always)]
    unsafe fn map1(self, f: impl Fn(f64) -> f64) {
        for k in 0..self.groups {
            // SAFETY: the caller's promise.
            unsafe {
                let a = *self.a.add(k);
                *self.out.add(k) = std::array::from_fn(|i| f(a[i]));
            }
        }
    }

    /// `out = f(a, b)`
    ///
    /// # Safety
    /// As [`Rows::map1`].
    #[inline(always)]
    unsafe fn map2(self, f: impl Fn(f64, f64) -> f64) {
        for k in 0..self.groups {
            // SAFETY: the caller's promise.
            unsafe {
                let (a, b) = (*self.a.add(k), *self.b.add(k));
                *self.out.add(k) = std::array::from_fn(|i| f(a[i], b[i]));
            }
        }
    }

    /// `out = f(a, b, c)`
    ///
    /// # Safety
    /// As [`Rows::map1`].
    #[inline(always)]
    unsafe fn map3(self, f: impl Fn(f64, f64, f64) -> f64) {
        for k in 0..self.groups {
            // SAFETY: the caller's promise.
            unsafe {
                let (a, b, c) = (*self.a.add(k), *self.b.add(k), *self.c.add(k));
                *self.out.add(k) = std::array::from_fn(|i| f(a[i], b[i], c[i]));
            }
        }
    }
}

impl<const NARROW: bool> Work for BlockRun<'_, NARROW> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let (parts, width) = (&self.code.parts, self.width);
        assert!(self.numbers.len() >= (parts.places + 1) * width, "the places of a block");
        let start = self.numbers.as_mut_ptr();
        // The place of a field that is a function's number is not in the block: no access is made there.
        let shift = width.ilog2();
        let at = |place: u32| start.wrapping_add((place as usize) << shift);
        for instr in &parts.code {
            let rows = Rows {
                a: at(instr.a).cast(),
                b: at(instr.b).cast(),
                c: at(instr.c).cast(),
                out: at(instr.out).cast(),
                groups: if NARROW { 1 } else { width / LANES },
            };
            // SAFETY: `Code::new` checked every place that an instruction reads or writes against the number of places,
            // and that a function does not write where it reads; a place is `width` numbers, and the block has room for
            // all of them. Test `one_point_and_many_agree_with_the_definition`.
            unsafe {
                match instr.op {
                    Op::Mul => rows.map2(|a, b| a * b),
                    Op::Add => rows.map2(|a, b| a + b),
                    Op::Sub => rows.map2(|a, b| a - b),
                    Op::Div => rows.map2(|a, b| a / b),
                    Op::Max => rows.map2(Float::max),
                    Op::Min => rows.map2(Float::min),
                    Op::Pair(Pair::MulAdd) => rows.map3(|a, b, c| a * b + c),
                    Op::Pair(Pair::MulSub) => rows.map3(|a, b, c| a * b - c),
                    Op::Pair(Pair::SubMul) => rows.map3(|a, b, c| c - a * b),
                    Op::Pair(Pair::AddMul) => rows.map3(|a, b, c| (a + b) * c),
                    Op::Pair(Pair::SubTimes) => rows.map3(|a, b, c| (a - b) * c),
                    Op::Pair(Pair::MulMul) => rows.map3(|a, b, c| a * b * c),
                    Op::Pair(Pair::AddAdd) => rows.map3(|a, b, c| a + b + c),
                    Op::Pair(Pair::Fused) => fused(rows),
                    Op::Copy => rows.map1(|a| a),
                    Op::Neg => rows.map1(|a| -a),
                    Op::Abs => rows.map1(f64::abs),
                    Op::Square => rows.map1(|a| a * a),
                    Op::Sqrt => rows.map1(f64::sqrt),
                    Op::Recip => rows.map1(|a| 1.0 / a),
                    // With masks: a choice between numbers may become branches.
                    Op::Select => rows.map3(|a, b, c| {
                        let keep = u64::from(a != 0.0).wrapping_neg();
                        f64::from_bits((b.to_bits() & keep) | (c.to_bits() & !keep))
                    }),
                    _ => rare(self.code, instr, rows, at(parts.places as u32), at(instr.b)),
                }
            }
        }
    }
}

/// `out = a * b + c`, rounded once where that is an instruction.
///
/// # Safety
/// As [`Rows::map1`].
#[inline(never)]
unsafe fn fused(rows: Rows) {
    struct Loop<const FUSED: bool>(Rows);
    impl<const FUSED: bool> Work for Loop<FUSED> {
        type Output = ();
        #[inline(always)]
        fn run(self) {
            // SAFETY: the caller of `fused` promises it.
            unsafe { self.0.map3(|a, b, c| if FUSED { a.mul_add(b, c) } else { a * b + c }) }
        }
    }
    match is_fused() {
        true => dispatch(Loop::<true>(rows)),
        false => dispatch(Loop::<false>(rows)),
    }
}

/// The other instructions; not inlined, for the sake of the loop.
///
/// # Safety
/// The rows that the instruction uses are inside of the block, and so are that of the failed guards and, for two results, that
/// of the second one; a function does not write where it reads.
#[inline(never)]
unsafe fn rare(code: &Code, instr: &Instr, rows: Rows, failed: *mut f64, second: *mut f64) {
    let n = rows.groups * LANES;
    let (a, b, out) = (rows.a.cast::<u8>(), rows.b.cast::<u8>(), rows.out.cast::<u8>());
    let calls = &code.calls[..];
    // SAFETY: the caller's promise.
    unsafe {
        match instr.op {
            Op::Compare(op) => rows.map2(|a, b| f64::from(u8::from(compare(op, a, b)))),
            Op::And => rows.map2(|a, b| a * b),
            Op::Or => rows.map2(f64::max),
            Op::Xor => rows.map2(|a, b| (a - b).abs()),
            Op::Not => rows.map1(|a| 1.0 - a),
            Op::Guard(op, expected) => Rows { c: failed.cast(), out: failed.cast(), ..rows }
                .map3(|a, b, failed| failed + f64::from(u8::from(compare(op, a, b) != expected))),
            Op::Unary(f) => loops::unary(f, Kind::F64, a, out, n),
            Op::Binary(f) => loops::binary(f, Kind::F64, a, b, out, n),
            Op::Twin(f) => loops::twin(f, Kind::F64, a, [out, second.cast()], n),
            Op::Call1 => rows.map1(|a| call1(calls, instr.c, a)),
            Op::Call2 => rows.map2(|a, b| call2(calls, instr.c, a, b)),
            _ => unreachable!("`BlockRun` has done {instr:?}"),
        }
    }
}
