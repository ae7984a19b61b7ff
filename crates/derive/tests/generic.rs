//! What `#[wengert::generic]` writes: each item beside what it becomes.

#[path = "../src/generic.rs"]
mod generic;

use proc_macro2::TokenStream;

/// Items as a user writes them, and after the attribute, where `lit` stands for `::wengert::lit`.
const CASES: &[(&str, &str)] = &[
    // Left of every operator, on every level, in closures, conditions and arms.
    (
        "fn f<R: Real>(x: R) -> R { (1.0 - x) * (2.0 + x * (3.0 / x)) % x }",
        "fn f<R: Real>(x: R) -> R { (lit(1.0) - x) * (lit(2.0) + x * (lit(3.0) / x)) % x }",
    ),
    (
        "fn f<R: Real>(x: R) -> R { if 0.0 < x && 1.0 != x { g(|y: R| 0.5 * y) } else { match n { 0 => -1.0 * x, _ => x } } }",
        "fn f<R: Real>(x: R) -> R { if lit(0.0) < x && lit(1.0) != x { g(|y: R| lit(0.5) * y) } else { match n { 0 => lit(-1.0) * x, _ => x } } }",
    ),
    // Precedence: the operand is a product, or starts with one.
    ("fn f<R: Real>(x: R) -> R { x * 2.0 + x - 1.0 - x }", "fn f<R: Real>(x: R) -> R { x * 2.0 + x - 1.0 - x }"),
    ("fn f<R: Real>(x: R) -> R { x - 2.0 * x }", "fn f<R: Real>(x: R) -> R { x - lit(2.0) * x }"),
    (
        "fn f<R: Real>(x: R) -> R { -2.0 * x - -(3.0 - x) }",
        "fn f<R: Real>(x: R) -> R { lit(-2.0) * x - -(lit(3.0) - x) }",
    ),
    // Plain numbers together, in parentheses, and as functions of each other.
    ("fn f<R: Real>(x: R) -> R { (1.0 + 2.0) / 3.0 * x }", "fn f<R: Real>(x: R) -> R { lit((1.0 + 2.0) / 3.0) * x }"),
    ("fn f<R: Real>(x: R) -> R { (1.0 + 2.0) * x }", "fn f<R: Real>(x: R) -> R { lit(1.0 + 2.0) * x }"),
    (
        "fn f<R: Real>(x: R) -> R { (2.0 * PI).sqrt() * x + std::f64::consts::E * x }",
        "fn f<R: Real>(x: R) -> R { lit((2.0 * PI).sqrt()) * x + lit(std::f64::consts::E) * x }",
    ),
    (
        "fn f<R: Real>(x: R, n: usize) -> R { 1.0 / n as f64 * x + f64::from(3) * x + f64::EPSILON * x }",
        "fn f<R: Real>(x: R, n: usize) -> R { lit(1.0 / n as f64) * x + lit(f64::from(3)) * x + lit(f64::EPSILON) * x }",
    ),
    // Names by their types, and what follows from them.
    (
        "fn f<R: Real>(x: R, dt: f64) -> R { let h = 0.5 * dt; let k: f64 = g(); 2.0 * dt * x + h * x + k * x }",
        "fn f<R: Real>(x: R, dt: f64) -> R { let h = 0.5 * dt; let k: f64 = g(); lit(2.0 * dt) * x + lit(h) * x + lit(k) * x }",
    ),
    (
        "fn f<R: Real>(x: R, a: f64) -> R { let y = 2.0 * x; let a = y; let b = z(); a * x + b * x + y * x }",
        "fn f<R: Real>(x: R, a: f64) -> R { let y = lit(2.0) * x; let a = y; let b = z(); a * x + b * x + y * x }",
    ),
    (
        "fn f<R: Real>(x: R, a: f64) -> R { for a in rows { s += a * x; } s }",
        "fn f<R: Real>(x: R, a: f64) -> R { for a in rows { s += a * x; } s }",
    ),
    // What stays: integers, both sides plain, literals that say their type, macros, constants, lengths, const fn.
    (
        "fn f<R: Real>(x: R) -> R { let i = 2 * j; let r = 0..3 * n; let a = 1.0 - 2.0; x[2 * i + 1] }",
        "fn f<R: Real>(x: R) -> R { let i = 2 * j; let r = 0..3 * n; let a = 1.0 - 2.0; x[2 * i + 1] }",
    ),
    (
        "fn f<R: Real>(x: R) -> R { assert!(1.0 - x > x); const A: f64 = 2.0 * B; [0.0; 2 * N]; 2.0_f64 * x - 1.0_f32 * y }",
        "fn f<R: Real>(x: R) -> R { assert!(1.0 - x > x); const A: f64 = 2.0 * B; [0.0; 2 * N]; 2.0_f64 * x - 1.0_f32 * y }",
    ),
    ("const fn f(x: f64) -> f64 { 1.0 - g(x) }", "const fn f(x: f64) -> f64 { 1.0 - g(x) }"),
    // Impls, traits and modules, with their constants.
    (
        "impl<R: Real> Law<R> for Gas { const G: f64 = 8.3; fn at(&self, t: R) -> R { Self::G * t - 1.0 / t } }",
        "impl<R: Real> Law<R> for Gas { const G: f64 = 8.3; fn at(&self, t: R) -> R { lit(Self::G) * t - lit(1.0) / t } }",
    ),
    (
        "trait Law<R: Real> { fn at(&self, t: R) -> R { 2.0 * t } fn other(&self); }",
        "trait Law<R: Real> { fn at(&self, t: R) -> R { lit(2.0) * t } fn other(&self); }",
    ),
    (
        "mod laws { const G: f64 = 9.8; pub fn a<R: Real>(x: R) -> R { G * x } pub fn b<R: Real>(x: R, G: R) -> R { G * x } }",
        "mod laws { const G: f64 = 9.8; pub fn a<R: Real>(x: R) -> R { lit(G) * x } pub fn b<R: Real>(x: R, G: R) -> R { G * x } }",
    ),
    // A method on its own.
    ("pub fn area(self, r: R) -> R { 0.5 * r * self.0 }", "pub fn area(self, r: R) -> R { lit(0.5) * r * self.0 }"),
];

fn tokens(source: &str) -> TokenStream {
    source.parse().expect("Rust")
}

#[test]
fn literals_left_of_an_operator_are_wrapped() {
    for (written, expected) in CASES {
        let found = generic::write(TokenStream::new(), tokens(written)).expect(written);
        let expected = tokens(&expected.replace("lit(", "::wengert::lit("));
        assert_eq!(found.to_string(), expected.to_string(), "\n{written}");
    }
}

#[test]
fn what_it_is_not_for_is_said() {
    let refused = [
        ("", "struct S;", "goes on a function, an impl, a trait or a module"),
        ("", "mod elsewhere;", "cannot see this module's file"),
        ("all", "fn f() {}", "takes no options"),
    ];
    for (options, item, message) in refused {
        let error = generic::write(tokens(options), tokens(item)).expect_err(item).to_string();
        assert!(error.contains(message), "{item}: {error}");
    }
}
