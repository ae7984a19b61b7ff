//! Riccati equations.

use std::borrow::Cow;

use super::plain::{self, MatrixEquation};
use super::{
    Harmless, Matrices, guarded, product, product_tn, sample, single, square, symmetric, transposed, with_lane,
};
use crate::array::{Array, Type};
use crate::error::{Misfit, misfit};
use crate::primitives::einsum::rounded;
#[cfg(feature = "text")]
use crate::primitives::parse::Fields;
use crate::primitives::{
    Attributes, Batched, Family, Form, MatrixKind, MatrixSolve, OperandSet, Primitive, Reaches, Sample, Site,
    Sylvester, Tangents, arity,
};
use crate::program::{Builder, Value};

/// `riccati(A, G, Q) = X`, the stabilising solution of `A^T X + X A - X G X + Q = 0`, or of `X = A^T X (I + G X)^-1 A + Q`. G and Q are
/// read as `(G + G^T) / 2` and `(Q + Q^T) / 2`; X is symmetric.
///
/// Its derivative is that of the equation, a linear one with the closed loop `A - G X`, or `(I + G X)^-1 A`. Where there is no
/// solution that makes the closed loop stable it is an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Riccati {
    /// Which equation.
    pub equation: MatrixEquation,
}

const EQUATIONS: [(&str, MatrixEquation); 2] =
    [("continuous", MatrixEquation::Continuous), ("discrete", MatrixEquation::Discrete)];

impl Primitive for Riccati {
    fn name(&self) -> Cow<'static, str> {
        "riccati".into()
    }
    fn infer(&self, args: &[&Type]) -> Result<Vec<Type>, Misfit> {
        arity(args, 3)?;
        square(args[0])?;
        if let Some(other) = args[1..].iter().find(|&&other| other != args[0]) {
            misfit!("the matrices are {} and {other}, and have to be of one type", args[0]);
        }
        Ok(vec![args[0].clone()])
    }
    fn eval(&self, args: &[&Array]) -> Result<Vec<Array>, Misfit> {
        let [a, g, q] = [0, 1, 2].map(|k| Matrices::of(args[k]));
        let n = a.rows;
        let mut out = Vec::with_capacity(args[0].size());
        for k in 0..a.count() {
            let own = a.finite_as(" of A", k)?;
            let (g, q) = (g.finite_as(" of B R^-1 B^T", k)?, q.finite_as(" of Q", k)?);
            let (g, q) = (plain::symmetric(g, n), plain::symmetric(q, n));
            match plain::riccati(self.equation, own, &g, &q, n) {
                Some(x) => out.extend(x),
                None => misfit!("there is no solution that makes the closed loop stable{}", a.at(k)),
            }
        }
        Ok(vec![rounded(args[0].dtype(), args[0].shape(), out)])
    }
    /// Of one equation at a time, by doubling and Newton's method.
    fn defined_bytes(&self, args: &[&Type]) -> usize {
        super::widened_bytes(args) + super::widened_bytes(&args[..1]) + super::squares_bytes(args[0], 17)
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
    /// With the closed loop F: `F^T X' + X' F = -(A'^T X + X A' - X G' X + Q')`, or `X' - F^T X' F = A'^T X F + F^T X A' - F^T X
    /// G' X F + Q'` (for the discrete one `X F` stands for `X (I + G X)^-1 A`).
    fn jvp(&self, b: &mut Builder, args: &[Value], outs: &[Value], tangents: &[Option<Value>]) -> Tangents {
        let ([a, g, x], discrete) = ([args[0], args[1], outs[0]], self.equation == MatrixEquation::Discrete);
        let g = symmetric(b, g);
        let gx = product(b, g, x);
        let closed = if discrete {
            let ty = b.ty(gx).clone();
            let eye = super::identity(b, &ty);
            let sum = b.add(eye, gx);
            b.op(MatrixSolve::new(MatrixKind::General), &[sum, a])
        } else {
            b.sub(a, gx)
        };
        let seen = if discrete { product(b, x, closed) } else { x };
        let by_a = tangents[0].map(|a_dot| {
            let half = product_tn(b, a_dot, seen);
            let turned = transposed(b, half);
            b.add(half, turned)
        });
        let by_g = tangents[1].map(|g_dot| {
            let g_dot = symmetric(b, g_dot);
            let moved = product(b, g_dot, seen);
            let moved = product_tn(b, seen, moved);
            b.neg(moved)
        });
        let by_q = tangents[2].map(|q_dot| symmetric(b, q_dot));
        let sum = b.add_present(by_a, by_g);
        let Some(sum) = b.add_present(sum, by_q) else { return Ok(vec![None]) };
        let right = if discrete { sum } else { b.neg(sum) };
        let turned = transposed(b, closed);
        let x_dot = b.op(Sylvester::new(self.equation), &[turned, closed, right]);
        Ok(vec![Some(symmetric(b, x_dot))])
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
        let failing = [(0, Harmless::Identity), (1, Harmless::Identity), (2, Harmless::Identity)];
        Some(guarded(*self, b, args, batched, (length, mask), &failing))
    }
    fn gives_up(&self) -> bool {
        true
    }
    fn attributes(&self) -> Attributes {
        let equation = EQUATIONS.iter().find(|(_, own)| *own == self.equation).expect("every equation has a name").0;
        Attributes::default().with("equation", equation)
    }
}

impl Family for Riccati {
    #[cfg(feature = "text")]
    fn parse(name: &str, fields: &mut Fields) -> Option<Result<Self, Misfit>> {
        (name == "riccati").then(|| Ok(Riccati { equation: fields.one_of("equation", &EQUATIONS)? }))
    }
    fn samples() -> Vec<Sample> {
        let mut samples = Vec::new();
        for equation in [MatrixEquation::Continuous, MatrixEquation::Discrete] {
            let op = Riccati { equation };
            let [a, g, q] = [(1, 1.0), (2, 4.0), (3, 5.0)].map(|(seed, on)| sample(seed, &[2, 2], &[on]));
            samples.push(Sample::new(op, &[a.clone(), g.clone(), q.clone()]));
            samples.push(Sample::new(op, &[single(&a), single(&g), single(&q)]));
            let batch = [(4, 1.0), (5, 4.0), (6, 5.0)].map(|(seed, on)| sample(seed, &[2, 1, 1], &[on]));
            samples.push(Sample::new(op, &batch));
            samples.push(Sample::new(op, &[7, 8, 9].map(|seed| sample(seed, &[0, 0], &[1.0]))));
        }
        samples
    }
}
