//! Counts that do not depend on the weather: equations, residual bytes, work, what is multiplied.

use std::collections::BTreeMap;

use wengert::prelude::*;
use wengert::{Program, Scan, to_program};

/// How often each operation occurs, inside other Programs too.
fn counts(program: &Program) -> BTreeMap<String, usize> {
    let mut all = BTreeMap::new();
    for eqn in program.eqns() {
        *all.entry(eqn.op.name().into_owned()).or_insert(0) += 1;
        for inner in eqn.op.programs() {
            for (name, count) in counts(inner) {
                *all.entry(name).or_insert(0) += count;
            }
        }
    }
    all
}

fn network(w: &Tensor, x: &Tensor) -> Tensor {
    (w.matmul(x).tanh() * 2.0).sum()
}

#[test]
fn a_mapped_program_has_as_many_equations_for_any_batch() {
    let w = Tensor::zeros(&[3, 4]);
    let of_batch = |batch: usize| {
        let xs = Tensor::zeros(&[batch, 4]);
        let (program, _) = to_program(&xs, |xs| vmap(&xs, |x| grad(&w, |w| network(&w, &x))));
        program.optimize().count()
    };
    assert_eq!(of_batch(2), of_batch(1000));
    assert!(of_batch(2) < 40);
}

/// 64 layers, with a checkpoint around every this many of them.
fn deep(every: Option<usize>) -> Program {
    let layer = |x: Tensor| (x * 1.25).sin();
    let x = Tensor::zeros(&[100]);
    let (program, _) = to_program(&x, |x| {
        let Some(every) = every else { return (0..64).fold(x, |x, _| layer(x)).sum() };
        (0..64 / every).fold(x, |x, _| checkpoint(&x, |x| (0..every).fold(x, |x, _| layer(x)))).sum()
    });
    program
}

#[test]
fn checkpoints_keep_a_quarter_for_twice_the_work() {
    let (plain, saving) = (deep(None), deep(Some(8)));
    let bytes = |program: &Program| program.linearize(&[true]).unwrap().residual_bytes();
    assert_eq!(bytes(&plain), 64 * 100 * 8);
    assert!(4 * bytes(&saving) <= bytes(&plain), "{} of {} bytes", bytes(&saving), bytes(&plain));
    let work = |program: &Program| counts(&program.vjp(&[true]).unwrap().optimize())["sin"];
    assert_eq!(work(&plain), 64);
    assert!(work(&saving) <= 128, "{} sines", work(&saving));
    assert!(work(&saving) > 64, "the second computation was merged with the first");
}

#[test]
fn a_jacobian_multiplies_by_no_identity() {
    let (a, b) = (Tensor::zeros(&[5, 7]), Tensor::zeros(&[6, 5]));
    let f = |x: Tensor| b.matmul(&a.matmul(&x.sin()).tanh());
    let (forward, _) = to_program(Tensor::zeros(&[7]), |x| jacobian(&x, f));
    // Fewer numbers out than in: backward.
    let (backward, _) = to_program(Tensor::zeros(&[7]), |x| jacobian(&x, |x| a.matmul(&x.sin())));
    let (hessian, _) = to_program(Tensor::zeros(&[7]), |x| hessian(&x, |x| f(x).square().sum()));
    for (name, program, size) in [("forward", forward, 7), ("backward", backward, 5), ("hessian", hessian, 7)] {
        let program = program.optimize();
        let mut identity = vec![false; 10_000];
        for eqn in program.eqns() {
            let op = eqn.op.name();
            // What is made of constants alone and has two axes of the seeds' length.
            let constant = eqn.args.iter().all(|arg| identity[value_index(&arg.to_string())]) || eqn.args.is_empty();
            for out in eqn.outs() {
                identity[value_index(&out.to_string())] = constant && op != "iota";
            }
            let multiplies = ["mul", "div", "einsum"].contains(&&*op);
            for arg in &eqn.args {
                let square = program.ty(*arg).shape.iter().filter(|&&length| length == size).count() >= 2;
                assert!(
                    !(multiplies && square && identity[value_index(&arg.to_string())]),
                    "{name}: `{op}` multiplies by an identity:\n{program}"
                );
            }
        }
    }
}

fn value_index(name: &str) -> usize {
    name[1..].parse().expect("v and a number")
}

/// How often arrays are added and padded in the gradient of a function of 24 by 7 numbers.
fn sums(f: impl Fn(&Tensor) -> Tensor) -> [usize; 3] {
    let (program, _) = to_program(Tensor::zeros(&[24, 7]), |x| grad(&x, |x| f(&x)));
    let all = counts(&program.optimize());
    ["add", "pad", "update_add"].map(|name| all.get(name).copied().unwrap_or(0))
}

#[test]
fn neighbouring_slices_have_their_cotangents_joined() {
    // In either order, and beside contributions of other uses before and after them.
    let blocks = |x: &Tensor, order: &[isize]| {
        let part = |&k: &isize| x.slice((6 * k..6 * k + 6, ..)).powi(3) * (k + 2) as f64;
        order.iter().map(part).reduce(|a, b| a + b).expect("four parts").sum()
    };
    for order in [[0, 1, 2, 3], [3, 2, 1, 0], [1, 2, 3, 0], [2, 1, 0, 3]] {
        let [_, padded, updated] = sums(|x| blocks(x, &order));
        assert!(padded + updated <= 2, "{order:?}: {padded} paddings, {updated} updates");
    }
    assert_eq!(sums(|x| blocks(x, &[0, 1, 2, 3])), [0, 0, 0]);
    assert_eq!(sums(|x| blocks(x, &[3, 2, 1, 0])), [0, 0, 0]);
    // Turned by one place, forwards and backwards, along both axes: a sum for each but the first.
    let turned = |x: &Tensor| [(1, 0), (-1, 0), (2, 1), (-1, 1)].map(|(by, axis)| x.roll(by, axis).powi(3).sum());
    assert_eq!(sums(|x| turned(x).into_iter().reduce(|a, b| a + b).expect("four")), [3, 0, 0]);
}

#[test]
fn slices_apart_and_in_any_order_have_their_cotangents_joined() {
    let rows = |x: &Tensor, parts: &[(isize, isize)]| {
        let part = |&(from, to): &(isize, isize)| x.slice((from..to, ..)).powi(3).sum() * (from + 2) as f64;
        parts.iter().map(part).reduce(|a, b| a + b).expect("some parts")
    };
    // Additions of arrays, paddings and updates by an addition: what is small beside its gaps is written.
    for (parts, wanted) in [
        (&[(6, 12), (18, 24), (0, 6), (12, 18)][..], [0, 0, 0]),
        (&[(4, 7), (13, 24), (0, 2)], [0, 0, 0]),
        (&[(9, 12), (1, 3), (20, 22)], [0, 1, 0]),
        (&[(20, 21), (3, 4)], [0, 1, 0]),
        // They overlap.
        (&[(0, 12), (6, 24)], [1, 2, 0]),
    ] {
        assert_eq!(sums(|x| rows(x, parts)), wanted, "{parts:?}");
    }
    // Beside a use of the whole array, parts that are far from each other are added to it one by one.
    let [added, _, updated] = sums(|x| rows(x, &[(0, 1), (20, 21)]) + x.powi(3).sum());
    assert_eq!((added, updated), (0, 2));
}

#[test]
fn random_slices_contribute_what_they_are() {
    let mut state = 7u64;
    let mut below = |n: usize| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) as usize % n
    };
    for case in 0..300 {
        let shape = [1 + below(9), 1 + below(5)];
        let numbers: Vec<f64> = (0..shape[0] * shape[1]).map(|_| 0.5 + below(100) as f64 * 0.01).collect();
        let x = Tensor::from_vec(&shape, numbers.clone());
        // Empty ones too; along one axis for the most part, so that they lie beside each other, and the whole array at times.
        let axis = below(2);
        let parts: Vec<[std::ops::Range<usize>; 2]> = (0..1 + below(6))
            .map(|_| {
                let cut = |k: usize, below: &mut dyn FnMut(usize) -> usize| {
                    let from = below(shape[k] + 1);
                    from..from + below(shape[k] - from + 1)
                };
                let both = below(8) == 0;
                [0, 1].map(|k| if k == axis || both { cut(k, &mut below) } else { 0..shape[k] })
            })
            .collect();
        let f = |x: &Tensor| {
            let part = |(k, [rows, cols]): (usize, &[std::ops::Range<usize>; 2])| {
                let [rows, cols] = [rows, cols].map(|range| range.start as isize..range.end as isize);
                (x.slice((rows, cols)) * (k + 1) as f64).square().sum()
            };
            parts.iter().enumerate().map(part).reduce(|a, b| a + b).expect("a part")
        };
        let want: Vec<f64> = (0..numbers.len())
            .map(|i| {
                let [row, col] = [i / shape[1], i % shape[1]];
                let of = |(k, [rows, cols]): (usize, &[std::ops::Range<usize>; 2])| {
                    let is_in = rows.contains(&row) && cols.contains(&col);
                    if is_in { ((k + 1) * (k + 1)) as f64 * 2.0 * numbers[i] } else { 0.0 }
                };
                parts.iter().enumerate().map(of).sum()
            })
            .collect();
        let got = grad(&x, |x| f(&x)).to_vec();
        let off = got.iter().zip(&want).map(|(got, want)| (got - want).abs()).fold(0.0, f64::max);
        assert!(off < 1e-12, "case {case}, {shape:?}, {parts:?}: {got:?} and not {want:?}");
    }
}

#[test]
fn a_loop_keeps_one_array_of_a_step_where_others_are_made_of_it() {
    const STEPS: usize = 50;
    type Step = fn(Tensor, Tensor) -> Tensor;
    // How many arrays of each step the reverse takes, those of the loop's own rows among them.
    let steps: [(usize, Step); 10] = [
        (1, |c, _| &c + 0.01 * (&c - c.square() * &c)),
        (1, |c, _| 3.7 * &c * (1.0 - &c)),
        (1, |c, _| c.sin()),
        (1, |c, _| Tensor::where_(&c.gt(0.4), c.square(), &c)),
        // The slope is made of the row.
        (1, |c, x| c * x.square()),
        (2, |c, x| &c * &c * x.square() + x),
        // The sine, the cosine, the carry for both slopes of its square, and the row.
        (4, |c, x| (&c * x).sin() * c.square()),
        // Divisions are kept.
        (3, |c, x| &c / (1.0 + c.square()) + x),
        // A row is larger than truth values of it.
        (0, |c, x| Tensor::where_(&x.gt(0.15), 2.0 * &c, &c)),
        (1, |c, _| c.square() * 0.5 + 0.1),
    ];
    let (c, xs) = (Tensor::linspace(0.3, 0.6, 100), Tensor::linspace(0.1, 0.2, 100 * STEPS).reshape(&[-1, 100]));
    for (number, (wanted, step)) in steps.into_iter().enumerate() {
        let looped = |c: Tensor| Scan::new().run(c, &xs, |c, x| (step(c, x), ())).0.sum();
        let (program, _) = to_program(&c, looped);
        let of_carry: Vec<bool> = (0..program.input_types().len()).map(|k| k == 0).collect();
        let bytes = program.linearize(&of_carry).unwrap().residual_bytes();
        assert_eq!(bytes / (8 * 100 * STEPS), wanted, "step {number}: {bytes} bytes");
        let plain = |c: Tensor| (0..STEPS).fold(c, |c, k| step(c, xs.slice(k as isize))).sum();
        let (found, expected) = (grad(&c, looped), grad(&c, plain));
        for (found, expected) in found.to_vec().into_iter().zip(expected.to_vec()) {
            assert!((found - expected).abs() <= 1e-12 * expected.abs(), "step {number}: {found} and not {expected}");
        }
    }
}
