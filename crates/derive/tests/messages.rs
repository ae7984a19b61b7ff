//! What the compiler and the macros say about mistakes, and where they point.

use std::path::{Path, PathBuf};
use std::process::Command;

/// What must not compile, with the whole text of its errors beside it, which names no type of the library but those that are
/// meant. `UPDATE_EXPECT=1` writes it again.
#[test]
fn mistakes_are_named_where_they_are() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/ui");
    let files = std::fs::read_dir(folder).expect("the folder is there").map(|entry| entry.expect("an entry").path());
    let mut cases: Vec<PathBuf> = files.filter(|path| path.extension().is_some_and(|kind| kind == "rs")).collect();
    cases.sort();
    assert!(cases.len() >= 6, "{cases:?}");
    for case in cases {
        let name = case.file_name().expect("it has a name").to_string_lossy().into_owned();
        let errors = errors_of(&format!("tests/ui/{name}"));
        // What follows the last of them counts them.
        let errors =
            errors.iter().filter(|error| !error.starts_with(": aborting") && !error.starts_with(": could not compile"));
        let text: String = errors.map(|error| format!("error{}\n\n", error.trim_end())).collect();
        expect_test::expect_file![case.with_extension("stderr")].assert_eq(&format!("{}\n", text.trim_end()));
    }
}

/// Every line of `mistakes/functions.rs` that ends in `// says: …` has an error, and the error says that. Not the whole text is
/// compared: it lists types that implement a trait, which changes with every one of them.
///
/// That `1.0 - x` over `R: Real` is written `lit(1.0) - x` the compiler cannot be made to say: the operator is that of `f64`.
#[test]
fn every_mistake_names_its_remedy() {
    let errors = errors_of("tests/mistakes/functions.rs");
    let mut mistakes = 0;
    for (line, text) in (1..).zip(include_str!("mistakes/functions.rs").lines()) {
        let Some((_, remedy)) = text.split_once("// says: ") else { continue };
        mistakes += 1;
        let place = format!("functions.rs:{line}:");
        let mut here = errors.iter().filter(|error| {
            error.lines().find(|line| line.contains("--> ")).is_some_and(|first| first.contains(&place))
        });
        // The line itself is printed too, with what it should say.
        let says = |error: &String| error.lines().any(|line| !line.contains("// says: ") && line.contains(remedy));
        assert!(here.any(says), "no error at line {line} says `{remedy}`: {text}\n{errors:#?}");
    }
    assert!(mistakes >= 18, "{mistakes} mistakes");
}

/// What the compiler says about a file that uses the library, error by error.
///
/// The library is the one that was built for these tests, so that nothing is built again: of those that lie beside the test,
/// the newest with tensors and macros.
fn errors_of(source: &str) -> Vec<String> {
    let test = std::env::current_exe().expect("the test has a place");
    let folder = test.parent().expect("it lies in a folder");
    let mut libraries: Vec<PathBuf> = std::fs::read_dir(folder)
        .expect("the folder is there")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            name.starts_with("libwengert-") && (name.ends_with(".rmeta") || name.ends_with(".rlib"))
        })
        .collect();
    libraries.sort_by_key(|path| std::fs::metadata(path).and_then(|data| data.modified()).ok());
    let compiler = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    for library in libraries.iter().rev() {
        let output = Command::new(&compiler)
            .args(["--edition", "2024", "--emit=metadata", "--out-dir"])
            .arg(env!("CARGO_TARGET_TMPDIR"))
            .arg("--extern")
            .arg(format!("wengert={}", library.display()))
            .arg("-L")
            .arg(format!("dependency={}", folder.display()))
            .arg(source)
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .output()
            .expect("the compiler runs");
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        // Another set of features, or a library whose parts are gone.
        let unfit = ["E0432", "E0433", "E0412", "E0425", "E0460", "E0463", "E0464", "E0786", "cannot find derive"];
        if !unfit.iter().any(|code| text.contains(code)) {
            return format!("\n{text}").split("\nerror").skip(1).map(str::to_owned).collect();
        }
    }
    panic!("no library with tensors and macros beside {}", test.display())
}
