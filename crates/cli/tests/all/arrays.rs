//! `run` and `show`: array programs as their users run them.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;

use expect_test::{Expect, expect};
use wengert::Array;

const LOSS: &str = "# Half the squared error of a line.
program(v0 \"w\": f64[], v1 \"x\": f64[3], v2 \"y\": f64[3], v3 \"n\": i64[]) {
  v4: f64[3] = broadcast[shape=[3], axes=[]] v0
  v5: f64[3] = mul v4 v1
  v6: f64[3] = sub v5 v2
  v7: f64[3] = square v6
  v8: f64[] = sum[axes=[0]] v7
  v9: f64[] = constant[value=2.0f64]
  v10: f64[] = div v8 v9
  return v10
}";

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        let folder = Folder(tempfile::tempdir().expect("a folder can be made"));
        folder.program("loss.prog", LOSS);
        let (w, n) = (Array::scalar(2.0), Array::scalar(3i64));
        let (x, y) = (Array::new(&[3], vec![1.0, 2.0, 3.0]), Array::new(&[3], vec![1.0, 4.0, 7.0]));
        folder.arrays("inputs.npz", &[("y", &y), ("w", &w), ("x", &x), ("n", &n), ("more", &n)]);
        folder
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn program(&self, name: &str, text: &str) {
        std::fs::write(self.path(name), text).expect("the file can be written");
    }

    fn arrays(&self, name: &str, arrays: &[(&str, &Array)]) {
        let file = File::create(self.path(name)).expect("the file can be made");
        Array::write_npz(file, arrays.iter().copied()).expect("the file can be written");
    }

    /// The exit code and what is printed, messages behind `!`.
    fn wengert(&self, arguments: &str) -> (i32, String) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_wengert"));
        command.args(arguments.split(' ')).current_dir(self.0.path()).env_remove("CLICOLOR_FORCE");
        let output = command.output().expect("the command can be started");
        let code = output.status.code().expect("the command ends by itself");
        assert!((0..=4).contains(&code), "{code}: {}", String::from_utf8_lossy(&output.stderr));
        let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        (code, if err.is_empty() { out.into_owned() } else { format!("{out}!{err}") })
    }

    fn check(&self, arguments: &str, code: i32, expected: &Expect) {
        let ran = self.wengert(arguments);
        assert_eq!(ran.0, code, "{arguments}: {}", ran.1);
        expected.assert_eq(&ran.1);
    }
}

fn read(path: &Path) -> Vec<(String, Array)> {
    Array::read_npz(File::open(path).expect("it was written")).expect("it can be read")
}

#[test]
fn values_and_gradients_are_printed() {
    let folder = Folder::new();
    folder.check(
        "run loss.prog --at inputs.npz",
        0,
        &expect![[r#"
        out0: f64[] = 1
    "#]],
    );
    folder.check(
        "run loss.prog --at inputs.npz --grad",
        0,
        &expect![[r#"
        out0: f64[] = 1
        grad_w: f64[] = -2
        grad_x: f64[3] = [2, 0, -2]
        grad_y: f64[3] = [-1, -0, 1]
    "#]],
    );
    folder.check(
        "run loss.prog --at inputs.npz --grad --wrt y,v0",
        0,
        &expect![[r#"
        out0: f64[] = 1
        grad_w: f64[] = -2
        grad_y: f64[3] = [-1, -0, 1]
    "#]],
    );
}

#[test]
fn results_are_written_as_arrays_with_names() {
    let folder = Folder::new();
    folder.check("run loss.prog --at inputs.npz --grad --out out.npz", 0, &expect![""]);
    let out = read(&folder.path("out.npz"));
    let names: Vec<&str> = out.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["out0", "grad_w", "grad_x", "grad_y"]);
    assert!(out[2].1.same_bits(&Array::new(&[3], vec![2.0, 0.0, -2.0])));
    // What is written can be an input again.
    folder.program("sum.prog", "program(v0 \"grad_x\": f64[3]) { v1: f64[] = sum[axes=[0]] v0; return v1 }");
    folder.check(
        "run sum.prog --at out.npz",
        0,
        &expect![[r#"
        out0: f64[] = 0
    "#]],
    );
}

#[test]
fn inputs_without_names_are_numbered_and_arrays_are_nested() {
    let folder = Folder::new();
    let text = "program(v5 \"a\": bool[2], v6 \"a\": i64[2,2], v9: f32[]) { return v5 v6 v9 v6 }";
    folder.program("many.prog", text);
    let (a, b) = (Array::new(&[2], vec![true, false]), Array::new(&[2, 2], vec![1i64, 2, 3, -4]));
    folder.arrays("many.npz", &[("v0", &a), ("v1", &b), ("v2", &Array::scalar(f32::NAN))]);
    folder.check(
        "run many.prog --at many.npz",
        0,
        &expect![[r#"
        out0: bool[2] = [true, false]
        out1: i64[2,2] = [[1, 2], [3, -4]]
        out2: f32[] = NaN
        out3: i64[2,2] = [[1, 2], [3, -4]]
    "#]],
    );
    let (a, b) = (Array::new(&[3], vec![1e300, 0.1, -1e-7]), Array::new(&[3], vec![0.1f32, f32::MAX, f32::INFINITY]));
    folder.program("real.prog", "program(v0: f64[3], v1: f32[3]) { return v0 v1 }");
    folder.arrays("real.npz", &[("v0", &a), ("v1", &b)]);
    folder.check(
        "run real.prog --at real.npz",
        0,
        &expect![[r#"
        out0: f64[3] = [1e300, 0.1, -1e-7]
        out1: f32[3] = [0.1, 3.4028235e38, inf]
    "#]],
    );
    folder.program(
        "long.prog",
        "program() { v0: i64[1001] = iota[length=1001]; v1: i64[0] = iota[length=0]; return v0 v1 }",
    );
    folder.check(
        "run long.prog",
        0,
        &expect![[r#"
        out0: i64[1001], 1001 elements; --out writes them to a file
        out1: i64[0], no elements
    "#]],
    );
}

#[test]
fn inputs_that_do_not_fit_are_named() {
    let folder = Folder::new();
    let (w, x) = (Array::scalar(2f32), Array::new(&[3], vec![1.0, 2.0, 3.0]));
    folder.arrays("missing.npz", &[("w", &Array::scalar(2.0)), ("X", &x)]);
    folder.arrays("wrong.npz", &[("w", &w), ("x", &x), ("y", &x)]);
    folder.arrays("none.npz", &[]);
    folder.check(
        "run loss.prog --at missing.npz",
        2,
        &expect![[r#"
        !error: there is no array `x` (f64[3] in the program) in `missing.npz`, which has `w`, `X`
    "#]],
    );
    folder.check(
        "run loss.prog --at none.npz",
        2,
        &expect![[r#"
        !error: there is no array `w` (f64[] in the program) in `none.npz`, which has no arrays
    "#]],
    );
    folder.check(
        "run loss.prog --at wrong.npz",
        2,
        &expect![[r#"
        !error: the array `w` (f64[] in the program) is f32[] in `wrong.npz`
    "#]],
    );
    folder.check(
        "run loss.prog",
        2,
        &expect![[r#"
        !error: there is no value for `w` (f64[] in the program); `--at FILE.npz` gives the inputs
    "#]],
    );
}

#[test]
fn gradients_that_do_not_exist_are_refused() {
    let folder = Folder::new();
    folder.check(
        "run loss.prog --at inputs.npz --grad --wrt z",
        2,
        &expect![[r#"
        !error: --wrt names `z`, which is no input; the inputs are w, x, y, n
    "#]],
    );
    folder.check(
        "run loss.prog --at inputs.npz --grad --wrt n",
        2,
        &expect![[r#"
        !error: --wrt names `n`, which is i64[]: it has no derivative
    "#]],
    );
    folder.program("two.prog", "program(v0: f64[2]) { return v0 }");
    folder.check("run two.prog --grad", 2, &expect![[r#"
        !error: --grad needs a program whose only result is a single real number, f32[] or f64[]; this one gives (f64[2])
    "#]]);
    assert_eq!(folder.wengert("run loss.prog --wrt w").0, 2);
}

#[test]
fn programs_and_files_that_cannot_be_read_have_their_exit_codes() {
    let folder = Folder::new();
    folder.program("bad.prog", "program(v0: f64[]) {\n  v1: f64[] = sine v0\n  return v1\n}");
    folder.program(
        "zero.prog",
        "program() { v0: i64[] = constant[value=1i64]; v1: i64[] = constant[value=0i64]
        v2: i64[] = rem v0 v1; return v2 }",
    );
    folder.program("text.npz", "no archive");
    for command in ["run", "show"] {
        folder.check(
            &format!("{command} bad.prog"),
            3,
            &expect![[r#"
            !error: bad.prog: `parse`: line 2, column 15: there is no operation `sine`
        "#]],
        );
        folder.check(
            &format!("{command} no.prog"),
            4,
            &expect![[r#"
            !error: there is no file `no.prog`
        "#]],
        );
    }
    folder.check(
        "run zero.prog",
        3,
        &expect![[r#"
        !error: zero.prog: `rem` of i64[] and i64[]: an integer is divided by zero
    "#]],
    );
    let (code, message) = folder.wengert("run loss.prog --at text.npz");
    assert!(code == 4 && message.starts_with("!error: cannot read `text.npz`"), "{message}");
    let (code, message) = folder.wengert("run loss.prog --at no.npz");
    assert!(code == 4 && message.starts_with("!error: cannot read `no.npz`"), "{message}");
    let (code, message) = folder.wengert("run loss.prog --at inputs.npz --out no/out.npz");
    assert!(code == 4 && message.starts_with("!error: cannot write `no/out.npz`"), "{message}");
}

#[test]
fn passes_are_shown_with_their_counts() {
    let folder = Folder::new();
    let text = "program(v0: f64[]) { v1: f64[] = neg v0; v2: f64[] = neg v1; v3: f64[] = sin v2; v4: f64[] = sin v0
        v5: f64[] = add v3 v4; return v5 }";
    folder.program("twice.prog", text);
    folder.check(
        "show twice.prog",
        0,
        &expect![[r#"
        # as read: 5 equations
        program(v0: f64[]) {
          v1: f64[] = neg v0
          v2: f64[] = neg v1
          v3: f64[] = sin v2
          v4: f64[] = sin v0
          v5: f64[] = add v3 v4
          return v5
        }

        # rewrite: 5 to 4 equations
        program(v0: f64[]) {
          v1: f64[] = neg v0
          v2: f64[] = sin v0
          v3: f64[] = sin v0
          v4: f64[] = add v2 v3
          return v4
        }

        # cse: 4 to 3 equations
        program(v0: f64[]) {
          v1: f64[] = neg v0
          v2: f64[] = sin v0
          v3: f64[] = add v2 v2
          return v3
        }

        # dce: 3 to 2 equations
        program(v0: f64[]) {
          v1: f64[] = sin v0
          v2: f64[] = add v1 v1
          return v2
        }
    "#]],
    );
    folder.check(
        "show twice.prog --pass dce",
        0,
        &expect![[r#"
        # dce: 5 to 5 equations
        program(v0: f64[]) {
          v1: f64[] = neg v0
          v2: f64[] = neg v1
          v3: f64[] = sin v2
          v4: f64[] = sin v0
          v5: f64[] = add v3 v4
          return v5
        }
    "#]],
    );
}

#[test]
fn transformations_are_shown_and_can_be_read_again() {
    let folder = Folder::new();
    folder.program("sine.prog", "program(v0 \"x\": f64[]) { v1: f64[] = sin v0; return v1 }");
    folder.check(
        "show sine.prog --pass none",
        0,
        &expect![[r#"
        program(v0 "x": f64[]) {
          v1: f64[] = sin v0
          return v1
        }
    "#]],
    );
    folder.check(
        "show sine.prog --pass vmap --length 3",
        0,
        &expect![[r#"
        # vmap: 1 to 1 equations
        program(v0 "x": f64[3]) {
          v1: f64[3] = sin v0
          return v1
        }
    "#]],
    );
    for pass in ["none", "rewrite", "fold", "cse", "dce", "jvp", "vjp", "vmap"] {
        for file in ["sine.prog", "loss.prog"] {
            let (code, text) = folder.wengert(&format!("show {file} --pass {pass}"));
            assert_eq!(code, 0, "{text}");
            assert!(text.parse::<wengert::Program>().is_ok(), "{text}");
        }
    }
    assert_eq!(folder.wengert("show sine.prog --pass sideways").0, 2);
}

#[test]
fn passes_are_logged_where_it_is_asked_for() {
    let folder = Folder::new();
    let mut command = Command::new(env!("CARGO_BIN_EXE_wengert"));
    command.args(["run", "loss.prog", "--at", "inputs.npz"]).current_dir(folder.0.path());
    let output = command.env("WENGERT_LOG", "passes").output().expect("the command can be started");
    let log = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(log.contains("rewrite: 7 to 8 equations, ") && log.contains("cse: nothing to do, "), "{log}");
    assert!(log.contains("v11: f64[] = mul v8 v10"), "{log}");
}

#[test]
fn help_shows_examples_and_exit_codes() {
    let folder = Folder::new();
    for (command, example) in [("run", "wengert run loss.prog --grad --wrt w,b"), ("show", "--pass vjp")] {
        let (code, help) = folder.wengert(&format!("{command} --help"));
        assert_eq!(code, 0);
        for part in ["Examples:", "Exit codes:", example] {
            assert!(help.contains(part), "{part}: {help}");
        }
    }
}

#[test]
fn sums_that_are_never_whole_in_memory_run() {
    let folder = Folder::new();
    // As an array the ones would take 24 gigabytes.
    let ones = "program() {
      v0: f64[] = constant[value=1.0f64]
      v1: f64[3000000000] = broadcast[shape=[3000000000], axes=[]] v0
      v2: f64[] = sum[axes=[0]] v1
      return v2
    }";
    folder.program("ones.prog", ones);
    folder.check(
        "run ones.prog",
        0,
        &expect![[r#"
        out0: f64[] = 3000000000
    "#]],
    );
}

#[test]
fn what_memory_cannot_hold_is_an_error() {
    let folder = Folder::new();
    let full = |shape: &str| {
        format!(
            "program() {{ v0: f64[] = constant[value=1.0f64]
             v1: f64[{shape}] = broadcast[shape=[{shape}], axes=[]] v0
             v2: f64[{shape}] = cumsum[axis=0, reverse=false] v1
             v3: f64[] = sum[axes=[0]] v2; return v2 v3 }}"
        )
    };
    // More than any address; more than any memory; more than this machine has, which a system may promise all the same.
    for length in ["4000000000000000000", "1000000000000000", "1000000000000"] {
        folder.program("full.prog", &full(length));
        let ran = folder.wengert("run full.prog");
        assert_eq!(ran.0, 4, "{length}: {}", ran.1);
        assert!(ran.1.contains("full.prog") && ran.1.contains("bytes") | ran.1.contains("memory"), "{}", ran.1);
    }
    // A size that overflows.
    folder.program("full.prog", "program() { v0: f64[4294967296,4294967296] = iota; return v0 }");
    let ran = folder.wengert("run full.prog");
    assert!(ran.0 == 4 && ran.1.contains("does not fit in memory"), "{}", ran.1);
    // An operand of nothing but a gradient.
    let loss = "program(v0 \"x\": f64[]) {
      v1: f64[1000000000000] = broadcast[shape=[1000000000000], axes=[]] v0
      v2: f64[1000000000000] = cumsum[axis=0, reverse=false] v1
      v3: f64[1000000000000] = square v2
      v4: f64[] = sum[axes=[0]] v3
      return v4
    }";
    folder.program("loss.prog", loss);
    folder.arrays("x.npz", &[("x", &Array::scalar(2.0))]);
    for arguments in ["run loss.prog --at x.npz", "run loss.prog --at x.npz --grad"] {
        let ran = folder.wengert(arguments);
        assert_eq!(ran.0, 4, "{arguments}: {}", ran.1);
    }
}
