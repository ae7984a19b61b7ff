//! Hand-written digits read line by line: a recurrent network in a `scan`.
//!
//! The images are those of the example `digits`, 8 by 8 pixels. The network sees a row of 8 pixels at a time, from the top to
//! the bottom, and remembers what it saw in 64 numbers: a gated recurrent unit (K. Cho and others, 2014), then one layer to the
//! ten digits. The eight steps are one loop, recorded once. It learns four fifths of the images with Adam, in batches of 64, and
//! is judged by the others. Fewer than 95 % of them right are an error.
//!
//! Before the first step the gradient is compared with central differences.
//!
//! Run it with `cargo run --release -p wengert --example digits_rnn`.

use std::io::Write;

use indicatif::{ProgressBar, ProgressStyle};
use wengert::optim::Adam;
use wengert::prelude::*;
use wengert::{Key, TreeMath};

/// The images, and how they are read.
#[path = "digits.rs"]
#[expect(dead_code, reason = "the network and the picture of the other example are not used here")]
pub mod digits;

use digits::{CLASSES, Digits, PIXELS};

type Failure = Box<dyn std::error::Error>;

/// How many rows an image has, and pixels a row.
const ROWS: usize = 8;
const HIDDEN: usize = 64;
const BATCH: usize = 64;
/// The least share of the images held out that the trained network knows.
pub const ENOUGH: f64 = 0.95;

// --------------------------------------------------------------------------------------- model

/// The network's parameters. The columns of the first three are those of the gates `update` and `reset`, and of the candidate.
#[derive(Tree, Clone, Debug)]
pub struct Network {
    /// From a row of pixels, `[8, 3 * 64]`.
    pub from_row: Tensor,
    /// From what is remembered, `[64, 3 * 64]`.
    pub from_memory: Tensor,
    /// `[3 * 64]`
    pub bias: Tensor,
    /// From what is remembered to the logits, `[64, 10]`.
    pub output: Tensor,
    /// `[10]`
    pub output_bias: Tensor,
}

impl Network {
    /// At random, with variances that keep the sizes of the values from layer to layer.
    pub fn new(key: &Key) -> Self {
        let [first, second, third] = key.split();
        let random =
            |key: &Key, inputs: usize, outputs: usize| key.normal(&[inputs, outputs]) * (1.0 / inputs as f64).sqrt();
        Network {
            from_row: random(&first, PIXELS / ROWS, 3 * HIDDEN),
            from_memory: random(&second, HIDDEN, 3 * HIDDEN),
            bias: Tensor::zeros(&[3 * HIDDEN]),
            output: random(&third, HIDDEN, CLASSES),
            output_bias: Tensor::zeros(&[CLASSES]),
        }
    }

    /// What is remembered after one more row of every image:
    /// `h + u (tanh(x w + r (h v) + b) - h)`, with the gates `u` and `r` between 0 and 1.
    fn step(&self, memory: &Tensor, row: &Tensor) -> Tensor {
        let (x, h) = (row.matmul(&self.from_row) + &self.bias, memory.matmul(&self.from_memory));
        let part = |of: &Tensor, k: usize| of.slice((.., (k * HIDDEN) as isize..((k + 1) * HIDDEN) as isize));
        let update = (part(&x, 0) + part(&h, 0)).sigmoid();
        let reset = (part(&x, 1) + part(&h, 1)).sigmoid();
        let candidate = (part(&x, 2) + reset * part(&h, 2)).tanh();
        memory + update * (candidate - memory)
    }

    /// A row of logits for every image.
    pub fn logits(&self, images: &Tensor) -> Tensor {
        let count = images.shape()[0];
        // The first axis is time.
        let rows = images.reshape(&[-1, ROWS as isize, (PIXELS / ROWS) as isize]).swap_axes(0, 1);
        let start = Tensor::zeros(&[count, HIDDEN]);
        let (memory, ()) = scan(&start, &rows, |memory, row| (self.step(&memory, &row), ()));
        memory.matmul(&self.output) + &self.output_bias
    }

    /// The mean cross entropy.
    pub fn loss(&self, digits: &Digits) -> Tensor {
        self.logits(&digits.images).softmax_cross_entropy(&digits.labels).mean()
    }

    /// The share of images that are taken for what they show.
    pub fn accuracy(&self, digits: &Digits) -> f64 {
        let guesses = self.logits(&digits.images).argmax(1).to_vec();
        let right = guesses.iter().zip(digits.labels.to_vec()).filter(|(guess, label)| *guess == label).count();
        right as f64 / digits.count() as f64
    }
}

/// How far the gradient is from a central difference in a random direction, relative to the norms of both.
pub fn gradient_error(network: &Network, digits: &Digits, key: &Key) -> f64 {
    let gradient = grad(network, |network| network.loss(digits));
    let mut keys = key.split::<5>().into_iter();
    let direction = network.map(|leaf| keys.next().expect("there are five leaves").normal(leaf.shape()));
    let step = 1e-5;
    let loss = |step: f64| (network + step * &direction).loss(digits).item();
    let difference = (loss(step) - loss(-step)) / (2.0 * step);
    (gradient.dot(&direction).item() - difference).abs() / (gradient.norm().item() * direction.norm().item())
}

// ------------------------------------------------------------------------------------ training

/// Trains the network for this many passes over the images.
pub fn train(mut network: Network, training: &Digits, epochs: usize, key: &Key) -> Result<Network, Failure> {
    let style = ProgressStyle::with_template("{bar:30} epoch {pos:>2} of {len}, {elapsed}; {msg}")?;
    let bar = ProgressBar::new(epochs as u64).with_style(style);
    let mut optimiser = Adam::new(0.005);
    let mut key = key.clone();
    for _ in 0..epochs {
        let [now, later] = key.split();
        key = later;
        let order = digits::shuffled(training.count(), &now);
        let mut sum = 0.0;
        for start in (0..training.count()).step_by(BATCH) {
            let end = (start + BATCH).min(training.count());
            let batch = training.choose(&order.slice(start as isize..end as isize));
            let (loss, gradient) = value_and_grad(&network, |network| network.loss(&batch));
            network = optimiser.step(network, &gradient);
            sum += loss.item() * batch.count() as f64;
        }
        bar.set_message(format!("loss {:.4}", sum / training.count() as f64));
        bar.inc(1);
    }
    bar.finish();
    Ok(network)
}

// ----------------------------------------------------------------------------------------- run

/// Trains a network and prints how good it is. Gives the share of images held out that it knows.
pub fn report(out: &mut impl Write, epochs: usize) -> Result<f64, Failure> {
    let [split, start, check, order] = Key::new(8).split();
    let [training, held_out] = digits::load()?.split(&split);
    writeln!(out, "{} images to learn from, {} held out, {ROWS} rows each.", training.count(), held_out.count())?;

    let network = Network::new(&start);
    let error = gradient_error(&network, &training.choose(&Tensor::iota(BATCH)), &check);
    writeln!(out, "The first gradient agrees with a central difference to {error:.0e}.")?;
    if error.is_nan() || error > 1e-7 {
        return Err(format!("the gradient is off by {error:e}").into());
    }

    let begin = std::time::Instant::now();
    let network = train(network, &training, epochs, &order)?;
    writeln!(out, "Adam: {epochs} epochs in {:.1?}.", begin.elapsed())?;
    writeln!(out, "  accuracy {:.2} % of what was learnt from", 100.0 * network.accuracy(&training))?;
    let share = network.accuracy(&held_out);
    writeln!(out, "  accuracy {:.2} % of what was held out", 100.0 * share)?;
    Ok(share)
}

fn main() -> Result<(), Failure> {
    let share = report(&mut std::io::stdout().lock(), 30)?;
    match share >= ENOUGH {
        true => Ok(()),
        false => {
            Err(format!("the network knows {:.2} % of the digits, and {ENOUGH} are expected", 100.0 * share).into())
        }
    }
}
