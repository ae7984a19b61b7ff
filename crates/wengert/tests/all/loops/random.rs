//! Random loops and branches in one another, against the same steps in Rust.

use wengert::prelude::*;
use wengert::{Scan, checkpoint, compile, cond, fori, switch, vmap, while_loop};

use super::{near, numbers, rows};
use crate::support::Random;

/// How many functions there are.
const CASES: u64 = 40;

/// Sums and products of bounded numbers, at most some thousand after one another.
const ROUNDINGS: f64 = 16384.0;

/// A function of a vector that keeps its length, and of what is captured.
#[derive(Debug)]
enum Step {
    /// `g(c, capture)` of every element, or mixed by the sum.
    Plain(usize, usize),
    /// One after the other.
    Then(Box<Step>, Box<Step>),
    /// Over the elements of a capture, forwards or backwards; the results of the steps are added, weighted by a capture.
    Scan(Box<Step>, usize, bool),
    /// This number of times.
    Fori(Box<Step>, i64),
    /// At most this number of times, as long as the sum is below.
    While(Box<Step>, i64, f64),
    /// If the sum is below.
    Cond(Box<Step>, Box<Step>, f64),
    Checkpoint(Box<Step>),
    /// One of three, by an index that the sum decides.
    Switch([Box<Step>; 3]),
    /// Of the gradient of the sum of squares.
    Gradient(Box<Step>),
}

fn random_step(random: &mut Random, depth: usize) -> Step {
    let kind = if depth == 0 { 0 } else { random.below(10) };
    let inner = |random: &mut Random| Box::new(random_step(random, depth - 1));
    match kind {
        0 => Step::Plain(random.below(6), random.below(8)),
        1 | 2 => Step::Then(inner(random), inner(random)),
        3 => Step::Scan(inner(random), random.below(8), random.below(2) == 0),
        4 => Step::Fori(inner(random), random.below(4) as i64),
        5 => Step::While(inner(random), 1 + random.below(3) as i64, random.direction() * 2.0),
        6 => Step::Cond(inner(random), inner(random), random.direction()),
        7 => Step::Checkpoint(inner(random)),
        8 => Step::Switch([inner(random), inner(random), inner(random)]),
        _ if depth == 1 => Step::Gradient(inner(random)),
        _ => Step::Then(inner(random), inner(random)),
    }
}

/// A function in both forms.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Form {
    Loops,
    Unrolled,
}

impl Step {
    fn run(&self, c: Tensor, captures: &[&Tensor], form: Form) -> Tensor {
        let captured = |k: usize| captures[k % captures.len()];
        match self {
            Step::Plain(function, capture) => plain(*function, &c, captured(*capture)),
            Step::Then(one, other) => other.run(one.run(c, captures, form), captures, form),
            Step::Scan(step, capture, reverse) => step.scanned(c, captured(*capture), *reverse, captures, form),
            Step::Fori(step, count) => step.counted(c, *count, captures, form),
            Step::While(step, count, limit) => step.asked(c, *count, *limit, captures, form),
            Step::Cond(yes, no, limit) => {
                let below = c.sum().lt(*limit);
                let [yes, no] = [yes, no].map(|step| move |x: Tensor| step.run(x, captures, form));
                match form {
                    Form::Loops => cond(&below, &c, yes, no),
                    Form::Unrolled => {
                        if below.test() {
                            yes(c)
                        } else {
                            no(c)
                        }
                    }
                }
            }
            Step::Switch(steps) => {
                let place = (c.sum().sin() * 1.5 + 1.5).to_i64();
                let [zero, one, two] = steps.each_ref().map(|step| move |x: Tensor| step.run(x, captures, form));
                match form {
                    Form::Loops => switch(&place, &c, &[&zero, &one, &two]),
                    Form::Unrolled => match place.detach().to_vec()[0] as i64 {
                        0 => zero(c),
                        1 => one(c),
                        _ => two(c),
                    },
                }
            }
            Step::Checkpoint(step) if form == Form::Loops => checkpoint(&c, |c| step.run(c, captures, form)),
            Step::Checkpoint(step) => step.run(c, captures, form),
            Step::Gradient(step) => grad(&c, |c| step.run(c, captures, form).square().sum()).tanh(),
        }
    }

    /// Over the elements of an array; what is given by the steps is added at the end.
    fn scanned(&self, c: Tensor, xs: &Tensor, reverse: bool, captures: &[&Tensor], form: Form) -> Tensor {
        let step = |c: Tensor, x: Tensor| {
            let before = &c * &x;
            let c = self.run((&c + &x).tanh(), &[captures, &[&before]].concat(), form);
            (c.clone(), before.sin() + c)
        };
        let (last, given) = match form {
            Form::Loops => {
                let scan = if reverse { Scan::new().reverse() } else { Scan::new() };
                scan.run(&c, xs, step)
            }
            Form::Unrolled => {
                let mut places: Vec<usize> = (0..xs.size()).collect();
                if reverse {
                    places.reverse();
                }
                let (mut c, mut given) = (c, vec![Tensor::from(0.0); xs.size()]);
                for k in places {
                    (c, given[k]) = step(c, xs.slice(k as isize));
                }
                (c, Tensor::stack(&given.iter().collect::<Vec<_>>(), 0))
            }
        };
        last + (given * xs.expand_dims(1)).mean_over(0)
    }

    fn counted(&self, c: Tensor, count: i64, captures: &[&Tensor], form: Form) -> Tensor {
        let step = |i: Tensor, c: Tensor| {
            let own = (&c * i.to_f64()).sin();
            self.run(c, &[captures, &[&own]].concat(), form)
        };
        match form {
            Form::Loops => fori(0..count, c, step),
            Form::Unrolled => (0..count).fold(c, |c, i| step(Tensor::from(i), c)),
        }
    }

    fn asked(&self, c: Tensor, count: i64, limit: f64, captures: &[&Tensor], form: Form) -> Tensor {
        let step = |c: Tensor| {
            let own = c.cos();
            self.run(c, &[captures, &[&own]].concat(), form)
        };
        match form {
            Form::Loops => {
                let goes_on = |(c, n): (Tensor, Tensor)| n.lt(count).and(c.sum().lt(limit));
                while_loop((c, Tensor::from(0i64)), goes_on, |(c, n)| (step(c), n + 1)).0
            }
            Form::Unrolled => {
                let (mut c, mut n) = (c, 0);
                while n < count && c.sum().lt(limit).test() {
                    (c, n) = (step(c), n + 1);
                }
                c
            }
        }
    }
}

/// Bounded functions with bounded derivatives; the first one has a choice for every element.
fn plain(function: usize, c: &Tensor, capture: &Tensor) -> Tensor {
    match function {
        0 => c.gt(capture).where_(c.sin() * capture, c * 0.5 + capture.tanh()),
        1 => (c * capture).sin(),
        2 => c.tanh() + capture * 0.3,
        3 => c * 0.5 + c.sum().cos() * capture,
        4 => (c.square() + 1.0).sqrt() * 0.5 - capture.sin(),
        _ => c - (c - capture).tanh() * 0.7,
    }
}

#[track_caller]
fn check(seed: u64) {
    let step = random_step(&mut Random::new(seed), 3);
    let f = |x: &Tensor, form: Form| {
        let scale = x.square() + 0.1;
        (step.run(x.sin(), &[x, &scale], form) * x.cos()).sum()
    };
    let (looped, unrolled) = (|x: Tensor| f(&x, Form::Loops), |x: Tensor| f(&x, Form::Unrolled));
    let what = |name: &str| format!("case {seed}, {name}: {step:?}");
    let points = [0, 1, 2].map(|k| numbers(2 + 7 * k + seed as usize, 2) * 1.5);
    let (x, v) = (&points[0], &points[1]);
    // Derivatives that cancel or vanish are compared beside one of size one.
    let near = |name: &str, got: Tensor, want: Tensor| {
        let beside = |y: Tensor| Tensor::concat(&[&y.flatten(), &Tensor::ones(&[1])], 0);
        near(&what(name), &beside(got), &beside(want), ROUNDINGS);
    };
    near("value", looped(x.clone()), unrolled(x.clone()));
    near("jvp", jvp(x, v, looped).1, jvp(x, v, unrolled).1);
    near("gradient", grad(x, looped), grad(x, unrolled));
    let want = hessian(x, unrolled);
    near("hessian", hessian(x, looped), want.clone());
    near("jvp of gradient", jvp(x, v, |x| grad(x, looped)).1, want.matmul(v));
    near("gradient of gradient", grad(x, |x| grad(x, looped).dot(v)), want.matmul(v));
    near("gradient of jvp", grad(x, |x| jvp(x, v, looped).1), want.matmul(v));
    near("compiled", compile(|x: Tensor| grad(x, looped)).call(x), grad(x, unrolled));
    let all = &Tensor::stack(&points.each_ref(), 0);
    let each = |g: &dyn Fn(&Tensor) -> Tensor| {
        let results: Vec<Tensor> = rows(all).iter().map(g).collect();
        Tensor::stack(&results.iter().collect::<Vec<_>>(), 0)
    };
    near("examples", vmap(all, looped), each(&|x| unrolled(x.clone())));
    near("gradients of examples", vmap(all, |x| grad(x, looped)), each(&|x| grad(x, unrolled)));
    near("gradient of examples", grad(all, |all| vmap(all, looped).sum()), each(&|x| grad(x, unrolled)));
    let hessians = vmap(all, |x| hessian(x, looped));
    near("hessians of examples", hessians, each(&|x| hessian(x, unrolled)));
    let twice = grad(all, |all| grad(all, |all| vmap(all, looped).sum()).square().sum());
    let wanted = each(&|x| grad(x, |x| grad(x, unrolled).square().sum()));
    near("gradient of gradient of examples", twice, wanted);
}

#[test]
fn random_loops_are_the_same_steps() {
    let (first, last) = (std::env::var("FIRST").ok(), std::env::var("LAST").ok());
    let number = |text: Option<String>, other: u64| text.and_then(|text| text.parse().ok()).unwrap_or(other);
    let mut bad = Vec::new();
    for seed in number(first, 0)..number(last, CASES) {
        let result = std::panic::catch_unwind(|| check(seed));
        if result.is_err() {
            bad.push(seed);
        }
    }
    assert!(bad.is_empty(), "{bad:?}");
}
