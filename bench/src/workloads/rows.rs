//! The rows of the tables, which the scripts of the other systems read too.

use std::collections::BTreeMap;

use serde_json::Value;
use wengert::DType;

use super::case::{Case, Setup};
use super::{batches, fourier, indexing, linalg};

/// Makes the case of a row.
pub(super) type Program = fn(&Row, &Setup) -> Case;

/// A table of programs of a few kinds in several sizes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Table {
    /// What is in the file.
    file: &'static str,
    /// The program of each kind.
    programs: &'static [(&'static str, Program)],
}

/// What gathers, scatters, picks and slides.
pub(super) const INDEXING: Table =
    Table { file: include_str!("../../peers/arrays/indexing.json"), programs: &indexing::PROGRAMS };
/// Many derivatives at once, shifted views, contractions.
pub(super) const BATCHES: Table =
    Table { file: include_str!("../../peers/arrays/batches.json"), programs: &batches::PROGRAMS };

/// Factorisations, functions of matrices, complex products.
pub(super) const LINALG: Table =
    Table { file: include_str!("../../peers/arrays/linalg.json"), programs: &linalg::PROGRAMS };
/// Fourier transforms.
pub(super) const FOURIER: Table =
    Table { file: include_str!("../../peers/arrays/fft.json"), programs: &fourier::PROGRAMS };

/// A program of one kind in one size.
#[derive(Clone, Debug)]
pub(super) struct Row {
    pub(super) name: String,
    pub(super) dtype: String,
    pub(super) kind: String,
    sizes: BTreeMap<String, usize>,
    /// The value and the norm of the derivative, and how far they may be off, in relation to themselves.
    pub(super) wanted: [f64; 2],
    pub(super) tolerance: f64,
    program: Program,
}

impl Table {
    /// All of its rows; the file is compiled into this program, so it is well formed.
    pub(super) fn rows(self) -> Vec<Row> {
        let rows: Value = serde_json::from_str(self.file).expect("the table is JSON");
        rows.as_array().expect("a list").iter().map(|row| self.read(row).unwrap_or_else(|| panic!("{row}"))).collect()
    }

    fn read(self, row: &Value) -> Option<Row> {
        let text = |field: &str| Some(row[field].as_str()?.to_owned());
        let sizes = row["sizes"].as_object()?.iter();
        let kind = text("kind")?;
        let (_, program) = self.programs.iter().find(|(own, _)| *own == kind)?;
        Some(Row {
            name: text("name")?,
            dtype: text("dtype")?,
            kind,
            sizes: sizes.map(|(name, size)| Some((name.clone(), size.as_u64()? as usize))).collect::<Option<_>>()?,
            wanted: [row["wanted"][0].as_f64()?, row["wanted"][1].as_f64()?],
            tolerance: row["tolerance"].as_f64()?,
            program: *program,
        })
    }
}

impl Row {
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
        (self.program)(self, setup)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_rows_and_every_row_a_name_of_its_own() {
        let tables = [INDEXING, BATCHES, LINALG, FOURIER];
        let rows = tables.map(Table::rows).concat();
        for (k, row) in rows.iter().enumerate() {
            let most = if row.dtype == "f32" { 1e-5 } else { 1e-10 };
            assert!(["f32", "f64"].contains(&row.dtype.as_str()) && row.tolerance <= most, "{row:?}");
            assert!(rows[..k].iter().all(|other| (&other.name, &other.dtype) != (&row.name, &row.dtype)), "{row:?}");
        }
        for (kind, _) in tables.iter().flat_map(|table| table.programs) {
            assert!(rows.iter().any(|row| row.kind == *kind), "no row of the kind {kind}");
        }
    }
}
