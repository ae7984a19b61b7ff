//! Operators and functions of complex tensors, and what only moves or adds their elements.

use std::ops::{Add, AddAssign, Div, DivAssign, Mul, MulAssign, Neg, Sub, SubAssign};

use super::functions::{product, quotient};
use super::parts::{IntoComplex, Pair, elementwise, joint_type, to_complex};
use super::{Complex, ComplexOperand};
use crate::array::DType;
use crate::error::{Error, OrRaise};
use crate::primitives::rule::Sym;
use crate::tensor::compose::{compose_all, refuse, stretch};
use crate::tensor::twins::{TryIndex, TryJoin, TryReduce, TryShape};
use crate::tensor::{Axes, AxisIndex, Dim, Dims, Place, Ranges, Tensor};

// ---- operators ----------------------------------------------------------------------------------

fn sum([z, w]: [Pair; 2]) -> Complex<Sym> {
    let im = match (z.im, w.im) {
        (Some(x), Some(y)) => x + y,
        (x, y) => x.or(y).unwrap_or(Sym::Constant(0.0)),
    };
    Complex { re: z.re + w.re, im }
}

fn difference([z, w]: [Pair; 2]) -> Complex<Sym> {
    let im = match (z.im, w.im) {
        (Some(x), Some(y)) => x - y,
        (x, y) => x.or(y.map(|y| -y)).unwrap_or(Sym::Constant(0.0)),
    };
    Complex { re: z.re - w.re, im }
}

fn times([z, w]: [Pair; 2]) -> Complex<Sym> {
    match (z.im, w.im) {
        (Some(im), None) => Complex { re: z.re * w.re, im: im * w.re },
        (None, Some(im)) => Complex { re: z.re * w.re, im: z.re * im },
        _ => product(z.whole(), w.whole()),
    }
}

fn divided([z, w]: [Pair; 2]) -> Complex<Sym> {
    match (z.im, w.im) {
        (Some(im), None) => Complex { re: z.re / w.re, im: im / w.re },
        _ => quotient(z.whole(), w.whole()),
    }
}

/// One operator: the `try_` method, and the trait for every combination of tensors, references and numbers.
macro_rules! operator {
    ($trait:ident $method:ident, $assign:ident $assign_method:ident, $twin:ident, $rule:expr) => {
        impl Complex<Tensor> {
            #[doc = concat!("`", stringify!($method), "` of two complex operands, with an error instead of the panic of the operator.")]
            ///
            /// # Errors
            /// If shapes or element types do not fit, or elements are not real numbers.
            #[track_caller]
            pub fn $twin(&self, other: impl IntoComplex) -> Result<Complex<Tensor>, Error> {
                binary(stringify!($method), self.into_complex(), other.into_complex(), $rule)
            }
        }
        operator! { @right $trait $method $rule, Complex<Tensor> }
        operator! { @right $trait $method $rule, &Complex<Tensor> }
        operator! { @right $trait $method $rule, Tensor }
        operator! { @right $trait $method $rule, &Tensor }
        operator! { @right $trait $method $rule, Complex<f64> }
        operator! { @right $trait $method $rule, f64 }
        operator! { @left $trait $method $rule, Tensor }
        operator! { @left $trait $method $rule, &Tensor }
        operator! { @left $trait $method $rule, Complex<f64> }
        operator! { @left $trait $method $rule, f64 }
        impl<T: IntoComplex> $assign<T> for Complex<Tensor> {
            #[track_caller]
            fn $assign_method(&mut self, other: T) {
                *self = self.$twin(other).or_raise();
            }
        }
    };
    (@right $trait:ident $method:ident $rule:expr, $other:ty) => {
        operator! { @pair $trait $method $rule, Complex<Tensor>, $other }
        operator! { @pair $trait $method $rule, &Complex<Tensor>, $other }
    };
    (@left $trait:ident $method:ident $rule:expr, $other:ty) => {
        operator! { @pair $trait $method $rule, $other, Complex<Tensor> }
        operator! { @pair $trait $method $rule, $other, &Complex<Tensor> }
    };
    (@pair $trait:ident $method:ident $rule:expr, $x:ty, $y:ty) => {
        impl $trait<$y> for $x {
            type Output = Complex<Tensor>;
            #[track_caller]
            fn $method(self, other: $y) -> Complex<Tensor> {
                binary(stringify!($method), self.into_complex(), other.into_complex(), $rule).or_raise()
            }
        }
    };
}
operator! { Add add, AddAssign add_assign, try_add, sum }
operator! { Sub sub, SubAssign sub_assign, try_sub, difference }
operator! { Mul mul, MulAssign mul_assign, try_mul, times }
operator! { Div div, DivAssign div_assign, try_div, divided }

#[track_caller]
fn binary(
    name: &str,
    z: ComplexOperand,
    w: ComplexOperand,
    rule: impl FnOnce([Pair; 2]) -> Complex<Sym>,
) -> Result<Complex<Tensor>, Error> {
    to_complex(name, &[z, w], |pairs| rule([pairs[0], pairs[1]]))
}

impl Neg for Complex<Tensor> {
    type Output = Complex<Tensor>;
    #[track_caller]
    fn neg(self) -> Complex<Tensor> {
        -&self
    }
}

impl Neg for &Complex<Tensor> {
    type Output = Complex<Tensor>;
    #[track_caller]
    fn neg(self) -> Complex<Tensor> {
        Complex { re: -&self.re, im: -&self.im }
    }
}

// ---- functions of elements ----------------------------------------------------------------------

/// Functions element by element under the names that they have over numbers, where their formulas and cuts stand.
macro_rules! functions {
    ($($name:ident $twin:ident ($($arg:ident: $ty:ty),*) -> $out:ty: |$z:ident| $rule:expr => $form:ident;)*) => {
        impl Complex<Tensor> { $(
            #[doc = concat!("Element by element as over numbers: [`", stringify!($name), "`](Complex#method.", stringify!($name), ").")]
            ///
            /// # Panics
            #[doc = concat!("As `", stringify!($twin), "` returns an error.")]
            #[track_caller]
            pub fn $name(&self $(, $arg: $ty)*) -> $out {
                self.$twin($($arg),*).or_raise()
            }

            #[doc = concat!("As `", stringify!($name), "`, with an error instead of a panic.")]
            ///
            /// # Errors
            /// If the parts do not fit each other or are not real numbers.
            #[track_caller]
            pub fn $twin(&self $(, $arg: $ty)*) -> Result<$out, Error> {
                functions! { @$form $name self |$z| $rule }
            }
        )* }
    };
    (@complex $name:ident $self:ident |$z:ident| $rule:expr) => {
        to_complex(stringify!($name), &[$self.into_complex()], |pairs| {
            let $z = pairs[0].whole();
            $rule
        })
    };
    (@real $name:ident $self:ident |$z:ident| $rule:expr) => {{
        let mut results = elementwise(stringify!($name), &[$self.into_complex()], |pairs| {
            let $z = pairs[0].whole();
            vec![$rule]
        })?;
        Ok(results.remove(0))
    }};
}
functions! {
    abs try_abs() -> Tensor: |z| z.abs() => real;
    arg try_arg() -> Tensor: |z| z.arg() => real;
    norm_sqr try_norm_sqr() -> Tensor: |z| z.norm_sqr() => real;
    conj try_conj() -> Complex<Tensor>: |z| z.conj() => complex;
    square try_square() -> Complex<Tensor>: |z| z.square() => complex;
    recip try_recip() -> Complex<Tensor>: |z| z.recip() => complex;
    exp try_exp() -> Complex<Tensor>: |z| z.exp() => complex;
    ln try_ln() -> Complex<Tensor>: |z| z.ln() => complex;
    sqrt try_sqrt() -> Complex<Tensor>: |z| z.sqrt() => complex;
    powi try_powi(n: i32) -> Complex<Tensor>: |z| z.powi(n) => complex;
    powf try_powf(p: f64) -> Complex<Tensor>: |z| z.powf(p) => complex;
    sin try_sin() -> Complex<Tensor>: |z| z.sin() => complex;
    cos try_cos() -> Complex<Tensor>: |z| z.cos() => complex;
    tan try_tan() -> Complex<Tensor>: |z| z.tan() => complex;
    sinh try_sinh() -> Complex<Tensor>: |z| z.sinh() => complex;
    cosh try_cosh() -> Complex<Tensor>: |z| z.cosh() => complex;
    tanh try_tanh() -> Complex<Tensor>: |z| z.tanh() => complex;
    asin try_asin() -> Complex<Tensor>: |z| z.asin() => complex;
    acos try_acos() -> Complex<Tensor>: |z| z.acos() => complex;
    atan try_atan() -> Complex<Tensor>: |z| z.atan() => complex;
    asinh try_asinh() -> Complex<Tensor>: |z| z.asinh() => complex;
    acosh try_acosh() -> Complex<Tensor>: |z| z.acosh() => complex;
    atanh try_atanh() -> Complex<Tensor>: |z| z.atanh() => complex;
}

impl Complex<Tensor> {
    /// `z^w = e^(w ln z)`, element by element: [`powc`](Complex#method.powc).
    ///
    /// # Panics
    /// If shapes or element types do not fit.
    #[track_caller]
    pub fn powc(&self, w: impl IntoComplex) -> Complex<Tensor> {
        let rule = |[z, w]: [Pair; 2]| z.whole().powc(w.whole());
        binary("powc", self.into_complex(), w.into_complex(), rule).or_raise()
    }

    /// `r e^(i angle)`, element by element.
    ///
    /// # Panics
    /// If shapes or element types do not fit.
    #[track_caller]
    pub fn polar(r: &Tensor, angle: &Tensor) -> Complex<Tensor> {
        let operands = [r.into_complex(), angle.into_complex()];
        to_complex("polar", &operands, |pairs| Complex::<Sym>::from_polar(pairs[0].re, pairs[1].re)).or_raise()
    }

    /// Zeros in double precision.
    ///
    /// # Panics
    /// If the shape does not fit in memory.
    #[track_caller]
    pub fn zeros(shape: &[usize]) -> Complex<Tensor> {
        Complex { re: Tensor::zeros(shape), im: Tensor::zeros(shape) }
    }

    // ---- types and layout -----------------------------------------------------------------------

    /// The lengths of the axes.
    pub fn shape(&self) -> &[usize] {
        self.re.shape()
    }

    /// The number of axes.
    pub fn rank(&self) -> usize {
        self.re.rank()
    }

    /// The number of complex elements.
    pub fn size(&self) -> usize {
        self.re.size()
    }

    /// The type of the parts.
    pub fn dtype(&self) -> DType {
        self.re.dtype()
    }

    /// Both parts in one shape.
    #[track_caller]
    pub(crate) fn aligned(&self, name: &str) -> Result<Complex<Tensor>, Error> {
        if self.re.ty() == self.im.ty() {
            return Ok(self.clone());
        }
        let both = compose_all(name, &[&self.re, &self.im], |b, args| {
            let ty = joint_type(b, args)?;
            Ok(args.iter().map(|&arg| stretch(b, arg, &ty.shape)).collect())
        })?;
        Ok(Complex::pair(both))
    }

    /// A function of tensors on each part: of what only moves, repeats, adds or averages elements it is that of the complex
    /// array. `Tensor`'s methods for which there is no other way are called so.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let z = Complex::new(Tensor::from([1.0, 2.0, 3.0]), Tensor::from([4.0, 5.0, 6.0]));
    /// let sums = z.each_part(|x| x.cumsum(0));
    /// assert_eq!(sums.im.to_vec(), [4.0, 9.0, 15.0]);
    /// ```
    ///
    /// # Panics
    /// If the shapes of the parts do not fit each other, or the function panics.
    #[track_caller]
    pub fn each_part(&self, f: impl Fn(&Tensor) -> Tensor) -> Complex<Tensor> {
        let z = self.aligned("each_part").or_raise();
        Complex { re: f(&z.re), im: f(&z.im) }
    }

    /// Complex arrays of one shape along a new axis: [`Tensor::stack`].
    ///
    /// # Panics
    /// If there is none, or shapes or element types differ.
    #[track_caller]
    pub fn stack(all: impl IntoIterator<Item: AsRef<Complex<Tensor>>>, axis: impl Dim) -> Complex<Tensor> {
        let (re, im) = separate("stack", all).or_raise();
        Complex { re: Tensor::stack(&re, axis), im: Tensor::stack(&im, axis) }
    }

    /// One after the other along an axis: [`Tensor::concat`].
    ///
    /// # Panics
    /// If there is none, or shapes or element types do not fit.
    #[track_caller]
    pub fn concat(all: impl IntoIterator<Item: AsRef<Complex<Tensor>>>, axis: impl Dim) -> Complex<Tensor> {
        let (re, im) = separate("concat", all).or_raise();
        Complex { re: Tensor::concat(&re, axis), im: Tensor::concat(&im, axis) }
    }

    // ---- interleaved data -----------------------------------------------------------------------

    /// From real numbers whose last axis holds real and imaginary part: the layout of other libraries' complex arrays.
    /// Inside a recording the parts are views.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let z = Complex::from_interleaved(&Tensor::from([[1.0, 2.0], [3.0, 4.0]]));
    /// assert_eq!((z.re.to_vec(), z.im.to_vec()), (vec![1.0, 3.0], vec![2.0, 4.0]));
    /// assert_eq!(z.to_interleaved().shape(), [2, 2]);
    /// ```
    ///
    /// # Panics
    /// If the last axis is not 2 long.
    #[track_caller]
    pub fn from_interleaved(x: &Tensor) -> Complex<Tensor> {
        if x.shape().last() != Some(&2) {
            return refuse(
                "from_interleaved",
                &[x],
                "the last axis has to hold real and imaginary part, and be 2 long",
            )
            .or_raise();
        }
        let last = x.rank() - 1;
        let places = |k: isize| -> Vec<Place> { (0..last).map(|_| (..).place()).chain([k.place()]).collect() };
        Complex { re: x.slice(&places(0)[..]), im: x.slice(&places(1)[..]) }
    }

    /// Real numbers with one more axis at the end, real and imaginary part.
    ///
    /// # Panics
    /// If the shapes of the parts do not fit each other.
    #[track_caller]
    pub fn to_interleaved(&self) -> Tensor {
        let z = self.aligned("to_interleaved").or_raise();
        Tensor::stack(&[&z.re, &z.im], -1)
    }
}

#[track_caller]
fn separate(
    name: &str,
    all: impl IntoIterator<Item: AsRef<Complex<Tensor>>>,
) -> Result<(Vec<Tensor>, Vec<Tensor>), Error> {
    let mut parts = (Vec::new(), Vec::new());
    for z in all {
        let z = z.as_ref().aligned(name)?;
        parts.0.push(z.re);
        parts.1.push(z.im);
    }
    Ok(parts)
}

impl AsRef<Complex<Tensor>> for Complex<Tensor> {
    fn as_ref(&self) -> &Complex<Tensor> {
        self
    }
}

/// Methods that do to each part what they do to a tensor.
macro_rules! parts {
    ($($name:ident $twin:ident ($($arg:ident: $ty:ty),*);)*) => {
        impl Complex<Tensor> { $(
            #[doc = concat!("As [`Tensor::", stringify!($name), "`], of both parts.")]
            ///
            /// # Panics
            #[doc = concat!("As `", stringify!($twin), "` returns an error.")]
            #[track_caller]
            pub fn $name(&self $(, $arg: $ty)*) -> Complex<Tensor> {
                self.$twin($($arg),*).or_raise()
            }

            #[doc = concat!("As [`Tensor::", stringify!($twin), "`], of both parts.")]
            ///
            /// # Errors
            /// As of a tensor, and if the shapes of the parts do not fit each other.
            #[track_caller]
            pub fn $twin(&self $(, $arg: $ty)*) -> Result<Complex<Tensor>, Error> {
                let z = self.aligned(stringify!($name))?;
                Ok(Complex { re: z.re.$twin($(Clone::clone(&$arg)),*)?, im: z.im.$twin($($arg),*)? })
            }
        )* }
    };
}
parts! {
    reshape try_reshape(shape: impl Dims + Clone);
    flatten try_flatten();
    permute try_permute(order: impl Dims + Clone);
    t try_t();
    swap_axes try_swap_axes(first: impl Dim, second: impl Dim);
    move_axis try_move_axis(from: impl Dim, to: impl Dim);
    broadcast_to try_broadcast_to(shape: impl Dims + Clone);
    expand_dims try_expand_dims(axis: impl Dim);
    squeeze try_squeeze(axes: impl Axes + Clone);
    flip try_flip(axes: impl Axes + Clone);
    roll try_roll(by: impl Dim, axis: impl Dim);
    repeat try_repeat(count: impl Dim, axis: impl Dim);
    take try_take(indices: &Tensor, axis: impl Dim);
    diagonal try_diagonal(offset: impl Dim);
    convert try_convert(dtype: DType);
    sum try_sum();
    sum_over try_sum_over(axes: impl Axes + Clone);
    sum_keep try_sum_keep(axes: impl Axes + Clone);
    mean try_mean();
    mean_over try_mean_over(axes: impl Axes + Clone);
    mean_keep try_mean_keep(axes: impl Axes + Clone);
}

impl Complex<Tensor> {
    /// The transpose of the last two axes, conjugated.
    ///
    /// # Panics
    /// If there are fewer than two axes.
    #[track_caller]
    pub fn h(&self) -> Complex<Tensor> {
        self.swap_axes(-2, -1).conj()
    }

    /// The part at positions and ranges: [`Tensor::slice`].
    ///
    /// # Panics
    /// If there are more ranges than axes, or one is not within its axis.
    #[track_caller]
    pub fn slice(&self, ranges: impl Ranges) -> Complex<Tensor> {
        let (z, places) = (self.aligned("slice").or_raise(), ranges.places());
        // No closure: it would hide the caller's line.
        Complex { re: z.re.slice(&places[..]), im: z.im.slice(&places[..]) }
    }

    /// The same numbers, through which no derivative flows.
    #[must_use]
    pub fn detach(&self) -> Complex<Tensor> {
        Complex { re: self.re.detach(), im: self.im.detach() }
    }
}
