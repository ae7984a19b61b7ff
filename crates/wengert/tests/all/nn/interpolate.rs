//! Integrals of samples, and values between them.

use wengert::prelude::*;

use super::support::{check_derivatives, check_single, close, points, refused};

const INF: f64 = f64::INFINITY;

#[test]
fn integrals_of_samples() {
    let y = points(1, &[3, 4]);
    let x = Tensor::from([0.0, 0.5, 2.0, 2.25]);
    let rows = y.to_vec();
    let area =
        |row: &[f64], x: &[f64]| (1..row.len()).map(|k| (x[k] - x[k - 1]) * (row[k] + row[k - 1]) / 2.0).sum::<f64>();
    let want: Vec<f64> = rows.chunks(4).map(|row| area(row, &x.to_vec())).collect();
    close(&y.trapz_at(&x, 1).to_vec(), &want, 8.0);
    close(&y.t().trapz_at(&x, 0).to_vec(), &want, 8.0);
    let want: Vec<f64> = rows.chunks(4).map(|row| area(row, &[0.0, 0.5, 1.0, 1.5])).collect();
    close(&y.trapz(0.5, -1).to_vec(), &want, 8.0);
    check_derivatives(std::slice::from_ref(&y), |y| y[0].trapz(0.5, 0).exp());
    check_derivatives(&[y.clone(), x.clone()], |y| y[0].trapz_at(&y[1], 1));
    check_single(&[y, x], 16.0, |y| y[0].trapz_at(&y[1], 1));
    for count in [0, 1] {
        assert_eq!(Tensor::ones(&[count, 2]).trapz(1.0, 0).to_vec(), [0.0, 0.0]);
        assert_eq!(Tensor::ones(&[count]).trapz_at(&Tensor::ones(&[count]), 0).item(), 0.0);
    }
    refused(Tensor::zeros(&[3]).try_trapz(1.0, 1), &["`trapz` of f64[3]", "no axis 1"]);
    refused(Tensor::zeros(&[3]).try_trapz_at(&Tensor::zeros(&[2]), 0), &["`trapz_at`", "places", "f64[3]"]);
    refused(Tensor::iota(3).try_trapz(1.0, 0), &["real numbers"]);
}

#[test]
fn values_between_samples() {
    let xp = Tensor::from([-1.0, 0.0, 0.25, 2.0]);
    let fp = Tensor::from([3.0, 1.0, 2.0, -1.5]);
    let x = Tensor::from([[-9.0, -1.0, -0.5], [0.0, 0.125, 0.25], [1.125, 2.0, 3.0]]);
    let y = x.interp(&xp, &fp);
    assert_eq!((y.shape(), y.to_vec()), (&[3, 3][..], vec![3.0, 3.0, 2.0, 1.0, 1.5, 2.0, 0.25, -1.5, -1.5]));
    // The slope on the right of every node, 0 outside.
    let slope = grad(x.clone(), |x| x.interp(&xp, &fp).sum());
    assert_eq!(slope.to_vec(), [0.0, -2.0, -2.0, 4.0, 4.0, -2.0, -2.0, 0.0, 0.0]);
    let away = Tensor::from([-1.7, -0.4, 0.1, 0.9, 1.6, 2.4]);
    check_derivatives(&[away.clone(), xp.clone(), fp.clone()], |x| x[0].interp(&x[1], &x[2]));
    check_single(&[away, xp.clone(), fp.clone()], 64.0, |x| x[0].interp(&x[1], &x[2]));
    let y = Tensor::from([-INF, INF, f64::NAN]).interp(&xp, &fp).to_vec();
    assert!(y[..2] == [3.0, -1.5] && y[2].is_nan(), "{y:?}");
    let slope = grad(fp, |fp| Tensor::from([-INF, INF, 0.125]).interp(&xp, &fp).sum());
    assert_eq!(slope.to_vec(), [1.0, 0.5, 0.5, 1.0]);
}

#[test]
fn a_function_may_jump_and_have_a_single_node() {
    let (xp, fp) = (Tensor::from([0.0, 1.0, 1.0, 2.0]), Tensor::from([0.0, 1.0, 5.0, 7.0]));
    let x = Tensor::from([0.5, 1.0, 1.5]);
    assert_eq!(x.interp(&xp, &fp).to_vec(), [0.5, 5.0, 6.0]);
    let slope = grad((x.clone(), xp, fp), |(x, xp, fp)| x.interp(&xp, &fp).sum());
    assert_eq!(slope.0.to_vec(), [1.0, 2.0, 2.0]);
    assert!(slope.1.to_vec().iter().chain(&slope.2.to_vec()).all(|x| x.is_finite()), "{slope:?}");
    let (xp, fp) = (Tensor::from([1.0]), Tensor::from([4.0]));
    assert_eq!(x.interp(&xp, &fp).to_vec(), [4.0; 3]);
    assert_eq!(grad(x.clone(), |x| x.interp(&xp, &fp).sum()).to_vec(), [0.0; 3]);
    assert_eq!(grad(fp, |fp| x.interp(&xp, &fp).sum()).to_vec(), [3.0]);
}

#[test]
fn misfits_are_named() {
    let (x, two, three) = (Tensor::zeros(&[4]), Tensor::zeros(&[2]), Tensor::zeros(&[3]));
    refused(x.try_interp(&two, &three), &["`interp` of f64[4], f64[2] and f64[3]", "values", "has to be f64[2]"]);
    refused(x.try_interp(&Tensor::zeros(&[0]), &Tensor::zeros(&[0])), &["no nodes"]);
    refused(x.try_interp(&Tensor::zeros(&[2, 2]), &Tensor::zeros(&[2, 2])), &["nodes are f64[2,2]", "vector"]);
    refused(x.try_interp(&two.to_f32(), &two.to_f32()), &["nodes", "type f64"]);
}
