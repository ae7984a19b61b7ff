//! Normalisation over features and over a batch.

use wengert::prelude::*;

use super::support::{check_derivatives, check_single, close, points, refused};

/// `(x - mean) / sqrt(var + epsilon)`
fn standardised(x: &[f64], epsilon: f64) -> Vec<f64> {
    let count = x.len() as f64;
    let mean = x.iter().sum::<f64>() / count;
    let var = x.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / count;
    x.iter().map(|x| (x - mean) / (var + epsilon).sqrt()).collect()
}

fn affine(x: Vec<f64>, gain: &[f64], bias: &[f64]) -> Vec<f64> {
    x.iter().enumerate().map(|(k, x)| x * gain[k % gain.len()] + bias[k % bias.len()]).collect()
}

#[test]
fn layer_norm() {
    let point = [points(1, &[2, 3, 4]), points(2, &[4]), points(3, &[4])];
    let [x, gain, bias] = &point;
    let want: Vec<f64> = x.to_vec().chunks(4).flat_map(|row| standardised(row, 1e-5)).collect();
    let want = affine(want, &gain.to_vec(), &bias.to_vec());
    close(&x.layer_norm(gain, bias, 1e-5).to_vec(), &want, 16.0);
    check_derivatives(&point, |x| x[0].layer_norm(&x[1], &x[2], 0.1));
    check_single(&point, 64.0, |x| x[0].layer_norm(&x[1], &x[2], 0.1));
}

#[test]
fn equal_elements_have_no_direction() {
    let (one, zero) = (Tensor::ones(&[3]), Tensor::zeros(&[3]));
    let x = Tensor::full(&[3], 5.0);
    assert_eq!(x.layer_norm(&one, &Tensor::from([1.0, 2.0, 3.0]), 1e-5).to_vec(), [1.0, 2.0, 3.0]);
    let slope = grad(x.clone(), |x| (x.layer_norm(&one, &zero, 1e-4) * Tensor::from([3.0, 0.0, 0.0])).sum());
    close(&slope.to_vec(), &[200.0, -100.0, -100.0], 8.0);
    assert!(x.layer_norm(&one, &zero, 0.0).to_vec().iter().all(|x| x.is_nan()));
    assert_eq!(zero.rms_norm(&one, 1e-5).to_vec(), [0.0; 3]);
    assert!(zero.rms_norm(&one, 0.0).to_vec().iter().all(|x| x.is_nan()));
}

#[test]
fn rms_norm() {
    let point = [points(1, &[2, 4]), points(2, &[4])];
    let [x, gain] = &point;
    let root = |row: &[f64]| (row.iter().map(|x| x * x).sum::<f64>() / 4.0 + 1e-3).sqrt();
    let want: Vec<f64> =
        x.to_vec().chunks(4).flat_map(|row| row.iter().map(|x| x / root(row)).collect::<Vec<_>>()).collect();
    close(&x.rms_norm(gain, 1e-3).to_vec(), &affine(want, &gain.to_vec(), &[0.0]), 8.0);
    check_derivatives(&point, |x| x[0].rms_norm(&x[1], 1e-3));
    check_single(&point, 64.0, |x| x[0].rms_norm(&x[1], 1e-3));
}

#[test]
fn batch_norm_by_its_own_and_by_given_statistics() {
    let point = [points(1, &[5, 2, 2]), points(2, &[2, 2]), points(3, &[2, 2])];
    let [x, gain, bias] = &point;
    let mut want = vec![0.0; 20];
    for feature in 0..4 {
        let column: Vec<f64> = x.to_vec().iter().skip(feature).step_by(4).copied().collect();
        for (row, x) in standardised(&column, 1e-5).into_iter().enumerate() {
            want[4 * row + feature] = x;
        }
    }
    let want = affine(want, &gain.to_vec(), &bias.to_vec());
    close(&x.batch_norm(gain, bias, 1e-5).to_vec(), &want, 16.0);
    let statistics = [&x.mean_over(0), &x.var_over(0, 0)];
    close(&x.batch_norm_with(statistics, gain, bias, 1e-5).to_vec(), &want, 16.0);
    check_derivatives(&point, |x| x[0].batch_norm(&x[1], &x[2], 0.1));
    check_single(&point, 64.0, |x| x[0].batch_norm(&x[1], &x[2], 0.1));
    let (mean, var) = (points(4, &[2, 2]), points(5, &[2, 2]).square());
    let point = [point.to_vec(), vec![mean, var]].concat();
    check_derivatives(&point, |x| x[0].batch_norm_with([&x[3], &x[4]], &x[1], &x[2], 0.5));
    check_single(&point, 64.0, |x| x[0].batch_norm_with([&x[3], &x[4]], &x[1], &x[2], 0.5));
}

#[test]
fn misfits_are_named() {
    let (x, three, two) = (Tensor::zeros(&[2, 3]), Tensor::zeros(&[3]), Tensor::zeros(&[2]));
    refused(
        x.try_layer_norm(&two, &three, 0.1),
        &["`layer_norm` of f64[2,3], f64[2] and f64[3]", "gain", "has to be f64[3]"],
    );
    refused(x.try_layer_norm(&three, &two, 0.1), &["the bias is f64[2]"]);
    refused(x.try_layer_norm(&three, &three, -1.0), &["epsilon is -1"]);
    refused(x.try_layer_norm(&three.to_f32(), &three, 0.1), &["the gain is f32[3], and has to be f64[3]"]);
    refused(Tensor::from(1.0).try_layer_norm(&three, &three, 0.1), &["single number"]);
    refused(x.try_rms_norm(&two, 0.1), &["`rms_norm`", "f64[3]"]);
    refused(x.try_batch_norm(&two, &two, 0.1), &["`batch_norm`", "the gain is f64[2], and has to be f64[3]"]);
    refused(x.try_batch_norm_with([&three, &two], &three, &three, 0.1), &["the variance, is f64[2]"]);
}
