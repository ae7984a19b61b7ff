//! The environment variable, read by a process of its own: it is read once per process.

use std::process::Command;
use wengert_kernels::{Level, level, machine_level};

/// Prints the level, for the test below; run alone it checks that the level is possible.
#[test]
#[expect(clippy::print_stdout, reason = "another test reads the output")]
fn reports_the_level() {
    println!("level: {:?}.", level());
    assert!(level() <= machine_level());
}

/// What `reports_the_level` prints in a process with the variable set to `text`.
fn output_with(text: &str) -> (bool, String) {
    let program = std::env::current_exe().expect("the test knows its own path");
    let output = Command::new(program)
        .args(["--exact", "environment::reports_the_level", "--nocapture"])
        .env("WENGERT_LEVEL", text)
        .output()
        .expect("the test starts itself");
    let text = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8_lossy(&text).into_owned())
}

#[test]
fn the_variable_lowers_the_level() {
    let names = [("baseline", Level::Baseline), ("avx2", Level::Avx2), ("avx512", Level::Avx512)];
    for (name, wanted) in names {
        let (success, text) = output_with(name);
        let expected = format!("level: {:?}.", wanted.min(machine_level()));
        assert!(success && text.contains(&expected), "{name}: {text}");
    }
    let (success, text) = output_with("");
    assert!(success && text.contains(&format!("level: {:?}.", machine_level())), "{text}");
}

#[test]
fn a_misspelt_variable_is_refused() {
    let (success, text) = output_with("avx-512");
    assert!(!success && text.contains("WENGERT_LEVEL is `avx-512`"), "{text}");
}
