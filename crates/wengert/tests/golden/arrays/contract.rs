//! The family `contract`: products of arrays.

use wengert::Tensor;

use super::{ArrayArgs, Results, misfit, one, unsupported};

pub(super) fn call(function: &str, args: &ArrayArgs) -> Results {
    one(match function {
        "dot_general" => {
            let [x, y] = args.all()?;
            let axes = |name: &str| args.attrs.wholes(name);
            let contracted = [axes("lhs_contract")?, axes("rhs_contract")?];
            let batch = [axes("lhs_batch")?, axes("rhs_batch")?];
            x.dot_general(y, [&contracted[0], &contracted[1]], [&batch[0], &batch[1]])
        }
        "matmul" => {
            let [x, y] = args.all()?;
            x.matmul(y)
        }
        "cross" => {
            let [x, y] = args.all()?;
            x.cross(y, -1)
        }
        "trace" => args.first()?.trace(),
        "vdot" => {
            let [x, y] = args.all()?;
            x.vdot(y)
        }
        "einsum" => {
            let Some(spec) = args.attrs.given("spec").and_then(serde_json::Value::as_str) else {
                return misfit("`attrs.spec` is missing or no text");
            };
            Tensor::einsum(spec, &args.inputs.iter().collect::<Vec<_>>())
        }
        "quadratic_form" => {
            let [x, m] = args.all()?;
            x.dot(&m.dot(x))
        }
        "bilinear_layer" => {
            let [x, w, y] = args.all()?;
            Tensor::einsum("i,kij,j->k", &[x, w, y])
        }
        "matrix_power" => {
            let x = args.first()?;
            let n = if args.attrs.given("n").is_some() { args.attrs.count("n")? } else { 3 };
            if n == 0 {
                return one(Tensor::eye(x.shape()[0]));
            }
            (1..n).fold(x.clone(), |power, _| power.matmul(x))
        }
        "pairwise_sqdist" => {
            let [x, y] = args.all()?;
            (x.expand_dims(1) - y.expand_dims(0)).square().sum_over(-1)
        }
        other => return unsupported(other),
    })
}
