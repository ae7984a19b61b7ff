//! Loops over time: a recurrent network, paths of a price, a field that spreads.

use wengert::prelude::*;
use wengert::{DType, Scan};

use super::case::{Case, Setup, value_and_gradient};
use super::data::{tensor, uniform, unit};

// ---- W5 -------------------------------------------------------------------------------------------

const STEPS: usize = 256;
const BATCH: usize = 16;
const UNITS: usize = 128;

/// W5: a long short-term memory over 256 steps.
pub(super) fn lstm(setup: &Setup) -> Case {
    let f32 = DType::F32;
    let scale = 1.0 / (UNITS as f64).sqrt();
    let x = uniform(f32, &[STEPS, BATCH, UNITS], 500, 1.0);
    let y = uniform(f32, &[STEPS, BATCH, UNITS], 501, 0.5);
    let parameters = [
        uniform(f32, &[UNITS, 4 * UNITS], 510, scale),
        uniform(f32, &[UNITS, 4 * UNITS], 511, scale),
        uniform(f32, &[4 * UNITS], 512, 0.1),
    ];
    value_and_gradient(setup, parameters, move |[wx, wh, b]: [Tensor; 3]| {
        let zeros = Tensor::zeros(&[BATCH, UNITS]).convert(f32);
        let step = |(h, c): (Tensor, Tensor), x: Tensor| {
            let gates = (x.matmul(&wx) + &b + h.matmul(&wh)).split(&[UNITS; 4], 1);
            let [input, forget, cell, output] = &gates[..] else { unreachable!("four parts") };
            let c = forget.sigmoid() * c + input.sigmoid() * cell.tanh();
            let h = output.sigmoid() * c.tanh();
            ((h.clone(), c), h)
        };
        let (_, all) = scan((&zeros, &zeros), &x, step);
        (all - &y).square().mean()
    })
}

// ---- W10 ------------------------------------------------------------------------------------------

const PATHS: usize = 1 << 20;
const TIMES: usize = 64;

/// W10: an Asian option by a million paths; value and derivatives in price, volatility and rate.
pub(super) fn greeks(setup: &Setup) -> Case {
    let normal = |i: u64| (-2.0 * (1.0 - unit(1000, i)).ln()).sqrt() * (std::f64::consts::TAU * unit(1001, i)).cos();
    let normals = tensor(DType::F64, &[TIMES, PATHS], normal);
    let parameters = [100.0, 0.2, 0.03].map(Tensor::from);
    value_and_gradient(setup, parameters, move |[price, volatility, rate]: [Tensor; 3]| {
        let dt = 1.0 / TIMES as f64;
        let drift = (&rate - volatility.square() * 0.5) * dt;
        let width = &volatility * dt.sqrt();
        let step = |(s, sum): (Tensor, Tensor), z: Tensor| {
            let s = s * (&drift + &width * z).exp();
            ((s.clone(), sum + s), ())
        };
        let start = (price.broadcast_to(&[PATHS]), Tensor::zeros(&[PATHS]));
        let ((_, sum), ()) = scan(start, &normals, step);
        (-&rate).exp() * (sum / TIMES as f64 - 100.0).maximum(0.0).mean()
    })
}

// ---- W12 ------------------------------------------------------------------------------------------

const SIDE: usize = 256;

/// `u` after 500 explicit steps on a grid that is zero outside.
fn spread(scan: Scan, u: &Tensor) -> Tensor {
    scan.fori(0..500, u, |_, u| {
        let wide = u.pad(&[(1, 1, 0), (1, 1, 0)], 0.0);
        let side = SIDE as isize;
        let part = |[row, column]: [isize; 2]| wide.slice((row..row + side, column..column + side));
        let neighbours = part([0, 1]) + part([2, 1]) + part([1, 0]) + part([1, 2]);
        &u + (neighbours - &u * 4.0) * 0.2 - u.powi(3) * 0.05
    })
}

fn inverse_heat(setup: &Setup, scan: Scan) -> Case {
    let start = tensor(DType::F64, &[SIDE, SIDE], |i| 1.0 + 0.5 * super::data::signed(1200, i));
    let target = uniform(DType::F64, &[SIDE, SIDE], 1201, 0.1);
    value_and_gradient(setup, [start], move |[u]: [Tensor; 1]| (spread(scan, &u) - &target).square().mean() * 0.5)
}

/// W12a: the gradient of a field at the beginning, every step kept.
pub(super) fn heat(setup: &Setup) -> Case {
    inverse_heat(setup, Scan::new())
}

/// W12b: the same in blocks of 25 steps.
pub(super) fn heat_in_blocks(setup: &Setup) -> Case {
    inverse_heat(setup, Scan::new().every(25))
}
