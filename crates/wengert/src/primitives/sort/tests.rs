//! Tests of what is private here.

use super::*;
use crate::primitives::trials::{check_vmap, program_of, rotated};

fn sorted(x: Array, axis: usize, descending: bool) -> Vec<i64> {
    ArgSort::new(axis, descending).eval(&[&x]).expect("it sorts")[0].known::<i64>().to_vec()
}

#[test]
fn equal_elements_keep_their_order_and_nan_is_last() {
    let nan = f64::NAN;
    let x = Array::new(&[7], vec![1.0, nan, 0.0, -0.0, 1.0, nan, -2.0]);
    assert_eq!(sorted(x.clone(), 0, false), [6, 2, 3, 0, 4, 1, 5]);
    assert_eq!(sorted(x, 0, true), [0, 4, 2, 3, 6, 1, 5]);
    let x = Array::new(&[3, 2], vec![2i64, 5, 1, 5, 2, 6]);
    assert_eq!(sorted(x.clone(), 0, false), [1, 0, 0, 1, 2, 2]);
    assert_eq!(sorted(x.clone(), 0, true), [0, 2, 2, 0, 1, 1]);
    assert_eq!(sorted(x, 1, true), [1, 0, 1, 0, 1, 0]);
    assert_eq!(sorted(Array::new(&[3], vec![true, false, true]), 0, true), [0, 2, 1]);
    assert_eq!(sorted(Array::new(&[3], vec![f32::NAN, 2.0, f32::INFINITY]), 0, true), [2, 1, 0]);
}

#[test]
fn a_permutation_has_no_tangent_and_needs_an_axis() {
    let x = Array::new(&[3], vec![3.0, 1.0, 2.0]);
    let program = program_of(&ArgSort::new(0, false).into(), std::slice::from_ref(&x));
    let out = program.jvp(&[true]).expect("it has none").run_reference(&[x.clone(), x.clone()]).expect("it runs");
    assert_eq!(out[1].known::<i64>(), [0, 0, 0]);
    let why = ArgSort::new(1, false).infer(&[x.ty()]).expect_err("there is one axis");
    assert_eq!(why.0, "there is no axis 1 in f64[3], which has 1 axes");
    let why = ArgSort::new(0, false).first(4).infer(&[x.ty()]).expect_err("there are three elements");
    assert_eq!(why.0, "axis 0 has 3 elements, and 4 are asked for");
}

#[test]
fn lanes_sort_as_slices_do() {
    for sample in ArgSort::samples() {
        check_vmap(&program_of(&sample.op, &sample.args), &sample.args, &|lane, _, x| rotated(x, lane));
    }
}
