//! The order of the library's modules.

use std::collections::BTreeMap;

use proc_macro2::{Delimiter, TokenTree};

use super::Finding;
use super::tokens::{attribute, inside, is_sign, is_word, line, tokens};
use crate::Failure;
use crate::workspace::{Source, Workspace};

pub(crate) const LIBRARY: &str = "crates/wengert/src/";

/// The modules of the library, lowest first; this list is the one place that says so. A module may
/// use the modules before it. Those on one line are written in terms of each other.
const ORDER: &[&[&str]] = &[
    // A hash function, and the threads that all share.
    &["hash", "threads"],
    // A derivative is written once over `Real`, and `Real` has a method for every operation.
    &["ops", "number", "real"],
    // Carriers.
    &["lanes"],
    &["dual"],
    &["rounded"],
    &["series"],
    &["tape"],
    // Which derivative a driver asks for, and what is computed from a scalar recording.
    &["task"],
    &["algorithm"],
    // What is computed from it again and again.
    &["straight"],
    // Numbers in a shape, and what a user can do wrong with them.
    &["error", "array"],
    // The Program and its operations: a Program lists operations, an operation may hold Programs, and its derivative is
    // that of theirs.
    &["program", "primitives", "transform"],
    &["optimize"],
    &["plan"],
    &["execute"],
    // Arrays of a recording, which is transformed, planned and run when it is closed.
    &["tensor"],
    &["blocks"],
    // A tree has leaves of one kind, and a kind of leaf can do what drivers do with trees of it.
    &["tree", "leaf"],
    // Loops over numbers: recorded on the tape, run as straight-line code, with the structures of trees.
    &["loops"],
    &["scalar"],
    &["lifted"],
    // What each kind of leaf does.
    &["drive"],
    // Trees as vectors.
    &["algebra"],
    &["taylor"],
    // What the user calls: the drivers, and what is built on them.
    &["api"],
    &["control"],
    &["functional"],
    // Points that are known by equations.
    &["implicit"],
    // Differential equations.
    &["ode"],
    &["compile"],
    &["rules"],
    &["record"],
    // Sparse derivatives: they ask recorded and compiled functions for products with seeds.
    &["sparsity"],
    &["diagnose"],
    &["check"],
    // What is made of tensors and drivers alone.
    &["complex"],
    &["signal"],
    &["nn"],
    &["linalg"],
    &["fallible"],
    &["sparse"],
    &["optim"],
    // Trees in files.
    &["files"],
    // Pages.
    &["guide"],
    // Traits of other libraries.
    &["interop"],
];

/// No module uses one that stands behind it in [`ORDER`], and the order names every module.
/// Tests may use all.
pub(super) fn modules_in_order(workspace: &Workspace) -> Result<Vec<Finding>, Failure> {
    in_order(workspace, ORDER)
}

fn in_order(workspace: &Workspace, order: &[&[&str]]) -> Result<Vec<Finding>, Failure> {
    let rank = |module: &str| order.iter().position(|equals| equals.contains(&module));
    let mut findings = Vec::new();
    let mut seen = Vec::new();
    let offered = offered(workspace, &mut findings);
    for file in workspace.files.iter().filter(|file| file.path.starts_with(LIBRARY) && file.path.ends_with(".rs")) {
        let Some((module, depth)) = place(&file.path) else { continue };
        seen.push(module);
        let Some(own) = rank(module) else {
            findings.push(Finding::new(&file.path, 0, format!("the order of modules does not name `{module}`")));
            continue;
        };
        for Name { name, line } in uses(file, depth, &mut findings) {
            let used = offered.get(&name).unwrap_or(&name);
            let what = match rank(used) {
                Some(other) if other <= own => continue,
                Some(_) => format!("`{module}` uses `{used}`, which stands behind it in the order of modules"),
                None => format!("`{name}` is in no module that the order names"),
            };
            findings.push(Finding::new(&file.path, line, what));
        }
    }
    for name in order.iter().copied().flatten().filter(|name| !seen.contains(name)) {
        findings.push(Finding::new(LIBRARY, 0, format!("the order of modules names `{name}`, which is not there")));
    }
    Ok(findings)
}

/// A use of one module of the library by another.
pub(crate) struct Use {
    pub(crate) path: String,
    pub(crate) line: usize,
    pub(crate) module: String,
    pub(crate) used: String,
}

/// Every use of a module by another one, outside of tests.
pub(crate) fn module_uses(workspace: &Workspace) -> Vec<Use> {
    let offered = offered(workspace, &mut Vec::new());
    let mut uses = Vec::new();
    for file in workspace.files.iter().filter(|file| file.path.starts_with(LIBRARY) && file.path.ends_with(".rs")) {
        let Some((module, depth)) = place(&file.path) else { continue };
        for Name { name, line } in self::uses(file, depth, &mut Vec::new()) {
            let used = offered.get(&name).unwrap_or(&name).clone();
            if used != module {
                uses.push(Use { path: file.path.clone(), line, module: module.to_owned(), used });
            }
        }
    }
    uses
}

/// The module of a file and how deep it is; `None` for the root, which gathers what all modules offer, and for tests,
/// which may use it.
fn place(path: &str) -> Option<(&str, usize)> {
    let parts: Vec<&str> = path[LIBRARY.len()..].trim_end_matches(".rs").split('/').collect();
    let depth = if parts.last() == Some(&"mod") { parts.len() - 1 } else { parts.len() };
    (parts[0] != "lib" && !parts.contains(&"tests")).then_some((parts[0], depth))
}

/// A name in a path, and where it stands.
struct Name {
    name: String,
    line: usize,
}

/// The tokens of a file; a file without any is a finding.
fn read(file: &Source, findings: &mut Vec<Finding>) -> Vec<TokenTree> {
    tokens(file).unwrap_or_else(|finding| {
        findings.push(finding);
        Vec::new()
    })
}

/// The names that the root of the library offers, each with its module: `pub use module::{name, …}`.
fn offered(workspace: &Workspace, findings: &mut Vec<Finding>) -> BTreeMap<String, String> {
    let mut offered = BTreeMap::new();
    for file in workspace.files.iter().filter(|file| file.path == format!("{LIBRARY}lib.rs")) {
        let tokens = read(file, findings);
        for start in 0..tokens.len() {
            let [public, keyword, TokenTree::Ident(module), _, _, path @ ..] = &tokens[start..] else { continue };
            if is_word(Some(public), "pub") && is_word(Some(keyword), "use") {
                let mut names = Vec::new();
                heads(path, &mut names);
                offered.extend(names.into_iter().map(|name| (name.name, module.to_string())));
            }
        }
    }
    offered
}

/// What a file uses from the root of the crate: `crate::name`, or as many `super` as it is deep.
fn uses(file: &Source, depth: usize, findings: &mut Vec<Finding>) -> Vec<Name> {
    let mut used = Vec::new();
    collect(&read(file, findings), depth, &mut used);
    used
}

fn collect(tokens: &[TokenTree], depth: usize, used: &mut Vec<Name>) {
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        if attribute(&tokens[at..]).is_some_and(|attribute| is_test(&attribute)) {
            at += item_length(&tokens[at..]);
            continue;
        }
        if let Some(rest) = from_root(&tokens[at..], depth) {
            heads(rest, used);
        }
        if let TokenTree::Group(group) = token {
            // `mod name { … }` is one deeper.
            let is_module = at >= 2 && is_word(tokens.get(at - 2), "mod") && group.delimiter() == Delimiter::Brace;
            collect(&inside(group), depth + usize::from(is_module), used);
        }
        at += 1;
    }
}

/// `cfg(test)`.
pub(crate) fn is_test(attribute: &[TokenTree]) -> bool {
    let condition = match attribute {
        [word, TokenTree::Group(group)] if is_word(Some(word), "cfg") => inside(group),
        _ => return false,
    };
    condition.len() == 1 && is_word(condition.first(), "test")
}

/// How many tokens the item takes that starts here, with its attributes: up to `;` or a body.
pub(crate) fn item_length(tokens: &[TokenTree]) -> usize {
    let ends = |token: &TokenTree| match token {
        TokenTree::Group(group) => group.delimiter() == Delimiter::Brace,
        token => is_sign(Some(token), ';'),
    };
    tokens.iter().position(ends).map_or(tokens.len(), |end| end + 1)
}

/// What follows `crate::`, or the `super::` that lead to the root, if that is what starts here.
fn from_root(tokens: &[TokenTree], depth: usize) -> Option<&[TokenTree]> {
    let after = |tokens: &[TokenTree]| is_sign(tokens.get(1), ':') && is_sign(tokens.get(2), ':');
    let (word, times) = if is_word(tokens.first(), "crate") { ("crate", 1) } else { ("super", depth) };
    let mut rest = tokens;
    for _ in 0..times {
        if !is_word(rest.first(), word) || !after(rest) {
            return None;
        }
        rest = &rest[3..];
    }
    Some(rest)
}

/// The name at the start of a path, or of every path in a list `{a::b, c}`.
fn heads(path: &[TokenTree], names: &mut Vec<Name>) {
    match path.first() {
        Some(TokenTree::Group(group)) => {
            inside(group).split(|token| is_sign(Some(token), ',')).for_each(|path| heads(path, names));
        }
        Some(token) => names.push(Name { name: token.to_string(), line: line(token) }),
        None => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOW: &str = "crates/wengert/src/low.rs";
    const HIGH: &str = "crates/wengert/src/high/inner.rs";

    fn check(files: &[(&str, &str)], expected: &[(&str, &str)]) {
        let check = |workspace: &Workspace| in_order(workspace, &[&["low"], &["left", "right"], &["high"]]);
        let stems = ["low", "left", "right", "high"].map(|stem| format!("{LIBRARY}{stem}.rs"));
        let mut all: Vec<(&str, &str)> = files.to_vec();
        for stem in &stems {
            if !files.iter().any(|(path, _)| path == stem) {
                all.push((stem, ""));
            }
        }
        super::super::check(check, &all, expected);
    }

    #[test]
    fn downwards_and_beside_are_fine() {
        check(&[(HIGH, "use crate::low::f;\nuse super::own;\nuse super::super::left;")], &[]);
        check(&[("crates/wengert/src/left.rs", "use crate::right::f;")], &[]);
        check(&[("crates/wengert/src/right.rs", "use crate::{left::f, low};")], &[]);
    }

    #[test]
    fn upwards_is_refused_however_it_is_written() {
        for text in ["use crate::high::f;", "use crate::{high};", "use super::high;", "fn f() { crate::high::g() }"] {
            check(&[(LOW, text)], &[("crates/wengert/src/low.rs:1", "`low` uses `high`")]);
        }
        check(
            &[(LOW, "\nmod m {\n use super::super::left; }")],
            &[("crates/wengert/src/low.rs:3", "`low` uses `left`")],
        );
        check(&[(LOW, "macro_rules! m { () => { $crate::high::f() } }")], &[("crates/wengert/src/low.rs:1", "`high`")]);
    }

    #[test]
    fn comments_strings_and_tests_do_not_count() {
        check(&[(LOW, "/// [f](crate::high::f)\n// use crate::high;\nconst S: &str = \"crate::high\";")], &[]);
        check(&[(LOW, "#[cfg(test)]\nmod tests {\n    use crate::high::f;\n}")], &[]);
        check(
            &[(LOW, "#[cfg(test)]\nuse crate::high::f;\nuse crate::high::g;")],
            &[("crates/wengert/src/low.rs:3", "`high`")],
        );
        check(&[(LOW, "#[cfg(not(test))]\nuse crate::high::f;")], &[("crates/wengert/src/low.rs:2", "`high`")]);
        check(&[("crates/wengert/src/low/tests.rs", "use crate::high::f;")], &[]);
    }

    #[test]
    fn a_name_of_the_root_stands_for_its_module() {
        let root = ("crates/wengert/src/lib.rs", "mod high;\npub use low::f;\npub use high::{g, h};");
        check(&[root, (HIGH, "use crate::{f, g};")], &[]);
        check(&[root, (LOW, "use crate::{f,\n h};")], &[("crates/wengert/src/low.rs:2", "`low` uses `high`")]);
    }

    #[test]
    fn the_order_names_every_module_and_no_other() {
        check(&[("crates/wengert/src/new.rs", "")], &[("crates/wengert/src/new.rs", "does not name `new`")]);
        check(&[(HIGH, "use crate::f;")], &[("crates/wengert/src/high/inner.rs:1", "`f` is in no module")]);
        let check = |workspace: &Workspace| in_order(workspace, &[&["low"], &["gone"]]);
        super::super::check(check, &[(LOW, "")], &[("crates/wengert/src/", "names `gone`")]);
    }
}
