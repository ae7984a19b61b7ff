//! Point 11 of the battery: the pattern of every sample's Jacobian has all entries that differ from zero somewhere, and no
//! others, but where the operation says why it names more.

use std::collections::{BTreeMap, BTreeSet};

use wengert::primitives::Sample;
use wengert::sparsity::Pattern;
use wengert::{Array, Program, Type};

use super::case::name;
use super::over_samples;
use crate::support::caught::Checked;
use crate::support::{Random, array, program_of};

/// At how many points a sample is tried: elements in other places meet other branches.
const POINTS: usize = 12;

type Entries = BTreeSet<(usize, usize, usize)>;

/// The operands that have derivatives.
fn active(args: &[Array]) -> Vec<bool> {
    args.iter().map(|arg| arg.dtype().is_float()).collect()
}

/// Entries (output, row, column) of patterns.
pub(crate) fn entries(patterns: &[Pattern]) -> Entries {
    let of = |(output, pattern): (usize, &Pattern)| {
        pattern.entries().map(move |(row, col)| (output, row, col)).collect::<Vec<_>>()
    };
    patterns.iter().enumerate().flat_map(of).collect()
}

/// The entries of the Jacobian that are not zero at a point, column by column.
pub(crate) fn nonzeros(program: &Program, active: &[bool], args: &[Array]) -> Result<Entries, String> {
    let jvp = program.jvp(active).map_err(|error| error.to_string())?;
    let moving: Vec<&Type> = args.iter().zip(active).filter(|(_, active)| **active).map(|(arg, _)| arg.ty()).collect();
    let mut found = Entries::new();
    let mut column = 0;
    for (k, ty) in moving.iter().enumerate() {
        for place in 0..ty.size() {
            let mut direction = vec![0.0; ty.size()];
            direction[place] = 1.0;
            let directions = moving.iter().enumerate().map(|(other, zero)| match other == k {
                true => array(ty, &direction),
                false => Array::zeros(zero),
            });
            let operands: Vec<Array> = args.iter().cloned().chain(directions).collect();
            let results = jvp.run_reference(&operands).map_err(|error| error.to_string())?;
            for (output, dot) in results[program.outputs().len()..].iter().enumerate() {
                let rows = dot.to_f64().into_iter().enumerate().filter(|(_, x)| *x != 0.0);
                found.extend(rows.map(|(row, _)| (output, row, column)));
            }
            column += 1;
        }
    }
    Ok(found)
}

/// The sample's operands, then with the elements of the real ones moved around and a little elsewhere.
fn points(args: &[Array]) -> Vec<Vec<Array>> {
    let mut random = Random::new(31);
    let moved = |turn: usize, random: &mut Random| {
        let of = |arg: &Array| {
            let elements = arg.to_f64();
            let count = elements.len();
            let near = |k: usize| elements[(k + turn) % count] + 1e-3 * random.direction();
            if arg.dtype().is_float() {
                array(arg.ty(), &(0..count).map(near).collect::<Vec<f64>>())
            } else {
                arg.clone()
            }
        };
        args.iter().map(of).collect()
    };
    std::iter::once(args.to_vec()).chain((0..POINTS).map(|turn| moved(turn, &mut random))).collect()
}

/// Whether the patterns at a sample's points have all entries, the one that holds everywhere has those of each, and each is met
/// exactly at some points.
fn check(sample: &Sample) -> Result<bool, String> {
    let types: Vec<&Type> = sample.args.iter().map(Array::ty).collect();
    let (program, active) = (program_of(&sample.op, &types)?, active(&sample.args));
    if !active.contains(&true) {
        return Ok(true);
    }
    let anywhere = entries(&program.jacobian_pattern(&active).map_err(|error| error.to_string())?);
    let (mut named, mut found) = (Entries::new(), Entries::new());
    for (k, args) in points(&sample.args).iter().enumerate() {
        // Elsewhere there may be no value: the sample's own point is inside the domain.
        let Ok(here) = nonzeros(&program, &active, args) else {
            if k == 0 { return Err("there is no derivative".to_owned()) } else { continue }
        };
        let pattern = entries(&program.jacobian_pattern_at(&active, args).map_err(|error| error.to_string())?);
        if let Some(entry) = here.difference(&pattern).next() {
            return Err(format!("the pattern at point {k} lacks {entry:?}"));
        }
        if let Some(entry) = pattern.difference(&anywhere).next() {
            return Err(format!("the pattern that holds everywhere lacks {entry:?} of that at point {k}"));
        }
        named.extend(pattern);
        found.extend(here);
    }
    Ok(named == found)
}

#[test]
fn patterns_have_the_entries_that_differ_from_zero_and_no_others() {
    let mut exact: BTreeMap<String, (bool, Option<&'static str>)> = BTreeMap::new();
    let mut vague = Vec::new();
    over_samples(|sample| -> Checked {
        let is_exact = check(sample)?;
        let why = sample.op.reaches_more();
        let seen = exact.entry(sample.op.name().into_owned()).or_insert((true, why));
        seen.0 &= is_exact;
        if !is_exact && why.is_none() {
            vague.push(name(sample));
        }
        Ok(())
    });
    let needless: Vec<&str> =
        exact.iter().filter(|(_, (exact, why))| *exact && why.is_some()).map(|(name, _)| &name[..]).collect();
    assert!(
        vague.is_empty() && needless.is_empty(),
        "patterns have more entries than differ from zero, and nothing says why:\n{}\nthese say why, and have not: {}",
        vague.join("\n"),
        needless.join(", ")
    );
}
