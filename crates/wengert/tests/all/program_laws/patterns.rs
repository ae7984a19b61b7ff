//! The laws of patterns: every entry that a Jacobian or Hessian has is in them.

use wengert::ops::Binary;
use wengert::primitives::{Reduce, Reducer};
use wengert::{Array, Builder, DType, Program, Type, Value};

use super::generate::Generated;
use super::laws::floats;
use crate::battery::patterns::{entries, nonzeros};
use crate::support::caught::Checked;
use crate::support::{Random, combine};

/// Up to this number of columns a Jacobian is compared.
const COLUMNS: usize = 64;

/// The pattern at a point has what differs from zero there, and the one that holds everywhere has that of each point; so do
/// those of the pullback, whose derivatives are of second order.
pub(super) fn covered(case: &Generated, random: &mut Random) -> Checked {
    let program = &case.program;
    let active = floats(program.input_types());
    let points = [case.args.clone(), nearby(&case.args, random)];
    cover("the Jacobian", program, &active, &points)?;
    let pullback = program.vjp(&active).map_err(|error| error.to_string())?;
    let with_cotangents = |args: &Vec<Array>| {
        let cotangents = program.output_types().into_iter().filter(|ty| ty.dtype.is_float());
        let cotangents: Vec<Array> = cotangents.map(|ty| Random::new(7).directions(&ty)).collect();
        [&args[..], &cotangents].concat()
    };
    let held: Vec<bool> =
        active.iter().copied().chain(std::iter::repeat(false)).take(pullback.input_types().len()).collect();
    cover("the pullback's Jacobian", &pullback, &held, &points.each_ref().map(with_cotangents))
}

/// The pattern of the Hessian of a sum of squares has every entry of the gradient's Jacobian.
pub(super) fn hessian_covered(case: &Generated, _: &mut Random) -> Checked {
    let leaves = case.args.iter().take_while(|arg| arg.dtype().is_float()).count();
    let columns: usize = case.args[..leaves].iter().map(Array::size).sum();
    let Some(loss) = squares(&case.program).filter(|_| leaves > 0 && columns <= COLUMNS) else { return Ok(()) };
    let text = |error: wengert::Error| error.to_string();
    let pattern = loss.hessian_pattern(leaves).map_err(text)?;
    let active: Vec<bool> = (0..case.args.len()).map(|k| k < leaves).collect();
    let pullback = loss.vjp(&active).map_err(text)?;
    let held: Vec<bool> = active.iter().copied().chain([false]).collect();
    let args = [&case.args[..], &[Array::scalar(1.0)]].concat();
    // The value comes first, then the gradient, leaf by leaf.
    let firsts: Vec<usize> = case.args[..leaves]
        .iter()
        .scan(0, |first, arg| {
            *first += arg.size();
            Some(*first - arg.size())
        })
        .collect();
    let missing = nonzeros(&pullback, &held, &args)?.into_iter().find_map(|(output, row, col)| {
        let row = firsts[output.checked_sub(1)?] + row;
        (!pattern.contains(row, col)).then_some((row, col))
    });
    match missing {
        Some(entry) => Err(format!("the pattern of the Hessian lacks {entry:?}")),
        None => Ok(()),
    }
}

fn cover(what: &str, program: &Program, active: &[bool], points: &[Vec<Array>]) -> Checked {
    let text = |error: wengert::Error| format!("{what}: {error}");
    let anywhere = entries(&program.jacobian_pattern(active).map_err(text)?);
    let columns: usize = points[0].iter().zip(active).filter(|(_, active)| **active).map(|(arg, _)| arg.size()).sum();
    if columns > COLUMNS {
        return Ok(());
    }
    for args in points {
        let Ok(here) = nonzeros(program, active, args) else { continue };
        let pattern = entries(&program.jacobian_pattern_at(active, args).map_err(text)?);
        if let Some(entry) = here.difference(&pattern).next() {
            return Err(format!("{what}: the pattern at the point lacks {entry:?}"));
        }
        if let Some(entry) = pattern.difference(&anywhere).next() {
            return Err(format!("{what}: the pattern that holds everywhere lacks {entry:?}"));
        }
    }
    Ok(())
}

/// Operands with other real numbers.
fn nearby(args: &[Array], random: &mut Random) -> Vec<Array> {
    let moved = |arg: &Array| {
        if arg.dtype().is_float() { combine(1.0, arg, 0.125, &random.directions(arg.ty())) } else { arg.clone() }
    };
    args.iter().map(moved).collect()
}

/// The sum of the squares of all results in double precision; `None` if there is none.
fn squares(program: &Program) -> Option<Program> {
    let mut b = Builder::new();
    let args: Vec<Value> = program.input_types().iter().map(|ty| b.input("", ty.clone())).collect();
    let outs = b.emit(wengert::primitives::Call::new(program.clone()), &args).ok()?;
    let types: Vec<Type> = program.output_types();
    let mut total: Option<Value> = None;
    for (&out, ty) in outs.iter().zip(&types).filter(|(_, ty)| ty.dtype == DType::F64) {
        let square = b.emit(Binary::Mul, &[out, out]).ok()?[0];
        let axes: Vec<usize> = (0..ty.rank()).collect();
        let sum = b.emit(Reduce { reducer: Reducer::Sum, axes }, &[square]).ok()?[0];
        total = Some(match total {
            Some(total) => b.emit(Binary::Add, &[total, sum]).ok()?[0],
            None => sum,
        });
    }
    Some(b.finish(&[total?]))
}
