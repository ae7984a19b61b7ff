//! A Program as one equation.

use std::borrow::Cow;
use std::sync::Arc;

use super::{batch_region, check_inputs, inside, region_samples, run, transpose_region};
use crate::array::{Array, Type};
use crate::error::Misfit;
#[cfg(feature = "text")]
use crate::primitives::parse::Fields;
use crate::primitives::{
    Attributes, Batched, Cotangent, Family, Form, MaskedCotangents, Op, Operand, OperandSet, Primitive, Sample, Wiring,
    WithTangents,
};
use crate::program::{Builder, Program, Value};
use crate::transform::{jvp, vmap};

/// A Program as one equation. Its derivative is that of its equations.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Call {
    /// What is called.
    pub program: Arc<Program>,
}

impl Call {
    /// Of this Program.
    pub fn new(program: Program) -> Self {
        Call { program: Arc::new(program) }
    }
}

impl Primitive for Call {
    fn name(&self) -> Cow<'static, str> {
        "call".into()
    }
    fn infer(&self, args: &[&Type]) -> Result<Vec<Type>, Misfit> {
        check_inputs(&self.program, args)?;
        Ok(self.program.output_types())
    }
    fn eval(&self, args: &[&Array]) -> Result<Vec<Array>, Misfit> {
        run(&self.program, args)
    }
    fn form(&self, _: &[&Type]) -> Form {
        Form::Inlined
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
        Some(jvp::jvp(b, &self.program, args, tangents).map_err(inside))
    }
    fn transpose_masked(
        &self,
        b: &mut Builder,
        cts: &[Option<Cotangent>],
        operands: &[Operand],
    ) -> Option<MaskedCotangents> {
        Some(transpose_region(b, &self.program, cts, operands, |program| Call::new(program).into()))
    }
    fn batch(&self, b: &mut Builder, args: &[Value], batched: &[bool], length: usize) -> Batched {
        let (program, flags) = batch_region(&self.program, batched, length)?;
        let outs = b.ops(Call::new(program), args);
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
        Some(vmap::vmap_guarded(b, &self.program, args, batched, length, mask).map_err(inside))
    }
    fn programs(&self) -> Vec<&Arc<Program>> {
        vec![&self.program]
    }
    fn wiring(&self) -> Wiring {
        Wiring::OneOf { first: 0 }
    }
    fn with_programs(&self, programs: Vec<Arc<Program>>) -> Op {
        let [program] = <[_; 1]>::try_from(programs).expect("one Program");
        Call { program }.into()
    }
    fn attributes(&self) -> Attributes {
        Attributes::default().with("program", &self.program)
    }
}

impl Family for Call {
    #[cfg(feature = "text")]
    fn parse(name: &str, fields: &mut Fields) -> Option<Result<Self, Misfit>> {
        (name == "call").then(|| Ok(Call { program: fields.program("program")? }))
    }
    fn samples() -> Vec<Sample> {
        region_samples(Call::new)
    }
}
