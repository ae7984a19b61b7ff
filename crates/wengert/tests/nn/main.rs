//! The functions of models: values against loops, derivatives against differences and golden files, edges, messages.

mod loss;
mod softmax;
mod support;
