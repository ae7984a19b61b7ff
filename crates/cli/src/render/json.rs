//! The report as JSON: the fields of [`Report`] under their names.

use crate::report::Report;

/// Indented JSON.
pub(super) fn render(report: &Report) -> String {
    // Only maps with keys that are no text and failing writers can fail, and there are none.
    let mut text = serde_json::to_string_pretty(report).unwrap_or_default();
    text.push('\n');
    text
}
