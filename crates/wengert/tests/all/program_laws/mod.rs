//! Random Programs against the laws of the transformations; what a batched Program costs; and the
//! edges of domains in the branch of a `select` that is not taken.
//!
//! 500 Programs; `WENGERT_NIGHTLY=1` tries 10,000. A failing Program is made again from its seed with
//! as few steps as still fail. One in ten more has large arrays.

mod compressed;
mod coverage;
mod edges;
mod factors;
mod found;
mod generate;
mod joins;
mod large;
mod laws;
mod patterns;
mod rebuild;
mod rolled;

use coverage::Coverage;
use generate::generate;

use crate::support::caught;
use crate::support::nightly::seeds;

/// How many random steps a Program has at most.
const STEPS: usize = 12;

/// The smallest Program of a seed that breaks a law, and which law.
fn smallest(seed: u64, steps: usize) -> String {
    let failing = (1..=steps).find_map(|steps| {
        let case = caught::caught("generating", || generate(seed, steps));
        match case {
            Err(why) => Some((steps, why, String::new())),
            Ok(case) => laws::broken(&case, seed).map(|why| {
                let args: Vec<String> = case.args.iter().map(|arg| format!("{arg:?}")).collect();
                (steps, why, format!("{}\nof {}", laws::listing(&case.program), args.join("\n   ")))
            }),
        }
    });
    let (steps, why, program) = failing.unwrap_or_default();
    format!("seed {seed}, {steps} steps: {why}\n{program}\n")
}

#[test]
fn random_programs_obey_the_laws() {
    let seeds = seeds(500, 10_000);
    let mut coverage = Coverage::default();
    let mut failures = Vec::new();
    for seed in seeds.clone() {
        let steps = 4 + seed as usize % (STEPS - 3);
        let checked = caught::caught("generating", || generate(seed, steps)).map(|case| {
            coverage.count(&case.program, 0);
            laws::broken(&case, seed)
        });
        if !matches!(checked, Ok(None)) {
            failures.push(smallest(seed, steps));
        }
        if failures.len() == 5 {
            break;
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    coverage.print(seeds.clone().count()).unwrap_or_else(|error| panic!("the table cannot be written: {error}"));
    // What so few others happen to have says nothing of the generator.
    let missing = if seeds.start == 0 { coverage.missing() } else { Vec::new() };
    assert!(missing.is_empty(), "the random programs do not have {missing:?}");
    assert!(coverage::nestings() >= 16 + 40, "only {} sequences of transformations", coverage::nestings());
}
