//! The family `conventions` as array programs.

use wengert::primitives::{OutOfBounds, Write};
use wengert::{Pool, Tensor, grad, jvp, vjp};

use super::elementwise::{binary, unary};
use super::{misfit, vector};
use crate::array::Trouble;
use crate::compare::compare;
use crate::conventions::{Answer, Named, RTOL};
use crate::load::ConventionCase;

/// Value and gradient of the case's function.
pub(crate) fn answer(case: &ConventionCase) -> Result<Answer, Trouble> {
    let input = |(data, scalar): &(Vec<f64>, bool)| {
        if *scalar { Tensor::from(data[0]) } else { Tensor::from(data.clone()) }
    };
    let point: Vec<Tensor> = case.inputs.iter().map(input).collect();
    let Some(value) = evaluate(&case.name, &point) else { return Err(Trouble::Unsupported(case.name.clone())) };
    let run = |x: Vec<Tensor>| evaluate(&case.name, &x).expect("it ran over plain numbers");
    let (_, pullback) = vjp(&point, run);
    let gradient: Vec<f64> = pullback.pull(Tensor::ones(value.shape())).iter().flat_map(Tensor::to_vec).collect();
    if let [x] = &point[..] {
        same_forward(x, &gradient, |x| run(vec![x]))?;
    }
    Ok(Answer { value: value.to_vec(), gradient })
}

/// Forward mode against the gradient, one element at a time. A tangent of 0 beside an infinite
/// partial would be 0 * inf; so vectors whose gradient is not finite are left out.
fn same_forward(x: &Tensor, gradient: &[f64], f: impl Fn(Tensor) -> Tensor) -> Result<(), Trouble> {
    if x.size() > 1 && gradient.iter().any(|slope| !slope.is_finite()) {
        return Ok(());
    }
    for (k, &slope) in gradient.iter().enumerate() {
        let unit = (0..x.size()).map(|i| f64::from(u8::from(i == k))).collect::<Vec<f64>>();
        let (_, tangents) = jvp(x, Tensor::from_vec(x.shape(), unit), &f);
        compare("the array jvp", &[tangents.sum().item()], &[slope], RTOL, 0.0).or_else(misfit)?;
    }
    Ok(())
}

/// What has no derivative, or no value, here: an error with this in its message, where others give NaN.
const REFUSED: [(&str, &str); 2] = [
    ("eigh vectors repeated (identity), sum V", "the vectors of a repeated value have no derivative"),
    ("cholesky not positive definite", "its leading minor of order 2 is not positive"),
];

/// Whether the case is refused as it has to be, forward and backward; `None` of a case that has an answer.
pub(crate) fn refused(case: &ConventionCase) -> Option<Result<bool, Trouble>> {
    let (_, message) = REFUSED.into_iter().find(|(name, _)| *name == case.name)?;
    let x = Tensor::from(case.inputs[0].0.clone());
    let sum = |x: Tensor| of_matrix(&case.name, &x).expect("the cases that are refused are matrices").sum();
    let runs: [&dyn Fn() -> Tensor; 2] = [&|| grad(&x, sum), &|| jvp(&x, Tensor::ones(x.shape()), sum).1];
    for run in runs {
        let why = match std::panic::catch_unwind(std::panic::AssertUnwindSafe(run)) {
            Ok(slope) => format!("it gives {slope}"),
            Err(payload) => payload.downcast_ref::<String>().cloned().unwrap_or_default(),
        };
        if !why.contains(message) {
            return Some(misfit(format!("it has to be refused because {message}: {why}")));
        }
    }
    Some(Ok(true))
}

/// Functions of a matrix of two rows.
fn of_matrix(name: &str, x: &Tensor) -> Option<Tensor> {
    let matrix = || x.reshape(&[2, 2]);
    Some(match name {
        "det singular 2x2 (rank 1)" | "det zero matrix" => matrix().det(),
        "eigh vectors repeated (identity), sum V" => matrix().eigh().1,
        "eigvalsh gradient, weights (1,3)" => matrix().eigvalsh() * Tensor::from([1.0, 3.0]),
        "cholesky not positive definite" => matrix().cholesky(),
        _ => return None,
    })
}

/// The output of the function with this name at the inputs.
fn evaluate(name: &str, inputs: &[Tensor]) -> Option<Tensor> {
    match inputs {
        [x] if x.rank() == 0 => special(name, x).or_else(|| named(name, inputs)),
        [x] => of_matrix(name, x).or_else(|| of_vector(name, x)),
        inputs => named(name, inputs),
    }
}

/// Cases whose names are expressions in words.
fn special(name: &str, x: &Tensor) -> Option<Tensor> {
    if let Some(power) = name.strip_prefix("x**") {
        let exponent = power.split_whitespace().next()?;
        return match exponent.parse::<i32>() {
            Ok(n) => Some(x.powi(n)),
            Err(_) => exponent.parse().ok().map(|exponent| x.powf(exponent)),
        };
    }
    let (expression, _) = name.split_once(" at ").unwrap_or((name, ""));
    Some(match expression {
        "max(x,0) x=0" => x.maximum(0.0),
        "lax.clamp boundary" => x.clamp(0.0, 1.0),
        "where-NaN trap: where(x>0, sqrt(x), 0)" => x.gt(0.0).where_(x.sqrt(), 0.0),
        "0*log(x)" => x.ln() * 0.0,
        "abs(x)*x" => x.abs() * x,
        "sqrt(x^2)" => x.powi(2).sqrt(),
        "sqrt(x^4)" => x.powi(4).sqrt(),
        _ => return None,
    })
}

/// Functions that are named with their arguments.
fn named(name: &str, inputs: &[Tensor]) -> Option<Tensor> {
    let Named { function, constants } = Named::parse(name)?;
    function_of(function, inputs, &constants)
}

/// The named function of these inputs and constants.
pub(crate) fn function_of(function: &str, inputs: &[Tensor], constants: &[f64]) -> Option<Tensor> {
    match (function, inputs, constants) {
        ("/", [a, b], []) => Some(a / b),
        ("leaky_relu", [x], &[slope]) => Some(x.leaky_relu(slope)),
        ("clamp", [x], &[low, high]) => Some(x.clamp(low, high)),
        (function, [x], []) => unary(function, x),
        (function, [x, y], []) => binary(function, x, y),
        _ => None,
    }
}

/// Functions of one vector.
fn of_vector(name: &str, x: &Tensor) -> Option<Tensor> {
    let weights = || Tensor::iota(x.size()).to_f64() + 1.0;
    let (five, outside) = (Tensor::from([5i64]), |mode| x.take_or(&Tensor::from([5i64]), 0, mode));
    Some(match name {
        "norm2 of 0" => x.norm(),
        "norm1 with a 0" => x.abs().sum(),
        "max along dim, tied" => x.max_over(0),
        "reduce min tied" => x.min(),
        "median even" | "median odd, tied" => x.median(0),
        "top_k ties, k=2 of (1,2,2,2), weights (1,2)" => x.top_k(2, 0).0 * Tensor::from([1.0, 2.0]),
        "cummax ties, weights (1,2,3)" => x.cummax(0) * weights(),
        "prod one zero" | "empty prod" => x.prod(),
        "cumprod with zero" => x.cumprod(0),
        "logsumexp all -inf" | "logsumexp one +inf" | "empty logsumexp" => x.logsumexp(),
        "softmax with -inf, weights (1,2)" => x.softmax(0) * weights(),
        "std of constant" => x.std(0),
        "var of constant" => x.var(0),
        "max_pool1d window 2 tied" => {
            let pool = Pool { stride: [1], ..Pool::new([2]) };
            x.max_pool(&pool)
        }
        "sum of scatter set, repeated index" => {
            Tensor::zeros(&[x.size()]).scatter_set(&Tensor::zeros_of(wengert::DType::I64, &[x.size()]), x, 0)
        }
        "take out of range (clip mode), idx 5 of 3" => outside(OutOfBounds::Clamp),
        // Our fill is 0; NaN is put there by hand.
        "take out of range (fill mode), idx 5 of 3" => {
            five.lt(x.size() as i64).where_(outside(OutOfBounds::Fill), f64::NAN)
        }
        // By default an index out of range is an error here. Of the named modes it is the one that
        // fills which has the derivative 0.
        "x[idx] out of range, idx 5 of 3" => outside(OutOfBounds::Fill),
        "x.at[5].add out of range" => {
            x.scatter_or(&five, &vector(&[Tensor::from(1.0)]), 0, Write::Add, OutOfBounds::Fill)
        }
        "empty sum" => x.sum(),
        "empty mean" => x.mean(),
        _ => return None,
    })
}
