//! Tests of what is private here.

use wengert_kernels::region::Kind;

use super::*;
use crate::ops::Compare;
use crate::straight::list::tests::{eval, same};

/// How many choices the results read.
fn choices(list: &List, roots: &[Node]) -> usize {
    let Demands { demands, .. } = Demands::of(list, roots);
    (0..list.len()).filter(|&k| demands[k].is_some() && list.get(Node(k as u32)).func == Func::Select).count()
}

/// The results of the list without choices that they do not see, and how many choices these read.
fn after(list: &List, roots: &[Node]) -> (List, Vec<Node>, usize) {
    let (list, places) = demanded(list, roots).expect("there are choices");
    let roots: Vec<Node> = roots.iter().map(|root| places[root.index()]).collect();
    let count = choices(&list, &roots);
    (list, roots, count)
}

/// A list with `x`, `y` and the conditions `x > y` and `x > 0`.
struct Start {
    list: List,
    x: Node,
    y: Node,
    zero: Node,
    above: Node,
    positive: Node,
}

fn start() -> Start {
    let mut list = List::default();
    let [x, y] = [0, 1].map(|k| list.input(k, Kind::F64));
    let zero = list.real(0.0, Kind::F64);
    let [above, positive] = [y, zero].map(|other| list.compare(Compare::Gt, x, other));
    Start { list, x, y, zero, above, positive }
}

#[test]
fn a_choice_behind_a_choice_by_the_same_condition_is_dropped() {
    let Start { mut list, x, y, zero, above, positive } = start();
    let inner = list.select(above, x, zero);
    let product = list.binary(Binary::Mul, inner, y);
    let outer = list.select(above, product, zero);
    assert_eq!(after(&list, &[outer]).2, 1);
    // Where it is read elsewhere too, or the other condition decides, it stays.
    assert_eq!(after(&list, &[outer, product]).2, 2);
    let other = list.select(positive, product, zero);
    assert_eq!(after(&list, &[other]).2, 2);
    assert_eq!(after(&list, &[outer, other]).2, 3);
    // On the side where the condition fails, it takes the other operand.
    let fails = list.select(above, zero, product);
    let (list, roots, count) = after(&list, &[fails]);
    assert_eq!(count, 1);
    assert!(eval(&list, roots[0], &[1.0, f64::INFINITY]).is_nan(), "0 times infinity");
}

#[test]
fn conditions_of_conditions_are_seen_through() {
    let Start { mut list, x, y, zero, above, positive } = start();
    let inner = list.select(above, x, zero);
    let product = list.binary(Binary::Mul, inner, y);
    let both = list.logic(Logic::And, &[positive, above]);
    let either = list.logic(Logic::Or, &[above, positive]);
    let not = list.logic(Logic::Not, &[above]);
    for (condition, sides, count) in [
        (both, [product, zero], 1),
        (both, [zero, product], 2),
        (either, [product, zero], 2),
        (either, [zero, product], 1),
        (not, [zero, product], 1),
        // Read where the inner choice takes the zero.
        (not, [product, zero], 1),
    ] {
        let outer = list.select(condition, sides[0], sides[1]);
        assert_eq!(after(&list, &[outer]).2, count, "{:?} {sides:?}", list.get(condition));
    }
}

#[test]
fn conditions_that_share_their_parts_end() {
    let Start { mut list, x, zero, above, positive, .. } = start();
    let mut condition = list.logic(Logic::And, &[above, positive]);
    for _ in 0..200 {
        condition = list.logic(Logic::And, &[condition, condition]);
        condition = list.logic(Logic::Not, &[condition]);
        condition = list.logic(Logic::Not, &[condition]);
    }
    let inner = list.select(condition, x, zero);
    let minus = list.unary(Unary::Neg, inner);
    let outer = list.select(condition, minus, x);
    assert_eq!(after(&list, &[outer]).2, 1);
}

#[test]
fn functions_keep_the_choice_in_front_of_them() {
    let Start { mut list, x, zero, above, .. } = start();
    let inner = list.select(above, x, zero);
    let sine = list.unary(Unary::Sin, inner);
    let outer = list.select(above, sine, zero);
    assert_eq!(after(&list, &[outer]).2, 2);
}

#[test]
fn sums_of_choices_are_one_choice() {
    let Start { mut list, x, y, zero, above, positive } = start();
    let (one, two) = (list.select(above, x, zero), list.select(above, y, zero));
    let minus = list.unary(Unary::Neg, two);
    let three = list.binary(Binary::Mul, x, y);
    let three = list.select(above, three, zero);
    let sum = list.binary(Binary::Add, one, minus);
    let sum = list.binary(Binary::Add, sum, three);
    assert_eq!(after(&list, &[sum]).2, 1);
    let (left, right) = (list.select(above, x, zero), list.select(above, zero, y));
    let both = list.binary(Binary::Add, left, right);
    assert_eq!(after(&list, &[both]).2, 1);
    let minus = list.unary(Unary::Neg, left);
    let below = list.binary(Binary::Sub, minus, right);
    let (new, places, count) = after(&list, &[below]);
    assert_eq!(count, 1, "the sign is taken along");
    for point in [[3.0, 2.0], [2.0, 3.0]] {
        assert!(same(eval(&new, places[0], &point), eval(&list, below, &point)), "at {point:?}");
    }
    // Not where one of them is read again, nor of two conditions.
    assert_eq!(after(&list, &[sum, two]).2, 3);
    let other = list.select(positive, y, zero);
    let apart = list.binary(Binary::Mul, one, other);
    assert_eq!(after(&list, &[apart]).2, 2);
}

#[test]
fn lists_without_choices_stay_as_they_are() {
    let Start { list, x, .. } = start();
    assert!(demanded(&list, &[x]).is_none());
}

#[test]
fn results_keep_every_bit() {
    let special = [0.0, -0.0, 1.0, -1.0, 2.5, -3.0, 1e-310, f64::INFINITY, f64::NEG_INFINITY, f64::NAN];
    let mut state = 11u64;
    let mut next = |n: usize| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) as usize % n
    };
    let (mut dropped, mut kept) = (0, 0);
    for _ in 0..6000 {
        let mut list = List::default();
        let mut numbers: Vec<Node> = (0..3).map(|k| list.input(k, Kind::F64)).collect();
        numbers.push(list.real(special[next(special.len())], Kind::F64));
        numbers.push(list.real(0.0, Kind::F64));
        // Few conditions, so that many choices are by the same one.
        let mut conditions: Vec<Node> = (0..2)
            .map(|_| {
                let op = [Compare::Gt, Compare::Ne, Compare::Unordered][next(3)];
                list.compare(op, numbers[next(4)], numbers[next(4)])
            })
            .collect();
        for _ in 0..4 + next(16) {
            let (a, b) = (numbers[next(numbers.len())], numbers[next(numbers.len())]);
            let condition = conditions[next(conditions.len())];
            let other = conditions[next(conditions.len())];
            match next(12) {
                0 => numbers.push(list.unary(Unary::Neg, a)),
                1 => numbers.push(list.unary([Unary::Abs, Unary::Sqrt, Unary::Exp][next(3)], a)),
                2 => numbers.push(list.binary(Binary::Sub, a, b)),
                3 | 4 => numbers.push(list.binary(Binary::Add, a, b)),
                5 | 6 => numbers.push(list.binary(Binary::Mul, a, b)),
                7 if next(3) == 0 => conditions.push(match next(3) {
                    0 => list.logic(Logic::Not, &[condition]),
                    1 => list.logic(Logic::And, &[condition, other]),
                    _ => list.logic(Logic::Or, &[condition, other]),
                }),
                7 if next(3) == 0 => conditions.push(list.compare(Compare::Le, a, b)),
                8 => numbers.push(list.select(condition, a, b)),
                _ => {
                    let zero = numbers[4];
                    numbers.push(if next(4) == 0 {
                        list.select(condition, zero, a)
                    } else {
                        list.select(condition, a, zero)
                    });
                }
            }
        }
        let roots: Vec<Node> =
            (0..1 + next(3)).map(|_| numbers[numbers.len() - 1 - next(numbers.len().min(4))]).collect();
        let before = choices(&list, &roots);
        if before == 0 {
            continue;
        }
        let (new, places, count) = after(&list, &roots);
        dropped += usize::from(count < before);
        kept += usize::from(count == before);
        assert!(count <= before, "{list:?}");
        for _ in 0..8 {
            let x: Vec<f64> = (0..3).map(|_| special[next(special.len())]).collect();
            for (&root, &place) in roots.iter().zip(&places) {
                let (want, got) = (eval(&list, root, &x), eval(&new, place, &x));
                assert!(same(got, want), "{got} instead of {want} at {x:?}: {list:?} {roots:?}");
            }
        }
    }
    assert!(dropped > 500 && kept > 500, "{dropped} {kept}");
}
