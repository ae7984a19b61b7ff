//! What a command has found out, ready to be shown: one plain value for every output format.

use serde::{Serialize, Serializer};

use crate::differences::Verdict;

/// The result of a command.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Report {
    /// The program as it was given.
    pub(crate) program: String,
    /// The names of the inputs, for columns: those of an array one by one.
    #[serde(skip)]
    pub(crate) input_labels: Vec<String>,
    /// The outputs in short, for rows: those of an array one by one.
    #[serde(skip)]
    pub(crate) output_labels: Vec<String>,
    /// The inputs and where they were taken.
    pub(crate) inputs: Vec<Named>,
    /// The outputs and their values.
    pub(crate) outputs: Vec<Output>,
    /// The derivative of the only output in each input.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) gradient: Option<Vec<Named>>,
    /// The derivatives along a direction.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) directional: Option<Directional>,
    /// A row for each output, a column for each input.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) jacobian: Option<Vec<Vec<Number>>>,
    /// The second derivatives of the only output.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) hessian: Option<Vec<Vec<Number>>>,
    /// Derivatives of higher order along a direction.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) series: Option<Series>,
    /// The comparison with differences.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) check: Option<Check>,
    /// Where values became NaN or infinite, and why.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) notes: Vec<String>,
    /// The Wengert list of the run, inputs first.
    pub(crate) list: Vec<Row>,
}

/// A name and a value.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Named {
    /// The name.
    pub(crate) name: String,
    /// The value.
    pub(crate) value: Value,
}

/// A number, or an array of them.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    /// A number.
    Number(Number),
    /// An array: its shape, and its elements in reading order.
    Array(Vec<usize>, Vec<Number>),
}

/// One output.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Output {
    /// Its expression, as written in the program.
    pub(crate) text: String,
    /// Its value.
    pub(crate) value: Value,
    /// Its row in the list; none if it is a constant, or made of several rows.
    pub(crate) row: Option<usize>,
}

impl Output {
    /// Its expression, cut if it is long: as the name of a row or of a column.
    pub(crate) fn label(&self) -> String {
        cut(&self.text)
    }
}

impl From<f64> for Value {
    fn from(value: f64) -> Self {
        Self::Number(Number(value))
    }
}

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Number(number) => number.serialize(serializer),
            Self::Array(shape, elements) => Nested { shape, elements }.serialize(serializer),
        }
    }
}

/// Elements of an array as lists of lists.
struct Nested<'a> {
    shape: &'a [usize],
    elements: &'a [Number],
}

impl Serialize for Nested<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.shape {
            [_, inner @ ..] if !inner.is_empty() => {
                let rows = self.elements.chunks(inner.iter().product());
                serializer.collect_seq(rows.map(|elements| Nested { shape: inner, elements }))
            }
            _ => serializer.collect_seq(self.elements),
        }
    }
}

impl Value {
    /// Elements of this shape: a number if there is none.
    pub(crate) fn of(shape: Option<&[usize]>, elements: &[f64]) -> Self {
        match shape {
            None => elements[0].into(),
            Some(shape) => Self::Array(shape.to_vec(), elements.iter().map(|element| Number(*element)).collect()),
        }
    }

    /// The elements; one if it is a number.
    pub(crate) fn elements(&self) -> &[Number] {
        match self {
            Self::Number(number) => std::slice::from_ref(number),
            Self::Array(_, elements) => elements,
        }
    }

    /// The shortest text that gives back the same numbers.
    pub(crate) fn exact(&self) -> String {
        self.written(Number::exact)
    }

    /// The same for a list: of many elements the first ones, and how many there are.
    pub(crate) fn listed(&self) -> String {
        self.beginning(LISTED, Number::exact)
    }

    /// Numbers to five significant digits, for labels of drawings.
    pub(crate) fn short(&self) -> String {
        self.beginning(DRAWN, Number::short)
    }

    fn beginning(&self, most: usize, number: fn(Number) -> String) -> String {
        match self {
            Self::Array(shape, elements) if elements.len() > most => {
                let first: Vec<String> = elements.iter().take(most / 2).map(|element| number(*element)).collect();
                let lengths: Vec<String> = shape.iter().map(usize::to_string).collect();
                format!("[{}, … {}]", first.join(", "), lengths.join("×"))
            }
            _ => self.written(number),
        }
    }

    fn written(&self, number: fn(Number) -> String) -> String {
        match self {
            Self::Number(value) => number(*value),
            Self::Array(shape, elements) => {
                let elements: Vec<String> = elements.iter().map(|element| number(*element)).collect();
                nested(shape, &elements)
            }
        }
    }
}

/// The most elements of an array in a list, and in a drawing.
const LISTED: usize = 12;
const DRAWN: usize = 6;

/// Elements in brackets, one pair for each axis.
pub(crate) fn nested(shape: &[usize], elements: &[String]) -> String {
    match shape {
        [_, inner @ ..] if !inner.is_empty() => {
            let rows = elements.chunks(inner.iter().product());
            format!("[{}]", rows.map(|row| nested(inner, row)).collect::<Vec<_>>().join(", "))
        }
        _ => format!("[{}]", elements.join(", ")),
    }
}

/// A text, cut if it is long.
pub(crate) fn cut(text: &str) -> String {
    match text.char_indices().nth(60) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// Derivatives along a direction.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Directional {
    /// The direction.
    pub(crate) direction: Vec<Named>,
    /// The derivative of each output.
    pub(crate) derivatives: Vec<Value>,
}

/// The Taylor series of every output along a direction.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Series {
    /// The direction.
    pub(crate) direction: Vec<Named>,
    /// For each output, its derivatives of order 0, 1, 2, …
    pub(crate) derivatives: Vec<Vec<Number>>,
    /// The same divided by the factorial of the order.
    pub(crate) coefficients: Vec<Vec<Number>>,
}

/// The comparison of derivatives with differences of values.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Check {
    /// Whether all of them agree.
    pub(crate) agrees: bool,
    /// What was compared.
    pub(crate) entries: Vec<CheckEntry>,
}

/// One derivative and its difference quotient.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct CheckEntry {
    /// Which derivative, such as `d/dx1`.
    pub(crate) name: String,
    /// The derivative.
    pub(crate) derivative: Number,
    /// The difference quotient.
    pub(crate) difference: Number,
    /// How far apart they may be: the error bound of the difference.
    pub(crate) tolerance: Number,
    /// Whether they agree.
    pub(crate) agrees: bool,
    /// What the differences say: that they agree, differ, or nothing.
    pub(crate) verdict: Verdict,
}

/// One row of the Wengert list.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Row {
    /// Its name: that of an input, of a version of a variable, or `v` and a number.
    pub(crate) name: String,
    /// What it is.
    pub(crate) kind: RowKind,
    /// The operation alone, such as `*`, `sin` or `^3`.
    pub(crate) operation: String,
    /// The operation with its operands, such as `x1 * a0`.
    pub(crate) text: String,
    /// The operands, left to right.
    pub(crate) operands: Vec<RowOperand>,
    /// The primal value.
    pub(crate) value: Value,
    /// The derivative of the output in this row.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) adjoint: Option<Value>,
    /// The derivative of this row along the direction.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) tangent: Option<Value>,
    /// The line of the program it comes from; none for an input.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) line: Option<usize>,
    /// Whether it is an output.
    pub(crate) output: bool,
}

/// Whether a row is an input or an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum RowKind {
    /// An input.
    Input,
    /// An operation.
    Operation,
}

/// One operand of a row.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct RowOperand {
    /// The row it comes from; none for a constant.
    pub(crate) row: Option<usize>,
    /// Its name, or the constant as text.
    pub(crate) name: String,
    /// The derivative of the row in this operand; none for a constant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) partial: Option<Number>,
    /// Whether the partial derivative is 1 whatever the values are, as that of a sum.
    #[serde(skip)]
    pub(crate) plain: bool,
    /// Whether an adjoint flows along it: not on the side of a `select` that was not chosen, nor
    /// in front of it, nor where nothing leads to an output.
    pub(crate) flows: bool,
}

/// A number, whole in every format: JSON has no NaN and no infinity, so these become text there.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Number(pub(crate) f64);

impl From<f64> for Number {
    fn from(value: f64) -> Self {
        Self(value)
    }
}

impl Serialize for Number {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.0.is_finite() { serializer.serialize_f64(self.0) } else { serializer.serialize_str(&self.exact()) }
    }
}

impl Number {
    /// The shortest text that gives back the same number.
    pub(crate) fn exact(self) -> String {
        let value = self.0;
        if value.is_infinite() {
            return if value > 0.0 { "inf".into() } else { "-inf".into() };
        }
        if value != 0.0 && (value.abs() >= 1e16 || value.abs() < 1e-5) {
            return format!("{value:e}");
        }
        format!("{value}")
    }

    /// The number to five significant digits, for labels of drawings.
    pub(crate) fn short(self) -> String {
        let value = self.0;
        if !value.is_finite() || value == 0.0 {
            return self.exact();
        }
        let rounded: f64 = format!("{value:.4e}").parse().unwrap_or(value);
        if rounded.abs() >= 1e6 || rounded.abs() < 1e-4 {
            return format!("{rounded:e}");
        }
        format!("{rounded}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_exact_or_short() {
        for (value, exact, short) in [
            (0.1 + 0.2, "0.30000000000000004", "0.3"),
            (-0.0, "-0", "-0"),
            (2.0, "2", "2"),
            (1e300, "1e300", "1e300"),
            (1.234_567_8e-7, "1.2345678e-7", "1.2346e-7"),
            (123_456.0, "123456", "123460"),
            (f64::NAN, "NaN", "NaN"),
            (f64::NEG_INFINITY, "-inf", "-inf"),
        ] {
            assert_eq!(Number(value).exact(), exact);
            assert_eq!(Number(value).short(), short);
        }
    }

    #[test]
    fn json_keeps_numbers_that_json_lacks() {
        let numbers = [Number(1.5), Number(f64::NAN), Number(f64::INFINITY)];
        let text = serde_json::to_string(&numbers).expect("numbers can be written");
        assert_eq!(text, r#"[1.5,"NaN","inf"]"#);
    }
}
