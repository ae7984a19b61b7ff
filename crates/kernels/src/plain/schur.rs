//! The real Schur form, and the linear equations for matrices that it solves.
//!
//! Methods: J. G. F. Francis, *The QR transformation*, 1961; R. H. Bartels, G. W. Stewart, *Solution of the matrix equation AX + XB =
//! C*, 1972; G. Kitagawa, 1977, for the discrete one.

mod commutator;
mod ordered;

pub use commutator::{Repeated, commutator};
pub(super) use ordered::Order;
pub use ordered::ordered_schur;

use super::{lu, moderated, reflect, reflect_within, reflector, transposed};

/// How many double steps one eigenvalue may take.
const MOST_STEPS: usize = 60;

/// What share of its terms a sum of squares is at least, if it keeps digits enough to tell where a step goes.
const CANCELLED: f64 = 1e-3;

/// `A = Q T Q^T` with an orthogonal Q and T upper triangular but for blocks of two rows on its diagonal, each of which stands
/// for a pair of complex eigenvalues. `None` if the steps do not end.
pub(super) fn schur(a: &[f64], n: usize) -> Option<(Vec<f64>, Vec<f64>)> {
    let (a, back) = moderated(a);
    let (q, mut t) = steps(&a, n)?;
    t.iter_mut().for_each(|x| *x *= back);
    Some((transposed(&q, n, n), t))
}

/// As [`schur`], with the transpose of Q, whose columns are turned as rows then.
fn steps(a: &[f64], n: usize) -> Option<(Vec<f64>, Vec<f64>)> {
    let mut t = a.to_vec();
    let mut q = vec![0.0; n * n];
    (0..n).for_each(|k| q[k * n + k] = 1.0);
    for k in 0..n.saturating_sub(2) {
        let reflector = reflector((k + 1..n).map(|i| t[i * n + k]).collect());
        similar(&reflector, &mut t, &mut q, n, (k + 1, k, n));
        (k + 2..n).for_each(|i| t[i * n + k] = 0.0);
    }
    let (mut end, mut steps) = (n, 0);
    while end > 1 {
        let start = deflated(&mut t, n, end);
        match end - start {
            1 => (end, steps) = (end - 1, 0),
            2 => {
                split(&mut t, &mut q, n, start);
                (end, steps) = (start, 0);
            }
            _ => {
                steps += 1;
                if steps > MOST_STEPS {
                    return None;
                }
                double_step(&mut t, &mut q, n, start..end, steps % 10 == 0);
            }
        }
    }
    Some((q, t))
}

/// Reflects the rows of T and of the transpose of Q from `first` on, and the columns of T: of these rows and columns those within
/// which T is not 0, the columns from `start` on and the rows before `end`.
fn similar(v: &[f64], t: &mut [f64], q: &mut [f64], n: usize, (first, start, end): (usize, usize, usize)) {
    reflect_within(v, t, n, first, start..n);
    reflect_columns(v, &mut t[..end * n], n, first);
    reflect(v, q, n, first);
}

fn reflect_columns(v: &[f64], a: &mut [f64], n: usize, first: usize) {
    for row in a.chunks_exact_mut(n) {
        let sum: f64 = v.iter().zip(&row[first..]).map(|(v, x)| v * x).sum();
        row[first..].iter_mut().zip(v).for_each(|(x, v)| *x -= 2.0 * v * sum);
    }
}

/// Where the last block before `end` begins: what is negligible below the diagonal becomes 0.
fn deflated(t: &mut [f64], n: usize, end: usize) -> usize {
    for k in (1..end).rev() {
        let around = t[(k - 1) * n + k - 1].abs() + t[k * n + k].abs();
        let around = if around == 0.0 { t.iter().fold(0.0f64, |m, x| m.max(x.abs())) } else { around };
        if t[k * n + k - 1].abs() <= f64::EPSILON * around {
            t[k * n + k - 1] = 0.0;
            return k;
        }
    }
    0
}

/// One step with two shifts, which are a pair or both real, on a block.
fn double_step(t: &mut [f64], q: &mut [f64], n: usize, block: std::ops::Range<usize>, exceptional: bool) {
    let (start, last) = (block.start, block.end - 1);
    let at = |i: usize, j: usize| t[i * n + j];
    // The shifts are the eigenvalues of [[y, u], [v, x]], with w = u v; the column is the first of the product of T minus either.
    let (mut x, mut y, mut w) = (at(last, last), at(last - 1, last - 1), at(last - 1, last) * at(last, last - 1));
    if exceptional {
        let size = at(last, last - 1).abs() + at(last - 1, last - 2).abs();
        (x, y, w) = (x + 0.75 * size, x + 0.75 * size, -0.4375 * size * size);
    }
    let (trace, det) = (y + x, y * x - w);
    let (a, b, c, d) = (at(start, start), at(start, start + 1), at(start + 1, start), at(start + 1, start + 1));
    let mut column = vec![a * a + b * c - trace * a + det, c * (a + d - trace), c * at(start + 2, start + 1)];
    if column[0].abs() < CANCELLED * (a * a + (trace * a).abs()) {
        // Near a multiple of the identity squares of the diagonal leave rounding alone, their differences do not (B. T. Smith et
        // al., *Matrix eigensystem routines: EISPACK guide*, 1976, `hqr`).
        (x, y) = (x - a, y - a);
        (column[0], column[1]) = (x * y - w + b * c, c * (d - a - x - y));
    }
    for k in start..last {
        let reflector = reflector(std::mem::take(&mut column));
        similar(&reflector, t, q, n, (k, k.saturating_sub(1).max(start), (k + 4).min(block.end)));
        if k > start {
            (k + 1..k + reflector.len()).for_each(|i| t[i * n + k - 1] = 0.0);
        }
        column = (k + 1..(k + 4).min(last + 1)).map(|i| t[i * n + k]).collect();
    }
}

/// Makes a block of two rows triangular if its eigenvalues are real.
fn split(t: &mut [f64], q: &mut [f64], n: usize, k: usize) {
    let [a, b, c, d] = [t[k * n + k], t[k * n + k + 1], t[(k + 1) * n + k], t[(k + 1) * n + k + 1]];
    let half = 0.5 * (a - d);
    let discriminant = half * half + b * c;
    if discriminant < 0.0 {
        return;
    }
    // The eigenvector of d + z is (z, c).
    let z = half + discriminant.sqrt().copysign(half);
    let length = z.hypot(c);
    if length == 0.0 {
        return;
    }
    ordered::rotate(t, q, n, k, z / length, c / length);
    t[(k + 1) * n + k] = 0.0;
}

/// The eigenvalue of a block of one or two rows with an imaginary part that is not negative: its parts.
fn block_value(t: &[f64], n: usize, k: usize, rows: usize) -> (f64, f64) {
    if rows == 1 {
        return (t[k * n + k], 0.0);
    }
    let [a, b, c, d] = [t[k * n + k], t[k * n + k + 1], t[(k + 1) * n + k], t[(k + 1) * n + k + 1]];
    let half = 0.5 * (a - d);
    (0.5 * (a + d), (-(half * half + b * c)).max(0.0).sqrt())
}

/// Which linear equation for a matrix it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MatrixEquation {
    /// `A X + X B = C`
    Continuous,
    /// `X - A X B = C`
    Discrete,
}

/// Where the blocks of a Schur form begin, and where the last one ends.
fn blocks(t: &[f64], n: usize) -> Vec<usize> {
    let mut starts: Vec<usize> = (0..n).filter(|&k| k == 0 || t[k * n + k - 1] == 0.0).collect();
    starts.push(n);
    starts
}

fn product(x: &[f64], y: &[f64], [m, k, n]: [usize; 3]) -> Vec<f64> {
    let mut out = vec![0.0; m * n];
    for i in 0..m {
        for l in 0..k {
            let factor = x[i * k + l];
            (0..n).for_each(|j| out[i * n + j] += factor * y[l * n + j]);
        }
    }
    out
}

/// Why an equation has no solution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unsolved {
    /// The steps to a Schur form do not end.
    Endless,
    /// The equation is singular.
    Singular,
}

/// The solution of a linear equation for an m by n matrix.
///
/// # Errors
/// [`Unsolved`]: the equation is singular, or the steps to a Schur form do not end.
pub fn sylvester(
    equation: MatrixEquation,
    (a, m): (&[f64], usize),
    (b, n): (&[f64], usize),
    c: &[f64],
) -> Result<Vec<f64>, Unsolved> {
    let (u, t) = schur(a, m).ok_or(Unsolved::Endless)?;
    let (v, s) = schur(b, n).ok_or(Unsolved::Endless)?;
    let right = product(&product(&transposed(&u, m, m), c, [m, m, n]), &v, [m, n, n]);
    let mut y = vec![0.0; m * n];
    let (rows, columns) = (blocks(&t, m), blocks(&s, n));
    let largest = |x: &[f64]| x.iter().fold(0.0f64, |largest, x| largest.max(x.abs()));
    let size = match equation {
        MatrixEquation::Continuous => largest(&t) + largest(&s),
        MatrixEquation::Discrete => 1.0f64.max(largest(&t) * largest(&s)),
    };
    let least = f64::EPSILON * size;
    for column in columns.windows(2) {
        for row in rows.windows(2).rev() {
            let (is, js) = (row[0]..row[1], column[0]..column[1]);
            // What is known of the equation of this block.
            let mut rest = Vec::with_capacity(4);
            for (i, j) in is.clone().flat_map(|i| js.clone().map(move |j| (i, j))) {
                let known = match equation {
                    MatrixEquation::Continuous => {
                        (row[1]..m).map(|k| t[i * m + k] * y[k * n + j]).sum::<f64>()
                            + (0..column[0]).map(|l| y[i * n + l] * s[l * n + j]).sum::<f64>()
                    }
                    MatrixEquation::Discrete => {
                        let of = |l: usize| (is.start..m).map(|k| t[i * m + k] * y[k * n + l]).sum::<f64>();
                        -(0..column[1]).map(|l| of(l) * s[l * n + j]).sum::<f64>()
                    }
                };
                rest.push(right[i * n + j] - known);
            }
            let block = small(equation, (&t, m, &is), (&s, n, &js), &rest, least)?;
            let places = is.clone().flat_map(|i| js.clone().map(move |j| i * n + j));
            places.zip(block).for_each(|(place, x)| y[place] = x);
        }
    }
    Ok(product(&product(&u, &y, [m, m, n]), &transposed(&v, n, n), [m, n, n]))
}

/// A block of a Schur form: the matrix, its order, and the rows.
type Block<'a> = (&'a [f64], usize, &'a std::ops::Range<usize>);

/// The equation of one block, of at most four unknowns.
fn small(
    equation: MatrixEquation,
    (t, m, is): Block,
    (s, n, js): Block,
    rest: &[f64],
    least: f64,
) -> Result<Vec<f64>, Unsolved> {
    let (p, q) = (is.len(), js.len());
    let size = p * q;
    let mut matrix = vec![0.0; size * size];
    for (place, x) in matrix.iter_mut().enumerate() {
        let ((i, j), (k, l)) = ((place / size / q, place / size % q), (place % size / q, place % size % q));
        let (of_t, of_s) = (t[(is.start + i) * m + is.start + k], s[(js.start + l) * n + js.start + j]);
        let same = |x: usize, y: usize| f64::from(u8::from(x == y));
        *x = match equation {
            MatrixEquation::Continuous => of_t * same(j, l) + same(i, k) * of_s,
            MatrixEquation::Discrete => same(i, k) * same(j, l) - of_t * of_s,
        };
    }
    let (_, upper, _) = lu(&matrix, size, size);
    if (0..size).any(|i| upper[i * size + i].abs() <= least) {
        return Err(Unsolved::Singular);
    }
    super::solve(&matrix, size, rest, 1, false).map_err(|_| Unsolved::Singular)
}

#[cfg(test)]
mod tests;
