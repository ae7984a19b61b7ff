//! Which steps become code that is called.

use super::super::{Options, Plan};
use super::*;

/// The code of a step with this many invariants, and the carry behind them.
fn called(text: &str, invariants: usize) -> Option<CalledStep> {
    let program: Program = text.parse().expect("a program");
    let plan = Plan::new(&program, &Options::default()).expect("a plan");
    CalledStep::new(&program, &plan, [invariants; 2])
}

#[test]
fn counters_are_computed_beside_the_code() {
    let found = called(
        "program(v0: f64[4], v1: i64[], v2: f64[4], v3: bool[]) {
                v4: i64[] = constant[value=1i64]
                v5: i64[] = add v1 v4
                v6: f64[4] = tanh v2
                v7: f64[] = convert[to=f64] v5
                v8: f64[4] = broadcast[shape=[4], axes=[]] v7
                v9: f64[4] = mul v6 v8
                v10: f64[4] = add v9 v0
                v11: i64[] = constant[value=9i64]
                v12: bool[] = lt v5 v11
                v13: bool[] = and v12 v3
                return v5 v10 v13 v13
            }",
        1,
    );
    let found = found.expect("a step over few numbers that counts");
    assert_eq!(found.results, [(1, 4)]);
    let Integers { numbers, operands, steps, results, read, .. } = &found.integers;
    let of_operands: Vec<usize> = operands.iter().map(|&(_, operand)| operand).collect();
    assert_eq!((numbers.len(), &of_operands[..], steps.len()), (2, &[1, 3][..], 3));
    assert_eq!(results.iter().map(|&(result, _)| result).collect::<Vec<_>>(), [0, 2, 3]);
    // The counter is converted by the code.
    assert_eq!(read.len(), 1);
}

#[test]
fn integers_that_registers_cannot_compute_stay_with_the_plan() {
    // A remainder by zero has to be an error that names the line.
    let remainder = "program(v0: i64[], v1: f64[]) {
            v2: i64[] = rem v0 v0
            v3: f64[] = sin v1
            return v2 v3
        }";
    assert!(called(remainder, 0).is_none());
    let of_reals = "program(v0: i64[], v1: f64[]) {
            v2: i64[] = convert[to=i64] v1
            v3: i64[] = add v0 v2
            v4: f64[] = sin v1
            return v3 v4
        }";
    assert!(called(of_reals, 0).is_none());
    let several = "program(v0: i64[2], v1: f64[]) {
            v2: i64[2] = add v0 v0
            v3: f64[] = sin v1
            return v2 v3
        }";
    assert!(called(several, 0).is_none());
}

#[test]
fn a_step_that_only_counts_stays_with_the_plan() {
    assert!(called("program(v0: i64[]) { v1: i64[] = add v0 v0; return v1 }", 0).is_none());
}

#[test]
fn operations_on_integers_are_those_of_their_definition() {
    use crate::array::{Array, Data};
    let integer = |array: &Array| match array.data() {
        Data::Bool(x) => i64::from(x[0]),
        Data::I64(x) => x[0],
        Data::F32(_) | Data::F64(_) => panic!("no integer"),
    };
    let numbers = [i64::MIN, -3, -1, 0, 1, 2, i64::MAX];
    let truths = [false, true];
    let check = |op: Op, args: &[Array]| {
        let results = op.eval(&args.iter().collect::<Vec<&Array>>()).expect("it has a value");
        let wanted = integer(&results[0]);
        let x: Vec<i64> = args.iter().map(integer).collect();
        let found = match x[..] {
            [x] => of_one(&op).expect("a function of one")(x),
            [x, y] => of_two(&op).expect("a function of two")(x, y),
            _ => unreachable!(),
        };
        assert_eq!(found, wanted, "{op:?} {x:?}");
    };
    for x in numbers {
        let x = Array::scalar(x);
        check(Convert(DType::Bool).into(), std::slice::from_ref(&x));
        for y in numbers.map(Array::scalar) {
            let pair = [x.clone(), y];
            for op in [Binary::Add, Binary::Sub, Binary::Mul, Binary::Max, Binary::Min] {
                check(op.into(), &pair);
            }
            for op in [Compare::Lt, Compare::Le, Compare::Gt, Compare::Ge, Compare::Eq, Compare::Ne, Compare::Unordered]
            {
                check(op.into(), &pair);
            }
        }
    }
    for x in truths {
        check(Logic::Not.into(), &[Array::scalar(x)]);
        check(Convert(DType::I64).into(), &[Array::scalar(x)]);
        for y in truths {
            for op in [Logic::And, Logic::Or, Logic::Xor] {
                check(op.into(), &[Array::scalar(x), Array::scalar(y)]);
            }
        }
    }
}
