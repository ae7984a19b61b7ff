//! Cases that random losses do not meet: identities, batches, lanes that do not count, ranks.

use wengert::linalg::{logm, nuclear_norm, pinv, polar, singular, spectral, sqrtm};
use wengert::prelude::*;
use wengert::{Array, Compile, DType, Type};

use super::{inner, largest, matrix, near};
use crate::support::Random;

fn random(random: &mut Random, shape: &[usize]) -> Tensor {
    Tensor::from_array(random.directions(&Type::new(DType::F64, shape)))
}

#[track_caller]
fn check(what: &str, got: &Tensor, wanted: &Tensor, within: f64) {
    let wanted = wanted.to_vec();
    near(what, &got.to_vec(), &wanted, within * largest(&wanted).max(1.0)).unwrap_or_else(|why| panic!("{why}"));
}

#[test]
fn at_the_identity_two_losses_with_the_same_cotangents_have_their_own_gradients() {
    // V exp(Λ) V^T and e V V^T with C: the gradients are e C and 0.
    let (one, c) = (matrix(2, 2, &[1.0, 0.0, 0.0, 1.0]), matrix(2, 2, &[0.0, 2.0, 2.0, 0.0]));
    let e = 1f64.exp();
    let g = grad(&one, |a| (spectral(&a).map(|x| x.exp()) * &c).sum());
    check("tr(C exp A)", &g, &(&c * e), 1e-15);
    let g = grad(&one, |a| (spectral(&a).projector(0..2) * &c).sum() * e);
    assert_eq!(g.to_vec(), [0.0; 4]);
    // The sum of (λ - 1) v^T C v: no cotangent reaches the vectors, and the gradient is C.
    let g = grad(&one, |a| (spectral(&a).map(|x| x - 1.0) * &c).sum());
    assert_eq!(g.to_vec(), c.to_vec());
}

#[test]
fn functions_are_inverse_to_each_other_at_repeated_values() {
    let a = matrix(3, 3, &[3.0, 1.0, 1.0, 1.0, 3.0, 1.0, 1.0, 1.0, 3.0]);
    let e = random(&mut Random::new(3), &[3, 3]);
    let square = |a: &Tensor| {
        let r = sqrtm(a);
        r.matmul(&r)
    };
    let symmetric = (&e + e.t()) * 0.5;
    for (name, f) in
        [("sqrtm", &square as &dyn Fn(&Tensor) -> Tensor), ("logm", &|a| spectral(&logm(a)).map(|x| x.exp()))]
    {
        let (value, slope) = jvp(&a, &e, |a| f(&a));
        check(name, &value, &a, 1e-14);
        check(name, &slope, &symmetric, 1e-14);
        let ct = random(&mut Random::new(4), &[3, 3]);
        let (_, pullback) = vjp(&a, |a| f(&a));
        check(name, &pullback.pull(&ct), &((&ct + ct.t()) * 0.5), 1e-14);
        let second = jvp(&a, &e, |a| jvp(&a, &e, |a| f(&a)).1).1;
        check(name, &second, &Tensor::zeros(&[3, 3]), 1e-13);
    }
}

#[test]
fn the_pseudoinverse_has_the_derivative_of_constant_rank() {
    // A = B C with three columns in the middle: the rank does not change as B and C do.
    let mut numbers = Random::new(7);
    for (m, n) in [(4, 4), (5, 3), (3, 5)] {
        let (b, c) = (random(&mut numbers, &[m, 2]), random(&mut numbers, &[2, n]));
        let (b_dot, c_dot, w) =
            (random(&mut numbers, &[m, 2]), random(&mut numbers, &[2, n]), random(&mut numbers, &[n, m]));
        let loss = |b: &Tensor, c: &Tensor| (pinv(&b.matmul(c)) * &w).sum();
        let at = |t: f64| loss(&(&b + &b_dot * t), &(&c + &c_dot * t)).item();
        let step = 1e-3;
        let wanted = (8.0 * (at(step) - at(-step)) - (at(2.0 * step) - at(-2.0 * step))) / (12.0 * step);
        let (b_bar, c_bar) = grad((&b, &c), |(b, c)| loss(&b, &c));
        let got = inner(&b_bar.to_vec(), &b_dot.to_vec()) + inner(&c_bar.to_vec(), &c_dot.to_vec());
        let size = largest(&b_bar.to_vec()).max(largest(&c_bar.to_vec()));
        near("the slope", &[got], &[wanted], 1e-6 * size).unwrap_or_else(|why| panic!("{m} by {n}: {why}"));
        // The four equations of Penrose.
        let a = b.matmul(&c);
        let x = pinv(&a);
        check("A X A", &a.matmul(&x).matmul(&a), &a, 1e-13);
        check("X A X", &x.matmul(&a).matmul(&x), &x, 1e-13);
        check("A X", &a.matmul(&x), &a.matmul(&x).t(), 1e-13);
        check("X A", &x.matmul(&a), &x.matmul(&a).t(), 1e-13);
    }
}

#[test]
fn wide_and_tall_matrices_agree() {
    let mut numbers = Random::new(11);
    let (a, c) = (random(&mut numbers, &[5, 2]), random(&mut numbers, &[5, 2]));
    let loss = |a: &Tensor, c: &Tensor| {
        let (u, h) = polar(a);
        (singular(a).map(|x| x.tanh()) * c).sum() + (u * c).sum() + nuclear_norm(a) + h.trace().square()
    };
    let tall = grad(&a, |a| loss(&a, &c));
    let wide = grad(&a.t(), |t| {
        let a = t.t();
        (singular(&t).map(|x| x.tanh()) * c.t()).sum()
            + (polar(&t).0 * c.t()).sum()
            + nuclear_norm(&t)
            + polar(&a).1.trace().square()
    });
    check("the gradient", &wide.t(), &tall, 1e-14);
}

#[test]
fn the_nuclear_norm_has_the_shortest_subgradient_where_values_are_zero() {
    let a = matrix(3, 2, &[1.0, 2.0, 2.0, 4.0, 0.0, 0.0]);
    let g = grad(&a, |a| nuclear_norm(&a));
    check("the gradient", &g, &(a * 0.2), 1e-15);
    assert_eq!(grad(&Tensor::zeros(&[2, 2]), |a| nuclear_norm(&a)).to_vec(), [0.0; 4]);
}

/// Spectra of 2, 2, 5 and 1, 3, 3 and others, as a batch.
fn batch() -> Tensor {
    let mut all = Vec::new();
    for (base, v) in [(2.0, [1.0, 1.0, 1.0]), (3.0, [0.5, -1.0, 0.5]), (1.0, [0.0, 2.0, 1.0]), (2.5, [1.0, 0.5, -2.0])]
    {
        for i in 0..3 {
            all.extend((0..3).map(|j| v[i] * v[j] + if i == j { base } else { 0.0 }));
        }
    }
    Tensor::from_array(Array::new(&[4, 3, 3], all))
}

fn mixed(a: &Tensor) -> Tensor {
    let (s, t) = (spectral(a), singular(a));
    let (left, right) = t.projector(0..1);
    (s.map(|x| x.sin()).square() + s.projector(0..2) * t.map(|x| x.atan()) + left * right).sum()
        + s.trace(|x| x.exp())
        + s.sum(0..2) * nuclear_norm(a)
        + s.vectors(2..3).square().square().sum()
}

#[test]
fn mapped_matrices_and_batches_are_what_each_matrix_is() {
    let all = batch();
    let each: Vec<Tensor> = (0..4).map(|k| all.slice((k, .., ..))).collect();
    let gradients: Vec<Tensor> = each.iter().map(|a| grad(a, |a| mixed(&a))).collect();
    let wanted = Tensor::stack(&gradients.iter().collect::<Vec<&Tensor>>(), 0);
    let mapped = vmap(&all, |a| grad(&a, |a| mixed(&a)));
    assert_eq!(mapped.to_vec(), wanted.to_vec());
    let outside = grad(&all, |all| vmap(&all, |a| mixed(&a)).sum());
    assert_eq!(outside.to_vec(), wanted.to_vec());
    // Axes in front are a batch for every function.
    let values = Tensor::stack(&each.iter().map(mixed).collect::<Vec<Tensor>>().iter().collect::<Vec<&Tensor>>(), 0);
    let (s, t) = (spectral(&all), singular(&all));
    let (left, right) = t.projector(0..1);
    let sums = (s.map(|x| x.sin()).square() + s.projector(0..2) * t.map(|x| x.atan()) + left * right).sum_over([1, 2]);
    let batched = sums
        + s.trace(|x| x.exp())
        + s.sum(0..2) * nuclear_norm(&all)
        + s.vectors(2..3).square().square().sum_over([1, 2]);
    check("the batch", &batched, &values, 1e-14);
}

#[test]
fn lanes_and_branches_that_do_not_count_fail_nothing() {
    // The second matrix has one cluster, which the projector would cut; the third is not finite.
    let mut numbers = vec![1.0, 0.0, 0.0, 2.0, 3.0, 0.0, 0.0, 3.0, f64::NAN, 1.0, 1.0, 1.0];
    let all = Tensor::from_array(Array::new(&[3, 2, 2], numbers.clone()));
    let loss = |a: &Tensor, plain: &Tensor| {
        cond(
            &plain.gt(0.5),
            a,
            |a| a.sum(),
            |a| (spectral(&a).projector(0..1) * &a).sum() + spectral(&a).values().sum(),
        )
    };
    let plain = Tensor::from([0.0, 1.0, 1.0]);
    let g = grad(&all, |all| vmap((&all, &plain), |(a, plain)| loss(&a, &plain)).slice(0..2).sum());
    let g = g.to_vec();
    // tr(P A) is the first value.
    near("the lane that counts", &g[..4], &[2.0, 0.0, 0.0, 1.0], 1e-14).unwrap_or_else(|why| panic!("{why}"));
    assert_eq!(&g[4..], [1.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0]);
    // Behind a `where_`, the lane that is left out has no cotangent that counts.
    numbers.truncate(8);
    let all = Tensor::from_array(Array::new(&[2, 2, 2], numbers));
    let first = Tensor::from([1.0, 0.0]);
    let g = grad(&all, |all| {
        let values = spectral(&all).values();
        let each = (values * Tensor::from([1.0, 3.0])).sum_over(1);
        first.gt(0.5).where_(&each, Tensor::zeros(&[2])).sum()
    });
    assert_eq!(g.to_vec(), [1.0, 0.0, 0.0, 3.0, 0.0, 0.0, 0.0, 0.0]);
}

#[test]
fn single_precision_is_rounded_once() {
    let all = batch();
    let single = all.convert(DType::F32);
    let wide = single.convert(DType::F64);
    let loss = |a: &Tensor| (spectral(a).map(|x| x.ln()) * spectral(a).projector(2..3)).sum() + nuclear_norm(a).sum();
    let (got, wanted) = (grad(&single, |a| loss(&a)), grad(&wide, |a| loss(&a)));
    assert_eq!(got.ty().dtype, DType::F32);
    check("the gradient", &got.convert(DType::F64), &wanted, 1e-5);
}

#[test]
fn compiled_functions_find_the_vectors_once() {
    let f = Compile::new().function(|a: Tensor| value_and_grad(&a, |a| mixed(&a)));
    for k in 0..4 {
        let a = batch().slice((k, .., ..));
        let (value, g) = f.call(&a);
        let (wanted, wanted_g) = value_and_grad(&a, |a| mixed(&a));
        check("the value", &value, &wanted, 1e-14);
        check("the gradient", &g, &wanted_g, 1e-13);
    }
    let program = wengert::to_program(batch().slice((0, .., ..)), |a| {
        grad(&a, |a| spectral(&a).sum(0..2) * spectral(&a).trace(|x| x.exp()))
    });
    let program = program.0.optimize();
    let frames = program.eqns().iter().filter(|eqn| eqn.op.name() == "spectral_frame");
    assert_eq!(frames.count(), 1, "{program}");
}

#[test]
fn steps_of_loops_and_checkpoints_are_what_they_are_outside() {
    let a = batch().slice((1, .., ..));
    let step = |a: &Tensor| spectral(a).map(|x| (x * 0.5).sin()) + spectral(a).projector(2..3) + a * 0.25;
    let c = random(&mut Random::new(5), &[3, 3]);
    let direct = |a: &Tensor| (step(&step(&step(a))) * &c).sum();
    let looped = |a: &Tensor| (fori(0..3, a, |_, a| step(&a)) * &c).sum();
    let kept = |a: &Tensor| (step(&checkpoint(a, |a| step(&step(&a)))) * &c).sum();
    let e = random(&mut Random::new(6), &[3, 3]);
    let wanted = (grad(&a, |a| direct(&a)), hvp(&a, &e, |a| direct(&a)));
    for f in [&looped as &dyn Fn(&Tensor) -> Tensor, &kept] {
        check("the gradient", &grad(&a, |a| f(&a)), &wanted.0, 1e-13);
        check("the Hessian", &hvp(&a, &e, |a| f(&a)), &wanted.1, 1e-12);
    }
}
