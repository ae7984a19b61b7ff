//! Generated pages: `docs/primitives.md`, from the doc comments of the operations.
//!
//! A family is an enum that the macro `family!` makes, one entry a line, under its doc comment; in brackets may stand how
//! people call it:
//!
//! ```text
//! /// Inverse tangent, in `[-pi/2, pi/2]`.
//! Atan = "atan" [atan, try_atan: (x) "inverse tangent"],
//! ```
//!
//! The page is read where no Rust tools are at hand; it says nothing that the comments do not.

use std::fmt::Write;

use crate::Failure;
use crate::workspace::Workspace;

/// Where the page of the elementwise operations stands.
pub(crate) const PRIMITIVES: &str = "docs/primitives.md";

const OPS: &str = "crates/wengert/src/ops";

const ELEMENTWISE_LOGIC: &str = "crates/wengert/src/ops/logic.rs";
const PRIMITIVES_FOLDER: &str = "crates/wengert/src/primitives/";

/// The heading of the table of conventions, in the module documentation of `ops`.
const CONVENTIONS: &str = "# Conventions";

/// An enum of elementwise operations.
#[derive(Debug, PartialEq)]
struct Family {
    name: String,
    about: String,
    operations: Vec<Operation>,
}

#[derive(Debug, PartialEq)]
struct Operation {
    /// The variant, with its number if it carries one: `Powi(n: i32)`.
    variant: String,
    /// The name that messages and listings print.
    name: String,
    about: String,
}

/// The text of `docs/primitives.md`.
pub(crate) fn primitives(workspace: &Workspace) -> Result<String, Failure> {
    let read = |file: &str| {
        let path = format!("{OPS}/{file}.rs");
        let text = workspace.text(&path).ok_or(format!("{path} is not there"))?;
        Ok::<_, Failure>((path, text))
    };
    let mut page = "<!-- Generated from the doc comments in crates/wengert/src/ops and primitives by `cargo xtask \
                    codegen`. -->\n\n# The elementwise operations\n"
        .to_owned();
    for file in ["unary", "binary", "compare"] {
        let (path, text) = read(file)?;
        let family = family(text).map_err(|why| format!("{path}: {why}"))?;
        write_family(&mut page, &family);
    }
    let (path, text) = read("mod")?;
    let conventions = conventions(text).ok_or(format!("{path} has no heading `{CONVENTIONS}`"))?;
    page.push_str(&conventions);
    page.push_str("\n# The operations on arrays\n");
    for name in array_operations(workspace)? {
        let about = array_operation(workspace, &name).ok_or(format!("`{name}` has no documented struct or enum"))?;
        write!(page, "\n## `{name}`\n\n{}\n", prose(&about)).expect("a String takes all");
    }
    Ok(page)
}

/// The structured operations in the order of the list in `primitives/mod.rs`; the elementwise
/// families have their tables.
fn array_operations(workspace: &Workspace) -> Result<Vec<String>, Failure> {
    let path = format!("{PRIMITIVES_FOLDER}mod.rs");
    let text = workspace.text(&path).ok_or(format!("{path} is not there"))?;
    let list = text.split_once("\noperations! {\n").ok_or(format!("{path} has no `operations!`"))?.1;
    let lines = list.lines().take_while(|line| *line != "}");
    let names = lines.filter_map(|line| line.trim().split_once('(').filter(|_| !line.trim().starts_with("//")));
    let names = names.map(|(name, _)| name.to_owned());
    Ok(names.filter(|name| !["Unary", "Binary", "Compare"].contains(&name.as_str())).collect())
}

/// The doc comment of the struct or enum of an operation, without its examples. Those of functions of single elements may
/// stand with these functions.
fn array_operation(workspace: &Workspace, name: &str) -> Option<String> {
    let is_there = |path: &str| path.starts_with(PRIMITIVES_FOLDER) || path == ELEMENTWISE_LOGIC;
    let files = workspace.files.iter().filter(|file| is_there(&file.path));
    files.map(|file| file.text.as_str()).find_map(|text| doc_comment(text, name))
}

fn doc_comment(text: &str, name: &str) -> Option<String> {
    let mut comment: Vec<&str> = Vec::new();
    for line in text.lines() {
        if let Some(doc) = line.strip_prefix("///") {
            comment.push(doc.strip_prefix(' ').unwrap_or(doc));
            continue;
        }
        let head = line.strip_prefix("pub struct ").or_else(|| line.strip_prefix("pub enum "));
        let is_it = head.is_some_and(|head| head.split(|c: char| !c.is_alphanumeric()).next() == Some(name));
        if is_it && !comment.is_empty() {
            let about: Vec<&str> = comment.into_iter().take_while(|line| !line.starts_with("```")).collect();
            return Some(about.join("\n").trim_end().to_owned());
        }
        if !line.starts_with("#[") {
            comment.clear();
        }
    }
    None
}

fn write_family(page: &mut String, family: &Family) {
    let about = prose(&family.about);
    write!(page, "\n## `{}`\n\n{about}\n\n| name | in Rust | meaning |\n|---|---|---|\n", family.name)
        .expect("a String takes all");
    for Operation { variant, name, about } in &family.operations {
        // In a table a bar ends the cell, also between backquotes.
        let about = prose(about).replace('\n', " ").replace('|', "\\|");
        writeln!(page, "| `{name}` | `{}::{variant}` | {about} |", family.name).expect("a String takes all");
    }
}

/// What stands before the head of the enum: in a list that is handed to several macros, and in the call of the one.
const HEADS: [&str; 2] = ["{ $($first)*\n", "super::family! {\n"];

/// The family whose list stands in `text`, or why it cannot be read.
fn family(text: &str) -> Result<Family, String> {
    let body = HEADS.iter().find_map(|head| text.split_once(head)).ok_or("there is no list of a family")?.1;
    let mut comment = Vec::new();
    let mut family: Option<Family> = None;
    let mut lines = body.lines();
    while let Some(line) = lines.next() {
        let line = line.trim();
        if let Some(doc) = line.strip_prefix("///") {
            comment.push(doc.strip_prefix(' ').unwrap_or(doc));
            continue;
        }
        let about = std::mem::take(&mut comment).join("\n");
        match &mut family {
            None => {
                let name = line.strip_prefix("pub enum ").and_then(|rest| rest.split_whitespace().next());
                let name = name.ok_or(format!("`{line}` is not the head of an enum"))?.to_owned();
                family = Some(Family { name, about, operations: Vec::new() });
            }
            // The end of the enum, and behind it the rules.
            Some(_) if line == "}" => break,
            Some(family) => {
                family.operations.push(operation(line, about)?);
                if line.ends_with('[') {
                    // What is in brackets has lines of its own.
                    lines.by_ref().find(|line| line.trim() == "],").ok_or(format!("`{line}` does not end"))?;
                }
            }
        }
    }
    family.filter(|family| !family.operations.is_empty()).ok_or("the family is empty".to_owned())
}

/// Reads `Variant = "name",` or `Variant(n: i32 = 3) = "name" […],`.
fn operation(line: &str, about: String) -> Result<Operation, String> {
    let parts = line.split_once(" = \"").and_then(|(variant, rest)| Some((variant, rest.split_once('"')?)));
    let whole = parts.filter(|(_, (_, called))| *called == "," || called.starts_with(" ["));
    let (variant, (name, _)) = whole.ok_or(format!("`{line}` is not an operation"))?;
    if about.is_empty() {
        return Err(format!("`{variant}` has no doc comment"));
    }
    // Without the sample that the number is listed with.
    let variant = match variant.split_once(" = ") {
        Some((declared, _sample)) => format!("{declared})"),
        None => variant.to_owned(),
    };
    Ok(Operation { variant, name: name.to_owned(), about })
}

/// The section of conventions in the module documentation, one level deeper.
fn conventions(text: &str) -> Option<String> {
    let docs = text.lines().map_while(|line| line.strip_prefix("//!"));
    let lines: Vec<&str> = docs.map(|line| line.strip_prefix(' ').unwrap_or(line)).collect();
    let start = lines.iter().position(|line| line.starts_with(CONVENTIONS))?;
    let end = lines[start + 1..].iter().position(|line| line.starts_with("# ")).map(|length| start + 1 + length);
    let section = lines[start..end.unwrap_or(lines.len())].join("\n");
    Some(format!("\n#{}\n", prose(section.trim_end())))
}

/// A doc comment outside Rust: a link to an item is left as the words it stands on.
fn prose(comment: &str) -> String {
    let mut text = String::new();
    let mut rest = comment;
    while let Some((before, link)) = rest.split_once('[') {
        text.push_str(before);
        // An interval such as `[-1, 1]` stands in backquotes; a link stands outside them.
        let in_code = text.matches('`').count() % 2 == 1;
        match link.split_once(']') {
            Some((words, after)) if !in_code => {
                text.push_str(words);
                let target = after.strip_prefix('(').and_then(|after| after.split_once(')'));
                match target {
                    Some((target, after)) if target.contains("::") => rest = after,
                    Some((target, after)) => {
                        let start = text.len() - words.len();
                        text.replace_range(start.., &format!("[{words}]({target})"));
                        rest = after;
                    }
                    None => rest = after,
                }
            }
            _ => {
                text.push('[');
                rest = link;
            }
        }
    }
    text + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    const FAMILY: &str = "
use crate::special;

super::family! {
    /// Functions of one argument.
    ///
    /// See the [table](crate::ops).
    pub enum Unary (Code) {
        /// `|x|`; derivative `sign(x)`,
        /// 0 at 0.
        Abs = \"abs\",
        /// Derivative of [`Unary::Abs`], in `[-1, 1]`.
        Sign = \"sign\" [sign, try_sign: (x) \"1 or -1\"],
        /// `e^x`
        Exp = \"exp\" [
            exp, try_exp:
            (x) \"the exponential\"
        ],
        /// `x^n`
        Powi(n: i32 = 3) = \"powi\",
    }
}

impl Unary {}
";

    #[test]
    fn a_family_becomes_a_table() {
        let mut page = String::new();
        write_family(&mut page, &family(FAMILY).unwrap());
        let expected = "
## `Unary`

Functions of one argument.

See the table.

| name | in Rust | meaning |
|---|---|---|
| `abs` | `Unary::Abs` | `\\|x\\|`; derivative `sign(x)`, 0 at 0. |
| `sign` | `Unary::Sign` | Derivative of `Unary::Abs`, in `[-1, 1]`. |
| `exp` | `Unary::Exp` | `e^x` |
| `powi` | `Unary::Powi(n: i32)` | `x^n` |
";
        assert_eq!(page, expected);
    }

    #[test]
    fn the_comment_of_an_operation_is_found_without_its_example() {
        let text = "/// Other.\npub struct Sorted;\n\n/// The order.\n///\n/// ```\n/// x\n/// ```\n#[derive(Clone)]\n\
                    pub struct Sort {\n";
        assert_eq!(doc_comment(text, "Sort").as_deref(), Some("The order."));
        assert_eq!(doc_comment(text, "Sorting"), None);
    }

    #[test]
    fn what_cannot_be_read_is_an_error() {
        let check = |from: &str, to: &str, expected: &str| {
            let why = family(&FAMILY.replace(from, to)).unwrap_err();
            assert!(why.contains(expected), "{why}");
        };
        check("super::family!", "family", "no list of a family");
        check("        ],\n", "", "does not end");
        check("/// `x^n`", "", "is not an operation");
        check("        /// `x^n`\n", "", "`Powi(n: i32 = 3)` has no doc comment");
        check("pub enum", "enum", "not the head of an enum");
    }

    #[test]
    fn links_to_pages_stay_and_links_to_items_go() {
        assert_eq!(prose("[a page](https://example.org) and [`f`](crate::f) on `[0, 1]`, see [`g`]."), {
            "[a page](https://example.org) and `f` on `[0, 1]`, see `g`."
        });
    }

    #[test]
    fn the_conventions_end_with_their_section() {
        let text = "//! Operations.\n//!\n//! # Conventions at kinks\n//!\n//! | a |\n//!\n//! # Next\n\nmod unary;\n";
        assert_eq!(conventions(text).unwrap(), "\n## Conventions at kinks\n\n| a |\n");
        assert_eq!(conventions("//! Operations.\n"), None);
    }
}
