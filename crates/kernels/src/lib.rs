//! SIMD loops and vector mathematics; knows slices, not programs.

pub mod dispatch;
mod double;
pub mod math;
mod polynomial;

pub use dispatch::{Level, Work, dispatch, dispatch_at, level, machine_level};
