//! The discrete Fourier transforms of tensors, with axes, lengths and scale.

use super::room::no_room;
use crate::complex::{Complex, IntoComplex};
use crate::error::{Error, Misfit, OrRaise, misfit};
use crate::primitives::{Fft, FftKind, FftScale, HalfWeights, Slice, check_float, transform_fits_in_memory};
use crate::program::{Builder, Value};
use crate::tensor::compose::{axes_of, compose_all};
use crate::tensor::{Dims, Tensor};

/// Which direction of a transform of n entries is multiplied by what, so that both together give what they started from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum FourierNorm {
    /// The inverse by 1/n, the forward one by 1.
    #[default]
    Inverse,
    /// Both by 1/sqrt(n): they keep the sum of squares.
    Unitary,
    /// The forward one by 1/n: entry 0 is the mean.
    Forward,
}

impl FourierNorm {
    /// Of a direction.
    pub(super) fn scale(self, inverse: bool) -> FftScale {
        match (self, inverse) {
            (FourierNorm::Unitary, _) => FftScale::Root,
            (FourierNorm::Inverse, true) | (FourierNorm::Forward, false) => FftScale::Length,
            _ => FftScale::One,
        }
    }
}

/// Fourier transforms along chosen axes, of chosen lengths, scaled as chosen; without a choice along the last axis, as long as
/// it is, the inverse scaled by 1/n.
///
/// Forward: `Y_k = sum over j of X_j exp(-2 pi i j k / n)`. Along several axes it is the transform along each. An operand
/// that is shorter than the chosen length is padded with zeros at its end, a longer one is cut there; but for the
/// half spectrum of an `irfft`, which has to have as many elements as its length asks for.
///
/// ```
/// use wengert::prelude::*;
/// use wengert::signal::{Fourier, FourierNorm};
/// let x = Tensor::from([[1.0, 2.0], [3.0, 4.0]]);
/// let columns = Fourier::new().axes(&[0]).norm(FourierNorm::Forward);
/// assert_eq!(columns.rfft(&x).re.to_vec(), [2.0, 3.0, -1.0, -1.0]);
/// // Padded to four entries, of which the half spectrum has three.
/// assert_eq!(Fourier::new().lengths(&[4]).rfft(&x).shape(), [2, 3]);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fourier {
    axes: Option<Vec<isize>>,
    lengths: Option<Vec<usize>>,
    norm: FourierNorm,
}

/// Whether operand or result is real.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Complex,
    RealIn,
    RealOut,
}

impl Fourier {
    /// Along the last axis, as long as it is, the inverse scaled by 1/n.
    ///
    /// ```
    /// use wengert::{Tensor, signal::Fourier};
    /// assert_eq!(Fourier::new().rfft(&Tensor::ones(&[4])).re.to_vec(), [4.0, 0.0, 0.0]);
    /// ```
    #[must_use]
    pub fn new() -> Self {
        Fourier::default()
    }

    /// Along these axes, counted from the end if negative. A half spectrum is that of the last one named.
    ///
    /// ```
    /// use wengert::{Tensor, signal::Fourier};
    /// let y = Fourier::new().axes(&[0]).fft(&Tensor::ones(&[2, 3]));
    /// assert_eq!(y.re.to_vec(), [2.0, 2.0, 2.0, 0.0, 0.0, 0.0]);
    /// ```
    #[must_use]
    pub fn axes(self, axes: impl Dims) -> Self {
        Fourier { axes: Some(axes.dims()), ..self }
    }

    /// Of these lengths, one for each axis: without a choice of axes of the last ones.
    ///
    /// ```
    /// use wengert::{Tensor, signal::Fourier};
    /// assert_eq!(Fourier::new().lengths(&[8]).fft(&Tensor::ones(&[4])).shape(), [8]);
    /// ```
    #[must_use]
    pub fn lengths(self, lengths: &[usize]) -> Self {
        Fourier { lengths: Some(lengths.to_vec()), ..self }
    }

    /// Scaled so.
    ///
    /// ```
    /// use wengert::{Tensor, signal::{Fourier, FourierNorm}};
    /// let y = Fourier::new().norm(FourierNorm::Unitary).fft(&Tensor::ones(&[4]));
    /// assert_eq!(y.re.to_vec(), [2.0, 0.0, 0.0, 0.0]);
    /// ```
    #[must_use]
    pub fn norm(self, norm: FourierNorm) -> Self {
        Fourier { norm, ..self }
    }

    /// The axes, and their lengths where they are chosen.
    fn resolved(&self, rank: usize) -> Result<(Vec<usize>, Option<&[usize]>), Misfit> {
        let lengths = self.lengths.as_deref();
        let axes = match (&self.axes, lengths) {
            (Some(axes), _) => axes_of(axes, rank)?,
            (None, None) => axes_of(&[-1], rank)?,
            (None, Some(lengths)) => {
                let count = lengths.len() as isize;
                axes_of(&(-count..0).collect::<Vec<isize>>(), rank)?
            }
        };
        match lengths {
            Some(lengths) if lengths.len() != axes.len() => {
                misfit!("there are {} lengths for {} axes", lengths.len(), axes.len())
            }
            _ if axes.is_empty() => misfit!("it takes at least one axis"),
            _ => Ok((axes, lengths)),
        }
    }

    /// That there is memory for transforms of the chosen lengths: for the factors and one line of each. Of a half spectrum's
    /// length the operand has half.
    #[track_caller]
    fn check_room(&self, name: &str, operands: &[&Tensor], side: Side) -> Result<(), Error> {
        let chosen = self.lengths.as_deref().unwrap_or_default();
        let checked = chosen.len().saturating_sub(usize::from(side == Side::RealOut));
        match chosen[..checked].iter().find(|&&n| !transform_fits_in_memory(n, operands[0].dtype())) {
            Some(n) => no_room(name, operands, &format!("the factors and one line of a transform of length {n}")),
            None => Ok(()),
        }
    }

    /// Appends the transform of a real array or of a pair.
    fn emit(&self, b: &mut Builder, args: &[Value], side: Side, inverse: bool) -> Result<Vec<Value>, Misfit> {
        check_float(b.ty(args[0]))?;
        let shape = b.shape(args[0]).to_vec();
        let (axes, lengths) = self.resolved(shape.len())?;
        let last = axes[axes.len() - 1];
        let own = |axis: usize| match side {
            Side::RealOut if axis == last => 2 * shape[axis].saturating_sub(1),
            _ => shape[axis],
        };
        let lengths = lengths.map_or_else(|| axes.iter().map(|&axis| own(axis)).collect(), <[usize]>::to_vec);
        let (n, half) = (lengths[axes.len() - 1], shape[last]);
        if side == Side::RealOut && n > 0 && half != n / 2 + 1 {
            let fits = if half > 1 { format!("{} and {}", 2 * half - 2, 2 * half - 1) } else { half.to_string() };
            misfit!(
                "axis {last} has {half} entries, and the half spectrum of {n} real numbers has {}: {half} entries are those \
                 of {fits} numbers",
                n / 2 + 1
            );
        }
        let kind = match side {
            Side::Complex => FftKind::Complex,
            Side::RealIn => FftKind::RealToHalf(HalfWeights::Plain),
            Side::RealOut => FftKind::HalfToReal(HalfWeights::Doubled),
        };
        let mut op = Fft::new(&axes, &lengths).kind(kind).scale(self.norm.scale(inverse));
        op.inverse = inverse;
        let mut cut = Slice::new(&vec![0; shape.len()], &shape, &vec![1; shape.len()]);
        for (&axis, &n) in axes.iter().zip(&lengths).filter(|(axis, _)| side != Side::RealOut || **axis != last) {
            cut.limit[axis] = cut.limit[axis].min(n);
        }
        let is_cut = cut.limit != shape;
        let args: Vec<Value> = args.iter().map(|&arg| if is_cut { b.op(cut.clone(), &[arg]) } else { arg }).collect();
        Ok(b.emit(op, &args)?)
    }

    #[track_caller]
    fn complex(&self, name: &str, z: impl IntoComplex, inverse: bool) -> Result<Complex<Tensor>, Error> {
        let z = z.into_complex().whole(name)?;
        self.check_room(name, &[&z.re, &z.im], Side::Complex)?;
        let results = compose_all(name, &[&z.re, &z.im], |b, args| self.emit(b, args, Side::Complex, inverse))?;
        Ok(Complex::pair(results))
    }

    #[track_caller]
    fn to_half(&self, name: &str, x: &Tensor) -> Result<Complex<Tensor>, Error> {
        self.check_room(name, &[x], Side::RealIn)?;
        Ok(Complex::pair(compose_all(name, &[x], |b, args| self.emit(b, args, Side::RealIn, false))?))
    }

    #[track_caller]
    fn to_real(&self, name: &str, z: impl IntoComplex) -> Result<Tensor, Error> {
        let z = z.into_complex().whole(name)?;
        self.check_room(name, &[&z.re, &z.im], Side::RealOut)?;
        Ok(compose_all(name, &[&z.re, &z.im], |b, args| self.emit(b, args, Side::RealOut, true))?.remove(0))
    }

    /// The forward transform of a complex or real array.
    ///
    /// ```
    /// use wengert::{Tensor, signal::Fourier};
    /// let y = Fourier::new().fft(&Tensor::from([1.0, 2.0]));
    /// assert_eq!((y.re.to_vec(), y.im.to_vec()), (vec![3.0, -1.0], vec![0.0, 0.0]));
    /// ```
    ///
    /// # Panics
    /// As [`Fourier::try_fft`] returns an error.
    #[track_caller]
    pub fn fft(&self, z: impl IntoComplex) -> Complex<Tensor> {
        self.try_fft(z).or_raise()
    }

    /// As [`Fourier::fft`], with an error instead of a panic.
    ///
    /// # Errors
    /// If an axis does not exist or is named twice, a length is 0 or has a prime factor above 1,000,000, the number of lengths
    /// is not that of the axes, or the elements are not real numbers; if there is no memory for a chosen length: memory and
    /// swap space are smaller than its factors and one line, four numbers for each entry.
    #[track_caller]
    pub fn try_fft(&self, z: impl IntoComplex) -> Result<Complex<Tensor>, Error> {
        self.complex("fft", z, false)
    }

    /// The inverse transform of a complex or real array.
    ///
    /// ```
    /// use wengert::{Tensor, signal::Fourier};
    /// let y = Fourier::new().ifft(&Tensor::from([3.0, -1.0]));
    /// assert_eq!(y.re.to_vec(), [1.0, 2.0]);
    /// ```
    ///
    /// # Panics
    /// As [`Fourier::try_ifft`] returns an error.
    #[track_caller]
    pub fn ifft(&self, z: impl IntoComplex) -> Complex<Tensor> {
        self.try_ifft(z).or_raise()
    }

    /// As [`Fourier::ifft`], with an error instead of a panic.
    ///
    /// # Errors
    /// As [`Fourier::try_fft`].
    #[track_caller]
    pub fn try_ifft(&self, z: impl IntoComplex) -> Result<Complex<Tensor>, Error> {
        self.complex("ifft", z, true)
    }

    /// The forward transform of a real array: along the last of the axes the entries 0 to n / 2, as the others are their
    /// conjugates. The imaginary parts of entry 0 and, if n is even, of n / 2 are 0 (of a transform along one axis).
    ///
    /// ```
    /// use wengert::{Tensor, signal::Fourier};
    /// assert_eq!(Fourier::new().rfft(&Tensor::ones(&[3, 6])).shape(), [3, 4]);
    /// ```
    ///
    /// # Panics
    /// As [`Fourier::try_rfft`] returns an error.
    #[track_caller]
    pub fn rfft(&self, x: &Tensor) -> Complex<Tensor> {
        self.try_rfft(x).or_raise()
    }

    /// As [`Fourier::rfft`], with an error instead of a panic.
    ///
    /// # Errors
    /// As [`Fourier::try_fft`].
    #[track_caller]
    pub fn try_rfft(&self, x: &Tensor) -> Result<Complex<Tensor>, Error> {
        self.to_half("rfft", x)
    }

    /// The inverse transform of half a spectrum along the last of the axes, as [`Fourier::rfft`] gives it, to a real array.
    /// Without chosen lengths n is even along that axis.
    ///
    /// The imaginary parts of its entries 0 and n / 2 are ignored there, and have derivative 0.
    ///
    /// ```
    /// use wengert::{Tensor, signal::Fourier};
    /// let x = Tensor::from([1.0, 2.0, 4.0, 8.0]);
    /// let fourier = Fourier::new();
    /// assert!((fourier.irfft(fourier.rfft(&x)) - &x).abs().max().item() < 1e-14);
    /// ```
    ///
    /// # Panics
    /// As [`Fourier::try_irfft`] returns an error.
    #[track_caller]
    pub fn irfft(&self, z: impl IntoComplex) -> Tensor {
        self.try_irfft(z).or_raise()
    }

    /// As [`Fourier::irfft`], with an error instead of a panic.
    ///
    /// # Errors
    /// If the last of the axes has not n / 2 + 1 entries, and as [`Fourier::try_fft`].
    #[track_caller]
    pub fn try_irfft(&self, z: impl IntoComplex) -> Result<Tensor, Error> {
        self.to_real("irfft", z)
    }
}

/// Along the last axes, this many.
fn last(axes: usize) -> Fourier {
    Fourier::new().axes(&(-(axes as isize)..0).collect::<Vec<isize>>())
}

/// The forward transform along the last axis: `Y_k = sum over j of X_j exp(-2 pi i j k / n)`.
///
/// ```
/// use wengert::prelude::*;
/// let y = wengert::signal::fft(&Tensor::from([0.0, 1.0, 0.0, 0.0]));
/// assert_eq!((y.re.to_vec(), y.im.to_vec()), (vec![1.0, 0.0, -1.0, 0.0], vec![0.0, -1.0, 0.0, 1.0]));
/// ```
///
/// # Panics
/// As [`Fourier::try_fft`] returns an error.
#[track_caller]
pub fn fft(z: impl IntoComplex) -> Complex<Tensor> {
    Fourier::new().fft(z)
}

/// The inverse of [`fft`]: `X_j = 1/n sum over k of Y_k exp(2 pi i j k / n)` along the last axis.
///
/// ```
/// use wengert::{Tensor, signal::{fft, ifft}};
/// let x = Tensor::from([1.0, 2.0, 4.0]);
/// assert!((ifft(fft(&x)).re - &x).abs().max().item() < 1e-14);
/// ```
///
/// # Panics
/// As [`Fourier::try_ifft`] returns an error.
#[track_caller]
pub fn ifft(z: impl IntoComplex) -> Complex<Tensor> {
    Fourier::new().ifft(z)
}

/// The entries 0 to n / 2 of the [`fft`] of a real array.
///
/// ```
/// use wengert::{Tensor, signal::rfft};
/// let y = rfft(&Tensor::from([1.0, 2.0, 3.0, 4.0]));
/// assert_eq!((y.re.to_vec(), y.im.to_vec()), (vec![10.0, -2.0, -2.0], vec![0.0, 2.0, 0.0]));
/// ```
///
/// # Panics
/// As [`Fourier::try_rfft`] returns an error.
#[track_caller]
pub fn rfft(x: &Tensor) -> Complex<Tensor> {
    Fourier::new().rfft(x)
}

/// The inverse of [`rfft`]: n real numbers along the last axis from n / 2 + 1 entries. The length is named, because n and
/// n + 1 have as many entries if n is even.
///
/// ```
/// use wengert::prelude::*;
/// use wengert::signal::{irfft, rfft};
/// let x = Tensor::from([1.0, 2.0, 4.0]);
/// assert!((irfft(rfft(&x), 3) - &x).abs().max().item() < 1e-15);
/// ```
///
/// # Panics
/// As [`Fourier::try_irfft`] returns an error.
#[track_caller]
pub fn irfft(z: impl IntoComplex, n: usize) -> Tensor {
    Fourier::new().lengths(&[n]).irfft(z)
}

/// [`fft`] along the last two axes.
///
/// ```
/// use wengert::{Tensor, signal::fft2};
/// assert_eq!(fft2(&Tensor::ones(&[2, 2])).re.to_vec(), [4.0, 0.0, 0.0, 0.0]);
/// ```
///
/// # Panics
/// As [`Fourier::try_fft`] returns an error.
#[track_caller]
pub fn fft2(z: impl IntoComplex) -> Complex<Tensor> {
    last(2).complex("fft2", z, false).or_raise()
}

/// [`ifft`] along the last two axes.
///
/// ```
/// use wengert::{Tensor, signal::{fft2, ifft2}};
/// let x = Tensor::from([[1.0, 2.0], [3.0, 5.0]]);
/// assert!((ifft2(fft2(&x)).re - &x).abs().max().item() < 1e-14);
/// ```
///
/// # Panics
/// As [`Fourier::try_ifft`] returns an error.
#[track_caller]
pub fn ifft2(z: impl IntoComplex) -> Complex<Tensor> {
    last(2).complex("ifft2", z, true).or_raise()
}

/// [`rfft`] along the last two axes; the last has half a spectrum.
///
/// ```
/// use wengert::{Tensor, signal::rfft2};
/// assert_eq!(rfft2(&Tensor::ones(&[4, 6])).shape(), [4, 4]);
/// ```
///
/// # Panics
/// As [`Fourier::try_rfft`] returns an error.
#[track_caller]
pub fn rfft2(x: &Tensor) -> Complex<Tensor> {
    last(2).to_half("rfft2", x).or_raise()
}

/// The inverse of [`rfft2`], of these lengths.
///
/// ```
/// use wengert::{Tensor, signal::{irfft2, rfft2}};
/// let x = Tensor::from([[1.0, 2.0, 4.0], [3.0, 5.0, 9.0]]);
/// assert!((irfft2(rfft2(&x), [2, 3]) - &x).abs().max().item() < 1e-14);
/// ```
///
/// # Panics
/// As [`Fourier::try_irfft`] returns an error.
#[track_caller]
pub fn irfft2(z: impl IntoComplex, lengths: [usize; 2]) -> Tensor {
    last(2).lengths(&lengths).to_real("irfft2", z).or_raise()
}

/// [`fft`] along all axes.
///
/// ```
/// use wengert::{Tensor, signal::fftn};
/// assert_eq!(fftn(&Tensor::ones(&[2, 2, 2])).re.sum().item(), 8.0);
/// ```
///
/// # Panics
/// As [`Fourier::try_fft`] returns an error.
#[track_caller]
pub fn fftn(z: impl IntoComplex) -> Complex<Tensor> {
    let z = z.into_complex();
    last(z.rank()).complex("fftn", z, false).or_raise()
}

/// [`ifft`] along all axes.
///
/// ```
/// use wengert::{Tensor, signal::{fftn, ifftn}};
/// let x = Tensor::from([[1.0, 2.0], [3.0, 5.0]]);
/// assert!((ifftn(fftn(&x)).re - &x).abs().max().item() < 1e-14);
/// ```
///
/// # Panics
/// As [`Fourier::try_ifft`] returns an error.
#[track_caller]
pub fn ifftn(z: impl IntoComplex) -> Complex<Tensor> {
    let z = z.into_complex();
    last(z.rank()).complex("ifftn", z, true).or_raise()
}

/// [`rfft`] along all axes; the last has half a spectrum.
///
/// ```
/// use wengert::{Tensor, signal::rfftn};
/// assert_eq!(rfftn(&Tensor::ones(&[2, 4, 6])).shape(), [2, 4, 4]);
/// ```
///
/// # Panics
/// As [`Fourier::try_rfft`] returns an error.
#[track_caller]
pub fn rfftn(x: &Tensor) -> Complex<Tensor> {
    last(x.rank()).to_half("rfftn", x).or_raise()
}

/// The inverse of [`rfftn`] along the last axes, of these lengths.
///
/// ```
/// use wengert::{Tensor, signal::{irfftn, rfftn}};
/// let x = Tensor::from([[1.0, 2.0, 4.0], [3.0, 5.0, 9.0]]);
/// assert!((irfftn(rfftn(&x), &[2, 3]) - &x).abs().max().item() < 1e-14);
/// ```
///
/// # Panics
/// As [`Fourier::try_irfft`] returns an error.
#[track_caller]
pub fn irfftn(z: impl IntoComplex, lengths: &[usize]) -> Tensor {
    Fourier::new().lengths(lengths).to_real("irfftn", z).or_raise()
}
