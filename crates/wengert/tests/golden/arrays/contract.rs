//! The family `contract`: products of arrays.

use wengert::Tensor;

use super::{ArrayArgs, Results, misfit, one, unsupported};
use crate::array::Trouble;

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
            let inputs: Vec<&Tensor> = args.inputs.iter().collect();
            Tensor::einsum(&spelled(spec, &inputs)?, &inputs)
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

/// A specification whose `...` are written as letters of their own, matched from the last axis.
fn spelled(spec: &str, inputs: &[&Tensor]) -> Result<String, Trouble> {
    let count = |labels: &str| labels.chars().filter(char::is_ascii_alphabetic).count();
    let operands = spec.split("->").next().unwrap_or_default().split(',');
    let hidden = operands.zip(inputs).filter(|(labels, _)| labels.contains("..."));
    let ranks: Vec<usize> = hidden.map(|(labels, input)| input.rank().saturating_sub(count(labels))).collect();
    let Some(&rank) = ranks.first() else { return Ok(spec.to_owned()) };
    if ranks.iter().any(|&other| other != rank) {
        return misfit(format!("the `...` of `{spec}` stand for different numbers of axes"));
    }
    let free: Vec<char> = ('A'..='Z').filter(|&letter| !spec.contains(letter)).take(rank).collect();
    Ok(spec.replace("...", &free.into_iter().collect::<String>()))
}
