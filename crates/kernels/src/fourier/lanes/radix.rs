//! Transforms of a few entries in registers, and the passes that are made of them.
//!
//! A transform of `n = r m` entries is `m` of `r` entries that lie `m` apart, the factors `exp(-2 pi i p t / n)`, and `r`
//! transforms of `m` entries each that lie side by side (J. W. Cooley and J. W. Tukey 1965; decimation in frequency, W. M.
//! Gentleman and G. Sande 1966). What comes out lies in the order of its digits reversed.

use std::array::from_fn;
use std::f64::consts::FRAC_1_SQRT_2;
use std::ops::{Add, Sub};

use super::vector::Vector;
use crate::Float;

/// The transforms there are, longest first.
pub(super) const RADICES: [usize; 6] = [8, 7, 5, 4, 3, 2];

/// The length of the largest one.
const LONGEST: usize = RADICES[0];

/// A complex number in every lane.
#[derive(Clone, Copy)]
pub(super) struct Complex<V> {
    pub(super) re: V,
    pub(super) im: V,
}

impl<V: Vector> Complex<V> {
    /// An entry of packed lines.
    ///
    /// # Safety
    /// The machine has the instructions, and both parts can be read.
    #[inline(always)]
    pub(super) unsafe fn load(from: *const V::Number) -> Self {
        // SAFETY: the caller's promise. Test `transforms_agree_with_the_sum`.
        unsafe { Complex { re: V::load(from), im: V::load(from.wrapping_add(V::LANES)) } }
    }

    /// Writes an entry of packed lines.
    ///
    /// # Safety
    /// Both parts can be written.
    #[inline(always)]
    pub(super) unsafe fn store(self, to: *mut V::Number) {
        // SAFETY: the caller's promise. Test as above.
        unsafe {
            self.re.store(to);
            self.im.store(to.wrapping_add(V::LANES));
        }
    }

    /// Times a number that is the same in all lanes.
    ///
    /// # Safety
    /// The machine has the instructions.
    #[inline(always)]
    pub(super) unsafe fn times(self, [re, im]: [V::Number; 2]) -> Self {
        // SAFETY: the caller's promise. Test as above.
        let (re, im) = unsafe { (V::splat(re), V::splat(im)) };
        Complex { re: self.re.times_minus(re, self.im * im), im: self.re.times_plus(im, self.im * re) }
    }

    /// Both parts times a number, and another one.
    #[inline(always)]
    fn scaled_plus(self, factor: V, other: Self) -> Self {
        Complex { re: self.re.times_plus(factor, other.re), im: self.im.times_plus(factor, other.im) }
    }

    /// Each part times a number.
    #[inline(always)]
    pub(super) fn scaled(self, [re, im]: [V; 2]) -> Self {
        Complex { re: self.re * re, im: self.im * im }
    }
}

impl<V: Vector> Add for Complex<V> {
    type Output = Self;
    #[inline(always)]
    fn add(self, other: Self) -> Self {
        Complex { re: self.re + other.re, im: self.im + other.im }
    }
}

impl<V: Vector> Sub for Complex<V> {
    type Output = Self;
    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        Complex { re: self.re - other.re, im: self.im - other.im }
    }
}

/// `x - i y` and `x + i y`.
#[inline(always)]
fn turned<V: Vector>(x: Complex<V>, y: Complex<V>) -> [Complex<V>; 2] {
    [Complex { re: x.re + y.im, im: x.im - y.re }, Complex { re: x.re - y.im, im: x.im + y.re }]
}

#[inline(always)]
fn four<V: Vector>([a, b, c, d]: [Complex<V>; 4]) -> [Complex<V>; 4] {
    let (even, odd) = (a + c, b + d);
    let [first, third] = turned(a - c, b - d);
    [even + odd, first, even - odd, third]
}

#[inline(always)]
fn eight<V: Vector>(x: [Complex<V>; 8], half: V) -> [Complex<V>; 8] {
    let [e0, e1, e2, e3] = four([x[0], x[2], x[4], x[6]]);
    let [o0, o1, o2, o3] = four([x[1], x[3], x[5], x[7]]);
    // By (1 - i) and (-1 - i) over the root of two, and by -i.
    let (sum, gap) = (o1.re + o1.im, o1.im - o1.re);
    let first = Complex { re: sum.times_plus(half, e1.re), im: gap.times_plus(half, e1.im) };
    let fifth = Complex { re: sum.minus_times(half, e1.re), im: gap.minus_times(half, e1.im) };
    let [second, sixth] = turned(e2, o2);
    let (gap, sum) = (o3.im - o3.re, o3.re + o3.im);
    let third = Complex { re: gap.times_plus(half, e3.re), im: sum.minus_times(half, e3.im) };
    let seventh = Complex { re: gap.minus_times(half, e3.re), im: sum.times_plus(half, e3.im) };
    [e0 + o0, first, second, third, e0 - o0, fifth, sixth, seventh]
}

/// An odd length: pairs of entries from both ends have the same cosines, and sines of both signs. `circle` has cosine and sine
/// of `2 pi k / R`.
///
/// # Safety
/// The machine has the instructions.
#[inline(always)]
unsafe fn odd<V: Vector, const R: usize>(x: [Complex<V>; R], circle: &[[V::Number; 2]; LONGEST]) -> [Complex<V>; R] {
    let mut y = x;
    // SAFETY: the caller's promise. Test `transforms_agree_with_the_sum`.
    let splat = |x: V::Number| unsafe { V::splat(x) };
    let sums: [Complex<V>; LONGEST] = from_fn(|k| if 0 < k && k <= R / 2 { x[k] + x[R - k] } else { x[0] });
    let gaps: [Complex<V>; LONGEST] = from_fn(|k| if 0 < k && k <= R / 2 { x[k] - x[R - k] } else { x[0] });
    for sum in &sums[1..=R / 2] {
        y[0] = y[0] + *sum;
    }
    for j in 1..=R / 2 {
        let (mut even, mut other) = (x[0], gaps[1].scaled([splat(circle[j][1]); 2]));
        for k in 1..=R / 2 {
            let [cos, sin] = [splat(circle[j * k % R][0]), splat(circle[j * k % R][1])];
            even = sums[k].scaled_plus(cos, even);
            if k > 1 {
                other = gaps[k].scaled_plus(sin, other);
            }
        }
        [y[j], y[R - j]] = turned(even, other);
    }
    y
}

/// A transform in registers.
///
/// # Safety
/// The machine has the instructions.
#[inline(always)]
unsafe fn transform<V: Vector, const R: usize>(
    x: [Complex<V>; R],
    circle: &[[V::Number; 2]; LONGEST],
) -> [Complex<V>; R] {
    match R {
        2 => from_fn(|k| if k == 0 { x[0] + x[1] } else { x[0] - x[1] }),
        4 => {
            let y = four(from_fn(|k| x[k]));
            from_fn(|k| y[k])
        }
        8 => {
            // SAFETY: the caller's promise. Test `transforms_agree_with_the_sum`.
            let half = unsafe { V::splat(V::Number::from_f64(FRAC_1_SQRT_2)) };
            let y = eight(from_fn(|k| x[k]), half);
            from_fn(|k| y[k])
        }
        // SAFETY: as above. Test as above.
        _ => unsafe { odd(x, circle) },
    }
}

/// A pass over packed lines.
#[derive(Clone, Debug)]
pub(super) struct Pass<T> {
    /// Entries of a transform in registers.
    pub(super) radix: usize,
    /// Entries of the transforms that it begins.
    pub(super) length: usize,
    /// For each of the first `length / radix` entries, the factors of what comes out but for the first one.
    pub(super) factors: Vec<[T; 2]>,
    /// Cosine and sine of multiples of `2 pi / radix`.
    pub(super) circle: [[T; 2]; LONGEST],
}

impl<T: Float> Pass<T> {
    pub(super) fn new(radix: usize, length: usize) -> Self {
        let entries = if length == radix { 0 } else { length / radix };
        let factors = (0..entries).flat_map(|p| (1..radix).map(move |t| root(p * t, length)));
        // The sine is that of a positive angle.
        let circle = from_fn(|k| if k < radix { root(k, radix) } else { [1.0, 0.0] }).map(|[re, im]| [re, -im]);
        let number = |pair: [f64; 2]| pair.map(T::from_f64);
        Pass { radix, length, factors: factors.map(number).collect(), circle: circle.map(number) }
    }
}

/// `exp(-2 pi i k / n)`, exact at multiples of an eighth of the circle but for the root of a half.
pub(super) fn root(k: usize, n: usize) -> [f64; 2] {
    // In eighths of the circle, of `n` parts each.
    let (eighth, rest) = (8 * (k % n) / n, 8 * (k % n) % n);
    let angle = |parts: usize| std::f64::consts::FRAC_PI_4 * parts as f64 / n as f64;
    let (sin, cos) = if eighth.is_multiple_of(2) { angle(rest) } else { angle(n - rest) }.sin_cos();
    let (cos, sin) = match eighth {
        0 => (cos, sin),
        1 => (sin, cos),
        2 => (-sin, cos),
        3 => (-cos, sin),
        4 => (-cos, -sin),
        5 => (-sin, -cos),
        6 => (sin, -cos),
        _ => (cos, -sin),
    };
    [cos, -sin]
}

/// Where the last pass writes what comes out of it.
#[derive(Clone, Copy)]
pub(super) enum Sorted<'a, N> {
    /// In its own place: in the order of digits reversed.
    No,
    /// There, in order. Each transform in registers has the number of its first entry here; the next ones follow this many
    /// entries apart.
    Into(*mut N, &'a [u32], usize),
}

/// Calls the code for a radix.
macro_rules! of_radix {
    ($radix:expr, $name:ident::<$vector:ident>($($argument:expr),*)) => {
        match $radix {
            2 => $name::<$vector, 2>($($argument),*),
            3 => $name::<$vector, 3>($($argument),*),
            4 => $name::<$vector, 4>($($argument),*),
            5 => $name::<$vector, 5>($($argument),*),
            7 => $name::<$vector, 7>($($argument),*),
            8 => $name::<$vector, 8>($($argument),*),
            radix => unreachable!("a radix of {radix}"),
        }
    };
}

/// Transforms `count` entries of packed lines by a pass that is not the last one.
///
/// # Safety
/// The machine has the instructions; the entries can be read and written, and are whole transforms of the pass.
#[inline(always)]
pub(super) unsafe fn pass<V: Vector>(of: &Pass<V::Number>, entries: *mut V::Number, count: usize) {
    // SAFETY: the caller's promise. Test `transforms_agree_with_the_sum`.
    unsafe { of_radix!(of.radix, blocks::<V>(of, entries, count)) }
}

/// Transforms `count` entries from the entry `first` of packed lines on by the last pass, each part times a factor.
///
/// # Safety
/// The machine has the instructions; the entries can be read and written, and are whole transforms of the pass; what is written
/// elsewhere can be.
#[inline(always)]
pub(super) unsafe fn last<V: Vector>(
    of: &Pass<V::Number>,
    entries: *mut V::Number,
    [first, count]: [usize; 2],
    factors: [V::Number; 2],
    to: Sorted<'_, V::Number>,
) {
    // SAFETY: the caller's promise. Test `transforms_agree_with_the_sum`.
    unsafe { of_radix!(of.radix, ends::<V>(of, entries, [first, count], factors, to)) }
}

/// # Safety
/// As for [`pass`].
#[expect(clippy::needless_range_loop, reason = "iterators would not all be compiled for the vectors of the caller")]
#[inline(always)]
unsafe fn blocks<V: Vector, const R: usize>(of: &Pass<V::Number>, entries: *mut V::Number, count: usize) {
    let apart = of.length / R;
    assert!(of.factors.len() == apart * (R - 1) && count.is_multiple_of(of.length), "{count} entries by {}", of.length);
    // SAFETY: the caller's promise: entries `first + p + t * apart` are below `count`, which is a multiple of `R * apart`; factors
    // are as many as asserted. Test `transforms_agree_with_the_sum`.
    unsafe {
        for first in (0..count).step_by(of.length) {
            for p in 0..apart {
                let at = |t: usize| entries.wrapping_add((first + p + t * apart) * 2 * V::LANES);
                let x = transform::<V, R>(from_fn(|t| Complex::load(at(t))), &of.circle);
                let factors = of.factors.as_ptr().add(p * (R - 1));
                x[0].store(at(0));
                for t in 1..R {
                    x[t].times(*factors.add(t - 1)).store(at(t));
                }
            }
        }
    }
}

/// # Safety
/// As for [`last`].
#[expect(clippy::needless_range_loop, reason = "iterators would not all be compiled for the vectors of the caller")]
#[inline(always)]
unsafe fn ends<V: Vector, const R: usize>(
    of: &Pass<V::Number>,
    entries: *mut V::Number,
    [first, count]: [usize; 2],
    factors: [V::Number; 2],
    to: Sorted<'_, V::Number>,
) {
    // SAFETY: the caller's promise: whole transforms of `R` entries are there, and where they go. Test as above.
    unsafe {
        let factors = [V::splat(factors[0]), V::splat(factors[1])];
        for entry in (first..first + count).step_by(R) {
            let at = entries.wrapping_add(entry * 2 * V::LANES);
            let x = transform::<V, R>(from_fn(|t| Complex::load(at.wrapping_add(t * 2 * V::LANES))), &of.circle);
            let (to, apart) = match to {
                Sorted::No => (at, 1),
                Sorted::Into(to, heads, apart) => (to.wrapping_add(heads[entry / R] as usize * 2 * V::LANES), apart),
            };
            for t in 0..R {
                x[t].scaled(factors).store(to.wrapping_add(t * apart * 2 * V::LANES));
            }
        }
    }
}
