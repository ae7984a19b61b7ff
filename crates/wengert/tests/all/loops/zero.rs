//! Loops of no step: the start, no rows, and derivatives that pass by.

use wengert::prelude::*;
use wengert::{While, associative_scan, checkpoint, compile, fori, map, scan, vmap, while_loop};

use super::fold;

/// Checks that a loop gives `x` as it is: with every driver, mapped, compiled and checkpointed.
#[track_caller]
fn passes(name: &str, f: impl Fn(&Tensor) -> Tensor) {
    let x = Tensor::from([0.5, -1.5]);
    let v = Tensor::from([2.0, 3.0]);
    let both = |y: &Tensor, want: &[f64]| assert_eq!((y.to_vec(), y.shape().len()), (want.to_vec(), 1), "{name}");
    both(&f(&x), &[0.5, -1.5]);
    both(&compile(|x: Tensor| f(&x)).call(&x), &[0.5, -1.5]);
    let (y, dot) = jvp(&x, &v, |x| f(&x));
    both(&y, &[0.5, -1.5]);
    both(&dot, &[2.0, 3.0]);
    both(&vjp(&x, |x| f(&x)).1.pull(&v), &[2.0, 3.0]);
    both(&grad(&x, |x| f(&x).dot(&v)), &[2.0, 3.0]);
    both(&grad(&x, |x| checkpoint(&x, |x| f(&x)).dot(&v)), &[2.0, 3.0]);
    assert_eq!(jacobian(&x, |x| f(&x)).to_vec(), [1.0, 0.0, 0.0, 1.0], "{name}");
    assert_eq!(hessian(&x, |x| f(&x).square().sum()).to_vec(), [2.0, 0.0, 0.0, 2.0], "{name}");
    both(&hvp(&x, &v, |x| f(&x).square().sum()), &[4.0, 6.0]);
    both(&jvp(&x, &v, |x| grad(&x, |x| f(&x).square().sum())).1, &[4.0, 6.0]);
    both(&grad(&x, |x| jvp(&x, &v, |x| f(&x).square().sum()).1), &[4.0, 6.0]);
    let lanes = vmap(Tensor::stack(&[&x, &v], 0), |x| grad(&x, |x| f(&x).square().sum()));
    assert_eq!(lanes.to_vec(), [1.0, -3.0, 4.0, 6.0], "{name}");
    let cubes = |x: &Tensor| f(x).powi(3).sum();
    both(&grad(&x, |x| grad(&x, |x| grad(&x, |x| cubes(&x)).sum()).sum()), &[6.0, 6.0]);
}

#[test]
fn a_loop_of_no_step_gives_its_start() {
    let none = Tensor::zeros(&[0]);
    passes("scan", |x| fold(x, &none, |c, row| c * row));
    passes("fori", |x| fori(3..3, x, |i, c| c * i.to_f64()));
    let (from, to) = (3, 1);
    passes("backwards", |x| fori(from..to, x, |i, c| c * i.to_f64()));
    passes("while", |x| while_loop(x, |c| c.sum().gt(100.0), |c| c * 2.0));
    passes("limit", |x| While::new().limit(0).run(x, |c| c.sum().gt(100.0), |c| c * x));
    passes("nested", |x| fold(x, &Tensor::zeros(&[0, 3]), |c, row| fold(&c, &row, |c, x| c * x)));
    passes("inner", |x| fold(x, &Tensor::zeros(&[3, 0]), |c, row| fold(&c, &row, |c, x| c * x)));
    passes("in while", |x| {
        let step = |(c, n): (Tensor, Tensor)| (fori(0..0, c, |_, c| c * x), n + 1);
        while_loop((x, Tensor::from(0i64)), |(_, n)| n.lt(3), step).0
    });
}

#[test]
fn a_step_that_would_fail_is_not_taken() {
    let none = Tensor::zeros(&[0, 2]);
    // An index out of range.
    passes("index", |x| fori(0..0, x, |i, c| c.take(&(i + 7), 0) * x));
    passes("rows", |x| fold(x, &none, |c, row| c * row.take(&Tensor::from(9i64), 0)));
}

#[test]
fn a_loop_of_no_step_gives_no_rows_and_nothing_flows_from_them() {
    let x = Tensor::from([0.5, -1.5]);
    let none = Tensor::zeros(&[0, 2]);
    let looped = |x: &Tensor, none: &Tensor| scan(x, none, |c, row| (&c * x, (&c * row, c.sum())));
    let (last, (matrix, sums)) = looped(&x, &none);
    assert_eq!((last.to_vec(), matrix.shape(), sums.shape()), (vec![0.5, -1.5], &[0, 2][..], &[0][..]));
    let loss = |(x, none): (Tensor, Tensor)| {
        let (_, (matrix, sums)) = looped(&x, &none);
        matrix.sum() + sums.sum()
    };
    let (value, (by_x, by_none)) = value_and_grad((&x, &none), loss);
    assert_eq!((value.item(), by_x.to_vec(), by_none.shape()), (0.0, vec![0.0, 0.0], &[0, 2][..]));
    assert_eq!(hessian((&x, &none), loss).dense().to_vec(), [0.0; 4]);
    assert_eq!(jvp((&x, &none), (&x, &none), loss).1.item(), 0.0);
}

#[test]
fn no_rows_are_mapped_and_combined() {
    let x = Tensor::from([0.5, -1.5]);
    let none = Tensor::zeros(&[0, 2]);
    let mapped = |x: &Tensor| map(&none, |row| (row * x, x.sum()));
    let (rows, sums) = mapped(&x);
    assert_eq!((rows.shape(), sums.shape()), (&[0, 2][..], &[0][..]));
    assert_eq!(grad(&x, |x| mapped(&x).0.sum() + mapped(&x).1.sum()).to_vec(), [0.0, 0.0]);
    let combined = |none: &Tensor| associative_scan(none, |a, b| a * b);
    assert_eq!(combined(&none).shape(), [0, 2]);
    assert_eq!(grad(&none, |none| combined(&none).sum()).shape(), [0, 2]);
}
