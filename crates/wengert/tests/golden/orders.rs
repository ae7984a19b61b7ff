//! The family `unary_higher`: derivatives of rising order at several points.

use wengert::{Dual, Real, Taylor, Var, grad, taylor};

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
fn fourfold(name: &str, x: f64) -> [f64; 5] {
    let y = found(name, Dual::variable(Dual::variable(Dual::variable(Dual::variable(x)))) as Fourfold);
    [
        y.re().re().re().re(),
        y.tangent().re().re().re(),
        y.tangent().tangent().re().re(),
        y.tangent().tangent().tangent().re(),
        y.tangent().tangent().tangent().tangent(),
    ]
}

/// The derivatives up to this order, from the Taylor series of the recorded function.
pub(crate) fn series(highest: usize, x: f64, f: impl FnOnce(Var) -> Var) -> Vec<f64> {
    let factorials = (1..).scan(1.0, |factorial, k| Some(std::mem::replace(factorial, *factorial * f64::from(k))));
    taylor(x, 1.0, highest, f).into_iter().zip(factorials).map(|(c, factorial)| c * factorial).collect()
}

/// The stored derivatives: what another system gave, and the exact ones, if the case has them. Where
/// its notes say that the former are the less accurate ones, only the latter count.
pub(crate) fn wanted(case: &Case) -> Result<Vec<Vec<Stored>>, Trouble> {
    let mut wants = vec![case.outputs.clone()];
    if case.object.contains_key("exact") {
        let exact = list(&case.object, "exact")?.iter().map(Stored::parse).collect::<Result<Vec<_>, _>>()?;
        if case.text("notes").contains("compare with `exact`") {
            wants.clear();
        }
        wants.push(exact);
    }
    Ok(wants)
}

pub(crate) fn check(case: &Case) -> Result<(), Trouble> {
    let name = case.function.as_str();
    if unary(name, 0.5).is_none() {
        return Err(Trouble::Unsupported(name.to_owned()));
    }
    let [input] = &case.inputs[..] else {
        return Err(Trouble::Misfit(format!("{} inputs instead of one", case.inputs.len())));
    };
    for want in wanted(case)? {
        for (order, want) in want.iter().enumerate() {
            let near = |how: &str, got: Vec<f64>| {
                let what = format!("{how}: order {order}");
                compare_shaped(&what, (&input.shape, &got), (&want.shape, &want.data), case.rtol, case.atol)
            };
            if order == 0 {
                near("f64", input.data.iter().map(|&x| found(name, x)).collect())?;
            }
            let backward = |&x: &f64| nested(order, wengert::lift(x), &|x| found(name, x)).value();
            near("grad of grad", input.data.iter().map(backward).collect())?;
            if order <= 4 {
                near("dual of dual", input.data.iter().map(|&x| fourfold(name, x)[order]).collect())?;
                let carrier = |&x: &f64| found(name, Taylor::<5>::variable(x)).derivative(order);
                near("Taylor", input.data.iter().map(carrier).collect())?;
            }
            let recorded = |&x: &f64| series(order, x, |x| found(name, x))[order];
            near("taylor", input.data.iter().map(recorded).collect())?;
        }
    }
    Ok(())
}

fn found<R: Real>(name: &str, x: R) -> R {
    unary(name, x).expect("the name was found before")
}
