//! Tests of what is private here.

use super::*;
use crate::primitives::trials::{check_transpose, check_vmap, program_of, rotated};

#[test]
fn what_is_written_is_read_back_and_the_rest_stays() {
    for sample in Update::samples() {
        let [x, u] = &sample.args[..] else { panic!("two operands") };
        let crate::primitives::Op::Update(update) = &sample.op else { panic!("an update") };
        let set = Update { write: Write::Set, ..update.clone() };
        let slice = set.slice(u.shape());
        let y = set.eval(&[x, u]).expect("it writes").remove(0);
        assert!(slice.eval(&[&y]).expect("it slices")[0].same_bits(u), "{sample:?}");
        let before = slice.eval(&[x]).expect("it slices").remove(0);
        assert!(set.eval(&[&y, &before]).expect("it writes")[0].same_bits(x), "{sample:?}");
        if update.write == Write::Add {
            let sum = sample.op.eval(&[x, u]).expect("it adds").remove(0);
            let part = slice.eval(&[&sum]).expect("it slices").remove(0).to_f64();
            let wanted: Vec<f64> = before.to_f64().iter().zip(u.to_f64()).map(|(x, u)| x + u).collect();
            assert_eq!(part.len(), wanted.len());
            assert!(part.iter().zip(wanted).all(|(x, y)| (x - y).abs() < 1e-6), "{sample:?}");
            assert!(set.eval(&[&sum, &before]).expect("it writes")[0].same_bits(x), "{sample:?}");
        }
    }
}

#[test]
fn transposes_keep_the_dot_product_and_lanes_are_slices() {
    for sample in Update::samples() {
        check_transpose(&sample);
        let program = program_of(&sample.op, &sample.args);
        check_vmap(&program, &sample.args, &|lane, _, arg| rotated(arg, lane));
    }
}

#[test]
fn misfits_name_the_axis() {
    let (x, u) = (Type::new(DType::F64, &[2, 3]), Type::new(DType::F64, &[1, 2]));
    let why = |start: &[usize], stride: &[usize], write, args: &[&Type]| {
        Update { start: start.to_vec(), stride: stride.to_vec(), write }.infer(args).expect_err("it does not fit").0
    };
    let found = why(&[0, 1], &[1, 2], Write::Set, &[&x, &u]);
    assert_eq!(found, "2 elements from 1 on by steps of 2 do not fit axis 1, which is 3 long");
    assert_eq!(why(&[0, 1], &[0, 1], Write::Set, &[&x, &u]), "the step along axis 0 is 0");
    assert_eq!(why(&[0], &[1], Write::Set, &[&x, &u]), "starts and steps are needed for each of the 2 axes");
    let far = why(&[1, usize::MAX], &[1, usize::MAX], Write::Add, &[&x, &u]);
    assert!(far.contains("do not fit axis 1"), "{far}");
    let (truths, flat) = (Type::new(DType::Bool, &[2, 3]), Type::new(DType::F64, &[2]));
    assert_eq!(why(&[0, 0], &[1, 1], Write::Add, &[&truths, &truths]), "truth values cannot be added");
    assert!(why(&[0, 0], &[1, 1], Write::Set, &[&x, &truths]).starts_with("the element types differ"));
    assert_eq!(why(&[0, 0], &[1, 1], Write::Set, &[&x, &flat]), "the update has 1 axes, and f64[2,3] has 2");
}
