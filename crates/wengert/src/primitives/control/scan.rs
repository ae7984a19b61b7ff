//! A loop of a known number of steps.

mod apart;
mod backward;
mod split;

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use super::loops::{Made, check_carry, marked, row, settled, stack, stacked};
use super::{check_inputs, inside, run};
use crate::array::{Array, DType, Type};
use crate::error::{Error, Misfit, misfit};
use crate::ops::{Binary, Compare, Unary};
#[cfg(feature = "text")]
use crate::primitives::parse::Fields;
use crate::primitives::sample::{numbers, numbers_f32};
use crate::primitives::{
    Attributes, Batched, Cotangent, Family, Form, Literal, MaskedCotangents, Narrowed, Op, Operand, OperandSet, Phase,
    Primitive, RunInside, Sample, Select, Split, Wiring, WithTangents,
};
use crate::program::{Builder, Program, Value, dce, with_inputs, with_outputs};
use crate::transform::pattern::{Follow, Followed};
use crate::transform::{jvp, vmap};
use apart::stands_apart;

/// `length` steps of a Program, each of which takes the carry that the one before gives: `(c, y[t]) = body(w, c, x[t])` for
/// `t = 0, 1, …, length - 1`, or backwards if `reverse`.
///
/// The operands are the invariants `w`, which are the same in every step; the carry `c` before the first step; and the arrays
/// `x`, of which a step takes a row along axis 0. The results are the carry after the last step, which is the first one if
/// there is none; and the rows `y` that the steps give, stacked along a new axis 0.
///
/// The body takes and gives them in this order. What a derivative needs of a step is kept, stacked along axis 0; what does not
/// change from step to step is kept once.
///
/// ```
/// use wengert::primitives::Scan;
/// use wengert::{Array, Builder, Program};
/// let body: Program = "program(v0: f64[], v1: f64[]) { v2: f64[] = add v0 v1; return v2 v0 }".parse()?;
/// let mut b = Builder::new();
/// let start = b.input("start", body.input_types()[0].clone());
/// let xs = b.input("xs", wengert::Type::new(wengert::DType::F64, &[3]));
/// let results = b.emit(Scan::new(body, 3, 1, 1), &[start, xs])?;
/// let sums = b.finish(&results);
/// let results = sums.run(&[Array::scalar(10.0), Array::new(&[3], vec![1.0, 2.0, 3.0])])?;
/// assert_eq!((results[0].to_f64(), results[1].to_f64()), (vec![16.0], vec![10.0, 11.0, 13.0]));
/// # Ok::<(), wengert::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Scan {
    /// One step.
    pub body: Arc<Program>,
    /// How many steps there are.
    pub length: usize,
    /// How many values the carry has.
    pub carry: usize,
    /// How many arrays a step takes a row of: the last operands.
    pub rows: usize,
    /// Whether the last rows come first.
    pub reverse: bool,
    /// That its carry is kept after every so many steps only, where something reads its steps from the last to the first; what
    /// else is needed of them is computed again. `None` keeps what is needed of every step.
    pub every: Option<usize>,
}

/// Something of each operand or of each input of a step, by what they are.
#[derive(Clone, Debug)]
struct ByRole<T> {
    invariants: Vec<T>,
    carry: Vec<T>,
    rows: Vec<T>,
}

impl<T> ByRole<T> {
    fn new() -> Self {
        ByRole { invariants: Vec::new(), carry: Vec::new(), rows: Vec::new() }
    }

    fn all(self) -> Vec<T> {
        self.invariants.into_iter().chain(self.carry).chain(self.rows).collect()
    }
}

impl Scan {
    /// This number of steps of a Program whose last inputs are the carry and the rows; those before them are invariant.
    pub fn new(body: Program, length: usize, carry: usize, rows: usize) -> Self {
        Scan { body: Arc::new(body), length, carry, rows, reverse: false, every: None }
    }

    /// From the last row to the first.
    #[must_use]
    pub fn reversed(mut self, reverse: bool) -> Self {
        self.reverse = reverse;
        self
    }

    /// Keeps its carry after every so many steps only, if its steps are needed in reverse: see [`Scan::every`].
    #[must_use]
    pub fn kept_every(mut self, steps: Option<usize>) -> Self {
        self.every = steps;
        self
    }

    /// The inputs of the body that are invariants, carry and rows.
    pub(crate) fn roles(&self) -> [Range<usize>; 3] {
        let count = self.body.input_types().len();
        let (carry, rows) = (count - self.rows - self.carry, count - self.rows);
        [0..carry, carry..rows, rows..count]
    }

    fn carry_range(&self) -> Range<usize> {
        let [_, carry, _] = self.roles();
        carry
    }

    /// The row that a step takes.
    pub(crate) fn row_of(&self, step: usize) -> usize {
        if self.reverse { self.length - 1 - step } else { step }
    }

    /// The same loop with another body.
    fn with(&self, body: Program, carry: usize, rows: usize) -> Scan {
        Scan { body: Arc::new(body), carry, rows, ..self.clone() }
    }

    /// Whether the inputs of the body are invariants, carry and rows.
    fn check_roles(&self) -> Result<(), Misfit> {
        let inputs = self.body.input_types().len();
        if self.carry.checked_add(self.rows).is_none_or(|count| count > inputs) {
            misfit!(
                "a step takes {inputs} values, which are fewer than {} of the carry and {} rows",
                self.carry,
                self.rows
            );
        }
        check_carry(&self.body, self.carry_range())
    }

    fn tangents_of_steps(
        &self,
        b: &mut Builder,
        args: &[Value],
        tangents: &[Option<Value>],
    ) -> Result<WithTangents, Misfit> {
        let mut active: Vec<bool> = tangents.iter().map(Option::is_some).collect();
        let range = self.carry_range();
        let mut made = Made::new();
        let mut tangent_body = |active: &[bool]| made.of(&active.to_vec(), |active| self.tangent_body(active));
        if self.length > 0 && self.begins_otherwise(&active, &mut tangent_body)? {
            return jvp::jvp(b, &self.first_apart(), args, tangents).map_err(inside);
        }
        let (body, has) = settled(&mut active, range.clone(), |active| {
            let (body, has) = tangent_body(active)?;
            Ok(((body, has.clone()), has[..self.carry].to_vec()))
        })?;
        let mut operands: Vec<Value> = Vec::with_capacity(2 * args.len());
        for role in self.roles() {
            operands.extend(&args[role.clone()]);
            operands.extend(role.filter(|&k| active[k]).map(|k| tangents[k].unwrap_or_else(|| b.zeros_like(args[k]))));
        }
        let [_, carry, rows] = self.roles().map(|role| role.filter(|&k| active[k]).count());
        let mut results = b.ops(self.with(body, self.carry + carry, self.rows + rows), &operands).into_iter();
        let mut outs: Vec<Value> = results.by_ref().take(self.carry).collect();
        let mut dots: Vec<Option<Value>> = range.map(|k| if active[k] { results.next() } else { None }).collect();
        outs.extend(results.by_ref().take(has.len() - self.carry));
        dots.extend(has[self.carry..].iter().map(|&has| if has { results.next() } else { None }));
        Ok((outs, dots))
    }

    /// Patterns step by step.
    fn follow_steps(&self, follow: &mut Follow, operands: &[Followed]) -> Result<Vec<Followed>, Error> {
        let [invariants, carry, rows] = self.roles();
        let types = self.body.input_types();
        let mut carry = operands[carry].to_vec();
        let mut kept: Vec<Vec<Followed>> =
            vec![Vec::with_capacity(self.length); self.body.outputs().len() - self.carry];
        for step in 0..self.length {
            let row_of = |k: usize| operands[k].row(self.row_of(step), &types[k]);
            let inputs: Vec<Followed> =
                operands[invariants.clone()].iter().cloned().chain(carry).chain(rows.clone().map(row_of)).collect();
            let mut outs = follow.through(&self.body, &inputs, true)?;
            kept.iter_mut().zip(outs.split_off(self.carry)).for_each(|(kept, given)| kept.push(given));
            carry = outs;
        }
        if self.reverse {
            kept.iter_mut().for_each(|kept| kept.reverse());
        }
        let types = &self.body.output_types()[self.carry..];
        carry.extend(kept.iter().zip(types).map(|(kept, ty)| Followed::stacked(kept, ty)));
        Ok(carry)
    }

    /// Patterns that hold in every step: each takes any of the rows.
    fn follow_any_step(&self, follow: &mut Follow, operands: &[Followed]) -> Option<Result<Vec<Followed>, Error>> {
        let [.., rows] = self.roles();
        let mut operands = operands.to_vec();
        rows.for_each(|k| operands[k] = operands[k].any_row(self.length, &self.body.input_types()[k]));
        let results = follow.inside(&self.clone().into(), &operands)?;
        let types = self.body.output_types();
        let repeated = |(k, result): (usize, Followed)| match k < self.carry {
            true => result,
            false => Followed::stacked(&vec![result; self.length], &types[k]),
        };
        Some(results.map(|results| results.into_iter().enumerate().map(repeated).collect()))
    }

    /// Whether the carry of the first step has tangents in other parts than that of the others.
    fn begins_otherwise(
        &self,
        active: &[bool],
        mut tangent_body: impl FnMut(&[bool]) -> Result<(Program, Vec<bool>), Misfit>,
    ) -> Result<bool, Misfit> {
        let range = self.carry_range();
        stands_apart(active[range.clone()].to_vec(), self.carry + 2, |carry| {
            let active = [&active[..range.start], carry, &active[range.end..]].concat();
            Ok(tangent_body(&active)?.1[..self.carry].to_vec())
        })
    }

    /// A step with its tangents: each kind of input, and of output, is followed by its tangents. Also which outputs have one.
    fn tangent_body(&self, active: &[bool]) -> Result<(Program, Vec<bool>), Misfit> {
        let mut b = Builder::new();
        let types = self.body.input_types();
        let (mut args, mut tangents) = (Vec::with_capacity(types.len()), Vec::with_capacity(types.len()));
        for role in self.roles() {
            args.extend(role.clone().map(|k| b.input("", types[k].clone())));
            tangents.extend(role.map(|k| active[k].then(|| b.input("", types[k].clone()))));
        }
        let (outs, dots) = jvp::jvp(&mut b, &self.body, &args, &tangents).map_err(inside)?;
        let (carry, rows) = outs.split_at(self.carry);
        let mut results = carry.to_vec();
        for (k, out) in self.carry_range().zip(carry) {
            if active[k] {
                results.push(dots[k - self.carry_range().start].unwrap_or_else(|| b.zeros_like(*out)));
            }
        }
        results.extend(rows);
        results.extend(dots[self.carry..].iter().flatten());
        Ok((dce(b.finish(&results)), dots.iter().map(Option::is_some).collect()))
    }

    /// The body with one more axis on the inputs marked, and on the parts of the carry that get it; which outputs have it.
    /// Within the lanes of a mask, if there is one, which is then the first input.
    fn batched_body(&self, batched: &[bool], length: usize, masked: bool) -> Result<(Program, Vec<bool>), Misfit> {
        let mut b = Builder::new();
        let mask = masked.then(|| b.input("", Type::new(DType::Bool, &[length])));
        let args = vmap::batched_inputs(&mut b, &self.body, batched, length);
        let outs = match mask {
            Some(mask) => vmap::vmap_guarded(&mut b, &self.body, &args, batched, length, mask),
            None => vmap::vmap(&mut b, &self.body, &args, batched, length),
        };
        let mut outs = outs.map_err(inside)?;
        for (k, out) in self.carry_range().zip(&mut outs) {
            if batched[k] && !out.1 {
                *out = (b.repeat_in_front(out.0, length), true);
            }
        }
        let (outs, flags): (Vec<Value>, Vec<bool>) = outs.into_iter().unzip();
        Ok((b.finish(&outs), flags))
    }

    fn batch_steps(
        &self,
        b: &mut Builder,
        args: &[Value],
        batched: &[bool],
        length: usize,
        mask: Option<Value>,
    ) -> Batched {
        let mut marks = batched.to_vec();
        let (body, flags) = settled(&mut marks, self.carry_range(), |marks| {
            let (body, flags) = self.batched_body(marks, length, mask.is_some())?;
            Ok(((body, flags.clone()), flags[..self.carry].to_vec()))
        })?;
        let mut operands: Vec<Value> = mask.into_iter().collect();
        for (role, roles) in self.roles().into_iter().enumerate() {
            for k in roles {
                let wanted = b.batch_all(&args[k..=k], &batched[k..=k], length);
                operands.push(match (marks[k], role) {
                    // The axis of the steps stays in front.
                    (true, 2) => b.move_axis(args[k], 0, 1),
                    (true, _) => wanted[0],
                    (false, _) => args[k],
                });
            }
        }
        let results = b.ops(self.with(body, self.carry, self.rows), &operands);
        let place = |(k, (out, &flag)): (usize, (Value, &bool))| {
            let stacked = k >= self.carry && flag;
            (if stacked { b.move_axis(out, 1, 0) } else { out }, flag)
        };
        Ok(results.into_iter().zip(&flags).enumerate().map(place).collect())
    }
}

/// Up to this number of equations in all steps patterns are followed step by step.
const FOLLOWED: usize = 50_000;

impl Scan {
    /// Its value by definition, with the Programs inside run by `run`.
    fn steps(&self, args: &[&Array], run: &mut RunInside<'_>) -> Result<Vec<Array>, Misfit> {
        let [invariants, carry, rows] = self.roles().map(|role| &args[role]);
        let mut carry: Vec<Array> = carry.iter().map(|&array| array.clone()).collect();
        let types = self.body.output_types().split_off(self.carry);
        let mut kept: Vec<Vec<Array>> = vec![Vec::with_capacity(self.length); types.len()];
        for step in 0..self.length {
            let rows: Vec<Array> = rows.iter().map(|array| row(array, self.row_of(step))).collect();
            let operands: Vec<&Array> = invariants.iter().copied().chain(&carry).chain(&rows).collect();
            let mut outs = run(&self.body, &operands)?;
            let given = outs.split_off(self.carry);
            kept.iter_mut().zip(given).for_each(|(kept, given)| kept.push(given));
            carry = outs;
        }
        if self.reverse {
            kept.iter_mut().for_each(|kept| kept.reverse());
        }
        carry.extend(types.iter().zip(&kept).map(|(ty, kept)| stack(ty, kept)));
        Ok(carry)
    }
}

impl Primitive for Scan {
    fn name(&self) -> Cow<'static, str> {
        "scan".into()
    }
    fn infer(&self, args: &[&Type]) -> Result<Vec<Type>, Misfit> {
        self.check_roles()?;
        let [_, _, rows] = self.roles();
        if args.len() != rows.end {
            misfit!("a step takes {} values, and the loop gets {} operands", rows.end, args.len());
        }
        let mut inputs: Vec<Type> = args[..rows.start].iter().map(|&ty| ty.clone()).collect();
        for &ty in &args[rows] {
            match ty.shape.split_first() {
                Some((&own, row)) if own == self.length => inputs.push(ty.with_shape(row.to_vec())),
                _ => misfit!("{ty} has no row for each of {} steps along its first axis", self.length),
            }
        }
        check_inputs(&self.body, &inputs.iter().collect::<Vec<&Type>>())?;
        let outputs = self.body.output_types().into_iter().enumerate();
        Ok(outputs.map(|(k, ty)| if k < self.carry { ty } else { stacked(&ty, self.length) }).collect())
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
    fn follow(&self, follow: &mut Follow, operands: &[Followed]) -> Option<Result<Vec<Followed>, Error>> {
        let work = self.length.saturating_mul(self.body.count());
        if work <= FOLLOWED {
            Some(self.follow_steps(follow, operands))
        } else {
            self.follow_any_step(follow, operands)
        }
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
    fn batch_masked(
        &self,
        b: &mut Builder,
        args: &[Value],
        batched: &[bool],
        length: usize,
        mask: Value,
    ) -> Option<Batched> {
        super::can_fail(&self.body).then(|| self.batch_steps(b, args, batched, length, Some(mask)))
    }
    fn programs(&self) -> Vec<&Arc<Program>> {
        vec![&self.body]
    }
    fn wiring(&self) -> Wiring {
        let phase = Phase { program: 0, carry: self.carry_range() };
        Wiring::Loop { phases: vec![phase], results: (0..self.body.outputs().len()).map(|k| (0, k)).collect() }
    }
    fn narrowed(&self, needed: &[bool]) -> Option<Narrowed> {
        self.without_dead(needed)
    }
    fn with_programs(&self, programs: Vec<Arc<Program>>) -> Op {
        let [body] = <[_; 1]>::try_from(programs).expect("one step");
        Scan { body, ..self.clone() }.into()
    }
    fn attributes(&self) -> Attributes {
        let attributes = Attributes::default().with("body", &self.body).with("length", self.length);
        let attributes = attributes.with("carry", self.carry).with("rows", self.rows).with("reverse", self.reverse);
        match self.every {
            Some(every) => attributes.with("every", every),
            None => attributes,
        }
    }
}

impl Scan {
    /// The types of those parts of the carry that the results marked need, of steps before the last.
    pub(crate) fn narrowed_carry(&self, needed: &[bool]) -> Vec<Type> {
        let types = |scan: &Scan| scan.body.input_types()[scan.carry_range()].to_vec();
        match self.without_dead(needed) {
            Some(Narrowed { op: Op::Scan(narrow), .. }) => types(&narrow),
            _ => types(self),
        }
    }

    /// The loop without the parts of the carry, the rows and the operands that the needed results do not need.
    fn without_dead(&self, needed: &[bool]) -> Option<Narrowed> {
        let (mut outs, carry) = (needed.to_vec(), self.carry_range());
        let (body, used) = loop {
            let body = with_outputs(&self.body, &outs);
            let used = body.used_inputs();
            // What a step needs of the carry, the step before has to give.
            if !super::loops::widen(&mut outs[..self.carry], &used[carry.clone()]) {
                break (body, used);
            }
        };
        let mut keeps = used;
        keeps[carry.clone()].copy_from_slice(&outs[..self.carry]);
        if !keeps.contains(&false) && !outs.contains(&false) && body.count() == self.body.count() {
            return None;
        }
        let [_, carry, rows] = self.roles().map(|role| keeps[role].iter().filter(|keep| **keep).count());
        let body = with_inputs(body, &keeps);
        let positions = |marks: &[bool]| marked(&(0..marks.len()).collect::<Vec<usize>>(), marks);
        Some(Narrowed { op: self.with(body, carry, rows).into(), args: positions(&keeps), outs: positions(&outs) })
    }
}

impl Family for Scan {
    #[cfg(feature = "text")]
    fn parse(name: &str, fields: &mut Fields) -> Option<Result<Self, Misfit>> {
        (name == "scan").then(|| {
            let (body, length) = (fields.program("body")?, fields.integer("length")?);
            let (carry, rows) = (fields.integer("carry")?, fields.integer("rows")?);
            let every = fields.has("every").then(|| fields.integer("every")).transpose()?;
            Ok(Scan { body, length, carry, rows, reverse: fields.flag("reverse")?, every })
        })
    }
    fn samples() -> Vec<Sample> {
        let mut samples = Vec::new();
        for (length, reverse) in [(0, false), (1, true), (3, false), (4, true)] {
            samples.push(mixed_sample(length, reverse));
        }
        samples.push(counting_sample());
        samples.push(chosen_sample());
        samples.push(nested_sample());
        samples.push(running_sample());
        samples
    }
}

fn vector(length: usize) -> Type {
    Type::new(DType::F64, &[length])
}

/// Two carries of which one forgets the other, an invariant, rows, and rows of results: `c, d = sin(w c) + x d, x` and `c d`.
fn mixed_sample(length: usize, reverse: bool) -> Sample {
    let mut b = Builder::new();
    let [w, c, d, x] = [2, 2, 2, 2].map(|length| b.input("", vector(length)));
    let product = b.mul(w, c);
    let sine = b.op(Unary::Sin, &[product]);
    let term = b.mul(x, d);
    let (next, given) = (b.add(sine, term), b.mul(c, d));
    let body = b.finish(&[next, x, given]);
    let scan = Scan::new(body, length, 2, 1).reversed(reverse);
    Sample::new(scan, &[numbers(1, &[2]), numbers(2, &[2]), numbers(3, &[2]), numbers(4, &[length, 2])])
}

/// An integer in the carry that counts, and weighs the numbers: `n, c = n + 1, c + n x`.
fn counting_sample() -> Sample {
    let mut b = Builder::new();
    let (n, c) = (b.input("", Type::new(DType::I64, &[])), b.input("", Type::new(DType::F32, &[])));
    let x = b.input("", Type::new(DType::F32, &[]));
    let one = b.op(Literal::I64(1), &[]);
    let next = b.add(n, one);
    let weight = b.convert(n, DType::F32);
    let term = b.mul(weight, x);
    let sum = b.add(c, term);
    let scan = Scan::new(b.finish(&[next, sum, next]), 3, 2, 1);
    Sample::new(scan, &[Array::scalar(2i64), Array::scalar(0.75f32), numbers_f32(6, &[3])])
}

/// A choice in every step, so that cotangents have masks: `c = x > w ? c x : c + x`.
fn chosen_sample() -> Sample {
    let mut b = Builder::new();
    let [w, c, x] = [2, 2, 2].map(|length| b.input("", vector(length)));
    let chosen = b.op(Compare::Gt, &[x, w]);
    let (product, sum) = (b.mul(c, x), b.add(c, x));
    let next = b.op(Select, &[chosen, product, sum]);
    let scan = Scan::new(b.finish(&[next, product]), 3, 1, 1);
    Sample::new(scan, &[Array::new(&[2], vec![0.1, -0.3]), numbers(7, &[2]), numbers(8, &[3, 2])])
}

/// A loop in a loop: the inner one multiplies by rows of an invariant.
fn nested_sample() -> Sample {
    let mut b = Builder::new();
    let (c, x) = (b.input("", vector(2)), b.input("", vector(2)));
    let product = b.op(Binary::Mul, &[c, x]);
    let inner = b.finish(&[product]);
    let mut b = Builder::new();
    let (w, c) = (b.input("", Type::new(DType::F64, &[2, 2])), b.input("", vector(2)));
    let after = b.op(Scan::new(inner, 2, 1, 1), &[c, w]);
    let next = b.op(Unary::Sin, &[after]);
    let scan = Scan::new(b.finish(&[next]), 3, 1, 0);
    Sample::new(scan, &[numbers(9, &[2, 2]), numbers(10, &[2])])
}

/// No rows at all, and a result that does not depend on the carry.
fn running_sample() -> Sample {
    let mut b = Builder::new();
    let (w, c) = (b.input("", vector(3)), b.input("", vector(3)));
    let (twice, exp) = (b.add(c, w), b.op(Unary::Exp, &[w]));
    let scan = Scan::new(b.finish(&[twice, exp]), 2, 1, 0);
    Sample::new(scan, &[numbers(11, &[3]), numbers(12, &[3])])
}
