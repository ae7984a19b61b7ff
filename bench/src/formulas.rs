//! The six functions of the scalar benchmark, written once for every system.
//!
//! Each function is generic over [`Num`], a small trait that any scalar type of an automatic differentiation library can
//! implement: the four operations, constants on either side, five elementary functions, and the value for comparisons.
//! The same lines run over `f64` (the primal time), over every library's active type (the time of a gradient) and over
//! [`Counting`] (the number of operations by which every time is divided). A system that offers a fused sum or dot product
//! does not use it here, so one count holds for all.
//!
//! The file depends on no library, so that a crate with other dependencies can include it by its path.

use std::cell::Cell;
use std::ops::{Add, Mul, Neg, Sub};

/// A scalar the benchmark's functions can run over.
///
/// Constants are `f64`, never a lifted value: libraries record an operation with a constant differently.
pub(crate) trait Num:
    Copy
    + Neg<Output = Self>
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + std::ops::Div<Output = Self>
    + Add<f64, Output = Self>
    + Sub<f64, Output = Self>
    + Mul<f64, Output = Self>
{
    /// The value, for comparisons that choose a branch; not an operation, and nothing flows back through it.
    fn value(self) -> f64;
    /// `c - self`.
    fn rsub(self, c: f64) -> Self;
    /// `c / self`.
    fn rdiv(self, c: f64) -> Self;
    /// `self^n` for an integer `n`.
    fn powi(self, n: i32) -> Self;
    /// `e^self`.
    fn exp(self) -> Self;
    /// Natural logarithm.
    fn ln(self) -> Self;
    /// Square root.
    fn sqrt(self) -> Self;
    /// Hyperbolic tangent.
    fn tanh(self) -> Self;
    /// The normal distribution function; a number that cannot branch on its value says how else.
    #[inline]
    fn normal_cdf(self) -> Self {
        normal_cdf(self)
    }
}

/// One function of the scalar benchmark, with its inputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Workload {
    /// (a) The product of 1,000 numbers near 1: a chain of multiplications and nothing else.
    Product,
    /// (b) The Rosenbrock function of 10,000 variables: short expressions, many inputs.
    Rosenbrock,
    /// (c) 10,000 Runge–Kutta steps of the Lotka–Volterra equations, six inputs: a long tape.
    LotkaVolterra,
    /// (d) The sum of 10,000 Black–Scholes call prices, 40,001 inputs: elementary functions.
    BlackScholes,
    /// (e) A tanh network 64-128-1 in scalars, 8,449 parameters: multiplications by constants.
    Network,
    /// (f) Softmax cross entropy of 1,000 logits: one exponential for each input.
    CrossEntropy,
}

impl Workload {
    /// All six, in the order of their letters.
    pub(crate) const ALL: [Self; 6] =
        [Self::Product, Self::Rosenbrock, Self::LotkaVolterra, Self::BlackScholes, Self::Network, Self::CrossEntropy];

    /// The letter that names the workload in reports and on the command line.
    pub(crate) fn letter(self) -> char {
        match self {
            Self::Product => 'a',
            Self::Rosenbrock => 'b',
            Self::LotkaVolterra => 'c',
            Self::BlackScholes => 'd',
            Self::Network => 'e',
            Self::CrossEntropy => 'f',
        }
    }

    /// The workload a letter names.
    pub(crate) fn from_letter(letter: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|workload| letter.chars().eq([workload.letter()]))
    }

    /// The point at which the function is differentiated.
    pub(crate) fn inputs(self) -> Vec<f64> {
        match self {
            Self::Product => fill(1000, |i| 1.0 + 0.01 * symmetric(2000, i)),
            Self::Rosenbrock => fill(10_000, |i| 1.0 + 0.2 * symmetric(2001, i)),
            Self::LotkaVolterra => vec![2.0 / 3.0, 4.0 / 3.0, 1.0, 1.1, 1.2, 0.9],
            Self::BlackScholes => black_scholes_inputs(),
            Self::Network => network_inputs(),
            Self::CrossEntropy => fill(1000, |i| 4.0 * symmetric(2002, i)),
        }
    }

    /// Data that is not differentiated: the 64 features of the network, nothing for the others.
    pub(crate) fn constants(self) -> Vec<f64> {
        match self {
            Self::Network => fill(FEATURES as u64, |i| symmetric(2003, i)),
            Self::Product | Self::Rosenbrock | Self::LotkaVolterra | Self::BlackScholes | Self::CrossEntropy => {
                Vec::new()
            }
        }
    }

    /// The function itself.
    pub(crate) fn evaluate<T: Num>(self, x: &[T], constants: &[f64]) -> T {
        match self {
            Self::Product => product(x),
            Self::Rosenbrock => rosenbrock(x),
            Self::LotkaVolterra => lotka_volterra(x),
            Self::BlackScholes => black_scholes(x),
            Self::Network => network(x, constants),
            Self::CrossEntropy => cross_entropy(x),
        }
    }

    /// The number of elementary operations of one evaluation: every `+ - * /`, negation, power and function counts one.
    pub(crate) fn operations(self) -> u64 {
        let x: Vec<Counting> = self.inputs().into_iter().map(Counting).collect();
        OPERATIONS.set(0);
        self.evaluate(&x, &self.constants());
        OPERATIONS.get()
    }
}

// ---- the functions ----

/// `x_0 * x_1 * ... * x_{n-1}` from the left; `x` is not empty.
pub(crate) fn product<T: Num>(x: &[T]) -> T {
    let mut y = x[0];
    for &factor in &x[1..] {
        y = y * factor;
    }
    y
}

/// `sum over i < n-1 of (1 - x_i)^2 + 100 (x_{i+1} - x_i^2)^2` (Rosenbrock, 1960, in its chained form); `x` has two entries
/// or more.
pub(crate) fn rosenbrock<T: Num>(x: &[T]) -> T {
    let term = |x: T, next: T| x.rsub(1.0).powi(2) + (next - x * x).powi(2) * 100.0;
    let mut y = term(x[0], x[1]);
    for i in 1..x.len() - 1 {
        y = y + term(x[i], x[i + 1]);
    }
    y
}

/// Steps of the integration in (c).
pub(crate) const STEPS: usize = 10_000;
/// Step size of the integration in (c).
pub(crate) const DT: f64 = 0.001;

/// `x_T + y_T` of `x' = alpha x - beta x y`, `y' = delta x y - gamma y` by the classical Runge–Kutta method of order four,
/// as a function of `(alpha, beta, gamma, delta, x_0, y_0)`.
pub(crate) fn lotka_volterra<T: Num>(p: &[T]) -> T {
    let (alpha, beta, gamma, delta) = (p[0], p[1], p[2], p[3]);
    let rates = |x: T, y: T| (alpha * x - beta * x * y, delta * x * y - gamma * y);
    let (mut x, mut y) = (p[4], p[5]);
    for _ in 0..STEPS {
        let (k1x, k1y) = rates(x, y);
        let (k2x, k2y) = rates(x + k1x * (0.5 * DT), y + k1y * (0.5 * DT));
        let (k3x, k3y) = rates(x + k2x * (0.5 * DT), y + k2y * (0.5 * DT));
        let (k4x, k4y) = rates(x + k3x * DT, y + k3y * DT);
        x = x + (k1x + k2x * 2.0 + k3x * 2.0 + k4x) * (DT / 6.0);
        y = y + (k1y + k2y * 2.0 + k3y * 2.0 + k4y) * (DT / 6.0);
    }
    x + y
}

/// The sum of call prices; `x` holds spot, strike, volatility and time to maturity of one option after the other, and at
/// the end the interest rate they share.
pub(crate) fn black_scholes<T: Num>(x: &[T]) -> T {
    let (options, rate) = x.split_at(x.len() - 1);
    let mut options = options.chunks_exact(4);
    let first = options.next().expect("one option or more");
    let mut sum = call_price(first, rate[0]);
    for option in options {
        sum = sum + call_price(option, rate[0]);
    }
    sum
}

/// `S N(d1) - K exp(-r T) N(d2)` (Black and Scholes, 1973) with `d1 = (ln(S/K) + (r + s^2/2) T) / (s sqrt T)` and
/// `d2 = d1 - s sqrt T`.
#[inline]
fn call_price<T: Num>(option: &[T], rate: T) -> T {
    let (spot, strike, volatility, time) = (option[0], option[1], option[2], option[3]);
    let deviation = volatility * time.sqrt();
    let drift = rate + volatility * volatility * 0.5;
    let d1 = ((spot / strike).ln() + drift * time) / deviation;
    let d2 = d1 - deviation;
    let discount = (-(rate * time)).exp();
    spot * d1.normal_cdf() - strike * discount * d2.normal_cdf()
}

/// `1 / sqrt(2 pi)`.
pub(crate) const INV_SQRT_2PI: f64 = 0.398_942_280_401_432_7;
/// `p` of [`normal_cdf`].
pub(crate) const CDF_P: f64 = 0.231_641_9;
/// `b_1` to `b_5` of [`normal_cdf`].
pub(crate) const CDF_B: [f64; 5] = [0.319_381_530, -0.356_563_782, 1.781_477_937, -1.821_255_978, 1.330_274_429];

/// The normal distribution function: for `x >= 0`, `1 - exp(-x^2/2)/sqrt(2 pi) (b_1 t + ... + b_5 t^5)` with
/// `t = 1/(1 + p x)`; for `x < 0`, one minus that at `-x` (Abramowitz and Stegun, 1964, formula 26.2.17, error below 7.5e-8).
///
/// Three of the systems compared have no error function, so all use this formula through `exp`: then every system does the
/// same operations. The derivative compared is that of the formula.
#[inline]
fn normal_cdf<T: Num>(x: T) -> T {
    let negative = x.value() < 0.0;
    let z = if negative { -x } else { x };
    let t = (z * CDF_P + 1.0).rdiv(1.0);
    let [b1, b2, b3, b4, b5] = CDF_B;
    let polynomial = ((((t * b5 + b4) * t + b3) * t + b2) * t + b1) * t;
    let tail = (z * z * -0.5).exp() * INV_SQRT_2PI * polynomial;
    if negative { tail } else { tail.rsub(1.0) }
}

/// Inputs of the network in (e).
pub(crate) const FEATURES: usize = 64;
/// Hidden units of the network in (e).
pub(crate) const HIDDEN: usize = 128;

/// `(b + sum_j v_j tanh(c_j + sum_i W_ji f_i))^2`; `p` holds `W` by rows, then `c`, `v` and `b`.
pub(crate) fn network<T: Num>(p: &[T], features: &[f64]) -> T {
    let (weights, rest) = p.split_at(HIDDEN * FEATURES);
    let (biases, rest) = rest.split_at(HIDDEN);
    let (output_weights, output_bias) = rest.split_at(HIDDEN);
    let mut output = output_bias[0];
    for j in 0..HIDDEN {
        let row = &weights[j * FEATURES..(j + 1) * FEATURES];
        let mut sum = biases[j];
        for (&weight, &feature) in row.iter().zip(features) {
            sum = sum + weight * feature;
        }
        output = output + output_weights[j] * sum.tanh();
    }
    output * output
}

/// The class whose probability (f) asks for.
pub(crate) const LABEL: usize = 7;

/// `ln(sum_i exp(x_i - m)) + m - x_label` where `m` is the largest value, taken as a constant: the derivative does not
/// depend on it.
pub(crate) fn cross_entropy<T: Num>(x: &[T]) -> T {
    let max = x.iter().map(|x| x.value()).fold(f64::MIN, f64::max);
    let mut sum = (x[0] - max).exp();
    for &logit in &x[1..] {
        sum = sum + (logit - max).exp();
    }
    sum.ln() + max - x[LABEL]
}

// ---- inputs ----

/// A number in `[0, 1)` that depends on `(seed, i)` alone and is the same in every language: 53 bits of the SplitMix64
/// finaliser (Steele, Lea and Flood, 2014).
pub(crate) fn unit(seed: u64, i: u64) -> f64 {
    let s = ((seed << 32).wrapping_add(i).wrapping_add(1)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let z = (s ^ (s >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    let z = z ^ (z >> 31);
    (z >> 11) as f64 / (1_u64 << 53) as f64
}

/// A number in `[-1, 1)`.
fn symmetric(seed: u64, i: u64) -> f64 {
    2.0 * unit(seed, i) - 1.0
}

/// `f(0), ..., f(n-1)`.
fn fill(n: u64, f: impl Fn(u64) -> f64) -> Vec<f64> {
    (0..n).map(f).collect()
}

/// 10,000 options around the money and the rate.
fn black_scholes_inputs() -> Vec<f64> {
    let mut x = Vec::with_capacity(40_001);
    for i in 0..10_000 {
        x.push(80.0 + 40.0 * unit(2010, i));
        x.push(80.0 + 40.0 * unit(2011, i));
        x.push(0.1 + 0.4 * unit(2012, i));
        x.push(0.1 + 1.9 * unit(2013, i));
    }
    x.push(0.03);
    x
}

/// Weights scaled by the square root of three over the number of inputs of a unit, and small biases.
fn network_inputs() -> Vec<f64> {
    let mut p = fill((HIDDEN * FEATURES) as u64, |i| (3.0 / FEATURES as f64).sqrt() * symmetric(2020, i));
    p.extend(fill(HIDDEN as u64, |i| 0.1 * symmetric(2021, i)));
    p.extend(fill(HIDDEN as u64, |i| (3.0 / HIDDEN as f64).sqrt() * symmetric(2022, i)));
    p.push(0.1);
    p
}

// ---- numbers ----

impl Num for f64 {
    #[inline]
    fn value(self) -> f64 {
        self
    }
    #[inline]
    fn rsub(self, c: f64) -> Self {
        c - self
    }
    #[inline]
    fn rdiv(self, c: f64) -> Self {
        c / self
    }
    #[inline]
    fn powi(self, n: i32) -> Self {
        f64::powi(self, n)
    }
    #[inline]
    fn exp(self) -> Self {
        f64::exp(self)
    }
    #[inline]
    fn ln(self) -> Self {
        f64::ln(self)
    }
    #[inline]
    fn sqrt(self) -> Self {
        f64::sqrt(self)
    }
    #[inline]
    fn tanh(self) -> Self {
        f64::tanh(self)
    }
}

thread_local! {
    /// Operations on [`Counting`] since it was last set to zero.
    static OPERATIONS: Cell<u64> = const { Cell::new(0) };
}

/// A number that counts the operations done with it.
#[derive(Clone, Copy, Debug)]
struct Counting(f64);

/// A result, counted as one operation.
fn counted(value: f64) -> Counting {
    OPERATIONS.set(OPERATIONS.get() + 1);
    Counting(value)
}

impl Neg for Counting {
    type Output = Self;
    fn neg(self) -> Self {
        counted(-self.0)
    }
}

/// The binary operators of [`Counting`], with a number of its kind or a constant on the right.
macro_rules! counting_operators {
    ($($operator:ident, $method:ident);+) => {$(
        impl std::ops::$operator for Counting {
            type Output = Self;
            fn $method(self, other: Self) -> Self {
                counted(std::ops::$operator::$method(self.0, other.0))
            }
        }
        impl std::ops::$operator<f64> for Counting {
            type Output = Self;
            fn $method(self, other: f64) -> Self {
                counted(std::ops::$operator::$method(self.0, other))
            }
        }
    )+};
}
counting_operators!(Add, add; Sub, sub; Mul, mul; Div, div);

impl Num for Counting {
    fn value(self) -> f64 {
        self.0
    }
    fn rsub(self, c: f64) -> Self {
        counted(c - self.0)
    }
    fn rdiv(self, c: f64) -> Self {
        counted(c / self.0)
    }
    fn powi(self, n: i32) -> Self {
        counted(self.0.powi(n))
    }
    fn exp(self) -> Self {
        counted(self.0.exp())
    }
    fn ln(self) -> Self {
        counted(self.0.ln())
    }
    fn sqrt(self) -> Self {
        counted(self.0.sqrt())
    }
    fn tanh(self) -> Self {
        counted(self.0.tanh())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counts derived on paper; a change of a formula changes the unit of every figure and must be seen here.
    #[test]
    fn operations_are_counted() {
        assert_eq!(Workload::Product.operations(), 999);
        // Eight for each of 9,999 terms, one of them the addition to the sum, which the first term does not need.
        assert_eq!(Workload::Rosenbrock.operations(), 9_999 * 8 - 1);
        // Four evaluations of eight, six moves of two, two updates of seven.
        assert_eq!(Workload::LotkaVolterra.operations(), 10_000 * 58 + 1);
        assert_eq!(Workload::Network.operations(), (64 * 128 * 2 + 128 * 3 + 1) as u64);
        assert_eq!(Workload::CrossEntropy.operations(), 1000 * 3 - 1 + 3);
    }

    /// An option takes 19 operations besides its two distribution functions, the addition to the sum among them; each of
    /// those takes 18 on either side of zero, with a negation before or a subtraction after.
    #[test]
    fn an_option_costs_the_same_on_either_side_of_the_money() {
        assert_eq!(Workload::BlackScholes.operations(), 10_000 * (19 + 2 * 18) - 1);
    }

    /// The first values of the hash, as stated for the other languages that use it.
    #[test]
    fn the_hash_is_the_stated_one() {
        let expected = [0.649_952_090_948_209_3, 0.233_077_604_678_633_25, 0.670_332_026_259_797_6];
        for (i, &value) in expected.iter().enumerate() {
            assert_eq!(unit(100, i as u64), value);
        }
    }
}
