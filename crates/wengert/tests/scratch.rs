//! Scratch.
#[path = "all/sparsity/arrays.rs"]
mod arrays;
#[path = "all/program_laws/mod.rs"]
mod program_laws;
#[path = "all/support/mod.rs"]
mod support;
