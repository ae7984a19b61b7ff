//! One check for each point of the battery. The derivative is given as a function, so that a wrong
//! one can be given too.

use wengert::primitives::Sample;
use wengert::{Array, DType, ErrorKind, Program, Type};

use super::case::{Case, displaced, times};
use crate::support::caught::{Checked, caught};
use crate::support::{Random, array, combine, compare, flat, program_of, same, widened_array};

/// A linear map: tangents to tangents, or cotangents to cotangents.
pub(crate) type Map<'a> = &'a dyn Fn(&[Array]) -> Result<Vec<Array>, String>;

// ---- 1: types -----------------------------------------------------------------------------------

/// Inference gives the types of what is computed, or a reason; for operands that fit and for those
/// that are one too many, one too few, of another element type or of one more axis. Gives how many
/// were refused.
pub(crate) fn check_types(sample: &Sample) -> Result<usize, String> {
    let types: Vec<Type> = sample.args.iter().map(|arg| arg.ty().clone()).collect();
    if !infers(sample, &types, &sample.args)? {
        return Err("its own sample is refused".to_owned());
    }
    let mut refused = 0;
    for misfit in misfits(&types) {
        let zeros: Vec<Array> = misfit.iter().map(Array::zeros).collect();
        refused += usize::from(!infers(sample, &misfit, &zeros)?);
    }
    Ok(refused)
}

fn misfits(types: &[Type]) -> Vec<Vec<Type>> {
    let mut misfits = vec![[types, &[Type::new(DType::Bool, &[7, 5])]].concat()];
    if let [fewer @ .., _] = types {
        misfits.push(fewer.to_vec());
    }
    for k in 0..types.len() {
        let with = |ty: Type| {
            let mut types = types.to_vec();
            types[k] = ty;
            types
        };
        misfits.extend(DType::ALL.iter().map(|&dtype| with(types[k].with_dtype(dtype))));
        misfits.push(with(types[k].with_shape([&[2], &types[k].shape[..]].concat())));
        misfits.push(with(types[k].with_shape([&types[k].shape[..], &[3]].concat())));
        if let [_, fewer @ ..] = &types[k].shape[..] {
            misfits.push(with(types[k].with_shape(fewer.to_vec())));
            let longer = types[k].shape.iter().map(|length| length + 1).collect();
            misfits.push(with(types[k].with_shape(longer)));
            misfits.push(with(types[k].with_shape(vec![0; types[k].rank()])));
        }
    }
    misfits
}

/// Whether the operands fit; if so, what is computed has the inferred types.
fn infers(sample: &Sample, types: &[Type], args: &[Array]) -> Result<bool, String> {
    let operands: Vec<&Type> = types.iter().collect();
    let at = || format!("with operands {}", types.iter().map(Type::to_string).collect::<Vec<_>>().join(" and "));
    let inferred = match caught(&format!("infer {}", at()), || sample.op.infer(&operands))? {
        Ok(inferred) => inferred,
        Err(why) if why.0.len() < 10 => return Err(format!("{}: refused without a reason: {:?}", at(), why.0)),
        Err(_) => return Ok(false),
    };
    let args: Vec<&Array> = args.iter().collect();
    // What only the values show is refused when it runs.
    if let Ok(results) = caught(&format!("eval {}", at()), || sample.op.eval(&args))? {
        let computed: Vec<&Type> = results.iter().map(Array::ty).collect();
        if computed != inferred.iter().collect::<Vec<&Type>>() {
            return Err(format!("{}: computes {computed:?}, inferred {inferred:?}", at()));
        }
    }
    Ok(true)
}

// ---- 2: values ----------------------------------------------------------------------------------

/// NaN, infinities, zeros, extremes in place of a sample's real operands: of all, and of each alone.
pub(crate) fn special_operands(sample: &Sample) -> Vec<Vec<Array>> {
    const SPECIAL: [f64; 8] = [f64::NAN, f64::INFINITY, -0.0, f64::NEG_INFINITY, 0.0, 1e-310, -1.0, 1e300];
    let mut all = Vec::new();
    for start in 0..SPECIAL.len() {
        let special = |arg: &Array| {
            let numbers = (0..arg.size()).map(|k| SPECIAL[(start + 3 * k) % SPECIAL.len()]);
            if arg.dtype().is_float() { array(arg.ty(), &numbers.collect::<Vec<f64>>()) } else { arg.clone() }
        };
        let args: Vec<Array> = sample.args.iter().map(special).collect();
        for k in 0..args.len() {
            let mut one = sample.args.clone();
            one[k] = args[k].clone();
            all.push(one);
        }
        all.push(args);
    }
    all
}

/// Special operands are evaluated without a panic and with the inferred types; where there is no solution, that is an error.
pub(crate) fn check_special_values(sample: &Sample) -> Checked {
    let types: Vec<&Type> = sample.args.iter().map(Array::ty).collect();
    let program = program_of(&sample.op, &types)?;
    for args in special_operands(sample) {
        match caught("special operands", || program.run_reference(&args))? {
            Err(error) if sample.op.gives_up() && error.kind() == ErrorKind::Run => {}
            results => drop(results.map_err(|error| format!("special operands: {error}"))?),
        }
    }
    Ok(())
}

/// Single precision agrees with double precision to the roundings of single precision.
pub(crate) fn check_single_precision(case: &Case) -> Checked {
    let Some((program, args)) = case.wide() else { return Ok(()) };
    let outs = program.run_reference(&args).map_err(|error| error.to_string())?;
    let wide: Vec<f64> = outs.iter().filter(|out| out.dtype().is_float()).flat_map(Array::to_f64).collect();
    let operands: Vec<Array> = case.moving().cloned().collect();
    let sizes = case.push_sizes(&operands);
    let got = case.value(&case.args)?;
    compare("single precision", &got, &wide, |k| case.rounding() * (wide[k].abs() + sizes[k]))
}

// ---- 3: differences -----------------------------------------------------------------------------

/// The tangent agrees with differences in random directions: central ones of order 4 at the step
/// whose error bound is smallest, or plain ones of step 1 where the map is linear.
pub(crate) fn check_differences(case: &Case, push: Map, random: &mut Random) -> Checked {
    for _ in 0..2 {
        let tangents = case.tangents(random);
        let stated = flat(&push(&tangents)?);
        if case.severed {
            compare("the severed tangent", &stated, &vec![0.0; stated.len()], |_| 0.0)?;
            continue;
        }
        let sizes = case.push_sizes(&tangents);
        if case.linear {
            check_step_one(case, &tangents, &stated, &sizes)?;
        } else {
            let differences = central(case, &tangents)?;
            let wanted: Vec<f64> = differences.iter().map(|(difference, _)| *difference).collect();
            let rounding = case.rounding();
            compare("the tangent against differences", &stated, &wanted, |k| differences[k].1 + rounding * sizes[k])?;
        }
    }
    Ok(())
}

fn check_step_one(case: &Case, tangents: &[Array], stated: &[f64], sizes: &[f64]) -> Checked {
    let (there, here) = (case.value(&displaced(&case.args, &case.active, tangents, 1.0))?, case.value(&case.args)?);
    let wanted: Vec<f64> = there.iter().zip(&here).map(|(there, here)| there - here).collect();
    let operands: Vec<Array> = case.moving().cloned().collect();
    let at = case.push_sizes(&operands);
    let tolerance = |k: usize| case.rounding() * (there[k].abs() + here[k].abs() + sizes[k] + at[k]);
    compare("the tangent against a step of 1", stated, &wanted, tolerance)
}

/// Central differences of order 4, in double precision where that is possible, and a bound on the
/// error of each: the rounding of the values over the step, and the truncation, for which the change
/// to the step before stands (it is 15 times the error if the error is of order 4).
fn central(case: &Case, tangents: &[Array]) -> Result<Vec<(f64, f64)>, String> {
    let wide = case.wide();
    let unit = if wide.is_some() { f64::EPSILON } else { crate::support::coarsest(&case.program) };
    let value = |step: f64| -> Result<Vec<f64>, String> {
        let tangents: Vec<Array> =
            tangents.iter().map(|t| if wide.is_some() { widened_array(t) } else { t.clone() }).collect();
        match &wide {
            None => case.value(&displaced(&case.args, &case.active, &tangents, step)),
            Some((program, args)) => {
                let moved = displaced(args, &case.active, &tangents, step);
                let outs = program.run_reference(&moved).map_err(|error| error.to_string())?;
                Ok(outs.iter().filter(|out| out.dtype().is_float()).flat_map(Array::to_f64).collect())
            }
        }
    };
    let here = value(0.0)?;
    let mut best = vec![(f64::NAN, f64::INFINITY); here.len()];
    let mut before: Option<Vec<f64>> = None;
    let largest = case.moving().flat_map(Array::to_f64).fold(0.0f64, |largest, x| largest.max(x.abs()));
    for k in 2..14 {
        let h = f64::powi(0.5, k);
        let points = [value(-2.0 * h)?, value(-h)?, value(h)?, value(2.0 * h)?];
        let difference =
            |i: usize| (points[0][i] - 8.0 * points[1][i] + 8.0 * points[2][i] - points[3][i]) / (12.0 * h);
        let differences: Vec<f64> = (0..here.len()).map(difference).collect();
        if let Some(before) = &before {
            for i in 0..here.len() {
                let size = points.iter().map(|point| point[i].abs()).fold(0.0, f64::max);
                // The value is right to 8 units; the operand is rounded once.
                let rounding = 1.5 * unit * (8.0 * size + largest * differences[i].abs()) / h;
                let bound = rounding + (differences[i] - before[i]).abs();
                if bound < best[i].1 {
                    best[i] = (differences[i], bound);
                }
            }
        }
        before = Some(differences);
    }
    Ok(best)
}

// ---- 4 to 6: linearity and transposes -----------------------------------------------------------

/// `J (a t + b s) = a J t + b J s`
pub(crate) fn check_linear(case: &Case, push: Map, random: &mut Random) -> Checked {
    let (t, s) = (case.tangents(random), case.tangents(random));
    let (a, b) = (1.5, -0.625);
    let sum: Vec<Array> = t.iter().zip(&s).map(|(t, s)| combine(a, t, b, s)).collect();
    let (of_sum, by_t, by_s) = (flat(&push(&sum)?), flat(&push(&t)?), flat(&push(&s)?));
    let wanted: Vec<f64> = by_t.iter().zip(&by_s).map(|(t, s)| a * t + b * s).collect();
    let (t_sizes, s_sizes) = (case.push_sizes(&times(a, &t)), case.push_sizes(&times(b, &s)));
    let rounding = 2.0 * case.rounding();
    compare("the tangent of a sum of directions", &of_sum, &wanted, |k| rounding * (t_sizes[k] + s_sizes[k]))
}

fn dot(x: &[f64], y: &[f64]) -> f64 {
    x.iter().zip(y).map(|(x, y)| x * y).sum()
}

/// `<c, J t> = <J^T c, t>`, to the roundings of the sum of magnitudes; for cotangents of random
/// signs, and for those of the signs of `J t`, whose products cannot cancel an error away.
pub(crate) fn check_transpose(case: &Case, push: Map, pull: Map, random: &mut Random) -> Checked {
    let t = case.tangents(random);
    let pushed = push(&t)?;
    let sizes = case.push_sizes(&t);
    let signed = |c: Vec<Array>| -> Vec<Array> {
        let like = |(c, dot): (&Array, &Array)| {
            let numbers = c.to_f64().into_iter().zip(dot.to_f64()).map(|(c, dot)| c.abs().copysign(dot));
            array(c.ty(), &numbers.collect::<Vec<f64>>())
        };
        c.iter().zip(&pushed).map(like).collect()
    };
    for c in [case.cotangents(random), signed(case.cotangents(random))] {
        let pulled = pull(&c)?;
        let types = |arrays: &[Array]| arrays.iter().map(|array| array.ty().clone()).collect::<Vec<Type>>();
        if types(&pulled) != types(&t) {
            return Err(format!("cotangents of types {:?} for operands {:?}", types(&pulled), types(&t)));
        }
        let (forward, backward) = (dot(&flat(&c), &flat(&pushed)), dot(&flat(&pulled), &flat(&t)));
        let magnitude: f64 = flat(&c).iter().zip(&sizes).map(|(c, size)| c.abs() * size).sum();
        compare("the dot product test", &[backward], &[forward], |_| 2.0 * case.rounding() * magnitude)?;
    }
    Ok(())
}

/// The pullback is linear in the cotangents, so its tangent there is itself, and its transpose there
/// is the tangent map again.
pub(crate) fn check_transposed_twice(case: &Case, random: &mut Random) -> Checked {
    let error = |error: wengert::Error| format!("transposed twice: {error}");
    let (t, c, other) = (case.tangents(random), case.cotangents(random), case.cotangents(random));
    let in_cotangents: Vec<bool> = case.args.iter().map(|_| false).chain(c.iter().map(|_| true)).collect();
    let at: Vec<Array> = case.args.iter().chain(&c).cloned().collect();
    let outs = case.vjp.outputs().len();

    let tangent = case.vjp.jvp(&in_cotangents).map_err(error)?;
    let operands: Vec<Array> = at.iter().chain(&other).cloned().collect();
    let got = flat(&tangent.run_reference(&operands).map_err(error)?[outs + case.program.outputs().len()..]);
    let sizes = case.pull_sizes(&other);
    let rounding = 2.0 * case.rounding();
    compare("the tangent of the pullback", &got, &flat(&case.pull(&other)?), |k| rounding * sizes[k])?;

    let transpose = case.vjp.vjp(&in_cotangents).map_err(error)?;
    let zeros = case.real_results();
    let back: Vec<Array> = zeros.iter().map(Array::zeros).chain(t.iter().cloned()).collect();
    let operands: Vec<Array> = at.into_iter().chain(back).collect();
    let got = flat(&transpose.run_reference(&operands).map_err(error)?[outs..]);
    let sizes = case.push_sizes(&t);
    compare("the transpose of the transpose", &got, &flat(&case.push(&t)?), |k| rounding * sizes[k])
}

// ---- 9: executors -------------------------------------------------------------------------------

/// Every way to run a Program gives the same bits.
pub(crate) fn check_executors(program: &Program, args: &[Array]) -> Checked {
    let plain = program.run_reference(args).map_err(|error| error.to_string())?;
    for (name, other) in crate::support::executors::forms(program)? {
        let results = other.run_reference(args).map_err(|error| format!("{name}: {error}"))?;
        if let Some(k) = (0..plain.len()).find(|&k| !same(&plain[k], &results[k])) {
            return Err(format!("{name}: result {k} is {:?} instead of {:?}", results[k], plain[k]));
        }
    }
    Ok(())
}
