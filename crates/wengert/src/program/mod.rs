//! [`Program`]: the Wengert list, typed and symbolic.
//!
//! A Program is a list of equations in single-assignment form. [`Builder::emit`] is the only way
//! to make one: it asks the operation for the types of its results, so that a Program that exists
//! is well typed. Nothing is implicit: no broadcast, cast or promotion.

mod builder;
mod cse;
mod dce;
mod drained;
#[cfg(feature = "text")]
mod parse;
mod rebuild;
mod reference;
mod text;
mod verify;

use std::fmt;
use std::hash::{Hash, Hasher};

use smallvec::SmallVec;

pub use builder::Builder;
pub(crate) use builder::infer;
pub(crate) use cse::{cse, cse_everywhere};
pub(crate) use dce::{dce, with_inputs, with_outputs};
pub(crate) use drained::Drained;
pub(crate) use rebuild::{everywhere, inline, rebuild, same_inputs};
#[cfg(feature = "engine")]
pub(crate) use reference::defined;
pub use reference::reference_steps;
pub(crate) use reference::{check_inputs, eval};

use crate::array::Type;
use crate::error::Line;
use crate::hash::FastHasher;
use crate::primitives::{Form, Op};

/// The name of a value in a Program: the n-th one in order of definition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Value(pub(crate) u32);

const _: () = assert!(size_of::<Value>() == 4);

impl Value {
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "v{}", self.0)
    }
}

/// The operands of an equation: without memory of their own as long as they are few, because equations are copied often.
pub(crate) type Args = SmallVec<[Value; 4]>;
/// The types of the results of an equation: mostly one.
pub(crate) type Types = SmallVec<[Type; 1]>;

/// One equation: results = operation(operands).
#[derive(Clone, Debug)]
pub struct Eqn {
    /// What is computed.
    pub op: Op,
    /// The operands: values defined before.
    pub args: Args,
    /// The first result; the others follow it.
    pub(crate) first: Value,
    /// How many results there are.
    pub(crate) results: u32,
    /// The user's line, if the equation comes from one.
    pub(crate) line: Option<Line>,
}

// Equations are copied by every transformation: they stay small.
const _: () = assert!(size_of::<Op>() <= 80 && size_of::<Eqn>() <= 128);

impl Eqn {
    /// The results.
    pub fn outs(&self) -> impl ExactSizeIterator<Item = Value> + use<> {
        (self.first.0..self.first.0 + self.results).map(Value)
    }

    /// Whether it comes from the same line as another one, and so the equations of the Programs inside.
    pub(crate) fn has_lines_of(&self, other: &Eqn) -> bool {
        let is_same = match (self.line, other.line) {
            // Where it is the same place in memory no names of files are compared.
            (Some(own), Some(other)) => std::ptr::eq(own, other) || own == other,
            (own, other) => own.is_none() && other.is_none(),
        };
        let inner = self.op.programs().into_iter().zip(other.op.programs());
        is_same && inner.into_iter().all(|(own, other)| own.has_lines_of(other))
    }
}

/// A typed list of equations in single-assignment form.
#[derive(Clone, Debug, Default)]
pub struct Program {
    /// The types of all values.
    pub(crate) types: Vec<Type>,
    /// The names of the inputs, for people; empty where there is none. The inputs are the first
    /// values.
    pub(crate) names: Vec<String>,
    pub(crate) eqns: Vec<Eqn>,
    pub(crate) outputs: Vec<Value>,
}

impl Program {
    /// The inputs: the first values.
    pub fn inputs(&self) -> impl ExactSizeIterator<Item = Value> + use<> {
        (0..self.names.len() as u32).map(Value)
    }

    /// The types of the inputs.
    pub fn input_types(&self) -> &[Type] {
        &self.types[..self.names.len()]
    }

    /// The names of the inputs, empty where one has none.
    pub fn input_names(&self) -> &[String] {
        &self.names
    }

    /// The results.
    pub fn outputs(&self) -> &[Value] {
        &self.outputs
    }

    /// The types of the results.
    pub fn output_types(&self) -> Vec<Type> {
        self.outputs.iter().map(|&output| self.ty(output).clone()).collect()
    }

    /// The equations in order.
    pub fn eqns(&self) -> &[Eqn] {
        &self.eqns
    }

    /// The type of a value.
    pub fn ty(&self, value: Value) -> &Type {
        &self.types[value.index()]
    }

    /// The types of an equation's results.
    pub(crate) fn types_of(&self, eqn: &Eqn) -> &[Type] {
        &self.types[eqn.first.index()..eqn.first.index() + eqn.results as usize]
    }

    /// What a planner makes of an equation.
    pub(crate) fn form(&self, eqn: &Eqn) -> Form {
        eqn.op.form(&eqn.args.iter().map(|&arg| self.ty(arg)).collect::<SmallVec<[&Type; 4]>>())
    }

    /// A number that is the same for Programs that print the same, apart from the inputs' names.
    /// Data that a function captured is an operand and has no part in it.
    pub fn structural_hash(&self) -> u64 {
        let mut hasher = FastHasher::default();
        self.hash(&mut hasher);
        hasher.finish()
    }

    /// Whether the equations come from the same lines: two Programs that are equal may differ in what an error of theirs
    /// has to name.
    pub(crate) fn has_lines_of(&self, other: &Program) -> bool {
        let same = |(a, b): (&Eqn, &Eqn)| a.has_lines_of(b);
        self.eqns.len() == other.eqns.len() && self.eqns.iter().zip(&other.eqns).all(same)
    }

    /// The Program with some of its outputs only.
    pub(crate) fn with_outputs(mut self, range: std::ops::RangeFrom<usize>) -> Program {
        self.outputs.drain(..range.start);
        dce(self)
    }

    /// Gives back the room that its lists grew into and do not use.
    pub(crate) fn shrink_to_fit(&mut self) {
        self.eqns.shrink_to_fit();
        self.types.shrink_to_fit();
    }

    /// Which inputs an equation or output uses.
    pub(crate) fn used_inputs(&self) -> Vec<bool> {
        let mut used = vec![false; self.names.len()];
        let values = self.eqns.iter().flat_map(|eqn| &eqn.args).chain(&self.outputs);
        values.filter(|value| value.index() < self.names.len()).for_each(|value| used[value.index()] = true);
        used
    }

    /// How many equations there are with those of the Programs inside.
    pub fn count(&self) -> usize {
        self.eqns.iter().map(|eqn| 1 + eqn.op.programs().iter().map(|inner| inner.count()).sum::<usize>()).sum()
    }
}

/// Structure: types, operations and wiring; neither names nor lines.
impl PartialEq for Program {
    fn eq(&self, other: &Self) -> bool {
        self.types == other.types
            && self.names.len() == other.names.len()
            && self.outputs == other.outputs
            && self.eqns.len() == other.eqns.len()
            && self.eqns.iter().zip(&other.eqns).all(|(a, b)| a.op == b.op && a.args == b.args)
    }
}

impl Eq for Program {}

impl Hash for Program {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.types.hash(state);
        self.names.len().hash(state);
        self.outputs.hash(state);
        for eqn in &self.eqns {
            eqn.op.hash(state);
            eqn.args.hash(state);
        }
    }
}
