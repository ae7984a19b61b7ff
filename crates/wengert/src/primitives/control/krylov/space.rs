//! The vectors that unknowns are, and what is done with them for every lane.

use crate::array::{DType, Type};
use crate::ops::{Compare, Logic, Unary};
use crate::primitives::{Broadcast, Concat, DynamicSlice, DynamicUpdate, Einsum, Iota, Reduce, Reducer, Slice};
use crate::program::{Builder, Value};

/// The vectors that the unknowns are.
pub(super) struct Space {
    /// The lengths of the axes of lanes.
    pub(super) lanes: Vec<usize>,
    /// How many numbers a vector has.
    pub(super) length: usize,
    pub(super) dtype: DType,
    /// The unknowns.
    pub(super) types: Vec<Type>,
}

impl Space {
    /// A type with the axes of the lanes in front.
    pub(super) fn ty(&self, shape: &[usize]) -> Type {
        Type::new(self.dtype, &[&self.lanes[..], shape].concat())
    }

    /// The type of a number for each lane.
    pub(super) fn number(&self) -> Type {
        self.ty(&[])
    }

    pub(super) fn truth(&self) -> Type {
        self.number().with_dtype(DType::Bool)
    }

    pub(super) fn pack(&self, b: &mut Builder, leaves: &[Value]) -> Value {
        let flat: Vec<Value> = leaves
            .iter()
            .map(|&leaf| {
                let size: usize = b.shape(leaf)[self.lanes.len()..].iter().product();
                let leaf = b.reshape(leaf, &[&self.lanes[..], &[size]].concat());
                b.convert(leaf, self.dtype)
            })
            .collect();
        if let [one] = flat[..] { one } else { b.op(Concat { axis: self.lanes.len() }, &flat) }
    }

    pub(super) fn unpack(&self, b: &mut Builder, x: Value) -> Vec<Value> {
        let (axis, shape) = (self.lanes.len(), self.ty(&[self.length]).shape);
        let mut from = 0;
        let mut leaves = Vec::with_capacity(self.types.len());
        for ty in &self.types {
            let to = from + ty.shape[axis..].iter().product::<usize>();
            let part = if self.types.len() == 1 { x } else { b.op(Slice::along(&shape, axis, from, to), &[x]) };
            let part = b.reshape(part, &ty.shape);
            leaves.push(b.convert(part, ty.dtype));
            from = to;
        }
        leaves
    }

    /// What each lane has, for every number of a vector.
    pub(super) fn spread(&self, b: &mut Builder, number: Value) -> Value {
        self.spread_to(b, number, self.length)
    }

    pub(super) fn spread_to(&self, b: &mut Builder, number: Value, length: usize) -> Value {
        let shape = [&self.lanes[..], &[length]].concat();
        b.spread(number, &shape, &[self.lanes.len()])
    }

    pub(super) fn dot(&self, b: &mut Builder, x: Value, y: Value) -> Value {
        let products = b.mul(x, y);
        b.sum(products, &[self.lanes.len()])
    }

    pub(super) fn norm(&self, b: &mut Builder, x: Value) -> Value {
        let square = self.dot(b, x, x);
        b.op(Unary::Sqrt, &[square])
    }

    /// What the images of a map, which may be of any size, are divided by so that their squares neither overflow nor vanish: 1
    /// for all but the extremes.
    pub(super) fn scale(&self, b: &mut Builder, x: Value) -> Value {
        let ends = if self.dtype == DType::F32 { [1e-15, 1e15] } else { [1e-140, 1e140] };
        let sizes = b.op(Unary::Abs, &[x]);
        let largest = b.op(Reduce::new(Reducer::Max, &[self.lanes.len()]), &[sizes]);
        let number = self.number();
        let [zero, one, small, large] = [0.0, 1.0, ends[0], ends[1]].map(|end| b.full(end, &number));
        let (is_small, is_large) = (b.op(Compare::Lt, &[largest, small]), b.op(Compare::Gt, &[largest, large]));
        let (extreme, some) = (b.op(Logic::Or, &[is_small, is_large]), b.op(Compare::Gt, &[largest, zero]));
        let finite = is_finite(b, largest);
        let scaled = and(b, &[extreme, some, finite]);
        b.select(scaled, largest, one)
    }

    /// `x / scale`
    pub(super) fn over(&self, b: &mut Builder, x: Value, scale: Value) -> Value {
        let spread = self.spread(b, scale);
        b.div(x, spread)
    }

    /// `factor x`
    pub(super) fn times(&self, b: &mut Builder, factor: Value, x: Value) -> Value {
        let length = *b.shape(x).last().expect("a vector has an axis");
        let factor = self.spread_to(b, factor, length);
        b.mul(factor, x)
    }

    /// `x + factor y`
    pub(super) fn plus(&self, b: &mut Builder, x: Value, factor: Value, y: Value) -> Value {
        let part = self.times(b, factor, y);
        b.add(x, part)
    }

    /// `x + factor y` in the lanes that move.
    pub(super) fn moved(&self, b: &mut Builder, moves: Value, x: Value, factor: Value, y: Value) -> Value {
        let there = self.plus(b, x, factor, y);
        self.chosen(b, moves, there, x)
    }

    /// One of two vectors, for each lane.
    pub(super) fn chosen(&self, b: &mut Builder, yes_in: Value, yes: Value, no: Value) -> Value {
        let mask = self.spread(b, yes_in);
        b.select(mask, yes, no)
    }

    /// A contraction that the lanes share.
    pub(super) fn contract(&self, b: &mut Builder, spec: &str, x: Value, y: Value) -> Value {
        let lanes: String = ('a'..).take(self.lanes.len()).collect();
        let (operands, out) = spec.split_once("->").expect("a specification");
        let (left, right) = operands.split_once(',').expect("two operands");
        let spec = format!("{lanes}{left},{lanes}{right}->{lanes}{out}");
        b.op(Einsum::new(&spec).expect("the labels differ"), &[x, y])
    }

    /// Where a row begins in a list of them, or an entry in a vector.
    pub(super) fn start(&self, b: &mut Builder, step: Value, after: usize) -> Value {
        let zeros = |b: &mut Builder, count: usize| b.full(0.0, &Type::new(DType::I64, &[count]));
        let step = b.reshape(step, &[1]);
        let (front, back) = (zeros(b, self.lanes.len()), zeros(b, after));
        b.op(Concat { axis: 0 }, &[front, step, back])
    }

    pub(super) fn row(&self, b: &mut Builder, rows: Value, step: Value) -> Value {
        let length = *b.shape(rows).last().expect("rows have two axes");
        let start = self.start(b, step, 1);
        let row = b.op(DynamicSlice::new(&self.ty(&[1, length]).shape), &[rows, start]);
        b.reshape(row, &self.ty(&[length]).shape)
    }

    pub(super) fn with_row(&self, b: &mut Builder, rows: Value, step: Value, row: Value) -> Value {
        let length = *b.shape(rows).last().expect("rows have two axes");
        let row = b.reshape(row, &self.ty(&[1, length]).shape);
        let start = self.start(b, step, 1);
        b.op(DynamicUpdate, &[rows, row, start])
    }

    pub(super) fn entry(&self, b: &mut Builder, of: Value, step: Value) -> Value {
        let start = self.start(b, step, 0);
        let entry = b.op(DynamicSlice::new(&self.ty(&[1]).shape), &[of, start]);
        b.reshape(entry, &self.lanes)
    }

    /// An identity for each lane.
    pub(super) fn identity(&self, b: &mut Builder, length: usize) -> Value {
        let numbers = b.op(Iota { length }, &[]);
        let shape = self.ty(&[length, length]).shape;
        let rank = shape.len();
        let (rows, columns) = (
            b.op(Broadcast::new(&shape, &[rank - 2]), &[numbers]),
            b.op(Broadcast::new(&shape, &[rank - 1]), &[numbers]),
        );
        let same = b.op(Compare::Eq, &[rows, columns]);
        b.convert(same, self.dtype)
    }
}

pub(super) fn and(b: &mut Builder, all: &[Value]) -> Value {
    all[1..].iter().fold(all[0], |all, &next| b.op(Logic::And, &[all, next]))
}

pub(super) fn is_finite(b: &mut Builder, x: Value) -> Value {
    let ty = b.ty(x).clone();
    let (size, infinity) = (b.op(Unary::Abs, &[x]), b.full(f64::INFINITY, &ty));
    b.op(Compare::Lt, &[size, infinity])
}
