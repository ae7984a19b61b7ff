//! An inverse problem: what a plate looked like before its heat spread.
//!
//! A field of temperatures on a square grid spreads and cools, `u <- u + 0.2 (sum of the four neighbours - 4 u) - 0.05 u^3`,
//! with zero outside. It is measured after 100 such steps, with noise of a thousandth. What was it before the first one? Two
//! fields that differ in fine detail are nearly the same later, so nothing can be computed backwards. Instead the field before
//! is sought that leads to what was measured, by L-BFGS from the crate `argmin`, with the gradient through all steps. It is
//! known to lie between 0 and 1, so it is the sigmoid of what is sought; and differences of neighbours are held small, as
//! otherwise it follows the noise (Tikhonov's regularisation).
//!
//! The steps are one loop (`fori`). Its reverse would keep every step; a limit of memory makes it keep fewer and compute the
//! others again, which changes no bit of the gradient. The example checks that. The pictures of before, measured and recovered
//! go to `target/inverse_heat.png`, or into the folder given as argument.
//!
//! Run it with `cargo run --release -p wengert --example inverse_heat`.

use std::cell::RefCell;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use argmin::core::observers::{Observe, ObserverMode};
use argmin::core::{CostFunction, Error, Executor, Gradient, IterState, KV, State};
use argmin::solver::linesearch::MoreThuenteLineSearch;
use argmin::solver::quasinewton::LBFGS;
use embedded_graphics::mono_font::MonoTextStyle;
use embedded_graphics::mono_font::ascii::FONT_10X20;
use embedded_graphics::pixelcolor::Rgb888;
use embedded_graphics::prelude::*;
use embedded_graphics::primitives::Rectangle;
use embedded_graphics::text::{Alignment, Text};
use indicatif::{ProgressBar, ProgressStyle};
use wengert::prelude::*;
use wengert::{Compile, Compiled, Key};

type Failure = Box<dyn std::error::Error>;

/// The deviation of the noise of the measurement.
const NOISE: f64 = 1e-3;
/// The weight of the squares of differences between neighbours.
const SMOOTH: f64 = 5e-5;

/// What is solved.
#[derive(Clone, Copy, Debug)]
pub struct Setup {
    /// Rows of the grid, and columns.
    pub side: usize,
    /// How many steps of time lie between the field and its measurement.
    pub steps: i64,
    /// Bytes that a gradient may take.
    pub memory: usize,
    /// Iterations of the optimiser.
    pub iterations: u64,
}

impl Setup {
    /// That of the command line.
    pub const FULL: Setup = Setup { side: 128, steps: 100, memory: 4 << 20, iterations: 250 };
}

// --------------------------------------------------------------------------------------- model

/// The field after some steps.
pub fn spread(u: &Tensor, steps: i64) -> Tensor {
    let side = u.shape()[0] as isize;
    fori(0..steps, u, |_, u| {
        let wide = u.pad(&[(1, 1, 0), (1, 1, 0)], 0.0);
        let part = |row: isize, column: isize| wide.slice((row..row + side, column..column + side));
        let neighbours = part(0, 1) + part(2, 1) + part(1, 0) + part(1, 2);
        &u + (neighbours - &u * 4.0) * 0.2 - u.powi(3) * 0.05
    })
}

/// How far the field of these logits is from a measurement, with what its differences of neighbours cost; and the gradient by
/// the logits.
pub fn misfit((logits, measured): (Tensor, Tensor), steps: i64) -> (Tensor, Tensor) {
    value_and_grad(&logits, |logits| {
        let u = logits.sigmoid();
        let differs = (spread(&u, steps) - &measured).square().sum();
        let down = u.slice((1.., ..)) - u.slice((..-1, ..));
        let right = u.slice((.., 1..)) - u.slice((.., ..-1));
        (differs + (down.square().sum() + right.square().sum()) * SMOOTH) * 0.5
    })
}

/// The field to be found: a letter, a ring and a blob, between 0 and 1.
pub fn before(side: usize) -> Tensor {
    let letter = [(0.1, 0.14), (0.25, 0.62), (0.4, 0.28), (0.55, 0.62), (0.7, 0.14)];
    let heat = |x: f64, y: f64| {
        let strokes = letter.windows(2).map(|ends| distance((x, y), ends[0], ends[1]));
        let ring = ((x - 0.79f64).hypot(y - 0.76) - 0.12).abs();
        let blob = 0.75 * (-((x - 0.25f64).powi(2) + (y - 0.83).powi(2)) / 0.008).exp();
        let edge = |distance: f64| ((0.035 - distance) / 0.006).sigmoid();
        edge(strokes.fold(f64::INFINITY, f64::min)).max(0.8 * edge(ring)).max(blob)
    };
    let place = |i: usize| (i as f64 + 0.5) / side as f64;
    let heats = (0..side * side).map(|i| heat(place(i % side), place(i / side)));
    Tensor::from_vec(&[side, side], heats.collect::<Vec<f64>>())
}

/// How far a point is from the line between two others.
fn distance(point: (f64, f64), from: (f64, f64), to: (f64, f64)) -> f64 {
    let (dx, dy) = (to.0 - from.0, to.1 - from.1);
    let (x, y) = (point.0 - from.0, point.1 - from.1);
    let along = ((x * dx + y * dy) / (dx * dx + dy * dy)).clamp(0.0, 1.0);
    (x - along * dx).hypot(y - along * dy)
}

/// The length of the difference of two fields, relative to that of the second.
pub fn relative_error(got: &Tensor, wanted: &Tensor) -> f64 {
    ((got - wanted).square().sum().item() / wanted.square().sum().item()).sqrt()
}

// --------------------------------------------------------------------------------- optimisation

/// The misfit at a point, and its gradient.
#[derive(Clone, Default)]
struct Evaluated {
    logits: Vec<f64>,
    misfit: f64,
    gradient: Vec<f64>,
}

/// The misfit as `argmin` sees it, which asks for value and gradient one after the other: the last point is kept.
struct Problem<'a, F> {
    compiled: &'a Compiled<(Tensor, Tensor), (Tensor, Tensor), F>,
    measured: &'a Tensor,
    last: RefCell<Evaluated>,
}

impl<F: Fn((Tensor, Tensor)) -> (Tensor, Tensor)> Problem<'_, F> {
    fn at(&self, logits: &[f64]) -> Result<Evaluated, Error> {
        if self.last.borrow().logits != logits {
            let field = Tensor::from_vec(self.measured.shape(), logits.to_vec());
            let (misfit, gradient) = self.compiled.try_call((&field, self.measured))?;
            let point = Evaluated { logits: logits.to_vec(), misfit: misfit.item(), gradient: gradient.to_vec() };
            self.last.replace(point);
        }
        Ok(self.last.borrow().clone())
    }
}

impl<F: Fn((Tensor, Tensor)) -> (Tensor, Tensor)> CostFunction for Problem<'_, F> {
    type Param = Vec<f64>;
    type Output = f64;

    fn cost(&self, logits: &Vec<f64>) -> Result<f64, Error> {
        Ok(self.at(logits)?.misfit)
    }
}

impl<F: Fn((Tensor, Tensor)) -> (Tensor, Tensor)> Gradient for Problem<'_, F> {
    type Param = Vec<f64>;
    type Gradient = Vec<f64>;

    fn gradient(&self, logits: &Vec<f64>) -> Result<Vec<f64>, Error> {
        Ok(self.at(logits)?.gradient)
    }
}

/// Moves the progress bar.
struct Watch(ProgressBar);

impl Observe<IterState<Vec<f64>, Vec<f64>, (), (), (), f64>> for Watch {
    fn observe_iter(&mut self, state: &IterState<Vec<f64>, Vec<f64>, (), (), (), f64>, _: &KV) -> Result<(), Error> {
        self.0.set_position(state.get_iter());
        self.0.set_message(format!("misfit {:.3e}", state.get_cost()));
        Ok(())
    }
}

/// The logits of the field that leads to what was measured, sought from one half everywhere.
fn recover<F: Fn((Tensor, Tensor)) -> (Tensor, Tensor)>(
    compiled: &Compiled<(Tensor, Tensor), (Tensor, Tensor), F>,
    measured: &Tensor,
    iterations: u64,
) -> Result<Tensor, Failure> {
    let style = ProgressStyle::with_template("{bar:30} iteration {pos:>3} of {len}, {elapsed}; {msg}")?;
    let bar = ProgressBar::new(iterations).with_style(style);
    let solver = LBFGS::new(MoreThuenteLineSearch::new(), 10);
    let run = Executor::new(Problem { compiled, measured, last: RefCell::default() }, solver)
        .configure(|state| state.param(vec![0.0; measured.size()]).max_iters(iterations))
        .add_observer(Watch(bar.clone()), ObserverMode::Always)
        .run()?;
    bar.finish();
    let best = run.state().get_best_param().ok_or("the optimiser found no point")?;
    Ok(Tensor::from_vec(measured.shape(), best.clone()))
}

// ------------------------------------------------------------------------------------- picture

const INK: Rgb888 = Rgb888::new(51, 51, 51);
const MARGIN: usize = 24;
const TITLE: usize = 44;
const SCALE: usize = 64;

/// A picture in memory.
struct Canvas {
    width: usize,
    height: usize,
    bytes: Vec<u8>,
}

impl Canvas {
    fn new(width: usize, height: usize) -> Self {
        Canvas { width, height, bytes: vec![255; 3 * width * height] }
    }

    fn write(&self, path: &Path) -> Result<(), Failure> {
        let file = File::create(path).map_err(|e| format!("{}: {e}", path.display()))?;
        let mut encoder = png::Encoder::new(BufWriter::new(file), self.width as u32, self.height as u32);
        encoder.set_color(png::ColorType::Rgb);
        let mut writer = encoder.write_header()?;
        writer.write_image_data(&self.bytes)?;
        Ok(writer.finish()?)
    }
}

impl OriginDimensions for Canvas {
    fn size(&self) -> Size {
        Size::new(self.width as u32, self.height as u32)
    }
}

impl DrawTarget for Canvas {
    type Color = Rgb888;
    type Error = std::convert::Infallible;

    fn draw_iter<I: IntoIterator<Item = Pixel<Rgb888>>>(&mut self, pixels: I) -> Result<(), Self::Error> {
        for Pixel(Point { x, y }, color) in pixels {
            if let (Ok(x), Ok(y)) = (usize::try_from(x), usize::try_from(y))
                && x < self.width
                && y < self.height
            {
                let place = 3 * (y * self.width + x);
                self.bytes[place..place + 3].copy_from_slice(&[color.r(), color.g(), color.b()]);
            }
        }
        Ok(())
    }
}

/// Draws fields side by side, each under its title, and the scale of their colours.
pub fn draw(path: &Path, panels: &[(&str, &Tensor)]) -> Result<(), Failure> {
    let side = panels[0].1.shape()[0];
    // Whole pixels for every cell.
    let zoom = (384 / side).max(1);
    let (panel, height) = (side * zoom, TITLE + side * zoom + MARGIN);
    let mut canvas = Canvas::new(MARGIN + panels.len() * (panel + MARGIN) + SCALE, height);
    for (k, (title, field)) in panels.iter().enumerate() {
        let left = MARGIN + k * (panel + MARGIN);
        write(&mut canvas, title, left + panel / 2, 30)?;
        for (cell, heat) in field.to_vec().into_iter().enumerate() {
            let corner = (left + cell % side * zoom, TITLE + cell / side * zoom);
            fill(&mut canvas, corner, (zoom, zoom), color(heat))?;
        }
    }
    let left = MARGIN + panels.len() * (panel + MARGIN);
    for row in 0..panel {
        fill(&mut canvas, (left, TITLE + row), (16, 1), color(1.0 - row as f64 / panel as f64))?;
    }
    for (heat, row) in [("1.0", 0), ("0.5", panel / 2), ("0.0", panel)] {
        write(&mut canvas, heat, left + 36, TITLE + row + 6)?;
    }
    canvas.write(path)
}

/// From black, which is cold, to yellow; what lies outside of 0 to 1 has the colour of the end.
fn color(heat: f64) -> Rgb888 {
    let colorous::Color { r, g, b } = colorous::INFERNO.eval_continuous(heat.clamp(0.0, 1.0));
    Rgb888::new(r, g, b)
}

fn fill(
    canvas: &mut Canvas,
    (left, top): (usize, usize),
    (width, height): (usize, usize),
    color: Rgb888,
) -> Result<(), Failure> {
    let area = Rectangle::new(Point::new(left as i32, top as i32), Size::new(width as u32, height as u32));
    Ok(canvas.fill_solid(&area, color)?)
}

fn write(canvas: &mut Canvas, text: &str, middle: usize, bottom: usize) -> Result<(), Failure> {
    let place = Point::new(middle as i32, bottom as i32);
    Text::with_alignment(text, place, MonoTextStyle::new(&FONT_10X20, INK), Alignment::Center).draw(canvas)?;
    Ok(())
}

// ----------------------------------------------------------------------------------------- run

/// Recovers the field, prints how well and in what memory, and draws it. Gives the relative errors of the field and of what
/// follows from it.
pub fn report(out: &mut impl Write, folder: &Path, setup: Setup) -> Result<[f64; 2], Failure> {
    let Setup { side, steps, memory, iterations } = setup;
    let truth = before(side);
    let exact = spread(&truth, steps);
    let measured = &exact + Key::new(12).normal(&[side, side]) * NOISE;
    writeln!(out, "{side} x {side} temperatures, {steps} steps, measured with noise of {NOISE}.")?;

    // Each thread has memory of its own: with two the figures are the same on every machine.
    let plain = Compile::new().threads(2).function(|x: (Tensor, Tensor)| misfit(x, steps));
    let planned = Compile::new().threads(2).memory(memory).function(|x: (Tensor, Tensor)| misfit(x, steps));
    let start = Tensor::zeros(&[side, side]);
    let megabytes = |bytes: usize| bytes as f64 / 1e6;
    let [most, few] = [plain.plan((&start, &measured))?, planned.plan((&start, &measured))?].map(|p| p.peak_bytes());
    writeln!(out, "A gradient takes {:.2} MB if every step is kept.", megabytes(most))?;
    writeln!(out, "It may take {:.2} MB, and is planned to take {:.2} MB.", megabytes(memory), megabytes(few))?;
    let [all, less] = [plain.call((&start, &measured)), planned.call((&start, &measured))];
    if all.1.to_vec() != less.1.to_vec() {
        return Err("the gradient within the limit differs from the one without".into());
    }
    writeln!(out, "Both gradients are the same to the last bit.")?;

    let begin = std::time::Instant::now();
    let logits = recover(&planned, &measured, iterations)?;
    writeln!(out, "L-BFGS: {iterations} iterations in {:.1?}.", begin.elapsed())?;
    let found = logits.sigmoid();
    let again = spread(&found, steps);
    let errors = [relative_error(&found, &truth), relative_error(&again, &exact)];
    let apart = (&again - &measured).square().mean().item().sqrt();
    writeln!(out, "  what follows from the field is {apart:.5} from the measurement, on a root mean square")?;
    writeln!(out, "  relative error of the field recovered {:.2} %", 100.0 * errors[0])?;
    writeln!(out, "  relative error of what follows from it {:.2} %", 100.0 * errors[1])?;
    writeln!(
        out,
        "  relative error of taking the measurement for the field {:.2} %",
        100.0 * relative_error(&measured, &truth)
    )?;

    std::fs::create_dir_all(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let picture = folder.join("inverse_heat.png");
    let title = format!("measured after {steps} steps");
    let wrong = (&found - &truth).abs();
    draw(
        &picture,
        &[("before", &truth), (&title, &measured), ("recovered", &found), ("|recovered - before|", &wrong)],
    )?;
    writeln!(out, "\nThe picture is in {}.", picture.display())?;
    Ok(errors)
}

fn main() -> Result<(), Failure> {
    let folder = std::env::args_os().nth(1).map_or_else(|| PathBuf::from("target"), PathBuf::from);
    report(&mut std::io::stdout().lock(), &folder, Setup::FULL)?;
    Ok(())
}
