//! The last step of lowering, for every kind of region: places get their numbers, and functions that share most of their work
//! ("twins") are computed together.

use wengert_kernels::region::{Instr, Invalid, Op, Parts, Region, Twin, Unary};

/// Numbers of operands that are used where they lie, while slots are still being made: the highest ones.
pub(super) const DIRECT: u16 = 0x8000;

/// The region of these parts, in which places from [`DIRECT`] on mean `parts.directs`.
pub(super) fn finish(mut parts: Parts) -> Result<Region, Invalid> {
    // What is used where it lies comes after the slots, now that their number is known.
    let slots = parts.slots.len() as u16;
    let place = |place: u16| if place >= DIRECT { place - DIRECT + slots } else { place };
    for Instr { a, b, c, out, .. } in &mut parts.code {
        (*a, *b, *c, *out) = (place(*a), place(*b), place(*c), place(*out));
    }
    join_twins(&mut parts.code);
    Region::new(parts)
}

/// Replaces two functions of one operand by one instruction at the position of the first: the second place must not be in use
/// between them.
fn join_twins(code: &mut Vec<Instr>) {
    let mut at = 0;
    while at < code.len() {
        let has_twin = |f: Unary| Twin::ALL.iter().any(|twin| twin.functions().contains(&f));
        if let Op::Unary(f, kind) = code[at].op
            && has_twin(f)
            && let Some((twin, other)) = (at + 1..code.len()).find_map(|k| Some((twin(code, at, k)?, k)))
        {
            let (Instr { a, out, .. }, second) = (code[at], code.remove(other).out);
            let [out, b] = if f == twin.functions()[0] { [out, second] } else { [second, out] };
            code[at] = Instr { op: Op::Twin(twin, kind), a, b, c: 0, out };
        }
        at += 1;
    }
}

/// What the instructions `at` and `other`, a later one, are together, if the later one can be done early.
fn twin(code: &[Instr], at: usize, other: usize) -> Option<Twin> {
    let (Op::Unary(first, kind), Op::Unary(second, own)) = (code[at].op, code[other].op) else { return None };
    let is_twin = |twin: &Twin| [[first, second], [second, first]].contains(&twin.functions());
    let twin = Twin::ALL.into_iter().find(is_twin).filter(|_| kind == own && code[at].a == code[other].a)?;
    let (from, to) = (code[at].a, code[other].out);
    // An instruction with fewer operands names place 0 for the others, so it may block the replacement without need.
    let free = |instr: &Instr| {
        let writes = [instr.out, if let Op::Twin(..) = instr.op { instr.b } else { instr.out }];
        !writes.contains(&from) && !writes.contains(&to) && ![instr.a, instr.b, instr.c].contains(&to)
    };
    (to != code[at].out && code[at + 1..other].iter().all(free)).then_some(twin)
}

#[cfg(test)]
mod tests;
