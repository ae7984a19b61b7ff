//! The objectives of ADBench and GradBench over tensors and over numbers, and the best way we know to differentiate each.
//!
//! Each of ADBench's has its data as plain numbers (what a file or a message says), the objective as a function of tensors, and a
//! compiled form that computes the objective and its derivative in the benchmark's layout, again and again.

pub mod ba;
pub mod descent;
pub mod files;
pub mod gmm;
pub mod hand;
pub mod lstm;
