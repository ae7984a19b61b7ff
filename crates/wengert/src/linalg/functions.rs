//! Functions of matrices, and products of many.

use super::solve::inverse;
use super::{check_matrix, check_square, split};
use crate::array::{DType, Type};
use crate::error::{Error, ErrorKind, Line, OrRaise, misfit};
use crate::ops::{Binary, Compare, Unary};
use crate::primitives::linalg::{contract, identity, product, scaled};
use crate::primitives::{Bounds, Cond, MatrixKind, MatrixSolve, Reduce, Reducer, While};
use crate::program::{Builder, Program, Value};
use crate::tensor::Tensor;
use crate::tensor::compose::{check_count, compose, joint_shape, or_raise, stretch};

or_raise! {
    /// The exponential of square matrices, `sum_k A^k / k!`.
    ///
    /// By scaling and squaring: a diagonal Padé approximant of degree 3, 5, 7, 9 or 13, by the norm, and for norms above that
    /// of degree 13 of `A / 2^s`, squared s times (A. H. Al-Mohy, N. J. Higham, *Computing the Fréchet derivative of the
    /// matrix exponential*, 2009, whose bounds hold for value and derivative). Its derivative runs through the same products.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let turn = Tensor::from([[0.0, -1.0], [1.0, 0.0]]).expm().to_vec();
    /// assert!((turn[0] - 1f64.cos()).abs() < 1e-15 && (turn[2] - 1f64.sin()).abs() < 1e-15);
    /// ```
    fn expm = try_expm();
    /// The n-th power of square matrices, by repeated squaring; of the inverse if n is negative.
    fn matrix_power = try_matrix_power(n: i32);
    /// The Kronecker product: every element of `self` times all of `other`, in blocks.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let x = Tensor::from([[1.0, 2.0]]).kron(&Tensor::from([[1.0], [10.0]]));
    /// assert_eq!((x.shape(), x.to_vec()), (&[2, 2][..], vec![1.0, 2.0, 10.0, 20.0]));
    /// ```
    fn kron = try_kron(other: &Tensor);
}

impl Tensor {
    /// As [`Tensor::expm`], with an error instead of a panic.
    ///
    /// # Errors
    /// If it is no square matrix of finite real numbers.
    #[track_caller]
    pub fn try_expm(&self) -> Result<Tensor, Error> {
        compose("expm", &[self], |b, args| {
            check_square(b, args[0])?;
            Ok(exponential(b, args[0]))
        })
    }

    /// As [`Tensor::matrix_power`], with an error instead of a panic.
    ///
    /// # Errors
    /// If it is no square matrix, or n is negative and it is singular.
    #[track_caller]
    pub fn try_matrix_power(&self, n: i32) -> Result<Tensor, Error> {
        compose("matrix_power", &[self], |b, args| {
            check_square(b, args[0])?;
            let mut base = if n < 0 { inverse(b, args[0]) } else { args[0] };
            let mut power = None;
            let mut left = n.unsigned_abs();
            while left > 0 {
                if left % 2 == 1 {
                    power = Some(power.map_or(base, |power| product(b, power, base)));
                }
                left /= 2;
                if left > 0 {
                    base = product(b, base, base);
                }
            }
            let ty = b.ty(args[0]).clone();
            Ok(power.unwrap_or_else(|| identity(b, &ty)))
        })
    }

    /// As [`Tensor::kron`], with an error instead of a panic.
    ///
    /// # Errors
    /// If they are no matrices of one real element type, or the result does not fit in memory.
    #[track_caller]
    pub fn try_kron(&self, other: &Tensor) -> Result<Tensor, Error> {
        compose("kron", &[self, other], |b, args| {
            let ((m, n), (p, q)) = (check_matrix(b, args[0])?, check_matrix(b, args[1])?);
            if b.dtype(args[0]) != b.dtype(args[1]) {
                misfit!("the element types differ; convert one of them first");
            }
            let (Some(rows), Some(columns)) = (m.checked_mul(p), n.checked_mul(q)) else {
                misfit!("the result does not fit in memory");
            };
            let lead = joint_shape(&split(b.shape(args[0])).0, &split(b.shape(args[1])).0)?;
            let [x, y] = [(0, m, n), (1, p, q)]
                .map(|(k, rows, columns)| stretch(b, args[k], &[&lead[..], &[rows, columns]].concat()));
            check_count(&[&lead[..], &[rows, columns]].concat())?;
            let blocks = contract(b, ["ij", "kl", "ikjl"], x, y);
            Ok(b.reshape(blocks, &[&lead[..], &[rows, columns]].concat()))
        })
    }
}

/// The product of matrices in the order with the fewest multiplications; the first and the last may be vectors.
///
/// ```
/// use wengert::linalg::multi_dot;
/// use wengert::prelude::*;
/// let (a, b) = (Tensor::ones(&[2, 3]), Tensor::ones(&[3, 4]));
/// assert_eq!(multi_dot(&[&a, &b, &Tensor::ones(&[4])]).to_vec(), [12.0, 12.0]);
/// ```
///
/// # Panics
/// As [`try_multi_dot`] returns an error.
#[track_caller]
pub fn multi_dot(matrices: &[&Tensor]) -> Tensor {
    try_multi_dot(matrices).or_raise()
}

/// As [`multi_dot`], with an error instead of a panic.
///
/// # Errors
/// If there is no operand or more than 50, one is neither matrix nor vector at an end, or shapes or element types do not fit.
#[track_caller]
pub fn try_multi_dot(matrices: &[&Tensor]) -> Result<Tensor, Error> {
    let refuse = |why: String| {
        let error = Error::new(ErrorKind::Misfit, "multi_dot", why);
        Err(error.of(matrices.iter().map(|matrix| matrix.ty())).at(Some(std::panic::Location::caller())))
    };
    let letters: Vec<char> = ('a'..='z').chain('A'..='Z').collect();
    let last = matrices.len().wrapping_sub(1);
    if matrices.is_empty() || matrices.len() > 50 {
        return refuse(format!("it takes 1 to 50 matrices, and got {}", matrices.len()));
    }
    let mut operands = Vec::with_capacity(matrices.len());
    for (k, matrix) in matrices.iter().enumerate() {
        operands.push(match matrix.rank() {
            2 => format!("{}{}", letters[k], letters[k + 1]),
            1 if k == 0 => letters[1].to_string(),
            1 if k == last => letters[k].to_string(),
            rank => {
                return refuse(format!("operand {k} has {rank} axes, and has to be a matrix, or a vector at an end"));
            }
        });
    }
    let first = (matrices[0].rank() == 2).then_some(letters[0]);
    let end = (matrices[last].rank() == 2 || last == 0).then_some(letters[last + 1]);
    let out: String = first.into_iter().chain(end).collect();
    Tensor::try_einsum(&format!("{}->{out}", operands.join(",")), matrices)
}

// ---- the exponential ----------------------------------------------------------------------------

/// Degrees, and up to which 1-norm value and derivative of each are right to the last digits of double precision (Al-Mohy and
/// Higham 2009, table 6.1).
const DEGREES: [(usize, f64); 5] = [(3, 1.08e-2), (5, 2.00e-1), (7, 7.83e-1), (9, 1.78), (13, 4.74)];

/// More squarings than any norm needs.
const MOST_SQUARINGS: usize = 1100;

fn exponential(b: &mut Builder, a: Value) -> Value {
    let ty = b.ty(a).clone();
    if ty.size() == 0 {
        return a;
    }
    let norm = norm(b, a);
    let double = b.ty(norm).clone();
    let mut index = b.full(0.0, &double.with_dtype(DType::I64));
    for (_, bound) in &DEGREES[..4] {
        let bound = b.full(*bound, &double);
        let above = b.op(Compare::Gt, &[norm, bound]);
        let above = b.convert(above, DType::I64);
        index = b.add(index, above);
    }
    // Not above: so that the number of squarings of what is no number is 0, and the system finds it.
    let bound = b.full(DEGREES[4].1, &double);
    let quotient = b.div(norm, bound);
    let log = b.op(Unary::Log2, &[quotient]);
    let ceiling = b.op(Unary::Ceil, &[log]);
    let zero = b.zeros_like(ceiling);
    let most = b.full(MOST_SQUARINGS as f64, &double);
    let above = b.op(Compare::Gt, &[ceiling, zero]);
    let squarings = b.select(above, ceiling, zero);
    let squarings = b.op(Binary::Min, &[squarings, most]);
    let line = b.line;
    let branches = DEGREES.map(|(degree, _)| approximant(&ty, &double, degree, line));
    let first = b.op(Cond::by_index(branches), &[index, a, squarings]);
    squared(b, first, squarings)
}

/// The largest 1-norm of a batch, as a number in double precision that carries no derivative.
fn norm(b: &mut Builder, a: Value) -> Value {
    let sizes = b.op(Unary::Abs, &[a]);
    let sizes = b.op(Unary::Detach, &[sizes]);
    let sizes = b.convert(sizes, DType::F64);
    let rank = b.shape(sizes).len();
    let columns = b.sum(sizes, &[rank - 2]);
    b.op(Reduce::new(Reducer::Max, &(0..rank - 1).collect::<Vec<usize>>()), &[columns])
}

/// The coefficients of the numerator of the diagonal Padé approximant of the exponential: the denominator has the same with
/// alternating signs.
fn coefficients(degree: usize) -> Vec<f64> {
    let mut coefficients = vec![1.0; degree + 1];
    for k in 0..degree {
        // c_(k+1) / c_k = (degree - k) / ((2 degree - k) (k + 1))
        coefficients[k + 1] = coefficients[k] * (degree - k) as f64 / ((2 * degree - k) * (k + 1)) as f64;
    }
    coefficients
}

/// The Program of the approximant of `A / 2^s`; only the highest degree scales.
fn approximant(ty: &Type, number: &Type, degree: usize, line: Option<Line>) -> Program {
    let mut b = Builder::new();
    b.line = line;
    let a = b.input("", ty.clone());
    let squarings = b.input("", number.clone());
    let a = if degree == 13 {
        let minus = b.neg(squarings);
        let factor = b.op(Unary::Exp2, &[minus]);
        let factor = b.convert(factor, ty.dtype);
        let factor = b.broadcast_scalar(factor, &ty.shape);
        b.mul(a, factor)
    } else {
        a
    };
    let c = coefficients(degree);
    let square = product(&mut b, a, a);
    let (odd, even) = if degree == 13 { halves_of_13(&mut b, square, &c) } else { halves(&mut b, ty, square, &c) };
    let odd = product(&mut b, a, odd);
    let (denominator, numerator) = (b.sub(even, odd), b.add(even, odd));
    let x = b.op(MatrixSolve::new(MatrixKind::General), &[denominator, numerator]);
    b.finish(&[x])
}

/// `sum_k c[k] x_k` with the powers of a square, from the constant on.
fn combined(b: &mut Builder, powers: &[Value], c: impl Iterator<Item = f64>) -> Value {
    let terms: Vec<Value> = powers.iter().zip(c).map(|(&power, c)| scaled(b, c, power)).collect();
    terms[1..].iter().fold(terms[0], |sum, &term| b.add(sum, term))
}

/// The odd half, over A, and the even half of a numerator.
fn halves(b: &mut Builder, ty: &Type, square: Value, c: &[f64]) -> (Value, Value) {
    let mut powers = vec![identity(b, ty), square];
    while powers.len() < c.len() / 2 {
        let last = powers[powers.len() - 1];
        powers.push(product(b, last, square));
    }
    let odd = combined(b, &powers, c.iter().skip(1).step_by(2).copied());
    (odd, combined(b, &powers, c.iter().step_by(2).copied()))
}

/// The same of degree 13, with three powers and two products more (N. J. Higham, *The scaling and squaring method for the
/// matrix exponential revisited*, 2005).
fn halves_of_13(b: &mut Builder, square: Value, c: &[f64]) -> (Value, Value) {
    let ty = b.ty(square).clone();
    let fourth = product(b, square, square);
    let sixth = product(b, fourth, square);
    let powers = [identity(b, &ty), square, fourth, sixth];
    let mut half = |first: usize| {
        let low = combined(b, &powers, (0..4).map(|k| c[first + 2 * k]));
        let high = combined(b, &powers[1..], (4..7).map(|k| c[first + 2 * k]));
        let high = product(b, sixth, high);
        b.add(low, high)
    };
    let even = half(0);
    (half(1), even)
}

/// A matrix squared this many times.
fn squared(b: &mut Builder, x: Value, count: Value) -> Value {
    let ty = b.ty(x).clone();
    let number = b.ty(count).clone();
    let step = |b: &mut Builder| {
        let count = b.input("", number.clone());
        let done = b.input("", number.clone());
        (count, done, b.input("", ty.clone()))
    };
    let mut condition = Builder::new();
    condition.line = b.line;
    let (wanted, done, _) = step(&mut condition);
    let more = condition.op(Compare::Lt, &[done, wanted]);
    let condition = condition.finish(&[more]);
    let mut body = Builder::new();
    body.line = b.line;
    let (_, done, x_now) = step(&mut body);
    let one = body.full(1.0, &number);
    let done = body.add(done, one);
    let next = product(&mut body, x_now, x_now);
    let body = body.finish(&[done, next]);
    let zero = b.zeros_like(count);
    b.ops(While::new(condition, body, Bounds::default()), &[count, zero, x])[1]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coefficients_are_those_of_the_table() {
        // Higham 2005, over the first: 1, 1/2, 1/10, 1/120.
        let wanted = [1.0, 0.5, 0.1, 1.0 / 120.0];
        assert!(coefficients(3).iter().zip(wanted).all(|(c, wanted)| (c - wanted).abs() < 1e-17));
        let last = 64_764_752_532_480_000f64.recip();
        assert!((coefficients(13)[13] / last - 1.0).abs() < 1e-14);
    }
}
