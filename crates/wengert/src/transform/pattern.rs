//! Patterns of Programs: which elements of the inputs each element of a value depends on.
//!
//! Every operation says how its results reach into its operands ([`Primitive::reach`]); the patterns of a Program follow from
//! those of its inputs, equation by equation, never by trying values. A *global* pattern holds everywhere: what a mask or an
//! index chooses is everything that it could choose. A *local* one uses their values at a point: it is finer, and rests on
//! these values, which [`Patterns::decisions`] names.

use std::panic::Location;
use std::sync::Arc;

use super::check_marks;
use super::derive::{active, derive};
use crate::array::{Array, Type};
use crate::error::{Error, ErrorKind};
use crate::primitives::{Op, Phase, Site, Wiring};
use crate::program::{Eqn, Program, check_inputs, eval};
use crate::task::Task;
use wengert_kernels::pattern::{Boxes, Pattern, Places, Reach, Runs};

/// What is known of a value.
#[derive(Clone, Debug, Default)]
pub struct Followed {
    /// The inputs' elements that each of its elements depends on; `None` if there are none.
    pub(crate) pattern: Option<Arc<Runs>>,
    /// The value itself, if it is known and asked for.
    pub(crate) value: Option<Array>,
    /// Whether it depends on an input, by a derivative or without one.
    pub(crate) is_input: bool,
    /// Whether a derivative could flow to it from an input, if nothing is flat on the way.
    pub(crate) is_active: bool,
}

/// The patterns of a Program's outputs, and what they rest on.
#[derive(Clone, Debug)]
pub(crate) struct Patterns {
    /// One for each output; `None` if it depends on no input.
    pub(crate) outputs: Vec<Option<Arc<Runs>>>,
    /// How many columns there are: elements of the active inputs, one after the other.
    pub(crate) cols: usize,
    pub(crate) decisions: Decisions,
}

/// The masks, indices and choices that decided a local pattern, as far as they came from inputs: if they are others, so is the
/// pattern.
#[derive(Clone, Debug, Default)]
pub(crate) struct Decisions(Vec<Array>);

impl Program {
    /// Which entries of the Jacobian may differ from zero, wherever it is taken: a pattern for each output, whose rows are its
    /// elements and whose columns are those of the inputs marked `active`, one after the other, all in row-major order.
    ///
    /// Nothing is tried out: every operation states which elements of its operands each element of its results depends on. What
    /// a mask, an index or a condition chooses counts as everything that it could choose, and a product with a number that is
    /// zero counts as a product.
    ///
    /// ```
    /// use wengert::Program;
    /// let differences: Program = "program(v0: f64[3]) {
    ///     v1: f64[2] = slice[start=[1], limit=[3], stride=[1]] v0
    ///     v2: f64[2] = slice[start=[0], limit=[2], stride=[1]] v0
    ///     v3: f64[2] = sub v1 v2; return v3 }".parse()?;
    /// let pattern = &differences.jacobian_pattern(&[true])?[0];
    /// assert_eq!((pattern.row(0), pattern.row(1)), (&[0, 1][..], &[1, 2][..]));
    /// # Ok::<(), wengert::Error>(())
    /// ```
    ///
    /// # Errors
    /// If a value, or the active inputs together, have 2^32 elements or more, or the pattern does not fit in memory;
    /// if `active` does not have one entry per input.
    #[track_caller]
    pub fn jacobian_pattern(&self, active: &[bool]) -> Result<Vec<Pattern>, Error> {
        check_marks(self, "jacobian_pattern", active)?;
        jacobian_pattern(self, active)
    }

    /// As [`Program::jacobian_pattern`], at a point: masks, indices and conditions have their values there, and the pattern is
    /// finer. It holds where they have the same values.
    ///
    /// # Errors
    /// As there, or if the inputs do not have the types of the Program's, or an operation fails on them; if
    /// `active` does not have one entry per input.
    #[track_caller]
    pub fn jacobian_pattern_at(&self, active: &[bool], inputs: &[Array]) -> Result<Vec<Pattern>, Error> {
        check_marks(self, "jacobian_pattern_at", active)?;
        check_inputs(self, inputs)?;
        let values: Vec<Option<Array>> = inputs.iter().cloned().map(Some).collect();
        patterns(self, active, &values)?.to_patterns(self)
    }

    /// Whether [`Program::jacobian_pattern_at`] rests on the same masks, indices and conditions at two points: then the pattern of
    /// one is that of the other.
    ///
    /// ```
    /// use wengert::{Array, Program};
    /// let relu: Program = "program(v0: f64[2], v1: f64[2]) {
    ///     v2: bool[2] = gt v0 v1; v3: f64[2] = select v2 v0 v1; return v3 }".parse()?;
    /// let at = |x: f64| [Array::new(&[2], vec![x, 3.0]), Array::new(&[2], vec![0.5, 2.0])];
    /// let pattern = &relu.jacobian_pattern_at(&[true, true], &at(1.0))?[0];
    /// assert_eq!((pattern.row(0), pattern.row(1)), (&[0][..], &[1][..]));
    /// assert!(relu.same_pattern_at(&[true, true], &at(1.0), &at(0.75))?);
    /// assert!(!relu.same_pattern_at(&[true, true], &at(1.0), &at(0.25))?);
    /// # Ok::<(), wengert::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Program::jacobian_pattern_at`]; if `active` does not have one entry per input.
    #[track_caller]
    pub fn same_pattern_at(&self, active: &[bool], inputs: &[Array], others: &[Array]) -> Result<bool, Error> {
        check_marks(self, "same_pattern_at", active)?;
        let values = |inputs: &[Array]| -> Result<Vec<Option<Array>>, Error> {
            check_inputs(self, inputs)?;
            Ok(inputs.iter().cloned().map(Some).collect())
        };
        patterns(self, active, &values(inputs)?)?.decisions.hold_at(self, active, &values(others)?)
    }

    /// Which entries of the Hessian of the first output, a single number, may differ from zero, wherever it is taken: rows and
    /// columns are the elements of the first `leaves` inputs, one after the other.
    ///
    /// It is the pattern of the gradient's Jacobian, and where that is not symmetric, an entry counts only with its mirror image:
    /// the Hessian has both or neither. With a [`Custom`](crate::primitives::Custom) operation, whose rule need not be the
    /// derivative of anything, an entry counts with either.
    ///
    /// ```
    /// use wengert::Program;
    /// let f: Program = "program(v0: f64[2], v1: f64[2]) {
    ///     v2: f64[2] = mul v0 v1; v3: f64[] = sum[axes=[0]] v2; return v3 }".parse()?;
    /// let pattern = f.hessian_pattern(2)?;
    /// assert_eq!(pattern.entries().collect::<Vec<_>>(), [(0, 2), (1, 3), (2, 0), (3, 1)]);
    /// # Ok::<(), wengert::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Program::jacobian_pattern`], or if there is no gradient, or there are fewer inputs.
    #[track_caller]
    pub fn hessian_pattern(&self, leaves: usize) -> Result<Pattern, Error> {
        let inputs = self.input_types();
        if leaves > inputs.len() {
            let why = format!("the program takes {} inputs, and the first {leaves} were asked for", inputs.len());
            return Err(Error::new(ErrorKind::Misfit, "hessian_pattern", why).of(inputs).at(Some(Location::caller())));
        }
        hessian_pattern(self, leaves, &vec![None; self.input_types().len()])
    }
}

/// The Hessian's pattern: see [`Program::hessian_pattern`]; local where values are given.
///
/// # Errors
/// As [`patterns`], or if there is no gradient.
pub(crate) fn hessian_pattern(program: &Program, leaves: usize, values: &[Option<Array>]) -> Result<Pattern, Error> {
    let gradient = derive(Task::Gradient, program, leaves)?;
    let blocks = patterns(&gradient, &active(&gradient, leaves), values)?.to_patterns(&gradient)?;
    Ok(of_hessian(program, &Pattern::stacked(&blocks, blocks.first().map_or(0, Pattern::cols))))
}

/// The pattern of a function's Hessian from that of its gradient's Jacobian.
pub(crate) fn of_hessian(function: &Program, whole: &Pattern) -> Pattern {
    let mirrored = whole.transposed();
    if has_custom(function) { whole.union(&mirrored) } else { whole.intersection(&mirrored) }
}

/// Whether a rule of a user's takes part, which need not be a derivative.
fn has_custom(program: &Program) -> bool {
    let own = |eqn: &Eqn| {
        matches!(eqn.op, Op::Custom(_) | Op::Foreign(_)) || eqn.op.programs().iter().any(|inner| has_custom(inner))
    };
    program.eqns().iter().any(own)
}

/// The Jacobian's patterns: one for each output, whose rows are its elements and whose columns are those of the active inputs,
/// one after the other. They hold everywhere.
///
/// # Errors
/// If there are 2^32 columns or more, or more entries than fit in memory.
pub(crate) fn jacobian_pattern(program: &Program, active: &[bool]) -> Result<Vec<Pattern>, Error> {
    patterns(program, active, &vec![None; active.len()])?.to_patterns(program)
}

/// The same in short form, with the values of some inputs: those of captured indices and masks, or of all inputs at a point.
///
/// # Errors
/// As [`jacobian_pattern`], or if an operation fails on the values.
pub(crate) fn patterns(program: &Program, active: &[bool], values: &[Option<Array>]) -> Result<Patterns, Error> {
    let inputs = inputs(program, active, values)?;
    let cols = columns(program, active);
    let mut follow = Follow { decisions: Vec::new(), of_values: false };
    let outputs = follow.through(program, &inputs, false)?;
    Ok(Patterns {
        outputs: outputs.into_iter().map(|facts| facts.pattern).collect(),
        cols: cols as usize,
        decisions: Decisions(follow.decisions),
    })
}

impl Patterns {
    /// Entry by entry.
    ///
    /// # Errors
    /// If there are more than fit in memory.
    pub(crate) fn to_patterns(&self, program: &Program) -> Result<Vec<Pattern>, Error> {
        let of = |(runs, ty): (&Option<Arc<Runs>>, &Type)| match runs {
            Some(runs) => runs.to_pattern(self.cols),
            None => Pattern::try_empty(ty.size(), self.cols),
        };
        let made = self.outputs.iter().zip(&program.output_types()).map(of).collect::<Result<Vec<Pattern>, _>>();
        made.map_err(|why| refused(program, why.to_string()))
    }
}

impl Decisions {
    /// Whether the patterns hold at other values of the same inputs: what decided is the same there.
    ///
    /// # Errors
    /// If an operation fails on the values.
    pub(crate) fn hold_at(&self, program: &Program, active: &[bool], values: &[Option<Array>]) -> Result<bool, Error> {
        if self.0.is_empty() {
            return Ok(true);
        }
        let mut follow = Follow { decisions: Vec::new(), of_values: true };
        follow.through(program, &inputs(program, active, values)?, false)?;
        let same = self.0.iter().zip(&follow.decisions).all(|(own, other)| own.same_bits(other));
        Ok(same && self.0.len() == follow.decisions.len())
    }
}

/// Follows patterns through Programs.
#[derive(Debug)]
pub struct Follow {
    decisions: Vec<Array>,
    /// Whether only values are followed, for what they decide.
    of_values: bool,
}

impl Follow {
    /// What is known of a Program's outputs, given what is of its inputs; their values too if they are `wanted` and known.
    pub(crate) fn through(
        &mut self,
        program: &Program,
        inputs: &[Followed],
        wanted: bool,
    ) -> Result<Vec<Followed>, Error> {
        let wanted = asked_for(program, wanted);
        let mut left = uses(program);
        let mut values: Vec<Followed> = inputs.to_vec();
        values.resize(program.types.len(), Followed::default());
        for (value, facts) in values.iter_mut().enumerate() {
            if !wanted[value] {
                facts.value = None;
            }
        }
        for eqn in program.eqns() {
            let operands: Vec<Followed> = eqn.args.iter().map(|arg| values[arg.index()].clone()).collect();
            // What is not used again is dropped: memory is that of what lives at once.
            for arg in &eqn.args {
                left[arg.index()] -= 1;
                if left[arg.index()] == 0 {
                    values[arg.index()] = Followed::default();
                }
            }
            let results = self.equation(program, eqn, &operands, eqn.outs().any(|out| wanted[out.index()]))?;
            for (out, facts) in eqn.outs().zip(results) {
                if left[out.index()] > 0 {
                    values[out.index()] = facts;
                }
            }
        }
        Ok(program.outputs().iter().map(|output| values[output.index()].clone()).collect())
    }

    fn equation(
        &mut self,
        program: &Program,
        eqn: &Eqn,
        operands: &[Followed],
        wanted: bool,
    ) -> Result<Vec<Followed>, Error> {
        let outs = program.types_of(eqn);
        let is_active = operands.iter().any(|facts| facts.is_active);
        let is_input = operands.iter().any(|facts| facts.is_input);
        let mut results: Vec<Followed> =
            if is_active { self.patterns_of(program, eqn, operands)? } else { vec![Followed::default(); outs.len()] };
        let values = if wanted { known_results(eqn, operands) } else { None };
        for (k, (facts, ty)) in results.iter_mut().zip(outs).enumerate() {
            facts.value = values.as_ref().map(|values| values[k].clone());
            facts.is_input = is_input;
            facts.is_active = is_active && ty.dtype.is_float();
            if !facts.is_active {
                facts.pattern = None;
            }
        }
        Ok(results)
    }

    /// The patterns of an equation's results.
    fn patterns_of(&mut self, program: &Program, eqn: &Eqn, operands: &[Followed]) -> Result<Vec<Followed>, Error> {
        for operand in eqn.op.decides() {
            self.decided(&operands[operand]);
        }
        if let Some(results) = eqn.op.follow(self, operands) {
            return results;
        }
        if let Some(results) = self.inside(&eqn.op, operands) {
            return results;
        }
        let outs = program.types_of(eqn);
        if self.of_values || operands.iter().all(|facts| facts.pattern.is_none()) {
            return Ok(vec![Followed::default(); outs.len()]);
        }
        let args: Vec<&Type> = eqn.args.iter().map(|&arg| program.ty(arg)).collect();
        let known: Vec<Option<&Array>> = operands.iter().map(|facts| facts.value.as_ref()).collect();
        let site = Site { args: &args, known: &known, outs };
        let reaches = eqn.op.reach(&site).map_err(|why| eqn.op.failure(why, &args).at(eqn.line))?;
        Ok(reaches.iter().zip(outs).map(|(reaches, ty)| joined(operands, reaches, ty.size())).collect())
    }

    /// Notes a value that decides what follows, unless it is part of the Program.
    pub(crate) fn decided(&mut self, facts: &Followed) {
        if let Some(value) = facts.value.as_ref().filter(|_| facts.is_input) {
            self.decisions.push(value.clone());
        }
    }

    /// What is known of the results of an operation whose Programs take its operands: of branches that of any, of loops what
    /// holds in every step.
    pub(crate) fn inside(&mut self, op: &Op, operands: &[Followed]) -> Option<Result<Vec<Followed>, Error>> {
        let wiring = op.wiring();
        let mut operands = operands.to_vec();
        if let Wiring::Loop { phases, .. } = &wiring {
            // What changes from step to step has no one value.
            phases.iter().flat_map(|Phase { carry, .. }| carry.clone()).for_each(|k| operands[k].value = None);
        }
        let mut runs = 0;
        let mut last: Option<(*const Program, usize)> = None;
        let run = |program: &Program, inputs: &[Followed]| {
            runs += 1;
            // A step runs until nothing changes, as often as patterns grow. What its last run decides on counts, which is the same
            // where only values are followed.
            match last {
                Some((again, before)) if std::ptr::eq(again, program) => self.decisions.truncate(before),
                _ => last = Some((program, self.decisions.len())),
            }
            let outs = self.through(program, inputs, false)?;
            Ok(if runs > PATIENCE { everything(program, inputs, outs) } else { outs })
        };
        wiring.flow(op, &operands, run, |one, other| Ok(either(one, other)))
    }
}

/// After this number of steps a loop is taken to reach everything that it takes: a pattern may grow by one neighbour a step.
const PATIENCE: usize = 64;

impl Followed {
    /// A row of an array: the part at a place of its first axis, of this type.
    pub(crate) fn row(&self, t: usize, ty: &Type) -> Followed {
        let size = ty.size();
        let picked = Reach::Picked(Places::strided(&[size], &[1], t * size));
        let value = self.value.as_ref().map(|value| value.pick(&ty.shape, t * size..(t + 1) * size));
        Followed { pattern: self.pattern.as_ref().and_then(|runs| picked.through(runs, size)), value, ..self.clone() }
    }

    /// What is known of every row of an array.
    pub(crate) fn any_row(&self, length: usize, ty: &Type) -> Followed {
        let size = ty.size();
        let rows = Boxes { of: None, out: vec![size], out_strides: vec![1], shape: vec![length], strides: vec![size] };
        let pattern = self.pattern.as_ref().and_then(|runs| Reach::Boxes(rows).through(runs, size));
        Followed { pattern, value: None, ..self.clone() }
    }

    /// Rows of this type, stacked along a new axis in front; the value is not.
    pub(crate) fn stacked(rows: &[Followed], ty: &Type) -> Followed {
        let parts: Vec<Option<&Runs>> = rows.iter().map(|row| row.pattern.as_deref()).collect();
        let pattern = parts.iter().any(Option::is_some).then(|| Arc::new(Runs::concatenated(&parts, ty.size())));
        let any = |of: fn(&Followed) -> bool| rows.iter().any(of);
        Followed { pattern, value: None, is_input: any(|row| row.is_input), is_active: any(|row| row.is_active) }
    }
}

/// Two values that are the same for patterns: in the form of both, or entry by entry.
impl PartialEq for Followed {
    fn eq(&self, other: &Followed) -> bool {
        let patterns = match (&self.pattern, &other.pattern) {
            (Some(own), Some(other)) => Arc::ptr_eq(own, other) || own.same(other),
            (own, other) => own.is_none() && other.is_none(),
        };
        let values = match (&self.value, &other.value) {
            (Some(own), Some(other)) => own.same_bits(other),
            (own, other) => own.is_none() && other.is_none(),
        };
        patterns && values && (self.is_input, self.is_active) == (other.is_input, other.is_active)
    }
}

/// What is known of a value that is one of two.
pub(crate) fn either(one: Followed, other: Followed) -> Followed {
    let pattern = union(one.pattern, other.pattern);
    let value = one.value.zip(other.value).and_then(|(one, other)| one.same_bits(&other).then_some(one));
    let (is_input, is_active) = (one.is_input || other.is_input, one.is_active || other.is_active);
    Followed { pattern, value, is_input, is_active }
}

fn union(one: Option<Arc<Runs>>, other: Option<Arc<Runs>>) -> Option<Arc<Runs>> {
    match (one, other) {
        (Some(one), Some(other)) if Arc::ptr_eq(&one, &other) => Some(one),
        (Some(one), Some(other)) => Some(Arc::new(one.union(&other))),
        (one, other) => one.or(other),
    }
}

/// A result that reaches so into its operands.
fn joined(operands: &[Followed], reaches: &[Reach], rows: usize) -> Followed {
    let parts = operands.iter().zip(reaches);
    let parts =
        parts.filter_map(|(facts, reach)| facts.pattern.as_ref().and_then(|source| reach.through(source, rows)));
    Followed { pattern: parts.fold(None, |one, other| union(one, Some(other))), ..Followed::default() }
}

/// Outputs that depend on everything that the inputs depend on.
fn everything(program: &Program, inputs: &[Followed], outs: Vec<Followed>) -> Vec<Followed> {
    let all = |ty: &Type| joined(inputs, &vec![Reach::All; inputs.len()], ty.size()).pattern;
    let dense = |(facts, ty): (Followed, Type)| match facts.is_active {
        true => Followed { pattern: all(&ty), ..facts },
        false => facts,
    };
    outs.into_iter().zip(program.output_types()).map(dense).collect()
}

/// The values of an equation's results, if those of its operands are known and it does not fail on them: what it could decide
/// is then decided by none.
fn known_results(eqn: &Eqn, operands: &[Followed]) -> Option<Vec<Array>> {
    let args: Vec<&Array> = operands.iter().map(|facts| facts.value.as_ref()).collect::<Option<_>>()?;
    eval(&eqn.op, &args, eqn.line).ok()
}

/// Which values are asked for: those that decide, and what they are computed from; all outputs if they are `wanted`.
fn asked_for(program: &Program, wanted: bool) -> Vec<bool> {
    let mut asked = vec![false; program.types.len()];
    if wanted {
        program.outputs().iter().for_each(|output| asked[output.index()] = true);
    }
    for eqn in program.eqns().iter().rev() {
        let needed = eqn.outs().any(|out| asked[out.index()]) || eqn.op.programs().iter().any(|inner| decides(inner));
        if needed {
            eqn.args.iter().for_each(|arg| asked[arg.index()] = true);
        }
        eqn.op.decides().into_iter().for_each(|operand| asked[eqn.args[operand].index()] = true);
    }
    asked
}

/// Whether a value decides in a Program or in one inside.
fn decides(program: &Program) -> bool {
    let own = |eqn: &Eqn| !eqn.op.decides().is_empty() || eqn.op.programs().iter().any(|inner| decides(inner));
    program.eqns().iter().any(own)
}

/// How often each value is used.
fn uses(program: &Program) -> Vec<usize> {
    let mut uses = vec![0; program.types.len()];
    program.eqns().iter().flat_map(|eqn| &eqn.args).chain(program.outputs()).for_each(|value| uses[value.index()] += 1);
    uses
}

/// What is known of the inputs: those that are active have a column for each element.
fn inputs(program: &Program, active: &[bool], values: &[Option<Array>]) -> Result<Vec<Followed>, Error> {
    assert_eq!(active.len(), program.input_types().len(), "one mark per input");
    assert_eq!(values.len(), active.len(), "a value, or none, per input");
    let count = columns(program, active);
    let largest = program.types.iter().map(|ty| ty.size() as u64).max().unwrap_or(0).max(count);
    if largest > u64::from(u32::MAX) {
        let why = format!("there are {largest} elements, and rows and columns of a pattern are numbered in 32 bits");
        return Err(refused(program, why));
    }
    let mut first = 0;
    let of = |((ty, &active), value): ((&Type, &bool), &Option<Array>)| {
        let is_active = active && ty.dtype.is_float();
        let pattern = (is_active && ty.size() > 0).then(|| Arc::new(Runs::identity(ty.size(), first)));
        first += if active { ty.size() } else { 0 };
        Followed { pattern, value: value.clone(), is_input: true, is_active }
    };
    Ok(program.input_types().iter().zip(active).zip(values).map(of).collect())
}

fn columns(program: &Program, active: &[bool]) -> u64 {
    program.input_types().iter().zip(active).filter(|(_, active)| **active).map(|(ty, _)| ty.size() as u64).sum()
}

fn refused(program: &Program, why: String) -> Error {
    Error::new(ErrorKind::Unsupported, "pattern", why).of(program.input_types())
}
