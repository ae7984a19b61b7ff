//! Derivatives of orders 1 to 3 of every elementwise function where its argument is extreme: next to 0, next to the edges
//! of the domain, and as far out as numbers go, against values computed with thousands of digits.
//!
//! Derivatives of higher order are derivatives of the formulas in the rules. Where such a formula cancels, or a part of it
//! overflows, the first derivative may be right and the second one have no digit, or be NaN: `1 - x^2` near 0, `1/(1+x^2)`
//! far out. The table `extremes.txt` comes from `extremes.py`. A new operation is asked for by the test.

use std::collections::BTreeSet;

use wengert::ops::{Binary, Unary};
use wengert::prelude::*;
use wengert::{Array, Program, Taylor, Var, lift, taylor};

use super::{binary, unary};

/// How far a derivative may be off, relative to itself: some hundred roundings, of which exponentials of large arguments
/// take most (`e^(-x^2)` at 30 has an exponent of 900, whose rounding is one of 900 units).
const TOLERANCE: f64 = 2e-13;

/// The derivatives that the table has for a function at a point: `None` where it leaves one out.
struct Row {
    name: &'static str,
    point: Vec<f64>,
    derivatives: Vec<Option<f64>>,
}

/// The rows of functions of this number of arguments.
fn rows(arguments: usize) -> Vec<Row> {
    let orders = [0, 3, 9][arguments];
    let parse = |line: &'static str| {
        let words: Vec<&'static str> = line.split_whitespace().collect();
        let number = |word: &&str| word.parse().unwrap_or_else(|_| panic!("a number in {line}"));
        (words.len() == 1 + arguments + orders).then(|| Row {
            name: words[0],
            point: words[1..=arguments].iter().map(number).collect(),
            derivatives: words[1 + arguments..].iter().map(|word| (*word != "-").then(|| number(word))).collect(),
        })
    };
    include_str!("extremes.txt").lines().filter_map(parse).collect()
}

impl Row {
    /// How far derivative `k` may be off. Below the normal numbers there are fewer digits, and a formula may lose the number
    /// altogether. One that is 0 because its terms cancel, as that of `atan2(x, x)` in both, is as accurate as the others of
    /// its order.
    fn bound(&self, k: usize, wanted: f64, tolerance: f64) -> f64 {
        if wanted.is_infinite() {
            return 0.0;
        }
        let same_order = match (self.derivatives.len(), k) {
            (9, ..2) => 0..2,
            (9, ..5) => 2..5,
            (9, _) => 5..9,
            _ => k..k + 1,
        };
        let largest = self.derivatives[same_order].iter().flatten().fold(0.0, |m: f64, x| m.max(x.abs()));
        let size = if wanted == 0.0 && largest.is_finite() { 1e-3 * largest } else { wanted.abs() };
        tolerance * size + 1e-306
    }
}

/// What was found wrong.
#[derive(Default)]
struct Misses(Vec<String>);

impl Misses {
    fn compare(&mut self, row: &Row, k: usize, way: &str, got: f64, tolerance: f64) {
        let Some(wanted) = row.derivatives[k] else { return };
        let near = got == wanted || (got - wanted).abs() <= row.bound(k, wanted, tolerance); // Not for NaN.
        if !near {
            let error = (got - wanted).abs() / wanted.abs();
            self.0.push(format!(
                "{} at {:?}, derivative {k}, {way}: {got:e} instead of {wanted:e} ({error:.1e})",
                row.name, row.point
            ));
        }
    }

    #[track_caller]
    fn none(self) {
        assert!(self.0.is_empty(), "{} wrong:\n{}", self.0.len(), self.0.join("\n"));
    }
}

/// The equation of an operation in a Program's text.
fn text_of(op: Unary) -> String {
    let name = op.name();
    op.number().map_or(name.to_owned(), |n| format!("{name}[n={n}]"))
}

/// The derivatives of `program`, whose inputs are as long as `points`, along the inputs `along` one after another: by forward
/// mode throughout, and by forward mode of reverse mode; by the engine and by the definitions.
fn by_programs(program: &Program, points: &[Vec<f64>], along: &[usize]) -> Vec<(&'static str, Vec<f64>)> {
    let inputs: Vec<Array> = points.iter().map(|x| Array::new(&[x.len()], x.clone())).collect();
    let ones = Array::new(&[points[0].len()], vec![1.0; points[0].len()]);
    let marks = |count: usize, k: usize| (0..count).map(|j| j == k).collect::<Vec<bool>>();
    let further = |mut program: Program, along: &[usize]| {
        for &k in along {
            program = program.jvp(&marks(program.input_types().len(), k)).expect("it has a tangent");
        }
        program
    };
    let forward = further(program.clone(), along);
    let reverse = program.vjp(&marks(points.len(), along[0])).expect("it has a cotangent");
    let reverse = further(reverse, &along[1..]);
    let mut found = Vec::new();
    for (names, program) in [(["engine", "reference"], forward), (["engine, reverse", "reference, reverse"], reverse)] {
        let mut args = inputs.clone();
        args.resize(program.input_types().len(), ones.clone());
        let last = |results: Vec<Array>| results.last().expect("the tangent").to_f64();
        found.push((names[0], last(program.compile().expect("a plan").run(&args).expect("it runs"))));
        found.push((names[1], last(program.run_reference(&args).expect("it runs"))));
    }
    found
}

fn nested(order: usize, x: Var, f: &impl Fn(Var) -> Var) -> Var {
    if order == 0 { f(x) } else { grad(x, |x| nested(order - 1, x, f)) }
}

/// The documented accuracy of functions that are not as accurate as [`TOLERANCE`].
fn tolerance(name: &str) -> f64 {
    match name {
        // Sums of hundreds of terms; polygamma of order 5 at 0.5 is 11 roundings by its own words.
        "lgamma" | "digamma" | "polygamma" => 1e-14,
        _ => TOLERANCE,
    }
}

#[test]
fn functions_of_one_argument() {
    let rows = rows(1);
    let mut misses = Misses::default();
    let named: BTreeSet<&str> = rows.iter().map(|row| row.name).collect();
    for &op in Unary::ALL {
        assert!(named.contains(op.name()), "{} is not in extremes.py", op.name());
        let own: Vec<&Row> = rows.iter().filter(|row| row.name == op.name()).collect();
        let allowed = tolerance(op.name());
        for row in &own {
            let x = row.point[0];
            let triple = unary(op, Dual::variable(Dual::variable(Dual::variable(x))));
            let by_duals =
                [triple.tangent().re().re(), triple.tangent().tangent().re(), triple.tangent().tangent().tangent()];
            let series = unary(op, Taylor::<4>::variable(x));
            let recorded = taylor(x, 1.0, 3, |x| unary(op, x));
            for k in 0..3 {
                misses.compare(row, k, "Dual", by_duals[k], allowed);
                misses.compare(row, k, "Taylor", series.derivative(k + 1), allowed);
                misses.compare(row, k, "taylor", recorded[k + 1] * [1.0, 2.0, 6.0][k], allowed);
                let backward = nested(k + 1, lift(x), &|x| unary(op, x)).value();
                misses.compare(row, k, "grad of grad", backward, allowed);
            }
        }
        let points: Vec<f64> = own.iter().map(|row| row.point[0]).collect();
        let (n, name) = (points.len(), text_of(op));
        let program: Program =
            format!("program(v0: f64[{n}]) {{ v1: f64[{n}] = {name} v0; return v1 }}").parse().unwrap();
        for k in 0..3 {
            for (way, found) in by_programs(&program, std::slice::from_ref(&points), &vec![0; k + 1]) {
                own.iter().zip(found).for_each(|(row, got)| misses.compare(row, k, way, got, allowed));
            }
        }
    }
    misses.none();
}

/// The derivatives of a function of two arguments in the order of the table: by which arguments.
const PARTIALS: [&[usize]; 9] = [&[0], &[1], &[0, 0], &[0, 1], &[1, 1], &[0, 0, 0], &[0, 0, 1], &[0, 1, 1], &[1, 1, 1]];

fn nested_partial(along: &[usize], x: [Var; 2], f: &impl Fn([Var; 2]) -> Var) -> Var {
    match along {
        [] => f(x),
        [k, rest @ ..] => grad(x[*k], |moving| {
            let mut x = x;
            x[*k] = moving;
            nested_partial(rest, x, f)
        }),
    }
}

/// The derivative along up to three arguments: each level of the duals moves one of them.
fn partial_by_duals(op: Binary, along: &[usize], x: [f64; 2]) -> f64 {
    let by = |level: usize, k: usize| f64::from(u8::from(along.get(level) == Some(&k)));
    let moving = |k: usize| {
        let inner = Dual::seed(x[k], usize::from(by(0, k) == 0.0));
        let middle: Dual<Dual> = if by(1, k) == 1.0 { Dual::variable(inner) } else { Dual::lift(inner) };
        if by(2, k) == 1.0 { Dual::variable(middle) } else { Dual::lift(middle) }
    };
    let z: Dual<Dual<Dual>> = binary(op, moving(0), moving(1));
    match along.len() {
        1 => z.re().re().tangent(),
        2 => z.re().tangent().tangent(),
        _ => z.tangent().tangent().tangent(),
    }
}

#[test]
fn functions_of_two_arguments() {
    let rows = rows(2);
    let mut misses = Misses::default();
    let named: BTreeSet<&str> = rows.iter().map(|row| row.name).collect();
    // A remainder and a sign are straight lines with jumps: there is nothing to lose in their derivatives. The derivative of
    // tetragamma_drop is the fourth one of betaln.
    let left_out = [Binary::Rem, Binary::Copysign, Binary::TetragammaDrop];
    for &op in Binary::ALL.iter().filter(|op| !left_out.contains(op)) {
        assert!(named.contains(op.name()), "{} is not in extremes.py", op.name());
        let own: Vec<&Row> = rows.iter().filter(|row| row.name == op.name()).collect();
        let allowed = tolerance(op.name());
        for row in &own {
            let x = [row.point[0], row.point[1]];
            for (k, along) in PARTIALS.iter().enumerate() {
                misses.compare(row, k, "Dual", partial_by_duals(op, along, x), allowed);
                let backward = nested_partial(along, x.map(lift), &|[x, y]| binary(op, x, y)).value();
                misses.compare(row, k, "grad of grad", backward, allowed);
            }
        }
        let points: Vec<Vec<f64>> = (0..2).map(|k| own.iter().map(|row| row.point[k]).collect()).collect();
        let (n, name) = (own.len(), op.name());
        let text = format!("program(v0: f64[{n}], v1: f64[{n}]) {{ v2: f64[{n}] = {name} v0 v1; return v2 }}");
        let program: Program = text.parse().unwrap();
        for (k, along) in PARTIALS.iter().enumerate() {
            for (way, found) in by_programs(&program, &points, along) {
                own.iter().zip(found).for_each(|(row, got)| misses.compare(row, k, way, got, allowed));
            }
        }
    }
    misses.none();
}
