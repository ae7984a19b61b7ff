//! The family `mgh_hessian`: sums of squares of residuals.

use wengert::{Dual, Var, jacobian, vjp};

use crate::array::Trouble;
use crate::bound::Bound;
use crate::check::{compare_outputs, gradient_and_hessian};
use crate::compare::{compare, compare_shaped};
use crate::load::Case;

pub(crate) fn check(case: &Case) -> Result<(), Trouble> {
    let residuals = case.array("residuals")?;
    let bound = Bound::new("mgh_hessian", case, vec![residuals.clone()]);
    let point = bound.point();
    let outputs = bound.call::<f64>(&point)?;
    compare_outputs("residuals", &outputs, std::slice::from_ref(&residuals), case, |x| x)?;
    let value: f64 = bound.leaves(&point).iter().map(|r| r * r).sum();
    let want = case.outputs.first().ok_or_else(|| "`outputs` is empty".to_owned())?;
    compare("sum of squares", &[value], &want.data, case.rtol, case.atol)?;
    jacobians(&bound, case, &point, residuals.data.len())?;
    let square_sum = |x: &[Var]| bound.leaves(x).into_iter().map(|r| r * r).sum();
    Ok(gradient_and_hessian(case, &point, square_sum)?)
}

/// The Jacobian of the residuals: by the driver, row by row, and column by column.
fn jacobians(bound: &Bound, case: &Case, point: &[f64], height: usize) -> Result<(), String> {
    let want = case.array("jacobian")?;
    let width = point.len();
    let near = |how: &str, got: &[f64]| {
        compare_shaped(how, (&[height, width], got), (&want.shape, &want.data), case.rtol, case.atol)
    };
    let rows: Vec<Vec<f64>> = jacobian(point.to_vec(), |x: Vec<Var>| bound.leaves(&x));
    near("jacobian", &rows.concat())?;
    let (_, pullback) = vjp(point.to_vec(), |x: Vec<Var>| bound.leaves(&x));
    let unit = |count: usize, k: usize| -> Vec<f64> { (0..count).map(|i| f64::from(u8::from(i == k))).collect() };
    let rows: Vec<Vec<f64>> = (0..height).map(|k| pullback.pull(unit(height, k))).collect();
    near("rows by vjp", &rows.concat())?;
    let column = |k: usize| -> Vec<f64> {
        let duals: Vec<Dual> = point.iter().zip(unit(width, k)).map(|(&x, x_dot)| Dual::new(x, x_dot)).collect();
        bound.leaves(&duals).iter().map(|y| y.tangent()).collect()
    };
    let columns: Vec<Vec<f64>> = (0..width).map(column).collect();
    let transposed: Vec<f64> = (0..height).flat_map(|i| columns.iter().map(move |column| column[i])).collect();
    near("columns by duals", &transposed)
}
