//! Tests of what is private here.

use std::cell::Cell;

use super::super::{Options, Plan};
use crate::array::{DType, Type};
use crate::ops::{Binary, Unary};
use crate::primitives::{Broadcast, Concat, Einsum, Op, Permute, Reduce, Reducer, Slice};
use crate::program::{Builder, Program, Value};

thread_local! {
    pub(super) static DONE: Cell<usize> = const { Cell::new(0) };
}

/// A step of a program: from the value before and the input to the next value.
type Step = fn(&mut Builder, Value, Value) -> Value;

/// The gradient of the sum after this many steps.
fn gradient(shape: &[usize], steps: usize, step: Step) -> Program {
    let mut b = Builder::new();
    let x = b.input("x", Type::new(DType::F64, shape));
    let last = (0..steps).fold(x, |y, _| step(&mut b, y, x));
    let axes: Vec<usize> = (0..shape.len()).collect();
    let sum = b.op(Reduce { reducer: Reducer::Sum, axes }, &[last]);
    b.finish(&[sum]).vjp(&[true]).expect("it has a derivative").optimize()
}

fn labels(text: [&str; 3]) -> Op {
    let [lhs, rhs, out] = text.map(str::as_bytes);
    Einsum::from_labels(lhs, rhs, out).expect("it fits").into()
}

fn slice(b: &mut Builder, x: Value, from: usize, to: usize) -> Value {
    b.op(Slice::new(&[from], &[to], &[1]), &[x])
}

const STEPS: [(&str, &[usize], Step); 6] = [
    ("elementwise", &[8], |b, y, x| {
        let product = b.op(Binary::Mul, &[y, x]);
        b.op(Unary::Sin, &[product])
    }),
    ("products", &[4, 4], |b, y, x| b.op(labels(["ab", "bc", "ac"]), &[y, x])),
    ("shared sums", &[6, 6], |b, y, x| {
        // A number of every step that all later ones read.
        let row = b.op(Reduce { reducer: Reducer::Sum, axes: vec![1] }, &[y]);
        let wide = b.op(Broadcast::new(&[6, 6], &[0]), &[row]);
        let turned = b.op(Permute { order: vec![1, 0] }, &[x]);
        let product = b.op(labels(["ab", "bc", "ac"]), &[turned, wide]);
        b.op(Unary::Tanh, &[product])
    }),
    ("heat", &[72], |b, y, _| {
        let (left, middle, right) = (slice(b, y, 0, 70), slice(b, y, 1, 71), slice(b, y, 2, 72));
        let sides = b.op(Binary::Add, &[left, right]);
        let inner = b.op(Binary::Mul, &[sides, middle]);
        let ends = [slice(b, y, 0, 1), slice(b, y, 71, 72)];
        b.op(Concat { axis: 0 }, &[ends[0], inner, ends[1]])
    }),
    ("roll", &[72], |b, y, x| {
        let parts = [slice(b, y, 1, 72), slice(b, y, 0, 1)];
        let rolled = b.op(Concat { axis: 0 }, &parts);
        let product = b.op(Binary::Mul, &[rolled, x]);
        b.op(Binary::Sub, &[product, y])
    }),
    ("numbers", &[], |b, y, x| {
        let product = b.op(Binary::Mul, &[y, x]);
        b.op(Unary::Exp, &[product])
    }),
];

#[test]
fn planning_is_linear_in_the_number_of_steps() {
    for (name, shape, step) in STEPS {
        // Below a limit of memory more is computed again, and everything tried.
        let limited = name == "elementwise";
        for memory in [None, Some(1)].into_iter().take(1 + usize::from(limited)) {
            let per_equation = [1400, 2800].map(|steps| {
                let program = gradient(shape, steps, step);
                let before = super::counted();
                let plan = Plan::new(&program, &Options { threads: 1, memory });
                assert_eq!(plan.is_ok(), memory.is_none(), "{name}");
                (super::counted() - before) as f64 / program.eqns().len() as f64
            });
            let [few, most] = per_equation;
            assert!(few > 1.0, "{name}: something is counted");
            let apart = most.max(few) / most.min(few);
            assert!(apart < 1.3, "{name}, {memory:?}: {per_equation:?} operations per equation");
        }
    }
}
