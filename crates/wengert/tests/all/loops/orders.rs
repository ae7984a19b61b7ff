//! Third derivatives of loops: every nesting of forward and backward mode, against unrolled loops.

use wengert::prelude::*;
use wengert::{cond, fori, scan, switch, vmap, while_loop};

use super::{fold, near, numbers, rows, total};

/// Sums of at most some hundred products in each, every one with a few roundings.
const ROUNDINGS: f64 = 512.0;

type Function = fn(&Tensor) -> Tensor;

/// Whether a level is forward or backward.
#[derive(Clone, Copy, Debug)]
enum Mode {
    Forward,
    Backward,
}

/// All eight ways to nest three levels, the outermost first.
fn nestings() -> impl Iterator<Item = [Mode; 3]> {
    let mode = |n: usize, bit: usize| if n >> bit & 1 == 0 { Mode::Forward } else { Mode::Backward };
    (0..8).map(move |n| [mode(n, 2), mode(n, 1), mode(n, 0)])
}

/// The derivative of `f` along `v`.
fn along(mode: Mode, x: &Tensor, v: &Tensor, f: &dyn Fn(&Tensor) -> Tensor) -> Tensor {
    match mode {
        Mode::Forward => jvp(x, v, |x| f(&x)).1,
        Mode::Backward => grad(x, |x| f(&x)).dot(v),
    }
}

/// The third derivative along three directions.
fn third(modes: [Mode; 3], x: &Tensor, f: &dyn Fn(&Tensor) -> Tensor) -> Tensor {
    let [u, v, w] = [10, 20, 30].map(|from| numbers(from, x.size()));
    let once = |x: &Tensor| along(modes[2], x, &u, f);
    let twice = |x: &Tensor| along(modes[1], x, &v, &once);
    along(modes[0], x, &w, &twice)
}

/// Checks a loop against the same steps in Rust: values, and third derivatives in every nesting; also at several points at once.
#[track_caller]
fn check(looped: Function, unrolled: Function) {
    let points = [0, 1, 2].map(|k| numbers(3 + 5 * k, 4) * 0.5 + 0.8);
    for x in &points {
        near("value", &looped(x), &unrolled(x), ROUNDINGS);
        let want = third([Mode::Forward; 3], x, &unrolled);
        for modes in nestings() {
            near(&format!("{modes:?}"), &third(modes, x, &looped), &want, ROUNDINGS);
            near(&format!("unrolled {modes:?}"), &third(modes, x, &unrolled), &want, ROUNDINGS);
        }
    }
    let each = points.each_ref().map(|x| third([Mode::Backward; 3], x, &unrolled));
    let (all, want) = (Tensor::stack(&points.each_ref(), 0), Tensor::stack(&each.each_ref(), 0));
    for modes in nestings() {
        near(&format!("examples {modes:?}"), &vmap(&all, |x| third(modes, &x, &looped)), &want, ROUNDINGS);
        // The loop itself is mapped, and the derivative is that of the map.
        let sum = third(modes, &all.flatten(), &|x| vmap(x.reshape(&[3, 4]), |x| looped(&x)).sum());
        let plain = third(modes, &all.flatten(), &|x| total(rows(&x.reshape(&[3, 4])).iter().map(unrolled)));
        near(&format!("map {modes:?}"), &sum, &plain, ROUNDINGS);
    }
}

#[test]
fn a_scan_with_rows_and_results() {
    let looped = |x: &Tensor| {
        let (c, ys) = scan(x.sum() * 0.3, x, |c, x| (c.sin() * &x + &c, c * x.exp()));
        c + ys.square().mean()
    };
    let unrolled = |x: &Tensor| {
        let (mut c, mut squares) = (x.sum() * 0.3, Tensor::from(0.0));
        for x in rows(x) {
            squares += (&c * x.exp()).square();
            c = c.sin() * &x + &c;
        }
        c + squares / x.size() as f64
    };
    check(looped, unrolled);
}

#[test]
fn a_scan_in_a_scan_that_captures_from_the_outer_step() {
    let looped = |x: &Tensor| {
        fold(&(x.dot(x) * 0.1), x, |c, row| {
            let a = (&c * &row).cos();
            fold(&c, x, |d, other| d.sin() * &a + other * &row * &c * 0.2)
        })
    };
    let unrolled = |x: &Tensor| {
        rows(x).iter().fold(x.dot(x) * 0.1, |c, row| {
            let a = (&c * row).cos();
            rows(x).iter().fold(c.clone(), |d, other| d.sin() * &a + other * row * &c * 0.2)
        })
    };
    check(looped, unrolled);
}

#[test]
fn a_while_loop_whose_steps_the_point_decides() {
    let looped = |x: &Tensor| {
        let growth = x.square().sum() * 0.2 + 1.0;
        while_loop(x.sum(), |y| y.lt(20.0), |y| y.square() * 0.05 + y * &growth)
    };
    let unrolled = |x: &Tensor| {
        let (growth, mut y) = (x.square().sum() * 0.2 + 1.0, x.sum());
        while y.lt(20.0).test() {
            y = y.square() * 0.05 + y * &growth;
        }
        y
    };
    check(looped, unrolled);
}

#[test]
fn a_branch_in_a_while_loop() {
    let looped = |x: &Tensor| {
        let a = x.mean();
        let step = |(n, y): (Tensor, Tensor)| {
            let y = cond(&y.gt(1.0), &y, |y| y.sin() * &a, |y| y.exp() + &a * n.to_f64());
            (n + 1, y)
        };
        while_loop((Tensor::from(0i64), x.sum()), |(n, y)| n.lt(4).or(y.gt(2.0)), step).1
    };
    let unrolled = |x: &Tensor| {
        let (a, mut y, mut n) = (x.mean(), x.sum(), 0);
        while n < 4 || y.gt(2.0).test() {
            y = if y.gt(1.0).test() { y.sin() * &a } else { y.exp() + &a * f64::from(n) };
            n += 1;
        }
        y
    };
    check(looped, unrolled);
}

#[test]
fn a_branch_by_index_in_a_counted_loop() {
    let looped = |x: &Tensor| {
        let a = x.mean();
        fori(0..5, x.sum(), |i, y| {
            let place = (&y * 3.0).sin().gt(0.0).to_i64() + i.gt(2).to_i64();
            switch(&place, &y, &[&|y| y.sin() * &a, &|y| (y * 0.3).exp(), &|y| y.square() * 0.1 + &a * i.to_f64()])
        })
    };
    let unrolled = |x: &Tensor| {
        let (a, mut y) = (x.mean(), x.sum());
        for i in 0..5 {
            let place = usize::from((&y * 3.0).sin().gt(0.0).test()) + usize::from(i > 2);
            y = match place {
                0 => y.sin() * &a,
                1 => (y * 0.3).exp(),
                _ => y.square() * 0.1 + &a * i as f64,
            };
        }
        y
    };
    check(looped, unrolled);
}

#[test]
fn a_counted_loop_that_reads_and_writes_at_its_index() {
    let looped = |x: &Tensor| {
        fori(0..4, x, |i, c| {
            let own = x.take(&i, 0);
            let at = (3 - &i).expand_dims(0);
            let part = c.dynamic_slice(&at, &[1]);
            let c = c.dynamic_update_slice(&(part.sin() * &own + c.dot(x)), &at);
            c * (own + i.to_f64() * 0.1).cos()
        })
        .sum()
    };
    let unrolled = |x: &Tensor| {
        let mut c = rows(x);
        for i in 0..4 {
            let own = x.slice(i as isize);
            let product = total(c.iter().zip(rows(x)).map(|(c, x)| c * x));
            c[3 - i] = c[3 - i].sin() * &own + product;
            let factor = (own + i as f64 * 0.1).cos();
            c = c.iter().map(|c| c * &factor).collect();
        }
        total(c)
    };
    check(looped, unrolled);
}

#[test]
fn a_choice_of_elements_in_a_while_loop() {
    let looped = |x: &Tensor| {
        let grown = |c: Tensor| c.gt(1.0).where_(c.square() * x, c.sin() * 2.0 + x * 0.1);
        while_loop(x, |c| c.sum().lt(9.0), grown).sum()
    };
    let unrolled = |x: &Tensor| {
        let mut c = x.clone();
        while c.sum().lt(9.0).test() {
            c = c.gt(1.0).where_(c.square() * x, c.sin() * 2.0 + x * 0.1);
        }
        c.sum()
    };
    check(looped, unrolled);
}

#[test]
fn a_scan_in_a_while_loop_and_a_while_loop_in_a_scan() {
    let inner = |x: &Tensor| {
        let step = |(c, n): (Tensor, Tensor)| (fold(&c, x, |c, row| c.sin() * row + &c * 0.5), n + 1);
        while_loop((x.sum(), Tensor::from(0i64)), |(c, n)| n.lt(3).and(c.abs().gt(1e-3)), step).0
    };
    let unrolled = |x: &Tensor| {
        let step = |c: Tensor| rows(x).iter().fold(c, |c, row| c.sin() * row + &c * 0.5);
        (0..3).fold(x.sum(), |c, _| step(c))
    };
    check(inner, unrolled);
    let outer = |x: &Tensor| fold(&x.sum(), x, |c, row| while_loop(c, |c| c.gt(1.0), |c| c.sqrt() * &row * 0.7) + row);
    let unrolled = |x: &Tensor| {
        rows(x).iter().fold(x.sum(), |mut c, row| {
            while c.gt(1.0).test() {
                c = c.sqrt() * row * 0.7;
            }
            c + row
        })
    };
    check(outer, unrolled);
}
