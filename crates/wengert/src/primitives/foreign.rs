//! A user's own code as an operation: plain Rust on plain arrays, which no transformation looks into.

mod call;
mod code;

use std::borrow::Cow;
use std::sync::Arc;

use super::control::{guarded, inside};
#[cfg(feature = "text")]
use super::parse::Fields;
use super::{
    Along, Attributes, Batched, Cotangent, Cotangents, Family, Form, MaskedCotangents, Op, Operand, OperandSet,
    Primitive, Reach, Reaches, Sample, Site, Tangents, WithTangents,
};
use crate::array::{Array, DType, Type};
use crate::error::{Error, ErrorKind, Misfit, misfit};
use crate::ops::Logic;
use crate::program::{Builder, Program, Value, inline};
use crate::transform::given::push_through;
use crate::transform::transpose::{self, mask_out};
#[cfg(feature = "engine")]
pub(crate) use call::Examples;
pub(crate) use code::{Code, ForeignDerivative, Many, PlainCode};

/// A function of arrays that is plain code, of a [`CustomRule`](crate::CustomRule): its value, or its derivative where that is plain
/// code too.
///
/// The operands are those of the function; for a derivative its results and the directions follow. Nothing is known of it: each
/// element of a result may depend on every element of the operands, unless the rule says that it works element by element. It is
/// linear in the directions, and the transpose of one derivative is the other. A Program that holds it has no text form.
///
/// Under [`vmap`](crate::vmap) it is called for one example after the other, or for all at once, as the rule allows.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Foreign {
    /// The code, for operands of these types.
    pub(crate) code: Arc<Code>,
    /// What of it this is.
    pub role: ForeignRole,
    /// The lengths of the first axes of operands and results, along which there are examples of their own.
    pub lanes: Vec<usize>,
    /// Whether the first operand says which examples count: for the others nothing is called, and the results are 0.
    pub masked: bool,
}

/// What a [`Foreign`] operation computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ForeignRole {
    /// The results.
    Value,
    /// The tangents of the real results, from operands, results, and tangents of the real operands.
    Tangent,
    /// The cotangents of the real operands, from operands, results, and cotangents of the real results.
    Cotangent,
}

/// Those of the types that have derivatives.
pub(crate) fn real(types: &[Type]) -> impl Iterator<Item = &Type> {
    types.iter().filter(|ty| ty.dtype.is_float())
}

impl Foreign {
    /// The value of the code.
    pub(crate) fn new(code: Arc<Code>) -> Self {
        Foreign { code, role: ForeignRole::Value, lanes: Vec::new(), masked: false }
    }

    /// The types of an example: of its operands, then of its results.
    fn types(&self) -> (Vec<&Type>, Vec<&Type>) {
        let (inputs, outputs) = (&self.code.inputs, &self.code.outputs);
        match self.role {
            ForeignRole::Value => (inputs.iter().collect(), outputs.iter().collect()),
            ForeignRole::Tangent => {
                (inputs.iter().chain(outputs).chain(real(inputs)).collect(), real(outputs).collect())
            }
            ForeignRole::Cotangent => {
                (inputs.iter().chain(outputs).chain(real(outputs)).collect(), real(inputs).collect())
            }
        }
    }

    /// A type with the axes of the examples in front.
    fn with_lanes(&self, ty: &Type) -> Type {
        ty.with_shape([&self.lanes[..], &ty.shape[..]].concat())
    }

    /// How many operands there are before the directions.
    fn known(&self) -> usize {
        usize::from(self.masked) + self.code.inputs.len() + self.code.outputs.len()
    }

    /// The derivative at a point, of these directions.
    fn derivative(&self, b: &mut Builder, role: ForeignRole, known: &[Value], directions: Vec<Value>) -> Vec<Value> {
        b.ops(Foreign { role, ..self.clone() }, &[known, &directions].concat())
    }

    /// Directions, zeros where there is none, of values of these types.
    fn directions<'a>(
        &self,
        b: &mut Builder,
        given: impl Iterator<Item = Option<Value>>,
        types: impl Iterator<Item = &'a Type>,
    ) -> Vec<Value> {
        given.zip(types).map(|(given, ty)| given.unwrap_or_else(|| b.full(0.0, &self.with_lanes(ty)))).collect()
    }

    /// The cotangents of the operands, of which the first are known, at this point.
    fn pull(&self, b: &mut Builder, point: &[Value], cotangents: &[Option<Value>], args: &[Operand]) -> Cotangents {
        let (inputs, outputs) = (&self.code.inputs, &self.code.outputs);
        let given = cotangents.iter().copied();
        let pulled = match self.role {
            ForeignRole::Value => misfit!("`{}` is not linear and has no transpose", self.code.name),
            ForeignRole::Tangent => {
                let directions = self.directions(b, given, real(outputs));
                self.derivative(b, ForeignRole::Cotangent, point, directions)
            }
            ForeignRole::Cotangent => {
                let directions = self.directions(b, given, real(inputs));
                self.derivative(b, ForeignRole::Tangent, point, directions)
            }
        };
        let known = args.len() - pulled.len();
        let pulled = args[known..].iter().zip(pulled).map(|(arg, ct)| arg.is_linear().then_some(ct));
        Ok(std::iter::repeat_n(None, known).chain(pulled).collect())
    }

    fn with_tangents(
        &self,
        b: &mut Builder,
        args: &[Value],
        tangents: &[Option<Value>],
    ) -> Result<WithTangents, Misfit> {
        let code = &*self.code;
        let outs = b.ops(self.clone(), args);
        let known: Vec<Value> = args.iter().chain(&outs).copied().collect();
        let moving =
            tangents[usize::from(self.masked)..].iter().zip(&code.inputs).filter(|(_, ty)| ty.dtype.is_float());
        let dots: Vec<Option<Value>> = moving.map(|(tangent, _)| *tangent).collect();
        let pushed: Vec<Option<Value>> = match &code.derivative {
            ForeignDerivative::None => misfit!("{}", code.lacks_derivative()),
            ForeignDerivative::Plain { .. } => {
                let dots = self.directions(b, dots.into_iter(), real(&code.inputs));
                self.derivative(b, ForeignRole::Tangent, &known, dots).into_iter().map(Some).collect()
            }
            ForeignDerivative::Jvp(program) => {
                let program = self.for_examples(program)?;
                push_through(b, &program, &known, &dots)
            }
            ForeignDerivative::Vjp(program) => {
                // It is linear in the cotangents, and its transpose is the tangent map.
                let cotangents = real(&code.outputs).count();
                let program = self.for_examples(program)?;
                let operands = known.iter().map(|&value| Some(value)).chain(std::iter::repeat_n(None, cotangents));
                let pushed = transpose::transpose(b, &program, &operands.collect::<Vec<_>>(), &dots).map_err(inside)?;
                pushed[known.len()..].to_vec()
            }
        };
        let mut pushed = pushed.into_iter();
        let of = |ty: &Type| if ty.dtype.is_float() { pushed.next().flatten() } else { None };
        let tangents = code.outputs.iter().map(of).collect();
        Ok((outs, tangents))
    }

    /// A derivative that is tensor operations, for all examples: it takes which of them count, if that is an operand, and then
    /// as many operands as for one.
    fn for_examples(&self, program: &Arc<Program>) -> Result<Program, Misfit> {
        let inputs = program.input_types().len();
        let mut all = (**program).clone();
        for &length in self.lanes.iter().rev() {
            all = all.vmap(&vec![true; inputs], length).map_err(inside)?;
        }
        if !self.masked {
            return Ok(all);
        }
        if self.lanes.is_empty() {
            let mut b = Builder::new();
            b.input("", Type::new(DType::Bool, &[]));
            let args: Vec<Value> = program.input_types().iter().map(|ty| b.input("", ty.clone())).collect();
            let outs = inline(&mut b, program, &args);
            return Ok(b.finish(&outs));
        }
        // All examples along one axis, so that one mask says which count.
        let count = self.lanes.iter().product();
        let together = guarded(program, &vec![true; inputs], count, Some(Type::new(DType::Bool, &[])))?;
        let mut b = Builder::new();
        let mask = b.input("", Type::new(DType::Bool, &self.lanes));
        let ignored = b.full(1.0, &Type::new(DType::Bool, &[]));
        let mut args = vec![ignored, b.reshape(mask, &[count])];
        for ty in program.input_types() {
            let x = b.input("", self.with_lanes(ty));
            args.push(b.reshape(x, &[&[count], &ty.shape[..]].concat()));
        }
        let outs = inline(&mut b, &together, &args);
        let apart = outs.iter().zip(program.output_types());
        let outs: Vec<Value> = apart.map(|(&out, ty)| b.reshape(out, &self.with_lanes(&ty).shape)).collect();
        Ok(b.finish(&outs))
    }

    /// The operation with one more axis of examples, of which those of `mask` count, if there is one.
    fn batched(
        &self,
        b: &mut Builder,
        args: &[Value],
        batched: &[bool],
        length: usize,
        mask: Option<Value>,
    ) -> Batched {
        if !batched.contains(&true) {
            // The same for every example: it is called once, if one of them counts.
            let Some(mask) = mask else { misfit!("no operand has the axis") };
            let any = b.any(mask, &[0]);
            let mut counts = b.spread(any, &self.lanes, &(0..self.lanes.len()).collect::<Vec<usize>>());
            let mut operands = args.to_vec();
            if self.masked {
                counts = b.op(Logic::And, &[counts, operands.remove(0)]);
            }
            operands.insert(0, counts);
            let outs = b.ops(Foreign { masked: true, ..self.clone() }, &operands);
            return Ok(outs.into_iter().map(|out| (out, false)).collect());
        }
        if self.code.many.is_refused() {
            misfit!("{}", self.code.lacks_many());
        }
        let mut operands = b.batch_all(args, batched, length);
        let lanes = [&[length], &self.lanes[..]].concat();
        if let Some(mask) = mask {
            let mask = b.spread(mask, &lanes, &(1..lanes.len()).collect::<Vec<usize>>());
            match self.masked {
                true => operands[0] = b.op(Logic::And, &[mask, operands[0]]),
                false => operands.insert(0, mask),
            }
        }
        let masked = self.masked || mask.is_some();
        let outs = b.ops(Foreign { lanes, masked, ..self.clone() }, &operands);
        Ok(outs.into_iter().map(|out| (out, true)).collect())
    }
}

impl Primitive for Foreign {
    fn name(&self) -> Cow<'static, str> {
        "foreign".into()
    }
    fn infer(&self, args: &[&Type]) -> Result<Vec<Type>, Misfit> {
        let (inputs, outputs) = self.types();
        let mut wanted: Vec<Type> = inputs.into_iter().map(|ty| self.with_lanes(ty)).collect();
        if self.masked {
            wanted.insert(0, Type::new(DType::Bool, &self.lanes));
        }
        if wanted.len() != args.len() || wanted.iter().zip(args).any(|(wanted, ty)| wanted != *ty) {
            let list: Vec<String> = wanted.iter().map(ToString::to_string).collect();
            misfit!("`{}` was made for ({})", self.code.name, list.join(", "));
        }
        Ok(outputs.into_iter().map(|ty| self.with_lanes(ty)).collect())
    }
    fn eval(&self, args: &[&Array]) -> Result<Vec<Array>, Misfit> {
        self.call(args)
    }
    fn failure(&self, why: Misfit, args: &[&Type]) -> Error {
        Error::new(ErrorKind::Run, &self.code.name, why.0).of(args[usize::from(self.masked)..].iter().copied())
    }
    fn form(&self, _: &[&Type]) -> Form {
        Form::Kernel
    }
    fn along(&self, axis: usize, args: &[&Type]) -> Option<Along> {
        let single = self.types().1.len() == 1;
        (single && axis < self.lanes.len()).then(|| vec![Some(axis); args.len()])
    }
    fn with_length(&self, axis: usize, length: usize) -> Option<Op> {
        let mut lanes = self.lanes.clone();
        *lanes.get_mut(axis)? = length;
        Some(Foreign { lanes, ..self.clone() }.into())
    }
    fn reach(&self, site: &Site) -> Reaches {
        if self.code.is_elementwise {
            return Ok(site.all(&Reach::Same));
        }
        Ok(site.along(|axis| self.along(axis, site.args)))
    }
    fn linear_in(&self, args: usize) -> Vec<OperandSet> {
        match self.role {
            ForeignRole::Value => Vec::new(),
            ForeignRole::Tangent | ForeignRole::Cotangent => vec![(self.known()..args).collect()],
        }
    }
    fn jvp(&self, _: &mut Builder, _: &[Value], _: &[Value], _: &[Option<Value>]) -> Tangents {
        Err(Misfit(self.code.lacks_second_derivative()))
    }
    fn jvp_with_values(
        &self,
        b: &mut Builder,
        args: &[Value],
        tangents: &[Option<Value>],
    ) -> Option<Result<WithTangents, Misfit>> {
        (self.role == ForeignRole::Value).then(|| self.with_tangents(b, args, tangents))
    }
    fn transpose(&self, b: &mut Builder, cotangents: &[Option<Value>], args: &[Operand]) -> Cotangents {
        let point = args[..self.known()].iter().map(Operand::known).collect::<Vec<_>>();
        self.pull(b, &point, cotangents, args)
    }
    /// Nothing is known of the code, so every element of an operand counts in an example of which anything does; element by
    /// element, what counts of the results does. For the other examples nothing is called.
    fn transpose_masked(
        &self,
        b: &mut Builder,
        cotangents: &[Option<Cotangent>],
        args: &[Operand],
    ) -> Option<MaskedCotangents> {
        let given = || cotangents.iter().flatten();
        let masks = given().map(|cotangent| cotangent.mask).collect::<Option<Vec<Value>>>()?;
        let either = |b: &mut Builder, masks: Vec<Value>| masks.into_iter().reduce(|x, y| b.op(Logic::Or, &[x, y]));
        let lanes = self.lanes.len();
        let of_examples = masks.iter().map(|&mask| {
            let own: Vec<usize> = (lanes..b.shape(mask).len()).collect();
            b.any(mask, &own)
        });
        let of_examples = of_examples.collect();
        let counts = either(b, of_examples)?;
        let elements = if self.code.is_elementwise { either(b, masks) } else { None };

        let mut point: Vec<Value> = args[..self.known()].iter().map(Operand::known).collect();
        match self.masked {
            true => point[0] = b.op(Logic::And, &[counts, point[0]]),
            false => point.insert(0, counts),
        }
        let values: Vec<Option<Value>> =
            cotangents.iter().map(|cotangent| cotangent.map(|given| given.value)).collect();
        let pulled = Foreign { masked: true, ..self.clone() }.pull(b, &point, &values, args);
        Some(pulled.map(|pulled| {
            let masked = pulled.into_iter().map(|value| {
                let value = value?;
                let shape = b.shape(value).to_vec();
                let mask = match elements {
                    Some(elements) => elements,
                    None => b.spread(counts, &shape, &(lanes..shape.len()).collect::<Vec<usize>>()),
                };
                Some(Cotangent { value: mask_out(b, mask, value), mask: Some(mask) })
            });
            masked.collect()
        }))
    }
    fn batch(&self, b: &mut Builder, args: &[Value], batched: &[bool], length: usize) -> Batched {
        self.batched(b, args, batched, length, None)
    }
    fn batch_masked(
        &self,
        b: &mut Builder,
        args: &[Value],
        batched: &[bool],
        length: usize,
        mask: Value,
    ) -> Option<Batched> {
        Some(self.batched(b, args, batched, length, Some(mask)))
    }
    fn gives_up(&self) -> bool {
        true
    }
    fn attributes(&self) -> Attributes {
        let role = match self.role {
            ForeignRole::Value => "value",
            ForeignRole::Tangent => "jvp",
            ForeignRole::Cotangent => "vjp",
        };
        Attributes::default().with("name", self.code.name.clone()).with("gives", role).with("lanes", &self.lanes[..])
    }
}

impl Family for Foreign {
    #[cfg(feature = "text")]
    fn parse(name: &str, fields: &mut Fields) -> Option<Result<Self, Misfit>> {
        (name == "foreign").then(|| {
            let name = fields.word("name")?;
            misfit!("`{name}` is plain code of the process that made this Program, and cannot be read from text")
        })
    }
    /// None: there is no code without a user, and what the battery reads back from text would be refused. Its laws are held by
    /// the tests of rules.
    fn samples() -> Vec<Sample> {
        Vec::new()
    }
}
