//! Reductions: sums, means, extremes, variance, norms, positions of extremes; over all axes
//! (`sum`), over some (`sum_over`), or keeping them with length 1 (`sum_keep`).

use super::compose::{axes_of, axis_of, compose, or_raise, twins, with_axes_of_one};
use super::{Axes, Dim, Tensor};
use crate::array::{DType, Type};
use crate::error::{Error, Misfit, OrRaise};
use crate::ops::{Compare, Unary};
use crate::primitives::{ArgReduce, Extreme, Reduce, Reducer, check_float, scale_along};
use crate::program::{Builder, Value};

/// The numbers of the axes, increasing.
fn resolve(axes: Option<Vec<isize>>, rank: usize) -> Result<Vec<usize>, Misfit> {
    let Some(axes) = axes else { return Ok((0..rank).collect()) };
    let mut axes = axes_of(&axes, rank)?;
    axes.sort_unstable();
    Ok(axes)
}

/// A reduction as equations: over these axes, which disappear.
type Composite = fn(&mut Builder, Value, &[usize]) -> Result<Value, Misfit>;

/// As [`Composite`], with what it captures.
type Rule<'a> = &'a dyn Fn(&mut Builder, Value, &[usize]) -> Result<Value, Misfit>;

/// A reduction over axes, which disappear, or stay with length 1. Its rule is behind a reference, so that this is compiled
/// once.
#[track_caller]
fn reduce(
    name: &str,
    x: &Tensor,
    axes: Option<Vec<isize>>,
    shape: fn(&Type, &[usize]) -> Option<Vec<usize>>,
    rule: Rule<'_>,
) -> Result<Tensor, Error> {
    compose(name, &[x], |b, args| {
        let ty = b.ty(args[0]).clone();
        let axes = resolve(axes, ty.rank())?;
        let result = rule(b, args[0], &axes)?;
        Ok(match shape(&ty, &axes) {
            Some(shape) => b.reshape(result, &shape),
            None => result,
        })
    })
}

fn dropped(_: &Type, _: &[usize]) -> Option<Vec<usize>> {
    None
}

fn kept(ty: &Type, axes: &[usize]) -> Option<Vec<usize>> {
    Some(with_axes_of_one(ty, axes))
}

/// A reduction in its forms: over all axes, over some, keeping them; and their `try_` twins.
macro_rules! reductions {
    ($(
        $(#[$about:meta])*
        $name:ident $over:ident $keep:ident = $twin:ident $twin_over:ident $twin_keep:ident
        ($($arg:ident : $ty:ty = $given:literal),*): of $x:literal, $rule:expr;
    )*) => {
        impl Tensor { $(
            $(#[$about])*
            ///
            /// Over all axes.
            ///
            /// # Panics
            #[doc = concat!("As [`Tensor::", stringify!($twin), "`] returns an error.")]
            #[track_caller]
            pub fn $name(&self $(, $arg: $ty)*) -> Tensor {
                self.$twin($($arg),*).or_raise()
            }

            #[doc = concat!("As [`Tensor::", stringify!($name), "`], over these axes, which disappear.")]
            ///
            /// ```
            /// use wengert::prelude::*;
            /// let x = Tensor::from([[1.0, 2.0], [3.0, 4.0]]);
            #[doc = concat!(
                "assert_eq!(", $x, ".", stringify!($over), "(", $(stringify!($given), ", ",)* "0).shape(), [2]);"
            )]
            /// ```
            ///
            /// # Panics
            #[doc = concat!("As [`Tensor::", stringify!($twin_over), "`] returns an error.")]
            #[track_caller]
            pub fn $over(&self $(, $arg: $ty)*, axes: impl Axes) -> Tensor {
                self.$twin_over($($arg,)* axes).or_raise()
            }

            #[doc = concat!("As [`Tensor::", stringify!($name), "`], over these axes, which stay with length 1.")]
            ///
            /// ```
            /// use wengert::prelude::*;
            /// let x = Tensor::from([[1.0, 2.0], [3.0, 4.0]]);
            #[doc = concat!(
                "assert_eq!(", $x, ".", stringify!($keep), "(", $(stringify!($given), ", ",)* "0).shape(), [1, 2]);"
            )]
            /// ```
            ///
            /// # Panics
            #[doc = concat!("As [`Tensor::", stringify!($twin_keep), "`] returns an error.")]
            #[track_caller]
            pub fn $keep(&self $(, $arg: $ty)*, axes: impl Axes) -> Tensor {
                self.$twin_keep($($arg,)* axes).or_raise()
            }

        )* }

        twins! { TryReduce: "reductions"; $(
            #[doc = concat!("As [`Tensor::", stringify!($name), "`], with an error instead of a panic.")]
            ///
            /// # Errors
            /// If the element type does not fit, or an extreme of no elements is asked for.
            fn $twin(&self $(, $arg: $ty)*) -> Result<Tensor, Error>;
            #[doc = concat!("As [`Tensor::", stringify!($over), "`], with an error instead of a panic.")]
            ///
            /// # Errors
            /// If an axis does not exist, and as over all axes.
            fn $twin_over(&self $(, $arg: $ty)*, axes: impl Axes) -> Result<Tensor, Error>;
            #[doc = concat!("As [`Tensor::", stringify!($keep), "`], with an error instead of a panic.")]
            ///
            /// # Errors
            /// If an axis does not exist, and as over all axes.
            fn $twin_keep(&self $(, $arg: $ty)*, axes: impl Axes) -> Result<Tensor, Error>;
        )* }

        impl TryReduce for Tensor { $(
            #[track_caller]
            fn $twin(&self $(, $arg: $ty)*) -> Result<Tensor, Error> {
                reduce(stringify!($name), self, None, dropped, &$rule)
            }
            #[track_caller]
            fn $twin_over(&self $(, $arg: $ty)*, axes: impl Axes) -> Result<Tensor, Error> {
                reduce(stringify!($over), self, axes.axes(), dropped, &$rule)
            }
            #[track_caller]
            fn $twin_keep(&self $(, $arg: $ty)*, axes: impl Axes) -> Result<Tensor, Error> {
                reduce(stringify!($keep), self, axes.axes(), kept, &$rule)
            }
        )* }
    };
}
reductions! {
    /// The sum of the elements; 0 of none.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from([[1.0, 2.0], [3.0, 4.0]]).sum().item(), 10.0);
    /// ```
    sum sum_over sum_keep = try_sum try_sum_over try_sum_keep(): of "x", plain(Reducer::Sum);
    /// The product of the elements; 1 of none. Its derivative does not divide: zeros do no harm.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let x = Tensor::from([2.0, 0.0, 3.0]);
    /// let (product, slope) = value_and_grad(&x, |x| x.prod());
    /// assert_eq!((product.item(), slope.to_vec()), (0.0, vec![0.0, 6.0, 0.0]));
    /// ```
    #[doc(alias = "product")]
    prod prod_over prod_keep = try_prod try_prod_over try_prod_keep(): of "x", plain(Reducer::Prod);
    /// The largest element; NaN if one is NaN; equal ones share the derivative.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let x = Tensor::from([4.0, 1.0, 4.0]);
    /// let (largest, slope) = value_and_grad(&x, |x| x.max());
    /// assert_eq!((largest.item(), slope.to_vec()), (4.0, vec![0.5, 0.0, 0.5]));
    /// ```
    #[doc(alias = "amax")]
    max max_over max_keep = try_max try_max_over try_max_keep(): of "x", plain(Reducer::Max);
    /// The smallest element; NaN if one is NaN; equal ones share the derivative.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from([[4.0, 1.0], [2.0, 3.0]]).min().item(), 1.0);
    /// ```
    #[doc(alias = "amin")]
    min min_over min_keep = try_min try_min_over try_min_keep(): of "x", plain(Reducer::Min);
    /// Whether all truth values are true; true for none.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let x = Tensor::from([1.0, -2.0]);
    /// assert_eq!(x.gt(0.0).all().item(), 0.0);
    /// ```
    #[doc(alias = "all_true")]
    all all_over all_keep = try_all try_all_over try_all_keep(): of "x.gt(2.0)", plain(Reducer::All);
    /// Whether one truth value is true; false for none.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let x = Tensor::from([1.0, -2.0]);
    /// assert_eq!(x.gt(0.0).any().item(), 1.0);
    /// ```
    #[doc(alias = "any_true")]
    any any_over any_keep = try_any try_any_over try_any_keep(): of "x.gt(2.0)", plain(Reducer::Any);
    /// The mean of the elements; NaN of none.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from([1.0, 2.0, 6.0]).mean().item(), 3.0);
    /// ```
    #[doc(alias = "average")]
    mean mean_over mean_keep = try_mean try_mean_over try_mean_keep(): of "x", mean as Composite;
    /// `sum((x - mean)^2) / (n - ddof)`; NaN if `n` is not above `ddof`.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let x = Tensor::from([1.0, 2.0, 6.0]);
    /// assert_eq!([x.var(1).item(), x.var(0).item()], [7.0, 14.0 / 3.0]);
    /// ```
    #[doc(alias = "variance")]
    var var_over var_keep = try_var try_var_over try_var_keep(ddof: usize = 0): of "x",
        move |b, x, axes| var(b, x, axes, ddof);
    /// The square root of the variance; its derivative where all elements are equal is 0, as that of
    /// [`Tensor::norm`].
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from([1.0, 5.0]).std(0).item(), 2.0);
    /// ```
    #[doc(alias("standard_deviation", "stddev"))]
    std std_over std_keep = try_std try_std_over try_std_keep(ddof: usize = 0): of "x",
        move |b, x, axes| std(b, x, axes, ddof);
    /// `ln sum exp(x)`, without overflow; `-inf` of none. Its derivative is the softmax; NaN where
    /// all elements are `-inf`, or at one that is `inf`. A share of it that is below `e^-690` of the largest (`e^-75` in single
    /// precision) is 0.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let y = Tensor::from([1000.0, 1000.0]).logsumexp();
    /// assert_eq!(y.item(), 1000.0 + 2f64.ln());
    /// ```
    #[doc(alias = "log_sum_exp")]
    logsumexp logsumexp_over logsumexp_keep = try_logsumexp try_logsumexp_over try_logsumexp_keep(): of "x",
        logsumexp as Composite;
    /// The Euclidean norm `sqrt(sum x^2)`; its derivative at the zero vector is 0.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let x = Tensor::from([3.0, 4.0]);
    /// let (length, slope) = value_and_grad(&x, |x| x.norm());
    /// assert!(length.item() == 5.0 && (slope - x / 5.0).abs().max().item() < 1e-15);
    /// ```
    #[doc(alias("vector_norm", "l2_norm"))]
    norm norm_over norm_keep = try_norm try_norm_over try_norm_keep(): of "x", norm as Composite;
}

/// A reduction that is one equation.
fn plain(reducer: Reducer) -> impl Fn(&mut Builder, Value, &[usize]) -> Result<Value, Misfit> {
    move |b, x, axes| Ok(b.emit(Reduce::new(reducer, axes), &[x])?[0])
}

/// The number of elements over which a reduction goes.
fn count(b: &Builder, x: Value, axes: &[usize]) -> f64 {
    axes.iter().map(|&axis| b.shape(x)[axis] as f64).product()
}

/// `x / number`
fn divided(b: &mut Builder, x: Value, number: f64) -> Value {
    let ty = b.ty(x).clone();
    let divisor = b.full(number, &ty);
    b.div(x, divisor)
}

pub(crate) fn mean(b: &mut Builder, x: Value, axes: &[usize]) -> Result<Value, Misfit> {
    check_float(b.ty(x))?;
    let count = count(b, x, axes);
    let sum = b.sum(x, axes);
    Ok(divided(b, sum, count))
}

/// `x - centre`, where `centre` lacks the axes.
pub(crate) fn minus(b: &mut Builder, x: Value, centre: Value, axes: &[usize]) -> Value {
    let shape = b.shape(x).to_vec();
    let centre = b.spread(centre, &shape, axes);
    b.sub(x, centre)
}

fn var(b: &mut Builder, x: Value, axes: &[usize], ddof: usize) -> Result<Value, Misfit> {
    let centre = mean(b, x, axes)?;
    let centred = minus(b, x, centre, axes);
    let squares = b.op(Unary::Square, &[centred]);
    let sum = b.sum(squares, axes);
    let freedom = freedom(b, x, axes, ddof);
    Ok(divided(b, sum, freedom))
}

/// The elements less the degrees of freedom that are taken; NaN if none is left.
fn freedom(b: &Builder, x: Value, axes: &[usize], ddof: usize) -> f64 {
    let freedom = count(b, x, axes) - ddof as f64;
    if freedom > 0.0 { freedom } else { f64::NAN }
}

fn std(b: &mut Builder, x: Value, axes: &[usize], ddof: usize) -> Result<Value, Misfit> {
    let centre = mean(b, x, axes)?;
    let freedom = freedom(b, x, axes, ddof);
    if axes.iter().any(|&axis| b.shape(x)[axis] == 0) {
        return Ok(divided(b, centre, freedom));
    }
    let centred = minus(b, x, centre, axes);
    let (squares, scale) = scaled_squares(b, centred, axes);
    let sum = b.sum(squares, axes);
    let var = divided(b, sum, freedom);
    Ok(root_of_squares(b, var, scale))
}

/// The squares of `x / scale`, and the scale with which they neither overflow nor vanish.
fn scaled_squares(b: &mut Builder, x: Value, axes: &[usize]) -> (Value, Value) {
    let scale = scale_along(b, x, axes);
    // That of a power of two is exact, and a product takes a fraction of the time of a quotient.
    let inverse = b.op(Unary::Recip, &[scale]);
    let shape = b.shape(x).to_vec();
    let everywhere = b.spread(inverse, &shape, axes);
    let scaled = b.mul(x, everywhere);
    (b.op(Unary::Square, &[scaled]), scale)
}

/// `scale sqrt(x)`, with derivative 0 where `x` is 0.
fn root_of_squares(b: &mut Builder, x: Value, scale: Value) -> Value {
    let ty = b.ty(x).clone();
    let (zero, one) = (b.full(0.0, &ty), b.full(1.0, &ty));
    // At 0 the root is not asked: its derivative there is infinite, and what is not chosen does not
    // reach the derivative.
    let origin = b.op(Compare::Eq, &[x, zero]);
    let inside = b.select(origin, one, x);
    let root = b.op(Unary::Sqrt, &[inside]);
    let scaled = b.mul(root, scale);
    b.select(origin, zero, scaled)
}

fn logsumexp(b: &mut Builder, x: Value, axes: &[usize]) -> Result<Value, Misfit> {
    let ty = b.ty(x).clone();
    check_float(&ty)?;
    if axes.iter().any(|&axis| ty.shape[axis] == 0) {
        let sum = b.sum(x, axes);
        let ty = b.ty(sum).clone();
        return Ok(b.full(f64::NEG_INFINITY, &ty));
    }
    // The shift is a number to the derivative: it cancels. An infinite largest element would make
    // inf - inf; it is not taken away.
    let largest = b.op(Reduce::new(Reducer::Max, axes), &[x]);
    let largest = b.op(Unary::Detach, &[largest]);
    let finite = is_finite(b, largest);
    let zero = b.zeros_like(largest);
    let shift = b.select(finite, largest, zero);
    let shifted = minus(b, x, shift, axes);
    let counted = without_vanishing(b, shifted);
    let powers = b.op(Unary::Exp, &[counted]);
    let sum = b.sum(powers, axes);
    let log = b.op(Unary::Ln, &[sum]);
    Ok(b.add(log, shift))
}

/// Exponents with `-inf` for those whose powers are next to nothing beside 1: below 1e-299, or 3e-33 in single precision. As shares
/// of a derivative they and their products with small numbers would be subnormal, with which processors compute many times slower.
fn without_vanishing(b: &mut Builder, exponents: Value) -> Value {
    let ty = b.ty(exponents).clone();
    let least = if ty.dtype == DType::F32 { -75.0 } else { -690.0 };
    let (least, zero, never) = (b.full(least, &ty), b.full(0.0, &ty), b.full(f64::NEG_INFINITY, &ty));
    let vanishes = b.op(Compare::Lt, &[exponents, least]);
    // Added as a number, so that derivatives pass it as they are.
    let removed = b.select(vanishes, never, zero);
    b.add(exponents, removed)
}

/// Whether elements are finite.
pub(crate) fn is_finite(b: &mut Builder, x: Value) -> Value {
    let ty = b.ty(x).clone();
    let size = b.op(Unary::Abs, &[x]);
    let bound = b.full(f64::INFINITY, &ty);
    b.op(Compare::Lt, &[size, bound])
}

fn norm(b: &mut Builder, x: Value, axes: &[usize]) -> Result<Value, Misfit> {
    let ty = b.ty(x).clone();
    check_float(&ty)?;
    if axes.iter().any(|&axis| ty.shape[axis] == 0) {
        return Ok(b.sum(x, axes));
    }
    let (squares, scale) = scaled_squares(b, x, axes);
    let sum = b.sum(squares, axes);
    Ok(root_of_squares(b, sum, scale))
}

// ---- positions ------------------------------------------------------------------------------------

or_raise! {
    trait TryArgReduce: "positions of extremes";

    /// The position of the largest element along an axis, which disappears: the first of equal
    /// ones, the first NaN if there is one.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let x = Tensor::from([[1.0, 5.0], [7.0, 2.0]]);
    /// assert_eq!(x.argmax(1).to_vec(), [1.0, 0.0]);
    /// ```
    #[doc(alias = "idxmax")]
    fn argmax = try_argmax(axis: impl Dim);
    /// The position of the smallest element along an axis; as [`Tensor::argmax`].
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let x = Tensor::from([[1.0, 5.0], [7.0, 2.0]]);
    /// assert_eq!(x.argmin(0).to_vec(), [0.0, 1.0]);
    /// ```
    #[doc(alias = "idxmin")]
    fn argmin = try_argmin(axis: impl Dim);
}

impl TryArgReduce for Tensor {
    /// As [`Tensor::argmax`], with an error instead of a panic.
    ///
    /// # Errors
    /// If the axis does not exist or is empty.
    #[track_caller]
    fn try_argmax(&self, axis: impl Dim) -> Result<Tensor, Error> {
        position("argmax", self, axis.dim().0, Extreme::Max)
    }

    /// As [`Tensor::argmin`], with an error instead of a panic.
    ///
    /// # Errors
    /// If the axis does not exist or is empty.
    #[track_caller]
    fn try_argmin(&self, axis: impl Dim) -> Result<Tensor, Error> {
        position("argmin", self, axis.dim().0, Extreme::Min)
    }
}

#[track_caller]
fn position(name: &str, x: &Tensor, axis: isize, extreme: Extreme) -> Result<Tensor, Error> {
    compose(name, &[x], |b, args| {
        let axis = axis_of(axis, b.shape(args[0]).len())?;
        Ok(b.emit(ArgReduce { extreme, axis }, args)?[0])
    })
}
