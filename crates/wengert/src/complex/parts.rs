//! What stands beside complex tensors, and functions of them element by element.

use super::Complex;
use crate::array::Type;
use crate::error::{Error, Misfit, misfit};
use crate::primitives::check_float;
use crate::primitives::rule::{Sym, with_rule};
use crate::program::{Builder, Value};
use crate::real::Real;
use crate::tensor::Tensor;
use crate::tensor::compose::{compose_all, joint_shape, stretch};

/// An operand beside a complex tensor: a complex or real tensor, by value or by reference, or a complex or real number.
///
/// Sealed.
pub trait IntoComplex {
    /// The operand.
    #[doc(hidden)]
    fn into_complex(self) -> ComplexOperand;
}

/// An operand as it was written: what is real has no imaginary part, and nothing is multiplied by zeros.
#[derive(Clone, Debug)]
pub struct ComplexOperand {
    re: Part,
    im: Option<Part>,
}

#[derive(Clone, Debug)]
enum Part {
    Tensor(Tensor),
    Number(f64),
}

macro_rules! operands {
    ($($from:ty: $z:ident => ($re:expr, $im:expr);)*) => {
        $( impl IntoComplex for $from {
            fn into_complex(self) -> ComplexOperand {
                let $z = self;
                ComplexOperand { re: $re, im: $im }
            }
        } )*
    };
}
operands! {
    Complex<Tensor>: z => (Part::Tensor(z.re), Some(Part::Tensor(z.im)));
    &Complex<Tensor>: z => (Part::Tensor(z.re.clone()), Some(Part::Tensor(z.im.clone())));
    Tensor: x => (Part::Tensor(x), None);
    &Tensor: x => (Part::Tensor(x.clone()), None);
    Complex<f64>: z => (Part::Number(z.re), Some(Part::Number(z.im)));
    f64: x => (Part::Number(x), None);
}

/// An operand within a rule.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pair {
    pub(super) re: Sym,
    pub(super) im: Option<Sym>,
}

impl Pair {
    /// With an imaginary part, be it 0.
    pub(super) fn whole(self) -> Complex<Sym> {
        Complex { re: self.re, im: self.im.unwrap_or(Sym::constant(0.0)) }
    }
}

impl ComplexOperand {
    /// How many axes it has; none of a number.
    pub(crate) fn rank(&self) -> usize {
        self.tensors().map(Tensor::rank).max().unwrap_or(0)
    }

    /// Both parts as tensors of one type.
    #[track_caller]
    pub(crate) fn whole(self, name: &str) -> Result<Complex<Tensor>, Error> {
        let tensor = |part: Part| match part {
            Part::Tensor(tensor) => tensor,
            Part::Number(number) => Tensor::full(&[], number),
        };
        let re = tensor(self.re);
        match self.im {
            Some(im) => Complex { re, im: tensor(im) }.aligned(name),
            None => Ok(Complex::from(re)),
        }
    }

    fn parts(&self) -> impl Iterator<Item = &Part> {
        std::iter::once(&self.re).chain(&self.im)
    }

    pub(super) fn tensors(&self) -> impl Iterator<Item = &Tensor> {
        self.parts().filter_map(|part| match part {
            Part::Tensor(tensor) => Some(tensor),
            Part::Number(_) => None,
        })
    }
}

/// The type that real operands of one element type stretch to.
pub(super) fn joint_type(b: &Builder, args: &[Value]) -> Result<Type, Misfit> {
    let first = b.ty(args[0]).clone();
    check_float(&first)?;
    let mut shape = first.shape.clone();
    for &arg in &args[1..] {
        let ty = b.ty(arg);
        if ty.dtype != first.dtype {
            misfit!("the element types {} and {} differ; convert one of them first", first.dtype, ty.dtype);
        }
        shape = joint_shape(&shape, &ty.shape)?;
    }
    Ok(first.with_shape(shape))
}

/// A function of complex operands element by element, the shapes stretched to each other.
#[track_caller]
pub(super) fn elementwise(
    name: &str,
    operands: &[ComplexOperand],
    rule: impl FnOnce(&[Pair]) -> Vec<Sym>,
) -> Result<Vec<Tensor>, Error> {
    let tensors: Vec<&Tensor> = operands.iter().flat_map(ComplexOperand::tensors).collect();
    compose_all(name, &tensors, |b, args| {
        let ty = joint_type(b, args)?;
        let mut values = args.iter().map(|&arg| stretch(b, arg, &ty.shape)).collect::<Vec<Value>>().into_iter();
        let mut part = |part: &Part| match part {
            Part::Tensor(_) => Sym::Value(values.next().expect("a value for each tensor")),
            Part::Number(number) => Sym::Constant(*number),
        };
        let pairs: Vec<Pair> = operands
            .iter()
            .map(|operand| Pair { re: part(&operand.re), im: operand.im.as_ref().map(&mut part) })
            .collect();
        let results = with_rule(b, &ty, || rule(&pairs));
        Ok(results.into_iter().map(|result| result.materialise(b, &ty)).collect())
    })
}

/// As [`elementwise`], with a complex result.
#[track_caller]
pub(super) fn to_complex(
    name: &str,
    operands: &[ComplexOperand],
    rule: impl FnOnce(&[Pair]) -> Complex<Sym>,
) -> Result<Complex<Tensor>, Error> {
    let results = elementwise(name, operands, |pairs| {
        let z = rule(pairs);
        vec![z.re, z.im]
    })?;
    Ok(Complex::pair(results))
}

impl Complex<Tensor> {
    /// The first two of several results.
    pub(crate) fn pair(results: Vec<Tensor>) -> Complex<Tensor> {
        let mut results = results.into_iter();
        let mut next = || results.next().expect("an operation on complex arrays has two results");
        let re = next();
        Complex { re, im: next() }
    }
}

/// As a [`ComplexOperand`] it is itself.
impl IntoComplex for ComplexOperand {
    fn into_complex(self) -> ComplexOperand {
        self
    }
}
