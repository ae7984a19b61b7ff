//! Parts that are written and added to in place: the same numbers as with copies, and memory and time that do not grow with
//! what stays as it is.

use wengert::prelude::*;
use wengert::{Array, Compile, checkpoint, cond, step};

fn numbers(shape: &[usize], scale: f64) -> Tensor {
    let count: usize = shape.iter().product();
    Tensor::from_array(Array::new(
        shape,
        (0..count).map(|k| ((k * k + 3 * k) % 101) as f64 * scale - 0.7).collect::<Vec<f64>>(),
    ))
}

/// Compares value and gradient under `compile` with those of every operation on its own, and with differences.
#[track_caller]
fn check(x: &Tensor, f: impl Fn(Tensor) -> Tensor + Copy + 'static) {
    let compiled = Compile::new().function(move |x: Tensor| value_and_grad(&x, &f));
    let (value, gradient) = compiled.call(x);
    let (again, plain) = value_and_grad(x, &f);
    assert_eq!((value.to_vec(), gradient.to_vec()), (again.to_vec(), plain.to_vec()));
    let (_, second) = compiled.call(x);
    assert_eq!(second.to_vec(), gradient.to_vec(), "the second run finds the arena as the first left it");
    let direction = numbers(x.shape(), 0.013);
    let step = 1e-6;
    let difference = (f(x + &direction * step).item() - f(x - &direction * step).item()) / (2.0 * step);
    let slope = (&gradient * &direction).sum().item();
    assert!(
        (difference - slope).abs() < 1e-6 * (1.0 + slope.abs() + gradient.abs().sum().item()),
        "{difference} {slope}"
    );
}

#[test]
fn rows_are_added_to_and_written() {
    let x = numbers(&[12, 5], 0.01);
    check(&x, |x| {
        let mut y = Tensor::zeros(&[12, 5]);
        for i in 0..12 {
            *y.slice_mut(i) += x.slice(i).sin();
        }
        y.square().sum()
    });
    check(&x, |x| {
        let mut y = Tensor::zeros(&[12, 5]) + &x;
        for i in 0..12 {
            y.slice_mut(i).assign(x.slice(11 - i).exp());
        }
        (y * 0.3).sin().sum()
    });
    // Each row is made of the one before: its numbers are needed after it has been overwritten.
    check(&x, |x| {
        let mut y = &x * 2.0;
        for i in 1..12 {
            let before = y.slice(i - 1);
            *y.slice_mut(i) *= before.square() + 0.5;
        }
        y.sum()
    });
    check(&x, |x| {
        let mut y = x.sin();
        *y.slice_mut((step(.., 3), step(1.., 2))) -= x.slice((..4, ..2));
        *y.slice_mut((step(.., -3), ..2)) += x.slice((4..8, 1..3)).square();
        y.square().sum()
    });
}

#[test]
fn what_somebody_else_reads_is_not_overwritten() {
    let x = numbers(&[8, 6], 0.02);
    // A later step reads the whole array from before.
    check(&x, |x| {
        let y = x.exp();
        let mut z = y.clone();
        *z.slice_mut(2) += 1.5;
        (z.square() * y.sin()).sum()
    });
    // The same array twice in one step: written into itself.
    check(&x, |x| {
        let mut y = x.cos();
        let part = y.slice((1..3, ..)).t();
        y.slice_mut((..6, 2..4)).assign(part);
        y.square().sum()
    });
    // A view of what is overwritten, read after it, and before.
    check(&x, |x| {
        let mut y = x.sin();
        let row = y.slice(1);
        let third = y.slice(3) * 2.0;
        y.slice_mut(1).assign(third);
        *y.slice_mut(3) += &row;
        (y.square().sum_over(0) * row).sum()
    });
    // Inside of branches, and of what is computed again.
    check(&x, |x| {
        let y = x.sin();
        let positive = y.sum().gt(0.0);
        let z = cond(
            &positive,
            &y,
            |y| {
                let mut z = y.clone();
                *z.slice_mut(0) *= 3.0;
                z * y
            },
            |y| y * 2.0,
        );
        (z + y).square().sum()
    });
    check(&x, |x| {
        let y = checkpoint(&x, |x| {
            let mut y = x.exp();
            for i in 0..7 {
                let next = y.slice(i + 1).sin();
                *y.slice_mut(i) += next;
            }
            y
        });
        (y * x).sum()
    });
}

#[test]
fn results_and_arguments_stay_what_they_are() {
    let f = Compile::new().function(|x: Tensor| {
        let y = x.exp();
        let mut z = y.clone();
        *z.slice_mut(0) += 1.0;
        let mut of_x = x.clone();
        of_x.slice_mut(1).assign(7.0);
        (y, z, of_x, x)
    });
    let x = numbers(&[3, 4], 0.1);
    let (y, z, of_x, same) = f.call(&x);
    assert_eq!(y.to_vec(), x.exp().to_vec());
    assert_eq!(z.to_vec()[4..], y.to_vec()[4..]);
    assert_eq!(z.slice(0).to_vec(), (y.slice(0) + 1.0).to_vec());
    assert_eq!(of_x.slice(1).to_vec(), [7.0; 4]);
    assert_eq!((same.to_vec(), of_x.slice(2).to_vec()), (x.to_vec(), x.slice(2).to_vec()));
}

#[test]
fn rows_are_updated_in_one_piece_of_memory() {
    // An array for the value and one for its cotangent, however many rows are written: not one for each.
    let arena = |rows: usize| {
        let f = Compile::new().function(move |x: Tensor| {
            value_and_grad(&x, |x| {
                let mut y = Tensor::zeros(&[rows, 100]);
                for i in 0..rows as isize {
                    *y.slice_mut(i) += x.slice(i) * 2.0;
                }
                y.square().sum()
            })
        });
        f.plan(&numbers(&[rows, 100], 0.01)).expect("a plan").arena_bytes()
    };
    let (few, many) = (arena(50) as f64, arena(200) as f64);
    assert!(few < 3.6 * 50.0 * 800.0 + 200_000.0 && many < 3.6 * 200.0 * 800.0 + 200_000.0, "{few} {many}");
}
