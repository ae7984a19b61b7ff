//! The tests of the kernels' public interface, a module for each area, in one binary.

#[macro_use]
mod accuracy;
mod environment;
#[cfg(feature = "linalg")]
mod factor;
#[cfg(feature = "linalg")]
mod factor_cofactors;
#[cfg(feature = "linalg")]
mod factor_eigh;
mod factor_tangents;
#[cfg(feature = "fft")]
mod fourier;
mod nightly;
mod pool;
#[cfg(feature = "gemm")]
mod product_memory;
mod region;
#[cfg(feature = "linalg")]
mod sparse;
