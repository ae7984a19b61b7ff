//! Optimisers against their formulas by hand, schedules, limits, messages.

use std::collections::BTreeMap;
use std::f64::consts::PI;

use wengert::optim::{Adam, AdamW, Schedule, Sgd, clip_by_norm, clip_by_value, global_norm};
use wengert::prelude::*;
use wengert::{DType, Paths, freeze};

#[track_caller]
fn close(got: f64, want: f64) {
    assert!((got - want).abs() <= 8.0 * f64::EPSILON * want.abs().max(1.0), "{got} is not {want}");
}

#[test]
fn gradient_descent_with_and_without_momentum() {
    let slopes = [0.5, -1.0, 2.0];
    let run = |mut opt: Sgd<f64>| {
        let mut x = 1.0;
        slopes.map(|g| {
            x = opt.step(x, &g);
            x
        })
    };
    assert_eq!(run(Sgd::new(0.5)), [0.75, 1.25, 0.25]);
    // v: 0.5, -0.75, 1.625
    assert_eq!(run(Sgd::new(0.5).momentum(0.5)), [0.75, 1.125, 0.3125]);
    // g + v/2: 0.75, -1.375, 2.8125
    assert_eq!(run(Sgd::new(0.5).nesterov(0.5)), [0.625, 1.3125, -0.09375]);
}

/// What is not to be remembered is not multiplied by 0, which would keep an infinite gradient as NaN.
#[test]
fn without_momentum_nothing_is_remembered() {
    for bad in [f64::INFINITY, f64::NAN] {
        let (mut sgd, mut adam) = (Sgd::new(0.1), Adam::new(0.1).betas([0.0, 0.0]));
        let _ = sgd.step(5.0, &bad);
        assert_eq!(sgd.step(1.0, &1.0), 0.9, "{bad}");
        let _ = adam.step(5.0, &bad);
        close(adam.step(1.0, &1.0), 1.0 - 0.1 / (1.0 + 1e-8));
        let (mut sgd, x) = (Sgd::new(0.1), Tensor::from([1.0, 2.0]));
        let _ = sgd.step(x.clone(), &(&x * bad));
        assert_eq!(sgd.step(x, &Tensor::from([1.0, 10.0])).to_vec(), [0.9, 1.0], "{bad}");
    }
}

/// The number of steps has to be known: a schedule is Rust.
#[test]
#[should_panic(expected = "the number of its steps is not known while a loop or a compiled function is recorded")]
fn a_step_while_a_loop_is_recorded_says_what_is_not_known() {
    let x = Tensor::from([1.0, 2.0]);
    let opt = Adam::new(0.1).init(&x);
    let step = |(mut opt, x): (Adam<Tensor>, Tensor)| {
        let x = opt.step(x.clone(), &x);
        ((opt, x.clone()), x)
    };
    let _ = scan((opt, x), Tensor::zeros(&[4]), |carry, _| step(carry));
}

/// At a gradient of 0 a step is `rate g / epsilon` to first order.
#[test]
fn steps_of_adam_have_slopes_where_a_gradient_is_zero() {
    let after = |x: Tensor| {
        let mut opt = Adam::new(0.1).epsilon(0.5);
        let once = opt.step(x.clone(), &(&x * 2.0));
        opt.step(once.clone(), &(once * 2.0))
    };
    let at = Tensor::from([1.0, 0.0]);
    let slope = jacobian(&at, after).to_vec();
    let step = 1e-6;
    let moved = |h: f64| after(Tensor::from([1.0, h])).to_vec()[1];
    let differences = (moved(step) - moved(-step)) / (2.0 * step);
    assert!((slope[3] - differences).abs() < 1e-5, "{slope:?}, {differences}");
    assert!(slope[1] == 0.0 && slope[2] == 0.0 && slope[0].is_finite(), "{slope:?}");
}

#[test]
fn adam_by_hand() {
    let mut opt = Adam::new(0.1);
    // At the first step both moments are the gradient's: the step has the length of the rate.
    let x = opt.step(1.0, &4.0);
    close(x, 1.0 - 0.1 * 4.0 / (4.0 + 1e-8));
    let x2 = opt.step(x, &-2.0);
    let m = (0.9 * 0.1 * 4.0 - 0.1 * 2.0) / (1.0 - 0.81);
    let v: f64 = (0.999 * 0.001 * 16.0 + 0.001 * 4.0) / (1.0 - 0.999 * 0.999);
    close(x2, x - 0.1 * m / (v.sqrt() + 1e-8));
    assert_eq!((opt.steps(), opt.rate()), (2, 0.1));
}

#[test]
fn adam_with_other_constants() {
    let mut opt = Adam::new(1.0).betas([0.5, 0.75]).epsilon(1.0);
    let x = opt.step(0.0, &2.0);
    assert_eq!(x, -2.0 / 3.0);
    let x = opt.step(x, &0.0);
    // m = 0.5 over 0.75, v = 0.75 over 0.4375
    close(x, -2.0 / 3.0 - (0.5 / 0.75) / ((0.75f64 / 0.4375).sqrt() + 1.0));
}

#[test]
fn weight_decay_is_apart_from_the_gradient() {
    let mut opt = AdamW::new(0.1).decay(0.5);
    close(opt.step(2.0, &4.0), 2.0 * (1.0 - 0.05) - 0.1 * 4.0 / (4.0 + 1e-8));
    let mut opt = AdamW::new(0.1);
    close(opt.step(2.0, &0.0), 2.0 * (1.0 - 0.001));
}

#[test]
fn trees_of_tensors_are_moved_leaf_by_leaf() {
    let point = (Tensor::from([1.0, 2.0]), vec![Tensor::from([[3.0f32]]), Tensor::from([0.0f32])]);
    let slope = (Tensor::from([1.0, -4.0]), vec![Tensor::from([[2.0f32]]), Tensor::from([0.0f32])]);
    let mut opt = Adam::new(0.5);
    let (x, rest) = opt.step(point.clone(), &slope);
    let mut by_number = Adam::new(0.5);
    assert_eq!(x.to_vec(), by_number.step([1.0, 2.0], &[1.0, -4.0]));
    assert_eq!((rest[0].dtype(), rest[0].shape()), (DType::F32, &[1, 1][..]));
    assert!((rest[0].item() - 2.5).abs() < 1e-6 && rest[1].item() == 0.0);
    let (x, _) = Sgd::new(1.0).step(point, &slope);
    assert_eq!(x.to_vec(), [0.0, 6.0]);
}

#[test]
fn a_model_is_trained() {
    let x = Tensor::linspace(-1.0, 1.0, 21);
    let wanted = &x * 3.0 - 0.5;
    let mut point = (Tensor::from(0.0), Tensor::from(0.0));
    let mut opt = Adam::new(Schedule::cosine(0.2, 0.0, 400).warmup(5));
    for _ in 0..405 {
        let slope = grad(point.clone(), |(w, b)| (w * &x + b).mse(&wanted));
        point = opt.step(point, &clip_by_norm(&slope, 1.0));
    }
    assert!((point.0.item() - 3.0).abs() < 1e-6 && (point.1.item() + 0.5).abs() < 1e-6, "{point:?}");
}

#[test]
fn schedules() {
    assert_eq!(Schedule::from(0.3).at(1_000_000), 0.3);
    let steps = Schedule::step(1.0, 0.5, 3);
    assert_eq!([0, 2, 3, 5, 6].map(|k| steps.at(k)), [1.0, 1.0, 0.5, 0.5, 0.25]);
    let falling = Schedule::exponential(2.0, 0.25, 2);
    assert_eq!([0, 1, 2, 4].map(|k| falling.at(k)), [2.0, 1.0, 0.5, 0.125]);
    let cosine = Schedule::cosine(1.0, 0.2, 8);
    close(cosine.at(0), 1.0);
    close(cosine.at(2), 0.2 + 0.8 * 0.5 * (1.0 + (PI / 4.0).cos()));
    assert_eq!([8, 9].map(|k| cosine.at(k)), [0.2, 0.2]);
    let warm = Schedule::step(1.0, 0.1, 2).warmup(4);
    assert_eq!([0, 1, 2, 3, 4, 5, 6].map(|k| warm.at(k)), [0.25, 0.5, 0.75, 1.0, 1.0, 1.0, 0.1]);
    // No steps at all are no division by zero.
    assert_eq!(Schedule::cosine(1.0, 0.5, 0).at(0), 0.5);
    assert_eq!(Schedule::from(1.0).warmup(0).at(0), 1.0);
    assert_eq!(Schedule::exponential(1.0, 0.5, 0).at(1), 0.5);
}

#[test]
fn an_optimiser_follows_its_schedule() {
    let mut opt = Sgd::new(Schedule::step(1.0, 0.5, 1));
    let mut x = 0.0;
    let path = [0; 3].map(|_| {
        x = opt.step(x, &1.0);
        x
    });
    assert_eq!(path, [-1.0, -1.5, -1.75]);
}

#[test]
fn gradients_are_limited() {
    let slope = (Tensor::from([3.0, 0.0]), Tensor::from(4.0));
    assert_eq!(global_norm(&slope), 5.0);
    let (x, y) = clip_by_norm(&slope, 1.0);
    assert_eq!((x.to_vec(), y.item()), (vec![3.0 * 0.2, 0.0], 0.8));
    let (x, _) = clip_by_norm(&slope, 5.0);
    assert_eq!(x.to_vec(), [3.0, 0.0]);
    assert_eq!(clip_by_norm(&[3e200, 4e200], 10.0).map(|x| x.round()), [6.0, 8.0]);
    assert_eq!(clip_by_norm(&[0.0, 0.0], 0.0), [0.0, 0.0]);
    assert_eq!(clip_by_norm(&[f64::INFINITY, 1.0], 1.0), [f64::INFINITY, 1.0]);
    assert_eq!(clip_by_value(&[3.0, -0.5, f64::NEG_INFINITY], 1.0), [1.0, -0.5, -1.0]);
    assert!(clip_by_value(&f64::NAN, 1.0).is_nan());
    assert_eq!(clip_by_value(&slope, 2.0).0.to_vec(), [2.0, 0.0]);
    assert_eq!(global_norm(&Tensor::zeros(&[0])), 0.0);
}

#[test]
fn misfits_are_named_and_leave_the_optimiser_as_it_was() {
    let mut opt = Sgd::new(1.0).momentum(0.5);
    let error = opt.try_step(vec![1.0, 2.0], &vec![1.0]).unwrap_err().to_string();
    assert!(error.contains("`Sgd::step`") && error.contains("1 numbers or tensors where the point has 2"), "{error}");
    assert!(error.contains("tests/all/optim.rs"), "{error}");
    assert_eq!(opt.steps(), 0);
    let x = opt.step(vec![1.0, 2.0], &vec![1.0, 1.0]);
    let error = opt.try_step(x[..1].to_vec(), &vec![1.0]).unwrap_err().to_string();
    assert!(error.contains("state from the step before"), "{error}");
    assert_eq!(opt.step(x, &vec![0.0, 0.0]), [-0.5, 0.5]);
    let mut opt = Adam::new(1.0);
    let error = opt.try_step(Tensor::zeros(&[2]), &Tensor::zeros(&[3])).unwrap_err().to_string();
    assert!(error.contains("leaf 0 of the gradient") && error.contains("f64[3]"), "{error}");
    assert!(opt.try_step(Tensor::iota(2), &Tensor::iota(2)).is_err());
}

#[test]
#[should_panic(expected = "the bound is -1")]
fn a_negative_bound_is_refused() {
    let _ = clip_by_norm(&[1.0], -1.0);
}

#[derive(Clone, Debug, Tree)]
struct Line<T> {
    slope: T,
    height: T,
}

#[test]
fn structs_are_points_too() {
    let line = Line { slope: 2.0, height: 1.0 };
    let slope = grad(line.clone(), |line| line.slope * 3.0 + line.height);
    let moved = Sgd::new(0.5).step(line, &slope);
    assert_eq!((moved.slope, moved.height), (0.5, 0.5));
}

#[test]
fn the_derivative_passes_through_steps() {
    // Two steps on x^2 at the rate 1/4 leave x/4; its square has the derivative x/8.
    let after = |x: Tensor| {
        let mut opt = Sgd::new(0.25);
        let mut x = x;
        for _ in 0..2 {
            let slope = grad(&x, |x| x.square().sum());
            x = opt.step(x, &slope);
        }
        x.square().sum()
    };
    assert_eq!(grad(Tensor::from([8.0, -4.0]), after).to_vec(), [1.0, -0.5]);
}

#[test]
fn rates_and_decays_are_set_by_path_and_the_last_setting_counts() {
    let point = || (2.0, [2.0, 2.0, 2.0]);
    let mut opt = AdamW::new(0.5)
        .decay(0.25)
        .rate_of(|path| path.starts_with("1."), 0.25)
        .rate_of(|path| path == "1.1", Schedule::step(1.0, 0.5, 1))
        .decay_of(|path| path == "1.2", 0.0);
    let moved = opt.step(point(), &(0.0, [0.0; 3]));
    assert_eq!(moved, (2.0 * 0.875, [2.0 * (1.0 - 0.0625), 2.0 * 0.75, 2.0]));
    let moved = opt.step(moved, &(0.0, [0.0; 3]));
    assert_eq!(moved.1[1], 2.0 * 0.75 * 0.875);
    assert_eq!((opt.rate(), opt.steps()), (0.5, 2));
    let error = Sgd::new(0.1).rate_of(|path| path == "head", 1.0).try_step(point(), &point()).unwrap_err().to_string();
    assert!(error.contains("`rate_of` at crates/wengert/tests/all/optim.rs:"), "{error}");
    assert!(error.contains("picks none of the paths `0`, `1.0`, `1.1`, `1.2`"), "{error}");
}

#[test]
fn leaves_are_those_of_the_same_path() {
    let tree =
        |leaves: [(&str, f64); 2]| leaves.map(|(key, x)| (key.to_owned(), x)).into_iter().collect::<BTreeMap<_, _>>();
    // The gradient has other leaves than the point.
    let (ab, bc) = (tree([("a", 1.0), ("b", 1.0)]), tree([("b", 5.0), ("c", 7.0)]));
    let error = Sgd::new(0.1).try_step(ab.clone(), &bc).unwrap_err().to_string();
    assert!(error.contains("the gradient has the leaf `b` where the point has `a`"), "{error}");
    assert!(error.contains("`Sgd::step`") && error.contains("tests/all/optim.rs"), "{error}");
    let error = Adam::new(0.1).try_step((Some(1.0), None), &(None, Some(5.0))).unwrap_err().to_string();
    assert!(error.contains("the gradient has the leaf `1` where the point has `0`"), "{error}");
    // A setting is of a path, wherever its leaf stands.
    let mut opt = Sgd::new(0.1).rate_of(|path| path == "b", 0.0);
    assert_eq!(opt.step(ab.clone(), &ab), tree([("a", 0.9), ("b", 1.0)]));
    assert!(opt.try_step(bc.clone(), &bc).is_err());
    assert_eq!(opt.init(&bc).step(bc.clone(), &bc), tree([("b", 5.0), ("c", 6.3)]));
    // What is remembered is not another leaf's.
    let mut opt = Sgd::new(0.1).momentum(0.5);
    let _ = opt.step(ab.clone(), &ab);
    let error = opt.try_step(bc.clone(), &bc).unwrap_err().to_string();
    assert!(error.contains("the point has the leaf `b` where that of the step before had `a`"), "{error}");
    assert!(error.contains("`init`"), "{error}");
    let mut opt = opt.rate_of(|path| path == "b", 1.0);
    assert!(opt.try_step(bc.clone(), &bc).is_err());
    assert_eq!(opt.step(ab.clone(), &ab), tree([("a", 1.0 - 0.15), ("b", 1.0 - 1.5)]));
    // Nor where a builder was called in between.
    let mut opt = Sgd::new(0.1).momentum(0.9);
    let first = freeze((1.0, 2.0), |path| path == "0");
    let first = opt.step(first.clone(), &first);
    let mut opt = opt.rate_of(|path| path == "1", 0.01);
    assert_eq!(Paths::of(&opt).iter().collect::<Vec<_>>(), ["steps", "velocity.1"]);
    let second = freeze(first.thaw(), |path| path == "1");
    let error = opt.try_step(second.clone(), &second).unwrap_err().to_string();
    assert!(error.contains("other leaves of the point are frozen"), "{error}");
}

#[test]
fn frozen_leaves_are_left_and_remember_nothing() {
    let point = || (Tensor::from([1.0, 2.0]), (Tensor::from(3.0), Tensor::from([1i64, 2])));
    let model = freeze(point(), |path| path != "1.0");
    let slope = grad(&model, |m| m.1.0.square() * m.0.sum());
    let mut opt = AdamW::new(0.1).decay(0.5).init(&model);
    assert_eq!(Paths::of(&opt).iter().collect::<Vec<_>>(), ["steps", "first.1.0", "second.1.0"]);
    let moved = opt.step(model.clone(), &slope);
    assert_eq!((moved.0.to_vec(), moved.1.1.to_vec()), (vec![1.0, 2.0], vec![1.0, 2.0]));
    close(moved.1.0.item(), 3.0 * 0.95 - 0.1 * 18.0 / (18.0 + 1e-8));
    assert_eq!(clip_by_norm(&slope, 9.0).1.0.item(), 9.0);
    // What it remembers does not fit when other leaves are frozen, of which there may be as many.
    let other = freeze(point(), |path| path != "0");
    let slope = grad(&other, |m| m.0.sum());
    let error = opt.try_step(other.clone(), &slope).unwrap_err().to_string();
    assert!(error.contains("other leaves of the point are frozen") && error.contains("`init`"), "{error}");
    let (x, y) = (opt.step(model.clone(), &slope_of(&model)), opt.steps());
    assert_eq!((x.0.to_vec(), y), (vec![1.0, 2.0], 2));
    assert_eq!(opt.init(&other).step(other, &slope).1.0.item(), 3.0);
}

fn slope_of(model: &wengert::Frozen<(Tensor, (Tensor, Tensor))>) -> wengert::Frozen<(Tensor, (Tensor, Tensor))> {
    grad(model, |m| m.1.0.square())
}

#[test]
fn an_optimiser_is_a_tree_that_goes_on_where_it_was() {
    let slope = |x: &(f64, [f64; 2])| grad(x, |(a, [b, c])| (a - b).square() + (b * c).cos());
    let mut x = (1.0, [0.5, 0.25]);
    let mut opt = Adam::new(Schedule::cosine(0.1, 0.01, 10)).betas([0.8, 0.9]).init(&x);
    for _ in 0..3 {
        let g = slope(&x);
        x = opt.step(x, &g);
    }
    // Into a new one that has the same settings.
    let leaves: Vec<f64> = opt.named_leaves().into_iter().map(|(_, leaf)| leaf).collect();
    let mut leaves = leaves.into_iter();
    let fresh = Adam::new(Schedule::cosine(0.1, 0.01, 10)).betas([0.8, 0.9]).init(&x);
    let mut again = fresh.map_leaves(|_, _| leaves.next().unwrap());
    assert_eq!((again.steps(), again.rate()), (3, opt.rate()));
    let g = slope(&x);
    assert_eq!(again.step(x, &g), opt.step(x, &g));
    let mut broken = opt.map_leaves(|path, leaf| if path == "steps" { -1.0 } else { leaf });
    let error = broken.try_step(x, &g).unwrap_err().to_string();
    assert!(error.contains("no whole number from 0: -1"), "{error}");
}
