//! Program to plan: which steps run, on which memory, in which order.

pub(crate) mod kernel;
pub(crate) mod kernels;
