//! The list: scalar operations in an order, each once.
//!
//! Operations are merged and simplified while they are added (hash consing; Ershov, 1958). Rewrites are exact: the same bits
//! for every operand, one NaN being as good as another. Signs are moved towards the results, where an addition takes them
//! in; the constant of a product is kept positive, so that `c x` and `-c x` are one product.

use std::hash::{Hash, Hasher};

use wengert_kernels::region::Kind;

use crate::hash::FastHasher;
use crate::ops::{Binary, Compare, Logic, Unary};

/// A scalar operation by its number: operands have smaller ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Node(pub(crate) u32);

impl Node {
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

/// What an operation does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Func {
    /// The same number at every point, as bits.
    Number(u64),
    /// The input of this number.
    Input(u32),
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
    /// `a * b + c`, rounded as in products of matrices: of parts of Programs.
    #[cfg(feature = "engine")]
    Fused,
    /// The operand as this type.
    Convert(Kind),
}

/// An operation with its operands.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Scalar {
    pub(crate) func: Func,
    /// The type of the operands; of a choice, that of the branches.
    pub(crate) from: Kind,
    /// The type of the result.
    pub(crate) kind: Kind,
    /// The operands of the function, then repetitions of the first.
    pub(crate) args: [Node; 3],
    pub(crate) count: u8,
}

impl Scalar {
    pub(crate) fn operands(&self) -> &[Node] {
        &self.args[..usize::from(self.count)]
    }
}

/// All operations.
#[derive(Debug, Default)]
pub(crate) struct List {
    nodes: Vec<Scalar>,
    /// Operations by their hashes: an operation's number and one more, or 0; a power of two of places, half of them free.
    known: Vec<u32>,
}

/// A number of this type as bits: real numbers rounded to it.
fn bits_of(number: f64, kind: Kind) -> u64 {
    match kind {
        Kind::F32 => u64::from((number as f32).to_bits()),
        _ => number.to_bits(),
    }
}

impl List {
    pub(crate) fn len(&self) -> usize {
        self.nodes.len()
    }

    pub(crate) fn get(&self, node: Node) -> &Scalar {
        &self.nodes[node.index()]
    }

    fn make(&mut self, func: Func, from: Kind, kind: Kind, operands: &[Node]) -> Node {
        let first = operands.first().copied().unwrap_or(Node(0));
        let arg = |k: usize| operands.get(k).copied().unwrap_or(first);
        let scalar = Scalar { func, from, kind, args: [arg(0), arg(1), arg(2)], count: operands.len() as u8 };
        if 2 * self.nodes.len() >= self.known.len() {
            self.grow();
        }
        let place = self.place(&scalar);
        if let Some(known) = self.known[place].checked_sub(1) {
            return Node(known);
        }
        let node = Node(self.nodes.len() as u32);
        self.known[place] = node.0 + 1;
        self.nodes.push(scalar);
        node
    }

    /// Where an operation stands among the known ones, or would.
    fn place(&self, scalar: &Scalar) -> usize {
        let mut hasher = FastHasher::default();
        scalar.hash(&mut hasher);
        let mask = self.known.len() - 1;
        let mut place = hasher.finish() as usize & mask;
        while let Some(known) = self.known[place].checked_sub(1)
            && self.nodes[known as usize] != *scalar
        {
            place = (place + 1) & mask;
        }
        place
    }

    /// Doubles the places of the known operations.
    fn grow(&mut self) {
        self.known = vec![0; (2 * self.known.len()).max(64)];
        for k in 0..self.nodes.len() {
            let place = self.place(&self.nodes[k]);
            self.known[place] = k as u32 + 1;
        }
    }

    /// The number with these bits.
    pub(crate) fn number(&mut self, bits: u64, kind: Kind) -> Node {
        self.make(Func::Number(bits), kind, kind, &[])
    }

    /// The real number nearest to this one.
    pub(crate) fn real(&mut self, number: f64, kind: Kind) -> Node {
        self.number(bits_of(number, kind), kind)
    }

    pub(crate) fn input(&mut self, number: u32, kind: Kind) -> Node {
        self.make(Func::Input(number), kind, kind, &[])
    }

    /// A function of an operand, if it is there.
    pub(crate) fn find(&self, func: Func, kind: Kind, x: Node) -> Option<Node> {
        let scalar = Scalar { func, from: kind, kind, args: [x; 3], count: 1 };
        self.known[self.place(&scalar)].checked_sub(1).map(Node)
    }

    /// The condition that a number is, if it is one.
    pub(crate) fn condition(&self, node: Node) -> Option<Node> {
        let scalar = self.get(node);
        (matches!(scalar.func, Func::Convert(_)) && scalar.from == Kind::U8).then_some(scalar.args[0])
    }

    fn kind(&self, node: Node) -> Kind {
        self.get(node).kind
    }

    pub(crate) fn unary(&mut self, op: Unary, x: Node) -> Node {
        let kind = self.kind(x);
        match op {
            Unary::Detach => x,
            Unary::Neg if kind.is_float() => self.neg(x),
            Unary::Square if kind.is_float() => self.mul(x, x),
            Unary::Abs if kind.is_float() => {
                let x = self.negated(x).unwrap_or(x);
                self.make(Func::Unary(op), kind, kind, &[x])
            }
            _ => self.make(Func::Unary(op), kind, kind, &[x]),
        }
    }

    pub(crate) fn binary(&mut self, op: Binary, x: Node, y: Node) -> Node {
        let kind = self.kind(x);
        match op {
            Binary::Add if kind.is_float() => self.add(x, y),
            Binary::Sub if kind.is_float() => self.sub(x, y),
            Binary::Mul if kind.is_float() => self.mul(x, y),
            Binary::Div if kind.is_float() => self.div(x, y),
            Binary::Add | Binary::Mul => self.make(Func::Binary(op), kind, kind, &[x.min(y), x.max(y)]),
            _ => self.make(Func::Binary(op), kind, kind, &[x, y]),
        }
    }

    pub(crate) fn compare(&mut self, op: Compare, x: Node, y: Node) -> Node {
        let from = self.kind(x);
        self.make(Func::Compare(op), from, Kind::U8, &[x, y])
    }

    pub(crate) fn logic(&mut self, op: Logic, args: &[Node]) -> Node {
        self.make(Func::Logic(op), Kind::U8, Kind::U8, args)
    }

    /// `mask ? x : y`
    pub(crate) fn select(&mut self, mask: Node, x: Node, y: Node) -> Node {
        match self.get(mask).func {
            Func::Number(bits) => return if bits != 0 { x } else { y },
            _ if x == y => return x,
            _ => {}
        }
        let kind = self.kind(x);
        self.make(Func::Select, kind, kind, &[mask, x, y])
    }

    /// `x * y + z` of real numbers, rounded as in products of matrices.
    #[cfg(feature = "engine")]
    pub(crate) fn fused(&mut self, x: Node, y: Node, z: Node) -> Node {
        let kind = self.kind(x);
        self.make(Func::Fused, kind, kind, &[x.min(y), x.max(y), z])
    }

    pub(crate) fn convert(&mut self, to: Kind, x: Node) -> Node {
        let from = self.kind(x);
        if from == to { x } else { self.make(Func::Convert(to), from, to, &[x]) }
    }

    /// The number that a real operation is, if it is one.
    fn value(&self, node: Node) -> Option<f64> {
        let scalar = self.get(node);
        match (scalar.func, scalar.kind) {
            (Func::Number(bits), Kind::F64) => Some(f64::from_bits(bits)),
            (Func::Number(bits), Kind::F32) => Some(f64::from(f32::from_bits(bits as u32))),
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
        Some(self.real(result, self.kind(x)))
    }

    /// The operand of a change of sign.
    pub(super) fn negated(&self, node: Node) -> Option<Node> {
        let scalar = self.get(node);
        (scalar.func == Func::Unary(Unary::Neg)).then(|| scalar.args[0])
    }

    /// The operand with its sign taken off; whether there was one.
    fn unsigned(&mut self, node: Node) -> (Node, bool) {
        if let Some(inner) = self.negated(node) {
            return (inner, true);
        }
        match self.value(node) {
            Some(x) if x.is_sign_negative() && !x.is_nan() => (self.real(-x, self.kind(node)), true),
            _ => (node, false),
        }
    }

    fn neg(&mut self, x: Node) -> Node {
        if let Some(inner) = self.negated(x) {
            return inner;
        }
        let kind = self.kind(x);
        match self.value(x) {
            Some(number) => self.real(-number, kind),
            None => self.make(Func::Unary(Unary::Neg), kind, kind, &[x]),
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
        let kind = self.kind(x);
        self.make(Func::Binary(Binary::Add), kind, kind, &[x.min(y), x.max(y)])
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
        let kind = self.kind(x);
        self.make(Func::Binary(Binary::Sub), kind, kind, &[x, y])
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
            let kind = self.kind(x);
            self.make(Func::Binary(Binary::Mul), kind, kind, &[x.min(y), x.max(y)])
        };
        if left == right { product } else { self.neg(product) }
    }

    fn div(&mut self, x: Node, y: Node) -> Node {
        if let Some(folded) = self.folded(x, y, |x, y| x / y) {
            return folded;
        }
        let ((x, left), (y, right)) = (self.unsigned(x), self.unsigned(y));
        let kind = self.kind(x);
        let quotient = if self.is(y, 1.0) { x } else { self.make(Func::Binary(Binary::Div), kind, kind, &[x, y]) };
        if left == right { quotient } else { self.neg(quotient) }
    }
}

#[cfg(test)]
pub(super) mod tests;
