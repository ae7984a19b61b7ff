//! The program itself: a conversation through its pipes.

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

fn converse(arguments: &[&str], lines: &[&[u8]]) -> Vec<Value> {
    let mut child = Command::new(env!("CARGO_BIN_EXE_wengert-gradbench"))
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let (mut input, mut output) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
    let mut answers = Vec::new();
    for line in lines {
        input.write_all(line).unwrap();
        input.write_all(b"\n").unwrap();
        input.flush().unwrap();
        // In turn: the next message is sent when the answer is there.
        let mut answer = String::new();
        output.read_line(&mut answer).unwrap();
        assert!(answer.ends_with('\n'), "{answer:?}");
        answers.push(serde_json::from_str(&answer).unwrap());
    }
    drop(input);
    assert!(child.wait().unwrap().success(), "the end of the input is the end of the session");
    answers
}

#[test]
fn a_session_goes_through_the_pipes_in_turn() {
    for arguments in [&[][..], &["--multithreaded"]] {
        let answers = converse(
            arguments,
            &[
                br#"{"id": 0, "kind": "start", "eval": "lse", "config": {"anything": []}}"#,
                br#"{"id": 1, "kind": "define", "module": "lse"}"#,
                br#"{"id": 2, "kind": "evaluate", "module": "lse", "function": "gradient", "input": {"x": [3, 3], "min_runs": 3}}"#,
                br#"{"id": 3, "kind": "analysis", "of": 2, "valid": true}"#,
                b"\xff\x00 no message",
                br#"{"id": 4, "kind": "evaluate", "module": "lse", "function": "gradient", "input": {"x": []}}"#,
                br#"{"id": 5, "kind": "evaluate", "module": "lse", "function": "primal", "input": {"x": [0.5]}}"#,
            ],
        );
        assert_eq!(answers[0], json!({"id": 0, "tool": "wengert"}));
        assert_eq!(answers[1], json!({"id": 1, "success": true}));
        assert_eq!((&answers[2]["id"], &answers[2]["output"]), (&json!(2), &json!([0.5, 0.5])));
        assert_eq!(answers[2]["timings"].as_array().unwrap().len(), 4, "a preparation and three runs");
        assert_eq!(answers[3], json!({"id": 3}));
        assert_eq!(answers[4]["success"], false);
        assert_eq!((&answers[5]["id"], &answers[5]["success"]), (&json!(4), &json!(false)));
        assert_eq!(answers[6]["output"], 0.5);
    }
}

#[test]
fn an_unknown_flag_is_refused() {
    let output = Command::new(env!("CARGO_BIN_EXE_wengert-gradbench")).arg("--fast").output().unwrap();
    assert!(!output.status.success() && output.stdout.is_empty());
    assert!(String::from_utf8_lossy(&output.stderr).contains("--fast"));
}
