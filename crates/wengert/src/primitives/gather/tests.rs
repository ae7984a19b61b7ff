//! Tests of gather and scatter against the formulas of their documentation.

use super::*;
use crate::array::for_each_index;
use crate::primitives::Op;
use crate::primitives::trials::{at, check_transpose, check_vmap, program_of, rotated};

/// The multi-index in `x` of an element of a gather's result, by the formula; `None` where the mode
/// leaves the element out.
fn source(op: &Gather, x: &Array, indices: &Array, out: &[usize]) -> Option<Vec<usize>> {
    let vectors = indices.shape().len() - 1;
    let mut block = out[vectors..].iter();
    (0..x.shape().len())
        .map(|axis| {
            if axis < op.batch {
                return Some(out[axis]);
            }
            let Some(j) = op.axes.iter().position(|&indexed| indexed == axis) else {
                return block.next().copied();
            };
            let index = at(indices, &[&out[..vectors], &[j]].concat());
            let last = x.shape()[axis] as f64 - 1.0;
            match op.mode {
                OutOfBounds::Clamp => Some(index.clamp(0.0, last) as usize),
                _ => (index >= 0.0 && index <= last).then_some(index as usize),
            }
        })
        .collect()
}

#[test]
fn a_gather_reads_by_its_formula() {
    for (op, x, indices) in cases() {
        let y = &op.eval(&[&x, &indices]).expect("the indices exist")[0];
        assert_eq!(y.ty(), &op.infer(&[x.ty(), indices.ty()]).expect("it fits")[0]);
        for_each_index(y.shape(), |out| {
            let wanted = source(&op, &x, &indices, out).map_or(0.0, |source| at(&x, &source));
            assert_eq!(at(y, out), wanted, "{op:?} of {x:?} and {indices:?} at {out:?}");
        });
    }
}

#[test]
fn a_scatter_writes_by_the_same_formula() {
    for sample in Scatter::samples() {
        let Op::Scatter(op) = &sample.op else { panic!("a scatter") };
        let [x, indices, updates] = &sample.args[..] else { panic!("three operands") };
        let strides = row_major(x.shape());
        let mut wanted = x.to_f64();
        for_each_index(updates.shape(), |out| {
            if let Some(source) = source(&op.gather(), x, indices, out) {
                let place: usize = source.iter().zip(&strides).map(|(index, stride)| index * stride).sum();
                let update = at(updates, out);
                wanted[place] = if op.write == Write::Set { update } else { wanted[place] + update };
            }
        });
        if x.dtype() == DType::F32 {
            wanted.iter_mut().for_each(|x| *x = f64::from(*x as f32));
        }
        let y = &sample.op.eval(&[x, indices, updates]).expect("the indices exist")[0];
        assert_eq!(y.to_f64(), wanted, "{sample:?}");
    }
}

#[test]
fn a_sum_in_single_precision_is_rounded_once() {
    let x = Array::new(&[1], vec![1f32]);
    let indices = Array::full(&[64, 1], 0i64);
    let updates = Array::full(&[64], f32::EPSILON / 4.0);
    let op = Scatter::new(&[0], OutOfBounds::Error, Write::Add);
    let y = op.eval(&[&x, &indices, &updates]).expect("the index exists");
    assert_eq!(y[0].known::<f32>(), [1.0 + 16.0 * f32::EPSILON]);
}

#[test]
fn transposes_keep_the_dot_product() {
    for sample in Gather::samples().into_iter().chain(Scatter::samples()) {
        check_transpose(&sample);
    }
}

#[test]
fn the_last_of_repeated_updates_alone_has_a_cotangent() {
    let op = Scatter::new(&[0], OutOfBounds::Fill, Write::Set);
    let x = numbers(1, &[4]);
    let indices = Array::new(&[5, 1], vec![2i64, 9, 2, 0, -1]);
    let args = [x, indices, numbers(2, &[5])];
    let program = program_of(&op.into(), &args).vjp(&[true, false, true]).expect("it is linear");
    let ct = Array::new(&[4], vec![1.0, 2.0, 3.0, 4.0]);
    let out = program.run_reference(&[&args[..], &[ct]].concat()).expect("it runs");
    assert_eq!(out[1].known::<f64>(), [0.0, 2.0, 0.0, 4.0]);
    assert_eq!(out[2].known::<f64>(), [0.0, 0.0, 3.0, 1.0, 0.0]);
}

#[test]
fn a_cotangent_of_nan_stays_where_it_belongs() {
    let op = Scatter::new(&[0], OutOfBounds::Clamp, Write::Set);
    let args = [numbers(1, &[3]), Array::new(&[3, 1], vec![7i64, 2, -3]), numbers(2, &[3])];
    let program = program_of(&op.into(), &args).vjp(&[true, false, true]).expect("it is linear");
    let out =
        program.run_reference(&[&args[..], &[Array::new(&[3], vec![5.0, 6.0, f64::NAN])]].concat()).expect("it runs");
    assert_eq!(out[1].known::<f64>(), [0.0, 6.0, 0.0]);
    let u_bar = out[2].known::<f64>();
    assert!(u_bar[0] == 0.0 && u_bar[1].is_nan() && u_bar[2] == 5.0, "{u_bar:?}");
}

/// Numbers turn from lane to lane; of the indices, whole vectors turn, so that each stays on its axis.
fn lane(lane: usize, operand: usize, arg: &Array) -> Array {
    rotated(arg, if operand == 1 { lane * arg.shape().last().copied().unwrap_or(1) } else { lane })
}

#[test]
fn lanes_are_slices() {
    for sample in Gather::samples().into_iter().chain(Scatter::samples()) {
        check_vmap(&program_of(&sample.op, &sample.args), &sample.args, &lane);
    }
}

#[test]
fn lanes_of_pullbacks_are_pullbacks_of_slices() {
    for sample in Gather::samples().into_iter().chain(Scatter::samples()) {
        if !sample.args[0].dtype().is_float() || sample.args[0].shape().len() > 3 {
            continue;
        }
        let program = program_of(&sample.op, &sample.args);
        let active: Vec<bool> = (0..sample.args.len()).map(|k| k != 1).collect();
        let vjp = program.vjp(&active).expect("it is linear");
        let ct = vjp.input_types().last().expect("a cotangent").clone();
        let ct = if ct.dtype == DType::F32 { numbers_f32(3, &ct.shape) } else { numbers(3, &ct.shape) };
        check_vmap(&vjp, &[&sample.args[..], &[ct]].concat(), &lane);
    }
}

#[test]
fn an_index_out_of_range_is_named_with_the_length_of_its_axis() {
    let gather = Gather::new(&[1], OutOfBounds::Error);
    let x = numbers(1, &[2, 3]);
    for index in [3i64, -1, i64::MIN] {
        let why = gather.eval(&[&x, &Array::new(&[1], vec![index])]).expect_err("it does not exist");
        assert_eq!(why.0, format!("the index {index} is out of range for an axis that is 3 long"));
    }
    let scatter = Scatter::new(&[0], OutOfBounds::Error, Write::Add);
    let why = scatter.eval(&[&numbers(1, &[0]), &Array::new(&[1, 1], vec![0i64]), &numbers(2, &[1])]);
    assert_eq!(why.expect_err("the axis is empty").0, "the index 0 is out of range for an axis that is 0 long");
    assert_eq!((gather.harmless(), scatter.harmless()), (vec![(1, 0.0)], vec![(1, 0.0)]));
    assert_eq!(Gather::new(&[1], OutOfBounds::Fill).harmless(), []);
}

#[test]
fn empty_axes_are_filled_or_refused() {
    let (x, indices) = (numbers(1, &[0, 2]), Array::new(&[2, 1], vec![0i64, -1]));
    let y = Gather::new(&[0], OutOfBounds::Fill).eval(&[&x, &indices]).expect("nothing is read");
    assert!(y[0].same_bits(&Array::full(&[2, 2], 0.0)));
    let updates = numbers(2, &[2, 2]);
    let y = Scatter::new(&[0], OutOfBounds::Fill, Write::Set).eval(&[&x, &indices, &updates]).expect("all are dropped");
    assert!(y[0].same_bits(&x));
    let why = Gather::new(&[0], OutOfBounds::Clamp).infer(&[x.ty(), indices.ty()]).expect_err("no index exists");
    assert_eq!(why.0, "no index exists on axis 0, which is empty, and the mode is clamp");
    let empty = numbers(1, &[0, 0]);
    let y = Gather::new(&[0], OutOfBounds::Clamp).eval(&[&empty, &indices]).expect("nothing is read");
    assert_eq!(y[0].shape(), [2, 0]);
}

#[test]
fn misfits_name_the_axis_or_the_option() {
    let x = Type::new(DType::F64, &[2, 3]);
    let index = |shape: &[usize]| Type::new(DType::I64, shape);
    let why = |batch, axes: &[usize], indices: &Type| {
        let op = Gather { batch, axes: axes.to_vec(), mode: OutOfBounds::Error };
        op.infer(&[&x, indices]).expect_err("it does not fit").0
    };
    assert_eq!(why(0, &[2], &index(&[1])), "there is no axis 2 in f64[2,3], which has 2 axes");
    assert_eq!(why(0, &[1, 0], &index(&[2])), "the axes [1, 0] are not increasing");
    assert_eq!(why(0, &[1, 1], &index(&[2])), "the axes [1, 1] are not increasing");
    assert_eq!(why(1, &[0], &index(&[2, 1])), "axis 0 is indexed and among the 1 shared ones");
    assert_eq!(why(3, &[], &index(&[2, 3, 1])), "the first 3 axes are shared, and f64[2,3] has 2");
    assert_eq!(why(1, &[1], &index(&[3, 1])), "the shared axis 0 is 2 long in one and 3 in the other");
    assert_eq!(why(0, &[1], &index(&[4, 2])), "axis 1 of the indices is 2 long for 1 axes");
    assert_eq!(why(1, &[1], &index(&[2])), "the indices i64[2] need 1 shared axes and one for the index vector");
    assert_eq!(why(0, &[1], &x), "the indices are f64, and have to be i64");
    let add = Scatter::new(&[0], OutOfBounds::Error, Write::Add);
    let why = |types: &[&Type]| add.infer(types).expect_err("it does not fit").0;
    assert_eq!(why(&[&x, &index(&[1]), &x]), "the updates are f64[2,3], and have to be f64[3]");
    let (mask, row) = (x.with_dtype(DType::Bool), Type::new(DType::Bool, &[3]));
    assert_eq!(why(&[&mask, &index(&[1]), &row]), "truth values cannot be added; convert first");
}

/// A gather in the branch `yes`, the first element in the branch `no`; on a condition, x and an index.
fn guarded() -> crate::Program {
    let (x, index) = (Type::new(DType::F64, &[3]), Type::new(DType::I64, &[1]));
    let branch = |gathers: bool| {
        let mut b = Builder::new();
        let (x, index) = (b.input("x", x.clone()), b.input("index", index.clone()));
        let index = if gathers { index } else { b.zeros_like(index) };
        let picked = b.op(Gather::new(&[0], OutOfBounds::Error), &[x, index]);
        b.finish(&[picked])
    };
    let mut b = Builder::new();
    let condition = b.input("condition", Type::new(DType::Bool, &[]));
    let (x, index) = (b.input("x", x.clone()), b.input("index", index.clone()));
    let out = b.op(crate::primitives::Cond::new(branch(true), branch(false)), &[condition, x, index]);
    b.finish(&[out])
}

#[test]
fn an_index_out_of_range_in_a_branch_not_taken_is_no_error() {
    let args = [Array::scalar(true), numbers(1, &[3]), Array::new(&[1], vec![2i64])];
    // Every other lane does not take the branch, and its index does not exist.
    let lane = |lane: usize, operand: usize, arg: &Array| match operand {
        0 => Array::scalar(lane.is_multiple_of(2)),
        2 if lane % 2 == 1 => Array::new(&[1], vec![99i64]),
        _ => rotated(arg, lane),
    };
    let guarded = guarded();
    let together = |program: &crate::Program, args: &[Array]| {
        let stack = |k: usize| crate::primitives::trials::stack(&args[k], 3, |n| lane(n, k, &args[k]));
        let operands: Vec<Array> = (0..args.len()).map(stack).collect();
        program
            .vmap(&vec![true; args.len()], 3)
            .and_then(|program| program.run_reference(&operands))
            .expect("no lane fails")
    };
    let x = args[1].known::<f64>();
    let values = together(&guarded, &args);
    assert_eq!(values[0].known::<f64>(), [x[2], x[1], x[1]]);
    let vjp = guarded.vjp(&[false, true, false]).expect("it has a derivative");
    let pulled = together(&vjp, &[&args[..], &[Array::scalar(1.0)]].concat());
    assert_eq!(pulled[1].known::<f64>(), [0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0]);
}
