//! Joining elements by fixed trees.

use super::code::Join;
use crate::dispatch::{Work, dispatch};
use crate::float::Float;

/// How many sums run side by side. A power of two: the tree at the end halves.
const LANES: usize = 32;

/// Elements that can be joined.
pub(super) trait Joined: Copy {
    /// What joining none gives.
    fn start(join: Join) -> Self;
    /// Two elements joined.
    fn join(join: Join, x: Self, y: Self) -> Self;
    /// As a number that partial results are kept in: wider where rounding matters.
    type Wide: Copy;
    fn wide(self) -> Self::Wide;
    fn narrow(wide: Self::Wide) -> Self;
    fn join_wide(join: Join, x: Self::Wide, y: Self::Wide) -> Self::Wide;
    fn start_wide(join: Join) -> Self::Wide;
}

macro_rules! joined_float {
    ($float:ident) => {
        impl Joined for $float {
            type Wide = f64;
            #[inline(always)]
            fn start(join: Join) -> Self {
                match join {
                    Join::Prod => 1.0,
                    Join::Max => $float::NEG_INFINITY,
                    Join::Min => $float::INFINITY,
                    Join::Sum | Join::All | Join::Any => 0.0,
                }
            }
            #[inline(always)]
            fn join(join: Join, x: Self, y: Self) -> Self {
                match join {
                    Join::Prod => x * y,
                    Join::Max => Float::max(x, y),
                    Join::Min => Float::min(x, y),
                    Join::Sum | Join::All | Join::Any => x + y,
                }
            }
            #[inline(always)]
            fn wide(self) -> f64 {
                f64::from(self)
            }
            #[inline(always)]
            fn narrow(wide: f64) -> Self {
                wide as $float
            }
            #[inline(always)]
            fn join_wide(join: Join, x: f64, y: f64) -> f64 {
                <f64 as Joined>::join(join, x, y)
            }
            #[inline(always)]
            fn start_wide(join: Join) -> f64 {
                <f64 as Joined>::start(join)
            }
        }
    };
}
joined_float!(f32);
joined_float!(f64);

macro_rules! joined_whole {
    ($whole:ident) => {
        impl Joined for $whole {
            type Wide = $whole;
            #[inline(always)]
            fn start(join: Join) -> Self {
                match join {
                    Join::Prod | Join::All => 1,
                    Join::Max => $whole::MIN,
                    Join::Min => $whole::MAX,
                    Join::Sum | Join::Any => 0,
                }
            }
            #[inline(always)]
            fn join(join: Join, x: Self, y: Self) -> Self {
                match join {
                    Join::Sum => x.wrapping_add(y),
                    Join::Prod => x.wrapping_mul(y),
                    Join::Max => x.max(y),
                    Join::Min => x.min(y),
                    Join::All => x & y,
                    Join::Any => x | y,
                }
            }
            #[inline(always)]
            fn wide(self) -> $whole {
                self
            }
            #[inline(always)]
            fn narrow(wide: $whole) -> Self {
                wide
            }
            #[inline(always)]
            fn join_wide(join: Join, x: $whole, y: $whole) -> $whole {
                Self::join(join, x, y)
            }
            #[inline(always)]
            fn start_wide(join: Join) -> $whole {
                Self::start(join)
            }
        }
    };
}
joined_whole!(u8);
joined_whole!(i64);

/// Runs `body` with a constant number of a `Join`, so that the loop in it is one operation.
macro_rules! for_join {
    ($join:expr, $name:ident => $body:expr) => {
        match $join {
            Join::Sum => {
                const $name: u8 = Join::Sum as u8;
                $body
            }
            Join::Prod => {
                const $name: u8 = Join::Prod as u8;
                $body
            }
            Join::Max => {
                const $name: u8 = Join::Max as u8;
                $body
            }
            Join::Min => {
                const $name: u8 = Join::Min as u8;
                $body
            }
            Join::All => {
                const $name: u8 = Join::All as u8;
                $body
            }
            Join::Any => {
                const $name: u8 = Join::Any as u8;
                $body
            }
        }
    };
}

/// The join with this number.
#[inline(always)]
const fn named(join: u8) -> Join {
    const JOINS: [Join; 6] = [Join::Sum, Join::Prod, Join::Max, Join::Min, Join::All, Join::Any];
    JOINS[join as usize]
}

/// Elements to be joined: whole blocks, then the rest.
pub(super) trait Elements<T> {
    fn count(&self) -> usize;
    fn blocks(&self) -> impl Iterator<Item = [T; LANES]>;
    fn rest(&self) -> impl Iterator<Item = T>;
}

impl<T: Copy> Elements<T> for &[T] {
    #[inline(always)]
    fn count(&self) -> usize {
        self.len()
    }
    #[inline(always)]
    fn blocks(&self) -> impl Iterator<Item = [T; LANES]> {
        self.as_chunks().0.iter().copied()
    }
    #[inline(always)]
    fn rest(&self) -> impl Iterator<Item = T> {
        self.as_chunks::<LANES>().1.iter().copied()
    }
}

/// The products of two slices of one length.
#[derive(Clone, Copy)]
struct Products<'a, T>(&'a [T], &'a [T]);

impl<T: Float> Elements<T> for Products<'_, T> {
    #[inline(always)]
    fn count(&self) -> usize {
        self.0.len()
    }
    #[inline(always)]
    fn blocks(&self) -> impl Iterator<Item = [T; LANES]> {
        let (x, y) = (self.0.as_chunks::<LANES>().0, self.1.as_chunks::<LANES>().0);
        x.iter().zip(y).map(|(x, y)| std::array::from_fn(|k| x[k] * y[k]))
    }
    #[inline(always)]
    fn rest(&self) -> impl Iterator<Item = T> {
        let (x, y) = (self.0.as_chunks::<LANES>().1, self.1.as_chunks::<LANES>().1);
        x.iter().zip(y).map(|(&x, &y)| x * y)
    }
}

/// The elements joined: few one after the other, more side by side and then by halves. Which, and in which order, depends
/// on how many there are alone.
#[inline(always)]
fn fold<T: Joined>(join: Join, x: impl Elements<T>) -> T {
    if x.count() <= LANES / 2 {
        return x.rest().fold(T::start(join), |sum, x| T::join(join, sum, x));
    }
    let mut lanes = [T::start(join); LANES];
    for block in x.blocks() {
        for (lane, x) in lanes.iter_mut().zip(block) {
            *lane = T::join(join, *lane, x);
        }
    }
    for (lane, x) in lanes.iter_mut().zip(x.rest()) {
        *lane = T::join(join, *lane, x);
    }
    let mut width = LANES / 2;
    while width > 0 {
        for k in 0..width {
            lanes[k] = T::join(join, lanes[k], lanes[k + width]);
        }
        width /= 2;
    }
    lanes[0]
}

/// Each row of `cols` elements joined.
pub(super) fn join_cols<T: Joined>(join: Join, x: &[T], out: &mut [T], cols: usize) {
    struct Rows<'a, T, const JOIN: u8>(&'a [T], &'a mut [T], usize);
    impl<T: Joined, const JOIN: u8> Work for Rows<'_, T, JOIN> {
        type Output = ();
        #[inline(always)]
        fn run(self) {
            for (out, row) in self.1.iter_mut().zip(self.0.chunks_exact(self.2)) {
                *out = fold(named(JOIN), row);
            }
        }
    }
    for_join!(join, JOIN => dispatch(Rows::<T, JOIN>(x, out, cols)));
}

/// The sum of the products of each row of `cols` elements.
pub(super) fn dot_cols<T: Joined + Float>(x: &[T], y: &[T], out: &mut [T], cols: usize) {
    struct Rows<'a, T>(&'a [T], &'a [T], &'a mut [T], usize);
    impl<T: Joined + Float> Work for Rows<'_, T> {
        type Output = ();
        #[inline(always)]
        fn run(self) {
            let rows = self.0.chunks_exact(self.3).zip(self.1.chunks_exact(self.3));
            for (out, (x, y)) in self.2.iter_mut().zip(rows) {
                *out = fold(Join::Sum, Products(x, y));
            }
        }
    }
    dispatch(Rows(x, y, out, cols));
}

/// `sums[k] = join(sums[k], every row's element k)`, row by row.
pub(super) fn join_rows<T: Joined>(join: Join, x: &[T], sums: &mut [T]) {
    struct Rows<'a, T, const JOIN: u8>(&'a [T], &'a mut [T]);
    impl<T: Joined, const JOIN: u8> Work for Rows<'_, T, JOIN> {
        type Output = ();
        #[inline(always)]
        fn run(self) {
            for row in self.0.chunks_exact(self.1.len()) {
                for (sum, &x) in self.1.iter_mut().zip(row) {
                    *sum = T::join(named(JOIN), *sum, x);
                }
            }
        }
    }
    for_join!(join, JOIN => dispatch(Rows::<T, JOIN>(x, sums)));
}

/// `sums[k] += x[r, k] * y[r, k]`, row by row; x may have one element for each row instead.
pub(super) fn dot_rows<T: Joined + Float>(x: &[T], y: &[T], sums: &mut [T]) {
    struct Rows<'a, T>(&'a [T], &'a [T], &'a mut [T]);
    impl<T: Joined + Float> Work for Rows<'_, T> {
        type Output = ();
        #[inline(always)]
        fn run(self) {
            let Rows(x, y, sums) = self;
            let rows = y.chunks_exact(sums.len());
            if x.len() == y.len() {
                for (x, y) in x.chunks_exact(sums.len()).zip(rows) {
                    for ((sum, &x), &y) in sums.iter_mut().zip(x).zip(y) {
                        *sum = *sum + x * y;
                    }
                }
            } else {
                for (&x, y) in x.iter().zip(rows) {
                    for (sum, &y) in sums.iter_mut().zip(y) {
                        *sum = *sum + x * y;
                    }
                }
            }
        }
    }
    dispatch(Rows(x, y, sums));
}

/// `sum = join(sum, all elements)`
pub(super) fn join_all<T: Joined>(join: Join, x: &[T], sum: &mut T::Wide) {
    let mut all = [T::start(join)];
    join_cols(join, x, &mut all, x.len());
    *sum = T::join_wide(join, *sum, all[0].wide());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_length_is_joined_whole() {
        for n in 0..200usize {
            let x: Vec<f64> = (0..n).map(|k| (k * k % 17) as f64 - 8.0).collect();
            let whole: Vec<i64> = x.iter().map(|&x| x as i64).collect();
            assert_eq!(fold(Join::Sum, &x[..]), x.iter().sum::<f64>(), "{n}");
            assert_eq!(fold(Join::Max, &x[..]), x.iter().copied().fold(f64::NEG_INFINITY, f64::max));
            assert_eq!(fold(Join::Min, &whole[..]), whole.iter().copied().min().unwrap_or(i64::MAX));
            assert_eq!(fold(Join::Prod, &whole[..]), whole.iter().fold(1, |p: i64, &x| p.wrapping_mul(x)));
        }
        assert!(fold(Join::Max, &[1.0, f64::NAN, 3.0][..]).is_nan());
        assert_eq!((fold(Join::All, &[1u8, 0, 1][..]), fold(Join::Any, &[0u8, 0, 1][..])), (0, 1));
    }

    #[test]
    fn single_precision_is_summed_side_by_side() {
        let x = vec![0.1f32; 4096];
        let got = f64::from(fold(Join::Sum, &x[..]));
        assert!((got - 409.6).abs() < 409.6 * 1e-6, "{got}");
    }
}
