//! Which of ten measurements tell how diabetes goes on? A Gaussian process that finds out by the widths of its kernel.
//!
//! The progression of 295 patients is modelled as a function of ten measurements, normal with the covariance
//! `a^2 exp(-1/2 sum over k of ((x_k - x'_k) / l_k)^2)`, seen with noise (C. E. Rasmussen and C. K. I. Williams, *Gaussian Processes for
//! Machine Learning*, 2006, chapter 5). Where the width `l_k` is large, measurement k does not matter. The twelve logarithms of
//! widths, height and noise are found by Newton's method with the exact Hessian of the likelihood, which goes through the
//! Cholesky factor of a 295 by 295 matrix; a broad prior on them keeps the widths of what does not matter finite.
//! 147 other patients then say how good the model is, beside a linear one.
//!
//! Run it with `cargo run --release -p wengert --features linalg --example relevance`; the picture goes to
//! `target/relevance.svg`, or to the file given as argument.

#[path = "kalman.rs"]
#[expect(dead_code, reason = "this example takes Newton's method from there")]
pub mod kalman;

use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use kalman::newton::{self, Minimum};
use plotters::prelude::*;
use wengert::Array;
use wengert::linalg::{Side, Triangle, TriangularSolve};
use wengert::prelude::*;

type Failure = Box<dyn std::error::Error>;

/// What was measured of each patient.
pub const NAMES: [&str; 10] = [
    "age",
    "sex",
    "body mass index",
    "blood pressure",
    "cholesterol",
    "low density",
    "high density",
    "total / high density",
    "triglycerides",
    "glucose",
];
/// The deviation of the prior of every logarithm, around ln 2 for widths, and 0 for height and noise.
const PRIOR: f64 = 1.5;

// ---------------------------------------------------------------------------------------- data

/// Patients: their measurements, and how the disease went on, both with mean 0 and variance 1 over those that train.
pub struct Patients {
    /// A row for each.
    pub x: Tensor,
    /// A number for each.
    pub y: Tensor,
}

/// The patients that train and those held out: every third one. And the deviation of the progression in its own units.
///
/// # Errors
/// If the files are not there or hold something else.
pub fn load() -> Result<([Patients; 2], f64), Failure> {
    let table = |name: &str, width: usize| -> Result<Vec<Vec<f64>>, Failure> {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("data").join(name);
        let mut text = String::new();
        let file = File::open(&path).map_err(|e| format!("{}: {e}", path.display()))?;
        flate2::read::GzDecoder::new(file).read_to_string(&mut text)?;
        let row = |(line, text): (usize, &str)| -> Result<Vec<f64>, Failure> {
            let numbers = text.split_whitespace().map(str::parse).collect::<Result<Vec<f64>, _>>();
            let numbers = numbers.map_err(|e| format!("{}, line {}: {e}", path.display(), line + 1))?;
            if numbers.len() != width || !numbers.iter().all(|x| x.is_finite()) {
                return Err(
                    format!("{}, line {}: {width} finite numbers are expected", path.display(), line + 1).into()
                );
            }
            Ok(numbers)
        };
        text.lines().enumerate().map(row).collect()
    };
    let (x, y) = (table("diabetes_data_raw.csv.gz", 10)?, table("diabetes_target.csv.gz", 1)?);
    if x.len() != y.len() || x.len() < 6 {
        return Err(format!("{} patients, and how the disease of {} went on", x.len(), y.len()).into());
    }
    let whole = [x, y].map(|rows| Tensor::from_vec(&[rows.len(), rows[0].len()], rows.concat()));
    let chosen = |held_out: bool| -> Tensor {
        let places: Vec<i64> = (0..whole[0].shape()[0] as i64).filter(|i| (i % 3 == 2) == held_out).collect();
        Tensor::from_array(Array::new(&[places.len()], places))
    };
    let scale = whole.each_ref().map(|all| {
        let rows = all.take(&chosen(false), 0);
        let mean = rows.mean_over(0);
        let deviation = (rows - &mean).square().mean_over(0).sqrt();
        (mean, deviation)
    });
    let patients = |held_out: bool| {
        let part = |k: usize| (whole[k].take(&chosen(held_out), 0) - &scale[k].0) / &scale[k].1;
        Patients { x: part(0), y: part(1).reshape(-1) }
    };
    Ok(([patients(false), patients(true)], scale[1].1.item()))
}

// --------------------------------------------------------------------------------------- model

/// The covariances between rows of `a` and rows of `b`, from the logarithms of widths, height and noise.
pub fn covariances(logarithms: &Tensor, a: &Tensor, b: &Tensor) -> Tensor {
    let widths = logarithms.slice(..-2).exp();
    let (a, b) = (a / &widths, b / &widths);
    let squares = |x: &Tensor| x.square().sum_over(1);
    let distances = squares(&a).expand_dims(1) + squares(&b) - 2.0 * a.matmul(&b.t());
    (2.0 * logarithms.slice(-2) - 0.5 * distances).exp()
}

/// The lower factor of the covariance of what is seen.
fn factor(logarithms: &Tensor, x: &Tensor) -> Tensor {
    let noise = (2.0 * logarithms.slice(-1)).exp();
    (covariances(logarithms, x, x) + noise * Tensor::eye(x.shape()[0])).cholesky()
}

/// Minus the logarithm of the density of what is seen and of the parameters.
pub fn cost(logarithms: &Tensor, seen: &Patients) -> Tensor {
    let lower = factor(logarithms, &seen.x);
    let z = lower.solve_triangular(&seen.y, TriangularSolve::new(Side::Left, Triangle::Lower));
    let likelihood = 0.5 * z.square().sum() + lower.diagonal(0).ln().sum();
    let width = logarithms.slice(..-2) - std::f64::consts::LN_2;
    likelihood + 0.5 / (PRIOR * PRIOR) * (width.square().sum() + logarithms.slice(-2..).square().sum())
}

/// The most likely parameters.
///
/// # Errors
/// If the search does not end.
pub fn fit(seen: &Patients) -> Result<Minimum, Failure> {
    let parameters = seen.x.shape()[1] + 2;
    let (x, y) = (seen.x.clone(), seen.y.clone());
    let derivatives = compile(move |logarithms: Tensor| {
        let seen = Patients { x: x.clone(), y: y.clone() };
        value_grad_and_hessian(&logarithms, |logarithms| cost(&logarithms, &seen))
    });
    newton::minimise(Tensor::zeros(&[parameters]), |x| derivatives.call(x))
}

/// The mean and the deviation of what will be seen at rows of `x`.
pub fn predict(logarithms: &Tensor, seen: &Patients, x: &Tensor) -> [Tensor; 2] {
    let lower = factor(logarithms, &seen.x);
    let half = |b: &Tensor| lower.solve_triangular(b, TriangularSolve::new(Side::Left, Triangle::Lower));
    let between = half(&covariances(logarithms, &seen.x, x));
    let mean = half(&seen.y).matmul(&between);
    let variance = (2.0 * logarithms.slice(-2..)).exp().sum() - between.square().sum_over(0);
    [mean, variance.sqrt()]
}

/// What a linear model predicts, by least squares.
pub fn linear(seen: &Patients, x: &Tensor) -> Tensor {
    x.matmul(&seen.x.lstsq(&seen.y))
}

/// The root of the mean square of a difference.
pub fn error(got: &Tensor, wanted: &Tensor) -> f64 {
    (got - wanted).square().mean().item().sqrt()
}

// ------------------------------------------------------------------------------------- picture

const BLUE: RGBColor = RGBColor(0, 114, 178);
const ORANGE: RGBColor = RGBColor(213, 94, 0);
const INK: RGBColor = RGBColor(51, 51, 51);

/// Draws what was predicted beside what came, and how much each measurement matters.
fn draw(path: &Path, predicted: [&[f64]; 2], came: &[f64], relevance: &[f64]) -> Result<(), Failure> {
    let root = SVGBackend::new(path, (1000, 460)).into_drawing_area();
    root.fill(&WHITE)?;
    let (left, right) = root.split_horizontally(520);
    let mut chart = ChartBuilder::on(&left)
        .caption("Progression of the patients held out", ("sans-serif", 20, &INK))
        .margin(14)
        .x_label_area_size(42)
        .y_label_area_size(52)
        .build_cartesian_2d(-2.5..2.7, -2.5..2.7)?;
    chart
        .configure_mesh()
        .light_line_style(TRANSPARENT)
        .bold_line_style(INK.mix(0.12))
        .axis_style(INK)
        .x_desc("predicted, in deviations; bars of one deviation")
        .y_desc("measured")
        .label_style(("sans-serif", 13, &INK))
        .draw()?;
    let [means, deviations] = predicted;
    let bars = means.iter().zip(deviations).zip(came);
    chart.draw_series(
        bars.map(|((&m, &d), &y)| PathElement::new([(m - d, y), (m + d, y)], BLUE.mix(0.25).stroke_width(1))),
    )?;
    chart.draw_series(means.iter().zip(came).map(|(&m, &y)| Circle::new((m, y), 3, BLUE.filled())))?;
    chart.draw_series(LineSeries::new([(-2.5, -2.5), (2.7, 2.7)], INK.stroke_width(1)))?;

    let reach = 1.1 * relevance.iter().copied().fold(0.0, f64::max);
    let mut chart = ChartBuilder::on(&right)
        .caption("What matters: 1 / width", ("sans-serif", 20, &INK))
        .margin(14)
        .x_label_area_size(42)
        .y_label_area_size(150)
        .build_cartesian_2d(0.0..reach, -0.6..NAMES.len() as f64 - 0.4)?;
    // The first one on top.
    let last = NAMES.len() as f64 - 1.0;
    chart
        .configure_mesh()
        .disable_y_mesh()
        .light_line_style(TRANSPARENT)
        .bold_line_style(INK.mix(0.12))
        .axis_style(INK)
        .x_desc("1 / width, in deviations of the measurement")
        .y_labels(NAMES.len())
        .y_label_formatter(&|row| NAMES[(last - row).round().clamp(0.0, last) as usize].to_owned())
        .label_style(("sans-serif", 13, &INK))
        .draw()?;
    chart.draw_series(relevance.iter().enumerate().map(|(row, &relevance)| {
        let middle = last - row as f64;
        Rectangle::new([(0.0, middle - 0.35), (relevance, middle + 0.35)], ORANGE.filled())
    }))?;
    root.present()?;
    Ok(())
}

// ----------------------------------------------------------------------------------------- run

/// Fits the model, prints how good it is, and draws it. Gives the errors of the process and of the linear model.
///
/// # Errors
/// If the data are not there, the search does not end, or the picture cannot be written.
pub fn report(out: &mut impl Write, picture: &Path) -> Result<[f64; 2], Failure> {
    let ([seen, held_out], unit) = load()?;
    writeln!(out, "{} patients train, {} are held out.", seen.y.size(), held_out.y.size())?;
    let begin = std::time::Instant::now();
    let found = fit(&seen)?;
    let (steps, elapsed) = (found.course.len() - 1, begin.elapsed());
    writeln!(out, "Newton's method with the exact Hessian: {steps} steps in {elapsed:.1?}.")?;
    for (k, [value, slope]) in found.course.iter().enumerate() {
        writeln!(out, "  {k:>3}  cost {value:.9}  gradient {slope:.1e}")?;
    }
    let (widths, deviations) = (found.point.exp().to_vec(), found.deviations());
    writeln!(out, "\n{:>22}{:>12}", "", "1 / width")?;
    for ((name, width), deviation) in NAMES.iter().zip(&widths).zip(&deviations) {
        writeln!(out, "{name:>22}{:>12.3}   within a factor of {:.1}", 1.0 / width, deviation.exp())?;
    }
    let [means, spread] = predict(&found.point, &seen, &held_out.x);
    let errors = [error(&means, &held_out.y), error(&linear(&seen, &held_out.x), &held_out.y)];
    writeln!(out, "\nerror of the process, held out  {:.2}", unit * errors[0])?;
    writeln!(out, "error of a linear model         {:.2}", unit * errors[1])?;
    let (means, spread, came) = (means.to_vec(), spread.to_vec(), held_out.y.to_vec());
    let within = means.iter().zip(&spread).zip(&came).filter(|((m, d), y)| (*m - *y).abs() < 2.0 * *d).count();
    writeln!(out, "within two of the predicted deviations: {within} of {}", came.len())?;

    if let Some(folder) = picture.parent() {
        std::fs::create_dir_all(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    }
    let relevance: Vec<f64> = widths[..NAMES.len()].iter().map(|width| 1.0 / width).collect();
    draw(picture, [&means, &spread], &came, &relevance)?;
    writeln!(out, "The picture is in {}.", picture.display())?;
    Ok(errors.map(|error| unit * error))
}

fn main() -> Result<(), Failure> {
    let picture = std::env::args_os().nth(1).map_or_else(|| PathBuf::from("target/relevance.svg"), PathBuf::from);
    report(&mut std::io::stdout().lock(), &picture).map(drop)
}
