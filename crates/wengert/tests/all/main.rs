//! The tests of the library's public interface, a module for each area.
//!
//! They are one binary, because the library is generic: each function of it is then compiled once for all tests, and linked
//! once. `cargo nextest run -p wengert --all-features --test all tape::` runs one module.

mod support;

// ---- numbers -------------------------------------------------------------------------------------

#[cfg(feature = "derive")]
mod derive;
mod generic;
#[cfg(any(feature = "nalgebra", feature = "ndarray"))]
mod interop;
mod many;
mod mistakes;
mod nesting;
mod replay;
mod rules;
mod scalar_loops;
mod sparsity;
mod straight;
mod tape;
mod taylor;
mod together;

// ---- tensors -------------------------------------------------------------------------------------

#[cfg(feature = "argmin")]
mod argmin;
mod array_drivers;
#[cfg(feature = "engine")]
mod bands;
mod captures;
mod complex;
mod diagnose;
#[cfg(all(feature = "npy", feature = "safetensors"))]
mod files;
mod foreign;
mod fourier;
mod implicit;
mod linalg;
#[cfg(feature = "engine")]
mod loop_blocks;
#[cfg(feature = "engine")]
mod loop_memory;
mod loop_zeros;
mod loops;
#[cfg(feature = "derive")]
mod mapped_axes;
mod nested_levels;
mod nn;
#[cfg(feature = "npy")]
mod npy;
mod numbers;
mod ode;
mod optim;
#[cfg(feature = "derive")]
mod paths;
mod signal;
mod sparse_solve;
#[cfg(feature = "engine")]
mod spectral;
mod structure;
mod taken;
mod tensor;
mod tensor_errors;

// ---- Programs ------------------------------------------------------------------------------------

mod battery;
mod golden_loader;
mod patterns;
mod program_laws;
mod text;

// ---- plans ---------------------------------------------------------------------------------------

#[cfg(feature = "engine")]
mod budgets;
#[cfg(feature = "engine")]
mod compile;
mod engine;
#[cfg(feature = "engine")]
mod in_place;
mod lanes;
mod layouts;
mod planning;
mod runs;
#[cfg(feature = "engine")]
mod same_bits;
mod segments;
mod sharing;

pub mod examples;
pub mod examples_linalg;
pub mod programs;
pub mod training;
