//! Sparse derivatives of random functions of numbers: every method against the dense matrices, and patterns against each other.

use wengert::ops::{Binary, Compare, Unary};
use wengert::prelude::*;
use wengert::sparsity::{Csr, Method, SparseOptions, SparseRecorded};

use crate::support::nightly::seeds;

/// Random numbers (Marsaglia's xorshift).
struct Random(u64);

impl Random {
    fn below(&mut self, count: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % count
    }

    fn number(&mut self) -> f64 {
        self.below(1 << 20) as f64 / f64::from(1 << 19) - 1.0
    }

    fn of<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.below(list.len())]
    }
}

/// One operation; operands are earlier results.
#[derive(Clone, Copy, Debug)]
enum Step {
    Constant(f64),
    Unary(Unary, usize),
    Both(Binary, usize, usize),
    Right(Binary, usize, f64),
    Left(Binary, f64, usize),
    Select(Compare, usize, usize, usize),
    Branch(Compare, usize, usize, usize),
    /// `a + b`, `a * b` and the like are most of what people write.
    Sum(usize, usize),
    Product(usize, usize),
}

#[derive(Clone, Debug)]
struct Function {
    inputs: usize,
    steps: Vec<Step>,
    outputs: Vec<usize>,
}

impl Function {
    fn random(random: &mut Random) -> Self {
        let inputs = 1 + random.below(9);
        let count = 1 + random.below(30);
        let steps: Vec<Step> = (0..count).map(|k| step(random, inputs + k)).collect();
        let outputs = (0..1 + random.below(5)).map(|_| random.below(inputs + count)).collect();
        Function { inputs, steps, outputs }
    }

    fn selects(&self) -> bool {
        self.steps.iter().any(|step| matches!(step, Step::Select(..)))
    }

    fn call<R: Real>(&self, x: &[R]) -> Vec<R> {
        let mut values = x.to_vec();
        for &step in &self.steps {
            let next = match step {
                Step::Constant(c) => R::constant(c),
                Step::Unary(op, a) => inside(op.domain().inside[0], values[a]).unary(op),
                Step::Both(op, a, b) => {
                    let [of_x, of_y] = op.domain().inside;
                    inside(of_x, values[a]).binary(inside(of_y, values[b]), op)
                }
                Step::Right(op, a, c) => {
                    let [of_x, of_y] = op.domain().inside;
                    inside(of_x, values[a]).binary_constant(inside(of_y, c), op)
                }
                Step::Left(op, c, b) => {
                    let [of_x, of_y] = op.domain().inside;
                    R::constant_binary(inside(of_x, c), inside(of_y, values[b]), op)
                }
                Step::Select(op, a, b, c) => R::select(values[a].compare(values[b], op), values[b], values[c]),
                Step::Branch(op, a, b, c) => match op {
                    Compare::Lt if values[a] < values[b] => values[a] * values[c],
                    _ if values[a] > values[b] => values[c],
                    _ => values[a].sin() * values[b],
                },
                Step::Sum(a, b) => values[a] + values[b],
                Step::Product(a, b) => values[a] * values[b],
            };
            values.push(next);
        }
        self.outputs.iter().map(|&output| values[output]).collect()
    }
}

fn step(random: &mut Random, before: usize) -> Step {
    let mut place = || random.below(before);
    let (a, b, c) = (place(), place(), place());
    // Some operands are the same.
    let b = if random.below(5) == 0 { a } else { b };
    match random.below(20) {
        0 => Step::Constant(random.number()),
        1..=4 => Step::Unary(random.of(Unary::ALL), a),
        5..=8 => Step::Both(random.of(Binary::ALL), a, b),
        9 => Step::Right(random.of(Binary::ALL), a, random.number()),
        10 => Step::Left(random.of(Binary::ALL), random.number(), b),
        11 | 12 => Step::Select(random.of(Compare::ALL), a, b, c),
        13 => Step::Branch(random.of(Compare::ALL), a, b, c),
        14..=16 => Step::Sum(a, b),
        _ => Step::Product(a, b),
    }
}

/// `x` brought well inside the domain of an operation, and to a moderate size.
fn inside<R: Real>(interval: Option<[f64; 2]>, x: R) -> R {
    let [low, high] = interval.unwrap_or([-1.3, 1.3]);
    x.sin() * ((high - low) / 2.0) + (low + high) / 2.0
}

fn check(what: &str, function: &Function, got: &[Vec<f64>], want: &[Vec<f64>]) {
    let largest = want.iter().flatten().filter(|x| x.is_finite()).fold(1.0, |most: f64, x| most.max(x.abs()));
    for (row, (got, want)) in got.iter().zip(want).enumerate() {
        for (col, (&got, &want)) in got.iter().zip(want).enumerate() {
            let same = got == want || (got.is_nan() && want.is_nan()) || (got - want).abs() <= 1e-13 * largest;
            assert!(same, "{what}, entry ({row}, {col}): {got} instead of {want} (largest {largest})\n{function:?}");
        }
    }
}

#[test]
fn every_method_gives_the_dense_jacobian() {
    for seed in seeds(300, 10_000) {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        let function = Function::random(&mut random);
        let points: Vec<Vec<f64>> =
            (0..9).map(|_| (0..function.inputs).map(|_| 2.0 * random.number()).collect()).collect();
        let f = record(points[0].clone(), |x| function.call(&x));
        for x in &points[..3] {
            let dense = f.jacobian(x.clone());
            let found = f.sparse_jacobian(x.clone());
            check("sparse_jacobian", &function, &found.to_dense(), &dense);
            for method in [Method::Direct, Method::Columns, Method::Rows, Method::Bidirectional, Method::Dense] {
                let prepared = SparseOptions::default().method(method).recorded_jacobian(&f, x).unwrap();
                assert_eq!((&prepared.pattern(), prepared.method()), (found.pattern(), method), "{function:?}");
                check(method_name(method), &function, &evaluated(&prepared, x).to_dense(), &dense);
            }
        }
        let prepared = SparseRecorded::jacobian(&f, &points[0]).unwrap();
        many(&prepared, &points, &function);
    }
}

#[test]
fn every_method_gives_the_dense_hessian() {
    for seed in seeds(300, 10_000) {
        let mut random = Random(seed.wrapping_mul(0xd134_2543_de82_ef95) | 1);
        let function = Function::random(&mut random);
        let points: Vec<Vec<f64>> =
            (0..9).map(|_| (0..function.inputs).map(|_| 2.0 * random.number()).collect()).collect();
        let f = record(points[0].clone(), |x| function.call(&x));
        let weights: Vec<f64> = function.outputs.iter().map(|_| random.number()).collect();
        let lagrangian = record(points[0].clone(), |x| {
            function.call(&x).iter().zip(&weights).map(|(&y, &weight)| y * weight).sum::<Var>()
        });
        for x in &points[..3] {
            let dense = lagrangian.hessian(x.clone());
            check("sparse_hessian", &function, &lagrangian.sparse_hessian(x.clone()).to_dense(), &dense);
            let found = f.sparse_hessian_of_lagrangian(x.clone(), weights[0], weights[1..].to_vec());
            check("lagrangian", &function, &found.to_dense(), &dense);
            for method in [Method::EdgePushing, Method::Columns, Method::Star, Method::Acyclic, Method::Dense] {
                let options = SparseOptions::default().method(method);
                let prepared = options.recorded_hessian_of_lagrangian(&f, x).unwrap();
                assert_eq!(prepared.method(), method);
                // The branches of a selection do not interact, which sets of inputs do not see.
                let own = prepared.pattern();
                assert!(found.pattern().entries().all(|(row, col)| own.contains(row, col)), "{function:?}");
                assert!(function.selects() || own == *found.pattern(), "{method}: {function:?}");
                let mut values = vec![0.0; prepared.pattern().nnz()];
                prepared.evaluate_lagrangian(x, weights[0], &weights[1..], &mut values).unwrap();
                let got = Csr::new(prepared.pattern(), values).unwrap();
                check(method_name(method), &function, &got.to_dense(), &dense);
            }
        }
        let prepared = SparseRecorded::hessian(&lagrangian, &points[0]).unwrap();
        many(&prepared, &points, &function);
    }
}

/// Eight points and one, together and one by one; up to the first that has another pattern.
fn many<F, O>(prepared: &SparseRecorded<'_, Vec<f64>, O, F>, points: &[Vec<f64>], function: &Function)
where
    O: Tree<Leaf = Var>,
    F: Fn(Vec<Var>) -> O,
{
    let nnz = prepared.pattern().nnz();
    let mut together = vec![0.0; nnz * points.len()];
    if prepared.evaluate_many(points, &mut together).is_err() {
        return;
    }
    for (k, x) in points.iter().enumerate() {
        let alone = |x: &Vec<f64>| {
            let mut values = vec![0.0; nnz];
            prepared.evaluate(x, &mut values).unwrap();
            values
        };
        // Functions on lanes may differ from those at one point in the last places, and a derivative from its own by what a few
        // such places of the point make of it.
        let moved: Vec<f64> = x.iter().map(|x| x * (1.0 + 4.0 * f64::EPSILON)).collect();
        let near: Vec<f64> = alone(x).iter().zip(alone(&moved)).map(|(value, moved)| (moved - value).abs()).collect();
        let mut found = together[k * nnz..(k + 1) * nnz].to_vec();
        for ((found, value), near) in found.iter_mut().zip(alone(x)).zip(near) {
            if (*found - value).abs() <= 4.0 * near {
                *found = value;
            }
        }
        check("evaluate_many", function, &[found], &[alone(x)]);
    }
}

fn evaluated<F, O>(prepared: &SparseRecorded<'_, Vec<f64>, O, F>, x: &Vec<f64>) -> Csr
where
    O: Tree<Leaf = Var>,
    F: Fn(Vec<Var>) -> O,
{
    let mut values = vec![0.0; prepared.pattern().nnz()];
    prepared.evaluate(x, &mut values).unwrap();
    Csr::new(prepared.pattern(), values).unwrap()
}

fn method_name(method: Method) -> &'static str {
    match method {
        Method::Direct => "direct",
        Method::EdgePushing => "edge pushing",
        Method::Columns => "columns",
        Method::Rows => "rows",
        Method::Bidirectional => "bidirectional",
        Method::Star => "star",
        Method::Acyclic => "acyclic",
        _ => "dense",
    }
}
