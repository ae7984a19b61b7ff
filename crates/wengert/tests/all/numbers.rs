//! Plain numbers that a function captures and that change from call to call: the bits of a number that is written in the
//! source, and no plan after the second one. Plans are counted for the process, so who counts them runs alone.

use wengert::optim::Sgd;
use wengert::prelude::*;
use wengert::{plans_made, vjp};

use crate::support::process::alone;

fn points(n: usize) -> Tensor {
    Tensor::linspace(0.3, 1.7, n)
}

/// Functions of a captured number by name. Every invocation is another line of source, and so has plans of its own.
macro_rules! cases {
    ($name:ident) => {
        fn $name(case: &str, c: f64) -> Vec<f64> {
            let (x, y, two) = (points(7), points(5000), Tensor::from([[0.5, 1.5, -1.0], [2.0, 0.25, 3.0]]));
            let w = Tensor::from([[0.5, -1.5], [1.0, 0.75], [0.2, 0.4]]);
            match case {
                "a factor" => grad(&x, |x| (x * c).sum()).to_vec(),
                "a factor of many" => grad(&y, |y| (y.sin() * c).square().sum()).to_vec(),
                "a factor of a product" => grad(&w, |w| (two.matmul(&w) * c).sum()).to_vec(),
                "a factor of a square of a product" => grad(&w, |w| (two.matmul(&w) * c).square().sum()).to_vec(),
                "a shared bias" => {
                    let (a, b) = grad((&y, &Tensor::from(0.5)), |(y, b)| ((y + b) * c).sum());
                    [a.to_vec(), b.to_vec()].concat()
                }
                "terms and quotients" => grad(&x, |x| (c / &x + &x / c - (c - &x) + (&x + c)).sum()).to_vec(),
                "bounds" => grad(&x, |x| (x.clamp(-c, c) + x.maximum(c)).sum()).to_vec(),
                "a choice" => grad(&x, |x| x.gt(c).where_(&x * c, c).square().sum()).to_vec(),
                "a minus" => grad(&x, |x| (x * -c).exp().sum()).to_vec(),
                "two numbers" => grad(&x, |x| (&x * c + x.square() * (c * c)).sum()).to_vec(),
                "numbers that are sometimes equal" => {
                    grad(&x, |x| ((&x * c).sin() + (&x * 0.3).cos() * (&x * 0.7).exp()).sum()).to_vec()
                }
                "numbers inside that are sometimes equal" => grad(&x, |x| {
                    let slope = |x: &Tensor| ((x * c).sin() * (x * 0.3).cos() + (x * 0.7).exp()).sum();
                    (grad(&x, |x| slope(&x)) * &x).sum()
                })
                .to_vec(),
                "value_and_grad" => {
                    let (value, gradient) = value_and_grad(&x, |x| (x * c).tanh().sum());
                    [value.to_vec(), gradient.to_vec()].concat()
                }
                "jvp" => {
                    let (value, tangent) = jvp(&x, &x, |x| (x * c).sin());
                    [value.to_vec(), tangent.to_vec()].concat()
                }
                "vjp" => {
                    let (value, pullback) = vjp(&x, |x| (x.square() * c).sin());
                    [value.to_vec(), pullback.pull(&x).to_vec()].concat()
                }
                "jacobian" => jacobian(&x, |x| (x * c).sin()).to_vec(),
                "hessian" => hessian(&x, |x| (x.sin() * c).sum().square()).to_vec(),
                "hvp" => hvp(&x, &x, |x| (x.sin() * c).sum().square()).to_vec(),
                "vmap" => vmap(&x, |x| x.square() * c).to_vec(),
                "vmap of grad" => vmap(&x, |x| grad(&x, |x| x.square() * c)).to_vec(),
                "grad of grad" => grad(&x, |x| grad(&x, |x| (x.powi(3) * c).sum()).square().sum() * c).to_vec(),
                "grad of jvp" => grad(&x, |x| jvp(&x, &x, |x| (x.sin() * c).sum()).1).to_vec(),
                "checkpoint" => grad(&x, |x| checkpoint(&x, |x| (x * c).sin()).sum()).to_vec(),
                "cond" => {
                    let branches = |x: Tensor| cond(&x.sum().gt(0.0), &x, |x| x.square() * c, |x| x - c);
                    [grad(&x, |x| branches(x).sum()).to_vec(), grad(&-&x, |x| branches(x).sum()).to_vec()].concat()
                }
                "single precision" => grad(&x.to_f32(), |x| (x * c).sin().sum()).to_vec(),
                "through variables" => {
                    vec![grad(1.5, |v| (Tensor::from(v * c) * &x * c).sin().sum().to_var() * c)]
                }
                "a nested variable" => {
                    vec![grad(1.5, |v| grad(v, |u| (Tensor::from(u) * &x * c).sin().sum().to_var()) * c)]
                }
                "outside of drivers" => (&x * c + c / &x).to_vec(),
                "read while it is recorded" => grad(&x, |x| {
                    let y = &x * c;
                    let steers = y.sum().gt(0.0).test();
                    if steers { y.square().sum() } else { y.sum() }
                })
                .to_vec(),
                "steps of an optimiser" => {
                    let mut steps = Sgd::new(c);
                    let mut w = x.clone();
                    for _ in 0..2 {
                        let slope = grad(&w, |w| w.square().sum());
                        w = steps.step(w, &slope);
                    }
                    w.to_vec()
                }
                "an exponent" => grad(&x, |x| x.powf(c).sum()).to_vec(),
                "a base" => grad(&x, |x| Tensor::from(0.0).add(c).pow(&x).sum()).to_vec(),
                "a constant's logarithm" => grad(&x, |x| (x.detach() * 0.0 + c).ln().sum() + x.sum()).to_vec(),
                "as it is" => grad(&x, |x| x.pad(&[(1, 1, 0)], c).square().sum()).to_vec(),
                other => panic!("no case {other}"),
            }
        }
    };
}
cases! { again }
cases! { first }
cases! { second }
cases! { third }
cases! { fourth }
cases! { fifth }

const STEADY: [&str; 30] = [
    "a factor",
    "a factor of many",
    "a factor of a product",
    "a factor of a square of a product",
    "a shared bias",
    "terms and quotients",
    "bounds",
    "a choice",
    "a minus",
    "two numbers",
    "numbers that are sometimes equal",
    "numbers inside that are sometimes equal",
    "value_and_grad",
    "jvp",
    "vjp",
    "jacobian",
    "hessian",
    "hvp",
    "vmap",
    "vmap of grad",
    "grad of grad",
    "grad of jvp",
    "checkpoint",
    "cond",
    "single precision",
    "through variables",
    "a nested variable",
    "outside of drivers",
    "read while it is recorded",
    "steps of an optimiser",
];

/// Where the number may not become an operand, because another function would compute with it.
const OTHERS: [&str; 4] = ["an exponent", "a base", "a constant's logarithm", "as it is"];

/// Between some like any other those that rewrites know: a factor of 1 vanishes, to divide by 2 is to multiply, and rules
/// look for zeros.
const SERIES: [f64; 5] = [0.3, 1.0, 2.0, 0.7, 0.0];

fn bits(x: &[f64]) -> Vec<u64> {
    x.iter().map(|x| x.to_bits()).collect()
}

#[test]
fn a_number_that_varies_has_the_bits_of_one_that_is_written() {
    alone("numbers::a_number_that_varies_has_the_bits_of_one_that_is_written", || {
        for case in STEADY.into_iter().chain(OTHERS) {
            // Each is the only one of its line, a literal there.
            let written: [fn(&str, f64) -> Vec<f64>; 5] = [first, second, third, fourth, fifth];
            for (c, written) in SERIES.into_iter().zip(written) {
                let (got, wanted) = (again(case, c), written(case, c));
                assert_eq!(bits(&got), bits(&wanted), "{case} at {c}: {got:?}, {wanted:?}");
            }
        }
    });
}

#[test]
fn no_plan_is_made_after_the_second_value() {
    alone("numbers::no_plan_is_made_after_the_second_value", || {
        for case in STEADY {
            again(case, 0.37);
            again(case, 0.73);
            let before = plans_made();
            for k in 0..5 {
                again(case, 1.01 + f64::from(k));
            }
            assert_eq!(plans_made() - before, 0, "{case}");
        }
    });
}

#[test]
fn a_number_that_stays_is_folded_and_planned_once() {
    alone("numbers::a_number_that_stays_is_folded_and_planned_once", || {
        let x = points(9);
        let step = |rate: f64| grad(&x, |x| (x.square() * 3.0 * rate).sum()).to_vec();
        let counted = |rate: f64| {
            let before = plans_made();
            step(rate);
            plans_made() - before
        };
        assert_eq!([0.5, 0.5, 0.25, 0.125, 0.5, 0.75].map(counted), [1, 0, 1, 0, 0, 0]);
    });
}

#[test]
fn training_with_a_schedule_keeps_its_plans() {
    alone("numbers::training_with_a_schedule_keeps_its_plans", || {
        let (x, y) = (Tensor::from([[1.0, 0.5], [0.25, 2.0]]), Tensor::from([1.0, -1.0]));
        let mut w = Tensor::from([0.3, -0.2]);
        let mut made = Vec::new();
        for k in 0..12 {
            let (before, rate, penalty) = (plans_made(), 0.2 / f64::from(k + 1), 0.01 * 0.9f64.powi(k));
            let g = grad(&w, |w| (x.matmul(&w).tanh() - &y).square().mean() + w.square().sum() * penalty);
            w = &w - rate * g;
            made.push(plans_made() - before);
        }
        assert_eq!(made[2..], [0; 10], "{made:?}");
    });
}
