//! A loop as long as a condition holds.

mod backward;

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use super::loops::{
    Bounds, check_carry, check_condition, endless, frozen, goes_on, lanes_that_go_on, marked, of_more_inputs, part_of,
    positions, settled, widen,
};
use super::{check_inputs, inside, run};
use crate::array::{Array, DType, Type};
use crate::error::{Misfit, misfit};
use crate::ops::{Compare, Unary};
#[cfg(feature = "text")]
use crate::primitives::parse::Fields;
use crate::primitives::sample::numbers;
use crate::primitives::{
    Attributes, Batched, Cotangent, Family, Form, Literal, Logic, MaskedCotangents, Narrowed, Op, Operand, OperandSet,
    Phase, Primitive, Reduce, Reducer, RunInside, Sample, Source, Split, Wiring, WithTangents,
};
use crate::program::{Builder, Program, Value, dce, with_outputs};
use crate::transform::partial::{split_inside, unknown_outputs};
use crate::transform::{jvp, vmap};

/// `c = body(w, c)` as long as `condition(w, c)` holds, a single truth value that is asked before every step.
///
/// The operands are the invariants `w` and the carry `c`; the results are those parts of the carry after the last step that
/// are `given`. The number of steps is not known before; one above the limit, if there is one, is an error.
///
/// The tangents are carried beside the carry. Backwards the loop is an [`Unwind`](super::Unwind).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct While {
    /// Whether there is another step.
    pub condition: Arc<Program>,
    /// One step.
    pub body: Arc<Program>,
    /// Which parts of the carry are results.
    pub given: Vec<bool>,
    /// What bounds it.
    pub bounds: Bounds,
}

impl While {
    /// As long as the condition holds; the carry is what a step gives, and its last inputs.
    pub fn new(condition: Program, body: Program, bounds: Bounds) -> Self {
        let given = vec![true; body.outputs().len()];
        While { condition: Arc::new(condition), body: Arc::new(body), given, bounds }
    }

    fn carry_range(&self) -> Range<usize> {
        let inputs = self.body.input_types().len();
        inputs - self.given.len()..inputs
    }

    fn with(&self, condition: Program, body: Program, given: Vec<bool>) -> While {
        While { condition: Arc::new(condition), body: Arc::new(body), given, bounds: self.bounds }
    }

    fn tangents_of_steps(
        &self,
        b: &mut Builder,
        args: &[Value],
        tangents: &[Option<Value>],
    ) -> Result<WithTangents, Misfit> {
        let mut active: Vec<bool> = tangents.iter().map(Option::is_some).collect();
        let carry = self.carry_range();
        let roles = [0..carry.start, carry.clone()];
        let body = settled(&mut active, carry.clone(), |active| tangent_step(&self.body, &roles, active, &roles[1]))?;
        let operands = with_tangents(b, args, tangents, &active, &roles);
        let condition = condition_beside(&self.condition, &body, &active, &roles);
        let moving = &active[carry];
        let given = self.given.iter().copied().chain(marked(&self.given, moving)).collect();
        let mut results = b.ops(self.with(condition, body, given), &operands).into_iter();
        let outs = results.by_ref().take(self.given.iter().filter(|given| **given).count()).collect();
        let dots = marked(moving, &self.given).iter().map(|&moves| if moves { results.next() } else { None }).collect();
        Ok((outs, dots))
    }

    /// The loop with what is inside of a step divided into what depends on the operands that are marked and what does not; also
    /// which operands do, the carry too.
    fn divided(&self, marks: &[bool]) -> (While, Vec<bool>) {
        let mut marks = marks.to_vec();
        let body = settled(&mut marks, self.carry_range(), |marks| {
            let body = split_inside(Cow::Borrowed(&*self.body), marks);
            let after = unknown_outputs(&body, marks);
            Ok((body, after))
        });
        let body = Arc::new(body.expect("nothing fails").into_owned());
        (While { body, ..self.clone() }, marks)
    }

    fn split_steps(&self, unknown: &[bool]) -> Option<Split> {
        let (divided, marks) = self.divided(unknown);
        if unknown_outputs(&self.condition, &marks)[0] {
            return None;
        }
        let is_known: Vec<bool> = self.carry_range().map(|k| !marks[k]).collect();
        if !self.given.iter().zip(&is_known).any(|(given, known)| *given && *known) {
            return None;
        }
        let known: Vec<bool> = marks.iter().map(|unknown| !unknown).collect();
        let condition = part_of(&self.condition, &[true], &known);
        let body = part_of(&divided.body, &is_known, &known);
        let rest = self.given.iter().zip(&is_known).map(|(given, known)| *given && !known).collect();
        Some(Split {
            known: self.with(condition, body, marked(&self.given, &is_known)).into(),
            known_args: positions(&known),
            is_known: marked(&is_known, &self.given),
            unknown: While { given: rest, ..self.clone() }.into(),
            unknown_args: (0..marks.len()).map(Source::Operand).collect(),
        })
    }

    fn batch_steps(
        &self,
        b: &mut Builder,
        args: &[Value],
        batched: &[bool],
        length: usize,
        mask: Option<Value>,
    ) -> Batched {
        let carry = self.carry_range();
        let mut marks = batched.to_vec();
        let (condition, body) = settled(&mut marks, carry.clone(), |marks| self.batched_step(marks, length, mask))?;
        let mut operands: Vec<Value> = mask.into_iter().collect();
        for (k, &arg) in args.iter().enumerate() {
            operands.push(if marks[k] { b.batch_all(&[arg], &[batched[k]], length)[0] } else { arg });
        }
        let results = b.ops(self.with(condition, body, self.given.clone()), &operands);
        Ok(results.into_iter().zip(marked(&marks[carry], &self.given)).collect())
    }

    /// Condition and body with lanes, after the mask if there is one; and which parts of the carry have lanes.
    fn batched_step(
        &self,
        batched: &[bool],
        length: usize,
        mask: Option<Value>,
    ) -> Result<((Program, Program), Vec<bool>), Misfit> {
        let carry = self.carry_range();
        let start = || {
            let mut b = Builder::new();
            let mask = mask.map(|_| b.input("", Type::new(DType::Bool, &[length])));
            let args = vmap::batched_inputs(&mut b, &self.body, batched, length);
            (b, mask, args)
        };
        let (mut b, own_mask, args) = start();
        let (lanes, has_lanes) = lanes_that_go_on(&mut b, &self.condition, &args, batched, length, own_mask)?;
        let any = if has_lanes { b.op(Reduce::new(Reducer::Any, &[0]), &[lanes]) } else { lanes };
        let condition = dce(b.finish(&[any]));
        let (mut b, own_mask, args) = start();
        if !has_lanes {
            let outs = vmap::vmap(&mut b, &self.body, &args, batched, length).map_err(inside)?;
            let wanted = |b: &mut Builder, (k, (out, has)): (usize, (Value, bool))| {
                if batched[carry.start + k] && !has { b.repeat_in_front(out, length) } else { out }
            };
            let flags = outs.iter().map(|(_, has)| *has).collect();
            let outs: Vec<Value> = outs.into_iter().enumerate().map(|out| wanted(&mut b, out)).collect();
            return Ok(((condition, b.finish(&outs)), flags));
        }
        // Every lane has a number of steps of its own: one that is done keeps its carry.
        let (lanes, _) = lanes_that_go_on(&mut b, &self.condition, &args, batched, length, own_mask)?;
        let outs = vmap::vmap_guarded(&mut b, &self.body, &args, batched, length, lanes).map_err(inside)?;
        let before = b.batch_all(&args[carry.clone()], &batched[carry.clone()], length);
        let outs = frozen(&mut b, lanes, &outs, &before, length);
        Ok(((condition, b.finish(&outs)), vec![true; carry.len()]))
    }

    /// The loop without the parts of the carry and the operands that neither the needed results nor the condition need.
    fn without_dead(&self, needed: &[bool]) -> Option<Narrowed> {
        let (carry, count) = (self.carry_range(), self.given.len());
        let mut needed_results = needed.iter();
        let given: Vec<bool> = self.given.iter().map(|&given| given && needed_results.next() == Some(&true)).collect();
        let mut outs = given.clone();
        let asked = self.condition.used_inputs();
        widen(&mut outs, &asked[carry.clone()]);
        let (body, used) = loop {
            let body = with_outputs(&self.body, &outs);
            let used = body.used_inputs();
            if !widen(&mut outs, &used[carry.clone()]) {
                break (body, used);
            }
        };
        let mut keeps: Vec<bool> = used.iter().zip(&asked).map(|(used, asked)| *used || *asked).collect();
        keeps[carry].copy_from_slice(&outs);
        if !keeps.contains(&false) && given == self.given && body.count() == self.body.count() {
            return None;
        }
        debug_assert_eq!(outs.len(), count);
        let condition = part_of(&self.condition, &[true], &keeps);
        let body = crate::program::with_inputs(body, &keeps);
        Some(Narrowed {
            op: self.with(condition, body, marked(&given, &outs)).into(),
            args: positions(&keeps),
            outs: positions(needed),
        })
    }
}

/// A step with its tangents: each kind of input is followed by its tangents; it gives what the step gives, then the tangents
/// of the parts of the carry that are active. Also which outputs have a tangent.
pub(super) fn tangent_step(
    step: &Program,
    roles: &[Range<usize>],
    active: &[bool],
    carry: &Range<usize>,
) -> Result<(Program, Vec<bool>), Misfit> {
    let mut b = Builder::new();
    let types = step.input_types();
    let (mut args, mut tangents) = (Vec::with_capacity(types.len()), Vec::with_capacity(types.len()));
    for role in roles {
        args.extend(role.clone().map(|k| b.input("", types[k].clone())));
        tangents.extend(role.clone().map(|k| active[k].then(|| b.input("", types[k].clone()))));
    }
    let (mut outs, dots) = jvp::jvp(&mut b, step, &args, &tangents).map_err(inside)?;
    for (k, dot) in carry.clone().zip(&dots) {
        if active[k] {
            outs.push(dot.unwrap_or_else(|| b.zeros_like(outs[k - carry.start])));
        }
    }
    Ok((dce(b.finish(&outs)), dots.iter().map(Option::is_some).collect()))
}

/// The operands with their tangents, each kind followed by its own; zeros where a part of the carry gets one later.
pub(super) fn with_tangents(
    b: &mut Builder,
    args: &[Value],
    tangents: &[Option<Value>],
    active: &[bool],
    roles: &[Range<usize>],
) -> Vec<Value> {
    let mut operands = Vec::with_capacity(2 * args.len());
    for role in roles {
        operands.extend(&args[role.clone()]);
        for k in role.clone().filter(|&k| active[k]) {
            operands.push(tangents[k].unwrap_or_else(|| b.zeros_like(args[k])));
        }
    }
    operands
}

/// A condition that takes the inputs of a step with tangents, and ignores these.
pub(super) fn condition_beside(
    condition: &Program,
    step: &Program,
    active: &[bool],
    roles: &[Range<usize>],
) -> Program {
    let mut used = Vec::with_capacity(active.len());
    let mut place = 0;
    for role in roles {
        used.extend(place..place + role.len());
        place += role.len() + active[role.clone()].iter().filter(|active| **active).count();
    }
    of_more_inputs(condition, &step.input_types()[..place], &used)
}

impl While {
    /// Its value by definition, with the Programs inside run by `run`.
    fn steps(&self, args: &[&Array], run: &mut RunInside<'_>) -> Result<Vec<Array>, Misfit> {
        let (invariants, carry) = args.split_at(self.carry_range().start);
        let mut carry: Vec<Array> = carry.iter().map(|&array| array.clone()).collect();
        let mut steps = 0;
        loop {
            let operands: Vec<&Array> = invariants.iter().copied().chain(&carry).collect();
            if !goes_on(&self.condition, &operands)? {
                return Ok(marked(&carry, &self.given));
            }
            if self.bounds.limit == Some(steps) {
                return Err(endless(steps));
            }
            carry = run(&self.body, &operands)?;
            steps += 1;
        }
    }
}

impl Primitive for While {
    fn name(&self) -> Cow<'static, str> {
        "while".into()
    }
    fn infer(&self, args: &[&Type]) -> Result<Vec<Type>, Misfit> {
        if self.body.outputs().len() != self.given.len() || self.given.len() > self.body.input_types().len() {
            let (takes, gives) = (self.body.input_types().len(), self.body.outputs().len());
            misfit!("a step takes {takes} values and gives {gives}, and the carry has {} parts", self.given.len());
        }
        check_condition(&self.condition)?;
        check_carry(&self.body, self.carry_range())?;
        check_inputs(&self.condition, args)?;
        check_inputs(&self.body, args)?;
        Ok(marked(&self.body.output_types(), &self.given))
    }
    fn eval(&self, args: &[&Array]) -> Result<Vec<Array>, Misfit> {
        self.steps(args, &mut run)
    }
    fn eval_by(&self, args: &[&Array], run: &mut RunInside<'_>) -> Option<Result<Vec<Array>, Misfit>> {
        Some(self.steps(args, run))
    }
    fn form(&self, _: &[&Type]) -> Form {
        Form::Planned
    }
    fn reaches_more(&self) -> Option<&'static str> {
        Some("it names what any number of steps reaches")
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
        Some(self.tangents_of_steps(b, args, tangents))
    }
    fn transpose_masked(
        &self,
        b: &mut Builder,
        cts: &[Option<Cotangent>],
        operands: &[Operand],
    ) -> Option<MaskedCotangents> {
        Some(self.transpose_steps(b, cts, operands))
    }
    fn split(&self, unknown: &[bool]) -> Option<Split> {
        self.split_steps(unknown)
    }
    fn batch(&self, b: &mut Builder, args: &[Value], batched: &[bool], length: usize) -> Batched {
        self.batch_steps(b, args, batched, length, None)
    }
    /// A lane that does not count takes no step: it might never end.
    fn batch_masked(
        &self,
        b: &mut Builder,
        args: &[Value],
        batched: &[bool],
        length: usize,
        mask: Value,
    ) -> Option<Batched> {
        Some(self.batch_steps(b, args, batched, length, Some(mask)))
    }
    fn programs(&self) -> Vec<&Arc<Program>> {
        vec![&self.condition, &self.body]
    }
    fn wiring(&self) -> Wiring {
        let body = Phase { program: 1, carry: self.carry_range() };
        let condition = Phase { program: 0, carry: 0..0 };
        let results = positions(&self.given).into_iter().map(|k| (0, k)).collect();
        Wiring::Loop { phases: vec![body, condition], results }
    }
    fn narrowed(&self, needed: &[bool]) -> Option<Narrowed> {
        self.without_dead(needed)
    }
    fn with_programs(&self, programs: Vec<Arc<Program>>) -> Op {
        let [condition, body] = <[_; 2]>::try_from(programs).expect("a condition and a step");
        While { condition, body, given: self.given.clone(), bounds: self.bounds }.into()
    }
    fn attributes(&self) -> Attributes {
        let given: Vec<usize> = self.given.iter().map(|&given| usize::from(given)).collect();
        let attributes = Attributes::default().with("condition", &self.condition).with("body", &self.body);
        let attributes = attributes.with("given", &given[..]);
        self.bounds.added_to(attributes)
    }
}

/// The options `given`, `limit` and `snapshots` in the text form.
#[cfg(feature = "text")]
pub(super) fn given_and_bounds(fields: &mut Fields) -> Result<(Vec<bool>, Bounds), Misfit> {
    let given: Vec<usize> = fields.integers("given")?;
    if given.iter().any(|&mark| mark > 1) {
        misfit!("the option `given` has a mark for each part of the carry, 0 or 1");
    }
    let mut bound = |name| if fields.has(name) { fields.integer(name).map(Some) } else { Ok(None) };
    let bounds = Bounds { limit: bound("limit")?, snapshots: bound("snapshots")? };
    Ok((given.into_iter().map(|mark| mark == 1).collect(), bounds))
}

impl Family for While {
    #[cfg(feature = "text")]
    fn parse(name: &str, fields: &mut Fields) -> Option<Result<Self, Misfit>> {
        (name == "while").then(|| {
            let (condition, body) = (fields.program("condition")?, fields.program("body")?);
            let (given, bounds) = given_and_bounds(fields)?;
            Ok(While { condition, body, given, bounds })
        })
    }
    fn samples() -> Vec<Sample> {
        let given = |marks: [bool; 3]| While { given: marks.to_vec(), ..counted() };
        let args = |count: i64| [numbers(1, &[2]), Array::scalar(count), numbers(2, &[2]), numbers(3, &[2])];
        let doubling = [Array::scalar(1.3f32), Array::scalar(8i64), Array::scalar(0.7f32)];
        let mut samples = vec![Sample::new(doubled(), &doubling)];
        samples.extend([0, 1, 3].map(|count| Sample::new(counted(), &args(count))));
        samples.push(Sample::new(given([false, true, false]), &args(2)));
        samples
            .push(Sample::new(While { bounds: Bounds { limit: Some(2), snapshots: Some(1) }, ..counted() }, &args(2)));
        samples
    }
}

/// `n, c, d = n - 1, sin(w c) + d, c d` while `n > 0`.
pub(super) fn counted() -> While {
    let inputs = |b: &mut Builder| {
        let vector = || Type::new(DType::F64, &[2]);
        [vector(), Type::new(DType::I64, &[]), vector(), vector()].map(|ty| b.input("", ty))
    };
    let mut b = Builder::new();
    let [_, n, ..] = inputs(&mut b);
    let zero = b.op(Literal::I64(0), &[]);
    let goes_on = b.op(Compare::Gt, &[n, zero]);
    let condition = b.finish(&[goes_on]);
    let mut b = Builder::new();
    let [w, n, c, d] = inputs(&mut b);
    let one = b.op(Literal::I64(-1), &[]);
    let fewer = b.add(n, one);
    let product = b.mul(w, c);
    let sine = b.op(Unary::Sin, &[product]);
    let (next, other) = (b.add(sine, d), b.mul(c, d));
    While::new(condition, b.finish(&[fewer, next, other]), Bounds::default())
}

/// `n, c = n - 1, w c + c` while `n > 0` and `c < 10`: the number of steps depends on the values, which are far from 10.
fn doubled() -> While {
    let inputs = |b: &mut Builder| {
        let number = || Type::new(DType::F32, &[]);
        [number(), Type::new(DType::I64, &[]), number()].map(|ty| b.input("", ty))
    };
    let mut b = Builder::new();
    let [_, n, c] = inputs(&mut b);
    let (zero, end) = (b.op(Literal::I64(0), &[]), b.op(Literal::F32(10.0), &[]));
    let (more, below) = (b.op(Compare::Gt, &[n, zero]), b.op(Compare::Lt, &[c, end]));
    let goes_on = b.op(Logic::And, &[more, below]);
    let condition = b.finish(&[goes_on]);
    let mut b = Builder::new();
    let [w, n, c] = inputs(&mut b);
    let one = b.op(Literal::I64(-1), &[]);
    let fewer = b.add(n, one);
    let product = b.mul(w, c);
    let sum = b.add(product, c);
    While::new(condition, b.finish(&[fewer, sum]), Bounds::default())
}
