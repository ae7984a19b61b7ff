//! Random loops: steps that are random Programs, of a carry, of what they capture, and of rows.

use std::sync::Arc;

use wengert::ops::{Binary, Compare, Unary};
use wengert::primitives::{Bounds, Broadcast, Convert, Literal, Logic, Reduce, Reducer, Scan, Unwind, While};
use wengert::{Array, Builder, DType, Program, Type};

use super::{Generator, Item};

/// The most steps of a loop.
const STEPS: usize = 4;

impl Generator {
    pub(super) fn looping(&mut self, family: &str) -> Option<Vec<Item>> {
        if self.depth == 2 {
            return None;
        }
        let mut some = |most: usize| -> Vec<Item> {
            let count = self.random.below(most + 1);
            (0..count).filter_map(|_| self.pick(|_| true)).collect()
        };
        let (invariants, carry) = (some(2), some(2));
        match family {
            "scan" => self.scan(invariants, carry),
            "while" => self.repeat(invariants, carry),
            _ => self.unwind(invariants, carry),
        }
    }

    fn scan(&mut self, invariants: Vec<Item>, carry: Vec<Item>) -> Option<Vec<Item>> {
        let first = self.pick(|ty| ty.shape.first().is_some_and(|&length| length <= STEPS));
        let length = first.as_ref().map_or(self.random.below(STEPS), |item| item.array.shape()[0]);
        let mut rows: Vec<Item> = first.into_iter().collect();
        if self.random.below(2) == 0 {
            rows.extend(self.pick(|ty| ty.shape.first() == Some(&length)));
        }
        let row = |item: &Item| {
            let ty = item.array.ty();
            super::numbers_like(&ty.with_shape(ty.shape[1..].to_vec()), &item.array)
        };
        let operands: Vec<&Item> = invariants.iter().chain(&carry).chain(&rows).collect();
        if operands.is_empty() {
            return None;
        }
        let starts = invariants.iter().chain(&carry).map(|item| item.array.clone());
        let inputs: Vec<Array> = starts.chain(rows.iter().map(row)).collect();
        let types: Vec<Type> = carry.iter().map(|item| item.array.ty().clone()).collect();
        let more = self.random.below(3);
        let body = self.body(&inputs, None, &types, more);
        let reverse = self.random.below(2) == 0;
        self.emit(Scan::new(body, length, carry.len(), rows.len()).reversed(reverse), &operands)
    }

    /// A loop that counts its steps, and may end earlier.
    fn repeat(&mut self, invariants: Vec<Item>, mut carry: Vec<Item>) -> Option<Vec<Item>> {
        let limit = self.random.below(STEPS);
        let counter = self.one(Literal::I64(0), &[])?;
        carry.insert(0, counter);
        let operands: Vec<&Item> = invariants.iter().chain(&carry).collect();
        let inputs: Vec<Array> = operands.iter().map(|item| item.array.clone()).collect();
        let types: Vec<Type> = carry.iter().map(|item| item.array.ty().clone()).collect();
        let body = self.body(&inputs, Some(invariants.len()), &types, 0);
        let condition = self.condition(&inputs, invariants.len(), limit as i64);
        let mut given: Vec<bool> = types.iter().map(|_| self.random.below(3) > 0).collect();
        let one = self.random.below(given.len());
        given[one] = true;
        let bounds = self.bounds();
        let op = While { condition: condition.into(), body: body.into(), given, bounds };
        self.emit(op, &operands)
    }

    fn bounds(&mut self) -> Bounds {
        let limit = (self.random.below(2) == 0).then_some(STEPS);
        let snapshots = (self.random.below(2) == 0).then(|| self.random.below(3));
        Bounds { limit, snapshots }
    }

    /// A loop that counts its steps forwards, and one backwards over it, which is linear in what it carries.
    fn unwind(&mut self, invariants: Vec<Item>, mut carry: Vec<Item>) -> Option<Vec<Item>> {
        let limit = self.random.below(STEPS);
        let counter = self.one(Literal::I64(0), &[])?;
        carry.insert(0, counter);
        let back: Vec<Item> = (0..1 + self.random.below(2)).filter_map(|_| self.pick_float()).collect();
        let operands: Vec<&Item> = invariants.iter().chain(&carry).chain(&back).collect();
        let inputs: Vec<Array> = invariants.iter().chain(&carry).map(|item| item.array.clone()).collect();
        let types: Vec<Type> = carry.iter().map(|item| item.array.ty().clone()).collect();
        let first = self.body(&inputs, Some(invariants.len()), &types, 0);
        let condition = self.condition(&inputs, invariants.len(), limit as i64);
        let backs: Vec<Array> = back.iter().map(|item| item.array.clone()).collect();
        let second = self.linear(&inputs, &backs);
        let mut given: Vec<bool> = (0..carry.len() + back.len()).map(|_| self.random.below(3) > 0).collect();
        given[carry.len()] = true;
        let [condition, first, second] = [condition, first, second].map(Arc::new);
        let bounds = self.bounds();
        self.emit(Unwind { condition, first, second, carry: carry.len(), given, bounds }, &operands)
    }

    /// A step that is linear in its last inputs: each is multiplied by what the others give, and a sum of another one is added.
    fn linear(&mut self, inputs: &[Array], back: &[Array]) -> Program {
        let mut inner = Generator::new(self.random.next(), self.depth + 1, self.single, self.scale.clone());
        inputs.iter().for_each(|input| inner.input(input));
        let item = |input: &Array| Item { value: inner.b.input("", input.ty().clone()), array: input.clone() };
        let back: Vec<Item> = back.iter().map(item).collect();
        for _ in 0..1 + self.random.below(3) {
            inner.step();
        }
        const FITS: &str = "it fits as its operands do";
        let mut outputs = Vec::new();
        for (k, item) in back.iter().enumerate() {
            let ty = item.array.ty();
            let factor = inner.pick(|own| own == ty).or_else(|| inner.pick(|_| true)).expect("the counter");
            let factor = inner.coerced(&factor, ty).expect(FITS);
            let factor = inner.one(Unary::Sin, &[&factor]).expect(FITS);
            let product = inner.one(Binary::Mul, &[item, &factor]).expect(FITS);
            let other = &back[(k + 1) % back.len()];
            let axes: Vec<usize> = (0..other.array.shape().len()).collect();
            let sum = inner.one(Reduce::new(Reducer::Sum, &axes), &[other]).expect(FITS);
            let sum = inner.one(Convert(ty.dtype), &[&sum]).expect(FITS);
            let sum = inner.one(Broadcast::new(&ty.shape, &[]), &[&sum]).expect(FITS);
            outputs.push(inner.one(Binary::Add, &[&product, &sum]).expect(FITS).value);
        }
        inner.b.finish(&outputs)
    }

    /// A step: it gives a carry of these types, kept small, and this many values more. The input at `counter` is one that counts.
    fn body(&mut self, inputs: &[Array], counter: Option<usize>, carry: &[Type], more: usize) -> Program {
        let mut inner = Generator::new(self.random.next(), self.depth + 1, self.single, self.scale.clone());
        inputs.iter().for_each(|input| inner.input(input));
        let count = counter.map(|place| inner.pool[place].clone());
        for _ in 0..1 + self.random.below(4) {
            inner.step();
        }
        let mut outputs = Vec::new();
        for (k, ty) in carry.iter().enumerate() {
            let output = match &count {
                Some(count) if k == 0 => {
                    let one = inner.one(Literal::I64(1), &[]).expect("a number");
                    inner.one(Binary::Add, &[count, &one])
                }
                _ => {
                    let item = inner.pick(|own| own == ty).or_else(|| inner.pick(|_| true)).expect("the carry");
                    let item = inner.coerced(&item, ty).expect("a sum everywhere fits");
                    if ty.dtype.is_float() { inner.one(Unary::Sin, &[&item]) } else { Some(item) }
                }
            };
            outputs.push(output.expect("it fits as the carry does").value);
        }
        for _ in 0..more {
            let most = self.scale.largest / STEPS;
            outputs.extend(inner.pick(|ty| ty.size() <= most && ty.rank() < 4).map(|item| item.value));
        }
        inner.b.finish(&outputs)
    }

    /// Fewer steps than a limit; and often, that a number of the carry is small.
    fn condition(&mut self, inputs: &[Array], counter: usize, limit: i64) -> Program {
        let mut b = Builder::new();
        let values: Vec<_> = inputs.iter().map(|input| b.input("", input.ty().clone())).collect();
        const FITS: &str = "the operands fit";
        let limit = b.emit(Literal::I64(limit), &[]).expect(FITS)[0];
        let mut holds = b.emit(Compare::Lt, &[values[counter], limit]).expect(FITS)[0];
        let real = (counter..inputs.len()).find(|&k| inputs[k].dtype() == DType::F64 && inputs[k].size() > 0);
        if let Some(k) = real.filter(|_| self.random.below(2) == 0) {
            let axes: Vec<usize> = (0..inputs[k].shape().len()).collect();
            let largest = b.emit(Reduce::new(Reducer::Max, &axes), &[values[k]]).expect(FITS)[0];
            let bound = b.emit(Literal::F64(0.7), &[]).expect(FITS)[0];
            let small = b.emit(Compare::Lt, &[largest, bound]).expect(FITS)[0];
            holds = b.emit(Logic::And, &[holds, small]).expect(FITS)[0];
        }
        b.finish(&[holds])
    }
}
