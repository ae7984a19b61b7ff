//! Many samples of a mixture are taken in blocks: the parts of the samples have to add up all the same.

use wengert_gradbench::problems::gmm::{Compiled, Data, in_order};

/// A problem of `n` samples that begin at number `first` of one list.
fn data(first: usize, n: usize) -> Data {
    let (d, k) = (2, 40);
    let number = |seed: usize, at: usize| ((at * 7919 + seed * 104_729) % 1009) as f64 / 1009.0 - 0.5;
    let numbers = |seed: usize, count: usize| (0..count).map(|at| number(seed, at)).collect::<Vec<f64>>();
    Data {
        d,
        k,
        n,
        alpha: numbers(1, k),
        mu: numbers(2, k * d),
        q: numbers(3, k * d),
        l: numbers(4, k * d * (d - 1) / 2),
        x: (first * d..(first + n) * d).map(|at| 3.0 * number(5, at)).collect(),
        gamma: 0.7,
        m: 2,
    }
}

/// The objective and its gradient.
fn evaluated(first: usize, n: usize) -> Vec<f64> {
    let data = data(first, n);
    let (compiled, p) = (Compiled::new(&data, 1), data.parameters());
    let mut all = vec![compiled.objective(&p)];
    all.extend(in_order(&compiled.gradient(&p)));
    all
}

#[test]
fn the_samples_of_a_mixture_add_up() {
    const PIECE: usize = 468;
    // A piece is too small for blocks. What two pieces have twice, and both together once, is the prior.
    let two = [evaluated(0, PIECE), evaluated(PIECE, PIECE), evaluated(0, 2 * PIECE)];
    let prior: Vec<f64> = (0..two[0].len()).map(|k| two[0][k] + two[1][k] - two[2][k]).collect();
    // Four blocks of 819 samples and none, one, or many behind them; and five.
    for n in [3276, 3277, 3900, 4095] {
        let whole = evaluated(0, n);
        let mut sum = prior.clone();
        for first in (0..n).step_by(PIECE) {
            let piece = evaluated(first, PIECE.min(n - first));
            sum.iter_mut().zip(piece).zip(&prior).for_each(|((sum, piece), prior)| *sum += piece - prior);
        }
        let largest = whole.iter().fold(1.0, |most: f64, x| most.max(x.abs()));
        for (k, (found, wanted)) in whole.iter().zip(&sum).enumerate() {
            assert!((found - wanted).abs() < 1e-12 * largest, "number {k} of {n} samples: {found} and not {wanted}");
        }
    }
}
