//! Contractions, convolution and pooling against loops.

use wengert::fallible::*;
use wengert::{ConvOptions, Pool, Tensor};

/// Numbers without a pattern.
fn numbers(seed: usize, shape: &[usize]) -> Tensor {
    let count: usize = shape.iter().product();
    Tensor::from_vec(shape, (0..count).map(|k| ((k * 37 + seed * 11) % 17) as f64 - 8.0).collect::<Vec<f64>>())
}

#[test]
fn matmul_as_in_numpy() {
    let cases: [(&[usize], &[usize], &[usize]); 9] = [
        (&[2, 3], &[3, 4], &[2, 4]),
        (&[3], &[3], &[]),
        (&[3], &[3, 4], &[4]),
        (&[2, 3], &[3], &[2]),
        (&[5, 2, 3], &[3, 4], &[5, 2, 4]),
        (&[5, 1, 2, 3], &[6, 3, 4], &[5, 6, 2, 4]),
        (&[1, 2, 3], &[5, 3], &[]),
        (&[4, 2, 3], &[3], &[4, 2]),
        (&[2, 0], &[0, 3], &[2, 3]),
    ];
    for (left, right, result) in cases {
        let (x, y) = (numbers(1, left), numbers(2, right));
        match x.try_matmul(&y) {
            Ok(z) => {
                assert_eq!(z.shape(), result);
                // By sums of products of stretched operands.
                let row = if left.len() == 1 { x.expand_dims(0) } else { x };
                let column = if right.len() == 1 { y.expand_dims(-1) } else { y };
                let products = row.expand_dims(-1) * column.expand_dims(-3);
                assert_eq!(products.sum_over(-2).to_vec(), z.to_vec());
            }
            Err(error) => {
                assert!(result.is_empty(), "{error}");
                assert!(error.to_string().contains("columns of the second"), "{error}");
            }
        }
    }
    let error = Tensor::zeros(&[3, 4]).try_matmul(&Tensor::zeros(&[5])).unwrap_err();
    assert!(error.to_string().starts_with("`matmul` of f64[3,4] and f64[5] at "), "{error}");
}

#[test]
fn products_by_axes() {
    let (x, y) = (numbers(1, &[2, 3, 4]), numbers(2, &[5, 4, 6]));
    assert_eq!(x.dot(&y).shape(), [2, 3, 5, 6]);
    assert_eq!(x.dot(&numbers(3, &[4])).to_vec(), x.matmul(&numbers(3, &[4])).to_vec());
    assert_eq!(x.outer(&numbers(3, &[2])).shape(), [2, 3, 4, 2]);
    assert_eq!(Tensor::from([1.0, 2.0]).outer(&Tensor::from([3.0, 4.0])).to_vec(), [3.0, 4.0, 6.0, 8.0]);
    assert_eq!(x.vdot(&x).item(), x.square().sum().item());
    let z = numbers(4, &[4, 3, 2]);
    assert_eq!(x.tensordot(&z, &[1, 2], &[1, 0]).to_vec(), Tensor::einsum("ijk,kjl->il", &[&x, &z]).to_vec());
    assert_eq!(
        x.dot_general(&z, [&[2], &[0]], [&[0], &[2]]).to_vec(),
        Tensor::einsum("bik,kjb->bij", &[&x, &z]).to_vec()
    );
    let (a, b) = (Tensor::from([1.0, 2.0, 3.0]), Tensor::from([4.0, 5.0, 6.0]));
    assert_eq!(a.cross(&b, 0).to_vec(), [-3.0, 6.0, -3.0]);
    assert!(x.try_tensordot(&z, &[0], &[0]).is_err());
    assert!(x.try_dot_general(&z, [&[0], &[2]], [&[0], &[2]]).is_err());
    assert!(a.try_dot_general(&b, [&[0], &[0]], [&[0], &[0]]).is_err());
}

#[test]
fn einsum_of_any_number_of_operands() {
    let (x, y, z) = (numbers(1, &[2, 3]), numbers(2, &[3, 4]), numbers(3, &[4, 2]));
    assert_eq!(Tensor::einsum("ij,jk,kl->il", &[&x, &y, &z]).to_vec(), x.matmul(&y).matmul(&z).to_vec());
    assert_eq!(Tensor::einsum("ij,jk,ki->", &[&x, &y, &z]).item(), x.matmul(&y).matmul(&z).trace().item());
    assert_eq!(Tensor::einsum("ji", &[&x]).to_vec(), x.t().to_vec());
    assert_eq!(Tensor::einsum("ij->j", &[&x]).to_vec(), x.sum_over(0).to_vec());
    let square = numbers(4, &[3, 3]);
    assert_eq!(Tensor::einsum("ii->i", &[&square]).to_vec(), square.diagonal(0).to_vec());
    assert_eq!(Tensor::einsum("ii,ij->j", &[&square, &y]).to_vec(), square.diagonal(0).matmul(&y).to_vec());
    let cube = numbers(5, &[2, 2, 2]);
    assert_eq!(Tensor::einsum("aaa", &[&cube]).item(), cube.slice((0, 0, 0)).item() + cube.slice((1, 1, 1)).item());
    assert_eq!(Tensor::einsum("aba->ab", &[&numbers(6, &[2, 3, 2])]).shape(), [2, 3]);
    for (spec, operands) in [
        ("ij,jk", &[&x][..]),
        ("ij", &[]),
        ("ijk", &[&x]),
        ("ii", &[&x]),
        ("ij->k", &[&x]),
        ("ij->ii", &[&x]),
        ("i.->i", &[&x]),
        ("ij->i,j", &[&x]),
    ] {
        let error = Tensor::try_einsum(spec, operands).unwrap_err();
        assert_eq!((error.operation(), error.line().unwrap().file()), ("einsum", file!()));
    }
}

#[test]
fn convolution_and_pooling() {
    let x = numbers(1, &[2, 2, 5, 4]);
    let w = numbers(2, &[3, 2, 2, 3]);
    let options = ConvOptions { stride: [2, 1], padding: [(1, 0), (0, 1)], ..ConvOptions::default() };
    let y = x.conv2d(&w, &options);
    assert_eq!(y.shape(), [2, 3, 3, 3]);
    let padded = x.pad(&[(0, 0, 0), (0, 0, 0), (1, 0, 0), (0, 1, 0)], 0.0);
    for (row, column) in [(0, 0), (1, 2), (2, 1)] {
        let window = padded.slice((.., .., 2 * row..2 * row + 2, column..column + 3));
        let expected = Tensor::einsum("nchw,ochw->no", &[&window, &w]);
        assert_eq!(y.slice((.., .., row, column)).to_vec(), expected.to_vec());
    }
    assert_eq!(x.max_pool(&Pool::new([2, 2])).shape(), [2, 2, 2, 2]);
    let pool = Pool { window: [2], stride: [1], padding: [(1, 0)] };
    let v = Tensor::from([3.0, 1.0, 2.0]);
    assert_eq!(v.max_pool(&pool).to_vec(), [3.0, 3.0, 2.0]);
    assert_eq!(v.min_pool(&pool).to_vec(), [3.0, 1.0, 1.0]);
    assert_eq!(v.sum_pool(&pool).to_vec(), [3.0, 4.0, 3.0]);
    assert_eq!(v.avg_pool(&pool).to_vec(), [1.5, 2.0, 1.5]);
    assert!(v.try_max_pool(&Pool::new([2, 2])).is_err());
    assert!(v.try_avg_pool(&Pool::new([0])).is_err());
    assert!(x.try_conv1d(&w, &ConvOptions::default()).is_err());
}
