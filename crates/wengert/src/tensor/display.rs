//! Printing, as NumPy prints: nested brackets, aligned columns, the middle of what is large left out.

use std::fmt::{self, Write as _};
use std::panic::Location;

use super::{Tensor, graph};
use crate::array::{Array, DType, Data, row_major};

/// Arrays with more elements are summarised.
const LARGE: usize = 1000;
/// How many elements at either end of an axis a summary shows.
const EDGE: usize = 3;
/// How many digits after the point at most.
const DIGITS: usize = 8;

/// The numbers in nested brackets with 8 digits after the point at most; above 1000 elements only
/// the ends of each axis. In a recording the operations before are run for it, where that is
/// possible; else the type is printed.
///
/// ```
/// use wengert::prelude::*;
/// let x = Tensor::from([[1.0, 2.5], [-3.0, 4.0]]);
/// assert_eq!(x.to_string(), "[[ 1.0  2.5]\n [-3.0  4.0]]");
/// ```
impl fmt::Display for Tensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match graph::force(self, Location::caller()) {
            Ok(array) => write(f, &array, Style { separator: "", indent: 0 }),
            Err(_) => fmt::Debug::fmt(self, f),
        }
    }
}

/// As [`Display`](fmt::Display) with commas and the element type, unless it is the usual one; a
/// recorded tensor is not computed for it.
impl fmt::Debug for Tensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(traced) = self.as_traced() {
            return write!(f, "Tensor({}, recorded as {})", traced.ty, traced.value);
        }
        let Some(array) = self.known() else { return Ok(()) };
        f.write_str("Tensor(")?;
        write(f, array, Style { separator: ",", indent: "Tensor(".len() })?;
        if array.size() == 0 {
            write!(f, ", shape {:?}", self.shape())?;
        }
        if self.dtype() == DType::F32 || (array.size() == 0 && self.dtype() != DType::F64) {
            write!(f, ", {}", self.dtype())?;
        }
        f.write_char(')')
    }
}

#[derive(Clone, Copy)]
struct Style {
    separator: &'static str,
    /// Columns before the outermost bracket.
    indent: usize,
}

/// The positions that are shown along an axis; `None` where some are left out.
fn shown(length: usize, summarised: bool) -> Vec<Option<usize>> {
    if !summarised || length <= 2 * EDGE {
        return (0..length).map(Some).collect();
    }
    (0..EDGE).map(Some).chain([None]).chain((length - EDGE..length).map(Some)).collect()
}

/// The positions of the elements that are shown.
fn shown_elements(shape: &[usize], summarised: bool) -> Vec<usize> {
    let strides = row_major(shape);
    shape.iter().zip(strides).fold(vec![0], |places, (&length, stride)| {
        let along: Vec<usize> = shown(length, summarised).into_iter().flatten().collect();
        places.iter().flat_map(|place| along.iter().map(move |k| place + k * stride)).collect()
    })
}

fn write(f: &mut fmt::Formatter<'_>, array: &Array, style: Style) -> fmt::Result {
    if array.size() == 0 {
        return f.write_str("[]");
    }
    let summarised = array.size() > LARGE;
    let mut texts = texts(array, &shown_elements(array.shape(), summarised)).into_iter();
    if array.shape().is_empty() {
        return f.write_str(&texts.next().unwrap_or_default());
    }
    brackets(f, array.shape(), 1, summarised, style, &mut texts)
}

/// One level of brackets and what is inside; `depth` brackets are open with this one.
fn brackets(
    f: &mut fmt::Formatter<'_>,
    shape: &[usize],
    depth: usize,
    summarised: bool,
    style: Style,
    texts: &mut impl Iterator<Item = String>,
) -> fmt::Result {
    f.write_char('[')?;
    for (k, place) in shown(shape[0], summarised).into_iter().enumerate() {
        let inner = shape.len() > 1;
        if k > 0 {
            f.write_str(style.separator)?;
            match inner {
                // An empty line for every axis beyond the matrix.
                true => write!(f, "{}{:2$}", "\n".repeat(shape.len() - 1), "", style.indent + depth)?,
                false => f.write_char(' ')?,
            }
        }
        match place {
            None => f.write_str("...")?,
            Some(_) if inner => brackets(f, &shape[1..], depth + 1, summarised, style, texts)?,
            Some(_) => f.write_str(&texts.next().unwrap_or_default())?,
        }
    }
    f.write_char(']')
}

/// The elements at these places as texts of one width.
fn texts(array: &Array, places: &[usize]) -> Vec<String> {
    let texts: Vec<String> = match array.data() {
        Data::Bool(x) => places.iter().map(|&k| x[k].to_string()).collect(),
        Data::I64(x) => places.iter().map(|&k| x[k].to_string()).collect(),
        // In single precision the shortest digits are those of an f32, not those of its f64.
        Data::F32(x) => reals(&places.iter().map(|&k| x[k]).collect::<Vec<f32>>(), f64::from),
        Data::F64(x) => reals(&places.iter().map(|&k| x[k]).collect::<Vec<f64>>(), |x| x),
    };
    let width = texts.iter().map(String::len).max().unwrap_or(0);
    texts.into_iter().map(|text| format!("{text:>width$}")).collect()
}

/// Real numbers with as many digits as the one that needs most, or all with exponents.
fn reals<T: Copy + fmt::Display + fmt::LowerExp>(x: &[T], wide: impl Fn(T) -> f64) -> Vec<String> {
    let sizes = || x.iter().map(|&x| wide(x).abs()).filter(|x| x.is_finite() && *x > 0.0);
    let (largest, smallest) = (sizes().fold(0.0, f64::max), sizes().fold(f64::INFINITY, f64::min));
    let exponents = largest >= 1e8 || smallest < 1e-4 || largest > 1e3 * smallest && smallest < 1e-2;
    let fraction = |text: &str| {
        let mantissa = text.split('e').next().unwrap_or(text);
        mantissa.split_once('.').map_or(0, |(_, digits)| digits.len())
    };
    let needed = |&x: &T| match wide(x).is_finite() {
        true if exponents => fraction(&format!("{x:e}")).min(DIGITS),
        // Digits that rounding to the most digits leaves as zeros are not needed.
        true => fraction(format!("{x:.DIGITS$}").trim_end_matches('0')).min(fraction(&x.to_string())),
        false => 0,
    };
    let digits = x.iter().map(needed).max().unwrap_or(0).max(1);
    let text = |&x: &T| match wide(x) {
        number if number.is_nan() => "nan".to_owned(),
        number if number.is_infinite() => x.to_string(),
        _ if exponents => format!("{x:.digits$e}"),
        _ => format!("{x:.digits$}"),
    };
    x.iter().map(text).collect()
}
