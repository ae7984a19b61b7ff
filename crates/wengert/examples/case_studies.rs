//! Ten case studies of reverse mode, each with its forward and its reverse table.
//!
//! A function that runs becomes a list of elementary operations, `v0, v1, …`. The forward table
//! shows each with its value and with its tangent: how fast it grows with the first input. The
//! reverse table goes the other way: the adjoint `v̄` of an entry is the derivative of the result by
//! it, the sum over all later uses of "adjoint of the user times partial derivative of the user by
//! it". The last lines of the reverse table are the gradient.
//!
//! Run it with `cargo run -p wengert --example case_studies`.

use std::io::{self, Write};

use wengert::prelude::*;
use wengert::{Listed, Listing, Operand, listing};

fn main() -> io::Result<()> {
    report(&mut io::stdout().lock())
}

/// Prints all case studies.
pub fn report(out: &mut impl Write) -> io::Result<()> {
    scalar_expression(out)?;
    shared_intermediate(out)?;
    two_inputs(out)?;
    vector_jacobian_product(out)?;
    linear_layer(out)?;
    relu_layer(out)?;
    softmax_cross_entropy(out)?;
    recurrence(out)?;
    checkpointed_chain(out)?;
    tiny_engine(out)?;
    Ok(())
}

// -------------------------------------------------------------------------------------- tables

/// The tangents of all entries in the direction of the first input: each is the sum over the
/// operands of "partial derivative times tangent of the operand".
pub fn tangents(list: &Listing) -> Vec<f64> {
    let mut tangents: Vec<f64> = Vec::with_capacity(list.entries.len());
    for (i, entry) in list.entries.iter().enumerate() {
        let start = if i == 0 { 1.0 } else { 0.0 };
        tangents.push(entry.partials.iter().fold(start, |sum, &(k, partial)| sum + partial * tangents[k]));
    }
    tangents
}

/// An entry as a formula: `v1 * v2`, `sin(v3)`.
fn formula(entry: &Listed) -> String {
    let operands: Vec<String> = entry
        .operands
        .iter()
        .map(|operand| match operand {
            Operand::Node(k) => format!("v{k}"),
            Operand::Constant(value) if *value < 0.0 => format!("({value})"),
            Operand::Constant(value) => format!("{value}"),
        })
        .collect();
    match (entry.operation, &operands[..]) {
        ("add", [a, b]) => format!("{a} + {b}"),
        ("sub", [a, b]) => format!("{a} - {b}"),
        ("mul", [a, b]) => format!("{a} * {b}"),
        ("div", [a, b]) => format!("{a} / {b}"),
        ("neg", [a]) => format!("-{a}"),
        ("square", [a]) => format!("{a}^2"),
        (name, _) => format!("{name}({})", operands.join(", ")),
    }
}

/// Prints a title, the function in words, and both tables.
fn tables(out: &mut impl Write, title: &str, about: &str, names: &[&str], list: &Listing) -> io::Result<()> {
    writeln!(out, "{title}\n{}\n{about}\n", "=".repeat(title.chars().count()))?;

    writeln!(out, "  forward {:<24}{:>16}{:>16}", "", "value", "tangent")?;
    for (i, (entry, tangent)) in list.entries.iter().zip(tangents(list)).enumerate() {
        let formula = names.get(i).map_or_else(|| formula(entry), |name| (*name).to_string());
        writeln!(out, "  {:<5} = {formula:<24}{:>16.9}{:>16.9}", format!("v{i}"), entry.value, tangent + 0.0)?;
    }

    writeln!(out, "\n  reverse {:>15}", "adjoint")?;
    for (i, entry) in list.entries.iter().enumerate().rev() {
        let is_output = list.outputs.first() == Some(&Operand::Node(i));
        let sum = if is_output { "1".to_string() } else { contributions(list, i).join(" + ") };
        let derivative = names.get(i).map_or_else(String::new, |name| format!("d/d{name}"));
        // + 0.0 turns -0 into 0.
        let (name, adjoint) = (pad(&format!("v̄{i}"), 5), entry.adjoint + 0.0);
        writeln!(out, "  {name} {adjoint:>17.9}  {derivative:<8} = {sum}")?;
    }
    writeln!(out)
}

/// Spaces up to a width on the screen, where the bar over a letter takes no place of its own.
fn pad(text: &str, width: usize) -> String {
    let bars = text.chars().filter(|&c| c == '\u{304}').count();
    format!("{text:<0$}", width + bars)
}

/// The terms of an adjoint: `v̄5·2` for every use, in the order of the reverse sweep.
fn contributions(list: &Listing, i: usize) -> Vec<String> {
    let uses =
        |user: usize| list.entries[user].partials.iter().filter(move |&&(k, _)| k == i).map(move |&(_, p)| (user, p));
    let term = |(user, partial): (usize, f64)| format!("v̄{user}·{}", short(partial));
    let terms: Vec<String> = (0..list.entries.len()).rev().flat_map(uses).map(term).collect();
    if terms.is_empty() { vec!["0".to_string()] } else { terms }
}

/// A factor, short; a negative one in parentheses, because it follows a dot.
fn short(x: f64) -> String {
    let digits = format!("{x:.4}");
    let digits = digits.trim_end_matches('0').trim_end_matches('.');
    if x < 0.0 { format!("({digits})") } else { digits.to_string() }
}

// ---------------------------------------------------------------------------------- the studies

/// One input: the product rule and the chain rule, with nobody applying them.
pub fn scalar_expression(out: &mut impl Write) -> io::Result<Listing> {
    let list = listing(2.0, |x| (x * x + 1.0) * x.sin());
    tables(out, "1. A scalar expression", "(x^2 + 1) sin x at x = 2", &["x"], &list)?;
    Ok(list)
}

/// A value used twice gets two contributions to its adjoint; they are added.
pub fn shared_intermediate(out: &mut impl Write) -> io::Result<Listing> {
    let list = listing(1.5, |x| {
        let a = x.square();
        a + a.sin()
    });
    tables(out, "2. A shared intermediate", "a + sin a with a = x^2, at x = 1.5", &["x"], &list)?;
    Ok(list)
}

/// Two derivatives for one reverse sweep: the sweep costs the same however many inputs there are.
pub fn two_inputs(out: &mut impl Write) -> io::Result<Listing> {
    let list = listing([2.0, 5.0], |[x1, x2]| x1.ln() + x1 * x2 - x2.sin());
    tables(out, "3. Two inputs", "ln x1 + x1 x2 - sin x2 at (2, 5)", &["x1", "x2"], &list)?;
    Ok(list)
}

/// Where [`vector_jacobian_product`] weighs its two results: the cotangent.
pub const COTANGENT: [f64; 2] = [2.0, -1.0];

/// The function of [`vector_jacobian_product`].
pub fn two_results<R: Real>([x, y]: [R; 2]) -> [R; 2] {
    [x * y, x.exp() + y.square()]
}

/// With several results a reverse sweep gives one combination of the Jacobian's rows, `cᵀ J`. The
/// adjoints of the results are then the cotangent `c`, as the table shows.
pub fn vector_jacobian_product(out: &mut impl Write) -> io::Result<Listing> {
    let list = listing([0.5, 3.0], |point| {
        let [a, b] = two_results(point);
        a * COTANGENT[0] + b * COTANGENT[1]
    });
    let about = "c·f with f(x, y) = (x y, e^x + y^2) and c = (2, -1), at (0.5, 3)";
    tables(out, "4. A vector-Jacobian product", about, &["x", "y"], &list)?;
    let (y, pullback) = vjp([0.5, 3.0], two_results);
    writeln!(out, "  f = {y:?}, and vjp pulls c back to {:?}\n", pullback.pull(COTANGENT))?;
    Ok(list)
}

/// The point of [`linear_layer`] and [`relu_layer`]: weights by row, biases, inputs.
pub const LAYER: ([[f64; 2]; 2], [f64; 2], [f64; 2]) = ([[0.5, -1.0], [2.0, 0.25]], [0.1, -0.2], [1.5, -2.0]);
/// What the layers are to give.
pub const TARGET: [f64; 2] = [1.0, 2.0];

type Layer<R> = ([[R; 2]; 2], [R; 2], [R; 2]);

/// `W x + b`
fn affine<R: Real>((w, b, x): Layer<R>) -> [R; 2] {
    [0, 1].map(|i| w[i][0] * x[0] + w[i][1] * x[1] + b[i])
}

/// Half the square of the distance to [`TARGET`].
fn half_square<R: Real>(y: [R; 2]) -> R {
    ((y[0] - TARGET[0]).square() + (y[1] - TARGET[1]).square()) * 0.5
}

const LAYER_NAMES: [&str; 8] = ["w11", "w12", "w21", "w22", "b1", "b2", "x1", "x2"];

/// With the residual `r = W x + b - t`, the adjoints are `r xᵀ` for the weights, `r` for the biases
/// and `Wᵀ r` for the input: the formulas of backpropagation come out of the list.
pub fn linear_layer(out: &mut impl Write) -> io::Result<Listing> {
    let list = listing(LAYER, |layer| half_square(affine(layer)));
    tables(out, "5. A linear layer", "|W x + b - t|^2 / 2 with t = (1, 2)", &LAYER_NAMES, &list)?;
    Ok(list)
}

/// A unit below zero passes nothing back: all derivatives by its weights are 0. At exactly zero
/// the derivative of relu is 0 too, by convention.
pub fn relu_layer(out: &mut impl Write) -> io::Result<Listing> {
    let (w, _, x) = LAYER;
    let list = listing((w, [0.1, -4.2], x), |layer| half_square(affine(layer).map(Real::relu)));
    let about = "|relu(W x + b) - t|^2 / 2: the first unit is on, the second is off";
    tables(out, "6. A relu layer", about, &LAYER_NAMES, &list)?;
    Ok(list)
}

/// The logits of [`softmax_cross_entropy`].
pub const LOGITS: [f64; 3] = [2.0, -1.0, 0.5];
/// The right class.
pub const CLASS: usize = 2;

/// `ln Σ e^(z_i - m) + m - z_class`; the gradient is softmax(z) minus 1 at the class.
///
/// The shift by the maximum `m` avoids overflow and changes neither value nor derivative, whatever
/// `m` is; so it may be detached, and the list shows that nothing flows back through it.
pub fn softmax_cross_entropy(out: &mut impl Write) -> io::Result<Listing> {
    let list = listing(LOGITS, |z| {
        let m = z[0].max(z[1]).max(z[2]).detach();
        z.map(|z| (z - m).exp()).iter().sum::<Var>().ln() + m - z[CLASS]
    });
    let about = "ln(sum of e^z) - z3 at z = (2, -1, 0.5)";
    tables(out, "7. Softmax and cross entropy", about, &["z1", "z2", "z3"], &list)?;
    Ok(list)
}

/// The weights of [`recurrence`]: of the state and of the input.
pub const WEIGHTS: [f64; 2] = [0.8, -0.6];
/// The inputs of [`recurrence`], one per time step.
pub const SIGNAL: [f64; 4] = [1.0, 0.5, -0.3, 0.7];

/// The same two weights are used in every step: their adjoints collect a contribution from each.
/// Backpropagation through time is the reverse sweep of a loop.
pub fn recurrence(out: &mut impl Write) -> io::Result<Listing> {
    let list = listing(WEIGHTS, |[w, u]| {
        let mut h = lift(0.0);
        for x in SIGNAL {
            h = (w * h + u * x).tanh();
        }
        (h - 0.5).square() * 0.5
    });
    let about = "h <- tanh(w h + u x) over x = (1, 0.5, -0.3, 0.7) from h = 0; then (h - 0.5)^2 / 2";
    tables(out, "8. A recurrence", about, &["w", "u"], &list)?;
    Ok(list)
}

/// The number of steps of [`checkpointed_chain`].
pub const STEPS: usize = 8;
/// Its starting point: the state and the parameter.
pub const START: [f64; 2] = [0.3, 1.7];

/// One step of the chain. The parameter is carried along, so that the state is all a step needs.
fn chain_step<R: Real>([x, a]: [R; 2]) -> [R; 2] {
    [x + (a * x).sin() * 0.1, a]
}

fn chain<R: Real>(state: [R; 2], steps: usize) -> [R; 2] {
    (0..steps).fold(state, |state, _| chain_step(state))
}

/// What [`checkpointed_chain`] found.
pub struct Checkpointed {
    /// The list of the whole chain.
    pub list: Listing,
    /// The gradient by the plain sweep over the whole list.
    pub plain: [f64; 2],
    /// The gradient segment by segment.
    pub checkpointed: [f64; 2],
    /// How many states were stored.
    pub stored: usize,
    /// How many steps were computed again.
    pub recomputed: usize,
    /// The records of the whole list, and of the longest segment's.
    pub records: [usize; 2],
}

/// A sweep over the whole list needs all of it in memory. Storing a few states instead and running
/// each segment again, the last one first, needs the list of one segment at a time: with segments
/// of √n steps, memory for √n states and √n steps of list, at the price of less than one more run.
///
/// `vjp` of a segment turns the cotangent of its end into that of its start. The operations of the
/// reverse sweep are the same in the same order, so the gradient is equal to the last bit.
pub fn checkpointed_chain(out: &mut impl Write) -> io::Result<Checkpointed> {
    let list = listing(START, |start| chain(start, STEPS)[0]);
    let about = "x <- x + sin(a x) / 10, eight times, from x = 0.3, a = 1.7";
    tables(out, "9. A chain of eight steps, checkpointed", about, &["x0", "a"], &list)?;

    // Forward, over plain numbers: keep the state before every segment of three steps.
    let segments = [3, 3, 2];
    let mut states = vec![START];
    for steps in &segments[..segments.len() - 1] {
        states.push(chain(states[states.len() - 1], *steps));
    }

    // Backward: record a segment from its stored state, pull the cotangent through, forget it.
    writeln!(out, "  segment from the stored state            records      cotangent of its start")?;
    let stored = states.len();
    let recomputed = STEPS - segments[segments.len() - 1];
    let (mut longest, mut cotangent) = (0, [1.0, 0.0]);
    for (state, steps) in states.into_iter().zip(segments).rev() {
        let (_, pullback) = vjp(state, |state| chain(state, steps));
        cotangent = pullback.pull(cotangent);
        let records = wengert::tape_size(state, |state| chain(state, steps)).records;
        longest = longest.max(records);
        let [x, a] = state;
        writeln!(out, "  {steps} steps from ({x:.6}, {a})            {records:>12}      {cotangent:.12?}")?;
    }
    let plain = grad(START, |start| chain(start, STEPS)[0]);
    let records = [list.entries.len(), longest];
    writeln!(out, "  8 steps at once                     {:>12}      {plain:.12?}", records[0])?;
    writeln!(out, "  {stored} states stored, {recomputed} steps run a second time, the same gradient to the bit\n")?;
    Ok(Checkpointed { list, plain, checkpointed: cotangent, stored, recomputed, records })
}

/// The whole method in a few lines: a Wengert list of values, each with the operands it depends on
/// and the partial derivatives by them.
#[derive(Default)]
pub struct Engine {
    entries: Vec<(f64, Vec<(usize, f64)>)>,
}

impl Engine {
    fn push(&mut self, value: f64, partials: Vec<(usize, f64)>) -> usize {
        self.entries.push((value, partials));
        self.entries.len() - 1
    }
    /// An independent variable.
    pub fn input(&mut self, value: f64) -> usize {
        self.push(value, Vec::new())
    }
    /// `a + b`
    pub fn add(&mut self, a: usize, b: usize) -> usize {
        self.push(self.entries[a].0 + self.entries[b].0, vec![(a, 1.0), (b, 1.0)])
    }
    /// `a b`
    pub fn mul(&mut self, a: usize, b: usize) -> usize {
        let (x, y) = (self.entries[a].0, self.entries[b].0);
        self.push(x * y, vec![(a, y), (b, x)])
    }
    /// `sin a`
    pub fn sin(&mut self, a: usize) -> usize {
        let x = self.entries[a].0;
        self.push(x.sin(), vec![(a, x.cos())])
    }
    /// The adjoints of all entries: the derivatives of `output` by them.
    pub fn adjoints(&self, output: usize) -> Vec<f64> {
        let mut adjoints = vec![0.0; self.entries.len()];
        adjoints[output] = 1.0;
        for (i, (_, partials)) in self.entries.iter().enumerate().rev() {
            for &(k, partial) in partials {
                adjoints[k] += adjoints[i] * partial;
            }
        }
        adjoints
    }
}

/// The library's list beside the one of an engine that fits on a page.
pub fn tiny_engine(out: &mut impl Write) -> io::Result<(Listing, Vec<f64>)> {
    let list = listing([2.0, 3.0], |[x1, x2]| x1 * x2 + x1.sin());
    tables(out, "10. The tiny engine", "x1 x2 + sin x1 at (2, 3)", &["x1", "x2"], &list)?;

    let mut engine = Engine::default();
    let (x1, x2) = (engine.input(2.0), engine.input(3.0));
    let (product, sine) = (engine.mul(x1, x2), engine.sin(x1));
    let output = engine.add(product, sine);
    let adjoints = engine.adjoints(output);
    writeln!(out, "  an engine of forty lines finds the adjoints {adjoints:.9?}\n")?;
    Ok((list, adjoints))
}
