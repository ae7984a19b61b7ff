//! The rounding errors of a recording's value and derivatives, by running error analysis ([`Rounded`]).

use super::rule::Rounding;
use crate::algorithm::{Algorithm, Base};
use crate::algorithm::{Hvp, Jvp, Vjp};
use crate::rounded::Rounded;
use crate::tape::Var;
use crate::tape::trace::Trace;
use crate::task::Gives;

impl Base for Rounded {
    fn capture(var: Var) -> Self {
        Rounded::exact(var.value)
    }
    fn plain(self) -> f64 {
        self.value()
    }
}

fn exact(numbers: &[f64]) -> Vec<Rounded> {
    numbers.iter().map(|&x| Rounded::exact(x)).collect()
}

fn errors(numbers: &[Rounded]) -> Vec<f64> {
    numbers.iter().map(|number| number.error()).collect()
}

/// What an algorithm gives over numbers that carry their errors.
fn run(trace: &Trace, inputs: &[Rounded], directions: &[f64], algorithm: &impl Algorithm) -> Vec<Rounded> {
    let values = trace.evaluate(inputs, Rounded::capture).expect("the point is the recorded one, so no guard flips");
    algorithm.run(trace, &values, &exact(directions))
}

/// The rounding errors of a recorded function's value, tangent and cotangent at a point.
pub(super) fn of_function(trace: &Trace, x: &[f64], tangent: &[f64], cotangent: &[f64]) -> Rounding {
    let displaced: Vec<Rounded> = x.iter().map(|&x| Rounded::displaced(x)).collect();
    let outputs = trace.outputs.len();
    Rounding {
        value: errors(&run(trace, &displaced, tangent, &Jvp)[..outputs]),
        tangent: errors(&run(trace, &exact(x), tangent, &Jvp)[outputs..]),
        cotangent: errors(&run(trace, &exact(x), cotangent, &Vjp)),
    }
}

/// The rounding errors of the gradient of a recorded function, of its tangent and its cotangent.
pub(super) fn of_gradient(trace: &Trace, x: &[f64], tangent: &[f64], cotangent: &[f64]) -> Rounding {
    let displaced: Vec<Rounded> = x.iter().map(|&x| Rounded::displaced(x)).collect();
    Rounding {
        value: errors(&run(trace, &displaced, &[1.0], &Vjp)),
        tangent: errors(&run(trace, &exact(x), tangent, &Hvp { gives: Gives::Derivative })),
        cotangent: errors(&run(trace, &exact(x), cotangent, &Hvp { gives: Gives::Derivative })),
    }
}
