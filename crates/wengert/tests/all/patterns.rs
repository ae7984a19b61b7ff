//! Patterns of Programs: what is chosen, what repeats, what is cut, and what is refused.

use wengert::primitives::{Call, Custom, Rule};
use wengert::sparsity::Pattern;
use wengert::{Array, Builder, DType, Program, Tensor, Type, scan, to_program, while_loop};

use crate::battery::patterns::{entries, nonzeros};

fn program(text: &str) -> Program {
    text.parse().expect("it parses")
}

fn rows(pattern: &Pattern) -> Vec<Vec<u32>> {
    (0..pattern.rows()).map(|row| pattern.row(row).to_vec()).collect()
}

/// The rows of the first output's pattern.
#[track_caller]
fn check(program: &Program, active: &[bool], at: Option<&[Array]>, wanted: &[&[u32]]) {
    let patterns = match at {
        Some(inputs) => program.jacobian_pattern_at(active, inputs),
        None => program.jacobian_pattern(active),
    };
    assert_eq!(rows(&patterns.expect("it has a pattern")[0]), wanted, "{program}");
}

fn vector(elements: &[f64]) -> Array {
    Array::new(&[elements.len()], elements.to_vec())
}

#[test]
fn both_sides_of_a_select_count_everywhere_and_one_at_a_point() {
    let chosen = program(
        "program(v0: f64[2], v1: f64[2]) { v2: bool[2] = gt v0 v1; v3: f64[2] = mul v0 v1; v4: f64[2] = sin v1
         v5: f64[2] = select v2 v3 v4; return v5 }",
    );
    check(&chosen, &[true, true], None, &[&[0, 2], &[1, 3]]);
    let at = [vector(&[1.0, 1.0]), vector(&[0.0, 2.0])];
    check(&chosen, &[true, true], Some(&at), &[&[0, 2], &[3]]);
    let holds = |other: &[f64]| {
        chosen.same_pattern_at(&[true, true], &at, &[vector(other), vector(&[0.5, 2.0])]).expect("it compares")
    };
    assert!(holds(&[1.5, 0.5]));
    assert!(!holds(&[0.25, 0.5]));
}

#[test]
fn a_mask_of_constants_is_known_everywhere() {
    let masked = program(
        "program(v0: f64[3]) { v1: i64[3] = iota[length=3]; v2: i64[] = constant[value=1i64]; v3: i64[3] = broadcast[shape=[3], axes=[]] v2
         v4: bool[3] = eq v1 v3; v5: f64[3] = sin v0; v6: f64[] = constant[value=0.0f64]; v7: f64[3] = broadcast[shape=[3], axes=[]] v6
         v8: f64[3] = select v4 v5 v7; return v8 }",
    );
    check(&masked, &[true], None, &[&[], &[1], &[]]);
}

#[test]
fn an_index_that_is_not_known_reaches_its_axis() {
    let gathered = program(
        "program(v0: f64[3,2], v1: i64[2,1]) { v2: f64[2,2] = gather[batch=0, axes=[0], mode=error] v0 v1; return v2 }",
    );
    check(&gathered, &[true, false], None, &[&[0, 2, 4], &[1, 3, 5], &[0, 2, 4], &[1, 3, 5]]);
    let at = |indices: [i64; 2]| [Array::zeros(&Type::new(DType::F64, &[3, 2])), Array::new(&[2, 1], indices.to_vec())];
    check(&gathered, &[true, false], Some(&at([2, 0])), &[&[4], &[5], &[0], &[1]]);
    assert!(!gathered.same_pattern_at(&[true, false], &at([2, 0]), &at([2, 1])).expect("it compares"));
    let why = gathered.jacobian_pattern_at(&[true, false], &at([2, 3])).map(|_| ()).unwrap_err().to_string();
    assert!(why.contains("gather") && why.contains('3'), "{why}");
}

#[test]
fn integers_and_detached_values_cut_and_zero_times_x_does_not() {
    let cut =
        program("program(v0: f64[2]) { v1: i64[2] = convert[to=i64] v0; v2: f64[2] = convert[to=f64] v1; return v2 }");
    check(&cut, &[true], None, &[&[], &[]]);
    for name in ["detach", "floor", "sign"] {
        check(&program(&format!("program(v0: f64[1]) {{ v1: f64[1] = {name} v0; return v1 }}")), &[true], None, &[&[]]);
    }
    let product =
        program("program(v0: f64[]) { v1: f64[] = constant[value=0.0f64]; v2: f64[] = mul v0 v1; return v2 }");
    check(&product, &[true], None, &[&[0]]);
}

#[test]
fn columns_are_those_of_the_active_inputs_in_order() {
    let sum = program("program(v0: f64[2], v1: f64[2], v2: f64[2]) { v3: f64[2] = add v0 v2; return v3 }");
    check(&sum, &[true, false, true], None, &[&[0, 2], &[1, 3]]);
    check(&sum, &[false, true, false], None, &[&[], &[]]);
    let empty = program("program(v0: f64[0]) { v1: f64[0] = sin v0; v2: f64[] = sum[axes=[0]] v1; return v1 v2 }");
    let patterns = empty.jacobian_pattern(&[true]).expect("it is empty");
    assert_eq!((patterns[0].rows(), patterns[1].rows(), patterns[1].nnz()), (0, 1, 0));
}

/// A scan that is followed step by step, and one that is too long for it: the first is exact, the second joins all steps.
#[test]
fn loops_reach_what_their_steps_reach() {
    let moved = |length: usize| {
        let x = Tensor::from(vec![0.5; 4]);
        let rows = Tensor::from(vec![0.5; length]);
        to_program((x, rows), |(x, rows)| {
            let (last, given) = scan(x, rows, |carry: Tensor, row: Tensor| {
                let next = carry.pad(&[(1, -1, 0)], 0.0) * &row;
                (next.clone(), next)
            });
            (last, given)
        })
        .0
    };
    let patterns = moved(2).jacobian_pattern(&[true, true]).expect("it has a pattern");
    // What is filled in depends on nothing, and is multiplied all the same.
    assert_eq!(rows(&patterns[0]), [vec![5], vec![4, 5], vec![0, 4, 5], vec![1, 4, 5]]);
    assert_eq!(rows(&patterns[1])[..4], [vec![4], vec![0, 4], vec![1, 4], vec![2, 4]]);
    // Every place is reached from those before it, in any number of steps, by any row.
    let long = 30_000;
    let patterns = moved(long).jacobian_pattern(&[true, false]).expect("it has a pattern");
    assert_eq!(rows(&patterns[0]), [vec![0], vec![0, 1], vec![0, 1, 2], vec![0, 1, 2, 3]]);
    assert_eq!(patterns[1].rows(), 4 * long);
}

/// A pattern that grows by a neighbour a step is taken to be dense after a while, and covers what there is.
#[test]
fn a_loop_that_goes_on_ends() {
    let n = 200;
    let x = Tensor::from(vec![1.0; n]);
    let (program, _) = to_program(x, |x| {
        while_loop(x, |x: Tensor| x.sum().gt(1.0), |x: Tensor| &x * 0.5 + x.pad(&[(1, -1, 0)], 0.0) * 0.25)
    });
    let pattern = &program.jacobian_pattern(&[true]).expect("it has a pattern")[0];
    assert!((0..n).all(|row| pattern.contains(row, row) && (0..=row).all(|col| pattern.contains(row, col))));
}

/// The rule counts, not the value: here a straight-through step, whose value has no derivative.
#[test]
fn a_rule_of_ones_own_says_what_is_reached() {
    let ty = Type::new(DType::F64, &[2]);
    let one = |of: &str, inputs: usize| {
        let mut b = Builder::new();
        let values: Vec<_> = (0..inputs).map(|_| b.input("", ty.clone())).collect();
        let op = if of == "floor" { wengert::ops::Unary::Floor } else { wengert::ops::Unary::Neg };
        let out = b.emit(op, &values[inputs - 1..]).expect("it fits");
        std::sync::Arc::new(b.finish(&out))
    };
    let custom = |rule| Custom { name: "step".to_owned(), value: one("floor", 1), rule, surrogate: true };
    for custom in [custom(Rule::Jvp(one("neg", 2))), custom(Rule::Vjp(one("neg", 3)))] {
        let mut b = Builder::new();
        let x = b.input("", ty.clone());
        let out = b.emit(custom, &[x]).expect("it fits");
        check(&b.finish(&out), &[true], None, &[&[0], &[1]]);
    }
}

/// The branch that is taken at a point, and all of them everywhere; also inside a call.
#[test]
fn branches_join() {
    let branches = program(
        "program(v0: bool[], v1: f64[2]) { v2: f64[2] = cond[
             yes=program(v0: f64[2]) { v1: f64[2] = sin v0; return v1 },
             no=program(v0: f64[2]) { v1: f64[2] = reverse[axes=[0]] v0; return v1 }] v0 v1; return v2 }",
    );
    let mut b = Builder::new();
    let args: Vec<_> = branches.input_types().iter().map(|ty| b.input("", ty.clone())).collect();
    let outs = b.emit(Call::new(branches.clone()), &args).expect("it fits");
    for program in [branches, b.finish(&outs)] {
        let active = [false, true];
        check(&program, &active, None, &[&[0, 1], &[0, 1]]);
        let at = |holds: bool| [Array::scalar(holds), vector(&[1.0, 2.0])];
        check(&program, &active, Some(&at(true)), &[&[0], &[1]]);
        check(&program, &active, Some(&at(false)), &[&[1], &[0]]);
        assert!(program.same_pattern_at(&active, &at(true), &at(true)).expect("it compares"));
        assert!(!program.same_pattern_at(&active, &at(true), &at(false)).expect("it compares"));
    }
}

#[test]
fn more_than_32_bits_of_elements_are_refused() {
    let wide = program("program(v0: f64[65536,65536]) { v1: f64[65536] = sum[axes=[1]] v0; return v1 }");
    let why = wide.jacobian_pattern(&[true]).map(|_| ()).unwrap_err().to_string();
    assert!(why.contains("4294967296") && why.contains("f64[65536,65536]"), "{why}");
}

/// An entry of a Hessian needs its mirror image: of the two products here the gradient's Jacobian has both.
#[test]
fn hessians_are_symmetric_and_cover() {
    let x = Tensor::from(vec![0.5, 0.25, 0.75, 1.0]);
    let f = |x: Tensor| (x.slice(..-1) * x.slice(1..)).sin().sum() + x.slice(0).exp();
    let (program, _) = to_program(x.clone(), f);
    let pattern = program.hessian_pattern(1).expect("it has a pattern");
    assert_eq!(rows(&pattern), [vec![0, 1], vec![0, 1, 2], vec![1, 2, 3], vec![2, 3]]);
    let gradient = to_program(x.clone(), |x| wengert::grad(x, f)).0;
    let found = nonzeros(&gradient, &[true], &[Array::new(&[4], x.to_vec())]).expect("it runs");
    assert!(found.is_subset(&entries(&[pattern])));
}
