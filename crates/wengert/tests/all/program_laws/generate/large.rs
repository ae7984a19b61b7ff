//! Programs of large arrays: long enough for lanes, parts, products by the library and recomputation.

use std::collections::BTreeMap;

use wengert::primitives::Op;
use wengert::{Array, DType, Type};

use super::{Generated, Generator, Scale, numbers};
use crate::support::Random;

/// Elements of an array at most.
const MOST: usize = 20_000;

/// What a large Program is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Large {
    /// Everything.
    Anything,
    /// What becomes regions.
    Regions,
}

/// A Program whose arrays have 100 to 20,000 elements, and small ones beside.
pub(crate) fn generate_large(seed: u64, steps: usize, what: Large) -> Generated {
    let mut random = Random::new(seed ^ 0x1a26e);
    let fusing = what == Large::Regions;
    // Few lengths, so that shapes meet: one that makes lanes, or is long alone.
    let long = [64, 65, 100, 128, 300, 700, 2048, 5000][random.below(8)];
    let short = |random: &mut Random| [1, 2, 3, 4, 5, 8, 16, 31, 32, 48][random.below(10)];
    let lengths = vec![long, short(&mut random), short(&mut random), 1 + random.below(90)];
    let mut generator =
        Generator::new(random.next(), 0, seed % 2 == 1, Scale { largest: MOST, lengths: lengths.clone(), fusing });
    let mut args = Vec::new();
    for k in 0..2 + random.below(3) {
        let dtype = generator.allowed(if k == 0 { DType::F64 } else { DType::ALL[random.below(4)] });
        let mut shape = vec![long];
        for _ in 0..random.below(3) {
            let length = lengths[random.below(lengths.len())];
            if shape.iter().product::<usize>() * length <= MOST {
                shape.insert(random.below(shape.len() + 1), length);
            }
        }
        if k > 0 && random.below(3) == 0 {
            shape.remove(random.below(shape.len()));
        }
        let arg = numbers(&mut random, &Type::new(dtype, &shape));
        generator.input(&arg);
        args.push(arg);
    }
    for _ in 0..steps {
        generator.step();
    }
    Generated { program: generator.finish(), args }
}

/// Multiply-adds of a contraction or convolution by its definition.
pub(super) fn work(op: &Op, operands: &[&Type], results: &[Type]) -> usize {
    match op {
        Op::Einsum(einsum) => {
            let labels = einsum.lhs().iter().zip(&operands[0].shape).chain(einsum.rhs().iter().zip(&operands[1].shape));
            let lengths: BTreeMap<u8, usize> = labels.map(|(&label, &length)| (label, length)).collect();
            lengths.values().product()
        }
        Op::Conv(_) => results[0].size() * operands[1].size() / operands[1].shape[0].max(1),
        _ => 0,
    }
}

/// Whether no number is so large that its derivatives overflow: products of many elements grow without a bound.
pub(super) fn is_tame(array: &Array) -> bool {
    !array.dtype().is_float() || array.to_f64().iter().all(|x| x.abs() < 1e7)
}
