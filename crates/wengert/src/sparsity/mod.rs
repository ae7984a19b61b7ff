//! Sparse derivatives: patterns, colourings, compressed evaluation.

pub use crate::pattern::{Pattern, PatternError};
