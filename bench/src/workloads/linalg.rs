//! Factorisations, functions of matrices and complex products, in the sizes of a row of `linalg.json`.
//!
//! What is differentiated by is any matrix: the programs make it symmetric or positive definite, so that every system is asked
//! for the same derivative, whichever half it reads.

use wengert::linalg::{Factor, Side, Triangle, TriangularSolve};
use wengert::prelude::*;
use wengert::{Complex, ComplexProducts, DType};

use super::case::{Case, Setup, value_and_gradient};
use super::data::{signed, uniform};
use super::rows::{Program, Row};

/// The program of each kind.
pub(super) const PROGRAMS: [(&str, Program); 10] = [
    ("solves", solves),
    ("svds", svds),
    ("dets", dets),
    ("logdet", logdet),
    ("qr", qr),
    ("eigh", eigh),
    ("expm", expm),
    ("process", process),
    ("product", product),
    ("product_by_three", product_by_three),
];

/// A matrix whose eigenvalues do not grow with its size, or several.
fn square(dtype: DType, shape: &[usize], seed: u64) -> Tensor {
    uniform(dtype, shape, seed, (shape[shape.len() - 1] as f64).powf(-0.5))
}

fn identity(dtype: DType, n: usize) -> Tensor {
    Tensor::eye(n).convert(dtype)
}

/// A symmetric positive definite matrix of any one whose eigenvalues are small.
fn definite(u: &Tensor, identity: &Tensor) -> Tensor {
    u + u.swap_axes(-1, -2) + 4.0 * identity
}

/// Many small systems by their Cholesky factors.
fn solves(row: &Row, setup: &Setup) -> Case {
    let ([count, n], dtype) = (["count", "side"].map(|name| row.size(name)), row.real());
    let parameters = (square(dtype, &[count, n, n], 4000), uniform(dtype, &[count, n, 1], 4001, 1.0));
    let one = identity(dtype, n);
    value_and_gradient(setup, parameters, move |(u, b): (Tensor, Tensor)| {
        definite(&u, &one).solve_spd(&b).square().mean()
    })
}

/// Orthogonal factors and singular values of many small matrices.
fn svds(row: &Row, setup: &Setup) -> Case {
    let ([count, n], dtype) = (["count", "side"].map(|name| row.size(name)), row.real());
    let (weights, scale) = (uniform(dtype, &[count, n, n], 4011, 1.0), uniform(dtype, &[count, n], 4012, 1.0));
    value_and_gradient(setup, uniform(dtype, &[count, n, n], 4010, 1.0), move |x: Tensor| {
        let (u, s, vt) = x.svd();
        (u.matmul(&vt) * &weights).mean() + (s * &scale).mean()
    })
}

/// Determinants of many matrices.
fn dets(row: &Row, setup: &Setup) -> Case {
    let ([count, n], dtype) = (["count", "side"].map(|name| row.size(name)), row.real());
    let (one, weights) = (identity(dtype, n), uniform(dtype, &[count], 4091, 1.0));
    value_and_gradient(setup, square(dtype, &[count, n, n], 4090), move |u: Tensor| {
        ((u + &one).det() * &weights).mean()
    })
}

/// The logarithm of a determinant, and a solution, by one factorisation.
fn logdet(row: &Row, setup: &Setup) -> Case {
    let (n, dtype) = (row.size("side"), row.real());
    let parameters = (square(dtype, &[n, n], 4020), uniform(dtype, &[n], 4021, 1.0));
    let (one, weights) = (identity(dtype, n), uniform(dtype, &[n], 4022, 1.0));
    value_and_gradient(setup, parameters, move |(u, b): (Tensor, Tensor)| {
        let a = u + 3.0 * &one;
        a.slogdet().1 + (Factor::lu(&a).solve(&b) * &weights).mean()
    })
}

/// The factors of a tall matrix.
fn qr(row: &Row, setup: &Setup) -> Case {
    let ([m, n], dtype) = (["rows", "columns"].map(|name| row.size(name)), row.real());
    let (vector, weights) = (uniform(dtype, &[m], 4031, 1.0), uniform(dtype, &[n], 4032, 1.0));
    value_and_gradient(setup, uniform(dtype, &[m, n], 4030, 1.0), move |x: Tensor| {
        let (q, r) = x.qr();
        (vector.matmul(&q).square() * &weights).mean() + r.square().mean()
    })
}

/// Eigenvalues and eigenvectors of a symmetric matrix.
fn eigh(row: &Row, setup: &Setup) -> Case {
    let (n, dtype) = (row.size("side"), row.real());
    let [scale, vector, weights] = [4041, 4042, 4043].map(|seed| uniform(dtype, &[n], seed, 1.0));
    value_and_gradient(setup, square(dtype, &[n, n], 4040), move |u: Tensor| {
        let (values, vectors) = (&u + u.t()).eigh();
        (values * &scale).mean() + (vector.matmul(&vectors).square() * &weights).mean()
    })
}

/// The exponential of a matrix.
fn expm(row: &Row, setup: &Setup) -> Case {
    let n = row.size("side");
    let x = uniform(row.real(), &[n, n], 4050, 2.0 * (n as f64).powf(-0.5));
    value_and_gradient(setup, x, |x: Tensor| x.expm().square().mean())
}

/// The likelihood of a Gaussian process by the logarithms of its height, width and noise.
fn process(row: &Row, setup: &Setup) -> Case {
    let ([n, inputs], dtype) = (["points", "inputs"].map(|name| row.size(name)), row.real());
    let x = |i: u64, k: u64| signed(4060, i * inputs as u64 + k);
    let distance = |place: u64| {
        let (i, j) = (place / n as u64, place % n as u64);
        (0..inputs as u64).map(|k| (x(i, k) - x(j, k)).powi(2)).sum::<f64>()
    };
    let distances = super::data::tensor(dtype, &[n, n], distance);
    let (y, one) = (uniform(dtype, &[n], 4062, 1.0), identity(dtype, n));
    let lower = TriangularSolve::new(Side::Left, Triangle::Lower);
    value_and_gradient(setup, uniform(dtype, &[3], 4061, 0.5), move |logarithms: Tensor| {
        let p = logarithms.exp();
        let [height, width, noise] = [0, 1, 2].map(|k| p.slice(k));
        let covariance = height * (-0.5 / width.square() * &distances).exp() + noise * &one;
        let factor = covariance.cholesky();
        0.5 * factor.solve_triangular(&y, lower).square().sum() + factor.diagonal(0).ln().sum()
    })
}

/// A product of complex matrices.
fn product(row: &Row, setup: &Setup) -> Case {
    product_by(ComplexProducts::Four, row, setup)
}

/// The same with a quarter fewer operations, which users ask for.
fn product_by_three(row: &Row, setup: &Setup) -> Case {
    product_by(ComplexProducts::Three, row, setup)
}

fn product_by(products: ComplexProducts, row: &Row, setup: &Setup) -> Case {
    let (n, dtype) = (row.size("side"), row.real());
    let [a, b, c, d] = [4070, 4071, 4072, 4073].map(|seed| square(dtype, &[n, n], seed));
    let operands = (Complex::new(a, b), Complex::new(c, d));
    value_and_gradient(setup, operands, move |(a, b): (Complex<Tensor>, Complex<Tensor>)| {
        a.matmul_by(&b, products).norm_sqr().mean()
    })
}
