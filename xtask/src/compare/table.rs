//! The table of a comparison.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::programs::Program;
use super::{Failure, Line};

/// What a system needed for a workload.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Figures {
    median_ms: f64,
    primal_ms: f64,
    /// The first call of the first round, when nothing was kept from before.
    compile_s: f64,
    peak_mb: Option<f64>,
}

/// A line of the table.
#[derive(Debug, PartialEq)]
pub(super) struct Row {
    workload: String,
    threads: usize,
    target: f64,
    ours: Figures,
    /// In the order of the columns; `None` where a peer could not do it.
    peers: Vec<Option<Figures>>,
}

impl Figures {
    /// The figures of a system over its rounds; `None` if it has none.
    fn of<'a>(lines: impl Iterator<Item = &'a Line>) -> Option<Self> {
        let lines: Vec<&Line> = lines.collect();
        let of = |number: fn(&Line) -> f64| median(lines.iter().map(|line| number(line)).collect());
        Some(Figures {
            median_ms: of(|line| line.median_s)? * 1e3,
            primal_ms: of(|line| line.primal_s)? * 1e3,
            compile_s: lines.first()?.compile_s,
            peak_mb: lines.iter().filter_map(|line| line.peak_rss_mb).max_by(f64::total_cmp),
        })
    }

    /// How many times the primal the derivative takes.
    fn over_primal(&self) -> f64 {
        self.median_ms / self.primal_ms
    }

    fn to_json(self) -> Value {
        json!({
            "median_ms": self.median_ms, "primal_ms": self.primal_ms, "gradient_over_primal": self.over_primal(),
            "compile_s": self.compile_s, "peak_rss_mb": self.peak_mb,
        })
    }
}

/// The middle number; of two middles, their mean; `None` of none.
fn median(mut numbers: Vec<f64>) -> Option<f64> {
    numbers.sort_by(f64::total_cmp);
    let upper = *numbers.get(numbers.len() / 2)?;
    let lower = numbers[(numbers.len() - 1) / 2];
    Some((lower + upper) / 2.0)
}

impl Row {
    pub(super) fn new(
        program: &Program,
        threads: usize,
        peers: &[(&'static str, &'static str)],
        measured: &[(Line, Value)],
    ) -> Result<Self, Failure> {
        let of = |system: &str| Figures::of(measured.iter().map(|(line, _)| line).filter(|l| l.system == system));
        let ours = of("wengert").ok_or(format!("{}: ours was not measured", program.key))?;
        let (workload, target) = (program.key.clone(), program.target);
        Ok(Row { workload, threads, target, ours, peers: peers.iter().map(|(name, _)| of(name)).collect() })
    }

    /// The fastest peer.
    fn best(&self) -> Option<&Figures> {
        self.peers.iter().flatten().min_by(|a, b| a.median_ms.total_cmp(&b.median_ms))
    }

    /// Our time over the fastest peer's.
    fn ratio(&self) -> Option<f64> {
        self.best().map(|best| self.ours.median_ms / best.median_ms)
    }

    pub(super) fn to_json(&self, peers: &[&str]) -> Value {
        let peers: BTreeMap<&str, Option<Value>> =
            peers.iter().copied().zip(self.peers.iter().map(|figures| figures.map(Figures::to_json))).collect();
        json!({
            "workload": self.workload, "threads": self.threads, "target": self.target, "ratio": self.ratio(),
            "wengert": self.ours.to_json(), "peers": peers,
        })
    }

    /// The cells of its line.
    fn cells(&self) -> Vec<String> {
        let best = self.best();
        let dash = || "-".to_owned();
        let beside = |own: String, peers: Option<String>| peers.map_or(own.clone(), |peers| format!("{own} / {peers}"));
        let mut cells = vec![self.workload.clone(), self.threads.to_string(), milliseconds(self.ours.median_ms)];
        cells.extend(self.peers.iter().map(|peer| peer.map_or_else(dash, |figures| milliseconds(figures.median_ms))));
        cells.push(self.ratio().map_or_else(dash, |ratio| format!("{ratio:.2}")));
        cells.push(format!("{:.2}", self.target));
        cells.push(self.ratio().map_or_else(dash, |ratio| if ratio <= self.target { "yes" } else { "no" }.to_owned()));
        let over_primal = |figures: &Figures| format!("{:.1}", figures.over_primal());
        cells.push(beside(over_primal(&self.ours), best.map(over_primal)));
        let compile = |figures: &Figures| format!("{:.2}", figures.compile_s);
        cells.push(beside(compile(&self.ours), best.map(compile)));
        let peak = |figures: &Figures| figures.peak_mb.map_or_else(dash, |peak| format!("{peak:.0}"));
        cells.push(beside(peak(&self.ours), best.map(peak)));
        cells
    }
}

/// Milliseconds with four digits that mean something.
fn milliseconds(ms: f64) -> String {
    let digits = match ms {
        100.0.. => 0,
        10.0.. => 1,
        1.0.. => 2,
        _ => 4,
    };
    format!("{ms:.digits$}")
}

/// The table in Markdown, to be read on a terminal and put on a page. Where two numbers stand, the first is ours, the
/// second the fastest peer's.
pub(super) fn table(peers: &[&str], rows: &[Row]) -> String {
    let mut heads = vec!["workload".to_owned(), "threads".to_owned(), "wengert ms".to_owned()];
    heads.extend(peers.iter().map(|peer| format!("{peer} ms")));
    heads.extend(["ratio", "target", "met", "gradient / primal", "first call s", "peak MiB"].map(str::to_owned));
    let cells: Vec<Vec<String>> = rows.iter().map(Row::cells).collect();
    let width = |column: usize| {
        let lengths = cells.iter().chain([&heads]).map(|row| row[column].len());
        lengths.max().unwrap_or(0)
    };
    let line = |row: &Vec<String>| {
        let padded = row.iter().enumerate().map(|(column, cell)| format!("{cell:>0$}", width(column)));
        format!("| {} |", padded.collect::<Vec<_>>().join(" | "))
    };
    let rule: Vec<String> = (0..heads.len()).map(|column| format!("{}:", "-".repeat(width(column) - 1))).collect();
    let mut lines = vec![line(&heads), line(&rule)];
    lines.extend(cells.iter().map(line));
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::super::PEERS;
    use super::*;

    fn line(system: &str, median_s: f64, compile_s: f64) -> (Line, Value) {
        let line = Line {
            system: system.to_owned(),
            workload: "W1".to_owned(),
            dtype: "f32".to_owned(),
            threads: 2,
            compile_s,
            median_s,
            primal_s: median_s / 2.0,
            peak_rss_mb: Some(median_s * 1e3),
        };
        (line, Value::Null)
    }

    fn w1(target: f64) -> Program {
        Program::workload("W1:f32", target)
    }

    #[test]
    fn rows_hold_medians_over_rounds_and_the_ratio_to_the_fastest_peer() {
        let measured = [
            line("wengert", 0.003, 0.5),
            line("torch", 0.004, 3.0),
            line("wengert", 0.009, 0.1),
            line("torch", 0.008, 1.0),
            line("wengert", 0.004, 0.1),
        ];
        let row = Row::new(&w1(0.7), 2, &PEERS, &measured).unwrap();
        let ours = Figures { median_ms: 4.0, primal_ms: 2.0, compile_s: 0.5, peak_mb: Some(9.0) };
        let torch = Figures { median_ms: 6.0, primal_ms: 3.0, compile_s: 3.0, peak_mb: Some(8.0) };
        assert_eq!(row.ours, ours);
        assert_eq!(row.peers, [None, Some(torch), None]);
        assert_eq!(row.ratio(), Some(4.0 / 6.0));
        let cells = "W1:f32 2 4.00 - 6.00 - 0.67 0.70 yes 2.0 / 2.0 0.50 / 3.00 9 / 8";
        assert_eq!(row.cells().join(" "), cells);
        assert!(Row::new(&w1(0.7), 2, &PEERS, &measured[1..2]).is_err());
    }

    #[test]
    fn the_fastest_peer_is_the_one_compared_with() {
        let measured = [line("wengert", 0.02, 0.5), line("jax", 0.01, 3.0), line("torch", 0.04, 1.0)];
        let row = Row::new(&w1(1.0), 2, &PEERS, &measured).unwrap();
        assert_eq!(row.ratio(), Some(2.0));
        assert!(row.cells().contains(&"no".to_owned()));
        assert_eq!(row.to_json(&["jax", "torch", "torch-compile"])["peers"]["torch-compile"], Value::Null);
    }

    #[test]
    fn the_columns_of_the_table_stand_below_each_other() {
        let measured = [line("wengert", 0.002, 0.5), line("jax", 0.01, 3.0)];
        let rows = [Row::new(&w1(1.0), 2, &PEERS[..1], &measured).unwrap()];
        let table = table(&["jax"], &rows);
        let places = |line: &str| line.match_indices('|').map(|(place, _)| place).collect::<Vec<_>>();
        let lines: Vec<&str> = table.lines().collect();
        assert_eq!(lines.len(), 3);
        assert!(lines.iter().all(|line| places(line) == places(lines[0])), "{table}");
    }
}
