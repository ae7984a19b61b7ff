//! Loss of a network of LSTM layers without matrix products, ADBench's LSTM.
//!
//! All vectors of a layer have the length `b` and meet element by element; each step predicts the next row of a sequence
//! of bits. Formula: the LSTM of ADBench (Microsoft, 2018 to 2021).

use wengert::Compile;
use wengert::prelude::*;

/// The numbers of a problem: `l` layers, a sequence of `c` rows of `b`.
#[derive(Clone, Debug, PartialEq)]
pub struct Data {
    /// Layers.
    pub l: usize,
    /// Rows of the sequence.
    pub c: usize,
    /// Length of a row.
    pub b: usize,
    /// For every layer the weights of its four gates, then their biases: `2 l` rows of `4 b`.
    pub main: Vec<f64>,
    /// Weight of the input, weight and bias of the output: 3 rows of `b`.
    pub extra: Vec<f64>,
    /// For every layer the hidden state and the cell before the first step: `2 l` rows of `b`.
    pub state: Vec<f64>,
    /// The sequence, `c` rows of `b`.
    pub sequence: Vec<f64>,
}

/// What the loss is differentiated by.
#[derive(Tree, Clone, Debug)]
pub struct Parameters {
    /// `[l, 2, 4, b]`: for every layer weights, then biases, of the gates that forget, take in, give out and change.
    pub main: Tensor,
    /// `[3, b]`: weight of the input, weight and bias of the output.
    pub extra: Tensor,
}

impl Data {
    /// The point at which the loss is differentiated.
    pub fn parameters(&self) -> Parameters {
        Parameters {
            main: Tensor::from_vec(&[self.l, 2, 4, self.b], self.main.clone()),
            extra: Tensor::from_vec(&[3, self.b], self.extra.clone()),
        }
    }

    /// What is constant.
    pub fn course(&self) -> Course {
        Course {
            state: Tensor::from_vec(&[self.l, 2, self.b], self.state.clone()),
            sequence: Tensor::from_vec(&[self.c, self.b], self.sequence.clone()),
        }
    }
}

/// What is constant: where the network starts, and what it reads.
#[derive(Clone, Debug)]
pub struct Course {
    /// `[l, 2, b]`: hidden state and cell of every layer.
    state: Tensor,
    /// `[c, b]`.
    sequence: Tensor,
}

/// The loss: with `p` what a step predicts and `y` the next row of the sequence,
/// `- sum_t sum_j y_j (p_j - log(2 + sum_j exp p_j)) / ((c - 1) b)`.
///
/// A layer needs of the layer below what that gave in the same step, and of itself what it gave in the step before. So a
/// layer is run over the whole sequence before the next one starts: two of its gates depend on its input alone and are
/// computed for all steps at once, and only the other two are left to the loop.
pub fn loss(p: &Parameters, course: &Course) -> Tensor {
    let (c, b) = (course.sequence.shape()[0], course.sequence.shape()[1]);
    let extra = |row: isize| p.extra.slice(row);
    let mut input = course.sequence.slice(..-1) * extra(0);
    for layer in 0..p.main.shape()[0] as isize {
        let weight = |gate: isize| p.main.slice((layer, 0, gate));
        let bias = |gate: isize| p.main.slice((layer, 1, gate));
        let forget = (&input * weight(0) + bias(0)).sigmoid();
        let output = (&input * weight(2) + bias(2)).sigmoid();
        let start = (course.state.slice((layer, 0)), course.state.slice((layer, 1)));
        let (_, hidden) = scan(&start, (&forget, &output), |(h, s), (forget, output)| {
            let taken = (&h * weight(1) + bias(1)).sigmoid() * (&h * weight(3) + bias(3)).tanh();
            let s = s * forget + taken;
            let h = output * s.tanh();
            ((h.clone(), s), h)
        });
        input = hidden;
    }
    let predicted = input * extra(1) + extra(2);
    let norm = (2.0 + predicted.exp().sum_keep(1)).ln();
    let wanted = course.sequence.slice(1..);
    -(wanted * (predicted - norm)).sum() / ((c - 1) * b) as f64
}

/// A function of the parameters.
type Function<T> = Box<dyn Fn(&Parameters) -> T + Send + Sync>;

/// The loss and its gradient, compiled for a sequence.
pub struct Compiled {
    objective: Function<Tensor>,
    gradient: Function<Parameters>,
}

impl Compiled {
    /// For the sequence of a problem, on this many threads.
    pub fn new(data: &Data, threads: usize) -> Self {
        let (course, again) = (data.course(), data.course());
        let objective = Compile::new().threads(threads).function(move |p: Parameters| loss(&p, &course));
        let gradient = Compile::new().threads(threads).function(move |p: Parameters| grad(&p, |p| loss(&p, &again)));
        Compiled { objective: Box::new(move |p| objective.call(p)), gradient: Box::new(move |p| gradient.call(p)) }
    }

    /// The loss.
    pub fn objective(&self, p: &Parameters) -> f64 {
        (self.objective)(p).item()
    }

    /// Its gradient by every parameter.
    pub fn gradient(&self, p: &Parameters) -> Parameters {
        (self.gradient)(p)
    }
}

/// A gradient in ADBench's order: the main parameters row by row, then the extra ones.
pub fn in_order(g: &Parameters) -> Vec<f64> {
    let mut all = g.main.to_vec();
    all.extend(g.extra.to_vec());
    all
}
