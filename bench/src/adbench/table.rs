//! The table of what was measured, and its lines of JSON.

use std::fmt::Write;

use serde_json::{Value, json};

use super::cases::{BY_HAND, OURS};
use super::references::{Errors, Record};

/// What a system took for a case; times are medians in seconds.
pub(super) struct Timed {
    pub(super) system: String,
    /// The fastest of the forms that were tried, where there are several.
    pub(super) form: Option<String>,
    pub(super) objective: f64,
    pub(super) derivative: f64,
    /// The least times of objective and derivative, where they are known.
    pub(super) least: Option<(f64, f64)>,
    /// Where they were not checked by the system itself.
    pub(super) errors: Option<Errors>,
}

/// A case, with all systems that did it, ours first.
pub(super) struct Row {
    case: String,
    systems: Vec<Timed>,
}

impl Row {
    pub(super) fn new(record: &Record) -> Self {
        Row { case: record.name.clone(), systems: Vec::new() }
    }

    pub(super) fn push(&mut self, timed: Timed) {
        self.systems.push(timed);
    }

    fn system(&self, name: &str) -> Option<&Timed> {
        self.systems.iter().find(|timed| timed.system == name)
    }

    /// A line of JSON for each system.
    pub(super) fn lines(&self, threads: usize) -> Vec<Value> {
        let line = |timed: &Timed| {
            json!({
                "system": timed.system, "case": self.case, "threads": threads, "form": timed.form,
                "objective_ms": 1e3 * timed.objective, "derivative_ms": 1e3 * timed.derivative,
                "ratio": timed.derivative / timed.objective,
                "least_objective_ms": timed.least.map(|least| 1e3 * least.0),
                "least_derivative_ms": timed.least.map(|least| 1e3 * least.1),
                "error_of_largest": timed.errors.map(|errors| errors.largest),
                "error_of_entry": timed.errors.map(|errors| errors.entrywise),
            })
        };
        self.systems.iter().map(line).collect()
    }

    /// The cells of the row: our times, their ratio, the errors; for every other system its derivative and our ratio to it;
    /// our ratio to the fastest peer.
    fn cells(&self, others: &[&str]) -> Vec<String> {
        let mut cells = vec![self.case.clone()];
        let Some(ours) = self.system(OURS) else { return cells };
        cells.extend([milliseconds(ours.objective), milliseconds(ours.derivative)]);
        cells.push(format!("{:.2}", ours.derivative / ours.objective));
        cells.push(ours.errors.map_or("-".to_owned(), |errors| format!("{:.0e}", errors.largest)));
        let mut best = f64::INFINITY;
        for name in others {
            let Some(other) = self.system(name) else {
                cells.extend(["-".to_owned(), "-".to_owned()]);
                continue;
            };
            if *name != BY_HAND {
                best = best.min(other.derivative);
            }
            cells.extend([milliseconds(other.derivative), format!("{:.2}", ours.derivative / other.derivative)]);
        }
        cells.push(if best.is_finite() { format!("{:.2}", ours.derivative / best) } else { "-".to_owned() });
        cells
    }
}

/// The table, as Markdown. Times are milliseconds; a column `ours /` is our derivative's time over that of the system
/// before it.
pub(super) fn text(peers: &[&str], rows: &[Row]) -> String {
    let others: Vec<&str> = [BY_HAND].iter().chain(peers).copied().collect();
    let mut head: Vec<String> = ["case", "objective ms", "derivative ms", "ratio", "error"].map(str::to_owned).to_vec();
    for name in &others {
        head.extend([format!("{name} ms"), "ours /".to_owned()]);
    }
    head.push("ours / best peer".to_owned());
    let mut lines = vec![head];
    lines.extend(rows.iter().map(|row| row.cells(&others)));
    let width = |column: usize| lines.iter().filter_map(|line| line.get(column)).map(|cell| cell.chars().count()).max();
    let widths: Vec<usize> = (0..lines[0].len()).map(|column| width(column).unwrap_or(0)).collect();
    let mut text = String::new();
    for (k, line) in lines.iter().enumerate() {
        for (column, (cell, &width)) in line.iter().zip(&widths).enumerate() {
            let _ = match column {
                0 => write!(text, "| {cell:<width$} |"),
                _ => write!(text, " {cell:>width$} |"),
            };
        }
        text.push('\n');
        if k == 0 {
            for (column, &width) in widths.iter().enumerate() {
                let _ = match column {
                    0 => write!(text, "|{:-<1$}|", "", width + 2),
                    _ => write!(text, "{:-<1$}:|", "", width + 1),
                };
            }
            text.push('\n');
        }
    }
    text
}

/// With three digits.
fn milliseconds(seconds: f64) -> String {
    let ms = 1e3 * seconds;
    let digits = if ms >= 100.0 {
        0
    } else if ms >= 10.0 {
        1
    } else if ms >= 1.0 {
        2
    } else {
        3
    };
    format!("{ms:.digits$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn timed(system: &str, objective: f64, derivative: f64) -> Timed {
        Timed { system: system.to_owned(), form: None, objective, derivative, least: None, errors: None }
    }

    #[test]
    fn ratios_are_those_of_ours_to_others() {
        let systems = vec![
            timed(OURS, 0.001, 0.002),
            timed(BY_HAND, 0.001, 0.004),
            timed("jax", 0.001, 0.008),
            timed("torch", 0.1, 0.2),
        ];
        let row = Row { case: "case".to_owned(), systems };
        let cells = row.cells(&[BY_HAND, "jax", "tensorflow", "torch"]);
        let wanted =
            ["case", "1.00", "2.00", "2.00", "-", "4.00", "0.50", "8.00", "0.25", "-", "-", "200", "0.01", "0.25"];
        assert_eq!(cells, wanted);
        assert_eq!(row.lines(1).len(), 4);
        let text = text(&["jax"], &[row]);
        let widths: Vec<usize> = text.lines().map(|line| line.chars().count()).collect();
        assert!(text.lines().count() == 3 && widths.iter().all(|&width| width == widths[0]), "{text}");
    }
}
