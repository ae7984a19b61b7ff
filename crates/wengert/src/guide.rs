//! The guide: one page for each thing people come to do.
//!
//! | page | what for |
//! |---|---|
//! | [`scalars`] | functions of numbers: which driver, points and results of any shape, branches, what does not infer |
//! | [`arrays`] | tensors: shapes, indexing, `vmap`, loops and branches that are recorded |
//! | [`nesting`] | derivatives of derivatives, of solutions, of minima; what a level is |
//! | [`memory`] | what a gradient keeps, and how to live with less |
//! | [`custom_rules`] | a derivative of your own, for your own function |
//! | [`checking`] | is it right, what is it connected to, where does the NaN come from |
//! | [`speed`] | when to `record`, `compile` or `vmap`, and what costs what |
//! | [`coming_from`] | tables of names for those who know JAX, PyTorch, CasADi, num-dual or candle |
//!
//! Whole programs are in the folder `examples` of the repository; `cargo run --release -p wengert --example NAME` runs them.

#[doc = include_str!("../guide/scalars.md")]
pub mod scalars {}

#[doc = include_str!("../guide/arrays.md")]
pub mod arrays {}

#[doc = include_str!("../guide/nesting.md")]
pub mod nesting {}

#[doc = include_str!("../guide/memory.md")]
pub mod memory {}

#[doc = include_str!("../guide/custom_rules.md")]
pub mod custom_rules {}

#[doc = include_str!("../guide/checking.md")]
pub mod checking {}

#[doc = include_str!("../guide/speed.md")]
pub mod speed {}

#[doc = include_str!("../guide/coming_from.md")]
pub mod coming_from {}
