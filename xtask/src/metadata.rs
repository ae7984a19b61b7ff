//! What cargo says about the packages: our own members, and all that they are built from.

use std::collections::BTreeSet;
use std::path::PathBuf;

use serde_json::Value;

use crate::Failure;
use crate::run::{cargo, output};
use crate::workspace::root;

/// A package of this workspace.
pub(crate) struct Member {
    pub(crate) name: String,
    pub(crate) dependencies: Vec<Dependency>,
}

/// A line of a `[dependencies]` table, of any kind.
pub(crate) struct Dependency {
    pub(crate) name: String,
    /// Whether users of the package need it, not only its build or tests.
    pub(crate) is_normal: bool,
}

impl Member {
    /// Whether it names the package `name` as a dependency of any kind.
    pub(crate) fn depends_on(&self, name: &str) -> bool {
        self.dependencies.iter().any(|dependency| dependency.name == name)
    }
}

/// A package of the workspace or from outside.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Package {
    pub(crate) name: String,
    pub(crate) version: String,
    /// The SPDX expression, if it states one.
    pub(crate) licence: Option<String>,
    /// Where it comes from, if neither from crates.io nor from this workspace.
    pub(crate) elsewhere: Option<String>,
}

/// The packages of this workspace.
pub(crate) fn members() -> Result<Vec<Member>, Failure> {
    let members: Option<_> = described()?.iter().map(member).collect();
    members.ok_or("`cargo metadata` does not print what it is documented to".to_owned())
}

/// All that the manifests of this workspace say, one object a package.
pub(crate) fn described() -> Result<Vec<Value>, Failure> {
    match workspace()?["packages"].take() {
        Value::Array(packages) => Ok(packages),
        _ => Err("`cargo metadata` does not print what it is documented to".to_owned()),
    }
}

/// Where cargo puts what it builds.
pub(crate) fn target_folder() -> Result<PathBuf, Failure> {
    let folder = workspace()?["target_directory"].as_str().map(PathBuf::from);
    folder.ok_or("`cargo metadata` does not print what it is documented to".to_owned())
}

fn workspace() -> Result<Value, Failure> {
    let text = output(&mut cargo(&["metadata", "--format-version", "1", "--no-deps"]))?;
    serde_json::from_str(&text).map_err(|error| format!("`cargo metadata`: {error}"))
}

/// Whether the package may go to a registry: `publish` is not `false`.
pub(crate) fn is_published(package: &Value) -> bool {
    package["publish"].as_array().is_none_or(|registries| !registries.is_empty())
}

fn member(package: &Value) -> Option<Member> {
    let name = |object: &Value| object["name"].as_str().map(str::to_owned);
    let dependency =
        |dependency: &Value| Some(Dependency { name: name(dependency)?, is_normal: dependency["kind"].is_null() });
    Some(Member {
        name: name(package)?,
        dependencies: package["dependencies"].as_array()?.iter().map(dependency).collect::<Option<_>>()?,
    })
}

/// The packages that `cargo tree` finds with these arguments, our own among them.
///
/// `cargo metadata` would list optional packages too that no feature turns on.
pub(crate) fn packages(arguments: &[&str]) -> Result<BTreeSet<Package>, Failure> {
    let text = output(cargo(&["tree", "--prefix", "none", "--format", "{p}\t{l}"]).args(arguments))?;
    text.lines().filter(|line| !line.is_empty()).map(|line| package(line, &root().to_string_lossy())).collect()
}

/// Reads `name v1.0.0 (where) \t licence (*)`: in brackets a folder, an address or `proc-macro`;
/// the star marks a package that has been listed before.
fn package(line: &str, root: &str) -> Result<Package, Failure> {
    let read = || {
        let (package, licence) = line.trim_end_matches(" (*)").split_once('\t')?;
        let (name, rest) = package.split_once(" v")?;
        let (version, notes) = rest.split_once(' ').unwrap_or((rest, ""));
        let mut places = notes.split_inclusive(')').map(|note| note.trim().trim_matches(['(', ')']));
        let elsewhere = places.find(|place| !place.is_empty() && *place != "proc-macro" && !place.starts_with(root));
        let licence = (!licence.is_empty()).then(|| licence.to_owned());
        Some(Package {
            name: name.to_owned(),
            version: version.to_owned(),
            licence,
            elsewhere: elsewhere.map(str::to_owned),
        })
    };
    read().ok_or(format!("`cargo tree` prints `{line}`, which is not a package"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(line: &str, name: &str, licence: Option<&str>, elsewhere: Option<&str>) {
        let package = package(line, "/ours").unwrap();
        let expected = Package {
            name: name.to_owned(),
            version: "1.2.3+x".to_owned(),
            licence: licence.map(str::to_owned),
            elsewhere: elsewhere.map(str::to_owned),
        };
        assert_eq!(package, expected, "{line}");
    }

    #[test]
    fn lines_of_the_tree_are_read() {
        check("a v1.2.3+x\tMIT OR Zlib", "a", Some("MIT OR Zlib"), None);
        check("a v1.2.3+x (proc-macro)\t(MIT) (*)", "a", Some("(MIT)"), None);
        check("a v1.2.3+x (proc-macro) (/ours/a)\t", "a", None, None);
        check("a v1.2.3+x (https://example.org/a#1)\tMIT", "a", Some("MIT"), Some("https://example.org/a#1"));
        check("a v1.2.3+x (/theirs/a) (*)\tMIT (*)", "a", Some("MIT"), Some("/theirs/a"));
        assert!(package("warning: nothing to print", "/ours").is_err());
    }
}
