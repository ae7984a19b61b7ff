//! Iota, random bits, and the remainder of integers.

use std::sync::atomic::{AtomicBool, Ordering};

use wengert_kernels::parallel::for_chunks;
use wengert_kernels::region::Kind;
use wengert_kernels::{Work, dispatch};

use super::{Cell, GRAIN, Kernel, KernelCall};
use crate::array::Type;
use crate::error::Misfit;
use crate::plan::kernel::kind;
use crate::primitives::random::{threefry, unit_f32, unit_f64};
use crate::primitives::{self, RandomKind, divided_by_zero};

/// `0, 1, 2, …`
#[derive(Clone, Copy, Debug)]
pub(super) struct IotaKernel;

impl Kernel for IotaKernel {
    fn name(&self) -> String {
        "iota".to_owned()
    }
    fn operations(&self) -> usize {
        0
    }
    fn run(&self, call: KernelCall<'_, '_>) -> Result<(), Misfit> {
        i64::of_mut(&mut call.outs[0]).iter_mut().zip(0..).for_each(|(out, k)| *out = k);
        Ok(())
    }
}

/// Random bits from keys.
#[derive(Clone, Copy, Debug)]
pub(super) struct RandomBitsKernel {
    kind: Kind,
    /// Numbers for each key.
    count: usize,
    size: usize,
}

impl RandomBitsKernel {
    pub(super) fn new(op: &primitives::RandomBits, out: &Type) -> Self {
        let kind = match op.kind {
            RandomKind::Bits => Kind::I64,
            RandomKind::Uniform(dtype) => kind(dtype),
        };
        RandomBitsKernel { kind, count: op.shape.iter().product(), size: out.size() }
    }

    fn draw<T: Cell>(self, call: KernelCall<'_, '_>, number: impl Fn(u64) -> T + Copy + Sync) {
        let keys = i64::of(&call.args[0]);
        for_chunks(call.pool, T::of_mut(&mut call.outs[0]), GRAIN, |chunk, mut out| {
            let mut done = chunk * GRAIN;
            while !out.is_empty() {
                let (row, first) = (done / self.count, done % self.count);
                let count = (self.count - first).min(out.len());
                let (here, rest) = out.split_at_mut(count);
                let key = [keys[2 * row].cast_unsigned(), keys[2 * row + 1].cast_unsigned()];
                dispatch(Draw { key, first: first as u64, out: here, number });
                (out, done) = (rest, done + count);
            }
        });
    }
}

impl Kernel for RandomBitsKernel {
    fn name(&self) -> String {
        "random_bits".to_owned()
    }
    fn operations(&self) -> usize {
        // Some thirty operations on integers for each number.
        32 * self.size
    }
    fn run(&self, call: KernelCall<'_, '_>) -> Result<(), Misfit> {
        match self.kind {
            Kind::F32 => self.draw(call, unit_f32),
            Kind::F64 => self.draw(call, unit_f64),
            Kind::I64 => self.draw(call, u64::cast_signed),
            Kind::U8 => unreachable!("inference refuses uniform truth values"),
        }
        Ok(())
    }
}

/// Words of one key from number `first` on.
struct Draw<'a, T, F> {
    key: [u64; 2],
    first: u64,
    out: &'a mut [T],
    number: F,
}

/// Counters that are worked on side by side.
const SIDE: usize = 16;

impl<T: Cell, F: Fn(u64) -> T> Work for Draw<'_, T, F> {
    type Output = ();
    #[inline(always)]
    fn run(self) {
        let Draw { key, first, out, number } = self;
        let (odd, even) = out.split_at_mut((first % 2) as usize);
        if let [odd] = odd {
            *odd = number(threefry([[first / 2], [0]], key)[1][0]);
        }
        let counter = first.div_ceil(2);
        for (k, block) in even.chunks_mut(2 * SIDE).enumerate() {
            let counter = counter + (k * SIDE) as u64;
            let words = threefry([std::array::from_fn(|side| counter + side as u64), [0; SIDE]], key);
            for (k, out) in block.iter_mut().enumerate() {
                *out = number(words[k % 2][k / 2]);
            }
        }
    }
}

/// `x % y` of integers; the only function of two arguments that can fail.
#[derive(Clone, Copy, Debug)]
pub(super) struct RemainderKernel {
    size: usize,
}

impl RemainderKernel {
    pub(super) fn new(x: &Type) -> Self {
        assert!(kind(x.dtype) == Kind::I64, "the remainder of real numbers is part of a region");
        RemainderKernel { size: x.size() }
    }
}

impl Kernel for RemainderKernel {
    fn name(&self) -> String {
        "rem".to_owned()
    }
    fn operations(&self) -> usize {
        // A division takes as long as some ten additions.
        10 * self.size
    }
    fn run(&self, call: KernelCall<'_, '_>) -> Result<(), Misfit> {
        let (x, y) = (i64::of(&call.args[0]), i64::of(&call.args[1]));
        let failed = AtomicBool::new(false);
        for_chunks(call.pool, i64::of_mut(&mut call.outs[0]), GRAIN, |number, out| {
            let first = number * GRAIN;
            let mut zero = false;
            for ((out, &x), &y) in out.iter_mut().zip(&x[first..]).zip(&y[first..]) {
                zero |= y == 0;
                *out = if y == 0 { 0 } else { x.wrapping_rem(y) };
            }
            if zero {
                failed.store(true, Ordering::Relaxed);
            }
        });
        if failed.into_inner() { Err(divided_by_zero()) } else { Ok(()) }
    }
}
