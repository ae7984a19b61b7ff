//! Every rule on values of every kind, and what passes leave alone.

use super::rules::{RULES, Rewrite, rewrite_with};
use super::*;
use crate::array::{Array, DType, Data};
use crate::ops::{Binary, Compare, Unary};
use crate::primitives::{Broadcast, Convert, Logic, Permute, Reshape, Reverse, Select, Slice, samples};
use crate::program::{Builder, Value};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

fn parse(text: &str) -> Program {
    text.parse().unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// Zeros, infinities, NaN, the ends of the range, and ordinary numbers.
const NUMBERS: [f64; 12] =
    [0.0, -0.0, 1.0, -1.0, 0.1, -3.7, 5e-324, 1e308, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 1e-30];

/// A rule's example as a Program that gives its last result; all numbers as `dtype`.
fn example(rule: &Rewrite, dtype: &str) -> Program {
    let constant = |k: usize, value: &str, ty: &str| {
        format!("v{k}0: {ty}[] = constant[value={value}]; v{k}: {ty}[144] = broadcast[shape=[144], axes=[]] v{k}0\n")
    };
    let reals = ["1.0", "0.0", "-0.0", "-1.0", "4.0", "3.0"];
    let mut text = String::from("program(v0: f64[144], v1: f64[144], v2: bool[144], v3: i64[144], v4: f64[12,12]) {\n");
    for (k, value) in reals.iter().enumerate() {
        text += &constant(10 + k, &format!("{value}f64"), "f64");
    }
    text += &(constant(16, "true", "bool") + &constant(17, "false", "bool") + &constant(18, "0i64", "i64"));
    if !rule.example.contains("v19:") {
        text += "v19: bool[] = constant[value=true]\n";
    }
    let last = (20..30).rev().find(|n| rule.example.contains(&format!("v{n}:"))).expect("a result of the example");
    text += &format!("{}\nreturn v{last}\n}}", rule.example);
    dce(parse(&text.replace("f64", dtype)))
}

/// Every pair of numbers.
fn inputs(program: &Program) -> Vec<Array> {
    let pairs = |pick: fn(usize) -> usize| (0..144).map(|k| NUMBERS[pick(k)]).collect::<Vec<f64>>();
    let first: fn(usize) -> usize = |k| k / 12;
    let second: fn(usize) -> usize = |k| k % 12;
    program
        .input_types()
        .iter()
        .enumerate()
        .map(|(k, ty)| {
            let x = pairs(if k == 1 || k == 2 { second } else { first });
            match ty.dtype {
                DType::Bool => Array::new(&ty.shape, (0..144).map(|k| k % 5 < 2).collect::<Vec<bool>>()),
                DType::I64 => Array::new(&ty.shape, (0..144).map(|k| [i64::MIN, i64::MAX, 0, 1, -7][k % 5]).collect()),
                DType::F32 => Array::new(&ty.shape, x.iter().map(|&x| x as f32).collect::<Vec<f32>>()),
                DType::F64 => Array::new(&ty.shape, x),
            }
        })
        .collect()
}

/// Whether two results agree as the class of a rewrite promises, element by element.
fn agree(class: Class, before: &Array, after: &Array) -> bool {
    if before.ty() != after.ty() {
        return false;
    }
    let exact = |x: f64, y: f64| x.to_bits() == y.to_bits() || (x.is_nan() && y.is_nan());
    match (before.data(), after.data()) {
        (Data::Bool(x), Data::Bool(y)) => x == y,
        (Data::I64(x), Data::I64(y)) => x == y,
        _ => before.to_f64().into_iter().zip(after.to_f64()).all(|(x, y)| match class {
            Class::Exact => exact(x, y),
            Class::SignOfZero => exact(x, y) || x == y,
            // The examples' operands that are not finite give no finite result.
            Class::UnsafeNonFinite => !x.is_finite() || x == y,
            // Two roundings more, in the coarser type; near the ends of the range anything may happen.
            Class::Reassociating => {
                let ends = |x: f64| !(1e-37..1e37).contains(&x.abs());
                exact(x, y) || ends(x) || (x - y).abs() <= 3.0 * f64::from(f32::EPSILON) * x.abs()
            }
        }),
    }
}

#[test]
fn every_rule_applies_to_its_example_and_keeps_what_its_class_promises() {
    for rule in RULES {
        for dtype in ["f64", "f32"] {
            let before = example(rule, dtype);
            let after = rewrite_with(before.clone(), &[rule]);
            assert_ne!(before, after, "{} does not apply to\n{before}", rule.equation);
            let inputs = inputs(&before);
            let (x, y) = (before.run_reference(&inputs).unwrap(), after.run_reference(&inputs).unwrap());
            for (x, y) in x.iter().zip(&y) {
                assert!(agree(rule.class, x, y), "{}: {x:?} became {y:?}", rule.equation);
            }
        }
    }
}

/// A rule of a class that is not allowed does nothing; allowing it does.
#[test]
fn only_allowed_classes_are_applied() {
    for rule in RULES.iter().filter(|rule| rule.class != Class::Exact) {
        let program = example(rule, "f64");
        let left_alone = optimize(&program, &Config::default());
        let inputs = inputs(&program);
        let (x, y) = (program.run_reference(&inputs).unwrap(), left_alone.run_reference(&inputs).unwrap());
        assert!(agree(Class::Exact, &x[0], &y[0]), "{} is on by default", rule.equation);
        let allowed = optimize(&program, &Config::default().allow(rule.class));
        assert_ne!(allowed, left_alone, "{} is off though allowed", rule.equation);
    }
}

/// The disabled rules are wrong somewhere: their class is not exact by name only.
#[test]
fn inexact_rules_do_change_an_answer() {
    for rule in RULES.iter().filter(|rule| rule.class != Class::Exact) {
        let before = example(rule, "f64");
        let after = rewrite_with(before.clone(), &[rule]);
        let inputs = inputs(&before);
        let (x, y) = (before.run_reference(&inputs).unwrap(), after.run_reference(&inputs).unwrap());
        assert!(!agree(Class::Exact, &x[0], &y[0]), "{} is exact on all values here", rule.equation);
    }
}

/// Values, derivatives and batched forms of every operation: the same bits, never more equations.
#[test]
fn optimising_keeps_every_bit() {
    for sample in samples() {
        let mut b = Builder::new();
        let args: Vec<Value> = sample.args.iter().map(|arg| b.input("", arg.ty().clone())).collect();
        let outs = b.ops(sample.op.clone(), &args);
        let program = b.finish(&outs);
        let active: Vec<bool> = sample.args.iter().map(|arg| arg.dtype().is_float()).collect();
        let all = vec![true; args.len()];
        let forms = [Ok(program.clone()), program.jvp(&active), program.vjp(&active), program.vmap(&all, 2)];
        for program in forms.into_iter().flatten() {
            let inputs: Vec<Array> =
                program.input_types().iter().enumerate().map(|(k, ty)| operand(&sample.args, k, ty)).collect();
            let Ok(expected) = program.run_reference(&inputs) else { continue };
            let optimised = program.optimize();
            assert!(optimised.count() <= program.count(), "{program}\nbecame\n{optimised}");
            for (x, y) in expected.iter().zip(optimised.run_reference(&inputs).unwrap()) {
                assert!(agree(Class::Exact, x, &y), "{x:?} became {y:?}:\n{program}\n{optimised}");
            }
        }
    }
}

/// The k-th operand of a sample if the type is its own; else its elements over and over.
fn operand(args: &[Array], k: usize, ty: &crate::array::Type) -> Array {
    let source = args.get(k).filter(|arg| arg.dtype() == ty.dtype && arg.size() > 0);
    let elements = source.map_or_else(|| vec![0.5, -1.25, 1.0], Array::to_f64);
    let elements = elements.into_iter().cycle().take(ty.size());
    match ty.dtype {
        DType::Bool => Array::new(&ty.shape, elements.map(|x| x != 0.0).collect::<Vec<bool>>()),
        DType::I64 => Array::new(&ty.shape, elements.map(|x| x as i64).collect::<Vec<i64>>()),
        DType::F32 => Array::new(&ty.shape, elements.map(|x| x as f32).collect::<Vec<f32>>()),
        DType::F64 => Array::new(&ty.shape, elements.collect::<Vec<f64>>()),
    }
}

#[test]
fn constants_are_computed_without_arrays() {
    let program = parse(
        "program(v0: f64[1000000000]) {
           v1: f64[] = constant[value=2.0f64]
           v2: f64[] = sqrt v1
           v3: f64[1000000000] = broadcast[shape=[1000000000], axes=[]] v2
           v4: f64[1000000000] = broadcast[shape=[1000000000], axes=[]] v1
           v5: f64[1000000000] = mul v3 v4
           v6: f64[1000000000] = add v0 v5
           v7: f64[1] = constant[value=0.5f64]
           v8: i64[2] = iota[length=2]
           return v6 v8
         }"
        .replace("v7: f64[1]", "v7: f64[]")
        .as_str(),
    );
    let expected = "program(v0: f64[1000000000]) {
  v1: f64[] = constant[value=2.8284271247461903f64]
  v2: f64[1000000000] = broadcast[shape=[1000000000], axes=[]] v1
  v3: f64[1000000000] = add v0 v2
  v4: i64[2] = iota[length=2]
  return v3 v4
}";
    assert_eq!(program.optimize().to_string(), expected);
    let summed = "program() { v0: f64[] = constant[value=1.0f64]; v1: f64[3] = broadcast[shape=[3], axes=[]] v0;
                  v2: f64[] = sum[axes=[0]] v1; return v2 }";
    assert_eq!(parse(summed).optimize().count(), 3, "a sum of several elements is left to the executor");
}

/// What fails when it runs is not computed, so that the run can name the line.
#[test]
fn constants_that_fail_are_left_alone() {
    let text = "program() { v0: i64[] = constant[value=1i64]; v1: i64[] = constant[value=0i64];
                v2: i64[] = rem v0 v1; return v2 }";
    let program = parse(text).optimize();
    assert_eq!(program.count(), 3);
    assert!(program.run_reference(&[]).unwrap_err().to_string().contains("divided by zero"));
}

#[test]
fn regions_stay_apart_and_are_optimised_inside() {
    let region = |name: &str| {
        format!(
            "{name}[program=program(v0: f64[]) {{ v1: f64[] = sin v0; v2: f64[] = sin v0; v3: f64[] = add v1 v2;
             return v3 }}] v0"
        )
    };
    let twice = |name: &str| {
        let (first, second) = (region(name), region(name));
        parse(&format!(
            "program(v0: f64[]) {{ v4: f64[] = sin v0\nv1: f64[] = {first}\nv2: f64[] = {second}
             v3: f64[] = mul v1 v2; v5: f64[] = mul v3 v4; return v5 }}"
        ))
    };
    let recomputed = twice("recompute").optimize();
    assert_eq!((recomputed.eqns().len(), recomputed.count()), (5, 9), "{recomputed}");
    let called = twice("call").optimize();
    assert_eq!((called.eqns().len(), called.count()), (4, 6), "{called}");
}

#[test]
fn branches_and_rules_of_custom_operations_are_optimised() {
    let body = "(v0: f64[]) { v1: f64[] = neg v0; v2: f64[] = neg v1; return v2 }";
    let text = format!(
        "program(v0: f64[], v1: bool[]) {{
           v2: f64[] = cond[yes=program{body}, no=program{body}] v1 v0
           v3: f64[] = custom[name=same, rule=exact, value=program{body}, jvp=program(v0: f64[], v1: f64[]) {{
             v2: f64[] = neg v1; v3: f64[] = neg v2; return v3 }}] v2
           return v3
         }}"
    );
    let program = parse(&text);
    assert_eq!((program.count(), program.optimize().count()), (10, 2));
}

/// One equation of a random program on values of type `f64[2,2]`; operands by number, modulo how many there are.
#[derive(Clone, Debug)]
enum Step {
    Constant(usize),
    Unary(usize, usize),
    Binary(usize, usize, usize),
    Choose(usize, usize, bool, usize, usize),
    Move(usize, usize),
    Truth(bool, usize, usize),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let k = || 0usize..64;
    let step = prop_oneof![
        k().prop_map(Step::Constant),
        (k(), k()).prop_map(|(op, x)| Step::Unary(op, x)),
        (k(), k(), k()).prop_map(|(op, x, y)| Step::Binary(op, x, y)),
        (k(), k(), any::<bool>(), k(), k()).prop_map(|(x, y, not, yes, no)| Step::Choose(x, y, not, yes, no)),
        (k(), k()).prop_map(|(how, x)| Step::Move(how, x)),
        (any::<bool>(), k(), k()).prop_map(|(value, yes, no)| Step::Truth(value, yes, no)),
    ];
    prop::collection::vec(step, 1..24)
}

fn random_program(steps: &[Step]) -> Program {
    // What the rules look for, often enough that they apply.
    const UNARY: [Unary; 6] = [Unary::Neg, Unary::Neg, Unary::Abs, Unary::Square, Unary::Powi(1), Unary::Sqrt];
    const BINARY: [Binary; 7] =
        [Binary::Add, Binary::Sub, Binary::Mul, Binary::Div, Binary::Max, Binary::Min, Binary::Copysign];
    const CONSTANTS: [f64; 8] = [1.0, -1.0, 0.0, -0.0, 0.25, 3.0, f64::INFINITY, f64::NAN];
    let mut b = Builder::new();
    let ty = crate::array::Type::new(DType::F64, &[2, 2]);
    let mut values = vec![b.input("x", ty.clone()), b.input("y", ty.clone())];
    for step in steps {
        let at = |k: &usize| values[k % values.len()];
        let next = match step {
            Step::Constant(k) => b.full(CONSTANTS[k % CONSTANTS.len()], &ty),
            Step::Unary(op, x) => b.op(UNARY[op % UNARY.len()], &[at(x)]),
            Step::Binary(op, x, y) => b.op(BINARY[op % BINARY.len()], &[at(x), at(y)]),
            Step::Choose(x, y, not, yes, no) => {
                let mask = b.op(Compare::Lt, &[at(x), at(y)]);
                let mask = if *not { b.op(Logic::Not, &[mask]) } else { mask };
                b.op(Select, &[mask, at(yes), at(no)])
            }
            Step::Truth(value, yes, no) => {
                let mask = b.full(f64::from(u8::from(*value)), &ty.with_dtype(DType::Bool));
                b.op(Select, &[mask, at(yes), at(no)])
            }
            Step::Move(how, x) => moved(&mut b, how % 7, at(x)),
        };
        values.push(next);
    }
    b.finish(&values[values.len().saturating_sub(3)..])
}

/// Elements that move, and end in the shape in which they began.
fn moved(b: &mut Builder, how: usize, x: Value) -> Value {
    match how {
        0 => b.op(Permute::new(&[1, 0]), &[x]),
        1 => b.op(Reverse::new(&[0]), &[x]),
        2 => b.op(Reverse::new(&[0, 1]), &[x]),
        3 => {
            let flat = b.op(Reshape::new(&[4]), &[x]);
            b.op(Reshape::new(&[2, 2]), &[flat])
        }
        4 => {
            let wide = b.op(Broadcast::new(&[3, 2, 2], &[1, 2]), &[x]);
            let wider = b.op(Broadcast::new(&[3, 2, 2, 2], &[0, 1, 3]), &[wide]);
            let cut = b.op(Slice::new(&[0, 0, 1, 0], &[3, 2, 2, 2], &[2, 1, 1, 1]), &[wider]);
            let cut = b.op(Slice::new(&[1, 0, 0, 0], &[2, 2, 1, 2], &[1, 1, 1, 1]), &[cut]);
            b.op(Reshape::new(&[2, 2]), &[cut])
        }
        5 => {
            let single = b.op(Convert(DType::F32), &[x]);
            b.op(Convert(DType::F64), &[single])
        }
        _ => b.op(Slice::new(&[0, 0], &[2, 2], &[1, 1]), &[x]),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, rng_seed: RngSeed::Fixed(7), ..ProptestConfig::default() })]

    /// Random programs and their derivatives, at numbers of every kind.
    #[test]
    fn optimising_random_programs_keeps_every_bit(steps in steps(), points in prop::collection::vec(0usize..12, 40)) {
        let program = random_program(&steps);
        let both = [true, true];
        for program in [program.clone(), program.jvp(&both).unwrap(), program.vjp(&both).unwrap()] {
            let optimised = program.optimize();
            prop_assert_eq!(&optimised.optimize(), &optimised, "once is enough");
            let inputs: Vec<Array> = program
                .input_types()
                .iter()
                .zip(points.chunks(4))
                .map(|(ty, points)| Array::new(&ty.shape, points.iter().map(|&k| NUMBERS[k]).collect::<Vec<f64>>()))
                .collect();
            for (x, y) in program.run_reference(&inputs).unwrap().iter().zip(optimised.run_reference(&inputs).unwrap()) {
                prop_assert!(agree(Class::Exact, x, &y), "{x:?} became {y:?}:\n{program}\n{optimised}");
            }
        }
    }
}

#[test]
fn what_no_branch_needs_is_not_passed_and_what_nobody_needs_is_not_computed() {
    let program = parse(
        "program(v0: f64[], v1: bool[], v2: f64[]) {
           v3: f64[] = sin v2
           v4: f64[], v5: f64[] = cond[yes=program(v0: f64[], v1: f64[]) { v2: f64[] = exp v1; return v0 v2 },
             no=program(v0: f64[], v1: f64[]) { v2: f64[] = neg v0; v3: f64[] = cos v1; return v2 v3 }] v1 v0 v3
           return v4
         }",
    );
    let expected = "program(v0: f64[], v1: bool[], v2: f64[]) {
  v3: f64[] = cond[yes=program(v0: f64[]) {
    return v0
  }, no=program(v0: f64[]) {
    v1: f64[] = neg v0
    return v1
  }] v1 v0
  return v3
}";
    assert_eq!(program.optimize().to_string(), expected);
}
