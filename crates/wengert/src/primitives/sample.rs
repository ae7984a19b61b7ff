//! [`Sample`]: a case of an operation for the rule battery.

use super::Op;
use crate::array::Array;

/// An operation and operands at which its rules are tested: inside the domain, away from kinks.
#[derive(Clone, Debug)]
pub struct Sample {
    /// The operation.
    pub op: Op,
    /// The operands.
    pub args: Vec<Array>,
}

impl Sample {
    /// A case with these operands.
    pub fn new(op: impl Into<Op>, args: &[Array]) -> Self {
        Sample { op: op.into(), args: args.to_vec() }
    }
}

/// Numbers without a pattern in `[-2, 2]`, none of them close to another or to zero: the operand of
/// a sample.
pub(crate) fn numbers(seed: u64, shape: &[usize]) -> Array {
    let count: usize = shape.iter().product();
    let elements = (0..count as u64).map(|k| {
        // The golden ratio's multiples are spread evenly and never repeat.
        let turn = (k as f64 + 1.0).mul_add(0.618_033_988_749_895, seed as f64 * 0.377);
        4.0 * (turn - turn.floor()) - 2.0
    });
    Array::new(shape, elements.collect::<Vec<f64>>())
}

/// The same in single precision.
pub(crate) fn numbers_f32(seed: u64, shape: &[usize]) -> Array {
    Array::new(shape, numbers(seed, shape).known::<f64>().iter().map(|&x| x as f32).collect::<Vec<f32>>())
}
