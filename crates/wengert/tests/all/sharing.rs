//! What drivers share: buffers in several shapes, captures, Programs that were derived before, recordings, branches.
//!
//! Random functions of arrays call drivers inside drivers, all through the same few lines of this file, so that what one of
//! them recorded is found by the next: with other leaves, other captures, other shapes of the same numbers. The measure is
//! the same function over scalars, where nothing is shared: a list of numbers in a `Vec`, one variable each.

use std::panic::{AssertUnwindSafe, catch_unwind};

use wengert::prelude::*;
use wengert::profile::collect;
use wengert::{compile, hvp, jvp, to_program};

use crate::support::nightly::seeds;
use crate::support::process::alone;

/// Elements of every array.
const COUNT: usize = 6;
/// The shapes in which they are looked at.
const SHAPES: [&[isize]; 4] = [&[6], &[2, 3], &[3, 2], &[1, 6, 1]];
/// How many functions of two arrays there are.
const HELPERS: usize = 4;

/// A function of the arrays of its surroundings.
#[derive(Clone, Debug)]
enum Node {
    /// A leaf of one of the drivers around, outermost first.
    Leaf(usize),
    /// Times a buffer, in one of its shapes.
    With(Box<Node>, usize, usize),
    Sine(Box<Node>),
    Plus(Box<Node>, Box<Node>),
    /// A driver of a helper of two arrays: which one, and which of them are leaves.
    Help(usize, Split, Box<Node>, Box<Node>),
    /// The gradient, at the first array, of the sum of the second one, which has a leaf more.
    Inner(Box<Node>, Box<Node>),
    /// One of two branches, by the sum of the array; both have captured data and a leaf of a driver around.
    Branch(Box<Node>, usize, usize),
    /// Times the slopes of a recorded scalar function at many points.
    Many(Box<Node>, u32),
}

/// How a helper is differentiated.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Split {
    First,
    Second,
    Both,
    Forward,
    Twice,
    Value,
}

const SPLITS: [Split; 6] = [Split::First, Split::Second, Split::Both, Split::Forward, Split::Twice, Split::Value];

/// SplitMix64 (Steele, Lea, Flood, 2014).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }

    fn number(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }

    /// A function with this many leaves around it.
    fn node(&mut self, leaves: usize, depth: usize) -> Node {
        if depth == 0 {
            return Node::Leaf(self.below(leaves));
        }
        let one = |random: &mut Self| Box::new(random.node(leaves, depth - 1));
        match self.below(10) {
            0 => Node::Leaf(leaves - 1),
            1 => Node::Sine(one(self)),
            2 => Node::Plus(one(self), one(self)),
            3 | 4 => Node::With(one(self), self.below(BUFFERS), self.below(SHAPES.len())),
            5 | 6 => Node::Help(self.below(HELPERS), SPLITS[self.below(SPLITS.len())], one(self), one(self)),
            7 => Node::Inner(one(self), Box::new(self.node(leaves + 1, depth - 1))),
            8 => Node::Branch(one(self), self.below(BUFFERS), self.below(SHAPES.len())),
            _ => Node::Many(one(self), self.below(3) as u32),
        }
    }
}

const BUFFERS: usize = 2;

/// Numbers, and arrays of them that share their memory where the library lets them.
struct Buffers {
    numbers: Vec<Vec<f64>>,
    arrays: Vec<Vec<Tensor>>,
}

impl Buffers {
    fn random(random: &mut Random) -> Buffers {
        let numbers: Vec<Vec<f64>> = (0..BUFFERS).map(|_| (0..COUNT).map(|_| random.number()).collect()).collect();
        let shapes = |numbers: &Vec<f64>| {
            let whole = Tensor::from_vec(&[COUNT], numbers.clone());
            SHAPES.iter().map(|shape| whole.reshape(shape)).collect()
        };
        Buffers { arrays: numbers.iter().map(shapes).collect(), numbers }
    }
}

/// The functions that drivers are asked for. Their lines are the same for every caller, whatever is a leaf there.
fn helper(kind: usize, a: &Tensor, b: &Tensor) -> Tensor {
    let (a, b) = (a.flatten(), b.flatten());
    match kind {
        0 => (&a * &b).sin().sum(),
        1 => a.reshape(&[2, 3]).matmul(&b.reshape(&[3, 2])).tanh().sum(),
        2 => (&a * &a * &b).sum() + b.cos().sum() * 0.5,
        _ => (a.reshape(&[3, 2]) * b.reshape(&[2, 3]).t()).square().sum(),
    }
}

fn plain_helper(kind: usize, a: &[Var], b: &[Var]) -> Var {
    let pairs = || a.iter().zip(b);
    match kind {
        0 => pairs().map(|(&a, &b)| (a * b).sin()).sum(),
        1 => (0..4).map(|k| (0..3).map(|j| a[k / 2 * 3 + j] * b[j * 2 + k % 2]).sum::<Var>().tanh()).sum(),
        2 => pairs().map(|(&a, &b)| a * a * b + b.cos() * 0.5).sum(),
        _ => (0..COUNT).map(|k| (a[k] * b[k % 2 * 3 + k / 2]).powi(2)).sum(),
    }
}

/// The scalar function that is recorded, and its slope.
fn wave(x: Var, order: u32) -> Var {
    (x * f64::from(order + 1)).sin()
}

fn slopes(order: u32) -> Vec<f64> {
    let points: Vec<f64> = (0..COUNT).map(|k| 0.2 * k as f64).collect();
    record(0.3, |x| wave(x, order)).grad_many(&points)
}

/// The function over arrays.
fn eval(node: &Node, leaves: &[Tensor], data: &Buffers) -> Tensor {
    match node {
        Node::Leaf(k) => leaves[*k].clone(),
        Node::With(x, k, shape) => {
            let x = eval(x, leaves, data).reshape(SHAPES[*shape]);
            (x * &data.arrays[*k][*shape]).flatten()
        }
        Node::Sine(x) => eval(x, leaves, data).sin(),
        Node::Plus(x, y) => eval(x, leaves, data) + eval(y, leaves, data),
        Node::Help(kind, split, a, b) => {
            let (a, b) = (eval(a, leaves, data), eval(b, leaves, data));
            match split {
                Split::First => grad(&a, |a| helper(*kind, &a, &b)),
                Split::Second => grad(&b, |b| helper(*kind, &a, &b)),
                Split::Both => {
                    let (of_a, of_b) = grad((&a, &b), |(a, b)| helper(*kind, &a, &b));
                    of_a + of_b * 2.0
                }
                Split::Forward => {
                    let slope = jvp(&a, &b, |a| helper(*kind, &a, &b)).1;
                    slope * a
                }
                Split::Twice => hvp(&a, &b, |a| helper(*kind, &a, &b)),
                Split::Value => helper(*kind, &a, &b) * b,
            }
        }
        Node::Inner(point, body) => {
            let point = eval(point, leaves, data);
            grad(&point, |y| eval(body, &[leaves, &[y]].concat(), data).sum())
        }
        Node::Branch(x, k, shape) => {
            let x = eval(x, leaves, data);
            let (outer, captured) = (&leaves[0], &data.arrays[*k][*shape]);
            cond(
                &x.sum().gt(0.25),
                &x,
                |x| (x.reshape(SHAPES[*shape]) * (captured * 2.0)).flatten() + outer,
                |x| x.sin() * (captured.flatten() - outer),
            )
        }
        Node::Many(x, order) => eval(x, leaves, data) * Tensor::from_vec(&[COUNT], slopes(*order)),
    }
}

/// The same over numbers.
fn plain(node: &Node, leaves: &[Vec<Var>], data: &Buffers) -> Vec<Var> {
    let both = |x: Vec<Var>, y: &[Var], f: fn(Var, Var) -> Var| -> Vec<Var> {
        x.into_iter().zip(y).map(|(x, &y)| f(x, y)).collect()
    };
    let numbers = |k: usize| -> Vec<Var> { data.numbers[k].iter().map(|&x| lift(x)).collect() };
    match node {
        Node::Leaf(k) => leaves[*k].clone(),
        Node::With(x, k, _) => both(plain(x, leaves, data), &numbers(*k), |x, y| x * y),
        Node::Sine(x) => plain(x, leaves, data).into_iter().map(Var::sin).collect(),
        Node::Plus(x, y) => both(plain(x, leaves, data), &plain(y, leaves, data), |x, y| x + y),
        Node::Help(kind, split, a, b) => {
            let (a, b) = (plain(a, leaves, data), plain(b, leaves, data));
            match split {
                Split::First => grad(a, |a| plain_helper(*kind, &a, &b)),
                Split::Second => grad(b, |b| plain_helper(*kind, &a, &b)),
                Split::Both => {
                    let (of_a, of_b) = grad((a, b), |(a, b)| plain_helper(*kind, &a, &b));
                    both(of_a, &of_b, |x, y| x + y * 2.0)
                }
                Split::Forward => {
                    let slope = jvp(a.clone(), b.clone(), |a| plain_helper(*kind, &a, &b)).1;
                    a.into_iter().map(|a| slope * a).collect()
                }
                Split::Twice => hvp(a, b.clone(), |a| plain_helper(*kind, &a, &b)),
                Split::Value => {
                    let value = plain_helper(*kind, &a, &b);
                    b.into_iter().map(|b| value * b).collect()
                }
            }
        }
        Node::Inner(point, body) => {
            let point = plain(point, leaves, data);
            grad(point, |y| plain(body, &[leaves, &[y]].concat(), data).into_iter().sum::<Var>())
        }
        Node::Branch(x, k, _) => {
            let x = plain(x, leaves, data);
            let (outer, captured) = (&leaves[0], numbers(*k));
            match x.iter().copied().sum::<Var>() > 0.25 {
                true => both(both(x, &captured, |x, y| x * y * 2.0), outer, |x, y| x + y),
                false => {
                    let factors = both(captured, outer, |x, y| x - y);
                    both(x.into_iter().map(Var::sin).collect(), &factors, |x, y| x * y)
                }
            }
        }
        Node::Many(x, order) => {
            let x = plain(x, leaves, data);
            let slope = |k: usize| {
                let factor = f64::from(order + 1);
                factor * (factor * 0.2 * k as f64).cos()
            };
            x.into_iter().enumerate().map(|(k, x)| x * slope(k)).collect()
        }
    }
}

/// The outermost drivers: over arrays and over numbers.
fn outer(driver: usize, node: &Node, x: &Tensor, data: &Buffers) -> Vec<f64> {
    let loss = |x: Tensor| eval(node, &[x], data).sum();
    match driver {
        0 => grad(x, loss).to_vec(),
        1 => {
            let (value, gradient) = value_and_grad(x, loss);
            [vec![value.item()], gradient.to_vec()].concat()
        }
        2 => jvp(x, &data.arrays[0][0], loss).1.to_vec(),
        _ => hvp(x, &data.arrays[0][0], loss).to_vec(),
    }
}

fn plain_outer(driver: usize, node: &Node, x: &[f64], data: &Buffers) -> Vec<f64> {
    let loss = |x: Vec<Var>| plain(node, &[x], data).into_iter().sum::<Var>();
    match driver {
        0 => grad(x.to_vec(), loss),
        1 => {
            let (value, gradient) = value_and_grad(x.to_vec(), loss);
            [vec![value], gradient].concat()
        }
        2 => vec![jvp(x.to_vec(), data.numbers[0].clone(), loss).1],
        _ => hvp(x.to_vec(), data.numbers[0].clone(), loss),
    }
}

/// Compares a few derivatives with those of numbers; says how many, which are all but those whose rounding has grown with them:
/// a sine of a large number keeps none of its last digits.
fn check(seed: u64) -> Result<usize, String> {
    let mut random = Random(seed);
    let node = random.node(1, 1 + seed as usize % 4);
    let data = Buffers::random(&mut random);
    let mut compared = 0;
    for round in 0..3 {
        // The point may be what is captured too.
        let k = random.below(BUFFERS);
        let x =
            if round == 1 { data.arrays[k][0].clone() } else { Tensor::from_vec(&[COUNT], data.numbers[k].clone()) };
        let driver = random.below(4);
        let got = outer(driver, &node, &x, &data);
        let wanted = plain_outer(driver, &node, &data.numbers[k], &data);
        let scale = wanted.iter().fold(1.0f64, |most, x| most.max(x.abs()));
        if scale > 1e12 && got.len() == wanted.len() {
            continue;
        }
        compared += 1;
        let near = got.len() == wanted.len() && got.iter().zip(&wanted).all(|(x, y)| (x - y).abs() <= 1e-9 * scale);
        if !near {
            return Err(format!("driver {driver}, round {round}: {got:?} instead of {wanted:?}"));
        }
    }
    Ok(compared)
}

#[test]
fn random_drivers_over_what_they_share_have_the_numbers_of_scalars() {
    let (seeds, mut compared) = (seeds(250, 10_000), 0);
    for seed in seeds.clone() {
        let checked = catch_unwind(AssertUnwindSafe(|| check(seed)));
        let why = match checked {
            Ok(Ok(count)) => {
                compared += count;
                continue;
            }
            Ok(Err(why)) => why,
            Err(panic) => panic.downcast_ref::<String>().cloned().unwrap_or_default(),
        };
        let node = Random(seed).node(1, 1 + seed as usize % 4);
        panic!("seed {seed}: {why}\n{node:?}");
    }
    assert!(5 * compared > 14 * seeds.count(), "only {compared} derivatives were compared");
}

#[test]
fn a_buffer_that_is_captured_in_several_shapes_is_several_captures() {
    let x = Tensor::from([1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    let (rows, columns) = (x.reshape(&[2, 3]), x.reshape(&[3, 2]));
    let w = Tensor::from([0.5, -1.0, 0.25, 2.0, 1.5, -0.75]);
    let loss = |w: Tensor| {
        (w.reshape(&[2, 3]) * &rows).sum() + (w.reshape(&[3, 2]).square() * &columns).sum() + (w * &x).sum()
    };
    let slope = |k: usize| 2.0 * x.to_vec()[k] + 2.0 * w.to_vec()[k] * x.to_vec()[k];
    assert_eq!(grad(&w, loss).to_vec(), (0..6).map(slope).collect::<Vec<f64>>());
    let (program, captures) = to_program(&w, loss);
    assert_eq!((program.input_types().len(), captures.len()), (4, 3));
    // As the two halves of a product, of which one is the other one's memory.
    let gram = grad(&w, |w| rows.matmul(&columns).sum() * w.sum());
    assert_eq!(gram.to_vec(), [rows.matmul(&columns).sum().item(); 6]);
    // The same numbers as another type are another buffer, and an array without elements has no place of its own.
    let (none, nothing) = (Tensor::zeros(&[0, 3]), Tensor::zeros(&[3, 0]));
    let empty = grad(&w, |w| w.sum() + (&none * 2.0).sum() + nothing.t().sum() + none.matmul(&nothing).sum() * w.sum());
    assert_eq!(empty.to_vec(), [1.0; 6]);
}

#[test]
fn one_helper_with_other_leaves_is_another_derivative() {
    let (a, b) = (Tensor::from([1.0, 2.0, 3.0]), Tensor::from([0.5, -1.0, 4.0]));
    let dot = |a: &Tensor, b: &Tensor| (a * b).sum();
    for _ in 0..3 {
        assert_eq!(grad(&a, |a| dot(&a, &b)).to_vec(), b.to_vec());
        let (of_a, of_b) = grad((&a, &b), |(a, b)| dot(&a, &b));
        assert_eq!((of_a.to_vec(), of_b.to_vec()), (b.to_vec(), a.to_vec()));
        assert_eq!(grad(&b, |b| dot(&a, &b)).to_vec(), a.to_vec());
        assert_eq!(jvp(&a, &b, |a| dot(&a, &b)).1.item(), dot(&b, &b).item());
        assert_eq!(jvp((&a, &b), (&b, &a), |(a, b)| dot(&a, &b)).1.item(), dot(&b, &b).item() + dot(&a, &a).item());
        let hessian = hessian((&a, &b), |(a, b)| dot(&a, &b));
        assert_eq!(hessian.dense().to_vec().iter().sum::<f64>(), 6.0);
        assert_eq!(wengert::hessian(&a, |a| dot(&a, &b)).to_vec(), [0.0; 9]);
    }
}

#[test]
fn a_branch_that_is_not_taken_runs_nothing_of_what_it_captured() {
    let (seven, zero) = (Tensor::from([7i64, 7]), Tensor::from([0i64, 1]));
    let quotient = || (&seven % &zero).to_f64();
    assert!(catch_unwind(AssertUnwindSafe(quotient)).is_err(), "an integer is divided by zero");
    let divided = compile(|x: Tensor| (x % &zero).to_f64());
    let x = Tensor::from([1.0, 2.0]);
    type Fails<'a> = Box<dyn Fn(&Tensor) -> Tensor + 'a>;
    let fails: [(&str, Fails<'_>); 5] = [
        ("an operation", Box::new(|_| quotient())),
        ("a choice inside", Box::new(|_| cond(&Tensor::from(true), &seven, |_| quotient(), |seven| seven.to_f64()))),
        ("a compiled function", Box::new(|_| divided.call(seven.clone()))),
        ("a mapped function", Box::new(|_| vmap(&seven, |x| (x % zero.slice(0)).to_f64()))),
        ("a driver", Box::new(|x| grad(x, |x| (x * quotient()).sum()))),
    ];
    for (name, fails) in &fails {
        let choose = |x: Tensor, limit: f64| {
            cond(&x.sum().lt(limit), &x, |x| x.square().sum(), |x| (&x * fails(&x)).sum() * &x.sum())
        };
        assert_eq!(grad(&x, |x| choose(x, 10.0)).to_vec(), [2.0, 4.0], "{name}");
        assert_eq!(hvp(&x, &x, |x| choose(x, 10.0)).to_vec(), [2.0, 4.0], "{name}");
        // Taken, it fails, with a message.
        let taken = catch_unwind(AssertUnwindSafe(|| grad(&x, |x| choose(x, 0.0)).to_vec()));
        let message = taken.expect_err(name);
        let message = message.downcast_ref::<String>().cloned().unwrap_or_default();
        assert!(message.contains("divided by zero"), "{name}: {message}");
    }
}

#[test]
fn threads_that_are_set_after_planning_are_used() {
    alone("sharing::threads_that_are_set_after_planning_are_used", || {
        let x = Tensor::linspace(0.1, 0.9, 40_000).reshape(&[200, 200]);
        let run = || grad(&x, |x| x.matmul(&x.sin()).cumsum(0).tanh().sum()).to_vec();
        let mut first: Option<Vec<f64>> = None;
        for threads in [1, 3, 2, 1, 4] {
            wengert::set_threads(threads);
            for _ in 0..2 {
                let (got, profiles) = collect(run);
                assert!(
                    !profiles.is_empty() && profiles.iter().all(|profile| profile.threads == threads),
                    "{threads} threads"
                );
                let same = |wanted: &Vec<f64>| wanted.iter().zip(&got).all(|(x, y)| x.to_bits() == y.to_bits());
                assert!(same(first.get_or_insert_with(|| got.clone())), "{threads} threads change the bits");
            }
        }
    });
}
