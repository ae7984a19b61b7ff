//! What fails on the values of lanes that `vmap` leaves out: a user's own rule, and a table without rows.

use wengert::prelude::*;
use wengert::{CustomRule, OutOfBounds, RegisteredRule, cond, while_loop};

/// The logarithm of a determinant, by each kind of rule: value, tangents and pullback fail at matrices that are not positive
/// definite.
fn rules() -> [(&'static str, RegisteredRule); 2] {
    let sample = Tensor::from([[3.0, 0.5], [0.5, 2.0]]);
    let value = |x: &[Tensor]| vec![x[0].logdet_spd() * &x[1]];
    let inverse = Tensor::inv;
    let jvp = CustomRule::jvp("logarithm", value, move |x, dot| {
        vec![(inverse(&x[0]) * &dot[0]).sum() * &x[1] + x[0].logdet_spd() * &dot[1]]
    });
    let vjp = CustomRule::vjp("logarithm", value, move |x, _, ct| {
        vec![inverse(&x[0]) * &x[1] * &ct[0], x[0].logdet_spd() * &ct[0]]
    });
    [("jvp", jvp), ("vjp", vjp)]
        .map(|(name, rule)| (name, rule.register(&[&[sample.clone(), Tensor::from(1.5)]]).unwrap()))
}

/// Lanes of which two have no logarithm.
fn matrices() -> Tensor {
    Tensor::from([[[3.0, 0.5], [0.5, 2.0]], [[-1.0, 0.0], [0.0, 2.0]], [[1.5, -0.5], [-0.5, 4.0]], [[0.0; 2]; 2]])
}

/// The branch that a matrix with a determinant takes.
fn chosen(rule: &RegisteredRule, a: &Tensor, weight: &Tensor) -> Tensor {
    let (rule, weight) = (rule.clone(), weight.clone());
    cond(&a.det().gt(0.0), a, move |a: Tensor| rule.call(&[&a, &weight])[0].clone(), |a: Tensor| a.square().sum())
}

#[track_caller]
fn near(what: &str, got: &Tensor, want: &Tensor) {
    assert_eq!(got.shape(), want.shape(), "{what}");
    for (got, want) in got.to_vec().into_iter().zip(want.to_vec()) {
        assert!((got - want).abs() <= 1e-13 * want.abs().max(1.0), "{what}: {got} instead of {want}");
    }
}

/// What a function gives for each matrix by itself.
fn one_by_one(of: impl Fn(&Tensor) -> Tensor) -> Tensor {
    let lanes: Vec<Tensor> = (0..4).map(|k| of(&matrices().slice(k))).collect();
    Tensor::stack(&lanes.iter().collect::<Vec<&Tensor>>(), 0)
}

#[test]
fn a_rule_may_fail_where_its_branch_is_not_taken() {
    for (name, rule) in rules() {
        let weight = Tensor::from(0.75);
        let f = |a: &Tensor, weight: &Tensor| chosen(&rule, a, weight);
        let lanes = vmap(matrices(), |a| f(&a, &weight));
        near(name, &lanes, &one_by_one(|a| f(a, &weight)));
        let slopes = vmap(matrices(), |a| grad(&a, |a| f(&a, &weight)));
        near(name, &slopes, &one_by_one(|a| grad(a, |a| f(&a, &weight))));
        // The gradient of the whole, and by the operand that all lanes share.
        let whole = |(a, weight): (Tensor, Tensor)| vmap(a, |a| f(&a, &weight)).sum();
        let (by_lanes, by_weight) = grad((matrices(), weight.clone()), whole);
        near(name, &by_lanes, &slopes);
        near(name, &by_weight, &one_by_one(|a| grad(&weight, |weight| f(a, &weight))).sum());
        let along = one_by_one(|a| a.sin());
        let tangents = jvp(matrices(), along.clone(), |a| vmap(a, |a| f(&a, &weight))).1;
        near(name, &tangents, &one_by_one(|a| jvp(a, a.sin(), |a| f(&a, &weight)).1));
        let bent = hvp(matrices(), along, |a| vmap(a, |a| f(&a, &weight)).sum());
        near(name, &bent, &one_by_one(|a| hvp(a, a.sin(), |a| f(&a, &weight))));
    }
}

#[test]
fn a_rule_may_fail_in_lanes_of_lanes() {
    for (name, rule) in rules() {
        let weights = Tensor::from([0.5, -2.0]);
        let f = |a: &Tensor, weight: &Tensor| chosen(&rule, a, weight);
        let lanes = vmap(weights.clone(), |weight| vmap(matrices(), |a| grad(&a, |a| f(&a, &weight))));
        let want = [0.5, -2.0].map(|weight| one_by_one(|a| grad(a, |a| f(&a, &Tensor::from(weight)))));
        near(name, &lanes, &Tensor::stack(&[&want[0], &want[1]], 0));
    }
}

#[test]
fn a_rule_without_lanes_runs_if_one_counts() {
    for (name, rule) in rules() {
        let (bad, one) = (matrices().slice(1), Tensor::from(1.0));
        let f = |x: &Tensor, bound: f64| {
            let (rule, bad, one) = (rule.clone(), bad.clone(), one.clone());
            cond(&x.gt(bound), x, move |x: Tensor| rule.call(&[&bad, &one])[0].clone() * x, |x: Tensor| x.exp())
        };
        let x = Tensor::from([0.5, 1.5]);
        near(name, &vmap(x.clone(), |x| grad(&x, |x| f(&x, 2.0))), &x.exp());
        let error = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| vmap(x.clone(), |x| f(&x, 1.0))));
        let message = *error.unwrap_err().downcast::<String>().unwrap();
        assert!(message.contains("logdet_spd") || message.contains("cholesky"), "{name}: {message}");
        // And with a good one the value is there.
        let good = matrices().slice(0);
        let g = |x: &Tensor| {
            let (rule, good, one) = (rule.clone(), good.clone(), one.clone());
            cond(&x.gt(1.0), x, move |x: Tensor| rule.call(&[&good, &one])[0].clone() * x, |x: Tensor| x.exp())
        };
        near(name, &vmap(x.clone(), |x| g(&x)).slice(1), &(good.logdet_spd() * 1.5));
    }
}

#[test]
fn a_rule_may_fail_in_a_lane_whose_loop_has_ended() {
    // Each step takes a part of the unit matrix away: after its own number of steps a lane has no logarithm.
    for (name, rule) in rules() {
        let one = Tensor::from(1.0);
        let f = |a: &Tensor| {
            let (rule, one) = (rule.clone(), one.clone());
            let start = (a.clone(), Tensor::from(0.0));
            let more = |(a, _): (Tensor, Tensor)| a.trace().gt(4.0);
            let step = move |(a, sum): (Tensor, Tensor)| {
                let sum = sum + rule.call(&[&a, &one])[0].clone();
                (a - Tensor::eye(2) * 1.5, sum)
            };
            while_loop(start, more, step).1
        };
        let starts = Tensor::from([[[9.0, 0.5], [0.5, 8.0]], [[2.2, 0.1], [0.1, 2.4]], [[5.0, -0.5], [-0.5, 4.0]]]);
        let each = |of: &dyn Fn(&Tensor) -> Tensor| {
            let lanes: Vec<Tensor> = (0..3).map(|k| of(&starts.slice(k))).collect();
            Tensor::stack(&lanes.iter().collect::<Vec<&Tensor>>(), 0)
        };
        near(name, &vmap(starts.clone(), |a| f(&a)), &each(&|a| f(a)));
        near(name, &vmap(starts.clone(), |a| grad(&a, |a| f(&a))), &each(&|a| grad(a, |a| f(&a))));
        near(name, &grad(&starts, |starts| vmap(starts, |a| f(&a)).sum()), &each(&|a| grad(a, |a| f(&a))));
    }
}

/// Reads from and writes to a table without rows.
type Access = fn(&Tensor, &Tensor) -> Tensor;

const ACCESSES: [(&str, Access); 4] = [
    ("take", |table, x| table.take(&Tensor::from([0i64, 1]), 0).sum() * x),
    ("gather_nd", |table, x| table.gather_nd(&Tensor::from([[0i64]]), OutOfBounds::Error).sum() * x),
    ("scatter_add", |table, x| table.scatter_add(&Tensor::from([0i64]), &x.broadcast_to(&[1, 2]), 0).sum() * x),
    ("scatter_max", |table, x| table.scatter_max(&Tensor::from([0i64]), &x.broadcast_to(&[1, 2]), 0).sum() * x),
];

#[test]
fn an_empty_table_may_be_read_where_the_branch_is_not_taken() {
    let x = Tensor::from([0.5, 1.5, -0.25]);
    for (name, access) in ACCESSES {
        // The table is the same in every lane, or each lane has its own.
        for own in [false, true] {
            let f = move |x: &Tensor, bound: f64| {
                let shared = Tensor::zeros(&[0, 2]);
                let read = move |x: Tensor| {
                    let table = if own { shared * &x } else { shared };
                    access(&table, &x)
                };
                cond(&x.gt(bound), x, read, |x: Tensor| x.exp())
            };
            let what = format!("{name}, own {own}");
            near(&what, &vmap(x.clone(), |x| f(&x, 2.0)), &x.exp());
            near(&what, &vmap(x.clone(), |x| grad(&x, |x| f(&x, 2.0))), &x.exp());
            near(&what, &grad(&x, |x| vmap(x, |x| f(&x, 2.0)).sum()), &x.exp());
            let taken = std::panic::catch_unwind(|| vmap(Tensor::from([0.5, 1.5, -0.25]), |x| f(&x, 1.0)));
            let message = *taken.unwrap_err().downcast::<String>().unwrap();
            assert!(message.contains("0 long") && message.contains("left_out.rs"), "{what}: {message}");
        }
    }
}
