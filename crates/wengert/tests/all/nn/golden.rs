//! The golden cases of functions that exist here: values, forward and backward derivatives, Hessian products.

use std::path::Path;

use serde_json::Value;
use wengert::nn::{Visible, attention};
use wengert::prelude::*;

/// The function of a case: inputs and attributes to the result.
type Function = fn(&[Tensor], &Value) -> Tensor;

fn function(name: &str) -> Option<Function> {
    Some(match name {
        "softmax" => |x, attrs| x[0].softmax(attrs["axis"].as_i64().unwrap() as isize),
        "log_softmax" => |x, attrs| x[0].log_softmax(attrs["axis"].as_i64().unwrap() as isize),
        "layer_norm" => |x, attrs| x[0].layer_norm(&x[1], &x[2], attrs["eps"].as_f64().unwrap()),
        "batch_norm" => |x, attrs| x[0].batch_norm(&x[1], &x[2], attrs["eps"].as_f64().unwrap()),
        "linear_layer" => |x, _| x[2].linear(&x[0], &x[1]),
        "mse_linear" => |x, _| x[2].linear(&x[0], &x[1]).mse(&x[3]),
        "softmax_cross_entropy" => |x, _| x[0].softmax_cross_entropy(&x[1]).mean(),
        "binary_cross_entropy_logits" => |x, _| x[0].sigmoid_cross_entropy(&x[1]).mean(),
        "mlp_classifier" => |x, _| {
            let hidden = x[0].linear(&x[2], &x[3]).relu();
            hidden.linear(&x[4], &x[5]).softmax_cross_entropy(&x[1]).mean()
        },
        "attention" => |x, _| attention(&x[0], &x[1], &x[2], Visible::All),
        "causal_attention" => |x, _| {
            let [q, k, v] = [1, 2, 3].map(|place| x[0].matmul(&x[place]));
            attention(&q, &k, &v, Visible::Causal)
        },
        "embedding_bag" => |x, _| (x[0].embedding(&x[2]).sum_over(0).tanh() * &x[1]).sum(),
        _ => return None,
    })
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| value.as_str().unwrap().parse().unwrap())
}

fn numbers(array: &Value) -> Vec<f64> {
    array["data"].as_array().unwrap().iter().map(number).collect()
}

fn tensor(array: &Value) -> Tensor {
    let shape: Vec<usize> = array["shape"].as_array().unwrap().iter().map(|n| n.as_u64().unwrap() as usize).collect();
    let x = Tensor::from_vec(&shape, numbers(array));
    match array["dtype"].as_str().unwrap() {
        "f64" => x,
        "f32" => x.to_f32(),
        "i64" => x.to_i64(),
        other => panic!("there is no dtype {other} here"),
    }
}

struct Case {
    name: String,
    rtol: f64,
    atol: f64,
}

impl Case {
    fn compare(&self, what: &str, got: &Tensor, want: &Value) {
        let want = numbers(want);
        let largest = want.iter().filter(|x| x.is_finite()).fold(0.0, |largest: f64, x| largest.max(x.abs()));
        assert_eq!(got.size(), want.len(), "{}: {what}", self.name);
        for (got, want) in got.to_vec().iter().zip(&want) {
            let same = got == want || got.is_nan() && want.is_nan();
            assert!(
                same || (got - want).abs() <= self.atol + self.rtol * largest,
                "{}: {what} {got}, golden {want}",
                self.name
            );
        }
    }

    fn run(&self, f: Function, case: &Value) {
        let inputs: Vec<Tensor> = case["inputs"].as_array().unwrap().iter().map(tensor).collect();
        let real: Vec<usize> = (0..inputs.len()).filter(|&k| inputs[k].dtype().is_float()).collect();
        let pick = |key: &str| real.iter().map(|&k| tensor(&case[key][k])).collect::<Vec<Tensor>>();
        let at = |x: &[Tensor]| {
            let mut all = inputs.clone();
            real.iter().zip(x).for_each(|(&k, x)| all[k] = x.clone());
            f(&all, &case["attrs"])
        };
        let point: Vec<Tensor> = real.iter().map(|&k| inputs[k].clone()).collect();
        let (y, forward) = jvp(point.clone(), pick("tangents"), |x| at(&x));
        self.compare("value", &y, &case["outputs"][0]);
        self.compare("jvp", &forward, &case["jvp"][0]);
        let cotangent = tensor(&case["cotangents"][0]);
        let (_, pullback) = vjp(point.clone(), |x| at(&x));
        let slopes = pullback.pull(&cotangent);
        for (slope, &k) in slopes.iter().zip(&real) {
            self.compare("vjp", slope, &case["vjp"][k]);
        }
        if !case["hvp"].is_null() {
            for (product, &k) in hvp(point, pick("tangents"), |x| at(&x)).iter().zip(&real) {
                self.compare("hvp", product, &case["hvp"][k]);
            }
        }
    }
}

fn run_family(family: &str) -> usize {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("golden/data/{family}.json"));
    let text = std::fs::read_to_string(path).unwrap();
    let file: Value = serde_json::from_str(&text).unwrap();
    let mut count = 0;
    for case in file["cases"].as_array().unwrap() {
        let Some(f) = function(case["function"].as_str().unwrap()) else { continue };
        let [rtol, atol] = ["rtol", "atol"].map(|key| number(&case["tol"][key]));
        Case { name: case["name"].as_str().unwrap().to_owned(), rtol, atol }.run(f, case);
        count += 1;
    }
    count
}

#[test]
fn golden_cases() {
    assert_eq!(run_family("reduce"), 12);
    assert_eq!(run_family("composite"), 10);
}
