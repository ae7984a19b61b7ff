//! Arrays of scalars, and what the functions of the golden cases take and give.

use wengert::Real;

use crate::attrs::Attrs;
use crate::load::{Object, Stored, element_count, real};
use crate::program::Program;

/// Why a function could not be computed.
#[derive(Debug)]
pub(crate) enum Trouble {
    /// There is no such function here; its name.
    Unsupported(String),
    /// The case does not fit the function.
    Misfit(String),
}

impl From<String> for Trouble {
    fn from(why: String) -> Self {
        Trouble::Misfit(why)
    }
}

/// What a function gives.
pub(crate) type Outputs<R> = Result<Vec<Operand<R>>, Trouble>;

/// A row-major array.
#[derive(Clone, Debug)]
pub(crate) struct Array<T> {
    pub(crate) shape: Vec<usize>,
    pub(crate) data: Vec<T>,
}

impl<T: Copy> Array<T> {
    pub(crate) fn new(shape: &[usize], data: Vec<T>) -> Self {
        assert_eq!(element_count(shape), Ok(data.len()), "an array of shape {shape:?}");
        Array { shape: shape.to_vec(), data }
    }

    pub(crate) fn scalar(value: T) -> Self {
        Array { shape: Vec::new(), data: vec![value] }
    }

    pub(crate) fn vector(data: Vec<T>) -> Self {
        Array { shape: vec![data.len()], data }
    }

    /// An array of this shape with `f` of every multi-index.
    pub(crate) fn from_fn(shape: &[usize], mut f: impl FnMut(&[usize]) -> T) -> Self {
        let size = element_count(shape).expect("the shape comes from arrays that exist");
        let data = (0..size).map(|position| f(&unravel(position, shape))).collect();
        Array { shape: shape.to_vec(), data }
    }

    /// The element at a multi-index.
    pub(crate) fn at(&self, index: &[usize]) -> T {
        self.data[ravel(index, &self.shape)]
    }

    /// How many rows a matrix has.
    pub(crate) fn height(&self) -> usize {
        self.shape[0]
    }

    /// Row `i` of a matrix.
    pub(crate) fn row(&self, i: usize) -> &[T] {
        let width: usize = self.shape[1..].iter().product();
        &self.data[i * width..(i + 1) * width]
    }

    /// The rows of a matrix, also of one without columns.
    pub(crate) fn rows(&self) -> impl Iterator<Item = &[T]> {
        (0..self.height()).map(|i| self.row(i))
    }

    /// The transposed matrix.
    pub(crate) fn transposed(&self) -> Self {
        Array::from_fn(&[self.shape[1], self.shape[0]], |index| self.at(&[index[1], index[0]]))
    }

    pub(crate) fn map<U: Copy>(&self, f: impl FnMut(T) -> U) -> Array<U> {
        Array { shape: self.shape.clone(), data: self.data.iter().copied().map(f).collect() }
    }

    /// The element that belongs to a multi-index of an array this one is broadcast to.
    pub(crate) fn broadcast_at(&self, index: &[usize]) -> T {
        let skipped = index.len() - self.shape.len();
        let own: Vec<usize> =
            index[skipped..].iter().zip(&self.shape).map(|(&i, &length)| if length == 1 { 0 } else { i }).collect();
        self.at(&own)
    }
}

/// The position of a multi-index in row-major order.
pub(crate) fn ravel(index: &[usize], shape: &[usize]) -> usize {
    assert_eq!(index.len(), shape.len(), "an index into an array of shape {shape:?}");
    index.iter().zip(shape).fold(0, |position, (&i, &length)| {
        assert!(i < length, "index {index:?} lies outside of the shape {shape:?}");
        position * length + i
    })
}

/// The multi-index of a position.
pub(crate) fn unravel(mut position: usize, shape: &[usize]) -> Vec<usize> {
    let mut index = vec![0; shape.len()];
    for axis in (0..shape.len()).rev() {
        index[axis] = position % shape[axis];
        position /= shape[axis];
    }
    index
}

/// The common shape of operands by NumPy's rule: axes are matched from the last, and 1 stretches.
pub(crate) fn broadcast_shape(shapes: &[&[usize]]) -> Result<Vec<usize>, Trouble> {
    let rank = shapes.iter().map(|shape| shape.len()).max().unwrap_or(0);
    let mut common = vec![1; rank];
    for shape in shapes {
        let skipped = rank - shape.len();
        for (length, &own) in common[skipped..].iter_mut().zip(*shape) {
            match (*length, own) {
                (1, own) => *length = own,
                (_, 1) => {}
                (length, own) if length == own => {}
                _ => return Err(Trouble::Misfit(format!("shapes {shapes:?} cannot be broadcast"))),
            }
        }
    }
    Ok(common)
}

/// An input or output of a function: numbers of the carrier, or integers.
#[derive(Clone, Debug)]
pub(crate) enum Operand<R> {
    Real(Array<R>),
    Whole(Array<i64>),
}

impl<R: Real> Operand<R> {
    pub(crate) fn shape(&self) -> &[usize] {
        match self {
            Operand::Real(array) => &array.shape,
            Operand::Whole(array) => &array.shape,
        }
    }
}

impl<R> From<Array<R>> for Operand<R> {
    fn from(array: Array<R>) -> Self {
        Operand::Real(array)
    }
}

/// One real result.
pub(crate) fn one<R>(array: Array<R>) -> Outputs<R> {
    Ok(vec![Operand::Real(array)])
}

/// One scalar result.
pub(crate) fn number<R: Real>(value: R) -> Outputs<R> {
    one(Array::scalar(value))
}

/// Several real results.
pub(crate) fn several<R, const N: usize>(arrays: [Array<R>; N]) -> Outputs<R> {
    Ok(arrays.into_iter().map(Operand::Real).collect())
}

/// What a function is given.
pub(crate) struct Args<'c, R> {
    pub(crate) inputs: Vec<Operand<R>>,
    pub(crate) attrs: &'c Object,
    pub(crate) constants: &'c Object,
    /// The outputs the case expects: only their shapes are looked at.
    pub(crate) expected: &'c [Stored],
    pub(crate) program: Option<&'c Program>,
}

impl<R: Real> Args<'_, R> {
    /// Real input `k`, of any shape.
    pub(crate) fn array(&self, k: usize) -> Result<&Array<R>, Trouble> {
        match self.inputs.get(k) {
            Some(Operand::Real(array)) => Ok(array),
            Some(Operand::Whole(_)) => Err(Trouble::Misfit(format!("input {k} is not real"))),
            None => Err(Trouble::Misfit(format!("there is no input {k}"))),
        }
    }

    /// Integer input `k`, of any shape.
    pub(crate) fn integers(&self, k: usize) -> Result<&Array<i64>, Trouble> {
        match self.inputs.get(k) {
            Some(Operand::Whole(array)) => Ok(array),
            Some(Operand::Real(_)) => Err(Trouble::Misfit(format!("input {k} is not integer"))),
            None => Err(Trouble::Misfit(format!("there is no input {k}"))),
        }
    }

    fn of_rank(&self, k: usize, rank: usize) -> Result<&Array<R>, Trouble> {
        let array = self.array(k)?;
        if array.shape.len() == rank {
            Ok(array)
        } else {
            Err(Trouble::Misfit(format!("input {k} has shape {:?}; rank {rank} is needed", array.shape)))
        }
    }

    pub(crate) fn scalar(&self, k: usize) -> Result<R, Trouble> {
        self.of_rank(k, 0).map(|array| array.data[0])
    }

    pub(crate) fn vector(&self, k: usize) -> Result<&[R], Trouble> {
        self.of_rank(k, 1).map(|array| &array.data[..])
    }

    pub(crate) fn matrix(&self, k: usize) -> Result<&Array<R>, Trouble> {
        self.of_rank(k, 2)
    }

    /// The real number under a key of the attributes; also one that is written as a text.
    pub(crate) fn attr(&self, name: &str) -> Result<f64, Trouble> {
        Attrs(self.attrs).number(name)
    }

    /// The count under a key of the attributes.
    pub(crate) fn count(&self, name: &str) -> Result<usize, Trouble> {
        Attrs(self.attrs).count(name)
    }

    /// The list of numbers under a key of the function's constants.
    pub(crate) fn constant(&self, name: &str) -> Result<Vec<f64>, Trouble> {
        let misfit = |why: &str| Trouble::Misfit(format!("constant `{name}`: {why}"));
        let values = self.constants.get(name).and_then(serde_json::Value::as_array);
        let values = values.ok_or_else(|| misfit("the file lacks it"))?;
        values.iter().map(|value| real(value).map_err(|error| misfit(&error))).collect()
    }
}
