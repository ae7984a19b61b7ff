//! Results as JSON.

use serde::ser::{Error as _, SerializeMap, SerializeSeq};
use serde::{Serialize, Serializer};
use wengert::Tensor;

use super::Failure;

/// A result of an evaluation.
#[derive(Clone, Debug, PartialEq)]
pub enum Output {
    /// One number.
    Number(f64),
    /// An array of numbers.
    Numbers(Vec<f64>),
    /// An array of rows of this length, whose numbers stand one after the other.
    Rows(usize, Vec<f64>),
    /// An array of integers.
    Integers(Vec<u64>),
    /// One integer.
    Integer(u64),
    /// An object.
    Fields(Vec<(&'static str, Output)>),
}

impl Output {
    /// A number of rank 0, the numbers of rank 1, or rows.
    pub(super) fn of(tensor: Tensor) -> Output {
        match tensor.shape()[..] {
            [] => Output::Number(tensor.item()),
            [.., width] if tensor.rank() > 1 => Output::Rows(width, tensor.to_vec()),
            _ => Output::Numbers(tensor.to_vec()),
        }
    }

    /// Whether JSON has a word for every number.
    pub(crate) fn check_finite(&self) -> Result<(), Failure> {
        let numbers = match self {
            Output::Number(number) => std::slice::from_ref(number),
            Output::Numbers(numbers) | Output::Rows(_, numbers) => numbers,
            Output::Integers(_) | Output::Integer(_) => &[],
            Output::Fields(fields) => return fields.iter().try_for_each(|(_, field)| field.check_finite()),
        };
        match numbers.iter().position(|number| !number.is_finite()) {
            None => Ok(()),
            Some(k) => Err(Failure::new(format!("the result is not finite: number {k} of it is {}", numbers[k]))),
        }
    }
}

impl Serialize for Output {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Output::Number(number) => finite(*number)?.serialize(serializer),
            Output::Numbers(numbers) => numbers_of(numbers, serializer),
            Output::Rows(width, numbers) => {
                let rows = numbers.len().checked_div(*width).unwrap_or(0);
                let mut list = serializer.serialize_seq(Some(rows))?;
                for row in numbers.chunks_exact((*width).max(1)) {
                    list.serialize_element(&Row(row))?;
                }
                list.end()
            }
            Output::Integers(integers) => integers.serialize(serializer),
            Output::Integer(integer) => integer.serialize(serializer),
            Output::Fields(fields) => {
                let mut object = serializer.serialize_map(Some(fields.len()))?;
                for (name, field) in fields {
                    object.serialize_entry(name, field)?;
                }
                object.end()
            }
        }
    }
}

struct Row<'a>(&'a [f64]);

impl Serialize for Row<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        numbers_of(self.0, serializer)
    }
}

fn numbers_of<S: Serializer>(numbers: &[f64], serializer: S) -> Result<S::Ok, S::Error> {
    let mut list = serializer.serialize_seq(Some(numbers.len()))?;
    for &number in numbers {
        list.serialize_element(&finite(number).map_err(|why: serde_json::Error| S::Error::custom(why))?)?;
    }
    list.end()
}

/// The library of JSON writes `null` for a number that is not finite, which is strict and wrong.
fn finite<E: serde::ser::Error>(number: f64) -> Result<f64, E> {
    if number.is_finite() { Ok(number) } else { Err(E::custom(format!("{number} has no JSON"))) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_survive_the_way_through_json() {
        let numbers = vec![0.1, -1.0 / 3.0, f64::MAX, f64::MIN_POSITIVE, 5e-324, -0.0, 1e22, 9_007_199_254_740_993.0];
        let text = serde_json::to_string(&Output::Numbers(numbers.clone())).unwrap();
        let back: Vec<f64> = serde_json::from_str(&text).unwrap();
        assert!(back.iter().zip(&numbers).all(|(x, y)| x.to_bits() == y.to_bits()), "{text}");
    }

    #[test]
    fn rows_and_objects_are_written_as_such() {
        let check = |output: Output, want: &str| assert_eq!(serde_json::to_string(&output).unwrap(), want);
        check(Output::Rows(2, vec![1.0, 2.0, 3.0, 4.5]), "[[1.0,2.0],[3.0,4.5]]");
        check(Output::Rows(3, vec![]), "[]");
        check(Output::Rows(0, vec![]), "[]");
        let fields = vec![("a", Output::Integer(3)), ("b", Output::Integers(vec![1, 2]))];
        check(Output::Fields(fields), r#"{"a":3,"b":[1,2]}"#);
    }

    #[test]
    fn what_is_not_finite_is_never_written() {
        for number in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            for output in [Output::Number(number), Output::Numbers(vec![1.0, number]), Output::Rows(1, vec![number])] {
                let output = Output::Fields(vec![("x", output)]);
                assert!(output.check_finite().is_err() && serde_json::to_string(&output).is_err());
            }
        }
    }
}
