//! Signals: Fourier, cosine and sine transforms, convolution by transforms, spectra and short-time spectra.
//!
//! All are composed of one operation, [`Fft`](crate::primitives::Fft), whose transpose is a transform again, so that derivatives
//! of every mode and order follow. Spectra are [`Complex`](crate::Complex) tensors.
//!
//! | what | functions |
//! |---|---|
//! | transforms of the last axis | [`fft`], [`ifft`], [`rfft`], [`irfft`] |
//! | of the last two axes, of all axes | [`fft2`], [`ifft2`], [`rfft2`], [`irfft2`]; [`fftn`], [`ifftn`], [`rfftn`], [`irfftn`] |
//! | of other axes and lengths, otherwise scaled | [`Fourier`] with [`FourierNorm`] |
//! | frequencies and their order | [`fftfreq`], [`rfftfreq`], [`fftshift`], [`ifftshift`] |
//! | cosine and sine transforms I to IV | [`dct`], [`idct`], [`dst`], [`idst`] |
//! | convolution | [`fft_convolve`], [`fft_convolve_axes`], [`circular_convolve`] |
//! | windows, short-time spectra and back | [`Window`], [`Stft`] |
//! | power spectra | [`periodogram`], [`Welch`] |
//!
//! ```
//! use wengert::prelude::*;
//! use wengert::signal::{irfft, rfft};
//! // The phase of a filter that delays a signal by a part of a sample, fitted by its gradient.
//! let x = Tensor::from([0.0, 1.0, 0.0, -1.0, 0.0, 1.0, 0.0, -1.0]);
//! let delayed = |x: &Tensor, by: &Tensor| {
//!     let angle = by * Tensor::iota(5).to_f64() * (-std::f64::consts::TAU / 8.0);
//!     irfft(rfft(x) * Complex::polar(&Tensor::ones(&[5]), &angle), 8)
//! };
//! let target = x.roll(1, 0);
//! let miss = grad(&Tensor::from(0.9), |by| (delayed(&x, &by) - &target).square().sum());
//! assert!(miss.item() < 0.0, "a longer delay comes closer");
//! ```

mod convolve;
mod cosine;
mod fourier;
mod frequency;
mod room;
mod spectrum;
mod stft;
mod window;

pub use convolve::{Convolved, circular_convolve, fft_convolve, fft_convolve_axes};
pub(crate) use convolve::{convolution, spectral_product};
pub use cosine::{Trigonometric, dct, dst, idct, idst};
pub use fourier::{
    Fourier, FourierNorm, fft, fft2, fftn, ifft, ifft2, ifftn, irfft, irfft2, irfftn, rfft, rfft2, rfftn,
};
pub use frequency::{fftfreq, fftshift, ifftshift, rfftfreq};
pub use spectrum::{Detrend, PowerScale, Welch, periodogram};
pub use stft::{Edges, Stft};
pub use window::Window;
