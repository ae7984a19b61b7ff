//! Cosine and sine transforms of types I to IV.

use std::f64::consts::{FRAC_PI_2, SQRT_2};

use super::fourier::FourierNorm;
use crate::error::{Error, Misfit, OrRaise, misfit};
use crate::ops::Unary;
use crate::primitives::{Concat, Fft, FftKind, HalfWeights, Iota, Reverse, Slice, check_float};
use crate::program::{Builder, Value};
use crate::tensor::compose::{axis_of, compose};
use crate::tensor::{Dim, Tensor};
use crate::transform::transpose::transpose;

/// The types of cosine and sine transforms: at which places the waves are sampled.
///
/// Of n numbers, not scaled:
///
/// | type | cosine | sine |
/// |---|---|---|
/// | I | `x_0 + (-1)^k x_(n-1) + 2 sum_(0<j<n-1) x_j cos(pi j k / (n-1))` | `2 sum x_j sin(pi (j+1)(k+1) / (n+1))` |
/// | II | `2 sum x_j cos(pi (2j+1) k / 2n)` | `2 sum x_j sin(pi (2j+1)(k+1) / 2n)` |
/// | III | `x_0 + 2 sum_(j>0) x_j cos(pi j (2k+1) / 2n)` | `(-1)^k x_(n-1) + 2 sum_(j<n-1) x_j sin(pi (j+1)(2k+1) / 2n)` |
/// | IV | `2 sum x_j cos(pi (2j+1)(2k+1) / 4n)` | `2 sum x_j sin(pi (2j+1)(2k+1) / 4n)` |
///
/// I and IV are their own inverses, II and III are each other's, up to a factor 2N, where N is n, of type I n - 1 (cosine) or
/// n + 1 (sine).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Trigonometric {
    /// Whole samples on both sides.
    I,
    /// Half samples before the transform.
    II,
    /// Half samples after it.
    III,
    /// Half samples on both sides.
    IV,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Wave {
    Cosine,
    Sine,
}

/// The cosine transform along an axis.
///
/// [`FourierNorm::Inverse`] is the sum of the table, [`FourierNorm::Forward`] that over 2N, and with [`FourierNorm::Unitary`]
/// the matrix is orthogonal.
///
/// ```
/// use wengert::prelude::*;
/// use wengert::signal::{FourierNorm, Trigonometric, dct, idct};
/// let x = Tensor::from([1.0, 2.0, 3.0]);
/// let y = dct(&x, Trigonometric::II, -1, FourierNorm::Unitary);
/// assert!((y.norm() - x.norm()).abs().item() < 1e-15);
/// assert!((idct(&y, Trigonometric::II, -1, FourierNorm::Unitary) - &x).abs().max().item() < 2e-15);
/// ```
///
/// # Panics
/// If the axis does not exist or is empty, or of type I has one entry, or the elements are not real numbers.
#[track_caller]
pub fn dct(x: &Tensor, kind: Trigonometric, axis: impl Dim, norm: FourierNorm) -> Tensor {
    transformed("dct", x, Wave::Cosine, kind, axis.dim().0, norm).or_raise()
}

/// The inverse of [`dct`] with the same options.
///
/// ```
/// use wengert::{Tensor, signal::{FourierNorm, Trigonometric, dct, idct}};
/// let x = Tensor::from([1.0, 2.0, 4.0]);
/// let y = idct(&x, Trigonometric::III, -1, FourierNorm::Inverse);
/// assert!((dct(&y, Trigonometric::III, -1, FourierNorm::Inverse) - &x).abs().max().item() < 1e-14);
/// ```
///
/// # Panics
/// As [`dct`].
#[track_caller]
pub fn idct(x: &Tensor, kind: Trigonometric, axis: impl Dim, norm: FourierNorm) -> Tensor {
    transformed("idct", x, Wave::Cosine, kind.inverse(), axis.dim().0, turned(norm)).or_raise()
}

/// The sine transform along an axis; scaled as [`dct`].
///
/// ```
/// use wengert::{Tensor, signal::{FourierNorm, Trigonometric, dst, idst}};
/// let x = Tensor::from([1.0, 2.0, 4.0]);
/// let y = dst(&x, Trigonometric::II, -1, FourierNorm::Inverse);
/// assert!((idst(&y, Trigonometric::II, -1, FourierNorm::Inverse) - &x).abs().max().item() < 1e-14);
/// ```
///
/// # Panics
/// If the axis does not exist or is empty, or the elements are not real numbers.
#[track_caller]
pub fn dst(x: &Tensor, kind: Trigonometric, axis: impl Dim, norm: FourierNorm) -> Tensor {
    transformed("dst", x, Wave::Sine, kind, axis.dim().0, norm).or_raise()
}

/// The inverse of [`dst`] with the same options.
///
/// ```
/// use wengert::{Tensor, signal::{FourierNorm, Trigonometric, dst, idst}};
/// let x = Tensor::from([1.0, 2.0, 4.0]);
/// let y = idst(&x, Trigonometric::I, -1, FourierNorm::Inverse);
/// assert!((dst(&y, Trigonometric::I, -1, FourierNorm::Inverse) - &x).abs().max().item() < 1e-14);
/// ```
///
/// # Panics
/// As [`dst`].
#[track_caller]
pub fn idst(x: &Tensor, kind: Trigonometric, axis: impl Dim, norm: FourierNorm) -> Tensor {
    transformed("idst", x, Wave::Sine, kind.inverse(), axis.dim().0, turned(norm)).or_raise()
}

impl Trigonometric {
    fn inverse(self) -> Self {
        match self {
            Trigonometric::I | Trigonometric::IV => self,
            Trigonometric::II => Trigonometric::III,
            Trigonometric::III => Trigonometric::II,
        }
    }
}

/// The scale of the other direction.
fn turned(norm: FourierNorm) -> FourierNorm {
    match norm {
        FourierNorm::Inverse => FourierNorm::Forward,
        FourierNorm::Unitary => FourierNorm::Unitary,
        FourierNorm::Forward => FourierNorm::Inverse,
    }
}

#[track_caller]
fn transformed(
    name: &str,
    x: &Tensor,
    wave: Wave,
    kind: Trigonometric,
    axis: isize,
    norm: FourierNorm,
) -> Result<Tensor, Error> {
    compose(name, &[x], |b, args| {
        check_float(b.ty(args[0]))?;
        let axis = axis_of(axis, b.shape(args[0]).len())?;
        let n = b.shape(args[0])[axis];
        let least = if (wave, kind) == (Wave::Cosine, Trigonometric::I) { 2 } else { 1 };
        if n < least {
            misfit!("axis {axis} is {n} long, and has to have at least {least} entries");
        }
        // All as the transform along the last axis.
        let last = b.shape(args[0]).len() - 1;
        let line = b.move_axis(args[0], axis, last);
        let y = scaled(b, line, wave, kind, norm)?;
        Ok(b.move_axis(y, last, axis))
    })
}

/// The transform along the last axis with its scale.
fn scaled(b: &mut Builder, x: Value, wave: Wave, kind: Trigonometric, norm: FourierNorm) -> Result<Value, Misfit> {
    let n = last_length(b, x);
    let double = 2.0
        * match (wave, kind) {
            (Wave::Cosine, Trigonometric::I) => n as f64 - 1.0,
            (Wave::Sine, Trigonometric::I) => n as f64 + 1.0,
            _ => n as f64,
        };
    // Entries that the sums of a type take once where others count twice: an orthogonal matrix has sqrt(2) there.
    let ends = match (wave, kind) {
        (Wave::Cosine, Trigonometric::I) => [true, true],
        (Wave::Cosine, Trigonometric::II | Trigonometric::III) => [true, false],
        (Wave::Sine, Trigonometric::II | Trigonometric::III) => [false, true],
        _ => [false, false],
    };
    let unitary = norm == FourierNorm::Unitary;
    let before = unitary && matches!(kind, Trigonometric::I | Trigonometric::III);
    let after = unitary && matches!(kind, Trigonometric::I | Trigonometric::II);
    let x = if before { with_ends(b, x, ends, SQRT_2) } else { x };
    let y = raw(b, x, wave, kind)?;
    let y = if after { with_ends(b, y, ends, 1.0 / SQRT_2) } else { y };
    Ok(match norm {
        FourierNorm::Inverse => y,
        FourierNorm::Unitary => times(b, y, 1.0 / double.sqrt()),
        FourierNorm::Forward => times(b, y, 1.0 / double),
    })
}

/// The sums of the table along the last axis.
fn raw(b: &mut Builder, x: Value, wave: Wave, kind: Trigonometric) -> Result<Value, Misfit> {
    match (wave, kind) {
        (Wave::Cosine, Trigonometric::I) => cosine_one(b, x),
        (Wave::Sine, Trigonometric::I) => sine_one(b, x),
        (Wave::Cosine, Trigonometric::II) => cosine_two(b, x),
        (Wave::Sine, Trigonometric::II) => sine_two(b, x),
        // The transpose of II, where an end counts half.
        (Wave::Cosine, Trigonometric::III) => {
            let x = with_ends(b, x, [true, false], 0.5);
            transposed(b, x, cosine_two)
        }
        (Wave::Sine, Trigonometric::III) => {
            let x = with_ends(b, x, [false, true], 0.5);
            transposed(b, x, sine_two)
        }
        (_, Trigonometric::IV) => four(b, x, wave),
    }
}

/// The even continuation `x_0 … x_(n-1) … x_1` has a real spectrum.
fn cosine_one(b: &mut Builder, x: Value) -> Result<Value, Misfit> {
    let n = last_length(b, x);
    let inner = part(b, x, 1, n - 1, 1);
    let mirrored = backwards(b, inner);
    let even = joined(b, &[x, mirrored]);
    Ok(half_spectrum(b, even, 2 * (n - 1), n)?[0])
}

/// The odd continuation `0 x 0 -x` has an imaginary one.
fn sine_one(b: &mut Builder, x: Value) -> Result<Value, Misfit> {
    let n = last_length(b, x);
    let first = part(b, x, 0, 1, 1);
    let zero = b.zeros_like(first);
    let mirrored = backwards(b, x);
    let mirrored = b.neg(mirrored);
    let odd = joined(b, &[zero, x, zero, mirrored]);
    let im = half_spectrum(b, odd, 2 * (n + 1), n + 1)?[1];
    let im = part(b, im, 1, n + 1, 1);
    Ok(b.neg(im))
}

/// By a real transform as long as x, of the even entries and then the odd ones backwards (J. Makhoul, *A fast cosine transform
/// in one and two dimensions*, 1980): entry k is twice the real part of `exp(-i pi k / 2n) V_k`, and entry n - k twice the
/// imaginary part of it, negated.
fn cosine_two(b: &mut Builder, x: Value) -> Result<Value, Misfit> {
    let n = last_length(b, x);
    let (even, odd) = (part(b, x, 0, n, 2), part(b, x, 1.min(n), n, 2));
    let odd = backwards(b, odd);
    let order = joined(b, &[even, odd]);
    let spectrum = half_spectrum(b, order, n, n / 2 + 1)?;
    let [cos, sin] = waves(b, spectrum[0], |k| FRAC_PI_2 * k / n as f64);
    let (re_cos, im_sin) = (b.mul(spectrum[0], cos), b.mul(spectrum[1], sin));
    let (re_sin, im_cos) = (b.mul(spectrum[0], sin), b.mul(spectrum[1], cos));
    let (low, high) = (b.add(re_cos, im_sin), b.sub(re_sin, im_cos));
    let high = part(b, high, 1.min(n / 2 + 1), n.div_ceil(2), 1);
    let high = backwards(b, high);
    let all = joined(b, &[low, high]);
    Ok(times(b, all, 2.0))
}

/// The cosine transform of every other sign, backwards.
fn sine_two(b: &mut Builder, x: Value) -> Result<Value, Misfit> {
    let ty = b.ty(x).clone();
    let n = last_length(b, x);
    let signs = signs(b, n);
    let signs = b.convert(signs, ty.dtype);
    let signs = b.spread(signs, &ty.shape, &(0..ty.rank() - 1).collect::<Vec<usize>>());
    let x = b.mul(x, signs);
    let y = cosine_two(b, x)?;
    Ok(backwards(b, y))
}

/// `1, -1, 1, …` as integers.
fn signs(b: &mut Builder, n: usize) -> Value {
    let k = b.op(Iota { length: n }, &[]);
    let ty = b.ty(k).clone();
    let (two, one) = (b.full(2.0, &ty), b.full(1.0, &ty));
    let odd = b.op(crate::ops::Binary::Rem, &[k, two]);
    let twice = b.mul(odd, two);
    b.sub(one, twice)
}

/// `2 sum x_j exp(-i pi (2j+1)(2k+1) / 4n)`: `(2j+1)(2k+1) = 4jk + (2j+1) + 2k`, so a transform of length 2n between two turns.
fn four(b: &mut Builder, x: Value, wave: Wave) -> Result<Value, Misfit> {
    let n = last_length(b, x);
    let rank = b.shape(x).len();
    let [cos, sin] = waves(b, x, |j| FRAC_PI_2 * (j + 0.5) / n as f64);
    let (re, im) = (b.mul(x, cos), b.mul(x, sin));
    let im = b.neg(im);
    let spectrum = b.emit(Fft::new(&[rank - 1], &[2 * n]).counts(&[n]), &[re, im])?;
    let [cos, sin] = waves(b, x, |k| FRAC_PI_2 * k / n as f64);
    let y = match wave {
        Wave::Cosine => {
            let (re_cos, im_sin) = (b.mul(spectrum[0], cos), b.mul(spectrum[1], sin));
            b.add(re_cos, im_sin)
        }
        Wave::Sine => {
            let (re_sin, im_cos) = (b.mul(spectrum[0], sin), b.mul(spectrum[1], cos));
            b.sub(re_sin, im_cos)
        }
    };
    Ok(times(b, y, 2.0))
}

/// The transpose of a linear function that keeps the shape.
fn transposed(
    b: &mut Builder,
    x: Value,
    f: impl FnOnce(&mut Builder, Value) -> Result<Value, Misfit>,
) -> Result<Value, Misfit> {
    let ty = b.ty(x).clone();
    let mut inner = Builder::new();
    inner.line = b.line;
    let input = inner.input("x", ty);
    let y = f(&mut inner, input)?;
    let program = inner.finish(&[y]);
    let pulled = transpose(b, &program, &[None], &[Some(x)])?;
    Ok(pulled[0].unwrap_or_else(|| b.zeros_like(x)))
}

// ---- steps along the last axis ------------------------------------------------------------------

fn last_length(b: &Builder, x: Value) -> usize {
    let shape = b.shape(x);
    shape[shape.len() - 1]
}

/// Every `step`-th entry of `start..end`.
fn part(b: &mut Builder, x: Value, start: usize, end: usize, step: usize) -> Value {
    let shape = b.shape(x).to_vec();
    let last = shape.len() - 1;
    let mut slice = Slice::along(&shape, last, start, end.max(start));
    slice.stride[last] = step;
    b.op(slice, &[x])
}

fn backwards(b: &mut Builder, x: Value) -> Value {
    let last = b.shape(x).len() - 1;
    b.op(Reverse::new(&[last]), &[x])
}

fn joined(b: &mut Builder, parts: &[Value]) -> Value {
    let axis = b.shape(parts[0]).len() - 1;
    b.op(Concat { axis }, parts)
}

fn half_spectrum(b: &mut Builder, x: Value, length: usize, count: usize) -> Result<Vec<Value>, Misfit> {
    let last = b.shape(x).len() - 1;
    let op = Fft::new(&[last], &[length]).kind(FftKind::RealToHalf(HalfWeights::Plain)).counts(&[count]);
    Ok(b.emit(op, &[x])?)
}

fn times(b: &mut Builder, x: Value, factor: f64) -> Value {
    let ty = b.ty(x).clone();
    let factor = b.full(factor, &ty);
    b.mul(x, factor)
}

/// Cosine and sine of angles that are linear in the place along the last axis, in the type of x; computed in double precision.
fn waves(b: &mut Builder, x: Value, angle: impl Fn(f64) -> f64) -> [Value; 2] {
    let ty = b.ty(x).clone();
    let last = ty.rank() - 1;
    let k = b.op(Iota { length: ty.shape[last] }, &[]);
    let k = b.convert(k, crate::array::DType::F64);
    let line = b.ty(k).clone();
    let (start, slope) = (angle(0.0), angle(1.0) - angle(0.0));
    let (start, slope) = (b.full(start, &line), b.full(slope, &line));
    let turned = b.mul(k, slope);
    let angles = b.add(turned, start);
    [Unary::Cos, Unary::Sin].map(|wave| {
        let wave = b.op(wave, &[angles]);
        let wave = b.convert(wave, ty.dtype);
        b.spread(wave, &ty.shape, &(0..last).collect::<Vec<usize>>())
    })
}

/// The first or last entry, or both, times a factor.
fn with_ends(b: &mut Builder, x: Value, ends: [bool; 2], factor: f64) -> Value {
    let n = last_length(b, x);
    if ends == [false, false] {
        return x;
    }
    if n == 1 {
        return times(b, x, factor);
    }
    let mut parts = vec![part(b, x, 0, 1, 1), part(b, x, 1, n - 1, 1), part(b, x, n - 1, n, 1)];
    for (k, end) in [(0, ends[0]), (2, ends[1])] {
        if end {
            parts[k] = times(b, parts[k], factor);
        }
    }
    joined(b, &parts)
}
