//! Element by element: functions, comparisons, logic, choice.

use super::Tensor;
use super::compose::{compose, or_raise, single, twins};
use super::operand::{IntoOperand, Written, aligned, tensors};
use super::operators::elementwise;
use crate::error::{Error, Misfit, OrRaise, misfit};
use crate::ops::{Binary, Compare, Unary, binary_list, unary_list};
use crate::primitives::rule::{Sym, with_rule};
use crate::primitives::{Logic, Select, check_float};
use crate::program::{Builder, Value};
use crate::real::{Real, crossed_bounds, limited};

/// The functions of one argument that people call by name; what they compute is said at [`Unary`].
macro_rules! unary {
    (
        $(#[$about:meta])*
        pub enum $family:ident ($codes:ident) {
            $( $(#[$doc:meta])* $op:ident $(($($number:tt)*))? = $text:literal $([$($called:tt)*])?, )*
        }
    ) => {
        impl Tensor { $( unary! { @method [$(#[$doc])*] $op $($($called)*)? } )* }
        twins! { TryUnary: "functions of one argument"; $( unary! { @declared $op $($($called)*)? } )* }
        impl TryUnary for Tensor { $( unary! { @twin $op $($($called)*)? } )* }
    };
    (
        @method [$(#[$doc:meta])*] $op:ident
        $name:ident, $twin:ident: ($x:ident) $line:literal, $at:expr => $value:expr $(, as $($alias:literal)+)?
    ) => {
        #[doc = concat!("[`", stringify!($name), "`](crate::ops::Unary::", stringify!($op), ") of every element:")]
        $(#[$doc])*
        ///
        /// ```
        /// use wengert::prelude::*;
        #[doc = concat!("let y = Tensor::from(", stringify!($at), ").", stringify!($name), "();")]
        #[doc = concat!("assert!((y.item() - (", stringify!($value), ")).abs() < 1e-6);")]
        /// ```
        ///
        /// # Panics
        /// If the element type does not fit.
        $($(#[doc(alias = $alias)])+)?
        #[track_caller]
        pub fn $name(&self) -> Tensor {
            self.$twin().or_raise()
        }
    };
    (@declared $op:ident $name:ident, $twin:ident: $($called:tt)*) => {
        #[doc = concat!("As [`Tensor::", stringify!($name), "`], with an error instead of a panic.")]
        ///
        /// # Errors
        /// If the element type does not fit.
        fn $twin(&self) -> Result<Tensor, Error>;
    };
    (@twin $op:ident $name:ident, $twin:ident: $($called:tt)*) => {
        #[track_caller]
        fn $twin(&self) -> Result<Tensor, Error> {
            single(stringify!($name), Unary::$op, &[self])
        }
    };
    // What has no name is no method.
    (@method [$(#[$doc:meta])*] $op:ident $($unnamed:tt)*) => {};
    (@$kind:ident $op:ident $($unnamed:tt)*) => {};
}
unary_list! { [unary] [] }

/// The functions of two arguments by their names; what they compute is said at [`Binary`] and [`Logic`].
macro_rules! binary {
    (
        $(#[$about:meta])*
        pub enum $family:ident ($codes:ident) {
            $( $(#[$doc:meta])* $op:ident = $text:literal $([$($called:tt)*])?, )*
        }
    ) => {
        binary! { @listed {} $( [$(#[$doc])*] $op [$($($called)*)?] )* }
    };
    (
        @listed {$($named:tt)*} [$(#[$doc:meta])*] $op:ident [
            $method:ident | $name:ident, $twin:ident: ($x:ident, $y:ident) $line:literal, $at:tt => $value:expr
            $(, as $($alias:literal)+)?
        ] $($rest:tt)*
    ) => {
        binary! { @listed {
            $($named)*
            /// With `x` an element of `self` and `y` of `other`:
            $(#[$doc])*
            $name = $twin: Binary $op, $at => $value $(, as $($alias)+)?;
        } $($rest)* }
    };
    (@listed {$($named:tt)*} [$(#[$doc:meta])*] $op:ident [$($unnamed:tt)*] $($rest:tt)*) => {
        binary! { @listed {$($named)*} $($rest)* }
    };
    (@listed {$($named:tt)*}) => {
        binary! { TryBinary "functions of two arguments" "crate::ops": $($named)* }
    };
    ($trait:ident $what:literal $place:literal: $(
        $(#[$doc:meta])*
        $name:ident = $twin:ident: $family:ident $op:ident, ($x:expr, $y:expr) => $value:expr $(, as $($alias:literal)+)?;
    )*) => {
        impl Tensor { $(
            #[doc = concat!(
                "[`", stringify!($name), "`](", $place, "::", stringify!($family), "::", stringify!($op),
                ") of the elements of `self` and `other`, the shapes stretched to each other."
            )]
            ///
            $(#[$doc])*
            ///
            /// ```
            /// use wengert::prelude::*;
            #[doc = concat!(
                "let z = Tensor::from(", stringify!($x), ").", stringify!($name), "(", stringify!($y), ");"
            )]
            #[doc = concat!("assert!((z.item() - (", stringify!($value), ")).abs() < 1e-6);")]
            /// ```
            ///
            /// # Panics
            /// If shapes or element types do not fit.
            $($(#[doc(alias = $alias)])+)?
            #[track_caller]
            pub fn $name(&self, other: impl IntoOperand) -> Tensor {
                self.$twin(other).or_raise()
            }
        )* }
        pairs! { $trait $what: $($name = $twin: $family::$op;)* }
    };
}

/// The `try_` methods of functions of two operands, and their trait.
macro_rules! pairs {
    ($trait:ident $what:literal: $($name:ident = $twin:ident: $op:expr;)*) => {
        twins! { $trait: $what; $(
            #[doc = concat!("As [`Tensor::", stringify!($name), "`], with an error instead of a panic.")]
            ///
            /// # Errors
            /// If shapes or element types do not fit.
            fn $twin(&self, other: impl IntoOperand) -> Result<Tensor, Error>;
        )* }

        impl $trait for Tensor { $(
            #[track_caller]
            fn $twin(&self, other: impl IntoOperand) -> Result<Tensor, Error> {
                elementwise(stringify!($name), $op, self.into_operand(), other.into_operand())
            }
        )* }
    };
}
binary_list! { [binary] [] }

/// Comparisons: what is true where, and an example.
macro_rules! comparisons {
    ($($name:ident = $twin:ident: $op:ident, $sign:literal, $alias:literal, $about:literal, $example:literal;)*) => {
        impl Tensor { $(
            #[doc = concat!(
                "Where an element ", $about, " that of `other`, a tensor or a number: truth values, as NumPy's `x ", $sign,
                " y`, the shapes stretched to each other."
            )]
            ///
            /// Rust's operators on tensors do not compare, because they would have to give one truth value:
            /// [`all`](Tensor::all), [`any`](Tensor::any) and [`test`](Tensor::test) get there. The mask chooses by
            /// [`where_`](Tensor::where_), counts by [`to_i64`](Tensor::to_i64) and a sum, and combines by
            /// [`and`](Tensor::and), [`or`](Tensor::or), [`not`](Tensor::not). It has no derivative. Comparisons with NaN
            /// are false, `ne` is true.
            ///
            /// ```
            /// use wengert::prelude::*;
            /// let x = Tensor::from([1.0, 2.0, 3.0]);
            #[doc = concat!("assert_eq!(x.", stringify!($name), "(2).where_(&x, 0.0).to_vec(), ", $example, ");")]
            #[doc = concat!("assert!(x.", stringify!($name), "(Tensor::from([2.0, 0.0, 3.0])).any().test());")]
            /// ```
            ///
            /// # Panics
            /// If shapes or element types do not fit.
            #[doc(alias = $alias)]
            #[track_caller]
            pub fn $name(&self, other: impl IntoOperand) -> Tensor {
                self.$twin(other).or_raise()
            }
        )* }
        pairs! { TryCompare "comparisons": $($name = $twin: Compare::$op;)* }
    };
}
comparisons! {
    lt = try_lt: Lt, "<", "less", "is smaller than", "[1.0, 0.0, 0.0]";
    le = try_le: Le, "<=", "less_equal", "is smaller than or equal to", "[1.0, 2.0, 0.0]";
    gt = try_gt: Gt, ">", "greater", "is larger than", "[0.0, 0.0, 3.0]";
    ge = try_ge: Ge, ">=", "greater_equal", "is larger than or equal to", "[0.0, 2.0, 3.0]";
    eq = try_eq: Eq, "==", "equal", "is equal to", "[0.0, 2.0, 0.0]";
    ne = try_ne: Ne, "!=", "not_equal", "differs from", "[1.0, 0.0, 3.0]";
}
binary! { TryLogic "logic" "crate::primitives":
    and = try_and: Logic And, (true, false) => 0.0, as "logical_and";
    or = try_or: Logic Or, (true, false) => 1.0, as "logical_or";
    xor = try_xor: Logic Xor, (true, true) => 0.0, as "logical_xor";
}

or_raise! {
    trait TryElementwise: "choice, logic and functions with parameters, element by element";

    /// `x^n` for a constant integer; `x^0` is 1 with derivative 0, also at 0.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from([-2.0, 0.5]).powi(3).to_vec(), [-8.0, 0.125]);
    /// ```
    #[doc(alias = "integer_pow")]
    fn powi = try_powi(n: i32);
    /// `x^a` for a constant exponent.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let y = Tensor::from([4.0, 9.0]).powf(1.5);
    /// assert!((y - Tensor::from([8.0, 27.0])).abs().max().item() < 1e-13);
    /// ```
    #[doc(alias("pow", "power"))]
    fn powf = try_powf(exponent: f64);
    /// n-th derivative of the digamma function.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let y = Tensor::from([1.0]).polygamma(1);
    /// assert!((y - Tensor::from([std::f64::consts::PI.powi(2) / 6.0])).abs().max().item() < 1e-15);
    /// ```
    fn polygamma = try_polygamma(n: u32);
    /// `sin(pi x)/(pi x)`, 1 at 0.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let y = Tensor::from([0.0, 0.5, 1.0]).sinc();
    /// assert!((y - Tensor::from([1.0, 2.0 / std::f64::consts::PI, 0.0])).abs().max().item() < 1e-15);
    /// ```
    #[doc(alias = "normalized_sinc")]
    fn sinc = try_sinc();
    /// `e^(x^2) erfc(x)`, the scaled complementary error function.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let y = Tensor::from([0.0, 1e10]).erfcx();
    /// assert!((y - Tensor::from([1.0, 5.641895835477563e-11])).abs().max().item() < 1e-15);
    /// ```
    fn erfcx = try_erfcx();
    /// Logarithm of the distribution function of the normal distribution, also where that underflows.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let y = Tensor::from([0.0, -40.0]).log_normal_cdf();
    /// assert!((y - Tensor::from([-2f64.ln(), -804.608442013754])).abs().max().item() < 1e-12);
    /// ```
    #[doc(alias = "log_ndtr")]
    fn log_normal_cdf = try_log_normal_cdf();
    /// The opposite of every truth value.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let positive = Tensor::from([-1.0, 2.0]).gt(0.0);
    /// assert_eq!(positive.not().to_vec(), [1.0, 0.0]);
    /// ```
    #[doc(alias = "logical_not")]
    fn not = try_not();
    /// Whether each element is NaN.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from([f64::NAN, 2.0]).is_nan().to_vec(), [1.0, 0.0]);
    /// ```
    #[doc(alias = "isnan")]
    fn is_nan = try_is_nan();
    /// Whether each element is finite.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from([f64::NAN, 2.0, f64::INFINITY]).is_finite().to_vec(), [0.0, 1.0, 0.0]);
    /// ```
    #[doc(alias = "isfinite")]
    fn is_finite = try_is_finite();
    /// `yes` where `self`, a mask of truth values, is true, else `no`; all stretched to one shape.
    /// What is not chosen never reaches a derivative, not even as NaN.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let x = Tensor::from([-1.0, 4.0]);
    /// assert_eq!(x.gt(0.0).where_(x.sqrt(), 0.0).to_vec(), [0.0, 2.0]);
    /// ```
    #[doc(alias("where", "select"))]
    fn where_ = try_where(yes: impl IntoOperand, no: impl IntoOperand);
    /// The elements limited to `[low, high]`; the derivative passes strictly inside the bounds and
    /// belongs to the bound elsewhere. NaN stays NaN. Where a bound is a tensor and `low` is above `high`, the result is
    /// `high`; numbers that are not in order are an error.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let x = Tensor::from([-2.0, 0.5, 3.0]);
    /// assert_eq!(x.clamp(0.0, 1.0).to_vec(), [0.0, 0.5, 1.0]);
    /// assert_eq!(grad(&x, |x| x.clamp(0.0, 1.0).sum()).to_vec(), [0.0, 1.0, 0.0]);
    /// ```
    #[doc(alias = "clip")]
    fn clamp = try_clamp(low: impl IntoOperand, high: impl IntoOperand);
    /// `x` above 0, `slope * x` from 0 down.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from([-2.0, 3.0]).leaky_relu(0.25).to_vec(), [-0.5, 3.0]);
    /// ```
    #[doc(alias = "LeakyReLU")]
    fn leaky_relu = try_leaky_relu(slope: f64);
    /// `x` above 0, `e^x - 1` from 0 down.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let y = Tensor::from([-1.0, 3.0]).elu();
    /// assert!((y - Tensor::from([(-1f64).exp_m1(), 3.0])).abs().max().item() < 1e-15);
    /// ```
    #[doc(alias = "ELU")]
    fn elu = try_elu();
    /// `x` above 0, `alpha (e^(x/alpha) - 1)` from 0 down, for a positive `alpha`: its derivative is continuous, 1 at 0
    /// (Barron, *Continuously differentiable exponential linear units*, 2017).
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let y = Tensor::from([-1.0, 3.0]).celu(2.0);
    /// assert!((y - Tensor::from([2.0 * (-0.5f64).exp_m1(), 3.0])).abs().max().item() < 1e-15);
    /// ```
    #[doc(alias = "CELU")]
    fn celu = try_celu(alpha: f64);
    /// `min(max(x, 0), 6)` with derivative 0 at both bounds.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from([-2.0, 3.0, 8.0]).relu6().to_vec(), [0.0, 3.0, 6.0]);
    /// ```
    #[doc(alias = "ReLU6")]
    fn relu6 = try_relu6();
    /// `ln sigmoid(x)`, without underflow.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let y = Tensor::from([0.0, -800.0]).log_sigmoid();
    /// assert!((y - Tensor::from([-2f64.ln(), -800.0])).abs().max().item() < 1e-15);
    /// ```
    #[doc(alias("logsigmoid", "log_expit"))]
    fn log_sigmoid = try_log_sigmoid();
    /// `self + weight (other - self)`
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let (x, y) = (Tensor::from([0.0, 10.0]), Tensor::from([4.0, 20.0]));
    /// assert_eq!(x.lerp(&y, 0.25).to_vec(), [1.0, 12.5]);
    /// ```
    fn lerp = try_lerp(other: impl IntoOperand, weight: impl IntoOperand);
}

/// A function of one argument that is written over [`Real`].
fn by_rule(b: &mut Builder, x: Value, rule: impl FnOnce(Sym) -> Sym) -> Result<Value, Misfit> {
    let ty = b.ty(x).clone();
    check_float(&ty)?;
    let y = with_rule(b, &ty, || rule(Sym::Value(x)));
    Ok(y.materialise(b, &ty))
}

impl TryElementwise for Tensor {
    /// As [`Tensor::powi`], with an error instead of a panic.
    ///
    /// # Errors
    /// If the elements are not real.
    #[track_caller]
    fn try_powi(&self, n: i32) -> Result<Tensor, Error> {
        compose("powi", &[self], |b, args| by_rule(b, args[0], |x| x.powi(n)))
    }

    /// As [`Tensor::powf`], with an error instead of a panic.
    ///
    /// # Errors
    /// If the elements are not real.
    #[track_caller]
    fn try_powf(&self, exponent: f64) -> Result<Tensor, Error> {
        elementwise("powf", Binary::Pow, self.into_operand(), exponent.into_operand())
    }

    /// As [`Tensor::polygamma`], with an error instead of a panic.
    ///
    /// # Errors
    /// If the elements are not real.
    #[track_caller]
    fn try_polygamma(&self, n: u32) -> Result<Tensor, Error> {
        compose("polygamma", &[self], |b, args| by_rule(b, args[0], |x| x.polygamma(n)))
    }

    /// As [`Tensor::sinc`], with an error instead of a panic.
    ///
    /// # Errors
    /// If the elements are not real.
    #[track_caller]
    fn try_sinc(&self) -> Result<Tensor, Error> {
        single("sinc", Unary::Sinc(0), &[self])
    }

    /// As [`Tensor::erfcx`], with an error instead of a panic.
    ///
    /// # Errors
    /// If the elements are not real.
    #[track_caller]
    fn try_erfcx(&self) -> Result<Tensor, Error> {
        single("erfcx", Unary::Erfcx(0), &[self])
    }

    /// As [`Tensor::log_normal_cdf`], with an error instead of a panic.
    ///
    /// # Errors
    /// If the elements are not real.
    #[track_caller]
    fn try_log_normal_cdf(&self) -> Result<Tensor, Error> {
        single("log_normal_cdf", Unary::LogNormalCdf(0), &[self])
    }

    /// As [`Tensor::not`], with an error instead of a panic.
    ///
    /// # Errors
    /// If the elements are not truth values.
    #[track_caller]
    fn try_not(&self) -> Result<Tensor, Error> {
        single("not", Logic::Not, &[self])
    }

    /// As [`Tensor::is_nan`], with an error instead of a panic.
    ///
    /// # Errors
    /// If the recording of the tensor has ended.
    #[track_caller]
    fn try_is_nan(&self) -> Result<Tensor, Error> {
        single("is_nan", Compare::Unordered, &[self, self])
    }

    /// As [`Tensor::is_finite`], with an error instead of a panic.
    ///
    /// # Errors
    /// If the elements are not real.
    #[track_caller]
    fn try_is_finite(&self) -> Result<Tensor, Error> {
        compose("is_finite", &[self], |b, args| {
            let size = b.emit(Unary::Abs, args)?[0];
            let ty = b.ty(size).clone();
            check_float(&ty)?;
            let bound = b.full(f64::INFINITY, &ty);
            Ok(b.op(Compare::Lt, &[size, bound]))
        })
    }

    /// As [`Tensor::where_`], with an error instead of a panic.
    ///
    /// # Errors
    /// If `self` is no mask, or the shapes or element types do not fit.
    #[track_caller]
    fn try_where(&self, yes: impl IntoOperand, no: impl IntoOperand) -> Result<Tensor, Error> {
        let sides = [yes.into_operand(), no.into_operand()];
        let mut operands = vec![self];
        operands.extend(tensors(&sides));
        compose("where", &operands, |b, args| {
            let values = aligned(b, &sides, &args[1..])?;
            let shape = super::compose::joint_shape(b.shape(args[0]), b.shape(values[0]))?;
            let values = [args[0], values[0], values[1]].map(|value| super::compose::stretch(b, value, &shape));
            Ok(b.emit(Select, &values)?[0])
        })
    }

    /// As [`Tensor::clamp`], with an error instead of a panic.
    ///
    /// # Errors
    /// If shapes or element types do not fit, or both bounds are numbers that are not in order.
    #[track_caller]
    fn try_clamp(&self, low: impl IntoOperand, high: impl IntoOperand) -> Result<Tensor, Error> {
        let sides = [self.into_operand(), low.into_operand(), high.into_operand()];
        compose("clamp", &tensors(&sides), |b, args| {
            let numbers = match &sides {
                [_, Written::Number(low), Written::Number(high)] => Some([low.to_f64(), high.to_f64()]),
                _ => None,
            };
            if let Some(why) = numbers.and_then(|[low, high]| crossed_bounds(low, high)) {
                misfit!("{why}");
            }
            let values = aligned(b, &sides, args)?;
            let ty = b.ty(values[0]).clone();
            let [x, low, high] = [0, 1, 2].map(|k| Sym::Value(values[k]));
            let y = with_rule(b, &ty, || if numbers.is_some() { limited(x, low, high) } else { x.clamp_to(low, high) });
            Ok(y.materialise(b, &ty))
        })
    }

    /// As [`Tensor::leaky_relu`], with an error instead of a panic.
    ///
    /// # Errors
    /// If the elements are not real.
    #[track_caller]
    fn try_leaky_relu(&self, slope: f64) -> Result<Tensor, Error> {
        compose("leaky_relu", &[self], |b, args| by_rule(b, args[0], |x| x.leaky_relu(slope)))
    }

    /// As [`Tensor::elu`], with an error instead of a panic.
    ///
    /// # Errors
    /// If the elements are not real.
    #[track_caller]
    fn try_elu(&self) -> Result<Tensor, Error> {
        compose("elu", &[self], |b, args| by_rule(b, args[0], Real::elu))
    }

    /// As [`Tensor::celu`], with an error instead of a panic.
    ///
    /// # Errors
    /// If `alpha` is not positive or the elements are not real.
    #[track_caller]
    fn try_celu(&self, alpha: f64) -> Result<Tensor, Error> {
        compose("celu", &[self], |b, args| {
            if alpha.is_nan() || alpha <= 0.0 {
                misfit!("alpha is {alpha}, and has to be positive");
            }
            by_rule(b, args[0], |x| x.celu(alpha))
        })
    }

    /// As [`Tensor::relu6`], with an error instead of a panic.
    ///
    /// # Errors
    /// If the elements are not real.
    #[track_caller]
    fn try_relu6(&self) -> Result<Tensor, Error> {
        compose("relu6", &[self], |b, args| by_rule(b, args[0], Real::relu6))
    }

    /// As [`Tensor::log_sigmoid`], with an error instead of a panic.
    ///
    /// # Errors
    /// If the elements are not real.
    #[track_caller]
    fn try_log_sigmoid(&self) -> Result<Tensor, Error> {
        compose("log_sigmoid", &[self], |b, args| by_rule(b, args[0], Real::log_sigmoid))
    }

    /// As [`Tensor::lerp`], with an error instead of a panic.
    ///
    /// # Errors
    /// If shapes or element types do not fit.
    #[track_caller]
    fn try_lerp(&self, other: impl IntoOperand, weight: impl IntoOperand) -> Result<Tensor, Error> {
        let sides = [self.into_operand(), other.into_operand(), weight.into_operand()];
        compose("lerp", &tensors(&sides), |b, args| {
            let values = aligned(b, &sides, args)?;
            let ty = b.ty(values[0]).clone();
            check_float(&ty)?;
            let [x, y, weight] = [0, 1, 2].map(|k| Sym::Value(values[k]));
            let z = with_rule(b, &ty, || x.lerp(y, weight));
            Ok(z.materialise(b, &ty))
        })
    }
}
