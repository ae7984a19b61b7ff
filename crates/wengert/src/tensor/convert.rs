//! Tensors from numbers, and to them.

use super::Tensor;
use super::compose::refuse;
use crate::array::{Array, Element};
use crate::error::{Error, OrRaise};

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

impl<T: Element, const N: usize> From<Vec<[T; N]>> for Tensor {
    fn from(rows: Vec<[T; N]>) -> Self {
        Array::new(&[rows.len(), N], rows.concat()).into()
    }
}

impl<T: Element, const N: usize> From<&[[T; N]]> for Tensor {
    fn from(rows: &[[T; N]]) -> Self {
        Array::new(&[rows.len(), N], rows.concat()).into()
    }
}

impl<T: Element, const N: usize, const M: usize> From<Vec<[[T; N]; M]>> for Tensor {
    fn from(blocks: Vec<[[T; N]; M]>) -> Self {
        Array::new(&[blocks.len(), M, N], blocks.concat().concat()).into()
    }
}

impl<T: Element, const N: usize, const M: usize, const L: usize> From<[[[T; N]; M]; L]> for Tensor {
    fn from(blocks: [[[T; N]; M]; L]) -> Self {
        Array::new(&[L, M, N], blocks.concat().concat()).into()
    }
}

/// Rows of one length.
///
/// # Panics
/// If the lengths of the rows differ.
impl<T: Element> From<Vec<Vec<T>>> for Tensor {
    #[track_caller]
    fn from(rows: Vec<Vec<T>>) -> Self {
        from_rows(&rows).or_raise()
    }
}

/// Rows of one length.
///
/// # Panics
/// If the lengths of the rows differ.
impl<T: Element, const N: usize> From<[Vec<T>; N]> for Tensor {
    #[track_caller]
    fn from(rows: [Vec<T>; N]) -> Self {
        from_rows(&rows).or_raise()
    }
}

/// The rows as a matrix; without a row it has no columns either.
#[track_caller]
fn from_rows<T: Element>(rows: &[Vec<T>]) -> Result<Tensor, Error> {
    let columns = rows.first().map_or(0, Vec::len);
    if let Some(other) = rows.iter().position(|row| row.len() != columns) {
        let why = format!("row {other} has {} elements, and row 0 has {columns}", rows[other].len());
        return refuse("from", &[], why);
    }
    Ok(Array::new(&[rows.len(), columns], rows.concat()).into())
}
