//! Which steps become code over rows.

use super::super::super::Options;
use super::*;

fn steps(text: &str, carry: Range<usize>) -> Option<RowSteps> {
    let program: Program = text.parse().expect("a program");
    let plan = Plan::new(&program, &Options::default()).expect("a plan");
    RowSteps::new(&program, &plan, &carry)
}

fn starts<'a>(feeds: impl IntoIterator<Item = &'a RowFeed>) -> Vec<(usize, isize)> {
    feeds.into_iter().map(|feed| (feed.element, feed.stride)).collect()
}

#[test]
fn what_goes_along_one_axis_becomes_code() {
    let found = steps(
        "program(v0: f64[], v1: f64[2, 14], v2: f64[14, 2]) {
                v3: f64[2, 14] = permute[order=[1, 0]] v2
                v4: f64[2, 14] = tanh v1
                v5: f64[2, 14] = mul v4 v3
                v6: f64[2, 14] = broadcast[shape=[2, 14], axes=[]] v0
                v7: f64[2, 14] = mul v5 v6
                return v7 v4
            }",
        1..2,
    );
    let found = found.expect("rows");
    assert_eq!((found.count, found.width), (14, 16));
    assert_eq!(starts(&found.invariants), [(0, 0)]);
    assert_eq!(starts(found.carry.iter().map(|(feed, _)| feed)), [(0, 1), (14, 1)]);
    assert_eq!(starts(&found.rows), [(0, 2), (1, 2)]);
    let stored = |n: usize| found.outputs[n].iter().map(|row| (row.element, row.stride)).collect::<Vec<_>>();
    assert_eq!(stored(0), [(0, 1), (14, 1)]);
    assert_eq!(stored(1), [(0, 1), (14, 1)]);
}

#[test]
fn a_number_that_all_share_is_carried_too() {
    let found = steps(
        "program(v0: f64[10], v1: f64[]) {
                v2: f64[] = exp v1
                v3: f64[10] = broadcast[shape=[10], axes=[]] v2
                v4: f64[10] = mul v0 v3
                return v4 v2
            }",
        0..2,
    );
    assert_eq!(starts(found.expect("rows").carry.iter().map(|(feed, _)| feed)), [(0, 0), (0, 1)]);
}

#[test]
fn what_meets_other_elements_does_not() {
    let refused = |text: &str| assert!(steps(text, 0..1).is_none(), "{text}");
    // A sum along the axis.
    refused(
        "program(v0: f64[14]) {
                v1: f64[] = sum[axes=[0]] v0
                v2: f64[14] = broadcast[shape=[14], axes=[]] v1
                v3: f64[14] = tanh v2
                return v3
            }",
    );
    // The neighbour's element, of what is computed and of the carry.
    refused(
        "program(v0: f64[14]) {
                v1: f64[14] = tanh v0
                v2: f64[14] = reverse[axes=[0]] v1
                v3: f64[14] = mul v1 v2
                return v3
            }",
    );
    refused(
        "program(v0: f64[14]) {
                v1: f64[14] = reverse[axes=[0]] v0
                v2: f64[14] = tanh v1
                return v2
            }",
    );
    // One element of the carry for all.
    refused(
        "program(v0: f64[14]) {
                v1: f64[1] = slice[start=[3], limit=[4], stride=[1]] v0
                v2: f64[] = reshape[shape=[]] v1
                v3: f64[14] = broadcast[shape=[14], axes=[]] v2
                v4: f64[14] = tanh v3
                return v4
            }",
    );
    refused("program(v0: f32[14]) { v1: f32[14] = tanh v0; return v1 }");
    refused("program(v0: f64[5000]) { v1: f64[5000] = tanh v0; return v1 }");
}
