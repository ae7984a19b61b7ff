//! Problems of public benchmarks of automatic differentiation, written as a user would, and the tool that speaks
//! GradBench's protocol.

pub mod modules;
pub mod problems;
pub mod protocol;
