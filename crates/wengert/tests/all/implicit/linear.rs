//! `linear_solve`: against dense systems whose solution is known, in every method, mode and order.

use wengert::prelude::*;
use wengert::{LinearSolve, linear_solve, scan};

use super::{check_derivatives, near, numbers};

fn methods() -> [(&'static str, LinearSolve); 4] {
    let tight = LinearSolve::new().tolerance(1e-13);
    [
        ("gmres", tight),
        ("gmres, restarted", tight.gmres(3)),
        ("bicgstab", tight.bicgstab()),
        ("cg", tight.conjugate_gradients()),
    ]
}

/// `wᵀ w + 2`, symmetric and positive definite.
fn definite(w: &Tensor) -> Tensor {
    w.t().matmul(w) + Tensor::eye(w.shape()[1]) * 2.0
}

#[test]
fn every_method_solves_a_system_whose_solution_is_known() {
    let a = definite(&numbers(1, &[5, 5]));
    let x = numbers(2, &[5]);
    let b = a.matmul(&x);
    for (name, by) in methods() {
        near(name, &by.run(&b, |x| a.matmul(&x)), &x, 1e-11);
    }
    // Not symmetric, and one whose products with itself turn by a right angle.
    let turned = Tensor::from([[0.0, 2.0], [-1.0, 0.0]]);
    near(
        "a rotation",
        &linear_solve(Tensor::from([2.0, 3.0]), |x| turned.matmul(&x)),
        &Tensor::from([-3.0, 1.0]),
        1e-9,
    );
    // A cycle of six, for which restarts before the sixth step make no progress.
    let b = numbers(3, &[6]);
    near("a cycle", &linear_solve(&b, |x| x.roll(1, 0)), &b.roll(-1, 0), 1e-9);
}

#[test]
fn systems_of_any_size_of_numbers_are_solved() {
    for scale in [1e-250, 1e-8, 1.0, 1e8, 1e250] {
        let b = Tensor::from([3.0, -1.0]) * scale;
        let x = linear_solve(&b, |x| &x * 2.0 + x.roll(1, 0));
        near("scaled", &(x * (1.0 / scale)), &Tensor::from([7.0 / 3.0, -5.0 / 3.0]), 1e-9);
    }
    let zero = Tensor::zeros(&[3]);
    assert_eq!(linear_solve(&zero, |x| x * 3.0).to_vec(), [0.0; 3]);
    let empty = Tensor::zeros(&[0]);
    assert_eq!(linear_solve(&empty, |x| x * 3.0).shape(), [0]);
}

#[test]
fn maps_of_any_size_of_numbers_are_solved() {
    let b = Tensor::from([3.0, -1.0]);
    let by = LinearSolve::new();
    for scale in [1e-250, 1e-160, 1e-100, 1e100, 1e160, 1e250] {
        for (name, by) in [("gmres", by), ("bicgstab", by.bicgstab())] {
            let solve = |a: &Tensor| by.run(&b, |x| (&x * 2.0 + x.roll(1, 0)) * a) * scale;
            let (x, slope) = value_and_grad(Tensor::from(scale), |a| (solve(&a) * Tensor::from([1.0, 0.0])).sum());
            near(name, &solve(&Tensor::from(scale)), &Tensor::from([7.0 / 3.0, -5.0 / 3.0]), 1e-9);
            near(name, &(slope * scale), &-x, 1e-9);
        }
        // In single precision the range is that of its squares.
        let scale = scale.powf(0.1);
        let x = by.run(b.to_f32(), |x| (&x * 2.0 + x.roll(1, 0)) * scale).to_f64() * scale;
        near("in single precision", &x, &Tensor::from([7.0 / 3.0, -5.0 / 3.0]), 1e-4);
    }
}

#[test]
fn derivatives_agree_three_ways_and_in_two_orders() {
    let b = numbers(4, &[4]);
    for (name, by) in methods() {
        let matrix = |w: &Tensor| definite(&w.reshape(&[4, 4]).sin());
        check_derivatives(name, &numbers(5, &[16]), |w| by.run(&b, |x| matrix(w).matmul(&x)));
        let a = matrix(&numbers(6, &[16]));
        check_derivatives(name, &b, |b| by.run(b.sin(), |x| a.matmul(&x)));
        // In map and right-hand side at once, and captured twice.
        check_derivatives(name, &b, |c| by.run(c.cos(), |x| a.matmul(&x) + c.square() * &x + c.square() * &x));
    }
    let upper = |c: &Tensor| {
        let upper = LinearSolve::new().tolerance(1e-13).run(c, |x| &x * 3.0 + (c * &x).cumsum(0));
        upper.square()
    };
    check_derivatives("not symmetric", &b, upper);
}

#[test]
fn trees_are_one_system() {
    let by = LinearSolve::new().tolerance(1e-13);
    let solved = |w: &Tensor| {
        let b = (w.sin(), [w.sum(), w.square().sum()]);
        let (x, [y, z]) = by.run(b, |(x, [y, z])| (&x * 4.0 + w * &y, [(w * &x).sum() + &y * 5.0 - &z, &y + &z * 3.0]));
        Tensor::concat(&[&x, &Tensor::stack(&[&y, &z], 0)], 0)
    };
    let w = numbers(7, &[3]);
    check_derivatives("a tree", &w, solved);
    let x = solved(&w).to_vec();
    let (w, x, y, z) = (w.to_vec(), &x[..3], x[3], x[4]);
    for k in 0..3 {
        assert!((4.0 * x[k] + w[k] * y - w[k].sin()).abs() < 1e-12);
    }
    assert!((y + 3.0 * z - w.iter().map(|w| w * w).sum::<f64>()).abs() < 1e-12);
}

#[test]
fn both_precisions_stand_beside_each_other() {
    let b = (Tensor::from([1.0, 2.0]), Tensor::from(3.0).to_f32());
    let (x, y) = linear_solve(b, |(x, y)| (&x * 2.0 + y.to_f64(), &y * 4.0));
    near("double", &x, &Tensor::from([0.125, 0.625]), 1e-7);
    assert_eq!(y.dtype(), wengert::DType::F32);
    // A third has no more digits than its precision.
    let b = (Tensor::from([1.0, 2.0]), Tensor::from(1.0).to_f32());
    let (x, y) = linear_solve(b, |(x, y)| (&x * 2.0, &y * 3.0 + x.sum().to_f32() * 0.1));
    near("beside thirds", &x, &Tensor::from([0.5, 1.0]), 1e-5);
    near("thirds", &y.to_f64(), &Tensor::from(0.85 / 3.0), 1e-5);
    let single = linear_solve(Tensor::from([1.0, 3.0]).to_f32(), |x| &x * 2.0 + x.roll(1, 0));
    near("single", &single.to_f64(), &Tensor::from([-1.0 / 3.0, 5.0 / 3.0]), 1e-5);
}

#[test]
fn the_derivative_does_not_go_through_the_iterations() {
    // The gradient of a converged solution is that of the inverse, to the bit the same for methods that end at the same bits;
    // through the iterations it would be another for each limit.
    let b = numbers(8, &[3]);
    let w = numbers(9, &[3]);
    let slope = |limit| grad(&w, |w| LinearSolve::new().limit(limit).run(&b, |x| &x * 3.0 + &w * x.roll(1, 0)).sum());
    assert_eq!(slope(40).to_vec(), slope(4000).to_vec());
    let (program, _) =
        wengert::to_program(&w, |w| grad(&w, |w| linear_solve(&b, |x| &x * 3.0 + &w * x.roll(1, 0)).sum()));
    let text = program.to_string();
    assert_eq!(text.matches("solve[").count(), 2, "{text}");
    assert!(!text.contains("while[") && !text.contains("unwind["), "{text}");
}

#[test]
fn every_example_is_solved_by_itself() {
    let (w, b) = (numbers(10, &[5, 3, 3]), numbers(11, &[5, 3]));
    for (name, by) in methods() {
        let solve = |w: &Tensor, b: &Tensor| by.run(b, |x| definite(w).matmul(&x));
        let loss = |w: &Tensor, b: &Tensor| solve(w, b).square().sum();
        let together = vmap((&w, &b), |(w, b)| solve(&w, &b));
        let slopes = vmap((&w, &b), |(w, b)| grad((&w, &b), |(w, b)| loss(&w, &b)));
        let of_all = grad((&w, &b), |(w, b)| vmap((&w, &b), |(w, b)| loss(&w, &b)).sum());
        for k in 0..5 {
            let (w, b) = (w.slice(k), b.slice(k));
            near(name, &together.slice(k), &solve(&w, &b), 1e-12);
            let (by_w, by_b) = grad((&w, &b), |(w, b)| loss(&w, &b));
            near(name, &slopes.0.slice(k), &by_w, 1e-11);
            near(name, &slopes.1.slice(k), &by_b, 1e-11);
            near(name, &of_all.0.slice(k), &by_w, 1e-11);
        }
        // One map for all, and one right-hand side for all; examples of examples.
        let one = vmap(&b, |b| solve(&w.slice(0), &b));
        near(name, &one.slice(2), &solve(&w.slice(0), &b.slice(2)), 1e-12);
        let one = vmap(&w, |w| solve(&w, &b.slice(0)));
        near(name, &one.slice(3), &solve(&w.slice(3), &b.slice(0)), 1e-12);
        let all = vmap(&w, |w| vmap(&b, |b| solve(&w, &b)));
        near(name, &all.slice((1, 4)), &solve(&w.slice(1), &b.slice(4)), 1e-12);
    }
}

#[test]
fn an_example_that_takes_another_branch_is_not_solved() {
    // Where x is negative the map is singular.
    let by = LinearSolve::new().tolerance(1e-13);
    let x = Tensor::from([4.0, -1.0, 2.0]);
    let chosen = |x: &Tensor| {
        let root = |x: Tensor| by.run(x.expand_dims(0), |y| &y * (x.relu().sqrt()) + y.sum() * x.relu()).sum();
        cond(&x.gt(0.0), x, root, |x| x * 7.0)
    };
    near("values", &vmap(&x, |x| chosen(&x)), &Tensor::from([4.0 / 6.0, -7.0, 2.0 / (2f64.sqrt() + 2.0)]), 1e-12);
    let want = [1.0 / 12.0 / 4.0 * 4.0 / 3.0, 7.0, grad(&Tensor::from(2.0), |x| chosen(&x)).item()];
    let inside = vmap(&x, |x| grad(&x, |x| chosen(&x)));
    let around = grad(&x, |x| vmap(&x, |x| chosen(&x)).sum());
    near("gradients", &inside, &around, 1e-12);
    assert!((inside.to_vec()[1] - want[1]).abs() < 1e-12 && (inside.to_vec()[2] - want[2]).abs() < 1e-12);
    // sqrt x / (1 + sqrt x)
    assert!((inside.to_vec()[0] - 0.25 / 9.0).abs() < 1e-12);
}

#[test]
fn loops_and_systems_hold_each_other() {
    let w = numbers(12, &[3]);
    let by = LinearSolve::new().tolerance(1e-13);
    // Implicit steps of diffusion.
    let diffused = |w: &Tensor| {
        fori(0..4, w.sin(), |_, u| by.run(&u, |x| (&x - (x.roll(1, 0) + x.roll(-1, 0)) * 0.3) * 2.0 + w.square() * &x))
    };
    check_derivatives("a system in a loop", &w, diffused);
    // A map that is a loop: forward substitution undone.
    let swept = |w: &Tensor| {
        by.run(w, |x| {
            let (_, y) = scan(Tensor::from(0.0), (&x, w), |before, (x, w)| {
                let y = x * 2.0 + w.sin() * before;
                (y.clone(), y)
            });
            y
        })
    };
    check_derivatives("a loop in a system", &w, swept);
    // A map that solves a system.
    let nested = |w: &Tensor| by.run(w, |x| by.run(&x, |y| &y * 2.0 + w * y.roll(1, 0) * 0.5));
    check_derivatives("a system in a system", &w, nested);
}

#[test]
fn compiled_and_checkpointed_systems_are_the_same() {
    let (w, b) = (numbers(13, &[4]), numbers(14, &[4]));
    let solve = |w: &Tensor| linear_solve(&b, |x| &x * 3.0 + w * x.roll(1, 0));
    let compiled = compile(|w: Tensor| grad(&w, |w| solve(&w).square().sum()));
    let plain = grad(&w, |w| solve(&w).square().sum());
    near("compiled", &compiled.call(&w), &plain, 1e-12);
    near("again", &compiled.call(&w), &plain, 1e-12);
    near("checkpointed", &grad(&w, |w| checkpoint(&w, |w| solve(&w).square().sum())), &plain, 1e-12);
}
