//! Fourier transforms, in the sizes of a row of `fft.json`.

use wengert::Complex;
use wengert::prelude::*;
use wengert::signal::{fft, fft2, irfft, rfft};

use super::case::{Case, Setup, value_and_gradient};
use super::data::uniform;
use super::rows::{Program, Row};

/// The program of each kind.
pub(super) const PROGRAMS: [(&str, Program); 4] =
    [("spectrum", spectrum), ("filtered", filtered), ("plane", plane), ("line", line)];

/// The mean of the weighted squares of absolute values.
fn power(y: &Complex<Tensor>, weights: &Tensor) -> Tensor {
    (y.norm_sqr() * weights).mean()
}

/// The weighted spectrum of rows of real numbers.
fn spectrum(row: &Row, setup: &Setup) -> Case {
    let ([rows, n], dtype) = (["rows", "length"].map(|name| row.size(name)), row.real());
    let weights = uniform(dtype, &[n / 2 + 1], 5001, 1.0);
    value_and_gradient(setup, uniform(dtype, &[rows, n], 5000, 1.0), move |x: Tensor| power(&rfft(&x), &weights))
}

/// Rows of real numbers, of which each frequency is multiplied by a factor.
fn filtered(row: &Row, setup: &Setup) -> Case {
    let ([rows, n], dtype) = (["rows", "length"].map(|name| row.size(name)), row.real());
    let x = uniform(dtype, &[rows, n], 5011, 1.0);
    value_and_gradient(setup, uniform(dtype, &[n / 2 + 1], 5010, 1.0), move |factors: Tensor| {
        irfft(rfft(&x) * &factors, n).square().mean()
    })
}

/// The weighted spectrum of complex numbers in a plane.
fn plane(row: &Row, setup: &Setup) -> Case {
    let (shape, dtype) = (["rows", "columns"].map(|name| row.size(name)), row.real());
    let z = Complex::new(uniform(dtype, &shape, 5020, 1.0), uniform(dtype, &shape, 5021, 1.0));
    let weights = uniform(dtype, &shape, 5022, 1.0);
    value_and_gradient(setup, z, move |z: Complex<Tensor>| power(&fft2(&z), &weights))
}

/// The weighted spectra of rows of complex numbers.
fn line(row: &Row, setup: &Setup) -> Case {
    let (shape, dtype) = (["rows", "length"].map(|name| row.size(name)), row.real());
    let z = Complex::new(uniform(dtype, &shape, 5030, 1.0), uniform(dtype, &shape, 5031, 1.0));
    let weights = uniform(dtype, &shape[1..], 5032, 1.0);
    value_and_gradient(setup, z, move |z: Complex<Tensor>| power(&fft(&z), &weights))
}
