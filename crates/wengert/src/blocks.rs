//! [`Blocks`]: a Jacobian or Hessian of tensors, by output and input leaf.

use std::panic::Location;

use crate::array::{Array, DType, Type};
use crate::error::{Error, ErrorKind, OrRaise};
use crate::primitives::Concat;
use crate::program::{Builder, Value};
use crate::tensor::Tensor;
use crate::tensor::graph::build;

/// The derivatives of every output leaf by every input leaf.
///
/// Block `(i, j)` has the axes of output leaf i, then those of input leaf j.
///
/// ```
/// use wengert::prelude::*;
/// let (x, y) = (Tensor::from([1.0, 2.0]), Tensor::from(3.0));
/// let h = hessian((&x, &y), |(x, y)| (&x * &x).sum() * &y);
/// assert_eq!(h.block(0, 1).to_vec(), [2.0, 4.0]); // d/dx d/dy
/// assert_eq!(h.dense().shape(), [3, 3]);
/// ```
#[derive(Clone, Debug)]
pub struct Blocks {
    outputs: Vec<Type>,
    inputs: Vec<Type>,
    blocks: Vec<Tensor>,
}

impl Blocks {
    /// From the types of the outputs, the leaves of the point and the blocks, row by row.
    pub(crate) fn new(outputs: Vec<Type>, point: &[Tensor], blocks: Vec<Tensor>) -> Self {
        Blocks { outputs, inputs: point.iter().map(|leaf| leaf.ty().clone()).collect(), blocks }
    }

    /// How many output and input leaves there are.
    pub fn count(&self) -> (usize, usize) {
        (self.outputs.len(), self.inputs.len())
    }

    /// The derivative of output leaf `output` by input leaf `input`.
    ///
    /// # Panics
    /// If there is no such leaf.
    #[track_caller]
    pub fn block(&self, output: usize, input: usize) -> &Tensor {
        let (rows, columns) = self.count();
        assert!(
            output < rows && input < columns,
            "`block({output}, {input})`: there are {rows} output leaves and {columns} input leaves"
        );
        &self.blocks[output * columns + input]
    }

    /// The only block of a function of one leaf with one result.
    ///
    /// # Panics
    /// If there are several.
    #[track_caller]
    pub fn single(&self) -> &Tensor {
        assert!(
            self.blocks.len() == 1,
            "`single`: there are {} blocks; `block` and `dense` give them",
            self.blocks.len()
        );
        &self.blocks[0]
    }

    /// All numbers as one matrix: a row for every number of the outputs, a column for every number
    /// of the inputs, both in the order of the leaves.
    ///
    /// # Panics
    /// If the leaves have different element types.
    #[track_caller]
    pub fn dense(&self) -> Tensor {
        self.try_dense().or_raise()
    }

    /// As [`Blocks::dense`], with an error instead of a panic.
    ///
    /// # Errors
    /// If the leaves have different element types.
    #[track_caller]
    pub fn try_dense(&self) -> Result<Tensor, Error> {
        if self.blocks.is_empty() {
            let size = |types: &[Type]| types.iter().map(Type::size).sum();
            return Ok(Array::full(&[size(&self.outputs), size(&self.inputs)], 0.0).into());
        }
        let dtypes: Vec<DType> = self.blocks.iter().map(Tensor::dtype).collect();
        if dtypes.windows(2).any(|pair| pair[0] != pair[1]) {
            let why = "the blocks have different element types; convert the leaves first";
            let error = Error::new(ErrorKind::Misfit, "dense", why).of(self.blocks.iter().map(Tensor::ty));
            return Err(error.at(Some(Location::caller())));
        }
        let operands: Vec<&Tensor> = self.blocks.iter().collect();
        let result = build("dense", &operands, |b, blocks| Ok(vec![self.join(b, blocks)]))?;
        Ok(result.into_iter().next().expect("one result"))
    }

    fn join(&self, b: &mut Builder, blocks: &[Value]) -> Value {
        let rows = blocks.chunks(self.inputs.len().max(1)).zip(&self.outputs).map(|(row, output)| {
            let row =
                row.iter().zip(&self.inputs).map(|(&block, input)| b.reshape(block, &[output.size(), input.size()]));
            let row: Vec<Value> = row.collect();
            b.op(Concat { axis: 1 }, &row)
        });
        let rows: Vec<Value> = rows.collect();
        b.op(Concat { axis: 0 }, &rows)
    }
}
