//! Factorisations against what defines them: products, orthogonality, order, signs; faults; threads.

use wengert_kernels::arena::Arena;
use wengert_kernels::factor::{
    Cholesky, CholeskyTangent, Eigh, Entry, Failed, Fault, Lu, LuTangent, Number, Qr, Reads, Side, Solve, Svd, Triangle,
};
use wengert_kernels::{Float, Pool};

/// Numbers between -1 and 1 that look random.
pub(crate) fn noise<T: Number>(count: usize, seed: u64) -> Vec<T> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(1);
    let next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        T::from_f64((state >> 11) as f64 / (1u64 << 52) as f64 - 1.0)
    };
    std::iter::repeat_with(next).take(count).collect()
}

/// `a b` in double precision, with operands that may be transposed.
pub(crate) fn times<T: Number>(a: &[T], b: &[T], [m, k, n]: [usize; 3], [ta, tb]: [bool; 2]) -> Vec<f64> {
    // By rows of both: the tests spend their time here.
    let a: Vec<f64> = (0..m * k).map(|at| a[if ta { at % k * m + at / k } else { at }].to_f64()).collect();
    let b: Vec<f64> = (0..k * n).map(|at| b[if tb { at % n * k + at / n } else { at }].to_f64()).collect();
    let mut c = vec![0.0; m * n];
    for (row, x) in a.iter().enumerate() {
        let sums = &mut c[row / k * n..][..n];
        for (sum, y) in sums.iter_mut().zip(&b[row % k * n..]) {
            *sum += x * y;
        }
    }
    c
}

/// The largest difference is at most as many rounding errors of the largest entry.
#[track_caller]
pub(crate) fn near<T: Number>(got: &[f64], want: impl Fn(usize) -> f64, units: f64, what: &str) {
    let largest = (0..got.len()).map(|k| want(k).abs()).fold(f64::MIN_POSITIVE, f64::max);
    for (k, &x) in got.iter().enumerate() {
        let error = (x - want(k)).abs();
        assert!(error <= units * T::EPSILON.to_f64() * largest, "{what}: entry {k} is {x}, not {}: {error:e}", want(k));
    }
}

#[track_caller]
fn orthonormal<T: Number>(q: &[T], [rows, columns]: [usize; 2], what: &str) {
    let units = 4.0 * (rows + columns) as f64;
    let eye = |k: usize| if k / columns == k % columns { 1.0 } else { 0.0 };
    near::<T>(&times(q, q, [columns, rows, columns], [true, false]), eye, units, what);
}

/// Runs with a workspace of the size that is asked for, on some threads.
pub(crate) fn with<R>(
    bytes: impl Fn(usize) -> usize,
    threads: usize,
    f: impl FnOnce(&mut [wengert_kernels::arena::Line], &Pool) -> R,
) -> R {
    let mut arena = Arena::new(bytes(threads)).unwrap();
    f(arena.as_lines_mut(), &Pool::new(threads))
}

pub(crate) const SIZES: [usize; 12] = [1, 2, 3, 5, 8, 9, 16, 17, 33, 64, 100, 200];
const SHAPES: [[usize; 2]; 15] = [
    [1, 1],
    [1, 4],
    [4, 1],
    [3, 5],
    [5, 3],
    [8, 8],
    [9, 4],
    [4, 9],
    [17, 17],
    [40, 7],
    [7, 40],
    [33, 65],
    [65, 33],
    [130, 20],
    [150, 140],
];

/// Batches: one, some, and more than fill two parts.
pub(crate) fn counts(n: usize) -> &'static [usize] {
    if n <= 9 { &[1, 3, 67] } else { &[1, 3] }
}

fn positive<T: Number>(n: usize, count: usize) -> Vec<T> {
    let x = noise::<T>(n * n * count, 7);
    let mut a = Vec::new();
    for x in x.chunks_exact(n * n) {
        let product = times(x, x, [n, n, n], [false, true]);
        a.extend(product.iter().enumerate().map(|(k, &x)| T::from_f64(x + if k / n == k % n { 0.5 } else { 0.0 })));
    }
    a
}

fn check_cholesky<T: Number>() {
    for n in SIZES {
        for &count in counts(n) {
            let mut a = positive::<T>(n, count);
            let want = a.clone();
            // Nothing above the diagonal is read.
            (0..a.len()).filter(|k| k % n > k / n % n).for_each(|k| a[k] = T::NAN);
            let cholesky = Cholesky { n, count, reads: Reads::Lower };
            with(|threads| cholesky.workspace::<T>(threads), 2, |w, pool| cholesky.run(&mut a, w, pool)).unwrap();
            for (l, want) in a.chunks_exact(n * n).zip(want.chunks_exact(n * n)) {
                assert!((0..n * n).all(|k| k % n <= k / n || l[k] == T::ZERO));
                let product = times(l, l, [n, n, n], [false, true]);
                near::<T>(&product, |k| want[k].to_f64(), 4.0 * n as f64, &format!("cholesky {n}"));
            }
            let mut skewed = want.clone();
            for k in (0..a.len()).filter(|k| k % n > k / n % n) {
                let mirrored = k / (n * n) * n * n + k % n * n + k / n % n;
                let shift = T::from_f64(0.25);
                (skewed[k], skewed[mirrored]) = (skewed[k] + shift, skewed[mirrored] - shift);
            }
            let mean = Cholesky { reads: Reads::Mean, ..cholesky };
            with(|threads| mean.workspace::<T>(threads), 1, |w, pool| mean.run(&mut skewed, w, pool)).unwrap();
            let lower: Vec<f64> = skewed.iter().map(|x| x.to_f64()).collect();
            near::<T>(&lower, |k| a[k].to_f64(), 60.0 * (n * n) as f64, &format!("the mean, {n}"));
        }
    }
}

fn check_solve<T: Number>() {
    for n in SIZES {
        for columns in [1, 4, 9, 30] {
            for option in 0..16 {
                let count = if n <= 9 { 11 } else { 2 };
                let [triangle, side, transposed, unit] =
                    [option & 1, option & 2, option & 4, option & 8].map(|bit| bit != 0);
                let triangle = if triangle { Triangle::Lower } else { Triangle::Upper };
                let side = if side { Side::Left } else { Side::Right };
                let solve = Solve { n, columns, count, triangle, side, transposed, unit };
                let lower = triangle == Triangle::Lower;
                let mut a = noise::<T>(n * n * count, 1);
                for (k, x) in a.iter_mut().enumerate() {
                    let [row, column] = [k / n % n, k % n];
                    *x = match row == column {
                        true if unit => T::NAN,
                        true => T::from_f64(2.0) + *x,
                        false if (column < row) == lower => *x / T::from_f64(n as f64),
                        false => T::NAN,
                    };
                }
                let b = noise::<T>(n * columns * count, 2);
                let mut x = b.clone();
                with(|threads| solve.workspace::<T>(threads), 2, |w, pool| solve.run(&a, &mut x, w, pool)).unwrap();
                for k in 0..count {
                    let mut a = a[k * n * n..(k + 1) * n * n].to_vec();
                    for (k, x) in a.iter_mut().enumerate() {
                        let [row, column] = [k / n, k % n];
                        if row != column && (column < row) != lower {
                            *x = T::ZERO;
                        } else if row == column && unit {
                            *x = T::ONE;
                        }
                    }
                    let piece = k * n * columns..(k + 1) * n * columns;
                    let (x, b) = (&x[piece.clone()], &b[piece]);
                    let product = match side {
                        Side::Left => times(&a, x, [n, n, columns], [transposed, false]),
                        Side::Right => times(x, &a, [columns, n, n], [false, transposed]),
                    };
                    near::<T>(&product, |k| b[k].to_f64(), 8.0 * n as f64, &format!("{solve:?}"));
                }
            }
        }
    }
}

fn check_lu<T: Number>() {
    for [rows, columns] in SHAPES.into_iter().chain(SIZES.map(|n| [n, n])) {
        for &count in counts(rows.max(columns)) {
            let (rank, size) = (rows.min(columns), rows * columns);
            let lu = Lu { rows, columns, count };
            let mut a = noise::<T>(size * count, 3);
            // A singular one: columns of zeros, and two equal rows.
            a[..size].iter_mut().enumerate().filter(|(k, _)| k % columns == 1).for_each(|(_, x)| *x = T::ZERO);
            if rows > 2 {
                a.copy_within(0..columns, columns);
            }
            let (mut l, mut u) = (vec![T::NAN; rows * rank * count], vec![T::NAN; rank * columns * count]);
            let mut order = vec![-1; rows * count];
            with(|threads| lu.workspace::<T>(threads), 2, |w, pool| lu.run(&a, &mut l, &mut u, &mut order, w, pool))
                .unwrap();
            for k in 0..count {
                let l = &l[k * rows * rank..(k + 1) * rows * rank];
                let u = &u[k * rank * columns..(k + 1) * rank * columns];
                let (order, a) = (&order[k * rows..(k + 1) * rows], &a[k * size..(k + 1) * size]);
                let mut sorted = order.to_vec();
                sorted.sort_unstable();
                assert!(sorted.iter().copied().eq(0..rows as i64), "{order:?}");
                assert!(l.iter().all(|&x| Float::abs(x) <= T::ONE), "no larger pivot is passed over");
                assert!(
                    (0..l.len())
                        .all(|k| k % rank < k / rank || l[k] == if k % rank == k / rank { T::ONE } else { T::ZERO })
                );
                assert!((0..u.len()).all(|k| k % columns >= k / columns || u[k] == T::ZERO));
                let want = |k: usize| a[order[k / columns] as usize * columns + k % columns].to_f64();
                let product = times(l, u, [rows, rank, columns], [false, false]);
                near::<T>(&product, want, 16.0 * rank as f64, &format!("lu {rows} {columns}"));
            }
        }
    }
}

fn check_qr<T: Number>() {
    for [rows, columns] in SHAPES.into_iter().chain(SIZES.map(|n| [n, n])) {
        for &count in counts(rows.max(columns)) {
            let (rank, size) = (rows.min(columns), rows * columns);
            let qr = Qr { rows, columns, count };
            let mut a = noise::<T>(size * count, 4);
            // One without full rank.
            a[..size].iter_mut().enumerate().filter(|(k, _)| k % columns == 1).for_each(|(_, x)| *x = T::ZERO);
            let (mut q, mut r) = (vec![T::NAN; rows * rank * count], vec![T::NAN; rank * columns * count]);
            with(|threads| qr.workspace::<T>(threads), 2, |w, pool| qr.run(&a, &mut q, &mut r, w, pool)).unwrap();
            for k in 0..count {
                let q = &q[k * rows * rank..(k + 1) * rows * rank];
                let r = &r[k * rank * columns..(k + 1) * rank * columns];
                let a = &a[k * size..(k + 1) * size];
                orthonormal(q, [rows, rank], &format!("q of {rows} {columns}"));
                assert!((0..rank).all(|k| r[k * columns + k] >= T::ZERO));
                assert!((0..r.len()).all(|k| k % columns >= k / columns || r[k] == T::ZERO));
                let product = times(q, r, [rows, rank, columns], [false, false]);
                near::<T>(&product, |k| a[k].to_f64(), 8.0 * (rows + columns) as f64, &format!("qr {rows} {columns}"));
            }
        }
    }
}

/// Columns that are nearly those before them, as near as the type tells, and of very different lengths: whether Gram matrices or
/// reflections are taken, columns are orthonormal, and each column of the product is that of the matrix but for rounding.
fn check_tall_qr<T: Number>() {
    let digits = -T::EPSILON.to_f64().log10() as i32;
    for [rows, columns] in [[2, 1], [20, 9], [64, 32], [257, 40], [300, 16], [500, 100]] {
        for exponent in (0..=digits).step_by(2) {
            let (size, distance) = (rows * columns, 10f64.powi(-exponent));
            let mut a: Vec<f64> = noise::<f64>(size, exponent as u64 + 11);
            for k in (0..size).filter(|k| k % columns % 2 == 1) {
                a[k] = a[k - 1] + distance * a[k];
            }
            let length = |column: usize| [1.0, 1e-30, 1e30][column % 3];
            let a: Vec<T> = a.iter().enumerate().map(|(k, x)| T::from_f64(x * length(k % columns))).collect();
            let (mut q, mut r) = (vec![T::NAN; size], vec![T::NAN; columns * columns]);
            let qr = Qr { rows, columns, count: 1 };
            with(|threads| qr.workspace::<T>(threads), 2, |w, pool| qr.run(&a, &mut q, &mut r, w, pool)).unwrap();
            let what = format!("qr {rows} {columns}, distance 1e-{exponent}");
            orthonormal(&q, [rows, columns], &what);
            assert!((0..columns).all(|k| r[k * columns + k] >= T::ZERO), "{what}");
            assert!((0..r.len()).all(|k| k % columns >= k / columns || r[k] == T::ZERO), "{what}");
            let product = times(&q, &r, [rows, columns, columns], [false, false]);
            for column in 0..columns {
                let of_column = |row: usize| row * columns + column;
                let got: Vec<f64> = (0..rows).map(|row| product[of_column(row)]).collect();
                near::<T>(&got, |row| a[of_column(row)].to_f64(), 8.0 * (rows + columns) as f64, &what);
            }
        }
    }
}

/// That the first component of each column that is not as good as zero is positive.
fn oriented<T: Number>(v: &[T], [rows, columns]: [usize; 2]) -> bool {
    (0..columns).all(|column| {
        let entries = || (0..rows).map(|row| v[row * columns + column]);
        let largest = entries().fold(T::ZERO, |most, x| if Float::abs(x) > most { Float::abs(x) } else { most });
        entries().find(|&x| Float::abs(x) > largest * T::NEGLIGIBLE).is_some_and(|x| x > T::ZERO)
    })
}

fn check_eigh<T: Number>() {
    for n in SIZES {
        for &count in counts(n) {
            let mut a = noise::<T>(n * n * count, 5);
            for k in (0..a.len()).filter(|k| k % n > k / n % n) {
                a[k] = a[k / (n * n) * n * n + k % n * n + k / n % n];
            }
            // A repeated value, and a matrix of zeros.
            for (k, x) in a.iter_mut().enumerate().take(n * n) {
                *x = if k % n == k / n { T::from_f64(3.0) } else { T::ZERO };
            }
            if count > 2 {
                a[n * n..2 * n * n].fill(T::ZERO);
            }
            let (mut v, mut values) = (a.clone(), vec![T::NAN; n * count]);
            let eigh = Eigh { n, count, reads: Reads::Mean };
            with(|threads| eigh.workspace::<T>(threads), 2, |w, pool| eigh.run(&mut v, &mut values, w, pool)).unwrap();
            for k in 0..count {
                let (a, v) = (&a[k * n * n..(k + 1) * n * n], &v[k * n * n..(k + 1) * n * n]);
                let values = &values[k * n..(k + 1) * n];
                assert!(values.is_sorted(), "{values:?}");
                orthonormal(v, [n, n], &format!("vectors of {n}"));
                assert!(oriented(v, [n, n]), "{n}");
                let scaled: Vec<T> = (0..n * n).map(|k| v[k] * values[k % n]).collect();
                let product = times(&scaled, v, [n, n, n], [false, true]);
                near::<T>(&product, |k| a[k].to_f64(), 12.0 * n as f64, &format!("eigh {n}"));
            }
        }
    }
}

fn check_svd<T: Number>() {
    for [rows, columns] in SHAPES.into_iter().chain(SIZES.map(|n| [n, n])) {
        for &count in counts(rows.max(columns)) {
            let (rank, size) = (rows.min(columns), rows * columns);
            let svd = Svd { rows, columns, count };
            let mut a = noise::<T>(size * count, 6);
            a[..size].iter_mut().enumerate().filter(|(k, _)| k % columns == 1).for_each(|(_, x)| *x = T::ZERO);
            if count > 2 {
                a[size..2 * size].fill(T::ZERO);
            }
            let (mut u, mut vt) = (vec![T::NAN; rows * rank * count], vec![T::NAN; rank * columns * count]);
            let mut values = vec![T::NAN; rank * count];
            with(
                |threads| svd.workspace::<T>(threads),
                2,
                |w, pool| svd.run(&a, &mut u, &mut values, &mut vt, w, pool),
            )
            .unwrap();
            for k in 0..count {
                let u = &u[k * rows * rank..(k + 1) * rows * rank];
                let vt = &vt[k * rank * columns..(k + 1) * rank * columns];
                let (values, a) = (&values[k * rank..(k + 1) * rank], &a[k * size..(k + 1) * size]);
                assert!(values.is_sorted_by(|x, y| x >= y) && values[rank - 1] >= T::ZERO, "{values:?}");
                orthonormal(u, [rows, rank], &format!("u of {rows} {columns}"));
                let v: Vec<T> = (0..vt.len()).map(|k| vt[k % rank * columns + k / rank]).collect();
                orthonormal(&v, [columns, rank], &format!("v of {rows} {columns}"));
                assert!(oriented(u, [rows, rank]));
                let scaled: Vec<T> = (0..u.len()).map(|k| u[k] * values[k % rank]).collect();
                let product = times(&scaled, vt, [rows, rank, columns], [false, false]);
                near::<T>(
                    &product,
                    |k| a[k].to_f64(),
                    12.0 * (rows + columns) as f64,
                    &format!("svd {rows} {columns}"),
                );
            }
        }
    }
}

macro_rules! both {
    ($($name:ident $check:ident),*) => {$(
        #[test]
        fn $name() {
            $check::<f64>();
            $check::<f32>();
        }
    )*};
}
both!(
    cholesky_factors_multiply_to_the_matrix check_cholesky,
    triangular_systems_hold check_solve,
    lu_factors_multiply_to_the_rows check_lu,
    qr_factors_multiply_to_the_matrix check_qr,
    tall_qr_factors_of_any_condition check_tall_qr,
    eigenvectors_diagonalise check_eigh,
    singular_vectors_diagonalise check_svd
);

/// The bits of everything for a large matrix and for a batch.
fn everything(threads: usize) -> Vec<u64> {
    let mut bits = Vec::new();
    for (n, count) in [(6, 1000), (8, 77), (20, 50), (150, 1), (400, 1)] {
        let mut note = |x: &[f64]| bits.extend(x.iter().map(|x| x.to_bits()));
        let mut l = noise::<f64>(n * n * count, 8);
        (0..l.len()).filter(|k| k % n == k / n % n).for_each(|k| l[k] += n as f64);
        let a = l.clone();
        let cholesky = Cholesky { n, count, reads: Reads::Mean };
        with(|threads| cholesky.workspace::<f64>(threads), threads, |w, pool| cholesky.run(&mut l, w, pool)).unwrap();
        note(&l);
        for transposed in [false, true] {
            let (tangent, mut x) = (CholeskyTangent { n, count, transposed }, a.clone());
            with(|threads| tangent.workspace::<f64>(threads), threads, |w, pool| tangent.run(&l, &mut x, w, pool))
                .unwrap();
            note(&x);
        }
        for (side, triangle) in [(Side::Left, Triangle::Lower), (Side::Right, Triangle::Upper)] {
            let solve = Solve { n, columns: n, count, triangle, side, transposed: side == Side::Right, unit: false };
            let mut b = a.clone();
            with(|threads| solve.workspace::<f64>(threads), threads, |w, pool| solve.run(&a, &mut b, w, pool)).unwrap();
            note(&b);
        }
        let (mut x, mut y, mut z) = (a.clone(), a.clone(), vec![0.0; n * count]);
        let lu = Lu { rows: n, columns: n, count };
        let mut order = vec![0; n * count];
        let run = |w: &mut _, pool: &_| lu.run(&a, &mut x, &mut y, &mut order, w, pool);
        with(|threads| lu.workspace::<f64>(threads), threads, run).unwrap();
        note(&x);
        note(&y);
        for transposed in [false, true] {
            let (tangent, mut slope) = (LuTangent { n, count, transposed }, a.clone());
            let run = |w: &mut _, pool: &_| tangent.run(&x, &y, &mut slope, w, pool);
            with(|threads| tangent.workspace::<f64>(threads), threads, run).unwrap();
            note(&slope);
        }
        let qr = Qr { rows: n, columns: n, count };
        with(|threads| qr.workspace::<f64>(threads), threads, |w, pool| qr.run(&a, &mut x, &mut y, w, pool)).unwrap();
        note(&x);
        note(&y);
        let tall = Qr { rows: 3 * n, columns: n / 2, count };
        let b = noise::<f64>(tall.rows * tall.columns * count, 9);
        let (mut q, mut r) = (vec![0.0; b.len()], vec![0.0; tall.columns * tall.columns * count]);
        with(|threads| tall.workspace::<f64>(threads), threads, |w, pool| tall.run(&b, &mut q, &mut r, w, pool))
            .unwrap();
        note(&q);
        note(&r);
        if n < 200 {
            let svd = Svd { rows: n, columns: n, count };
            let run = |w: &mut _, pool: &_| svd.run(&a, &mut x, &mut z, &mut y, w, pool);
            with(|threads| svd.workspace::<f64>(threads), threads, run).unwrap();
            note(&x);
            note(&y);
            note(&z);
            let eigh = Eigh { n, count, reads: Reads::Mean };
            let mut v = a.clone();
            with(|threads| eigh.workspace::<f64>(threads), threads, |w, pool| eigh.run(&mut v, &mut z, w, pool))
                .unwrap();
            note(&v);
            note(&z);
        }
    }
    bits
}

#[test]
fn the_same_bits_on_any_number_of_threads() {
    let one = everything(1);
    for threads in [2, 7] {
        assert!(everything(threads) == one, "{threads} threads");
    }
}

/// A matrix has the same factor wherever it stands in a batch.
#[test]
fn a_matrix_does_not_see_its_batch() {
    let (n, count) = (5, 100);
    let a = positive::<f64>(n, count);
    let factor = |a: &[f64]| {
        let mut l = a.to_vec();
        let cholesky = Cholesky { n, count: a.len() / (n * n), reads: Reads::Lower };
        with(|threads| cholesky.workspace::<f64>(threads), 2, |w, pool| cholesky.run(&mut l, w, pool)).unwrap();
        l
    };
    let all = factor(&a);
    for (one, of_all) in a.chunks_exact(n * n).zip(all.chunks_exact(n * n)) {
        assert_eq!(factor(one), of_all);
    }
}

/// One matrix with a fault, in the middle of a batch of good ones: its results are NaN, the others are as without it.
#[test]
fn faults_are_found_and_kept_to_their_matrix() {
    for n in [3, 8, 12, 40] {
        let (count, bad) = (20, 13);
        let good = positive::<f64>(n, count);
        let at = bad * n * n;
        let run = |a: &mut [f64]| {
            let cholesky = Cholesky { n, count, reads: Reads::Lower };
            with(|threads| cholesky.workspace::<f64>(threads), 2, |w, pool| cholesky.run(a, w, pool))
        };
        let mut want = good.clone();
        run(&mut want).unwrap();
        let cases = [
            ((n - 1) * (n + 1), -1.0, Fault::NotPositive { minor: n }),
            (0, 0.0, Fault::NotPositive { minor: 1 }),
            ((n - 1) * n, f64::NAN, Fault::NotFinite { row: n - 1, column: 0, entry: Entry::Nan }),
            (n + 1, f64::INFINITY, Fault::NotFinite { row: 1, column: 1, entry: Entry::Infinite }),
        ];
        for (place, value, fault) in cases {
            let mut a = good.clone();
            a[at + place] = value;
            assert_eq!(run(&mut a), Err(Failed { index: bad, fault }));
            assert!(a[at..at + n * n].iter().all(|x| x.is_nan()));
            assert!(a[..at] == want[..at] && a[at + n * n..] == want[at + n * n..], "{n}");
        }
        let solve =
            Solve { n, columns: 2, count, triangle: Triangle::Upper, side: Side::Left, transposed: false, unit: false };
        let (mut a, mut b) = (good.clone(), vec![1.0; 2 * n * count]);
        a[at + n + 1] = 0.0;
        let failed = with(|threads| solve.workspace::<f64>(threads), 1, |w, pool| solve.run(&a, &mut b, w, pool));
        assert_eq!(failed, Err(Failed { index: bad, fault: Fault::Singular { pivot: 1 } }));
        assert!(b.chunks_exact(2 * n).enumerate().all(|(k, b)| b.iter().all(|x| x.is_nan()) == (k == bad)));
        for transposed in [false, true] {
            let (tangent, mut x) = (CholeskyTangent { n, count, transposed }, good.clone());
            let run = |w: &mut _, pool: &_| tangent.run(&a, &mut x, w, pool);
            let failed = with(|threads| tangent.workspace::<f64>(threads), 2, run);
            assert_eq!(failed, Err(Failed { index: bad, fault: Fault::Singular { pivot: 1 } }));
            assert!(x.chunks_exact(n * n).enumerate().all(|(k, x)| x.iter().all(|x| x.is_nan()) == (k == bad)));
            let (tangent, mut x) = (LuTangent { n, count, transposed }, good.clone());
            let run = |w: &mut _, pool: &_| tangent.run(&good, &a, &mut x, w, pool);
            let failed = with(|threads| tangent.workspace::<f64>(threads), 2, run);
            assert_eq!(failed, Err(Failed { index: bad, fault: Fault::Singular { pivot: 1 } }));
            assert!(x.chunks_exact(n * n).enumerate().all(|(k, x)| x.iter().all(|x| x.is_nan()) == (k == bad)));
        }
        let mut a = good.clone();
        a[at + 2] = f64::NEG_INFINITY;
        let failed =
            Err(Failed { index: bad, fault: Fault::NotFinite { row: 0, column: 2, entry: Entry::MinusInfinite } });
        let (mut x, mut y, mut z) = (good.clone(), good.clone(), vec![0.0; n * count]);
        let svd = Svd { rows: n, columns: n, count };
        let run = |w: &mut _, pool: &_| svd.run(&a, &mut x, &mut z, &mut y, w, pool);
        assert_eq!(with(|threads| svd.workspace::<f64>(threads), 2, run), failed);
        let qr = Qr { rows: n, columns: n, count };
        let run = |w: &mut _, pool: &_| qr.run(&a, &mut x, &mut y, w, pool);
        assert_eq!(with(|threads| qr.workspace::<f64>(threads), 2, run), failed);
        let mut order = vec![0; n * count];
        let lu = Lu { rows: n, columns: n, count };
        let run = |w: &mut _, pool: &_| lu.run(&a, &mut x, &mut y, &mut order, w, pool);
        assert_eq!(with(|threads| lu.workspace::<f64>(threads), 2, run), failed);
        let eigh = Eigh { n, count, reads: Reads::Mean };
        let failed = with(|threads| eigh.workspace::<f64>(threads), 2, |w, pool| eigh.run(&mut a, &mut z, w, pool));
        assert_eq!(
            failed,
            Err(Failed { index: bad, fault: Fault::NotFinite { row: 0, column: 2, entry: Entry::MinusInfinite } })
        );
        assert!(a.chunks_exact(n * n).enumerate().all(|(k, v)| v.iter().all(|x| x.is_nan()) == (k == bad)));
    }
}

/// Entries near the ends of the range neither overflow nor vanish on the way.
#[test]
fn scale_does_not_matter() {
    for n in [4, 12] {
        for scale in [1e-300, 1e300] {
            let a: Vec<f64> = noise::<f64>(n * n, 9).iter().map(|x| x * scale).collect();
            let (mut u, mut values, mut vt) = (a.clone(), vec![0.0; n], a.clone());
            let svd = Svd { rows: n, columns: n, count: 1 };
            let run = |w: &mut _, pool: &_| svd.run(&a, &mut u, &mut values, &mut vt, w, pool);
            with(|threads| svd.workspace::<f64>(threads), 1, run).unwrap();
            let scaled: Vec<f64> = (0..n * n).map(|k| u[k] * (values[k % n] / scale)).collect();
            let product = times(&scaled, &vt, [n, n, n], [false, false]);
            near::<f64>(&product, |k| a[k] / scale, 12.0 * n as f64, "svd");
        }
    }
}

#[test]
fn nothing_has_factors_too() {
    let pool = Pool::new(2);
    for (rows, columns, count) in [(0, 0, 3), (4, 0, 2), (0, 4, 2), (3, 3, 0)] {
        let mut order = vec![7; rows * count];
        let empty: &mut [f64] = &mut [];
        Lu { rows, columns, count }.run(&[], &mut [], empty, &mut order, &mut [], &pool).unwrap();
        assert!(order.iter().enumerate().all(|(k, &row)| row == (k % rows) as i64));
        Qr { rows, columns, count }.run::<f64>(&[], &mut [], &mut [], &mut [], &pool).unwrap();
        Svd { rows, columns, count }.run::<f64>(&[], &mut [], &mut [], &mut [], &mut [], &pool).unwrap();
    }
    Eigh { n: 0, count: 2, reads: Reads::Mean }.run::<f64>(&mut [], &mut [], &mut [], &pool).unwrap();
    Cholesky { n: 0, count: 2, reads: Reads::Mean }.run::<f64>(&mut [], &mut [], &pool).unwrap();
    CholeskyTangent { n: 0, count: 2, transposed: true }.run::<f64>(&[], &mut [], &mut [], &pool).unwrap();
    LuTangent { n: 0, count: 2, transposed: true }.run::<f64>(&[], &[], &mut [], &mut [], &pool).unwrap();
}
