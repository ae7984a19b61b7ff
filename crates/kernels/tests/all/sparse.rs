//! Systems of known solutions, on both kinds of factors of the library, and what is refused.

use wengert_kernels::sparse::*;

/// A matrix in compressed rows.
struct Matrix {
    starts: Vec<usize>,
    columns: Vec<u32>,
    values: Vec<f64>,
}

impl Matrix {
    fn of(rows: &[Vec<(u32, f64)>]) -> Self {
        let mut matrix = Matrix { starts: vec![0], columns: Vec::new(), values: Vec::new() };
        for row in rows {
            matrix.columns.extend(row.iter().map(|entry| entry.0));
            matrix.values.extend(row.iter().map(|entry| entry.1));
            matrix.starts.push(matrix.columns.len());
        }
        matrix
    }

    /// Five points of a square of this side, with convection, so that it is not symmetric.
    fn five_points(side: u32, convection: f64) -> Self {
        let mut rows = Vec::new();
        for place in 0..side * side {
            let (i, j) = (place / side, place % side);
            let mut row = Vec::new();
            let mut add = |there: bool, col: u32, value: f64| row.extend(there.then_some((col, value)));
            add(i > 0, place.wrapping_sub(side), -1.0 - convection);
            add(j > 0, place.wrapping_sub(1), -1.0 - convection);
            add(true, place, 4.0 + f64::from(place % 7) / 8.0);
            add(j + 1 < side, place + 1, -1.0 + convection);
            add(i + 1 < side, place + side, -1.0 + convection);
            rows.push(row);
        }
        Matrix::of(&rows)
    }

    fn analysis(&self, kind: SparseKind) -> Analysis {
        Analysis::new(&self.starts, &self.columns, kind).unwrap()
    }

    fn times(&self, x: &[f64], columns: usize, transpose: bool) -> Vec<f64> {
        let mut y = vec![0.0; x.len()];
        for (row, bounds) in self.starts.windows(2).enumerate() {
            for entry in bounds[0]..bounds[1] {
                let col = self.columns[entry] as usize;
                let (to, from) = if transpose { (col, row) } else { (row, col) };
                for k in 0..columns {
                    y[to * columns + k] += self.values[entry] * x[from * columns + k];
                }
            }
        }
        y
    }
}

fn numbers(count: usize) -> Vec<f64> {
    (0..count).map(|k| (k as f64 * 0.618_033_988_7).fract() - 0.4).collect()
}

/// Solves with the matrix and its transpose; both kinds of factors of the library are met, by columns and in blocks.
fn check(matrix: &Matrix, kind: SparseKind, columns: usize) {
    let analysis = matrix.analysis(kind);
    let factors = analysis.factors(&matrix.values).unwrap();
    for transpose in [false, true] {
        let x = numbers(analysis.order() * columns);
        let mut b = matrix.times(&x, columns, transpose);
        analysis.solve(&factors, transpose, &mut b, columns).unwrap();
        let off = b.iter().zip(&x).fold(0.0f64, |off, (got, wanted)| off.max((got - wanted).abs()));
        // The diagonals dominate: the condition is that of the Laplacian, below a hundred times the side's square.
        assert!(off < 1e-11, "off by {off:e} of order {} with {columns} columns", analysis.order());
    }
}

#[test]
fn systems_are_solved_forwards_and_transposed() {
    for side in [1, 2, 5, 30, 120] {
        for columns in [1, 3, 16, 17, 40] {
            check(&Matrix::five_points(side, 0.3), SparseKind::General, if side > 50 { 1 } else { columns });
            check(&Matrix::five_points(side, 0.0), SparseKind::Positive, if side > 50 { 2 } else { columns });
        }
    }
}

#[test]
fn full_matrices_are_factored_in_blocks() {
    let n = 150u32;
    let x = numbers((n * n) as usize);
    let row = |i: u32| (0..n).map(|j| (j, x[(i * n + j) as usize] + if i + j + 1 == n { 90.0 } else { 0.0 })).collect();
    check(&Matrix::of(&(0..n).map(row).collect::<Vec<_>>()), SparseKind::General, 2);
}

#[test]
fn rows_without_a_pivot_are_named_also_in_blocks() {
    for side in [3u32, 30, 120] {
        let mut matrix = Matrix::five_points(side, 0.3);
        let (row, other) = (side as usize + 1, side as usize + 2);
        // Nothing but the diagonal in two rows, and that at one place.
        for (row, keeps) in [(row, row), (other, row)] {
            for entry in matrix.starts[row]..matrix.starts[row + 1] {
                matrix.values[entry] = if matrix.columns[entry] as usize == keeps { 2.0 } else { 0.0 };
            }
        }
        let analysis = matrix.analysis(SparseKind::General);
        let mut b = vec![1.0; analysis.order()];
        let failed = analysis.factors(&matrix.values).and_then(|factors| analysis.solve(&factors, false, &mut b, 1));
        assert!(
            matches!(failed, Err(SparseFault::Singular { row: named }) if named == row || named == other),
            "{failed:?} for {row} and {other}"
        );
    }
}

#[test]
fn rows_that_are_not_positive_are_named_also_in_blocks() {
    for side in [1u32, 3, 30, 120] {
        let mut matrix = Matrix::five_points(side, 0.0);
        let row = (side * side / 2) as usize;
        let entry = (matrix.starts[row]..matrix.starts[row + 1]).find(|&entry| matrix.columns[entry] as usize == row);
        // The other rows are a positive definite matrix without it.
        matrix.values[entry.unwrap()] = -1.0;
        let analysis = matrix.analysis(SparseKind::Positive);
        assert_eq!(analysis.factors(&matrix.values).unwrap_err(), SparseFault::NotPositive { row });
    }
}

#[test]
fn what_is_not_finite_is_told() {
    let mut matrix = Matrix::five_points(3, 0.0);
    for kind in [SparseKind::General, SparseKind::Positive] {
        let analysis = matrix.analysis(kind);
        let factors = analysis.factors(&matrix.values).unwrap();
        let mut b = vec![1.0; 18];
        b[5] = f64::INFINITY;
        analysis.solve(&factors, false, &mut b, 2).unwrap();
        assert!(b.iter().enumerate().all(|(k, x)| x.is_nan() == (k % 2 == 1)), "{b:?}");
        let huge: Vec<f64> = matrix.values.iter().map(|x| x * 1e-308).collect();
        let factors = analysis.factors(&huge).unwrap();
        assert_eq!(analysis.solve(&factors, false, &mut [1e9; 9], 1), Err(SparseFault::Overflow));
        assert!(!factors.are_of(&matrix.values) && factors.are_of(&huge));
    }
    matrix.values[4] = f64::NAN;
    let analysis = matrix.analysis(SparseKind::General);
    assert_eq!(analysis.factors(&matrix.values).unwrap_err(), SparseFault::NotFinite { entry: 4 });
}

#[test]
fn the_size_of_factors_is_estimated() {
    // A band of 3 has no more entries in its factors; an arrow with its tip first neither, in the right order.
    let band: Vec<Vec<(u32, f64)>> =
        (0..50u32).map(|row| (row.saturating_sub(1)..(row + 2).min(50)).map(|col| (col, 1.0)).collect()).collect();
    let arrow: Vec<Vec<(u32, f64)>> = (0..50u32)
        .map(|row| if row == 0 { (0..50).map(|col| (col, 1.0)).collect() } else { vec![(row, 1.0)] })
        .collect();
    assert_eq!(Matrix::of(&band).analysis(SparseKind::Positive).estimated_size(), 99);
    assert_eq!(Matrix::of(&band).analysis(SparseKind::General).estimated_size(), 4 * 99);
    assert_eq!(Matrix::of(&arrow).analysis(SparseKind::General).estimated_size(), 4 * 99);
}

#[test]
fn nothing_is_solved_too() {
    let analysis = Analysis::new(&[0], &[], SparseKind::General).unwrap();
    let factors = analysis.factors::<f32>(&[]).unwrap();
    analysis.solve(&factors, false, &mut [], 3).unwrap();
}
