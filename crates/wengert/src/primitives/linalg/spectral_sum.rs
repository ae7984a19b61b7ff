//! Sums of functions of eigenvalues and singular values.

use std::borrow::Cow;

use super::SpectralMap;
use super::spectral::{check_operands, failed, for_each_matrix, frame_bytes, repeated, with_lane};
use super::spectral_frame::{SpectralKind, frame_of};
use super::spectral_function::{Infinite, SpectralFunction, SpectralPart};
use super::spectral_series::Differences;
use crate::array::{Array, Type};
use crate::error::{Error, Misfit};
use crate::ops::Unary;
#[cfg(feature = "text")]
use crate::primitives::parse::Fields;
use crate::primitives::sample::{numbers, numbers_f32};
use crate::primitives::{Attributes, Batched, Family, Form, OperandSet, Primitive, Reaches, Sample, Site, Tangents};
use crate::program::{Builder, Value};

/// `spectral_sum(A, frame)`: the sum of `h(λ)` over the values of a part, one number for each matrix.
///
/// It is differentiable where its part ends at gaps, whatever repeats within: its tangent is `<h'(A), A_dot>`, with `h'(A)` the
/// [`SpectralMap`] of the derivative, so that no derivative of vectors or of single values is asked for. Of the part of the
/// singular values that are not 0 it adds up all, and 0 adds nothing to the derivative.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SpectralSum {
    /// The operation that errors name.
    pub name: String,
    /// Of which values.
    pub spectrum: SpectralKind,
    /// The function.
    pub function: SpectralFunction,
}

impl Primitive for SpectralSum {
    fn name(&self) -> Cow<'static, str> {
        "spectral_sum".into()
    }
    fn infer(&self, args: &[&Type]) -> Result<Vec<Type>, Misfit> {
        let of = check_operands(args, self.spectrum, 0, 0)?;
        self.function.check(self.spectrum, of.values())?;
        Ok(vec![args[0].with_shape(of.lead)])
    }
    fn eval(&self, args: &[&Array]) -> Result<Vec<Array>, Misfit> {
        let h = Differences::new(&self.function.program, self.function.derivative);
        let result = for_each_matrix(args, self.spectrum, &[], |_, frame| {
            let range = match self.function.part {
                SpectralPart::Range { start, end } => start..end,
                SpectralPart::All | SpectralPart::Positive | SpectralPart::Rank => 0..frame.count(),
            };
            let counts: Vec<bool> = (0..frame.count()).map(|k| range.contains(&k)).collect();
            let frame = self.function.defined(&h, frame, &counts, (0, Infinite::Told))?;
            // Not by `sum`, which gives -0 for no terms.
            Ok(vec![frame.values[range].iter().fold(0.0, |sum, &value| sum + h.value(value))])
        });
        Ok(vec![result?])
    }
    fn defined_bytes(&self, args: &[&Type]) -> usize {
        frame_bytes(args, self.spectrum)
    }
    fn failure(&self, why: Misfit, args: &[&Type]) -> Error {
        failed(&self.name, why, args)
    }
    fn form(&self, _: &[&Type]) -> Form {
        Form::Kernel
    }
    fn reach(&self, site: &Site) -> Reaches {
        super::matrix_by_matrix(site)
    }
    fn linear_in(&self, _: usize) -> Vec<OperandSet> {
        Vec::new()
    }
    fn jvp(&self, b: &mut Builder, args: &[Value], _: &[Value], tangents: &[Option<Value>]) -> Tangents {
        let Some(tangent) = tangents[0] else { return Ok(vec![None]) };
        let slope = b.op(SpectralMap::new(&self.name, self.spectrum, self.function.differentiated()), args);
        let terms = b.mul(slope, tangent);
        let rank = b.shape(terms).len();
        Ok(vec![Some(b.sum(terms, &[rank - 2, rank - 1]))])
    }
    fn batch(&self, b: &mut Builder, args: &[Value], batched: &[bool], length: usize) -> Batched {
        with_lane(self.clone(), b, args, batched, length)
    }
    fn harmless(&self) -> Vec<(usize, f64)> {
        vec![(1, 0.0)]
    }
    fn gives_up(&self) -> bool {
        true
    }
    fn attributes(&self) -> Attributes {
        let own = Attributes::default().with("name", self.name.clone()).with("of", self.spectrum.word());
        self.function.with_attributes(own)
    }
}

impl Family for SpectralSum {
    #[cfg(feature = "text")]
    fn parse(name: &str, fields: &mut Fields) -> Option<Result<Self, Misfit>> {
        (name == "spectral_sum").then(|| {
            Ok(SpectralSum {
                name: fields.word("name")?,
                spectrum: fields.one_of("of", &SpectralKind::WORDS)?,
                function: SpectralFunction::read(fields)?,
            })
        })
    }
    fn samples() -> Vec<Sample> {
        let sample = |spectrum, function: SpectralFunction, a: Array| {
            let frame = frame_of(&a, spectrum);
            Sample::new(SpectralSum { name: "sum".to_owned(), spectrum, function }, &[a, frame])
        };
        let (symmetric, singular) = (SpectralKind::Symmetric, SpectralKind::Singular);
        let range = |start, end| SpectralPart::Range { start, end };
        vec![
            sample(symmetric, SpectralFunction::of(Unary::Exp, SpectralPart::All), repeated()),
            sample(symmetric, SpectralFunction::identity(range(0, 2)), repeated()),
            sample(symmetric, SpectralFunction::identity(range(1, 2)), numbers_f32(1, &[2, 3, 3])),
            sample(symmetric, SpectralFunction::identity(SpectralPart::All), numbers(2, &[0, 0])),
            sample(singular, SpectralFunction::of(Unary::Cos, SpectralPart::All), numbers(3, &[3, 2])),
            sample(singular, SpectralFunction::identity(SpectralPart::Rank), numbers(4, &[2, 3])),
            sample(singular, SpectralFunction::of(Unary::Ln, SpectralPart::Positive), numbers(5, &[2, 2])),
        ]
    }
}
