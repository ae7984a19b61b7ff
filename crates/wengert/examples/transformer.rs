//! A block of a transformer with the gradient of every example.
//!
//! Sixteen sequences of tokens go through an embedding, a block (attention and a feed-forward part, each behind a norm and
//! around a residual) and a map to logits for the next token. `vmap` over `grad` gives the gradient of each sequence alone: a
//! struct like the model, with one more axis in front. Each is shortened to a norm of at most 1 and their mean gets noise, which
//! is a step of private training (M. Abadi and others, *Deep learning with differential privacy*, 2016). The same gradients come
//! from one sequence after another, slower; the program compares both.
//!
//! Run it with `cargo run --release -p wengert --example transformer`.

use std::io::Write;

use wengert::nn::{Embedding, LayerNorm, Linear, MultiHeadAttention, Visible};
use wengert::prelude::*;
use wengert::{Key, TreeMath};

type Failure = Box<dyn std::error::Error>;

const TOKENS: usize = 11;
const WIDTH: usize = 16;
const LENGTH: usize = 12;
const EXAMPLES: usize = 16;

/// Attention and a feed-forward part, each around a residual.
#[derive(Tree, Clone, Debug)]
pub struct Block {
    norm_1: LayerNorm,
    attention: MultiHeadAttention,
    norm_2: LayerNorm,
    up: Linear,
    down: Linear,
}

impl Block {
    fn new(key: &Key) -> Self {
        let [attention, up, down] = key.split();
        Block {
            norm_1: LayerNorm::new(WIDTH),
            attention: MultiHeadAttention::new(WIDTH, 4, &attention),
            norm_2: LayerNorm::new(WIDTH),
            up: Linear::new(WIDTH, 4 * WIDTH, &up),
            down: Linear::new(4 * WIDTH, WIDTH, &down),
        }
    }

    fn apply(&self, x: &Tensor) -> Tensor {
        let x = x + self.attention.apply(&self.norm_1.apply(x), Visible::Causal);
        &x + self.down.apply(&self.up.apply(&self.norm_2.apply(&x)).gelu_tanh())
    }
}

/// Tokens to logits of the next one.
#[derive(Tree, Clone, Debug)]
pub struct Model {
    tokens: Embedding,
    places: Tensor,
    block: Block,
    output: Linear,
}

impl Model {
    /// At random.
    pub fn new(key: &Key) -> Self {
        let [tokens, places, block, output] = key.split();
        Model {
            tokens: Embedding::new(TOKENS, WIDTH, &tokens),
            places: places.normal(&[LENGTH, WIDTH]) * 0.1,
            block: Block::new(&block),
            output: Linear::new(WIDTH, TOKENS, &output).without_bias(),
        }
    }

    /// The mean cross entropy of the next token, of one sequence of one token more than there are places.
    pub fn loss(&self, sequence: &Tensor) -> Tensor {
        let length = LENGTH as isize;
        let x = self.tokens.apply(&sequence.slice(..length)) + &self.places;
        let logits = self.output.apply(&self.block.apply(&x));
        logits.softmax_cross_entropy(&sequence.slice(1..length + 1)).mean()
    }
}

/// Sequences that count modulo [`TOKENS`], each by a step of its own from a start of its own.
pub fn sequences() -> Tensor {
    let token = |k: usize| ((k / (LENGTH + 1) + (k % (LENGTH + 1)) * (1 + k / (LENGTH + 1) % 3)) % TOKENS) as i64;
    Tensor::from_vec(&[EXAMPLES, LENGTH + 1], (0..EXAMPLES * (LENGTH + 1)).map(token).collect::<Vec<i64>>())
}

/// The gradient of every sequence, with one more axis in front of each leaf.
pub fn per_example(model: &Model, sequences: &Tensor) -> Model {
    vmap(sequences, |sequence| grad(model, |model| model.loss(&sequence)))
}

/// The norm of each example's gradient over all leaves.
pub fn norms(gradients: &Model) -> Tensor {
    let mut squares = Tensor::zeros(&[EXAMPLES]);
    gradients.for_each_leaf(&mut |leaf| {
        squares = &squares + leaf.reshape(&[EXAMPLES as isize, -1]).square().sum_over(1);
    });
    squares.sqrt()
}

/// The mean of the gradients, each shortened to a norm of at most `bound`, with normal noise of this deviation.
pub fn private(gradients: &Model, bound: f64, deviation: f64, key: &Key) -> Model {
    let factors = (bound / norms(gradients)).minimum(1.0);
    let mut key = key.clone();
    gradients.map_leaves(|_, leaf| {
        let by_example = [&[EXAMPLES as isize], &vec![1; leaf.rank() - 1][..]].concat();
        let mean = (&leaf * factors.reshape(&by_example)).mean_over(0);
        let [now, later] = key.split();
        key = later;
        &mean + now.normal(mean.shape()) * (bound * deviation / EXAMPLES as f64)
    })
}

/// Trains the model by such gradients; gives the first and the last loss.
pub fn report(out: &mut impl Write, steps: usize) -> Result<[f64; 2], Failure> {
    let [start, noise] = Key::new(4).split();
    let (mut model, sequences) = (Model::new(&start), sequences());

    let gradients = per_example(&model, &sequences);
    let alone = grad(&model, |model| model.loss(&sequences.slice(3)));
    let difference = gradients.map_leaves(|_, leaf| leaf.slice(3)) - &alone;
    let error = difference.norm().item() / alone.norm().item();
    writeln!(out, "{} leaves, {EXAMPLES} gradients at once.", alone.named_leaves().len())?;
    writeln!(out, "The fourth is that of its sequence alone, to {error:.0e}.")?;
    if error > 1e-12 {
        return Err(format!("the gradient of an example is off by {error:e}").into());
    }

    let mean_loss = |model: &Model| vmap(&sequences, |sequence| model.loss(&sequence)).mean().item();
    let (first, mut key) = (mean_loss(&model), noise);
    for _ in 0..steps {
        let [now, later] = key.split();
        key = later;
        model = &model - 0.5 * private(&per_example(&model, &sequences), 1.0, 0.01, &now);
    }
    let last = mean_loss(&model);
    writeln!(out, "Mean loss {first:.3} -> {last:.3} in {steps} steps.")?;
    Ok([first, last])
}

fn main() -> Result<(), Failure> {
    report(&mut std::io::stdout().lock(), 150)?;
    Ok(())
}
