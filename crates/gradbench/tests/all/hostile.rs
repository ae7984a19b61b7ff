//! Lines that are no messages, messages in the wrong order, inputs that no eval sends: each has one answer, of strict JSON, with
//! the id where there is one.

use proptest::prelude::*;
use serde_json::{Value, json};
use wengert_gradbench::modules::{Module, Settings};
use wengert_gradbench::protocol::Tool;

use super::{answer, refused};

fn tool() -> Tool {
    Tool::new(Settings::single_threaded())
}

fn reply(line: impl AsRef<[u8]>) -> Value {
    let line = tool().answer(line.as_ref());
    serde_json::from_str(&line).unwrap_or_else(|why| panic!("{why}: {line}"))
}

/// An error reply with this id.
fn check_refused(line: impl AsRef<[u8]>, id: Value) {
    let shown = String::from_utf8_lossy(line.as_ref()).chars().take(100).collect::<String>();
    let reply = reply(line);
    assert_eq!((&reply["id"], &reply["success"]), (&id, &json!(false)), "{shown}: {reply}");
    assert!(reply["error"].as_str().is_some_and(|why| !why.is_empty() && why.len() < 1000), "{reply}");
    assert!(reply.get("output").is_none());
}

#[test]
fn what_is_no_message_has_an_error_reply() {
    for line in [
        "",
        "   ",
        "nonsense",
        "NaN",
        "17",
        "[]",
        "[0, \"start\", \"hello\"]",
        "\"start\"",
        "null",
        "{}",
        "{\"kind\": \"start\", \"eval\": \"hello\"}",
        "{\"id\": \"0\", \"kind\": \"start\", \"eval\": \"hello\"}",
        "{\"id\": 1.5, \"kind\": \"start\", \"eval\": \"hello\"}",
        "{\"id\": null, \"kind\": \"start\", \"eval\": \"hello\"}",
        "{\"id\": 1e999, \"kind\": \"x\"}",
        "{\"id\": 123456789012345678901234567890, \"kind\": \"x\"}",
        "{\"kind\": \"start\"",
        "{'id': 0}",
    ] {
        check_refused(line, Value::Null);
    }
    check_refused(b"\xff\xfe{\"id\": 0}", Value::Null);
    check_refused(b"\0\0\0", Value::Null);
}

#[test]
fn an_error_reply_has_the_id_of_a_line_that_breaks_off_behind_it() {
    let start = "{\"id\": 41, \"kind\": \"evaluate\", \"module\": \"lse\", \"function\": \"primal\"";
    for rest in [
        "",
        ", ",
        ", \"input\": {\"x\": [1, 2",
        ", \"input\": {\"x\": [1, NaN]}}",
        ", \"input\": {\"x\": [1, Infinity]}}",
        ", \"input\": {\"x\": [1, -]}}",
        "}}",
        "} {\"id\": 42}",
        ", \"id\": 42}",
        ", \"kind\": \"start\"}",
    ] {
        check_refused(format!("{start}{rest}"), json!(41));
    }
    check_refused(b"{\"id\": 7, \"kind\": \"\xff\"}", json!(7));
}

#[test]
fn fields_that_are_missing_or_of_another_type_are_named() {
    let check = |line: &str, name: &str| {
        check_refused(line, json!(5));
        let why = reply(line)["error"].to_string();
        assert!(why.contains(name), "{line}: {why}");
    };
    check(r#"{"id": 5}"#, "`kind`");
    check(r#"{"id": 5, "kind": 3}"#, "`kind`");
    check(r#"{"id": 5, "kind": "start"}"#, "`eval`");
    check(r#"{"id": 5, "kind": "start", "eval": ["lse"]}"#, "`eval`");
    check(r#"{"id": 5, "kind": "define"}"#, "`module`");
    check(r#"{"id": 5, "kind": "define", "module": "unknown"}"#, "`unknown`");
    check(r#"{"id": 5, "kind": "define", "module": {}}"#, "`module`");
    check(r#"{"id": 5, "kind": "evaluate", "module": "lse", "input": {}}"#, "`function`");
    check(r#"{"id": 5, "kind": "evaluate", "module": "lse", "function": "primal"}"#, "`input`");
    check(r#"{"id": 5, "kind": "evaluate", "module": "lse", "function": "objective", "input": {}}"#, "`objective`");
    check(r#"{"id": 5, "kind": "analysis", "valid": true}"#, "`of`");
    check(r#"{"id": 5, "kind": "analysis", "of": 4}"#, "`valid`");
    check(r#"{"id": 5, "kind": "analysis", "of": 4, "valid": 1}"#, "`valid`");
}

#[test]
fn other_kinds_are_answered_with_the_id_alone() {
    for (line, id) in [
        (r#"{"id": 0, "kind": "unknown"}"#, json!({"id": 0})),
        (r#"{"kind": "", "id": -3, "x": [[[]]]}"#, json!({"id": -3})),
        (r#"{"id": 18446744073709551615, "kind": "END"}"#, json!({"id": u64::MAX})),
        (r#"{"id": 4, "kind": "analysis", "of": 3, "valid": false, "error": "wrong"}"#, json!({"id": 4})),
    ] {
        assert_eq!(reply(line), id);
    }
}

#[test]
fn an_evaluation_in_a_session_needs_its_module_defined() {
    let evaluate = |id: u64| json!({"id": id, "kind": "evaluate", "module": "hello", "function": "square", "input": 3});
    let mut tool = tool();
    // A recorded conversation without its beginning.
    assert_eq!(answer(&mut tool, &evaluate(7))["output"], 9.0);
    answer(&mut tool, &json!({"id": 0, "kind": "start", "eval": "hello"}));
    let early = answer(&mut tool, &evaluate(1));
    assert_eq!((&early["id"], &early["success"]), (&json!(1), &json!(false)), "{early}");
    answer(&mut tool, &json!({"id": 2, "kind": "define", "module": "lse"}));
    assert_eq!(answer(&mut tool, &evaluate(3))["success"], false, "another module was defined");
    answer(&mut tool, &json!({"id": 4, "kind": "define", "module": "hello"}));
    assert_eq!(answer(&mut tool, &evaluate(5))["output"], 9.0);
    // A new session begins.
    answer(&mut tool, &json!({"id": 0, "kind": "start", "eval": "hello"}));
    assert_eq!(answer(&mut tool, &evaluate(1))["success"], false);
}

#[test]
fn every_module_can_be_defined() {
    for module in Module::ALL {
        let message = json!({"id": 1, "kind": "define", "module": module.name()});
        assert_eq!(answer(&mut tool(), &message), json!({"id": 1, "success": true}));
    }
}

#[test]
fn a_line_of_a_hundred_megabytes_is_answered() {
    const SIZE: usize = 100 << 20;
    let long = |start: &str, part: &str, end: &str| [start, &part.repeat(SIZE / part.len()), end].concat();
    check_refused(long("", "nonsense ", ""), Value::Null);
    check_refused(long("{\"id\": 3, \"kind\": ", "[", ""), json!(3));
    let text = long("{\"id\": 3, \"kind\": \"evaluate\", \"module\": \"", "ä", "\"}");
    check_refused(text, json!(3));
    let number = long(
        "{\"id\": 3, \"kind\": \"evaluate\", \"module\": \"hello\", \"function\": \"square\", \"input\": ",
        "1",
        "}",
    );
    check_refused(number, json!(3));
}

#[test]
fn inputs_of_other_types_or_sizes_are_refused() {
    let long = vec![1.0; 12];
    for (module, function, input, why) in [
        ("hello", "square", json!({"x": 1}), "not a number"),
        ("hello", "double", json!(null), "not a number"),
        ("hello", "square", json!(1e200), "not finite"),
        ("det", "primal", json!({"A": [1, 2, 3], "ell": 2}), "A has 3 numbers, and ell is 2"),
        ("det", "gradient", json!({"A": [], "ell": 0}), "ell is 0"),
        ("det", "primal", json!({"A": [1], "ell": 18446744073709551615u64}), "ell is 18446744073709551615"),
        ("det", "primal", json!({"A": [1], "ell": -1}), "-1"),
        ("det", "primal", json!({"ell": 1}), "`A`"),
        ("det", "primal", json!({"A": vec![0.0; 900], "ell": 30}), "30 rows would take"),
        ("det", "primal", json!({"A": [1e300, 1, -1, 1e300], "ell": 2}), "not finite"),
        ("kmeans", "cost", json!({"points": [], "centroids": [[1]]}), "0 points"),
        ("kmeans", "dir", json!({"points": [[1]], "centroids": []}), "0 centroids"),
        ("kmeans", "dir", json!({"points": [[1, 2]], "centroids": [[1]]}), "2 coordinates, and centroids 1"),
        ("kmeans", "dir", json!({"points": [[]], "centroids": [[]]}), "0 coordinates"),
        ("kmeans", "dir", json!({"points": [[1], [2, 3]], "centroids": [[1]]}), "row 1 has 2 numbers"),
        ("kmeans", "dir", json!({"points": [[1], [2]], "centroids": [[1], [50]]}), "centroid 1"),
        ("llsq", "primal", json!({"x": [], "n": 3}), "x is empty"),
        ("llsq", "primal", json!({"x": [1], "n": 1}), "n is 1"),
        ("llsq", "gradient", json!({"x": [1], "n": 0}), "n is 0"),
        ("llsq", "gradient", json!({"x": vec![1; 5_000_000], "n": 268_435_456}), "would take"),
        ("llsq", "gradient", json!({"x": [1], "n": 1000000000000u64}), "n is 1000000000000"),
        ("llsq", "gradient", json!({"x": long, "n": 18446744073709551615u64}), "n is 18446744073709551615"),
        ("llsq", "primal", json!({"x": [1], "n": 3.5}), "3.5"),
        ("lse", "primal", json!({"x": []}), "x is empty"),
        ("lse", "primal", json!({"x": [[1]]}), "expected f64"),
        ("lse", "gradient", json!({"x": "1"}), "expected a sequence"),
        ("lse", "gradient", json!({"x": [1, null]}), "null"),
        ("lse", "gradient", json!([1, 2]), "no object"),
        ("lse", "gradient", json!({"x": [1], "min_runs": "many"}), "many"),
        ("ode", "primal", json!({"x": [], "s": 1}), "x is empty"),
        ("ode", "primal", json!({"x": [1], "s": 0}), "s is 0"),
        ("ode", "gradient", json!({"x": [1], "s": 18446744073709551615u64}), "s is 18446744073709551615"),
        ("ode", "gradient", json!({"x": [1, 2], "s": 100000000000u64}), "s is 100000000000"),
        ("ode", "primal", json!({"x": [1e200, 1e200], "s": 1}), "not finite"),
        ("particle", "rr", json!({}), "`w`"),
        ("particle", "rr", json!({"w": "0"}), "expected f64"),
        ("particle", "ff", json!({"w": 10}), "w = 10"),
        ("saddle", "rf", json!({"start": [1]}), "array of length 2"),
        ("saddle", "rf", json!({"start": [1, 2, 3]}), "trailing"),
        ("saddle", "fr", json!({"start": [1e300, 0]}), "1e300"),
    ] {
        let error = refused(module, function, input.clone());
        assert!(
            error.contains(why),
            "{module} {function} {}: {error}",
            input.to_string().chars().take(80).collect::<String>()
        );
    }
}

/// Refuses an input with one field changed, for the reason that is given.
fn check_changed(module: &str, functions: [&str; 2], input: &Value, changes: &[(&str, Value, &str)]) {
    for (field, value, why) in changes {
        let mut changed = input.clone();
        *changed.pointer_mut(field).unwrap_or_else(|| panic!("{field}")) = value.clone();
        for function in functions {
            let error = refused(module, function, changed.clone());
            assert!(error.contains(why), "{module} {function} {field} {value}: {error}");
        }
    }
}

#[test]
fn problems_of_other_shapes_are_refused() {
    let objective = ["objective", "jacobian"];
    let ba = json!({"n": 1, "m": 1, "p": 1, "cam": vec![0.5; 11], "x": [1, 2, 3], "w": 1, "feat": [1, 2]});
    let changes = [
        ("/n", json!(0), "n = 0"),
        ("/m", json!(-1), "-1"),
        ("/p", json!(1_000_000_000_000u64), "p = 1000000000000"),
        ("/cam", json!([1, 2, 3]), "11"),
        ("/x", json!([1, 2, 3, 4]), "trailing"),
        ("/x", json!([1, 2]), "array of length 3"),
        ("/w", json!([1]), "expected f64"),
        ("/feat", json!(null), "null"),
        ("/x", json!([0.5, 0.5, 0.5]), "not finite"),
    ];
    check_changed("ba", objective, &ba, &changes);
    let gmm = json!({
        "d": 2, "k": 1, "n": 1, "x": [[1, 2]], "m": 0, "gamma": 1, "alpha": [1], "mu": [[0, 1]], "q": [[1, 0]], "l": [[1]]
    });
    let changes = [
        ("/d", json!(0), "d = 0"),
        ("/d", json!(3), "x has 1 rows of 2 numbers, and 1 of 3 are asked for"),
        ("/d", json!(u64::MAX), "x has 1 rows"),
        ("/k", json!(2), "mu has 1 rows"),
        ("/n", json!(7), "x has 1 rows"),
        ("/m", json!(-2), "m is -2"),
        ("/m", json!(i64::MAX), "m is 9223372036854775807"),
        ("/m", json!(1.5), "1.5"),
        ("/gamma", json!(0), "gamma is 0"),
        ("/alpha", json!([]), "alpha has 0 numbers"),
        ("/q", json!([[1, 2, 3]]), "q has 1 rows of 3"),
        ("/l", json!([[]]), "l has 1 rows of 0"),
        ("/q", json!([[1000, 0]]), "not finite"),
    ];
    check_changed("gmm", objective, &gmm, &changes);
    let lstm = json!({
        "main_params": [[1, 2, 3, 4], [5, 6, 7, 8]], "extra_params": [[1], [2], [3]], "state": [[0], [0]], "sequence": [[1], [0]]
    });
    let changes = [
        ("/main_params", json!([]), "main_params has 0 rows"),
        ("/main_params", json!([[1, 2, 3, 4]]), "main_params has 1 rows"),
        ("/main_params", json!([[1, 2, 3], [1, 2, 3]]), "main_params has 2 rows of 3"),
        ("/extra_params", json!([[1], [2]]), "extra_params has 2 rows"),
        ("/state", json!([[0]]), "state has 1 rows"),
        ("/sequence", json!([]), "sequence has 0 rows"),
        ("/sequence", json!([[1]]), "sequence has 1 rows"),
        ("/sequence", json!([[], []]), "sequence has 2 rows of 0"),
        ("/sequence", json!([[1], [0, 1]]), "row 1 has 2 numbers"),
    ];
    check_changed("lstm", objective, &lstm, &changes);
}

#[test]
fn hands_of_other_shapes_are_refused() {
    let ht = super::differences::hand(&[[0.25, 0.5]]);
    let changes = [
        ("/theta", json!([1, 2]), "theta has 2 numbers"),
        ("/us", json!([[1, 2, 3]]), "us has 1 rows of 3"),
        ("/us", json!([[1, 2], [3, 4]]), "us has 2 rows"),
        ("/data/correspondences", json!([]), "correspondences is empty"),
        ("/data/correspondences", json!([1]), "correspondence 0 is 1, and there are 1 triangles"),
        ("/data/correspondences", json!([-1]), "-1"),
        ("/data/points", json!([[1, 2]]), "points has 1 rows of 2"),
        ("/data/model", json!({}), "missing field"),
        ("/data/model/bone_count", json!(4), "parents has 3 entries, and bone_count is 4"),
        ("/data/model/bone_count", json!(0), "bone_count is 0"),
        ("/data/model/parents", json!([-1, 1, 0]), "the parent of bone 1 is 1"),
        ("/data/model/parents", json!([-2, 0, 0]), "the parent of bone 0 is -2"),
        ("/data/model/base_relatives/1", json!([[1, 0], [0, 1]]), "array of length 4"),
        ("/data/model/inverse_base_absolutes", json!([]), "inverse_base_absolutes has 0 entries"),
        ("/data/model/base_positions/0", json!([1, 2, 3]), "array of length 4"),
        ("/data/model/weights", json!([[1, 0, 0]]), "weights has 1 rows"),
        ("/data/model/triangles", json!([[0, 1, 3]]), "triangle 0 is [0, 1, 3], and there are 3 vertices"),
        ("/data/model/is_mirrored", json!(0), "expected a boolean"),
    ];
    check_changed("ht", ["objective", "jacobian"], &ht, &changes);
}

/// Parts of messages, right ones and wrong ones.
fn field() -> impl Strategy<Value = (String, Value)> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "\\PC{0,8}".prop_map(Value::from),
    ];
    let value = leaf.prop_recursive(3, 20, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec(("[a-z]{1,4}", inner), 0..4)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    });
    let word =
        prop::sample::select(vec!["start", "define", "evaluate", "analysis", "lse", "ode", "det", "primal", "x"]);
    let input = Just(json!({"x": [0.5, 2], "s": 2, "n": 3, "A": [1, 2, 3, 4], "ell": 2}));
    let value = prop_oneof![2 => value, 3 => word.prop_map(Value::from), 1 => input];
    let name = prop::sample::select(vec!["kind", "eval", "module", "function", "input", "of", "valid", "other"]);
    (name.prop_map(str::to_owned), value)
}

/// One answer: an object with the id, that either says no success and why, or success and no error.
fn check_answer(line: &[u8], id: &Value) {
    let text = tool().answer(line);
    let reply: Value = serde_json::from_str(&text).unwrap_or_else(|why| panic!("{why}: {text}"));
    assert_eq!(&reply["id"], id, "{text}");
    match reply.get("success") {
        Some(Value::Bool(true)) => assert!(reply.get("error").is_none(), "{text}"),
        Some(Value::Bool(false)) => assert!(reply["error"].is_string() && reply.get("output").is_none(), "{text}"),
        Some(_) => panic!("{text}"),
        None => assert!(reply.get("output").is_none() && reply.get("error").is_none(), "{text}"),
    }
}

proptest! {
    #[test]
    fn random_bytes_have_an_answer(line in prop::collection::vec(any::<u8>(), 0..60)) {
        let line: Vec<u8> = line.into_iter().filter(|&byte| byte != b'\n').collect();
        check_answer(&line, &Value::Null);
    }

    #[test]
    fn random_messages_have_an_answer_with_their_id(id in any::<i64>(), fields in prop::collection::vec(field(), 0..7)) {
        let mut message: serde_json::Map<String, Value> = fields.into_iter().collect();
        message.insert("id".to_owned(), Value::from(id));
        check_answer(Value::Object(message).to_string().as_bytes(), &Value::from(id));
    }

    #[test]
    fn broken_messages_have_an_answer(cut in 0usize..200, byte in any::<u8>(), at in 0usize..200) {
        let line = r#"{"id":12,"kind":"evaluate","module":"ode","function":"gradient","input":{"x":[0.5,0.25],"s":2},"description":"n=2,s=2"}"#;
        let mut line = line.as_bytes()[..cut.min(line.len())].to_vec();
        if let Some(place) = line.get_mut(at)
            && byte != b'\n'
        {
            *place = byte;
        }
        let text = tool().answer(&line);
        prop_assert!(serde_json::from_str::<Value>(&text).is_ok_and(|reply| reply.get("id").is_some()), "{}", text);
    }
}
