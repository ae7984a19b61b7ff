//! What loops say about mistakes: the kind, both sides of what does not fit, and the user's line.

use wengert::ErrorKind::{self, Misfit, Run, Unavailable};
use wengert::prelude::*;
use wengert::{Error, Map, Scan, While, compile, cond, fori, map, scan, switch, try_switch, vmap, while_loop};

use crate::support::caught::caught;

/// What a call says that fails, by a panic or by an error.
fn said<T>(f: impl FnOnce() -> Result<T, Error>) -> String {
    match caught("it", f) {
        Ok(Ok(_)) => "nothing".to_owned(),
        Ok(Err(error)) => error.to_string(),
        Err(panic) => panic.trim_start_matches("it panicked: ").to_owned(),
    }
}

/// Checks that the message has this file's name and a number of line, and that it has these parts.
#[track_caller]
fn says(message: &str, parts: &[&str]) {
    assert!(message.contains("errors.rs:"), "no line: {message}");
    for part in parts {
        assert!(message.contains(part), "no `{part}`: {message}");
    }
}

/// As [`says`], of an error of this kind.
#[track_caller]
fn refused<T>(result: Result<T, Error>, kind: ErrorKind, parts: &[&str]) {
    let Err(error) = result else { panic!("it was accepted") };
    assert_eq!(error.kind(), kind, "{error}");
    says(&error.to_string(), parts);
}

fn x() -> Tensor {
    Tensor::from([1.0, 2.0, 3.0])
}

fn one() -> Tensor {
    Tensor::from(1.0)
}

/// A scan whose steps give nothing but a carry.
fn carries(step: impl Fn(Tensor, Tensor) -> Tensor) -> Result<Tensor, Error> {
    Scan::new().try_run(one(), x(), |c, row| (step(c, row), ())).map(|(last, _)| last)
}

/// The same of a list, which may become longer and shorter.
fn lists(step: impl Fn(Vec<Tensor>, Tensor) -> Vec<Tensor>) -> Result<Vec<Tensor>, Error> {
    Scan::new().try_run(vec![one()], x(), |c, row| (step(c, row), ())).map(|(last, _)| last)
}

#[test]
fn a_carry_that_changes_is_shown_before_and_after() {
    refused(carries(|c, row| c + row * x()), Misfit, &["scan", "f64[] before a step", "f64[3] after"]);
    refused(carries(|c, _| c.gt(0.0)), Misfit, &["scan", "f64[] before", "bool[] after"]);
    refused(carries(|c, _| c.to_i64()), Misfit, &["f64[] before", "i64[] after"]);
    refused(carries(|c, _| c.to_f32()), Misfit, &["f64[] before", "f32[] after"]);
    refused(lists(|c, row| [c, vec![row]].concat()), Misfit, &["(f64[]) before", "(f64[], f64[]) after"]);
    refused(lists(|_, _| Vec::new()), Misfit, &["(f64[]) before", "() after"]);
    let whiles = While::new().try_run(one(), |c| c.lt(3.0), |c| c + x());
    refused(whiles, Misfit, &["while_loop", "f64[] before", "f64[3] after"]);
    let integers = While::new().try_run(Tensor::from(0i64), |n| n.lt(3), |n| n.to_f64() + 1.0);
    refused(integers, Misfit, &["i64[] before", "f64[] after"]);
    let second = While::new().try_run((one(), one()), |(c, _)| c.lt(3.0), |(c, d)| (c, d * x()));
    refused(second, Misfit, &["leaf 1 of the carry", "f64[] before", "f64[3] after"]);
    says(&said(|| Ok(fori(0..3, one(), |_, c| c + x()))), &["fori", "f64[] before", "f64[3] after"]);
    says(&said(|| Ok(fori(0..3, one(), |i, _| i))), &["fori", "f64[] before", "i64[] after"]);
    says(&said(|| Ok(fori(0..0, one(), |i, _| i))), &["fori", "f64[] before", "i64[] after"]);
}

#[test]
fn arrays_that_have_no_rows_in_common_are_shown() {
    let nothing = || Vec::<Tensor>::new();
    let lengths = Scan::new().try_run(one(), (x(), Tensor::zeros(&[2, 3])), |c, _| (c, nothing()));
    refused(lengths, Misfit, &["scan", "leaf 0", "3 rows", "leaf 1", "has 2", "f64[3]", "f64[2,3]"]);
    refused(Scan::new().try_run(one(), one(), |c, _| (c, nothing())), Misfit, &["single number"]);
    refused(Scan::new().try_run(one(), nothing(), |c, _| (c, nothing())), Misfit, &["no array", "fori"]);
    says(&said(|| Ok(map((x(), Tensor::zeros(&[2])), |(x, y)| x + y))), &["map", "3 rows", "has 2"]);
    says(&said(|| Ok(map(one(), |x| x))), &["map", "single number"]);
    let in_batches = Map::new().batch(2).try_run((x(), Tensor::zeros(&[2])), |(x, y)| x + y);
    refused(in_batches, Misfit, &["map", "3 rows", "has 2"]);
    assert!(said(|| Ok(Map::new().batch(0).run(x(), |x| x))).contains("k is 0"));
    let combined = || wengert::associative_scan((x(), Tensor::zeros(&[2])), |(a, b), (c, d)| (a + c, b + d));
    says(&said(|| Ok(combined())), &["associative_scan", "3 rows", "has 2"]);
    let widened = || wengert::associative_scan(x(), |a, b| a + b + x());
    says(&said(|| Ok(widened())), &["associative_scan", "(f64[])", "(f64[3])"]);
}

#[test]
fn steps_that_memory_has_no_numbers_for_are_refused() {
    for end in [1 << 60, i64::MAX] {
        says(
            &said(|| Ok(fori(0..end, one(), |_, c| c * 0.5))),
            &["fori", "no memory for the numbers of", "while_loop"],
        );
    }
}

#[test]
fn a_condition_has_to_be_one_truth_value() {
    let asked = |condition: fn(Tensor) -> Tensor| While::new().try_run(x(), condition, |c| c * 2.0);
    refused(asked(|c| c.lt(3.0)), Misfit, &["while_loop", "bool[3]", "`all` or `any`"]);
    refused(asked(|c| c.sum()), Misfit, &["while_loop", "f64[]", "bool[]"]);
    refused(asked(|c| c.sum().to_i64()), Misfit, &["while_loop", "i64[]", "bool[]"]);
    let chosen = || Ok(fori(0..2, one(), |_, c| cond(&c, &c, |c| c * 2.0, |c| c)));
    says(&said(chosen), &["cond", "f64[]", "bool[]"]);
}

#[test]
fn branches_that_differ_are_shown_inside_a_loop() {
    let chosen = || Ok(fori(0..2, one(), |_, c| cond(&c.gt(0.0), &c, |c| c * x(), |c| c)));
    says(&said(chosen), &["cond", "(f64[3])", "(f64[])"]);
}

#[test]
fn an_index_outside_of_the_branches_is_an_error_where_it_counts() {
    let chosen = |k: &Tensor, x: &Tensor| try_switch(k, x, &[&|x| x.sin(), &|x| x * 2.0]);
    let parts = ["`switch`", "branches 0 to 1", "out of range"];
    for k in [-1, 2, i64::MAX] {
        refused(chosen(&Tensor::from(k), &one()), Run, &parts);
        let recorded = || Ok(grad(one(), |x| chosen(&Tensor::from(k), &x).unwrap()));
        says(&said(recorded), &parts);
        let compiled = compile(move |(k, x): (Tensor, Tensor)| chosen(&k, &x).unwrap());
        refused(compiled.try_call((Tensor::from(k), one())), Run, &parts);
    }
    let indices = Tensor::from([0, 1, 2]);
    let each = || Ok(vmap((&indices, x()), |(k, x)| chosen(&k, &x).unwrap()));
    says(&said(each), &["`switch` at", "index 2 is out of range: there are branches 0 to 1 (example [2])"]);
    // An example that does not come here may have any index.
    let guarded = |k: Tensor, x: Tensor| cond(&k.lt(2), (&k, &x), |(k, x)| chosen(&k, &x).unwrap(), |(_, x)| x * 5.0);
    let loss = |x: &Tensor| vmap((&indices, x), |(k, x)| guarded(k, x)).sum();
    assert_eq!(grad(x(), |x| loss(&x)).to_vec(), [1.0f64.cos(), 2.0, 5.0]);
}

#[test]
fn branches_by_index_that_do_not_fit_are_shown() {
    let recorded = |f: fn(Tensor) -> Tensor| said(|| Ok(grad(one(), f)));
    let of = |k: Tensor| try_switch(&k, one(), &[&|x: Tensor| x]);
    refused(of(one()), Misfit, &["switch", "f64[]", "i64[]"]);
    refused(of(Tensor::from([0, 1])), Misfit, &["switch", "i64[2]", "i64[]"]);
    refused(of(one().gt(0.0)), Misfit, &["switch", "bool[]"]);
    refused(try_switch(&Tensor::from(0), one(), &[] as &[&dyn Fn(Tensor) -> Tensor]), Misfit, &["no branch"]);
    let differs = |y: Tensor| switch(&y.to_i64(), &y, &[&|y| y, &|y| y.square(), &|y| y * x()]).sum();
    says(&recorded(differs), &["switch", "branch 0 gives (f64[])", "branch 2 gives (f64[3])"]);
}

#[test]
fn a_number_that_a_step_reads_is_an_error() {
    let parts = ["errors.rs", "step"];
    says(&said(|| carries(|c, row| c * row.item())), &parts);
    says(&said(|| carries(|c, row| if c.gt(0.0).test() { row } else { c })), &parts);
    says(&said(|| carries(|c, row| c * row.detach().item())), &parts);
    says(&said(|| Ok(fori(0..3, one(), |i, c| c * i.item()))), &parts);
    says(&said(|| Ok(map(x(), |row| row.clone() * row.to_vec()[0]))), &parts);
    says(&said(|| Ok(while_loop(one(), |c| c.lt(c.item()), |c| c))), &parts);
    says(&said(|| Ok(while_loop(one(), |c| c.lt(3.0), |c| &c * c.item()))), &parts);
    // Also where a derivative runs around or inside, and in a loop of no step.
    says(&said(|| Ok(grad(x(), |x| fori(0..3, x, |_, c| &c * c.sum().item()).sum()))), &parts);
    says(&said(|| Ok(fori(0..3, one(), |_, c| grad(&c, |c| &c * c.item())))), &parts);
    says(&said(|| Ok(fori(0..0, one(), |_, c| &c * c.item()))), &parts);
    // What is captured from around the loop has a number.
    let known = Tensor::from(2.0);
    assert_eq!(fori(0..3, one(), |_, c| c * known.item()).item(), 8.0);
}

#[test]
fn a_number_of_the_function_around_is_read_before_the_loop() {
    // What a step computes from captures is recorded with the step.
    let inside = || Ok(grad(x(), |x| fori(0..3, &x, |_, c| c * x.detach().sum().item()).sum()));
    says(&said(inside), &["step"]);
    let active = || Ok(grad(x(), |x| fori(0..3, &x, |_, c| c * x.item()).sum()));
    says(&said(active), &["item"]);
    let meant = |x: Tensor| {
        let sum = x.detach().sum().item();
        fori(0..3, &x, |_, c| c * sum).sum()
    };
    assert_eq!(grad(x(), meant).to_vec(), [216.0; 3]);
}

#[test]
fn a_limit_that_is_reached_is_an_error_of_the_run() {
    let endless = |x: &Tensor| While::new().limit(7).try_run(x, |c| c.gt(0.0), |c| c * 2.0);
    refused(endless(&one()), Run, &["`while`", "not ended after 7 steps"]);
    says(&said(|| Ok(grad(one(), |x| endless(&x).unwrap()))), &["not ended after 7 steps"]);
    says(&said(|| Ok(vmap(x(), |x| endless(&x).unwrap()))), &["not ended after 7 steps"]);
    says(&said(|| Ok(fori(0..2, one(), |_, x| endless(&x).unwrap()))), &["not ended after 7 steps"]);
    let compiled = compile(|x: Tensor| endless(&x).unwrap());
    refused(compiled.try_call(one()), Run, &["not ended after 7 steps"]);
    assert_eq!(compiled.call(-one()).item(), -1.0);
    says(&said(|| Ok(While::new().limit(0).run(one(), |c| c.gt(0.0), |c| c))), &["after 0 steps"]);
}

#[test]
fn an_index_that_a_step_gets_wrong_is_an_error_with_the_line_of_the_index() {
    let wrong = |x: &Tensor| fori(0..4, x.sum(), |i, c| c * x.take(&i, 0));
    says(&said(|| Ok(wrong(&x()))), &["index 3 is out of range", "3 long"]);
    says(&said(|| Ok(grad(x(), |x| wrong(&x)))), &["index 3 is out of range", "3 long"]);
}

#[test]
fn after_an_error_in_a_step_everything_works_as_before() {
    for _ in 0..2 {
        let panics = || -> Result<(Tensor, Tensor), Error> {
            Ok(scan(one(), x(), |c, _| if c.rank() == 0 { panic!("errors.rs: user") } else { (c.clone(), c) }))
        };
        assert!(said(panics).contains("user"));
        assert_eq!(grad(x(), |x| fori(0..2, &x, |_, c| c * &x).sum()).to_vec(), [3.0, 12.0, 27.0]);
    }
    let leaked = std::cell::RefCell::new(None);
    fori(0..2, one(), |_, c| {
        *leaked.borrow_mut() = Some(c.clone());
        c
    });
    let leaked = leaked.into_inner().expect("it was recorded");
    refused(leaked.try_add(1.0), Unavailable, &["add"]);
}
