//! Data that any language can make: a hash of the seed and the position.

use wengert::{Array, DType, Tensor};

/// A number in [0, 1), exact in f64.
pub(super) fn unit(seed: u64, i: u64) -> f64 {
    let s = (seed << 32).wrapping_add(i).wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let z = (s ^ (s >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    let z = z ^ (z >> 31);
    (z >> 11) as f64 * (-53f64).exp2()
}

/// A number in [-1, 1).
pub(super) fn signed(seed: u64, i: u64) -> f64 {
    2.0 * unit(seed, i) - 1.0
}

/// A tensor of what `f` gives for every row-major position, computed in f64 and rounded once.
pub(super) fn tensor(dtype: DType, shape: &[usize], f: impl FnMut(u64) -> f64) -> Tensor {
    let numbers = (0..shape.iter().product::<usize>() as u64).map(f);
    match dtype {
        // Straight to single precision: the largest array would take three times its memory for a moment.
        DType::F32 => Tensor::from_vec(shape, numbers.map(|number| number as f32).collect::<Vec<f32>>()),
        _ => Tensor::from(Array::new(shape, numbers.collect::<Vec<f64>>())).convert(dtype),
    }
}

/// Numbers in [0, 1).
pub(super) fn unsigned(dtype: DType, shape: &[usize], seed: u64) -> Tensor {
    tensor(dtype, shape, |i| unit(seed, i))
}

/// `scale` times numbers in [-1, 1).
pub(super) fn uniform(dtype: DType, shape: &[usize], seed: u64, scale: f64) -> Tensor {
    tensor(dtype, shape, |i| scale * signed(seed, i))
}

/// 1 plus `scale` times numbers in [-1, 1).
pub(super) fn around_one(dtype: DType, shape: &[usize], seed: u64, scale: f64) -> Tensor {
    tensor(dtype, shape, |i| 1.0 + scale * signed(seed, i))
}

/// Integers below `classes`.
pub(super) fn labels(shape: &[usize], seed: u64, classes: usize) -> Tensor {
    let size: usize = shape.iter().product();
    let label = |i: u64| (classes as f64 * unit(seed, i)).floor() as i64;
    Array::new(shape, (0..size as u64).map(label).collect::<Vec<i64>>()).into()
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_first_numbers_are_those_of_other_languages() {
        let first = [0, 1, 2].map(|i| super::unit(100, i));
        assert_eq!(first, [0.6499520909482093, 0.23307760467863325, 0.6703320262597976]);
    }
}
