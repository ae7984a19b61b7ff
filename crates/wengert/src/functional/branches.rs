//! `cond`: one of two functions.

use std::panic::Location;

use super::{error, tree};
use crate::array::{DType, Type};
use crate::error::{Error, ErrorKind, OrRaise};
use crate::primitives::Cond;
use crate::program::{Builder, Program, Value, inline};
use crate::tensor::Tensor;
use crate::tensor::graph::{self, Closed, Reading};
use crate::tensor::level::{ArrayLevel, Mapped};
use crate::tree::{Tree, leaves};

/// `yes(x)` if the condition, a single truth value, holds, else `no(x)`. Both are recorded, one is
/// run. Under [`vmap`](crate::vmap) every example takes its own branch; the other one never reaches its
/// derivative, and errors in it (an index out of range) do not count.
///
/// Outside a recording only the chosen function is called.
///
/// ```
/// use wengert::prelude::*;
/// let xs = Tensor::from([-1.0, 4.0]);
/// let g = vmap(&xs, |x| grad(&x, |x| cond(&x.gt(0.0), &x, |x| x.sqrt(), |x| x.square())));
/// assert_eq!(g.to_vec(), [-2.0, 0.25]);
/// ```
///
/// # Panics
/// If the condition is not a single truth value, or the results differ in structure or type.
#[track_caller]
pub fn cond<T, O>(condition: &Tensor, x: T, yes: impl FnOnce(T::Vars) -> O, no: impl FnOnce(T::Vars) -> O) -> O::Grad
where
    T: Tree<Leaf = Tensor>,
    O: Tree<Leaf = Tensor>,
{
    try_cond(condition, x, yes, no).or_raise()
}

/// As [`cond`], with an error instead of a panic.
///
/// # Errors
/// If the condition is not a single truth value, or the results differ in structure or type.
#[track_caller]
pub fn try_cond<T, O>(
    condition: &Tensor,
    x: T,
    yes: impl FnOnce(T::Vars) -> O,
    no: impl FnOnce(T::Vars) -> O,
) -> Result<O::Grad, Error>
where
    T: Tree<Leaf = Tensor>,
    O: Tree<Leaf = Tensor>,
{
    let line = Location::caller();
    if *condition.ty() != Type::new(DType::Bool, &[]) {
        let why = "the condition has to be a single truth value, bool[]; reduce it with `all` or `any`".to_owned();
        return Err(error("cond", ErrorKind::Misfit, why, line).of([condition.ty()]));
    }
    if let Some(known) = condition.known().filter(|_| !graph::in_branch()) {
        let vars = x.vars(&mut |leaf| leaf);
        let output = if known.known::<bool>()[0] { yes(vars) } else { no(vars) };
        return Ok(tree(&output, leaves(&output)));
    }
    let (output, yes) = branch(&x, yes)?;
    let (other, no) = branch(&x, no)?;
    let (yes_types, no_types) = (yes.program.output_types(), no.program.output_types());
    if output.size() != other.size() || yes_types != no_types {
        let list = |types: &[Type]| types.iter().map(ToString::to_string).collect::<Vec<String>>().join(", ");
        let why = format!("the branches give ({}) and ({}), and have to agree", list(&yes_types), list(&no_types));
        return Err(error("cond", ErrorKind::Misfit, why, line));
    }
    let (programs, captures) = with_all_captures([yes, no]);
    let [yes, no] = programs;
    let point = leaves(&x);
    let operands: Vec<&Tensor> = std::iter::once(condition).chain(&point).chain(&captures).collect();
    Ok(tree(&output, graph::apply(Cond::new(yes, no), &operands)?))
}

#[track_caller]
fn branch<T: Tree<Leaf = Tensor>, O: Tree<Leaf = Tensor>>(
    x: &T,
    f: impl FnOnce(T::Vars) -> O,
) -> Result<(O, Closed), Error> {
    let level = ArrayLevel::open("cond", Reading::Branch);
    let output = f(x.vars(&mut |leaf| level.input(&leaf, &Mapped::Whole)));
    let closed = level.close(&leaves(&output))?;
    Ok((output, closed))
}

/// The Programs with the captures of both as additional inputs.
pub(super) fn with_all_captures(branches: [Closed; 2]) -> ([Program; 2], Vec<Tensor>) {
    let mut captures: Vec<Tensor> = Vec::new();
    let places = branches.each_ref().map(|closed| {
        let place = |capture: &Tensor| {
            captures.iter().position(|other| graph::is_same(other, capture)).unwrap_or_else(|| {
                captures.push(capture.clone());
                captures.len() - 1
            })
        };
        closed.captures.iter().map(place).collect::<Vec<usize>>()
    });
    let mut places = places.into_iter();
    let programs = branches.map(|closed| {
        let places = places.next().expect("one per branch");
        let mut b = Builder::new();
        let types = &closed.program.input_types()[..closed.leaves];
        let mut args: Vec<Value> = types.iter().map(|ty| b.input("", ty.clone())).collect();
        let all: Vec<Value> = captures.iter().map(|capture| b.input("", capture.ty().clone())).collect();
        args.extend(places.iter().map(|&place| all[place]));
        let outs = inline(&mut b, &closed.program, &args);
        b.finish(&outs)
    });
    (programs, captures)
}
