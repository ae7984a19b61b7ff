//! Memory for what is as long as a caller says: an error where there is none, instead of the end of the process.

use std::panic::Location;

use crate::array::has_room;
use crate::error::{Error, ErrorKind};
use crate::tensor::Tensor;

/// The values at 0, 1, …, this many; `None` if there is no memory for them.
pub(super) fn numbers(count: usize, value: impl Fn(usize) -> f64) -> Option<Vec<f64>> {
    has_room(count, size_of::<f64>()).then(|| (0..count).map(value).collect())
}

/// Where the samples of each piece lie, if pieces of this length begin `hop` samples apart: `[count, length]`; `None` if there is no
/// memory for that.
pub(super) fn places(count: usize, length: usize, hop: usize) -> Option<Tensor> {
    count.checked_mul(length).filter(|&all| has_room(all, size_of::<i64>()))?;
    let places = (0..count).flat_map(|piece| (0..length).map(move |j| (piece * hop + j) as i64));
    Some(Tensor::from_vec(&[count, length], places.collect()))
}

/// The error of what does not fit, of the function that the user called.
#[track_caller]
pub(super) fn no_room<T>(name: &str, operands: &[&Tensor], what: &str) -> Result<T, Error> {
    let error = Error::new(ErrorKind::Unavailable, name, format!("there is no memory for {what}")).of_memory();
    Err(error.of(operands.iter().map(|operand| operand.ty())).at(Some(Location::caller())))
}
