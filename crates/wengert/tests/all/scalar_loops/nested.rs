//! Loops in loops.

use wengert::loops::{Loops, fori, scan};
use wengert::prelude::*;

use super::near;

/// Three deep, with branches at every depth, captures of every depth, and rows that are values of a step.
fn tower(looped: bool, [x, y]: [Var; 2]) -> Var {
    let run = |count: i64, init: Var, step: &dyn Fn(Var, Var) -> Var| match looped {
        true => fori(0..count, init, step),
        false => (0..count).fold(init, |c, i| step(lift(i as f64), c)),
    };
    run(11, x, &|i, a| {
        let b = run(9, a * y, &|j, b| {
            let c = run(7, b, &|k, c| if c > 0.4 { c * 0.6 + x * 0.01 * k } else { c + a * 0.1 + j * 0.001 });
            if c > a { c * 0.5 } else { c + y * 0.05 }
        });
        a * 0.5 + b * 0.4 + i * 0.001
    })
}

#[test]
fn three_deep() {
    let point = [0.7, 0.9];
    let (got, want) = (value_and_grad(point, |p| tower(true, p)), value_and_grad(point, |p| tower(false, p)));
    assert_eq!(got.0, want.0);
    near("gradient", &got.1, &want.1, 10_000);
    let hessians = [true, false].map(|looped| hessian(point, |p| tower(looped, p)).concat());
    near("hessian", &hessians[0], &hessians[1], 1_000_000);
    let nested = [true, false].map(|looped| jacobian(point, |p| grad(p, |p| tower(looped, p))).concat());
    near("gradients of a gradient", &nested[0], &nested[1], 1_000_000);
}

/// The rows of the inner loop are what the outer one carries, and what it gives is given on.
#[test]
fn rows_of_a_step() {
    let f = |looped: bool, x: Var| {
        let inner = |c: [Var; 6], r: Var| -> ([Var; 6], Var) {
            match looped {
                true => {
                    let (last, given) = Loops::new().every(2).scan(r, &c, |m, x| ((m + x).sin(), m * x));
                    (std::array::from_fn(|k| given[k] * 0.5 + x), last)
                }
                false => {
                    let (mut m, mut given) = (r, Vec::new());
                    for x in c {
                        given.push(m * x);
                        m = (m + x).sin();
                    }
                    (std::array::from_fn(|k| given[k] * 0.5 + x), m)
                }
            }
        };
        let rows: Vec<Var> = (0..15).map(|k| x * f64::from(k) * 0.1).collect();
        let start = [x, x * 2.0, lift(0.3), x.sin(), lift(0.1), x * x];
        let (last, given) = match looped {
            true => scan(start, &rows, inner),
            false => {
                let (mut c, mut given) = (start, Vec::new());
                for &r in &rows {
                    let (next, y) = inner(c, r);
                    c = next;
                    given.push(y);
                }
                (c, given)
            }
        };
        last.into_iter().sum::<Var>() + given[3] * given[14]
    };
    let (got, want) = (value_and_grad(0.4, |x| f(true, x)), value_and_grad(0.4, |x| f(false, x)));
    assert_eq!(got.0, want.0);
    near("gradient", &[got.1], &[want.1], 10_000);
    let orders = |looped: bool| {
        let second = grad(0.4, |x| grad(x, |x| f(looped, x)));
        let mixed = grad(0.4, |x| jvp(x, lift(1.0), |x| grad(x, |x| f(looped, x))).1);
        [second, mixed, hessian(0.4, |x| f(looped, x))]
    };
    near("orders", &orders(true), &orders(false), 1_000_000);
}

/// A loop in the function whose derivative is a step of a loop.
#[test]
fn a_driver_over_a_loop_in_a_step() {
    let f = |looped: bool, x: Var| {
        let energy = |q: Var, k: Var| match looped {
            true => fori(0..10, q, |_, u| (u * k).sin() + u * 0.1),
            false => (0..10).fold(q, |u, _| (u * k).sin() + u * 0.1),
        };
        let step = |(q, p): (Var, Var)| {
            let force = grad(q, |q| energy(q, x));
            let p = p - force * 0.1;
            (q + p * 0.1, p)
        };
        let (q, p) = match looped {
            true => fori(0..30, (x, lift(0.1)), |_, c| step(c)),
            false => (0..30).fold((x, lift(0.1)), |c, _| step(c)),
        };
        q * p
    };
    let (got, want) = (value_and_grad(0.8, |x| f(true, x)), value_and_grad(0.8, |x| f(false, x)));
    near("gradient", &[got.0, got.1], &[want.0, want.1], 100_000);
    near("second", &[hessian(0.8, |x| f(true, x))], &[hessian(0.8, |x| f(false, x))], 1_000_000);
}
