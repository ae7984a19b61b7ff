//! A recorded function at many points at once: eight to a group, on SIMD lanes.
//!
//! The path used last serves all points. The points of a group in which a guard comes out differently are computed one by
//! one, by the drivers of one point, and so are those of a path that depends on an outer recording.

use std::panic::Location;

use super::{Recorded, or_panic};
use crate::replay::{self, Ask, Path, Results};
use crate::tape::Var;
use crate::tape::recording::Line;
use crate::task::Task;
use crate::tree::{Tree, check_size, leaves};

impl<T, O, F> Recorded<T, O, F>
where
    T: Tree<Leaf = f64>,
    O: Tree<Leaf = Var>,
    F: Fn(T::Vars) -> O,
{
    /// The value at every point, eight points at a time on SIMD lanes.
    ///
    /// Arithmetic and square roots agree with [`value`](Recorded::value) to the bit, but for the sign of a zero; the other
    /// functions of the lanes agree within the bounds stated in `wengert_kernels::math`. So it is of all drivers of many
    /// points, each with the driver of one point.
    ///
    /// Points at which a guard comes out differently are computed one by one, together with the rest of their group of
    /// eight: sorted by branch, points are faster.
    #[track_caller]
    pub fn value_many<X: Tree<Leaf = f64>>(&self, points: &[X]) -> Vec<O::Each<f64>> {
        self.many(
            points,
            Ask::Value,
            |path, _, results| {
                let mut outputs = results.outputs.iter();
                path.output.each(&mut || *outputs.next().expect("one per output"))
            },
            |line, x| or_panic(self.value_at(line, x)),
        )
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
        tangents.iter().for_each(|tangent| check_size("jvp_many", "tangent", self.size, tangent.size()));
        self.derive(points, tangents, &Task::Jvp, |path, _, next| {
            let y = path.output.each(&mut || next());
            (y, path.output.each(&mut || next()))
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
        self.derive(points, cotangents, &Task::Vjp, |_, x, next| x.grad(&mut || next()))
    }

    /// The Jacobian, `∂ f_i / ∂ x_j`, at every point: for every output the form of the point; see
    /// [`value_many`](Recorded::value_many).
    ///
    /// Forward if there are at most as many inputs as outputs, else backward: one sweep over eight points for each column
    /// or row.
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
        self.derive(points, NO_DIRECTIONS, &Task::Jacobian, |path, x, next| {
            path.output.each(&mut || x.grad(&mut || next()))
        })
    }

    /// `take` of what `task` gives at every point, along the direction of that point if there are any: in groups on the
    /// path used last, and otherwise by the driver of one point, with the line of the call.
    #[track_caller]
    fn derive<X: Tree<Leaf = f64>, V: Tree<Leaf = f64>, G>(
        &self,
        points: &[X],
        directions: &[V],
        task: &Task,
        take: impl Fn(&Path<O>, &X, &mut dyn FnMut() -> f64) -> G,
    ) -> Vec<G> {
        let line = Location::caller();
        points.iter().for_each(|point| check_size("a recorded function", "point", self.size, point.size()));
        let take = |path: &Path<O>, x: &X, numbers: &[f64]| {
            let mut numbers = numbers.iter();
            take(path, x, &mut || *numbers.next().expect("a task gives as many numbers as its driver takes"))
        };
        let mut results = Vec::with_capacity(points.len());
        let path = self.lock().paths[0].clone();
        let mut visit = |k: usize, numbers: Option<&[f64]>| {
            let x = &points[k];
            results.push(match numbers {
                Some(numbers) => take(&path, x, numbers),
                None => {
                    let direction = directions.get(k).map(leaves).unwrap_or_default();
                    let (path, numbers) = or_panic(self.compute(line, x, &direction, task));
                    take(&path, x, numbers.as_slice())
                }
            });
        };
        if path.trace.captures.is_empty() {
            let mut scratch = self.borrow_scratch();
            replay::derive_many(&path, &mut scratch, points, directions, task, &mut visit);
            self.lock().scratch.push(scratch);
        } else {
            (0..points.len()).for_each(|k| visit(k, None));
        }
        results
    }

    /// `take` of every point on the path used last, in groups; where that path is not valid, or
    /// depends on an outer recording, `alone` of the point, with the line of the call.
    #[track_caller]
    fn many<X: Tree<Leaf = f64>, G>(
        &self,
        points: &[X],
        ask: Ask,
        take: impl Fn(&Path<O>, &X, &Results<'_>) -> G,
        alone: impl Fn(Line, &X) -> G,
    ) -> Vec<G> {
        let line = Location::caller();
        let mut results = Vec::with_capacity(points.len());
        self.for_each(points, ask, |path, point, numbers| {
            results.push(numbers.map_or_else(|| alone(line, point), |numbers| take(path, point, &numbers)));
        });
        results
    }

    /// Calls `visit` for every point, in order, with its numbers on the path used last; without
    /// where that path is not valid or depends on an outer recording.
    #[track_caller]
    fn for_each<X: Tree<Leaf = f64>>(
        &self,
        points: &[X],
        ask: Ask,
        mut visit: impl FnMut(&Path<O>, &X, Option<Results<'_>>),
    ) {
        for point in points {
            check_size("a recorded function", "point", self.size, point.size());
        }
        let path = self.lock().paths[0].clone();
        if !path.trace.captures.is_empty() {
            points.iter().for_each(|point| visit(&path, point, None));
            return;
        }
        let mut scratch = self.borrow_scratch();
        replay::run_many(&path, &mut scratch, points, ask, |point, numbers| visit(&path, point, numbers));
        self.lock().scratch.push(scratch);
    }
}

impl<T, F> Recorded<T, Var, F>
where
    T: Tree<Leaf = f64>,
    F: Fn(T::Vars) -> Var,
{
    /// The gradient at every point, eight points at a time on SIMD lanes; see
    /// [`value_many`](Recorded::value_many).
    #[track_caller]
    pub fn grad_many<X: Tree<Leaf = f64>>(&self, points: &[X]) -> Vec<X::Grad> {
        self.many(
            points,
            Ask::Gradient,
            |_, x, results| gradient_of(x, results),
            |line, x| or_panic(self.grad_at(line, x)),
        )
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
        let (line, mut number) = (Location::caller(), 0);
        self.for_each(points, Ask::Gradient, |_, point, numbers| {
            match numbers {
                Some(numbers) => visit(number, numbers.outputs[0], numbers.partials),
                None => {
                    let (_, results) = or_panic(self.compute(line, point, &[], &Task::ValueAndGradient));
                    visit(number, results.as_slice()[0], &results.as_slice()[1..]);
                }
            }
            number += 1;
        });
    }

    /// The value and the gradient at every point; see [`value_many`](Recorded::value_many).
    #[track_caller]
    pub fn value_and_grad_many<X: Tree<Leaf = f64>>(&self, points: &[X]) -> Vec<(f64, X::Grad)> {
        self.many(
            points,
            Ask::Gradient,
            |_, x, results| (results.outputs[0], gradient_of(x, results)),
            |line, x| self.value_and_grad_at(line, x),
        )
    }

    /// The Hessian, `∂² f / ∂ x_i ∂ x_j`, at every point; see [`value_many`](Recorded::value_many). One sweep, forward over
    /// reverse, over eight points for each column.
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
        self.derive(points, NO_DIRECTIONS, &Task::Hessian, |_, x, next| x.each(&mut || x.grad(&mut || next())))
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
        vectors.iter().for_each(|vector| check_size("hvp_many", "vector", self.size, vector.size()));
        self.derive(points, vectors, &Task::Hvp, |_, x, next| x.grad(&mut || next()))
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

fn gradient_of<X: Tree<Leaf = f64>>(x: &X, results: &Results<'_>) -> X::Grad {
    let mut partials = results.partials.iter();
    x.grad(&mut || *partials.next().expect("one per leaf"))
}
