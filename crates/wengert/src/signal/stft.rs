//! Short-time spectra: the transforms of windowed pieces of a signal, and the signal back.

use super::fourier::Fourier;
use super::window::Window;
use crate::array::DType;
use crate::complex::Complex;
use crate::error::{Error, Misfit, OrRaise, misfit};
use crate::tensor::Tensor;
use crate::tensor::compose::{as_of, refuse};
use crate::tensor::twins::{TryConstruct, TryIndex, TryPad};

/// Which pieces of a signal are taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Edges {
    /// Half a piece of zeros stands before the signal, and as many after it as fill the last piece: piece k is centred at
    /// sample `k hop`, and every sample can be recovered.
    #[default]
    Padded,
    /// Pieces within the signal only; the samples after the last whole piece are left out.
    Inside,
}

/// Short-time Fourier transforms: pieces of `length` samples, `hop` apart, times a window, each by its spectrum.
///
/// `S_(t, k) = sum over j of w_j x_(t hop + j) exp(-2 pi i j k / length)`, with k from 0 to length / 2.
///
/// ```
/// use wengert::prelude::*;
/// use wengert::signal::Stft;
/// let x = Tensor::linspace(0.0, 1.0, 50).mul(20.0).sin();
/// let stft = Stft::new(16, 4);
/// let spectra = stft.forward(&x);
/// assert_eq!(spectra.shape(), [14, 9]);
/// assert!((stft.inverse(&spectra, 50) - &x).abs().max().item() < 1e-14);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Stft {
    length: usize,
    hop: usize,
    window: Vec<f64>,
    edges: Edges,
}

impl Stft {
    /// Pieces of this many samples, this far apart, with a Hann window, padded at the edges.
    ///
    /// ```
    /// use wengert::{Tensor, signal::Stft};
    /// assert_eq!(Stft::new(8, 4).forward(&Tensor::ones(&[32])).shape(), [9, 5]);
    /// ```
    #[must_use]
    pub fn new(length: usize, hop: usize) -> Self {
        Stft { length, hop, window: Window::Hann.weights(length, length), edges: Edges::Padded }
    }

    /// With this window, periodic.
    ///
    /// ```
    /// use wengert::{Tensor, signal::{Stft, Window}};
    /// let stft = Stft::new(8, 4).window(Window::Hamming);
    /// assert_eq!(stft.forward(&Tensor::ones(&[32])).shape(), [9, 5]);
    /// ```
    #[must_use]
    pub fn window(self, window: Window) -> Self {
        Stft { window: window.weights(self.length, self.length), ..self }
    }

    /// With these weights, one for each sample of a piece.
    ///
    /// ```
    /// use wengert::{Tensor, signal::Stft};
    /// let stft = Stft::new(4, 4).weights(&[1.0; 4]);
    /// assert_eq!(stft.forward(&Tensor::ones(&[8])).shape(), [3, 3]);
    /// ```
    #[must_use]
    pub fn weights(self, weights: &[f64]) -> Self {
        Stft { window: weights.to_vec(), ..self }
    }

    /// With these pieces.
    ///
    /// ```
    /// use wengert::{Tensor, signal::{Edges, Stft}};
    /// let stft = Stft::new(8, 4).edges(Edges::Inside);
    /// assert_eq!(stft.forward(&Tensor::ones(&[32])).shape(), [7, 5]);
    /// ```
    #[must_use]
    pub fn edges(self, edges: Edges) -> Self {
        Stft { edges, ..self }
    }

    /// How many pieces a signal has, and how many samples of padding stand before and after it.
    fn pieces(&self, samples: usize) -> Result<(usize, [usize; 2]), Misfit> {
        let (length, hop) = (self.length, self.hop);
        if length == 0 || hop == 0 {
            misfit!("pieces of {length} samples that are {hop} apart: both have to be at least 1");
        }
        if self.window.len() != length {
            misfit!("the window has {} weights, and a piece {length} samples", self.window.len());
        }
        match self.edges {
            Edges::Inside if samples < length => {
                misfit!("a signal of {samples} samples has no piece of {length}; pad it, or take padded edges")
            }
            Edges::Inside => Ok(((samples - length) / hop + 1, [0, 0])),
            Edges::Padded => {
                let before = length / 2;
                let count = (samples + 2 * before).saturating_sub(length).div_ceil(hop) + 1;
                let whole = (count - 1) * hop + length;
                Ok((count, [before, whole - before - samples]))
            }
        }
    }

    /// Where the samples of each piece lie in the padded signal: `[pieces, length]`.
    fn places(&self, count: usize) -> Tensor {
        let places = (0..count).flat_map(|piece| (0..self.length).map(move |j| (piece * self.hop + j) as i64));
        Tensor::from_vec(&[count, self.length], places.collect())
    }

    fn weights_of(&self, dtype: DType) -> Tensor {
        Tensor::from(self.window.clone()).convert(dtype)
    }

    /// The spectra of the pieces of a signal along the last axis: `[…, pieces, length / 2 + 1]`.
    ///
    /// ```
    /// use wengert::{Tensor, signal::Stft};
    /// let x = Tensor::from([1.0, -1.0].repeat(8));
    /// let spectra = Stft::new(4, 2).forward(&x);
    /// assert!(spectra.re.slice((4, 2)).item() > 1.0 && spectra.re.slice((4, 0)).item().abs() < 1e-15);
    /// ```
    ///
    /// # Panics
    /// As [`Stft::try_forward`] returns an error.
    #[track_caller]
    pub fn forward(&self, x: &Tensor) -> Complex<Tensor> {
        self.try_forward(x).or_raise()
    }

    /// As [`Stft::forward`], with an error instead of a panic.
    ///
    /// # Errors
    /// If there is no axis, pieces of no samples or no distance are asked for, the weights are not as many as the samples of a
    /// piece, no piece lies inside the signal, or the elements are not real numbers.
    #[track_caller]
    pub fn try_forward(&self, x: &Tensor) -> Result<Complex<Tensor>, Error> {
        let pieces = match x.shape().last() {
            _ if !x.dtype().is_float() => Err(Misfit("it takes real numbers; convert first".to_owned())),
            None => Err(Misfit("a single number is no signal".to_owned())),
            Some(&samples) => self.pieces(samples),
        };
        let (count, [before, after]) = match pieces {
            Ok(pieces) => pieces,
            Err(why) => return refuse("Stft::forward", &[x], why),
        };
        let mut amounts = vec![(0, 0, 0); x.rank() - 1];
        amounts.push((before as i64, after as i64, 0));
        let padded = as_of("Stft::forward", &[x], x.try_pad(&amounts, 0.0))?;
        let pieces = as_of("Stft::forward", &[x], padded.try_take(&self.places(count), -1))?;
        as_of("Stft::forward", &[x], Fourier::new().try_rfft(&(pieces * self.weights_of(x.dtype()))))
    }

    /// The signal of this many samples whose spectra are nearest to these: every piece is transformed back, weighted by the
    /// window again and added where it lies, over the sum of the squares of the weights there (D. Griffin and J. Lim, *Signal
    /// estimation from modified short-time Fourier transform*, 1984). Of spectra of [`Stft::forward`] it is their signal.
    ///
    /// ```
    /// use wengert::{Tensor, signal::Stft};
    /// let (x, stft) = (Tensor::linspace(0.0, 1.0, 30).sin(), Stft::new(8, 2));
    /// assert!((stft.inverse(&stft.forward(&x), 30) - &x).abs().max().item() < 1e-14);
    /// ```
    ///
    /// # Panics
    /// As [`Stft::try_inverse`] returns an error.
    #[track_caller]
    pub fn inverse(&self, spectra: &Complex<Tensor>, samples: usize) -> Tensor {
        self.try_inverse(spectra, samples).or_raise()
    }

    /// As [`Stft::inverse`], with an error instead of a panic.
    ///
    /// # Errors
    /// If the spectra are not those of the pieces of a signal of this length, or a sample has no piece with a weight above 0:
    /// the first and last ones of a window that begins with 0 where the edges are not padded, or windows too far apart.
    #[track_caller]
    pub fn try_inverse(&self, spectra: &Complex<Tensor>, samples: usize) -> Result<Tensor, Error> {
        let parts = [&spectra.re, &spectra.im];
        let (count, [before, after]) = match self.pieces(samples) {
            Ok(pieces) => pieces,
            Err(why) => return refuse("Stft::inverse", &parts, why),
        };
        let wanted = [count, self.length / 2 + 1];
        if spectra.rank() < 2 || spectra.shape()[spectra.rank() - 2..] != wanted {
            return refuse(
                "Stft::inverse",
                &parts,
                format!("a signal of {samples} samples has spectra of the shape {wanted:?}"),
            );
        }
        let whole = before + samples + after;
        let (norm, covered) = self.squares(count, whole);
        let end = if self.edges == Edges::Inside { before + covered } else { before + samples };
        if let Some(sample) = (before..end.min(before + samples)).find(|&sample| norm[sample] < LEAST_SQUARE) {
            let why = format!(
                "the squares of the weights add up to {:.1e} at sample {}, which cannot be recovered: take padded edges or a \
                 smaller hop",
                norm[sample],
                sample - before
            );
            return refuse("Stft::inverse", &parts, why);
        }
        let pieces = as_of("Stft::inverse", &parts, Fourier::new().lengths(&[self.length]).try_irfft(spectra))?;
        let pieces = pieces * self.weights_of(spectra.dtype());
        let mut shape = spectra.shape()[..spectra.rank() - 2].to_vec();
        shape.push(whole);
        let sums = Tensor::try_zeros_of(spectra.dtype(), &shape)?.try_scatter_add(&self.places(count), &pieces, -1)?;
        // Where nothing was added, nothing is divided.
        let divisors: Vec<f64> = norm.iter().map(|&x| if x < LEAST_SQUARE { 1.0 } else { x }).collect();
        let signal = sums / Tensor::from(divisors).convert(spectra.dtype());
        let mut amounts = vec![(0, 0, 0); shape.len() - 1];
        amounts.push((-(before as i64), -(after as i64), 0));
        signal.try_pad(&amounts, 0.0)
    }

    /// The sum of the squares of the weights at every place of the padded signal, and how many places pieces reach.
    fn squares(&self, count: usize, whole: usize) -> (Vec<f64>, usize) {
        let mut sums = vec![0.0; whole];
        for piece in 0..count {
            for (sum, weight) in sums[piece * self.hop..].iter_mut().zip(&self.window) {
                *sum += weight * weight;
            }
        }
        (sums, (count - 1) * self.hop + self.length)
    }
}

/// Sums of squares of weights below this are taken for none: a sample would be known to few digits.
const LEAST_SQUARE: f64 = 1e-10;
