//! Learning rates by steps.

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
    ///
    /// ```
    /// use wengert::optim::Schedule;
    /// let rate = Schedule::step(1.0, 0.5, 10);
    /// assert_eq!([rate.at(0), rate.at(9), rate.at(10), rate.at(25)], [1.0, 1.0, 0.5, 0.25]);
    /// ```
    pub const fn step(start: f64, factor: f64, every: u64) -> Self {
        Schedule::Step { start, factor, every }
    }

    /// [`Schedule::Exponential`]
    ///
    /// ```
    /// use wengert::optim::Schedule;
    /// let rate = Schedule::exponential(1.0, 0.25, 10);
    /// assert_eq!([rate.at(0), rate.at(5), rate.at(10)], [1.0, 0.5, 0.25]);
    /// ```
    pub const fn exponential(start: f64, factor: f64, every: u64) -> Self {
        Schedule::Exponential { start, factor, every }
    }

    /// [`Schedule::Cosine`]
    ///
    /// ```
    /// use wengert::optim::Schedule;
    /// let rate = Schedule::cosine(1.0, 0.0, 100);
    /// assert!((rate.at(50) - 0.5).abs() < 1e-15 && rate.at(100) == 0.0);
    /// ```
    pub const fn cosine(start: f64, end: f64, steps: u64) -> Self {
        Schedule::Cosine { start, end, steps }
    }

    /// This schedule after this many steps of growth: [`Schedule::Warmup`].
    ///
    /// ```
    /// use wengert::optim::Schedule;
    /// let rate = Schedule::from(0.5).warmup(4);
    /// assert_eq!([rate.at(0), rate.at(3), rate.at(4)], [0.125, 0.5, 0.5]);
    /// ```
    #[must_use]
    pub fn warmup(self, steps: u64) -> Self {
        Schedule::Warmup { steps, then: Box::new(self) }
    }

    /// The rate of step `k`; the first step is 0.
    ///
    /// ```
    /// use wengert::optim::Schedule;
    /// assert_eq!(Schedule::from(0.1).at(1000), 0.1);
    /// ```
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
