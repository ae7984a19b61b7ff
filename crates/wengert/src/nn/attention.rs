//! Attention: means of values, weighted by how well keys match a query.

use super::softmax::{Shut, softmax};
use super::{check_same_dtype, scaled};
use crate::array::{DType, Type};
use crate::error::{Error, Misfit, OrRaise, misfit};
use crate::ops::Compare;
use crate::primitives::{Broadcast, Iota, check_float};
use crate::program::{Builder, Value};
use crate::tensor::Tensor;
use crate::tensor::compose::{check_stretch, compose, stretch};
use crate::tensor::linalg::matmul;

/// Which keys a query sees.
#[derive(Clone, Copy, Debug)]
pub enum Visible<'a> {
    /// All of them.
    All,
    /// Query i sees the keys up to i; there have to be as many keys as queries.
    Causal,
    /// Where a mask of truth values is true; it stretches to (…, queries, keys).
    Where(&'a Tensor),
}

/// `softmax(q k' / sqrt(d)) v` over the keys that are visible, with queries (…, T, d), keys (…, S, d) and values
/// (…, S, e), whose axes in front are stretched to each other; the result is (…, T, e) (A. Vaswani and others,
/// *Attention is all you need*, 2017).
///
/// A key that is not visible has the weight 0, and its derivative is 0; it must be finite all the same. A query that sees
/// nothing gets 0 with the derivative 0.
///
/// ```
/// use wengert::nn::{Visible, attention};
/// use wengert::prelude::*;
/// let x = Tensor::from([[0.0, 0.0], [0.0, 0.0]]);
/// let v = Tensor::from([[1.0], [3.0]]);
/// assert_eq!(attention(&x, &x, &v, Visible::All).to_vec(), [2.0, 2.0]);
/// assert_eq!(attention(&x, &x, &v, Visible::Causal).to_vec(), [1.0, 2.0]);
/// ```
///
/// # Panics
/// If the operands do not fit; [`try_attention`] returns the error instead.
#[doc(alias("scaled_dot_product_attention", "dot_product_attention"))]
#[track_caller]
pub fn attention(queries: &Tensor, keys: &Tensor, values: &Tensor, visible: Visible) -> Tensor {
    try_attention(queries, keys, values, visible).or_raise()
}

/// As [`attention`], with an error instead of a panic.
///
/// # Errors
/// If shapes or element types do not fit, or the mask is no mask.
#[track_caller]
pub fn try_attention(queries: &Tensor, keys: &Tensor, values: &Tensor, visible: Visible) -> Result<Tensor, Error> {
    let mut operands = vec![queries, keys, values];
    if let Visible::Where(mask) = visible {
        operands.push(mask);
    }
    compose("attention", &operands, |b, args| {
        let width = check_operands(b, args)?;
        let rank = b.shape(args[1]).len();
        let turned = b.move_axis(args[1], rank - 1, rank - 2);
        let scores = matmul(b, args[0], turned)?;
        let scores = scaled(b, scores, (width as f64).sqrt().recip());
        let mask = match visible {
            Visible::All => None,
            Visible::Causal => Some(causal(b, scores)?),
            Visible::Where(_) => Some(args[3]),
        };
        let weights = weights(b, scores, mask)?;
        matmul(b, weights, args[2])
    })
}

/// Checks queries, keys and values; gives the length of a query.
fn check_operands(b: &Builder, args: &[Value]) -> Result<usize, Misfit> {
    let [q, k, v] = [0, 1, 2].map(|place| b.ty(args[place]));
    check_float(q)?;
    check_same_dtype("second operand, the keys,", q, k)?;
    check_same_dtype("third operand, the values,", q, v)?;
    if let Some(ty) = [q, k, v].into_iter().find(|ty| ty.rank() < 2) {
        misfit!("queries, keys and values have at least two axes, and {ty} has {}", ty.rank());
    }
    let lengths = |ty: &Type| [ty.shape[ty.rank() - 2], ty.shape[ty.rank() - 1]];
    let ([_, width], [count, height], [values, _]) = (lengths(q), lengths(k), lengths(v));
    if width != height {
        misfit!("the queries are {width} long (last axis) and the keys {height}");
    }
    if count != values {
        misfit!("there are {count} keys and {values} values (last axis but one)");
    }
    Ok(width)
}

/// Where the number of the key is not above that of the query.
fn causal(b: &mut Builder, scores: Value) -> Result<Value, Misfit> {
    let shape = b.shape(scores).to_vec();
    let matrix = &shape[shape.len() - 2..];
    if matrix[0] != matrix[1] {
        misfit!("a causal mask needs as many keys as queries: there are {} and {}", matrix[1], matrix[0]);
    }
    let numbers = b.op(Iota { length: matrix[0] }, &[]);
    let [query, key] = [0, 1].map(|axis| b.op(Broadcast::new(matrix, &[axis]), &[numbers]));
    Ok(b.op(Compare::Le, &[key, query]))
}

/// The softmax along the last axis over what a mask admits, 0 elsewhere.
fn weights(b: &mut Builder, scores: Value, mask: Option<Value>) -> Result<Value, Misfit> {
    let ty = b.ty(scores).clone();
    let keys = ty.rank() - 1;
    if ty.shape[keys] == 0 {
        return Ok(scores);
    }
    let masked = match mask {
        None => scores,
        Some(mask) => {
            if b.ty(mask).dtype != DType::Bool {
                misfit!("the mask is {}, and has to be of truth values", b.ty(mask));
            }
            check_stretch(b.shape(mask), &ty.shape)?;
            let mask = stretch(b, mask, &ty.shape);
            // Added, and not selected: the exponential is 0 at -inf, and so is its derivative, without a mask to
            // carry through the products.
            let (open, shut) = (b.full(0.0, &ty), b.full(f64::NEG_INFINITY, &ty));
            let barrier = b.select(mask, open, shut);
            b.add(scores, barrier)
        }
    };
    // A query that sees nothing gets zeros.
    Ok(b.op(softmax(&ty, keys, Shut::Zero), &[masked]))
}
