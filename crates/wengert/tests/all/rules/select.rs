//! Selections: what happens in the branch that is not taken never reaches a derivative.
//!
//! Every operation stands at every edge of its domain inside the branch that is not taken, where
//! its value or its derivative is infinite or NaN, through every carrier and driver: plain
//! gradients, nested ones, Hessians, duals, replay and lanes of which some take the other branch.

use wengert::check::{Generic, everywhere};
use wengert::ops::{Binary, Compare, Unary};
use wengert::prelude::*;
use wengert::{Lanes, Mask};

use super::{binary, unary};

/// How the branch that is not taken is kept out.
#[derive(Clone, Copy, Debug)]
enum Guard {
    /// `select(x != edge, singular, plain)`
    NotTaken,
    /// `select(x == edge, plain, singular)`
    Taken,
    /// The same by `branch`, with the condition joined of two.
    Branch,
    /// A selection inside the branch of another one.
    Nested,
}

const GUARDS: [Guard; 4] = [Guard::NotTaken, Guard::Taken, Guard::Branch, Guard::Nested];

impl Guard {
    /// `plain` where `at_edge`, else `singular`.
    fn choose<R: Real>(self, at_edge: R::Mask, far: R::Mask, singular: R, plain: R) -> R {
        match self {
            Guard::NotTaken => R::select(!at_edge, singular, plain),
            Guard::Taken => R::select(at_edge, plain, singular),
            Guard::Branch => R::branch(at_edge | far, || plain, || singular),
            Guard::Nested => {
                let inner = R::select(at_edge, plain, singular * 2.0);
                R::select(far, singular, R::select(!at_edge, singular, inner))
            }
        }
    }
}

/// More operations on a result that is not finite, so that its NaN goes through several rules.
#[inline(never)]
fn further<R: Real>(singular: R, x: R) -> R {
    (singular * x + singular.exp()).sin() / singular
}

/// `3 x^2`, but for the branch in which the operation stands.
struct GuardedUnary {
    op: Unary,
    edge: f64,
    guard: Guard,
}

impl Generic<1> for GuardedUnary {
    fn call<R: Real>(&self, [x]: [R; 1]) -> R {
        let edge = R::constant(self.edge);
        // The argument is not an input itself, and the result is used further.
        let singular = unary(self.op, x * 2.0 - edge);
        let singular = further(singular, x);
        let far = x.compare(R::constant(1e9), Compare::Ge);
        self.guard.choose(x.equal(edge), far, singular, x * x * 3.0)
    }
}

/// `x y + 3 x^2`, but for the branch in which the operation stands.
struct GuardedBinary {
    op: Binary,
    edge: [f64; 2],
    guard: Guard,
}

impl Generic<2> for GuardedBinary {
    fn call<R: Real>(&self, [x, y]: [R; 2]) -> R {
        let [edge_x, edge_y] = self.edge.map(R::constant);
        let singular = binary(self.op, x * 2.0 - edge_x, y * 2.0 - edge_y);
        let singular = further(singular, x);
        let at_edge = x.equal(edge_x) & y.equal(edge_y);
        let far = x.compare(R::constant(1e9), Compare::Ge) & y.less(x);
        self.guard.choose(at_edge, far, singular, x * y + x * x * 3.0)
    }
}

/// Every carrier and driver gives exactly these numbers.
#[track_caller]
fn expect<const N: usize>(
    name: &str,
    f: &impl Generic<N>,
    x: [f64; N],
    elsewhere: [f64; N],
    gradient: [f64; N],
    hessian: [[f64; N]; N],
) {
    for through in everywhere(x, elsewhere, f) {
        let carrier = through.carrier;
        assert!(through.value.is_finite(), "{name} at {x:?}: {carrier}: {}", through.value);
        if let Some(got) = through.gradient {
            assert_eq!(got, gradient, "{name} at {x:?}: gradient by {carrier}");
        }
        if let Some(got) = through.hessian {
            assert_eq!(got, hessian, "{name} at {x:?}: Hessian by {carrier}");
        }
    }
}

#[test]
fn edges_of_functions_of_one_argument_stay_in_their_branch() {
    for &op in Unary::ALL.iter().chain(&[Unary::Powi(-2), Unary::Powi(-1), Unary::Polygamma(2)]) {
        for &[edge] in op.domain().edges {
            for guard in GUARDS {
                let f = GuardedUnary { op, edge, guard };
                let name = format!("{op:?} behind {guard:?}");
                expect(&name, &f, [edge], [op.samples()[0]], [6.0 * edge], [[6.0]]);
            }
        }
    }
}

#[test]
fn edges_of_functions_of_two_arguments_stay_in_their_branch() {
    for &op in Binary::ALL {
        for &[x, y] in op.domain().edges.iter().filter(|edge| edge[0].abs() < 1e9) {
            for guard in GUARDS {
                let f = GuardedBinary { op, edge: [x, y], guard };
                let name = format!("{op:?} behind {guard:?}");
                expect(&name, &f, [x, y], op.samples()[0].into(), [y + 6.0 * x, x], [[6.0, 1.0], [1.0, 0.0]]);
            }
        }
    }
}

/// The operations really are singular where they say so: without the selection the value or a derivative is not finite. And
/// those that name no edge are not singular at common ones.
#[test]
fn without_the_selection_the_edge_shows() {
    let all_finite = |op: Unary, x: f64| {
        let (value, first) = value_and_grad(x, |x| unary(op, x));
        [value, first, hessian(x, |x| unary(op, x))].iter().all(|number| number.is_finite())
    };
    for &op in Unary::ALL.iter().chain(&[Unary::Powi(-2), Unary::Powi(-1), Unary::Polygamma(2)]) {
        let edges = op.domain().edges;
        for &[edge] in edges {
            assert!(!all_finite(op, edge), "{op:?} is not singular at {edge}");
        }
        let common = [0.0, 1.0, -1.0, 2.0, -2.0, 4096.0, -4096.0];
        assert!(!edges.is_empty() || common.iter().all(|&x| all_finite(op, x)), "{op:?} names no edge and has one");
    }
    for &op in Binary::ALL {
        let all_finite = |x: [f64; 2]| {
            let (value, first) = value_and_grad(x, |[x, y]| binary(op, x, y));
            let second = hessian(x, |[x, y]| binary(op, x, y));
            [value, first[0], first[1]].iter().chain(second.as_flattened()).all(|number| number.is_finite())
        };
        let edges = op.domain().edges;
        // A difference of two numbers of this size is out of range.
        for edge in edges.iter().filter(|edge| edge[0].abs() < 1e9) {
            assert!(!all_finite(*edge), "{op:?} is not singular at {edge:?}");
        }
        let common = [0.0, 1.0, -1.0, 2.0, -2.0].map(|x| [0.0, 1.0, -1.0].map(|y| [x, y]));
        assert!(!edges.is_empty() || common.as_flattened().iter().all(|&x| all_finite(x)), "{op:?} names no edge");
    }
}

/// `0 * ln(x)` is not a selection: nothing is masked, and the product is NaN.
#[test]
fn multiplying_by_zero_is_not_a_selection() {
    assert!(grad(0.0, |x| x.ln() * 0.0).is_nan());
    let f = record(1.0, |x| Real::select(x.equal(lift(0.0)), x * 0.0 + x.ln() * 0.0, x));
    assert!(f.grad(0.0).is_nan(), "the branch taken keeps its NaN");
    assert_eq!(f.grad(2.0), 1.0);
}

/// Lanes of which every other one stands at the edge, through duals and through a recording.
#[test]
fn lanes_take_different_branches() {
    let points: Vec<f64> = (0..21).map(|k| if k % 2 == 0 { 0.0 } else { 0.25 * f64::from(k) }).collect();
    fn f<R: Real>(x: R) -> R {
        R::select(x.compare(R::constant(0.0), Compare::Le), x * 7.0, x.sqrt() + x.ln() * x)
    }
    let expected = |x: f64| if x == 0.0 { 7.0 } else { 0.5 / x.sqrt() + x.ln() + 1.0 };
    for at in [0.0, 4.0] {
        let recorded = record(at, f::<Var>);
        let gradients = recorded.grad_many(&points);
        for (&x, &got) in points.iter().zip(&gradients) {
            assert!((got - expected(x)).abs() <= 8.0 * f64::EPSILON * (1.0 + expected(x).abs()), "{x}: {got}");
            assert!((recorded.grad(x) - got).abs() <= 8.0 * f64::EPSILON * (1.0 + got.abs()));
        }
        assert_eq!(recorded.recordings(), 1);
    }
    let lanes = Lanes([0.0, 1.0, 4.0, 0.0]);
    let first = f(Dual::variable(lanes)).tangent().0;
    assert_eq!([first[0], first[3]], [7.0, 7.0]);
    let second = f(Dual::new(Dual::variable(lanes), Dual::constant(1.0))).tangent().tangent().0;
    assert_eq!([second[0], second[3]], [0.0, 0.0]);
    assert!((second[1] - (-0.25 + 1.0)).abs() < 1e-15 && (second[2] - (-0.25 / 8.0 + 0.25)).abs() < 1e-15);
}

/// Tangents on lanes are those of each point alone, also where in some lanes only a tangent is structurally zero and meets
/// an infinite derivative.
#[test]
fn duals_on_lanes_are_duals_of_every_point() {
    fn f<R: Real>([x, y, z]: [R; 3]) -> [R; 8] {
        let chosen = R::select(x.less(y), x, R::constant(0.0));
        let other = R::select(x.less(y), R::constant(0.0), z);
        [
            chosen.sqrt(),
            chosen.sqrt() + other.ln(),
            (chosen + y) / (other * other),
            other.recip() * chosen.rsqrt(),
            y.pow(chosen) - x / 3.0,
            lit(2.0) / other - -chosen,
            (x * y).hypot(chosen),
            other.binary(chosen, Binary::Xlogy),
        ]
    }
    let points = [[0.0, 1.0, 2.0], [3.0, 1.0, 0.0], [0.25, 0.5, -1.0], [2.0, -1.0, 4.0]];
    let on_lanes: [Dual<Lanes<4>, 3>; 3] =
        std::array::from_fn(|k| Dual::seed(Lanes(std::array::from_fn(|lane| points[lane][k])), k));
    let together = f(on_lanes);
    for (lane, point) in points.into_iter().enumerate() {
        let alone = f::<Dual<f64, 3>>(std::array::from_fn(|k| Dual::seed(point[k], k)));
        for (which, (alone, together)) in alone.into_iter().zip(together).enumerate() {
            let pairs = std::iter::once((alone.re(), together.re().0[lane]))
                .chain(alone.tangents().into_iter().zip(together.tangents().map(|tangent| tangent.0[lane])));
            for (place, (alone, together)) in pairs.enumerate() {
                let close = (alone - together).abs() <= 4.0 * f64::EPSILON * alone.abs();
                let same = alone == together || alone.is_nan() && together.is_nan();
                assert!(close || same, "result {which}, place {place} at {point:?}: {alone} and {together}");
            }
        }
    }
}

/// The condition itself carries no derivative, and may be used more than once.
#[test]
fn one_condition_for_several_selections() {
    let f = |[x, y]: [Var; 2]| {
        let mask = x.less(y);
        let (low, high) = (Real::select(mask, x, y), Real::select(mask, y, x));
        high.ln() - low * low + Real::select(!mask & mask, x.sqrt(), y)
    };
    let recorded = record([1.0, 2.0], f);
    for [x, y] in [[1.0, 2.0], [2.0, 1.0], [-3.0, 0.5]] {
        let (low, high): (f64, f64) = (f64::min(x, y), f64::max(x, y));
        let by = [-2.0 * low, high.recip()];
        let expected = if x < y { [by[0], by[1] + 1.0] } else { [by[1], by[0] + 1.0] };
        assert_eq!(recorded.grad([x, y]), expected);
        assert_eq!(grad([x, y], f), expected);
    }
    assert_eq!(recorded.recordings(), 1);
    assert_eq!(grad(1.0, |x| x * f64::from(u8::from(x.less(lift(2.0)).known() == Some(true)))), 1.0);
}

/// A selection between a variable and constants, and of a variable with itself.
#[test]
fn constants_and_shared_operands_in_branches() {
    let f = record([1.0, 1.0], |[x, y]| {
        let mask = x.less(y);
        Real::select(mask, lift(3.0), x * y) + Real::select(mask, y, y) + Real::select(mask, lift(1.0), lift(2.0))
    });
    assert_eq!(f.value_and_grad([0.0, 2.0]), (6.0, [0.0, 1.0]));
    assert_eq!(f.value_and_grad([5.0, 2.0]), (14.0, [2.0, 6.0]));
    assert_eq!(f.hessian([5.0, 2.0]), [[0.0, 1.0], [1.0, 0.0]]);
    assert_eq!(f.hessian([0.0, 2.0]), [[0.0, 0.0], [0.0, 0.0]]);
}

/// A selection inside a recording that is replayed inside another driver's function.
#[test]
fn a_replayed_selection_is_differentiated_from_outside() {
    let f = record(1.0, |x| Real::select(x.less(lift(0.5)), x * x * x, x.ln()));
    assert_eq!(grad(0.0, |x| f.value(x) + x), 1.0);
    assert_eq!(grad(2.0, |x| f.grad(x)), -0.25);
    assert_eq!(grad(0.25, |x| f.grad(x)), 1.5);
    assert_eq!(hessian(0.25, |x| f.value(x * x)), 30.0 * 0.25f64.powi(4));
    let outer = record(1.0, |x| f.value(x) * x);
    assert_eq!(outer.grad(0.25), 4.0 * 0.25f64.powi(3));
    assert_eq!(outer.grad(2.0), 2f64.ln() + 1.0);
}
