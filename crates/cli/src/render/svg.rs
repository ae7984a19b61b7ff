//! The Wengert list as a drawing: rows as boxes, operands as edges, in layers from the inputs at
//! the top to the outputs at the bottom.

use std::fmt::Write;

use super::layout::{self, Edge, LANE, Layout, MARGIN, Point, Size};
use super::{Labels, contribution};
use crate::failure::Failure;
use crate::report::{Number, Report, Row, RowKind};

/// More rows than this no one can read in a drawing, and placing them takes long.
const MOST_ROWS: usize = 500;
/// The same for boxes, labels and pieces of edges together; these are placed in a tenth of a
/// second.
const MOST_PIECES: usize = 12_000;

const FONT: &str = "font-family=\"'DejaVu Sans', Verdana, 'Segoe UI', Helvetica, Arial, sans-serif\"";
const NAME_SIZE: f64 = 14.0;
const NUMBER_SIZE: f64 = 12.0;
const EDGE_SIZE: f64 = 11.0;
/// Room inside a box, on each side.
const PADDING: f64 = 12.0;
const LINE: f64 = 17.0;
/// The width of a drawing, in pixels of which 96 are an inch: what a page of paper has room for between its margins, and a
/// window of a screen too. Only a graph that needs more gets more, and is shrunk to the page or window then.
const WIDTH: f64 = 720.0;
/// From line to line of the title, and the room for the legend below it.
const TITLE_LINE: f64 = 22.0;
const HEADER: f64 = 70.0;

const INK: &str = "#1f2328";
const QUIET: &str = "#59636e";
const VALUE: &str = "#0550ae";
const ADJOINT: &str = "#bc4c00";
const TANGENT: &str = "#116329";

/// The drawing, or why there is none.
pub(super) fn render(report: &Report, labels: Labels) -> Result<String, Failure> {
    let boxes: Vec<Size> = report.list.iter().map(box_size).collect();
    let wires = wires(report, labels);
    let edges: Vec<Edge> = wires.iter().map(|wire| wire.edge).collect();
    if boxes.len() > MOST_ROWS || layout::pieces(boxes.len(), &edges) > MOST_PIECES {
        return Err(Failure::Usage(format!(
            "the graph of {} rows is too large for a drawing that can be read; \
             `--format dot` writes it for other tools",
            boxes.len()
        )));
    }
    let layout = layout::layout(&boxes, &edges);
    let width = layout.size.width.max(WIDTH);
    let title = title(report);
    let title_lines = wrapped(&title, NAME_SIZE + 2.0, width - 2.0 * MARGIN);
    #[expect(clippy::cast_precision_loss, reason = "a title is at most as long as a program of a few hundred rows")]
    let header_height = HEADER + TITLE_LINE * title_lines.len() as f64;
    let height = layout.size.height + header_height;
    let shift = (width - layout.size.width) / 2.0;
    let mut text = String::new();
    let out = &mut text;
    line(
        out,
        &format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" \
         viewBox=\"0 0 {width:.0} {height:.0}\" style=\"max-width:100%;height:auto\" {FONT} fill=\"{INK}\">"
        ),
    );
    line(out, &format!("<title>{}</title>", escape(&title)));
    line(
        out,
        "<defs><marker id=\"arrow\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"7\" markerHeight=\"7\" orient=\"auto\"><path d=\"M0,0.5 L8,4 L0,7.5 z\" fill=\"#8c959f\"/></marker></defs>",
    );
    line(out, "<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>");
    header(out, report, &title_lines, labels);
    line(out, &format!("<g transform=\"translate({shift:.1},{header_height:.1})\">"));
    for (wire, (path, label)) in wires.iter().zip(layout.paths.iter().zip(&layout.labels)) {
        draw_wire(out, &layout, &boxes, wire, path);
        draw_label(out, wire, *label);
    }
    for (row, (place, size)) in report.list.iter().zip(layout.boxes.iter().zip(&boxes)) {
        draw_box(out, row, *place, *size);
    }
    line(out, "</g>\n</svg>");
    Ok(text)
}

fn line(out: &mut String, text: &str) {
    out.push_str(text);
    out.push('\n');
}

/// An operand that is a row, with the words at its edge.
struct Wire {
    edge: Edge,
    partial: Option<String>,
    flow: Option<String>,
    /// Whether a derivative flows along it: not when its partial derivative is zero.
    live: bool,
}

fn wires(report: &Report, labels: Labels) -> Vec<Wire> {
    let mut wires = Vec::new();
    for (to, row) in report.list.iter().enumerate() {
        for operand in &row.operands {
            let Some(from) = operand.row else { continue };
            let partial = operand.partial.filter(|_| labels.has(operand));
            let partial = partial.map(|number| format!("∂ {}", number.short()));
            let flow = contribution(row, operand).filter(|_| labels.has(operand));
            let flow = flow.map(|flow| format!("← {}", Number(flow).short()));
            let widest = [&partial, &flow].into_iter().flatten();
            let width = widest.map(|text| light_width(text, EDGE_SIZE)).fold(0.0, f64::max);
            let label = match [&partial, &flow].into_iter().flatten().count() {
                0 => Size { width: LANE, height: LANE },
                1 => Size { width: width + 8.0, height: 18.0 },
                _ => Size { width: width + 8.0, height: 32.0 },
            };
            let edge = Edge { from, to, label };
            let live = operand.flows && operand.partial.is_none_or(|partial| partial.0 != 0.0);
            wires.push(Wire { edge, partial, flow, live });
        }
    }
    wires
}

/// What stands in a box: the heading, then names and numbers.
fn box_lines(row: &Row) -> (String, Vec<(&'static str, String, &'static str)>) {
    let heading = match row.kind {
        RowKind::Input => row.name.clone(),
        RowKind::Operation => format!("{} = {}", row.name, row.text),
    };
    let mut lines = vec![("value", row.value.short(), VALUE)];
    if let Some(adjoint) = &row.adjoint {
        lines.push(("adjoint", adjoint.short(), ADJOINT));
    }
    if let Some(tangent) = &row.tangent {
        lines.push(("tangent", tangent.short(), TANGENT));
    }
    (heading, lines)
}

fn box_size(row: &Row) -> Size {
    let (heading, lines) = box_lines(row);
    let numbers =
        lines.iter().map(|(name, number, _)| light_width(name, NUMBER_SIZE) + 10.0 + light_width(number, NUMBER_SIZE));
    let width = numbers.fold(text_width(&heading, NAME_SIZE), f64::max) + 2.0 * PADDING;
    #[expect(clippy::cast_precision_loss, reason = "there are at most three lines")]
    let height = 16.0 + LINE * (lines.len() as f64 + 1.0);
    Size { width, height }
}

fn draw_box(out: &mut String, row: &Row, place: Point, size: Size) {
    let (fill, stroke) = match row.kind {
        _ if row.output => ("#dafbe1", "#1a7f37"),
        RowKind::Input => ("#ddf4ff", "#0969da"),
        RowKind::Operation => ("#f6f8fa", "#8c959f"),
    };
    let (left, top) = (place.x - size.width / 2.0, place.y - size.height / 2.0);
    let Size { width, height } = size;
    line(
        out,
        &format!(
            "<rect x=\"{left:.1}\" y=\"{top:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" rx=\"9\" \
         fill=\"{fill}\" stroke=\"{stroke}\" stroke-width=\"1.4\"/>"
        ),
    );
    let (heading, lines) = box_lines(row);
    words(out, Point { x: place.x, y: top + 21.0 }, NAME_SIZE, INK, "middle", true, &heading);
    let mut y = top + 21.0 + LINE;
    for (name, number, color) in &lines {
        words(out, Point { x: left + PADDING, y }, NUMBER_SIZE, QUIET, "start", false, name);
        let right = Point { x: left + width - PADDING, y };
        words(out, right, NUMBER_SIZE, color, "end", false, number);
        y += LINE;
    }
}

/// A smooth line through the pieces of an edge.
fn draw_wire(out: &mut String, layout: &Layout, boxes: &[Size], wire: &Wire, path: &[Point]) {
    let Edge { from, to, .. } = wire.edge;
    let first = path.first().copied().unwrap_or(layout.boxes[to]);
    let last = path.last().copied().unwrap_or(layout.boxes[from]);
    let start = port(layout.boxes[from], boxes[from], first, 1.0);
    let end = port(layout.boxes[to], boxes[to], last, -1.0);
    let mut points = vec![start];
    points.extend_from_slice(path);
    points.push(Point { x: end.x, y: end.y - 1.0 });
    let mut curve = format!("M{:.1},{:.1}", start.x, start.y);
    for pair in points.windows(2) {
        let (a, b) = (pair[0], pair[1]);
        let middle = f64::midpoint(a.y, b.y);
        // Writing to a string cannot fail.
        let _ = write!(curve, " C{:.1},{middle:.1} {:.1},{middle:.1} {:.1},{:.1}", a.x, b.x, b.x, b.y);
    }
    let dashes = if wire.live { "" } else { " stroke-dasharray=\"4 4\"" };
    line(
        out,
        &format!(
            "<path d=\"{curve}\" fill=\"none\" stroke=\"#8c959f\" stroke-width=\"1.3\"{dashes} \
         marker-end=\"url(#arrow)\"/>"
        ),
    );
}

/// Where an edge meets a box: on its lower or upper side, towards the next point of the edge.
fn port(place: Point, size: Size, towards: Point, side: f64) -> Point {
    let reach = size.width / 2.0 - 16.0;
    let x = place.x + (towards.x - place.x).clamp(-reach.max(0.0), reach.max(0.0));
    Point { x, y: place.y + side * size.height / 2.0 }
}

fn draw_label(out: &mut String, wire: &Wire, place: Point) {
    if wire.partial.is_none() && wire.flow.is_none() {
        return;
    }
    let Size { width, height } = wire.edge.label;
    let (left, top) = (place.x - width / 2.0, place.y - height / 2.0);
    line(
        out,
        &format!(
            "<rect x=\"{left:.1}\" y=\"{top:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" rx=\"5\" fill=\"#ffffff\"/>"
        ),
    );
    let mut y = top + 13.0;
    for (text, color) in [(&wire.partial, QUIET), (&wire.flow, ADJOINT)] {
        if let Some(text) = text {
            words(out, Point { x: place.x, y }, EDGE_SIZE, color, "middle", false, text);
            y += 14.0;
        }
    }
}

fn title(report: &Report) -> String {
    let inputs: Vec<String> = report.inputs.iter().map(|i| format!("{} = {}", i.name, i.value.short())).collect();
    let outputs: Vec<String> =
        report.outputs.iter().map(|output| format!("{} = {}", output.text, output.value.short())).collect();
    match (outputs.join(",  "), inputs.join(", ")) {
        (outputs, inputs) if inputs.is_empty() => outputs,
        (outputs, inputs) => format!("{outputs}   at {inputs}"),
    }
}

/// The whole text in lines of at most this width: cut at blanks, else behind a sign, else anywhere.
fn wrapped(text: &str, size: f64, width: f64) -> Vec<String> {
    let mut lines = Vec::new();
    let mut rest = text.trim();
    while text_width(rest, size) > width {
        // How much fits, but one character at least.
        let mut used = 0.0;
        let fits = |c: char| {
            used += letter_width(c) * size;
            used > width
        };
        let end = rest.find(fits).unwrap_or(rest.len()).max(rest.chars().next().map_or(0, char::len_utf8));
        let behind = |found: Option<usize>| found.map(|at| at + 1).filter(|at| 2 * at > end);
        let sign = |c: char| c.is_ascii_punctuation() && !"._".contains(c);
        let cut = rest[..end].rfind(' ').filter(|at| 2 * at > end).or(behind(rest[..end].rfind(sign))).unwrap_or(end);
        lines.push(rest[..cut].trim_end().to_owned());
        rest = rest[cut..].trim_start();
    }
    lines.push(rest.to_owned());
    lines
}

/// The title and what the colours mean.
fn header(out: &mut String, report: &Report, title: &[String], labels: Labels) {
    let mut y = 34.0;
    for title in title {
        words(out, Point { x: MARGIN, y }, NAME_SIZE + 2.0, INK, "start", true, title);
        y += TITLE_LINE;
    }
    let mut x = MARGIN;
    for (fill, stroke, name) in
        [("#ddf4ff", "#0969da", "input"), ("#f6f8fa", "#8c959f", "operation"), ("#dafbe1", "#1a7f37", "output")]
    {
        line(
            out,
            &format!(
                "<rect x=\"{x:.1}\" y=\"{:.1}\" width=\"18\" height=\"13\" rx=\"4\" fill=\"{fill}\" stroke=\"{stroke}\"/>",
                y - 2.0
            ),
        );
        words(out, Point { x: x + 24.0, y: y + 9.0 }, NUMBER_SIZE, QUIET, "start", false, name);
        x += 24.0 + light_width(name, NUMBER_SIZE) + 16.0;
    }
    let note = |out: &mut String, x: f64, color: &str, text: &str| {
        words(out, Point { x, y: y + 9.0 }, NUMBER_SIZE, color, "start", false, text);
        x + light_width(text, NUMBER_SIZE) + 8.0
    };
    let edges = || report.list.iter().flat_map(|row| &row.operands).filter(|edge| edge.row.is_some());
    let has_arrays = edges().any(|edge| edge.partial.is_none());
    let has_bare = labels == Labels::Telling && edges().any(|edge| edge.plain);
    let meaning = match (has_arrays, has_bare) {
        (true, _) => "∂ partial (none at sums, arrays)",
        (false, true) => "∂ partial derivative (none: 1)",
        (false, false) => "∂ partial derivative",
    };
    x = note(out, x, QUIET, meaning);
    if report.list.iter().any(|row| row.adjoint.is_some()) {
        note(out, x, ADJOINT, "← adjoint sent up this edge");
    }
}

fn words(out: &mut String, at: Point, size: f64, color: &str, anchor: &str, bold: bool, text: &str) {
    let weight = if bold { " font-weight=\"600\"" } else { "" };
    line(
        out,
        &format!(
            "<text x=\"{:.1}\" y=\"{:.1}\" font-size=\"{size}\" fill=\"{color}\" text-anchor=\"{anchor}\"{weight}>{}</text>",
            at.x,
            at.y,
            escape(text)
        ),
    );
}

/// About how wide a bold text is.
fn text_width(text: &str, size: f64) -> f64 {
    text.chars().map(letter_width).sum::<f64>() * size
}

/// About how wide a text is that is not bold.
fn light_width(text: &str, size: f64) -> f64 {
    0.9 * text_width(text, size)
}

/// The width of a bold letter as a part of the size of the font: on the wide side, so that text fits in any of the fonts. That of DejaVu Sans is the widest of them.
fn letter_width(letter: char) -> f64 {
    match letter {
        'i' | 'j' | 'l' | 'I' | '.' | ',' | ':' | ';' | '\'' | '|' | '!' | ' ' => 0.4,
        'f' | 'r' | 't' | '(' | ')' | '[' | ']' | '/' | '-' | '^' | '*' | '_' => 0.53,
        'm' | 'w' | 'M' | 'W' | '%' | '@' | '…' => 1.1,
        'A'..='Z' | '<' | '>' | '=' | '+' | '&' | '←' => 0.84,
        // The scripts of East Asia, and pictures, are as wide as they are high.
        '\u{1100}'.. => 1.1,
        _ => 0.72,
    }
}

/// Text between tags. Control characters, which XML does not allow, become blanks.
pub(crate) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            c if c.is_control() => escaped.push(' '),
            c => escaped.push(c),
        }
    }
    escaped
}
