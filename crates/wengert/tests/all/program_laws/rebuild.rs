//! Programs made of others: with other results, with everything that they compute as results.

use wengert::primitives::Op;
use wengert::{Builder, Program, Type, Value};

/// The values of a Program in order of definition.
pub(crate) fn values(program: &Program) -> Vec<Value> {
    program.inputs().chain(program.eqns().iter().flat_map(|eqn| eqn.outs())).collect()
}

/// Appends the equations of a Program and gives all its values; in the place of those that are replaced stands an operand.
fn append(b: &mut Builder, program: &Program, args: &[Value], replaced: fn(&Op) -> Option<usize>) -> Vec<Value> {
    let names = values(program);
    let place = |value: &Value| names.iter().position(|name| name == value).expect("defined");
    let mut own = args.to_vec();
    for eqn in program.eqns() {
        let args: Vec<Value> = eqn.args.iter().map(|arg| own[place(arg)]).collect();
        match replaced(&eqn.op) {
            Some(operand) => own.push(args[operand]),
            None => own.extend(b.emit(eqn.op.clone(), &args).expect("it fitted before")),
        }
    }
    own
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
    let own = append(&mut b, program, &args, |_| None);
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
    collect(&mut b, program, &args, &mut all);
    let real: Vec<Value> = all.into_iter().filter(|&value| b.ty(value).dtype.is_float()).collect();
    b.finish(&real)
}

fn collect(b: &mut Builder, program: &Program, args: &[Value], all: &mut Vec<Value>) {
    // Branches are computed that are not taken: there a condition need not hold.
    let own = append(b, program, args, |op| matches!(op, Op::Ensure(_)).then_some(0));
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
