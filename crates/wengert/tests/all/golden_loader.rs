//! The loader of the golden files refuses what is wrong with a file, in words, and never panics.

#[path = "../golden/compare.rs"]
mod compare;
#[path = "../golden/listed.rs"]
mod listed;
#[path = "../golden/load.rs"]
#[expect(dead_code, reason = "the golden target uses the cases; here they are only read")]
mod load;
#[path = "../golden/program.rs"]
#[expect(dead_code, reason = "the golden target runs the programs; here they are only read")]
mod program;

use std::path::PathBuf;

use compare::{compare, compare_shaped};
use load::{Cases, Family};
use serde_json::{Value, json};

/// A file with this content, in a folder of its own.
fn file(test: &str, content: &[u8]) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("golden_loader").join(test);
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("family.json");
    std::fs::write(&path, content).unwrap();
    path
}

fn array(dtype: &str, shape: &[usize], data: &[f64]) -> Value {
    json!({"dtype": dtype, "shape": shape, "data": data})
}

/// A sound case with one vector in and one out.
fn sound_case() -> Value {
    let vector = |data: &[f64]| array("f64", &[2], data);
    json!({
        "name": "square/ordinary", "function": "square",
        "inputs": [vector(&[1.0, 2.0])], "outputs": [vector(&[1.0, 4.0])],
        "tangents": [vector(&[1.0, 0.0])], "jvp": [vector(&[2.0, 0.0])],
        "cotangents": [vector(&[0.0, 1.0])], "vjp": [vector(&[0.0, 4.0])],
        "tol": {"rtol": 1e-13, "atol": 0.0},
    })
}

fn family_of(name: &str, case: &Value) -> Value {
    json!({"family": name, "functions": {"square": {"formula": "x^2"}}, "cases": [case]})
}

/// What the loader says about a file as a whole.
fn refused(test: &str, content: &[u8]) -> String {
    match load::family(&file(test, content)) {
        Ok(family) => panic!("{test}: the file of {} was read", family.name),
        Err(error) => error,
    }
}

/// What the loader says about the only case of a file.
fn malformed(test: &str, family: &str, case: &Value) -> String {
    let path = file(test, family_of(family, case).to_string().as_bytes());
    let error = match load::family(&path) {
        Ok(Family { cases: Cases::Functions(mut cases), .. }) => cases.remove(0).1.err(),
        Ok(Family { cases: Cases::Conventions(mut cases), .. }) => cases.remove(0).1.err(),
        Err(error) => panic!("{test}: the whole file was refused: {error}"),
    };
    error.unwrap_or_else(|| panic!("{test}: the case was read"))
}

/// The sound case with the value at a JSON pointer replaced, or removed.
fn changed(pointer: &str, value: Option<Value>) -> Value {
    let mut case = sound_case();
    match value {
        Some(value) => *case.pointer_mut(pointer).expect("the sound case has this place") = value,
        None => {
            case.as_object_mut().unwrap().remove(pointer.trim_start_matches('/')).expect("the sound case has it");
        }
    }
    case
}

#[test]
fn a_sound_file_is_read() {
    let path = file("sound", family_of("unary", &sound_case()).to_string().as_bytes());
    let Ok(Family { name, cases: Cases::Functions(cases) }) = load::family(&path) else { panic!("it was refused") };
    assert_eq!((name.as_str(), cases.len(), cases[0].0.as_str()), ("unary", 1, "square/ordinary"));
    let case = cases[0].1.as_ref().unwrap();
    assert_eq!(case.inputs[0].data, [1.0, 2.0]);
    assert_eq!(case.diff, [0]);
    assert_eq!((case.rtol, case.atol), (1e-13, 0.0));
}

#[test]
fn numbers_are_the_nearest_and_words_stand_for_what_json_lacks() {
    let case = changed("/inputs/0/data", Some(json!(["NaN", "-Infinity"])));
    let path = file("words", family_of("unary", &case).to_string().as_bytes());
    let Ok(Family { cases: Cases::Functions(cases), .. }) = load::family(&path) else { panic!("it was refused") };
    let data = &cases[0].1.as_ref().unwrap().inputs[0].data;
    assert!(data[0].is_nan());
    assert_eq!(data[1], f64::NEG_INFINITY);
    // Digits between two numbers, where a parser that rounds more than once goes wrong.
    for text in ["9007199254740993.0", "8.442911973260991817129021e-309", "2.2250738585072011e-308"] {
        let value: Value = serde_json::from_str(text).unwrap();
        assert_eq!(load::real(&value), Ok(text.parse().unwrap()), "{text}");
    }
}

#[test]
fn files_that_are_no_golden_files_are_refused_by_name() {
    let whole = family_of("unary", &sound_case()).to_string();
    let cases: [(&str, &[u8], &str); 10] = [
        ("empty", b"", "EOF"),
        ("truncated", &whole.as_bytes()[..whole.len() / 2], "EOF"),
        ("not_utf8", b"{\"family\": \"\xff\"}", "utf-8"),
        ("bare_nan", b"{\"family\": \"unary\", \"cases\": [NaN]}", "expected value"),
        ("out_of_range", b"{\"family\": \"unary\", \"cases\": [1e999]}", "out of range"),
        ("no_object", b"[1, 2]", "not a JSON object"),
        ("no_family", b"{\"cases\": [1]}", "`family` is missing"),
        ("no_cases", b"{\"family\": \"unary\", \"functions\": {}}", "`cases` is missing"),
        ("zero_cases", b"{\"family\": \"unary\", \"functions\": {}, \"cases\": []}", "`cases` is empty"),
        ("no_functions", b"{\"family\": \"unary\", \"cases\": [1]}", "`functions` is missing"),
    ];
    for (test, content, message) in cases {
        let error = refused(test, content);
        assert!(error.contains("family.json") && error.contains(message), "{test}: {error}");
    }
    let deep = refused("deep", "[".repeat(100_000).as_bytes());
    assert!(deep.contains("recursion limit"), "{deep}");
}

#[test]
fn directories_without_files_are_refused() {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("golden_loader/without_files");
    std::fs::create_dir_all(&folder).unwrap();
    assert!(load::files(&folder).unwrap_err().contains("there is no .json file"));
    assert!(load::files(&folder.join("missing")).unwrap_err().contains("missing"));
    assert!(load::family(&folder.join("missing.json")).is_err());
}

#[test]
fn malformed_cases_are_refused_by_name() {
    let huge = u64::MAX;
    let replaced: [(&str, &str, Value, &str); 20] = [
        ("name", "/name", json!(7), "`name` is not a text"),
        ("inputs", "/inputs", json!("x"), "`inputs` is not a list"),
        ("dtype", "/inputs/0/dtype", json!("f16"), "unknown dtype `f16`"),
        ("length", "/outputs/0/data", json!([1.0]), "shape [2] needs 2 numbers, `data` has 1"),
        ("overflow", "/inputs/0/shape", json!([huge, huge, 0]), "more elements than can be counted"),
        ("wide", "/inputs/0/shape", json!([huge]), "needs 18446744073709551615 numbers"),
        ("negative", "/inputs/0/shape", json!([-2]), "-2 is not a number from 0 on"),
        ("fraction", "/inputs/0/shape", json!([2.5]), "2.5 is not a number from 0 on"),
        ("word", "/inputs/0/data", json!([1.0, "inf"]), "`data`[1]: `inf` is not a number"),
        ("null", "/inputs/0/data", json!([1.0, null]), "null is not a number"),
        ("shape", "/jvp/0/shape", json!([2, 1]), "its shape is [2, 1] instead of [2]"),
        ("count", "/jvp", json!([]), "`jvp` has 0 arrays instead of 1"),
        ("absent", "/vjp/0", json!(null), "it is null although it is differentiated"),
        ("tolerance", "/tol", json!({"rtol": "NaN", "atol": 0.0}), "not a tolerance"),
        ("half_tolerance", "/tol", json!({"rtol": 1e-9}), "`atol` is missing"),
        ("bool", "/inputs/0", array("bool", &[1], &[2.0]), "2 is no number of dtype Bool"),
        ("i32", "/inputs/0", array("i32", &[1], &[3e9]), "3000000000 is no number of dtype I32"),
        ("i64", "/inputs/0", array("i64", &[1], &[0.5]), "0.5 is no number of dtype I64"),
        ("f32", "/inputs/0", array("f32", &[1], &[1e39]), "does not fit into f32"),
        ("function", "/function", json!("cube"), "`functions` does not list its function `cube`"),
    ];
    for (test, pointer, value, message) in replaced {
        let error = malformed(test, "unary", &changed(pointer, Some(value)));
        assert!(error.contains(message), "{test}: {error}");
        assert!(test == "name" || error.contains("family.json: malformed case `square/ordinary`"), "{test}: {error}");
    }
    for key in ["name", "function", "inputs", "outputs", "tol", "tangents", "cotangents"] {
        let error = malformed(&format!("without_{key}"), "unary", &changed(&format!("/{key}"), None));
        assert!(error.contains(&format!("`{key}`")), "{key}: {error}");
    }
    assert!(malformed("no_case", "unary", &json!(1)).contains("it is not an object"));
}

#[test]
fn arrays_beside_the_usual_ones_are_checked_too() {
    let mut case = sound_case();
    case["exact"] = json!({"f": {"shape": [3], "dtype": "f64", "data": [1.0]}});
    let error = malformed("exact", "unary", &case);
    assert!(error.contains("`exact.f`: shape [3] needs 3 numbers"), "{error}");
}

#[test]
fn what_is_differentiated_must_exist_and_be_real() {
    let mut case = sound_case();
    case["diff"] = json!([1]);
    assert!(malformed("diff_range", "unary", &case).contains("`diff` names input 1 of 1"));
    case["diff"] = json!([]);
    assert!(malformed("diff_none", "unary", &case).contains("it should be null"));
    let mut case = changed("/inputs/0", Some(array("i64", &[2], &[1.0, 2.0])));
    case["diff"] = json!([0]);
    assert!(malformed("diff_whole", "unary", &case).contains("cannot be differentiated"));
}

#[test]
fn programs_refer_to_earlier_nodes_and_to_inputs_that_exist() {
    let program = |nodes: Value, outputs: Value| {
        let mut case = sound_case();
        case["attrs"] = json!({"program": {"nodes": nodes, "outputs": outputs}});
        case
    };
    let input = json!({"op": "input", "index": 0});
    let cases: [(&str, Value, Value, &str); 7] = [
        ("forward", json!([{"op": "sin", "args": [0]}]), json!([0]), "node 0: its operand 0 is no earlier node"),
        ("input", json!([{"op": "input", "index": 1}]), json!([0]), "node 0: there is no such input among 1"),
        ("result", json!([input]), json!([1]), "names node 1 of 1"),
        ("op", json!([{"index": 0}]), json!([]), "node 0: the key `op` is missing"),
        ("args", json!([input, {"op": "sin"}]), json!([]), "node 1: the key `args` is missing"),
        ("const", json!([{"op": "const", "value": "one"}]), json!([]), "node 0: `one` is not a number"),
        ("nodes", json!(3), json!([]), "`nodes` is not a list"),
    ];
    for (test, nodes, outputs, message) in cases {
        let error = malformed(&format!("program_{test}"), "programs", &program(nodes, outputs));
        assert!(error.contains(message), "{test}: {error}");
    }
}

#[test]
fn patterns_of_sparse_cases_fit_their_shape() {
    let sparse = |rows: &[f64], count: u64| {
        let mut case = sound_case();
        case["shape"] = json!([2, 2]);
        case["nnz"] = json!(count);
        case["rows"] = array("i64", &[rows.len()], rows);
        case["cols"] = array("i64", &[2], &[0.0, 1.0]);
        case["values"] = array("f64", &[2], &[2.0, 4.0]);
        case
    };
    assert!(malformed("sparse_count", "sparse", &sparse(&[0.0], 2)).contains("`rows` has 1 entries, `nnz` is 2"));
    assert!(malformed("sparse_range", "sparse", &sparse(&[0.0, 2.0], 2)).contains("`rows` holds 2, outside"));
    assert!(malformed("sparse_keys", "sparse", &sound_case()).contains("`shape` is missing"));
}

#[test]
fn convention_cases_are_checked() {
    let case = json!({"name": "abs(0.0)", "inputs": [0.0], "accept": [[0.0]], "jax": {"value": [], "grad": [true]}});
    let error = malformed("convention", "conventions", &case);
    assert!(error.contains("family.json: malformed case `abs(0.0)`: `jax`: true is not a number"), "{error}");
    let case = json!({"name": "abs(0.0)", "inputs": [0.0]});
    assert!(malformed("convention_keys", "conventions", &case).contains("`accept` is missing"));
}

#[test]
fn numbers_are_compared_with_the_largest_of_their_array() {
    let near = |got: &[f64], want: &[f64]| compare("x", got, want, 1e-3, 0.0).is_ok();
    assert!(near(&[1000.5, 0.9], &[1000.0, 0.0]));
    assert!(!near(&[1001.5, 0.0], &[1000.0, 0.0]));
    assert!(!near(&[0.9], &[0.0]));
    assert!(near(&[-0.0], &[0.0]));
    assert!(near(&[f64::NAN, f64::INFINITY], &[f64::NAN, f64::INFINITY]));
    assert!(!near(&[f64::NAN], &[1.0]));
    assert!(!near(&[1.0], &[f64::NAN]));
    assert!(!near(&[f64::INFINITY], &[1.0]));
    assert!(!near(&[f64::INFINITY], &[f64::NEG_INFINITY]));
    // An infinity does not make every difference small.
    assert!(!near(&[2.0, f64::INFINITY], &[1.0, f64::INFINITY]));
    assert!(!near(&[1.0], &[1.0, 1.0]));
    assert!(compare("x", &[1e-14], &[0.0], 0.0, 1e-13).is_ok());
    assert!(compare_shaped("x", (&[1, 2], &[1.0, 2.0]), (&[2, 1], &[1.0, 2.0]), 1e-3, 0.0).is_err());
    assert!(compare_shaped("x", (&[2], &[1.0, 2.0]), (&[2], &[1.0, 2.0]), 0.0, 0.0).is_ok());
}

#[test]
fn what_is_unsupported_is_what_the_list_says() {
    let check = |missing: &[(&str, usize)], failing: &[&str]| {
        let missing = missing.iter().map(|&(name, cases)| (name.to_owned(), cases)).collect();
        let list = "fft: rfft (3)\nlinalg: solve (4)\nlinalg: solve (rows) (2)\n";
        let found: Vec<String> = listed::misfits("linalg", &missing, list).into_iter().map(|(name, _)| name).collect();
        assert_eq!(found, failing, "{missing:?}");
    };
    check(&[("solve", 4), ("solve (rows)", 2)], &[]);
    // One that the list does not have, one that is supported now, and a case more or fewer.
    check(&[("solve", 4), ("solve (rows)", 2), ("qr", 1)], &["qr"]);
    check(&[("solve", 4)], &["solve (rows)"]);
    check(&[("solve", 5), ("solve (rows)", 1)], &["solve", "solve (rows)"]);
    check(&[("rfft", 3)], &["rfft", "solve", "solve (rows)"]);
}
