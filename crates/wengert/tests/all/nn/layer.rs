//! Affine maps, tables, omission.

use wengert::prelude::*;
use wengert::{DType, Key};

use super::support::{check_derivatives, check_single, close, points, refused};

#[test]
fn linear() {
    let point = [points(1, &[2, 3, 4]), points(2, &[4, 2]), points(3, &[2])];
    let [x, w, bias] = &point;
    let (xs, ws, biases) = (x.to_vec(), w.to_vec(), bias.to_vec());
    let at = |row: usize, out: usize| (0..4).map(|k| xs[4 * row + k] * ws[2 * k + out]).sum::<f64>() + biases[out];
    let want: Vec<f64> = (0..6).flat_map(|row| [at(row, 0), at(row, 1)]).collect();
    let y = x.linear(w, bias);
    assert_eq!(y.shape(), [2, 3, 2]);
    close(&y.to_vec(), &want, 4.0);
    check_derivatives(&point, |x| x[0].linear(&x[1], &x[2]).tanh());
    check_single(&point, 64.0, |x| x[0].linear(&x[1], &x[2]));
    refused(x.try_linear(bias, bias), &["`linear` of f64[2,3,4], f64[2] and f64[2]", "matrix with 4 rows"]);
    refused(x.try_linear(w, &Tensor::zeros(&[3])), &["the bias, is f64[3], and has to be f64[2]"]);
    refused(x.try_linear(&w.to_f32(), bias), &["`linear`", "f32"]);
}

#[test]
fn embedding_adds_up_the_derivatives_of_a_row() {
    let table = points(1, &[4, 3]);
    let indices = Tensor::from([[2i64, 0], [2, 3]]);
    let rows = table.to_vec();
    let want: Vec<f64> = [2, 0, 2, 3].iter().flat_map(|&row| rows[3 * row..3 * row + 3].to_vec()).collect();
    let y = table.embedding(&indices);
    assert_eq!((y.shape(), y.to_vec()), (&[2, 2, 3][..], want));
    let slope = grad(table.clone(), |table| table.embedding(&indices).sum());
    assert_eq!(slope.sum_over(1).to_vec(), [3.0, 0.0, 6.0, 3.0]);
    check_derivatives(std::slice::from_ref(&table), |x| x[0].embedding(&indices).square());
    check_single(std::slice::from_ref(&table), 4.0, |x| x[0].embedding(&indices));
    refused(table.try_embedding(&Tensor::from([0i64, 4])), &["index 4", "an axis that is 4 long"]);
    refused(table.try_embedding(&Tensor::from([0.0])), &["`embedding` of f64[4,3] and f64[1]", "i64"]);
    refused(Tensor::zeros(&[3]).try_embedding(&Tensor::from([0i64])), &["matrix"]);
}

#[test]
fn dropout_keeps_the_mean_and_follows_its_key() {
    let x = points(1, &[40, 50]);
    let y = x.dropout(&Key::new(1), 0.25);
    let kept: Vec<bool> = y.to_vec().iter().map(|&y| y != 0.0).collect();
    let share = kept.iter().filter(|&&kept| kept).count() as f64 / 2000.0;
    // Four standard deviations, sqrt(0.25 0.75 / 2000) each.
    assert!((share - 0.75).abs() < 4.0 * (0.25 * 0.75 / 2000.0f64).sqrt(), "{share}");
    for (k, (x, y)) in x.to_vec().iter().zip(y.to_vec()).enumerate() {
        assert!(y == 0.0 || (y - x / 0.75).abs() <= f64::EPSILON * y.abs(), "element {k}: {x}, {y}");
    }
    assert_eq!(x.dropout(&Key::new(1), 0.25).to_vec(), y.to_vec());
    assert_ne!(x.dropout(&Key::new(2), 0.25).to_vec(), y.to_vec());
    let slope = grad(x.clone(), |x| x.dropout(&Key::new(1), 0.25).sum());
    let want: Vec<f64> = kept.iter().map(|&kept| if kept { 1.0 / 0.75 } else { 0.0 }).collect();
    assert_eq!(slope.to_vec(), want);
    let point = [points(2, &[3, 4])];
    check_derivatives(&point, |x| x[0].dropout(&Key::new(3), 0.5).sin());
    check_single(&point, 4.0, |x| x[0].sin().dropout(&Key::new(3), 0.0));
    assert_eq!(x.to_f32().dropout(&Key::new(3), 0.5).dtype(), DType::F32);
}

#[test]
fn dropout_of_nothing_and_of_all() {
    let x = Tensor::from([1.0, f64::INFINITY, f64::NAN]);
    assert!(x.dropout(&Key::new(1), 0.0).to_array().same_bits(&x.to_array()));
    assert_eq!(x.dropout(&Key::new(1), 1.0).to_vec(), [0.0; 3]);
    assert_eq!(grad(x.clone(), |x| x.dropout(&Key::new(1), 1.0).sum()).to_vec(), [0.0; 3]);
    assert_eq!(grad(x.clone(), |x| x.dropout(&Key::new(1), 0.0).sum()).to_vec(), [1.0; 3]);
    for rate in [-0.1, 1.1, f64::NAN] {
        refused(x.try_dropout(&Key::new(1), rate), &["`dropout`", "the rate is"]);
    }
    refused(Tensor::iota(2).try_dropout(&Key::new(1), 0.5), &["real numbers"]);
}
