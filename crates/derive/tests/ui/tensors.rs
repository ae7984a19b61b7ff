//! Structs of tensors with fields that are not tensors.

use wengert::{Tensor, Tree};

#[derive(Tree)]
struct Unmarked {
    w: Tensor,
    rate: f64,
    sizes: Vec<usize>,
    name: String,
}

#[derive(Tree)]
struct Borrowed<'a> {
    w: &'a Tensor,
}

#[derive(Tree)]
struct AllStatic {
    #[tree(static)]
    w: Tensor,
}

#[derive(Tree)]
struct WithParameter<F> {
    w: Tensor,
    #[tree(static)]
    activation: F,
}

#[derive(Tree)]
struct Misspelt {
    #[tree(constant)]
    w: Tensor,
}

fn main() {}
