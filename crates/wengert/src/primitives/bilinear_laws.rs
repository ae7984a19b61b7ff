//! The laws of bilinear operations, for their tests. At small integers all sums and products are
//! exact, in single precision too, so that everything is compared without a tolerance.

use super::Op;
use crate::array::{Array, DType, Type};
use crate::program::{Builder, Program};

/// Integers in `[-3, 3]` of a type, without a pattern.
pub(super) fn integers(seed: u64, ty: &Type) -> Array {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x5851_f42d_4c95_7f2d;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((state >> 33) % 7) as i64 - 3
    };
    let elements: Vec<i64> = (0..ty.size()).map(|_| next()).collect();
    match ty.dtype {
        DType::F64 => Array::new(&ty.shape, elements.iter().map(|&x| x as f64).collect::<Vec<f64>>()),
        DType::F32 => Array::new(&ty.shape, elements.iter().map(|&x| x as f32).collect::<Vec<f32>>()),
        _ => Array::new(&ty.shape, elements),
    }
}

/// The Program of one equation.
pub(super) fn program(op: impl Into<Op>, args: &[Array]) -> Program {
    let mut b = Builder::new();
    let inputs: Vec<_> = args.iter().map(|arg| b.input("", arg.ty().clone())).collect();
    let outs = b.emit(op, &inputs).unwrap();
    b.finish(&outs)
}

/// All choices of some of `count` things, the empty one left out.
fn subsets(count: usize) -> impl Iterator<Item = Vec<bool>> {
    (1..1usize << count).map(move |bits| (0..count).map(|k| bits >> k & 1 == 1).collect())
}

fn some_like(seed: u64, args: &[Array]) -> Vec<Array> {
    args.iter().zip(seed..).map(|(arg, seed)| integers(seed, arg.ty())).collect()
}

/// `x + step * direction`, in the type of x.
fn moved(x: &Array, direction: &Array, step: f64) -> Array {
    let sums: Vec<f64> = x.to_f64().iter().zip(direction.to_f64()).map(|(x, d)| x + step * d).collect();
    match x.dtype() {
        DType::F32 => Array::new(x.shape(), sums.into_iter().map(|x| x as f32).collect::<Vec<f32>>()),
        _ => Array::new(x.shape(), sums),
    }
}

fn dot(x: &[Array], y: &[Array]) -> f64 {
    assert_eq!(x.len(), y.len());
    let one = |(x, y): (&Array, &Array)| {
        assert_eq!(x.ty(), y.ty());
        x.to_f64().iter().zip(y.to_f64()).map(|(x, y)| x * y).sum::<f64>()
    };
    x.iter().zip(y).map(one).sum()
}

/// Tangents are central differences, which are exact for what is at most quadratic; and
/// `<c, J t> = <J^T c, t>`. For every choice of active inputs.
pub(super) fn check_derivatives(name: &str, program: &Program, args: &[Array]) {
    let primals = program.run_reference(args).unwrap();
    let cotangents = some_like(50, &primals);
    for active in subsets(args.len()) {
        let directions: Vec<Array> = some_like(70, args)
            .into_iter()
            .zip(&active)
            .map(|(direction, &active)| if active { direction } else { Array::zeros(direction.ty()) })
            .collect();
        let chosen: Vec<Array> =
            directions.iter().zip(&active).filter(|(_, active)| **active).map(|(x, _)| x.clone()).collect();
        let at = |step: f64| {
            let point: Vec<Array> = args.iter().zip(&directions).map(|(x, d)| moved(x, d, step)).collect();
            program.run_reference(&point).unwrap()
        };
        let (after, before) = (at(1.0), at(-1.0));
        let outs = program.jvp(&active).unwrap().run_reference(&[args, &chosen].concat()).unwrap();
        let tangents = &outs[primals.len()..];
        for ((tangent, after), before) in tangents.iter().zip(after).zip(before) {
            let twice: Vec<f64> = after.to_f64().iter().zip(before.to_f64()).map(|(a, b)| a - b).collect();
            assert_eq!(twice, tangent.to_f64().iter().map(|x| 2.0 * x).collect::<Vec<_>>(), "{name}: {active:?}");
        }
        let outs = program.vjp(&active).unwrap().run_reference(&[args, &cotangents].concat()).unwrap();
        let pulled = &outs[primals.len()..];
        assert_eq!(dot(&cotangents, tangents), dot(pulled, &chosen), "{name}: transposed for {active:?}");
    }
}

/// A batched Program is the Program lane by lane, for every choice of batched inputs.
pub(super) fn check_lanes(name: &str, program: &Program, args: &[Array], lengths: &[usize]) {
    for (batched, &length) in subsets(args.len()).flat_map(|marks| lengths.iter().map(move |n| (marks.clone(), n))) {
        let with_lanes: Vec<Array> = args
            .iter()
            .zip(&batched)
            .zip(90..)
            .map(|((arg, &batched), seed)| {
                let shape = [&[length], arg.shape()].concat();
                if batched { integers(seed, &arg.ty().with_shape(shape)) } else { arg.clone() }
            })
            .collect();
        let outs = program.vmap(&batched, length).unwrap().run_reference(&with_lanes).unwrap();
        let mut expected: Vec<Vec<f64>> = vec![Vec::new(); outs.len()];
        for lane in 0..length {
            let own: Vec<Array> = with_lanes
                .iter()
                .zip(args)
                .zip(&batched)
                .map(|((all, arg), &batched)| {
                    let start = lane * arg.size();
                    if batched { all.pick(arg.shape(), start..start + arg.size()) } else { all.clone() }
                })
                .collect();
            let results = program.run_reference(&own).unwrap();
            expected.iter_mut().zip(results).for_each(|(all, own)| all.extend(own.to_f64()));
        }
        for ((out, expected), ty) in outs.iter().zip(expected).zip(program.output_types()) {
            assert_eq!(out.shape(), [&[length], &ty.shape[..]].concat(), "{name}: {batched:?} of {length}");
            assert_eq!(out.to_f64(), expected, "{name}: {batched:?} of {length}");
        }
    }
}

/// Derivatives of first and second order, lanes, lanes of derivatives and derivatives of lanes.
pub(super) fn check_all(name: &str, op: impl Into<Op>, args: &[Array]) {
    let program = program(op, args);
    check_lanes(name, &program, args, &[0, 1, 3]);
    if !args[0].dtype().is_float() {
        return;
    }
    check_derivatives(name, &program, args);
    let pullback = program.vjp(&[true, true]).unwrap();
    let outs = program.run_reference(args).unwrap();
    let with_cotangents = [args, &some_like(30, &outs)].concat();
    let second = format!("{name}, pulled back");
    check_derivatives(&second, &pullback, &with_cotangents);
    check_lanes(&second, &pullback, &with_cotangents, &[0, 2]);
    for batched in subsets(2) {
        let lanes = program.vmap(&batched, 2).unwrap();
        let args: Vec<Array> = lanes.input_types().iter().zip(40..).map(|(ty, seed)| integers(seed, ty)).collect();
        check_derivatives(&format!("{name}, in lanes"), &lanes, &args);
    }
}
