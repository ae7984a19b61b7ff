//! The family `unary_higher`: derivatives of rising order at several points.

use wengert::{Dual, Real, Var, grad};

use crate::array::Trouble;
use crate::compare::compare_shaped;
use crate::functions::elementwise::unary;
use crate::load::{Case, Stored, list};

/// Dual numbers of dual numbers: derivatives up to order four.
type Fourfold = Dual<Dual<Dual<Dual>>>;

/// The derivative of this order of `f`, backward over backward.
pub(crate) fn nested<F: Fn(Var) -> Var>(order: usize, x: Var, f: &F) -> Var {
    if order == 0 { f(x) } else { grad(x, |x| nested(order - 1, x, f)) }
}

/// The derivatives of orders 0 to 4 from one run.
pub(crate) fn fourfold(x: f64, f: impl Fn(Fourfold) -> Fourfold) -> [f64; 5] {
    let y = f(Dual::variable(Dual::variable(Dual::variable(Dual::variable(x)))));
    [
        y.re().re().re().re(),
        y.tangent().re().re().re(),
        y.tangent().tangent().re().re(),
        y.tangent().tangent().tangent().re(),
        y.tangent().tangent().tangent().tangent(),
    ]
}

pub(crate) fn check(case: &Case) -> Result<(), Trouble> {
    let name = case.function.as_str();
    if unary(name, 0.5).is_none() {
        return Err(Trouble::Unsupported(name.to_owned()));
    }
    let f = |x: f64| unary(name, x).expect("the name was found before");
    let [input] = &case.inputs[..] else {
        return Err(Trouble::Misfit(format!("{} inputs instead of one", case.inputs.len())));
    };
    let mut wants = vec![case.outputs.clone()];
    if case.object.contains_key("exact") {
        let exact = list(&case.object, "exact")?.iter().map(Stored::parse).collect::<Result<Vec<_>, _>>()?;
        if case.text("notes").contains("compare with `exact`") {
            wants.clear();
        }
        wants.push(exact);
    }
    for want in wants {
        for (order, want) in want.iter().enumerate() {
            let near = |how: &str, got: Vec<f64>| {
                let what = format!("{how}: order {order}");
                compare_shaped(&what, (&input.shape, &got), (&want.shape, &want.data), case.rtol, case.atol)
            };
            if order == 0 {
                near("f64", input.data.iter().map(|&x| f(x)).collect())?;
            }
            let backward = |&x: &f64| nested(order, wengert::lift(x), &|x| recorded(name, x)).value();
            near("grad of grad", input.data.iter().map(backward).collect())?;
            if order <= 4 {
                let forward = |&x: &f64| fourfold(x, |x| unary(name, x).expect("found before"))[order];
                near("dual of dual", input.data.iter().map(forward).collect())?;
            }
        }
    }
    Ok(())
}

fn recorded<R: Real>(name: &str, x: R) -> R {
    unary(name, x).expect("the name was found before")
}
