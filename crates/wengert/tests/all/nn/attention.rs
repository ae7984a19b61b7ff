//! Attention.

use wengert::nn::{Visible, attention, try_attention};
use wengert::prelude::*;

use super::support::{check_derivatives, check_single, close, points, refused};

/// Attention of one head by loops.
fn by_loops(q: &Tensor, k: &Tensor, v: &Tensor, sees: impl Fn(usize, usize) -> bool) -> Vec<f64> {
    let (queries, width, keys, out) = (q.shape()[0], q.shape()[1], k.shape()[0], v.shape()[1]);
    let (q, k, v) = (q.to_vec(), k.to_vec(), v.to_vec());
    let mut result = vec![0.0; queries * out];
    for i in 0..queries {
        let score = |j: usize| (0..width).map(|d| q[i * width + d] * k[j * width + d]).sum::<f64>();
        let power = |j: usize| if sees(i, j) { (score(j) / (width as f64).sqrt()).exp() } else { 0.0 };
        let sum: f64 = (0..keys).map(power).sum();
        for e in 0..out {
            result[i * out + e] =
                (0..keys).map(|j| power(j) * v[j * out + e]).sum::<f64>() / if sum == 0.0 { 1.0 } else { sum };
        }
    }
    result
}

#[test]
fn values_of_one_head() {
    let (q, k, v) = (points(1, &[3, 2]), points(2, &[4, 2]), points(3, &[4, 5]));
    let y = attention(&q, &k, &v, Visible::All);
    assert_eq!(y.shape(), [3, 5]);
    close(&y.to_vec(), &by_loops(&q, &k, &v, |_, _| true), 8.0);
    let q = points(4, &[4, 2]);
    close(&attention(&q, &k, &v, Visible::Causal).to_vec(), &by_loops(&q, &k, &v, |i, j| j <= i), 8.0);
    let mask = points(5, &[4, 4]).gt(0.0);
    let seen = mask.to_vec();
    let want = by_loops(&q, &k, &v, |i, j| seen[4 * i + j] == 1.0);
    close(&attention(&q, &k, &v, Visible::Where(&mask)).to_vec(), &want, 8.0);
    // The causal mask by hand.
    let lower = Tensor::ones(&[4, 4]).tril(0).gt(0.0);
    let [own, given] = [Visible::Causal, Visible::Where(&lower)].map(|visible| attention(&q, &k, &v, visible));
    assert_eq!(own.to_vec(), given.to_vec());
}

#[test]
fn heads_and_batches_are_stretched() {
    let (q, k, v) = (points(1, &[2, 3, 4, 2]), points(2, &[3, 5, 2]), points(3, &[5, 2]));
    let y = attention(&q, &k, &v, Visible::All);
    assert_eq!(y.shape(), [2, 3, 4, 2]);
    for batch in 0..2 {
        for head in 0..3 {
            let q = Tensor::from_vec(&[4, 2], q.to_vec()[8 * (3 * batch + head)..][..8].to_vec());
            let k = Tensor::from_vec(&[5, 2], k.to_vec()[10 * head..][..10].to_vec());
            let want = by_loops(&q, &k, &v, |_, _| true);
            close(&y.to_vec()[8 * (3 * batch + head)..][..8], &want, 8.0);
        }
    }
}

#[test]
fn derivatives() {
    let point = [points(1, &[2, 3, 2]), points(2, &[2, 3, 2]), points(3, &[2, 3, 2])];
    let of = |x: &[Tensor], visible| attention(&x[0], &x[1], &x[2], visible);
    check_derivatives(&point, |x| of(x, Visible::All));
    check_derivatives(&point, |x| of(x, Visible::Causal));
    let mask = Tensor::from([[true, false, true], [false, false, false], [true, true, true]]);
    check_derivatives(&point, |x| of(x, Visible::Where(&mask)));
    check_single(&point, 64.0, |x| of(x, Visible::Where(&mask)));
}

#[test]
fn a_query_that_sees_nothing_gets_nothing() {
    let point = [points(1, &[2, 2]), points(2, &[2, 2]), points(3, &[2, 2])];
    let mask = Tensor::from([[true, true], [false, false]]);
    let y = attention(&point[0], &point[1], &point[2], Visible::Where(&mask));
    assert_eq!(y.to_vec()[2..], [0.0, 0.0]);
    let slope = grad(point.to_vec(), |x| attention(&x[0], &x[1], &x[2], Visible::Where(&mask)).square().sum());
    assert_eq!(slope[0].to_vec()[2..], [0.0, 0.0]);
    assert!(slope.iter().all(|slope| slope.to_vec().iter().all(|x| x.is_finite())), "{slope:?}");
    let none = attention(&point[0], &Tensor::zeros(&[0, 2]), &Tensor::zeros(&[0, 3]), Visible::All);
    assert_eq!((none.shape(), none.to_vec()), (&[2, 3][..], vec![0.0; 6]));
}

#[test]
fn scores_do_not_overflow() {
    let (q, k) = (Tensor::from([[1e4]]), Tensor::from([[1e4], [-1e4], [1e4]]));
    let v = Tensor::from([[1.0], [5.0], [3.0]]);
    assert_eq!(attention(&q, &k, &v, Visible::All).to_vec(), [2.0]);
    // What is hidden does not count, however well it matches.
    let mask = Tensor::from([[false, true, false]]);
    assert_eq!(attention(&q, &k, &v, Visible::Where(&mask)).to_vec(), [5.0]);
}

#[test]
fn misfits_are_named() {
    let of = |q: &[usize], k: &[usize], v: &[usize], visible| {
        try_attention(&Tensor::zeros(q), &Tensor::zeros(k), &Tensor::zeros(v), visible)
    };
    refused(
        of(&[2, 3], &[4, 2], &[4, 5], Visible::All),
        &["`attention` of f64[2,3], f64[4,2] and f64[4,5]", "3 long", "keys 2"],
    );
    refused(of(&[2, 3], &[4, 3], &[5, 5], Visible::All), &["4 keys and 5 values"]);
    refused(of(&[2, 3], &[4, 3], &[4, 5], Visible::Causal), &["causal", "4 and 2"]);
    refused(of(&[3], &[4, 3], &[4, 5], Visible::All), &["two axes"]);
    refused(of(&[2, 2, 3], &[3, 4, 3], &[4, 5], Visible::All), &["do not broadcast"]);
    let mask = Tensor::zeros(&[2, 4]);
    refused(of(&[2, 3], &[4, 3], &[4, 5], Visible::Where(&mask)), &["mask is f64[2,4]", "truth values"]);
    let mask = Tensor::from([[true, false], [true, true]]);
    refused(of(&[2, 3], &[4, 3], &[4, 5], Visible::Where(&mask)), &["do not broadcast"]);
}
