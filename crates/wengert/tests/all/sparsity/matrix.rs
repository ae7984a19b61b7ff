//! Sparse matrices: constructors, parts, products, and what is refused.

use super::patterns::{Random, random, random_symmetric};
use wengert::sparsity::{Csc, Csr, MatrixError, Pattern, Stored};

fn transposed(dense: &[Vec<f64>], cols: usize) -> Vec<Vec<f64>> {
    (0..cols).map(|col| dense.iter().map(|row| row[col]).collect()).collect()
}

fn product(dense: &[Vec<f64>], x: &[f64]) -> Vec<f64> {
    dense.iter().map(|row| row.iter().zip(x).map(|(a, x)| a * x).sum()).collect()
}

/// Small integers, so that sums do not depend on their order.
fn numbers(count: usize) -> Vec<f64> {
    (0..count).map(|i| ((i * 37 + 11) % 19) as f64 - 9.0).collect()
}

#[test]
fn all_forms_of_random_matrices_agree_with_the_dense_one() {
    let mut source = Random(3);
    for _ in 0..500 {
        let pattern = random(&mut source);
        let values = numbers(pattern.nnz());
        let a = Csr::new(pattern.clone(), values.clone()).unwrap();
        let mut dense = vec![vec![0.0; pattern.cols()]; pattern.rows()];
        pattern.entries().zip(&values).for_each(|((row, col), &value)| dense[row][col] = value);
        agrees(&a, &dense, pattern.cols());
    }
}

/// Every form of a matrix has these entries.
fn agrees(a: &Csr, dense: &[Vec<f64>], cols: usize) {
    let rows = dense.len();
    let flipped = transposed(dense, cols);
    let (x, y) = (numbers(cols), numbers(rows));
    assert_eq!((a.rows(), a.cols()), (rows, cols));
    assert_eq!(a.to_dense(), dense);
    assert_eq!(a.transpose().to_dense(), flipped);
    assert_eq!(a.transpose().transpose().to_dense(), dense);
    assert_eq!(a.matvec(&x).unwrap(), product(dense, &x));
    assert_eq!(a.matvec_transposed(&y).unwrap(), product(&flipped, &y));
    let csc = a.to_csc();
    if a.stored() == Stored::Whole {
        assert_eq!((csc.to_dense(), csc.to_csr()), (dense.to_vec(), a.clone()));
        assert_eq!(csc.matvec(&x).unwrap(), product(dense, &x));
        assert_eq!(csc.matvec_transposed(&y).unwrap(), product(&flipped, &y));
        let all: Vec<usize> = (0..rows).rev().chain(0..rows).collect();
        let chosen: Vec<Vec<f64>> = all.iter().map(|&row| dense[row].clone()).collect();
        assert_eq!(a.select_rows(&all).unwrap().to_dense(), chosen);
        let all: Vec<usize> = (0..cols).rev().chain(0..cols).collect();
        let chosen: Vec<Vec<f64>> = dense.iter().map(|row| all.iter().map(|&col| row[col]).collect()).collect();
        assert_eq!(a.select_columns(&all).unwrap().to_dense(), chosen);
    }
    assert_eq!(
        Csr::from_triplets(rows, cols, a.whole().triplets().collect::<Vec<_>>().into_iter().rev()).unwrap(),
        a.whole()
    );
    for (row, own) in dense.iter().enumerate() {
        for (col, &value) in own.iter().enumerate() {
            assert_eq!(a.get(row, col).copied().unwrap_or(0.0), value);
            assert_eq!(a.whole().lower().get(row, col).copied().unwrap_or(0.0), if col <= row { value } else { 0.0 });
            assert_eq!(a.upper().get(row, col).copied().unwrap_or(0.0), if col >= row { value } else { 0.0 });
            if a.stored() == Stored::Lower {
                assert_eq!(csc.get(row, col).copied().unwrap_or(0.0), if col <= row { value } else { 0.0 });
            }
        }
    }
}

#[test]
fn the_lower_triangle_of_a_symmetric_matrix_is_all_of_it() {
    let mut source = Random(4);
    for _ in 0..300 {
        let pattern = random_symmetric(&mut source).lower();
        let values = numbers(pattern.nnz());
        let a = Csr::lower_of_symmetric(pattern.clone(), values.clone()).unwrap();
        let mut dense = vec![vec![0.0; pattern.cols()]; pattern.rows()];
        for ((row, col), &value) in pattern.entries().zip(&values) {
            dense[row][col] = value;
            dense[col][row] = value;
        }
        agrees(&a, &dense, pattern.cols());
        assert_eq!((a.stored(), a.whole().stored()), (Stored::Lower, Stored::Whole));
        assert_eq!(a.lower(), a);
    }
}

#[test]
fn numbers_that_are_not_finite_are_kept_and_found() {
    let pattern = Pattern::from_entries(2, 2, [(0, 1), (1, 0), (1, 1)]).unwrap();
    let mut a = Csr::new(pattern, vec![1.0, f64::NAN, f64::INFINITY]).unwrap();
    assert!(matches!(a.non_finite(), Some((1, 0, value)) if value.is_nan()));
    a.values_mut()[1] = 2.0;
    assert_eq!(a.non_finite(), Some((1, 1, f64::INFINITY)));
    a.values_mut()[2] = -0.0;
    assert_eq!(a.non_finite(), None);
    assert_eq!(a.row(1), (&[0, 1][..], &[2.0, -0.0][..]));
    let single = Csr::new(Pattern::diagonal(1), vec![f32::NEG_INFINITY]).unwrap();
    assert_eq!(single.non_finite(), Some((0, 0, f32::NEG_INFINITY)));
}

#[test]
fn what_makes_no_matrix_is_named() {
    fn check<T: std::fmt::Debug>(made: Result<T, MatrixError>, part: &str) {
        let message = made.unwrap_err().to_string();
        assert!(message.contains(part), "{message}");
    }
    let pattern = || Pattern::from_entries(2, 3, [(0, 0), (1, 2)]).unwrap();
    check(Csr::new(pattern(), vec![1.0]), "1 values for a pattern of 2 entries");
    check(Csr::new(pattern(), vec![1.0; 3]), "3 values for a pattern of 2 entries");
    check(Csr::lower_of_symmetric(pattern(), vec![1.0; 2]), "this one is 2 x 3");
    let upper = Pattern::from_entries(2, 2, [(0, 1)]).unwrap();
    check(Csr::lower_of_symmetric(upper, vec![1.0]), "the entry (0, 1) of a lower triangle is above");
    check(Csr::from_rows(3, vec![0, 2], vec![1, 1], vec![1.0; 2]), "in row 0 column 1 stands behind column 1");
    check(Csr::from_rows(3, vec![0, 1], vec![3], vec![1.0]), "row 0 has column 3");
    check(Csr::from_rows(3, vec![0, 2, 1], vec![0], vec![1.0]), "starts");
    check(Csr::from_triplets(2, 2, [(1, 1, 1.0), (0, 0, 2.0), (1, 1, 3.0)]), "the entry (1, 1) is given twice");
    check(Csr::from_triplets(2, 2, [(0, 2, 1.0)]), "(0, 2) is outside a matrix of 2 x 2");
    check(Csr::from_triplets(1, (1 << 32) + 1, [(0, 0, 1.0)]), "2^32 at most");
    check(Csc::from_columns(2, vec![0, 2], vec![1, 0], vec![1.0; 2]), "of the transposed matrix: in row 0 column 0");
    let a = Csr::new(pattern(), vec![1.0, 2.0]).unwrap();
    check(a.matvec(&[1.0; 2]), "matvec: a matrix of 2 x 3 and a vector of 2");
    check(a.matvec_transposed(&[1.0; 3]), "matvec_transposed: a matrix of 2 x 3 and a vector of 3");
    check(a.to_csc().matvec(&[1.0; 2]), "matvec: a matrix of 2 x 3 and a vector of 2");
    check(a.to_csc().matvec_transposed(&[1.0; 3]), "matvec_transposed: a matrix of 2 x 3 and a vector of 3");
    check(a.select_rows(&[2]), "row 2 of a matrix of 2 x 3");
    check(a.select_columns(&[3]), "column 3 of a matrix of 2 x 3");
    let symmetric = Csr::lower_of_symmetric(Pattern::diagonal(2), vec![1.0; 2]).unwrap();
    check(symmetric.select_rows(&[0]), "lower triangle");
    assert_eq!((a.get(5, 0), a.get(0, 1 << 40), a.get(0, 1)), (None, None, None));
    let panic = std::panic::catch_unwind(|| a.row(2).1.len()).unwrap_err();
    assert!(panic.downcast_ref::<String>().unwrap().contains("row 2 of a matrix of 2 x 3"));
}

#[test]
fn matrices_without_rows_or_columns() {
    for (rows, cols) in [(0, 0), (0, 3), (3, 0)] {
        let a = Csr::<f64>::new(Pattern::empty(rows, cols), vec![]).unwrap();
        agrees(&a, &vec![vec![0.0; cols]; rows], cols);
        assert_eq!(a.triplets().count(), 0);
    }
}
