//! Power spectra: how much of a signal's power lies at which frequency.

use super::fourier::Fourier;
use super::frequency::rfftfreq;
use super::room::{no_room, places};
use super::window::Window;
use crate::error::{Error, Misfit, OrRaise, misfit};
use crate::tensor::Tensor;
use crate::tensor::compose::{as_of, refuse};
use crate::tensor::twins::TryIndex;

/// What is taken off every piece before it is transformed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Detrend {
    /// Its mean.
    #[default]
    Mean,
    /// Nothing.
    Nothing,
}

/// In what unit power is given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PowerScale {
    /// Per unit of frequency: the integral over the frequencies is the mean square.
    #[default]
    Density,
    /// As it is: a sine of amplitude A between the edges of the spectrum has A^2 / 2 at its frequency.
    Spectrum,
}

/// The mean of the power spectra of overlapping pieces (P. D. Welch, *The use of fast Fourier transform for the estimation of
/// power spectra*, 1967).
///
/// `P_k = c_k |sum over j of w_j (x_j - mean) exp(-2 pi i j k / n)|^2`, the mean over the pieces, where c_k is
/// `1 / (rate sum of w_j^2)` as a density and `1 / (sum of w_j)^2` as a spectrum, twice that for all k but 0 and n / 2, which
/// stand for the negative frequencies too.
///
/// ```
/// use wengert::prelude::*;
/// use wengert::signal::{PowerScale, Welch};
/// // A sine of amplitude 3 at a quarter of the sampling rate.
/// let x = Tensor::from([0.0, 3.0, 0.0, -3.0].repeat(16));
/// let (frequencies, power) = Welch::new(16).rate(8.0).scale(PowerScale::Spectrum).power(&x);
/// assert_eq!(frequencies.slice(4).item(), 2.0);
/// assert!((power.slice(4).item() - 4.5).abs() < 1e-14);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Welch {
    length: usize,
    overlap: usize,
    window: Window,
    rate: f64,
    detrend: Detrend,
    scale: PowerScale,
}

impl Welch {
    /// Pieces of this many samples that overlap by half, with a Hann window, without their means, at one sample a unit of time,
    /// as a density.
    ///
    /// ```
    /// use wengert::{Tensor, signal::Welch};
    /// let (frequencies, power) = Welch::new(4).power(&Tensor::ones(&[16]));
    /// assert_eq!((frequencies.shape(), power.max().item()), (&[3][..], 0.0));
    /// ```
    #[must_use]
    pub fn new(length: usize) -> Self {
        let (window, detrend, scale) = (Window::Hann, Detrend::Mean, PowerScale::Density);
        Welch { length, overlap: length / 2, window, rate: 1.0, detrend, scale }
    }

    /// This many samples of a piece are those of the next one too.
    ///
    /// ```
    /// use wengert::{Tensor, signal::Welch};
    /// let (_, power) = Welch::new(4).overlap(0).power(&Tensor::linspace(0.0, 1.0, 16));
    /// assert_eq!(power.shape(), [3]);
    /// ```
    #[must_use]
    pub fn overlap(self, overlap: usize) -> Self {
        Welch { overlap, ..self }
    }

    /// With this window.
    ///
    /// ```
    /// use wengert::{Tensor, signal::{PowerScale, Welch, Window}};
    /// let welch = Welch::new(4).window(Window::Rectangular).scale(PowerScale::Spectrum);
    /// let power = welch.power(&Tensor::from([1.0, -1.0].repeat(8))).1;
    /// assert!((power.slice(2).item() - 1.0).abs() < 1e-15);
    /// ```
    #[must_use]
    pub fn window(self, window: Window) -> Self {
        Welch { window, ..self }
    }

    /// At this many samples a unit of time.
    ///
    /// ```
    /// use wengert::{Tensor, signal::Welch};
    /// let (frequencies, _) = Welch::new(4).rate(100.0).power(&Tensor::ones(&[16]));
    /// assert_eq!(frequencies.to_vec(), [0.0, 25.0, 50.0]);
    /// ```
    #[must_use]
    pub fn rate(self, rate: f64) -> Self {
        Welch { rate, ..self }
    }

    /// Without this.
    ///
    /// ```
    /// use wengert::{Tensor, signal::{Detrend, PowerScale, Welch}};
    /// let welch = Welch::new(4).detrend(Detrend::Nothing).scale(PowerScale::Spectrum);
    /// let power = welch.power(&Tensor::full(&[16], 3.0)).1;
    /// assert!((power.slice(0).item() - 9.0).abs() < 1e-14);
    /// ```
    #[must_use]
    pub fn detrend(self, detrend: Detrend) -> Self {
        Welch { detrend, ..self }
    }

    /// In this unit.
    ///
    /// ```
    /// use wengert::{Tensor, signal::{PowerScale, Welch}};
    /// let welch = Welch::new(4).scale(PowerScale::Spectrum);
    /// let power = welch.power(&Tensor::from([0.0, 1.0, 0.0, -1.0].repeat(4))).1;
    /// assert!((power.slice(1).item() - 0.5).abs() < 1e-15);
    /// ```
    #[must_use]
    pub fn scale(self, scale: PowerScale) -> Self {
        Welch { scale, ..self }
    }

    /// Frequencies, and the power at each along the last axis in place of the samples.
    ///
    /// ```
    /// use wengert::{prelude::*, signal::Welch};
    /// let x = Tensor::from([0.0, 1.0, 0.0, -1.0].repeat(4));
    /// let (_, slope) = value_and_grad(&x, |x| Welch::new(8).power(&x).1.max());
    /// assert_eq!(slope.shape(), [16]);
    /// ```
    ///
    /// # Panics
    /// As [`Welch::try_power`] returns an error.
    #[track_caller]
    pub fn power(&self, x: &Tensor) -> (Tensor, Tensor) {
        self.try_power(x).or_raise()
    }

    /// As [`Welch::power`], with an error instead of a panic.
    ///
    /// # Errors
    /// If there is no axis, a piece is empty or longer than the signal, pieces overlap by a whole piece or more, the rate is
    /// not positive, the elements are not real numbers, or there is no memory for the pieces.
    #[track_caller]
    pub fn try_power(&self, x: &Tensor) -> Result<(Tensor, Tensor), Error> {
        self.of("Welch::power", x)
    }

    /// As [`Welch::power`], of a function with this name.
    #[track_caller]
    fn of(&self, name: &str, x: &Tensor) -> Result<(Tensor, Tensor), Error> {
        let count = match self.count(x) {
            Ok(count) => count,
            Err(why) => return refuse(name, &[x], why),
        };
        let (n, hop) = (self.length, self.length - self.overlap);
        let (Some(weights), Some(places)) = (self.window.weights(n, n), places(count, n, hop)) else {
            return no_room(name, &[x], &format!("{count} pieces of {n} samples"));
        };
        let mut pieces = as_of(name, &[x], x.try_take(&places, -1))?;
        if self.detrend == Detrend::Mean {
            pieces = &pieces - pieces.mean_keep(-1);
        }
        let unit = match self.scale {
            PowerScale::Density => self.rate * weights.iter().map(|w| w * w).sum::<f64>(),
            PowerScale::Spectrum => weights.iter().sum::<f64>().powi(2),
        };
        let sided = |k: usize| if k == 0 || 2 * k == n { 1.0 } else { 2.0 };
        let factors = Tensor::from((0..=n / 2).map(|k| sided(k) / unit).collect::<Vec<f64>>()).convert(x.dtype());
        let weighted = pieces * Tensor::from(weights).convert(x.dtype());
        let spectra = as_of(name, &[x], Fourier::new().try_rfft(&weighted))?;
        let squares = as_of(name, &[x], spectra.try_norm_sqr())?;
        Ok((rfftfreq(n, 1.0 / self.rate), squares.mean_over(-2) * factors))
    }

    /// How many pieces there are.
    fn count(&self, x: &Tensor) -> Result<usize, Misfit> {
        let (n, overlap, rate) = (self.length, self.overlap, self.rate);
        if !x.dtype().is_float() {
            misfit!("it takes real numbers, not {}; convert first", x.dtype());
        }
        let Some(&samples) = x.shape().last() else { misfit!("a single number is no signal") };
        if n == 0 || n > samples {
            misfit!("a piece of {n} samples is empty, or longer than the signal, which has {samples}");
        }
        if overlap >= n {
            misfit!("pieces of {n} samples cannot overlap by {overlap}");
        }
        if !(rate > 0.0 && rate.is_finite()) {
            misfit!("the rate is {rate}, and has to be positive");
        }
        if self.window.weights(n, n).is_some_and(|weights| weights.iter().all(|&w| w == 0.0)) {
            misfit!("a window of {n} samples is 0 everywhere");
        }
        Ok((samples - n) / (n - overlap) + 1)
    }
}

/// The power spectrum of a whole signal along the last axis as a density, without its mean and without a window, at this many
/// samples a unit of time: frequencies and powers.
///
/// ```
/// use wengert::{Tensor, signal::periodogram};
/// let (frequencies, power) = periodogram(&Tensor::from([1.0, -1.0, 1.0, -1.0]), 2.0);
/// assert_eq!(frequencies.to_vec(), [0.0, 0.5, 1.0]);
/// assert!((power - Tensor::from([0.0, 0.0, 2.0])).abs().max().item() < 1e-15);
/// ```
///
/// # Panics
/// As [`Welch::try_power`] returns an error.
#[track_caller]
pub fn periodogram(x: &Tensor, rate: f64) -> (Tensor, Tensor) {
    let whole = Welch::new(x.shape().last().copied().unwrap_or(0)).overlap(0).window(Window::Rectangular);
    whole.rate(rate).of("periodogram", x).or_raise()
}
