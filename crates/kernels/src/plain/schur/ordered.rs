//! The real Schur form that belongs to a matrix, and not to the steps that found one: its blocks in an order, and bases chosen.
//!
//! Q is held transposed until it is given: its columns are turned as rows.

use super::super::spectrum::turned;
use super::super::{first_place, moderated, transposed};
use super::{MatrixEquation, block_value, blocks, reflect, reflect_columns, reflector, similar, small, split, steps};

/// The order of eigenvalues, given by real and imaginary parts, of a matrix with this many: ascending by real parts, those with the
/// same by imaginary parts. What differs by no more than rounding, 64 units of the largest modulus times their number, is the same.
pub(in super::super) struct Order {
    near: f64,
}

impl Order {
    pub(in super::super) fn of(values: impl Iterator<Item = (f64, f64)>, n: usize) -> Self {
        let largest = values.fold(0.0f64, |largest, (re, im)| largest.max(re.hypot(im)));
        Order { near: 64.0 * n as f64 * f64::EPSILON * largest }
    }

    /// Whether the first value belongs behind the second one.
    pub(in super::super) fn exchanges(&self, x: (f64, f64), y: (f64, f64)) -> bool {
        if (x.0 - y.0).abs() > self.near { x.0 > y.0 } else { x.1 > y.1 + self.near }
    }
}

/// `A = Q T Q^T` with an orthogonal Q and T upper triangular but for blocks of two rows on its diagonal, each of which stands
/// for a pair of complex eigenvalues: (T, Q). `None` if the steps do not end.
///
/// Blocks ascend by the real part of their eigenvalues, those with the same by the size of the imaginary part. The first
/// component that is not negligible of a column of Q is positive; of the two columns of a pair, the first row that is not
/// negligible is positive and 0, and T is positive above the diagonal of the block.
pub fn ordered_schur(a: &[f64], n: usize) -> Option<(Vec<f64>, Vec<f64>)> {
    let (a, back) = moderated(a);
    let (mut q, mut t) = steps(&a, n)?;
    order(&mut t, &mut q, n);
    for block in blocks(&t, n).windows(2) {
        choose(&mut t, &mut q, n, block[0], block[1] - block[0]);
    }
    t.iter_mut().for_each(|x| *x *= back);
    Some((t, transposed(&q, n, n)))
}

/// Brings the blocks into their order by exchanges of neighbours. Two that differ by little more than rounding may stay.
fn order(t: &mut [f64], q: &mut [f64], n: usize) {
    let starts = blocks(t, n);
    let order = Order::of(starts.windows(2).map(|block| block_value(t, n, block[0], block[1] - block[0])), n);
    for end in (1..n).rev() {
        let mut moved = false;
        let mut k = 0;
        while k < end {
            let p = block_size(t, n, k);
            if k + p >= n {
                break;
            }
            let r = block_size(t, n, k + p);
            let (x, y) = (block_value(t, n, k, p), block_value(t, n, k + p, r));
            // The first of the two is looked at again, beside what follows it.
            let exchanged = order.exchanges(x, y) && exchange(t, q, n, k, p, r);
            moved |= exchanged;
            k += if exchanged { r } else { p };
        }
        if !moved {
            break;
        }
    }
}

fn block_size(t: &[f64], n: usize, k: usize) -> usize {
    if k + 1 < n && t[(k + 1) * n + k] != 0.0 { 2 } else { 1 }
}

/// Exchanges two neighbouring blocks of p and r rows, unless rounding would not leave them apart (Z. Bai, J. W. Demmel, *On
/// swapping diagonal blocks in real Schur form*, 1993).
fn exchange(t: &mut [f64], q: &mut [f64], n: usize, k: usize, p: usize, r: usize) -> bool {
    let m = p + r;
    let mut local: Vec<f64> = (0..m * m).map(|place| t[(k + place / m) * n + k + place % m]).collect();
    let size = local.iter().fold(0.0f64, |size, x| size.max(x.abs()));
    // X with `T1 X - X T2 = T12`: the columns of (-X, 1) span the space of the second block.
    let minus: Vec<f64> = local.iter().map(|x| -x).collect();
    let rest: Vec<f64> = (0..p * r).map(|place| local[place / r * m + p + place % r]).collect();
    let blocks = ((&local[..], m, &(0..p)), (&minus[..], m, &(p..m)));
    let Ok(x) = small(MatrixEquation::Continuous, blocks.0, blocks.1, &rest, 0.0) else { return false };
    let mut basis = vec![0.0; m * r];
    (0..p * r).for_each(|place| basis[place] = -x[place]);
    (0..r).for_each(|j| basis[(p + j) * r + j] = 1.0);
    let mut reflectors = Vec::with_capacity(r);
    for j in 0..r {
        let v = reflector((j..m).map(|i| basis[i * r + j]).collect());
        reflect(&v, &mut basis, r, j);
        reflect(&v, &mut local, m, j);
        reflect_columns(&v, &mut local, m, j);
        reflectors.push(v);
    }
    let left =
        (r..m).flat_map(|i| (0..r).map(move |j| i * m + j)).fold(0.0f64, |left, place| left.max(local[place].abs()));
    if left.is_nan() || left > 32.0 * f64::EPSILON * size {
        return false;
    }
    for (j, v) in reflectors.iter().enumerate() {
        similar(v, t, q, n, (k + j, k, k + m));
    }
    for i in k + r..k + m {
        (k..k + r).for_each(|j| t[i * n + j] = 0.0);
    }
    // What was a pair by little may be two real values now.
    for (start, rows) in [(k, r), (k + r, p)] {
        if rows == 2 {
            split(t, q, n, start);
        }
    }
    true
}

/// Chooses the basis of a block: see [`ordered_schur`].
fn choose(t: &mut [f64], q: &mut [f64], n: usize, k: usize, rows: usize) {
    if rows == 2 {
        let sizes: Vec<f64> = (0..n).map(|i| q[k * n + i].hypot(q[(k + 1) * n + i])).collect();
        let Some(place) = first_place(sizes.iter().copied()) else { return };
        let (cosine, sine) = (q[k * n + place] / sizes[place], q[(k + 1) * n + place] / sizes[place]);
        rotate(t, q, n, k, cosine, sine);
        (q[k * n + place], q[(k + 1) * n + place]) = (sizes[place], 0.0);
        if t[k * n + k + 1] < 0.0 {
            turn(t, q, n, k + 1);
        }
        return;
    }
    if turned(q[k * n..(k + 1) * n].iter().copied()) < 0.0 {
        turn(t, q, n, k);
    }
}

/// Rotates two neighbouring rows of both matrices, and columns of T as well.
pub(super) fn rotate(t: &mut [f64], q: &mut [f64], n: usize, k: usize, cosine: f64, sine: f64) {
    let turned = |x: &mut f64, y: &mut f64| (*x, *y) = (cosine * *x + sine * *y, cosine * *y - sine * *x);
    for matrix in [&mut *t, q] {
        let (upper, lower) = matrix[k * n..(k + 2) * n].split_at_mut(n);
        upper.iter_mut().zip(lower).for_each(|(x, y)| turned(x, y));
    }
    for row in t.chunks_exact_mut(n) {
        let (left, right) = row.split_at_mut(k + 1);
        turned(&mut left[k], &mut right[0]);
    }
}

/// Turns the sign of a column of Q.
fn turn(t: &mut [f64], q: &mut [f64], n: usize, k: usize) {
    // On the diagonal it turns twice.
    (k * n..(k + 1) * n).for_each(|place| (t[place], q[place]) = (-t[place], -q[place]));
    t.chunks_exact_mut(n).for_each(|row| row[k] = -row[k]);
}
