//! Newton's method for roots, with steps that are shortened where they do not lead closer.

use std::cell::RefCell;

use super::{Function, LinearSolve, at, chosen, count, norm, plus};
use crate::control::While;
use crate::error::{Error, ErrorKind};
use crate::primitives::{Solve, linearised};
use crate::tensor::Tensor;
use crate::tensor::graph;

/// How far a method has come.
pub(super) struct End {
    pub(super) x: Vec<Tensor>,
    /// The norm of the residual.
    pub(super) size: Tensor,
    pub(super) steps: Tensor,
}

/// What share of the norm a step leaves at most, where it goes on beyond the tolerance. Where rounding is reached it leaves more.
pub(super) const QUICK: f64 = 0.5;

/// A step that moves the point by more than this share of it has not found its digits, however small the residual is in its units.
pub(super) const WIDE: f64 = 1e-6;

/// From `start` on, until the norm of the residual is at most `tolerance`, and further as long as steps lead much closer or move
/// the point by much: the tolerance says what is accepted, and knows nothing of the units of the residual.
#[track_caller]
pub(super) fn newton(
    function: &Function,
    start: &[Tensor],
    captures: &[Tensor],
    tolerance: f64,
    limit: usize,
    by: LinearSolve,
) -> Result<End, Error> {
    let (name, program) = (function.name, &function.closed.program);
    let residual = at(name, program, start, captures)?;
    let size = norm(&residual);
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    // The leaves, their residuals; its norm, the steps, whether steps go on within the tolerance, and lead closer at all.
    let state = vec![size, count(0), Tensor::from(true), Tensor::from(true)];
    let far = |state: &[Tensor]| state[0].le(tolerance).not();
    let carry = (start.to_vec(), residual, state);
    let failed = RefCell::new(None);
    let (x, _, state) = While::new().try_run(
        carry,
        |(_, _, state)| {
            let more = far(&state).or(state[2].and(state[0].gt(0.0)));
            // From where the function is not defined no step leads closer.
            more.and(&state[3]).and(state[0].lt(f64::INFINITY)).and(state[1].lt(limit))
        },
        |(x, residual, state)| {
            let step = || -> Result<_, Error> {
                let direction = direction(function, &x, captures, &residual, by)?;
                let wide = norm(&direction).gt(norm(&x) * WIDE);
                let far = far(&state).or(&wide);
                let (next, after, shorter) = shortened(function, &x, captures, &direction, &state[0], &far)?;
                let better = shorter.lt(&state[0]);
                let on = shorter.lt(&state[0] * QUICK).or(wide);
                let (x, residual) = (chosen(&better, &next, &x), chosen(&better, &after, &residual));
                Ok((x, residual, vec![better.where_(&shorter, &state[0]), &state[1] + 1, on, better]))
            };
            step().unwrap_or_else(|why| {
                failed.replace(Some(why));
                (x.clone(), residual.clone(), state.clone())
            })
        },
    )?;
    match failed.into_inner() {
        Some(why) => Err(why),
        None => Ok(End { x, size: state[0].clone(), steps: state[1].clone() }),
    }
}

/// `-J^-1 r`
#[track_caller]
fn direction(
    function: &Function,
    x: &[Tensor],
    captures: &[Tensor],
    residual: &[Tensor],
    by: LinearSolve,
) -> Result<Vec<Tensor>, Error> {
    let name = format!("{}: the linear system of a step", function.name);
    let method = by.method(x);
    let operands: Vec<&Tensor> = x.iter().chain(captures).chain(residual).collect();
    let point = x.len() + captures.len();
    graph::build(function.name, &operands, |b, args| {
        let (point, residual) = args.split_at(point);
        let unsupported = |why: crate::error::Misfit| Error::new(ErrorKind::Unsupported, function.name, why.0);
        let (map, mut operands) = linearised(b, &function.closed.program, point, None).map_err(unsupported)?;
        operands.extend(residual.iter().map(|&residual| b.neg(residual)));
        b.emit(Solve::new(map, method, &name), &operands)
    })
}

/// `x + t d` with `t` of 1, 1/2, 1/4, … as long as the norm of the residual does not shrink, and there is far to go; its
/// residual and norm.
#[track_caller]
fn shortened(
    function: &Function,
    x: &[Tensor],
    captures: &[Tensor],
    direction: &[Tensor],
    size: &Tensor,
    far: &Tensor,
) -> Result<(Vec<Tensor>, Vec<Tensor>, Tensor), Error> {
    let program = &function.closed.program;
    let moved = |t: &Tensor| -> Result<(Vec<Tensor>, Vec<Tensor>, Tensor), Error> {
        let next = plus(x, t, direction);
        let residual = at(function.name, program, &next, captures)?;
        let size = norm(&residual);
        Ok((next, residual, size))
    };
    let whole = Tensor::from(1.0);
    let (next, residual, shorter) = moved(&whole)?;
    let failed = RefCell::new(None);
    let (next, residual, state) = While::new().try_run(
        (next, residual, vec![shorter, whole]),
        |(_, _, state)| {
            let enough = state[0].le(size * (1.0 - &state[1] * 1e-4));
            enough.not().and(far).and(state[1].gt(1e-9))
        },
        |(x, residual, state)| {
            let half = &state[1] * 0.5;
            match moved(&half) {
                Ok((next, residual, size)) => (next, residual, vec![size, half]),
                Err(why) => {
                    failed.replace(Some(why));
                    (x, residual, state)
                }
            }
        },
    )?;
    match failed.into_inner() {
        Some(why) => Err(why),
        None => Ok((next, residual, state[0].clone())),
    }
}
