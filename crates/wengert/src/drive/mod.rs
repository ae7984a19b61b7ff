//! What every driver does with leaves of each kind: [`Leaf`](crate::Leaf) and [`Drive`](crate::leaf::Drive) for plain
//! numbers, variables and tensors.
//!
//! Numbers and variables are swept on the tape, tensors become Programs; the drivers in [`crate::api`] ask the leaf.

mod scalar;
#[cfg(feature = "arrays")]
mod tensor;

#[cfg(feature = "argmin")]
pub(crate) use scalar::recorded_value;
pub(crate) use scalar::{compute, inputs_of, recorded_gradient, run_recorded, run_thinned};
#[cfg(feature = "arrays")]
pub(crate) use tensor::{
    FrozenLeaf, Inputs, check_leaves, record_loss, record_loss_with, record_with, try_record_loss_with,
};

/// The next of the results that an algorithm gave.
pub(crate) fn next<S>(results: &mut std::vec::IntoIter<S>) -> S {
    results.next().expect("an algorithm gives as many numbers as its driver takes")
}
