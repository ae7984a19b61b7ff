//! Functions of the eigenvalues and singular values of matrices.
//!
//! A matrix stands in the last two axes of an operand; the axes before are a batch, each matrix of which is a problem of its
//! own. Definitions compute in double precision and round once.

pub(crate) mod plain;
mod spectral;
mod spectral_core;
mod spectral_frame;
mod spectral_function;
mod spectral_series;
mod spectral_sum;
mod spectral_values;

pub use spectral::SpectralMap;
pub use spectral_frame::{SpectralFrame, SpectralVectors, Spectrum};
pub use spectral_function::{Part, SpectralFunction};
pub use spectral_sum::SpectralSum;
pub use spectral_values::{SpectralCombination, SpectralForm, SpectralValues};

use super::einsum::{rounded, widened};

/// The place of a matrix in its batch, for errors.
pub(super) fn in_batch(lead: &[usize], k: usize) -> String {
    if lead.is_empty() {
        return String::new();
    }
    let mut rest = k;
    let mut index: Vec<String> = Vec::with_capacity(lead.len());
    for length in lead.iter().rev() {
        index.push((rest % length).to_string());
        rest /= length;
    }
    index.reverse();
    format!(" (matrix [{}])", index.join(", "))
}
