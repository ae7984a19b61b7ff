//! Gradients within a limit of memory: twelve budgets between the least there is and what keeping everything takes, for loops,
//! a deep network, and loops over numbers. Every time the memory that is measured keeps to the budget, the prediction is near
//! it, and no bit changes.
//!
//! `WENGERT_NIGHTLY=1` takes the sizes of the benchmarks.

use allocation_counter::measure;
use wengert::prelude::*;
use wengert::{Compile, Compiled, Grad, GradError, While};

use crate::nightly::nightly;
use crate::numbers;

/// How many budgets are tried.
const BUDGETS: usize = 12;

fn evenly(least: usize, most: usize) -> impl Iterator<Item = usize> {
    (0..BUDGETS).map(move |k| least + (most - least) * k / (BUDGETS - 1))
}

type Loss = (Tensor, Vec<Tensor>);

/// Checks a gradient with every budget; `fraction` is the most that the least one may be of what keeping everything takes.
fn check<F>(name: &str, point: &[Tensor], fraction: f64, compiled: impl Fn(Compile) -> Compiled<Vec<Tensor>, Loss, F>)
where
    F: Fn(Vec<Tensor>) -> Loss + Sync,
{
    let point = &point.to_vec();
    let with = |bytes: usize| compiled(Compile::new().threads(1).memory(bytes));
    let plain = compiled(Compile::new().threads(1));
    let most = plain.plan(point).expect("there is no limit").peak_bytes();
    let bits = |(value, gradient): Loss| -> Vec<u64> {
        [value].iter().chain(&gradient).flat_map(Tensor::to_vec).map(f64::to_bits).collect()
    };
    let wanted = bits(plain.call(point));
    let least = with(1).plan(point).expect_err("a byte is too little").enough_bytes().expect("a limit was set");
    let below = with(least - 1).plan(point).expect_err("less than the least");
    assert_eq!(below.enough_bytes(), Some(least), "{name}: {below}");
    assert!(least as f64 <= fraction * most as f64, "{name}: {least} of {most} bytes");
    for budget in evenly(least, most) {
        let compiled = with(budget);
        let plan = compiled.plan(point).expect("as much as the least");
        assert!(plan.peak_bytes() <= budget && plan.recomputation() >= 1.0, "{name}: {plan:?} of {budget}");
        // A thread of its own has nothing of what threads keep, as the library of matrix products does.
        let (counted, got) = std::thread::scope(|scope| {
            let run = || {
                let mut got = None;
                (measure(|| got = Some(compiled.call(point))), got)
            };
            scope.spawn(run).join().expect("no call panics")
        });
        let (predicted, measured) = (plan.peak_bytes() as u64, counted.bytes_max);
        assert!(measured <= budget as u64, "{name}: {measured} of {budget}");
        let lists = plan.call_bytes() as u64;
        assert!(
            (predicted - predicted / 20 - lists..=predicted).contains(&measured),
            "{name} of {budget}: {predicted} predicted, {measured} measured"
        );
        assert!(got.is_some_and(|got| bits(got) == wanted), "{name}: bits differ with {budget}");
    }
}

/// A field that is found from what it has become after many steps of a nonlinear heat equation.
#[test]
fn an_inverse_heat_problem_within_budgets() {
    let (side, steps) = if nightly() { (256, 500) } else { (20, 150) };
    let target = numbers(&[side, side], 1201) * 0.1;
    let start = numbers(&[side, side], 1200) * 0.5 + 1.0;
    let spread = |u: &Tensor| {
        fori(0..steps, u, |_, u: Tensor| {
            let wide = u.pad(&[(1, 1, 0), (1, 1, 0)], 0.0);
            let n = side as isize;
            let part = |[row, column]: [isize; 2]| wide.slice((row..row + n, column..column + n));
            let neighbours = part([0, 1]) + part([2, 1]) + part([1, 0]) + part([1, 2]);
            &u + (neighbours - &u * 4.0) * 0.2 - u.powi(3) * 0.05
        })
    };
    check("heat", &[start], 0.35, |options| {
        options.function(|u: Vec<Tensor>| value_and_grad(&u, |u| (spread(&u[0]) - &target).square().mean() * 0.5))
    });
}

/// The rates of prey and predators from their numbers in the end, by the classical method of Runge and Kutta.
fn prey_and_predators(steps: i64, [a, b, c, d]: [Var; 4]) -> Var {
    let slope = |[x, y]: [Var; 2]| [x * (a - b * y), y * (d * x - c)];
    let h = 10.0 / steps as f64;
    let step = |_, at: [Var; 2]| {
        let along = |k: [Var; 2], h: f64| [at[0] + k[0] * h, at[1] + k[1] * h];
        let k1 = slope(at);
        let k2 = slope(along(k1, h / 2.0));
        let k3 = slope(along(k2, h / 2.0));
        let k4 = slope(along(k3, h));
        [0, 1].map(|i| at[i] + (k1[i] + (k2[i] + k3[i]) * 2.0 + k4[i]) * (h / 6.0))
    };
    let [x, y] = fori(0..steps, [a * 0.0 + 1.2, a * 0.0 + 0.9], step);
    x * x + y
}

/// The same over tensors of several points.
#[test]
fn a_population_within_budgets() {
    let steps = if nightly() { 100_000 } else { 700 };
    let rates = [0.9, 1.1, 0.8, 1.2].map(|rate| numbers(&[8], 5) * 0.02 + rate);
    let h = 10.0 / steps as f64;
    let last = |rates: &[Tensor]| {
        let slope = |x: &Tensor, y: &Tensor| (x * (&rates[0] - &rates[1] * y), y * (&rates[3] * x - &rates[2]));
        let start = (Tensor::zeros(&[8]) + 1.2, Tensor::zeros(&[8]) + 0.9);
        let (x, y) = fori(0..steps, start, |_, (x, y): (Tensor, Tensor)| {
            let along = |k: &(Tensor, Tensor), h: f64| (&x + &k.0 * h, &y + &k.1 * h);
            let k1 = slope(&x, &y);
            let (p, q) = along(&k1, h / 2.0);
            let k2 = slope(&p, &q);
            let (p, q) = along(&k2, h);
            let k3 = slope(&p, &q);
            let sum = |x: &Tensor, k: [&Tensor; 3]| x + (k[0] + k[1] * 2.0 + k[2]) * (h / 4.0);
            (sum(&x, [&k1.0, &k2.0, &k3.0]), sum(&y, [&k1.1, &k2.1, &k3.1]))
        });
        x.square().sum() + y.sum()
    };
    check("population", &rates, 0.25, |options| {
        options.function(|rates: Vec<Tensor>| value_and_grad(&rates, |rates| last(&rates)))
    });
}

/// Layers beside which their argument goes on.
#[test]
fn a_deep_network_within_budgets() {
    let (layers, width, batch) = if nightly() { (200, 32, 64) } else { (24, 12, 40) };
    let weights: Vec<Tensor> = (0..2 * layers).map(|k| numbers(&[width, width], k) * 0.1).collect();
    let x = numbers(&[batch, width], 999);
    check("network", &weights, 0.7, |options| {
        options.function(|weights: Vec<Tensor>| {
            value_and_grad(&weights, |weights| {
                let layer = |x: Tensor, pair: &[Tensor]| &x + x.matmul(&pair[0]).tanh().matmul(&pair[1]);
                weights.chunks(2).fold(x.clone(), layer).square().mean()
            })
        })
    });
}

#[test]
fn a_loop_over_numbers_within_budgets() {
    let steps: i64 = if nightly() { 100_000 } else { 20_000 };
    let loss = |rates: [Var; 4]| prey_and_predators(steps, rates);
    let rates = [0.9, 1.1, 0.8, 1.2];
    let (value, gradient) = value_and_grad(rates, loss);
    let within = |bytes: usize| Grad::of(loss).memory(bytes).at(rates);
    let least = |bytes: usize| match within(bytes) {
        Err(GradError::Memory(error)) => error.least,
        other => panic!("{bytes} bytes: {other:?}"),
    };
    let fewest = least(1);
    assert_eq!(least(fewest - 1), fewest);
    // A carry of two numbers for each step, and the code of one.
    let most = 16 * steps as usize + (120 << 10);
    assert!(fewest < most / 5, "{fewest} of {most}");
    for budget in evenly(fewest, most) {
        let mut got = None;
        let counted = measure(|| got = Some(within(budget)));
        assert_eq!(got, Some(Ok((value, gradient))), "{budget} bytes");
        assert!(counted.bytes_max <= budget as u64, "{} of {budget}", counted.bytes_max);
    }
}

/// Several loops of different lengths, one of them as long as its numbers say, with another one inside of its steps.
#[test]
fn many_loops_share_a_budget() {
    let loss = |[a, b]: [Var; 2]| {
        let x = fori(0..30_000, a, |_, x| x + 0.001 * (b * x).sin());
        let [x, y] = fori(0..5000, [x, b], |_, [x, y]| [x * 0.999, fori(0..9, y, |_, y| y * 0.99 + 0.01 * x.cos())]);
        let (z, _) = while_loop((x, 0.0 * y), |(_, n)| n < 7000.0, |(z, n)| (z + 0.01 * (y * z).cos(), n + 1.0));
        z * y + x
    };
    let at = [0.7, 1.3];
    let (value, gradient) = value_and_grad(at, loss);
    let Err(GradError::Memory(error)) = Grad::of(loss).memory(0).at(at) else { panic!("nothing fits into nothing") };
    assert!(error.to_string().contains(&format!("{} bytes", error.least)), "{error}");
    assert!(Grad::of(loss).memory(error.least - 1).at(at).is_err());
    for budget in evenly(error.least, 800 << 10) {
        let mut got = None;
        let counted = measure(|| got = Some(Grad::of(loss).memory(budget).at(at)));
        assert_eq!(got, Some(Ok((value, gradient))), "{budget} bytes");
        assert!(counted.bytes_max <= budget as u64, "{} of {budget}", counted.bytes_max);
    }
}

/// A limit over tensors is that of the plan, and an outer driver's function has none of its own.
#[test]
fn a_gradient_of_tensors_says_how_much_it_takes() {
    let x = numbers(&[500], 3);
    let loss = |x: Tensor| (0..30).fold(x, |y, _| (&y * y.sin()).cumsum(0) * 0.01).sum();
    let Err(GradError::Memory(error)) = Grad::of(loss).memory(1).at(&x) else { panic!("a byte is not enough") };
    assert!(Grad::of(loss).memory(error.least - 1).at(&x).is_err());
    let (value, gradient) = value_and_grad(&x, loss);
    let (same, few) = Grad::of(loss).memory(error.least).at(&x).expect("the least");
    assert_eq!((value.item(), gradient.to_vec()), (same.item(), few.to_vec()));
    let nested = |limit: usize| {
        let inner = |x: &Tensor| Grad::of(loss).memory(limit).at(x).expect("nothing is planned here").1.square().sum();
        grad(&x, |x| inner(&x)).to_vec()
    };
    assert_eq!(nested(1), grad(&x, |x| grad(&x, loss).square().sum()).to_vec());
}

/// A loop whose length nobody knows, with a carry of a few numbers: what says which step a snapshot is of takes more than the
/// snapshot.
#[test]
fn snapshots_of_a_few_numbers_within_budgets() {
    let steps = if nightly() { 20_000.0 } else { 5000.0 };
    for count in [1, 3, 16] {
        let x = numbers(&[count], 7) * 0.3 + 0.5;
        let last = |x: &Tensor, how: While| {
            let start = (x.clone(), Tensor::from(0.0));
            let step = |(y, n): (Tensor, Tensor)| (y.cumsum(0).sin() * 0.5 + &y * 0.1, n + 1.0);
            how.run(start, |(_, n): (Tensor, Tensor)| n.lt(steps), step).0.sum()
        };
        let gradient = |options: Compile, how: While| {
            options.threads(1).function(move |x: Tensor| value_and_grad(&x, |x| last(&x, how)))
        };
        let (value, slope) = gradient(Compile::new(), While::new()).call(&x);
        let within = |bytes: Option<usize>, how: While| {
            let options = bytes.map_or(Compile::new(), |bytes| Compile::new().memory(bytes));
            let compiled = gradient(options, how);
            let predicted = compiled.plan(&x).expect("it is enough").peak_bytes() as u64;
            let mut got = None;
            let counted = measure(|| got = Some(compiled.call(&x)));
            let (same, few) = got.expect("it was called");
            assert_eq!((same.item(), few.to_vec()), (value.item(), slope.to_vec()), "{bytes:?} bytes");
            assert!(counted.bytes_max <= predicted, "{count} numbers: {} of {predicted}", counted.bytes_max);
            assert!(bytes.is_none_or(|bytes| predicted <= bytes as u64), "{predicted} of {bytes:?}");
        };
        for bytes in [30_000, 100_000, 400_000] {
            within(Some(bytes), While::new());
        }
        for snapshots in [1, 64, 300] {
            within(None, While::new().snapshots(snapshots));
        }
    }
}
