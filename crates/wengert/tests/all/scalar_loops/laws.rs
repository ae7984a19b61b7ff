//! Closed forms, differences, and the cases of applied mathematics.

use wengert::loops::{Loops, fori, scan, while_loop};
use wengert::prelude::*;

use super::near;

/// `c = a c + b`, a hundred times: `a^100 c + b (a^100 - 1) / (a - 1)`.
#[test]
fn a_linear_recurrence_has_a_closed_form() {
    let (a, b, c) = (1.01, 0.3, 2.0);
    let (value, [da, db, dc]) = value_and_grad([a, b, c], |[a, b, c]| fori(0..100, c, |_, c| a * c + b));
    let power = f64::powi(a, 100);
    let sum = (power - 1.0) / (a - 1.0);
    let slope = 100.0 * power / a;
    let sum_slope = (slope - sum) / (a - 1.0);
    // The closed form divides by a - 1, which costs two digits.
    near("linear", &[value, da, db, dc], &[power * c + b * sum, slope * c + b * sum_slope, sum, power], 1_000_000);
}

/// Plain numbers and duals run through the same generic function.
#[test]
fn every_carrier() {
    fn f<R: Real>(x: R) -> R {
        let (c, given) = scan((x, R::constant(0.5)), &[x, x * x, x + 1.0, x, x, x * 3.0], |(a, b), r| {
            let a = if a > r { a * r.cos() } else { a + r };
            ((a, b * 0.5 + a), b)
        });
        let counted = fori(0..20, c.0 * 0.1, |i, y| y + (y * i).sin() * 0.1);
        let halved = while_loop(c.1, |y| y > 0.3, |y| y * 0.5);
        counted * halved + given.into_iter().sum::<R>()
    }
    let x: f64 = 0.8;
    let dual = f(Dual::variable(x));
    let second = f(Dual::new(Dual::variable(x), Dual::constant(1.0)));
    let (value, slope) = value_and_grad(x, f);
    assert_eq!(f(x), value);
    near("dual", &[dual.tangent(), second.tangent().tangent()], &[slope, hessian(x, f)], 10_000);
    let difference = (f(x + 1e-5) - f(x - 1e-5)) / 2e-5;
    assert!((slope - difference).abs() < 1e-7, "{slope}, {difference}");
}

/// A random walk with a barrier: its paths flip at almost every step.
#[test]
fn a_walk_between_barriers() {
    let noise: Vec<f64> = (0..3000).map(|k| (f64::from(k) * 12.9898).sin()).collect();
    let walk = |steps: &dyn Fn(Var, Var) -> Var, [drift, barrier]: [Var; 2]| {
        let step = |x: Var, z: Var| {
            let x = x + drift * 0.1 + z * 0.4;
            if x > barrier {
                2.0 * barrier - x
            } else if x < -barrier {
                -2.0 * barrier - x
            } else if z > 0.9 {
                x * drift
            } else {
                x
            }
        };
        steps(drift, lift(0.0)) + scan(lift(0.1), &noise, |x, z| (step(x, z), ())).0
    };
    let by_hand = |[drift, barrier]: [Var; 2]| {
        let mut x = lift(0.1);
        for &z in &noise {
            x = x + drift * 0.1 + z * 0.4;
            if x > barrier {
                x = 2.0 * barrier - x;
            } else if x < -barrier {
                x = -2.0 * barrier - x;
            } else if z > 0.9 {
                x *= drift;
            }
        }
        x
    };
    let point = [0.3, 1.1];
    let (value, gradient) = value_and_grad(point, |p| walk(&|_, zero| zero, p));
    let (want, slope) = value_and_grad(point, by_hand);
    assert_eq!(value, want);
    near("walk", &gradient, &slope, 100_000);
    near(
        "walk, hessian",
        hessian(point, |p| walk(&|_, zero| zero, p)).as_flattened(),
        hessian(point, by_hand).as_flattened(),
        1_000_000,
    );
}

/// More ways through a step than are kept: the rest is recorded as it is.
#[test]
fn more_paths_than_are_kept() {
    let step = |x: Var, c: Var, i: Var| {
        // Seven bits of the step's number: 128 ways.
        let mut c = c;
        for bit in 1..8 {
            let weight = f64::from(bit);
            c = if (i * (weight * 1.7)).sin() > 0.0 { c + x * weight * 0.01 } else { c * (1.0 - 0.001 * weight) };
        }
        c
    };
    let got = value_and_grad(0.4, |x| fori(0..2000, x, |i, c| step(x, c, i)));
    let want = value_and_grad(0.4, |x| (0..2000).fold(x, |c, i| step(x, c, lift(f64::from(i)))));
    assert_eq!(got.0, want.0);
    near("many paths", &[got.1], &[want.1], 100_000);
}

/// `dx/dt = -k x`, by the classical method of Runge and Kutta: the derivative of the method, and of the solution.
#[test]
fn an_ordinary_differential_equation() {
    let solve = |k: Var| {
        let f = |x: Var| -k * x;
        fori(0..1000, lift(1.0), |_, x| {
            let h = 0.002;
            let k1 = f(x);
            let k2 = f(x + k1 * (h / 2.0));
            let k3 = f(x + k2 * (h / 2.0));
            let k4 = f(x + k3 * h);
            x + (k1 + 2.0 * k2 + 2.0 * k3 + k4) * (h / 6.0)
        })
    };
    let (value, slope) = value_and_grad(0.5, solve);
    // The error of the method is of the order of h^4 = 1.6e-11, with a factor k^5 / 120.
    assert!((value - (-1.0f64).exp()).abs() < 1e-13);
    assert!((slope + 2.0 * (-1.0f64).exp()).abs() < 1e-12);
    assert!((hessian(0.5, solve) - 4.0 * (-1.0f64).exp()).abs() < 1e-11);
}

/// The mean of a payoff over paths of a random walk, a loop in a loop: the derivative by the drift and the volatility.
#[test]
fn a_mean_over_paths() {
    let noise: Vec<Vec<f64>> =
        (0..40).map(|p| (0..50).map(|t| (f64::from(p * 50 + t) * 78.233).sin() * 1.4).collect()).collect();
    let payoff = |path: &dyn Fn(Var, Var, &[Var]) -> Var, [drift, sigma]: [Var; 2], zs: &[Var]| {
        let end = path(drift, sigma, zs).exp();
        if end > 1.0 { end - 1.0 } else { lift(0.0) }
    };
    let looped = |drift: Var, sigma: Var, zs: &[Var]| {
        scan(lift(0.0), zs, |x, z| (x + (drift - sigma * sigma * 0.5) * 0.02 + sigma * z * 0.14, ())).0
    };
    let by_hand = |drift: Var, sigma: Var, zs: &[Var]| {
        zs.iter().fold(lift(0.0), |x, &z| x + (drift - sigma * sigma * 0.5) * 0.02 + sigma * z * 0.14)
    };
    let point = [0.05, 0.2];
    let mean = |p: [Var; 2]| scan(lift(0.0), &noise, |sum, zs| (sum + payoff(&looped, p, &zs), ())).0 / 40.0;
    let want = |p: [Var; 2]| {
        let lifted = noise.iter().map(|zs| zs.iter().map(|&z| lift(z)).collect::<Vec<Var>>());
        lifted.map(|zs| payoff(&by_hand, p, &zs)).sum::<Var>() / 40.0
    };
    let (got, want_both) = (value_and_grad(point, mean), value_and_grad(point, want));
    near("mean", &[got.0, got.1[0], got.1[1]], &[want_both.0, want_both.1[0], want_both.1[1]], 10_000);
    near("mean, hessian", hessian(point, mean).as_flattened(), hessian(point, want).as_flattened(), 100_000);
}

/// Backwards through the rows.
#[test]
fn reversed() {
    let xs = [0.3, 0.9, -0.2, 0.5, 0.7, 0.1, -0.4, 0.8];
    let f = |w: Var| {
        let (last, given) = Loops::new().reverse().scan(w, &xs, |c, x| ((c * x).sin() + w, c * w));
        given[0] * 2.0 + given[6] + last
    };
    let by_hand = |w: Var| {
        let (mut c, mut given) = (w, [lift(0.0); 8]);
        for k in (0..8).rev() {
            given[k] = c * w;
            c = (c * xs[k]).sin() + w;
        }
        given[0] * 2.0 + given[6] + c
    };
    let (got, want) = (value_and_grad(0.6, f), value_and_grad(0.6, by_hand));
    assert_eq!(got.0, want.0);
    near("reversed", &[got.1, hessian(0.6, f)], &[want.1, hessian(0.6, by_hand)], 1000);
}
