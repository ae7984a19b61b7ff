//! The text form of a [`Program`].

use std::fmt;

use super::Program;
use crate::primitives::Primitive;

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_program(self, f, 0)
    }
}

fn write_program(program: &Program, f: &mut fmt::Formatter<'_>, depth: usize) -> fmt::Result {
    let indent = "  ".repeat(depth);
    f.write_str("program(")?;
    for (k, input) in program.inputs().enumerate() {
        write!(f, "{}{input}: {}", if k == 0 { "" } else { ", " }, program.ty(input))?;
    }
    f.write_str(") {\n")?;
    for eqn in program.eqns() {
        write!(f, "{indent}  ")?;
        for (k, out) in eqn.outs().enumerate() {
            write!(f, "{}{out}: {}", if k == 0 { "" } else { ", " }, program.ty(out))?;
        }
        write!(f, " = {}", eqn.op.name())?;
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
