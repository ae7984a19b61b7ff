//! Which operations, element types, ranks and nestings the random Programs had.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};
use std::sync::Mutex;

use wengert::primitives::samples;
use wengert::{DType, Program};

use super::generate::has_exceptions;

static NESTINGS: Mutex<BTreeMap<String, usize>> = Mutex::new(BTreeMap::new());

/// One more sequence of transformations.
pub(crate) fn count_nesting(names: &str) {
    if let Ok(mut nestings) = NESTINGS.lock() {
        *nestings.entry(names.to_owned()).or_default() += 1;
    }
}

/// How often an operation occurred.
#[derive(Clone, Debug, Default)]
struct Row {
    by_dtype: BTreeMap<DType, usize>,
    by_rank: [usize; 5],
    empty: usize,
    inside: usize,
}

/// Counts over all Programs.
#[derive(Debug, Default)]
pub(crate) struct Coverage {
    rows: BTreeMap<(String, String), Row>,
}

/// The family of an operation: the name of its variant.
pub(crate) fn family(op: &wengert::primitives::Op) -> String {
    let text = format!("{op:?}");
    text.split(['(', ' ']).next().unwrap_or_default().to_owned()
}

impl Coverage {
    /// Counts the equations of a Program and of those inside.
    pub(crate) fn count(&mut self, program: &Program, depth: usize) {
        for eqn in program.eqns() {
            let key = (family(&eqn.op), eqn.op.name().into_owned());
            let row = self.rows.entry(key).or_default();
            for ty in eqn.args.iter().copied().chain(eqn.outs()).map(|value| program.ty(value)) {
                *row.by_dtype.entry(ty.dtype).or_default() += 1;
                row.by_rank[ty.rank().min(4)] += 1;
                row.empty += usize::from(ty.size() == 0);
            }
            row.inside += usize::from(depth > 0);
            eqn.op.programs().into_iter().for_each(|inner| self.count(inner, depth + 1));
        }
    }

    /// What is missing: families, element types that a family has samples of, operations, ranks,
    /// empty axes, Programs inside.
    pub(crate) fn missing(&self) -> Vec<String> {
        let mut missing = BTreeSet::new();
        for sample in samples().into_iter().filter(|sample| !has_exceptions(sample)) {
            let family = family(&sample.op);
            let rows: Vec<&Row> = self.rows.iter().filter(|((own, _), _)| *own == family).map(|(_, row)| row).collect();
            for dtype in sample.args.iter().map(wengert::Array::dtype) {
                if !rows.iter().any(|row| row.by_dtype.contains_key(&dtype)) {
                    missing.insert(format!("{family} of {dtype}"));
                }
            }
            if !rows.iter().any(|row| row.empty > 0) && !sample.args.is_empty() {
                missing.insert(format!("{family} of an empty array"));
            }
            if !rows.iter().any(|row| row.inside > 0) {
                missing.insert(format!("{family} inside another Program"));
            }
            for rank in 0..5 {
                let least = sample.args.iter().map(|arg| arg.ty().rank()).max().unwrap_or(5);
                if rank >= least && !rows.iter().any(|row| row.by_rank[rank] > 0) {
                    missing.insert(format!("{family} at rank {rank}"));
                }
            }
            let name = sample.op.name().into_owned();
            // A user's operation has the user's name.
            if family != "Custom" && !self.rows.contains_key(&(family, name.clone())) {
                missing.insert(name);
            }
        }
        missing.into_iter().collect()
    }

    /// Writes the table. The harness keeps `println!` of passing tests to itself.
    pub(crate) fn print(&self, programs: usize) -> io::Result<()> {
        let mut out = io::stdout().lock();
        writeln!(
            out,
            "\nuses of operations in {programs} random programs, by element type and rank of what they touch"
        )?;
        writeln!(
            out,
            "{:14} {:14} {:>6} {:>6} {:>6} {:>6} | {:>6} {:>6} {:>6} {:>6} {:>6} | {:>6} {:>6}",
            "family", "operation", "bool", "i64", "f32", "f64", "rank 0", "1", "2", "3", "4", "empty", "inside"
        )?;
        for ((family, name), row) in &self.rows {
            write!(out, "{family:14} {name:14}")?;
            for dtype in DType::ALL {
                write!(out, " {:>6}", row.by_dtype.get(&dtype).copied().unwrap_or(0))?;
            }
            write!(out, " |")?;
            row.by_rank.iter().try_for_each(|count| write!(out, " {count:>6}"))?;
            writeln!(out, " | {:>6} {:>6}", row.empty, row.inside)?;
        }
        let nestings = NESTINGS.lock().map(|nestings| nestings.clone()).unwrap_or_default();
        let listed: Vec<String> = nestings.iter().map(|(names, count)| format!("{names} {count}")).collect();
        writeln!(out, "transformations after one another: {}", listed.join(", "))
    }
}

/// How many different sequences of transformations there were.
pub(crate) fn nestings() -> usize {
    NESTINGS.lock().map_or(0, |nestings| nestings.len())
}
