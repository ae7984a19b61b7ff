//! Files that pages and comments name exist.

use super::Finding;
use crate::Failure;
use crate::workspace::{Source, Workspace};

/// The ends of names that are taken for files of this repository.
const ENDS: &[&str] = &[".rs", ".md", ".py", ".toml", ".json", ".txt", ".prog"];

/// Files and folders that a page, or a comment in a Rust file, names between backquotes exist. A name may leave out the
/// folders in front.
pub(super) fn named_files(workspace: &Workspace) -> Result<Vec<Finding>, Failure> {
    let mut findings = Vec::new();
    for file in workspace.files.iter().filter(|file| is_page(file) || file.path.ends_with(".rs")) {
        for (at, line) in file.text.lines().enumerate() {
            let text = if is_page(file) { Some(line) } else { comment(line) };
            for name in text.into_iter().flat_map(quoted).filter(|name| is_path(name)) {
                if !exists(workspace, &file.path, name) {
                    findings.push(Finding::new(&file.path, at + 1, format!("there is no `{name}`")));
                }
            }
        }
    }
    Ok(findings)
}

/// The pages for people; the changelog tells of what was, too.
fn is_page(file: &Source) -> bool {
    ["ARCHITECTURE.md", "CONTRIBUTING.md", "README.md"].contains(&&*file.path)
        || (file.path.starts_with("docs/") && file.path.ends_with(".md"))
}

/// The text of a line that is a comment, or of the comment behind code.
fn comment(line: &str) -> Option<&str> {
    let line = line.trim_start();
    line.starts_with("//").then_some(line).or_else(|| line.split_once(" // ").map(|(_, comment)| comment))
}

/// What stands between backquotes.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

/// Whether a name is that of a file, or of a folder if it ends with a slash; commands and patterns are not.
fn is_path(name: &str) -> bool {
    let plain = name.chars().all(|c| c.is_ascii_alphanumeric() || "_-./".contains(c));
    let is_file = ENDS.iter().any(|end| name.ends_with(end) && name.len() > end.len());
    let is_folder = name.ends_with('/') && name.len() > 1 && !name.starts_with('/');
    plain && (is_file || is_folder) && !name.contains("..")
}

/// Whether there is such a file or folder: beside the one that names it, from the root, or below any folders.
fn exists(workspace: &Workspace, from: &str, name: &str) -> bool {
    let below = format!("/{name}");
    let folder = from.rsplit_once('/').map_or("", |(folder, _)| folder);
    let beside = format!("{folder}{below}");
    workspace.files.iter().any(|file| match name.ends_with('/') {
        true => file.path.starts_with(name) || file.path.contains(&below),
        false => file.path == name || file.path == beside || file.path.ends_with(&below),
    })
}

#[cfg(test)]
mod tests {
    use super::super::check;
    use super::*;

    #[test]
    fn what_is_named_exists() {
        let rust = ("crates/a/src/plan/mod.rs", "//! See `plan/mod.rs`, `docs/masks.md` and `src/plan/`.\n");
        let page = ("docs/masks.md", "# Masks\n\nIn `mod.rs`, by `cargo run a/b.rs`, `*.rs`, `.rs`, and/or.\n");
        check(named_files, &[rust, page], &[]);
    }

    #[test]
    fn what_is_not_there_is_found() {
        let page = ("ARCHITECTURE.md", "# A\nsee `docs/tape.md` and `tape/`\n");
        check(named_files, &[page], &[("ARCHITECTURE.md:2", "`docs/tape.md`"), ("ARCHITECTURE.md:2", "`tape/`")]);
        // Put together here, so that this file names none.
        let text = ["//! About.\nlet s = \"`no.rs`\"; /", "/ of `other.rs`\n"].concat();
        check(named_files, &[("a/x.rs", &text)], &[("a/x.rs:2", "`other.rs`")]);
        check(named_files, &[("a/x.rs", "//! `rs.rs`"), ("a/yrs.rs", "//! A.\n")], &[("a/x.rs:1", "`rs.rs`")]);
        check(named_files, &[("CHANGELOG.md", "`gone.rs`")], &[]);
    }
}
