//! Equations to the scalar operations of one lane, or of the only point there is.

use wengert_kernels::product::DEPTH;
use wengert_kernels::region::{Kind, tree};

use super::super::Map;

use super::super::flatten::{Flat, spans};
use super::super::kernel::kind;
use super::super::product::is_symmetric;
use super::super::region::bits;
use super::{Lane, arg_axis};
use crate::array::{Strided, row_major};
use crate::ops::Binary;
use crate::primitives::{Concat, Convert, Einsum, Literal, Logic, Op, Pad, Reduce, Reducer, Update, Write};
use crate::program::Value;
use crate::straight::demand::demanded;
use crate::straight::list::{List, Node};

/// An element of a stored value in every lane: its position in the first, and from lane to lane.
pub(crate) type Load = (Value, usize, isize);

/// The lanes' operations, and those of them that are the elements of each value.
pub(crate) struct Scalars<'a> {
    flat: &'a Flat,
    /// The axis of the points of each value, none of those that are the same at all points; none at all if there is one point.
    lanes: Option<&'a [Option<Lane>]>,
    pub(crate) list: List,
    /// For each input of the list: the stored value, the position in the first lane, and from lane to lane.
    pub(crate) loads: Vec<Load>,
    /// The inputs by what they load.
    inputs: Map<Load, u32>,
    /// For each value that the part computes: its elements in one lane, row-major without the lanes' axis.
    pub(super) elements: Map<Value, Vec<Node>>,
}

/// A shape without one axis.
fn without<T: Copy>(list: &[T], axis: Option<usize>) -> Vec<T> {
    list.iter().enumerate().filter(|(k, _)| Some(*k) != axis).map(|(_, &x)| x).collect()
}

impl<'a> Scalars<'a> {
    pub(in crate::plan) fn new(flat: &'a Flat, lanes: Option<&'a [Option<Lane>]>) -> Self {
        let (list, loads, inputs, elements) = (List::default(), Vec::new(), Map::default(), Map::default());
        Scalars { flat, lanes, list, loads, inputs, elements }
    }

    /// Keeps what these values need of the list, and the elements of these values alone.
    pub(super) fn keep(&mut self, values: &[Value]) {
        let roots: Vec<Node> = values.iter().flat_map(|value| &self.elements[value]).copied().collect();
        let Some((list, places)) = demanded(&self.list, &roots) else { return };
        self.list = list;
        self.elements.retain(|value, _| values.contains(value));
        self.elements.values_mut().flatten().for_each(|node| *node = places[node.index()]);
    }

    /// The axis of the points, how many there are, and how many elements lie between two.
    fn points(&self, value: Value) -> (Option<usize>, usize, usize) {
        match self.lanes.and_then(|lanes| lanes[value.index()]) {
            Some(Lane { axis, count, inner }) => (Some(axis), count, inner),
            None => (None, 1, 1),
        }
    }

    /// Appends what an equation computes.
    pub(in crate::plan) fn eqn(&mut self, k: usize) {
        let eqn = &self.flat.program.eqns()[k];
        let (lane, ..) = self.points(eqn.first);
        let axis = |n: usize| lane.and_then(|axis| arg_axis(&eqn.op, n, axis));
        let axes: Vec<Option<usize>> = (0..eqn.args.len()).map(axis).collect();
        let args: Vec<Vec<Node>> = eqn.args.iter().zip(&axes).map(|(&arg, &axis)| self.operand(arg, axis)).collect();
        let shapes: Vec<Vec<usize>> =
            eqn.args.iter().zip(&axes).map(|(&arg, &axis)| without(&self.flat.program.ty(arg).shape, axis)).collect();
        let out = without(&self.flat.program.ty(eqn.first).shape, lane);
        let dtype = self.flat.program.ty(eqn.first).dtype;
        let result = match &eqn.op {
            // Of no elements: what joining begins with. There is no extreme of none.
            Op::Reduce(Reduce { reducer: Reducer::Prod | Reducer::All, .. }) if args[0].is_empty() => {
                vec![self.literal(Literal::of(1.0, dtype)); out.iter().product()]
            }
            Op::Reduce(_) | Op::Einsum(_) if args.iter().any(Vec::is_empty) => {
                vec![self.literal(Literal::of(0.0, dtype)); out.iter().product()]
            }
            Op::Reduce(op) => {
                let [_, _, after] = spans(op, self.flat.program.ty(eqn.args[0]));
                self.reduce(op, &args[0], &shapes[0], axes[0], after == 1)
            }
            Op::Concat(op) => joined(*op, &args, &shapes, lane),
            Op::Pad(op) => padded(op, &args, &shapes[0], &out, lane),
            Op::Update(op) => self.updated(op, &args, &shapes, lane),
            Op::Einsum(op) => {
                let labels = [without(op.lhs(), axes[0]), without(op.rhs(), axes[1]), without(op.out(), lane)];
                let sums = self.contract(op, &args, &shapes, labels);
                self.mirrored(op, [eqn.args[0], eqn.args[1]], sums, &out, lane)
            }
            op => (0..out.iter().product()).map(|i| self.elementwise(op, &args, i)).collect(),
        };
        self.elements.insert(eqn.first, result);
    }

    /// The elements of an operand in one lane.
    pub(in crate::plan) fn operand(&mut self, arg: Value, axis: Option<usize>) -> Vec<Node> {
        let flat = self.flat;
        let view = &flat.views[arg.index()];
        let shape = without(&view.shape, axis);
        if let Some(literal) = flat.literals[arg.index()] {
            return vec![self.literal(literal); shape.iter().product()];
        }
        let strides = without(&view.strides, axis);
        let positions = Strided::new(&shape, &strides, view.offset);
        if let Some(own) = self.elements.get(&view.base) {
            let (_, count, inner) = self.points(view.base);
            return positions.map(|at| own[at / (count * inner) * inner + at % inner]).collect();
        }
        let (dtype, stride) = (flat.program.ty(view.base).dtype, axis.map_or(0, |axis| view.strides[axis]));
        positions.map(|at| self.load(kind(dtype), (view.base, at, stride))).collect()
    }

    fn literal(&mut self, literal: Literal) -> Node {
        self.list.number(bits(literal), kind(literal.dtype()))
    }

    fn load(&mut self, kind: Kind, load: Load) -> Node {
        let loads = &mut self.loads;
        let number = *self.inputs.entry(load).or_insert_with(|| {
            loads.push(load);
            loads.len() as u32 - 1
        });
        self.list.input(number, kind)
    }

    fn elementwise(&mut self, op: &Op, args: &[Vec<Node>], i: usize) -> Node {
        let list = &mut self.list;
        match op {
            Op::Unary(op) => list.unary(*op, args[0][i]),
            Op::Binary(op) => list.binary(*op, args[0][i], args[1][i]),
            Op::Compare(op) => list.compare(*op, args[0][i], args[1][i]),
            Op::Logic(op) => list.logic(*op, &args.iter().map(|arg| arg[i]).collect::<Vec<Node>>()),
            Op::Select(_) => list.select(args[0][i], args[1][i], args[2][i]),
            Op::Convert(Convert(to)) => list.convert(kind(*to), args[0][i]),
            other => unreachable!("`{other:?}` is no part of a lane"),
        }
    }

    /// The elements joined in the order in which regions join them: `in_rows`, if elements of one result lie side by side, by a
    /// tree, else one after the other. A sum begins with 0.
    fn reduce(&mut self, op: &Reduce, x: &[Node], shape: &[usize], lane: Option<usize>, in_rows: bool) -> Vec<Node> {
        let axes: Vec<usize> =
            op.axes.iter().map(|&axis| axis - usize::from(lane.is_some_and(|lane| axis > lane))).collect();
        let kept: Vec<usize> = (0..shape.len()).filter(|axis| !axes.contains(axis)).collect();
        let result: Vec<usize> = kept.iter().map(|&axis| shape[axis]).collect();
        let mut strides = vec![0isize; shape.len()];
        for (&axis, stride) in kept.iter().zip(row_major(&result)) {
            strides[axis] = stride.cast_signed();
        }
        let mut terms: Vec<Vec<Node>> = vec![Vec::new(); result.iter().product()];
        for (&x, place) in x.iter().zip(Strided::new(shape, &strides, 0)) {
            terms[place].push(x);
        }
        terms.iter().map(|terms| self.joined(op.reducer, terms, in_rows)).collect()
    }

    /// At least one term joined, by a tree or one after the other.
    fn joined(&mut self, reducer: Reducer, terms: &[Node], by_tree: bool) -> Node {
        let zero = (reducer == Reducer::Sum).then(|| self.zero(terms[0]));
        if let Some(sum) = by_tree.then(|| tree(terms, |x, y| self.join(reducer, x, y))).flatten() {
            // After the sum instead of before it in every lane: only sums of nothing but -0 show it, and they show it here too.
            return zero.map_or(sum, |zero| self.join(reducer, zero, sum));
        }
        let first = zero.map_or(terms[0], |zero| self.join(reducer, zero, terms[0]));
        terms[1..].iter().fold(first, |sum, &x| self.join(reducer, sum, x))
    }

    /// 0 of the type of an operation.
    fn zero(&mut self, x: Node) -> Node {
        let kind = self.list.get(x).kind;
        self.list.real(0.0, kind)
    }

    fn join(&mut self, reducer: Reducer, x: Node, y: Node) -> Node {
        match reducer {
            Reducer::Sum => self.list.binary(Binary::Add, x, y),
            Reducer::Prod => self.list.binary(Binary::Mul, x, y),
            Reducer::Max => self.list.binary(Binary::Max, x, y),
            Reducer::Min => self.list.binary(Binary::Min, x, y),
            Reducer::All => self.list.logic(Logic::And, &[x, y]),
            Reducer::Any => self.list.logic(Logic::Or, &[x, y]),
        }
    }

    /// The first operand's elements with the second's in their places, or added to what is there.
    fn updated(&mut self, op: &Update, args: &[Vec<Node>], shapes: &[Vec<usize>], lane: Option<usize>) -> Vec<Node> {
        let (start, stride) = (without(&op.start, lane), without(&op.stride, lane));
        let steps = row_major(&shapes[0]);
        let offset = start.iter().zip(&steps).map(|(start, step)| start * step).sum();
        let strides: Vec<isize> =
            stride.iter().zip(&steps).map(|(stride, step)| (stride * step).cast_signed()).collect();
        let mut result = args[0].clone();
        for (place, &update) in Strided::new(&shapes[1], &strides, offset).zip(&args[1]) {
            result[place] = match op.write {
                Write::Set => update,
                Write::Add => self.list.binary(Binary::Add, result[place], update),
            };
        }
        result
    }

    /// `out = sum of lhs * rhs`, as products of matrices add it up: in the order of the first operand's summed labels, beginning
    /// with 0, [`DEPTH`] products at a time.
    fn contract(&mut self, op: &Einsum, args: &[Vec<Node>], shapes: &[Vec<usize>], labels: [Vec<u8>; 3]) -> Vec<Node> {
        let [lhs, rhs, out] = labels;
        let inner: Vec<u8> = lhs.iter().copied().filter(|label| !op.out().contains(label)).collect();
        let length = |label: &u8| {
            let find = |own: &[u8], shape: &[usize]| Some(shape[own.iter().position(|l| l == label)?]);
            find(&lhs, &shapes[0]).or_else(|| find(&rhs, &shapes[1])).expect("a label of an operand")
        };
        let order: Vec<u8> = out.iter().chain(&inner).copied().collect();
        let lengths: Vec<usize> = order.iter().map(length).collect();
        let strides = |own: &[u8], shape: &[usize]| -> Vec<isize> {
            let steps = row_major(shape);
            let step = |label: &u8| own.iter().position(|l| l == label).map_or(0, |k| steps[k].cast_signed());
            order.iter().map(step).collect()
        };
        let left = Strided::new(&lengths, &strides(&lhs, &shapes[0]), 0);
        let right = Strided::new(&lengths, &strides(&rhs, &shapes[1]), 0);
        let terms: usize = inner.iter().map(length).product();
        let factors: Vec<[Node; 2]> = left.zip(right).map(|(i, j)| [args[0][i], args[1][j]]).collect();
        factors.chunks(terms).map(|factors| self.dot(factors)).collect()
    }

    /// The sum of products of factors.
    fn dot(&mut self, factors: &[[Node; 2]]) -> Node {
        let zero = self.zero(factors[0][0]);
        let mut sum = None;
        for factors in factors.chunks(DEPTH) {
            let part = factors.iter().fold(zero, |part, &[x, y]| self.times_plus(x, y, part));
            sum = Some(sum.map_or(part, |sum| self.list.binary(Binary::Add, sum, part)));
        }
        sum.unwrap_or(zero)
    }

    /// `x * y + z`, rounded as in products of matrices.
    fn times_plus(&mut self, x: Node, y: Node, z: Node) -> Node {
        if self.list.get(x).kind.is_float() {
            return self.list.fused(x, y, z);
        }
        let product = self.list.binary(Binary::Mul, x, y);
        self.list.binary(Binary::Add, z, product)
    }

    /// The elements of a contraction, one half as the mirror image of the other if the result is symmetric: as products of matrices
    /// copy it, whose factors may be rounded.
    fn mirrored(
        &self,
        op: &Einsum,
        args: [Value; 2],
        sums: Vec<Node>,
        shape: &[usize],
        lane: Option<usize>,
    ) -> Vec<Node> {
        if !is_symmetric(self.flat, op, args) {
            return sums;
        }
        let out = without(op.out(), lane);
        let alone = |label: &u8| op.lhs().contains(label) != op.rhs().contains(label);
        let mut axes = (0..out.len()).filter(|&axis| alone(&out[axis]));
        // Where points are rows or columns, the other half is not at the same point.
        let (Some(row), Some(column)) = (axes.next(), axes.next()) else { return sums };
        let steps = row_major(shape);
        let mut result = Vec::with_capacity(sums.len());
        crate::array::for_each_index(shape, |index| {
            let place = |axis: usize| {
                if axis == row {
                    column
                } else if axis == column {
                    row
                } else {
                    axis
                }
            };
            let swaps = index[row] > index[column];
            let at = |axis: usize| index[if swaps { place(axis) } else { axis }] * steps[axis];
            result.push(sums[(0..index.len()).map(at).sum::<usize>()]);
        });
        result
    }
}

/// The operands one after the other along an axis.
fn joined(op: Concat, args: &[Vec<Node>], shapes: &[Vec<usize>], lane: Option<usize>) -> Vec<Node> {
    let axis = op.axis - usize::from(lane.is_some_and(|lane| op.axis > lane));
    let outer: usize = shapes[0][..axis].iter().product();
    let mut result = Vec::new();
    for row in 0..outer {
        for (arg, shape) in args.iter().zip(shapes) {
            let width: usize = shape[axis..].iter().product();
            result.extend(&arg[row * width..(row + 1) * width]);
        }
    }
    result
}

/// The elements with others around and between.
fn padded(op: &Pad, args: &[Vec<Node>], shape: &[usize], out: &[usize], lane: Option<usize>) -> Vec<Node> {
    let (low, interior) = (without(&op.low, lane), without(&op.interior, lane));
    let mut result = vec![args[1][0]; out.iter().product()];
    let strides = row_major(out);
    let mut source = args[0].iter();
    crate::array::for_each_index(shape, |index| {
        let element = *source.next().expect("an element per index");
        let place = index.iter().enumerate().try_fold(0, |place, (axis, &i)| {
            let at = usize::try_from(low[axis] + (i * (interior[axis] + 1)) as i64).ok()?;
            (at < out[axis]).then(|| place + at * strides[axis])
        });
        if let Some(place) = place {
            result[place] = element;
        }
    });
    result
}
