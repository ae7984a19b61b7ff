//! Tests of what is private here.

use super::*;

fn every_op() -> Vec<Op> {
    let mut ops = PLAIN.to_vec();
    ops.extend(Unary::ALL.iter().map(|&op| Op::Unary(op)));
    for n in [-3, 0, 7, (1 << 27) - 1, -(1 << 27)] {
        ops.push(Op::Unary(Unary::Powi(n)));
    }
    for form in Form::ALL {
        ops.extend(Binary::ALL.iter().map(|&op| Op::Binary(op, form)));
        ops.extend(Compare::ALL.iter().map(|&op| Op::Guard(op, form)));
        ops.extend(Compare::ALL.iter().map(|&op| Op::Condition(op, form)));
    }
    ops
}

#[test]
fn a_record_gives_back_its_operation_and_operands() {
    for op in every_op() {
        let (code, number) = op.encode();
        let b = if matches!(op, Op::Unary(_)) { number } else { INDEX_MASK };
        let record = Record::new(code, INDEX_MASK - 5, b);
        assert_eq!(record.op(), op);
        assert_eq!(record.a() as u64, INDEX_MASK - 5);
        let moved = record.map_operands(|index| index - 1);
        let (uses_a, uses_b) = op.operands();
        assert_eq!(moved.op(), op);
        assert_eq!(moved.a(), record.a() - usize::from(uses_a));
        assert_eq!(moved.b(), record.b() - usize::from(uses_b));
    }
}
