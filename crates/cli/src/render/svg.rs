//! The Wengert list as a drawing: rows as boxes, operands as edges, in layers from the inputs at
//! the top to the outputs at the bottom.

use std::fmt::Write;

use super::contribution;
use super::layout::{self, Edge, Layout, MARGIN, Point, Size};
use crate::failure::Failure;
use crate::report::{Number, Report, Row, RowKind};

/// More rows than this no one can read in a drawing, and placing them takes long.
const MOST_ROWS: usize = 500;
/// The same for boxes, labels and pieces of edges together; these are placed in a tenth of a
/// second.
const MOST_PIECES: usize = 12_000;

const FONT: &str = "font-family=\"'DejaVu Sans', Verdana, 'Segoe UI', Helvetica, Arial, sans-serif\"";
/// The width of a letter as a part of its height; on the wide side, so that text fits in any of
/// the fonts.
const LETTER: f64 = 0.64;
const NAME_SIZE: f64 = 14.0;
const NUMBER_SIZE: f64 = 12.0;
const EDGE_SIZE: f64 = 11.0;
/// Room inside a box, on each side.
const PADDING: f64 = 12.0;
const LINE: f64 = 17.0;
/// The room for the heading and the legend.
const HEADER: f64 = 92.0;

const INK: &str = "#1f2328";
const QUIET: &str = "#59636e";
const VALUE: &str = "#0550ae";
const ADJOINT: &str = "#bc4c00";
const TANGENT: &str = "#116329";

/// The drawing, or why there is none.
pub(super) fn render(report: &Report) -> Result<String, Failure> {
    let boxes: Vec<Size> = report.list.iter().map(box_size).collect();
    let wires = wires(report);
    let edges: Vec<Edge> = wires.iter().map(|wire| wire.edge).collect();
    if boxes.len() > MOST_ROWS || layout::pieces(boxes.len(), &edges) > MOST_PIECES {
        return Err(Failure::Usage(format!(
            "the graph of {} rows is too large for a drawing that can be read; \
             `--format dot` writes it for other tools",
            boxes.len()
        )));
    }
    let layout = layout::layout(&boxes, &edges);
    let title = title(report);
    let least = text_width(&title, NAME_SIZE + 2.0).max(LEGEND_WIDTH) + 2.0 * MARGIN;
    let width = layout.size.width.max(least);
    let height = layout.size.height + HEADER;
    let shift = (width - layout.size.width) / 2.0;
    let mut text = String::new();
    let out = &mut text;
    line(
        out,
        &format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" \
         viewBox=\"0 0 {width:.0} {height:.0}\" {FONT} fill=\"{INK}\">"
        ),
    );
    line(out, &format!("<title>{}</title>", escape(&title)));
    line(
        out,
        "<defs><marker id=\"arrow\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"7\" markerHeight=\"7\" orient=\"auto\"><path d=\"M0,0.5 L8,4 L0,7.5 z\" fill=\"#8c959f\"/></marker></defs>",
    );
    line(out, "<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>");
    header(out, report, &title);
    line(out, &format!("<g transform=\"translate({shift:.1},{HEADER:.1})\">"));
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

fn wires(report: &Report) -> Vec<Wire> {
    let mut wires = Vec::new();
    for (to, row) in report.list.iter().enumerate() {
        for operand in &row.operands {
            let Some(from) = operand.row else { continue };
            let partial = operand.partial.map(|number| format!("∂ {}", number.short()));
            let flow = contribution(row, operand).map(|flow| format!("← {}", Number(flow).short()));
            let widest = [&partial, &flow].into_iter().flatten();
            let width = widest.map(|text| text_width(text, EDGE_SIZE)).fold(0.0, f64::max) + 8.0;
            let lines = [&partial, &flow].into_iter().flatten().count();
            let height = if lines == 2 { 32.0 } else { 18.0 };
            let edge = Edge { from, to, label: Size { width, height } };
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
    if let Some(adjoint) = row.adjoint {
        lines.push(("adjoint", adjoint.short(), ADJOINT));
    }
    if let Some(tangent) = row.tangent {
        lines.push(("tangent", tangent.short(), TANGENT));
    }
    (heading, lines)
}

fn box_size(row: &Row) -> Size {
    let (heading, lines) = box_lines(row);
    let numbers =
        lines.iter().map(|(name, number, _)| text_width(name, NUMBER_SIZE) + 10.0 + text_width(number, NUMBER_SIZE));
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
    let title = match (outputs.join(",  "), inputs.join(", ")) {
        (outputs, inputs) if inputs.is_empty() => outputs,
        (outputs, inputs) => format!("{outputs}   at {inputs}"),
    };
    match title.char_indices().nth(100) {
        Some((cut, _)) => format!("{}…", &title[..cut]),
        None => title,
    }
}

/// The width of the legend below.
const LEGEND_WIDTH: f64 = 640.0;

fn header(out: &mut String, report: &Report, title: &str) {
    let start = Point { x: MARGIN, y: 34.0 };
    words(out, start, NAME_SIZE + 2.0, INK, "start", true, title);
    let mut x = MARGIN;
    for (fill, stroke, name) in
        [("#ddf4ff", "#0969da", "input"), ("#f6f8fa", "#8c959f", "operation"), ("#dafbe1", "#1a7f37", "output")]
    {
        line(
            out,
            &format!(
                "<rect x=\"{x:.1}\" y=\"54\" width=\"18\" height=\"13\" rx=\"4\" fill=\"{fill}\" stroke=\"{stroke}\"/>"
            ),
        );
        words(out, Point { x: x + 24.0, y: 65.0 }, NUMBER_SIZE, QUIET, "start", false, name);
        x += 24.0 + text_width(name, NUMBER_SIZE) + 16.0;
    }
    let note = |out: &mut String, x: f64, color: &str, text: &str| {
        words(out, Point { x, y: 65.0 }, NUMBER_SIZE, color, "start", false, text);
        x + text_width(text, NUMBER_SIZE) + 8.0
    };
    x = note(out, x, QUIET, "∂ partial derivative");
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

/// About how wide a text is.
fn text_width(text: &str, size: f64) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "texts of drawings are short")]
    let letters = text.chars().count() as f64;
    letters * LETTER * size
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
