//! The functions of models: values against loops, derivatives against differences and golden files, edges, messages.

mod attention;
mod golden;
mod interpolate;
mod layer;
mod layers;
mod loss;
mod mapped;
mod normalise;
mod softmax;
pub(crate) mod support;
