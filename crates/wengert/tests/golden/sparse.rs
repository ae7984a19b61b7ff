//! The family `sparse`: matrices given by the entries that are not structurally zero.

use wengert::sparsity::{Method, Pattern, SparseOptions};
use wengert::{Var, hessian, jacobian, record};

use crate::array::Trouble;
use crate::bound::Bound;
use crate::compare::compare_shaped;
use crate::load::Case;

/// Which derivative the matrix is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Jacobian,
    Hessian,
}

/// The matrix of a case.
pub(crate) struct Wanted {
    pub(crate) kind: Kind,
    pub(crate) shape: [usize; 2],
    rows: Vec<usize>,
    cols: Vec<usize>,
    values: Vec<f64>,
}

impl Wanted {
    /// Reads it; entries outside the matrix are refused.
    pub(crate) fn of(case: &Case) -> Result<Self, String> {
        let kind = match case.text("kind") {
            "jacobian" => Kind::Jacobian,
            "hessian" => Kind::Hessian,
            other => return Err(format!("`kind` is `{other}`")),
        };
        let shape = crate::load::naturals(crate::load::key(&case.object, "shape")?)?;
        let [height, width] = shape[..] else { return Err(format!("`shape` is {shape:?}, and no matrix'")) };
        let places = |name: &str, length: usize| -> Result<Vec<usize>, String> {
            let places: Vec<usize> = case.array(name)?.data.iter().map(|&place| place as usize).collect();
            match places.iter().find(|&&place| place >= length) {
                Some(place) => Err(format!("`{name}` has {place}, and there are {length}")),
                None => Ok(places),
            }
        };
        let (rows, cols, values) = (places("rows", height)?, places("cols", width)?, case.array("values")?.data);
        if rows.len() != cols.len() || rows.len() != values.len() {
            return Err(format!("{} rows, {} columns and {} values", rows.len(), cols.len(), values.len()));
        }
        Ok(Wanted { kind, shape: [height, width], rows, cols, values })
    }

    /// The entries (row, column).
    pub(crate) fn entries(&self) -> impl Iterator<Item = (usize, usize)> {
        self.rows.iter().copied().zip(self.cols.iter().copied())
    }

    /// The whole matrix, row by row.
    pub(crate) fn dense(&self) -> Vec<f64> {
        let mut dense = vec![0.0; self.shape[0] * self.shape[1]];
        self.entries().zip(&self.values).for_each(|((row, col), &value)| dense[row * self.shape[1] + col] = value);
        dense
    }
}

/// The dense matrix by scalars.
pub(crate) fn check(case: &Case) -> Result<(), Trouble> {
    let wanted = Wanted::of(case)?;
    let bound = Bound::new("sparse", case, case.outputs.clone());
    let point = bound.point();
    bound.call::<f64>(&point)?;
    let rows: Vec<Vec<f64>> = match wanted.kind {
        Kind::Jacobian => jacobian(point, |x: Vec<Var>| bound.leaves(&x)),
        Kind::Hessian => hessian(point, |x: Vec<Var>| bound.leaves(&x)[0]),
    };
    let shape = wanted.shape;
    compare_shaped("matrix", (&shape, &rows.concat()), (&shape, &wanted.dense()), case.rtol, case.atol)?;
    recorded(case, &wanted, &bound)
}

/// By a recorded function and every method: the pattern is the given one, and so are the values.
fn recorded(case: &Case, wanted: &Wanted, bound: &Bound) -> Result<(), Trouble> {
    let point = bound.point();
    let methods = match wanted.kind {
        Kind::Jacobian => [Method::Direct, Method::Columns, Method::Rows, Method::Bidirectional, Method::Dense],
        Kind::Hessian => [Method::EdgePushing, Method::Columns, Method::Star, Method::Acyclic, Method::Dense],
    };
    let near = |method: Method, pattern: &Pattern, values: Vec<f64>| -> Result<(), Trouble> {
        if !pattern.entries().eq(wanted.entries()) {
            return Err(Trouble::Misfit(format!("{method}: the pattern is another one")));
        }
        let count = [values.len()];
        let (got, want) = ((&count[..], &values[..]), (&count[..], &wanted.values[..]));
        Ok(compare_shaped(&format!("{method}"), got, want, case.rtol, case.atol)?)
    };
    for method in methods {
        let options = SparseOptions::default().method(method);
        let mut values = vec![0.0; wanted.values.len()];
        let pattern = match wanted.kind {
            Kind::Jacobian => {
                let f = record(point.clone(), |x: Vec<Var>| bound.leaves(&x));
                let prepared = options.recorded_jacobian(&f, &point).map_err(|error| error.to_string())?;
                prepared.evaluate(&point, &mut values).map_err(|error| error.to_string())?;
                prepared.pattern()
            }
            Kind::Hessian => {
                let f = record(point.clone(), |x: Vec<Var>| bound.leaves(&x)[0]);
                let prepared = options.recorded_hessian(&f, &point).map_err(|error| error.to_string())?;
                prepared.evaluate(&point, &mut values).map_err(|error| error.to_string())?;
                prepared.pattern()
            }
        };
        near(method, &pattern, values)?;
    }
    Ok(())
}
