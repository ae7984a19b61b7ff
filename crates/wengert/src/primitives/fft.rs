//! The discrete Fourier transform along axes, of complex arrays as pairs of real ones.

use std::borrow::Cow;
use std::f64::consts::{FRAC_1_SQRT_2, FRAC_PI_2};

#[cfg(feature = "text")]
use super::parse::Fields;
use super::sample::{numbers, numbers_f32};
use super::{
    Along, Attributes, Batched, Cotangents, Family, Form, Masks, Operand, OperandSet, Primitive, Sample, arity,
    check_axes, check_float,
};
use crate::array::{Array, DType, Type, has_room};
use crate::error::{Misfit, misfit};
use crate::program::{Builder, Value};

/// The discrete Fourier transform along axes. Along one of length n:
/// `Y_k = scale * sum over j of X_j exp(-2 pi i j k / n)`, with `+` instead of `-` if it is the inverse one.
///
/// A complex array is a pair of real ones, real part first. [`FftKind`] says which sides are real. An operand may have fewer
/// entries along an axis than the transform is long; the missing ones count as zeros. Of the result the first
/// [`counts`](Fft::counts) entries are computed.
///
/// It is linear in the pair, and the transpose is a transform again: as maps of pairs of real numbers, `exp(-i t)` and
/// `exp(i t)` are the transposes of each other, and entries that are missing on one side are not asked for on the other. So
/// the sign turns, lengths of operand and result change places, and the scale stays.
///
/// The definition is that sum, axis by axis, in double precision. `j k` is taken modulo n before it becomes an angle, so that
/// the factors are exact at quarters of a turn and good to an ulp elsewhere, however long the transform is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Fft {
    /// The axes. Where one side is real, the spectrum has half of the last one.
    pub axes: Vec<usize>,
    /// How long the transform is along each of them.
    pub lengths: Vec<usize>,
    /// How many entries of the result are computed along each of them.
    pub counts: Vec<usize>,
    /// Which sides are real.
    pub kind: FftKind,
    /// Whether the angles are positive.
    pub inverse: bool,
    /// What the result is multiplied by.
    pub scale: FftScale,
}

/// Which sides of a transform are real.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FftKind {
    /// Both are complex: two operands, two results.
    Complex,
    /// The operand is real: one operand, two results. Of the last axis' spectrum there are the entries 0 to n / 2, because
    /// the others are conjugates of these.
    RealToHalf(HalfWeights),
    /// The result is real: two operands, one result. The operand is the spectrum's half along the last axis, and the result
    /// is the real part of its transform. With [`HalfWeights::Doubled`] that is the transform of the whole spectrum of a real
    /// array. The imaginary parts of entries 0 and n / 2 of the last axis have no influence.
    HalfToReal(HalfWeights),
}

/// The weights of the entries of half a spectrum.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum HalfWeights {
    /// All 1.
    Plain,
    /// 2 for the entries that stand for two, theirs and that of their conjugate: all but 0 and, if n is even, n / 2.
    Doubled,
}

/// What the result of a transform of n entries (the product of the lengths) is multiplied by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FftScale {
    /// 1.
    One,
    /// 1 / n.
    Length,
    /// 1 / sqrt(n).
    Root,
}

/// The largest prime factor of a length that is taken.
const LARGEST_FACTOR: usize = 1_000_000;
/// Numbers for each entry of a long transform: its factors and one line, both complex.
const NUMBERS: usize = 4;

/// Whether there is memory for transforms of this length: for the factors and one line. An operand may be padded to any length.
pub(crate) fn transform_fits_in_memory(n: usize, dtype: DType) -> bool {
    let number = if dtype == DType::F32 { size_of::<f32>() } else { size_of::<f64>() };
    // Short ones without asking the system.
    n <= 1 << 20 || has_room(n, NUMBERS * number)
}

impl Fft {
    /// The forward transform of whole axes, not scaled.
    pub fn new(axes: &[usize], lengths: &[usize]) -> Self {
        Fft {
            axes: axes.to_vec(),
            lengths: lengths.to_vec(),
            counts: lengths.to_vec(),
            kind: FftKind::Complex,
            inverse: false,
            scale: FftScale::One,
        }
    }

    /// Of which sides are real, with all entries of the result.
    #[must_use]
    pub fn kind(mut self, kind: FftKind) -> Self {
        self.kind = kind;
        self.counts = (0..self.axes.len()).map(|k| self.limits(k)[1]).collect();
        self
    }

    /// With positive angles.
    #[must_use]
    pub fn inverse(self) -> Self {
        Fft { inverse: true, ..self }
    }

    /// Times this.
    #[must_use]
    pub fn scale(self, scale: FftScale) -> Self {
        Fft { scale, ..self }
    }

    /// With fewer entries of the result.
    #[must_use]
    pub fn counts(self, counts: &[usize]) -> Self {
        Fft { counts: counts.to_vec(), ..self }
    }

    /// How many entries operand and result may have along the k-th axis.
    fn limits(&self, k: usize) -> [usize; 2] {
        let (n, is_last) = (self.lengths[k], k + 1 == self.axes.len());
        match self.kind {
            FftKind::RealToHalf(_) if is_last => [n, n / 2 + 1],
            FftKind::HalfToReal(_) if is_last => [n / 2 + 1, n],
            _ => [n, n],
        }
    }

    /// What the result is multiplied by.
    pub(crate) fn factor(&self) -> f64 {
        let n: f64 = self.lengths.iter().map(|&n| n as f64).product();
        match self.scale {
            FftScale::One => 1.0,
            FftScale::Length => 1.0 / n,
            FftScale::Root => 1.0 / n.sqrt(),
        }
    }

    /// Operands and results.
    fn arities(&self) -> [usize; 2] {
        match self.kind {
            FftKind::Complex => [2, 2],
            FftKind::RealToHalf(_) => [1, 2],
            FftKind::HalfToReal(_) => [2, 1],
        }
    }

    /// The shape of the results.
    fn shape(&self, x: &[usize]) -> Vec<usize> {
        let mut shape = x.to_vec();
        self.axes.iter().zip(&self.counts).for_each(|(&axis, &count)| shape[axis] = count);
        shape
    }

    /// About how many operations on elements the definition takes.
    #[cfg(all(feature = "engine", not(feature = "fft")))]
    pub(crate) fn defined_operations(&self, x: &Type) -> usize {
        let mut shape = x.shape.clone();
        self.in_order().fold(0, |sum: usize, k| {
            let terms = shape[self.axes[k]];
            shape[self.axes[k]] = self.counts[k];
            let sums = shape.iter().product::<usize>();
            sum.saturating_add(sums.saturating_mul(terms).saturating_mul(4))
        })
    }

    /// The places of the axes in the order in which they are transformed: the one with half a spectrum next to the real side.
    pub(crate) fn in_order(&self) -> impl Iterator<Item = usize> + use<> {
        let count = self.axes.len();
        let from_the_end = matches!(self.kind, FftKind::RealToHalf(_));
        (0..count).map(move |k| if from_the_end { count - 1 - k } else { k })
    }

    fn check_length(&self, k: usize, x: &Type) -> Result<(), Misfit> {
        let (axis, n, has) = (self.axes[k], self.lengths[k], x.shape[self.axes[k]]);
        let [from, to] = self.limits(k);
        if !transform_fits_in_memory(n, x.dtype) {
            misfit!("there is no memory for the factors and one line of a transform of length {n} along axis {axis}");
        }
        if n == 0 {
            misfit!("a transform of length 0 along axis {axis} does not exist: it takes at least one entry");
        }
        if let Some(factor) = largest_factor(n).filter(|&factor| factor > LARGEST_FACTOR) {
            misfit!(
                "the length {n} along axis {axis} has the prime factor {factor}, and factors above {LARGEST_FACTOR} are \
                 refused: pad to a length with smaller ones"
            );
        }
        if has > from {
            let half = if from < n { "of the half spectrum " } else { "" };
            misfit!(
                "axis {axis} is {has} long, and a transform of length {n} takes at most {from} entries {half}there"
            );
        }
        if self.counts[k] > to {
            misfit!(
                "a transform of length {n} has {to} entries along axis {axis}, and {} are asked for",
                self.counts[k]
            );
        }
        Ok(())
    }

    /// The transform of the pair of arrays, in double precision; the second one is empty where there is none.
    fn transformed(&self, x: &[&Array]) -> [Vec<f64>; 2] {
        let mut shape = x[0].shape().to_vec();
        let mut pair = [x[0].to_f64(), x.get(1).map_or_else(Vec::new, |im| im.to_f64())];
        for k in self.in_order() {
            let (axis, count) = (self.axes[k], self.counts[k]);
            let line = Line::new(self, k);
            pair = along_axis(&pair, &shape, axis, count, &line);
            shape[axis] = count;
        }
        let factor = self.factor();
        if factor != 1.0 {
            pair.iter_mut().flatten().for_each(|y| *y *= factor);
        }
        pair
    }
}

/// The largest prime factor, by division; `None` of 0 and 1. What is left after all factors up to [`LARGEST_FACTOR`] are taken
/// out counts as one.
fn largest_factor(n: usize) -> Option<usize> {
    let (mut rest, mut largest, mut divisor) = (n, None, 2);
    while rest > 1 && divisor <= LARGEST_FACTOR && divisor * divisor <= rest {
        if rest.is_multiple_of(divisor) {
            rest /= divisor;
            largest = Some(divisor);
        } else {
            divisor += 1;
        }
    }
    if rest > 1 { Some(rest.max(largest.unwrap_or(1))) } else { largest }
}

/// `[cos, sin]` of `2 pi m / n`, for m < n: the angle is brought into the first eighth of a turn while it is an integer.
pub(crate) fn turned(m: usize, n: usize) -> [f64; 2] {
    let (quarter, rest) = (4 * m as u128 / n as u128, 4 * m as u128 % n as u128);
    let other = n as u128 - rest;
    let sine_and_cosine = |rest: u128| (FRAC_PI_2 * (rest as f64 / n as f64)).sin_cos();
    let (sin, cos) = match rest.cmp(&other) {
        std::cmp::Ordering::Less => sine_and_cosine(rest),
        std::cmp::Ordering::Equal => (FRAC_1_SQRT_2, FRAC_1_SQRT_2),
        std::cmp::Ordering::Greater => {
            let (cos, sin) = sine_and_cosine(other);
            (sin, cos)
        }
    };
    match quarter {
        0 => [cos, sin],
        1 => [-sin, cos],
        2 => [-cos, -sin],
        _ => [sin, -cos],
    }
}

/// The transform along one axis.
struct Line {
    n: usize,
    /// `exp(±2 pi i m / n)`.
    factors: Vec<[f64; 2]>,
    /// Which sides are real, along this axis.
    kind: FftKind,
}

impl Line {
    fn new(op: &Fft, k: usize) -> Self {
        let n = op.lengths[k];
        let kind = if k + 1 == op.axes.len() { op.kind } else { FftKind::Complex };
        let factors = (0..n).map(|m| {
            let [cos, sin] = turned(m, n);
            [cos, if op.inverse { sin } else { -sin }]
        });
        Line { n, factors: factors.collect(), kind }
    }

    /// Whether an entry of half a spectrum is its own conjugate.
    fn is_single(&self, k: usize) -> bool {
        k == 0 || 2 * k == self.n
    }

    fn weight(&self, weights: HalfWeights, k: usize) -> f64 {
        if weights == HalfWeights::Doubled && !self.is_single(k) { 2.0 } else { 1.0 }
    }

    /// The k-th entry of the transform of some entries.
    fn entry(&self, x: &[[f64; 2]], k: usize) -> [f64; 2] {
        let factor = |j: usize| self.factors[(j as u128 * k as u128 % self.n as u128) as usize];
        let terms = x.iter().enumerate().map(|(j, &[re, im])| (j, re, im, factor(j)));
        match self.kind {
            FftKind::Complex => terms.fold([0.0; 2], |sum, (_, re, im, [cos, sin])| {
                [sum[0] + (re * cos - im * sin), sum[1] + (re * sin + im * cos)]
            }),
            FftKind::RealToHalf(weights) => {
                let weight = self.weight(weights, k);
                let sum = terms.fold([0.0; 2], |sum, (_, re, _, [cos, sin])| [sum[0] + re * cos, sum[1] + re * sin]);
                [weight * sum[0], if self.is_single(k) { 0.0 } else { weight * sum[1] }]
            }
            FftKind::HalfToReal(weights) => {
                let sum = terms.fold(0.0, |sum, (j, re, im, [cos, sin])| {
                    let im = if self.is_single(j) { 0.0 } else { im * sin };
                    sum + self.weight(weights, j) * (re * cos - im)
                });
                [sum, 0.0]
            }
        }
    }
}

/// A transform along an axis of a pair of arrays of this shape: the first entries of it.
fn along_axis(pair: &[Vec<f64>; 2], shape: &[usize], axis: usize, count: usize, line: &Line) -> [Vec<f64>; 2] {
    let (length, inner) = (shape[axis], shape[axis + 1..].iter().product::<usize>());
    let outer: usize = shape[..axis].iter().product();
    let mut results = [vec![0.0; outer * count * inner], Vec::new()];
    if !matches!(line.kind, FftKind::HalfToReal(_)) {
        results[1] = results[0].clone();
    }
    let [re, im] = pair;
    let mut entries = Vec::with_capacity(length);
    for (row, column) in (0..outer).flat_map(|row| (0..inner).map(move |column| (row, column))) {
        entries.clear();
        entries.extend((0..length).map(|j| {
            let place = (row * length + j) * inner + column;
            [re[place], im.get(place).copied().unwrap_or(0.0)]
        }));
        for k in 0..count {
            let place = (row * count + k) * inner + column;
            let entry = line.entry(&entries, k);
            results.iter_mut().zip(entry).filter(|(to, _)| !to.is_empty()).for_each(|(to, y)| to[place] = y);
        }
    }
    results
}

impl Primitive for Fft {
    fn name(&self) -> Cow<'static, str> {
        match self.kind {
            FftKind::Complex => "fft",
            FftKind::RealToHalf(_) => "fft_real_to_half",
            FftKind::HalfToReal(_) => "fft_half_to_real",
        }
        .into()
    }
    fn infer(&self, args: &[&Type]) -> Result<Vec<Type>, Misfit> {
        let [operands, results] = self.arities();
        arity(args, operands)?;
        let x = args[0];
        args.iter().try_for_each(|arg| check_float(arg))?;
        if let Some(im) = args.get(1).filter(|&&im| im != x) {
            misfit!("the real part is {x} and the imaginary part {im}: they have to be of one type");
        }
        check_axes(&self.axes, x)?;
        let (axes, lengths, counts) = (self.axes.len(), self.lengths.len(), self.counts.len());
        if axes == 0 || lengths != axes || counts != axes {
            misfit!("it has {axes} axes, {lengths} lengths and {counts} counts: it takes one or more, of each as many");
        }
        (0..axes).try_for_each(|k| self.check_length(k, x))?;
        Ok(vec![x.with_shape(self.shape(&x.shape)); results])
    }
    fn eval(&self, args: &[&Array]) -> Result<Vec<Array>, Misfit> {
        let (shape, dtype) = (self.shape(args[0].shape()), args[0].dtype());
        let result = |y: Vec<f64>| match dtype {
            DType::F32 => Array::new(&shape, y.into_iter().map(|y| y as f32).collect::<Vec<f32>>()),
            _ => Array::new(&shape, y),
        };
        let [_, results] = self.arities();
        Ok(self.transformed(args).into_iter().take(results).map(result).collect())
    }
    fn along(&self, axis: usize, args: &[&Type]) -> Option<Along> {
        (!self.axes.contains(&axis)).then(|| vec![Some(axis); args.len()])
    }
    fn form(&self, _: &[&Type]) -> Form {
        Form::Kernel
    }
    fn reaches_more(&self) -> Option<&'static str> {
        Some("sines of some angles are zero")
    }
    fn linear_in(&self, args: usize) -> Vec<OperandSet> {
        vec![(0..args).collect()]
    }
    fn multiplies(&self) -> bool {
        // The factors are finite.
        false
    }
    fn masks(&self) -> Masks {
        Masks::Moved
    }
    fn transpose(&self, b: &mut Builder, cotangents: &[Option<Value>], args: &[Operand]) -> Cotangents {
        let Some(some) = cotangents.iter().copied().flatten().next() else { return Ok(vec![None; args.len()]) };
        let shape = args[0].ty(b).shape;
        if b.dtype(some) == DType::Bool {
            // Every entry along the axes reaches every other one.
            let reached = cotangents.iter().copied().flatten().fold(None, |reached, mask| {
                let mask = b.any(mask, &self.axes);
                Some(reached.map_or(mask, |reached| b.op(super::Logic::Or, &[reached, mask])))
            });
            let spread = reached.map(|reached| b.spread(reached, &shape, &self.axes));
            return Ok(args.iter().map(|arg| spread.filter(|_| arg.is_linear())).collect());
        }
        let present: Vec<Value> = cotangents.iter().map(|ct| ct.unwrap_or_else(|| b.zeros_like(some))).collect();
        let back = Fft {
            counts: self.axes.iter().map(|&axis| shape[axis]).collect(),
            kind: match self.kind {
                FftKind::Complex => FftKind::Complex,
                FftKind::RealToHalf(weights) => FftKind::HalfToReal(weights),
                FftKind::HalfToReal(weights) => FftKind::RealToHalf(weights),
            },
            inverse: !self.inverse,
            ..self.clone()
        };
        let pulled = b.ops(back, &present);
        Ok(pulled.into_iter().zip(args).map(|(ct, arg)| arg.is_linear().then_some(ct)).collect())
    }
    fn batch(&self, b: &mut Builder, args: &[Value], batched: &[bool], length: usize) -> Batched {
        let args = b.batch_all(args, batched, length);
        let axes = self.axes.iter().map(|axis| axis + 1).collect();
        Ok(b.ops(Fft { axes, ..self.clone() }, &args).into_iter().map(|out| (out, true)).collect())
    }
    fn attributes(&self) -> Attributes {
        let all = Attributes::default()
            .with("axes", &self.axes[..])
            .with("lengths", &self.lengths[..])
            .with("counts", &self.counts[..])
            .with("inverse", self.inverse)
            .with("scale", SCALES.iter().find(|(_, scale)| *scale == self.scale).map_or("one", |(word, _)| word));
        match self.kind {
            FftKind::Complex => all,
            FftKind::RealToHalf(weights) | FftKind::HalfToReal(weights) => {
                all.with("doubled", weights == HalfWeights::Doubled)
            }
        }
    }
}

/// The scales and their words.
const SCALES: [(&str, FftScale); 3] = [("one", FftScale::One), ("length", FftScale::Length), ("root", FftScale::Root)];

impl Family for Fft {
    #[cfg(feature = "text")]
    fn parse(name: &str, fields: &mut Fields) -> Option<Result<Self, Misfit>> {
        let kinds: [fn(HalfWeights) -> FftKind; 3] = [|_| FftKind::Complex, FftKind::RealToHalf, FftKind::HalfToReal];
        let names = ["fft", "fft_real_to_half", "fft_half_to_real"];
        let kind = kinds[names.iter().position(|own| *own == name)?];
        let mut read = || {
            let doubled = name != "fft" && fields.flag("doubled")?;
            Ok(Fft {
                axes: fields.integers("axes")?,
                lengths: fields.integers("lengths")?,
                counts: fields.integers("counts")?,
                kind: kind(if doubled { HalfWeights::Doubled } else { HalfWeights::Plain }),
                inverse: fields.flag("inverse")?,
                scale: fields.one_of("scale", &SCALES)?,
            })
        };
        Some(read())
    }
    fn samples() -> Vec<Sample> {
        let pair = |seed: u64, shape: &[usize]| [numbers(seed, shape), numbers(seed + 50, shape)];
        let line = |n: usize| Fft::new(&[0], &[n]);
        let mut samples = vec![
            Sample::new(line(1), &pair(1, &[1])),
            Sample::new(line(2), &pair(2, &[2])),
            Sample::new(line(5), &pair(3, &[5])),
            Sample::new(line(6).inverse().scale(FftScale::Length), &pair(4, &[6])),
            Sample::new(Fft::new(&[1], &[3]).scale(FftScale::Root), &pair(5, &[2, 3, 2])),
            Sample::new(Fft::new(&[1, 0], &[4, 3]), &pair(6, &[3, 4])),
            // Padded, and with a part of the result.
            Sample::new(line(5).inverse(), &pair(7, &[3])),
            Sample::new(line(4).counts(&[3]), &pair(8, &[4])),
            Sample::new(Fft::new(&[0, 2], &[3, 4]).counts(&[2, 4]), &pair(9, &[3, 2, 2])),
            Sample::new(line(2), &pair(10, &[0])),
            Sample::new(Fft::new(&[3], &[2]), &pair(14, &[2, 1, 2, 2])),
            Sample::new(Fft::new(&[2, 1], &[3, 2]).inverse(), &pair(15, &[1, 2, 3, 2])),
            Sample::new(Fft::new(&[1], &[3]), &pair(11, &[0, 3])),
            Sample::new(line(3), &[numbers_f32(12, &[3]), numbers_f32(13, &[3])]),
        ];
        for weights in [HalfWeights::Plain, HalfWeights::Doubled] {
            let real = |op: Fft| op.kind(FftKind::RealToHalf(weights));
            samples.extend([1, 2, 3, 6].map(|n| Sample::new(real(line(n)), &[numbers(20 + n as u64, &[n])])));
            samples.push(Sample::new(real(line(5)).inverse().scale(FftScale::Root), &[numbers(27, &[3])]));
            samples.push(Sample::new(real(line(6)).counts(&[2]), &[numbers(28, &[6])]));
            samples.push(Sample::new(real(Fft::new(&[1, 2], &[3, 4])), &[numbers(29, &[2, 3, 4])]));
            samples.push(Sample::new(real(Fft::new(&[0, 3], &[2, 3])), &[numbers(42, &[2, 1, 2, 3])]));
            samples.push(Sample::new(real(line(4)), &[numbers_f32(30, &[4])]));
            let half = |op: Fft| op.kind(FftKind::HalfToReal(weights)).inverse();
            samples.extend([1, 2, 3, 6].map(|n| Sample::new(half(line(n)), &pair(30 + n as u64, &[n / 2 + 1]))));
            samples.push(Sample::new(half(line(7)).scale(FftScale::Length), &pair(37, &[2])));
            samples.push(Sample::new(half(line(6)).counts(&[3]), &pair(38, &[4])));
            samples.push(Sample::new(half(Fft::new(&[0, 1], &[2, 5])), &pair(39, &[2, 3])));
            samples.push(Sample::new(half(line(4)), &[numbers_f32(40, &[3]), numbers_f32(41, &[3])]));
        }
        samples
    }
}

#[cfg(test)]
mod tests;
