//! What is known is what a run gives, for every shape; and what is expected to be known is.

use super::*;
use crate::optimize::optimize;

/// A Program of two indices on `[rows, columns]` with a batch before them: `v2` and `v3` are the indices, and the last is the
/// result.
fn program(rows: usize, columns: usize, ty: &str, rest: &str) -> Program {
    let shape = format!("[2,{rows},{columns}]");
    let text = format!(
        "program() {{
          v0: i64[{rows}] = iota[length={rows}]
          v1: i64[{columns}] = iota[length={columns}]
          v2: i64{shape} = broadcast[shape={shape}, axes=[1]] v0
          v3: i64{shape} = broadcast[shape={shape}, axes=[2]] v1
          {}
          return {} }}",
        rest.replace("SHAPE", &shape).replace("ROWS", &rows.to_string()).replace("COLUMNS", &columns.to_string()),
        rest.trim().lines().last().and_then(|line| line.trim().split(':').next()).expect("a line")
    );
    let program: Program = text.parse().unwrap_or_else(|why| panic!("{why} in {text}"));
    assert_eq!(program.output_types()[0].dtype.to_string(), ty, "{text}");
    program
}

/// Endings, from comparisons of indices on.
const ENDINGS: &[(&str, &str)] = &[
    ("bool", "v5: bool[2,ROWS] = any[axes=[2]] v4"),
    ("bool", "v5: bool[2,COLUMNS] = any[axes=[1]] v4"),
    ("bool", "v5: bool[2,ROWS] = all[axes=[2]] v4"),
    ("bool", "v5: bool[2,COLUMNS] = all[axes=[1]] v4"),
    ("bool", "v5: bool[COLUMNS] = any[axes=[0,1]] v4"),
    ("bool", "v5: bool[2] = all[axes=[1,2]] v4"),
    ("bool", "v5: bool[ROWS,COLUMNS] = any[axes=[0]] v4"),
    ("bool", "v5: bool[2,COLUMNS,ROWS] = permute[order=[0,2,1]] v4\n v6: bool[2,ROWS] = any[axes=[1]] v5"),
    ("bool", "v5: bool[COLUMNS,2,ROWS] = permute[order=[2,0,1]] v4\n v6: bool[COLUMNS,2,ROWS] = not v5"),
    ("i64", "v5: i64SHAPE = convert[to=i64] v4\n v6: i64SHAPE = cummax[axis=1, reverse=true] v5"),
    ("i64", "v5: i64SHAPE = convert[to=i64] v4\n v6: i64SHAPE = cummax[axis=1, reverse=false] v5"),
    ("i64", "v5: i64SHAPE = convert[to=i64] v4\n v6: i64SHAPE = cummax[axis=2, reverse=true] v5"),
    ("i64", "v5: i64SHAPE = convert[to=i64] v4\n v6: i64SHAPE = cummax[axis=2, reverse=false] v5"),
    ("i64", "v5: i64SHAPE = convert[to=i64] v4\n v6: i64SHAPE = cummin[axis=1, reverse=true] v5"),
    ("i64", "v5: i64SHAPE = convert[to=i64] v4\n v6: i64SHAPE = cummin[axis=2, reverse=false] v5"),
    ("i64", "v5: i64SHAPE = cummax[axis=1, reverse=true] v2\n v6: i64SHAPE = cummin[axis=2, reverse=true] v5"),
    ("bool", "v5: i64SHAPE = sub v2 v3\n v6: i64SHAPE = abs v5\n v7: boolSHAPE = le v6 v2\n v8: boolSHAPE = or v7 v4"),
    (
        "bool",
        "v5: i64SHAPE = sub v3 v2\n v6: i64SHAPE = mul v5 v5\n v7: boolSHAPE = lt v6 v5\n v8: boolSHAPE = xor v7 v4",
    ),
    ("bool", "v5: i64SHAPE = add v2 v3\n v6: boolSHAPE = lt v5 v2\n v7: boolSHAPE = and v6 v4"),
    ("bool", "v5: i64SHAPE = add v2 v2\n v6: boolSHAPE = lt v5 v3\n v7: boolSHAPE = and v6 v4"),
];

/// The results by the operations' definitions, as numbers.
fn reference(program: &Program) -> Vec<Vec<f64>> {
    let results = program.run_reference(&[]).unwrap();
    results.iter().map(Array::to_f64).collect()
}

#[test]
fn what_is_known_is_what_a_run_gives() {
    for (rows, columns) in (1..6).flat_map(|rows| (1..6).map(move |columns| (rows, columns))) {
        for compare in ["lt", "le", "gt", "ge", "eq", "ne"] {
            for operands in ["v2 v3", "v3 v2", "v2 v2"] {
                for (ty, ending) in ENDINGS {
                    let rest = format!("v4: boolSHAPE = {compare} {operands}\n{ending}");
                    let before = program(rows, columns, ty, &rest);
                    let after = known_masks(before.clone(), &Config::default());
                    after.verify().unwrap_or_else(|why| panic!("{why} in {after}"));
                    let [wanted, got] = [&before, &after].map(reference);
                    assert_eq!(wanted, got, "{before}\n{after}");
                }
            }
        }
    }
}

#[test]
fn an_axis_without_elements_is_left_to_the_run() {
    for (rows, columns) in [(0, 3), (3, 0), (0, 0)] {
        for (ty, ending) in ENDINGS {
            let before = program(rows, columns, ty, &format!("v4: boolSHAPE = ge v2 v3\n{ending}"));
            let after = known_masks(before.clone(), &Config::default());
            assert_eq!(reference(&before), reference(&after), "{before}\n{after}");
        }
    }
}

/// How many equations there are, the last of which is what a mask makes of an input.
fn counted(rest: &str) -> usize {
    let text = format!(
        "program(v0: f64[5,5]) {{
          v1: i64[5] = iota[length=5]
          v2: i64[5,5] = broadcast[shape=[5,5], axes=[0]] v1
          v3: i64[5,5] = broadcast[shape=[5,5], axes=[1]] v1
          v4: bool[5,5] = ge v2 v3
          v5: f64[] = constant[value=0.0f64]
          v6: f64[5,5] = broadcast[shape=[5,5], axes=[]] v5
          {rest}
          v99: f64[5,5] = select v98 v0 v6
          return v99 }}"
    );
    optimize(&text.parse().unwrap_or_else(|why| panic!("{why} in {text}")), &Config::default()).count()
}

#[test]
fn parts_that_make_up_a_list_are_all_of_it() {
    let text = |high: usize| {
        format!(
            "program(v0: f64[5]) {{
              v1: bool[] = constant[value=true]
              v2: bool[2] = broadcast[shape=[2], axes=[]] v1
              v3: bool[3] = broadcast[shape=[3], axes=[]] v1
              v4: bool[] = constant[value=false]
              v5: bool[5] = pad[low=[0], high=[3], interior=[0]] v2 v4
              v6: bool[{0}] = pad[low=[2], high=[{1}], interior=[0]] v3 v4
              v7: bool[5] = slice[start=[0], limit=[5], stride=[1]] v6
              v8: bool[5] = or v5 v7
              v9: f64[] = constant[value=0.0f64]
              v10: f64[5] = broadcast[shape=[5], axes=[]] v9
              v11: f64[5] = select v8 v0 v10
              return v11 }}",
            5 + high,
            high
        )
    };
    for high in [0, 2] {
        assert_eq!(optimize(&text(high).parse().unwrap(), &Config::default()).count(), 0);
    }
    let gap = text(0).replace("low=[2], high=[0]", "low=[1], high=[1]");
    let (gap, all): (Program, Program) = (gap.parse().unwrap(), text(0).parse().unwrap());
    let x = [Array::new(&[5], vec![1.0, 2.0, 3.0, 4.0, 5.0])];
    for program in [gap, all] {
        let after = optimize(&program, &Config::default());
        let [wanted, got] = [&program, &after].map(|program| program.run_reference(&x).unwrap()[0].to_f64());
        assert_eq!(wanted, got, "{after}");
    }
}

#[test]
fn masks_that_hold_everywhere_vanish() {
    let full = counted("v98: bool[5,5] = or v4 v4");
    assert_eq!(counted("v7: bool[5] = any[axes=[1]] v4\n v98: bool[5,5] = broadcast[shape=[5,5], axes=[0]] v7"), 0);
    assert_eq!(counted("v7: bool[5] = any[axes=[0]] v4\n v98: bool[5,5] = broadcast[shape=[5,5], axes=[1]] v7"), 0);
    let reached = "v7: i64[5,5] = convert[to=i64] v4
                   v8: i64[5,5] = cummax[axis=AXIS, reverse=true] v7
                   v9: i64[] = constant[value=0i64]
                   v10: i64[5,5] = broadcast[shape=[5,5], axes=[]] v9
                   v98: bool[5,5] = gt v8 v10";
    assert_eq!(counted(&reached.replace("AXIS", "0")), 0, "what a substitution from below reaches is everything");
    assert_eq!(counted(&reached.replace("AXIS", "1")), full, "from the right it reaches the triangle, which is there");
    let parts = "v7: bool[5,5] = gt v2 v3\n v8: bool[5,5] = eq v3 v2\n v98: bool[5,5] = or v7 v8";
    assert_eq!(counted(parts), full, "the whole is there already");
    let turned = "v7: bool[5,5] = permute[order=[1,0]] v4\n v8: bool[5,5] = or v7 v4\n v98: bool[5,5] = or v8 v7";
    assert_eq!(counted(turned), 0);
}
