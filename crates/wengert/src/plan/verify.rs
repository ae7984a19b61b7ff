//! The invariants of a plan, checked in debug builds whenever one is made.
//!
//! 1. The equations of a step stand in the order of the Program, and each has what it needs: from the step itself, before
//!    it, or from a step that ran before.
//! 2. Every result is computed.
//! 3. What a step reads from the arena, or where a result lies, is what was written for it, and lies apart from what the step
//!    writes. Parts of a result lie apart, and no step reads one.

use std::collections::{BTreeMap, HashSet};
use std::ops::Range;

use super::cluster::{Clusters, Role, reads_elsewhere};
use super::flatten::Flat;
use super::kernel::bytes;
use super::steps::Draft;
use super::{Map, lines_of};
use crate::program::{Program, Value};

/// That steps in this order compute every value before it is used.
pub(super) fn check_order(flat: &Flat, clusters: &Clusters, order: &[usize]) -> Result<(), String> {
    let mut computed = vec![false; flat.views.len()];
    flat.program.inputs().for_each(|input| computed[input.index()] = true);
    for &step in order {
        let eqns = &clusters.list[step].eqns;
        if !eqns.is_sorted_by(|one, two| one < two) {
            return Err(format!("the equations {eqns:?} of step {step} are not in order"));
        }
        let mut own: HashSet<Value> = HashSet::new();
        for &k in eqns {
            let eqn = &flat.program.eqns()[k];
            for arg in eqn.args.iter().filter(|arg| flat.literals[arg.index()].is_none()) {
                let base = flat.views[arg.index()].base;
                let known = match clusters.holds(step, base) {
                    true => {
                        let is_there = own.contains(&base) && clusters.roles[base.index()] != Role::Total;
                        is_there && !(clusters.list[step].space.is_some() && reads_elsewhere(flat, k))
                    }
                    false => computed[base.index()],
                };
                if !known {
                    return Err(format!("equation {k} of step {step} uses {base} before it is computed"));
                }
            }
            own.extend(eqn.outs());
        }
        for out in own.into_iter().filter(|out| clusters.home[out.index()] == Some(step)) {
            computed[out.index()] = true;
        }
    }
    let is_missing =
        |output: &&Value| flat.literals[output.index()].is_none() && !computed[flat.views[output.index()].base.index()];
    match flat.program.outputs().iter().find(is_missing) {
        Some(output) => Err(format!("the result {output} is not computed")),
        None => Ok(()),
    }
}

/// That what steps read is there: `homes` are the first lines of the values in the arena, which are those that are no inputs
/// and lie where none of the `results` does.
pub(super) fn check_memory(
    program: &Program,
    drafts: &[Draft],
    homes: &[usize],
    (results, parts): (&[Option<usize>], &Map<Value, usize>),
) -> Result<(), String> {
    check_parts(program, drafts, results, parts)?;
    let inputs = program.input_types().len();
    let range = |value: &Value| {
        let lines = lines_of(bytes(program.ty(*value)));
        let start = match results[value.index()] {
            // Each in a place of its own behind the arena.
            Some(result) => usize::MAX / 2 + result,
            None => homes[value.index()],
        };
        let end = if results[value.index()].is_some() { start + 1 } else { start + lines };
        (value.index() >= inputs && lines > 0).then_some(start..end)
    };
    // What was written last, by the first line.
    let mut written: BTreeMap<usize, (usize, Value)> = BTreeMap::new();
    for (step, draft) in drafts.iter().enumerate() {
        for (value, range) in draft.reads.iter().filter_map(|value| Some((value, range(value)?))) {
            if written.get(&range.start) != Some(&(range.end, *value)) {
                return Err(format!("step {step} reads {value} at {range:?}, which is not there"));
            }
        }
        let reads = draft.reads.iter().collect::<HashSet<&Value>>();
        let mut used: Vec<_> = reads.into_iter().filter_map(|value| Some((value, range(value)?))).collect();
        let writes = draft.writes.iter().enumerate();
        for (k, value, own) in writes.filter_map(|(k, value)| Some((k, value, range(value)?))) {
            // An operand that the step reads once and overwrites lies exactly where the result does.
            let overwritten = |other: &Value, place: &Range<usize>| {
                let is_pair =
                    |&(read, write): &(u16, u16)| usize::from(write) == k && draft.reads[usize::from(read)] == *other;
                *place == own && draft.in_place.iter().any(is_pair)
            };
            let meets = |place: &Range<usize>| own.start < place.end && place.start < own.end;
            // Two parts of one result lie apart there, as `check_parts` has seen.
            let apart = |other: &Value| parts.contains_key(value) && parts.contains_key(other);
            if used.iter().any(|(other, place)| meets(place) && !overwritten(other, place) && !apart(other)) {
                return Err(format!("step {step} writes {value} at {own:?}, which it uses otherwise"));
            }
            while let Some((&start, _)) = written.range(..own.end).next_back().filter(|(_, (end, _))| *end > own.start)
            {
                written.remove(&start);
            }
            written.insert(own.start, (own.end, *value));
            used.push((value, own));
        }
    }
    Ok(())
}

/// That values that are parts of results lie apart, are written before the rest, and are not read.
fn check_parts(
    program: &Program,
    drafts: &[Draft],
    results: &[Option<usize>],
    parts: &Map<Value, usize>,
) -> Result<(), String> {
    let mut taken: BTreeMap<(usize, usize), (usize, Value)> = BTreeMap::new();
    let mut whole: HashSet<usize> = HashSet::new();
    for (step, draft) in drafts.iter().enumerate() {
        if let Some(value) = draft.reads.iter().find(|value| parts.contains_key(value)) {
            return Err(format!("step {step} reads {value}, which is a part of a result"));
        }
        let mut ends: Map<usize, usize> = Map::default();
        for value in &draft.writes {
            let (Some(result), first) = (results[value.index()], parts.get(value)) else { continue };
            let Some(&first) = first else {
                whole.insert(result);
                continue;
            };
            let end = first + program.ty(*value).size();
            if ends.insert(result, end).is_some_and(|before| before > first) {
                return Err(format!("step {step} writes parts of result {result} in another order than they lie in"));
            }
            let before = taken.range(..(result, end)).next_back().filter(|((other, _), _)| *other == result);
            if let Some((_, (_, other))) = before.filter(|(_, (other_end, _))| *other_end > first) {
                return Err(format!("{value} and {other} lie at the same place of result {result}"));
            }
            if whole.contains(&result) {
                return Err(format!("step {step} writes {value} into result {result}, which is there already"));
            }
            taken.insert((result, first), (end, *value));
        }
    }
    Ok(())
}

#[cfg(all(test, feature = "text"))]
mod tests;
