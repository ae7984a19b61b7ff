//! Profiles: what is counted, collected and printed.

use super::*;
use crate::array::Array;
use crate::plan::Options;
use crate::program::Program;

fn exponential() -> Plan {
    let text = "program(v0: f64[3]) { v1: f64[3] = exp v0; v2: f64[] = sum[axes=[0]] v1; return v2 }";
    Plan::new(&text.parse::<Program>().expect("a program"), &Options::default()).expect("it can be planned")
}

fn point() -> Array {
    Array::new(&[3], vec![0.0, 1.0, 2.0])
}

#[test]
fn steps_are_part_of_the_whole() {
    let profile = exponential().profile(&[point()], Duration::from_millis(5)).expect("it runs");
    let steps: Duration = profile.steps.iter().map(|step| step.time).sum();
    assert!(profile.runs > 1 && steps > Duration::ZERO && steps <= profile.time, "{profile:?}");
    assert_eq!(profile.outside(), profile.time - steps);
}

#[test]
fn rates_are_what_is_done_in_a_second() {
    let mut profile = exponential().profile(&[point()], Duration::ZERO).expect("it runs");
    profile.runs = 10;
    profile.time = Duration::from_micros(40);
    profile.steps[0].time = Duration::from_micros(10);
    // 32 bytes and 6 operations in a microsecond.
    let step = &profile.steps[0];
    assert!((step.bandwidth(profile.runs) - 32e6).abs() < 1.0 && (step.speed(profile.runs) - 6e6).abs() < 1.0);
    let table = profile.table(&Limits { bandwidth: 64e6, peak_f32: 1e6, peak_f64: 12e6 });
    let row = table.lines().find(|line| line.starts_with("0 ")).expect("a row");
    for part in ["exp, sum", " 10 ", "1.00 us", "25.0%", " 32 ", "0.03", "50%", "0.01"] {
        assert!(row.contains(part), "no {part} in {row}");
    }
    assert!(table.lines().all(|line| line.chars().count() <= 120), "{table}");
}

#[test]
fn inputs_that_do_not_fit_are_refused() {
    let error = exponential().profile(&[], Duration::ZERO).unwrap_err();
    assert!(error.to_string().contains("takes 1 inputs, and got 0"), "{error}");
}

#[test]
fn plans_are_collected_where_they_run() {
    let plan = exponential();
    let (cell, other) = (ProfileCell::default(), ProfileCell::default());
    let pool = Pool::new(1);
    let go = |cell: &ProfileCell| {
        let mut memory = plan.memory().expect("little memory");
        plan.fill(&mut memory, &[point()]).expect("the point fits");
        run(&plan, cell, &mut memory, &pool).expect("it runs");
    };
    let ((), inner) = collect(|| {
        let ((), profiles) = collect(|| go(&cell));
        assert_eq!(profiles.len(), 1);
        go(&cell);
        go(&other);
    });
    // What the inner one collected is the outer one's too; plans are told apart.
    assert_eq!(inner.iter().map(|profile| profile.runs).collect::<Vec<_>>(), [2, 1]);
    let ((), nothing) = collect(|| ());
    assert!(nothing.is_empty());
}

#[test]
fn a_panic_ends_a_collection() {
    let panicked = std::panic::catch_unwind(|| collect(|| panic!("on purpose")));
    assert!(panicked.is_err());
    COLLECTED.with_borrow(|levels| assert!(levels.is_empty()));
}
