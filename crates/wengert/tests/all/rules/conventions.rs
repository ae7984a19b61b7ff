//! The table of conventions in `ops`: every row through every carrier and driver.

use wengert::check::{Generic, everywhere};
use wengert::ops::{Binary, Unary};
use wengert::prelude::*;

use super::{One, Two, binary_constant, constant_binary};

const INF: f64 = f64::INFINITY;
const NAN: f64 = f64::NAN;

/// The named composites of one argument.
enum Composite {
    Relu6,
    Clamp,
    LeakyRelu,
    Elu,
    Celu,
    MaxWithZero,
    ZeroWithMax,
}

impl Generic<1> for Composite {
    fn call<R: Real>(&self, [x]: [R; 1]) -> R {
        match self {
            Composite::Relu6 => x.relu6(),
            Composite::Clamp => x.clamp_to(R::constant(-2.0), R::constant(3.0)),
            Composite::LeakyRelu => x.leaky_relu(0.125),
            Composite::Elu => x.elu(),
            Composite::Celu => x.celu(0.5),
            Composite::MaxWithZero => binary_constant(Binary::Max, x, 0.0),
            Composite::ZeroWithMax => constant_binary(Binary::Max, 0.0, x),
        }
    }
}

/// `x` limited from below by `y`.
struct ClampByVariable;

impl Generic<2> for ClampByVariable {
    fn call<R: Real>(&self, [x, y]: [R; 2]) -> R {
        x.clamp_to(y, R::constant(10.0))
    }
}

fn same(got: f64, expected: f64) -> bool {
    got == expected || (got.is_nan() && expected.is_nan())
}

/// Pins the value and the derivative at a point. `elsewhere` is where recordings are made.
#[track_caller]
fn pin<const N: usize>(f: &impl Generic<N>, x: [f64; N], elsewhere: [f64; N], value: f64, gradient: [f64; N]) {
    for through in everywhere(x, elsewhere, f) {
        let carrier = through.carrier;
        let rounded = |x: f64| if through.unit == 1.0 { x } else { f64::from(x as f32) };
        assert!(
            same(through.value, rounded(value)),
            "{carrier} at {x:?}: value {} where the table says {value}",
            through.value
        );
        let Some(got) = through.gradient else { continue };
        assert!(
            got.iter().zip(gradient).all(|(&got, expected)| same(got, rounded(expected))),
            "{carrier} at {x:?}: derivative {got:?} where the table says {gradient:?}"
        );
    }
}

#[test]
fn steps_and_kinks_at_zero_have_derivative_zero() {
    for x in [0.0, -0.0] {
        for op in [Unary::Abs, Unary::Relu, Unary::Sign] {
            pin(&One(op), [x], [1.5], 0.0, [0.0]);
            pin(&One(op), [x], [-1.5], 0.0, [0.0]);
        }
    }
    for op in [Unary::Sign, Unary::Floor, Unary::Ceil, Unary::Round, Unary::Trunc] {
        for x in [-2.5, -2.0, -0.5, 0.0, 0.5, 1.0, 2.5, 3.5] {
            pin(&One(op), [x], [0.7], op.eval(x), [0.0]);
        }
    }
    assert_eq!([0.5, 1.5, 2.5, -0.5].map(|x: f64| Unary::Round.eval(x)), [0.0, 2.0, 2.0, -0.0]);
}

#[test]
fn limited_functions_at_their_bounds() {
    for elsewhere in [[-5.0], [1.0], [8.0]] {
        pin(&Composite::Relu6, [0.0], elsewhere, 0.0, [0.0]);
        pin(&Composite::Relu6, [6.0], elsewhere, 6.0, [0.0]);
        pin(&Composite::Relu6, [2.0], elsewhere, 2.0, [1.0]);
        pin(&Composite::Relu6, [7.0], elsewhere, 6.0, [0.0]);
        pin(&Composite::Clamp, [-2.0], elsewhere, -2.0, [0.0]);
        pin(&Composite::Clamp, [3.0], elsewhere, 3.0, [0.0]);
        pin(&Composite::Clamp, [-3.0], elsewhere, -2.0, [0.0]);
        pin(&Composite::Clamp, [0.5], elsewhere, 0.5, [1.0]);
        pin(&Composite::Clamp, [NAN], elsewhere, NAN, [1.0]);
        pin(&Composite::LeakyRelu, [0.0], elsewhere, 0.0, [0.125]);
        pin(&Composite::Elu, [0.0], elsewhere, 0.0, [1.0]);
        pin(&Composite::Celu, [0.0], elsewhere, 0.0, [1.0]);
    }
    // at a variable bound, and below it, the derivative belongs to the bound
    pin(&ClampByVariable, [2.0, 2.0], [5.0, 2.0], 2.0, [0.0, 1.0]);
    pin(&ClampByVariable, [1.0, 2.0], [5.0, 2.0], 2.0, [0.0, 1.0]);
    pin(&ClampByVariable, [5.0, 2.0], [1.0, 2.0], 5.0, [1.0, 0.0]);
}

#[test]
fn infinite_derivatives_at_the_edge_of_the_domain() {
    pin(&One(Unary::Sqrt), [0.0], [2.0], 0.0, [INF]);
    pin(&One(Unary::Cbrt), [0.0], [2.0], 0.0, [INF]);
    pin(&One(Unary::Rsqrt), [0.0], [2.0], INF, [-INF]);
    for x in [1.0, -1.0] {
        pin(&One(Unary::Asin), [x], [0.3], x.asin(), [INF]);
        pin(&One(Unary::Acos), [x], [0.3], x.acos(), [-INF]);
        pin(&One(Unary::Atanh), [x], [0.3], x * INF, [INF]);
        pin(&One(Unary::Erfinv), [x], [0.3], x * INF, [INF]);
    }
    for (p, value) in [(0.0, -INF), (1.0, INF)] {
        pin(&One(Unary::Logit), [p], [0.3], value, [INF]);
    }
    pin(&One(Unary::Entr), [0.0], [0.3], 0.0, [INF]);
    pin(&One(Unary::Entr), [-1.0], [0.3], -INF, [NAN]);
    pin(&One(Unary::Lgamma), [0.0], [0.3], INF, [-INF]);
    for x in [-1.0, -2.0, -3.0] {
        pin(&One(Unary::Lgamma), [x], [0.3], INF, [NAN]);
    }
}

#[test]
fn outside_the_domain_everything_is_nan() {
    for x in [-1.0, -1e-30, -INF] {
        pin(&One(Unary::Sqrt), [x], [2.0], NAN, [NAN]);
    }
}

#[test]
fn equal_operands_of_max_and_min_share_and_nan_gives_nothing() {
    for x in [0.0, 1.5, -2.0, INF] {
        for op in [Binary::Max, Binary::Min] {
            pin(&Two(op), [x, x], [1.0, 2.0], x, [0.5, 0.5]);
            pin(&Two(op), [x, x], [2.0, 1.0], x, [0.5, 0.5]);
        }
    }
    for op in [Binary::Max, Binary::Min] {
        for [x, y] in [[NAN, 1.0], [1.0, NAN], [NAN, NAN]] {
            pin(&Two(op), [x, y], [1.0, 2.0], NAN, [0.0, 0.0]);
        }
    }
}

#[test]
fn relu_and_max_with_zero_differ_at_zero() {
    pin(&One(Unary::Relu), [0.0], [1.0], 0.0, [0.0]);
    pin(&Composite::MaxWithZero, [0.0], [1.0], 0.0, [0.5]);
    pin(&Composite::ZeroWithMax, [0.0], [-1.0], 0.0, [0.5]);
}

#[test]
fn powers_at_their_edges() {
    let pow = &Two(Binary::Pow);
    for x in [-1.5, 0.0, 2.0] {
        // x^0 in x; in y it is ln x, and 0 where the base is 0
        let by_y = if x == 0.0 { 0.0 } else { f64::ln(x) };
        pin(pow, [x, 0.0], [1.5, 2.5], 1.0, [0.0, by_y]);
    }
    pin(pow, [0.0, 2.0], [1.5, 2.5], 0.0, [0.0, 0.0]);
    pin(pow, [0.0, 1.0], [1.5, 2.5], 0.0, [1.0, 0.0]);
    pin(pow, [0.0, 0.5], [1.5, 2.5], 0.0, [INF, 0.0]);
    pin(pow, [-2.0, 3.0], [1.5, 2.5], -8.0, [12.0, NAN]);
    pin(&One(Unary::Powi(0)), [0.0], [1.5], 1.0, [0.0]);
    // Of a subnormal x, 1/x overflows.
    for x in [1e-310, 5e-324] {
        assert_eq!(grad([x, 0.0], |[x, y]| x.powf(y)), [0.0, x.ln()], "{x}");
    }
    for x in [0.0, 1e-310, -1e-310] {
        assert_eq!(grad(x, |x| grad(x, |x| x.powf(1.0))), 0.0, "{x}");
        assert_eq!(grad(&Tensor::from([x, 2.0]), |x| x.powf(0.0).sum()).to_vec(), [0.0, 0.0], "{x}");
    }
}

#[test]
fn the_rest_of_the_table() {
    pin(&Two(Binary::Atan2), [0.0, 0.0], [1.0, 2.0], 0.0, [NAN, NAN]);
    pin(&Two(Binary::Hypot), [0.0, 0.0], [1.0, 2.0], 0.0, [NAN, NAN]);
    for (y, x) in [(2.0, 0.0), (-2.0, 0.0), (2.0, -0.0)] {
        pin(&Two(Binary::Copysign), [x, y], [1.0, 1.0], 0.0, [0.0, 0.0]);
    }
    pin(&Two(Binary::Xlogy), [0.0, 0.0], [1.0, 2.0], 0.0, [-INF, NAN]);
    pin(&Two(Binary::Xlog1py), [0.0, -1.0], [1.0, 2.0], 0.0, [-INF, NAN]);
    for a in [INF, -INF] {
        pin(&Two(Binary::Weighted), [0.0, a], [1.0, 2.0], 0.0, [a, 0.0]);
        pin(&Two(Binary::Weighted), [2.0, a], [1.0, 2.0], a, [a, 2.0]);
        pin(&Two(Binary::Logaddexp), [a, a], [1.0, 2.0], a, [NAN, NAN]);
    }
}

#[test]
fn a_constant_passes_through_an_infinite_derivative() {
    // sqrt of something that no variable reaches is a constant, not 0 * inf
    struct ConstantEdge;
    impl Generic<1> for ConstantEdge {
        fn call<R: Real>(&self, [x]: [R; 1]) -> R {
            (R::constant(0.0).sqrt() + (x.floor() * 0.0).sqrt() + x.detach().ln()) * x
        }
    }
    pin(&ConstantEdge, [1.0], [2.0], 0.0, [0.0]);
    pin(&ConstantEdge, [2.0], [1.0], 2.0 * 2f64.ln(), [2f64.ln()]);
}
