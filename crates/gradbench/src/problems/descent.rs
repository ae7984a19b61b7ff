//! Derivatives inside of derivatives of numbers: a particle steered to a target, and the saddle point of a quadratic.
//!
//! The functions and the descent are those that GradBench states. An outer descent asks for values and gradients one after the
//! other, and every value of the outer function takes inner gradients. Reverse mode is `grad`. Forward mode is `jvp`, along one
//! axis after the other, or [`Dual`] with all axes at once, which a function that is generic over [`Real`] takes.

use wengert::prelude::*;

/// How both derivatives are computed, the outer one first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// `grad` of a function that calls `grad`.
    ReverseOverReverse,
    /// `grad` of a function that calls `jvp`.
    ReverseOverJvp,
    /// `grad` of a function over duals.
    ReverseOverDuals,
    /// `jvp` of a function that calls `grad`.
    JvpOverReverse,
    /// `jvp` of a function that calls `jvp`.
    JvpOverJvp,
    /// `jvp` of a function over duals.
    JvpOverDuals,
    /// Duals over duals: nothing is recorded.
    DualsOverDuals,
}

impl Order {
    /// Every one.
    pub const ALL: [Order; 7] = [
        Order::ReverseOverReverse,
        Order::ReverseOverJvp,
        Order::ReverseOverDuals,
        Order::JvpOverReverse,
        Order::JvpOverJvp,
        Order::JvpOverDuals,
        Order::DualsOverDuals,
    ];

    /// Two letters: `r` for `grad`, `f` for `jvp`, `d` for duals.
    pub fn name(self) -> &'static str {
        match self {
            Order::ReverseOverReverse => "rr",
            Order::ReverseOverJvp => "rf",
            Order::ReverseOverDuals => "rd",
            Order::JvpOverReverse => "fr",
            Order::JvpOverJvp => "ff",
            Order::JvpOverDuals => "fd",
            Order::DualsOverDuals => "dd",
        }
    }
}

/// The `w` to which a descent from `w` leads, where a particle hits the ground close to the origin.
///
/// Charges at `(10, 10 - w)` and `(10, 0)` push the particle away, which starts at `(0, 8)` with the velocity `(0.75, 0)`; its
/// acceleration is the negative gradient of the potential, the inner derivative. What is minimised is the square of the place at
/// which it hits the ground, the outer derivative goes through the whole flight.
///
/// ```
/// use wengert_gradbench::problems::descent::{Order, particle};
/// let w = particle(Order::DualsOverDuals, 0.0)?;
/// assert!((w - 0.2071918746486116).abs() < 1e-12);
/// # Ok::<(), String>(())
/// ```
///
/// # Errors
/// If the particle does not come down within 100,000 steps of time, or the descent does not end within as many.
///
/// Source: J. M. Siskind and B. A. Pearlmutter, *Using Polyvariant Union-Free Flow Analysis to Compile a Higher-Order
/// Functional-Programming Language with a First-Class Derivative Operator to Efficient Fortran-like Code* (2008).
pub fn particle(order: Order, w: f64) -> Result<f64, String> {
    type Hit = fn(f64) -> f64;
    let (value, slope): (Hit, Hit) = match order {
        Order::ReverseOverReverse => (hit::<f64, Reverse>, |w| grad(w, hit::<Var, Reverse>)),
        Order::ReverseOverJvp => (hit::<f64, Jvp>, |w| grad(w, hit::<Var, Jvp>)),
        Order::ReverseOverDuals => (hit::<f64, Duals>, |w| grad(w, hit::<Var, Duals>)),
        Order::JvpOverReverse => (hit::<f64, Reverse>, |w| jvp(w, 1.0, hit::<Var, Reverse>).1),
        Order::JvpOverJvp => (hit::<f64, Jvp>, |w| jvp(w, 1.0, hit::<Var, Jvp>).1),
        Order::JvpOverDuals => (hit::<f64, Duals>, |w| jvp(w, 1.0, hit::<Var, Duals>).1),
        Order::DualsOverDuals => (hit::<f64, Duals>, |w| hit::<Dual, Duals>(Dual::variable(w)).tangent()),
    };
    let [found] = descend([w], |[w]| value(w), |[w]| [slope(w)]);
    if found.is_finite() {
        Ok(found)
    } else {
        Err(format!("no particle is steered from w = {w}: it never comes down, or the descent does not end"))
    }
}

/// `min max` of `(x_1^2 + x_2^2) - (y_1^2 + y_2^2)`: the `x` to which a descent from `start` leads, of the largest value over
/// all `y`, and that `y`, found by an ascent from `start`. The outer derivative goes through the inner ascent.
///
/// ```
/// use wengert_gradbench::problems::descent::{Order, saddle};
/// let found = saddle(Order::DualsOverDuals, [1.0, 1.0])?;
/// assert!(found.iter().all(|x| (x - 8.246324826140356e-6).abs() < 1e-15));
/// # Ok::<(), String>(())
/// ```
///
/// # Errors
/// If a descent does not end within 100,000 steps.
///
/// Source: as of [`particle`].
pub fn saddle(order: Order, start: [f64; 2]) -> Result<[f64; 4], String> {
    type Plane = [f64; 2];
    let pair = Dual::<f64, 2>::seed;
    let axes = |x: Plane, f: fn([Var; 2], Plane) -> Var, start: Plane| {
        [[1.0, 0.0], [0.0, 1.0]].map(|v| jvp(x, v, |x| f(x, start)).1)
    };
    let x = match order {
        Order::ReverseOverReverse => {
            descend(start, |x| worst::<f64, Reverse>(x, start), |x| grad(x, |x| worst::<Var, Reverse>(x, start)))
        }
        Order::ReverseOverJvp => {
            descend(start, |x| worst::<f64, Jvp>(x, start), |x| grad(x, |x| worst::<Var, Jvp>(x, start)))
        }
        Order::ReverseOverDuals => {
            descend(start, |x| worst::<f64, Duals>(x, start), |x| grad(x, |x| worst::<Var, Duals>(x, start)))
        }
        Order::JvpOverReverse => {
            descend(start, |x| worst::<f64, Reverse>(x, start), |x| axes(x, worst::<Var, Reverse>, start))
        }
        Order::JvpOverJvp => descend(start, |x| worst::<f64, Jvp>(x, start), |x| axes(x, worst::<Var, Jvp>, start)),
        Order::JvpOverDuals => {
            descend(start, |x| worst::<f64, Duals>(x, start), |x| axes(x, worst::<Var, Duals>, start))
        }
        Order::DualsOverDuals => descend(
            start,
            |x| worst::<f64, Duals>(x, start),
            |x| worst::<Dual<f64, 2>, Duals>([pair(x[0], 0), pair(x[1], 1)], start).tangents(),
        ),
    };
    let y = match order {
        Order::ReverseOverReverse | Order::JvpOverReverse => best::<f64, Reverse>(x, start),
        Order::ReverseOverJvp | Order::JvpOverJvp => best::<f64, Jvp>(x, start),
        Order::ReverseOverDuals | Order::JvpOverDuals | Order::DualsOverDuals => best::<f64, Duals>(x, start),
    };
    let found = [x[0], x[1], y[0], y[1]];
    if found.iter().all(|x| x.is_finite()) {
        Ok(found)
    } else {
        Err(format!("no saddle is found from {start:?}: a descent does not end"))
    }
}

// ---- the inner derivative -----------------------------------------------------------------------

/// A function of the plane with numbers captured, over any carrier.
trait Field<S> {
    fn at<R: Real>(&self, x: [R; 2], captured: impl Fn(S) -> R) -> R;
}

/// A mode of the inner derivative, over numbers of a type: those of the outer derivative.
trait Mode<S> {
    fn slope(field: &impl Field<S>, x: [S; 2]) -> [S; 2];
}

struct Reverse;
struct Jvp;
struct Duals;

macro_rules! driven {
    ($($scalar:ty)*) => {
        $(
            impl Mode<$scalar> for Reverse {
                fn slope(field: &impl Field<$scalar>, x: [$scalar; 2]) -> [$scalar; 2] {
                    grad(x, |x| field.at(x, <$scalar>::into))
                }
            }

            impl Mode<$scalar> for Jvp {
                fn slope(field: &impl Field<$scalar>, x: [$scalar; 2]) -> [$scalar; 2] {
                    [[1.0, 0.0], [0.0, 1.0]]
                        .map(|v| jvp(x, v.map(<$scalar as Real>::constant), |x| field.at(x, <$scalar>::into)).1)
                }
            }
        )*
    };
}
driven!(f64 Var);

impl<S: Real> Mode<S> for Duals {
    fn slope(field: &impl Field<S>, x: [S; 2]) -> [S; 2] {
        field.at([Dual::seed(x[0], 0), Dual::seed(x[1], 1)], Dual::<S, 2>::lift).tangents()
    }
}

// ---- the descent --------------------------------------------------------------------------------

/// More steps than these are no descent.
const MOST_STEPS: usize = 100_000;

/// Descends to the smallest value from `x`, by steps whose length doubles after ten that went down. Where that does not end,
/// or meets what is not finite, the result is NaN.
fn descend<S: Real, const N: usize>(
    mut x: [S; N],
    f: impl Fn([S; N]) -> S,
    slope: impl Fn([S; N]) -> [S; N],
) -> [S; N] {
    let norm = |v: [S; N]| v.iter().map(|&v| v * v).sum::<S>().sqrt();
    let (mut value, mut down) = (f(x), slope(x));
    let (mut rate, mut steps) = (1e-5, 0);
    if !(value > f64::NEG_INFINITY && value < f64::INFINITY) {
        return [S::constant(f64::NAN); N];
    }
    for _ in 0..MOST_STEPS {
        let steepness = norm(down);
        let is_finite = steepness < f64::INFINITY;
        if !is_finite {
            break;
        }
        if steepness <= 1e-5 {
            return x;
        }
        if steps == 10 {
            (rate, steps) = (2.0 * rate, 0);
            continue;
        }
        let next: [S; N] = std::array::from_fn(|k| x[k] - down[k] * rate);
        if norm(std::array::from_fn(|k| x[k] - next[k])) <= 1e-5 {
            return x;
        }
        let there = f(next);
        if there < value {
            (x, value, down) = (next, there, slope(next));
            steps += 1;
        } else {
            (rate, steps) = (rate / 2.0, 0);
        }
    }
    [S::constant(f64::NAN); N]
}

// ---- the particle -------------------------------------------------------------------------------

/// The potential of two charges, of which one stands off by `w`.
struct Charges<S> {
    w: S,
}

impl<S: Real> Field<S> for Charges<S> {
    fn at<R: Real>(&self, [x, y]: [R; 2], captured: impl Fn(S) -> R) -> R {
        let other = -captured(self.w) + 10.0;
        let distance = |u: R, v: R| (u * u + v * v).sqrt();
        distance(x - 10.0, y - other).recip() + distance(x - 10.0, y).recip()
    }
}

/// How far from the origin, squared, the particle hits the ground; NaN if it never does.
fn hit<S: Real, M: Mode<S>>(w: S) -> S {
    let field = Charges { w };
    let (mut x, mut v) = ([S::constant(0.0), S::constant(8.0)], [S::constant(0.75), S::constant(0.0)]);
    for _ in 0..MOST_STEPS {
        let down = M::slope(&field, x);
        x = [x[0] + v[0] * 0.1, x[1] + v[1] * 0.1];
        if x[1] <= 0.0 {
            let rest = -x[1] / v[1];
            let place = x[0] + rest * v[0];
            return place * place;
        }
        v = [v[0] - down[0] * 0.1, v[1] - down[1] * 0.1];
    }
    S::constant(f64::NAN)
}

// ---- the saddle ---------------------------------------------------------------------------------

/// `|y|^2 - |x|^2` as a function of `y`.
struct Saddle<S> {
    x: [S; 2],
}

impl<S: Real> Field<S> for Saddle<S> {
    fn at<R: Real>(&self, [u, v]: [R; 2], captured: impl Fn(S) -> R) -> R {
        let [x, y] = self.x.map(captured);
        (u * u + v * v) - (x * x + y * y)
    }
}

/// The `y` with the largest value at `x`.
fn best<S: Real, M: Mode<S>>(x: [S; 2], start: [f64; 2]) -> [S; 2] {
    let field = Saddle { x };
    descend(start.map(S::constant), |y| field.at(y, |x| x), |y| M::slope(&field, y))
}

/// The largest value at `x`.
fn worst<S: Real, M: Mode<S>>(x: [S; 2], start: [f64; 2]) -> S {
    -Saddle { x }.at(best::<S, M>(x, start), |x| x)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What GradBench states of the particle: 353 accelerations, the value and the slope at the start.
    #[test]
    fn the_particle_flies_as_stated_in_every_mode() {
        let value = 3.199_079_002_508_205_4;
        let slope = -19.404_636_450_028_228;
        let close = |x: f64, want: f64| assert!((x / want - 1.0).abs() < 1e-12, "{x} instead of {want}");
        for x in [hit::<f64, Reverse>(0.0), hit::<f64, Jvp>(0.0), hit::<f64, Duals>(0.0)] {
            close(x, value);
        }
        for x in [
            grad(0.0, hit::<Var, Reverse>),
            grad(0.0, hit::<Var, Duals>),
            jvp(0.0, 1.0, hit::<Var, Jvp>).1,
            hit::<Dual, Duals>(Dual::variable(0.0)).tangent(),
        ] {
            close(x, slope);
        }
    }

    #[test]
    fn what_does_not_end_is_an_error() {
        for order in [Order::ReverseOverReverse, Order::DualsOverDuals] {
            // Both charges push the particle up.
            assert!(particle(order, 10.0).unwrap_err().contains("w = 10"));
            assert!(saddle(order, [1e200, 1.0]).unwrap_err().contains("1e200"));
        }
        // Unbounded below: the steps grow until the value is not finite.
        assert!(descend([1.0], |[x]| -x * x, |[x]| [-2.0 * x])[0].is_nan());
        assert!(descend([1.0], |_| f64::NAN, |_| [f64::NAN])[0].is_nan());
    }
}
