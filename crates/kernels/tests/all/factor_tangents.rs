//! Derivatives of factors against the equations that define them. What is not to be read is NaN, and no triangle is that of a
//! matrix that is positive definite, or was pivoted.

use std::cmp::Ordering;

use wengert_kernels::factor::{CholeskyTangent, LuTangent, Number};

use crate::factor::{SIZES, counts, near, noise, times, with};

/// Sizes where halves change, beside the others.
fn sizes() -> impl Iterator<Item = usize> {
    SIZES.into_iter().chain([32, 34, 65, 130])
}

/// Lower triangles with NaN above, and pivots of both signs.
fn triangles<T: Number>(n: usize, count: usize, seed: u64) -> Vec<T> {
    let mut l = noise::<T>(n * n * count, seed);
    for (k, x) in l.iter_mut().enumerate() {
        let [row, column] = [k / n % n, k % n];
        *x = match row.cmp(&column) {
            Ordering::Less => T::NAN,
            Ordering::Equal if row % 3 == 1 => *x - T::from_f64(2.0),
            Ordering::Equal => *x + T::from_f64(2.0),
            Ordering::Greater => *x / T::from_f64(n as f64),
        };
    }
    l
}

/// One matrix with zeros, or these on the diagonal, where it holds NaN.
fn cleared<T: Number>(x: &[T], n: usize, on_diagonal: T) -> Vec<T> {
    let entry = |k: usize| match Number::finite(x[k]) {
        true => x[k],
        false if k % n == k / n => on_diagonal,
        false => T::ZERO,
    };
    (0..n * n).map(entry).collect()
}

fn transposed<T: Number>(x: &[T], n: usize) -> Vec<T> {
    (0..n * n).map(|k| x[k % n * n + k / n]).collect()
}

fn check_cholesky_tangent<T: Number>() {
    for n in sizes() {
        for &count in counts(n) {
            let (l, given) = (triangles::<T>(n, count, 3), noise::<T>(n * n * count, 4));
            for is_transposed in [false, true] {
                let tangent = CholeskyTangent { n, count, transposed: is_transposed };
                let mut x = given.clone();
                if is_transposed {
                    (0..x.len()).filter(|k| k % n > k / n % n).for_each(|k| x[k] = T::NAN);
                }
                with(|threads| tangent.workspace::<T>(threads), 2, |w, pool| tangent.run(&l, &mut x, w, pool)).unwrap();
                for k in 0..count {
                    let piece = k * n * n..(k + 1) * n * n;
                    let (x, given) = (&x[piece.clone()], &given[piece.clone()]);
                    let l = cleared(&l[piece], n, T::ZERO);
                    let lower = |k: usize| k % n <= k / n;
                    let mirrored = |k: usize| k % n * n + k / n;
                    let what = format!("{tangent:?}");
                    if is_transposed {
                        let product = times(x, &l, [n, n, n], [false, false]);
                        let got: Vec<f64> = (0..n * n).filter(|&k| lower(k)).map(|k| 2.0 * product[k]).collect();
                        let want: Vec<f64> = (0..n * n).filter(|&k| lower(k)).map(|k| given[k].to_f64()).collect();
                        near::<T>(&got, |k| want[k], 16.0 * n as f64, &what);
                        assert!((0..n * n).all(|k| x[k].same_bits(x[mirrored(k)])), "{what}");
                    } else {
                        let half = times(x, &l, [n, n, n], [false, true]);
                        let got: Vec<f64> = (0..n * n).map(|k| half[k] + half[mirrored(k)]).collect();
                        let want = |k: usize| (given[k].to_f64() + given[mirrored(k)].to_f64()) / 2.0;
                        near::<T>(&got, want, 16.0 * n as f64, &what);
                        assert!((0..n * n).all(|k| lower(k) || x[k] == T::ZERO), "{what}");
                    }
                }
            }
        }
    }
}

fn check_lu_tangent<T: Number>() {
    for n in sizes() {
        for &count in counts(n) {
            // Ones on the diagonal of the first are not read, nor is the last pivot of the second divided by.
            let mut l = triangles::<T>(n, count, 5);
            (0..l.len()).filter(|k| k % n == k / n % n).for_each(|k| l[k] = T::NAN);
            let mut u: Vec<T> =
                triangles::<T>(n, count, 6).chunks_exact(n * n).flat_map(|x| transposed(x, n)).collect();
            u.chunks_exact_mut(n * n).for_each(|u| u[n * n - 1] = T::ZERO);
            let given = noise::<T>(n * n * count, 7);
            for is_transposed in [false, true] {
                let (tangent, mut x) = (LuTangent { n, count, transposed: is_transposed }, given.clone());
                with(|threads| tangent.workspace::<T>(threads), 2, |w, pool| tangent.run(&l, &u, &mut x, w, pool))
                    .unwrap();
                for k in 0..count {
                    let piece = k * n * n..(k + 1) * n * n;
                    let (x, given) = (&x[piece.clone()], &given[piece.clone()]);
                    let (l, u) = (cleared(&l[piece.clone()], n, T::ONE), cleared(&u[piece], n, T::ZERO));
                    let below = |k: usize| k % n < k / n;
                    let got: Vec<f64> = if is_transposed {
                        let (by_u, by_l) =
                            (times(x, &u, [n, n, n], [false, true]), times(&l, x, [n, n, n], [true, false]));
                        (0..n * n).map(|k| if below(k) { by_u[k] } else { by_l[k] }).collect()
                    } else {
                        let half = |of_l: bool| -> Vec<T> {
                            (0..n * n).map(|k| if below(k) == of_l { x[k] } else { T::ZERO }).collect()
                        };
                        let (by_l, by_u) = (
                            times(&half(true), &u, [n, n, n], [false, false]),
                            times(&l, &half(false), [n, n, n], [false, false]),
                        );
                        (0..n * n).map(|k| by_l[k] + by_u[k]).collect()
                    };
                    near::<T>(&got, |k| given[k].to_f64(), 16.0 * n as f64, &format!("{tangent:?}"));
                }
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
    tangents_and_cotangents_of_cholesky_factors_solve_their_equations check_cholesky_tangent,
    tangents_and_cotangents_of_lu_factors_solve_their_equations check_lu_tangent
);
