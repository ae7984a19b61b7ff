//! Running sums, products, extremes and log-sum-exps along an axis.

use super::compose::{axis_of, compose, twins};
use super::{Dim, Tensor};
use crate::error::{Error, OrRaise};
use crate::primitives::{Cumulative, Running};

/// A running reduction: from the start of the axis and from its end, with `try_` twins.
macro_rules! running {
    ($($(#[$about:meta])* $name:ident $reversed:ident = $twin:ident $twin_reversed:ident: $running:expr;)*) => {
        impl Tensor { $(
            $(#[$about])*
            ///
            /// # Panics
            /// If the axis does not exist or the element type does not fit.
            #[track_caller]
            pub fn $name(&self, axis: impl Dim) -> Tensor {
                self.$twin(axis).or_raise()
            }

            #[doc = concat!("As [`Tensor::", stringify!($name), "`], from the end of the axis.")]
            ///
            /// ```
            /// use wengert::prelude::*;
            /// let x = Tensor::from([1.0, 3.0, 2.0]);
            #[doc = concat!("let y = x.flip(0).", stringify!($name), "(0).flip(0);")]
            #[doc = concat!("assert!((x.", stringify!($reversed), "(0) - y).abs().max().item() < 1e-15);")]
            /// ```
            ///
            /// # Panics
            /// If the axis does not exist or the element type does not fit.
            #[track_caller]
            pub fn $reversed(&self, axis: impl Dim) -> Tensor {
                self.$twin_reversed(axis).or_raise()
            }

        )* }

        twins! { TryRunning: "running sums and their like"; $(
            #[doc = concat!("As [`Tensor::", stringify!($name), "`], with an error instead of a panic.")]
            ///
            /// # Errors
            /// If the axis does not exist or the element type does not fit.
            fn $twin(&self, axis: impl Dim) -> Result<Tensor, Error>;
            #[doc = concat!("As [`Tensor::", stringify!($reversed), "`], with an error instead of a panic.")]
            ///
            /// # Errors
            /// If the axis does not exist or the element type does not fit.
            fn $twin_reversed(&self, axis: impl Dim) -> Result<Tensor, Error>;
        )* }

        impl TryRunning for Tensor { $(
            #[track_caller]
            fn $twin(&self, axis: impl Dim) -> Result<Tensor, Error> {
                run(stringify!($name), self, axis.dim().0, $running, false)
            }
            #[track_caller]
            fn $twin_reversed(&self, axis: impl Dim) -> Result<Tensor, Error> {
                run(stringify!($reversed), self, axis.dim().0, $running, true)
            }
        )* }
    };
}
running! {
    /// The sums of the elements up to each along an axis. Those of single precision are taken in double precision, and rounded once.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let x = Tensor::from([1.0, 2.0, 3.0]);
    /// assert_eq!(x.cumsum(0).to_vec(), [1.0, 3.0, 6.0]);
    /// assert_eq!(x.cumsum_reversed(0).to_vec(), [6.0, 5.0, 3.0]);
    /// ```
    #[doc(alias("prefix_sum", "scan"))]
    cumsum cumsum_reversed = try_cumsum try_cumsum_reversed: Running::Sum;
    /// The products of the elements up to each along an axis.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from([2.0, 3.0, 4.0]).cumprod(0).to_vec(), [2.0, 6.0, 24.0]);
    /// ```
    #[doc(alias = "prefix_product")]
    cumprod cumprod_reversed = try_cumprod try_cumprod_reversed: Running::Prod;
    /// The largest of the elements up to each along an axis.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from([2.0, 1.0, 4.0]).cummax(0).to_vec(), [2.0, 2.0, 4.0]);
    /// ```
    cummax cummax_reversed = try_cummax try_cummax_reversed: Running::Max;
    /// The smallest of the elements up to each along an axis.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from([2.0, 1.0, 4.0]).cummin(0).to_vec(), [2.0, 1.0, 1.0]);
    /// ```
    cummin cummin_reversed = try_cummin try_cummin_reversed: Running::Min;
    /// `ln sum exp` of the elements up to each along an axis, without overflow; in single precision as sums.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let y = Tensor::from([0.0, 0.0, 0.0]).cumlogsumexp(0);
    /// assert!((y - Tensor::from([0.0, 2f64.ln(), 3f64.ln()])).abs().max().item() < 1e-15);
    /// ```
    #[doc(alias = "logcumsumexp")]
    cumlogsumexp cumlogsumexp_reversed = try_cumlogsumexp try_cumlogsumexp_reversed: Running::Logsumexp;
}

#[track_caller]
fn run(name: &str, x: &Tensor, axis: isize, running: Running, reverse: bool) -> Result<Tensor, Error> {
    compose(name, &[x], |b, args| {
        let axis = axis_of(axis, b.shape(args[0]).len())?;
        Ok(b.emit(Cumulative::new(running, axis, reverse), args)?[0])
    })
}
