//! [`Primitive`]: everything that an operation states about itself, and the words in which it does.
//!
//! Passes, transformations and the planner ask; none of them lists operations to say what one of them is.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use super::{Attributes, Op};
use crate::array::{Array, Type, row_major};
use crate::error::{Error, ErrorKind, Misfit};
use crate::program::{Builder, Program, Value};
use crate::transform::pattern::{Follow, Followed};
use wengert_kernels::pattern::{Boxes, Places, Reach};

/// Operands in which the results are jointly linear, by position.
pub type OperandSet = Vec<usize>;

/// Tangents of results; `None` where one is structurally zero.
pub type Tangents = Result<Vec<Option<Value>>, Misfit>;

/// Values and tangents of results.
pub type WithTangents = (Vec<Value>, Vec<Option<Value>>);

/// Cotangents of operands; `None` where one is structurally zero, or the operand is known.
pub type Cotangents = Result<Vec<Option<Value>>, Misfit>;

/// Cotangents of operands with their masks.
pub type MaskedCotangents = Result<Vec<Option<Cotangent>>, Misfit>;

/// Results of an operation under `vmap`, and whether each has the new axis.
pub type Batched = Result<Vec<(Value, bool)>, Misfit>;

/// An axis of each operand, or `None` of one that is taken whole.
pub type Along = Vec<Option<usize>>;

/// An operand of an operation that is transposed.
#[derive(Clone, Debug)]
pub enum Operand {
    /// A value that does not depend on what the map is linear in.
    Known(Value),
    /// A value that does; only its type exists.
    Linear(Type),
}

impl Operand {
    /// The value of an operand that must be known.
    pub(crate) fn known(&self) -> Value {
        match self {
            Operand::Known(value) => *value,
            Operand::Linear(ty) => panic!("an operand of type {ty} is linear where a known one was declared"),
        }
    }

    pub(crate) fn is_linear(&self) -> bool {
        matches!(self, Operand::Linear(_))
    }

    pub(crate) fn ty(&self, b: &Builder) -> Type {
        match self {
            Operand::Known(value) => b.ty(*value).clone(),
            Operand::Linear(ty) => ty.clone(),
        }
    }
}

/// A cotangent, and where it counts: everywhere if there is no mask, else it is 0 elsewhere.
#[derive(Clone, Copy, Debug)]
pub struct Cotangent {
    /// The numbers.
    pub value: Value,
    /// Truth values of the same shape.
    pub mask: Option<Value>,
}

/// What a planner makes of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// A number that is known when the plan is made: nothing runs.
    Number,
    /// Each element of the result is one of the operand's: a view, as long as strides can say it.
    View,
    /// Each element of the result is a function of one element of each operand: it is fused with its neighbours.
    Elementwise,
    /// As [`Form::Elementwise`], in a kernel of its own, because it can fail.
    ElementwiseKernel,
    /// A reduction over axes: the end of a fused region, or a kernel.
    Reduction,
    /// A kernel that reads whole operands, in row-major order.
    Kernel,
    /// The planner has a way of its own for it.
    Planned,
    /// The equations of a Program take its place: [`Primitive::expansion`].
    Inlined,
}

/// How the Programs inside an operation are connected to its operands and results.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wiring {
    /// There is no Program inside, or none that takes the operands as they are.
    Apart,
    /// One of the Programs runs. Each takes the operands from `first` on, and gives the results.
    OneOf {
        /// How many operands stand before those of the Programs.
        first: usize,
    },
    /// Programs run again and again, one phase after the other.
    Loop {
        /// What runs again and again.
        phases: Vec<Phase>,
        /// Each result: an output of the Program of a phase, by their numbers.
        results: Vec<(usize, usize)>,
    },
}

/// A part of a loop: a Program that takes the operands up to their number, and whose first outputs are the carry of its next
/// step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Phase {
    /// The Program, by its number among those of the operation.
    pub program: usize,
    /// The operands with which its carry begins.
    pub carry: Range<usize>,
}

/// An operation that holds Programs without what no needed result needs: see [`Primitive::narrowed`].
#[derive(Clone, Debug)]
pub struct Narrowed {
    /// The operation.
    pub op: Op,
    /// Its operands, by their positions before.
    pub args: Vec<usize>,
    /// Its results, by their positions before.
    pub outs: Vec<usize>,
}

/// How the masks of cotangents come through the transpose of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Masks {
    /// Element by element: what is masked in the result's cotangent is masked in the operands'.
    Elementwise,
    /// One of two operands was chosen for each element, by the first operand: each counts where it was.
    Chosen,
    /// The transpose only moves, repeats or adds: the masks take the way of the numbers, as truth values.
    Moved,
    /// A sum of products of two operands.
    Contracted,
    /// No shorter way is known: it is counted which cotangents that count reach each element.
    Counted,
}

/// An operation in two parts: a known one, which needs no unknown operand, and an unknown one, which takes what the known one
/// keeps for it.
#[derive(Clone, Debug)]
pub struct Split {
    /// Gives the known results, then the residuals.
    pub known: Op,
    /// The operands of the known part, by position.
    pub known_args: Vec<usize>,
    /// Which results are known.
    pub is_known: Vec<bool>,
    /// Gives the other results.
    pub unknown: Op,
    /// The operands of the unknown part.
    pub unknown_args: Vec<Source>,
}

/// Where an operand of the unknown part of a [`Split`] comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// The operand at this position.
    Operand(usize),
    /// A residual, by number.
    Residual(usize),
}

/// An equation as its rule for patterns sees it: the types of operands and results, and the operands whose values are known.
#[derive(Clone, Copy, Debug)]
pub struct Site<'a> {
    /// The types of the operands.
    pub args: &'a [&'a Type],
    /// The values of the operands, where they are known: masks and indices that do not depend on what is differentiated.
    pub known: &'a [Option<&'a Array>],
    /// The types of the results.
    pub outs: &'a [Type],
}

/// For each result, which elements of each operand it depends on.
pub type Reaches = Result<Vec<Vec<Reach>>, Misfit>;

impl Site<'_> {
    /// The same for every result and operand.
    pub(crate) fn all(&self, reach: &Reach) -> Vec<Vec<Reach>> {
        vec![vec![reach.clone(); self.args.len()]; self.outs.len()]
    }

    /// The elements of an operand of this shape that those of a result of that shape depend on, where `axes` says which axis of
    /// the operand an axis of the result is: all along the others.
    pub(crate) fn boxes(&self, operand: &[usize], out: &[usize], axes: &[Option<usize>]) -> Boxes {
        let strides = row_major(operand);
        let others: Vec<usize> = (0..operand.len()).filter(|axis| !axes.contains(&Some(*axis))).collect();
        Boxes {
            of: None,
            out: out.to_vec(),
            out_strides: axes.iter().map(|axis| axis.map_or(0, |axis| strides[axis])).collect(),
            shape: others.iter().map(|&axis| operand[axis]).collect(),
            strides: others.iter().map(|&axis| strides[axis]).collect(),
        }
    }

    /// Every result depends on everything along the axes that mix places, as [`Primitive::along`] says.
    pub(crate) fn along(&self, along: impl Fn(usize) -> Option<Along>) -> Vec<Vec<Reach>> {
        let first = &self.outs[0];
        if self.outs.iter().any(|out| out.shape != first.shape) {
            return self.all(&Reach::All);
        }
        let axes: Vec<Option<Along>> = (0..first.rank()).map(along).collect();
        let of = |k: usize| {
            let own: Vec<Option<usize>> = axes.iter().map(|along| along.as_ref().and_then(|along| along[k])).collect();
            let named: Vec<usize> = own.iter().copied().flatten().collect();
            let is_clear = (0..named.len()).all(|k| !named[..k].contains(&named[k]));
            if is_clear { Reach::Boxes(self.boxes(&self.args[k].shape, &first.shape, &own)) } else { Reach::All }
        };
        vec![(0..self.args.len()).map(of).collect(); self.outs.len()]
    }

    /// Where each element of the results comes from, of an operation that moves elements only: it is run on numbers that name
    /// places. The operands marked `fixed` have their known values.
    ///
    /// # Errors
    /// Those of `eval`.
    pub(crate) fn moved(&self, fixed: &[usize], eval: impl FnOnce(&[&Array]) -> Result<Vec<Array>, Misfit>) -> Reaches {
        // 0 is what comes from no operand: a default that fills.
        let mut next = 1;
        let mut firsts = Vec::with_capacity(self.args.len());
        let named: Vec<Array> = (0..self.args.len())
            .map(|k| {
                firsts.push(next);
                match self.known[k].filter(|_| fixed.contains(&k)) {
                    Some(value) => value.clone(),
                    None => {
                        let count = self.args[k].size() as i64;
                        next += count;
                        Array::new(&self.args[k].shape, (next - count..next).collect::<Vec<i64>>())
                    }
                }
            })
            .collect();
        let results = eval(&named.iter().collect::<Vec<&Array>>())?;
        let of = |result: &Array, k: usize| {
            if fixed.contains(&k) {
                return Reach::Nothing;
            }
            let names = firsts[k]..firsts[k] + self.args[k].size() as i64;
            let place = |name: &i64| names.contains(name).then(|| (name - names.start) as usize);
            Reach::Picked(Places::of(result.known::<i64>().iter().map(place)))
        };
        Ok(results.iter().map(|result| (0..self.args.len()).map(|k| of(result, k)).collect()).collect())
    }
}

/// Runs a Program inside an operation on operands.
pub type RunInside<'a> = dyn FnMut(&Program, &[&Array]) -> Result<Vec<Array>, Misfit> + 'a;

/// The contract of an operation.
pub trait Primitive {
    /// The name, as in the text form and in messages.
    fn name(&self) -> Cow<'static, str>;

    /// The types of the results, or why the operands do not fit.
    ///
    /// # Errors
    /// A sentence that names the axis or the option.
    fn infer(&self, args: &[&Type]) -> Result<Vec<Type>, Misfit>;

    /// The definition, as plainly as possible. The operands have passed [`Primitive::infer`].
    ///
    /// # Errors
    /// What only the values show: an index out of range.
    fn eval(&self, args: &[&Array]) -> Result<Vec<Array>, Misfit>;

    /// As [`Primitive::eval`], where the Programs inside are run by `run`, each time with the operands of that time: of branches, regions
    /// and loops. `None` of an operation without Programs inside, or one whose derivative is not that of its Programs.
    fn eval_by(&self, _args: &[&Array], _run: &mut RunInside<'_>) -> Option<Result<Vec<Array>, Misfit>> {
        None
    }

    /// Why evaluating it on operands of these types has failed, as users are told.
    fn failure(&self, why: Misfit, args: &[&Type]) -> Error {
        Error::new(ErrorKind::Run, &self.name(), why.0).of(args.iter().copied())
    }

    /// Bytes that its definition allocates beside its results while it runs, at most; asked only where a plan runs the
    /// definition.
    fn defined_bytes(&self, _args: &[&Type]) -> usize {
        0
    }

    /// What a planner makes of it for operands of these types.
    fn form(&self, args: &[&Type]) -> Form;

    /// Whether an element takes no longer than an addition: then it may be computed again instead of being stored.
    fn is_cheap(&self) -> bool {
        false
    }

    /// The sets of operands in which the results are jointly linear when the others are held: none,
    /// one (`[[0, 1]]` for a sum), several (`[[0], [1]]` for a product).
    fn linear_in(&self, args: usize) -> Vec<OperandSet>;

    /// Whether linear operands are multiplied by others, which may be infinite: then zeros do not stay zeros. What only
    /// moves and adds says that it does not.
    fn multiplies(&self) -> bool {
        true
    }

    /// The tangents of the results. Asked only if the operands that have a tangent are not covered by
    /// [`Primitive::linear_in`]; from that, tangents follow.
    fn jvp(&self, _b: &mut Builder, _args: &[Value], outs: &[Value], _tangents: &[Option<Value>]) -> Tangents {
        Ok(vec![None; outs.len()])
    }

    /// The cotangents of the operands, given those of the results. The linear operands are within
    /// one set of [`Primitive::linear_in`]; for the known ones the answer is `None`. Adding up over
    /// uses, and the masks of `select`, are the caller's.
    fn transpose(&self, _b: &mut Builder, _cotangents: &[Option<Value>], _args: &[Operand]) -> Cotangents {
        Err(Misfit(format!("`{}` is not linear and has no transpose", self.name())))
    }

    /// How masks come through the transpose.
    fn masks(&self) -> Masks {
        Masks::Counted
    }

    /// Of a contraction: where an operand meets a cotangent that counts, the other one being 1 everywhere; `None` if there
    /// is no shorter way than to count.
    fn met(&self, _b: &mut Builder, _mask: Value, _operand: usize, _types: &[Type; 2]) -> Option<Value> {
        None
    }

    /// The operand whose cotangents a known factor multiplies, where that is not a linear operand of its own: the terms of a
    /// recurrence.
    fn factor_meets(&self) -> Option<usize> {
        None
    }

    /// Values and tangents together, for operations that hold Programs.
    fn jvp_with_values(
        &self,
        _b: &mut Builder,
        _args: &[Value],
        _tangents: &[Option<Value>],
    ) -> Option<Result<WithTangents, Misfit>> {
        None
    }

    /// The transpose with masks, for operations that hold Programs.
    fn transpose_masked(
        &self,
        _b: &mut Builder,
        _cotangents: &[Option<Cotangent>],
        _args: &[Operand],
    ) -> Option<MaskedCotangents> {
        None
    }

    /// Partial evaluation: the operation in two parts, where the marked operands are unknown. `None` where there is nothing to
    /// divide: then it is known if all its operands are.
    fn split(&self, _unknown: &[bool]) -> Option<Split> {
        None
    }

    /// The results with one more axis, of this length and in front, on the operands that are
    /// marked, which have it in front; and whether each result has it.
    ///
    /// # Errors
    /// If there is no such form.
    fn batch(&self, b: &mut Builder, args: &[Value], batched: &[bool], length: usize) -> Batched;

    /// As [`Primitive::batch`], where only the lanes of `mask` count, for operations that hold Programs: what could fail in
    /// the others must not. `None` if nothing inside can.
    fn batch_masked(
        &self,
        _b: &mut Builder,
        _args: &[Value],
        _batched: &[bool],
        _length: usize,
        _mask: Value,
    ) -> Option<Batched> {
        None
    }

    /// Where an axis of the only result comes from: the axis of each operand, or `None` of one that is taken whole. The part of
    /// the result at a place along the axis is then a function of the parts of these operands at that place. `None` if places
    /// are mixed.
    fn along(&self, axis: usize, args: &[&Type]) -> Option<Along> {
        let is_elementwise = !args.is_empty() && self.form(args) == Form::Elementwise;
        is_elementwise.then(|| vec![Some(axis); args.len()])
    }

    /// The same with another length of this axis of the result, where [`Primitive::along`] says where the axis comes from.
    /// `None` if the operation names no lengths.
    fn with_length(&self, _axis: usize, _length: usize) -> Option<Op> {
        None
    }

    /// Where the result is a sum over this axis of this operand: the axis of each operand that is summed over, or `None` of one
    /// that is taken whole.
    fn sums_over(&self, _operand: usize, _axis: usize) -> Option<Along> {
        None
    }

    /// Which elements of the operands each element of each result depends on, as far as derivatives go: elementwise operations
    /// and views follow from their form, the others depend on everything if they do not say better. Results and operands that
    /// are not real numbers are not asked about.
    ///
    /// # Errors
    /// Those of [`Primitive::eval`] on the known values.
    fn reach(&self, site: &Site) -> Reaches {
        match self.form(site.args) {
            Form::Elementwise | Form::ElementwiseKernel => Ok(site.all(&Reach::Same)),
            Form::View => site.moved(&[], |args| self.eval(args)),
            _ => Ok(site.along(|axis| self.along(axis, site.args))),
        }
    }

    /// The operands whose values, where they are known, decide in [`Primitive::reach`]: masks and indices.
    fn decides(&self) -> Vec<usize> {
        Vec::new()
    }

    /// Why a result does not depend on all that [`Primitive::reach`] names, even where the values that decide are known; `None`
    /// if it does.
    fn reaches_more(&self) -> Option<&'static str> {
        None
    }

    /// What is known of the results, given what is of the operands, for operations that hold Programs; `None` if it follows
    /// from [`Primitive::wiring`], or everything depends on everything.
    fn follow(&self, _follow: &mut Follow, _operands: &[Followed]) -> Option<Result<Vec<Followed>, Error>> {
        None
    }

    /// The operands whose values can make [`Primitive::eval`] fail, each with a number at which it
    /// does not. Where a lane of `vmap` does not take the branch that the operation stands in, this
    /// number takes the operand's place.
    fn harmless(&self) -> Vec<(usize, f64)> {
        Vec::new()
    }

    /// Whether it can fail on what it computes inside, though no operand alone decides.
    fn gives_up(&self) -> bool {
        false
    }

    /// The Program whose equations take the place of an operation that is [`Form::Inlined`].
    fn expansion(&self) -> Cow<'_, Program> {
        Cow::Borrowed(self.programs()[0])
    }

    /// The Programs inside.
    fn programs(&self) -> Vec<&Arc<Program>> {
        Vec::new()
    }

    /// How the Programs inside are connected to operands and results.
    fn wiring(&self) -> Wiring {
        Wiring::Apart
    }

    /// A loop without what the results marked do not need; asked where [`Primitive::wiring`] is that of a loop. `None` if all
    /// is needed.
    fn narrowed(&self, _needed: &[bool]) -> Option<Narrowed> {
        None
    }

    /// The same operation on other Programs, in the order of [`Primitive::programs`].
    fn with_programs(&self, programs: Vec<Arc<Program>>) -> Op {
        unreachable!("`{}` holds no Programs, and gets {}", self.name(), programs.len())
    }

    /// The options in the text form, in order.
    fn attributes(&self) -> Attributes {
        Attributes::default()
    }
}

impl Form {
    /// Whether each element of the result is a function of one element of each operand.
    pub(crate) fn is_elementwise(self) -> bool {
        matches!(self, Form::Elementwise | Form::ElementwiseKernel)
    }
}

impl Wiring {
    /// What holds of the results of an operation with Programs inside, given what holds of its operands: `run` says what
    /// holds of a Program's outputs, `join` what holds of a value that comes from either of two places. `None` if the
    /// Programs do not take the operands. In a loop it is the least that holds in every step.
    pub(crate) fn flow<D: Clone + PartialEq, E>(
        &self,
        op: &Op,
        operands: &[D],
        mut run: impl FnMut(&Program, &[D]) -> Result<Vec<D>, E>,
        join: impl Fn(D, D) -> Result<D, E>,
    ) -> Option<Result<Vec<D>, E>> {
        match self {
            Wiring::Apart => None,
            Wiring::OneOf { first } => {
                let mut branches = op.programs().into_iter().map(|program| run(program, &operands[*first..]));
                let one = branches.next()?;
                Some(branches.fold(one, |one, other| one?.into_iter().zip(other?).map(|(x, y)| join(x, y)).collect()))
            }
            Wiring::Loop { phases, results } => Some(around(&op.programs(), phases, results, operands, run, join)),
        }
    }
}

/// What holds of the results of a loop: its phases one after the other, each until nothing changes in its carry.
fn around<D: Clone + PartialEq, E>(
    programs: &[&Arc<Program>],
    phases: &[Phase],
    results: &[(usize, usize)],
    operands: &[D],
    mut run: impl FnMut(&Program, &[D]) -> Result<Vec<D>, E>,
    join: impl Fn(D, D) -> Result<D, E>,
) -> Result<Vec<D>, E> {
    let mut values = operands.to_vec();
    let mut outputs: Vec<Vec<D>> = Vec::with_capacity(phases.len());
    for phase in phases {
        let program = programs[phase.program];
        outputs.push(loop {
            let mut outs = run(program, &values[..program.input_types().len()])?;
            let mut settled = true;
            for (k, out) in phase.carry.clone().zip(&mut outs) {
                let joined = join(values[k].clone(), out.clone())?;
                settled &= joined == values[k];
                values[k] = joined.clone();
                *out = joined;
            }
            if settled {
                break outs;
            }
        });
    }
    Ok(results.iter().map(|&(phase, output)| outputs[phase][output].clone()).collect())
}
