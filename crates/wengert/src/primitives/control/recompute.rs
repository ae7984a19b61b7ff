//! A checkpointed region: rematerialised in the backward pass instead of kept.

use std::borrow::Cow;
use std::sync::Arc;

use super::{place, region_samples, tangent_program};
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
    fn jvp_with_values(
        &self,
        b: &mut Builder,
        args: &[Value],
        tangents: &[Option<Value>],
    ) -> Option<Result<WithTangents, Misfit>> {
        Some(self.tangents_again(b, args, tangents))
    }
    region_methods!(Recompute);
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
