//! Loops that are recorded again and again: what was made for one of them serves another only if it does the same.

use wengert::loops::{fori, scan};
use wengert::prelude::*;
use wengert::release_memory;

use super::near;

const POINT: [f64; 2] = [0.7, 0.9];
const ALONG: [f64; 2] = [0.4, -1.3];

/// Gradient, tangent and product with the Hessian.
fn derivatives(f: impl Fn([Var; 2]) -> Var, x: [f64; 2]) -> Vec<f64> {
    let (value, gradient) = value_and_grad(x, &f);
    let (again, tangent) = jvp(x, ALONG, &f);
    assert_eq!(value, again);
    [&[value, tangent][..], &gradient, &hvp(x, ALONG, &f)].concat()
}

/// Asserts that a loop has the derivatives of the same steps one after the other.
#[track_caller]
fn check(what: &str, steps: usize, x: [f64; 2], step: impl Fn(Var, [Var; 2]) -> Var + Copy) {
    let looped = derivatives(|[a, b]| fori(0..steps as i64, a * b, |_, c| step(c, [a, b])), x);
    let plain = derivatives(|[a, b]| (0..steps).fold(a * b, |c, _| step(c, [a, b])), x);
    near(what, &looped, &plain, 1000 * steps);
}

#[test]
fn the_same_loop_at_other_points() {
    // The shortest end before there is code of them, and have it when they come again.
    for steps in [6, 20, 37, 90] {
        for k in 0..12 {
            let x = [0.3 + 0.05 * f64::from(k), 1.0 - 0.1 * f64::from(k)];
            check(&format!("{steps} steps at {x:?}"), steps, x, |c, [a, b]| (c * a).sin() + b * 0.1);
        }
    }
}

/// The numbers that a step computes with are a part of it.
#[test]
fn loops_with_other_numbers() {
    for _ in 0..4 {
        for number in [0.1, 0.2, -0.0, 0.0, 0.1 + f64::EPSILON] {
            check(&format!("+ {number}"), 45, POINT, |c, [a, _]| (c + number) * a.cos());
            check(&format!("1 / ({number} + 1)"), 45, POINT, |c, [a, _]| c * a / (number + 1.0));
            // A result that is a number, and a power.
            check(&format!("gives {number}"), 45, POINT, |_, [_, _]| lift(number));
            check(&format!("power {number}"), 45, POINT, |c, [_, b]| (c * c + 1.0).powf(number) * b);
        }
        for exponent in 1..4 {
            check(&format!("to the {exponent}"), 45, POINT, |c, [a, b]| (c * a * 0.5).sin().powi(exponent) + b);
        }
    }
}

/// Steps that compute the same behind guards that come out differently, and with other captures.
#[test]
#[expect(clippy::if_same_then_else, reason = "the guard is what differs")]
fn loops_with_other_guards_and_captures() {
    for k in 0..6 {
        let x = [POINT[0], if k % 2 == 0 { 0.2 } else { 1.4 }];
        check(&format!("first or second, {x:?}"), 50, x, |c, [a, b]| if b > 0.5 { c * a + b } else { c * b + a });
        // Both ways record the same operations behind the guard.
        check(&format!("the same, {x:?}"), 50, x, |c, [a, b]| {
            let more = b > 0.5;
            let c = c * a + b * 0.1;
            if more { c.sin() } else { c.sin() }
        });
        // The captures come in another order.
        check("a first", 50, x, |c, [a, b]| c * a * 0.5 + b);
        check("b first", 50, x, |c, [a, b]| c * b * 0.5 + a);
    }
}

/// Rows that are variables or not, and carries of which a part depends on nothing: which tangents there are differs from call to
/// call of one step.
#[test]
fn the_same_steps_with_other_tangents() {
    fn walk(rows: &[Var], start: [Var; 2], looped: bool) -> Var {
        let step = |[c, n]: [Var; 2], r: Var| ([c * 0.9 + (r * c).sin() / n, n + 1.0], c * r);
        let ([c, n], given) = match looped {
            true => scan(start, rows, step),
            false => {
                let (mut carry, mut given) = (start, Vec::new());
                for &r in rows {
                    let (next, y) = step(carry, r);
                    carry = next;
                    given.push(y);
                }
                (carry, given)
            }
        };
        c * n + given.into_iter().step_by(7).sum::<Var>()
    }
    let rows = |x: Option<Var>| -> Vec<Var> {
        (0..55).map(|k| x.filter(|_| k % 2 == 0).unwrap_or(lift(1.0)) * (0.02 * f64::from(k))).collect()
    };
    for _ in 0..3 {
        for (of_rows, of_carry, of_count) in
            [(true, false, false), (false, true, false), (true, true, true), (false, false, true)]
        {
            let f = |[a, b]: [Var; 2], looped: bool| {
                let start = [if of_carry { b } else { lift(0.4) }, if of_count { a + 1.0 } else { lift(1.0) }];
                walk(&rows(of_rows.then_some(a)), start, looped)
            };
            let looped = derivatives(|x| f(x, true), POINT);
            let plain = derivatives(|x| f(x, false), POINT);
            near(&format!("{of_rows} {of_carry} {of_count}"), &looped, &plain, 100_000);
        }
    }
}

/// Each step gives five numbers, of which the function reads others in every step: more sets of cotangents than a path knows.
#[test]
fn results_of_which_others_are_read_in_every_step() {
    let rows: Vec<Var> = (0..130).map(|k| lift(0.01 * f64::from(k))).collect();
    let step = |c: Var, r: Var, a: Var| {
        let next = (c * a + r).sin();
        (next, [c * r, next * a, c + next, r * a, c * c])
    };
    let read = |given: &[[Var; 5]]| -> Var {
        let chosen = |(k, y): (usize, &[Var; 5])| (0..5).filter(|j| ((k * 7) >> j) & 1 == 1).map(|j| y[j]).sum::<Var>();
        given.iter().enumerate().map(chosen).sum()
    };
    for _ in 0..3 {
        let looped = derivatives(|[a, b]| read(&scan(b, &rows, |c, r| step(c, r, a)).1), POINT);
        let plain = derivatives(
            |[a, b]| {
                let (mut c, mut given) = (b, Vec::new());
                for &r in &rows {
                    let (next, y) = step(c, r, a);
                    c = next;
                    given.push(y);
                }
                read(&given)
            },
            POINT,
        );
        near("others in every step", &looped, &plain, 100_000);
    }
}

/// More steps than are remembered, in turn; and nothing remembered at all.
#[test]
fn more_loops_than_are_remembered() {
    for round in 0..3 {
        for k in 0..100 {
            let number = 0.01 * f64::from(k);
            check(&format!("loop {k}"), 40, POINT, |c, [a, b]| (c * a + number).sin() * b);
        }
        if round == 1 {
            release_memory();
        }
    }
}

/// A path that is remembered is used by two loops at the same time, one inside of the other; and by loops of two threads.
#[test]
fn loops_that_share_a_step() {
    let twice = |c: Var, [a, b]: [Var; 2]| {
        fori(0..40, c, |_, c| c * a * 0.9 + b * 0.1) + fori(0..40, a, |_, c| c * a * 0.9 + b * 0.1)
    };
    let plain = |c: Var, [a, b]: [Var; 2]| {
        let run = |c: Var| (0..40).fold(c, |c, _| c * a * 0.9 + b * 0.1);
        run(c) + run(a)
    };
    let both = || {
        let looped = derivatives(|[a, b]| fori(0..40, b, |_, c| twice(c, [a, b]) * 0.5), POINT);
        let want = derivatives(|[a, b]| (0..40).fold(b, |c, _| plain(c, [a, b]) * 0.5), POINT);
        near("inside", &looped, &want, 1_000_000);
    };
    std::thread::scope(|scope| {
        scope.spawn(both);
        both();
    });
    both();
}
