//! Elimination with partial pivoting.

use std::borrow::Cow;

use super::super::lu::{part, with_last};
use super::super::{dims, kept, permuted, plain};
use super::{
    ComplexKind, ComplexMatrices, ComplexSolve, Pair, of_complex_matrices, parts, sample_parts, single_parts,
    solved_from_right, sub,
};
use crate::array::{Array, DType, Type};
use crate::error::Misfit;
use crate::ops::Compare;
#[cfg(feature = "text")]
use crate::primitives::parse::Fields;
use crate::primitives::{Concat, Family, OperandSet, Primitive, Sample, Tangents};
use crate::program::{Builder, Value};

/// `complex_lu(re A, im A) = (re L, im L, re U, im U, p)` with `A[p] = L U`, as [`Lu`](crate::primitives::Lu): pivots have the
/// largest modulus of their column, of equal ones the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ComplexLu;

impl Primitive for ComplexLu {
    fn name(&self) -> Cow<'static, str> {
        "complex_lu".into()
    }
    fn infer(&self, args: &[&Type]) -> Result<Vec<Type>, Misfit> {
        let (lead, m, n) = parts(args)?;
        let with = |own: &[usize]| [lead, own].concat();
        let rank = m.min(n);
        let [l, u] = [[m, rank], [rank, n]].map(|own| args[0].with_shape(with(&own)));
        Ok(vec![l.clone(), l, u.clone(), u, Type::new(DType::I64, &with(&[m]))])
    }
    fn eval(&self, args: &[&Array]) -> Result<Vec<Array>, Misfit> {
        let a = ComplexMatrices::of(args[0], args[1]);
        let (mut lower, mut upper, mut order) = (Vec::new(), Vec::new(), Vec::new());
        for k in 0..a.count() {
            let (l, u, p) = plain::complex::lu(&a.finite(k)?, a.rows, a.columns);
            lower.extend(l);
            upper.extend(u);
            order.extend(p.into_iter().map(|row| row as i64));
        }
        let rank = a.rows.min(a.columns);
        let factors = [a.given(&[a.rows, rank], &lower), a.given(&[rank, a.columns], &upper)].concat();
        let order = Array::new(&a.parts[0].shape(&[a.rows]), order);
        Ok(factors.into_iter().chain([order]).collect())
    }
    /// All factors, and of one matrix at a time the matrix, what is left of it, and its factors.
    fn defined_bytes(&self, args: &[&Type]) -> usize {
        super::super::widened_bytes(args) + 16 * (args[0].size() + 1) * size_of::<f64>()
    }
    of_complex_matrices!(Identity);
    fn linear_in(&self, _: usize) -> Vec<OperandSet> {
        Vec::new()
    }
    /// As for real matrices: with the rows of A' in their order, `G = L^-1 A'` and `F = G U^-1` for the square part,
    /// `L' = L below(F)` and `U' = on and above(G - below(F) U)`.
    fn jvp(&self, b: &mut Builder, args: &[Value], outs: &[Value], tangents: &[Option<Value>]) -> Tangents {
        let Some(a_dot) = super::whole(b, tangents, args) else { return Ok(vec![None; 5]) };
        let (_, m, n) = dims(b, args[0]);
        let rank = m.min(n);
        let a_dot = a_dot.map(|x| permuted(b, x, outs[4]));
        let rows = |b: &mut Builder, x: Pair, range: (usize, usize)| x.map(|x| part(b, x, 0, range));
        let columns = |b: &mut Builder, x: Pair| x.map(|x| part(b, x, 1, (0, rank)));
        let (whole_l, whole_u) = ([outs[0], outs[1]], [outs[2], outs[3]]);
        let (l, u, above) = (rows(b, whole_l, (0, rank)), columns(b, whole_u), rows(b, a_dot, (0, rank)));
        let g = super::solved(b, ComplexSolve::new(ComplexKind::Lower), l, above);
        let square = columns(b, g);
        // Below the diagonal, F does not depend on the last pivot.
        let pivots = if m > n { u } else { [with_last(b, u[0], 1.0), with_last(b, u[1], 0.0)] };
        let f = solved_from_right(b, ComplexKind::Upper, pivots, square);
        let below = f.map(|x| kept(b, x, Compare::Gt));
        let moved = super::product(b, below, whole_u);
        let u_dot = sub(b, g, moved).map(|x| kept(b, x, Compare::Le));
        let mut l_dot = super::product(b, l, below).map(|x| kept(b, x, Compare::Gt));
        if m > n {
            let (under, l_under) = (rows(b, a_dot, (n, m)), rows(b, whole_l, (n, m)));
            let moved = super::product(b, l_under, u_dot);
            let rest = sub(b, under, moved);
            let under = solved_from_right(b, ComplexKind::Upper, u, rest);
            let axis = b.shape(l_dot[0]).len() - 2;
            l_dot = [0, 1].map(|part| b.op(Concat { axis }, &[l_dot[part], under[part]]));
        }
        Ok([l_dot, u_dot].concat().into_iter().map(Some).chain([None]).collect())
    }
}

impl Family for ComplexLu {
    #[cfg(feature = "text")]
    fn parse(name: &str, _: &mut Fields) -> Option<Result<Self, Misfit>> {
        (name == "complex_lu").then_some(Ok(ComplexLu))
    }
    fn samples() -> Vec<Sample> {
        // Large elements that are not on the diagonal fix the order of the rows.
        let turned = |seed: u64, m: usize, n: usize| {
            sample_parts(seed, &[m, n], &[7.0, -8.0, 6.0]).map(|part| {
                let elements = part.known::<f64>();
                let rows = (0..m).flat_map(|i| elements[(i + 1) % m * n..][..n].to_vec());
                Array::new(&[m, n], rows.collect::<Vec<f64>>())
            })
        };
        let square = turned(1, 3, 3);
        vec![
            Sample::new(ComplexLu, &square),
            Sample::new(ComplexLu, &single_parts(&square)),
            Sample::new(ComplexLu, &turned(2, 4, 2)),
            Sample::new(ComplexLu, &turned(3, 2, 4)),
            Sample::new(ComplexLu, &sample_parts(4, &[1, 1], &[3.0])),
            Sample::new(ComplexLu, &sample_parts(5, &[2, 2, 2], &[5.0])),
            Sample::new(ComplexLu, &sample_parts(6, &[0, 2], &[5.0])),
            Sample::new(ComplexLu, &sample_parts(7, &[2, 0], &[5.0])),
        ]
    }
}
