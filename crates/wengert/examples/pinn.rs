//! A differential equation in the loss: a network learns to solve Burgers' equation.
//!
//! Burgers' equation `u_t + u u_x = nu u_xx`, with `u(0, x) = -sin(pi x)` and `nu = 0.01/pi`, steepens into a shock. The
//! network `u(t, x)` has never seen a solution: its loss is the mean square of what is left of the equation at 1,024
//! points, plus that of the error at the start. So there are second derivatives by the inputs inside the loss, and a
//! gradient by 8,577 parameters around them; that is a `jvp` of a `jvp` inside `value_and_grad`.
//!
//! The points do not meet in the network. So a tangent of ones at all of them gives the derivative at each.
//!
//! Run it with `cargo run --release -p wengert --example pinn`.

use std::f64::consts::PI;
use std::io::Write;

use wengert::optim::Adam;
use wengert::prelude::*;
use wengert::{Array, TreeMath};

/// The viscosity.
pub const NU: f64 = 0.01 / PI;
/// The loss and the norm of its gradient at the first point, which other systems agree on.
pub const KNOWN: [f64; 2] = [0.4554196103150214, 4.645464864218287];

/// A number in [0, 1) that depends on a seed and a position alone: any language makes the same.
fn unit(seed: u64, i: u64) -> f64 {
    let s = (seed << 32).wrapping_add(i).wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let z = (s ^ (s >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    ((z ^ (z >> 31)) >> 11) as f64 * (-53f64).exp2()
}

/// Numbers in `[-scale, scale)`.
fn uniform(shape: &[usize], seed: u64, scale: f64) -> Tensor {
    let size: usize = shape.iter().product();
    let numbers: Vec<f64> = (0..size as u64).map(|i| scale * (2.0 * unit(seed, i) - 1.0)).collect();
    Array::new(shape, numbers).into()
}

/// A layer of the network.
#[derive(Tree, Clone, Debug)]
pub struct Layer {
    /// `[inputs, outputs]`
    pub w: Tensor,
    /// `[outputs]`
    pub b: Tensor,
}

/// The network: `tanh` after all layers but the last.
#[derive(Tree, Clone, Debug)]
pub struct Field {
    /// Its layers.
    pub layers: Vec<Layer>,
}

impl Field {
    /// Before the first step: with two inputs, three layers of 64 hidden units and one output.
    pub fn untrained() -> Self {
        let sizes = [2, 64, 64, 64, 1];
        let layer = |(ends, l): (&[usize], u64)| Layer {
            w: uniform(&[ends[0], ends[1]], 610 + l, (3.0 / ends[0] as f64).sqrt()),
            b: uniform(&[ends[1]], 620 + l, 0.1),
        };
        Field { layers: sizes.windows(2).zip(0..).map(layer).collect() }
    }

    /// `u(t, x)` at every point.
    pub fn at(&self, t: &Tensor, x: &Tensor) -> Tensor {
        let points = Tensor::stack(&[t, x], 1);
        let last = self.layers.len() - 1;
        let u = self.layers.iter().enumerate().fold(points, |h, (l, layer)| {
            let h = h.matmul(&layer.w) + &layer.b;
            if l < last { h.tanh() } else { h }
        });
        u.squeeze(1)
    }
}

/// Where the equation has to hold.
#[derive(Clone, Debug)]
pub struct Points {
    /// Times in [0, 1).
    pub t: Tensor,
    /// Places in [-1, 1).
    pub x: Tensor,
}

impl Points {
    /// This many.
    pub fn new(count: usize) -> Self {
        let t: Vec<f64> = (0..count as u64).map(|i| unit(600, i)).collect();
        Points { t: t.into(), x: uniform(&[count], 601, 1.0) }
    }
}

/// What is left of the equation, and of the state at the start: both squared, the mean of each, and the sum.
pub fn loss(field: &Field, Points { t, x }: &Points) -> Tensor {
    let one = Tensor::ones(t.shape());
    let (_, u_t) = jvp(t, &one, |t| field.at(&t, x));
    // The outer tangent of (u, u_x) is (u_x, u_xx).
    let ((u, u_x), (_, u_xx)) = jvp(x, &one, |x| jvp(&x, &one, |x| field.at(t, &x)));
    let residual = u_t + u * u_x - NU * u_xx;
    let start = field.at(&Tensor::zeros(t.shape()), x) + (PI * x).sin();
    residual.square().mean() + start.square().mean()
}

/// Trains for this many steps; prints the loss, and compares the first with what is known. Gives the losses.
pub fn report(out: &mut impl Write, steps: usize) -> Result<Vec<f64>, Box<dyn std::error::Error>> {
    let points = Points::new(1024);
    let mut field = Field::untrained();
    let mut optimiser = Adam::new(1e-3);
    let mut losses = Vec::new();
    for step in 0..=steps {
        let (value, gradient) = value_and_grad(&field, |field| loss(&field, &points));
        let (value, norm) = (value.item(), gradient.norm().item());
        if step == 0 {
            writeln!(out, "loss     {value:.15}, known {}", KNOWN[0])?;
            writeln!(out, "gradient {norm:.15}, known {}", KNOWN[1])?;
            let error = |got: f64, known: f64| (got / known - 1.0).abs();
            let worst = error(value, KNOWN[0]).max(error(norm, KNOWN[1]));
            if worst.is_nan() || worst > 1e-10 {
                return Err(format!("these differ by {worst:e}").into());
            }
            writeln!(out, "They agree to {worst:.0e}.\n\n  step      loss  gradient")?;
        }
        losses.push(value);
        if step % 10 == 0 || step == steps {
            writeln!(out, "{step:>6} {value:>9.5} {norm:>9.4}")?;
        }
        field = optimiser.step(field, &gradient);
    }
    Ok(losses)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    report(&mut std::io::stdout().lock(), 50)?;
    Ok(())
}
