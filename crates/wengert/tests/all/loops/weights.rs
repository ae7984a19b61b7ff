//! Loops that multiply with the same matrices in every step: what is the same is done once, products are added to the sums that they
//! belong to, and no bit depends on it.

use wengert::plan::Detail;
use wengert::prelude::*;
use wengert::{Compile, Scan, compile};

use super::{near, numbers, rows};

/// Sums of some hundred products.
const ROUNDINGS: f64 = 4096.0;

/// A recurrent network over rows of `x`: weights, recurrent weights, and what is added.
fn network(loops: Scan, at: &[Tensor]) -> Tensor {
    let [x, w, u, b] = at else { unreachable!("four arrays") };
    let start = Tensor::zeros(&[x.shape()[1], u.shape()[0]]);
    let step = |h: Tensor, x: Tensor| {
        let h = (x.matmul(w) + h.matmul(u) + b).tanh();
        (h.clone(), h)
    };
    let (last, all) = loops.run(&start, x, step);
    last.square().sum() + all.mean()
}

/// The same with a loop of Rust.
fn unrolled(at: &[Tensor]) -> Tensor {
    let [x, w, u, b] = at else { unreachable!("four arrays") };
    let mut h = Tensor::zeros(&[x.shape()[1], u.shape()[0]]);
    let mut all = Vec::new();
    for x in rows(x) {
        h = (x.matmul(w) + h.matmul(u) + b).tanh();
        all.push(h.clone());
    }
    h.square().sum() + Tensor::stack(&all.iter().collect::<Vec<_>>(), 0).mean()
}

fn point([steps, batch, inputs, units]: [usize; 4]) -> Vec<Tensor> {
    let of = |from: usize, shape: &[usize]| numbers(from, shape.iter().product()).reshape(shape);
    vec![of(1, &[steps, batch, inputs]), of(40, &[inputs, units]) * 0.5, of(90, &[units, units]) * 0.3, of(7, &[units])]
}

fn bits(results: &(Tensor, Vec<Tensor>)) -> Vec<u64> {
    let all = std::iter::once(&results.0).chain(&results.1);
    all.flat_map(|tensor| tensor.to_vec()).map(f64::to_bits).collect()
}

#[test]
fn gradients_by_weights_have_the_same_bits_however_they_are_summed() {
    for sizes in [[1, 3, 4, 5], [2, 4, 12, 13], [9, 1, 16, 17], [9, 8, 32, 24], [5, 300, 3, 12]] {
        let at = point(sizes);
        let gradient = |compile: Compile, loops: Scan| {
            compile.function(move |at: Vec<Tensor>| value_and_grad(&at, |at: Vec<Tensor>| network(loops, &at)))
        };
        let plain = gradient(Compile::new().threads(1), Scan::new()).call(&at);
        let want = value_and_grad(&at, |at: Vec<Tensor>| unrolled(&at));
        near("the value", &plain.0, &want.0, ROUNDINGS);
        for (got, want) in plain.1.iter().zip(&want.1) {
            near("the gradient", got, want, ROUNDINGS);
        }
        let least = gradient(Compile::new().threads(1).memory(1), Scan::new()).plan(&at).unwrap_err();
        let least = Compile::new().threads(1).memory(least.enough_bytes().expect("a limit was set"));
        let others = [
            gradient(Compile::new().threads(3), Scan::new()).call(&at),
            gradient(Compile::new().threads(1), Scan::new().every(2)).call(&at),
            gradient(least, Scan::new()).call(&at),
        ];
        for other in &others {
            assert_eq!(bits(&plain), bits(other), "{sizes:?}");
        }
    }
}

#[test]
fn a_step_copies_no_weights_and_moves_no_products() {
    let gradient = compile(|at: Vec<Tensor>| value_and_grad(&at, |at: Vec<Tensor>| network(Scan::new(), &at)));
    let table = gradient.plan(&point([9, 8, 32, 64])).unwrap().explain(Detail::Steps);
    let is_inside = |line: &&str| line.split_once('.').is_some_and(|(step, _)| step.parse::<usize>().is_ok());
    let inside: Vec<&str> = table.lines().filter(is_inside).collect();
    assert!(inside.iter().any(|line| line.contains("einsum, add")), "{table}");
    assert!(!inside.iter().any(|line| line.contains("copy")), "{table}");
}

#[test]
fn what_is_the_same_in_every_step_may_depend_on_anything() {
    let (a, x) = (numbers(3, 400).reshape(&[20, 20]) * 0.2, numbers(60, 20));
    // A product of what is captured, a view of it, and a loop in a loop that captures both.
    let f = |steps: i64, a: &Tensor, x: &Tensor| {
        fori(0..steps, x, |_, c| {
            let square = a.t().matmul(a);
            let inner = fori(0..2, &c, |_, c| square.matmul(&c) * 0.1 + a.t().matmul(&c).sin());
            (inner + square.t().slice(1) * 0.01).tanh()
        })
        .sum()
    };
    let plain = |steps: i64, a: &Tensor, x: &Tensor| {
        let square = a.t().matmul(a);
        let mut c = x.clone();
        for _ in 0..steps {
            let mut inner = c.clone();
            for _ in 0..2 {
                inner = square.matmul(&inner) * 0.1 + a.t().matmul(&inner).sin();
            }
            c = (inner + square.t().slice(1) * 0.01).tanh();
        }
        c.sum()
    };
    for steps in [0, 1, 2, 5] {
        near("values", &f(steps, &a, &x), &plain(steps, &a, &x), ROUNDINGS);
        if steps > 0 {
            let got = grad((&a, &x), |(a, x)| f(steps, &a, &x));
            let want = grad((&a, &x), |(a, x)| plain(steps, &a, &x));
            near("by the matrix", &got.0, &want.0, ROUNDINGS);
            near("by the start", &got.1, &want.1, ROUNDINGS);
        }
    }
}
