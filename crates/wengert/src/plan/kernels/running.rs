//! Running sums, products, extremes, and linear recurrences: in the order of the definition, so to the bit.

use std::marker::PhantomData;

use wengert_kernels::parallel::for_chunks;
use wengert_kernels::region::Kind;
use wengert_kernels::{Work, dispatch};

use super::{Cell, Kernel, KernelCall, rows_per_part};
use crate::array::Type;
use crate::error::Misfit;
use crate::number::F32;
use crate::ops::Binary;
use crate::plan::kernel::kind;
use crate::primitives::{self, Running};
use crate::real::Real;

/// The lines along an axis.
#[derive(Clone, Copy, Debug)]
struct Lines {
    length: usize,
    /// Elements behind one index of the axis.
    inner: usize,
    reverse: bool,
    size: usize,
}

impl Lines {
    fn new(x: &Type, axis: usize, reverse: bool) -> Self {
        let (length, inner) = (x.shape[axis], x.shape[axis + 1..].iter().product());
        Lines { length, inner, reverse, size: x.size() }
    }

    /// `out_i = step(out_(i-1), a_i, b_i)` along every line, from `out_0 = b_0` on.
    fn run<T: Cell>(&self, call: KernelCall<'_, '_>, step: impl Fn(T, T, T) -> T + Copy + Sync) {
        self.run_in(call, Carried { start: |b| b, step, end: |x| x });
    }

    /// As [`Lines::run`], where what goes from step to step may be of another type.
    fn run_in<T: Cell, A: Copy + Default>(&self, call: KernelCall<'_, '_>, carried: impl Carry<T, A>) {
        let (first, last) = (T::of(&call.args[0]), T::of(&call.args[call.args.len() - 1]));
        let block = (self.length * self.inner).max(1);
        let blocks = rows_per_part(block);
        for_chunks(call.pool, T::of_mut(&mut call.outs[0]), blocks * block, |number, out| {
            let from = number * blocks * block;
            for (k, out) in out.chunks_exact_mut(block).enumerate() {
                let range = from + k * block..from + (k + 1) * block;
                let (a, b) = (&first[range.clone()], &last[range]);
                dispatch(RunningBlock { lines: *self, a, b, out, carried, of: PhantomData });
            }
        });
    }
}

/// What goes along a line: how it begins with the first term, how a step changes it, and what of it is stored.
trait Carry<T, A>: Copy + Sync {
    fn start(self, b: T) -> A;
    fn step(self, before: A, a: T, b: T) -> A;
    fn end(self, x: A) -> T;
}

#[derive(Clone, Copy)]
struct Carried<S, F, E> {
    start: S,
    step: F,
    end: E,
}

impl<T, A, S, F, E> Carry<T, A> for Carried<S, F, E>
where
    S: Fn(T) -> A + Copy + Sync,
    F: Fn(A, T, T) -> A + Copy + Sync,
    E: Fn(A) -> T + Copy + Sync,
{
    #[inline(always)]
    fn start(self, b: T) -> A {
        (self.start)(b)
    }
    #[inline(always)]
    fn step(self, before: A, a: T, b: T) -> A {
        (self.step)(before, a, b)
    }
    #[inline(always)]
    fn end(self, x: A) -> T {
        (self.end)(x)
    }
}

/// The lines through one block of the axes from this one on.
struct RunningBlock<'a, T, A, C> {
    lines: Lines,
    a: &'a [T],
    b: &'a [T],
    out: &'a mut [T],
    carried: C,
    of: PhantomData<A>,
}

/// How many lines beside each other are gone along together.
const BESIDE: usize = 64;

impl<T: Cell, A: Copy + Default, C: Carry<T, A>> Work for RunningBlock<'_, T, A, C> {
    type Output = ();
    #[inline(always)]
    fn run(self) {
        let RunningBlock { lines: Lines { length, inner, reverse, .. }, a, b, out, carried, .. } = self;
        if inner == 1 {
            let start = if reverse { length - 1 } else { 0 };
            let mut before = carried.start(b[start]);
            out[start] = b[start];
            let mut one = |(out, (&a, &b)): (&mut T, (&T, &T))| {
                before = carried.step(before, a, b);
                *out = carried.end(before);
            };
            let elements = out.iter_mut().zip(a.iter().zip(b));
            return if reverse {
                elements.rev().skip(1).for_each(&mut one)
            } else {
                elements.skip(1).for_each(&mut one)
            };
        }
        for first in (0..inner).step_by(BESIDE) {
            let width = BESIDE.min(inner - first);
            let row = |k: usize| if reverse { length - 1 - k } else { k } * inner + first;
            let mut all = [A::default(); BESIDE];
            let carry = &mut all[..width];
            let (b_row, out_row) = (&b[row(0)..][..width], &mut out[row(0)..][..width]);
            out_row.copy_from_slice(b_row);
            carry.iter_mut().zip(b_row).for_each(|(carry, &b)| *carry = carried.start(b));
            for k in 1..length {
                let operands = a[row(k)..][..width].iter().zip(&b[row(k)..][..width]);
                let places = carry.iter_mut().zip(&mut out[row(k)..][..width]);
                for ((carry, out), (&a, &b)) in places.zip(operands) {
                    *carry = carried.step(*carry, a, b);
                    *out = carried.end(*carry);
                }
            }
        }
    }
}

/// Steps in double precision on numbers of single precision.
fn in_double(step: impl Fn(f64, f64) -> f64 + Copy + Sync) -> impl Carry<f32, f64> {
    Carried { start: f64::from, step: move |y, _: f32, x: f32| step(y, f64::from(x)), end: |y| y as f32 }
}

/// `y_i = step(y_(i-1), x_i)`
#[derive(Clone, Copy, Debug)]
pub(super) struct CumulativeKernel {
    running: Running,
    kind: Kind,
    lines: Lines,
}

impl CumulativeKernel {
    pub(super) fn new(op: primitives::Cumulative, x: &Type) -> Self {
        CumulativeKernel { running: op.running, kind: kind(x.dtype), lines: Lines::new(x, op.axis, op.reverse) }
    }
}

impl Kernel for CumulativeKernel {
    fn name(&self) -> String {
        let op = primitives::Cumulative::new(self.running, 0, self.lines.reverse);
        primitives::Primitive::name(&op).into_owned()
    }
    fn operations(&self) -> usize {
        self.lines.size
    }
    fn run(&self, call: KernelCall<'_, '_>) -> Result<(), Misfit> {
        let lines = self.lines;
        // The definition takes products and extremes of single precision through double precision: for products rounding
        // twice gives the same numbers (S. A. Figueroa, *When is double rounding innocuous?*, 1995). Sums stay in double
        // precision from step to step.
        match (self.running, self.kind) {
            (Running::Sum, Kind::F64) => lines.run(call, |y: f64, _, x| y + x),
            (Running::Sum, Kind::F32) => lines.run_in(call, in_double(|y, x| y + x)),
            (Running::Sum, Kind::I64) => lines.run(call, |y: i64, _, x| y.wrapping_add(x)),
            (Running::Prod, Kind::F64) => lines.run(call, |y: f64, _, x| y * x),
            (Running::Prod, Kind::F32) => lines.run(call, |y: f32, _, x| y * x),
            (Running::Prod, Kind::I64) => lines.run(call, |y: i64, _, x| y.wrapping_mul(x)),
            (Running::Max, Kind::F64) => lines.run(call, |y: f64, _, x| Real::binary(y, x, Binary::Max)),
            (Running::Max, Kind::F32) => lines.run(call, |y, _, x| F32(y).binary(F32(x), Binary::Max).0),
            (Running::Max, Kind::I64) => lines.run(call, |y: i64, _, x| y.max(x)),
            (Running::Min, Kind::F64) => lines.run(call, |y: f64, _, x| Real::binary(y, x, Binary::Min)),
            (Running::Min, Kind::F32) => lines.run(call, |y, _, x| F32(y).binary(F32(x), Binary::Min).0),
            (Running::Min, Kind::I64) => lines.run(call, |y: i64, _, x| y.min(x)),
            (Running::Logsumexp, Kind::F64) => lines.run(call, |y: f64, _, x| Real::binary(y, x, Binary::Logaddexp)),
            (Running::Logsumexp, Kind::F32) => {
                lines.run_in(call, in_double(|y, x| Real::binary(y, x, Binary::Logaddexp)));
            }
            (Running::Logsumexp, Kind::I64)
            | (Running::Sum | Running::Prod | Running::Max | Running::Min | Running::Logsumexp, Kind::U8) => {
                unreachable!("inference asks for numbers")
            }
        }
        Ok(())
    }
}

/// `h_i = a_i h_(i-1) + b_i`
#[derive(Clone, Copy, Debug)]
pub(super) struct RecurrenceKernel {
    kind: Kind,
    lines: Lines,
}

impl RecurrenceKernel {
    pub(super) fn new(op: primitives::Recurrence, a: &Type) -> Self {
        RecurrenceKernel { kind: kind(a.dtype), lines: Lines::new(a, op.axis, op.reverse) }
    }
}

impl Kernel for RecurrenceKernel {
    fn name(&self) -> String {
        "recurrence".to_owned()
    }
    fn operations(&self) -> usize {
        2 * self.lines.size
    }
    fn run(&self, call: KernelCall<'_, '_>) -> Result<(), Misfit> {
        match self.kind {
            Kind::F32 => self.lines.run(call, |h: f32, a, b| a * h + b),
            Kind::F64 => self.lines.run(call, |h: f64, a, b| a * h + b),
            Kind::U8 | Kind::I64 => unreachable!("inference asks for real numbers"),
        }
        Ok(())
    }
}
