//! Loops whose length is not known, over a few numbers or short vectors: their steps are code, forwards and backwards, with the
//! bits of steps by hand however their carries are kept.

use wengert::plan::Detail;
use wengert::prelude::*;
use wengert::{Array, Compile, While, compile, hvp};

use super::{bits, near, numbers, weighted};

/// A loop over the arrays of a point, how it keeps its carries, and its results.
type Loop = fn(While, &[Tensor]) -> Vec<Tensor>;

fn integer(n: i64) -> Tensor {
    Tensor::from_array(Array::scalar(n))
}

/// Asserts that steps of a loop are code, also backwards, and that they have the bits of those by hand.
#[track_caller]
fn check(what: &str, at: &[Tensor], looped: Loop, by_hand: fn(&[Tensor]) -> Vec<Tensor>) {
    let at = at.to_vec();
    let own = compile(move |at: Vec<Tensor>| looped(While::new(), &at));
    let want = compile(move |at: Vec<Tensor>| by_hand(&at)).call(&at);
    assert_eq!(bits(&own.call(&at)), bits(&want), "{what}");
    let shown = own.plan(&at).expect("a plan").explain(Detail::Steps);
    assert!(shown.contains("instructions"), "{what}: {shown}");

    let gradient = |compile: Compile, loops: While| {
        compile.function(move |at: Vec<Tensor>| grad(&at, |at: Vec<Tensor>| weighted(&looped(loops, &at))))
    };
    let plain = gradient(Compile::new().threads(1), While::new());
    let shown = plain.plan(&at).expect("a plan").explain(Detail::Steps);
    assert!(shown.matches("instructions").count() >= 2, "{what}, forwards and back: {shown}");
    let plain = plain.call(&at);
    let want = grad(&at, |at: Vec<Tensor>| weighted(&by_hand(&at)));
    for (got, want) in plain.iter().zip(&want) {
        near(what, got, want, 4096.0);
    }
    let least = gradient(Compile::new().threads(1).memory(1), While::new().limit(100)).plan(&at).unwrap_err();
    let least = Compile::new().threads(1).memory(least.enough_bytes().expect("a limit was set"));
    let others = [
        ("three threads", gradient(Compile::new().threads(3), While::new())),
        ("one snapshot", gradient(Compile::new().threads(1), While::new().snapshots(1))),
        ("three snapshots", gradient(Compile::new().threads(1), While::new().snapshots(3))),
        ("least memory", gradient(least, While::new().limit(100))),
    ];
    for (how, other) in others {
        assert_eq!(bits(&plain), bits(&other.call(&at)), "{what}, {how}");
    }
    // A second order, in which both phases carry tangents.
    let v: Vec<Tensor> = at.iter().enumerate().map(|(k, x)| numbers(31 + k, x.size()).reshape(x.shape())).collect();
    let got = hvp(&at, &v, |at: Vec<Tensor>| weighted(&looped(While::new(), &at)));
    let want = hvp(&at, &v, |at: Vec<Tensor>| weighted(&by_hand(&at)));
    for (got, want) in got.iter().zip(&want) {
        near(&format!("{what}, second order"), got, want, 65536.0);
    }
}

/// A few numbers, of which the counter is one.
fn counted(loops: While, at: &[Tensor]) -> Vec<Tensor> {
    let [x, y] = at else { unreachable!("two arrays") };
    let step = |(n, c): (Tensor, Tensor)| {
        let next = (&c * 0.9 + (x * &c).sin() * (n.to_f64() + 1.0).recip()) * y;
        (n + 1i64, next)
    };
    vec![loops.run((integer(0), x.clone()), |(n, _)| n.lt(9i64), step).1]
}

fn counted_by_hand(at: &[Tensor]) -> Vec<Tensor> {
    let [x, y] = at else { unreachable!("two arrays") };
    let mut c = x.clone();
    for n in 0..9i64 {
        c = (&c * 0.9 + (x * &c).sin() * (integer(n).to_f64() + 1.0).recip()) * y;
    }
    vec![c]
}

#[test]
fn a_loop_over_numbers_that_counts() {
    for n in [1, 2, 5] {
        let at = [numbers(3, n), numbers(40, n)];
        check(&format!("{n} numbers"), &at, counted, counted_by_hand);
    }
}

#[test]
fn a_loop_over_short_vectors_that_counts() {
    for n in [14, 33, 100] {
        let at = [numbers(3, n), numbers(40, n)];
        check(&format!("{n} numbers"), &at, counted, counted_by_hand);
    }
}

/// Ends by its numbers: Newton's iteration for a root, until it moves little; no step where it has arrived.
fn root(loops: While, at: &[Tensor]) -> Vec<Tensor> {
    let [a] = at else { unreachable!("an array") };
    let step = |(x, _): (Tensor, Tensor)| {
        let next = (&x + a / &x) * 0.5;
        let moved = (&next - &x).abs().sum();
        (next, moved)
    };
    let (x, moved) = loops.run((a.clone(), Tensor::from(1.0)), |(_, moved)| moved.gt(1e-3), step);
    vec![x, moved]
}

fn root_by_hand(at: &[Tensor]) -> Vec<Tensor> {
    let [a] = at else { unreachable!("an array") };
    let (mut x, mut moved) = (a.clone(), Tensor::from(1.0));
    for _ in 0..ROOT_STEPS {
        let next = (&x + a / &x) * 0.5;
        moved = (&next - &x).abs().sum();
        x = next;
    }
    vec![x, moved]
}

/// How many steps are taken at the point of the test.
const ROOT_STEPS: usize = 4;

#[test]
fn a_loop_that_ends_by_its_numbers() {
    let at = [Tensor::from([2.0, 3.5])];
    let steps = {
        let (mut x, mut steps) = ([2.0_f64, 3.5], 0);
        loop {
            let next = [(x[0] + 2.0 / x[0]) * 0.5, (x[1] + 3.5 / x[1]) * 0.5];
            let moved = (next[0] - x[0]).abs() + (next[1] - x[1]).abs();
            (x, steps) = (next, steps + 1);
            if moved <= 1e-3 {
                break steps;
            }
        }
    };
    assert_eq!(steps, ROOT_STEPS, "the steps by hand are as many");
    check("a root", &at, root, root_by_hand);
}

/// Two counters that depend on each other, a flag, and a choice by it.
fn flagged(loops: While, at: &[Tensor]) -> Vec<Tensor> {
    let [x] = at else { unreachable!("an array") };
    let step = |(n, m, flag, c): (Tensor, Tensor, Tensor, Tensor)| {
        let c = flag.where_((&c * x).tanh(), &c - 0.25 * x);
        let next = (&n * 2i64 - &m).minimum(50i64);
        let flag = next.gt(&m * 3i64).xor(&flag);
        (next, n - 2i64, flag, c)
    };
    let start = (integer(3), integer(1), integer(0).gt(1i64), x.clone());
    vec![loops.run(start, |(n, ..)| n.lt(40i64), step).3]
}

fn flagged_by_hand(at: &[Tensor]) -> Vec<Tensor> {
    let [x] = at else { unreachable!("an array") };
    let (mut n, mut m, mut flag, mut c) = (3i64, 1i64, false, x.clone());
    while n < 40 {
        c = if flag { (&c * x).tanh() } else { &c - 0.25 * x };
        let next = (n * 2 - m).min(50);
        flag ^= next > 3 * m;
        (n, m) = (next, n - 2);
    }
    vec![c]
}

#[test]
fn counters_and_flags() {
    for n in [1, 3, 40] {
        check(&format!("{n} numbers"), &[numbers(7, n)], flagged, flagged_by_hand);
    }
}

/// Parts of the carry change places: two counters, of which one is used as a number, two real numbers, and two flags. How far the
/// counters go is captured.
fn swapped(loops: While, at: &[Tensor]) -> Vec<Tensor> {
    let [x, y] = at else { unreachable!("two arrays") };
    let end = integer(60) + integer(29);
    type Carry = (Tensor, Tensor, Tensor, Tensor, Tensor, Tensor);
    let step = |(n, m, c, d, p, q): Carry| {
        let next = p.where_(&c * &d, &c + 0.1 * &d) * (1.0 + m.to_f64()).recip() + x * 0.3;
        let sum = &n + &m;
        (m, sum, d, next, q.xor(integer(1).gt(0i64)), p)
    };
    let flag = |is: bool| integer(i64::from(is)).gt(0i64);
    let start = (integer(1), integer(1), x.clone(), y.clone(), flag(true), flag(false));
    let (n, m, c, d, p, _) = loops.run(start, |(_, m, ..)| m.lt(&end), step);
    let [by_n, by_m] = [n, m].map(|n| 0.01 * n.to_f64());
    vec![p.where_(&c * by_n, &c), d * by_m]
}

fn swapped_by_hand(at: &[Tensor]) -> Vec<Tensor> {
    let [x, y] = at else { unreachable!("two arrays") };
    let (mut n, mut m, mut c, mut d, mut p, mut q) = (1i64, 1i64, x.clone(), y.clone(), true, false);
    while m < 89 {
        let next = if p { &c * &d } else { &c + 0.1 * &d };
        let next = next * (1.0 + integer(m).to_f64()).recip() + x * 0.3;
        (n, m, c, d, p, q) = (m, n + m, d, next, !q, p);
    }
    let [by_n, by_m] = [n, m].map(|n| 0.01 * integer(n).to_f64());
    vec![if p { &c * by_n } else { c }, d * by_m]
}

#[test]
fn parts_that_change_places() {
    for n in [1, 2, 6, 20] {
        check(&format!("{n} numbers"), &[numbers(7, n), numbers(9, n)], swapped, swapped_by_hand);
    }
}

#[test]
fn no_step_and_the_limit() {
    let none = |loops: While, x: &Tensor| {
        loops.run((integer(9), x.clone()), |(n, _)| n.lt(9i64), |(n, c)| (n + 1i64, c.sin())).1
    };
    let x = numbers(1, 3);
    for loops in [While::new(), While::new().snapshots(2)] {
        let own = compile(move |x: Tensor| none(loops, &x));
        assert_eq!(own.call(&x).to_vec(), x.to_vec());
        let slope = compile(move |x: Tensor| grad(&x, |x: Tensor| none(loops, &x).sum()));
        assert_eq!(slope.call(&x).to_vec(), [1.0; 3]);
    }
    let endless = compile(|x: Tensor| {
        While::new().limit(7).run((integer(0), x), |(n, _)| n.ge(0i64), |(n, c)| (n + 1i64, c.cos())).1
    });
    let error = endless.try_call(&x).unwrap_err().to_string();
    assert!(error.contains("7 steps") && error.contains("called.rs"), "{error}");
}
