//! Sparse derivatives: patterns, colourings and evaluations, in units of one evaluation of the function.

mod arrays;

/// Measures all.
pub(crate) fn run() {
    arrays::run();
}
