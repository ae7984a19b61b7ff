//! Program to plan: which steps run, on which memory, in which order.

pub(crate) mod kernel;
#[cfg_attr(not(test), expect(dead_code, reason = "steps call kernels once Programs are planned"))]
pub(crate) mod kernels;
