//! The functions of arrays, in operations of numbers.
//!
//! Determinants, and what is made of them, are expanded by rows (P.-S. Laplace, 1772) with every minor computed once: without
//! divisions and branches, so that the derivatives are right at singular matrices too. The work doubles with each row.

use wengert::ops::{Binary, Compare, Unary};

use super::arrays::{Value, called, described};
use super::{Checked, Checker, ValueKind};
use crate::program::{Node, Op, Word};
use crate::syntax::ast::{ExpressionKind, NodeId, Prefix, Symbol};
use crate::syntax::diagnostic::Diagnostic;
use crate::syntax::functions::{ArrayFunction, Function, OfArrays, Reduction};
use crate::syntax::span::Span;

/// The most rows of a matrix whose determinant is expanded.
const MOST_ROWS: usize = 6;

/// A matrix by rows.
type Matrix = Vec<Vec<Node>>;

impl Checker<'_> {
    /// The function of arrays that a call means: of those that numbers have too, where the arguments are not theirs.
    pub(super) fn array_function(&self, name: Symbol, operands: &[Value]) -> Option<ArrayFunction> {
        let name = self.ast.name(name);
        let of_numbers = Function::named(name).filter(|function| function.arguments().len() == operands.len());
        // `max(x, 0)` compares element by element, whatever x is, and `max(x)` is the largest of an array.
        if of_numbers.is_some() { None } else { ArrayFunction::named(name) }
    }

    /// `x @ y`: of vectors and matrices.
    pub(super) fn product(&mut self, ids: [NodeId; 2], operands: &[Value], span: Span) -> Checked<Value> {
        for (id, operand) in ids.iter().zip(operands) {
            if !(1..=2).contains(&operand.shape().len()) {
                return Err(self.refused(*id, operand, "`@` takes vectors and matrices"));
            }
        }
        let (x, y) = (&operands[0], &operands[1]);
        let (rows, inner) = sides(x.shape(), true);
        let (other, columns) = sides(y.shape(), false);
        if inner != other {
            let help = "the last axis of the left and the first of the right must be equal";
            return Err(self.misfit("`@`", ids, [x, y], help));
        }
        self.room(2 * rows * columns * inner, span)?;
        let first = self.program.nodes.len();
        let (left, right) = (x.nodes(), y.nodes());
        let mut nodes = Vec::with_capacity(rows * columns);
        for row in 0..rows {
            for column in 0..columns {
                let pairs = (0..inner).map(|k| (left[row * inner + k], right[k * columns + column]));
                nodes.push(self.sum_of_products(pairs.collect(), span));
            }
        }
        let mut shape = x.shape()[..x.shape().len() - 1].to_vec();
        shape.extend(&y.shape()[1..]);
        let words = vec![x.word(), Word::Text(" @ ".to_owned()), y.word()];
        Ok(self.group(first, shape, nodes, span, "@", words))
    }

    /// A call of a function of arrays.
    pub(super) fn call_of_arrays(
        &mut self,
        function: ArrayFunction,
        name_span: Span,
        operands: &[Value],
        ids: &[NodeId],
        span: Span,
    ) -> Checked<Value> {
        let takes = function.arguments.len();
        let is_reduction = matches!(function.meaning, OfArrays::Reduction(_));
        if operands.len() != takes && !(is_reduction && operands.len() + 1 == takes) {
            let plural = if takes == 1 { "" } else { "s" };
            let message = format!("`{}` takes {takes} argument{plural}, got {}", function.name, operands.len());
            return Err(Box::new(Diagnostic::new(name_span, message).help(format!(
                "`{}`: {}",
                function.signature(),
                function.line
            ))));
        }
        let arrays = if is_reduction { 1 } else { takes };
        for (id, operand) in ids.iter().zip(operands).take(arrays) {
            if let Value::Many(array) = operand
                && array.kind == ValueKind::Condition
            {
                let place = self.ast.expression(*id).outer;
                return Err(Box::new(
                    Diagnostic::new(place, "expected numbers, found conditions")
                        .help("`select(condition, 1, 0)` makes numbers of conditions"),
                ));
            }
            if operand.one().is_some() {
                return Err(self.refused(*id, operand, &format!("`{}` takes an array", function.name)));
            }
        }
        match function.meaning {
            OfArrays::Reduction(reduction) => self.reduced(function, reduction, operands, ids, span),
            OfArrays::Transpose => Ok(Self::transposed(&operands[0], span)),
            OfArrays::Dot => {
                self.vectors(function, operands, ids)?;
                if operands[0].shape() != operands[1].shape() {
                    return Err(self.misfit(
                        &format!("`{}`", function.name),
                        [ids[0], ids[1]],
                        [&operands[0], &operands[1]],
                        "they must have equally many elements",
                    ));
                }
                let first = self.program.nodes.len();
                let pairs = operands[0].nodes().into_iter().zip(operands[1].nodes()).collect();
                let node = self.sum_of_products(pairs, span);
                Ok(self.group(first, Vec::new(), vec![node], span, function.name, called(function.name, operands)))
            }
            OfArrays::Outer => {
                self.vectors(function, operands, ids)?;
                let (x, y) = (operands[0].nodes(), operands[1].nodes());
                self.room(x.len() * y.len(), span)?;
                let first = self.program.nodes.len();
                let pairs = x.iter().flat_map(|x| y.iter().map(move |y| (*x, *y)));
                let nodes: Vec<Node> = pairs.map(|(x, y)| self.op(Op::Binary(Binary::Mul, x, y), span)).collect();
                Ok(self.group(
                    first,
                    vec![x.len(), y.len()],
                    nodes,
                    span,
                    function.name,
                    called(function.name, operands),
                ))
            }
            OfArrays::Trace | OfArrays::Det | OfArrays::Inv | OfArrays::Solve => {
                self.of_matrices(function, operands, ids, span)
            }
        }
    }

    /// What a matrix is made of, or of a matrix and a right-hand side.
    fn of_matrices(
        &mut self,
        function: ArrayFunction,
        operands: &[Value],
        ids: &[NodeId],
        span: Span,
    ) -> Checked<Value> {
        let [rows, columns] = *operands[0].shape() else {
            return Err(self.refused(ids[0], &operands[0], &format!("`{}` takes a matrix", function.name)));
        };
        let is_trace = function.meaning == OfArrays::Trace;
        if rows != columns || rows > MOST_ROWS && !is_trace {
            let why = if rows == columns {
                format!("`{}` takes a matrix of at most {MOST_ROWS} rows", function.name)
            } else {
                format!("`{}` takes a matrix with as many rows as columns", function.name)
            };
            return Err(self.refused(ids[0], &operands[0], &why));
        }
        let nodes = operands[0].nodes();
        let matrix: Matrix = nodes.chunks(rows).map(<[Node]>::to_vec).collect();
        let first = self.program.nodes.len();
        let (shape, nodes) = match function.meaning {
            OfArrays::Trace => {
                let diagonal: Vec<Node> = (0..rows).map(|k| matrix[k][k]).collect();
                (Vec::new(), vec![self.chain(Binary::Add, &diagonal, span)])
            }
            OfArrays::Det => {
                let det = self.determinant(&matrix, span);
                (Vec::new(), vec![self.fresh(det, span)])
            }
            OfArrays::Inv => (vec![rows, rows], self.inverse(&matrix, span)),
            _ => {
                let shape = operands[1].shape();
                if shape.len() > 2 || shape[0] != rows {
                    let help = "the right-hand side has as many rows as the matrix";
                    return Err(self.misfit(
                        &format!("`{}`", function.name),
                        [ids[0], ids[1]],
                        [&operands[0], &operands[1]],
                        help,
                    ));
                }
                (shape.to_vec(), self.solution(&matrix, &operands[1].nodes(), span))
            }
        };
        Ok(self.group(first, shape, nodes, span, function.name, called(function.name, operands)))
    }

    /// Reduces all elements, or those along an axis.
    fn reduced(
        &mut self,
        function: ArrayFunction,
        reduction: Reduction,
        operands: &[Value],
        ids: &[NodeId],
        span: Span,
    ) -> Checked<Value> {
        let shape = operands[0].shape().to_vec();
        let nodes = operands[0].nodes();
        self.room(8 * nodes.len(), span)?;
        let first = self.program.nodes.len();
        let Some(axis) = ids.get(1) else {
            let node = self.reduce(reduction, &nodes, span);
            return Ok(self.group(first, Vec::new(), vec![node], span, function.name, called(function.name, operands)));
        };
        let axis = self.axis(*axis, &operands[0])?;
        let first = self.program.nodes.len();
        let length = shape[axis];
        let inner: usize = shape[axis + 1..].iter().product();
        let outer: usize = shape[..axis].iter().product();
        let mut results = Vec::with_capacity(outer * inner);
        for start in (0..outer).flat_map(|o| (0..inner).map(move |i| o * length * inner + i)) {
            let along: Vec<Node> = (0..length).map(|k| nodes[start + k * inner]).collect();
            results.push(self.reduce(reduction, &along, span));
        }
        let mut left = shape;
        left.remove(axis);
        Ok(self.group(first, left, results, span, function.name, called(function.name, operands)))
    }

    fn reduce(&mut self, reduction: Reduction, nodes: &[Node], span: Span) -> Node {
        let absolute = |checker: &mut Self| -> Vec<Node> {
            nodes.iter().map(|node| checker.op(Op::Unary(Unary::Abs, *node), span)).collect()
        };
        match reduction {
            Reduction::Sum => self.chain(Binary::Add, nodes, span),
            Reduction::Mean => {
                let sum = self.chain(Binary::Add, nodes, span);
                #[expect(clippy::cast_precision_loss, reason = "there are at most some thousand elements")]
                let count = self.op(Op::Constant(nodes.len() as f64), span);
                self.op(Op::Binary(Binary::Div, sum, count), span)
            }
            Reduction::Prod => self.chain(Binary::Mul, nodes, span),
            Reduction::Max => self.extreme(Binary::Max, nodes, span),
            Reduction::Min => self.extreme(Binary::Min, nodes, span),
            Reduction::Norm => self.norm(nodes, span),
            Reduction::Norm1 => {
                let absolute = absolute(self);
                self.chain(Binary::Add, &absolute, span)
            }
            Reduction::NormInf => {
                let absolute = absolute(self);
                self.extreme(Binary::Max, &absolute, span)
            }
        }
    }

    /// `s sqrt(sum (x/s)^2)`, and 0 with derivative 0 where all are 0. The scale `s` is 1 unless squares would overflow or
    /// vanish; then it is a power of two, so that no digit is lost.
    fn norm(&mut self, nodes: &[Node], span: Span) -> Node {
        let numbers = [0.0, 1.0, 1e-140, 1e140, 2f64.powi(-830), 2f64.powi(830)];
        let [zero, one, least, most, tiny, huge] = numbers.map(|number| self.op(Op::Constant(number), span));
        let absolute: Vec<Node> = nodes.iter().map(|node| self.op(Op::Unary(Unary::Abs, *node), span)).collect();
        let largest = self.chain(Binary::Max, &absolute, span);
        let largest = self.op(Op::Unary(Unary::Detach, largest), span);
        let is_small = self.op(Op::Compare(Compare::Lt, largest, least), span);
        let is_large = self.op(Op::Compare(Compare::Gt, largest, most), span);
        let scale = self.op(Op::Select(is_small, tiny, one), span);
        let scale = self.op(Op::Select(is_large, huge, scale), span);
        let squares: Vec<Node> = nodes
            .iter()
            .map(|node| {
                let scaled = self.op(Op::Binary(Binary::Div, *node, scale), span);
                self.op(Op::Unary(Unary::Square, scaled), span)
            })
            .collect();
        let sum = self.chain(Binary::Add, &squares, span);
        let root = self.op(Op::Unary(Unary::Sqrt, sum), span);
        let norm = self.op(Op::Binary(Binary::Mul, root, scale), span);
        let is_zero = self.op(Op::Compare(Compare::Eq, largest, zero), span);
        self.op(Op::Select(is_zero, zero, norm), span)
    }

    /// The largest or smallest, with equal shares of the derivative for equal elements:
    /// `m + sum(x - m where x = m) / count(x = m)` for the number m, of which nothing is differentiated; `sum(x where x = m) /
    /// count(x = m)` for one that is infinite, which has no difference.
    fn extreme(&mut self, op: Binary, nodes: &[Node], span: Span) -> Node {
        let [zero, one, low, high] =
            [0.0, 1.0, f64::NEG_INFINITY, f64::INFINITY].map(|number| self.op(Op::Constant(number), span));
        let found = self.chain(op, nodes, span);
        let found = self.op(Op::Unary(Unary::Detach, found), span);
        let below = self.op(Op::Compare(Compare::Lt, found, high), span);
        let above = self.op(Op::Compare(Compare::Gt, found, low), span);
        let finite = self.op(Op::And(below, above), span);
        let (mut shares, mut counts) = (Vec::new(), Vec::new());
        for node in nodes {
            let is_it = self.op(Op::Compare(Compare::Eq, *node, found), span);
            let difference = self.op(Op::Binary(Binary::Sub, *node, found), span);
            let own = self.op(Op::Select(finite, difference, *node), span);
            shares.push(self.op(Op::Select(is_it, own, zero), span));
            counts.push(self.op(Op::Select(is_it, one, zero), span));
        }
        let (share, count) = (self.chain(Binary::Add, &shares, span), self.chain(Binary::Add, &counts, span));
        let share = self.op(Op::Binary(Binary::Div, share, count), span);
        let found = self.op(Op::Select(finite, found, zero), span);
        self.op(Op::Binary(Binary::Add, found, share), span)
    }

    /// The determinant by minors of the first rows: that of k rows and some columns from those of k - 1 rows.
    fn determinant(&mut self, matrix: &Matrix, span: Span) -> Node {
        let size = matrix.len();
        let mut minors: Vec<Option<Node>> = vec![None; 1 << size];
        for columns in 1_usize..1 << size {
            let row = columns.count_ones() as usize - 1;
            let mut sum: Option<Node> = None;
            for (position, column) in (0..size).filter(|column| columns >> column & 1 == 1).enumerate() {
                let entry = matrix[row][column];
                let term = match minors[columns & !(1 << column)] {
                    None => entry,
                    Some(minor) => self.op(Op::Binary(Binary::Mul, entry, minor), span),
                };
                let is_negative = (row + position) % 2 == 1;
                sum = Some(match (sum, is_negative) {
                    (None, false) => term,
                    (None, true) => self.op(Op::Unary(Unary::Neg, term), span),
                    (Some(sum), false) => self.op(Op::Binary(Binary::Add, sum, term), span),
                    (Some(sum), true) => self.op(Op::Binary(Binary::Sub, sum, term), span),
                });
            }
            minors[columns] = sum;
        }
        // A matrix has at least one row.
        minors.last().copied().flatten().unwrap_or(matrix[0][0])
    }

    /// The adjugate over the determinant.
    fn inverse(&mut self, matrix: &Matrix, span: Span) -> Vec<Node> {
        let size = matrix.len();
        let det = self.determinant(matrix, span);
        let mut nodes = Vec::with_capacity(size * size);
        for (column, row) in (0..size).flat_map(|column| (0..size).map(move |row| (column, row))) {
            let cofactor = if size == 1 {
                self.op(Op::Constant(1.0), span)
            } else {
                let kept = matrix.iter().enumerate().filter(|(k, _)| *k != row);
                let without = |line: &Vec<Node>| {
                    line.iter().enumerate().filter(|(k, _)| *k != column).map(|(_, node)| *node).collect()
                };
                let minor: Matrix = kept.map(|(_, line)| without(line)).collect();
                let minor = self.determinant(&minor, span);
                if (row + column) % 2 == 1 { self.op(Op::Unary(Unary::Neg, minor), span) } else { minor }
            };
            nodes.push(self.op(Op::Binary(Binary::Div, cofactor, det), span));
        }
        nodes
    }

    /// `x` with `matrix x = right` by the rule of G. Cramer (1750).
    fn solution(&mut self, matrix: &Matrix, right: &[Node], span: Span) -> Vec<Node> {
        let size = matrix.len();
        let columns = right.len() / size;
        let det = self.determinant(matrix, span);
        let mut nodes = Vec::with_capacity(right.len());
        for (unknown, column) in (0..size).flat_map(|unknown| (0..columns).map(move |column| (unknown, column))) {
            let mut replaced = matrix.clone();
            for (row, line) in replaced.iter_mut().enumerate() {
                line[unknown] = right[row * columns + column];
            }
            let numerator = self.determinant(&replaced, span);
            nodes.push(self.op(Op::Binary(Binary::Div, numerator, det), span));
        }
        nodes
    }

    /// `x0 y0 + x1 y1 + …`
    fn sum_of_products(&mut self, pairs: Vec<(Node, Node)>, span: Span) -> Node {
        let terms: Vec<Node> = pairs.into_iter().map(|(x, y)| self.op(Op::Binary(Binary::Mul, x, y), span)).collect();
        if terms.len() == 1 { terms[0] } else { self.chain(Binary::Add, &terms, span) }
    }

    /// One operation between all of them, from the left. Of a single one it is the number as a value of its own.
    fn chain(&mut self, op: Binary, nodes: &[Node], span: Span) -> Node {
        let (first, rest) = (nodes[0], &nodes[1..]);
        if rest.is_empty() {
            return self.fresh(first, span);
        }
        rest.iter().fold(first, |all, node| self.op(Op::Binary(op, all, *node), span))
    }

    /// The same number as a value of its own, with an adjoint of its own: plus -0, which changes no number.
    fn fresh(&mut self, node: Node, span: Span) -> Node {
        let zero = self.op(Op::Constant(-0.0), span);
        self.op(Op::Binary(Binary::Add, node, zero), span)
    }

    fn op(&mut self, op: Op, span: Span) -> Node {
        self.add(op, span).node
    }

    /// An axis, as it is written: a whole number, below zero from the end.
    fn axis(&self, id: NodeId, array: &Value) -> Checked<usize> {
        let (kind, sign) = match self.ast.expression(id).kind {
            ExpressionKind::Prefix(Prefix::Neg, inner) => (&self.ast.expression(inner).kind, -1.0),
            _ => (&self.ast.expression(id).kind, 1.0),
        };
        let rank = array.shape().len();
        if let ExpressionKind::Number(value) = kind {
            let axes = 0..rank;
            #[expect(clippy::cast_precision_loss, reason = "an array has a few axes")]
            let is_it = |axis: &usize| [*axis as f64, *axis as f64 - rank as f64].contains(&(sign * value));
            // -0 is the first axis too.
            if let Some(axis) = axes.into_iter().find(is_it) {
                return Ok(axis);
            }
        }
        let span = self.ast.expression(id).outer;
        Err(Box::new(Diagnostic::new(span, format!("this is no axis of {}", described(array))).help(format!(
            "an axis is a whole number, written out: 0 to {} or, from the last one, -1 to -{rank}",
            rank - 1
        ))))
    }

    /// Refuses operands that are not vectors.
    fn vectors(&self, function: ArrayFunction, operands: &[Value], ids: &[NodeId]) -> Checked<()> {
        match ids.iter().zip(operands).find(|(_, operand)| operand.shape().len() != 1) {
            Some((id, operand)) => Err(self.refused(*id, operand, &format!("`{}` takes vectors", function.name))),
            None => Ok(()),
        }
    }

    /// The message for an operand of the wrong kind.
    fn refused(&self, id: NodeId, operand: &Value, why: &str) -> Box<Diagnostic> {
        let found = described(operand);
        let message =
            Diagnostic::new(self.ast.expression(id).outer, format!("{why}, and this is {found}")).label(&found);
        Box::new(match operand {
            Value::One(_) => {
                message.help("arrays are written `[1, 2, 3]`; an input becomes one in `--at`, as in `x=[1,2,3]`")
            }
            Value::Many(_) => message,
        })
    }
}

/// A vector as a matrix of one row or one column, or a matrix: rows and columns.
fn sides(shape: &[usize], is_left: bool) -> (usize, usize) {
    match *shape {
        [rows, columns] => (rows, columns),
        [length] if is_left => (1, length),
        [length] => (length, 1),
        _ => (1, 1),
    }
}
