//! The family `reduce`: reductions over axes, as loops over the elements.

use serde_json::Value;
use wengert::Real;

use super::algebra::{dot, logsumexp, mean, softmax, sum_squares};
use super::unsupported;
use crate::array::{Args, Array, Outputs, Trouble, number, one};
use crate::load::Object;

pub(super) fn call<R: Real>(function: &str, args: &Args<R>) -> Outputs<R> {
    match function {
        "softmax" | "log_softmax" => one(along_axis(args.array(0)?, args.attrs, function)?),
        "norm_p" => {
            let (x, p) = (&args.array(0)?.data, args.attr("p")?);
            if p.is_infinite() {
                return number(largest(&x.iter().map(|x| x.abs()).collect::<Vec<R>>()));
            }
            number(x.iter().map(|x| x.abs().powf(p)).sum::<R>().powf(1.0 / p))
        }
        "norm_fro" => number(sum_squares(&args.array(0)?.data).sqrt()),
        "cosine_similarity" => {
            let (x, y) = (&args.array(0)?.data[..], &args.array(1)?.data[..]);
            number(dot(x, y) / (sum_squares(x).sqrt() * sum_squares(y).sqrt()))
        }
        "layer_norm" => one(normalised(args, -1)?),
        "batch_norm" => one(normalised(args, 0)?),
        "masked_mean" => {
            let kept = args.array(0)?.data.iter().zip(&args.integers(1)?.data).filter(|(_, mask)| **mask != 0);
            number(mean(&kept.map(|(&x, _)| x * x).collect::<Vec<R>>()))
        }
        "covariance" => {
            let columns = args.matrix(0)?.transposed();
            let n = columns.shape[1] as f64;
            let centred: Vec<Vec<R>> = columns.rows().map(|column| centred(column)).collect();
            let covariance = |index: &[usize]| dot(&centred[index[0]], &centred[index[1]]) / (n - 1.0);
            one(Array::from_fn(&[centred.len(); 2], covariance))
        }
        name => match reduction(name, args.attrs) {
            Some(reduce) => one(over_axes(args.array(0)?, args.attrs, reduce)?),
            None => unsupported(name),
        },
    }
}

/// A function from the elements of a slice to a number.
type Reduction<R> = Box<dyn Fn(&[R]) -> R>;

/// The reduction with this name.
pub(super) fn reduction<R: Real>(name: &str, attrs: &Object) -> Option<Reduction<R>> {
    let ddof = attrs.get("ddof").and_then(Value::as_f64).unwrap_or(0.0);
    let variance = move |x: &[R]| sum_squares(&centred(x)) / (x.len() as f64 - ddof);
    Some(match name {
        "sum" => Box::new(|x| x.iter().copied().sum()),
        "mean" => Box::new(|x| mean(x)),
        "max" | "max_reduce" => Box::new(|x| largest(x)),
        "min" => Box::new(|x| -largest(&x.iter().map(|&x| -x).collect::<Vec<R>>())),
        "prod" => Box::new(|x| x.iter().copied().product()),
        "logsumexp" => Box::new(|x| logsumexp(x)),
        "var" => Box::new(variance),
        "std" => Box::new(move |x| variance(x).sqrt()),
        "norm2" => Box::new(|x| sum_squares(x).sqrt()),
        "sum_squares" => Box::new(|x| sum_squares(x)),
        _ => return None,
    })
}

/// The largest element; ties, which these cases do not have, are shared pair by pair.
fn largest<R: Real>(x: &[R]) -> R {
    let (&first, rest) = x.split_first().expect("a maximum of no elements does not exist");
    rest.iter().fold(first, |largest, &x| largest.max(x))
}

fn centred<R: Real>(x: &[R]) -> Vec<R> {
    let mean = mean(x);
    x.iter().map(|&x| x - mean).collect()
}

/// `(x - mean) / sqrt(var + eps)`
fn standard<R: Real>(x: &[R], eps: f64) -> Vec<R> {
    let centred = centred(x);
    let deviation = (sum_squares(&centred) / x.len() as f64 + eps).sqrt();
    centred.into_iter().map(|x| x / deviation).collect()
}

/// Every line along an axis normalised; then multiplied and moved by vectors along the last axis.
fn normalised<R: Real>(args: &Args<R>, along: i64) -> Result<Array<R>, Trouble> {
    let (x, g, b, eps) = (args.array(0)?, args.array(1)?, args.array(2)?, args.attr("eps")?);
    let lines = on_lines(x, axis(&Value::from(along), x.shape.len())?, |line| standard(line, eps))?;
    let affine = |index: &[usize]| lines.at(index) * g.broadcast_at(index) + b.broadcast_at(index);
    Ok(Array::from_fn(&x.shape, affine))
}

/// An axis of an array of this rank; negative ones count from the end.
pub(super) fn axis(value: &Value, rank: usize) -> Result<usize, Trouble> {
    let axis = value.as_i64().map(|axis| if axis < 0 { axis + rank as i64 } else { axis });
    match axis.and_then(|axis| usize::try_from(axis).ok()) {
        Some(axis) if axis < rank => Ok(axis),
        _ => Err(Trouble::Misfit(format!("{value} is no axis of an array of rank {rank}"))),
    }
}

/// `axes` and `keepdims` of the attributes: no axes means all.
pub(super) fn over_axes<R: Real>(
    x: &Array<R>,
    attrs: &Object,
    reduce: impl Fn(&[R]) -> R,
) -> Result<Array<R>, Trouble> {
    let rank = x.shape.len();
    let axes = match attrs.get("axes") {
        None | Some(Value::Null) => (0..rank).collect(),
        Some(Value::Array(axes)) => axes.iter().map(|value| axis(value, rank)).collect::<Result<Vec<_>, _>>()?,
        Some(other) => return Err(Trouble::Misfit(format!("`axes` is {other}"))),
    };
    let keep = attrs.get("keepdims").and_then(Value::as_bool).unwrap_or(false);
    let length = |k: usize| if axes.contains(&k) { 1 } else { x.shape[k] };
    let kept: Vec<usize> = (0..rank).map(length).collect();
    let inner: Vec<usize> = (0..rank).map(|k| if axes.contains(&k) { x.shape[k] } else { 1 }).collect();
    let slice = |outer: &[usize]| {
        let at = |inner: &[usize]| x.at(&outer.iter().zip(inner).map(|(o, i)| o + i).collect::<Vec<usize>>());
        reduce(&Array::from_fn(&inner, at).data)
    };
    let reduced = Array::from_fn(&kept, slice);
    let shape: Vec<usize> = (0..rank).filter(|k| keep || !axes.contains(k)).map(length).collect();
    Ok(Array::new(&shape, reduced.data))
}

/// The softmax, or its logarithm, along the axis of the attributes (the last if none is named).
pub(super) fn along_axis<R: Real>(x: &Array<R>, attrs: &Object, function: &str) -> Result<Array<R>, Trouble> {
    let axis = axis(attrs.get("axis").unwrap_or(&Value::from(-1)), x.shape.len())?;
    let logarithmic = function == "log_softmax";
    on_lines(x, axis, |line| {
        if logarithmic {
            let total = logsumexp(line);
            line.iter().map(|&x| x - total).collect()
        } else {
            softmax(line)
        }
    })
}

/// Every line along an axis through `f`, which keeps its length.
pub(super) fn on_lines<R: Real>(x: &Array<R>, axis: usize, f: impl Fn(&[R]) -> Vec<R>) -> Result<Array<R>, Trouble> {
    let mut result = x.clone();
    let inner: usize = x.shape[axis + 1..].iter().product();
    let length = x.shape[axis];
    for start in (0..x.data.len()).filter(|position| (position / inner).is_multiple_of(length)) {
        let positions: Vec<usize> = (0..length).map(|k| start + k * inner).collect();
        let line: Vec<R> = positions.iter().map(|&position| x.data[position]).collect();
        for (&position, value) in positions.iter().zip(f(&line)) {
            result.data[position] = value;
        }
    }
    Ok(result)
}
