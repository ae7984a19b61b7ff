//! Derivatives of Cholesky factors: of sizes that are taken in lanes, whole and halved, and of parts of a factor.

use wengert::prelude::*;

use super::{largest, positive};
use crate::nn::support::{check_derivatives, close, points};

/// What is known of every size: `ln det A` has the gradient `A^-1`, and that changes by `-A^-1 V A^-1`; the product of a factor
/// with its transpose is the matrix, so that the derivatives of one are those of the other.
#[test]
fn derivatives_of_factors_of_every_size() {
    for n in [1, 2, 7, 8, 9, 17, 32, 33, 50, 70, 130] {
        let (a, v) = (positive(n as u64, n), points(n as u64 + 1, &[n, n]) / n as f64);
        let (inverse, v) = (a.inv(), (&v + v.t()) * 0.5);
        let change = -inverse.matmul(&v).matmul(&inverse);
        let near = |got: &Tensor, want: &Tensor| {
            let error = largest(&(got - want)) / largest(want);
            assert!(error < 1e-12, "{n}: {error:e}");
        };
        near(&grad(&a, |a| a.logdet_spd()), &inverse);
        near(&hvp(&a, &v, |a| a.logdet_spd()), &change);
        near(&jvp(&a, &v, |a| grad(&a, |a| a.logdet_spd())).1, &change);
        let square = |a: &Tensor| {
            let l = a.cholesky();
            l.matmul(&l.t())
        };
        let weights = points(3, &[n, n]);
        let symmetric = (&weights + weights.t()) * 0.5;
        near(&grad(&a, |a| (square(&a) * &weights).sum()), &symmetric);
        near(&jvp(&a, &v, |a| square(&a)).1, &v);
        let bent = hvp(&a, &v, |a| (square(&a) * &weights).sum());
        assert!(largest(&bent) < 1e-11, "{n}: {bent}");
    }
}

#[test]
fn derivatives_of_batches_and_of_other_numbers() {
    let shift = Tensor::from([0.0, 0.5, 2.0]).reshape(&[3, 1, 1]);
    for n in [3, 11] {
        let batch = positive(1, n).reshape(&[1, n, n]) + &shift * Tensor::eye(n);
        check_derivatives(std::slice::from_ref(&batch), |x| x[0].cholesky());
        let weights = points(2, &[n, n]);
        let loss = |a: &Tensor| (a.cholesky() * &weights).sum_over([-2, -1]);
        let slope = grad(&batch, |a| loss(&a).sum());
        for k in 0..3 {
            let alone = grad(batch.slice(k), |a| loss(&a));
            close(&slope.slice(k).to_vec(), &alone.to_vec(), 0.0);
            let single = grad(batch.slice(k).to_f32(), |a| loss(&a.to_f64()).sum()).to_f64();
            assert!(largest(&(single - &alone)) < 1e-5 * largest(&alone));
        }
    }
}

/// An element of a factor depends on the corner of the matrix that ends with it: where it alone counts, nothing else does.
#[test]
fn parts_of_a_factor_ask_for_parts_of_the_matrix() {
    let n = 4;
    for place in 0..n {
        let corner = (0..n * n).map(|k| if k / n <= place && k % n <= place { 1.0 } else { 0.0 }).collect::<Vec<f64>>();
        let corner = Tensor::from_vec(&[n, n], corner).gt(0.5);
        // Outside, roots at zero: their derivatives are infinite.
        let matrix = |x: &Tensor| positive(2, n) + corner.where_(x, x.sqrt());
        let plain = |x: &Tensor| {
            let part = (positive(2, n) + x).slice((..place + 1, ..place + 1));
            part.cholesky().slice((-1, -1)).square()
        };
        let zero = Tensor::zeros(&[n, n]);
        let keep = Tensor::eye(n).slice(place).gt(0.5);
        let masked = |x: &Tensor| keep.where_(matrix(x).cholesky().diagonal(0).square(), 0.0).sum();
        close(&grad(&zero, |x| masked(&x)).to_vec(), &grad(&zero, |x| plain(&x)).to_vec(), 8.0);
    }
}
