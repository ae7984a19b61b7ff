//! What people type wrong with functions and points. Beside each mistake stands what the compiler has to say.

use wengert::prelude::*;

fn energy<R: Real>(x: R) -> R {
    x * x + 1.0
}

struct Plain {
    x: f64,
}

#[derive(Tree)]
struct Outer<T = f64> {
    inner: Inner<T>, // says: `#[derive(Tree)]` above `struct`
}

struct Inner<T> {
    x: T,
}

trait Field {
    fn sin(self) -> Self;
}

fn points(n: usize) {
    grad(2, |x| x); // says: write `2.0` for `2`
    grad(n, |x| x); // says: `n as f64` for an integer
    grad(2.0_f32, |x| x); // says: `F32(x)` for an `f32`
    grad([1.0_f32, 2.0], |[x, y]| x * y); // says: `f64::from(x)`
    grad(Plain { x: 1.0 }, |p| p); // says: `#[derive(Tree)]` above `struct`
    jvp(1.0, 1, |x| x); // says: write `2.0` for `2`
}

fn results() {
    jacobian([1.0], |x| x.into_iter().map(|x| x * x)); // says: `.collect::<Vec<_>>()`
    grad([1.0], |[x]| { x * x; }); // says: remove this semicolon
    grad([1.0], |_| 3.0); // says: Into::into
}

fn closures() {
    let f = |x| x.sin(); // says: explicit type
    grad(1.0, f);
}

fn numbers(n: usize, t: Tensor) {
    energy(2.0_f32); // says: `F32(x)`
    energy(n); // says: `n as f64`
    energy(t); // says: methods of its own
    energy(&2.0); // says: a reference to a number `*x`
    Dual::variable(2.0_f32); // says: `F32(x)`
}

fn other_types(v: Vector) {
    lit(2.0) * v; // says: `2.0_f64 * v`
}

struct Vector;

fn two_traits<R: Real + Field>(x: R) -> R {
    x.sin() // says: disambiguate the method
}

fn main() {}
