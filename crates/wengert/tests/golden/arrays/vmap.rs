//! The family `vmap`: functions of one example, mapped over axes.

use wengert::{ConvOptions, Tensor, Vmap, cond, grad, hessian, vjp, vmap, while_loop};

use super::shape::blocks;
use super::{ArrayArgs, Results, misfit, one, unsupported};

pub(super) fn call(function: &str, args: &ArrayArgs) -> Results {
    if args.attrs.given("in_axes").is_none() {
        return whole(function, args);
    }
    let places = args.attrs.one_or_more("out_axes")?;
    mapped(args, &places, |x| example(function, x))
}

/// `f` mapped over `in_axes` of the attributes, the results stacked at `places`.
pub(super) fn mapped(args: &ArrayArgs, places: &[usize], f: impl FnOnce(&[Tensor]) -> Results) -> Results {
    let ranks: Vec<usize> = args.inputs.iter().map(Tensor::rank).collect();
    let axes = args.attrs.maybe_axes("in_axes", &ranks)?;
    let mut trouble = None;
    let results = Vmap::new().inputs(&axes).outputs(places).try_run(args.inputs.clone(), |x: Vec<Tensor>| {
        f(&x).unwrap_or_else(|why| {
            trouble = Some(why);
            Vec::new()
        })
    });
    match (trouble, results) {
        (Some(trouble), _) => Err(trouble),
        (None, Ok(results)) => Ok(results),
        (None, Err(error)) => misfit(error.to_string()),
    }
}

/// The function of one example.
fn example(function: &str, x: &[Tensor]) -> Results {
    match (function, x) {
        ("two_outputs", [x]) => Ok(vec![x.sin(), x.cumsum(0)]),
        (function, [x]) => of_one(function, x),
        (function, [x, y]) => of_two(function, x, y),
        (function, [x, y, z]) => of_three(function, x, y, z),
        (function, _) => unsupported(function),
    }
}

fn of_one(function: &str, x: &Tensor) -> Results {
    one(match function {
        "sum_reduce" => x.square().sum(),
        "softmax_row" => x.softmax(-1),
        "cond_select" if x.rank() == 0 => cond(&x.gt(0.0), x, |x| x.sin(), |x| x.square()),
        "cond_select" => x.gt(0.0).where_(x.sin(), x.square()),
        "while_lane_counts" => while_loop(x, |y| y.lt(10.0), |y| y * x),
        "sort" => x.sort(-1),
        "cholesky_logdet" => (x.matmul(&x.t()) + Tensor::eye(2)).cholesky().diagonal(0).ln().sum(),
        "per_example_hessian" => hessian(x, |x| x.powi(3).sum() + x.prod()),
        other => return unsupported(other),
    })
}

fn of_two(function: &str, x: &Tensor, y: &Tensor) -> Results {
    one(match function {
        "dot" => x.dot(y),
        "matvec" => x.matmul(y),
        "solve" => (x + 3.0 * Tensor::eye(2)).solve(y),
        "sin_mul" => x.sin() * y,
        "gather" => x.take(y, 0),
        "dynamic_slice" => blocks(x, y, &[2]),
        "conv1d" => {
            let image = |x: &Tensor| x.reshape(&[1, 1, -1]);
            image(x).conv1d(&image(y), &ConvOptions::default()).flatten()
        }
        "per_example_vjp" => vjp(x, |x| x.sin() * x.dot(&x)).1.pull(y),
        other => return unsupported(other),
    })
}

fn of_three(function: &str, x: &Tensor, y: &Tensor, z: &Tensor) -> Results {
    one(match function {
        "scatter_add" => x.scatter_add(y, z, 0),
        "per_example_grad" => grad(x, |w| (w.dot(y).tanh() - z).square()),
        "ensemble_mlp" => (z.matmul(x) + y).tanh(),
        other => return unsupported(other),
    })
}

/// Functions that map inside.
fn whole(function: &str, args: &ArrayArgs) -> Results {
    one(match function {
        "nested_outer" => {
            let [x, y] = args.all()?;
            pairs(x, y, |x, y| (x * y).sin())
        }
        "nested_pairwise" => {
            let [x, y] = args.all()?;
            pairs(x, y, |x, y| (-(x - y).square().sum()).exp())
        }
        "nested_three" => {
            let [x, y] = args.all()?;
            pairs(x, &y.t(), |x, y| x.dot(y))
        }
        "grad_of_vmap_sum" => {
            let [w, x, y] = args.all()?;
            vmap((x, y), |(x, y)| (w.dot(&x) - y).square()).mean()
        }
        "collective_free_normalise" => {
            let [x] = args.all()?;
            let means = x.mean_over(0);
            vmap(x, |row| row - &means)
        }
        other => return unsupported(other),
    })
}

/// `f` of every pair, by two nested maps.
fn pairs(x: &Tensor, y: &Tensor, f: impl Fn(&Tensor, &Tensor) -> Tensor) -> Tensor {
    vmap(x, |x| vmap(y, |y| f(&x, &y)))
}
