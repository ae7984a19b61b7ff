//! The laws, each for one random Program.

use wengert::primitives::Recompute;
use wengert::{Array, Builder, Program, Type, Value};

use super::generate::Generated;
use super::rebuild::everything;
use crate::support::caught::{Checked, caught};
use crate::support::engine::{Operands, check_engine};
use crate::support::slices::{another, check_slices};
use crate::support::{Random, array, coarsest, compare, flat, same};

type Law = fn(&Generated, &mut Random) -> Checked;

/// Every law by name.
pub(crate) const LAWS: [(&str, Law); 12] = [
    ("every form computes the same bits", same_bits),
    ("vmap is the stack over slices", batched),
    ("mixed second derivatives are equal", symmetric),
    ("rows of vjp are columns of jvp", transposed),
    ("vmap of vjp is vjp of vmap", commuting),
    ("a recomputed gradient is the plain one", recomputed),
    ("compositions of transformations transpose", composed),
    ("a batched program does not grow with the batch", structure),
    ("the program verifies", verified),
    ("the engine is the reference", on_the_engine),
    ("patterns have every entry", super::patterns::covered),
    ("patterns of Hessians have every entry", super::patterns::hessian_covered),
];

fn text(error: wengert::Error) -> String {
    error.to_string()
}

fn verified(case: &Generated, _: &mut Random) -> Checked {
    case.program.verify()
}

pub(crate) fn floats(types: &[Type]) -> Vec<bool> {
    types.iter().map(|ty| ty.dtype.is_float()).collect()
}

pub(crate) fn directions(random: &mut Random, types: &[Type]) -> Vec<Array> {
    types.iter().filter(|ty| ty.dtype.is_float()).map(|ty| random.directions(ty)).collect()
}

pub(crate) fn joined(parts: &[&[Array]]) -> Vec<Array> {
    parts.concat()
}

/// What the roundings of a run may add up to: the rounding unit times the number of operations
/// times the largest number on the way, 4 units for each function.
pub(crate) fn roundings(program: &Program, args: &[Array]) -> Result<f64, String> {
    let all = everything(program);
    let values = flat(&all.run_reference(args).map_err(text)?);
    let largest = values.into_iter().filter(|x| x.is_finite()).fold(1.0f64, |largest, x| largest.max(x.abs()));
    Ok(4.0 * coarsest(&all) * all.count() as f64 * largest)
}

fn same_bits(case: &Generated, random: &mut Random) -> Checked {
    let active = floats(case.program.input_types());
    let (program, args) = (&case.program, &case.args);
    let jvp = program.jvp(&active).map_err(text)?;
    let vjp = program.vjp(&active).map_err(text)?;
    let tangents = joined(&[args, &directions(random, program.input_types())]);
    let cotangents = joined(&[args, &directions(random, &program.output_types())]);
    for (what, program, args) in [("value", program, args), ("jvp", &jvp, &tangents), ("vjp", &vjp, &cotangents)] {
        let plain = program.run_reference(args).map_err(text)?;
        for (name, form) in crate::support::executors::forms(program).map_err(|why| format!("{what}: {why}"))? {
            let results = form.run_reference(args).map_err(text)?;
            if let Some(k) = (0..plain.len()).find(|&k| !same(&plain[k], &results[k])) {
                return Err(format!("{what} {name}: result {k} is {:?} instead of {:?}", results[k], plain[k]));
            }
        }
    }
    Ok(())
}

fn batched(case: &Generated, random: &mut Random) -> Checked {
    for length in [0, 1, 3] {
        let batched: Vec<bool> = case.args.iter().map(|_| random.below(3) > 0).collect();
        check_slices(&case.program, &case.args, &batched, length)
            .map_err(|why| format!("{length} slices of {batched:?}: {why}"))?;
    }
    Ok(())
}

/// `D^2 f [t, s] = D^2 f [s, t]`
fn symmetric(case: &Generated, random: &mut Random) -> Checked {
    let active = floats(case.program.input_types());
    let (t, s) = (directions(random, case.program.input_types()), directions(random, case.program.input_types()));
    let first = case.program.jvp(&active).map_err(text)?;
    let held: Vec<bool> = active.iter().copied().chain(t.iter().map(|_| false)).collect();
    let second = first.jvp(&held).map_err(text)?;
    let start = first.outputs().len() + case.program.outputs().len();
    let (there, back) = (joined(&[&case.args, &t, &s]), joined(&[&case.args, &s, &t]));
    let tolerance = roundings(&second, &there)? + roundings(&second, &back)?;
    let by_ts = flat(&second.run_reference(&there).map_err(text)?[start..]);
    let by_st = flat(&second.run_reference(&back).map_err(text)?[start..]);
    compare("the second derivative", &by_ts, &by_st, |_| tolerance)
}

/// The number 1 at one place of several arrays.
fn unit(types: &[Type], place: usize) -> Vec<Array> {
    let mut start = 0;
    let one = |ty: &Type| {
        let numbers: Vec<f64> = (start..start + ty.size()).map(|k| f64::from(u8::from(k == place))).collect();
        start += ty.size();
        array(ty, &numbers)
    };
    types.iter().filter(|ty| ty.dtype.is_float()).map(one).collect()
}

fn real_size(types: &[Type]) -> usize {
    types.iter().filter(|ty| ty.dtype.is_float()).map(Type::size).sum()
}

fn real_numbers(arrays: &[Array]) -> Vec<f64> {
    arrays.iter().filter(|array| array.dtype().is_float()).flat_map(Array::to_f64).collect()
}

fn transposed(case: &Generated, _: &mut Random) -> Checked {
    let (inputs, outputs) = (case.program.input_types(), case.program.output_types());
    let active = floats(inputs);
    let jvp = case.program.jvp(&active).map_err(text)?;
    let vjp = case.program.vjp(&active).map_err(text)?;
    let (columns, rows) = (real_size(inputs), real_size(&outputs));
    let mut tolerance = 0.0f64;
    let mut by_columns = vec![0.0; rows * columns];
    for column in 0..columns {
        let args = joined(&[&case.args, &unit(inputs, column)]);
        tolerance = tolerance.max(roundings(&jvp, &args)?);
        let dots = real_numbers(&jvp.run_reference(&args).map_err(text)?[outputs.len()..]);
        dots.iter().enumerate().for_each(|(row, dot)| by_columns[row * columns + column] = *dot);
    }
    let mut by_rows = Vec::new();
    for row in 0..rows {
        let args = joined(&[&case.args, &unit(&outputs, row)]);
        tolerance = tolerance.max(roundings(&vjp, &args)?);
        by_rows.extend(flat(&vjp.run_reference(&args).map_err(text)?[outputs.len()..]));
    }
    compare("the Jacobian by rows", &by_rows, &by_columns, |_| 2.0 * tolerance)
}

fn commuting(case: &Generated, random: &mut Random) -> Checked {
    let inputs = case.program.input_types();
    let active = floats(inputs);
    let length = 1 + random.below(3);
    // What moves has the axis in both; of what is held only a part.
    let batched: Vec<bool> = active.iter().map(|active| *active || random.below(2) == 0).collect();
    let more: Vec<bool> =
        batched.iter().copied().chain(directions(random, &case.program.output_types()).iter().map(|_| true)).collect();
    let one = case.program.vjp(&active).map_err(text)?.vmap(&more, length).map_err(text)?;
    let other = case.program.vmap(&batched, length).map_err(text)?.vjp(&active).map_err(text)?;
    // Every slice has numbers of its own, so that one that is taken for another is seen.
    let slices = |arg: &Array| {
        let slices: Vec<Array> = (0..length).map(|lane| another(arg, lane)).collect();
        crate::support::stack(arg.ty(), &slices)
    };
    let operand = |(arg, &batched): (&Array, &bool)| if batched { slices(arg) } else { arg.clone() };
    let args: Vec<Array> = case.args.iter().zip(&batched).map(operand).collect();
    let cts: Vec<Type> = one.input_types()[args.len()..].to_vec();
    let args = joined(&[&args, &directions(random, &cts)]);
    let tolerance = roundings(&one, &args)? + roundings(&other, &args)?;
    let (one, other) = (one.run_reference(&args).map_err(text)?, other.run_reference(&args).map_err(text)?);
    compare("vmap of vjp", &flat(&one), &flat(&other), |_| tolerance)
}

fn recomputed(case: &Generated, random: &mut Random) -> Checked {
    let active = floats(case.program.input_types());
    let mut b = Builder::new();
    let args: Vec<Value> = case.program.input_types().iter().map(|ty| b.input("", ty.clone())).collect();
    let outs = b.emit(Recompute::new(case.program.clone()), &args).map_err(text)?;
    let region = b.finish(&outs);
    let cotangents = directions(random, &case.program.output_types());
    let args = joined(&[&case.args, &cotangents]);
    let plain = case.program.vjp(&active).map_err(text)?.run_reference(&args).map_err(text)?;
    let again = region.vjp(&active).map_err(text)?.run_reference(&args).map_err(text)?;
    match (0..plain.len()).find(|&k| !same(&plain[k], &again[k])) {
        Some(k) => Err(format!("result {k} is {:?} instead of {:?}", again[k], plain[k])),
        None => Ok(()),
    }
}

/// Two or three transformations after one another, in an order of the random numbers.
fn composed(case: &Generated, random: &mut Random) -> Checked {
    let (mut program, mut args) = (case.program.clone(), case.args.clone());
    let mut names = Vec::new();
    for _ in 0..2 + random.below(2) {
        let active = floats(program.input_types());
        // Large Programs take long, and show nothing that smaller ones do not.
        if program.count() > 400 {
            break;
        }
        match random.below(4) {
            0 => {
                args.extend(directions(random, program.input_types()));
                program = program.jvp(&active).map_err(text)?;
                names.push("jvp");
            }
            1 => {
                args.extend(directions(random, &program.output_types()));
                program = program.vjp(&active).map_err(text)?;
                names.push("vjp");
            }
            2 => {
                let batched: Vec<bool> = args.iter().map(|_| random.below(2) == 0).collect();
                program = program.vmap(&batched, 2).map_err(text)?;
                args = args
                    .iter()
                    .zip(&batched)
                    .map(|(arg, batched)| if *batched { twice(arg) } else { arg.clone() })
                    .collect();
                names.push("vmap");
            }
            _ => {
                let mut b = Builder::new();
                let inputs: Vec<Value> = program.input_types().iter().map(|ty| b.input("", ty.clone())).collect();
                let outs = b.emit(Recompute::new(program), &inputs).map_err(text)?;
                program = b.finish(&outs);
                names.push("recompute");
            }
        }
        program.verify()?;
    }
    super::coverage::count_nesting(&names.join(" then "));
    dot_product(&program, &args, random).map_err(|why| format!("{}: {why}", names.join(" then ")))
}

fn twice(arg: &Array) -> Array {
    crate::support::stack(arg.ty(), &[arg.clone(), arg.clone()])
}

/// `<c, J t> = <J^T c, t>`
pub(crate) fn dot_product(program: &Program, args: &[Array], random: &mut Random) -> Checked {
    let active = floats(program.input_types());
    let (jvp, vjp) = (program.jvp(&active).map_err(text)?, program.vjp(&active).map_err(text)?);
    let (t, c) = (directions(random, program.input_types()), directions(random, &program.output_types()));
    let (forward, backward) = (joined(&[args, &t]), joined(&[args, &c]));
    let terms = (real_size(program.input_types()) + real_size(&program.output_types())) as f64;
    let tolerance = terms * (roundings(&jvp, &forward)? + roundings(&vjp, &backward)?);
    let dots = real_numbers(&jvp.run_reference(&forward).map_err(text)?[program.outputs().len()..]);
    let pulled = flat(&vjp.run_reference(&backward).map_err(text)?[program.outputs().len()..]);
    let dot = |x: &[f64], y: &[f64]| x.iter().zip(y).map(|(x, y)| x * y).sum::<f64>();
    compare("the dot product test", &[dot(&pulled, &flat(&t))], &[dot(&flat(&c), &dots)], |_| tolerance)
}

fn structure(case: &Generated, _: &mut Random) -> Checked {
    let batched = vec![true; case.args.len()];
    let count = |length: usize| case.program.vmap(&batched, length).map(|program| program.count()).map_err(text);
    let (two, many) = (count(2)?, count(1000)?);
    if two == many { Ok(()) } else { Err(format!("{two} equations for 2 slices and {many} for 1000")) }
}

/// The Program, what the transformations make of it, and many slices of it, which fill several chunks.
fn on_the_engine(case: &Generated, random: &mut Random) -> Checked {
    let (program, args) = (&case.program, &case.args);
    let active = floats(program.input_types());
    let threads = if random.below(8) == 0 { 2 + random.below(2) } else { 1 };
    let check = |what: &str, program: &Program, args: &[Array]| {
        check_engine(program, args, threads, Operands::Tame).map_err(|why| format!("{what}: {why}"))
    };
    check("value", program, args)?;
    let tangents = joined(&[args, &directions(random, program.input_types())]);
    let cotangents = joined(&[args, &directions(random, &program.output_types())]);
    let (jvp, vjp) = (program.jvp(&active).map_err(text)?, program.vjp(&active).map_err(text)?);
    check("jvp", &jvp, &tangents)?;
    check("vjp", &vjp, &cotangents)?;
    let length = [0, 3, 70, 700][random.below(4)];
    for (what, program, args) in [("value", program, args), ("vjp", &vjp, &cotangents)] {
        let slices = |arg: &Array| {
            let slices: Vec<Array> = (0..length).map(|lane| another(arg, lane % 5)).collect();
            crate::support::stack(arg.ty(), &slices)
        };
        let batched: Vec<bool> = args.iter().map(|_| random.below(3) > 0).collect();
        let operand = |(arg, &batched): (&Array, &bool)| if batched { slices(arg) } else { arg.clone() };
        let operands: Vec<Array> = args.iter().zip(&batched).map(operand).collect();
        let many = program.vmap(&batched, length).map_err(text)?;
        check(&format!("{length} slices of the {what}"), &many, &operands)?;
    }
    Ok(())
}

/// The first law that a Program breaks.
pub(crate) fn broken(case: &Generated, seed: u64) -> Option<String> {
    LAWS.iter().find_map(|(name, law)| {
        let mut random = Random::new(seed ^ 0x5eed);
        let checked = caught(name, || law(case, &mut random)).and_then(|checked| checked);
        checked.err().map(|why| format!("{name}: {why}"))
    })
}

/// The operations of a Program with their options, which the text form may leave out.
pub(crate) fn listing(program: &Program) -> String {
    let ops: Vec<String> = program.eqns().iter().map(|eqn| format!("{} {:?}", eqn.op.name(), eqn.op)).collect();
    format!("{program}\n{}", ops.join("\n"))
}
