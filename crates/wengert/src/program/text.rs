//! The text form of a [`Program`]; [`parse`](super::parse) reads it back.
//!
//! ```text
//! program(v0 "x": f64[3], v1: f64[]) {
//!   v2: f64[2] = slice[start=[0], limit=[2], stride=[1]] v0
//!   v3: f64[] = sum[axes=[0]] v2
//!   return v3 v1
//! }
//! ```
//!
//! A value is named by its number. Every result carries its type. The options of an operation stand in brackets
//! behind its name; a Program among them is printed like one, further to the right.

use std::fmt;

use super::Program;
use crate::primitives::Attribute;

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_program(self, f, 0)
    }
}

/// A Program in text, for one that stands in it: `depth` levels to the right.
fn write_program(program: &Program, f: &mut fmt::Formatter<'_>, depth: usize) -> fmt::Result {
    let indent = "  ".repeat(depth);
    f.write_str("program(")?;
    for (k, (input, name)) in program.inputs().zip(program.input_names()).enumerate() {
        f.write_str(if k == 0 { "" } else { ", " })?;
        match name.as_str() {
            "" => write!(f, "{input}: {}", program.ty(input))?,
            name => write!(f, "{input} {name:?}: {}", program.ty(input))?,
        }
    }
    f.write_str(") {\n")?;
    for eqn in program.eqns() {
        write!(f, "{indent}  ")?;
        for (k, out) in eqn.outs().enumerate() {
            write!(f, "{}{out}: {}", if k == 0 { "" } else { ", " }, program.ty(out))?;
        }
        write!(f, "{}= {}", if eqn.results == 0 { "" } else { " " }, eqn.op.name())?;
        write_options(&eqn.op.attributes().0, f, depth + 1)?;
        for arg in &eqn.args {
            write!(f, " {arg}")?;
        }
        f.write_str("\n")?;
    }
    write!(f, "{indent}  return")?;
    for output in program.outputs() {
        write!(f, " {output}")?;
    }
    write!(f, "\n{indent}}}")
}

fn write_options(options: &[(&str, Attribute)], f: &mut fmt::Formatter<'_>, depth: usize) -> fmt::Result {
    for (k, (name, value)) in options.iter().enumerate() {
        write!(f, "{}{name}=", if k == 0 { "[" } else { ", " })?;
        match value {
            Attribute::Program(program) => write_program(program, f, depth)?,
            Attribute::Programs(programs) => {
                for (k, program) in programs.iter().enumerate() {
                    f.write_str(if k == 0 { "[" } else { ", " })?;
                    write_program(program, f, depth)?;
                }
                f.write_str("]")?;
            }
            value => write!(f, "{value}")?,
        }
    }
    f.write_str(if options.is_empty() { "" } else { "]" })
}
