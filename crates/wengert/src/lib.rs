//! Exact derivatives of ordinary Rust: automatic differentiation, of any order.
//!
//! A driver takes a point and a function; the function is run and recorded, and the derivative has the type of the point.
//!
//! ```
//! use wengert::prelude::*;
//! let (v, [dx, dy]) = value_and_grad([2.0, 5.0], |[x, y]| x.ln() + x * y - y.sin());
//! assert_eq!([dx, dy], [5.5, 2.0 - 5f64.cos()]);
//! // drivers nest, to any depth
//! let third = grad(2.0, |x| grad(x, |x| grad(x, |x| x.powi(4))));
//! assert_eq!(third, 48.0);
//! ```
//!
//! Arrays are [`Tensor`]s. The same drivers work on them and on structs of them, and compose with [`vmap`], [`compile`] and loops:
//!
//! ```
//! use wengert::prelude::*;
//!
//! #[derive(Tree)]
//! struct Layer { weights: Tensor, bias: Tensor }
//!
//! let weights = Tensor::from([[1.0, -1.0], [0.5, 2.0]]);
//! let layer = Layer { weights, bias: Tensor::zeros(&[2]) };
//! let xs = Tensor::from([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]);
//!
//! let apply = |layer: &Layer, x: &Tensor| (layer.weights.matmul(x) + &layer.bias).tanh();
//! let slope = grad(&layer, |layer| vmap(&xs, |x| apply(&layer, &x)).square().mean());
//! assert_eq!(slope.weights.shape(), [2, 2]);
//! assert_eq!(slope.bias.shape(), [2]);
//! ```
//!
//! # The guide
//!
//! | page | what for |
//! |---|---|
//! | [Scalars](guide::scalars) | functions of numbers: which driver, points of any shape, branches, what does not infer |
//! | [Generic code](guide::generic) | functions over `Real`: numbers on the left, structs, traits, nalgebra, `f32` |
//! | [Arrays](guide::arrays) | tensors, shapes, mapped functions, loops that are recorded |
//! | [Nesting](guide::nesting) | derivatives of derivatives, of solutions, of minima |
//! | [Memory](guide::memory) | what a gradient keeps, and how to live with less |
//! | [Custom rules](guide::custom_rules) | a derivative of your own |
//! | [Checking](guide::checking) | is it right, what is it connected to, where does the NaN come from |
//! | [Speed](guide::speed) | when to [`record`], [`compile`] or [`vmap`] |
//! | [Train a model](guide::train) | parameters in structs, optimisers, frozen parts, files |
//! | [Coming from](guide::coming_from) | names for those who know JAX, PyTorch, CasADi, num-dual or candle |
//!
//! The modules have pages of their own: [`nn`], [`optim`], [`linalg`], [`signal`], [`sparse`], [`sparsity`], [`check`], [`ops`] with the
//! conventions at kinks and ties, [`plan`] with what a function will do before it does it.
//!
//! # Errors
//!
//! A mistake is a panic with a message that names the operation and your line, or an `Err` from a `try_` form.
//! Nothing is guessed: a result that would be wrong is not returned.
//!
//! # Features
//!
//! | feature | default | what it brings |
//! |---|---|---|
//! | `arrays` | yes | tensors and Programs; without it only numbers are left |
//! | `derive` | yes | `#[derive(Tree)]` |
//! | `engine` | yes | fused kernels, matrix products, threads; without it arrays run on the slow reference executor |
//! | `ndarray` | yes | its arrays as tensors and back, variables and duals as their elements |
//! | `text` | yes | Programs from text |
//! | `linalg` | | fast factorisations, by faer |
//! | `fft` | | fast Fourier transforms, by rustfft |
//! | `npy` | | arrays and trees in the files of NumPy: [`files`] |
//! | `safetensors` | | trees in the files that other frameworks read: [`files`] |
//! | `spill` | | what loops keep beyond a limit of memory, in a directory that you name ([`Compile`]) |
//! | `nalgebra` | | variables and duals as elements of its matrices |
//! | `argmin` | | functions as problems of its optimisers: [`optim`] |
//! | `num_complex` | | its complex numbers as ours and back |
//! | `faer`, `sprs`, `nalgebra-sparse` | | sparse matrices of these crates as ours and back, borrowed where their layout allows |
#![cfg_attr(not(feature = "nalgebra"), forbid(unsafe_code))]
// nalgebra's element trait declares two methods as `unsafe fn`; implementing it is all that the
// feature adds, and there is no unsafe block.
#![cfg_attr(feature = "nalgebra", deny(unsafe_code))]

// For `#[derive(Tree)]` on structs of this crate itself, whose code names it.
#[cfg(all(feature = "derive", feature = "arrays"))]
extern crate self as wengert;

// First, so that the page of `Tensor` begins with its own methods and not with those of the modules around it.
#[cfg(feature = "arrays")]
mod tensor;

mod algebra;
mod algorithm;
mod api;
#[cfg(feature = "arrays")]
mod array;
#[cfg(feature = "arrays")]
mod blocks;
pub mod check;
#[cfg(feature = "arrays")]
mod compile;
mod complex;
mod control;
mod diagnose;
mod drive;
mod dual;
#[cfg(feature = "arrays")]
mod error;
#[cfg(feature = "arrays")]
mod execute;
#[cfg(feature = "arrays")]
pub mod fallible;
#[cfg(any(feature = "npy", feature = "safetensors"))]
pub mod files;
#[cfg(feature = "arrays")]
mod functional;
#[cfg(all(doc, feature = "arrays", feature = "derive"))]
pub mod guide;
mod hash;
#[cfg(feature = "arrays")]
mod implicit;
#[cfg(any(feature = "nalgebra", feature = "ndarray"))]
mod interop;
mod lanes;
mod leaf;
#[cfg(feature = "arrays")]
mod lifted;
#[cfg(feature = "arrays")]
pub mod linalg;
pub mod loops;
#[cfg(feature = "arrays")]
pub mod nn;
mod number;
#[cfg(feature = "arrays")]
mod ode;
pub mod ops;
#[cfg(feature = "arrays")]
pub mod optim;
#[cfg(feature = "arrays")]
pub mod optimize;
#[cfg(feature = "engine")]
pub mod plan;
#[cfg(feature = "arrays")]
pub mod primitives;
#[cfg(feature = "arrays")]
mod program;
mod real;
mod record;
mod rounded;
#[cfg(feature = "arrays")]
mod rules;
mod scalar;
mod series;
#[cfg(feature = "arrays")]
pub mod signal;
#[cfg(feature = "arrays")]
pub mod sparse;
pub mod sparsity;
mod straight;
mod tape;
mod task;
mod taylor;
mod threads;
#[cfg(feature = "arrays")]
mod transform;
mod tree;

pub use algebra::{LeafMath, TreeMath};
pub use api::{
    Pullback, grad, hessian, hvp, jacobian, jvp, tape_size, taylor, value_and_grad, value_and_grad_aux,
    value_and_jacobian, value_and_jvp, value_grad_and_hessian, value_grad_and_hvp, vjp,
};
#[cfg(feature = "arrays")]
pub use array::{Array, DType, Data, Element, Type};
#[cfg(feature = "arrays")]
pub use blocks::Blocks;
#[cfg(feature = "arrays")]
pub use compile::{Compile, Compiled, compile};
pub use complex::{Complex, HolomorphicLeaf, NotHolomorphic, holomorphic_grad, try_holomorphic_grad};
#[cfg(feature = "arrays")]
pub use complex::{ComplexOperand, ComplexProducts, IntoComplex};
pub use control::{
    Branch, Carry, Control, Map, Rows, Scan, StepRows, While, associative_scan, cond, fori, map, scan, switch,
    while_loop,
};
#[cfg(feature = "arrays")]
pub use control::{try_cond, try_switch};
pub use diagnose::{
    Cut, Diagnose, Grad, GradError, Listed, Listing, MemoryError, NonFinite, Operand, Pass, SeveredError, Status,
    find_nonfinite, listing,
};
pub use dual::Dual;
#[cfg(feature = "arrays")]
pub use error::{Error, ErrorKind};
#[cfg(feature = "arrays")]
pub use execute::{CompiledProgram, plans_made};
#[cfg(feature = "engine")]
pub use execute::{profile, set_threads, try_set_threads};
#[cfg(feature = "arrays")]
pub use functional::{Vmap, checkpoint, to_program, vmap};
#[cfg(feature = "arrays")]
pub use implicit::{FixedPoint, LinearSolve, Minimise, Root, fixed_point, linear_solve, minimise, root};
pub use lanes::{LaneMask, Lanes};
pub use leaf::{Active, Leaf};
pub use number::{F32, Float};
#[cfg(feature = "arrays")]
pub use ode::{Ode, odeint};
#[cfg(feature = "arrays")]
#[doc(no_inline)]
pub use primitives::OutOfBounds;
#[cfg(feature = "arrays")]
pub use program::{Builder, Eqn, Program, Value, reference_steps};
pub use real::{Carrier, Lit, Mask, Real, lit};
pub use record::{GuardFlipped, Recorded, record};
#[cfg(feature = "arrays")]
pub use rules::{CustomRule, ForeignResults, ForeignRule, RegisteredRule};
pub use scalar::Scalar;
#[doc(inline)]
pub use sparsity::{sparse_hessian, sparse_hessian_of_lagrangian, sparse_jacobian};
pub use tape::{Cond, TapeSize, Var, lift, release_memory};
pub use taylor::Taylor;
#[cfg(feature = "arrays")]
pub use tensor::{
    Amount, Axes, AxisIndex, Bound, ConvOptions, Dim, Dims, Interpolation, IntoOperand, IntoUpdate, Key, Padding, Part,
    Parts, Place, Pool, Quantiles, Ranges, SliceMut, Tensor, span, step,
};
#[cfg(feature = "arrays")]
pub use transform::Linearized;
pub use tree::{Const, Form, Frozen, One, Paths, Several, Structure, Tree, freeze};
#[cfg(feature = "derive")]
pub use wengert_derive::{Tree, generic};

/// For the code that `#[derive(Tree)]` writes.
#[doc(hidden)]
pub mod derived {
    pub use crate::tree::{Field, NotedByHash, NotedByNumber, NotedNever};
}

/// What most users want in scope.
pub mod prelude {
    #[cfg(feature = "arrays")]
    pub use crate::fallible::*;
    pub use crate::{
        Carrier, Complex, Dual, F32, Lit, Real, Taylor, Tree, Var, cond, fori, grad, hessian, hvp, jacobian, jvp, lift,
        lit, record, scan, switch, taylor, value_and_grad, value_and_grad_aux, value_and_jacobian, value_and_jvp,
        value_grad_and_hessian, value_grad_and_hvp, vjp, while_loop,
    };
    #[cfg(feature = "arrays")]
    pub use crate::{Tensor, checkpoint, compile, vmap};
}

/// The examples of the README, compiled and run.
#[cfg(all(doctest, feature = "derive", feature = "arrays"))]
#[doc = include_str!("../../../README.md")]
struct Readme;

/// The examples of `#[derive(Tree)]`: they differentiate, and tests of a macro's package have the library compiled again.
#[cfg(all(doctest, feature = "derive", feature = "arrays"))]
#[doc = include_str!("../../derive/src/tree.md")]
struct Derive;

/// The examples of `#[generic]`.
#[cfg(all(doctest, feature = "derive", feature = "arrays"))]
#[doc = include_str!("../../derive/src/generic.md")]
struct Generic;
