//! Derivatives inside of derivatives of numbers: a particle steered to a target, and the saddle point of a quadratic, of
//! GradBench's evals of these names, in every order of modes, on one thread.
//!
//! The functions and the descent are those that GradBench states: the outer descent asks for values and gradients one after
//! the other, and every value of the outer function takes inner gradients. Reverse mode is `grad`. Forward mode is `jvp`, along
//! one axis after the other; `d` is forward mode by `Dual` inside of the other.

use std::hint::black_box;
use std::time::{Duration, Instant};

use wengert::Scalar;
use wengert::prelude::*;

/// For how long each function is called, at least.
const SPENT: Duration = Duration::from_millis(400);

/// How a gradient is computed.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Mode {
    Reverse,
    Forward,
    Dual,
}

/// A number, or a variable of the outer derivative.
trait Number: Scalar + Into<Var> {
    fn slope(x: [Self; 2], f: impl Fn([Var; 2]) -> Var) -> [Self; 2];
    fn along(x: [Self; 2], v: [f64; 2], f: impl Fn([Var; 2]) -> Var) -> Self;
}

macro_rules! number {
    ($($scalar:ty)*) => {
        $(impl Number for $scalar {
            fn slope(x: [Self; 2], f: impl Fn([Var; 2]) -> Var) -> [Self; 2] {
                grad(x, f)
            }
            fn along(x: [Self; 2], v: [f64; 2], f: impl Fn([Var; 2]) -> Var) -> Self {
                jvp(x, v.map(Self::constant), f).1
            }
        })*
    };
}
number!(f64 Var);

/// A function of the plane with numbers captured, over any carrier.
trait Field<S: Number> {
    fn at<R: Real>(&self, x: [R; 2], captured: impl Fn(S) -> R) -> R;
}

/// Its gradient.
fn slope<S: Number>(mode: Mode, field: &impl Field<S>, x: [S; 2]) -> [S; 2] {
    match mode {
        Mode::Reverse => S::slope(x, |x| field.at(x, S::into)),
        Mode::Forward => [[1.0, 0.0], [0.0, 1.0]].map(|v| S::along(x, v, |x| field.at(x, S::into))),
        Mode::Dual => field.at([Dual::seed(x[0], 0), Dual::seed(x[1], 1)], Dual::<S, 2>::lift).tangents(),
    }
}

/// Descends to the smallest value from `x`, by steps whose length doubles after ten that went down.
fn descend<S: Number, const N: usize>(
    mut x: [S; N],
    f: impl Fn([S; N]) -> S,
    slope: impl Fn([S; N]) -> [S; N],
) -> [S; N] {
    let norm = |v: [S; N]| v.iter().map(|&v| v * v).sum::<S>().sqrt();
    let (mut value, mut down) = (f(x), slope(x));
    let (mut rate, mut steps) = (1e-5, 0);
    loop {
        if norm(down) <= 1e-5 {
            return x;
        }
        if steps == 10 {
            (rate, steps) = (2.0 * rate, 0);
            continue;
        }
        let next: [S; N] = std::array::from_fn(|k| x[k] - down[k] * rate);
        if norm(std::array::from_fn(|k| x[k] - next[k])) <= 1e-5 {
            return x;
        }
        let there = f(next);
        if there < value {
            (x, value, down) = (next, there, slope(next));
            steps += 1;
        } else {
            (rate, steps) = (rate / 2.0, 0);
        }
    }
}

/// The potential of two charges, of which one stands off by `w`.
struct Charges<S> {
    w: S,
}

impl<S: Number> Field<S> for Charges<S> {
    fn at<R: Real>(&self, [x, y]: [R; 2], captured: impl Fn(S) -> R) -> R {
        let other = -captured(self.w) + 10.0;
        let distance = |u: R, v: R| (u * u + v * v).sqrt();
        distance(x - 10.0, y - other).recip() + distance(x - 10.0, y).recip()
    }
}

/// How far from the origin, squared, the particle hits the ground.
fn hit<S: Number>(inner: Mode, w: S) -> S {
    let field = Charges { w };
    let (mut x, mut v) = ([S::constant(0.0), S::constant(8.0)], [S::constant(0.75), S::constant(0.0)]);
    loop {
        let down = slope(inner, &field, x);
        x = [x[0] + v[0] * 0.1, x[1] + v[1] * 0.1];
        if x[1] <= 0.0 {
            let rest = -x[1] / v[1];
            let place = x[0] + rest * v[0];
            return place * place;
        }
        v = [v[0] - down[0] * 0.1, v[1] - down[1] * 0.1];
    }
}

fn particle(outer: Mode, inner: Mode) -> Vec<f64> {
    let slope = |[w]: [f64; 1]| match outer {
        Mode::Reverse => [grad(w, |w| hit(inner, w))],
        Mode::Forward | Mode::Dual => [jvp(w, 1.0, |w| hit(inner, w)).1],
    };
    descend([0.0], |[w]| hit(inner, w), slope).to_vec()
}

/// `|y|^2 - |x|^2` as a function of `y`.
struct Saddle<S> {
    x: [S; 2],
}

impl<S: Number> Field<S> for Saddle<S> {
    fn at<R: Real>(&self, [u, v]: [R; 2], captured: impl Fn(S) -> R) -> R {
        let [x, y] = self.x.map(captured);
        (u * u + v * v) - (x * x + y * y)
    }
}

fn saddle_at<S: Number>(x: [S; 2], y: [S; 2]) -> S {
    Saddle { x }.at(y, |x| x)
}

/// The `y` with the largest value at `x`.
fn best<S: Number>(inner: Mode, x: [S; 2]) -> [S; 2] {
    let field = Saddle { x };
    descend([1.0; 2].map(S::constant), |y| saddle_at(x, y), |y| slope(inner, &field, y))
}

fn saddle(outer: Mode, inner: Mode) -> Vec<f64> {
    fn worst<S: Number>(inner: Mode, x: [S; 2]) -> S {
        -saddle_at(x, best(inner, x))
    }
    let slope = |x: [f64; 2]| match outer {
        Mode::Reverse => grad(x, |x| worst(inner, x)),
        Mode::Forward | Mode::Dual => [[1.0, 0.0], [0.0, 1.0]].map(|v| jvp(x, v, |x| worst(inner, x)).1),
    };
    let x = descend([1.0; 2], |x| worst(inner, x), slope);
    [x, best(inner, x)].concat()
}

/// What both have to find.
const PARTICLE: [f64; 1] = [0.207_191_874_648_611_6];
const SADDLE: [f64; 4] = [8.246_324_826_140_356e-6; 4];

/// Prints how long both take in every order of modes, the outer one first.
pub(crate) fn run() {
    type Search = fn(Mode, Mode) -> Vec<f64>;
    let searches: [(&str, Search, &[f64]); 2] = [("particle", particle, &PARTICLE), ("saddle", saddle, &SADDLE)];
    let modes = [("r", Mode::Reverse), ("f", Mode::Forward), ("d", Mode::Dual)];
    println!("{:12}{:>8}{:>12}", "search", "modes", "ms");
    for (name, search, want) in searches {
        for (outer_name, outer) in &modes[..2] {
            for (inner_name, inner) in &modes {
                let found = search(*outer, *inner);
                let off = found.iter().zip(want).map(|(x, want)| (x / want - 1.0).abs()).fold(0.0, f64::max);
                assert!(found.len() == want.len() && off < 1e-9, "{name}: {found:?} instead of {want:?}");
                let (mut least, begin) = (Duration::MAX, Instant::now());
                while begin.elapsed() < SPENT {
                    let begin = Instant::now();
                    black_box(search(black_box(*outer), *inner));
                    least = least.min(begin.elapsed());
                }
                println!("{name:12}{outer_name:>7}{inner_name}{:>12.2}", least.as_secs_f64() * 1e3);
            }
        }
    }
}
