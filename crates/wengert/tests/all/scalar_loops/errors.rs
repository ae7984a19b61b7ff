//! What a step may not do, and that the tape is as before afterwards.

use std::cell::{Cell, RefCell};

use wengert::loops::{fori, scan, while_loop};
use wengert::prelude::*;

use super::panic_of;

/// Asserts that `f` panics with all of these words, and that the tape of this thread still works.
#[track_caller]
fn refused<T>(f: impl FnOnce() -> T, words: &[&str]) {
    let message = panic_of(f);
    for word in words {
        assert!(message.contains(word), "no `{word}` in: {message}");
    }
    assert_eq!(grad(3.0, |x| fori(0..50, x, |_, c| c + x)), 51.0, "the tape works as before");
}

#[test]
fn numbers_do_not_leave_a_step() {
    refused(|| grad(1.0, |x| fori(0..50, x, |_, c| c * c.value())), &["`value` at", "errors.rs"]);
    refused(|| grad(1.0, |x| fori(0..50, x, |i, c| c * i.value())), &["rows of `scan`", "errors.rs"]);
    refused(|| grad(1.0, |x| fori(0..50, x, |_, c| c * x.detach().value())), &["`value` at"]);
    refused(
        || grad(1.0, |x| fori(0..50, x, |_, c| c * wengert::Tensor::from(c.detach()).item())),
        &["`item`", "a step of a loop"],
    );
    refused(|| grad(1.0, |x| fori(0..50, x, |_, c| wengert::Tensor::from(c).to_var())), &["a step of a loop"]);
}

#[test]
fn a_step_that_changes_is_found() {
    let calls = Cell::new(0.0);
    let next = || {
        calls.set(calls.get() + 1.0);
        calls.get()
    };
    let words = ["the step of the loop at", "errors.rs", "computes with the number", "rows of `scan`"];
    refused(|| grad(1.0, |x| fori(0..50, x, |_, c| c * next())), &words);
    refused(|| grad(1.0, |x| fori(0..50, (x, x), |_, (a, _)| (a, lift(next()))).0), &["gives the number"]);
    let other = || calls.replace(calls.get() + 1.0) % 7.0 == 0.0;
    let either = |x: Var| fori(0..5000, x, |_, c| if other() { c.sin() } else { c.cos() });
    refused(|| grad(1.0, either), &["computes something else"]);
    // One that changes later: at the hundredth call of the step, which is not one of every step.
    let late = |x: Var| fori(0..1_000_000, x, |_, c| c * if next() > 12.0 { 0.999 } else { 1.0 });
    calls.set(0.0);
    refused(|| grad(1.0, late), &["computes with the number 1 at first, and later with 0.999"]);
    // In a loop inside.
    let inside = |x: Var| fori(0..50, x, |_, c| fori(0..20, c, |_, d| d + next()));
    refused(|| grad(1.0, inside), &["computes with the number"]);
    // Other variables than before.
    let which = |[x, y]: [Var; 2]| fori(0..50, x, |_, c| c + if next() % 2.0 == 0.0 { x } else { y });
    refused(|| grad([1.0, 2.0], which), &["computes something else"]);
}

#[test]
fn sizes_have_to_agree() {
    let grow = |x: Var| fori(0..50, vec![x], |_, c| [c.clone(), c].concat())[0];
    refused(|| grad(1.0, grow), &["`fori` at", "errors.rs", "1 numbers before a step, and 2 after it"]);
    let rows = [vec![1.0, 2.0], vec![3.0]];
    refused(
        || grad(1.0, |x| scan(x, &rows, |c, row| (c + row[0], ())).0),
        &["`scan` at", "a row has 1 numbers, and another one 2"],
    );
    let gives = |x: Var| scan(x, &[1.0; 9], |c, r| (c + r, if c > 3.0 { vec![c] } else { vec![c, c] })).0;
    refused(|| grad(1.0, gives), &["a step gives 1 numbers, and another one 2"]);
}

#[test]
fn structures_have_to_agree() {
    // As many numbers, in lists of other lengths: what was recorded for one shape is not run for another.
    let moved = |x: Var| {
        let start = vec![vec![x, x * 2.0], vec![x * 3.0]];
        let end = fori(0..50, start, |_, mut lists: Vec<Vec<Var>>| {
            let number = lists[0].pop().expect("one");
            lists[1].push(number);
            lists
        });
        end[1][0]
    };
    refused(|| grad(1.0, moved), &["`fori` at", "errors.rs", "the carry changes its structure"]);
    let rows = [vec![vec![1.0, 2.0], vec![3.0]], vec![vec![1.0], vec![2.0, 3.0]]];
    let rows: Vec<_> = rows.iter().cycle().take(9).cloned().collect();
    let first = |x: Var| scan(x, &rows, |c, row: Vec<Vec<Var>>| (c + row[0].iter().sum::<Var>(), ())).0;
    refused(|| grad(1.0, first), &["`scan` at", "errors.rs", "a row has another structure"]);
    let gives = |x: Var| {
        let split = |c: Var, w: Var| if w > 0.0 { vec![vec![c], vec![c, w]] } else { vec![vec![c, w], vec![c]] };
        scan(x, &[1.0, 2.0, 3.0, 4.0, -1.0], |c, w| (c, split(c, w))).1[0][0][0]
    };
    refused(|| grad(1.0, gives), &["`scan` at", "errors.rs", "a step gives another structure"]);
    // Shapes that stay are taken, whatever they hold.
    let stays = |x: Var| fori(0..50, (vec![vec![x], vec![]], [x; 2]), |_, (lists, [a, b])| (lists, [b, a])).0[0][0];
    assert_eq!(grad(1.0, stays), 1.0);
}

#[test]
fn a_panic_in_a_step_leaves_the_tape_as_it_was() {
    for when in [0.0, 3.0, 10.0, 40.0] {
        let f = |x: Var| fori(0..50, x, |i, c| if i == when { panic!("at step {i}") } else { c * 0.9 });
        refused(|| grad(1.0, f), &["at step"]);
        let caught_inside = grad(2.0, |x| {
            let y = x * x;
            let message = panic_of(|| f(x));
            assert!(message.contains("at step"), "{message}");
            y * x
        });
        assert_eq!(caught_inside, 12.0);
    }
}

#[test]
fn a_variable_of_a_step_does_not_outlive_it() {
    let leaked: RefCell<Vec<Var>> = RefCell::default();
    let f = |x: Var| {
        let last = fori(0..50, x, |_, c| {
            leaked.borrow_mut().push(c);
            c * 0.9
        });
        let old = leaked.borrow()[10.min(leaked.borrow().len() - 1)];
        last * old
    };
    refused(|| grad(1.0, f), &["whose recording has ended"]);
}

/// A number that no derivative flows to may be taken out of a loop, and one that a derivative flows to may not.
#[test]
fn what_a_loop_comes_to_is_as_active_as_it_is() {
    let f = |x: Var| {
        let (n, sum) = while_loop((lift(0.0), lift(0.0) * x), |(n, _)| n < 30.0, |(n, sum)| (n + 1.0, sum + x));
        sum / n.value()
    };
    assert!((grad(2.0, f) - 1.0).abs() < 1e-15);
    refused(|| grad(2.0, |x| lift(fori(0..50, x, |_, c| c * 2.0).value())), &["`value` at"]);
}
