//! The options of operations in the text form of a Program: `slice[start=[0,1], limit=[2,3]]`.

use std::fmt;
use std::sync::Arc;

use super::Literal;
use crate::array::DType;
use crate::program::Program;

/// The value of an option.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Attribute {
    /// A count, axis or integer: every `usize` and every `i64`.
    Integer(i128),
    /// A word or a sign.
    Word(String),
    /// Several integers.
    Integers(Vec<i128>),
    /// Several lists of integers.
    Lists(Vec<Vec<i128>>),
    /// A number with its type.
    Literal(Literal),
    /// A Program.
    Program(Arc<Program>),
    /// Several Programs.
    Programs(Vec<Arc<Program>>),
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
        Attribute::Integer(value as i128)
    }
}

impl From<i64> for Attribute {
    fn from(value: i64) -> Self {
        Attribute::Integer(i128::from(value))
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
        Attribute::Integers(values.iter().map(|&value| value as i128).collect())
    }
}

impl From<&[i64]> for Attribute {
    fn from(values: &[i64]) -> Self {
        Attribute::Integers(values.iter().copied().map(i128::from).collect())
    }
}

impl From<Vec<Vec<i64>>> for Attribute {
    fn from(values: Vec<Vec<i64>>) -> Self {
        let list = |values: Vec<i64>| values.into_iter().map(i128::from).collect();
        Attribute::Lists(values.into_iter().map(list).collect())
    }
}

impl From<Literal> for Attribute {
    fn from(value: Literal) -> Self {
        Attribute::Literal(value)
    }
}

impl From<&[Arc<Program>]> for Attribute {
    fn from(value: &[Arc<Program>]) -> Self {
        Attribute::Programs(value.to_vec())
    }
}

impl From<&Arc<Program>> for Attribute {
    fn from(value: &Arc<Program>) -> Self {
        Attribute::Program(Arc::clone(value))
    }
}

/// Whether a word can be told from every other value without quotes.
fn is_bare(word: &str) -> bool {
    let mut letters = word.chars();
    let begins = letters.next().is_some_and(|first| first.is_ascii_alphabetic() || first == '_');
    let goes_on = letters.all(|letter| letter.is_ascii_alphanumeric() || letter == '_');
    begins && goes_on && !matches!(word, "inf" | "NaN" | "program")
}

/// The shortest digits that read back as the same number, with the type behind them: `1.5f64`. What is not finite is
/// a word, with a space before the type: `-inf f64`. NaN keeps its sign and not its payload.
impl fmt::Display for Literal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let dtype = self.dtype();
        let sign = |negative: bool| if negative { "-" } else { "" };
        match *self {
            Literal::Bool(x) => write!(f, "{x}"),
            Literal::I64(x) => write!(f, "{x}{dtype}"),
            Literal::F32(x) if x.is_nan() => write!(f, "{}NaN {dtype}", sign(x.is_sign_negative())),
            Literal::F64(x) if x.is_nan() => write!(f, "{}NaN {dtype}", sign(x.is_sign_negative())),
            Literal::F32(x) if x.is_infinite() => write!(f, "{x} {dtype}"),
            Literal::F64(x) if x.is_infinite() => write!(f, "{x} {dtype}"),
            Literal::F32(x) => write!(f, "{x:?}{dtype}"),
            Literal::F64(x) => write!(f, "{x:?}{dtype}"),
        }
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
            Attribute::Word(word) if is_bare(word) => f.write_str(word),
            Attribute::Word(word) => write!(f, "{word:?}"),
            Attribute::Integers(values) => list(f, values),
            Attribute::Lists(lists) => {
                f.write_str("[")?;
                for (k, values) in lists.iter().enumerate() {
                    f.write_str(if k == 0 { "" } else { "," })?;
                    list(f, values)?;
                }
                f.write_str("]")
            }
            Attribute::Literal(literal) => write!(f, "{literal}"),
            Attribute::Program(program) => write!(f, "{program}"),
            Attribute::Programs(programs) => list(f, programs),
        }
    }
}
