//! The rule battery: every elementwise operation at its samples, and the derivative of every
//! operation as a function of its own. A new operation is tested by being listed in `ALL`.

use wengert::check::{
    CheckError, Comparison, Config, Generic, Rule, check_carriers, check_grads_with, check_rule,
    check_single_precision, check_transpose, everywhere,
};
use wengert::ops::{Binary, Unary};
use wengert::prelude::*;
use wengert::{Const, freeze};

use super::{One, Two, binary_constant, constant_binary};

/// An operation of two arguments with a constant on the right.
struct Right(Binary, f64);

impl Generic<1> for Right {
    fn call<R: Real>(&self, [x]: [R; 1]) -> R {
        binary_constant(self.0, x, self.1)
    }
}

/// An operation of two arguments with a constant on the left.
struct Left(Binary, f64);

impl Generic<1> for Left {
    fn call<R: Real>(&self, [x]: [R; 1]) -> R {
        constant_binary(self.0, self.1, x)
    }
}

/// The derivative of a function in a direction.
struct Slope<F, const N: usize>(F, [f64; N]);

impl<const N: usize, F: Generic<N>> Generic<N> for Slope<F, N> {
    fn call<R: Real>(&self, x: [R; N]) -> R {
        let moving = std::array::from_fn(|k| Dual::new(x[k], R::constant(self.1[k])));
        self.0.call(moving).tangent()
    }
}

/// Differences, linearity, transposes of first and second order; every carrier against duals.
fn battery<const N: usize>(name: &str, x: [f64; N], elsewhere: [f64; N], f: &impl Generic<N>) {
    let config = Config::default();
    if name == Unary::Detach.name() {
        // Severed on purpose: the one function whose derivative is not that of its value.
        let severed = check_grads_with(x, |x| f.call(x), &config);
        assert!(matches!(severed, Err(CheckError::Disagree(e)) if e.stated == 0.0 && e.order == 1));
        return check_carriers(x, elsewhere, f).unwrap_or_else(|e| panic!("{name} at {x:?}: {e}"));
    }
    let report = check_grads_with(x, |x| f.call(x), &config).unwrap_or_else(|e| panic!("{name} at {x:?}: {e}"));
    assert_eq!(report.comparisons, 2 * 3 * config.directions, "{name}");
    check_transpose(x, |x| [f.call(x), x[0], f.call(x) * x[0]], &config)
        .unwrap_or_else(|e| panic!("{name} at {x:?}, several results: {e}"));
    check_carriers(x, elsewhere, f).unwrap_or_else(|e| panic!("{name} at {x:?}: {e}"));
    check_single_precision(x, f).unwrap_or_else(|e| panic!("{name} at {x:?}: {e}"));
}

/// Every sample with another one of the same operation, where recordings are made.
fn pairs<T: Copy>(samples: &[T]) -> impl Iterator<Item = (T, T)> {
    samples.iter().copied().zip(samples.iter().copied().cycle().skip(1))
}

#[test]
fn every_function_of_one_argument() {
    for &op in Unary::ALL {
        for (x, elsewhere) in pairs(op.samples()) {
            battery(op.name(), [x], [elsewhere], &One(op));
        }
    }
}

#[test]
fn every_derivative_of_a_function_of_one_argument() {
    for &op in Unary::ALL {
        for (x, elsewhere) in pairs(op.samples()) {
            battery(&format!("derivative of {}", op.name()), [x], [elsewhere], &Slope(One(op), [1.0]));
        }
    }
}

#[test]
fn every_function_of_two_arguments_and_its_constant_forms() {
    for &op in Binary::ALL {
        for ((x, y), elsewhere) in pairs(op.samples()) {
            battery(op.name(), [x, y], elsewhere.into(), &Two(op));
            battery(&format!("{} by a constant", op.name()), [x], [elsewhere.0], &Right(op, y));
            battery(&format!("{} of a constant", op.name()), [y], [elsewhere.1], &Left(op, x));
        }
    }
}

#[test]
fn every_derivative_of_a_function_of_two_arguments() {
    for &op in Binary::ALL {
        for ((x, y), elsewhere) in pairs(op.samples()) {
            let name = format!("derivative of {}", op.name());
            battery(&name, [x, y], elsewhere.into(), &Slope(Two(op), [0.7, -0.4]));
            battery(&name, [x], [elsewhere.0], &Slope(Right(op, y), [1.0]));
            battery(&name, [y], [elsewhere.1], &Slope(Left(op, x), [1.0]));
        }
    }
}

/// Powers and series of other numbers than the one that the list carries.
#[test]
fn members_with_other_numbers() {
    let powers = [-3, -1, 0, 1, 2, 4, 7].map(Unary::Powi);
    let others = [Unary::Polygamma(0), Unary::Polygamma(3), Unary::Sinc(1), Unary::Sinc(4)];
    for op in powers.into_iter().chain(others) {
        for (x, elsewhere) in pairs(op.samples()) {
            battery(&format!("{op:?}"), [x], [elsewhere], &One(op));
            battery(&format!("derivative of {op:?}"), [x], [elsewhere], &Slope(One(op), [1.0]));
        }
    }
}

// ---- to the bit ---------------------------------------------------------------------------------

/// Every double-precision carrier gives the same bits for arithmetic. Left out are Taylor series,
/// whose recurrence of a quotient divides where the rule multiplies by the reciprocal, and tangents
/// along one variable, for which a constant over a variable is such a division too.
#[test]
fn arithmetic_is_the_same_to_the_bit_everywhere() {
    fn check<const N: usize>(name: &str, x: [f64; N], elsewhere: [f64; N], f: &impl Generic<N>) {
        let bits = |numbers: [f64; N]| numbers.map(|number| (number + 0.0).to_bits());
        let all = everywhere(x, elsewhere, f);
        let dual = all.iter().find(|through| through.carrier == "Dual").copied().expect("listed");
        let other_formula = ["Taylor", "jvp, hvp"];
        for through in all.iter().filter(|through| through.unit == 1.0 && !other_formula.contains(&through.carrier)) {
            assert_eq!(through.value.to_bits(), dual.value.to_bits(), "{name} at {x:?}: {}", through.carrier);
            if let (Some(got), Some(expected)) = (through.gradient, dual.gradient) {
                assert_eq!(bits(got), bits(expected), "{name} at {x:?}: {}: {got:?}, {expected:?}", through.carrier);
            }
        }
        let unit = |k: usize| -> [f64; N] { std::array::from_fn(|j| if j == k { 1.0 } else { 0.0 }) };
        let tangents = std::array::from_fn(|k| jvp(x, unit(k), |x| f.call(x)).1);
        assert_eq!(bits(tangents), bits(dual.gradient.expect("duals give it")), "{name} at {x:?}: jvp");
    }
    for op in [Unary::Neg, Unary::Abs, Unary::Square, Unary::Sqrt, Unary::Recip, Unary::Relu, Unary::Floor] {
        for (x, elsewhere) in pairs(op.samples()) {
            check(op.name(), [x], [elsewhere], &One(op));
        }
    }
    for op in [Binary::Add, Binary::Sub, Binary::Mul, Binary::Div, Binary::Max, Binary::Min, Binary::Copysign] {
        for ((x, y), elsewhere) in pairs(op.samples()) {
            check(op.name(), [x, y], elsewhere.into(), &Two(op));
            check(op.name(), [x], [elsewhere.0], &Right(op, y));
            check(op.name(), [y], [elsewhere.1], &Left(op, x));
        }
    }
}

// ---- the tester is tested -----------------------------------------------------------------------

/// How a derivative is made wrong.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Mutant {
    None,
    FlippedSign,
    SlightlyTooLarge,
    DroppedTerm,
    SwappedOperands,
}

const MUTANTS: [Mutant; 4] =
    [Mutant::FlippedSign, Mutant::SlightlyTooLarge, Mutant::DroppedTerm, Mutant::SwappedOperands];

/// A function of two numbers with stated partial derivatives, wrong in a chosen way.
struct Stated<V, P> {
    value: V,
    partials: P,
    mutant: Mutant,
    /// Whether tangent or cotangent is wrong too, or only the other one.
    in_jvp: bool,
    in_vjp: bool,
}

impl<V: Fn(f64, f64) -> f64, P: Fn(f64, f64) -> [f64; 2]> Stated<V, P> {
    fn partials(&self, x: &[f64], wrong: bool) -> [f64; 2] {
        let [by_x, by_y] = (self.partials)(x[0], x[1]);
        match self.mutant {
            _ if !wrong => [by_x, by_y],
            Mutant::None => [by_x, by_y],
            Mutant::FlippedSign => [-by_x, by_y],
            Mutant::SlightlyTooLarge => [by_x * (1.0 + 1e-4), by_y],
            Mutant::DroppedTerm => [by_x, 0.0],
            Mutant::SwappedOperands => [by_y, by_x],
        }
    }
    /// How much the mutant changes the derivative, relative to it.
    fn change(&self, x: [f64; 2]) -> f64 {
        let (right, wrong) = (self.partials(&x, false), self.partials(&x, true));
        let change = f64::max((right[0] - wrong[0]).abs(), (right[1] - wrong[1]).abs());
        change / f64::max(right[0].abs(), right[1].abs())
    }
}

impl<V: Fn(f64, f64) -> f64, P: Fn(f64, f64) -> [f64; 2]> Rule for Stated<V, P> {
    fn value(&self, x: &[f64]) -> Vec<f64> {
        vec![(self.value)(x[0], x[1])]
    }
    fn jvp(&self, x: &[f64], tangent: &[f64]) -> Vec<f64> {
        let [by_x, by_y] = self.partials(x, self.in_jvp);
        vec![by_x * tangent[0] + by_y * tangent[1]]
    }
    fn vjp(&self, x: &[f64], cotangent: &[f64]) -> Vec<f64> {
        self.partials(x, self.in_vjp).map(|partial| partial * cotangent[0]).to_vec()
    }
}

/// Feeds the true rule and its mutants to the checker; returns how many mutants were refused.
fn refuse(
    name: &str,
    x: [f64; 2],
    value: impl Fn(f64, f64) -> f64 + Copy,
    partials: impl Fn(f64, f64) -> [f64; 2] + Copy,
) -> usize {
    let config = Config::default();
    let right = Stated { value, partials, mutant: Mutant::None, in_jvp: true, in_vjp: true };
    check_rule(&x, &right, &config).unwrap_or_else(|e| panic!("{name} at {x:?} is right: {e}"));
    let mut refused = 0;
    for mutant in MUTANTS {
        for (in_jvp, in_vjp) in [(true, true), (true, false), (false, true)] {
            let rule = Stated { value, partials, mutant, in_jvp, in_vjp };
            // A mutant that is the true rule at this point cannot be refused: swapped operands of
            // a sum, a flipped sign of a derivative that is zero.
            if rule.change(x).is_nan() || rule.change(x) < 0.5e-4 {
                continue;
            }
            let error = check_rule(&x, &rule, &config).expect_err(&format!("{mutant:?} of {name} at {x:?}"));
            let CheckError::Disagree(error) = error else { panic!("{mutant:?} of {name} at {x:?}: {error}") };
            let expected = if in_jvp { Comparison::Differences } else { Comparison::Transpose };
            assert_eq!(error.comparison, expected, "{mutant:?} of {name} at {x:?}");
            assert!((error.stated - error.expected).abs() > error.bound);
            refused += 1;
        }
    }
    refused
}

#[test]
fn mutants_of_every_rule_are_refused() {
    for &op in Binary::ALL {
        let mut refused = 0;
        for &(x, y) in op.samples() {
            let value = |x: f64, y: f64| op.eval(x, y);
            let partials = |x: f64, y: f64| {
                let z = op.eval(x, y);
                [op.partial_x(x, y, z), op.partial_y(x, y, z)]
            };
            refused += refuse(op.name(), [x, y], value, partials);
        }
        assert!(refused >= 3 * MUTANTS.len(), "{}: {refused}", op.name());
    }
    // What is stated of `detach` is not its derivative, so that even the true rule is refused.
    for &op in Unary::ALL.iter().filter(|&&op| op != Unary::Detach) {
        let mut refused = 0;
        for &x in op.samples() {
            // Two arguments, so that a term can be dropped and operands swapped.
            let value = |x: f64, y: f64| op.eval(x) + 0.3 * y * y;
            let partials = |x: f64, y: f64| [op.partial(x, op.eval(x)), 0.6 * y];
            refused += refuse(op.name(), [x, 0.9], value, partials);
        }
        assert!(refused >= 6, "{}: {refused}", op.name());
    }
}

#[test]
fn mutants_are_refused_where_the_right_number_is_zero() {
    // A relative error would divide by zero here, and a floor added to it would hide the mutant.
    let derivative_zero = |x: f64, y: f64| x * x + y * y * y;
    let wrong = |_: f64, _: f64| [1e-3, 0.0];
    let rule = Stated { value: derivative_zero, partials: wrong, mutant: Mutant::None, in_jvp: true, in_vjp: true };
    let error = check_rule(&[0.0, 0.0], &rule, &Config::default()).expect_err("the derivative is 0");
    assert!(matches!(error, CheckError::Disagree(_) | CheckError::Unresolved(_)), "{error}");
}

#[test]
fn a_tangent_that_is_not_linear_is_refused() {
    struct Bent;
    impl Rule for Bent {
        fn value(&self, x: &[f64]) -> Vec<f64> {
            vec![x[0].abs() + x[1].abs()]
        }
        /// The directional derivative at a kink exists, and is not linear in the direction.
        fn jvp(&self, x: &[f64], tangent: &[f64]) -> Vec<f64> {
            let along = |x: f64, t: f64| if x == 0.0 { 0.25 * t.abs() } else { x.signum() * t };
            vec![along(x[0], tangent[0]) + along(x[1], tangent[1])]
        }
        fn vjp(&self, x: &[f64], cotangent: &[f64]) -> Vec<f64> {
            x.iter().map(|x| x.signum() * cotangent[0]).collect()
        }
    }
    assert!(check_rule(&[0.0, 1.0], &Bent, &Config::default()).is_err());
}

#[test]
fn what_cannot_be_told_is_said() {
    let check =
        |x: f64, f: fn(Var) -> Var| check_grads_with(x, f, &Config::default()).map_err(|e| (e.clone(), e.to_string()));
    // the point itself
    assert!(matches!(check(-1.0, |x| x.ln()), Err((CheckError::NotFinite { what: "value", order: 1, .. }, _))));
    assert!(matches!(check(0.0, |x| x.sqrt()), Err((CheckError::NotFinite { what: "tangent", .. }, _))));
    assert!(matches!(check(f64::NAN, |x| x * x), Err((CheckError::NotFinite { what: "point", .. }, _))));
    // the edge of the domain
    let (error, text) = check(1.0, |x| (x - 1.0).powf(2.5)).expect_err("half of the differences are NaN");
    assert!(matches!(error, CheckError::NowhereFinite { order: 1 }), "{text}");
    assert!(text.contains("edge of the domain"));
    // a kink closer than the narrowest step, a jump, and a kink at the point
    let (error, text) = check(1.0, |x| (x - (1.0 - 1e-14)).abs()).expect_err("differences straddle the kink");
    assert!(matches!(error, CheckError::Disagree(_) | CheckError::Unresolved(_)), "{text}");
    assert!(text.contains("kink") && text.contains("another point"), "{text}");
    let (_, text) = check(1.0, |x| x.floor() + x).expect_err("a jump");
    assert!(text.contains("jump"), "{text}");
    let (_, text) = check(2.0, |x| (x * 3.0).max(6.0)).map_or_else(|e| e, |_| panic!("max is half on each side"));
    assert!(text.contains("kink"), "{text}");
    // noise
    let (error, text) = check(0.5, |x| (x * 1e12).sin() * 1e-6 + x).expect_err("faster than any step");
    assert!(matches!(error, CheckError::Unresolved(_) | CheckError::Disagree(_)), "{text}");
}

#[test]
fn data_does_not_move() {
    let config = Config::default();
    check_grads_with((2.0, Const(3.0)), |(x, Const(c))| (x * c).sin(), &config).unwrap();
    check_grads_with(freeze([2.0, 3.0], |path| path == "1"), |x| (x[0] * x[1]).sin(), &config).unwrap();
    check_transpose((2.0, Const(3.0)), |(x, Const(c))| [x * c, x.sin()], &config).unwrap();
    // A wrong derivative by what is no data is seen all the same.
    check_grads_with((2.0, Const(3.0)), |(x, Const(c))| x.detach() * x * c, &config).unwrap_err();
}

#[test]
fn messages_name_both_numbers_the_bound_and_the_direction() {
    let error = check_grads_with([2.0, 1.0], |[x, y]| x * x.detach() + y, &Config::default()).expect_err("severed");
    let CheckError::Disagree(disagreement) = &error else { panic!("{error}") };
    assert_eq!((disagreement.order, disagreement.comparison), (1, Comparison::Differences));
    let text = error.to_string();
    for number in [disagreement.stated, disagreement.expected] {
        assert!(text.contains(&format!("{number:e}")), "{text}");
    }
    assert!(text.contains(&format!("{:.1e}", disagreement.bound)) && text.contains("t = ["), "{text}");
    // long directions are cut
    let long = check_grads_with(vec![1.0; 20], |x| x[0] * x[0].detach(), &Config::default()).expect_err("severed");
    assert!(long.to_string().contains("… 20 numbers]"));
    // a rule with the wrong number of results
    struct Short;
    impl Rule for Short {
        fn value(&self, x: &[f64]) -> Vec<f64> {
            x.to_vec()
        }
        fn jvp(&self, _: &[f64], _: &[f64]) -> Vec<f64> {
            vec![]
        }
        fn vjp(&self, _: &[f64], c: &[f64]) -> Vec<f64> {
            c.to_vec()
        }
    }
    let short = check_rule(&[1.0], &Short, &Config::default()).expect_err("too short");
    assert_eq!(short.to_string(), "the rule gives a tangent of 0 numbers where 1 are needed");
}

#[test]
fn the_seed_and_the_orders_are_the_configuration_s() {
    let f = |[x, y]: [Var; 2]| (x * y).exp() + x.atan2(y);
    let first = Config { orders: 1, directions: 5, ..Config::default() };
    let report = check_grads_with([0.4, 1.1], f, &first).expect("right");
    assert_eq!(report.comparisons, 15);
    assert_eq!(check_grads_with([0.4, 1.1], f, &first), Ok(report));
    let other = Config { seed: 1, ..first };
    assert_ne!(check_grads_with([0.4, 1.1], f, &other), Ok(report));
    assert!(report.worst < 1.0 && report.resolution < 1e-8, "{report:?}");
}
