//! Tests of what is private here.

use std::cmp::Ordering;
use std::ops::{BitAnd, BitOr, Not};

use super::*;
use crate::dual::Dual;
use crate::ops::{Binary, Compare, Unary};
use crate::real::{Carrier, Mask, Real, real_operators};

/// A carrier of nothing but what a number depends on. Every branch is run.
#[derive(Clone, Copy, Debug)]
struct Probe<const PLAIN: bool>(Reads);

impl Mask for Probe<false> {
    fn splat(_: bool) -> Self {
        Probe(Reads::NOTHING)
    }
    fn known(self) -> Option<bool> {
        None
    }
}
impl Not for Probe<false> {
    type Output = Self;
    fn not(self) -> Self {
        self
    }
}
impl BitAnd for Probe<false> {
    type Output = Self;
    fn bitand(self, other: Self) -> Self {
        Probe(self.0.and(other.0))
    }
}
impl BitOr for Probe<false> {
    type Output = Self;
    fn bitor(self, other: Self) -> Self {
        Probe(self.0.and(other.0))
    }
}

real_operators! { [const PLAIN: bool] Probe<PLAIN> }

impl<const PLAIN: bool> Carrier for Probe<PLAIN> {
    type Mask = Probe<false>;
    const PLAIN: bool = PLAIN;
    fn carry_constant(_: f64) -> Self {
        Probe(Reads::NOTHING)
    }
    fn carry_unary(self, _: Unary) -> Self {
        self
    }
    fn carry_binary(self, other: Self, _: Binary) -> Self {
        Probe(self.0.and(other.0))
    }
    fn carry_compare(self, other: Self, _: Compare) -> Probe<false> {
        Probe(self.0.and(other.0))
    }
    fn carry_select(mask: Probe<false>, yes: Self, no: Self) -> Self {
        Probe(mask.0.and(yes.0).and(no.0))
    }
    fn carry_all_finite(self) -> bool {
        true
    }
}
impl<const PLAIN: bool> PartialEq for Probe<PLAIN> {
    fn eq(&self, _: &Self) -> bool {
        panic!("a rule chooses by masks")
    }
}
impl<const PLAIN: bool> PartialOrd for Probe<PLAIN> {
    fn partial_cmp(&self, _: &Self) -> Option<Ordering> {
        panic!("a rule chooses by masks")
    }
}
impl<const PLAIN: bool> PartialEq<f64> for Probe<PLAIN> {
    fn eq(&self, _: &f64) -> bool {
        panic!("a rule chooses by masks")
    }
}
impl<const PLAIN: bool> PartialOrd<f64> for Probe<PLAIN> {
    fn partial_cmp(&self, _: &f64) -> Option<Ordering> {
        panic!("a rule chooses by masks")
    }
}

/// What the rules of a function of two arguments read over one kind of carriers: by `x`, by `y`, together.
fn read_by<const PLAIN: bool>(op: Binary) -> [Reads; 3] {
    let [x, y, z] = [Reads::X, Reads::Y, Reads::RESULT].map(Probe::<PLAIN>);
    let (by_x, by_y) = op.partials(x, y, z);
    [op.partial_x(x, y, z).0, op.partial_y(x, y, z).0, by_x.0.and(by_y.0)]
}

#[test]
fn rules_read_what_is_stated() {
    let others = [0, 1, 2, -1].map(Unary::Powi);
    for &op in Unary::ALL.iter().chain(&others) {
        let plain = op.partial(Probe::<true>(Reads::X), Probe(Reads::RESULT)).0;
        let kept = op.partial(Probe::<false>(Reads::X), Probe(Reads::RESULT)).0;
        assert_eq!(plain.and(kept), op.reads(), "{op:?}");
        assert!(!op.is_flat() || op.reads() == Reads::NOTHING, "{op:?}");
    }
    for &op in Binary::ALL {
        let (plain, kept) = (read_by::<true>(op), read_by::<false>(op));
        let [by_x, by_y, both] = [0, 1, 2].map(|k| plain[k].and(kept[k]));
        assert_eq!([by_x, by_y], op.reads(), "{op:?}");
        assert_eq!(both, by_x.and(by_y), "{op:?}: both at once");
        assert!(!op.is_flat_in_y() || by_y == Reads::NOTHING, "{op:?}");
    }
}

#[test]
fn linear_are_those_that_are_stated() {
    // Of a sum the sum; a NaN is none.
    let adds = |sum: f64, x: f64, y: f64| (sum - (x + y)).abs() <= 1e-13;
    for &op in Unary::ALL.iter().filter(|op| !op.is_flat()) {
        let f = |x: f64| op.eval(x);
        let linear = op.samples().iter().all(|&x| [3.5, -2.5].iter().all(|&more| adds(f(x + more), f(x), f(more))));
        assert_eq!(linear, op.linear_in().contains(&&[0][..]), "{op:?}");
    }
    // `x ln(y)` is linear in `x`, but for `y = 0`, where a product with the factor would be NaN; so is a term with a weight.
    let but_for_an_edge = [Binary::Xlogy, Binary::Xlog1py, Binary::Weighted];
    for &op in Binary::ALL {
        let f = |x: f64, y: f64| op.eval(x, y);
        let all = |adds: &dyn Fn(f64, f64, f64, f64) -> bool| {
            let further = [[1.25, 3.5], [-2.5, 0.5]];
            op.samples().iter().all(|&(x, y)| further.iter().all(|&[u, v]| adds(x, y, u, v)))
        };
        let in_x = all(&|x, y, u, _| adds(f(x + u, y), f(x, y), f(u, y))) && !but_for_an_edge.contains(&op);
        let in_y = all(&|x, y, _, v| adds(f(x, y + v), f(x, y), f(x, v))) && !but_for_an_edge.contains(&op);
        let in_both = all(&|x, y, u, v| adds(f(x + u, y + v), f(x, y), f(u, v)));
        for (operands, linear) in [(&[0][..], in_x), (&[1], in_y), (&[0, 1], in_both)] {
            assert_eq!(linear, op.linear_in().contains(&operands), "{op:?} in {operands:?}");
        }
    }
}

#[test]
fn nonlinear_are_those_that_have_second_derivatives() {
    // Over nested duals; what is structurally zero is 0 at every point, and whatever else is not.
    for &op in Unary::ALL.iter().chain(&[-2, -1, 0, 1, 2, 3].map(Unary::Powi)) {
        let second = |x: f64| Dual::new(Dual::variable(x), Dual::constant(1.0)).unary(op).tangent().tangent();
        let bends = op.samples().iter().any(|&x| second(x) != 0.0);
        assert_eq!(bends, op.is_nonlinear(), "{op:?}");
    }
    for &op in Binary::ALL {
        let seconds = |x: f64, y: f64| {
            let inner = [Dual::<f64, 2>::seed(x, 0), Dual::seed(y, 1)];
            let [x, y] = [0, 1].map(|k| Dual::<_, 2>::seed(inner[k], k));
            let [by_x, by_y] = x.binary(y, op).tangents().map(Dual::tangents);
            [by_x[0], by_x[1], by_y[1]]
        };
        let all: Vec<[f64; 3]> = op.samples().iter().map(|&(x, y)| seconds(x, y)).collect();
        let bends = [0, 1, 2].map(|k| all.iter().any(|seconds| seconds[k] != 0.0));
        assert_eq!(bends, op.is_nonlinear(), "{op:?}");
    }
}

#[test]
fn inside_their_domain_functions_have_three_finite_derivatives() {
    let moderate = |interval: Option<[f64; 2]>| interval.unwrap_or([-1.7, 1.7]);
    let points = |[low, high]: [f64; 2]| (0..=20).map(move |k| low + (high - low) * f64::from(k) / 20.0);
    for &op in Unary::ALL.iter().chain(&[-2, -1, 0, 1, 2].map(Unary::Powi)) {
        let Domain { inside: [inside], edges } = op.domain();
        for x in points(moderate(inside)) {
            let y = Dual::variable(Dual::variable(Dual::variable(x))).unary(op);
            assert!(y.all_finite(), "{op:?} at {x}: {y:?}");
        }
        assert!(edges.iter().all(|&[edge]| inside.is_none_or(|[low, high]| edge < low || edge > high)), "{op:?}");
        assert!(op.samples().iter().all(|&x| op.eval(x).is_finite()), "{op:?}");
    }
    for &op in Binary::ALL {
        let [inside_x, inside_y] = op.domain().inside.map(moderate);
        for (x, y) in points(inside_x).flat_map(|x| points(inside_y).map(move |y| (x, y))) {
            let [x, y] = [Dual::variable(Dual::<f64>::variable(x)), Dual::variable(Dual::variable(y))];
            assert!(x.binary(y, op).all_finite(), "{op:?} at {x:?}, {y:?}");
        }
    }
}
