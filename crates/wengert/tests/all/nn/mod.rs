//! The functions of models: values against loops, derivatives against differences and golden files, edges, messages.

mod attention;
mod golden;
mod interpolate;
mod layer;
#[cfg(feature = "derive")]
mod layers;
mod loss;
mod mapped;
mod normalise;
mod softmax;
pub(crate) mod support;
