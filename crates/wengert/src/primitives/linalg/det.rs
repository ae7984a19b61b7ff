//! Determinants, with a derivative at singular matrices too.

use std::borrow::Cow;

use super::minors::{BY_MINORS, moved_by_minors};
use super::{
    Harmless, Matrices, as_rows, contract, diagonal, dims, guarded, kept, plain, product, product_nt, product_tn,
    sample, single, square, transposed, with_lane,
};
use crate::array::{Array, DType, Type};
use crate::error::{Misfit, misfit};
use crate::ops::{Compare, Logic, Unary};
use crate::primitives::einsum::rounded;
#[cfg(feature = "text")]
use crate::primitives::parse::Fields;
use crate::primitives::{
    Batched, Broadcast, Family, Form, Iota, MatrixKind, MatrixSolve, OperandSet, Primitive, Reaches, Reduce, Reducer,
    Sample, Site, Svd, Tangents, arity,
};
use crate::program::{Builder, Value};

/// `det(A)`; 1 of an empty matrix. Its derivative is the matrix of cofactors, which exists at singular matrices too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Det;

impl Primitive for Det {
    fn name(&self) -> Cow<'static, str> {
        "det".into()
    }
    fn infer(&self, args: &[&Type]) -> Result<Vec<Type>, Misfit> {
        arity(args, 1)?;
        Ok(vec![args[0].with_shape(square(args[0])?.0.to_vec())])
    }
    fn eval(&self, args: &[&Array]) -> Result<Vec<Array>, Misfit> {
        let a = Matrices::of(args[0]);
        let dets: Result<Vec<f64>, Misfit> = (0..a.count()).map(|k| Ok(plain::det(a.finite(k)?, a.rows))).collect();
        Ok(vec![rounded(args[0].dtype(), &a.shape(&[]), dets?)])
    }
    fn form(&self, _: &[&Type]) -> Form {
        Form::Kernel
    }
    fn reach(&self, site: &Site) -> Reaches {
        super::matrix_by_matrix(site)
    }
    fn linear_in(&self, _: usize) -> Vec<OperandSet> {
        Vec::new()
    }
    fn jvp(&self, b: &mut Builder, args: &[Value], _: &[Value], tangents: &[Option<Value>]) -> Tangents {
        let Some(a_dot) = tangents[0] else { return Ok(vec![None]) };
        let cofactors = b.op(Cofactor, args);
        Ok(vec![Some(contract(b, ["ij", "ij", ""], cofactors, a_dot))])
    }
    fn batch(&self, b: &mut Builder, args: &[Value], batched: &[bool], length: usize) -> Batched {
        with_lane(*self, b, args, batched, length)
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
}

impl Family for Det {
    #[cfg(feature = "text")]
    fn parse(name: &str, _: &mut Fields) -> Option<Result<Self, Misfit>> {
        (name == "det").then_some(Ok(Det))
    }
    fn samples() -> Vec<Sample> {
        let square = sample(1, &[3, 3], &[4.0, -7.0, 11.0]);
        vec![
            Sample::new(Det, std::slice::from_ref(&square)),
            Sample::new(Det, &[single(&square)]),
            Sample::new(Det, &[sample(2, &[1, 1], &[-3.0])]),
            Sample::new(Det, &[sample(3, &[2, 2, 2], &[3.0, 8.0])]),
            Sample::new(Det, &[sample(4, &[0, 0], &[5.0])]),
            // A row twice.
            Sample::new(Det, &[Array::new(&[2, 2], vec![1.5, -2.0, 1.5, -2.0])]),
        ]
    }
}

/// The matrix of cofactors: the derivative of [`Det`], and `det(A) A^-T` where A is not singular.
///
/// Small matrices have it by their minors, and well-conditioned ones by the inverse. With `A = U diag(s) V^T` it is
/// `det(U V^T) U diag(c) V^T`, where c holds the products of all other singular values (G. W. Stewart, *On the adjugate matrix*,
/// 1998). It has a derivative everywhere, small matrices of every order. A second one others have where A is well-conditioned, or the
/// singular values differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Cofactor;

impl Primitive for Cofactor {
    fn name(&self) -> Cow<'static, str> {
        "cofactor".into()
    }
    fn infer(&self, args: &[&Type]) -> Result<Vec<Type>, Misfit> {
        arity(args, 1)?;
        square(args[0])?;
        Ok(vec![args[0].clone()])
    }
    fn eval(&self, args: &[&Array]) -> Result<Vec<Array>, Misfit> {
        let a = Matrices::of(args[0]);
        let n = a.rows;
        let mut cofactors = Vec::with_capacity(args[0].size());
        for k in 0..a.count() {
            let Some(own) = plain::cofactors(a.finite(k)?, n) else { misfit!("the rotations do not end{}", a.at(k)) };
            cofactors.extend(own);
        }
        Ok(vec![rounded(args[0].dtype(), args[0].shape(), cofactors)])
    }
    /// Of one matrix at a time, its singular vectors by rotations, and a few lists as long as its side: those of a singular matrix, of
    /// which some are completed. By its minors or its inverse a matrix takes less.
    fn defined_bytes(&self, args: &[&Type]) -> usize {
        2 * super::widened_bytes(args) + super::squares_bytes(args[0], 6) + super::sides_bytes(args[0], 12)
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
        Vec::new()
    }
    /// By minors of small matrices, by the inverse of a well-conditioned one, and by singular values of the others.
    fn jvp(&self, b: &mut Builder, args: &[Value], _: &[Value], tangents: &[Option<Value>]) -> Tangents {
        let Some(a_dot) = tangents[0] else { return Ok(vec![None]) };
        if b.ty(a_dot).size() == 0 {
            return Ok(vec![Some(b.zeros_like(a_dot))]);
        }
        if dims(b, a_dot).1 <= BY_MINORS {
            return Ok(vec![Some(moved_by_minors(b, args[0], a_dot))]);
        }
        let regular = is_well_conditioned(b, args[0]);
        // Neither way is asked about what is the other's.
        let ty = b.ty(args[0]).clone();
        let [one, distinct] = [Harmless::Identity, Harmless::Distinct].map(|harmless| harmless.value(b, &ty));
        let own = b.select(regular, args[0], one);
        let by_inverse = moved_by_inverse(b, own, a_dot);
        let own = b.select(regular, distinct, args[0]);
        let by_values = moved_by_values(b, own, a_dot);
        Ok(vec![Some(b.select(regular, by_inverse, by_values))])
    }
    fn batch(&self, b: &mut Builder, args: &[Value], batched: &[bool], length: usize) -> Batched {
        with_lane(*self, b, args, batched, length)
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
}

/// What the smallest singular value of a matrix is of the largest, at least, whose inverse costs few digits.
fn well_conditioned(dtype: DType) -> f64 {
    if dtype == DType::F32 { 0.03 } else { 1e-3 }
}

/// Which matrices are well-conditioned, for every element; a number to derivatives.
fn is_well_conditioned(b: &mut Builder, a: Value) -> Value {
    let flat = b.op(Unary::Detach, &[a]);
    let s = b.ops(Svd, &[flat])[1];
    let axis = b.shape(s).len() - 1;
    let [least, largest] = [Reducer::Min, Reducer::Max].map(|reducer| b.op(Reduce::new(reducer, &[axis]), &[s]));
    let ty = b.ty(largest).clone();
    let share = b.full(well_conditioned(ty.dtype), &ty);
    let bound = b.mul(share, largest);
    let regular = b.op(Compare::Gt, &[least, bound]);
    let shape = b.shape(a).to_vec();
    b.spread(regular, &shape, &[axis, axis + 1])
}

/// The tangent of `C = det(A) A^-T`, which is `(C : A') A^-T - A^-T A'^T C`: it has derivatives of every order, whatever singular
/// values repeat.
fn moved_by_inverse(b: &mut Builder, a: Value, a_dot: Value) -> Value {
    let ty = b.ty(a).clone();
    let eye = Harmless::Identity.value(b, &ty);
    let inverse = b.op(MatrixSolve::new(MatrixKind::General), &[a, eye]);
    let cofactors = b.op(Cofactor, &[a]);
    let trace = contract(b, ["ij", "ij", ""], cofactors, a_dot);
    let trace = b.spread(trace, &ty.shape, &[ty.rank() - 2, ty.rank() - 1]);
    let (turned, a_dot) = (transposed(b, inverse), transposed(b, a_dot));
    let grown = b.mul(trace, turned);
    let seen = product(b, turned, a_dot);
    let shrunk = product(b, seen, cofactors);
    b.sub(grown, shrunk)
}

/// The tangent of the cofactors, at singular matrices too. Those of `diag(s) + P` to first order, with `P = U^T A' V`, are on the
/// diagonal the sum of `P[k, k]` times the product of the s that are neither i nor k, elsewhere `-P[j, i]` times that of the s
/// that are neither i nor j. Its own derivative is that of the singular vectors.
fn moved_by_values(b: &mut Builder, a: Value, a_dot: Value) -> Value {
    let factors = b.ops(Svd, &[a]);
    let [u, s, vt] = [factors[0], factors[1], factors[2]];
    let seen = product_tn(b, u, a_dot);
    let p = product_nt(b, seen, vt);
    let others = others(b, s);
    let on = diagonal(b, p);
    let sums = contract(b, ["ij", "j", "i"], others, on);
    let n = dims(b, p).1;
    let sums = as_rows(b, sums, n);
    let sums = kept(b, sums, Compare::Eq);
    let turned = transposed(b, p);
    let off = b.mul(others, turned);
    let inner = b.sub(sums, off);
    let both = product(b, u, inner);
    let moved = product(b, both, vt);
    // The sign of the vectors is locally constant.
    let turn = product(b, u, vt);
    let det = b.op(Det, &[turn]);
    let zero = b.zeros_like(det);
    let even = b.op(Compare::Gt, &[det, zero]);
    let shape = b.shape(moved).to_vec();
    let even = b.spread(even, &shape, &[shape.len() - 2, shape.len() - 1]);
    let minus = b.neg(moved);
    b.select(even, moved, minus)
}

/// `out[i, j]`, the product of all s but those of i and j; 0 on the diagonal.
fn others(b: &mut Builder, s: Value) -> Value {
    let n = *b.shape(s).last().expect("a vector for each matrix");
    let rows = as_rows(b, s, n);
    let pairs = {
        // One more axis: i, j, l.
        let mut shape = b.shape(rows).to_vec();
        let at = shape.len() - 1;
        shape.insert(at, n);
        b.spread(rows, &shape, &[at])
    };
    let ty = b.ty(pairs).clone();
    let rank = ty.rank();
    let [i, j, l] = [3, 2, 1].map(|from_end| {
        let count = b.op(Iota { length: n }, &[]);
        b.op(Broadcast::new(&ty.shape, &[rank - from_end]), &[count])
    });
    let (is_i, is_j) = (b.op(Compare::Eq, &[l, i]), b.op(Compare::Eq, &[l, j]));
    let left_out = b.op(Logic::Or, &[is_i, is_j]);
    let one = b.full(1.0, &ty);
    let factors = b.select(left_out, one, pairs);
    let products = b.op(Reduce::new(Reducer::Prod, &[rank - 1]), &[factors]);
    let off = super::places(b, products, Compare::Ne);
    let zero = b.zeros_like(products);
    b.select(off, products, zero)
}

impl Family for Cofactor {
    #[cfg(feature = "text")]
    fn parse(name: &str, _: &mut Fields) -> Option<Result<Self, Misfit>> {
        (name == "cofactor").then_some(Ok(Cofactor))
    }
    fn samples() -> Vec<Sample> {
        let square = sample(1, &[3, 3], &[4.0, -9.0, 15.0]);
        vec![
            Sample::new(Cofactor, std::slice::from_ref(&square)),
            Sample::new(Cofactor, &[single(&square)]),
            Sample::new(Cofactor, &[sample(2, &[1, 1], &[-3.0])]),
            Sample::new(Cofactor, &[sample(3, &[2, 2, 2], &[3.0, 8.0])]),
            Sample::new(Cofactor, &[sample(4, &[0, 0], &[5.0])]),
        ]
    }
}
