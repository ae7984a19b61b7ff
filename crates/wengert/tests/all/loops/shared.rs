//! What a loop may share: one tensor in several places, and captures from further out.

use wengert::prelude::*;
use wengert::{Scan, checkpoint, cond, fori, map, scan, while_loop};

use super::{fold, near, numbers, rows};

/// Sums of at most some hundred products, every one with a few roundings.
const ROUNDINGS: f64 = 512.0;

/// Checks a loop against the same steps in Rust: value, gradient, Hessian, and the Jacobian of the gradient.
#[track_caller]
fn check(x: &Tensor, looped: impl Fn(&Tensor) -> Tensor, unrolled: impl Fn(&Tensor) -> Tensor) {
    near("value", &looped(x), &unrolled(x), ROUNDINGS);
    near("gradient", &grad(x, |x| looped(&x)), &grad(x, |x| unrolled(&x)), ROUNDINGS);
    let v = numbers(77, x.size()).reshape(&x.shape().iter().map(|&n| n as isize).collect::<Vec<_>>());
    near("jvp", &jvp(x, &v, |x| looped(&x)).1, &jvp(x, &v, |x| unrolled(&x)).1, ROUNDINGS);
    let want = hessian(x, |x| unrolled(&x));
    near("hessian", &hessian(x, |x| looped(&x)), &want, ROUNDINGS);
    let nested = jacobian(x, |x| grad(x, |x| looped(&x)));
    near("jacobian of gradient", &nested, &want, ROUNDINGS);
    near("hvp", &hvp(x, &v, |x| looped(&x)), &hvp(x, &v, |x| unrolled(&x)), ROUNDINGS);
    // The loop as a part of what a driver gets: all of it is read by others too.
    let beside = |y: Tensor, x: &Tensor| y.sin() * x.sum() + y.square();
    let got = grad(x, |x| beside(looped(&x), &x));
    near("beside", &got, &grad(x, |x| beside(unrolled(&x), &x)), ROUNDINGS);
}

fn x() -> Tensor {
    numbers(1, 3) * 0.5 + 0.7
}

#[test]
fn one_tensor_is_start_capture_and_rows() {
    let looped = |x: &Tensor| {
        let (c, ys) = scan(x, x, |c, row| ((&c * &row + x).sin(), c.dot(x) * row));
        c.sum() + ys.dot(x)
    };
    let unrolled = |x: &Tensor| {
        let (mut c, mut sum) = (x.clone(), Tensor::from(0.0));
        for row in rows(x) {
            sum += c.dot(x) * &row * &row;
            c = (&c * &row + x).sin();
        }
        c.sum() + sum
    };
    check(&x(), looped, unrolled);
}

#[test]
fn one_tensor_is_two_parts_of_the_carry_and_two_arrays_of_rows() {
    let looped = |x: &Tensor| {
        let ((c, d), ys) = Scan::new()
            .reverse()
            .run((x, x), (x, x), |(c, d), (a, b)| ((&d * &a + &c, (&c * &b).cos()), (&a * &b, d, c)));
        let (products, ds, cs) = ys;
        c.dot(&d) + products.sum() + (ds * cs).square().mean()
    };
    let unrolled = |x: &Tensor| {
        let (mut c, mut d) = (x.clone(), x.clone());
        let (mut products, mut squares) = (Tensor::from(0.0), Tensor::from(0.0));
        for row in rows(x).into_iter().rev() {
            products += row.square();
            squares += (&d * &c).square().sum();
            (c, d) = (&d * &row + &c, (&c * &row).cos());
        }
        c.dot(&d) + products + squares / 9.0
    };
    check(&x(), looped, unrolled);
}

#[test]
fn one_value_is_two_results_of_a_step_and_the_carry() {
    let looped = |x: &Tensor| {
        let (c, (a, b)) = scan(x.sum(), x, |c, row| {
            let next = c * &row + row.exp();
            (next.clone(), (next.clone(), next))
        });
        c + a.dot(&b) + (a * x).sum()
    };
    let unrolled = |x: &Tensor| {
        let (mut c, mut sum) = (x.sum(), Tensor::from(0.0));
        for row in rows(x) {
            c = c * &row + row.exp();
            sum = sum + c.square() + &c * row;
        }
        c + sum
    };
    check(&x(), looped, unrolled);
}

#[test]
fn a_step_gives_a_capture_a_row_or_a_constant_as_it_is() {
    let looped = |x: &Tensor| {
        let y = x.exp();
        let (c, (rows, captured, one)) = scan(x.sum(), x, |_, row| (&row * 1.0, (row, y.clone(), Tensor::from(1.0))));
        c + rows.dot(x) + (captured * one.expand_dims(1)).square().sum()
    };
    let unrolled = |x: &Tensor| x.slice(2) + x.dot(x) + x.exp().square().sum() * 3.0;
    check(&x(), looped, unrolled);
    // A step that gives the carry as it got it.
    check(&x(), |x| fold(&x.sin().sum(), x, |c, _| c), |x| x.sin().sum());
    check(&x(), |x| while_loop((x, Tensor::from(0i64)), |(_, n)| n.lt(3), |(c, n)| (c, n + 1)).0.prod(), |x| x.prod());
    // Parts of the carry that change places.
    let swapped = |x: &Tensor| {
        let (c, d) = fori(0..3, (x, x.exp()), |_, (c, d)| (d, c));
        (c * d.sin()).sum()
    };
    check(&x(), swapped, |x| (x.exp() * x.sin()).sum());
}

#[test]
fn the_innermost_of_three_loops_captures_from_all_levels() {
    let looped = |x: &Tensor| {
        let scale = x.square().mean();
        fold(&x.sum(), x, |c, outer| {
            let own = (&c * &outer).sin();
            let c = fori(0..2, c, |i, d| {
                let weight = &own * i.to_f64() + &outer;
                let step = |e: Tensor| {
                    let e = e * 0.5 + &weight * &scale * x.dot(x) + &own;
                    cond(&e.gt(&outer), &e, |e| e.cos() * &own + x.prod() * &weight, |e| e + &d * &outer)
                };
                while_loop(
                    (&d, Tensor::from(0i64)),
                    |(e, n)| n.lt(2).and(e.lt(&scale + 50.0)),
                    |(e, n)| (step(e), n + 1),
                )
                .0
            });
            c + own
        })
    };
    let unrolled = |x: &Tensor| {
        let scale = x.square().mean();
        rows(x).into_iter().fold(x.sum(), |mut c, outer| {
            let own = (&c * &outer).sin();
            for i in 0..2 {
                let (weight, d) = (&own * f64::from(i) + &outer, c.clone());
                for _ in 0..2 {
                    let e = c * 0.5 + &weight * &scale * x.dot(x) + &own;
                    c = if e.gt(&outer).test() { e.cos() * &own + x.prod() * &weight } else { e + &d * &outer };
                }
            }
            c + own
        })
    };
    check(&x(), looped, unrolled);
}

#[test]
fn a_body_differentiates_and_what_it_differentiates_loops() {
    let inner = |y: Tensor, x: &Tensor| fori(0..2, y, |i, y| (y * x.sum() + i.to_f64()).sin());
    let looped = |x: &Tensor| {
        fold(&x.mean(), x, |c, row| {
            let slope = grad(&c, |c| inner(c * &row, x));
            let moved =
                while_loop(&slope, |s| s.abs().gt(0.3), |s| s * 0.5 + grad(&row, |r| (&r * &r * &slope).sin()) * 0.01);
            c + moved * row
        })
    };
    let unrolled = |x: &Tensor| {
        let inner = |y: Tensor| (0..2).fold(y, |y, i| (y * x.sum() + f64::from(i)).sin());
        rows(x).into_iter().fold(x.mean(), |c, row| {
            let slope = grad(&c, |c| inner(c * &row));
            let mut moved = slope.clone();
            while moved.abs().gt(0.3).test() {
                moved = moved * 0.5 + grad(&row, |r| (&r * &r * &slope).sin()) * 0.01;
            }
            c + moved * row
        })
    };
    check(&x(), looped, unrolled);
}

#[test]
fn checkpoints_around_in_and_between_loops_change_nothing() {
    let step = |c: Tensor, row: &Tensor, x: &Tensor| (c * row + x.mean()).sin() + row;
    let plain = |x: &Tensor| rows(x).iter().fold(x.sum(), |c, row| (0..2).fold(c, |c, _| step(c, row, x)));
    let inside = |x: &Tensor| fold(&x.sum(), x, |c, row| fori(0..2, c, |_, c| checkpoint(&c, |c| step(c, &row, x))));
    let between = |x: &Tensor| fold(&x.sum(), x, |c, row| checkpoint(&c, |c| fori(0..2, c, |_, c| step(c, &row, x))));
    let around = |x: &Tensor| checkpoint(x, |x| fold(&x.sum(), &x, |c, row| fori(0..2, c, |_, c| step(c, &row, &x))));
    let deep = |x: &Tensor| {
        checkpoint(x, |x| {
            fold(&x.sum(), &x, |c, row| {
                checkpoint((c, row), |(c, row)| fori(0..2, c, |_, c| checkpoint(&c, |c| step(c, &row, &x))))
            })
        })
    };
    for looped in [&inside as &dyn Fn(&Tensor) -> Tensor, &between, &around, &deep] {
        check(&x(), looped, plain);
    }
}

#[test]
fn rows_that_are_mapped_one_after_the_other() {
    let m = |x: &Tensor| x.outer(x).sin();
    let looped = |x: &Tensor| map((m(x), x), |(row, own)| row.dot(x) * own.exp()).square().sum();
    let unrolled = |x: &Tensor| (m(x).matmul(x) * x.exp()).square().sum();
    check(&x(), looped, unrolled);
}
