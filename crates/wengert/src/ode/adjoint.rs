//! The continuous adjoint: the pullback of a solution as a solution backwards.

use std::cell::RefCell;

use super::along::{Along, Kind};
use super::{NAME, Ode, Slope, is_single};
use crate::array::Type;
use crate::control::Scan;
use crate::error::{Error, Line};
use crate::implicit::{Function, at, plus};
use crate::program::Program;
use crate::tensor::Tensor;
use crate::tensor::graph;

/// Those of a state and of the real captures.
type Cotangents = (Vec<Tensor>, Vec<Tensor>);

/// What the pullback is made of, at its operands.
struct Pullback<'a> {
    ode: &'a Ode,
    function: &'a Function,
    /// Gives the slope, then the cotangents of the state and of the real captures.
    pulled: &'a Program,
    captures: &'a [Tensor],
    /// How many leaves a state has.
    leaves: usize,
    times: &'a Tensor,
}

/// The pullback of the solution that `value` computes of times, start and captures: takes these, the states, and a cotangent for
/// each; gives one for each real operand.
pub(super) fn pullback(
    ode: &Ode,
    function: &Function,
    inputs: &[Tensor],
    value: &Program,
    line: Line,
) -> Result<Program, Error> {
    let program = &function.closed.program;
    let leaves = inputs.len() - 1;
    // The time has a cotangent of its own: that of the ends.
    let active: Vec<bool> =
        program.input_types().iter().enumerate().map(|(k, ty)| k > 0 && ty.dtype.is_float()).collect();
    let pulled = program.vjp(&active)?;
    let types = value.output_types();
    let given: Vec<Tensor> = types.iter().chain(&types).map(|ty| Tensor::zeros_of(ty.dtype, &ty.shape)).collect();
    // The Program that the user's numbers are put in has the operands of the value first.
    let first: Vec<Tensor> = inputs.iter().chain(&function.closed.captures).chain(&given).cloned().collect();
    let closed = Function { name: NAME, closed: without_captures(function), point: Vec::new() };
    closed.program_of(&first, line, |operands, _| {
        let (known, given) = operands.split_at(inputs.len() + function.closed.captures.len());
        let (states, cts) = given.split_at(leaves);
        let (inputs, captures) = known.split_at(inputs.len());
        let pullback = Pullback { ode, function, pulled: &pulled, captures, leaves, times: &inputs[0] };
        pullback.run(states, cts)
    })
}

/// The function without what it captured, which is among the operands here.
fn without_captures(function: &Function) -> graph::Closed {
    graph::Closed { captures: Vec::new(), ..function.closed.clone() }
}

impl Pullback<'_> {
    /// The captures that have cotangents.
    fn real(&self) -> Vec<Tensor> {
        self.captures.iter().filter(|p| p.dtype().is_float()).cloned().collect()
    }

    fn slope(&self, t: &Tensor, y: &[Tensor]) -> Result<Vec<Tensor>, Error> {
        let point: Vec<Tensor> = std::iter::once(t.convert(self.times.dtype())).chain(y.iter().cloned()).collect();
        at(NAME, &self.function.closed.program, &point, self.captures)
    }

    /// Along `s = -t`: the state, its cotangent, those of the captures.
    fn backwards(&self, s: &Tensor, all: &[Tensor]) -> Result<Vec<Tensor>, Error> {
        let (y, rest) = all.split_at(self.leaves);
        let time = (-s).convert(self.times.dtype());
        let operands: Vec<&Tensor> =
            std::iter::once(&time).chain(y).chain(self.captures).chain(&rest[..self.leaves]).collect();
        let mut slopes = graph::apply_program(NAME, self.pulled, &operands)?;
        for slope in &mut slopes[..self.leaves] {
            *slope = -&*slope;
        }
        Ok(slopes)
    }

    /// The slopes of any cotangent and of its sums; nothing of them is differentiated.
    fn linear(&self, s: &Tensor, y: &[Tensor], v: &[Tensor]) -> Result<Vec<Tensor>, Error> {
        let time = (-s).convert(self.times.dtype());
        let captures: Vec<Tensor> = self.captures.iter().map(Tensor::detach).collect();
        let operands: Vec<&Tensor> =
            std::iter::once(&time).chain(y).chain(&captures).chain(&v[..self.leaves]).collect();
        Ok(graph::apply_program(NAME, self.pulled, &operands)?.split_off(self.leaves))
    }

    /// The cotangents of times, start and captures, for those of the states at all times.
    fn run(&self, states: &[Tensor], cts: &[Tensor]) -> Result<Vec<Tensor>, Error> {
        let zeros = |ty: &Type| Tensor::zeros_of(ty.dtype, &ty.shape);
        let times = self.times.to_f64();
        let row = |arrays: &[Tensor], k: isize| arrays.iter().map(|array| array.slice(k)).collect::<Vec<Tensor>>();
        let later = |arrays: &[Tensor]| arrays.iter().map(|array| array.slice(1..)).collect::<Vec<Tensor>>();
        let none: Vec<Tensor> =
            states.iter().map(|array| zeros(&Type::new(array.dtype(), &array.shape()[1..]))).collect();
        let sums: Vec<Tensor> = self.real().iter().map(|p| zeros(p.ty())).collect();
        let rows = ((times.slice(..-1), times.slice(1..)), later(states), later(cts));
        let failed = RefCell::new(None);
        let ((a, sums), ends) =
            Scan::new().reverse().try_run((none, sums), rows, |(a, sums), ((from, to), y, ct)| {
                self.interval(&a, &sums, [&from, &to], &y, &ct).unwrap_or_else(|why| {
                    failed.replace(Some(why));
                    ((a, sums), from)
                })
            })?;
        if let Some(why) = failed.into_inner() {
            return Err(why);
        }
        let slope = self.slope(&times.slice(0), &row(states, 0))?;
        let first = -crate::implicit::dot(&a, &slope);
        let by_times = Tensor::concat(&[&first.expand_dims(0), &ends], 0).convert(self.times.dtype());
        let start = plus(&a, &Tensor::from(1.0), &row(cts, 0));
        Ok(std::iter::once(by_times).chain(start).chain(sums).collect())
    }

    /// From one of the times back to the one before; with the cotangent of the time.
    fn interval(
        &self,
        a: &[Tensor],
        sums: &[Tensor],
        [from, to]: [&Tensor; 2],
        y: &[Tensor],
        ct: &[Tensor],
    ) -> Result<(Cotangents, Tensor), Error> {
        let end = crate::implicit::dot(ct, &self.slope(to, y)?);
        let a = plus(a, &Tensor::from(1.0), ct);
        let all = [y, &a, sums].concat();
        let backwards = |s: &Tensor, all: &[Tensor]| self.backwards(s, all);
        let linear = |s: &Tensor, y: &[Tensor], v: &[Tensor]| self.linear(s, y, v);
        let real = self.real();
        let single = is_single(&[std::slice::from_ref(self.times), &all[..]].concat());
        let along = Along { linear: &linear, kind: Kind::Cotangent(&real), single };
        let along = self.ode.has_along().then_some(along);
        let slope = Slope { at: &backwards, along, counted: self.leaves };
        let times = Tensor::stack(&[&-to, &-from], 0);
        let rows = self.ode.solved(&slope, &all, &times)?;
        let last: Vec<Tensor> = rows[self.leaves..].iter().map(|rows| rows.slice(1)).collect();
        let (a, sums) = last.split_at(self.leaves);
        Ok(((a.to_vec(), sums.to_vec()), end))
    }
}
