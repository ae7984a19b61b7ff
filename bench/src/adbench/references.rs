//! The cases of a folder, what their results should be, and how results are compared.

use std::fs::File;
use std::path::{Path, PathBuf};

use serde_json::Value;
use wengert::Array;

/// Largest difference from a reference, relative to its largest entry.
const OF_LARGEST: f64 = 1e-10;
/// Largest `|a - b| / max(1, |a| + |b|)` of an entry: the rule of the public benchmark.
const OF_ENTRY: f64 = 1e-8;

/// One case, as `index.json` has it.
#[derive(Debug)]
pub(super) struct Record {
    pub(super) name: String,
    /// `gmm`, `ba`, `lstm` or `hand`.
    pub(super) kind: String,
    /// The file of its input.
    pub(super) data: PathBuf,
    /// The folder of its model, for a hand.
    pub(super) model: Option<PathBuf>,
    /// Whether points correspond to triangles, for a hand.
    pub(super) complicated: bool,
    index: PathBuf,
    value: Value,
}

/// What the results of a case should be.
pub(super) struct Wanted {
    pub(super) objective: Reference,
    pub(super) derivative: Reference,
}

/// Flat numbers that a result should have.
pub(super) enum Reference {
    /// All of them.
    Whole(Vec<f64>),
    /// A block again and again, then a number as often.
    Repeated(Vec<f64>, f64),
}

/// How far a result is from its reference.
#[derive(Clone, Copy, Debug)]
pub(super) struct Errors {
    /// Relative to the largest entry.
    pub(super) largest: f64,
    /// Of the entry that is off the most, `|a - b| / max(1, |a| + |b|)`.
    pub(super) entrywise: f64,
}

/// The records of a folder's `index.json`.
pub(super) fn read(folder: &Path) -> Result<Vec<Record>, String> {
    let index = folder.join("index.json");
    let wrong = |why: &dyn std::fmt::Display| format!("{}: {why}", index.display());
    let text = std::fs::read_to_string(&index).map_err(|error| wrong(&error))?;
    let all: Value = serde_json::from_str(&text).map_err(|error| wrong(&error))?;
    let all = all.as_array().ok_or_else(|| wrong(&"expected a list of cases"))?;
    all.iter().map(|value| Record::new(folder, &index, value)).collect()
}

impl Record {
    fn new(folder: &Path, index: &Path, value: &Value) -> Result<Self, String> {
        let name = value["name"].as_str().ok_or_else(|| format!("{}: a case has no `name`", index.display()))?;
        let mut record = Record {
            name: name.to_owned(),
            kind: String::new(),
            data: PathBuf::new(),
            model: value["model"].as_str().map(|model| folder.join(model)),
            complicated: value["complicated"].as_bool().unwrap_or(false),
            index: index.to_owned(),
            value: value.clone(),
        };
        record.kind = record.text("kind")?.to_owned();
        record.data = folder.join(record.text("data")?);
        match record.kind.as_str() {
            "hand" if record.model.is_none() => Err(record.wrong("model", "the folder of a hand's model")),
            "gmm" | "ba" | "lstm" | "hand" => Ok(record),
            _ => Err(record.wrong("kind", "gmm, ba, lstm or hand")),
        }
    }

    /// The references, read from their files.
    pub(super) fn wanted(&self) -> Result<Wanted, String> {
        let objective = match (self.value.get("ref_F"), self.value.get("residual_block")) {
            (Some(_), _) => Reference::Whole(self.array("ref_F")?.1),
            (None, Some(_)) => Reference::Repeated(self.numbers("residual_block")?, self.number("w_err")?),
            (None, None) => Reference::Whole(vec![self.number("objective")?]),
        };
        let derivative = match (self.value.get("ref_J"), self.value.get("jac_row_u")) {
            (Some(_), _) => Reference::Whole(self.derivative()?),
            (None, Some(_)) => {
                let block = [self.numbers("jac_row_u")?, self.numbers("jac_row_v")?].concat();
                Reference::Repeated(block, self.number("jac_w_err")?)
            }
            (None, None) => return Err(self.wrong("ref_J", "a reference of the derivative")),
        };
        Ok(Wanted { objective, derivative })
    }

    /// The derivative in the order of the results: that of a hand stands row by row in its file, and column by column there.
    fn derivative(&self) -> Result<Vec<f64>, String> {
        let (shape, numbers) = self.array("ref_J")?;
        match (self.kind.as_str(), &shape[..]) {
            ("hand", &[rows, columns]) => Ok((0..columns)
                .flat_map(|c| (0..rows).map(move |r| (r, c)))
                .map(|(r, c)| numbers[r * columns + c])
                .collect()),
            ("hand", _) => Err(self.wrong("ref_J", "a matrix")),
            _ => Ok(numbers),
        }
    }

    fn array(&self, field: &str) -> Result<(Vec<usize>, Vec<f64>), String> {
        let path = self.index.with_file_name(self.text(field)?);
        let wrong = |why: &dyn std::fmt::Display| format!("{}: {why}", path.display());
        let file = File::open(&path).map_err(|error| wrong(&error))?;
        let array = Array::read_npy(file).map_err(|error| wrong(&error))?;
        Ok((array.shape().to_vec(), array.to_f64()))
    }

    fn text(&self, field: &str) -> Result<&str, String> {
        self.value[field].as_str().ok_or_else(|| self.wrong(field, "a text"))
    }

    fn number(&self, field: &str) -> Result<f64, String> {
        self.value[field].as_f64().ok_or_else(|| self.wrong(field, "a number"))
    }

    fn numbers(&self, field: &str) -> Result<Vec<f64>, String> {
        let numbers = self.value[field].as_array().and_then(|all| all.iter().map(Value::as_f64).collect());
        numbers.ok_or_else(|| self.wrong(field, "a list of numbers"))
    }

    fn wrong(&self, field: &str, what: &str) -> String {
        format!("{}: case `{}`: `{field}` should be {what}", self.index.display(), self.name)
    }
}

impl Reference {
    /// The errors of a result; an error if it has another length.
    pub(super) fn compare(&self, got: &[f64]) -> Result<Errors, String> {
        let length = match self {
            Reference::Whole(wanted) => wanted.len(),
            // As many blocks as the result has room for, and a number for each.
            Reference::Repeated(block, _) => got.len() / (block.len() + 1) * (block.len() + 1),
        };
        if got.len() != length || got.is_empty() {
            return Err(format!("{} numbers, where the reference has {length}", got.len()));
        }
        let blocks = |block: &[f64]| got.len() / (block.len() + 1) * block.len();
        let wanted = |i: usize| match self {
            Reference::Whole(wanted) => wanted[i],
            Reference::Repeated(block, last) => {
                if i < blocks(block) {
                    block[i % block.len()]
                } else {
                    *last
                }
            }
        };
        let (mut largest, mut size, mut entrywise) = (0.0f64, 0.0f64, 0.0f64);
        for (i, &got) in got.iter().enumerate() {
            let wanted = wanted(i);
            let difference = (got - wanted).abs();
            // A NaN has to show, and `max` would hide it.
            let difference = if difference.is_nan() { f64::INFINITY } else { difference };
            largest = largest.max(difference);
            size = size.max(wanted.abs());
            entrywise = entrywise.max(difference / (got.abs() + wanted.abs()).max(1.0));
        }
        let relative = if largest == 0.0 { 0.0 } else { largest / size };
        Ok(Errors { largest: relative, entrywise: if largest.is_finite() { entrywise } else { f64::INFINITY } })
    }
}

impl Errors {
    /// The larger of two.
    pub(super) fn join(self, other: Errors) -> Errors {
        Errors { largest: self.largest.max(other.largest), entrywise: self.entrywise.max(other.entrywise) }
    }

    /// An error if the result is off.
    pub(super) fn check(self) -> Result<(), String> {
        match self.largest <= OF_LARGEST && self.entrywise <= OF_ENTRY {
            true => Ok(()),
            false => Err(format!(
                "off by {:.1e} of the largest entry ({OF_LARGEST:e} is allowed), by {:.1e} of an entry ({OF_ENTRY:e})",
                self.largest, self.entrywise
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_off_is_found() {
        let whole = Reference::Whole(vec![1.0, -2.0, 1e-3]);
        assert!(whole.compare(&[1.0, -2.0, 1e-3]).unwrap().check().is_ok());
        for off in [[1.0, -2.0, 2e-3], [1.0, -2.0 - 1e-9, 1e-3], [f64::NAN, -2.0, 1e-3], [1.0, -2.0, f64::INFINITY]] {
            assert!(whole.compare(&off).unwrap().check().is_err(), "{off:?}");
        }
        assert!(whole.compare(&[1.0, -2.0]).is_err());
        let repeated = Reference::Repeated(vec![1.0, 2.0], 3.0);
        assert!(repeated.compare(&[1.0, 2.0, 1.0, 2.0, 3.0, 3.0]).unwrap().check().is_ok());
        assert!(repeated.compare(&[1.0, 2.0, 1.0, 2.0, 2.0, 3.0]).unwrap().check().is_err());
        assert!(repeated.compare(&[1.0, 2.0, 3.0, 3.0]).is_err());
        assert!(repeated.compare(&[]).is_err());
    }

    #[test]
    fn a_record_says_what_it_lacks() {
        let record = |text: &str| {
            let value = serde_json::from_str(text).unwrap();
            Record::new(Path::new("d"), Path::new("d/index.json"), &value)
        };
        for (text, field) in [
            ("{}", "name"),
            (r#"{"name": "a", "data": "x"}"#, "kind"),
            (r#"{"name": "a", "kind": "tsp", "data": "x"}"#, "kind"),
            (r#"{"name": "a", "kind": "gmm"}"#, "data"),
            (r#"{"name": "a", "kind": "hand", "data": "x"}"#, "model"),
        ] {
            assert!(record(text).unwrap_err().contains(&format!("`{field}`")), "{text}");
        }
        let unfinished = record(r#"{"name": "a", "kind": "gmm", "data": "x", "objective": 1.0}"#).unwrap();
        assert!(unfinished.wanted().err().unwrap().contains("`ref_J`"));
        let missing =
            record(r#"{"name": "a", "kind": "gmm", "data": "x", "objective": 1.0, "ref_J": "no.npy"}"#).unwrap();
        assert!(missing.wanted().err().unwrap().contains("no.npy"));
    }
}
