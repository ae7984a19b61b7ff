//! The family `higher_order`: each case says in words what its outputs are.

use wengert::{Dual, Real, Var, grad, hessian, hvp, jacobian, jvp, lift, vjp};

use crate::array::{Trouble, unravel};
use crate::compare::compare_shaped;
use crate::functions::higher::{curve, nested, scalar, vector};
use crate::load::Case;
use crate::orders;

type Twofold = Dual<Dual>;
type Threefold = Dual<Dual<Dual>>;

/// Results, one array per output, and the way they were computed.
type Way = (&'static str, Vec<Shaped>);

/// Shape and numbers of one output.
type Shaped = (Vec<usize>, Vec<f64>);

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
        return ScalarCase { name, x, others: &inputs[1..] }.ways(what).ok_or_else(unsupported);
    }
    if vector::<f64>(name, x).is_some() {
        return VectorCase { name, x, others: &inputs[1..] }.ways(what).ok_or_else(unsupported);
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

/// A scalar function at a point; the others are directions.
struct ScalarCase<'c> {
    name: &'c str,
    x: &'c [f64],
    others: &'c [&'c [f64]],
}

impl ScalarCase<'_> {
    fn ways(&self, what: &str) -> Option<Vec<Way>> {
        match what {
            what if what.starts_with("gradient, Hessian") => Some(self.gradient_and_hessian()),
            what if what.starts_with("T[i,j,k]=d3f") => Some(self.third_derivatives()),
            what if what.starts_with("sum_ijkl T4") => self.fourth_derivative_along(),
            what if what.starts_with("H v by forward-over-reverse") => self.hessian_products(),
            what if what.starts_with("trace of the Hessian") => Some(self.laplacian()),
            what if what.starts_with("gradient of |grad f|^2") => Some(self.gradient_of_gradient_norm()),
            _ => None,
        }
    }

    fn f<R: Real>(&self, x: &[R]) -> R {
        scalar(self.name, x).expect("the name was found before")
    }

    fn value(&self, x: Vec<Var>) -> Var {
        self.f(&x)
    }

    fn gradient(&self, x: Vec<Var>) -> Vec<Var> {
        grad(x, |x| self.value(x))
    }

    /// The derivative along `v`, at variables.
    fn along(&self, v: &[f64], x: Vec<Var>) -> Var {
        jvp(x, constants(v), |x| self.value(x)).1
    }

    fn second(&self, v: &[f64], w: &[f64]) -> f64 {
        self.f(&twofold(self.x, v, w)).tangent().tangent()
    }

    fn third(&self, u: &[f64], v: &[f64], w: &[f64]) -> f64 {
        self.f(&threefold(self.x, u, v, w)).tangent().tangent().tangent()
    }

    fn gradient_and_hessian(&self) -> Vec<Way> {
        let (x, n) = (self.x, self.x.len());
        let gradient = (vec![n], grad(x, |x| self.value(x)));
        let backward_over_forward = |k: usize| grad(x, |x| self.along(&unit(n, k), x));
        let dual = |k: usize| (0..n).map(|j| self.second(&unit(n, k), &unit(n, j))).collect::<Vec<f64>>();
        let hessians: [(&'static str, Vec<Vec<f64>>); 4] = [
            ("forward over backward", hessian(x, |x| self.value(x))),
            ("backward over backward", jacobian(x, |x| self.gradient(x))),
            ("backward over forward", (0..n).map(backward_over_forward).collect()),
            ("dual of dual", (0..n).map(dual).collect()),
        ];
        let with_gradient =
            |(way, rows): (_, Vec<Vec<f64>>)| (way, vec![gradient.clone(), (vec![n, n], rows.concat())]);
        hessians.into_iter().map(with_gradient).collect()
    }

    fn third_derivatives(&self) -> Vec<Way> {
        let n = self.x.len();
        let nested: Vec<Vec<Vec<f64>>> =
            jacobian(self.x, |x| -> Vec<Vec<Var>> { hessian(x, |x: Vec<Var>| self.value(x)) });
        let cell = |place: usize| {
            let index = unravel(place, &[n, n, n]);
            self.third(&unit(n, index[0]), &unit(n, index[1]), &unit(n, index[2]))
        };
        let duals = (0..n * n * n).map(cell).collect();
        vec![
            ("jacobian of hessian", vec![(vec![n; 3], nested.concat().concat())]),
            ("dual of dual of dual", vec![(vec![n; 3], duals)]),
        ]
    }

    fn fourth_derivative_along(&self) -> Option<Vec<Way>> {
        let (x, n) = (self.x, self.x.len());
        let &[u, v, w] = sized(self.others, n)?;
        let twice = |x: Vec<Var>| jvp(x, constants(v), |x| self.along(u, x)).1;
        let by_grad = grad(x, |x| jvp(x, constants(w), twice).1);
        let inner = |x: Vec<Var>| jvp(x, constants(v), |x| grad(x, |x| self.along(u, x))).1;
        let by_jvp = jvp(x, w.to_vec(), inner).1;
        Some(vec![("grad of jvps", vec![(vec![n], by_grad)]), ("jvp of jvp of grad of jvp", vec![(vec![n], by_jvp)])])
    }

    fn hessian_products(&self) -> Option<Vec<Way>> {
        let (x, n) = (self.x, self.x.len());
        let &[u, v] = sized(self.others, n)?;
        let by_hvp = hvp(x, v.to_vec(), |x| self.value(x));
        let by_jvp = jvp(x, v.to_vec(), |x| self.gradient(x)).1;
        let product = u.iter().zip(&by_hvp).map(|(u, hv)| u * hv).sum();
        let cube = jvp(x, v.to_vec(), |x| jvp(x, constants(v), |x| self.along(v, x)).1).1;
        let number = |value: f64| (Vec::new(), vec![value]);
        Some(vec![
            ("hvp", vec![(vec![n], by_hvp), number(product), number(cube)]),
            ("jvp of grad", vec![(vec![n], by_jvp), number(self.second(u, v)), number(self.third(v, v, v))]),
        ])
    }

    fn laplacian(&self) -> Vec<Way> {
        let n = self.x.len();
        let rows = hessian(self.x, |x| self.value(x));
        let trace = (0..n).map(|k| rows[k][k]).sum();
        let duals = (0..n).map(|k| self.second(&unit(n, k), &unit(n, k))).sum();
        vec![("hessian", vec![(Vec::new(), vec![trace])]), ("dual of dual", vec![(Vec::new(), vec![duals])])]
    }

    fn gradient_of_gradient_norm(&self) -> Vec<Way> {
        let (x, n) = (self.x, self.x.len());
        let nested = grad(x, |x| self.gradient(x).into_iter().map(|slope| slope * slope).sum());
        let product = hvp(x, grad(x, |x| self.value(x)), |x| self.value(x));
        let twice = product.into_iter().map(|entry| 2.0 * entry).collect();
        vec![("grad of grad", vec![(vec![n], nested)]), ("hvp", vec![(vec![n], twice)])]
    }
}

/// A vector function at a point; the others are directions.
struct VectorCase<'c> {
    name: &'c str,
    x: &'c [f64],
    others: &'c [&'c [f64]],
}

impl VectorCase<'_> {
    fn ways(&self, what: &str) -> Option<Vec<Way>> {
        match what {
            what if what.starts_with("Jacobian J[i,j]") => Some(self.jacobians()),
            what if what.starts_with("derivative along v of x -> J(x)^T c") => self.mixed(),
            what if what.starts_with("J' of x -> J(x) v") => self.mixed(),
            what if what.starts_with("d2f[v,v2]") => self.second_directional(),
            what if what.starts_with("D[i,j,k]=d2f_i") => Some(self.second_derivatives()),
            what if what.starts_with("J^T J and J J^T") => Some(self.gram()),
            _ => None,
        }
    }

    fn f<R: Real>(&self, x: &[R]) -> Vec<R> {
        vector(self.name, x).expect("the name was found before")
    }

    fn values(&self, x: Vec<Var>) -> Vec<Var> {
        self.f(&x)
    }

    fn rows(&self) -> Vec<Vec<f64>> {
        jacobian(self.x, |x| self.values(x))
    }

    fn second(&self, v: &[f64], w: &[f64]) -> Vec<f64> {
        self.f(&twofold(self.x, v, w)).into_iter().map(|y| y.tangent().tangent()).collect()
    }

    fn jacobians(&self) -> Vec<Way> {
        let (rows, n) = (self.rows(), self.x.len());
        let m = rows.len();
        let columns: Vec<Vec<f64>> = (0..n).map(|k| jvp(self.x, unit(n, k), |x| self.values(x)).1).collect();
        let forward = (0..m).flat_map(|i| columns.iter().map(move |column| column[i])).collect();
        let (_, pullback) = vjp(self.x.to_vec(), |x| self.values(x));
        let backward = (0..m).flat_map(|k| pullback.pull(unit(m, k))).collect();
        [("jacobian", rows.concat()), ("forward", forward), ("backward", backward)]
            .into_iter()
            .map(|(way, data)| (way, vec![(vec![m, n], data)]))
            .collect()
    }

    /// The derivative along `v` of `J' c`, which is also `J'` of `J v` pulled back with `c`.
    fn mixed(&self) -> Option<Vec<Way>> {
        let (&[v, c], n) = (self.others, self.x.len()) else { return None };
        if v.len() != n || c.len() != self.f(self.x).len() {
            return None;
        }
        let pulled = |x: Vec<Var>| vjp(x, |x| self.values(x)).1.pull(constants(c));
        let forward = jvp(self.x, v.to_vec(), pulled).1;
        let (_, pullback) = vjp(self.x.to_vec(), |x| jvp(x, constants(v), |x| self.values(x)).1);
        let backward = pullback.pull(c.to_vec());
        Some(vec![("jvp of vjp", vec![(vec![n], forward)]), ("vjp of jvp", vec![(vec![n], backward)])])
    }

    fn second_directional(&self) -> Option<Vec<Way>> {
        let &[v, w] = sized(self.others, self.x.len())?;
        let nested = jvp(self.x, w.to_vec(), |x| jvp(x, constants(v), |x| self.values(x)).1).1;
        let shape = vec![nested.len()];
        Some(vec![("jvp of jvp", vec![(shape.clone(), nested)]), ("dual of dual", vec![(shape, self.second(v, w))])])
    }

    fn second_derivatives(&self) -> Vec<Way> {
        let n = self.x.len();
        let nested: Vec<Vec<Vec<f64>>> =
            jacobian(self.x, |x| -> Vec<Vec<Var>> { jacobian(x, |x: Vec<Var>| self.values(x)) });
        let shape = vec![nested.len(), n, n];
        let cells: Vec<Vec<f64>> =
            (0..n * n).map(|place| self.second(&unit(n, place / n), &unit(n, place % n))).collect();
        let duals = (0..nested.len()).flat_map(|i| cells.iter().map(move |cell| cell[i])).collect();
        vec![
            ("jacobian of jacobian", vec![(shape.clone(), nested.concat().concat())]),
            ("dual of dual", vec![(shape, duals)]),
        ]
    }

    fn gram(&self) -> Vec<Way> {
        let rows = self.rows();
        let columns: Vec<Vec<f64>> = (0..self.x.len()).map(|k| rows.iter().map(|row| row[k]).collect()).collect();
        let products = |rows: &[Vec<f64>]| -> Shaped {
            let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
            (vec![rows.len(); 2], rows.iter().flat_map(|a| rows.iter().map(move |b| dot(a, b))).collect())
        };
        vec![("jacobian", vec![products(&columns), products(&rows)])]
    }
}

/// This many directions, each of length `n`.
fn sized<'d, 'x, const N: usize>(others: &'d [&'x [f64]], n: usize) -> Option<&'d [&'x [f64]; N]> {
    let others: &[&[f64]; N] = others.try_into().ok()?;
    others.iter().all(|other| other.len() == n).then_some(others)
}
