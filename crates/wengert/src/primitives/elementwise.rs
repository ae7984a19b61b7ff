//! The elementwise families on arrays: functions, comparisons, logic, select, conversion.
//!
//! Values and partial derivatives are those of [`crate::ops`], written once over
//! [`Real`](crate::Real); here they meet shapes.

use std::borrow::Cow;

#[cfg(feature = "text")]
use super::parse::Fields;
use super::rule::{Sym, with_rule};
use super::sample::{numbers, numbers_f32};
use super::{
    Attributes, Batched, Cotangents, Family, Form, Masks, Operand, OperandSet, Primitive, Reach, Reaches, Sample, Site,
    Tangents, arity, check_float,
};
use crate::array::{Array, DType, Data, Element, Type};
use crate::error::{Misfit, misfit};
use crate::number::F32;
use crate::ops::{Binary, Compare, Logic, Unary};
use crate::program::{Builder, Value};
use crate::real::Real;

/// Checks that two operands have one type.
fn check_same(x: &Type, y: &Type) -> Result<(), Misfit> {
    if x.dtype != y.dtype {
        misfit!("the element types differ; convert one of them first");
    }
    if x.shape == y.shape {
        return Ok(());
    }
    if x.rank() != y.rank() {
        misfit!("they have {} and {} axes; equal shapes are needed", x.rank(), y.rank());
    }
    let axis = x.shape.iter().zip(&y.shape).position(|(x, y)| x != y).expect("the shapes differ");
    misfit!("axis {axis} is {} long in one and {} in the other", x.shape[axis], y.shape[axis])
}

/// The largest order of a derivative that a text may ask for: beyond it there are no numbers left.
#[cfg(feature = "text")]
const MOST_ORDER: i64 = 256;

/// That a function does not take the number in the text form.
#[cfg(feature = "text")]
fn no_number(n: i128) -> Misfit {
    Misfit(format!("the option `n` cannot be {n}"))
}

/// The equation with all operands batched, if any is.
fn batch_elementwise(
    b: &mut Builder,
    op: impl Into<super::Op>,
    args: &[Value],
    batched: &[bool],
    length: usize,
) -> Vec<(Value, bool)> {
    if !batched.contains(&true) {
        return vec![(b.op(op, args), false)];
    }
    let args = b.batch_all(args, batched, length);
    vec![(b.op(op, &args), true)]
}

/// `tangent * factor`, without a multiplication where the factor is 1 or -1.
fn times(b: &mut Builder, tangent: Value, factor: Sym) -> Value {
    match factor {
        Sym::Constant(1.0) => tangent,
        Sym::Constant(-1.0) => b.neg(tangent),
        factor => {
            let ty = b.ty(tangent).clone();
            let factor = factor.materialise(b, &ty);
            b.mul(tangent, factor)
        }
    }
}

/// The sets of operands as the contract has them.
fn operand_sets(sets: &[&[usize]]) -> Vec<OperandSet> {
    sets.iter().map(|set| set.to_vec()).collect()
}

fn map<T: Element, U: Element>(x: &[T], shape: &[usize], f: impl Fn(T) -> U) -> Array {
    Array::new(shape, x.iter().map(|&x| f(x)).collect::<Vec<U>>())
}

/// What integers say that have no remainder.
pub(crate) fn divided_by_zero() -> Misfit {
    Misfit("an integer is divided by zero".to_owned())
}

fn map2<T: Element, U: Element>(x: &Array, y: &Array, f: impl Fn(T, T) -> U) -> Array {
    let elements = x.known::<T>().iter().zip(y.known::<T>()).map(|(&x, &y)| f(x, y));
    Array::new(x.shape(), elements.collect::<Vec<U>>())
}

// ---- functions of one argument ------------------------------------------------------------------

impl Primitive for Unary {
    fn name(&self) -> Cow<'static, str> {
        Unary::name(*self).into()
    }
    fn infer(&self, args: &[&Type]) -> Result<Vec<Type>, Misfit> {
        arity(args, 1)?;
        let ok = match args[0].dtype {
            DType::F32 | DType::F64 => true,
            DType::I64 => self.of_integers().is_some(),
            DType::Bool => *self == Unary::Detach,
        };
        if !ok {
            check_float(args[0])?;
        }
        Ok(vec![args[0].clone()])
    }
    fn eval(&self, args: &[&Array]) -> Result<Vec<Array>, Misfit> {
        let x = args[0];
        Ok(vec![match x.data() {
            Data::F64(elements) => map(elements, x.shape(), |x: f64| Real::unary(x, *self)),
            Data::F32(elements) => map(elements, x.shape(), |x: f32| F32(x).unary(*self).0),
            Data::I64(elements) => map(elements, x.shape(), self.of_integers().expect("inference refuses the others")),
            Data::Bool(_) => x.clone(),
        }])
    }
    fn is_cheap(&self) -> bool {
        matches!(self, Unary::Neg | Unary::Abs | Unary::Sign | Unary::Square | Unary::Relu | Unary::Detach)
    }

    fn form(&self, _: &[&Type]) -> Form {
        Form::Elementwise
    }
    fn linear_in(&self, _: usize) -> Vec<OperandSet> {
        operand_sets(Unary::linear_in(*self))
    }
    fn reach(&self, site: &Site) -> Reaches {
        Ok(site.all(if self.is_flat() { &Reach::Nothing } else { &Reach::Same }))
    }
    fn multiplies(&self) -> bool {
        Unary::linear_in(*self).is_empty()
    }
    fn masks(&self) -> Masks {
        Masks::Elementwise
    }
    fn jvp(&self, b: &mut Builder, args: &[Value], outs: &[Value], tangents: &[Option<Value>]) -> Tangents {
        let Some(tangent) = tangents[0].filter(|_| !self.is_flat()) else { return Ok(vec![None]) };
        let ty = b.ty(args[0]).clone();
        let factor = with_rule(b, &ty, || self.partial(Sym::Value(args[0]), Sym::Value(outs[0])));
        Ok(vec![Some(times(b, tangent, factor))])
    }
    fn transpose(&self, b: &mut Builder, cotangents: &[Option<Value>], _: &[Operand]) -> Cotangents {
        match (self, cotangents[0]) {
            (Unary::Neg, Some(ct)) => Ok(vec![Some(b.neg(ct))]),
            (Unary::Neg, None) => Ok(vec![None]),
            _ => Err(Misfit(format!("`{}` is not linear and has no transpose", Unary::name(*self)))),
        }
    }
    fn batch(&self, b: &mut Builder, args: &[Value], batched: &[bool], length: usize) -> Batched {
        Ok(batch_elementwise(b, *self, args, batched, length))
    }
    fn attributes(&self) -> Attributes {
        self.number().map_or_else(Attributes::default, |n| Attributes::default().with("n", n))
    }
}

impl Family for Unary {
    #[cfg(feature = "text")]
    fn parse(name: &str, fields: &mut Fields) -> Option<Result<Self, Misfit>> {
        let named = Unary::named(name, || fields.integer("n"), no_number)?;
        Some(named.and_then(|op| match op.number() {
            Some(n) if !matches!(op, Unary::Powi(_)) && n > MOST_ORDER => {
                Err(Misfit(format!("the order {n} of the derivative is more than {MOST_ORDER}")))
            }
            _ => Ok(op),
        }))
    }
    fn samples() -> Vec<Sample> {
        let mut samples = Vec::new();
        for &op in Unary::ALL {
            let points = Unary::samples(op);
            let single: Vec<f32> = points.iter().map(|&x| x as f32).collect();
            samples.push(Sample::new(op, &[Array::new(&[points.len()], points.to_vec())]));
            samples.push(Sample::new(op, &[Array::new(&[1, points.len()], single)]));
        }
        samples
    }
}

// ---- functions of two arguments -----------------------------------------------------------------

impl Primitive for Binary {
    fn name(&self) -> Cow<'static, str> {
        Binary::name(*self).into()
    }
    fn infer(&self, args: &[&Type]) -> Result<Vec<Type>, Misfit> {
        arity(args, 2)?;
        check_same(args[0], args[1])?;
        if !(args[0].dtype == DType::I64 && self.of_integers().is_some()) {
            check_float(args[0])?;
        }
        Ok(vec![args[0].clone()])
    }
    fn eval(&self, args: &[&Array]) -> Result<Vec<Array>, Misfit> {
        let (x, y) = (args[0], args[1]);
        Ok(vec![match x.dtype() {
            DType::F64 => map2(x, y, |x: f64, y: f64| Real::binary(x, y, *self)),
            DType::F32 => map2(x, y, |x: f32, y: f32| F32(x).binary(F32(y), *self).0),
            _ => {
                if *self == Binary::Rem && y.known::<i64>().contains(&0) {
                    return Err(divided_by_zero());
                }
                map2(x, y, self.of_integers().expect("inference refuses the others"))
            }
        }])
    }
    fn is_cheap(&self) -> bool {
        matches!(self, Binary::Add | Binary::Sub | Binary::Mul | Binary::Max | Binary::Min)
    }

    fn form(&self, args: &[&Type]) -> Form {
        let divides = *self == Binary::Rem && args[0].dtype == DType::I64;
        if divides { Form::ElementwiseKernel } else { Form::Elementwise }
    }
    fn linear_in(&self, _: usize) -> Vec<OperandSet> {
        operand_sets(Binary::linear_in(*self))
    }
    fn reach(&self, _: &Site) -> Reaches {
        Ok(vec![vec![Reach::Same, if self.is_flat_in_y() { Reach::Nothing } else { Reach::Same }]])
    }
    fn multiplies(&self) -> bool {
        !Binary::linear_in(*self).contains(&&[0, 1][..])
    }
    fn masks(&self) -> Masks {
        Masks::Elementwise
    }
    fn jvp(&self, b: &mut Builder, args: &[Value], outs: &[Value], tangents: &[Option<Value>]) -> Tangents {
        let (x, y, z) = (Sym::Value(args[0]), Sym::Value(args[1]), Sym::Value(outs[0]));
        let ty = b.ty(args[0]).clone();
        let (x_dot, y_dot) = (tangents[0], tangents[1].filter(|_| !self.is_flat_in_y()));
        let (first, second) = match (x_dot, y_dot) {
            (Some(_), Some(_)) => {
                let (first, second) = with_rule(b, &ty, || self.partials(x, y, z));
                (Some(first), Some(second))
            }
            (Some(_), None) => (Some(with_rule(b, &ty, || self.partial_x(x, y, z))), None),
            (None, Some(_)) => (None, Some(with_rule(b, &ty, || self.partial_y(x, y, z)))),
            (None, None) => (None, None),
        };
        let first = x_dot.zip(first).map(|(tangent, factor)| times(b, tangent, factor));
        let second = y_dot.zip(second).map(|(tangent, factor)| times(b, tangent, factor));
        Ok(vec![match (first, second) {
            (Some(first), Some(second)) => Some(b.add(first, second)),
            (first, second) => first.or(second),
        }])
    }
    fn transpose(&self, b: &mut Builder, cotangents: &[Option<Value>], args: &[Operand]) -> Cotangents {
        let Some(ct) = cotangents[0] else { return Ok(vec![None, None]) };
        let linear = [args[0].is_linear(), args[1].is_linear()];
        Ok(match self {
            Binary::Add => linear.map(|linear| linear.then_some(ct)).to_vec(),
            Binary::Sub => vec![linear[0].then_some(ct), linear[1].then(|| b.neg(ct))],
            Binary::Mul if linear[0] => vec![Some(b.mul(ct, args[1].known())), None],
            Binary::Mul => vec![None, Some(b.mul(ct, args[0].known()))],
            Binary::Div => vec![Some(b.div(ct, args[1].known())), None],
            other => misfit!("`{}` is not linear and has no transpose", Binary::name(*other)),
        })
    }
    fn batch(&self, b: &mut Builder, args: &[Value], batched: &[bool], length: usize) -> Batched {
        Ok(batch_elementwise(b, *self, args, batched, length))
    }
    fn harmless(&self) -> Vec<(usize, f64)> {
        if *self == Binary::Rem { vec![(1, 1.0)] } else { Vec::new() }
    }
}

impl Family for Binary {
    #[cfg(feature = "text")]
    fn parse(name: &str, fields: &mut Fields) -> Option<Result<Self, Misfit>> {
        Binary::named(name, || fields.integer("n"), no_number)
    }
    fn samples() -> Vec<Sample> {
        let mut samples = Vec::new();
        for &op in Binary::ALL {
            let (x, y): (Vec<f64>, Vec<f64>) = Binary::samples(op).iter().copied().unzip();
            let single = |x: &[f64]| x.iter().map(|&x| x as f32).collect::<Vec<f32>>();
            samples
                .push(Sample::new(op, &[Array::new(&[1, x.len()], single(&x)), Array::new(&[1, x.len()], single(&y))]));
            samples.push(Sample::new(op, &[Array::new(&[x.len()], x), Array::new(&[y.len()], y)]));
        }
        for op in [Binary::Add, Binary::Mul, Binary::Rem, Binary::Max] {
            samples.push(Sample::new(op, &[Array::new(&[3], vec![7i64, -7, 5]), Array::new(&[3], vec![2i64, 3, -4])]));
        }
        samples
    }
}

// ---- comparisons and logic ----------------------------------------------------------------------

impl Primitive for Compare {
    fn name(&self) -> Cow<'static, str> {
        Compare::name(*self).into()
    }
    fn infer(&self, args: &[&Type]) -> Result<Vec<Type>, Misfit> {
        arity(args, 2)?;
        check_same(args[0], args[1])?;
        Ok(vec![args[0].with_dtype(DType::Bool)])
    }
    fn eval(&self, args: &[&Array]) -> Result<Vec<Array>, Misfit> {
        let (x, y) = (args[0], args[1]);
        Ok(vec![match x.dtype() {
            DType::Bool => map2(x, y, |x: bool, y: bool| Compare::eval(*self, x, y)),
            DType::I64 => map2(x, y, |x: i64, y: i64| Compare::eval(*self, x, y)),
            DType::F32 => map2(x, y, |x: f32, y: f32| Compare::eval(*self, x, y)),
            DType::F64 => map2(x, y, |x: f64, y: f64| Compare::eval(*self, x, y)),
        }])
    }
    fn is_cheap(&self) -> bool {
        true
    }

    fn form(&self, _: &[&Type]) -> Form {
        Form::Elementwise
    }
    fn linear_in(&self, _: usize) -> Vec<OperandSet> {
        Vec::new()
    }
    fn batch(&self, b: &mut Builder, args: &[Value], batched: &[bool], length: usize) -> Batched {
        Ok(batch_elementwise(b, *self, args, batched, length))
    }
}

impl Family for Compare {
    #[cfg(feature = "text")]
    fn parse(name: &str, fields: &mut Fields) -> Option<Result<Self, Misfit>> {
        Compare::named(name, || fields.integer("n"), no_number)
    }
    fn samples() -> Vec<Sample> {
        let nan = f64::NAN;
        let (x, y) = (vec![1.0, 2.0, -1.0, nan, 0.0], vec![2.0, 2.0, -3.0, 1.0, -0.0]);
        let (x, y) = (Array::new(&[5], x), Array::new(&[5], y));
        let whole = [Array::new(&[2], vec![1i64, 2]), Array::new(&[2], vec![2i64, 2])];
        let samples = Compare::ALL.iter().flat_map(|&op| {
            [
                Sample::new(op, &[x.clone(), y.clone()]),
                Sample::new(op, &whole),
                Sample::new(op, &[numbers_f32(1, &[2, 2]), numbers_f32(2, &[2, 2])]),
            ]
        });
        samples.collect()
    }
}

impl Primitive for Logic {
    fn name(&self) -> Cow<'static, str> {
        Logic::name(*self).into()
    }
    fn infer(&self, args: &[&Type]) -> Result<Vec<Type>, Misfit> {
        arity(args, if *self == Logic::Not { 1 } else { 2 })?;
        if let Some(ty) = args.iter().find(|ty| ty.dtype != DType::Bool) {
            misfit!("it takes truth values (bool), not {}; compare first", ty.dtype);
        }
        if let [x, y] = args {
            check_same(x, y)?;
        }
        Ok(vec![args[0].clone()])
    }
    fn eval(&self, args: &[&Array]) -> Result<Vec<Array>, Misfit> {
        Ok(vec![match (self, args) {
            (Logic::And, [x, y]) => map2(x, y, |x: bool, y: bool| x & y),
            (Logic::Or, [x, y]) => map2(x, y, |x: bool, y: bool| x | y),
            (Logic::Xor, [x, y]) => map2(x, y, |x: bool, y: bool| x ^ y),
            (Logic::Not, [x]) => map(x.known(), x.shape(), |x: bool| !x),
            _ => unreachable!("inference checks the number of operands"),
        }])
    }
    fn is_cheap(&self) -> bool {
        true
    }

    fn form(&self, _: &[&Type]) -> Form {
        Form::Elementwise
    }
    fn linear_in(&self, _: usize) -> Vec<OperandSet> {
        Vec::new()
    }
    fn batch(&self, b: &mut Builder, args: &[Value], batched: &[bool], length: usize) -> Batched {
        Ok(batch_elementwise(b, *self, args, batched, length))
    }
}

impl Family for Logic {
    #[cfg(feature = "text")]
    fn parse(name: &str, _: &mut Fields) -> Option<Result<Self, Misfit>> {
        Logic::ALL.into_iter().find(|op| op.name() == name).map(Ok)
    }
    fn samples() -> Vec<Sample> {
        let x = Array::new(&[4], vec![false, true, false, true]);
        let y = Array::new(&[4], vec![false, false, true, true]);
        let args = |op| if op == Logic::Not { vec![x.clone()] } else { vec![x.clone(), y.clone()] };
        Logic::ALL.iter().map(|&op| Sample::new(op, &args(op))).collect()
    }
}

// ---- select -------------------------------------------------------------------------------------

/// `select(mask, yes, no)`: `yes` where the mask is true, else `no`, element by element. What is not
/// chosen never reaches a derivative, not even as NaN.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Select;

impl Primitive for Select {
    fn name(&self) -> Cow<'static, str> {
        "select".into()
    }
    fn infer(&self, args: &[&Type]) -> Result<Vec<Type>, Misfit> {
        arity(args, 3)?;
        check_same(args[1], args[2])?;
        if args[0].dtype != DType::Bool {
            misfit!("the mask is {}, and has to be bool", args[0]);
        }
        if args[0].shape != args[1].shape {
            misfit!("the mask {} and the values {} differ in shape", args[0], args[1]);
        }
        Ok(vec![args[1].clone()])
    }
    fn eval(&self, args: &[&Array]) -> Result<Vec<Array>, Misfit> {
        fn choose<T: Element>(args: &[&Array]) -> Array {
            let (yes, no) = (args[1].known::<T>(), args[2].known::<T>());
            let mask = args[0].known::<bool>().iter();
            let elements = mask.zip(yes.iter().zip(no)).map(|(&mask, (&yes, &no))| if mask { yes } else { no });
            Array::new(args[1].shape(), elements.collect::<Vec<T>>())
        }
        Ok(vec![match args[1].dtype() {
            DType::Bool => choose::<bool>(args),
            DType::I64 => choose::<i64>(args),
            DType::F32 => choose::<f32>(args),
            DType::F64 => choose::<f64>(args),
        }])
    }
    fn is_cheap(&self) -> bool {
        true
    }

    fn form(&self, _: &[&Type]) -> Form {
        Form::Elementwise
    }
    fn linear_in(&self, _: usize) -> Vec<OperandSet> {
        vec![vec![1, 2]]
    }
    fn reach(&self, site: &Site) -> Reaches {
        match site.known[0] {
            Some(_) => site.moved(&[0], |args| self.eval(args)),
            None => Ok(vec![vec![Reach::Nothing, Reach::Same, Reach::Same]]),
        }
    }
    fn decides(&self) -> Vec<usize> {
        vec![0]
    }
    fn multiplies(&self) -> bool {
        false
    }
    fn masks(&self) -> Masks {
        Masks::Chosen
    }
    fn transpose(&self, b: &mut Builder, cotangents: &[Option<Value>], args: &[Operand]) -> Cotangents {
        let Some(ct) = cotangents[0] else { return Ok(vec![None; 3]) };
        let mask = args[0].known();
        let zero = b.zeros_like(ct);
        let yes = args[1].is_linear().then(|| b.select(mask, ct, zero));
        let no = args[2].is_linear().then(|| b.select(mask, zero, ct));
        Ok(vec![None, yes, no])
    }
    fn batch(&self, b: &mut Builder, args: &[Value], batched: &[bool], length: usize) -> Batched {
        Ok(batch_elementwise(b, *self, args, batched, length))
    }
}

impl Family for Select {
    #[cfg(feature = "text")]
    fn parse(name: &str, _: &mut Fields) -> Option<Result<Self, Misfit>> {
        (name == "select").then_some(Ok(Select))
    }
    fn samples() -> Vec<Sample> {
        let mask = Array::new(&[2, 3], vec![true, false, true, true, false, false]);
        let whole = |x: i64| Array::new(&[2, 3], (0..6).map(|k| k * x).collect());
        vec![
            Sample::new(Select, &[mask.clone(), numbers(1, &[2, 3]), numbers(2, &[2, 3])]),
            Sample::new(Select, &[mask.clone(), numbers_f32(3, &[2, 3]), numbers_f32(4, &[2, 3])]),
            Sample::new(Select, &[mask, whole(1), whole(-3)]),
            Sample::new(Select, &[Array::scalar(true), numbers(5, &[]), numbers(6, &[])]),
        ]
    }
}

// ---- conversion ---------------------------------------------------------------------------------

/// Another element type. Between real types the derivative passes through; through integers and
/// truth values there is none.
///
/// Real numbers become integers by truncation, NaN becomes 0, and what is too large the largest
/// integer; truth values become 0 and 1; anything but 0 is true.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Convert(pub DType);

impl Primitive for Convert {
    fn name(&self) -> Cow<'static, str> {
        "convert".into()
    }
    fn infer(&self, args: &[&Type]) -> Result<Vec<Type>, Misfit> {
        arity(args, 1)?;
        Ok(vec![args[0].with_dtype(self.0)])
    }
    fn eval(&self, args: &[&Array]) -> Result<Vec<Array>, Misfit> {
        let x = args[0];
        if x.dtype() == self.0 {
            return Ok(vec![x.clone()]);
        }
        let shape = x.shape();
        Ok(vec![match (x.data(), self.0) {
            (Data::I64(x), DType::F32) => map(x, shape, |x: i64| x as f32),
            (Data::I64(x), DType::Bool) => map(x, shape, |x: i64| x != 0),
            (Data::F32(x), DType::I64) => map(x, shape, |x: f32| x as i64),
            (Data::F64(x), DType::I64) => map(x, shape, |x: f64| x as i64),
            (Data::F64(x), DType::F32) => map(x, shape, |x: f64| x as f32),
            (_, DType::F64) => Array::new(shape, x.to_f64()),
            (_, DType::F32) => Array::new(shape, x.to_f64().iter().map(|&x| x as f32).collect::<Vec<f32>>()),
            (_, DType::I64) => Array::new(shape, x.to_f64().iter().map(|&x| x as i64).collect::<Vec<i64>>()),
            (_, DType::Bool) => Array::new(shape, x.to_f64().iter().map(|&x| x != 0.0).collect::<Vec<bool>>()),
        }])
    }
    fn is_cheap(&self) -> bool {
        true
    }

    fn form(&self, _: &[&Type]) -> Form {
        Form::Elementwise
    }
    fn linear_in(&self, _: usize) -> Vec<OperandSet> {
        // Between real types only: an integer has no tangent, so the question does not arise.
        if self.0.is_float() { vec![vec![0]] } else { Vec::new() }
    }
    fn multiplies(&self) -> bool {
        false
    }
    fn masks(&self) -> Masks {
        Masks::Elementwise
    }
    fn transpose(&self, b: &mut Builder, cotangents: &[Option<Value>], args: &[Operand]) -> Cotangents {
        let from = args[0].ty(b).dtype;
        Ok(vec![cotangents[0].map(|ct| b.convert(ct, from))])
    }
    fn batch(&self, b: &mut Builder, args: &[Value], batched: &[bool], length: usize) -> Batched {
        Ok(batch_elementwise(b, *self, args, batched, length))
    }
    fn attributes(&self) -> Attributes {
        Attributes::default().with("to", self.0)
    }
}

impl Family for Convert {
    #[cfg(feature = "text")]
    fn parse(name: &str, fields: &mut Fields) -> Option<Result<Self, Misfit>> {
        (name == "convert").then(|| Ok(Convert(fields.dtype("to")?)))
    }
    fn samples() -> Vec<Sample> {
        let operands = [
            Array::new(&[3], vec![1.5, -2.25, 3.0]),
            Array::new(&[3], vec![0.5f32, -7.5, 0.0]),
            Array::new(&[2], vec![3i64, 0]),
            Array::new(&[2], vec![true, false]),
        ];
        let cases =
            operands.iter().flat_map(|x| DType::ALL.map(|to| Sample::new(Convert(to), std::slice::from_ref(x))));
        cases.collect()
    }
}
