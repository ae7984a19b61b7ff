//! [`Tensor`]: the array of a recording. Outside one its operations run at once; inside one they
//! are recorded.

pub(crate) mod compose;
mod construct;
mod convert;
pub(crate) mod derived;
mod dim;
mod display;
pub(crate) mod einsum;
mod elementwise;
pub(crate) mod graph;
mod grid;
mod index;
mod join;
pub(crate) mod level;
pub(crate) mod linalg;
mod operand;
mod operators;
mod pad;
mod quantile;
mod random;
pub(crate) mod reduce;
mod running;
mod search;
mod segment;
mod shape;
mod slice;
mod sort;
#[cfg(test)]
mod tests;
mod update;
mod window;

use std::panic::Location;

use crate::array::{Array, DType, Type};
use crate::error::{Error, ErrorKind, OrRaise};
use crate::program::Value;

pub(crate) use dim::references;

/// The families of `try_` methods of this folder.
pub(crate) mod twins {
    pub use super::construct::TryConstruct;
    pub use super::einsum::TryEinsum;
    pub use super::elementwise::{TryBinary, TryCompare, TryElementwise, TryLogic, TryUnary};
    pub use super::index::TryIndex;
    pub use super::join::TryJoin;
    pub use super::linalg::TryProduct;
    pub use super::operators::TryArithmetic;
    pub use super::pad::TryPad;
    pub use super::quantile::TryQuantile;
    pub use super::reduce::{TryArgReduce, TryReduce};
    pub use super::running::TryRunning;
    pub use super::search::TrySearch;
    pub use super::segment::TrySegment;
    pub use super::shape::TryShape;
    pub use super::slice::TrySlice;
    pub use super::sort::TrySort;
    pub use super::window::{TryConvolve, TryPool};
}

pub use dim::{Axes, Dim, Dims};
pub use join::Parts;
pub use operand::IntoOperand;
pub use pad::{Amount, Padding};
pub use quantile::{Interpolation, Quantiles};
pub use random::Key;
pub use search::Bound;
pub(crate) use search::{at, places};
pub use slice::{AxisIndex, Place, Ranges, span, step};
pub use update::{IntoUpdate, Part, SliceMut};
pub use window::{ConvOptions, Pool};

/// An array with element type and shape at run time. Cloning is cheap; a clone is a value of its
/// own.
///
/// ```
/// use wengert::prelude::*;
/// let x = Tensor::from([1.0, 2.0, 3.0]);
/// assert_eq!(x.shape(), [3]);
/// assert_eq!(x.to_vec(), [1.0, 2.0, 3.0]);
/// ```
///
/// | to | there are |
/// |---|---|
/// | make | [`zeros`](Tensor::zeros) [`ones`](Tensor::ones) [`full`](Tensor::full) [`eye`](Tensor::eye) [`arange`](Tensor::arange) [`linspace`](Tensor::linspace) [`from_vec`](Tensor::from_vec), and `From` of numbers, arrays, vectors |
/// | look | [`shape`](Tensor::shape) [`dtype`](Tensor::dtype) [`rank`](Tensor::rank) [`size`](Tensor::size) [`item`](Tensor::item) [`to_vec`](Tensor::to_vec) [`to_array`](Tensor::to_array) |
/// | reshape | [`reshape`](Tensor::reshape) [`flatten`](Tensor::flatten) [`permute`](Tensor::permute) [`swap_axes`](Tensor::swap_axes) [`move_axis`](Tensor::move_axis) [`expand_dims`](Tensor::expand_dims) [`squeeze`](Tensor::squeeze) [`broadcast_to`](Tensor::broadcast_to) |
/// | take parts | [`slice`](Tensor::slice) [`take`](Tensor::take) [`take_along_axis`](Tensor::take_along_axis) [`split`](Tensor::split) [`unstack`](Tensor::unstack) [`diagonal`](Tensor::diagonal) |
/// | put together | [`concat`](Tensor::concat) [`stack`](Tensor::stack) [`tile`](Tensor::tile) [`repeat`](Tensor::repeat) [`pad`](Tensor::pad) [`roll`](Tensor::roll) [`flip`](Tensor::flip) |
/// | write | [`slice_mut`](Tensor::slice_mut) [`scatter_add`](Tensor::scatter_add) [`scatter_set`](Tensor::scatter_set) [`dynamic_update_slice`](Tensor::dynamic_update_slice) |
/// | add up | [`sum`](Tensor::sum) [`mean`](Tensor::mean) [`var`](Tensor::var) [`std`](Tensor::std) [`prod`](Tensor::prod) [`max`](Tensor::max) [`min`](Tensor::min) [`logsumexp`](Tensor::logsumexp) [`norm`](Tensor::norm), of all elements; `sum_over` along axes, `sum_keep` with axes of length 1 left |
/// | run along | [`cumsum`](Tensor::cumsum) [`cumprod`](Tensor::cumprod) [`cummax`](Tensor::cummax) [`cumlogsumexp`](Tensor::cumlogsumexp) |
/// | order | [`sort`](Tensor::sort) [`argsort`](Tensor::argsort) [`top_k`](Tensor::top_k) [`median`](Tensor::median) [`search_sorted`](Tensor::search_sorted) [`argmax`](Tensor::argmax) [`argmin`](Tensor::argmin) |
/// | compare and choose | [`lt`](Tensor::lt) [`le`](Tensor::le) [`gt`](Tensor::gt) [`ge`](Tensor::ge) [`eq`](Tensor::eq) [`ne`](Tensor::ne) [`where_`](Tensor::where_) [`clamp`](Tensor::clamp) [`maximum`](Tensor::maximum) [`minimum`](Tensor::minimum) |
/// | multiply | [`matmul`](Tensor::matmul) [`dot`](Tensor::dot) [`outer`](Tensor::outer) [`tensordot`](Tensor::tensordot) [`einsum`](Tensor::einsum) |
/// | elementwise | [`exp`](Tensor::exp) [`ln`](Tensor::ln) [`sqrt`](Tensor::sqrt) [`sin`](Tensor::sin) [`tanh`](Tensor::tanh) [`sigmoid`](Tensor::sigmoid) [`relu`](Tensor::relu) [`powf`](Tensor::powf), and the other functions of [`ops`](crate::ops) |
/// | models | [`linear`](Tensor::linear) [`conv2d`](Tensor::conv2d) [`max_pool`](Tensor::max_pool) [`softmax`](Tensor::softmax) [`layer_norm`](Tensor::layer_norm) [`embedding`](Tensor::embedding) [`softmax_cross_entropy`](Tensor::softmax_cross_entropy), listed in [`nn`](crate::nn) |
/// | matrices | [`solve`](Tensor::solve) [`cholesky`](Tensor::cholesky) [`qr`](Tensor::qr) [`eigh`](Tensor::eigh) [`svd`](Tensor::svd) [`det`](Tensor::det) [`expm`](Tensor::expm), listed in [`linalg`](crate::linalg) |
/// | convert | [`convert`](Tensor::convert) [`to_f32`](Tensor::to_f32) [`to_f64`](Tensor::to_f64) [`to_i64`](Tensor::to_i64) [`to_var`](Tensor::to_var) [`detach`](Tensor::detach) |
///
/// Operators take tensors by value or by reference, and numbers on either side. The page [Arrays](crate::guide::arrays) explains shapes,
/// loops and mapped functions.
#[derive(Clone)]
pub struct Tensor(Repr);

#[derive(Clone)]
enum Repr {
    /// Numbers.
    Known(Array),
    /// A value of a recording that is under way.
    Traced(Traced),
}

/// A value of the Program of the recording with this generation.
#[derive(Clone, Debug)]
pub(crate) struct Traced {
    pub(crate) generation: u64,
    pub(crate) value: Value,
    pub(crate) ty: Type,
}

impl Tensor {
    /// A tensor of these numbers.
    ///
    /// ```
    /// use wengert::{Array, Tensor};
    /// assert_eq!(Tensor::from_array(Array::new(&[2], vec![1.0, 2.0])).to_vec(), [1.0, 2.0]);
    /// ```
    pub fn from_array(array: Array) -> Self {
        Tensor(Repr::Known(array))
    }

    pub(crate) fn traced(generation: u64, value: Value, ty: Type) -> Self {
        Tensor(Repr::Traced(Traced { generation, value, ty }))
    }

    /// The numbers, if this is not a value of a recording.
    pub(crate) fn known(&self) -> Option<&Array> {
        match &self.0 {
            Repr::Known(array) => Some(array),
            Repr::Traced(_) => None,
        }
    }

    pub(crate) fn as_traced(&self) -> Option<&Traced> {
        match &self.0 {
            Repr::Known(_) => None,
            Repr::Traced(traced) => Some(traced),
        }
    }

    /// The numbers for writing; `None` for a value of a recording.
    pub(crate) fn known_mut(&mut self) -> Option<&mut Array> {
        match &mut self.0 {
            Repr::Known(array) => Some(array),
            Repr::Traced(_) => None,
        }
    }

    /// Element type and shape.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::zeros(&[2, 3]).ty().to_string(), "f64[2,3]");
    /// ```
    pub fn ty(&self) -> &Type {
        match &self.0 {
            Repr::Known(array) => array.ty(),
            Repr::Traced(traced) => &traced.ty,
        }
    }

    /// The lengths of the axes; none for a single number.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from([[1.0, 2.0]]).shape(), [1, 2]);
    /// ```
    #[doc(alias("sizes", "dims"))]
    pub fn shape(&self) -> &[usize] {
        &self.ty().shape
    }

    /// The type of the elements.
    ///
    /// ```
    /// use wengert::{DType, Tensor};
    /// assert_eq!(Tensor::from([1i64, 2]).dtype(), DType::I64);
    /// ```
    #[doc(alias = "element_type")]
    pub fn dtype(&self) -> DType {
        self.ty().dtype
    }

    /// The number of axes.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from([[1.0, 2.0]]).rank(), 2);
    /// ```
    #[doc(alias = "ndim")]
    pub fn rank(&self) -> usize {
        self.ty().rank()
    }

    /// The number of elements.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from([[1.0, 2.0]]).size(), 2);
    /// ```
    #[doc(alias("numel", "len"))]
    pub fn size(&self) -> usize {
        self.ty().size()
    }

    /// The numbers of a constant: of a tensor that no variable of a driver under way flows into, of one
    /// that was [detached](Tensor::detach), of truth values, indices and steps (`floor`, …). Inside a
    /// recording the operations before are run for it.
    ///
    /// Printing needs no permission, and a comparison steers with [`Tensor::test`].
    ///
    /// ```
    /// use wengert::prelude::*;
    /// // Divided by its own norm as a plain number, on purpose: the derivative leaves the norm out.
    /// let scaled = |x: Tensor| (&x / x.detach().norm().item()).sum();
    /// assert_eq!(grad(&Tensor::from([3.0, 4.0]), scaled).to_vec(), [0.2, 0.2]);
    /// ```
    ///
    /// # Panics
    /// If a derivative flows to it from a variable of a driver under way: what is computed from the
    /// numbers would be missing from that derivative. Compute with the tensor itself, or say `detach`
    /// first; [`Grad::status`](crate::Grad::status) then reports what was cut.
    ///
    /// Where no numbers exist yet: inside `vmap`, the branches of `cond`, and while a function is
    /// compiled; inside [`record`](crate::record), where they would be frozen; or if the recording has
    /// ended.
    #[track_caller]
    pub fn to_array(&self) -> Array {
        graph::read(self, "to_array").or_raise()
    }

    /// As [`Tensor::to_array`], with an error instead of a panic.
    ///
    /// # Errors
    /// Where [`Tensor::to_array`] panics.
    #[track_caller]
    pub fn try_to_array(&self) -> Result<Array, Error> {
        graph::read(self, "to_array")
    }

    /// As [`Tensor::try_to_array`], giving up the tensor, so that its numbers need not be copied.
    ///
    /// # Errors
    /// As [`Tensor::try_to_array`].
    #[track_caller]
    pub fn try_into_array(self) -> Result<Array, Error> {
        match self.0 {
            Repr::Known(array) => Ok(array),
            Repr::Traced(_) => graph::read(&self, "to_array"),
        }
    }

    /// The elements as `f64` in row-major order; see [`Tensor::to_array`].
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from([[1i64, 2], [3, 4]]).to_vec(), [1.0, 2.0, 3.0, 4.0]);
    /// ```
    #[doc(alias = "tolist")]
    #[track_caller]
    pub fn to_vec(&self) -> Vec<f64> {
        graph::read(self, "to_vec").or_raise().to_f64()
    }

    /// The number of a tensor with one element, as `f64`; see [`Tensor::to_array`].
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from([1.0, 2.5]).sum().item(), 3.5);
    /// ```
    ///
    /// # Panics
    /// If it does not have exactly one element, and as [`Tensor::to_array`].
    #[doc(alias("to_scalar", "value"))]
    #[track_caller]
    pub fn item(&self) -> f64 {
        self.try_item().or_raise()
    }

    /// As [`Tensor::item`], with an error instead of a panic.
    ///
    /// # Errors
    /// If it does not have exactly one element, and as [`Tensor::try_to_array`].
    #[track_caller]
    pub fn try_item(&self) -> Result<f64, Error> {
        if self.size() != 1 {
            return Err(self.misfit("item", "it has to have exactly one element"));
        }
        Ok(graph::read(self, "item")?.to_f64()[0])
    }

    /// The truth value of a tensor with one, to steer Rust's control flow by a comparison.
    ///
    /// The derivative is that of the way taken. Where numbers do not exist yet, as inside `vmap` and in
    /// a compiled function, [`cond`](crate::cond) and [`where_`](Tensor::where_) choose.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let f = |x: Tensor| if x.sum().gt(0.0).test() { x.square().sum() } else { x.sum() };
    /// assert_eq!(grad(&Tensor::from([1.0, 2.0]), f).to_vec(), [2.0, 4.0]);
    /// ```
    ///
    /// # Panics
    /// If it is not a single truth value, and where no numbers exist: see [`Tensor::to_array`].
    #[track_caller]
    pub fn test(&self) -> bool {
        self.try_test().or_raise()
    }

    /// As [`Tensor::test`], with an error instead of a panic.
    ///
    /// # Errors
    /// Where [`Tensor::test`] panics.
    #[track_caller]
    pub fn try_test(&self) -> Result<bool, Error> {
        if self.size() != 1 || self.dtype() != DType::Bool {
            let why = "it has to be a single truth value; compare first, and reduce with `all` or `any`";
            return Err(self.misfit("test", why));
        }
        Ok(graph::read(self, "test")?.known::<bool>()[0])
    }

    #[track_caller]
    fn misfit(&self, name: &str, why: &str) -> Error {
        Error::new(ErrorKind::Misfit, name, why).of([self.ty()]).at(Some(Location::caller()))
    }
}
