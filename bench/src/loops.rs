//! Loops: what a step costs, forwards and in the gradient, on one thread; of tensors, and of numbers on the tape.

use std::hint::black_box;
use std::time::{Duration, Instant};

use wengert::loops::{self, Loops};
use wengert::prelude::*;
use wengert::{Array, Compile, Compiled, LinearSolve, Ode, Scan, minimise, odeint, root};

/// For how long each function is called, at least.
const SPENT: Duration = Duration::from_millis(600);

/// A function of tensors and its gradient, compiled.
type Value = Compiled<Vec<Tensor>, Tensor, Box<dyn Fn(Vec<Tensor>) -> Tensor>>;
type Gradient = Compiled<Vec<Tensor>, (Tensor, Vec<Tensor>), Box<dyn Fn(Vec<Tensor>) -> (Tensor, Vec<Tensor>)>>;

/// A loop in a function of tensors, with how many steps it takes.
struct Case {
    name: &'static str,
    steps: usize,
    point: Vec<Tensor>,
    f: fn(&[Tensor], usize) -> Tensor,
}

fn numbers(shape: &[usize]) -> Tensor {
    let count: usize = shape.iter().product();
    let values = (0..count).map(|k| ((k * 37) % 97) as f64 / 97.0 - 0.5).collect::<Vec<f64>>();
    Tensor::from_array(Array::new(shape, values))
}

fn cases() -> Vec<Case> {
    let few = 100_000;
    vec![
        Case { name: "number", steps: 1_000_000, point: vec![0.7.into(), 0.3.into()], f: number },
        Case { name: "number-while", steps: 1_000_000, point: vec![0.7.into(), 0.3.into()], f: number_while },
        Case { name: "number-rows", steps: 1_000_000, point: vec![0.7.into(), numbers(&[1_000_000])], f: number_rows },
        Case { name: "oscillator", steps: few, point: vec![1.0.into(), 0.5.into(), 0.8.into()], f: oscillator },
        Case { name: "vector", steps: few, point: vec![numbers(&[64]), numbers(&[64])], f: vector },
        Case { name: "vector-while", steps: few, point: vec![numbers(&[64]), numbers(&[64])], f: vector_while },
        Case { name: "network", steps: 10_000, point: vec![numbers(&[32, 32]), numbers(&[32])], f: network },
        Case {
            name: "network-while",
            steps: 10_000,
            point: vec![numbers(&[32, 32]), numbers(&[32])],
            f: network_while,
        },
        Case { name: "truncated", steps: few, point: vec![numbers(&[64]), numbers(&[64])], f: truncated },
        Case { name: "solve-1k", steps: 1, point: vec![numbers(&[1000]), 3.0.into()], f: solve },
        Case { name: "root-64", steps: 1, point: vec![numbers(&[64]), numbers(&[64])], f: found },
        Case { name: "minimise-64", steps: 1, point: vec![numbers(&[64]), numbers(&[64])], f: lowest },
        Case { name: "ode-rk4", steps: few, point: vec![numbers(&[3]), 28.0.into()], f: lorenz },
        Case { name: "ode-adaptive", steps: 1, point: vec![numbers(&[3]), 28.0.into()], f: lorenz_adaptive },
        Case { name: "place-10k", steps: 10_000, point: vec![0.9.into()], f: in_place },
        Case { name: "place-100k", steps: few, point: vec![0.9.into()], f: in_place },
        Case { name: "place-1m", steps: 1_000_000, point: vec![0.9.into()], f: in_place },
        Case { name: "chosen-10k", steps: 10_000, point: vec![0.9.into()], f: in_place_if },
        Case { name: "chosen-1m", steps: 1_000_000, point: vec![0.9.into()], f: in_place_if },
        Case { name: "mapped-10k", steps: 10_000, point: vec![numbers(&[4]) + 1.0], f: in_place_mapped },
        Case { name: "mapped-100k", steps: few, point: vec![numbers(&[4]) + 1.0], f: in_place_mapped },
    ]
}

/// `c = 0.999 c + sin(x c)`.
fn number(at: &[Tensor], steps: usize) -> Tensor {
    fori(0..steps as i64, &at[0], |_, c| &c * 0.999 + (&at[1] * &c).sin())
}

fn number_while(at: &[Tensor], steps: usize) -> Tensor {
    let n = Tensor::from_array(Array::scalar(0i64));
    let step = |(n, c): (Tensor, Tensor)| (n + 1i64, &c * 0.999 + (&at[1] * &c).sin());
    while_loop((&n, &at[0]), |(n, _)| n.lt(steps as i64), step).1
}

/// [`number`] with another `x` in every step.
fn number_rows(at: &[Tensor], _: usize) -> Tensor {
    scan(&at[0], &at[1], |c, x| (&c * 0.999 + (&x * &c).sin(), ())).0
}

/// A damped oscillator by symplectic Euler: three numbers in, two carried.
fn oscillator(at: &[Tensor], steps: usize) -> Tensor {
    let k = &at[2];
    let (q, p) = fori(0..steps as i64, (&at[0], &at[1]), |_, (q, p)| {
        let p = &p - (q.sin() * k + &p * 0.01) * 0.001;
        (&q + &p * 0.001, p)
    });
    q + p
}

/// Elementwise over 64 numbers.
fn vector(at: &[Tensor], steps: usize) -> Tensor {
    fori(0..steps as i64, &at[0], |_, c| &c * 0.99 + (&at[1] * &c).tanh() * 0.01).sum()
}

fn vector_while(at: &[Tensor], steps: usize) -> Tensor {
    let n = Tensor::from_array(Array::scalar(0i64));
    let step = |(n, c): (Tensor, Tensor)| (n + 1i64, &c * 0.99 + (&at[1] * &c).tanh() * 0.01);
    while_loop((&n, &at[0]), |(n, _)| n.lt(steps as i64), step).1.sum()
}

/// A small recurrent network: a product and a tanh.
fn network(at: &[Tensor], steps: usize) -> Tensor {
    fori(0..steps as i64, &at[1], |_, c| at[0].matmul(&c).tanh()).sum()
}

fn network_while(at: &[Tensor], steps: usize) -> Tensor {
    let n = Tensor::from_array(Array::scalar(0i64));
    let step = |(n, c): (Tensor, Tensor)| (n + 1i64, at[0].matmul(&c).tanh());
    while_loop((&n, &at[1]), |(n, _)| n.lt(steps as i64), step).1.sum()
}

/// [`vector`], with derivatives that are cut after every 100 steps.
fn truncated(at: &[Tensor], steps: usize) -> Tensor {
    let step = |_: Tensor, c: Tensor| &c * 0.99 + (&at[1] * &c).tanh() * 0.01;
    Scan::new().truncated(100).fori(0..steps as i64, &at[0], step).sum()
}

/// A diffusion step of 1,000 numbers by conjugate gradients.
fn solve(at: &[Tensor], _: usize) -> Tensor {
    let by = LinearSolve::new().conjugate_gradients();
    by.run(&at[0], |x| &x + (&x * 2.0 - x.roll(1, 0) - x.roll(-1, 0)) * &at[1]).square().sum()
}

/// A root of 64 numbers.
fn found(at: &[Tensor], _: usize) -> Tensor {
    root(&at[0], |x| &x * 2.0 + (x.roll(1, 0) * &at[1]).sin() - &at[0]).square().sum()
}

/// A minimum over 64 numbers.
fn lowest(at: &[Tensor], _: usize) -> Tensor {
    minimise(&at[0], |x| (&x - &at[1]).square().sum() + (&x * x.roll(1, 0)).cos().sum() * 0.3).square().sum()
}

/// Lorenz's system from near the origin on.
fn lorenz_slope(y: &Tensor, r: &Tensor) -> Tensor {
    let [a, b, c] = [0, 1, 2].map(|k| y.slice(k));
    Tensor::stack(&[&((&b - &a) * 10.0), &(&a * (r - &c) - &b), &(&a * &b - &c * (8.0 / 3.0))], 0)
}

/// To t = 1, by steps of equal length.
fn lorenz(at: &[Tensor], steps: usize) -> Tensor {
    Ode::new().rk4(steps).run(&at[0], &Tensor::from([0.0, 1.0]), |_, y| lorenz_slope(&y, &at[1])).slice(1).sum()
}

/// To t = 1, by steps that adapt.
fn lorenz_adaptive(at: &[Tensor], _: usize) -> Tensor {
    odeint(&at[0], &Tensor::from([0.0, 1.0]), |_, y| lorenz_slope(&y, &at[1])).slice(1).sum()
}

/// `P[i] = sin P[i - 1]` in an array that is changed in place.
fn in_place(at: &[Tensor], steps: usize) -> Tensor {
    let start = Tensor::concat(&[&at[0].reshape(&[1]), &Tensor::zeros(&[steps])], 0);
    let filled = fori(0..steps as i64, start, |i, p| {
        let i = i.reshape(&[1]);
        let before = p.dynamic_slice(&i, &[1]);
        p.dynamic_update_slice(&before.sin(), &(i + 1i64))
    });
    filled.sum()
}

/// A loop of numbers: by a loop of Rust, which the tape records, or by `wengert::loops`.
struct Numbers {
    name: &'static str,
    steps: usize,
    point: [f64; 2],
    f: fn(Taken, [Var; 2], usize) -> Var,
}

/// How the steps are taken.
#[derive(Clone, Copy)]
enum Taken {
    Unrolled,
    Loop(Loops),
}

impl Taken {
    fn fori<C: loops::Numbers<Number = Var>>(self, steps: usize, init: C, step: impl Fn(Var, C) -> C) -> C {
        match self {
            Taken::Unrolled => (0..steps).fold(init, |c, i| step(lift(i as f64), c)),
            Taken::Loop(loops) => loops.fori(0..steps as i64, init, step),
        }
    }
}

fn numbers_cases() -> Vec<Numbers> {
    let few = 100_000;
    vec![
        Numbers { name: "number", steps: few, point: [0.7, 0.3], f: tape_number },
        Numbers { name: "logistic", steps: few, point: [0.3, 2.9], f: logistic },
        Numbers { name: "runge-kutta", steps: few, point: [1.0, 0.5], f: runge_kutta },
        Numbers { name: "walk", steps: few, point: [0.3, 1.1], f: walk },
        Numbers { name: "rk-1000", steps: 1000, point: [1.0, 0.5], f: runge_kutta },
        Numbers { name: "rk-30", steps: 30, point: [1.0, 0.5], f: runge_kutta },
    ]
}

/// `c = 0.999 c + sin(x c)`.
fn tape_number(taken: Taken, [c, x]: [Var; 2], steps: usize) -> Var {
    taken.fori(steps, c, |_, c| c * 0.999 + (x * c).sin())
}

/// `x = r x (1 - x)`: four operations.
fn logistic(taken: Taken, [x, r]: [Var; 2], steps: usize) -> Var {
    taken.fori(steps, x, |_, x| r * x * (1.0 - x))
}

/// Predators and prey by the classical method of Runge and Kutta: two numbers carried, 58 operations.
fn runge_kutta(taken: Taken, [a, b]: [Var; 2], steps: usize) -> Var {
    let h = 0.001;
    let slope = |[x, y]: [Var; 2]| [a * x - b * x * y, b * x * y - y];
    let ahead = |[x, y]: [Var; 2], [u, v]: [Var; 2], h: f64| [x + u * h, y + v * h];
    let last = taken.fori(steps, [lift(1.0), lift(0.5)], |_, c| {
        let k1 = slope(c);
        let k2 = slope(ahead(c, k1, h / 2.0));
        let k3 = slope(ahead(c, k2, h / 2.0));
        let k4 = slope(ahead(c, k3, h));
        std::array::from_fn(|k| c[k] + (k1[k] + 2.0 * (k2[k] + k3[k]) + k4[k]) * (h / 6.0))
    });
    last[0] + last[1]
}

/// A random walk between barriers, from a generator in the carry: paths flip in every other step.
fn walk(taken: Taken, [drift, barrier]: [Var; 2], steps: usize) -> Var {
    let (x, _) = taken.fori(steps, (lift(0.1), lift(0.37)), |_, (x, noise)| {
        let noise = 3.999_99 * noise * (1.0 - noise);
        let x = x + drift * 0.01 + (noise - 0.5) * 0.8;
        let x = if x > barrier {
            2.0 * barrier - x
        } else if x < -barrier {
            -2.0 * barrier - x
        } else {
            x
        };
        (x, noise)
    });
    x
}

/// Prints what a step of every loop of numbers takes.
fn run_numbers(only: &str) {
    println!(
        "{:16}{:>10}{:>14}{:>14}{:>14}{:>8}{:>10}{:>10}{:>10}{:>8}{:>10}{:>8}",
        "numbers",
        "steps",
        "unrolled ns",
        "loop ns",
        "every ns",
        "ratio",
        "bytes",
        "bytes",
        "jvp ns",
        "ratio",
        "hvp ns",
        "ratio"
    );
    for case in numbers_cases().into_iter().filter(|case| case.name.contains(only)) {
        let (f, steps, point) = (case.f, case.steps, case.point);
        let gradient = |taken: Taken| {
            timed(|| {
                let _ = black_box(value_and_grad(black_box(point), |p| f(taken, p, steps)));
            })
            .1
        };
        let direction = [0.6, -0.8];
        let tangent = |taken: Taken| {
            timed(|| {
                let _ = black_box(jvp(black_box(point), direction, |p| f(taken, p, steps)));
            })
            .1
        };
        let product = |taken: Taken| {
            timed(|| {
                let _ = black_box(hvp(black_box(point), direction, |p| f(taken, p, steps)));
            })
            .1
        };
        let sqrt = (steps as f64).sqrt() as usize;
        let ways = [Taken::Unrolled, Taken::Loop(Loops::new()), Taken::Loop(Loops::new().every(sqrt))];
        let [unrolled, looped, every] = ways.map(|taken| gradient(taken) / steps as f64 * 1e9);
        let [before, after] = [ways[0], ways[1]]
            .map(|taken| wengert::tape_size(point, |p| f(taken, p, steps)).bytes as f64 / steps as f64);
        let [forward, along] = [[ways[0], ways[1]].map(tangent), [ways[0], ways[1]].map(product)];
        let [tangent, second] = [forward[1], along[1]].map(|time| time / steps as f64 * 1e9);
        println!(
            "{:16}{steps:>10}{unrolled:>14.1}{looped:>14.1}{every:>14.1}{:>8.2}{before:>10.1}{after:>10.1}{tangent:>10.1}{:>8.2}\
             {second:>10.1}{:>8.2}",
            case.name,
            looped / unrolled,
            forward[1] / forward[0],
            along[1] / along[0]
        );
    }
}

/// The same where the new number is not small; else the old one stays.
fn in_place_if(at: &[Tensor], steps: usize) -> Tensor {
    let start = Tensor::concat(&[&at[0].reshape(&[1]), &Tensor::zeros(&[steps])], 0);
    let filled = fori(0..steps as i64, start, |i, p| {
        let i = i.reshape(&[1]);
        let next = p.dynamic_slice(&i, &[1]).sin();
        next.sum().gt(1e-3).where_(p.dynamic_update_slice(&next, &(i + 1i64)), &p)
    });
    filled.sum()
}

/// The same in four arrays at once.
fn in_place_mapped(at: &[Tensor], steps: usize) -> Tensor {
    vmap(&at[0], |x| in_place(&[x], steps)).sum()
}

/// Prints how long a step of every loop takes.
pub(crate) fn run(arguments: &[String]) -> Result<(), String> {
    let only = match arguments {
        [] => "",
        [flag, name] if flag == "--only" => name,
        _ => return Err("usage: bench loops [--only NAME]".to_owned()),
    };
    wengert::set_threads(1);
    println!("{:16}{:>10}{:>14}{:>14}{:>14}{:>8}", "loop", "steps", "first ms", "value ns", "gradient ns", "ratio");
    for case in cases().into_iter().filter(|case| case.name.contains(only)) {
        let (f, steps) = (case.f, case.steps);
        let value: Value = Compile::new().function(Box::new(move |x: Vec<Tensor>| f(&x, steps)));
        let gradient: Gradient =
            Compile::new().function(Box::new(move |x: Vec<Tensor>| value_and_grad(&x, |x: Vec<Tensor>| f(&x, steps))));
        let (_, forward) = timed(|| drop(black_box(value.call(&case.point))));
        let (first, both) = timed(|| drop(black_box(gradient.call(&case.point))));
        let [each, each_both] = [forward, both].map(|time| time / steps as f64 * 1e9);
        println!(
            "{:16}{steps:>10}{:>14.1}{each:>14.1}{each_both:>14.1}{:>8.2}",
            case.name,
            first * 1e3,
            both / forward
        );
    }
    run_numbers(only);
    Ok(())
}

/// The first call in seconds, planning included, and the median of later ones.
fn timed(f: impl Fn()) -> (f64, f64) {
    let clock = Instant::now();
    f();
    let first = clock.elapsed().as_secs_f64();
    let mut times = Vec::new();
    let begun = Instant::now();
    while begun.elapsed() < SPENT || times.len() < 3 {
        let clock = Instant::now();
        f();
        times.push(clock.elapsed().as_secs_f64());
    }
    times.sort_by(f64::total_cmp);
    (first, times[times.len() / 2])
}
