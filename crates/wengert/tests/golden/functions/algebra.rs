//! The few operations on vectors and matrices that the functions of the cases are made of.

use wengert::Real;

use crate::array::Array;

/// `x . y`
pub(super) fn dot<R: Real>(x: &[R], y: &[R]) -> R {
    assert_eq!(x.len(), y.len(), "a dot product");
    x.iter().zip(y).map(|(&x, &y)| x * y).sum()
}

/// `x + y`
pub(super) fn add<R: Real>(x: &[R], y: &[R]) -> Vec<R> {
    assert_eq!(x.len(), y.len(), "a sum of vectors");
    x.iter().zip(y).map(|(&x, &y)| x + y).collect()
}

/// `f` of every element.
pub(super) fn map<R: Real>(x: &[R], f: impl Fn(R) -> R) -> Vec<R> {
    x.iter().map(|&x| f(x)).collect()
}

/// `A x`
pub(super) fn matvec<R: Real>(a: &Array<R>, x: &[R]) -> Vec<R> {
    a.rows().map(|row| dot(row, x)).collect()
}

/// `A B`
pub(super) fn matmul<R: Real>(a: &Array<R>, b: &Array<R>) -> Array<R> {
    let columns = b.transposed();
    Array::from_fn(&[a.height(), b.shape[1]], |index| dot(a.row(index[0]), columns.row(index[1])))
}

/// `x W + b` for every row of `x`.
pub(super) fn affine<R: Real>(x: &Array<R>, w: &Array<R>, b: &[R]) -> Array<R> {
    let product = matmul(x, w);
    Array::new(&product.shape, product.rows().flat_map(|row| add(row, b)).collect())
}

/// Arithmetic mean.
pub(super) fn mean<R: Real>(x: &[R]) -> R {
    x.iter().copied().sum::<R>() / x.len() as f64
}

/// `sum x^2`
pub(super) fn sum_squares<R: Real>(x: &[R]) -> R {
    dot(x, x)
}

/// The largest element as a constant: what exponentials are shifted by against overflow.
fn shift<R: Real>(x: &[R]) -> R {
    let (&first, rest) = x.split_first().expect("a vector with elements");
    rest.iter().fold(first, |largest, &x| largest.max(x)).detach()
}

/// `ln sum exp x`; `-inf` of nothing.
pub(super) fn logsumexp<R: Real>(x: &[R]) -> R {
    if x.is_empty() {
        return R::constant(f64::NEG_INFINITY);
    }
    let shift = shift(x);
    shift + x.iter().map(|&x| (x - shift).exp()).sum::<R>().ln()
}

/// `exp x / sum exp x`
pub(super) fn softmax<R: Real>(x: &[R]) -> Vec<R> {
    let shift = shift(x);
    let powers = map(x, |x| (x - shift).exp());
    let total = powers.iter().copied().sum::<R>();
    map(&powers, |power| power / total)
}

/// `L` with `A = L L'` for a positive definite `A`: Cholesky's method, row by row.
pub(super) fn cholesky<R: Real>(a: &Array<R>) -> Array<R> {
    let n = a.height();
    let mut l = Array::new(&[n, n], vec![R::constant(0.0); n * n]);
    for i in 0..n {
        for j in 0..=i {
            let rest = a.at(&[i, j]) - dot(&l.row(i)[..j], &l.row(j)[..j]);
            l.data[i * n + j] = if i == j { rest.sqrt() } else { rest / l.at(&[j, j]) };
        }
    }
    l
}

/// `L^-1 b` for a lower triangle `L`.
pub(super) fn forward_substitution<R: Real>(l: &Array<R>, b: &[R]) -> Vec<R> {
    let mut x: Vec<R> = Vec::with_capacity(b.len());
    for (i, &b) in b.iter().enumerate() {
        x.push((b - dot(&l.row(i)[..i], &x)) / l.at(&[i, i]));
    }
    x
}

/// `A^-1 b` by elimination with row pivots, chosen by value.
pub(super) fn solve<R: Real>(a: &Array<R>, b: &[R]) -> Vec<R> {
    let n = b.len();
    let mut rows: Vec<Vec<R>> = a.rows().zip(b).map(|(row, &b)| [row, &[b]].concat()).collect();
    for k in 0..n {
        let pivot = (k..n).fold(k, |best, i| if rows[i][k].abs() > rows[best][k].abs() { i } else { best });
        rows.swap(k, pivot);
        let (above, below) = rows.split_at_mut(k + 1);
        for row in below {
            let factor = row[k] / above[k][k];
            row[k..].iter_mut().zip(&above[k][k..]).for_each(|(entry, &pivot)| *entry -= factor * pivot);
        }
    }
    let mut x = vec![R::constant(0.0); n];
    for i in (0..n).rev() {
        x[i] = (rows[i][n] - dot(&rows[i][i + 1..n], &x[i + 1..])) / rows[i][i];
    }
    x
}
