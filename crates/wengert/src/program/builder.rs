//! [`Builder`]: the only way to make a [`Program`].

use smallvec::SmallVec;

use super::{Eqn, Program, Types, Value};
use crate::array::{DType, Type, element_count};
use crate::error::{Error, ErrorKind, Line};
use crate::primitives::{Form, Literal, Op};

/// Makes a [`Program`], equation by equation.
///
/// ```
/// use wengert::{Array, Builder, DType, Type};
/// use wengert::ops::{Binary, Unary};
/// let mut b = Builder::new();
/// let x = b.input("x", Type::new(DType::F64, &[2]));
/// let s = b.emit(Unary::Sin, &[x])?[0];
/// let y = b.emit(Binary::Mul, &[x, s])?[0];
/// let program = b.finish(&[y]);
/// let out = program.run(&[Array::new(&[2], vec![0.0, 1.0])])?;
/// assert_eq!(out[0].elements::<f64>().unwrap(), [0.0, 1f64.sin()]);
/// # Ok::<(), wengert::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Builder {
    types: Vec<Type>,
    /// The inputs may come at any time; [`Builder::finish`] puts them first.
    inputs: Vec<(Value, String)>,
    eqns: Vec<Eqn>,
    /// The equation that defines each value; none for an input.
    origins: Vec<u32>,
    /// The user's line for the equations that come.
    pub(crate) line: Option<Line>,
}

impl Builder {
    /// An empty list.
    pub fn new() -> Self {
        Builder::default()
    }

    /// One more input. The name is for people and may be empty.
    pub fn input(&mut self, name: &str, ty: Type) -> Value {
        let value = self.define(ty, INPUT);
        self.inputs.push((value, name.to_owned()));
        value
    }

    fn define(&mut self, ty: Type, origin: u32) -> Value {
        let value = Value(u32::try_from(self.types.len()).expect("a Program has less than 2^32 values"));
        self.types.push(ty);
        self.origins.push(origin);
        value
    }

    fn push(&mut self, op: Op, args: &[Value], results: impl IntoIterator<Item = Type>) -> Value {
        let first = Value(self.types.len() as u32);
        let origin = self.eqns.len() as u32;
        results.into_iter().for_each(|ty| {
            self.define(ty, origin);
        });
        let results = self.types.len() as u32 - first.0;
        self.eqns.push(Eqn { op, args: args.into(), first, results, line: self.line });
        first
    }

    /// Appends `op(args)` and gives its results.
    ///
    /// # Errors
    /// If the operands do not fit; the error names the operation, their types and the line.
    pub fn emit(&mut self, op: impl Into<Op>, args: &[Value]) -> Result<Vec<Value>, Error> {
        Ok(self.append(op.into(), args)?.collect())
    }

    /// As [`Builder::emit`].
    fn append(&mut self, op: Op, args: &[Value]) -> Result<impl ExactSizeIterator<Item = Value> + use<>, Error> {
        let types: SmallVec<[&Type; 4]> = args.iter().map(|&arg| &self.types[arg.index()]).collect();
        let results = infer(&op, &types).map_err(|error| error.at(self.line))?;
        drop(types);
        let count = results.len() as u32;
        let first = self.push(op, args, results);
        Ok((first.0..first.0 + count).map(Value))
    }

    /// An empty list with room for this many equations and values.
    pub(crate) fn with_room(eqns: usize, values: usize) -> Self {
        let mut b = Builder::new();
        b.eqns.reserve_exact(eqns);
        b.types.reserve_exact(values);
        b.origins.reserve_exact(values);
        b
    }

    /// Appends an equation of a Program that exists, on operands of the types that they have there:
    /// its results have the types `results` and need no inference. Gives the first result.
    pub(crate) fn again(&mut self, op: Op, args: &[Value], results: Types) -> Option<Value> {
        debug_assert_eq!(
            infer(&op, &args.iter().map(|&arg| self.ty(arg)).collect::<Vec<&Type>>()).as_deref().ok(),
            Some(&results[..]),
            "`{}` has the types it had",
            op.name()
        );
        let has_results = !results.is_empty();
        let first = self.push(op, args, results);
        has_results.then_some(first)
    }

    /// As [`Builder::again`], with all results.
    pub(crate) fn all_again(
        &mut self,
        op: Op,
        args: &[Value],
        results: &[Type],
    ) -> impl Iterator<Item = Value> + use<> {
        let count = results.len() as u32;
        let first = self.again(op, args, results.iter().cloned().collect()).map_or(0, |first| first.0);
        (first..first + count).map(Value)
    }

    /// As [`Builder::emit`], for a rule whose operands fit by construction, with one result.
    pub(crate) fn op(&mut self, op: impl Into<Op>, args: &[Value]) -> Value {
        self.fitting(op.into(), args).next().expect("an operation with a result")
    }

    /// As [`Builder::op`], with several results.
    pub(crate) fn ops(&mut self, op: impl Into<Op>, args: &[Value]) -> Vec<Value> {
        self.fitting(op.into(), args).collect()
    }

    fn fitting(&mut self, op: Op, args: &[Value]) -> impl ExactSizeIterator<Item = Value> + use<> {
        self.append(op, args).unwrap_or_else(|error| panic!("a rule emits operands that do not fit: {error}"))
    }

    /// How many values there are.
    pub(crate) fn len(&self) -> usize {
        self.types.len()
    }

    /// The type of a value.
    pub fn ty(&self, value: Value) -> &Type {
        &self.types[value.index()]
    }

    /// The shape of a value.
    pub fn shape(&self, value: Value) -> &[usize] {
        &self.types[value.index()].shape
    }

    pub(crate) fn dtype(&self, value: Value) -> DType {
        self.types[value.index()].dtype
    }

    /// What a planner makes of an operation on these operands.
    pub(crate) fn form(&self, op: &Op, args: &[Value]) -> Form {
        op.form(&args.iter().map(|&arg| self.ty(arg)).collect::<SmallVec<[&Type; 4]>>())
    }

    pub(crate) fn eqns(&self) -> &[Eqn] {
        &self.eqns
    }

    /// The operation and the operands that define a value; `None` for an input.
    pub(crate) fn defined_by(&self, value: Value) -> Option<(&Op, &[Value])> {
        let eqn = self.definition(value)?;
        Some((&eqn.op, &eqn.args[..]))
    }

    /// The sum of two values of which either may be structurally zero: tangents, cotangents.
    pub(crate) fn add_present(&mut self, x: Option<Value>, y: Option<Value>) -> Option<Value> {
        match (x, y) {
            (Some(x), Some(y)) => Some(self.add(x, y)),
            (x, y) => x.or(y),
        }
    }

    /// The equation that defines a value; `None` for an input.
    pub(crate) fn definition(&self, value: Value) -> Option<&Eqn> {
        self.eqns.get(self.origins[value.index()] as usize)
    }

    /// The number that every element of a value is, if it is known from its definition.
    pub(crate) fn repeated(&self, mut value: Value) -> Option<Literal> {
        for _ in 0..MOST_MOVES {
            let eqn = self.definition(value)?;
            match eqn.op {
                Op::Literal(literal) => return Some(literal),
                Op::Broadcast(_) | Op::Reshape(_) | Op::Permute(_) | Op::Reverse(_) | Op::Slice(_) => {
                    value = eqn.args[0]
                }
                _ => return None,
            }
        }
        None
    }

    /// Whether all elements are known to be 0, and not -0.
    pub(crate) fn is_zero(&self, value: Value) -> bool {
        self.repeated(value).is_some_and(|number| number == Literal::of(0.0, number.dtype()))
    }

    pub(crate) fn inputs(&self) -> impl Iterator<Item = Value> {
        self.inputs.iter().map(|&(value, _)| value)
    }

    /// The same list with its inputs in this order.
    pub(crate) fn with_inputs_in_order(mut self, order: &[Value]) -> Self {
        let mut places = vec![usize::MAX; self.types.len()];
        order.iter().enumerate().for_each(|(place, value)| places[value.index()] = place);
        self.inputs.sort_by_key(|(input, _)| places[input.index()]);
        self
    }

    /// The number `value` everywhere in an array of this type.
    pub fn full(&mut self, value: f64, ty: &Type) -> Value {
        let scalar = self.op(Literal::of(value, ty.dtype), &[]);
        self.broadcast_scalar(scalar, &ty.shape)
    }

    /// The Program with these results.
    pub fn finish(self, outputs: &[Value]) -> Program {
        // The usual case: nothing has to be renamed.
        if self.inputs.iter().enumerate().all(|(k, (input, _))| input.index() == k) {
            let program = Program {
                eqns: self.eqns,
                outputs: outputs.to_vec(),
                names: self.inputs.into_iter().map(|(_, name)| name).collect(),
                types: self.types,
            };
            #[cfg(debug_assertions)]
            program.verify().unwrap_or_else(|why| panic!("{why}\n{program}"));
            return program;
        }
        self.renamed(outputs)
    }

    /// The Program with its inputs put first.
    fn renamed(self, outputs: &[Value]) -> Program {
        let mut renamed = vec![Value(u32::MAX); self.types.len()];
        let mut types = Vec::with_capacity(self.types.len());
        let mut place = |old: Value, types: &mut Vec<Type>| {
            renamed[old.index()] = Value(types.len() as u32);
            types.push(self.types[old.index()].clone());
        };
        self.inputs.iter().for_each(|&(input, _)| place(input, &mut types));
        for eqn in &self.eqns {
            eqn.outs().for_each(|out| place(out, &mut types));
        }
        let rename = |value: Value| renamed[value.index()];
        let eqns = self.eqns.into_iter().map(|eqn| Eqn {
            first: if eqn.results == 0 { Value(0) } else { rename(eqn.first) },
            args: eqn.args.iter().map(|&arg| rename(arg)).collect(),
            ..eqn
        });
        let program = Program {
            eqns: eqns.collect(),
            outputs: outputs.iter().map(|&output| rename(output)).collect(),
            names: self.inputs.into_iter().map(|(_, name)| name).collect(),
            types,
        };
        #[cfg(debug_assertions)]
        program.verify().unwrap_or_else(|why| panic!("{why}\n{program}"));
        program
    }
}

/// How many operations that only move elements are looked through: asked of each of a long chain, all of them would cost
/// the square of their number.
const MOST_MOVES: usize = 64;

/// The origin of an input.
const INPUT: u32 = u32::MAX;

/// The types of the results, checked to fit in memory.
pub(crate) fn infer(op: &Op, args: &[&Type]) -> Result<Vec<Type>, Error> {
    let error = |why: String| Error::new(ErrorKind::Misfit, &op.name(), why).of(args.iter().copied());
    let results = op.infer(args).map_err(|why| error(why.0))?;
    match results.iter().find(|ty| element_count(&ty.shape).is_none()) {
        Some(ty) => {
            let why = format!("the result would be {ty}, which does not fit in memory");
            Err(error(why).of_memory())
        }
        None => Ok(results),
    }
}
