//! Activity: whether a derivative flows from a variable of a recording under way to a `Var`, so that
//! its number must not leave the recording.

use std::collections::HashSet;

use super::{LIST, Line, List, TAPE};
use crate::tape::Var;
use crate::tape::record::{INDEX_MASK, Op};

/// The driver whose derivative flows through `x`, if there is one: the innermost of them.
///
/// Walks the list back from `x`, past everything but detached values and steps: only reading a
/// number asks, and what may be read is usually a few records behind one of these.
///
/// # Panics
/// If the recording of `x` has ended.
pub(in crate::tape) fn active_in(x: Var, name: &str, line: Line) -> Option<Line> {
    LIST.with_borrow_mut(|list| {
        TAPE.with(|tape| {
            if !list.is_active(x, name, line) {
                return None;
            }
            list.gather(tape);
            let driver = list.driver_behind((x.tag & INDEX_MASK) as usize);
            list.scatter(tape);
            driver
        })
    })
}

impl List {
    /// The line of the driver whose variable the record depends on.
    fn driver_behind(&self, record: usize) -> Option<Line> {
        let (mut open, mut seen) = (vec![record], HashSet::from([record]));
        while let Some(index) = open.pop() {
            let level = self.levels.iter().rev().find(|level| level.mark <= index as u64);
            let level = level.expect("every record belongs to a level");
            if index < level.mark as usize + level.inputs {
                return Some(level.line);
            }
            let record = self.records[index];
            if record.op() == Op::Result {
                let announced = (0..index).rev().find(|&k| self.records[k].op() == Op::Loop).expect("it comes before");
                let block = &self.blocks[record.b()];
                let mut results = vec![false; block.results()];
                results[index - announced - 1] = true;
                let reached = block.sources.iter().zip(block.reached(&results)).filter(|(_, reached)| *reached);
                open.extend(reached.filter_map(|(source, _)| source.place()).filter(|&place| seen.insert(place)));
                continue;
            }
            let (uses_a, uses_b) = match record.op() {
                // A value of a Program.
                Op::Constant if record.a() == 1 => return Some(level.line),
                // Another input is that of a finished nested recording at plain numbers.
                Op::Input | Op::Constant => (false, false),
                Op::Unary(op) => (!op.is_flat(), false),
                op @ (Op::Copy | Op::Binary(..) | Op::Select) => op.operands(),
                // Outcomes of comparisons.
                Op::Guard(..) | Op::Condition(..) | Op::Not | Op::And | Op::Or | Op::Choose | Op::Taken => {
                    (false, false)
                }
                Op::Loop | Op::Result | Op::LoopEnd => (false, false),
            };
            let operands = [(uses_a, record.a()), (uses_b, record.b())];
            open.extend(operands.into_iter().filter(|&(uses, k)| uses && seen.insert(k)).map(|(_, k)| k));
        }
        None
    }
}

/// What was found, unless the recording of the operand has ended.
#[track_caller]
pub(super) fn live<T>(found: Option<T>, name: &str, line: Line) -> T {
    match found {
        Some(found) => found,
        None => stale(name, line),
    }
}

#[cold]
#[inline(never)]
#[track_caller]
fn stale(name: &str, line: Line) -> ! {
    panic!(
        "`{name}` at {line} uses a Var whose recording has ended, or that belongs to another \
         thread: a Var lives only inside the call that made it; return values from the closure \
         instead of storing Vars outside it"
    )
}
