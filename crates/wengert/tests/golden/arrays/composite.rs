//! The family `composite`: worked examples, small functions of a few numbers.

use std::f64::consts::{E, SQRT_2, TAU};

use wengert::Tensor;

use super::models;
use super::{ArrayArgs, Results, elements, misfit, number, one, vector};

pub(super) fn call(function: &str, args: &ArrayArgs) -> Results {
    match function {
        "poly_sin" | "fan_out" | "sigmoid_decomposed" | "exp_chain" | "x_pow_x" | "repeated_variable" => {
            let [x] = args.all()?;
            one(of_one(function, x))
        }
        "mul_sin" | "ln_mul_sin" | "griewank_walther_5" | "two_var_trig" | "himmelblau" => {
            let [x, y] = args.all()?;
            one(of_two(function, x, y))
        }
        "unused_input" => {
            let [x, _] = args.all()?;
            one(x.sin())
        }
        "constant_output" => one(number(3.0).convert(args.first()?.dtype())),
        "vector_function" | "spherical_to_cartesian" | "robot_arm" | "bezier_cubic" => curve(function, args),
        "speelpenning" | "ackley" | "rastrigin" | "griewank" => {
            let [x] = args.all()?;
            one(landscape(function, x))
        }
        "helmholtz_energy" => {
            let [x, a, b] = args.all()?;
            one(helmholtz(x, a, b))
        }
        "lennard_jones" => {
            let [atoms] = args.all()?;
            one(lennard_jones(atoms))
        }
        other => models::call(other, args),
    }
}

fn of_one(function: &str, x: &Tensor) -> Tensor {
    match function {
        "poly_sin" => (x * x + 1.0) * x.sin(),
        "fan_out" => {
            let a = x * x;
            &a + a.sin()
        }
        "sigmoid_decomposed" => 1.0 / ((-x).exp() + 1.0),
        "exp_chain" => x.cos().sin().exp(),
        "x_pow_x" => x.pow(x),
        "repeated_variable" => x * x * x + x / (x + x),
        other => unreachable!("{other} is not in the list of `call`"),
    }
}

fn of_two(function: &str, x: &Tensor, y: &Tensor) -> Tensor {
    match function {
        "mul_sin" => x * y + x.sin(),
        "ln_mul_sin" => x.ln() + x * y - y.sin(),
        "griewank_walther_5" => {
            let (quotient, power) = (x / y, y.exp());
            (quotient.sin() + &quotient - &power) * (&quotient - &power)
        }
        "two_var_trig" => x * x * y + (x * y).cos() / (y * y + 1.0),
        "himmelblau" => (x * x + y - 11.0).square() + (x + y * y - 7.0).square(),
        other => unreachable!("{other} is not in the list of `call`"),
    }
}

fn curve(function: &str, args: &ArrayArgs) -> Results {
    one(match function {
        "vector_function" => {
            let [x, y] = &elements(args.first()?)[..] else { return misfit("two numbers are needed") };
            vector(&[x * y, x.sin(), y * y])
        }
        "spherical_to_cartesian" => {
            let [r, theta, phi] = &elements(args.first()?)[..] else { return misfit("three numbers are needed") };
            let across = r * theta.sin();
            vector(&[&across * phi.cos(), &across * phi.sin(), r * theta.cos()])
        }
        "robot_arm" => {
            let [q, lengths] = args.all()?;
            let angles = q.cumsum(0);
            vector(&[(lengths * angles.cos()).sum(), (lengths * angles.sin()).sum()])
        }
        "bezier_cubic" => {
            let [control, t] = args.all()?;
            let s = 1.0 - t;
            let weights = [&s * &s * &s, &s * &s * t * 3.0, &s * t * t * 3.0, t * t * t];
            vector(&weights).matmul(control)
        }
        other => unreachable!("{other} is not in the list of `call`"),
    })
}

/// Test functions of global optimisation.
fn landscape(function: &str, x: &Tensor) -> Tensor {
    let n = x.size() as f64;
    match function {
        "speelpenning" => x.prod(),
        "ackley" => {
            let spread = x.square().mean().sqrt() * -0.2;
            let waves = (x * TAU).cos().mean();
            spread.exp() * -20.0 - waves.exp() + 20.0 + E
        }
        "rastrigin" => (x.square() - (x * TAU).cos() * 10.0).sum() + 10.0 * n,
        "griewank" => {
            let positions = (Tensor::iota(x.size()).convert(x.dtype()) + 1.0).sqrt();
            x.square().sum() / 4000.0 - (x / positions).cos().prod() + 1.0
        }
        other => unreachable!("{other} is not in the list of `call`"),
    }
}

fn helmholtz(x: &Tensor, a: &Tensor, b: &Tensor) -> Tensor {
    let bx = b.dot(x);
    let ideal = (x * (x / (1.0 - &bx)).ln()).sum();
    let quotient = (&bx * (1.0 + SQRT_2) + 1.0) / (&bx * (1.0 - SQRT_2) + 1.0);
    ideal - x.dot(&a.matmul(x)) / (bx * 8f64.sqrt()) * quotient.ln()
}

/// Half the sum over all pairs of different atoms; the diagonal is masked before it is divided by.
fn lennard_jones(atoms: &Tensor) -> Tensor {
    let n = atoms.shape()[0];
    let squares = (atoms.expand_dims(1) - atoms.expand_dims(0)).square().sum_over(-1);
    let same = Tensor::iota(n).expand_dims(1).eq(Tensor::iota(n));
    let power = same.where_(1.0, squares).powi(-3);
    let energies = (&power * &power - power) * 4.0;
    same.where_(0.0, energies).sum() * 0.5
}
