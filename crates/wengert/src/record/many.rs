//! A recorded function at many points at once: blocks of points on vector lanes, divided among threads.
//!
//! The path used last serves all points. Points at which a guard comes out differently are computed one by one, by the drivers of
//! one point, and so are all points of a path that depends on an outer recording.

use std::panic::Location;

use super::path::{Numbers, Path};
use super::{Recorded, or_panic};
use crate::tape::Var;
use crate::task::Task;
use crate::tree::{Tree, check_direction, check_size, leaves};

impl<T, O, F> Recorded<T, O, F>
where
    T: Tree<Leaf = f64>,
    O: Tree<Leaf = Var>,
    F: Fn(T::Vars) -> O,
{
    /// The value at every point, a block of points at a time on SIMD lanes, on the threads of the drivers
    /// ([`set_threads`](crate::set_threads)).
    ///
    /// Arithmetic and square roots agree with [`value`](Recorded::value) to the bit, but for the sign of a zero; the other
    /// functions agree within the bounds stated in `wengert_kernels::math`. So it is of all drivers of many points, each with
    /// the driver of one point. The numbers of a point do not depend on the other points, nor on the number of threads.
    ///
    /// Points at which a guard comes out differently are computed one by one: sorted by branch, points are faster.
    #[track_caller]
    pub fn value_many<X: Tree<Leaf = f64>>(&self, points: &[X]) -> Vec<O::Each<f64>> {
        self.many(points, NO_DIRECTIONS, &Task::Value, |path, _, results| path.output.each(&mut || results.next()))
    }

    /// The value and the product of the Jacobian with a tangent, `f(x)` and `J(x) v`, at every point, along the tangent of
    /// that point; see [`value_many`](Recorded::value_many).
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let f = record([1.0, 2.0], |[x, y]| (x * y, x - y));
    /// let results = f.jvp_many(&[[3.0, 4.0], [5.0, 6.0]], &[[1.0, 0.0], [0.0, 1.0]]);
    /// assert_eq!(results, [((12.0, -1.0), (4.0, 1.0)), ((30.0, -1.0), (5.0, -1.0))]);
    /// ```
    ///
    /// # Panics
    /// As [`value`](Recorded::value), and if there is not one tangent for every point, with as many leaves.
    #[track_caller]
    pub fn jvp_many<X, V>(&self, points: &[X], tangents: &[V]) -> Vec<(O::Each<f64>, O::Each<f64>)>
    where
        X: Tree<Leaf = f64>,
        V: Tree<Leaf = f64>,
    {
        check_directions("jvp_many", "tangent", points, tangents);
        for (point, tangent) in points.iter().zip(tangents) {
            check_direction("jvp_many", "tangent", point, tangent);
        }
        self.many(points, tangents, &Task::Jvp, |path, _, results| {
            let y = path.output.each(&mut || results.next());
            (y, path.output.each(&mut || results.next()))
        })
    }

    /// The product of the transposed Jacobian with a cotangent, `J(x)ᵀ c`, at every point, for the cotangent of that
    /// point; see [`value_many`](Recorded::value_many).
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let f = record([1.0, 2.0], |[x, y]| (x * y, x - y));
    /// let results = f.vjp_many(&[[3.0, 4.0], [5.0, 6.0]], &[[1.0, 0.0], [0.0, 2.0]]);
    /// assert_eq!(results, [[4.0, 3.0], [2.0, -2.0]]);
    /// ```
    ///
    /// # Panics
    /// As [`value`](Recorded::value), and if there is not one cotangent for every point, with as many leaves as the result.
    #[track_caller]
    pub fn vjp_many<X, C>(&self, points: &[X], cotangents: &[C]) -> Vec<X::Grad>
    where
        X: Tree<Leaf = f64>,
        C: Tree<Leaf = f64>,
    {
        check_directions("vjp_many", "cotangent", points, cotangents);
        self.many(points, cotangents, &Task::Vjp, |_, x, results| x.grad(&mut || results.next()))
    }

    /// The Jacobian, `∂ f_i / ∂ x_j`, at every point: for every output the form of the point; see
    /// [`value_many`](Recorded::value_many).
    ///
    /// Forward if there are at most as many inputs as outputs, else backward. What is zero at every point is not computed.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let f = record([1.0, 2.0], |[x, y]| [x * y, x - y]);
    /// assert_eq!(f.jacobian_many(&[[3.0, 4.0], [5.0, 6.0]])[1], [[6.0, 5.0], [1.0, -1.0]]);
    /// ```
    ///
    /// # Panics
    /// As [`value`](Recorded::value).
    #[track_caller]
    pub fn jacobian_many<X: Tree<Leaf = f64>>(&self, points: &[X]) -> Vec<O::Each<X::Grad>> {
        self.many(points, NO_DIRECTIONS, &Task::Jacobian, |path, x, results| {
            path.output.each(&mut || x.grad(&mut || results.next()))
        })
    }

    /// The value and the Jacobian at every point; see [`jacobian_many`](Recorded::jacobian_many).
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let f = record([1.0, 2.0], |[x, y]| [x * y, x - y]);
    /// assert_eq!(f.value_and_jacobian_many(&[[3.0, 4.0], [5.0, 6.0]])[1], ([30.0, -1.0], [[6.0, 5.0], [1.0, -1.0]]));
    /// ```
    ///
    /// # Panics
    /// As [`value`](Recorded::value).
    #[track_caller]
    #[expect(clippy::type_complexity, reason = "an alias would hide what readers of the signature look for")]
    pub fn value_and_jacobian_many<X: Tree<Leaf = f64>>(&self, points: &[X]) -> Vec<(O::Each<f64>, O::Each<X::Grad>)> {
        self.many(points, NO_DIRECTIONS, &Task::ValueAndJacobian, |path, x, results| {
            let y = path.output.each(&mut || results.next());
            (y, path.output.each(&mut || x.grad(&mut || results.next())))
        })
    }

    /// `take` of what `task` gives at every point, along the direction of that point if there are any.
    #[track_caller]
    fn many<X: Tree<Leaf = f64>, V: Tree<Leaf = f64>, G>(
        &self,
        points: &[X],
        directions: &[V],
        task: &Task,
        take: impl Fn(&Path<O>, &X, &mut Numbers<'_, f64>) -> G,
    ) -> Vec<G> {
        let mut results = Vec::with_capacity(points.len());
        self.for_each(points, directions, task, |path, k, numbers| results.push(take(path, &points[k], numbers)));
        results
    }

    /// Calls `visit` for every point, in order, with what `task` gives there: in blocks on the path used last, and where that
    /// one is not valid by the driver of one point, with the line of the call.
    #[track_caller]
    fn for_each<X: Tree<Leaf = f64>, V: Tree<Leaf = f64>>(
        &self,
        points: &[X],
        directions: &[V],
        task: &Task,
        mut visit: impl FnMut(&Path<O>, usize, &mut Numbers<'_, f64>),
    ) {
        let line = Location::caller();
        for point in points {
            self.check_point(point);
        }
        let path = self.lock().paths[0].clone();
        // What is refused is told at the user's line, and the points after it are left out.
        let mut refused = None;
        path.ask_many(
            task,
            points.len(),
            &mut |k, row| {
                let (point, direction) = row.split_at_mut(self.size);
                fill(&points[k], point) && directions.get(k).map_or(direction.is_empty(), |own| fill(own, direction))
            },
            &mut |k, numbers| match numbers {
                Some(numbers) => visit(&path, k, &mut Numbers::Plain(numbers.iter())),
                None if refused.is_some() => {}
                None => {
                    let direction = directions.get(k).map(leaves).unwrap_or_default();
                    let point = leaves(&points[k]);
                    let take = &mut |path: &Path<O>, numbers: &mut Numbers<'_, f64>| visit(path, k, numbers);
                    refused = match self.ask(line, &point, &direction, task, take) {
                        Ok(Ok(())) => None,
                        Ok(Err(outputs)) => Some(Ok((outputs, direction.len()))),
                        Err(flipped) => Some(Err(flipped)),
                    };
                }
            },
        );
        if let Some(refused) = refused {
            let (outputs, given) = or_panic(refused);
            check_size::<f64>("vjp", "cotangent", outputs, given);
        }
    }
}

/// Writes the leaves of a tree; false if it has another number of them.
fn fill<X: Tree<Leaf = f64>>(tree: &X, row: &mut [f64]) -> bool {
    if tree.size() != row.len() {
        return false;
    }
    let mut places = row.iter_mut();
    tree.for_each_leaf(&mut |leaf| {
        if let Some(place) = places.next() {
            *place = leaf;
        }
    });
    true
}

impl<T, F> Recorded<T, Var, F>
where
    T: Tree<Leaf = f64>,
    F: Fn(T::Vars) -> Var,
{
    /// The gradient at every point; see [`value_many`](Recorded::value_many).
    #[track_caller]
    pub fn grad_many<X: Tree<Leaf = f64>>(&self, points: &[X]) -> Vec<X::Grad> {
        self.many(points, NO_DIRECTIONS, &Task::Gradient, |_, x, results| x.grad(&mut || results.next()))
    }

    /// Calls `visit` with the number, the value and the gradient's leaves of every point: as
    /// [`value_and_grad_many`](Recorded::value_and_grad_many), without memory for the results.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let f = record([1.0, 2.0], |[x, y]| x * y);
    /// let mut sum = [0.0; 2];
    /// f.for_each_grad(&[[1.0, 2.0], [3.0, 4.0]], |_, _, g| {
    ///     sum[0] += g[0];
    ///     sum[1] += g[1];
    /// });
    /// assert_eq!(sum, [6.0, 4.0]);
    /// ```
    #[track_caller]
    pub fn for_each_grad<X: Tree<Leaf = f64>>(&self, points: &[X], mut visit: impl FnMut(usize, f64, &[f64])) {
        self.for_each(points, NO_DIRECTIONS, &Task::ValueAndGradient, |_, k, numbers| {
            let numbers = numbers.as_slice();
            visit(k, numbers[0], &numbers[1..]);
        });
    }

    /// The value and the gradient at every point; see [`value_many`](Recorded::value_many).
    #[track_caller]
    pub fn value_and_grad_many<X: Tree<Leaf = f64>>(&self, points: &[X]) -> Vec<(f64, X::Grad)> {
        self.many(points, NO_DIRECTIONS, &Task::ValueAndGradient, |_, x, results| {
            (results.next(), x.grad(&mut || results.next()))
        })
    }

    /// The Hessian, `∂² f / ∂ x_i ∂ x_j`, at every point; see [`value_many`](Recorded::value_many). Forward over
    /// reverse; what is zero at every point is not computed.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let f = record([1.0, 2.0], |[x, y]| x * x * y);
    /// assert_eq!(f.hessian_many(&[[3.0, 4.0], [5.0, 6.0]])[0], [[8.0, 6.0], [6.0, 0.0]]);
    /// ```
    ///
    /// # Panics
    /// As [`value`](Recorded::value).
    #[track_caller]
    pub fn hessian_many<X: Tree<Leaf = f64>>(&self, points: &[X]) -> Vec<X::Each<X::Grad>> {
        self.many(points, NO_DIRECTIONS, &Task::Hessian, |_, x, results| x.each(&mut || x.grad(&mut || results.next())))
    }

    /// The value, the gradient and the Hessian at every point; see [`hessian_many`](Recorded::hessian_many).
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let f = record([1.0, 2.0], |[x, y]| x * x * y);
    /// let results = f.value_grad_and_hessian_many(&[[3.0, 4.0], [5.0, 6.0]]);
    /// assert_eq!(results[0], (36.0, [24.0, 9.0], [[8.0, 6.0], [6.0, 0.0]]));
    /// ```
    ///
    /// # Panics
    /// As [`value`](Recorded::value).
    #[track_caller]
    #[expect(clippy::type_complexity, reason = "an alias would hide what readers of the signature look for")]
    pub fn value_grad_and_hessian_many<X: Tree<Leaf = f64>>(
        &self,
        points: &[X],
    ) -> Vec<(f64, X::Grad, X::Each<X::Grad>)> {
        self.many(points, NO_DIRECTIONS, &Task::ValueGradientAndHessian, |_, x, results| {
            let (value, gradient) = (results.next(), x.grad(&mut || results.next()));
            (value, gradient, x.each(&mut || x.grad(&mut || results.next())))
        })
    }

    /// The product of the Hessian with a vector, `H(x) v`, at every point, for the vector of that point; see
    /// [`value_many`](Recorded::value_many).
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let f = record([1.0, 2.0], |[x, y]| x * x * y);
    /// assert_eq!(f.hvp_many(&[[3.0, 4.0], [5.0, 6.0]], &[[1.0, 0.0], [0.0, 1.0]]), [[8.0, 6.0], [10.0, 0.0]]);
    /// ```
    ///
    /// # Panics
    /// As [`value`](Recorded::value), and if there is not one vector for every point, with as many leaves.
    #[track_caller]
    pub fn hvp_many<X, V>(&self, points: &[X], vectors: &[V]) -> Vec<X::Grad>
    where
        X: Tree<Leaf = f64>,
        V: Tree<Leaf = f64>,
    {
        check_directions("hvp_many", "vector", points, vectors);
        for (point, vector) in points.iter().zip(vectors) {
            check_direction("hvp_many", "vector", point, vector);
        }
        self.many(points, vectors, &Task::Hvp, |_, x, results| x.grad(&mut || results.next()))
    }
}

/// Of a task that has none.
const NO_DIRECTIONS: &[f64] = &[];

/// Panics if there is not one direction for every point.
#[track_caller]
fn check_directions<X, V>(driver: &str, what: &str, points: &[X], directions: &[V]) {
    let (wanted, got) = (points.len(), directions.len());
    assert!(wanted == got, "`{driver}`: there are {got} {what}s for {wanted} points");
}
