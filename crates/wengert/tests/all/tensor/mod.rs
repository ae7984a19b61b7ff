//! Tensors outside a recording: values, shapes and messages.

mod conventions;
mod display;
mod elementwise;
mod index;
mod linalg;
mod ndarray;
mod reduce;
mod search;
mod shape;
mod sizes;
