//! Running sums, products, extremes and log-sum-exps along an axis; and the linear recurrence that
//! their derivatives are made of.

use std::borrow::Cow;

#[cfg(feature = "text")]
use super::parse::Fields;
use super::rule::{Sym, with_rule};
use super::sample::{numbers, numbers_f32};
use super::{
    Along, Attributes, Batched, Cotangents, Family, Form, Operand, OperandSet, Pad, Preceding, Primitive, Reach,
    Reaches, Sample, Site, Tangents, arity, check_axis, check_float,
};
use crate::array::{Array, DType, Data, Element, Type};
use crate::error::{Misfit, misfit};
use crate::number::F32;
use crate::ops::Binary;
use crate::program::{Builder, Value};
use crate::real::Real;

/// What runs along the axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Running {
    /// Sums; those of single precision in double precision, each rounded once.
    Sum,
    /// Products.
    Prod,
    /// The largest so far; equal ones share the derivative step by step, as in `max`.
    Max,
    /// The smallest so far.
    Min,
    /// `ln sum exp`, without overflow; in single precision as sums.
    Logsumexp,
}

impl Running {
    /// Every member of the family.
    pub const ALL: [Running; 5] = [Running::Sum, Running::Prod, Running::Max, Running::Min, Running::Logsumexp];

    /// The function of two arguments that takes in one more element.
    fn step(self) -> Binary {
        match self {
            Running::Sum => Binary::Add,
            Running::Prod => Binary::Mul,
            Running::Max => Binary::Max,
            Running::Min => Binary::Min,
            Running::Logsumexp => Binary::Logaddexp,
        }
    }
}

/// `y_i = step(y_(i-1), x_i)` along an axis, from its end if `reverse`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Cumulative {
    /// What runs.
    pub running: Running,
    /// The axis.
    pub axis: usize,
    /// Whether it starts at the end of the axis.
    pub reverse: bool,
}

impl Cumulative {
    /// Along this axis.
    pub fn new(running: Running, axis: usize, reverse: bool) -> Self {
        Cumulative { running, axis, reverse }
    }
}

/// Visits the positions of every line along an axis, in the order of the recurrence.
fn for_each_line(shape: &[usize], axis: usize, reverse: bool, mut visit: impl FnMut(&[usize])) {
    let (length, inner) = (shape[axis], shape[axis + 1..].iter().product::<usize>());
    let outer: usize = shape[..axis].iter().product();
    let mut line = vec![0; length];
    for first in (0..outer).flat_map(|row| (0..inner).map(move |column| row * length * inner + column)) {
        for (k, place) in line.iter_mut().enumerate() {
            *place = first + if reverse { length - 1 - k } else { k } * inner;
        }
        visit(&line);
    }
}

impl Cumulative {
    fn scan<T: Element>(self, x: &Array, step: impl Fn(T, T) -> T) -> Array {
        let mut elements = x.known::<T>().to_vec();
        for_each_line(x.shape(), self.axis, self.reverse, |line| {
            for pair in line.windows(2) {
                elements[pair[1]] = step(elements[pair[0]], elements[pair[1]]);
            }
        });
        Array::new(x.shape(), elements)
    }

    /// Sums of single precision, in double precision from step to step: errors of many steps do not add up.
    fn scan_in_double(self, x: &Array, step: impl Fn(f64, f64) -> f64) -> Array {
        let wide = Array::new(x.shape(), x.known::<f32>().iter().copied().map(f64::from).collect::<Vec<f64>>());
        let sums = self.scan(&wide, step);
        Array::new(x.shape(), sums.known::<f64>().iter().map(|&sum| sum as f32).collect::<Vec<f32>>())
    }
}

/// The neighbour before each element in the order of the recurrence, and `first` before the first.
pub(super) fn shift(b: &mut Builder, x: Value, axis: usize, reverse: bool, first: f64) -> Value {
    let ty = b.ty(x).clone();
    let mut pad = Pad::new(&vec![0; ty.rank()], &vec![0; ty.rank()]);
    if ty.shape[axis] == 0 {
        return x;
    }
    (pad.low[axis], pad.high[axis]) = if reverse { (-1, 1) } else { (1, -1) };
    let first = b.full(first, &ty.with_shape(Vec::new()));
    b.op(pad, &[x, first])
}

/// The elements up to each place along an axis.
fn preceding(shape: &[usize], axis: usize, reverse: bool) -> Reach {
    let [before, after] = [&shape[..axis], &shape[axis + 1..]].map(|axes| axes.iter().product());
    Reach::Preceding(Preceding { before, length: shape[axis], after, reverse })
}

impl Primitive for Cumulative {
    fn name(&self) -> Cow<'static, str> {
        match self.running {
            Running::Sum => "cumsum",
            Running::Prod => "cumprod",
            Running::Max => "cummax",
            Running::Min => "cummin",
            Running::Logsumexp => "cumlogsumexp",
        }
        .into()
    }
    fn infer(&self, args: &[&Type]) -> Result<Vec<Type>, Misfit> {
        arity(args, 1)?;
        check_axis(self.axis, args[0])?;
        if args[0].dtype != DType::I64 || self.running == Running::Logsumexp {
            check_float(args[0])?;
        }
        Ok(vec![args[0].clone()])
    }
    fn eval(&self, args: &[&Array]) -> Result<Vec<Array>, Misfit> {
        let (x, step) = (args[0], self.running.step());
        Ok(vec![match x.data() {
            Data::F64(_) => self.scan(x, |x: f64, y: f64| Real::binary(x, y, step)),
            Data::F32(_) => match self.running {
                Running::Sum | Running::Logsumexp => self.scan_in_double(x, |x, y| Real::binary(x, y, step)),
                Running::Prod | Running::Max | Running::Min => {
                    self.scan(x, |x: f32, y: f32| F32(x).binary(F32(y), step).0)
                }
            },
            _ => self.scan(x, |x: i64, y: i64| match self.running {
                Running::Sum => x.wrapping_add(y),
                Running::Prod => x.wrapping_mul(y),
                Running::Max => x.max(y),
                Running::Min => x.min(y),
                Running::Logsumexp => unreachable!("inference asks for real numbers"),
            }),
        }])
    }
    fn along(&self, axis: usize, args: &[&Type]) -> Option<Along> {
        (axis != self.axis).then(|| vec![Some(axis); args.len()])
    }
    fn form(&self, _: &[&Type]) -> Form {
        Form::Kernel
    }
    fn reach(&self, site: &Site) -> Reaches {
        Ok(site.all(&preceding(&site.args[0].shape, self.axis, self.reverse)))
    }
    fn linear_in(&self, _: usize) -> Vec<OperandSet> {
        if self.running == Running::Sum { super::axes::linear() } else { Vec::new() }
    }
    fn multiplies(&self) -> bool {
        false
    }
    fn jvp(&self, b: &mut Builder, args: &[Value], outs: &[Value], tangents: &[Option<Value>]) -> Tangents {
        let Some(x_dot) = tangents[0] else { return Ok(vec![None]) };
        let start = match self.running {
            Running::Sum => 0.0,
            Running::Prod => 1.0,
            Running::Max | Running::Logsumexp => f64::NEG_INFINITY,
            Running::Min => f64::INFINITY,
        };
        let before = shift(b, outs[0], self.axis, self.reverse, start);
        let ty = b.ty(args[0]).clone();
        let (x, y_before, y) = (Sym::Value(args[0]), Sym::Value(before), Sym::Value(outs[0]));
        let (a, weight) = with_rule(b, &ty, || match self.running {
            Running::Logsumexp => {
                // Where both are minus infinity the weights are those of two equal numbers, whatever they are; no derivative
                // of what is computed beside them is NaN.
                let none = y.equal(Sym::constant(f64::NEG_INFINITY));
                let finite = Sym::branch(none, || Sym::constant(0.0), || y);
                let part = |x: Sym| Sym::branch(none, || Sym::constant(0.5), || (x - finite).exp());
                (part(y_before), part(x))
            }
            running => running.step().partials(y_before, x, y),
        });
        let (a, weight) = (a.materialise(b, &ty), weight.materialise(b, &ty));
        let weight = match self.running {
            Running::Sum | Running::Prod => weight,
            // The first result is the first element, which may be the number that the others begin with.
            Running::Max | Running::Min | Running::Logsumexp => {
                let nowhere = b.full(0.0, &ty.with_dtype(DType::Bool));
                let first = shift(b, nowhere, self.axis, self.reverse, 1.0);
                let one = b.full(1.0, &ty);
                b.select(first, one, weight)
            }
        };
        let driven = b.mul(x_dot, weight);
        Ok(vec![Some(b.op(Recurrence { axis: self.axis, reverse: self.reverse }, &[a, driven]))])
    }
    fn transpose(&self, b: &mut Builder, cotangents: &[Option<Value>], _: &[Operand]) -> Cotangents {
        let back = Cumulative { reverse: !self.reverse, ..*self };
        Ok(vec![cotangents[0].map(|ct| b.op(back, &[ct]))])
    }
    fn batch(&self, b: &mut Builder, args: &[Value], batched: &[bool], _: usize) -> Batched {
        let axis = self.axis + usize::from(batched[0]);
        Ok(vec![(b.op(Cumulative { axis, ..*self }, args), batched[0])])
    }
    fn attributes(&self) -> Attributes {
        Attributes::default().with("axis", self.axis).with("reverse", self.reverse)
    }
}

impl Family for Cumulative {
    #[cfg(feature = "text")]
    fn parse(name: &str, fields: &mut Fields) -> Option<Result<Self, Misfit>> {
        let running = Running::ALL.into_iter().find(|&running| Cumulative::new(running, 0, false).name() == name)?;
        let mut read = || Ok(Cumulative { running, axis: fields.integer("axis")?, reverse: fields.flag("reverse")? });
        Some(read())
    }
    fn samples() -> Vec<Sample> {
        let mut samples = Vec::new();
        for running in Running::ALL {
            samples.push(Sample::new(Cumulative::new(running, 0, false), &[numbers(1, &[4])]));
            samples.push(Sample::new(Cumulative::new(running, 1, true), &[numbers(2, &[2, 3])]));
            samples.push(Sample::new(Cumulative::new(running, 0, true), &[numbers_f32(3, &[3, 2])]));
            samples.push(Sample::new(Cumulative::new(running, 1, false), &[numbers(4, &[2, 0])]));
            if running != Running::Logsumexp {
                samples.push(Sample::new(Cumulative::new(running, 0, false), &[Array::new(&[3], vec![2i64, -3, 1])]));
            }
        }
        samples.push(Sample::new(Cumulative::new(Running::Prod, 0, false), &[Array::new(&[3], vec![2.0, 0.0, 3.0])]));
        samples
    }
}

/// `recurrence(a, b)`: `h_i = a_i h_(i-1) + b_i` along an axis with `h_(-1) = 0`, from its end if
/// `reverse`. Linear in b.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Recurrence {
    /// The axis.
    pub axis: usize,
    /// Whether it starts at the end of the axis.
    pub reverse: bool,
}

impl Recurrence {
    fn run<T: Element>(self, args: &[&Array], step: impl Fn(T, T, T) -> T) -> Array {
        let a = args[0].known::<T>();
        let mut h = args[1].known::<T>().to_vec();
        for_each_line(args[0].shape(), self.axis, self.reverse, |line| {
            for pair in line.windows(2) {
                h[pair[1]] = step(a[pair[1]], h[pair[0]], h[pair[1]]);
            }
        });
        Array::new(args[0].shape(), h)
    }
}

impl Primitive for Recurrence {
    fn name(&self) -> Cow<'static, str> {
        "recurrence".into()
    }
    fn infer(&self, args: &[&Type]) -> Result<Vec<Type>, Misfit> {
        arity(args, 2)?;
        check_float(args[0])?;
        if args[0] != args[1] {
            misfit!("factors {} and terms {} have to be of one type", args[0], args[1]);
        }
        check_axis(self.axis, args[0])?;
        Ok(vec![args[0].clone()])
    }
    fn eval(&self, args: &[&Array]) -> Result<Vec<Array>, Misfit> {
        Ok(vec![match args[0].dtype() {
            DType::F32 => self.run(args, |a: f32, h, b| a * h + b),
            _ => self.run(args, |a: f64, h, b| a * h + b),
        }])
    }
    fn along(&self, axis: usize, args: &[&Type]) -> Option<Along> {
        (axis != self.axis).then(|| vec![Some(axis); args.len()])
    }
    fn form(&self, _: &[&Type]) -> Form {
        Form::Kernel
    }
    fn reach(&self, site: &Site) -> Reaches {
        Ok(site.all(&preceding(&site.args[0].shape, self.axis, self.reverse)))
    }
    fn reaches_more(&self) -> Option<&'static str> {
        Some("the first factor multiplies nothing")
    }
    fn linear_in(&self, _: usize) -> Vec<OperandSet> {
        vec![vec![1]]
    }
    fn factor_meets(&self) -> Option<usize> {
        // A factor multiplies the cotangent of the term beside it.
        Some(1)
    }
    fn jvp(&self, b: &mut Builder, args: &[Value], outs: &[Value], tangents: &[Option<Value>]) -> Tangents {
        // h' = a h'_(i-1) + (a' h_(i-1) + b')
        let by_a = tangents[0].map(|a_dot| {
            let before = shift(b, outs[0], self.axis, self.reverse, 0.0);
            b.mul(a_dot, before)
        });
        let terms = b.add_present(by_a, tangents[1]);
        Ok(vec![terms.map(|terms| b.op(*self, &[args[0], terms]))])
    }
    fn transpose(&self, b: &mut Builder, cotangents: &[Option<Value>], args: &[Operand]) -> Cotangents {
        // b̄_i = h̄_i + a_(i+1) b̄_(i+1)
        let Some(ct) = cotangents[0] else { return Ok(vec![None; 2]) };
        let after = shift(b, args[0].known(), self.axis, !self.reverse, 0.0);
        Ok(vec![None, Some(b.op(Recurrence { reverse: !self.reverse, ..*self }, &[after, ct]))])
    }
    fn batch(&self, b: &mut Builder, args: &[Value], batched: &[bool], length: usize) -> Batched {
        let args = b.batch_all(args, batched, length);
        Ok(vec![(b.op(Recurrence { axis: self.axis + 1, ..*self }, &args), true)])
    }
    fn attributes(&self) -> Attributes {
        Attributes::default().with("axis", self.axis).with("reverse", self.reverse)
    }
}

impl Family for Recurrence {
    #[cfg(feature = "text")]
    fn parse(name: &str, fields: &mut Fields) -> Option<Result<Self, Misfit>> {
        (name == "recurrence")
            .then(|| Ok(Recurrence { axis: fields.integer("axis")?, reverse: fields.flag("reverse")? }))
    }
    fn samples() -> Vec<Sample> {
        let recurrence = |axis, reverse| Recurrence { axis, reverse };
        vec![
            Sample::new(recurrence(0, false), &[numbers(1, &[4]), numbers(2, &[4])]),
            Sample::new(recurrence(1, true), &[numbers(3, &[2, 3]), numbers(4, &[2, 3])]),
            Sample::new(recurrence(0, true), &[numbers_f32(5, &[3, 2]), numbers_f32(6, &[3, 2])]),
            Sample::new(recurrence(0, false), &[numbers(7, &[0]), numbers(8, &[0])]),
        ]
    }
}
