//! Options in the wrong place, misspelt, or naming what is not there.

use wengert::Tree;

#[derive(Tree)]
#[tree(leaf = "S")]
struct Unknown<T> {
    x: T,
}

#[derive(Tree)]
#[tree(static)]
struct Misplaced<T> {
    x: T,
}

#[derive(Tree)]
struct LeafOnField<T> {
    #[tree(leaf = "T")]
    x: T,
}

#[derive(Tree)]
struct Misspelt<T> {
    x: T,
    #[tree(constant)]
    name: String,
}

fn main() {}

#[derive(Tree)]
#[tree(frozen)]
struct FrozenStruct<T> {
    x: T,
}

#[derive(Tree)]
struct FrozenAndStatic<T> {
    x: T,
    #[tree(static, frozen)]
    y: f64,
}
