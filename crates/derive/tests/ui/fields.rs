//! Fields that are neither leaves nor static, or cannot be.

use wengert::Tree;

#[derive(Tree)]
struct Unmarked<T> {
    x: T,
    steps: usize,
    name: String,
}

#[derive(Tree)]
struct StaticLeaves<T> {
    x: T,
    #[tree(static)]
    start: Vec<T>,
}

#[derive(Tree)]
struct Borrowed<'a, T>(T, &'a [T]);

fn main() {}
