//! Formulas of vectors and matrices: `wengert grad` with arrays in `--at`.

use serde_json::Value;

use crate::command::{Ran, wengert};

fn grad(program: &str, at: &str, more: &[&str]) -> Ran {
    wengert(&[&["grad", program, "--at", at], more].concat())
}

/// The report as JSON.
fn json(program: &str, at: &str, more: &[&str]) -> Value {
    let ran = grad(program, at, &[&["--format", "json"], more].concat());
    assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{program}");
    serde_json::from_str(&ran.out).expect("it is JSON")
}

/// The numbers in nested lists, in reading order.
fn numbers(value: &Value) -> Vec<f64> {
    match value {
        Value::Array(items) => items.iter().flat_map(numbers).collect(),
        other => vec![other.as_f64().unwrap_or(f64::NAN)],
    }
}

fn gradient(program: &str, at: &str) -> Vec<f64> {
    let report = json(program, at, &[]);
    let parts = report["gradient"].as_array().expect("a gradient");
    parts.iter().flat_map(|part| numbers(&part["value"])).collect()
}

/// Equal up to the roundings of the chain rule: those of a root, a quotient and two products.
fn near(found: &[f64], expected: &[f64], program: &str) {
    let is_near = |(x, y): (&f64, &f64)| (x - y).abs() <= 2.0 * f64::EPSILON * y.abs();
    assert!(
        found.len() == expected.len() && found.iter().zip(expected).all(is_near),
        "{program}: {found:?} {expected:?}"
    );
}

#[test]
fn gradients_have_their_closed_forms() {
    const X: &str = "x=[1,2,3]";
    const AX: &str = "A=[[1,2],[3,4]],x=[5,7]";
    for (program, at, expected) in [
        ("sum(x^2)", X, &[2.0, 4.0, 6.0][..]),
        ("mean(x)", "x=[1,2,3,4]", &[0.25; 4]),
        ("prod(x)", X, &[6.0, 3.0, 2.0]),
        ("max(x) - min(x)", X, &[-1.0, 0.0, 1.0]),
        ("dot(x, [4, 5, 6])", X, &[4.0, 5.0, 6.0]),
        ("x @ x", X, &[2.0, 4.0, 6.0]),
        ("norm(x)", "x=[3,4]", &[0.6, 0.8]),
        ("norm1(x) + 2*norm_inf(x)", "x=[1,-3]", &[1.0, -3.0]),
        ("x[0] * x[-1] + sum(x[1:])", X, &[3.0, 1.0, 2.0]),
        // The gradients of bilinear and quadratic forms are A x and x xᵀ.
        ("x @ A @ x", AX, &[45.0, 81.0, 25.0, 35.0, 35.0, 49.0]),
        ("sum(A.T @ x)", AX, &[5.0, 5.0, 7.0, 7.0, 3.0, 7.0]),
        ("sum(A * x)", AX, &[5.0, 7.0, 5.0, 7.0, 4.0, 6.0]),
        ("sum(max(A, 2.5))", "A=[[1,2],[3,4]]", &[0.0, 0.0, 1.0, 1.0]),
        ("sum(A[:, 1]) + A[1, 0]", "A=[[1,2],[3,4]]", &[0.0, 1.0, 1.0, 1.0]),
        ("sum(sum(A, 0) * [10, 20])", "A=[[1,2],[3,4]]", &[10.0, 20.0, 10.0, 20.0]),
        ("sum(sum(A, -1) * [10, 20])", "A=[[1,2],[3,4]]", &[10.0, 10.0, 20.0, 20.0]),
        ("trace(A @ A)", "A=[[1,2],[3,4]]", &[2.0, 6.0, 4.0, 8.0]),
        // That of a determinant is the matrix of cofactors, at singular matrices too.
        ("det(A)", "A=[[1,2],[3,4]]", &[4.0, -3.0, -2.0, 1.0]),
        ("det(A)", "A=[[1,2],[2,4]]", &[4.0, -2.0, -2.0, 1.0]),
        ("det(A)", "A=[[0,1,0],[1,0,0],[0,0,2]]", &[0.0, -2.0, 0.0, -2.0, 0.0, 0.0, 0.0, 0.0, -1.0]),
        ("outer(x, [1, 10])[1, 1]", X, &[0.0, 10.0, 0.0]),
        ("sum([a, 2*a, x[0]])", "a=1,x=[1]", &[3.0, 1.0]),
        ("if sum(x) > 0 { y = 2*x } else { y = x^2 }\nsum(y)", X, &[2.0; 3]),
        ("if sum(x) > 9 { y = 2*x } else { y = x^2 }\nsum(y)", X, &[2.0, 4.0, 6.0]),
        ("sum(select(x > 1.5, x^2, -x))", X, &[-1.0, 4.0, 6.0]),
    ] {
        near(&gradient(program, at), expected, program);
    }
}

#[test]
fn kinks_are_as_the_conventions_have_them() {
    for (program, at, expected) in [
        ("norm(x)", "x=[0,0,0]", &[0.0; 3][..]),
        ("norm(x)", "x=[0]", &[0.0]),
        ("norm(x)", "x=[0,0,-3]", &[0.0, 0.0, -1.0]),
        ("norm(x)", "x=[3e200,4e200]", &[0.6, 0.8]),
        ("norm(x)", "x=[3e-200,4e-200]", &[0.6, 0.8]),
        ("norm(x)", "x=[-5e-324]", &[-1.0]),
        ("max(x)", "x=[2,1,2]", &[0.5, 0.0, 0.5]),
        ("min(x)", "x=[1,1,1,1]", &[0.25; 4]),
        ("norm_inf(x)", "x=[-2,2]", &[-0.5, 0.5]),
        // At infinity too, as of two numbers.
        ("max(x)", "x=[inf,1]", &[1.0, 0.0]),
        ("min(x)", "x=[-inf,0,-inf]", &[0.5, 0.0, 0.5]),
        ("norm_inf(x)", "x=[-inf,2]", &[-1.0, 0.0]),
        ("sum(abs(x))", "x=[0,-1]", &[0.0, -1.0]),
    ] {
        near(&gradient(program, at), expected, program);
    }
    let norm = |at: &str| json("norm(x)", at, &[])["outputs"][0]["value"].clone();
    // To the bit; the reader of JSON may miss the last digit.
    let shown = grad("norm(x)", "x=[1,2,3]", &[]).out;
    assert!(shown.contains(&format!("norm(x)  {}\n", 14f64.sqrt())), "{shown}");
    // Squares of these would overflow or vanish.
    near(&numbers(&norm("x=[3e200,4e200]")), &[5e200], "norm");
    near(&numbers(&norm("x=[3e-200,4e-200]")), &[5e-200], "norm");
    assert_eq!((norm("x=[1,-inf]").as_str(), norm("x=[nan,0]").as_str()), (Some("inf"), Some("NaN")));
    // Three that share: the value is theirs to the bit, and so it is at infinity.
    let value = |at: &str| json("max(x)", at, &[])["outputs"][0]["value"].clone();
    assert_eq!(value("x=[0.1,0.1,0.1]").as_f64(), Some(0.1));
    assert_eq!(value("x=[1,inf]").as_str(), Some("inf"));
    assert_eq!(value("x=[1,nan]").as_str(), Some("NaN"));
}

#[test]
fn branches_may_ask_a_part_of_several_conditions() {
    for (program, at, expected) in [
        ("if (x > 0)[0] { y = x[0] } else { y = 2 * x[1] }\ny", "x=[1,2]", [1.0, 0.0]),
        ("if (x > 0)[0] { y = x[0] } else { y = 2 * x[1] }\ny", "x=[-1,2]", [0.0, 2.0]),
        ("if !(x > 0)[1] || (x < 3).T[0] { y = x[0] } else { y = x[1] }\ny", "x=[1,2]", [1.0, 0.0]),
        ("if x[0] > 0 && (x > 5)[1] { y = x[0] } else { y = x[1] }\ny", "x=[1,2]", [0.0, 1.0]),
        ("if (x[0] > 0).T { y = x[0] } else { y = x[1] }\ny", "x=[1,2]", [1.0, 0.0]),
    ] {
        near(&gradient(program, at), &expected, program);
    }
}

#[test]
fn derivatives_agree_with_differences() {
    const SQUARE: &str = "A=[[2,0.5,-1],[0.25,3,0.75],[1,-0.5,1.5]],x=[0.5,-1.25,2]";
    for (program, at) in [
        ("sum(sin(A @ x)) / norm(x)", SQUARE),
        ("x @ inv(A) @ x", SQUARE),
        ("sum(solve(A, x)^2) + trace(inv(A))", SQUARE),
        ("y = tanh(A @ x + 0.1)\nb = A.T @ y\nsum(exp(-b^2)) * max(y) + mean(A, 0) @ y", SQUARE),
        ("ln(det(A)^2) + prod(x)", SQUARE),
        ("sum(outer(x, x) * A) + sum(solve(A, A.T)[0])", SQUARE),
        ("sum(hypot(A, x)) + sum(clamp(x, -1, 1) * A[1])", SQUARE),
        ("det(B)", "B=[[1,2,3,4],[2,1,-1,0.5],[0,3,1,2],[4,-2,0.25,1]]"),
    ] {
        let ran = grad(program, at, &["--check", "--hessian"]);
        assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{program}");
        assert!(ran.out.contains("agree with differences") && !ran.out.contains("unclear"), "{program}: {}", ran.out);
    }
    let ran = grad(
        "A @ sin(x), sum(x)",
        SQUARE,
        &["--check", "--jacobian", "--jvp", "A=[[1,0,0],[0,1,0],[0,0,1]],x=[1,2,3]"],
    );
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.out.contains("d/dA[2, 0]") && ran.out.contains("(A @ sin(x))[2]"), "{}", ran.out);
    let ran = grad("sum(x^3)", "x=[1,2]", &["--order", "3", "--dir", "x=[1,1]"]);
    // 3 x² v, 6 x v², 6 v³ added up.
    for line in ["1      15          15", "2      18          9", "3      12          2"] {
        assert!(ran.out.contains(line), "{line}: {}", ran.out);
    }
}

#[test]
fn an_inverse_and_a_solution_are_those_of_the_matrix() {
    let at = "A=[[2,1,0.5,0,1],[1,3,0,1,0],[0,1,4,1,0.25],[1,0,1,5,1],[0.5,0,0,1,2]],b=[1,2,3,4,5]";
    let report = json("A @ inv(A), A @ solve(A, b)", at, &["--jacobian"]);
    let identity: Vec<f64> = (0..25).map(|k| if k % 6 == 0 { 1.0 } else { 0.0 }).collect();
    let expected = [identity, vec![1.0, 2.0, 3.0, 4.0, 5.0]].concat();
    let outputs = report["outputs"].as_array().expect("outputs");
    let found: Vec<f64> = outputs.iter().flat_map(|output| numbers(&output["value"])).collect();
    assert_eq!(outputs.len(), 2);
    assert!(found.iter().zip(&expected).all(|(x, y)| (x - y).abs() < 1e-13), "{found:?}");
    // Their derivatives by b are the identity again, those by A zero.
    let rows = report["jacobian"].as_array().expect("a jacobian");
    for (k, row) in rows.iter().enumerate() {
        for (input, derivative) in numbers(row).iter().enumerate() {
            let one = k >= 25 && input == k;
            assert!((derivative - f64::from(u8::from(one))).abs() < 1e-12, "{k} {input}: {derivative}");
        }
    }
}

#[test]
fn the_list_has_a_row_for_each_operation_on_arrays() {
    let ran = grad("y = A @ x\nb = A.T @ y\nnorm(b[1:]) + y[0] * max(x)", "x=[1,2],A=[[1,2],[3,4]]", &[]);
    let list = ran.out.split("Wengert list\n").nth(1).expect("a list");
    let rows: Vec<Vec<&str>> = list
        .lines()
        .skip(1)
        .map(|line| line.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect())
        .collect();
    let expected = [
        ["A", "input", "[[1, 2], [3, 4]]", "[[4, 8], [4, 8]]"],
        ["x", "input", "[1, 2]", "[16, 29]"],
        ["y", "A @ x", "[5, 11]", "[4, 4]"],
        ["b", "A.T @ y", "[38, 54]", "[0, 1]"],
        ["v3", "norm(b[1:])", "54", "1"],
        ["v4", "max(x)", "2", "5"],
        ["v5", "y[0] * v4", "10", "1"],
        ["v6", "v3 + v5", "64", "1"],
    ];
    // d/dA of y[0] max(x) + b[1]: by y and by A alike.
    assert_eq!(rows.len(), expected.len(), "{list}");
    for (row, expected) in rows.iter().zip(&expected) {
        assert_eq!(row[..3], expected[..3], "{list}");
    }
    assert_eq!(rows[2][3], "[4, 4]", "{list}");
    for format in ["svg", "dot", "latex"] {
        let ran = grad("sum(A @ x)", "x=[1,2],A=[[1,2],[3,4]]", &["--format", format]);
        assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{format}");
        assert!(ran.out.contains("v1") || ran.out.contains("v_{1}"), "{format}: {}", ran.out);
    }
}

#[test]
fn what_does_not_fit_is_shown_where_it_is_written() {
    for (program, at, code, parts) in [
        (
            "A @ x",
            "A=[[1,2],[3,4]],x=[1,2,3]",
            3,
            &["`@`: the shapes [2, 2] and [3] do not fit", "1:5", "shape [3]"][..],
        ),
        ("x + y", "x=[1,2],y=[1,2,3]", 3, &["`+`: the shapes [2] and [3] do not fit", "1:5", "one of them 1"]),
        ("hypot(x, y)", "x=[1,2],y=[1,2,3]", 3, &["`hypot`: the shapes [2] and [3]"]),
        ("dot(x, y)", "x=[1,2],y=[1,2,3]", 3, &["`dot`: the shapes [2] and [3]"]),
        ("[x, 1]", "x=[1,2]", 3, &["the shapes [2] and [] do not fit", "arrays of one shape"]),
        ("solve(A, x)", "A=[[1,2],[3,4]],x=[1,2,3]", 3, &["`solve`: the shapes [2, 2] and [3]"]),
        ("det(A)", "A=[[1,2]]", 3, &["as many rows as columns", "shape [1, 2]"]),
        ("trace(x)", "x=[1,2]", 3, &["`trace` takes a matrix", "shape [2]"]),
        ("dot(A, A)", "A=[[1,2],[3,4]]", 3, &["`dot` takes vectors"]),
        ("x[2]", "x=[1,2]", 3, &["there is no place 2 among 2 on axis 0"]),
        ("x[0, 0]", "x=[1,2]", 3, &["2 places for 1 axes"]),
        ("sum(x[1:1])", "x=[1,2]", 3, &["the range 1:1 holds no place"]),
        ("x[0]", "x=1", 3, &["a number has no elements", "x=[1,2,3]"]),
        ("sum(x)", "x=1", 3, &["`sum` takes an array, and this is a number"]),
        ("x @ y", "x=[1],y=2", 3, &["`@` takes vectors and matrices, and this is a number"]),
        ("sum(x, 1)", "x=[1,2]", 3, &["no axis of an array of shape [2]", "-1"]),
        ("sum(x, 0, 1)", "x=[1,2]", 3, &["`sum` takes 2 arguments, got 3"]),
        ("if x > 0 { y = 1 } else { y = 2 }\ny", "x=[1,2]", 3, &["expected one number, found an array of shape [2]"]),
        ("a = x[0]\na = x\nsum(a)", "x=[1,2]", 3, &["`a` is a number and would become an array of shape [2]", "2:1"]),
        ("a = x\na = x[0]\na", "x=[1,2]", 3, &["`a` is an array and would become a number"]),
        ("if x[0] > 0 { a = x }\nsum(a)", "x=[1,2]", 3, &["`a` may have no value here"]),
        ("x > 1", "x=[1,2]", 3, &["expected a number, found a condition"]),
        ("[x > 1]", "x=1", 3, &["an array holds numbers, not conditions"]),
        ("2 * x", "x=[1,2]", 2, &["the output is an array of shape [2], 2 numbers", "--jacobian"]),
        ("x + y", "x=[1,2]", 2, &["no value for `y`", "x=[1, 1],y=1"]),
        ("sum(x)", "x=[1,2],y=3", 2, &["`--at` names `y`, but the inputs are x"]),
        ("sum(x)", "x=[1,[2]]", 2, &["has numbers beside arrays"]),
    ] {
        let ran = grad(program, at, &[]);
        assert_eq!(ran.code, code, "{program}: {}{}", ran.out, ran.err);
        for part in parts {
            assert!(ran.err.contains(part), "{program}: {part}: {}", ran.err);
        }
    }
    let ran = grad("sum(x)", "x=[1,2]", &["--jvp", "x=[1,2,3]"]);
    assert!(
        ran.code == 2 && ran.err.contains("gives `x` an array of shape [3], and `x` is an array of shape [2]"),
        "{}",
        ran.err
    );
    // What nests without end is refused or shown as it is written, and no stack overflows.
    let parts = |count: usize| format!("sum(x{})", "[:]".repeat(count));
    assert_eq!(grad(&parts(250), "x=[1,2]", &[]).code, 0);
    let ran = grad(&parts(300), "x=[1,2]", &[]);
    assert!(ran.code == 3 && ran.err.contains("parts of parts"), "{}", ran.err);
    let nested = format!("sum({}x{}{})", "[".repeat(200), "[:]".repeat(200), "]".repeat(200));
    assert_eq!(grad(&nested, "x=[1,2]", &[]).code, 0);
    // What would take too long is refused, not begun.
    let row = format!("[{}]", vec!["1"; 90].join(","));
    let matrix = format!("A=[{}]", vec![row; 90].join(","));
    let ran = grad("sum(A @ A)", &matrix, &[]);
    assert!(ran.code == 3 && ran.err.contains("more than 200000 operations"), "{}", ran.err);
}

#[test]
fn names_of_functions_of_arrays_stay_free_for_numbers() {
    let ran = grad("sum = a + b\nnorm = sum^2\nmean * norm", "a=1,b=2,mean=3", &[]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.out.contains("d/da     18"), "{}", ran.out);
}

#[test]
fn a_singular_matrix_is_explained() {
    let ran = grad("sum(inv(A))", "A=[[1,2],[2,4]]", &[]);
    assert!(ran.out.contains("`v1 = inv(A)`") && ran.out.contains("y is not 0"), "{}", ran.out);
}
