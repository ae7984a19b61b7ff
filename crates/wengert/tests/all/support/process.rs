//! Tests of what is counted or set for a whole process.

use std::env;
use std::process::Command;

/// Says to a process that it runs one test.
const ALONE: &str = "WENGERT_TEST_ALONE";

/// Runs `test` while no other test runs in its process: here if the runner has started a process for it, as nextest does,
/// or else in a new process that runs `name` alone, which is the test's path from the root of the binary.
pub(crate) fn alone(name: &str, test: impl FnOnce()) {
    let own_process = env::var_os("NEXTEST_EXECUTION_MODE").is_some_and(|mode| mode == "process-per-test");
    if own_process || env::var_os(ALONE).is_some() {
        return test();
    }
    let mut command = Command::new(env::current_exe().expect("the test knows its own path"));
    let output =
        command.args(["--exact", name, "--nocapture"]).env(ALONE, "1").output().expect("the test starts itself");
    let [out, err] = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text));
    assert!(output.status.success() && out.contains("1 passed"), "{out}{err}");
}
