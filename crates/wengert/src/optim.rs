//! Optimisers of first order for points of numbers or [`Tensor`]s: [`Sgd`], [`Adam`], [`AdamW`]; [schedules](Schedule)
//! of the learning rate; limits to gradients, [`clip_by_norm`] and [`clip_by_value`].
//!
//! An optimiser keeps what it remembers of earlier gradients, leaf by leaf; the point is the caller's.
//!
//! ```
//! use wengert::optim::Adam;
//! use wengert::prelude::*;
//! let mut opt = Adam::new(0.1);
//! let mut x = [3.0, -2.0];
//! for _ in 0..300 {
//!     let slope = grad(x, |[x, y]| (x - 1.0).square() + 10.0 * (y - 2.0).square());
//!     x = opt.step(x, &slope);
//! }
//! assert!((x[0] - 1.0).abs() < 1e-3 && (x[1] - 2.0).abs() < 1e-3);
//! ```

#[cfg(feature = "argmin")]
pub mod argmin;

use std::panic::Location;

use crate::error::{Error, ErrorKind, OrRaise};
use crate::leaf::Leaf;
use crate::tensor::Tensor;
use crate::tree::{Tree, leaves};

// ---- schedules ----------------------------------------------------------------------------------

/// The learning rate of every step; a number is a constant rate.
///
/// ```
/// use wengert::optim::Schedule;
/// let rate = Schedule::cosine(1.0, 0.0, 100).warmup(10);
/// assert_eq!([rate.at(0), rate.at(4), rate.at(10), rate.at(110), rate.at(500)], [0.1, 0.5, 1.0, 0.0, 0.0]);
/// assert!((rate.at(60) - 0.5).abs() < 1e-15);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub enum Schedule {
    /// Always this rate.
    Constant(f64),
    /// `start factor^(k / every)` with the quotient rounded down: the rate jumps.
    Step {
        /// The first rate.
        start: f64,
        /// What the rate is multiplied by.
        factor: f64,
        /// The number of steps between jumps; at least 1.
        every: u64,
    },
    /// `start factor^(k / every)` with the exact quotient.
    Exponential {
        /// The first rate.
        start: f64,
        /// What the rate is multiplied by, gradually.
        factor: f64,
        /// In how many steps; at least 1.
        every: u64,
    },
    /// `end + (start - end) (1 + cos(pi k / steps)) / 2`, and `end` after this many steps (I. Loshchilov, F. Hutter,
    /// *SGDR: stochastic gradient descent with warm restarts*, 2017, without restarts).
    Cosine {
        /// The first rate.
        start: f64,
        /// The last rate.
        end: f64,
        /// In how many steps.
        steps: u64,
    },
    /// `(k + 1) / steps` of the first rate of another schedule, which begins after this many steps.
    Warmup {
        /// How many steps the rate grows.
        steps: u64,
        /// What follows.
        then: Box<Schedule>,
    },
}

impl Schedule {
    /// [`Schedule::Step`]
    pub const fn step(start: f64, factor: f64, every: u64) -> Self {
        Schedule::Step { start, factor, every }
    }

    /// [`Schedule::Exponential`]
    pub const fn exponential(start: f64, factor: f64, every: u64) -> Self {
        Schedule::Exponential { start, factor, every }
    }

    /// [`Schedule::Cosine`]
    pub const fn cosine(start: f64, end: f64, steps: u64) -> Self {
        Schedule::Cosine { start, end, steps }
    }

    /// This schedule after this many steps of growth: [`Schedule::Warmup`].
    #[must_use]
    pub fn warmup(self, steps: u64) -> Self {
        Schedule::Warmup { steps, then: Box::new(self) }
    }

    /// The rate of step `k`; the first step is 0.
    pub fn at(&self, k: u64) -> f64 {
        match self {
            Schedule::Constant(rate) => *rate,
            Schedule::Step { start, factor, every } => start * factor.powf((k / every.max(&1)) as f64),
            Schedule::Exponential { start, factor, every } => start * factor.powf(k as f64 / *every.max(&1) as f64),
            Schedule::Cosine { end, steps, .. } if k >= *steps => *end,
            Schedule::Cosine { start, end, steps } => {
                let angle = std::f64::consts::PI * (k as f64 / *steps as f64);
                end + (start - end) * (0.5 * (1.0 + angle.cos()))
            }
            Schedule::Warmup { steps, then } if k < *steps => then.at(0) * ((k + 1) as f64 / *steps as f64),
            Schedule::Warmup { steps, then } => then.at(k - steps),
        }
    }
}

impl From<f64> for Schedule {
    fn from(rate: f64) -> Self {
        Schedule::Constant(rate)
    }
}

// ---- arithmetic of leaves -----------------------------------------------------------------------

/// What an optimiser can move: `f64` and [`Tensor`]. Sealed, as [`Leaf`] is.
pub trait Parameter: Leaf {
    /// Why a number or tensor cannot replace `self`.
    #[doc(hidden)]
    fn misfit(&self, other: &Self) -> Option<String>;
    /// Zero, of the same shape.
    #[doc(hidden)]
    fn zero(&self) -> Self;
    /// `a self + b other`
    #[doc(hidden)]
    #[track_caller]
    fn blend(&self, a: f64, other: &Self, b: f64) -> Self;
    /// The squares of the elements.
    #[doc(hidden)]
    #[track_caller]
    fn squared(&self) -> Self;
    /// `self / (sqrt(other) + epsilon)`
    #[doc(hidden)]
    #[track_caller]
    fn over_root(&self, other: &Self, epsilon: f64) -> Self;
    /// `factor self`
    #[doc(hidden)]
    #[track_caller]
    fn times(&self, factor: f64) -> Self;
    /// The elements limited to `[-bound, bound]`.
    #[doc(hidden)]
    #[track_caller]
    fn limited(&self, bound: f64) -> Self;
    /// The Euclidean norm, as a number.
    #[doc(hidden)]
    #[track_caller]
    fn length(&self) -> f64;
}

impl Parameter for f64 {
    fn misfit(&self, _: &Self) -> Option<String> {
        None
    }
    fn zero(&self) -> Self {
        0.0
    }
    fn blend(&self, a: f64, other: &Self, b: f64) -> Self {
        a * self + b * other
    }
    fn squared(&self) -> Self {
        self * self
    }
    fn over_root(&self, other: &Self, epsilon: f64) -> Self {
        self / (other.sqrt() + epsilon)
    }
    fn times(&self, factor: f64) -> Self {
        factor * self
    }
    fn limited(&self, bound: f64) -> Self {
        self.clamp(-bound, bound)
    }
    fn length(&self) -> f64 {
        self.abs()
    }
}

impl Parameter for Tensor {
    fn misfit(&self, other: &Self) -> Option<String> {
        if self.dtype().is_float() && self.ty() == other.ty() {
            return None;
        }
        Some(format!("it is {}, and has to be {} with real elements", other.ty(), self.ty()))
    }
    fn zero(&self) -> Self {
        Tensor::zeros_of(self.dtype(), self.shape())
    }
    #[track_caller]
    fn blend(&self, a: f64, other: &Self, b: f64) -> Self {
        self * a + other * b
    }
    #[track_caller]
    fn squared(&self) -> Self {
        self.square()
    }
    #[track_caller]
    fn over_root(&self, other: &Self, epsilon: f64) -> Self {
        self / (other.sqrt() + epsilon)
    }
    #[track_caller]
    fn times(&self, factor: f64) -> Self {
        self * factor
    }
    #[track_caller]
    fn limited(&self, bound: f64) -> Self {
        self.clamp(-bound, bound)
    }
    #[track_caller]
    fn length(&self) -> f64 {
        self.to_f64().norm().item()
    }
}

/// Checks that trees have the leaves of the point: what follows may rely on it.
#[track_caller]
fn check<L: Parameter>(name: &str, what: &str, point: &[L], other: &[L]) -> Result<(), Error> {
    let line = Location::caller();
    let error = |why: String| Err(Error::new(ErrorKind::Misfit, name, why).at(Some(line)));
    if point.len() != other.len() {
        return error(format!("the {what} has {} numbers or tensors where the point has {}", other.len(), point.len()));
    }
    match point.iter().zip(other).enumerate().find_map(|(k, (x, other))| Some((k, x.misfit(other)?))) {
        Some((k, why)) => error(format!("leaf {k} of the {what} does not fit that of the point: {why}")),
        None => Ok(()),
    }
}

/// A tree of these leaves in the shape of another.
fn rebuild<T: Tree>(shape: &T, leaves: Vec<T::Leaf>) -> T::Grad {
    let mut leaves = leaves.into_iter();
    shape.grad(&mut || leaves.next().expect("as many leaves as the tree has"))
}

// ---- limits -------------------------------------------------------------------------------------

/// The Euclidean norm of all numbers of a tree together; neither the sum of squares nor a square overflows.
///
/// # Panics
/// If the numbers of a leaf may not be read, because a derivative flows to it: see
/// [`Tensor::to_array`](crate::Tensor::to_array).
#[track_caller]
pub fn global_norm<T: Tree>(tree: &T) -> f64
where
    T::Leaf: Parameter,
{
    let mut norm: f64 = 0.0;
    for leaf in leaves(tree) {
        norm = norm.hypot(leaf.length());
    }
    norm
}

/// The gradient, shortened to a [norm](global_norm) of at most `bound` with its direction kept (R. Pascanu, T. Mikolov,
/// Y. Bengio, *On the difficulty of training recurrent neural networks*, 2013). One that is not finite is returned as
/// it is: no factor makes a direction of it.
///
/// # Panics
/// If `bound` is negative or NaN.
#[track_caller]
#[must_use]
pub fn clip_by_norm<T: Tree<Grad = T>>(gradient: &T, bound: f64) -> T
where
    T::Leaf: Parameter,
{
    check_bound("clip_by_norm", bound).or_raise();
    let norm = global_norm(gradient);
    let factor = if norm > bound && norm.is_finite() { bound / norm } else { 1.0 };
    rebuild(gradient, leaves(gradient).iter().map(|leaf| leaf.times(factor)).collect())
}

/// The gradient with every number limited to `[-bound, bound]`; NaN stays NaN.
///
/// # Panics
/// If `bound` is negative or NaN.
#[track_caller]
#[must_use]
pub fn clip_by_value<T: Tree<Grad = T>>(gradient: &T, bound: f64) -> T
where
    T::Leaf: Parameter,
{
    check_bound("clip_by_value", bound).or_raise();
    rebuild(gradient, leaves(gradient).iter().map(|leaf| leaf.limited(bound)).collect())
}

#[track_caller]
fn check_bound(name: &str, bound: f64) -> Result<(), Error> {
    if bound >= 0.0 {
        return Ok(());
    }
    let why = format!("the bound is {bound}, and has to be a number that is not negative");
    Err(Error::new(ErrorKind::Misfit, name, why).at(Some(Location::caller())))
}

// ---- optimisers ---------------------------------------------------------------------------------

/// The steps of an optimiser, panicking and not; `update` moves the leaves and knows that they fit.
macro_rules! steps {
    ($name:ident, $text:literal) => {
        impl<L: Parameter> $name<L> {
            /// The point after one step against this gradient.
            ///
            /// # Panics
            /// If the gradient, or the point of the step before, has other leaves or types than the point.
            #[track_caller]
            #[must_use]
            pub fn step<T: Tree<Leaf = L, Grad = T>>(&mut self, point: T, gradient: &T) -> T {
                self.try_step(point, gradient).or_raise()
            }

            /// As [`Self::step`], with an error instead of a panic; the optimiser is then as before.
            ///
            /// # Errors
            /// If the gradient, or the point of the step before, has other leaves or types than the point.
            #[track_caller]
            pub fn try_step<T: Tree<Leaf = L, Grad = T>>(&mut self, point: T, gradient: &T) -> Result<T, Error> {
                let (x, slope) = (leaves(&point), leaves(gradient));
                check(concat!($text, "::step"), "gradient", &x, &slope)?;
                if self.steps > 0 {
                    check(concat!($text, "::step"), "state from the step before", &x, self.memory())?;
                }
                let moved = self.update(&x, &slope);
                self.steps += 1;
                Ok(rebuild(&point, moved))
            }

            /// How many steps were made.
            pub fn steps(&self) -> u64 {
                self.steps
            }

            /// The learning rate of the next step.
            pub fn rate(&self) -> f64 {
                self.schedule.at(self.steps)
            }
        }
    };
}

/// Stochastic gradient descent `x - rate g`, with momentum if wanted:
/// `v = momentum v + g`, then `x - rate v`, or with Nesterov's look ahead `x - rate (g + momentum v)` (I. Sutskever,
/// J. Martens, G. Dahl, G. Hinton, *On the importance of initialization and momentum in deep learning*, 2013).
#[derive(Clone, Debug)]
pub struct Sgd<L> {
    schedule: Schedule,
    momentum: f64,
    ahead: bool,
    steps: u64,
    velocity: Vec<L>,
}
steps!(Sgd, "Sgd");

impl<L: Parameter> Sgd<L> {
    /// Without momentum.
    pub fn new(rate: impl Into<Schedule>) -> Self {
        Sgd { schedule: rate.into(), momentum: 0.0, ahead: false, steps: 0, velocity: Vec::new() }
    }

    /// With momentum, from 0 to less than 1.
    #[must_use]
    pub fn momentum(self, momentum: f64) -> Self {
        Sgd { momentum, ahead: false, ..self }
    }

    /// With momentum, from 0 to less than 1, that looks ahead.
    #[must_use]
    pub fn nesterov(self, momentum: f64) -> Self {
        Sgd { momentum, ahead: true, ..self }
    }

    fn memory(&self) -> &[L] {
        &self.velocity
    }

    #[track_caller]
    fn update(&mut self, x: &[L], slope: &[L]) -> Vec<L> {
        let rate = self.rate();
        if self.steps == 0 {
            self.velocity = x.iter().map(L::zero).collect();
        }
        let mut moved = Vec::with_capacity(x.len());
        for ((x, g), v) in x.iter().zip(slope).zip(&mut self.velocity) {
            *v = v.blend(self.momentum, g, 1.0);
            let direction = if self.ahead { g.blend(1.0, v, self.momentum) } else { v.clone() };
            moved.push(x.blend(1.0, &direction, -rate));
        }
        moved
    }
}

/// The estimates of moments that [`Adam`] and [`AdamW`] have in common.
#[derive(Clone, Debug)]
struct Moments<L> {
    decay: [f64; 2],
    epsilon: f64,
    first: Vec<L>,
    second: Vec<L>,
}

impl<L: Parameter> Moments<L> {
    fn new() -> Self {
        Moments { decay: [0.9, 0.999], epsilon: 1e-8, first: Vec::new(), second: Vec::new() }
    }

    /// Takes in the gradient of step `k`, from 0; gives the directions, for steps of the rate 1.
    #[track_caller]
    fn directions(&mut self, k: u64, slope: &[L]) -> Vec<L> {
        if k == 0 {
            self.first = slope.iter().map(L::zero).collect();
            self.second = self.first.clone();
        }
        let [beta_1, beta_2] = self.decay;
        let count = (k + 1) as f64;
        // Both estimates start at zero; this is how much of their weight is missing still.
        let [weight_1, weight_2] = [1.0 - beta_1.powf(count), 1.0 - beta_2.powf(count)];
        let mut directions = Vec::with_capacity(slope.len());
        for ((g, m), v) in slope.iter().zip(&mut self.first).zip(&mut self.second) {
            *m = m.blend(beta_1, g, 1.0 - beta_1);
            *v = v.blend(beta_2, &g.squared(), 1.0 - beta_2);
            directions.push(m.times(1.0 / weight_1).over_root(&v.times(1.0 / weight_2), self.epsilon));
        }
        directions
    }
}

/// The settings that [`Adam`] and [`AdamW`] have in common.
macro_rules! moments {
    ($name:ident) => {
        impl<L: Parameter> $name<L> {
            /// How fast the estimates of the first and second moment forget, instead of `[0.9, 0.999]`: the weights of
            /// what they were, from 0 to less than 1.
            #[must_use]
            pub fn betas(mut self, decay: [f64; 2]) -> Self {
                self.moments.decay = decay;
                self
            }

            /// What is added to the root of the second moment, instead of 1e-8.
            #[must_use]
            pub fn epsilon(mut self, epsilon: f64) -> Self {
                self.moments.epsilon = epsilon;
                self
            }

            fn memory(&self) -> &[L] {
                &self.moments.first
            }
        }
    };
}

/// Adam (D. P. Kingma, J. Ba, *Adam: a method for stochastic optimization*, 2015, algorithm 1):
/// `m = b1 m + (1 - b1) g`, `v = b2 v + (1 - b2) g^2`, and with `t = 1, 2, …`
/// `x - rate (m / (1 - b1^t)) / (sqrt(v / (1 - b2^t)) + epsilon)`.
#[derive(Clone, Debug)]
pub struct Adam<L> {
    schedule: Schedule,
    moments: Moments<L>,
    steps: u64,
}
steps!(Adam, "Adam");
moments!(Adam);

impl<L: Parameter> Adam<L> {
    /// With the constants of the paper.
    pub fn new(rate: impl Into<Schedule>) -> Self {
        Adam { schedule: rate.into(), moments: Moments::new(), steps: 0 }
    }

    #[track_caller]
    fn update(&mut self, x: &[L], slope: &[L]) -> Vec<L> {
        let rate = self.rate();
        let directions = self.moments.directions(self.steps, slope);
        x.iter().zip(&directions).map(|(x, direction)| x.blend(1.0, direction, -rate)).collect()
    }
}

/// [`Adam`] with weights that decay apart from the gradient (I. Loshchilov, F. Hutter, *Decoupled weight decay
/// regularization*, 2019, algorithm 2, with its learning rate in the place of the schedule's multiplier):
/// `x - rate (direction of Adam + decay x)`.
#[derive(Clone, Debug)]
pub struct AdamW<L> {
    schedule: Schedule,
    moments: Moments<L>,
    decay: f64,
    steps: u64,
}
steps!(AdamW, "AdamW");
moments!(AdamW);

impl<L: Parameter> AdamW<L> {
    /// With the constants of [`Adam::new`] and a decay of 0.01.
    pub fn new(rate: impl Into<Schedule>) -> Self {
        AdamW { schedule: rate.into(), moments: Moments::new(), decay: 0.01, steps: 0 }
    }

    /// With this decay.
    #[must_use]
    pub fn decay(self, decay: f64) -> Self {
        AdamW { decay, ..self }
    }

    #[track_caller]
    fn update(&mut self, x: &[L], slope: &[L]) -> Vec<L> {
        let rate = self.rate();
        let directions = self.moments.directions(self.steps, slope);
        let step = |(x, direction): (&L, &L)| x.blend(1.0 - rate * self.decay, direction, -rate);
        x.iter().zip(&directions).map(step).collect()
    }
}
