//! Lowering of operations that exist only for their derivatives into plain arithmetic ("written out").
//!
//! The derivative of `atan` is one operation, `atan_slope`, as long as it may be differentiated again: its own rule keeps
//! the digits that the derivative of `1/(1+x^2)` loses. Once everything is differentiated, the arithmetic is as good: it
//! is what vector loops exist for, and it shares the function beside it (`silu_slope(x)` is made of `sigmoid(x)` and
//! another). So do linear systems with one matrix: written out, they share its factors. The frames of spectra are written out to the
//! decompositions that they are made of. The formulas are those of [`crate::ops`], which plain numbers compute too.

use crate::primitives::rule::{Sym, with_rule};
use crate::primitives::{Expm, ExpmFrechet, Op, SpectralBits};
use crate::program::{Builder, Program, Value, everywhere, inline, rebuild};

impl Program {
    /// The same values in plain arithmetic: operations that are there to be differentiated, such as `atan_slope`, become
    /// the formulas that they stand for, also in the Programs inside.
    ///
    /// Everything that runs is written out, and then optimised. Do it last: the derivative of the result may have fewer
    /// digits, or be NaN where a square overflows.
    ///
    /// ```
    /// use wengert::Program;
    /// let program: Program = "program(v0: f64[2]) { v1: f64[2] = one_minus_square v0; return v1 }".parse()?;
    /// let text = program.written_out().optimize().to_string();
    /// assert!(text.contains("mul") && !text.contains("one_minus_square"), "{text}");
    /// # Ok::<(), wengert::Error>(())
    /// ```
    #[must_use]
    pub fn written_out(&self) -> Program {
        write_all_out(self.clone())
    }
}

/// As [`Program::written_out`].
pub(crate) fn write_all_out(program: Program) -> Program {
    everywhere(program, &|program| {
        if !program.eqns.iter().any(|eqn| is_short(&eqn.op)) {
            return program;
        }
        rebuild(program, |b, op, args, types| write_out(b, &op, args).or_else(|| b.again(op, args, types)))
    })
}

/// Whether the operation is written out.
fn is_short(op: &Op) -> bool {
    match op {
        Op::Unary(op) => op.written_out(0.5).is_some(),
        Op::Binary(op) => op.written_out(0.5, 0.5).is_some(),
        Op::MatrixSolve(_) | Op::SpectralFrame(_) | Op::Expm(_) | Op::ExpmFrechet(_) => true,
        _ => false,
    }
}

/// The value of the operation in plain arithmetic, if it has such a form.
fn write_out(b: &mut Builder, op: &Op, args: &[Value]) -> Option<Value> {
    if !is_short(op) {
        return None;
    }
    if let Op::MatrixSolve(op) = op {
        return Some(op.written_out(b, args));
    }
    if let Op::SpectralFrame(op) = op {
        return Some(SpectralBits::written_out(op, b, args[0]));
    }
    let program = match op {
        Op::Expm(_) => Some(Expm::program(b.ty(args[0]), b.line)),
        Op::ExpmFrechet(_) => Some(ExpmFrechet::program(b.ty(args[0]), b.line)),
        _ => None,
    };
    if let Some(program) = program {
        return Some(inline(b, &write_all_out(program), args)[0]);
    }
    let ty = b.ty(args[0]).clone();
    let value = with_rule(b, &ty, || match op {
        Op::Unary(op) => op.written_out(Sym::Value(args[0])),
        Op::Binary(op) => op.written_out(Sym::Value(args[0]), Sym::Value(args[1])),
        _ => None,
    })?;
    Some(value.materialise(b, &ty))
}
