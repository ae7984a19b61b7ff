//! Drivers at points of numbers and variables: swept on the tape. Where array operations came in
//! between, the recording is lifted into a Program, and that is transformed.

use super::next;
use crate::leaf::{Drive, Leaf};
#[cfg(feature = "arrays")]
use crate::lifted::{self, Lifted};
use crate::ops::Unary;
use crate::real::Real;
use crate::scalar::{Scalar, Sealed};
use crate::tape::Var;
use crate::tape::block::Thinning;
use crate::tape::recording::{Inputs, Line, Mode, Scope};
use crate::tape::trace::Trace;
use crate::task::Task;
use crate::tree::{Paths, Tree, check_size, leaves};

/// Runs `f` at `x` under a recording of its own, which stays open.
#[track_caller]
pub(crate) fn run_recorded<T, O>(mode: Mode, x: &T, f: impl FnOnce(T::Vars) -> O) -> (Scope, O)
where
    T: Tree + ?Sized,
    T::Leaf: Scalar,
{
    let scope = Scope::open(mode);
    let vars = inputs_of(&scope, x, |leaf, inputs| leaf.enter(inputs), |leaf, _| leaf.outer());
    let output = f(vars);
    (scope, output)
}

/// As [`run_recorded`], once and outermost with loops that keep carries so.
#[track_caller]
pub(crate) fn run_thinned<T: Tree<Leaf = f64>, O>(
    thinning: Thinning,
    x: &T,
    f: impl FnOnce(T::Vars) -> O,
) -> (Scope, O) {
    let scope = Scope::open(Mode::Once);
    if scope.is_outermost() {
        scope.thin(thinning);
    }
    let output = f(inputs_of(&scope, x, |leaf, inputs| leaf.enter(inputs), |leaf, _| leaf.outer()));
    (scope, output)
}

/// The value of a function as a number, which is refused where it depends on a variable of an outer recording.
#[cfg(feature = "argmin")]
#[track_caller]
pub(crate) fn recorded_value<T: Tree<Leaf = f64>>(x: &T, f: impl FnOnce(T::Vars) -> Var) -> f64 {
    let (scope, output) = run_recorded(Mode::Once, x, f);
    next(&mut finish(scope, &[output], &[], &Task::Value))
}

/// The value and the gradient of a recording.
#[track_caller]
pub(crate) fn recorded_gradient<T: Tree<Leaf = f64>>(scope: Scope, output: Var, x: &T) -> (f64, T::Grad) {
    let mut results = finish(scope, &[output], &[], &Task::ValueAndGradient);
    (next(&mut results), x.grad(&mut || next(&mut results)))
}

/// The inputs of a scope in the form of `x`, each made by `enter`; in place of one that is frozen the function gets what
/// `hold` makes of the leaf and the input.
#[cfg_attr(not(debug_assertions), inline(always))]
#[track_caller]
pub(crate) fn inputs_of<T>(
    scope: &Scope,
    x: &T,
    mut enter: impl FnMut(T::Leaf, &mut Inputs<'_>) -> Var,
    hold: impl Fn(T::Leaf, Var) -> Var,
) -> T::Vars
where
    T: Tree + ?Sized,
    T::Leaf: Scalar,
{
    let mut inputs = scope.inputs();
    if T::HAS_DATA {
        // What is severed is recorded, and inputs come before all other records.
        let mut vars = Vec::with_capacity(x.size());
        x.for_each_leaf(&mut |leaf| vars.push(enter(leaf, &mut inputs)));
        inputs.end();
        let mut vars = vars.into_iter().zip(Paths::frozen_leaves(x));
        return x.vars(&mut |leaf| match vars.next().expect("one per leaf") {
            (var, true) => hold(leaf, var),
            (var, false) => var,
        });
    }
    let vars = x.vars(&mut |leaf| enter(leaf, &mut inputs));
    inputs.end();
    vars
}

/// The gradient of an outermost recording, swept in place, in the form of the point; `None` where that takes more care.
#[cfg_attr(not(debug_assertions), inline(always))]
fn swept<T: Tree<Leaf: Scalar>>(scope: &Scope, output: Var, x: &T) -> Option<T::Grad> {
    let mut gradient = None;
    scope.gradient_in_place(output, &mut |adjoints| {
        let mut adjoints = adjoints.iter();
        // + 0.0: what was not reached holds -0.0.
        gradient = Some(x.grad(&mut || T::Leaf::from_plain(adjoints.next().expect("one per leaf") + 0.0)));
    })?;
    gradient
}

/// Ends a recording and computes from it.
#[track_caller]
fn finish<S: Scalar>(scope: Scope, outputs: &[Var], directions: &[S], task: &Task) -> std::vec::IntoIter<S> {
    #[cfg(feature = "arrays")]
    if scope.has_externals() {
        return lifted::finish(scope, outputs, directions, task).into_iter();
    }
    S::finish(scope, outputs, directions, task).into_iter()
}

/// Runs `f` at `x` and computes from the recording.
#[track_caller]
pub(crate) fn compute<T, O>(
    x: &T,
    directions: &[T::Leaf],
    task: &Task,
    f: impl FnOnce(T::Vars) -> O,
) -> (O, std::vec::IntoIter<T::Leaf>)
where
    T: Tree + ?Sized,
    T::Leaf: Scalar,
    O: Tree<Leaf = Var>,
{
    let (scope, output) = run_recorded(Mode::Once, x, f);
    let results = finish(scope, &leaves(&output), directions, task);
    (output, results)
}

/// A function linearised at a point of numbers.
#[derive(Clone, Debug)]
pub struct Held<S>(Kept<S>);

#[derive(Clone, Debug)]
enum Kept<S> {
    /// Its tape, and the values on it.
    Tape(Trace, Vec<S>, Line),
    /// Its Program.
    #[cfg(feature = "arrays")]
    Lifted(Lifted),
}

macro_rules! drive {
    ($scalar:ty) => {
        impl Drive for $scalar {
            const MANY: &'static str = "numbers";

            fn severed(self) -> Self {
                Real::unary(self, Unary::Detach)
            }

            #[cfg_attr(not(debug_assertions), inline(always))]
            fn value_and_grad<T: Tree<Leaf = Self>>(x: &T, f: impl FnOnce(T::Vars) -> Var) -> (Self, T::Grad) {
                let (scope, output) = run_recorded(Mode::Once, x, f);
                if scope.is_outermost()
                    && let Some(gradient) = swept(&scope, output, x)
                {
                    return (Self::from_plain(output.value), gradient);
                }
                let mut results = finish(scope, &[output], &[], &Task::ValueAndGradient);
                (next(&mut results), x.grad(&mut || next(&mut results)))
            }

            #[cfg_attr(not(debug_assertions), inline(always))]
            fn grad<T: Tree<Leaf = Self>>(x: &T, f: impl FnOnce(T::Vars) -> Var) -> T::Grad {
                let (scope, output) = run_recorded(Mode::Once, x, f);
                if scope.is_outermost()
                    && let Some(gradient) = swept(&scope, output, x)
                {
                    return gradient;
                }
                // Only the gradient is asked for: a value that depends on an outer variable does no
                // harm.
                let mut results = finish(scope, &[output], &[], &Task::Gradient);
                x.grad(&mut || next(&mut results))
            }

            fn value_and_grad_aux<T: Tree<Leaf = Self>, A: Tree<Leaf = Var>>(
                x: &T,
                f: impl FnOnce(T::Vars) -> (Var, A),
            ) -> (Self, A::Each<Self>, T::Grad) {
                let ((_, aux), mut results) = compute(x, &[], &Task::ValueAndGradient, f);
                let value = next(&mut results);
                let aux = aux.each(&mut || next(&mut results));
                (value, aux, x.grad(&mut || next(&mut results)))
            }

            fn jvp<T: Tree<Leaf = Self>, O: Tree<Leaf = Var>>(
                x: &T,
                tangent: &[Self],
                f: impl FnOnce(T::Vars) -> O,
            ) -> (O::Each<Self>, O::Each<Self>) {
                let (output, mut results) = compute(x, tangent, &Task::Jvp, f);
                (output.each(&mut || next(&mut results)), output.each(&mut || next(&mut results)))
            }

            fn hold<T: Tree<Leaf = Self>, O: Tree<Leaf = Var>>(
                x: &T,
                f: impl FnOnce(T::Vars) -> O,
            ) -> (O::Each<Self>, Held<Self>) {
                let (scope, output) = run_recorded(Mode::Once, x, f);
                let line = scope.line();
                #[cfg(feature = "arrays")]
                if scope.has_externals() {
                    let (values, held) = lifted::hold::<Self>(scope, &leaves(&output));
                    let mut values = values.into_iter();
                    return (output.each(&mut || next(&mut values)), Held(Kept::Lifted(held)));
                }
                let (trace, values) = <Self as Sealed>::hold(scope, &leaves(&output));
                let mut results = <Self as Sealed>::resume(&trace, line, &values, &[], &Task::Value).into_iter();
                let y = output.each(&mut || next(&mut results));
                (y, Held(Kept::Tape(trace, values, line)))
            }

            fn pull<T: Tree<Leaf = Self>>(x: &T, held: &Held<Self>, cotangent: &[Self]) -> T::Grad {
                let results = match &held.0 {
                    Kept::Tape(trace, values, line) => {
                        check_size::<Self>("pull", "cotangent", trace.outputs.len(), cotangent.len());
                        <Self as Sealed>::resume(trace, *line, values, cotangent, &Task::Vjp)
                    }
                    #[cfg(feature = "arrays")]
                    Kept::Lifted(held) => lifted::pull(held, cotangent),
                };
                let mut results = results.into_iter();
                x.grad(&mut || next(&mut results))
            }

            fn jacobian<T: Tree<Leaf = Self>, O: Tree<Leaf = Var>>(
                x: &T,
                f: impl FnOnce(T::Vars) -> O,
            ) -> O::Each<T::Grad> {
                let (output, mut results) = compute(x, &[], &Task::Jacobian, f);
                output.each(&mut || x.grad(&mut || next(&mut results)))
            }

            fn value_and_jacobian<T: Tree<Leaf = Self>, O: Tree<Leaf = Var>>(
                x: &T,
                f: impl FnOnce(T::Vars) -> O,
            ) -> (O::Each<Self>, O::Each<T::Grad>) {
                let (output, mut results) = compute(x, &[], &Task::ValueAndJacobian, f);
                let y = output.each(&mut || next(&mut results));
                (y, output.each(&mut || x.grad(&mut || next(&mut results))))
            }

            fn value_grad_and_hessian<T: Tree<Leaf = Self>>(
                x: &T,
                f: impl FnOnce(T::Vars) -> Var,
            ) -> (Self, T::Grad, T::Each<T::Grad>) {
                let (_, mut results) = compute(x, &[], &Task::ValueGradientAndHessian, f);
                let (value, gradient) = (next(&mut results), x.grad(&mut || next(&mut results)));
                (value, gradient, x.each(&mut || x.grad(&mut || next(&mut results))))
            }

            fn value_grad_and_hvp<T: Tree<Leaf = Self>>(
                x: &T,
                vector: &[Self],
                f: impl FnOnce(T::Vars) -> Var,
            ) -> (Self, T::Grad, T::Grad) {
                let (_, mut results) = compute(x, vector, &Task::ValueGradientAndHvp, f);
                let (value, gradient) = (next(&mut results), x.grad(&mut || next(&mut results)));
                (value, gradient, x.grad(&mut || next(&mut results)))
            }

            fn hessian<T: Tree<Leaf = Self>>(x: &T, f: impl FnOnce(T::Vars) -> Var) -> T::Each<T::Grad> {
                let (_, mut results) = compute(x, &[], &Task::Hessian, f);
                x.each(&mut || x.grad(&mut || next(&mut results)))
            }

            fn hvp<T: Tree<Leaf = Self>>(x: &T, vector: &[Self], f: impl FnOnce(T::Vars) -> Var) -> T::Grad {
                let (_, mut results) = compute(x, vector, &Task::Hvp, f);
                x.grad(&mut || next(&mut results))
            }
        }
    };
}
impl Leaf for f64 {
    type Active = Var;
    type Out<O: Tree<Leaf = Var>> = O::Each<f64>;
    type Jacobian<T: Tree<Leaf = f64>, O: Tree<Leaf = Var>> = O::Each<T::Grad>;
    type Hessian<T: Tree<Leaf = f64>> = T::Each<T::Grad>;
    type Held = Held<f64>;
}

impl Leaf for Var {
    type Active = Var;
    type Out<O: Tree<Leaf = Var>> = O::Each<Var>;
    type Jacobian<T: Tree<Leaf = Var>, O: Tree<Leaf = Var>> = O::Each<T::Grad>;
    type Hessian<T: Tree<Leaf = Var>> = T::Each<T::Grad>;
    type Held = Held<Var>;
}

drive!(f64);
drive!(Var);
