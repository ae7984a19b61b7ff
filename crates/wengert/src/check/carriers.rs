//! One function through every carrier and driver: [`everywhere`] lists what comes out,
//! [`check_carriers`] compares it.

use std::fmt;

use crate::rounded::Rounded;
use crate::tape::Var;
use crate::{Dual, F32, Lanes, Real, Taylor, grad, hessian, hvp, jacobian, jvp, lift, record, value_and_grad, vjp};

/// A scalar function of `N` numbers, written over every carrier. (A closure cannot be generic.)
pub trait Generic<const N: usize> {
    /// The function.
    fn call<R: Real>(&self, x: [R; N]) -> R;
}

/// What one carrier or driver gives for a function at a point.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Through<const N: usize> {
    /// Which one.
    pub carrier: &'static str,
    /// The unit of its roundings in those of `f64`: 1, and `2^29` for [`F32`].
    pub unit: f64,
    /// The value.
    pub value: f64,
    /// The gradient, if it gives one.
    pub gradient: Option<[f64; N]>,
    /// The Hessian, if it gives one.
    pub hessian: Option<[[f64; N]; N]>,
}

impl<const N: usize> Through<N> {
    fn new(carrier: &'static str, value: f64) -> Self {
        Through { carrier, unit: 1.0, value, gradient: None, hessian: None }
    }
    fn gradient(self, gradient: [f64; N]) -> Self {
        Through { gradient: Some(gradient), ..self }
    }
    fn hessian(self, hessian: [[f64; N]; N]) -> Self {
        Through { hessian: Some(hessian), ..self }
    }
    fn in_single(self) -> Self {
        Through { unit: f64::from(1u32 << 29), ..self }
    }
}

/// The function at `x` through every carrier and driver of the library. Recordings are made at
/// `elsewhere` and replayed at `x`; lanes carry both points.
///
/// ```
/// use wengert::Real;
/// use wengert::check::{Generic, everywhere};
/// struct Kink;
/// impl Generic<1> for Kink {
///     fn call<R: Real>(&self, [x]: [R; 1]) -> R {
///         x.abs()
///     }
/// }
/// assert!(everywhere([0.0], [1.0], &Kink).iter().all(|through| through.gradient.is_none_or(|g| g == [0.0])));
/// ```
pub fn everywhere<const N: usize>(x: [f64; N], elsewhere: [f64; N], f: &impl Generic<N>) -> Vec<Through<N>> {
    let mut all = carriers(x, elsewhere, f);
    all.extend(drivers(x, f));
    all.extend(recorded(x, elsewhere, f));
    all
}

/// The variable `k` moves, the others stand still.
fn seeded<R: Real, const N: usize>(x: [R; N], k: usize) -> [Dual<R>; N] {
    std::array::from_fn(|j| if j == k { Dual::variable(x[j]) } else { Dual::lift(x[j]) })
}

/// The second derivatives by duals in duals.
fn second_tangents<R: Real, const N: usize>(x: [R; N], f: &impl Generic<N>) -> [[R; N]; N] {
    let second = |i, j| {
        let inner = seeded(x, i);
        let moving = |k| Dual::new(inner[k], Dual::constant(if k == j { 1.0 } else { 0.0 }));
        f.call(std::array::from_fn(moving)).tangent().tangent()
    };
    std::array::from_fn(|i| std::array::from_fn(|j| second(i, j)))
}

fn carriers<const N: usize>(x: [f64; N], elsewhere: [f64; N], f: &impl Generic<N>) -> Vec<Through<N>> {
    let single = x.map(|x| F32(x as f32));
    // The point is in lane 1, between others.
    let lanes: [Lanes<3>; N] = std::array::from_fn(|j| Lanes([elsewhere[j], x[j], elsewhere[j]]));
    let value = f.call(x);
    let of_lanes = |k| f.call(seeded(lanes, k));
    let of_single = |k| f.call(seeded(single, k));
    let of_all = f.call(std::array::from_fn(|j| Dual::<f64, N>::seed(x[j], j)));
    let line = |k: usize| -> [Taylor<2>; N] {
        std::array::from_fn(|j| if j == k { Taylor::variable(x[j]) } else { Taylor::lift(x[j]) })
    };
    let surface = |i: usize, j: usize| -> [Taylor<2, Dual>; N] {
        let inner = seeded(x, i);
        std::array::from_fn(|k| if k == j { Taylor::variable(inner[k]) } else { Taylor::lift(inner[k]) })
    };
    vec![
        Through::new("f64", value),
        Through::new("F32", f64::from(f.call(single).0)).in_single(),
        Through::new("Lanes", f.call(lanes).0[1]),
        Through::new("Dual", f.call(seeded(x, 0)).re())
            .gradient(std::array::from_fn(|k| f.call(seeded(x, k)).tangent()))
            .hessian(second_tangents(x, f)),
        Through::new("Dual of N tangents", of_all.re()).gradient(of_all.tangents()),
        Through::new("Dual over F32", f64::from(of_single(0).re().0))
            .gradient(std::array::from_fn(|k| f64::from(of_single(k).tangent().0)))
            .in_single(),
        Through::new("Dual over Lanes", of_lanes(0).re().0[1])
            .gradient(std::array::from_fn(|k| of_lanes(k).tangent().0[1])),
        Through::new("Taylor", f.call(line(0)).re())
            .gradient(std::array::from_fn(|k| f.call(line(k)).derivative(1)))
            .hessian(std::array::from_fn(|i| std::array::from_fn(|j| f.call(surface(i, j)).derivative(1).tangent()))),
    ]
}

fn drivers<const N: usize>(x: [f64; N], f: &impl Generic<N>) -> Vec<Through<N>> {
    let value = f.call(x);
    let unit = |k: usize| -> [f64; N] { std::array::from_fn(|j| if j == k { 1.0 } else { 0.0 }) };
    let (v, g) = value_and_grad(x, |x| f.call(x));
    let (_, pullback) = vjp(x, |x| f.call(x));
    let [by_rows] = jacobian(x, |x| [f.call(x)]);
    // As many rows as columns: forward.
    let by_columns = jacobian(x, |x| [f.call(x); N])[0];
    // The others are constants: a given tangent of 0 would meet their derivatives, NaN or not.
    let along =
        |k: usize| jvp(x[k], 1.0, |moving| f.call(std::array::from_fn(|j| if j == k { moving } else { lift(x[j]) })));
    let dual_in_tape = |x: [Var; N]| -> [Var; N] { std::array::from_fn(|k| f.call(seeded(x, k)).tangent()) };
    vec![
        Through::new("value_and_grad", v).gradient(g),
        Through::new("grad, hessian", value).gradient(grad(x, |x| f.call(x))).hessian(hessian(x, |x| f.call(x))),
        Through::new("jvp, hvp", along(0).0)
            .gradient(std::array::from_fn(|k| along(k).1))
            .hessian(std::array::from_fn(|k| hvp(x, unit(k), |x| f.call(x)))),
        Through::new("vjp", value).gradient(pullback.pull(1.0)),
        Through::new("jacobian backward", value).gradient(by_rows),
        Through::new("jacobian forward", value).gradient(by_columns),
        Through::new("grad in grad", value_and_grad(x.map(lift), |x| f.call(x)).0.value())
            .gradient(grad(x.map(lift), |x| f.call(x)).map(Var::value))
            .hessian(jacobian(x, |x| grad(x, |x| f.call(x)))),
        Through::new("Dual in the tape", value)
            .gradient(jvp(x, unit(0), dual_in_tape).0)
            .hessian(jacobian(x, dual_in_tape)),
    ]
}

fn recorded<const N: usize>(x: [f64; N], elsewhere: [f64; N], f: &impl Generic<N>) -> Vec<Through<N>> {
    let replayed = record(elsewhere, |x| f.call(x));
    // More points than lanes, so that there is a tail.
    let mut points = [elsewhere; 11];
    points[10] = x;
    let (value, gradient) = replayed.value_and_grad_many(&points)[10];
    vec![
        Through::new("record", replayed.value(x)).gradient(replayed.grad(x)).hessian(replayed.hessian(x)),
        Through::new("record on lanes", value).gradient(gradient),
        Through::new("record at Vars", replayed.value_and_grad(x).0)
            .gradient(replayed.value_and_grad(x).1)
            .hessian(jacobian(x, |x| replayed.grad(x))),
    ]
}

/// Two carriers disagree.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct CarrierError {
    /// The carrier or driver.
    pub carrier: &'static str,
    /// Which of its numbers.
    pub what: String,
    /// What it gives.
    pub got: f64,
    /// What nested duals give.
    pub expected: f64,
    /// How far they may be apart.
    pub bound: f64,
}

impl fmt::Display for CarrierError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let CarrierError { carrier, what, got, expected, bound } = self;
        write!(
            f,
            "{carrier}: the {what} is {got:e} where nested duals give {expected:e}, {:.1e} apart where \
             {bound:.1e} is allowed",
            (got - expected).abs()
        )
    }
}

impl std::error::Error for CarrierError {}

/// Compares the value, the gradient and the Hessian that every double-precision carrier and driver
/// gives at `x`, as [`everywhere`] lists them. They may differ by four times the bound that running
/// error analysis gives for nested duals: each of the two may be off by it, in its own order of
/// operations.
///
/// # Errors
/// The first number that is off.
pub fn check_carriers<const N: usize>(
    x: [f64; N],
    elsewhere: [f64; N],
    f: &impl Generic<N>,
) -> Result<(), CarrierError> {
    let bounds = rounding_errors(x, f);
    let all = everywhere(x, elsewhere, f);
    all.iter().filter(|through| through.unit == 1.0).try_for_each(|through| compare(through, &all, &bounds))
}

/// As [`check_carriers`] for single precision, whose arguments are rounded before the function sees
/// them: a jump or a kink closer than that is a disagreement.
///
/// # Errors
/// The first number that is off.
pub fn check_single_precision<const N: usize>(x: [f64; N], f: &impl Generic<N>) -> Result<(), CarrierError> {
    let bounds = errors_at(x.map(Rounded::displaced), f);
    let all = carriers(x, x, f);
    all.iter().filter(|through| through.unit != 1.0).try_for_each(|through| compare(through, &all, &bounds))
}

/// Bounds on the rounding errors that the value and the derivatives of a function have at `x`, to
/// first order; in units of [`Through::unit`].
pub fn rounding_errors<const N: usize>(x: [f64; N], f: &impl Generic<N>) -> Through<N> {
    errors_at(x.map(Rounded::exact), f)
}

fn errors_at<const N: usize>(x: [Rounded; N], f: &impl Generic<N>) -> Through<N> {
    let first: [Dual<Rounded>; N] = std::array::from_fn(|k| f.call(seeded(x, k)));
    Through::new("rounding errors", first[0].re().error())
        .gradient(first.map(|dual| dual.tangent().error()))
        .hessian(second_tangents(x, f).map(|row| row.map(Rounded::error)))
}

/// Compares one carrier with the nested duals of the list.
fn compare<const N: usize>(through: &Through<N>, all: &[Through<N>], bounds: &Through<N>) -> Result<(), CarrierError> {
    let duals = all.iter().find(|through| through.carrier == "Dual").expect("it is listed");
    let agree = |what: String, got: f64, expected: f64, error: f64| {
        let bound = 4.0 * through.unit * error;
        let same = got == expected || (got.is_nan() && expected.is_nan());
        if same || (got - expected).abs() <= bound {
            return Ok(());
        }
        Err(CarrierError { carrier: through.carrier, what, got, expected, bound })
    };
    agree("value".to_owned(), through.value, duals.value, bounds.value)?;
    for k in 0..N {
        if let (Some(got), Some(expected), Some(bound)) = (through.gradient, duals.gradient, bounds.gradient) {
            agree(format!("derivative by argument {k}"), got[k], expected[k], bound[k])?;
        }
        for j in 0..N {
            if let (Some(got), Some(expected), Some(bound)) = (through.hessian, duals.hessian, bounds.hessian) {
                let what = format!("derivative by arguments {k} and {j}");
                agree(what, got[k][j], expected[k][j], bound[k][j])?;
            }
        }
    }
    Ok(())
}
