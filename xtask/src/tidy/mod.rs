//! `cargo xtask tidy`: what a compiler does not check about this repository.
//!
//! Every check is a function from the files to what is wrong with them. Each is tested on files
//! that break its rule, and all of them run over the repository as a test.

mod manifests;
mod named;
pub(crate) mod order;
mod pages;
mod published;
mod shown;
mod source;
pub(crate) mod tokens;

use std::fmt;

use crate::Failure;
use crate::workspace::Workspace;

/// Something to mend.
#[derive(Debug)]
pub(crate) struct Finding {
    path: String,
    /// From 1; 0 for the file as a whole.
    line: usize,
    what: String,
}

impl Finding {
    fn new(path: &str, line: usize, what: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line, what: what.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(f, "{}: {}", self.path, self.what),
            line => write!(f, "{}:{line}: {}", self.path, self.what),
        }
    }
}

type Check = fn(&Workspace) -> Result<Vec<Finding>, Failure>;

/// In the order in which they run.
const CHECKS: &[Check] = &[
    order::modules_in_order,
    source::heads,
    source::lengths,
    source::tokens,
    source::examples,
    shown::examples_shown,
    manifests::reasons,
    manifests::crates_in_order,
    manifests::few_packages,
    published::complete,
    pages::generated,
    pages::changelog,
    pages::features,
    pages::machine_paths,
    named::named_files,
];

/// Runs every check; the failure lists all findings.
pub(crate) fn tidy() -> Result<(), Failure> {
    let workspace = Workspace::load()?;
    let mut findings = Vec::new();
    for check in CHECKS {
        findings.extend(check(&workspace)?);
    }
    match findings.len() {
        0 => Ok(()),
        count => {
            let lines: Vec<String> = findings.iter().map(Finding::to_string).collect();
            Err(format!("{}\ntidy: {count} to mend", lines.join("\n")))
        }
    }
}

/// Runs a check over files and compares what it says, finding by finding: `path:line` and a part of
/// the message.
#[cfg(test)]
fn check(check: Check, files: &[(&str, &str)], expected: &[(&str, &str)]) {
    let findings: Vec<String> = check(&Workspace::of(files)).unwrap().iter().map(Finding::to_string).collect();
    assert_eq!(findings.len(), expected.len(), "{findings:#?}");
    for (finding, (place, part)) in findings.iter().zip(expected) {
        let what = finding.strip_prefix(&format!("{place}: "));
        assert!(what.is_some_and(|what| what.contains(part)), "{finding:?} is not {place}: …{part}…");
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_repository_is_tidy() {
        super::tidy().unwrap_or_else(|findings| panic!("{findings}"));
    }
}
