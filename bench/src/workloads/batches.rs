//! Many derivatives at once, shifted views and contractions, in the sizes of a row of `batches.json`.

use wengert::prelude::*;
use wengert::{TreeMath, compile, span, step};

use super::case::{Case, Setup, value_and_gradient};
use super::data::uniform;
use super::rows::{Program, Row};

/// The program of each kind.
pub(super) const PROGRAMS: [(&str, Program); 11] = [
    ("directions", directions),
    ("network", network),
    ("lorenz", lorenz),
    ("rosenbrock", rosenbrock),
    ("second", second),
    ("laplace", laplace),
    ("upwind", upwind),
    ("three", three),
    ("bilinear", bilinear),
    ("four", four),
    ("heads", heads),
];

/// The squares of all numbers, added up.
fn squares(x: &Tensor) -> f64 {
    x.square().sum().item()
}

/// Products of the Hessian of a network's loss with several directions, by `vmap`.
fn directions(row: &Row, setup: &Setup) -> Case {
    let [count, points, inputs, width, outputs] =
        ["count", "points", "inputs", "width", "outputs"].map(|name| row.size(name));
    let dtype = row.real();
    let x = uniform(dtype, &[points, inputs], 3000, 1.0);
    let y = uniform(dtype, &[points, outputs], 3001, 1.0);
    let weights = vec![
        uniform(dtype, &[inputs, width], 3002, (3.0 / inputs as f64).sqrt()),
        uniform(dtype, &[width, outputs], 3003, (3.0 / width as f64).sqrt()),
    ];
    let vectors =
        vec![uniform(dtype, &[count, inputs, width], 3004, 1.0), uniform(dtype, &[count, width, outputs], 3005, 1.0)];
    let loss = move |w: Vec<Tensor>| (x.matmul(&w[0]).tanh().matmul(&w[1]) - &y).square().mean();
    let primal = {
        let (weights, loss) = (weights.clone(), compile(loss.clone()));
        move || loss.call(&weights)
    };
    let products = setup.function(move |(weights, vectors): (Vec<Tensor>, Vec<Tensor>)| {
        vmap(&vectors, |v: Vec<Tensor>| hvp(&weights, &v, &loss))
    });
    let point = (weights, vectors);
    Case::new(primal, move || products(&point), |value, products| [value.item(), products.norm().item()])
}

/// The case of a map from points to results: its values, and its Jacobian at each point.
fn jacobians(setup: &Setup, points: Tensor, map: impl Fn(Tensor) -> Tensor + Clone + 'static) -> Case {
    let primal = {
        let (points, map) = (points.clone(), map.clone());
        let mapped = compile(move |points: Tensor| vmap(&points, &map));
        move || mapped.call(&points)
    };
    let jacobians = setup.function(move |points: Tensor| vmap(&points, |x| jacobian(&x, &map)));
    Case::new(primal, move || jacobians(&points), |values, jacobians| [squares(values), jacobians.norm().item()])
}

/// The Jacobians of a network.
fn network(row: &Row, setup: &Setup) -> Case {
    let [points, inputs, width, outputs] = ["points", "inputs", "width", "outputs"].map(|name| row.size(name));
    let dtype = row.real();
    let w = uniform(dtype, &[inputs, width], 3010, (3.0 / inputs as f64).sqrt());
    let u = uniform(dtype, &[width, outputs], 3011, (3.0 / width as f64).sqrt());
    let points = uniform(dtype, &[points, inputs], 3012, 1.0);
    jacobians(setup, points, move |x: Tensor| x.matmul(&w).tanh().matmul(&u).tanh())
}

/// The Jacobians of Lorenz' model of 1996, on a ring: `(x[i+1] - x[i-2]) x[i-1] - x[i] + 8`.
fn lorenz(row: &Row, setup: &Setup) -> Case {
    let points = uniform(row.real(), &[row.size("points"), row.size("inputs")], 3020, 5.0);
    jacobians(setup, points, |x: Tensor| (x.roll(-1, 0) - x.roll(2, 0)) * x.roll(1, 0) - &x + 8.0)
}

/// The Hessian of the chained function of Rosenbrock.
fn rosenbrock(row: &Row, setup: &Setup) -> Case {
    let x = uniform(row.real(), &[row.size("length")], 3030, 1.0);
    let loss = |x: Tensor| {
        let (left, right) = (x.slice(..-1), x.slice(1..));
        (100.0 * (right - left.square()).square() + (1.0 - &left).square()).sum()
    };
    let primal = {
        let (x, loss) = (x.clone(), compile(loss));
        move || loss.call(&x)
    };
    let hessians = setup.function(move |x: Tensor| hessian(&x, loss));
    Case::new(primal, move || hessians(&x), |value, hessian| [value.item(), hessian.norm().item()])
}

/// Second differences along a line, in a loss.
fn second(row: &Row, setup: &Setup) -> Case {
    let u = uniform(row.real(), &[row.size("length")], 3040, 1.0);
    value_and_gradient(setup, u, |u: Tensor| {
        let middle = u.slice(span(1, -1));
        (u.slice(2..) - 2.0 * &middle + u.slice(..-2) - middle.square()).square().mean()
    })
}

/// Differences with all four neighbours in a plane.
fn laplace(row: &Row, setup: &Setup) -> Case {
    let u = uniform(row.real(), &[row.size("rows"), row.size("columns")], 3050, 1.0);
    value_and_gradient(setup, u, |u: Tensor| {
        let middle = u.slice((span(1, -1), span(1, -1)));
        let around = u.slice((2.., span(1, -1)))
            + u.slice((..-2, span(1, -1)))
            + u.slice((span(1, -1), 2..))
            + u.slice((span(1, -1), ..-2));
        (around - 4.0 * &middle - middle.square()).square().mean()
    })
}

/// Every second element, and differences with the one before.
fn upwind(row: &Row, setup: &Setup) -> Case {
    let u = uniform(row.real(), &[row.size("rows"), row.size("columns")], 3060, 1.0);
    value_and_gradient(setup, u, |u: Tensor| {
        let slope = u.slice((.., 1..)) - u.slice((.., ..-1));
        let (even, odd) = (u.slice((.., step(.., 2))), u.slice((.., step(1.., 2))));
        (u.slice((.., 1..)) * slope).square().mean() + (even * odd).square().mean()
    })
}

/// The case of a contraction of arrays of these shapes.
fn contraction(row: &Row, setup: &Setup, spec: &'static str, shapes: &[&[usize]]) -> Case {
    let operand = |(k, shape): (usize, &&[usize])| uniform(row.real(), shape, 3070 + k as u64, 1.0);
    let operands: Vec<Tensor> = shapes.iter().enumerate().map(operand).collect();
    value_and_gradient(setup, operands, move |operands: Vec<Tensor>| {
        Tensor::einsum(spec, &operands.iter().collect::<Vec<_>>()).square().mean()
    })
}

/// Three matrices in a chain.
fn three(row: &Row, setup: &Setup) -> Case {
    let [i, j, k, l] = ["i", "j", "k", "l"].map(|name| row.size(name));
    contraction(row, setup, "ij,jk,kl->il", &[&[i, j], &[j, k], &[k, l]])
}

/// A bilinear layer.
fn bilinear(row: &Row, setup: &Setup) -> Case {
    let [b, i, j, k] = ["b", "i", "j", "k"].map(|name| row.size(name));
    contraction(row, setup, "bi,kij,bj->bk", &[&[b, i], &[k, i, j], &[b, j]])
}

/// A small tensor, turned along each of its three axes.
fn four(row: &Row, setup: &Setup) -> Case {
    let [i, a] = ["i", "a"].map(|name| row.size(name));
    contraction(row, setup, "ijk,ia,jb,kc->abc", &[&[i, i, i], &[i, a], &[i, a], &[i, a]])
}

/// Three products with one operand, as of keys, queries and values.
fn heads(row: &Row, setup: &Setup) -> Case {
    let [points, inputs, width] = ["points", "inputs", "width"].map(|name| row.size(name));
    let dtype = row.real();
    let x = uniform(dtype, &[points, inputs], 3080, 1.0);
    let scale = (3.0 / inputs as f64).sqrt();
    let weights: Vec<Tensor> = (0..3).map(|k| uniform(dtype, &[inputs, width], 3081 + k, scale)).collect();
    value_and_gradient(setup, weights, move |w: Vec<Tensor>| {
        let [q, k, v] = [0, 1, 2].map(|k| x.matmul(&w[k]));
        (q.tanh() * k.sigmoid() + v.square()).mean()
    })
}
