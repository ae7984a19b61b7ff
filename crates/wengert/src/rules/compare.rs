//! Derivatives of rules beside differences of their values.

use crate::array::{Array, DType, Data};
use crate::error::Error;
use crate::primitives::Op;
use crate::program::{Builder, Program};

/// What is said of samples at which no derivative was compared with anything.
pub(super) const NOTHING: &str =
    "every sample is empty in an operand or in all results, so its derivative was compared with nothing";

fn inside(error: Error) -> String {
    format!("at the sample: {error}")
}

/// The operation as a Program.
fn alone(op: &Op, point: &[Array]) -> Result<Program, String> {
    let mut b = Builder::new();
    let inputs: Vec<_> = point.iter().map(|x| b.input("", x.ty().clone())).collect();
    let outs = b.emit(op.clone(), &inputs).map_err(inside)?;
    Ok(b.finish(&outs))
}

/// Which operands can be moved.
fn active(point: &[Array]) -> Vec<bool> {
    point.iter().map(|x| x.dtype().is_float()).collect()
}

/// Slopes are compared beside this share of the values at least.
const SHARE: f64 = 1e-3;

/// Half the digits that differences of order 4 keep, relative to the largest of what is compared.
fn tolerance(point: &[Array]) -> f64 {
    if point.iter().any(|x| x.dtype() == DType::F32) { 3e-2 } else { 1e-7 }
}

fn real(arrays: &[Array]) -> impl Iterator<Item = &Array> {
    arrays.iter().filter(|array| array.dtype().is_float())
}

/// The numbers of the real arrays, one after the other.
fn numbers(arrays: &[Array]) -> Vec<f64> {
    real(arrays).flat_map(Array::to_f64).collect()
}

/// Compares the tangents with differences of the value at a point, along two directions for every operand.
pub(super) fn forwards(op: &Op, point: &[Array]) -> Result<(), String> {
    let program = alone(op, point)?;
    let tangent = program.jvp(&active(point)).map_err(inside)?;
    for operand in (0..point.len()).filter(|&k| active(point)[k]) {
        for seed in 0..2 {
            let dots = directions(point, seed, operand);
            let moving: Vec<Array> = real(&dots).cloned().collect();
            let results = tangent.run(&[point, &moving[..]].concat()).map_err(inside)?;
            let got = numbers(&results[program.outputs().len()..]);
            let (error, scale) = difference(&program, point, &dots, |slopes, values| {
                let off = slopes.iter().zip(&got).map(|(slope, got)| (slope - got).abs()).fold(0.0, larger);
                let least = values.iter().map(|x| x.abs() * SHARE).fold(0.0, f64::max);
                (off, slopes.iter().chain(&got).map(|x| x.abs()).fold(least, f64::max))
            })
            .map_err(inside)?;
            agree("derivative", operand, error, scale, tolerance(point))?;
        }
    }
    Ok(())
}

/// Compares the cotangents with differences of the value at a point, along three directions for every operand, each with other
/// cotangents of the results.
pub(super) fn backwards(op: &Op, point: &[Array]) -> Result<(), String> {
    let program = alone(op, point)?;
    let transposed = program.vjp(&active(point)).map_err(inside)?;
    let results = program.run(point).map_err(inside)?;
    for operand in (0..point.len()).filter(|&k| active(point)[k]) {
        for seed in 0..3 {
            let dots = directions(point, seed, operand);
            let cts: Vec<Array> = results.iter().map(|result| direction(result, seed + 5, true)).collect();
            let given: Vec<Array> = real(&cts).cloned().collect();
            let pulled = transposed.run(&[point, &given[..]].concat()).map_err(inside)?;
            let (got, own) = (numbers(&pulled[results.len()..]), numbers(&dots));
            let got: f64 = got.iter().zip(&own).map(|(ct, dot)| ct * dot).sum();
            let weights = numbers(&cts);
            let (error, scale) = difference(&program, point, &dots, |slopes, values| {
                let dot = |x: &[f64]| x.iter().zip(&weights).map(|(x, ct)| x * ct).collect::<Vec<f64>>();
                let size = |x: &[f64]| dot(x).iter().map(|x| x.abs()).sum::<f64>();
                let error = dot(slopes).iter().sum::<f64>() - got;
                (error, size(slopes).max(got.abs()).max(size(values) * SHARE))
            })
            .map_err(inside)?;
            agree("derivative", operand, error.abs(), scale, tolerance(point))?;
        }
    }
    Ok(())
}

/// That two derivatives that were given apart are transposes of one another: `<c, J v> = <Jᵀ c, v>`.
pub(super) fn transposes(op: &Op, point: &[Array]) -> Result<(), String> {
    let program = alone(op, point)?;
    let (tangent, transposed) = (program.jvp(&active(point)), program.vjp(&active(point)));
    let (tangent, transposed) = (tangent.map_err(inside)?, transposed.map_err(inside)?);
    for operand in (0..point.len()).filter(|&k| active(point)[k]) {
        let dots = directions(point, 1, operand);
        let moving: Vec<Array> = real(&dots).cloned().collect();
        let pushed = tangent.run(&[point, &moving[..]].concat()).map_err(inside)?;
        let count = program.outputs().len();
        let cts: Vec<Array> = pushed[..count].iter().map(|result| direction(result, 7, true)).collect();
        let given: Vec<Array> = real(&cts).cloned().collect();
        let pulled = transposed.run(&[point, &given[..]].concat()).map_err(inside)?;
        let dot = |x: &[Array], y: &[Array]| -> (f64, f64) {
            let terms: Vec<f64> = numbers(x).iter().zip(numbers(y)).map(|(x, y)| x * y).collect();
            (terms.iter().sum(), terms.iter().map(|x| x.abs()).sum())
        };
        let (forward, backward) = (dot(&cts, &pushed[count..]), dot(&pulled[count..], &dots));
        let scale = forward.1.max(backward.1).max(f64::MIN_POSITIVE);
        let bound = if point.iter().any(|x| x.dtype() == DType::F32) { 1e-4 } else { 1e-9 };
        let error = (forward.0 - backward.0).abs();
        if error.is_nan() || error > bound * scale {
            return Err(format!(
                "its `foreign_jvp` and `foreign_vjp` are no transposes of one another: along operand {operand} <c, J v> is {:e} \
                 and <Jᵀ c, v> is {:e}",
                forward.0, backward.0
            ));
        }
    }
    Ok(())
}

/// That each element of a result depends on the elements of the operands at the same place alone. Half of the elements move at a
/// time, those whose number has a binary digit or has it not: of any two, one moves at some time and the other does not.
pub(super) fn elementwise(op: &Op, point: &[Array]) -> Result<(), String> {
    let program = alone(op, point)?;
    let results = program.run(point).map_err(inside)?;
    for operand in (0..point.len()).filter(|&k| active(point)[k]) {
        let own = point[operand].to_f64();
        let digits = usize::BITS - own.len().saturating_sub(1).leading_zeros();
        for (digit, with) in (0..digits).flat_map(|digit| [(digit, 0), (digit, 1)]) {
            let moves = |k: usize| k >> digit & 1 == with;
            let elements = own.iter().enumerate();
            let some = elements.map(|(k, x)| if moves(k) { x + (x.abs() * 1e-3 + 1e-4) } else { *x }).collect();
            let mut moved = point.to_vec();
            moved[operand] = like(&point[operand], some);
            for (before, after) in results.iter().zip(program.run(&moved).map_err(inside)?) {
                let (before, after) = (before.to_f64(), after.to_f64());
                let others = (0..before.len()).filter(|&k| !moves(k));
                if let Some(k) = others.into_iter().find(|&k| before[k].to_bits() != after[k].to_bits()) {
                    return Err(format!(
                        "it is said to work element by element, and element {k} moves with others of operand {operand}"
                    ));
                }
            }
        }
    }
    Ok(())
}

/// That the same operands give the same results, called again.
pub(super) fn repeats(op: &Op, point: &[Array]) -> Result<(), String> {
    let program = alone(op, point)?;
    let (first, again) = (program.run(point).map_err(inside)?, program.run(point).map_err(inside)?);
    match first.iter().zip(&again).position(|(first, again)| !first.same_bits(again)) {
        Some(k) => Err(format!(
            "its code gives another result {k} when it is called again with the same operands; what changes from call to call \
             has to be an operand"
        )),
        None => Ok(()),
    }
}

/// That the code for two examples at once gives what that for one gives.
pub(super) fn together(op: &Op, two: &Op, point: &[Array]) -> Result<(), String> {
    let alone_at = |at: &[Array]| alone(op, at)?.run(at).map_err(inside);
    let beside =
        |x: &Array, dot: Array| like(x, x.to_f64().iter().zip(dot.to_f64()).map(|(x, dot)| x + 1e-3 * dot).collect());
    let near: Vec<Array> = point.iter().map(|x| beside(x, scaled(x, &direction(x, 0, true)))).collect();
    // A neighbour may lie outside of the domain.
    let (other, wanted) = match alone_at(&near) {
        Ok(results) => (near, results),
        Err(_) => (point.to_vec(), alone_at(point)?),
    };
    let first = alone_at(point)?;
    let stacked: Vec<Array> = point.iter().zip(&other).map(|(x, y)| stacked(x, y)).collect();
    let got = alone(two, &stacked)?.run(&stacked).map_err(inside)?;
    for (k, result) in got.iter().enumerate() {
        let (got, want) = (result.to_f64(), [first[k].to_f64(), wanted[k].to_f64()].concat());
        let scale = want.iter().map(|x| x.abs()).fold(1e-3, f64::max);
        let error = got.iter().zip(&want).map(|(got, want)| (got - want).abs()).fold(0.0, larger);
        // The code may sum in another order.
        let bound = if result.dtype() == DType::F32 { 1e-4 } else { 1e-10 };
        if error.is_nan() || error > bound * scale {
            return Err(format!(
                "its code for examples together disagrees with that for one, in result {k}, by {error:.1e}"
            ));
        }
    }
    Ok(())
}

/// Two arrays of one type along a new first axis.
fn stacked(x: &Array, y: &Array) -> Array {
    let shape = [&[2], x.shape()].concat();
    match (x.data(), y.data()) {
        (Data::Bool(x), Data::Bool(y)) => Array::new(&shape, [&x[..], &y[..]].concat()),
        (Data::I64(x), Data::I64(y)) => Array::new(&shape, [&x[..], &y[..]].concat()),
        (Data::F32(x), Data::F32(y)) => Array::new(&shape, [&x[..], &y[..]].concat()),
        (Data::F64(x), Data::F64(y)) => Array::new(&shape, [&x[..], &y[..]].concat()),
        _ => unreachable!("arrays of one type"),
    }
}

fn agree(what: &str, operand: usize, error: f64, scale: f64, tolerance: f64) -> Result<(), String> {
    if error.is_nan() || error > tolerance * scale.max(f64::MIN_POSITIVE) {
        return Err(format!(
            "its {what} along operand {operand} disagrees with differences of its value: by {error:.1e} where the largest is \
             {scale:.1e}; a derivative that differs on purpose is a `surrogate`"
        ));
    }
    Ok(())
}

fn larger(x: f64, y: f64) -> f64 {
    if y.is_nan() || x.is_nan() { f64::NAN } else { x.max(y) }
}

/// A direction along one operand, as large as that is.
fn directions(point: &[Array], seed: usize, operand: usize) -> Vec<Array> {
    point.iter().enumerate().map(|(k, x)| scaled(x, &direction(x, seed, k == operand))).collect()
}

/// A direction in the units of a point: each number times that of the point, or a thousandth of the largest one, or 1 if all are 0.
fn scaled(x: &Array, direction: &Array) -> Array {
    let sizes: Vec<f64> = x.to_f64().iter().map(|x| x.abs()).collect();
    let largest = sizes.iter().copied().filter(|size| size.is_finite()).fold(0.0, f64::max);
    let otherwise = if largest > 0.0 { largest } else { 1.0 };
    let unit = |size: f64| match size {
        0.0 => otherwise,
        size if size.is_finite() => size.max(1e-3 * largest),
        _ => otherwise,
    };
    like(x, direction.to_f64().iter().zip(&sizes).map(|(dot, &size)| dot * unit(size)).collect())
}

/// Numbers of mixed sign between 1/2 and 1, or zeros.
fn direction(x: &Array, seed: usize, active: bool) -> Array {
    let number = |k: usize| {
        let turn = ((k + 1) as f64).mul_add(0.618_033_988_749_895, seed as f64 * 0.37).fract();
        if active { (0.5 + turn / 2.0) * if turn < 0.5 { -1.0 } else { 1.0 } } else { 0.0 }
    };
    like(x, (0..x.size()).map(number).collect())
}

/// An array of these numbers; another one than of reals stays as it is.
fn like(x: &Array, numbers: Vec<f64>) -> Array {
    match x.dtype() {
        DType::F32 => Array::new(x.shape(), numbers.iter().map(|&x| x as f32).collect::<Vec<f32>>()),
        DType::F64 => Array::new(x.shape(), numbers),
        DType::Bool | DType::I64 => x.clone(),
    }
}

/// The smallest error over the steps of central differences of order 4, relative to the size of what is compared: `compare`
/// gives both for the slopes of the real results and the largest that these were so far. Steps are as short as numbers of the type
/// tell apart well.
fn difference(
    program: &Program,
    point: &[Array],
    dots: &[Array],
    compare: impl Fn(&[f64], &[f64]) -> (f64, f64),
) -> Result<(f64, f64), Error> {
    let at = |t: f64| -> Result<Vec<f64>, Error> {
        let moved = point.iter().zip(dots).map(|(x, dot)| {
            let numbers = x.to_f64().iter().zip(dot.to_f64()).map(|(x, dot)| x + t * dot).collect();
            like(x, numbers)
        });
        Ok(numbers(&program.run(&moved.collect::<Vec<Array>>())?))
    };
    let mut best = (f64::NAN, 0.0);
    let mut failed = None;
    let single = point.iter().any(|x| x.dtype() == DType::F32);
    let mut largest = Vec::new();
    for step in (1..=if single { 9 } else { 16 }).map(|k| 0.1 * 0.3f64.powi(k)) {
        let rows = [at(-2.0 * step), at(-step), at(step), at(2.0 * step)];
        let [Ok(far_back), Ok(back), Ok(forward), Ok(far)] = rows else {
            // A step may leave the domain of a function that says so; a shorter one need not.
            failed = rows.into_iter().find_map(Result::err).or(failed);
            continue;
        };
        let slope = |k: usize| (8.0 * (forward[k] - back[k]) - (far[k] - far_back[k])) / (12.0 * step);
        largest.resize(forward.len(), 0.0f64);
        for row in [&far_back, &back, &forward, &far] {
            largest.iter_mut().zip(row).for_each(|(largest, x)| *largest = largest.max(x.abs()));
        }
        let (error, scale) = compare(&(0..forward.len()).map(slope).collect::<Vec<f64>>(), &largest);
        let error = error.abs();
        if best.0.is_nan() || error / scale < best.0 / best.1 {
            best = (error, scale);
        }
    }
    match failed {
        Some(error) if best.0.is_nan() => Err(error),
        _ => Ok(best),
    }
}
