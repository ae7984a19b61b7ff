//! Tests of what is private here.

use std::borrow::Cow;

use super::super::blocks::tests::{compare, numbers, steps};
use crate::array::{Array, DType, Type};
use crate::plan::{Options, OutputSource, Plan};
use crate::program::Program;

#[test]
fn what_is_computed_from_rows_is_one_step() {
    for (ty, op) in [("f64", "mul"), ("f32", "sub"), ("i64", "add"), ("bool", "xor")] {
        for columns in [1, 2, 3, 5, 8, 16, 17] {
            let text = format!(
                "program(v0: {ty}[20,{columns}], v1: i64[900,1], v2: i64[900,1], v3: {ty}[900]) {{
                    v4: {ty}[900,{columns}] = gather[batch=0, axes=[0], mode=fill] v0 v1;
                    v5: {ty}[900,{columns}] = gather[batch=0, axes=[0], mode=fill] v0 v2;
                    v6: {ty}[900,{columns}] = broadcast[shape=[900,{columns}], axes=[0]] v3;
                    v7: {ty}[900,{columns}] = {op} v4 v5;
                    v8: {ty}[900,{columns}] = {op} v7 v6;
                    return v8 v4
                }}"
            );
            assert_eq!(steps(&text), 1, "{ty}, {columns} columns");
        }
    }
}

#[test]
fn rows_are_added_up_where_they_are_read() {
    let text = "program(v0: f64[25,6,3], v1: i64[70,1], v2: f64[70,6,3]) {
            v3: f64[70,6,3] = gather[batch=0, axes=[0], mode=fill] v0 v1;
            v4: f64[70,6,3] = mul v3 v2;
            v5: f64[70,6] = sum[axes=[2]] v4;
            v6: f64[70,6,3] = broadcast[shape=[70,6,3], axes=[0,1]] v5;
            v7: f64[70,6,3] = sub v6 v3;
            v8: f64[] = sum[axes=[0,1,2]] v7;
            return v8
        }";
    assert_eq!(steps(text), 1);
    // A number for each row of something wider.
    let text = "program(v0: f32[25], v1: i64[300,1], v2: f32[300,7]) {
            v3: f32[300] = gather[batch=0, axes=[0], mode=fill] v0 v1;
            v4: f32[300] = square v3;
            v5: f32[300,7] = broadcast[shape=[300,7], axes=[0]] v4;
            v6: f32[300,7] = mul v5 v2;
            return v6
        }";
    assert_eq!(steps(text), 1);
}

#[test]
fn what_is_computed_is_in_memory_before_its_rows_are_read() {
    let text = "program(v0: f64[30,4], v1: i64[30,1]) {
            v2: f64[30,4] = neg v0;
            v3: f64[30,4] = gather[batch=0, axes=[0], mode=fill] v2 v1;
            v4: f64[30,4] = add v3 v2;
            v5: i64[30,1] = add v1 v1;
            v6: f64[30,4] = gather[batch=0, axes=[0], mode=fill] v4 v5;
            v7: f64[30,4] = mul v6 v4;
            return v7
        }";
    // The doubled indices are a step of their own: they are no row of anything.
    assert_eq!(steps(text), 4);
}

#[test]
fn what_only_copies_rows_is_a_kernel() {
    let alone = "program(v0: f64[30,4], v1: i64[90,1]) {
            v2: f64[90,4] = gather[batch=0, axes=[0], mode=fill] v0 v1;
            return v2
        }";
    // Other axes, and indices that are moved to where there is a row, are no lookups of rows.
    let across = "program(v0: f64[30,4], v1: i64[9,1]) {
            v2: f64[9,30] = gather[batch=0, axes=[1], mode=fill] v0 v1;
            v3: f64[9,30] = exp v2;
            return v3
        }";
    let clamped = "program(v0: f64[30,4], v1: i64[9,1]) {
            v2: f64[9,4] = gather[batch=0, axes=[0], mode=clamp] v0 v1;
            v3: f64[9,4] = exp v2;
            return v3
        }";
    for (text, wanted) in [(alone, 1), (across, 2), (clamped, 2)] {
        assert_eq!(steps(text), wanted, "{text}");
        let program: Program = text.parse().unwrap();
        let plan = Plan::new(&program, &Options::default()).unwrap();
        assert_eq!(plan.steps()[0].provenance.names, ["gather"]);
        assert_eq!(plan.steps()[0].provenance.lookups, [], "it is no region");
    }
}

#[test]
fn rows_are_not_overwritten_before_they_are_read() {
    let text = "program(v0: f64[5000], v1: i64[5000,1]) {
            v2: f64[5000] = gather[batch=0, axes=[0], mode=fill] v0 v1;
            v3: f64[5000] = add v0 v2;
            return v3
        }";
    let program: Program = text.parse().unwrap();
    let indices: Vec<i64> = (0..5000).map(|k| 4999 - k).collect();
    let inputs = [numbers(&Type::new(DType::F64, &[5000])), Array::new(&[5000, 1], indices)];
    let plan = Plan::donating(Cow::Borrowed(&program), &Options::default(), &[true, true], None).unwrap();
    compare(&plan.eval(&inputs).unwrap(), &program.run_reference(&inputs).unwrap(), text);
}

#[test]
fn an_index_without_a_row_is_the_error_of_the_definition() {
    let text = "program(v0: f64[30,4], v1: i64[90,1], v2: i64[90,1]) {
            v3: f64[90,4] = gather[batch=0, axes=[0], mode=fill] v0 v1;
            v4: f64[90,4] = gather[batch=0, axes=[0], mode=error] v0 v1;
            v5: f64[90,4] = gather[batch=0, axes=[0], mode=error] v0 v2;
            v6: f64[90,4] = mul v4 v5;
            v7: f64[90,4] = add v3 v6;
            return v7
        }";
    let program: Program = text.parse().unwrap();
    let plan = Plan::new(&program, &Options::default()).unwrap();
    assert_eq!(plan.step_count(), 1);
    let indices = |outside: &[(usize, i64)]| {
        let mut all: Vec<i64> = (0..90).map(|k| k % 30).collect();
        outside.iter().for_each(|&(at, index)| all[at] = index);
        Array::new(&[90, 1], all)
    };
    let run = |first: &[(usize, i64)], second: &[(usize, i64)]| {
        let inputs = [numbers(&Type::new(DType::F64, &[30, 4])), indices(first), indices(second)];
        let (found, wanted) = (plan.eval(&inputs), program.run_reference(&inputs));
        match (found, wanted) {
            (Ok(found), Ok(wanted)) => {
                compare(&found, &wanted, text);
                None
            }
            (Err(found), Err(wanted)) => {
                assert_eq!(found.to_string(), wanted.to_string());
                Some(found.to_string())
            }
            (found, wanted) => panic!("{found:?} instead of {wanted:?}"),
        }
    };
    assert_eq!(run(&[], &[]), None);
    for (first, second, index) in [
        (&[(89, 30), (4, -2)][..], &[][..], "-2"),
        (&[], &[(0, i64::MAX), (1, 77)], "9223372036854775807"),
        (&[(70, 31)], &[(0, 32)], "31"),
    ] {
        let why = run(first, second).expect("an index has no row");
        assert!(why.contains(&format!("the index {index} is out of range for an axis that is 30 long")), "{why}");
    }
}

/// How many lookups each step of a plan has, and its results checked against the definition.
#[track_caller]
fn lookups(text: &str, donated: &[bool]) -> (Vec<usize>, Plan) {
    let program: Program = text.parse().unwrap_or_else(|why| panic!("{why}\n{text}"));
    let inputs: Vec<Array> = program.input_types().iter().map(numbers).collect();
    let plan = Plan::donating(Cow::Borrowed(&program), &Options::default(), donated, None).unwrap();
    compare(&plan.eval(&inputs).unwrap(), &program.run_reference(&inputs).unwrap(), text);
    (plan.steps().iter().map(|step| step.provenance.lookups.len()).collect(), plan)
}

/// Rows that are read before a sum is known, and after it; `array` gives the array, `columns` is how many elements a row has.
fn twice(array: &str, columns: usize) -> String {
    format!(
        "program(v0: f64[40,{columns}], v1: i64[2000,1]) {{
            v2: f64[40,{columns}] = {array} v0;
            v3: f64[2000,{columns}] = gather[batch=0, axes=[0], mode=fill] v2 v1;
            v4: f64[2000,{columns}] = square v3;
            v5: f64[] = sum[axes=[0,1]] v4;
            v6: f64[2000,{columns}] = broadcast[shape=[2000,{columns}], axes=[]] v5;
            v7: f64[2000,{columns}] = mul v6 v3;
            return v7
        }}"
    )
}

#[test]
fn rows_are_looked_up_again_instead_of_being_stored() {
    let reshaped = "reshape[shape=[40,8]]";
    assert_eq!(lookups(&twice(reshaped, 8), &[]).0, [1, 1]);
    assert_eq!(lookups(&twice("reshape[shape=[40,3]]", 3), &[]).0, [1, 0], "short beside their indices");
    assert_eq!(lookups(&twice("exp", 8), &[]).0, [0, 1, 0], "the array would live longer");
    assert_eq!(lookups(&twice(reshaped, 8), &[true, false]).0, [1, 0], "the array may be given to a result");
}

#[test]
fn arrays_of_which_a_part_is_changed_in_place_are_read_before() {
    // Of the array that is changed no row is read after that, and of the new one all are.
    let text = "program(v0: f64[4000,8], v1: i64[4000,1], v2: f64[4000,8]) {
            v3: f64[4000,8] = exp v0;
            v4: f64[4000,8] = gather[batch=0, axes=[0], mode=fill] v3 v1;
            v5: f64[4000,8] = scatter_add[batch=0, axes=[0], mode=fill] v3 v1 v2;
            v6: f64[4000,8] = gather[batch=0, axes=[0], mode=fill] v5 v1;
            v7: f64[4000,8] = sub v6 v4;
            return v5 v7
        }";
    let (counts, plan) = lookups(text, &[]);
    assert_eq!(counts, [0, 0, 0, 1]);
    let arena = plan.arena_bytes();
    assert!(
        arena < 400_000,
        "{arena} bytes: there is room for the first rows alone, 256,000, and not for another array"
    );
}

#[test]
fn a_large_array_is_not_kept_for_a_few_rows() {
    let few = |array: &str| {
        format!(
            "program(v0: f64[4000], v1: i64[4,1], v2: f64[4000]) {{
                v3: f64[4000] = {array} v0;
                v4: f64[4] = gather[batch=0, axes=[0], mode=fill] v3 v1;
                v5: f64[4000] = cumsum[axis=0, reverse=false] v2;
                v6: f64[] = sum[axes=[0]] v5;
                v7: f64[4] = broadcast[shape=[4], axes=[]] v6;
                v8: f64[4] = mul v4 v7;
                return v8
            }}"
        )
    };
    assert_eq!(lookups(&few("exp"), &[]).0.iter().sum::<usize>(), 0);
    let given = few("reshape[shape=[4000]]");
    assert_eq!(lookups(&given, &[]).0.iter().sum::<usize>(), 1);
    assert_eq!(lookups(&given, &[true, false, false]).0.iter().sum::<usize>(), 0);
}

#[test]
fn results_are_written_over_inputs_that_are_read_in_order() {
    let text = "program(v0: f64[5000], v1: f64[5000], v2: i64[5000,1]) {
            v3: f64[5000] = gather[batch=0, axes=[0], mode=fill] v0 v2;
            v4: f64[5000] = add v3 v1;
            return v4
        }";
    let (counts, plan) = lookups(text, &[true, true, false]);
    assert_eq!((counts, plan.outputs()[0].source), (vec![1], OutputSource::Donated(1)));
}
