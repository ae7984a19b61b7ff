//! `cargo xtask house [FOLDER]`: figures about how the library is built, to compare before and after a change.
//!
//! It reads this repository, or a checkout of another commit in a folder, and judges it by that one's own order of modules.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::Path;

use proc_macro2::{Delimiter, TokenTree};

use crate::Failure;
use crate::tidy::order::{LIBRARY, is_test, item_length, module_uses};
use crate::tidy::tokens::{attribute, inside, is_sign, is_word, line, tokens};
use crate::workspace::{Source, Workspace, root};

/// Where the order of modules stands.
const ORDER: &str = "xtask/src/tidy/order.rs";

/// The crates whose types are listed.
const CRATES: &[&str] = &["crates/wengert/src/", "crates/kernels/src/", "crates/cli/src/", "crates/gradbench/src/"];

/// The drivers, each with the names of the functions that are it.
const DRIVERS: &[(&str, &[&str])] = &[
    ("gradient", &["grad", "gradient", "value_and_grad"]),
    ("jvp", &["jvp"]),
    ("vjp", &["vjp"]),
    ("jacobian", &["jacobian"]),
    ("hessian", &["hessian"]),
    ("hvp", &["hvp"]),
];

/// Prints the figures of the repository in this folder, or of this one.
pub(crate) fn house(folder: Option<&str>) -> Result<(), Failure> {
    let workspace = Workspace::read(&folder.map_or_else(root, |folder| Path::new(folder).to_owned()))?;
    print!("{}", report(&workspace)?);
    Ok(())
}

fn report(workspace: &Workspace) -> Result<String, Failure> {
    let order = order(workspace.text(ORDER).ok_or(format!("{ORDER} is not there"))?);
    let mut files: Vec<Checked> = workspace.files.iter().filter_map(Checked::of).collect();
    files.sort_by_key(|file| file.path);
    let mut text = String::new();
    ranks(&mut text, workspace, &order, &files);
    let (lines, code) = library(&files);
    let _ =
        writeln!(text, "\n# Lines of the library\n\n{lines} without tests, {code} of them neither blank nor comments");
    for folder in CRATES {
        shared_names(&mut text, folder, &files);
    }
    drivers(&mut text, &files);
    Ok(text)
}

/// A Rust file outside of tests.
struct Checked<'a> {
    path: &'a str,
    text: &'a str,
    tokens: Vec<TokenTree>,
    /// The lines of the items that are compiled for tests alone.
    tests: BTreeSet<usize>,
}

impl<'a> Checked<'a> {
    /// The file, if it is one of a crate's sources and none of its tests.
    fn of(file: &'a Source) -> Option<Self> {
        let folder = CRATES.iter().find(|folder| file.path.starts_with(**folder))?;
        let mut parts = file.path[folder.len()..].trim_end_matches(".rs").split('/');
        if !file.path.ends_with(".rs") || parts.any(|part| part == "tests") {
            return None;
        }
        let tokens = tokens(file).ok()?;
        let mut tests = BTreeSet::new();
        tested(&tokens, &mut tests);
        Some(Checked { path: &file.path, text: &file.text, tokens, tests })
    }
}

/// The lines of items under `cfg(test)`, inside groups too.
fn tested(tokens: &[TokenTree], lines: &mut BTreeSet<usize>) {
    let mut at = 0;
    while at < tokens.len() {
        if attribute(&tokens[at..]).is_some_and(|attribute| is_test(&attribute)) {
            let length = item_length(&tokens[at..]);
            let last = &tokens[at + length - 1];
            lines.extend(line(&tokens[at])..=last.span().end().line);
            at += length;
            continue;
        }
        if let TokenTree::Group(group) = &tokens[at] {
            tested(&inside(group), lines);
        }
        at += 1;
    }
}

/// The ranks in the text of the file that states them: `const ORDER: … = &[&["a"], &["b", "c"]];`.
fn order(text: &str) -> Vec<Vec<String>> {
    let list = text.split_once("const ORDER").map_or("", |(_, rest)| rest.split("];\n").next().unwrap_or(rest));
    let ranks = list.lines().filter_map(|line| line.trim().strip_prefix("&[\""));
    ranks.map(|rank| rank.split('"').step_by(2).map(str::to_owned).collect()).collect()
}

/// How many lines each rank has, and the uses that go up in it.
fn ranks(text: &mut String, workspace: &Workspace, order: &[Vec<String>], files: &[Checked]) {
    let place = |module: &str| order.iter().flatten().position(|name| name == module);
    let all = library(files).0.max(1);
    text.push_str("# Ranks of modules, lowest first\n\n");
    for rank in order {
        let is_own = |file: &&Checked| rank.iter().any(|module| in_module(file.path, module));
        let lines: usize = files.iter().filter(is_own).map(|file| count(file).0).sum();
        let _ = writeln!(text, "{:6} {:3}%  {}", lines, 100 * lines / all, rank.join(", "));
    }
    let uses = module_uses(workspace);
    let up: Vec<_> = uses.iter().filter(|used| place(&used.module) < place(&used.used)).collect();
    let _ = writeln!(text, "\n{} uses of a module that stands behind, in its rank or above:", up.len());
    for used in up {
        let _ = writeln!(text, "  {}:{}: `{}` uses `{}`", used.path, used.line, used.module, used.used);
    }
}

fn in_module(path: &str, module: &str) -> bool {
    let rest = path.strip_prefix(LIBRARY).and_then(|path| path.strip_prefix(module));
    rest.is_some_and(|rest| rest == ".rs" || rest.starts_with('/'))
}

/// The lines of a file outside of tests, and those that are neither blank nor comments.
fn count(file: &Checked) -> (usize, usize) {
    let own = file.text.lines().enumerate().filter(|(at, _)| !file.tests.contains(&(at + 1)));
    let is_code = |line: &str| !line.trim().is_empty() && !line.trim_start().starts_with("//");
    own.fold((0, 0), |(lines, code), (_, line)| (lines + 1, code + usize::from(is_code(line))))
}

fn library(files: &[Checked]) -> (usize, usize) {
    let own = files.iter().filter(|file| file.path.starts_with(LIBRARY)).map(count);
    own.fold((0, 0), |sum, (lines, code)| (sum.0 + lines, sum.1 + code))
}

/// The types of a crate that have a name with others, and where they stand.
fn shared_names(text: &mut String, folder: &str, files: &[Checked]) {
    let mut types: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for file in files.iter().filter(|file| file.path.starts_with(folder)) {
        let mut named = |kind: &str, name: String, line: usize| {
            types.entry(name).or_default().push(format!("{kind} {}:{line}", &file.path[folder.len()..]));
        };
        items(&file.tokens, file, &mut named);
    }
    let total: usize = types.values().map(Vec::len).sum();
    types.retain(|_, places| places.len() > 1);
    let _ = writeln!(text, "\n# Types of {folder} that share a name: {} names of {total} types\n", types.len());
    for (name, places) in types {
        let _ = writeln!(text, "{} {name}: {}", places.len(), places.join(", "));
    }
}

/// Visits the types of a module: those at its top, in modules inside of it, and in calls of macros.
fn items(tokens: &[TokenTree], file: &Checked, visit: &mut impl FnMut(&str, String, usize)) {
    for (at, token) in tokens.iter().enumerate() {
        match (token, tokens.get(at + 1)) {
            (TokenTree::Ident(kind), Some(TokenTree::Ident(name)))
                if ["struct", "enum", "trait", "type", "union"].iter().any(|word| kind == word)
                    && !file.tests.contains(&line(token)) =>
            {
                visit(&kind.to_string(), name.to_string(), line(token));
            }
            (TokenTree::Group(group), _) if group.delimiter() == Delimiter::Brace && at >= 2 => {
                let is_module = is_word(tokens.get(at - 2), "mod");
                let is_call = is_sign(tokens.get(at - 1), '!');
                if is_module || is_call {
                    items(&inside(group), file, visit);
                }
            }
            _ => {}
        }
    }
}

/// The files in which each driver is defined; the rules of operations have functions of these names too, and are left out.
fn drivers(text: &mut String, files: &[Checked]) {
    text.push_str("\n# Files that define a driver (`primitives/` left out)\n\n");
    let is_library = |file: &Checked| file.path.starts_with(LIBRARY) && !in_module(file.path, "primitives");
    for (driver, names) in DRIVERS {
        let own = files.iter().filter(|file| is_library(file) && defines(&file.tokens, file, names));
        let paths: Vec<&str> = own.map(|file| &file.path[LIBRARY.len()..]).collect();
        let _ = writeln!(text, "{:2} {driver}: {}", paths.len(), paths.join(", "));
    }
}

/// Whether there is a function of one of these names, inside groups too.
fn defines(tokens: &[TokenTree], file: &Checked, names: &[&str]) -> bool {
    let is_one = |name: &TokenTree| names.iter().any(|word| is_word(Some(name), word));
    tokens
        .windows(2)
        .any(|pair| is_word(pair.first(), "fn") && is_one(&pair[1]) && !file.tests.contains(&line(&pair[1])))
        || tokens.iter().any(|token| match token {
            TokenTree::Group(group) => defines(&inside(group), file, names),
            _ => false,
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    const STATED: &str = "const ORDER: &[&[&str]] = &[\n    // Low.\n    &[\"low\", \"side\"],\n    &[\"high\"],\n];\n";

    #[test]
    fn figures_are_those_of_the_files() {
        let low = "use crate::high::F;\npub struct Key;\nmod m { enum Key {} }\nimpl X { type Key = (); }\n\n// no code\n\
                   #[cfg(test)]\nmod tests {\n    use crate::high::G;\n    struct Key;\n    fn jvp() {}\n}\n";
        let side = "macro! { pub enum Key { A } }\npub trait One { fn jvp(&self) {} }\n";
        let high = "use crate::low::Key;\nfn jvp() {}\nfn vjp_all() {}\n";
        let files = [
            (ORDER, STATED),
            ("crates/wengert/src/low.rs", low),
            ("crates/wengert/src/side/mod.rs", side),
            ("crates/wengert/src/high.rs", high),
            ("crates/wengert/src/high/tests.rs", "struct Key;\n"),
        ];
        let text = report(&Workspace::of(&files)).unwrap();
        assert!(text.contains("     8  72%  low, side\n     3  27%  high\n"), "{text}");
        assert!(text.contains("1 uses of a module that stands behind"), "{text}");
        assert!(text.contains("  crates/wengert/src/low.rs:1: `low` uses `high`\n"), "{text}");
        assert!(text.contains("11 without tests, 9 of them"), "{text}");
        let keys = "3 Key: struct low.rs:2, enum low.rs:3, enum side/mod.rs:1\n";
        assert!(text.contains("1 names of 4 types") && text.contains(keys), "{text}");
        assert!(text.contains(" 2 jvp: high.rs, side/mod.rs\n") && text.contains(" 0 vjp: \n"), "{text}");
    }
}
