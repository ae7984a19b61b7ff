//! Tests of what is private here.

use super::super::cluster::cluster;
use super::super::cost::Costs;
use super::super::donate::Donated;
use super::super::flatten::{Flattening, flatten};
use super::super::order::order;
use super::super::steps::{Placer, Planner};
use super::super::{Options, lanes, outputs, recompute};
use super::*;
use crate::program::Program;

/// A region, a product that reads it, and a region that reads both.
const TEXT: &str = "program(v0: f64[9,9]) {
        v1: f64[9,9] = sin v0
        v2: f64[9,9] = exp v1
        v3: f64[9,9] = einsum[spec=\"ij,jk->ik\"] v2 v1
        v4: f64[9,9] = mul v3 v2
        v5: f64[9,9] = einsum[spec=\"ij,jk->ik\"] v4 v3
        return v5
    }";

fn flat() -> Flat {
    let program: Program = TEXT.parse().unwrap();
    flatten(program, Flattening { written: false, keeps_copies: true, copies_gathered: false })
}

#[test]
fn plans_out_of_order_are_found() {
    let flat = flat();
    let mut clusters = cluster(&flat, &lanes::items(&flat, &Costs::REFERENCE));
    let steps = order(&flat, &mut clusters, &Donated::Any(&[]));
    assert_eq!(check_order(&flat, &clusters, &steps), Ok(()));
    assert!(steps.len() >= 4, "{steps:?}");
    for k in 1..steps.len() {
        let mut swapped = steps.clone();
        swapped.swap(k - 1, k);
        let why = check_order(&flat, &clusters, &swapped).unwrap_err();
        assert!(why.contains("before it is computed"), "{why}");
    }
    let why = check_order(&flat, &clusters, &steps[..steps.len() - 1]).unwrap_err();
    assert!(why.contains("is not computed"), "{why}");
    clusters.list[steps[0]].eqns.reverse();
    let why = check_order(&flat, &clusters, &steps).unwrap_err();
    assert!(why.contains("are not in order"), "{why}");
}

#[test]
fn memory_that_is_used_twice_is_found() {
    let flat = flat();
    let mut clusters = cluster(&flat, &lanes::items(&flat, &Costs::REFERENCE));
    let steps = order(&flat, &mut clusters, &Donated::Any(&[]));
    let results = outputs(flat.program.output_types(), &flat).1;
    let options = Options::default();
    let planner =
        Planner::new(&flat, &clusters, &steps, results.clone(), (&options, &Costs::REFERENCE), recompute::EFFORTS[0]);
    let (mut placer, drafts) = Placer::new(&flat.program, planner.drafted());
    let homes = placer.place(&drafts);
    assert_eq!(check_memory(&flat.program, &drafts, &homes, &results), Ok(()));
    // Two values that one step reads cannot be in one place.
    let in_arena = |value: &Value| value.index() > 0 && results[value.index()].is_none();
    let mut tried = 0;
    for draft in &drafts {
        let read: Vec<Value> = draft.reads.iter().copied().filter(in_arena).collect();
        for (one, two) in read.iter().zip(read.iter().skip(1)).filter(|(one, two)| one != two) {
            let mut moved = homes.clone();
            moved[one.index()] = moved[two.index()];
            let why = check_memory(&flat.program, &drafts, &moved, &results).unwrap_err();
            assert!(why.contains("which is not there") || why.contains("which it uses otherwise"), "{why}");
            tried += 1;
        }
    }
    assert!(tried >= 2, "{tried}");
}
