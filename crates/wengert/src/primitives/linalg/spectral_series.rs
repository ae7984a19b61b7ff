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
use crate::ops::{Binary, Compare, Logic, Unary};
use crate::primitives::{Literal, Op};
use crate::program::Program;
use crate::real::Real;
use crate::series::{self, SeriesGraph, SeriesNode};

/// How many terms of a Taylor series are added at most.
const TERMS: usize = 28;

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
    Number(SeriesNode, f64),
    Truth(bool),
    Integer(i64),
}

/// The first Taylor coefficients of a function at a number.
fn coefficients(program: &Program, x: f64, count: usize) -> Vec<f64> {
    let mut graph = SeriesGraph::<f64>::default();
    let mut items = vec![Item::Number(graph.given(&[x, 1.0]), x)];
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
    all.resize(count, 0.0);
    all
}

fn step(graph: &mut SeriesGraph<f64>, op: &Op, args: &[Item]) -> Item {
    let number = |k: usize| match args[k] {
        Item::Number(node, x) => (node, x),
        Item::Truth(_) | Item::Integer(_) => unreachable!("the operand is a real number"),
    };
    let truth = |k: usize| matches!(args[k], Item::Truth(true));
    match op {
        Op::Literal(Literal::F64(x)) => Item::Number(graph.constant(*x), *x),
        Op::Literal(Literal::F32(x)) => Item::Number(graph.constant(f64::from(*x)), f64::from(*x)),
        Op::Literal(Literal::Bool(x)) => Item::Truth(*x),
        Op::Literal(Literal::I64(x)) => Item::Integer(*x),
        Op::Unary(op) => unary(graph, *op, number(0)),
        Op::Binary(op) => binary(graph, *op, number(0), number(1)),
        Op::Compare(op) => Item::Truth(match (args[0], args[1]) {
            (Item::Number(_, x), Item::Number(_, y)) => compared(*op, x, y),
            (Item::Integer(x), Item::Integer(y)) => compared(*op, x as f64, y as f64),
            _ => compared(*op, f64::from(u8::from(truth(0))), f64::from(u8::from(truth(1)))),
        }),
        Op::Logic(op) => Item::Truth(match op {
            Logic::And => truth(0) & truth(1),
            Logic::Or => truth(0) | truth(1),
            Logic::Xor => truth(0) ^ truth(1),
            Logic::Not => !truth(0),
        }),
        Op::Select(_) => args[if truth(0) { 1 } else { 2 }],
        Op::Convert(_) => match args[0] {
            Item::Truth(x) => {
                let x = f64::from(u8::from(x));
                Item::Number(graph.constant(x), x)
            }
            item => item,
        },
        _ => args[0],
    }
}

fn unary(graph: &mut SeriesGraph<f64>, op: Unary, (node, x): (SeriesNode, f64)) -> Item {
    let y = x.unary(op);
    Item::Number(graph.insert(series::Op::Unary(op, node), y), y)
}

fn binary(graph: &mut SeriesGraph<f64>, op: Binary, (a, x): (SeriesNode, f64), (b, y): (SeriesNode, f64)) -> Item {
    let z = x.binary(y, op);
    Item::Number(graph.insert(series::Op::Binary(op, a, b), z), z)
}

fn compared(op: Compare, x: f64, y: f64) -> bool {
    op.eval(x, y)
}

/// A number and a bound of its error.
type Bounded = (f64, f64);

/// Taylor coefficients by the bits of the number and how many they are.
type Known = HashMap<(u64, usize), Rc<[f64]>>;

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
    known: RefCell<Known>,
}

impl<'a> Differences<'a> {
    pub(super) fn new(program: &'a Program, derivative: usize) -> Self {
        Differences { program, derivative, known: RefCell::default() }
    }

    /// The first Taylor coefficients of the derivative at a number.
    fn series(&self, x: f64, count: usize) -> Rc<[f64]> {
        let key = (x.to_bits(), count);
        if let Some(known) = self.known.borrow().get(&key) {
            return Rc::clone(known);
        }
        let own: Rc<[f64]> = self.found(x, count).into();
        self.known.borrow_mut().insert(key, Rc::clone(&own));
        own
    }

    fn found(&self, x: f64, count: usize) -> Vec<f64> {
        let all = coefficients(self.program, x, count + self.derivative);
        let own = (0..count).map(|k| {
            let factor: f64 = (k + 1..=k + self.derivative).map(|j| j as f64).product();
            factor * all[k + self.derivative]
        });
        own.collect()
    }

    /// The divided difference at these points.
    pub(super) fn at(&self, points: &[f64]) -> f64 {
        let mut points = points.to_vec();
        points.sort_by(f64::total_cmp);
        self.sorted(&points, Keep::No).0
    }

    /// The value at a number.
    pub(super) fn value(&self, x: f64) -> f64 {
        self.series(x, 1)[0]
    }

    /// At points in increasing order.
    fn sorted(&self, points: &[f64], keep: Keep) -> Bounded {
        let order = points.len() - 1;
        let (first, last) = (points[0], points[order]);
        if first == last {
            let value = self.series(first, order + 1)[order];
            return (value, 4.0 * f64::EPSILON * value.abs());
        }
        let ((low, low_error), (high, high_error)) =
            (self.sorted(&points[..order], Keep::Yes), self.sorted(&points[1..], Keep::Yes));
        let spread = last - first;
        let quotient = (high - low) / spread;
        let error = (low_error + high_error) / spread + 2.0 * f64::EPSILON * quotient.abs();
        if error <= 4.0 * f64::EPSILON * quotient.abs() {
            return (quotient, error);
        }
        let (sum, sum_error) = self.taylor(points, keep);
        let agree = (sum - quotient).abs() <= 8.0 * (error + sum_error);
        if agree && sum_error < error { (sum, sum_error) } else { (quotient, error) }
    }

    /// By the series at the middle of points in increasing order.
    fn taylor(&self, points: &[f64], keep: Keep) -> Bounded {
        let order = points.len() - 1;
        let middle = points[0] + 0.5 * (points[order] - points[0]);
        let series = match keep {
            Keep::Yes => self.series(middle, order + TERMS),
            Keep::No => self.found(middle, order + TERMS).into(),
        };
        // Sums of all products of d of the distances: those of one distance more from those of one less.
        let mut products = [0.0; TERMS];
        products[0] = 1.0;
        for point in points {
            for d in 1..TERMS {
                products[d] = (point - middle).mul_add(products[d - 1], products[d]);
            }
        }
        let terms: Vec<f64> = products.iter().zip(&series[order..]).map(|(product, c)| product * c).collect();
        let size: f64 = terms.iter().map(|term| term.abs()).sum();
        // Of a symmetric set of points every second term is zero.
        let rest: f64 = terms[TERMS - 3..].iter().map(|term| term.abs()).sum();
        (terms.iter().sum(), 4.0 * rest + 6.0 * f64::EPSILON * size)
    }
}

#[cfg(test)]
mod tests;
