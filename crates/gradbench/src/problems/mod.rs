//! The problems, written as a user would write them.

pub mod descent;
