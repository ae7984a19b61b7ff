//! The rows of `indexing.json`, which the scripts of the other systems read too.

use std::collections::BTreeMap;

use serde_json::Value;
use wengert::DType;

use super::case::{Case, Setup};
use super::indexing;

/// What is in the file.
const FILE: &str = include_str!("../../peers/arrays/indexing.json");

/// A program of one kind in one size.
#[derive(Clone, Debug)]
pub(super) struct Row {
    pub(super) name: String,
    pub(super) dtype: String,
    pub(super) kind: String,
    sizes: BTreeMap<String, usize>,
    /// The value and the norm of the gradient, and how far they may be off, in relation to themselves.
    pub(super) wanted: [f64; 2],
    pub(super) tolerance: f64,
}

impl Row {
    /// All of them; the file is part of this program, so that it is well formed.
    pub(super) fn all() -> Vec<Row> {
        let rows: Value = serde_json::from_str(FILE).expect("`indexing.json` is JSON");
        rows.as_array().expect("a list").iter().map(|row| Row::read(row).unwrap_or_else(|| panic!("{row}"))).collect()
    }

    fn read(row: &Value) -> Option<Row> {
        let text = |field: &str| Some(row[field].as_str()?.to_owned());
        let sizes = row["sizes"].as_object()?.iter();
        Some(Row {
            name: text("name")?,
            dtype: text("dtype")?,
            kind: text("kind")?,
            sizes: sizes.map(|(name, size)| Some((name.clone(), size.as_u64()? as usize))).collect::<Option<_>>()?,
            wanted: [row["wanted"][0].as_f64()?, row["wanted"][1].as_f64()?],
            tolerance: row["tolerance"].as_f64()?,
        })
    }

    /// The number of this name; the program of a kind knows which it has.
    pub(super) fn size(&self, name: &str) -> usize {
        *self.sizes.get(name).unwrap_or_else(|| panic!("{} has no size `{name}`", self.name))
    }

    /// The type of real numbers.
    pub(super) fn real(&self) -> DType {
        match self.dtype.as_str() {
            "f32" => DType::F32,
            _ => DType::F64,
        }
    }

    /// Its program on its data.
    pub(super) fn case(&self, setup: &Setup) -> Case {
        let program = indexing::PROGRAMS.iter().find(|(kind, _)| *kind == self.kind);
        let (_, prepare) = program.unwrap_or_else(|| panic!("{}: no program of the kind `{}`", self.name, self.kind));
        prepare(self, setup)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_has_a_program_and_a_name_of_its_own() {
        let rows = Row::all();
        for (k, row) in rows.iter().enumerate() {
            assert!(indexing::PROGRAMS.iter().any(|(kind, _)| *kind == row.kind), "{row:?}");
            assert!(["f32", "f64"].contains(&row.dtype.as_str()) && row.tolerance <= 1e-5, "{row:?}");
            assert!(rows[..k].iter().all(|other| (&other.name, &other.dtype) != (&row.name, &row.dtype)), "{row:?}");
        }
        for (kind, _) in indexing::PROGRAMS {
            assert!(rows.iter().any(|row| row.kind == kind), "no row of the kind {kind}");
        }
    }
}
