//! [`record`]: a function recorded once and asked for anything at new inputs.

mod batches;
mod many;
pub(crate) mod path;

use std::cell::RefCell;
use std::panic::Location;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use self::path::{Numbers, Path};
use crate::drive::inputs_of;
use crate::leaf::Drive;
use crate::scalar::{Scalar, Sealed};
use crate::tape::recording::{Inputs, Line, Mode, Scope};
use crate::tape::{Var, runs_again};
use crate::task::Task;
use crate::tree::{Paths, Structure, Tree, check_direction, check_size, is_alike, is_one_type, leaves};

/// How many paths through a function are kept unless [`Recorded::paths`] says otherwise.
const PATHS: usize = 64;

/// Records `f` at `at` and gives a function that can be asked for its value and derivatives at any
/// input of the same shape, without running `f` again.
///
/// Comparisons were recorded as guards. Where one comes out differently at a new input, `f` is run
/// and recorded again there, and the fresh recording's result is returned; the paths found so far
/// are kept, 64 at most. So a recorded function never returns the derivative of the wrong branch.
/// Under [`strict`](Recorded::strict) a flipped guard is an error instead.
///
/// The point may be given by value or by reference: what is recorded borrows nothing of it.
///
/// Inside `f` a number cannot be taken out of a `Var` (`value` panics): it would be frozen.
///
/// ```
/// use wengert::prelude::*;
/// let f = record([1.5, 2.0], |[x, y]| (1.0 - x).powi(2) + 100.0 * (y - x * x).powi(2));
/// assert_eq!(f.value([1.0, 1.0]), 0.0);
/// assert_eq!(f.grad([1.0, 1.0]), [0.0, 0.0]);
/// assert_eq!(f.hessian([1.0, 1.0]), [[802.0, -400.0], [-400.0, 200.0]]);
/// assert_eq!(f.hvp([1.0, 1.0], [1.0, 0.0]), [802.0, -400.0]);
/// // many points at once, on SIMD lanes
/// assert_eq!(f.grad_many(&[[1.0, 1.0], [0.0, 0.0]]), [[0.0, 0.0], [-2.0, 0.0]]);
/// ```
#[doc(alias("trace", "tape"))]
#[track_caller]
pub fn record<T, O, F>(at: T, f: F) -> Recorded<T::Grad, O, F>
where
    T: Tree<Leaf = f64, Grad: Tree<Leaf = f64, Vars = T::Vars>>,
    O: Tree<Leaf = Var>,
    F: Fn(T::Vars) -> O,
{
    let mut numbers = leaves(&at).into_iter();
    record_at(at.grad(&mut || numbers.next().expect("one per leaf")), f)
}

/// As [`record`], of what is asked as long as its point lives.
#[track_caller]
pub(crate) fn record_at<T, O, F>(at: T, f: F) -> Recorded<T, O, F>
where
    T: Tree<Leaf = f64>,
    O: Tree<Leaf = Var>,
    F: Fn(T::Vars) -> O,
{
    let point = leaves(&at);
    let recorded = Recorded {
        size: point.len(),
        structure: Structure::of(&at),
        frozen: if T::HAS_DATA { Paths::frozen_leaves(&at) } else { Vec::new() },
        shape: at,
        f,
        line: Location::caller(),
        strict: false,
        limit: PATHS,
        state: Mutex::new(State { paths: Vec::new(), recordings: 0 }),
    };
    let path = recorded.fresh_path(Location::caller(), &point, &[]);
    recorded.lock().paths.push(path);
    recorded
}

/// A recorded function; see [`record`].
///
/// It can be asked at points of plain numbers and, inside another driver's function, at points of
/// [`Var`]s. It may be shared between threads if its function may.
pub struct Recorded<T: Tree, O, F> {
    shape: T,
    size: usize,
    /// What the point held besides leaves: the function has run with it.
    structure: Structure,
    /// Which leaves are frozen; empty if none can be.
    frozen: Vec<bool>,
    f: F,
    line: Line,
    strict: bool,
    limit: usize,
    state: Mutex<State<O>>,
}

struct State<O> {
    /// The paths through the function, the latest used first.
    paths: Vec<Arc<Path<O>>>,
    recordings: usize,
}

/// Which path is tried next.
enum Turn {
    /// That with this many used later.
    Latest(usize),
    /// The first that was made after this one.
    After(Option<usize>),
}

impl<O> State<O> {
    fn path(&self, turn: Turn) -> Option<Arc<Path<O>>> {
        let path = match turn {
            Turn::Latest(place) => self.paths.get(place),
            Turn::After(before) => {
                self.paths.iter().filter(|path| Some(path.number) > before).min_by_key(|path| path.number)
            }
        };
        path.cloned()
    }
}

/// A guard of a recorded function came out differently at a new input, and the function is
/// [`strict`](Recorded::strict).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GuardFlipped {
    line: Line,
}

impl std::fmt::Display for GuardFlipped {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "a comparison in the function recorded at {} comes out differently at this input, and \
             the recording is strict",
            self.line
        )
    }
}

impl std::error::Error for GuardFlipped {}

impl<T, O, F> Recorded<T, O, F>
where
    T: Tree<Leaf = f64>,
    O: Tree<Leaf = Var>,
    F: Fn(T::Vars) -> O,
{
    /// The same function, in which a flipped guard is an error: a panic in the plain methods,
    /// `Err` in [`try_value`](Recorded::try_value) and [`try_grad`](Recorded::try_grad).
    pub fn strict(mut self) -> Self {
        self.strict = true;
        self
    }

    /// The same function, keeping at most `limit` paths (at least one). While the step of a loop over numbers, or another
    /// recorded function, is recorded around a call, all paths are kept, until another one is found outside.
    pub fn paths(mut self, limit: usize) -> Self {
        self.limit = limit.max(1);
        self
    }

    /// How often the function was recorded, the first time included.
    pub fn recordings(&self) -> usize {
        self.lock().recordings
    }

    /// The value at `x`.
    ///
    /// # Panics
    /// This and the other methods panic if the point has another number of leaves than the one recorded at, if it is of the
    /// same type and differs from it in [structure](Structure), and if a guard flips in a strict function.
    #[track_caller]
    pub fn value<X: Tree<Leaf: Scalar>>(&self, x: X) -> O::Each<X::Leaf> {
        or_panic(self.try_value(x))
    }

    /// The value at `x`, or that a guard of a strict function flipped.
    #[track_caller]
    pub fn try_value<X: Tree<Leaf: Scalar>>(&self, x: X) -> Result<O::Each<X::Leaf>, GuardFlipped> {
        self.value_at(Location::caller(), x)
    }

    /// As [`try_value`](Recorded::try_value), asked for at this line.
    #[track_caller]
    fn value_at<X: Tree<Leaf: Scalar>>(&self, line: Line, x: X) -> Result<O::Each<X::Leaf>, GuardFlipped> {
        self.compute(line, &x, &[], &Task::Value, |path, results| path.output.each(&mut || results.next()))
    }

    /// The value and the product of the Jacobian with a tangent.
    #[track_caller]
    pub fn jvp<X: Tree<Leaf: Scalar>>(
        &self,
        x: X,
        tangent: impl Tree<Leaf = X::Leaf>,
    ) -> (O::Each<X::Leaf>, O::Each<X::Leaf>) {
        check_direction("jvp", "tangent", &x, &tangent);
        let tangent = leaves(&tangent);
        or_panic(self.compute(Location::caller(), &x, &tangent, &Task::Jvp, |path, results| {
            let y = path.output.each(&mut || results.next());
            (y, path.output.each(&mut || results.next()))
        }))
    }

    /// The value and the product of the Jacobian with a tangent: [`jvp`](Recorded::jvp) under the name of its family.
    #[track_caller]
    pub fn value_and_jvp<X: Tree<Leaf: Scalar>>(
        &self,
        x: X,
        tangent: impl Tree<Leaf = X::Leaf>,
    ) -> (O::Each<X::Leaf>, O::Each<X::Leaf>) {
        self.jvp(x, tangent)
    }

    /// The product of the transposed Jacobian with a cotangent.
    ///
    /// # Panics
    /// As [`value`](Recorded::value), and if the cotangent does not have as many leaves as the result.
    #[track_caller]
    pub fn vjp<X: Tree<Leaf: Scalar>>(&self, x: X, cotangent: impl Tree<Leaf = X::Leaf>) -> X::Grad {
        let cotangent = leaves(&cotangent);
        let line = Location::caller();
        or_panic(self.compute(line, &x, &cotangent, &Task::Vjp, |_, results| x.grad(&mut || results.next())))
    }

    /// The value and the product of the transposed Jacobian with a cotangent.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let f = record([1.0, 2.0], |[x, y]| (x * y, x - y));
    /// assert_eq!(f.value_and_vjp([3.0, 4.0], (1.0, 2.0)), ((12.0, -1.0), [6.0, 1.0]));
    /// ```
    ///
    /// # Panics
    /// As [`vjp`](Recorded::vjp).
    #[track_caller]
    pub fn value_and_vjp<X: Tree<Leaf: Scalar>>(
        &self,
        x: X,
        cotangent: impl Tree<Leaf = X::Leaf>,
    ) -> (O::Each<X::Leaf>, X::Grad) {
        let cotangent = leaves(&cotangent);
        or_panic(self.compute(Location::caller(), &x, &cotangent, &Task::ValueAndVjp, |path, results| {
            let y = path.output.each(&mut || results.next());
            (y, x.grad(&mut || results.next()))
        }))
    }

    /// The Jacobian; forward if there are at most as many inputs as outputs, else backward.
    #[track_caller]
    pub fn jacobian<X: Tree<Leaf: Scalar>>(&self, x: X) -> O::Each<X::Grad> {
        or_panic(self.compute(Location::caller(), &x, &[], &Task::Jacobian, |path, results| {
            path.output.each(&mut || x.grad(&mut || results.next()))
        }))
    }

    /// The value and the Jacobian, at the cost of the Jacobian alone.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let f = record([1.0, 2.0], |[x, y]| [x * y, x - y]);
    /// assert_eq!(f.value_and_jacobian([3.0, 4.0]), ([12.0, -1.0], [[4.0, 3.0], [1.0, -1.0]]));
    /// ```
    #[track_caller]
    pub fn value_and_jacobian<X: Tree<Leaf: Scalar>>(&self, x: X) -> (O::Each<X::Leaf>, O::Each<X::Grad>) {
        or_panic(self.compute(Location::caller(), &x, &[], &Task::ValueAndJacobian, |path, results| {
            let y = path.output.each(&mut || results.next());
            (y, path.output.each(&mut || x.grad(&mut || results.next())))
        }))
    }

    fn lock(&self) -> MutexGuard<'_, State<O>> {
        // A panic leaves nothing half done: `f` never runs with the lock held.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// `take` of what a task gives at `x`, on the path taken there.
    #[track_caller]
    fn compute<X: Tree<Leaf: Scalar>, R>(
        &self,
        line: Line,
        x: &X,
        direction: &[X::Leaf],
        task: &Task,
        take: impl Fn(&Path<O>, &mut Numbers<'_, X::Leaf>) -> R,
    ) -> Result<R, GuardFlipped> {
        self.check_point(x);
        let mut result = None;
        let take = &mut |path: &Path<O>, numbers: &mut Numbers<'_, X::Leaf>| result = Some(take(path, numbers));
        if let Err(outputs) = self.ask(line, &leaves(x), direction, task, take)? {
            check_size::<X::Leaf>("vjp", "cotangent", outputs, direction.len());
        }
        Ok(result.expect("one path is taken at each point"))
    }

    /// Hands what a task gives at a point to `take`, on the path taken there; or gives the number of results, where a cotangent
    /// has another. What depends on the driver is behind `take`, so that this is compiled once for all of them.
    fn ask<S: Scalar>(
        &self,
        line: Line,
        point: &[S],
        direction: &[S],
        task: &Task,
        take: &mut dyn FnMut(&Path<O>, &mut Numbers<'_, S>),
    ) -> Result<Result<(), usize>, GuardFlipped> {
        let is_pulled = matches!(task, Task::Vjp | Task::ValueAndVjp);
        self.on_path(line, point, |path| {
            let outputs = path.trace.outputs.len();
            if is_pulled && direction.len() != outputs {
                // Another path may have as many outputs: it counts only if this one is taken here.
                path.ask(line, point, &[], &Task::Value, &mut |_| ())?;
                return Some(Err(outputs));
            }
            path.ask(line, point, direction, task, &mut |results| take(path, results))?;
            Some(Ok(()))
        })
    }

    /// Panics if the point is not one that the function was recorded for.
    #[track_caller]
    pub(crate) fn check_point<X: Tree>(&self, x: &X) {
        if let Err(why) = self.fits(x) {
            panic!("a recorded function: {why}");
        }
    }

    /// Why the point is not one that the function was recorded for, if it is not.
    pub(crate) fn fits<X: Tree>(&self, x: &X) -> Result<(), String> {
        let (wanted, got) = (self.size, x.size());
        if wanted != got {
            return Err(format!("the point has {got} numbers where {wanted} are needed"));
        }
        let is_another = || is_one_type::<X, T>() && Structure::of(x).differs(&self.structure);
        // A tree of the same type that is frozen, or no longer is.
        let is_frozen = || X::HAS_DATA && Paths::frozen_leaves(x).contains(&true);
        let is_frozen_here = || X::HAS_DATA != T::HAS_DATA && (self.frozen.contains(&true) || is_frozen());
        if is_another() || is_alike::<X, T>() && is_frozen_here() {
            return Err(format!(
                "the point has another structure than the one recorded at {}: other lengths of lists, keys, options, \
                 frozen leaves, or fields that are no leaves; record the function at a point of this structure",
                self.line
            ));
        }
        Ok(())
    }

    /// `run` on the first path that is valid at the point, recording a new one if none is.
    pub(crate) fn on_path<S: Sealed + Copy, R>(
        &self,
        line: Line,
        point: &[S],
        mut run: impl FnMut(&Arc<Path<O>>) -> Option<R>,
    ) -> Result<R, GuardFlipped> {
        let mut result = None;
        let plain = || point.iter().map(|leaf| leaf.plain()).collect::<Vec<_>>();
        let captured = self.captured(point);
        if captured.is_empty() || self.strict {
            self.choose(line, &plain, &mut |path| {
                result = run(path);
                result.is_some()
            })?;
        }
        if !captured.is_empty() {
            // Not kept: another call has other variables.
            result = run(&self.fresh_path(line, &plain(), &captured));
        }
        Ok(result.expect("one path is taken at each point"))
    }

    /// The frozen leaves of a point, if a variable of a driver around flows into one: that driver differentiates by it as by
    /// anything captured.
    fn captured<S: Sealed + Copy>(&self, point: &[S]) -> Vec<Var> {
        if self.frozen.is_empty() || S::as_plain(point).is_some() {
            return Vec::new();
        }
        let frozen = point.iter().zip(&self.frozen).filter(|(_, frozen)| **frozen);
        let captured: Vec<Var> = frozen.map(|(leaf, _)| leaf.outer()).collect();
        if captured.iter().any(|leaf| leaf.is_recorded()) { captured } else { Vec::new() }
    }

    /// Calls `run` with one path after the other until one is valid, and with a new one, recorded at the `plain` point, if none
    /// is.
    fn choose(
        &self,
        line: Line,
        plain: &dyn Fn() -> Vec<f64>,
        run: &mut dyn FnMut(&Arc<Path<O>>) -> bool,
    ) -> Result<(), GuardFlipped> {
        // What is recorded to run on other numbers, a step of a loop say, has to be the same whenever it runs here: the paths
        // are tried in the order in which they were made, and none is lost.
        let lasting = runs_again();
        let mut before = None;
        for tried in 0.. {
            let Some(path) = self.lock().path(if lasting { Turn::After(before) } else { Turn::Latest(tried) }) else {
                break;
            };
            if run(&path) {
                if tried > 0 {
                    self.bring_forward(&path);
                }
                return Ok(());
            }
            before = Some(path.number);
        }
        if self.strict {
            return Err(GuardFlipped { line: self.line });
        }
        let path = self.fresh_path(line, &plain(), &[]);
        assert!(run(&path), "a fresh recording is valid where it was made");
        let mut state = self.lock();
        state.paths.insert(0, path);
        if !lasting {
            state.paths.truncate(self.limit);
        }
        Ok(())
    }

    /// Moves a path to the front, where the next call looks first.
    fn bring_forward(&self, path: &Arc<Path<O>>) {
        let mut state = self.lock();
        if let Some(place) = state.paths.iter().position(|other| Arc::ptr_eq(other, path)) {
            state.paths[..=place].rotate_right(1);
        }
    }

    /// Runs and records the function at a point, for a call at this line; frozen leaves are those that are `captured`, if any.
    fn fresh_path(&self, line: Line, point: &[f64], captured: &[Var]) -> Arc<Path<O>> {
        let scope = Scope::open_at(Mode::Replay, line);
        let mut numbers = point.iter();
        let enter = |_, inputs: &mut Inputs<'_>| inputs.input(*numbers.next().expect("one per leaf"));
        // Severed if not, because other points have other numbers there.
        let captured = RefCell::new(captured.iter());
        let hold = |_, input| captured.borrow_mut().next().copied().unwrap_or_else(|| Drive::severed(input));
        let vars = inputs_of(&scope, &self.shape, enter, hold);
        let output = (self.f)(vars);
        let trace = scope.extract(&leaves(&output));
        // Nothing of it stays in a recording around: the path that is asked there leaves its own guards, the first time as later.
        drop(scope);
        let mut state = self.lock();
        state.recordings += 1;
        Arc::new(Path::new(trace, output, state.recordings))
    }
}

impl<T, F> Recorded<T, Var, F>
where
    T: Tree<Leaf = f64>,
    F: Fn(T::Vars) -> Var,
{
    /// The gradient at `x`.
    #[track_caller]
    pub fn grad<X: Tree<Leaf: Scalar>>(&self, x: X) -> X::Grad {
        or_panic(self.try_grad(x))
    }

    /// The gradient at `x`, or that a guard of a strict function flipped.
    #[track_caller]
    pub fn try_grad<X: Tree<Leaf: Scalar>>(&self, x: X) -> Result<X::Grad, GuardFlipped> {
        self.grad_at(Location::caller(), x)
    }

    /// As [`try_grad`](Recorded::try_grad), asked for at this line.
    #[track_caller]
    fn grad_at<X: Tree<Leaf: Scalar>>(&self, line: Line, x: X) -> Result<X::Grad, GuardFlipped> {
        self.compute(line, &x, &[], &Task::Gradient, |_, results| x.grad(&mut || results.next()))
    }

    /// The value and the gradient at `x`.
    #[track_caller]
    pub fn value_and_grad<X: Tree<Leaf: Scalar>>(&self, x: X) -> (X::Leaf, X::Grad) {
        self.value_and_grad_at(Location::caller(), x)
    }

    /// As [`value_and_grad`](Recorded::value_and_grad), asked for at this line.
    #[track_caller]
    fn value_and_grad_at<X: Tree<Leaf: Scalar>>(&self, line: Line, x: X) -> (X::Leaf, X::Grad) {
        or_panic(self.compute(line, &x, &[], &Task::ValueAndGradient, |_, results| {
            (results.next(), x.grad(&mut || results.next()))
        }))
    }

    /// The Hessian at `x`.
    #[track_caller]
    pub fn hessian<X: Tree<Leaf: Scalar>>(&self, x: X) -> X::Each<X::Grad> {
        or_panic(self.compute(Location::caller(), &x, &[], &Task::Hessian, |_, results| {
            x.each(&mut || x.grad(&mut || results.next()))
        }))
    }

    /// The value, the gradient and the Hessian at `x`, at the cost of the Hessian alone.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let f = record([1.0, 2.0], |[x, y]| x * x * y);
    /// assert_eq!(f.value_grad_and_hessian([3.0, 4.0]), (36.0, [24.0, 9.0], [[8.0, 6.0], [6.0, 0.0]]));
    /// ```
    #[track_caller]
    pub fn value_grad_and_hessian<X: Tree<Leaf: Scalar>>(&self, x: X) -> (X::Leaf, X::Grad, X::Each<X::Grad>) {
        or_panic(self.compute(Location::caller(), &x, &[], &Task::ValueGradientAndHessian, |_, results| {
            let (value, gradient) = (results.next(), x.grad(&mut || results.next()));
            (value, gradient, x.each(&mut || x.grad(&mut || results.next())))
        }))
    }

    /// The value, the gradient, and the product of the Hessian at `x` with a vector, from one sweep.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let f = record([1.0, 2.0], |[x, y]| x * x * y);
    /// assert_eq!(f.value_grad_and_hvp([3.0, 4.0], [1.0, 0.0]), (36.0, [24.0, 9.0], [8.0, 6.0]));
    /// ```
    #[track_caller]
    pub fn value_grad_and_hvp<X: Tree<Leaf: Scalar>>(
        &self,
        x: X,
        vector: impl Tree<Leaf = X::Leaf>,
    ) -> (X::Leaf, X::Grad, X::Grad) {
        check_direction("value_grad_and_hvp", "vector", &x, &vector);
        let vector = leaves(&vector);
        or_panic(self.compute(Location::caller(), &x, &vector, &Task::ValueGradientAndHvp, |_, results| {
            let (value, gradient) = (results.next(), x.grad(&mut || results.next()));
            (value, gradient, x.grad(&mut || results.next()))
        }))
    }

    /// The product of the Hessian at `x` with a vector.
    #[track_caller]
    pub fn hvp<X: Tree<Leaf: Scalar>>(&self, x: X, vector: impl Tree<Leaf = X::Leaf>) -> X::Grad {
        check_direction("hvp", "vector", &x, &vector);
        let vector = leaves(&vector);
        let line = Location::caller();
        or_panic(self.compute(line, &x, &vector, &Task::Hvp, |_, results| x.grad(&mut || results.next())))
    }
}

#[track_caller]
pub(crate) fn or_panic<R>(result: Result<R, GuardFlipped>) -> R {
    match result {
        Ok(result) => result,
        Err(flipped) => panic!("{flipped}"),
    }
}
