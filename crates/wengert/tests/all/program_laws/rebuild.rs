//! Programs made of others: with other results, with everything that they compute as results.

use std::sync::Arc;

use wengert::primitives::Op;
use wengert::{Builder, Program, Type, Value};

/// The values of a Program in order of definition.
pub(crate) fn values(program: &Program) -> Vec<Value> {
    program.inputs().chain(program.eqns().iter().flat_map(|eqn| eqn.outs())).collect()
}

/// Appends the equations of a Program, as `made` makes each, and gives all its values.
fn append(
    b: &mut Builder,
    program: &Program,
    args: &[Value],
    made: impl Fn(&mut Builder, &Op, &[Value]) -> Vec<Value>,
) -> Vec<Value> {
    let names = values(program);
    let place = |value: &Value| names.iter().position(|name| name == value).expect("defined");
    let mut own = args.to_vec();
    for eqn in program.eqns() {
        let args: Vec<Value> = eqn.args.iter().map(|arg| own[place(arg)]).collect();
        own.extend(made(b, &eqn.op, &args));
    }
    own
}

/// Appends a Program to another list on these operands; gives its results.
pub(crate) fn inlined(b: &mut Builder, program: &Program, args: &[Value]) -> Vec<Value> {
    let own = append(b, program, args, again);
    let names = values(program);
    let place = |value: &Value| names.iter().position(|name| name == value).expect("defined");
    program.outputs().iter().map(|output| own[place(output)]).collect()
}

/// The same operation.
fn again(b: &mut Builder, op: &Op, args: &[Value]) -> Vec<Value> {
    b.emit(op.clone(), args).expect("it fitted before")
}

/// The same Program without conditions that have to hold, and so the Programs inside.
fn unchecked(program: &Program) -> Program {
    let mut b = Builder::new();
    let args: Vec<Value> = program.input_types().iter().map(|ty| b.input("", ty.clone())).collect();
    let own = append(&mut b, program, &args, |b, op, args| match op {
        Op::Ensure(_) => vec![args[0]],
        op if op.programs().is_empty() => again(b, op, args),
        op => {
            let inside = op.programs().into_iter().map(|inner| Arc::new(unchecked(inner))).collect();
            again(b, &op.with_programs(inside), args)
        }
    });
    let names = values(program);
    let place = |value: &Value| names.iter().position(|name| name == value).expect("defined");
    b.finish(&program.outputs().iter().map(|output| own[place(output)]).collect::<Vec<Value>>())
}

/// The same equations with other results, and with inputs that are not used at a place among the
/// others.
pub(crate) fn with_outputs(program: &Program, outputs: &[Value], unused: &[Type], place: usize) -> Program {
    let mut b = Builder::new();
    let mut args = Vec::new();
    let types = program.input_types();
    args.extend(types[..place].iter().map(|ty| b.input("", ty.clone())));
    unused.iter().for_each(|ty| {
        b.input("", ty.clone());
    });
    args.extend(types[place..].iter().map(|ty| b.input("", ty.clone())));
    let own = append(&mut b, program, &args, again);
    let names = values(program);
    let outputs: Vec<Value> =
        outputs.iter().map(|output| own[names.iter().position(|name| name == output).expect("defined")]).collect();
    b.finish(&outputs)
}

/// A Program that computes the same and gives all real values on the way, those of the Programs
/// inside too: how large are the numbers that its roundings are relative to?
pub(crate) fn everything(program: &Program) -> Program {
    let mut b = Builder::new();
    let args: Vec<Value> = program.input_types().iter().map(|ty| b.input("", ty.clone())).collect();
    let mut all = Vec::new();
    // Branches are computed that are not taken: there a condition need not hold.
    collect(&mut b, &unchecked(program), &args, &mut all);
    let real: Vec<Value> = all.into_iter().filter(|&value| b.ty(value).dtype.is_float()).collect();
    b.finish(&real)
}

fn collect(b: &mut Builder, program: &Program, args: &[Value], all: &mut Vec<Value>) {
    let own = append(b, program, args, again);
    let names = values(program);
    let place = |value: &Value| names.iter().position(|name| name == value).expect("defined");
    for eqn in program.eqns() {
        let operands: Vec<Value> = eqn.args.iter().map(|arg| own[place(arg)]).collect();
        let inside = match &eqn.op {
            Op::Cond(_) => &operands[1..],
            _ => &operands[..],
        };
        for inner in eqn.op.programs() {
            // The rule of a custom operation has other operands.
            if inner.input_types().iter().eq(inside.iter().map(|&value| b.ty(value))) {
                let inside = inside.to_vec();
                collect(b, inner, &inside, all);
            }
        }
    }
    all.extend(own);
}
