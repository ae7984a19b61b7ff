//! Functions of one number as Programs, and their divided differences.
//!
//! `h[x]` is `h(x)`, and `h[x_0, …, x_k] = (h[x_1, …, x_k] - h[x_0, …, x_(k-1)]) / (x_k - x_0)`, with its limit
//! `h^(k)(x)/k!` where all points coincide (C. de Boor, *Divided differences*, 2005). The quotient loses digits where the points
//! are close; there it is a sum over Taylor coefficients at their middle,
//!
//! ```text
//! h[x_0, …, x_k] = sum over j >= k of  c_j H_(j-k)(x_0 - z, …, x_k - z)
//! ```
//!
//! with `H_d` the sum of all products of `d` of its arguments (A. McCurdy, K. C. Ng and B. N. Parlett, *Accurate computation
//! of divided differences of the exponential function*, 1984, for one function). Both carry a bound of their error, and the
//! better one counts; where they contradict each other, `h` has a kink between the points, and the quotient is right.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use crate::array::DType;
use crate::error::{Misfit, misfit};
use crate::ops::{Binary, Logic, Unary};
use crate::primitives::{Literal, Op};
use crate::program::Program;
use crate::real::Real;
use crate::rounded::Rounded;
use crate::series::{self, SeriesGraph, SeriesNode};

/// How many terms of a Taylor series are added at most, and how many are asked how fast they fall.
const TERMS: usize = 28;
const FIRST_TERMS: usize = 5;

/// Roundings of a quotient of differences up to which no series is asked for. That of values that are a quarter apart has some ten:
/// the values themselves have more, of the norm of the matrix.
const GOOD: f64 = 64.0;

/// That a Program is a function of one number, made of functions of numbers.
pub(super) fn check_function(program: &Program) -> Result<(), Misfit> {
    let single = |dtype: DType, rank: usize| dtype == DType::F64 && rank == 0;
    let [ty] = program.input_types() else {
        misfit!("the function takes {} operands, and has to take one number", program.input_types().len());
    };
    let outputs = program.output_types();
    let [out] = &outputs[..] else { misfit!("the function gives {} results, and has to give one", outputs.len()) };
    if !single(ty.dtype, ty.rank()) || !single(out.dtype, out.rank()) {
        misfit!("the function makes {out} of {ty}, and has to make one number (f64[]) of one");
    }
    for eqn in program.eqns() {
        let real = eqn.args.iter().all(|&arg| matches!(program.ty(arg).dtype, DType::F64 | DType::Bool));
        let known = match &eqn.op {
            Op::Literal(_) | Op::Compare(_) | Op::Logic(_) | Op::Select(_) | Op::Broadcast(_) | Op::Reshape(_) => true,
            Op::Unary(_) | Op::Binary(_) => real,
            Op::Convert(to) => real && to.0 == DType::F64,
            _ => false,
        };
        if !known || eqn.outs().any(|out| program.ty(out).rank() != 0) {
            misfit!("the function has to be made of functions of numbers alone, and uses `{}`", eqn.op.name());
        }
    }
    Ok(())
}

/// A value of a function that runs on series.
#[derive(Clone, Copy)]
enum Item {
    /// Its series and its value.
    Number(SeriesNode, Rounded),
    Truth(bool),
    Integer(i64),
}

/// The first Taylor coefficients of `t -> h(x + scale t)`: with what cancels inside of the function, and what an argument inside has
/// lost, in the bounds of all of them.
fn coefficients(program: &Program, x: f64, scale: f64, count: usize) -> Vec<Rounded> {
    let mut graph = SeriesGraph::<Rounded>::default();
    let x = Rounded::exact(x);
    let mut items = vec![Item::Number(graph.given(&[x, Rounded::exact(scale)]), x)];
    for eqn in program.eqns() {
        let args: Vec<Item> = eqn.args.iter().map(|arg| items[arg.index()]).collect();
        items.push(step(&mut graph, &eqn.op, &args));
    }
    let mut all = match items[program.outputs()[0].index()] {
        Item::Number(node, _) => {
            graph.extend(node, count.saturating_sub(1));
            graph.coefficients(node).to_vec()
        }
        Item::Truth(_) | Item::Integer(_) => unreachable!("the result is a real number"),
    };
    // What ends is a polynomial.
    all.resize(count, Rounded::exact(0.0));
    all
}

fn step(graph: &mut SeriesGraph<Rounded>, op: &Op, args: &[Item]) -> Item {
    let number = |k: usize| match args[k] {
        Item::Number(node, x) => (node, x),
        Item::Truth(_) | Item::Integer(_) => unreachable!("the operand is a real number"),
    };
    let truth = |k: usize| matches!(args[k], Item::Truth(true));
    match op {
        Op::Literal(Literal::F64(x)) => constant(graph, *x),
        Op::Literal(Literal::F32(x)) => constant(graph, f64::from(*x)),
        Op::Literal(Literal::Bool(x)) => Item::Truth(*x),
        Op::Literal(Literal::I64(x)) => Item::Integer(*x),
        Op::Unary(op) => unary(graph, *op, number(0)),
        Op::Binary(op) => binary(graph, *op, number(0), number(1)),
        Op::Compare(op) => Item::Truth(match (args[0], args[1]) {
            (Item::Number(_, x), Item::Number(_, y)) => op.eval(x, y),
            (Item::Integer(x), Item::Integer(y)) => op.eval(x, y),
            _ => op.eval(truth(0), truth(1)),
        }),
        Op::Logic(op) => Item::Truth(match op {
            Logic::And => truth(0) & truth(1),
            Logic::Or => truth(0) | truth(1),
            Logic::Xor => truth(0) ^ truth(1),
            Logic::Not => !truth(0),
        }),
        Op::Select(_) => args[if truth(0) { 1 } else { 2 }],
        Op::Convert(_) => match args[0] {
            Item::Truth(x) => constant(graph, f64::from(u8::from(x))),
            item => item,
        },
        _ => args[0],
    }
}

fn constant(graph: &mut SeriesGraph<Rounded>, x: f64) -> Item {
    let node = graph.constant(x);
    Item::Number(node, graph.coefficients(node)[0])
}

fn unary(graph: &mut SeriesGraph<Rounded>, op: Unary, (node, x): (SeriesNode, Rounded)) -> Item {
    let y = x.unary(op);
    Item::Number(graph.insert(series::Op::Unary(op, node), y), y)
}

fn binary(
    graph: &mut SeriesGraph<Rounded>,
    op: Binary,
    (a, x): (SeriesNode, Rounded),
    (b, y): (SeriesNode, Rounded),
) -> Item {
    let z = x.binary(y, op);
    Item::Number(graph.insert(series::Op::Binary(op, a, b), z), z)
}

/// A number and a bound of its error.
type Bounded = (f64, f64);

/// Taylor coefficients of `t -> h(x + scale t)` by the bits of the number and of the scale, and how many there are.
type Known = HashMap<(u64, u64, usize), Rc<[Rounded]>>;

/// A power of two near this number, 1 if it is 0, subnormal or not finite: by it coefficients are scaled, which would leave the range as those of `1/x` at 1e-24 do.
pub(super) fn scale_near(x: f64) -> f64 {
    let bits = x.abs().to_bits() >> 52;
    if (1..=2046).contains(&bits) { f64::from_bits(bits << 52) } else { 1.0 }
}

/// Whether a series is found once: that of points which others are made of. A set of points is asked for once by itself, and
/// there are as many pairs as the matrix has elements.
#[derive(Clone, Copy)]
enum Keep {
    Yes,
    No,
}

/// The derivative of some order of a function, with what was found of it so far.
pub(super) struct Differences<'a> {
    program: &'a Program,
    derivative: usize,
    /// In which points are given: a power of two.
    unit: f64,
    known: RefCell<Known>,
}

impl<'a> Differences<'a> {
    pub(super) fn new(program: &'a Program, derivative: usize) -> Self {
        Differences { program, derivative, unit: 1.0, known: RefCell::default() }
    }

    /// That of `y -> h(unit y)`, of a unit that is a power of two.
    pub(super) fn in_unit(self, unit: f64) -> Self {
        if unit == self.unit { self } else { Differences { unit, known: RefCell::default(), ..self } }
    }

    /// The first Taylor coefficients of the derivative at a number.
    fn series(&self, x: f64, scale: f64, count: usize) -> Rc<[Rounded]> {
        let key = (x.to_bits(), scale.to_bits(), count);
        if let Some(known) = self.known.borrow().get(&key) {
            return Rc::clone(known);
        }
        let own: Rc<[Rounded]> = self.found(x, scale, count).into();
        self.known.borrow_mut().insert(key, Rc::clone(&own));
        own
    }

    fn found(&self, x: f64, scale: f64, count: usize) -> Vec<Rounded> {
        let (x, scale) = (self.unit * x, self.unit * scale);
        let all = coefficients(self.program, x, scale, count + self.derivative);
        let unscaled = scale.powi(i32::try_from(self.derivative).unwrap_or(i32::MAX));
        let own = |k: usize| {
            let factor: f64 = (k + 1..=k + self.derivative).map(|j| j as f64).product();
            all[k + self.derivative] / unscaled * factor
        };
        if self.derivative == 0 { all } else { (0..count).map(own).collect() }
    }

    /// The divided difference at these points.
    pub(super) fn at(&self, points: &[f64]) -> f64 {
        let mut points = points.to_vec();
        points.sort_by(f64::total_cmp);
        self.sorted(&points, Keep::No).0
    }

    /// The value at a number.
    pub(super) fn value(&self, x: f64) -> f64 {
        self.series(x, 1.0, 1)[0].value()
    }

    /// At points in increasing order.
    fn sorted(&self, points: &[f64], keep: Keep) -> Bounded {
        let order = points.len() - 1;
        let (first, last) = (points[0], points[order]);
        if first == last {
            let scale = if order == 0 { 1.0 } else { scale_near(first) };
            let series = self.series(first, scale, order + 1);
            let value = series[order] / scale.powi(i32::try_from(order).unwrap_or(i32::MAX));
            return (value.value(), value.error());
        }
        let ((low, low_error), (high, high_error)) =
            (self.sorted(&points[..order], Keep::Yes), self.sorted(&points[1..], Keep::Yes));
        let spread = last - first;
        let quotient = (high - low) / spread;
        let error = (low_error + high_error) / spread + 2.0 * f64::EPSILON * quotient.abs();
        if error <= GOOD * f64::EPSILON * quotient.abs() {
            return (quotient, error);
        }
        let (sum, sum_error) = self.taylor(points, keep);
        let agree = (sum - quotient).abs() <= 8.0 * (error + sum_error);
        if agree && sum_error < error { (sum, sum_error) } else { (quotient, error) }
    }

    /// By a series at the last point or the first one, which is found once for all sets with this point, or by one at the middle
    /// of points in increasing order, where these do not reach: by as many terms as seem to be needed, and all if they are not enough.
    fn taylor(&self, points: &[f64], keep: Keep) -> Bounded {
        let order = points.len() - 1;
        for at in [points[order], points[0]] {
            let found = self.of_terms(points, (at, scale_near(at), Keep::Yes), TERMS);
            if found.is_enough() {
                return found.bounded();
            }
        }
        let spread = points[order] - points[0];
        let middle = points[0] + 0.5 * spread;
        let middle = (middle, scale_near(spread.max(middle.abs())), keep);
        let first = self.of_terms(points, middle, FIRST_TERMS);
        let needed = if first.is_enough() { FIRST_TERMS } else { first.needed() };
        let some = if needed > FIRST_TERMS { self.of_terms(points, middle, needed) } else { first };
        let all = if needed < TERMS && !some.is_enough() { self.of_terms(points, middle, TERMS) } else { some };
        all.bounded()
    }

    /// The first terms of the series at a number, in this scale.
    fn of_terms(&self, points: &[f64], (at, scale, keep): (f64, f64, Keep), count: usize) -> Terms {
        let order = points.len() - 1;
        let series = match keep {
            Keep::Yes => self.series(at, scale, order + count),
            Keep::No => self.found(at, scale, order + count).into(),
        };
        // Sums of all products of d of the distances: those of one distance more from those of one less.
        let mut products = [0.0; TERMS];
        products[0] = 1.0;
        for point in points.iter().filter(|point| **point != at) {
            for d in 1..count {
                products[d] = ((point - at) / scale).mul_add(products[d - 1], products[d]);
            }
        }
        let unscaled = scale.powi(i32::try_from(order).unwrap_or(i32::MAX));
        // The scale is a power of two.
        let term = |(product, c): (&f64, &Rounded)| [c.value(), c.error()].map(|c| product * c / unscaled);
        Terms::of(products[..count].iter().zip(&series[order..]).map(term))
    }
}

/// Some terms of a series.
#[derive(Default)]
struct Terms {
    sum: f64,
    /// Of their magnitudes.
    size: f64,
    /// Of the bounds of their errors.
    error: f64,
    /// Of the last three: of a symmetric set of points every second one is zero.
    rest: f64,
    /// Of the second and third, and of the two behind.
    early: [f64; 2],
}

impl Terms {
    /// Of terms and the bounds of their errors.
    fn of(terms: impl ExactSizeIterator<Item = [f64; 2]>) -> Self {
        let last = terms.len() - 3;
        let mut all = Terms::default();
        for (d, [term, error]) in terms.enumerate() {
            let size = term.abs();
            all.sum += term;
            all.size += size;
            all.error += error.abs();
            all.rest += if d >= last { size } else { 0.0 };
            all.early[0] += if d == 1 || d == 2 { size } else { 0.0 };
            all.early[1] += if d == 3 || d == 4 { size } else { 0.0 };
        }
        all
    }

    /// The sum and a bound of its error.
    fn bounded(&self) -> Bounded {
        (self.sum, 4.0 * self.rest + self.error + 4.0 * f64::EPSILON * self.size)
    }

    /// Whether those left out add less than a rounding.
    fn is_enough(&self) -> bool {
        4.0 * self.rest < f64::EPSILON * self.size
    }

    /// How many are needed if they fall as the first ones do.
    fn needed(&self) -> usize {
        let bits_of_two = (self.early[0] / self.early[1]).log2();
        let count = 2.0 * 56.0 / bits_of_two + 4.0;
        if bits_of_two > 0.0 && count < TERMS as f64 { (count as usize).max(FIRST_TERMS + 3) } else { TERMS }
    }
}

#[cfg(test)]
mod tests;
