//! Tests of what is private here.

use std::fmt::Write;

use super::*;
use crate::array::Array;
use crate::optimize::{Config, optimize};

/// How many choices are left of a Program with `v0` and `v1` of a shape, conditions `v2` and `v3` of it, and `v5`, zeros.
fn choices(rest: &str) -> usize {
    let text = format!(
        "program(v0: f64[2,3], v1: f64[2,3], v2: bool[2,3], v3: bool[2,3]) {{
           v4: f64[] = constant[value=0.0f64]
           v5: f64[2,3] = broadcast[shape=[2,3], axes=[]] v4
           {rest}
         }}"
    );
    let program: Program = text.parse().unwrap_or_else(|why| panic!("{why}\n{text}"));
    let after = optimize(&program, &Config::default());
    after.eqns().iter().filter(|eqn| matches!(eqn.op, Op::Select(_))).count()
}

#[test]
fn a_mask_behind_the_same_mask_is_dropped() {
    let chain = |outer: &str, results: &str| {
        choices(&format!(
            "v6: f64[2,3] = select v2 v0 v5
             v7: f64[2,3] = mul v6 v1
             v8: f64[2,3] = neg v7
             v9: f64[2,3] = select {outer}
             return {results}"
        ))
    };
    assert_eq!(chain("v2 v8 v5", "v9"), 1);
    assert_eq!(chain("v3 v8 v5", "v9"), 2, "another mask");
    assert_eq!(chain("v2 v8 v5", "v9 v7"), 2, "a result");
    assert_eq!(chain("v2 v5 v8", "v9"), 1, "on the other side, where it is zero");
}

#[test]
fn masks_are_not_dropped_where_elements_move() {
    let moved = |op: &str| {
        choices(&format!(
            "v6: f64[2,3] = select v2 v0 v5
             v7: f64[2,3] = {op} v6
             v8: f64[2,3] = select v2 v7 v5
             return v8"
        ))
    };
    assert_eq!(moved("square"), 1);
    assert_eq!(moved("reverse[axes=[0]]"), 2);
    assert_eq!(moved("exp"), 2, "functions keep theirs");
    assert_eq!(moved("cumsum[axis=1, reverse=false]"), 2);
}

#[test]
fn a_sum_of_masked_values_is_masked_once() {
    let sum = |first: &str, second: &str, op: &str, results: &str| {
        choices(&format!(
            "v6: f64[2,3] = select {first}
             v7: f64[2,3] = select {second}
             v8: f64[2,3] = {op} v6 v7
             return {results}"
        ))
    };
    assert_eq!(sum("v2 v0 v5", "v2 v1 v5", "add", "v8"), 1);
    assert_eq!(sum("v2 v5 v0", "v2 v5 v1", "sub", "v8"), 1);
    assert_eq!(sum("v2 v0 v5", "v3 v1 v5", "add", "v8"), 2);
    assert_eq!(sum("v2 v0 v5", "v2 v5 v1", "add", "v8"), 2, "both sides would be computed");
    assert_eq!(sum("v2 v0 v5", "v2 v1 v5", "mul", "v8 v6"), 2, "one of them is a result");
    assert_eq!(sum("v2 v0 v5", "v2 v1 v5", "div", "v8"), 2, "0 / 0");
}

#[test]
fn masks_of_masks_are_seen_through() {
    let chain = |mask: &str, outer: &str| {
        choices(&format!(
            "v6: f64[2,3] = select v2 v0 v5
             v7: f64[2,3] = mul v6 v1
             v8: bool[2,3] = {mask}
             v9: f64[2,3] = select v8 {outer}
             return v9"
        ))
    };
    assert_eq!(chain("and v2 v3", "v7 v5"), 1);
    assert_eq!(chain("and v3 v2", "v5 v7"), 2);
    assert_eq!(chain("or v2 v3", "v5 v7"), 1);
    assert_eq!(chain("or v2 v3", "v7 v5"), 2);
    assert_eq!(chain("xor v2 v3", "v7 v5"), 2);
}

/// A random Program over numbers of this type, with few masks and many choices by them.
fn random(next: &mut impl FnMut(usize) -> usize, ty: &str) -> String {
    let array = format!("{ty}[5]");
    let mut text = format!("program(v0: {array}, v1: {array}, v2: bool[5], v3: bool[5]) {{\n");
    let mut line = |k: usize, ty: &str, what: String| writeln!(text, "v{k}: {ty} = {what}").expect("a string");
    line(4, &format!("{ty}[]"), format!("constant[value=0.0{ty}]"));
    line(5, &array, "broadcast[shape=[5], axes=[]] v4".into());
    let (mut numbers, mut masks) = (vec![0, 1, 5], vec![2, 3]);
    for k in 6..16 + next(12) {
        // One of the last ones, so that most of what is computed is read.
        let (a, b) = (numbers[numbers.len() - 1 - next(3)], numbers[next(numbers.len())]);
        let (m, n) = (masks[next(masks.len())], masks[next(masks.len())]);
        let is_mask = next(12) == 0;
        let what = match (is_mask, next(12)) {
            (true, 0..4) => format!("and v{m} v{n}"),
            (true, 4..8) => format!("or v{m} v{n}"),
            (true, _) => format!("gt v{a} v{b}"),
            (false, 0) => format!("neg v{a}"),
            (false, 1) => format!("{} v{a}", ["abs", "sqrt", "exp", "reverse[axes=[0]]"][next(4)]),
            (false, 2 | 3) => format!("{} v{a} v{b}", ["sub", "div", "max"][next(3)]),
            (false, 4) => format!("add v{a} v{b}"),
            (false, 5 | 6) => format!("mul v{a} v{b}"),
            (false, 7) => format!("select v{m} v5 v{a}"),
            (false, _) => format!("select v{m} v{a} v5"),
        };
        line(k, if is_mask { "bool[5]" } else { &array }, what);
        if is_mask { masks.push(k) } else { numbers.push(k) }
    }
    let results: Vec<String> = numbers.iter().rev().take(1 + next(3)).map(|k| format!("v{k}")).collect();
    text + &format!("return {}\n}}", results.join(" "))
}

#[test]
fn random_programs_keep_every_bit() {
    const NUMBERS: [f64; 9] = [0.0, -0.0, 1.0, -1.0, 2.5, -3.0, 1e-30, f64::INFINITY, f64::NAN];
    let mut state = 5u64;
    let mut next = move |n: usize| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) as usize % n
    };
    let mut fewer = 0;
    for k in 0..800 {
        let ty = ["f64", "f32"][k % 2];
        let text = random(&mut next, ty);
        let program: Program = text.parse().unwrap_or_else(|why| panic!("{why}\n{text}"));
        let after = drop_unseen(program.clone(), &Config::default());
        after.verify().unwrap_or_else(|why| panic!("{why}\n{text}"));
        let count = |program: &Program| program.eqns().iter().filter(|eqn| matches!(eqn.op, Op::Select(_))).count();
        fewer += usize::from(count(&after) < count(&program));
        let mut numbers = || (0..5).map(|_| NUMBERS[next(9)]).collect::<Vec<f64>>();
        let real = |x: Vec<f64>| match ty {
            "f64" => Array::new(&[5], x),
            _ => Array::new(&[5], x.into_iter().map(|x| x as f32).collect::<Vec<f32>>()),
        };
        let (x, y) = (real(numbers()), real(numbers()));
        let mut mask = || Array::new(&[5], (0..5).map(|_| next(2) == 0).collect::<Vec<bool>>());
        let inputs = [x, y, mask(), mask()];
        let [before, after] = [&program, &after].map(|program| program.run_reference(&inputs).unwrap());
        for (x, y) in before.iter().zip(&after) {
            let bits =
                |x: &Array| x.to_f64().iter().map(|x| if x.is_nan() { 1 } else { x.to_bits() }).collect::<Vec<u64>>();
            assert_eq!(bits(x), bits(y), "{text}\nat {inputs:?}");
        }
    }
    assert!(fewer > 100, "{fewer}");
}
