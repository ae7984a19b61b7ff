//! Random regions against their definition, and regions that are refused.
//!
//! 400 regions; `WENGERT_NIGHTLY=1` tries 20,000.

mod generate;
mod interpreter;
mod lookups;
mod numbers;
mod refused;

use std::process::Command;

use generate::{Case, empty, generate, last};
use interpreter::interpret;
use numbers::{Elements, Random, bits, number, same};
use wengert_kernels::Pool;
use wengert_kernels::arena::Line;
#[cfg(feature = "gemm")]
use wengert_kernels::product::{Accumulate, Operand, Product, Target, product};
use wengert_kernels::region::{
    Accumulator, Binary, Call1, Direct, Granularity, Instr, Join, Kind, Op, Pattern, Place, Region, Slice, SliceMut,
    Slot, Transfer, Unary, Width,
};

fn regions() -> u64 {
    if crate::nightly::nightly() { 20_000 } else { 400 }
}

/// Every tenth region is large enough for several parts.
fn case(seed: u64) -> Case {
    generate(seed, seed % 10 == 9)
}

/// The outputs of a region by their bits; the scratch holds rubbish before.
fn run(region: &Region, case: &Case, pool: &Pool, in_place: &[(u16, u16)]) -> Vec<Vec<u64>> {
    let mut outputs = case.outputs.clone();
    for &(input, output) in in_place {
        outputs[usize::from(output)] = case.inputs[usize::from(input)].clone();
    }
    let slices = |k: usize| {
        let own = in_place.iter().find(|(input, _)| usize::from(*input) == k);
        own.map_or_else(|| case.inputs[k].slice(), |&(_, output)| Slice::Output(output))
    };
    let inputs: Vec<Slice<'_>> = (0..case.inputs.len()).map(slices).collect();
    let mut scratch = vec![Line([0xa5; 64]); region.scratch(pool.threads()).div_ceil(64)];
    let mut slices: Vec<_> = outputs.iter_mut().map(Elements::slice_mut).collect();
    region.run(&inputs, &mut slices, &mut scratch, pool).unwrap_or_else(|why| panic!("{why}"));
    outputs.iter().map(Elements::bits).collect()
}

/// The kind of each output.
fn kinds(case: &Case) -> Vec<Kind> {
    let kind = |output: &Elements| match output {
        Elements::U8(_) => Kind::U8,
        Elements::I64(_) => Kind::I64,
        Elements::F32(_) => Kind::F32,
        Elements::F64(_) => Kind::F64,
    };
    case.outputs.iter().map(kind).collect()
}

#[test]
fn random_regions_compute_their_definition() {
    let pool = Pool::new(1);
    for seed in 0..regions() {
        let case = case(seed);
        let region = Region::new(case.parts.clone()).unwrap_or_else(|why| panic!("seed {seed}: {why}"));
        let inputs: Vec<Vec<u64>> = case.inputs.iter().map(Elements::bits).collect();
        let before: Vec<Vec<u64>> = case.outputs.iter().map(Elements::bits).collect();
        let lengths: Vec<usize> = before.iter().map(Vec::len).collect();
        let wanted = interpret(&case.parts, &inputs, &lengths);
        let got = run(&region, &case, &pool, &[]);
        for (o, kind) in kinds(&case).into_iter().enumerate() {
            for k in 0..lengths[o] {
                let Some(value) = wanted[o].bits[k] else {
                    assert_eq!(got[o][k], before[o][k], "seed {seed}: element {k} of output {o} is not the region's");
                    continue;
                };
                let allowed = wanted[o].allowed[k];
                let (x, y) = (number(kind, got[o][k]), number(kind, value));
                let near = kind.is_float() && ((x - y).abs() <= allowed || allowed == f64::INFINITY);
                assert!(
                    same(kind, got[o][k], value) || near,
                    "seed {seed}: element {k} of output {o} is {x:e} instead of {y:e}, {allowed:e} allowed\n{:#?}",
                    case.parts
                );
            }
        }
    }
}

#[test]
fn threads_do_not_change_the_bits() {
    let pools = [1, 2, 3, 7].map(Pool::new);
    let mut parts = 0;
    for seed in 0..regions() / 2 {
        let case = generate(seed, seed % 2 == 1);
        let region = Region::new(case.parts.clone()).unwrap_or_else(|why| panic!("seed {seed}: {why}"));
        parts = parts.max(region.part_count());
        let alone = run(&region, &case, &pools[0], &[]);
        for pool in &pools {
            assert_eq!(run(&region, &case, pool, &[]), alone, "seed {seed}: {} threads", pool.threads());
        }
    }
    assert!(parts >= 7, "no region had enough parts: {parts}");
}

#[test]
fn one_piece_of_memory_gives_the_same_as_two() {
    let pools = [1, 3].map(Pool::new);
    let mut pairs = 0;
    for seed in 0..regions() {
        // What overlaps shows from one chunk to the next.
        let case = generate(seed, seed % 2 == 1);
        let region = Region::new(case.parts.clone()).unwrap_or_else(|why| panic!("seed {seed}: {why}"));
        for &(input, output) in region.in_place() {
            pairs += 1;
            let (from, to) = (&case.inputs[usize::from(input)], &case.outputs[usize::from(output)]);
            if std::mem::discriminant(from) != std::mem::discriminant(to) || from.bits().len() < to.bits().len() {
                continue;
            }
            let space = region.parts().space.count(Granularity::Full);
            for pool in &pools {
                let (apart, together) = (run(&region, &case, pool, &[]), run(&region, &case, pool, &[(input, output)]));
                for (o, kind) in kinds(&case).into_iter().enumerate() {
                    // What the region does not write differs from the start.
                    let end = if o == usize::from(output) { space } else { apart[o].len() };
                    let equal = (0..end).all(|k| same(kind, apart[o][k], together[o][k]));
                    assert!(equal, "seed {seed}: input {input} in output {output} changes output {o}");
                }
            }
        }
    }
    assert!(pairs > 20, "only {pairs} pairs were tried");
}

/// The bits of many regions as one number, all NaN counted as one.
fn digest() -> u64 {
    let pool = Pool::new(2);
    let mut sum = 0u64;
    for seed in 0..100 {
        let case = case(seed);
        let region = Region::new(case.parts.clone()).unwrap_or_else(|why| panic!("seed {seed}: {why}"));
        for (bits, kind) in run(&region, &case, &pool, &[]).into_iter().zip(kinds(&case)) {
            for x in bits {
                let x = if kind.is_float() && number(kind, x).is_nan() { 1 } else { x };
                sum = Random(sum ^ x).next();
            }
        }
    }
    sum
}

#[test]
#[expect(clippy::print_stdout, reason = "another test reads the output")]
fn reports_the_digest() {
    println!("digest: {:x}.", digest());
}

#[test]
fn instruction_sets_do_not_change_the_bits() {
    let program = std::env::current_exe().expect("the test knows its own path");
    let digests = ["baseline", "avx2", "avx512"].map(|level| {
        let output = Command::new(&program)
            .args(["--exact", "region::reports_the_digest", "--nocapture"])
            .env("WENGERT_LEVEL", level)
            .output()
            .expect("the test starts itself");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let digest = text.split("digest: ").nth(1).and_then(|rest| rest.split('.').next()).map(str::to_owned);
        digest.unwrap_or_else(|| panic!("{level}: {text}"))
    });
    assert!(digests.iter().all(|own| *own == format!("{:x}", digest())), "{digests:?}");
}

fn full(kind: Kind) -> Slot {
    Slot { kind, level: Granularity::Full }
}

fn instr(op: Op, a: u16, b: u16, out: u16) -> Instr {
    Instr { op, a, b, c: 0, out }
}

#[test]
fn products_are_summed_as_if_they_had_been_stored() {
    let pool = Pool::new(2);
    for (kind, cols) in [Kind::F32, Kind::F64].into_iter().flat_map(|kind| (1..130).map(move |cols| (kind, cols))) {
        let run = |fused: bool| {
            let mut parts = empty(1, 7, cols);
            let load =
                |operand| Transfer { operand, kind, level: Granularity::Full, pattern: Pattern::contiguous(7 * cols) };
            parts.loads = vec![load(0), load(1)];
            let row = Slot { kind, level: Granularity::Row };
            parts.slots = vec![full(kind), full(kind), full(kind), row, full(kind), full(kind)];
            parts.stores.push(Transfer { operand: 0, kind, level: Granularity::Row, pattern: Pattern::contiguous(7) });
            let sum = |width, output| Accumulator { kind, join: Join::Sum, level: Granularity::Full, width, output };
            parts.accumulators = vec![sum(Width::One, 1), sum(Width::Cols, 2), sum(Width::Cols, 3)];
            let mul = Op::Binary(Binary::Mul, kind);
            parts.code = vec![instr(Op::Load(0), 0, 0, 0), instr(Op::Load(1), 0, 0, 1)];
            parts.code.extend(if fused {
                vec![
                    instr(Op::Dot(kind), 0, 1, 3),
                    instr(Op::AccumulateProduct(0), 0, 1, 0),
                    instr(Op::AccumulateProduct(1), 0, 1, 0),
                    instr(Op::AccumulateProduct(2), 3, 1, 0),
                ]
            } else {
                vec![
                    instr(mul, 0, 1, 2),
                    instr(Op::JoinCols(Join::Sum, kind), 2, 0, 3),
                    instr(Op::Accumulate(0), 2, 0, 0),
                    instr(Op::Accumulate(1), 2, 0, 0),
                    instr(Op::Spread(kind), 3, 0, 4),
                    instr(mul, 4, 1, 5),
                    instr(Op::Accumulate(2), 5, 0, 0),
                ]
            });
            parts.code.push(instr(Op::Store(0), 3, 0, 0));
            (parts.inputs, parts.outputs) = (2, 4);
            let numbers = |seed: usize| -> Elements {
                let elements = (0..7 * cols).map(|k| bits(kind, ((k * seed) % 101) as f64 / 7.0 - 6.0));
                Elements::new(kind, &elements.collect::<Vec<u64>>())
            };
            let outputs = [7, 1, cols, cols].map(|count| Elements::new(kind, &vec![0; count])).to_vec();
            let case = Case { parts, inputs: vec![numbers(37), numbers(53)], outputs };
            run(&Region::new(case.parts.clone()).expect("sums of products"), &case, &pool, &[])
        };
        assert_eq!(run(true), run(false), "{kind:?}, {cols} columns");
    }
}

#[test]
fn columns_are_stored_together() {
    const ROWS: usize = 1000;
    let pool = Pool::new(2);
    for (kind, width) in
        [Kind::U8, Kind::I64, Kind::F32, Kind::F64].into_iter().flat_map(|kind| (1..20).map(move |width| (kind, width)))
    {
        let (stride, offset) = (width + 1, 2);
        let mut parts = empty(1, ROWS, 1);
        let level = Granularity::Full;
        for column in 0..width {
            parts.directs.push(Direct { place: Place::Input(column as u16), kind, level, offset: 0 });
            let pattern = Pattern::new(offset + column, &[ROWS], &[stride as isize]).unwrap();
            parts.stores.push(Transfer { operand: 0, kind, level, pattern });
            parts.code.push(instr(Op::Store(column as u16), column as u16, 0, 0));
        }
        (parts.inputs, parts.outputs) = (width, 1);
        let number = |row: usize, column: usize| bits(kind, ((row * 7 + column * 3) % 200) as f64);
        let column = |column: usize| Elements::new(kind, &(0..ROWS).map(|row| number(row, column)).collect::<Vec<_>>());
        let count = offset + ROWS * stride;
        let outputs = vec![Elements::new(kind, &vec![1; count])];
        let case = Case { parts, inputs: (0..width).map(column).collect(), outputs };
        let found = run(&Region::new(case.parts.clone()).expect("stores"), &case, &pool, &[]);
        for (k, &found) in found[0].iter().enumerate() {
            let at = k.checked_sub(offset).map(|k| (k / stride, k % stride));
            let wanted = at.filter(|&(_, column)| column < width).map_or(1, |(row, column)| number(row, column));
            assert_eq!(found, wanted, "{kind:?}, {width} columns, element {k}");
        }
    }
}

#[cfg(feature = "gemm")]
#[test]
fn sums_of_products_are_rounded_as_products_are() {
    const COUNT: usize = 67;
    let pool = Pool::new(1);
    let x = |k: usize, seed: usize| ((k * seed) % 1009) as f64 / 7.0 - 60.0;
    for kind in [Kind::F32, Kind::F64] {
        let mut parts = empty(1, 1, COUNT);
        let transfer =
            |operand| Transfer { operand, kind, level: Granularity::Full, pattern: Pattern::contiguous(COUNT) };
        parts.loads = vec![transfer(0), transfer(1), transfer(2)];
        parts.stores = vec![transfer(0)];
        parts.slots = vec![full(kind); 4];
        let load = |k: u16| instr(Op::Load(k), 0, 0, k);
        let fused = Instr { op: Op::Pair(wengert_kernels::region::Pair::Fused, kind), a: 0, b: 1, c: 2, out: 3 };
        parts.code = vec![load(0), load(1), load(2), fused, instr(Op::Store(0), 3, 0, 0)];
        (parts.inputs, parts.outputs) = (3, 1);
        let numbers = |seed: usize| (0..COUNT).map(|k| bits(kind, x(k, seed))).collect::<Vec<u64>>();
        let inputs = [37, 53, 71].map(|seed| Elements::new(kind, &numbers(seed))).to_vec();
        let case = Case { parts, inputs, outputs: vec![Elements::new(kind, &[0; COUNT])] };
        let found = run(&Region::new(case.parts.clone()).expect("a sum of a product"), &case, &pool, &[]);
        // [[z, x], [z, x]] [[1, 1], [y, y]]
        let wanted = |k: usize| {
            let [x, y, z] = [37, 53, 71].map(|seed| number(kind, bits(kind, x(k, seed))));
            let (a, b) = ([z, x, z, x], [1.0, 1.0, y, y]);
            match kind {
                Kind::F32 => f64::from(corner(a.map(|x| x as f32), b.map(|x| x as f32), &pool)),
                _ => corner(a, b, &pool),
            }
        };
        let wanted: Vec<u64> = (0..COUNT).map(|k| bits(kind, wanted(k))).collect();
        assert_eq!(found, [wanted], "{kind:?}");
    }
}

/// An element of a product of matrices of two rows.
#[cfg(feature = "gemm")]
fn corner<T: Product + Default>(a: [T; 4], b: [T; 4], pool: &Pool) -> T {
    let mut c = [T::default(); 4];
    let (a, b) = (Operand::new(&a, [2, 1]), Operand::new(&b, [2, 1]));
    product([2, 2, 2], a, b, Target::new(&mut c, [2, 1]), Accumulate::Overwrite, pool);
    c[0]
}

#[test]
fn rows_of_every_length_are_summed_whole() {
    let pool = Pool::new(2);
    for cols in (1..140).chain([1000, 4096, 8192]) {
        let mut parts = empty(1, 5, cols);
        let pattern = Pattern::contiguous(5 * cols);
        parts.loads.push(Transfer { operand: 0, kind: Kind::F32, level: Granularity::Full, pattern });
        parts.slots = vec![full(Kind::F32), Slot { kind: Kind::F32, level: Granularity::Row }];
        parts.stores.push(Transfer {
            operand: 0,
            kind: Kind::F32,
            level: Granularity::Row,
            pattern: Pattern::contiguous(5),
        });
        parts.accumulators = vec![Accumulator {
            kind: Kind::F32,
            join: Join::Sum,
            level: Granularity::Full,
            width: Width::One,
            output: 1,
        }];
        let join = Op::JoinCols(Join::Sum, Kind::F32);
        parts.code = vec![
            instr(Op::Load(0), 0, 0, 0),
            instr(join, 0, 0, 1),
            instr(Op::Store(0), 1, 0, 0),
            instr(Op::Accumulate(0), 0, 0, 0),
        ];
        (parts.inputs, parts.outputs) = (1, 2);
        let whole: Vec<f64> = (0..5 * cols).map(|k| (k * k % 17) as f64 - 8.0).collect();
        let elements: Vec<u64> = whole.iter().map(|&x| bits(Kind::F32, x)).collect();
        let outputs = vec![Elements::F32(vec![0.0; 5]), Elements::F32(vec![0.0])];
        let case = Case { parts, inputs: vec![Elements::new(Kind::F32, &elements)], outputs };
        let got = run(&Region::new(case.parts.clone()).expect("a sum of rows"), &case, &pool, &[]);
        // Whole numbers: every order gives the same.
        let sums: Vec<u64> = whole.chunks(cols).map(|row| bits(Kind::F32, row.iter().sum())).collect();
        assert_eq!(got, [sums, vec![bits(Kind::F32, whole.iter().sum())]], "{cols} columns");
    }
}

fn fails_at_seven(_: u64, x: f64) -> f64 {
    assert!(x != 7.0, "seven is not welcome");
    x
}

#[test]
fn a_function_that_panics_is_an_error_for_any_number_of_threads() {
    let mut parts = empty(1, 20_000, 1);
    let direct = |place| Direct { place, kind: Kind::F64, level: Granularity::Full, offset: 0 };
    parts.directs = vec![direct(Place::Input(0)), direct(Place::Output(0))];
    parts.code = vec![instr(Op::Call1(Call1(fails_at_seven), 0, Kind::F64), 0, 0, 1)];
    (parts.inputs, parts.outputs) = (1, 1);
    let region = Region::new(parts).expect("a copy");
    let mut input = vec![1.0; 20_000];
    for (number, fails) in [(7.0, true), (6.0, false)] {
        input[11_111] = number;
        for threads in [1, 2, 3] {
            let (pool, mut output) = (Pool::new(threads), vec![0.0; 20_000]);
            let mut scratch = vec![Line([0; 64]); region.scratch(threads).div_ceil(64)];
            let mut outputs = [wengert_kernels::region::SliceMut::F64(&mut output)];
            let result = region.run(&[Slice::F64(&input)], &mut outputs, &mut scratch, &pool);
            assert_eq!(result.is_err(), fails, "{threads} threads");
            if let Err(why) = result {
                assert!(why.to_string().contains("seven is not welcome"), "{why}");
            }
        }
    }
}

#[test]
fn patterns_of_many_axes_are_walked() {
    let axes = 19;
    let lengths = vec![2usize; axes];
    let strides: Vec<isize> = (0..axes).map(|k| 1 << k).collect();
    let pattern = Pattern::new(0, &lengths, &strides).expect("positions are small");
    let count = pattern.count();
    assert_eq!((pattern.dims().len(), pattern.end(), last(&pattern)), (axes, count, count));
    let mut parts = empty(1, count, 1);
    parts.loads.push(Transfer { operand: 0, kind: Kind::I64, level: Granularity::Full, pattern });
    parts.slots = vec![full(Kind::I64)];
    parts.directs = vec![Direct { place: Place::Output(0), kind: Kind::I64, level: Granularity::Full, offset: 0 }];
    parts.code = vec![instr(Op::Load(0), 0, 0, 0), instr(Op::Unary(Unary::Copy, Kind::I64), 0, 0, 1)];
    (parts.inputs, parts.outputs) = (1, 1);
    let elements: Vec<i64> = (0..count as i64).collect();
    let case = Case { parts, inputs: vec![Elements::I64(elements)], outputs: vec![Elements::I64(vec![0; count])] };
    let got = run(&Region::new(case.parts.clone()).expect("a copy"), &case, &Pool::new(2), &[]);
    let turned = |k: usize| (k.reverse_bits() >> (usize::BITS as usize - axes)) as u64;
    assert!((0..count).all(|k| got[0][k] == turned(k)));
}

/// The same numbers, summed in regions that are cut in other ways: one bits.
#[test]
fn sums_do_not_depend_on_how_a_region_is_cut() {
    let counts = [1, 5, 31, 33, 512, 513, 1024, 2100, 4095, 4096, 6000, 30_030, 100_100, 262_144];
    for (kind, count) in [Kind::F32, Kind::F64].into_iter().flat_map(|kind| counts.map(|count| (kind, count))) {
        let numbers: Vec<u64> =
            (0..count).map(|k| bits(kind, ((k * k % 10_007) as f64).sqrt() - 40.0 + k as f64 * 1e-3)).collect();
        let mut expected = None;
        let divisors = [1usize, 2, 3, 5, 7, 64, 77, 100, 1001, 4095, 4096].into_iter().filter(|c| count % c == 0);
        for (cols, extra) in divisors.flat_map(|cols| [0, 40].map(|extra| (cols, extra))) {
            for threads in [1, 3] {
                let mut parts = empty(1, count / cols, cols);
                let pattern = Pattern::contiguous(count);
                parts.loads.push(Transfer { operand: 0, kind, level: Granularity::Full, pattern });
                // Slots and instructions that change the length of chunks and of parts.
                parts.slots = vec![full(kind); 2 + extra];
                parts.code = vec![instr(Op::Load(0), 0, 0, 0)];
                let square = Op::Unary(Unary::Square, kind);
                parts.code.extend((0..extra).map(|k| instr(square, 0, 0, 1 + k as u16)));
                let join = Join::Sum;
                parts.accumulators =
                    vec![Accumulator { kind, join, level: Granularity::Full, width: Width::One, output: 0 }];
                parts.code.push(instr(Op::Accumulate(0), 0, 0, 0));
                (parts.inputs, parts.outputs) = (1, 1);
                let outputs = vec![Elements::new(kind, &[0])];
                let case = Case { parts, inputs: vec![Elements::new(kind, &numbers)], outputs };
                let region = Region::new(case.parts.clone()).expect("a sum");
                let found = run(&region, &case, &Pool::new(threads), &[]);
                let expected = expected.get_or_insert_with(|| found.clone());
                assert_eq!(&found, expected, "{kind:?}, {count} in rows of {cols}, {extra} more, {threads} threads");
            }
        }
        // Rows as they are joined inside of a chunk, and one element for each of this many rows.
        if count <= 4096 {
            let mut parts = empty(1, 1, count);
            parts.loads.push(Transfer {
                operand: 0,
                kind,
                level: Granularity::Full,
                pattern: Pattern::contiguous(count),
            });
            parts.slots = vec![full(kind), Slot { kind, level: Granularity::Row }];
            let pattern = Pattern::contiguous(1);
            parts.stores.push(Transfer { operand: 0, kind, level: Granularity::Row, pattern });
            let join = Op::JoinCols(Join::Sum, kind);
            parts.code = vec![instr(Op::Load(0), 0, 0, 0), instr(join, 0, 0, 1), instr(Op::Store(0), 1, 0, 0)];
            (parts.inputs, parts.outputs) = (1, 1);
            let inputs = vec![Elements::new(kind, &numbers)];
            let case = Case { parts, inputs, outputs: vec![Elements::new(kind, &[0])] };
            let found = run(&Region::new(case.parts.clone()).expect("a row"), &case, &Pool::new(1), &[]);
            assert_eq!(Some(found), expected, "{kind:?}, a row of {count}");
        }
        for cols in [3, 700] {
            let mut parts = empty(1, count, cols);
            let pattern = Pattern::contiguous(count);
            parts.loads.push(Transfer { operand: 0, kind, level: Granularity::Row, pattern });
            parts.slots = vec![Slot { kind, level: Granularity::Row }, full(kind)];
            parts.accumulators =
                vec![Accumulator { kind, join: Join::Sum, level: Granularity::Row, width: Width::One, output: 0 }];
            parts.code =
                vec![instr(Op::Load(0), 0, 0, 0), instr(Op::Spread(kind), 0, 0, 1), instr(Op::Accumulate(0), 0, 0, 0)];
            (parts.inputs, parts.outputs) = (1, 1);
            let inputs = vec![Elements::new(kind, &numbers)];
            let case = Case { parts, inputs, outputs: vec![Elements::new(kind, &[0])] };
            let found = run(&Region::new(case.parts.clone()).expect("rows"), &case, &Pool::new(2), &[]);
            assert_eq!(Some(found), expected, "{kind:?}, {count} rows of {cols}");
        }
    }
}

/// Sums of squares of groups of 10 rows of 2 numbers.
fn squares(groups: usize) -> Region {
    let (place, kind, level) = (Place::Input(0), Kind::F64, Granularity::Full);
    let mut parts = empty(groups, 10, 2);
    parts.slots.push(Slot { kind, level });
    parts.directs.push(Direct { place, kind, level, offset: 0 });
    parts.accumulators.push(Accumulator { kind, join: Join::Sum, level, width: Width::One, output: 0 });
    parts.code.push(Instr { op: Op::Unary(Unary::Square, kind), a: 1, b: 0, c: 0, out: 0 });
    parts.code.push(Instr { op: Op::Accumulate(0), a: 0, b: 0, c: 0, out: 0 });
    (parts.inputs, parts.outputs) = (1, 1);
    Region::new(parts).expect("it is safe")
}

#[test]
fn a_chunk_has_no_more_groups_than_there_are() {
    let scratch = |groups: usize| squares(groups).scratch(1);
    // Their numbers, and what a sum needs.
    assert!(scratch(1) <= 20 * 8 + 1024, "{}", scratch(1));
    assert!(scratch(3) <= 3 * 20 * 8 + 1024, "{}", scratch(3));
    assert!(scratch(1_000_000) <= 128 << 10, "{}", scratch(1_000_000));
    for groups in [1, 3, 1000] {
        let region = squares(groups);
        let input: Vec<f64> = (0..groups * 20).map(|k| (k % 7) as f64).collect();
        let mut sums = vec![0.0; groups];
        let mut scratch = vec![Line([0xa5; 64]); region.scratch(1).div_ceil(64)];
        region
            .run(&[Slice::F64(&input)], &mut [SliceMut::F64(&mut sums)], &mut scratch, &Pool::new(1))
            .expect("it runs");
        let wanted: Vec<f64> = input.chunks(20).map(|group| group.iter().map(|x| x * x).sum()).collect();
        assert_eq!(sums, wanted);
    }
}
