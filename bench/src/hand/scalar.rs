//! Gradients of the benchmark's functions written by hand, the limit a tape is measured against.
//!
//! The code is what somebody who knows reverse mode would write without further tuning: no tape, no vector
//! instructions by hand, one pass forward and one back, and for the integration the states at the steps kept, with the
//! stages computed again on the way back.

use crate::formulas::{CDF_B, CDF_P, DT, FEATURES, HIDDEN, INV_SQRT_2PI, LABEL, STEPS, Workload};

/// The value of a workload at `x`, and its gradient in `gradient`, which is as long as `x`.
///
/// `scratch` keeps its memory between calls, as the tapes do.
pub(crate) fn gradient(
    workload: Workload,
    x: &[f64],
    constants: &[f64],
    gradient: &mut [f64],
    scratch: &mut Vec<f64>,
) -> f64 {
    match workload {
        Workload::Product => product(x, gradient),
        Workload::Rosenbrock => rosenbrock(x, gradient),
        Workload::LotkaVolterra => lotka_volterra(x, gradient, scratch),
        Workload::BlackScholes => black_scholes(x, gradient),
        Workload::Network => network(x, constants, gradient, scratch),
        Workload::CrossEntropy => cross_entropy(x, gradient),
    }
}

/// `y_bar_i` is the product of everything before `i` times the product of everything after.
fn product(x: &[f64], gradient: &mut [f64]) -> f64 {
    let mut before = 1.0;
    for (g, &x) in gradient.iter_mut().zip(x) {
        *g = before;
        before *= x;
    }
    let mut after = 1.0;
    for (g, &x) in gradient.iter_mut().zip(x).rev() {
        *g *= after;
        after *= x;
    }
    before
}

/// One term touches two neighbours, so value and gradient are one pass.
fn rosenbrock(x: &[f64], gradient: &mut [f64]) -> f64 {
    let mut y = 0.0;
    gradient.fill(0.0);
    for i in 0..x.len() - 1 {
        let left = 1.0 - x[i];
        let right = x[i + 1] - x[i] * x[i];
        y += left * left + 100.0 * right * right;
        gradient[i] += -2.0 * left - 400.0 * right * x[i];
        gradient[i + 1] += 200.0 * right;
    }
    y
}

/// The right-hand side of the Lotka–Volterra equations.
#[inline]
fn rates(p: &[f64], [x, y]: [f64; 2]) -> [f64; 2] {
    let xy = x * y;
    [p[0] * x - p[1] * xy, p[3] * xy - p[2] * y]
}

/// `state + k h`.
#[inline]
fn moved(state: [f64; 2], k: [f64; 2], h: f64) -> [f64; 2] {
    [state[0] + k[0] * h, state[1] + k[1] * h]
}

/// The cotangent of the state from that of the rates; those of the four parameters are added to `p_bar`.
#[inline]
fn rates_pullback(p: &[f64], [x, y]: [f64; 2], [x_rate_bar, y_rate_bar]: [f64; 2], p_bar: &mut [f64; 4]) -> [f64; 2] {
    let xy = x * y;
    p_bar[0] += x_rate_bar * x;
    p_bar[1] -= x_rate_bar * xy;
    p_bar[2] -= y_rate_bar * y;
    p_bar[3] += y_rate_bar * xy;
    let xy_bar = y_rate_bar * p[3] - x_rate_bar * p[1];
    [x_rate_bar * p[0] + xy_bar * y, xy_bar * x - y_rate_bar * p[2]]
}

/// The states at the steps are kept; a step back computes its four stages again and pulls them back in reverse order.
fn lotka_volterra(p: &[f64], gradient: &mut [f64], trajectory: &mut Vec<f64>) -> f64 {
    trajectory.clear();
    trajectory.reserve(2 * STEPS);
    let mut state = [p[4], p[5]];
    for _ in 0..STEPS {
        trajectory.extend_from_slice(&state);
        let k1 = rates(p, state);
        let k2 = rates(p, moved(state, k1, 0.5 * DT));
        let k3 = rates(p, moved(state, k2, 0.5 * DT));
        let k4 = rates(p, moved(state, k3, DT));
        for i in 0..2 {
            state[i] += (k1[i] + 2.0 * k2[i] + 2.0 * k3[i] + k4[i]) * (DT / 6.0);
        }
    }
    let value = state[0] + state[1];

    let mut p_bar = [0.0; 4];
    let mut state_bar = [1.0, 1.0];
    for step in trajectory.chunks_exact(2).rev() {
        let first = [step[0], step[1]];
        let second = moved(first, rates(p, first), 0.5 * DT);
        let third = moved(first, rates(p, second), 0.5 * DT);
        let fourth = moved(first, rates(p, third), DT);
        let share = [state_bar[0] * (DT / 6.0), state_bar[1] * (DT / 6.0)];
        let double = [2.0 * share[0], 2.0 * share[1]];
        let fourth_bar = rates_pullback(p, fourth, share, &mut p_bar);
        let third_bar = rates_pullback(p, third, moved(double, fourth_bar, DT), &mut p_bar);
        let second_bar = rates_pullback(p, second, moved(double, third_bar, 0.5 * DT), &mut p_bar);
        let first_bar = rates_pullback(p, first, moved(share, second_bar, 0.5 * DT), &mut p_bar);
        for i in 0..2 {
            state_bar[i] += first_bar[i] + second_bar[i] + third_bar[i] + fourth_bar[i];
        }
    }
    gradient[..4].copy_from_slice(&p_bar);
    gradient[4..].copy_from_slice(&state_bar);
    value
}

/// The distribution function of (d) and its derivative: with `q(z) = f(z) P(t(z))`, `f' = -z f` and `t' = -p t^2`,
/// the derivative is `-q'(|x|) = f (z P + p t^2 P'(t))` on both sides of zero.
#[inline]
fn normal_cdf(x: f64) -> (f64, f64) {
    let z = x.abs();
    let t = 1.0 / (1.0 + CDF_P * z);
    let [b1, b2, b3, b4, b5] = CDF_B;
    let polynomial = ((((b5 * t + b4) * t + b3) * t + b2) * t + b1) * t;
    let slope = (((5.0 * b5 * t + 4.0 * b4) * t + 3.0 * b3) * t + 2.0 * b2) * t + b1;
    let density = (-0.5 * z * z).exp() * INV_SQRT_2PI;
    let tail = density * polynomial;
    let value = if x < 0.0 { tail } else { 1.0 - tail };
    (value, density * (z * polynomial + CDF_P * t * t * slope))
}

/// Each option by itself; the rate collects from all.
fn black_scholes(x: &[f64], gradient: &mut [f64]) -> f64 {
    let (options, rate) = x.split_at(x.len() - 1);
    let (bars, rate_bar) = gradient.split_at_mut(x.len() - 1);
    let rate = rate[0];
    let mut sum = 0.0;
    let mut rate_sum = 0.0;
    for (option, bar) in options.chunks_exact(4).zip(bars.chunks_exact_mut(4)) {
        let (spot, strike, volatility, time) = (option[0], option[1], option[2], option[3]);
        let root = time.sqrt();
        let deviation = volatility * root;
        let drift = rate + 0.5 * volatility * volatility;
        let d1 = ((spot / strike).ln() + drift * time) / deviation;
        let (cdf1, slope1) = normal_cdf(d1);
        let (cdf2, slope2) = normal_cdf(d1 - deviation);
        let paid = strike * (-rate * time).exp();
        sum += spot * cdf1 - paid * cdf2;

        let d2_bar = -paid * slope2;
        let d1_bar = spot * slope1 + d2_bar;
        let numerator_bar = d1_bar / deviation;
        let deviation_bar = -d2_bar - numerator_bar * d1;
        bar[0] = cdf1 + numerator_bar / spot;
        bar[1] = -(paid * cdf2 + numerator_bar) / strike;
        bar[2] = deviation_bar * root + numerator_bar * volatility * time;
        bar[3] = 0.5 * deviation_bar * volatility / root + numerator_bar * drift + paid * cdf2 * rate;
        rate_sum += (numerator_bar + paid * cdf2) * time;
    }
    rate_bar[0] = rate_sum;
    sum
}

/// Backpropagation with the activations kept.
fn network(p: &[f64], features: &[f64], gradient: &mut [f64], activations: &mut Vec<f64>) -> f64 {
    let (weights, rest) = p.split_at(HIDDEN * FEATURES);
    let (biases, rest) = rest.split_at(HIDDEN);
    let (output_weights, output_bias) = rest.split_at(HIDDEN);
    activations.clear();
    let mut output = output_bias[0];
    for (j, row) in weights.chunks_exact(FEATURES).enumerate() {
        let mut sum = biases[j];
        for (weight, feature) in row.iter().zip(features) {
            sum += weight * feature;
        }
        let activation = sum.tanh();
        activations.push(activation);
        output += output_weights[j] * activation;
    }

    let output_bar = 2.0 * output;
    let (weights_bar, rest) = gradient.split_at_mut(HIDDEN * FEATURES);
    let (biases_bar, rest) = rest.split_at_mut(HIDDEN);
    let (output_weights_bar, output_bias_bar) = rest.split_at_mut(HIDDEN);
    for (j, row) in weights_bar.chunks_exact_mut(FEATURES).enumerate() {
        let activation = activations[j];
        let sum_bar = output_bar * output_weights[j] * (1.0 - activation * activation);
        for (weight_bar, feature) in row.iter_mut().zip(features) {
            *weight_bar = sum_bar * feature;
        }
        biases_bar[j] = sum_bar;
        output_weights_bar[j] = output_bar * activation;
    }
    output_bias_bar[0] = output_bar;
    output * output
}

/// The gradient is the softmax, less one at the label.
fn cross_entropy(x: &[f64], gradient: &mut [f64]) -> f64 {
    let max = x.iter().copied().fold(f64::MIN, f64::max);
    let mut sum = 0.0;
    for (g, &logit) in gradient.iter_mut().zip(x) {
        *g = (logit - max).exp();
        sum += *g;
    }
    for g in gradient.iter_mut() {
        *g /= sum;
    }
    gradient[LABEL] -= 1.0;
    sum.ln() + max - x[LABEL]
}

#[cfg(test)]
mod tests {
    //! The reference is the complex step (Squire and Trapp, 1998): `Im f(x + i h) / h` has no cancellation, so a tiny `h`
    //! gives the derivative to rounding, by no rule of differentiation that the code under test could share.

    use super::*;
    use crate::formulas::Num;
    use std::ops::{Add, Div, Mul, Neg, Sub};

    /// Step of the complex-step derivative; its square is far below the rounding of one.
    const H: f64 = 1e-30;

    /// A complex number; comparisons see the real part.
    #[derive(Clone, Copy)]
    struct Complex {
        re: f64,
        im: f64,
    }

    fn complex(re: f64, im: f64) -> Complex {
        Complex { re, im }
    }

    impl Neg for Complex {
        type Output = Self;
        fn neg(self) -> Self {
            complex(-self.re, -self.im)
        }
    }
    impl Add for Complex {
        type Output = Self;
        fn add(self, other: Self) -> Self {
            complex(self.re + other.re, self.im + other.im)
        }
    }
    impl Sub for Complex {
        type Output = Self;
        fn sub(self, other: Self) -> Self {
            complex(self.re - other.re, self.im - other.im)
        }
    }
    impl Mul for Complex {
        type Output = Self;
        fn mul(self, other: Self) -> Self {
            complex(self.re * other.re - self.im * other.im, self.re * other.im + self.im * other.re)
        }
    }
    impl Div for Complex {
        type Output = Self;
        fn div(self, other: Self) -> Self {
            let norm = other.re * other.re + other.im * other.im;
            let scaled = self * complex(other.re, -other.im);
            complex(scaled.re / norm, scaled.im / norm)
        }
    }
    impl Add<f64> for Complex {
        type Output = Self;
        fn add(self, c: f64) -> Self {
            complex(self.re + c, self.im)
        }
    }
    impl Sub<f64> for Complex {
        type Output = Self;
        fn sub(self, c: f64) -> Self {
            complex(self.re - c, self.im)
        }
    }
    impl Mul<f64> for Complex {
        type Output = Self;
        fn mul(self, c: f64) -> Self {
            complex(self.re * c, self.im * c)
        }
    }

    impl Num for Complex {
        fn value(self) -> f64 {
            self.re
        }
        fn rsub(self, c: f64) -> Self {
            -self + c
        }
        fn rdiv(self, c: f64) -> Self {
            complex(c, 0.0) / self
        }
        fn powi(self, n: i32) -> Self {
            (0..n).fold(complex(1.0, 0.0), |power, _| power * self)
        }
        fn exp(self) -> Self {
            let radius = self.re.exp();
            complex(radius * self.im.cos(), radius * self.im.sin())
        }
        fn ln(self) -> Self {
            complex(self.re.hypot(self.im).ln(), self.im.atan2(self.re))
        }
        fn sqrt(self) -> Self {
            (self.ln() * 0.5).exp()
        }
        fn tanh(self) -> Self {
            let square = (self * 2.0).exp();
            (square - 1.0) / (square + 1.0)
        }
    }

    /// About twenty inputs spread over all, the first and the last among them.
    fn sampled_indices(n: usize) -> Vec<usize> {
        let stride = n.div_ceil(20);
        let mut indices: Vec<usize> = (0..n).step_by(stride).collect();
        indices.push(n - 1);
        indices
    }

    /// Compares the value with the formula and sampled entries of the gradient with the complex step.
    fn check(workload: Workload) {
        let x = workload.inputs();
        let constants = workload.constants();
        // A gradient must be written, not added to what the buffer held.
        let mut gradient_by_hand = vec![f64::NAN; x.len()];
        let mut scratch = vec![f64::NAN; 3];
        let value = gradient(workload, &x, &constants, &mut gradient_by_hand, &mut scratch);
        let expected = workload.evaluate(&x, &constants);
        assert!(
            (value - expected).abs() <= 1e-12 * expected.abs(),
            "{workload:?}: value {value}, the formula says {expected}"
        );
        let scale = gradient_by_hand.iter().fold(0.0, |m: f64, g| m.max(g.abs()));
        for i in sampled_indices(x.len()) {
            let mut point: Vec<Complex> = x.iter().map(|&x| complex(x, 0.0)).collect();
            point[i].im = H;
            let expected = workload.evaluate(&point, &constants).im / H;
            let error = (gradient_by_hand[i] - expected).abs();
            // The rounding of a derivative is relative to what was added to form it; entries far below the largest may
            // be differences of such terms.
            assert!(
                error <= 1e-11 * (expected.abs() + 1e-3 * scale),
                "{workload:?}: entry {i} is {}, the complex step says {expected}",
                gradient_by_hand[i]
            );
        }
    }

    #[test]
    fn product_agrees_with_the_complex_step() {
        check(Workload::Product);
    }
    #[test]
    fn rosenbrock_agrees_with_the_complex_step() {
        check(Workload::Rosenbrock);
    }
    #[test]
    fn lotka_volterra_agrees_with_the_complex_step() {
        check(Workload::LotkaVolterra);
    }
    #[test]
    fn black_scholes_agrees_with_the_complex_step() {
        check(Workload::BlackScholes);
    }
    #[test]
    fn network_agrees_with_the_complex_step() {
        check(Workload::Network);
    }
    #[test]
    fn cross_entropy_agrees_with_the_complex_step() {
        check(Workload::CrossEntropy);
    }
}
