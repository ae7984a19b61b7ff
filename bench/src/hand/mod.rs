//! Derivatives written by hand: of the functions of scalars, and of ADBench's four problems.

pub(crate) mod ba;
pub(crate) mod gmm;
#[expect(clippy::needless_range_loop, reason = "rows and columns are the indices of formulas")]
pub(crate) mod lstm;
mod scalar;
#[expect(clippy::needless_range_loop, reason = "rows and columns are the indices of formulas")]
pub(crate) mod tracking;

pub(crate) use scalar::gradient;
