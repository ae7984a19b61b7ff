//! Joining elements by fixed trees.

use super::code::Join;
use crate::dispatch::{Work, dispatch};
use crate::float::Float;

/// How many sums run side by side. A power of two: the tree at the end halves.
const LANES: usize = 32;
/// The most elements that are joined one after the other.
const FEW: usize = LANES / 2;
/// The longest row that is joined beside others: alone, each of its sums would wait for the one before.
const SIDE: usize = 8;
/// Elements of a piece of what is left over.
const VECTOR: usize = 8;
/// How many rows are added to sums at once, so that the sums are read and written once for all of them.
const ROWS: usize = 4;

/// How many elements are joined side by side, in their own type: as many cache lines as are worth the tree at the end.
pub(super) const LEAF: usize = 512;

/// Elements that can be joined.
pub(super) trait Joined: Copy {
    /// Whether these are joined by `all` and `any`, and by nothing else: the verifier sees to it.
    const LOGICAL: bool = false;
    /// The neutral element.
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
    ($whole:ident, logical: $logical:literal) => {
        impl Joined for $whole {
            const LOGICAL: bool = $logical;
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
joined_whole!(u8, logical: true);
joined_whole!(i64, logical: false);

/// Runs `body` with a constant number of a `Join` of this type, so that the loop in it is one operation.
macro_rules! for_join {
    ($join:expr, $t:ty, $name:ident => $body:expr) => {
        match $join {
            Join::Sum if !<$t as Joined>::LOGICAL => {
                const $name: u8 = Join::Sum as u8;
                $body
            }
            Join::Prod if !<$t as Joined>::LOGICAL => {
                const $name: u8 = Join::Prod as u8;
                $body
            }
            Join::Max if !<$t as Joined>::LOGICAL => {
                const $name: u8 = Join::Max as u8;
                $body
            }
            Join::Min if !<$t as Joined>::LOGICAL => {
                const $name: u8 = Join::Min as u8;
                $body
            }
            Join::All if <$t as Joined>::LOGICAL => {
                const $name: u8 = Join::All as u8;
                $body
            }
            Join::Any if <$t as Joined>::LOGICAL => {
                const $name: u8 = Join::Any as u8;
                $body
            }
            other => unreachable!("{other:?} does not join {}", std::any::type_name::<$t>()),
        }
    };
}

/// The join with this number.
#[inline(always)]
const fn named(join: u8) -> Join {
    const JOINS: [Join; 6] = [Join::Sum, Join::Prod, Join::Max, Join::Min, Join::All, Join::Any];
    JOINS[join as usize]
}

/// Elements to be joined, read in blocks.
///
/// Plain loops over arrays of constant length, by index: that way the lanes stay in the widest registers. As arrays by value, or with
/// iterators over the lanes, they were taken apart into the narrowest.
pub(super) trait Elements<T> {
    fn count(&self) -> usize;
    /// `count` elements from `at` on.
    fn part(&self, at: usize, count: usize) -> Self;
    /// Element `at`.
    fn element(&self, at: usize) -> T;
    /// Joins all whole blocks to the lanes.
    fn join_blocks(&self, join: Join, lanes: &mut [T; LANES]);
    /// Joins the block of elements from `at` on, all of which exist, to lanes from `lane` on.
    fn join_piece(&self, join: Join, lanes: &mut [T; LANES], lane: usize, at: usize);
}

impl<T: Joined> Elements<T> for &[T] {
    #[inline(always)]
    fn count(&self) -> usize {
        self.len()
    }
    #[inline(always)]
    fn part(&self, at: usize, count: usize) -> Self {
        &self[at..at + count]
    }
    #[inline(always)]
    fn element(&self, at: usize) -> T {
        self[at]
    }
    #[inline(always)]
    fn join_blocks(&self, join: Join, lanes: &mut [T; LANES]) {
        for x in self.as_chunks::<LANES>().0 {
            for l in 0..LANES {
                lanes[l] = T::join(join, lanes[l], x[l]);
            }
        }
    }
    #[inline(always)]
    fn join_piece(&self, join: Join, lanes: &mut [T; LANES], lane: usize, at: usize) {
        let (lanes, x) = (&mut lanes[lane..lane + VECTOR], &self[at..at + VECTOR]);
        for l in 0..VECTOR {
            lanes[l] = T::join(join, lanes[l], x[l]);
        }
    }
}

/// The products of two slices of one length.
#[derive(Clone, Copy)]
struct Products<'a, T>(&'a [T], &'a [T]);

impl<T: Joined + Float> Elements<T> for Products<'_, T> {
    #[inline(always)]
    fn count(&self) -> usize {
        self.0.len()
    }
    #[inline(always)]
    fn part(&self, at: usize, count: usize) -> Self {
        Products(self.0.part(at, count), self.1.part(at, count))
    }
    #[inline(always)]
    fn element(&self, at: usize) -> T {
        self.0[at] * self.1[at]
    }
    #[inline(always)]
    fn join_blocks(&self, join: Join, lanes: &mut [T; LANES]) {
        for (x, y) in self.0.as_chunks::<LANES>().0.iter().zip(self.1.as_chunks::<LANES>().0) {
            for l in 0..LANES {
                lanes[l] = T::join(join, lanes[l], x[l] * y[l]);
            }
        }
    }
    #[inline(always)]
    fn join_piece(&self, join: Join, lanes: &mut [T; LANES], lane: usize, at: usize) {
        let (lanes, x, y) = (&mut lanes[lane..lane + VECTOR], &self.0[at..at + VECTOR], &self.1[at..at + VECTOR]);
        for l in 0..VECTOR {
            lanes[l] = T::join(join, lanes[l], x[l] * y[l]);
        }
    }
}

/// All elements joined: a leaf, or leaves in pairs, pairs in pairs and so on, as accumulators join them.
#[inline(always)]
fn whole<T: Joined>(join: Join, x: impl Elements<T>) -> T {
    let count = x.count();
    if count <= LEAF {
        return fold(join, x);
    }
    // The pairs so far: a subtree for each power of two in the number of leaves.
    let mut nodes = [T::start_wide(join); usize::BITS as usize];
    let mut held = 0;
    for (leaf, at) in (0..count).step_by(LEAF).enumerate() {
        nodes[held] = fold(join, x.part(at, LEAF.min(count - at))).wide();
        held += 1;
        for _ in 0..leaf.trailing_ones() {
            held -= 1;
            nodes[held - 1] = T::join_wide(join, nodes[held - 1], nodes[held]);
        }
    }
    let mut sum = nodes[held - 1];
    while held > 1 {
        held -= 1;
        sum = T::join_wide(join, nodes[held - 1], sum);
    }
    T::narrow(sum)
}

/// The elements joined: few one after the other, more side by side and then by halves. The choice and the order depend
/// only on how many there are.
#[inline(always)]
fn fold<T: Joined>(join: Join, x: impl Elements<T>) -> T {
    let count = x.count();
    if count <= FEW {
        let mut sum = T::start(join);
        for k in 0..count {
            sum = T::join(join, sum, x.element(k));
        }
        return sum;
    }
    let mut lanes = [T::start(join); LANES];
    let whole = count / LANES * LANES;
    x.join_blocks(join, &mut lanes);
    if whole < count {
        // A function of its own, so that the lanes of whole blocks stay in registers, which need constant indices.
        with_rest(join, &mut lanes, &x, whole);
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

/// The elements of a row of some length joined by the tree by which regions join them, but for the neutral element that every lane
/// begins with; `None` where they are joined one after the other, or there is more than one leaf. A sum that is not only of
/// negative zeros is the same to the bit.
///
/// ```
/// use wengert_kernels::region::tree;
/// assert_eq!(tree(&[1.0; 16], |x, y| x + y), None);
/// let numbers: Vec<f64> = (0..40).map(|k| 0.1 * f64::from(k)).collect();
/// let sum = tree(&numbers, |x, y| x + y);
/// assert!(sum.is_some_and(|sum| (sum - 78.0).abs() < 1e-13));
/// ```
pub fn tree<T: Copy>(elements: &[T], mut join: impl FnMut(T, T) -> T) -> Option<T> {
    if elements.len() <= FEW || elements.len() > LEAF {
        return None;
    }
    let mut lanes = [None; LANES];
    let mut both = |x: Option<T>, y: Option<T>| match (x, y) {
        (Some(x), Some(y)) => Some(join(x, y)),
        (x, y) => x.or(y),
    };
    for block in elements.chunks(LANES) {
        for (lane, &x) in lanes.iter_mut().zip(block) {
            *lane = both(*lane, Some(x));
        }
    }
    let mut width = LANES / 2;
    while width > 0 {
        for k in 0..width {
            lanes[k] = both(lanes[k], lanes[k + width]);
        }
        width /= 2;
    }
    lanes[0]
}

/// The lanes with the elements from `whole` on: by vectors, then one by one.
#[inline(always)]
fn with_rest<T: Joined>(join: Join, lanes: &mut [T; LANES], x: &impl Elements<T>, whole: usize) {
    let (mut at, count) = (whole, x.count());
    while at + VECTOR <= count {
        x.join_piece(join, lanes, at - whole, at);
        at += VECTOR;
    }
    for at in at..count {
        lanes[at - whole] = T::join(join, lanes[at - whole], x.element(at));
    }
}

/// Rows of at most [`FEW`] elements joined, [`SIDE`] of them side by side.
#[inline(always)]
fn short_rows<T: Joined>(join: Join, out: &mut [T], cols: usize, element: impl Fn(usize, usize) -> T) {
    let (sides, rest) = out.as_chunks_mut::<SIDE>();
    let first = sides.len() * SIDE;
    // Plain loops: what is not inlined, such as `for_each`, is not compiled for the level.
    for (number, out) in sides.iter_mut().enumerate() {
        let mut sums = [T::start(join); SIDE];
        for k in 0..cols {
            for (side, sum) in sums.iter_mut().enumerate() {
                *sum = T::join(join, *sum, element(number * SIDE + side, k));
            }
        }
        *out = sums;
    }
    for (row, out) in rest.iter_mut().enumerate() {
        let mut sum = T::start(join);
        for k in 0..cols {
            sum = T::join(join, sum, element(first + row, k));
        }
        *out = sum;
    }
}

/// The sums of the products of rows of `C` elements, [`SIDE`] of them side by side, as [`short_rows`] has them: in loops of constant
/// length in half of the time.
#[inline(always)]
fn short_dots<T: Joined + Float, const C: usize>(x: &[T], y: &[T], out: &mut [T]) {
    assert!([x.len(), y.len()] == [out.len() * C; 2], "a row of each operand for every sum");
    let ((x, _), (y, _)) = (x.as_chunks::<C>(), y.as_chunks::<C>());
    let ((xs, x), (ys, y)) = (x.as_chunks::<SIDE>(), y.as_chunks::<SIDE>());
    let (sides, rest) = out.as_chunks_mut::<SIDE>();
    for ((out, x), y) in sides.iter_mut().zip(xs).zip(ys) {
        let mut sums = [T::start(Join::Sum); SIDE];
        for k in 0..C {
            for side in 0..SIDE {
                sums[side] = sums[side] + x[side][k] * y[side][k];
            }
        }
        *out = sums;
    }
    for ((out, x), y) in rest.iter_mut().zip(x).zip(y) {
        *out = T::start(Join::Sum);
        for k in 0..C {
            *out = *out + x[k] * y[k];
        }
    }
}

/// Each row of `cols` elements joined.
pub(super) fn join_cols<T: Joined>(join: Join, x: &[T], out: &mut [T], cols: usize) {
    struct Rows<'a, T, const JOIN: u8>(&'a [T], &'a mut [T], usize);
    impl<T: Joined, const JOIN: u8> Work for Rows<'_, T, JOIN> {
        type Output = ();
        #[inline(always)]
        fn run(self) {
            let Rows(x, out, cols) = self;
            if cols <= FEW {
                return short_rows(named(JOIN), out, cols, |row, k| x[row * cols + k]);
            }
            for (out, row) in out.iter_mut().zip(x.chunks_exact(cols)) {
                *out = whole(named(JOIN), row);
            }
        }
    }
    for_join!(join, T, JOIN => dispatch(Rows::<T, JOIN>(x, out, cols)));
}

/// The sum of the products of each row of `cols` elements; y may be a single row that multiplies all of them.
pub(super) fn dot_cols<T: Joined + Float>(x: &[T], y: &[T], out: &mut [T], cols: usize) {
    struct Rows<'a, T>(&'a [T], &'a [T], &'a mut [T], usize);
    impl<T: Joined + Float> Work for Rows<'_, T> {
        type Output = ();
        #[inline(always)]
        fn run(self) {
            let Rows(x, y, out, cols) = self;
            match (y.len() == cols, cols <= FEW) {
                (true, true) => short_rows(Join::Sum, out, cols, |row, k| x[row * cols + k] * y[k]),
                (false, true) => match cols {
                    2 => short_dots::<T, 2>(x, y, out),
                    3 => short_dots::<T, 3>(x, y, out),
                    4 => short_dots::<T, 4>(x, y, out),
                    6 => short_dots::<T, 6>(x, y, out),
                    8 => short_dots::<T, 8>(x, y, out),
                    16 => short_dots::<T, 16>(x, y, out),
                    _ => short_rows(Join::Sum, out, cols, |row, k| x[row * cols + k] * y[row * cols + k]),
                },
                // Plain loops: what is not inlined, such as `for_each`, is not compiled for the level.
                (true, false) => {
                    for (out, x) in out.iter_mut().zip(x.chunks_exact(cols)) {
                        *out = whole(Join::Sum, Products(x, y));
                    }
                }
                (false, false) => {
                    for ((out, x), y) in out.iter_mut().zip(x.chunks_exact(cols)).zip(y.chunks_exact(cols)) {
                        *out = whole(Join::Sum, Products(x, y));
                    }
                }
            }
        }
    }
    dispatch(Rows(x, y, out, cols));
}

/// `sums[k] = step(sums[k], weight(r), y[r, k])` for every row in order, several rows at once.
#[inline(always)]
fn by_rows<T: Copy, W: Copy>(y: &[T], sums: &mut [T], weight: impl Fn(usize) -> W, step: impl Fn(T, W, T) -> T) {
    let cols = sums.len();
    let groups = y.chunks_exact(ROWS * cols);
    let last = groups.remainder();
    let mut row = 0;
    // Zipped: with checked indices the compiler leaves the last elements of every row to a scalar loop.
    for group in groups {
        let (a, group) = group.split_at(cols);
        let (b, group) = group.split_at(cols);
        let (c, d) = group.split_at(cols);
        let [p, q, r, s] = std::array::from_fn(|k| weight(row + k));
        for ((((sum, &a), &b), &c), &d) in sums.iter_mut().zip(a).zip(b).zip(c).zip(d) {
            *sum = step(step(step(step(*sum, p, a), q, b), r, c), s, d);
        }
        row += ROWS;
    }
    for y in last.chunks_exact(cols) {
        let weight = weight(row);
        for (sum, &y) in sums.iter_mut().zip(y) {
            *sum = step(*sum, weight, y);
        }
        row += 1;
    }
}

/// `sums[k] = join(sums[k], every row's element k)`, row by row.
pub(super) fn join_rows<T: Joined>(join: Join, x: &[T], sums: &mut [T]) {
    struct Rows<'a, T, const JOIN: u8>(&'a [T], &'a mut [T]);
    impl<T: Joined, const JOIN: u8> Work for Rows<'_, T, JOIN> {
        type Output = ();
        #[inline(always)]
        fn run(self) {
            by_rows(self.0, self.1, |_| (), |sum, (), x| T::join(named(JOIN), sum, x));
        }
    }
    for_join!(join, T, JOIN => dispatch(Rows::<T, JOIN>(x, sums)));
}

/// `sums[k] += x[r, k] * y[r, k]`, row by row; x may have one element for each row instead.
pub(super) fn dot_rows<T: Joined + Float>(x: &[T], y: &[T], sums: &mut [T]) {
    struct Rows<'a, T>(&'a [T], &'a [T], &'a mut [T]);
    impl<T: Joined + Float> Work for Rows<'_, T> {
        type Output = ();
        #[inline(always)]
        fn run(self) {
            let Rows(x, y, sums) = self;
            if x.len() != y.len() {
                return by_rows(y, sums, |r| x[r], |sum, x, y| sum + x * y);
            }
            for (x, y) in x.chunks_exact(sums.len()).zip(y.chunks_exact(sums.len())) {
                for ((sum, &x), &y) in sums.iter_mut().zip(x).zip(y) {
                    *sum = *sum + x * y;
                }
            }
        }
    }
    dispatch(Rows(x, y, sums));
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
            let long: Vec<f64> = x.iter().cycle().take(20 * n).copied().collect();
            assert_eq!(super::whole(Join::Sum, &long[..]), long.iter().sum::<f64>(), "{n}");
            assert_eq!(fold(Join::Max, &x[..]), x.iter().copied().fold(f64::NEG_INFINITY, f64::max));
            assert_eq!(fold(Join::Min, &whole[..]), whole.iter().copied().min().unwrap_or(i64::MAX));
            assert_eq!(fold(Join::Prod, &whole[..]), whole.iter().fold(1, |p: i64, &x| p.wrapping_mul(x)));
        }
        assert!(fold(Join::Max, &[1.0, f64::NAN, 3.0][..]).is_nan());
        assert_eq!((fold(Join::All, &[1u8, 0, 1][..]), fold(Join::Any, &[0u8, 0, 1][..])), (0, 1));
    }

    #[test]
    fn the_tree_of_a_row_is_that_of_regions() {
        for n in 0..=LEAF + 1 {
            let x: Vec<f64> = (0..n).map(|k| ((k * k + 3 * k) % 101) as f64 * 0.37 - 7.0).collect();
            let sum = tree(&x, |x, y| x + y);
            assert_eq!(sum.is_some(), n > FEW && n <= LEAF, "{n}");
            if let Some(sum) = sum {
                assert_eq!(sum.to_bits(), whole(Join::Sum, &x[..]).to_bits(), "{n}");
                assert_eq!(tree(&x, |x, y| x * y), Some(whole(Join::Prod, &x[..])), "{n}");
            } else if n > 0 && n <= FEW {
                assert_eq!(x.iter().fold(0.0, |sum, x| sum + x).to_bits(), whole(Join::Sum, &x[..]).to_bits(), "{n}");
            }
        }
    }

    #[test]
    fn rows_side_by_side_are_joined_as_one_alone_is() {
        for cols in [1, 2, 3, 4, 6, 7, 8, 15, 16, 17, 40] {
            for count in [1, 7, 8, 9, 31] {
                let x: Vec<f64> = (0..count * cols).map(|k| ((k * k + 3 * k) % 101) as f64 * 0.37 - 7.0).collect();
                let y: Vec<f64> = x.iter().map(|x| (x * 1.7).sin()).collect();
                let alone = |row: usize| {
                    let [x, y] = [&x, &y].map(|all| &all[row * cols..][..cols]);
                    let joined = |join| whole(join, x);
                    [joined(Join::Sum), joined(Join::Max), whole(Join::Sum, Products(x, y))]
                };
                let mut out = vec![0.0; count];
                let compare = |which: usize, out: &[f64]| {
                    let wanted: Vec<u64> = (0..count).map(|row| alone(row)[which].to_bits()).collect();
                    assert_eq!(out.iter().map(|x| x.to_bits()).collect::<Vec<_>>(), wanted, "{cols} {count} {which}");
                };
                for (which, join) in [Join::Sum, Join::Max].into_iter().enumerate() {
                    join_cols(join, &x, &mut out, cols);
                    compare(which, &out);
                }
                dot_cols(&x, &y, &mut out, cols);
                compare(2, &out);
                let repeated: Vec<f64> = y.iter().take(cols).cycle().take(x.len()).copied().collect();
                let (mut one, mut all) = (vec![0.0; count], vec![0.0; count]);
                dot_cols(&x, &y[..cols], &mut one, cols);
                dot_cols(&x, &repeated, &mut all, cols);
                assert_eq!(one, all);
            }
        }
    }

    #[test]
    fn single_precision_is_summed_side_by_side() {
        let x = vec![0.1f32; 4096];
        let got = f64::from(fold(Join::Sum, &x[..]));
        assert!((got - 409.6).abs() < 409.6 * 1e-6, "{got}");
    }
}
