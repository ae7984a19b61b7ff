//! Straight-line code over double-precision numbers, at one point or at many.
//!
//! [`Code`] is a list of [`Instr`]s over *places*, numbered pieces of memory: the inputs first, then the constants, then the
//! results and whatever lives in between. [`Code::run_one`] runs it at one point, where a place is a number.
//! [`Code::run_many`] takes a *block* of points through the whole list before the next block: a place is then a row of
//! numbers, one for each point, every instruction is decoded once for all of them, and the places of a block stay in the
//! second-level cache. Blocks are divided among threads.
//!
//! Functions other than arithmetic, square roots and extremes are those of [`math`](crate::math) at many points, and a call
//! of the function that comes with the instruction at one: its last bits may differ, unless it is one [of many](Function::Many1).
//! Everything else has the same bits.
//!
//! # Invariants
//!
//! - **[`Code`] that exists is safe to run**: [`Code::new`] checks that every operand has been computed before it is
//!   read, that every place and function exists, and that constants are not overwritten.
//! - **The bits of a point do not depend on the other points, nor on the number of threads.**

mod block;
mod many;
mod one;
#[cfg(test)]
mod tests;
mod verify;

use crate::arena::Line;
use crate::cost::{BLOCK_BYTES, BLOCK_POINTS, BLOCK_WORK, BLOCKS_BYTES};
use crate::dispatch::{dispatch, is_fused};
use crate::parallel::for_chunks_with;
use crate::pool::Pool;
use crate::region::{Binary, Call1, Call2, Compare, Pair, Twin, Unary};
use crate::transpose::transpose;
use block::PointBlock;

pub use crate::region::Invalid;

/// What an instruction does with the numbers at its places `a`, `b` and `c`. A condition is 1 or 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// `a`
    Copy,
    /// `-a`
    Neg,
    /// `|a|`
    Abs,
    /// `a * a`
    Square,
    /// The square root of `a`.
    Sqrt,
    /// `1 / a`
    Recip,
    /// `a + b`
    Add,
    /// `a - b`
    Sub,
    /// `a * b`
    Mul,
    /// `a / b`
    Div,
    /// The larger one, as [`Float::max`](crate::Float::max).
    Max,
    /// The smaller one, as [`Float::min`](crate::Float::min).
    Min,
    /// Two operations on `a`, `b` and `c`, each rounded.
    Pair(Pair),
    /// The condition that `a` and `b` compare so.
    Compare(Compare),
    /// Whether both conditions hold.
    And,
    /// Whether one of the conditions holds.
    Or,
    /// Whether exactly one of the conditions holds.
    Xor,
    /// Whether the condition does not hold.
    Not,
    /// `b` where the condition `a` holds, else `c`.
    Select,
    /// The code is valid only for points at which `a` and `b` compare so, or do not.
    Guard(Compare, bool),
    /// A function of `a`; `c` is the number of the [`Function`] that computes it at one point.
    Unary(Unary),
    /// A function of `a` and `b`; `c` is the number of the [`Function`] that computes it at one point.
    Binary(Binary),
    /// Two functions of `a`: the first into `out`, the second into `b`. At one point the first is the [`Function`] with
    /// number `c`, and the second the one after it.
    Twin(Twin),
    /// The [`Function`] with number `c`, of `a`.
    Call1,
    /// The [`Function`] with number `c`, of `a` and `b`.
    Call2,
}

/// One instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Instr {
    /// What to do.
    pub op: Op,
    /// The place of the first operand; any place if there is none, as with the others.
    pub a: u32,
    /// The place of the second operand.
    pub b: u32,
    /// The place of the third operand, or the number of a function.
    pub c: u32,
    /// The place of the result.
    pub out: u32,
}

/// A function that an instruction calls for every number, with a number that selects it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Function {
    /// Of one number.
    One(Call1, u64),
    /// Of two numbers.
    Two(Call2, u64),
    /// Of one number, with the bits that the loop over many numbers gives.
    Many1(Unary),
    /// Of two numbers, with the bits that the loop over many numbers gives.
    Many2(Binary),
    /// A whole power, with the bits that the loop over many numbers gives.
    Power(i32),
}

impl Function {
    /// How many numbers it is a function of.
    pub const fn arguments(self) -> usize {
        match self {
            Function::One(..) | Function::Many1(_) | Function::Power(_) => 1,
            Function::Two(..) | Function::Many2(_) => 2,
        }
    }
}

/// What code consists of; see [`Code::new`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Parts {
    /// How many inputs there are: the first places.
    pub inputs: usize,
    /// The places after those. No instruction writes them.
    pub constants: Vec<f64>,
    /// The first place of the results, which follow each other.
    pub results_at: usize,
    /// How many results there are.
    pub results: usize,
    /// How many places there are.
    pub places: usize,
    /// The functions that instructions call.
    pub calls: Vec<Function>,
    /// The instructions in order.
    pub code: Vec<Instr>,
}

/// Checked straight-line code; see the [module](self).
///
/// ```
/// use wengert_kernels::Pool;
/// use wengert_kernels::straight::{Code, Instr, Op, Parts, Workspace};
///
/// // x * y, x - 3
/// let instr = |op, a, b, out| Instr { op, a, b, c: 0, out };
/// let code = vec![instr(Op::Mul, 0, 1, 3), instr(Op::Sub, 0, 2, 4)];
/// let parts = Parts { inputs: 2, constants: vec![3.0], results_at: 3, results: 2, places: 5, code, ..Parts::default() };
/// let code = Code::new(parts)?;
/// let mut memory = Workspace::default();
/// assert_eq!(code.run_one(&mut memory, &[5.0, 2.0]), Some(&[10.0, 2.0][..]));
/// let mut rows = [0.0; 6];
/// code.run_many(&mut memory, &[5.0, 2.0, 1.0, 4.0], &mut rows, &Pool::new(1));
/// assert_eq!(rows, [10.0, 2.0, 0.0, 4.0, -2.0, 0.0]);
/// # Ok::<(), wengert_kernels::straight::Invalid>(())
/// ```
#[derive(Clone, Debug)]
pub struct Code {
    parts: Parts,
    /// The functions that a call at one point runs.
    calls: Vec<Function>,
    /// The code for one point; none if there are too many places.
    words: Vec<u64>,
    /// Whether something in it is rounded once.
    is_fused: bool,
    /// Points of a block.
    width: usize,
}

/// Memory that [`Code`] runs in, kept between runs. Any code may use it.
#[derive(Clone, Debug, Default)]
pub struct Workspace {
    /// The places of one point.
    one: Vec<f64>,
    /// The places of a block for each thread.
    blocks: Vec<Line>,
}

/// Numbers of a [`Line`].
const LANES: usize = size_of::<Line>() / size_of::<f64>();

impl Code {
    /// Checks what the code consists of.
    ///
    /// # Errors
    /// If an operand is read before it is computed, a place or a function does not exist, a constant would be overwritten, or
    /// a function would write where it reads.
    pub fn new(parts: Parts) -> Result<Code, Invalid> {
        verify::check(&parts)?;
        let bytes = parts.places * size_of::<f64>();
        let (least, most) = BLOCK_POINTS;
        let width = (BLOCK_BYTES / bytes.max(1)).clamp(least, most);
        let (words, calls) = (one::pack(&parts), many::for_one(&parts.calls));
        let is_fused = is_fused() && parts.code.iter().any(|instr| instr.op == Op::Pair(Pair::Fused));
        // A power of two, at least one line.
        Ok(Code { parts, calls, words, is_fused, width: 1 << width.ilog2() })
    }

    /// What the code consists of.
    pub fn parts(&self) -> &Parts {
        &self.parts
    }

    /// How many points a block has.
    pub fn width(&self) -> usize {
        self.width
    }

    /// The results at one point; `None` if a guard does not hold there.
    ///
    /// # Panics
    /// If the point does not have as many numbers as there are inputs.
    pub fn run_one<'a>(&self, memory: &'a mut Workspace, point: &[f64]) -> Option<&'a [f64]> {
        let parts = &self.parts;
        assert!(point.len() == parts.inputs, "{} inputs, not {}", parts.inputs, point.len());
        let places = &mut memory.one;
        if places.len() < self.memory() {
            places.resize(self.memory(), 0.0);
        }
        self.begin(places);
        places[..parts.inputs].copy_from_slice(point);
        self.again(places).then(|| &memory.one[parts.results_at..parts.results_at + parts.results])
    }

    /// How many numbers [`Code::begin`] takes.
    pub fn memory(&self) -> usize {
        // One more that takes what nobody reads.
        self.parts.places + 2
    }

    /// Writes the constants into memory in which the code is to be run by [`Code::again`].
    ///
    /// # Panics
    /// If there are fewer numbers than [`Code::memory`] says.
    pub fn begin(&self, memory: &mut [f64]) {
        let parts = &self.parts;
        memory[parts.inputs..parts.inputs + parts.constants.len()].copy_from_slice(&parts.constants);
    }

    /// Runs the code at one point in memory that has begun: the inputs are its first numbers, the results those at
    /// `parts().results_at`. Whether all guards hold. What is not a result may be overwritten, constants are not.
    ///
    /// ```
    /// use wengert_kernels::straight::{Code, Instr, Op, Parts};
    /// // x / 2, again and again
    /// let code = vec![Instr { op: Op::Mul, a: 0, b: 1, c: 0, out: 2 }];
    /// let parts = Parts { inputs: 1, constants: vec![0.5], results_at: 2, results: 1, places: 3, code, ..Parts::default() };
    /// let code = Code::new(parts)?;
    /// let mut memory = vec![0.0; code.memory()];
    /// code.begin(&mut memory);
    /// memory[0] = 80.0;
    /// for _ in 0..4 {
    ///     assert!(code.again(&mut memory));
    ///     memory[0] = memory[2];
    /// }
    /// assert_eq!(memory[2], 5.0);
    /// # Ok::<(), wengert_kernels::straight::Invalid>(())
    /// ```
    ///
    /// # Panics
    /// If there are fewer numbers than [`Code::memory`] says.
    #[inline]
    pub fn again(&self, memory: &mut [f64]) -> bool {
        match self.words.is_empty() {
            true => one::run(&self.parts, &self.calls, memory),
            // What is rounded once is one instruction where there is one, else a call.
            false if self.is_fused => {
                let (words, parts, calls) = (&self.words, &self.parts, &self.calls);
                dispatch(one::Fused { words, parts, calls, places: memory })
            }
            false => one::run_packed(&self.words, &self.parts, &self.calls, memory),
        }
    }

    /// How many numbers [`Code::begin_rows`] takes for rows of `width`.
    pub fn rows_memory(&self, width: usize) -> usize {
        // One more that counts guards.
        (self.parts.places + 1) * width
    }

    /// As [`Code::begin`], for [`Code::again_rows`].
    ///
    /// # Panics
    /// If there are fewer numbers than [`Code::rows_memory`] says, or the code has guards.
    pub fn begin_rows(&self, memory: &mut [f64], width: usize) {
        let parts = &self.parts;
        assert!(!parts.code.iter().any(|instr| matches!(instr.op, Op::Guard(..))), "rows have no guards");
        memory.fill(0.0);
        for (row, &constant) in memory.chunks_exact_mut(width).skip(parts.inputs).zip(&parts.constants) {
            row.fill(constant);
        }
    }

    /// As [`Code::again`], with a row of `width` numbers in every place: the code runs for each of them, with the functions of many
    /// points.
    ///
    /// ```
    /// use wengert_kernels::straight::{Code, Instr, Op, Parts};
    /// // x / 2 of eight numbers, again and again
    /// let code = vec![Instr { op: Op::Mul, a: 0, b: 1, c: 0, out: 2 }];
    /// let parts = Parts { inputs: 1, constants: vec![0.5], results_at: 2, results: 1, places: 3, code, ..Parts::default() };
    /// let code = Code::new(parts)?;
    /// let mut memory = vec![0.0; code.rows_memory(8)];
    /// code.begin_rows(&mut memory, 8);
    /// memory[..8].copy_from_slice(&[8.0, 16.0, 24.0, 32.0, 40.0, 48.0, 56.0, 64.0]);
    /// for _ in 0..3 {
    ///     code.again_rows(&mut memory, 8);
    ///     memory.copy_within(16..24, 0);
    /// }
    /// assert_eq!(memory[..8], [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]);
    /// # Ok::<(), wengert_kernels::straight::Invalid>(())
    /// ```
    ///
    /// # Panics
    /// If there are fewer numbers than [`Code::rows_memory`] says, or `width` is no power of two or less than 8.
    #[inline]
    pub fn again_rows(&self, memory: &mut [f64], width: usize) {
        block::run(self, memory, width);
    }

    /// The results at many points, a row for each of them, with one more number: how many guards do not hold there. If it is
    /// not 0, the rest of the row is undefined.
    ///
    /// # Panics
    /// If the lengths do not fit each other, or a function that is called panics.
    pub fn run_many(&self, memory: &mut Workspace, points: &[f64], rows: &mut [f64], pool: &Pool) {
        let (parts, row) = (&self.parts, self.parts.results + 1);
        let count = rows.len() / row;
        assert!(rows.len() == count * row, "{} numbers in rows of {row}", rows.len());
        assert!(points.len() == count * parts.inputs, "{count} points of {} inputs", parts.inputs);
        let block = self.width;
        // Some blocks for every thread to take, but no less work than it takes to begin.
        let work = parts.code.len().max(1) * block;
        let blocks = count.div_ceil(block);
        let chunk = (BLOCK_WORK / work).max(1).max(blocks.div_ceil(8 * pool.threads()));
        // One more place: how many guards failed.
        let lines = (parts.places + 1) * block / LANES;
        let own = Pool::new(1);
        let alone = chunk >= blocks || lines.saturating_mul(pool.threads()) > BLOCKS_BYTES / size_of::<Line>();
        let pool = if alone { &own } else { pool };
        let wanted = lines * pool.threads();
        if memory.blocks.len() < wanted {
            memory.blocks.resize(wanted, Line([0; 64]));
        }
        let blocks = &mut memory.blocks[..wanted];
        for_chunks_with(pool, rows, chunk * block * row, blocks, |number, rows, lines| {
            let first = number * chunk * block;
            let count = rows.len() / row;
            let points = &points[first * parts.inputs..(first + count) * parts.inputs];
            PointBlock::new(self, lines).run(points, rows);
        });
    }
}

/// Writes points, which are rows, as columns of a block; the last point once more for the rest of the block.
fn fill(points: &[f64], inputs: usize, columns: &mut [f64], width: usize) {
    let count = points.len() / inputs.max(1);
    transpose([inputs, count], points, 0, inputs.cast_signed(), columns, width);
    if count < width && count > 0 {
        for column in columns.chunks_exact_mut(width).take(inputs) {
            let last = column[count - 1];
            column[count..].fill(last);
        }
    }
}
