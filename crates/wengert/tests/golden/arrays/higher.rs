//! The functions of the family `higher_order`.

use std::f64::consts::TAU;

use wengert::{Tensor, grad, jvp};

use super::{elements, number, vector};

/// A function of every element.
pub(super) fn curve(name: &str, x: &Tensor) -> Option<Tensor> {
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

/// A scalar function of a vector.
pub(super) fn scalar(name: &str, x: &Tensor) -> Option<Tensor> {
    Some(match (name, &elements(x)[..]) {
        ("trig_mix", [a, b, c]) => (a * b).sin() + b * c.exp() + a.powi(3) * c,
        ("rosenbrock", [a, b]) => (1.0 - a).powi(2) + (b - a * a).powi(2) * 100.0,
        ("logsumexp", _) => x.logsumexp(),
        ("prod", _) => x.prod(),
        ("helical", [a, b, c]) => {
            let turn = b.atan2(a) * (10.0 / TAU);
            ((c - turn).powi(2) + (a.hypot(b) - 1.0).powi(2)) * 100.0 + c * c
        }
        _ => return None,
    })
}

/// A vector function of a vector.
pub(super) fn of_vector(name: &str, x: &Tensor) -> Option<Tensor> {
    Some(match (name, &elements(x)[..]) {
        ("coupled3", [a, b, c]) => vector(&[a * b * b, b.sin() * c, (a - c).exp()]),
        ("tall", [a, b]) => vector(&[a + b, a * b, a / b, a.pow(b), a.atan2(b)]),
        ("softmax3", _) => x.softmax(0),
        _ => return None,
    })
}

/// The derivative of `f`: backward, or forward.
type Derivative = fn(&Tensor, &dyn Fn(Tensor) -> Tensor) -> Tensor;

fn backward(x: &Tensor, f: &dyn Fn(Tensor) -> Tensor) -> Tensor {
    grad(x, f)
}

fn forward(x: &Tensor, f: &dyn Fn(Tensor) -> Tensor) -> Tensor {
    jvp(x, number(1.0), f).1
}

/// A number described by nested derivatives: with every derivative backward, every one forward,
/// and the two mixes of outer and inner ones.
pub(super) fn nested(name: &str, x: &Tensor) -> Option<Vec<(&'static str, Tensor)>> {
    let ways: [(&str, Derivative, Derivative); 4] = [
        ("backward", backward, backward),
        ("forward", forward, forward),
        ("forward over backward", forward, backward),
        ("backward over forward", backward, forward),
    ];
    ways.into_iter().map(|(way, outer, inner)| Some((way, nested_by(name, x, outer, inner)?))).collect()
}

fn nested_by(name: &str, x: &Tensor, outer: Derivative, inner: Derivative) -> Option<Tensor> {
    Some(match name {
        "perturbation_confusion_1" => outer(x, &|x| &x * inner(&number(1.0), &|y| &x + y)),
        "perturbation_confusion_2" => outer(x, &|x| &x * inner(&x, &|y| &x * y)),
        "perturbation_confusion_3" => outer(x, &|x| inner(&(&x * &x), &|y| (&x * y).sin())),
        "perturbation_confusion_4" => outer(x, &|x| outer(&x, &|t| &t * inner(&t, &|y| &y * &y * &t))),
        "nested_derivative_sum" => outer(x, &|x| {
            let term = |k: f64| inner(&x, &|y| (&x * y * k).exp());
            term(1.0) + term(2.0) + term(3.0)
        }),
        "inner_gradient_descent" => outer(x, &|a| {
            let step = |w: Tensor| &w - inner(&w, &|w| (w * &a - 1.0).powi(2)) * 0.1;
            (0..3).fold(number(0.2), |w, _| step(w))
        }),
        _ => return None,
    })
}
