//! The Schur form of a complex matrix in its order, and the linear equation that its derivative solves.

use super::super::C64;
use super::super::schur::{Order, Repeated};
use super::eig::schur;
use super::moderated;
use super::spectrum::turned;

/// `A = U T U^H` with a unitary U and an upper triangular T: (T, U). `None` if the steps do not end.
///
/// The diagonal of T ascends by real parts, values with the same by imaginary parts. The first component that is not negligible of
/// a column of U is real and positive.
pub fn ordered_schur(a: &[C64], n: usize) -> Option<(Vec<C64>, Vec<C64>)> {
    let (a, back) = moderated(a);
    let (mut u, mut t) = schur(&a, n)?;
    let value = |t: &[C64], k: usize| (t[k * n + k].re, t[k * n + k].im);
    let order = Order::of((0..n).map(|k| value(&t, k)), n);
    for end in (1..n).rev() {
        let mut moved = false;
        for k in 0..end {
            if order.exchanges(value(&t, k), value(&t, k + 1)) {
                exchange(&mut t, &mut u, n, k);
                moved = true;
            }
        }
        if !moved {
            break;
        }
    }
    for k in 0..n {
        choose(&mut t, &mut u, n, k);
    }
    t.iter_mut().for_each(|x| *x = x.times(back));
    Some((t, u))
}

/// Exchanges two neighbours on the diagonal by a rotation (G. W. Stewart, *Algorithm 506*, 1976).
fn exchange(t: &mut [C64], u: &mut [C64], n: usize, k: usize) {
    let (a, b, c) = (t[k * n + k], t[(k + 1) * n + k + 1], t[k * n + k + 1]);
    // The eigenvector of the second value is (c, b - a).
    let length = c.abs().hypot((b - a).abs());
    let (x, y) = (c.times(1.0 / length), (b - a).times(1.0 / length));
    similar(t, u, n, k, (x, y));
    t[(k + 1) * n + k] = C64::ZERO;
    (t[k * n + k], t[(k + 1) * n + k + 1]) = (b, a);
}

/// The similarity whose first column is the unit vector (x, y) in two neighbouring axes, and the second its unitary complement
/// (-conj(y), conj(x)).
pub(in super::super) fn similar(t: &mut [C64], u: &mut [C64], n: usize, k: usize, (x, y): (C64, C64)) {
    for j in 0..n {
        let (upper, lower) = (t[k * n + j], t[(k + 1) * n + j]);
        t[k * n + j] = x.conj() * upper + y.conj() * lower;
        t[(k + 1) * n + j] = x * lower - y * upper;
    }
    for row in t.chunks_exact_mut(n).chain(u.chunks_exact_mut(n)) {
        let (left, right) = (row[k], row[k + 1]);
        row[k] = left * x + right * y;
        row[k + 1] = right * x.conj() - left * y.conj();
    }
}

/// Chooses the phase of a column of U.
fn choose(t: &mut [C64], u: &mut [C64], n: usize, k: usize) {
    let column: Vec<C64> = u.chunks_exact(n).map(|row| row[k]).collect();
    let Some((place, turn)) = turned(&column) else { return };
    // On the diagonal it turns forth and back.
    let value = t[k * n + k];
    (0..n).for_each(|j| t[k * n + j] = t[k * n + j] * turn.conj());
    t.chunks_exact_mut(n).chain(u.chunks_exact_mut(n)).for_each(|row| row[k] = row[k] * turn);
    t[k * n + k] = value;
    u[place * n + k] = column[place].abs().into();
}

/// The X that is zero but below the diagonal, with `T X - X T = C` there, for the upper triangle T of a matrix; with `T^H` in its
/// place if asked for.
///
/// # Errors
/// [`Repeated`]: two elements of the diagonal are no more than `least` of the largest modulus apart.
pub fn commutator(t: &[C64], n: usize, c: &[C64], adjoint: bool, least: f64) -> Result<Vec<C64>, Repeated> {
    let values: Vec<(f64, f64)> = (0..n).map(|k| (t[k * n + k].re, t[k * n + k].im)).collect();
    Repeated::check(&values, least)?;
    let mut x = vec![C64::ZERO; n * n];
    // From the lowest place on the left to the diagonal; of the adjoint equation the other way.
    for step in (0..n * n).map(|step| if adjoint { n * n - 1 - step } else { step }) {
        let (i, j) = (n - 1 - step % n, step / n);
        if i <= j {
            continue;
        }
        let (left, right): (C64, C64) = if adjoint {
            let above = (j + 1..i).map(|k| t[k * n + i].conj() * x[k * n + j]).sum();
            (above, (j + 1..i).map(|k| x[i * n + k] * t[j * n + k].conj()).sum())
        } else {
            let below = (i + 1..n).map(|k| t[i * n + k] * x[k * n + j]).sum();
            (below, (0..j).map(|k| x[i * n + k] * t[k * n + j]).sum())
        };
        let gap = t[i * n + i] - t[j * n + j];
        x[i * n + j] = (c[i * n + j] - left + right) / if adjoint { gap.conj() } else { gap };
    }
    Ok(x)
}
