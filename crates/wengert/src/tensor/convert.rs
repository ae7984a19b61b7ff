//! Tensors from numbers, and to them.

use super::Tensor;
use crate::array::{Array, Element};

impl From<Array> for Tensor {
    fn from(array: Array) -> Self {
        Tensor::from_array(array)
    }
}

/// The same tensor.
impl From<&Tensor> for Tensor {
    fn from(tensor: &Tensor) -> Self {
        tensor.clone()
    }
}

impl<T: Element> From<T> for Tensor {
    fn from(value: T) -> Self {
        Array::scalar(value).into()
    }
}

impl<T: Element> From<Vec<T>> for Tensor {
    fn from(elements: Vec<T>) -> Self {
        Array::new(&[elements.len()], elements).into()
    }
}

impl<T: Element> From<&[T]> for Tensor {
    fn from(elements: &[T]) -> Self {
        elements.to_vec().into()
    }
}

impl<T: Element, const N: usize> From<[T; N]> for Tensor {
    fn from(elements: [T; N]) -> Self {
        elements.to_vec().into()
    }
}

impl<T: Element, const N: usize, const M: usize> From<[[T; N]; M]> for Tensor {
    fn from(rows: [[T; N]; M]) -> Self {
        Array::new(&[M, N], rows.concat()).into()
    }
}
