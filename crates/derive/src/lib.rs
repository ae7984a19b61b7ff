//! `#[derive(Tree)]`: structs as points and results of the drivers of Wengert.
//!
//! `lib.rs` is the door, `input` reads the struct and refuses what cannot be a tree, `output`
//! writes the implementations.

mod input;
mod output;

use proc_macro::TokenStream;

/// Makes a struct of numbers a `Tree`: a point or a result of every driver.
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
/// A field marked `#[tree(static)]` has no leaves; its type needs `Clone`, and every derivative
/// gets a copy. Every other field's type is a tree that names the leaf parameter: `T`, `[T; 3]`,
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
