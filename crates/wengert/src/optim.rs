//! Optimisers of first order for points of numbers or [`Tensor`](crate::Tensor)s: [`Sgd`], [`Adam`], [`AdamW`]; [schedules](Schedule)
//! of the learning rate; limits to gradients, [`clip_by_norm`] and [`clip_by_value`].
//!
//! An optimiser keeps what it remembers of earlier gradients, leaf by leaf; the point is the caller's. It is a [`Tree`] itself,
//! saved and loaded as the point is. Learning rates and decays may be set by the paths of leaves (`rate_of`,
//! [`decay_of`](AdamW::decay_of)), and leaves that are [frozen](crate::freeze) are left alone.
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
mod parameter;
mod schedule;
mod state;

use std::panic::Location;

use crate::error::{Error, ErrorKind, OrRaise};
use crate::tree::{Paths, Several, Structure, Tree, leaves};
pub use parameter::Parameter;
pub use schedule::Schedule;
use state::{Given, Moving, Setting, Settings, State};

/// A tree of these leaves in the shape of another.
fn rebuild<T: Tree>(shape: &T, leaves: Vec<T::Leaf>) -> T::Grad {
    let mut leaves = leaves.into_iter();
    shape.grad(&mut || leaves.next().expect("as many leaves as the tree has"))
}

// ---- limits -------------------------------------------------------------------------------------

/// The Euclidean norm of all numbers of a tree together; neither the sum of squares nor a square overflows.
///
/// ```
/// use wengert::optim::global_norm;
/// assert_eq!(global_norm(&([3.0, 0.0], 4.0)), 5.0);
/// ```
///
/// # Panics
/// If the numbers of a leaf may not be read, because a derivative flows to it: see
/// [`Tensor::to_array`](crate::Tensor::to_array).
#[doc(alias = "grad_norm")]
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
/// ```
/// use wengert::optim::clip_by_norm;
/// assert_eq!(clip_by_norm(&[6.0, 8.0], 5.0), [3.0, 4.0]);
/// assert_eq!(clip_by_norm(&[0.3, 0.4], 5.0), [0.3, 0.4]);
/// ```
///
/// # Panics
/// If `bound` is negative or NaN.
#[doc(alias("clip_grad_norm", "clip_by_global_norm"))]
#[track_caller]
#[must_use]
pub fn clip_by_norm<T: Tree<Grad = T>>(gradient: &T, bound: f64) -> T
where
    T::Leaf: Parameter,
{
    check_bound("clip_by_norm", bound).or_raise();
    let norm = global_norm(gradient);
    let factor = if norm > bound && norm.is_finite() { bound / norm } else { 1.0 };
    limited(gradient, |leaf| leaf.times(factor))
}

/// The gradient with every number limited to `[-bound, bound]`; NaN stays NaN.
///
/// ```
/// use wengert::optim::clip_by_value;
/// assert_eq!(clip_by_value(&[-6.0, 0.5], 1.0), [-1.0, 0.5]);
/// ```
///
/// # Panics
/// If `bound` is negative or NaN.
#[doc(alias = "clip_grad_value")]
#[track_caller]
#[must_use]
pub fn clip_by_value<T: Tree<Grad = T>>(gradient: &T, bound: f64) -> T
where
    T::Leaf: Parameter,
{
    check_bound("clip_by_value", bound).or_raise();
    limited(gradient, |leaf| leaf.limited(bound))
}

/// The gradient with `f` of every leaf but those that are frozen, which are zeros.
fn limited<T: Tree<Grad = T>>(gradient: &T, f: impl Fn(&T::Leaf) -> T::Leaf) -> T {
    let frozen = Paths::frozen_leaves(gradient);
    let of_leaf = |(leaf, frozen): (T::Leaf, bool)| if frozen { leaf } else { f(&leaf) };
    rebuild(gradient, leaves(gradient).into_iter().zip(frozen).map(of_leaf).collect())
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

/// The steps of an optimiser, panicking and not, and its settings by path; `update` moves the leaves and knows that they fit.
macro_rules! steps {
    ($name:ident, $text:literal, $list:literal) => {
        impl<L: Parameter> $name<L> {
            /// The point after one step against this gradient. Leaves that are [frozen](crate::freeze) stay as they are.
            ///
            /// ```
            /// use wengert::optim::*;
            #[doc = concat!("let mut opt = ", $text, "::new(0.1);")]
            /// let (x, slope) = ([3.0, -2.0], [1.0, -1.0]);
            /// let moved = opt.step(x, &slope);
            /// assert!(moved[0] < 3.0 && moved[1] > -2.0);
            /// ```
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
                let (mut x, slope) = (leaves(&point), leaves(gradient));
                let given = Given {
                    frozen: Paths::frozen_leaves(&point),
                    places: [&point, gradient].map(|tree| Structure::of(tree).places()),
                    paths: &|| [&point, gradient].map(Paths::of),
                };
                let step = self.state.begin(concat!($text, "::step"), &self.settings, &x, &slope, &given)?;
                let moving = step.moving(&x, &slope);
                let moved = self.update(step.number, &moving);
                step.write(&mut x, moved);
                self.state.end(&step);
                Ok(rebuild(&point, x))
            }

            /// The optimiser before its first step, ready for points like this one: what it remembers has their types, and is
            /// zero. It is then a [`Tree`] like one that has made steps, and a file of such a one can be loaded into it.
            ///
            /// ```
            #[doc = concat!("use wengert::optim::", $text, ";")]
            /// use wengert::prelude::*;
            #[doc = concat!("let mut opt = ", $text, "::new(0.1).init(&vec![2.0, 3.0]);")]
            /// let paths: Vec<_> = opt.named_leaves().into_iter().map(|(path, _)| path).collect();
            #[doc = concat!("assert_eq!(paths[..3], [\"steps\", \"", $list, ".0\", \"", $list, ".1\"]);")]
            /// let _ = opt.step(vec![2.0, 3.0], &vec![1.0, 1.0]);
            /// assert_eq!(opt.named_leaves()[0].1, 1.0);
            /// ```
            ///
            /// # Panics
            /// As [`Self::try_init`] returns an error.
            #[track_caller]
            #[must_use]
            pub fn init<T: Tree<Leaf = L>>(self, point: &T) -> Self {
                self.try_init(point).or_raise()
            }

            /// As [`Self::init`], with an error instead of a panic.
            ///
            /// # Errors
            /// If a leaf that moves is not of real numbers, or a setting by path picks no leaf.
            #[track_caller]
            pub fn try_init<T: Tree<Leaf = L>>(mut self, point: &T) -> Result<Self, Error> {
                let (x, settings) = (leaves(point), &self.settings);
                let places = Structure::of(point).places();
                self.state.init(concat!($text, "::init"), settings, &x, &Paths::of(point), places)?;
                Ok(self)
            }

            /// Another learning rate for the leaves whose [paths](Paths) `which` picks; where several settings pick one, the
            /// last of them counts.
            ///
            /// ```
            #[doc = concat!("use wengert::optim::", $text, ";")]
            #[doc = concat!("let mut opt = ", $text, "::new(0.1).rate_of(|path| path == \"1\", 0.0);")]
            /// let (x, y) = opt.step((1.0, 1.0), &(1.0, 1.0));
            /// assert!(x < 1.0 && y == 1.0);
            /// ```
            ///
            /// A setting that picks no leaf of the first point is an error of the first step, because it is nearly always a
            /// misspelt path.
            #[track_caller]
            #[must_use]
            pub fn rate_of(
                mut self,
                which: impl Fn(&str) -> bool + Send + Sync + 'static,
                rate: impl Into<Schedule>,
            ) -> Self {
                self.settings.by_path("rate_of", which, Setting::Rate(rate.into()));
                self.state.forget_settings();
                self
            }

            /// How many steps were made.
            ///
            /// ```
            /// use wengert::optim::*;
            #[doc = concat!("let mut opt = ", $text, "::new(0.1);")]
            /// let x = opt.step(1.0, &0.5);
            /// assert!(opt.steps() == 1 && x < 1.0);
            /// ```
            ///
            /// # Panics
            /// If the optimiser was loaded from a file that has no such number there.
            #[track_caller]
            pub fn steps(&self) -> u64 {
                self.state.steps($text).or_raise()
            }

            /// The learning rate of the next step, where no other is set by path.
            ///
            /// ```
            /// use wengert::optim::*;
            #[doc = concat!("let opt = ", $text, "::<f64>::new(Schedule::from(0.5).warmup(4));")]
            /// assert_eq!(opt.rate(), 0.125);
            /// ```
            ///
            /// # Panics
            /// As [`Self::steps`].
            #[track_caller]
            pub fn rate(&self) -> f64 {
                self.settings.schedule.at(self.steps())
            }
        }

        /// What it remembers: the number of steps, as `steps`, and lists of leaves, each named by the path of the leaf of the point
        /// that it belongs to.
        impl<L: Parameter> Tree for $name<L> {
            type Leaf = L;
            type Vars = $name<L::Active>;
            type Grad = $name<L>;
            type Form = Several;
            type Each<U> = Vec<U>;

            fn size(&self) -> usize {
                self.state.size()
            }
            fn for_each_leaf(&self, visit: &mut impl FnMut(L)) {
                self.state.for_each(&mut |leaf| visit(leaf.clone()));
            }
            fn visit_leaves(&self, visit: &mut impl FnMut(&L)) {
                self.state.for_each(visit);
            }
            fn paths(&self, paths: &mut Paths) {
                self.state.paths(paths);
            }
            fn vars(&self, lift: &mut impl FnMut(L) -> L::Active) -> $name<L::Active> {
                self.with_state(self.state.map(&mut |leaf| lift(leaf.clone())))
            }
            fn grad(&self, next: &mut impl FnMut() -> L) -> $name<L> {
                self.with_state(self.state.map(&mut |_| next()))
            }
            fn each<U>(&self, next: &mut impl FnMut() -> U) -> Vec<U> {
                std::iter::repeat_with(next).take(self.size()).collect()
            }
        }
    };
}

/// Stochastic gradient descent `x - rate g`, with momentum if wanted:
/// `v = momentum v + g`, then `x - rate v`, or with Nesterov's look ahead `x - rate (g + momentum v)` (I. Sutskever,
/// J. Martens, G. Dahl, G. Hinton, *On the importance of initialization and momentum in deep learning*, 2013).
#[derive(Clone, Debug)]
pub struct Sgd<L> {
    settings: Settings,
    momentum: f64,
    ahead: bool,
    state: State<L>,
}
steps!(Sgd, "Sgd", "velocity");

impl<L: Parameter> Sgd<L> {
    /// Without momentum.
    ///
    /// ```
    /// use wengert::optim::*;
    /// assert_eq!(Sgd::new(0.5).step(3.0, &2.0), 2.0);
    /// ```
    pub fn new(rate: impl Into<Schedule>) -> Self {
        Sgd { settings: Settings::new(rate), momentum: 0.0, ahead: false, state: State::new(&["velocity"]) }
    }

    /// With momentum, from 0 to less than 1.
    ///
    /// ```
    /// use wengert::optim::*;
    /// let mut opt = Sgd::new(0.1).momentum(0.5);
    /// let x = opt.step(1.0, &1.0);
    /// assert!((opt.step(x, &1.0) - 0.75).abs() < 1e-15);
    /// ```
    #[must_use]
    pub fn momentum(self, momentum: f64) -> Self {
        Sgd { momentum, ahead: false, ..self }
    }

    /// With momentum, from 0 to less than 1, that looks ahead.
    ///
    /// ```
    /// use wengert::optim::*;
    /// assert!((Sgd::new(0.1).nesterov(0.5).step(1.0, &1.0) - 0.85).abs() < 1e-15);
    /// ```
    #[must_use]
    pub fn nesterov(self, momentum: f64) -> Self {
        Sgd { momentum, ahead: true, ..self }
    }

    #[track_caller]
    fn update(&mut self, _: u64, moving: &[Moving<'_, L>]) -> Vec<L> {
        let mut moved = Vec::with_capacity(moving.len());
        for (Moving { x, slope, rate, .. }, v) in moving.iter().zip(&mut self.state.lists[0]) {
            *v = v.blend(self.momentum, slope, 1.0);
            let direction = if self.ahead { slope.blend(1.0, v, self.momentum) } else { v.clone() };
            moved.push(x.blend(1.0, &direction, -rate));
        }
        moved
    }
}

impl<L> Sgd<L> {
    fn with_state<M>(&self, state: State<M>) -> Sgd<M> {
        Sgd { settings: self.settings.clone(), momentum: self.momentum, ahead: self.ahead, state }
    }
}

/// The constants of the estimates of moments that [`Adam`] and [`AdamW`] have in common.
#[derive(Clone, Copy, Debug)]
struct Moments {
    decay: [f64; 2],
    epsilon: f64,
}

impl Moments {
    /// The names of the lists that they remember.
    const LISTS: &[&str] = &["first", "second"];

    fn new() -> Self {
        Moments { decay: [0.9, 0.999], epsilon: 1e-8 }
    }

    /// Takes in the gradient of step `k`, from 0; gives the directions, for steps of the rate 1.
    #[track_caller]
    fn directions<L: Parameter>(self, k: u64, moving: &[Moving<'_, L>], lists: &mut [Vec<L>]) -> Vec<L> {
        let [first, second] = lists else { unreachable!("the state has the two lists of `LISTS`") };
        let [beta_1, beta_2] = self.decay;
        let count = (k + 1) as f64;
        // Both estimates start at zero; this is how much of their weight is missing still.
        let [weight_1, weight_2] = [1.0 - beta_1.powf(count), 1.0 - beta_2.powf(count)];
        let mut directions = Vec::with_capacity(moving.len());
        for ((Moving { slope, .. }, m), v) in moving.iter().zip(first).zip(second) {
            *m = m.blend(beta_1, slope, 1.0 - beta_1);
            *v = v.blend(beta_2, &slope.squared(), 1.0 - beta_2);
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
            ///
            /// ```
            /// use wengert::optim::*;
            #[doc = concat!("let mut opt = ", stringify!($name), "::new(0.1).betas([0.0, 0.0]);")]
            /// // Without memory every step is about as long as the rate.
            /// assert!((opt.step(1.0, &0.5) - 0.9).abs() < 2e-3);
            /// ```
            #[must_use]
            pub fn betas(mut self, decay: [f64; 2]) -> Self {
                self.moments.decay = decay;
                self
            }

            /// What is added to the root of the second moment, instead of 1e-8.
            ///
            /// ```
            /// use wengert::optim::*;
            #[doc = concat!("let mut opt = ", stringify!($name), "::new(0.1).epsilon(1.0);")]
            /// assert!((opt.step(1.0, &1.0) - 0.95).abs() < 2e-3);
            /// ```
            #[must_use]
            pub fn epsilon(mut self, epsilon: f64) -> Self {
                self.moments.epsilon = epsilon;
                self
            }
        }

        impl<L> $name<L> {
            fn with_state<M>(&self, state: State<M>) -> $name<M> {
                $name { settings: self.settings.clone(), moments: self.moments, state }
            }
        }
    };
}

/// Adam (D. P. Kingma, J. Ba, *Adam: a method for stochastic optimization*, 2015, algorithm 1):
/// `m = b1 m + (1 - b1) g`, `v = b2 v + (1 - b2) g^2`, and with `t = 1, 2, …`
/// `x - rate (m / (1 - b1^t)) / (sqrt(v / (1 - b2^t)) + epsilon)`.
#[derive(Clone, Debug)]
pub struct Adam<L> {
    settings: Settings,
    moments: Moments,
    state: State<L>,
}
steps!(Adam, "Adam", "first");
moments!(Adam);

impl<L: Parameter> Adam<L> {
    /// With the constants of the paper.
    ///
    /// ```
    /// use wengert::optim::*;
    /// // The first step is as long as the rate, whatever the gradient is.
    /// assert!((Adam::new(0.1).step(3.0, &200.0) - 2.9).abs() < 1e-9);
    /// ```
    pub fn new(rate: impl Into<Schedule>) -> Self {
        Adam { settings: Settings::new(rate), moments: Moments::new(), state: State::new(Moments::LISTS) }
    }

    #[track_caller]
    fn update(&mut self, k: u64, moving: &[Moving<'_, L>]) -> Vec<L> {
        let directions = self.moments.directions(k, moving, &mut self.state.lists);
        moving.iter().zip(&directions).map(|(leaf, direction)| leaf.x.blend(1.0, direction, -leaf.rate)).collect()
    }
}

/// [`Adam`] with weights that decay apart from the gradient (I. Loshchilov, F. Hutter, *Decoupled weight decay
/// regularization*, 2019, algorithm 2, with its learning rate in the place of the schedule's multiplier):
/// `x - rate (direction of Adam + decay x)`.
#[derive(Clone, Debug)]
pub struct AdamW<L> {
    settings: Settings,
    moments: Moments,
    state: State<L>,
}
steps!(AdamW, "AdamW", "first");
moments!(AdamW);

impl<L: Parameter> AdamW<L> {
    /// With the constants of [`Adam::new`] and a decay of 0.01.
    ///
    /// ```
    /// use wengert::optim::*;
    /// assert!((AdamW::new(0.1).step(3.0, &200.0) - (3.0 - 0.1 * (1.0 + 0.01 * 3.0))).abs() < 1e-9);
    /// ```
    pub fn new(rate: impl Into<Schedule>) -> Self {
        let settings = Settings { decay: 0.01, ..Settings::new(rate) };
        AdamW { settings, moments: Moments::new(), state: State::new(Moments::LISTS) }
    }

    /// With this decay.
    ///
    /// ```
    /// use wengert::optim::*;
    /// let mut opt = AdamW::new(0.1).decay(0.5);
    /// assert!((opt.step(2.0, &0.0) - 1.9).abs() < 1e-15);
    /// ```
    #[must_use]
    pub fn decay(mut self, decay: f64) -> Self {
        self.settings.decay = decay;
        self.state.forget_settings();
        self
    }

    /// Another decay for the leaves whose [paths](Paths) `which` picks, such as none for biases and the gains of norms; as
    /// [`AdamW::rate_of`].
    ///
    /// ```
    /// use wengert::optim::AdamW;
    /// let mut opt = AdamW::new(0.1).decay(0.5).decay_of(|path| path == "1", 0.0);
    /// assert_eq!(opt.step((2.0, 2.0), &(0.0, 0.0)), (1.9, 2.0));
    /// ```
    #[track_caller]
    #[must_use]
    pub fn decay_of(mut self, which: impl Fn(&str) -> bool + Send + Sync + 'static, decay: f64) -> Self {
        self.settings.by_path("decay_of", which, Setting::Decay(decay));
        self.state.forget_settings();
        self
    }

    #[track_caller]
    fn update(&mut self, k: u64, moving: &[Moving<'_, L>]) -> Vec<L> {
        let directions = self.moments.directions(k, moving, &mut self.state.lists);
        let step =
            |(leaf, direction): (&Moving<'_, L>, &L)| leaf.x.blend(1.0 - leaf.rate * leaf.decay, direction, -leaf.rate);
        moving.iter().zip(&directions).map(step).collect()
    }
}
