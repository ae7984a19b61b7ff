//! Kernels of the operations that are not fused into regions.

pub(crate) mod conv;
