//! The family `applications`: what takes steps is a loop.

use std::f64::consts::{FRAC_1_SQRT_2, PI};

use wengert::{Tensor, While, fori, jvp, scan, vmap};

use super::control::fold;
use super::{ArrayArgs, Results, elements, misfit, number, one, unsupported, vector};

pub(super) fn call(function: &str, args: &ArrayArgs) -> Results {
    one(match function {
        "lotka_volterra_final"
        | "lotka_volterra_loss"
        | "van_der_pol_final"
        | "pendulum_leapfrog_energy"
        | "euler_sde_fixed_noise" => return motion(function, args),
        "cubic_root" | "kepler" | "cos_fixed_point" | "tanh_fixed_point" | "nonlinear_system_root" => {
            return implicit(function, args);
        }
        "equality_qp" => equality_qp(args.all()?),
        "newton_unrolled_cubic" => {
            let [a, b] = args.all()?;
            steps(8, &number(1.0), |x| &x - (x.powi(3) + a * &x - b) / (x.square() * 3.0 + a))
        }
        "kepler_unrolled" => {
            let [m, e] = args.all()?;
            steps(10, m, |x| &x - (&x - e * x.sin() - m) / (1.0 - e * x.cos()))
        }
        "black_scholes_call" => {
            let [spot, strike, rate, sigma, time] = args.all()?;
            let normal = |x: &Tensor| (x * -FRAC_1_SQRT_2).erfc() * 0.5;
            let spread = &(sigma * time.sqrt());
            let d1 = ((spot / strike).ln() + (rate + sigma * sigma * 0.5) * time) / spread;
            spot * normal(&d1) - strike * (-(rate * time)).exp() * normal(&(&d1 - spread))
        }
        "pinn_poisson_loss" => pinn_poisson_loss(args.all()?)?,
        "pinn_heat2d_residual" => pinn_heat2d_residual(args.all()?),
        "sobolev_training_loss" => {
            let [w1, w2, xs, ys, slopes] = args.all()?;
            let network = |x: Tensor| w2.dot(&(w1 * x).sin());
            let (u, slope) = vmap(xs, |x| jvp(&x, number(1.0), network));
            ((u - ys).square() + (slope - slopes).square()).mean()
        }
        "trapezoid_quadrature" => {
            let [a, b] = args.all()?;
            let h = &(b / 50.0);
            let x = &(h * Tensor::iota(51).to_f64());
            (-(a * x.square())).exp().trapz_at(x, 0)
        }
        "gradient_descent_unrolled" => {
            let [rate, a, b] = args.all()?;
            let step = |x: Tensor| &x - rate * (a.matmul(&x) - b);
            let x = &steps(10, &Tensor::zeros(b.shape()), step);
            x.dot(&a.matmul(x)) * 0.5 - b.dot(x)
        }
        "pagerank_power" => {
            let [damping, w] = args.all()?;
            let (n, p) = (w.shape()[0] as f64, w.softmax(0));
            let step = |v: Tensor| damping * p.matmul(&v) + (1.0 - damping) / n;
            steps(12, &Tensor::full(&[w.shape()[0]], 1.0 / n), step)
        }
        other => return unsupported(other),
    })
}

/// `u` and `u''` of `u(x) = W2 . tanh(W1 x + b1) + b2` inside, and `u` at both ends.
fn pinn_poisson_loss([w1, b1, w2, b2, xs, ends]: [&Tensor; 6]) -> Result<Tensor, crate::array::Trouble> {
    if ends.shape() != [2] {
        return misfit("two boundary values are needed");
    }
    let network = |x: Tensor| w2.dot(&(w1 * x + b1).tanh()) + b2;
    let curvature = vmap(xs, |x| second(&x, network));
    let inside = (curvature + (xs * PI).sin()).square().mean();
    let outside = (vmap(Tensor::from([-1.0, 1.0]), network) - ends).square().sum();
    Ok(inside + outside)
}

/// The second derivative of a function of one number.
fn second(x: &Tensor, f: impl FnOnce(Tensor) -> Tensor) -> Tensor {
    jvp(x, number(1.0), |x| jvp(&x, number(1.0), f).1).1
}

fn pinn_heat2d_residual([w1, b1, w2, points]: [&Tensor; 4]) -> Tensor {
    let network = |point: &Tensor| w2.dot(&(w1.matmul(point) + b1).tanh());
    let residuals = vmap(points, |point| {
        let [x, t] = &elements(&point)[..] else { panic!("points of two coordinates are needed") };
        let u_xx = second(x, |x| network(&vector(&[x, t.clone()])));
        let u_t = jvp(t, number(1.0), |t| network(&vector(&[x.clone(), t]))).1;
        (u_t - u_xx * 0.1).square()
    });
    residuals.mean()
}

// ---- differential equations ---------------------------------------------------------------------

/// This number of equal steps.
fn steps(count: usize, start: &Tensor, step: impl Fn(Tensor) -> Tensor) -> Tensor {
    fori(0..count as i64, start, |_, x| step(x))
}

/// Steps of the classical Runge-Kutta method.
fn rk4(count: usize, h: f64, state: &Tensor, slope: &impl Fn(&Tensor) -> Tensor) -> Tensor {
    steps(count, state, |x| {
        let k1 = slope(&x);
        let k2 = slope(&(&x + &k1 * (0.5 * h)));
        let k3 = slope(&(&x + &k2 * (0.5 * h)));
        let k4 = slope(&(&x + &k3 * h));
        x + (k1 + (k2 + k3) * 2.0 + k4) * (h / 6.0)
    })
}

fn motion(function: &str, args: &ArrayArgs) -> Results {
    if function == "euler_sde_fixed_noise" {
        let [s, m, v, noise] = args.all()?;
        return one(fold(s, noise, |s, z| s * (m * 0.1 + v * z * 0.1f64.sqrt() + 1.0)));
    }
    let (h, n) = (args.attrs.number("h")?, args.attrs.count("n")?);
    match function {
        "pendulum_leapfrog_energy" => {
            let [q, p] = args.all()?;
            let (q, p) = fori(0..n as i64, (q, p), |_, (q, p)| {
                let p = p - q.sin() * (0.5 * h);
                let q = q + &p * h;
                let p = p - q.sin() * (0.5 * h);
                (q, p)
            });
            one(p.square() * 0.5 - q.cos())
        }
        "van_der_pol_final" => {
            let [state, m] = args.all()?;
            let slope = |s: &Tensor| {
                let [x, v] = &elements(s)[..] else { panic!("two coordinates are needed") };
                vector(&[v.clone(), m * (1.0 - x.square()) * v - x])
            };
            one(rk4(n, h, state, &slope))
        }
        _ => lotka_volterra(args, h, n),
    }
}

fn lotka_volterra(args: &ArrayArgs, h: f64, n: usize) -> Results {
    let [state, rates, targets @ ..] = &args.inputs[..] else { return misfit("a state and rates are needed") };
    let [a, b, c, d] = &elements(rates)[..] else { return misfit("four rates are needed") };
    let slope = |s: &Tensor| {
        let [x, y] = &elements(s)[..] else { panic!("two coordinates are needed") };
        vector(&[a * x - b * x * y, d * x * y - c * y])
    };
    let [targets] = targets else { return one(rk4(n, h, state, &slope)) };
    let count = n / targets.shape()[0];
    let (_, squares) = scan(state, targets, |state, target| {
        let state = rk4(count, h, &state, &slope);
        (state.clone(), (state - target).square())
    });
    one(squares.mean())
}

// ---- implicit functions -------------------------------------------------------------------------

/// A root of `f`, by Newton's method; `step` is a step of it.
///
/// The first steps find the root as a constant. The last ones start there, and each doubles the order to which the root's
/// derivatives are exact: the implicit function theorem, by iteration.
fn root(start: &Tensor, f: impl Fn(&Tensor) -> Tensor, step: impl Fn(&Tensor) -> Tensor) -> Tensor {
    let is_far = |x: Tensor| f(&x).abs().gt(1e-9).any();
    let found = While::new().limit(60).run(start, is_far, |x| step(&x)).detach();
    steps(3, &found, |x| step(&x))
}

/// As [`root`], of one variable, with the slope of `f`.
fn scalar_root(start: &Tensor, f: impl Fn(&Tensor) -> Tensor, slope: impl Fn(&Tensor) -> Tensor) -> Tensor {
    root(start, &f, |x| x - f(x) / slope(x))
}

fn implicit(function: &str, args: &ArrayArgs) -> Results {
    one(match function {
        "cubic_root" => {
            let [a, b] = args.all()?;
            scalar_root(&(b / a), |x| x.powi(3) + a * x - b, |x| x.square() * 3.0 + a)
        }
        "kepler" => {
            let [m, e] = args.all()?;
            scalar_root(m, |x| x - e * x.sin() - m, |x| 1.0 - e * x.cos())
        }
        "cos_fixed_point" => {
            let [c] = args.all()?;
            scalar_root(&number(1.0), |y| y - (c * y).cos(), |y| c * (c * y).sin() + 1.0)
        }
        "tanh_fixed_point" => {
            let [w, b] = args.all()?;
            let image = |z: &Tensor| (w.matmul(z) + b).tanh();
            let off = |z: &Tensor| z - image(z);
            let slope = |z: &Tensor| Tensor::eye(b.size()) - (1.0 - image(z).square()).expand_dims(1) * w;
            root(&Tensor::zeros(b.shape()), off, |z| z - solve(&slope(z), &off(z)))
        }
        "nonlinear_system_root" => {
            let [a, q] = args.all()?;
            let off = |x: &Tensor| a.matmul(x) + x.powi(3) - q;
            let slope = |x: &Tensor| a + (x.square() * 3.0).diag_embed(0);
            root(&Tensor::zeros(q.shape()), off, |x| x - solve(&slope(x), &off(x)))
        }
        other => return unsupported(other),
    })
}

/// The minimiser of `x'Qx/2 + c'x` with `a'x = b`: the first entries of the solution of
/// `[Q a; a' 0] [x; multiplier] = [-c; b]`.
fn equality_qp([q, c, a, b]: [&Tensor; 4]) -> Tensor {
    let n = c.size();
    let above = Tensor::concat(&[q, &a.expand_dims(1)], 1);
    let below = Tensor::concat(&[a, &Tensor::zeros(&[1])], 0).expand_dims(0);
    let right = Tensor::concat(&[&-c, &b.expand_dims(0)], 0);
    solve(&Tensor::concat(&[&above, &below], 0), &right).split(&[n, 1], 0).swap_remove(0)
}

/// The solution of `a x = y`, by Gauss-Jordan elimination with the diagonal as pivots: good enough for the matrices here,
/// which are definite, or close to diagonal.
fn solve(a: &Tensor, y: &Tensor) -> Tensor {
    let n = y.size();
    let joined = Tensor::concat(&[a, &y.expand_dims(1)], 1);
    let reduced = fori(0..n as i64, &joined, |k, rest| {
        let zero = Tensor::from(0i64);
        let at = |row: &Tensor, column: &Tensor| Tensor::stack(&[row, column], 0);
        let row = rest.dynamic_slice(&at(&k, &zero), &[1, n + 1]);
        let column = rest.dynamic_slice(&at(&zero, &k), &[n, 1]);
        let pivot = rest.dynamic_slice(&at(&k, &k), &[1, 1]);
        let row = row / pivot;
        (&rest - column * &row).dynamic_update_slice(&row, &at(&k, &zero))
    });
    reduced.split(&[n, 1], 1)[1].squeeze(1)
}
