//! Eigenvalues and vectors of general matrices, from their Schur form.

use super::super::C64;
use super::super::general::{ordered, vector};
use super::moderated;
use super::reflect::hessenberg;

/// How many steps one eigenvalue may take.
const MOST_STEPS: usize = 60;

/// Eigenvalues, ascending by real and then by imaginary part, and their vectors as columns, of length 1, the first component that
/// is not negligible real and positive. `None` if the steps do not end.
pub fn eig(a: &[C64], n: usize) -> Option<(Vec<C64>, Vec<C64>)> {
    let (a, back) = moderated(a);
    let (u, t) = schur(&a, n)?;
    let pair = |k: usize| (t[k * n + k].times(back), vector(&t, &u, n, k, false));
    Some(ordered((0..n).map(pair).collect()))
}

/// `A = U T U^H` with a unitary U and an upper triangular T, by steps with one shift (J. G. F. Francis, 1961; the shift is J. H.
/// Wilkinson's, 1965).
pub(super) fn schur(a: &[C64], n: usize) -> Option<(Vec<C64>, Vec<C64>)> {
    let (mut u, mut t) = hessenberg(a, n);
    let (mut end, mut steps) = (n, 0);
    while end > 1 {
        let start = deflated(&mut t, n, end);
        if start + 1 == end {
            (end, steps) = (start, 0);
            continue;
        }
        steps += 1;
        if steps > MOST_STEPS {
            return None;
        }
        let shift = if steps % 10 == 0 {
            // What moves in circles is pushed out of them.
            t[(end - 1) * n + end - 1] + C64::from(t[(end - 1) * n + end - 2].abs())
        } else {
            wilkinson(&t, n, end)
        };
        step(&mut t, &mut u, n, start..end, shift);
    }
    Some((u, t))
}

/// Where the last block before `end` begins: what is negligible below the diagonal becomes 0.
fn deflated(t: &mut [C64], n: usize, end: usize) -> usize {
    for k in (1..end).rev() {
        let around = t[(k - 1) * n + k - 1].abs() + t[k * n + k].abs();
        let under = t[k * n + k - 1].abs();
        if under <= f64::EPSILON * around || under < f64::MIN_POSITIVE {
            t[k * n + k - 1] = C64::ZERO;
            return k;
        }
    }
    0
}

/// The eigenvalue of the last two rows that is nearer to the last element.
fn wilkinson(t: &[C64], n: usize, end: usize) -> C64 {
    let (k, l) = (end - 2, end - 1);
    let [a, b, c, d] = [t[k * n + k], t[k * n + l], t[l * n + k], t[l * n + l]];
    // Scaled, so that squares neither overflow nor vanish.
    let scale = [a - d, b, c].iter().fold(0.0f64, |scale, x| scale.max(x.abs()));
    let [half, b, c] = [(a - d).times(0.5), b, c].map(|x| C64::new(x.re / scale, x.im / scale));
    let root = (half * half + b * c).sqrt();
    let far = if (half + root).square() >= (half - root).square() { half + root } else { half - root };
    if far == C64::ZERO { d } else { d - (b * c / far).times(scale) }
}

/// One step on a block of rows: rotations chase what the shift puts below the diagonal out of it.
fn step(t: &mut [C64], u: &mut [C64], n: usize, block: std::ops::Range<usize>, shift: C64) {
    let (start, end) = (block.start, block.end);
    let (mut x, mut y) = (t[start * n + start] - shift, t[(start + 1) * n + start]);
    for k in start..end - 1 {
        let length = x.abs().hypot(y.abs());
        if length > 0.0 {
            let (cosine, sine) = (x.abs() / length, (x.phase() * y.conj()).times(1.0 / length));
            for j in k.saturating_sub(1).max(start)..n {
                let (upper, lower) = (t[k * n + j], t[(k + 1) * n + j]);
                t[k * n + j] = upper.times(cosine) + sine * lower;
                t[(k + 1) * n + j] = lower.times(cosine) - sine.conj() * upper;
            }
            let columns = |row: &mut [C64]| {
                let (left, right) = (row[k], row[k + 1]);
                row[k] = left.times(cosine) + sine.conj() * right;
                row[k + 1] = right.times(cosine) - sine * left;
            };
            t.chunks_exact_mut(n).take(end.min(k + 3)).for_each(columns);
            u.chunks_exact_mut(n).for_each(columns);
        }
        if k > start {
            t[(k + 1) * n + k - 1] = C64::ZERO;
        }
        if k + 2 < end {
            (x, y) = (t[(k + 1) * n + k], t[(k + 2) * n + k]);
        }
    }
}
