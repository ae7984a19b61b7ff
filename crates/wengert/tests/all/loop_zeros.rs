//! Structural zeros at the ends of loops: where a step has no tangent or no cotangent, a singular derivative of it is not
//! multiplied by zeros. Each loop is compared with the same steps written out.

use wengert::prelude::*;
use wengert::{Scan, While};

type Function<'a> = dyn Fn(&Tensor) -> Tensor + 'a;

/// The gradient, the tangent in direction 1, and the gradient's tangent, which all have to be the same numbers.
fn check(name: &str, rolled: &Function<'_>, unrolled: &Function<'_>, x: f64) {
    let x = Tensor::from(x);
    let one = Tensor::from(1.0);
    let reverse = |f: &Function<'_>| grad(&x, |x| f(&x)).item();
    let forward = |f: &Function<'_>| jvp(&x, &one, |x| f(&x)).1.item();
    let twice = |f: &Function<'_>| jvp(&x, &one, |x| grad(&x, |x| f(&x))).1.item();
    for (mode, found, wanted) in [
        ("reverse", reverse(rolled), reverse(unrolled)),
        ("forward", forward(rolled), forward(unrolled)),
        ("forward over reverse", twice(rolled), twice(unrolled)),
    ] {
        assert!(wanted.is_finite(), "{name}, {mode}: the steps written out give {wanted}");
        assert!((found - wanted).abs() <= 1e-12 * wanted.abs().max(1.0), "{name}, {mode}: {found} instead of {wanted}");
    }
}

/// `c, y = sqrt(c) - 1, c` from 1 on: the second step's root is at 0, and nobody needs it.
#[test]
fn the_last_carry_is_not_needed() {
    let rolled = |x: &Tensor| {
        let steps = Tensor::zeros(&[2]);
        let (_, all) = scan(x, &steps, |c, _| (c.sqrt() - 1.0, c));
        all.sum()
    };
    let unrolled = |x: &Tensor| x + (x.sqrt() - 1.0);
    check("scan", &rolled, &unrolled, 1.0);
    let turned = |x: &Tensor| {
        let (_, all) = Scan::new().reverse().run(x, Tensor::zeros(&[2]), |c, _| (c.sqrt() - 1.0, c));
        (all * Tensor::from([1.0, 3.0])).sum()
    };
    check("reversed scan", &turned, &|x| x * 3.0 + (x.sqrt() - 1.0), 1.0);
    let one_step = |x: &Tensor| scan(x, Tensor::zeros(&[1]), |c, _| ((&c - 1.0).sqrt(), c.square())).1.sum();
    check("one step", &one_step, &|x| x.square(), 1.0);
}

/// The carry starts at 0, which is no variable, where the root of the first step is singular.
#[test]
fn the_first_carry_is_no_variable() {
    let start = Tensor::from(0.0);
    let rolled = |x: &Tensor| fori(0..3, &start, |_, c| c.sqrt() + x);
    let unrolled = |x: &Tensor| (x.sqrt() + x).sqrt() + x;
    check("fori", &rolled, &unrolled, 2.0);
    let rows = |x: &Tensor| {
        let (last, all) = scan(&start, Tensor::from([1.0, 2.0, 3.0]), |c, row| (c.sqrt() + x * &row, c * row));
        last + all.sum()
    };
    let written = |x: &Tensor| {
        let one = x * 1.0;
        let two = one.sqrt() + x * 2.0;
        two.sqrt() + x * 3.0 + &one * 2.0 + two * 3.0
    };
    check("scan", &rows, &written, 2.0);
}

/// What reaches the result takes a step for each part of the carry.
#[test]
fn parts_of_the_carry_follow_each_other() {
    let start = || (Tensor::from(0.0), Tensor::from(0.0), Tensor::from(0.0));
    let rolled =
        |x: &Tensor| fori(0..4, start(), |_, (a, b, c)| (b.sqrt() + &a * 0.5, c.sqrt() + b * 0.0, x.clone())).0;
    // a = 0, 0, x^(1/4), 1.5 x^(1/4)
    let unrolled = |x: &Tensor| x.sqrt().sqrt() * 1.5;
    check("fori", &rolled, &unrolled, 2.0);
}

#[test]
fn a_while_ends_with_what_is_not_needed() {
    let rolled = |x: &Tensor| {
        let start = (Tensor::from(0i64), x, Tensor::from(0.0));
        while_loop(start, |(n, _, _)| n.lt(2i64), |(n, c, s)| (n + 1i64, c.sqrt() - 1.0, s + c)).2
    };
    let reverse = |f: &Function<'_>| grad(&Tensor::from(1.0), |x| f(&x)).item();
    assert_eq!(reverse(&rolled), 1.5);
    let limited = |x: &Tensor| {
        let start = (Tensor::from(0i64), x, Tensor::from(0.0));
        let step = |(n, c, s): (Tensor, Tensor, Tensor)| (n + 1i64, c.sqrt() - 1.0, s + c);
        While::new().limit(2).run(start, |(n, _, _)| n.lt(2i64), step).2
    };
    assert_eq!(reverse(&limited), 1.5);
}

/// A choice in every step of a loop whose length depends on the numbers.
#[test]
fn a_choice_in_a_while_is_differentiated() {
    let rolled = |x: &Tensor| {
        let step = |c: Tensor| cond(&c.gt(1.5), &c, |c| c.sqrt() * x * 0.5, |c| c.square() * 0.5);
        while_loop(x, |c| c.gt(0.3), step)
    };
    // 2, sqrt(2), 1, 1/2, 1/8
    let unrolled = |x: &Tensor| {
        let c = x.sqrt() * x * 0.5;
        let c = c.square() * 0.5;
        let c = c.square() * 0.5;
        c.square() * 0.5
    };
    check("cond in while", &rolled, &unrolled, 2.0);
}
