//! Examples: what people call has one.

use proc_macro2::{Delimiter, TokenTree};

use super::Finding;
use super::tokens::{attribute, inside, is_sign, is_word, line, tokens};
use crate::Failure;
use crate::workspace::{Source, Workspace};

/// Where every public function has an example.
const SHOWN: &[&str] = &["tensor", "nn", "optim", "linalg", "signal"];

/// The languages of examples that run.
const RUN: &[&str] = &["", "rust", "should_panic"];

/// Every public function of tensors, models and optimisers has an example that runs. Its twin that returns an error needs
/// none: it is called in the same way.
pub(super) fn examples_shown(workspace: &Workspace) -> Result<Vec<Finding>, Failure> {
    let mut findings = Vec::new();
    for file in workspace.files.iter().filter(|file| is_shown(file)) {
        let Ok(tokens) = tokens(file) else { continue };
        functions(&tokens, &mut |function| {
            if !function.has_example && !function.is_twin() {
                let what = format!("`{}` has no example that runs", function.name);
                findings.push(Finding::new(&file.path, function.line, what));
            }
        });
    }
    Ok(findings)
}

/// A file of one of these modules.
fn is_shown(file: &Source) -> bool {
    let inside = file.path.strip_prefix("crates/wengert/src/").and_then(|path| path.strip_suffix(".rs"));
    inside.is_some_and(|path| SHOWN.contains(&path.split('/').next().unwrap_or(path)))
}

/// A public function, or a line of a table that a macro makes one of.
struct Function {
    /// With a dollar sign if the macro's caller names it.
    name: String,
    line: usize,
    has_example: bool,
}

impl Function {
    fn is_twin(&self) -> bool {
        let name = self.name.trim_start_matches('$');
        name.starts_with("try_") || name.starts_with("twin")
    }
}

/// Calls `visit` with the functions that stand in these tokens, and in groups of them.
fn functions(tokens: &[TokenTree], visit: &mut impl FnMut(Function)) {
    let (mut at, mut docs, mut passed) = (0, Vec::new(), false);
    while at < tokens.len() {
        let rest = &tokens[at..];
        if let Some(attribute) = attribute(rest) {
            docs.extend(doc(&attribute));
            at += 2;
        } else if let Some(all) = passes_attributes(rest) {
            // What its caller writes is looked at there.
            passed |= all;
            at += 3;
        } else {
            let is_private = is_word(rest.first(), "mod") && is_word(rest.get(1), "tests");
            // A line of a table without a comment has that of its macro.
            let line_of_table = listed(rest).filter(|_| !docs.is_empty());
            if let Some((name, token)) = public(rest).or(line_of_table) {
                visit(Function { name, line: line(token), has_example: passed || runs(&docs) });
            }
            // A name of a table is one of several: the next ones are no new lines of it.
            let count = if listed(rest).is_some() { names(rest) } else { 1 };
            for token in rest.iter().take(count) {
                if let TokenTree::Group(group) = token {
                    functions(&inside(group), visit);
                }
            }
            at += if is_private { 3 } else { count };
            (docs, passed) = (Vec::new(), false);
        }
    }
}

/// Whether attributes come from a macro's caller here, and whether all of them do: `$(#[$about])*`, and not `$(#[doc(alias = $name)])?`.
fn passes_attributes(tokens: &[TokenTree]) -> Option<bool> {
    let mut group = match tokens.get(1) {
        Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Parenthesis => inside(group),
        _ => return None,
    };
    let repeats = ['*', '+', '?'].iter().any(|&sign| is_sign(tokens.get(2), sign));
    while let (true, Some(TokenTree::Group(inner))) = (is_sign(group.first(), '$'), group.get(1)) {
        group = inside(inner);
    }
    let attribute = attribute(&group).filter(|_| repeats && is_sign(tokens.first(), '$'))?;
    Some(is_sign(attribute.first(), '$'))
}

/// The name behind `pub fn` or `pub const fn`, and a token that stands there.
fn public(tokens: &[TokenTree]) -> Option<(String, &TokenTree)> {
    let start = if is_word(tokens.get(1), "const") { 2 } else { 1 };
    let is_function = is_word(tokens.first(), "pub") && is_word(tokens.get(start), "fn");
    match (tokens.get(start + 1), tokens.get(start + 2)) {
        (Some(TokenTree::Ident(name)), _) if is_function => Some((name.to_string(), &tokens[0])),
        (Some(sign), Some(TokenTree::Ident(name))) if is_function && is_sign(Some(sign), '$') => {
            Some((format!("${name}"), &tokens[0]))
        }
        _ => None,
    }
}

/// The name of a line of a table: `fn name = try_name`, or several names before the equals sign.
fn listed(tokens: &[TokenTree]) -> Option<(String, &TokenTree)> {
    let twin = |token: Option<&TokenTree>| matches!(token, Some(TokenTree::Ident(name)) if name.to_string().starts_with("try_"));
    let count = names(tokens);
    let is_line = count > 0 && is_sign(tokens.get(count), '=') && twin(tokens.get(count + 1));
    let name = tokens.iter().find(|token| !is_word(Some(token), "fn"))?;
    is_line.then(|| (name.to_string(), name))
}

/// How many names follow each other.
fn names(tokens: &[TokenTree]) -> usize {
    tokens.iter().take_while(|token| matches!(token, TokenTree::Ident(_))).count()
}

/// The text of a doc comment, or of what a macro makes one of.
fn doc(attribute: &[TokenTree]) -> Vec<String> {
    if !is_word(attribute.first(), "doc") || !is_sign(attribute.get(1), '=') {
        return Vec::new();
    }
    let mut texts = Vec::new();
    super::tokens::each(&attribute[2..], &mut |tokens| {
        if let Some(TokenTree::Literal(text)) = tokens.first() {
            let text = text.to_string();
            texts.extend(text.trim_matches('"').split("\\n").map(|line| line.trim().to_owned()));
        }
    });
    texts
}

/// Whether one of the examples in a comment runs.
fn runs(docs: &[String]) -> bool {
    let fences = docs.iter().filter_map(|line| line.strip_prefix("```"));
    fences.step_by(2).any(|language| RUN.contains(&language))
}

#[cfg(test)]
mod tests {
    use super::super::check;
    use super::*;

    const PATH: &str = "crates/wengert/src/tensor/a.rs";

    #[test]
    fn functions_are_shown() {
        let text = "/// A.\n///\n/// ```\n/// f();\n/// ```\npub fn f() {}\n/// As f.\npub fn try_f() {}\nfn g() {}";
        check(examples_shown, &[(PATH, text)], &[]);
        let bare = "impl T {\n    /// A.\n    #[track_caller]\n    pub fn f() {}\n    pub(crate) fn g() {}\n}";
        check(examples_shown, &[(PATH, bare)], &[("crates/wengert/src/tensor/a.rs:4", "`f` has no example")]);
        check(examples_shown, &[("crates/wengert/src/optim.rs", bare)], &[("crates/wengert/src/optim.rs:4", "`f`")]);
        check(examples_shown, &[("crates/wengert/src/plan/a.rs", bare)], &[]);
        let text = "/// ```text\n/// f\n/// ```\npub fn f() {}";
        check(examples_shown, &[(PATH, text)], &[("crates/wengert/src/tensor/a.rs:4", "`f`")]);
    }

    #[test]
    fn so_are_lines_of_tables() {
        let shown = "/// A.\n/// ```\n/// f();\n/// ```\n";
        let text = format!("t! {{\n{shown}f f_over = try_f try_f_over();\n/// B.\nfn g = try_g(x: isize);\n}}");
        check(examples_shown, &[(PATH, &text)], &[("crates/wengert/src/tensor/a.rs:8", "`g`")]);
        let text = "m! { $(#[$about])* pub fn $name() {} #[doc = \"B.\"] pub fn $over() {} pub fn $twin() {} }";
        check(examples_shown, &[(PATH, text)], &[("crates/wengert/src/tensor/a.rs:1", "`$over`")]);
        let text = "m! { /// A.\n $($(#[doc(alias = $alias)])+)? pub fn $over() {} }";
        check(examples_shown, &[(PATH, text)], &[("crates/wengert/src/tensor/a.rs:2", "`$over`")]);
        let text = "m! { #[doc = concat!(\"```\\nx.\", stringify!($n), \"\\n```\")] pub fn $over() {} }";
        check(examples_shown, &[(PATH, text)], &[]);
    }
}
