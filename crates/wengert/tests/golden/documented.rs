//! Our own table of conventions, row by row, over every carrier of derivatives.

use wengert::{Dual, F32, Real, Tensor, grad, jvp};

use crate::arrays;
use crate::compare::compare;

const INF: f64 = f64::INFINITY;
const NAN: f64 = f64::NAN;

/// A named function at a point with the value and the derivatives the table promises.
struct Row {
    function: &'static str,
    point: &'static [f64],
    value: f64,
    gradient: &'static [f64],
}

const fn row(function: &'static str, point: &'static [f64], value: f64, gradient: &'static [f64]) -> Row {
    Row { function, point, value, gradient }
}

const TABLE: &[Row] = &[
    row("abs", &[0.0], 0.0, &[0.0]),
    row("relu", &[0.0], 0.0, &[0.0]),
    row("sign", &[0.0], 0.0, &[0.0]),
    row("sign", &[-2.5], -1.0, &[0.0]),
    row("floor", &[1.0], 1.0, &[0.0]),
    row("floor", &[1.5], 1.0, &[0.0]),
    row("ceil", &[1.0], 1.0, &[0.0]),
    row("ceil", &[1.5], 2.0, &[0.0]),
    row("round", &[1.5], 2.0, &[0.0]),
    row("round", &[2.5], 2.0, &[0.0]),
    row("trunc", &[-1.5], -1.0, &[0.0]),
    row("trunc", &[0.0], 0.0, &[0.0]),
    row("relu6", &[0.0], 0.0, &[0.0]),
    row("relu6", &[6.0], 6.0, &[0.0]),
    row("clamp to [-1, 1]", &[-1.0], -1.0, &[0.0]),
    row("clamp to [-1, 1]", &[1.0], 1.0, &[0.0]),
    row("leaky_relu with slope 0.25", &[0.0], 0.0, &[0.25]),
    row("elu", &[0.0], 0.0, &[1.0]),
    row("celu with alpha 0.5", &[0.0], 0.0, &[1.0]),
    row("logit", &[0.0], -INF, &[INF]),
    row("logit", &[1.0], INF, &[INF]),
    row("entr", &[0.0], 0.0, &[INF]),
    row("entr", &[-1.0], -INF, &[NAN]),
    row("sqrt", &[0.0], 0.0, &[INF]),
    row("sqrt", &[-1.0], NAN, &[NAN]),
    row("cbrt", &[0.0], 0.0, &[INF]),
    row("rsqrt", &[0.0], INF, &[-INF]),
    row("asin", &[1.0], std::f64::consts::FRAC_PI_2, &[INF]),
    row("asin", &[-1.0], -std::f64::consts::FRAC_PI_2, &[INF]),
    row("acos", &[1.0], 0.0, &[-INF]),
    row("acos", &[-1.0], std::f64::consts::PI, &[-INF]),
    row("atanh", &[1.0], INF, &[INF]),
    row("atanh", &[-1.0], -INF, &[INF]),
    row("erfinv", &[1.0], INF, &[INF]),
    row("erfinv", &[-1.0], -INF, &[INF]),
    row("lgamma", &[0.0], INF, &[-INF]),
    row("lgamma", &[-1.0], INF, &[NAN]),
    row("lgamma", &[-2.0], INF, &[NAN]),
    row("max", &[1.0, 1.0], 1.0, &[0.5, 0.5]),
    row("min", &[1.0, 1.0], 1.0, &[0.5, 0.5]),
    row("max", &[0.0, -0.0], 0.0, &[0.5, 0.5]),
    row("max", &[1.0, NAN], NAN, &[0.0, 0.0]),
    row("max", &[NAN, 1.0], NAN, &[0.0, 0.0]),
    row("min", &[1.0, NAN], NAN, &[0.0, 0.0]),
    row("pow", &[0.0, 0.0], 1.0, &[0.0, 0.0]),
    row("pow", &[2.0, 0.0], 1.0, &[0.0, std::f64::consts::LN_2]),
    row("pow", &[-2.0, 0.0], 1.0, &[0.0, NAN]),
    row("pow", &[0.0, 2.0], 0.0, &[0.0, 0.0]),
    row("pow", &[0.0, 0.5], 0.0, &[INF, 0.0]),
    row("pow", &[-2.0, 3.0], -8.0, &[12.0, NAN]),
    row("atan2", &[0.0, 0.0], 0.0, &[NAN, NAN]),
    row("hypot", &[0.0, 0.0], 0.0, &[NAN, NAN]),
    row("copysign", &[0.0, 1.0], 0.0, &[0.0, 0.0]),
    row("copysign", &[0.0, -1.0], 0.0, &[0.0, 0.0]),
    row("xlogy", &[0.0, 0.0], 0.0, &[-INF, NAN]),
    row("xlog1py", &[0.0, -1.0], 0.0, &[-INF, NAN]),
    row("logaddexp", &[INF, INF], INF, &[NAN, NAN]),
    row("logaddexp", &[-INF, -INF], -INF, &[NAN, NAN]),
    row("max with the constant 0", &[0.0], 0.0, &[0.5]),
];

fn evaluate<R: Real>(function: &str, x: &[R]) -> R {
    let found = match (function, x) {
        ("clamp to [-1, 1]", &[x]) => Some(x.clamp_to(R::constant(-1.0), R::constant(1.0))),
        ("leaky_relu with slope 0.25", &[x]) => Some(x.leaky_relu(0.25)),
        ("celu with alpha 0.5", &[x]) => Some(x.celu(0.5)),
        ("max with the constant 0", &[x]) => Some(x.max(R::constant(0.0))),
        (name, &[x]) => crate::functions::elementwise::unary(name, x),
        (name, &[x, y]) => crate::functions::elementwise::binary(name, x, y),
        _ => None,
    };
    found.unwrap_or_else(|| panic!("the table names `{function}`, which does not exist"))
}

/// As [`evaluate`], of tensors.
fn by_arrays(function: &str, x: &[Tensor]) -> Tensor {
    let found = match (function, x) {
        ("clamp to [-1, 1]", [x]) => Some(x.clamp(-1.0, 1.0)),
        ("leaky_relu with slope 0.25", [x]) => Some(x.leaky_relu(0.25)),
        ("celu with alpha 0.5", [x]) => Some(x.celu(0.5)),
        ("logit", [x]) => Some(x.logit()),
        ("entr", [x]) => Some(x.entr()),
        ("max with the constant 0", [x]) => Some(x.maximum(0.0)),
        ("xlog1py", [x, y]) => Some(x.xlog1py(y)),
        (name, x) => arrays::conventions::function_of(name, x, &[]),
    };
    found.unwrap_or_else(|| panic!("the table names `{function}`, which tensors do not have"))
}

/// The rows by name, each with whether every carrier keeps it.
pub(crate) fn check_all() -> Vec<(String, Result<(), String>)> {
    TABLE.iter().map(|row| (format!("{}{:?}", row.function, row.point), check(row))).collect()
}

fn check(row: &Row) -> Result<(), String> {
    let (f, point) = (row.function, row.point);
    // f32 has seven digits; everything else here is exact or rounded once or twice.
    let near = |what: &str, got: &[f64], want: &[f64], rtol: f64| compare(what, got, want, rtol, 0.0);
    near("f64: value", &[evaluate(f, point)], &[row.value], 1e-15)?;
    near("grad", &grad(point, |x| evaluate(f, &x)), row.gradient, 1e-15)?;
    for (k, slope) in row.gradient.iter().enumerate() {
        let seed = |(i, &x): (usize, &f64)| if i == k { Dual::variable(x) } else { Dual::lift(x) };
        let duals: Vec<Dual> = point.iter().enumerate().map(seed).collect();
        near("dual", &[evaluate(f, &duals).tangent()], &[*slope], 1e-15)?;
        let seed = |(i, &x): (usize, &f64)| {
            let x = F32(x as f32);
            if i == k { Dual::variable(x) } else { Dual::lift(x) }
        };
        let duals: Vec<Dual<F32>> = point.iter().enumerate().map(seed).collect();
        near("dual of F32", &[f64::from(evaluate(f, &duals).tangent().0)], &[*slope], 1e-7)?;
    }
    let tensors: Vec<Tensor> = point.iter().map(|&x| Tensor::from(x)).collect();
    near("array: value", &[by_arrays(f, &tensors).item()], &[row.value], 1e-15)?;
    let gradient: Vec<f64> = grad(&tensors, |x: Vec<Tensor>| by_arrays(f, &x)).iter().map(Tensor::item).collect();
    near("array: grad", &gradient, row.gradient, 1e-15)?;
    if let [x] = *point {
        let (_, slope) = jvp(Tensor::from(x), Tensor::from(1.0), |x| by_arrays(f, &[x]));
        near("array: jvp", &[slope.item()], row.gradient, 1e-15)?;
        near("jvp", &[jvp(x, 1.0, |x| evaluate(f, &[x])).1], row.gradient, 1e-15)?;
    }
    Ok(())
}
