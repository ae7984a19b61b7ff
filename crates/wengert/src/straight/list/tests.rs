//! Tests of what is private here.

use super::*;

/// The value of an operation by its definition; a condition is 1 or 0.
pub(in crate::straight) fn eval(list: &List, node: Node, x: &[f64]) -> f64 {
    let scalar = list.get(node);
    let arg = |k: usize| eval(list, scalar.args[k], x);
    let truth = |holds: bool| f64::from(u8::from(holds));
    match scalar.func {
        Func::Number(bits) => f64::from_bits(bits),
        Func::Input(k) => x[k as usize],
        Func::Unary(op) => op.eval(arg(0)),
        Func::Binary(op) => op.eval(arg(0), arg(1)),
        Func::Compare(op) => truth(op.eval(arg(0), arg(1))),
        Func::Logic(op) => truth({
            let (x, y) = (arg(0) != 0.0, arg(scalar.operands().len() - 1) != 0.0);
            match op {
                Logic::And => x && y,
                Logic::Or => x || y,
                Logic::Xor => x != y,
                Logic::Not => !x,
            }
        }),
        Func::Select => arg(if arg(0) != 0.0 { 1 } else { 2 }),
        other => unreachable!("{other:?}"),
    }
}

/// Whether two numbers have the same bits; one NaN is as good as another.
pub(in crate::straight) fn same(x: f64, y: f64) -> bool {
    x.to_bits() == y.to_bits() || (x.is_nan() && y.is_nan())
}

#[test]
fn rewrites_keep_every_bit() {
    let special = [0.0, -0.0, 1.0, -1.0, 2.5, -3.0, 1e-310, f64::INFINITY, f64::NEG_INFINITY, f64::NAN];
    let mut state = 3u64;
    let mut next = |n: usize| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) as usize % n
    };
    for _ in 0..3000 {
        let mut list = List::default();
        let x: Vec<f64> = (0..3).map(|_| special[next(special.len())]).collect();
        let mut seen: Vec<(Node, f64)> = (0..3).map(|k| (list.input(k as u32, Kind::F64), x[k])).collect();
        for number in special {
            seen.push((list.real(number, Kind::F64), number));
        }
        for _ in 0..12 {
            let (a, b) = (seen[next(seen.len())], seen[next(seen.len())]);
            seen.push(match next(7) {
                0 => (list.unary(Unary::Neg, a.0), -a.1),
                1 => (list.unary(Unary::Abs, a.0), a.1.abs()),
                2 => (list.unary(Unary::Square, a.0), a.1 * a.1),
                3 => (list.binary(Binary::Add, a.0, b.0), a.1 + b.1),
                4 => (list.binary(Binary::Sub, a.0, b.0), a.1 - b.1),
                5 => (list.binary(Binary::Mul, a.0, b.0), a.1 * b.1),
                _ => (list.binary(Binary::Div, a.0, b.0), a.1 / b.1),
            });
        }
        for &(node, want) in &seen {
            let got = eval(&list, node, &x);
            assert!(same(got, want), "{got} instead of {want} at {x:?}: {list:?}");
        }
    }
}

#[test]
fn equal_operations_are_one() {
    let mut list = List::default();
    let [x, y] = [0, 1].map(|k| list.input(k, Kind::F64));
    let minus = list.unary(Unary::Neg, x);
    let (one, two) = (list.binary(Binary::Mul, minus, y), list.binary(Binary::Mul, y, x));
    assert_eq!(list.unary(Unary::Neg, one), two, "the sign is outside");
    let (three, minus_three) = (list.real(3.0, Kind::F64), list.real(-3.0, Kind::F64));
    let (one, two) = (list.binary(Binary::Mul, three, y), list.binary(Binary::Mul, y, minus_three));
    assert_eq!(list.binary(Binary::Add, x, two), list.binary(Binary::Sub, x, one));
}
