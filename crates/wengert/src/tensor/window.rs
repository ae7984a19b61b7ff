//! Windows that move over axes: convolution and pooling.

use super::Tensor;
use super::compose::{check_count, compose, or_raise, twins};
use crate::error::{Error, Misfit, misfit};
use crate::primitives::{Conv, Extreme, Gather, OutOfBounds, WindowArg, check_float};
use crate::program::{Builder, Value};

/// How the kernel of a convolution moves over N spatial axes.
///
/// ```
/// use wengert::{ConvOptions, Tensor};
/// let x = Tensor::from([1.0, 2.0, 3.0, 4.0]).reshape(&[1, 1, 4]);
/// let w = Tensor::from([1.0, -1.0]).reshape(&[1, 1, 2]);
/// let options = ConvOptions { stride: [2], ..ConvOptions::default() };
/// assert_eq!(x.conv1d(&w, &options).to_vec(), [-1.0, -1.0]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ConvOptions<const N: usize> {
    /// How far it moves at a time.
    pub stride: [usize; N],
    /// How many zeros are put before and after; negative where elements are taken away.
    pub padding: [(i64, i64); N],
    /// The distance of neighbours of the kernel.
    pub dilation: [usize; N],
    /// The distance of neighbours of the input; more than 1 makes a transposed convolution.
    pub input_dilation: [usize; N],
    /// Groups of channels that do not meet.
    pub groups: usize,
}

impl<const N: usize> Default for ConvOptions<N> {
    fn default() -> Self {
        ConvOptions { stride: [1; N], padding: [(0, 0); N], dilation: [1; N], input_dilation: [1; N], groups: 1 }
    }
}

/// How a window of a pooling moves over the last N axes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pool<const N: usize> {
    /// Its lengths.
    pub window: [usize; N],
    /// How far it moves at a time.
    pub stride: [usize; N],
    /// How many places before and after each axis it reaches.
    pub padding: [(usize, usize); N],
}

impl<const N: usize> Pool<N> {
    /// Windows of these lengths, one beside the other, without padding.
    ///
    /// ```
    /// use wengert::{Pool, Tensor};
    /// let x = Tensor::from([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]);
    /// let pool = Pool { stride: [1, 1], ..Pool::new([2, 2]) };
    /// assert_eq!(x.max_pool(&pool).to_vec(), [5.0, 6.0]);
    /// ```
    pub fn new(window: [usize; N]) -> Self {
        Pool { window, stride: window, padding: [(0, 0); N] }
    }
}

or_raise! {
    trait TryConvolve: "convolutions";

    /// The convolution of `self [N, C, length]` with `kernel [O, C / groups, length]`, as in neural
    /// networks: the kernel is not flipped.
    ///
    /// ```
    /// use wengert::{ConvOptions, Tensor};
    /// let x = Tensor::from([1.0, 2.0, 4.0]).reshape(&[1, 1, 3]);
    /// let kernel = Tensor::from([-1.0, 1.0]).reshape(&[1, 1, 2]);
    /// assert_eq!(x.conv1d(&kernel, &ConvOptions::default()).to_vec(), [1.0, 2.0]);
    /// ```
    #[doc(alias("convolve", "correlate", "Conv1d"))]
    fn conv1d = try_conv1d(kernel: &Tensor, options: &ConvOptions<1>);
    /// The convolution of `self [N, C, height, width]` with `kernel [O, C / groups, height, width]`;
    /// as [`Tensor::conv1d`].
    ///
    /// ```
    /// use wengert::{ConvOptions, Tensor};
    /// let (x, kernel) = (Tensor::ones(&[1, 2, 4, 4]), Tensor::ones(&[3, 2, 3, 3]));
    /// let options = ConvOptions { padding: [(1, 1); 2], ..ConvOptions::default() };
    /// assert_eq!(x.conv2d(&kernel, &options).shape(), [1, 3, 4, 4]);
    /// ```
    #[doc(alias("Conv2d", "conv_general_dilated"))]
    fn conv2d = try_conv2d(kernel: &Tensor, options: &ConvOptions<2>);
    /// The convolution of `self [N, C, depth, height, width]`; as [`Tensor::conv1d`].
    ///
    /// ```
    /// use wengert::{ConvOptions, Tensor};
    /// let (x, kernel) = (Tensor::ones(&[1, 1, 2, 2, 2]), Tensor::ones(&[1, 1, 2, 2, 2]));
    /// assert_eq!(x.conv3d(&kernel, &ConvOptions::default()).item(), 8.0);
    /// ```
    #[doc(alias = "Conv3d")]
    fn conv3d = try_conv3d(kernel: &Tensor, options: &ConvOptions<3>);
}

impl TryConvolve for Tensor {
    /// As [`Tensor::conv1d`], with an error instead of a panic.
    ///
    /// # Errors
    /// If shapes, element types or options do not fit.
    #[track_caller]
    fn try_conv1d(&self, kernel: &Tensor, options: &ConvOptions<1>) -> Result<Tensor, Error> {
        convolve("conv1d", self, kernel, options)
    }

    /// As [`Tensor::conv2d`], with an error instead of a panic.
    ///
    /// # Errors
    /// If shapes, element types or options do not fit.
    #[track_caller]
    fn try_conv2d(&self, kernel: &Tensor, options: &ConvOptions<2>) -> Result<Tensor, Error> {
        convolve("conv2d", self, kernel, options)
    }

    /// As [`Tensor::conv3d`], with an error instead of a panic.
    ///
    /// # Errors
    /// If shapes, element types or options do not fit.
    #[track_caller]
    fn try_conv3d(&self, kernel: &Tensor, options: &ConvOptions<3>) -> Result<Tensor, Error> {
        convolve("conv3d", self, kernel, options)
    }
}

#[track_caller]
fn convolve<const N: usize>(
    name: &str,
    x: &Tensor,
    kernel: &Tensor,
    options: &ConvOptions<N>,
) -> Result<Tensor, Error> {
    compose(name, &[x, kernel], |b, args| {
        let conv = Conv {
            stride: options.stride.to_vec(),
            padding: options.padding.to_vec(),
            input_dilation: options.input_dilation.to_vec(),
            kernel_dilation: options.dilation.to_vec(),
            groups: options.groups,
            batch_groups: 1,
        };
        if b.shape(args[0]).len() != N + 2 {
            misfit!("the input has {} axes, and has to be [N, C, {N} spatial]", b.shape(args[0]).len());
        }
        Ok(b.emit(conv, args)?[0])
    })
}

/// The panicking form and its `try_` twin of a pooling.
macro_rules! poolings {
    ($($(#[$about:meta])* $name:ident = $twin:ident: $rule:expr;)*) => {
        impl Tensor { $(
            $(#[$about])*
            ///
            /// # Panics
            /// If there are too few axes, or the window or the element type does not fit.
            #[track_caller]
            pub fn $name<const N: usize>(&self, pool: &Pool<N>) -> Tensor {
                crate::error::OrRaise::or_raise(self.$twin(pool))
            }
        )* }

        twins! { TryPool: "pooling"; $(
            #[doc = concat!("As [`Tensor::", stringify!($name), "`], with an error instead of a panic.")]
            ///
            /// # Errors
            /// If there are too few axes, or the window or the element type does not fit.
            fn $twin<const N: usize>(&self, pool: &Pool<N>) -> Result<Tensor, Error>;
        )* }

        impl TryPool for Tensor { $(
            #[track_caller]
            fn $twin<const N: usize>(&self, pool: &Pool<N>) -> Result<Tensor, Error> {
                compose(stringify!($name), &[self], |b, args| $rule(b, args[0], pool))
            }
        )* }
    };
}
poolings! {
    /// The largest element of every window over the last N axes; of equal ones the first has the
    /// derivative. Padding is never the largest.
    ///
    /// ```
    /// use wengert::{Pool, Tensor};
    /// let x = Tensor::from([1.0, 2.0, 3.0, 4.0]);
    /// assert_eq!(x.max_pool(&Pool::new([2])).to_vec(), [2.0, 4.0]);
    /// ```
    #[doc(alias("max_pool1d", "max_pool2d", "reduce_window"))]
    max_pool = try_max_pool: |b, x, pool| extreme(b, x, pool, Extreme::Max);
    /// The smallest element of every window; as [`Tensor::max_pool`].
    ///
    /// ```
    /// use wengert::{Pool, Tensor};
    /// let x = Tensor::from([1.0, 2.0, 3.0, 4.0]);
    /// assert_eq!(x.min_pool(&Pool::new([2])).to_vec(), [1.0, 3.0]);
    /// ```
    min_pool = try_min_pool: |b, x, pool| extreme(b, x, pool, Extreme::Min);
    /// The sum of every window over the last N axes; padding counts as 0.
    ///
    /// ```
    /// use wengert::{Pool, Tensor};
    /// let x = Tensor::from([1.0, 2.0, 3.0, 4.0]);
    /// assert_eq!(x.sum_pool(&Pool::new([2])).to_vec(), [3.0, 7.0]);
    /// ```
    sum_pool = try_sum_pool: total;
    /// The mean of every window over the last N axes; padding counts as 0, and the divisor is the
    /// size of the whole window.
    ///
    /// ```
    /// use wengert::{Pool, Tensor};
    /// let x = Tensor::from([1.0, 2.0, 3.0, 4.0]);
    /// assert_eq!(x.avg_pool(&Pool::new([2])).to_vec(), [1.5, 3.5]);
    /// ```
    #[doc(alias("avg_pool1d", "avg_pool2d"))]
    avg_pool = try_avg_pool: average;
}

/// The leading axes and the last N.
fn divided<const N: usize>(shape: &[usize]) -> Result<(&[usize], &[usize]), Misfit> {
    match shape.len().checked_sub(N) {
        Some(leading) => Ok(shape.split_at(leading)),
        None => misfit!("the window has {N} axes, and the operand {}", shape.len()),
    }
}

fn extreme<const N: usize>(b: &mut Builder, x: Value, pool: &Pool<N>, extreme: Extreme) -> Result<Value, Misfit> {
    let shape = b.shape(x).to_vec();
    let (leading, spatial) = divided::<N>(&shape)?;
    let (window, stride) = (pool.window.to_vec(), pool.stride.to_vec());
    let places = b.emit(WindowArg { extreme, window, stride, padding: pool.padding.to_vec() }, &[x])?[0];
    let result = b.shape(places).to_vec();
    let images: usize = leading.iter().product();
    let windows: usize = result[leading.len()..].iter().product();
    let x = b.reshape(x, &[images, spatial.iter().product()]);
    let places = b.reshape(places, &[images, windows, 1]);
    let gather = Gather { batch: 1, axes: vec![1], mode: OutOfBounds::Error };
    let chosen = b.emit(gather, &[x, places])?[0];
    Ok(b.reshape(chosen, &result))
}

fn total<const N: usize>(b: &mut Builder, x: Value, pool: &Pool<N>) -> Result<Value, Misfit> {
    let ty = b.ty(x).clone();
    check_float(&ty)?;
    let (leading, spatial) = divided::<N>(&ty.shape)?;
    check_count(&pool.window)?;
    let padding = pool.padding.iter().map(|&(low, high)| Some((i64::try_from(low).ok()?, i64::try_from(high).ok()?)));
    let Some(padding) = padding.collect() else { misfit!("the padding does not fit in memory") };
    let conv = Conv { stride: pool.stride.to_vec(), padding, ..Conv::new(N) };
    let image: Vec<usize> = [leading.iter().product(), 1].into_iter().chain(spatial.iter().copied()).collect();
    let x = b.reshape(x, &image);
    let kernel: Vec<usize> = [1, 1].into_iter().chain(pool.window).collect();
    let ones = b.full(1.0, &ty.with_shape(kernel));
    let sums = b.emit(conv, &[x, ones])?[0];
    let result: Vec<usize> = leading.iter().chain(&b.shape(sums)[2..]).copied().collect();
    Ok(b.reshape(sums, &result))
}

fn average<const N: usize>(b: &mut Builder, x: Value, pool: &Pool<N>) -> Result<Value, Misfit> {
    let sums = total(b, x, pool)?;
    let ty = b.ty(sums).clone();
    let size = b.full(pool.window.iter().map(|&length| length as f64).product(), &ty);
    Ok(b.div(sums, size))
}
