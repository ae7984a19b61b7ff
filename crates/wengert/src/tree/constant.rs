//! [`Const`]: the part of a point that is not differentiated.

use super::{Paths, Several, Structure, Tree};
use crate::leaf::{Active, Drive};

/// Data at a point: numbers that a function takes, and that it is not differentiated by.
///
/// A driver gives the function what is inside, severed: `∂f/∂c = 0` for every leaf `c` of it, in derivatives of every order,
/// whatever the factors are. A gradient has the same form, with zeros here, so that it may be added to the point or
/// multiplied by a Hessian; a tangent here has no effect.
///
/// A constant that a function captures belongs to its recording. Data belongs to the point: a recorded function takes other
/// data at every call, and nothing is computed for its derivatives.
///
/// ```
/// use wengert::prelude::*;
/// use wengert::Const;
///
/// // The gradient of one term of a least-squares problem by the parameters a and b, at many measurements.
/// let term = record(([1.0, 1.0], Const([0.0, 0.0])), |([a, b], Const([t, y]))| (a * (b * t).exp() - y).square());
/// let gradients = term.grad_many(&[([2.0, 0.5], Const([0.0, 3.0])), ([2.0, 0.5], Const([1.0, 3.0]))]);
/// assert_eq!(gradients[0], ([-2.0, 0.0], Const([0.0, 0.0])));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Const<T>(pub T);

impl<T: Tree> Tree for Const<T> {
    type Leaf = T::Leaf;
    type Vars = Const<T::Vars>;
    type Grad = Const<T::Grad>;
    type Each<U> = Const<T::Each<U>>;
    type Form = Several;

    fn size(&self) -> usize {
        self.0.size()
    }
    fn for_each_leaf(&self, visit: &mut impl FnMut(Self::Leaf)) {
        self.0.for_each_leaf(visit);
    }
    fn visit_leaves(&self, visit: &mut impl FnMut(&Self::Leaf)) {
        self.0.visit_leaves(visit);
    }
    fn structure(&self, structure: &mut Structure) {
        self.0.structure(structure);
    }
    fn paths(&self, paths: &mut Paths) {
        paths.frozen(&self.0);
    }
    fn vars(&self, lift: &mut impl FnMut(Self::Leaf) -> Active<Self>) -> Self::Vars {
        Const(self.0.vars(&mut |leaf| lift(leaf).severed()))
    }
    fn grad(&self, next: &mut impl FnMut() -> Self::Leaf) -> Self::Grad {
        Const(self.0.grad(next))
    }
    fn each<U>(&self, next: &mut impl FnMut() -> U) -> Self::Each<U> {
        Const(self.0.each(next))
    }
}
