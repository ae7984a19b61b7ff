//! A user's function of one number as a Program.

use std::sync::Arc;

use crate::array::{Array, DType, Type};
use crate::error::{Error, ErrorKind, Line};
use crate::primitives::SpectralFunction;
use crate::program::Program;
use crate::tensor::Tensor;
use crate::tensor::graph::Reading;
use crate::tensor::level::{ArrayLevel, Mapped};

/// The Program of a function of one number, which is run once, over a scalar tensor.
pub(super) fn function(name: &str, h: impl FnOnce(&Tensor) -> Tensor, line: Line) -> Result<Program, Error> {
    let refused = |why: String| Error::new(ErrorKind::Misfit, name, why).at(Some(line));
    let level = ArrayLevel::open("function of a spectrum", Reading::Symbolic);
    let number = Tensor::from_array(Array::zeros(&Type::new(DType::F64, &[])));
    let x = level.input(&number, &Mapped::Whole);
    let y = h(&x);
    let closed = level.close(&[y])?;
    if let Some(capture) = closed.captures.first() {
        return Err(refused(format!(
            "the function captures {}: nothing would flow back to it, and it is no part of the operation; it may use its \
             argument and numbers alone (a factor belongs to the matrix)",
            capture.ty()
        )));
    }
    SpectralFunction::check_program(&closed.program).map_err(|why| refused(why.0))?;
    Ok(Arc::unwrap_or_clone(closed.program))
}
