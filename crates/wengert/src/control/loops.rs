//! Loops that stay loops: `scan`, `fori`, `map`, `while_loop`, `associative_scan`.
//!
//! Over tensors a step is recorded once, whatever the number of steps; over numbers once for each way that control flow takes
//! through it. What a derivative needs of the steps is planned with everything else.

use std::ops::Range;
use std::panic::Location;

#[cfg(feature = "arrays")]
use super::Fault;
use super::{Carry, Control, Rows, Run, StepRows, raised};

// ---- scan ---------------------------------------------------------------------------------------

/// Takes a step for every row of `xs`: `(c, y[t]) = f(c, x[t])`, from `init` on. Gives the last carry, and all `y[t]`.
///
/// Over tensors, `xs` is any tree of tensors, whose leaves have the same length along axis 0, the number of steps; the `y[t]`
/// come stacked along a new axis 0. Over numbers, `xs` is a slice, array or `Vec` of rows, or a tuple of these, and the `y[t]`
/// are a `Vec`. `init`, rows and `y` may be any trees; `y` may be `()` for nothing. The carry keeps its structure and its types.
/// `f` may capture anything, call drivers and loops, and is differentiated in every mode and order. No row is legal: then
/// nothing runs.
///
/// ```
/// use wengert::prelude::*;
/// let xs = Tensor::from([1.0, 2.0, 3.0]);
/// let a = Tensor::from(0.5);
/// // an exponential average, with its course
/// let course = |a: &Tensor| scan(&Tensor::from(0.0), &xs, |m, x| { let m = (1.0 - a) * m + a * x; (m.clone(), m) });
/// let (last, all) = course(&a);
/// assert_eq!((last.item(), all.to_vec()), (2.125, vec![0.5, 1.25, 2.125]));
/// assert_eq!(grad(&a, |a| course(&a).0).item(), 2.75);
/// ```
///
/// The same over numbers:
///
/// ```
/// use wengert::prelude::*;
/// let xs = [1.0, 2.0, 3.0];
/// let course = |a: Var| scan(0.0, &xs, |m, x| { let m = (1.0 - a) * m + a * x; (m, m) });
/// assert_eq!(value_and_grad(0.5, |a| course(a).0), (2.125, 2.75));
/// assert_eq!(jacobian(0.5, |a| course(a).1), [1.0, 2.0, 2.75]);
/// ```
///
/// A step over numbers is recorded as in [`crate::loops`], whose page says what it may depend on, and what it costs.
///
/// For its reverse over tensors, what the derivative of a step needs is kept for all steps; [`checkpoint`](crate::checkpoint)
/// inside of `f` keeps less. Over numbers the carry is kept. [`Scan`] has options.
///
/// # Panics
/// If the leaves of `xs` differ in length, if the carry changes its structure or a type, or if `f` reads a number.
#[doc(alias("fold", "unroll"))]
#[track_caller]
pub fn scan<C, X, Y>(init: C, xs: X, f: impl Fn(C::Vars, X::Row) -> (C::Vars, Y)) -> (C::Vars, Y::Stacked)
where
    C: Carry,
    X: Rows<C::Active>,
    Y: StepRows<C::Active>,
{
    Scan::new().run(init, xs, f)
}

/// [`scan`] with options.
///
/// ```
/// use wengert::prelude::*;
/// use wengert::Scan;
/// let xs = Tensor::from([1.0, 2.0, 3.0]);
/// // sums from the end
/// let (_, sums) = Scan::new().reverse().run(&Tensor::from(0.0), &xs, |sum, x| { let sum = sum + x; (sum.clone(), sum) });
/// assert_eq!(sums.to_vec(), [6.0, 5.0, 3.0]);
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Scan {
    pub(super) reverse: bool,
    pub(super) every: Option<usize>,
    pub(super) truncated: Option<usize>,
}

impl Scan {
    /// From the first row to the last.
    pub fn new() -> Self {
        Scan::default()
    }

    /// From the last row to the first; the rows of the result keep their places.
    #[must_use]
    pub fn reverse(mut self) -> Self {
        self.reverse = true;
        self
    }

    /// For its reverse, keeps the carry after every `steps` steps only, and computes what else is needed of the steps between
    /// again: of n steps that keeps n/k carries, and what a derivative needs of k steps, for one more run forwards. The bits are
    /// the same. A number near the square root of n keeps the least if a carry is as large as what a step needs.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// use wengert::Scan;
    /// let xs = Tensor::linspace(0.0, 1.0, 100);
    /// let last = |scan: Scan, a: &Tensor| scan.run(a, &xs, |c, x| ((c * 3.0 + x).sin(), ())).0;
    /// let a = Tensor::from(0.5);
    /// let (all, few) = (grad(&a, |a| last(Scan::new(), &a)), grad(&a, |a| last(Scan::new().every(10), &a)));
    /// assert_eq!(all.item(), few.item());
    /// ```
    ///
    /// # Panics
    /// If it is 0.
    #[must_use]
    #[track_caller]
    pub fn every(mut self, steps: usize) -> Self {
        assert!(steps > 0, "`every` keeps the carry after every k steps, and k is 0");
        self.every = Some(steps);
        self
    }

    /// Cuts derivatives after every `steps` steps: what a step takes over from a step of the block before is a constant, as if
    /// [detached](crate::Real::detach) (truncated backpropagation through time; R. J. Williams, J. Peng, 1990). Values are the
    /// same. [`Grad::status`](crate::Grad::status) says that derivatives are severed. It does not change what is kept;
    /// [`Scan::every`] does.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// use wengert::Scan;
    /// // y[t] = a^(t + 1), and a^2 of every block of two is a constant: the slopes are 1, 2a, then a^2 and 2a^3
    /// let course = |a: &Tensor| {
    ///     Scan::new().truncated(2).run(&Tensor::from(1.0), &Tensor::zeros(&[4]), |c, _| { let c = c * a; (c.clone(), c) }).1
    /// };
    /// let (_, slopes) = jvp(&Tensor::from(2.0), &Tensor::from(1.0), |a| course(&a));
    /// assert_eq!(slopes.to_vec(), [1.0, 4.0, 4.0, 16.0]);
    /// // over numbers
    /// let last = |a: Var| Scan::new().truncated(2).fori(0..4, 1.0, |_, c| c * a);
    /// assert_eq!(grad(2.0, last), 16.0);
    /// ```
    ///
    /// # Panics
    /// If it is 0.
    #[must_use]
    #[track_caller]
    pub fn truncated(mut self, steps: usize) -> Self {
        assert!(steps > 0, "`truncated` cuts derivatives after every k steps, and k is 0");
        self.truncated = Some(steps);
        self
    }

    /// Whether a step begins with a constant carry, as the steps run.
    pub(super) fn is_cut(&self, step: usize) -> bool {
        self.truncated.is_some_and(|block| step > 0 && step.is_multiple_of(block))
    }

    /// `c = f(i, c)` for every `i` of a range, as [`fori`].
    ///
    /// # Panics
    /// As [`fori`].
    #[doc(alias = "fori_loop")]
    #[track_caller]
    pub fn fori<C: Carry>(&self, range: Range<i64>, init: C, f: impl Fn(C::Active, C::Vars) -> C::Vars) -> C::Vars {
        raised(C::Active::fori(self, Location::caller(), range, init, f))
    }

    /// Takes the steps.
    ///
    /// # Panics
    /// As [`scan`].
    #[track_caller]
    pub fn run<C, X, Y>(&self, init: C, xs: X, f: impl Fn(C::Vars, X::Row) -> (C::Vars, Y)) -> (C::Vars, Y::Stacked)
    where
        C: Carry,
        X: Rows<C::Active>,
        Y: StepRows<C::Active>,
    {
        raised(C::Active::scan(self, Location::caller(), init, xs, f))
    }

    /// Takes the steps.
    ///
    /// # Errors
    /// If the leaves of `xs` differ in length or have no axis, or if the carry changes its structure or a type.
    #[cfg(feature = "arrays")]
    #[track_caller]
    pub fn try_run<C, X, Y>(
        &self,
        init: C,
        xs: X,
        f: impl Fn(C::Vars, X::Row) -> (C::Vars, Y),
    ) -> Result<(C::Vars, Y::Stacked), Fault>
    where
        C: Carry,
        X: Rows<C::Active>,
        Y: StepRows<C::Active>,
    {
        C::Active::scan(self, Location::caller(), init, xs, f)
    }
}

// ---- fori ---------------------------------------------------------------------------------------

/// `c = f(i, c)` for every `i` of a range, from `init` on; the last `c`. `i` is an integer in a tensor, or a number in a
/// [`Var`](crate::Var) that carries no derivative. An empty range gives `init`.
///
/// ```
/// use wengert::prelude::*;
/// // x^5 / 5!
/// let term = |x: &Tensor| fori(1..6, &Tensor::from(1.0), |i, c| c * x / i.to_f64());
/// assert_eq!(term(&Tensor::from(2.0)).item(), 32.0 / 120.0);
/// assert_eq!(grad(&Tensor::from(2.0), |x| term(&x)).item(), 16.0 / 24.0);
/// // over numbers, each step in the memory of its carry
/// assert_eq!(value_and_grad(2.0, |x| fori(1..6, 1.0, |i, c| c * x / i)), (32.0 / 120.0, 16.0 / 24.0));
/// ```
///
/// # Panics
/// If the carry changes its structure or a type, or if `f` reads a number.
#[track_caller]
pub fn fori<C: Carry>(range: Range<i64>, init: C, f: impl Fn(C::Active, C::Vars) -> C::Vars) -> C::Vars {
    Scan::new().fori(range, init, f)
}

// ---- map ----------------------------------------------------------------------------------------

/// `f` of every row of `xs`, one after the other, stacked along a new axis 0. [`vmap`](crate::vmap) computes all at once: it is
/// faster, and takes the memory of all; [`Map::batch`] stands between both. Over numbers the results are a `Vec`, and a row
/// costs what it is and gives.
///
/// ```
/// use wengert::prelude::*;
/// let xs = Tensor::from([[1.0, 2.0], [3.0, 4.0]]);
/// assert_eq!(wengert::map(&xs, |x| x.square().sum()).to_vec(), [5.0, 25.0]);
/// let squares = |a: Var| wengert::map(&[[1.0, 2.0], [3.0, 4.0]], |[x, y]| a * (x * x + y * y));
/// assert_eq!(jacobian(1.0, squares), [5.0, 25.0]);
/// ```
///
/// # Panics
/// If the leaves of `xs` differ in length, or if `f` reads a number.
#[track_caller]
pub fn map<L, X, Y>(xs: X, f: impl Fn(X::Row) -> Y) -> Y::Stacked
where
    L: Control,
    X: Rows<L>,
    Y: StepRows<L>,
{
    Map::new().run(xs, f)
}

/// [`map`] with options.
///
/// ```
/// use wengert::prelude::*;
/// use wengert::Map;
/// let xs = Tensor::linspace(0.0, 1.0, 10);
/// let course = |a: &Tensor, rows: Map| rows.run(&xs, |x| (x * a).sin());
/// let a = Tensor::from(2.0);
/// // 4 rows at once, 4 more, and the last 2
/// let slope = grad(&a, |a| course(&a, Map::new().batch(4)).sum());
/// assert!((slope.item() - grad(&a, |a| course(&a, Map::new()).sum()).item()).abs() < 1e-12);
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Map {
    pub(super) batch: Option<usize>,
}

impl Map {
    /// One row at a time.
    pub fn new() -> Self {
        Map::default()
    }

    /// This many rows at once, as [`vmap`](crate::vmap) takes all; the last ones may be fewer. It takes the memory of that many
    /// rows, and the time of `vmap` where they are enough to fill vectors and threads. The results are the same within rounding:
    /// the sums of a product may be taken in another order for many rows than for one. Over numbers it changes nothing.
    ///
    /// # Panics
    /// If it is 0.
    #[must_use]
    #[track_caller]
    pub fn batch(mut self, rows: usize) -> Self {
        assert!(rows > 0, "`batch` takes k rows at once, and k is 0");
        self.batch = Some(rows);
        self
    }

    /// `f` of every row.
    ///
    /// # Panics
    /// As [`map`], and with [`Map::batch`] if `f` calls what [`vmap`](crate::vmap) does not take.
    #[track_caller]
    pub fn run<L, X, Y>(&self, xs: X, f: impl Fn(X::Row) -> Y) -> Y::Stacked
    where
        L: Control,
        X: Rows<L>,
        Y: StepRows<L>,
    {
        raised(L::map(self, Location::caller(), xs, f))
    }

    /// `f` of every row.
    ///
    /// # Errors
    /// If the leaves of `xs` differ in length or have no axis, or with [`Map::batch`] if `f` calls what
    /// [`vmap`](crate::vmap) does not take.
    #[cfg(feature = "arrays")]
    #[track_caller]
    pub fn try_run<L, X, Y>(&self, xs: X, f: impl Fn(X::Row) -> Y) -> Result<Y::Stacked, Fault>
    where
        L: Control,
        X: Rows<L>,
        Y: StepRows<L>,
    {
        L::map(self, Location::caller(), xs, f)
    }
}

// ---- while --------------------------------------------------------------------------------------

/// `c = body(c)` as long as `condition(c)` holds, from `init` on; the last `c`. The condition gives a single truth value, over
/// numbers a `bool`, and is asked before every step.
///
/// The loop is differentiated in every mode and order; for its reverse the carry of every step is kept. Under
/// [`vmap`](crate::vmap) every example takes steps of its own. [`While`] has a limit.
///
/// ```
/// use wengert::prelude::*;
/// // the square root of a, by Newton's method
/// let root = |a: &Tensor| {
///     while_loop(a, |x| (x.square() - a).abs().gt(1e-12), |x| (&x + a / &x) * 0.5)
/// };
/// assert_eq!(root(&Tensor::from(9.0)).item(), 3.0);
/// assert!((grad(&Tensor::from(9.0), |a| root(&a)).item() - 1.0 / 6.0).abs() < 1e-12);
/// // of a number
/// let root = |a: Var| while_loop(a, |x| (x * x - a).abs() > 1e-12, |x| (x + a / x) * 0.5);
/// assert!((grad(9.0, root) - 1.0 / 6.0).abs() < 1e-12);
/// ```
///
/// # Panics
/// If the condition is not a single truth value, if the carry changes its structure or a type, or if a function reads a number.
#[doc(alias = "loop")]
#[track_caller]
pub fn while_loop<C: Carry>(
    init: C,
    condition: impl Fn(C::Vars) -> <C::Active as Control>::Truth,
    body: impl Fn(C::Vars) -> C::Vars,
) -> C::Vars {
    While::new().run(init, condition, body)
}

/// [`while_loop`] with options.
///
/// ```
/// use wengert::prelude::*;
/// use wengert::While;
/// let doubled = While::new().limit(20).run(&Tensor::from(1.0), |x| x.lt(1000.0), |x| x * 2.0);
/// assert_eq!(doubled.item(), 1024.0);
/// let why = While::new().limit(5).try_run(&Tensor::from(1.0), |x| x.lt(1000.0), |x| x * 2.0).unwrap_err();
/// assert!(why.to_string().contains("has not ended after 5 steps"), "{why}");
/// let why = While::new().limit(5).try_run(1.0, |x| x < 1000.0, |x| x * 2.0).unwrap_err();
/// assert!(why.to_string().contains("has not ended after 5 steps"), "{why}");
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct While {
    pub(super) limit: Option<usize>,
    pub(super) snapshots: Option<usize>,
}

impl While {
    /// Without a limit, keeping everything.
    pub fn new() -> Self {
        While::default()
    }

    /// At most this many steps: where the condition still holds after them, that is an error.
    #[must_use]
    pub fn limit(mut self, steps: usize) -> Self {
        self.limit = Some(steps);
        self
    }

    /// Keeps at most this many carries of the loop for its reverse, which computes those between again. Without it all are kept.
    /// The bits of a derivative are the same; with `s` snapshots a loop of up to `(s + r)! / (s! r!)` steps runs each of them
    /// about `r` times more (Wang, Moin and Iaccarino 2009, whose loops, like these, end when they end).
    ///
    /// Over numbers the snapshots are evenly spaced, and the carries between two of them are kept while the reverse is there:
    /// `n` steps with `s` snapshots keep about `s + n / s` carries, or up to twice that, and run once more each.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// use wengert::While;
    /// let grown = |rate: &Tensor, loops: While| {
    ///     let start = (Tensor::from(1.0), Tensor::from(0.1));
    ///     loops.run(start, |(x, _)| x.lt(1000.0), |(x, t)| (&x + &x * rate * &t, t)).0
    /// };
    /// let rate = Tensor::from(0.5);
    /// let all = grad(&rate, |rate| grown(&rate, While::new()));
    /// let few = grad(&rate, |rate| grown(&rate, While::new().snapshots(3)));
    /// assert_eq!(all.item(), few.item());
    /// ```
    #[must_use]
    pub fn snapshots(mut self, carries: usize) -> Self {
        self.snapshots = Some(carries);
        self
    }

    /// Takes the steps.
    ///
    /// # Panics
    /// If the condition is not a single truth value, if the carry changes its structure or a type, if a function reads a number,
    /// or if the limit is reached.
    #[track_caller]
    pub fn run<C: Carry>(
        &self,
        init: C,
        condition: impl Fn(C::Vars) -> <C::Active as Control>::Truth,
        body: impl Fn(C::Vars) -> C::Vars,
    ) -> C::Vars {
        raised(C::Active::while_loop(self, Location::caller(), init, condition, body))
    }

    /// Takes the steps.
    ///
    /// # Errors
    /// If the condition is not a single truth value, if the carry changes its structure or a type, or if the limit is reached.
    #[cfg(feature = "arrays")]
    #[track_caller]
    pub fn try_run<C: Carry>(
        &self,
        init: C,
        condition: impl Fn(C::Vars) -> <C::Active as Control>::Truth,
        body: impl Fn(C::Vars) -> C::Vars,
    ) -> Result<C::Vars, Fault> {
        C::Active::while_loop(self, Location::caller(), init, condition, body)
    }
}

// ---- associative scan ---------------------------------------------------------------------------

/// All prefixes of an associative function: row `t` of the result is `f(… f(f(x[0], x[1]), x[2]) …, x[t])`. Over tensors they
/// are computed in about `2 log2(n)` steps over many rows at once instead of `n` steps over one; over numbers one after the
/// other.
///
/// `f` takes two rows and gives one, of the same structure and types. That it is associative is not checked; rounding differs
/// from that of a [`scan`].
///
/// ```
/// use wengert::prelude::*;
/// // h = a h + b, as compositions of x -> a x + b
/// let (a, b) = (Tensor::from([0.5, 2.0, 0.5]), Tensor::from([1.0, 1.0, 1.0]));
/// let (_, h) = wengert::associative_scan((&a, &b), |(a, b), (c, d)| (&a * &c, &c * &b + d));
/// assert_eq!(h.to_vec(), [1.0, 3.0, 2.5]);
/// let h = wengert::associative_scan(&[(0.5, 1.0), (2.0, 1.0), (0.5, 1.0)], |(a, b), (c, d)| (a * c, c * b + d));
/// assert_eq!(h[2].1.value(), 2.5);
/// ```
///
/// Source of the method: R. E. Ladner and M. J. Fischer, *Parallel prefix computation* (1980).
///
/// # Panics
/// If the leaves of `xs` differ in length, if `f` changes the structure or a type, or reads a number.
#[doc(alias = "prefix")]
#[track_caller]
pub fn associative_scan<L, X>(xs: X, f: impl Fn(X::Row, X::Row) -> X::Row) -> X::Prefixes
where
    L: Control,
    X: Rows<L>,
{
    raised(L::prefixes(Location::caller(), xs, f))
}
