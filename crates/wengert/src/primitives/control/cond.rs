//! One of two Programs.

use std::borrow::Cow;
use std::sync::Arc;

use super::{
    CotangentLayout, PullbackOperands, batch_region, can_fail, check_inputs, cotangents, inside, joint_program, place,
    pulled_program, run, tangent_program,
};
use crate::array::{Array, DType, Type};
use crate::error::{Misfit, misfit};
use crate::ops::Unary;
#[cfg(feature = "text")]
use crate::primitives::parse::Fields;
use crate::primitives::sample::numbers;
use crate::primitives::{
    Attributes, Batched, Cotangent, Family, Form, Logic, MaskedCotangents, Op, Operand, OperandSet, Primitive, Reduce,
    Reducer, Sample, Source, Split, Wiring, WithTangents,
};
use crate::program::{Builder, Program, Value, dce, inline};
use crate::transform::partial::{divide, split_inside, unknown_outputs};
use crate::transform::vmap;

/// `yes` of the operands if the first operand, a single truth value, holds; else `no` of them. Only
/// one of the Programs runs.
///
/// Under `vmap` with a condition of its own in every lane both run, and `select` chooses: what is
/// not chosen never reaches a derivative. A `joint` one asks whether the condition holds in every
/// lane instead, and stays one of two.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Cond {
    /// What runs if the condition holds.
    pub yes: Arc<Program>,
    /// What runs otherwise.
    pub no: Arc<Program>,
    /// Whether `yes` is only a shorter way to what `no` gives where the condition holds, so that
    /// `no` is right everywhere.
    pub joint: bool,
}

impl Cond {
    /// Between these Programs.
    pub fn new(yes: Program, no: Program) -> Self {
        Cond { yes: Arc::new(yes), no: Arc::new(no), joint: false }
    }

    /// A shorter way where the condition holds: there `yes` gives what `no` gives.
    ///
    /// ```
    /// use wengert::primitives::{Cond, Primitive};
    /// use wengert::{Program, Type, DType};
    /// let whole: Program = "program(v0: f64[]) { v1: f64[] = abs v0; return v1 }".parse()?;
    /// let short: Program = "program(v0: f64[]) { return v0 }".parse()?;
    /// let mut b = wengert::Builder::new();
    /// let positive = b.input("positive", Type::new(DType::Bool, &[]));
    /// let x = b.input("x", Type::new(DType::F64, &[]));
    /// let y = b.emit(Cond::joint(short, whole), &[positive, x])?[0];
    /// // A condition in every lane: still one equation, of which one branch runs.
    /// let lanes = b.finish(&[y]).vmap(&[true, true], 3)?;
    /// assert!(lanes.eqns().iter().any(|eqn| eqn.op.name() == "cond"));
    /// # Ok::<(), wengert::Error>(())
    /// ```
    pub fn joint(yes: Program, no: Program) -> Self {
        Cond { joint: true, ..Cond::new(yes, no) }
    }

    /// Between other Programs, in the same way.
    fn between(&self, yes: Program, no: Program) -> Self {
        Cond { joint: self.joint, ..Cond::new(yes, no) }
    }

    /// Whether what runs in a lane that does not count could fail there.
    fn can_fail(&self) -> bool {
        can_fail(&self.yes) || can_fail(&self.no)
    }

    /// The equation on Programs made of both; `make` gives the new ones.
    fn both<T>(&self, mut make: impl FnMut(&Program) -> Result<T, Misfit>) -> Result<(T, T), Misfit> {
        Ok((make(&self.yes)?, make(&self.no)?))
    }
}

impl Primitive for Cond {
    fn name(&self) -> Cow<'static, str> {
        "cond".into()
    }
    fn infer(&self, args: &[&Type]) -> Result<Vec<Type>, Misfit> {
        let [condition, operands @ ..] = args else { misfit!("it takes a condition") };
        if **condition != Type::new(DType::Bool, &[]) {
            misfit!("the condition is {condition}, and has to be bool[]");
        }
        check_inputs(&self.yes, operands)?;
        check_inputs(&self.no, operands)?;
        let (yes, no) = (self.yes.output_types(), self.no.output_types());
        if yes.len() != no.len() {
            misfit!("the branches have {} and {} results", yes.len(), no.len());
        }
        match yes.iter().zip(&no).position(|(yes, no)| yes != no) {
            Some(k) => misfit!("result {k} is {} in one branch and {} in the other", yes[k], no[k]),
            None => Ok(yes),
        }
    }
    fn eval(&self, args: &[&Array]) -> Result<Vec<Array>, Misfit> {
        run(if args[0].known::<bool>()[0] { &self.yes } else { &self.no }, &args[1..])
    }
    fn form(&self, _: &[&Type]) -> Form {
        Form::Planned
    }
    fn linear_in(&self, _: usize) -> Vec<OperandSet> {
        Vec::new()
    }
    fn jvp_with_values(
        &self,
        b: &mut Builder,
        args: &[Value],
        tangents: &[Option<Value>],
    ) -> Option<Result<WithTangents, Misfit>> {
        Some(self.jvp_of_branches(b, args, tangents))
    }
    fn transpose_masked(
        &self,
        b: &mut Builder,
        cts: &[Option<Cotangent>],
        operands: &[Operand],
    ) -> Option<MaskedCotangents> {
        Some(self.transpose_branches(b, cts, operands))
    }
    fn split(&self, unknown: &[bool]) -> Option<Split> {
        if unknown[0] { None } else { self.split_branches(unknown) }
    }
    fn batch(&self, b: &mut Builder, args: &[Value], batched: &[bool], length: usize) -> Batched {
        if batched[0] && self.joint {
            // Where it does not hold in one lane, the longer way is right for all of them.
            let everywhere = b.op(Reduce::new(Reducer::All, &[0]), &args[..1]);
            let (args, batched) = ([&[everywhere], &args[1..]].concat(), [&[false], &batched[1..]].concat());
            return self.batch(b, &args, &batched, length);
        }
        if batched[0] {
            return self.batch_by_select(b, args, batched, length, None);
        }
        // A result has the axis if it has it in one of the branches.
        let (yes, no) = self.both(|program| batch_region(program, &batched[1..], length))?;
        let flags: Vec<bool> = yes.1.iter().zip(&no.1).map(|(yes, no)| yes | no).collect();
        let widen = |program: &Program| {
            let mut b = Builder::new();
            let inputs = vmap::batched_inputs(&mut b, program, &batched[1..], length);
            let outs = vmap::vmap(&mut b, program, &inputs, &batched[1..], length).map_err(inside)?;
            let outs = outs
                .into_iter()
                .zip(&flags)
                .map(|((out, has), &wanted)| if wanted && !has { b.repeat_in_front(out, length) } else { out });
            let outs: Vec<Value> = outs.collect();
            Ok(b.finish(&outs))
        };
        let (yes, no) = self.both(widen)?;
        let outs = b.ops(self.between(yes, no), args);
        Ok(outs.into_iter().zip(flags).collect())
    }
    fn batch_masked(
        &self,
        b: &mut Builder,
        args: &[Value],
        batched: &[bool],
        length: usize,
        mask: Value,
    ) -> Option<Batched> {
        if self.joint && !self.can_fail() {
            return None;
        }
        // The condition of each lane by itself.
        let condition = b.batch_all(&args[..1], &batched[..1], length);
        let (args, batched) = ([&condition, &args[1..]].concat(), [&[true], &batched[1..]].concat());
        Some(self.batch_by_select(b, &args, &batched, length, Some(mask)))
    }
    fn programs(&self) -> Vec<&Arc<Program>> {
        vec![&self.yes, &self.no]
    }
    fn wiring(&self) -> Wiring {
        Wiring::OneOf { first: 1 }
    }
    fn with_programs(&self, programs: Vec<Arc<Program>>) -> Op {
        let [yes, no] = <[_; 2]>::try_from(programs).expect("two branches");
        Cond { yes, no, joint: self.joint }.into()
    }
    fn attributes(&self) -> Attributes {
        let attributes = Attributes::default().with("yes", &self.yes).with("no", &self.no);
        if self.joint { attributes.with("joint", true) } else { attributes }
    }
}

impl Cond {
    fn jvp_of_branches(
        &self,
        b: &mut Builder,
        args: &[Value],
        tangents: &[Option<Value>],
    ) -> Result<WithTangents, Misfit> {
        let active: Vec<bool> = tangents[1..].iter().map(Option::is_some).collect();
        let ((_, yes), (_, no)) = self.both(|program| tangent_program(program, &active, None))?;
        let has: Vec<bool> = yes.iter().zip(&no).map(|(yes, no)| yes | no).collect();
        // Values and tangents in one equation: a branch runs once for both, and `split` keeps what the tangents need.
        let (yes, no) = self.both(|program| joint_program(program, &active, &has))?;
        let operands: Vec<Value> = args.iter().copied().chain(tangents.iter().flatten().copied()).collect();
        let mut outs = b.ops(self.between(yes, no), &operands);
        let dots = outs.split_off(has.len());
        Ok((outs, place(dots, &has)))
    }

    fn transpose_branches(&self, b: &mut Builder, cts: &[Option<Cotangent>], operands: &[Operand]) -> MaskedCotangents {
        let operands_inside = &operands[1..];
        if operands[0].is_linear() {
            misfit!("the condition depends on what is transposed");
        }
        let region = PullbackOperands::new(cts, operands_inside);
        let ((yes_b, yes), (no_b, no)) = self.both(|program| region.transpose(program, operands_inside))?;
        // A branch that gives nothing gives zeros that count nowhere, so the other's needs a mask.
        let layout: CotangentLayout = yes
            .iter()
            .zip(&no)
            .map(|(yes, no)| match (yes, no) {
                (None, None) => None,
                (Some(yes), Some(no)) => Some(yes.mask.is_some() || no.mask.is_some()),
                (Some(_), None) | (None, Some(_)) => Some(true),
            })
            .collect();
        let yes = pulled_program(yes_b, &yes, &layout, operands_inside);
        let no = pulled_program(no_b, &no, &layout, operands_inside);
        let args: Vec<Value> = std::iter::once(operands[0].known()).chain(region.args).collect();
        let results = b.ops(self.between(yes, no), &args);
        let pulled = cotangents(results, &layout);
        Ok(std::iter::once(None).chain(pulled).collect())
    }

    /// The branches in two parts each. What a branch computes for its unknown part is kept in slots, which the branches share
    /// where their types agree; the one that does not run leaves no residuals, so the other's slots are the same memory.
    fn split_branches(&self, unknown: &[bool]) -> Option<Split> {
        let inputs = &unknown[1..];
        let branches = [&self.yes, &self.no].map(|branch| split_inside(Cow::Borrowed(&**branch), inputs));
        let [yes, no] = branches.each_ref().map(|branch| unknown_outputs(branch, inputs));
        let is_known: Vec<bool> = yes.iter().zip(&no).map(|(yes, no)| !yes && !no).collect();
        let mut slots = Slots::default();
        let divided = branches.each_ref().map(|branch| Divided::of(branch, inputs, &is_known, &mut slots));
        let computes = !slots.types.is_empty() || is_known.contains(&true);
        if !computes {
            return None;
        }
        let passed: Vec<usize> =
            (0..inputs.len()).filter(|k| divided.iter().any(|divided| divided.passed.contains(k))).collect();
        let types = self.yes.input_types();
        let inputs_of_rest = passed.iter().map(|&k| types[k].clone()).chain(slots.types.iter().cloned());
        let rest_types: Vec<Type> =
            inputs_of_rest.chain((0..inputs.len()).filter(|&k| inputs[k]).map(|k| types[k].clone())).collect();
        let [(yes, yes_rest), (no, no_rest)] =
            divided.map(|divided| divided.finish(&slots.types, &passed, &rest_types));
        let known = (0..unknown.len()).filter(|&k| !unknown[k]);
        let operands = std::iter::once(0).chain(passed.iter().map(|k| k + 1)).map(Source::Operand);
        let residuals = (0..slots.types.len()).map(Source::Residual);
        let unknown_operands = (0..unknown.len()).filter(|&k| unknown[k]).map(Source::Operand);
        Some(Split {
            known: self.between(yes, no).into(),
            known_args: known.collect(),
            is_known,
            unknown: self.between(yes_rest, no_rest).into(),
            unknown_args: operands.chain(residuals).chain(unknown_operands).collect(),
        })
    }

    /// Both branches for every lane, and `select`. The condition is batched; `within` are the lanes
    /// that come here at all.
    fn batch_by_select(
        &self,
        b: &mut Builder,
        args: &[Value],
        batched: &[bool],
        length: usize,
        within: Option<Value>,
    ) -> Batched {
        let taken = |b: &mut Builder, chosen: Value| match within {
            Some(within) => b.op(Logic::And, &[chosen, within]),
            None => chosen,
        };
        let not_chosen = b.op(Logic::Not, &[args[0]]);
        let (yes, no) = (taken(b, args[0]), taken(b, not_chosen));
        let yes = vmap::vmap_guarded(b, &self.yes, &args[1..], &batched[1..], length, yes).map_err(inside)?;
        let no = vmap::vmap_guarded(b, &self.no, &args[1..], &batched[1..], length, no).map_err(inside)?;
        let mut results = Vec::with_capacity(yes.len());
        for (yes, no) in yes.into_iter().zip(no) {
            let both = b.batch_all(&[yes.0, no.0], &[yes.1, no.1], length);
            let shape = b.shape(both[0]).to_vec();
            let mask = b.spread(args[0], &shape, &(1..shape.len()).collect::<Vec<usize>>());
            results.push((b.select(mask, both[0], both[1]), true));
        }
        Ok(results)
    }
}

/// The residuals that the known part of a `cond` gives: each branch fills those that it needs. Those of two branches share one
/// where they have the same type and depend on the same operands, so that a slot depends on no more than what is in it.
#[derive(Debug, Default)]
struct Slots {
    types: Vec<Type>,
    depend_on: Vec<Vec<bool>>,
}

/// Which inputs of a Program each of these values depends on.
fn dependences(program: &Program, values: &[Value]) -> Vec<Vec<bool>> {
    let count = program.input_types().len();
    let mut found = vec![vec![false; count]; values.len()];
    for k in 0..count {
        let mut reached: Vec<bool> = (0..count).map(|input| input == k).collect();
        for eqn in program.eqns() {
            let own = eqn.args.iter().any(|arg| reached[arg.index()]);
            reached.extend(eqn.outs().map(|_| own));
        }
        found.iter_mut().zip(values).for_each(|(found, value)| found[k] = reached[value.index()]);
    }
    found
}

/// A branch in two parts.
struct Divided {
    /// The known part, whose results are still to be chosen, and the known outputs.
    known: Builder,
    outputs: Vec<Value>,
    /// Takes the residuals, then the unknown inputs.
    rest: Program,
    /// Where each residual comes from: an input that is passed on, or a slot, with its value in the known part.
    residuals: Vec<Result<usize, (usize, Value)>>,
    /// The inputs that are passed on.
    passed: Vec<usize>,
}

impl Divided {
    fn of(branch: &Program, unknown: &[bool], is_known: &[bool], slots: &mut Slots) -> Self {
        let mut known = Builder::new();
        let types = branch.input_types().iter().zip(unknown);
        let args: Vec<Option<Value>> =
            types.map(|(ty, unknown)| (!unknown).then(|| known.input("", ty.clone()))).collect();
        let parts = divide(&mut known, branch, &args, is_known);
        let mut taken = vec![false; slots.types.len()];
        let mut residuals = Vec::with_capacity(parts.residuals.len());
        let depend_on = dependences(branch, &parts.residuals.iter().map(|&(value, _)| value).collect::<Vec<Value>>());
        for ((value, own), depends_on) in parts.residuals.into_iter().zip(depend_on) {
            if value.index() < args.len() {
                residuals.push(Ok(value.index()));
                continue;
            }
            let ty = branch.ty(value);
            let fits = |slot: usize| slots.types[slot] == *ty && slots.depend_on[slot] == depends_on;
            let free = (0..slots.types.len()).find(|&slot| !taken[slot] && fits(slot));
            let slot = free.unwrap_or_else(|| {
                slots.depend_on.push(depends_on);
                slots.types.push(ty.clone());
                taken.push(false);
                slots.types.len() - 1
            });
            taken[slot] = true;
            residuals.push(Err((slot, own)));
        }
        let passed = residuals.iter().filter_map(|residual| residual.as_ref().ok().copied()).collect();
        let outputs = parts.outputs.into_iter().flatten().collect();
        Divided { known, outputs, rest: parts.unknown, residuals, passed }
    }

    /// The known part, which gives its outputs and then every slot, zeros where the branch has nothing to keep; and the
    /// unknown part, which takes the inputs that are passed on, the slots and the unknown inputs.
    fn finish(mut self, slots: &[Type], passed: &[usize], rest_types: &[Type]) -> (Program, Program) {
        let mut filled: Vec<Option<Value>> = vec![None; slots.len()];
        for &(slot, value) in self.residuals.iter().filter_map(|residual| residual.as_ref().err()) {
            filled[slot] = Some(value);
        }
        let mut results = self.outputs;
        for (value, ty) in filled.into_iter().zip(slots) {
            let value = value.unwrap_or_else(|| self.known.full(0.0, ty));
            results.push(value);
        }
        let mut b = Builder::new();
        let inputs: Vec<Value> = rest_types.iter().map(|ty| b.input("", ty.clone())).collect();
        let source = |residual: &Result<usize, (usize, Value)>| match residual {
            Ok(input) => inputs[passed.iter().position(|own| own == input).expect("it is passed on")],
            Err((slot, _)) => inputs[passed.len() + slot],
        };
        let unknown = &inputs[passed.len() + slots.len()..];
        let args: Vec<Value> = self.residuals.iter().map(source).chain(unknown.iter().copied()).collect();
        let outs = inline(&mut b, &self.rest, &args);
        (dce(self.known.finish(&results)), b.finish(&outs))
    }
}

impl Family for Cond {
    #[cfg(feature = "text")]
    fn parse(name: &str, fields: &mut Fields) -> Option<Result<Self, Misfit>> {
        (name == "cond").then(|| {
            let (yes, no) = (fields.program("yes")?, fields.program("no")?);
            Ok(Cond { yes, no, joint: fields.has("joint") && fields.flag("joint")? })
        })
    }
    fn samples() -> Vec<Sample> {
        let branch = |op: Unary| {
            let mut b = Builder::new();
            let (x, y) = (b.input("", Type::new(DType::F64, &[3])), b.input("", Type::new(DType::F64, &[3])));
            let z = b.op(op, &[x]);
            let z = if op == Unary::Sin { b.mul(z, y) } else { z };
            b.finish(&[z])
        };
        let cond = Cond::new(branch(Unary::Sin), branch(Unary::Square));
        let args = |outcome: bool| [Array::scalar(outcome), numbers(1, &[3]), numbers(2, &[3])];
        let joint = Cond::joint(branch(Unary::Sin), branch(Unary::Sin));
        let samples = [(&cond, true), (&cond, false), (&joint, true), (&joint, false)];
        samples.into_iter().map(|(cond, outcome)| Sample::new(cond.clone(), &args(outcome))).collect()
    }
}
