//! Eigenvalues and eigenvectors of a diagonal matrix plus one of rank one.
//!
//! The eigenvalues of `diag(d) + rho z zᵀ`, for ascending `d` and positive `rho`, are the roots of the secular equation
//!
//! ```text
//! f(x) = 1 / rho + sum of z[k]^2 / (d[k] - x) = 0
//! ```
//!
//! one between each pole and the next, and one behind the last (J. R. Bunch, C. P. Nielsen and D. C. Sorensen, *Rank-one
//! modification of the symmetric eigenproblem*, 1978). A root is found as its distance from the nearer pole, so that its
//! distances from all poles have all their digits, by the interpolation of R.-C. Li (*Solving secular equations stably and
//! efficiently*, 1993, the "middle way"), between bounds. The vectors are those of the matrix of which the numbers
//! found are the eigenvalues exactly, whose `z` is known by a product (M. Gu and S. C. Eisenstat, 1994): so they are orthogonal up
//! to rounding, however near to each other the roots are.
//!
//! Eight roots are found at a time, one in each lane of a vector, and eight entries of a vector computed.

use std::array::from_fn;

use super::Number;
use super::lanes::{LANES, Lanes, Mask};
use crate::{Float, Work};

/// The most steps to a root; four or five are usual.
const STEPS: usize = 100;

/// A sum of as many terms that is below this many rounding units more of their moduli is as good as zero: as in LAPACK's `dlaed4`.
const ROUNDED: usize = 8;

/// How many numbers are kept for as many poles: vectors are whole.
pub(super) const fn padded(poles: usize) -> usize {
    poles.next_multiple_of(LANES)
}

/// Finds those of the roots that `found` has room for; false if one is not found. All slices are [`padded`], with the last
/// pole repeated.
pub(super) struct Roots<'a, T> {
    /// Ascending.
    pub(super) poles: &'a [T],
    /// The squares of `z`, none of which is zero.
    pub(super) squares: &'a [T],
    pub(super) count: usize,
    pub(super) rho: T,
    /// The number of the first root that is looked for: a multiple of the lanes.
    pub(super) first: usize,
    /// Each root, as the pole from which it is measured and the distance from there.
    pub(super) found: &'a mut [[T; 2]],
}

/// The sums over the poles up to a root, and over those behind it, and their derivatives.
struct Sums<T> {
    below: Lanes<T>,
    above: Lanes<T>,
    slopes: [Lanes<T>; 2],
}

/// Where the roots of a few lanes are.
struct Place<T> {
    /// The poles on both sides, and their squares.
    poles: [Lanes<T>; 2],
    squares: [Lanes<T>; 2],
    /// Whether the left one is nearer.
    is_left: Mask,
    /// The nearer one, and bounds of the distance from it, and what it is taken for.
    from: Lanes<T>,
    low: Lanes<T>,
    high: Lanes<T>,
    by: Lanes<T>,
}

impl<T: Number> Roots<'_, T> {
    #[inline(always)]
    fn sums(&self, from: Lanes<T>, by: Lanes<T>) -> Sums<T> {
        let [mut below, mut above, mut below_slope, mut above_slope] = [Lanes::ZERO; 4];
        for (&pole, &square) in self.poles[..self.count].iter().zip(self.squares) {
            let inverse = Lanes::ONE / ((Lanes::splat(pole) - from) - by);
            // Where one of the two is zero, so is its slope.
            let term = Lanes::splat(square) * inverse;
            let [under, over] = [-(-term).max(Lanes::ZERO), term.max(Lanes::ZERO)];
            (below, above) = (below + under, above + over);
            (below_slope, above_slope) = (below_slope + under * inverse, above_slope + over * inverse);
        }
        Sums { below, above, slopes: [below_slope, above_slope] }
    }

    /// Those from `first` on, with lanes behind the last one that find it again; `end` is behind it.
    #[inline(always)]
    fn place(&self, first: usize, end: T, inverse: Lanes<T>) -> Place<T> {
        let last = self.count - 1;
        let numbers: [usize; LANES] = from_fn(|lane| (first + lane).min(last));
        let here = |x: &[T]| Lanes::new(numbers.map(|k| x[k]));
        let next = |x: &[T], behind: T| Lanes::new(numbers.map(|k| if k < last { x[k + 1] } else { behind }));
        let poles = [here(self.poles), next(self.poles, end)];
        let squares = [here(self.squares), next(self.squares, T::ZERO)];
        let width = poles[1] - poles[0];
        let middle = Lanes::of(0.5) * width;

        // On which side of the middle it is, and where it would be if the other poles were far away.
        let Sums { below, above, .. } = self.sums(poles[0], middle);
        let f = inverse + below + above;
        let rises = f.above(Lanes::ZERO);
        let is_left = from_fn(|lane| rises[lane] | (numbers[lane] == last));
        let rest = f + (squares[0] - squares[1]) / middle;
        let c = rest.select(is_left, -rest);
        let distance = root(c * width + (squares[0] + squares[1]), squares[0].select(is_left, squares[1]) * width, c);
        // Beyond the middle, where the root is not, so that no bound is a root.
        let reach = Lanes::of(0.75) * width;
        let distance = within(distance, [Lanes::ZERO, reach], Lanes::of(0.25) * width);
        Place {
            poles,
            squares,
            is_left,
            from: poles[0].select(is_left, poles[1]),
            low: Lanes::ZERO.select(is_left, -reach),
            high: reach.select(is_left, Lanes::ZERO),
            by: distance.select(is_left, -distance),
        }
    }

    /// The roots from `first` on.
    #[inline(always)]
    fn group(&self, first: usize, end: T) -> Option<[Lanes<T>; 2]> {
        let inverse = Lanes::splat(T::ONE / self.rho);
        let tolerance = Lanes::of((ROUNDED + self.count) as f64 * T::EPSILON.to_f64());
        let mut place = self.place(first, end, inverse);
        let ([mut found, mut own, mut slow], mut before) = ([[false; LANES]; 3], Lanes::of(f64::INFINITY));
        for _ in 0..STEPS {
            let Sums { below, above, slopes } = self.sums(place.from, place.by);
            let f = inverse + below + above;
            let large = f.modulus().above(tolerance * (inverse - below + above));
            let is_slow = f.modulus().above(Lanes::of(0.1) * before);
            let again = from_fn(|lane| is_slow[lane] & slow[lane]);
            slow = from_fn(|lane| is_slow[lane] & !slow[lane]);
            own = from_fn(|lane| own[lane] ^ is_slow[lane]);
            before = f.modulus();
            let [step, mean] = place.bound(f).steps(f, slopes, own);
            // From a point that is near enough, the step is taken still.
            let better = place.within(step, mean.select(large, place.by));
            place.by = place.by.select(found, mean.select(again, better));
            found = from_fn(|lane| found[lane] | !large[lane]);
            if found == [true; LANES] {
                return Some([place.from, place.by]);
            }
        }
        None
    }
}

impl<T: Number> Place<T> {
    /// Knows on which side of the distance the root is.
    #[inline(always)]
    fn bound(&mut self, f: Lanes<T>) -> &Self {
        let rises = f.above(Lanes::ZERO);
        self.high = self.by.select(rises, self.high);
        self.low = self.low.select(rises, self.by);
        self
    }

    /// The next distance, and one for where it leads nowhere.
    ///
    /// The first is the root of a constant and two poles that have the value and the slope of `f` here: each the slope of the
    /// poles on its side, or, where `own` is true, the nearer one its own square (the "fixed weight"), which is better if poles
    /// behind it weigh more than it does. The second is between the bounds in size, not in value: a root may be very much
    /// nearer to its pole than they are.
    #[inline(always)]
    fn steps(&self, f: Lanes<T>, slopes: [Lanes<T>; 2], own: Mask) -> [Lanes<T>; 2] {
        let to = self.poles.map(|pole| (pole - self.from) - self.by);
        let (slope, product) = (slopes[0] + slopes[1], to[0] * to[1]);
        let near = to[0].select(self.is_left, to[1]);
        let far = to[1].select(self.is_left, to[0]);
        let square = self.squares[0].select(self.is_left, self.squares[1]);
        let by_sides = f - to[0] * slopes[0] - to[1] * slopes[1];
        let c = (f - far * slope - (near - far) * (square / near / near)).select(own, by_sides);
        let step = self.by + root((to[0] + to[1]) * f - product * slope, product * f, c);

        let (low, high) = (self.low.modulus(), self.high.modulus());
        let (least, most) = (low.select(self.is_left, high), high.select(self.is_left, low));
        let mean = (least.max(Lanes::of(1.0 / 4096.0) * most) * most).root();
        [step, mean.select(self.is_left, -mean)]
    }

    #[inline(always)]
    fn within(&self, x: Lanes<T>, other: Lanes<T>) -> Lanes<T> {
        within(x, [self.low, self.high], other)
    }
}

impl<T: Number> Work for Roots<'_, T> {
    type Output = bool;
    #[inline(always)]
    fn run(mut self) -> bool {
        let found = std::mem::take(&mut self.found);
        let total = self.squares[..self.count].iter().fold(T::ZERO, |sum, &x| sum + x);
        // So that the last root is before the middle between the last pole and this.
        let end = self.poles[self.count - 1] + T::from_f64(3.0) * self.rho * total;
        for (first, found) in (self.first..).step_by(LANES).zip(found.chunks_exact_mut(LANES)) {
            let Some([from, by]) = self.group(first, end) else { return false };
            for (found, (&from, &by)) in found.iter_mut().zip(from.numbers().iter().zip(by.numbers())) {
                *found = [from, by];
            }
        }
        true
    }
}

/// The root of `c x² - a x + b` that is between the poles.
#[inline(always)]
fn root<T: Number>(a: Lanes<T>, b: Lanes<T>, c: Lanes<T>) -> Lanes<T> {
    let (two, four) = (Lanes::of(2.0), Lanes::of(4.0));
    let root = (a * a - four * b * c).modulus().root();
    (two * b / (a + root)).select(a.above(Lanes::ZERO), (a - root) / (two * c))
}

/// A number that is strictly between two others; another one, if it is not.
#[inline(always)]
fn within<T: Number>(x: Lanes<T>, [low, high]: [Lanes<T>; 2], other: Lanes<T>) -> Lanes<T> {
    let (above, under) = (x.above(low), high.above(x));
    x.select(from_fn(|lane| above[lane] & under[lane]), other)
}

/// Replaces some numbers of `z` by those of the matrix with exactly these roots, with the signs that they have.
pub(super) struct Weights<'a, T> {
    pub(super) poles: &'a [T],
    pub(super) count: usize,
    pub(super) found: &'a [[T; 2]],
    /// The place of the first number of `z`, a part of the whole: a multiple of the lanes.
    pub(super) first: usize,
    pub(super) z: &'a mut [T],
}

impl<T: Number> Work for Weights<'_, T> {
    type Output = ();
    #[inline(always)]
    fn run(self) {
        let Weights { poles, count, found, first, z } = self;
        for (z, at) in z.chunks_exact_mut(LANES).zip(poles[first..].chunks_exact(LANES)) {
            let here = Lanes::load(at);
            let mut product = Lanes::ONE;
            for (&pole, &[from, by]) in poles[..count].iter().zip(found) {
                let distance = Lanes::splat(pole) - here;
                let own = distance.numbers().map(|x| x == T::ZERO);
                let ratio = ((Lanes::splat(from) - here) + Lanes::splat(by)) / Lanes::ONE.select(own, distance);
                product = product * ratio;
            }
            let size = product.modulus().root();
            let negative = Lanes::ZERO.above(Lanes::load(z));
            z.copy_from_slice((-size).select(negative, size).numbers());
        }
    }
}

/// Writes the vector of a root, of length one; `z` has zeros behind its last number.
pub(super) struct Vector<'a, T> {
    pub(super) poles: &'a [T],
    pub(super) z: &'a [T],
    pub(super) found: [T; 2],
    pub(super) out: &'a mut [T],
}

impl<T: Number> Work for Vector<'_, T> {
    type Output = ();
    #[inline(always)]
    fn run(self) {
        let Vector { poles, z, found, out } = self;
        let [from, by] = found.map(Lanes::splat);
        let mut squares = Lanes::ZERO;
        let entries = z.chunks_exact(LANES).zip(poles.chunks_exact(LANES));
        for (out, (z, pole)) in out.chunks_exact_mut(LANES).zip(entries) {
            let entry = Lanes::load(z) / ((Lanes::load(pole) - from) - by);
            squares = squares + entry * entry;
            out.copy_from_slice(entry.numbers());
        }
        let length = Float::sqrt(squares.numbers().iter().fold(T::ZERO, |sum, &x| sum + x));
        out.iter_mut().for_each(|x| *x /= length);
    }
}
