//! The report as tables to read in a terminal.

use std::fmt::Write;

use anstyle::{AnsiColor, Style};

use crate::differences::Verdict;
use crate::report::{Check, Named, Number, Report, RowKind, Series, Value};

const HEADING: Style = Style::new().bold();
const QUIET: Style = AnsiColor::BrightBlack.on_default();
const INPUT: Style = AnsiColor::Cyan.on_default();
const OUTPUT: Style = AnsiColor::Green.on_default();
const WRONG: Style = AnsiColor::BrightRed.on_default().bold();

/// All parts of the report that are there.
pub(super) fn render(report: &Report) -> String {
    let mut text = String::new();
    outputs(report, &mut text);
    if let Some(gradient) = &report.gradient {
        table(&mut text, "gradient", &named("d/d", gradient));
    }
    if let Some(directional) = &report.directional {
        let along: Vec<String> =
            directional.direction.iter().map(|n| format!("{}={}", n.name, n.value.exact())).collect();
        let rows: Vec<Line> = report
            .outputs
            .iter()
            .zip(&directional.derivatives)
            .map(|(output, value)| plain(vec![output.label(), value.exact()]))
            .collect();
        table(&mut text, &format!("derivative along {}", along.join(", ")), &rows);
    }
    if let Some(jacobian) = &report.jacobian {
        let labels = report.output_labels.iter().cloned();
        matrix(report, "jacobian", labels, jacobian, &mut text);
    }
    if let Some(hessian) = &report.hessian {
        let labels = report.input_labels.iter().map(|name| format!("d/d{name}"));
        matrix(report, "hessian", labels, hessian, &mut text);
    }
    if let Some(found) = &report.series {
        series(report, found, &mut text);
    }
    list(report, &mut text);
    notes(report, &mut text);
    if let Some(check) = &report.check {
        checked(check, &mut text);
    }
    text
}

/// A line of a table: its cells and how it is coloured.
type Line = (Style, Vec<String>);

fn plain(cells: Vec<String>) -> Line {
    (Style::new(), cells)
}

fn named(before: &str, items: &[Named]) -> Vec<Line> {
    let line = |item: &Named| plain(vec![format!("{before}{}", item.name), item.value.exact()]);
    items.iter().map(line).collect()
}

fn outputs(report: &Report, text: &mut String) {
    let at = report.inputs.iter().map(|i| format!("{} = {}", i.name, i.value.exact()));
    let at: Vec<String> = at.collect();
    let heading = if at.is_empty() { "value".to_owned() } else { format!("value at {}", at.join(", ")) };
    let rows: Vec<Line> =
        report.outputs.iter().map(|output| (OUTPUT, vec![output.label(), output.value.exact()])).collect();
    table(text, &heading, &rows);
}

fn matrix(
    report: &Report,
    heading: &str,
    labels: impl Iterator<Item = String>,
    rows: &[Vec<Number>],
    text: &mut String,
) {
    let mut head = vec![String::new()];
    head.extend(report.input_labels.iter().map(|name| format!("d/d{name}")));
    let mut lines = vec![(QUIET, head)];
    for (label, row) in labels.zip(rows) {
        let mut cells = vec![label];
        cells.extend(row.iter().map(|value| value.exact()));
        lines.push(plain(cells));
    }
    table(text, heading, &lines);
}

fn series(report: &Report, series: &Series, text: &mut String) {
    let along: Vec<String> = series.direction.iter().map(|n| format!("{}={}", n.name, n.value.exact())).collect();
    let found = series.derivatives.iter().zip(&series.coefficients);
    for (label, (derivatives, coefficients)) in report.output_labels.iter().zip(found) {
        let head = ["order", "derivative", "taylor coefficient"].map(str::to_owned).to_vec();
        let mut lines = vec![(QUIET, head)];
        for (order, (derivative, coefficient)) in derivatives.iter().zip(coefficients).enumerate() {
            lines.push(plain(vec![order.to_string(), derivative.exact(), coefficient.exact()]));
        }
        let heading = format!("derivatives of {label} along {}", along.join(", "));
        table(text, &heading, &lines);
    }
}

fn list(report: &Report, text: &mut String) {
    let adjoints = report.list.iter().any(|row| row.adjoint.is_some());
    let tangents = report.list.iter().any(|row| row.tangent.is_some());
    let mut head = vec!["name".to_owned(), "operation".to_owned(), "value".to_owned()];
    if adjoints {
        head.push("adjoint".to_owned());
    }
    if tangents {
        head.push("tangent".to_owned());
    }
    let mut lines = vec![(QUIET, head)];
    for row in &report.list {
        let mut cells = vec![row.name.clone(), row.text.clone(), row.value.listed()];
        let shown = |value: &Option<Value>| value.as_ref().map_or(String::new(), Value::listed);
        if adjoints {
            cells.push(shown(&row.adjoint));
        }
        if tangents {
            cells.push(shown(&row.tangent));
        }
        let style = match row.kind {
            _ if row.output => OUTPUT,
            RowKind::Input => INPUT,
            RowKind::Operation => Style::new(),
        };
        lines.push((style, cells));
    }
    table(text, "Wengert list", &lines);
}

/// At most a few: what is outside a domain once is often there again.
fn notes(report: &Report, text: &mut String) {
    const SHOWN: usize = 8;
    if report.notes.is_empty() {
        return;
    }
    let mut lines: Vec<Line> = report.notes.iter().take(SHOWN).map(|note| (WRONG, vec![note.clone()])).collect();
    if report.notes.len() > SHOWN {
        lines.push(plain(vec![format!("and {} more", report.notes.len() - SHOWN)]));
    }
    table(text, "outside the domain, or on its edge", &lines);
}

fn checked(check: &Check, text: &mut String) {
    let head = ["", "derivative", "difference", "tolerance", ""].map(str::to_owned).to_vec();
    let mut lines = vec![(QUIET, head)];
    for entry in &check.entries {
        let verdict = match entry.verdict {
            Verdict::Agrees => "agrees",
            Verdict::Differs => "DIFFERS",
            Verdict::Unclear => "unclear",
        };
        let style = if entry.agrees { Style::new() } else { WRONG };
        lines.push((
            style,
            vec![
                entry.name.clone(),
                entry.derivative.exact(),
                entry.difference.exact(),
                entry.tolerance.short(),
                verdict.to_owned(),
            ],
        ));
    }
    let heading = if check.agrees {
        "check: the derivatives agree with differences"
    } else {
        "check: a derivative does not agree with differences"
    };
    table(text, heading, &lines);
}

/// A heading and aligned columns below it. A blank line stands between tables.
fn table(text: &mut String, heading: &str, lines: &[Line]) {
    if !text.is_empty() {
        text.push('\n');
    }
    // Writing to a string cannot fail.
    let _ = writeln!(text, "{HEADING}{heading}{HEADING:#}");
    let columns = lines.iter().map(|(_, cells)| cells.len()).max().unwrap_or(0);
    let width = |column: usize| {
        let cells = lines.iter().filter_map(|(_, cells)| cells.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    for (style, cells) in lines {
        let padded = cells.iter().zip(&widths).map(|(cell, width)| {
            let padding = " ".repeat(width - cell.chars().count());
            format!("{cell}{padding}")
        });
        let line = padded.collect::<Vec<_>>().join("  ");
        let _ = writeln!(text, "  {style}{}{style:#}", line.trim_end());
    }
}
