//! Program to Program with the same values, cheaper.

mod dce;

pub(crate) use dce::dce;
