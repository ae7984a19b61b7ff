//! A condition that has to hold, else the run ends with an error.

use std::borrow::Cow;

#[cfg(feature = "text")]
use super::parse::Fields;
use super::sample::{numbers, numbers_f32};
use super::{
    Attributes, Batched, Cotangent, Cotangents, Family, Form, MaskedCotangents, Masks, Operand, OperandSet, Primitive,
    Reach, Reaches, Sample, Site, Tangents,
};
use crate::array::{Array, DType, Data, Type};
use crate::error::{Error, ErrorKind, Misfit, misfit};
use crate::ops::Logic;
use crate::program::{Builder, Value};

/// `ensure(x, holds, details…)`: `x`, if all of `holds` is true; else the run ends with an error, in which the next of the
/// details stands in the place of each `{}`.
///
/// The details have the shape of `holds`; told are those of the first place that is false. It is linear in `x`, so that tangents
/// and cotangents of `x` are checked too: a derivative that does not need the value fails as the value does. Where a lane of
/// [`vmap`](crate::vmap) does not take the branch that this stands in, it holds, and so it does in reverse mode for a place of
/// `holds` whose part of the cotangent counts nowhere.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Ensure {
    /// The operation that the error names.
    pub name: String,
    /// What the error says.
    pub why: String,
}

impl Ensure {
    /// What an error of this operation says.
    pub fn new(name: &str, why: &str) -> Self {
        Ensure { name: name.to_owned(), why: why.to_owned() }
    }

    /// The error at a place of `holds`, with the details there.
    pub(crate) fn refused(&self, shape: &[usize], place: usize, details: impl Iterator<Item = String>) -> Misfit {
        let mut parts = self.why.split("{}");
        let mut text = parts.next().unwrap_or_default().to_owned();
        for (detail, part) in details.zip(parts) {
            text += &detail;
            text += part;
        }
        if !shape.is_empty() {
            let mut rest = place;
            let mut index: Vec<String> = shape
                .iter()
                .rev()
                .map(|length| {
                    let own = rest % length;
                    rest /= length;
                    own.to_string()
                })
                .collect();
            index.reverse();
            text += &format!(" (example [{}])", index.join(", "));
        }
        Misfit(text)
    }
}

/// A number as errors tell it.
pub(crate) fn told(number: f64) -> String {
    if number == 0.0 || (1e-3..1e5).contains(&number.abs()) { format!("{number}") } else { format!("{number:.2e}") }
}

impl Primitive for Ensure {
    fn name(&self) -> Cow<'static, str> {
        "ensure".into()
    }
    fn infer(&self, args: &[&Type]) -> Result<Vec<Type>, Misfit> {
        let [x, holds, details @ ..] = args else {
            misfit!("it takes a value and whether it holds, and got {} operands", args.len());
        };
        if holds.dtype != DType::Bool {
            misfit!("whether it holds is {holds}, and has to be bool");
        }
        let places = self.why.matches("{}").count();
        if details.len() != places {
            misfit!("it has {} details for {places} places in its text", details.len());
        }
        if let Some(detail) = details.iter().find(|detail| detail.shape != holds.shape) {
            misfit!("a detail is {detail}, and has to have the shape of {holds}");
        }
        Ok(vec![(*x).clone()])
    }
    fn eval(&self, args: &[&Array]) -> Result<Vec<Array>, Misfit> {
        let one = |array: &Array, place: usize| match array.data() {
            Data::Bool(x) => x[place].to_string(),
            Data::I64(x) => x[place].to_string(),
            Data::F32(x) => told(f64::from(x[place])),
            Data::F64(x) => told(x[place]),
        };
        match args[1].known::<bool>().iter().position(|holds| !holds) {
            None => Ok(vec![args[0].clone()]),
            Some(place) => Err(self.refused(args[1].shape(), place, args[2..].iter().map(|detail| one(detail, place)))),
        }
    }
    fn failure(&self, why: Misfit, _: &[&Type]) -> Error {
        Error::new(ErrorKind::Run, &self.name, why.0)
    }
    fn form(&self, _: &[&Type]) -> Form {
        Form::Kernel
    }
    fn reach(&self, site: &Site) -> Reaches {
        let mut reaches = site.all(&Reach::Nothing);
        reaches[0][0] = Reach::Same;
        Ok(reaches)
    }
    fn linear_in(&self, _: usize) -> Vec<OperandSet> {
        vec![vec![0]]
    }
    fn multiplies(&self) -> bool {
        false
    }
    fn jvp(&self, b: &mut Builder, args: &[Value], _: &[Value], tangents: &[Option<Value>]) -> Tangents {
        // What is told may have a tangent of its own, which counts for nothing.
        Ok(vec![tangents[0].map(|tangent| b.op(self.clone(), &[&[tangent], &args[1..]].concat()))])
    }
    fn masks(&self) -> Masks {
        Masks::Elementwise
    }
    fn transpose(&self, b: &mut Builder, cotangents: &[Option<Value>], args: &[Operand]) -> Cotangents {
        let mut pulled = vec![None; args.len()];
        if let Some(ct) = cotangents[0] {
            let known: Vec<Value> = args[1..].iter().map(Operand::known).collect();
            pulled[0] = Some(b.op(self.clone(), &[&[ct], &known[..]].concat()));
        }
        Ok(pulled)
    }
    /// Where no element of a place counts, it holds there.
    fn transpose_masked(
        &self,
        b: &mut Builder,
        cotangents: &[Option<Cotangent>],
        args: &[Operand],
    ) -> Option<MaskedCotangents> {
        let Cotangent { value, mask } = cotangents[0]?;
        let mask = mask?;
        let mut known: Vec<Value> = args[1..].iter().map(Operand::known).collect();
        let (shape, places) = (b.shape(value).to_vec(), b.shape(known[0]).to_vec());
        if !shape.starts_with(&places) {
            return None;
        }
        let counts = b.any(mask, &(places.len()..shape.len()).collect::<Vec<usize>>());
        let none = b.op(Logic::Not, &[counts]);
        known[0] = b.op(Logic::Or, &[known[0], none]);
        let value = b.op(self.clone(), &[&[value], &known[..]].concat());
        let mut pulled = vec![None; args.len()];
        pulled[0] = Some(Cotangent { value, mask: Some(mask) });
        Some(Ok(pulled))
    }
    fn batch(&self, b: &mut Builder, args: &[Value], batched: &[bool], length: usize) -> Batched {
        let mut operands = args.to_vec();
        if batched[1..].contains(&true) {
            operands[1..].copy_from_slice(&b.batch_all(&args[1..], &batched[1..], length));
        }
        Ok(vec![(b.op(self.clone(), &operands), batched[0])])
    }
    fn harmless(&self) -> Vec<(usize, f64)> {
        vec![(1, 1.0)]
    }
    fn attributes(&self) -> Attributes {
        Attributes::default().with("name", self.name.clone()).with("why", self.why.clone())
    }
}

impl Family for Ensure {
    #[cfg(feature = "text")]
    fn parse(name: &str, fields: &mut Fields) -> Option<Result<Self, Misfit>> {
        (name == "ensure").then(|| Ok(Ensure { name: fields.word("name")?, why: fields.word("why")? }))
    }
    fn samples() -> Vec<Sample> {
        let all = |shape: &[usize]| Array::new(shape, vec![true; shape.iter().product()]);
        let counts = Array::new(&[2], vec![3i64, 4]);
        vec![
            Sample::new(Ensure::new("solve", "it has not ended"), &[numbers(1, &[3]), all(&[])]),
            Sample::new(Ensure::new("solve", "it is off by {}"), &[numbers(2, &[]), all(&[]), numbers(3, &[])]),
            Sample::new(
                Ensure::new("solve", "{} after {} \"steps\""),
                &[numbers_f32(4, &[2, 2]), all(&[2]), numbers(5, &[2]), counts],
            ),
            Sample::new(Ensure::new("", ""), &[Array::new(&[2], vec![true, false]), all(&[0])]),
        ]
    }
}
