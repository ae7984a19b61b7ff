//! Tensors outside a recording: values, shapes and messages.

mod display;
mod elementwise;
mod index;
mod linalg;
mod reduce;
mod shape;
