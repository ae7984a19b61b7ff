//! Tests of what is private here.

use std::borrow::Cow;

use crate::array::{Array, DType, Type};
use crate::plan::{Options, Plan};
use crate::program::Program;

pub(in super::super) fn numbers(ty: &Type) -> Array {
    let all = (0..ty.size()).map(|k| ((k * k + 3 * k) % 101) as f64 * 0.37 - 7.0);
    match ty.dtype {
        DType::F64 => Array::new(&ty.shape, all.collect::<Vec<f64>>()),
        DType::F32 => Array::new(&ty.shape, all.map(|x| x as f32).collect::<Vec<f32>>()),
        DType::I64 => Array::new(&ty.shape, all.map(|x| x as i64).collect::<Vec<i64>>()),
        DType::Bool => Array::new(&ty.shape, all.map(|x| x > 0.0).collect::<Vec<bool>>()),
    }
}

/// Checks results against the definition: exactly, or within the error of functions and of sums in another order.
#[track_caller]
pub(in super::super) fn compare(found: &[Array], wanted: &[Array], text: &str) {
    assert_eq!(found.len(), wanted.len());
    for (found, wanted) in found.iter().zip(wanted) {
        assert_eq!(found.ty(), wanted.ty());
        let same = |x: f64, y: f64| x.to_bits() == y.to_bits() || y != 0.0 && (x - y).abs() <= 1e-12 * y.abs();
        let (found, wanted) = (found.to_f64(), wanted.to_f64());
        let wrong = (0..found.len()).find(|&k| !same(found[k], wanted[k]));
        assert_eq!(wrong.map(|k| (k, found[k], wanted[k])), None, "{text}");
    }
}

/// Plans a Program, compares its results with the definition, and gives the number of steps.
#[track_caller]
pub(in super::super) fn steps(text: &str) -> usize {
    let program: Program = text.parse().unwrap_or_else(|why| panic!("{why}\n{text}"));
    let inputs: Vec<Array> = program.input_types().iter().map(numbers).collect();
    let wanted = program.run_reference(&inputs).unwrap();
    let mut count = None;
    for threads in [1, 3] {
        let plan = Plan::new(&program, &Options { threads, ..Options::default() }).unwrap();
        compare(&plan.eval(&inputs).unwrap(), &wanted, text);
        assert_eq!(*count.get_or_insert(plan.step_count()), plan.step_count());
    }
    count.unwrap()
}

#[test]
fn a_sum_of_padded_arrays_is_one_step() {
    let text = "program(v0: f64[70,90]) {
            v1: f64[] = constant[value=0.0f64];
            v2: f64[72,92] = pad[low=[0,1], high=[2,1], interior=[0,0]] v0 v1;
            v3: f64[72,92] = pad[low=[2,1], high=[0,1], interior=[0,0]] v0 v1;
            v4: f64[72,92] = pad[low=[1,2], high=[1,0], interior=[0,0]] v0 v1;
            v5: f64[72,92] = add v2 v3;
            v6: f64[72,92] = add v5 v4;
            v7: f64[] = sum[axes=[0,1]] v6;
            return v6 v7
        }";
    assert_eq!(steps(text), 1);
}

#[test]
fn what_is_turned_around_a_torus_is_read_where_it_lies() {
    let text = "program(v0: f32[50,61]) {
            v1: f32[1,61] = slice[start=[49,0], limit=[50,61], stride=[1,1]] v0;
            v2: f32[49,61] = slice[start=[0,0], limit=[49,61], stride=[1,1]] v0;
            v3: f32[50,61] = concat[axis=0] v1 v2;
            v4: f32[50,60] = slice[start=[0,1], limit=[50,61], stride=[1,1]] v0;
            v5: f32[50,1] = slice[start=[0,0], limit=[50,1], stride=[1,1]] v0;
            v6: f32[50,61] = concat[axis=1] v4 v5;
            v7: f32[50,61] = sub v3 v6;
            v8: f32[50,61] = mul v7 v0;
            return v8
        }";
    assert_eq!(steps(text), 1);
}

#[test]
fn what_is_computed_is_in_memory_before_it_is_put_together() {
    // A shift keeps the shape, but an element of the padded value does not come from its own position.
    let shifted = |first: &str| {
        format!(
            "program(v0: f64[40]) {{
                v1: f64[40] = {first} v0;
                v2: f64[] = constant[value=-0.0f64];
                v3: f64[40] = pad[low=[1], high=[-1], interior=[0]] v1 v2;
                v4: f64[40] = add v3 v1;
                return v4
            }}"
        )
    };
    assert_eq!(steps(&shifted("sin")), 2);
    assert_eq!(steps(&shifted("neg")), 2, "a cheap value is not computed in the region that puts it together");
    let joined = "program(v0: f64[3,20], v1: f64[2,20]) {
            v2: f64[3,20] = exp v0;
            v3: f64[5,20] = concat[axis=0] v2 v1;
            v4: f64[5] = sum[axes=[1]] v3;
            v5: f64[5,20] = broadcast[shape=[5,20], axes=[0]] v4;
            v6: f64[5,20] = div v3 v5;
            return v6
        }";
    assert_eq!(steps(joined), 2);
}

#[test]
fn numbers_of_rows_are_put_together_too() {
    let text = "program(v0: f64[31], v1: f64[33,70]) {
            v2: f64[] = constant[value=2.5f64];
            v3: f64[33] = pad[low=[2], high=[0], interior=[0]] v0 v2;
            v4: f64[33] = sin v3;
            v5: f64[33,70] = broadcast[shape=[33,70], axes=[0]] v4;
            v6: f64[33,70] = mul v5 v1;
            return v6
        }";
    assert_eq!(steps(text), 1);
}

#[test]
fn every_type_and_any_view_is_put_together() {
    for (ty, fill, op) in [("i64", "7i64", "add"), ("bool", "true", "and"), ("f32", "-0.0f32", "mul")] {
        let text = format!(
            "program(v0: {ty}[6,8], v1: {ty}[6]) {{
                v2: {ty}[] = constant[value={fill}];
                v3: {ty}[8,6] = permute[order=[1,0]] v0;
                v4: {ty}[8,6] = reverse[axes=[0]] v3;
                v5: {ty}[9,5] = pad[low=[-1,1], high=[2,-2], interior=[0,0]] v4 v2;
                v6: {ty}[5,6] = broadcast[shape=[5,6], axes=[1]] v1;
                v7: {ty}[4,6] = slice[start=[0,0], limit=[8,6], stride=[2,1]] v4;
                v8: {ty}[9,6] = concat[axis=0] v6 v7;
                v9: {ty}[9,5] = slice[start=[0,1], limit=[9,6], stride=[1,1]] v8;
                v10: {ty}[9,5] = {op} v5 v9;
                return v10
            }}"
        );
        assert_eq!(steps(&text), 2, "what is joined is read as a view");
    }
}

#[test]
fn what_is_read_elsewhere_is_not_overwritten() {
    let text = "program(v0: f64[500]) {
            v1: f64[] = constant[value=0.0f64];
            v2: f64[500] = pad[low=[1], high=[-1], interior=[0]] v0 v1;
            v3: f64[500] = add v0 v2;
            return v3
        }";
    let program: Program = text.parse().unwrap();
    let inputs: Vec<Array> = program.input_types().iter().map(numbers).collect();
    let plan = Plan::donating(Cow::Borrowed(&program), &Options::default(), &[true], None).unwrap();
    compare(&plan.eval(&inputs).unwrap(), &program.run_reference(&inputs).unwrap(), text);
}
