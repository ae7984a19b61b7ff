//! Hand-written digits: a network trained on real images, saved in a file and read again.
//!
//! 1,797 grey images of 8 by 8 pixels show one digit each. The network has 64 inputs, 64 hidden units and 10 outputs;
//! its parameters are a struct of layers, and so is their gradient. It learns four fifths of the images with Adam, in
//! batches of 64, and is judged by the others.
//!
//! Before the first step the gradient is compared with central differences. After every epoch all that training needs goes
//! to the file `digits.safetensors`, which other frameworks read: the parameters, the optimiser, the key that decides the order
//! of the images, the losses so far. Stop the program when you like: with `--resume` it goes on from there, and ends with the
//! bits of a run that was not stopped. The course of the loss is drawn to `target/digits.svg`, or into the folder given as
//! argument.
//!
//! Run it with `cargo run --release -p wengert --features safetensors --example digits -- --resume`.

use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use indicatif::{ProgressBar, ProgressStyle};
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use wengert::nn::{Init, Linear};
use wengert::optim::Adam;
use wengert::prelude::*;
use wengert::{Key, TreeMath, files};

type Failure = Box<dyn std::error::Error>;

/// How many pixels an image has.
pub const PIXELS: usize = 64;
/// How many digits there are.
pub const CLASSES: usize = 10;
const HIDDEN: usize = 64;
const BATCH: usize = 64;

// ---------------------------------------------------------------------------------------- data

/// Images and the digits they show.
#[derive(Clone, Debug)]
pub struct Digits {
    /// One row of pixels per image, from 0 to 1.
    pub images: Tensor,
    /// The digit of every image.
    pub labels: Tensor,
}

impl Digits {
    /// How many there are.
    pub fn count(&self) -> usize {
        self.labels.size()
    }

    /// Those with these numbers.
    pub fn choose(&self, numbers: &Tensor) -> Digits {
        Digits { images: self.images.take(numbers, 0), labels: self.labels.take(numbers, 0) }
    }

    /// Four fifths to learn from and one fifth to judge by, in an order that the key decides.
    pub fn split(&self, key: &Key) -> [Digits; 2] {
        let order = shuffled(self.count(), key);
        let cut = (self.count() * 4 / 5) as isize;
        [self.choose(&order.slice(..cut)), self.choose(&order.slice(cut..))]
    }
}

/// The numbers below `count` in an order that the key decides.
pub fn shuffled(count: usize, key: &Key) -> Tensor {
    key.uniform(&[count]).argsort(0)
}

/// Reads lines of 64 pixels from 0 to 16 and a digit.
pub fn read_digits(input: impl Read) -> Result<Digits, String> {
    // `flexible`: a line of another length is our error, with a better message.
    let lines = csv::ReaderBuilder::new().has_headers(false).flexible(true).from_reader(input).into_records();
    let (mut pixels, mut labels) = (Vec::new(), Vec::new());
    for (record, line) in lines.zip(1..) {
        let record = record.map_err(|error| format!("line {line}: {error}"))?;
        let numbers: Result<Vec<u8>, String> = record
            .iter()
            .map(|text| text.parse().map_err(|_| format!("line {line}: `{text}` is not a number from 0 to 255")))
            .collect();
        match &numbers?[..] {
            [image @ .., label] if image.len() == PIXELS => {
                if image.iter().any(|&pixel| pixel > 16) || usize::from(*label) >= CLASSES {
                    return Err(format!("line {line}: pixels are 0 to 16, digits 0 to 9"));
                }
                pixels.extend(image.iter().map(|&pixel| f64::from(pixel) / 16.0));
                labels.push(i64::from(*label));
            }
            other => {
                return Err(format!("line {line}: {} numbers where 64 pixels and a digit are expected", other.len()));
            }
        }
    }
    Ok(Digits { images: Tensor::from_vec(&[labels.len(), PIXELS], pixels), labels: Tensor::from(labels) })
}

/// Reads the images that come with the example.
pub fn load() -> Result<Digits, Failure> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("data/digits.csv.gz");
    let file = std::fs::File::open(&path).map_err(|e| format!("{}: {e}", path.display()))?;
    Ok(read_digits(flate2::read::GzDecoder::new(file)).map_err(|e| format!("{}: {e}", path.display()))?)
}

// --------------------------------------------------------------------------------------- model

/// The network's parameters.
#[derive(Tree, Clone, Debug)]
pub struct Network {
    /// From the pixels to the hidden units.
    pub hidden: Linear,
    /// From these to the logits of the digits.
    pub output: Linear,
}

impl Network {
    /// At random.
    pub fn new(key: &Key) -> Self {
        let [first, second] = key.split();
        let layer = |inputs, outputs, key| Linear::with_init(inputs, outputs, Init::He, key);
        Network { hidden: layer(PIXELS, HIDDEN, &first), output: layer(HIDDEN, CLASSES, &second) }
    }

    /// A row of logits for every image.
    pub fn logits(&self, images: &Tensor) -> Tensor {
        self.output.apply(&self.hidden.apply(images).relu())
    }

    /// The mean cross entropy.
    pub fn loss(&self, digits: &Digits) -> Tensor {
        self.logits(&digits.images).softmax_cross_entropy(&digits.labels).mean()
    }

    /// How often which digit (row) is taken for which (column).
    pub fn confusion(&self, digits: &Digits) -> [[usize; CLASSES]; CLASSES] {
        let mut counts = [[0; CLASSES]; CLASSES];
        let guesses = self.logits(&digits.images).argmax(1).to_vec();
        for (label, guess) in digits.labels.to_vec().into_iter().zip(guesses) {
            counts[label as usize][guess as usize] += 1;
        }
        counts
    }
}

/// The share of images that are taken for what they show.
pub fn accuracy(confusion: &[[usize; CLASSES]; CLASSES]) -> f64 {
    let right: usize = (0..CLASSES).map(|digit| confusion[digit][digit]).sum();
    right as f64 / confusion.iter().flatten().sum::<usize>() as f64
}

/// How far the gradient is from central differences, in the worst of several random directions: relative to the norm of
/// the gradient times that of the direction.
pub fn gradient_error(network: &Network, digits: &Digits, key: &Key) -> f64 {
    let gradient = grad(network, |network| network.loss(digits));
    let step = 1e-6;
    let mut worst = 0.0f64;
    for key in key.split::<5>() {
        let mut keys = key.split::<4>().into_iter();
        let direction = network.map(|leaf| keys.next().expect("there are four leaves").normal(leaf.shape()));
        let loss = |step: f64| (network + step * &direction).loss(digits).item();
        let difference = (loss(step) - loss(-step)) / (2.0 * step);
        let slope = gradient.dot(&direction).item();
        let scale = gradient.norm().item() * direction.norm().item();
        worst = worst.max((slope - difference).abs() / scale);
    }
    worst
}

// ------------------------------------------------------------------------------------ training

/// All that training goes on with, and all that is in its file.
#[derive(Tree, Clone, Debug)]
pub struct Training {
    /// The parameters.
    pub network: Network,
    /// What it remembers of gradients.
    pub optimiser: Adam<Tensor>,
    /// Decides the order of the images in the epochs to come.
    pub key: Key,
    /// How many epochs were made.
    pub epoch: Tensor,
    /// A row for each epoch: the mean loss of its batches, each before its step, and that of the images held out.
    pub losses: Tensor,
}

impl Training {
    /// Before the first of `epochs` epochs.
    pub fn new(network: Network, epochs: usize, key: &Key) -> Self {
        let (optimiser, losses) = (Adam::new(0.003).init(&network), Tensor::zeros(&[epochs, 2]));
        Training { network, optimiser, key: key.clone(), epoch: Tensor::from(0i64), losses }
    }

    /// How many epochs were made.
    pub fn epochs(&self) -> usize {
        self.epoch.item() as usize
    }

    /// One more pass over the images.
    pub fn pass(mut self, training: &Digits, held_out: &Digits) -> Self {
        let [now, later] = self.key.split();
        self.key = later;
        let order = shuffled(training.count(), &now);
        let mut losses = Vec::new();
        for start in (0..training.count()).step_by(BATCH) {
            let end = (start + BATCH).min(training.count());
            let batch = training.choose(&order.slice(start as isize..end as isize));
            let (loss, gradient) = value_and_grad(&self.network, |network| network.loss(&batch));
            self.network = self.optimiser.step(self.network, &gradient);
            losses.push(loss.item());
        }
        let mean = losses.iter().sum::<f64>() / losses.len() as f64;
        let row = Tensor::from([mean, self.network.loss(held_out).item()]);
        self.losses.slice_mut(self.epochs() as isize).assign(row);
        self.epoch += 1i64;
        self
    }

    /// Both losses after every epoch.
    pub fn history(&self) -> Vec<[f64; 2]> {
        let losses = self.losses.to_vec();
        losses.chunks(2).take(self.epochs()).map(|row| [row[0], row[1]]).collect()
    }
}

/// Makes the epochs that are left, and writes the file after each.
pub fn train(mut run: Training, training: &Digits, held_out: &Digits, file: &Path) -> Result<Training, Failure> {
    let style = ProgressStyle::with_template("{bar:30} epoch {pos:>2} of {len}, {elapsed}; {msg}")?;
    let epochs = run.losses.shape()[0];
    let bar = ProgressBar::new(epochs as u64).with_style(style).with_position(run.epochs() as u64);
    while run.epochs() < epochs {
        run = run.pass(training, held_out);
        files::save(file, &run)?;
        if let Some([training, held_out]) = run.history().last() {
            bar.set_message(format!("loss {training:.4}, held out {held_out:.4}"));
        }
        bar.inc(1);
    }
    bar.finish();
    Ok(run)
}

// ------------------------------------------------------------------------------------- picture

const BLUE: RGBColor = RGBColor(0, 114, 178);
const ORANGE: RGBColor = RGBColor(213, 94, 0);
const INK: RGBColor = RGBColor(51, 51, 51);

/// Draws the losses by epoch, and beside them which digit was taken for which.
pub fn draw(path: &Path, history: &[[f64; 2]], confusion: &[[usize; CLASSES]; CLASSES]) -> Result<(), Failure> {
    let root = SVGBackend::new(path, (1140, 440)).into_drawing_area();
    root.fill(&WHITE)?;
    let (left, right) = root.split_horizontally(690);
    draw_losses(&left, history)?;
    draw_confusion(&right, confusion)?;
    root.present()?;
    Ok(())
}

/// A part of the picture.
type Panel<'a> = DrawingArea<SVGBackend<'a>, plotters::coord::Shift>;

fn draw_losses(panel: &Panel<'_>, history: &[[f64; 2]]) -> Result<(), Failure> {
    let losses = || history.iter().copied().flatten();
    let low = losses().fold(f64::INFINITY, f64::min) / 1.3;
    let high = losses().fold(0.0, f64::max) * 1.3;
    let mut chart = ChartBuilder::on(panel)
        .caption("Mean cross entropy of hand-written digits", ("sans-serif", 20, &INK))
        .margin(14)
        .x_label_area_size(42)
        .y_label_area_size(62)
        .build_cartesian_2d(1..history.len().max(2), (low..high).log_scale())?;
    chart
        .configure_mesh()
        .light_line_style(TRANSPARENT)
        .bold_line_style(INK.mix(0.12))
        .axis_style(INK)
        .x_desc("epoch")
        .y_desc("loss")
        // Rounded: the marks of a logarithmic axis are products of powers of ten, 0.7000000000000001.
        .y_label_formatter(&|y| format!("{}", (y * 1e6).round() / 1e6))
        .y_labels(8)
        .label_style(("sans-serif", 13, &INK))
        .draw()?;
    let [training, held_out] = [0, 1].map(|k| history.iter().map(|losses| losses[k]).collect::<Vec<f64>>());
    for (name, color, losses) in [("learnt from", BLUE, training), ("held out", ORANGE, held_out)] {
        let points = (1..).zip(losses);
        chart
            .draw_series(LineSeries::new(points, color.stroke_width(2)))?
            .label(name)
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 16, y)], color.stroke_width(2)));
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperRight)
        .label_font(("sans-serif", 14, &INK))
        .draw()?;
    Ok(())
}

/// The confusion matrix: the darker, the more images of the row's digit were taken for the column's.
fn draw_confusion(panel: &Panel<'_>, confusion: &[[usize; CLASSES]; CLASSES]) -> Result<(), Failure> {
    let last = CLASSES as f64 - 1.0;
    let mut chart = ChartBuilder::on(panel)
        .caption("Which digit is taken for which", ("sans-serif", 20, &INK))
        .margin(14)
        .x_label_area_size(42)
        .y_label_area_size(46)
        .build_cartesian_2d(-0.5..last + 0.5, -0.5..last + 0.5)?;
    chart
        .configure_mesh()
        .disable_mesh()
        .axis_style(INK)
        .x_desc("taken for")
        .y_desc("digit")
        .x_labels(CLASSES)
        .y_labels(CLASSES)
        .x_label_formatter(&|x| format!("{x:.0}"))
        // The first row stands at the top.
        .y_label_formatter(&|y| format!("{:.0}", last - y))
        .label_style(("sans-serif", 13, &INK))
        .draw()?;
    let largest = confusion.iter().flatten().copied().max().unwrap_or(0).max(1) as f64;
    for (row, counts) in confusion.iter().enumerate() {
        for (column, &count) in counts.iter().enumerate().filter(|(_, count)| **count > 0) {
            let (x, y, share) = (column as f64, last - row as f64, count as f64 / largest);
            let cell = [(x - 0.47, y - 0.47), (x + 0.47, y + 0.47)];
            let fill = BLUE.mix(0.15 + 0.85 * share).filled();
            let ink = if share > 0.5 { WHITE } else { INK };
            let style =
                TextStyle::from(("sans-serif", 13).into_font()).color(&ink).pos(Pos::new(HPos::Center, VPos::Center));
            chart.draw_series([Rectangle::new(cell, fill)])?;
            chart.draw_series([Text::new(count.to_string(), (x, y), style)])?;
        }
    }
    Ok(())
}

// ----------------------------------------------------------------------------------------- run

/// Where training begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// With a network that has learnt nothing.
    Anew,
    /// With what the file in the folder says, if there is one.
    Resumed,
}

/// Trains and judges a network, prints how good it is, and leaves its picture and the file of its training in the folder.
/// Gives the share of images held out that it knows.
pub fn report(out: &mut impl Write, folder: &Path, epochs: usize, start: Start) -> Result<f64, Failure> {
    let [split, first, check, order] = Key::new(8).split();
    let [training, held_out] = load()?.split(&split);
    writeln!(out, "{} images to learn from, {} held out.", training.count(), held_out.count())?;

    let network = Network::new(&first);
    let batch = training.choose(&Tensor::iota(BATCH));
    let error = gradient_error(&network, &batch, &check);
    writeln!(out, "The first gradient agrees with central differences to {error:.0e}.")?;
    if error > 1e-7 {
        return Err(format!("the gradient is off by {error:e}").into());
    }

    std::fs::create_dir_all(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let (picture, file) = (folder.join("digits.svg"), folder.join("digits.safetensors"));
    let mut run = Training::new(network, epochs, &order);
    if start == Start::Resumed && file.exists() {
        run = files::load(&file, &run)?;
        writeln!(out, "Resumed after epoch {} of {epochs}.", run.epochs())?;
    }
    let (before, begin) = (run.epochs(), std::time::Instant::now());
    let run = train(run, &training, &held_out, &file)?;
    writeln!(out, "Adam: {} epochs in {:.1?}.", run.epochs() - before, begin.elapsed())?;
    let history = run.history();
    let [first, last] = [history.first(), history.last()].map(|losses| losses.map_or(f64::NAN, |losses| losses[0]));
    writeln!(out, "  loss {first:.4} -> {last:.4}")?;

    let network = &run.network;
    let confusion = network.confusion(&held_out);
    let share = accuracy(&confusion);
    writeln!(out, "  accuracy {:.2} % of what was learnt from", 100.0 * accuracy(&network.confusion(&training)))?;
    writeln!(out, "  accuracy {:.2} % of what was held out", 100.0 * share)?;
    writeln!(out, "\nWhich digit (row) is taken for which (column):")?;
    writeln!(out, "    {}", (0..CLASSES).map(|digit| format!("{digit:>4}")).collect::<String>())?;
    for (digit, row) in confusion.iter().enumerate() {
        let row: String = row.iter().map(|&n| if n == 0 { "   .".to_owned() } else { format!("{n:>4}") }).collect();
        writeln!(out, "  {digit} {row}")?;
    }

    draw(&picture, &history, &confusion)?;
    // The parameters alone: the part of the file that is called `network`.
    let part = files::Load::new().rename(|path| format!("network.{path}")).allow_extra();
    let again = part.file(&file, &Network::new(&Key::new(0)))?.confusion(&held_out);
    if again != confusion {
        return Err("the parameters that were read are not those that were written".into());
    }
    writeln!(out, "\nThe picture is in {}.", picture.display())?;
    writeln!(out, "The parameters are in {}; read from there they judge the same.", file.display())?;
    Ok(share)
}

fn main() -> Result<(), Failure> {
    let (mut folder, mut start) = (PathBuf::from("target"), Start::Anew);
    for argument in std::env::args_os().skip(1) {
        match argument.to_str() {
            Some("--resume") => start = Start::Resumed,
            _ => folder = PathBuf::from(argument),
        }
    }
    report(&mut std::io::stdout().lock(), &folder, 30, start)?;
    Ok(())
}
