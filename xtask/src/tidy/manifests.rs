//! Dependencies: each has its reason, our crates stand in one order, the library stays small.

use super::Finding;
use crate::Failure;
use crate::metadata::{members, packages};
use crate::workspace::{Source, Workspace};

/// Our crates, lowest first. One that others are built from may be built from those before it only;
/// for tests and examples it may need those behind it.
const CRATES: &[&str] = &[
    "wengert-kernels",
    "wengert-kernels-tests",
    "wengert-derive",
    "wengert",
    "wengert-golden",
    "wengert-tests",
    "wengert-cli",
    "wengert-gradbench",
    "bench",
];

/// How many packages the library may bring with it when it is built without features.
const FEW: usize = 20;

/// Every dependency has its reason in a comment above it or beside it. Our own crates need none.
pub(super) fn reasons(workspace: &Workspace) -> Result<Vec<Finding>, Failure> {
    Ok(workspace.ending("Cargo.toml").flat_map(without_reason).collect())
}

fn without_reason(manifest: &Source) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut in_dependencies = false;
    // Brackets open at the start of the line: a list that goes on.
    let mut open = 0_i64;
    let mut above = "";
    for (at, line) in manifest.text.lines().enumerate() {
        let (code, has_comment) = split_comment(line);
        let entry = code.trim();
        let starts = open == 0;
        let brackets = |sign: char| entry.matches(sign).count() as i64;
        open += brackets('[') + brackets('{') - brackets(']') - brackets('}');
        let is_header = starts && entry.starts_with('[');
        let mut is_dependency = starts && in_dependencies && !is_header && !entry.is_empty();
        if is_header {
            let table = entry.trim_matches(['[', ']']);
            in_dependencies = table.ends_with("dependencies");
            // `[dependencies.name]` is a dependency of several lines.
            is_dependency = table.rsplit_once('.').is_some_and(|(before, _)| before.ends_with("dependencies"));
        }
        let is_ours = entry.contains("workspace = true") || entry.contains("path = ");
        if is_dependency && !is_ours && !has_comment && !above.trim().starts_with('#') {
            let name = entry.trim_matches(['[', ']']).split([' ', '=']).next().unwrap_or(entry);
            findings.push(Finding::new(
                &manifest.path,
                at + 1,
                format!("`{name}` needs its reason above or beside it"),
            ));
        }
        above = line;
    }
    findings
}

/// A line of TOML without its comment and without what stands in its strings, and whether it has a comment.
fn split_comment(line: &str) -> (String, bool) {
    let mut code = String::new();
    let mut in_string = None;
    for sign in line.chars() {
        match (in_string, sign) {
            (None, '#') => return (code, true),
            (None, '"' | '\'') => in_string = Some(sign),
            (None, _) => code.push(sign),
            (Some(quote), _) => in_string = (sign != quote).then_some(quote),
        }
    }
    (code, false)
}

/// Our crates depend on each other in the order of [`CRATES`].
pub(super) fn crates_in_order(_: &Workspace) -> Result<Vec<Finding>, Failure> {
    let mut findings = Vec::new();
    for member in members()? {
        let found = |what: String| Finding::new("Cargo.toml", 0, what);
        // The tasks are run by all and built from none of ours.
        let own = if member.name == "xtask" { 0 } else { rank(&member.name).unwrap_or(CRATES.len()) };
        if own == CRATES.len() {
            findings.push(found(format!("the order of crates does not name `{}`", member.name)));
        }
        for dependency in member.dependencies.iter().filter(|dependency| dependency.is_normal) {
            if rank(&dependency.name).is_some_and(|other| other >= own) {
                findings.push(found(format!("`{}` must not be built from `{}`", member.name, dependency.name)));
            }
        }
    }
    Ok(findings)
}

fn rank(name: &str) -> Option<usize> {
    CRATES.iter().position(|other| *other == name)
}

/// Without features, the library and all it is built from are at most [`FEW`] packages.
pub(super) fn few_packages(_: &Workspace) -> Result<Vec<Finding>, Failure> {
    let packages = packages(&["--package", "wengert", "--no-default-features", "--edges", "normal"])?;
    let what = format!("without features the library is {} packages; the limit is {FEW}", packages.len());
    let is_more = packages.len() > FEW;
    Ok(is_more.then(|| Finding::new("crates/wengert/Cargo.toml", 0, what)).into_iter().collect())
}

#[cfg(test)]
mod tests {
    use super::super::check;
    use super::*;

    #[test]
    fn a_reason_stands_above_or_beside() {
        let text = "[package]\nname = \"a\"\n[dependencies]\n# Why.\none = \"1\"\ntwo = \"1\" # Why.\nours = { workspace = true }\n";
        check(reasons, &[("Cargo.toml", text)], &[]);
        let text = "[workspace.dependencies]\nours = { path = \"a\" }\n[dev-dependencies]\n# Why.\nlist = { features = [\n \"a\",\n] }\n";
        check(reasons, &[("Cargo.toml", text)], &[]);
    }

    #[test]
    fn a_reason_serves_one_line() {
        let text = "[dependencies]\n# Why.\none = \"1\"\ntwo = \"1\"\n\n[dependencies.three]\nversion = \"#\"\n";
        check(
            reasons,
            &[("a/Cargo.toml", text)],
            &[("a/Cargo.toml:4", "`two`"), ("a/Cargo.toml:6", "`dependencies.three`")],
        );
        let text = "[target.'cfg(unix)'.dependencies]\none = \"#1\"\n";
        check(reasons, &[("Cargo.toml", text)], &[("Cargo.toml:2", "`one`")]);
    }
}
