//! The tests of the library's public interface, a module for each area.
//!
//! They are one binary, because the library is generic: each function of it is then compiled once for all tests, and linked
//! once. They are a package of their own, for which the compiler optimises nothing: that takes a quarter of the time, and what is
//! tested runs optimised all the same. `cargo nextest run -p wengert-tests tape::` runs one module.

mod support;

// ---- numbers -------------------------------------------------------------------------------------

mod derive;
mod generic;
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

mod argmin;
mod array_drivers;
mod bands;
mod captures;
mod complex;
mod diagnose;
mod files;
mod foreign;
mod fourier;
mod implicit;
mod left_out;
mod linalg;
mod loop_blocks;
mod loop_memory;
mod loop_zeros;
mod loops;
mod mapped_axes;
mod names;
mod nested_levels;
mod nn;
mod npy;
mod numbers;
mod ode;
mod optim;
mod paths;
mod signal;
mod sparse_solve;
mod spectral;
mod structure;
mod taken;
mod tensor;
mod tensor_errors;

// ---- Programs ------------------------------------------------------------------------------------

mod battery;
mod golden_loader;
mod hostile_programs;
mod patterns;
mod program_laws;
mod text;

// ---- plans ---------------------------------------------------------------------------------------

mod compile;
mod engine;
mod in_place;
mod joins;
mod lanes;
mod layouts;
mod lookups;
mod planning;
mod points;
mod rolled;
mod runs;
mod same_bits;
mod same_bits_of_loops;
mod segments;
mod sharing;

pub mod examples;
pub mod examples_linalg;
pub mod programs;
pub mod training;
