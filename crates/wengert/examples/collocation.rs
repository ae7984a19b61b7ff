//! A pendulum swung up with the least effort: direct collocation, and Newton's method through Hessian-vector products.
//!
//! A pendulum hangs at rest and shall stand at rest after `T` seconds; the torque `u` is free and costs `∫ u² dt`. Angle,
//! speed and torque at `n + 1` times are unknowns, and `θ' = ω`, `ω' = u - g sin θ` become equations between neighbours by the
//! trapezoidal rule (M. Kelly, *An introduction to trajectory optimization*, 2017). The equations enter through an augmented
//! Lagrangian (M. R. Hestenes and M. J. D. Powell, 1969), which is minimised in a trust region by conjugate gradients (T.
//! Steihaug, 1983). These ask for products of the Hessian with vectors, each a small multiple of the function's cost,
//! and never for the Hessian.
//!
//! Run it with `cargo run --release -p wengert --example collocation`.

use std::f64::consts::PI;
use std::io::{self, Write};

use wengert::prelude::*;
use wengert::span;

/// How long it may take, in seconds.
pub const HORIZON: f64 = 3.0;

/// The effort, and by how much neighbours miss the equations of motion; the rows of `x` are angles, speeds and torques.
fn problem(x: &Tensor, gravity: f64) -> (Tensor, Tensor) {
    let h = HORIZON / (x.shape()[1] - 1) as f64;
    let (left, right) = ((.., span(0, -1)), (.., 1..));
    let motion = Tensor::stack(&[&x.slice(1), &(x.slice(2) - gravity * x.slice(0).sin())], 0);
    let state = x.slice(0..2);
    let defects = state.slice(right.clone()) - state.slice(left) - 0.5 * h * (motion.slice(right) + motion.slice(left));
    let power = x.slice(2).square();
    let effort = h * (power.slice(span(0, -1)) + power.slice(1..)).sum() * 0.5;
    (effort, defects)
}

/// Where it has to be at the start and at the end: angle and speed are pinned there, and never move.
fn free(x: &Tensor) -> Tensor {
    let mut mask = Tensor::ones(x.shape());
    mask.slice_mut((0..2, 0)).assign(0.0);
    mask.slice_mut((0..2, -1)).assign(0.0);
    mask
}

/// A movement: angles, speeds, torques, the time between two of them.
pub struct Movement {
    /// Rows of angles, speeds and torques.
    pub path: Vec<Vec<f64>>,
    /// `∫ u² dt`
    pub effort: f64,
    /// The largest defect of an equation.
    pub defect: f64,
    /// How many products of the Hessian with a vector it took.
    pub products: usize,
}

/// The movement with the least effort, in this many intervals.
pub fn swing_up(intervals: usize, gravity: f64) -> Movement {
    let lagrangian = move |x: &Tensor, multipliers: &Tensor, weight: &Tensor| {
        let (effort, defects) = problem(x, gravity);
        effort + (multipliers * &defects).sum() + 0.5 * weight * defects.square().sum()
    };
    let slope = compile(move |(x, m, w): (Tensor, Tensor, Tensor)| {
        let (value, slope) = value_and_grad(&x, |x| lagrangian(&x, &m, &w));
        (value, slope * free(&x))
    });
    let curve = compile(move |(x, v, m, w): (Tensor, Tensor, Tensor, Tensor)| {
        hvp(&x, &v, |x| lagrangian(&x, &m, &w)) * free(&x)
    });
    let defects = compile(move |x: Tensor| problem(&x, gravity));

    let rise = Tensor::linspace(0.0, 1.0, intervals + 1);
    let rest = Tensor::zeros(&[intervals + 1]);
    let mut x = Tensor::stack(&[&(PI * &rise), &rest, &rest], 0);
    let mut multipliers = Tensor::zeros(&[2, intervals]);
    // Heavy enough that the Lagrangian is convex around the solution, light enough for conjugate gradients.
    let weight = Tensor::from(1e4);
    let mut tolerance = 1e-2;
    let mut products = 0;
    loop {
        let value = |x: &Tensor| slope.call((x, &multipliers, &weight));
        let product = |x: &Tensor, v: &Tensor| curve.call((x, v, &multipliers, &weight));
        x = minimise(x, tolerance, value, product, &mut products);
        let (effort, missed) = defects.call(&x);
        let defect = missed.abs().max().item();
        if defect < 1e-10 {
            let path = x.to_vec().chunks(intervals + 1).map(<[f64]>::to_vec).collect();
            return Movement { path, effort: effort.item(), defect, products };
        }
        multipliers += &weight * missed;
        tolerance = (0.1 * tolerance).max(1e-9);
    }
}

/// A trust region around a point in which the value falls as the quadratic model says, until the slope is flat.
fn minimise(
    mut x: Tensor,
    tolerance: f64,
    value: impl Fn(&Tensor) -> (Tensor, Tensor),
    product: impl Fn(&Tensor, &Tensor) -> Tensor,
    products: &mut usize,
) -> Tensor {
    let (mut lowest, mut slope) = value(&x);
    let mut radius = 1.0;
    while norm(&slope) > tolerance && radius > 1e-13 {
        let (step, predicted) = steihaug(&slope, radius, |v| {
            *products += 1;
            product(&x, v)
        });
        let (tried, its_slope) = value(&(&x + &step));
        let ratio = (lowest.item() - tried.item()) / predicted;
        // Where rounding hides the fall, a flatter slope will do.
        let flat = predicted < 1e-13 * lowest.item().abs() && norm(&its_slope) < norm(&slope);
        if ratio > 0.75 && norm(&step) > 0.9 * radius {
            radius *= 2.0;
        } else if ratio < 0.25 && !flat {
            radius *= 0.25;
        }
        if ratio > 0.1 || flat {
            (x, lowest, slope) = (x + step, tried, its_slope);
        }
    }
    x
}

/// A step towards the minimum of the quadratic model, and how far the model falls: conjugate gradients that stop at the
/// radius, at a direction in which the model falls for ever, or when the slope is a tenth of what it was.
fn steihaug(slope: &Tensor, radius: f64, mut product: impl FnMut(&Tensor) -> Tensor) -> (Tensor, f64) {
    let mut step = 0.0 * slope;
    let mut residual = -slope;
    let mut direction = residual.clone();
    let fall = |step: &Tensor, residual: &Tensor| 0.5 * dot(step, &(residual - slope));
    for _ in 0..2 * slope.size() {
        let curved = product(&direction);
        let (square, curvature) = (dot(&residual, &residual), dot(&direction, &curved));
        let length = square / curvature;
        if curvature <= 0.0 || norm(&(&step + length * &direction)) >= radius {
            // To the rim: |step + t direction| = radius.
            let (a, b, c) = (dot(&direction, &direction), dot(&step, &direction), dot(&step, &step) - radius * radius);
            let t = ((b * b - a * c).sqrt() - b) / a;
            (step, residual) = (step + t * direction, residual - t * curved);
            break;
        }
        step += length * &direction;
        residual -= length * curved;
        let next = dot(&residual, &residual);
        if next.sqrt() < norm(slope) * norm(slope).min(0.1) {
            break;
        }
        direction = &residual + next / square * direction;
    }
    let predicted = fall(&step, &residual);
    (step, predicted)
}

fn dot(a: &Tensor, b: &Tensor) -> f64 {
    a.vdot(b).item()
}

fn norm(a: &Tensor) -> f64 {
    dot(a, a).sqrt()
}

/// Where the pendulum ends if the torques are applied to it, by an integrator that knows nothing of collocation: the
/// classical method of W. Kutta (1901) with ten steps an interval, the torque on a line between its nodes.
pub fn simulate(torques: &[f64], gravity: f64) -> [f64; 2] {
    let h = HORIZON / (torques.len() - 1) as f64 / 10.0;
    let mut state = [0.0, 0.0];
    for pair in torques.windows(2) {
        for k in 0..10 {
            let torque = |t: f64| pair[0] + (pair[1] - pair[0]) * (k as f64 + t) / 10.0;
            let slope = |[angle, speed]: [f64; 2], t: f64| [speed, torque(t) - gravity * angle.sin()];
            let ahead = |[da, ds]: [f64; 2], h: f64| [state[0] + h * da, state[1] + h * ds];
            let k1 = slope(state, 0.0);
            let k2 = slope(ahead(k1, 0.5 * h), 0.5);
            let k3 = slope(ahead(k2, 0.5 * h), 0.5);
            let k4 = slope(ahead(k3, h), 1.0);
            state = ahead(std::array::from_fn(|i| (k1[i] + 2.0 * (k2[i] + k3[i]) + k4[i]) / 6.0), h);
        }
    }
    state
}

/// Prints the movement and where an integrator says that it ends.
pub fn report(out: &mut impl Write, intervals: usize) -> io::Result<()> {
    let gravity = 9.81;
    let found = swing_up(intervals, gravity);
    writeln!(out, "effort {:.6}, defects below {:.0e}, {} products", found.effort, found.defect, found.products)?;
    for k in (0..=intervals).step_by(intervals / 10) {
        let [angle, speed, torque] = [0, 1, 2].map(|row| found.path[row][k]);
        let time = HORIZON * k as f64 / intervals as f64;
        writeln!(out, "{time:>5.2} s   angle {angle:>7.3}   speed {speed:>7.3}   torque {torque:>7.3}")?;
    }
    let [angle, speed] = simulate(&found.path[2], gravity);
    writeln!(out, "simulated, it ends at {:.2e} from upright with the speed {speed:.2e}", angle - PI)
}

fn main() -> io::Result<()> {
    report(&mut io::stdout().lock(), 60)
}
