//! The Wengert list as a table for LaTeX; it needs the package `booktabs` and nothing else.

use std::fmt::Write;

use crate::report::{Number, Report, Value};

/// An `array` with the rows of the list, and the gradient below it.
pub(super) fn render(report: &Report) -> String {
    let adjoints = report.list.iter().any(|row| row.adjoint.is_some());
    let tangents = report.list.iter().any(|row| row.tangent.is_some());
    let mut columns = String::from("lll");
    let mut head = String::from("\\text{name} & \\text{operation} & \\text{value}");
    if adjoints {
        columns.push('l');
        head.push_str(" & \\text{adjoint}");
    }
    if tangents {
        columns.push('l');
        head.push_str(" & \\text{tangent}");
    }
    let mut text = format!(
        "% needs \\usepackage{{amsmath,booktabs}}\n\\[\n\\begin{{array}}{{{columns}}}\n\\toprule\n{head} \\\\\n\\midrule\n"
    );
    for row in &report.list {
        let mut cells = vec![name(&row.name), formula(&row.text), value(&row.value)];
        let optional = |shown: &Option<Value>| shown.as_ref().map_or(String::new(), value);
        if adjoints {
            cells.push(optional(&row.adjoint));
        }
        if tangents {
            cells.push(optional(&row.tangent));
        }
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{} \\\\", cells.join(" & "));
    }
    text.push_str("\\bottomrule\n\\end{array}\n\\]\n");
    if let Some(gradient) = &report.gradient {
        let parts = gradient
            .iter()
            .map(|part| format!("\\frac{{\\partial f}}{{\\partial {}}} = {}", name(&part.name), value(&part.value)));
        let _ = writeln!(text, "\\[\n{}\n\\]", parts.collect::<Vec<_>>().join(",\\quad\n"));
    }
    text
}

/// A name: `x1` has an index, a longer word is upright.
fn name(text: &str) -> String {
    let stem = text.trim_end_matches(|c: char| c.is_ascii_digit());
    let index = &text[stem.len()..];
    let stem = stem.trim_end_matches('_');
    let stem = match stem.chars().count() {
        0 => return format!("\\mathrm{{{}}}", escape(text)),
        1 => escape(stem),
        _ => format!("\\mathrm{{{}}}", escape(stem)),
    };
    if index.is_empty() { stem } else { format!("{stem}_{{{index}}}") }
}

/// The operation with its operands. Words become names, `*` a dot, the rest stays.
fn formula(text: &str) -> String {
    if text == "input" {
        return "\\text{input}".to_owned();
    }
    let mut formula = String::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let word = |c: char| c.is_alphanumeric() || c == '_' || c == '.';
        let end = rest.find(|c| !word(c)).unwrap_or(rest.len());
        if end == 0 {
            let (sign, length) = sign(rest, first);
            formula.push_str(&sign);
            rest = &rest[length..];
            continue;
        }
        let (piece, tail) = rest.split_at(end);
        rest = tail;
        if first.is_ascii_digit() {
            // The exponent `^12` needs braces; elsewhere these do no harm.
            let _ = write!(formula, "{{{}}}", piece.replace('e', "\\mathrm{e}"));
        } else if tail.starts_with('(') {
            let _ = write!(formula, "\\operatorname{{{}}}", escape(piece));
        } else {
            let _ = write!(formula, "{{{}}}", name(piece));
        }
    }
    formula
}

/// A sign at the start of `rest`, and its length in bytes.
fn sign(rest: &str, first: char) -> (String, usize) {
    let known = [
        ("<=", "\\le "),
        (">=", "\\ge "),
        ("==", "="),
        ("!=", "\\ne "),
        ("&&", "\\land "),
        ("||", "\\lor "),
        ("!", "\\lnot "),
        ("*", "\\cdot "),
        ("%", "\\bmod "),
        ("@", "\\,"),
        (",", ",\\,"),
        ("…", "\\dots "),
        ("#", "\\#"),
        ("$", "\\$"),
        ("&", "\\&"),
        ("\\", "\\backslash "),
    ];
    match known.iter().find(|(sign, _)| rest.starts_with(sign)) {
        Some((sign, latex)) => ((*latex).to_owned(), sign.len()),
        None => (first.to_string(), first.len_utf8()),
    }
}

/// A number, or an array: vectors as rows, matrices as matrices of them.
fn value(shown: &Value) -> String {
    let Value::Array(shape, elements) = shown else { return number(shown.elements()[0]) };
    let columns = shape.last().copied().unwrap_or(1);
    let rows = elements.chunks(columns).map(|row| row.iter().map(|x| number(*x)).collect::<Vec<_>>().join(" & "));
    format!("\\begin{{bmatrix}} {} \\end{{bmatrix}}", rows.collect::<Vec<_>>().join(" \\\\ "))
}

/// A number: `1.5e-7` with a power of ten, NaN and infinity by name.
fn number(value: Number) -> String {
    if value.0.is_nan() {
        return "\\mathrm{NaN}".to_owned();
    }
    if value.0.is_infinite() {
        return if value.0 > 0.0 { "\\infty".to_owned() } else { "-\\infty".to_owned() };
    }
    let text = value.exact();
    match text.split_once('e') {
        Some((digits, power)) => format!("{digits} \\cdot 10^{{{power}}}"),
        None => text,
    }
}

/// A word inside an upright name.
fn escape(text: &str) -> String {
    text.replace('_', "\\_")
}
