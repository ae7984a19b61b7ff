//! Eigenvectors and singular vectors as data that say how to compute: frames.
//!
//! The eigenvectors of a matrix are not a function of it: signs are free, and in the space of a repeated value every basis is
//! as good. So an operation that uses them, and is a function of the matrix all the same, takes the matrix *and* a frame, as
//! the operations of [`SpectralMap`](super::SpectralMap)'s family do: its result does not depend on which frame it is given,
//! its derivative in the matrix is stated without the vectors' own, and a frame has no derivative at all. A frame that is not
//! one of the matrix (`A V = V Λ`) is not used: then the operation finds its own.

use std::borrow::Cow;
use std::hash::{Hash, Hasher};
use std::ops::Range;

use super::plain::{Spectrum, eigh, svd, symmetric, transposed};
use super::{in_batch, unit, widened_bytes};
use crate::array::{Array, DType, Type};
use crate::error::{Error, ErrorKind, Misfit, misfit};
#[cfg(feature = "text")]
use crate::primitives::parse::Fields;
use crate::primitives::sample::{numbers, numbers_f32};
use crate::primitives::{Attributes, Batched, Family, Form, OperandSet, Primitive, Sample, arity, check_float};
use crate::program::{Builder, Value};

/// What of a matrix is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SpectralKind {
    /// Eigenvalues of `(A + A^T) / 2`, in increasing order.
    Symmetric,
    /// Singular values, in decreasing order.
    Singular,
}

impl SpectralKind {
    #[cfg(feature = "text")]
    pub(super) const WORDS: [(&'static str, SpectralKind); 2] =
        [("symmetric", SpectralKind::Symmetric), ("singular", SpectralKind::Singular)];

    pub(super) fn word(self) -> &'static str {
        match self {
            SpectralKind::Symmetric => "symmetric",
            SpectralKind::Singular => "singular",
        }
    }

    /// What a value is called in messages.
    pub(super) fn value(self) -> &'static str {
        match self {
            SpectralKind::Symmetric => "eigenvalue",
            SpectralKind::Singular => "singular value",
        }
    }
}

/// A batch of matrices: the axes before, rows and columns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Matrices {
    pub(super) lead: Vec<usize>,
    pub(super) rows: usize,
    pub(super) columns: usize,
}

impl Matrices {
    /// Those of an operand, which have to be square to have eigenvalues.
    pub(super) fn of(ty: &Type, spectrum: SpectralKind) -> Result<Self, Misfit> {
        check_float(ty)?;
        let [lead @ .., rows, columns] = &ty.shape[..] else {
            misfit!("{ty} is no matrix: it needs at least two axes");
        };
        if spectrum == SpectralKind::Symmetric && rows != columns {
            misfit!("the matrix is {rows} by {columns}, and has to be square");
        }
        Ok(Matrices { lead: lead.to_vec(), rows: *rows, columns: *columns })
    }

    pub(super) fn count(&self) -> usize {
        self.lead.iter().product()
    }

    pub(super) fn size(&self) -> usize {
        self.rows * self.columns
    }

    /// How many values a matrix has.
    pub(super) fn values(&self) -> usize {
        self.rows.min(self.columns)
    }

    pub(super) fn shape(&self, own: &[usize]) -> Vec<usize> {
        [&self.lead, own].concat()
    }

    /// The type of the frames: the values in the first row, then the vectors as columns, the left ones before the right ones.
    pub(super) fn frame(&self, spectrum: SpectralKind) -> Type {
        let vectors = match spectrum {
            SpectralKind::Symmetric => self.rows,
            SpectralKind::Singular => self.rows + self.columns,
        };
        Type::new(DType::I64, &self.shape(&[1 + vectors, self.values()]))
    }

    /// That a type is that of the frames.
    pub(super) fn check_frame(&self, spectrum: SpectralKind, ty: &Type) -> Result<(), Misfit> {
        match self.frame(spectrum) {
            wanted if wanted == *ty => Ok(()),
            wanted => misfit!("the frame is {ty}, and has to be {wanted}"),
        }
    }

    /// Which matrix it is, for errors.
    pub(super) fn at(&self, lane: usize) -> String {
        in_batch(&self.lead, lane)
    }
}

/// Values and vectors of one matrix, in double precision.
#[derive(Clone, Debug)]
pub(super) struct Frame {
    pub(super) spectrum: SpectralKind,
    pub(super) values: Vec<f64>,
    /// Eigenvectors, or left singular vectors, as columns.
    pub(super) left: Vec<f64>,
    /// Right singular vectors as columns; nothing for eigenvectors.
    pub(super) right: Vec<f64>,
    /// Rows of the left vectors and of the right ones.
    pub(super) rows: [usize; 2],
    /// The unit of rounding in which the matrix was given.
    pub(super) unit: f64,
}

impl Frame {
    /// How many values there are.
    pub(super) fn count(&self) -> usize {
        self.values.len()
    }

    /// The largest magnitude of a value: the norm of the matrix.
    pub(super) fn norm(&self) -> f64 {
        self.values.iter().fold(0.0, |largest, x| largest.max(x.abs()))
    }

    /// Values whose distance is at most this are not told apart: eight times the size of the matrix in roundings of its norm.
    pub(super) fn tolerance(&self) -> f64 {
        8.0 * self.rows[0].max(self.rows[1]) as f64 * self.unit * self.norm()
    }

    /// The runs of values that are not told apart.
    pub(super) fn clusters(&self) -> Vec<Range<usize>> {
        let (tolerance, mut runs, mut start) = (self.tolerance(), Vec::new(), 0);
        for k in 1..=self.count() {
            if k == self.count() || (self.values[k] - self.values[k - 1]).abs() > tolerance {
                runs.push(start..k);
                start = k;
            }
        }
        runs
    }

    /// The values and vectors of a matrix, found here.
    fn found(a: &[f64], of: &Matrices, spectrum: SpectralKind, unit: f64) -> Result<Frame, Misfit> {
        if let Some(place) = a.iter().position(|x| !x.is_finite()) {
            misfit!("the element [{}, {}] is {}", place / of.columns, place % of.columns, a[place]);
        }
        let (rows, columns) = (of.rows, of.columns);
        let frame = match spectrum {
            SpectralKind::Symmetric => eigh(&symmetric(a, rows), rows).map(|(values, left)| Frame {
                spectrum,
                values,
                left,
                right: Vec::new(),
                rows: [rows, 0],
                unit,
            }),
            SpectralKind::Singular => svd(a, rows, columns).map(|Spectrum { left, values, right }| {
                let right = transposed(&right, values.len(), columns);
                Frame { spectrum, values, left, right, rows: [rows, columns], unit }
            }),
        };
        frame.ok_or_else(|| Misfit("the iteration has not converged".to_owned()))
    }

    /// What these bits say, if they are finite.
    fn read(bits: &[i64], of: &Matrices, spectrum: SpectralKind, unit: f64) -> Option<Frame> {
        let numbers: Vec<f64> = bits.iter().map(|&x| f64::from_bits(x.cast_unsigned())).collect();
        if numbers.iter().any(|x| !x.is_finite()) {
            return None;
        }
        let count = of.values();
        let (values, vectors) = numbers.split_at(count);
        let (left, right) = vectors.split_at(of.rows * count);
        let right_rows = if spectrum == SpectralKind::Symmetric { 0 } else { of.columns };
        let (values, left, right) = (values.to_vec(), left.to_vec(), right.to_vec());
        Some(Frame { spectrum, values, left, right, rows: [of.rows, right_rows], unit })
    }

    fn bits(&self) -> impl Iterator<Item = i64> {
        let numbers = self.values.iter().chain(&self.left).chain(&self.right);
        numbers.map(|x| x.to_bits().cast_signed())
    }

    /// Whether it is one of this matrix: tried at a vector without a pattern, which misses nothing that is not made to be
    /// missed (R. Freivalds, *Probabilistic machines can use less running time*, 1977).
    fn fits(&self, a: &[f64], of: &Matrices) -> bool {
        let count = self.count();
        let tolerance = 256.0 * (of.rows + of.columns) as f64 * f64::EPSILON;
        let near = |x: &[f64], y: &[f64], size: f64| x.iter().zip(y).all(|(x, y)| (x - y).abs() <= tolerance * size);
        let probe = |length: usize| numbers(5, &[length]).known::<f64>().to_vec();
        let [left_rows, right_rows] = self.rows;
        let one = probe(count);
        let is_basis = |vectors: &[f64], rows: usize| {
            near(&times_transposed(vectors, rows, count, &times(vectors, rows, count, &one)), &one, 1.0)
        };
        if !is_basis(&self.left, left_rows) || !is_basis(&self.right, right_rows) && right_rows > 0 {
            return false;
        }
        let along = |vectors: &[f64], rows: usize, x: &[f64]| -> Vec<f64> {
            times_transposed(vectors, rows, count, x).iter().zip(&self.values).map(|(x, value)| x * value).collect()
        };
        let norm = self.norm();
        match self.spectrum {
            SpectralKind::Symmetric => {
                let x = probe(of.rows);
                let both: Vec<f64> = times(a, of.rows, of.rows, &x)
                    .iter()
                    .zip(times_transposed(a, of.rows, of.rows, &x))
                    .map(|(x, y)| 0.5 * x + 0.5 * y)
                    .collect();
                near(&both, &times(&self.left, of.rows, count, &along(&self.left, of.rows, &x)), norm)
                    && self.values.is_sorted()
            }
            SpectralKind::Singular => {
                let (x, y) = (probe(of.columns), probe(of.rows));
                let forward = times(&self.left, of.rows, count, &along(&self.right, of.columns, &x));
                let backward = times(&self.right, of.columns, count, &along(&self.left, of.rows, &y));
                near(&times(a, of.rows, of.columns, &x), &forward, norm)
                    && near(&times_transposed(a, of.rows, of.columns, &y), &backward, norm)
                    && self.values.is_sorted_by(|x, y| x >= y)
                    && self.values.last().is_none_or(|&least| least >= 0.0)
            }
        }
    }
}

/// `A x` of a matrix with this many rows and columns.
fn times(a: &[f64], rows: usize, columns: usize, x: &[f64]) -> Vec<f64> {
    (0..rows).map(|row| a[row * columns..][..columns].iter().zip(x).map(|(a, x)| a * x).sum()).collect()
}

/// `A^T x`
fn times_transposed(a: &[f64], rows: usize, columns: usize, x: &[f64]) -> Vec<f64> {
    let mut out = vec![0.0; columns];
    for row in 0..rows {
        out.iter_mut().zip(&a[row * columns..][..columns]).for_each(|(out, a)| *out += a * x[row]);
    }
    out
}

/// The frames of an operand's matrices, one after the other.
pub(super) struct Frames<'a> {
    pub(super) of: Matrices,
    spectrum: SpectralKind,
    a: Cow<'a, [f64]>,
    bits: &'a [i64],
    unit: f64,
}

impl<'a> Frames<'a> {
    /// Those of operands that have passed inference: matrices and their frames.
    pub(super) fn new(a: &'a Array, frame: &'a Array, spectrum: SpectralKind) -> Self {
        let of = Matrices::of(a.ty(), spectrum).expect("inference asks for matrices");
        Frames { of, spectrum, a: super::widened(a), bits: frame.known(), unit: unit(a.dtype()) }
    }

    /// The frame of a matrix: the one that was given, or, if it is none of this matrix, another one. `None` where only zero
    /// bits were given: the matrix is that of a lane that does not count.
    ///
    /// # Errors
    /// If the matrix has an entry that is not finite.
    pub(super) fn get(&self, lane: usize) -> Result<Option<Frame>, Misfit> {
        let (size, length) = (self.of.size(), self.bits.len() / self.of.count().max(1));
        let (a, bits) = (&self.a[lane * size..][..size], &self.bits[lane * length..][..length]);
        if !bits.is_empty() && bits.iter().all(|&bits| bits == 0) {
            return Ok(None);
        }
        if let Some(frame) =
            Frame::read(bits, &self.of, self.spectrum, self.unit).filter(|frame| frame.fits(a, &self.of))
        {
            return Ok(Some(frame));
        }
        let frame = Frame::found(a, &self.of, self.spectrum, self.unit);
        frame.map(Some).map_err(|why| Misfit(why.0 + &self.of.at(lane)))
    }
}

/// `spectral_frame(A)`: values and vectors of matrices, as bits.
///
/// Of `A` with the shape `[…, m, n]` it gives integers, the bits of numbers in double precision: values in the first row, then
/// the eigenvectors as columns, or the left and then the right singular vectors. It is no decomposition for users: it is an
/// operand of operations that do not depend on which vectors these are, and that state their derivatives in `A` themselves, so
/// that none flows through it. An entry that is not finite is an error.
///
/// Frames for functions of different names are one: the name is for errors alone.
#[derive(Clone, Debug)]
pub struct SpectralFrame {
    /// The operation that errors name.
    pub name: String,
    /// Of which kind.
    pub spectrum: SpectralKind,
}

impl SpectralFrame {
    /// For a function of this name.
    pub fn new(name: &str, spectrum: SpectralKind) -> Self {
        SpectralFrame { name: name.to_owned(), spectrum }
    }
}

/// But for the name, so that functions of one matrix share their frame.
impl PartialEq for SpectralFrame {
    fn eq(&self, other: &Self) -> bool {
        self.spectrum == other.spectrum
    }
}

impl Eq for SpectralFrame {}

impl Hash for SpectralFrame {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.spectrum.hash(state);
    }
}

impl Primitive for SpectralFrame {
    fn name(&self) -> Cow<'static, str> {
        "spectral_frame".into()
    }
    fn infer(&self, args: &[&Type]) -> Result<Vec<Type>, Misfit> {
        arity(args, 1)?;
        Ok(vec![Matrices::of(args[0], self.spectrum)?.frame(self.spectrum)])
    }
    fn eval(&self, args: &[&Array]) -> Result<Vec<Array>, Misfit> {
        let of = Matrices::of(args[0].ty(), self.spectrum)?;
        let a = super::widened(args[0]);
        let mut bits = Vec::with_capacity(of.frame(self.spectrum).size());
        for lane in 0..of.count() {
            let matrix = &a[lane * of.size()..][..of.size()];
            let frame = Frame::found(matrix, &of, self.spectrum, unit(args[0].dtype()));
            bits.extend(frame.map_err(|why| Misfit(why.0 + &of.at(lane)))?.bits());
        }
        Ok(vec![Array::new(&of.frame(self.spectrum).shape, bits)])
    }
    fn failure(&self, why: Misfit, args: &[&Type]) -> Error {
        Error::new(ErrorKind::Run, &self.name, why.0).of(args.iter().copied())
    }
    fn form(&self, _: &[&Type]) -> Form {
        Form::Kernel
    }
    /// Of one matrix at a time, by rotations.
    fn defined_bytes(&self, args: &[&Type]) -> usize {
        let numbers = Matrices::of(args[0], self.spectrum).map_or(0, |of| {
            let (long, short) = (of.rows.max(of.columns), of.values());
            match self.spectrum {
                // The symmetric part, and as it is turned the matrix twice, its vectors twice, and their products.
                SpectralKind::Symmetric => 6 * long * long,
                // Three sets of either vectors; a wide matrix is transposed.
                SpectralKind::Singular => (3 + usize::from(of.rows < of.columns)) * long * short + 3 * short * short,
            }
        });
        widened_bytes(args) + numbers * size_of::<f64>()
    }
    fn linear_in(&self, _: usize) -> Vec<OperandSet> {
        Vec::new()
    }
    fn batch(&self, b: &mut Builder, args: &[Value], batched: &[bool], _: usize) -> Batched {
        Ok(vec![(b.op(self.clone(), args), batched[0])])
    }
    fn harmless(&self) -> Vec<(usize, f64)> {
        vec![(0, 0.0)]
    }
    fn gives_up(&self) -> bool {
        true
    }
    fn attributes(&self) -> Attributes {
        Attributes::default().with("name", self.name.clone()).with("of", self.spectrum.word())
    }
}

impl Family for SpectralFrame {
    #[cfg(feature = "text")]
    fn parse(name: &str, fields: &mut Fields) -> Option<Result<Self, Misfit>> {
        let read =
            || Ok(SpectralFrame { name: fields.word("name")?, spectrum: fields.one_of("of", &SpectralKind::WORDS)? });
        (name == "spectral_frame").then(read)
    }
    fn samples() -> Vec<Sample> {
        let sample = |spectrum, a: Array| Sample::new(SpectralFrame::new("spectral", spectrum), &[a]);
        let (symmetric, singular) = (SpectralKind::Symmetric, SpectralKind::Singular);
        vec![
            sample(symmetric, numbers(1, &[3, 3])),
            sample(symmetric, numbers_f32(2, &[2, 2, 2])),
            sample(symmetric, numbers(3, &[0, 0])),
            sample(singular, numbers(4, &[3, 2])),
            sample(singular, numbers_f32(5, &[2, 1, 3])),
            sample(singular, numbers(6, &[2, 2, 0])),
        ]
    }
}

/// `spectral_vectors(frame)`: the numbers of some vectors of a frame, as columns.
///
/// They are a starting point and no result: a direction inside the space that a projector gives, which is the same number
/// whatever `A` does. So nothing flows back through them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SpectralVectors {
    /// Which rows of the frame the vectors are: those behind this many.
    pub skip: usize,
    /// The length of a vector.
    pub length: usize,
    /// The first vector.
    pub start: usize,
    /// The one behind the last vector.
    pub end: usize,
    /// The element type of the result.
    pub dtype: DType,
}

impl Primitive for SpectralVectors {
    fn name(&self) -> Cow<'static, str> {
        "spectral_vectors".into()
    }
    fn infer(&self, args: &[&Type]) -> Result<Vec<Type>, Misfit> {
        arity(args, 1)?;
        let [lead @ .., rows, columns] = &args[0].shape[..] else {
            misfit!("{} is no frame: it needs at least two axes", args[0]);
        };
        if args[0].dtype != DType::I64 || !self.dtype.is_float() {
            misfit!("it makes real numbers of i64, and not {} of {}", self.dtype, args[0].dtype);
        }
        if self.start > self.end || self.end > *columns || self.skip.saturating_add(self.length) > *rows {
            misfit!("a frame of {rows} by {columns} has no vectors {}..{} there", self.start, self.end);
        }
        Ok(vec![Type::new(self.dtype, &[lead, &[self.length, self.end - self.start]].concat())])
    }
    fn eval(&self, args: &[&Array]) -> Result<Vec<Array>, Misfit> {
        let out = self.infer(&[args[0].ty()])?.remove(0);
        let columns = args[0].shape()[args[0].shape().len() - 1];
        let rows = args[0].shape()[args[0].shape().len() - 2];
        let bits = args[0].known::<i64>();
        let mut numbers = Vec::with_capacity(out.size());
        for lane in 0..out.shape[..out.rank() - 2].iter().product::<usize>() {
            for row in self.skip..self.skip + self.length {
                let from = (lane * rows + row) * columns;
                let row = &bits[from + self.start..from + self.end];
                numbers.extend(row.iter().map(|&x| f64::from_bits(x.cast_unsigned())));
            }
        }
        Ok(vec![super::rounded(self.dtype, &out.shape, numbers)])
    }
    fn form(&self, _: &[&Type]) -> Form {
        Form::Kernel
    }
    fn linear_in(&self, _: usize) -> Vec<OperandSet> {
        Vec::new()
    }
    fn batch(&self, b: &mut Builder, args: &[Value], batched: &[bool], _: usize) -> Batched {
        Ok(vec![(b.op(*self, args), batched[0])])
    }
    fn attributes(&self) -> Attributes {
        let rows = Attributes::default().with("skip", self.skip).with("length", self.length);
        rows.with("start", self.start).with("end", self.end).with("dtype", self.dtype)
    }
}

impl Family for SpectralVectors {
    #[cfg(feature = "text")]
    fn parse(name: &str, fields: &mut Fields) -> Option<Result<Self, Misfit>> {
        (name == "spectral_vectors").then(|| {
            Ok(SpectralVectors {
                skip: fields.integer("skip")?,
                length: fields.integer("length")?,
                start: fields.integer("start")?,
                end: fields.integer("end")?,
                dtype: fields.dtype("dtype")?,
            })
        })
    }
    fn samples() -> Vec<Sample> {
        let frame = frame_of(&numbers(1, &[2, 3, 3]), SpectralKind::Symmetric);
        let one = SpectralVectors { skip: 1, length: 3, start: 1, end: 2, dtype: DType::F64 };
        vec![
            Sample::new(one, std::slice::from_ref(&frame)),
            Sample::new(SpectralVectors { dtype: DType::F32, start: 0, ..one }, std::slice::from_ref(&frame)),
            Sample::new(SpectralVectors { end: 1, ..one }, &[frame]),
        ]
    }
}

/// The frames of plain matrices, for samples.
pub(super) fn frame_of(a: &Array, spectrum: SpectralKind) -> Array {
    SpectralFrame::new("spectral", spectrum).eval(&[a]).expect("the matrices are finite").remove(0)
}
