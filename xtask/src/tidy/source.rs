//! Rust files: heads, lengths, `unsafe`, and words that a finished file does not hold.

use proc_macro2::{Delimiter, TokenTree};

use super::Finding;
use super::tokens::{attribute, each, inside, is_sign, is_word, line, tokens as tokens_of};
use crate::Failure;
use crate::workspace::Workspace;

/// A file longer than this should be two.
const LONG: usize = 600;

/// The crates that exist to hold `unsafe`.
const UNSAFE_CRATES: &[&str] = &["crates/kernels/", "crates/jit/"];
/// Files outside them that may say `unsafe`, and why.
const UNSAFE_FILES: &[(&str, &str)] = &[(
    "crates/wengert/src/interop/nalgebra.rs",
    "simba's trait declares two methods unsafe; the bodies do nothing unsafe",
)];

/// Macros that a finished file does not call.
const UNFINISHED: &[&str] = &["todo", "unimplemented", "dbg"];

/// Every Rust file starts with what it is about.
pub(super) fn heads(workspace: &Workspace) -> Result<Vec<Finding>, Failure> {
    let bare = workspace.ending(".rs").filter(|file| !file.text.starts_with("//! "));
    Ok(bare.map(|file| Finding::new(&file.path, 1, "start with a module comment, `//! …`")).collect())
}

/// Files are short enough to be read.
pub(super) fn lengths(workspace: &Workspace) -> Result<Vec<Finding>, Failure> {
    let mut findings = Vec::new();
    for file in workspace.ending(".rs") {
        let length = file.text.lines().count();
        if length > LONG {
            findings.push(Finding::new(&file.path, 0, format!("{length} lines; the limit is {LONG}")));
        }
    }
    Ok(findings)
}

/// No `unsafe` outside its crates, no bare `allow` or `expect`, no ignored test, nothing unfinished.
pub(super) fn tokens(workspace: &Workspace) -> Result<Vec<Finding>, Failure> {
    let mut findings = Vec::new();
    for file in workspace.ending(".rs") {
        let tokens = match tokens_of(file) {
            Ok(tokens) => tokens,
            Err(finding) => {
                findings.push(finding);
                continue;
            }
        };
        let may_be_unsafe = UNSAFE_CRATES.iter().any(|folder| file.path.starts_with(folder))
            || UNSAFE_FILES.iter().any(|(path, _reason)| *path == file.path);
        each(&tokens, &mut |tokens| {
            let mut found = |what: String| findings.push(Finding::new(&file.path, line(&tokens[0]), what));
            if !may_be_unsafe && is_word(tokens.first(), "unsafe") {
                found("`unsafe` outside the crates for it".to_owned());
            }
            for word in UNFINISHED {
                if is_word(tokens.first(), word) && is_sign(tokens.get(1), '!') {
                    found(format!("`{word}!` is for work in progress"));
                }
            }
            if let Some(attribute) = attribute(tokens) {
                in_attribute(&attribute, &mut found);
            }
        });
    }
    Ok(findings)
}

/// Looks at the words of an attribute, also behind a condition: `cfg_attr(test, allow(…))`.
fn in_attribute(attribute: &[TokenTree], found: &mut impl FnMut(String)) {
    each(attribute, &mut |tokens| {
        let group = match tokens.get(1) {
            Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Parenthesis => Some(inside(group)),
            _ => None,
        };
        let gives_reason = || group.iter().flatten().any(|token| is_word(Some(token), "reason"));
        if is_word(tokens.first(), "allow") && group.is_some() {
            found("a bare `allow` hides what it was for: `#[expect(…, reason = \"…\")]`".to_owned());
        } else if is_word(tokens.first(), "expect") && group.is_some() && !gives_reason() {
            found("`expect` needs its reason".to_owned());
        } else if is_word(tokens.first(), "ignore") {
            found("an ignored test says nothing: assert what happens today, and say why it is wrong".to_owned());
        }
    });
}

/// No example in a doc comment is ignored.
pub(super) fn examples(workspace: &Workspace) -> Result<Vec<Finding>, Failure> {
    let is_ignored = |line: &str| {
        let line = line.trim_start();
        let doc = line.strip_prefix("///").or(line.strip_prefix("//!")).map(str::trim_start);
        let words = doc.and_then(|doc| doc.strip_prefix("```"));
        words.is_some_and(|words| words.split(',').any(|word| word.trim().starts_with("ignore")))
    };
    let mut findings = Vec::new();
    for file in workspace.ending(".rs") {
        let ignored = file.text.lines().enumerate().filter(|(_, line)| is_ignored(line));
        findings.extend(ignored.map(|(at, _)| Finding::new(&file.path, at + 1, "an ignored example says nothing")));
    }
    Ok(findings)
}

#[cfg(test)]
mod tests {
    use super::super::check;
    use super::*;

    #[test]
    fn a_file_starts_with_its_comment() {
        check(heads, &[("a.rs", "//! About.\n"), ("a.py", "x = 1\n")], &[]);
        check(heads, &[("a.rs", "// About.\n"), ("b.rs", "")], &[("a.rs:1", "//!"), ("b.rs:1", "//!")]);
    }

    #[test]
    fn no_file_is_too_long() {
        check(lengths, &[("a.rs", &"\n".repeat(LONG))], &[]);
        check(lengths, &[("a.rs", &"\n".repeat(LONG + 1))], &[("a.rs", "601 lines")]);
    }

    #[test]
    fn unsafe_stays_in_its_crates() {
        let text = "fn f() {\n    unsafe { g() }\n}";
        check(tokens, &[("crates/kernels/src/a.rs", text)], &[]);
        check(tokens, &[("a.rs", "// unsafe\nconst S: &str = \"unsafe\";")], &[]);
        check(tokens, &[("crates/cli/src/a.rs", text)], &[("crates/cli/src/a.rs:2", "`unsafe`")]);
    }

    #[test]
    fn nothing_is_left_unfinished() {
        for word in UNFINISHED {
            let text = format!("fn f() {{\n    {word}!()\n}}");
            check(tokens, &[("a.rs", &text)], &[("a.rs:2", word)]);
            // As a name and in a comment it is a word like others.
            check(tokens, &[("a.rs", &format!("/// {word}!()\nfn {word}() {{}}"))], &[]);
        }
    }

    #[test]
    fn lints_are_expected_with_a_reason_and_tests_run() {
        check(tokens, &[("a.rs", "#[expect(dead_code, reason = \"why\")]\nfn allow() { ignore(expect(1)) }")], &[]);
        for attribute in ["#[allow(dead_code)]", "#![allow(dead_code)]", "#[cfg_attr(test, allow(dead_code))]"] {
            check(tokens, &[("a.rs", attribute)], &[("a.rs:1", "a bare `allow`")]);
        }
        check(tokens, &[("a.rs", "#[expect(dead_code)]\nfn f() {}")], &[("a.rs:1", "needs its reason")]);
        for attribute in ["#[ignore]", "#[ignore = \"slow\"]", "#[cfg_attr(not(feature = \"a\"), ignore)]"] {
            let text = format!("#[test]\n{attribute}\nfn f() {{}}");
            check(tokens, &[("a.rs", &text)], &[("a.rs:2", "an ignored test")]);
        }
        check(tokens, &[("a.rs", "fn f() {")], &[("a.rs:1", "not tokens")]);
    }

    #[test]
    fn examples_run() {
        check(examples, &[("a.rs", "/// ```text\n/// ignore\n/// ```\n//! ```compile_fail\n")], &[]);
        check(examples, &[("a.rs", "    /// ```ignore\n")], &[("a.rs:1", "an ignored example")]);
        check(examples, &[("a.rs", "\n//! ```rust, ignore\n")], &[("a.rs:2", "an ignored example")]);
    }
}
