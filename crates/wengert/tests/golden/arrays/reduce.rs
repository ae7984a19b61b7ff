//! The family `reduce`: reductions over axes and normalised exponentials.

use wengert::{DType, Tensor};

use super::{ArrayArgs, Results, one, unsupported};
use crate::array::Trouble;
use crate::attrs::Attrs;

pub(super) fn call(function: &str, args: &ArrayArgs) -> Results {
    match function {
        "softmax" | "log_softmax" => one(along_axis(function, args.first()?, args.attrs)?),
        "norm_p" => {
            let ([x], p) = (args.all()?, args.attrs.number("p")?);
            one(if p.is_infinite() { x.abs().max() } else { x.abs().powf(p).sum().powf(1.0 / p) })
        }
        "norm_fro" => one(args.first()?.norm()),
        "cosine_similarity" => {
            let [x, y] = args.all()?;
            one((x * y).sum() / (x.norm() * y.norm()))
        }
        "layer_norm" => {
            let ([x, gain, bias], eps) = (args.all()?, args.attrs.number("eps")?);
            one(x.layer_norm(gain, bias, eps))
        }
        "batch_norm" => {
            let ([x, gain, bias], eps) = (args.all()?, args.attrs.number("eps")?);
            let others = x.shape().get(1..).unwrap_or_default();
            one(x.batch_norm(&gain.broadcast_to(others), &bias.broadcast_to(others), eps))
        }
        "masked_mean" => {
            let [x, mask] = args.all()?;
            let mask = mask.convert(DType::Bool);
            one(mask.where_(x.square(), 0.0).sum() / mask.convert(x.dtype()).sum())
        }
        "covariance" => {
            let x = args.first()?;
            let centred = x - x.mean_keep(0);
            one(centred.t().matmul(&centred) / (x.shape()[0] as f64 - 1.0))
        }
        name => match reduction(name, args.first()?, args.attrs)? {
            Some(result) => one(result),
            None => unsupported(name),
        },
    }
}

/// The form of a reduction that fits: over all axes, over some, or keeping them.
macro_rules! form {
    ($x:expr, $axes:expr, $keep:expr; $all:ident $over:ident $keeping:ident ($($arg:expr)?)) => {
        match (&$axes, $keep) {
            (None, false) => $x.$all($($arg)?),
            (None, true) => $x.$keeping($($arg,)? ..),
            (Some(axes), false) => $x.$over($($arg,)? axes),
            (Some(axes), true) => $x.$keeping($($arg,)? axes),
        }
    };
}

/// The reduction with this name, over `axes` of the attributes with their `keepdims` and `ddof`.
pub(super) fn reduction(name: &str, x: &Tensor, attrs: Attrs) -> Result<Option<Tensor>, Trouble> {
    let axes = if attrs.given("axes").is_some() { Some(attrs.wholes("axes")?) } else { None };
    let keep = attrs.flag("keepdims")?;
    let ddof = if attrs.given("ddof").is_some() { attrs.count("ddof")? } else { 0 };
    Ok(Some(match name {
        "sum" => form!(x, axes, keep; sum sum_over sum_keep()),
        "mean" => form!(x, axes, keep; mean mean_over mean_keep()),
        "max" | "max_reduce" => form!(x, axes, keep; max max_over max_keep()),
        "min" => form!(x, axes, keep; min min_over min_keep()),
        "prod" => form!(x, axes, keep; prod prod_over prod_keep()),
        "logsumexp" => form!(x, axes, keep; logsumexp logsumexp_over logsumexp_keep()),
        "var" => form!(x, axes, keep; var var_over var_keep(ddof)),
        "std" => form!(x, axes, keep; std std_over std_keep(ddof)),
        "norm2" => form!(x, axes, keep; norm norm_over norm_keep()),
        "sum_squares" => form!(x.square(), axes, keep; sum sum_over sum_keep()),
        _ => return Ok(None),
    }))
}

/// The softmax, or its logarithm, along the axis of the attributes (the last if none is named).
pub(super) fn along_axis(name: &str, x: &Tensor, attrs: Attrs) -> Result<Tensor, Trouble> {
    let axis = attrs.whole("axis", Some(-1))?;
    Ok(if name == "softmax" { x.softmax(axis) } else { x.log_softmax(axis) })
}
