//! The operators of carriers, by macro.

/// The operators of a carrier that implements [`Carrier`](super::Carrier)'s functions: with itself, with `f64` on
/// either side, assigning, `Sum` and `Product`. The macro only names.
macro_rules! real_operators {
    ([$($generics:tt)*] $carrier:ty) => {
        $crate::real::real_operators! { @binary [$($generics)*] $carrier, Add add AddAssign add_assign }
        $crate::real::real_operators! { @binary [$($generics)*] $carrier, Sub sub SubAssign sub_assign }
        $crate::real::real_operators! { @binary [$($generics)*] $carrier, Mul mul MulAssign mul_assign }
        $crate::real::real_operators! { @binary [$($generics)*] $carrier, Div div DivAssign div_assign }
        $crate::real::real_operators! { @binary [$($generics)*] $carrier, Rem rem RemAssign rem_assign }

        impl<$($generics)*> std::ops::Neg for $carrier {
            type Output = Self;
            #[cfg_attr(not(debug_assertions), inline(always))]
            #[track_caller]
            fn neg(self) -> Self {
                $crate::real::Carrier::carry_unary(self, $crate::ops::Unary::Neg)
            }
        }
        impl<$($generics)*> std::iter::Sum for $carrier {
            #[track_caller]
            fn sum<I: Iterator<Item = Self>>(mut terms: I) -> Self {
                let Some(first) = terms.next() else { return $crate::real::Carrier::carry_constant(0.0) };
                terms.fold(first, |sum, term| sum + term)
            }
        }
        impl<$($generics)*> std::iter::Product for $carrier {
            #[track_caller]
            fn product<I: Iterator<Item = Self>>(mut factors: I) -> Self {
                let Some(first) = factors.next() else { return $crate::real::Carrier::carry_constant(1.0) };
                factors.fold(first, |product, factor| product * factor)
            }
        }
        impl<'item, $($generics)*> std::iter::Sum<&'item $carrier> for $carrier {
            #[track_caller]
            fn sum<I: Iterator<Item = &'item $carrier>>(terms: I) -> Self {
                terms.copied().sum()
            }
        }
        impl<'item, $($generics)*> std::iter::Product<&'item $carrier> for $carrier {
            #[track_caller]
            fn product<I: Iterator<Item = &'item $carrier>>(factors: I) -> Self {
                factors.copied().product()
            }
        }
        impl<$($generics)*> From<f64> for $carrier {
            #[cfg_attr(not(debug_assertions), inline(always))]
            fn from(value: f64) -> Self {
                $crate::real::Carrier::carry_constant(value)
            }
        }
    };
    (@binary [$($generics:tt)*] $carrier:ty, $op:ident $method:ident $assign:ident $assign_method:ident) => {
        impl<$($generics)*> std::ops::$op for $carrier {
            type Output = Self;
            #[cfg_attr(not(debug_assertions), inline(always))]
            #[track_caller]
            fn $method(self, other: Self) -> Self {
                $crate::real::Carrier::carry_binary(self, other, $crate::ops::Binary::$op)
            }
        }
        impl<$($generics)*> std::ops::$op<f64> for $carrier {
            type Output = Self;
            #[cfg_attr(not(debug_assertions), inline(always))]
            #[track_caller]
            fn $method(self, constant: f64) -> Self {
                $crate::real::Carrier::carry_binary_constant(self, constant, $crate::ops::Binary::$op)
            }
        }
        impl<$($generics)*> std::ops::$op<$carrier> for f64 {
            type Output = $carrier;
            #[cfg_attr(not(debug_assertions), inline(always))]
            #[track_caller]
            fn $method(self, other: $carrier) -> $carrier {
                $crate::real::Carrier::carry_constant_binary(self, other, $crate::ops::Binary::$op)
            }
        }
        impl<$($generics)*> std::ops::$op<$crate::real::Lit> for $carrier {
            type Output = Self;
            #[cfg_attr(not(debug_assertions), inline(always))]
            #[track_caller]
            fn $method(self, constant: $crate::real::Lit) -> Self {
                $crate::real::Carrier::carry_binary_constant(self, constant.value(), $crate::ops::Binary::$op)
            }
        }
        impl<$($generics)*> std::ops::$assign for $carrier {
            #[cfg_attr(not(debug_assertions), inline(always))]
            #[track_caller]
            fn $assign_method(&mut self, other: Self) {
                *self = $crate::real::Carrier::carry_binary(*self, other, $crate::ops::Binary::$op);
            }
        }
        impl<$($generics)*> std::ops::$assign<f64> for $carrier {
            #[cfg_attr(not(debug_assertions), inline(always))]
            #[track_caller]
            fn $assign_method(&mut self, constant: f64) {
                *self = $crate::real::Carrier::carry_binary_constant(*self, constant, $crate::ops::Binary::$op);
            }
        }
    };
}
pub(crate) use real_operators;

/// The same operators for references to carriers that users hold, as `f64` has them: `xs.iter().map(|x| 2.0 * x)`.
macro_rules! real_references {
    ($generics:tt $carrier:ty) => {
        $crate::real::real_references! { @op $generics $carrier, Add add AddAssign add_assign }
        $crate::real::real_references! { @op $generics $carrier, Sub sub SubAssign sub_assign }
        $crate::real::real_references! { @op $generics $carrier, Mul mul MulAssign mul_assign }
        $crate::real::real_references! { @op $generics $carrier, Div div DivAssign div_assign }
        $crate::real::real_references! { @op $generics $carrier, Rem rem RemAssign rem_assign }
        $crate::real::real_references! { @neg $generics $carrier }
    };
    (@op $generics:tt $carrier:ty, $op:ident $method:ident $assign:ident $assign_method:ident) => {
        $crate::real::real_references! { @one $generics $carrier, $op $method, &$carrier, $carrier, |x, y| (*x, y) }
        $crate::real::real_references! { @one $generics $carrier, $op $method, $carrier, &$carrier, |x, y| (x, *y) }
        $crate::real::real_references! { @one $generics $carrier, $op $method, &$carrier, &$carrier, |x, y| (*x, *y) }
        $crate::real::real_references! { @one $generics $carrier, $op $method, &$carrier, f64, |x, y| (*x, y) }
        $crate::real::real_references! { @one $generics $carrier, $op $method, f64, &$carrier, |x, y| (x, *y) }
        $crate::real::real_references! { @one $generics $carrier, $op $method, $crate::real::Lit, &$carrier, |x, y| (x, *y) }
        $crate::real::real_references! { @assign $generics $carrier, $assign $assign_method }
    };
    (@one [$($generics:tt)*] $carrier:ty, $op:ident $method:ident, $left:ty, $right:ty, |$x:ident, $y:ident| $pair:expr) => {
        impl<$($generics)*> std::ops::$op<$right> for $left {
            type Output = $carrier;
            #[cfg_attr(not(debug_assertions), inline(always))]
            #[track_caller]
            fn $method(self, other: $right) -> $carrier {
                let ($x, $y) = (self, other);
                let (x, y) = $pair;
                std::ops::$op::$method(x, y)
            }
        }
    };
    (@assign [$($generics:tt)*] $carrier:ty, $assign:ident $assign_method:ident) => {
        impl<$($generics)*> std::ops::$assign<&$carrier> for $carrier {
            #[cfg_attr(not(debug_assertions), inline(always))]
            #[track_caller]
            fn $assign_method(&mut self, other: &$carrier) {
                std::ops::$assign::$assign_method(self, *other);
            }
        }
    };
    (@neg [$($generics:tt)*] $carrier:ty) => {
        impl<$($generics)*> std::ops::Neg for &$carrier {
            type Output = $carrier;
            #[cfg_attr(not(debug_assertions), inline(always))]
            #[track_caller]
            fn neg(self) -> $carrier {
                -*self
            }
        }
    };
}
pub(crate) use real_references;

/// `lit op x` for an `x` that stands right of an `f64` too, and is no carrier: what `value op x` is.
macro_rules! lit_operators {
    ($generics:tt $right:ty => $output:ty: $($op:ident $method:ident)*) => {
        $( $crate::real::lit_operators! { @one $generics $right, $output, $op $method } )*
    };
    (@one [$($generics:tt)*] $right:ty, $output:ty, $op:ident $method:ident) => {
        impl<$($generics)*> std::ops::$op<$right> for $crate::real::Lit {
            type Output = $output;
            #[cfg_attr(not(debug_assertions), inline(always))]
            #[track_caller]
            fn $method(self, other: $right) -> $output {
                std::ops::$op::$method(self.value(), other)
            }
        }
    };
}
pub(crate) use lit_operators;
