//! Computed positions, order and random numbers.

use wengert::fallible::*;
use wengert::primitives::{OutOfBounds, Write};
use wengert::{DType, Key, Tensor};

fn whole(x: &Tensor) -> Vec<i64> {
    x.to_array().elements::<i64>().expect("integers").to_vec()
}

#[test]
fn take_along_every_axis() {
    let x = Tensor::from([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]);
    assert_eq!(x.take(&Tensor::from([2i64, 0]), 1).to_vec(), [3.0, 1.0, 6.0, 4.0]);
    assert_eq!(x.take(&Tensor::from([[1i64, 0], [0, 0]]), 0).shape(), [2, 2, 3]);
    assert_eq!(x.take(&Tensor::from(1i64), 1).to_vec(), [2.0, 5.0]);
    let outside = Tensor::from([5i64, -1]);
    assert_eq!(x.take_or(&outside, 1, OutOfBounds::Clamp).to_vec(), [3.0, 1.0, 6.0, 4.0]);
    assert_eq!(x.take_or(&outside, 1, OutOfBounds::Fill).to_vec(), [0.0; 4]);
    let error = x.try_take(&outside, 1).unwrap_err().to_string();
    assert!(error.starts_with("`take` of f64[2,3] and i64[2] at ") && error.contains("index 5"), "{error}");
    assert!(x.try_take(&x, 1).is_err());
    // The operand is turned: the axis of the operation is not the user's, and is not named.
    let error = x.try_take_along_axis(&Tensor::from([[5i64, 0, 0]]), 0).unwrap_err().to_string();
    assert!(error.contains("the index 5 is out of range for an axis that is 2 long"), "{error}");
    let places = Tensor::from([[2i64], [0]]);
    assert_eq!(x.take_along_axis(&places, 1).to_vec(), [3.0, 4.0]);
    assert_eq!(x.take_along_axis(&Tensor::from([[1i64, 0, 1]]), 0).to_vec(), [4.0, 2.0, 6.0]);
    assert_eq!(x.gather_nd(&Tensor::from([[1i64, 2], [0, 0]]), OutOfBounds::Error).to_vec(), [6.0, 1.0]);
}

#[test]
fn scatter_and_segments() {
    let x = Tensor::zeros(&[3, 2]);
    let rows = Tensor::from([[1.0, 2.0], [10.0, 20.0], [100.0, 200.0]]);
    let at = Tensor::from([2i64, 0, 2]);
    assert_eq!(x.scatter_add(&at, &rows, 0).to_vec(), [10.0, 20.0, 0.0, 0.0, 101.0, 202.0]);
    assert_eq!(x.scatter_set(&at, &rows, 0).to_vec(), [10.0, 20.0, 0.0, 0.0, 100.0, 200.0]);
    assert_eq!(
        x.scatter_add(&Tensor::from([1i64]), &Tensor::ones(&[3, 1]), 1).to_vec(),
        [0.0, 1.0, 0.0, 1.0, 0.0, 1.0]
    );
    assert_eq!(x.scatter_add(&Tensor::from([1i64, 0]), &Tensor::from(1.0), 0).sum().item(), 4.0);
    assert_eq!(rows.segment_sum(&at, 4).to_vec(), [10.0, 20.0, 0.0, 0.0, 101.0, 202.0, 0.0, 0.0]);
    let pairs = Tensor::from([[0i64, 1], [2, 0]]);
    let updates = Tensor::from([5.0, 6.0]);
    assert_eq!(x.scatter_nd(&pairs, &updates, Write::Set, OutOfBounds::Error).to_vec(), [0.0, 5.0, 0.0, 0.0, 6.0, 0.0]);
    assert!(rows.try_segment_sum(&at, 2).is_err());
    assert!(x.try_scatter_add(&at, &Tensor::ones(&[2, 2]), 0).is_err());
}

#[test]
fn blocks_one_hot_and_cases() {
    let x = Tensor::from([0.0, 1.0, 2.0, 3.0]);
    assert_eq!(x.dynamic_slice(&Tensor::from([1i64]), &[2]).to_vec(), [1.0, 2.0]);
    let update = Tensor::from([8.0, 9.0]);
    assert_eq!(x.dynamic_update_slice(&update, &Tensor::from([9i64])).to_vec(), [0.0, 1.0, 8.0, 9.0]);
    assert_eq!(Tensor::from([1i64, 3]).one_hot(3).to_vec(), [0.0, 1.0, 0.0, 0.0, 0.0, 0.0]);
    let cases = [&x, &Tensor::from(7.0), &(-&x)];
    assert_eq!(Tensor::from([0i64, 1, 2, 9]).select_n(&cases).to_vec(), [0.0, 7.0, -2.0, -3.0]);
}

#[test]
fn order_is_stable_with_nan_last() {
    let x = Tensor::from([2.0, f64::NAN, 1.0, 2.0]);
    assert_eq!(whole(&x.argsort(0)), [2, 0, 3, 1]);
    assert_eq!(whole(&x.argsort_descending(0)), [0, 3, 2, 1]);
    assert_eq!(x.sort(0).to_vec()[..3], [1.0, 2.0, 2.0]);
    let m = Tensor::from([[3.0, 1.0], [2.0, 5.0]]);
    assert_eq!(m.sort(0).to_vec(), [2.0, 1.0, 3.0, 5.0]);
    assert_eq!(m.sort_descending(1).to_vec(), [3.0, 1.0, 5.0, 2.0]);
    let (values, places) = Tensor::from([1.0, 2.0, 2.0, 2.0]).top_k(2, -1);
    assert_eq!((values.to_vec(), whole(&places)), (vec![2.0, 2.0], vec![1, 2]));
    assert_eq!(Tensor::from([4.0, 1.0, 3.0, 2.0]).median(0).item(), 2.5);
    assert_eq!(m.median(1).to_vec(), [2.0, 3.5]);
    assert_eq!(Tensor::from([3.0, 1.0, 2.0]).median(0).item(), 2.0);
    assert!(x.median(0).item().is_nan());
    assert!(m.try_top_k(3, 0).is_err());
}

#[test]
fn keys_give_the_same_numbers_each_time() {
    let key = Key::new(1);
    assert_eq!(key.uniform(&[5]).to_vec(), key.uniform(&[5]).to_vec());
    let [a, b] = key.split();
    assert_ne!(a.uniform(&[5]).to_vec(), b.uniform(&[5]).to_vec());
    let normal = a.normal(&[10_000]);
    assert!(normal.mean().item().abs() < 0.05 && (normal.std(0).item() - 1.0).abs() < 0.05);
    let uniform = b.try_uniform_of(DType::F32, &[1000]).unwrap();
    assert!(uniform.min().item() >= 0.0 && uniform.max().item() < 1.0);
    assert!(b.try_uniform_of(DType::I64, &[1]).is_err());
}
