//! Matrix functions, and their derivatives of every order.

use std::borrow::Cow;

use super::spectral_core::{self, Coordinates, Local};
use super::spectral_frame::{Frame, Frames, Matrices, SpectralKind, frame_of};
use super::spectral_function::{Infinite, SpectralFunction, SpectralPart};
use super::spectral_series::Differences;
use super::{rounded, widened, widened_bytes};
use crate::array::{Array, Type};
use crate::error::{Error, ErrorKind, Misfit, misfit};
use crate::ops::Unary;
#[cfg(feature = "text")]
use crate::primitives::parse::Fields;
use crate::primitives::sample::{numbers, numbers_f32};
use crate::primitives::{
    Attributes, Batched, Cotangent, Cotangents, Family, Form, MaskedCotangents, Op, Operand, OperandSet, Primitive,
    Reaches, Sample, Site, Tangents,
};
use crate::program::{Builder, Value};

/// `spectral_map(A, frame, E_1, …, E_k)`: the k-th Fréchet derivative of a matrix function,
/// `D^k h(A)[E_1, …, E_k]`, of the type of `A`; of order 0 `h(A)` itself.
///
/// For eigenvalues `h(A) = V h(Λ) V^T` of `(A + A^T)/2 = V Λ V^T`, and the directions are read as `(E + E^T)/2`; for singular
/// values `h(A) = U h(Σ) V^T` of `A = U Σ V^T`. It is computed by divided differences, which have limits, and so it is exact
/// where values repeat. It is linear in each direction. Its derivative in `A` is that of order `k + 1`; and as
/// `<C, D^k h(A)[E_1, …, E_k]>` does not change when `C` and a direction change places, its transpose in a direction is the
/// same operation with the cotangent in that place. So all modes and orders stay in this family.
///
/// The frame holds the eigenvectors, so that they are found once for all of it; see [`SpectralFrame`](super::SpectralFrame).
/// An entry that is not finite, a part whose border is no gap, and a value at which the function (or its derivative of order k)
/// is not finite are errors.
///
/// Source of the method: Yu. L. Daleckii and S. G. Krein, *Integration and differentiation of functions of Hermitian
/// operators* (1965); N. J. Higham, *Functions of Matrices* (2008); V. Noferini (2017) for singular values.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SpectralMap {
    /// The operation that errors name.
    pub name: String,
    /// Of which values.
    pub spectrum: SpectralKind,
    /// The function.
    pub function: SpectralFunction,
    /// How many directions there are.
    pub order: usize,
}

// ---- what the family shares ---------------------------------------------------------------------

/// Checks matrices, their frames, and directions of the type of the matrices.
pub(super) fn check_operands(
    args: &[&Type],
    spectrum: SpectralKind,
    own: usize,
    directions: usize,
) -> Result<Matrices, Misfit> {
    if args.len() != 2 + own + directions {
        misfit!("it takes {} operands, and got {}", 2 + own + directions, args.len());
    }
    let of = Matrices::of(args[0], spectrum)?;
    of.check_frame(spectrum, args[1])?;
    match args[2 + own..].iter().find(|ty| **ty != args[0]) {
        None => Ok(of),
        Some(ty) => misfit!("a direction is {ty}, and has to be {} as the matrix is", args[0]),
    }
}

/// Runs a computation for each matrix with its frame; lanes that do not count are zeros.
pub(super) fn for_each_matrix(
    args: &[&Array],
    spectrum: SpectralKind,
    out: &[usize],
    mut run: impl FnMut(usize, &Frame) -> Result<Vec<f64>, Misfit>,
) -> Result<Array, Misfit> {
    let frames = Frames::new(args[0], args[1], spectrum);
    let size: usize = out.iter().product();
    let mut all = Vec::with_capacity(size * frames.of.count());
    for lane in 0..frames.of.count() {
        match frames.get(lane)? {
            None => all.extend(std::iter::repeat_n(0.0, size)),
            Some(frame) => all.extend(run(lane, &frame).map_err(|why| Misfit(why.0 + &frames.of.at(lane)))?),
        }
    }
    Ok(rounded(args[0].dtype(), &frames.of.shape(out), all))
}

/// Bytes of a frame as it is read, and of the operands in double precision.
pub(super) fn frame_bytes(args: &[&Type], spectrum: SpectralKind) -> usize {
    let numbers = Matrices::of(args[0], spectrum).map_or(0, |of| of.frame(spectrum).size() / of.count().max(1));
    widened_bytes(args) + 2 * numbers * size_of::<f64>()
}

/// The part of each operand that belongs to a matrix.
pub(super) fn lanes<'a>(args: &'a [&Array], of: &Matrices) -> Vec<Vec<Cow<'a, [f64]>>> {
    let whole: Vec<Cow<'a, [f64]>> = args.iter().map(|arg| widened(arg)).collect();
    let part = |x: &Cow<'a, [f64]>, lane: usize| {
        let size = x.len() / of.count();
        match x {
            Cow::Borrowed(x) => Cow::Borrowed(&x[lane * size..][..size]),
            Cow::Owned(x) => Cow::Owned(x[lane * size..][..size].to_vec()),
        }
    };
    (0..of.count()).map(|lane| whole.iter().map(|x| part(x, lane)).collect()).collect()
}

/// The operation on operands of which some are batched.
pub(super) fn with_lane(
    op: impl Into<Op>,
    b: &mut Builder,
    args: &[Value],
    batched: &[bool],
    length: usize,
) -> Batched {
    if !batched.contains(&true) {
        return Ok(vec![(b.op(op, args), false)]);
    }
    let args = b.batch_all(args, batched, length);
    Ok(vec![(b.op(op, &args), true)])
}

/// The transpose where cotangents may be masked: a matrix counts whole if anything that is computed from it does, and the
/// others get a frame of zeros, at which nothing fails and all is 0.
pub(super) fn pulled_masked(
    op: &dyn Primitive,
    b: &mut Builder,
    cotangents: &[Option<Cotangent>],
    args: &[Operand],
) -> MaskedCotangents {
    let Some(ct) = cotangents[0] else { return Ok(vec![None; args.len()]) };
    let Some(mask) = ct.mask else {
        let pulled = op.transpose(b, &[Some(ct.value)], args)?;
        return Ok(pulled.into_iter().map(|ct| ct.map(|value| Cotangent { value, mask: None })).collect());
    };
    let rank = b.shape(mask).len();
    let lead = args[0].ty(b).rank() - 2;
    let counts = b.any(mask, &(lead..rank).collect::<Vec<usize>>());
    let over = |b: &mut Builder, shape: &[usize]| b.spread(counts, shape, &(lead..shape.len()).collect::<Vec<usize>>());
    let frame = args[1].known();
    let shape = b.shape(frame).to_vec();
    let (kept, zero) = (over(b, &shape), b.zeros_like(frame));
    let mut operands = args.to_vec();
    operands[1] = Operand::Known(b.select(kept, frame, zero));
    let pulled = op.transpose(b, &[Some(ct.value)], &operands)?;
    let mut masked = Vec::with_capacity(pulled.len());
    for value in pulled {
        masked.push(value.map(|value| {
            let shape = b.shape(value).to_vec();
            Cotangent { value, mask: Some(over(b, &shape)) }
        }));
    }
    Ok(masked)
}

/// The operands with another value in one place, all others known.
pub(super) fn with_known(args: &[Operand], place: usize, value: Value) -> Vec<Value> {
    args.iter().enumerate().map(|(k, arg)| if k == place { value } else { arg.known() }).collect()
}

/// The tangent of an operation that is linear in every operand behind the frame, and whose derivative in the matrix is the
/// next one with one direction more.
pub(super) fn derived(b: &mut Builder, [own, next]: [Op; 2], args: &[Value], tangents: &[Option<Value>]) -> Tangents {
    let mut total = tangents[0].map(|tangent| b.op(next, &[args, &[tangent]].concat()));
    for k in 2..args.len() {
        if let Some(tangent) = tangents[k] {
            let mut operands = args.to_vec();
            operands[k] = tangent;
            let part = b.op(own.clone(), &operands);
            total = b.add_present(total, Some(part));
        }
    }
    Ok(vec![total])
}

/// The place of the one linear operand.
pub(super) fn linear_place(args: &[Operand]) -> usize {
    args.iter().position(Operand::is_linear).expect("one operand is linear")
}

/// An error of an operation of this name on matrices of this type.
pub(super) fn failed(name: &str, why: Misfit, args: &[&Type]) -> Error {
    Error::new(ErrorKind::Run, name, why.0).of(args.iter().copied().take(1))
}

// ---- the operation ------------------------------------------------------------------------------

impl SpectralMap {
    /// A matrix function.
    pub fn new(name: &str, spectrum: SpectralKind, function: SpectralFunction) -> Self {
        SpectralMap { name: name.to_owned(), spectrum, function, order: 0 }
    }

    /// The derivative of one matrix.
    fn of(&self, frame: &Frame, directions: &[&[f64]]) -> Result<Vec<f64>, Misfit> {
        let h = Differences::new(&self.function.program, self.function.derivative);
        // A function of part of the singular values is continued by a formula of its own.
        let mirrored = if self.function.part == SpectralPart::All { 1 } else { 2 };
        let counts = self.function.counts(frame, self.order)?;
        let frame = &*self.function.defined(&h, frame, &counts, (self.order, Infinite::Refused))?;
        let labels: Vec<[usize; 2]> =
            counts.iter().map(|&counts| if counts { [1, mirrored] } else { [0, 0] }).collect();
        let coordinates = Coordinates::new(frame, &labels, directions, self.order);
        let h = h.in_unit(coordinates.units().of_matrix());
        let local = |label: usize| if label == 1 { Local::Formula(&h) } else { Local::Mirrored(&h) };
        let derivative = coordinates.assembled(&coordinates.derivative(&local));
        Ok(derivative.into_iter().map(|x| coordinates.units().told(x, self.order)).collect())
    }
}

impl Primitive for SpectralMap {
    fn name(&self) -> Cow<'static, str> {
        "spectral_map".into()
    }
    fn infer(&self, args: &[&Type]) -> Result<Vec<Type>, Misfit> {
        let of = check_operands(args, self.spectrum, 0, self.order)?;
        self.function.check(self.spectrum, of.values())?;
        Ok(vec![args[0].clone()])
    }
    fn eval(&self, args: &[&Array]) -> Result<Vec<Array>, Misfit> {
        let of = Matrices::of(args[0].ty(), self.spectrum)?;
        let directions = lanes(&args[2..], &of);
        let result = for_each_matrix(args, self.spectrum, &[of.rows, of.columns], |lane, frame| {
            self.of(frame, &directions[lane].iter().map(|e| &e[..]).collect::<Vec<&[f64]>>())
        });
        Ok(vec![result?])
    }
    fn defined_bytes(&self, args: &[&Type]) -> usize {
        let own = |of: Matrices| spectral_core::bytes(self.spectrum, [of.rows, of.columns], self.order);
        widened_bytes(args) + widened_bytes(&args[..1]) + Matrices::of(args[0], self.spectrum).map_or(0, own)
    }
    fn failure(&self, why: Misfit, args: &[&Type]) -> Error {
        failed(&self.name, why, args)
    }
    fn form(&self, _: &[&Type]) -> Form {
        Form::Kernel
    }
    fn reach(&self, site: &Site) -> Reaches {
        super::matrix_by_matrix(site)
    }
    fn linear_in(&self, args: usize) -> Vec<OperandSet> {
        (2..args).map(|k| vec![k]).collect()
    }
    fn jvp(&self, b: &mut Builder, args: &[Value], _: &[Value], tangents: &[Option<Value>]) -> Tangents {
        let next = SpectralMap { order: self.order + 1, ..self.clone() };
        derived(b, [self.clone().into(), next.into()], args, tangents)
    }
    fn transpose(&self, b: &mut Builder, cotangents: &[Option<Value>], args: &[Operand]) -> Cotangents {
        let place = linear_place(args);
        let mut pulled = vec![None; args.len()];
        pulled[place] = cotangents[0].map(|ct| b.op(self.clone(), &with_known(args, place, ct)));
        Ok(pulled)
    }
    fn transpose_masked(
        &self,
        b: &mut Builder,
        cotangents: &[Option<Cotangent>],
        args: &[Operand],
    ) -> Option<MaskedCotangents> {
        Some(pulled_masked(self, b, cotangents, args))
    }
    fn batch(&self, b: &mut Builder, args: &[Value], batched: &[bool], length: usize) -> Batched {
        with_lane(self.clone(), b, args, batched, length)
    }
    fn harmless(&self) -> Vec<(usize, f64)> {
        vec![(1, 0.0)]
    }
    fn gives_up(&self) -> bool {
        true
    }
    fn attributes(&self) -> Attributes {
        let own = Attributes::default().with("name", self.name.clone()).with("of", self.spectrum.word());
        self.function.with_attributes(own).with("order", self.order)
    }
}

impl Family for SpectralMap {
    #[cfg(feature = "text")]
    fn parse(name: &str, fields: &mut Fields) -> Option<Result<Self, Misfit>> {
        (name == "spectral_map").then(|| {
            Ok(SpectralMap {
                name: fields.word("name")?,
                spectrum: fields.one_of("of", &SpectralKind::WORDS)?,
                function: SpectralFunction::read(fields)?,
                order: fields.integer("order")?,
            })
        })
    }
    fn samples() -> Vec<Sample> {
        let sample = |spectrum, function: SpectralFunction, a: Array, order: usize| {
            let op = SpectralMap { order, ..SpectralMap::new("map", spectrum, function) };
            let frame = frame_of(&a, spectrum);
            let direction = |k: usize| match a.dtype() {
                crate::array::DType::F32 => numbers_f32(20 + k as u64, a.shape()),
                _ => numbers(20 + k as u64, a.shape()),
            };
            let directions: Vec<Array> = (0..order).map(direction).collect();
            Sample::new(op, &[&[a, frame][..], &directions[..]].concat())
        };
        let (symmetric, singular) = (SpectralKind::Symmetric, SpectralKind::Singular);
        let sine = |part| SpectralFunction::of(Unary::Sin, part);
        let range = |start, end| SpectralPart::Range { start, end };
        vec![
            sample(symmetric, sine(SpectralPart::All), numbers(1, &[3, 3]), 0),
            sample(symmetric, sine(SpectralPart::All), repeated(), 0),
            sample(symmetric, sine(SpectralPart::All), repeated(), 1),
            sample(symmetric, sine(SpectralPart::All), numbers_f32(2, &[2, 2, 2]), 1),
            sample(symmetric, sine(SpectralPart::All).differentiated(), numbers(3, &[2, 2]), 2),
            sample(symmetric, SpectralFunction::one(range(0, 2)), repeated(), 0),
            sample(symmetric, sine(range(1, 2)), numbers(4, &[2, 2]), 1),
            sample(symmetric, sine(SpectralPart::All), numbers(5, &[0, 0]), 0),
            sample(singular, sine(SpectralPart::All), numbers(6, &[3, 2]), 0),
            sample(singular, sine(SpectralPart::All), numbers(7, &[2, 2]), 1),
            sample(singular, SpectralFunction::one(SpectralPart::Positive), numbers(8, &[2, 3]), 0),
            sample(singular, SpectralFunction::one(range(0, 1)), numbers(9, &[2, 2, 2]), 1),
            sample(singular, SpectralFunction::of(Unary::Recip, SpectralPart::Rank), numbers_f32(10, &[3, 2]), 0),
            sample(singular, SpectralFunction::identity(SpectralPart::All), numbers(11, &[2, 0]), 0),
        ]
    }
}

/// A matrix with the eigenvalues -1, -1, 2, of whose functions no number is small beside the others.
pub(super) fn repeated() -> Array {
    Array::new(&[3, 3], vec![0.0, 1.0, 1.0, 1.0, 0.0, 1.0, 1.0, 1.0, 0.0])
}
