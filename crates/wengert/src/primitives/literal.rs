//! Constants: a single number, and the numbers from zero on.

use std::borrow::Cow;
use std::hash::{Hash, Hasher};

#[cfg(feature = "text")]
use super::parse::Fields;
use super::{Attributes, Batched, Family, Form, OperandSet, Primitive, Sample, arity};
use crate::array::{Array, DType, Type, element_count};
use crate::error::Misfit;
use crate::program::{Builder, Value};

/// A single number of any element type: `constant`.
#[derive(Clone, Copy, Debug)]
pub enum Literal {
    /// A truth value.
    Bool(bool),
    /// An integer.
    I64(i64),
    /// Single precision.
    F32(f32),
    /// Double precision.
    F64(f64),
}

impl Literal {
    /// The number as an element of this type: rounded, or for `bool` whether it is not zero.
    pub fn of(value: f64, dtype: DType) -> Self {
        match dtype {
            DType::Bool => Literal::Bool(value != 0.0),
            DType::I64 => Literal::I64(value as i64),
            DType::F32 => Literal::F32(value as f32),
            DType::F64 => Literal::F64(value),
        }
    }

    /// The element type.
    pub fn dtype(self) -> DType {
        match self {
            Literal::Bool(_) => DType::Bool,
            Literal::I64(_) => DType::I64,
            Literal::F32(_) => DType::F32,
            Literal::F64(_) => DType::F64,
        }
    }

    /// The number in double precision: integers to the nearest, truth values as 0 and 1.
    pub(crate) fn to_f64(self) -> f64 {
        match self {
            Literal::Bool(x) => f64::from(u8::from(x)),
            Literal::I64(x) => x as f64,
            Literal::F32(x) => f64::from(x),
            Literal::F64(x) => x,
        }
    }

    /// Whether the number is zero, of either sign.
    pub(crate) fn is_zero(self) -> bool {
        [0.0, -0.0].iter().any(|&zero| self == Literal::of(zero, self.dtype()))
    }

    /// The bits: equal for the same number, which NaN is to itself and 0 is not to -0.
    fn bits(self) -> (DType, u64) {
        let bits = match self {
            Literal::Bool(x) => u64::from(x),
            Literal::I64(x) => x.cast_unsigned(),
            Literal::F32(x) => u64::from(x.to_bits()),
            Literal::F64(x) => x.to_bits(),
        };
        (self.dtype(), bits)
    }
}

impl PartialEq for Literal {
    fn eq(&self, other: &Self) -> bool {
        self.bits() == other.bits()
    }
}

impl Eq for Literal {}

impl Hash for Literal {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.bits().hash(state);
    }
}

impl Primitive for Literal {
    fn name(&self) -> Cow<'static, str> {
        "constant".into()
    }
    fn infer(&self, args: &[&Type]) -> Result<Vec<Type>, Misfit> {
        arity(args, 0)?;
        Ok(vec![Type::new(self.dtype(), &[])])
    }
    fn eval(&self, _: &[&Array]) -> Result<Vec<Array>, Misfit> {
        Ok(vec![match *self {
            Literal::Bool(x) => Array::scalar(x),
            Literal::I64(x) => Array::scalar(x),
            Literal::F32(x) => Array::scalar(x),
            Literal::F64(x) => Array::scalar(x),
        }])
    }
    fn form(&self, _: &[&Type]) -> Form {
        Form::Number
    }
    fn linear_in(&self, _: usize) -> Vec<OperandSet> {
        Vec::new()
    }
    fn batch(&self, b: &mut Builder, _: &[Value], _: &[bool], _: usize) -> Batched {
        Ok(vec![(b.op(*self, &[]), false)])
    }
    fn attributes(&self) -> Attributes {
        Attributes::default().with("value", *self)
    }
}

impl Family for Literal {
    #[cfg(feature = "text")]
    fn parse(name: &str, fields: &mut Fields) -> Option<Result<Self, Misfit>> {
        (name == "constant").then(|| fields.literal("value"))
    }
    fn samples() -> Vec<Sample> {
        let all = [Literal::F64(1.5), Literal::F32(-2.0), Literal::I64(7), Literal::Bool(true)];
        all.into_iter().map(|literal| Sample::new(literal, &[])).collect()
    }
}

/// The integers `0, 1, …, length - 1`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Iota {
    /// How many.
    pub length: usize,
}

impl Primitive for Iota {
    fn name(&self) -> Cow<'static, str> {
        "iota".into()
    }
    fn infer(&self, args: &[&Type]) -> Result<Vec<Type>, Misfit> {
        arity(args, 0)?;
        Ok(vec![Type::new(DType::I64, &[self.length])])
    }
    fn eval(&self, _: &[&Array]) -> Result<Vec<Array>, Misfit> {
        debug_assert!(element_count(&[self.length]).is_some(), "inference checks the size");
        Ok(vec![Array::new(&[self.length], (0..self.length as i64).collect())])
    }
    fn form(&self, _: &[&Type]) -> Form {
        Form::Kernel
    }
    fn linear_in(&self, _: usize) -> Vec<OperandSet> {
        Vec::new()
    }
    fn batch(&self, b: &mut Builder, _: &[Value], _: &[bool], _: usize) -> Batched {
        Ok(vec![(b.op(self.clone(), &[]), false)])
    }
    fn attributes(&self) -> Attributes {
        Attributes::default().with("length", self.length)
    }
}

impl Family for Iota {
    #[cfg(feature = "text")]
    fn parse(name: &str, fields: &mut Fields) -> Option<Result<Self, Misfit>> {
        (name == "iota").then(|| Ok(Iota { length: fields.integer("length")? }))
    }
    fn samples() -> Vec<Sample> {
        vec![Sample::new(Iota { length: 4 }, &[]), Sample::new(Iota { length: 0 }, &[])]
    }
}
