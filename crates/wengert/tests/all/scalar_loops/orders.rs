//! Every mode and order, and every driver.

use wengert::prelude::*;

use super::{FUNCTIONS, Function, Run, STEPS, near};

/// Forwards or backwards.
#[derive(Clone, Copy, Debug)]
enum Mode {
    Forward,
    Reverse,
}

/// The derivative of `f` at `x` along `v`, as often as there are modes, the first one outermost.
fn along(modes: &[Mode], f: &dyn Fn([Var; 2]) -> Var, x: [Var; 2], v: [Var; 2]) -> Var {
    let Some((mode, inner)) = modes.split_first() else { return f(x) };
    match mode {
        Mode::Forward => jvp(x, v, |x| along(inner, f, x, v)).1,
        Mode::Reverse => {
            let [a, b] = grad(x, |x| along(inner, f, x, v));
            a * v[0] + b * v[1]
        }
    }
}

/// The magnitude of what is added up in a derivative of this order may exceed its result, and a step has some ten operations.
const OPERATIONS: [usize; 4] = [1, 100 * STEPS, 1000 * STEPS, 20_000 * STEPS];

const POINT: [f64; 2] = [0.7, 0.9];

#[test]
fn all_modes_to_order_three() {
    for (name, f) in FUNCTIONS {
        for (order, &operations) in OPERATIONS.iter().enumerate() {
            for choice in 0..1 << order {
                let mode = |k: usize| if choice >> k & 1 == 0 { Mode::Forward } else { Mode::Reverse };
                let modes: Vec<Mode> = (0..order).map(mode).collect();
                let derivative = |run: Run| {
                    let v = [lift(0.6), lift(-0.8)];
                    along(&modes, &|x| f(run, x), POINT.map(lift), v).value()
                };
                let want = derivative(Run::Plain);
                for run in Run::loops() {
                    near(&format!("{name}, {modes:?}, {run:?}"), &[derivative(run)], &[want], operations);
                }
            }
        }
    }
}

/// All numbers that the drivers give at a plain point.
fn drivers(f: Function, run: Run) -> Vec<(&'static str, Vec<f64>, usize)> {
    let v = [0.3, -1.1];
    let f = move |x: [Var; 2]| f(run, x);
    let flat = |rows: [[f64; 2]; 2]| rows.concat();
    let (value, gradient) = value_and_grad(POINT, f);
    let (held, pullback) = vjp(POINT, f);
    let forward = jvp(POINT, v, f);
    vec![
        ("value_and_grad", [value, gradient[0], gradient[1]].to_vec(), 1),
        ("grad", grad(POINT, f).to_vec(), 1),
        ("vjp", [&[held][..], &pullback.pull(0.7), &pullback.pull(-2.0)].concat(), 1),
        ("jvp", vec![forward.0, forward.1], 1),
        ("hvp", hvp(POINT, v, f).to_vec(), 2),
        ("hessian", flat(hessian(POINT, f)), 2),
        ("jacobian", flat(jacobian(POINT, |x| [f(x), x[0] * f([x[1], x[0]])])), 1),
        ("gradients of a gradient", flat(jacobian(POINT, |x| grad(x, f))), 2),
        ("taylor", taylor(POINT, v, 3, f), 3),
    ]
}

#[test]
fn every_driver() {
    for (name, f) in FUNCTIONS {
        let want = drivers(f, Run::Plain);
        for run in Run::loops() {
            for ((driver, got, order), (_, want, _)) in drivers(f, run).iter().zip(&want) {
                near(&format!("{driver} of {name}, {run:?}"), got, want, OPERATIONS[*order]);
            }
        }
    }
}

/// Recorded functions hold their loops step by step, and record another path where a guard flips in one.
#[test]
fn recorded_functions() {
    for (name, f) in FUNCTIONS {
        let run = Run::loops()[0];
        let recorded = record(POINT, move |x: [Var; 2]| f(run, x));
        for point in [POINT, [0.2, 1.4], [1.3, 0.4], [0.2, 1.4]] {
            // Twice: by a sweep, and by code.
            for _ in 0..2 {
                let (value, gradient) = recorded.value_and_grad(point);
                let (want, slope) = value_and_grad(point, |x| f(Run::Plain, x));
                near(name, &[value, gradient[0], gradient[1]], &[want, slope[0], slope[1]], OPERATIONS[1]);
            }
        }
        let points = [[0.5, 0.6], [0.7, 0.9], [1.1, 0.3]];
        let want = points.map(|x| grad(x, |x| f(Run::Plain, x)));
        near(name, recorded.grad_many(&points).as_flattened(), want.as_flattened(), OPERATIONS[1]);
    }
}

/// A loop of numbers in a function that tensors come into is a part of its Program.
#[test]
fn tensors_around() {
    use wengert::Tensor;
    for (name, f) in FUNCTIONS {
        let of = |run: Run| {
            grad(POINT, |[x, y]| {
                let around = (Tensor::from(x) * Tensor::from([1.0, 2.0])).sum().to_var();
                let inside = f(run, [around * 0.3, y]);
                (Tensor::from(inside).sin() * Tensor::from(y)).sum().to_var() + x
            })
        };
        near(name, &of(Run::loops()[0]), &of(Run::Plain), OPERATIONS[1]);
    }
}
