//! Tensors from a rule: zeros, ones, ranges, the identity.

use super::Tensor;
use super::compose::{check_count, compose, refuse, twins};
use super::operand::{IntoOperand, PlainNumber, Written, number};
use crate::array::{Array, DType, Element, Type, element_count, has_room};
use crate::error::{Error, OrRaise};
use crate::ops::Compare;
use crate::primitives::{Broadcast, Iota};

/// The panicking twins of the constructors.
macro_rules! constructors {
    ($( $(#[$about:meta])* fn $name:ident = $twin:ident ($($arg:ident : $ty:ty),*); )*) => {
        impl Tensor { $(
            $(#[$about])*
            ///
            /// # Panics
            #[doc = concat!("As [`Tensor::", stringify!($twin), "`] returns an error.")]
            #[track_caller]
            pub fn $name($($arg: $ty),*) -> Tensor {
                Self::$twin($($arg),*).or_raise()
            }
        )* }

        twins! { TryConstruct: "tensors from a rule"; $(
            #[doc = concat!("As [`Tensor::", stringify!($name), "`], with an error instead of a panic.")]
            ///
            /// # Errors
            /// Where that panics.
            fn $twin($($arg: $ty),*) -> Result<Tensor, Error>;
        )* }
    };
}
constructors! {
    /// Zeros in double precision.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::zeros(&[2]).to_vec(), [0.0, 0.0]);
    /// ```
    fn zeros = try_zeros(shape: &[usize]);
    /// Zeros (`false`) of an element type.
    ///
    /// ```
    /// use wengert::{DType, Tensor};
    /// assert_eq!(Tensor::zeros_of(DType::I64, &[2]).to_vec(), [0.0, 0.0]);
    /// ```
    #[doc(alias = "zeros_like")]
    fn zeros_of = try_zeros_of(dtype: DType, shape: &[usize]);
    /// Ones in double precision.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::ones(&[2]).to_vec(), [1.0, 1.0]);
    /// ```
    fn ones = try_ones(shape: &[usize]);
    /// Ones (`true`) of an element type.
    ///
    /// ```
    /// use wengert::{DType, Tensor};
    /// assert_eq!(Tensor::ones_of(DType::F32, &[2]).dtype(), DType::F32);
    /// ```
    #[doc(alias = "ones_like")]
    fn ones_of = try_ones_of(dtype: DType, shape: &[usize]);
    /// The same number everywhere: double precision, integers or truth values, as the number is.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::full(&[2], 0.5).to_vec(), [0.5, 0.5]);
    /// ```
    fn full = try_full(shape: &[usize], value: impl IntoOperand);
    /// The same number everywhere, of an element type.
    ///
    /// ```
    /// use wengert::{DType, Tensor};
    /// assert_eq!(Tensor::full_of(DType::F32, &[2], 0.5).to_vec(), [0.5, 0.5]);
    /// ```
    #[doc(alias = "full_like")]
    fn full_of = try_full_of(dtype: DType, shape: &[usize], value: impl IntoOperand);
    /// These elements in row-major order.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let x = Tensor::from_vec(&[2, 2], vec![1.0, 2.0, 3.0, 4.0]);
    /// assert_eq!(x.shape(), [2, 2]);
    /// ```
    #[doc(alias("tensor", "from_numpy", "asarray"))]
    fn from_vec = try_from_vec(shape: &[usize], elements: Vec<impl Element>);
    /// The numbers `start, start + step, …` before `end`, in double precision.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::arange(1.0, 2.0, 0.25).to_vec(), [1.0, 1.25, 1.5, 1.75]);
    /// ```
    #[doc(alias = "range")]
    fn arange = try_arange(start: f64, end: f64, step: f64);
    /// `count` numbers from `start` to `end`, both included, in double precision.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::linspace(1.0, 2.0, 5).to_vec(), [1.0, 1.25, 1.5, 1.75, 2.0]);
    /// ```
    fn linspace = try_linspace(start: f64, end: f64, count: usize);
    /// The identity matrix in double precision.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::eye(2).to_vec(), [1.0, 0.0, 0.0, 1.0]);
    /// ```
    #[doc(alias = "identity")]
    fn eye = try_eye(n: usize);
    /// The integers `0, 1, …, n - 1`.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::iota(3).to_vec(), [0.0, 1.0, 2.0]);
    /// ```
    #[doc(alias = "range")]
    fn iota = try_iota(n: usize);
}

impl TryConstruct for Tensor {
    /// As [`Tensor::zeros`], with an error instead of a panic.
    ///
    /// # Errors
    /// If the shape does not fit in memory.
    #[track_caller]
    fn try_zeros(shape: &[usize]) -> Result<Tensor, Error> {
        constant("zeros", PlainNumber::Real(0.0), &Type::new(DType::F64, shape))
    }

    /// As [`Tensor::zeros_of`], with an error instead of a panic.
    ///
    /// # Errors
    /// If the shape does not fit in memory.
    #[track_caller]
    fn try_zeros_of(dtype: DType, shape: &[usize]) -> Result<Tensor, Error> {
        constant(
            "zeros_of",
            if dtype == DType::Bool { PlainNumber::Bool(false) } else { PlainNumber::Whole(0) },
            &Type::new(dtype, shape),
        )
    }

    /// As [`Tensor::ones`], with an error instead of a panic.
    ///
    /// # Errors
    /// If the shape does not fit in memory.
    #[track_caller]
    fn try_ones(shape: &[usize]) -> Result<Tensor, Error> {
        constant("ones", PlainNumber::Real(1.0), &Type::new(DType::F64, shape))
    }

    /// As [`Tensor::ones_of`], with an error instead of a panic.
    ///
    /// # Errors
    /// If the shape does not fit in memory.
    #[track_caller]
    fn try_ones_of(dtype: DType, shape: &[usize]) -> Result<Tensor, Error> {
        constant(
            "ones_of",
            if dtype == DType::Bool { PlainNumber::Bool(true) } else { PlainNumber::Whole(1) },
            &Type::new(dtype, shape),
        )
    }

    /// As [`Tensor::full`], with an error instead of a panic.
    ///
    /// # Errors
    /// If the shape does not fit in memory, or `value` is a tensor of another shape than `[]`.
    #[track_caller]
    fn try_full(shape: &[usize], value: impl IntoOperand) -> Result<Tensor, Error> {
        match value.into_operand() {
            Written::Number(value) => constant("full", value, &Type::new(value.dtype(), shape)),
            Written::Tensor(value) => spread("full", &value, shape),
        }
    }

    /// As [`Tensor::full_of`], with an error instead of a panic.
    ///
    /// # Errors
    /// If the shape does not fit in memory, or the value is no element of the type.
    #[track_caller]
    fn try_full_of(dtype: DType, shape: &[usize], value: impl IntoOperand) -> Result<Tensor, Error> {
        match value.into_operand() {
            Written::Number(value) => constant("full_of", value, &Type::new(dtype, shape)),
            Written::Tensor(value) if value.dtype() == dtype => spread("full_of", &value, shape),
            Written::Tensor(value) => {
                refuse("full_of", &[&value], format!("the value is not of type {dtype}; convert first"))
            }
        }
    }

    /// As [`Tensor::from_vec`], with an error instead of a panic.
    ///
    /// # Errors
    /// If the shape does not have this number of elements.
    #[track_caller]
    fn try_from_vec(shape: &[usize], elements: Vec<impl Element>) -> Result<Tensor, Error> {
        if element_count(shape) != Some(elements.len()) {
            let why = format!("the shape {shape:?} does not have {} elements", elements.len());
            return refuse("from_vec", &[], why);
        }
        Ok(Array::new(shape, elements).into())
    }

    /// As [`Tensor::arange`], with an error instead of a panic.
    ///
    /// # Errors
    /// If `step` is zero, or a number is not finite, or there are more numbers than memory holds.
    #[track_caller]
    fn try_arange(start: f64, end: f64, step: f64) -> Result<Tensor, Error> {
        let count = ((end - start) / step).ceil();
        if !count.is_finite() || !start.is_finite() || step == 0.0 {
            return refuse("arange", &[], format!("there is no range from {start} to {end} in steps of {step}"));
        }
        let count = count.max(0.0) as usize;
        if let Err(why) = check_count(&[count]) {
            return refuse("arange", &[], why);
        }
        listed("arange", count, |k| start + k as f64 * step)
    }

    /// As [`Tensor::linspace`], with an error instead of a panic.
    ///
    /// # Errors
    /// If there are more numbers than memory holds.
    #[track_caller]
    fn try_linspace(start: f64, end: f64, count: usize) -> Result<Tensor, Error> {
        if let Err(why) = check_count(&[count]) {
            return refuse("linspace", &[], why);
        }
        let last = count.saturating_sub(1).max(1) as f64;
        // Weighted, so that both ends are met to the bit.
        let at = |k: usize| {
            let weight = k as f64 / last;
            start * (1.0 - weight) + end * weight
        };
        listed("linspace", count, at)
    }

    /// As [`Tensor::eye`], with an error instead of a panic.
    ///
    /// # Errors
    /// If it does not fit in memory.
    #[track_caller]
    fn try_eye(n: usize) -> Result<Tensor, Error> {
        compose("eye", &[], |b, _| {
            check_count(&[n, n])?;
            let numbers = b.op(Iota { length: n }, &[]);
            let [rows, columns] = [0, 1].map(|axis| b.op(Broadcast::new(&[n, n], &[axis]), &[numbers]));
            let diagonal = b.op(Compare::Eq, &[rows, columns]);
            Ok(b.convert(diagonal, DType::F64))
        })
    }

    /// As [`Tensor::iota`], with an error instead of a panic.
    ///
    /// # Errors
    /// If it does not fit in memory.
    #[track_caller]
    fn try_iota(n: usize) -> Result<Tensor, Error> {
        compose("iota", &[], |b, _| {
            check_count(&[n])?;
            Ok(b.op(Iota { length: n }, &[]))
        })
    }
}

/// A vector of numbers by their places.
#[track_caller]
fn listed(name: &str, count: usize, at: impl Fn(usize) -> f64) -> Result<Tensor, Error> {
    if !has_room(count, size_of::<f64>()) {
        return refuse(name, &[], format!("there is no memory for the result f64[{count}]"));
    }
    Ok((0..count).map(at).collect::<Vec<f64>>().into())
}

#[track_caller]
fn constant(name: &str, value: PlainNumber, ty: &Type) -> Result<Tensor, Error> {
    compose(name, &[], |b, _| number(b, value, ty))
}

#[track_caller]
fn spread(name: &str, value: &Tensor, shape: &[usize]) -> Result<Tensor, Error> {
    compose(name, &[value], |b, args| {
        super::compose::check_stretch(b.shape(args[0]), shape)?;
        Ok(super::compose::stretch(b, args[0], shape))
    })
}
