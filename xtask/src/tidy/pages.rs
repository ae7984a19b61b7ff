//! Pages and other text: generated files are fresh, the changelog is open, features have a line, no path of a machine.

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

/// The changelog has a place for the next change first, and behind it the versions, newest first, each with its day.
pub(super) fn changelog(workspace: &Workspace) -> Result<Vec<Finding>, Failure> {
    let text = workspace.text("CHANGELOG.md").unwrap_or_default();
    let mut findings = Vec::new();
    let titles = text.lines().enumerate().filter_map(|(at, line)| Some((at + 1, line.strip_prefix("## ")?)));
    let mut above: Option<[u64; 3]> = None;
    let mut is_first = true;
    for (line, title) in titles {
        let found = |what: &str| Finding::new("CHANGELOG.md", line, what);
        match (std::mem::take(&mut is_first), version_and_day(title)) {
            (true, _) if title == "Unreleased" => {}
            (true, _) => findings.push(found("stands before the section `## Unreleased`")),
            (false, None) => findings.push(found("is no version with its day, as `## 0.1.0 - 2026-11-25`")),
            (false, Some(version)) if above.is_some_and(|above| above <= version) => {
                findings.push(found("stands below a version that is older, or the same"));
            }
            (false, Some(version)) => above = Some(version),
        }
    }
    if is_first {
        findings.push(Finding::new("CHANGELOG.md", 0, "needs a section `## Unreleased`"));
    }
    Ok(findings)
}

/// The version in `0.1.0 - 2026-11-25`.
fn version_and_day(title: &str) -> Option<[u64; 3]> {
    let (version, day) = title.split_once(" - ")?;
    let numbers = |text: &str, sign: char| -> Option<[u64; 3]> {
        let numbers: Option<Vec<u64>> = text.split(sign).map(|number| number.parse().ok()).collect();
        numbers?.try_into().ok()
    };
    let [_, month, day_of_month] = numbers(day, '-')?;
    let is_day = day.len() == 10 && (1..=12).contains(&month) && (1..=31).contains(&day_of_month);
    if is_day { numbers(version, '.') } else { None }
}

/// The tables of features, in the README and on the library's front page, have each of them.
pub(super) fn features(workspace: &Workspace) -> Result<Vec<Finding>, Failure> {
    const TABLES: [&str; 2] = ["README.md", "crates/wengert/src/lib.rs"];
    let manifest = workspace.text("crates/wengert/Cargo.toml").unwrap_or_default();
    let section = manifest.split_once("[features]\n").map_or("", |(_, below)| below);
    let lines = section.lines().take_while(|line| !line.starts_with('[')).filter(|line| !line.starts_with('#'));
    let names = lines.filter_map(|line| Some(line.split_once(" = ")?.0)).filter(|name| *name != "default");
    let mut findings = Vec::new();
    for name in names {
        let quoted = format!("`{name}`");
        for path in TABLES {
            let rows = workspace.text(path).unwrap_or_default().lines().map(|line| line.trim_start_matches("//! "));
            if !rows.into_iter().any(|row| row.starts_with("| `") && row.contains(&quoted)) {
                findings.push(Finding::new(path, 0, format!("has no line about the feature {quoted}")));
            }
        }
    }
    Ok(findings)
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
        let first = ("CHANGELOG.md:3", "before the section `## Unreleased`");
        check(changelog, &[("CHANGELOG.md", "# Changelog\n\n## 0.1.0 - 2026-01-01\n")], &[first]);
        check(changelog, &[], &[("CHANGELOG.md", "Unreleased")]);
    }

    #[test]
    fn versions_stand_newest_first_with_their_days() {
        let log = |titles: &[&str]| {
            format!("## Unreleased\n{}", titles.iter().map(|t| format!("## {t}\n")).collect::<String>())
        };
        let versions = ["1.10.0 - 2026-11-25", "1.9.0 - 2026-10-02", "0.1.0 - 2025-01-31"];
        check(changelog, &[("CHANGELOG.md", &log(&versions))], &[]);
        let swapped = [versions[1], versions[0]];
        check(changelog, &[("CHANGELOG.md", &log(&swapped))], &[("CHANGELOG.md:3", "older, or the same")]);
        for title in ["1.0.0", "1.0 - 2026-01-01", "1.0.0 - 2026-13-01", "1.0.0 - 2026-1-1", "1.0.0 - soon"] {
            check(changelog, &[("CHANGELOG.md", &log(&[title]))], &[("CHANGELOG.md:2", "no version with its day")]);
        }
    }

    #[test]
    fn features_have_their_lines() {
        let manifest = (
            "crates/wengert/Cargo.toml",
            "[features]\ndefault = [\"a\"]\n# A.\na = []\nb-c = [\"a\"]\n\n[dependencies]\nd = \"1\"\n",
        );
        let front = ("crates/wengert/src/lib.rs", "//! | `a` | yes |\n//! | `b-c`, `d` | |\n");
        check(features, &[manifest, front, ("README.md", "| `b-c` | |\n| `a` | |\n")], &[]);
        let lacks = [("README.md", "no line about the feature `b-c`")];
        check(features, &[manifest, front, ("README.md", "| `a` | `b` |\nand `b-c`\n")], &lacks);
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
