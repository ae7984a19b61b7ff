//! Tests of what is private here.

use super::super::{Options, Plan};
use super::*;

fn steps(text: &str, carry: Range<usize>) -> Option<NumberSteps> {
    let program: Program = text.parse().expect("a program");
    let plan = Plan::new(&program, &Options::default()).expect("a plan");
    NumberSteps::new(&program, &plan, &carry)
}

#[test]
fn a_few_numbers_become_code() {
    let found = steps(
        "program(v0: f64[2], v1: f64[2], v2: i64[]) {
                v3: f64[2] = mul v0 v1
                v4: f64[] = sum[axes=[0]] v3
                v5: f64[] = convert[to=f64] v2
                v6: f64[] = mul v4 v5
                v7: f64[2] = broadcast[shape=[2], axes=[]] v6
                return v7 v4
            }",
        1..2,
    );
    let found = found.expect("numbers");
    assert_eq!([found.invariants.len(), found.carry.len(), found.rows.len()], [2, 2, 1]);
    assert_eq!(found.outputs[1] - found.outputs[0], 2);
}

#[test]
fn integers_that_are_computed_do_not() {
    assert!(steps("program(v0: i64[]) { v1: i64[] = add v0 v0; return v1 }", 0..1).is_none());
    assert!(steps("program(v0: f32[]) { v1: f32[] = sin v0; return v1 }", 0..1).is_none());
    assert!(steps("program(v0: f64[65]) { v1: f64[65] = sin v0; return v1 }", 0..1).is_none());
}
