//! The cost of a plain number that a function of tensors captures and that changes at every call, beside that of a captured
//! tensor, which is always an operand, and of a number that stays the same, which is folded.

use std::fmt::Write;
use std::time::Instant;

use wengert::{Tensor, grad, plans_made};

/// The lengths of the arrays: a call costs its recording, then its arithmetic.
const SIZES: [usize; 3] = [10, 1_000, 100_000];
/// How often the three take turns; the medians are compared.
const ROUNDS: usize = 15;

/// A table of times of a call and their ratios.
pub(crate) fn table() -> String {
    let mut text = "captured number, time of a gradient of sum((x c)^2 + c x) in us\n\
                    numbers   tensor     varies     stays    varies/tensor   plans\n"
        .to_owned();
    for size in SIZES {
        let x = Tensor::linspace(0.1, 0.9, size);
        let calls = (2_000_000 / (size + 2_000)).max(5);
        let mut step = 0;
        let mut next = || {
            step += 1;
            1.0 / f64::from(step)
        };
        let by_tensor = |c: f64| {
            let c = Tensor::from(c);
            grad(&x, |x| ((&x * &c).square() + &c * &x).sum())
        };
        let by_number = |c: f64| grad(&x, |x| ((&x * c).square() + c * &x).sum());
        let by_same = |_: f64| grad(&x, |x| ((&x * 0.7).square() + 0.7 * &x).sum());
        let ways: [&dyn Fn(f64) -> Tensor; 3] = [&by_tensor, &by_number, &by_same];
        // After two values every plan exists.
        ways.iter().for_each(|way| drop((way(0.3), way(0.6))));
        let before = plans_made();
        let mut times = [const { Vec::new() }; 3];
        for _ in 0..ROUNDS {
            for (way, times) in ways.iter().zip(&mut times) {
                let start = Instant::now();
                (0..calls).for_each(|_| drop(way(next())));
                times.push(start.elapsed().as_secs_f64() / calls as f64);
            }
        }
        let plans = plans_made() - before;
        let [tensor, varies, stays] = times.map(|mut times| {
            times.sort_by(f64::total_cmp);
            times[ROUNDS / 2] * 1e6
        });
        let ratio = varies / tensor;
        let _ = writeln!(text, "{size:7} {tensor:8.2} {varies:10.2} {stays:9.2} {ratio:16.2} {plans:7}");
    }
    text
}
