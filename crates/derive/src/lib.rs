//! `#[derive(Tree)]`: structs as points and results of the drivers of Wengert.
//!
//! `lib.rs` is the door, `input` reads the struct and refuses what cannot be a tree, `output`
//! writes the implementations.

mod input;
mod output;

use proc_macro::TokenStream;

/// Makes a struct of numbers or of tensors a `Tree`: a point or a result of every driver.
///
/// # Structs of tensors
///
/// A struct without type parameters holds tensors: every field is a tree of tensors (`Tensor`, `Vec<Tensor>`,
/// `[Tensor; 2]`, tuples, other structs of tensors). The derivative is a struct of the same type.
///
/// ```
/// use wengert::prelude::*;
///
/// #[derive(Tree, Clone)]
/// struct Line {
///     slope: Tensor,
///     start: Tensor,
///     #[tree(static)]
///     rate: f64,
/// }
///
/// let line = Line { slope: Tensor::from([2.0, 3.0]), start: Tensor::from(1.0), rate: 0.5 };
/// let x = Tensor::from([4.0, 5.0]);
/// let g: Line = grad(&line, |line| (line.slope * &x).sum() + line.start);
/// assert_eq!(g.slope.to_vec(), [4.0, 5.0]);
/// let line = &line - line.rate * g;
/// assert_eq!(line.start.item(), 0.5);
/// ```
///
/// A struct of tensors that has type parameters for its static fields says so with `#[tree(leaf = "Tensor")]`.
///
/// # Structs of numbers
///
/// The struct is generic over the type of its numbers, the leaves: `f64` outside, `Var` inside the
/// function, whatever a derivative puts in their place. That is its first type parameter, or the
/// one named by `#[tree(leaf = "S")]`. Leaves are counted in the order of the fields.
///
/// ```
/// use wengert::prelude::*;
///
/// #[derive(Tree, Debug, PartialEq)]
/// struct Line<T = f64> {
///     slope: T,
///     ends: [T; 2],
///     #[tree(static)]
///     name: String,
/// }
///
/// let line = Line { slope: 3.0, ends: [1.0, 2.0], name: "ascent".to_owned() };
/// let g: Line = grad(line, |line| line.slope * (line.ends[1] - line.ends[0]));
/// assert_eq!(g, Line { slope: 1.0, ends: [-3.0, 3.0], name: "ascent".to_owned() });
/// ```
///
/// # Operators
///
/// `+`, `-` and products with `f64` from either side come with the derive, leaf by leaf, for the struct and for
/// references to it; static fields are those of the left operand. A struct that writes its own is marked
/// `#[tree(no_operators)]`.
///
/// # Fields
///
/// A field marked `#[tree(static)]` has no leaves; its type needs `Clone`, and every derivative
/// gets a copy. Every other field's type is a tree, which in a struct of numbers names the leaf parameter: `T`, `[T; 3]`,
/// `Vec<T>`, `(T, T)`, another derived struct `Q<T>`. Lifetimes, constants and further type
/// parameters pass through.
///
/// The leaf parameter has no bounds, because a Hessian puts a struct in the place of every number;
/// bounds belong to the functions that need them:
///
/// ```compile_fail
/// use wengert::prelude::*;
///
/// #[derive(Tree)]
/// struct Line<T: Real> {
///     slope: T,
/// }
/// ```
#[proc_macro_derive(Tree, attributes(tree))]
pub fn derive_tree(item: TokenStream) -> TokenStream {
    let item = syn::parse_macro_input!(item as syn::DeriveInput);
    let tokens = match input::read(&item) {
        Ok(tree) => output::write(&tree),
        Err(error) => error.into_compile_error(),
    };
    tokens.into()
}
