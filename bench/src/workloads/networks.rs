//! Networks in single precision: perceptrons, a convolutional one, a small transformer.

use wengert::prelude::*;
use wengert::{ConvOptions, DType, Pool, TreeMath, compile};

use super::case::{Case, Setup, Way, value_and_gradient};
use super::data::{around_one, labels, uniform, unsigned};

const F32: DType = DType::F32;

/// The mean over the rows of `logsumexp(z_n) - z_n[y_n]`.
fn cross_entropy(z: &Tensor, y: &Tensor) -> Tensor {
    let chosen = z.take_along_axis(&y.expand_dims(-1), -1).squeeze(-1);
    (z.logsumexp_over(-1) - chosen).mean()
}

/// `h w + b`
#[derive(Tree, Clone)]
struct Dense {
    w: Tensor,
    b: Tensor,
}

impl Dense {
    fn new([inputs, outputs]: [usize; 2], seed: u64, bias_seed: u64) -> Self {
        let scale = (3.0 / inputs as f64).sqrt();
        Dense { w: uniform(F32, &[inputs, outputs], seed, scale), b: uniform(F32, &[outputs], bias_seed, 0.1) }
    }

    fn apply(&self, h: &Tensor) -> Tensor {
        h.matmul(&self.w) + &self.b
    }
}

/// A perceptron with these layers on `count` points, all of whose seeds start at `seed`: a step of training.
fn perceptron(setup: &Setup, sizes: &[usize], count: usize, seed: u64) -> Case {
    let x = unsigned(F32, &[count, sizes[0]], seed);
    let y = labels(&[count], seed + 1, sizes[sizes.len() - 1]);
    let layers = sizes.windows(2).zip(0..);
    let layers: Vec<Dense> =
        layers.map(|(ends, l)| Dense::new([ends[0], ends[1]], seed + 10 + l, seed + 20 + l)).collect();
    let loss = move |layers: Vec<Dense>| {
        let (last, hidden) = layers.split_last().expect("there is a layer");
        let h = hidden.iter().fold(x.clone(), |h, layer| layer.apply(&h).relu());
        cross_entropy(&last.apply(&h), &y)
    };
    let mut trained = layers.clone();
    let descend = {
        let loss = loss.clone();
        move |layers: Vec<Dense>| descended(&layers, &loss)
    };
    let step: Box<dyn FnMut()> = match setup.way {
        Way::Compiled => {
            // A step gives its parameters away: the new ones are written where the old ones lie.
            let descend = compile(descend);
            Box::new(move || trained = descend.call_donating(std::mem::take(&mut trained)))
        }
        Way::Recorded => Box::new(move || trained = descend(std::mem::take(&mut trained))),
    };
    Case { derivative: step, ..value_and_gradient(setup, layers, loss) }
}

/// The parameters after a step against the gradient.
fn descended(layers: &Vec<Dense>, loss: impl Fn(Vec<Dense>) -> Tensor) -> Vec<Dense> {
    let (_, gradient) = value_and_grad(layers, loss);
    layers.map2(&gradient, |p, g| p - 0.01 * g)
}

/// W1: a perceptron 784-512-512-10 on 128 points.
pub(super) fn mlp(setup: &Setup) -> Case {
    perceptron(setup, &[784, 512, 512, 10], 128, 100)
}

/// W2: a perceptron 64-64-10 on 32 points.
pub(super) fn small_mlp(setup: &Setup) -> Case {
    perceptron(setup, &[64, 64, 10], 32, 200)
}

/// The parameters of W3. Kernels are `[height, width, in, out]`.
#[derive(Tree, Clone)]
struct Cnn {
    kernels: [Tensor; 2],
    biases: [Tensor; 2],
    dense: [Dense; 2],
}

impl Cnn {
    fn new() -> Self {
        let kernel = |channels: [usize; 2], seed| {
            let [from, to] = channels;
            uniform(F32, &[3, 3, from, to], seed, (3.0 / (9 * from) as f64).sqrt())
        };
        Cnn {
            kernels: [kernel([1, 32], 310), kernel([32, 64], 311)],
            biases: [uniform(F32, &[32], 320, 0.1), uniform(F32, &[64], 321, 0.1)],
            dense: [Dense::new([9216, 128], 312, 322), Dense::new([128, 10], 313, 323)],
        }
    }

    /// The logits of images `[n, channels, height, width]`.
    fn logits(&self, images: Tensor) -> Tensor {
        let count = images.shape()[0] as isize;
        let h = self.kernels.iter().zip(&self.biases).fold(images, |h, (kernel, bias)| {
            let kernel = kernel.permute(&[3, 2, 0, 1]);
            (h.conv2d(&kernel, &ConvOptions::default()) + bias.reshape(&[-1, 1, 1])).relu()
        });
        let pooled = h.max_pool(&Pool::new([2, 2])).permute(&[0, 2, 3, 1]);
        let h = self.dense[0].apply(&pooled.reshape(&[count, -1])).relu();
        self.dense[1].apply(&h)
    }
}

/// W3: two convolutions, a pooling, two dense layers on 64 images of 28 by 28.
pub(super) fn cnn(setup: &Setup) -> Case {
    // One channel: it makes no difference whether it comes first or last.
    let x = unsigned(F32, &[64, 1, 28, 28], 300);
    let y = labels(&[64], 301, 10);
    value_and_gradient(setup, Cnn::new(), move |model: Cnn| cross_entropy(&model.logits(x.clone()), &y))
}

/// A layer of W4.
#[derive(Tree, Clone)]
struct Block {
    qkv: Tensor,
    qkv_bias: Tensor,
    out: Tensor,
    out_bias: Tensor,
    up: Tensor,
    up_bias: Tensor,
    down: Tensor,
    down_bias: Tensor,
    gains: Tensor,
    shifts: Tensor,
}

/// The parameters of W4.
#[derive(Tree, Clone)]
struct Gpt {
    embedding: Tensor,
    positions: Tensor,
    blocks: Vec<Block>,
    gain: Tensor,
    shift: Tensor,
    head: Tensor,
}

const TOKENS: usize = 128;
const BATCH: usize = 8;
const WIDTH: usize = 128;
const HEADS: usize = 4;

impl Block {
    fn new(s: u64) -> Self {
        let weight =
            |inputs: usize, outputs: usize, seed| uniform(F32, &[inputs, outputs], seed, (3.0 / inputs as f64).sqrt());
        let bias = |length: usize, seed| uniform(F32, &[length], seed, 0.02);
        Block {
            qkv: weight(WIDTH, 3 * WIDTH, s),
            qkv_bias: bias(3 * WIDTH, s + 4),
            out: weight(WIDTH, WIDTH, s + 1),
            out_bias: bias(WIDTH, s + 5),
            up: weight(WIDTH, 4 * WIDTH, s + 2),
            up_bias: bias(4 * WIDTH, s + 6),
            down: weight(4 * WIDTH, WIDTH, s + 3),
            down_bias: bias(WIDTH, s + 7),
            gains: around_one(F32, &[2, WIDTH], s + 8, 0.1),
            shifts: uniform(F32, &[2, WIDTH], s + 9, 0.1),
        }
    }

    fn apply(&self, h: Tensor, visible: &Tensor) -> Tensor {
        let norm = |h: &Tensor, k: isize| h.layer_norm(&self.gains.slice(k), &self.shifts.slice(k), 1e-5);
        let qkv = norm(&h, 0).matmul(&self.qkv) + &self.qkv_bias;
        let h = h + attention(&qkv, visible).matmul(&self.out) + &self.out_bias;
        let wide = (norm(&h, 1).matmul(&self.up) + &self.up_bias).gelu_tanh();
        h + wide.matmul(&self.down) + &self.down_bias
    }
}

/// Attention of several heads, each to what is visible, of the columns of queries, keys and values.
fn attention(qkv: &Tensor, visible: &Tensor) -> Tensor {
    let (batch, tokens, width) = (BATCH as isize, TOKENS as isize, WIDTH as isize);
    // [batch, tokens, which, head, column]
    let parts = qkv.reshape(&[batch, tokens, 3, HEADS as isize, -1]);
    let [q, k, v] = [0, 1, 2].map(|part: isize| parts.slice((.., .., part)));
    let scale = ((WIDTH / HEADS) as f64).sqrt();
    let scores = Tensor::einsum("bqhd,bkhd->bhqk", &[&q, &k]) / scale;
    let scores = visible.where_(scores, f64::NEG_INFINITY);
    Tensor::einsum("bhqk,bkhd->bqhd", &[&scores.softmax(-1), &v]).reshape(&[batch, tokens, width])
}

/// W4: a transformer of four layers on eight texts of 128 tokens.
pub(super) fn transformer(setup: &Setup) -> Case {
    let text = labels(&[BATCH, TOKENS + 1], 400, 256);
    let (input, target) = (text.slice((.., ..TOKENS as isize)), text.slice((.., 1..)));
    let model = Gpt {
        embedding: uniform(F32, &[256, WIDTH], 410, 0.5),
        positions: uniform(F32, &[TOKENS, WIDTH], 411, 0.1),
        blocks: (0..4).map(|layer| Block::new(420 + 10 * layer)).collect(),
        gain: around_one(F32, &[WIDTH], 480, 0.1),
        shift: uniform(F32, &[WIDTH], 481, 0.1),
        head: uniform(F32, &[WIDTH, 256], 482, (3.0 / WIDTH as f64).sqrt()),
    };
    let position = Tensor::iota(TOKENS);
    let visible = position.expand_dims(0).le(position.expand_dims(1));
    value_and_gradient(setup, model, move |model: Gpt| {
        let h = model.embedding.take(&input, 0) + &model.positions;
        let h = model.blocks.iter().fold(h, |h, block| block.apply(h, &visible));
        let logits = h.layer_norm(&model.gain, &model.shift, 1e-5).matmul(&model.head);
        cross_entropy(&logits, &target)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_goes_against_the_gradient() {
        // Of |w|^2 / 2 + sum b the gradient is (w, 1).
        let layers = vec![Dense::new([2, 3], 1, 2)];
        let after = descended(&layers, |layers| {
            let layer = &layers[0];
            0.5 * layer.w.square().sum() + layer.b.sum()
        });
        for (w, new) in layers[0].w.to_vec().iter().zip(after[0].w.to_vec()) {
            assert!((0.99 * w - new).abs() < 1e-7, "{w} became {new}");
        }
        for (b, new) in layers[0].b.to_vec().iter().zip(after[0].b.to_vec()) {
            assert!((b - 0.01 - new).abs() < 1e-7, "{b} became {new}");
        }
    }
}
