//! The tests of the kernels' public interface, a module for each area, in one binary.

#[macro_use]
mod accuracy;
mod environment;
mod pool;
#[cfg(feature = "gemm")]
mod product_memory;
mod region;
