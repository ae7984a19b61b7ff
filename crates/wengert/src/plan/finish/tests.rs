//! Tests of what is private here.

use super::*;
use wengert_kernels::region::Kind;

fn unary(f: Unary, a: u16, out: u16) -> Instr {
    Instr { op: Op::Unary(f, Kind::F64), a, b: 0, c: 0, out }
}

/// The twins of these instructions, and how many instructions are left.
fn joined(mut code: Vec<Instr>) -> (Vec<[u16; 3]>, usize) {
    join_twins(&mut code);
    let twins = code.iter().filter(|instr| matches!(instr.op, Op::Twin(..)));
    (twins.map(|instr| [instr.a, instr.out, instr.b]).collect(), code.len())
}

#[test]
fn functions_of_one_operand_are_joined_in_either_order() {
    let between = unary(Unary::Exp, 2, 3);
    let store = Instr { op: Op::Store(0), a: 2, b: 0, c: 0, out: 0 };
    assert_eq!(joined(vec![unary(Unary::Tanh, 1, 2), store, unary(Unary::Sech2, 1, 4)]), (vec![[1, 2, 4]], 2));
    assert_eq!(joined(vec![unary(Unary::Cos, 1, 2), between, unary(Unary::Sin, 1, 4)]), (vec![[1, 4, 2]], 2));
    let two = [[1, 2, 3], [4, 5, 6]];
    let code = two.map(|[a, s, c]| [unary(Unary::Sin, a, s), unary(Unary::Cos, a, c)]);
    assert_eq!(joined(code.concat()), (two.to_vec(), 2));
}

#[test]
fn what_is_in_use_between_them_keeps_them_apart() {
    let apart = |between: Instr, other: Instr| {
        assert_eq!(joined(vec![unary(Unary::Sin, 1, 2), between, other]).1, 3, "{between:?} {other:?}");
    };
    let cos = unary(Unary::Cos, 1, 4);
    // It changes the operand, or it reads or writes the other place.
    apart(unary(Unary::Exp, 2, 1), cos);
    apart(unary(Unary::Exp, 4, 3), cos);
    apart(unary(Unary::Exp, 2, 4), cos);
    apart(Instr { op: Op::Twin(Twin::TanhSech2, Kind::F64), a: 2, b: 4, c: 0, out: 5 }, cos);
    // Another operand, type or function, or one place for both.
    let between = unary(Unary::Exp, 2, 3);
    apart(between, unary(Unary::Cos, 2, 4));
    apart(between, Instr { op: Op::Unary(Unary::Cos, Kind::F32), ..cos });
    apart(between, unary(Unary::Sech2, 1, 4));
    apart(between, unary(Unary::Cos, 1, 2));
}
