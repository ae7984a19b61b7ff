//! Regions that would not be safe, or not mean what they say: each check has a case.

use wengert_kernels::region::{
    Accumulator, Binary, Direct, Granularity, Instr, Join, Kind, Op, Parts, Pattern, Place, Region, Slot, Take,
    Transfer, Twin, Unary, Width,
};

use super::generate::empty;

fn instr(op: Op, [a, b, c]: [u16; 3], out: u16) -> Instr {
    Instr { op, a, b, c, out }
}

fn transfer(level: Granularity, pattern: Pattern) -> Transfer {
    Transfer { operand: 0, kind: Kind::F64, level, pattern }
}

/// Two groups of three rows of four columns: `out0 = 2 x + repeated`, `out1 = sums`, and a row slot. Slots: 0 a load, 1
/// the number 2, 2 what repeats, 3 and 4 results, 5 of rows, 6 a truth value. Direct place 7: the input; 8: output 2.
fn valid() -> Parts {
    let mut parts = empty(2, 3, 4);
    let slot = |kind, level| Slot { kind, level };
    parts.slots = vec![slot(Kind::F64, Granularity::Full); 5];
    parts.slots.extend([slot(Kind::F64, Granularity::Row), slot(Kind::U8, Granularity::Full)]);
    let direct = |place| Direct { place, kind: Kind::F64, level: Granularity::Full, offset: 1 };
    parts.directs = vec![direct(Place::Input(0)), direct(Place::Output(2))];
    parts.constants = vec![(1, 2.0f64.to_bits())];
    parts.repeated = vec![(2, 1)];
    let rows = Pattern::new(0, &[6, 4], &[0, 1]).expect("positions are small");
    parts.loads = vec![transfer(Granularity::Full, Pattern::contiguous(24)), transfer(Granularity::Full, rows)];
    parts.stores = vec![transfer(Granularity::Full, Pattern::contiguous(24))];
    parts.accumulators =
        vec![Accumulator { kind: Kind::F64, join: Join::Sum, level: Granularity::Full, width: Width::Cols, output: 1 }];
    parts.code = vec![
        instr(Op::Load(0), [0; 3], 0),
        instr(Op::Binary(Binary::Mul, Kind::F64), [0, 1, 0], 3),
        instr(Op::Binary(Binary::Add, Kind::F64), [3, 2, 0], 4),
        instr(Op::Store(0), [4, 0, 0], 0),
        instr(Op::Accumulate(0), [4, 0, 0], 0),
        instr(Op::JoinCols(Join::Max, Kind::F64), [4, 0, 0], 5),
        instr(Op::Spread(Kind::F64), [5, 0, 0], 8),
    ];
    (parts.inputs, parts.outputs) = (1, 3);
    parts
}

/// What a region is refused for after a change.
fn refusal(change: impl FnOnce(&mut Parts)) -> String {
    let mut parts = valid();
    change(&mut parts);
    match Region::new(parts) {
        Ok(_) => "not refused".to_owned(),
        Err(why) => why.to_string(),
    }
}

macro_rules! refused {
    ($( $message:literal: |$parts:ident| $change:expr; )*) => {
        $( {
            let why = refusal(|$parts| { $change; });
            assert!(why.contains($message), "{}: {why}", stringify!($change));
        } )*
    };
}

#[test]
fn the_region_without_a_change_is_valid() {
    assert_eq!(refusal(|_| ()), "not refused");
}

#[test]
fn spaces_and_operands_that_do_not_fit_are_refused() {
    refused! {
        "too many elements": |p| p.space.groups = usize::MAX;
        "too many elements": |p| p.space.rows = usize::MAX / 16;
        "rows are too long": |p| (p.space.rows, p.space.cols) = (1, 1 << 40);
        "no elements": |p| p.space.rows = 0;
        "no elements": |p| p.space.cols = 0;
        "more places": |p| p.slots = vec![p.slots[0]; 70_000];
        "there is no Input(1)": |p| p.loads[0].operand = 1;
        "there is no Input(0)": |p| p.inputs = 0;
        "there is no Output(3)": |p| p.stores[0].operand = 3;
        "there is no Output(9)": |p| p.accumulators[0].output = 9;
        "there is no Input(4)": |p| p.directs[0].place = Place::Input(4);
        "two kinds": |p| p.directs[0].kind = Kind::F32;
        "starts too late": |p| p.directs[0].offset = usize::MAX - 3;
        "starts too late": |p| p.directs[0].offset = isize::MAX as usize / 4;
        "written in two ways": |p| p.directs.push(Direct { offset: 0, ..p.directs[1] });
        "written in two ways": |p| p.stores.push(p.stores[0].clone());
        "written in two ways": |p| p.accumulators.push(p.accumulators[0]);
        "written in two ways": |p| p.accumulators[0].output = 0;
        "written in two ways": |p| p.accumulators[0].output = 2;
    }
}

#[test]
fn transfers_and_accumulators_that_do_not_fit_are_refused() {
    let pattern = |lengths: &[usize], strides: &[isize]| Pattern::new(0, lengths, strides).expect("small");
    refused! {
        "25 elements for a value of 24": |p| p.loads[0].pattern = Pattern::contiguous(25);
        "24 elements for a value of 6": |p| p.loads[0].level = Granularity::Row;
        "written twice": |p| p.stores[0].pattern = pattern(&[6, 4], &[0, 1]);
        "written twice": |p| p.stores[0].pattern = pattern(&[6, 4], &[3, 1]);
        "written twice": |p| p.stores[0].pattern = pattern(&[4, 6], &[1, -1].map(|s: isize| s.abs()));
        "needs every column": |p| p.accumulators[0].level = Granularity::Row;
        "does not join": |p| p.accumulators[0].join = Join::All;
        "does not join": |p| (p.accumulators[0].kind, p.accumulators[0].join) = (Kind::U8, Join::Sum);
        "level": |p| p.accumulators[0] = Accumulator { level: Granularity::Row, width: Width::One, ..p.accumulators[0] };
        "differs from row to row": |p| p.repeated[0].1 = 0;
        "there is no such load": |p| p.repeated[0].1 = 7;
        "differs from row to row": |p| p.slots[2].level = Granularity::Row;
        "differs from row to row": |p| p.slots[2].kind = Kind::U8;
        // Three elements again and again are not the same in every row of four.
        "differs from row to row": |p| p.loads[1].pattern = pattern(&[8, 3], &[0, 1]);
        "differs from row to row": |p| p.loads[1].pattern = pattern(&[3, 8], &[0, 1]);
        "differs from row to row": |p| p.loads[1].pattern = pattern(&[6, 4], &[1, 0]);
        "no slot": |p| p.constants[0].0 = 7;
        "filled twice": |p| p.constants.push((1, 0));
        "filled twice": |p| p.constants[0].0 = 2;
    }
    assert_eq!(refusal(|p| p.loads[1].pattern = pattern(&[12, 2], &[0, 1])), "not refused", "twice in a row");
}

#[test]
fn instructions_that_do_not_fit_are_refused() {
    let neg = Op::Unary(Unary::Neg, Kind::F64);
    let twin = |kind| Op::Twin(Twin::SinCos, kind);
    refused! {
        "read before it is written": |p| p.code[1].a = 4;
        "read before it is written": |p| p.code[6].a = 6;
        "there is no place 9": |p| p.code[1].a = 9;
        "there is no place 9": |p| p.code[1].out = 9;
        "cannot be written": |p| p.code[0].out = 9;
        "an output, and is read": |p| p.code.push(instr(neg, [8, 0, 0], 3));
        "another kind": |p| p.code.push(instr(Op::Unary(Unary::Neg, Kind::F32), [7, 0, 0], 3));
        "cannot be written": |p| p.code[1].out = 7;
        "cannot hold the result": |p| p.code[2].out = 1;
        "cannot hold the result": |p| p.code[1].out = 2;
        "cannot hold the result": |p| p.code[0].out = 6;
        "cannot be written": |p| p.directs[1].kind = Kind::F32;
        "writes where it reads": |p| p.code[1].out = 0;
        "writes where it reads": |p| p.code[2].out = 3;
        "does not hold F64 at level Row": |p| p.code[1].out = 5;
        "another width": |p| p.code.push(instr(Op::Convert(Kind::F32, Kind::F64), [1, 0, 0], 3));
        "do not fit": |p| p.code[5].out = 3;
        "do not fit": |p| p.code[6] = instr(Op::Spread(Kind::F64), [4, 0, 0], 5);
        "does not join": |p| p.code[5].op = Op::JoinCols(Join::Any, Kind::F64);
        "at level Row": |p| p.code[6].a = 4;
        "no such load": |p| p.code[0].op = Op::Load(5);
        "no such store": |p| p.code[3].op = Op::Store(1);
        "no such accumulator": |p| p.code[4].op = Op::Accumulate(1);
        "no such accumulator": |p| p.code[4].op = Op::AccumulateProduct(1);
        "joins 2 values, not one": |p| p.code.push(p.code[4]);
        "joins 0 values, not one": |p| {
            p.code.remove(4);
        };
        "do not fit": |p| {
            p.accumulators[0].join = Join::Max;
            p.code[4].op = Op::AccumulateProduct(0);
        };
        // The row's element for every column is the first operand; a single sum takes none.
        "at level Full": |p| {
            p.code.push(instr(Op::AccumulateProduct(0), [4, 5, 0], 0));
        };
        "at level Full": |p| {
            p.accumulators[0].width = Width::One;
            p.code.push(instr(Op::AccumulateProduct(0), [5, 4, 0], 0));
        };
        "do not fit": |p| p.code.push(instr(Op::Dot(Kind::F64), [4, 3, 0], 0));
        "at level Full": |p| p.code.push(instr(Op::Store(0), [5, 0, 0], 0));
        "do not fit": |p| p.code[1].op = Op::Unary(Unary::Not, Kind::F64);
        "do not fit": |p| p.code[1].op = Op::Unary(Unary::Exp, Kind::I64);
        "do not fit": |p| p.code[1].op = Op::Unary(Unary::Neg, Kind::U8);
        "do not fit": |p| p.code[1].op = Op::Binary(Binary::And, Kind::F64);
        "do not fit": |p| p.code[1].op = Op::Binary(Binary::Div, Kind::I64);
        "do not fit": |p| p.code[1].op = Op::Binary(Binary::Add, Kind::U8);
        "do not fit": |p| p.code[1].op = Op::Power(2, Kind::I64);
        "writes where it reads": |p| p.code.push(instr(twin(Kind::F64), [4, 3, 0], 4));
        "writes where it reads": |p| p.code.push(instr(twin(Kind::F64), [4, 4, 0], 3));
        "writes where it reads": |p| p.code.push(instr(twin(Kind::F64), [4, 3, 0], 3));
        "cannot hold the result": |p| p.code.push(instr(twin(Kind::F64), [4, 1, 0], 3));
        "there is no place 9": |p| p.code.push(instr(twin(Kind::F64), [4, 3, 0], 9));
        "cannot be written": |p| p.code.push(instr(twin(Kind::F64), [4, 9, 0], 3));
        "do not fit": |p| p.code.push(instr(twin(Kind::F64), [4, 5, 0], 3));
        "at level Row": |p| p.code.push(instr(twin(Kind::F64), [4, 3, 0], 5));
        "do not fit": |p| p.code.push(instr(twin(Kind::I64), [4, 3, 0], 0));
        "read before": |p| p.code[1] = instr(Op::Select(Kind::F64), [6, 0, 1], 3);
    }
}

#[test]
fn lookups_that_do_not_fit_are_refused() {
    let take = |size: usize, kind: Kind| Take {
        array: 0,
        offset: 1,
        count: 3,
        size,
        indices: 1,
        first: 2,
        kind,
        level: Granularity::Full,
        must: true,
    };
    let with = |parts: &mut Parts, take: Take| {
        parts.inputs = 2;
        parts.takes = vec![take];
        parts.code.push(instr(Op::Take(0), [0; 3], 3));
    };
    assert_eq!(refusal(|p| with(p, take(4, Kind::F64))), "not refused");
    refused! {
        "no such lookup": |p| p.code.push(instr(Op::Take(0), [0; 3], 3));
        "no whole rows": |p| with(p, take(0, Kind::F64));
        "no whole rows": |p| with(p, take(5, Kind::F64));
        "reaches too far": |p| with(p, Take { count: usize::MAX, ..take(4, Kind::F64) });
        "reaches too far": |p| with(p, Take { offset: usize::MAX - 11, ..take(4, Kind::F64) });
        "reaches too far": |p| with(p, Take { first: isize::MAX as usize, ..take(4, Kind::F64) });
        "there is no Input(2)": |p| with(p, Take { array: 2, ..take(4, Kind::F64) });
        "there is no Input(7)": |p| with(p, Take { indices: 7, ..take(4, Kind::F64) });
        "two kinds": |p| with(p, take(4, Kind::F32));
        "two kinds": |p| with(p, Take { indices: 0, ..take(4, Kind::F64) });
        "do not fit": |p| with(p, Take { level: Granularity::Row, ..take(2, Kind::F64) });
    }
}
