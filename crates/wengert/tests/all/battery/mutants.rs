//! Wrong derivatives, which the checks have to refuse.

use std::collections::BTreeMap;

use wengert::Array;

use super::case::{Case, times};
use super::checks::{check_differences, check_transpose};
use crate::support::Random;
use crate::support::caught::Checked;

type Mutate = fn(&[Array]) -> Vec<Array>;

/// Changes to what goes into a linear map or comes out of it.
const MUTANTS: [(&str, Mutate, Mutate); 4] = [
    ("a flipped sign", same_arrays, |outs| times(-1.0, outs)),
    ("a factor of 1.0001", same_arrays, |outs| times(1.0 + 1e-4, outs)),
    ("a dropped term", drop_first, same_arrays),
    ("swapped operands", swap, same_arrays),
];

fn same_arrays(arrays: &[Array]) -> Vec<Array> {
    arrays.to_vec()
}

fn drop_first(arrays: &[Array]) -> Vec<Array> {
    let mut arrays = arrays.to_vec();
    if arrays.len() > 1 {
        arrays[0] = Array::zeros(arrays[0].ty());
    } else if let [array] = &mut arrays[..] {
        // With one operand the terms are its elements.
        let mut elements = array.to_f64();
        if let Some(first) = elements.first_mut() {
            *first = 0.0;
        }
        *array = crate::support::array(array.ty(), &elements);
    }
    arrays
}

fn swap(arrays: &[Array]) -> Vec<Array> {
    let mut arrays = arrays.to_vec();
    if arrays.len() > 1 && arrays[0].ty() == arrays[1].ty() {
        arrays.swap(0, 1);
    }
    arrays
}

/// How many mutants of a family were refused.
pub(crate) type Tally = BTreeMap<(String, &'static str), usize>;

/// Every mutant that changes the tangents is refused by differences, and every one that changes the
/// cotangents by the dot product.
pub(crate) fn check_mutants(family: &str, case: &Case, tally: &mut Tally) -> Checked {
    let mut random = Random::new(5);
    for (mutant, before, after) in MUTANTS {
        let wrong_push = |t: &[Array]| Ok(after(&case.push(&before(t))?));
        // A pullback takes its operands where the tangent map gives its results.
        let wrong_pull = |c: &[Array]| Ok(after(&before(&case.pull(c)?)));
        let push = |t: &[Array]| case.push(t);
        let t = case.tangents(&mut random);
        if differs(case, &case.push(&t)?, &wrong_push(&t)?, &case.push_sizes(&t)) {
            if check_differences(case, &wrong_push, &mut random).is_ok() {
                return Err(format!("differences accept a tangent with {mutant}"));
            }
            *tally.entry((family.to_owned(), mutant)).or_default() += 1;
        }
        let c = case.cotangents(&mut random);
        if differs(case, &case.pull(&c)?, &wrong_pull(&c)?, &case.pull_sizes(&c)) {
            if check_transpose(case, &push, &wrong_pull, &mut random).is_ok() {
                return Err(format!("the dot product accepts a cotangent with {mutant}"));
            }
            *tally.entry((family.to_owned(), mutant)).or_default() += 1;
        }
    }
    Ok(())
}

/// Whether the results differ by more than roundings; a sign of zero changes nothing, and neither
/// does a factor on what only roundings left.
fn differs(case: &Case, right: &[Array], wrong: &[Array], sizes: &[f64]) -> bool {
    let pairs = crate::support::flat(right).into_iter().zip(crate::support::flat(wrong));
    let largest = sizes.iter().fold(0.0f64, |largest, size| largest.max(*size));
    pairs.into_iter().any(|(right, wrong)| (right - wrong).abs() > 4.0 * case.rounding() * largest)
}
