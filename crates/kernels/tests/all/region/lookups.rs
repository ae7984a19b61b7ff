//! Indices that have no row.

use super::generate::empty;
use super::{full, instr};
use wengert_kernels::Pool;
use wengert_kernels::arena::Line;
use wengert_kernels::region::{
    Binary, Direct, Failed, Granularity, Kind, Op, Parts, Place, Region, Slice, SliceMut, Take,
};

const ROWS: usize = 9_000;
const SIZE: usize = 3;

/// The sum of two lookups, of inputs 0 and 1 at the indices 2 and 3.
fn sum_of_two(must: [bool; 2]) -> Region {
    let take = |k: u16| Take {
        array: k,
        offset: 0,
        count: 4,
        size: SIZE,
        indices: 2 + k,
        first: 0,
        kind: Kind::F64,
        level: Granularity::Full,
        must: must[usize::from(k)],
    };
    let out = Direct { place: Place::Output(0), kind: Kind::F64, level: Granularity::Full, offset: 0 };
    let code = vec![
        instr(Op::Take(0), 0, 0, 0),
        instr(Op::Take(1), 0, 0, 1),
        instr(Op::Binary(Binary::Add, Kind::F64), 0, 1, 2),
    ];
    let parts = Parts {
        slots: vec![full(Kind::F64); 2],
        directs: vec![out],
        takes: vec![take(0), take(1)],
        code,
        inputs: 4,
        outputs: 1,
        ..empty(1, ROWS * SIZE, 1)
    };
    Region::new(parts).expect("a sum of two")
}

fn run(region: &Region, indices: [&[i64]; 2], threads: usize) -> Result<Vec<f64>, Failed> {
    let arrays = [1.0, 100.0].map(|scale| (0..4 * SIZE).map(|k| scale * (k + 1) as f64).collect::<Vec<f64>>());
    let inputs = [Slice::F64(&arrays[0]), Slice::F64(&arrays[1]), Slice::I64(indices[0]), Slice::I64(indices[1])];
    let (pool, mut out) = (Pool::new(threads), vec![f64::NAN; ROWS * SIZE]);
    let mut scratch = vec![Line([0xa5; 64]); region.scratch(threads).div_ceil(64)];
    region.run(&inputs, &mut [SliceMut::F64(&mut out)], &mut scratch, &pool).map(|()| out)
}

#[test]
fn an_index_without_a_row_is_told_of_the_first_lookup_that_has_one() {
    let [inside, mut first, mut second] = [[0, 1, 2, 3].repeat(ROWS / 4), [3, 2, 1, 0].repeat(ROWS / 4), vec![2; ROWS]];
    (first[ROWS - 1], second[17]) = (4, -1);
    for threads in [1, 2, 5] {
        let region = sum_of_two([true; 2]);
        assert_eq!(run(&region, [&first, &second], threads), Err(Failed::Missing(0)));
        assert_eq!(run(&region, [&inside, &second], threads), Err(Failed::Missing(1)));
        assert_eq!(run(&region, [&first, &inside], threads), Err(Failed::Missing(0)));
        assert!(run(&region, [&inside, &inside], threads).is_ok());
        assert_eq!(run(&sum_of_two([false, true]), [&first, &second], threads), Err(Failed::Missing(1)));
        let out = run(&sum_of_two([false; 2]), [&first, &second], threads).expect("zeros where there is no row");
        for (row, out) in out.chunks_exact(SIZE).enumerate() {
            let element = |index: i64, scale: f64, k: usize| match index {
                0..4 => scale * (index as usize * SIZE + k + 1) as f64,
                _ => 0.0,
            };
            let wanted = [0, 1, 2].map(|k| element(first[row], 1.0, k) + element(second[row], 100.0, k));
            assert_eq!(out, wanted, "row {row}");
        }
    }
    assert_eq!(Failed::Missing(1).to_string(), "an index of lookup 1 has no row");
}
