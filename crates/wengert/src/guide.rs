//! The guide: one page for each thing people come to do.
//!
//! | page | what for |
//! |---|---|
//! | [`train`] | models: parameters in structs, optimisers, groups by path, frozen parts, files |

#[cfg(all(feature = "arrays", feature = "derive"))]
#[doc = include_str!("../guide/train.md")]
pub mod train {}
