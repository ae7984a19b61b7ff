//! `map`, many rows at once: a loop over batches of rows, whose step is mapped over the rows of a batch.

use std::sync::Arc;

use super::Loop;
use crate::control::Scan;
use crate::error::{Error, Line};
use crate::primitives;
use crate::tensor::Tensor;
use crate::tensor::derived::{Transformation, apply};
use crate::tensor::graph::{self, Closed};
use crate::transform;

/// The results of a recorded function of one row, of which there are some, stacked.
#[track_caller]
pub(super) fn run(
    closed: Closed,
    rows: &[Tensor],
    (length, batch): (usize, usize),
    line: Line,
) -> Result<Vec<Tensor>, Error> {
    let whole = length / batch * batch;
    let taken = |from: usize, to: usize| -> Result<Vec<Tensor>, Error> {
        rows.iter().map(|array| part(array, from, to)).collect()
    };
    if length <= batch {
        return at_once(&closed, rows, length, line);
    }
    let rest = match length - whole {
        0 => None,
        left => Some(at_once(&closed, &taken(whole, length)?, left, line)?),
    };
    let first = taken(0, whole)?;
    let results = match whole / batch {
        1 => at_once(&closed, &first, batch, line)?,
        blocks => in_blocks(closed, &first, (blocks, batch), line)?,
    };
    Ok(match rest {
        None => results,
        Some(rest) => results.iter().zip(&rest).map(|(first, rest)| Tensor::concat(&[first, rest], 0)).collect(),
    })
}

/// All of these rows at once.
#[track_caller]
fn at_once(closed: &Closed, rows: &[Tensor], length: usize, line: Line) -> Result<Vec<Tensor>, Error> {
    let (axes, places) = (vec![Some(0); rows.len()], vec![Some(0); closed.program.outputs().len()]);
    let what = Transformation::Mapped { axes, length, places };
    apply("map", what, closed, rows, &[]).map_err(|error| error.at(Some(line)))
}

/// This many batches of rows, one after the other.
#[track_caller]
fn in_blocks(
    closed: Closed,
    rows: &[Tensor],
    (blocks, batch): (usize, usize),
    line: Line,
) -> Result<Vec<Tensor>, Error> {
    let (axes, places) = (vec![Some(0); rows.len()], vec![Some(0); closed.program.outputs().len()]);
    let program = transform::mapped(&closed.program, &axes, batch, &places).map_err(|error| error.at(Some(line)))?;
    let closed = Closed { program: Arc::new(program), ..closed };
    let blocked = |array: &Tensor| reshaped(array, [&[blocks, batch], &array.shape()[1..]].concat());
    let rows: Vec<Tensor> = rows.iter().map(blocked).collect::<Result<_, Error>>()?;
    let results = Loop { closed, length: blocks, carry: 0, options: Scan::new() }.run(&[], &rows, line)?;
    let joined = |array: &Tensor| reshaped(array, [&[blocks * batch], &array.shape()[2..]].concat());
    results.iter().map(joined).collect()
}

/// Rows of a range; all as they are.
#[track_caller]
fn part(array: &Tensor, from: usize, to: usize) -> Result<Tensor, Error> {
    if (from, to) == (0, array.shape()[0]) {
        return Ok(array.clone());
    }
    Ok(graph::apply(primitives::Slice::along(array.shape(), 0, from, to), &[array])?.remove(0))
}

#[track_caller]
fn reshaped(array: &Tensor, shape: Vec<usize>) -> Result<Tensor, Error> {
    Ok(graph::apply(primitives::Reshape::new(&shape), &[array])?.remove(0))
}
