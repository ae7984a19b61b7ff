//! The functions of the family `higher_order`.

use std::f64::consts::TAU;

use wengert::{Real, Var, grad, jvp, lift, lit};

use super::algebra::{logsumexp, softmax};

/// A function of one variable.
pub(crate) fn curve<R: Real>(name: &str, x: R) -> Option<R> {
    Some(match name {
        "sin_exp" => x.sin() * (x * 0.5).exp(),
        "rational" => x / (x * x + 1.0),
        "log_cosh" => x.cosh().ln(),
        "x_pow_x" => x.pow(x),
        "poly7" => x.powi(7) - x.powi(4) * 3.0 + x,
        "tanh_sq" => (x * x).tanh(),
        "gauss" => (x * x * -0.5).exp(),
        "sigmoid" => x.sigmoid(),
        _ => return None,
    })
}

/// A scalar function of several variables.
pub(crate) fn scalar<R: Real>(name: &str, x: &[R]) -> Option<R> {
    Some(match (name, x) {
        ("trig_mix", &[a, b, c]) => (a * b).sin() + b * c.exp() + a.powi(3) * c,
        ("rosenbrock", &[a, b]) => (lit(1.0) - a).powi(2) + (b - a * a).powi(2) * 100.0,
        ("logsumexp", x) if !x.is_empty() => logsumexp(x),
        ("prod", x) => x.iter().copied().product(),
        ("helical", &[a, b, c]) => {
            let turn = b.atan2(a) * (10.0 / TAU);
            ((c - turn).powi(2) + (a.hypot(b) - 1.0).powi(2)) * 100.0 + c * c
        }
        _ => return None,
    })
}

/// A vector function of several variables.
pub(crate) fn vector<R: Real>(name: &str, x: &[R]) -> Option<Vec<R>> {
    Some(match (name, x) {
        ("coupled3", &[a, b, c]) => vec![a * b * b, b.sin() * c, (a - c).exp()],
        ("tall", &[a, b]) => vec![a + b, a * b, a / b, a.pow(b), a.atan2(b)],
        ("softmax3", x) if !x.is_empty() => softmax(x),
        _ => return None,
    })
}

/// The derivative of `f`: backward, or forward.
type Derivative = fn(Var, &dyn Fn(Var) -> Var) -> Var;

fn backward(x: Var, f: &dyn Fn(Var) -> Var) -> Var {
    grad(x, f)
}

fn forward(x: Var, f: &dyn Fn(Var) -> Var) -> Var {
    jvp(x, lift(1.0), f).1
}

/// A number described by nested derivatives: with every derivative backward, every one forward,
/// and the two mixes of outer and inner ones.
pub(crate) fn nested(name: &str, x: f64) -> Option<Vec<(&'static str, f64)>> {
    let ways: [(&str, Derivative, Derivative); 4] = [
        ("backward", backward, backward),
        ("forward", forward, forward),
        ("forward over backward", forward, backward),
        ("backward over forward", backward, forward),
    ];
    ways.into_iter().map(|(way, outer, inner)| Some((way, nested_by(name, x, outer, inner)?))).collect()
}

fn nested_by(name: &str, x: f64, outer: Derivative, inner: Derivative) -> Option<f64> {
    let x = lift(x);
    let result = match name {
        "perturbation_confusion_1" => outer(x, &|x| x * inner(lift(1.0), &|y| x + y)),
        "perturbation_confusion_2" => outer(x, &|x| x * inner(x, &|y| x * y)),
        "perturbation_confusion_3" => outer(x, &|x| inner(x * x, &|y| (x * y).sin())),
        "perturbation_confusion_4" => outer(x, &|x| outer(x, &|t| t * inner(t, &|y| y * y * t))),
        "nested_derivative_sum" => outer(x, &|x| (1..=3).map(|k| inner(x, &|y| (x * y * f64::from(k)).exp())).sum()),
        "inner_gradient_descent" => outer(x, &|a| {
            let step = |w: Var| w - inner(w, &|w| (w * a - 1.0).powi(2)) * 0.1;
            (0..3).fold(lift(0.2), |w, _| step(w))
        }),
        _ => return None,
    };
    Some(result.value())
}
