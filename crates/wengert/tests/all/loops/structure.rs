//! What is around the leaves (static fields, options, lengths of lists): a step or a branch is recorded for one structure, and
//! another one is an error, never the first one again.

use wengert::prelude::*;
use wengert::{Tree, While, associative_scan, cond, fori, map, scan, switch, try_cond, vmap, while_loop};

use crate::support::caught::caught;

#[derive(Tree, Clone, Debug)]
struct Contract<T = f64> {
    strike: T,
    #[tree(static)]
    is_call: bool,
}

#[derive(Tree, Clone, Debug)]
struct Counted<T = f64> {
    x: T,
    #[tree(static)]
    n: usize,
}

#[derive(Tree, Clone, Debug)]
struct State {
    x: Tensor,
    #[tree(static)]
    n: usize,
}

/// What a call panics with.
#[track_caller]
fn refused<T>(f: impl FnOnce() -> T, part: &str) {
    let Err(message) = caught("it", f) else { panic!("it was accepted") };
    assert!(message.contains(part) && message.contains("structure.rs:"), "no `{part}` or no line: {message}");
}

fn pays(s: Var, contract: &Contract<Var>) -> Var {
    if contract.is_call { s - contract.strike } else { contract.strike - s }
}

fn contract(strike: f64, is_call: bool) -> Contract {
    Contract { strike, is_call }
}

#[test]
fn rows_of_numbers_have_one_structure() {
    let value = |book: &[Contract], s: Var| scan(lift(0.0), book, |sum, row| (sum + pays(s, &row), ())).0;
    let calls = [contract(1.0, true), contract(1.25, true), contract(2.0, true)];
    assert_eq!(grad(1.5, |s| value(&calls, s)), 3.0);
    let mixed = [contract(1.0, true), contract(1.0, false)];
    let why = "row 1 has another structure than row 0";
    refused(|| grad(1.5, |s| value(&mixed, s)), why);
    refused(|| grad(1.5, |s| map(&mixed, |row| pays(s, &row))[1]), why);
    refused(|| map(&mixed, |row| row.strike), why);
    refused(|| grad(1.5, |s| scan(s, (&[1.0, 2.0], &mixed), |sum, (x, row)| (sum * x + row.strike, ())).0), why);
    refused(|| associative_scan(&mixed, |x, y| Contract { strike: x.strike + y.strike, is_call: y.is_call }), why);
    let options = [(Some(1.0), None), (None, Some(2.0))];
    let joined = |(a, b): (Option<Var>, Option<Var>)| a.unwrap_or(lift(0.0)) + b.unwrap_or(lift(0.0)) * 100.0;
    refused(|| scan(0.0, &options, |sum, row| (sum + joined(row), ())), why);
    let ragged = [vec![vec![1.0], vec![2.0, 3.0]], vec![vec![10.0, 20.0], vec![30.0]]];
    refused(|| scan(0.0, &ragged, |sum, row| (sum + row[0][0], ())), why);
    // The order of rows that go backwards is that of the list.
    assert_eq!(scan(1.0, &[(2.0, [3.0]), (4.0, [5.0])], |c, (x, [y])| (c * x + y, ())).0.value(), 25.0);
}

#[test]
fn results_of_steps_have_one_structure() {
    let sided = |w: Var| if w > 0.0 { (Some(w), None) } else { (None, Some(w)) };
    let why = "a step gives a result of another structure than the first";
    refused(|| scan(1.0, &[1.0, -1.0], |c, w| (c, sided(w))), why);
    refused(|| map([1.0, -1.0], sided), why);
    assert_eq!(map([1.0, 2.0], sided).len(), 2);
    let counting = |x: Counted<Var>, y: Counted<Var>| Counted { x: x.x + y.x, n: x.n + y.n };
    let rows = [1.0, 2.0, 3.0].map(|x| Counted { x, n: 1 });
    refused(|| associative_scan(&rows, counting), "it combines two rows to one of another structure");
    let rows = State { x: Tensor::from([1.0, 2.0, 3.0]), n: 1 };
    let counting = |x: State, y: State| State { x: x.x + y.x, n: x.n + y.n };
    refused(|| associative_scan(&rows, counting), "it combines two rows to one of another structure");
}

#[test]
fn loops_whose_carry_changes_its_structure_end_at_once() {
    let why = "the carry changes its structure in a step";
    let doubled = |s: Counted<Var>| Counted { x: s.x * 2.0, n: s.n + 1 };
    refused(|| while_loop(Counted { x: 1.0, n: 1 }, |s| s.n < 5, doubled), why);
    refused(|| While::new().limit(50).run(Counted { x: 1.0, n: 1 }, |s| s.n < 5, doubled), why);
    refused(|| fori(0..5, Counted { x: 1.0, n: 1 }, |_, s| doubled(s)), why);
    let start = State { x: Tensor::from([1.0, 2.0]), n: 1 };
    let grown = |s: State| State { x: s.x * s.n as f64, n: s.n + 1 };
    refused(|| fori(0..5, &start, |_, s| grown(s)), why);
    refused(|| scan(&start, &Tensor::from([1.0, 2.0]), |s, _| (grown(s), ())), why);
    refused(|| while_loop(&start, |s| s.x.sum().lt(100.0), grown), why);
    let swapped = |(a, b): (Option<Tensor>, Option<Tensor>)| (b, a);
    refused(|| fori(0..5, (Some(Tensor::from(1.0)), None::<Tensor>), |_, pair| swapped(pair)), why);
    // A carry that keeps its structure is what it was.
    let kept = fori(0..3, &start, |_, s| State { x: s.x * 2.0, n: s.n });
    assert_eq!((kept.x.to_vec(), kept.n), (vec![8.0, 16.0], 1));
}

#[test]
fn branches_have_one_structure() {
    let why = "the branches give results of other structures";
    let x = Tensor::from(1.0);
    let with = |n: usize| move |x: Tensor| State { x: x * 3.0, n };
    let of = |counted: State| counted.x * counted.n as f64;
    refused(|| grad(&x, |x| of(cond(&x.lt(0.0), &x, with(5), with(6)))), why);
    refused(|| vmap(Tensor::from([1.0, -1.0]), |x| of(cond(&x.lt(0.0), &x, with(5), with(6)))), why);
    refused(|| grad(&x, |x| of(switch(x.to_i64(), &x, &[&with(5), &with(6)]))), why);
    let swapped = grad(&x, |x| {
        let pair = try_cond(&x.lt(0.0), &x, |x| (Some(x), None), |x| (None, Some(x * 3.0)));
        assert!(pair.unwrap_err().to_string().contains(why));
        x.clone()
    });
    assert_eq!(swapped.item(), 1.0);
    assert_eq!(grad(&x, |x| of(cond(&x.lt(0.0), &x, with(6), |x| State { x: x * 2.0, n: 6 }))).item(), 12.0);
    // Outside of a recording the chosen one is called.
    assert_eq!(cond(&x.lt(0.0), &x, with(5), with(6)).n, 6);
}
