//! Recorded functions with branches: a replay never gives the derivative of the wrong branch.

use std::cell::RefCell;
use std::cmp::Ordering;
use std::collections::HashSet;
use std::sync::atomic::{AtomicUsize, Ordering as Atomic};

use wengert::ops::{Binary, Unary};
use wengert::prelude::*;

/// A function of three numbers that notes which way it goes.
trait Branching {
    fn call<R: Real>(&self, x: [R; 3], log: &mut Vec<u8>) -> R;
}

/// A chain of `if` and `else if`.
struct Chain;

impl Branching for Chain {
    fn call<R: Real>(&self, [x, y, z]: [R; 3], log: &mut Vec<u8>) -> R {
        if x < y {
            log.push(0);
            x * y.exp() + z
        } else if x * z > 0.5 {
            log.push(1);
            (x * z).ln() * y
        } else if z == 0.25 {
            log.push(2);
            x
        } else if z >= x - 1.0 {
            log.push(3);
            z.sin() / (x * x + 1.0)
        } else {
            log.push(4);
            y * 3.0
        }
    }
}

/// Loops whose numbers of rounds depend on the input.
struct Loops;

impl Branching for Loops {
    fn call<R: Real>(&self, [x, y, z]: [R; 3], log: &mut Vec<u8>) -> R {
        let (mut sum, mut term) = (R::constant(1.0), x * y);
        while term.abs() > 0.05 {
            log.push(0);
            sum += term;
            term *= z * 0.3;
        }
        let mut count = R::constant(0.0);
        while count < y.abs() * 2.0 {
            log.push(1);
            count += 1.0;
            sum = sum * 0.5 + (x * count).cos();
        }
        sum
    }
}

/// `if` in `if`, with comparisons of every kind.
struct Nested;

impl Branching for Nested {
    fn call<R: Real>(&self, [x, y, z]: [R; 3], log: &mut Vec<u8>) -> R {
        let mut result = z;
        if x <= 0.0 {
            log.push(0);
            if y > x {
                log.push(1);
                result += (y - x).sqrt();
                if z != 0.0 {
                    log.push(2);
                    if z < y {
                        log.push(3);
                        result *= z;
                    }
                }
            } else {
                log.push(4);
                result = result * result - y;
            }
        } else {
            let [first, second] = [y >= 0.0, y < 0.0 && z >= 0.0];
            log.extend([5, u8::from(first), u8::from(second)]);
            if first || second {
                result = result.atan2(x) + y;
            }
        }
        result * x
    }
}

/// Sorts by `partial_cmp`, then weighs by rank.
struct Sorted;

impl Branching for Sorted {
    fn call<R: Real>(&self, x: [R; 3], log: &mut Vec<u8>) -> R {
        let mut sorted = [x[0], x[1] * 1.5, x[2] * x[0]];
        sorted.sort_by(|a, b| {
            let ordering = a.partial_cmp(b).expect("no NaN among the inputs");
            log.push(match ordering {
                Ordering::Less => 0,
                Ordering::Equal => 1,
                Ordering::Greater => 2,
            });
            ordering
        });
        sorted[0] + sorted[1] * sorted[1] * 2.0 + (sorted[2] * 3.0).sin()
    }
}

/// Numbers between -2 and 2 that are the same in every run (a linear congruential generator with
/// the constants of D. E. Knuth's MMIX).
fn random_points(count: usize) -> Vec<[f64; 3]> {
    let mut state = 42u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as f64 / f64::from(1u32 << 29) - 2.0
    };
    (0..count).map(|_| [next(), next(), next()]).collect()
}

fn bits<const N: usize>(numbers: [f64; N]) -> [u64; N] {
    // + 0.0: the sign of a zero is not part of the promise.
    numbers.map(|number| (number + 0.0).to_bits())
}

/// Records once, asks at a thousand points, and compares with a fresh recording at every one.
fn replay_is_fresh(name: &str, f: &impl Branching) {
    let points = random_points(1000);
    let call = |x: [Var; 3]| f.call(x, &mut Vec::new());
    let recorded = record(points[0], call).paths(1000);
    let mut paths = HashSet::new();
    for &x in &points {
        let mut path = Vec::new();
        let value = f.call(x, &mut path);
        paths.insert(path);
        let fresh = record(x, call);
        assert_eq!(recorded.value(x).to_bits(), value.to_bits(), "{name} at {x:?}");
        assert_eq!(bits(recorded.grad(x)), bits(fresh.grad(x)), "{name} at {x:?}");
        assert_eq!(bits(recorded.grad(x)), bits(grad(x, call)), "{name} at {x:?}");
        let (again, gradient) = recorded.value_and_grad(x);
        assert_eq!((again.to_bits(), bits(gradient)), (value.to_bits(), bits(fresh.grad(x))), "{name} at {x:?}");
        assert_eq!(recorded.hessian(x).map(bits), fresh.hessian(x).map(bits), "{name} at {x:?}");
        assert_eq!(recorded.hessian(x).map(bits), hessian(x, call).map(bits), "{name} at {x:?}");
        let v = [0.3, -1.0, 2.0];
        assert_eq!(bits(recorded.hvp(x, v)), bits(hvp(x, v, call)), "{name} at {x:?}");
        assert_eq!(recorded.jvp(x, v), jvp(x, v, call), "{name} at {x:?}");
        assert_eq!(fresh.recordings(), 1, "{name} at {x:?}");
    }
    assert!(paths.len() > 3, "{name}: the points must take several paths");
    assert!(recorded.recordings() <= paths.len(), "{name}: {} recordings", recorded.recordings());
    // All at once, from one path after another.
    let together = recorded.value_and_grad_many(&points);
    for (&x, (value, gradient)) in points.iter().zip(together) {
        let (alone, by_itself) = recorded.value_and_grad(x);
        let close = |a: f64, b: f64| (a - b).abs() <= 1e-12 * (1.0 + a.abs());
        assert!(close(alone, value), "{name} at {x:?}: {alone} and {value}");
        assert!((0..3).all(|k| close(by_itself[k], gradient[k])), "{name} at {x:?}: {by_itself:?} and {gradient:?}");
    }
    assert!(recorded.recordings() <= paths.len(), "{name}: {} recordings", recorded.recordings());
}

#[test]
fn a_chain_of_ifs() {
    replay_is_fresh("chain", &Chain);
}

#[test]
fn loops_with_data_dependent_rounds() {
    replay_is_fresh("loops", &Loops);
}

#[test]
fn nested_ifs() {
    replay_is_fresh("nested", &Nested);
}

#[test]
fn sorting() {
    replay_is_fresh("sorted", &Sorted);
}

#[test]
fn a_value_that_only_an_equality_meets() {
    // the third branch of the chain is taken at one value alone
    let recorded = record([1.0, 0.0, 0.2], |x| Chain.call(x, &mut Vec::new()));
    assert_eq!(recorded.grad([1.0, 0.0, 0.25]), [1.0, 0.0, 0.0]);
    assert_ne!(recorded.grad([1.0, 0.0, 0.2]), [1.0, 0.0, 0.0]);
    assert_eq!(recorded.recordings(), 2);
}

#[test]
fn nan_takes_the_branch_that_it_takes_in_a_plain_run() {
    let f = |x: Var| if x < 1.0 { x * 2.0 } else { x * 3.0 };
    let recorded = record(0.0, f);
    assert_eq!((recorded.grad(f64::NAN), grad(f64::NAN, f)), (3.0, 3.0));
    let ordered = |x: Var| match x.partial_cmp(&1.0) {
        Some(Ordering::Less) => x * 2.0,
        Some(Ordering::Equal) => x * 4.0,
        Some(Ordering::Greater) => x * 3.0,
        None => x * 5.0,
    };
    let recorded = record(0.0, ordered);
    let slopes = [0.5, 1.0, 2.0, f64::NAN, 0.0].map(|x| recorded.grad(x));
    assert_eq!(slopes, [2.0, 4.0, 3.0, 5.0, 2.0]);
    assert_eq!(recorded.recordings(), 4);
    assert_eq!(recorded.grad_many(&[f64::NAN, 0.0, 2.0, 1.0]), [5.0, 2.0, 3.0, 4.0]);
}

/// `k x` on the path of `k`, the integer part of `x`.
fn staircase(x: Var) -> Var {
    let mut k = 0.0;
    while x >= k + 1.0 {
        k += 1.0;
    }
    x * k
}

#[test]
fn a_bounded_cache_forgets_the_path_used_longest_ago() {
    let recorded = record(1.5, staircase).paths(2);
    let steps = |points: &[f64]| {
        for &x in points {
            assert_eq!(recorded.value_and_grad(x), (x * x.floor(), x.floor()));
        }
        recorded.recordings()
    };
    assert_eq!(steps(&[1.1, 1.2, 1.9]), 1);
    assert_eq!(steps(&[2.5, 1.5, 2.1, 1.1]), 2, "two paths fit");
    assert_eq!(steps(&[3.5]), 3);
    assert_eq!(steps(&[1.5, 3.2]), 3, "the path of 1 was used after that of 2");
    assert_eq!(steps(&[2.5]), 4);
    assert_eq!(steps(&[1.5, 2.5, 3.5, 1.5, 2.5, 3.5]), 9, "three paths in turn do not fit in two places");
    // a limit of none keeps one
    let single = record(1.5, staircase).paths(0);
    assert_eq!([1.5, 2.5, 1.5].map(|x| single.grad(x)), [1.0, 2.0, 1.0]);
    assert_eq!(single.recordings(), 3);
}

#[test]
fn a_strict_function_refuses_another_branch() {
    let recorded = record(1.5, staircase).strict();
    assert_eq!(recorded.try_value(1.25), Ok(1.25));
    assert_eq!(recorded.try_grad(1.75), Ok(1.0));
    let flipped = recorded.try_value(2.5).expect_err("another path");
    assert_eq!(recorded.try_grad(0.5), Err(flipped.clone()));
    assert_eq!(recorded.recordings(), 1);
    let text = flipped.to_string();
    assert!(text.contains("replay.rs") && text.contains("strict"), "{text}");
    let panics: [(&str, &dyn Fn()); 6] = [
        ("value", &|| {
            recorded.value(2.5);
        }),
        ("grad", &|| {
            recorded.grad(2.5);
        }),
        ("value_and_grad", &|| {
            recorded.value_and_grad(2.5);
        }),
        ("hessian", &|| {
            recorded.hessian(2.5);
        }),
        ("hvp", &|| {
            recorded.hvp(2.5, 1.0);
        }),
        ("grad_many", &|| {
            recorded.grad_many(&[1.5, 2.5]);
        }),
    ];
    for (name, call) in panics {
        let panic = std::panic::catch_unwind(std::panic::AssertUnwindSafe(call)).expect_err(name);
        assert_eq!(panic.downcast_ref::<String>(), Some(&text), "{name}");
    }
    // and still works
    assert_eq!(recorded.grad_many(&[1.5, 1.25]), [1.0, 1.0]);
}

#[test]
fn select_in_place_of_if_needs_no_second_recording() {
    fn f<R: Real>([x, y, z]: [R; 3]) -> R {
        let low = R::select(x.less(y), x * y.exp() + z, z * z - x);
        R::select(low.less(R::constant(0.5)), low.sin(), R::branch(z.less(x), || x * z, || low / (y * y + 1.0)))
    }
    let recorded = record([0.1, 0.2, 0.3], f::<Var>);
    for x in random_points(1000) {
        let fresh = record(x, f::<Var>);
        assert_eq!(recorded.value(x).to_bits(), f(x).to_bits());
        assert_eq!(bits(recorded.grad(x)), bits(fresh.grad(x)));
        assert_eq!(recorded.hessian(x).map(bits), fresh.hessian(x).map(bits));
        // outside a recording that is kept there is no selection to mask
        let plain = grad(x, f::<Var>);
        assert!((0..3).all(|k| (plain[k] - recorded.grad(x)[k]).abs() <= 1e-14 * (1.0 + plain[k].abs())));
    }
    assert_eq!(recorded.recordings(), 1);
}

#[test]
fn a_recording_that_captures_an_outer_variable() {
    // g(a) = f(2) + f'(2) + f''(2), f(x) = a x^2 if x > a, else a^2 x
    let g = |a: Var| {
        let f = record(lift(1.0).value(), |x: Var| if x > a { a * x * x } else { a * a * x });
        let two = lift(2.0);
        f.value(two) + f.grad(two) + f.hessian(two)
    };
    assert_eq!(value_and_grad(1.5, g), (1.5 * 10.0, 10.0));
    assert_eq!(value_and_grad(3.0, g), (9.0 * 3.0, 2.0 * 3.0 * 3.0));
    assert_eq!((hessian(1.5, g), hessian(3.0, g)), (0.0, 6.0));
}

#[test]
fn replay_inside_another_driver_follows_the_branches() {
    let f = record([0.5, 0.5], |[x, y]| if x < y { x * x * y } else { x + y.exp() });
    for x in [0.3, 1.7, -0.4, 2.5] {
        // d/dx f(x, x^2)
        let below = x < x * x;
        let expected = if below { 4.0 * x * x * x } else { 1.0 + 2.0 * x * (x * x).exp() };
        let got = grad(x, |x| f.value([x, x * x]));
        assert!((got - expected).abs() <= 1e-14 * expected.abs().max(1.0), "{x}: {got}, {expected}");
        let second = hessian(x, |x| f.value([x, x * x]));
        let expected = if below { 12.0 * x * x } else { (2.0 + 4.0 * x * x) * (x * x).exp() };
        assert!((second - expected).abs() <= 1e-13 * expected.abs().max(1.0), "{x}: {second}, {expected}");
        // derivatives of the replayed gradient, Hessian and products
        let by_y = jacobian([x, x * x], |p| f.grad(p));
        assert_eq!(by_y.map(bits), f.hessian([x, x * x]).map(bits));
        let third = grad(x, |x| f.hvp([x, x * x], [lift(1.0), lift(0.0)])[0]);
        assert_eq!(third, if below { 4.0 * x } else { 0.0 });
    }
    assert_eq!(f.recordings(), 2);
}

#[test]
fn replay_inside_a_recording_guards_the_outer_one() {
    let inner = record(0.5, |x: Var| if x < 1.0 { x * x } else { x * 10.0 });
    let outer = record(0.5, |x| inner.value(x) + x);
    for x in [0.25, 0.75, 1.5, 0.25, 3.0] {
        assert_eq!(outer.grad(x), if x < 1.0 { 2.0 * x + 1.0 } else { 11.0 }, "{x}");
    }
    assert_eq!(outer.recordings(), 2);
}

#[test]
fn many_points_with_mixed_branches() {
    let f = |x: Var| {
        if x < 1.0 {
            x * 2.0
        } else if x < 3.0 {
            x * x
        } else {
            x.sqrt()
        }
    };
    let expected = |x: f64| {
        if x < 1.0 {
            2.0
        } else if x < 3.0 {
            2.0 * x
        } else {
            0.5 / x.sqrt()
        }
    };
    for count in [0, 1, 7, 8, 9, 64, 203] {
        let points: Vec<f64> = (0..count).map(|k| 0.25 * f64::from(k % 20)).collect();
        let recorded = record(0.0, f);
        let gradients = recorded.grad_many(&points);
        assert_eq!(gradients.len(), points.len());
        let together = recorded.value_and_grad_many(&points);
        let values = recorded.value_many(&points);
        for (k, &x) in points.iter().enumerate() {
            assert_eq!(gradients[k], expected(x), "{x}");
            assert_eq!(together[k], (recorded.value(x), expected(x)), "{x}");
            assert_eq!(values[k], recorded.value(x), "{x}");
        }
        assert!(recorded.recordings() <= 3);
    }
}

#[test]
fn results_of_different_lengths_on_different_paths() {
    // the powers of x that are below 100
    let f = record(vec![3.0], |x| {
        let mut powers = vec![x[0]];
        while powers[powers.len() - 1] * x[0] < 100.0 && powers.len() < 12 {
            powers.push(powers[powers.len() - 1] * x[0]);
        }
        powers
    });
    for x in [3.0, 5.0, 3.5, 1.5, 60.0] {
        let count = (1..=12).take_while(|&k| k == 1 || f64::powi(x, k) < 100.0).count();
        let powers = f.value(vec![x]);
        assert_eq!(powers.len(), count, "{x}");
        let matrix = f.jacobian(vec![x]);
        assert_eq!((matrix.len(), matrix[0].len()), (count, 1));
        let tangents = f.jvp(vec![x], vec![1.0]).1;
        for k in 0..count {
            let slope = (k + 1) as f64 * x.powi(k as i32);
            assert!((matrix[k][0] - slope).abs() <= 1e-13 * slope, "{x}");
            assert!((tangents[k] - slope).abs() <= 1e-13 * slope, "{x}");
        }
        let sum = f.vjp(vec![x], vec![1.0; count]);
        assert!((sum[0] - tangents.iter().sum::<f64>()).abs() <= 1e-12 * sum[0]);
    }
    let shorter = f.value_many(&[vec![3.0], vec![60.0], vec![1.5]]);
    assert_eq!(shorter.iter().map(Vec::len).collect::<Vec<_>>(), [4, 1, 11]);
}

/// Every elementary function, with a variable or a constant on either side, beside operations before and after it: a
/// replay of one point has the bits of a fresh sweep.
#[test]
fn every_operation_is_replayed_to_the_bit() {
    let check = |what: String, points: &[[f64; 2]], f: &dyn Fn([Var; 2]) -> Var| {
        let recorded = record(points[0], f);
        for &point in points.iter().chain(points.iter().rev()) {
            assert_eq!(bits(recorded.grad(point)), bits(grad(point, f)), "{what} at {point:?}");
        }
    };
    for &op in Unary::ALL {
        let points: Vec<[f64; 2]> = op.samples().iter().map(|&x| [x, 1.0 + x]).collect();
        check(format!("{op:?}"), &points, &|[x, y]| (x * 1.0).unary(op) * y - y);
    }
    for &op in Binary::ALL {
        let points: Vec<[f64; 2]> = op.samples().iter().map(|&(x, y)| [x, y]).collect();
        let [a, b] = points[0];
        check(format!("{op:?}"), &points, &|[x, y]| (x + x.binary(y, op)) * y);
        check(format!("{op:?} to a constant"), &points, &|[x, y]| x.binary_constant(b, op) * y * x);
        check(format!("{op:?} of a constant"), &points, &|[x, y]| Real::constant_binary(a, y, op) * y * x);
    }
}

/// Points at which a derivative that does not exist meets a zero, between points where all is well, on a path and after
/// guards that flipped: nothing of one run is left for the next.
#[test]
fn a_replay_starts_clean() {
    let f = |[x, y, z]: [Var; 3]| {
        let root = (x * 1.0).sqrt() * y;
        if z < 1.0 { root + z * z } else { ((root + z) * x).exp() * z }
    };
    let recorded = record([4.0, 2.0, 0.5], f);
    let same = |a: f64, b: f64| a == b || a.is_nan() && b.is_nan();
    let ordinary = [[4.0, 2.0, 0.5], [0.25, -1.0, 2.0], [1.0, 3.0, -0.5]];
    // The derivative of the root is infinite, and what flows back to it +0.0, -0.0, infinite or NaN.
    let special =
        [[0.0, -0.0, 0.5], [0.0, 0.0, 0.5], [0.0, -0.0, 3.0], [0.0, f64::INFINITY, 2.0], [-1.0, 1.0, f64::NAN]];
    for point in special {
        for x in ordinary.into_iter().chain([point]).chain(ordinary) {
            let (found, wanted) = (recorded.grad(x), grad(x, f));
            assert!((0..3).all(|k| same(found[k], wanted[k])), "{x:?}: {found:?} and {wanted:?}");
        }
    }
    assert_eq!(recorded.recordings(), 2);
}

/// A result that no input reaches, and one that is an input.
#[test]
fn results_without_records_are_replayed() {
    let constant = record([1.0, 2.0], |_| lift(3.0));
    assert_eq!(constant.grad([4.0, 5.0]), [0.0, 0.0]);
    let input = record([1.0, 2.0], |[_, y]| y);
    assert_eq!(input.grad([4.0, 5.0]), [0.0, 1.0]);
    let severed = record([1.0, 2.0], |[x, y]| (x * y).detach() + x * (y * 2.0).floor());
    assert_eq!(severed.grad([4.0, 5.0]), [10.0, 0.0]);
}

#[test]
fn threads_share_a_recorded_function() {
    let runs = AtomicUsize::new(0);
    let f = record([0.1, 0.2, 0.3], |x| {
        runs.fetch_add(1, Atomic::Relaxed);
        Nested.call(x, &mut Vec::new())
    });
    let points = random_points(400);
    std::thread::scope(|scope| {
        for worker in 0..4 {
            let (f, points) = (&f, &points);
            scope.spawn(move || {
                for x in points.iter().skip(worker * 31).chain(points) {
                    let expected = grad(*x, |x| Nested.call(x, &mut Vec::new()));
                    assert_eq!(bits(f.grad(*x)), bits(expected));
                }
                let together = f.grad_many(points);
                for (x, gradient) in points.iter().zip(together) {
                    let alone = f.grad(*x);
                    assert!((0..3).all(|k| (alone[k] - gradient[k]).abs() <= 1e-13 * (1.0 + alone[k].abs())));
                }
            });
        }
    });
    assert_eq!(f.recordings(), runs.load(Atomic::Relaxed));
    assert!(f.recordings() <= 4 * 7, "at most every thread records every path");
}

#[test]
fn the_function_runs_only_to_be_recorded() {
    let log = RefCell::new(Vec::new());
    let f = record(1.0, |x: Var| {
        log.borrow_mut().push(0);
        if x > 0.0 { x.ln() } else { x }
    });
    for x in [0.5, 2.0, -1.0, 3.0, -2.0] {
        f.value(x);
        f.grad(x);
        f.hessian(x);
    }
    assert_eq!(log.borrow().len(), 2);
}

#[test]
fn a_panic_in_the_function_leaves_the_recording_usable() {
    let f = record(1.0, |x: Var| {
        assert!(x > 0.0, "a negative input");
        x * x
    });
    for _ in 0..3 {
        let panic = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| f.grad(-1.0)));
        assert_eq!(
            *panic.expect_err("the function refuses it").downcast::<&str>().expect("its message"),
            "a negative input"
        );
        assert_eq!(f.grad(3.0), 6.0);
    }
    assert_eq!(grad(3.0, |x| x * x), 6.0);
}
