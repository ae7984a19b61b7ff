//! The instructions of a region as text: `s` is a slot with an element per column, `r` one with an element per row,
//! `in` and `out` are operands that are used where they lie.

use std::fmt::Write;

use wengert_kernels::region::{Block, Blocks, Granularity, Instr, Kind, Op, Place, Region, Transfer, Width};

use super::name;

/// Writes one line for every constant, every load that is done once, and every instruction.
pub(super) fn list(region: &Region, text: &mut String) {
    let parts = region.parts();
    let mut line = |words: String| {
        let _ = writeln!(text, "{:14} {words}", "");
    };
    for &(slot, bits) in &parts.constants {
        line(format!("{} = {}", place(region, slot), number(parts.slots[usize::from(slot)].kind, bits)));
    }
    for &(slot, load) in &parts.repeated {
        line(format!("{} = load {}, once", place(region, slot), transfer("in", &parts.loads[usize::from(load)])));
    }
    parts.code.iter().for_each(|instr| line(instruction(region, instr)));
}

/// A place of the table: slots first, then operands.
fn place(region: &Region, at: u16) -> String {
    let parts = region.parts();
    if let Some(slot) = parts.slots.get(usize::from(at)) {
        return format!("{}{at}", if slot.level == Granularity::Full { "s" } else { "r" });
    }
    let direct = &parts.directs[usize::from(at) - parts.slots.len()];
    let (name, number) = match direct.place {
        Place::Input(number) => ("in", number),
        Place::Output(number) => ("out", number),
    };
    if direct.offset == 0 { format!("{name}{number}") } else { format!("{name}{number}[{}..]", direct.offset) }
}

/// A number by its bits in its own type.
fn number(kind: Kind, bits: u64) -> String {
    match kind {
        Kind::U8 => (bits != 0).to_string(),
        Kind::I64 => bits.cast_signed().to_string(),
        Kind::F32 => format!("{:?}f32", f32::from_bits(bits as u32)),
        Kind::F64 => format!("{:?}f64", f64::from_bits(bits)),
    }
}

fn transfer(name: &str, transfer: &Transfer) -> String {
    let Transfer { operand, pattern, .. } = transfer;
    let from = if pattern.offset() == 0 { String::new() } else { format!(" from {}", pattern.offset()) };
    format!("{name}{operand}, {} elements{from}", pattern.count())
}

/// Blocks with the numbers of their operands, and the number that is elsewhere.
fn together(blocks: &Blocks) -> String {
    let elements = |block: &Block| format!("in{}, {} elements", block.operand, block.lengths.iter().product::<usize>());
    let mut words: Vec<String> = blocks.blocks().iter().map(elements).collect();
    words.extend(blocks.fill().map(|bits| format!("{} elsewhere", number(blocks.kind(), bits))));
    format!("blocks {}", words.join("; "))
}

fn instruction(region: &Region, instr: &Instr) -> String {
    let parts = region.parts();
    let (op, kind, operands) = match instr.op {
        Op::Load(load) => {
            return format!("{} = load {}", place(region, instr.out), transfer("in", &parts.loads[usize::from(load)]));
        }
        Op::Blocks(blocks) => {
            return format!("{} = {}", place(region, instr.out), together(&parts.blocks[usize::from(blocks)]));
        }
        Op::Take(take) => {
            let take = &parts.takes[usize::from(take)];
            let (rows, out) = (take.rows(&parts.space).unwrap_or(0), place(region, instr.out));
            return format!("{out} = rows of in{} at in{}, {rows} of {}", take.array, take.indices, take.size);
        }
        Op::Store(store) => {
            return format!(
                "store {} to {}",
                place(region, instr.a),
                transfer("out", &parts.stores[usize::from(store)])
            );
        }
        Op::Accumulate(accumulator) => {
            let accumulator = &parts.accumulators[usize::from(accumulator)];
            let width = if accumulator.width == Width::Cols { "for every column" } else { "of all" };
            let join = word(accumulator.join);
            return format!("out{} = {join} of {}, {width}", accumulator.output, place(region, instr.a));
        }
        Op::AccumulateProduct(accumulator) => {
            let accumulator = &parts.accumulators[usize::from(accumulator)];
            let width = if accumulator.width == Width::Cols { "for every column" } else { "of all" };
            let (a, b) = (place(region, instr.a), place(region, instr.b));
            return format!("out{} = sum of {a} * {b}, {width}", accumulator.output);
        }
        Op::Twin(op, kind) => {
            let [first, second, from] = [instr.out, instr.b, instr.a].map(|at| place(region, at));
            return format!("{first}, {second} = {} {} {from}", name(kind), word(op));
        }
        Op::Convert(from, to) => {
            return format!("{} = {} of {} {}", place(region, instr.out), name(to), name(from), place(region, instr.a));
        }
        Op::Unary(op, kind) => (word(op), kind, 1),
        Op::Binary(op, kind) => (word(op), kind, 2),
        Op::Compare(op, kind) => (word(op), kind, 2),
        Op::Select(kind) => ("select".to_owned(), kind, 3),
        Op::Pair(op, kind) => (word(op), kind, 3),
        Op::Power(n, kind) => (format!("power {n}"), kind, 1),
        Op::Call1(_, number, kind) => (format!("call {number:#x}"), kind, 1),
        Op::Call2(_, number, kind) => (format!("call {number:#x}"), kind, 2),
        Op::JoinCols(join, kind) => (format!("{} of columns", word(join)), kind, 1),
        Op::Dot(kind) => ("dot of columns".to_owned(), kind, 2),
        Op::Spread(kind) => ("spread".to_owned(), kind, 1),
    };
    let from = [instr.a, instr.b, instr.c];
    let from: Vec<String> = from[..operands].iter().map(|&at| place(region, at)).collect();
    format!("{} = {} {op} {}", place(region, instr.out), name(kind), from.join(", "))
}

/// The name of a variant as a word of its own.
fn word(variant: impl std::fmt::Debug) -> String {
    let mut text = String::new();
    for letter in format!("{variant:?}").chars() {
        if letter.is_uppercase() && !text.is_empty() {
            text.push('_');
        }
        text.extend(letter.to_lowercase());
    }
    text
}
