//! The options of operations in the text form of a Program: `slice[start=[0,1], limit=[2,3]]`.

use std::fmt;
use std::sync::Arc;

use super::Literal;
use crate::array::DType;
use crate::program::Program;

/// The value of an option.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Attribute {
    /// A count, axis or integer.
    Integer(i64),
    /// A word or a sign.
    Word(String),
    /// Several integers.
    Integers(Vec<i64>),
    /// Several lists of integers.
    Lists(Vec<Vec<i64>>),
    /// A number with its type.
    Literal(Literal),
    /// A Program.
    Program(Arc<Program>),
}

/// Options by name, in the order in which they are printed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Attributes(pub(crate) Vec<(&'static str, Attribute)>);

impl Attributes {
    /// With one more option.
    pub(crate) fn with(mut self, name: &'static str, value: impl Into<Attribute>) -> Self {
        self.0.push((name, value.into()));
        self
    }
}

impl From<usize> for Attribute {
    fn from(value: usize) -> Self {
        Attribute::Integer(value as i64)
    }
}

impl From<i64> for Attribute {
    fn from(value: i64) -> Self {
        Attribute::Integer(value)
    }
}

impl From<&str> for Attribute {
    fn from(value: &str) -> Self {
        Attribute::Word(value.to_owned())
    }
}

impl From<String> for Attribute {
    fn from(value: String) -> Self {
        Attribute::Word(value)
    }
}

impl From<bool> for Attribute {
    fn from(value: bool) -> Self {
        Attribute::Word(value.to_string())
    }
}

impl From<DType> for Attribute {
    fn from(value: DType) -> Self {
        Attribute::Word(value.name().to_owned())
    }
}

impl From<&[usize]> for Attribute {
    fn from(values: &[usize]) -> Self {
        Attribute::Integers(values.iter().map(|&value| value as i64).collect())
    }
}

impl From<&[i64]> for Attribute {
    fn from(values: &[i64]) -> Self {
        Attribute::Integers(values.to_vec())
    }
}

impl From<Vec<Vec<i64>>> for Attribute {
    fn from(values: Vec<Vec<i64>>) -> Self {
        Attribute::Lists(values)
    }
}

impl From<Literal> for Attribute {
    fn from(value: Literal) -> Self {
        Attribute::Literal(value)
    }
}

impl From<&Arc<Program>> for Attribute {
    fn from(value: &Arc<Program>) -> Self {
        Attribute::Program(Arc::clone(value))
    }
}

fn list<T: fmt::Display>(f: &mut fmt::Formatter<'_>, values: &[T]) -> fmt::Result {
    f.write_str("[")?;
    for (k, value) in values.iter().enumerate() {
        write!(f, "{}{value}", if k == 0 { "" } else { "," })?;
    }
    f.write_str("]")
}

impl fmt::Display for Attribute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Attribute::Integer(value) => write!(f, "{value}"),
            Attribute::Word(word) => f.write_str(word),
            Attribute::Integers(values) => list(f, values),
            Attribute::Lists(lists) => {
                f.write_str("[")?;
                for (k, values) in lists.iter().enumerate() {
                    f.write_str(if k == 0 { "" } else { "," })?;
                    list(f, values)?;
                }
                f.write_str("]")
            }
            // The shortest digits that read back as the same number.
            Attribute::Literal(Literal::Bool(x)) => write!(f, "{x}"),
            Attribute::Literal(Literal::I64(x)) => write!(f, "{x}i64"),
            Attribute::Literal(Literal::F32(x)) => write!(f, "{x:?}f32"),
            Attribute::Literal(Literal::F64(x)) => write!(f, "{x:?}f64"),
            Attribute::Program(program) => write!(f, "{program}"),
        }
    }
}
