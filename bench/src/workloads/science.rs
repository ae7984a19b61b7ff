//! Problems of science: a differential equation in the loss, second derivatives of a fit, a long chain of elementwise
//! functions, a mixture of Gaussians, the kinematics of an arm.

use std::f64::consts::{FRAC_PI_2, FRAC_PI_3, FRAC_PI_4, PI};

use wengert::prelude::*;
use wengert::{DType, compile};

use super::case::{Case, Setup, value_and_gradient};
use super::data::{signed, tensor, uniform, unit, unsigned};

const F64: DType = DType::F64;

/// The Euclidean norm of all numbers.
fn frobenius(x: &Tensor) -> f64 {
    x.norm().item()
}

// ---- W6 -------------------------------------------------------------------------------------------

/// A layer of W6.
#[derive(Tree, Clone)]
struct Layer {
    w: Tensor,
    b: Tensor,
}

/// `u(t, x)` at many points: they do not meet, so that a direction of ones is a derivative at each.
fn field(layers: &[Layer], t: &Tensor, x: &Tensor) -> Tensor {
    let (last, hidden) = layers.split_last().expect("there is a layer");
    let points = Tensor::stack(&[t, x], 1);
    let h = hidden.iter().fold(points, |h, layer| (h.matmul(&layer.w) + &layer.b).tanh());
    (h.matmul(&last.w) + &last.b).squeeze(1)
}

/// W6 in single precision.
pub(super) fn burgers_single(setup: &Setup) -> Case {
    burgers(setup, DType::F32)
}

/// W6 in double precision.
pub(super) fn burgers_double(setup: &Setup) -> Case {
    burgers(setup, F64)
}

/// W6: a network that solves Burgers' equation; the loss has second derivatives inside.
fn burgers(setup: &Setup, dtype: DType) -> Case {
    const POINTS: usize = 1024;
    let t = unsigned(dtype, &[POINTS], 600);
    let x = uniform(dtype, &[POINTS], 601, 1.0);
    let one = Tensor::ones_of(dtype, &[POINTS]);
    let start = Tensor::zeros_of(dtype, &[POINTS]);
    let sizes = [2usize, 64, 64, 64, 1];
    let layers: Vec<Layer> = (0..4)
        .map(|l| {
            let (inputs, outputs) = (sizes[l], sizes[l + 1]);
            let w = uniform(dtype, &[inputs, outputs], 610 + l as u64, (3.0 / inputs as f64).sqrt());
            Layer { w, b: uniform(dtype, &[outputs], 620 + l as u64, 0.1) }
        })
        .collect();
    value_and_gradient(setup, layers, move |layers: Vec<Layer>| {
        let (_, u_t) = jvp(&t, &one, |t| field(&layers, &t, &x));
        let ((u, u_x), (_, u_xx)) = jvp(&x, &one, |x| jvp(&x, &one, |x| field(&layers, &t, &x)));
        let residual = u_t + u * u_x - (0.01 / PI) * u_xx;
        let at_start = field(&layers, &start, &x) + (PI * &x).sin();
        residual.square().mean() + at_start.square().mean()
    })
}

// ---- W7 -------------------------------------------------------------------------------------------

/// The objective of W7 and its point.
fn logistic() -> (impl Fn(Tensor) -> Tensor + Clone + 'static, Tensor) {
    let x = uniform(F64, &[2000, 200], 700, 1.0);
    let y = tensor(F64, &[2000], |i| if unit(701, i) < 0.5 { 1.0 } else { -1.0 });
    let f = move |w: Tensor| (-&y * x.matmul(&w)).softplus().mean() + 0.0005 * w.square().sum();
    (f, uniform(F64, &[200], 702, 0.1))
}

/// W7a: the Hessian of a logistic regression.
pub(super) fn logistic_hessian(setup: &Setup) -> Case {
    let (f, w) = logistic();
    let primal = {
        let (f, w) = (compile(f.clone()), w.clone());
        move || f.call(&w)
    };
    let matrix = setup.function(move |w: Tensor| hessian(&w, &f));
    let derivative = move || matrix(&w);
    Case::new(primal, derivative, |f, hessian| [f.item(), frobenius(hessian)])
}

/// W7b: its product with a vector.
pub(super) fn logistic_product(setup: &Setup) -> Case {
    let (f, w) = logistic();
    let v = uniform(F64, &[200], 703, 1.0);
    let primal = {
        let (f, w) = (compile(f.clone()), w.clone());
        move || f.call(&w)
    };
    let derivative = {
        let point = (w, v.clone());
        let product = setup.function(move |(w, v): (Tensor, Tensor)| hvp(&w, &v, &f));
        move || product(&point)
    };
    Case::new(primal, derivative, move |_, product| [v.vdot(product).item(), frobenius(product)])
}

// ---- W8 -------------------------------------------------------------------------------------------

/// W8: a chain of elementwise functions of many numbers, bound by memory.
pub(super) fn chain(setup: &Setup) -> Case {
    value_and_gradient(setup, uniform(DType::F32, &[setup.chain], 800, 2.0), |x: Tensor| {
        let y = 0.5 * x + 0.1;
        let a = y.tanh();
        let b = (-a.square()).exp();
        let c = (1.0 + b.square()).ln();
        let e = c * y + a;
        let s = 1.0 / (1.0 + (-&e).exp());
        let g = (s.square() + 0.25).sqrt();
        (g * e.tanh()).mean()
    })
}

// ---- W9 -------------------------------------------------------------------------------------------

const DIMENSIONS: usize = 64;
const COMPONENTS: usize = 50;
const SAMPLES: usize = 1000;

/// Where each entry of a strictly lower triangular matrix stands in the list of its columns; the zeros above stand
/// after the last.
fn lower_places() -> Tensor {
    let d = DIMENSIONS as i64;
    let place = |row: i64, column: i64| match row > column {
        // Before this column there are (d - 1) + (d - 2) + … entries.
        true => column * (d - 1) - column * (column - 1) / 2 + row - column - 1,
        false => d * (d - 1) / 2,
    };
    let places: Vec<i64> = (0..d).flat_map(|row| (0..d).map(move |column| place(row, column))).collect();
    Tensor::from_vec(&[DIMENSIONS, DIMENSIONS], places)
}

/// What the Wishart prior adds for every component: `-(d+1) d/2 log 2 - lgd`.
fn wishart_constant() -> f64 {
    let d = DIMENSIONS as f64;
    let gammas: f64 = (1..=DIMENSIONS).map(|j| Real::lgamma((d + 1.0) / 2.0 + (1.0 - j as f64) / 2.0)).sum();
    -(d + 1.0) * d / 2.0 * 2f64.ln() - (0.25 * d * (d - 1.0) * PI.ln() + gammas)
}

/// W9: the negative log-likelihood of a Gaussian mixture, as in ADBench.
pub(super) fn gaussian_mixture(setup: &Setup) -> Case {
    let (d, k, n) = (DIMENSIONS, COMPONENTS, SAMPLES);
    let alpha = uniform(F64, &[k], 900, 1.0);
    let mu = uniform(F64, &[k, d], 901, 1.0);
    let icf = uniform(F64, &[k, d * (d + 1) / 2], 902, 0.1);
    let x = uniform(F64, &[n, d], 903, 1.0);
    let places = lower_places();
    let constant = -(n as f64) * d as f64 / 2.0 * (2.0 * PI).ln() - k as f64 * wishart_constant();
    value_and_gradient(setup, (alpha, mu, icf), move |(alpha, mu, icf): (Tensor, Tensor, Tensor)| {
        let logs = icf.slice((.., ..d as isize));
        let lower = icf.slice((.., d as isize..));
        let q = logs.exp();
        let with_zero = Tensor::concat(&[&lower, &Tensor::zeros(&[k, 1])], 1);
        let factors = with_zero.take(&places, 1) + q.diag_embed(0);
        let centred = x.expand_dims(1) - mu;
        let scaled = Tensor::einsum("kji,nki->nkj", &[&factors, &centred]);
        let terms = &alpha + logs.sum_over(1) - 0.5 * scaled.square().sum_over(2);
        let fit = terms.logsumexp_over(1).sum() - (n as f64) * alpha.logsumexp();
        fit + 0.5 * (q.square().sum() + lower.square().sum()) + constant
    })
}

// ---- W11 ------------------------------------------------------------------------------------------

const JOINTS: usize = 6;
const OFFSETS: [f64; JOINTS] = [0.4, 0.1, 0.1, 0.35, 0.08, 0.06];
const TWISTS: [f64; JOINTS] = [FRAC_PI_2, -FRAC_PI_3, FRAC_PI_4, -FRAC_PI_2, FRAC_PI_2, 0.3];

/// The place and orientation of the hand, twelve numbers, from six angles and six lengths.
fn hand(q: &Tensor) -> Tensor {
    let entry = |k: usize| q.slice(k as isize);
    let zero = Tensor::from(0.0);
    let one = Tensor::from(1.0);
    // The first three rows of the product so far; the last is always (0, 0, 0, 1).
    let mut m: [[Tensor; 4]; 3] =
        std::array::from_fn(|row| std::array::from_fn(|column| if row == column { one.clone() } else { zero.clone() }));
    for joint in 0..JOINTS {
        let (angle, length) = (entry(joint), entry(JOINTS + joint));
        let (s, c) = (angle.sin(), angle.cos());
        let (sin, cos) = TWISTS[joint].sin_cos();
        // The columns of the joint's matrix, without its last row.
        let x = [c.clone(), s.clone(), zero.clone()];
        let y = [-cos * &s, cos * &c, Tensor::from(sin)];
        let z = [sin * &s, -sin * &c, Tensor::from(cos)];
        let place = [&length * &c, &length * &s, Tensor::from(OFFSETS[joint])];
        m = m.map(|row| {
            let product = |column: &[Tensor; 3]| &row[0] * &column[0] + &row[1] * &column[1] + &row[2] * &column[2];
            [product(&x), product(&y), product(&z), product(&place) + &row[3]]
        });
    }
    let places = m.iter().map(|row| &row[3]);
    let rotation = m.iter().flat_map(|row| &row[..3]);
    Tensor::stack(&places.chain(rotation).collect::<Vec<_>>(), 0)
}

/// W11: the Jacobian of a hand's position at 4,096 points.
pub(super) fn arm(setup: &Setup) -> Case {
    const POINTS: usize = 4096;
    let q = tensor(F64, &[POINTS, 2 * JOINTS], |i| {
        let (point, k) = (i / 12, i % 12);
        match k < 6 {
            true => PI * signed(1100, 6 * point + k),
            false => 0.3 + 0.1 * signed(1101, 6 * point + k - 6),
        }
    });
    let primal = {
        let (q, hands) = (q.clone(), compile(|q: Tensor| vmap(&q, |q| hand(&q))));
        move || hands.call(&q)
    };
    let jacobians = setup.function(|q: Tensor| vmap(&q, |q| jacobian(&q, |q| hand(&q))));
    let derivative = move || jacobians(&q);
    Case::new(primal, derivative, |out, jacobians| [out.square().sum().item(), frobenius(jacobians)])
}
