//! Random bits from a key: the same key gives the same bits on every machine and in every order.
//!
//! Nothing has a state: element k is a function of the key and k alone.

use std::borrow::Cow;

#[cfg(feature = "text")]
use super::parse::Fields;
use super::{Attributes, Batched, Family, Form, OperandSet, Primitive, Sample, arity};
use crate::array::{Array, DType, Type};
use crate::error::{Misfit, misfit};
use crate::ops::Unary;
use crate::program::{Builder, Value};

/// What the bits become.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RandomKind {
    /// 64 bits as an i64.
    Bits,
    /// A real number of this type in `[0, 1)`: the upper 53 bits times 2^-53 for f64, the upper 24
    /// bits times 2^-24 for f32. Every multiple is equally likely.
    Uniform(DType),
}

impl RandomKind {
    fn dtype(self) -> DType {
        match self {
            RandomKind::Bits => DType::I64,
            RandomKind::Uniform(dtype) => dtype,
        }
    }
}

/// `random_bits(key)`: an array of this shape of random bits for each key; the last axis of the
/// operand (i64) holds the two words of a key, its other axes come first in the result.
///
/// Element k is word `k mod 2` of Threefry-2x64 with 20 rounds at the counter `(k / 2, 0)`
/// (J. K. Salmon, M. A. Moraes, R. O. Dror, D. E. Shaw, *Parallel random numbers: as easy as 1, 2,
/// 3*, 2011). There is no derivative in the key.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RandomBits {
    /// The shape for each key.
    pub shape: Vec<usize>,
    /// What the bits become.
    pub kind: RandomKind,
}

impl RandomBits {
    /// Of this shape.
    pub fn new(shape: &[usize], kind: RandomKind) -> Self {
        RandomBits { shape: shape.to_vec(), kind }
    }

    /// A number for every word, key by key.
    fn draw<T>(&self, keys: &[i64], number: impl Fn(u64) -> T) -> Vec<T> {
        let count: usize = self.shape.iter().product();
        let mut drawn = Vec::with_capacity(keys.len() / 2 * count);
        for key in keys.chunks_exact(2) {
            let key = [key[0].cast_unsigned(), key[1].cast_unsigned()];
            for counter in 0..count.div_ceil(2) {
                let words = threefry([[counter as u64], [0]], key);
                drawn.extend(words.into_iter().flatten().take(count - 2 * counter).map(&number));
            }
        }
        drawn
    }
}

/// Threefry-2x64 with 20 rounds at counters side by side: first words and second words, of the counters and the result.
///
/// Inlined always, so that it is compiled for the instruction set of its caller.
#[inline(always)]
pub(crate) fn threefry<const N: usize>(counters: [[u64; N]; 2], key: [u64; 2]) -> [[u64; N]; 2] {
    const ROTATIONS: [u32; 8] = [16, 42, 12, 31, 16, 32, 24, 21];
    const PARITY: u64 = 0x1bd1_1bda_a9fc_1a22;
    let keys = [key[0], key[1], PARITY ^ key[0] ^ key[1]];
    let [mut x, mut y] = counters;
    x = x.map(|x| x.wrapping_add(keys[0]));
    y = y.map(|y| y.wrapping_add(keys[1]));
    for round in 0..20 {
        for (x, y) in x.iter_mut().zip(&mut y) {
            *x = x.wrapping_add(*y);
            *y = y.rotate_left(ROTATIONS[round % 8]) ^ *x;
        }
        if round % 4 == 3 {
            let group = round / 4 + 1;
            let (first, second) = (keys[group % 3], keys[(group + 1) % 3].wrapping_add(group as u64));
            x = x.map(|x| x.wrapping_add(first));
            y = y.map(|y| y.wrapping_add(second));
        }
    }
    [x, y]
}

/// A number in `[0, 1)` from the upper 53 bits.
#[inline(always)]
pub(crate) fn unit_f64(word: u64) -> f64 {
    (word >> 11) as f64 / (1u64 << 53) as f64
}

/// A number in `[0, 1)` from the upper 24 bits.
#[inline(always)]
pub(crate) fn unit_f32(word: u64) -> f32 {
    (word >> 40) as f32 / (1u64 << 24) as f32
}

/// Numbers in `[0, 1)`, all multiples of 2^-53 (f64) or 2^-24 (f32) equally likely.
pub(crate) fn uniform(b: &mut Builder, key: Value, shape: &[usize], dtype: DType) -> Value {
    b.op(RandomBits::new(shape, RandomKind::Uniform(dtype)), &[key])
}

/// Numbers of the normal distribution with mean 0 and variance 1: `sqrt(2) erfinv(2u - 1)` with u in
/// the middle of the steps of [`uniform`], so that it is neither 0 nor 1 and the result is finite.
pub(crate) fn normal(b: &mut Builder, key: Value, shape: &[usize], dtype: DType) -> Value {
    let u = uniform(b, key, shape, dtype);
    let ty = b.ty(u).clone();
    let (one, two, root) = (b.full(1.0, &ty), b.full(2.0, &ty), b.full(std::f64::consts::SQRT_2, &ty));
    let step = b.full(if dtype == DType::F32 { f64::from(f32::EPSILON) } else { f64::EPSILON } / 2.0, &ty);
    // Doubled and moved first, half a step is added without rounding; added to u, it would round
    // the largest u to 1.
    let doubled = b.mul(two, u);
    let centred = b.sub(doubled, one);
    let middle = b.add(centred, step);
    let quantile = b.op(Unary::Erfinv, &[middle]);
    b.mul(root, quantile)
}

impl Primitive for RandomBits {
    fn name(&self) -> Cow<'static, str> {
        "random_bits".into()
    }
    fn infer(&self, args: &[&Type]) -> Result<Vec<Type>, Misfit> {
        arity(args, 1)?;
        let key = args[0];
        if key.dtype != DType::I64 || key.shape.last() != Some(&2) {
            misfit!("the key is {key}, and has to be i64[2], or have 2 words along its last axis");
        }
        let dtype = self.kind.dtype();
        if self.kind != RandomKind::Bits && !dtype.is_float() {
            misfit!("uniform numbers are real (f32 or f64), not {dtype}");
        }
        Ok(vec![Type::new(dtype, &[&key.shape[..key.rank() - 1], &self.shape[..]].concat())])
    }
    fn eval(&self, args: &[&Array]) -> Result<Vec<Array>, Misfit> {
        let keys = args[0].known::<i64>();
        let shape = [&args[0].shape()[..args[0].shape().len() - 1], &self.shape[..]].concat();
        Ok(vec![match self.kind {
            RandomKind::Bits => Array::new(&shape, self.draw(keys, u64::cast_signed)),
            RandomKind::Uniform(DType::F32) => Array::new(&shape, self.draw(keys, unit_f32)),
            RandomKind::Uniform(_) => Array::new(&shape, self.draw(keys, unit_f64)),
        }])
    }
    fn form(&self, _: &[&Type]) -> Form {
        Form::Kernel
    }
    fn linear_in(&self, _: usize) -> Vec<OperandSet> {
        Vec::new()
    }
    fn batch(&self, b: &mut Builder, args: &[Value], batched: &[bool], _: usize) -> Batched {
        // The lanes are one more axis of the keys.
        Ok(vec![(b.op(self.clone(), args), batched[0])])
    }
    fn attributes(&self) -> Attributes {
        let kind = match self.kind {
            RandomKind::Bits => "bits",
            RandomKind::Uniform(dtype) => dtype.name(),
        };
        Attributes::default().with("shape", &self.shape[..]).with("kind", kind)
    }
}

impl Family for RandomBits {
    #[cfg(feature = "text")]
    fn parse(name: &str, fields: &mut Fields) -> Option<Result<Self, Misfit>> {
        (name == "random_bits").then(|| {
            let kinds = [
                ("bits", RandomKind::Bits),
                ("f32", RandomKind::Uniform(DType::F32)),
                ("f64", RandomKind::Uniform(DType::F64)),
            ];
            Ok(RandomBits { shape: fields.integers("shape")?, kind: fields.one_of("kind", &kinds)? })
        })
    }
    fn samples() -> Vec<Sample> {
        let key = Array::new(&[2], vec![3i64, -7]);
        let keys = Array::new(&[2, 1, 2], vec![3i64, -7, i64::MIN, i64::MAX]);
        let kinds = [RandomKind::Bits, RandomKind::Uniform(DType::F32), RandomKind::Uniform(DType::F64)];
        let cases = kinds.into_iter().flat_map(|kind| {
            let sample =
                |shape: &[usize], key: &Array| Sample::new(RandomBits::new(shape, kind), std::slice::from_ref(key));
            [sample(&[], &key), sample(&[5], &key), sample(&[2, 3], &keys), sample(&[2, 0], &key)]
        });
        cases.collect()
    }
}

#[cfg(test)]
mod tests;
