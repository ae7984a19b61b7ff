//! A sparse matrix against one product that knows nothing of its pattern.

use super::Pattern;
use super::arrays::{Source, as_type};
use super::options::SparseOptions;
use crate::array::{Array, Type};
use crate::error::{Error, ErrorKind, Line};
use crate::execute;
use crate::task::Task;
use crate::tensor::Tensor;
use crate::transform;

/// Compares the product of the matrix and a vector without pattern with that of the function's tangent.
///
/// # Errors
/// The first row that differs by more than rounding.
pub(super) fn product(
    source: &Source,
    (pattern, values): (&Pattern, &[f64]),
    options: &SparseOptions,
    point: &[Tensor],
    line: Line,
) -> Result<(), Error> {
    let wanted = |numbers: &Option<Vec<usize>>, number: usize| numbers.as_ref().is_none_or(|own| own.contains(&number));
    // A triangle tells the other one, but where rows or columns are left out: then what stands above the diagonal is not known,
    // and the last row that is wanted is compared, with those below the last column.
    let is_mirrored = options.lower && !options.leaves_lines_out();
    let is_cut = options.lower && !is_mirrored;
    let end = options.rows.as_ref().and_then(|rows| rows.iter().copied().max()).filter(|_| is_cut);
    let is_met = |col: usize| wanted(&options.columns, col) && end.is_none_or(|end| col <= end);
    let vector: Vec<f64> =
        (0..pattern.cols()).map(|col| if is_met(col) { without_pattern(col) } else { 0.0 }).collect();
    let first = if is_cut { (0..pattern.cols()).rfind(|&col| is_met(col)).unwrap_or(0) } else { 0 };
    let types = &source.program.input_types()[..source.active];
    let expected = tangents(source, types, point, &vector).map_err(|error| error.at(Some(line)))?;
    let (mut got, mut size) = (vec![0.0; pattern.rows()], vec![0.0; pattern.rows()]);
    let mut add = |row: usize, col: usize, value: f64| {
        got[row] += value * vector[col];
        size[row] += (value * vector[col]).abs();
    };
    for ((row, col), &value) in pattern.entries().zip(values) {
        add(row, col, value);
        if is_mirrored && row != col {
            add(col, row, value);
        }
    }
    // The bound of a sum's rounding is relative to its terms; terms of the tangent itself are as large as the largest row, and a row
    // in which they cancel has roundings of those.
    let single = types.iter().any(|ty| ty.dtype == crate::array::DType::F32);
    let (unit, rounding) = if single { (1e-4, f64::from(f32::EPSILON)) } else { (1e-9, f64::EPSILON) };
    let finite = size.iter().chain(&expected).filter(|size| size.is_finite());
    let largest = finite.fold(0.0, |most: f64, size| most.max(size.abs()));
    let cancelled = ROUNDINGS * rounding * largest;
    let differs = |&row: &usize| {
        let near = (got[row] - expected[row]).abs() <= unit * (size[row] + expected[row].abs()) + cancelled;
        let same =
            near || got[row].to_bits() == expected[row].to_bits() || (got[row].is_nan() && expected[row].is_nan());
        row >= first && wanted(&options.rows, row) && !same
    };
    match (0..pattern.rows()).find(differs) {
        Some(row) => {
            let why = format!(
                "row {row} times a vector is {:?}, and by the tangent of the function {:?}: the pattern lacks an entry that this \
                 row has, or one that was taken for part of another",
                got[row], expected[row]
            );
            Err(Error::new(ErrorKind::Run, "verify", why).at(Some(line)))
        }
        None => Ok(()),
    }
}

/// Roundings of the largest row that a smaller one may have.
const ROUNDINGS: f64 = 64.0;

/// Numbers between 1 and 2 without a pattern: by the fractional parts of multiples of the golden ratio.
fn without_pattern(k: usize) -> f64 {
    1.0 + ((k + 1) as f64 * 0.618_033_988_749_895).fract()
}

/// The product of the Jacobian of a source with a vector at a point.
fn tangents(source: &Source, types: &[Type], point: &[Tensor], vector: &[f64]) -> Result<Vec<f64>, Error> {
    let program = transform::derive(Task::Jvp, &source.program, source.active)?;
    let mut rest = vector;
    let own = |ty: &Type| {
        let (own, others) = rest.split_at(ty.size());
        rest = others;
        as_type(own, ty)
    };
    let vectors: Vec<Array> = types.iter().map(own).collect();
    let point: Vec<Array> = point.iter().filter_map(|leaf| leaf.known().cloned()).collect();
    let inputs: Vec<&Array> = point.iter().chain(source.captured()).chain(&vectors).collect();
    let results = execute::apply(&program, inputs.into_iter())?;
    let outputs = source.program.output_types().len();
    Ok(results.iter().skip(outputs).flat_map(|result| result.to_f64()).collect())
}
