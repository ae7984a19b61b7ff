//! What `#[wengert::generic]` is not for.

#[wengert::generic]
struct Plain {
    x: f64,
}

#[wengert::generic(all)]
fn f(x: f64) -> f64 {
    1.0 - x
}

fn main() {}
