//! What is compared: the workloads, and the rows of the tables.

use std::fs;

use serde::Deserialize;

use super::{Failure, SCRIPTS};
use crate::workspace::root;

/// The workloads as the programs name them, and how our time should stand to the best peer's, at most.
const WORKLOADS: [(&str, f64); 15] = [
    ("W1:f32", 1.0),
    ("W2:f32", 0.5),
    ("W3:f32", 0.9),
    ("W4:f32", 1.0),
    ("W5:f32", 1.0),
    ("W6:f32", 0.7),
    ("W6:f64", 0.7),
    ("W7a:f64", 0.5),
    ("W7b:f64", 0.7),
    ("W8:f32", 0.6),
    ("W9:f64", 0.7),
    ("W10:f64", 0.25),
    ("W11:f64", 0.25),
    ("W12a:f64", 0.5),
    ("W12b:f64", 0.5),
];

/// Workloads whose figure is that of one thread: threads cannot help where only the overhead counts.
const ONE_THREAD: &[&str] = &["W2:f32"];

/// A program that is compared.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Program {
    /// Its name with its type, as all systems call it.
    pub(super) key: String,
    /// The command of ours that measures it.
    pub(super) command: &'static str,
    /// Its other names: that of its command, that of its kind.
    families: Vec<String>,
    /// How our time should stand to the best peer's, at most.
    pub(super) target: f64,
    threads: usize,
}

impl Program {
    /// The numbers of threads with which it is measured, in turn, if these are asked for.
    pub(super) fn threads(&self, asked: &[usize]) -> Vec<usize> {
        match asked {
            _ if ONE_THREAD.contains(&&*self.key) => vec![1],
            [] => vec![self.threads],
            _ => asked.to_vec(),
        }
    }

    fn is_called(&self, name: &str) -> bool {
        let own = self.key.split(':').next().unwrap_or(&self.key);
        self.key == name || own == name || self.families.iter().any(|family| family == name)
    }

    /// One of the workloads.
    pub(super) fn workload(key: &str, target: f64) -> Self {
        let family = key.split(':').next().unwrap_or(key).trim_end_matches(['a', 'b']);
        let families = vec!["workloads".to_owned(), family.to_owned()];
        Program { key: key.to_owned(), command: "workloads", families, target, threads: 2 }
    }
}

/// The tables of rows: each has a file of its name, and a command of ours.
const TABLES: [&str; 4] = ["indexing", "batches", "linalg", "fft"];

/// A row of a table; the other fields are for those who run it.
#[derive(Deserialize)]
struct Row {
    name: String,
    dtype: String,
    kind: String,
    target: f64,
    threads: usize,
}

impl Row {
    fn of(self, table: &'static str) -> Program {
        Program {
            key: format!("{}:{}", self.name, self.dtype),
            command: table,
            families: vec![table.to_owned(), self.kind],
            target: self.target,
            threads: self.threads,
        }
    }
}

/// All of them.
fn all() -> Result<Vec<Program>, Failure> {
    let mut programs: Vec<Program> =
        WORKLOADS.into_iter().map(|(key, target)| Program::workload(key, target)).collect();
    for table in TABLES {
        let path = root().join(SCRIPTS).join(table).with_extension("json");
        let wrong = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
        let text = fs::read_to_string(&path).map_err(|error| wrong(&error))?;
        let rows: Vec<Row> = serde_json::from_str(&text).map_err(|error| wrong(&error))?;
        programs.extend(rows.into_iter().map(|row| row.of(table)));
    }
    Ok(programs)
}

/// The programs of a list like `W1,W6:f32,W7,gather`; `W7` names `W7a` and `W7b`, `W6` both precisions, a kind its rows,
/// a command all of its.
pub(super) fn named(names: Option<&str>) -> Result<Vec<Program>, Failure> {
    let all = all()?;
    let Some(names) = names else { return Ok(all) };
    let mut found = Vec::new();
    for name in names.split(',') {
        let before = found.len();
        found.extend(all.iter().filter(|program| program.is_called(name)).cloned());
        if found.len() == before {
            return Err(format!("no workload is called `{name}`"));
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(names: &str) -> Vec<String> {
        named(Some(names)).unwrap().into_iter().map(|program| program.key).collect()
    }

    #[test]
    fn programs_are_found_by_name_kind_and_command() {
        assert_eq!(keys("W7,W6:f32"), ["W7a:f64", "W7b:f64", "W6:f32"]);
        assert_eq!(keys("gather-2m"), ["gather-2m:f64"]);
        assert!(keys("gather").len() > 1 && keys("gather").iter().all(|key| key.starts_with("gather-")));
        assert_eq!(keys("workloads").len(), WORKLOADS.len());
        assert_eq!(keys("workloads,indexing,batches,linalg,fft").len(), named(None).unwrap().len());
        assert!(named(Some("W0")).is_err());
    }

    #[test]
    fn a_program_has_its_own_threads_unless_others_are_asked_for() {
        let threads = |name: &str, asked: &[usize]| named(Some(name)).unwrap()[0].threads(asked);
        assert_eq!([threads("W1", &[]), threads("gather", &[]), threads("W2", &[])], [[2], [1], [1]]);
        assert_eq!([threads("W1", &[1, 3]), threads("gather", &[1, 3])], [[1, 3], [1, 3]]);
        assert_eq!(threads("W2", &[1, 3]), [1]);
    }
}
