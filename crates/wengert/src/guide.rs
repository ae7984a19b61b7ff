//! The guide: one page for each thing people come to do.
//!
//! The [front page](crate) lists them in the order in which they are best read.
//!
//! Whole programs are in the folder `examples` of the repository; `cargo run --release -p wengert --example NAME` runs them.

#[doc = include_str!("../guide/scalars.md")]
pub mod scalars {}

#[doc = include_str!("../guide/generic.md")]
pub mod generic {}

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

#[doc = include_str!("../guide/train.md")]
pub mod train {}

#[doc = include_str!("../guide/coming_from.md")]
pub mod coming_from {}
