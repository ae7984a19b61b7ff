//! [`Array`]: plain numbers in a shape, without any derivative; the values that Programs run on.

#[cfg(feature = "npy")]
mod npy;
#[cfg(any(feature = "npy", feature = "safetensors"))]
pub(crate) mod stored;
mod walk;

use std::fmt;
use std::sync::Arc;

#[cfg(feature = "npy")]
pub(crate) use npy::scan_npz;
pub(crate) use walk::{Strided, element_count, for_each_index, has_room, row_major};

/// The type of an array's elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum DType {
    /// `true` and `false`.
    Bool,
    /// 64-bit integers; arithmetic wraps around.
    I64,
    /// Single precision.
    F32,
    /// Double precision.
    F64,
}

impl DType {
    /// Every element type.
    pub const ALL: [DType; 4] = [DType::Bool, DType::I64, DType::F32, DType::F64];

    /// The name, as in the text form of a Program.
    pub const fn name(self) -> &'static str {
        match self {
            DType::Bool => "bool",
            DType::I64 => "i64",
            DType::F32 => "f32",
            DType::F64 => "f64",
        }
    }

    /// Whether the elements are real numbers: only these have derivatives.
    pub const fn is_float(self) -> bool {
        matches!(self, DType::F32 | DType::F64)
    }

    /// Bytes of one element.
    pub const fn size(self) -> usize {
        match self {
            DType::Bool => 1,
            DType::F32 => 4,
            DType::I64 | DType::F64 => 8,
        }
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Element type and shape: what is known of a value before it is computed.
///
/// ```
/// use wengert::{DType, Type};
/// assert_eq!(Type::new(DType::F64, &[3, 4]).to_string(), "f64[3,4]");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Type {
    /// The type of the elements.
    pub dtype: DType,
    /// The lengths of the axes; none for a single number.
    pub shape: Vec<usize>,
}

impl Type {
    /// A type.
    pub fn new(dtype: DType, shape: &[usize]) -> Self {
        Type { dtype, shape: shape.to_vec() }
    }

    /// The number of axes.
    pub fn rank(&self) -> usize {
        self.shape.len()
    }

    /// The number of elements. A type whose count overflows is refused where it is made.
    pub fn size(&self) -> usize {
        self.shape.iter().product()
    }

    /// The bytes of an array of this type; the most there are if they cannot be counted.
    pub(crate) fn bytes(&self) -> usize {
        self.size().saturating_mul(self.dtype.size())
    }

    /// The same shape with other elements.
    pub fn with_dtype(&self, dtype: DType) -> Self {
        Type { dtype, shape: self.shape.clone() }
    }

    /// The same elements in another shape.
    pub fn with_shape(&self, shape: Vec<usize>) -> Self {
        Type { dtype: self.dtype, shape }
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}[", self.dtype)?;
        for (k, length) in self.shape.iter().enumerate() {
            write!(f, "{}{length}", if k == 0 { "" } else { "," })?;
        }
        f.write_str("]")
    }
}

/// The elements of an array in row-major order, shared until one holder writes.
#[derive(Clone, Debug)]
pub enum Data {
    /// Truth values.
    Bool(Arc<Vec<bool>>),
    /// Integers.
    I64(Arc<Vec<i64>>),
    /// Single precision.
    F32(Arc<Vec<f32>>),
    /// Double precision.
    F64(Arc<Vec<f64>>),
}

/// A type that array elements can have: `bool`, `i64`, `f32`, `f64`. Sealed.
pub trait Element: Copy + Default + PartialEq + PartialOrd + fmt::Debug + fmt::Display + Send + Sync + 'static {
    /// Its name at run time.
    const DTYPE: DType;
    /// Elements as data of this type.
    fn wrap(elements: Vec<Self>) -> Data;
    /// The elements, if they have this type.
    fn slice(data: &Data) -> Option<&[Self]>;
    /// The elements for writing, if they have this type; a copy is made if they are shared.
    fn vec_mut(data: &mut Data) -> Option<&mut Vec<Self>>;
    /// The elements by value, if they have this type; a copy is made if they are shared.
    fn into_vec(data: Data) -> Option<Vec<Self>>;
}

macro_rules! element {
    ($element:ty, $name:ident) => {
        impl Element for $element {
            const DTYPE: DType = DType::$name;
            fn wrap(elements: Vec<Self>) -> Data {
                Data::$name(Arc::new(elements))
            }
            fn slice(data: &Data) -> Option<&[Self]> {
                if let Data::$name(elements) = data { Some(elements) } else { None }
            }
            fn vec_mut(data: &mut Data) -> Option<&mut Vec<Self>> {
                if let Data::$name(elements) = data { Some(Arc::make_mut(elements)) } else { None }
            }
            fn into_vec(data: Data) -> Option<Vec<Self>> {
                if let Data::$name(elements) = data { Some(Arc::unwrap_or_clone(elements)) } else { None }
            }
        }
    };
}
element!(bool, Bool);
element!(i64, I64);
element!(f32, F32);
element!(f64, F64);

/// Evaluates an expression with the elements of a [`Data`] as a slice of their own type.
macro_rules! for_data {
    ($data:expr, $elements:ident => $body:expr) => {
        match $data {
            $crate::array::Data::Bool($elements) => $body,
            $crate::array::Data::I64($elements) => $body,
            $crate::array::Data::F32($elements) => $body,
            $crate::array::Data::F64($elements) => $body,
        }
    };
}

#[cfg(feature = "engine")]
pub(crate) use for_data;

/// Numbers in a shape, row-major. Cloning shares the elements.
///
/// ```
/// use wengert::Array;
/// let a = Array::new(&[2, 2], vec![1.0, 2.0, 3.0, 4.0]);
/// assert_eq!(a.ty().to_string(), "f64[2,2]");
/// assert_eq!(a.elements::<f64>().unwrap()[2], 3.0);
/// ```
#[derive(Clone)]
pub struct Array {
    ty: Type,
    data: Data,
}

impl Array {
    /// An array of these elements.
    ///
    /// # Panics
    /// If the shape does not have this number of elements.
    #[track_caller]
    pub fn new<T: Element>(shape: &[usize], elements: Vec<T>) -> Self {
        assert!(
            element_count(shape) == Some(elements.len()),
            "an array of shape {shape:?} cannot hold {} elements",
            elements.len()
        );
        Array { ty: Type::new(T::DTYPE, shape), data: T::wrap(elements) }
    }

    /// An array of these elements, whose type says how many there are.
    pub(crate) fn from_data(shape: Vec<usize>, data: Data) -> Self {
        let count = for_data!(&data, elements => elements.len());
        debug_assert_eq!(element_count(&shape), Some(count), "shape {shape:?}");
        let dtype = match data {
            Data::Bool(_) => DType::Bool,
            Data::I64(_) => DType::I64,
            Data::F32(_) => DType::F32,
            Data::F64(_) => DType::F64,
        };
        Array { ty: Type { dtype, shape }, data }
    }

    /// A single number.
    pub fn scalar<T: Element>(value: T) -> Self {
        Array::new(&[], vec![value])
    }

    /// The same number everywhere.
    ///
    /// # Panics
    /// If there is no memory for it.
    #[track_caller]
    pub fn full<T: Element>(shape: &[usize], value: T) -> Self {
        let count = element_count(shape).unwrap_or_else(|| panic!("the shape {shape:?} has too many elements"));
        let mut elements = Vec::new();
        let room = elements.try_reserve_exact(count);
        assert!(room.is_ok(), "there is no memory for an array of {} with shape {shape:?}", T::DTYPE);
        elements.resize(count, value);
        Array::new(shape, elements)
    }

    /// Zeros (`false`) of a type.
    ///
    /// # Panics
    /// If there is no memory for them.
    #[track_caller]
    pub fn zeros(ty: &Type) -> Self {
        match ty.dtype {
            DType::Bool => Array::full(&ty.shape, false),
            DType::I64 => Array::full(&ty.shape, 0i64),
            DType::F32 => Array::full(&ty.shape, 0f32),
            DType::F64 => Array::full(&ty.shape, 0f64),
        }
    }

    /// Element type and shape.
    pub fn ty(&self) -> &Type {
        &self.ty
    }

    /// The type of the elements.
    pub fn dtype(&self) -> DType {
        self.ty.dtype
    }

    /// The lengths of the axes.
    pub fn shape(&self) -> &[usize] {
        &self.ty.shape
    }

    /// The number of elements.
    pub fn size(&self) -> usize {
        self.ty.size()
    }

    /// The elements.
    pub fn data(&self) -> &Data {
        &self.data
    }

    /// The elements by value, if they are of type `T`; a copy is made if they are shared.
    pub fn into_elements<T: Element>(self) -> Option<Vec<T>> {
        T::into_vec(self.data)
    }

    /// The elements, if they are of type `T`.
    pub fn elements<T: Element>(&self) -> Option<&[T]> {
        T::slice(&self.data)
    }

    /// The elements of a value whose type was checked before.
    pub(crate) fn known<T: Element>(&self) -> &[T] {
        self.elements().unwrap_or_else(|| panic!("an operand of type {} where {} was inferred", self.ty, T::DTYPE))
    }

    /// The elements for writing, if they are of type `T`; a copy is made if they are shared.
    pub fn elements_mut<T: Element>(&mut self) -> Option<&mut [T]> {
        T::vec_mut(&mut self.data).map(Vec::as_mut_slice)
    }

    /// The same elements in another shape of the same size.
    pub(crate) fn reshaped(&self, shape: &[usize]) -> Self {
        Array::from_data(shape.to_vec(), self.data.clone())
    }

    /// Every element as `f64`: integers rounded, `false` and `true` as 0 and 1.
    pub fn to_f64(&self) -> Vec<f64> {
        match &self.data {
            Data::Bool(elements) => elements.iter().map(|&x| f64::from(u8::from(x))).collect(),
            Data::I64(elements) => elements.iter().map(|&x| x as f64).collect(),
            Data::F32(elements) => elements.iter().map(|&x| f64::from(x)).collect(),
            Data::F64(elements) => elements.to_vec(),
        }
    }

    /// Whether every element is finite; integers and truth values are.
    pub fn is_finite(&self) -> bool {
        match &self.data {
            Data::Bool(_) | Data::I64(_) => true,
            Data::F32(elements) => elements.iter().all(|x| x.is_finite()),
            Data::F64(elements) => elements.iter().all(|x| x.is_finite()),
        }
    }

    /// Whether type and elements are the same to the bit.
    pub fn same_bits(&self, other: &Array) -> bool {
        self.ty == other.ty
            && match (&self.data, &other.data) {
                (Data::Bool(a), Data::Bool(b)) => a == b,
                (Data::I64(a), Data::I64(b)) => a == b,
                (Data::F32(a), Data::F32(b)) => a.iter().zip(b.iter()).all(|(a, b)| a.to_bits() == b.to_bits()),
                (Data::F64(a), Data::F64(b)) => a.iter().zip(b.iter()).all(|(a, b)| a.to_bits() == b.to_bits()),
                _ => false,
            }
    }

    /// The elements picked by position, as an array of another shape.
    pub(crate) fn pick(&self, shape: &[usize], positions: impl Iterator<Item = usize>) -> Self {
        let data = match &self.data {
            Data::Bool(x) => bool::wrap(positions.map(|k| x[k]).collect()),
            Data::I64(x) => i64::wrap(positions.map(|k| x[k]).collect()),
            Data::F32(x) => f32::wrap(positions.map(|k| x[k]).collect()),
            Data::F64(x) => f64::wrap(positions.map(|k| x[k]).collect()),
        };
        Array::from_data(shape.to_vec(), data)
    }

    /// Runs of this many elements, picked by the position of their first, as an array of another shape.
    pub(crate) fn pick_runs(&self, shape: &[usize], starts: impl Iterator<Item = usize>, length: usize) -> Self {
        fn picked<T: Element>(x: &[T], starts: impl Iterator<Item = usize>, length: usize, size: usize) -> Data {
            let mut elements = Vec::with_capacity(size);
            starts.for_each(|start| elements.extend_from_slice(&x[start..start + length]));
            T::wrap(elements)
        }
        let size = shape.iter().product();
        let data = match &self.data {
            Data::Bool(x) => picked(x, starts, length, size),
            Data::I64(x) => picked(x, starts, length, size),
            Data::F32(x) => picked(x, starts, length, size),
            Data::F64(x) => picked(x, starts, length, size),
        };
        Array::from_data(shape.to_vec(), data)
    }
}

impl fmt::Debug for Array {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ", self.ty)?;
        for_data!(&self.data, elements => f.debug_list().entries(elements.iter()).finish())
    }
}
