//! Loops over numbers: against the same steps as a loop of Rust, which the tape records operation by operation.

mod again;
mod capturing;
mod errors;
mod laws;
mod memory;
mod nested;
mod orders;
mod trees;
mod zeros;

use wengert::loops::{Loops, Numbers};
use wengert::prelude::*;
use wengert::{Carry, Scan};

use crate::support::caught::caught;

/// How the steps of a loop are taken.
#[derive(Clone, Copy, Debug)]
enum Run {
    /// By a loop of Rust.
    Plain,
    /// By a loop of the library over any carrier.
    Loop(Loops),
    /// By one over trees.
    Tree(Scan),
}

impl Run {
    /// All ways but the plain one.
    fn loops() -> [Run; 4] {
        let [all, some, few] = [Loops::new(), Loops::new().every(3), Loops::new().every(1000)].map(Run::Loop);
        [all, some, few, Run::Tree(Scan::new())]
    }

    fn fori<C>(self, count: usize, init: C, step: impl Fn(Var, C) -> C) -> C
    where
        C: Numbers<Number = Var> + Carry<Active = Var, Vars = C>,
    {
        match self {
            Run::Plain => (0..count).fold(init, |c, i| step(lift(i as f64), c)),
            Run::Loop(loops) => loops.fori(0..count as i64, init, step),
            Run::Tree(scan) => scan.fori(0..count as i64, init, step),
        }
    }

    fn scan<C, X, Y>(self, init: C, xs: &[X], step: impl Fn(C, X) -> (C, Y)) -> (C, Vec<Y>)
    where
        C: Numbers<Number = Var> + Carry<Active = Var, Vars = C>,
        X: Numbers<Number = Var, With<Var> = X> + Carry<Active = Var, Vars = X>,
        Y: wengert::loops::Given<Var> + wengert::StepRows<Var, Stacked: IntoIterator<Item = Y>>,
    {
        match self {
            Run::Plain => {
                let mut carry = init;
                let mut given = Vec::new();
                for x in xs {
                    let (next, y) = step(carry, x.clone());
                    carry = next;
                    given.push(y);
                }
                (carry, given)
            }
            Run::Loop(loops) => loops.scan(init, xs, step),
            Run::Tree(scan) => {
                let (carry, given) = scan.run(init, xs, step);
                (carry, given.into_iter().collect())
            }
        }
    }

    fn while_loop<C>(self, init: C, condition: impl Fn(C) -> bool, step: impl Fn(C) -> C) -> C
    where
        C: Numbers<Number = Var> + Carry<Active = Var, Vars = C>,
    {
        match self {
            Run::Plain => {
                let mut carry = init;
                while condition(carry.clone()) {
                    carry = step(carry);
                }
                carry
            }
            Run::Loop(loops) => loops.while_loop(init, condition, step),
            Run::Tree(_) => while_loop(init, condition, step),
        }
    }
}

/// A function of two variables with a loop in it.
type Function = fn(Run, [Var; 2]) -> Var;

/// The steps of the longest loop of [`FUNCTIONS`].
const STEPS: usize = 60;

/// Functions with loops of every kind.
const FUNCTIONS: [(&str, Function); 9] = [
    ("oscillator", oscillator),
    ("branches", branches),
    ("rows", rows),
    ("course", course),
    ("root", root),
    ("counter", counter),
    ("selections", selections),
    ("drivers inside", drivers_inside),
    ("loops inside", loops_inside),
];

/// Two numbers carried, one captured.
fn oscillator(run: Run, [x, k]: [Var; 2]) -> Var {
    let (q, p) = run.fori(STEPS, (x, k * 0.5), |_, (q, p)| {
        let p = p - q.sin() * k * 0.1;
        (q + p * 0.1, p)
    });
    q + p * x
}

/// Four paths, which alternate as the carry does.
fn branches(run: Run, [x, y]: [Var; 2]) -> Var {
    run.fori(STEPS, x, |i, c| {
        let c = if c > y { c * 0.3 - y } else { c + y * 0.7 + 0.1 };
        if (c * 5.0 + i).sin() > 0.0 { c * (y + i * 0.01).cos() } else { c - x * 0.1 }
    })
}

/// Rows that are variables, some of them the same one.
fn rows(run: Run, [x, y]: [Var; 2]) -> Var {
    let rows: Vec<[Var; 2]> = (0..30).map(|k| [x * f64::from(k) * 0.1, if k % 3 == 0 { y } else { y.sin() }]).collect();
    run.scan(y, &rows, |c, [a, b]| (c * 0.7 + (a * c).cos() * b, a)).0
}

/// What the steps give, some of it used.
fn course(run: Run, [x, y]: [Var; 2]) -> Var {
    let rows: Vec<Var> = (0..25).map(|k| lift(0.1 * f64::from(k)) + x).collect();
    let (last, given) = run.scan([x, y], &rows, |[a, b], r| ([b, a * 0.5 + (b + r).sin()], (a * b, a + r)));
    let some = given.iter().step_by(3).map(|&(product, _)| product).sum::<Var>();
    some + given[20].1 * given[7].0 + last[0]
}

/// Newton's method for the square root, where the number of steps depends on the point.
fn root(run: Run, [x, y]: [Var; 2]) -> Var {
    let a = x * x + y * y + 1.0;
    let (root, _) = run.while_loop(
        (a * 1e6, lift(0.0)),
        |(r, n)| (r * r - a).abs() > 1e-13 && n < 50.0,
        |(r, n)| ((r + a / r) * 0.5, n + 1.0),
    );
    root
}

/// A number that counts beside one that does not.
fn counter(run: Run, [x, y]: [Var; 2]) -> Var {
    let (n, sum) = run.fori(STEPS, (lift(1.0), y), |_, (n, sum)| (n + 1.0, sum + x.sin() / n + (x * y) / (n * n)));
    assert_eq!(n.value(), STEPS as f64 + 1.0);
    sum * n
}

/// Masks instead of control flow.
fn selections(run: Run, [x, y]: [Var; 2]) -> Var {
    run.fori(STEPS, x, |_, c| {
        let small = c.less(y);
        Real::select(small, c + 0.3 * x, (c - y).sqrt() * 0.5).clamp(-2.0, x + y + 1.0)
    })
}

/// Derivatives by the carry and by captures in every step.
fn drivers_inside(run: Run, [x, y]: [Var; 2]) -> Var {
    run.fori(12, x, |_, c| {
        let slope = grad(c, |u| (u * y).sin() * u);
        let along = jvp([c, y], [lift(0.3), x], |[u, v]| u * v.exp()).1;
        c * 0.5 + slope * 0.2 + along * 0.05
    })
}

/// A loop with branches and captures inside of another one.
fn loops_inside(run: Run, [x, y]: [Var; 2]) -> Var {
    run.fori(10, [x, y], |i, [a, b]| {
        let a = run.fori(9, a, |j, c| if (c + j).sin() > 0.2 { c * 0.8 + x * 0.1 } else { c + b * 0.1 + i * 0.01 });
        let b = run.while_loop(b, |b| b > 0.1, |b| b * 0.5);
        [a, b * 3.0 + y * a.cos()]
    })[0]
}

/// What `f` panics with.
#[track_caller]
fn panic_of<T>(f: impl FnOnce() -> T) -> String {
    caught("it", f).err().expect("it should have panicked")
}

/// Asserts that numbers agree up to roundings of this many operations, relative to the largest, or to 1 if all are smaller.
#[track_caller]
fn near(what: &str, got: &[f64], want: &[f64], operations: usize) {
    assert_eq!(got.len(), want.len(), "{what}");
    let largest = want.iter().fold(1.0, |largest: f64, want| largest.max(want.abs()));
    for (got, want) in got.iter().zip(want) {
        assert!(want.is_finite(), "{what}: {want} is no test");
        let off = (got - want).abs();
        assert!(off <= operations as f64 * f64::EPSILON * largest, "{what}: {got} instead of {want}, off by {off:e}");
    }
}
