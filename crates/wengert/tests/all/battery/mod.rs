//! The rule battery over the samples of every operation of a Program: a new operation is tested the
//! moment it has samples.
//!
//! 1. Inference agrees with what is computed, and refuses misfits with a reason.
//! 2. Special operands are evaluated, and single precision agrees with double precision.
//! 3. The tangent agrees with differences.
//! 4. The tangent is linear in the direction.
//! 5. The transpose passes the dot product test.
//! 6. Transposing twice gives the map back.
//! 7. One more axis gives what the slices give.
//! 8. All of this holds for the tangent program, at order 2.
//! 9. Every form of the Program computes the same bits, and so does the engine, or within a stated bound.
//! 10. Wrong derivatives are refused.
//! 11. Patterns have the entries that differ from zero, and no others but for stated reasons.
//!
//! Tolerances come from the rounding unit, the number of terms and the sizes of what is added.

mod case;
mod checks;
mod mutants;
pub(crate) mod patterns;

use std::collections::BTreeSet;

use case::{Case, cases, name, tangent_cases};
use wengert::primitives::{Sample, samples};

use crate::support::caught::{self, Checked};
use crate::support::engine::{Operands, check_engine};
use crate::support::slices;
use crate::support::{Random, program_of};

/// Runs a check over every sample; failures are collected with the operation they belong to.
fn over_samples(mut check: impl FnMut(&Sample) -> Checked) {
    let samples = samples();
    let mut failures = Vec::new();
    for sample in &samples {
        let checked = caught::caught("the check", || check(sample)).and_then(|checked| checked);
        if let Err(why) = checked {
            failures.push(format!("{}: {why}", name(sample)));
        }
    }
    assert!(failures.is_empty(), "{} of {} samples fail:\n{}", failures.len(), samples.len(), failures.join("\n"));
}

/// Runs a check over every case of every sample.
fn over_cases(mut check: impl FnMut(&Sample, &Case) -> Checked) {
    over_samples(|sample| {
        let cases = cases(sample)?;
        cases.iter().try_for_each(|case| check(sample, case).map_err(|why| format!("{}: {why}", case.name)))
    });
}

/// Runs a check over the tangent programs of every case.
fn over_tangents(mut check: impl FnMut(&Case) -> Checked) {
    over_cases(|_, case| {
        let cases = tangent_cases(case, &mut Random::new(11))?;
        cases.iter().try_for_each(|case| check(case).map_err(|why| format!("{}: {why}", case.name)))
    });
}

#[test]
fn inference_agrees_with_what_is_computed_and_refuses_misfits() {
    over_samples(|sample| match checks::check_types(sample)? {
        0 => Err("no misfit was refused".to_owned()),
        _ => Ok(()),
    });
}

#[test]
fn special_operands_are_evaluated() {
    over_samples(checks::check_special_values);
}

#[test]
fn single_precision_agrees_with_double_precision() {
    over_cases(|_, case| checks::check_single_precision(case));
}

#[test]
fn tangents_agree_with_differences() {
    over_cases(|_, case| checks::check_differences(case, &|t| case.push(t), &mut Random::new(1)));
}

#[test]
fn tangents_are_linear() {
    over_cases(|_, case| checks::check_linear(case, &|t| case.push(t), &mut Random::new(2)));
}

#[test]
fn transposes_pass_the_dot_product_test() {
    over_cases(|_, case| checks::check_transpose(case, &|t| case.push(t), &|c| case.pull(c), &mut Random::new(3)));
}

#[test]
fn transposing_twice_gives_the_map_back() {
    over_cases(|_, case| checks::check_transposed_twice(case, &mut Random::new(4)));
}

#[test]
fn one_more_axis_gives_what_the_slices_give() {
    over_samples(|sample| {
        let types: Vec<_> = sample.args.iter().map(wengert::Array::ty).collect();
        slices::check_batched(&program_of(&sample.op, &types)?, &sample.args)
    });
}

#[test]
fn tangents_of_tangents_agree_with_differences() {
    over_tangents(|case| checks::check_differences(case, &|t| case.push(t), &mut Random::new(1)));
}

#[test]
fn tangents_of_tangents_are_linear() {
    over_tangents(|case| checks::check_linear(case, &|t| case.push(t), &mut Random::new(2)));
}

#[test]
fn transposes_of_tangent_programs_pass_the_dot_product_test() {
    over_tangents(|case| checks::check_transpose(case, &|t| case.push(t), &|c| case.pull(c), &mut Random::new(3)));
}

#[test]
fn transposing_tangent_programs_twice_gives_the_map_back() {
    over_tangents(|case| checks::check_transposed_twice(case, &mut Random::new(4)));
}

#[test]
fn one_more_axis_of_tangents_and_pullbacks_gives_what_the_slices_give() {
    over_cases(|_, case| {
        let mut random = Random::new(6);
        let tangents: Vec<_> = case.args.iter().cloned().chain(case.tangents(&mut random)).collect();
        let cotangents: Vec<_> = case.args.iter().cloned().chain(case.cotangents(&mut random)).collect();
        slices::check_batched(&case.jvp, &tangents).map_err(|why| format!("jvp: {why}"))?;
        slices::check_batched(&case.vjp, &cotangents).map_err(|why| format!("vjp: {why}"))
    });
}

#[test]
fn every_form_of_a_program_computes_the_same_bits() {
    over_cases(|_, case| {
        let mut random = Random::new(7);
        let tangents: Vec<_> = case.args.iter().cloned().chain(case.tangents(&mut random)).collect();
        let cotangents: Vec<_> = case.args.iter().cloned().chain(case.cotangents(&mut random)).collect();
        checks::check_executors(&case.program, &case.args)?;
        checks::check_executors(&case.jvp, &tangents).map_err(|why| format!("jvp: {why}"))?;
        checks::check_executors(&case.vjp, &cotangents).map_err(|why| format!("vjp: {why}"))
    });
}

#[test]
fn the_engine_agrees_with_the_reference() {
    over_samples(|sample| {
        let types: Vec<_> = sample.args.iter().map(wengert::Array::ty).collect();
        let program = program_of(&sample.op, &types)?;
        check_engine(&program, &sample.args, 2, Operands::Tame)?;
        checks::special_operands(sample).iter().try_for_each(|args| check_engine(&program, args, 1, Operands::Special))
    });
    over_cases(|_, case| {
        let mut random = Random::new(9);
        let tangents: Vec<_> = case.args.iter().cloned().chain(case.tangents(&mut random)).collect();
        let cotangents: Vec<_> = case.args.iter().cloned().chain(case.cotangents(&mut random)).collect();
        check_engine(&case.jvp, &tangents, 2, Operands::Tame).map_err(|why| format!("jvp: {why}"))?;
        check_engine(&case.vjp, &cotangents, 2, Operands::Tame).map_err(|why| format!("vjp: {why}"))
    });
}

#[test]
fn wrong_derivatives_are_refused() {
    let mut tally = mutants::Tally::new();
    let mut differentiable = BTreeSet::new();
    over_cases(|sample, case| {
        let family = family(sample);
        if case.push_sizes(&case.tangents(&mut Random::new(8))).iter().any(|size| *size > 0.0) {
            differentiable.insert(family.clone());
        }
        mutants::check_mutants(&family, case, &mut tally)
    });
    for family in &differentiable {
        for mutant in ["a flipped sign", "a factor of 1.0001", "a dropped term"] {
            let refused = tally.get(&(family.clone(), mutant)).copied().unwrap_or(0);
            assert!(refused > 0, "no derivative of {family} with {mutant} was tried: {tally:?}");
        }
    }
    let swapped = tally.iter().filter(|((_, mutant), _)| *mutant == "swapped operands").map(|(_, count)| count);
    assert!(swapped.sum::<usize>() > 20, "{tally:?}");
}

/// The family of an operation: the name of its variant.
fn family(sample: &Sample) -> String {
    let text = format!("{:?}", sample.op);
    text.split(['(', ' ']).next().unwrap_or_default().to_owned()
}

#[test]
fn operations_without_operands_have_samples_too() {
    let without = samples()
        .iter()
        .filter(|sample| sample.args.is_empty())
        .map(|sample| sample.op.name())
        .collect::<BTreeSet<_>>();
    assert!(without.contains("constant") && without.contains("iota"), "{without:?}");
}
