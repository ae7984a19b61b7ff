//! Wengert.
#![forbid(unsafe_code)]
