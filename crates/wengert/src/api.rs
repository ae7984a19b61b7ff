//! The drivers: what a user calls.

use crate::drive::{compute, next, run_recorded};
use crate::leaf::{Active, Drive, Leaf};
use crate::scalar::Scalar;
use crate::tape::recording::Mode;
use crate::tape::{TapeSize, Var};
use crate::task::Task;
use crate::tree::{Tree, check_direction, leaves};

/// The value and the gradient of a scalar function.
///
/// `f` runs once and is recorded; one reverse sweep gives all partial derivatives, at a small
/// multiple of the cost of `f` that does not depend on how many inputs there are. The gradient
/// has the type of the point.
///
/// ```
/// use wengert::prelude::*;
/// let (v, [dx, dy]) = value_and_grad([2.0, 5.0], |[x, y]| x.ln() + x * y - y.sin());
/// assert_eq!(v, 2f64.ln() + 10.0 - 5f64.sin());
/// assert_eq!([dx, dy], [5.5, 2.0 - 5f64.cos()]);
/// ```
///
/// Inside another driver's function a point of [`Var`]s gives `Var`s, which the outer driver
/// differentiates. A plain point there gives plain numbers; if these depend on an outer `Var`,
/// it is an error (see [`lift`](crate::lift)).
///
/// Source of the method: S. Linnainmaa, *Taylor expansion of the accumulated rounding error*
/// (1976).
///
/// # Panics
/// If the result is a [`Var`] of a recording that has ended, or the case above.
#[doc(alias("backward", "autograd"))]
#[track_caller]
pub fn value_and_grad<T: Tree>(x: T, f: impl FnOnce(T::Vars) -> Active<T>) -> (T::Leaf, T::Grad) {
    T::Leaf::value_and_grad(&x, f)
}

/// The gradient of a scalar function; see [`value_and_grad`].
///
/// ```
/// use wengert::prelude::*;
/// assert_eq!(grad(3.0, |x| x * x), 6.0);
/// // derivatives nest: d/dx (x * d/dy (x + y)) = 1
/// assert_eq!(grad(2.0, |x| x * grad(x, |y| x + y)), 1.0);
/// ```
#[doc(alias("gradient", "backward"))]
#[track_caller]
pub fn grad<T: Tree>(x: T, f: impl FnOnce(T::Vars) -> Active<T>) -> T::Grad {
    T::Leaf::grad(&x, f)
}

/// The value, further results of the same run, and the gradient of the value.
///
/// The further results are any [`Tree`] of [`Var`]s; they come out as numbers of the point's type.
///
/// ```
/// use wengert::prelude::*;
/// let (loss, prediction, g) = value_and_grad_aux([1.0, 2.0], |[w, b]| {
///     let prediction = w * 3.0 + b;
///     ((prediction - 4.0).powi(2), prediction)
/// });
/// assert_eq!((loss, prediction, g), (1.0, 5.0, [6.0, 2.0]));
/// ```
#[track_caller]
pub fn value_and_grad_aux<T: Tree, A: Tree<Leaf = Active<T>>>(
    x: T,
    f: impl FnOnce(T::Vars) -> (Active<T>, A),
) -> (T::Leaf, <T::Leaf as Leaf>::Out<A>, T::Grad) {
    T::Leaf::value_and_grad_aux(&x, f)
}

/// The value `f(x)` and the product of the Jacobian with a tangent, `J v`: forward mode.
///
/// The tangent is a tree with as many numbers as the point.
///
/// ```
/// use wengert::prelude::*;
/// let (y, dy) = jvp([2.0, 3.0], [1.0, 0.0], |[x, y]| [x * y, x + y]);
/// assert_eq!((y, dy), ([6.0, 5.0], [3.0, 1.0]));
/// ```
///
/// # Panics
/// If the tangent has other leaves than the point.
#[doc(alias("pushforward", "forward_mode"))]
#[track_caller]
pub fn jvp<T: Tree, O: Tree<Leaf = Active<T>>>(
    x: T,
    tangent: impl Tree<Leaf = T::Leaf>,
    f: impl FnOnce(T::Vars) -> O,
) -> (<T::Leaf as Leaf>::Out<O>, <T::Leaf as Leaf>::Out<O>) {
    check_direction("jvp", "tangent", &x, &tangent);
    let tangent = leaves(&tangent);
    T::Leaf::jvp(&x, &tangent, f)
}

/// The value `f(x)` and the product of the Jacobian with a tangent: [`jvp`] under the name that goes with
/// [`value_and_grad`] and [`value_and_jacobian`].
///
/// ```
/// use wengert::prelude::*;
/// let (y, dy) = value_and_jvp([2.0, 3.0], [1.0, 0.0], |[x, y]| [x * y, x + y]);
/// assert_eq!((y, dy), ([6.0, 5.0], [3.0, 1.0]));
/// ```
///
/// # Panics
/// As [`jvp`].
#[track_caller]
pub fn value_and_jvp<T: Tree, O: Tree<Leaf = Active<T>>>(
    x: T,
    tangent: impl Tree<Leaf = T::Leaf>,
    f: impl FnOnce(T::Vars) -> O,
) -> (<T::Leaf as Leaf>::Out<O>, <T::Leaf as Leaf>::Out<O>) {
    jvp(x, tangent, f)
}

/// The value `f(x)` and a [`Pullback`], which multiplies cotangents by the transposed Jacobian.
///
/// ```
/// use wengert::prelude::*;
/// let (y, pullback) = vjp([2.0, 3.0], |[x, y]| [x * y, x + y]);
/// assert_eq!(y, [6.0, 5.0]);
/// assert_eq!(pullback.pull([1.0, 0.0]), [3.0, 2.0]);
/// assert_eq!(pullback.pull([0.0, 1.0]), [1.0, 1.0]);
/// ```
#[doc(alias("pullback", "reverse_mode"))]
#[track_caller]
pub fn vjp<T: Tree, O: Tree<Leaf = Active<T>>>(
    x: T,
    f: impl FnOnce(T::Vars) -> O,
) -> (<T::Leaf as Leaf>::Out<O>, Pullback<T>) {
    let (y, held) = T::Leaf::hold(&x, f);
    (y, Pullback { point: x, held })
}

/// The transposed Jacobian of a function at a point, as a map: see [`vjp`].
#[derive(Clone, Debug)]
pub struct Pullback<T: Tree> {
    point: T,
    held: <T::Leaf as Leaf>::Held,
}

impl<T: Tree> Pullback<T> {
    /// `Jᵀ c` for a cotangent with as many numbers as the function has results.
    ///
    /// # Panics
    /// If the cotangent has another number of leaves than the result.
    #[track_caller]
    pub fn pull(&self, cotangent: impl Tree<Leaf = T::Leaf>) -> T::Grad {
        T::Leaf::pull(&self.point, &self.held, &leaves(&cotangent))
    }
}

/// The Jacobian: the result's shape with a gradient in place of every number. Of one tensor by one tensor it is a tensor with
/// the axes of the result, then those of the point; between several there are [`Blocks`](crate::Blocks).
///
/// Computed forward (one tangent per input) if there are at most as many inputs as outputs, else
/// backward (one cotangent per output), eight at a time. [`value_and_jacobian`] gives the value too, from the same run.
///
/// ```
/// use wengert::prelude::*;
/// let j = jacobian([2.0, 3.0], |[x, y]| [x * y, x + y, y]);
/// assert_eq!(j, [[3.0, 2.0], [1.0, 1.0], [0.0, 1.0]]);
/// # #[cfg(feature = "arrays")] {
/// let x = Tensor::from([1.0, 2.0, 3.0]);
/// let j: Tensor = jacobian(&x, |x| x.square().cumsum(0));
/// assert_eq!((j.shape(), &j.to_vec()[3..6]), (&[3, 3][..], &[2.0, 4.0, 0.0][..]));
/// # }
/// ```
#[doc(alias("jacfwd", "jacrev"))]
#[track_caller]
pub fn jacobian<T: Tree, O: Tree<Leaf = Active<T>>>(
    x: T,
    f: impl FnOnce(T::Vars) -> O,
) -> <T::Leaf as Leaf>::Jacobian<T, O> {
    T::Leaf::jacobian(&x, f)
}

/// The value `f(x)` and the [`jacobian`], from one run of `f`: at the cost of the Jacobian alone.
///
/// ```
/// use wengert::prelude::*;
/// let (y, j) = value_and_jacobian([2.0, 3.0], |[x, y]| [x * y, x + y, y]);
/// assert_eq!(y, [6.0, 5.0, 3.0]);
/// assert_eq!(j, [[3.0, 2.0], [1.0, 1.0], [0.0, 1.0]]);
/// ```
#[track_caller]
#[expect(clippy::type_complexity, reason = "an alias would hide what readers of the signature look for")]
pub fn value_and_jacobian<T: Tree, O: Tree<Leaf = Active<T>>>(
    x: T,
    f: impl FnOnce(T::Vars) -> O,
) -> (<T::Leaf as Leaf>::Out<O>, <T::Leaf as Leaf>::Jacobian<T, O>) {
    T::Leaf::value_and_jacobian(&x, f)
}

/// The Hessian of a scalar function: the point's shape with a gradient in place of every number. At one tensor it is a tensor
/// with the axes of the point twice; at several there are [`Blocks`](crate::Blocks).
///
/// Forward over reverse, eight columns a sweep, from one run of `f`. [`value_grad_and_hessian`] gives the value and the gradient
/// too, from the same sweeps.
///
/// ```
/// use wengert::prelude::*;
/// let h = hessian([1.0, 2.0], |[x, y]| x * x * y);
/// assert_eq!(h, [[4.0, 2.0], [2.0, 0.0]]);
/// ```
#[doc(alias = "hess")]
#[track_caller]
pub fn hessian<T: Tree>(x: T, f: impl FnOnce(T::Vars) -> Active<T>) -> <T::Leaf as Leaf>::Hessian<T> {
    T::Leaf::hessian(&x, f)
}

/// The value, the gradient and the [`hessian`] of a scalar function, from one run of `f` and the sweeps of the Hessian alone:
/// what a step of Newton's method asks for.
///
/// ```
/// use wengert::prelude::*;
/// let (v, g, h) = value_grad_and_hessian([1.0, 2.0], |[x, y]| x * x * y);
/// assert_eq!((v, g), (2.0, [4.0, 1.0]));
/// assert_eq!(h, [[4.0, 2.0], [2.0, 0.0]]);
/// # #[cfg(feature = "arrays")] {
/// let (v, g, h) = value_grad_and_hessian(&Tensor::from([1.0, 2.0]), |x| x.powi(3).sum());
/// assert_eq!((v.item(), g.to_vec()), (9.0, vec![3.0, 12.0]));
/// assert_eq!(h.to_vec(), [6.0, 0.0, 0.0, 12.0]);
/// # }
/// ```
#[track_caller]
pub fn value_grad_and_hessian<T: Tree>(
    x: T,
    f: impl FnOnce(T::Vars) -> Active<T>,
) -> (T::Leaf, T::Grad, <T::Leaf as Leaf>::Hessian<T>) {
    T::Leaf::value_grad_and_hessian(&x, f)
}

/// The value, the gradient and the product of the Hessian with a vector, from the sweep of [`hvp`]: what a step of Newton's
/// method with conjugate gradients asks for.
///
/// ```
/// use wengert::prelude::*;
/// let (v, g, hv) = value_grad_and_hvp([1.0, 2.0], [1.0, 0.0], |[x, y]| x * x * y);
/// assert_eq!((v, g, hv), (2.0, [4.0, 1.0], [4.0, 2.0]));
/// ```
///
/// # Panics
/// If the vector has other leaves than the point.
#[track_caller]
pub fn value_grad_and_hvp<T: Tree>(
    x: T,
    vector: impl Tree<Leaf = T::Leaf>,
    f: impl FnOnce(T::Vars) -> Active<T>,
) -> (T::Leaf, T::Grad, T::Grad) {
    check_direction("value_grad_and_hvp", "vector", &x, &vector);
    let vector = leaves(&vector);
    T::Leaf::value_grad_and_hvp(&x, &vector, f)
}

/// The product of the Hessian of a scalar function with a vector, without the Hessian: forward
/// over reverse, at a small multiple of the cost of the function.
///
/// ```
/// use wengert::prelude::*;
/// let hv = hvp([1.0, 2.0], [1.0, 0.0], |[x, y]| x * x * y);
/// assert_eq!(hv, [4.0, 2.0]);
/// ```
///
/// Source of the method: B. A. Pearlmutter, *Fast exact multiplication by the Hessian* (1994).
#[doc(alias = "hessian_vector_product")]
#[track_caller]
pub fn hvp<T: Tree>(x: T, vector: impl Tree<Leaf = T::Leaf>, f: impl FnOnce(T::Vars) -> Active<T>) -> T::Grad {
    check_direction("hvp", "vector", &x, &vector);
    let vector = leaves(&vector);
    T::Leaf::hvp(&x, &vector, f)
}

/// How large the recording of `f` at `x` is: what a gradient costs in memory.
///
/// ```
/// use wengert::prelude::*;
/// let size = wengert::tape_size([2.0, 5.0], |[x, y]| x.ln() + x * y - y.sin());
/// assert_eq!(size.records, 7); // two inputs, five operations
/// assert_eq!(size.bytes, 7 * 24);
/// ```
#[track_caller]
pub fn tape_size<T: Tree<Leaf = f64>, O>(x: T, f: impl FnOnce(T::Vars) -> O) -> TapeSize {
    run_recorded(Mode::Once, &x, f).0.size()
}

/// The Taylor coefficients `c_0 … c_order` of `t -> f(x + t v)` for a direction `v`, a `Vec` in
/// place of every output.
///
/// `k! c_k` is the k-th derivative along `v`; for a function of one number and `v = 1`, the k-th
/// derivative. One run of `f`, then `O(order^2)` work per operation; an operation whose derivatives
/// are ever new functions (`lgamma`, `sinc`, a power) takes up to `O(order^3)`.
///
/// The direction is a tree with as many numbers as the point. See [`Taylor`](crate::Taylor) for
/// kinks and the edges of domains.
///
/// ```
/// use wengert::prelude::*;
/// let c = taylor(0.0, 1.0, 3, |x| (x + 1.0).recip());
/// assert_eq!(c, [1.0, -1.0, 1.0, -1.0]);
/// // x y along (1, 2) from (3, 4): (3 + t) (4 + 2 t)
/// let c = taylor([3.0, 4.0], [1.0, 2.0], 2, |[x, y]| x * y);
/// assert_eq!(c, [12.0, 10.0, 2.0]);
/// ```
///
/// Source of the method: A. Griewank and A. Walther, *Evaluating Derivatives* (2008), chapter 13.
///
/// # Panics
/// If the direction has other leaves than the point.
#[track_caller]
pub fn taylor<T: Tree, O: Tree<Leaf = Var>>(
    x: T,
    direction: impl Tree<Leaf = T::Leaf>,
    order: usize,
    f: impl FnOnce(T::Vars) -> O,
) -> O::Each<Vec<T::Leaf>>
where
    T::Leaf: Scalar,
{
    check_direction("taylor", "direction", &x, &direction);
    let direction = leaves(&direction);
    let (output, mut results) = compute(&x, &direction, &Task::Taylor { order }, f);
    output.each(&mut || (0..=order).map(|_| next(&mut results)).collect())
}
