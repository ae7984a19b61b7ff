//! `odeint`: initial value problems of ordinary differential equations, by Runge-Kutta methods.
//!
//! A solution is a scan over the times that are asked for, around a loop over steps. Its derivative is that of the steps that were
//! taken (the discrete adjoint): everything follows from the loops.

mod adjoint;
mod along;
mod dormand_prince;
mod rk4;

use std::ops::Range;
use std::panic::Location;
use std::sync::Arc;

use self::along::{Along, Kind, Source};
use self::dormand_prince::Control;
use crate::array::{Array, DType};
use crate::error::{Error, ErrorKind, Line, OrRaise};
use crate::implicit::{Function, Moved, ensured, error, tree};
use crate::primitives::{Custom, Ensure, Rule};
use crate::program::Program;
use crate::tensor::Tensor;
use crate::tensor::graph;
use crate::tree::{Tree, leaves};

/// The solution of `dy/dt = f(t, y)` with `y = y0` at the first of the times, at all times: stacked along a new axis 0.
///
/// `y0` may be any tree of real tensors, and `f` gives one with the same leaves; those that are [frozen](crate::freeze) are the same at
/// all times, whatever `f` gives for them. `times` is a vector of real numbers, each larger
/// than the one before; `f` takes a single time of its element type. The first row of the result is `y0`. `f` is recorded once and
/// may capture anything.
///
/// ```
/// use wengert::prelude::*;
/// use wengert::odeint;
/// // an oscillator: q' = p, p' = -w^2 q
/// let times = Tensor::linspace(0.0, 2.0, 5);
/// let course = |w: &Tensor| {
///     odeint((Tensor::from(1.0), Tensor::from(0.0)), &times, |_, (q, p)| (p, -w.square() * q)).0
/// };
/// let w = Tensor::from(3.0);
/// let exact = (&times * 3.0).cos();
/// assert!((course(&w) - exact).abs().max().item() < 1e-6);
/// // q(2) = cos(2 w), along w
/// let slope = grad(&w, |w| course(&w).slice(-1)).item();
/// assert!((slope + 2.0 * 6f64.sin()).abs() < 1e-5);
/// ```
///
/// The method is that of Dormand and Prince of order 5(4), with steps that adapt to a tolerance; values between its steps are
/// those of its continuous extension, of order 4, so that the times that are asked for do not shorten steps. [`Ode`] has options
/// and the classical method of order 4 with steps of equal length.
///
/// **Derivatives** are those of the numbers that are returned, as functions of `y0`, of the times, and of everything that `f`
/// captures: the steps that were taken are differentiated, in every mode and order (the discrete adjoint), and under
/// [`vmap`](crate::vmap), where every example takes steps of its own. The lengths of the adaptive steps are constants of the
/// derivative: the exponent of each, to base 2, is rounded down to eighths, and rounding has none. So the derivative is of the accuracy
/// of the method, and misses how the error itself would change with the lengths. Beside the values a tangent takes the same steps, in
/// a general direction of `y0` and of what `f` captures, and its estimated error is within ten times the tolerance too, relative to all of it: so what is at rest,
/// of which the error of the values says nothing, has the derivatives of the linearised equation. Second derivatives are those of the same
/// steps, and not bounded by themselves: where the linear part of an equation vanishes at rest, as that of `y' = y^2 sin t` at 0, they may
/// be those of too long steps. For its reverse, the states of all steps
/// between two times are kept, and computed again for each pair of times.
///
/// # Panics
/// As [`Ode::try_run`] gives errors, and if a solution that is only recorded here is not found when it is run.
#[track_caller]
pub fn odeint<Y, D>(y0: Y, times: &Tensor, f: impl FnOnce(Tensor, Y::Vars) -> D) -> Y::Grad
where
    Y: Tree<Leaf = Tensor>,
    D: Tree<Leaf = Tensor>,
{
    Ode::new().run(y0, times, f)
}

/// [`odeint`] with options.
///
/// ```
/// use wengert::prelude::*;
/// use wengert::Ode;
/// let times = Tensor::from([0.0, 1.0]);
/// let grown = |ode: Ode| ode.run(&Tensor::from(1.0), &times, |_, y| y).slice(1).item();
/// let e = 1f64.exp();
/// assert!((grown(Ode::new().relative(1e-12).absolute(1e-12)) - e).abs() < 1e-11);
/// // the error of 40 classical steps is about e h^4 / 120
/// assert!((grown(Ode::new().rk4(40)) - e).abs() < 1e-8);
/// let why = Ode::new().limit(3).try_run(&Tensor::from(1.0), &times, |_, y| y * -1e6).unwrap_err();
/// assert!(why.to_string().contains("after 3 steps"), "{why}");
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Ode {
    method: Method,
    relative: Option<f64>,
    absolute: Option<f64>,
    first: Option<f64>,
    limit: usize,
    continuous: bool,
    along: bool,
}

#[derive(Clone, Copy, Debug)]
enum Method {
    DormandPrince,
    Rk4 { steps: usize },
}

impl Default for Ode {
    fn default() -> Self {
        Ode {
            method: Method::DormandPrince,
            relative: None,
            absolute: None,
            first: None,
            limit: 10_000,
            continuous: false,
            along: true,
        }
    }
}

impl Ode {
    /// Adaptive steps of order 5, at most 10,000.
    pub fn new() -> Self {
        Ode::default()
    }

    /// By the classical method of order 4 (W. Kutta, *Beitrag zur näherungsweisen Integration totaler Differentialgleichungen*,
    /// 1901), with this many steps of equal length between every two times. There is no estimate of the error. The lengths are
    /// functions of the times, and differentiated.
    ///
    /// # Panics
    /// If it is 0.
    #[must_use]
    #[track_caller]
    pub fn rk4(mut self, steps: usize) -> Self {
        assert!(steps > 0, "`rk4` takes this many steps between two times, and it is 0");
        self.method = Method::Rk4 { steps };
        self
    }

    /// What the estimated error of a step may be, relative to the larger of the state before and after it: 1e-8 if it is not said,
    /// 1e-4 if all leaves are in single precision. The root of the mean square over all numbers of
    /// `error / (absolute + relative |y|)` has to be at most 1. Roundings keep it from being much smaller than 1e-13.
    #[must_use]
    pub fn relative(mut self, tolerance: f64) -> Self {
        self.relative = Some(tolerance);
        self
    }

    /// What is added to that: 1e-10 if it is not said, 1e-6 if all leaves are in single precision.
    #[must_use]
    pub fn absolute(mut self, tolerance: f64) -> Self {
        self.absolute = Some(tolerance);
        self
    }

    /// The length of the first adaptive step that is tried, which is else guessed from slopes (Hairer, Nørsett and Wanner 1993,
    /// section II.4). It is refused, and a shorter one tried, where its error or that of the tangent is too large.
    #[must_use]
    pub fn first_step(mut self, length: f64) -> Self {
        self.first = Some(length);
        self
    }

    /// At most this many adaptive steps in all, also those that are refused.
    #[must_use]
    pub fn limit(mut self, steps: usize) -> Self {
        self.limit = steps;
        self
    }

    /// Bounds steps by the error of the values alone, not by that of a tangent beside them: for values that nobody differentiates, in half of
    /// the time, and in fewer steps where the equation is stiff or at rest. Derivatives are then those of the steps too, and may
    /// be wrong by any factor where the state, or a part of it, is at rest, or moves as the method has it exactly.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// use wengert::Ode;
    /// let (rest, times) = (Tensor::from(1.0), Tensor::from([0.0, 10.0]));
    /// let course = |ode: Ode| ode.limit(100).try_run(&rest, &times, |_, y| (1.0 - y) * 1e6).map(|y| y.slice(1).item());
    /// assert_eq!(course(Ode::new().values_only()).unwrap(), 1.0);
    /// assert!(course(Ode::new()).unwrap_err().to_string().contains("after 100 steps"));
    /// ```
    #[must_use]
    pub fn values_only(mut self) -> Self {
        self.along = false;
        self
    }

    /// Takes derivatives by the continuous adjoint (L. S. Pontryagin et al., 1962; R. T. Q. Chen et al., *Neural ordinary
    /// differential equations*, 2018) instead of those of the steps: `a' = -(df/dy)^T a` is solved backwards beside `y`, from
    /// each of the times to the one before, by the same method and with the same tolerances for `y`. They are not the derivatives
    /// of the numbers that are returned: they differ from them by what the tolerance lets through. Where the equation is stable
    /// forwards it is not backwards, so that long ways between two times lose digits, or end with an error of the backward
    /// solution; `y` begins anew at each of the times.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// use wengert::Ode;
    /// let times = Tensor::from([0.0, 1.0]);
    /// let last = |a: &Tensor| {
    ///     Ode::new().continuous_adjoint().run(&Tensor::from(1.0), &times, |_, y| a * y).slice(1)
    /// };
    /// let slope = grad(&Tensor::from(-0.5), |a| last(&a)).item();
    /// assert!((slope - (-0.5f64).exp()).abs() < 1e-7);
    /// ```
    #[must_use]
    pub fn continuous_adjoint(mut self) -> Self {
        self.continuous = true;
        self
    }

    /// Solves the equation.
    ///
    /// # Panics
    /// As [`Ode::try_run`] gives errors, and if a solution that is only recorded here is not found when it is run.
    #[track_caller]
    pub fn run<Y, D>(&self, y0: Y, times: &Tensor, f: impl FnOnce(Tensor, Y::Vars) -> D) -> Y::Grad
    where
        Y: Tree<Leaf = Tensor>,
        D: Tree<Leaf = Tensor>,
    {
        self.try_run(y0, times, f).or_raise()
    }

    /// Solves the equation.
    ///
    /// # Errors
    /// If a tolerance is negative or not finite, both are 0, or the first step has no length; if the times are no vector of real
    /// numbers with one element at least, or do not increase; if the leaves of `f` are not those
    /// of the state; if a state is not finite at a time; if the limit of steps is reached, or steps within the tolerance would be
    /// too short to move the time, as at a singularity; if an operation of `f` has a derivative that is an error there, along the state or
    /// along anything real that it captures, unless [`Ode::values_only`] asks for none.
    #[track_caller]
    pub fn try_run<Y, D>(&self, y0: Y, times: &Tensor, f: impl FnOnce(Tensor, Y::Vars) -> D) -> Result<Y::Grad, Error>
    where
        Y: Tree<Leaf = Tensor>,
        D: Tree<Leaf = Tensor>,
    {
        let line = Location::caller();
        self.check().map_err(|why| error(NAME, ErrorKind::Misfit, why, line))?;
        check_times(times, line)?;
        let moved = Moved::of(&y0);
        let state = moved.point();
        if let Some(k) = state.iter().position(|leaf| !leaf.dtype().is_float()) {
            let why = format!("leaf {k} of the state is {}, and has to be real; convert first", state[k].ty());
            return Err(error(NAME, ErrorKind::Misfit, why, line));
        }
        let everywhere = |leaf: &Tensor| leaf.broadcast_to([times.shape(), leaf.shape()].concat());
        if state.is_empty() {
            return Ok(tree(&y0, moved.with_frozen(Vec::new(), everywhere)));
        }
        // Its numbers are not read.
        let time = Tensor::zeros_of(times.dtype(), &[]);
        let point: Vec<Tensor> = std::iter::once(time).chain(state.iter().cloned()).collect();
        let function = Function::record_leaves(NAME, "state", point, |inputs| {
            let time = inputs();
            moved.of_moved(leaves(&f(time, y0.vars(&mut moved.given(inputs)))))
        })?;
        function.check_gives("slope", "state", &state, line)?;
        let inputs: Vec<Tensor> = std::iter::once(times).chain(&state).cloned().collect();
        let tangents = self.tangents(&function, state.len());
        let program = function.program_of(&inputs, line, |inputs, captures| {
            let (times, y0) = inputs.split_first().expect("the times are the first");
            let at = |t: &Tensor, y: &[Tensor]| {
                let point: Vec<Tensor> = std::iter::once(t.convert(times.dtype())).chain(y.iter().cloned()).collect();
                crate::implicit::at(NAME, &function.closed.program, &point, captures)
            };
            let fixed: Vec<Tensor> = captures.iter().map(Tensor::detach).collect();
            let tangent_of = |program: &Program, t: &Tensor, y: &[Tensor], v: &[Tensor]| {
                let point: Vec<Tensor> = std::iter::once(t.convert(times.dtype())).chain(y.iter().cloned()).collect();
                Ok(crate::implicit::at(NAME, program, &point, &[&fixed, v].concat())?.split_off(y.len()))
            };
            let Some((by_state, by_captures)) = &tangents else {
                let slope = Slope { at: &at, along: None, counted: y0.len() };
                return self.solved(&slope, y0, &increasing(&times.to_f64())?);
            };
            let linear = |t: &Tensor, y: &[Tensor], v: &[Tensor]| tangent_of(by_state, t, y, v);
            let real: Vec<Tensor> = captures.iter().filter(|p| p.dtype().is_float()).cloned().collect();
            let direction = along::direction(&real);
            let source = |t: &Tensor, y: &[Tensor]| {
                tangent_of(by_captures.as_ref().expect("it is asked where there is one"), t, y, &direction)
            };
            let kind = Kind::Tangent(by_captures.as_ref().map(|_| &source as Source<'_>));
            let along =
                Along { linear: &linear, kind, single: is_single(&[std::slice::from_ref(times), y0, &real].concat()) };
            let slope = Slope { at: &at, along: Some(along), counted: y0.len() };
            self.solved(&slope, y0, &increasing(&times.to_f64())?)
        })?;
        let operands: Vec<&Tensor> = inputs.iter().chain(&function.closed.captures).collect();
        let rows = if self.continuous {
            let rule = adjoint::pullback(self, &function, &inputs, &program, line)?;
            let (name, value) = (NAME.to_owned(), Arc::new(program));
            graph::apply(Custom { name, value, rule: Rule::Vjp(Arc::new(rule)), surrogate: false }, &operands)
        } else {
            graph::apply_program(NAME, &program, &operands)
        };
        let rows = rows.map_err(|error| error.at(Some(line)))?;
        Ok(tree(&y0, moved.with_frozen(rows, everywhere)))
    }

    /// Whether the options are ones by which a step can be measured.
    fn check(&self) -> Result<(), String> {
        let tolerances = [("relative", self.relative), ("absolute", self.absolute)];
        for (name, tolerance) in tolerances.into_iter().filter_map(|(name, given)| Some((name, given?))) {
            if !(tolerance >= 0.0 && tolerance.is_finite()) {
                return Err(format!(
                    "the {name} tolerance is {tolerance}, and has to be a finite number that is not negative"
                ));
            }
        }
        if self.relative == Some(0.0) && self.absolute == Some(0.0) {
            return Err("both tolerances are 0: no step is as exact as that".to_owned());
        }
        match self.first {
            Some(length) if !(length > 0.0 && length.is_finite()) => {
                Err(format!("the length of the first step is {length}, and has to be a positive finite number"))
            }
            _ => Ok(()),
        }
    }

    /// Whether something goes along with the state.
    fn has_along(&self) -> bool {
        self.along && matches!(self.method, Method::DormandPrince)
    }

    /// The Programs of `f` with its tangent behind it, along the state and along the real captures, if there are any: none where it has
    /// none, or none is asked.
    fn tangents(&self, function: &Function, leaves: usize) -> Option<(Program, Option<Program>)> {
        if !self.has_along() {
            return None;
        }
        let program = &function.closed.program;
        let of = |inputs: Range<usize>| {
            let types = program.input_types().iter().enumerate();
            let active: Vec<bool> = types.map(|(k, ty)| ty.dtype.is_float() && inputs.contains(&k)).collect();
            active.contains(&true).then(|| program.jvp(&active).ok()).flatten()
        };
        Some((of(1..leaves + 1)?, of(leaves + 1..program.input_types().len())))
    }

    /// The states at all times.
    fn solved(&self, slope: &Slope<'_>, y0: &[Tensor], times: &Tensor) -> Result<Vec<Tensor>, Error> {
        match self.method {
            Method::DormandPrince => dormand_prince::solve(slope, y0, times, &self.control(&y0[..slope.counted])),
            Method::Rk4 { steps } => rk4::solve(slope, y0, times, steps),
        }
    }

    fn control(&self, state: &[Tensor]) -> Control {
        let single = state.iter().all(|leaf| leaf.dtype() == DType::F32);
        let (relative, absolute) = if single { (1e-4, 1e-6) } else { (1e-8, 1e-10) };
        Control {
            relative: self.relative.unwrap_or(relative),
            absolute: self.absolute.unwrap_or(absolute),
            first: self.first,
            limit: i64::try_from(self.limit).unwrap_or(i64::MAX),
        }
    }
}

/// Whether some of it is in single precision.
fn is_single(tensors: &[Tensor]) -> bool {
    tensors.iter().any(|x| x.dtype() == DType::F32)
}

/// The operation that errors name.
const NAME: &str = "odeint";

/// `f(t, y)`, of a time in double precision and the leaves of a state.
type Field<'a> = &'a dyn Fn(&Tensor, &[Tensor]) -> Result<Vec<Tensor>, Error>;

/// The right-hand side of an equation.
struct Slope<'a> {
    at: Field<'a>,
    /// What goes along with the state, if anything.
    along: Option<Along<'a>>,
    /// How many leaves count in errors, and have to be finite; the others follow.
    counted: usize,
}

impl Slope<'_> {
    /// `f(t, y)`
    fn at(&self, t: &Tensor, y: &[Tensor]) -> Result<Vec<Tensor>, Error> {
        (self.at)(t, y)
    }

    /// A state at a time, if it is finite.
    fn finite(&self, y: &[Tensor], t: &Tensor) -> Result<Vec<Tensor>, Error> {
        let holds = y[..self.counted].iter().map(|leaf| leaf.is_finite().all()).reduce(|all, next| all.and(next));
        let Some(holds) = holds else { return Ok(y.to_vec()) };
        ensured(y, &Ensure::new(NAME, "the state is not finite at t = {}"), &holds, &[t])
    }
}

/// What is known of the times before anything runs.
fn check_times(times: &Tensor, line: Line) -> Result<(), Error> {
    let fail = |why: String| Err(error(NAME, ErrorKind::Misfit, why, line));
    if times.rank() != 1 || times.size() == 0 || !times.dtype().is_float() {
        return fail(format!("the times are {}, and have to be a vector of real numbers, one at least", times.ty()));
    }
    let Some(numbers) = times.known().map(Array::to_f64) else { return Ok(()) };
    match numbers.windows(2).position(|pair| pair[0].partial_cmp(&pair[1]) != Some(std::cmp::Ordering::Less)) {
        Some(k) => fail(format!(
            "time {} is {}, and has to be larger than the one before, {}",
            k + 1,
            numbers[k + 1],
            numbers[k]
        )),
        None => Ok(()),
    }
}

/// The times, if they increase.
fn increasing(times: &Tensor) -> Result<Tensor, Error> {
    let ensure = Ensure::new(
        NAME,
        "the times have to increase, and the smallest difference of two that follow each other is {}",
    );
    if times.size() < 2 {
        return Ok(times.clone());
    }
    let differences = times.slice(1..) - times.slice(..-1);
    let operands = [times, &differences.gt(0.0).all(), &differences.min()];
    Ok(graph::apply(ensure, &operands)?.remove(0))
}

/// The states at the first time, and those at the others, as one array for each leaf.
fn joined(first: &[Tensor], rest: Vec<Tensor>) -> Vec<Tensor> {
    let all = first.iter().zip(rest);
    all.map(|(first, rest)| Tensor::concat(&[&first.expand_dims(0), &rest], 0)).collect()
}
