//! The family `composite`: layers, losses and small models.

use std::f64::consts::TAU;

use wengert::nn::{Visible, attention};
use wengert::{Tensor, checkpoint};

use super::{ArrayArgs, Results, one, unsupported};

pub(super) fn call(function: &str, args: &ArrayArgs) -> Results {
    one(match function {
        "linear_layer" => {
            let [w, b, x] = args.all()?;
            x.linear(w, b)
        }
        "relu_layer" => {
            let [w, b, x] = args.all()?;
            x.linear(w, b).relu()
        }
        "mse_linear" => {
            let [w, b, x, y] = args.all()?;
            x.linear(w, b).mse(y)
        }
        "softmax_cross_entropy" => {
            let [logits, labels] = args.all()?;
            logits.softmax_cross_entropy(labels).mean()
        }
        "binary_cross_entropy_logits" => {
            let [z, y] = args.all()?;
            z.sigmoid_cross_entropy(y).mean()
        }
        "mlp_loss" => {
            let [x, y, w1, b1, w2, b2, w3, b3] = args.all()?;
            let hidden = x.linear(w1, b1).tanh().linear(w2, b2).tanh();
            hidden.linear(w3, b3).flatten().mse(&y.flatten())
        }
        "mlp_classifier" => {
            let [x, labels, w1, b1, w2, b2] = args.all()?;
            x.linear(w1, b1).relu().linear(w2, b2).softmax_cross_entropy(labels).mean()
        }
        "f32_mlp" => {
            let [x, w, b] = args.all()?;
            x.linear(w, b).tanh().sum()
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
            attention(q, k, v, Visible::All)
        }
        "causal_attention" => {
            let [x, q, k, v] = args.all()?;
            // The scale is that of two columns, however many there are.
            let scale = (q.shape()[1] as f64 / 2.0).sqrt();
            attention(&(x.matmul(q) * scale), &x.matmul(k), &x.matmul(v), Visible::Causal)
        }
        "embedding_bag" => {
            let [table, w, tokens] = args.all()?;
            table.embedding(tokens).sum_over(0).tanh().dot(w)
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

/// `-sum_n ln sum_k softmax(logits)_k N(x_n; mu_k, diag exp(2 ls_k))`
fn mixture_nll(logits: &Tensor, mu: &Tensor, log_sigma: &Tensor, points: &Tensor) -> Tensor {
    let scaled = (points.expand_dims(1) - mu) / log_sigma.exp();
    let terms = scaled.square() * -0.5 - log_sigma - 0.5 * TAU.ln();
    -(terms.sum_over(-1) + logits - logits.logsumexp()).logsumexp_over(-1).sum()
}
