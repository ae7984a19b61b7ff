//! The family `conventions`: what happens at kinks, ties and edges.
//!
//! A case passes if our gradient is one of those the file accepts, and our value is that of a
//! system with this gradient.

use wengert::{Dual, Real, Var, jvp, vjp};

use crate::array::Trouble;
use crate::arrays;
use crate::compare::compare;
use crate::functions::elementwise::{binary, unary};
use crate::load::ConventionCase;

/// Gradients and values at these points are simple numbers: a few roundings are allowed.
pub(crate) const RTOL: f64 = 1e-14;

/// Cases whose only answer is a value and a gradient that do not belong together: that of the value
/// would be (0, 0, 1). Only the gradient is asked for there.
const INCONSISTENT: &str = "x[idx] out of range, idx 5 of 3";

/// What we say at a point, flattened.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) value: Vec<f64>,
    pub(crate) gradient: Vec<f64>,
}

/// Whether our answers are acceptable, and the same by scalars and by arrays where both exist; tells
/// whether arrays were asked.
pub(crate) fn check(case: &ConventionCase) -> Result<bool, Trouble> {
    if let Some(refused) = arrays::conventions::refused(case) {
        return refused;
    }
    match (by_scalars(case), arrays::conventions::answer(case)) {
        (Err(Trouble::Unsupported(name)), Err(Trouble::Unsupported(_))) => Err(Trouble::Unsupported(name)),
        (Err(misfit @ Trouble::Misfit(_)), _) | (_, Err(misfit @ Trouble::Misfit(_))) => Err(misfit),
        (scalars, by_arrays) => {
            if let (Ok(scalars), Ok(by_arrays)) = (&scalars, &by_arrays)
                && !(equal(&by_arrays.value, &scalars.value) && equal(&by_arrays.gradient, &scalars.gradient))
            {
                return Err(Trouble::Misfit(format!("by scalars {scalars:?}, by arrays {by_arrays:?}")));
            }
            let asked = by_arrays.is_ok();
            for answer in [scalars, by_arrays].into_iter().flatten() {
                judge(case, &answer)?;
            }
            Ok(asked)
        }
    }
}

fn judge(case: &ConventionCase, Answer { value, gradient }: &Answer) -> Result<(), Trouble> {
    if !case.accept.iter().any(|accepted| equal(gradient, accepted)) {
        return Err(Trouble::Misfit(format!("the gradient is {gradient:?}, accepted are {:?}", case.accept)));
    }
    // Where no system that could be run has this gradient, `accept` alone decides.
    let mut values = case.systems.iter().filter(|(_, grad)| equal(gradient, grad)).map(|(value, _)| value).peekable();
    let asked = values.peek().is_some() && case.name != INCONSISTENT;
    if asked && !values.clone().any(|accepted| equal(value, accepted)) {
        let values: Vec<&Vec<f64>> = values.collect();
        return Err(Trouble::Misfit(format!("the value is {value:?}, with this gradient it is one of {values:?}")));
    }
    Ok(())
}

fn by_scalars(case: &ConventionCase) -> Result<Answer, Trouble> {
    let point: Vec<f64> = case.inputs.iter().flat_map(|(data, _)| data.clone()).collect();
    let value = evaluate(case, &point)?;
    let run = |x: Vec<Var>| evaluate(case, &x).expect("it ran over plain numbers");
    let (_, pullback) = vjp(point.clone(), run);
    let gradient = pullback.pull(vec![1.0; value.len()]);
    same_by_every_mode(case, &point, &gradient)?;
    Ok(Answer { value, gradient })
}

fn equal(got: &[f64], want: &[f64]) -> bool {
    compare("", got, want, RTOL, 0.0).is_ok()
}

/// Forward mode by the driver and by dual numbers, one input at a time, against the gradient.
fn same_by_every_mode(case: &ConventionCase, point: &[f64], gradient: &[f64]) -> Result<(), String> {
    let unit = |k: usize| (0..point.len()).map(|i| f64::from(u8::from(i == k))).collect::<Vec<f64>>();
    // A constant 0 as the other tangents would turn an infinite partial into 0 * inf; so they are
    // structurally zero here, as the untouched adjoints of reverse mode are.
    let by_dual = |k: usize| -> Vec<f64> {
        let seed = |(i, &x): (usize, &f64)| if i == k { Dual::variable(x) } else { Dual::lift(x) };
        let duals: Vec<Dual> = point.iter().enumerate().map(seed).collect();
        evaluate(case, &duals).expect("it ran over plain numbers").iter().map(|y| y.tangent()).collect()
    };
    for (k, &slope) in gradient.iter().enumerate() {
        compare("the dual's tangent", &[by_dual(k).iter().sum()], &[slope], RTOL, 0.0)?;
        if point.len() == 1 {
            let run = |x: Vec<Var>| evaluate(case, &x).expect("it ran over plain numbers");
            let (_, tangents) = jvp(point.to_vec(), unit(k), run);
            compare("the jvp", &[tangents.iter().sum()], &[slope], RTOL, 0.0)?;
        }
    }
    Ok(())
}

/// The outputs of the case's function at `x`.
fn evaluate<R: Real>(case: &ConventionCase, x: &[R]) -> Result<Vec<R>, Trouble> {
    let scalars = case.inputs.iter().all(|(_, scalar)| *scalar);
    let result = if scalars {
        special(&case.name, x).or_else(|| named(&case.name, x)).map(|y| vec![y])
    } else {
        of_vector(&case.name, x)
    };
    result.ok_or_else(|| Trouble::Unsupported(case.name.clone()))
}

/// Cases whose names are expressions in words.
fn special<R: Real>(name: &str, x: &[R]) -> Option<R> {
    let zero = R::constant(0.0);
    let &[x] = x else { return None };
    if let Some(power) = name.strip_prefix("x**") {
        // `x**3` is a whole exponent, `x**3.0` one that only happens to be whole.
        let exponent = power.split_whitespace().next()?;
        return match exponent.parse::<i32>() {
            Ok(n) => Some(x.powi(n)),
            Err(_) => exponent.parse::<f64>().ok().map(|exponent| x.powf(exponent)),
        };
    }
    let (expression, _) = name.split_once(" at ").unwrap_or((name, ""));
    Some(match expression {
        "max(x,0) x=0" => x.max(zero),
        "lax.clamp boundary" => x.clamp_to(zero, R::constant(1.0)),
        "where-NaN trap: where(x>0, sqrt(x), 0)" => R::select(zero.less(x), x.sqrt(), zero),
        "0*log(x)" => x.ln() * 0.0,
        "abs(x)*x" => x.abs() * x,
        "sqrt(x^2)" => x.powi(2).sqrt(),
        "sqrt(x^4)" => x.powi(4).sqrt(),
        _ => return None,
    })
}

/// A function that is named with its arguments.
pub(crate) struct Named<'n> {
    pub(crate) function: &'n str,
    pub(crate) constants: Vec<f64>,
}

impl<'n> Named<'n> {
    /// Names of the forms `f(a)`, `f(a,b)`, `f(a;constants)`, `f(constants)(a)` and `a/b`. The
    /// numbers of the arguments are those of the inputs; constants are read from the name.
    pub(crate) fn parse(name: &'n str) -> Option<Self> {
        let Some((function, rest)) = name.split_once('(') else {
            return name.contains('/').then(|| Named { function: "/", constants: Vec::new() });
        };
        let inside = rest.strip_suffix(')')?;
        let numbers =
            |text: &str| text.split(',').map(|number| number.trim().parse().ok()).collect::<Option<Vec<f64>>>();
        let constants = match (inside.split_once(';'), inside.split_once(")(")) {
            (Some((_, constants)), _) | (_, Some((constants, _))) => numbers(constants)?,
            _ => Vec::new(),
        };
        Some(Named { function, constants })
    }
}

fn named<R: Real>(name: &str, x: &[R]) -> Option<R> {
    let Named { function, constants } = Named::parse(name)?;
    match (function, x, &constants[..]) {
        ("/", &[a, b], []) => Some(a / b),
        ("leaky_relu", &[x], &[slope]) => Some(x.leaky_relu(slope)),
        ("clamp", &[x], &[low, high]) => Some(x.clamp_to(R::constant(low), R::constant(high))),
        (function, &[x], []) => unary(function, x),
        (function, &[x, y], []) => binary(function, x, y),
        _ => None,
    }
}

/// Functions of one vector that are loops over scalars and no named functions of arrays: those follow
/// the table of conventions, and not the chain rule through their parts.
fn of_vector<R: Real>(name: &str, x: &[R]) -> Option<Vec<R>> {
    let total = |x: &[R]| x.iter().copied().sum::<R>();
    let variance = |x: &[R]| {
        let mean = total(x) / x.len() as f64;
        x.iter().map(|&x| (x - mean).powi(2)).sum::<R>() / x.len() as f64
    };
    Some(match name {
        "norm1 with a 0" => vec![x.iter().map(|x| x.abs()).sum()],
        "prod one zero" | "empty prod" => vec![x.iter().copied().product()],
        "empty sum" => vec![total(x)],
        "empty mean" => vec![total(x) / x.len() as f64],
        "var of constant" => vec![variance(x)],
        "cumprod with zero" => {
            let mut product = R::constant(1.0);
            let mut running = |&x: &R| {
                product *= x;
                product
            };
            x.iter().map(&mut running).collect()
        }
        _ => return None,
    })
}
