//! The family `mgh_hessian` as array programs: sums of squares of residuals.

use wengert::{Tensor, jacobian, jvp, vjp};

use super::check::{Bound, compare_outputs, gradient_and_hessian, near};
use crate::array::Trouble;
use crate::load::Case;

pub(crate) fn check(case: &Case) -> Result<(), Trouble> {
    let residuals = [case.array("residuals")?];
    let bound = Bound::new("mgh_hessian", case, &residuals);
    let point = bound.point();
    let outputs = bound.call(&point)?;
    compare_outputs("array residuals", &outputs, &residuals, case)?;
    let square_sum = |x: Vec<Tensor>| bound.reals(&x).remove(0).square().sum();
    let want = case.outputs.first().ok_or_else(|| "`outputs` is empty".to_owned())?;
    near("array sum of squares", &square_sum(point.clone()), want, case)?;
    jacobians(&bound, case, &point)?;
    Ok(gradient_and_hessian(case, &point, square_sum)?)
}

/// The Jacobian of the residuals: by the driver, row by row, and column by column.
fn jacobians(bound: &Bound, case: &Case, point: &[Tensor]) -> Result<(), String> {
    let want = case.array("jacobian")?;
    let residuals = |x: Vec<Tensor>| bound.reals(&x).remove(0);
    near("array jacobian", &jacobian(point, residuals).dense(), &want, case)?;
    let [height, width] = want.shape[..] else { return Err("`jacobian` is no matrix".to_owned()) };
    let (_, pullback) = vjp(point.to_vec(), residuals);
    let rows: Vec<Tensor> = (0..height).map(|k| pullback.pull(unit(height, k)).remove(0)).collect();
    near("array rows by vjp", &Tensor::stack(&rows.iter().collect::<Vec<_>>(), 0), &want, case)?;
    let columns: Vec<Tensor> = (0..width).map(|k| jvp(point, [unit(width, k)], residuals).1).collect();
    near("array columns by jvp", &Tensor::stack(&columns.iter().collect::<Vec<_>>(), 1), &want, case)
}

fn unit(n: usize, k: usize) -> Tensor {
    Tensor::from((0..n).map(|i| f64::from(u8::from(i == k))).collect::<Vec<f64>>())
}
