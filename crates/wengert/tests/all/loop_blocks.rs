//! Loops whose reverse computes the steps again, block by block: the same bits in less memory.

use wengert::prelude::*;
use wengert::{Compile, Scan};

/// A loss with loops in it that may keep less.
type Loss = fn(Scan, &Tensor) -> Tensor;

/// Numbers between 0.2 and 0.8 without a pattern.
fn numbers(from: usize, count: usize) -> Tensor {
    Tensor::from((from..from + count).map(|k| 0.5 + 0.3 * (k as f64 * 12.9898).sin()).collect::<Vec<f64>>())
}

/// A carry with an invariant and rows, whose last value counts.
fn carried(scan: Scan, w: &Tensor) -> Tensor {
    let xs = numbers(5, 23 * 3).reshape(&[23, 3]);
    scan.run(w, &xs, |c, x| ((c * w + &x).sin(), ())).0.square().sum()
}

/// What every step gives counts, and the last carry does not: the last step backwards has other cotangents.
fn given(scan: Scan, w: &Tensor) -> Tensor {
    let xs = numbers(7, 20 * 3).reshape(&[20, 3]);
    let step = |(c, d): (Tensor, Tensor), x: Tensor| {
        let c = (&c * w + &x * &d).tanh();
        let d = (d * 0.7 + &c).sin();
        ((c, d.clone()), d * x)
    };
    let (_, ys) = scan.run((w, &(w * 0.5)), &xs, step);
    (ys.square() * 0.5).mean()
}

/// Rows that are differentiated, an integer and a truth value in the carry, and a choice.
fn mixed(scan: Scan, w: &Tensor) -> Tensor {
    let xs = w.expand_dims(0) * numbers(9, 17).expand_dims(1);
    let start = (w.clone(), Tensor::from(0i64), Tensor::from(true));
    let step = |(c, n, even): (Tensor, Tensor, Tensor), x: Tensor| {
        let next = even.where_((&c * &x).cos(), &c + &x * n.to_f64());
        ((next, n + 1, even.not()), (c * &x).sum())
    };
    let ((c, _, _), sums) = scan.run(start, &xs, step);
    c.sum() + sums.square().sum()
}

/// A loop in every step.
fn nested(scan: Scan, w: &Tensor) -> Tensor {
    let xs = numbers(3, 12);
    let inner = |c: Tensor, x: Tensor| (scan.run(&c, w, |d, v| ((d * &x).sin() + v * &c, ())).0, ());
    scan.run(w.sum(), &xs, inner).0
}

/// Counted steps.
fn counted(scan: Scan, w: &Tensor) -> Tensor {
    scan.fori(0..31, w, |i, c| (c * w + i.to_f64() * 0.01).sin()).sum()
}

const LOSSES: [(&str, Loss); 5] =
    [("carried", carried), ("given", given), ("mixed", mixed), ("nested", nested), ("counted", counted)];

#[track_caller]
fn same_bits(what: &str, x: &Tensor, y: &Tensor) {
    let bits = |x: &Tensor| x.to_vec().into_iter().map(f64::to_bits).collect::<Vec<u64>>();
    assert_eq!(bits(x), bits(y), "{what}: {x:?} and {y:?}");
}

fn scans() -> impl Iterator<Item = Scan> {
    [Scan::new(), Scan::new().reverse()].into_iter()
}

#[test]
fn blocks_do_not_change_the_bits_of_a_gradient() {
    let w = numbers(1, 3);
    for (name, loss) in LOSSES {
        for scan in scans() {
            let (value, all) = value_and_grad(&w, |w| loss(scan, &w));
            assert!(all.to_vec().iter().all(|g| g.is_finite() && *g != 0.0), "{name}: {all:?} is no test");
            for every in [1, 2, 3, 5, 7, 11, 19, 40] {
                let (same, few) = value_and_grad(&w, |w| loss(scan.every(every), &w));
                assert_eq!(value.item().to_bits(), same.item().to_bits(), "{name}, every {every}");
                same_bits(&format!("{name}, every {every}"), &all, &few);
            }
        }
    }
}

type Derivative<'a> = dyn Fn(Scan, &Tensor) -> Tensor + 'a;

#[test]
fn blocks_do_not_change_the_bits_of_second_and_third_derivatives() {
    let w = numbers(1, 3);
    let [u, v] = [numbers(11, 3), numbers(17, 3)];
    for (name, loss) in LOSSES {
        for scan in scans() {
            let gradient = |scan: Scan, w: &Tensor| grad(w, |w| loss(scan, &w));
            let backwards = |scan: Scan, w: &Tensor| grad(w, |w| gradient(scan, &w).dot(&u));
            let forwards = |scan: Scan, w: &Tensor| jvp(w, &u, |w| gradient(scan, &w)).1;
            let third = |scan: Scan, w: &Tensor| jvp(w, &v, |w| backwards(scan, &w)).1;
            let mapped = |scan: Scan, w: &Tensor| vmap(Tensor::stack(&[w, &u], 0), |w| gradient(scan, &w));
            let all: [&Derivative; 4] = [&backwards, &forwards, &third, &mapped];
            for (k, derivative) in all.into_iter().enumerate() {
                let plain = derivative(scan, &w);
                for every in [1, 4, 6] {
                    same_bits(&format!("{name} {k}, every {every}"), &plain, &derivative(scan.every(every), &w));
                }
            }
        }
    }
}

#[test]
fn a_budget_cuts_loops_and_keeps_the_bits() {
    fn long(scan: Scan, w: &Tensor) -> Tensor {
        let step = |(c, d): (Tensor, Tensor), x: Tensor| {
            let d = (&d * 0.9 + c.sin() * &x).tanh();
            ((c * 0.99 + &d * w, d.clone()), d.mean())
        };
        let ((c, _), ys) = scan.run((w, w), numbers(2, 400), step);
        c.square().sum() + ys.exp().sum()
    }
    let w = numbers(1, 64);
    let gradient = |w: Tensor| grad(&w, |w| long(Scan::new(), &w));
    let with = |options: Compile| options.threads(1).function(gradient);
    let whole = with(Compile::new());
    let most = whole.plan(&w).expect("there is no limit").peak_bytes();
    let plain = whole.call(&w);
    let mut peaks = vec![most];
    loop {
        let budget = peaks.last().expect("there is one") - 1;
        let compiled = with(Compile::new().memory(budget));
        match compiled.plan(&w) {
            Ok(plan) => {
                assert!(plan.peak_bytes() <= budget, "{} of {budget}", plan.peak_bytes());
                same_bits(&format!("{budget} bytes"), &plain, &compiled.call(&w));
                peaks.push(plan.peak_bytes());
            }
            Err(error) => {
                // The least is named.
                assert!(error.to_string().contains(&format!("{} would do", budget + 1)), "{error}");
                break;
            }
        }
    }
    // Every step kept, with vector code that has memory of its own and without; one level of blocks, and several.
    let kept = peaks.iter().take_while(|&&peak| peak + 32 * 1024 >= most).count();
    let blocks = &peaks[kept..];
    assert!(kept <= 2 && blocks.len() >= 2, "{peaks:?}");
    // Three arrays of each step are kept.
    let array = 8 * 64 * 400;
    assert!(3 * array < most && most < 3 * array + array / 4, "{peaks:?}");
    assert!(2 * blocks[0] < array && 4 * blocks.last().expect("there is one") < array, "{peaks:?}");
}
