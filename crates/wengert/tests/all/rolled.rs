//! Loops of Rust that are recorded step by step and found again: the loop computes what the steps do.
//!
//! What is recorded by [`to_program`] stays as it is, so that it is there to be compared with.

use wengert::plan::{Detail, Options, Plan};
use wengert::prelude::*;
use wengert::primitives::Op;
use wengert::{Array, Compile, Grad, Program, Type, compile, fori, to_program};

use crate::support::caught::caught;

/// More steps than it takes to be a loop.
const STEPS: usize = 300;

fn loops(program: &Program) -> usize {
    program.eqns().iter().filter(|eqn| matches!(eqn.op, Op::Scan(_))).count()
}

/// Value and gradient of all steps one after the other, and of the loop: the values have the same bits. Gives the loop.
#[track_caller]
fn check(what: &str, x: &Tensor, f: impl Fn(&Tensor) -> Tensor) -> Program {
    let (straight, captures) = to_program(x, |x: Tensor| f(&x));
    let inputs: Vec<Array> = std::iter::once(x).chain(&captures).map(Tensor::to_array).collect();
    assert_eq!(loops(&straight), 0, "{what}: recorded as it is");
    let rolled = straight.rolled(64);
    assert!(loops(&rolled) > 0 && rolled.eqns().len() < straight.eqns().len(), "{what}: {rolled}");
    let [wanted, got] = [&straight, &rolled].map(|program| program.run_reference(&inputs).unwrap()[0].to_f64());
    assert_eq!(wanted, got, "{what}");
    let active: Vec<bool> = inputs.iter().map(|input| input.dtype().is_float()).collect();
    let seeded = [&inputs[..], &[Array::scalar(1.0)]].concat();
    let gradient = straight.vjp(&active).unwrap().run_reference(&seeded).unwrap()[1].to_f64();
    let largest = gradient.iter().fold(0.0f64, |most, x| most.max(x.abs()));
    // By the drivers, which find the loop by themselves: at once, compiled, forwards.
    let (value, by_driver) = value_and_grad(x, |x| f(&x));
    assert!((value.item() - wanted[0]).abs() <= 1e-12 * (1.0 + wanted[0].abs()), "{what}: {value}, not {wanted:?}");
    let compiled = compile(|x: Tensor| grad(&x, |x| f(&x))).call(x);
    let direction = x.cos();
    let (_, tangent) = jvp(x, &direction, |x| f(&x));
    let near = |x: f64, y: f64| (x - y).abs() <= 1e-11 * largest;
    for (got, wanted) in
        by_driver.to_vec().into_iter().zip(&gradient).chain(compiled.to_vec().into_iter().zip(&gradient))
    {
        assert!(near(got, *wanted), "{what}: {got} instead of {wanted}");
    }
    let wanted: f64 = gradient.iter().zip(direction.to_vec()).map(|(g, t)| g * t).sum();
    assert!(
        (tangent.item() - wanted).abs() <= 1e-10 * largest * gradient.len() as f64,
        "{what}: {tangent}, not {wanted}"
    );
    rolled
}

fn rod(count: usize) -> Tensor {
    Tensor::linspace(0.1, 1.3, count)
}

#[test]
fn a_state_goes_from_step_to_step() {
    let w = rod(12).cos();
    let heat = |x: &Tensor| {
        let mut u = x.clone();
        for _ in 0..STEPS {
            let inner = u.slice(1..11) + 0.1 * (u.slice(0..10) - 2.0 * u.slice(1..11) + u.slice(2..12));
            u = Tensor::concat(&[&u.slice(0..1), &inner, &u.slice(11..12)], 0) * &w;
        }
        u.square().sum()
    };
    let rolled = check("heat", &rod(12), heat);
    assert_eq!(loops(&rolled), 1);
    // What the loop carries is the state alone.
    let scan = rolled.eqns().iter().find_map(|eqn| match &eqn.op {
        Op::Scan(scan) => Some(scan),
        _ => None,
    });
    assert_eq!(scan.map(|scan| (scan.carry, scan.rows)), Some((1, 0)), "{rolled}");
}

#[test]
fn several_states_and_invariants() {
    let a = rod(9).reshape(&[3, 3]).sin();
    let swing = |x: &Tensor| {
        let drag = (x * 0.1).exp();
        let (mut q, mut v, mut energy) = (x.clone(), x.cos(), Tensor::from(0.0));
        for _ in 0..STEPS {
            v = &v - 0.01 * (a.matmul(&q.sin()) + &v * &drag);
            q = &q + 0.01 * &v;
            energy = &energy + v.square().sum();
        }
        energy + q.sum()
    };
    check("several", &rod(3), swing);
}

#[test]
fn values_of_two_steps_before() {
    let wave = |x: &Tensor| {
        let (mut before, mut now) = (x.clone(), x.clone());
        for _ in 0..STEPS {
            let next = 2.0 * &now - &before + 0.05 * (now.roll(1, 0) + now.roll(-1, 0) - 2.0 * &now);
            (before, now) = (now, next);
        }
        (now * before).sum()
    };
    check("wave", &rod(6), wave);
    let fibonacci = |x: &Tensor| {
        let mut all = vec![x.clone(), x.sin(), x.cos()];
        for t in 3..STEPS {
            all.push((&all[t - 1] * 0.5 + &all[t - 3]).sin());
        }
        all[STEPS - 1].sum() + all[STEPS - 3].sum()
    };
    check("three before", &rod(4), fibonacci);
}

#[test]
fn rows_of_an_array_along_any_axis() {
    let w = rod(4);
    for axis in [0, 1, 2] {
        let mut lengths = [2, 2, 2];
        lengths[axis] = 2 * STEPS + 4;
        let size = lengths.iter().product::<usize>();
        let x = Tensor::linspace(-1.0, 1.0, size).reshape(&lengths.map(|length| length as isize));
        let row = |x: &Tensor, t: usize| match axis {
            0 => x.slice((t, .., ..)),
            1 => x.slice((.., t, ..)),
            _ => x.slice((.., .., t)),
        };
        for (what, at) in [
            ("up", (|t| t) as fn(usize) -> usize),
            ("from the third on", |t| t + 3),
            ("down", |t| STEPS - t),
            ("every second one", |t| 2 * t + 1),
            ("every second one, down", |t| 2 * (STEPS - t)),
        ] {
            let network = |x: &Tensor| {
                let mut h = w.reshape(&[2, 2]);
                for t in 0..STEPS {
                    h = (&h * 0.9 + row(x, at(t))).tanh();
                }
                h.sum()
            };
            check(&format!("axis {axis}, {what}"), &x, network);
        }
    }
}

#[test]
fn numbers_and_arrays_of_each_step() {
    let data: Vec<Tensor> = (0..STEPS).map(|t| rod(3) * (t as f64).sin()).collect();
    let filter = |x: &Tensor| {
        let (mut m, mut loss) = (x.clone(), Tensor::from(0.0));
        for (t, y) in data.iter().enumerate() {
            let gain = 1.0 / (1.0 + t as f64);
            m = &m + gain * (y - &m) * x;
            loss += (y - &m).square().sum();
        }
        loss
    };
    let rolled = check("filter", &rod(3), filter);
    assert_eq!(loops(&rolled), 1, "{rolled}");
    // The numbers of a recording inside another one are operands.
    let step = compile(|(x, rate): (Tensor, Tensor)| &x - rate * grad(&x, |x| filter(&x)));
    let by_hand = rod(3) - 0.5 * grad(&rod(3), |x| filter(&x));
    assert!((step.call((rod(3), Tensor::from(0.5))) - by_hand).abs().max().item() < 1e-9);
}

#[test]
fn arrays_that_lie_as_far_apart_as_steps() {
    let noise: Vec<Tensor> = (0..3 * STEPS).map(|t| rod(3) * (t as f64).sin()).collect();
    // Less is to be done in a step than to bring together what it takes: these stay.
    let stays = |f: &dyn Fn(&Tensor) -> Tensor| {
        let (straight, captures) = to_program(rod(3), |x: Tensor| f(&x));
        assert_eq!(straight.rolled(64), straight);
        let gradient = grad(rod(3), |x| f(&x)).to_vec();
        let step = 1e-6;
        let moved = |by: f64| f(&(rod(3) + Tensor::from([by, 0.0, 0.0]))).item();
        let wanted = (moved(step) - moved(-step)) / (2.0 * step);
        assert!(
            (gradient[0] - wanted).abs() < 1e-4 * (1.0 + wanted.abs()),
            "{gradient:?} {wanted} of {}",
            captures.len()
        );
    };
    stays(&|x| noise.iter().fold(x.clone(), |u, noise| &u + noise).square().mean());
    stays(&|x| (0..STEPS).fold(x.clone(), |u, t| &u * (&noise[t] * 0.5) + &noise[STEPS + t]).sum());
    stays(&|x| noise.chunks(2).fold(x.clone(), |u, pair| &u * &pair[0] + &pair[1]).sum());
    let table = Tensor::linspace(-1.0, 1.0, 4 * STEPS).reshape(&[STEPS as isize, 4]);
    let rows = |x: &Tensor| {
        let rows: Vec<Tensor> = (0..STEPS).map(|t| x.slice(t)).collect();
        rows.iter().fold(Tensor::zeros(&[4]), |h, row| (&h + row).tanh()).sum()
    };
    check("rows taken first", &table, rows);
}

#[test]
fn steps_that_take_turns() {
    let many = |x: &Tensor| {
        let mut states: Vec<Tensor> = (0..12).map(|k| x * (k as f64)).collect();
        for _ in 0..100 {
            for state in &mut states {
                *state = (&*state * 0.9).tanh();
            }
        }
        states.iter().fold(Tensor::from(0.0), |sum, state| sum + state.sum())
    };
    check("twelve states", &rod(3), many);
    let large: Vec<Tensor> = (0..4).map(|k| rod(200) * k as f64).collect();
    let cycle = |x: &Tensor| {
        let mut u = x.clone();
        for t in 0..2 * STEPS {
            let y = &large[t % 4];
            u = ((&u * 0.5 + y).sin() * y - (&u * y).cos() * 0.25).tanh();
        }
        u.sum()
    };
    check("four large arrays", &rod(200), cycle);
    let table = Tensor::linspace(-1.0, 1.0, 3 * STEPS).reshape(&[STEPS as isize, 3]);
    let held = |x: &Tensor| {
        let mut u = Tensor::zeros(&[3]);
        for t in 0..2 * STEPS {
            u = (&u * 0.9 + x.slice(t / 2)).sin();
        }
        u.sum()
    };
    check("a row held for two steps", &table, held);
    let mirror = |x: &Tensor| {
        let mut old: Vec<Tensor> = (0..6).map(|k| x * (1.0 + k as f64)).collect();
        for _ in 0..STEPS {
            old = (0..6).map(|i| (&old[i] + &old[5 - i]).sin()).collect();
        }
        old.iter().fold(Tensor::from(0.0), |sum, state| sum + state.sum())
    };
    check("each with its mirror", &rod(3), mirror);
}

#[test]
fn a_compiled_function_is_found_again_where_it_is_called() {
    let plain = |x: &Tensor| (0..100).fold(x.clone(), |u, _| (&u * 1.05).sin() + x * (&u * 0.1).cos());
    let compiled = compile(move |x: Tensor| plain(&x));
    let x = rod(3);
    assert_eq!(compiled.call(&x).to_vec(), jvp(&x, &x, |x| plain(&x)).0.to_vec());
    assert_eq!(jacobian(&x, |x| compiled.call(&x)).to_vec(), jacobian(&x, |x| plain(&x)).to_vec());
    assert_eq!(grad(&x, |x| compiled.call(&x).sum()).to_vec(), grad(&x, |x| plain(&x).sum()).to_vec());
}

#[test]
fn what_is_read_of_every_step() {
    let target = Tensor::linspace(0.0, 1.0, STEPS * 2).reshape(&[STEPS as isize, 2]);
    let path = |x: &Tensor| {
        let mut u = x.clone();
        let mut all = Vec::new();
        for _ in 0..STEPS {
            u = (&u * 1.01).sin();
            all.push(u.clone());
        }
        all
    };
    let refs = |all: &[Tensor]| Tensor::stack(&all.iter().collect::<Vec<_>>(), 0);
    let sixty_four = |x: &Tensor| {
        let all: Vec<Tensor> = std::iter::successors(Some(x.clone()), |u| Some((u * 1.01).sin())).take(65).collect();
        refs(&all).square().sum()
    };
    check("sixty-four", &rod(2), sixty_four);
    check("stacked", &rod(2), |x| (refs(&path(x)) - &target).square().mean());
    check("joined", &rod(2), |x| Tensor::concat(&path(x).iter().collect::<Vec<_>>(), 0).square().sum());
    let turned = |x: &Tensor| {
        let mut all = path(x);
        all.reverse();
        refs(&all).cumsum(0).square().sum()
    };
    check("stacked in reverse", &rod(2), turned);
    // Another loop reads them, from the last to the first.
    let back = |x: &Tensor| {
        let mut sum = x.cos();
        for u in path(x).iter().rev() {
            sum = (&sum * 0.9 + u * u).sin();
        }
        sum.sum()
    };
    check("back", &rod(2), back);
    check("from the middle", &rod(2), |x| (&path(x)[STEPS / 2] * &path(x)[17]).sum());
}

#[test]
fn a_step_that_has_several_forms_and_loops_in_loops() {
    let alternating = |x: &Tensor| {
        let mut u = x.clone();
        for t in 0..STEPS {
            u = if t % 3 == 0 { u.sin() } else { &u * 0.99 };
        }
        u.sum()
    };
    check("every third", &rod(3), alternating);
    let changing = |x: &Tensor| {
        let mut u = x.clone();
        for t in 0..2 * STEPS {
            u = if t < STEPS { (&u * 1.1).sin() } else { (&u * 0.9).cos() };
        }
        u.sum()
    };
    assert_eq!(loops(&check("first the one", &rod(3), changing)), 2);
    let inner = |x: &Tensor| {
        let mut u = x.clone();
        for t in 0..70 {
            for _ in 0..20 {
                u = (&u * 1.01).sin();
            }
            u = &u + x * (t as f64 * 0.01);
        }
        u.sum()
    };
    check("in a loop", &rod(3), inner);
    let both = |x: &Tensor| {
        let mut u = x.clone();
        for _ in 0..70 {
            for _ in 0..200 {
                u = (&u * 1.01).sin();
            }
            u = &u + x;
        }
        u.sum()
    };
    let rolled = check("a loop of loops", &rod(3), both);
    assert_eq!(loops(&rolled), 1, "{rolled}");
}

#[test]
fn it_is_the_loop_that_could_have_been_written() {
    let x = rod(5);
    let by_hand = |x: &Tensor| fori(0..STEPS as i64, x.clone(), |_, u| (&u * 1.05).sin() + x).sum();
    let plain = |x: &Tensor| {
        let mut u = x.clone();
        for _ in 0..STEPS {
            u = (&u * 1.05).sin() + x;
        }
        u.sum()
    };
    let (loss, gradient) = value_and_grad(&x, |x| plain(&x));
    let (wanted, by_loop) = value_and_grad(&x, |x| by_hand(&x));
    assert_eq!(loss.item(), wanted.item());
    assert!((gradient - by_loop).abs().max().item() < 1e-12);
    // Second order.
    let second = |f: &dyn Fn(&Tensor) -> Tensor| hvp(&x, &x, |x| f(&x));
    let (one, other) = (second(&plain), second(&by_hand));
    assert!((&one - &other).abs().max().item() < 1e-9 * other.abs().max().item());
    // Matrices of derivatives come from the steps.
    let sum: f64 =
        hessian(&x, |x| plain(&x)).matmul(&x).to_vec().iter().zip(one.to_vec()).map(|(a, b)| (a - b).abs()).sum();
    assert!(sum < 1e-8 * other.abs().max().item(), "{sum}");
}

#[test]
fn memory_is_bounded_as_for_a_loop() {
    let x = Tensor::linspace(0.2, 0.9, 500);
    let f = |x: &Tensor| {
        let mut u = x.clone();
        for _ in 0..2_000 {
            u = (&u * 1.01).sin();
        }
        u.sum()
    };
    let plain = grad(&x, |x| f(&x));
    let step = compile(|x: Tensor| grad(&x, |x| f(&x)));
    let whole = step.plan(&x).unwrap().peak_bytes();
    let limit = whole / 8;
    let limited = Compile::new().memory(limit).function(|x: Tensor| grad(&x, |x| f(&x)));
    assert_eq!(limited.call(&x).to_vec(), plain.to_vec());
    assert!(limited.plan(&x).unwrap().peak_bytes() <= limit);
    assert_eq!(Grad::of(|x: Tensor| f(&x)).memory(limit).at(&x).unwrap().1.to_vec(), plain.to_vec());
}

#[test]
fn a_step_that_fails_is_the_users_line() {
    let x = Tensor::from([[2.0, 0.5], [0.5, 1.0]]);
    let line = line!() + 4;
    let f = |x: &Tensor| {
        let mut a = x.clone();
        for _ in 0..STEPS {
            let l = a.cholesky();
            a = &a - 0.01 * l.matmul(&l.t());
            a = &a - Tensor::eye(2) * 0.01;
        }
        a.sum()
    };
    let text = caught("grad", || grad(&x, |x| f(&x))).expect_err("it does not stay positive definite");
    assert!(text.contains("cholesky") && text.contains(&format!("rolled.rs:{line}")), "{text}");
}

#[test]
fn what_counts_nowhere_stays_so() {
    // Roots of negative numbers in lanes that the loss, or every step, leaves out.
    let x = Tensor::from([0.5, -0.5, 0.8, -2.0]);
    let at_the_end = |x: &Tensor| {
        let u = (0..STEPS).fold(x.clone(), |u, _| (&u * 1.01).sqrt());
        x.gt(0.0).where_(u, Tensor::zeros(&[4])).sum()
    };
    let in_each_step = |x: &Tensor| {
        let safe = |u: &Tensor| x.gt(0.0).where_((u * 1.01).sqrt(), u * 0.5);
        (0..STEPS).fold(x.clone(), |u, _| safe(&u)).sum()
    };
    type Case<'a> = (&'a str, &'a dyn Fn(&Tensor) -> Tensor);
    let cases: [Case<'_>; 2] = [("at the end", &at_the_end), ("in each step", &in_each_step)];
    for (what, f) in cases {
        let (straight, captures) = to_program(&x, |x: Tensor| f(&x));
        assert!(loops(&straight.rolled(64)) > 0, "{what}");
        let inputs = [&[x.to_array()], &captures.iter().map(Tensor::to_array).collect::<Vec<_>>()[..]].concat();
        let active: Vec<bool> = inputs.iter().map(|input| input.dtype().is_float()).collect();
        let seeded = [&inputs[..], &[Array::scalar(1.0)]].concat();
        let wanted = straight.vjp(&active).unwrap().run_reference(&seeded).unwrap()[1].to_f64();
        assert!(wanted.iter().all(|x| x.is_finite()), "{what}: {wanted:?}");
        for got in [grad(&x, |x| f(&x)).to_vec(), compile(|x: Tensor| grad(&x, |x| f(&x))).call(&x).to_vec()] {
            let near = |(got, wanted): (&f64, &f64)| (got - wanted).abs() <= 1e-12 * (1.0 + wanted.abs());
            assert!(got.iter().zip(&wanted).all(near), "{what}: {got:?}, not {wanted:?}");
        }
    }
}

#[test]
fn the_plan_of_many_steps_is_short() {
    let step = |steps: usize| {
        compile(move |x: Tensor| {
            grad(&x, |x| {
                let mut u = x.clone();
                for _ in 0..steps {
                    u = (&u * 1.05).sin();
                }
                u.sum()
            })
        })
    };
    let x = rod(8);
    let [few, many] = [1_000, 4_000].map(|steps| step(steps).plan(&x).unwrap().step_count());
    assert_eq!(few, many);
    assert!(few < 20, "{few}");
    assert!(step(1_000).plan(&x).unwrap().explain(Detail::Steps).contains("loop"));
    // A few steps stay what they are.
    assert!(!step(20).plan(&x).unwrap().explain(Detail::Steps).contains("loop"));
}

#[test]
fn repetitions_that_are_no_loop_stay() {
    // Every step reads one that is twice as far back.
    let far = |x: &Tensor| {
        let mut all = vec![x.clone()];
        for t in 0..STEPS {
            all.push((&all[t] * 0.9 + &all[t / 2]).sin());
        }
        all[STEPS].sum()
    };
    let x = rod(3);
    let (straight, _) = to_program(&x, |x: Tensor| far(&x));
    let rolled = straight.rolled(64);
    let inputs = [x.to_array()];
    let [a, b] = [&straight, &rolled].map(|program| program.run_reference(&inputs).unwrap()[0].to_f64());
    assert_eq!(a, b);
    // Nothing to do, and nothing at all.
    let empty: Program = "program(v0: f64[2]) { return v0 }".parse().unwrap();
    assert_eq!(empty.rolled(2), empty);
    assert_eq!(empty.rolled(0), empty);
    let ty = Type::new(wengert::DType::F64, &[2]);
    assert_eq!(empty.input_types(), [ty]);
    Plan::new(&rolled, &Options::default()).unwrap();
}
