//! Losses.

use wengert::prelude::*;
use wengert::to_program;

use super::support::{check_derivatives, check_single, close, points, refused};

const INF: f64 = f64::INFINITY;

#[test]
fn cross_entropy_of_labels() {
    let x = points(1, &[2, 3, 4]);
    let labels = Tensor::from_vec(&[2, 3], vec![0i64, 3, 1, 1, 2, 3]);
    let rows = x.to_vec();
    let want = rows
        .chunks(4)
        .zip(labels.to_vec())
        .map(|(row, label)| row.iter().map(|x| x.exp()).sum::<f64>().ln() - row[label as usize]);
    let want: Vec<f64> = want.collect();
    let loss = x.softmax_cross_entropy(&labels);
    assert_eq!(loss.shape(), [2, 3]);
    close(&loss.to_vec(), &want, 8.0);
    // A single row has a single label.
    close(&Tensor::from(&rows[..4]).softmax_cross_entropy(&Tensor::from(0i64)).to_vec(), &want[..1], 8.0);
    check_derivatives(std::slice::from_ref(&x), |x| x[0].softmax_cross_entropy(&labels));
    check_single(&[x], 16.0, |x| x[0].softmax_cross_entropy(&labels));
}

#[test]
fn the_derivative_of_a_cross_entropy_is_softmax_less_the_label() {
    let x = points(4, &[2, 3]);
    let slope = grad(x.clone(), |x| x.softmax_cross_entropy(&Tensor::from([2i64, 0])).sum());
    let label = Tensor::from([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]);
    close(&slope.to_vec(), &(x.softmax(1) - label).to_vec(), 4.0);
}

#[test]
fn cross_entropy_of_large_and_infinite_logits() {
    let x = Tensor::from([[1e4, -1e4, 0.0], [-INF, 0.0, 0.0], [-INF, 0.0, -INF]]);
    let of = |labels: [i64; 3]| x.softmax_cross_entropy(&Tensor::from(labels)).to_vec();
    assert_eq!(of([0, 1, 1]), [0.0, 2f64.ln(), 0.0]);
    assert_eq!(of([1, 0, 0]), [2e4, INF, INF]);
    let slope = grad(x.clone(), |x| x.softmax_cross_entropy(&Tensor::from([1i64, 1, 1])).sum());
    assert_eq!(slope.to_vec(), [1.0, -1.0, 0.0, 0.0, -0.5, 0.5, 0.0, 0.0, 0.0]);
    // An infinite loss has a finite derivative.
    let slope = grad(x, |x| x.softmax_cross_entropy(&Tensor::from([1i64, 0, 0])).sum());
    assert_eq!(slope.to_vec(), [1.0, -1.0, 0.0, -1.0, 0.5, 0.5, -1.0, 1.0, 0.0]);
}

#[test]
fn cross_entropy_of_probabilities() {
    let (x, p) = (points(1, &[3, 4]), points(2, &[3, 4]).softmax(1));
    let want = -(x.log_softmax(1) * &p).sum_over(1);
    close(&x.softmax_cross_entropy_with(&p).to_vec(), &want.to_vec(), 4.0);
    check_derivatives(&[x.clone(), p.clone()], |x| x[0].softmax_cross_entropy_with(&x[1]));
    check_single(&[x, p], 16.0, |x| x[0].softmax_cross_entropy_with(&x[1]));
    // What has neither probability nor weight adds nothing.
    let x = Tensor::from([0.0, -INF, 0.0]);
    let p = Tensor::from([0.25, 0.0, 0.75]);
    assert_eq!(x.softmax_cross_entropy_with(&p).item(), 2f64.ln());
    assert_eq!(grad(x.clone(), |x| x.softmax_cross_entropy_with(&p)).to_vec(), [0.25, 0.0, -0.25]);
    assert_eq!(x.softmax_cross_entropy_with(&Tensor::from([0.0, 1.0, 0.0])).item(), INF);
}

#[test]
fn sigmoid_cross_entropy_keeps_its_digits() {
    let (z, y) = (points(1, &[2, 3]) * 5.0, points(2, &[3]).sigmoid());
    let s = z.sigmoid();
    let want = -(&y * s.ln() + (1.0 - &y) * (1.0 - &s).ln());
    close(&z.sigmoid_cross_entropy(&y).to_vec(), &want.to_vec(), 64.0);
    check_derivatives(&[z.clone(), y.clone()], |x| x[0].sigmoid_cross_entropy(&x[1]));
    check_single(&[z, y], 16.0, |x| x[0].sigmoid_cross_entropy(&x[1]));
    let z = Tensor::from([INF, -INF, INF, -INF, 1000.0, 50.0]);
    let y = Tensor::from([1.0, 0.0, 0.0, 1.0, 0.0, 1.0]);
    close(&z.sigmoid_cross_entropy(&y).to_vec(), &[0.0, 0.0, INF, INF, 1000.0, (-50f64).exp()], 1.0);
    let slope = grad(z, |z| z.sigmoid_cross_entropy(&y).sum()).to_vec();
    assert_eq!(slope[..5], [0.0, 0.0, 1.0, -1.0, 1.0]);
    assert!((slope[5] / -(-50f64).exp() - 1.0).abs() < 1e-15);
    assert_eq!(grad(Tensor::from(0.0), |z| z.sigmoid_cross_entropy(&Tensor::from(1.0))).item(), -0.5);
}

#[test]
fn mean_square() {
    let (x, y) = (points(1, &[2, 3]), points(2, &[2, 3]));
    let want: f64 = x.to_vec().iter().zip(y.to_vec()).map(|(x, y)| (x - y) * (x - y)).sum::<f64>() / 6.0;
    close(&[x.mse(&y).item()], &[want], 4.0);
    check_derivatives(&[x.clone(), y.clone()], |x| x[0].mse(&x[1]));
    check_single(&[x, y], 16.0, |x| x[0].mse(&x[1]));
    assert!(Tensor::zeros(&[0]).mse(&Tensor::zeros(&[0])).item().is_nan());
    refused(
        Tensor::zeros(&[3]).try_mse(&Tensor::zeros(&[3, 1])),
        &["`mse` of f64[3] and f64[3,1]", "f64[3,1], and has"],
    );
}

#[test]
fn huber_is_quadratic_near_and_linear_far() {
    let x = Tensor::from([0.0, 0.5, -0.5, 2.0, -2.0, 4.0, INF]);
    assert_eq!(x.huber(&Tensor::from(0.0), 2.0).to_vec(), [0.0, 0.125, 0.125, 2.0, 2.0, 6.0, INF]);
    let slope = grad(x, |x| x.huber(&Tensor::from(0.0), 2.0).sum());
    assert_eq!(slope.to_vec(), [0.0, 0.5, -0.5, 2.0, -2.0, 2.0, 2.0]);
    let point = [Tensor::from([[0.3, -2.2], [1.9, -0.4]]), Tensor::from([0.1, 0.2])];
    check_derivatives(&point, |x| x[0].huber(&x[1], 1.0));
    check_single(&point, 16.0, |x| x[0].huber(&x[1], 1.0));
    refused(Tensor::zeros(&[3]).try_huber(&Tensor::zeros(&[3]), 0.0), &["`huber`", "delta is 0"]);
    refused(Tensor::zeros(&[3]).try_huber(&Tensor::zeros(&[3]), f64::NAN), &["delta is NaN"]);
}

#[test]
fn misfits_are_named() {
    let logits = Tensor::zeros(&[2, 3]);
    let name = "`softmax_cross_entropy` of f64[2,3] and ";
    refused(logits.try_softmax_cross_entropy(&Tensor::zeros(&[2])), &[name, "labels", "i64[2]"]);
    refused(logits.try_softmax_cross_entropy(&Tensor::from([0i64; 3])), &[name, "has to be i64[2]"]);
    refused(logits.try_softmax_cross_entropy(&Tensor::from([0i64, 3])), &["index 3", "an axis that is 3 long"]);
    refused(logits.try_softmax_cross_entropy_with(&Tensor::zeros(&[3])), &["probabilities", "f64[2,3]"]);
    refused(logits.try_sigmoid_cross_entropy(&Tensor::zeros(&[2])), &["do not broadcast"]);
    refused(logits.try_sigmoid_cross_entropy(&Tensor::iota(3)), &["second operand", "type f64"]);
    refused(logits.try_huber(&Tensor::zeros(&[2]), 1.0), &["`huber` of f64[2,3] and f64[2]", "do not broadcast"]);
}

/// A mask behind a product is found out by a condition, which asks whether the other factor is finite.
#[track_caller]
fn asks_nothing(what: &str, loss: impl Fn(&Tensor) -> Tensor) {
    let x = Tensor::linspace(-1.0, 1.0, 12).reshape(&[4, 3]);
    let (program, _) = to_program(Tensor::from([0.5, -1.0, 2.0]), |w| grad(&w, |w| loss(&x.matmul(&w)).sum()));
    let text = program.to_string();
    assert!(text.contains("einsum") && !text.contains("cond"), "{what}: {text}");
}

#[test]
fn nothing_is_masked_that_counts_everywhere() {
    let targets = Tensor::from([0.0, 1.0, 0.25, 1.0]);
    asks_nothing("logistic regression", |z| z.sigmoid_cross_entropy(&targets));
    asks_nothing("both sides of a choice", |z| z.gt(0.0).where_(z, z.exp() - 1.0));
    asks_nothing("a choice in a choice", |z| {
        let inner = z.gt(1.0).where_(z.square(), z.sin());
        z.gt(0.0).where_(inner, z.cos())
    });
    asks_nothing("probabilities", |z| {
        let z = z.reshape(&[2, 2]);
        z.softmax_cross_entropy_with(&targets.reshape(&[2, 2]))
    });
}

#[test]
fn choices_that_leave_nothing_out_have_the_derivatives_of_their_sides() {
    let x = Tensor::from([-2.0, -0.5, 0.0, 0.5, 2.0, f64::INFINITY]);
    let chosen = |x: &Tensor| x.gt(0.0).where_(x.gt(1.0).where_(-x, x * 2.0), x.square());
    assert_eq!(grad(&x, |x| chosen(&x).sum()).to_vec(), [-4.0, -1.0, 0.0, 2.0, -1.0, -1.0]);
    // What counts on one side only is still left out on the other.
    let roots = |x: &Tensor| x.gt(0.0).where_(x.sqrt(), x.square());
    let zero = Tensor::from([0.0, 4.0]);
    assert_eq!(grad(&zero, |x| roots(&(x * 3.0)).sum()).to_vec(), [0.0, 12f64.sqrt().recip() * 1.5]);
}
