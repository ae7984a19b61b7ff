//! Matrices that have to be finite.

use std::borrow::Cow;

use super::{Harmless, Matrices, guarded, matrix, sample, single, with_lane};
use crate::array::{Array, Type};
use crate::error::{Error, ErrorKind, Misfit};
#[cfg(feature = "text")]
use crate::primitives::parse::Fields;
use crate::primitives::{
    Attributes, Batched, Family, Form, OperandSet, Primitive, Reach, Reaches, Sample, Site, Tangents, arity,
};
use crate::program::{Builder, Value};

/// `finite(A)`: the matrices, if all their entries are finite; otherwise an error that names the first one that is not.
///
/// It stands in front of what would loop on such an entry, or name another one. Its tangent is that of A, unchecked.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Finite {
    /// The operation that the error names.
    pub name: String,
}

impl Finite {
    /// For an operation of this name.
    pub fn new(name: &str) -> Self {
        Finite { name: name.to_owned() }
    }

    /// The error of the first entry that is not finite, given the type of the matrices.
    #[cfg(feature = "engine")]
    #[cold]
    pub(crate) fn refused(ty: &Type, place: usize, entry: f64) -> Misfit {
        let (lead, rows, columns) = matrix(ty).expect("inference asks for a matrix");
        let (k, place) = (place / (rows * columns), place % (rows * columns));
        let (row, column) = (place / columns, place % columns);
        Misfit(format!("the element [{row}, {column}] is {entry}{}", super::in_batch(lead, k)))
    }
}

impl Primitive for Finite {
    fn name(&self) -> Cow<'static, str> {
        "finite".into()
    }
    fn infer(&self, args: &[&Type]) -> Result<Vec<Type>, Misfit> {
        arity(args, 1)?;
        matrix(args[0])?;
        Ok(vec![args[0].clone()])
    }
    fn eval(&self, args: &[&Array]) -> Result<Vec<Array>, Misfit> {
        let a = Matrices::of(args[0]);
        (0..a.count()).try_for_each(|k| a.finite(k).map(drop))?;
        Ok(vec![args[0].clone()])
    }
    fn failure(&self, why: Misfit, args: &[&Type]) -> Error {
        Error::new(ErrorKind::Run, &self.name, why.0).of(args.iter().copied())
    }
    fn form(&self, _: &[&Type]) -> Form {
        Form::Kernel
    }
    fn reach(&self, site: &Site) -> Reaches {
        Ok(site.all(&Reach::Same))
    }
    fn linear_in(&self, _: usize) -> Vec<OperandSet> {
        Vec::new()
    }
    fn jvp(&self, _: &mut Builder, _: &[Value], _: &[Value], tangents: &[Option<Value>]) -> Tangents {
        Ok(vec![tangents[0]])
    }
    fn batch(&self, b: &mut Builder, args: &[Value], batched: &[bool], length: usize) -> Batched {
        with_lane(self.clone(), b, args, batched, length)
    }
    fn batch_masked(
        &self,
        b: &mut Builder,
        args: &[Value],
        batched: &[bool],
        length: usize,
        mask: Value,
    ) -> Option<Batched> {
        Some(guarded(self.clone(), b, args, batched, (length, mask), &[(0, Harmless::Zeros)]))
    }
    fn gives_up(&self) -> bool {
        true
    }
    fn attributes(&self) -> Attributes {
        Attributes::default().with("name", self.name.clone())
    }
}

impl Family for Finite {
    #[cfg(feature = "text")]
    fn parse(name: &str, fields: &mut Fields) -> Option<Result<Self, Misfit>> {
        (name == "finite").then(|| Ok(Finite { name: fields.word("name")? }))
    }
    fn samples() -> Vec<Sample> {
        let wide = sample(1, &[2, 3], &[0.5, -0.7]);
        vec![
            Sample::new(Finite::new("expm"), std::slice::from_ref(&wide)),
            Sample::new(Finite::new("expm"), &[single(&wide)]),
            Sample::new(Finite::new(""), &[sample(2, &[2, 2, 2], &[1.0])]),
            Sample::new(Finite::new("expm"), &[sample(3, &[0, 0], &[1.0])]),
        ]
    }
}
