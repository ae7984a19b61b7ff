//! What is published: every package of it says what a registry and its readers want to know.

use std::path::Path;

use serde_json::Value;

use super::Finding;
use crate::Failure;
use crate::metadata::{self, is_published};
use crate::workspace::{Workspace, root};

/// The packages for the public. All others say `publish = false`.
const PUBLISHED: &[&str] = &["wengert-kernels", "wengert-derive", "wengert", "wengert-cli"];

/// The most keywords that crates.io takes, and the most letters of one.
const KEYWORDS: usize = 5;
const KEYWORD: usize = 20;

/// The manifests of published packages are complete, and no other package can be published by mistake.
pub(super) fn complete(workspace: &Workspace) -> Result<Vec<Finding>, Failure> {
    let packages = metadata::described()?;
    let named = |package: &Value, name: &str| package["name"].as_str() == Some(name);
    let mut findings = Vec::new();
    for name in PUBLISHED {
        if !packages.iter().any(|package| named(package, name) && is_published(package)) {
            findings.push(Finding::new("Cargo.toml", 0, format!("`{name}` is to be published and is not")));
        }
    }
    for package in packages.iter().filter(|package| is_published(package)) {
        let name = package["name"].as_str().unwrap_or_default();
        let found = |what: &str| Finding::new("Cargo.toml", 0, format!("`{name}` {what}"));
        if !PUBLISHED.contains(&name) {
            findings.push(found("is not for the public: `publish = false`"));
        }
        findings.extend(missing(package).iter().map(|what| found(what)));
        // Cargo does not print an address that is empty, which this one is until somebody knows it.
        let is_inherited = |text: &str| text.lines().any(|line| line.trim() == "repository.workspace = true");
        let path = package["manifest_path"].as_str().and_then(|path| Path::new(path).strip_prefix(root()).ok());
        let manifest = path.and_then(|path| workspace.text(&path.to_string_lossy().replace('\\', "/")));
        if !manifest.is_some_and(is_inherited) {
            findings.push(found("has no `repository.workspace = true`"));
        }
    }
    Ok(findings)
}

/// What the manifest of a published package lacks, as `cargo metadata` prints it.
fn missing(package: &Value) -> Vec<String> {
    let mut missing = Vec::new();
    for field in ["description", "license", "readme", "rust_version"] {
        if package[field].as_str().is_none_or(str::is_empty) {
            missing.push(format!("has no `{field}`"));
        }
    }
    let keywords: Vec<&str> = package["keywords"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    if keywords.is_empty() || keywords.len() > KEYWORDS {
        missing.push(format!("has {} keywords; it needs one to {KEYWORDS}", keywords.len()));
    }
    missing.extend(keywords.iter().filter(|word| !is_keyword(word)).map(|word| {
        format!(
            "has the keyword `{word}`, which is not at most {KEYWORD} letters, digits, `-`, `_` and `+` after a letter"
        )
    }));
    if package["categories"].as_array().is_none_or(Vec::is_empty) {
        missing.push("has no categories".to_owned());
    }
    missing.extend(dependencies(package));
    let of_kind = |kind: &str| {
        let targets = package["targets"].as_array().into_iter().flatten();
        targets.filter_map(|target| target["kind"].as_array()).flatten().any(|other| other == kind)
    };
    let has_features = package["features"].as_object().is_some_and(|features| !features.is_empty());
    if of_kind("lib") && has_features && package["metadata"]["docs"]["rs"]["all-features"] != true {
        missing.push("does not show all its features: `[package.metadata.docs.rs]`".to_owned());
    }
    missing
}

/// What crates.io says of keywords.
fn is_keyword(word: &str) -> bool {
    let letters = word.chars().all(|c| c.is_ascii_alphanumeric() || ['-', '_', '+'].contains(&c));
    letters && word.len() <= KEYWORD && word.starts_with(|c: char| c.is_ascii_alphabetic())
}

/// Users of one of our packages take the others of the same version: a dependency on one names exactly that. One that only
/// tests need has no version, and is left out of what is published: a registry would ask for it first.
fn dependencies(package: &Value) -> Vec<String> {
    let exactly = format!("={}", package["version"].as_str().unwrap_or_default());
    let ours = package["dependencies"].as_array().into_iter().flatten().filter(|other| other["path"].is_string());
    let wrong = ours.filter_map(|other| {
        let (name, version) = (other["name"].as_str()?, other["req"].as_str()?);
        match other["kind"].as_str() {
            Some("dev") if version != "*" => Some(format!("has tests that need `{name}`, which must have no version")),
            Some("dev") => None,
            _ => (version != exactly).then(|| format!("needs `{name}` of version `{version}`, not `{exactly}`")),
        }
    });
    wrong.collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn whole() -> Value {
        json!({
            "name": "a", "version": "1.2.3", "description": "What.", "license": "MIT", "readme": "README.md",
            "rust_version": "1.95", "keywords": ["one", "c+_-3"], "categories": ["mathematics"],
            "features": {"f": []}, "targets": [{"kind": ["lib"]}], "metadata": {"docs": {"rs": {"all-features": true}}},
            "dependencies": [
                {"name": "b", "req": "=1.2.3", "path": "/ours/b", "kind": null},
                {"name": "c", "req": "*", "path": "/ours/c", "kind": "dev"},
                {"name": "d", "req": "^2"},
            ],
        })
    }

    fn check(field: &str, value: Value, part: &str) {
        let mut package = whole();
        package[field] = value;
        let missing = missing(&package);
        assert!(missing.len() == 1 && missing[0].contains(part), "{field}: {missing:?}");
    }

    #[test]
    fn what_is_missing_is_named() {
        assert!(missing(&whole()).is_empty(), "{:?}", missing(&whole()));
        check("description", json!(""), "`description`");
        check("license", json!(null), "`license`");
        check("readme", json!(null), "`readme`");
        check("rust_version", json!(null), "`rust_version`");
        check("keywords", json!([]), "0 keywords");
        check("keywords", json!(["a", "b", "c", "d", "e", "f"]), "6 keywords");
        check("keywords", json!(["two words"]), "`two words`");
        check("keywords", json!(["3d"]), "`3d`");
        check("keywords", json!(["a-word-of-21-letters-"]), "21-letters");
        check("categories", json!([]), "categories");
        check("metadata", json!(null), "docs.rs");
        let other = |req: &str, kind: Value| json!([{"name": "b", "req": req, "path": "/ours/b", "kind": kind}]);
        check("dependencies", other("^1.2.3", json!(null)), "not `=1.2.3`");
        check("dependencies", other("*", json!("build")), "not `=1.2.3`");
        check("dependencies", other("=1.2.3", json!("dev")), "must have no version");
    }
}
