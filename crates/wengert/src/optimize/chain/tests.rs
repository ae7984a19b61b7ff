//! The table against every schedule there is, schedules against a referee, and the bits of what is emitted.

use std::collections::{BTreeMap, BinaryHeap};

use super::stages::Sizes;
use super::table::{Act, Table};
use super::*;
use crate::array::{Array, DType, Type};
use crate::ops::{Binary, Compare, Unary};
use crate::primitives::{Broadcast, Concat, Convert, Einsum, Iota, Op, Permute, Reduce, Reducer, Select, Slice};
use crate::program::{Builder, Value};

/// Small numbers that look random.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) as usize % end
    }

    fn list(&mut self, count: usize, from: usize, end: usize) -> Vec<usize> {
        (0..count).map(|_| from + self.below(end - from)).collect()
    }
}

/// A chain whose sizes are so small that a part of the table is a byte.
fn chain(seed: u64, count: usize) -> Sizes {
    let mut random = Random(seed);
    Sizes {
        kept: random.list(count, 1, 9),
        taken: random.list(count, 0, 5),
        after: random.list(count, 0, 6),
        work: random.list(count, 0, 7).into_iter().map(|work| work as f64).collect(),
    }
}

/// What a schedule holds: the stages whose residuals are kept, those whose operands are, and how many stages are not done.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct State {
    kept: u32,
    taken: u32,
    left: usize,
}

impl State {
    fn bytes(self, sizes: &Sizes) -> usize {
        let sum = |set: u32, of: &[usize]| {
            of.iter().enumerate().map(|(k, size)| (set >> k & 1) as usize * size).sum::<usize>()
        };
        sum(self.kept, &sizes.kept) + sum(self.taken, &sizes.taken)
    }

    /// Whether a stage can run now.
    fn is_at_hand(self, stage: usize) -> bool {
        stage == 0 || self.taken >> stage & 1 == 1 || self.kept >> (stage - 1) & 1 == 1
    }

    /// The state after a step, and its work; `None` if it cannot be done in this much memory.
    fn after(self, act: Act, sizes: &Sizes, memory: usize) -> Option<(State, f64)> {
        let run = |stages: std::ops::Range<usize>| sizes.work[stages].iter().sum::<f64>();
        let (next, work) = match act {
            Act::Keep(stage) => {
                let fits = stage < self.left && self.is_at_hand(stage);
                (fits.then_some(State { kept: self.kept | 1 << stage, ..self })?, run(stage..stage + 1))
            }
            Act::Pass { first, behind } => {
                let fits = first < behind && behind < self.left && self.is_at_hand(first);
                (fits.then_some(State { taken: self.taken | 1 << behind, ..self })?, run(first..behind))
            }
            Act::Late(stage) => {
                let fits = stage + 1 == self.left && self.kept >> stage & 1 == 1;
                if !fits || self.bytes(sizes) + sizes.after[stage] > memory {
                    return None;
                }
                let gone = !(1 << stage);
                (State { kept: self.kept & gone, taken: self.taken & gone, left: stage }, 0.0)
            }
        };
        (next.bytes(sizes) <= memory).then_some((next, work))
    }
}

/// The least work of all schedules in this much memory, which drop nothing before it is of no more use.
fn least_work(sizes: &Sizes, memory: usize) -> Option<f64> {
    let count = sizes.work.len();
    let mut acts: Vec<Act> = (0..count).flat_map(|stage| [Act::Keep(stage), Act::Late(stage)]).collect();
    acts.extend((0..count).flat_map(|first| (first + 1..count).map(move |behind| Act::Pass { first, behind })));
    let start = State { kept: 0, taken: 0, left: count };
    let mut known = BTreeMap::from([(start, 0)]);
    // Work is a whole number: the heap takes the least first.
    let mut open = BinaryHeap::from([std::cmp::Reverse((0u64, start))]);
    while let Some(std::cmp::Reverse((work, state))) = open.pop() {
        if state.left == 0 {
            return Some(work as f64);
        }
        if known[&state] < work {
            continue;
        }
        for &act in &acts {
            let Some((next, more)) = state.after(act, sizes, memory) else { continue };
            let work = work + more as u64;
            if known.get(&next).is_none_or(|&before| work < before) {
                known.insert(next, work);
                open.push(std::cmp::Reverse((work, next)));
            }
        }
    }
    None
}

#[test]
fn the_table_finds_the_least_work_of_all_schedules() {
    let mut compared = 0;
    for seed in 0..120 {
        let sizes = chain(seed, 2 + seed as usize % 4);
        let Some(table) = Table::of(&sizes) else { continue };
        let most = sizes.kept.iter().chain(&sizes.after).sum();
        for memory in 0..=most {
            let found = table.work_in(memory).is_finite().then(|| f64::from(table.work_in(memory)));
            assert_eq!(found, least_work(&sizes, memory), "seed {seed} in {memory}: {sizes:?}");
            compared += usize::from(found.is_some());
        }
    }
    assert!(compared > 1000, "{compared} chains");
}

#[test]
fn schedules_keep_within_their_memory_and_take_the_work_of_the_table() {
    let mut again = 0;
    for seed in 0..60 {
        let sizes = chain(seed, 2 + seed as usize % 23);
        let Some(table) = Table::of(&sizes) else { continue };
        for &memory in table.ways() {
            let mut state = State { kept: 0, taken: 0, left: sizes.work.len() };
            let mut work = 0.0;
            for act in table.schedule(memory) {
                let (next, more) = state
                    .after(act, &sizes, memory)
                    .unwrap_or_else(|| panic!("seed {seed} in {memory}: {act:?} of {state:?} cannot be: {sizes:?}"));
                (state, work) = (next, work + more);
            }
            assert_eq!(state, State { kept: 0, taken: 0, left: 0 }, "seed {seed} in {memory}");
            assert_eq!(work, f64::from(table.work_in(memory)), "seed {seed} in {memory}");
            again += usize::from(work > sizes.work.iter().sum::<f64>());
        }
    }
    assert!(again > 100, "{again} schedules run something again");
}

fn labels(text: [&str; 3]) -> Op {
    let [lhs, rhs, out] = text.map(str::as_bytes);
    Einsum::from_labels(lhs, rhs, out).expect("it fits").into()
}

/// A random step from y to the next y, of x, which all steps share.
fn step(b: &mut Builder, random: &mut Random, y: Value, x: Value) -> Value {
    match random.below(8) {
        0 => b.op(labels(["ab", "bc", "ac"]), &[y, x]),
        1 => {
            let product = b.op(Binary::Mul, &[y, x]);
            b.op(Unary::Tanh, &[product])
        }
        // The same buffer twice, in two orders.
        2 => {
            let turned = b.op(Permute { order: vec![1, 0] }, &[y]);
            let sum = b.op(Binary::Add, &[y, turned]);
            b.op(Unary::Sin, &[sum])
        }
        3 => {
            let top = b.op(Slice::new(&[0, 0], &[2, 4], &[1, 1]), &[y]);
            let bottom = b.op(Slice::new(&[2, 0], &[4, 4], &[1, 1]), &[y]);
            let product = b.op(Binary::Mul, &[bottom, top]);
            b.op(Concat { axis: 0 }, &[product, top])
        }
        4 => {
            let mask = b.op(Compare::Gt, &[y, x]);
            let other = b.op(Unary::Sin, &[y]);
            b.op(Select, &[mask, y, other])
        }
        5 => {
            let number = b.op(Convert(DType::I64), &[y]);
            let back = b.op(Convert(DType::F64), &[number]);
            let sum = b.op(Binary::Add, &[back, y]);
            b.op(Binary::Mul, &[sum, x])
        }
        // Two masks that depend on nothing.
        6 => {
            let index = b.op(Iota { length: 4 }, &[]);
            let [rows, columns] = [0, 1].map(|axis| b.op(Broadcast::new(&[4, 4], &[axis]), &[index]));
            let upper = b.op(Compare::Ge, &[columns, rows]);
            let lower = b.op(Compare::Gt, &[rows, columns]);
            let [upper, lower] = [upper, lower].map(|mask| b.op(Select, &[mask, y, x]));
            b.op(Binary::Mul, &[upper, lower])
        }
        _ => b.op(Binary::Add, &[y, y]),
    }
}

/// A Program of random steps, with results that are read on the way, truth values and integers among them.
fn program(random: &mut Random, steps: usize) -> Program {
    let mut b = Builder::new();
    let ty = Type::new(DType::F64, &[4, 4]);
    let (x, start) = (b.input("x", ty.clone()), b.input("y", ty));
    let mut ys = vec![start];
    for _ in 0..steps {
        let next = step(&mut b, random, ys[ys.len() - 1], x);
        // What is far from zero overflows in a product of many.
        let next = b.op(Unary::Sin, &[next]);
        ys.push(next);
    }
    let between = ys[1 + random.below(steps)];
    let mask = b.op(Compare::Lt, &[between, x]);
    let number = b.op(Convert(DType::I64), &[ys[1 + random.below(steps)]]);
    let sum = b.op(Reduce { reducer: Reducer::Sum, axes: vec![0, 1] }, &[ys[steps]]);
    b.finish(&[sum, between, mask, number, ys[steps]])
}

fn inputs(program: &Program) -> Vec<Array> {
    let mut random = Random(7);
    let mut numbers = |ty: &Type| (0..ty.size()).map(|_| random.below(1000) as f64 / 400.0 - 1.2).collect::<Vec<f64>>();
    program.input_types().iter().map(|ty| Array::new(&ty.shape, numbers(ty))).collect()
}

/// Whether something is computed again.
fn recomputes(program: &Program) -> bool {
    program.eqns().iter().any(|eqn| matches!(eqn.op, Op::Recompute(_)))
}

/// All ways of a Program give its bits; how many of them compute something again.
fn check_ways(what: &str, program: &Program) -> usize {
    let Some(chain) = Chain::of(program) else { return 0 };
    let args = inputs(program);
    let wanted = program.run_reference(&args).expect("it runs");
    let mut again = 0;
    for way in (0..chain.ways()).step_by((chain.ways() / 6).max(1)) {
        let emitted = chain.way(way);
        emitted.verify().unwrap_or_else(|why| panic!("{what}, way {way}: {why}\n{emitted}"));
        let got = emitted.run_reference(&args).expect("it runs");
        assert!(
            got.iter().zip(&wanted).all(|(got, wanted)| got.same_bits(wanted)),
            "{what}, way {way} of {}:\n{program}\n{emitted}",
            chain.ways()
        );
        again += usize::from(recomputes(&emitted));
    }
    again
}

#[test]
fn every_way_gives_the_bits_of_the_program() {
    let (mut first, mut second, mut twice) = (0, 0, 0);
    for seed in 0..40 {
        let mut random = Random(seed);
        let steps = 6 + random.below(12);
        let plain = program(&mut random, steps);
        let gradient = plain.vjp(&[true, true]).expect("it has a derivative").optimize();
        first += check_ways(&format!("seed {seed}"), &gradient);
        let active: Vec<bool> = gradient.input_types().iter().map(|ty| ty.dtype.is_float()).collect();
        let again = gradient.vjp(&active).expect("it has a derivative").optimize();
        second += check_ways(&format!("seed {seed}, twice differentiated"), &again);
        // Stages of what has stages already.
        if let Some(chain) = Chain::of(&gradient) {
            twice += check_ways(&format!("seed {seed}, cut twice"), &chain.way(0));
        }
    }
    assert!(first > 50 && second > 50 && twice > 20, "{first} {second} {twice} ways compute something again");
}

#[test]
fn what_is_at_hand_is_read_before_it_goes() {
    // The weights' gradient reads the operand of its layer: it belongs to that layer, not to the one before.
    let mut b = Builder::new();
    let ty = Type::new(DType::F64, &[8, 8]);
    let weights: Vec<Value> = (0..20).map(|_| b.input("w", ty.clone())).collect();
    let mut y = b.input("x", ty);
    for &w in &weights {
        let product = b.op(labels(["ab", "bc", "ac"]), &[y, w]);
        y = b.op(Unary::Tanh, &[product]);
    }
    let sum = b.op(Reduce { reducer: Reducer::Sum, axes: vec![0, 1] }, &[y]);
    let gradient = b.finish(&[sum]).vjp(&[&[true; 20][..], &[false]].concat()).expect("it has a derivative").optimize();
    let chain = Chain::of(&gradient).expect("it has stages");
    let bytes = 8 * 8 * 8;
    // Beside the gradients of the weights, which are results: the cotangent, and what it is made of.
    let after = &chain.stages.sizes.after;
    assert!(after.iter().all(|&most| most <= 3 * bytes), "{after:?}");
}
