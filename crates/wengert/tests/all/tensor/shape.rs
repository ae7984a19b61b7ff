//! Shapes and joining, against what an index says.

use wengert::fallible::*;
use wengert::{DType, Tensor, span, step};

/// `0, 1, 2, …` in a shape.
fn numbered(shape: &[usize]) -> Tensor {
    let count: usize = shape.iter().product();
    Tensor::from_vec(shape, (0..count).map(|k| k as f64).collect::<Vec<f64>>())
}

#[test]
fn reshaping_and_moving_axes() {
    let x = numbered(&[2, 3, 4]);
    assert_eq!(x.reshape(&[4, -1]).shape(), [4, 6]);
    assert_eq!(x.flatten().shape(), [24]);
    assert_eq!(x.t().shape(), [4, 3, 2]);
    assert_eq!(x.permute(&[1, -1, 0]).shape(), [3, 4, 2]);
    assert_eq!(x.permute(&[1, -1, 0]).slice((2, 3, 1)).item(), x.slice((1, 2, 3)).item());
    assert_eq!(x.swap_axes(0, -1).shape(), [4, 3, 2]);
    assert_eq!(x.move_axis(0, 2).shape(), [3, 4, 2]);
    assert_eq!(x.expand_dims(-1).shape(), [2, 3, 4, 1]);
    assert_eq!(x.expand_dims(0).squeeze(0).shape(), [2, 3, 4]);
    assert_eq!(numbered(&[2, 1]).broadcast_to(&[2, 2, 3]).to_vec(), [0., 0., 0., 1., 1., 1., 0., 0., 0., 1., 1., 1.]);
    assert_eq!(numbered(&[2, 2]).flip(0).to_vec(), [2.0, 3.0, 0.0, 1.0]);
    assert_eq!(numbered(&[2, 2]).flip(..).to_vec(), [3.0, 2.0, 1.0, 0.0]);
    assert_eq!(Tensor::from([1.5, -2.5]).to_i64().to_array().elements::<i64>(), Some(&[1, -2][..]));
    assert_eq!(x.to_f32().dtype(), DType::F32);
}

#[test]
fn joining_splitting_and_repeating() {
    let (x, y) = (numbered(&[2, 2]), numbered(&[2, 1]));
    assert_eq!(Tensor::concat(&[&x, &y], 1).to_vec(), [0.0, 1.0, 0.0, 2.0, 3.0, 1.0]);
    assert_eq!(Tensor::stack(&[&x, &x], -1).to_vec(), [0.0, 0.0, 1.0, 1.0, 2.0, 2.0, 3.0, 3.0]);
    let parts = numbered(&[5]).split(&[2, 0, 3], 0);
    assert_eq!(parts.iter().map(Tensor::to_vec).collect::<Vec<_>>(), [vec![0., 1.], vec![], vec![2., 3., 4.]]);
    assert_eq!(x.tile(&[1, 2]).to_vec(), [0.0, 1.0, 0.0, 1.0, 2.0, 3.0, 2.0, 3.0]);
    assert_eq!(x.tile(&[2, 1]).to_vec(), [0.0, 1.0, 2.0, 3.0, 0.0, 1.0, 2.0, 3.0]);
    assert_eq!(x.repeat(2, 0).to_vec(), [0.0, 1.0, 0.0, 1.0, 2.0, 3.0, 2.0, 3.0]);
    assert_eq!(numbered(&[4]).roll(1, 0).to_vec(), [3.0, 0.0, 1.0, 2.0]);
    assert_eq!(numbered(&[4]).roll(-5, 0).to_vec(), [1.0, 2.0, 3.0, 0.0]);
    assert_eq!(numbered(&[2]).pad(&[(1, 2, 1)], 9.0).to_vec(), [9.0, 0.0, 9.0, 1.0, 9.0, 9.0]);
    assert_eq!(numbered(&[3]).pad(&[(-1, -1, 0)], 9.0).to_vec(), [1.0]);
}

#[test]
fn diagonals_and_triangles() {
    let x = numbered(&[2, 3]);
    assert_eq!(x.diagonal(0).to_vec(), [0.0, 4.0]);
    assert_eq!(x.diagonal(1).to_vec(), [1.0, 5.0]);
    assert_eq!(x.diagonal(-1).to_vec(), [3.0]);
    assert_eq!(x.diagonal(7).shape(), [0]);
    assert_eq!(numbered(&[2, 2, 2]).trace().to_vec(), [3.0, 11.0]);
    assert_eq!(x.triu(1).to_vec(), [0.0, 1.0, 2.0, 0.0, 0.0, 5.0]);
    assert_eq!(x.tril(0).to_vec(), [0.0, 0.0, 0.0, 3.0, 4.0, 0.0]);
    let v = Tensor::from([1.0, 2.0]);
    assert_eq!(v.diag_embed(0).to_vec(), [1.0, 0.0, 0.0, 2.0]);
    for offset in [-2isize, -1, 0, 3] {
        let side = 2 + offset.unsigned_abs();
        assert_eq!(v.diag_embed(offset).shape(), [side, side]);
        assert_eq!(v.diag_embed(offset).diagonal(offset).to_vec(), [1.0, 2.0]);
        assert_eq!(v.diag_embed(offset).sum().item(), 3.0);
    }
}

#[test]
fn ranges_take_parts() {
    let x = numbered(&[3, 4]);
    assert_eq!(x.slice((1.., ..2)).to_vec(), [4.0, 5.0, 8.0, 9.0]);
    assert_eq!(x.slice((-1, 1..=2)).to_vec(), [9.0, 10.0]);
    assert_eq!(x.slice((.., -2..-1)).to_vec(), [2.0, 6.0, 10.0]);
    assert_eq!(x.slice((0, span(1, -1))).to_vec(), [1.0, 2.0]);
    assert_eq!(x.slice((0, ..=-1)).to_vec(), [0.0, 1.0, 2.0, 3.0]);
    assert_eq!(x.slice((step(.., 2), step(.., -3))).to_vec(), [3.0, 0.0, 11.0, 8.0]);
    assert_eq!(x.slice((1, step(..3, -2))).to_vec(), [6.0, 4.0]);
    assert_eq!(x.slice(()).shape(), [3, 4]);
    assert_eq!(x.slice(3..).shape(), [0, 4]);
    for error in [
        x.try_slice(3).unwrap_err(),
        x.try_slice(-4).unwrap_err(),
        x.try_slice(2..5).unwrap_err(),
        x.try_slice(step(.., 0)).unwrap_err(),
        x.try_slice((0, 0, 0)).unwrap_err(),
    ] {
        assert_eq!((error.operation(), error.line().unwrap().file()), ("slice", file!()), "{error}");
    }
    assert!(x.try_slice(isize::MIN..).unwrap_err().to_string().contains("axis 0, which is 3 long"));
}

#[test]
fn writing_to_a_part_leaves_clones_as_they_are() {
    let mut x = numbered(&[3, 4]);
    let old = x.clone();
    *x.slice_mut((1, ..)) += 10.0;
    *x.slice_mut((.., 0)) *= &Tensor::from([2.0, 2.0, 2.0]);
    x.slice_mut((2, step(.., -2))).assign([7.0, 8.0]);
    *x.slice_mut((0, 1..3)) -= 1;
    assert_eq!(x.to_vec(), [0.0, 0.0, 1.0, 3.0, 28.0, 15.0, 16.0, 17.0, 16.0, 8.0, 10.0, 7.0]);
    assert_eq!(old.to_vec(), numbered(&[3, 4]).to_vec());
    let failed = x.slice_mut((0, ..)).try_assign(Tensor::zeros(&[3]));
    assert_eq!(failed.unwrap_err().operation(), "assign");
    assert!(x.slice_mut(0).try_assign(Tensor::from([1i64])).is_err());
    x.slice_mut(()).assign(1.0);
    assert_eq!(x.sum().item(), 12.0);
}

#[test]
fn a_buffer_of_ones_own_is_written_in_place() {
    let address = |x: &Tensor| x.to_array().elements::<f64>().unwrap().as_ptr();
    let mut x = numbered(&[100]);
    let before = address(&x);
    for k in 0..50 {
        *x.slice_mut(k) += 1.0;
    }
    assert_eq!(address(&x), before);
    let held = x.clone();
    *x.slice_mut(0) += 1.0;
    assert_ne!(address(&x), address(&held));
}
