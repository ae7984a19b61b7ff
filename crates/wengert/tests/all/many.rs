//! The drivers of many points of a recorded function: each gives what the driver of one point gives, whatever the group.

use wengert::Recorded;
use wengert::prelude::*;

/// Numbers of points around the width of a group.
const COUNTS: [usize; 7] = [0, 1, 7, 8, 9, 33, 64];
const INPUTS: usize = 5;

type Point = [f64; INPUTS];

/// Numbers that are the same in every run (a linear congruential generator with the constants of D. E. Knuth's MMIX).
struct Random(u64);

impl Random {
    fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 33
    }
    fn below(&mut self, count: usize) -> usize {
        self.bits() as usize % count
    }
    /// Between -2 and 2.
    fn number(&mut self) -> f64 {
        self.bits() as f64 / f64::from(1u32 << 29) - 2.0
    }
    fn points(&mut self, count: usize) -> Vec<Point> {
        (0..count).map(|_| std::array::from_fn(|_| self.number())).collect()
    }
}

/// A step of a random function: what is done, with which earlier numbers.
#[derive(Clone, Copy, Debug)]
struct Step {
    kind: usize,
    x: usize,
    y: usize,
    constant: f64,
}

/// A function of arithmetic and square roots, whose numbers are the same on lanes to the bit. Some of its steps compare.
#[derive(Clone, Debug)]
struct Function {
    steps: Vec<Step>,
    outputs: Vec<usize>,
}

/// Kinds of steps without and with comparisons.
const ARITHMETIC: usize = 9;
const KINDS: usize = 12;

impl Function {
    fn random(random: &mut Random, kinds: usize, outputs: usize) -> Self {
        let count = 12;
        let steps = (0..count)
            .map(|k| Step {
                kind: random.below(kinds),
                x: random.below(INPUTS + k),
                y: random.below(INPUTS + k),
                constant: random.number(),
            })
            .collect();
        // One output is the last step; others may be inputs, or the same.
        let outputs = (0..outputs).map(|k| if k == 0 { INPUTS + count - 1 } else { random.below(INPUTS + count) });
        Function { steps, outputs: outputs.collect() }
    }

    fn call(&self, x: [Var; INPUTS]) -> Vec<Var> {
        let mut numbers = x.to_vec();
        for step in &self.steps {
            let (x, y, c) = (numbers[step.x], numbers[step.y], step.constant);
            numbers.push(match step.kind {
                0 => x + y,
                1 => x - y * c,
                2 => x * y,
                3 => x / (y * y + 1.5),
                4 => (x * x + 0.5).sqrt(),
                5 => c - x,
                6 => x.square() * 0.25 + c,
                7 => c / (x.abs() + 1.0),
                8 => x.max(y),
                9 => {
                    if x < y {
                        x * c
                    } else {
                        y + x
                    }
                }
                10 => {
                    if x > c {
                        x * y
                    } else {
                        x
                    }
                }
                _ => Real::select(x.less(y) | y.less(lift(c)), x * 0.5, y * x),
            });
        }
        self.outputs.iter().map(|&k| numbers[k]).collect()
    }
}

/// Equal to the bit. + 0.0: the sign of a zero is not part of the promise.
fn same(what: &str, many: &impl Tree<Leaf = f64>, one: &impl Tree<Leaf = f64>) {
    assert_eq!(bits(many), bits(one), "{what}");
}

fn bits(tree: &impl Tree<Leaf = f64>) -> Vec<u64> {
    let mut bits = Vec::with_capacity(tree.size());
    tree.visit_leaves(&mut |x| bits.push((x + 0.0).to_bits()));
    bits
}

/// All drivers of many points beside those of one point, which have a recording of their own: what one finds out about
/// branches is no help to the other.
fn every_driver_agrees(function: &Function, random: &mut Random, count: usize) -> usize {
    let start = random.points(1)[0];
    let (points, vectors) = (random.points(count), random.points(count));
    let outputs = function.outputs.len();
    let cotangents: Vec<Vec<f64>> = (0..count).map(|_| (0..outputs).map(|_| random.number()).collect()).collect();
    let many = record(start, |x| function.call(x));
    let one = record(start, |x| function.call(x));
    let (values, jvps) = (many.value_many(&points), many.jvp_many(&points, &vectors));
    let (vjps, jacobians) = (many.vjp_many(&points, &cotangents), many.jacobian_many(&points));
    let first_many = record(start, |x| function.call(x)[0]);
    let first = record(start, |x| function.call(x)[0]);
    let gradients = first_many.grad_many(&points);
    let (hessians, hvps) = (first_many.hessian_many(&points), first_many.hvp_many(&points, &vectors));
    let (both, all) = (many.value_and_jacobian_many(&points), first_many.value_grad_and_hessian_many(&points));
    assert_eq!([both.len(), all.len()], [count; 2]);
    let lengths = [values.len(), jvps.len(), vjps.len(), jacobians.len(), gradients.len(), hessians.len(), hvps.len()];
    assert_eq!(lengths, [count; 7]);
    for (k, (&x, &v)) in points.iter().zip(&vectors).enumerate() {
        let what = format!("{function:?} at point {k} of {count}, {x:?}");
        same(&what, &values[k], &one.value(x));
        same(&what, &(&jvps[k].0, &jvps[k].1), &one.jvp(x, v));
        same(&what, &vjps[k], &one.vjp(x, cotangents[k].clone()));
        same(&what, &jacobians[k], &one.jacobian(x));
        same(&what, &gradients[k], &first.grad(x));
        same(&what, &hessians[k], &first.hessian(x));
        same(&what, &hvps[k], &first.hvp(x, v));
        same(&what, &both[k].0, &values[k]);
        same(&what, &both[k].1, &jacobians[k]);
        same(&what, &(all[k].0, all[k].1), &(first.value(x), gradients[k]));
        same(&what, &all[k].2, &hessians[k]);
        // cᵀ (J v) = (Jᵀ c)ᵀ v
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        let scale = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| (a * b).abs()).sum::<f64>();
        let (forward, backward) = (dot(&cotangents[k], &jvps[k].1), dot(&vjps[k], &v));
        let terms = jacobians[k].iter().zip(&cotangents[k]).map(|(row, c)| c.abs() * scale(row, &v)).sum::<f64>();
        let size = terms + scale(&cotangents[k], &jvps[k].1) + scale(&vjps[k], &v);
        assert!(!size.is_finite() || (forward - backward).abs() <= 1e-9 * (1.0 + size), "{what}");
    }
    many.recordings()
}

#[test]
fn arithmetic_has_the_bits_of_one_point() {
    let mut random = Random(1);
    for outputs in [1, 2, 5, 9] {
        for count in COUNTS {
            for _ in 0..6 {
                let function = Function::random(&mut random, ARITHMETIC, outputs);
                assert_eq!(every_driver_agrees(&function, &mut random, count), 1);
            }
        }
    }
}

#[test]
fn branches_have_the_bits_of_one_point() {
    let mut random = Random(2);
    let mut recordings = 0;
    for outputs in [1, 3, 6] {
        for count in COUNTS {
            for _ in 0..10 {
                let function = Function::random(&mut random, KINDS, outputs);
                recordings += every_driver_agrees(&function, &mut random, count);
            }
        }
    }
    assert!(recordings > 400, "the points must take several paths: {recordings} recordings of 210 functions");
}

/// A function of a recording that is under way is computed point by point, and its points' numbers are those of now.
#[test]
fn a_captured_variable_is_seen_by_every_driver() {
    let value = grad(3.0, |a| {
        let f = record([1.0, 2.0], move |[x, y]| (x * y + a.detach() * x) * y);
        assert_eq!(f.value_many(&[[2.0, 5.0]]), [80.0]);
        assert_eq!(f.jvp_many(&[[2.0, 5.0]], &[[1.0, 0.0]]), [(80.0, 40.0)]);
        assert_eq!(f.vjp_many(&[[2.0, 5.0]], &[2.0]), [[80.0, 52.0]]);
        assert_eq!(f.hvp_many(&[[2.0, 5.0]], &[[1.0, 0.0]]), [[0.0, 13.0]]);
        assert_eq!(f.hessian_many(&[[2.0, 5.0]]), [[[0.0, 13.0], [13.0, 4.0]]]);
        a
    });
    assert_eq!(value, 1.0);
}

/// Functions of the lanes agree within rounding, and so do differences along a random direction.
#[test]
fn functions_agree_with_one_point_and_with_differences() {
    fn f<R: Real>(x: [R; INPUTS]) -> R {
        let [a, b, c, d, e] = x;
        (a * b).sin() * (c * 0.3).exp() + (d * d + e.cosh()).ln() * b.tanh() + (a - e).atan() / (c * c + 2.0)
    }
    let mut random = Random(3);
    let (points, vectors) = (random.points(33), random.points(33));
    let recorded = record(points[0], f::<Var>);
    let (hvps, hessians) = (recorded.hvp_many(&points, &vectors), recorded.hessian_many(&points));
    let step = 1e-5;
    let along = |sign: f64| -> Vec<Point> {
        let pairs = points.iter().zip(&vectors);
        pairs.map(|(x, v)| std::array::from_fn(|k| x[k] + sign * step * v[k])).collect()
    };
    let (after, before) = (recorded.grad_many(&along(1.0)), recorded.grad_many(&along(-1.0)));
    for k in 0..points.len() {
        let alone = recorded.hvp(points[k], vectors[k]);
        for i in 0..INPUTS {
            let size = 1.0 + alone[i].abs();
            assert!((hvps[k][i] - alone[i]).abs() <= 1e-12 * size, "{} and {}", hvps[k][i], alone[i]);
            let product: f64 = (0..INPUTS).map(|j| hessians[k][i][j] * vectors[k][j]).sum();
            assert!((product - alone[i]).abs() <= 1e-11 * size, "{product} and {}", alone[i]);
            // The step's square times fifth derivatives, and rounding over the step.
            let difference = (after[k][i] - before[k][i]) / (2.0 * step);
            assert!((difference - alone[i]).abs() <= 1e-7 * size, "{difference} and {}", alone[i]);
        }
    }
}

/// A point at which a derivative does not exist, beside ordinary ones in its group: nothing of it reaches them, and a
/// structural zero there stays a zero.
#[test]
fn a_singular_point_does_not_reach_its_neighbours() {
    let f = |[x, y]: [Var; 2]| x.sqrt() * y + y * y * 0.5;
    let points: Vec<[f64; 2]> = (0..9).map(|k| [if k == 3 { 0.0 } else { 1.0 + f64::from(k) }, 2.0]).collect();
    let recorded = record([1.0, 1.0], f);
    let vectors = vec![[0.0, 1.0]; 9];
    let (hvps, hessians) = (recorded.hvp_many(&points, &vectors), recorded.hessian_many(&points));
    let (jvps, jacobians) = (recorded.jvp_many(&points, &vectors), recorded.jacobian_many(&points));
    for (k, &x) in points.iter().enumerate() {
        let one: Recorded<_, _, _> = record([1.0, 1.0], f);
        let agree = |many: f64, one: f64| many == one || many.is_nan() && one.is_nan();
        let (hvp, hessian, jvp, jacobian) =
            (one.hvp(x, [0.0, 1.0]), one.hessian(x), one.jvp(x, [0.0, 1.0]), one.jacobian(x));
        assert!(agree(jvps[k].0, jvp.0) && agree(jvps[k].1, jvp.1), "{:?} and {jvp:?} at {x:?}", jvps[k]);
        for i in 0..2 {
            assert!(agree(hvps[k][i], hvp[i]), "{:?} and {hvp:?} at {x:?}", hvps[k]);
            assert!(agree(jacobians[k][i], jacobian[i]), "{:?} and {jacobian:?} at {x:?}", jacobians[k]);
            assert!((0..2).all(|j| agree(hessians[k][i][j], hessian[i][j])), "{:?} and {hessian:?}", hessians[k]);
        }
    }
}

/// Results of other lengths on other paths, with cotangents that fit each.
#[test]
fn cotangents_fit_the_path_of_their_point() {
    let f = record(1.0, |x: Var| if x < 2.0 { vec![x * 3.0] } else { vec![x * 5.0, x * 7.0] });
    let points: Vec<f64> = (0..20).map(|k| 0.2 * f64::from(k)).collect();
    let short = |x: f64| x < 2.0;
    let cotangents: Vec<Vec<f64>> =
        points.iter().map(|&x| if short(x) { vec![1.0] } else { vec![1.0, 10.0] }).collect();
    for (x, product) in points.iter().zip(f.vjp_many(&points, &cotangents)) {
        assert_eq!(product, if short(*x) { 3.0 } else { 75.0 }, "{x}");
    }
}

#[test]
fn directions_that_do_not_fit_are_errors() {
    let f = record([1.0, 2.0], |[x, y]| x * y);
    let calls: [(&str, &dyn Fn()); 8] = [
        ("`vjp`: the cotangent has 2 numbers where 1 are needed", &|| {
            f.vjp([1.0, 2.0], [1.0, 1.0]);
        }),
        ("`vjp`: the cotangent has 0 numbers where 1 are needed", &|| {
            f.vjp([1.0, 2.0], [0.0; 0]);
        }),
        ("`vjp`: the cotangent has 2 numbers where 1 are needed", &|| {
            f.vjp_many(&[[1.0, 2.0]; 2], &[[1.0, 1.0]; 2]);
        }),
        ("`jvp_many`: there are 1 tangents for 2 points", &|| {
            f.jvp_many(&[[1.0, 2.0]; 2], &[[1.0, 0.0]]);
        }),
        ("`vjp_many`: there are 3 cotangents for 2 points", &|| {
            f.vjp_many(&[[1.0, 2.0]; 2], &[1.0; 3]);
        }),
        ("`hvp_many`: there are 0 vectors for 2 points", &|| {
            f.hvp_many(&[[1.0, 2.0]; 2], &[[0.0; 2]; 0]);
        }),
        ("`hvp_many`: the vector has 1 numbers where 2 are needed", &|| {
            f.hvp_many(&[[1.0, 2.0]; 2], &[1.0; 2]);
        }),
        ("a recorded function: the point has 3 numbers where 2 are needed", &|| {
            f.hessian_many(&[[1.0, 2.0, 3.0]]);
        }),
    ];
    for (text, call) in calls {
        let panic = std::panic::catch_unwind(std::panic::AssertUnwindSafe(call)).expect_err(text);
        assert_eq!(panic.downcast_ref::<String>().map(String::as_str), Some(text));
    }
}

#[test]
fn a_strict_function_refuses_another_branch() {
    let f = record(0.5, |x: Var| if x < 1.0 { x * x } else { x }).strict();
    assert_eq!(f.hessian_many(&[0.25, 0.75]), [2.0, 2.0]);
    let call = || f.hvp_many(&[0.25, 1.5], &[1.0, 1.0]);
    let panic = std::panic::catch_unwind(std::panic::AssertUnwindSafe(call)).expect_err("a flipped guard");
    assert!(panic.downcast_ref::<String>().is_some_and(|text| text.contains("strict")));
}
