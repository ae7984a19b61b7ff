//! The family `composite`: layers, losses and small models.

use std::f64::consts::{SQRT_2, TAU};

use wengert::{Tensor, checkpoint};

use super::reduce::softmax;
use super::{ArrayArgs, Results, misfit, one, unsupported};
use crate::array::Trouble;

pub(super) fn call(function: &str, args: &ArrayArgs) -> Results {
    one(match function {
        "linear_layer" => {
            let [w, b, x] = args.all()?;
            affine(x, w, b)
        }
        "relu_layer" => {
            let [w, b, x] = args.all()?;
            affine(x, w, b).relu()
        }
        "mse_linear" => {
            let [w, b, x, y] = args.all()?;
            (affine(x, w, b) - y).square().mean()
        }
        "softmax_cross_entropy" => {
            let [logits, labels] = args.all()?;
            cross_entropy(logits, labels)?
        }
        "binary_cross_entropy_logits" => {
            let [z, y] = args.all()?;
            (z.softplus() - y * z).mean()
        }
        "mlp_loss" => {
            let [x, y, w1, b1, w2, b2, w3, b3] = args.all()?;
            let hidden = affine(&affine(x, w1, b1).tanh(), w2, b2).tanh();
            (affine(&hidden, w3, b3).flatten() - y.flatten()).square().mean()
        }
        "mlp_classifier" => {
            let [x, labels, w1, b1, w2, b2] = args.all()?;
            cross_entropy(&affine(&affine(x, w1, b1).relu(), w2, b2), labels)?
        }
        "f32_mlp" => {
            let [x, w, b] = args.all()?;
            affine(x, w, b).tanh().sum()
        }
        "chain8_checkpoint" => {
            let [x, w, b] = args.all()?;
            let layer = |x: Tensor| (w.matmul(&x) + b).tanh() + x / 2.0;
            (0..8).fold(x.clone(), |x, _| checkpoint(x, layer)).square().sum()
        }
        "chain8_distinct" => {
            let [x, layers] = args.all()?;
            let step = |x: Tensor, k: usize| layers.slice(k as isize).matmul(&x).sin() + x;
            (0..layers.shape()[0]).fold(x.clone(), step).sum()
        }
        "attention" => {
            let [q, k, v] = args.all()?;
            let scores = q.matmul(&k.t()) / (q.shape()[1] as f64).sqrt();
            softmax(&scores, -1).matmul(v)
        }
        "causal_attention" => {
            let [x, q, k, v] = args.all()?;
            let scores = x.matmul(q).matmul(&x.matmul(k).t()) / SQRT_2;
            let n = x.shape()[0];
            let visible = Tensor::iota(n).le(Tensor::iota(n).expand_dims(1));
            softmax(&visible.where_(scores, f64::NEG_INFINITY), -1).matmul(&x.matmul(v))
        }
        "embedding_bag" => {
            let [table, w, tokens] = args.all()?;
            table.take(tokens, 0).sum_over(0).tanh().dot(w)
        }
        "logistic_regression_l2" => {
            let [w, x, y] = args.all()?;
            (-(y * x.matmul(w))).softplus().mean() + w.square().sum() * 0.05
        }
        "gaussian_mixture_nll" => {
            let [logits, mu, log_sigma, points] = args.all()?;
            mixture_nll(logits, mu, log_sigma, points)
        }
        other => return unsupported(other),
    })
}

/// `x W + b` for every row of `x`.
fn affine(x: &Tensor, w: &Tensor, b: &Tensor) -> Tensor {
    x.matmul(w) + b
}

/// The mean over the rows of `-log_softmax(row)[label]`.
fn cross_entropy(logits: &Tensor, labels: &Tensor) -> Result<Tensor, Trouble> {
    if labels.shape() != &logits.shape()[..1] {
        return misfit("the labels do not fit the logits");
    }
    let chosen = logits.take_along_axis(&labels.expand_dims(1), 1).squeeze(1);
    Ok((logits.logsumexp_over(1) - chosen).mean())
}

/// `-sum_n ln sum_k softmax(logits)_k N(x_n; mu_k, diag exp(2 ls_k))`
fn mixture_nll(logits: &Tensor, mu: &Tensor, log_sigma: &Tensor, points: &Tensor) -> Tensor {
    let scaled = (points.expand_dims(1) - mu) / log_sigma.exp();
    let terms = scaled.square() * -0.5 - log_sigma - 0.5 * TAU.ln();
    -(terms.sum_over(-1) + logits - logits.logsumexp()).logsumexp_over(-1).sum()
}
