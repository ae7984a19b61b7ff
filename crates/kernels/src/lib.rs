//! Vector mathematics, and the choice of the instruction set at run time.
//!
//! The interpreters of Wengert evaluate one program at several points at once, on blocks
//! such as `[f64; 8]`, or run one operation over slices. This crate gives them [`dispatch()`],
//! which runs a piece of work compiled for the widest vectors of the machine, and elementary
//! functions that become vector instructions in it: [`math`] on blocks of `f64`, and the trait
//! [`Float`] on single numbers of both types.
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
//! - **Unsafe code has one purpose in each module that has it**: [`dispatch`](mod@dispatch) calls
//!   functions of a higher instruction set; [`pool`] lends a function to threads, and [`parallel`] the
//!   pieces of a slice; [`arena`] views bytes as numbers; `product`, [`transpose`](mod@transpose) and
//!   `interleave` name vectors and hand out parts of one result; `factor` and `fourier` hand out the pieces of a batch, and view
//!   scratch as the libraries want it; [`region`] and [`straight`] read and write the places of
//!   code that was checked when it was made.
//! - **The bits of a result do not depend on the level, nor on the place in a block, nor on
//!   its length.** There is no fused multiply-add and no special code for the end of a slice.
//!   The exceptions are `product`, `factor` and `fourier`, whose sums are fused where the level allows; the bits of a
//!   NaN, which nobody promises; and sine, cosine and tangent of an `f64` beyond 131072, which
//!   are the standard library's and so the platform's.
//! - **No function of [`math`] or [`Float`] branches on a value**, except for large angles.
//!
//! # Functions
//!
//! The error is in units in the last place of the exact result, over the whole range,
//! subnormal numbers included. For `f64`, `found` is the largest error in sweeps of 0.8 to 2.6
//! million points against 100-bit arithmetic, and `bound` is what the test asserts. For `f32`
//! the last column is the largest error in sweeps of 4 million points against the `f64`
//! function, and the test asserts 0.6; every 31st `f32` of all gave the same. None of these is a
//! proof. (By day the tests sweep a quarter of the points; with `WENGERT_NIGHTLY=1`, all.)
//!
//! | function | bound | found | `f32` | | function | bound | found | `f32` |
//! |---|---|---|---|---|---|---|---|---|
//! | [`exp`](math::exp) | 1 | 0.77 | 0.54 | | [`sech2`](math::sech2) | 1 | 0.77 | 0.54 |
//! | [`exp2`](math::exp2) | 1 | 0.78 | 0.54 | | [`asinh`](math::asinh) | 1.25 | 0.99 | 0.52 |
//! | [`expm1`](math::expm1) | 1.25 | 1.06 | 0.51 | | [`acosh`](math::acosh) | 1.25 | 0.99 | 0.52 |
//! | [`ln`](math::ln) | 1 | 0.80 | 0.52 | | [`atanh`](math::atanh) | 1 | 0.82 | 0.52 |
//! | [`log1p`](math::log1p) | 1 | 0.83 | 0.52 | | [`sigmoid`](math::sigmoid) | 1 | 0.78 | 0.53 |
//! | [`log2`](math::log2) | 1 | 0.72 | 0.52 | | [`softplus`](math::softplus) | 1.25 | 1.04 | 0.55 |
//! | [`log10`](math::log10) | 1 | 0.66 | 0.52 | | [`silu`](math::silu) | 1 | 0.80 | 0.54 |
//! | [`sin`](math::sin) | 1 | 0.82 | 0.51 | | [`gelu_tanh`](math::gelu_tanh) | 1 | 0.79 | 0.54 |
//! | [`cos`](math::cos) | 1 | 0.82 | 0.51 | | [`gelu_erf`](math::gelu_erf) | 3.5 | 3.18 | 0.56 |
//! | [`tan`](math::tan) | 1.25 | 1.08 | 0.51 | | [`erf`](math::erf) | 1.5 | 1.20 | 0.53 |
//! | [`asin`](math::asin) | 1 | 0.69 | 0.51 | | [`erfc`](math::erfc) | 3.5 | 2.91 | 0.57 |
//! | [`acos`](math::acos) | 1 | 0.66 | 0.51 | | [`pow`](math::pow) | 1 | 0.74 | 0.54 |
//! | [`atan`](math::atan) | 1 | 0.70 | 0.51 | | [`logaddexp`](math::logaddexp) | 1 | 0.78 | 0.55 |
//! | [`atan2`](math::atan2) | 1 | 0.66 | 0.51 | | [`xlogy`](math::xlogy) | 2 | 1.59 | 0.52 |
//! | [`sinh`](math::sinh) | 1 | 0.86 | 0.51 | | [`sqrt`](math::sqrt) | 0.5 | 0.50 | 0.50 |
//! | [`cosh`](math::cosh) | 1 | 0.78 | 0.54 | | [`cbrt`](math::cbrt) | 1 | 0.67 | 0.51 |
//! | [`tanh`](math::tanh) | 1 | 0.84 | 0.52 | | [`hypot`](math::hypot) | 1.25 | 1.17 | 0.51 |
//! | [`gelu_tanh_slope`](math::gelu_tanh_slope) | 5 | 4.51 | 0.54 | | [`erfinv`](math::erfinv) | 2 | 1.91 | 0.50 |
//!
//! `1 / sqrt(x)` is rounded twice, in both types: at most 1.5, found 1.48. The error of
//! [`logaddexp`](math::logaddexp) is relative to the larger of the result and the larger
//! argument, that of [`gelu_tanh_slope`](math::gelu_tanh_slope) to 1/4 around its zero.
//! [`sin_cos`](math::sin_cos) gives both at once, with the same bits. What is not in
//! the table (the gamma functions) is in [`special`], one number at a time.
//!
//! # Speed
//!
//! Nanoseconds per element at Avx512, one thread of a 3.7 GHz Zen 5, 512 numbers in the first
//! cache, by `examples/speed.rs`, which prints all functions and levels:
//!
//! | | `exp` | `ln` | `tanh` | `sigmoid` | `sin` | `log1p` | `erf` | `pow` | `gelu_tanh` |
//! |---|---|---|---|---|---|---|---|---|---|
//! | `f32` | 0.37 | 0.45 | 0.36 | 0.46 | 0.33 | 0.60 | 0.58 | 1.43 | 0.53 |
//! | `f64` | 0.75 | 0.78 | 1.40 | 1.55 | 1.05 | 0.87 | 3.5 | 5.8 | 4.2 |
//!
//! With fused multiply-add, `exp` of `f32` would take two thirds of this (0.26 instead of 0.39,
//! both with one term more), but the bits would depend on the level. Native polynomials of
//! `f32` take 0.15 without care for subnormal results, with about twice the error.
// The pages of docs.rs, which are built by a nightly compiler, say beside an item which features it needs.
#![cfg_attr(docsrs, feature(doc_cfg))]

pub mod arena;
pub mod colour;
pub mod cost;
pub mod dispatch;
mod double;
#[cfg(feature = "linalg")]
pub mod factor;
pub mod float;
// Its tests stand in `tests/all/fourier.rs`: beside unit tests the library of transforms, a quarter of all machine code here,
// would be compiled a second time.
#[cfg(all(feature = "fft", not(test)))]
pub mod fourier;
#[cfg(feature = "fft")]
#[cfg_attr(test, expect(dead_code, reason = "what transforms call is not there beside unit tests"))]
mod interleave;
pub mod math;
pub mod parallel;
pub mod pattern;
pub mod plain;
mod polynomial;
pub mod pool;
pub mod probe;
#[cfg(feature = "gemm")]
pub mod product;
pub mod region;
#[cfg_attr(not(test), expect(dead_code, reason = "what the schemes that only tests compare are made of"))]
#[expect(missing_docs, reason = "the fields of an action are named for what its variant says of them")]
pub mod schedule;
#[cfg(feature = "linalg")]
pub mod sparse;
pub mod special;
pub mod straight;
pub mod transpose;

pub use dispatch::{Level, Work, dispatch, dispatch_at, level, machine_level};
pub use float::Float;
pub use pool::{Panicked, Pool};
