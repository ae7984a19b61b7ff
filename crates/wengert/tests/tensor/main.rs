//! Tensors outside a recording: values, shapes and messages.

mod elementwise;
mod reduce;
