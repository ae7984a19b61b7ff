//! The command as its users run it: what it prints, its exit codes, and input that means harm.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// What a run of the command gave.
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_wengert"));
    command.args(arguments).env_remove("NO_COLOR").env_remove("CLICOLOR_FORCE");
    command
}

fn finish(output: Output) -> Ran {
    // A panic exits with 101 and a signal has no code; neither is one of ours.
    let code = output.status.code().expect("the command ends by itself");
    assert!((0..=4).contains(&code), "{code}: {}", String::from_utf8_lossy(&output.stderr));
    Ran {
        code,
        out: String::from_utf8(output.stdout).expect("the output is text"),
        err: String::from_utf8(output.stderr).expect("the messages are text"),
    }
}

pub(crate) fn wengert(arguments: &[&str]) -> Ran {
    finish(command(arguments).output().expect("the command can be started"))
}

/// The same with a text on the standard input.
fn with_input(arguments: &[&str], input: &[u8]) -> Ran {
    let mut child = command(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command can be started");
    let mut stdin = child.stdin.take().expect("the input is a pipe");
    let input = input.to_vec();
    // The command may stop reading early: then writing fails, which is its right.
    let writer = std::thread::spawn(move || drop(stdin.write_all(&input)));
    let output = child.wait_with_output().expect("the command ends");
    writer.join().expect("the writer ends");
    finish(output)
}

/// A file with these contents in a folder of its own.
fn file(contents: &[u8]) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let path = folder.path().join("program.txt");
    std::fs::write(&path, contents).expect("the file can be written");
    (folder, path)
}

fn text(path: &Path) -> &str {
    path.to_str().expect("the path is text")
}

#[test]
fn the_textbook_example_has_its_known_gradient() {
    // Griewank and Walther's example, also in Baydin et al. (2018).
    let ran = wengert(&["grad", "ln(x1) + x1*x2 - sin(x2)", "--at", "x1=2,x2=5", "--check"]);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    for part in ["11.652071455223084", "d/dx1  5.5\n", "d/dx2  1.7163378145367738\n", "agrees"] {
        assert!(ran.out.contains(part), "{part}: {}", ran.out);
    }
}

#[test]
fn programs_come_from_files_and_the_standard_input() {
    let program = b"# f\na = x * x\na = a * y\nif a > 0 { b = sin(a) } else { b = 0 }\nb + x\n";
    let (_folder, path) = file(program);
    let from_file = wengert(&["grad", text(&path), "--at", "x=1,y=2"]);
    let from_input = with_input(&["grad", "-", "--at", "x=1", "--at", "y=2"], program);
    assert_eq!((from_file.code, from_input.code), (0, 0), "{}", from_file.err);
    assert_eq!(from_file.out, from_input.out);
    assert!(from_file.out.contains("a1"), "{}", from_file.out);
}

#[test]
fn derivatives_of_every_order_are_known_and_agree_with_differences() {
    let arguments = ["grad", "exp(2*x)", "--at", "x=0", "--order", "6", "--check"];
    let ran = wengert(&arguments);
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    assert!(ran.out.contains("  6      64          "), "{}", ran.out);
    assert!(ran.out.contains("exp(2*x) order 6  "), "{}", ran.out);
    // (2 + t) (3 + t)^2 = 18 + 21 t + 8 t^2 + t^3
    let along = ["grad", "x*y^2", "--at", "x=2,y=3", "--order", "3", "--dir", "x=1,y=1"];
    let ran = wengert(&[&along[..], &["--format", "json", "--check"]].concat());
    assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    let json: serde_json::Value = serde_json::from_str(&ran.out).expect("it is JSON");
    assert_eq!(json["series"]["coefficients"], serde_json::json!([[18.0, 21.0, 8.0, 1.0]]));
    assert_eq!(json["series"]["derivatives"], serde_json::json!([[18.0, 21.0, 16.0, 6.0]]));
}

#[test]
fn a_derivative_that_differs_exits_with_1() {
    // At a kink the derivative is a convention, and differences see both sides.
    let ran = wengert(&["grad", "relu(x)", "--at", "x=0", "--check"]);
    assert_eq!(ran.code, 1, "{}", ran.out);
    assert!(ran.out.contains("DIFFERS") && ran.err.contains("1 of 1"), "{}", ran.err);
}

#[test]
fn a_narrow_branch_does_not_differ() {
    for (text, at, code) in [
        ("select(abs(x-1) < 0.01, x*x, x)", "x=1", 0),
        ("select(abs(x-1) < 1e-6, x*x*x, x)", "x=1", 0),
        ("select(abs(x) < 0.05, sin(2*x), x)", "x=0", 0),
        ("if x > 100.001 {\n y = x^3 } else {\n y = 5*x }\ny", "x=100", 0),
        ("relu(x - 1)", "x=1", 1),
    ] {
        for order in [&["--check"][..], &["--check", "--hessian"], &["--check", "--order", "2"]] {
            let ran = wengert(&[&["grad", text, "--at", at], order].concat());
            assert_eq!(ran.code, code, "{text} {order:?}: {}", ran.out);
            assert_eq!(ran.out.contains("DIFFERS"), code == 1, "{}", ran.out);
        }
    }
    // A point that has no neighbours on one side: differences cannot be taken, and say neither.
    let ran = wengert(&["grad", "sqrt(x - 1)*(x - 1)", "--at", "x=1", "--check"]);
    assert!(ran.code == 1 && ran.out.contains("unclear") && !ran.out.contains("DIFFERS"), "{}", ran.out);
}

#[test]
fn outputs_are_printed_as_they_were_written() {
    let texts = ["(x+1)*(x+2)", "1 * -(x + 1)", "((x))^(2)", "1 / ((x + 1) - (x * 2))", "!(x > 1) && (x < 2)"];
    for text in &texts[..4] {
        let ran = wengert(&["grad", text, "--at", "x=3", "--format", "json"]);
        let json: serde_json::Value = serde_json::from_str(&ran.out).expect("it is JSON");
        assert_eq!(json["outputs"][0]["text"], *text);
    }
    let ran = wengert(&["grad", &format!("select({}, x, 2 * x)", texts[4]), "--at", "x=3"]);
    assert!(ran.out.contains(texts[4]), "{}", ran.out);
}

#[test]
fn json_can_be_read_back() {
    let arguments = ["grad", "x*y, x + y", "--jacobian", "--at", "x=2,y=3", "--format", "json"];
    let ran = wengert(&arguments);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let json: serde_json::Value = serde_json::from_str(&ran.out).expect("it is JSON");
    assert_eq!(json["jacobian"], serde_json::json!([[3.0, 2.0], [1.0, 1.0]]));
    assert_eq!(json["list"][2]["text"], "x * y");
}

#[test]
fn colours_are_for_terminals_unless_they_are_asked_for() {
    let colored = |arguments: &[&str]| wengert(arguments).out.contains('\u{1b}');
    assert!(!colored(&["grad", "x", "--at", "x=1"]));
    assert!(colored(&["grad", "x", "--at", "x=1", "--color", "always"]));
    assert!(!colored(&["grad", "x", "--at", "x=1", "--color", "never"]));
    assert!(!wengert(&["grad", "x +"]).err.contains('\u{1b}'));
    assert!(wengert(&["grad", "x +", "--color", "always"]).err.contains('\u{1b}'));
}

#[test]
fn a_command_line_that_does_not_fit_exits_with_2() {
    for (arguments, part) in [
        (&["grad", "x*y", "--at", "x=1"][..], "no value for `y`"),
        (&["grad", "x*y"], "no value for `x`, `y`"),
        (&["grad", "x", "--at", "x=1,z=2"], "the inputs are x"),
        (&["grad", "x", "--at", "x=1,x=2"], "gives `x` two values"),
        (&["grad", "x", "--at", "x"], "expected `name=value`"),
        (&["grad", "x", "--at", "x=two"], "which is not a number"),
        (&["grad", "x", "--at", "x=1e999"], "too large"),
        (&["grad", "x", "--at", "x+1=2"], "is not a name"),
        (&["grad", "e*x", "--at", "x=1,e=2"], "which is a constant"),
        (&["grad", "1 + 2", "--at", "x=1"], "the program has no inputs"),
        (&["grad", "x, x*x", "--at", "x=1"], "`--jacobian` takes several"),
        (&["grad", "x", "--at", "x=1", "--format", "pdf"], "invalid value"),
        (&["grad", "x*y", "--at", "x=1,y=2", "--order", "2"], "this one has 2 inputs"),
        (&["grad", "x", "--at", "x=1", "--order", "0"], "0 is not in 1..=100"),
        (&["grad", "x", "--at", "x=1", "--dir", "x=1"], "--order"),
        (&["grad"], "required"),
        (&["fly"], "unrecognized"),
    ] {
        let ran = wengert(arguments);
        assert_eq!(ran.code, 2, "{arguments:?}: {}", ran.err);
        assert!(ran.err.contains(part), "{arguments:?}: {}", ran.err);
        assert_eq!(ran.out, "", "{arguments:?}");
    }
}

#[test]
fn infinities_and_nan_are_values() {
    for (value, shown) in [("inf", "inf"), ("-inf", "-inf"), ("nan", "NaN"), ("-2.5e-3", "-0.0025")] {
        let ran = wengert(&["grad", "x", "--at", &format!("x={value}")]);
        assert_eq!(ran.code, 0, "{}", ran.err);
        assert!(ran.out.contains(&format!("value at x = {shown}\n")), "{}", ran.out);
    }
}

#[test]
fn a_wrong_program_exits_with_3_and_points_at_the_mistake() {
    for (program, part) in [
        ("", "the program is empty"),
        ("x1 * (x2 +", "<expression>:1:11"),
        ("sine(x)", "did you mean `sin`?"),
        ("atan2(x)", "takes 2 arguments, got 1"),
        ("x / 0", "division by the literal zero"),
        ("y = z + 1; z = 2; y", "`z` has no value yet"),
        ("a = 1", "no output"),
    ] {
        let ran = wengert(&["grad", program]);
        assert_eq!(ran.code, 3, "{program}: {}", ran.err);
        assert!(ran.err.contains(part), "{program}: {}", ran.err);
    }
    let ran = with_input(&["grad", "-"], b"a = x\nb = 2 a\nb");
    assert!(ran.code == 3 && ran.err.contains("<stdin>:2:7"), "{}", ran.err);
}

#[test]
fn hostile_programs_are_refused_with_a_message() {
    let nested = format!("{}x{}", "(".repeat(10_000), ")".repeat(10_000));
    for (program, part) in [
        (nested.as_str(), "more than 256 levels deep"),
        (&"-".repeat(1 << 20), "expected an expression"),
        (&"(".repeat(1 << 20), "more than 256 levels deep"),
        (&"x".repeat(1 << 20), "no value for"),
        (&"if x > 0 {".repeat(100_000), "more than 256 levels deep"),
        ("\0\u{7}", "unexpected character"),
        ("\u{202e}x", "unexpected character"),
    ] {
        let ran = with_input(&["grad", "-"], program.as_bytes());
        assert!(ran.code == 3 || ran.code == 2, "{}", ran.err);
        assert!(ran.err.contains(part), "{part}: {:.300}", ran.err);
        assert!(ran.err.contains("<stdin>:1:") || ran.code == 2, "{:.300}", ran.err);
        assert!(!ran.err.contains(['\0', '\u{7}', '\u{202e}']), "{:.300}", ran.err);
    }
}

#[test]
fn a_sum_of_a_hundred_thousand_terms_works() {
    let program = format!("{}x", "x + ".repeat(100_000));
    let ran = with_input(&["grad", "-", "--at", "x=1"], program.as_bytes());
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.out.contains("  d/dx  100001\n"), "{:.200}", ran.out);
}

#[test]
fn large_programs_take_time_in_proportion() {
    // A step that is quadratic in the length would take minutes on one of these.
    let count = 60_000;
    let list = |make: &dyn Fn(usize) -> String| (0..count).map(make).collect::<String>();
    let arms = list(&|k| format!("else if x < {k} {{ a{k} = 1 }}\n"));
    let versions = list(&|_| "a = a + x\n".to_owned());
    let inputs = list(&|k| format!("x{k} + "));
    for (program, part) in [
        (format!("if x > 9e9 {{ b = 1 }} {arms} else {{ c = x }}\nx"), "d/dx  1"),
        (format!("a = x\n{versions}a"), "d/dx  60001"),
        (format!("{inputs}x"), "no value for `x0`, `x1`"),
        (format!("{inputs}x0 + y(1)"), "unknown function"),
    ] {
        let ran = with_input(&["grad", "-", "--at", "x=1"], program.as_bytes());
        let all = format!("{}{}", ran.out, ran.err);
        assert!(all.contains(part), "{part}: {all:.300}");
    }
}

#[test]
fn matrices_too_large_to_read_are_refused() {
    let inputs: String = (0..1_500).map(|k| format!("x{k} + ")).collect();
    let at: String = (0..1_500).map(|k| format!("x{k}=1,")).collect();
    let ran = wengert(&["grad", &format!("{inputs}1"), "--hessian", "--at", &at]);
    assert!(ran.code == 2 && ran.err.contains("1500 times 1500"), "{}", ran.err);
}

#[test]
fn files_that_cannot_be_read_exit_with_4() {
    let (folder, path) = file(b"x = \xff\xfe");
    let ran = wengert(&["grad", text(&path)]);
    assert!(ran.code == 4 && ran.err.contains("not UTF-8 text (byte 5 in line 1)"), "{}", ran.err);
    let ran = wengert(&["grad", text(folder.path())]);
    assert!(ran.code == 4 && ran.err.contains("a directory"), "{}", ran.err);
    let ran = wengert(&["grad", "no_such_file.txt"]);
    assert!(ran.code == 4 && ran.err.contains("there is no file"), "{}", ran.err);
    // Nothing is read of a file that is too large: this one takes no room on the disk.
    let large = std::fs::File::create(folder.path().join("large")).expect("it can be made");
    large.set_len(17 << 20).expect("it can be made longer");
    let ran = wengert(&["grad", text(&folder.path().join("large"))]);
    assert!(ran.code == 4 && ran.err.contains("17825792 bytes, at most 16777216"), "{}", ran.err);
    let ran = with_input(&["grad", "-"], &vec![b' '; 17 << 20]);
    assert!(ran.code == 4 && ran.err.contains("too large"), "{}", ran.err);
}

#[cfg(unix)]
#[test]
fn a_pipe_is_not_waited_for() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let pipe = folder.path().join("pipe");
    let made = Command::new("mkfifo").arg(&pipe).status().expect("mkfifo can be started");
    assert!(made.success());
    let ran = wengert(&["grad", text(&pipe)]);
    assert!(ran.code == 4 && ran.err.contains("not a regular file"), "{}", ran.err);
}

#[test]
fn a_file_is_written_as_a_whole_or_not_at_all() {
    let (folder, _) = file(b"");
    let out = folder.path().join("out.json");
    let arguments = ["grad", "x", "--at", "x=1", "--format", "json", "--out", text(&out)];
    assert_eq!(wengert(&arguments).code, 0);
    let first = std::fs::read_to_string(&out).expect("it was written");
    assert!(first.ends_with("}\n"));
    // A failure leaves the old file alone, and nothing is left beside it.
    let bad = ["grad", "x +", "--at", "x=1", "--out", text(&out)];
    assert_eq!(wengert(&bad).code, 3);
    assert_eq!(std::fs::read_to_string(&out).expect("it is there"), first);
    let names = std::fs::read_dir(folder.path()).expect("the folder can be read");
    assert_eq!(names.count(), 2);
    let nowhere = folder.path().join("no").join("out.json");
    let ran = wengert(&["grad", "x", "--at", "x=1", "--out", text(&nowhere)]);
    assert!(ran.code == 4 && ran.err.contains("cannot write"), "{}", ran.err);
    let ran = wengert(&["grad", "x", "--at", "x=1", "--out", text(folder.path())]);
    assert!(ran.code == 4 && ran.err.contains("directory"), "{}", ran.err);
}

#[test]
fn help_shows_examples_and_exit_codes() {
    let ran = wengert(&["grad", "--help"]);
    assert_eq!(ran.code, 0);
    for part in ["Examples:", "Exit codes:", "--jacobian", "wengert grad 'x1*x2 + sin(x1)'"] {
        assert!(ran.out.contains(part), "{part}");
    }
    let ran = wengert(&["functions"]);
    assert!(ran.code == 0 && ran.out.contains("atan2(y, x)"));
}

#[test]
fn every_example_of_the_help_works() {
    let help = wengert(&["grad", "--help"]).out;
    let examples = help.lines().filter_map(|line| line.trim().strip_prefix("wengert grad '"));
    let folder = tempfile::tempdir().expect("a folder can be made");
    let mut count = 0;
    for example in examples {
        let (program, rest) = example.split_once('\'').expect("the program ends");
        let mut arguments = vec!["grad", program];
        // What a shell takes the quotes off.
        arguments.extend(rest.split_whitespace().map(|word| word.trim_matches('\'')));
        let output = command(&arguments).current_dir(folder.path()).output();
        let ran = finish(output.expect("the command can be started"));
        assert_eq!(ran.code, 0, "{example}: {}", ran.err);
        count += 1;
    }
    assert!(count >= 3);
}

#[test]
fn shells_and_manuals_get_what_they_want() {
    for (shell, part) in
        [("bash", "complete -F _wengert"), ("zsh", "#compdef wengert"), ("fish", "complete -c wengert")]
    {
        let ran = wengert(&["completions", shell]);
        assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{shell}");
        assert!(ran.out.contains(part) && ran.out.contains("jacobian"), "{shell}");
    }
    assert_eq!(wengert(&["completions", "csh"]).code, 2);
    let ran = wengert(&["man"]);
    assert!(ran.code == 0 && ran.out.contains(".TH wengert 1") && ran.out.contains("wengert\\-grad(1)"), "{}", ran.out);
    let folder = tempfile::tempdir().expect("a folder can be made");
    assert_eq!(wengert(&["man", "--folder", text(folder.path())]).code, 0);
    let mut pages: Vec<String> = std::fs::read_dir(folder.path())
        .expect("the folder is there")
        .map(|entry| entry.expect("a page").file_name().to_string_lossy().into_owned())
        .collect();
    pages.sort();
    let subcommands = ["completions", "functions", "grad", "man", "profile", "run", "show"];
    let mut expected: Vec<String> = subcommands.iter().map(|name| format!("wengert-{name}.1")).collect();
    expected.push("wengert.1".to_owned());
    assert_eq!(pages, expected);
    let ran = wengert(&["man", "--folder", text(&folder.path().join("none"))]);
    assert!(ran.code == 4 && ran.err.contains("there is no folder"), "{}", ran.err);
}
