//! A Program as one equation.

use std::borrow::Cow;
use std::sync::Arc;

use super::{inside, region_samples};
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
    fn jvp_with_values(
        &self,
        b: &mut Builder,
        args: &[Value],
        tangents: &[Option<Value>],
    ) -> Option<Result<WithTangents, Misfit>> {
        Some(jvp::jvp(b, &self.program, args, tangents).map_err(inside))
    }
    region_methods!(Call);
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
