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

/// Two products one after the other.
const JOINED: &str = "program(v0: f64[9,9]) {
        v1: f64[9,9] = einsum[spec=\"ij,jk->ik\"] v0 v0
        v2: f64[9,9] = einsum[spec=\"ij,kj->ik\"] v1 v0
        v3: f64[9,9] = einsum[spec=\"ji,jk->ik\"] v0 v1
        v4: f64[18,9] = concat[axis=0] v2 v3
        return v4
    }";

fn flat(text: &str) -> Flat {
    let program: Program = text.parse().unwrap();
    flatten(program, Flattening { written: false, keeps_copies: true, copies_gathered: false })
}

#[test]
fn plans_out_of_order_are_found() {
    let flat = flat(TEXT);
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
    let flat = flat(TEXT);
    let mut clusters = cluster(&flat, &lanes::items(&flat, &Costs::REFERENCE));
    let steps = order(&flat, &mut clusters, &Donated::Any(&[]));
    let results = outputs(flat.program.output_types(), &flat).1;
    let options = Options::default();
    let planner =
        Planner::new(&flat, &clusters, &steps, results.clone(), (&options, &Costs::REFERENCE), recompute::EFFORTS[0]);
    let (mut placer, drafts) = Placer::new(&flat.program, planner.drafted());
    let homes = placer.place(&drafts);
    let none = Map::default();
    assert_eq!(check_memory(&flat.program, &drafts, &homes, (&results, &none)), Ok(()));
    // Two values that one step reads cannot be in one place.
    let in_arena = |value: &Value| value.index() > 0 && results[value.index()].is_none();
    let mut tried = 0;
    for draft in &drafts {
        let read: Vec<Value> = draft.reads.iter().copied().filter(in_arena).collect();
        for (one, two) in read.iter().zip(read.iter().skip(1)).filter(|(one, two)| one != two) {
            let mut moved = homes.clone();
            moved[one.index()] = moved[two.index()];
            let why = check_memory(&flat.program, &drafts, &moved, (&results, &none)).unwrap_err();
            assert!(why.contains("which is not there") || why.contains("which it uses otherwise"), "{why}");
            tried += 1;
        }
    }
    assert!(tried >= 2, "{tried}");
}

#[test]
fn parts_of_results_lie_apart_and_are_not_read() {
    let flat = flat(JOINED);
    let mut clusters = cluster(&flat, &lanes::items(&flat, &Costs::REFERENCE));
    let steps = order(&flat, &mut clusters, &Donated::Any(&[]));
    let results = outputs(flat.program.output_types(), &flat).1;
    let options = Options::default();
    let planner = Planner::new(&flat, &clusters, &steps, results, (&options, &Costs::REFERENCE), recompute::EFFORTS[0]);
    let drafts = planner.drafted();
    let (results, parts) = (drafts.results.clone(), drafts.parts.clone());
    let (mut placer, drafts) = Placer::new(&flat.program, drafts);
    let homes = placer.place(&drafts);
    let check = |parts: &Map<Value, usize>| check_memory(&flat.program, &drafts, &homes, (&results, parts));
    assert_eq!(check(&parts), Ok(()));
    let mut firsts: Vec<usize> = parts.values().copied().collect();
    firsts.sort_unstable();
    assert_eq!(firsts, [0, 81]);
    let mut moved = parts.clone();
    moved.values_mut().for_each(|first| *first = 40.min(*first));
    let why = check(&moved).unwrap_err();
    assert!(why.contains("lie at the same place of result 0"), "{why}");
    // What another step reads.
    let read = *drafts[1].reads.iter().find(|value| value.index() > 0).expect("the second product reads the first");
    moved.insert(read, 0);
    let why = check(&moved).unwrap_err();
    assert!(why.contains("which is a part of a result"), "{why}");
    // The last step writes the whole.
    let mut reversed: Vec<Draft> = drafts;
    reversed.rotate_right(1);
    let why = check_parts(&flat.program, &reversed, &results, &parts).unwrap_err();
    assert!(why.contains("which is there already"), "{why}");
}
