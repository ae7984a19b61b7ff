//! Derivatives that are cut after every few steps, against the same steps by hand.

use wengert::prelude::*;
use wengert::{Grad, Scan, Status};

/// A recurrent network of two numbers, with a loss in every step.
fn step(c: &Tensor, x: &Tensor, w: &Tensor) -> Tensor {
    (c * w + c.roll(1, 0) * x).sin() + x
}

fn xs() -> Tensor {
    Tensor::linspace(-0.9, 1.1, 7)
}

/// The losses of all steps and the last carry, rolled.
fn rolled(by: Scan, init: &Tensor, w: &Tensor) -> Tensor {
    let (last, losses) = by.run(init, xs(), |c, x| {
        let c = step(&c, &x, w);
        (c.clone(), c.square().sum())
    });
    last.sum() + losses.sum()
}

/// The same unrolled.
fn by_hand(block: usize, backwards: bool, init: &Tensor, w: &Tensor) -> Tensor {
    let (mut c, mut loss) = (init.clone(), Tensor::from(0.0));
    for k in 0..7 {
        if k > 0 && k % block == 0 {
            c = c.detach();
        }
        c = step(&c, &xs().slice(if backwards { 6 - k as isize } else { k as isize }), w);
        loss += c.square().sum();
    }
    c.sum() + loss
}

#[track_caller]
fn near(what: &str, got: &Tensor, want: &Tensor) {
    let off = (got - want).abs().max().item();
    assert!(off < 1e-12, "{what}: {got:?} instead of {want:?}");
}

#[test]
fn cuts_are_those_of_the_steps_by_hand() {
    let (init, w) = (Tensor::from([0.3, -0.8]), Tensor::from([1.2, 0.7]));
    let both = (&init, &w);
    for block in [1, 2, 3, 6, 7, 100] {
        for backwards in [false, true] {
            let by = Scan::new().truncated(block);
            let by = if backwards { by.reverse() } else { by };
            let what = format!("blocks of {block}, backwards {backwards}");
            near(&what, &rolled(by, &init, &w), &by_hand(block, backwards, &init, &w));
            let wanted = grad(both, |(init, w)| by_hand(block, backwards, &init, &w));
            for by in [by, by.every(2)] {
                let got = grad(both, |(init, w)| rolled(by, &init, &w));
                near(&what, &got.0, &wanted.0);
                near(&what, &got.1, &wanted.1);
            }
            let direction = (&Tensor::from([1.0, 2.0]), &Tensor::from([-0.5, 1.0]));
            let (_, one) = jvp(both, direction, |(init, w)| rolled(by, &init, &w));
            let (_, other) = jvp(both, direction, |(init, w)| by_hand(block, backwards, &init, &w));
            near(&what, &one, &other);
            let one = hvp(both, direction, |(init, w)| rolled(by, &init, &w));
            let other = hvp(both, direction, |(init, w)| by_hand(block, backwards, &init, &w));
            near(&what, &one.0, &other.0);
            near(&what, &one.1, &other.1);
            let examples = Tensor::stack(&[&w, &(&w * 0.5)], 0);
            let one = vmap(&examples, |w| grad(&w, |w| rolled(by, &init, &w)));
            let other = vmap(&examples, |w| grad(&w, |w| by_hand(block, backwards, &init, &w)));
            near(&what, &one, &other);
        }
    }
}

#[test]
fn blocks_as_long_as_the_loop_cut_nothing() {
    let (init, w) = (Tensor::from([0.3, -0.8]), Tensor::from([1.2, 0.7]));
    let plain = grad(&w, |w| rolled(Scan::new(), &init, &w));
    near("whole", &grad(&w, |w| rolled(Scan::new().truncated(7), &init, &w)), &plain);
    let cut = grad(&w, |w| rolled(Scan::new().truncated(6), &init, &w));
    assert!((cut - plain).abs().min().item() > 1e-3);
}

#[test]
fn an_infinite_slope_behind_a_cut_is_not_seen() {
    // The slope of the square root at 0, which the first step takes, does not reach the second.
    let last = |a: &Tensor| {
        Scan::new().truncated(1).run(Tensor::from(0.0), Tensor::zeros(&[2]), |c, _| ((c * a).sqrt() + a, ())).0
    };
    let slope = grad(&Tensor::from(4.0), |a| last(&a)).item();
    // c = a, then sqrt(c a) + a: half of sqrt(c / a) and 1
    assert_eq!(slope, 1.5);
}

#[test]
fn a_status_names_the_line_of_the_loop() {
    let w = Tensor::from([1.2, 0.7]);
    let cut = Grad::of(|w: Tensor| Scan::new().truncated(3).run(&w, xs(), |c, x| (c * x, ())).0.sum()).status(&w);
    let Status::Severed(cut) = cut else { panic!("{cut:?}") };
    assert!(format!("{cut:?}").contains("truncated.rs"), "{cut:?}");
}

#[test]
fn loops_that_count_are_cut_too() {
    // c = c a of a constant c in every step: the slope of the last is a^3 in blocks of one
    let last = |a: &Tensor| Scan::new().truncated(1).fori(0..4, Tensor::from(1.0), |_, c| c * a);
    assert_eq!(grad(&Tensor::from(2.0), |a| last(&a)).item(), 8.0);
}

/// The steps of `by_hand` over numbers: a loop, or written out.
fn over_numbers(block: usize, backwards: bool, looped: bool, [c0, w]: [Var; 2]) -> Var {
    let xs: Vec<f64> = xs().to_vec();
    let step = |c: Var, x: Var| (c * w + c.square() * x).sin() + x;
    if looped {
        let by = Scan::new().truncated(block).every(if block == 3 { 2 } else { 1 });
        let by = if backwards { by.reverse() } else { by };
        let (last, losses) = by.run(c0, &xs, |c, x| {
            let c = step(c, x);
            (c, c.square())
        });
        return losses.into_iter().fold(last, |sum, loss| sum + loss);
    }
    let (mut c, mut losses) = (c0, Vec::new());
    for k in 0..7 {
        let x = Var::from(xs[if backwards { 6 - k } else { k }]);
        c = step(if k > 0 && k % block == 0 { c.detach() } else { c }, x);
        losses.push(c.square());
    }
    losses.into_iter().fold(c, |sum, loss| sum + loss)
}

#[test]
fn numbers_are_cut_at_the_same_steps() {
    let at = [0.4, 1.3];
    for (block, backwards) in [1, 2, 3, 6, 7, 100].into_iter().flat_map(|block| [(block, false), (block, true)]) {
        let of = |looped: bool| move |point: [Var; 2]| over_numbers(block, backwards, looped, point);
        let what = format!("blocks of {block}, backwards {backwards}");
        let close =
            |one: f64, two: f64| assert!((one - two).abs() < 1e-12 * two.abs().max(1.0), "{what}: {one}, not {two}");
        let (one, two) = (value_and_grad(at, of(true)), value_and_grad(at, of(false)));
        close(one.0, two.0);
        (0..2).for_each(|k| close(one.1[k], two.1[k]));
        let (one, two) = (jvp(at, [0.7, -0.2], of(true)), jvp(at, [0.7, -0.2], of(false)));
        close(one.1, two.1);
        let (one, two) = (hvp(at, [0.7, -0.2], of(true)), hvp(at, [0.7, -0.2], of(false)));
        (0..2).for_each(|k| close(one[k], two[k]));
    }
}
