//! Triangular systems.

use std::borrow::Cow;

use super::{
    Harmless, Matrices, dims, guarded, identity, kept, matrix, plain, product, sample, single, square, transposed,
    with_lane,
};
use crate::array::{Array, DType, Type};
use crate::error::{Misfit, misfit};
use crate::ops::Compare;
use crate::primitives::einsum::{rounded, widened};
#[cfg(feature = "text")]
use crate::primitives::parse::Fields;
use crate::primitives::{
    Attributes, Batched, Cotangent, Cotangents, Cumulative, Family, Form, MaskedCotangents, Operand, OperandSet,
    Primitive, Reaches, Running, Sample, Site, Tangents, arity,
};
use crate::program::{Builder, Value};
use crate::transform::mask_out;

/// On which side of the unknown a matrix stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Side {
    /// `T X = B`
    Left,
    /// `X T = B`
    Right,
}

/// Which half of a matrix is read, together with the diagonal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Triangle {
    /// On and below the diagonal.
    Lower,
    /// On and above the diagonal.
    Upper,
}

/// `triangular_solve(T, B) = X` with `op(T) X = B`, or `X op(T) = B`, where `op(T)` is a triangle of T, or its transpose.
///
/// The other half of T is never read, and the diagonal is not if it counts as 1 (`unit`): what stands there, NaN say, reaches
/// neither value nor derivative, whose part there is 0. Linear in B. A 0 on the diagonal is an error that names its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TriangularSolve {
    /// Where T stands.
    pub side: Side,
    /// Which half of T is read.
    pub triangle: Triangle,
    /// Whether that half is transposed.
    pub transpose: bool,
    /// Whether the diagonal counts as 1.
    pub unit: bool,
}

impl TriangularSolve {
    /// With this half as it is, and its diagonal.
    pub fn new(side: Side, triangle: Triangle) -> Self {
        TriangularSolve { side, triangle, transpose: false, unit: false }
    }

    /// Whether `op(T)` is lower triangular.
    fn is_lower(self) -> bool {
        (self.triangle == Triangle::Lower) != self.transpose
    }

    /// The places of T that are read.
    fn read(self) -> Compare {
        match (self.triangle, self.unit) {
            (Triangle::Lower, false) => Compare::Ge,
            (Triangle::Lower, true) => Compare::Gt,
            (Triangle::Upper, false) => Compare::Le,
            (Triangle::Upper, true) => Compare::Lt,
        }
    }

    /// What of T is read, transposed if it is.
    fn op_of(self, b: &mut Builder, t: Value) -> Value {
        let read = kept(b, t, self.read());
        if self.transpose { transposed(b, read) } else { read }
    }

    /// T without what only multiplies parts of a pulled cotangent that do not count, for any right-hand side: they are 0, and
    /// what they meet may be NaN, or a pivot of 0. Ones on the diagonal take its place.
    fn counting(self, b: &mut Builder, t: Value, mask: Value) -> Value {
        let (lead, ..) = dims(b, mask);
        let shape = b.shape(t).to_vec();
        let (across, by_rows) = match self.side {
            Side::Left => (lead + 1, !self.transpose),
            Side::Right => (lead, self.transpose),
        };
        let counts = b.any(mask, &[across]);
        let counts = b.spread(counts, &shape, &[if by_rows { lead + 1 } else { lead }]);
        let ty = b.ty(t).clone();
        let harmless = identity(b, &ty);
        b.select(counts, t, harmless)
    }

    /// Solves for one vector in place: the elements of `x` at `start`, `start + step`, …
    fn solve(self, t: &[f64], n: usize, x: &mut [f64], (start, step): (usize, usize)) {
        // With T on the right the rows of X are solutions of the transposed system.
        let flipped = self.transpose != (self.side == Side::Right);
        let forward = (self.triangle == Triangle::Lower) != flipped;
        let at = |i: usize, j: usize| if flipped { t[j * n + i] } else { t[i * n + j] };
        for k in 0..n {
            let i = if forward { k } else { n - 1 - k };
            let before = if forward { 0..i } else { i + 1..n };
            let sum: f64 = before.map(|j| at(i, j) * x[start + j * step]).sum();
            let rest = x[start + i * step] - sum;
            x[start + i * step] = if self.unit { rest } else { rest / at(i, i) };
        }
    }
}

impl Primitive for TriangularSolve {
    fn name(&self) -> Cow<'static, str> {
        "triangular_solve".into()
    }
    fn infer(&self, args: &[&Type]) -> Result<Vec<Type>, Misfit> {
        arity(args, 2)?;
        let (t, x) = (square(args[0])?, matrix(args[1])?);
        check_pair(args, t, x, self.side)?;
        Ok(vec![args[1].clone()])
    }
    fn eval(&self, args: &[&Array]) -> Result<Vec<Array>, Misfit> {
        let (t, b) = (Matrices::of(args[0]), Matrices::of(args[1]));
        let (n, size) = (t.rows, b.rows * b.columns);
        let mut x = widened(args[1]).into_owned();
        for k in 0..t.count() {
            let own = t.get(k);
            if size == 0 {
                continue;
            }
            if let Some(zero) = (0..n).find(|i| !self.unit && own[i * n + i] == 0.0) {
                misfit!("{}{}", plain::singular(zero), t.at(k));
            }
            let x = &mut x[k * size..(k + 1) * size];
            match self.side {
                Side::Left => (0..b.columns).for_each(|column| self.solve(own, n, x, (column, b.columns))),
                Side::Right => (0..b.rows).for_each(|row| self.solve(own, n, x, (row * n, 1))),
            }
        }
        Ok(vec![rounded(args[1].dtype(), args[1].shape(), x)])
    }
    fn form(&self, _: &[&Type]) -> Form {
        Form::Kernel
    }
    fn reach(&self, site: &Site) -> Reaches {
        super::matrix_by_matrix(site)
    }
    fn reaches_more(&self) -> Option<&'static str> {
        Some(super::WITHIN_MATRICES)
    }
    fn linear_in(&self, _: usize) -> Vec<OperandSet> {
        vec![vec![1]]
    }
    /// `X' = op(T)^-1 (B' - op(T') X)`
    fn jvp(&self, b: &mut Builder, args: &[Value], outs: &[Value], tangents: &[Option<Value>]) -> Tangents {
        let by_t = tangents[0].map(|t_dot| {
            let t_dot = self.op_of(b, t_dot);
            let moved = match self.side {
                Side::Left => product(b, t_dot, outs[0]),
                Side::Right => product(b, outs[0], t_dot),
            };
            b.neg(moved)
        });
        let right = b.add_present(by_t, tangents[1]);
        Ok(vec![right.map(|right| b.op(*self, &[args[0], right]))])
    }
    fn transpose(&self, b: &mut Builder, cotangents: &[Option<Value>], args: &[Operand]) -> Cotangents {
        let back = TriangularSolve { transpose: !self.transpose, ..*self };
        Ok(vec![None, cotangents[0].map(|ct| b.op(back, &[args[0].known(), ct]))])
    }
    /// What counts in the cotangent of an unknown counts in that of every right-hand side that it depends on.
    fn transpose_masked(
        &self,
        b: &mut Builder,
        cotangents: &[Option<Cotangent>],
        args: &[Operand],
    ) -> Option<MaskedCotangents> {
        let Cotangent { value, mask } = cotangents[0]?;
        let mask = mask?;
        let (lead, ..) = dims(b, value);
        let (axis, reverse) = match self.side {
            Side::Left => (lead, self.is_lower()),
            Side::Right => (lead + 1, !self.is_lower()),
        };
        let count = b.convert(mask, DType::I64);
        let count = b.op(Cumulative::new(Running::Max, axis, reverse), &[count]);
        let zero = b.zeros_like(count);
        let mask = b.op(Compare::Gt, &[count, zero]);
        let t = self.counting(b, args[0].known(), mask);
        let pulled = self.transpose(b, &[Some(value)], &[Operand::Known(t), args[1].clone()]);
        Some(pulled.map(|mut pulled| {
            // What does not count in one column may have met NaN in a row of T that counts for another.
            let value = pulled.remove(1).map(|value| mask_out(b, mask, value));
            vec![None, value.map(|value| Cotangent { value, mask: Some(mask) })]
        }))
    }
    fn batch(&self, b: &mut Builder, args: &[Value], batched: &[bool], length: usize) -> Batched {
        let &[false, true] = batched else { return with_lane(*self, b, args, batched, length) };
        // One matrix for all lanes: their right-hand sides stand beside each other.
        let (lead, rows, columns) = dims(b, args[1]);
        let batch: Vec<usize> = b.shape(args[1])[1..lead].to_vec();
        let side = match self.side {
            Side::Left => lead,
            Side::Right => lead - 1,
        };
        let moved = b.move_axis(args[1], 0, side);
        let joined = match self.side {
            Side::Left => [rows, length * columns],
            Side::Right => [length * rows, columns],
        };
        let apart = b.shape(moved).to_vec();
        let joined = b.reshape(moved, &[&batch[..], &joined].concat());
        let x = b.op(*self, &[args[0], joined]);
        let x = b.reshape(x, &apart);
        Ok(vec![(b.move_axis(x, side, 0), true)])
    }
    fn batch_masked(
        &self,
        b: &mut Builder,
        args: &[Value],
        batched: &[bool],
        length: usize,
        mask: Value,
    ) -> Option<Batched> {
        Some(guarded(*self, b, args, batched, (length, mask), &[(0, Harmless::Identity)]))
    }
    fn gives_up(&self) -> bool {
        true
    }
    fn attributes(&self) -> Attributes {
        let side = SIDES.iter().find(|(_, side)| *side == self.side).expect("every side has a name").0;
        let triangle = TRIANGLES.iter().find(|(_, half)| *half == self.triangle).expect("every half has a name").0;
        let options = Attributes::default().with("side", side).with("triangle", triangle);
        options.with("transpose", self.transpose).with("unit", self.unit)
    }
}

/// Checks a square matrix and another one beside it.
pub(super) fn check_pair(
    args: &[&Type],
    (lead, n): (&[usize], usize),
    (other, rows, columns): (&[usize], usize, usize),
    side: Side,
) -> Result<(), Misfit> {
    if args[0].dtype != args[1].dtype {
        misfit!("the element types differ; convert one of them first");
    }
    if lead != other {
        misfit!("the axes before the matrices are {lead:?} in one and {other:?} in the other");
    }
    match side {
        Side::Left if rows != n => misfit!("the matrix is {n} by {n}, and the right-hand side has {rows} rows"),
        Side::Right if columns != n => {
            misfit!("the matrix is {n} by {n}, and the right-hand side has {columns} columns")
        }
        _ => Ok(()),
    }
}

const SIDES: [(&str, Side); 2] = [("left", Side::Left), ("right", Side::Right)];
const TRIANGLES: [(&str, Triangle); 2] = [("lower", Triangle::Lower), ("upper", Triangle::Upper)];

impl Family for TriangularSolve {
    #[cfg(feature = "text")]
    fn parse(name: &str, fields: &mut Fields) -> Option<Result<Self, Misfit>> {
        let read = || {
            Ok(TriangularSolve {
                side: fields.one_of("side", &SIDES)?,
                triangle: fields.one_of("triangle", &TRIANGLES)?,
                transpose: fields.flag("transpose")?,
                unit: fields.flag("unit")?,
            })
        };
        (name == "triangular_solve").then(read)
    }
    fn samples() -> Vec<Sample> {
        use crate::primitives::sample::numbers;
        let mut samples = Vec::new();
        let matrix = sample(1, &[3, 3], &[4.0, -5.0, 3.5]);
        for (seed, (triangle, transpose)) in
            [(Triangle::Lower, false), (Triangle::Lower, true), (Triangle::Upper, false), (Triangle::Upper, true)]
                .into_iter()
                .enumerate()
        {
            let seed = seed as u64;
            let left = TriangularSolve { transpose, ..TriangularSolve::new(Side::Left, triangle) };
            let right = TriangularSolve { side: Side::Right, unit: transpose, ..left };
            samples.push(Sample::new(left, &[matrix.clone(), numbers(seed + 2, &[3, 2])]));
            samples.push(Sample::new(right, &[matrix.clone(), numbers(seed + 3, &[2, 3])]));
            samples.push(Sample::new(
                TriangularSolve { unit: !transpose, ..left },
                &[sample(seed, &[2, 2, 2], &[3.0]), numbers(seed + 4, &[2, 2, 1])],
            ));
        }
        let plain = TriangularSolve::new(Side::Left, Triangle::Lower);
        samples.push(Sample::new(plain, &[single(&matrix), single(&numbers(7, &[3, 2]))]));
        samples.push(Sample::new(plain, &[sample(1, &[1, 1], &[3.0]), numbers(2, &[1, 1])]));
        samples.push(Sample::new(plain, &[sample(1, &[0, 0], &[3.0]), numbers(2, &[0, 2])]));
        samples.push(Sample::new(plain, &[sample(1, &[2, 2], &[3.0]), numbers(2, &[2, 0])]));
        samples
    }
}
