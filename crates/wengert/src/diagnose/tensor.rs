//! Looking into derivatives of functions of tensors: read off their Programs, whose equations keep
//! the user's lines.

use std::borrow::Cow;
use std::collections::HashMap;
use std::panic::Location;

use super::status::statuses;
use super::{Diagnose, MemoryError, NonFinite, Pass, Status};
use crate::array::Array;
use crate::drive::record_loss;
use crate::error::{Line, OrRaise};
use crate::primitives::{Op, run_inside};
use crate::program::{Eqn, Program, Value, eval};
use crate::task::Task;
use crate::tensor::Tensor;
use crate::tensor::derived::{self, Transformation};
use crate::tensor::graph::{Closed, force};
use crate::tree::Tree;

impl Diagnose for Tensor {
    fn statuses<T: Tree<Leaf = Tensor>>(x: &T, f: impl FnOnce(T::Vars) -> Tensor) -> Vec<Status> {
        let (_, closed) = record_loss("status", x, f);
        statuses(&closed, Location::caller())
    }

    fn nonfinite<T: Tree<Leaf = Tensor>>(x: &T, f: impl FnOnce(T::Vars) -> Tensor) -> Option<NonFinite> {
        let line = Location::caller();
        let (point, closed) = record_loss("find_nonfinite", x, f);
        let operands = point.iter().chain(&closed.captures);
        let inputs: Vec<Array> = operands.map(|operand| force(operand, line).or_raise()).collect();
        nonfinite(&closed, &inputs, line)
    }

    fn within<T: Tree<Leaf = Tensor>>(
        bytes: usize,
        x: &T,
        f: impl Fn(T::Vars) -> Tensor,
    ) -> Result<(Tensor, T::Grad), MemoryError> {
        const NAME: &str = "value_and_grad";
        let at = Location::caller();
        let (point, closed) = record_loss(NAME, x, f);
        let what = Transformation::Within(Task::ValueAndGradient, bytes);
        let results = match derived::apply(NAME, what, &closed, &point, &[]) {
            Ok(results) => results,
            Err(error) => match error.enough_bytes() {
                Some(least) => return Err(MemoryError { limit: bytes, least, at }),
                None => error.raise(),
            },
        };
        let mut results = results.into_iter();
        let value = results.next().expect("the value comes first");
        Ok((value, x.grad(&mut || results.next().expect("one per leaf"))))
    }
}

// ---- NaN hunting --------------------------------------------------------------------------------

/// The first number of an array that is not finite, and its place.
fn first_bad(array: &Array) -> Option<(usize, f64)> {
    if array.is_finite() {
        return None;
    }
    array.to_f64().into_iter().enumerate().find(|(_, x)| !x.is_finite())
}

fn static_name(op: &Op) -> &'static str {
    match op.name() {
        Cow::Borrowed(name) => name,
        Cow::Owned(_) => "operation",
    }
}

/// The numbers of the operands that belong to an element of the result: of those that have its
/// shape, and of single numbers.
fn operands_at(eqn: &Eqn, values: &HashMap<Value, Array>, shape: &[usize], element: usize) -> Vec<f64> {
    let arrays = eqn.args.iter().map(|arg| &values[arg]);
    let fitting = arrays.filter(|array| array.shape() == shape || array.size() == 1);
    fitting.map(|array| array.to_f64()[if array.size() == 1 { 0 } else { element }]).collect()
}

fn nonfinite(closed: &Closed, inputs: &[Array], line: Line) -> Option<NonFinite> {
    let program = &closed.program;
    forward(program, inputs, &|leaf| leaf < closed.leaves, line).or_else(|| backward(closed, inputs, line))
}

/// The first operation on the way to a result that is not finite which was given finite numbers alone; of a loop, a branch or a
/// region the one inside. `asked` says which inputs may be at fault.
fn forward(program: &Program, inputs: &[Array], asked: &dyn Fn(usize) -> bool, line: Line) -> Option<NonFinite> {
    let mut values: HashMap<Value, Array> = program.inputs().zip(inputs.iter().cloned()).collect();
    for eqn in program.eqns() {
        step(eqn, &mut values);
    }
    let mut at = program.outputs().iter().copied().find(|output| first_bad(&values[output]).is_some())?;
    // From the value back.
    let makers: HashMap<Value, &Eqn> =
        program.eqns().iter().flat_map(|eqn| eqn.outs().map(move |out| (out, eqn))).collect();
    let depends = depends(program, asked);
    loop {
        let bad = first_bad(&values[&at])?;
        let Some(eqn) = makers.get(&at) else {
            return Some(found(Pass::Forward, "input", Vec::new(), bad, line));
        };
        // A constant that is infinite is meant.
        let is_suspect = |arg: &Value| depends[arg.index()] && first_bad(&values[arg]).is_some();
        let suspects = read_by(eqn, &values, bad.0).filter(is_suspect);
        // What is no number comes from what is none, if there is such an operand.
        let is_nan = |arg: &Value| values[arg].to_f64().iter().any(|x| x.is_nan());
        match suspects.min_by_key(|arg| (bad.1.is_nan() && !is_nan(arg), arg.index())) {
            Some(before) => at = before,
            None => {
                let line = eqn.line.unwrap_or(line);
                return within(eqn, &values, line).or_else(|| {
                    let operands = operands_at(eqn, &values, values[&at].shape(), bad.0);
                    Some(found(Pass::Forward, static_name(&eqn.op), operands, bad, line))
                });
            }
        }
    }
}

/// The same within the first run of a Program inside an operation that gives a number which is not finite.
fn within(eqn: &Eqn, values: &HashMap<Value, Array>, line: Line) -> Option<NonFinite> {
    let args: Vec<&Array> = eqn.args.iter().map(|arg| &values[arg]).collect();
    let mut first: Option<(Program, Vec<Array>)> = None;
    let ran = eqn.op.eval_by(&args, &mut |program, inputs| {
        let outs = run_inside(program, inputs)?;
        if first.is_none() && outs.iter().any(|out| !out.is_finite()) {
            first = Some((program.clone(), inputs.iter().map(|&input| input.clone()).collect()));
        }
        Ok(outs)
    });
    ran?.ok()?;
    let (program, inputs) = first?;
    forward(&program, &inputs, &|input| inputs[input].is_finite(), line)
}

/// Which values depend on one of these inputs.
fn depends(program: &Program, asked: &dyn Fn(usize) -> bool) -> Vec<bool> {
    let mut depends = vec![false; program.types.len()];
    program.inputs().enumerate().for_each(|(k, input)| depends[input.index()] = asked(k));
    for eqn in program.eqns() {
        let any = eqn.args.iter().any(|arg| depends[arg.index()]);
        eqn.outs().for_each(|out| depends[out.index()] = any);
    }
    depends
}

/// The operands that an element comes from: of a selection the one that it takes.
fn read_by(eqn: &Eqn, values: &HashMap<Value, Array>, element: usize) -> impl Iterator<Item = Value> {
    let taken = match eqn.op {
        Op::Select(_) if values[&eqn.args[0]].to_f64()[element] == 0.0 => &eqn.args[2..],
        Op::Select(_) => &eqn.args[1..2],
        _ => &eqn.args[..],
    };
    taken.iter().copied()
}

fn found(
    pass: Pass,
    operation: &'static str,
    operands: Vec<f64>,
    (element, result): (usize, f64),
    at: Line,
) -> NonFinite {
    NonFinite { pass, operation, operands, result, element: Some(element), at }
}

/// Evaluates an equation; gives the first number of its results that is not finite.
fn step(eqn: &Eqn, values: &mut HashMap<Value, Array>) -> Option<(usize, f64)> {
    let args: Vec<&Array> = eqn.args.iter().map(|arg| &values[arg]).collect();
    let results = eval(&eqn.op, &args, eqn.line).or_raise();
    let bad = results.iter().find_map(first_bad);
    values.extend(eqn.outs().zip(results));
    bad
}

/// The first cotangent that is not finite, if one reaches the gradient.
fn backward(closed: &Closed, inputs: &[Array], line: Line) -> Option<NonFinite> {
    let program = &closed.program;
    let active: Vec<bool> = (0..program.input_types().len()).map(|k| k < closed.leaves).collect();
    let pulled = crate::program::dce(program.vjp(&active).or_raise());
    let seed = program.input_types().len();
    let one = Array::full(&[], 1.0);
    let one = if pulled.input_types()[seed].dtype == one.dtype() { one } else { Array::full(&[], 1f32) };
    let mut values: HashMap<Value, Array> = pulled.inputs().zip(inputs.iter().cloned().chain([one])).collect();
    let mut cotangent = vec![false; pulled.types.len()];
    cotangent[seed] = true;
    let masked = masked(&pulled);
    let mut first: Option<NonFinite> = None;
    for eqn in pulled.eqns() {
        let bad = step(eqn, &mut values);
        if !eqn.args.iter().any(|arg| cotangent[arg.index()]) {
            continue;
        }
        eqn.outs().for_each(|out| cotangent[out.index()] = true);
        if let (Some(bad), None, false) = (bad, &first, masked[eqn.first.index()]) {
            let at = eqn.line.unwrap_or(line);
            let own = || {
                let shape = values[&eqn.first].shape().to_vec();
                found(Pass::Backward, static_name(&eqn.op), operands_at(eqn, &values, &shape, bad.0), bad, at)
            };
            let own = within(eqn, &values, at).unwrap_or_else(own);
            let operation = name_at(program, own.at).unwrap_or(own.operation);
            first = Some(NonFinite { pass: Pass::Backward, operation, ..own });
        }
    }
    let gradient = &pulled.outputs()[program.outputs().len()..];
    first.filter(|_| gradient.iter().any(|ct| !values[ct].is_finite()))
}

/// The values that are used by `select` alone: what it leaves out does no harm.
fn masked(program: &Program) -> Vec<bool> {
    let mut uses = vec![(0, 0); program.types.len()];
    for eqn in program.eqns() {
        for arg in &eqn.args {
            uses[arg.index()].0 += 1;
            uses[arg.index()].1 += usize::from(matches!(eqn.op, Op::Select(_)));
        }
    }
    program.outputs().iter().for_each(|output| uses[output.index()].0 += 1);
    uses.into_iter().map(|(all, selected)| all > 0 && all == selected).collect()
}

/// The operation of the user's call at this line, which an equation of the pullback comes from: an innermost one.
fn name_at(program: &Program, line: Line) -> Option<&'static str> {
    program.eqns().iter().rev().find_map(|eqn| {
        let inside = eqn.op.programs().into_iter().find_map(|program| name_at(program, line));
        inside.or_else(|| (eqn.line == Some(line)).then(|| static_name(&eqn.op)))
    })
}
