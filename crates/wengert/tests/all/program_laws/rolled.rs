//! Random steps, written one after the other, against the loop that is found in them: the same bits by the definitions, and
//! derivatives that agree.
//!
//! A step is a random Program of what it carries, from the step before or from two before, of what stays, of numbers that each
//! step has for itself, as literals and as inputs, and of rows of an array, from the first to the last or back. What comes out
//! is the last state, all of them next to each other, or one from the middle.

use wengert::ops::{Binary, Unary};
use wengert::primitives::{Broadcast, Concat, Convert, Literal, Op, Reduce, Reducer, Reshape, Slice};
use wengert::{Array, Builder, Compile, DType, Program, Type, Value};

use super::generate::{Generated, generate};
use super::laws::{directions, floats, joined, roundings};
use super::rebuild::inlined;
use crate::support::caught::Checked;
use crate::support::nightly::seeds;
use crate::support::{Random, compare, flat, same};

type Derive = fn(&Program, &[bool]) -> Result<Program, wengert::Error>;

/// Derivatives up to this are compared on the engine.
const TAME: f64 = 1e3;

/// A list of steps that is being written.
struct Steps {
    b: Builder,
    args: Vec<Array>,
}

impl Steps {
    fn op(&mut self, op: impl Into<Op>, args: &[Value]) -> Value {
        self.b.emit(op, args).expect("the operands fit")[0]
    }

    fn input(&mut self, array: &Array) -> Value {
        self.args.push(array.clone());
        self.b.input("", array.ty().clone())
    }

    /// A value that depends on all elements of another one, everywhere in an array of this type.
    fn like(&mut self, x: Value, ty: &Type) -> Value {
        let own = self.b.ty(x).clone();
        if own == *ty {
            return x;
        }
        let x = self.op(Convert(ty.dtype), &[x]);
        let axes: Vec<usize> = (0..own.rank()).collect();
        let sum = self.op(Reduce::new(Reducer::Sum, &axes), &[x]);
        let sum = self.op(Unary::Tanh, &[sum]);
        self.op(Broadcast::new(&ty.shape, &[]), &[sum])
    }
}

/// The rows of an array that steps take.
#[derive(Clone, Copy)]
enum Rows {
    None,
    Up,
    Down,
}

/// A random list of steps; `None` if there is nothing real to carry.
fn steps(seed: u64) -> Option<Generated> {
    let Generated { program: step, args } = generate(seed, 2 + seed as usize % 5);
    let mut random = Random::new(seed ^ 0x5eed);
    let count = 30 + random.below(10);
    let real = |ty: &Type| ty.dtype.is_float() && ty.size() > 0;
    let carried: Vec<usize> = (0..args.len()).filter(|&k| real(args[k].ty()) && (random.below(4) > 0)).collect();
    if carried.is_empty() || step.outputs().is_empty() {
        return None;
    }
    let mut list = Steps { b: Builder::new(), args: Vec::new() };
    let inputs: Vec<Value> = args.iter().map(|arg| list.input(arg)).collect();
    let [far, literal, own] = [3, 3, 3].map(|one_in| random.below(one_in) == 0);
    let rows = [Rows::None, Rows::Up, Rows::Down][random.below(3)];
    let axis = random.below(2);
    let numbers =
        |ty: &Type| Array::new(&ty.shape, (0..ty.size()).map(|k| (k as f64 * 0.37).cos()).collect::<Vec<f64>>());
    let own: Vec<Value> = match own {
        true => (0..count).map(|t| list.input(&Array::scalar((t as f64 * 1.7).sin()))).collect(),
        false => Vec::new(),
    };
    let table = list.input(&numbers(&Type::new(DType::F64, if axis == 0 { &[41, 2] } else { &[2, 41] })));
    let mut states: Vec<Vec<Value>> = vec![inputs.clone(), inputs.clone()];
    for t in 0..count {
        let before = states[states.len() - if far { 2 } else { 1 }].clone();
        let outs = inlined(&mut list.b, &step, &before);
        let mut next = states[states.len() - 1].clone();
        for &k in &carried {
            let ty = args[k].ty();
            let out = list.like(outs[(k + 1) % outs.len()], ty);
            // A state that no step of its own changes would be no part of the loop.
            let mut sum = if ty.dtype.is_float() && list.b.ty(out) == ty { out } else { before[k] };
            let mut more = Vec::new();
            if literal {
                more.push(list.op(Literal::F64(0.01 * t as f64), &[]));
            }
            more.extend(own.get(t).copied());
            if !matches!(rows, Rows::None) {
                let at = if matches!(rows, Rows::Up) { t + 1 } else { 40 - t };
                let (mut start, mut limit) = ([0, 0], [2, 2]);
                (start[axis], limit[axis]) = (at, at + 1);
                more.push(list.op(Slice::new(&start, &limit, &[1, 1]), &[table]));
            }
            for number in more {
                let number = list.like(number, ty);
                sum = list.op(Binary::Add, &[sum, number]);
            }
            let turned = list.op(Unary::Sin, &[sum]);
            next[k] = list.op(Binary::Add, &[turned, before[k]]);
            next[k] = list.op(Unary::Sin, &[next[k]]);
        }
        states.push(next);
    }
    let mut outputs: Vec<Value> = carried.iter().map(|&k| states[states.len() - 1][k]).collect();
    let first = carried[0];
    match random.below(4) {
        0 => {
            let shape = [&[1], args[first].shape()].concat();
            let layers: Vec<Value> = states[2..]
                .iter()
                .map(|state| list.b.emit(Reshape::new(&shape), &[state[first]]).expect("it fits")[0])
                .collect();
            outputs.push(list.op(Concat { axis: 0 }, &layers));
        }
        1 => outputs.push(states[2 + count / 2][first]),
        2 if args[first].ty().rank() > 0 => {
            let layers: Vec<Value> = states.iter().rev().map(|state| state[first]).collect();
            outputs.push(list.op(Concat { axis: args[first].ty().rank() - 1 }, &layers));
        }
        _ => {}
    }
    Some(Generated { program: list.b.finish(&outputs), args: list.args })
}

fn text(error: wengert::Error) -> String {
    error.to_string()
}

/// Whether a loop was found; an error if it does not do what the steps do.
fn check(case: &Generated, seed: u64) -> Result<bool, String> {
    let mut random = Random::new(seed);
    let rolled = case.program.rolled(8);
    rolled.verify()?;
    let found = rolled.eqns().len() < case.program.eqns().len() / 2;
    agrees(case, &rolled, &mut random).map_err(|why| format!("{why}\n{rolled}"))?;
    Ok(found)
}

fn agrees(case: &Generated, rolled: &Program, random: &mut Random) -> Checked {
    let straight = &case.program;
    let results = [straight, rolled].map(|program| program.run_reference(&case.args).map_err(text));
    let [wanted, got] = results;
    let (wanted, got) = (wanted?, got?);
    if let Some(k) = (0..wanted.len()).find(|&k| !same(&wanted[k], &got[k])) {
        return Err(format!("result {k} is {:?} instead of {:?}", got[k], wanted[k]));
    }
    let active = floats(straight.input_types());
    let cotangents = joined(&[&case.args, &directions(random, &straight.output_types())]);
    let tangents = joined(&[&case.args, &directions(random, straight.input_types())]);
    let forms: [(&str, Derive, &[Array]); 2] = [
        ("vjp", |program, active| program.vjp(active), &cotangents),
        ("jvp", |program, active| program.jvp(active), &tangents),
    ];
    for (what, derive, args) in forms {
        let [straight, rolled] = [straight, rolled].map(|program| derive(program, &active).map_err(text));
        let (straight, rolled) = (straight?, rolled?);
        let wanted = flat(&straight.run_reference(args).map_err(text)?);
        let tolerance = roundings(&straight, args)?;
        compare(what, &flat(&rolled.run_reference(args).map_err(text)?), &wanted, |_| tolerance)?;
        // On the engine beside the engine: it rounds in another way than the definitions, which a comparison may see, and
        // roundings grow from step to step as derivatives do.
        let largest = wanted.iter().fold(1.0f64, |most, x| most.max(x.abs()));
        if largest > TAME {
            continue;
        }
        let [wanted, got] = [&straight, &rolled].map(|program| {
            let plan = Compile::new().threads(1).program(program)?;
            Ok(flat(&plan.run(args)?))
        });
        let (wanted, got) = (wanted.map_err(text)?, got.map_err(text)?);
        compare(&format!("{what} on the engine"), &got, &wanted, |_| tolerance * largest)?;
    }
    Ok(())
}

#[test]
fn random_steps_are_the_loop_that_is_found_in_them() {
    let (mut found, mut all) = (0, 0);
    for seed in seeds(60, 2_000) {
        let Some(case) = steps(seed) else { continue };
        let is_loop = check(&case, seed).unwrap_or_else(|why| panic!("seed {seed}: {why}"));
        all += 1;
        found += usize::from(is_loop);
    }
    assert!(all >= 20 && found * 10 >= all * 9, "a loop in {found} of {all}");
}
