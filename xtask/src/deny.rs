//! Licences, sources and duplicate versions of the packages we are built from, by `deny.toml`.
//!
//! It is the file of cargo-deny, which knows more (yanked versions, advisories) and runs beside
//! this check where it is installed. The check is here so that a bare machine checks the same.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::Failure;
use crate::licence::is_met;
use crate::metadata::{Package, packages};
use crate::workspace::root;

/// What we read of `deny.toml`; cargo-deny reads more.
#[derive(Deserialize)]
struct Config {
    graph: Graph,
    licenses: Licences,
    bans: Bans,
}

#[derive(Deserialize)]
struct Graph {
    targets: Vec<String>,
}

#[derive(Deserialize)]
struct Licences {
    allow: Vec<String>,
}

#[derive(Deserialize)]
struct Bans {
    skip: Vec<Skip>,
}

/// A version that may stand beside another one of the same package.
#[derive(Deserialize)]
struct Skip {
    /// `name@version`; the version may be cut short.
    #[serde(rename = "crate")]
    spec: String,
    reason: String,
}

/// Checks the packages of the workspace; says how many there are.
pub(crate) fn check() -> Result<usize, Failure> {
    let text = std::fs::read_to_string(root().join("deny.toml")).map_err(|error| format!("deny.toml: {error}"))?;
    let config: Config = toml::from_str(&text).map_err(|error| format!("deny.toml: {error}"))?;
    let targets = config.graph.targets.iter().flat_map(|target| ["--target", target]);
    let arguments: Vec<&str> = ["--workspace", "--all-features"].into_iter().chain(targets).collect();
    let packages = Vec::from_iter(packages(&arguments)?);
    match complaints(&packages, &config)[..] {
        [] => Ok(packages.len()),
        ref complaints => Err(complaints.join("\n")),
    }
}

fn complaints(packages: &[Package], config: &Config) -> Vec<String> {
    let mut complaints = Vec::new();
    for package in packages {
        let Package { name, version, .. } = package;
        match package.licence.as_deref().map(|expression| (expression, is_met(expression, &config.licenses.allow))) {
            None => complaints.push(format!("{name} {version} does not state its licence")),
            Some((_, Err(unread))) => complaints.push(format!("{name} {version}: {unread}")),
            Some((expression, Ok(false))) => {
                complaints.push(format!("{name} {version}: deny.toml does not allow `{expression}`"));
            }
            Some((_, Ok(true))) => {}
        }
        if let Some(elsewhere) = &package.elsewhere {
            complaints.push(format!("{name} {version} does not come from crates.io but from {elsewhere}"));
        }
    }
    complaints.extend(duplicates(packages, &config.bans.skip));
    complaints
}

/// Several versions of one package: all but one must be skipped with a reason, and no skip
/// may be unused.
fn duplicates(packages: &[Package], skips: &[Skip]) -> Vec<String> {
    let mut versions: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for package in packages {
        versions.entry(&package.name).or_default().push(&package.version);
    }
    versions.retain(|_, versions| versions.len() > 1);
    let matches = |skip: &Skip, name: &str, version: &str| {
        let cut = skip.spec.strip_prefix(name).and_then(|rest| rest.strip_prefix('@'));
        cut.and_then(|cut| version.strip_prefix(cut)).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    let mut complaints = Vec::new();
    for (name, versions) in &versions {
        let kept = versions.iter().filter(|version| !skips.iter().any(|skip| matches(skip, name, version)));
        let kept: Vec<&str> = kept.copied().collect();
        if kept.len() > 1 {
            let kept = kept.join(", ");
            complaints.push(format!("{name} is there in versions {kept}: skip one in deny.toml, or unite them"));
        }
    }
    for skip in skips {
        let mut all = versions.iter().flat_map(|(name, versions)| versions.iter().map(move |version| (name, version)));
        if !all.any(|(name, version)| matches(skip, name, version)) {
            complaints.push(format!("{} has no second version: drop its skip from deny.toml", skip.spec));
        }
        if skip.reason.is_empty() {
            complaints.push(format!("the skip of {} in deny.toml needs a reason", skip.spec));
        }
    }
    complaints
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(name: &str, version: &str, licence: &str) -> Package {
        let licence = (!licence.is_empty()).then(|| licence.to_owned());
        Package { name: name.to_owned(), version: version.to_owned(), licence, elsewhere: None }
    }

    fn check(packages: &[Package], skips: &[&str], expected: &[&str]) {
        let skip = |spec: &&str| Skip { spec: (*spec).to_owned(), reason: "why".to_owned() };
        let config = Config {
            graph: Graph { targets: Vec::new() },
            licenses: Licences { allow: vec!["MIT".to_owned()] },
            bans: Bans { skip: skips.iter().map(skip).collect() },
        };
        let complaints = complaints(packages, &config);
        assert_eq!(complaints.len(), expected.len(), "{complaints:?}");
        for (complaint, expected) in complaints.iter().zip(expected) {
            assert!(complaint.contains(expected), "{complaint:?} does not say {expected:?}");
        }
    }

    #[test]
    fn licences_and_sources_are_checked() {
        check(&[package("a", "1.0.0", "MIT")], &[], &[]);
        check(&[package("a", "1.0.0", "")], &[], &["a 1.0.0 does not state its licence"]);
        check(&[package("a", "1.0.0", "GPL-3.0")], &[], &["does not allow `GPL-3.0`"]);
        check(&[package("a", "1.0.0", "MIT MIT")], &[], &["not a licence expression"]);
        let elsewhere = Some("https://example.org/a".to_owned());
        check(&[Package { elsewhere, ..package("a", "1.0.0", "MIT") }], &[], &["but from https://example.org/a"]);
    }

    #[test]
    fn all_but_one_version_is_skipped_and_no_skip_is_idle() {
        let two = [package("a", "1.2.0", "MIT"), package("a", "1.20.0", "MIT")];
        check(&two, &[], &["a is there in versions 1.2.0, 1.20.0"]);
        check(&two, &["a@1.2"], &[]);
        check(&two, &["a@1.3"], &["a is there", "a@1.3 has no second version"]);
        check(&two[..1], &["a@1.2"], &["a@1.2 has no second version"]);
    }
}
