//! Code at many points: in batches that fit a cache, divided among threads.

use super::path::Way;
use crate::straight::Straight;
use crate::tape::trace::Trace;
use crate::task::Task;
use crate::threads;

/// Numbers of the points of a batch, and at least a block for every thread: what is filled is still in a cache when it is read.
const BATCH: usize = 1 << 16;

/// Runs code at each of `count` points: `fill` writes a row of its inputs, and is false if they do not fit; `visit` gets its
/// results, or nothing where it is not valid.
pub(super) fn blocks(
    straight: &Straight,
    count: usize,
    fill: &mut dyn FnMut(usize, &mut [f64]) -> bool,
    visit: &mut dyn FnMut(usize, Option<&[f64]>),
) {
    let pool = threads::current();
    let (inputs, row) = (straight.inputs(), straight.results() + 1);
    let least = straight.width() * pool.threads();
    let batch = (BATCH / (inputs + row)).max(1).next_multiple_of(least).min(count);
    let mut points = vec![0.0; batch * inputs];
    let mut rows = vec![0.0; batch * row];
    let mut fits = vec![false; batch];
    for start in (0..count).step_by(batch.max(1)) {
        let size = batch.min(count - start);
        for k in 0..size {
            fits[k] = fill(start + k, &mut points[k * inputs..(k + 1) * inputs]);
        }
        let rows = &mut rows[..size * row];
        straight.run_many(&points[..size * inputs], rows, &pool);
        for (k, row) in rows.chunks_exact(row).enumerate() {
            let (results, failed) = row.split_at(row.len() - 1);
            visit(start + k, (fits[k] && failed == [0.0]).then_some(results));
        }
    }
}

/// A matrix that is made of products with unit vectors.
struct Products {
    /// What gives a product.
    task: Task,
    /// How many unit vectors there are.
    units: usize,
    /// What a product gives before its own numbers.
    skipped: usize,
    /// Whether that stands before the matrix; it is the same in each product.
    is_wanted: bool,
    /// How many numbers a product has.
    size: usize,
    /// Whether a product is a column of the matrix; else it is a row.
    columns: bool,
}

impl Products {
    fn of(task: &Task, trace: &Trace) -> Option<Self> {
        let (inputs, outputs) = (trace.inputs, trace.outputs.len());
        let is_wanted = task.lower_order_size(inputs, outputs) > 0;
        let (task, units, size, columns) = match task {
            Task::Jacobian | Task::ValueAndJacobian if inputs <= outputs => (Task::Jvp, inputs, outputs, true),
            Task::Jacobian => (Task::Vjp, outputs, inputs, false),
            Task::ValueAndJacobian => (Task::ValueAndVjp, outputs, inputs, false),
            Task::Hessian => (Task::Hvp, inputs, inputs, true),
            Task::ValueGradientAndHessian => (Task::ValueGradientAndHvp, inputs, inputs, true),
            Task::Value | Task::Gradient | Task::ValueAndGradient => return None,
            Task::Jvp | Task::Vjp | Task::ValueAndVjp | Task::Hvp | Task::ValueGradientAndHvp => return None,
            Task::Taylor { .. } => return None,
        };
        let skipped = task.lower_order_size(inputs, outputs);
        Some(Products { task, units, skipped, is_wanted, size, columns })
    }
}

/// As [`blocks`], for a matrix that is too large for a list of its own: the unit vectors are the points of a block.
///
/// A zero of a unit vector is an ordinary number there, and times an infinite factor NaN, where a structural zero is none: a
/// matrix with a NaN is left to the driver of one point.
pub(super) fn matrices(
    path: &Way,
    task: &Task,
    count: usize,
    fill: &mut dyn FnMut(usize, &mut [f64]) -> bool,
    visit: &mut dyn FnMut(usize, Option<&[f64]>),
) {
    let products = Products::of(task, &path.trace);
    let code = products.as_ref().and_then(|products| path.straight(&products.task, products.units));
    let (Some(products), Some(straight)) = (products, code) else {
        return (0..count).for_each(|point| visit(point, None));
    };
    let Products { units, skipped, is_wanted, size, columns, .. } = products;
    let mut point = vec![0.0; path.trace.inputs];
    let first = if is_wanted { skipped } else { 0 };
    let mut results = vec![0.0; first + units * size];
    for k in 0..count {
        let mut valid = fill(k, &mut point);
        let mut place = |unit: usize, numbers: Option<&[f64]>| {
            let (lower, matrix) = results.split_at_mut(first);
            let numbers = numbers.map(|numbers| numbers.split_at(skipped));
            let numbers = numbers.map(|(before, numbers)| {
                lower.iter_mut().zip(before).for_each(|(place, &number)| *place = number);
                numbers
            });
            valid &= numbers.is_some_and(|numbers| numbers.iter().all(|number| !number.is_nan()));
            for (n, &number) in numbers.unwrap_or_default().iter().enumerate() {
                matrix[if columns { n * units + unit } else { unit * size + n }] = number;
            }
        };
        let mut seed = |unit: usize, row: &mut [f64]| {
            let (at, direction) = row.split_at_mut(point.len());
            at.copy_from_slice(&point);
            direction.fill(0.0);
            direction[unit] = 1.0;
            true
        };
        blocks(straight, units, &mut seed, &mut place);
        visit(k, valid.then_some(&results[..]));
    }
}
