//! All prefixes of an associative function, many rows at once.
//!
//! Source of the method: R. E. Ladner and M. J. Fischer, *Parallel prefix computation* (1980).

use super::{all_rows, error, misfit_of};
use crate::array::Type;
use crate::control::Rows;
use crate::control::numbers::OTHER_ROW;
use crate::error::{Error, ErrorKind, Line};
use crate::primitives;
use crate::tensor::Tensor;
use crate::tensor::derived::{Transformation, apply};
use crate::tensor::graph::{self, Closed, Reading};
use crate::tensor::level::{ArrayLevel, Mapped};
use crate::tree::{Structure, leaves};

/// See [`crate::associative_scan`].
#[track_caller]
pub(super) fn run<X: Rows<Tensor>>(
    line: Line,
    xs: &X,
    f: impl Fn(X::Row, X::Row) -> X::Row,
) -> Result<X::Prefixes, Error> {
    let rows = all_rows(xs);
    let length = xs.count().map_err(|why| misfit_of("associative_scan", why, &rows, line))?;
    let level = ArrayLevel::open("associative_scan", Reading::Lanes);
    let [x, y] = [(); 2].map(|()| {
        let mut sliced = rows.iter();
        xs.row(&mut || level.input(sliced.next().expect("one per leaf"), &Mapped::Slice(0)))
    });
    let structure = Structure::of(&x);
    let combined = f(x, y);
    let closed = level.close(&leaves(&combined))?;
    let before: Vec<Type> = closed.program.input_types()[..rows.len()].to_vec();
    let after = closed.program.output_types();
    if before != after {
        let list = |types: &[Type]| types.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        let why = format!("it takes rows ({}), and combines two to ({})", list(&before), list(&after));
        return Err(error("associative_scan", ErrorKind::Misfit, why, line));
    }
    if structure.compared() != Structure::of(&combined).compared() {
        return Err(error("associative_scan", ErrorKind::Misfit, OTHER_ROW.to_owned(), line));
    }
    Ok(xs.prefixes(prefixes(&closed, &rows, length, line)?))
}

/// The prefixes of these rows.
#[track_caller]
fn prefixes(closed: &Closed, rows: &[Tensor], length: usize, line: Line) -> Result<Vec<Tensor>, Error> {
    if length < 2 {
        return Ok(rows.to_vec());
    }
    let (pairs, single) = (length / 2, length % 2);
    let strided = |from: usize, count: usize| -> Result<Vec<Tensor>, Error> {
        rows.iter().map(|array| part(array, from, from + 2 * count - 1, 2)).collect()
    };
    // Those of the pairs are every second one of the result; the others are one row more.
    let combined = combined(closed, &strided(0, pairs)?, &strided(1, pairs)?, pairs, line)?;
    let odd = prefixes(closed, &combined, pairs, line)?;
    let more = pairs + single - 1;
    let mut even: Vec<Tensor> = rows.iter().map(|array| part(array, 0, 1, 1)).collect::<Result<_, Error>>()?;
    if more > 0 {
        let before: Vec<Tensor> = odd.iter().map(|array| part(array, 0, more, 1)).collect::<Result<_, Error>>()?;
        let after = self::combined(closed, &before, &strided(2, more)?, more, line)?;
        even = even.iter().zip(&after).map(|(first, rest)| Tensor::concat(&[first, rest], 0)).collect();
    }
    even.iter().zip(&odd).map(|(even, odd)| interleaved(even, odd)).collect()
}

/// Two rows at a time become one.
#[track_caller]
fn combined(closed: &Closed, x: &[Tensor], y: &[Tensor], length: usize, line: Line) -> Result<Vec<Tensor>, Error> {
    let point: Vec<Tensor> = x.iter().chain(y).cloned().collect();
    let (axes, places) = (vec![Some(0); point.len()], vec![Some(0); closed.program.outputs().len()]);
    let what = Transformation::Mapped { axes, length, places };
    apply("associative_scan", what, closed, &point, &[]).map_err(|error| error.at(Some(line)))
}

/// Every n-th row of a range.
#[track_caller]
fn part(array: &Tensor, from: usize, to: usize, stride: usize) -> Result<Tensor, Error> {
    let mut slice = primitives::Slice::along(array.shape(), 0, from, to);
    slice.stride[0] = stride;
    Ok(graph::apply(slice, &[array])?.remove(0))
}

/// Rows of the first and of the second in turn; the first may have one more.
#[track_caller]
fn interleaved(even: &Tensor, odd: &Tensor) -> Result<Tensor, Error> {
    let (pairs, rest) = (odd.shape()[0], even.shape()[0]);
    let paired = Tensor::stack(&[&part(even, 0, pairs, 1)?, odd], 1);
    let shape: Vec<usize> = std::iter::once(2 * pairs).chain(odd.shape()[1..].iter().copied()).collect();
    let paired = graph::apply(primitives::Reshape::new(&shape), &[&paired])?.remove(0);
    if rest == pairs {
        return Ok(paired);
    }
    Ok(Tensor::concat(&[&paired, &part(even, pairs, rest, 1)?], 0))
}
