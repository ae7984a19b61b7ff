//! Tangent Programs that users give, with tangents and results that are structurally zero.

use super::linear::check_linear;
use crate::array::Type;
use crate::program::{Args, Builder, Program, Value, inline};

/// What a value of a tangent Program is, in the Program that it becomes part of.
#[derive(Clone, Copy)]
enum Pushed {
    /// Computed, whatever it depends on; and whether that is a tangent.
    Value(Value, bool),
    /// Zero, because all tangents that it depends on are.
    Zero,
}

/// Appends a Program that is linear in its last inputs, with these values for the first ones and tangents for the last; gives
/// its results. One that depends on missing tangents alone, or on none, is missing.
///
/// What depends on missing tangents alone, and is linear in them, is zero whatever it is multiplied by, as with a rule of our
/// own: written out as a product with zeros it would be an offset to what is joined with it. A Program that is not seen to be
/// linear, operation by operation, takes zeros for what is missing.
pub(crate) fn push_through(
    b: &mut Builder,
    program: &Program,
    known: &[Value],
    tangents: &[Option<Value>],
) -> Vec<Option<Value>> {
    let types = program.input_types();
    let marks: Vec<bool> = (0..types.len()).map(|k| k >= known.len()).collect();
    if check_linear(program, &marks).is_err() {
        let zeros = |b: &mut Builder, ty: &Type| b.full(0.0, ty);
        let mut args = known.to_vec();
        args.extend(types[known.len()..].iter().zip(tangents).map(|(ty, dot)| dot.unwrap_or_else(|| zeros(b, ty))));
        return inline(b, program, &args).into_iter().map(Some).collect();
    }
    let mut parts: Vec<Pushed> = known.iter().map(|&value| Pushed::Value(value, false)).collect();
    parts.extend(tangents.iter().map(|dot| dot.map_or(Pushed::Zero, |value| Pushed::Value(value, true))));
    let line = b.line;
    for eqn in program.eqns() {
        let operands: Vec<Pushed> = eqn.args.iter().map(|arg| parts[arg.index()]).collect();
        let is_zero = operands.iter().any(|part| matches!(part, Pushed::Zero));
        let is_tangent = operands.iter().any(|part| matches!(part, Pushed::Value(_, true)));
        // A branch or a loop may give what does not depend on its tangents beside what does.
        if is_zero && !is_tangent && eqn.op.programs().is_empty() {
            parts.extend(eqn.outs().map(|_| Pushed::Zero));
            continue;
        }
        b.line = eqn.line.or(line);
        let value = |(part, &arg): (&Pushed, &Value)| match part {
            Pushed::Value(value, _) => *value,
            Pushed::Zero => b.full(0.0, program.ty(arg)),
        };
        let args: Args = operands.iter().zip(&eqn.args).map(value).collect();
        parts.extend(b.ops(eqn.op.clone(), &args).into_iter().map(|out| Pushed::Value(out, is_tangent)));
    }
    b.line = line;
    let result = |output: &Value| match parts[output.index()] {
        Pushed::Value(value, true) => Some(value),
        // What no tangent reaches is zeros that the rule wrote down.
        Pushed::Value(_, false) | Pushed::Zero => None,
    };
    program.outputs().iter().map(result).collect()
}
