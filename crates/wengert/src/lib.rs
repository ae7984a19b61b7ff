//! Wengert.
#![forbid(unsafe_code)]

mod api;
mod tree;
#[cfg(any(feature = "nalgebra", feature = "ndarray"))]
mod interop;
mod record;
mod diagnose;
mod real;
mod lanes;
mod dual;
mod taylor;
mod series;
mod tape;
mod scalar;
mod algorithm;
mod replay;
pub mod ops;
mod special;
pub mod check;

pub use api::{Pullback, grad, hessian, hvp, jacobian, jvp, tape_size, taylor, value_and_grad, value_and_grad_aux, vjp};
pub use diagnose::{
    Cut, Grad, Listed, Listing, NonFinite, Operand, Pass, SeveredError, Status, find_nonfinite, listing,
};
pub use dual::Dual;
pub use lanes::{LaneMask, Lanes};
pub use record::{GuardFlipped, Recorded, record};
pub use real::{F32, Float, Mask, Real};
pub use scalar::Scalar;
pub use tape::{Cond, TapeSize, Var, lift, release_memory};
pub use taylor::Taylor;
pub use tree::Tree;
#[cfg(feature = "derive")]
pub use wengert_derive::Tree;

/// What most users want in scope.
pub mod prelude {
    pub use crate::{
        Dual, F32, Real, Taylor, Tree, Var, grad, hessian, hvp, jacobian, jvp, lift, record, taylor, value_and_grad,
        value_and_grad_aux, vjp,
    };
}
