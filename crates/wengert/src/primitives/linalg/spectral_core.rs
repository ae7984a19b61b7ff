//! Derivatives of matrix functions by divided differences, in the basis of the eigenvectors.
//!
//! For a symmetric matrix `A = V Λ V^T` and a function `h`, the k-th Fréchet derivative is
//!
//! ```text
//! D^k h(A)[E_1, …, E_k] = V X V^T
//! X[i_0, i_k] = sum over i_1 … i_(k-1) of h[λ_i0, …, λ_ik] * sum over orders p of (E'_p1)[i_0, i_1] … (E'_pk)[i_(k-1), i_k]
//! ```
//!
//! with `E' = V^T E V` (Yu. L. Daleckii and S. G. Krein, 1965; N. J. Higham, *Functions of Matrices*, 2008, section 3.2).
//! Nothing in it needs values to be different: divided differences have limits.
//!
//! A function that counts on a part of the values alone is `h` times the indicator of the part, whose divided differences are
//! those of `h(x) / ((x - t_1) … (x - t_q))` at the points within, for the points `t` outside: only gaps across the border
//! are divided by.
//!
//! Singular values are the eigenvalues `±σ` of `[[0, A], [A^T, 0]]`, whose eigenvectors are `(u, ±v)/√2` (C. Jordan, 1874;
//! H. Wielandt), and an odd function of it has `U h(Σ) V^T` beside the diagonal (M. I. Hawkins and A. Ben-Israel, 1973;
//! V. Noferini, *A formula for the Fréchet derivative of a generalized matrix function*, 2017). Only coefficients in that basis
//! are written down: the matrix itself is neither formed nor decomposed. Of the directions in which the taller side has no
//! singular vectors, those count that the `E` reach.

use wengert_kernels::{Work, dispatch};

use super::plain::{Orthonormal, symmetric, transposed};
use super::spectral_frame::{Frame, SpectralKind};
use super::spectral_series::{Differences, scale_near};
use super::spectral_units::Units;

/// A function near the points of one label.
pub(super) enum Local<'a> {
    /// A formula.
    Formula(&'a Differences<'a>),
    /// `-h(-x)` of a formula.
    Mirrored(&'a Differences<'a>),
    /// A constant.
    Constant(f64),
}

impl Local<'_> {
    fn at(&self, points: &[f64]) -> f64 {
        match self {
            Local::Formula(h) => h.at(points),
            Local::Mirrored(h) => {
                let mirrored: Vec<f64> = points.iter().map(|x| -x).collect();
                let value = h.at(&mirrored);
                if points.len() % 2 == 1 { -value } else { value }
            }
            Local::Constant(value) => {
                if points.len() == 1 {
                    *value
                } else {
                    0.0
                }
            }
        }
    }
}

/// Eigenvalues, each with the label of the function that counts there, and directions in the basis of the eigenvectors.
pub(super) struct Coordinates<'a> {
    frame: &'a Frame,
    /// Directions of the longer side that the left vectors leave out, and that the directions reach.
    outside: Orthonormal,
    /// In which the points and the directions are.
    units: Units,
    /// The eigenvalues.
    points: Vec<f64>,
    /// The label of the function at each; 0 where there is none.
    labels: Vec<usize>,
    directions: Vec<Vec<f64>>,
}

/// `x y` of row-major matrices: added up in the same order whatever the processor is.
fn product(x: &[f64], y: &[f64], [rows, inner, columns]: [usize; 3]) -> Vec<f64> {
    let mut out = vec![0.0; rows * columns];
    dispatch(Product { x, y, out: &mut out, inner, columns });
    out
}

struct Product<'a> {
    x: &'a [f64],
    y: &'a [f64],
    out: &'a mut [f64],
    inner: usize,
    columns: usize,
}

impl Work for Product<'_> {
    type Output = ();
    #[inline(always)]
    fn run(self) {
        if self.columns == 0 {
            return;
        }
        for (row, out) in self.out.chunks_exact_mut(self.columns).enumerate() {
            let factors = &self.x[row * self.inner..][..self.inner];
            for (factor, from) in factors.iter().zip(self.y.chunks_exact(self.columns)) {
                for (out, y) in out.iter_mut().zip(from) {
                    *out += factor * y;
                }
            }
        }
    }
}

/// Bytes that frames, coordinates and what they are assembled to take for one matrix, of rows and columns, with this many
/// directions.
pub(super) fn bytes(spectrum: SpectralKind, [rows, columns]: [usize; 2], directions: usize) -> usize {
    let (long, short) = (rows.max(columns), rows.min(columns));
    let numbers = match spectrum {
        // The frame, the directions and the coefficients, and of the last product both factors, itself, and its symmetric part.
        SpectralKind::Symmetric => long * (long + 1) + (directions + 5) * long * long,
        SpectralKind::Singular => {
            let beyond = (long - short).min(directions * short);
            let (size, inner) = (2 * short + beyond, short + beyond);
            let frame = short * (1 + rows + columns) + beyond * long;
            let last = inner * short + long * inner + (2 + usize::from(rows < columns)) * long * short + short * short;
            frame + (directions + 1) * size * size + last
        }
    };
    // The series of the function at each value are kept in a table.
    let series = if directions == 0 { VALUES } else { SERIES };
    let sides = if spectrum == SpectralKind::Symmetric { 1 } else { 2 };
    (numbers + sides * series * short) * size_of::<f64>()
}

/// Numbers that a value, or its negative, takes in the table of series: of functions and of derivatives, with what a table that
/// grows has twice.
const VALUES: usize = 22;
const SERIES: usize = 142;

impl<'a> Coordinates<'a> {
    /// For a derivative of an order, in directions of the type of the matrix. `labels` names a function for each value, and of
    /// singular values another one for its negative.
    pub(super) fn new(frame: &'a Frame, labels: &[[usize; 2]], directions: &[&[f64]], order: usize) -> Self {
        let mut own = match frame.spectrum {
            SpectralKind::Symmetric => Coordinates::symmetric(frame, labels, directions),
            SpectralKind::Singular => Coordinates::singular(frame, labels, directions),
        };
        own.units = Units::of_values(&frame.values, order);
        own.points.iter_mut().for_each(|point| *point = own.units.point(*point));
        own.directions.iter_mut().for_each(|direction| own.units.direction(direction));
        own
    }

    fn symmetric(frame: &'a Frame, labels: &[[usize; 2]], directions: &[&[f64]]) -> Self {
        let n = frame.count();
        let vt = transposed(&frame.left, n, n);
        let inside = |e: &&[f64]| {
            let half = product(&symmetric(e, n), &frame.left, [n; 3]);
            symmetric(&product(&vt, &half, [n; 3]), n)
        };
        Coordinates {
            frame,
            outside: Orthonormal { vectors: Vec::new() },
            units: Units::default(),
            points: frame.values.clone(),
            labels: labels.iter().map(|[label, _]| *label).collect(),
            directions: directions.iter().map(inside).collect(),
        }
    }

    fn singular(frame: &'a Frame, labels: &[[usize; 2]], directions: &[&[f64]]) -> Self {
        let (count, [rows, columns]) = (frame.count(), frame.rows);
        let (long, left, right) = sides(frame);
        // E V, and what of it the left vectors see and leave out.
        let images: Vec<Vec<f64>> = directions
            .iter()
            .map(|e| {
                let tall = if rows >= columns { e.to_vec() } else { transposed(e, rows, columns) };
                product(&tall, right, [long, count, count])
            })
            .collect();
        let mut outside = Orthonormal::of_columns(left, count, count, long);
        if long > count {
            for image in &images {
                // Only where they point counts: of numbers near 1 the squares neither overflow nor vanish.
                let largest = image.iter().fold(0.0, |largest: f64, x| largest.max(x.abs()));
                let near_one = |x: f64| x / scale_near(largest);
                let size = image.iter().map(|&x| near_one(x).powi(2)).sum::<f64>().sqrt();
                for k in 0..count {
                    let column: Vec<f64> = image.chunks_exact(count).map(|row| near_one(row[k])).collect();
                    if outside.count() < long {
                        outside.extend(&column, 4.0 * f64::EPSILON * size);
                    }
                }
            }
        }
        outside.vectors.drain(..count);
        let lt = transposed(left, long, count);
        let extra: Vec<f64> = outside.vectors.iter().flatten().copied().collect();
        let beyond = outside.count();
        let inside = |image: &Vec<f64>| {
            let seen = product(&lt, image, [count, long, count]);
            signed(&seen, &product(&extra, image, [beyond, long, count]), count, beyond)
        };
        let directions = images.iter().map(inside).collect();
        let mut points: Vec<f64> = frame.values.iter().flat_map(|&value| [value, -value]).collect();
        let mut labels: Vec<usize> = labels.iter().flatten().copied().collect();
        // A function that counts everywhere counts at 0 too.
        let at_zero =
            if labels.first().is_some_and(|first| labels.iter().all(|label| label == first)) { labels[0] } else { 0 };
        points.resize(points.len() + beyond, 0.0);
        labels.resize(points.len(), at_zero);
        Coordinates { frame, outside, units: Units::default(), points, labels, directions }
    }

    /// In which the points and the directions are, and so what is computed here but for [`between`](Self::between).
    pub(super) fn units(&self) -> &Units {
        &self.units
    }

    /// How many eigenvalues there are.
    fn size(&self) -> usize {
        self.points.len()
    }

    /// Whether a direction can be anything but 0 between two eigenvectors: not between two that one side alone has.
    fn meet(&self, i: usize, j: usize) -> bool {
        self.frame.spectrum == SpectralKind::Symmetric || i.min(j) < 2 * self.frame.count()
    }

    /// The part of a divided difference that the function of one label has in it.
    pub(super) fn part(&self, tuple: &[usize], label: usize, local: &Local) -> f64 {
        let (mut within, mut outside) = (Vec::with_capacity(tuple.len()), Vec::with_capacity(tuple.len()));
        for &i in tuple {
            if self.labels[i] == label { &mut within } else { &mut outside }.push(self.points[i]);
        }
        if outside.is_empty() {
            return local.at(&within);
        }
        let mut row: Vec<f64> = (1..=within.len()).map(|k| local.at(&within[..k])).collect();
        for t in outside {
            // Leibniz' rule with the differences of 1/(x - t).
            row = (0..row.len())
                .map(|last| {
                    let (mut sum, mut factor) = (0.0, -1.0);
                    for j in (0..=last).rev() {
                        factor /= t - within[j];
                        sum += row[j] * factor;
                    }
                    sum
                })
                .collect();
        }
        row[within.len() - 1]
    }

    /// The labels of some eigenvalues, each once.
    pub(super) fn labels_in(&self, tuple: &[usize]) -> Vec<usize> {
        let mut labels: Vec<usize> = tuple.iter().map(|&i| self.labels[i]).filter(|&label| label > 0).collect();
        labels.sort_unstable();
        labels.dedup();
        labels
    }

    /// The derivative in all directions of the function that is given by labels.
    pub(super) fn derivative<'b>(&self, local: &dyn Fn(usize) -> Local<'b>) -> Vec<f64> {
        let size = self.size();
        let mut x = vec![0.0; size * size];
        if let [direction] = &self.directions[..] {
            self.first_derivative(direction, local, &mut x);
            return x;
        }
        for_each_tuple(size, self.directions.len() + 1, &mut |tuple| {
            if !self.any_meet(tuple) {
                return;
            }
            let difference: f64 =
                self.labels_in(tuple).iter().map(|&label| self.part(tuple, label, &local(label))).sum();
            for_each_order(tuple, &mut |order| {
                if let Some(walk) = self.walk(order, &self.directions) {
                    x[order[0] * size + order[order.len() - 1]] += difference * walk;
                }
            });
        });
        x
    }

    /// The one in one direction: its elements, each by a divided difference of two values.
    fn first_derivative<'b>(&self, direction: &[f64], local: &dyn Fn(usize) -> Local<'b>, x: &mut [f64]) {
        let size = self.size();
        let locals: Vec<Option<Local>> = self.labels.iter().map(|&label| (label > 0).then(|| local(label))).collect();
        for i in 0..size {
            for j in (i..size).filter(|&j| self.meet(i, j)) {
                let difference = match &locals[i] {
                    Some(own) if self.labels[i] == self.labels[j] => own.at(&[self.points[i], self.points[j]]),
                    _ => {
                        let labels = self.labels_in(&[i, j]);
                        labels.iter().map(|&label| self.part(&[i, j], label, &local(label))).sum()
                    }
                };
                x[i * size + j] = difference * direction[i * size + j];
                x[j * size + i] = difference * direction[j * size + i];
            }
        }
    }

    /// `<E_0, D^k h(A)[E_1, …]>`, as what each set of eigenvalues, by its divided difference, is multiplied by.
    pub(super) fn form(&self, visit: &mut dyn FnMut(&[usize], f64)) {
        let (first, rest) = self.directions.split_first().expect("there is one direction or more");
        for_each_tuple(self.size(), rest.len() + 1, &mut |tuple| {
            let mut sum = None;
            for_each_order(tuple, &mut |order| {
                let (start, end) = (order[0], order[order.len() - 1]);
                if let Some(walk) = self.walk(order, rest).filter(|_| self.meet(start, end)) {
                    *sum.get_or_insert(0.0) += walk * first[end * self.size() + start];
                }
            });
            if let Some(sum) = sum {
                visit(tuple, sum);
            }
        });
    }

    /// A direction between the eigenvectors of two values (of singular ones, those of the values themselves).
    pub(super) fn between(&self, direction: usize, i: usize, j: usize) -> f64 {
        let step = if self.frame.spectrum == SpectralKind::Symmetric { 1 } else { 2 };
        self.units.of_direction(self.directions[direction][step * i * self.size() + step * j], direction)
    }

    fn any_meet(&self, tuple: &[usize]) -> bool {
        let beyond = |&&i: &&usize| !self.meet(i, i);
        // Vectors of one side alone stand beside others.
        tuple.len() == 1 || tuple.iter().filter(beyond).count() <= tuple.len().div_ceil(2)
    }

    /// The sum over orders of the directions of the products along a walk; `None` if that is 0 whatever they are.
    fn walk(&self, order: &[usize], directions: &[Vec<f64>]) -> Option<f64> {
        let size = self.size();
        if order.windows(2).any(|pair| !self.meet(pair[0], pair[1])) {
            return None;
        }
        if let [one] = directions {
            return Some(one[order[0] * size + order[1]]);
        }
        let mut sum = 0.0;
        let numbers: Vec<usize> = (0..directions.len()).collect();
        for_each_order(&numbers, &mut |which| {
            let steps = which.iter().zip(order.windows(2));
            sum += steps.map(|(&k, pair)| directions[k][pair[0] * size + pair[1]]).product::<f64>();
        });
        Some(sum)
    }

    /// What stands for the matrix with these coefficients: all of it, or beside the diagonal.
    pub(super) fn assembled(&self, x: &[f64]) -> Vec<f64> {
        let (frame, size, count) = (self.frame, self.size(), self.frame.count());
        if frame.spectrum == SpectralKind::Symmetric {
            let half = product(&frame.left, x, [count; 3]);
            return symmetric(&product(&half, &transposed(&frame.left, count, count), [count; 3]), count);
        }
        let (long, left, right) = sides(frame);
        let (beyond, [rows, columns]) = (self.outside.count(), frame.rows);
        let at = |i: usize, j: usize| x[i * size + 2 * j] - x[i * size + 2 * j + 1];
        let core = |i: usize, j: usize| {
            if i < count {
                0.5 * (at(2 * i, j) + at(2 * i + 1, j))
            } else {
                at(count + i, j) * std::f64::consts::FRAC_1_SQRT_2
            }
        };
        let core: Vec<f64> = (0..(count + beyond) * count).map(|k| core(k / count, k % count)).collect();
        let mut basis: Vec<f64> = Vec::with_capacity(long * (count + beyond));
        for row in 0..long {
            basis.extend_from_slice(&left[row * count..][..count]);
            basis.extend(self.outside.vectors.iter().map(|vector| vector[row]));
        }
        let half = product(&basis, &core, [long, count + beyond, count]);
        let all = product(&half, &transposed(right, count, count), [long, count, count]);
        if rows >= columns { all } else { transposed(&all, columns, rows) }
    }
}

/// The length of the longer side, and the vectors of both, as those of a tall matrix.
fn sides(frame: &Frame) -> (usize, &[f64], &[f64]) {
    let [rows, columns] = frame.rows;
    if rows >= columns { (rows, &frame.left, &frame.right) } else { (columns, &frame.right, &frame.left) }
}

/// A direction between the vectors `(u, ±v)/√2`, then those of the longer side alone, given `U^T E V` and the rows beyond.
fn signed(seen: &[f64], extra: &[f64], count: usize, beyond: usize) -> Vec<f64> {
    let size = 2 * count + beyond;
    let mut out = vec![0.0; size * size];
    for i in 0..count {
        for j in 0..count {
            let (one, other) = (0.5 * seen[i * count + j], 0.5 * seen[j * count + i]);
            for (s, sign) in [1.0, -1.0].into_iter().enumerate() {
                let from = (2 * i + s) * size + 2 * j;
                out[from] = one + sign * other;
                out[from + 1] = sign * other - one;
            }
        }
    }
    for i in 0..beyond {
        for j in 0..count {
            let part = extra[i * count + j] * std::f64::consts::FRAC_1_SQRT_2;
            for (t, part) in [part, -part].into_iter().enumerate() {
                let (row, column) = (2 * count + i, 2 * j + t);
                out[row * size + column] = part;
                out[column * size + row] = part;
            }
        }
    }
    out
}

/// Every sequence of this many numbers below `size` in which none is smaller than the one before.
fn for_each_tuple(size: usize, length: usize, visit: &mut dyn FnMut(&[usize])) {
    if size == 0 {
        return;
    }
    let mut tuple = vec![0; length];
    loop {
        visit(&tuple);
        let Some(place) = tuple.iter().rposition(|&i| i + 1 < size) else { return };
        let next = tuple[place] + 1;
        tuple[place..].fill(next);
    }
}

/// Every order of these numbers, which are sorted, each once (Narayana's algorithm, 14th century; Knuth, volume 4A, 7.2.1.2).
fn for_each_order(sorted: &[usize], visit: &mut dyn FnMut(&[usize])) {
    let mut order = sorted.to_vec();
    loop {
        visit(&order);
        let Some(place) = order.windows(2).rposition(|pair| pair[0] < pair[1]) else { return };
        let other = order.iter().rposition(|&i| i > order[place]).expect("the next one is larger");
        order.swap(place, other);
        order[place + 1..].reverse();
    }
}
