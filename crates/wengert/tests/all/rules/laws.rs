//! Laws over random programs: every carrier and driver gives the same derivatives, of first,
//! second and third order.

use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use wengert::check::{Generic, check_carriers, everywhere, rounding_errors};
use wengert::ops::{Binary, Compare, Unary};
use wengert::prelude::*;
use wengert::{Mask, vjp};

use super::{binary, binary_constant, constant_binary, unary};

/// How many numbers a random program takes.
const INPUTS: usize = 3;

/// One operation of a random program; operands are earlier results, numbered modulo their count.
#[derive(Clone, Debug)]
enum Step {
    Constant(f64),
    Unary(Unary, usize),
    Both(Binary, usize, usize),
    Right(Binary, usize, f64),
    Left(Binary, f64, usize),
    Select(Condition, usize, usize),
    Branch(Condition, usize, usize),
}

/// A comparison, or two of them joined.
#[derive(Clone, Debug)]
enum Condition {
    One(Compare, usize, usize),
    Constant(Compare, usize, f64),
    Not(Box<Condition>),
    And(Box<Condition>, Box<Condition>),
    Or(Box<Condition>, Box<Condition>),
}

/// A straight-line program of random steps; its result is the last one.
#[derive(Clone, Debug)]
struct Program(Vec<Step>);

impl Generic<INPUTS> for Program {
    fn call<R: Real>(&self, x: [R; INPUTS]) -> R {
        self.results(x).pop().expect("the inputs at least")
    }
}

impl Program {
    /// The inputs and the results of all steps.
    fn results<R: Real>(&self, x: [R; INPUTS]) -> Vec<R> {
        let mut values = x.to_vec();
        for step in &self.0 {
            let at = |place: &usize| values[place % values.len()];
            let next = match step {
                Step::Constant(c) => R::constant(*c),
                Step::Unary(op, a) => unary(*op, inside_unary(*op, at(a))),
                Step::Both(op, a, b) => {
                    let (a, b) = inside_binary(*op, at(a), at(b));
                    binary(*op, a, b)
                }
                Step::Right(op, a, c) => {
                    let (_, constant) = inside_binary(*op, 0.0, *c);
                    binary_constant(*op, inside_binary(*op, at(a), at(a)).0, constant)
                }
                Step::Left(op, c, b) => {
                    let (constant, _) = inside_binary(*op, *c, 0.0);
                    constant_binary(*op, constant, inside_binary(*op, at(b), at(b)).1)
                }
                Step::Select(condition, yes, no) => R::select(condition.mask(&values), at(yes), at(no)),
                Step::Branch(condition, yes, no) => {
                    R::branch(condition.mask(&values), || at(yes).sin() * at(no), || at(no) - at(yes))
                }
            };
            values.push(next);
        }
        values
    }
}

impl Condition {
    fn mask<R: Real>(&self, values: &[R]) -> R::Mask {
        let at = |place: &usize| values[place % values.len()];
        match self {
            Condition::One(op, a, b) => at(a).compare(at(b), *op),
            Condition::Constant(op, a, c) => at(a).compare(R::constant(*c), *op),
            Condition::Not(inner) => !inner.mask(values),
            Condition::And(a, b) => a.mask(values) & b.mask(values),
            Condition::Or(a, b) => a.mask(values) | b.mask(values),
        }
    }
}

/// A number between -1 and 1 that depends smoothly on `x`.
#[inline(never)]
fn squash<R: Real>(x: R) -> R {
    x.sin()
}

/// `x` brought into an interval; without one, to a moderate size.
#[inline(never)]
fn inside<R: Real>(interval: Option<[f64; 2]>, x: R) -> R {
    let [low, high] = interval.unwrap_or([-1.3, 1.3]);
    squash(x) * ((high - low) / 2.0) + (low + high) / 2.0
}

/// `x` brought well inside the domain of the operation; a linear one takes what there is.
#[inline(never)]
fn inside_unary<R: Real>(op: Unary, x: R) -> R {
    if op.linear_in().is_empty() { inside(op.domain().inside[0], x) } else { x }
}

/// `x` and `y` brought well inside the domain of the operation; a sum takes what there is.
#[inline(never)]
fn inside_binary<R: Real>(op: Binary, x: R, y: R) -> (R, R) {
    let [of_x, of_y] = op.domain().inside;
    if op.linear_in() == [[0, 1]] { (x, y) } else { (inside(of_x, x), inside(of_y, y)) }
}

// ---- strategies ---------------------------------------------------------------------------------

fn number() -> impl Strategy<Value = f64> {
    -2.0..2.0
}

fn point() -> impl Strategy<Value = [f64; INPUTS]> {
    [number(), number(), number()]
}

fn operation() -> impl Strategy<Value = Unary> {
    prop_oneof![
        8 => proptest::sample::select(Unary::ALL),
        1 => (-3..6).prop_map(Unary::Powi),
        1 => (0u32..4).prop_map(Unary::Sinc),
    ]
}

fn condition() -> impl Strategy<Value = Condition> {
    let place = || any::<usize>();
    let compare = || proptest::sample::select(Compare::ALL);
    let simple = prop_oneof![
        (compare(), place(), place()).prop_map(|(op, a, b)| Condition::One(op, a, b)),
        (compare(), place(), number()).prop_map(|(op, a, c)| Condition::Constant(op, a, c)),
    ];
    simple.prop_recursive(2, 4, 2, |inner| {
        prop_oneof![
            inner.clone().prop_map(|a| Condition::Not(Box::new(a))),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| Condition::And(Box::new(a), Box::new(b))),
            (inner.clone(), inner).prop_map(|(a, b)| Condition::Or(Box::new(a), Box::new(b))),
        ]
    })
}

fn step() -> impl Strategy<Value = Step> {
    let place = || any::<usize>();
    let binary = || proptest::sample::select(Binary::ALL);
    prop_oneof![
        1 => number().prop_map(Step::Constant),
        6 => (operation(), place()).prop_map(|(op, a)| Step::Unary(op, a)),
        6 => (binary(), place(), place()).prop_map(|(op, a, b)| Step::Both(op, a, b)),
        2 => (binary(), place(), number()).prop_map(|(op, a, c)| Step::Right(op, a, c)),
        2 => (binary(), number(), place()).prop_map(|(op, c, b)| Step::Left(op, c, b)),
        2 => (condition(), place(), place()).prop_map(|(c, a, b)| Step::Select(c, a, b)),
        1 => (condition(), place(), place()).prop_map(|(c, a, b)| Step::Branch(c, a, b)),
    ]
}

fn program(longest: usize) -> impl Strategy<Value = Program> {
    proptest::collection::vec(step(), 1..longest).prop_map(Program)
}

/// The same cases in every run, unless `PROPTEST_RNG_SEED` says otherwise; `PROPTEST_CASES` of
/// them, 256 unless said.
fn config() -> ProptestConfig {
    let from_environment = ProptestConfig::default();
    let rng_seed = match from_environment.rng_seed {
        RngSeed::Random => RngSeed::Fixed(0x5eed),
        fixed => fixed,
    };
    ProptestConfig { rng_seed, failure_persistence: None, ..from_environment }
}

// ---- the laws -----------------------------------------------------------------------------------

/// The derivative of a program in a direction.
struct Slope<'a>(&'a Program, [f64; INPUTS]);

impl Generic<INPUTS> for Slope<'_> {
    fn call<R: Real>(&self, x: [R; INPUTS]) -> R {
        self.0.call(std::array::from_fn(|k| Dual::new(x[k], R::constant(self.1[k])))).tangent()
    }
}

/// One of the results of a program.
struct Result<'a>(&'a Program, usize);

impl Generic<INPUTS> for Result<'_> {
    fn call<R: Real>(&self, x: [R; INPUTS]) -> R {
        self.0.results(x)[self.1]
    }
}

proptest! {
    #![proptest_config(config())]

    /// Tape, duals, Taylor series, lanes, recordings made elsewhere, nested drivers.
    #[test]
    fn every_carrier_and_driver_agrees(program in program(24), x in point(), elsewhere in point()) {
        prop_assert!(program.call(x).is_finite());
        if let Err(error) = check_carriers(x, elsewhere, &program) {
            prop_assert!(false, "{error}");
        }
    }

    #[test]
    fn so_do_they_on_the_derivative(
        program in program(12), x in point(), elsewhere in point(), direction in point(),
    ) {
        if let Err(error) = check_carriers(x, elsewhere, &Slope(&program, direction)) {
            prop_assert!(false, "{error}");
        }
    }

    /// `∂²f/∂x_i∂x_j` in both orders, through every way to a Hessian.
    #[test]
    fn second_derivatives_are_symmetric(program in program(24), x in point(), elsewhere in point()) {
        let bounds = rounding_errors(x, &program).hessian.expect("it has one");
        for through in everywhere(x, elsewhere, &program) {
            let Some(h) = through.hessian else { continue };
            for i in 0..INPUTS {
                for j in 0..i {
                    let bound = 4.0 * through.unit * (bounds[i][j] + bounds[j][i]);
                    let off = (h[i][j] - h[j][i]).abs();
                    prop_assert!(off <= bound, "{}: {h:?}, allowed {bound:e}", through.carrier);
                }
            }
        }
    }

    /// A Jacobian with several rows: by duals, by pullbacks, by the drivers, by a recording.
    #[test]
    fn jacobians_agree_column_by_column_and_row_by_row(
        program in program(24), x in point(), elsewhere in point(), rows in 1usize..12,
    ) {
        let last = |results: Vec<Var>| results.into_iter().rev().take(rows).collect::<Vec<_>>();
        let count = program.0.len() + INPUTS;
        let rows = rows.min(count);
        let f = |x: [Var; INPUTS]| last(program.results(x));
        let matrix = jacobian(x, f);
        prop_assert_eq!(matrix.len(), rows);
        let columns: [Vec<f64>; INPUTS] = std::array::from_fn(|k| {
            let dual = |j: usize| if j == k { Dual::variable(x[j]) } else { Dual::lift(x[j]) };
            program.results(std::array::from_fn(dual)).into_iter().rev().take(rows).map(Dual::tangent).collect()
        });
        let (y, pullback) = vjp(x, f);
        let replayed = record(elsewhere, f).jacobian(x);
        for (i, row) in matrix.iter().enumerate() {
            let result = Result(&program, count - 1 - i);
            prop_assert_eq!(y[i], result.call(x));
            let bounds = rounding_errors(x, &result).gradient.expect("it has one");
            let unit: Vec<f64> = (0..rows).map(|k| if k == i { 1.0 } else { 0.0 }).collect();
            let pulled = pullback.pull(unit);
            for k in 0..INPUTS {
                for other in [columns[k][i], pulled[k], replayed[i][k]] {
                    let off = (row[k] - other).abs();
                    prop_assert!(off <= 4.0 * bounds[k], "row {i}, column {k}: {} and {other}", row[k]);
                }
            }
        }
    }

    /// The tape lifted into a Program: the same value and derivatives, within what roundings may do; the engine has vector
    /// functions of its own.
    #[test]
    fn the_lifted_tape_is_the_tape(program in program(24), x in point(), direction in point()) {
        let f = |x: [Var; INPUTS]| program.call(x);
        let lifted = |x: [Var; INPUTS]| Tensor::from(f(x)).to_var();
        let (value, gradient) = value_and_grad(x, lifted);
        let bounds = rounding_errors(x, &program);
        let plain = program.call(x);
        let same = value == plain || (value.is_nan() && plain.is_nan()) || (value - plain).abs() <= 4.0 * bounds.value;
        prop_assert!(same, "value {value} and {plain}, allowed {:e}", 4.0 * bounds.value);
        let by_tape = grad(x, f);
        let by_tangent = jvp(x, direction, lifted).1;
        let tangent = jvp(x, direction, f).1;
        let mut allowed = 0.0;
        for k in 0..INPUTS {
            let bound = 4.0 * bounds.gradient.expect("it has one")[k];
            allowed += bound * direction[k].abs();
            let off = (gradient[k] - by_tape[k]).abs();
            prop_assert!(off <= bound, "gradient {gradient:?} and {by_tape:?}, allowed {bound:e}");
        }
        let allowed = allowed + 4.0 * f64::EPSILON * tangent.abs();
        prop_assert!((by_tangent - tangent).abs() <= allowed, "{by_tangent} and {tangent}, allowed {allowed:e}");
        let rows = bounds.hessian.expect("it has one");
        for (i, (lifted, tape)) in hessian(x, lifted).into_iter().zip(hessian(x, f)).enumerate() {
            for k in 0..INPUTS {
                let bound = 4.0 * (rows[i][k] + rows[k][i]);
                prop_assert!((lifted[k] - tape[k]).abs() <= bound, "Hessian {lifted:?} and {tape:?}, allowed {bound:e}");
            }
        }
    }

    /// A recording asked at many points at once, where selections come out differently.
    #[test]
    fn many_points_at_once_are_the_points_one_by_one(
        program in program(24), at in point(), points in proptest::collection::vec(point(), 1..20),
    ) {
        let f = record(at, |x| program.call(x));
        let together = f.value_and_grad_many(&points);
        prop_assert_eq!(f.grad_many(&points), together.iter().map(|(_, g)| *g).collect::<Vec<_>>());
        prop_assert_eq!(f.value_many(&points), together.iter().map(|(v, _)| *v).collect::<Vec<_>>());
        for (&x, (value, gradient)) in points.iter().zip(together) {
            let bounds = rounding_errors(x, &program);
            let alone = f.value_and_grad(x);
            let bound = 4.0 * bounds.value;
            prop_assert!((alone.0 - value).abs() <= bound, "{} and {value}, allowed {bound:e}", alone.0);
            for k in 0..INPUTS {
                let bound = 4.0 * bounds.gradient.expect("it has one")[k];
                let off = (alone.1[k] - gradient[k]).abs();
                prop_assert!(off <= bound, "{:?} and {gradient:?}, allowed {bound:e}", alone.1);
            }
        }
        prop_assert_eq!(f.recordings(), 1, "selections are not guards");
    }
}

/// The random programs contain every operation.
#[test]
fn the_programs_reach_every_operation() {
    use proptest::strategy::ValueTree;
    let mut runner = proptest::test_runner::TestRunner::new(config());
    let mut seen = std::collections::HashSet::new();
    let mut known = 0;
    for _ in 0..400 {
        let program = program(24).new_tree(&mut runner).expect("no filters").current();
        for step in &program.0 {
            match step {
                Step::Unary(op, _) => seen.insert(op.name()),
                Step::Both(op, ..) | Step::Right(op, ..) | Step::Left(op, ..) => seen.insert(op.name()),
                Step::Select(condition, ..) | Step::Branch(condition, ..) => {
                    let values = [0.3, -0.2, 1.1];
                    known += usize::from(condition.mask(&values).known() == Some(true));
                    continue;
                }
                Step::Constant(_) => continue,
            };
        }
    }
    assert_eq!(seen.len(), Unary::ALL.len() + Binary::ALL.len());
    assert!(known > 100, "{known}");
}

/// The bounds that the laws compare with are narrow: an error in the seventh digit would be seen.
#[test]
fn the_bounds_are_narrow() {
    use proptest::strategy::ValueTree;
    let mut runner = proptest::test_runner::TestRunner::new(config());
    for _ in 0..400 {
        let (program, x) = (program(24), point()).new_tree(&mut runner).expect("no filters").current();
        let dual = everywhere(x, x, &program).into_iter().find(|through| through.hessian.is_some()).expect("one");
        let bounds = rounding_errors(x, &program);
        let numbers = dual.hessian.into_iter().flatten().chain(dual.gradient).flatten();
        let allowed = bounds.hessian.into_iter().flatten().chain(bounds.gradient).flatten();
        for (number, bound) in numbers.zip(allowed) {
            assert!(4.0 * bound <= 1e-7 * number.abs().max(1.0), "{number}, allowed {bound:e}: {program:?}");
        }
    }
}
