//! The family `applications`: differential equations, implicit functions, losses with derivatives
//! inside.

use std::f64::consts::{FRAC_1_SQRT_2, PI};

use wengert::{Dual, Real, lit, loops};

use super::algebra::{add, dot, map, matvec, mean, softmax, solve};
use super::unsupported;
use crate::array::{Args, Array, Outputs, Trouble, number, one};

pub(super) fn call<R: Real>(function: &str, args: &Args<R>) -> Outputs<R> {
    match function {
        "lotka_volterra_final"
        | "lotka_volterra_loss"
        | "van_der_pol_final"
        | "pendulum_leapfrog_energy"
        | "euler_sde_fixed_noise" => motion(function, args),
        "black_scholes_call" => number(black_scholes_call(args)?),
        "pinn_poisson_loss" => pinn_poisson_loss(args),
        "pinn_heat2d_residual" => pinn_heat2d_residual(args),
        "sobolev_training_loss" => sobolev_training_loss(args),
        "cubic_root" | "kepler" | "cos_fixed_point" | "tanh_fixed_point" | "nonlinear_system_root" => {
            implicit(function, args)
        }
        "equality_qp" => equality_qp(args),
        "newton_unrolled_cubic"
        | "kepler_unrolled"
        | "trapezoid_quadrature"
        | "gradient_descent_unrolled"
        | "pagerank_power" => unrolled(function, args),
        other => unsupported(other),
    }
}

/// A step of the classical Runge-Kutta method.
fn rk4<R: Real>(state: &[R], h: f64, slope: &impl Fn(&[R]) -> Vec<R>) -> Vec<R> {
    let moved = |k: &[R], t: f64| add(state, &map(k, |k| k * t));
    let k1 = slope(state);
    let k2 = slope(&moved(&k1, 0.5 * h));
    let k3 = slope(&moved(&k2, 0.5 * h));
    let k4 = slope(&moved(&k3, h));
    let total = |i: usize| state[i] + (k1[i] + (k2[i] + k3[i]) * 2.0 + k4[i]) * (h / 6.0);
    (0..state.len()).map(total).collect()
}

fn motion<R: Real>(function: &str, args: &Args<R>) -> Outputs<R> {
    if function == "euler_sde_fixed_noise" {
        let (s, m, v) = (args.scalar(0)?, args.scalar(1)?, args.scalar(2)?);
        let step = |s: R, z: R| (s * (m * 0.1 + v * z * 0.1f64.sqrt() + 1.0), ());
        return number(loops::scan(s, args.vector(3)?, step).0);
    }
    let (h, n) = (args.attr("h")?, args.count("n")?);
    if function == "pendulum_leapfrog_energy" {
        let (q, p) = loops::fori(0..n as i64, (args.scalar(0)?, args.scalar(1)?), |_, (q, p)| {
            let p = p - q.sin() * (0.5 * h);
            let q = q + p * h;
            (q, p - q.sin() * (0.5 * h))
        });
        return number(p * p * 0.5 - q.cos());
    }
    let mut state = args.vector(0)?.to_vec();
    if state.len() != 2 {
        return misfit("two coordinates are needed");
    }
    if function == "van_der_pol_final" {
        let m = args.scalar(1)?;
        let slope = |s: &[R]| vec![s[1], m * (-(s[0] * s[0]) + 1.0) * s[1] - s[0]];
        return one(Array::vector(loops::fori(0..n as i64, state, |_, state| rk4(&state, h, &slope))));
    }
    let &[a, b, c, d] = args.vector(1)? else { return misfit("four rates are needed") };
    let slope = |s: &[R]| vec![a * s[0] - b * s[0] * s[1], d * s[0] * s[1] - c * s[1]];
    if function == "lotka_volterra_final" {
        return one(Array::vector(loops::fori(0..n as i64, state, |_, state| rk4(&state, h, &slope))));
    }
    let targets = args.matrix(2)?;
    let mut squares = Vec::new();
    for target in targets.rows() {
        state = loops::fori(0..(n / targets.height()) as i64, state, |_, state| rk4(&state, h, &slope));
        squares.extend(state.iter().zip(target).map(|(&x, &target)| (x - target).powi(2)));
    }
    number(mean(&squares))
}

fn black_scholes_call<R: Real>(args: &Args<R>) -> Result<R, Trouble> {
    let (spot, strike, rate) = (args.scalar(0)?, args.scalar(1)?, args.scalar(2)?);
    let (sigma, time) = (args.scalar(3)?, args.scalar(4)?);
    let normal = |x: R| (x * -FRAC_1_SQRT_2).erfc() * 0.5;
    let spread = sigma * time.sqrt();
    let d1 = ((spot / strike).ln() + (rate + sigma * sigma * 0.5) * time) / spread;
    Ok(spot * normal(d1) - strike * (-(rate * time)).exp() * normal(d1 - spread))
}

/// A number with two independent directions of the same variable: two derivatives inside a loss.
type Twice<R> = Dual<Dual<R>>;

fn fixed<R: Real>(x: R) -> Twice<R> {
    Dual::lift(Dual::lift(x))
}

/// `u(x)`, `u'(x)` and `u''(x)`.
fn derivatives<R: Real>(x: R, u: impl Fn(Twice<R>) -> Twice<R>) -> [R; 3] {
    let y = u(Dual::variable(Dual::variable(x)));
    [y.re().re(), y.tangent().re(), y.tangent().tangent()]
}

fn pinn_poisson_loss<R: Real>(args: &Args<R>) -> Outputs<R> {
    let (w1, b1, w2, b2) = (args.vector(0)?, args.vector(1)?, args.vector(2)?, args.scalar(3)?);
    let &[left, right] = args.vector(5)? else { return misfit("two boundary values are needed") };
    let network = |x: Twice<R>| {
        let unit = |((&w1, &b1), &w2): ((&R, &R), &R)| fixed(w2) * (fixed(w1) * x + fixed(b1)).tanh();
        w1.iter().zip(b1).zip(w2).map(unit).sum::<Twice<R>>() + fixed(b2)
    };
    let residual = |&x: &R| (derivatives(x, network)[2] + (x * PI).sin()).powi(2);
    let inside = mean(&args.vector(4)?.iter().map(residual).collect::<Vec<R>>());
    let at = |x: f64| network(Twice::constant(x)).re().re();
    number(inside + (at(-1.0) - left).powi(2) + (at(1.0) - right).powi(2))
}

fn pinn_heat2d_residual<R: Real>(args: &Args<R>) -> Outputs<R> {
    let (w1, b1, w2, points) = (args.matrix(0)?, args.vector(1)?, args.vector(2)?, args.matrix(3)?);
    if w1.shape[1] != 2 || points.shape[1] != 2 {
        return misfit("points and weights of two coordinates are needed");
    }
    let network = |x: Twice<R>, t: Twice<R>| {
        let unit =
            |((w1, &b1), &w2): ((&[R], &R), &R)| fixed(w2) * (fixed(w1[0]) * x + fixed(w1[1]) * t + fixed(b1)).tanh();
        w1.rows().zip(b1).zip(w2).map(unit).sum::<Twice<R>>()
    };
    let residual = |point: &[R]| {
        let (x, t) = (point[0], point[1]);
        let [_, _, u_xx] = derivatives(x, |x| network(x, fixed(t)));
        let [_, u_t, _] = derivatives(t, |t| network(fixed(x), t));
        (u_t - u_xx * 0.1).powi(2)
    };
    number(mean(&points.rows().map(residual).collect::<Vec<R>>()))
}

fn sobolev_training_loss<R: Real>(args: &Args<R>) -> Outputs<R> {
    let (w1, w2) = (args.vector(0)?, args.vector(1)?);
    let network = |x: Twice<R>| w1.iter().zip(w2).map(|(&w1, &w2)| fixed(w2) * (fixed(w1) * x).sin()).sum::<Twice<R>>();
    let data = args.vector(2)?.iter().zip(args.vector(3)?).zip(args.vector(4)?);
    let loss = |((&x, &y), &d): ((&R, &R), &R)| {
        let [u, slope, _] = derivatives(x, network);
        (u - y).powi(2) + (slope - d).powi(2)
    };
    number(mean(&data.map(loss).collect::<Vec<R>>()))
}

/// A root of `f`, which gives its value and its Jacobian, by Newton's method.
///
/// The first steps find the root as a constant. The last ones start there, and each doubles the
/// order to which the root's derivatives are exact: the implicit function theorem, by iteration.
fn root<R: Real>(start: Vec<R>, f: impl Fn(&[R]) -> (Vec<R>, Array<R>)) -> Vec<R> {
    let step = |x: Vec<R>| {
        let (value, jacobian) = f(&x);
        add(&x, &map(&solve(&jacobian, &value), |step| -step))
    };
    let found = (0..40).fold(start, |x, _| map(&step(x), R::detach));
    (0..3).fold(found, |x, _| step(x))
}

/// As [`root`], of one variable.
fn scalar_root<R: Real>(start: R, f: impl Fn(R) -> (R, R)) -> R {
    let system = |x: &[R]| {
        let (value, slope) = f(x[0]);
        (vec![value], Array::new(&[1, 1], vec![slope]))
    };
    root(vec![start], system)[0]
}

fn implicit<R: Real>(function: &str, args: &Args<R>) -> Outputs<R> {
    match function {
        "cubic_root" => {
            let (a, b) = (args.scalar(0)?, args.scalar(1)?);
            number(scalar_root(b / a, |x| (x.powi(3) + a * x - b, x * x * 3.0 + a)))
        }
        "kepler" => {
            let (m, e) = (args.scalar(0)?, args.scalar(1)?);
            number(scalar_root(m, |x| (x - e * x.sin() - m, -(e * x.cos()) + 1.0)))
        }
        "cos_fixed_point" => {
            let c = args.scalar(0)?;
            number(scalar_root(R::constant(1.0), |y| (y - (c * y).cos(), c * (c * y).sin() + 1.0)))
        }
        "tanh_fixed_point" => {
            let (w, b) = (args.matrix(0)?, args.vector(1)?);
            let system = |z: &[R]| {
                let image = map(&add(&matvec(w, z), b), R::tanh);
                let value = z.iter().zip(&image).map(|(&z, &image)| z - image).collect();
                let slope = |index: &[usize]| {
                    let entry = -((-(image[index[0]].powi(2)) + 1.0) * w.at(index));
                    if index[0] == index[1] { entry + 1.0 } else { entry }
                };
                (value, Array::from_fn(&w.shape, slope))
            };
            one(Array::vector(root(vec![R::constant(0.0); b.len()], system)))
        }
        "nonlinear_system_root" => {
            let (a, q) = (args.matrix(0)?, args.vector(1)?);
            let system = |x: &[R]| {
                let cubes = x.iter().zip(q).map(|(x, &q)| x.powi(3) - q).collect::<Vec<R>>();
                let slope = |index: &[usize]| {
                    let entry = a.at(index);
                    if index[0] == index[1] { entry + x[index[0]].powi(2) * 3.0 } else { entry }
                };
                (add(&matvec(a, x), &cubes), Array::from_fn(&a.shape, slope))
            };
            one(Array::vector(root(vec![R::constant(0.0); q.len()], system)))
        }
        other => unsupported(other),
    }
}

/// The minimiser of `x'Qx/2 + c'x` with `a'x = b`: the first entries of the solution of
/// `[Q a; a' 0] [x; multiplier] = [-c; b]`.
fn equality_qp<R: Real>(args: &Args<R>) -> Outputs<R> {
    let (q, c, a, b) = (args.matrix(0)?, args.vector(1)?, args.vector(2)?, args.scalar(3)?);
    let n = c.len();
    let system = Array::from_fn(&[n + 1, n + 1], |index| match (index[0], index[1]) {
        (i, j) if i < n && j < n => q.at(&[i, j]),
        (i, j) if i == j => R::constant(0.0),
        (i, j) => a[i.min(j)],
    });
    let mut right = map(c, |c| -c);
    right.push(b);
    one(Array::vector(solve(&system, &right)[..n].to_vec()))
}

fn unrolled<R: Real>(function: &str, args: &Args<R>) -> Outputs<R> {
    match function {
        "newton_unrolled_cubic" => {
            let (a, b) = (args.scalar(0)?, args.scalar(1)?);
            let step = |x: R| x - (x.powi(3) + a * x - b) / (x * x * 3.0 + a);
            number((0..8).fold(R::constant(1.0), |x, _| step(x)))
        }
        "kepler_unrolled" => {
            let (m, e) = (args.scalar(0)?, args.scalar(1)?);
            let step = |x: R| x - (x - e * x.sin() - m) / (-(e * x.cos()) + 1.0);
            number((0..10).fold(m, |x, _| step(x)))
        }
        "trapezoid_quadrature" => {
            let (a, b) = (args.scalar(0)?, args.scalar(1)?);
            let h = b / 50.0;
            let value = |k: i32| (-(a * (h * f64::from(k)).powi(2))).exp();
            let inside: R = (1..50).map(value).sum();
            number((inside + (value(0) + value(50)) * 0.5) * h)
        }
        "gradient_descent_unrolled" => {
            let (rate, a, b) = (args.scalar(0)?, args.matrix(1)?, args.vector(2)?);
            let step = |x: Vec<R>| {
                let moves = matvec(a, &x).into_iter().zip(b).map(|(ax, &b)| -(rate * (ax - b)));
                add(&x, &moves.collect::<Vec<R>>())
            };
            let x = (0..10).fold(vec![R::constant(0.0); b.len()], |x, _| step(x));
            number(dot(&x, &matvec(a, &x)) * 0.5 - dot(b, &x))
        }
        "pagerank_power" => {
            let (damping, w) = (args.scalar(0)?, args.matrix(1)?);
            let n = w.height() as f64;
            let columns = w.transposed();
            let p = Array::new(&columns.shape, columns.rows().flat_map(softmax).collect()).transposed();
            let step = |v: Vec<R>| map(&matvec(&p, &v), |pv| damping * pv + (lit(1.0) - damping) / n);
            one(Array::vector((0..12).fold(vec![R::constant(1.0 / n); w.height()], |v, _| step(v))))
        }
        other => unsupported(other),
    }
}

fn misfit<T>(why: &str) -> Result<T, Trouble> {
    Err(Trouble::Misfit(why.to_owned()))
}
