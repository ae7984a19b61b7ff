//! What the fast way hands over: constants among the operands, variables of outer levels, a block that is full, and all that is
//! rarely recorded.

use std::cell::Cell;

use super::active::live;
use super::{Block, LIST, Line, TAPE, record_constant};
use crate::ops::{Binary, Unary};
use crate::tape::Var;
use crate::tape::record::{Form, INDEX_BITS, Op, Record};

/// Not cold: multiplication by data takes this path.
#[inline(never)]
pub(super) fn store_constant(constant: f64) -> u32 {
    let (place, full) = TAPE.with(|tape| (tape.store(constant), tape.constants_are_full()));
    if full {
        LIST.with_borrow_mut(|list| {
            TAPE.with(|tape| list.constants.extend(tape.constants.iter().map(Cell::get)));
        });
    }
    place
}

/// Code that is generic over numbers has constants for operands, so that it may well be called; it is cold nevertheless, or an operation
/// on two variables would jump over the call.
#[cold]
#[inline(never)]
#[track_caller]
pub(super) fn repair_both(op: Binary, x: Var, y: Var, value: f64, line: Line) -> Var {
    if let Some(var) = with_constant(op, x, y, value) {
        return var;
    }
    let var = LIST.with_borrow_mut(|list| {
        TAPE.with(|tape| {
            tape.undo();
            Some(match (list.has(x)?, list.has(y)?) {
                (false, false) => Var { value, tag: 0 },
                // Adjoint arithmetic multiplies by constant ones; 1 * x is x to the bit.
                (true, false) if op == Binary::Mul && y.value == 1.0 => x,
                (false, true) if op == Binary::Mul && x.value == 1.0 => y,
                (true, false) => list.append_with_constant(tape, op, Form::Right, x, y.value, value, line),
                (false, true) => list.append_with_constant(tape, op, Form::Left, y, x.value, value, line),
                (true, true) => {
                    let (code, _) = Op::Binary(op, Form::Both).encode();
                    list.append(tape, Record::new(code, x.tag, y.tag), value, line)
                }
            })
        })
    });
    live(var, op.name(), line)
}

/// `op(x, y)` in place of the newest record, if it is made of constants, or of one and a variable of the current level.
#[cfg_attr(not(debug_assertions), inline(always))]
#[track_caller]
fn with_constant(op: Binary, x: Var, y: Var, value: f64) -> Option<Var> {
    let next = TAPE.with(|tape| tape.next.get());
    let is_current = |var: Var| (var.tag ^ next) >> INDEX_BITS == 0;
    if x.tag | y.tag != 0 && !(y.tag == 0 && is_current(x)) && !(x.tag == 0 && is_current(y)) {
        return None;
    }
    TAPE.with(Block::undo);
    Some(match (x.tag, y.tag) {
        (0, 0) => Var { value, tag: 0 },
        // Adjoint arithmetic multiplies by constant ones; 1 * x is x to the bit.
        (_, 0) if op == Binary::Mul && y.value == 1.0 => x,
        (0, _) if op == Binary::Mul && x.value == 1.0 => y,
        (_, 0) => record_constant(op, Form::Right, x, y.value, value),
        _ => record_constant(op, Form::Left, y, x.value, value),
    })
}

#[cold]
#[inline(never)]
#[track_caller]
pub(super) fn repair_unary(op: Unary, x: Var, value: f64, line: Line) -> Var {
    if x.tag == 0 {
        TAPE.with(Block::undo);
        return Var { value, tag: 0 };
    }
    let var = LIST.with_borrow_mut(|list| {
        TAPE.with(|tape| {
            tape.undo();
            if !list.has(x)? {
                return Some(Var { value, tag: 0 });
            }
            let (code, number) = Op::Unary(op).encode();
            Some(list.append(tape, Record::new(code, x.tag, number), value, line))
        })
    });
    live(var, op.name(), line)
}

#[cold]
#[inline(never)]
#[track_caller]
pub(super) fn repair_constant(op: Binary, form: Form, x: Var, constant: f64, value: f64, line: Line) -> Var {
    if x.tag == 0 {
        return Var { value, tag: 0 };
    }
    let var = LIST.with_borrow_mut(|list| {
        TAPE.with(|tape| {
            if !list.has(x)? {
                return Some(Var { value, tag: 0 });
            }
            Some(list.append_with_constant(tape, op, form, x, constant, value, line))
        })
    });
    live(var, op.name(), line)
}

/// Records what has no fast way: conditions, guards, values taken out. A constant operand goes
/// where the operation's form says.
#[cold]
pub(in crate::tape) fn record_slowly(op: Op, [x, y]: [Var; 2], value: f64, line: Line) -> Var {
    LIST.with_borrow_mut(|list| {
        TAPE.with(|tape| {
            let (a, b) = match op {
                Op::Guard(_, Form::Right) | Op::Condition(_, Form::Right) => {
                    (list.place(tape, op, x, line), list.place_of_constant(tape, y.value))
                }
                Op::Guard(_, Form::Left) | Op::Condition(_, Form::Left) => {
                    (list.place(tape, op, y, line), list.place_of_constant(tape, x.value))
                }
                op if op.operands().1 => (list.place(tape, op, x, line), list.place(tape, op, y, line)),
                op => (list.place(tape, op, x, line), 0),
            };
            list.append(tape, Record::new(op.encode().0, a, b), value, line)
        })
    })
}

/// Records `yes` if `condition`, else `no`: two records, because there are three operands.
#[cold]
pub(in crate::tape) fn record_selection(condition: Var, branches: [Var; 2], value: f64, line: Line) -> Var {
    LIST.with_borrow_mut(|list| {
        TAPE.with(|tape| {
            let [yes, no] = branches.map(|branch| list.place(tape, Op::Select, branch, line));
            let condition_place = list.place(tape, Op::Choose, condition, line);
            let choose = Record::new(Op::Choose.encode().0, condition_place, 0);
            list.append(tape, choose, condition.value, line);
            list.append(tape, Record::new(Op::Select.encode().0, yes, no), value, line)
        })
    })
}
