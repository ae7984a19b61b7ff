//! Loops that stay loops: `scan`, `fori`, `map`, `while_loop`, `associative_scan`.
//!
//! A step is recorded once, whatever the number of steps. What a derivative needs of the steps is planned with everything else.

use std::ops::Range;
use std::panic::Location;

use super::{error, tree};
use crate::array::{Array, DType, Type};
use crate::error::{Error, ErrorKind, Line, OrRaise};
use crate::optimize::choices_in_place;
use crate::primitives;
use crate::program::{Builder, Program, Value, inline};
use crate::tensor::Tensor;
use crate::tensor::graph::{self, Closed, Reading};
use crate::tensor::level::{ArrayLevel, Mapped};
use crate::tree::{Tree, leaves};

// ---- scan ---------------------------------------------------------------------------------------

/// Takes a step for every row of `xs`: `(c, y[t]) = f(c, x[t])`, from `init` on. Gives the last carry, and the `y[t]` stacked
/// along a new axis 0.
///
/// `init`, `xs` and what `f` gives may be any trees of tensors; `y` may be `()` for nothing. The leaves of `xs` have the same
/// length along axis 0, which is the number of steps. The carry keeps its structure and its types. `f` is recorded once; it may
/// capture anything, call drivers and loops, and is differentiated in every mode and order. No row is legal: then nothing runs.
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
/// For its reverse, what the derivative of a step needs is kept for all steps; [`checkpoint`](crate::checkpoint) inside of `f`
/// keeps less. [`Scan`] has options.
///
/// # Panics
/// If the leaves of `xs` differ in length, if the carry changes its structure or a type, or if `f` reads a number.
#[track_caller]
pub fn scan<C, X, D, Y>(init: C, xs: X, f: impl FnOnce(C::Vars, X::Vars) -> (D, Y)) -> (D::Grad, Y::Stacked)
where
    C: Tree<Leaf = Tensor>,
    X: Tree<Leaf = Tensor>,
    D: Tree<Leaf = Tensor>,
    Y: StepRows,
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
    reverse: bool,
    every: Option<usize>,
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

    /// `c = f(i, c)` for every `i` of a range, as [`fori`].
    ///
    /// # Panics
    /// As [`fori`].
    #[track_caller]
    pub fn fori<C, D>(&self, range: Range<i64>, init: C, f: impl FnOnce(Tensor, C::Vars) -> D) -> D::Grad
    where
        C: Tree<Leaf = Tensor>,
        D: Tree<Leaf = Tensor>,
    {
        let line = Location::caller();
        let length = usize::try_from(range.end.saturating_sub(range.start)).unwrap_or(0);
        let steps = Tensor::from_array(Array::new(&[length], range.collect::<Vec<i64>>()));
        let start = leaves(&init);
        let level = ArrayLevel::open("fori", Reading::Step);
        let carry = init.vars(&mut |leaf| level.input(&leaf, &Mapped::Whole));
        let step = level.input(&steps, &Mapped::Slice(0));
        let carry = f(step, carry);
        let after = leaves(&carry);
        let closed = level.close(&after).or_raise();
        check_carry("fori", &start, &after, line).or_raise();
        let recorded = Loop { closed, length, carry: start.len(), options: *self };
        tree(&carry, recorded.run(&start, &[steps], line).or_raise())
    }

    /// Takes the steps.
    ///
    /// # Panics
    /// As [`Scan::try_run`] gives errors.
    #[track_caller]
    pub fn run<C, X, D, Y>(&self, init: C, xs: X, f: impl FnOnce(C::Vars, X::Vars) -> (D, Y)) -> (D::Grad, Y::Stacked)
    where
        C: Tree<Leaf = Tensor>,
        X: Tree<Leaf = Tensor>,
        D: Tree<Leaf = Tensor>,
        Y: StepRows,
    {
        self.try_run(init, xs, f).or_raise()
    }

    /// Takes the steps.
    ///
    /// # Errors
    /// If the leaves of `xs` differ in length or have no axis, or if the carry changes its structure or a type.
    #[track_caller]
    pub fn try_run<C, X, D, Y>(
        &self,
        init: C,
        xs: X,
        f: impl FnOnce(C::Vars, X::Vars) -> (D, Y),
    ) -> Result<(D::Grad, Y::Stacked), Error>
    where
        C: Tree<Leaf = Tensor>,
        X: Tree<Leaf = Tensor>,
        D: Tree<Leaf = Tensor>,
        Y: StepRows,
    {
        let line = Location::caller();
        let (start, rows) = (leaves(&init), leaves(&xs));
        let length = rows_of(&rows, "scan", line)?;
        let level = ArrayLevel::open("scan", Reading::Step);
        let carry = init.vars(&mut |leaf| level.input(&leaf, &Mapped::Whole));
        let row = xs.vars(&mut |leaf| level.input(&leaf, &Mapped::Slice(0)));
        let (carry, given) = f(carry, row);
        let (after, gives) = (leaves(&carry), given.rows());
        let closed = level.close(&[&after[..], &gives[..]].concat())?;
        check_carry("scan", &start, &after, line)?;
        let results = Loop { closed, length, carry: start.len(), options: *self }.run(&start, &rows, line)?;
        let (last, stacked) = results.split_at(after.len());
        Ok((tree(&carry, last.to_vec()), given.stacked(stacked.to_vec())))
    }
}

/// What a step of a [`scan`] gives beside the carry: a tree of tensors, or `()` for nothing.
pub trait StepRows {
    /// The same of all steps, stacked.
    type Stacked;
    /// The tensors of a step.
    fn rows(&self) -> Vec<Tensor>;
    /// The same structure with these tensors.
    fn stacked(&self, stacked: Vec<Tensor>) -> Self::Stacked;
}

impl<Y: Tree<Leaf = Tensor>> StepRows for Y {
    type Stacked = Y::Grad;
    fn rows(&self) -> Vec<Tensor> {
        leaves(self)
    }
    fn stacked(&self, stacked: Vec<Tensor>) -> Y::Grad {
        tree(self, stacked)
    }
}

impl StepRows for () {
    type Stacked = ();
    fn rows(&self) -> Vec<Tensor> {
        Vec::new()
    }
    fn stacked(&self, _: Vec<Tensor>) {}
}

/// A recorded step: it takes the carry, a row of each array and what it captured.
struct Loop {
    closed: Closed,
    length: usize,
    carry: usize,
    options: Scan,
}

impl Loop {
    #[track_caller]
    fn run(self, start: &[Tensor], rows: &[Tensor], line: Line) -> Result<Vec<Tensor>, Error> {
        let Loop { closed, length, carry, options } = self;
        let body = captures_first(&closed.program, closed.leaves);
        let scan =
            primitives::Scan::new(body, length, carry, rows.len()).reversed(options.reverse).kept_every(options.every);
        let operands: Vec<&Tensor> = closed.captures.iter().chain(start).chain(rows).collect();
        graph::apply(scan, &operands).map_err(|error| error.at(Some(line)))
    }
}

/// A recorded step with what it captured as its first inputs.
fn captures_first(program: &Program, leaves: usize) -> Program {
    let mut b = Builder::new();
    let (own, captured) = program.input_types().split_at(leaves);
    let captures: Vec<Value> = captured.iter().map(|ty| b.input("", ty.clone())).collect();
    let mut args: Vec<Value> = own.iter().map(|ty| b.input("", ty.clone())).collect();
    args.extend(captures);
    let outs = inline(&mut b, program, &args);
    choices_in_place(b.finish(&outs))
}

/// The number of rows along axis 0.
fn rows_of(rows: &[Tensor], name: &str, line: Line) -> Result<usize, Error> {
    let fail = |why: String| error(name, ErrorKind::Misfit, why, line).of(rows.iter().map(Tensor::ty));
    let mut length = None;
    for (k, array) in rows.iter().enumerate() {
        let Some(&own) = array.shape().first() else {
            return Err(fail(format!("leaf {k} of the arrays is a single number, and has no rows to step over")));
        };
        match length {
            None => length = Some(own),
            Some(first) if first == own => {}
            Some(first) => return Err(fail(format!("leaf 0 of the arrays has {first} rows, and leaf {k} has {own}"))),
        }
    }
    length.ok_or_else(|| fail("there is no array to step over; `fori` counts the steps".to_owned()))
}

/// That the carry comes out of a step as it went in.
fn check_carry(name: &str, before: &[Tensor], after: &[Tensor], line: Line) -> Result<(), Error> {
    let list = |leaves: &[Tensor]| leaves.iter().map(|leaf| leaf.ty().to_string()).collect::<Vec<_>>().join(", ");
    let differs = before.iter().zip(after).position(|(before, after)| before.ty() != after.ty());
    let why = match differs {
        None if before.len() == after.len() => return Ok(()),
        None => format!("the carry is ({}) before a step, and ({}) after it", list(before), list(after)),
        Some(k) => format!(
            "leaf {k} of the carry is {} before a step, and {} after it: the start has to have the type that a step gives",
            before[k].ty(),
            after[k].ty()
        ),
    };
    Err(error(name, ErrorKind::Misfit, why, line))
}

// ---- fori ---------------------------------------------------------------------------------------

/// `c = f(i, c)` for every `i` of a range, from `init` on; the last `c`. `i` is an integer in a tensor.
///
/// ```
/// use wengert::prelude::*;
/// // x^5 / 5!
/// let term = |x: &Tensor| fori(1..6, &Tensor::from(1.0), |i, c| c * x / i.to_f64());
/// assert_eq!(term(&Tensor::from(2.0)).item(), 32.0 / 120.0);
/// assert_eq!(grad(&Tensor::from(2.0), |x| term(&x)).item(), 16.0 / 24.0);
/// ```
///
/// # Panics
/// If the carry changes its structure or a type, or if `f` reads a number.
#[track_caller]
pub fn fori<C, D>(range: Range<i64>, init: C, f: impl FnOnce(Tensor, C::Vars) -> D) -> D::Grad
where
    C: Tree<Leaf = Tensor>,
    D: Tree<Leaf = Tensor>,
{
    Scan::new().fori(range, init, f)
}

// ---- map ----------------------------------------------------------------------------------------

/// `f` of every row of `xs`, one after the other, stacked along a new axis 0. [`vmap`](crate::vmap) computes all at once: it is
/// faster, and takes the memory of all.
///
/// ```
/// use wengert::prelude::*;
/// let xs = Tensor::from([[1.0, 2.0], [3.0, 4.0]]);
/// assert_eq!(wengert::map(&xs, |x| x.square().sum()).to_vec(), [5.0, 25.0]);
/// ```
///
/// # Panics
/// If the leaves of `xs` differ in length, or if `f` reads a number.
#[track_caller]
pub fn map<X, Y>(xs: X, f: impl FnOnce(X::Vars) -> Y) -> Y::Grad
where
    X: Tree<Leaf = Tensor>,
    Y: Tree<Leaf = Tensor>,
{
    let line = Location::caller();
    let rows = leaves(&xs);
    let length = rows_of(&rows, "map", line).or_raise();
    let level = ArrayLevel::open("map", Reading::Step);
    let given = f(xs.vars(&mut |leaf| level.input(&leaf, &Mapped::Slice(0))));
    let closed = level.close(&leaves(&given)).or_raise();
    let recorded = Loop { closed, length, carry: 0, options: Scan::new() };
    tree(&given, recorded.run(&[], &rows, line).or_raise())
}

// ---- while --------------------------------------------------------------------------------------

/// `c = body(c)` as long as `condition(c)` holds, from `init` on; the last `c`. The condition gives a single truth value, and is
/// asked before every step.
///
/// Both functions are recorded once. The loop is differentiated in every mode and order; for its reverse the carry of every
/// step is kept. Under [`vmap`](crate::vmap) every example takes steps of its own. [`While`] has a limit.
///
/// ```
/// use wengert::prelude::*;
/// // the square root of a, by Newton's method
/// let root = |a: &Tensor| {
///     while_loop(a, |x| (x.square() - a).abs().gt(1e-12), |x| (&x + a / &x) * 0.5)
/// };
/// assert_eq!(root(&Tensor::from(9.0)).item(), 3.0);
/// assert!((grad(&Tensor::from(9.0), |a| root(&a)).item() - 1.0 / 6.0).abs() < 1e-12);
/// ```
///
/// # Panics
/// If the condition is not a single truth value, if the carry changes its structure or a type, or if a function reads a number.
#[track_caller]
pub fn while_loop<C, D>(init: C, condition: impl FnOnce(C::Vars) -> Tensor, body: impl FnOnce(C::Vars) -> D) -> D::Grad
where
    C: Tree<Leaf = Tensor>,
    D: Tree<Leaf = Tensor>,
{
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
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct While {
    bounds: primitives::Bounds,
}

impl While {
    /// Without a limit, keeping everything.
    pub fn new() -> Self {
        While::default()
    }

    /// At most this many steps: where the condition still holds after them, that is an error.
    #[must_use]
    pub fn limit(mut self, steps: usize) -> Self {
        self.bounds.limit = Some(steps);
        self
    }

    /// Keeps at most this many carries of the loop for its reverse, which computes those between again. Without it all are kept.
    /// The bits of a derivative are the same; with `s` snapshots a loop of up to `(s + r)! / (s! r!)` steps runs each of them
    /// about `r` times more (Wang, Moin and Iaccarino 2009, whose loops, like these, end when they end).
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
        self.bounds.snapshots = Some(carries);
        self
    }

    /// Takes the steps.
    ///
    /// # Panics
    /// As [`While::try_run`] gives errors.
    #[track_caller]
    pub fn run<C, D>(
        &self,
        init: C,
        condition: impl FnOnce(C::Vars) -> Tensor,
        body: impl FnOnce(C::Vars) -> D,
    ) -> D::Grad
    where
        C: Tree<Leaf = Tensor>,
        D: Tree<Leaf = Tensor>,
    {
        self.try_run(init, condition, body).or_raise()
    }

    /// Takes the steps.
    ///
    /// # Errors
    /// If the condition is not a single truth value, if the carry changes its structure or a type, or if the limit is reached.
    #[track_caller]
    pub fn try_run<C, D>(
        &self,
        init: C,
        condition: impl FnOnce(C::Vars) -> Tensor,
        body: impl FnOnce(C::Vars) -> D,
    ) -> Result<D::Grad, Error>
    where
        C: Tree<Leaf = Tensor>,
        D: Tree<Leaf = Tensor>,
    {
        let line = Location::caller();
        let start = leaves(&init);
        let open = || ArrayLevel::open("while_loop", Reading::Step);
        let level = open();
        let goes_on = condition(init.vars(&mut |leaf| level.input(&leaf, &Mapped::Whole)));
        let asked = level.close(std::slice::from_ref(&goes_on))?;
        if *goes_on.ty() != Type::new(DType::Bool, &[]) {
            let why = "the condition has to be a single truth value, bool[]; reduce it with `all` or `any`".to_owned();
            return Err(error("while_loop", ErrorKind::Misfit, why, line).of([goes_on.ty()]));
        }
        let level = open();
        let carry = body(init.vars(&mut |leaf| level.input(&leaf, &Mapped::Whole)));
        let after = leaves(&carry);
        let step = level.close(&after)?;
        check_carry("while_loop", &start, &after, line)?;
        let (programs, captures) = super::branches::with_all_captures(vec![asked, step]);
        let first = |program: &Program| captures_first(program, start.len());
        let op = primitives::While::new(first(&programs[0]), first(&programs[1]), self.bounds);
        let operands: Vec<&Tensor> = captures.iter().chain(&start).collect();
        let results = graph::apply(op, &operands).map_err(|error| error.at(Some(line)))?;
        Ok(tree(&carry, results))
    }
}

// ---- associative scan ---------------------------------------------------------------------------

/// All prefixes of an associative function: row `t` of the result is `f(… f(f(x[0], x[1]), x[2]) …, x[t])`, computed in about
/// `2 log2(n)` steps over many rows at once instead of `n` steps over one.
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
/// ```
///
/// Source of the method: R. E. Ladner and M. J. Fischer, *Parallel prefix computation* (1980).
///
/// # Panics
/// If the leaves of `xs` differ in length, if `f` changes the structure or a type, or reads a number.
#[track_caller]
pub fn associative_scan<X, Y>(xs: X, f: impl Fn(X::Vars, X::Vars) -> Y) -> X::Grad
where
    X: Tree<Leaf = Tensor>,
    Y: Tree<Leaf = Tensor>,
{
    let line = Location::caller();
    let rows = leaves(&xs);
    let length = rows_of(&rows, "associative_scan", line).or_raise();
    let level = ArrayLevel::open("associative_scan", Reading::Lanes);
    let [x, y] = [(); 2].map(|()| xs.vars(&mut |leaf| level.input(&leaf, &Mapped::Slice(0))));
    let combined = leaves(&f(x, y));
    let closed = level.close(&combined).or_raise();
    let before: Vec<Type> = closed.program.input_types()[..rows.len()].to_vec();
    let after = closed.program.output_types();
    if before != after {
        let list = |types: &[Type]| types.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        let why = format!("it takes rows ({}), and combines two to ({})", list(&before), list(&after));
        error("associative_scan", ErrorKind::Misfit, why, line).raise();
    }
    let results = prefixes(&closed, &rows, length, line).or_raise();
    let mut results = results.into_iter();
    xs.grad(&mut || results.next().expect("one per leaf"))
}

/// The prefixes of these rows.
#[track_caller]
fn prefixes(closed: &Closed, rows: &[Tensor], length: usize, line: Line) -> Result<Vec<Tensor>, Error> {
    if length < 2 {
        return Ok(rows.to_vec());
    }
    let (pairs, single) = (length / 2, length % 2);
    let strided = |from: usize, count: usize| -> Result<Vec<Tensor>, Error> {
        rows.iter().map(|array| part(array, from, from + 2 * count - 1, 2)).collect()
    };
    // Those of the pairs are every second one of the result; the others are one row more.
    let combined = combined(closed, &strided(0, pairs)?, &strided(1, pairs)?, pairs, line)?;
    let odd = prefixes(closed, &combined, pairs, line)?;
    let more = pairs + single - 1;
    let mut even: Vec<Tensor> = rows.iter().map(|array| part(array, 0, 1, 1)).collect::<Result<_, Error>>()?;
    if more > 0 {
        let before: Vec<Tensor> = odd.iter().map(|array| part(array, 0, more, 1)).collect::<Result<_, Error>>()?;
        let after = self::combined(closed, &before, &strided(2, more)?, more, line)?;
        even = even.iter().zip(&after).map(|(first, rest)| Tensor::concat(&[first, rest], 0)).collect();
    }
    even.iter().zip(&odd).map(|(even, odd)| interleaved(even, odd)).collect()
}

/// Two rows at a time become one.
#[track_caller]
fn combined(closed: &Closed, x: &[Tensor], y: &[Tensor], length: usize, line: Line) -> Result<Vec<Tensor>, Error> {
    use crate::tensor::derived::{Transformation, apply};
    let point: Vec<Tensor> = x.iter().chain(y).cloned().collect();
    let (axes, places) = (vec![Some(0); point.len()], vec![0; closed.program.outputs().len()]);
    let what = Transformation::Mapped { axes, length, places };
    apply("associative_scan", what, closed, &point, &[]).map_err(|error| error.at(Some(line)))
}

/// Every n-th row of a range.
#[track_caller]
fn part(array: &Tensor, from: usize, to: usize, stride: usize) -> Result<Tensor, Error> {
    let mut slice = primitives::Slice::along(array.shape(), 0, from, to);
    slice.stride[0] = stride;
    Ok(graph::apply(slice, &[array])?.remove(0))
}

/// Rows of the first and of the second in turn; the first may have one more.
#[track_caller]
fn interleaved(even: &Tensor, odd: &Tensor) -> Result<Tensor, Error> {
    let (pairs, rest) = (odd.shape()[0], even.shape()[0]);
    let paired = Tensor::stack(&[&part(even, 0, pairs, 1)?, odd], 1);
    let shape: Vec<usize> = std::iter::once(2 * pairs).chain(odd.shape()[1..].iter().copied()).collect();
    let paired = graph::apply(primitives::Reshape::new(&shape), &[&paired])?.remove(0);
    if rest == pairs {
        return Ok(paired);
    }
    Ok(Tensor::concat(&[&paired, &part(even, pairs, rest, 1)?], 0))
}
