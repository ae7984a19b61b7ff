//! ndarray: its arrays of numbers as tensors, and tensors as its arrays.

use std::panic::Location;

use ndarray::{Array, ArrayBase, ArrayD, Data, Dimension, IxDyn};

use crate::array::{Array as Numbers, Element};
use crate::error::{Error, ErrorKind, OrRaise};
use crate::tensor::Tensor;

/// Without a copy if the array is contiguous in standard (row-major) order.
///
/// ```
/// use ndarray::{Array2, array};
/// use wengert::Tensor;
/// let x = Tensor::from(array![[1.0, 2.0], [3.0, 4.0]]);
/// let y: Array2<f64> = (x * 2.0).try_into()?;
/// assert_eq!(y, array![[2.0, 4.0], [6.0, 8.0]]);
/// # Ok::<(), wengert::Error>(())
/// ```
impl<T: Element, D: Dimension> From<Array<T, D>> for Tensor {
    fn from(array: Array<T, D>) -> Self {
        let shape = array.shape().to_vec();
        let count = array.len();
        if !array.is_standard_layout() {
            return Tensor::from(&array);
        }
        let (mut elements, offset) = array.into_raw_vec_and_offset();
        // A part of a larger array keeps the larger one's elements around it.
        elements.truncate(offset.unwrap_or(0) + count);
        elements.drain(..offset.unwrap_or(0));
        Numbers::new(&shape, elements).into()
    }
}

impl<T: Element, S: Data<Elem = T>, D: Dimension> From<&ArrayBase<S, D>> for Tensor {
    fn from(array: &ArrayBase<S, D>) -> Self {
        Numbers::new(array.shape(), array.iter().copied().collect()).into()
    }
}

/// Without a copy if nobody else holds the numbers.
impl<T: Element, D: Dimension> TryFrom<Tensor> for Array<T, D> {
    type Error = Error;

    #[track_caller]
    fn try_from(tensor: Tensor) -> Result<Self, Error> {
        let ty = tensor.ty().clone();
        let line = Location::caller();
        let error = |why: String| Error::new(ErrorKind::Misfit, "to_ndarray", why).of([&ty]).at(Some(line));
        if ty.dtype != T::DTYPE {
            return Err(error(format!("the elements are not {}; convert first", T::DTYPE)));
        }
        let elements = tensor.try_into_array()?.into_elements().expect("the element type was compared");
        let array = ArrayD::from_shape_vec(IxDyn(&ty.shape), elements).map_err(|why| error(why.to_string()))?;
        array.into_dimensionality().map_err(|_| {
            let axes = D::NDIM.map_or("another number of".to_owned(), |axes| axes.to_string());
            error(format!("it has {} axes, and the array {axes}", ty.rank()))
        })
    }
}

impl Tensor {
    /// The numbers as an array of ndarray; `TryFrom` does it without a copy.
    ///
    /// # Panics
    /// As [`Tensor::try_to_ndarray`] returns an error.
    #[track_caller]
    pub fn to_ndarray<T: Element>(&self) -> ArrayD<T> {
        self.try_to_ndarray().or_raise()
    }

    /// As [`Tensor::to_ndarray`], with an error instead of a panic.
    ///
    /// # Errors
    /// If the elements have another type, or as [`Tensor::try_to_array`].
    #[track_caller]
    pub fn try_to_ndarray<T: Element>(&self) -> Result<ArrayD<T>, Error> {
        ArrayD::try_from(self.clone())
    }
}
