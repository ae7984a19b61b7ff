//! The frequencies of a transform's entries, and their order.

use super::room::{no_room, numbers};
use crate::error::{Error, ErrorKind, OrRaise};
use crate::tensor::compose::as_of;
use crate::tensor::twins::TryJoin;
use crate::tensor::{Axes, Tensor};

/// The frequencies of the entries of [`fft`](super::fft) of n samples, this far apart:
/// `0, 1, …, -2, -1` over `n spacing`. If n is even, that of entry n / 2 is negative.
///
/// ```
/// use wengert::signal::fftfreq;
/// assert_eq!(fftfreq(5, 0.1).to_vec(), [0.0, 2.0, 4.0, -4.0, -2.0]);
/// assert_eq!(fftfreq(4, 1.0).to_vec(), [0.0, 0.25, -0.5, -0.25]);
/// ```
///
/// # Panics
/// If n is 0, the spacing is not a positive number, or there is no memory for the frequencies.
#[track_caller]
pub fn fftfreq(n: usize, spacing: f64) -> Tensor {
    let whole = total("fftfreq", n, spacing).or_raise();
    let k = |k: usize| if k < n.div_ceil(2) { k as f64 } else { k as f64 - n as f64 };
    listed("fftfreq", n, |entry| k(entry) / whole).or_raise()
}

/// The frequencies of the entries of [`rfft`](super::rfft) of n samples, this far apart: `0, 1, …, n / 2` over `n spacing`.
///
/// ```
/// assert_eq!(wengert::signal::rfftfreq(4, 0.5).to_vec(), [0.0, 0.5, 1.0]);
/// ```
///
/// # Panics
/// If n is 0, the spacing is not a positive number, or there is no memory for the frequencies.
#[track_caller]
pub fn rfftfreq(n: usize, spacing: f64) -> Tensor {
    let whole = total("rfftfreq", n, spacing).or_raise();
    listed("rfftfreq", n / 2 + 1, |k| k as f64 / whole).or_raise()
}

/// This many frequencies.
#[track_caller]
fn listed(name: &str, count: usize, frequency: impl Fn(usize) -> f64) -> Result<Tensor, Error> {
    match numbers(count, frequency) {
        Some(frequencies) => Ok(Tensor::from(frequencies)),
        None => no_room(name, &[], &format!("{count} frequencies")),
    }
}

/// The time that n samples take.
#[track_caller]
fn total(name: &str, n: usize, spacing: f64) -> Result<f64, Error> {
    let whole = n as f64 * spacing;
    if n > 0 && spacing > 0.0 && whole.is_finite() {
        return Ok(whole);
    }
    let why = format!("{n} samples that are {spacing} apart have no frequencies: both have to be positive");
    Err(Error::new(ErrorKind::Misfit, name, why).at(Some(std::panic::Location::caller())))
}

/// Entry 0 moved to the middle along axes, at n / 2: frequencies in increasing order. Of complex arrays with
/// [`Complex::each_part`](crate::Complex::each_part).
///
/// ```
/// use wengert::signal::{fftfreq, fftshift, ifftshift};
/// let f = fftshift(&fftfreq(5, 0.2), 0);
/// assert_eq!(f.to_vec(), [-2.0, -1.0, 0.0, 1.0, 2.0]);
/// assert_eq!(ifftshift(&f, 0).to_vec(), [0.0, 1.0, 2.0, -2.0, -1.0]);
/// ```
///
/// # Panics
/// If an axis does not exist.
#[track_caller]
pub fn fftshift(x: &Tensor, axes: impl Axes) -> Tensor {
    shifted("fftshift", x, axes.axes(), |n| n / 2).or_raise()
}

/// The inverse of [`fftshift`], also for odd lengths.
///
/// ```
/// use wengert::{Tensor, signal::{fftshift, ifftshift}};
/// let x = Tensor::from([1.0, 2.0, 3.0, 4.0, 5.0]);
/// assert_eq!(ifftshift(&fftshift(&x, 0), 0).to_vec(), x.to_vec());
/// ```
///
/// # Panics
/// If an axis does not exist.
#[track_caller]
pub fn ifftshift(x: &Tensor, axes: impl Axes) -> Tensor {
    shifted("ifftshift", x, axes.axes(), |n| n.div_ceil(2)).or_raise()
}

#[track_caller]
fn shifted(name: &str, x: &Tensor, axes: Option<Vec<isize>>, by: fn(usize) -> usize) -> Result<Tensor, Error> {
    let axes = axes.unwrap_or_else(|| (0..x.rank() as isize).collect());
    let mut turned = x.clone();
    for axis in axes {
        let place = if axis < 0 { axis + x.rank() as isize } else { axis };
        let length = usize::try_from(place).ok().and_then(|place| x.shape().get(place)).copied().unwrap_or(0);
        turned = as_of(name, &[x], turned.try_roll(by(length), axis))?;
    }
    Ok(turned)
}
