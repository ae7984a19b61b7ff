//! The command as its users run it, in one binary.

mod arrays;
mod command;
mod plans;
mod vectors;
