//! `#[derive(Tree)]`: structs as points and results of the drivers of Wengert.
//!
//! `lib.rs` is the door, `input` reads the struct and refuses what cannot be a tree, `output`
//! writes the implementations. `tree.md` is the page of the macro; its examples are run with those of the library.

mod input;
mod output;

use proc_macro::TokenStream;

#[doc = include_str!("tree.md")]
#[proc_macro_derive(Tree, attributes(tree))]
pub fn derive_tree(item: TokenStream) -> TokenStream {
    let item = syn::parse_macro_input!(item as syn::DeriveInput);
    let tokens = match input::read(&item) {
        Ok(tree) => output::write(&tree),
        Err(error) => error.into_compile_error(),
    };
    tokens.into()
}
