//! The functions of the golden cases as array programs: each written once over [`Tensor`].

pub(crate) mod applications;
pub(crate) mod check;
mod composite;
mod contract;
mod control;
mod conv_pool;
pub(crate) mod conventions;
pub(crate) mod elementwise;
mod fft;
mod higher;
pub(crate) mod higher_order;
mod linalg;
pub(crate) mod models;
pub(crate) mod orders;
mod programs;
mod reduce;
mod residuals;
mod shape;
pub(crate) mod sparse;
pub(crate) mod sums;
mod vmap;

use wengert::{DType, Tensor};

use crate::array::Trouble;
use crate::attrs::Attrs;
use crate::load::{Dtype, Object, Stored, real};
use crate::program::Program;

/// What a function gives.
pub(crate) type Results = Result<Vec<Tensor>, Trouble>;

/// The function of a family with this name: the one table of array programs.
pub(crate) fn call(family: &str, function: &str, args: &ArrayArgs) -> Results {
    match family {
        "unary" | "unary_higher" => elementwise::unary_call(function, args),
        "binary" => elementwise::binary_call(function, args),
        "shape" => shape::call(function, args),
        "reduce" => reduce::call(function, args),
        "contract" => contract::call(function, args),
        "linalg" => linalg::call(function, args),
        "conv_pool" => conv_pool::call(function, args),
        "composite" => composite::call(function, args),
        "mgh_hessian" => residuals::call(function, args),
        "programs" => programs::call(function, args),
        "vmap" => vmap::call(function, args),
        "applications" => applications::call(function, args),
        "control" => control::call(function, args),
        "fft" => fft::call(function, args),
        "sparse" => sparse::call(function, args),
        _ => unsupported(function),
    }
}

/// The answer where there is no function of this name.
fn unsupported<T>(function: &str) -> Result<T, Trouble> {
    Err(Trouble::Unsupported(function.to_owned()))
}

fn misfit<T>(why: impl Into<String>) -> Result<T, Trouble> {
    Err(Trouble::Misfit(why.into()))
}

/// One result.
fn one(result: Tensor) -> Results {
    Ok(vec![result])
}

/// What a function is given.
pub(crate) struct ArrayArgs<'c> {
    pub(crate) inputs: Vec<Tensor>,
    pub(crate) attrs: Attrs<'c>,
    pub(crate) constants: &'c Object,
    /// The outputs the case expects: only their shapes are looked at.
    pub(crate) expected: &'c [Stored],
    pub(crate) program: Option<&'c Program>,
}

impl ArrayArgs<'_> {
    /// The inputs, of which there must be this many.
    fn all<const N: usize>(&self) -> Result<[&Tensor; N], Trouble> {
        let inputs: Vec<&Tensor> = self.inputs.iter().collect();
        inputs.try_into().or_else(|_| misfit(format!("{} inputs instead of {N}", self.inputs.len())))
    }

    /// The first inputs, of which there may be more.
    fn first(&self) -> Result<&Tensor, Trouble> {
        self.inputs.first().ok_or_else(|| Trouble::Misfit("there is no input".to_owned()))
    }

    /// The list of numbers under a key of the function's constants.
    fn constant(&self, name: &str) -> Result<Tensor, Trouble> {
        let values = self.constants.get(name).and_then(serde_json::Value::as_array);
        let Some(values) = values else { return misfit(format!("constant `{name}`: the file lacks it")) };
        let values = values.iter().map(real).collect::<Result<Vec<f64>, String>>();
        values.map(Tensor::from).or_else(|error| misfit(format!("constant `{name}`: {error}")))
    }

    /// Whether the case expects a scalar as its first output.
    fn expects_scalar(&self) -> bool {
        self.expected.first().is_some_and(|expected| expected.shape.is_empty())
    }
}

/// A stored array as a tensor: integers of every width are `i64`.
pub(crate) fn tensor(stored: &Stored) -> Tensor {
    let (shape, data) = (&stored.shape[..], &stored.data);
    match element_type(stored.dtype) {
        DType::F64 => Tensor::from_vec(shape, data.clone()),
        DType::F32 => Tensor::from_vec(shape, data.iter().map(|&x| x as f32).collect()),
        DType::I64 => Tensor::from_vec(shape, data.iter().map(|&x| x as i64).collect()),
        DType::Bool => Tensor::from_vec(shape, data.iter().map(|&x| x != 0.0).collect()),
    }
}

/// The element type of the tensors that stand for stored arrays of this one.
pub(crate) fn element_type(dtype: Dtype) -> DType {
    match dtype {
        Dtype::F64 => DType::F64,
        Dtype::F32 => DType::F32,
        Dtype::I64 | Dtype::I32 => DType::I64,
        Dtype::Bool => DType::Bool,
    }
}

/// The elements of a vector as single numbers.
fn elements(x: &Tensor) -> Vec<Tensor> {
    let pieces = x.split(&vec![1; x.size()], 0);
    pieces.into_iter().map(|piece| piece.squeeze(0)).collect()
}

/// Single numbers as a vector.
fn vector(numbers: &[Tensor]) -> Tensor {
    Tensor::stack(&numbers.iter().collect::<Vec<_>>(), 0)
}

/// A single number.
fn number(value: f64) -> Tensor {
    Tensor::from(value)
}
