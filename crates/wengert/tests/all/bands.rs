//! Jacobians and Hessians of functions of neighbours, whose tangents are carried as bands: against tangents one by one.

use wengert::prelude::*;
use wengert::{span, step, to_program};

/// A point without two equal numbers.
fn point(length: usize) -> Tensor {
    Tensor::from_vec(&[length], (0..length).map(|k| (1.3 * k as f64 + 0.4).sin()).collect::<Vec<f64>>())
}

/// The row of an identity.
fn seed(length: usize, place: usize) -> Tensor {
    Tensor::from_vec(&[length], (0..length).map(|k| f64::from(u8::from(k == place))).collect::<Vec<f64>>())
}

#[track_caller]
fn near(got: &Tensor, want: &Tensor, what: &str) {
    assert_eq!(got.shape(), want.shape(), "{what}");
    for (got, want) in got.to_vec().iter().zip(want.to_vec()) {
        assert!((got - want).abs() <= 1e-12 * want.abs().max(1.0), "{what}: {got} instead of {want}");
    }
}

/// The Jacobian of `f`, and the Hessian of a sum over it, against tangents one by one.
#[track_caller]
fn check(length: usize, what: &str, f: impl Fn(&Tensor) -> Tensor) {
    let x = point(length);
    let what = format!("{what}, {length}");
    let columns: Vec<Tensor> = (0..length).map(|k| jvp(&x, &seed(length, k), |x| f(&x)).1.reshape(&[-1])).collect();
    let want = Tensor::stack(&columns.iter().collect::<Vec<_>>(), 1);
    near(&jacobian(&x, |x| f(&x).reshape(&[-1])), &want, &what);
    let loss = |x: Tensor| (f(&x).square().sum() + (f(&x) * 0.3).sin().sum()) * 0.1;
    let rows: Vec<Tensor> = (0..length).map(|k| hvp(&x, &seed(length, k), loss)).collect();
    let want = Tensor::stack(&rows.iter().collect::<Vec<_>>(), 0);
    near(&hessian(&x, loss), &want, &what);
}

#[test]
fn neighbours_meet() {
    for length in [3, 4, 5, 8, 13, 65, 90] {
        check(length, "chain", |x| x.slice(1..) - x.slice(..-1).square());
        check(length, "second differences", |x| x.slice(2..) - 2.0 * x.slice(span(1, -1)) + x.slice(..-2).sin());
        check(length, "products", |x| x.slice(1..) * x.slice(..-1) / (x.slice(1..).square() + 2.0));
        check(length, "on a ring", |x| (x.roll(-1, 0) - x.roll(2, 0)) * x.roll(1, 0) - x);
        check(length, "padded", |x| x.pad(&[(1, 2, 0)], 0.5).slice(..-1).sin() + x.pad(&[(0, 2, 0)], 0.0));
        check(length, "cut by padding", |x| x.pad(&[(-1, 3, 0)], 0.5).square() + x.pad(&[(2, 0, 0)], 1.0));
        check(length, "joined", |x| Tensor::concat(&[&x.slice(2..), &Tensor::ones(&[2]), &x.sin()], 0));
        check(length, "in rows", |x| {
            let rows = Tensor::concat(&[x, &x.square()], 0).reshape(&[2, -1]);
            rows.slice(1) * rows.slice(0) + rows.slice((1.., ..)).reshape(&[-1])
        });
        check(length, "negated", |x| -x.slice(1..) - (-x.slice(..-1) - x.slice(1..)));
        check(length, "chosen", |x| x.slice(1..).gt(x.slice(..-1)).where_(x.slice(1..) * 3.0, x.slice(..-1).square()));
    }
}

#[test]
fn what_is_not_a_band_is_a_matrix() {
    for length in [4, 6, 9, 70] {
        check(length, "every second", |x| x.slice(step(.., 2)).sin() * x.slice(step(1.., 2)).sum());
        check(length, "turned", |x| x.flip(0) * x.slice(..).sin());
        check(length, "a row of a plane", |x| {
            let rows = x.slice(..4).reshape(&[2, 2]);
            rows.slice((.., 1)) * rows.slice((1, ..)).sin()
        });
        check(length, "single numbers", |x| x.slice(1..).slice(1) * x.slice(0).sin() + x.slice(1..).square());
        check(length, "many", |x| {
            let shifted = |by: isize| x.roll(by, 0).sin() * x.roll(2 * by + 1, 0);
            (1..12).fold(x.clone(), |sum, by| sum + shifted(by))
        });
        check(length, "with all", |x| x.slice(1..) * x.sum() + x.slice(..-1));
        check(length, "multiplied", |x| x.slice(1..).outer(&x.slice(..-1).sin()));
    }
}

#[test]
fn what_no_neighbour_reaches_is_zero_however_steep_it_is() {
    // The slope of the square root at 0 is infinite: times a zero that stands for nothing it would be NaN.
    let x = Tensor::zeros(&[6]);
    let got = jacobian(&x, |x: Tensor| x.slice(1..).sqrt() + 2.0 * x.slice(..-1));
    for (k, got) in got.to_vec().into_iter().enumerate() {
        let want = match (k % 6).checked_sub(k / 6) {
            Some(0) => 2.0,
            Some(1) => f64::INFINITY,
            _ => 0.0,
        };
        assert_eq!(got, want, "number {k}");
    }
}

#[test]
fn the_hessian_of_a_chain_takes_time_in_proportion_to_its_numbers() {
    let operations = |length: usize| {
        let (hessian, _) = to_program(point(length), |x: Tensor| {
            hessian(&x, |x: Tensor| {
                let (left, right) = (x.slice(..-1), x.slice(1..));
                (100.0 * (right - left.square()).square() + (1.0 - &left).square()).sum()
            })
        });
        hessian.compile().unwrap().plan().summary().operations
    };
    // Zeros are written, one for each number of the matrix; all else is by bands.
    let [small, large] = [operations(200), operations(400)];
    assert!(large < 400 * 400 + 60 * 400, "{large}");
    assert!(large - small < 400 * 400 - 200 * 200 + 60 * 200, "{small} and {large}");
}
