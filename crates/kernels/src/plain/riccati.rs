//! Riccati equations by doubling, with a last step of Newton's method.
//!
//! E. K.-W. Chu, H.-Y. Fan, W.-W. Lin, *A structure-preserving doubling algorithm for continuous-time algebraic Riccati equations*, 2005;
//! D. L. Kleinman, 1968, for the steps of Newton's method.

use super::schur::{MatrixEquation, sylvester};
use super::{solve, symmetric, transposed};

/// Doublings: each squares the closed loop, so that many more are needed only where it is at the edge of being stable.
const MOST_DOUBLINGS: usize = 60;

/// Square matrices of one order.
struct Square(usize);

impl Square {
    fn mul(&self, x: &[f64], y: &[f64]) -> Vec<f64> {
        let n = self.0;
        let at = |i: usize, j: usize| (0..n).map(|k| x[i * n + k] * y[k * n + j]).sum();
        (0..n * n).map(|place| at(place / n, place % n)).collect()
    }

    fn turned(&self, x: &[f64]) -> Vec<f64> {
        transposed(x, self.0, self.0)
    }

    fn identity(&self) -> Vec<f64> {
        (0..self.0 * self.0).map(|place| f64::from(u8::from(place / self.0 == place % self.0))).collect()
    }

    /// `A^-1 B`
    fn solve(&self, a: &[f64], b: &[f64]) -> Option<Vec<f64>> {
        solve(a, self.0, b, self.0, false).ok()
    }

    /// `(I + x y)^-1 z`
    fn behind(&self, x: &[f64], y: &[f64], z: &[f64]) -> Option<Vec<f64>> {
        self.solve(&sum(&self.identity(), 1.0, &self.mul(x, y)), z)
    }
}

/// `x + factor y`
fn sum(x: &[f64], factor: f64, y: &[f64]) -> Vec<f64> {
    x.iter().zip(y).map(|(x, y)| x + factor * y).collect()
}

fn largest(x: &[f64]) -> f64 {
    x.iter().fold(0.0, |largest, x| if x.is_nan() { f64::NAN } else { largest.max(x.abs()) })
}

/// The stabilising solution, for symmetric G and Q; `None` if there is none.
pub fn riccati(equation: MatrixEquation, a: &[f64], g: &[f64], q: &[f64], n: usize) -> Option<Vec<f64>> {
    let space = Square(n);
    let (mut loop_, mut control, mut x) = match equation {
        MatrixEquation::Discrete => (a.to_vec(), g.to_vec(), q.to_vec()),
        MatrixEquation::Continuous => shifted(&space, a, g, q)?,
    };
    let mut steps = 0;
    loop {
        let by_loop = space.behind(&control, &x, &loop_)?;
        let by_control = space.behind(&control, &x, &control)?;
        let moved = space.mul(&space.turned(&loop_), &space.mul(&x, &by_loop));
        let step = largest(&moved);
        x = symmetric(&sum(&x, 1.0, &moved), n);
        control = symmetric(&sum(&control, 1.0, &space.mul(&space.mul(&loop_, &by_control), &space.turned(&loop_))), n);
        loop_ = space.mul(&loop_, &by_loop);
        steps += 1;
        if step <= 0.5 * f64::EPSILON * largest(&x) {
            break;
        }
        if steps == MOST_DOUBLINGS || !step.is_finite() {
            return None;
        }
    }
    // Where the closed loop is not stable its powers do not vanish.
    let vanishes = largest(&loop_) <= 1e-6;
    let refined = newton(equation, &space, a, g, q, &newton(equation, &space, a, g, q, &x)?)?;
    vanishes.then_some(refined)
}

/// The continuous equation as a discrete one: its Cayley transform with a shift of the size of A.
fn shifted(space: &Square, a: &[f64], g: &[f64], q: &[f64]) -> Option<(Vec<f64>, Vec<f64>, Vec<f64>)> {
    let n = space.0;
    let row = |k: usize| a[k * n..(k + 1) * n].iter().map(|x| x.abs()).sum::<f64>();
    let shift = (0..n).map(row).fold(0.0, f64::max) + (largest(g) * largest(q)).sqrt() * n as f64 + f64::MIN_POSITIVE;
    let eye = space.identity();
    let moved = sum(a, -shift, &eye);
    let turned = space.turned(&moved);
    // W = A + G A^-T Q, V = A^T + Q A^-1 G, with the shifted A.
    let w = sum(&moved, 1.0, &space.mul(g, &space.solve(&turned, q)?));
    let v = sum(&turned, 1.0, &space.mul(q, &space.solve(&moved, g)?));
    let next = sum(&eye, 2.0 * shift, &space.solve(&w, &eye)?);
    let inverse = space.solve(&v, &eye)?;
    let control = space.mul(&space.solve(&moved, g)?, &inverse);
    let start = space.mul(&inverse, &space.mul(q, &space.solve(&moved, &eye)?));
    let scaled = |x: &[f64]| symmetric(&x.iter().map(|x| 2.0 * shift * x).collect::<Vec<f64>>(), n);
    Some((next, scaled(&control), scaled(&start)))
}

/// One step of Newton's method: a linear equation with the closed loop.
fn newton(equation: MatrixEquation, space: &Square, a: &[f64], g: &[f64], q: &[f64], x: &[f64]) -> Option<Vec<f64>> {
    let n = space.0;
    let (closed, right) = match equation {
        MatrixEquation::Continuous => {
            let gx = space.mul(g, x);
            let right = sum(&space.mul(x, &gx), 1.0, q);
            (sum(a, -1.0, &gx), right.iter().map(|x| -x).collect::<Vec<f64>>())
        }
        MatrixEquation::Discrete => {
            let closed = space.behind(g, x, a)?;
            let seen = space.mul(x, &closed);
            let right = sum(q, 1.0, &space.mul(&space.turned(&seen), &space.mul(g, &seen)));
            (closed, right)
        }
    };
    let turned = space.turned(&closed);
    let next = sylvester(equation, (&turned, n), (&closed, n), &right).ok()?;
    Some(symmetric(&next, n))
}

#[cfg(test)]
mod tests;
