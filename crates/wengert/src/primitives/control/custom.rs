//! A user's operation: its value as a Program, and its derivative as another one.
//!
//! The rule is a tangent Program or a pullback Program; the other mode is its transpose, and higher
//! orders and batching follow, because both are ordinary Programs.

use std::borrow::Cow;
use std::sync::Arc;

use super::{can_fail, guarded, inside, run};
use crate::array::{Array, DType, Type};
use crate::error::{Error, ErrorKind, Misfit, misfit};
use crate::ops::{Binary, Unary};
#[cfg(feature = "text")]
use crate::primitives::parse::Fields;
use crate::primitives::sample::numbers;
use crate::primitives::{Attributes, Batched, Family, Form, Op, OperandSet, Primitive, Reshape, Sample, WithTangents};
use crate::program::{Builder, Program, Value, dce, same_inputs};
use crate::transform::given::push_through;
use crate::transform::pattern::{Follow, Followed};
use crate::transform::{jvp, transpose};

/// The derivative of a [`Custom`] operation.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Rule {
    /// Takes the operands, then a tangent for each real one; gives a tangent for each real result.
    Jvp(Arc<Program>),
    /// Takes the operands, the results, then a cotangent for each real result; gives a cotangent for
    /// each real operand.
    Vjp(Arc<Program>),
}

/// A user's operation with its own derivative.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Custom {
    /// Its name in messages.
    pub name: String,
    /// Its value.
    pub value: Arc<Program>,
    /// Its derivative.
    pub rule: Rule,
    /// Whether the derivative is another one than that of the value on purpose.
    pub surrogate: bool,
}

fn real(types: &[Type]) -> impl Iterator<Item = &Type> {
    types.iter().filter(|ty| ty.dtype.is_float())
}

impl Rule {
    fn program(&self) -> &Arc<Program> {
        match self {
            Rule::Jvp(program) | Rule::Vjp(program) => program,
        }
    }

    /// Checks the rule's types against those of the value.
    fn check(&self, value: &Program) -> Result<(), Misfit> {
        let (inputs, outputs) = (value.input_types(), value.output_types());
        let (word, takes, gives): (&str, Vec<&Type>, Vec<&Type>) = match self {
            Rule::Jvp(_) => ("jvp", inputs.iter().chain(real(inputs)).collect(), real(&outputs).collect()),
            Rule::Vjp(_) => {
                ("vjp", inputs.iter().chain(&outputs).chain(real(&outputs)).collect(), real(inputs).collect())
            }
        };
        let program = self.program();
        let list = |types: &[&Type]| types.iter().map(ToString::to_string).collect::<Vec<String>>().join(", ");
        let own: Vec<&Type> = program.input_types().iter().collect();
        if own != takes {
            misfit!("its {word} has to take ({}), and takes ({})", list(&takes), list(&own));
        }
        let results = program.output_types();
        if results.iter().collect::<Vec<&Type>>() != gives {
            let own: Vec<&Type> = results.iter().collect();
            misfit!("its {word} has to give ({}), and gives ({})", list(&gives), list(&own));
        }
        Ok(())
    }
}

impl Primitive for Custom {
    fn name(&self) -> Cow<'static, str> {
        "custom".into()
    }
    fn infer(&self, args: &[&Type]) -> Result<Vec<Type>, Misfit> {
        let wanted = self.value.input_types();
        if wanted.len() != args.len() || wanted.iter().zip(args).any(|(wanted, ty)| wanted != *ty) {
            misfit!("`{}` was made for other operands", self.name);
        }
        self.rule.check(&self.value)?;
        Ok(self.value.output_types())
    }
    fn eval(&self, args: &[&Array]) -> Result<Vec<Array>, Misfit> {
        run(&self.value, args)
    }
    fn form(&self, _: &[&Type]) -> Form {
        Form::Inlined
    }
    fn follow(&self, follow: &mut Follow, operands: &[Followed]) -> Option<Result<Vec<Followed>, Error>> {
        Some(self.follow_rule(follow, operands))
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
        Some(self.with_tangents(b, args, tangents))
    }
    fn batch(&self, b: &mut Builder, args: &[Value], batched: &[bool], length: usize) -> Batched {
        let all = |program: &Program| {
            let batched = vec![true; program.input_types().len()];
            program.vmap(&batched, length).map(Arc::new).map_err(inside)
        };
        let custom = self.on(all)?;
        let args = b.batch_all(args, batched, length);
        Ok(b.ops(custom, &args).into_iter().map(|out| (out, true)).collect())
    }
    fn batch_masked(
        &self,
        b: &mut Builder,
        args: &[Value],
        batched: &[bool],
        length: usize,
        mask: Value,
    ) -> Option<Batched> {
        let fails = can_fail(&self.value) || can_fail(self.rule.program());
        fails.then(|| self.in_lanes(b, args, batched, length, mask))
    }
    fn programs(&self) -> Vec<&Arc<Program>> {
        vec![&self.value, self.rule.program()]
    }
    fn with_programs(&self, programs: Vec<Arc<Program>>) -> Op {
        let [value, rule] = <[_; 2]>::try_from(programs).expect("a value and its rule");
        let rule = match &self.rule {
            Rule::Jvp(_) => Rule::Jvp(rule),
            Rule::Vjp(_) => Rule::Vjp(rule),
        };
        Custom { name: self.name.clone(), value, rule, surrogate: self.surrogate }.into()
    }
    fn attributes(&self) -> Attributes {
        let word = if self.surrogate { "surrogate" } else { "exact" };
        let attributes = Attributes::default().with("name", self.name.clone()).with("rule", word);
        let attributes = attributes.with("value", &self.value);
        match &self.rule {
            Rule::Jvp(program) => attributes.with("jvp", program),
            Rule::Vjp(program) => attributes.with("vjp", program),
        }
    }
}

impl Custom {
    /// The same operation on other Programs.
    fn on(&self, other: impl Fn(&Program) -> Result<Arc<Program>, Misfit>) -> Result<Custom, Misfit> {
        let rule = match &self.rule {
            Rule::Jvp(program) => Rule::Jvp(other(program)?),
            Rule::Vjp(program) => Rule::Vjp(other(program)?),
        };
        Ok(Custom { name: self.name.clone(), value: other(&self.value)?, rule, surrogate: self.surrogate })
    }

    /// With one more axis, of whose lanes those of the mask count: it is the first operand of the value and of the rule. Where no
    /// operand has the axis, there is one lane, which counts if any does.
    fn in_lanes(&self, b: &mut Builder, args: &[Value], batched: &[bool], length: usize, mask: Value) -> Batched {
        let has_axis = batched.contains(&true);
        let (length, mask, args) = match has_axis {
            true => (length, mask, b.batch_all(args, batched, length)),
            false => {
                let any = b.any(mask, &[0]);
                (1, b.repeat_in_front(any, 1), args.iter().map(|&arg| b.repeat_in_front(arg, 1)).collect())
            }
        };
        let custom =
            self.on(|program| guarded(program, &vec![true; program.input_types().len()], length, None).map(Arc::new))?;
        let operands: Vec<Value> = std::iter::once(mask).chain(args).collect();
        let outs = b.ops(custom, &operands).into_iter();
        let only = |b: &mut Builder, out: Value| {
            let shape = b.shape(out)[1..].to_vec();
            b.op(Reshape::new(&shape), &[out])
        };
        Ok(outs.map(|out| if has_axis { (out, true) } else { (only(b, out), false) }).collect())
    }

    /// Patterns follow the rule, which need not be the derivative of the value: through its tangents.
    fn follow_rule(&self, follow: &mut Follow, operands: &[Followed]) -> Result<Vec<Followed>, Error> {
        let mut b = Builder::new();
        let args = same_inputs(&mut b, &self.value);
        let active: Vec<bool> = operands.iter().map(|operand| operand.is_active).collect();
        let tangents = jvp::tangent_inputs(&mut b, &self.value, &active);
        let (_, dots) = self
            .with_tangents(&mut b, &args, &tangents)
            .map_err(|why| Error::new(ErrorKind::Unsupported, &self.name, why.0))?;
        let given: Vec<Value> = dots.iter().copied().flatten().collect();
        let values = operands.iter().map(|operand| Followed { pattern: None, is_active: false, ..operand.clone() });
        let directions = operands.iter().filter(|operand| operand.is_active);
        let directions = directions.map(|operand| Followed { value: None, ..operand.clone() });
        let inputs: Vec<Followed> = values.chain(directions).collect();
        let mut results = follow.through(&dce(b.finish(&given)), &inputs, false)?.into_iter();
        Ok(dots.iter().map(|dot| dot.and_then(|_| results.next()).unwrap_or_default()).collect())
    }

    fn with_tangents(
        &self,
        b: &mut Builder,
        args: &[Value],
        tangents: &[Option<Value>],
    ) -> Result<WithTangents, Misfit> {
        let outs = b.ops(self.clone(), args);
        let dots: Vec<Option<Value>> =
            args.iter().zip(tangents).filter(|(arg, _)| b.dtype(**arg).is_float()).map(|(_, dot)| *dot).collect();
        let mut out_dots = match &self.rule {
            Rule::Jvp(program) => push_through(b, program, args, &dots),
            Rule::Vjp(program) => {
                // The pullback is linear in the cotangents, and its transpose is the tangent map.
                let known = args.iter().chain(&outs).map(|&value| Some(value));
                let linear = program.input_types().len() - args.len() - outs.len();
                let operands: Vec<Option<Value>> = known.chain(std::iter::repeat_n(None, linear)).collect();
                let pushed = transpose::transpose(b, program, &operands, &dots).map_err(inside)?;
                pushed[args.len() + outs.len()..].to_vec()
            }
        }
        .into_iter();
        let of = |&out: &Value| if b.dtype(out).is_float() { out_dots.next().flatten() } else { None };
        let tangents = outs.iter().map(of).collect();
        Ok((outs, tangents))
    }
}

impl Family for Custom {
    #[cfg(feature = "text")]
    fn parse(name: &str, fields: &mut Fields) -> Option<Result<Self, Misfit>> {
        (name == "custom").then(|| {
            let name = fields.word("name")?;
            let surrogate = fields.one_of("rule", &[("exact", false), ("surrogate", true)])?;
            let value = fields.program("value")?;
            let rule = match fields.has("jvp") {
                true => Rule::Jvp(fields.program("jvp")?),
                false => Rule::Vjp(fields.program("vjp")?),
            };
            Ok(Custom { name, value, rule, surrogate })
        })
    }
    fn samples() -> Vec<Sample> {
        let ty = || Type::new(DType::F64, &[3]);
        let value = {
            let mut b = Builder::new();
            let x = b.input("", ty());
            let y = b.op(Unary::Sin, &[x]);
            Arc::new(b.finish(&[y]))
        };
        let times_cosine = |inputs: usize| {
            let mut b = Builder::new();
            let inputs: Vec<Value> = (0..inputs).map(|_| b.input("", ty())).collect();
            let slope = b.op(Unary::Cos, &inputs[..1]);
            let product = b.op(Binary::Mul, &[slope, inputs[inputs.len() - 1]]);
            Arc::new(b.finish(&[product]))
        };
        let custom = |rule| Custom { name: "sine".to_owned(), value: Arc::clone(&value), rule, surrogate: false };
        vec![
            Sample::new(custom(Rule::Jvp(times_cosine(2))), &[numbers(1, &[3])]),
            Sample::new(custom(Rule::Vjp(times_cosine(3))), &[numbers(2, &[3])]),
        ]
    }
}
