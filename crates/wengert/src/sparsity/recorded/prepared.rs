//! [`SparseRecorded`]: a sparse derivative of a recorded function that is prepared once and evaluated at many points.

use std::fmt;
use std::panic::Location;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::error::SparseError;
use super::plan::{self, Cost, Kind, Plan};
use crate::record::Recorded;
use crate::record::path::Path;
use crate::sparsity::choice::{Choice, Work, table};
use crate::sparsity::edge::TooMany;
use crate::sparsity::options::SparseOptions;
use crate::sparsity::{Colouring, Method, Order};
use crate::tape::Var;
use crate::tape::recording::Line;
use crate::tape::trace::Trace;
use crate::tree::{Tree, leaves};
use wengert_kernels::pattern::Pattern;

/// The methods that there are for each.
const JACOBIAN: &[Method] = &[Method::Direct, Method::Columns, Method::Rows, Method::Bidirectional, Method::Dense];
const HESSIAN: &[Method] = &[Method::EdgePushing, Method::Star, Method::Acyclic, Method::Columns, Method::Dense];

/// How many paths have their plans kept.
const PATHS: usize = 64;

/// A sparse Jacobian or Hessian of a [`Recorded`] function of numbers: its pattern found, and the list of operations that
/// computes it laid out.
///
/// Made by [`SparseOptions::recorded_jacobian`] and its sisters, or without options by [`SparseRecorded::jacobian`] and its.
/// Columns are the numbers of the point, leaf after leaf, and rows those of the result; a Hessian has the point's numbers as
/// rows too. An evaluation writes the values of the entries, row by row.
///
/// The pattern is that of the path which the function takes. If a guard comes out differently at a point, the function takes
/// another path there: where that has the same pattern an evaluation goes on, and where it has another one it is an error, so
/// that values are never read by a stale pattern.
///
/// ```
/// use wengert::prelude::*;
/// use wengert::sparsity::SparseRecorded;
/// let f = record([0.0; 3], |[x, y, z]| x * y + z.exp());
/// let hessian = SparseRecorded::hessian(&f, &[0.0; 3])?;
/// assert_eq!(hessian.pattern().entries().collect::<Vec<_>>(), [(0, 1), (1, 0), (2, 2)]);
/// let mut values = [0.0; 3];
/// hessian.evaluate(&[1.0, 2.0, 0.0], &mut values)?;
/// assert_eq!(values, [1.0, 1.0, 1.0]);
/// # Ok::<(), wengert::sparsity::SparseError>(())
/// ```
pub struct SparseRecorded<'f, T: Tree, O, F> {
    f: &'f Recorded<T, O, F>,
    kind: Kind,
    options: SparseOptions,
    state: Mutex<State<O>>,
}

struct State<O> {
    /// The plans of paths, the latest used first.
    known: Vec<Known<O>>,
    /// The point under way, and the weights of its outputs: memory that is used again.
    point: Vec<f64>,
    weights: Vec<f64>,
}

struct Known<O> {
    path: Arc<Path<O>>,
    plan: Arc<Plan>,
}

impl<O> Clone for Known<O> {
    fn clone(&self) -> Self {
        Known { path: Arc::clone(&self.path), plan: Arc::clone(&self.plan) }
    }
}

/// What becomes of a point.
enum Outcome<O> {
    /// Its values are written.
    Done(Known<O>),
    /// Its path has another pattern.
    Changed(Known<O>),
    /// There is no plan for its path.
    Failed(SparseError),
}

impl<'f, T, O, F> SparseRecorded<'f, T, O, F>
where
    T: Tree<Leaf = f64>,
    O: Tree<Leaf = Var>,
    F: Fn(T::Vars) -> O,
{
    /// The Jacobian, with the pattern of the path that the function takes at `x`.
    ///
    /// # Errors
    /// As [`SparseOptions::recorded_jacobian`].
    #[track_caller]
    pub fn jacobian<X: Tree<Leaf = f64>>(f: &'f Recorded<T, O, F>, x: &X) -> Result<Self, SparseError> {
        SparseOptions::default().recorded_jacobian(f, x)
    }

    /// The Hessian of the Lagrangian `sigma f_0 + Σ lambda_i f_{i+1}`: the first number of the result is the objective, the
    /// others are constraints. To be evaluated by [`evaluate_lagrangian`](SparseRecorded::evaluate_lagrangian).
    ///
    /// # Errors
    /// As [`SparseOptions::recorded_jacobian`].
    #[track_caller]
    pub fn hessian_of_lagrangian<X: Tree<Leaf = f64>>(f: &'f Recorded<T, O, F>, x: &X) -> Result<Self, SparseError> {
        SparseOptions::default().recorded_hessian_of_lagrangian(f, x)
    }

    fn prepare<X: Tree<Leaf = f64>>(
        f: &'f Recorded<T, O, F>,
        kind: Kind,
        options: SparseOptions,
        x: &X,
        line: Line,
    ) -> Result<Self, SparseError> {
        fits(f, x, kind, line)?;
        let point = leaves(x);
        let state = Mutex::new(State { known: Vec::new(), point: Vec::new(), weights: Vec::new() });
        let prepared = SparseRecorded { f, kind, options, state };
        let known = f.on_path(line, &point, |path| {
            path.trace.evaluate(&point, |capture| capture.value).ok()?;
            Some(prepared.plan(path, line))
        })??;
        prepared.lock().known.push(known);
        Ok(prepared)
    }

    /// Which entries there are, on the path that was taken last.
    pub fn pattern(&self) -> Arc<Pattern> {
        Arc::clone(&self.current().plan.pattern)
    }

    /// How the values are computed.
    pub fn method(&self) -> Method {
        self.current().plan.method()
    }

    /// The colours that the matrix needs, of columns: products that computing it without elimination would take.
    pub fn colouring(&self) -> Colouring {
        let pattern = self.pattern();
        let star = || Colouring::star(&pattern, self.order()).ok();
        let symmetric = self.kind.is_symmetric().then(star).flatten();
        symmetric.unwrap_or_else(|| Colouring::columns(&pattern, self.order()))
    }

    /// How many colours there are.
    pub fn colours(&self) -> usize {
        self.colouring().count()
    }

    /// Writes the values of the entries at a point, row by row. By elimination, which [`method`](SparseRecorded::method)
    /// tells, it allocates nothing but the first time.
    ///
    /// # Errors
    /// If the point or `values` have other sizes; if a guard comes out differently, and the function is strict or the path
    /// has another pattern ([`SparseError::PatternChanged`]); if this is the Hessian of a Lagrangian.
    #[track_caller]
    pub fn evaluate<X: Tree<Leaf = f64>>(&self, x: &X, values: &mut [f64]) -> Result<(), SparseError> {
        let line = Location::caller();
        self.refuse_lagrangian("evaluate_lagrangian", line)?;
        self.evaluate_at(line, x, 1.0, &[], values)
    }

    /// Writes the values of the Hessian of `sigma f_0 + Σ lambda_i f_{i+1}` at a point.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// use wengert::sparsity::SparseRecorded;
    /// let f = record([0.0; 2], |[x, y]| [x * x, x * y]);
    /// let hessian = SparseRecorded::hessian_of_lagrangian(&f, &[0.0; 2])?;
    /// let mut values = [0.0; 3];
    /// hessian.evaluate_lagrangian(&[1.0, 2.0], 0.5, &[3.0], &mut values)?;
    /// assert_eq!(values, [1.0, 3.0, 3.0]);
    /// # Ok::<(), wengert::sparsity::SparseError>(())
    /// ```
    ///
    /// # Errors
    /// As [`evaluate`](SparseRecorded::evaluate); if there are not as many multipliers as constraints, or this is not the
    /// Hessian of a Lagrangian.
    #[track_caller]
    pub fn evaluate_lagrangian<X: Tree<Leaf = f64>>(
        &self,
        x: &X,
        sigma: f64,
        lambda: &[f64],
        values: &mut [f64],
    ) -> Result<(), SparseError> {
        let line = Location::caller();
        if self.kind != Kind::Lagrangian {
            let why = "this was prepared without multipliers: `evaluate` takes none";
            return Err(SparseError::misfit(self.kind.driver(), line, why));
        }
        self.evaluate_at(line, x, sigma, lambda, values)
    }

    /// The values at several points, one after the other in `values`: eight points at a time where the recording is small and
    /// they take one path.
    ///
    /// Functions other than arithmetic and square roots may differ from [`evaluate`](SparseRecorded::evaluate) within the
    /// bounds that [`value_many`](Recorded::value_many) states.
    ///
    /// # Errors
    /// As [`evaluate`](SparseRecorded::evaluate). Where a point has another pattern, the values of those before it are written.
    #[track_caller]
    pub fn evaluate_many<X: Tree<Leaf = f64>>(&self, points: &[X], values: &mut [f64]) -> Result<(), SparseError> {
        let line = Location::caller();
        self.refuse_lagrangian("evaluate_lagrangian", line)?;
        let Known { path, plan } = self.current();
        let nnz = plan.pattern.nnz();
        check("vector of values", points.len() * nnz, values.len(), self.kind, line)?;
        let lanes = plan.lanes(&path.trace).unwrap_or(1);
        let weights: &[f64] = if self.kind == Kind::Jacobian { &[] } else { &[1.0] };
        let mut rows = Vec::new();
        let mut start = 0;
        while start < points.len() {
            let own = &points[start..(start + lanes).min(points.len())];
            let values = &mut values[start * nnz..(start + own.len()) * nnz];
            rows.clear();
            for x in own {
                fits(self.f, x, self.kind, line)?;
                x.for_each_leaf(&mut |leaf| rows.push(leaf));
            }
            let together = lanes > 1 && own.len() == lanes && plan.evaluate_lanes(&path.trace, &rows, weights, values);
            for (k, x) in own.iter().enumerate().filter(|_| !together) {
                self.evaluate_at(line, x, 1.0, &[], &mut values[k * nnz..(k + 1) * nnz])?;
            }
            start += own.len();
        }
        Ok(())
    }

    /// The ways to compute this matrix, what each is predicted to take, and why one was chosen.
    pub fn explain(&self) -> String {
        let Known { path, plan } = self.current();
        let (rows, cols, nnz) = (plan.pattern.rows(), plan.pattern.cols(), plan.pattern.nnz());
        let records = path.trace.records.len();
        let title = format!("{} of {rows} x {cols}, {nnz} entries, {records} records", self.kind.driver());
        let methods: &[Method] = match self.kind {
            Kind::Jacobian => JACOBIAN,
            Kind::Hessian | Kind::Lagrangian => HESSIAN,
        };
        let choice = |&method: &Method| self.choice(&path.trace, &plan, method);
        let choices: Vec<Choice> = methods.iter().map(choice).collect();
        let why = match self.options.method {
            Some(_) => "as it was asked for",
            None => "which takes the fewest operations",
        };
        table(&title, &choices, plan.method(), why)
    }

    fn choice(&self, trace: &Trace, plan: &Plan, method: Method) -> Choice {
        let cost = |plan: &Plan| {
            let Cost { operations, bytes, sweeps } = plan.cost(trace);
            let work = Work { operations: operations as u64, bytes: bytes as u64 };
            Choice { method, passes: sweeps, work, note: String::new(), possible: true }
        };
        if plan.method() == method {
            return cost(plan);
        }
        let made = match method {
            Method::Direct | Method::EdgePushing => Plan::eliminated(trace, self.kind, plan::limit(trace, self.kind)),
            method => Plan::by(trace, self.kind, method, self.order()),
        };
        match made {
            Ok(made) => cost(&made),
            Err(TooMany) => Choice {
                method,
                passes: 0,
                work: Work::default(),
                note: "not possible: the list would be too long".to_owned(),
                possible: false,
            },
        }
    }

    fn order(&self) -> Order {
        self.options.the_order()
    }

    fn lock(&self) -> MutexGuard<'_, State<O>> {
        // A panic leaves nothing half done: the function never runs with the lock held.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn current(&self) -> Known<O> {
        self.lock().known[0].clone()
    }

    fn refuse_lagrangian(&self, instead: &str, line: Line) -> Result<(), SparseError> {
        if self.kind != Kind::Lagrangian {
            return Ok(());
        }
        let why = format!("the Hessian of a Lagrangian needs its multipliers: call `{instead}`");
        Err(SparseError::misfit(self.kind.driver(), line, why))
    }

    fn evaluate_at<X: Tree<Leaf = f64>>(
        &self,
        line: Line,
        x: &X,
        sigma: f64,
        lambda: &[f64],
        values: &mut [f64],
    ) -> Result<(), SparseError> {
        fits(self.f, x, self.kind, line)?;
        let (mut point, mut weights, known) = {
            let mut state = self.lock();
            (std::mem::take(&mut state.point), std::mem::take(&mut state.weights), state.known[0].clone())
        };
        point.clear();
        x.for_each_leaf(&mut |leaf| point.push(leaf));
        weights.clear();
        if self.kind != Kind::Jacobian {
            weights.push(sigma);
            weights.extend_from_slice(lambda);
        }
        let done = self.evaluate_numbers(line, &known, &point, &weights, values);
        let mut state = self.lock();
        (state.point, state.weights) = (point, weights);
        done
    }

    fn evaluate_numbers(
        &self,
        line: Line,
        known: &Known<O>,
        point: &[f64],
        weights: &[f64],
        values: &mut [f64],
    ) -> Result<(), SparseError> {
        let nnz = known.plan.pattern.nnz();
        check("vector of values", nnz, values.len(), self.kind, line)?;
        self.check_weights(known, weights, line)?;
        if known.path.is_closed() && known.plan.evaluate(&known.path.trace, point, weights, values).is_ok() {
            return Ok(());
        }
        let outcome = self.f.on_path(line, point, |path| self.at_path(line, path, known, point, weights, values))?;
        match outcome {
            Outcome::Failed(error) => Err(error),
            Outcome::Done(known) => {
                self.bring_forward(known);
                Ok(())
            }
            Outcome::Changed(now) => {
                let (asked, entries) = (self.asked(line), now.plan.pattern.nnz());
                self.bring_forward(now);
                Err(SparseError::PatternChanged { asked, before: nnz, now: entries })
            }
        }
    }

    /// The values at a point, if it is on this path.
    fn at_path(
        &self,
        line: Line,
        path: &Arc<Path<O>>,
        before: &Known<O>,
        point: &[f64],
        weights: &[f64],
        values: &mut [f64],
    ) -> Option<Outcome<O>> {
        let valid = || path.trace.evaluate(point, |capture| capture.value).is_ok();
        let known = match self.known(path) {
            Some(known) => known,
            None if !valid() => return None,
            None => match self.plan(path, line) {
                Ok(known) => known,
                Err(error) => return Some(Outcome::Failed(error)),
            },
        };
        if let Err(error) = self.check_weights(&known, weights, line) {
            return valid().then_some(Outcome::Failed(error));
        }
        if known.plan.pattern != before.plan.pattern {
            return valid().then_some(Outcome::Changed(known));
        }
        let matrix = known.plan.matrix(&path.trace, line, point, weights).ok()?;
        values.copy_from_slice(matrix.values());
        Some(Outcome::Done(known))
    }

    fn check_weights(&self, known: &Known<O>, weights: &[f64], line: Line) -> Result<(), SparseError> {
        if self.kind != Kind::Lagrangian {
            return Ok(());
        }
        let constraints = known.path.trace.outputs.len().saturating_sub(1);
        check("vector of multipliers", constraints, weights.len() - 1, self.kind, line)
    }

    /// The plan of a path, if it is kept.
    fn known(&self, path: &Arc<Path<O>>) -> Option<Known<O>> {
        self.lock().known.iter().find(|known| Arc::ptr_eq(&known.path, path)).cloned()
    }

    /// The plan of a path.
    fn plan(&self, path: &Arc<Path<O>>, line: Line) -> Result<Known<O>, SparseError> {
        let trace = &path.trace;
        let made = match self.options.method {
            None => Plan::new(trace, self.kind),
            Some(method) => self.forced(trace, method, line)?,
        };
        let plan = made.map_err(|TooMany| SparseError::misfit(self.kind.driver(), line, TooMany))?;
        let plan = self.restricted(plan, line)?;
        Ok(Known { path: Arc::clone(path), plan: Arc::new(plan) })
    }

    fn forced(&self, trace: &Trace, method: Method, line: Line) -> Result<Result<Plan, TooMany>, SparseError> {
        let possible = if self.kind.is_symmetric() { HESSIAN } else { JACOBIAN }.contains(&method);
        if !possible {
            let why = format!("there is no method `{method}` for this derivative of a recorded function");
            return Err(SparseError::misfit(self.kind.driver(), line, why));
        }
        Ok(Plan::by(trace, self.kind, method, self.order()))
    }

    /// The plan for what the options want of it.
    fn restricted(&self, plan: Plan, line: Line) -> Result<Plan, SparseError> {
        let found = Arc::clone(&plan.pattern);
        let base = match &self.options.pattern {
            None => Arc::clone(&found),
            Some(given) => {
                let sizes = |pattern: &Pattern| (pattern.rows(), pattern.cols());
                if sizes(given) != sizes(&found) {
                    let ((rows, cols), (own, more)) = (sizes(given), sizes(&found));
                    let why = format!("the given pattern is {rows} x {cols}, and the derivative {own} x {more}");
                    return Err(SparseError::misfit(self.kind.driver(), line, why));
                }
                let missing = || found.entries().find(|&(row, col)| !given.contains(row, col));
                if self.options.check
                    && let Some((row, col)) = missing()
                {
                    return Err(SparseError::Missing { asked: self.asked(line), row, col });
                }
                Arc::clone(given)
            }
        };
        if self.options.lower && !self.kind.is_symmetric() {
            return Err(SparseError::misfit(self.kind.driver(), line, "a Jacobian has no lower triangle"));
        }
        if !self.options.is_part() {
            return Ok(plan.with_entries(&base));
        }
        let wanted = self.options.wanted(&base).map_err(|why| SparseError::misfit(self.kind.driver(), line, why))?;
        Ok(plan.with_entries(&Arc::new(wanted)))
    }

    /// Moves a path to the front, where the next call looks first.
    fn bring_forward(&self, known: Known<O>) {
        let mut state = self.lock();
        state.known.retain(|other| !Arc::ptr_eq(&other.path, &known.path));
        state.known.insert(0, known);
        state.known.truncate(PATHS);
    }

    fn asked(&self, line: Line) -> String {
        format!("`{}` at {line}", self.kind.driver())
    }
}

impl<'f, T, F> SparseRecorded<'f, T, Var, F>
where
    T: Tree<Leaf = f64>,
    F: Fn(T::Vars) -> Var,
{
    /// The Hessian, both triangles, with the pattern of the path that the function takes at `x`.
    ///
    /// # Errors
    /// As [`SparseOptions::recorded_jacobian`].
    #[track_caller]
    pub fn hessian<X: Tree<Leaf = f64>>(f: &'f Recorded<T, Var, F>, x: &X) -> Result<Self, SparseError> {
        SparseOptions::default().recorded_hessian(f, x)
    }
}

impl SparseOptions {
    /// The Jacobian of a recorded function of numbers, with the pattern of the path that it takes at `x`.
    ///
    /// A pattern of one's own says which entries are wanted: those that the function does not have are 0, and those that it
    /// has besides are left out, unless [`check`](SparseOptions::check) makes that an error. No value is wrong for it.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// use wengert::sparsity::{Pattern, SparseError, SparseOptions};
    /// let f = record([0.0; 2], |[x, y]| [x * y, y.sin()]);
    /// let own = Pattern::from_entries(2, 2, [(0, 0), (1, 1)])?;
    /// let wrong = SparseOptions::default().pattern(own).check(true).recorded_jacobian(&f, &[0.0; 2]);
    /// assert!(matches!(wrong.err(), Some(SparseError::Missing { row: 0, col: 1, .. })));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the point has another number of leaves than the one recorded at; if a guard of a strict function comes out
    /// differently there; if a given pattern, row or column does not fit; if the forced method is not possible.
    #[track_caller]
    pub fn recorded_jacobian<'f, T, O, F, X>(
        self,
        f: &'f Recorded<T, O, F>,
        x: &X,
    ) -> Result<SparseRecorded<'f, T, O, F>, SparseError>
    where
        T: Tree<Leaf = f64>,
        O: Tree<Leaf = Var>,
        F: Fn(T::Vars) -> O,
        X: Tree<Leaf = f64>,
    {
        SparseRecorded::prepare(f, Kind::Jacobian, self, x, Location::caller())
    }

    /// The Hessian of a recorded function of numbers; see [`SparseOptions::recorded_jacobian`].
    ///
    /// # Errors
    /// As there.
    #[track_caller]
    pub fn recorded_hessian<'f, T, F, X>(
        self,
        f: &'f Recorded<T, Var, F>,
        x: &X,
    ) -> Result<SparseRecorded<'f, T, Var, F>, SparseError>
    where
        T: Tree<Leaf = f64>,
        F: Fn(T::Vars) -> Var,
        X: Tree<Leaf = f64>,
    {
        SparseRecorded::prepare(f, Kind::Hessian, self, x, Location::caller())
    }

    /// The Hessian of the Lagrangian of a recorded function of numbers; see [`SparseRecorded::hessian_of_lagrangian`].
    ///
    /// # Errors
    /// As [`SparseOptions::recorded_jacobian`].
    #[track_caller]
    pub fn recorded_hessian_of_lagrangian<'f, T, O, F, X>(
        self,
        f: &'f Recorded<T, O, F>,
        x: &X,
    ) -> Result<SparseRecorded<'f, T, O, F>, SparseError>
    where
        T: Tree<Leaf = f64>,
        O: Tree<Leaf = Var>,
        F: Fn(T::Vars) -> O,
        X: Tree<Leaf = f64>,
    {
        SparseRecorded::prepare(f, Kind::Lagrangian, self, x, Location::caller())
    }
}

/// `SparseRecorded(Jacobian, Pattern(…), direct)`.
impl<T: Tree, O, F> fmt::Debug for SparseRecorded<'_, T, O, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let plan = &state.known[0].plan;
        write!(f, "SparseRecorded({:?}, {:?}, {})", self.kind, plan.pattern, plan.method())
    }
}

/// As [`check`], of a point of the function.
fn fits<T, O, F, X>(f: &Recorded<T, O, F>, x: &X, kind: Kind, line: Line) -> Result<(), SparseError>
where
    T: Tree<Leaf = f64>,
    O: Tree<Leaf = Var>,
    F: Fn(T::Vars) -> O,
    X: Tree<Leaf = f64>,
{
    f.fits(x).map_err(|why| SparseError::misfit(kind.driver(), line, why))
}

fn check(what: &str, wanted: usize, got: usize, kind: Kind, line: Line) -> Result<(), SparseError> {
    if wanted == got {
        return Ok(());
    }
    let why = format!("the {what} has {got} numbers where {wanted} are needed");
    Err(SparseError::misfit(kind.driver(), line, why))
}
