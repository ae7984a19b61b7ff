//! Softmax and its logarithm.

use wengert::prelude::*;

use super::support::{check_derivatives, check_single, close, points, refused};

const INF: f64 = f64::INFINITY;

fn softmax_of(row: &[f64]) -> Vec<f64> {
    let sum: f64 = row.iter().map(|x| x.exp()).sum();
    row.iter().map(|x| x.exp() / sum).collect()
}

#[test]
fn values_along_any_axis() {
    let x = points(1, &[4, 3]);
    let rows: Vec<f64> = x.to_vec().chunks(3).flat_map(softmax_of).collect();
    close(&x.softmax(1).to_vec(), &rows, 8.0);
    close(&x.t().softmax(0).t().to_vec(), &rows, 8.0);
    close(&x.softmax(-1).to_vec(), &rows, 8.0);
    let logs: Vec<f64> = rows.iter().map(|p| p.ln()).collect();
    close(&x.log_softmax(1).to_vec(), &logs, 8.0);
    assert_eq!(Tensor::zeros(&[2, 0]).softmax(1).shape(), [2, 0]);
    assert_eq!(Tensor::zeros(&[0, 2]).log_softmax(1).shape(), [0, 2]);
    assert_eq!(Tensor::zeros(&[2, 0]).log_softmax(1).shape(), [2, 0]);
}

#[test]
fn derivatives() {
    let x = [points(2, &[3, 4])];
    check_derivatives(&x, |x| x[0].softmax(1));
    check_derivatives(&x, |x| x[0].softmax(0));
    check_derivatives(&x, |x| x[0].log_softmax(-1));
    check_single(&x, 16.0, |x| x[0].softmax(1));
    check_single(&x, 16.0, |x| x[0].log_softmax(1));
}

#[test]
fn large_elements_and_minus_infinity() {
    let x = Tensor::from([[1e308, -1e308, 1e308], [-INF, 0.0, -INF], [-1000.0, -INF, -1000.0]]);
    assert_eq!(x.softmax(1).to_vec(), [0.5, 0.0, 0.5, 0.0, 1.0, 0.0, 0.5, 0.0, 0.5]);
    let half = -(2f64.ln());
    assert_eq!(x.log_softmax(1).to_vec()[3..], [-INF, 0.0, -INF, half, -INF, half]);
    let weights = points(7, &[3, 3]);
    let slope = grad(x.clone(), |x| (x.softmax(1) * &weights).sum()).to_vec();
    assert!(slope.iter().all(|x| x.is_finite()), "{slope:?}");
    assert_eq!([slope[1], slope[3], slope[4], slope[5], slope[7]], [0.0; 5]);
    // The derivative of a logarithm: 1 - p at its own element, -p at the others.
    let slope = grad(Tensor::from([-1000.0, -INF, -1000.0]), |x| x.log_softmax(0).split(&[1, 2], 0)[0].sum());
    assert_eq!(slope.to_vec(), [0.5, 0.0, -0.5]);
}

#[test]
fn lines_without_a_distribution_give_nan() {
    for row in [[-INF, -INF], [INF, 0.0], [f64::NAN, 0.0]] {
        assert!(Tensor::from(row).softmax(0).to_vec().iter().any(|x| x.is_nan()), "{row:?}");
        assert!(Tensor::from(row).log_softmax(0).to_vec().iter().any(|x| x.is_nan()), "{row:?}");
    }
}

#[test]
fn lines_that_are_not_chosen_do_not_reach_a_gradient() {
    let x = Tensor::from([[1.0, 2.0], [f64::NAN, 0.0], [-INF, -INF], [INF, 0.0]]);
    let chosen = Tensor::from([[true, true], [false, false], [false, false], [false, false]]);
    let weights = points(5, &[4, 2]);
    let slope = grad(&x, |x| (chosen.where_(x.softmax(1), 0.0) * &weights).sum()).to_vec();
    let alone = grad(Tensor::from([1.0, 2.0]), |x| (x.softmax(0) * weights.split(&[1, 3], 0)[0].reshape(&[2])).sum());
    close(&slope[..2], &alone.to_vec(), 4.0);
    assert_eq!(slope[2..], [0.0; 6]);
}

#[test]
fn misfits_are_named() {
    refused(Tensor::zeros(&[2]).try_softmax(1), &["`softmax` of f64[2]", "no axis 1"]);
    refused(Tensor::from(1.0).try_log_softmax(0), &["`log_softmax` of f64[]", "single number"]);
    refused(Tensor::iota(3).try_softmax(0), &["`softmax` of i64[3]", "real numbers"]);
}
