//! Wengert.
#![forbid(unsafe_code)]

mod api;
mod tree;
mod real;
mod lanes;
mod dual;
pub mod tape;
mod scalar;
mod algorithm;
pub mod ops;
mod special;

pub use api::{Pullback, grad, hessian, hvp, jacobian, jvp, value_and_grad, value_and_grad_aux, vjp};
pub use dual::Dual;
pub use lanes::{LaneMask, Lanes};
pub use real::{F32, Float, Mask, Real};
pub use scalar::Scalar;
pub use tape::{Cond, Var, lift};
pub use tree::Tree;

/// What most users want in scope.
pub mod prelude {
    pub use crate::{
        Dual, F32, Real, Tree, Var, grad, hessian, hvp, jacobian, jvp, lift, value_and_grad,
        value_and_grad_aux, vjp,
    };
}
