//! Explanations of plans: their lines, and that they fit a terminal.

use super::*;
use crate::plan::Options;
use crate::program::Program;

fn plan(text: &str, threads: usize) -> Plan {
    let program: Program = text.parse().expect("a program");
    Plan::new(&program, &Options { threads, memory: None }).expect("it can be planned")
}

const LAYER: &str = "program(v0: f32[4,3], v1: f32[3,5], v2: f32[5]) {
    v3: f32[4,5] = einsum[spec=\"ab,bc->ac\"] v0 v1
    v4: f32[4,5] = broadcast[shape=[4,5], axes=[1]] v2
    v5: f32[4,5] = add v3 v4
    v6: f32[4,5] = tanh v5
    v7: f32[4,5] = mul v6 v6
    v8: f32[] = sum[axes=[0,1]] v7
    return v8
}";

fn check(detail: Detail, text: &str, wanted: &[&str]) {
    let table = plan(text, 1).explain(detail);
    for line in wanted {
        assert!(table.lines().any(|own| own == *line), "no line {line:?} in\n{table}");
    }
    let long = table.lines().find(|line| line.chars().count() > 120);
    assert_eq!(long, None, "a line is too long");
}

#[test]
fn steps_are_rows() {
    check(
        Detail::Steps,
        LAYER,
        &[
            "plan: 3 inputs, 1 result, 2 steps (1 region, 1 product), 1 thread",
            "step   kind    what                               size                  operations      read   written   \
             scratch parts",
        ],
    );
    let infos = plan(LAYER, 1).step_infos();
    let product = &infos[0];
    assert_eq!((product.kind, &*product.size, product.operations), (StepKind::Product, "f32 4x3x5", 120));
    assert_eq!((product.read, product.written, product.parts), (4 * (12 + 15), 80, None));
    let region = &infos[1];
    assert_eq!((region.kind, &*region.size, &*region.what), (StepKind::Region, "f32 1x1x20", "add, tanh, mul, sum"));
    assert_eq!((region.read, region.written, region.parts), (80 + 20, 4, Some(1)));
    assert_eq!(region.operations, 4 * 20);
}

#[test]
fn instructions_name_places() {
    let text = "program(v0: f64[3], v1: f64[3]) {
        v2: f64[3] = add v0 v1
        v3: f64[] = constant[value=0.5f64]
        return v2
    }";
    check(Detail::Instructions, text, &["               out0 = f64 add in0, in1"]);
}

#[test]
fn totals_are_those_of_the_steps() {
    let summary = plan(LAYER, 1).summary();
    assert_eq!((summary.regions, summary.products, summary.kernels, summary.conds), (1, 1, 0, 0));
    assert_eq!((summary.operations, summary.moved), (120 + 80, 4 * (12 + 15 + 20) + 4 * (20 + 5) + 4));
    // The product's result, 80 bytes, in two lines of 64.
    assert_eq!((summary.values, summary.results), (128, 4));
    assert_eq!(summary.peak, summary.arena + summary.library + summary.results + summary.lists);
}

#[test]
fn memory_that_is_used_again_is_told() {
    // Kernels, each after the other: two values live at a time.
    let mut text = "program(v0: f64[1000]) {\n".to_owned();
    for k in 1..=6 {
        text += &format!("v{k}: f64[1000] = cumsum[axis=0, reverse=false] v{}\n", k - 1);
    }
    text += "return v6 }";
    let summary = plan(&text, 1).summary();
    assert_eq!((summary.kernels, summary.values), (6, 5 * 8000));
    assert!(summary.arena - summary.scratch < 3 * 8000, "{summary}");
    assert!(summary.to_string().contains("of values share it"), "{summary}");
}

#[test]
fn a_limit_says_what_it_costs() {
    // The exponentials are needed after their sum is known: they are stored, or computed twice.
    let text = "program(v0: f64[1000000]) { v1: f64[1000000] = exp v0; v2: f64[] = sum[axes=[0]] v1; \
                v3: f64[1000000] = broadcast[shape=[1000000], axes=[]] v2; v4: f64[1000000] = div v1 v3; \
                v5: f64[1000000] = sin v4; v6: f64[] = sum[axes=[0]] v5; return v6 }";
    let program: Program = text.parse().expect("a program");
    let with = |memory| Plan::new(&program, &Options { threads: 1, memory: Some(memory) }).expect("it fits");
    let last = |plan: &Plan| plan.explain(Detail::Steps).lines().last().map(str::to_owned).expect("there are some");
    assert_eq!(
        last(&with(64 << 20)),
        "limit         64.0 MiB  of memory; 1.00 times the operations of the plan without one"
    );
    // Five operations on every element, of which the first is done twice.
    let few = with(1 << 20);
    assert_eq!((few.recomputation(), few.peak_bytes() < 1 << 20), (1.2, true), "{few:?}");
    assert_eq!(last(&few), "limit         1.00 MiB  of memory; 1.20 times the operations of the plan without one");
    let plain = Plan::new(&program, &Options::default()).expect("there is no limit");
    assert!(plain.recomputation() == 1.0 && !plain.explain(Detail::Steps).contains("limit"));
}

#[test]
fn numbers_have_three_digits() {
    let cases =
        [(0, "0"), (9999, "9999"), (10_000, "10.0 k"), (99_949, "99.9 k"), (999_499, "999 k"), (999_600, "1.00 M")];
    for (number, wanted) in cases {
        assert_eq!(amount(number), wanted);
    }
    assert_eq!(
        (&*bytes(0), &*bytes(9999), &*bytes(10_240), &*bytes(3 << 30)),
        ("0 B", "9999 B", "10.0 KiB", "3.00 GiB")
    );
}

#[test]
fn names_are_grouped_and_cut() {
    let names = ["mul", "exp", "mul", "mul"].map(Into::into);
    assert_eq!(grouped(&names), "mul x3, exp");
    assert_eq!((cut("abcdef", 6), cut("abcdefg", 6)), ("abcdef".to_owned(), "abcde…".to_owned()));
    let words = ["one", "two", "three"].map(str::to_owned);
    assert_eq!((list(&words, 40), list(&words, 18)), ("one, two, three".to_owned(), "one, two, … +1".to_owned()));
}
