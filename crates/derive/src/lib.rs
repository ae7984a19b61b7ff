//! `#[derive(Tree)]`: structs as points and results of the drivers of Wengert; `#[generic]`: literals in generic code.
//!
//! `lib.rs` is the door, `input` reads the struct and refuses what cannot be a tree, `output`
//! writes the implementations; `generic` is the attribute. `tree.md` is the page of the macro; its examples are run with those of the library.

mod generic;
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

#[doc = include_str!("generic.md")]
#[proc_macro_attribute]
pub fn generic(options: TokenStream, item: TokenStream) -> TokenStream {
    // The item stays as it is beside an error, so that the compiler does not miss it elsewhere.
    let kept = item.clone();
    match generic::write(options.into(), item.into()) {
        Ok(tokens) => tokens.into(),
        Err(error) => TokenStream::from_iter([TokenStream::from(error.into_compile_error()), kept]),
    }
}
