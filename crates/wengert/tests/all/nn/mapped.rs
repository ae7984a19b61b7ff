//! The functions of models under `vmap`: as one call for every example.

use wengert::Key;
use wengert::nn::{Visible, attention};
use wengert::prelude::*;

use super::support::{close, points};

/// That `f` mapped over the first axis of these is `f` of every example, and the same for the gradient of its sum.
#[track_caller]
fn check_mapped(x: &[Tensor], f: impl Fn(&[Tensor]) -> Tensor) {
    let slope = |x: &[Tensor]| grad(x.to_vec(), |x| f(&x).square().sum());
    let mapped = vmap(x.to_vec(), |x| f(&x));
    let slopes = vmap(x.to_vec(), |x| slope(&x));
    let count = x[0].shape()[0];
    let example = |k: usize, x: &Tensor| x.split(&vec![1; count], 0)[k].squeeze(0);
    for k in 0..count {
        let one: Vec<Tensor> = x.iter().map(|x| example(k, x)).collect();
        close(&example(k, &mapped).to_vec(), &f(&one).to_vec(), 8.0);
        for (mapped, own) in slopes.iter().zip(slope(&one)) {
            close(&example(k, mapped).to_vec(), &own.to_vec(), 64.0);
        }
    }
}

#[test]
fn examples_one_by_one() {
    let (x, y) = (points(1, &[2, 3, 3]), points(2, &[2, 3, 3]));
    let (v, w) = (points(3, &[2, 3]), points(4, &[2, 3]));
    let labels = Tensor::from([0i64, 2, 1]);
    check_mapped(std::slice::from_ref(&x), |x| x[0].softmax(0));
    check_mapped(std::slice::from_ref(&x), |x| x[0].log_softmax(1));
    check_mapped(std::slice::from_ref(&x), |x| x[0].softmax_cross_entropy(&labels));
    check_mapped(&[x.clone(), y.softmax(2)], |x| x[0].softmax_cross_entropy_with(&x[1]));
    check_mapped(&[x.clone(), y.sigmoid()], |x| x[0].sigmoid_cross_entropy(&x[1]));
    check_mapped(&[x.clone(), y.clone()], |x| x[0].mse(&x[1]));
    check_mapped(&[x.clone(), y.clone()], |x| x[0].huber(&x[1], 0.5));
    check_mapped(&[x.clone(), v.clone(), w.clone()], |x| x[0].layer_norm(&x[1], &x[2], 0.1));
    check_mapped(&[x.clone(), v.clone()], |x| x[0].rms_norm(&x[1], 0.1));
    check_mapped(&[x.clone(), v.clone(), w.clone()], |x| x[0].batch_norm(&x[1], &x[2], 0.1));
    check_mapped(&[x.clone(), y.clone(), v.clone()], |x| x[0].linear(&x[1], &x[2]));
    check_mapped(std::slice::from_ref(&x), |x| x[0].embedding(&labels));
    check_mapped(std::slice::from_ref(&x), |x| x[0].dropout(&Key::new(1), 0.5));
    check_mapped(&[x.clone(), y.clone()], |x| attention(&x[0], &x[1], &x[1], Visible::Causal));
    check_mapped(&[x.clone(), v.clone()], |x| x[0].trapz_at(&x[1], 0));
    let nodes = v.square().cumsum(1);
    check_mapped(&[x, nodes, w], |x| x[0].interp(&x[1], &x[2]));
}
