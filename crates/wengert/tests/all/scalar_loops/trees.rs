//! Loops and branches over trees of numbers, by the functions that tensors have too.

use std::cell::Cell;

use wengert::prelude::*;
use wengert::{Scan, While, associative_scan, map, tape_size};

use super::{near, panic_of};

/// A body in the plane.
#[derive(Tree, Clone, Copy, Debug, PartialEq)]
struct Body<T> {
    position: [T; 2],
    speed: [T; 2],
}

fn fly(Body { position: [x, y], speed: [u, v] }: Body<Var>, drag: Var) -> Body<Var> {
    let slower = 1.0 - drag * (u * u + v * v).sqrt() * 0.01;
    Body { position: [x + u * 0.01, y + v * 0.01], speed: [u * slower, v * slower - 0.0981] }
}

#[test]
fn structs_are_carried_and_captures_work() {
    let start = |angle: Var| Body { position: [lift(0.0); 2], speed: [angle.cos() * 9.0, angle.sin() * 9.0] };
    let looped = |[angle, drag]: [Var; 2]| fori(0..80, start(angle), |_, body| fly(body, drag)).position;
    let plain = |[angle, drag]: [Var; 2]| (0..80).fold(start(angle), |body, _| fly(body, drag)).position;
    let at = [0.7, 0.05];
    near("jacobian", &jacobian(at, looped).concat(), &jacobian(at, plain).concat(), 1000);
    let product = |[x, y]: [Var; 2]| x * y;
    let [got, want] = [hessian(at, |x| product(looped(x))), hessian(at, |x| product(plain(x)))];
    near("hessian", &got.concat(), &want.concat(), 10_000);
    // Third order, reverse over forward over reverse.
    let third = |of: &dyn Fn([Var; 2]) -> [Var; 2]| {
        grad(at, |x| jvp(x, [lift(0.3), lift(-1.0)], |x| grad(x, |x| product(of(x)))[0]).1)
    };
    near("third", &third(&looped), &third(&plain), 100_000);
}

#[test]
fn plain_numbers_are_carried_into_derivatives() {
    let xs = [0.5, -1.0, 2.0];
    let (last, all) = jacobian(0.3, |a| scan(0.0, &xs, |m, x| (m + a * (x - m), m * a)));
    let (want, course) = jacobian(0.3, |a: Var| {
        let step = |(m, mut all): (Var, Vec<Var>), &x: &f64| {
            all.push(m * a);
            (m + a * (x - m), all)
        };
        xs.iter().fold((lift(0.0), Vec::new()), step)
    });
    near("plain start", &[&[last], &all[..]].concat(), &[&[want], &course[..]].concat(), 20);
}

#[test]
fn outside_of_recordings_a_loop_just_runs() {
    let calls = Cell::new(0);
    let count = |c: Var| {
        calls.set(calls.get() + 1);
        c * 2.0
    };
    assert_eq!(fori(0..70, 1.0, |_, c| count(c)).value(), 2f64.powi(70));
    assert_eq!(calls.get(), 70);
    // A number may be taken out where it is no variable of a recording.
    assert_eq!(fori(0..70, 1.0, |i, c| c + i.value()).value(), 1.0 + 69.0 * 35.0);
    assert_eq!(while_loop(1.0, |c| c < 1000.0, |c| c * 2.0).value(), 1024.0);
    let (last, all) = scan([1.0, 1.0], &[(); 0].map(|()| 0.0), |c, x: Var| (c, x));
    assert_eq!((last[0].value(), all.len()), (1.0, 0));
}

#[test]
fn a_loop_of_no_steps_runs_nothing() {
    let never = |_: Var| -> Var { panic!("trees.rs: a step ran") };
    let rows: [Var; 0] = [];
    let zero = |x: Var| {
        let backwards = std::ops::Range { start: 3, end: -100 };
        let a = fori(3..3, x, |_, c| never(c)) + fori(backwards, x, |_, c| never(c));
        let (b, ys) = scan(x * 2.0, &rows, |c, _| (never(c), c));
        let c = while_loop(x, |c| c < 0.0, never);
        assert!(ys.is_empty() && map(rows, never).is_empty() && associative_scan(&rows, |a, _| never(a)).is_empty());
        (a + b + c) * x
    };
    assert_eq!(value_and_grad(3.0, zero), (45.0, 30.0));
    assert_eq!(hessian(3.0, zero), 10.0);
    assert_eq!(record(3.0, zero).grad(4.0), 40.0);
}

#[test]
fn rows_side_by_side_and_backwards() {
    let (xs, weights) = (vec![[1.0, 2.0], [0.5, -1.0], [3.0, 0.1], [0.2, 0.3], [1.0, 1.0], [0.7, 2.0]], [1.0; 6]);
    let f = |scan: Scan, a: Var| {
        let weights: Vec<Var> = weights.iter().map(|w| a.sin() * *w).collect();
        let (last, all) = scan.run((a, lift(0.0)), (&xs, &weights), |(c, d), ([x, y], w)| {
            let c = c * 0.5 + (c * x).sin() * w;
            ((c, d + y * c), [c * d, w])
        });
        last.0 + last.1 * a + all.iter().enumerate().map(|(k, [y, w])| *y * *w * k as f64).sum::<Var>()
    };
    let plain = |a: Var| {
        let (mut c, mut d, mut sum) = (a, lift(0.0), lift(0.0));
        for k in (0..6).rev() {
            let (before, w) = (d, a.sin());
            c = c * 0.5 + (c * xs[k][0]).sin() * w;
            d += c * xs[k][1];
            sum += c * before * w * k as f64;
        }
        c + d * a + sum
    };
    for every in [1, 2, 6] {
        let got =
            [grad(0.4, |a| f(Scan::new().reverse().every(every), a)), hessian(0.4, |a| f(Scan::new().reverse(), a))];
        near("backwards", &got, &[grad(0.4, plain), hessian(0.4, plain)], 200);
    }
    assert!((grad(0.4, |a| f(Scan::new(), a)) - grad(0.4, plain)).abs() > 1e-3, "the order matters");
}

#[test]
fn rows_one_by_one() {
    let f = |a: Var| map([(1.0, [2.0, 3.0]), (0.5, [1.0, -1.0])], |(s, [x, y])| [(a * x).sin() * s, a * y]);
    let want = [2.0 * 0.8f64.cos(), 3.0, 0.5 * 0.4f64.cos(), -1.0];
    near("map", &jacobian(0.4, f).concat(), &want, 4);
    let many: Vec<f64> = (0..5000).map(f64::from).collect();
    let sum = |a: Var| map(&many, |x| (a * x).sin()).into_iter().sum::<Var>();
    let slope: f64 = many.iter().map(|x| x * (0.01 * x).cos()).sum();
    assert!((grad(0.01, sum) / slope - 1.0).abs() < 1e-10);
}

#[test]
fn prefixes_are_those_of_a_loop() {
    let f = |[p, q]: [Var; 2]| {
        let rows: Vec<(Var, Var)> = (0..20).map(|k| (p * 0.1 * f64::from(k), q.sin() + f64::from(k))).collect();
        associative_scan(&rows, |(a, b), (c, d)| (a * c, c * b + d)).into_iter().map(|(_, h)| h).collect::<Vec<Var>>()
    };
    let plain = |[p, q]: [Var; 2]| {
        let step = |mut all: Vec<Var>, k: i32| {
            let before = all.last().copied().unwrap_or(lift(0.0));
            all.push(p * 0.1 * f64::from(k) * before + q.sin() + f64::from(k));
            all
        };
        (0..20).fold(Vec::new(), step)
    };
    near("prefixes", &jacobian([0.6, 0.2], f).concat(), &jacobian([0.6, 0.2], plain).concat(), 200);
}

#[test]
fn branches_are_chosen_step_by_step() {
    let mixed = |x: Var| {
        fori(0..90, x, |i, c| {
            let which = i % 3.0;
            switch(which, (c, x), &[&|(c, x)| c * 0.9 + x, &|(c, _)| c.sin(), &|(c, x)| c * x * 0.3])
        })
    };
    let plain = |x: Var| {
        (0..90).fold(x, |c, i| match i % 3 {
            0 => c * 0.9 + x,
            1 => c.sin(),
            _ => c * x * 0.3,
        })
    };
    near("switch", &[grad(0.8, mixed), hessian(0.8, mixed)], &[grad(0.8, plain), hessian(0.8, plain)], 1000);
    let capped = |x: Var| fori(0..90, x, |_, c| cond(c > 2.0, c, |c| c.ln(), |c| c * 1.3 + x * 0.01));
    let ifs = |x: Var| (0..90).fold(x, |c, _| if c > 2.0 { c.ln() } else { c * 1.3 + x * 0.01 });
    near("cond", &[grad(0.8, capped), hessian(0.8, capped)], &[grad(0.8, ifs), hessian(0.8, ifs)], 100_000);
    // What is recorded for one branch is never used for another.
    let f = record([0.5, 2.0], |[k, x]| switch(k * 2.0, x, &[&|x| x * x, &|x| x.exp(), &|x| x.sin()]));
    assert_eq!(f.grad([0.0, 2.0]), [0.0, 4.0]);
    assert_eq!(f.grad([0.5, 2.0]), [0.0, 2f64.exp()]);
    assert_eq!(f.grad([1.0, 2.0]), [0.0, 2f64.cos()]);
    assert_eq!(f.grad([0.0, 3.0]), [0.0, 6.0]);
    let integers: [Var; 3] =
        [switch(1usize, 2.0, &[&|x| x, &|x| x * x]), switch(0, 2.0, &[&|x| x]), switch(1i64, 2.0, &[&|x| x, &|x| -x])];
    assert_eq!(integers.map(|x| x.value()), [4.0, 2.0, -2.0]);
}

#[test]
fn loops_have_limits() {
    let halve = |bounds: While, x: Var| bounds.run(x, |c| c > 1.0, |c| c * 0.5);
    for limit in [5, 6, 50] {
        // 2^5 takes five steps.
        assert_eq!(value_and_grad(32.0, |x| halve(While::new().limit(limit), x)), (1.0, 1.0 / 32.0));
    }
    for (limit, start) in [(0, 2.0), (1, 32.0), (4, 32.0), (70, 1e300)] {
        let message = panic_of(|| grad(start, |x| halve(While::new().limit(limit), x)));
        assert!(message.contains("`while_loop` at ") && message.contains("trees.rs:"), "{message}");
        assert!(message.contains(&format!("has not ended after {limit} steps")), "{message}");
        let outside = While::new().limit(limit).try_run(start, |c| c > 1.0, |c| c * 0.5);
        assert!(outside.unwrap_err().to_string().contains("has not ended"), "outside of a recording");
        let inside = panic_of(|| grad(start, |x| fori(0..9, x, |_, x| halve(While::new().limit(limit), x))));
        assert!(inside.contains("has not ended"), "{inside}");
    }
    assert_eq!(value_and_grad(0.5, |x| halve(While::new().limit(0), x)), (0.5, 1.0));
}

#[test]
fn snapshots_bound_the_carries_and_keep_the_bits() {
    let grown = |bounds: While, rate: Var| {
        bounds
            .run((lift(1.0), lift(0.0)), |(x, _)| x < 500.0, |(x, t)| (x + x * rate * 0.001 + t.sin() * 1e-4, t + rate))
            .0
    };
    let all = value_and_grad(0.7, |rate| grown(While::new(), rate));
    for carries in [1, 2, 3, 50, 100_000] {
        let few = value_and_grad(0.7, |rate| grown(While::new().snapshots(carries), rate));
        assert_eq!(few, all, "{carries} snapshots");
        let second =
            [While::new(), While::new().snapshots(carries)].map(|bounds| hessian(0.7, |rate| grown(bounds, rate)));
        assert_eq!(second[0], second[1], "{carries} snapshots");
    }
    let bytes = |bounds: While| tape_size(0.7, |rate| grown(bounds, rate)).bytes;
    // Some nine thousand steps of two numbers.
    let (all, few) = (bytes(While::new()), bytes(While::new().snapshots(50)));
    assert!(all > 16 * 8000 && all - few > 16 * 7500, "{all} and {few} bytes");
}

#[test]
fn what_a_step_may_not_do_names_the_line() {
    let refused = |message: String, words: &[&str]| {
        for word in words {
            assert!(message.contains(word), "no `{word}` in: {message}");
        }
        assert_eq!(grad(3.0, |x| fori(0..50, x, |_, c| c + x)), 51.0, "the tape works as before");
    };
    let longer = |x: Var| fori(0..9, vec![x], |_, c| [c, vec![x]].concat())[0];
    refused(panic_of(|| grad(1.0, longer)), &["`fori` at", "trees.rs", "1 numbers before a step, and 2 after it"]);
    refused(panic_of(|| longer(lift(1.0)).value()), &["`fori` at", "1 numbers before a step, and 2 after it"]);
    let late = |x: Var| fori(0..90, vec![x], |i, c| if i > 70.0 { vec![x, x] } else { c })[0];
    refused(panic_of(|| grad(1.0, late)), &["`fori` at", "1 numbers before a step, and 2 after it"]);
    let other = |x: Var| fori(0..9, vec![vec![x], vec![x, x]], |_, c| c.into_iter().rev().collect())[0][0];
    refused(panic_of(|| grad(1.0, other)), &["`fori` at", "trees.rs", "the carry changes its structure"]);
    let uneven = |x: Var| scan(x, &[vec![1.0], vec![1.0, 2.0]], |c, x| (c * x[0], ())).0;
    refused(panic_of(|| grad(1.0, uneven)), &["`scan` at", "trees.rs", "a row has 2 numbers, and another one 1"]);
    let sides = |x: Var| scan(x, (&[1.0, 2.0], &[1.0]), |c, (a, b)| (c * a * b, ())).0;
    refused(panic_of(|| grad(1.0, sides)), &["`scan` at", "list 0 has 2 rows, and list 1 has 1"]);
    let gives = |x: Var| scan(x, &[1.0, 2.0, 3.0], |c, x| (c, vec![c; if x > 2.0 { 2 } else { 1 }])).0;
    refused(panic_of(|| grad(1.0, gives)), &["`scan` at", "a step gives 2 numbers, and another one 1"]);
    refused(panic_of(|| grad(1.0, |x| fori(0..50, x, |_, c| c * c.value()))), &["`value` at", "trees.rs"]);
    let beyond = |x: Var| fori(0..50, x, |i, c| switch(i, c, &[&|c| c, &|c| c * 2.0]));
    refused(
        panic_of(|| grad(1.0, beyond)),
        &["`switch` at", "trees.rs", "the index is 2, and there are branches 0 to 1"],
    );
    refused(panic_of(|| grad(1.0, |x| switch(x * 0.5, x, &[&|c| c, &|c| c * 2.0]))), &["the index is 0.5"]);
    let none: &[&dyn Fn(Var) -> Var] = &[];
    refused(panic_of(|| grad(1.0, |x| switch(0, x, none))), &["there is no branch"]);
}
