//! Pages and other text: generated files are fresh, the changelog is open, no path of a machine.

use super::Finding;
use crate::Failure;
use crate::codegen::{PRIMITIVES, primitives};
use crate::workspace::Workspace;

/// Folders at the root of a file system that only one machine has.
const MACHINE: &[&str] = &["home", "root", "work", "tmp", "Users"];

/// A generated page is what its sources say.
pub(super) fn generated(workspace: &Workspace) -> Result<Vec<Finding>, Failure> {
    let is_fresh = workspace.text(PRIMITIVES) == Some(&primitives(workspace)?);
    let stale = Finding::new(PRIMITIVES, 0, "is not what its sources say: `cargo xtask codegen`");
    Ok(if is_fresh { Vec::new() } else { vec![stale] })
}

/// The changelog has a place for the next change.
pub(super) fn changelog(workspace: &Workspace) -> Result<Vec<Finding>, Failure> {
    let text = workspace.text("CHANGELOG.md").unwrap_or_default();
    let is_open = text.lines().any(|line| ["## Unreleased", "## [Unreleased]"].contains(&line.trim_end()));
    let closed = Finding::new("CHANGELOG.md", 0, "needs a section `## Unreleased`");
    Ok(if is_open { Vec::new() } else { vec![closed] })
}

/// No file names a folder of the machine it was written on.
pub(super) fn machine_paths(workspace: &Workspace) -> Result<Vec<Finding>, Failure> {
    let mut findings = Vec::new();
    for file in &workspace.files {
        for (at, line) in file.text.lines().enumerate() {
            if let Some(path) = machine_path(line) {
                findings.push(Finding::new(&file.path, at + 1, format!("`{path}` is on one machine only")));
            }
        }
    }
    Ok(findings)
}

/// A path in the line that starts at the root, in one of the folders [`MACHINE`]. After a letter
/// the slash is in the middle of a path or an address.
fn machine_path(line: &str) -> Option<String> {
    MACHINE.iter().map(|folder| format!("/{folder}/")).find(|path| {
        let mut before = line.match_indices(path.as_str()).map(|(at, _)| line[..at].chars().next_back());
        before.any(|before| !before.is_some_and(|before| before.is_alphanumeric() || before == '.'))
    })
}

#[cfg(test)]
mod tests {
    use super::super::check;
    use super::*;

    #[test]
    fn the_changelog_is_open() {
        check(changelog, &[("CHANGELOG.md", "# Changelog\n\n## Unreleased\n")], &[]);
        check(changelog, &[("CHANGELOG.md", "# Changelog\n\n## 0.1.0\n")], &[("CHANGELOG.md", "Unreleased")]);
        check(changelog, &[], &[("CHANGELOG.md", "Unreleased")]);
    }

    #[test]
    fn a_path_of_a_machine_starts_at_the_root() {
        // Put together here, so that this file does not hold one.
        let path = ["", "home", "me", "data"].join("/");
        check(machine_paths, &[("a.md", &format!("\nsee {path}"))], &[("a.md:2", "one machine")]);
        check(machine_paths, &[("a.md", &path)], &[("a.md:1", "one machine")]);
        check(machine_paths, &[("a.md", &format!("https://example.org{path} target{path} ..{path}"))], &[]);
    }

    #[test]
    fn a_stale_page_is_found() {
        let family =
            |name: &str| format!("super::family! {{\n/// A.\npub enum {name} (Code) {{\n/// B.\nC = \"c\",\n}}\n}}\n");
        let families = [family("Unary"), family("Binary"), family("Compare")];
        let mut files = vec![
            ("crates/wengert/src/ops/unary.rs", families[0].as_str()),
            ("crates/wengert/src/ops/binary.rs", &families[1]),
            ("crates/wengert/src/ops/compare.rs", &families[2]),
            ("crates/wengert/src/ops/mod.rs", "//! # Conventions\n"),
            ("crates/wengert/src/primitives/axes.rs", "/// Other axes.\npub struct Permute {\n}\n"),
            ("crates/wengert/src/primitives/mod.rs", "\noperations! {\n    Unary(Unary),\n    Permute(Permute),\n}\n"),
        ];
        check(generated, &files, &[(PRIMITIVES, "is not what its sources say")]);
        let page = primitives(&Workspace::of(&files)).unwrap();
        files.push((PRIMITIVES, &page));
        check(generated, &files, &[]);
    }
}
