//! Windows: weights that let a piece of a signal begin and end gently.

use super::room::{no_room, numbers};
use crate::error::OrRaise;
use crate::primitives::turned;
use crate::tensor::Tensor;

/// A window, as weights of the samples of a piece.
///
/// ```
/// use wengert::signal::Window;
/// assert_eq!(Window::Hann.periodic(4).to_vec(), [0.0, 0.5, 1.0, 0.5]);
/// assert_eq!(Window::Hann.symmetric(3).to_vec(), [0.0, 1.0, 0.0]);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Window {
    /// `1/2 - 1/2 cos(t)`, where t goes once around.
    #[default]
    Hann,
    /// `0.54 - 0.46 cos(t)`
    Hamming,
    /// `0.42 - 0.5 cos(t) + 0.08 cos(2 t)`
    Blackman,
    /// 1.
    Rectangular,
}

impl Window {
    /// n weights of which the next one would be the first again: for transforms of pieces.
    ///
    /// ```
    /// use wengert::signal::Window;
    /// assert_eq!(Window::Rectangular.periodic(3).to_vec(), [1.0, 1.0, 1.0]);
    /// ```
    ///
    /// # Panics
    /// If there is no memory for them.
    #[track_caller]
    #[must_use]
    pub fn periodic(self, n: usize) -> Tensor {
        self.tensor("Window::periodic", n, n)
    }

    /// n weights that are the same backwards: for filters. The only one of one is 1.
    ///
    /// ```
    /// use wengert::signal::Window;
    /// assert_eq!(Window::Hann.symmetric(5).shape(), [5]);
    /// ```
    ///
    /// # Panics
    /// If there is no memory for them.
    #[track_caller]
    #[must_use]
    pub fn symmetric(self, n: usize) -> Tensor {
        if n == 1 { Tensor::ones(&[1]) } else { self.tensor("Window::symmetric", n, n.saturating_sub(1)) }
    }

    #[track_caller]
    fn tensor(self, name: &str, n: usize, period: usize) -> Tensor {
        match self.weights(n, period) {
            Some(weights) => Tensor::from(weights),
            None => no_room(name, &[], &format!("{n} weights")).or_raise(),
        }
    }

    /// Weights at n places of a turn of `period` places; `None` if there is no memory for them.
    pub(super) fn weights(self, n: usize, period: usize) -> Option<Vec<f64>> {
        let cosine = |k: usize| turned(k % period, period)[0];
        let weight = |k: usize| match self {
            Window::Hann => 0.5 - 0.5 * cosine(k),
            Window::Hamming => 0.54 - 0.46 * cosine(k),
            Window::Blackman => (0.42 - 0.5 * cosine(k) + 0.08 * cosine(2 * k)).max(0.0),
            Window::Rectangular => 1.0,
        };
        numbers(n, weight)
    }
}
