//! Convolution by transforms: in time `n log n` where sums take the product of the lengths.

use crate::array::Type;
use crate::error::{Error, Misfit, OrRaise, misfit};
use crate::primitives::{Fft, FftKind, FftScale, HalfWeights, Slice, check_float};
use crate::program::{Builder, Value};
use crate::tensor::compose::{axes_of, axis_of, compose, joint_shape, stretch};
use crate::tensor::{Dims, Tensor};

/// Which part of a convolution of m and n samples is wanted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Convolved {
    /// All `m + n - 1` places where they meet.
    #[default]
    Full,
    /// The middle, as long as the first operand: from place `(n - 1) / 2` on.
    Same,
    /// The `m - n + 1` places where all of the second one lies within the first.
    Valid,
}

impl Convolved {
    /// Where the part begins, and how long it is.
    fn part(self, m: usize, n: usize) -> Result<(usize, usize), Misfit> {
        match self {
            Convolved::Full => Ok((0, m + n - 1)),
            Convolved::Same => Ok(((n - 1) / 2, m)),
            Convolved::Valid if m >= n => Ok((n - 1, m - n + 1)),
            Convolved::Valid => misfit!("the second is {n} long, and lies nowhere within the first, which is {m} long"),
        }
    }
}

/// `sum over j of x_j y_(k-j)` along the last axis, by transforms; the other axes are stretched to each other.
///
/// The error of every element is a few roundings of the largest one, not of its own size.
///
/// ```
/// use wengert::prelude::*;
/// use wengert::signal::{Convolved, fft_convolve};
/// let (x, y) = (Tensor::from([1.0, 2.0, 3.0]), Tensor::from([1.0, -1.0]));
/// let differences = fft_convolve(&x, &y, Convolved::Full);
/// assert!((differences - Tensor::from([1.0, 1.0, 1.0, -3.0])).abs().max().item() < 1e-15);
/// ```
///
/// # Panics
/// If an operand has no axis or an empty last one, shapes or element types do not fit, or the second one is longer where only
/// places within the first are wanted.
#[track_caller]
pub fn fft_convolve(x: &Tensor, y: &Tensor, part: Convolved) -> Tensor {
    convolved("fft_convolve", x, y, &[-1], part).or_raise()
}

/// [`fft_convolve`] along several axes, as of pictures.
///
/// ```
/// use wengert::{Tensor, signal::{Convolved, fft_convolve_axes}};
/// let (x, y) = (Tensor::from([[1.0, 2.0], [3.0, 4.0]]), Tensor::ones(&[2, 2]));
/// let sums = fft_convolve_axes(&x, &y, &[0, 1], Convolved::Valid);
/// assert!((sums - 10.0).abs().max().item() < 1e-14);
/// ```
///
/// # Panics
/// As [`fft_convolve`], and if an axis does not exist in both.
#[track_caller]
pub fn fft_convolve_axes(x: &Tensor, y: &Tensor, axes: impl Dims, part: Convolved) -> Tensor {
    convolved("fft_convolve_axes", x, y, &axes.dims(), part).or_raise()
}

#[track_caller]
fn convolved(name: &str, x: &Tensor, y: &Tensor, axes: &[isize], part: Convolved) -> Result<Tensor, Error> {
    compose(name, &[x, y], |b, args| convolution(b, args, axes, part))
}

/// A part of the convolution of two values along axes, counted from either end.
pub(crate) fn convolution(b: &mut Builder, args: &[Value], axes: &[isize], part: Convolved) -> Result<Value, Misfit> {
    let (tx, ty) = (b.ty(args[0]).clone(), b.ty(args[1]).clone());
    check_pair(&tx, &ty)?;
    let rank = tx.rank().max(ty.rank());
    // Axes are counted from the end, so that they are those of both.
    let axes: Vec<usize> = axes_of(axes, rank)?.into_iter().map(|axis| rank - axis).collect();
    if let Some(back) = axes.iter().find(|&&back| back > tx.rank().min(ty.rank())) {
        misfit!("there is no axis -{back} in one of them");
    }
    let (mut lengths, mut counts, mut cut) = (Vec::new(), Vec::new(), Vec::new());
    for back in &axes {
        let (m, n) = (tx.shape[tx.rank() - back], ty.shape[ty.rank() - back]);
        if m == 0 || n == 0 {
            misfit!("axis -{back} is empty in one of them: there is nothing to convolve");
        }
        let (start, count) = part.part(m, n)?;
        lengths.push(smooth(m + n - 1));
        counts.push(start + count);
        cut.push((rank - back, start));
    }
    let result = spectral_product(b, [args[0], args[1]], &axes, &lengths, &counts)?;
    let shape = b.shape(result).to_vec();
    let mut slice = Slice::new(&vec![0; rank], &shape, &vec![1; rank]);
    cut.iter().for_each(|&(axis, start)| slice.start[axis] = start);
    Ok(if cut.iter().all(|&(_, start)| start == 0) { result } else { b.op(slice, &[result]) })
}

/// `sum over j of x_j y_((k-j) mod n)` along the last axis, which is n long in both.
///
/// ```
/// use wengert::prelude::*;
/// let (x, y) = (Tensor::from([1.0, 2.0, 3.0]), Tensor::from([0.0, 1.0, 0.0]));
/// let turned = wengert::signal::circular_convolve(&x, &y);
/// assert!((turned - Tensor::from([3.0, 1.0, 2.0])).abs().max().item() < 1e-15);
/// ```
///
/// # Panics
/// If the last axes differ in length or are empty, or shapes or element types do not fit.
#[track_caller]
pub fn circular_convolve(x: &Tensor, y: &Tensor) -> Tensor {
    let result = compose("circular_convolve", &[x, y], |b, args| {
        check_pair(b.ty(args[0]), b.ty(args[1]))?;
        let mut lengths = [0; 2];
        for (length, &arg) in lengths.iter_mut().zip(args) {
            *length = b.shape(arg)[axis_of(-1, b.shape(arg).len())?];
        }
        let [m, n] = lengths;
        if m != n {
            misfit!("the last axes are {m} and {n} long, and have to be equal; `fft_convolve` takes others");
        }
        spectral_product(b, [args[0], args[1]], &[1], &[n], &[n])
    });
    result.or_raise()
}

fn check_pair(x: &Type, y: &Type) -> Result<(), Misfit> {
    check_float(x)?;
    if x.dtype != y.dtype {
        misfit!("the element types {} and {} differ; convert one of them first", x.dtype, y.dtype);
    }
    Ok(())
}

/// The transform of the product of spectra, along axes that are counted from the end: 1 is the last.
pub(crate) fn spectral_product(
    b: &mut Builder,
    args: [Value; 2],
    axes: &[usize],
    lengths: &[usize],
    counts: &[usize],
) -> Result<Value, Misfit> {
    let mut spectra = Vec::with_capacity(2);
    for arg in args {
        let rank = b.shape(arg).len();
        let own: Vec<usize> = axes.iter().map(|back| rank - back).collect();
        spectra.push(b.emit(Fft::new(&own, lengths).kind(FftKind::RealToHalf(HalfWeights::Plain)), &[arg])?);
    }
    let shape = joint_shape(b.shape(spectra[0][0]), b.shape(spectra[1][0]))?;
    let [a, bi, c, d] = [(0, 0), (0, 1), (1, 0), (1, 1)].map(|(side, part)| stretch(b, spectra[side][part], &shape));
    let (ac, bd, ad, bc) = (b.mul(a, c), b.mul(bi, d), b.mul(a, d), b.mul(bi, c));
    let (re, im) = (b.sub(ac, bd), b.add(ad, bc));
    let own: Vec<usize> = axes.iter().map(|back| shape.len() - back).collect();
    let back = Fft::new(&own, lengths).kind(FftKind::HalfToReal(HalfWeights::Doubled)).inverse();
    Ok(b.emit(back.scale(FftScale::Length).counts(counts), &[re, im])?[0])
}

/// The smallest length from n on whose prime factors are 2, 3 and 5, of which transforms are fast.
pub(super) fn smooth(n: usize) -> usize {
    let mut best = n.next_power_of_two();
    let mut fives = 1;
    while fives < best {
        let mut threes = fives;
        while threes < best {
            let twos = threes * n.div_ceil(threes).next_power_of_two();
            best = if twos < best { twos } else { best };
            threes *= 3;
        }
        fives *= 5;
    }
    best
}

#[cfg(test)]
mod tests;
