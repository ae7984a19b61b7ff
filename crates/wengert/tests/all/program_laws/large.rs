//! Large random Programs on the engine: arrays of 100 to 20,000 elements, on one, two and three threads, with and without
//! a limit of memory. So parts, kernels and recomputation meet the laws too.

use wengert::plan::{Options, Plan, StepKind};
use wengert::{Array, Program};

use super::generate::Generated;
use super::generate::large::{Large, generate_large};
use super::laws::{directions, dot_product, floats, joined, listing};
use crate::support::caught::{Checked, caught};
use crate::support::engine::{Operands, check_engine};
use crate::support::nightly::seeds;
use crate::support::{Random, same};

/// What the plans had.
#[derive(Debug, Default)]
struct Met {
    regions: usize,
    products: usize,
    kernels: usize,
    /// Steps that are cut into parts.
    parted: usize,
    /// Plans with a product that may go to the library.
    library: usize,
    /// Plans that compute more for less memory.
    recomputing: usize,
    largest: usize,
}

impl Met {
    fn count(&mut self, plan: &Plan) {
        for step in plan.step_infos() {
            match step.kind {
                StepKind::Region => self.regions += 1,
                StepKind::Product => self.products += 1,
                StepKind::Kernel | StepKind::Cond | StepKind::Loop => self.kernels += 1,
            }
            self.parted += usize::from(step.parts.is_some_and(|parts| parts > 1));
        }
        self.library += usize::from(plan.summary().library > 0);
    }
}

fn planned(program: &Program, threads: usize, memory: Option<usize>) -> Result<Plan, String> {
    let plan = caught("planning", || Plan::new(program, &Options { threads, memory }))?;
    plan.map_err(|why| why.to_string())
}

fn evaluated(plan: &Plan, args: &[Array]) -> Result<Vec<Array>, String> {
    caught("running a plan", || plan.eval(args))?.map_err(|why| why.to_string())
}

fn agree(what: &str, got: &[Array], wanted: &[Array]) -> Checked {
    match (0..wanted.len()).find(|&k| !same(&got[k], &wanted[k])) {
        None => Ok(()),
        Some(k) => {
            let (got, wanted) = (got[k].to_f64(), wanted[k].to_f64());
            let at = (0..got.len()).find(|&at| got[at].to_bits() != wanted[at].to_bits()).unwrap_or_default();
            Err(format!("{what}: element {at} of result {k} is {:e} instead of {:e}", got[at], wanted[at]))
        }
    }
}

/// One Program on the engine: its numbers are those of the reference, its bits those of any number of threads and of any
/// memory.
fn check_program(program: &Program, args: &[Array], met: &mut Met) -> Checked {
    check_engine(program, args, 1, Operands::Tame)?;
    let program = program.optimize();
    let one = planned(&program, 1, None)?;
    met.count(&one);
    met.largest = program.input_types().iter().map(wengert::Type::size).fold(met.largest, usize::max);
    // What is refused is refused by the reference too, as was seen.
    let Ok(wanted) = evaluated(&one, args) else { return Ok(()) };
    for threads in [2, 3] {
        let plan = planned(&program, threads, None)?;
        agree(&format!("{threads} threads"), &evaluated(&plan, args)?, &wanted)?;
    }
    // As little memory as will do, which the message of the refusal names.
    let refusal = match planned(&program, 1, Some(1)) {
        Ok(_) => return Ok(()),
        Err(why) => why,
    };
    let least = refusal.split(" would do").next().and_then(|text| text.split(' ').next_back()).map(str::parse);
    let Some(Ok(least)) = least else { return Err(format!("no budget is named: {refusal}")) };
    let frugal = planned(&program, 2, Some(least)).or_else(|_| planned(&program, 1, Some(least)))?;
    met.recomputing += usize::from(frugal.summary().operations > one.summary().operations);
    agree(&format!("{least} bytes"), &evaluated(&frugal, args)?, &wanted)
}

fn check(case: &Generated, seed: u64, met: &mut Met) -> Checked {
    let mut random = Random::new(seed ^ 0x5eed);
    let (program, args) = (&case.program, &case.args);
    let active = floats(program.input_types());
    let text = |error: wengert::Error| error.to_string();
    let (jvp, vjp) = (program.jvp(&active).map_err(text)?, program.vjp(&active).map_err(text)?);
    let tangents = joined(&[args, &directions(&mut random, program.input_types())]);
    let cotangents = joined(&[args, &directions(&mut random, &program.output_types())]);
    let with = |what: &str, checked: Checked| checked.map_err(|why| format!("{what}: {why}"));
    with("value", check_program(program, args, met))?;
    with("jvp", check_program(&jvp, &tangents, met))?;
    with("vjp", check_program(&vjp, &cotangents, met))?;
    if seed.is_multiple_of(3) { dot_product(program, args, &mut random) } else { Ok(()) }
}

/// The smallest Program of a seed that fails, and how.
fn smallest(seed: u64, steps: usize, what: Large) -> String {
    let failing = (1..=steps).find_map(|steps| {
        let case = caught("generating", || generate_large(seed, steps, what));
        let checked = case.and_then(|case| {
            let checked = caught("checking", || check(&case, seed, &mut Met::default())).and_then(|checked| checked);
            checked.map_err(|why| format!("{why}\n{}", listing(&case.program)))
        });
        checked.err().map(|why| (steps, why))
    });
    let (steps, why) = failing.unwrap_or((steps, "not again".to_owned()));
    format!("seed {seed}, {steps} steps of {what:?}: {:.6000}\n", why)
}

fn run(what: Large, programs: u64) -> Met {
    let (mut met, mut failures) = (Met::default(), Vec::new());
    for seed in seeds(programs, 20 * programs) {
        let steps = 4 + seed as usize % 9;
        let checked = caught("generating", || generate_large(seed, steps, what))
            .and_then(|case| caught("checking", || check(&case, seed, &mut met)).and_then(|checked| checked));
        if checked.is_err() {
            failures.push(smallest(seed, steps, what));
        }
        if failures.len() == 3 {
            break;
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    met
}

#[test]
fn large_programs_obey_the_laws_on_any_number_of_threads() {
    let met = run(Large::Anything, 50);
    let enough = met.regions > 200 && met.parted > 20 && met.kernels > 50 && met.recomputing > 0;
    assert!(enough && met.largest > 10_000, "{met:?}");
}

#[test]
fn regions_that_the_planner_makes_of_random_programs_obey_the_laws() {
    let met = run(Large::Regions, 60);
    assert!(met.parted > 20 && met.regions > 200 && met.recomputing > 0, "{met:?}");
}
