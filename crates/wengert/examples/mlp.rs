//! A network with a layer of your own, trained, saved and read.
//!
//! Two half moons lie in one another, a hundred points each, and a network tells them apart. Its hidden layers have an
//! activation with a parameter: `x sigmoid(b x)`, where every unit learns its `b` (P. Ramachandran, B. Zoph, Q. Le, *Searching for
//! activation functions*, 2017). The layer is a struct with `#[derive(Tree)]`; nothing else has to be said about it. Weights
//! decay, biases and slopes do not.
//!
//! Run it with `cargo run --release -p wengert --features safetensors --example mlp`.

use std::io::Write;
use std::path::Path;

use wengert::Key;
use wengert::files::{contents, load, save};
use wengert::nn::{Init, Linear};
use wengert::optim::{AdamW, Schedule};
use wengert::prelude::*;

type Failure = Box<dyn std::error::Error>;

/// An affine map, then `x sigmoid(b x)` with a slope for every unit.
#[derive(Tree, Clone, Debug)]
pub struct Swish {
    linear: Linear,
    slope: Tensor,
}

impl Swish {
    fn new(inputs: usize, outputs: usize, key: &Key) -> Self {
        Swish { linear: Linear::with_init(inputs, outputs, Init::He, key), slope: Tensor::ones(&[outputs]) }
    }

    fn apply(&self, x: &Tensor) -> Tensor {
        let x = self.linear.apply(x);
        &x * (&self.slope * &x).sigmoid()
    }
}

/// The parameters.
#[derive(Tree, Clone, Debug)]
pub struct Mlp {
    hidden: Vec<Swish>,
    output: Linear,
}

impl Mlp {
    /// At random, with these widths of hidden layers.
    pub fn new(widths: &[usize], key: &Key) -> Self {
        let (mut inputs, mut key, mut hidden) = (2, key.clone(), Vec::new());
        for &width in widths {
            let [now, later] = key.split();
            hidden.push(Swish::new(inputs, width, &now));
            (inputs, key) = (width, later);
        }
        Mlp { hidden, output: Linear::new(inputs, 1, &key) }
    }

    /// A number for every point: positive for the upper moon.
    pub fn logits(&self, x: &Tensor) -> Tensor {
        let x = self.hidden.iter().fold(x.clone(), |x, layer| layer.apply(&x));
        self.output.apply(&x).flatten()
    }
}

/// Points (200, 2), and 1 for those of the upper moon.
pub fn moons(key: &Key) -> (Tensor, Tensor) {
    let angle = Tensor::linspace(0.0, std::f64::consts::PI, 100);
    let upper = Tensor::stack(&[&angle.cos(), &angle.sin()], 1);
    let lower = Tensor::stack(&[&(1.0 - angle.cos()), &(0.5 - angle.sin())], 1);
    let labels = Tensor::concat(&[&Tensor::ones(&[100]), &Tensor::zeros(&[100])], 0);
    (Tensor::concat(&[&upper, &lower], 0) + key.normal(&[200, 2]) * 0.1, labels)
}

/// The share of points on the right side.
pub fn accuracy(model: &Mlp, x: &Tensor, labels: &Tensor) -> f64 {
    let right = model.logits(x).gt(0.0).to_f64().eq(labels);
    right.to_f64().mean().item()
}

/// Trains a network, saves it to the file, reads it, and gives its accuracy on points that it has not seen.
pub fn report(out: &mut impl Write, file: &Path) -> Result<f64, Failure> {
    let [start, near, far] = Key::new(2).split();
    let ((x, labels), (new_x, new_labels)) = (moons(&near), moons(&far));
    let loss = |model: &Mlp| model.logits(&x).sigmoid_cross_entropy(&labels).mean();

    let mut model = Mlp::new(&[16, 16], &start);
    let mut optimiser = AdamW::new(Schedule::cosine(0.03, 0.0, 200))
        .decay(0.01)
        .decay_of(|path| path.ends_with("bias") || path.ends_with("slope"), 0.0)
        .init(&model);
    for step in 0..=200 {
        let (value, gradient) = value_and_grad(&model, |model| loss(&model));
        if step % 50 == 0 {
            writeln!(out, "step {step:>3}: loss {:.4}", value.item())?;
        }
        model = optimiser.step(model, &gradient);
    }

    save(file, &model)?;
    for (path, ty) in contents(file)? {
        writeln!(out, "  {path}: {ty}")?;
    }
    let read = load(file, &Mlp::new(&[16, 16], &Key::new(0)))?;
    let share = accuracy(&read, &new_x, &new_labels);
    writeln!(out, "{:.1} % of the new points are on the right side.", 100.0 * share)?;
    match share == accuracy(&model, &new_x, &new_labels) {
        true => Ok(share),
        false => Err("the network that was read is not the one that was written".into()),
    }
}

fn main() -> Result<(), Failure> {
    std::fs::create_dir_all("target")?;
    report(&mut std::io::stdout().lock(), Path::new("target/mlp.safetensors"))?;
    Ok(())
}
