//! Functions of eigenvalues and singular values, at spectra where values repeat and nearly repeat.

mod cases;
mod edges;
mod errors;
mod table;

use wengert::linalg::{Singular, Spectral, low_rank, nuclear_norm, pinv, polar, singular, spectral};
use wengert::{Array, Tensor};

/// A matrix of plain numbers.
fn matrix(rows: usize, columns: usize, numbers: &[f64]) -> Tensor {
    Tensor::from_array(Array::new(&[rows, columns], numbers.to_vec()))
}

/// A function of one number by its name in the table.
fn named(name: &str, x: &Tensor) -> Tensor {
    match name {
        "exp" => x.exp(),
        "sin" => x.sin(),
        "tanh" => x.tanh(),
        "sqrt" => x.sqrt(),
        "ln" => x.ln(),
        "recip" => x.recip(),
        "cube" => x * x.square(),
        "square" => x.square(),
        "cosh" => x.cosh(),
        "atan" => x.atan(),
        name => panic!("no function {name}"),
    }
}

/// A part of a loss: a kind, then its options and matrices, as in the table.
#[derive(Clone, Debug)]
struct Term {
    kind: String,
    words: Vec<String>,
}

impl Term {
    fn of(text: &str) -> Self {
        let mut words = text.split_whitespace().map(str::to_owned);
        Term { kind: words.next().expect("a kind"), words: words.collect() }
    }

    fn number(&self, k: usize) -> usize {
        self.words[k].parse().expect("an integer")
    }

    fn numbers(&self, from: usize) -> Vec<f64> {
        self.words[from..].iter().map(|word| word.parse().expect("a number")).collect()
    }

    fn of_eigenvalues(&self, s: &Spectral, n: usize) -> Tensor {
        let with = |from: usize, x: Tensor| (x * matrix(n, n, &self.numbers(from))).sum();
        match &self.kind[..] {
            "map" => with(1, s.map(|x| named(&self.words[0], x))),
            "projector" => with(2, s.projector(self.number(0)..self.number(1))),
            "sum" => s.sum(self.number(0)..self.number(1)),
            "trace" => s.trace(|x| named(&self.words[0], x)),
            "values" => named(&self.words[0], &s.values()).sum(),
            "vectors" => {
                let k = self.number(0);
                (s.vectors(k..k + 1) * matrix(n, 1, &self.numbers(1))).sum().square()
            }
            kind => panic!("no term {kind}"),
        }
    }

    fn of_singular_values(&self, a: &Tensor, s: &Singular) -> Tensor {
        let [m, n] = [a.shape()[0], a.shape()[1]];
        let all =
            |from: usize, rows: usize, columns: usize| matrix(rows, columns, &self.numbers(from)[..rows * columns]);
        match &self.kind[..] {
            "map" => (s.map(|x| named(&self.words[0], x)) * all(1, m, n)).sum(),
            "projector" => {
                let (left, right) = s.projector(self.number(0)..self.number(1));
                (left * all(2, m, m)).sum() + (right * all(2 + m * m, n, n)).sum()
            }
            "sum" => s.sum(self.number(0)..self.number(1)),
            "trace" => s.trace(|x| named(&self.words[0], x)),
            "values" => named(&self.words[0], &s.values()).sum(),
            "low_rank" => (low_rank(a, self.number(0)) * all(1, m, n)).sum(),
            "polar" => {
                let (u, h) = polar(a);
                (u * all(0, m, n)).sum() + (h * all(m * n, n, n)).sum()
            }
            "pinv" => (pinv(a) * all(0, n, m)).sum(),
            "nuclear" => nuclear_norm(a),
            "vectors" => {
                let k = self.number(0);
                let (u, v) = s.vectors(k..k + 1);
                (u * all(1, m, 1)).sum() * (v * all(1 + m, n, 1)).sum()
            }
            kind => panic!("no term {kind}"),
        }
    }
}

/// A loss `t1 t2 + sin(t3)` of the spectrum of a matrix.
#[derive(Clone, Debug)]
struct Loss {
    symmetric: bool,
    terms: Vec<Term>,
}

impl Loss {
    fn at(&self, a: &Tensor) -> Tensor {
        let n = a.shape()[1];
        let terms: Vec<Tensor> = if self.symmetric {
            let s = spectral(a);
            self.terms.iter().map(|term| term.of_eigenvalues(&s, n)).collect()
        } else {
            let s = singular(a);
            self.terms.iter().map(|term| term.of_singular_values(a, &s)).collect()
        };
        &terms[0] * &terms[1] + terms[2].sin()
    }
}

/// `<x, y>` of plain numbers.
fn inner(x: &[f64], y: &[f64]) -> f64 {
    x.iter().zip(y).map(|(x, y)| x * y).sum()
}

/// The largest magnitude.
fn largest(x: &[f64]) -> f64 {
    x.iter().fold(0.0, |largest, x| largest.max(x.abs()))
}

/// Numbers within a distance of others.
fn near(what: &str, got: &[f64], wanted: &[f64], within: f64) -> Result<(), String> {
    let worst = got
        .iter()
        .zip(wanted)
        .map(|(x, y)| (x - y).abs())
        .fold(0.0, |worst: f64, x| if x > worst || x.is_nan() { x } else { worst });
    if got.len() == wanted.len() && worst <= within {
        return Ok(());
    }
    Err(format!("{what} is off by {worst:.1e} of {within:.1e}: {got:?} instead of {wanted:?}"))
}
