//! ndarray: [`Var`] and [`Dual`] as elements of arrays, and arrays as points of drivers.

use std::ops::{Add, Div, Mul, Sub};

use ndarray::{Array, ArrayBase, Data, Dimension, ScalarOperand};

use crate::dual::Dual;
use crate::real::{Carrier, Lit, Real};
use crate::tape::Var;
use crate::tree::{Several, Tree};

/// `array * scalar` needs the mark; `scalar * array` is not in ndarray, because there it would have
/// to be written for every scalar type.
macro_rules! operand {
    ([$($generics:tt)*] $carrier:ty) => {
        impl<$($generics)*> ScalarOperand for $carrier {}

        operand! { @left [$($generics)*] $carrier, Add add }
        operand! { @left [$($generics)*] $carrier, Sub sub }
        operand! { @left [$($generics)*] $carrier, Mul mul }
        operand! { @left [$($generics)*] $carrier, Div div }
    };
    (@left [$($generics:tt)*] $carrier:ty, $op:ident $method:ident) => {
        impl<S: Data<Elem = $carrier>, D: Dimension, $($generics)*> $op<&ArrayBase<S, D>> for $carrier {
            type Output = Array<$carrier, D>;
            #[track_caller]
            fn $method(self, array: &ArrayBase<S, D>) -> Self::Output {
                array.map(|&item| self.$method(item))
            }
        }
        impl<S: Data<Elem = $carrier>, D: Dimension, $($generics)*> $op<ArrayBase<S, D>> for $carrier {
            type Output = Array<$carrier, D>;
            #[track_caller]
            fn $method(self, array: ArrayBase<S, D>) -> Self::Output {
                self.$method(&array)
            }
        }
    };
}
/// `lit(2.0) * array`, of any elements that are carriers.
macro_rules! literal {
    ($($op:ident $method:ident)*) => { $(
        impl<R: Carrier, S: Data<Elem = R>, D: Dimension> $op<&ArrayBase<S, D>> for Lit {
            type Output = Array<R, D>;
            #[track_caller]
            fn $method(self, array: &ArrayBase<S, D>) -> Self::Output {
                array.map(|&item| $op::$method(self, item))
            }
        }
        impl<R: Carrier, S: Data<Elem = R>, D: Dimension> $op<ArrayBase<S, D>> for Lit {
            type Output = Array<R, D>;
            #[track_caller]
            fn $method(self, array: ArrayBase<S, D>) -> Self::Output {
                $op::$method(self, &array)
            }
        }
    )* };
}
literal! { Add add Sub sub Mul mul Div div }

operand! { [] Var }
operand! { [R: Real, const N: usize] Dual<R, N> }

/// The leaves go in logical order: the last index runs fastest, whatever the memory layout.
impl<T: Tree, S: Data<Elem = T>, D: Dimension> Tree for ArrayBase<S, D> {
    type Leaf = T::Leaf;
    type Vars = Array<T::Vars, D>;
    type Grad = Array<T::Grad, D>;
    type Each<U> = Array<T::Each<U>, D>;
    type Form = Several;
    const HAS_DATA: bool = T::HAS_DATA;

    fn size(&self) -> usize {
        self.iter().map(Tree::size).sum()
    }
    fn for_each_leaf(&self, visit: &mut impl FnMut(T::Leaf)) {
        self.iter().for_each(|item| item.for_each_leaf(visit));
    }
    fn visit_leaves(&self, visit: &mut impl FnMut(&T::Leaf)) {
        self.iter().for_each(|item| item.visit_leaves(visit));
    }
    fn structure(&self, structure: &mut crate::tree::Structure) {
        self.shape().iter().for_each(|&length| structure.number(length));
        self.iter().for_each(|item| item.structure(structure));
    }
    fn paths(&self, paths: &mut crate::tree::Paths) {
        self.iter().enumerate().for_each(|(k, item)| paths.field(k, item));
    }
    fn vars(&self, lift: &mut impl FnMut(T::Leaf) -> crate::leaf::Active<T>) -> Self::Vars {
        rebuild(self, |item| item.vars(lift))
    }
    fn grad(&self, next: &mut impl FnMut() -> T::Leaf) -> Self::Grad {
        rebuild(self, |item| item.grad(next))
    }
    fn each<U>(&self, next: &mut impl FnMut() -> U) -> Self::Each<U> {
        rebuild(self, |item| item.each(next))
    }
}

/// An array of the same shape. (`ArrayBase::map` promises no order.)
fn rebuild<T, U, S: Data<Elem = T>, D: Dimension>(array: &ArrayBase<S, D>, f: impl FnMut(&T) -> U) -> Array<U, D> {
    let items = array.iter().map(f).collect();
    Array::from_shape_vec(array.raw_dim(), items).expect("the array has as many items as its shape")
}
