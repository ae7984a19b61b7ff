//! Vector mathematics, and the choice of the instruction set at run time.
//!
//! The interpreters of Wengert evaluate one program at several points at once, on blocks
//! such as `[f64; 8]`. This crate gives them two things: [`dispatch()`], which runs a piece of
//! work compiled for the widest vectors of the machine, and [`math`], elementary functions
//! that become vector instructions in it.
//!
//! ```
//! use wengert_kernels::{Work, dispatch, math};
//!
//! /// `tanh` of every block of a slice.
//! struct Tanh<'a>(&'a mut [[f64; 8]]);
//!
//! impl Work for Tanh<'_> {
//!     type Output = ();
//!     #[inline(always)]
//!     fn run(self) {
//!         for block in self.0 {
//!             *block = math::tanh(*block);
//!         }
//!     }
//! }
//!
//! let mut blocks = [[0.0; 8], [-40.0; 8]];
//! dispatch(Tanh(&mut blocks));
//! assert_eq!(blocks, [[0.0; 8], [-1.0; 8]]);
//! ```
//!
//! # Invariants
//!
//! - **It knows numbers and slices, not programs**: nothing here depends on another crate of
//!   Wengert.
//! - **Unsafe code is in four places, each with one purpose**: [`dispatch`](mod@dispatch) calls
//!   functions of a higher instruction set; [`pool`] lends a function to threads; [`arena`] views
//!   bytes as numbers; `product` hands out the tiles of one result.
//! - **The bits of a result do not depend on the level, nor on the place in a block, nor on
//!   its length.** There is no fused multiply-add and no special code for the end of a slice.
//!   The exceptions are the bits of a NaN, which nobody promises, and sine, cosine and
//!   tangent beyond 131072, which are the standard library's and so the platform's.
//! - **No function of [`math`] branches on a value**, except for those large angles.
//!
//! # Functions
//!
//! The error is in units in the last place of the exact result, over the whole range,
//! subnormal numbers included. `found` is the largest error in sweeps of 1.2 to 2.6 million
//! points against 100-bit arithmetic, `bound` is what the test asserts; neither is a proof.
//!
//! | function | bound | found | | function | bound | found |
//! |---|---|---|---|---|---|---|
//! | [`exp`](math::exp) | 1 | 0.77 | | [`atan2`](math::atan2) | 1 | 0.66 |
//! | [`exp2`](math::exp2) | 1 | 0.78 | | [`sinh`](math::sinh) | 1 | 0.86 |
//! | [`expm1`](math::expm1) | 1.25 | 1.06 | | [`cosh`](math::cosh) | 1 | 0.78 |
//! | [`ln`](math::ln) | 1 | 0.80 | | [`tanh`](math::tanh) | 1 | 0.81 |
//! | [`log1p`](math::log1p) | 1 | 0.83 | | [`sigmoid`](math::sigmoid) | 1 | 0.78 |
//! | [`log2`](math::log2) | 1 | 0.72 | | [`softplus`](math::softplus) | 1.25 | 1.04 |
//! | [`log10`](math::log10) | 1 | 0.66 | | [`erf`](math::erf) | 1.5 | 1.20 |
//! | [`sin`](math::sin) | 1 | 0.82 | | [`erfc`](math::erfc) | 3.5 | 2.91 |
//! | [`cos`](math::cos) | 1 | 0.82 | | [`pow`](math::pow) | 1 | 0.74 |
//! | [`tan`](math::tan) | 1.25 | 1.08 | | [`sqrt`](math::sqrt) | 0.5 | 0.50 |
//! | [`asin`](math::asin) | 1 | 0.69 | | [`cbrt`](math::cbrt) | 1 | 0.67 |
//! | [`acos`](math::acos) | 1 | 0.66 | | [`hypot`](math::hypot) | 1.25 | 1.17 |
//! | [`atan`](math::atan) | 1 | 0.70 | | | | |
//!
//! [`sin_cos`](math::sin_cos) gives both at once, with the same bits. What is not in the
//! table (the gamma functions, the inverse hyperbolic functions, remainders) is left to the
//! caller, one number at a time.

pub mod arena;
pub mod dispatch;
mod double;
pub mod float;
pub mod math;
pub mod parallel;
mod polynomial;
pub mod pool;
pub mod region;

pub use dispatch::{Level, Work, dispatch, dispatch_at, level, machine_level};
pub use pool::{Panicked, Pool};
