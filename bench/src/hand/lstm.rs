//! ADBench's LSTM: the loss and its gradient.

use wengert_gradbench::problems::lstm::Data;

/// Numbers kept between calls.
#[derive(Default)]
pub(crate) struct Scratch {
    /// For every step and layer eight rows of `b`: the four gates, the cell before and after, its tanh, what came in.
    steps: Vec<f64>,
    /// For every layer the hidden state before the step that is computed; for every step and layer the one after it.
    hidden: Vec<f64>,
    /// The cells.
    cells: Vec<f64>,
    /// Cotangents of hidden states and cells of every layer.
    hidden_bar: Vec<f64>,
    cells_bar: Vec<f64>,
    /// Of what a layer is given, and of what a step predicts.
    given: Vec<f64>,
    predicted: Vec<f64>,
}

/// Rows that a step of a layer keeps: gates `f`, `i`, `o`, `g`; the cell before, `tanh` of that after; what came in from
/// below and what from the step before.
const KEPT: usize = 8;

/// The loss.
pub(crate) fn objective(data: &Data, scratch: &mut Scratch) -> f64 {
    scratch.steps.resize(data.l * KEPT * data.b, 0.0);
    forward(data, scratch, false, |_, _, _| ())
}

/// The gradient in the order of ADBench; gives the loss.
pub(crate) fn gradient(data: &Data, scratch: &mut Scratch, gradient: &mut [f64]) -> f64 {
    let (l, c, b) = (data.l, data.c, data.b);
    scratch.steps.resize((c - 1) * l * KEPT * b, 0.0);
    gradient.fill(0.0);
    let (main_bar, extra_bar) = gradient.split_at_mut(8 * l * b);
    let scale = -1.0 / ((c - 1) * b) as f64;
    // What each step predicts, and the norm there, is kept by the caller of `forward`.
    let mut norms = Vec::with_capacity(c - 1);
    let mut predictions = Vec::with_capacity((c - 1) * b);
    let loss = forward(data, scratch, true, |_, predicted, sum| {
        predictions.extend_from_slice(predicted);
        norms.push(sum);
    });
    scratch.hidden_bar.clear();
    scratch.hidden_bar.resize(l * b, 0.0);
    scratch.cells_bar.clear();
    scratch.cells_bar.resize(l * b, 0.0);
    for t in (0..c - 1).rev() {
        let wanted = &data.sequence[(t + 1) * b..][..b];
        let whole: f64 = wanted.iter().sum();
        let top = &scratch.steps[(t * l + l - 1) * KEPT * b..][..KEPT * b];
        for j in 0..b {
            let p_bar = scale * (wanted[j] - whole * predictions[t * b + j].exp() / norms[t]);
            let h = top[2 * b + j] * top[5 * b + j];
            extra_bar[b + j] += p_bar * h;
            extra_bar[2 * b + j] += p_bar;
            scratch.given[j] = p_bar * data.extra[b + j];
        }
        for layer in (0..l).rev() {
            step_back(data, scratch, t, layer, &mut main_bar[8 * layer * b..][..8 * b]);
        }
        for j in 0..b {
            extra_bar[j] += scratch.given[j] * data.sequence[t * b + j];
        }
    }
    loss
}

/// Runs all steps; `visit` sees what each predicts and `2 + sum exp` of that.
fn forward(data: &Data, scratch: &mut Scratch, keep: bool, mut visit: impl FnMut(usize, &[f64], f64)) -> f64 {
    let (l, c, b) = (data.l, data.c, data.b);
    for (numbers, first) in [(&mut scratch.hidden, 0), (&mut scratch.cells, 1)] {
        numbers.clear();
        (0..l).for_each(|layer| numbers.extend_from_slice(&data.state[(2 * layer + first) * b..][..b]));
    }
    scratch.given.resize(b, 0.0);
    scratch.predicted.resize(b, 0.0);
    let mut total = 0.0;
    for t in 0..c - 1 {
        for j in 0..b {
            scratch.given[j] = data.sequence[t * b + j] * data.extra[j];
        }
        for layer in 0..l {
            let place = if keep { t * l + layer } else { layer };
            step(data, scratch, place, layer);
        }
        let mut sum = 2.0;
        for j in 0..b {
            scratch.predicted[j] = scratch.given[j] * data.extra[b + j] + data.extra[2 * b + j];
            sum += scratch.predicted[j].exp();
        }
        let norm = sum.ln();
        let wanted = &data.sequence[(t + 1) * b..][..b];
        total += wanted.iter().zip(&scratch.predicted).map(|(y, p)| y * (p - norm)).sum::<f64>();
        visit(t, &scratch.predicted, sum);
    }
    -total / ((c - 1) * b) as f64
}

fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

/// One step of one layer; what it gives becomes what the next is given.
fn step(data: &Data, scratch: &mut Scratch, place: usize, layer: usize) {
    let b = data.b;
    let (weight, bias) = data.main[8 * layer * b..][..8 * b].split_at(4 * b);
    let kept = &mut scratch.steps[place * KEPT * b..][..KEPT * b];
    let (hidden, cells) = (&mut scratch.hidden[layer * b..][..b], &mut scratch.cells[layer * b..][..b]);
    for j in 0..b {
        let (x, h) = (scratch.given[j], hidden[j]);
        let f = sigmoid(x * weight[j] + bias[j]);
        let i = sigmoid(h * weight[b + j] + bias[b + j]);
        let o = sigmoid(x * weight[2 * b + j] + bias[2 * b + j]);
        let g = (h * weight[3 * b + j] + bias[3 * b + j]).tanh();
        let before = cells[j];
        cells[j] = before * f + i * g;
        let bounded = cells[j].tanh();
        for (row, number) in [f, i, o, g, before, bounded, x, h].into_iter().enumerate() {
            kept[row * b + j] = number;
        }
        hidden[j] = o * bounded;
        scratch.given[j] = hidden[j];
    }
}

/// Takes the cotangent of what the layer gave from `given` and leaves that of what it was given there.
fn step_back(data: &Data, scratch: &mut Scratch, t: usize, layer: usize, bar: &mut [f64]) {
    let b = data.b;
    let weight = &data.main[8 * layer * b..][..4 * b];
    let kept = &scratch.steps[(t * data.l + layer) * KEPT * b..][..KEPT * b];
    let hidden_bar = &mut scratch.hidden_bar[layer * b..][..b];
    let cells_bar = &mut scratch.cells_bar[layer * b..][..b];
    let (weight_bar, bias_bar) = bar.split_at_mut(4 * b);
    for j in 0..b {
        let [f, i, o, g, before, bounded, x, h]: [f64; KEPT] = std::array::from_fn(|row| kept[row * b + j]);
        let h_bar = scratch.given[j] + hidden_bar[j];
        let s_bar = cells_bar[j] + h_bar * o * (1.0 - bounded * bounded);
        let bars = [
            s_bar * before * f * (1.0 - f),
            s_bar * g * i * (1.0 - i),
            h_bar * bounded * o * (1.0 - o),
            s_bar * i * (1.0 - g * g),
        ];
        for (gate, (bar, input)) in bars.into_iter().zip([x, h, x, h]).enumerate() {
            weight_bar[gate * b + j] += bar * input;
            bias_bar[gate * b + j] += bar;
        }
        scratch.given[j] = bars[0] * weight[j] + bars[2] * weight[2 * b + j];
        hidden_bar[j] = bars[1] * weight[b + j] + bars[3] * weight[3 * b + j];
        cells_bar[j] = s_bar * f;
    }
}
