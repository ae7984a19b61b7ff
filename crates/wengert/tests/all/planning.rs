//! Plans of Programs that no one would write by hand: every value is computed before it is used, and no memory is used twice
//! at a time. In debug builds every plan is checked for both when it is made; here they are also run beside the reference.

use wengert::plan::{Detail, Options, Plan};
use wengert::prelude::*;
use wengert::{Array, DType, Program, Type, to_program};

use crate::support::Random;
use crate::support::engine::{Operands, check_engine};
use crate::support::nightly::seeds;

/// The derivative of a derivative of a running product, in the two orders of differentiation.
fn nested(shape: &[usize], f: impl Fn(&Tensor) -> Tensor) -> Tensor {
    let size = shape.iter().product::<usize>();
    let lengths: Vec<isize> = shape.iter().map(|&length| length as isize).collect();
    let x = Tensor::linspace(0.1, 0.9, size).reshape(&lengths);
    grad(&x, |x| (grad(&x, |x| f(&x).square().sum()) * 0.5).sum())
}

#[test]
fn second_derivatives_of_running_products_are_planned() {
    for shape in [[64, 64], [8, 512], [100, 512], [63, 63], [65, 64], [64, 128], [512, 8]] {
        for axis in [0, 1] {
            let second = nested(&shape, |x| x.sin().cumprod(axis));
            assert!(second.to_vec().iter().all(|x| x.is_finite()), "{shape:?} along {axis}");
            nested(&shape, |x| x.sin().cumlogsumexp(axis));
            nested(&shape, |x| x.cos().cumsum(axis).tanh().cumprod(axis));
        }
    }
}

#[test]
fn second_derivatives_of_recurrences_are_planned() {
    for axis in [0, 1] {
        let text = format!(
            "program(v0: f64[64,64], v1: f64[64,64]) {{
                v2: f64[64,64] = sin v0
                v3: f64[64,64] = recurrence[axis={axis}, reverse=false] v2 v1
                v4: f64[64,64] = square v3
                v5: f64[] = sum[axes=[0,1]] v4
                return v5
            }}"
        );
        let mut program: Program = text.parse().unwrap_or_else(|why| panic!("{why}\n{text}"));
        for _ in 0..2 {
            let inputs = program.input_types().len();
            let active: Vec<bool> = (0..inputs).map(|k| k < 2).collect();
            program = program.vjp(&active).expect("it has a derivative");
            Plan::new(&program.optimize(), &Options::default()).expect("without a limit");
        }
    }
}

/// A random function of matrices that is large enough for chains to be turned, parts of lanes and recomputation.
fn random_function(random: &mut Random, x: &Tensor, steps: usize) -> Tensor {
    let mut values = vec![x.clone()];
    for _ in 0..steps {
        let pick = |random: &mut Random, values: &[Tensor]| values[random.below(values.len())].clone();
        let a = pick(random, &values);
        let b = pick(random, &values);
        let axis = random.below(2) as isize;
        let square = a.shape()[0] == a.shape()[1];
        let next = match random.below(14) {
            0 => a.sin(),
            1 => a.tanh() * &b,
            2 => (&a - a.mean_keep(axis)) * &b,
            3 => a.cumprod(axis).tanh(),
            4 => a.cumsum(axis) * 0.01,
            5 if square => a.t() + &b,
            6 if square => a.matmul(&b.t()) * 0.01,
            7 => a.flip(axis) * &b,
            8 => a.softmax(axis) + &b,
            9 => a.roll(1, axis) - &b,
            10 => (&a + &b).square() * 0.1,
            11 => a.cumprod(axis).sin() * b.cumprod(1 - axis).cos(),
            12 => a.gt(0.1).where_(&b, a.tanh().exp()),
            _ => &a * &b + a.sum_keep(axis).sin(),
        };
        values.push(next);
    }
    let parts = values.iter().rev().take(3).map(|value| value.sin().mean());
    parts.reduce(|one, two| one + two).expect("there is a value")
}

#[test]
fn random_programs_of_large_matrices_are_planned_and_right() {
    let shapes = [[64, 64], [48, 48], [8, 512], [100, 64], [64, 72]];
    for seed in seeds(24, 1000) {
        let mut random = Random::new(seed);
        let shape = shapes[random.below(shapes.len())];
        let x = random.directions(&Type::new(DType::F64, &shape));
        let steps = 2 + random.below(6);
        let (program, captures) =
            to_program(Tensor::from_array(x.clone()), |x| random_function(&mut random, &x, steps));
        assert!(captures.is_empty());
        let first = program.vjp(&[true]).expect("it has a derivative");
        let second = first.vjp(&[true, false]).expect("it has a second derivative");
        let one = Array::new(&[], vec![1.0]);
        let again = Array::new(&shape, vec![0.5; x.size()]);
        for (program, args) in [
            (&program, vec![x.clone()]),
            (&first, vec![x.clone(), one.clone()]),
            (&second, vec![x.clone(), one.clone(), one.clone(), again]),
        ] {
            let limit = Options { memory: Some(1), ..Options::default() };
            assert!(Plan::new(&program.optimize(), &limit).is_err(), "a byte is not enough");
            check_engine(program, &args, 1, Operands::Tame).unwrap_or_else(|why| panic!("seed {seed}: {why}"));
        }
    }
}

#[test]
fn long_chains_need_no_deep_stack() {
    // A function that calls itself for every step would need some hundred bytes for each.
    const STEPS: usize = 20_000;
    let chain = |x: Tensor| (0..STEPS).fold(x, |y, _| y.sin()).sum();
    let run = move || {
        let x = Tensor::from([0.5, -1.5]);
        (grad(&x, chain).to_vec(), jvp(&x, &Tensor::from([1.0, 1.0]), chain).1.item())
    };
    let thread = std::thread::Builder::new().stack_size(1 << 20).spawn(run).expect("a thread");
    let (gradient, pushed) = thread.join().expect("it does not panic");
    let slope = |x: f64| (0..STEPS).fold((x, 1.0), |(y, slope), _| (y.sin(), slope * y.cos())).1;
    let wanted = [slope(0.5), slope(-1.5)];
    for (got, wanted) in gradient.iter().zip(wanted).chain([(&pushed, wanted[0] + wanted[1])]) {
        assert!((got - wanted).abs() <= 1e-9 * wanted.abs(), "{got} instead of {wanted}");
    }
}

#[test]
fn a_sum_that_is_broadcast_back_is_no_reason_for_lanes() {
    // A region of lanes would have an instruction for each of 30 elements, which lie far apart from point to point.
    let x = Tensor::linspace(0.1, 0.9, 20_000 * 30 * 4).reshape(&[20_000, 30, 4]);
    let (program, _) = to_program(&x, |x| grad(&x, |x| x.sum_over(1).square().mean()));
    let plan = Plan::new(&program.optimize(), &Options::default()).expect("without a limit");
    let text = plan.explain(Detail::Instructions);
    assert!(text.lines().count() < 50, "{text}");
}
