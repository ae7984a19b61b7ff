//! The scalar operations of one lane: a list in which every operation occurs once.
//!
//! Rewrites are exact: the same bits for every operand, one NaN being as good as another. Signs are moved towards the
//! results, where an addition takes them in; the constant of a product is kept positive, so that `c x` and `-c x` are
//! one product.

use super::super::Map;

use crate::array::DType;
use crate::ops::{Binary, Compare, Unary};
use crate::primitives::{Literal, Logic};
use crate::program::Value;

/// A scalar operation by its number: operands have smaller ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Node(pub(super) u32);

impl Node {
    pub(super) fn index(self) -> usize {
        self.0 as usize
    }
}

/// What an operation does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Func {
    /// The same number in every lane.
    Number(Literal),
    /// An element of a stored value: the position in the first lane, and from lane to lane.
    Load(Value, usize, isize),
    /// A function of one operand.
    Unary(Unary),
    /// A function of two operands.
    Binary(Binary),
    /// A comparison of two operands.
    Compare(Compare),
    /// A logical function.
    Logic(Logic),
    /// `a ? b : c`
    Select,
    /// The operand as this type.
    Convert(DType),
}

/// An operation with its operands.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Scalar {
    pub(super) func: Func,
    /// The type of the operands; of a choice, that of the branches.
    pub(super) from: DType,
    /// The type of the result.
    pub(super) dtype: DType,
    /// The operands of the function, then repetitions of the first.
    pub(super) args: [Node; 3],
    pub(super) count: u8,
}

impl Scalar {
    pub(super) fn operands(&self) -> &[Node] {
        &self.args[..usize::from(self.count)]
    }
}

/// All operations.
#[derive(Debug, Default)]
pub(super) struct Graph {
    nodes: Vec<Scalar>,
    known: Map<Scalar, Node>,
}

impl Graph {
    pub(super) fn len(&self) -> usize {
        self.nodes.len()
    }

    pub(super) fn get(&self, node: Node) -> &Scalar {
        &self.nodes[node.index()]
    }

    fn make(&mut self, func: Func, from: DType, dtype: DType, operands: &[Node]) -> Node {
        let first = operands.first().copied().unwrap_or(Node(0));
        let arg = |k: usize| operands.get(k).copied().unwrap_or(first);
        let scalar = Scalar { func, from, dtype, args: [arg(0), arg(1), arg(2)], count: operands.len() as u8 };
        if let Some(&node) = self.known.get(&scalar) {
            return node;
        }
        let node = Node(self.nodes.len() as u32);
        self.nodes.push(scalar.clone());
        self.known.insert(scalar, node);
        node
    }

    pub(super) fn number(&mut self, literal: Literal) -> Node {
        self.make(Func::Number(literal), literal.dtype(), literal.dtype(), &[])
    }

    pub(super) fn load(&mut self, dtype: DType, value: Value, start: usize, stride: isize) -> Node {
        self.make(Func::Load(value, start, stride), dtype, dtype, &[])
    }

    fn dtype(&self, node: Node) -> DType {
        self.get(node).dtype
    }

    pub(super) fn unary(&mut self, op: Unary, x: Node) -> Node {
        let dtype = self.dtype(x);
        match op {
            Unary::Detach => x,
            Unary::Neg if dtype.is_float() => self.neg(x),
            Unary::Square if dtype.is_float() => self.mul(x, x),
            Unary::Abs if dtype.is_float() => {
                let x = self.negated(x).unwrap_or(x);
                self.make(Func::Unary(op), dtype, dtype, &[x])
            }
            _ => self.make(Func::Unary(op), dtype, dtype, &[x]),
        }
    }

    pub(super) fn binary(&mut self, op: Binary, x: Node, y: Node) -> Node {
        let dtype = self.dtype(x);
        match op {
            Binary::Add if dtype.is_float() => self.add(x, y),
            Binary::Sub if dtype.is_float() => self.sub(x, y),
            Binary::Mul if dtype.is_float() => self.mul(x, y),
            Binary::Div if dtype.is_float() => self.div(x, y),
            Binary::Add | Binary::Mul => self.make(Func::Binary(op), dtype, dtype, &[x.min(y), x.max(y)]),
            _ => self.make(Func::Binary(op), dtype, dtype, &[x, y]),
        }
    }

    pub(super) fn compare(&mut self, op: Compare, x: Node, y: Node) -> Node {
        let from = self.dtype(x);
        self.make(Func::Compare(op), from, DType::Bool, &[x, y])
    }

    pub(super) fn logic(&mut self, op: Logic, args: &[Node]) -> Node {
        self.make(Func::Logic(op), DType::Bool, DType::Bool, args)
    }

    /// `mask ? x : y`
    pub(super) fn select(&mut self, mask: Node, x: Node, y: Node) -> Node {
        match self.get(mask).func {
            Func::Number(Literal::Bool(mask)) => return if mask { x } else { y },
            _ if x == y => return x,
            _ => {}
        }
        let dtype = self.dtype(x);
        self.make(Func::Select, dtype, dtype, &[mask, x, y])
    }

    pub(super) fn convert(&mut self, to: DType, x: Node) -> Node {
        let from = self.dtype(x);
        if from == to { x } else { self.make(Func::Convert(to), from, to, &[x]) }
    }

    /// The number that a real operation is, if it is one.
    fn value(&self, node: Node) -> Option<f64> {
        match self.get(node).func {
            Func::Number(Literal::F64(x)) => Some(x),
            Func::Number(Literal::F32(x)) => Some(f64::from(x)),
            _ => None,
        }
    }

    fn is(&self, node: Node, number: f64) -> bool {
        self.value(node).is_some_and(|x| x.to_bits() == number.to_bits())
    }

    /// `f` of two constants, rounded once to their type: single precision is exact in double precision, and `+ - * /`
    /// round twice to the same number (Figueroa, *When is double rounding innocuous?*, 1995).
    fn folded(&mut self, x: Node, y: Node, f: impl Fn(f64, f64) -> f64) -> Option<Node> {
        let result = f(self.value(x)?, self.value(y)?);
        let literal = Literal::of(result, self.dtype(x));
        Some(self.number(literal))
    }

    fn negated(&self, node: Node) -> Option<Node> {
        let scalar = self.get(node);
        (scalar.func == Func::Unary(Unary::Neg)).then(|| scalar.args[0])
    }

    /// The operand with its sign taken off; whether there was one.
    fn unsigned(&mut self, node: Node) -> (Node, bool) {
        if let Some(inner) = self.negated(node) {
            return (inner, true);
        }
        match self.value(node) {
            Some(x) if x.is_sign_negative() && !x.is_nan() => {
                let literal = Literal::of(-x, self.dtype(node));
                (self.number(literal), true)
            }
            _ => (node, false),
        }
    }

    fn neg(&mut self, x: Node) -> Node {
        if let Some(inner) = self.negated(x) {
            return inner;
        }
        let dtype = self.dtype(x);
        match self.value(x) {
            Some(number) => self.number(Literal::of(-number, dtype)),
            None => self.make(Func::Unary(Unary::Neg), dtype, dtype, &[x]),
        }
    }

    /// Whether a result is never -0. A sum is -0 only if both operands are.
    fn never_minus_zero(&self, node: Node) -> bool {
        let scalar = self.get(node);
        match scalar.func {
            Func::Number(_) => !self.is(node, -0.0),
            Func::Unary(op) => matches!(op, Unary::Abs | Unary::Exp | Unary::Cosh | Unary::Sigmoid),
            Func::Binary(Binary::Mul) => scalar.args[0] == scalar.args[1],
            Func::Binary(Binary::Add) => scalar.args[..2].iter().any(|&arg| self.is_plus(arg)),
            _ => false,
        }
    }

    /// As [`never_minus_zero`](Self::never_minus_zero), looking at a sum's operands no further.
    fn is_plus(&self, node: Node) -> bool {
        let scalar = self.get(node);
        match scalar.func {
            Func::Binary(Binary::Add) => {
                scalar.args[..2].iter().any(|&arg| self.value(arg).is_some() && !self.is(arg, -0.0))
            }
            _ => self.never_minus_zero(node),
        }
    }

    fn add(&mut self, x: Node, y: Node) -> Node {
        if let Some(folded) = self.folded(x, y, |x, y| x + y) {
            return folded;
        }
        if let Some(y) = self.negated(y) {
            return self.sub(x, y);
        }
        if let Some(x) = self.negated(x) {
            return self.sub(y, x);
        }
        for (zero, other) in [(x, y), (y, x)] {
            if self.is(zero, -0.0) || (self.is(zero, 0.0) && self.never_minus_zero(other)) {
                return other;
            }
        }
        let dtype = self.dtype(x);
        self.make(Func::Binary(Binary::Add), dtype, dtype, &[x.min(y), x.max(y)])
    }

    fn sub(&mut self, x: Node, y: Node) -> Node {
        if let Some(folded) = self.folded(x, y, |x, y| x - y) {
            return folded;
        }
        if self.is(y, 0.0) {
            return x;
        }
        if let Some(y) = self.negated(y) {
            return self.add(x, y);
        }
        if self.is(x, -0.0) {
            return self.neg(y);
        }
        let dtype = self.dtype(x);
        self.make(Func::Binary(Binary::Sub), dtype, dtype, &[x, y])
    }

    fn mul(&mut self, x: Node, y: Node) -> Node {
        if let Some(folded) = self.folded(x, y, |x, y| x * y) {
            return folded;
        }
        let ((x, left), (y, right)) = (self.unsigned(x), self.unsigned(y));
        let product = if self.is(x, 1.0) {
            y
        } else if self.is(y, 1.0) {
            x
        } else {
            let dtype = self.dtype(x);
            self.make(Func::Binary(Binary::Mul), dtype, dtype, &[x.min(y), x.max(y)])
        };
        if left == right { product } else { self.neg(product) }
    }

    fn div(&mut self, x: Node, y: Node) -> Node {
        if let Some(folded) = self.folded(x, y, |x, y| x / y) {
            return folded;
        }
        let ((x, left), (y, right)) = (self.unsigned(x), self.unsigned(y));
        let dtype = self.dtype(x);
        let quotient = if self.is(y, 1.0) { x } else { self.make(Func::Binary(Binary::Div), dtype, dtype, &[x, y]) };
        if left == right { quotient } else { self.neg(quotient) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The value of an operation by its definition.
    fn eval(graph: &Graph, node: Node, x: &[f64]) -> f64 {
        let scalar = graph.get(node);
        let arg = |k: usize| eval(graph, scalar.args[k], x);
        match scalar.func {
            Func::Number(Literal::F64(number)) => number,
            Func::Load(value, ..) => x[value.index()],
            Func::Unary(op) => op.eval(arg(0)),
            Func::Binary(op) => op.eval(arg(0), arg(1)),
            other => unreachable!("{other:?}"),
        }
    }

    fn same(x: f64, y: f64) -> bool {
        x.to_bits() == y.to_bits() || (x.is_nan() && y.is_nan())
    }

    #[test]
    fn rewrites_keep_every_bit() {
        let special = [0.0, -0.0, 1.0, -1.0, 2.5, -3.0, 1e-310, f64::INFINITY, f64::NEG_INFINITY, f64::NAN];
        let mut state = 3u64;
        let mut next = |n: usize| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 33) as usize % n
        };
        for _ in 0..3000 {
            let mut graph = Graph::default();
            let x: Vec<f64> = (0..3).map(|_| special[next(special.len())]).collect();
            let mut list: Vec<(Node, f64)> =
                (0..3).map(|k| (graph.load(DType::F64, Value(k as u32), 0, 1), x[k])).collect();
            for number in special {
                list.push((graph.number(Literal::F64(number)), number));
            }
            for _ in 0..12 {
                let (a, b) = (list[next(list.len())], list[next(list.len())]);
                list.push(match next(7) {
                    0 => (graph.unary(Unary::Neg, a.0), -a.1),
                    1 => (graph.unary(Unary::Abs, a.0), a.1.abs()),
                    2 => (graph.unary(Unary::Square, a.0), a.1 * a.1),
                    3 => (graph.binary(Binary::Add, a.0, b.0), a.1 + b.1),
                    4 => (graph.binary(Binary::Sub, a.0, b.0), a.1 - b.1),
                    5 => (graph.binary(Binary::Mul, a.0, b.0), a.1 * b.1),
                    _ => (graph.binary(Binary::Div, a.0, b.0), a.1 / b.1),
                });
            }
            for &(node, want) in &list {
                let got = eval(&graph, node, &x);
                assert!(same(got, want), "{got} instead of {want} at {x:?}: {graph:?}");
            }
        }
    }

    #[test]
    fn equal_operations_are_one() {
        let mut graph = Graph::default();
        let [x, y] = [0, 1].map(|k| graph.load(DType::F64, Value(k), 0, 1));
        let minus = graph.unary(Unary::Neg, x);
        let (one, two) = (graph.binary(Binary::Mul, minus, y), graph.binary(Binary::Mul, y, x));
        assert_eq!(graph.unary(Unary::Neg, one), two, "the sign is outside");
        let (three, minus_three) = (graph.number(Literal::F64(3.0)), graph.number(Literal::F64(-3.0)));
        let (one, two) = (graph.binary(Binary::Mul, three, y), graph.binary(Binary::Mul, y, minus_three));
        assert_eq!(graph.binary(Binary::Add, x, two), graph.binary(Binary::Sub, x, one));
    }
}
