//! Short-time spectra: the transforms of windowed pieces of a signal, and the signal back.

use super::fourier::Fourier;
use super::room::{no_room, places};
use super::window::Window;
use crate::array::{DType, element_count, has_room};
use crate::complex::Complex;
use crate::error::{Error, OrRaise};
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
    /// None if there is no memory for the weights, which is an error of the transforms.
    window: Option<Vec<f64>>,
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
        Stft { window: Some(weights.to_vec()), ..self }
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

    /// How many pieces a signal has, and how many samples of padding stand before and after it; errors are those of the method
    /// of this name.
    #[track_caller]
    fn pieces(&self, name: &str, operands: &[&Tensor], samples: usize) -> Result<(usize, [usize; 2]), Error> {
        let (length, hop) = (self.length, self.hop);
        if length == 0 || hop == 0 {
            let why = format!("pieces of {length} samples that are {hop} apart: both have to be at least 1");
            return refuse(name, operands, why);
        }
        let Some(window) = &self.window else {
            return no_room(name, operands, &format!("a window of {length} samples"));
        };
        if window.len() != length {
            let why = format!("the window has {} weights, and a piece {length} samples", window.len());
            return refuse(name, operands, why);
        }
        match self.edges {
            Edges::Inside if samples < length => {
                let why =
                    format!("a signal of {samples} samples has no piece of {length}; pad it, or take padded edges");
                refuse(name, operands, why)
            }
            Edges::Inside => Ok(((samples - length) / hop + 1, [0, 0])),
            Edges::Padded => match padded(samples, length, hop) {
                Some(pieces) => Ok(pieces),
                None => self.no_room_to_pad(name, operands, samples),
            },
        }
    }

    #[track_caller]
    fn no_room_to_pad<T>(&self, name: &str, operands: &[&Tensor], samples: usize) -> Result<T, Error> {
        let (length, hop) = (self.length, self.hop);
        let what =
            format!("a signal of {samples} samples with its padding, in pieces of {length} that are {hop} apart");
        no_room(name, operands, &what)
    }

    /// Where the samples of each piece lie in the padded signal: `[pieces, length]`.
    #[track_caller]
    fn places(&self, name: &str, operands: &[&Tensor], count: usize) -> Result<Tensor, Error> {
        match places(count, self.length, self.hop) {
            Some(places) => Ok(places),
            None => no_room(name, operands, &format!("{count} pieces of {} samples", self.length)),
        }
    }

    /// The weights, which are there.
    fn known(&self) -> &[f64] {
        self.window.as_deref().unwrap_or_default()
    }

    fn weights_of(&self, dtype: DType) -> Tensor {
        Tensor::from(self.known().to_vec()).convert(dtype)
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
    /// piece, no piece lies inside the signal, or the elements are not real numbers; if there is no memory for the window, the
    /// padded signal or the pieces.
    #[track_caller]
    pub fn try_forward(&self, x: &Tensor) -> Result<Complex<Tensor>, Error> {
        let samples = match x.shape().last() {
            _ if !x.dtype().is_float() => return refuse(FORWARD, &[x], "it takes real numbers; convert first"),
            None => return refuse(FORWARD, &[x], "a single number is no signal"),
            Some(&samples) => samples,
        };
        let (count, [before, after]) = self.pieces(FORWARD, &[x], samples)?;
        if !has_room(before + samples + after, size_of::<f64>()) {
            return self.no_room_to_pad(FORWARD, &[x], samples);
        }
        let places = self.places(FORWARD, &[x], count)?;
        let mut amounts = vec![(0, 0, 0); x.rank() - 1];
        amounts.push((before as i64, after as i64, 0));
        let padded = as_of(FORWARD, &[x], x.try_pad(&amounts, 0.0))?;
        let pieces = as_of(FORWARD, &[x], padded.try_take(&places, -1))?;
        as_of(FORWARD, &[x], Fourier::new().try_rfft(&(pieces * self.weights_of(x.dtype()))))
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
    /// the first and last ones of a window that begins with 0 where the edges are not padded, or windows too far apart; if
    /// there is no memory for the window, the padded signal or the pieces.
    #[track_caller]
    pub fn try_inverse(&self, spectra: &Complex<Tensor>, samples: usize) -> Result<Tensor, Error> {
        let parts = [&spectra.re, &spectra.im];
        let (count, [before, after]) = self.pieces(INVERSE, &parts, samples)?;
        let wanted = [count, self.length / 2 + 1];
        if spectra.rank() < 2 || spectra.shape()[spectra.rank() - 2..] != wanted {
            let why = format!("a signal of {samples} samples has spectra of the shape {wanted:?}");
            return refuse(INVERSE, &parts, why);
        }
        let whole = before + samples + after;
        let Some((norm, covered)) = self.squares(count, whole) else {
            return self.no_room_to_pad(INVERSE, &parts, samples);
        };
        let end = if self.edges == Edges::Inside { before + covered } else { before + samples };
        if let Some(sample) = (before..end.min(before + samples)).find(|&sample| norm[sample] < LEAST_SQUARE) {
            let why = format!(
                "the squares of the weights add up to {:.1e} at sample {}, which cannot be recovered: take padded edges or a \
                 smaller hop",
                norm[sample],
                sample - before
            );
            return refuse(INVERSE, &parts, why);
        }
        let pieces = as_of(INVERSE, &parts, Fourier::new().lengths(&[self.length]).try_irfft(spectra))?;
        let pieces = pieces * self.weights_of(spectra.dtype());
        let mut shape = spectra.shape()[..spectra.rank() - 2].to_vec();
        shape.push(whole);
        let places = self.places(INVERSE, &parts, count)?;
        let sums = Tensor::try_zeros_of(spectra.dtype(), &shape)?.try_scatter_add(&places, &pieces, -1)?;
        // Where nothing was added, nothing is divided.
        let divisors: Vec<f64> = norm.iter().map(|&x| if x < LEAST_SQUARE { 1.0 } else { x }).collect();
        let signal = sums / Tensor::from(divisors).convert(spectra.dtype());
        let mut amounts = vec![(0, 0, 0); shape.len() - 1];
        amounts.push((-(before as i64), -(after as i64), 0));
        signal.try_pad(&amounts, 0.0)
    }

    /// The sum of the squares of the weights at every place of the padded signal, and how many places pieces reach; `None` if
    /// there is no memory for that.
    fn squares(&self, count: usize, whole: usize) -> Option<(Vec<f64>, usize)> {
        if !has_room(whole, size_of::<f64>()) {
            return None;
        }
        let mut sums = vec![0.0; whole];
        for piece in 0..count {
            for (sum, weight) in sums[piece * self.hop..].iter_mut().zip(self.known()) {
                *sum += weight * weight;
            }
        }
        Some((sums, (count - 1) * self.hop + self.length))
    }
}

/// How many pieces a signal with padded edges has, and the samples of padding before and after it; `None` if no memory can
/// hold it.
fn padded(samples: usize, length: usize, hop: usize) -> Option<(usize, [usize; 2])> {
    let before = length / 2;
    let around = samples.checked_add(before)?.checked_add(before)?;
    let count = around.saturating_sub(length).div_ceil(hop) + 1;
    let whole = (count - 1).checked_mul(hop)?.checked_add(length)?;
    element_count(&[whole])?;
    Some((count, [before, whole - before - samples]))
}

const FORWARD: &str = "Stft::forward";
const INVERSE: &str = "Stft::inverse";

/// Sums of squares of weights below this are taken for none: a sample would be known to few digits.
const LEAST_SQUARE: f64 = 1e-10;
