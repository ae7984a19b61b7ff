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
mod tests {
    use super::*;
    use crate::primitives::trials::{check_vmap, moved, program_of};

    fn run(op: &RandomBits, key: &Array) -> Array {
        op.eval(&[key]).expect("it draws").remove(0)
    }

    fn words([first, second]: [u64; 2], key: [u64; 2]) -> [u64; 2] {
        threefry([[first], [second]], key).map(|[word]| word)
    }

    #[test]
    fn threefry_gives_the_published_words() {
        // The known answers that come with the authors' library Random123.
        let ones = [u64::MAX; 2];
        let pi = [0x243f_6a88_85a3_08d3, 0x1319_8a2e_0370_7344];
        let more_pi = [0xa409_3822_299f_31d0, 0x082e_fa98_ec4e_6c89];
        assert_eq!(words([0, 0], [0, 0]), [0xc2b6_e3a8_c2c6_9865, 0x6f81_ed42_f350_084d]);
        assert_eq!(words(ones, ones), [0xe02c_b7c4_d95d_277a, 0xd066_33d0_893b_8b68]);
        assert_eq!(words(pi, more_pi), [0x263c_7d30_bb0f_0af1, 0x56be_8361_d331_1526]);
    }

    #[test]
    fn an_element_depends_on_its_place_and_key_alone() {
        let key = Array::new(&[2], vec![3i64, -7]);
        let long = run(&RandomBits::new(&[3, 3], RandomKind::Bits), &key);
        let wanted: Vec<i64> = (0..9u64)
            .map(|k| words([k / 2, 0], [3, (-7i64).cast_unsigned()])[(k % 2) as usize].cast_signed())
            .collect();
        assert_eq!(long.known::<i64>(), wanted);
        assert_eq!(run(&RandomBits::new(&[4], RandomKind::Bits), &key).known::<i64>(), &wanted[..4]);
        let units: Vec<f64> =
            wanted.iter().map(|&word| (word.cast_unsigned() >> 11) as f64 * 0.5f64.powi(53)).collect();
        let unit = RandomBits::new(&[9], RandomKind::Uniform(DType::F64));
        assert_eq!(run(&unit, &key).known::<f64>(), units);
        let units: Vec<f32> =
            wanted.iter().map(|&word| (word.cast_unsigned() >> 40) as f32 * 0.5f32.powi(24)).collect();
        let unit = RandomBits::new(&[9], RandomKind::Uniform(DType::F32));
        assert_eq!(run(&unit, &key).known::<f32>(), units);
    }

    #[test]
    fn lanes_of_keys_are_draws_of_their_own() {
        for sample in RandomBits::samples() {
            let lane = |lane: usize, _: usize, key: &Array| moved(key, lane as i64);
            check_vmap(&program_of(&sample.op, &sample.args), &sample.args, &lane);
        }
    }

    #[test]
    fn misfits_say_what_a_key_is() {
        let why = |kind, key: &Type| RandomBits::new(&[1], kind).infer(&[key]).expect_err("it does not fit").0;
        let key = Type::new(DType::I64, &[2, 3]);
        assert!(why(RandomKind::Bits, &key).starts_with("the key is i64[2,3], and has to be i64[2]"));
        assert!(why(RandomKind::Bits, &Type::new(DType::I64, &[])).starts_with("the key is i64[]"));
        let bool = RandomKind::Uniform(DType::Bool);
        assert_eq!(why(bool, &Type::new(DType::I64, &[2])), "uniform numbers are real (f32 or f64), not bool");
    }

    /// The Program of a distribution of one key.
    fn distribution(draw: fn(&mut Builder, Value, &[usize], DType) -> Value, count: usize, dtype: DType) -> Vec<f64> {
        let mut b = Builder::new();
        let key = b.input("key", Type::new(DType::I64, &[2]));
        let drawn = draw(&mut b, key, &[count], dtype);
        let out = b.finish(&[drawn]).run_reference(&[Array::new(&[2], vec![1i64, 2])]).expect("it draws");
        assert_eq!(out[0].dtype(), dtype);
        out[0].to_f64()
    }

    #[test]
    fn moments_are_those_of_the_distributions() {
        let count = 20_000;
        let mean = |x: &[f64]| x.iter().sum::<f64>() / x.len() as f64;
        let power = |x: &[f64], n: i32| mean(&x.iter().map(|x| x.powi(n)).collect::<Vec<f64>>());
        // Five standard errors of the mean of x^n.
        let near = |found: f64, wanted: f64, variance: f64| {
            assert!((found - wanted).abs() < 5.0 * (variance / count as f64).sqrt(), "{found} is not near {wanted}");
        };
        for dtype in [DType::F32, DType::F64] {
            let u = distribution(uniform, count, dtype);
            assert!(u.iter().all(|u| (0.0..1.0).contains(u)));
            near(mean(&u), 0.5, 1.0 / 12.0);
            near(power(&u, 2), 1.0 / 3.0, 4.0 / 45.0);
            let z = distribution(normal, count, dtype);
            assert!(z.iter().all(|z| z.is_finite()));
            near(mean(&z), 0.0, 1.0);
            near(power(&z, 2), 1.0, 2.0);
            near(power(&z, 3), 0.0, 15.0);
            near(power(&z, 4), 3.0, 96.0);
        }
    }

    #[test]
    fn the_middle_of_the_outermost_steps_is_inside() {
        for u in [0.0, unit_f64(u64::MAX)] {
            let middle = 2.0 * u - 1.0 + f64::EPSILON / 2.0;
            assert!(middle.abs() < 1.0 && Unary::Erfinv.eval(middle).is_finite(), "{middle}");
        }
        for u in [0.0, unit_f32(u64::MAX)] {
            assert!((2.0 * u - 1.0 + f32::EPSILON / 2.0).abs() < 1.0, "{u}");
        }
    }
}
