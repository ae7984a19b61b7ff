//! The engine against the reference executor, step by step and as a whole.
//!
//! A plan of the Program with every value as a result shows the engine's own operands of each equation: the operation's
//! definition at these operands has to give the engine's result, to the bit or within a bound that follows from the
//! operation. So no error is hidden by one that came before, and none is forgiven because another one came after. The
//! plain plan, which fuses more, is then compared with that one: to the bit unless something is added up in another order.

use std::borrow::Cow;

use wengert::ops::{Binary, Unary};
use wengert::plan::{Options, Plan};
use wengert::primitives::{FftScale, Form, Op, Reducer, Running, Write};
use wengert::{Array, Builder, DType, Program, Type, Value};

use super::caught::{Checked, caught};
use super::loops::by_hand;
use super::{array, coarsest, epsilon, same};

/// What the engine has to agree with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operands {
    /// Numbers at which nothing grows: whole Programs are compared too.
    Tame,
    /// NaN, infinities, extremes: what is added up in another order may overflow elsewhere.
    Special,
}

/// The engine agrees with the reference executor on the optimised Program.
pub(crate) fn check_engine(program: &Program, args: &[Array], threads: usize, operands: Operands) -> Checked {
    let program = program.optimize();
    let whole = planned(&program, threads)?;
    let all = planned(&all_values(&program), threads)?;
    let results = match (program.run_reference(args), run(&whole, args)?) {
        (Ok(_), Ok(results)) => results,
        (Err(_), Err(_)) => return Ok(()),
        (Ok(_), Err(why)) => return Err(format!("the engine refuses: {why}\n{program}")),
        (Err(why), Ok(_)) => return Err(format!("the engine does not refuse: {why}\n{program}")),
    };
    let values = run(&all, args)?.map_err(|why| format!("with every value as a result: {why}"))?;
    check_steps(&program, args, &values, threads, operands).map_err(|why| format!("{why}\n{program}"))?;
    check_whole(&program, args, &values, &results, operands).map_err(|why| format!("{why}\n{program}"))
}

fn planned(program: &Program, threads: usize) -> Result<Plan, String> {
    let options = Options { threads, ..Options::default() };
    let plan = caught("planning", || Plan::new(program, &options)).map_err(|why| format!("{why}\n{program}"))?;
    plan.map_err(|why| why.to_string())
}

/// The results, or a refusal; a panic is an error of ours.
fn run(plan: &Plan, args: &[Array]) -> Result<Result<Vec<Array>, wengert::Error>, String> {
    caught("running a plan", || plan.eval(args))
}

fn place(program: &Program, value: Value) -> usize {
    let mut all = program.inputs().chain(program.eqns().iter().flat_map(|eqn| eqn.outs()));
    all.position(|own| own == value).expect("every value is defined")
}

/// The same equations, each of their values a result.
fn all_values(program: &Program) -> Program {
    let mut b = Builder::new();
    let mut own: Vec<Value> = program.input_types().iter().map(|ty| b.input("", ty.clone())).collect();
    let inputs = own.len();
    for eqn in program.eqns() {
        let args: Vec<Value> = eqn.args.iter().map(|&arg| own[place(program, arg)]).collect();
        own.extend(b.emit(eqn.op.clone(), &args).expect("it fitted before"));
    }
    b.finish(&own[inputs..])
}

/// Every equation by its definition at the engine's operands.
fn check_steps(program: &Program, args: &[Array], values: &[Array], threads: usize, kind: Operands) -> Checked {
    let all: Vec<&Array> = args.iter().chain(values).collect();
    for eqn in program.eqns() {
        let operands: Vec<&Array> = eqn.args.iter().map(|&arg| all[place(program, arg)]).collect();
        let results: Vec<&Array> = eqn.outs().map(|out| all[place(program, out)]).collect();
        let at = |why: String| format!("`{}` {:?}: {why}", eqn.op.name(), eqn.op);
        if let Some((inner, operands)) = inside(&eqn.op, &operands) {
            let operands: Vec<Array> = operands.iter().map(|&operand| operand.clone()).collect();
            check_engine(&inner, &operands, threads, kind).map_err(at)?;
            continue;
        }
        let own: Vec<Array> = operands.iter().map(|&operand| operand.clone()).collect();
        if let Some(wanted) = by_hand(&eqn.op, &own, &mut |step, args| checked_step(step, args, threads, kind)) {
            let wanted = wanted.map_err(at)?;
            for (k, (got, wanted)) in results.iter().zip(&wanted).enumerate() {
                let allowed = allowed_of_loop(&eqn.op, &own, wanted);
                agree(got, wanted, allowed.as_deref(), kind)
                    .map_err(|why| at(format!("result {k}: {why}, of {own:?}")))?;
            }
            continue;
        }
        let wanted = eqn.op.eval(&operands).map_err(|why| at(why.0))?;
        for (k, (got, wanted)) in results.iter().zip(&wanted).enumerate() {
            let allowed = allowed(&eqn.op, &operands, wanted, k);
            agree(got, wanted, allowed.as_deref(), kind)
                .map_err(|why| at(format!("result {k}: {why}, of {operands:?}")))?;
        }
    }
    Ok(())
}

/// What the engine gives for a step of a loop, which agrees with the reference executor.
fn checked_step(step: &Program, args: &[Array], threads: usize, kind: Operands) -> Result<Vec<Array>, String> {
    check_engine(step, args, threads, kind)?;
    run(&planned(step, threads)?, args)?.map_err(|why| why.to_string())
}

/// How far each element of a loop may be off its steps by hand. A step over a few numbers calls the functions of one number,
/// whose last bits may differ from those of many; otherwise the bits have to be the same.
fn allowed_of_loop(op: &Op, operands: &[Array], wanted: &Array) -> Option<Vec<f64>> {
    let calls = |op: &Op, _| match op {
        Op::Unary(f) => f.roundings().is_none(),
        Op::Binary(f) => f.roundings().is_none(),
        // Added up in another order.
        Op::Reduce(_) | Op::Einsum(_) => true,
        _ => false,
    };
    let unit = epsilon(wanted.dtype());
    if unit == 0.0 || !op.programs().into_iter().any(|program| any(program, &calls)) {
        return None;
    }
    let numbers = operands.iter().chain([wanted]).flat_map(|array| array.to_f64());
    let largest = numbers.filter(|x| x.is_finite()).fold(1.0f64, |largest, x| largest.max(x.abs()));
    Some(vec![64.0 * unit * largest; wanted.size()])
}

/// The Program that an operation runs, and its operands.
fn inside<'a>(op: &'a Op, operands: &'a [&'a Array]) -> Option<(Cow<'a, Program>, &'a [&'a Array])> {
    if let Op::Cond(cond) = op {
        let index = operands[0].elements::<i64>().map(|index| index[0] as usize);
        let truth = || operands[0].elements::<bool>().map(|holds| usize::from(!holds[0]));
        return Some((Cow::Borrowed(&cond.branches[index.or_else(truth)?]), &operands[1..]));
    }
    let types: Vec<&Type> = operands.iter().map(|operand| operand.ty()).collect();
    (op.form(&types) == Form::Inlined).then(|| (op.expansion(), operands))
}

/// The plain plan against that with every value as a result.
fn check_whole(program: &Program, args: &[Array], values: &[Array], results: &[Array], kind: Operands) -> Checked {
    let all: Vec<&Array> = args.iter().chain(values).collect();
    let reordered = any(program, &is_sum);
    if reordered && (kind == Operands::Special || any(program, &jumps)) {
        return Ok(());
    }
    let finite = all.iter().flat_map(|array| array.to_f64()).filter(|x| x.is_finite());
    let largest = finite.fold(1.0f64, |largest, x| largest.max(x.abs()));
    let tolerance = 64.0 * coarsest(program) * deep_count(program) as f64 * largest;
    for (k, (&output, result)) in program.outputs().iter().zip(results).enumerate() {
        let wanted = all[place(program, output)];
        let allowed = (reordered && wanted.dtype().is_float()).then(|| vec![tolerance; wanted.size()]);
        agree(result, wanted, allowed.as_deref(), kind).map_err(|why| format!("fused result {k}: {why}"))?;
    }
    Ok(())
}

fn deep_count(program: &Program) -> usize {
    let inner = program.eqns().iter().flat_map(|eqn| eqn.op.programs()).map(|inner| deep_count(inner));
    program.eqns().len() + inner.sum::<usize>()
}

/// Whether an operation of the Program, or inside, has a property.
fn any(program: &Program, property: &impl Fn(&Op, Option<DType>) -> bool) -> bool {
    program.eqns().iter().any(|eqn| {
        let dtype = eqn.args.first().map(|&arg| program.ty(arg).dtype);
        property(&eqn.op, dtype) || eqn.op.programs().into_iter().any(|inner| any(inner, property))
    })
}

/// Whether an operation adds up or multiplies real numbers in an order that is not told.
fn is_sum(op: &Op, _: Option<DType>) -> bool {
    match op {
        Op::Reduce(reduce) => matches!(reduce.reducer, Reducer::Sum | Reducer::Prod),
        Op::Einsum(_) | Op::Conv(_) | Op::Recurrence(_) => true,
        Op::Cumulative(cumulative) => !matches!(cumulative.running, Running::Max | Running::Min),
        Op::Scatter(scatter) => scatter.write == Write::Add,
        Op::Fft(_) | Op::SparseProduct(_) | Op::SparseOuter(_) => true,
        _ => is_factored(op),
    }
}

/// Whether it is a factorisation or a linear system, which kernels compute in another way than definitions.
fn is_factored(op: &Op) -> bool {
    matches!(
        op,
        Op::Cholesky(_)
            | Op::CholeskyTangent(_)
            | Op::LuTangent(_)
            | Op::TriangularSolve(_)
            | Op::Lu(_)
            | Op::Qr(_)
            | Op::Eigh(_)
            | Op::Svd(_)
            | Op::Det(_)
            | Op::MatrixSolve(_)
            | Op::Cofactor(_)
            | Op::SparseSolve(_)
    )
}

/// Whether a small change of an operand may be a large one of the result.
fn jumps(op: &Op, dtype: Option<DType>) -> bool {
    match op {
        Op::Compare(_) | Op::ArgReduce(_) | Op::ArgSort(_) | Op::WindowArg(_) => true,
        Op::Convert(convert) => dtype.is_some_and(DType::is_float) && !convert.0.is_float(),
        Op::Unary(f) => matches!(f, Unary::Floor | Unary::Ceil | Unary::Round | Unary::Trunc | Unary::Sign),
        Op::Binary(f) => matches!(f, Binary::Rem | Binary::Copysign | Binary::Atan2),
        _ => false,
    }
}

/// How far each element may be off; `None` if the bits have to be the same.
fn allowed(op: &Op, operands: &[&Array], wanted: &Array, result: usize) -> Option<Vec<f64>> {
    let unit = epsilon(wanted.dtype());
    if unit == 0.0 {
        return None;
    }
    let tiny = if wanted.dtype() == DType::F32 { 1e-44 } else { 5e-323 };
    let terms: usize = operands.iter().map(|operand| operand.size()).sum::<usize>() + 4;
    let relative = |units: f64| Some(wanted.to_f64().iter().map(|x| units * unit * x.abs() + tiny).collect());
    match op {
        // Around its zero it is as accurate as 1/4, the logistic function there. The kernel's bound is 5 on its own.
        Op::Unary(Unary::GeluTanhSlope) => {
            let size = |x: f64| if (-2.0..-0.3).contains(&x) { 0.25f64 } else { 0.0 };
            let both = wanted.to_f64().into_iter().zip(operands[0].to_f64());
            Some(both.map(|(y, x)| 10.0 * unit * y.abs().max(size(x)) + tiny).collect())
        }
        Op::Unary(f) if f.roundings().is_none() => relative(8.0),
        // Where the result is small the arguments have cancelled: it is as accurate as the larger of them.
        Op::Binary(Binary::Logaddexp) => {
            let [x, y] = [0, 1].map(|k| operands[k].to_f64());
            let largest = wanted.to_f64().into_iter().zip(x.into_iter().zip(y));
            Some(largest.map(|(z, (x, y))| 8.0 * unit * z.abs().max(x.abs()).max(y.abs()) + tiny).collect())
        }
        Op::Binary(f) if f.roundings().is_none() => relative(8.0),
        // Which of 0 and -0 is the extreme one depends on the order.
        Op::Reduce(reduce) if matches!(reduce.reducer, Reducer::Max | Reducer::Min) => Some(vec![0.0; wanted.size()]),
        Op::Reduce(reduce) if reduce.reducer == Reducer::Prod => relative(terms as f64),
        Op::Cumulative(cumulative) if cumulative.running == Running::Prod => relative(terms as f64),
        Op::Cumulative(cumulative) if cumulative.running == Running::Logsumexp => {
            let largest =
                operands[0].to_f64().into_iter().filter(|x| x.is_finite()).fold(1.0f64, |m, x| m.max(x.abs()));
            Some(vec![4.0 * terms as f64 * unit * (largest + 40.0); wanted.size()])
        }
        // A step of the sum, and each of the logarithm's many of its fast form, is off by a unit of the sum of all sizes.
        Op::Fft(fft) => {
            let sizes: f64 = operands.iter().flat_map(|operand| operand.to_f64()).map(f64::abs).sum();
            let length: f64 = fft.lengths.iter().map(|&n| n as f64).product();
            let scale = match fft.scale {
                FftScale::One => 1.0,
                FftScale::Length => 1.0 / length,
                FftScale::Root => 1.0 / length.sqrt(),
            };
            Some(vec![8.0 * (length.log2() + 1.0) * unit * scale * sizes + tiny; wanted.size()])
        }
        _ if is_factored(op) => Some(allowed_of_factors(op, operands, (wanted, result), tiny)),
        _ if is_sum(op, None) => {
            // The same sums of absolute values are what rounding is relative to.
            let sizes: Vec<Array> = operands.iter().map(|operand| absolute(operand)).collect();
            let sizes = op.eval(&sizes.iter().collect::<Vec<&Array>>()).ok()?.remove(0);
            Some(sizes.to_f64().into_iter().map(|size| terms as f64 * unit * size + terms as f64 * tiny).collect())
        }
        _ => None,
    }
}

/// How far the results of a factorisation may be off.
///
/// Such an algorithm gives the exact results of operands that are a few units off for each row and column (N. J. Higham,
/// *Accuracy and Stability of Numerical Algorithms*, 2002, theorems 8.5, 9.3, 10.3, 19.4). What that means for the results is
/// measured: the definition is asked at operands that are moved a little, in double precision.
fn allowed_of_factors(op: &Op, operands: &[&Array], (wanted, result): (&Array, usize), tiny: f64) -> Vec<f64> {
    const STEP: f64 = 1e-7;
    let unit = epsilon(wanted.dtype());
    let sides: usize = operands.iter().flat_map(|operand| operand.shape()).sum();
    let doubles: Vec<Vec<f64>> = operands.iter().map(|operand| operand.to_f64()).collect();
    let results = |numbers: &[Vec<f64>]| {
        let arrays: Vec<Array> =
            operands.iter().zip(numbers).map(|(operand, x)| Array::new(operand.shape(), x.clone())).collect();
        op.eval(&arrays.iter().collect::<Vec<&Array>>()).ok().map(|mut results| results.swap_remove(result).to_f64())
    };
    let still = results(&doubles).unwrap_or_else(|| wanted.to_f64());
    let mut change = vec![0.0f64; wanted.size()];
    for direction in 0..8u64 {
        let mut state = direction + 1;
        let moved: Vec<Vec<f64>> = doubles
            .iter()
            .map(|x| {
                let largest = x.iter().filter(|x| x.is_finite()).fold(0.0f64, |largest, x| largest.max(x.abs()));
                let step = |x: &f64| {
                    state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                    x + STEP * largest * if state >> 63 == 0 { 1.0 } else { -1.0 }
                };
                x.iter().map(step).collect()
            })
            .collect();
        let Some(moved) = results(&moved) else { continue };
        for (change, (moved, still)) in change.iter_mut().zip(moved.iter().zip(&still)) {
            *change = change.max((moved - still).abs() / STEP);
        }
    }
    let largest = change.iter().filter(|x| x.is_finite()).fold(0.0f64, |largest, x| largest.max(*x));
    // Numbers so small that their last digit is not a unit of theirs are off by that digit.
    let size = |x: &Vec<f64>| x.iter().fold(0.0f64, |largest, x| largest.max(x.abs()));
    let smallest = doubles.iter().map(size).filter(|&size| size > 0.0).fold(1.0, f64::min);
    let unit = unit + tiny / smallest;
    wanted.to_f64().iter().map(|x| 4.0 * (sides + 2) as f64 * unit * (largest + x.abs()) + tiny).collect()
}

fn absolute(operand: &Array) -> Array {
    let numbers: Vec<f64> = operand.to_f64().into_iter().map(f64::abs).collect();
    if operand.dtype().is_float() { array(operand.ty(), &numbers) } else { operand.clone() }
}

/// Whether two arrays are the same, to the bit or within what is allowed.
fn agree(got: &Array, wanted: &Array, allowed: Option<&[f64]>, kind: Operands) -> Checked {
    if got.ty() != wanted.ty() {
        return Err(format!("{} instead of {}", got.ty(), wanted.ty()));
    }
    let Some(allowed) = allowed else {
        return if same(got, wanted) { Ok(()) } else { Err(format!("{got:?} instead of {wanted:?}")) };
    };
    for (k, ((got, wanted), &allowed)) in got.to_f64().into_iter().zip(wanted.to_f64()).zip(allowed).enumerate() {
        let alike = got == wanted || got.is_nan() && wanted.is_nan();
        // Where absolute values overflow, the order decides whether the sum does.
        let unknown = kind == Operands::Special && !allowed.is_finite();
        // A difference that is no number is beyond every bound.
        let near = (got - wanted).abs() <= allowed;
        if !alike && !unknown && !near {
            let off = (got - wanted).abs();
            return Err(format!("element {k} is {got:e} instead of {wanted:e}, off by {off:e} of {allowed:e} allowed"));
        }
    }
    Ok(())
}
