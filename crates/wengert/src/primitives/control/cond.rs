//! One of several Programs.

use std::borrow::Cow;
use std::sync::Arc;

use super::{
    CotangentLayout, PullbackOperands, WithInputTangents, batch_region, can_fail, check_inputs, cotangents, inside,
    place, pulled_program, run,
};
use crate::array::{Array, DType, Type};
use crate::error::{Error, ErrorKind, Misfit, misfit};
use crate::ops::Unary;
#[cfg(feature = "text")]
use crate::primitives::parse::Fields;
use crate::primitives::sample::numbers;
use crate::primitives::{
    Attributes, Batched, Compare, Cotangent, Ensure, Family, Form, Literal, Logic, MaskedCotangents, Op, Operand,
    OperandSet, Primitive, Reduce, Reducer, RunInside, Sample, Source, Split, Wiring, WithTangents,
};
use crate::program::{Builder, Program, Value, dce, inline};
use crate::transform::partial::{divide, split_inside, unknown_outputs};
use crate::transform::pattern::{Follow, Followed};
use crate::transform::vmap;

/// One of the Programs, of the operands behind the first. The first operand says which: a truth value, or an index. Only that
/// one runs.
///
/// Under `vmap` with a choice of its own in every lane all of them run, and `select` chooses: what is
/// not chosen never reaches a derivative. A `joint` one asks whether the condition holds in every
/// lane instead, and stays one of two.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Cond {
    /// What runs: of the same types, and at least one.
    pub branches: Vec<Arc<Program>>,
    /// How the first operand chooses.
    pub by: Choice,
}

/// How the first operand of a [`Cond`] chooses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Choice {
    /// A truth value: the first of two branches if it holds, else the second.
    Truth,
    /// As [`Choice::Truth`], where the first branch is only a shorter way to what the second gives where the condition holds,
    /// so that the second is right everywhere.
    Joint,
    /// An integer: the branch of this index, from 0. Any other is an error.
    Index,
}

impl Cond {
    /// Between two, by a truth value.
    pub fn new(yes: Program, no: Program) -> Self {
        Cond { branches: vec![Arc::new(yes), Arc::new(no)], by: Choice::Truth }
    }

    /// Between any number, by an index.
    ///
    /// ```
    /// use wengert::primitives::Cond;
    /// use wengert::{Array, Builder, DType, Program, Type};
    /// let of = |text: &str| text.parse::<Program>();
    /// let branches = vec![
    ///     of("program(v0: f64[]) { v1: f64[] = sin v0; return v1 }")?,
    ///     of("program(v0: f64[]) { v1: f64[] = neg v0; return v1 }")?,
    ///     of("program(v0: f64[]) { return v0 }")?,
    /// ];
    /// let mut b = Builder::new();
    /// let (index, x) = (b.input("index", Type::new(DType::I64, &[])), b.input("x", Type::new(DType::F64, &[])));
    /// let y = b.emit(Cond::by_index(branches), &[index, x])?[0];
    /// let program = b.finish(&[y]);
    /// assert_eq!(program.run(&[Array::scalar(1i64), Array::scalar(3.0)])?[0].to_f64(), [-3.0]);
    /// assert!(program.run(&[Array::scalar(3i64), Array::scalar(3.0)]).is_err());
    /// # Ok::<(), wengert::Error>(())
    /// ```
    pub fn by_index(branches: impl IntoIterator<Item = Program>) -> Self {
        Cond { branches: branches.into_iter().map(Arc::new).collect(), by: Choice::Index }
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
        Cond { by: Choice::Joint, ..Cond::new(yes, no) }
    }

    /// The place of the branch that is taken.
    pub(crate) fn choose(&self, choice: &Array) -> Result<usize, Misfit> {
        match self.by {
            Choice::Truth | Choice::Joint => Ok(usize::from(!choice.known::<bool>()[0])),
            Choice::Index => Choice::place(choice.known::<i64>()[0], self.branches.len()),
        }
    }

    /// Between other Programs, in the same way.
    fn between(&self, branches: Vec<Program>) -> Self {
        Cond { branches: branches.into_iter().map(Arc::new).collect(), by: self.by }
    }

    /// The function of the user's that it is.
    fn called(&self) -> &'static str {
        match self.by {
            Choice::Truth | Choice::Joint => "cond",
            Choice::Index => "switch",
        }
    }

    /// Whether what runs in a lane that does not count could fail there.
    fn can_fail(&self) -> bool {
        self.by == Choice::Index || self.branches.iter().any(|branch| can_fail(branch))
    }

    /// What `make` gives of every branch.
    fn each<T>(&self, mut make: impl FnMut(&Program) -> Result<T, Misfit>) -> Result<Vec<T>, Misfit> {
        self.branches.iter().map(|branch| make(branch)).collect()
    }
}

impl Choice {
    /// The place that an index stands for.
    pub(crate) fn place(index: i64, branches: usize) -> Result<usize, Misfit> {
        match usize::try_from(index) {
            Ok(place) if place < branches => Ok(place),
            _ => Err(Misfit(Choice::refused(&index.to_string(), branches))),
        }
    }

    /// What is said of an index without a branch.
    fn refused(index: &str, branches: usize) -> String {
        format!("the index {index} is out of range: there are branches 0 to {}", branches - 1)
    }
}

impl Cond {
    /// Its value by definition, with the Programs inside run by `run`.
    fn steps(&self, args: &[&Array], run: &mut RunInside<'_>) -> Result<Vec<Array>, Misfit> {
        run(&self.branches[self.choose(args[0])?], &args[1..])
    }
}

impl Primitive for Cond {
    fn name(&self) -> Cow<'static, str> {
        "cond".into()
    }
    fn infer(&self, args: &[&Type]) -> Result<Vec<Type>, Misfit> {
        let [choice, operands @ ..] = args else { misfit!("it takes a condition or an index") };
        let (role, wanted) = match self.by {
            Choice::Truth | Choice::Joint => ("condition", Type::new(DType::Bool, &[])),
            Choice::Index => ("index", Type::new(DType::I64, &[])),
        };
        if **choice != wanted {
            misfit!("the {role} is {choice}, and has to be {wanted}");
        }
        if self.by != Choice::Index && self.branches.len() != 2 {
            misfit!("a condition chooses between 2 branches, and here are {}", self.branches.len());
        }
        let [first, others @ ..] = &self.branches[..] else { misfit!("there is no branch") };
        check_inputs(first, operands)?;
        let results = first.output_types();
        for (k, other) in others.iter().enumerate() {
            check_inputs(other, operands)?;
            check_results(&results, &other.output_types(), k + 1)?;
        }
        Ok(results)
    }
    fn eval(&self, args: &[&Array]) -> Result<Vec<Array>, Misfit> {
        self.steps(args, &mut run)
    }
    fn eval_by(&self, args: &[&Array], run: &mut RunInside<'_>) -> Option<Result<Vec<Array>, Misfit>> {
        Some(self.steps(args, run))
    }
    fn failure(&self, why: Misfit, args: &[&Type]) -> Error {
        Error::new(ErrorKind::Run, self.called(), why.0).of(args.iter().copied())
    }
    fn form(&self, _: &[&Type]) -> Form {
        Form::Planned
    }
    fn follow(&self, follow: &mut Follow, operands: &[Followed]) -> Option<Result<Vec<Followed>, Error>> {
        // The branch that is taken, where it is known; all of them are joined by the wiring.
        let taken = self.choose(operands[0].value.as_ref()?).ok()?;
        Some(follow.through(&self.branches[taken], &operands[1..], false))
    }
    fn decides(&self) -> Vec<usize> {
        vec![0]
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
        if batched[0] && self.by == Choice::Joint {
            // Where it does not hold in one lane, the longer way is right for all of them.
            let everywhere = b.op(Reduce::new(Reducer::All, &[0]), &args[..1]);
            let (args, batched) = ([&[everywhere], &args[1..]].concat(), [&[false], &batched[1..]].concat());
            return self.batch(b, &args, &batched, length);
        }
        if batched[0] {
            return self.batch_by_select(b, args, batched, length, None);
        }
        // A result has the axis if it has it in one of the branches.
        let reached = self.each(|program| Ok(batch_region(program, &batched[1..], length)?.1))?;
        let flags: Vec<bool> = (0..reached[0].len()).map(|k| reached.iter().any(|flags| flags[k])).collect();
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
        let outs = b.ops(self.between(self.each(widen)?), args);
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
        if self.by == Choice::Joint && !self.can_fail() {
            return None;
        }
        // The condition of each lane by itself.
        let condition = b.batch_all(&args[..1], &batched[..1], length);
        let (args, batched) = ([&condition, &args[1..]].concat(), [&[true], &batched[1..]].concat());
        Some(self.batch_by_select(b, &args, &batched, length, Some(mask)))
    }
    /// An index where a lane does not count may be anything.
    fn harmless(&self) -> Vec<(usize, f64)> {
        if self.by == Choice::Index { vec![(0, 0.0)] } else { Vec::new() }
    }
    fn programs(&self) -> Vec<&Arc<Program>> {
        self.branches.iter().collect()
    }
    fn wiring(&self) -> Wiring {
        Wiring::OneOf { first: 1 }
    }
    fn with_programs(&self, branches: Vec<Arc<Program>>) -> Op {
        Cond { branches, by: self.by }.into()
    }
    fn attributes(&self) -> Attributes {
        let two = || Attributes::default().with("yes", &self.branches[0]).with("no", &self.branches[1]);
        match self.by {
            Choice::Truth => two(),
            Choice::Joint => two().with("joint", true),
            Choice::Index => Attributes::default().with("branches", &self.branches[..]),
        }
    }
}

/// That a branch gives what the first one gives.
fn check_results(first: &[Type], other: &[Type], k: usize) -> Result<(), Misfit> {
    if first.len() != other.len() {
        misfit!("branches 0 and {k} have {} and {} results", first.len(), other.len());
    }
    match first.iter().zip(other).position(|(first, other)| first != other) {
        Some(result) => {
            misfit!("result {result} is {} in branch 0 and {} in branch {k}", first[result], other[result])
        }
        None => Ok(()),
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
        // Each branch is differentiated once: twice would be four times for a branch in a branch.
        let branches = self.each(|program| WithInputTangents::of(program, &active))?;
        let has: Vec<bool> =
            (0..branches[0].dots.len()).map(|k| branches.iter().any(|branch| branch.dots[k].is_some())).collect();
        // Values and tangents in one equation: a branch runs once for both, and `split` keeps what the tangents need.
        let branches = branches.into_iter().map(|branch| branch.joined(&has)).collect();
        let operands: Vec<Value> = args.iter().copied().chain(tangents.iter().flatten().copied()).collect();
        let mut outs = b.ops(self.between(branches), &operands);
        let dots = outs.split_off(has.len());
        Ok((outs, place(dots, &has)))
    }

    fn transpose_branches(&self, b: &mut Builder, cts: &[Option<Cotangent>], operands: &[Operand]) -> MaskedCotangents {
        let operands_inside = &operands[1..];
        if operands[0].is_linear() {
            misfit!("the condition depends on what is transposed");
        }
        let region = PullbackOperands::new(cts, operands_inside);
        let pulled = self.each(|program| region.transpose(program, operands_inside))?;
        let layout = joint_layout(pulled.iter().map(|(_, cts)| &cts[..]));
        let branches = pulled.into_iter().map(|(b, cts)| pulled_program(b, &cts, &layout, operands_inside)).collect();
        let args: Vec<Value> = std::iter::once(operands[0].known()).chain(region.args).collect();
        let results = b.ops(self.between(branches), &args);
        let pulled = cotangents(results, &layout);
        Ok(std::iter::once(None).chain(pulled).collect())
    }

    /// The branches in two parts each. What a branch computes for its unknown part is kept in slots, which the branches share
    /// where their types agree; the one that does not run leaves no residuals, so the other's slots are the same memory.
    fn split_branches(&self, unknown: &[bool]) -> Option<Split> {
        let inputs = &unknown[1..];
        let branches: Vec<Cow<'_, Program>> =
            self.branches.iter().map(|branch| split_inside(Cow::Borrowed(&**branch), inputs)).collect();
        let reached: Vec<Vec<bool>> = branches.iter().map(|branch| unknown_outputs(branch, inputs)).collect();
        let is_known: Vec<bool> = (0..reached[0].len()).map(|k| !reached.iter().any(|unknown| unknown[k])).collect();
        let mut slots = Slots::default();
        let divided: Vec<Divided> =
            branches.iter().map(|branch| Divided::of(branch, inputs, &is_known, &mut slots)).collect();
        let computes = !slots.types.is_empty() || is_known.contains(&true);
        if !computes {
            return None;
        }
        let passed: Vec<usize> =
            (0..inputs.len()).filter(|k| divided.iter().any(|divided| divided.passed.contains(k))).collect();
        let types = self.branches[0].input_types();
        let inputs_of_rest = passed.iter().map(|&k| types[k].clone()).chain(slots.types.iter().cloned());
        let rest_types: Vec<Type> =
            inputs_of_rest.chain((0..inputs.len()).filter(|&k| inputs[k]).map(|k| types[k].clone())).collect();
        let (known_branches, rest) =
            divided.into_iter().map(|divided| divided.finish(&slots.types, &passed, &rest_types)).unzip();
        let known = (0..unknown.len()).filter(|&k| !unknown[k]);
        let operands = std::iter::once(0).chain(passed.iter().map(|k| k + 1)).map(Source::Operand);
        let residuals = (0..slots.types.len()).map(Source::Residual);
        let unknown_operands = (0..unknown.len()).filter(|&k| unknown[k]).map(Source::Operand);
        Some(Split {
            known: self.between(known_branches).into(),
            known_args: known.collect(),
            is_known,
            unknown: self.between(rest).into(),
            unknown_args: operands.chain(residuals).chain(unknown_operands).collect(),
        })
    }

    /// All branches for every lane, and `select`. The choice is batched; `within` are the lanes
    /// that come here at all.
    fn batch_by_select(
        &self,
        b: &mut Builder,
        args: &[Value],
        batched: &[bool],
        length: usize,
        within: Option<Value>,
    ) -> Batched {
        let chosen = self.chosen(b, args[0], within);
        let mut results: Vec<Value> = Vec::new();
        // From the last on: what none of the earlier ones takes.
        for (branch, &lanes) in self.branches.iter().zip(&chosen).rev() {
            let taken = match within {
                Some(within) => b.op(Logic::And, &[lanes, within]),
                None => lanes,
            };
            let outs = vmap::vmap_guarded(b, branch, &args[1..], &batched[1..], length, taken).map_err(inside)?;
            let outs: Vec<Value> =
                outs.into_iter().map(|(out, has)| if has { out } else { b.repeat_in_front(out, length) }).collect();
            if results.is_empty() {
                results = outs;
                continue;
            }
            for (result, out) in results.iter_mut().zip(outs) {
                let shape = b.shape(out).to_vec();
                let mask = b.spread(lanes, &shape, &(1..shape.len()).collect::<Vec<usize>>());
                *result = b.select(mask, out, *result);
            }
        }
        Ok(results.into_iter().map(|result| (result, true)).collect())
    }

    /// For every branch the lanes that take it. An index that is out of range is an error in the lanes that count.
    fn chosen(&self, b: &mut Builder, choice: Value, within: Option<Value>) -> Vec<Value> {
        if self.by != Choice::Index {
            let not = b.op(Logic::Not, &[choice]);
            return vec![choice, not];
        }
        let index = match within {
            Some(within) => {
                let zero = b.zeros_like(choice);
                b.select(within, choice, zero)
            }
            None => choice,
        };
        let branches = self.branches.len();
        let length = b.shape(index)[0];
        let [first, end] = [0, branches].map(|k| {
            let k = b.op(Literal::I64(k as i64), &[]);
            b.repeat_in_front(k, length)
        });
        let [above, below] = [(Compare::Ge, first), (Compare::Lt, end)].map(|(op, bound)| b.op(op, &[index, bound]));
        let exists = b.op(Logic::And, &[above, below]);
        let refused = Ensure::new(self.called(), &Choice::refused("{}", branches));
        let index = b.op(refused, &[index, exists, index]);
        let lanes = |k: usize, b: &mut Builder| {
            let k = b.op(Literal::I64(k as i64), &[]);
            let k = b.repeat_in_front(k, length);
            b.op(Compare::Eq, &[index, k])
        };
        (0..branches).map(|k| lanes(k, b)).collect()
    }
}

/// The layout of cotangents that several branches can give. One that gives nothing gives zeros that count nowhere, so the
/// others' need a mask.
fn joint_layout<'a>(pulled: impl Iterator<Item = &'a [Option<Cotangent>]> + Clone) -> CotangentLayout {
    let first = pulled.clone().next().expect("there is a branch");
    let one = |k: usize| {
        let mut found = pulled.clone().map(|cts| cts[k]);
        let some = found.clone().any(|ct| ct.is_some());
        some.then(|| found.any(|ct| ct.is_none_or(|ct| ct.mask.is_some())))
    };
    (0..first.len()).map(one).collect()
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
            if fields.has("branches") {
                return Ok(Cond { branches: fields.programs("branches")?, by: Choice::Index });
            }
            let branches = vec![fields.program("yes")?, fields.program("no")?];
            let joint = fields.has("joint") && fields.flag("joint")?;
            Ok(Cond { branches, by: if joint { Choice::Joint } else { Choice::Truth } })
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
        let args = |choice: Array| [choice, numbers(1, &[3]), numbers(2, &[3])];
        let joint = Cond::joint(branch(Unary::Sin), branch(Unary::Sin));
        let samples = [(&cond, true), (&cond, false), (&joint, true), (&joint, false)];
        let truth = samples.into_iter().map(|(cond, holds)| Sample::new(cond.clone(), &args(Array::scalar(holds))));
        let of_three = Cond::by_index([Unary::Square, Unary::Sin, Unary::Exp].map(branch));
        let of_one = Cond::by_index([branch(Unary::Sin)]);
        let samples = [(&of_three, 0i64), (&of_three, 1), (&of_three, 2), (&of_one, 0)];
        let index = samples.into_iter().map(|(cond, k)| Sample::new(cond.clone(), &args(Array::scalar(k))));
        truth.chain(index).collect()
    }
}
