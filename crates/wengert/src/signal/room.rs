//! Memory for what is as long as a caller says: an error where there is none, instead of the end of the process.

use std::panic::Location;

use wengert_kernels::arena::check_room_for;

use crate::error::{Error, ErrorKind};
use crate::tensor::Tensor;

/// Bytes from on which the allocator is asked: fewer it has.
const LARGE: usize = 1 << 26;

/// Whether there is memory for this many elements of this many bytes: memory and swap space together are as large, and the
/// allocator gives them.
pub(super) fn fits(count: usize, bytes: usize) -> bool {
    let enough = |bytes: usize| {
        check_room_for(bytes).is_ok() && (bytes < LARGE || Vec::<u8>::new().try_reserve_exact(bytes).is_ok())
    };
    count.checked_mul(bytes).is_some_and(enough)
}

/// The values at 0, 1, …, this many; `None` if there is no memory for them.
pub(super) fn numbers(count: usize, value: impl Fn(usize) -> f64) -> Option<Vec<f64>> {
    fits(count, size_of::<f64>()).then(|| (0..count).map(value).collect())
}

/// Where the samples of each of so many pieces lie, which are this far apart: `[pieces, length]`; `None` if there is no memory
/// for that.
pub(super) fn places(count: usize, length: usize, hop: usize) -> Option<Tensor> {
    count.checked_mul(length).filter(|&all| fits(all, size_of::<i64>()))?;
    let places = (0..count).flat_map(|piece| (0..length).map(move |j| (piece * hop + j) as i64));
    Some(Tensor::from_vec(&[count, length], places.collect()))
}

/// The error of what does not fit, of the function that the user called.
#[track_caller]
pub(super) fn no_room<T>(name: &str, operands: &[&Tensor], what: &str) -> Result<T, Error> {
    let error = Error::new(ErrorKind::Unavailable, name, format!("there is no memory for {what}")).of_memory();
    Err(error.of(operands.iter().map(|operand| operand.ty())).at(Some(Location::caller())))
}
