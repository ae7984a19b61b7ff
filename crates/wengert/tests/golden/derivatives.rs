//! The family `higher_order`: each case says in words what its outputs are.

use wengert::{Dual, Real, Var, grad, hessian, hvp, jacobian, jvp, lift, vjp};

use crate::array::Trouble;
use crate::compare::compare_shaped;
use crate::functions::higher::{curve, nested, scalar, vector};
use crate::load::Case;
use crate::orders;

type Twofold = Dual<Dual>;
type Threefold = Dual<Dual<Dual>>;

/// Results, one array per output, and the way they were computed.
type Way = (&'static str, Vec<Result2>);

/// Shape and numbers of one output.
type Result2 = (Vec<usize>, Vec<f64>);

pub(crate) fn check(case: &Case) -> Result<(), Trouble> {
    let inputs: Vec<&[f64]> = case.inputs.iter().map(|input| &input.data[..]).collect();
    for (way, results) in ways(case, &inputs)? {
        if results.len() != case.outputs.len() {
            return Err(Trouble::Misfit(format!("{way}: {} outputs instead of {}", results.len(), case.outputs.len())));
        }
        for (k, ((shape, data), want)) in results.iter().zip(&case.outputs).enumerate() {
            let what = format!("{way}: output {k}");
            compare_shaped(&what, (shape, data), (&want.shape, &want.data), case.rtol, case.atol)?;
        }
    }
    Ok(())
}

/// The quantity of the case in every way it can be computed.
fn ways(case: &Case, inputs: &[&[f64]]) -> Result<Vec<Way>, Trouble> {
    let (name, what) = (case.function.as_str(), case.text("what"));
    let unsupported = || Trouble::Unsupported(format!("{name}: {what}"));
    let x = *inputs.first().ok_or_else(|| "there is no input".to_owned())?;
    if inputs[1..].iter().any(|other| other.is_empty()) {
        return Err(Trouble::Misfit("an input is empty".to_owned()));
    }
    if what.starts_with("rows k=0..") {
        let highest = case.outputs.first().and_then(|rows| rows.shape.first()).map_or(0, |rows| rows - 1);
        return rising_orders(name, x, highest).ok_or_else(unsupported);
    }
    if what.starts_with("the number described by the formula") {
        let [x] = *x else { return Err(Trouble::Misfit("one number is needed".to_owned())) };
        let ways = nested(name, x).ok_or_else(unsupported)?;
        return Ok(ways.into_iter().map(|(way, value)| (way, vec![(Vec::new(), vec![value])])).collect());
    }
    if scalar::<f64>(name, x).is_some() {
        return scalar_ways(name, what, x, &inputs[1..]).ok_or_else(unsupported);
    }
    if vector::<f64>(name, x).is_some() {
        return vector_ways(name, what, x, &inputs[1..]).ok_or_else(unsupported);
    }
    Err(unsupported())
}

/// Every derivative from order 0 to the highest, at every point.
fn rising_orders(name: &str, points: &[f64], highest: usize) -> Option<Vec<Way>> {
    curve(name, 0.5)?;
    let found = |x: Var| curve(name, x).expect("the name was found before");
    let shape = vec![highest + 1, points.len()];
    let nested = |order: usize| points.iter().map(move |&x| orders::nested(order, lift(x), &found).value());
    let series: Vec<Vec<f64>> = points.iter().map(|&x| orders::series(highest, x, found)).collect();
    let by_series = |order: usize| series.iter().map(move |derivatives| derivatives[order]);
    Some(vec![
        ("grad of grad", vec![(shape.clone(), (0..=highest).flat_map(nested).collect())]),
        ("taylor", vec![(shape, (0..=highest).flat_map(by_series).collect())]),
    ])
}

fn constants(x: &[f64]) -> Vec<Var> {
    x.iter().map(|&x| lift(x)).collect()
}

fn unit(n: usize, k: usize) -> Vec<f64> {
    (0..n).map(|i| f64::from(u8::from(i == k))).collect()
}

/// `x` with directions for two derivatives.
fn twofold(x: &[f64], v: &[f64], w: &[f64]) -> Vec<Twofold> {
    let dual = |i: usize| Dual::new(Dual::new(x[i], v[i]), Dual::new(w[i], 0.0));
    (0..x.len()).map(dual).collect()
}

/// `x` with directions for three derivatives.
fn threefold(x: &[f64], u: &[f64], v: &[f64], w: &[f64]) -> Vec<Threefold> {
    let constant = <Twofold as Real>::constant;
    let lower = twofold(x, u, v);
    (0..x.len()).map(|i| Dual::new(lower[i], constant(w[i]))).collect()
}

/// Quantities of a scalar function; `others` are the directions.
fn scalar_ways(name: &str, what: &str, x: &[f64], others: &[&[f64]]) -> Option<Vec<Way>> {
    let n = x.len();
    let found = |x: Option<Var>| x.expect("the name was found before");
    let f = |x: Vec<Var>| found(scalar(name, &x));
    let second = |v: &[f64], w: &[f64]| scalar(name, &twofold(x, v, w)).map(|y| y.tangent().tangent());
    let third =
        |u: &[f64], v: &[f64], w: &[f64]| scalar(name, &threefold(x, u, v, w)).map(|y| y.tangent().tangent().tangent());
    let cells = |n: usize| (0..n).flat_map(move |i| (0..n).map(move |j| (i, j)));
    let point = x.to_vec();
    let vector = |data: Vec<f64>| (vec![n], data);
    let number = |value: f64| (Vec::new(), vec![value]);
    let start = |prefix: &str| what.starts_with(prefix);
    Some(if start("gradient, Hessian") {
        let gradient = vector(grad(x, f));
        let hessians: [(&'static str, Vec<f64>); 4] = [
            ("forward over backward", hessian(x, f).concat()),
            ("backward over backward", jacobian(x, |x: Vec<Var>| grad(x, f)).concat()),
            ("backward over forward", {
                let row = |k| grad(x, |x: Vec<Var>| jvp(x, constants(&unit(n, k)), f).1);
                (0..n).flat_map(row).collect()
            }),
            ("dual of dual", cells(n).map(|(i, j)| second(&unit(n, i), &unit(n, j))).collect::<Option<_>>()?),
        ];
        hessians.into_iter().map(|(way, rows)| (way, vec![gradient.clone(), (vec![n, n], rows)])).collect()
    } else if start("T[i,j,k]=d3f") {
        let nested: Vec<Vec<Vec<f64>>> = jacobian(x, |x: Vec<Var>| grad_of_columns(&x, &f));
        let duals = cells(n).flat_map(|(i, j)| (0..n).map(move |k| (i, j, k)));
        let duals: Option<Vec<f64>> = duals.map(|(i, j, k)| third(&unit(n, i), &unit(n, j), &unit(n, k))).collect();
        let shape = vec![n, n, n];
        vec![
            ("jacobian of hessian", vec![(shape.clone(), nested.concat().concat())]),
            ("dual of dual of dual", vec![(shape, duals?)]),
        ]
    } else if start("sum_ijkl T4") {
        let &[u, v, w] = sized(others, n)?;
        let along = |x: Vec<Var>| {
            jvp(x, constants(w), |x: Vec<Var>| jvp(x, constants(v), |x: Vec<Var>| jvp(x, constants(u), f).1).1).1
        };
        let three =
            |x: Vec<Var>| jvp(x, constants(v), |x: Vec<Var>| grad(x, |x: Vec<Var>| jvp(x, constants(u), f).1)).1;
        vec![
            ("grad of jvps", vec![vector(grad(x, along))]),
            ("jvp of jvp of grad of jvp", vec![vector(jvp(point, w.to_vec(), three).1)]),
        ]
    } else if start("H v by forward-over-reverse") {
        let &[u, v] = sized(others, n)?;
        let uhv = || second(u, v);
        let by_drivers = hvp(x, v.to_vec(), f);
        let by_jvp = jvp(x, v.to_vec(), |x: Vec<Var>| grad(x, f)).1;
        let product = u.iter().zip(&by_drivers).map(|(u, hv)| u * hv).sum();
        let cube = |x: Vec<Var>| jvp(x, constants(v), |x: Vec<Var>| jvp(x, constants(v), f).1).1;
        vec![
            ("hvp", vec![vector(by_drivers), number(product), number(jvp(x, v.to_vec(), cube).1)]),
            ("jvp of grad", vec![vector(by_jvp), number(uhv()?), number(third(v, v, v)?)]),
        ]
    } else if start("trace of the Hessian") {
        let rows = hessian(x, f);
        let trace: Option<f64> = (0..n).map(|k| second(&unit(n, k), &unit(n, k))).sum();
        vec![("hessian", vec![number((0..n).map(|k| rows[k][k]).sum())]), ("dual of dual", vec![number(trace?)])]
    } else if start("gradient of |grad f|^2") {
        let square = |x: Vec<Var>| grad(x, f).into_iter().map(|slope| slope * slope).sum::<Var>();
        let twice: Vec<f64> = hvp(x, grad(x, f), f).into_iter().map(|entry| 2.0 * entry).collect();
        vec![("grad of grad", vec![vector(grad(x, square))]), ("hvp", vec![vector(twice)])]
    } else {
        return None;
    })
}

/// The Hessian of `f` at variables of an outer driver.
fn grad_of_columns(x: &[Var], f: &impl Fn(Vec<Var>) -> Var) -> Vec<Vec<Var>> {
    hessian(x, f)
}

/// Quantities of a vector function; `others` are the directions.
fn vector_ways(name: &str, what: &str, x: &[f64], others: &[&[f64]]) -> Option<Vec<Way>> {
    let (n, m) = (x.len(), vector::<f64>(name, x)?.len());
    let f = |x: Vec<Var>| vector(name, &x).expect("the name was found before");
    let rows = || -> Vec<Vec<f64>> { jacobian(x, f) };
    let pulled = |x: Vec<Var>, c: &[f64]| vjp(x, f).1.pull(constants(c));
    let second = |v: &[f64], w: &[f64]| -> Option<Vec<f64>> {
        Some(vector(name, &twofold(x, v, w))?.into_iter().map(|y| y.tangent().tangent()).collect())
    };
    let start = |prefix: &str| what.starts_with(prefix);
    Some(if start("Jacobian J[i,j]") {
        let columns: Vec<Vec<f64>> = (0..n).map(|k| jvp(x, unit(n, k), f).1).collect();
        let (_, pullback) = vjp(x.to_vec(), f);
        let by_rows: Vec<f64> = (0..m).flat_map(|k| pullback.pull(unit(m, k))).collect();
        let by_columns = (0..m).flat_map(|i| columns.iter().map(move |column| column[i])).collect();
        let shape = vec![m, n];
        [("jacobian", rows().concat()), ("forward", by_columns), ("backward", by_rows)]
            .into_iter()
            .map(|(way, data)| (way, vec![(shape.clone(), data)]))
            .collect()
    } else if start("derivative along v of x -> J(x)^T c") || start("J' of x -> J(x) v") {
        let &[v, c] = others else { return None };
        if v.len() != n || c.len() != m {
            return None;
        }
        let forward = jvp(x, v.to_vec(), |x: Vec<Var>| pulled(x, c)).1;
        let (_, pullback) = vjp(x.to_vec(), |x: Vec<Var>| jvp(x, constants(v), f).1);
        let backward = pullback.pull(c.to_vec());
        vec![("jvp of vjp", vec![(vec![n], forward)]), ("vjp of jvp", vec![(vec![n], backward)])]
    } else if start("d2f[v,v2]") {
        let &[v, w] = sized(others, n)?;
        let nested = jvp(x, w.to_vec(), |x: Vec<Var>| jvp(x, constants(v), f).1).1;
        vec![("jvp of jvp", vec![(vec![m], nested)]), ("dual of dual", vec![(vec![m], second(v, w)?)])]
    } else if start("D[i,j,k]=d2f_i") {
        let nested: Vec<Vec<Vec<f64>>> = jacobian(x, |x: Vec<Var>| -> Vec<Vec<Var>> { jacobian(x, f) });
        let cell = |j: usize, k: usize| second(&unit(n, j), &unit(n, k));
        let mut duals = vec![0.0; m * n * n];
        for (j, k) in (0..n).flat_map(|j| (0..n).map(move |k| (j, k))) {
            for (i, value) in cell(j, k)?.into_iter().enumerate() {
                duals[(i * n + j) * n + k] = value;
            }
        }
        let shape = vec![m, n, n];
        vec![
            ("jacobian of jacobian", vec![(shape.clone(), nested.concat().concat())]),
            ("dual of dual", vec![(shape, duals)]),
        ]
    } else if start("J^T J and J J^T") {
        let j = rows();
        let columns: Vec<Vec<f64>> = (0..n).map(|k| j.iter().map(|row| row[k]).collect()).collect();
        let gram = |rows: &[Vec<f64>]| -> Result2 {
            let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
            let data = rows.iter().flat_map(|a| rows.iter().map(move |b| dot(a, b))).collect();
            (vec![rows.len(); 2], data)
        };
        vec![("jacobian", vec![gram(&columns), gram(&j)])]
    } else {
        return None;
    })
}

/// This many directions, each of length `n`.
fn sized<'d, 'x, const N: usize>(others: &'d [&'x [f64]], n: usize) -> Option<&'d [&'x [f64]; N]> {
    let others: &[&[f64]; N] = others.try_into().ok()?;
    others.iter().all(|other| other.len() == n).then_some(others)
}
