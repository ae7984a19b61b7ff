//! The family `higher_order` as array programs: each case says in words what its outputs are.

use wengert::{Tensor, grad, hessian, hvp, jacobian, jvp, vjp};

use super::higher::{curve, nested, of_vector, scalar};
use super::{check, misfit, orders, tensor};
use crate::array::Trouble;
use crate::load::Case;

/// Results, one tensor per output, and the way they were computed.
type Way = (&'static str, Vec<Tensor>);

pub(crate) fn check(case: &Case) -> Result<(), Trouble> {
    let inputs: Vec<Tensor> = case.inputs.iter().map(tensor).collect();
    for (way, results) in ways(case, &inputs)? {
        check::compare_outputs(way, &results, &case.outputs, case)?;
    }
    Ok(())
}

/// The quantity of the case in every way it can be computed.
fn ways(case: &Case, inputs: &[Tensor]) -> Result<Vec<Way>, Trouble> {
    let (name, what) = (case.function.as_str(), case.text("what"));
    let unsupported = || Trouble::Unsupported(format!("{name}: {what}"));
    let Some((x, others)) = inputs.split_first() else { return misfit("there is no input") };
    if what.starts_with("rows k=0..") {
        let highest = case.outputs.first().and_then(|rows| rows.shape.first()).map_or(0, |rows| rows - 1);
        return rising_orders(name, x, highest).ok_or_else(unsupported);
    }
    if what.starts_with("the number described by the formula") {
        let ways = nested(name, &x.reshape(())).ok_or_else(unsupported)?;
        return Ok(ways.into_iter().map(|(way, value)| (way, vec![value])).collect());
    }
    if scalar(name, x).is_some() {
        let f = |x: Tensor| scalar(name, &x).expect("the name was found before");
        return of_scalar(what, x, others, &f).ok_or_else(unsupported);
    }
    if of_vector(name, x).is_some() {
        let f = |x: Tensor| of_vector(name, &x).expect("the name was found before");
        return of_vectors(what, x, others, &f).ok_or_else(unsupported);
    }
    Err(unsupported())
}

/// Every derivative from order 0 to the highest, at every point.
fn rising_orders(name: &str, x: &Tensor, highest: usize) -> Option<Vec<Way>> {
    curve(name, x)?;
    let f = |x: &Tensor| curve(name, x).expect("the name was found before");
    let rows = |by: &dyn Fn(usize) -> Tensor| {
        let rows: Vec<Tensor> = (0..=highest).map(by).collect();
        vec![Tensor::stack(&rows.iter().collect::<Vec<_>>(), 0)]
    };
    Some(vec![
        ("array grad of grad", rows(&|order| orders::backward(order, x, &f))),
        ("array jvp of jvp", rows(&|order| orders::forward(order, x, &f))),
    ])
}

/// Quantities of a scalar function at a point; the others are directions.
fn of_scalar(what: &str, x: &Tensor, others: &[Tensor], f: &impl Fn(Tensor) -> Tensor) -> Option<Vec<Way>> {
    let whole = |x: &Tensor| hessian(x, f);
    let along = |x: Tensor, v: &Tensor| jvp(x, v, f).1;
    Some(match (what, others) {
        (what, []) if what.starts_with("gradient, Hessian") => {
            let nested = jacobian(x, |x| grad(x, f));
            let over = |hessian: Tensor| vec![grad(x, f), hessian];
            vec![("array hessian", over(whole(x))), ("array jacobian of grad", over(nested))]
        }
        (what, []) if what.starts_with("T[i,j,k]=d3f") => {
            let by_hessian = jacobian(x, |x| whole(&x));
            let by_grad = jacobian(x, |x| jacobian(x, |x| grad(x, f)));
            vec![("array jacobian of hessian", vec![by_hessian]), ("array jacobian of jacobian of grad", vec![by_grad])]
        }
        (what, [u, v, w]) if what.starts_with("sum_ijkl T4") => {
            let twice = |x: Tensor| jvp(x, v, |x| along(x, u)).1;
            let by_grad = grad(x, |x| jvp(x, w, twice).1);
            let inner = |x: Tensor| jvp(x, v, |x| grad(x, |x| along(x, u))).1;
            vec![("array grad of jvps", vec![by_grad]), ("array jvp of jvp of grad", vec![jvp(x, w, inner).1])]
        }
        (what, [u, v]) if what.starts_with("H v by forward-over-reverse") => {
            let cube = jvp(x, v, |x| jvp(x, v, |x| along(x, v)).1).1;
            let product = jvp(x, v, |x| along(x, u)).1;
            let by_hvp = hvp(x, v, f);
            let by_jvp = jvp(x, v, |x| grad(x, f)).1;
            vec![
                ("array hvp", vec![by_hvp.clone(), u.dot(&by_hvp), cube.clone()]),
                ("array jvp of grad", vec![by_jvp, product, cube]),
            ]
        }
        (what, []) if what.starts_with("trace of the Hessian") => vec![("array hessian", vec![whole(x).trace()])],
        (what, []) if what.starts_with("gradient of |grad f|^2") => {
            let nested = grad(x, |x| grad(x, f).square().sum());
            vec![("array grad of grad", vec![nested]), ("array hvp", vec![hvp(x, grad(x, f), f) * 2.0])]
        }
        _ => return None,
    })
}

/// Quantities of a vector function at a point; the others are directions.
fn of_vectors(what: &str, x: &Tensor, others: &[Tensor], f: &impl Fn(Tensor) -> Tensor) -> Option<Vec<Way>> {
    let whole = |x: &Tensor| jacobian(x, f);
    Some(match (what, others) {
        (what, []) if what.starts_with("Jacobian J[i,j]") => {
            let (value, pullback) = vjp(x, f);
            let (rows, columns) = (Tensor::eye(value.size()), Tensor::eye(x.size()));
            let backward: Vec<Tensor> = (0..value.size()).map(|k| pullback.pull(rows.slice(k as isize))).collect();
            let forward: Vec<Tensor> = (0..x.size()).map(|k| jvp(x, columns.slice(k as isize), f).1).collect();
            vec![
                ("array jacobian", vec![whole(x)]),
                ("array backward", vec![super::vector(&backward)]),
                ("array forward", vec![super::vector(&forward).t()]),
            ]
        }
        (what, [v, c])
            if what.starts_with("derivative along v of x -> J(x)^T c") || what.starts_with("J' of x -> J(x) v") =>
        {
            let forward = jvp(x, v, |x| vjp(x, f).1.pull(c)).1;
            let backward = vjp(x, |x| jvp(x, v, f).1).1.pull(c);
            vec![("array jvp of vjp", vec![forward]), ("array vjp of jvp", vec![backward])]
        }
        (what, [v, w]) if what.starts_with("d2f[v,v2]") => {
            vec![("array jvp of jvp", vec![jvp(x, w, |x| jvp(x, v, f).1).1])]
        }
        (what, []) if what.starts_with("D[i,j,k]=d2f_i") => {
            vec![("array jacobian of jacobian", vec![jacobian(x, |x| whole(&x))])]
        }
        (what, []) if what.starts_with("J^T J and J J^T") => {
            let j = whole(x);
            vec![("array jacobian", vec![j.t().matmul(&j), j.matmul(&j.t())])]
        }
        _ => return None,
    })
}
