//! Repeated eigenvalues and singular values: the right derivative or an error, never a wrong number.

use std::panic::{AssertUnwindSafe, catch_unwind};

use wengert::prelude::*;

use super::{largest, orthogonal};
use crate::nn::support::{noise, points};

/// What a gradient came to: the tensor, or the message of the error.
fn outcome(run: impl FnOnce() -> Tensor) -> Result<Tensor, String> {
    catch_unwind(AssertUnwindSafe(run)).map_err(|payload| payload.downcast_ref::<String>().cloned().unwrap_or_default())
}

/// That a derivative is refused, forward and backward, with the line of the loss and the way out.
#[track_caller]
fn refused(a: &Tensor, loss: impl Fn(&Tensor) -> Tensor, words: &[&str]) {
    let forward = outcome(|| jvp(a, points(9, a.shape()), |a| loss(&a)).1);
    for run in [outcome(|| grad(a, |a| loss(&a))), forward] {
        let why = match run {
            Ok(slope) => panic!("a derivative where there is none: {slope}"),
            Err(why) => why,
        };
        for word in words.iter().chain(&["repeated.rs:"]) {
            assert!(why.contains(word), "`{word}` is not in: {why}");
        }
    }
}

#[test]
fn vectors_of_a_repeated_eigenvalue_have_no_derivative() {
    let eye = Tensor::eye(2);
    let c = Tensor::from([[0.0, 2.0], [2.0, 0.0]]);
    // The same cotangents as e tr(C V V^T), another gradient: e C.
    let exponential = |a: &Tensor| {
        let (w, v) = a.eigh();
        c.matmul(&(&v * w.exp()).matmul(&v.t())).trace()
    };
    let words = ["eigenvalues 0 and 1 are 1e0 and 1e0, 0.0e0 apart", "`spectral(a)`", "`eigh`"];
    refused(&eye, exponential, &words);
    refused(
        &eye,
        |a| {
            let (_, v) = a.eigh();
            c.matmul(&v.matmul(&v.t())).trace() * 1f64.exp()
        },
        &words,
    );
    // The cotangent of V is zero, and the gradient is not.
    refused(
        &eye,
        |a| {
            let (w, v) = a.eigh();
            ((w - 1.0) * (&v * c.matmul(&v)).sum_over(0)).sum()
        },
        &words,
    );
    refused(&eye, |a| a.svd().0.sum(), &["singular values 0 and 1", "`singular(a)`", "`svd`"]);
}

#[test]
fn the_first_matrix_of_a_batch_that_has_no_derivative_is_named() {
    // More matrices than a thread takes at once.
    let count = 20_000;
    let spectrum = |k: usize| if k == 7_001 || k == 19_000 { [2.0, 0.0, 0.0, 2.0] } else { [1.0, 0.0, 0.0, 2.0] };
    let a = Tensor::from((0..count).flat_map(spectrum).collect::<Vec<f64>>()).reshape(&[count, 2, 2]);
    let first = points(3, &[2]);
    for _ in 0..4 {
        refused(&a, |a| (a.eigh().1 * &first).sum(), &["eigenvalues 0 and 1", "(matrix [7001])"]);
        refused(&a, |a| (a.eigh().0 * &first).sum(), &["eigenvalues 0 and 1", "(matrix [7001])"]);
    }
    let good = a.slice(0..7_001);
    let slope = grad(&good, |a| (a.eigh().0 * &first).sum());
    let one = grad(&good.slice(0), |a| (a.eigh().0 * &first).sum());
    assert_eq!(slope.slice(7_000).to_vec(), one.to_vec());
}

#[test]
fn values_have_a_derivative_if_their_weights_agree() {
    let q = orthogonal(1, 4);
    let w = Tensor::from([1.0, 3.0, 3.0, 3.0]);
    let a = (&q * &w).matmul(&q.t());
    let slope = grad(&a, |a| a.eigvalsh().exp().sum());
    let wanted = (&q * w.exp()).matmul(&q.t());
    assert!(largest(&(slope - wanted)) < 1e-12);
    // Only what stands alone.
    let slope = grad(&a, |a| a.eigvalsh().slice(0));
    let first = q.slice((.., 0));
    assert!(largest(&(slope - first.outer(&first))) < 1e-13);
    let why = ["eigenvalues 1 and 2", "is not the same for each", "`eigh`"];
    refused(&a, |a| a.eigvalsh().dot(&Tensor::from([0.0, 1.0, 2.0, 3.0])), &why);
    refused(&a, |a| a.eigvalsh().slice(3), &["is not the same for each"]);
    let s = Tensor::from([3.0, 2.0, 2.0]);
    let (u, v) = (orthogonal(2, 4).slice((.., ..3)), orthogonal(3, 3));
    let b = (&u * &s).matmul(&v.t());
    let slope = grad(&b, |b| b.singular_values().square().sum());
    assert!(largest(&(slope - &b * 2.0)) < 1e-13);
    refused(&b, |b| b.singular_values().slice(2), &["singular values 1 and 2", "`singular(a)`"]);
    // At 0 a singular value has a kink.
    refused(
        &Tensor::from([[1.0, 0.0], [0.0, 0.0]]),
        |b| b.singular_values().sum(),
        &["where singular values have a kink"],
    );
}

#[test]
fn columns_that_are_left_out_do_not_count() {
    // One value stands alone, and only its vector is asked for.
    let q = orthogonal(4, 4);
    let w = Tensor::from([1.0, 3.0, 3.0, 5.0]);
    let a = (&q * &w).matmul(&q.t());
    let c = points(5, &[4]);
    for (k, place) in [(0, 0), (3, 3)] {
        let slope = grad(&a, |a| a.eigh().1.slice((.., k)).dot(&c));
        let wanted = by_resolvent(&q, &w, &a.eigh().1.slice((.., k)), place, &c);
        assert!(largest(&(slope - wanted)) < 1e-13);
    }
    // Two apart from each other, as a block and as two uses.
    let both = |a: &Tensor| {
        let v = a.eigh().1;
        v.slice((.., 0)).dot(&c) + v.slice((.., 3)).dot(&c)
    };
    let ends = [0, 3].map(|k| by_resolvent(&q, &w, &a.eigh().1.slice((.., k)), k as usize, &c));
    assert!(largest(&(grad(&a, |a| both(&a)) - (&ends[0] + &ends[1]))) < 1e-13);
    let inside = outcome(|| grad(&a, |a| a.eigh().1.slice((.., 1)).dot(&c)));
    assert!(inside.is_err_and(|why| why.contains("eigenvalues 1 and 2")));
}

/// The gradient of `c^T v` for the vector of a value that stands alone, from the known vectors of the matrix.
fn by_resolvent(q: &Tensor, w: &Tensor, v: &Tensor, place: usize, c: &Tensor) -> Tensor {
    let gaps = w.to_vec().iter().map(|x| w.to_vec()[place] - x).collect::<Vec<f64>>();
    let inverse = Tensor::from(gaps.iter().map(|gap| if *gap == 0.0 { 0.0 } else { 1.0 / gap }).collect::<Vec<f64>>());
    let x = q.matmul(&(q.t().matmul(c) * inverse));
    (x.outer(v) + v.outer(&x)) * 0.5
}

/// A loss of a spectrum, and its gradient if there is one.
type Loss<'a> = (Box<dyn Fn(&Tensor) -> Tensor + 'a>, Option<Tensor>);

#[test]
fn two_hundred_losses_are_right_or_refused() {
    let (mut right, mut errors) = (0, 0);
    for seed in 0..200u64 {
        let n = 3 + (seed % 4) as usize;
        let multiplicity = 2 + (seed / 4) as usize % (n - 1);
        let numbers = noise(seed + 1, 8);
        let values: Vec<f64> = (0..n).map(|k| if k < multiplicity { 2.0 } else { 3.5 + k as f64 }).collect();
        let w = Tensor::from(values.clone());
        let q = orthogonal(seed + 500, n);
        let a = (&q * &w).matmul(&q.t());
        let a = (&a + a.t()) * 0.5;
        let c = points(seed + 900, &[n, n]);
        let c = &c + c.t();
        let (loss, wanted): Loss = match seed % 5 {
            0 => {
                let h = numbers[0];
                (Box::new(move |a| (a.eigvalsh() * h).sin().sum()), Some((&q * (&w * h).cos() * h).matmul(&q.t())))
            }
            1 => {
                // The largest value stands alone, if not all are one.
                let top = q.slice((.., -1));
                let alone = multiplicity < n;
                (Box::new(|a| a.eigvalsh().slice(-1) * 3.0), alone.then(|| top.outer(&top) * 3.0))
            }
            2 => (
                Box::new(|a| {
                    let (w, v) = a.eigh();
                    c.matmul(&(&v * w.exp()).matmul(&v.t())).trace()
                }),
                None,
            ),
            3 => (
                Box::new(|a| {
                    let (w, v) = a.eigh();
                    ((w - 2.0) * (&v * c.matmul(&v)).sum_over(0)).sum()
                }),
                None,
            ),
            _ => (Box::new(move |a| a.eigvalsh().dot(&Tensor::from(numbers[..n].to_vec()))), None),
        };
        match (outcome(|| grad(&a, |a| loss(&a))), wanted) {
            (Ok(slope), Some(wanted)) => {
                right += 1;
                assert!(largest(&(slope - wanted)) < 1e-11, "a wrong gradient at seed {seed}");
            }
            (Ok(slope), None) => panic!("a gradient where none can be right, at seed {seed}: {slope}"),
            (Err(why), Some(_)) => panic!("refused at seed {seed}: {why}"),
            (Err(why), None) => {
                errors += 1;
                assert!(why.contains("`spectral(a)`"), "seed {seed}: {why}");
            }
        }
    }
    assert!(right > 50 && errors > 80, "{right} right, {errors} refused");
}

#[test]
fn general_matrices_with_a_repeated_value_have_no_derivative() {
    let words = ["`eig`", "two eigenvalues are only 0 apart"];
    refused(&Tensor::eye(2), |a| a.eig()[0].sum(), &words);
    refused(&Tensor::from([[1.0, 1.0], [0.0, 1.0]]), |a| a.eig()[0].sum(), &["`eig`"]);
    let words = ["`schur`", "two eigenvalues are only 0e0 apart", "repeated"];
    refused(&Tensor::eye(2), |a| a.schur().0.sum(), &words);
    refused(&Tensor::from([[1.0, 1.0], [0.0, 1.0]]), |a| a.schur().1.sum(), &words);
    // Two pairs that are one.
    let turn = Tensor::from([[0.0, -1.0], [1.0, 0.0]]);
    refused(&Tensor::eye(2).kron(&turn), |a| a.schur().0.sum(), &["`schur`", "apart"]);
}

/// Singular values that are one, or nothing but rounding, of every small shape and in both precisions: the columns stay at the
/// border of what counts as orthogonal.
#[test]
fn rotations_end_where_singular_values_repeat() {
    let spectra: [fn(usize, usize) -> f64; 5] = [
        |_, _| 1.0,
        |k, rank| if k < rank / 2 { 2.0 } else { 0.0 },
        |k, _| if k == 0 { 1.0 } else { 1e-9 },
        |k, _| if k % 2 == 0 { 1.0 } else { 3.0 },
        |k, _| 1.0 + 1e-15 * k as f64,
    ];
    for trial in 0..3200u64 {
        let (rows, columns) = (1 + trial as usize % 8, 1 + trial as usize / 8 % 8);
        let rank = rows.min(columns);
        let values = (0..rank).map(|k| spectra[trial as usize / 64 % 5](k, rank));
        let left = orthogonal(2 * trial, rows).slice((.., 0..rank));
        let right = orthogonal(2 * trial + 1, columns).slice((.., 0..rank));
        let a = (left * Tensor::from(values.collect::<Vec<f64>>())).matmul(&right.t());
        for (a, unit) in [(a.clone(), f64::EPSILON), (a.to_f32(), f64::from(f32::EPSILON))] {
            let (u, s, vt) = a.try_svd().unwrap_or_else(|why| panic!("trial {trial}: {why}"));
            let again = (&u * &s).matmul(&vt);
            let off = largest(&(again - &a).to_f64());
            assert!(off <= 300.0 * unit, "trial {trial}, {rows} by {columns}: off by {off:e}");
            let turned = largest(&(u.t().matmul(&u).to_f64() - Tensor::eye(rank)));
            assert!(turned <= 600.0 * unit, "trial {trial}, {rows} by {columns}: {turned:e} from orthonormal");
        }
    }
}
