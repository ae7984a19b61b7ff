//! Logistic regression on real data: our gradient, somebody else's optimiser, a picture.
//!
//! 569 samples of breast tissue are described by 30 measurements each; which are malignant? The
//! model is `P(malignant) = sigmoid(w·x + b)` with standardised measurements `x`. The weights
//! minimise the mean of the logarithmic loss plus `λ/2 |w|²`, by L-BFGS from the crate `argmin`.
//! All that the optimiser needs from us is the objective written down and `record`, whose gradient
//! it asks for at every iterate.
//!
//! Two thirds of the samples train the model; the others tell how good it is. The result is drawn
//! to `target/fit.svg`, or to the path given as argument.
//!
//! Run it with `cargo run --release -p wengert --example fit`.

use std::cell::RefCell;
use std::fmt;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use argmin::core::observers::{Observe, ObserverMode};
use argmin::core::{CostFunction, Error, Executor, Gradient, IterState, KV, State};
use argmin::solver::linesearch::MoreThuenteLineSearch;
use argmin::solver::quasinewton::LBFGS;
use indicatif::{ProgressBar, ProgressStyle};
use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use wengert::Recorded;
use wengert::prelude::*;

/// How strongly large weights are punished.
pub const LAMBDA: f64 = 0.01;
/// The optimiser stops when the gradient is shorter than this.
pub const TOLERANCE: f64 = 1e-8;

// ---------------------------------------------------------------------------------------- data

/// The samples: measurements, and whether the sample is of class 0, the malignant one.
pub struct Table {
    /// The names of classes 0 and 1.
    pub classes: [String; 2],
    /// One row of measurements per sample.
    pub features: Vec<Vec<f64>>,
    /// Whether the sample is of class 0.
    pub is_first: Vec<bool>,
}

/// What is wrong with a table, and where.
#[derive(Debug, PartialEq, Eq)]
pub struct DataError {
    /// The line in the file, from 1.
    pub line: u64,
    /// What was found, and what was expected.
    pub problem: String,
}

impl fmt::Display for DataError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.problem)
    }
}

impl std::error::Error for DataError {}

/// Reads a table: the line `samples,features,class 0,class 1`, then one line per sample with the
/// features and the class.
pub fn read_table(input: impl Read) -> Result<Table, DataError> {
    // `flexible`: a line of another length is our error, with a better message.
    let mut lines = csv::ReaderBuilder::new().has_headers(false).flexible(true).from_reader(input).into_records();
    let error = |line: u64, problem: String| Err(DataError { line, problem });
    let mut next = |line: u64| {
        let record = lines.next().transpose();
        record.map_err(|e| DataError { line: e.position().map_or(line, csv::Position::line), problem: e.to_string() })
    };

    let Some(head) = next(1)? else { return error(1, "the file is empty".into()) };
    let [samples, features, class_0, class_1] = head.iter().collect::<Vec<_>>()[..] else {
        return error(1, format!("{} fields where `samples,features,class 0,class 1` is expected", head.len()));
    };
    let count = |name: &str, text: &str| {
        let problem = format!("`{text}` is not a number of {name}");
        text.trim().parse::<usize>().ok().filter(|&n| n > 0).ok_or(DataError { line: 1, problem })
    };
    let (samples, features) = (count("samples", samples)?, count("features", features)?);
    let classes = [class_0.trim().to_string(), class_1.trim().to_string()];

    let mut table = Table { classes, features: Vec::new(), is_first: Vec::new() };
    let mut last = 1;
    while let Some(record) = next(last + 1)? {
        let line = record.position().map_or(last + 1, csv::Position::line);
        last = line;
        if record.len() != features + 1 {
            let problem = format!("{} fields where {features} features and a class are expected", record.len());
            return error(line, problem);
        }
        let number = |k: usize| {
            let problem = format!("field {} is `{}`, not a finite number", k + 1, &record[k]);
            record[k].trim().parse::<f64>().ok().filter(|x| x.is_finite()).ok_or(DataError { line, problem })
        };
        table.features.push((0..features).map(number).collect::<Result<_, _>>()?);
        table.is_first.push(match record[features].trim() {
            "0" => true,
            "1" => false,
            other => return error(line, format!("the class is `{other}`, not 0 or 1")),
        });
    }
    if table.features.len() != samples {
        let problem = format!("the file ends after {} samples; its first line says {samples}", table.features.len());
        return error(last, problem);
    }
    Ok(table)
}

impl Table {
    /// Shifts and scales every feature so that over the samples chosen by `keep` its mean is 0 and
    /// its variance 1. A feature that is equal in all of them becomes 0.
    fn standardise(&mut self, keep: impl Fn(usize) -> bool) {
        let kept: Vec<usize> = (0..self.features.len()).filter(|&i| keep(i)).collect();
        for k in 0..self.features[0].len() {
            let mean = kept.iter().map(|&i| self.features[i][k]).sum::<f64>() / kept.len() as f64;
            let square = |i: usize| (self.features[i][k] - mean).powi(2);
            let deviation = (kept.iter().map(|&i| square(i)).sum::<f64>() / kept.len() as f64).sqrt();
            for row in &mut self.features {
                row[k] = if deviation > 0.0 { (row[k] - mean) / deviation } else { 0.0 };
            }
        }
    }

    /// The samples chosen by `keep`.
    fn subset(&self, keep: impl Fn(usize) -> bool) -> Table {
        let kept: Vec<usize> = (0..self.features.len()).filter(|&i| keep(i)).collect();
        Table {
            classes: self.classes.clone(),
            features: kept.iter().map(|&i| self.features[i].clone()).collect(),
            is_first: kept.iter().map(|&i| self.is_first[i]).collect(),
        }
    }

    /// The standardised training samples and those held out: every third one.
    pub fn split(mut self) -> [Table; 2] {
        let trains = |i: usize| i % 3 != 2;
        self.standardise(trains);
        [self.subset(trains), self.subset(|i| !trains(i))]
    }
}

// --------------------------------------------------------------------------------------- model

/// The logarithm of the odds of class 0, `w·x + b`; the parameters are the weights and then the bias.
pub fn score<R: Real>(parameters: &[R], x: &[f64]) -> R {
    let (&bias, weights) = parameters.split_last().expect("the bias is a parameter");
    weights.iter().zip(x).fold(bias, |sum, (&w, &x)| sum + w * x)
}

/// The mean of `-ln P(class of the sample)` plus `λ/2 |w|²`.
///
/// With the score `z`, `-ln sigmoid(z) = softplus(-z)` for class 0 and `softplus(z)` for class 1;
/// `softplus` neither overflows nor loses digits where the exponential would.
pub fn objective<R: Real>(parameters: &[R], table: &Table) -> R {
    let rows = table.features.iter().zip(&table.is_first);
    let losses = rows.map(|(x, &first)| {
        let z = score(parameters, x);
        if first { (-z).softplus() } else { z.softplus() }
    });
    let mean = losses.sum::<R>() * (1.0 / table.features.len() as f64);
    let weights = &parameters[..parameters.len() - 1];
    mean + weights.iter().map(|w| w.square()).sum::<R>() * (0.5 * LAMBDA)
}

/// How many samples of each class (row) get which class (column).
pub fn confusion(parameters: &[f64], table: &Table) -> [[usize; 2]; 2] {
    let mut counts = [[0; 2]; 2];
    for (x, &first) in table.features.iter().zip(&table.is_first) {
        counts[usize::from(!first)][usize::from(score(parameters, x) < 0.0)] += 1;
    }
    counts
}

/// The share of samples that get their own class.
pub fn accuracy([[a, b], [c, d]]: [[usize; 2]; 2]) -> f64 {
    (a + d) as f64 / (a + b + c + d) as f64
}

// --------------------------------------------------------------------------------- optimisation

/// A recorded objective as `argmin` sees it: two methods of one line each.
struct Problem<F>(Recorded<Vec<f64>, Var, F>);

impl<F: Fn(Vec<Var>) -> Var> CostFunction for Problem<F> {
    type Param = Vec<f64>;
    type Output = f64;

    fn cost(&self, parameters: &Vec<f64>) -> Result<f64, Error> {
        Ok(self.0.value(parameters))
    }
}

impl<F: Fn(Vec<Var>) -> Var> Gradient for Problem<F> {
    type Param = Vec<f64>;
    type Gradient = Vec<f64>;

    fn gradient(&self, parameters: &Vec<f64>) -> Result<Vec<f64>, Error> {
        Ok(self.0.grad(parameters))
    }
}

/// The objective and the length of its gradient after an iteration.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// The objective.
    pub value: f64,
    /// The length of the gradient.
    pub slope: f64,
}

type Iterate = IterState<Vec<f64>, Vec<f64>, (), (), (), f64>;

/// Moves the progress bar and keeps the history. The bar shows how many of the wanted decimal
/// digits the gradient has lost so far: L-BFGS converges about linearly in them.
struct Watch {
    bar: ProgressBar,
    history: Rc<RefCell<Vec<Progress>>>,
}

impl Observe<Iterate> for Watch {
    fn observe_iter(&mut self, state: &Iterate, _: &KV) -> Result<(), Error> {
        let Some(gradient) = state.get_gradient() else { return Ok(()) };
        let now = Progress { value: state.get_cost(), slope: norm(gradient) };
        let mut history = self.history.borrow_mut();
        let start = history.first().map_or(now.slope, |first| first.slope);
        history.push(now);
        let done = (start / now.slope).ln() / (start / TOLERANCE).ln();
        self.bar.set_position((100.0 * done.clamp(0.0, 1.0)) as u64);
        self.bar.set_message(format!("objective {:.6}, gradient {:.1e}", now.value, now.slope));
        Ok(())
    }

    fn observe_final(&mut self, _: &Iterate) -> Result<(), Error> {
        self.bar.finish();
        Ok(())
    }
}

/// The Euclidean length.
pub fn norm(vector: &[f64]) -> f64 {
    vector.iter().map(|x| x * x).sum::<f64>().sqrt()
}

/// The best parameters for a table, and how the optimiser got there.
pub fn fit(table: &Table) -> Result<(Vec<f64>, Vec<Progress>), Error> {
    let start = vec![0.0; table.features[0].len() + 1];
    let recorded = record(start.clone(), |parameters| objective(&parameters, table));
    let (value, gradient) = recorded.value_and_grad(&start);
    let history = Rc::new(RefCell::new(vec![Progress { value, slope: norm(&gradient) }]));

    let bar = ProgressBar::new(100).with_style(ProgressStyle::with_template("{bar:30} {percent:>3} % {msg}")?);
    let watch = Watch { bar, history: Rc::clone(&history) };
    let solver = LBFGS::new(MoreThuenteLineSearch::new(), 10).with_tolerance_grad(TOLERANCE)?;
    let run = Executor::new(Problem(recorded), solver)
        .configure(|state| state.param(start).max_iters(500))
        .add_observer(watch, ObserverMode::Always)
        .run()?;
    let best = run.state().get_best_param().cloned();
    let best = best.ok_or_else(|| Error::msg("the optimiser found no point"))?;
    let history = history.borrow().clone();
    Ok((best, history))
}

// ------------------------------------------------------------------------------------- picture

const BLUE: RGBColor = RGBColor(0, 114, 178);
const ORANGE: RGBColor = RGBColor(213, 94, 0);
const GREEN: RGBColor = RGBColor(0, 158, 115);
const INK: RGBColor = RGBColor(51, 51, 51);

type Panel<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Drawn = Result<(), Box<dyn std::error::Error>>;

/// The ten measured quantities; the table holds their means, standard errors and worst values.
const QUANTITIES: [&str; 10] = [
    "radius",
    "texture",
    "perimeter",
    "area",
    "smoothness",
    "compactness",
    "concavity",
    "concave points",
    "symmetry",
    "fractal dimension",
];

/// Draws the course of the optimisation, the scores of the samples held out, and the weights.
pub fn draw(path: &Path, parameters: &[f64], history: &[Progress], held_out: &Table) -> Drawn {
    let root = SVGBackend::new(path, (1000, 820)).into_drawing_area();
    root.fill(&WHITE)?;
    let (top, bottom) = root.split_vertically(360);
    let (left, right) = top.split_horizontally(500);
    draw_history(&left, history)?;
    draw_scores(&right, parameters, held_out)?;
    draw_weights(&bottom, &parameters[..parameters.len() - 1])?;
    root.present()?;
    Ok(())
}

fn draw_history(panel: &Panel<'_>, history: &[Progress]) -> Drawn {
    let last = history.len() - 1;
    let mut chart = ChartBuilder::on(panel)
        .caption("Length of the gradient", ("sans-serif", 20, &INK))
        .margin(14)
        .x_label_area_size(42)
        .y_label_area_size(56)
        .build_cartesian_2d(0..last, (TOLERANCE / 10.0..10.0).log_scale())?;
    chart
        .configure_mesh()
        .light_line_style(TRANSPARENT)
        .bold_line_style(INK.mix(0.12))
        .axis_style(INK)
        .x_desc("iteration of L-BFGS")
        .y_label_formatter(&|y| format!("{y:.0e}"))
        .y_labels(6)
        .label_style(("sans-serif", 13, &INK))
        .draw()?;
    let course = || history.iter().enumerate().map(|(k, p)| (k, p.slope));
    chart.draw_series(LineSeries::new(course(), BLUE.stroke_width(2)))?;
    chart.draw_series(course().map(|point| Circle::new(point, 3, BLUE.filled())))?;
    Ok(())
}

fn draw_scores(panel: &Panel<'_>, parameters: &[f64], table: &Table) -> Drawn {
    // Bins of width 1; `counts[class][k]` belongs to the scores from `low + k` on.
    let bins: Vec<i32> = table.features.iter().map(|x| score(parameters, x).floor() as i32).collect();
    let low = bins.iter().copied().min().unwrap_or(0).min(-1);
    let high = bins.iter().copied().max().unwrap_or(0).max(0) + 1;
    let mut counts = vec![vec![0u32; (high - low) as usize]; 2];
    for (&bin, &first) in bins.iter().zip(&table.is_first) {
        counts[usize::from(!first)][(bin - low) as usize] += 1;
    }
    let top = 1.1 * f64::from(counts.iter().flatten().copied().max().unwrap_or(1));
    let mut chart = ChartBuilder::on(panel)
        .caption("Samples held out", ("sans-serif", 20, &INK))
        .margin(14)
        .x_label_area_size(42)
        .y_label_area_size(52)
        .build_cartesian_2d(f64::from(low)..f64::from(high), 0.0..top)?;
    chart
        .configure_mesh()
        .disable_x_mesh()
        .light_line_style(TRANSPARENT)
        .bold_line_style(INK.mix(0.12))
        .axis_style(INK)
        .x_desc("score w·x + b: the logarithm of the odds")
        .y_desc("samples")
        .x_label_formatter(&|x| format!("{x:.0}"))
        .y_label_formatter(&|y| format!("{y:.0}"))
        .label_style(("sans-serif", 13, &INK))
        .draw()?;
    for (class, color) in [(1, BLUE), (0, ORANGE)] {
        let seen = counts[class].iter().zip(low..).filter(|&(&count, _)| count > 0);
        let bars = seen.map(|(&count, bin)| {
            let x = f64::from(bin);
            Rectangle::new([(x + 0.05, 0.0), (x + 0.95, f64::from(count))], color.mix(0.65).filled())
        });
        chart
            .draw_series(bars)?
            .label(&table.classes[class])
            .legend(move |(x, y)| Rectangle::new([(x, y - 5), (x + 12, y + 5)], color.mix(0.65).filled()));
    }
    let threshold = [(0.0, 0.0), (0.0, top)];
    chart.draw_series(LineSeries::new(threshold, INK.stroke_width(1)))?;
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperRight)
        .label_font(("sans-serif", 14, &INK))
        .draw()?;
    Ok(())
}

/// Horizontal bars, three per quantity; to the right is what speaks for class 0.
fn draw_weights(panel: &Panel<'_>, weights: &[f64]) -> Drawn {
    let reach = 1.1 * weights.iter().fold(0.0, |m: f64, w| m.max(w.abs()));
    let rows = QUANTITIES.len() as f64;
    let mut chart = ChartBuilder::on(panel)
        .caption("Weights: to the right what speaks for a malignant sample", ("sans-serif", 20, &INK))
        .margin(14)
        .x_label_area_size(28)
        .y_label_area_size(140)
        .build_cartesian_2d(-reach..reach, rows..0.0)?;
    chart
        .configure_mesh()
        .disable_y_mesh()
        .disable_y_axis()
        .light_line_style(TRANSPARENT)
        .bold_line_style(INK.mix(0.12))
        .axis_style(INK)
        // + 0.0: the middle is 0, not -0.
        .x_label_formatter(&|x| format!("{:.1}", (x * 10.0).round() / 10.0 + 0.0))
        .label_style(("sans-serif", 13, &INK))
        .draw()?;
    for (part, (name, color)) in [("mean", BLUE), ("standard error", GREEN), ("worst", ORANGE)].into_iter().enumerate()
    {
        let bars = (0..QUANTITIES.len()).map(|row| {
            let y = row as f64 + 0.14 + 0.24 * part as f64;
            Rectangle::new([(0.0, y), (weights[part * QUANTITIES.len() + row], y + 0.22)], color.filled())
        });
        chart
            .draw_series(bars)?
            .label(name)
            .legend(move |(x, y)| Rectangle::new([(x, y - 5), (x + 12, y + 5)], color.filled()));
    }
    chart.draw_series(LineSeries::new([(0.0, 0.0), (0.0, rows)], INK.stroke_width(1)))?;
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::LowerRight)
        .label_font(("sans-serif", 14, &INK))
        .draw()?;
    let middle_right = Pos::new(HPos::Right, VPos::Center);
    let style = ("sans-serif", 14).into_text_style(panel).color(&INK).pos(middle_right);
    for (row, name) in QUANTITIES.iter().enumerate() {
        let (_, y) = chart.backend_coord(&(0.0, row as f64 + 0.5));
        let (_, top) = panel.get_base_pixel();
        panel.draw(&Text::new(*name, (146, y - top), style.clone()))?;
    }
    Ok(())
}

// ----------------------------------------------------------------------------------------- run

/// Reads the table that comes with the example.
pub fn load() -> Result<Table, Box<dyn std::error::Error>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("data/breast_cancer.csv");
    let file = std::fs::File::open(&path).map_err(|e| format!("{}: {e}", path.display()))?;
    Ok(read_table(file).map_err(|e| format!("{}: {e}", path.display()))?)
}

/// Fits the model, prints how good it is, and draws the picture.
pub fn report(out: &mut impl Write, picture: &Path) -> Result<(), Box<dyn std::error::Error>> {
    let [training, held_out] = load()?.split();
    let (samples, features) = (training.features.len(), training.features[0].len());
    writeln!(out, "{samples} training samples, {} held out, {features} features.", held_out.features.len())?;

    let start = std::time::Instant::now();
    let (parameters, history) = fit(&training)?;
    let elapsed = start.elapsed();
    let (first, last) = (history[0], history[history.len() - 1]);
    writeln!(out, "L-BFGS: {} iterations in {elapsed:.1?}.", history.len() - 1)?;
    writeln!(out, "  objective {:>10.6} -> {:.9}", first.value, last.value)?;
    writeln!(out, "  gradient  {:>10.1e} -> {:.1e}", first.slope, last.slope)?;

    for (name, table) in [("training", &training), ("held out", &held_out)] {
        let counts = confusion(&parameters, table);
        let [a, b] = &table.classes;
        writeln!(out, "\n{name}: accuracy {:.2} %", 100.0 * accuracy(counts))?;
        writeln!(out, "  {:>20}{:>12}{:>12}", "", format!("as {a}"), format!("as {b}"))?;
        for (class, row) in [a, b].into_iter().zip(counts) {
            writeln!(out, "  {class:>20}{:>12}{:>12}", row[0], row[1])?;
        }
    }

    if let Some(folder) = picture.parent() {
        std::fs::create_dir_all(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    }
    draw(picture, &parameters, &history, &held_out)?;
    writeln!(out, "\nThe picture is in {}.", picture.display())?;
    Ok(())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let picture = std::env::args_os().nth(1).map_or_else(|| PathBuf::from("target/fit.svg"), PathBuf::from);
    report(&mut std::io::stdout().lock(), &picture)
}
