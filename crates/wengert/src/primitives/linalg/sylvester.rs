//! Linear equations for matrices.

use std::borrow::Cow;

use super::plain::{self, MatrixEquation, Unsolved};
use super::{Harmless, Matrices, guarded, matrix, product, sample, single, square, transposed, with_lane};
use crate::array::{Array, Type};
use crate::error::{Misfit, misfit};
use crate::primitives::einsum::rounded;
#[cfg(feature = "text")]
use crate::primitives::parse::Fields;
use crate::primitives::{
    Attributes, Batched, Cotangent, Cotangents, Family, Form, MaskedCotangents, Operand, OperandSet, Primitive,
    Reaches, Sample, Site, Tangents, arity,
};
use crate::program::{Builder, Value};

/// `sylvester(A, B, C) = X` with `A X + X B = C`, or `X - A X B = C`; with `A^T` and `B^T` if it is transposed. Linear in C.
///
/// It has one solution if no eigenvalue of A and of -B are the same (no two of A and B have the product 1); otherwise it is an
/// error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Sylvester {
    /// Which equation.
    pub equation: MatrixEquation,
    /// Whether A and B are transposed.
    pub transpose: bool,
}

const EQUATIONS: [(&str, MatrixEquation); 2] =
    [("continuous", MatrixEquation::Continuous), ("discrete", MatrixEquation::Discrete)];

impl Sylvester {
    /// With the matrices as they are.
    pub fn new(equation: MatrixEquation) -> Self {
        Sylvester { equation, transpose: false }
    }

    fn refused(self, why: Unsolved) -> &'static str {
        match (why, self.equation) {
            (Unsolved::Endless, _) => "the steps to a Schur form do not end",
            (Unsolved::Singular, MatrixEquation::Continuous) => {
                "the equation is singular: an eigenvalue of A and one of -B are the same"
            }
            (Unsolved::Singular, MatrixEquation::Discrete) => {
                "the equation is singular: an eigenvalue of A times one of B is 1"
            }
        }
    }
}

impl Primitive for Sylvester {
    fn name(&self) -> Cow<'static, str> {
        "sylvester".into()
    }
    fn infer(&self, args: &[&Type]) -> Result<Vec<Type>, Misfit> {
        arity(args, 3)?;
        let ((a_lead, m), (b_lead, n)) = (square(args[0])?, square(args[1])?);
        let (lead, rows, columns) = matrix(args[2])?;
        if args[0].dtype != args[2].dtype || args[1].dtype != args[2].dtype {
            misfit!("the element types differ; convert first");
        }
        if a_lead != lead || b_lead != lead {
            misfit!("the axes before the matrices are {a_lead:?}, {b_lead:?} and {lead:?}, and have to be the same");
        }
        if (rows, columns) != (m, n) {
            misfit!("the right-hand side is {rows} by {columns}, and has to be {m} by {n}");
        }
        Ok(vec![args[2].clone()])
    }
    fn eval(&self, args: &[&Array]) -> Result<Vec<Array>, Misfit> {
        let [a, b, c] = [0, 1, 2].map(|k| Matrices::of(args[k]));
        let (m, n) = (a.rows, b.rows);
        let turned = |x: &[f64], n: usize| if self.transpose { plain::transposed(x, n, n) } else { x.to_vec() };
        let mut out = Vec::with_capacity(args[2].size());
        for k in 0..if args[2].size() == 0 { 0 } else { c.count() } {
            let (left, right) = (turned(a.finite_as(" of A", k)?, m), turned(b.finite_as(" of B", k)?, n));
            match plain::sylvester(self.equation, (&left, m), (&right, n), c.finite_as(" of the right-hand side", k)?) {
                Ok(x) => out.extend(x),
                Err(why) => misfit!("{}{}", self.refused(why), c.at(k)),
            }
        }
        Ok(vec![rounded(args[2].dtype(), args[2].shape(), out)])
    }
    /// Of one equation at a time: both matrices, their Schur forms and vectors, and the right-hand side on its way.
    fn defined_bytes(&self, args: &[&Type]) -> usize {
        2 * super::widened_bytes(&args[2..])
            + super::widened_bytes(&args[..2])
            + super::squares_bytes(args[0], 4)
            + super::squares_bytes(args[1], 3)
            + super::squares_bytes(args[2], 3)
    }
    fn form(&self, _: &[&Type]) -> Form {
        Form::Kernel
    }
    fn reach(&self, site: &Site) -> Reaches {
        super::matrix_by_matrix(site)
    }
    fn linear_in(&self, _: usize) -> Vec<OperandSet> {
        vec![vec![2]]
    }
    /// The same equation with the right-hand side `C' - A' X - X B'`, or `C' + A' X B + A X B'`.
    fn jvp(&self, b: &mut Builder, args: &[Value], outs: &[Value], tangents: &[Option<Value>]) -> Tangents {
        let turned = |b: &mut Builder, x: Value| if self.transpose { transposed(b, x) } else { x };
        let x = outs[0];
        let by_a = tangents[0].map(|a_dot| {
            let a_dot = turned(b, a_dot);
            let moved = product(b, a_dot, x);
            match self.equation {
                MatrixEquation::Continuous => b.neg(moved),
                MatrixEquation::Discrete => {
                    let right = turned(b, args[1]);
                    product(b, moved, right)
                }
            }
        });
        let by_b = tangents[1].map(|b_dot| {
            let b_dot = turned(b, b_dot);
            let moved = product(b, x, b_dot);
            match self.equation {
                MatrixEquation::Continuous => b.neg(moved),
                MatrixEquation::Discrete => {
                    let left = turned(b, args[0]);
                    product(b, left, moved)
                }
            }
        });
        let sum = b.add_present(by_a, by_b);
        let sum = b.add_present(sum, tangents[2]);
        Ok(vec![sum.map(|sum| b.op(*self, &[args[0], args[1], sum]))])
    }
    fn transpose(&self, b: &mut Builder, cotangents: &[Option<Value>], args: &[Operand]) -> Cotangents {
        let back = Sylvester { transpose: !self.transpose, ..*self };
        let pulled = cotangents[0].map(|ct| b.op(back, &[args[0].known(), args[1].known(), ct]));
        Ok(vec![None, None, pulled])
    }
    /// Every element depends on the whole right-hand side.
    fn transpose_masked(
        &self,
        b: &mut Builder,
        cotangents: &[Option<Cotangent>],
        args: &[Operand],
    ) -> Option<MaskedCotangents> {
        // Where the derivative fails, the value has failed.
        super::by_whole_matrices(b, cotangents[0]?, args, &[], |b, value, args| self.transpose(b, &[Some(value)], args))
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
        // 0 and 0 for the discrete equation, 1 and 1 for the other one; and no right-hand side.
        let harmless = match self.equation {
            MatrixEquation::Continuous => Harmless::Identity,
            MatrixEquation::Discrete => Harmless::Zeros,
        };
        let failing = [(0, harmless), (1, harmless), (2, Harmless::Zeros)];
        Some(guarded(*self, b, args, batched, (length, mask), &failing))
    }
    fn gives_up(&self) -> bool {
        true
    }
    fn attributes(&self) -> Attributes {
        let equation = EQUATIONS.iter().find(|(_, own)| *own == self.equation).expect("every equation has a name").0;
        Attributes::default().with("equation", equation).with("transpose", self.transpose)
    }
}

impl Family for Sylvester {
    #[cfg(feature = "text")]
    fn parse(name: &str, fields: &mut Fields) -> Option<Result<Self, Misfit>> {
        let read =
            || Ok(Sylvester { equation: fields.one_of("equation", &EQUATIONS)?, transpose: fields.flag("transpose")? });
        (name == "sylvester").then(read)
    }
    fn samples() -> Vec<Sample> {
        use crate::primitives::sample::numbers;
        let continuous = Sylvester::new(MatrixEquation::Continuous);
        let discrete = Sylvester::new(MatrixEquation::Discrete);
        let (a, b, c) = (sample(1, &[3, 3], &[5.0, 6.0]), sample(2, &[2, 2], &[4.0]), numbers(3, &[3, 2]));
        let mut samples = Vec::new();
        for op in [continuous, discrete] {
            let back = Sylvester { transpose: true, ..op };
            samples.push(Sample::new(op, &[a.clone(), b.clone(), c.clone()]));
            samples.push(Sample::new(back, &[a.clone(), b.clone(), c.clone()]));
            samples.push(Sample::new(op, &[single(&a), single(&b), single(&c)]));
            let batch = [sample(4, &[2, 2, 2], &[5.0]), sample(5, &[2, 1, 1], &[4.0]), numbers(6, &[2, 2, 1])];
            samples.push(Sample::new(op, &batch));
            samples.push(Sample::new(op, &[sample(7, &[0, 0], &[5.0]), b.clone(), numbers(8, &[0, 2])]));
        }
        samples
    }
}
