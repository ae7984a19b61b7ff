//! What operations record: literals, lines, derivatives at the points of the tables.

use std::panic::Location;

use super::graph::{self, Closed, Reading};
use super::twins::{TryArithmetic, TrySort};
use super::{Tensor, step};
use crate::array::{Array, DType, Type};
use crate::primitives::{Op, OutOfBounds};
use crate::program::Program;
use crate::tape::recording::{Mode, Scope};

/// The Program of a function of tensors of these types, recorded as a branch of `cond` is: even what
/// depends on nothing becomes an equation.
fn recorded(types: &[Type], f: impl FnOnce(&[Tensor]) -> Tensor) -> Closed {
    let scope = Scope::open(Mode::Replay);
    let generation = scope.generation();
    graph::open(generation, Reading::Branch, None);
    let inputs: Vec<Tensor> =
        graph::with_graph(generation, |graph| types.iter().map(|ty| graph.leaf("x", ty.clone(), None)).collect());
    let output = f(&inputs);
    let closed = graph::close(generation, &[output], "recorded", Location::caller()).expect("the recording is open");
    drop(scope);
    closed
}

/// A function of one vector, recorded.
fn of_vector(length: usize, f: impl FnOnce(&Tensor) -> Tensor) -> Program {
    let closed = recorded(&[Type::new(DType::F64, &[length])], |inputs| f(&inputs[0]));
    assert!(closed.captures.is_empty(), "numbers are literals, not captured arrays: {}", closed.program);
    std::sync::Arc::unwrap_or_clone(closed.program)
}

fn run(program: &Program, x: &[f64], rest: &[Array]) -> Vec<Vec<f64>> {
    let mut inputs = vec![Array::new(&[x.len()], x.to_vec())];
    inputs.extend(rest.iter().cloned());
    program.run(&inputs).expect("it runs").iter().map(Array::to_f64).collect()
}

/// Value and gradient of the sum of the results.
fn gradient(program: &Program, x: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let ones = program.output_types()[0].shape.clone();
    let mut results = run(&program.vjp(&[true]).expect("it has a derivative"), x, &[Array::full(&ones, 1.0)]);
    let gradient = results.remove(1);
    (results.remove(0), gradient)
}

/// The Hessian's product with a vector, forward over reverse.
fn hessian_times(program: &Program, x: &[f64], direction: &[f64]) -> Vec<f64> {
    let pullback = program.vjp(&[true]).expect("it has a derivative");
    let tangents = pullback.jvp(&[true, false]).expect("it has a second one");
    let one = Array::full(&program.output_types()[0].shape, 1.0);
    run(&tangents, x, &[one, Array::new(&[direction.len()], direction.to_vec())]).remove(3)
}

#[track_caller]
fn same(got: &[f64], wanted: &[f64]) {
    let equal = |(x, y): (&f64, &f64)| x.is_nan() && y.is_nan() || x == y || (x - y).abs() <= 1e-15 * y.abs();
    assert!(got.len() == wanted.len() && got.iter().zip(wanted).all(equal), "{got:?} where {wanted:?} is wanted");
}

#[test]
fn a_recording_gives_what_running_at_once_gives() {
    let points = [0.3, -1.25, 2.0];
    let functions: [fn(&Tensor) -> Tensor; 8] = [
        |x| 2.0 * x - x * x / 3.0,
        |x| x.gt(0.0).where_(x.sin(), 1.0).clamp(-1.0, 0.5),
        |x| x.reshape(&[1, 3]) * x.reshape(&[3, 1]),
        |x| x.logsumexp() + x.norm() + x.var(1) + x.std(0),
        |x| x.outer(x).slice((step(.., 2), 1..)).flip(0),
        |x| x.sort(0) + x.cumsum(0) + x.pad(&[(1, -1, 0)], 0.0),
        |x| x.take_or(&x.to_i64(), 0, OutOfBounds::Fill) + Tensor::arange(0.0, 3.0, 1.0),
        |x| Tensor::einsum("i,j,k->ik", &[x, x, x]).trace() + Tensor::eye(2).sum(),
    ];
    for f in functions {
        let closed = recorded(&[Type::new(DType::F64, &[3])], |inputs| f(&inputs[0]));
        let captures: Vec<Array> = closed.captures.iter().map(Tensor::to_array).collect();
        same(&run(&closed.program, &points, &captures)[0], &f(&Tensor::from(points)).to_vec());
    }
}

#[test]
fn equations_have_the_users_line() {
    let program = of_vector(3, |x| {
        let y = 1.0 + x.mean_keep(0) * x;
        y.slice((1..,)).norm()
    });
    let here = program.eqns().iter().all(|eqn| eqn.line.is_some_and(|line| line.file() == file!()));
    assert!(here, "{program}");
}

#[test]
fn literals_are_part_of_the_program() {
    let program = of_vector(2, |x| (x * 2.5 + 1.0).maximum(0.0).pow(2.0).powf(0.5).clamp(0, 9));
    assert!(program.eqns().iter().any(|eqn| matches!(eqn.op, Op::Literal(_))));
    let constant = of_vector(2, |x| Tensor::zeros(&[2]) + Tensor::full(&[2], 3.0) + Tensor::ones(&[2]) * x);
    assert_eq!(run(&constant, &[1.0, 2.0], &[])[0], [4.0, 5.0]);
}

#[test]
fn norm_and_std_have_derivative_zero_where_they_are_zero() {
    let norm = of_vector(2, Tensor::norm);
    same(&gradient(&norm, &[3.0, 4.0]).1, &[0.6, 0.8]);
    same(&gradient(&norm, &[0.0, 0.0]).1, &[0.0, 0.0]);
    same(&hessian_times(&norm, &[0.0, 0.0], &[1.0, -2.0]), &[0.0, 0.0]);
    // (I - x x^T / r^2) / r
    let second = hessian_times(&norm, &[3.0, 4.0], &[1.0, 0.0]);
    assert!((second[0] - 0.128).abs() < 1e-15 && (second[1] + 0.096).abs() < 1e-15, "{second:?}");
    let std = of_vector(3, |x| x.std(0));
    same(&gradient(&std, &[2.0, 2.0, 2.0]).1, &[0.0; 3]);
    same(&hessian_times(&std, &[2.0, 2.0, 2.0], &[1.0, 0.0, 0.0]), &[0.0; 3]);
    same(&gradient(&of_vector(3, |x| x.var(0)), &[2.0, 2.0, 2.0]).1, &[0.0; 3]);
}

#[test]
fn logsumexp_at_its_edges() {
    let program = of_vector(2, Tensor::logsumexp);
    let (low, high, nan) = (f64::NEG_INFINITY, f64::INFINITY, f64::NAN);
    for (x, value, wanted) in [
        ([1000.0, 1000.0], 1000.0 + 2f64.ln(), [0.5, 0.5]),
        ([low, 3.0], 3.0, [0.0, 1.0]),
        ([low, low], low, [nan, nan]),
        ([high, 0.0], high, [nan, 0.0]),
    ] {
        let (got, slope) = gradient(&program, &x);
        same(&got, &[value]);
        same(&slope, &wanted);
    }
    // p (1 - p) on the diagonal
    same(&hessian_times(&program, &[0.0, 0.0], &[1.0, 0.0]), &[0.25, -0.25]);
    // A share is a number or nothing, and none is subnormal.
    let share = (-689f64).exp();
    same(&gradient(&program, &[0.0, -689.0]).1, &[1.0, share]);
    same(&hessian_times(&program, &[0.0, -689.0], &[0.0, 1.0]), &[-share, share]);
    for low in [-691.0, -720.0, -745.0] {
        let (value, slope) = gradient(&program, &[1.0, 1.0 + low]);
        same(&value, &[1.0]);
        same(&slope, &[1.0, 0.0]);
        same(&hessian_times(&program, &[1.0, 1.0 + low], &[1.0, 2.0]), &[0.0, 0.0]);
    }
}

#[test]
fn conventions_of_the_named_functions() {
    for (f, x, wanted) in [
        ((|x| x.clamp(0.0, 1.0)) as fn(&Tensor) -> Tensor, vec![0.0, 1.0, 0.5, 2.0], vec![0.0, 0.0, 1.0, 0.0]),
        (|x| x.relu6(), vec![0.0, 6.0], vec![0.0, 0.0]),
        (|x| x.leaky_relu(0.1), vec![0.0, -1.0], vec![0.1, 0.1]),
        (|x| x.elu(), vec![0.0], vec![1.0]),
        (|x| x.log_sigmoid(), vec![-1000.0], vec![1.0]),
        (|x| x.gt(0.0).where_(x.sqrt(), 0.0), vec![0.0, 4.0], vec![0.0, 0.25]),
        (|x| x.maximum(0.0), vec![0.0], vec![0.5]),
        (|x| x.max(), vec![1.0, 3.0, 3.0], vec![0.0, 0.5, 0.5]),
        (|x| x.prod(), vec![0.0, 2.0, 3.0], vec![6.0, 0.0, 0.0]),
        (|x| x.median(0), vec![4.0, 1.0, 2.0, 3.0], vec![0.0, 0.0, 0.5, 0.5]),
        (|x| x.median(0), vec![2.0, 2.0, 1.0, 3.0, 2.0], vec![0.0, 1.0, 0.0, 0.0, 0.0]),
        (
            |x| x.max_pool(&super::Pool { window: [2], stride: [1], padding: [(0, 0)] }),
            vec![1.0, 1.0, 0.0],
            vec![1.0, 1.0, 0.0],
        ),
        (
            |x| x.top_k(2, 0).0 * Tensor::iota(2).to_f64().lerp(1.0, 0.0).exp2(),
            vec![1.0, 2.0, 2.0, 2.0],
            vec![0.0, 1.0, 2.0, 0.0],
        ),
        (|x| x.powf(0.0), vec![0.0], vec![0.0]),
    ] {
        let program = of_vector(x.len(), f);
        same(&gradient(&program, &x).1, &wanted);
    }
}

#[test]
fn the_derivative_goes_through_updates() {
    let program = of_vector(4, |x| {
        let mut y = x * 2.0;
        let before = y.clone();
        *y.slice_mut(1..3) *= x.slice(..2);
        y.slice_mut(step(.., -3)).assign(x.slice(1..3));
        y * 10.0 + before
    });
    let x = [1.0, 2.0, 3.0, 5.0];
    let (value, slope) = gradient(&program, &x);
    // y = [x2, 2 x1 x0, 2 x2 x1, x1] after both, 2 x before
    same(&value, &[32.0, 44.0, 126.0, 30.0]);
    same(&slope, &[2.0 + 40.0, 2.0 + 10.0 + 20.0 + 60.0, 2.0 + 10.0 + 40.0, 2.0]);
}

#[test]
fn errors_in_a_recording_name_the_operation_as_it_was_called() {
    recorded(&[Type::new(DType::F64, &[2, 3])], |inputs| {
        let error = inputs[0].try_mul(Tensor::zeros(&[2])).unwrap_err();
        assert!(error.to_string().starts_with("`mul` of f64[2,3] and f64[2] at "), "{error}");
        assert_eq!(error.line().map(Location::file), Some(file!()));
        let error = inputs[0].try_median(4).unwrap_err();
        assert_eq!((error.operation(), error.line().map(Location::file)), ("median", Some(file!())));
        assert!(format!("{:?} {}", inputs[0], inputs[0]).contains("recorded as v0"));
        inputs[0].clone()
    });
}
