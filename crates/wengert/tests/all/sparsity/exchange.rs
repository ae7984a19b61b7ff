//! Sparse matrices of other libraries: views share memory, copies come back the same.

use super::patterns::{Random, random};
use wengert::sparsity::{Csc, Csr};

/// Random matrices, those without rows, columns or entries among them.
fn matrices() -> impl Iterator<Item = Csr> {
    let mut source = Random(8);
    (0..200).map(move |_| {
        let pattern = random(&mut source);
        let values = (0..pattern.nnz()).map(|i| i as f64 + 0.5).collect();
        Csr::new(pattern, values).unwrap()
    })
}

#[test]
fn faer_borrows_and_comes_back() {
    for a in matrices() {
        let view = a.as_faer().unwrap();
        assert!(std::ptr::eq(view.val(), a.values()) && std::ptr::eq(view.symbolic().col_idx(), a.pattern().columns()));
        assert_eq!((view.nrows(), view.ncols()), (a.rows(), a.cols()));
        let dense = view.to_dense();
        for (row, own) in a.to_dense().iter().enumerate() {
            own.iter().enumerate().for_each(|(col, &value)| assert_eq!(dense[(row, col)], value));
        }
        assert_eq!(Csr::from_faer(view).unwrap(), a);
        let csc = a.to_csc();
        let view = csc.as_faer().unwrap();
        assert!(std::ptr::eq(view.val(), csc.values()) && std::ptr::eq(view.symbolic().row_idx(), csc.row_indices()));
        assert_eq!(view.to_dense(), dense);
        assert_eq!(Csc::from_faer(view).unwrap(), csc);
    }
}

#[test]
fn unsorted_columns_of_faer_are_refused() {
    use faer::sparse::{SparseRowMatRef, SymbolicSparseRowMatRef};
    let (starts, columns, values) = ([0_usize, 2], [1_usize, 0], [1.0, 2.0]);
    let symbolic = SymbolicSparseRowMatRef::new_unsorted_checked(1, 2, &starts, None, &columns);
    let message = Csr::from_faer(SparseRowMatRef::new(symbolic, &values)).unwrap_err().to_string();
    assert!(message.contains("column 0 stands behind column 1"), "{message}");
}

#[test]
fn sprs_borrows_and_comes_back() {
    for a in matrices() {
        let view = a.as_sprs();
        assert!(view.is_csr() && std::ptr::eq(view.data(), a.values()));
        assert!(std::ptr::eq(view.indices(), a.pattern().columns()));
        let found: Vec<_> = view.iter().map(|(&value, (row, col))| (row as usize, col as usize, value)).collect();
        assert_eq!(found, a.triplets().collect::<Vec<_>>());
        let csc = a.to_csc();
        assert!(csc.as_sprs().is_csc() && std::ptr::eq(csc.as_sprs().data(), csc.values()));
        assert_eq!(csc.as_sprs().shape(), (a.rows(), a.cols()));
        for view in [a.as_sprs(), csc.as_sprs()] {
            assert_eq!(Csr::from_sprs(view).unwrap(), a);
            assert_eq!(Csc::from_sprs(view).unwrap(), csc);
        }
    }
}

#[test]
fn nalgebra_takes_values_and_gives_them_back() {
    for a in matrices() {
        let at = a.values().as_ptr();
        let values: Vec<f64> = a.values().to_vec();
        let theirs = a.clone().into_nalgebra();
        assert_eq!(
            theirs.triplet_iter().map(|(row, col, &v)| (row, col, v)).collect::<Vec<_>>(),
            a.triplets().collect::<Vec<_>>()
        );
        assert_eq!(Csr::from_nalgebra(theirs).unwrap(), a);
        let csc = a.to_csc();
        let theirs = csc.clone().into_nalgebra();
        assert_eq!((theirs.nrows(), theirs.ncols(), theirs.values()), (a.rows(), a.cols(), csc.values()));
        assert_eq!(Csc::from_nalgebra(theirs).unwrap(), csc);
        // The list itself moves to and fro.
        let back = Csr::from_nalgebra(a.into_nalgebra()).unwrap();
        assert_eq!((back.values().as_ptr(), back.values()), (at, &values[..]));
    }
}
