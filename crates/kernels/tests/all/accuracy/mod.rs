//! Accuracy of the vector mathematics, and equality of the bits between the levels.
//!
//! Every function is swept over its whole range against a reference of about 100 bits, and
//! the largest error found is printed (`cargo test -- --nocapture`) and bounded. Special
//! values are tables. The reference itself is compared with values of mpmath.

#[macro_use]
mod check;
mod golden;
mod reference;
mod single;
mod special;
mod sweeps;
