//! Bands: what depends on one seed for each of its numbers, at a fixed distance.
//!
//! A slice of a diagonal is a band beside it, and a stencil, a sum of shifted slices, has one for each of them. As long
//! as a tangent is a few bands these are carried, as vectors, and its matrix is zeros into which they are written at the
//! end: what is computed is proportional to the bands, as if one seed were followed for every band of the matrix (Curtis,
//! Powell and Reid, On the estimation of sparse Jacobian matrices, 1974), without a search for them.

use super::Seeded;
use super::terms::{Place, Term, TermOperand, elementwise, mapped, numbers};
use crate::array::Type;
use crate::ops::Binary;
use crate::primitives::{Concat, Op, Pad, Slice, Update, Write};
use crate::program::{Builder, Eqn, Program, Value};

/// In row-major order: the k-th number of a value is the seed with the number `k + place` times the k-th of `scale`.
pub(super) type Band = Term<isize>;

impl Place for isize {
    fn arrange(places: &mut Vec<isize>) {
        places.sort_unstable();
        places.dedup();
    }
}

impl Band {
    /// What depends on the seeds one by one.
    pub(super) const DIAGONAL: Band = Term { place: 0, scale: None };

    /// The number of the seed on which a number depends.
    pub(super) fn seed(&self, k: usize, seeds: usize) -> Option<usize> {
        k.checked_add_signed(self.place).filter(|&seed| seed < seeds)
    }
}

/// How many bands are carried at most.
const MAX_BANDS: usize = 16;

/// Whether carrying this many bands costs less than the matrix.
fn pays(count: usize, seeds: usize) -> bool {
    count == 1 || (count <= MAX_BANDS && count <= seeds)
}

/// The result of an equation some of whose operands are bands, if it is bands too.
pub(super) fn push(
    b: &mut Builder,
    program: &Program,
    eqn: &Eqn,
    operands: &[Seeded],
    seeds: usize,
) -> Option<Vec<Band>> {
    use Seeded::{Bands, Known};
    let ty = program.ty(eqn.first);
    if let Some(bands) = sides(&eqn.op, operands, ty).and_then(|sides| elementwise(b, &eqn.op, &sides, ty)) {
        return pays(bands.len(), seeds).then_some(bands);
    }
    let bands = match (&eqn.op, operands) {
        (Op::Reshape(_), [Bands(bands)]) => mapped(bands, |scale| Some(b.reshape(scale?, &ty.shape))),
        (Op::Slice(slice), [Bands(bands)]) => {
            let first = run(slice, &program.ty(eqn.args[0]).shape)?.cast_signed();
            let cut = |b: &mut Builder, scale: Option<Value>| Some(b.op(slice.clone(), &[scale?]));
            bands.iter().map(|band| Term { place: band.place + first, scale: cut(b, band.scale) }).collect()
        }
        (Op::Pad(pad), [Bands(bands), Seeded::Zero]) => padded(b, program, eqn, pad, bands)?,
        (Op::Pad(pad), [Bands(bands), Known(fill)]) if b.is_zero(*fill) => padded(b, program, eqn, pad, bands)?,
        (Op::Concat(concat), parts) => joined(b, program, eqn, *concat, parts, seeds)?,
        _ => return None,
    };
    pays(bands.len(), seeds).then_some(bands)
}

/// The operands of an operation that works number by number, where each is bands, known or zero.
fn sides(op: &Op, operands: &[Seeded], ty: &Type) -> Option<Vec<TermOperand<isize>>> {
    let side = |operand: &Seeded| match operand {
        Seeded::Bands(bands) => Some(TermOperand::Terms(bands.clone())),
        Seeded::Apart(parts) if matches!(op, Op::Binary(Binary::Add | Binary::Sub)) => {
            single(parts, ty).map(TermOperand::Terms)
        }
        Seeded::Known(value) => Some(TermOperand::Known(*value)),
        Seeded::Zero => Some(TermOperand::Zero),
        Seeded::Apart(_) | Seeded::Layers(_) | Seeded::Dense(_) => None,
    };
    operands.iter().map(side).collect()
}

/// What depends on single seeds as bands, if it is a single number: the number 0 depends on the seed that is so far from it.
fn single(parts: &[(usize, Option<Value>)], ty: &Type) -> Option<Vec<Band>> {
    let band = |&(seed, scale): &(usize, Option<Value>)| Term { place: seed.cast_signed(), scale };
    (ty.size() == 1).then(|| parts.iter().map(band).collect())
}

/// The bands of an operand of this type that is bands, zero, or a single number.
fn side(b: &Builder, operand: &Seeded, ty: &Type) -> Option<Vec<Band>> {
    match operand {
        Seeded::Bands(bands) => Some(bands.clone()),
        Seeded::Apart(parts) => single(parts, ty),
        Seeded::Zero => Some(Vec::new()),
        Seeded::Known(value) if b.is_zero(*value) => Some(Vec::new()),
        Seeded::Known(_) | Seeded::Layers(_) | Seeded::Dense(_) => None,
    }
}

/// Where a slice begins that is one run of numbers in row-major order.
fn run(slice: &Slice, shape: &[usize]) -> Option<usize> {
    let longest = shape.iter().position(|&length| length != 1).unwrap_or(0);
    let whole = |axis: usize| (slice.start[axis], slice.limit[axis], slice.stride[axis]) == (0, shape[axis], 1);
    let is_run = (0..shape.len()).all(|axis| axis == longest || whole(axis));
    let step = slice.stride.get(longest).is_none_or(|&stride| stride == 1);
    (is_run && step).then(|| slice.start.get(longest).map_or(0, |start| start * inner(shape, longest)))
}

/// How many numbers come before those of an operand that is padded along its longest axis, the first that has several.
fn padding(pad: &Pad, shape: &[usize]) -> Option<isize> {
    let longest = shape.iter().position(|&length| length != 1).unwrap_or(0);
    let whole = |axis: usize| (pad.low[axis], pad.high[axis]) == (0, 0);
    let is_run = (0..shape.len()).all(|axis| pad.interior[axis] == 0 && (axis == longest || whole(axis)));
    let before = |low: i64| isize::try_from(low).ok()?.checked_mul(inner(shape, longest).cast_signed());
    if is_run { before(pad.low.get(longest).copied().unwrap_or(0)) } else { None }
}

/// The numbers for one index of an axis.
fn inner(shape: &[usize], axis: usize) -> usize {
    shape.iter().skip(axis + 1).product()
}

/// Bands with zeros before and after their numbers.
fn padded(b: &mut Builder, program: &Program, eqn: &Eqn, pad: &Pad, bands: &[Band]) -> Option<Vec<Band>> {
    let whole = program.ty(eqn.args[0]);
    let first = padding(pad, &whole.shape)?;
    let zero = b.full(0.0, &whole.with_shape(Vec::new()));
    let wider = |band: &Band| {
        let scale = numbers(b, band.scale, whole);
        Term { place: band.place - first, scale: Some(b.op(pad.clone(), &[scale, zero])) }
    };
    Some(bands.iter().map(wider).collect())
}

/// Bands and zeros joined so that their numbers follow each other.
fn joined(
    b: &mut Builder,
    program: &Program,
    eqn: &Eqn,
    op: Concat,
    parts: &[Seeded],
    seeds: usize,
) -> Option<Vec<Band>> {
    let ty = program.ty(eqn.first);
    if ty.shape[..op.axis].iter().any(|&length| length != 1) {
        return None;
    }
    let mut first = 0;
    let mut shifted: Vec<Vec<Band>> = Vec::with_capacity(parts.len());
    for (part, arg) in parts.iter().zip(&eqn.args) {
        let own = side(b, part, program.ty(*arg))?;
        shifted.push(own.iter().map(|band| Term { place: band.place - first, ..*band }).collect());
        first += program.ty(*arg).size().cast_signed();
    }
    let mut offsets: Vec<isize> = shifted.iter().flatten().map(|band| band.place).collect();
    offsets.sort_unstable();
    offsets.dedup();
    if !pays(offsets.len(), seeds) {
        return None;
    }
    let mut band = |offset: isize| {
        let pieces: Vec<Value> = shifted
            .iter()
            .zip(&eqn.args)
            .map(|(own, arg)| match own.iter().find(|band| band.place == offset) {
                Some(band) => numbers(b, band.scale, program.ty(*arg)),
                None => b.full(0.0, program.ty(*arg)),
            })
            .collect();
        Term { place: offset, scale: Some(b.op(op, &pieces)) }
    };
    Some(offsets.into_iter().map(&mut band).collect())
}

/// Which axis of a matrix of bands lies in front in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Front {
    /// That of the seeds.
    Seeds,
    /// Those of the value.
    Value,
}

/// The matrix with an axis of seeds in front: zeros, and each band written into them.
pub(super) fn matrix(b: &mut Builder, bands: &[Band], ty: &Type, seeds: usize, front: Front) -> Value {
    let size = ty.size();
    let mut flat = b.full(0.0, &ty.with_shape(vec![seeds * size]));
    for band in bands {
        // The numbers that have a seed.
        let low = band.place.min(0).unsigned_abs();
        let high = size.min(seeds.saturating_add_signed(-band.place));
        if low >= high {
            continue;
        }
        let seed = low.strict_add_signed(band.place);
        // From each to the next, one row and one column on.
        let (start, stride) = match front {
            Front::Seeds => (seed * size + low, size + 1),
            Front::Value => (low * seeds + seed, seeds + 1),
        };
        let scale = numbers(b, band.scale, ty);
        let scale = b.reshape(scale, &[size]);
        let scale = b.op(Slice::along(&[size], 0, low, high), &[scale]);
        flat = b.op(Update { start: vec![start], stride: vec![stride], write: Write::Set }, &[flat, scale]);
    }
    match front {
        Front::Seeds => b.reshape(flat, &[&[seeds], &ty.shape[..]].concat()),
        Front::Value => {
            let matrix = b.reshape(flat, &[&ty.shape[..], &[seeds]].concat());
            b.move_axis(matrix, ty.shape.len(), 0)
        }
    }
}
