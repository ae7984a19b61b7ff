//! The elementwise operations: what they compute and what their derivatives are.
//!
//! A family is a list and a few matches: the value ([`Unary::eval`]), the derivative ([`Unary::partial`]) and what that
//! reads ([`Unary::reads`]), in which operands it is linear, its domain, its kernel, sample points for the tests.
//! The derivative is written once, over [`Real`](crate::Real), and so serves numbers, duals,
//! Taylor series, the tape and lanes alike. The methods of numbers and tensors and the functions of the command line are
//! made from the list.
//!
//! # Conventions at kinks, ties and domain edges
//!
//! A derivative at such a point is a choice. This is the one table of ours; every row is pinned
//! by a test.
//!
//! | point | value | derivative |
//! |---|---|---|
//! | `abs(0)`, `relu(0)`, `sign`, `floor`, `ceil`, `round`, `trunc` anywhere | as usual | 0 |
//! | `relu6(0)`, `relu6(6)`, `clamp` at a bound | the bound | 0 |
//! | `leaky_relu(0)` with slope a, `elu(0)`, `celu(0)` | 0 | a, 1, 1 |
//! | `sqrt(0)`, `cbrt(0)` | 0 | `inf` |
//! | `rsqrt(0)` | `inf` | `-inf` |
//! | `sqrt(x)`, `x < 0` | NaN | NaN |
//! | `asin(±1)`, `acos(±1)`, `atanh(±1)`, `erfinv(±1)` | as usual | `±inf` |
//! | `logit(0)`, `logit(1)` | `∓inf` | `inf` |
//! | `entr(0)`; `entr(x)`, `x < 0` | 0; `-inf` | `inf`; NaN |
//! | `lgamma` at 0, -1, -2, … | `inf` | `-inf` at 0, NaN elsewhere |
//! | `max(x, x)`, `min(x, x)` | x | 1/2 each |
//! | `max`, `min` with a NaN operand | NaN | 0, 0 |
//! | `pow(x, 0)` in x; `pow(0, y)` in y for `y >= 0` | 1; `0^y` | 0 |
//! | `pow(x, y)` in y for `x < 0` | as usual | NaN |
//! | `atan2(0, 0)`, `hypot(0, 0)` | 0 | NaN, NaN |
//! | `copysign(0, y)` | ±0 | 0, 0 |
//! | `xlogy(0, 0)` | 0 | `-inf`, NaN |
//! | `xlog1py(0, -1)` | 0 | `-inf`, NaN |
//! | `logaddexp(a, a)`, `a` infinite | a | NaN, NaN |
//! | `norm` of the zero vector, `std` of equal numbers | 0 | 0 |
//! | `max`, `min` over axes at a tie | the extreme | shared equally |
//! | `cummax`, `cummin` at a tie | as usual | shared step by step, as `max` of two |
//! | the first result of `cummax`, `cummin`, `cumlogsumexp` | the element, NaN and infinities too | 1 |
//! | `cumlogsumexp` where all so far are `-inf` | `-inf` | shared step by step, 1/2 each |
//! | `max_pool` at a tie | as usual | all to the first |
//! | `argmax`, `argmin` at a tie or a NaN | the first of equal ones, the first NaN | none |
//! | `scatter_max`, `segment_max`, … at a tie | the extreme | shared equally by all that meet there |
//! | `scatter_max`, `segment_max`, … where one of them is NaN | NaN | 0 |
//! | `scatter_mul`, `segment_prod` with zeros | as usual | the product of the others |
//! | `sort`, `argsort`, `top_k`, `median`, `quantile` at a tie | stable: the lower index first; NaN last | follows the permutation |
//! | `prod`, `cumprod` with zeros | as usual | the product of the others |
//! | `logsumexp` of `-inf` only | `-inf` | NaN |
//! | `take`, `gather` out of range | an error; clamped: the nearest; filled: 0 | 0 where filled |
//! | `scatter_set` at one index twice | the last one | to the last one |
//!
//! A composition follows the chain rule: `relu(x)` and `max(x, 0)` differ at 0 (0 and 1/2).

mod binary;
mod compare;
mod facts;
mod logic;
mod parts;
mod unary;

pub use binary::Binary;
pub(crate) use binary::binary_list;
pub use compare::Compare;
pub use facts::{About, Domain, Reads};
pub use logic::Logic;
pub use unary::Unary;
pub(crate) use unary::unary_list;

/// Whole powers up to this one are functions of their own; a larger one is the function of two numbers, by which it loses no digits,
/// and a recorded operation has no room for its exponent.
pub(crate) const LARGEST_POWER: u32 = (1 << 27) - 1;

/// `x^n`
#[cfg_attr(not(debug_assertions), inline(always))]
fn whole_power(x: f64, n: i32) -> f64 {
    if n.unsigned_abs() <= LARGEST_POWER { x.powi(n) } else { x.powf(f64::from(n)) }
}

/// Makes a family: the enum, the list of its variants, their names and their codes on the tape.
/// The rules of a family are ordinary Rust beside it.
macro_rules! family {
    (
        $(#[$about:meta])*
        pub enum $family:ident ($codes:ident) {
            $(
                $(#[$doc:meta])*
                $name:ident $(($arg:ident : $ty:ty = $sample:expr))? = $text:literal $([$($called:tt)*])?,
            )*
        }
    ) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $family {
            $( $(#[$doc])* $name $(($ty))?, )*
        }

        /// The variants without their numbers, in order: the code of an operation on the tape.
        #[derive(Clone, Copy)]
        #[repr(u8)]
        enum $codes { $( $name, )* Count }

        impl $family {
            /// Every member of the family; one that carries a number is listed once, with a sample.
            pub const ALL: &'static [$family] = &[$( $family::$name $(({ let $arg: $ty = $sample; $arg }))?, )*];

            /// How many members there are.
            pub(crate) const COUNT: u8 = $codes::Count as u8;

            /// The name, as in error messages, listings and the golden files.
            pub const fn name(self) -> &'static str {
                match self { $( Self::$name { .. } => $text, )* }
            }

            /// The member of this name, with the number that `number` reads if it carries one; `wrong` says that it does
            /// not fit. `None` if there is none of this name.
            #[cfg(feature = "text")]
            pub(crate) fn named<E>(
                name: &str,
                number: impl FnOnce() -> Result<i128, E>,
                wrong: impl FnOnce(i128) -> E,
            ) -> Option<Result<Self, E>> {
                let &own = Self::ALL.iter().find(|own| own.name() == name)?;
                let _ = (&number, &wrong);
                Some(match own {
                    $( Self::$name { .. } => Ok(own) $( .and_then(|_| {
                        let $arg = number()?;
                        <$ty>::try_from($arg).map(Self::$name).map_err(|_| wrong($arg))
                    }) )?, )*
                })
            }

            /// The code of the operation, below [`Self::COUNT`], and the number it carries.
            #[cfg_attr(not(debug_assertions), inline(always))]
            pub(crate) const fn encode(self) -> (u8, u32) {
                match self {
                    $( Self::$name $(($arg))? => ($codes::$name as u8, 0 $(+ ($arg as u32))?), )*
                }
            }

            /// The operation with this code and number; codes from `COUNT` on do not occur.
            #[cfg_attr(not(debug_assertions), inline(always))]
            pub(crate) const fn decode(code: u8, number: u32) -> Self {
                let _ = number;
                $( if code == $codes::$name as u8 {
                    return Self::$name $(({ let $arg = number as $ty; $arg }))?;
                } )*
                panic!("no operation has this code")
            }
        }
    };
}
pub(crate) use family;

#[cfg(test)]
mod tests;
