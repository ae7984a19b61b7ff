//! Items that cannot be trees at all.

use wengert::Tree;

#[derive(Tree)]
enum Choice<T> {
    One(T),
    Two([T; 2]),
}

#[derive(Tree)]
union Bits<T: Copy> {
    number: T,
    bits: u64,
}

#[derive(Tree)]
struct Plain {
    x: f64,
}

#[derive(Tree)]
struct OnlyConstant<const N: usize> {
    x: [f64; N],
}

#[derive(Tree)]
struct NoLeaves<T> {
    #[tree(static)]
    name: String,
}

#[derive(Tree)]
struct Empty<T>;

fn main() {}
