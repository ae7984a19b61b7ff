//! Functions that models are made of, composed of the operations of [`Tensor`](crate::Tensor): only softmax has a
//! derivative of its own, in terms of its result.
//!
//! Most are methods of `Tensor`, listed here; [`attention`] is a function of three tensors. Each has a `try_` twin that
//! returns the error instead of a panic. Where a formula would overflow or cancel, another one with the same value is
//! computed.
//!
//! | what | methods |
//! |---|---|
//! | probabilities | `softmax`, `log_softmax` |
//! | losses, one for each row or element | `softmax_cross_entropy`, `softmax_cross_entropy_with`, `sigmoid_cross_entropy`, `huber` |
//! | the mean loss | `mse` |
//! | normalisation | `layer_norm`, `rms_norm`, `batch_norm`, `batch_norm_with` |
//! | layers | `linear`, `embedding`, `dropout` |
//! | activations | `relu`, `relu6`, `leaky_relu`, `elu`, `celu`, `gelu_erf`, `gelu_tanh`, `silu`, `mish`, `softplus`, `softsign`, `sigmoid`, `tanh` |
//! | integrals and tables | `trapz`, `trapz_at`, `interp` |
//!
//! Layers with parameters are structs (feature `derive`), each a [`Tree`](crate::Tree) with initial values by key and a method
//! `apply`: [`Linear`], [`Conv1d`], [`Conv2d`], [`Embedding`], [`MultiHeadAttention`], and the norms [`LayerNorm`], [`RmsNorm`],
//! [`GroupNorm`], [`BatchNorm`]. A model is a struct of them with `#[derive(Tree)]` and a function of its own. Their parameters
//! are in double precision until `map_leaves` converts them.
//!
//! ```
//! use wengert::prelude::*;
//! let logits = Tensor::from([[2.0, 1.0, 0.0], [0.0, 0.0, 0.0]]);
//! let labels = Tensor::from([0i64, 2]);
//! let slope = grad(logits, |z| z.softmax_cross_entropy(&labels).mean());
//! assert_eq!(slope.shape(), [2, 3]);
//! // The gradient of a row is (softmax - label) / 2: its elements add up to 0.
//! assert!(slope.sum_over(1).abs().max().item() < 1e-15);
//! ```

mod attention;
#[cfg(feature = "derive")]
mod init;
mod interpolate;
mod layer;
#[cfg(feature = "derive")]
mod layers;
mod loss;
#[cfg(feature = "derive")]
mod multi_head;
mod normalise;
#[cfg(feature = "derive")]
mod norms;
mod softmax;

#[cfg(feature = "derive")]
pub use init::Init;
#[cfg(feature = "derive")]
pub use layers::{Conv, Conv1d, Conv2d, Embedding, Linear};
#[cfg(feature = "derive")]
pub use multi_head::MultiHeadAttention;
#[cfg(feature = "derive")]
pub use norms::{BatchNorm, GroupNorm, LayerNorm, RmsNorm};
/// The families of `try_` methods of this folder.
pub(crate) mod twins {
    pub use super::interpolate::TryInterpolate;
    pub use super::layer::TryLayer;
    pub use super::loss::TryLoss;
    pub use super::normalise::TryNormalise;
    pub use super::softmax::TrySoftmax;
}

pub use attention::{Visible, attention, try_attention};

use crate::array::Type;
use crate::error::{Misfit, misfit};
use crate::program::{Builder, Value};

/// `factor x`
fn scaled(b: &mut Builder, x: Value, factor: f64) -> Value {
    let ty = b.ty(x).clone();
    let factor = b.full(factor, &ty);
    b.mul(x, factor)
}

/// Checks that a further operand has the element type of the first.
fn check_same_dtype(what: &str, wanted: &Type, got: &Type) -> Result<(), Misfit> {
    if wanted.dtype == got.dtype {
        return Ok(());
    }
    misfit!("the {what} is {got}, and has to have elements of type {}; convert first", wanted.dtype)
}

/// Checks that a further operand has this element type and shape.
fn check_type(what: &str, wanted: &Type, got: &Type) -> Result<(), Misfit> {
    if wanted == got {
        return Ok(());
    }
    misfit!("the {what} is {got}, and has to be {wanted}")
}
