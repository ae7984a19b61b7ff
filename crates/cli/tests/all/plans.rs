//! `show --plan` and `profile`: what the engine makes of array programs, as their users see it.

use std::path::PathBuf;
use std::process::Command;

use expect_test::{Expect, expect};
use serde_json::Value;
use wengert::Array;

const LAYER: &str = "program(v0 \"w\": f32[3,5], v1 \"b\": f32[5], v2 \"x\": f32[4,3]) {
  v3: f32[4,5] = einsum[spec=\"ab,bc->ac\"] v2 v0
  v4: f32[4,5] = broadcast[shape=[4,5], axes=[1]] v1
  v5: f32[4,5] = add v3 v4
  v6: f32[4,5] = tanh v5
  v7: f32[4,5] = mul v6 v6
  v8: f32[] = sum[axes=[0,1]] v7
  return v8
}";

const CHOICE: &str = "program(v0 \"p\": bool[], v1 \"x\": f64[4]) {
  v2: f64[4] = cond[yes=program(v0: f64[4]) {
    v1: f64[4] = exp v0
    return v1
  }, no=program(v0: f64[4]) {
    v1: f64[4] = cumsum[axis=0, reverse=false] v0
    return v1
  }] v0 v1
  return v2
}";

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        let folder = Folder(tempfile::tempdir().expect("a folder can be made"));
        folder.program("layer.prog", LAYER);
        folder
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn program(&self, name: &str, text: &str) {
        std::fs::write(self.path(name), text).expect("the file can be written");
    }

    fn command(&self, arguments: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_wengert"));
        command.args(arguments.split(' ')).current_dir(self.0.path()).env_remove("CLICOLOR_FORCE");
        command
    }

    /// The exit code and what is printed, messages behind `!`.
    fn wengert(&self, arguments: &str) -> (i32, String) {
        let output = self.command(arguments).output().expect("the command can be started");
        let code = output.status.code().expect("the command ends by itself");
        let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        (code, if err.is_empty() { out.into_owned() } else { format!("{out}!{err}") })
    }

    fn check(&self, arguments: &str, code: i32, expected: &Expect) {
        let ran = self.wengert(arguments);
        assert_eq!(ran.0, code, "{arguments}: {}", ran.1);
        expected.assert_eq(&ran.1);
    }
}

#[test]
fn a_plan_is_a_table_of_steps() {
    let folder = Folder::new();
    folder.check("show layer.prog --plan", 0, &expect![[r#"
        plan: 3 inputs, 1 result, 2 steps (1 region, 1 product), 1 thread

        step   kind    what                               size                  operations      read   written   scratch parts
        0      product einsum                             f32 4x3x5                    120     108 B      80 B       0 B     -
        1      region  add, tanh, mul, sum                f32 1x1x20                    80     100 B       4 B     384 B     1
                       5 instructions, 3 slots

        operations         200
        moved            292 B  read and written by the steps
        arena            512 B  values 128 B, scratch 384 B
        library            0 B  of matrix products
        results            4 B
        lists           1504 B  of operands and results, made by a call
        peak            2020 B  predicted, without the inputs
    "#]]);
    folder.check("show layer.prog --plan=instructions --threads 2", 0, &expect![[r#"
        plan: 3 inputs, 1 result, 2 steps (1 region, 1 product), 2 threads

        step   kind    what                               size                  operations      read   written   scratch parts
        0      product einsum                             f32 4x3x5                    120     108 B      80 B       0 B     -
        1      region  add, tanh, mul, sum                f32 1x1x20                    80     100 B       4 B     768 B     1
                       5 instructions, 3 slots
                       s0 = load in1, 20 elements
                       s1 = f32 add in0, s0
                       s0 = f32 tanh s1
                       r2 = f32 dot of columns s0, s0
                       store r2 to out0, 1 elements

        operations         200
        moved            292 B  read and written by the steps
        arena            896 B  values 128 B, scratch 768 B
        library            0 B  of matrix products
        results            4 B
        lists           1504 B  of operands and results, made by a call
        peak            2404 B  predicted, without the inputs
    "#]]);
    let (_, text) = folder.wengert("show layer.prog --plan=instructions");
    assert!(text.lines().all(|line| line.chars().count() <= 120), "{text}");
}

#[test]
fn branches_are_part_of_a_plan() {
    let folder = Folder::new();
    folder.program("choice.prog", CHOICE);
    folder.check("show choice.prog --plan", 0, &expect![[r#"
        plan: 2 inputs, 1 result, 1 step (1 region, 1 kernel, 1 condition), 1 thread

        step   kind    what                               size                  operations      read   written   scratch parts
        0      cond    cond                               1 or 1 steps                   4      33 B      32 B      64 B     -
        0y0    region  exp                                f64 1x4x1                      4      32 B      32 B      64 B     1
                       1 instruction, 0 slots
        0n0    kernel  cumsum                             f64[4]                         4      32 B      32 B       0 B     -

        operations           4
        moved             65 B  read and written by the steps
        arena             64 B  values 0 B, scratch 64 B
        library            0 B  of matrix products
        results           32 B
        lists           1408 B  of operands and results, made by a call
        peak            1504 B  predicted, without the inputs
    "#]]);
}

#[test]
fn a_profile_has_a_row_for_every_step() {
    let folder = Folder::new();
    let (code, text) = folder.wengert("profile layer.prog --grad --seconds 0.01 --threads 2");
    assert_eq!(code, 0, "{text}");
    assert!(text.starts_with("inputs: random numbers in [-1, 1)"), "{text}");
    let parts = ["2 threads; ", " product ", " region ", "outside of steps", "GB/s", "GFLOP/s f32", "predicted"];
    for part in parts {
        assert!(text.contains(part), "no {part} in {text}");
    }
    // Two rows for values, and those of the gradient.
    assert!(text.lines().filter(|line| line.contains("einsum")).count() >= 2, "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 120), "{text}");
}

#[test]
fn a_profile_as_json_has_the_same_numbers() {
    let folder = Folder::new();
    let (code, text) = folder.wengert("profile layer.prog --seconds 0.01 --format json --svg flame.svg");
    assert_eq!(code, 0, "{text}");
    let value: Value = serde_json::from_str(&text).expect("JSON");
    let steps = value["steps"].as_array().expect("steps");
    assert_eq!(steps.len(), 2);
    assert_eq!((&steps[0]["operations"], &steps[0]["kind"]), (&Value::from(120), &Value::from("product")));
    let seconds: f64 = steps.iter().map(|step| step["seconds"].as_f64().expect("seconds")).sum();
    let (all, outside) = (value["seconds"].as_f64().unwrap(), value["outside_of_steps"].as_f64().unwrap());
    assert!(seconds > 0.0 && (seconds + outside - all).abs() < 1e-6 * all, "{text}");
    assert!(value["runs"].as_u64().unwrap() > 1 && value["limits"]["bandwidth"].as_f64().unwrap() > 0.0, "{text}");
    let svg = std::fs::read_to_string(folder.path("flame.svg")).expect("the drawing was written");
    assert!(
        svg.starts_with("<svg ") && svg.contains("<title>0 product einsum: ") && svg.ends_with("</svg>\n"),
        "{svg}"
    );
}

#[test]
fn inputs_can_be_given() {
    let folder = Folder::new();
    folder.program(
        "pick.prog",
        "program(v0 \"x\": f64[3], v1 \"at\": i64[2,1]) {
      v2: f64[2] = gather[batch=0, axes=[0], mode=error] v0 v1
      return v2
    }",
    );
    // Integers are 0 where they are not given: a place that every array has.
    assert_eq!(folder.wengert("profile pick.prog --seconds 0").0, 0);
    let write = |at: i64| {
        let file = std::fs::File::create(folder.path("inputs.npz")).expect("the file can be made");
        let (x, at) = (Array::new(&[3], vec![1.0, 2.0, 3.0]), Array::new(&[2, 1], vec![0, at]));
        Array::write_npz(file, [("x", &x), ("at", &at)]).expect("the file can be written");
    };
    write(2);
    let (code, text) = folder.wengert("profile pick.prog --seconds 0 --at inputs.npz");
    assert!(code == 0 && text.starts_with("inputs: from inputs.npz\n"), "{text}");
    write(7);
    let (code, text) = folder.wengert("profile pick.prog --seconds 0 --at inputs.npz");
    assert!(code == 3 && text.contains("gather"), "{code} {text}");
}

#[test]
fn mistakes_are_told() {
    let folder = Folder::new();
    let huge = "program(v0: f64[]) {
      v1: f64[1000000000000000] = broadcast[shape=[1000000000000000], axes=[]] v0
      v2: f64[1000000000000000] = cumsum[axis=0, reverse=false] v1
      v3: f64[] = sum[axes=[0]] v2
      return v3
    }";
    folder.program("huge.prog", huge);
    folder.program("wrong.prog", "program(v0: f64[3]) { v1: f64[2] = exp v0; return v1 }");
    folder.program("two.prog", "program(v0: f64[3]) { v1: f64[3] = exp v0; return v1 }");
    let x = Array::new(&[2], vec![1.0, 2.0]);
    let file = std::fs::File::create(folder.path("other.npz")).expect("the file can be made");
    Array::write_npz(file, [("v0", &x)]).expect("the file can be written");
    let cases = [
        ("profile missing.prog", 4, "missing.prog"),
        ("show missing.prog --plan", 4, "missing.prog"),
        ("profile wrong.prog", 3, "wrong.prog"),
        ("show wrong.prog --plan", 3, "wrong.prog"),
        ("profile huge.prog --seconds 0", 4, "huge.prog"),
        ("profile two.prog --grad", 2, "--grad needs a program"),
        ("profile two.prog --at other.npz", 2, "f64[2]"),
        ("profile two.prog --at missing.npz", 4, "missing.npz"),
        ("profile two.prog --threads 0", 2, "from 1 to 1024"),
        ("profile two.prog --seconds x", 2, "--seconds"),
        ("profile two.prog --seconds 0 --svg no/such/folder.svg", 4, "folder.svg"),
        ("show two.prog --plan --pass cse", 2, "--pass"),
        ("show two.prog --threads 2", 2, "--plan"),
    ];
    for (arguments, code, part) in cases {
        let ran = folder.wengert(arguments);
        assert_eq!(ran.0, code, "{arguments}: {}", ran.1);
        assert!(ran.1.contains(part), "{arguments}: no `{part}` in {}", ran.1);
    }
}

#[test]
fn help_shows_examples() {
    let folder = Folder::new();
    for (command, example) in
        [("profile", "wengert profile loss.prog --seconds 5 --svg"), ("show", "--plan=instructions")]
    {
        let (code, help) = folder.wengert(&format!("{command} --help"));
        assert!(code == 0 && help.contains(example) && help.contains("Exit codes:"), "{help}");
    }
}
