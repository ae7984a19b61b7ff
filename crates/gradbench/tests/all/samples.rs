//! Recorded conversations are replayed, and every output judged.
//!
//! They are read from the folder that `GRADBENCH_SAMPLES` names, or from `../shared/gradbench/samples` beside the project, or, in
//! small form (a hand with the vertices that its eight correspondences need), from `data`.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use wengert_gradbench::modules::{Module, Settings};
use wengert_gradbench::protocol::Tool;

use super::answer;
use super::judge::{LOOSE, judge};

/// Closer than the evals ask for.
const CLOSE: f64 = 1e-9;

/// Replays the conversations of a folder, one after the other in one session; gives how many outputs were compared.
fn replay(folder: &Path, of: impl Fn(&str) -> bool) -> usize {
    let mut files: Vec<PathBuf> = fs::read_dir(folder)
        .unwrap_or_else(|why| panic!("{}: {why}", folder.display()))
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "jsonl"))
        .filter(|path| of(path.file_stem().and_then(|name| name.to_str()).unwrap_or_default()))
        .collect();
    files.sort();
    let mut compared = 0;
    for path in &files {
        let mut tool = Tool::new(Settings::single_threaded());
        for (k, line) in fs::read_to_string(path).unwrap().lines().enumerate() {
            let round: Value = serde_json::from_str(line).unwrap();
            let (message, recorded) = (&round["message"], &round["response"]);
            let response = answer(&mut tool, message);
            let place = format!("{}:{}", path.display(), k + 1);
            assert_eq!(response["id"], message["id"], "{place}");
            assert_eq!(response.get("success"), recorded.get("success"), "{place}: {response}");
            if let Some(reference) = recorded.get("output") {
                judge(&response["output"], reference, CLOSE).unwrap_or_else(|why| panic!("{place}: {why}"));
                check_timings(&response["timings"], message);
                compared += 1;
            } else {
                assert!(response.get("output").is_none(), "{place}");
            }
        }
    }
    compared
}

/// A preparation and the runs that were asked for.
fn check_timings(timings: &Value, message: &Value) {
    let timings = timings.as_array().expect("a list");
    let names: Vec<&str> = timings.iter().map(|timing| timing["name"].as_str().unwrap()).collect();
    let runs = message["input"].get("min_runs").map_or(1, |runs| runs.as_u64().unwrap());
    assert_eq!(names[0], "prepare");
    assert!(names[1..].iter().all(|&name| name == "evaluate"), "{names:?}");
    assert_eq!(names.len() as u64 - 1, runs, "min_seconds is 0 in the samples");
    assert!(timings.iter().all(|timing| timing["nanoseconds"].is_u64()));
}

/// Whether a file of samples belongs to a module that exists.
fn is_known(name: &str) -> bool {
    let module = name.split('_').next().unwrap_or_default();
    Module::named(module).is_ok()
}

#[test]
fn recorded_conversations_are_answered_as_recorded() {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    let compared = replay(&data, is_known);
    assert!(compared >= 80, "{compared} outputs");
}

#[test]
fn conversations_from_elsewhere_are_answered_as_recorded() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    if let Some(folder) = std::env::var_os("GRADBENCH_SAMPLES") {
        // `cargo test` starts this program in the package; who sets the variable is at the root.
        let from_root = root.join(&folder);
        let folder = if from_root.is_dir() { from_root } else { folder.into() };
        assert!(replay(&folder, is_known) > 0, "{} has no conversations", folder.display());
    } else {
        let shared = root.join("../shared/gradbench/samples");
        if shared.is_dir() {
            assert!(replay(&shared, is_known) > 0);
        }
    }
}

#[test]
fn a_wrong_output_would_be_noticed() {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/lse.jsonl");
    let line = fs::read_to_string(data).unwrap().lines().nth(1).unwrap().to_owned();
    let round: Value = serde_json::from_str(&line).unwrap();
    let mut wrong = round["response"]["output"].clone();
    wrong[1] = Value::from(wrong[1].as_f64().unwrap() * (1.0 + 1e-3));
    let response = answer(&mut Tool::new(Settings::single_threaded()), &round["message"]);
    assert!(judge(&response["output"], &wrong, LOOSE).is_err());
}
