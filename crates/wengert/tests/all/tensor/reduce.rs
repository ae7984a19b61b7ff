//! Reductions against plain loops.

use wengert::fallible::*;
use wengert::prelude::*;
use wengert::{DType, Tensor};

#[test]
fn reductions_over_all_some_and_kept_axes() {
    let x = Tensor::from([[1.0, 2.0, 3.0], [4.0, 5.0, 9.0]]);
    assert_eq!(x.sum().item(), 24.0);
    assert_eq!(x.prod_over(1).to_vec(), [6.0, 180.0]);
    assert_eq!(x.max_over([0]).to_vec(), [4.0, 5.0, 9.0]);
    assert_eq!(x.min_keep(-1).to_vec(), [1.0, 4.0]);
    assert_eq!(x.min_keep(-1).shape(), [2, 1]);
    assert_eq!(x.mean_over([1, 0]).item(), 4.0);
    assert_eq!(x.mean_keep(..).shape(), [1, 1]);
    assert_eq!(x.var(0).item(), 40.0 / 6.0);
    assert_eq!(x.var_over(1, 1).to_vec(), [1.0, 7.0]);
    assert_eq!(x.std_over(1, 1).to_vec(), [1.0, 7f64.sqrt()]);
    assert_eq!(Tensor::from([3.0, 4.0]).norm().item(), 5.0);
    assert!((Tensor::from([3e200, 4e200]).norm().item() / 5e200 - 1.0).abs() < 1e-15);
    assert_eq!(Tensor::from([3e-320, 4e-320]).norm().item(), 5e-320);
    assert_eq!(Tensor::from([0.0, 0.0]).norm().item(), 0.0);
    assert_eq!(x.gt(2.0).all_over(1).to_vec(), [0.0, 1.0]);
    assert_eq!(x.gt(2.0).any_over(0).to_vec(), [1.0, 1.0, 1.0]);
    assert_eq!(x.argmax(1).to_vec(), [2.0, 2.0]);
    assert_eq!(x.argmin(0).to_vec(), [0.0, 0.0, 0.0]);
    assert_eq!(x.cumsum(1).to_vec(), [1.0, 3.0, 6.0, 4.0, 9.0, 18.0]);
    assert_eq!(x.cummax_reversed(0).to_vec(), [4.0, 5.0, 9.0, 4.0, 5.0, 9.0]);
}

#[test]
fn logsumexp_neither_overflows_nor_loses_its_edges() {
    let of = |x: &[f64]| Tensor::from(x).logsumexp().item();
    assert_eq!(of(&[1000.0, 1000.0]), 1000.0 + 2f64.ln());
    assert_eq!(of(&[-1000.0, -1001.0]), -1000.0 + (1.0 + (-1f64).exp()).ln());
    assert_eq!(of(&[f64::NEG_INFINITY; 2]), f64::NEG_INFINITY);
    assert_eq!(of(&[f64::INFINITY, 0.0]), f64::INFINITY);
    assert_eq!(of(&[]), f64::NEG_INFINITY);
    assert!(of(&[f64::NAN, 0.0]).is_nan());
}

#[test]
fn reductions_of_nothing() {
    let none = Tensor::zeros(&[0, 2]);
    assert_eq!(none.sum_over(0).to_vec(), [0.0, 0.0]);
    assert_eq!(none.prod().item(), 1.0);
    assert!(none.mean().item().is_nan());
    assert!(none.var(0).item().is_nan());
    assert_eq!(none.norm().item(), 0.0);
    assert!(none.try_max().unwrap_err().to_string().contains("axis 0 is empty"));
    assert!(none.try_argmin(0).is_err());
    assert_eq!(none.max_over(1).shape(), [0]);
    assert_eq!(none.cumsum(0).shape(), [0, 2]);
}

#[test]
fn deviations_neither_overflow_nor_vanish() {
    let slope = |x: &Tensor| value_and_grad(x, |x| x.std(0));
    for scale in [1e-300, 1e-200, 1e-170, 1e-160, 1.0, 1e160, 1e200, 1e300] {
        let (value, slope) = slope(&(Tensor::from([1.0, 3.0]) * scale));
        assert!((value.item() / scale - 1.0).abs() < 1e-15, "{value:?} at {scale}");
        assert!((slope - Tensor::from([-0.5, 0.5])).abs().max().item() < 1e-15, "at {scale}");
    }
    for scale in [1e-30f32, 1e-24, 1e25] {
        let (value, slope) = slope(&(Tensor::from([1.0f32, 3.0]) * scale));
        assert!((value.item() / f64::from(scale) - 1.0).abs() < 1e-6, "{value:?} at {scale}");
        assert!((slope.to_f64() - Tensor::from([-0.5, 0.5])).abs().max().item() < 1e-6, "at {scale}");
    }
    // Equal elements have derivative 0, of second order too; of none, and of too few, there is no deviation.
    let flat = Tensor::from([2.0, 2.0]);
    assert_eq!(slope(&flat).1.to_vec(), [0.0, 0.0]);
    assert_eq!(hvp(&flat, &flat, |x| x.std(0)).to_vec(), [0.0, 0.0]);
    assert!(Tensor::from([1.0]).std(1).item().is_nan() && Tensor::zeros(&[0]).std(0).item().is_nan());
}

#[test]
fn running_sums_of_single_precision_keep_their_digits() {
    let x = Tensor::full_of(DType::F32, &[1_000_000], 0.1);
    let exact = f64::from(0.1f32);
    let near = |x: f64, y: f64| (x / y - 1.0).abs() < 1e-7;
    assert!(near(x.cumsum(0).slice(-1).item(), exact * 1e6));
    assert!(near(x.cumsum_reversed(0).slice(0).item(), exact * 1e6));
    assert!(near(x.reshape(&[250_000, 4]).cumsum(0).slice((-1, 3)).item(), exact * 250_000.0));
    assert!(near(grad(&x, |x| (x.cumsum(0) * 0.1f32).sum()).slice(0).item(), exact * 1e6));
    assert!(near(x.cumlogsumexp(0).slice(-1).item(), 1e6f64.ln() + exact));
}
