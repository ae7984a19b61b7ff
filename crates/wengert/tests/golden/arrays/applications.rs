//! The family `applications`, as far as it needs neither linear algebra nor loops of many steps.

use std::f64::consts::{FRAC_1_SQRT_2, PI};

use wengert::{Tensor, jvp, vmap};

use super::{ArrayArgs, Results, elements, misfit, number, one, unsupported, vector};

pub(super) fn call(function: &str, args: &ArrayArgs) -> Results {
    one(match function {
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
            let x = &(0..10).fold(Tensor::zeros(b.shape()), |x, _| step(x));
            x.dot(&a.matmul(x)) * 0.5 - b.dot(x)
        }
        "pagerank_power" => {
            let [damping, w] = args.all()?;
            let (n, p) = (w.shape()[0] as f64, w.softmax(0));
            let step = |v: Tensor| damping * p.matmul(&v) + (1.0 - damping) / n;
            (0..12).fold(Tensor::full(&[w.shape()[0]], 1.0 / n), |v, _| step(v))
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
