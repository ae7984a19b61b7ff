//! Tests of what is private here.

use super::*;

/// What differs between two Programs, and which numbers of the first may become inputs.
fn compared(own: &str, other: &str) -> (bool, Vec<usize>, Vec<bool>) {
    let (own, other): (Program, Program) = (own.parse().unwrap(), other.parse().unwrap());
    let mut differing = Vec::new();
    let same = is_same(&own, &other, &mut |place| {
        differing.push(place);
        true
    });
    let hash = |program: &Program| {
        let mut hasher = FastHasher::default();
        hash_structure(program, &mut hasher);
        hasher.finish()
    };
    assert_eq!(hash(&own) == hash(&other), same);
    (same, differing, movable(&own))
}

fn program(body: &str) -> String {
    format!("program(v0: f64[]) {{ {body} }}")
}

#[test]
fn programs_are_the_same_but_for_numbers() {
    let scaled = |a: &str, b: &str| {
        program(&format!(
            "v1: f64[] = constant[value={a}]; v2: f64[] = constant[value={b}]; v3: f64[] = mul v0 v1
                 v4: f64[] = pow v3 v2; return v4"
        ))
    };
    // The exponent may not move.
    assert_eq!(compared(&scaled("1f64", "2f64"), &scaled("3f64", "2f64")), (true, vec![0], vec![true, false]));
    assert!(compared(&scaled("1f64", "2f64"), &scaled("1f64", "2f64")).1.is_empty());
    assert_eq!(compared(&scaled("1f64", "2f64"), &scaled("3f64", "0.5f64")).1, [0, 1]);
    // -0 is not 0.
    assert_eq!(compared(&scaled("0f64", "2f64"), &scaled("-0f64", "2f64")).1, [0]);
    let other = program("v1: f64[] = constant[value=1f64]; v2: f64[] = add v0 v1; return v2");
    assert!(!compared(&scaled("1f64", "2f64"), &other).0);
}

#[test]
fn what_a_transcendental_function_of_constants_needs_stays() {
    let through = |op: &str| {
        let text = program(&format!(
            "v1: f64[] = constant[value=2f64]; v2: f64[] = neg v1; v3: f64[] = {op} v2; v4: f64[] = mul v0 v3
                 return v4"
        ));
        compared(&text, &text).2
    };
    assert_eq!((through("neg"), through("exp")), (vec![true], vec![false]));
}

#[test]
fn regions_take_their_numbers_as_operands() {
    let text = |c: &str| {
        program(&format!(
            "v1: f64[] = recompute[program=program(v0: f64[]) {{ v1: f64[] = constant[value={c}]
                 v2: f64[] = mul v0 v1; return v2 }}] v0
                 v2: f64[] = constant[value=7f64]; v3: f64[] = add v1 v2; return v3"
        ))
    };
    let (same, differing, movable) = compared(&text("2f64"), &text("3f64"));
    assert_eq!((same, differing, movable), (true, vec![0], vec![true, true]));
    let source: Program = text("2f64").parse().unwrap();
    let numbers = Numbers::of(&source);
    let lifted = with_inputs(&source, &numbers, &[true, false]);
    assert_eq!(numbers.values(&[true, false]), [Literal::F64(2.0)]);
    assert_eq!(lifted.input_types().len(), 2);
    let out = lifted.run_reference(&[Array::scalar(5.0), Array::scalar(3.0)]).unwrap();
    assert_eq!(out[0].to_f64(), [22.0]);
}

#[test]
fn branches_take_the_numbers_of_both() {
    let text = "program(v0: bool[], v1: f64[]) {
          v2: f64[] = cond[yes=program(v0: f64[]) { v1: f64[] = constant[value=2f64]; v2: f64[] = mul v0 v1; return v2 },
            no=program(v0: f64[]) { v1: f64[] = constant[value=7f64]; v2: f64[] = sub v0 v1; return v2 }] v0 v1
          return v2 }";
    let source: Program = text.parse().unwrap();
    for marked in [[true, true], [true, false], [false, true]] {
        let lifted = with_inputs(&source, &Numbers::of(&source), &marked);
        let numbers = [Array::scalar(3.0), Array::scalar(10.0)];
        for (choice, wanted) in
            [(true, [3.0, 2.0][usize::from(!marked[0])] * 5.0), (false, 5.0 - [10.0, 7.0][usize::from(!marked[1])])]
        {
            let mut args = vec![Array::scalar(choice), Array::scalar(5.0)];
            args.extend(numbers.iter().zip(marked).filter(|(_, marked)| *marked).map(|(number, _)| number.clone()));
            assert_eq!(lifted.run_reference(&args).unwrap()[0].to_f64(), [wanted], "{marked:?} {choice}");
        }
    }
}

#[test]
fn equal_numbers_are_one_input_in_regions_and_branches_too() {
    let inner =
        |c: &str| format!("program(v0: f64[]) {{ v1: f64[] = constant[value={c}]; v2: f64[] = mul v0 v1; return v2 }}");
    let source: Program = format!(
        "program(v0: f64[], v1: bool[]) {{
               v2: f64[] = constant[value=3f64]; v3: f64[] = mul v0 v2
               v4: f64[] = recompute[program={}] v3
               v5: f64[] = cond[yes={}, no={}] v1 v4
               v6: f64[] = constant[value=3f64]; v7: f64[] = add v5 v6; return v7 }}",
        inner("3f64"),
        inner("5f64"),
        inner("3f64")
    )
    .parse()
    .unwrap();
    let numbers = Numbers::of(&source);
    let marked = numbers.operands(&movable(&source));
    assert_eq!(marked, [true; 5]);
    assert_eq!(numbers.values(&marked), [3.0, 5.0].map(Literal::F64));
    let lifted = with_inputs(&source, &numbers, &marked);
    assert_eq!(lifted.input_types().len(), 4);
    for (choice, wanted) in [(true, 2.0 * 7.0 * 7.0 * 11.0 + 7.0), (false, 2.0 * 7.0 * 7.0 * 7.0 + 7.0)] {
        let args = [Array::scalar(2.0), Array::scalar(choice), Array::scalar(7.0), Array::scalar(11.0)];
        assert_eq!(lifted.run_reference(&args).unwrap()[0].to_f64(), [wanted]);
    }
}

#[test]
fn zeros_stay_and_equal_numbers_become_inputs_together() {
    let text = |numbers: [&str; 3]| {
        let [a, b, c] = numbers;
        let source: Program = program(&format!(
            "v1: f64[] = constant[value={a}f64]; v2: f64[] = constant[value={b}f64]
                 v3: f64[] = constant[value={c}f64]; v4: f64[] = mul v0 v1; v5: f64[] = add v4 v2
                 v6: f64[] = pow v5 v3; return v6"
        ))
        .parse()
        .unwrap();
        (Numbers::of(&source), movable(&source))
    };
    let operands = |values: [&str; 3]| {
        let (numbers, movable) = text(values);
        numbers.operands(&movable)
    };
    assert_eq!(operands(["2", "3", "4"]), [true, true, false]);
    assert_eq!(operands(["0", "3", "4"]), [false, true, false]);
    assert_eq!(operands(["2", "-0", "4"]), [true, false, false]);
    // The exponent may not move, and so neither may what is equal to it.
    assert_eq!(operands(["2", "3", "2"]), [false, true, false]);
    let apart = text(["2", "3", "4"]).0;
    assert!(apart.are_equal_where(&text(["7", "5", "1"]).0));
    assert!(!apart.are_equal_where(&text(["3", "3", "4"]).0));
    assert!(!text(["0", "3", "4"]).0.may_be(&[true, true, false]));
}
