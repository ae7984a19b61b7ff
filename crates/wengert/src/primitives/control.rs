//! Operations that hold Programs: call, recomputed regions, cond.
//!
//! Their tangents are operations of the same kind on the tangent Programs, their transposes on the
//! transposed ones: every transformation recurses into them.

use std::borrow::Cow;
use std::sync::Arc;

use super::sample::numbers;
use super::{Attributes, Cotangent, Family, Op, Operand, OperandSet, Primitive, Reduce, Reducer, Sample, WithTangents};
use crate::array::{Array, DType, Type};
use crate::error::{Error, Misfit, misfit};
use crate::ops::{Binary, Unary};
use crate::optimize::dce;
use crate::program::{Builder, Program, Value};
use crate::transform::{jvp, same_inputs, transpose, vmap};

/// An error of a Program inside, as the reason of the operation that holds it.
fn inside(error: Error) -> Misfit {
    Misfit(format!("inside: {error}"))
}

/// Checks operands against the inputs of a Program.
fn check_inputs(program: &Program, args: &[&Type]) -> Result<(), Misfit> {
    let wanted = program.input_types();
    if wanted.len() != args.len() {
        misfit!("the program inside takes {} operands, and gets {}", wanted.len(), args.len());
    }
    match wanted.iter().zip(args).position(|(wanted, ty)| wanted != *ty) {
        Some(k) => misfit!("the program inside takes {} as operand {k}, and gets {}", wanted[k], args[k]),
        None => Ok(()),
    }
}

/// The tangents of a Program's outputs alone, as a Program of its inputs and their tangents, with
/// zeros for the outputs marked in `wanted` that have none; and which outputs have one.
fn tangent_program(
    program: &Program,
    active: &[bool],
    wanted: Option<&[bool]>,
) -> Result<(Program, Vec<bool>), Misfit> {
    let mut b = Builder::new();
    let args = same_inputs(&mut b, program);
    let tangents = jvp::tangent_inputs(&mut b, program, active);
    let (outs, dots) = jvp::jvp(&mut b, program, &args, &tangents).map_err(inside)?;
    let has: Vec<bool> = dots.iter().map(Option::is_some).collect();
    let wanted = wanted.unwrap_or(&has).to_vec();
    let results: Vec<Value> =
        (0..outs.len()).filter(|&k| wanted[k]).map(|k| dots[k].unwrap_or_else(|| b.zeros_like(outs[k]))).collect();
    Ok((dce(b.finish(&results)), has))
}

/// Values by position, spread over the positions that have one.
fn place(values: Vec<Value>, has: &[bool]) -> Vec<Option<Value>> {
    let mut values = values.into_iter();
    has.iter().map(|&has| if has { values.next() } else { None }).collect()
}

/// The operands of a transposed region: what is known, then the cotangents, then their masks.
struct Pulled {
    args: Vec<Value>,
    /// Which cotangents there are, and whether they have a mask.
    cotangents: Vec<Option<bool>>,
}

impl Pulled {
    fn new(cts: &[Option<Cotangent>], operands: &[Operand]) -> Self {
        let known = operands.iter().filter_map(|operand| match operand {
            Operand::Known(value) => Some(*value),
            Operand::Linear(_) => None,
        });
        let values = cts.iter().flatten().map(|ct| ct.value);
        let masks = cts.iter().flatten().filter_map(|ct| ct.mask);
        let cotangents = cts.iter().map(|ct| ct.map(|ct| ct.mask.is_some())).collect();
        Pulled { args: known.chain(values).chain(masks).collect(), cotangents }
    }

    /// The transpose of a Program inside, before its results are chosen.
    fn transpose(&self, program: &Program, operands: &[Operand]) -> Result<(Builder, Vec<Option<Cotangent>>), Misfit> {
        let mut b = Builder::new();
        let types = program.input_types();
        let args: Vec<Option<Value>> = operands
            .iter()
            .zip(types)
            .map(|(operand, ty)| (!operand.is_linear()).then(|| b.input("", ty.clone())))
            .collect();
        let outputs = program.output_types();
        let present = |k: usize| self.cotangents[k];
        let values: Vec<Option<Value>> =
            (0..outputs.len()).map(|k| present(k).map(|_| b.input("", outputs[k].clone()))).collect();
        let cts: Vec<Option<Cotangent>> = (0..outputs.len())
            .map(|k| {
                let value = values[k]?;
                let mask = (present(k) == Some(true)).then(|| b.input("", outputs[k].with_dtype(DType::Bool)));
                Some(Cotangent { value, mask })
            })
            .collect();
        let pulled = transpose::transpose_masked(&mut b, program, &args, &cts).map_err(inside)?;
        Ok((b, pulled))
    }
}

/// What each operand gets from a transposed region: nothing, a cotangent, one with a mask.
type Layout = Vec<Option<bool>>;

/// The Program whose results are the cotangents of a layout and then their masks. Where this one
/// has none, zeros that count nowhere; where it has no mask, one that is true.
fn pulled_program(mut b: Builder, pulled: &[Option<Cotangent>], layout: &Layout, operands: &[Operand]) -> Program {
    let (mut values, mut masks) = (Vec::new(), Vec::new());
    for (k, wanted) in layout.iter().enumerate() {
        let Some(masked) = wanted else { continue };
        let ty = operands[k].ty(&b);
        values.push(pulled[k].map_or_else(|| b.full(0.0, &ty), |ct| ct.value));
        if *masked {
            let known = |b: &mut Builder, value: bool| b.full(f64::from(u8::from(value)), &ty.with_dtype(DType::Bool));
            masks.push(match pulled[k] {
                None => known(&mut b, false),
                Some(ct) => ct.mask.unwrap_or_else(|| known(&mut b, true)),
            });
        }
    }
    values.extend(masks);
    dce(b.finish(&values))
}

/// The results of a transposed region as cotangents.
fn cotangents(results: Vec<Value>, layout: &Layout) -> Vec<Option<Cotangent>> {
    let count = layout.iter().flatten().count();
    let (values, masks) = results.split_at(count);
    let (mut values, mut masks) = (values.iter().copied(), masks.iter().copied());
    let one = |masked: &Option<bool>| {
        let masked = (*masked)?;
        Some(Cotangent { value: values.next()?, mask: if masked { masks.next() } else { None } })
    };
    layout.iter().map(one).collect()
}

// ---- call and recompute -------------------------------------------------------------------------

/// A Program as one equation. Its derivative is that of its equations.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Call {
    /// What is called.
    pub program: Arc<Program>,
}

/// A region whose values are not kept for the backward pass but computed again there: `checkpoint`.
/// It is a barrier for common subexpressions, so that the second computation stays.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Recompute {
    /// The region.
    pub program: Arc<Program>,
}

/// The transpose of a region as an equation of the same kind.
fn transpose_region(
    b: &mut Builder,
    program: &Program,
    cts: &[Option<Cotangent>],
    operands: &[Operand],
    op: fn(Program) -> Op,
) -> Result<Vec<Option<Cotangent>>, Misfit> {
    let region = Pulled::new(cts, operands);
    let (inner, pulled) = region.transpose(program, operands)?;
    let layout: Layout = pulled.iter().map(|ct| ct.map(|ct| ct.mask.is_some())).collect();
    let transposed = pulled_program(inner, &pulled, &layout, operands);
    let results = b.ops(op(transposed), &region.args);
    Ok(cotangents(results, &layout))
}

/// The batched region, and which of its results have the axis.
fn batch_region(program: &Program, batched: &[bool], length: usize) -> Result<(Program, Vec<bool>), Misfit> {
    let mut b = Builder::new();
    let args = vmap::batched_inputs(&mut b, program, batched, length);
    let outs = vmap::vmap(&mut b, program, &args, batched, length).map_err(inside)?;
    let (outs, flags): (Vec<Value>, Vec<bool>) = outs.into_iter().unzip();
    Ok((b.finish(&outs), flags))
}

macro_rules! region {
    ($region:ident, $name:literal) => {
        impl $region {
            /// Of this Program.
            pub fn new(program: Program) -> Self {
                $region { program: Arc::new(program) }
            }
        }

        impl Primitive for $region {
            fn name(&self) -> Cow<'static, str> {
                $name.into()
            }
            fn infer(&self, args: &[&Type]) -> Result<Vec<Type>, Misfit> {
                check_inputs(&self.program, args)?;
                Ok(self.program.output_types())
            }
            fn eval(&self, args: &[&Array]) -> Result<Vec<Array>, Misfit> {
                let args: Vec<Array> = args.iter().map(|&arg| arg.clone()).collect();
                self.program.run_reference(&args).map_err(inside)
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
                Some(self.jvp_of_region(b, args, tangents))
            }
            fn transpose_masked(
                &self,
                b: &mut Builder,
                cts: &[Option<Cotangent>],
                operands: &[Operand],
            ) -> Option<Result<Vec<Option<Cotangent>>, Misfit>> {
                Some(transpose_region(b, &self.program, cts, operands, |program| $region::new(program).into()))
            }
            fn batch(
                &self,
                b: &mut Builder,
                args: &[Value],
                batched: &[bool],
                length: usize,
            ) -> Result<Vec<(Value, bool)>, Misfit> {
                let (program, flags) = batch_region(&self.program, batched, length)?;
                let outs = b.ops($region::new(program), args);
                Ok(outs.into_iter().zip(flags).collect())
            }
            fn programs(&self) -> Vec<&Arc<Program>> {
                vec![&self.program]
            }
            fn attributes(&self) -> Attributes {
                Attributes::default().with("program", &self.program)
            }
        }

        impl Family for $region {
            fn samples() -> Vec<Sample> {
                let mut b = Builder::new();
                let (x, y) = (b.input("", Type::new(DType::F64, &[3])), b.input("", Type::new(DType::F64, &[3])));
                let sine = b.op(Unary::Sin, &[x]);
                let product = b.op(Binary::Mul, &[sine, y]);
                let program = b.finish(&[product, x]);
                vec![Sample::new($region::new(program), &[numbers(1, &[3]), numbers(2, &[3])])]
            }
        }
    };
}
region!(Call, "call");
region!(Recompute, "recompute");

impl Call {
    fn jvp_of_region(
        &self,
        b: &mut Builder,
        args: &[Value],
        tangents: &[Option<Value>],
    ) -> Result<WithTangents, Misfit> {
        jvp::jvp(b, &self.program, args, tangents).map_err(inside)
    }
}

impl Recompute {
    /// The values, and as a second region the tangents: it computes again what it needs.
    fn jvp_of_region(
        &self,
        b: &mut Builder,
        args: &[Value],
        tangents: &[Option<Value>],
    ) -> Result<WithTangents, Misfit> {
        let outs = b.ops(self.clone(), args);
        let active: Vec<bool> = tangents.iter().map(Option::is_some).collect();
        let (program, has) = tangent_program(&self.program, &active, None)?;
        let operands: Vec<Value> = args.iter().copied().chain(tangents.iter().flatten().copied()).collect();
        let dots = b.ops(Recompute::new(program), &operands);
        Ok((outs, place(dots, &has)))
    }
}

// ---- cond ---------------------------------------------------------------------------------------

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
    pub(crate) fn between(&self, yes: Program, no: Program) -> Self {
        Cond { joint: self.joint, ..Cond::new(yes, no) }
    }

    /// Whether what runs in a lane that does not count could fail there.
    pub(crate) fn can_fail(&self) -> bool {
        can_fail(&self.yes) || can_fail(&self.no)
    }

    /// The equation on Programs made of both; `make` gives the new ones.
    fn both<T>(&self, mut make: impl FnMut(&Program) -> Result<T, Misfit>) -> Result<(T, T), Misfit> {
        Ok((make(&self.yes)?, make(&self.no)?))
    }
}

/// Whether an operation inside can fail on the values it gets.
fn can_fail(program: &Program) -> bool {
    program.eqns().iter().any(|eqn| !eqn.op.harmless().is_empty() || eqn.op.programs().iter().any(|p| can_fail(p)))
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
        let branch = if args[0].known::<bool>()[0] { &self.yes } else { &self.no };
        let args: Vec<Array> = args[1..].iter().map(|&arg| arg.clone()).collect();
        branch.run_reference(&args).map_err(inside)
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
    ) -> Option<Result<Vec<Option<Cotangent>>, Misfit>> {
        Some(self.transpose_branches(b, cts, operands))
    }
    fn batch(
        &self,
        b: &mut Builder,
        args: &[Value],
        batched: &[bool],
        length: usize,
    ) -> Result<Vec<(Value, bool)>, Misfit> {
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
    fn programs(&self) -> Vec<&Arc<Program>> {
        vec![&self.yes, &self.no]
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
        let outs = b.ops(self.clone(), args);
        let active: Vec<bool> = tangents[1..].iter().map(Option::is_some).collect();
        let ((_, yes), (_, no)) = self.both(|program| tangent_program(program, &active, None))?;
        let has: Vec<bool> = yes.iter().zip(&no).map(|(yes, no)| yes | no).collect();
        let ((yes, _), (no, _)) = self.both(|program| tangent_program(program, &active, Some(&has)))?;
        let operands: Vec<Value> = args.iter().copied().chain(tangents.iter().flatten().copied()).collect();
        let dots = b.ops(self.between(yes, no), &operands);
        Ok((outs, place(dots, &has)))
    }

    fn transpose_branches(
        &self,
        b: &mut Builder,
        cts: &[Option<Cotangent>],
        operands: &[Operand],
    ) -> Result<Vec<Option<Cotangent>>, Misfit> {
        let operands_inside = &operands[1..];
        if operands[0].is_linear() {
            misfit!("the condition depends on what is transposed");
        }
        let region = Pulled::new(cts, operands_inside);
        let ((yes_b, yes), (no_b, no)) = self.both(|program| region.transpose(program, operands_inside))?;
        // A branch that gives nothing gives zeros that count nowhere, so the other's needs a mask.
        let layout: Layout = yes
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

    /// Both branches for every lane, and `select`. The condition is batched; `within` are the lanes
    /// that come here at all.
    pub(crate) fn batch_by_select(
        &self,
        b: &mut Builder,
        args: &[Value],
        batched: &[bool],
        length: usize,
        within: Option<Value>,
    ) -> Result<Vec<(Value, bool)>, Misfit> {
        let taken = |b: &mut Builder, chosen: Value| match within {
            Some(within) => b.op(super::Logic::And, &[chosen, within]),
            None => chosen,
        };
        let not_chosen = b.op(super::Logic::Not, &[args[0]]);
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

impl Family for Cond {
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
