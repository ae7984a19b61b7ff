//! What the unit tests of the families that index share: programs of one operation, the dot-product
//! test and the comparison of lanes with slices.

use super::sample::{numbers, numbers_f32};
use super::{Op, Sample};
use crate::array::{Array, DType, Element, row_major};
use crate::program::{Builder, Program};

/// The Program of one operation on inputs like these.
pub(super) fn program_of(op: &Op, args: &[Array]) -> Program {
    let mut b = Builder::new();
    let inputs: Vec<_> = args.iter().map(|arg| b.input("", arg.ty().clone())).collect();
    let outs = b.ops(op.clone(), &inputs);
    b.finish(&outs)
}

/// The element at a multi-index.
pub(super) fn at(x: &Array, index: &[usize]) -> f64 {
    x.to_f64()[index.iter().zip(row_major(x.shape())).map(|(index, stride)| index * stride).sum::<usize>()]
}

fn turned<T: Element>(x: &Array, by: usize) -> Array {
    let mut elements = x.known::<T>().to_vec();
    if !elements.is_empty() {
        let by = by % elements.len();
        elements.rotate_left(by);
    }
    Array::new(x.shape(), elements)
}

/// The elements moved on by this many places, round and round.
pub(super) fn rotated(x: &Array, by: usize) -> Array {
    match x.dtype() {
        DType::Bool => turned::<bool>(x, by),
        DType::I64 => turned::<i64>(x, by),
        DType::F32 => turned::<f32>(x, by),
        DType::F64 => turned::<f64>(x, by),
    }
}

/// Integers increased by `by`, without overflow.
pub(super) fn moved(x: &Array, by: i64) -> Array {
    Array::new(x.shape(), x.known::<i64>().iter().map(|x| x.saturating_add(by)).collect::<Vec<i64>>())
}

fn joined<T: Element>(shape: &[usize], lanes: &[Array]) -> Array {
    let shape = [&[lanes.len()], shape].concat();
    Array::new(&shape, lanes.iter().flat_map(|lane| lane.known::<T>().iter().copied()).collect::<Vec<T>>())
}

/// One array with a lane per array, all of the type of `like`.
fn stacked(like: &crate::Type, lanes: &[Array]) -> Array {
    match like.dtype {
        DType::Bool => joined::<bool>(&like.shape, lanes),
        DType::I64 => joined::<i64>(&like.shape, lanes),
        DType::F32 => joined::<f32>(&like.shape, lanes),
        DType::F64 => joined::<f64>(&like.shape, lanes),
    }
}

/// An operand with this many lanes of the type of `like`.
pub(super) fn stack(like: &Array, length: usize, lane: impl Fn(usize) -> Array) -> Array {
    stacked(like.ty(), &(0..length).map(lane).collect::<Vec<_>>())
}

fn run(program: &Program, args: &[Array]) -> Vec<Array> {
    program.run_reference(args).unwrap_or_else(|error| panic!("{error}\n{program}"))
}

/// Every subset of operands batched, with 0, 1 and 3 lanes, gives to the bit what the slices give.
/// `lane` makes an operand of a lane from the one given.
pub(super) fn check_vmap(program: &Program, args: &[Array], lane: &dyn Fn(usize, usize, &Array) -> Array) {
    let types = program.output_types();
    for subset in 0..1u32 << args.len() {
        let batched: Vec<bool> = (0..args.len()).map(|k| subset >> k & 1 == 1).collect();
        for length in [0, 1, 3] {
            let operand = |n: usize, k: usize| if batched[k] { lane(n, k, &args[k]) } else { args[k].clone() };
            let lanes: Vec<Vec<Array>> = (0..length)
                .map(|n| run(program, &(0..args.len()).map(|k| operand(n, k)).collect::<Vec<_>>()))
                .collect();
            let inputs: Vec<Array> = (0..args.len())
                .map(|k| if batched[k] { stack(&args[k], length, |n| operand(n, k)) } else { args[k].clone() })
                .collect();
            let mapped = program.vmap(&batched, length).unwrap_or_else(|error| panic!("{error}\n{program}"));
            let outs = run(&mapped, &inputs);
            for (k, out) in outs.iter().enumerate() {
                let wanted = stacked(&types[k], &lanes.iter().map(|lane| lane[k].clone()).collect::<Vec<_>>());
                assert!(out.same_bits(&wanted), "{batched:?}, {length} lanes: {out:?} is not {wanted:?}\n{program}");
            }
        }
    }
}

fn dot(x: &[Array], y: &[Array]) -> f64 {
    let products = x.iter().zip(y).flat_map(|(x, y)| x.to_f64().into_iter().zip(y.to_f64()));
    products.map(|(x, y)| x * y).sum()
}

fn direction(seed: u64, like: &Array) -> Array {
    if like.dtype() == DType::F32 { numbers_f32(seed, like.shape()) } else { numbers(seed, like.shape()) }
}

/// `<c, J t>` equals `<J^T c, t>` for every part of the operands in which the operation is linear;
/// and `J t` is a difference of values, which is exact for what moves and adds numbers but for
/// rounding.
pub(super) fn check_transpose(sample: &Sample) {
    let args = &sample.args;
    let set = sample.op.linear_in(args.len()).concat();
    if !args[set[0]].dtype().is_float() {
        return;
    }
    let tolerance = if args[set[0]].dtype() == DType::F32 { 1e-5 } else { 1e-13 };
    let program = program_of(&sample.op, args);
    for subset in 1..1u32 << set.len() {
        let chosen: Vec<usize> =
            set.iter().enumerate().filter(|(n, _)| subset >> n & 1 == 1).map(|(_, &k)| k).collect();
        let active: Vec<bool> = (0..args.len()).map(|k| chosen.contains(&k)).collect();
        let tangents: Vec<Array> = chosen.iter().map(|&k| direction(31 + k as u64, &args[k])).collect();
        let jvp = program.jvp(&active).unwrap_or_else(|error| panic!("{error}"));
        let forward = run(&jvp, &[&args[..], &tangents[..]].concat());
        let ct = direction(41, &forward[0]);
        let vjp = program.vjp(&active).unwrap_or_else(|error| panic!("{error}"));
        let pulled = run(&vjp, &[&args[..], std::slice::from_ref(&ct)].concat());
        let (left, right) = (dot(std::slice::from_ref(&ct), &forward[1..]), dot(&pulled[1..], &tangents));
        let size = 4.0 * (1 + forward[0].size() + args.iter().map(Array::size).sum::<usize>()) as f64;
        assert!((left - right).abs() <= tolerance * size, "{left} is not {right}: {sample:?} in {chosen:?}");
        let mut shifted = args.clone();
        chosen.iter().zip(&tangents).for_each(|(&k, tangent)| shifted[k] = sum(&args[k], tangent));
        let there = run(&program, &shifted)[0].to_f64();
        for ((there, here), slope) in there.iter().zip(forward[0].to_f64()).zip(forward[1].to_f64()) {
            assert!((there - here - slope).abs() <= tolerance * size, "{slope}: {sample:?} in {chosen:?}");
        }
    }
}

fn sum(x: &Array, y: &Array) -> Array {
    let sums: Vec<f64> = x.to_f64().iter().zip(y.to_f64()).map(|(x, y)| x + y).collect();
    if x.dtype() == DType::F32 {
        return Array::new(x.shape(), sums.iter().map(|&x| x as f32).collect::<Vec<f32>>());
    }
    Array::new(x.shape(), sums)
}
