//! What a loop keeps: its carries, whatever its steps do.

use wengert::loops::Loops;
use wengert::prelude::*;
use wengert::tape_size;

/// Ten operations in a step, two numbers carried, one captured.
fn long(loops: Loops, steps: i64, x: Var) -> Var {
    let (q, p) = loops.fori(0..steps, (x, lift(0.0)), |i, (q, p)| {
        let force = (q * x).sin() + p * 0.01 + i * 1e-9;
        let p = if q > 0.0 { p - force * 0.01 } else { p + force * 0.005 };
        (q + p * 0.01, p)
    });
    q + p
}

#[test]
fn a_step_takes_its_carry_and_a_few_bits() {
    let size = |loops: Loops, steps: i64| tape_size(0.9, |x| long(loops, steps, x));
    let [short, more] = [10_000, 110_000].map(|steps| size(Loops::new(), steps));
    assert_eq!(short.records, more.records, "the list does not grow");
    let each = (more.bytes - short.bytes) as f64 / 100_000.0;
    assert!((each - 16.125).abs() < 0.01, "two numbers and a bit for two paths, not {each}");
    let [short, more] = [10_000, 110_000].map(|steps| size(Loops::new().every(100), steps));
    let each = (more.bytes - short.bytes) as f64 / 100_000.0;
    assert!((each - 0.285).abs() < 0.01, "two numbers every hundred steps and a bit, not {each}");
    let plain = tape_size(0.9, |x| (0..1000).fold(x, |q, _| q + (q * x).sin() * 0.01));
    assert!(plain.bytes > 70 * 1000, "{plain:?}");
}

#[test]
fn keeping_fewer_carries_keeps_the_bits() {
    let want = value_and_grad(0.9, |x| long(Loops::new(), 2000, x));
    for every in [2, 3, 45, 1999, 2000, 5000] {
        let got = value_and_grad(0.9, |x| long(Loops::new().every(every), 2000, x));
        assert_eq!(got, want, "every {every}");
        let hessians = [Loops::new(), Loops::new().every(every)].map(|loops| hessian(0.9, |x| long(loops, 300, x)));
        assert_eq!(hessians[0], hessians[1], "every {every}");
    }
}

/// A derivative that another driver's function computes is a loop too: the list of the outer one grows by what the inner loop
/// carries, and not by its operations.
#[test]
fn a_derivative_of_a_loop_is_a_loop() {
    let records = |steps: i64| tape_size(0.9, |x| grad(x, |x| long(Loops::new(), steps, x))).records;
    let each = (records(11_000) - records(1000)) as f64 / 10_000.0;
    assert!(each <= 2.0, "two numbers of the carry, not {each} records");
    let records = |steps: i64| tape_size(0.9, |x| jvp(x, lift(1.0), |x| long(Loops::new(), steps, x)).1).records;
    assert_eq!(records(11_000), records(1000));
}

/// Predators and prey by the classical method of Runge and Kutta, a hundred thousand steps of 58 operations.
#[test]
fn a_long_course_takes_its_carry() {
    let steps = 100_000;
    let step = |[x, y]: [Var; 2], [a, b, c, d]: [Var; 4]| {
        let h = 1e-4;
        let slope = |[x, y]: [Var; 2]| [a * x - b * x * y, d * x * y - c * y];
        let ahead = |k: [Var; 2], h: f64| [x + k[0] * h, y + k[1] * h];
        let k1 = slope([x, y]);
        let k2 = slope(ahead(k1, h / 2.0));
        let k3 = slope(ahead(k2, h / 2.0));
        let k4 = slope(ahead(k3, h));
        let next = |x: Var, k: usize| x + (k1[k] + 2.0 * (k2[k] + k3[k]) + k4[k]) * (h / 6.0);
        [next(x, 0), next(y, 1)]
    };
    let start = [lift(1.0), lift(0.5)];
    let looped = |rates: [Var; 4]| fori(0..steps, start, |_, c| step(c, rates));
    let plain = |rates: [Var; 4]| (0..steps).fold(start, |c, _| step(c, rates));
    let rates = [1.0, 0.5, 0.8, 0.3];
    let (value, gradient) = value_and_grad(rates, |rates| looped(rates)[0]);
    let (want, slopes) = value_and_grad(rates, |rates| plain(rates)[0]);
    assert_eq!(value, want);
    for (got, want) in gradient.iter().zip(slopes) {
        assert!((got / want - 1.0).abs() < 1e-9, "{got} instead of {want}");
    }
    let each = tape_size(rates, |rates| looped(rates)[1]).bytes as f64 / steps as f64;
    assert!((16.0..16.2).contains(&each), "two numbers, not {each}");
}
