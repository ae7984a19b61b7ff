//! A loop forwards, and a second one backwards over what the first one went through: the reverse of a loop.

mod backward;

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use super::loops::{
    Bounds, check_carry, check_condition, endless, frozen, goes_on, lanes_that_go_on, marked, part_of, positions,
    settled, widen,
};
#[cfg(feature = "text")]
use super::repeat::given_and_bounds;
use super::repeat::{While, condition_beside, counted, tangent_step, with_tangents};
use super::{check_inputs, inside, run};
use crate::array::{Array, DType, Type};
use crate::error::{Misfit, misfit};
use crate::ops::Unary;
#[cfg(feature = "text")]
use crate::primitives::parse::Fields;
use crate::primitives::sample::numbers;
use crate::primitives::{
    Attributes, Batched, Cotangent, Family, Form, MaskedCotangents, Narrowed, Op, Operand, OperandSet, Phase,
    Primitive, Reduce, Reducer, RunInside, Sample, Source, Split, Wiring, WithTangents,
};
use crate::program::{Builder, Program, Value, dce, with_inputs, with_outputs};
use crate::transform::partial::{split_inside, unknown_outputs};
use crate::transform::vmap;

/// A loop forwards, and another one backwards over its carries: `c[t + 1] = first(w, c[t])` for `t = 0, 1, …` as long as
/// `condition(w, c[t])` holds, which makes `n` steps; then `b[t] = second(w, c[t], b[t + 1])` for `t = n - 1, …, 0`.
///
/// The operands are `w`, `c[0]` and `b[n]`; the results those parts of `c[n]` and `b[0]` that are `given`. The second phase is
/// linear in `b`, with coefficients that depend on the first phase alone. Therefore a tangent of it, and its transpose, have
/// the same form: what is carried backwards here is carried forwards there, beside the values that it needs.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Unwind {
    /// Whether there is another step.
    pub condition: Arc<Program>,
    /// A step forwards.
    pub first: Arc<Program>,
    /// A step backwards.
    pub second: Arc<Program>,
    /// How many parts the carry of the first phase has.
    pub carry: usize,
    /// Which parts of both carries are results.
    pub given: Vec<bool>,
    /// What bounds it.
    pub bounds: Bounds,
}

/// Marks of the operands in their roles.
struct Roles {
    invariants: Range<usize>,
    carry: Range<usize>,
    back: Range<usize>,
}

impl Unwind {
    /// Two steps, with so many parts of the carry of each.
    pub(super) fn new(
        condition: Program,
        [first, second]: [Program; 2],
        [carry, back]: [usize; 2],
        bounds: Bounds,
    ) -> Self {
        let (condition, first, second) = (Arc::new(condition), Arc::new(first), Arc::new(second));
        Unwind { condition, first, second, carry, given: vec![true; carry + back], bounds }
    }

    /// With these parts as results.
    #[must_use]
    pub(super) fn giving(mut self, given: &[bool]) -> Self {
        self.given = given.to_vec();
        self
    }

    fn roles(&self) -> Roles {
        let first = self.first.input_types().len();
        let second = self.second.input_types().len();
        Roles { invariants: 0..first - self.carry, carry: first - self.carry..first, back: first..second }
    }

    fn with(&self, condition: Program, steps: [Program; 2], counts: [usize; 2], given: &[bool]) -> Unwind {
        Unwind::new(condition, steps, counts, self.bounds).giving(given)
    }

    fn tangents_of_steps(
        &self,
        b: &mut Builder,
        args: &[Value],
        tangents: &[Option<Value>],
    ) -> Result<WithTangents, Misfit> {
        let Roles { invariants, carry, back } = self.roles();
        let roles = [invariants, carry.clone(), back.clone()];
        let mut active: Vec<bool> = tangents.iter().map(Option::is_some).collect();
        let first =
            settled(&mut active, carry.clone(), |active| tangent_step(&self.first, &roles[..2], active, &carry))?;
        let second = settled(&mut active, back.clone(), |active| tangent_step(&self.second, &roles, active, &back))?;
        let operands = with_tangents(b, args, tangents, &active, &roles);
        let condition = condition_beside(&self.condition, &first, &active, &roles[..2]);
        let (one, other) = self.given.split_at(self.carry);
        let given = [one, &marked(one, &active[carry.clone()]), other, &marked(other, &active[back.clone()])].concat();
        let moving = |role: &Range<usize>| active[role.clone()].iter().filter(|active| **active).count();
        let counts = [self.carry + moving(&carry), back.len() + moving(&back)];
        let mut results = b.ops(self.with(condition, [first, second], counts, &given), &operands).into_iter();
        let (mut outs, mut dots) = (Vec::new(), Vec::new());
        for (given, role) in [(one, carry), (other, back)] {
            outs.extend(results.by_ref().take(given.iter().filter(|given| **given).count()));
            let moving = marked(&active[role], given);
            dots.extend(moving.iter().map(|&moves| if moves { results.next() } else { None }));
        }
        Ok((outs, dots))
    }

    /// The loop with what is inside of the steps divided into what depends on the operands that are marked and what does not;
    /// also which operands do, both carries too.
    fn divided(&self, marks: &[bool]) -> (Unwind, Vec<bool>) {
        let Roles { carry, back, .. } = self.roles();
        let mut marks = marks.to_vec();
        let mut divided = |step: &Program, role: Range<usize>| {
            let inputs = role.end;
            let step = settled(&mut marks, role, |marks| {
                let step = split_inside(Cow::Borrowed(step), &marks[..inputs]);
                let after = unknown_outputs(&step, &marks[..inputs]);
                Ok((step, after))
            });
            Arc::new(step.expect("nothing fails").into_owned())
        };
        let first = divided(&self.first, carry);
        let second = divided(&self.second, back);
        (Unwind { first, second, ..self.clone() }, marks)
    }

    fn split_steps(&self, unknown: &[bool]) -> Option<Split> {
        let Roles { carry, back, .. } = self.roles();
        let (divided, marks) = self.divided(unknown);
        if unknown_outputs(&self.condition, &marks[..carry.end])[0] {
            return None;
        }
        let known: Vec<bool> = marks.iter().map(|unknown| !unknown).collect();
        let is_known = &known[carry.start..];
        let gives: Vec<bool> = self.given.iter().zip(is_known).map(|(given, known)| *given && *known).collect();
        if !gives.contains(&true) {
            return None;
        }
        let condition = part_of(&self.condition, &[true], &known[..carry.end]);
        let first = part_of(&divided.first, &known[carry.clone()], &known[..carry.end]);
        let second = part_of(&divided.second, &known[back.clone()], &known);
        let count = |role: &Range<usize>| known[role.clone()].iter().filter(|known| **known).count();
        let counts = [count(&carry), count(&back)];
        let known_part = self.with(condition, [first, second], counts, &marked(&self.given, is_known));
        let rest = self.given.iter().zip(is_known).map(|(given, known)| *given && !known).collect();
        Some(Split {
            known: known_part.into(),
            known_args: positions(&known),
            is_known: marked(is_known, &self.given),
            unknown: Unwind { given: rest, ..self.clone() }.into(),
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
        let Roles { carry, back, .. } = self.roles();
        let mut marks = batched.to_vec();
        let lanes = Lanes { unwind: self, length, masked: mask.is_some() };
        let first = settled(&mut marks, carry.clone(), |marks| lanes.step(marks, &self.first, &carry))?;
        let second = settled(&mut marks, back.clone(), |marks| lanes.step(marks, &self.second, &back))?;
        let condition = lanes.condition(&marks)?;
        let mut operands: Vec<Value> = mask.into_iter().collect();
        for (k, &arg) in args.iter().enumerate() {
            operands.push(if marks[k] { b.batch_all(&[arg], &[batched[k]], length)[0] } else { arg });
        }
        let counts = [self.carry, back.len()];
        let results = b.ops(self.with(condition, [first, second], counts, &self.given), &operands);
        Ok(results.into_iter().zip(marked(&marks[carry.start..], &self.given)).collect())
    }

    /// The loop without the parts of both carries and the operands that no needed result needs.
    fn without_dead(&self, needed: &[bool]) -> Option<Narrowed> {
        let Roles { carry, back, .. } = self.roles();
        let mut results = needed.iter();
        let given: Vec<bool> = self.given.iter().map(|&given| given && results.next() == Some(&true)).collect();
        let mut backs = given[self.carry..].to_vec();
        let (second, used_back) = until_settled(&self.second, &mut backs, &back);
        let mut steps = given[..self.carry].to_vec();
        let asked = self.condition.used_inputs();
        widen(&mut steps, &asked[carry.clone()]);
        widen(&mut steps, &used_back[carry.clone()]);
        let (first, used) = until_settled(&self.first, &mut steps, &carry);
        let mut keeps: Vec<bool> = (0..carry.end).map(|k| used[k] || used_back[k] || asked[k]).collect();
        keeps[carry.clone()].copy_from_slice(&steps);
        keeps.extend(&backs);
        let count = |of: &Program| of.count();
        let same = count(&first) == count(&self.first) && count(&second) == count(&self.second);
        if !keeps.contains(&false) && given == self.given && same {
            return None;
        }
        let condition = part_of(&self.condition, &[true], &keeps[..carry.end]);
        let (first, second) = (with_inputs(first, &keeps[..carry.end]), with_inputs(second, &keeps));
        let counts = [&steps, &backs].map(|marks| marks.iter().filter(|mark| **mark).count());
        let given = marked(&given, &keeps[carry.start..]);
        let op = self.with(condition, [first, second], counts, &given).into();
        Some(Narrowed { op, args: positions(&keeps), outs: positions(needed) })
    }
}

/// A step with the outputs that are needed, marked until it is known which: what a step needs of its carry, the one before has
/// to give. Also the inputs that it uses.
fn until_settled(step: &Program, outs: &mut [bool], carry: &Range<usize>) -> (Program, Vec<bool>) {
    loop {
        let step = with_outputs(step, outs);
        let used = step.used_inputs();
        if !widen(outs, &used[carry.clone()]) {
            return (step, used);
        }
    }
}

/// The Programs of a loop with lanes, after the mask if there is one.
struct Lanes<'a> {
    unwind: &'a Unwind,
    length: usize,
    masked: bool,
}

impl Lanes<'_> {
    /// Inputs with lanes like those of a Program.
    fn inputs(&self, program: &Program, batched: &[bool]) -> (Builder, Option<Value>, Vec<Value>) {
        let mut b = Builder::new();
        let mask = self.masked.then(|| b.input("", Type::new(DType::Bool, &[self.length])));
        let args = vmap::batched_inputs(&mut b, program, batched, self.length);
        (b, mask, args)
    }

    fn condition(&self, batched: &[bool]) -> Result<Program, Misfit> {
        let Roles { carry, .. } = self.unwind.roles();
        let (mut b, mask, args) = self.inputs(&self.unwind.first, &batched[..carry.end]);
        let condition = &self.unwind.condition;
        let (lanes, has_lanes) = lanes_that_go_on(&mut b, condition, &args, &batched[..carry.end], self.length, mask)?;
        let any = if has_lanes { b.op(Reduce::new(Reducer::Any, &[0]), &[lanes]) } else { lanes };
        Ok(dce(b.finish(&[any])))
    }

    /// A step of either phase; and which parts of its carry have lanes.
    fn step(&self, batched: &[bool], step: &Program, carry: &Range<usize>) -> Result<(Program, Vec<bool>), Misfit> {
        let batched = &batched[..carry.end];
        let (mut b, mask, args) = self.inputs(step, batched);
        // A lane takes a step backwards where it took one forwards.
        let asked = self.unwind.roles().carry.end;
        let condition = &self.unwind.condition;
        let (lanes, has_lanes) =
            lanes_that_go_on(&mut b, condition, &args[..asked], &batched[..asked], self.length, mask)?;
        if !has_lanes {
            let outs = vmap::vmap(&mut b, step, &args, batched, self.length).map_err(inside)?;
            let flags = outs.iter().map(|(_, has)| *has).collect();
            let wanted = outs
                .into_iter()
                .zip(carry.clone())
                .map(|((out, has), k)| if batched[k] && !has { b.repeat_in_front(out, self.length) } else { out });
            let outs: Vec<Value> = wanted.collect();
            return Ok((dce(b.finish(&outs)), flags));
        }
        let outs = vmap::vmap_guarded(&mut b, step, &args, batched, self.length, lanes).map_err(inside)?;
        let before = b.batch_all(&args[carry.clone()], &batched[carry.clone()], self.length);
        let outs = frozen(&mut b, lanes, &outs, &before, self.length);
        Ok((b.finish(&outs), vec![true; carry.len()]))
    }
}

impl Unwind {
    /// Its value by definition, with the Programs inside run by `run`.
    fn steps(&self, args: &[&Array], run: &mut RunInside<'_>) -> Result<Vec<Array>, Misfit> {
        let Roles { invariants, carry, back } = self.roles();
        let of = |role: Range<usize>| -> Vec<Array> { args[role].iter().map(|&array| array.clone()).collect() };
        let (mut now, mut back) = (of(carry), of(back));
        let mut before: Vec<Vec<Array>> = Vec::new();
        let invariants = &args[invariants];
        loop {
            let operands: Vec<&Array> = invariants.iter().copied().chain(&now).collect();
            if !goes_on(&self.condition, &operands)? {
                break;
            }
            if self.bounds.limit == Some(before.len()) {
                return Err(endless(before.len()));
            }
            let next = run(&self.first, &operands)?;
            before.push(std::mem::replace(&mut now, next));
        }
        for step in before.iter().rev() {
            let operands: Vec<&Array> = invariants.iter().copied().chain(step).chain(&back).collect();
            back = run(&self.second, &operands)?;
        }
        Ok(marked(&[now, back].concat(), &self.given))
    }
}

impl Primitive for Unwind {
    fn name(&self) -> Cow<'static, str> {
        "unwind".into()
    }
    fn infer(&self, args: &[&Type]) -> Result<Vec<Type>, Misfit> {
        let (first, second) = (self.first.input_types().len(), self.second.input_types().len());
        let back = self.second.outputs().len();
        if self.carry > first || self.first.outputs().len() != self.carry || second != first + back {
            misfit!("the steps take {first} and {second} values, and give {} and {back}", self.first.outputs().len());
        }
        if self.given.len() != self.carry + back {
            misfit!("{} parts of the carries are marked, and they have {}", self.given.len(), self.carry + back);
        }
        if args.len() != second {
            misfit!("the steps take {second} values, and the loop gets {} operands", args.len());
        }
        check_condition(&self.condition)?;
        let Roles { carry, back, .. } = self.roles();
        check_carry(&self.first, carry)?;
        check_carry(&self.second, back)?;
        check_inputs(&self.condition, &args[..first])?;
        check_inputs(&self.first, &args[..first])?;
        check_inputs(&self.second, args)?;
        let types = self.first.output_types().into_iter().chain(self.second.output_types());
        Ok(marked(&types.collect::<Vec<Type>>(), &self.given))
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
        vec![&self.condition, &self.first, &self.second]
    }
    fn wiring(&self) -> Wiring {
        let Roles { carry, back, .. } = self.roles();
        let phases =
            vec![Phase { program: 1, carry }, Phase { program: 2, carry: back }, Phase { program: 0, carry: 0..0 }];
        let result = |k: usize| if k < self.carry { (0, k) } else { (1, k - self.carry) };
        Wiring::Loop { phases, results: positions(&self.given).into_iter().map(result).collect() }
    }
    fn narrowed(&self, needed: &[bool]) -> Option<Narrowed> {
        self.without_dead(needed)
    }
    fn with_programs(&self, programs: Vec<Arc<Program>>) -> Op {
        let [condition, first, second] = <[_; 3]>::try_from(programs).expect("a condition and two steps");
        Unwind { condition, first, second, ..self.clone() }.into()
    }
    fn attributes(&self) -> Attributes {
        let given: Vec<usize> = self.given.iter().map(|&given| usize::from(given)).collect();
        let attributes = Attributes::default().with("condition", &self.condition).with("first", &self.first);
        let attributes = attributes.with("second", &self.second).with("carry", self.carry).with("given", &given[..]);
        self.bounds.added_to(attributes)
    }
}

impl Family for Unwind {
    #[cfg(feature = "text")]
    fn parse(name: &str, fields: &mut Fields) -> Option<Result<Self, Misfit>> {
        (name == "unwind").then(|| {
            let (condition, first) = (fields.program("condition")?, fields.program("first")?);
            let (second, carry) = (fields.program("second")?, fields.integer("carry")?);
            let (given, bounds) = given_and_bounds(fields)?;
            Ok(Unwind { condition, first, second, carry, given, bounds })
        })
    }
    /// The steps of [`While`]'s samples forwards; backwards `b, d = cos(c) b + w d, d - c b`.
    fn samples() -> Vec<Sample> {
        let While { condition, body, .. } = counted();
        let mut b = Builder::new();
        let types: Vec<Type> = body.input_types().to_vec();
        let inputs: Vec<Value> = types.iter().map(|ty| b.input("", ty.clone())).collect();
        let [w, c] = [inputs[0], inputs[2]];
        let [x, y] = [(); 2].map(|()| b.input("", types[0].clone()));
        let cosine = b.op(Unary::Cos, &[c]);
        let (one, other) = (b.mul(cosine, x), b.mul(w, y));
        let (next, turned) = (b.add(one, other), b.mul(c, x));
        let less = b.op(crate::ops::Binary::Sub, &[y, turned]);
        let second = b.finish(&[next, less]);
        let unwind = Unwind {
            condition,
            first: body,
            second: Arc::new(second),
            carry: 3,
            given: vec![false, false, false, true, true],
            bounds: Bounds::default(),
        };
        let args = |count: i64| {
            let (w, n) = (numbers(1, &[2]), Array::scalar(count));
            [w, n, numbers(2, &[2]), numbers(3, &[2]), numbers(4, &[2]), numbers(5, &[2])]
        };
        let mut samples: Vec<Sample> = [0, 1, 3].map(|count| Sample::new(unwind.clone(), &args(count))).into();
        let all = Unwind {
            given: vec![true, false, true, false, true],
            bounds: Bounds { limit: Some(2), snapshots: Some(1) },
            ..unwind
        };
        samples.push(Sample::new(all, &args(2)));
        samples
    }
}
