//! Loops over numbers whose derivative takes the memory of the carry: [`fori`], [`scan`], [`while_loop`].
//!
//! Any Rust loop can be differentiated: on the tape it is the list of all operations of all iterations, 24 bytes each. A loop of
//! this module is one entry, and an iteration takes 8 bytes for each number that is carried, and one more. What an iteration
//! does is recorded once for each way that control flow takes through it, and computed again from its carry in the reverse sweep.
//! The functions of the same names for tensors are those of the crate.
//!
//! They are generic over [`Real`]: over plain numbers, duals and all carriers but [`Var`] the loop just runs.
//!
//! ```
//! use wengert::loops::fori;
//! use wengert::prelude::*;
//!
//! // A bouncing ball: its height after two seconds of explicit Euler, by the restitution of the floor.
//! fn height<R: Real>(restitution: R) -> R {
//!     let (y, _) = fori(0..2000, (R::constant(1.0), R::constant(0.0)), |_, (y, v)| {
//!         let (y, v) = (y + v * 0.001, v - 9.81 * 0.001);
//!         if y < 0.0 { (-y, -v * restitution) } else { (y, v) }
//!     });
//!     y
//! }
//! # // `f64 - R` is not known in generic code, `v - 9.81 * 0.001` is.
//! let slope = grad(0.8, height);
//! let difference = (height(0.8 + 1e-6) - height(0.8 - 1e-6)) / 2e-6;
//! assert!((slope - difference).abs() < 1e-6);
//! ```
//!
//! # What a step may depend on
//!
//! On its arguments and on captured variables and numbers that do not change: it is a function of these. It is called a few times
//! only, and what it did is repeated. So
//!
//! - the index of [`fori`] and the rows of [`scan`] arrive as numbers of the carrier: `data[i]` does not compile, `scan` over
//!   `data` is what is meant;
//! - a step cannot change what it captured: it is an `Fn`. A counter belongs into the carry;
//! - the number of a variable cannot be taken out (`value` panics), also after `detach`;
//! - comparisons are free: another outcome is another path, which is recorded when it is met. `select` chooses so too;
//! - a step that draws random numbers, reads a clock or a [`Cell`](std::cell::Cell) would be repeated with the numbers of the
//!   first time. Recordings of a path are compared with another at its second, third, fourth, eighth, sixteenth, … use, and a
//!   difference is an error. Draw the numbers first and pass them as rows.
//!
//! ```should_panic
//! use std::cell::Cell;
//! use wengert::loops::fori;
//! use wengert::prelude::*;
//! let (calls, weights) = (Cell::new(0), [0.5; 1000]);
//! // The weight of a step is read from outside: "computes with the number … at first, and later with …".
//! let next = || calls.replace(calls.get() + 1);
//! grad(1.0, |x| fori(0..1000, x, |_, c| c * (weights[next()] + next() as f64)));
//! ```
//!
//! # Costs
//!
//! The reverse sweep runs every step twice. A path becomes straight-line code when it is taken again and again, also in loops that
//! follow each other, which is faster than recording: a thread remembers a few paths
//! ([`release_memory`](crate::release_memory) forgets them). Tangents and cotangents over plain numbers are such code too; over
//! duals a step runs operation by operation. A loop whose paths change all the time, or which has more than 64, is recorded
//! operation by operation from there on, as without this module. So are loops of four steps, loops inside of
//! [`record`](crate::record) and of diagnoses. [`Loops::every`] keeps fewer carries.
//!
//! A loop is differentiated in every mode and order; a derivative of it inside of another driver's function is again a loop that
//! keeps its carries. [`Taylor`](crate::taylor()) series, functions that tensors come into, and nested [`Dual`](crate::Dual)s
//! over `Var` write it out.

use std::any::TypeId;
use std::cell::RefCell;
use std::ops::Range;
use std::panic::Location;

use crate::real::Real;
use crate::straight::step_code;
use crate::tape::Var;
use crate::tape::block::{Labels, Rows, Step, Steps, Taken, take_steps};
use crate::tape::recording::Line;
use crate::tree::Structure;

/// Numbers in a shape: a number of a carrier, an array, `Vec` or tuple of these. What a loop carries, and its rows.
///
/// Implement it for a struct by calling the methods of its fields in order.
///
/// ```
/// use wengert::Structure;
/// use wengert::loops::{Numbers, fori};
/// use wengert::prelude::*;
///
/// #[derive(Clone)]
/// struct Particle<R> {
///     position: [R; 2],
///     speed: [R; 2],
/// }
///
/// impl<R: Real> Numbers for Particle<R> {
///     type Number = R;
///     type With<S: Real> = Particle<S>;
///     fn for_each(&self, visit: &mut impl FnMut(R)) {
///         self.position.for_each(visit);
///         self.speed.for_each(visit);
///     }
///     fn structure(&self, structure: &mut Structure) {
///         self.position.structure(structure);
///         self.speed.structure(structure);
///     }
///     fn rebuilt(&self, next: &mut impl FnMut() -> R) -> Self {
///         self.with(next)
///     }
///     fn with<S: Real>(&self, next: &mut impl FnMut() -> S) -> Particle<S> {
///         Particle { position: self.position.with(next), speed: self.speed.with(next) }
///     }
/// }
///
/// let flown = |angle: Var| {
///     let start = Particle { position: [lift(0.0); 2], speed: [angle.cos(), angle.sin()] };
///     let end = fori(0..100, start, |_, Particle { position: [x, y], speed: [u, v] }| Particle {
///         position: [x + 0.01 * u, y + 0.01 * v],
///         speed: [u, v - 0.05],
///     });
///     end.position[0]
/// };
/// assert!((grad(0.5, flown) + 0.5f64.sin()).abs() < 1e-14);
/// ```
pub trait Numbers: Clone {
    /// The carrier.
    type Number: Real;
    /// The same shape over another carrier.
    type With<R: Real>;

    /// Calls `visit` with every number, in order.
    fn for_each(&self, visit: &mut impl FnMut(Self::Number));
    /// Notes what distinguishes this shape from others of its type with as many numbers: the lengths of its lists, and what it
    /// holds besides numbers. A recorded loop has one structure, and refuses a step that changes it; of a shape that does not
    /// say it cannot know.
    fn structure(&self, structure: &mut Structure) {
        structure.opaque();
    }
    /// The same shape with other numbers, in order.
    fn rebuilt(&self, next: &mut impl FnMut() -> Self::Number) -> Self;
    /// The same shape with numbers of another carrier, in order.
    fn with<R: Real>(&self, next: &mut impl FnMut() -> R) -> Self::With<R>;
}

impl<S: Real> Numbers for S {
    type Number = S;
    type With<R: Real> = R;

    fn for_each(&self, visit: &mut impl FnMut(S)) {
        visit(*self);
    }
    fn structure(&self, _: &mut Structure) {}
    fn rebuilt(&self, next: &mut impl FnMut() -> S) -> S {
        next()
    }
    fn with<R: Real>(&self, next: &mut impl FnMut() -> R) -> R {
        next()
    }
}

impl<T: Numbers, const N: usize> Numbers for [T; N] {
    type Number = T::Number;
    type With<R: Real> = [T::With<R>; N];

    fn for_each(&self, visit: &mut impl FnMut(T::Number)) {
        self.iter().for_each(|item| item.for_each(visit));
    }
    fn structure(&self, structure: &mut Structure) {
        structure.number(self.len());
        self.iter().for_each(|item| item.structure(structure));
    }
    fn rebuilt(&self, next: &mut impl FnMut() -> T::Number) -> Self {
        std::array::from_fn(|k| self[k].rebuilt(next))
    }
    fn with<R: Real>(&self, next: &mut impl FnMut() -> R) -> Self::With<R> {
        std::array::from_fn(|k| self[k].with(next))
    }
}

impl<T: Numbers> Numbers for Vec<T> {
    type Number = T::Number;
    type With<R: Real> = Vec<T::With<R>>;

    fn for_each(&self, visit: &mut impl FnMut(T::Number)) {
        self.iter().for_each(|item| item.for_each(visit));
    }
    fn structure(&self, structure: &mut Structure) {
        structure.number(self.len());
        self.iter().for_each(|item| item.structure(structure));
    }
    fn rebuilt(&self, next: &mut impl FnMut() -> T::Number) -> Self {
        self.iter().map(|item| item.rebuilt(next)).collect()
    }
    fn with<R: Real>(&self, next: &mut impl FnMut() -> R) -> Self::With<R> {
        self.iter().map(|item| item.with(next)).collect()
    }
}

/// Names the tuples; the rule is that of arrays.
macro_rules! tuple {
    ($first:ident $first_index:tt $($name:ident $index:tt)*) => {
        impl<$first: Numbers, $($name: Numbers<Number = $first::Number>),*> Numbers for ($first, $($name,)*) {
            type Number = $first::Number;
            type With<R: Real> = ($first::With<R>, $($name::With<R>,)*);

            fn for_each(&self, visit: &mut impl FnMut($first::Number)) {
                self.$first_index.for_each(visit);
                $(self.$index.for_each(visit);)*
            }
            fn structure(&self, structure: &mut Structure) {
                self.$first_index.structure(structure);
                $(self.$index.structure(structure);)*
            }
            fn rebuilt(&self, next: &mut impl FnMut() -> $first::Number) -> Self {
                (self.$first_index.rebuilt(next), $(self.$index.rebuilt(next),)*)
            }
            fn with<R: Real>(&self, next: &mut impl FnMut() -> R) -> Self::With<R> {
                (self.$first_index.with(next), $(self.$index.with(next),)*)
            }
        }
    };
}
tuple!(A 0);
tuple!(A 0 B 1);
tuple!(A 0 B 1 C 2);
tuple!(A 0 B 1 C 2 D 3);
tuple!(A 0 B 1 C 2 D 3 E 4);
tuple!(A 0 B 1 C 2 D 3 E 4 F 5);
tuple!(A 0 B 1 C 2 D 3 E 4 F 5 G 6);
tuple!(A 0 B 1 C 2 D 3 E 4 F 5 G 6 H 7);

/// What a step of a [`scan`] gives beside the carry: numbers of the carrier in a shape, or `()` for nothing.
pub trait Given<R>: Clone {
    /// Calls `visit` with every number, in order.
    fn for_each_given(&self, visit: &mut impl FnMut(R));
    /// See [`Numbers::structure`].
    fn structure_of(&self, structure: &mut Structure);
    /// The same shape with other numbers, in order.
    fn rebuilt_of(&self, next: &mut impl FnMut() -> R) -> Self;
}

impl<R: Real, T: Numbers<Number = R>> Given<R> for T {
    fn for_each_given(&self, visit: &mut impl FnMut(R)) {
        self.for_each(visit);
    }
    fn structure_of(&self, structure: &mut Structure) {
        self.structure(structure);
    }
    fn rebuilt_of(&self, next: &mut impl FnMut() -> R) -> Self {
        self.rebuilt(next)
    }
}

impl<R: Real> Given<R> for () {
    fn for_each_given(&self, _: &mut impl FnMut(R)) {}
    fn structure_of(&self, _: &mut Structure) {}
    fn rebuilt_of(&self, _: &mut impl FnMut() -> R) {}
}

/// `c = step(i, c)` for every `i` of a range, from `init` on; the last `c`. `i` is a number of the carrier.
///
/// An empty range gives `init`. The step may capture variables, call drivers and hold other loops; what it may depend on says
/// the [module](self).
///
/// ```
/// use wengert::loops::fori;
/// use wengert::prelude::*;
/// // x^20 / 20!, and its derivative x^19 / 19!
/// let (y, slope) = value_and_grad(2.0, |x| fori(1..21, lift(1.0), |i, c| c * x / i));
/// let factorial: f64 = (1..=20).map(f64::from).product();
/// assert!((y * factorial / 2f64.powi(20) - 1.0).abs() < 1e-14);
/// assert!((slope / y - 10.0).abs() < 1e-12);
/// ```
///
/// # Panics
/// If the carry changes its size or its structure, if the step takes the number out of a `Var`, or where its recordings are found to differ.
#[track_caller]
pub fn fori<C: Numbers>(range: Range<i64>, init: C, step: impl Fn(C::Number, C) -> C) -> C {
    Loops::new().fori(range, init, step)
}

/// `(c, y[t]) = step(c, x[t])` for every row of `xs`, from `init` on: the last carry, and all `y[t]`.
///
/// Rows are numbers, arrays, `Vec`s or tuples, of plain numbers or of the carrier; `y` may be `()` for nothing. No row gives
/// `init`.
///
/// ```
/// use wengert::loops::scan;
/// use wengert::prelude::*;
/// // an exponential average of data, with its course
/// let data = [1.0, 2.0, 3.0, 2.0, 1.0, 0.0];
/// let average = |a: Var| scan(lift(0.0), &data, |m, x| { let m = m + a * (x - m); (m, m) });
/// let (value, slope) = value_and_grad(0.5, |a| average(a).0);
/// assert_eq!(value, 0.765625);
/// assert_eq!(slope, -1.75);
/// let course: Vec<f64> = jacobian(0.5, |a| average(a).1);
/// assert_eq!((course.len(), course[0]), (6, 1.0));
/// ```
///
/// # Panics
/// As [`fori`], and if the rows, or what the steps give, differ in size or structure.
#[track_caller]
pub fn scan<C, X, Y>(init: C, xs: &[X], step: impl Fn(C, X::With<C::Number>) -> (C, Y)) -> (C, Vec<Y>)
where
    C: Numbers,
    X: Numbers<Number: Into<C::Number>>,
    Y: Given<C::Number>,
{
    Loops::new().scan(init, xs, step)
}

/// `c = step(c)` as long as `condition(c)` holds, from `init` on; the last `c`.
///
/// ```
/// use wengert::loops::while_loop;
/// use wengert::prelude::*;
/// // the square root of a, by Newton's method
/// let root = |a: Var| while_loop(a, |x| (x * x - a).abs() > 1e-12, |x| (x + a / x) * 0.5);
/// let (root, slope) = value_and_grad(9.0, root);
/// assert!((root - 3.0).abs() < 1e-12 && (slope - 1.0 / 6.0).abs() < 1e-12);
/// ```
///
/// # Panics
/// As [`fori`]; the condition is a part of the step.
#[track_caller]
pub fn while_loop<C: Numbers>(init: C, condition: impl Fn(C) -> bool, step: impl Fn(C) -> C) -> C {
    Loops::new().while_loop(init, condition, step)
}

/// Loops with options.
#[derive(Clone, Copy, Debug)]
pub struct Loops {
    every: usize,
    reverse: bool,
}

impl Default for Loops {
    fn default() -> Self {
        Loops::new()
    }
}

impl Loops {
    /// From the first row to the last, keeping the carry of every step.
    pub fn new() -> Self {
        Loops { every: 1, reverse: false }
    }

    /// Keeps the carry of every `steps`-th step; those between are computed again, each once, before the reverse sweep comes to
    /// them. With `n` steps, about `sqrt(n)` takes the least memory: `2 sqrt(n)` carries. The bits of a derivative are the same.
    ///
    /// ```
    /// use wengert::loops::Loops;
    /// use wengert::prelude::*;
    /// let logistic = |loops: Loops, r: Var| loops.fori(0..10_000, lift(0.3), |_, x| r * x * (1.0 - x));
    /// let all = grad(2.9, |r| logistic(Loops::new(), r));
    /// let few = grad(2.9, |r| logistic(Loops::new().every(100), r));
    /// assert_eq!(all, few);
    /// ```
    ///
    /// # Panics
    /// If `steps` is 0.
    #[must_use]
    #[track_caller]
    pub fn every(mut self, steps: usize) -> Self {
        assert!(steps > 0, "`every`: the carry of every 0th step is none");
        self.every = steps;
        self
    }

    /// [`scan`] from the last row to the first; what the steps give keeps the places of their rows. Other loops do not ask.
    ///
    /// ```
    /// use wengert::loops::Loops;
    /// let (_, sums) = Loops::new().reverse().scan(0.0, &[1.0, 2.0, 3.0], |sum, x| (sum + x, sum + x));
    /// assert_eq!(sums, [6.0, 5.0, 3.0]);
    /// ```
    #[must_use]
    pub fn reverse(mut self) -> Self {
        self.reverse = true;
        self
    }

    /// See [`fori`].
    #[track_caller]
    pub fn fori<C: Numbers>(&self, range: Range<i64>, init: C, step: impl Fn(C::Number, C) -> C) -> C {
        if !records::<C::Number>() {
            return range.fold(init, |carry, i| step(C::Number::constant(i as f64), carry));
        }
        let count = usize::try_from(range.end.saturating_sub(range.start)).unwrap_or(0);
        let taking = Taking { name: "fori", line: Location::caller(), init: &init };
        let steps = self.steps(&taking, Some(count), Rows::Counted(range.start));
        taking.take(steps, |carry, row| Some((step(row[0], carry), Vec::new()))).0
    }

    /// See [`scan`].
    #[track_caller]
    pub fn scan<C, X, Y>(&self, init: C, xs: &[X], step: impl Fn(C, X::With<C::Number>) -> (C, Y)) -> (C, Vec<Y>)
    where
        C: Numbers,
        X: Numbers<Number: Into<C::Number>>,
        Y: Given<C::Number>,
    {
        let order = |place: usize| if self.reverse { xs.len() - 1 - place } else { place };
        let number = |x: X::Number| -> C::Number { x.into() };
        if !records::<C::Number>() {
            let (mut carry, mut given) = (init, Vec::with_capacity(xs.len()));
            for place in 0..xs.len() {
                let row = &xs[order(place)];
                let mut numbers = Vec::new();
                row.for_each(&mut |x| numbers.push(number(x)));
                let mut numbers = numbers.into_iter();
                let (next, y) = step(carry, row.with(&mut || numbers.next().expect("as many as the row has")));
                carry = next;
                given.push(y);
            }
            if self.reverse {
                given.reverse();
            }
            return (carry, given);
        }
        let line = Location::caller();
        let mut numbers = Vec::new();
        let mut width = 0;
        for place in 0..xs.len() {
            let before = numbers.len();
            xs[order(place)].for_each(&mut |x| numbers.push(number(x)));
            let size = numbers.len() - before;
            if place == 0 {
                width = size;
            }
            assert!(size == width, "`scan` at {line}: a row has {size} numbers, and another one {width}");
            let is_other = known(|to| xs[order(place)].structure(to)) != known(|to| xs[order(0)].structure(to));
            assert!(!is_other, "`scan` at {line}: a row has another structure than another one{OTHER}");
        }
        let given: RefCell<Option<(Y, usize)>> = RefCell::new(None);
        let taking = Taking { name: "scan", line, init: &init };
        let steps = self.steps(&taking, Some(xs.len()), Rows::Each(width, numbers));
        let (carry, numbers) = taking.take(steps, |carry, row| {
            let mut row = row.iter().copied();
            let (carry, y) = step(carry, xs[0].with(&mut || row.next().expect("as many as the row has")));
            let mut numbers = Vec::new();
            y.for_each_given(&mut |number| numbers.push(number));
            let structure = known(|to| y.structure_of(to));
            let mut given = given.borrow_mut();
            let (first, size) = given.get_or_insert_with(|| (y, numbers.len()));
            let is_other = *size == numbers.len() && structure != known(|to| first.structure_of(to));
            assert!(!is_other, "`scan` at {line}: a step gives another structure than another one{OTHER}");
            Some((carry, numbers))
        });
        let Some((shape, _)) = given.into_inner() else { return (carry, Vec::new()) };
        let mut numbers = numbers.into_iter();
        let mut next = || numbers.next().expect("as many as the first step gave");
        let mut given: Vec<Y> = xs.iter().map(|_| shape.rebuilt_of(&mut next)).collect();
        if self.reverse {
            given.reverse();
        }
        (carry, given)
    }

    /// See [`while_loop`].
    #[track_caller]
    pub fn while_loop<C: Numbers>(&self, init: C, condition: impl Fn(C) -> bool, step: impl Fn(C) -> C) -> C {
        if !records::<C::Number>() {
            let mut carry = init;
            while condition(carry.clone()) {
                carry = step(carry);
            }
            return carry;
        }
        let taking = Taking { name: "while_loop", line: Location::caller(), init: &init };
        let steps = self.steps(&taking, None, Rows::None);
        taking.take(steps, |carry, _| condition(carry.clone()).then(|| (step(carry), Vec::new()))).0
    }

    fn steps<C: Numbers>(
        &self,
        taking: &Taking<'_, C>,
        count: Option<usize>,
        rows: Rows<C::Number>,
    ) -> Steps<C::Number> {
        let mut start = Vec::new();
        taking.init.for_each(&mut |number| start.push(number));
        let (every, labels, line) = (self.every, Labels::Same(0), taking.line);
        Steps {
            line,
            count,
            limit: None,
            snapshots: None,
            start,
            label: 0,
            rows,
            labels,
            every,
            checked: true,
            make_code: step_code,
        }
    }
}

/// How structures differ.
const OTHER: &str = ": other lengths of lists, or what else is no number";

/// The structure that is noted, if it can be compared.
fn known(note: impl FnOnce(&mut Structure)) -> Option<u64> {
    let mut structure = Structure::default();
    note(&mut structure);
    structure.compared()
}

/// Whether loops over this carrier are recorded.
fn records<R: Real>() -> bool {
    TypeId::of::<R>() == TypeId::of::<Var>()
}

/// A loop over a carrier that records.
struct Taking<'a, C> {
    name: &'static str,
    line: Line,
    init: &'a C,
}

impl<C: Numbers> Taking<'_, C> {
    /// Takes the steps; a step that gives nothing ends the loop. The last carry, and what the steps gave beside it.
    #[track_caller]
    fn take(
        &self,
        steps: Steps<C::Number>,
        step: impl Fn(C, &[C::Number]) -> Option<(C, Vec<C::Number>)>,
    ) -> (C, Vec<C::Number>) {
        let Taking { name, line, .. } = self;
        let rebuilt = |numbers: &[C::Number]| {
            let mut numbers = numbers.iter().copied();
            self.init.rebuilt(&mut || numbers.next().expect("as many as the carry has"))
        };
        let size = steps.start.len();
        let structure = known(|to| self.init.structure(to));
        let mut gives = None;
        let taken = take_steps(steps, &mut |_, carry, row| {
            let Some((after, given)) = step(rebuilt(carry), row) else {
                return Some(Step { carry: carry.to_vec(), gives: Vec::new(), after: 0, given: 0, ends: true });
            };
            let mut carry = Vec::with_capacity(size);
            after.for_each(&mut |number| carry.push(number));
            let own = carry.len();
            assert!(own == size, "`{name}` at {line}: the carry has {size} numbers before a step, and {own} after it");
            let is_other = known(|to| after.structure(to)) != structure;
            assert!(!is_other, "`{name}` at {line}: the carry changes its structure in a step{OTHER}");
            let (own, first) = (given.len(), *gives.get_or_insert(given.len()));
            assert!(own == first, "`{name}` at {line}: a step gives {own} numbers, and another one {first}");
            Some(Step { carry, gives: given, after: 0, given: 0, ends: false })
        });
        let Ok(Taken { carry, gives, .. }) = taken else { unreachable!("a step of a user has a path everywhere") };
        (rebuilt(&carry), gives)
    }
}
