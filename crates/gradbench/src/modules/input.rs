//! Inputs: structs of numbers, checked while they are read.

use std::fmt;

use serde::de::{DeserializeOwned, DeserializeSeed, Error as _, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use wengert::Tensor;
use wengert::fallible::*;

use super::Failure;

/// How often a run is repeated.
#[derive(Clone, Copy, Debug, Deserialize)]
pub(super) struct Runs {
    #[serde(default = "one")]
    pub(super) min_runs: u64,
    #[serde(default)]
    pub(super) min_seconds: f64,
}

fn one() -> u64 {
    1
}

/// More runs than these are refused, since each has a line in the answer.
const MOST_RUNS: u64 = 100_000_000;

/// Reads an input and how often it is to be run.
pub(super) fn read<T: DeserializeOwned>(input: &str) -> Result<(T, Runs), Failure> {
    let fail = |why: serde_json::Error| Failure::new(format!("the input is not what the function takes: {why}"));
    if !input.trim_start().starts_with('{') {
        return Err(Failure::new("the input is not what the function takes: it is no object"));
    }
    let runs: Runs = serde_json::from_str(input).map_err(fail)?;
    if runs.min_runs > MOST_RUNS {
        return Err(Failure::new(format!("min_runs is {}, and at most {MOST_RUNS} are allowed", runs.min_runs)));
    }
    Ok((serde_json::from_str(input).map_err(fail)?, runs))
}

/// Refuses sizes at which a function would not end: `work` operations, as far as they can be counted.
pub(super) fn check_work(sizes: &str, work: Option<u64>) -> Result<(), Failure> {
    const MOST: u64 = 1 << 50;
    match work {
        Some(work) if work <= MOST => Ok(()),
        _ => Err(Failure::new(format!("{sizes} would take more than {MOST} operations"))),
    }
}

/// An array of rows of one length, one after the other.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Matrix {
    pub(super) rows: usize,
    pub(super) width: usize,
    numbers: Vec<f64>,
}

impl Matrix {
    /// Refuses another shape; `name` is that of the field.
    pub(super) fn check(&self, name: &str, rows: usize, width: usize) -> Result<(), Failure> {
        let has_none = self.numbers.is_empty() && (rows == 0 || width == 0);
        if has_none || (self.rows == rows && self.width == width) {
            return Ok(());
        }
        let (own_rows, own) = (self.rows, self.width);
        Err(Failure::new(format!("{name} has {own_rows} rows of {own} numbers, and {rows} of {width} are asked for")))
    }

    /// The numbers, row by row.
    pub(super) fn into_numbers(self) -> Vec<f64> {
        self.numbers
    }

    /// The matrix as an array of shape `[rows, width]`.
    pub(super) fn into_tensor(self) -> Result<Tensor, Failure> {
        Ok(Tensor::try_from_vec(&[self.rows, self.width], self.numbers)?)
    }
}

impl<'de> Deserialize<'de> for Matrix {
    fn deserialize<D: Deserializer<'de>>(json: D) -> Result<Self, D::Error> {
        json.deserialize_seq(Rows)
    }
}

struct Rows;

impl<'de> Visitor<'de> for Rows {
    type Value = Matrix;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array of rows of numbers")
    }

    fn visit_seq<S: SeqAccess<'de>>(self, mut list: S) -> Result<Matrix, S::Error> {
        let mut matrix = Matrix { rows: 0, width: 0, numbers: Vec::new() };
        loop {
            let before = matrix.numbers.len();
            if list.next_element_seed(Row(&mut matrix.numbers))?.is_none() {
                return Ok(matrix);
            }
            let width = matrix.numbers.len() - before;
            if matrix.rows == 0 {
                matrix.width = width;
            } else if width != matrix.width {
                let (row, first) = (matrix.rows, matrix.width);
                return Err(S::Error::custom(format!("row {row} has {width} numbers, and row 0 has {first}")));
            }
            matrix.rows += 1;
        }
    }
}

/// Appends the numbers of a row.
struct Row<'a>(&'a mut Vec<f64>);

impl<'de> DeserializeSeed<'de> for Row<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<(), D::Error> {
        json.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Row<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a row of numbers")
    }

    fn visit_seq<S: SeqAccess<'de>>(self, mut list: S) -> Result<(), S::Error> {
        while let Some(number) = list.next_element()? {
            self.0.push(number);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_different_lengths_are_refused() {
        let matrix: Matrix = serde_json::from_str("[[1, 2], [3, 4.5], [5, 6]]").unwrap();
        assert_eq!((matrix.rows, matrix.width, &matrix.numbers[..]), (3, 2, &[1.0, 2.0, 3.0, 4.5, 5.0, 6.0][..]));
        let check = |text: &str, want: &str| {
            let why = serde_json::from_str::<Matrix>(text).unwrap_err().to_string();
            assert!(why.contains(want), "{why}");
        };
        check("[[1, 2], [3]]", "row 1 has 1 numbers, and row 0 has 2");
        check("[[], [3]]", "row 1 has 1 numbers, and row 0 has 0");
        check("[[1, 2], 3]", "expected a row of numbers");
        check("[[1, null]]", "invalid type: null");
        check("{}", "expected an array of rows of numbers");
        assert_eq!(serde_json::from_str::<Matrix>("[]").unwrap().rows, 0);
    }

    #[test]
    fn runs_have_defaults_and_limits() {
        #[derive(Debug, Deserialize)]
        struct Nothing {}
        let read = |text: &str| read::<Nothing>(text).map(|(_, runs)| (runs.min_runs, runs.min_seconds));
        assert_eq!(read("{}").unwrap(), (1, 0.0));
        assert_eq!(read(r#"{"min_runs": 3, "min_seconds": 1}"#).unwrap(), (3, 1.0));
        for wrong in [
            "3",
            "[1, 2]",
            "null",
            r#"{"min_runs": -1}"#,
            r#"{"min_runs": 1.5}"#,
            r#"{"min_runs": 1000000000000}"#,
            r#"{"min_seconds": "1"}"#,
        ] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}
