//! Tests of what is private here.

use super::*;
use crate::primitives::trials::{at, check_transpose, check_vmap, moved, program_of, rotated};

/// The starts change from lane to lane by 2 each way, numbers turn.
fn lane(lane: usize, operand: usize, arg: &Array, start: usize) -> Array {
    if operand == start { moved(arg, 2 * lane as i64 - 2) } else { rotated(arg, lane) }
}

#[test]
fn a_slice_reads_at_its_start_moved_to_fit() {
    for sample in DynamicSlice::samples() {
        let (x, start) = (&sample.args[0], sample.args[1].known::<i64>());
        let y = &sample.op.eval(&[x, &sample.args[1]]).expect("it slices")[0];
        crate::array::for_each_index(y.shape(), |index| {
            let source: Vec<usize> = (0..index.len())
                .map(|axis| {
                    let room = x.shape()[axis] - y.shape()[axis];
                    index[axis] + usize::try_from(start[axis]).unwrap_or(0).min(room)
                })
                .collect();
            assert_eq!(at(y, index), at(x, &source), "{sample:?} at {index:?}");
        });
    }
}

#[test]
fn an_update_is_read_back_and_leaves_the_rest() {
    for sample in DynamicUpdate::samples() {
        let [x, u, start] = &sample.args[..] else { panic!("three operands") };
        let y = &sample.op.eval(&[x, u, start]).expect("it writes")[0];
        let back = DynamicSlice::new(u.shape()).eval(&[y, start]).expect("it slices");
        assert!(back[0].same_bits(u), "{sample:?}");
        let block = DynamicSlice::new(u.shape()).eval(&[x, start]).expect("it slices");
        let restored = sample.op.eval(&[y, &block[0], start]).expect("it writes");
        assert!(restored[0].same_bits(x), "{sample:?}");
    }
}

#[test]
fn transposes_keep_the_dot_product() {
    for sample in DynamicSlice::samples().into_iter().chain(DynamicUpdate::samples()) {
        check_transpose(&sample);
    }
}

#[test]
fn lanes_are_slices() {
    for (samples, start) in [(DynamicSlice::samples(), 1), (DynamicUpdate::samples(), 2)] {
        for sample in samples {
            let program = program_of(&sample.op, &sample.args);
            check_vmap(&program, &sample.args, &|k, operand, arg| lane(k, operand, arg, start));
        }
    }
}

#[test]
fn misfits_name_the_axis() {
    let start = Type::new(DType::I64, &[2]);
    let x = Type::new(DType::F64, &[2, 3]);
    let why = |op: &dyn Primitive, args: &[&Type]| op.infer(args).expect_err("it does not fit").0;
    assert_eq!(why(&DynamicSlice::new(&[2, 4]), &[&x, &start]), "the block is 4 long on axis 1, which is 3 long");
    assert_eq!(why(&DynamicSlice::new(&[2]), &[&x, &start]), "the block has 1 axes, and f64[2,3] has 2");
    assert_eq!(why(&DynamicSlice::new(&[1, 1]), &[&x, &x]), "the start is f64[2,3], and has to be i64[2]");
    let u = Type::new(DType::F32, &[1, 1]);
    assert!(why(&DynamicUpdate, &[&x, &u, &start]).starts_with("the element types differ"));
}
