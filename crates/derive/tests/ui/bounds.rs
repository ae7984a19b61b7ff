//! Bounds on the leaf parameter, wherever they are written.

use wengert::{Real, Tree};

#[derive(Tree)]
struct Bounded<T: Real> {
    x: T,
}

#[derive(Tree)]
struct BoundedBelow<T>
where
    Vec<T>: Clone,
{
    x: T,
}

#[derive(Tree)]
struct BoundedByOther<T, U: Into<T>> {
    x: T,
    #[tree(static)]
    other: U,
}

fn main() {}
