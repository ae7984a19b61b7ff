//! Determinants and matrices of cofactors against their definitions, whatever the rank is.

use wengert_kernels::factor::{Cofactors, Determinants, Entry, Failed, Fault, Number};
use wengert_kernels::plain;

use crate::factor::{counts, noise, with};

/// Orders that are minors, in lanes, and beyond them; singular vectors of the large ones are those of a library.
const ORDERS: [usize; 11] = [1, 2, 3, 4, 5, 6, 8, 9, 17, 33, 70];

/// Matrices of full rank, of ranks that lack one and two, and of full rank nearly, one after the other.
fn matrices<T: Number>(n: usize, count: usize) -> Vec<T> {
    let mut a = noise::<T>(n * n * count, 11);
    for (k, a) in a.chunks_exact_mut(n * n).enumerate() {
        let lost = [0, 1, 2, 1][k % 4].min(n - 1);
        for row in n - lost..n {
            for column in 0..n {
                let sum = a[column] - a[(n - lost - 1) * n + column];
                let rest = if k % 4 == 3 { T::from_f64(1e-6) * a[row * n + column] } else { T::ZERO };
                a[row * n + column] = sum + rest;
            }
        }
    }
    a
}

/// No cofactor is larger than the product of the lengths of the other rows (J. Hadamard, 1893).
fn bound(a: &[f64], n: usize) -> f64 {
    let length = |row: &[f64]| row.iter().map(|x| x * x).sum::<f64>().sqrt();
    let mut lengths: Vec<f64> = a.chunks_exact(n).map(length).collect();
    lengths.sort_by(f64::total_cmp);
    lengths[1..].iter().product()
}

fn computed<T: Number>(a: &[T], n: usize, count: usize, threads: usize) -> (Vec<T>, Result<(), Failed>) {
    let (cofactors, mut c) = (Cofactors { n, count }, vec![T::NAN; a.len()]);
    let run = |w: &mut _, pool: &_| cofactors.run(a, &mut c, w, pool);
    let ended = with(|threads| cofactors.workspace::<T>(threads), threads, run);
    (c, ended)
}

fn check<T: Number>() {
    for n in ORDERS {
        for &count in counts(n).iter().chain(&[4]) {
            let a = matrices::<T>(n, count);
            let (found, ended) = computed(&a, n, count, 1);
            ended.unwrap();
            for threads in [2, 7] {
                let (other, ended) = computed(&a, n, count, threads);
                ended.unwrap();
                assert!(found.iter().zip(&other).all(|(x, y)| x.same_bits(*y)), "{n}: other bits on {threads} threads");
            }
            for (k, (a, found)) in a.chunks_exact(n * n).zip(found.chunks_exact(n * n)).enumerate() {
                let wide: Vec<f64> = a.iter().map(|x| x.to_f64()).collect();
                let wanted = plain::cofactors(&wide, n).unwrap();
                // In single precision only the minors are rounded on the way.
                let (unit, largest) = (T::EPSILON.to_f64(), wanted.iter().fold(0.0f64, |most, x| most.max(x.abs())));
                let by_minors = if n <= 4 { 8.0 * unit } else { 0.0 };
                let error = (by_minors + 256.0 * n as f64 * f64::EPSILON) * bound(&wide, n) + unit * largest;
                for (found, wanted) in found.iter().zip(&wanted) {
                    let off = (found.to_f64() - wanted).abs();
                    assert!(off <= error, "order {n}, matrix {k}: {found:?} instead of {wanted:e}, off by {off:e}");
                }
            }
        }
    }
}

#[test]
fn cofactors_are_those_of_the_definition() {
    check::<f64>();
    check::<f32>();
}

fn check_determinants<T: Number>() {
    for n in ORDERS {
        for &count in counts(n).iter().chain(&[4]) {
            let a = matrices::<T>(n, count);
            let on = |threads: usize| {
                let (determinants, mut det) = (Determinants { n, count }, vec![T::NAN; count]);
                let run = |w: &mut _, pool: &_| determinants.run(&a, &mut det, w, pool);
                with(|threads| determinants.workspace::<T>(threads), threads, run).unwrap();
                det
            };
            let found = on(1);
            assert!(found.iter().zip(on(3)).all(|(x, y)| x.same_bits(y)), "{n}: other bits on 3 threads");
            for (k, (a, found)) in a.chunks_exact(n * n).zip(found).enumerate() {
                let wide: Vec<f64> = a.iter().map(|x| x.to_f64()).collect();
                let wanted = plain::det(&wide, n);
                let size: f64 = wide.chunks_exact(n).map(|row| row.iter().map(|x| x * x).sum::<f64>().sqrt()).product();
                let off = (found.to_f64() - wanted).abs();
                let error = 16.0 * n as f64 * T::EPSILON.to_f64() * size;
                assert!(off <= error, "order {n}, matrix {k}: {found:?} instead of {wanted:e}, off by {off:e}");
            }
        }
    }
}

#[test]
fn determinants_are_those_of_the_definition() {
    check_determinants::<f64>();
    check_determinants::<f32>();
}

/// The definition itself: the derivative of the determinant, which a matrix of rank `n - 1` has too.
#[test]
fn cofactors_are_the_derivative_of_the_determinant() {
    for n in ORDERS {
        let a = matrices::<f64>(n, 2);
        let (found, ended) = computed(&a, n, 2, 2);
        ended.unwrap();
        let direction = noise::<f64>(n * n, 12);
        for (a, found) in a.chunks_exact(n * n).zip(found.chunks_exact(n * n)) {
            let moved = |step: f64| {
                let moved: Vec<f64> = a.iter().zip(&direction).map(|(a, d)| a + step * d).collect();
                plain::det(&moved, n)
            };
            let slope: f64 = found.iter().zip(&direction).map(|(c, d)| c * d).sum();
            let h = 1e-5;
            let [near, far] = [h, 2.0 * h].map(|h| (moved(h) - moved(-h)) / (2.0 * h));
            let wanted = near + (near - far) / 3.0;
            assert!((slope - wanted).abs() <= 1e-7 * bound(a, n), "order {n}: {slope:e} instead of {wanted:e}");
        }
    }
}

/// Products that overflow have a difference that does not; so have the cofactors of a large matrix.
#[test]
fn products_that_overflow() {
    let a = [1e200, 1e200, 0.0, 1e200, 1e200, 0.0, 0.0, 0.0, 1.0];
    let a: Vec<f64> = a.iter().copied().cycle().take(90).collect();
    let (found, ended) = computed(&a, 3, 10, 1);
    ended.unwrap();
    let wanted = plain::cofactors(&a[..9], 3).unwrap();
    assert!(found.chunks_exact(9).all(|found| found == wanted));
    assert!(wanted[0].is_finite() && wanted[8].is_finite());
}

#[test]
fn what_is_not_finite_is_named() {
    for n in [1, 3, 4, 6, 20] {
        let (count, bad) = (13, 9);
        let mut a = matrices::<f64>(n, count);
        let (wanted, ended) = computed(&a, n, count, 1);
        ended.unwrap();
        a[bad * n * n + n - 1] = f64::INFINITY;
        let (determinants, mut det) = (Determinants { n, count }, vec![0.0; count]);
        let run = |w: &mut _, pool: &_| determinants.run(&a, &mut det, w, pool);
        let of_determinants = with(|threads| determinants.workspace::<f64>(threads), 2, run);
        let (found, ended) = computed(&a, n, count, 2);
        let fault = Fault::NotFinite { row: 0, column: n - 1, entry: Entry::Infinite };
        assert_eq!(ended, Err(Failed { index: bad, fault }));
        assert_eq!(of_determinants, ended);
        assert!(det.iter().enumerate().all(|(k, det)| det.is_nan() == (k == bad)), "order {n}: {det:?}");
        for (k, (found, wanted)) in found.chunks_exact(n * n).zip(wanted.chunks_exact(n * n)).enumerate() {
            assert!(if k == bad { found.iter().all(|x| x.is_nan()) } else { found == wanted }, "order {n}, matrix {k}");
        }
    }
}

#[test]
fn nothing_has_no_cofactors() {
    let mut det = [0.0; 3];
    Determinants { n: 0, count: 3 }.run::<f64>(&[], &mut det, &mut [], &wengert_kernels::Pool::new(2)).unwrap();
    assert_eq!(det, [1.0; 3]);
    assert_eq!(computed::<f64>(&[], 0, 3, 2), (Vec::new(), Ok(())));
    assert_eq!(computed::<f64>(&[], 6, 0, 2), (Vec::new(), Ok(())));
}
