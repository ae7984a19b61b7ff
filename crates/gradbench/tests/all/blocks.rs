//! Many samples of a mixture are taken in blocks, and the rows of its factors in groups: the parts have to add up all the same.

use wengert::prelude::*;
use wengert_gradbench::problems::gmm::{Compiled, Data, in_order};

/// A problem of `n` samples that begin at number `first` of one list.
fn data([d, k]: [usize; 2], first: usize, n: usize) -> Data {
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
fn evaluated(data: &Data) -> Vec<f64> {
    let (compiled, p) = (Compiled::new(data, 1), data.parameters());
    let mut all = vec![compiled.objective(&p)];
    all.extend(in_order(&compiled.gradient(&p)));
    all
}

#[test]
fn the_samples_of_a_mixture_add_up() {
    const PIECE: usize = 468;
    let evaluated = |first, n| evaluated(&data([2, 40], first, n));
    // A piece is too small for blocks. What two pieces have twice, and both together once, is the prior.
    let two = [evaluated(0, PIECE), evaluated(PIECE, PIECE), evaluated(0, 2 * PIECE)];
    let prior: Vec<f64> = (0..two[0].len()).map(|k| two[0][k] + two[1][k] - two[2][k]).collect();
    // Four blocks of 416 samples and none, one, or many behind them; and five.
    for n in [1664, 1665, 1900, 2080] {
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

/// What of the log posterior depends on the parameters, sample by sample and number by number, in the order of [`in_order`].
fn by_numbers(data: &Data, numbers: &[Var]) -> Var {
    let (d, k) = (data.d, data.k);
    let below = d * (d - 1) / 2;
    let (alpha, mu, rest) = (&numbers[..k], &numbers[k..k + k * d], &numbers[k + k * d..]);
    let logsumexp = |terms: &[Var]| terms.iter().map(|x| x.exp()).sum::<Var>().ln();
    let mut sum = -(data.n as f64) * logsumexp(alpha);
    for x in data.x.chunks(d) {
        let term = |c: usize| {
            let (q, l) = rest[c * (d + below)..][..d + below].split_at(d);
            let differences: Vec<Var> = (0..d).map(|i| x[i] - mu[c * d + i]).collect();
            let turned = |row: usize| {
                // Column `i` of the triangle follows those before it, of `d - 1`, `d - 2` and so on.
                let column = |i: usize| i * (2 * d - i - 1) / 2;
                let under: Var = (0..row).map(|i| l[column(i) + row - i - 1] * differences[i]).sum();
                under + q[row].exp() * differences[row]
            };
            let distance: Var = (0..d).map(|row| turned(row).square()).sum();
            alpha[c] + q.iter().copied().sum::<Var>() - 0.5 * distance
        };
        sum += logsumexp(&(0..k).map(term).collect::<Vec<Var>>());
    }
    for component in rest.chunks(d + below) {
        let (q, l) = component.split_at(d);
        sum += data.m as f64 * q.iter().copied().sum::<Var>();
        let spread = q.iter().map(|q| q.exp().square()).chain(l.iter().map(|l| l.square())).sum::<Var>();
        sum -= 0.5 * data.gamma * data.gamma * spread;
    }
    sum
}

#[test]
fn rows_of_a_factor_are_taken_in_groups() {
    // One group of rows with fewer than eight and more, two of the same and other lengths, three, and five.
    for [d, k] in [[1, 3], [7, 2], [12, 3], [16, 2], [19, 2], [25, 2], [43, 1]] {
        let data = data([d, k], 3, 11);
        let numbers = in_order(&data.parameters());
        let wanted = grad(&numbers, |numbers| by_numbers(&data, &numbers));
        let found = &evaluated(&data)[1..];
        let largest = wanted.iter().fold(1.0, |most: f64, x| most.max(x.abs()));
        for (at, (found, wanted)) in found.iter().zip(&wanted).enumerate() {
            assert!(
                (found - wanted).abs() < 1e-12 * largest,
                "number {at} for {d} x {d} x {k}: {found} and not {wanted}"
            );
        }
    }
}
