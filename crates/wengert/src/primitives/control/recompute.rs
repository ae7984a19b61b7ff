//! A checkpointed region: rematerialised in the backward pass instead of kept.

use std::borrow::Cow;
use std::sync::Arc;

use super::{batch_region, check_inputs, inside, place, region_samples, run, tangent_program, transpose_region};
use crate::array::{Array, Type};
use crate::error::Misfit;
#[cfg(feature = "text")]
use crate::primitives::parse::Fields;
use crate::primitives::{
    Attributes, Batched, Cotangent, Family, Form, MaskedCotangents, Op, Operand, OperandSet, Primitive, Sample, Wiring,
    WithTangents,
};
use crate::program::{Builder, Program, Value};
use crate::transform::vmap;

/// A region whose values are not kept for the backward pass but computed again there: `checkpoint`.
/// It is a barrier for common subexpressions, so that the second computation stays.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Recompute {
    /// The region.
    pub program: Arc<Program>,
}

impl Recompute {
    /// Of this Program.
    pub fn new(program: Program) -> Self {
        Recompute { program: Arc::new(program) }
    }
}

impl Primitive for Recompute {
    fn name(&self) -> Cow<'static, str> {
        "recompute".into()
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
        Some(self.tangents_again(b, args, tangents))
    }
    fn transpose_masked(
        &self,
        b: &mut Builder,
        cts: &[Option<Cotangent>],
        operands: &[Operand],
    ) -> Option<MaskedCotangents> {
        Some(transpose_region(b, &self.program, cts, operands, |program| Recompute::new(program).into()))
    }
    fn batch(&self, b: &mut Builder, args: &[Value], batched: &[bool], length: usize) -> Batched {
        let (program, flags) = batch_region(&self.program, batched, length)?;
        let outs = b.ops(Recompute::new(program), args);
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
        Recompute { program }.into()
    }
    fn attributes(&self) -> Attributes {
        Attributes::default().with("program", &self.program)
    }
}

impl Recompute {
    /// The values, and as a second region the tangents: it computes again what it needs.
    fn tangents_again(
        &self,
        b: &mut Builder,
        args: &[Value],
        tangents: &[Option<Value>],
    ) -> Result<WithTangents, Misfit> {
        let outs = b.ops(self.clone(), args);
        let active: Vec<bool> = tangents.iter().map(Option::is_some).collect();
        let (program, has) = tangent_program(&self.program, &active, None)?;
        let operands: Vec<Value> = args.iter().copied().chain(tangents.iter().flatten().copied()).collect();
        let dots = b.ops(Recompute::new(program), &operands);
        Ok((outs, place(dots, &has)))
    }
}

impl Family for Recompute {
    #[cfg(feature = "text")]
    fn parse(name: &str, fields: &mut Fields) -> Option<Result<Self, Misfit>> {
        (name == "recompute").then(|| Ok(Recompute { program: fields.program("program")? }))
    }
    fn samples() -> Vec<Sample> {
        region_samples(Recompute::new)
    }
}
