//! Constants: what does not depend on the inputs is computed once, here.
//!
//! Only single numbers are computed, by the operation's definition, so that no bit changes: a result with one
//! element, or one whose elements are all the same number. An array is never made larger than the text of its
//! equation.

use super::Config;
use crate::array::{Array, Data, Type};
use crate::primitives::{Form, Literal, Op};
use crate::program::{Builder, Program, Value, rebuild};

/// The Program with computed constants in place of the equations that compute them.
pub(super) fn fold(program: Program, _: &Config) -> Program {
    rebuild(program, |b, op, args, types| match folded(b, &op, args) {
        Some((literal, ty)) => {
            let scalar = b.op(literal, &[]);
            Some(b.broadcast_scalar(scalar, &ty.shape))
        }
        None => b.again(op, args, types),
    })
}

/// The number that every element of the result is, and the result's type.
fn folded(b: &Builder, op: &Op, args: &[Value]) -> Option<(Literal, Type)> {
    // Literals and what repeats them are what this pass produces; Programs inside may be long. A user's code is called when its step
    // has its turn, which may never come.
    if matches!(op, Op::Literal(_) | Op::Foreign(_))
        || args.is_empty()
        || !op.programs().is_empty()
        || repeats(b, op, args)
    {
        return None;
    }
    let known: Vec<Literal> = args.iter().map(|&arg| b.repeated(arg)).collect::<Option<_>>()?;
    let types: Vec<&Type> = args.iter().map(|&arg| b.ty(arg)).collect();
    let [ty] = <[Type; 1]>::try_from(op.infer(&types).ok()?).ok()?;
    let form = op.form(&types);
    if form == Form::View {
        return Some((known[0], ty));
    }
    // Element by element, one element stands for all.
    let is_elementwise = form.is_elementwise();
    let single = ty.size() == 1 && types.iter().all(|ty| ty.size() == 1);
    if !single && !is_elementwise {
        return None;
    }
    let shape = |ty: &Type| if is_elementwise { Vec::new() } else { ty.shape.clone() };
    let operands: Vec<Array> = known.iter().zip(types).map(|(literal, ty)| full(*literal, &shape(ty))).collect();
    let operands: Vec<&Array> = operands.iter().collect();
    // What fails is left for the run, which names the user's line.
    let results = op.eval(&operands).ok()?;
    Some((first(&results[0])?, ty))
}

/// Whether it is what this pass produces: a number in a shape.
fn repeats(b: &Builder, op: &Op, args: &[Value]) -> bool {
    matches!(op, Op::Broadcast(_)) && matches!(b.defined_by(args[0]), Some((Op::Literal(_), _)))
}

/// A number in a shape with one element.
fn full(literal: Literal, shape: &[usize]) -> Array {
    match literal {
        Literal::Bool(x) => Array::new(shape, vec![x]),
        Literal::I64(x) => Array::new(shape, vec![x]),
        Literal::F32(x) => Array::new(shape, vec![x]),
        Literal::F64(x) => Array::new(shape, vec![x]),
    }
}

fn first(array: &Array) -> Option<Literal> {
    Some(match array.data() {
        Data::Bool(x) => Literal::Bool(*x.first()?),
        Data::I64(x) => Literal::I64(*x.first()?),
        Data::F32(x) => Literal::F32(*x.first()?),
        Data::F64(x) => Literal::F64(*x.first()?),
    })
}
