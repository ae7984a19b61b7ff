//! What is published: the packages, their interface beside that of the version before, the oldest compiler.
//!
//! Nothing here publishes. `cargo xtask release` says whether a person may.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::Failure;
use crate::metadata::{described, is_published};
use crate::run::{cargo, is_installed, output, run};
use crate::workspace::{Workspace, root};

/// The most bytes of a package, as it is sent: a fifth more than the sources of the library, which are 1,027 KiB. What is larger
/// holds data that its users do not need.
const LIMIT: u64 = 5 << 18;

/// What every package holds besides its sources.
const NEEDED: &[&str] = &["Cargo.toml", "README.md", "LICENSE-MIT", "LICENSE-APACHE"];

/// Folders of the repository that users of a package have no use for.
const UNWANTED: &[&str] = &["tests/", "benches/", "examples/", "data/"];

/// Packs what is published, without building it, and looks into the packages.
pub(crate) fn packages() -> Result<(), Failure> {
    let packages: Vec<Value> = described()?.into_iter().filter(is_published).collect();
    let text = |package: &Value, field: &str| package[field].as_str().unwrap_or_default().to_owned();
    let names: Vec<String> = packages.iter().map(|package| text(package, "name")).collect();
    let chosen = names.iter().flat_map(|name| ["--package", name]);
    // Offline: what the packages are built from has been fetched, and what is packed is what lies here.
    let flags = ["package", "--quiet", "--no-verify", "--allow-dirty", "--offline"];
    run(cargo(&flags).args(chosen))?;
    let mut wrong = Vec::new();
    for package in &packages {
        let (name, version) = (text(package, "name"), text(package, "version"));
        let files = output(&mut cargo(&[
            "package",
            "--list",
            "--no-metadata",
            "--allow-dirty",
            "--offline",
            "--package",
            &name,
        ]))?;
        let files: Vec<&str> = files.lines().collect();
        let size = fs::metadata(folder()?.join(format!("{name}-{version}.crate")))
            .map_err(|error| format!("cannot find the package of `{name}`: {error}"))?
            .len();
        println!("{name:<16} {:>4} files {:>5} KiB", files.len(), size.div_ceil(1024));
        let mut faults = misfits(&files, size);
        let manifest = text(package, "manifest_path");
        let folder_of = Path::new(&manifest).parent().unwrap_or(Path::new(""));
        for file in files.iter().filter(|file| file.ends_with(".rs")) {
            // What is packed lies in the repository too.
            let text = fs::read_to_string(folder_of.join(file)).unwrap_or_default();
            faults.extend(left_out(file, &text, &files));
        }
        faults.extend(other_licences(folder_of)?);
        wrong.extend(faults.iter().map(|fault| format!("the package `{name}` {fault}")));
    }
    if wrong.is_empty() { Ok(()) } else { Err(wrong.join("\n")) }
}

/// Where cargo puts packages.
fn folder() -> Result<std::path::PathBuf, Failure> {
    let text = output(&mut cargo(&["metadata", "--format-version", "1", "--no-deps"]))?;
    let metadata: Value = serde_json::from_str(&text).map_err(|error| format!("`cargo metadata`: {error}"))?;
    let target = metadata["target_directory"].as_str();
    let target = target.ok_or("`cargo metadata` does not print what it is documented to")?;
    Ok(Path::new(target).join("package"))
}

/// What a package of these files and bytes has too much and too little of.
fn misfits(files: &[&str], size: u64) -> Vec<String> {
    let mut misfits: Vec<String> =
        NEEDED.iter().filter(|name| !files.contains(name)).map(|name| format!("lacks `{name}`")).collect();
    let unwanted = files.iter().filter(|file| UNWANTED.iter().any(|folder| file.starts_with(folder)));
    misfits.extend(unwanted.map(|file| format!("holds `{file}`, which its users do not need")));
    if size > LIMIT {
        misfits.push(format!(
            "has {} KiB; the limit is {}. Files called `tests.rs` are left out: move long tests of a module into one",
            size.div_ceil(1024),
            LIMIT / 1024
        ));
    }
    misfits
}

/// The files that a packed source includes and that are not packed: with them it would not compile. Those outside of the
/// package are for the tests of its documentation, which run in the repository.
fn left_out(file: &str, text: &str, files: &[&str]) -> Vec<String> {
    let mut left_out = Vec::new();
    for after in text.split("include_str!(\"").skip(1) {
        let Some((path, _)) = after.split_once('"') else { continue };
        let mut place: Vec<&str> = file.split('/').collect();
        place.pop();
        let is_inside = path.split('/').all(|part| match part {
            ".." => place.pop().is_some(),
            part => {
                place.push(part);
                true
            }
        });
        let included = place.join("/");
        if is_inside && !files.contains(&included.as_str()) {
            left_out
                .push(format!("lacks `{included}`, which `{file}` includes: name it in `include` of its Cargo.toml"));
        }
    }
    left_out
}

/// A package has the licences of the repository: links to them, which some systems check out as files with a path inside.
fn other_licences(package: &Path) -> Result<Vec<String>, Failure> {
    let read = |path: &Path| fs::read(path).map_err(|error| format!("cannot read {}: {error}", path.display()));
    let mut other = Vec::new();
    for name in NEEDED.iter().filter(|name| name.starts_with("LICENSE")) {
        if read(&package.join(name))? != read(&root().join(name))? {
            other.push(format!("has another `{name}` than the repository"));
        }
    }
    Ok(other)
}

/// The library's interface beside that of the version before, by cargo-semver-checks, where both are there.
pub(crate) fn compatible() -> Result<(), Failure> {
    if !is_installed(cargo(&["semver-checks"])) {
        println!("cargo-semver-checks is not installed; the interface is not compared with the last version's");
        return Ok(());
    }
    let workspace = Workspace::load()?;
    let Some(version) = newest(workspace.text("CHANGELOG.md").unwrap_or_default()) else {
        println!("no version stands in CHANGELOG.md yet; there is no interface to compare with");
        return Ok(());
    };
    let tag = format!("v{version}");
    let mut known = Command::new("git");
    known.args(["rev-parse", "--quiet", "--verify", &format!("refs/tags/{tag}")]).current_dir(root());
    if output(&mut known).is_err() {
        println!("this checkout has no tag `{tag}`; there is no interface to compare with");
        return Ok(());
    }
    run(cargo(&["semver-checks", "--all-features", "--package", "wengert"]).args(["--baseline-rev", &tag]))
}

/// Builds with the oldest compiler that the manifests promise, if it is there and is not the one that runs everything else.
pub(crate) fn oldest() -> Result<(), Failure> {
    let packages = described()?;
    let oldest =
        packages.iter().find_map(|package| package["rust_version"].as_str()).ok_or("no package has a rust-version")?;
    let ours = output(Command::new("rustc").arg("--version").current_dir(root()))?;
    if is_release_of(&ours, oldest) {
        println!("this is Rust {oldest}, the oldest that is supported: every step tests it");
        return Ok(());
    }
    let toolchain = format!("+{oldest}");
    // The cargo that runs us is one toolchain's own, and knows no others; rustup's is in the path.
    let cargo_of = |arguments: &[&str]| {
        let mut command = Command::new("cargo");
        command.arg(&toolchain).args(arguments).current_dir(root()).env_remove("CARGO").env_remove("RUSTUP_TOOLCHAIN");
        command
    };
    if !is_installed(cargo_of(&[])) {
        println!(
            "Rust {oldest}, the oldest that is supported, is not installed (`rustup toolchain install {oldest}`); it is not tested"
        );
        return Ok(());
    }
    // A folder of its own, so that neither compiler throws away what the other has built.
    let mut check = cargo_of(&["check", "--workspace", "--all-features", "--target-dir", "target/oldest"]);
    run(&mut check)
}

/// Whether `rustc 1.95.0 (…)` is a release of Rust 1.95.
fn is_release_of(rustc: &str, version: &str) -> bool {
    let number = rustc.strip_prefix("rustc ").and_then(|rest| rest.split_whitespace().next()).unwrap_or_default();
    let rest = number.strip_prefix(version);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.')) && !number.contains('-')
}

/// Everything that has to hold before `cargo publish`; the list of what only a person can do is in CONTRIBUTING.md.
pub(crate) fn release() -> Result<(), Failure> {
    let workspace = Workspace::load()?;
    let changes = output(Command::new("git").args(["status", "--porcelain"]).current_dir(root()))?;
    let packages = described()?;
    let library =
        packages.iter().find(|package| package["name"] == "wengert").ok_or("there is no package `wengert`")?;
    let version = library["version"].as_str().unwrap_or_default();
    let unready = unready(
        version,
        library["repository"].as_str().unwrap_or_default(),
        workspace.text("CHANGELOG.md").unwrap_or_default(),
        &changes,
    );
    if !unready.is_empty() {
        return Err(unready.join("\n"));
    }
    compatible()?;
    self::packages()?;
    // Builds each package from what was packed of those before it, in order. Cargo keeps what it unpacked by the folder and
    // the version: in the folder of another commit it would build the packages of that one.
    let commit = output(Command::new("git").args(["rev-parse", "--short", "HEAD"]).current_dir(root()))?;
    let target = format!("target/publish-{}", commit.trim());
    run(&mut cargo(&["publish", "--workspace", "--dry-run", "--locked", "--target-dir", &target]))?;
    println!("ready: git tag v{version} && cargo publish --workspace --locked");
    Ok(())
}

/// What a person has to mend before this version is published.
fn unready(version: &str, repository: &str, changelog: &str, changes: &str) -> Vec<String> {
    let mut unready = Vec::new();
    if !changes.trim().is_empty() {
        unready.push("there are changes that are not committed: what is published is a commit".to_owned());
    }
    if !repository.starts_with("https://") {
        unready.push(
            "Cargo.toml has no `repository` in `[workspace.package]`: where the public finds the source".to_owned(),
        );
    }
    if newest(changelog) != Some(version) {
        unready
            .push(format!("CHANGELOG.md does not start with `## {version} - ` and the day, the version of Cargo.toml"));
    }
    let mut waiting = changelog.lines().skip_while(|line| line.trim_end() != "## Unreleased").skip(1);
    if waiting.by_ref().take_while(|line| !line.starts_with("## ")).any(|line| !line.trim().is_empty()) {
        unready.push("CHANGELOG.md has lines under `## Unreleased`: they belong to a version".to_owned());
    }
    unready
}

/// The newest version in the changelog: of `## 0.1.0 - 2026-11-25` the first word.
pub(crate) fn newest(changelog: &str) -> Option<&str> {
    let titles = changelog.lines().filter_map(|line| line.strip_prefix("## "));
    titles.filter_map(|title| title.split_once(" - ")).map(|(version, _)| version).next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_package_holds_what_is_needed_and_no_more() {
        let check = |files: &[&str], size: u64, parts: &[&str]| {
            let misfits = misfits(files, size);
            assert_eq!(misfits.len(), parts.len(), "{misfits:?}");
            assert!(misfits.iter().zip(parts).all(|(misfit, part)| misfit.contains(part)), "{misfits:?}");
        };
        let whole = ["Cargo.toml", "LICENSE-APACHE", "LICENSE-MIT", "README.md", "src/lib.rs"];
        check(&whole, LIMIT, &[]);
        check(&whole, LIMIT + 1, &["1281 KiB"]);
        check(&whole[..3], 0, &["README.md"]);
        check(&[&whole[..], &["tests/all/main.rs", "data/a.csv"]].concat(), 0, &["tests/all", "data/a.csv"]);
    }

    #[test]
    fn what_a_packed_file_includes_is_packed() {
        let files = ["src/lib.rs", "src/a/b.rs", "src/page.md"];
        let check = |file, text| left_out(file, text, &files);
        assert!(check("src/lib.rs", "#[doc = include_str!(\"page.md\")]").is_empty());
        assert!(check("src/a/b.rs", "include_str!(\"../page.md\")").is_empty());
        // Out of the package: for tests of the documentation.
        assert!(check("src/lib.rs", "include_str!(\"../../README.md\")").is_empty());
        let lacks = check("src/a/b.rs", "include_str!(\"c.md\") include_str!(\"../../guide.md\")");
        assert!(lacks.len() == 2 && lacks[0].contains("`src/a/c.md`") && lacks[1].contains("`guide.md`"), "{lacks:?}");
    }

    #[test]
    fn the_compiler_is_known_by_its_version() {
        assert!(is_release_of("rustc 1.95.0 (abc 2026-03-21)", "1.95"));
        assert!(is_release_of("rustc 1.95.1 (abc 2026-04-21)\n", "1.95"));
        assert!(!is_release_of("rustc 1.96.0 (abc 2026-05-01)", "1.95"));
        assert!(!is_release_of("rustc 1.950.0 (abc 2026-05-01)", "1.95"));
        assert!(!is_release_of("rustc 1.95.0-nightly (abc 2026-01-01)", "1.95"));
    }

    #[test]
    fn what_a_release_lacks_is_named() {
        let check = |version: &str, repository: &str, changelog: &str, changes: &str, parts: &[&str]| {
            let unready = unready(version, repository, changelog, changes);
            assert_eq!(unready.len(), parts.len(), "{unready:?}");
            assert!(unready.iter().zip(parts).all(|(lack, part)| lack.contains(part)), "{unready:?}");
        };
        let log = "# Changelog\n\n## Unreleased\n\n## 1.2.3 - 2026-01-02\n\n- A.\n\n## 1.2.2 - 2025-01-02\n";
        let place = "https://example.org/a";
        check("1.2.3", place, log, "", &[]);
        check("1.2.4", place, log, "", &["## 1.2.4 - "]);
        check("1.2.2", place, log, "", &["## 1.2.2 - "]);
        check("1.2.3", "", log, "", &["repository"]);
        check("1.2.3", place, log, " M a.rs\n", &["not committed"]);
        check("1.2.3", place, &log.replace("Unreleased\n", "Unreleased\n\n- B.\n"), "", &["belong to a version"]);
    }
}
