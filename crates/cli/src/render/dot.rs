//! The graph of the Wengert list in the language of Graphviz.

use std::fmt::Write;

use super::{Labels, contribution};
use crate::report::{Number, Report, Row, RowKind};

/// A directed graph, inputs on the left, with values and adjoints in the nodes.
pub(super) fn render(report: &Report, labels: Labels) -> String {
    let mut text = String::from(
        "digraph wengert {\n  rankdir=LR;\n  bgcolor=white;\n  \
         node [shape=box, style=\"rounded,filled\", fillcolor=\"#f6f8fa\", color=\"#8c959f\", \
         fontname=\"Helvetica\"];\n  edge [color=\"#6e7781\", fontname=\"Helvetica\", fontsize=10];\n",
    );
    for (index, row) in report.list.iter().enumerate() {
        let fill = match row.kind {
            _ if row.output => ", fillcolor=\"#dafbe1\", color=\"#2da44e\"",
            RowKind::Input => ", fillcolor=\"#ddf4ff\", color=\"#0969da\"",
            RowKind::Operation => "",
        };
        // Writing to a string cannot fail.
        let _ = writeln!(text, "  n{index} [label=\"{}\"{fill}];", label(row));
    }
    for (index, row) in report.list.iter().enumerate() {
        for edge in &row.operands {
            let Some(from) = edge.row else { continue };
            if !labels.has(edge) {
                let _ = writeln!(text, "  n{from} -> n{index};");
                continue;
            }
            let partial = edge.partial.map_or(String::new(), Number::short);
            let flow =
                contribution(row, edge).map_or(String::new(), |flow| format!("\\nadjoint {}", Number(flow).short()));
            let _ = writeln!(text, "  n{from} -> n{index} [label=\"{partial}{flow}\"];");
        }
    }
    text.push_str("}\n");
    text
}

fn label(row: &Row) -> String {
    let mut lines = vec![match row.kind {
        RowKind::Input => row.name.clone(),
        RowKind::Operation => format!("{} = {}", row.name, row.text),
    }];
    lines.push(format!("value {}", row.value.short()));
    if let Some(adjoint) = &row.adjoint {
        lines.push(format!("adjoint {}", adjoint.short()));
    }
    if let Some(tangent) = &row.tangent {
        lines.push(format!("tangent {}", tangent.short()));
    }
    lines.iter().map(|line| escape(line)).collect::<Vec<_>>().join("\\n")
}

/// Text inside the quotes of a label.
fn escape(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"")
}
