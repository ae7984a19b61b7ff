//! Frames of values and vectors that other operations find.

use std::borrow::Cow;

use super::spectral_frame::{Matrices, SpectralFrame, SpectralKind};
use super::{Eigh, Finite, Svd};
use crate::array::{Array, DType, Type};
use crate::error::{Misfit, misfit};
#[cfg(feature = "text")]
use crate::primitives::parse::Fields;
use crate::primitives::sample::numbers;
use crate::primitives::{Attributes, Batched, Convert, Family, Form, OperandSet, Primitive, Sample, arity};
use crate::program::{Builder, Value};

/// `spectral_bits(w, V)` and `spectral_bits(U, s, V^T)`: the frame of these eigenvalues and eigenvectors, or of these singular
/// values and vectors, as [`SpectralFrame`] gives it; all in double precision.
///
/// It is what a `spectral_frame` is written out to before it runs, so that it is found by what finds `eigh` and `svd`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SpectralBits {
    /// Of which kind.
    pub spectrum: SpectralKind,
}

impl SpectralBits {
    /// The matrices whose values and vectors have these types.
    fn matrices(self, args: &[&Type]) -> Result<Matrices, Misfit> {
        if let Some(ty) = args.iter().find(|ty| ty.dtype != DType::F64) {
            misfit!("it takes numbers in double precision, and got {ty}");
        }
        let (left, right) = match self.spectrum {
            SpectralKind::Symmetric => {
                arity(args, 2)?;
                (args[1], args[1])
            }
            SpectralKind::Singular => {
                arity(args, 3)?;
                (args[0], args[2])
            }
        };
        let ([lead @ .., rows, _], [.., columns]) = (&left.shape[..], &right.shape[..]) else {
            misfit!("{left} holds no vectors: it needs at least two axes");
        };
        let of = Matrices { lead: lead.to_vec(), rows: *rows, columns: *columns };
        let k = of.values();
        let wanted = match self.spectrum {
            SpectralKind::Symmetric => vec![of.shape(&[k]), of.shape(&[k, k])],
            SpectralKind::Singular => vec![of.shape(&[*rows, k]), of.shape(&[k]), of.shape(&[k, *columns])],
        };
        match args.iter().zip(&wanted).find(|(ty, wanted)| ty.shape != **wanted) {
            None => Ok(of),
            Some((ty, wanted)) => misfit!("an operand is {ty}, and has to be {}", ty.with_shape(wanted.clone())),
        }
    }

    /// What a frame of these matrices is written out to.
    pub(crate) fn written_out(of: &SpectralFrame, b: &mut Builder, a: Value) -> Value {
        let finite = b.op(Finite::new(&of.name), &[a]);
        let wide = if b.ty(a).dtype == DType::F64 { finite } else { b.op(Convert(DType::F64), &[finite]) };
        let parts = match of.spectrum {
            SpectralKind::Symmetric => b.ops(Eigh, &[wide]),
            SpectralKind::Singular => b.ops(Svd, &[wide]),
        };
        b.op(SpectralBits { spectrum: of.spectrum }, &parts)
    }
}

impl Primitive for SpectralBits {
    fn name(&self) -> Cow<'static, str> {
        "spectral_bits".into()
    }
    fn infer(&self, args: &[&Type]) -> Result<Vec<Type>, Misfit> {
        Ok(vec![self.matrices(args)?.frame(self.spectrum)])
    }
    fn eval(&self, args: &[&Array]) -> Result<Vec<Array>, Misfit> {
        let types: Vec<&Type> = args.iter().map(|arg| arg.ty()).collect();
        let of = self.matrices(&types)?;
        let k = of.values();
        let ty = of.frame(self.spectrum);
        let mut bits: Vec<i64> = Vec::with_capacity(ty.size());
        let add = |bits: &mut Vec<i64>, part: &[f64]| bits.extend(part.iter().map(|x| x.to_bits().cast_signed()));
        for lane in 0..of.count() {
            let part = |arg: usize, size: usize| &args[arg].known::<f64>()[lane * size..][..size];
            if self.spectrum == SpectralKind::Symmetric {
                add(&mut bits, part(0, k));
                add(&mut bits, part(1, k * k));
            } else {
                add(&mut bits, part(1, k));
                add(&mut bits, part(0, of.rows * k));
                let rows = part(2, k * of.columns);
                let places = (0..of.columns).flat_map(|column| (0..k).map(move |row| row * of.columns + column));
                bits.extend(places.map(|place| rows[place].to_bits().cast_signed()));
            }
        }
        Ok(vec![Array::new(&ty.shape, bits)])
    }
    fn form(&self, _: &[&Type]) -> Form {
        Form::Kernel
    }
    fn linear_in(&self, _: usize) -> Vec<OperandSet> {
        Vec::new()
    }
    fn batch(&self, b: &mut Builder, args: &[Value], batched: &[bool], length: usize) -> Batched {
        super::with_lane(*self, b, args, batched, length)
    }
    fn attributes(&self) -> Attributes {
        Attributes::default().with("of", self.spectrum.word())
    }
}

impl Family for SpectralBits {
    #[cfg(feature = "text")]
    fn parse(name: &str, fields: &mut Fields) -> Option<Result<Self, Misfit>> {
        (name == "spectral_bits").then(|| Ok(SpectralBits { spectrum: fields.one_of("of", &SpectralKind::WORDS)? }))
    }
    fn samples() -> Vec<Sample> {
        let (symmetric, singular) = (SpectralKind::Symmetric, SpectralKind::Singular);
        let sample = |spectrum, shapes: &[&[usize]]| {
            let args: Vec<Array> = shapes.iter().zip(1..).map(|(shape, seed)| numbers(seed, shape)).collect();
            Sample::new(SpectralBits { spectrum }, &args)
        };
        vec![
            sample(symmetric, &[&[3], &[3, 3]]),
            sample(symmetric, &[&[2, 2], &[2, 2, 2]]),
            sample(symmetric, &[&[0], &[0, 0]]),
            sample(singular, &[&[3, 2], &[2], &[2, 2]]),
            sample(singular, &[&[2, 2, 2], &[2, 2], &[2, 2, 3]]),
            sample(singular, &[&[2, 0], &[0], &[0, 0]]),
        ]
    }
}
