//! Tests of the tool, through its public interface.

mod blocks;
mod closed_forms;
mod differences;
mod growth;
mod hostile;
mod judge;
mod process;
mod samples;

use serde_json::{Value, json};
use wengert_gradbench::modules::Settings;
use wengert_gradbench::protocol::Tool;

/// The answer to a message, which has to be strict JSON.
fn answer(tool: &mut Tool, message: &Value) -> Value {
    let line = tool.answer(message.to_string().as_bytes());
    assert!(!line.contains('\n'), "{line}");
    serde_json::from_str(&line).unwrap_or_else(|why| panic!("{why}: {line}"))
}

/// The answer to an evaluation in a session of its own.
fn evaluated(module: &str, function: &str, input: Value) -> Value {
    let mut tool = Tool::new(Settings::single_threaded());
    let message = json!({"id": 2, "kind": "evaluate", "module": module, "function": function, "input": input});
    let response = answer(&mut tool, &message);
    assert_eq!(response["id"], 2);
    response
}

/// The output of an evaluation that succeeds.
fn output(module: &str, function: &str, input: Value) -> Value {
    let response = evaluated(module, function, input);
    assert_eq!(response["success"], true, "{module} {function}: {response}");
    assert!(response.get("error").is_none());
    response["output"].clone()
}

/// Why an evaluation has no output.
fn refused(module: &str, function: &str, input: Value) -> String {
    let response = evaluated(module, function, input);
    assert_eq!(response["success"], false, "{module} {function}: {response}");
    assert!(response.get("output").is_none());
    response["error"].as_str().expect("a text").to_owned()
}

/// Numbers between 0 and 1, the same in every run.
struct Random(u64);

impl Random {
    fn number(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }

    fn numbers(&mut self, count: usize) -> Vec<f64> {
        (0..count).map(|_| self.number()).collect()
    }

    fn rows(&mut self, rows: usize, width: usize) -> Vec<Vec<f64>> {
        (0..rows).map(|_| self.numbers(width)).collect()
    }
}
