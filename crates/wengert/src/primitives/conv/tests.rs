//! Convolutions against the index formula, over every combination of options.

use super::*;
use crate::array::DType;
use crate::primitives::bilinear_laws::{check_all, check_derivatives, check_lanes, integers, program};
use crate::primitives::{Extreme, Op};

/// The definition: for every place of the result and every tap, the element of x that they meet.
fn by_definition(op: &Conv, x: &Array, w: &Array, out: &[usize]) -> Vec<f64> {
    let (x_shape, w_shape) = (x.shape(), w.shape());
    let (x_strides, w_strides) = (row_major(x_shape), row_major(w_shape));
    let place = |index: &[usize], strides: &[usize]| index.iter().zip(strides).map(|(i, s)| i * s).sum::<usize>();
    let (x, w) = (x.to_f64(), w.to_f64());
    let mut sums = Vec::new();
    for_each_index(out, |at| {
        let (n, o) = (at[0], at[1]);
        let group = o * op.groups / out[1];
        let image = o * op.batch_groups / out[1] * out[0] + n;
        let mut sum = 0.0;
        for_each_index(&w_shape[1..], |tap| {
            let mut index = vec![image, group * w_shape[1] + tap[0]];
            for axis in 0..out.len() - 2 {
                let (low, high) = op.padding[axis];
                let padded = at[axis + 2] * op.stride[axis] + tap[axis + 1] * op.kernel_dilation[axis];
                let dilation = op.input_dilation[axis];
                let dilated = (x_shape[axis + 2].max(1) - 1) * dilation + usize::from(x_shape[axis + 2] > 0);
                assert!((padded as i64) < dilated as i64 + low + high, "no position is beyond the padded input");
                let Ok(inside) = usize::try_from(padded as i64 - low) else { return };
                if inside >= dilated || !inside.is_multiple_of(dilation) {
                    return;
                }
                index.push(inside / dilation);
            }
            sum += x[place(&index, &x_strides)] * w[place(&[&[o], tap].concat(), &w_strides)];
        });
        sums.push(sum);
    });
    sums
}

/// Value and derivatives; all laws for one case in several.
fn check_case(op: &Conv, types: [&Type; 2], thorough: bool) {
    let args = [integers(1, types[0]), integers(2, types[1])];
    let name = format!("{op:?} of {} and {}", types[0], types[1]);
    let program = program(op.clone(), &args);
    let out = program.run_reference(&args).unwrap();
    assert_eq!(out[0].to_f64(), by_definition(op, &args[0], &args[1], out[0].shape()), "{name}");
    if thorough {
        check_all(&name, op.clone(), &args);
    } else {
        check_derivatives(&name, &program, &args);
    }
}

#[test]
fn every_sample_obeys_the_laws() {
    for sample in Conv::samples() {
        let Op::Conv(op) = &sample.op else { unreachable!("its own samples") };
        check_case(op, [sample.args[0].ty(), sample.args[1].ty()], true);
    }
}

/// Every combination of options along one axis, remainders of strides and empty results among them.
#[test]
fn every_combination_along_one_axis() {
    let paddings = [-2, -1, 0, 2].into_iter().flat_map(|low| [-1, 0, 1].map(|high| (low, high)));
    let strides = [1, 2, 3].into_iter().flat_map(|stride| [1, 2, 3].map(|dilation| (stride, dilation)));
    let kernels = [1, 2, 3].into_iter().flat_map(|length| [1, 2].map(|dilation| (length, dilation)));
    let mut count = 0;
    for (padding, (stride, input_dilation)) in paddings.flat_map(|p| strides.clone().map(move |s| (p, s))) {
        for ((taps, kernel_dilation), (groups, batch_groups)) in
            kernels.clone().flat_map(|kernel| [(1, 1), (2, 1), (1, 2)].map(|groups| (kernel, groups)))
        {
            let op = Conv {
                stride: vec![stride],
                padding: vec![padding],
                input_dilation: vec![input_dilation],
                kernel_dilation: vec![kernel_dilation],
                groups,
                batch_groups,
            };
            count += 1;
            let x = Type::new(DType::F64, &[2, 2, 3 + count % 4]);
            let w = Type::new(DType::F64, &[2, 2 / groups, taps]);
            check_case(&op, [&x, &w], count % 37 == 0);
        }
    }
    assert_eq!(count, 12 * 9 * 6 * 3);
}

#[test]
fn combinations_along_two_axes() {
    let mut state = 7u64;
    let mut pick = |count: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % count
    };
    for case in 0..150 {
        let (groups, batch_groups) = [(1, 1), (2, 1), (1, 2), (3, 1), (1, 3)][pick(5)];
        let op = Conv {
            stride: vec![1 + pick(3), 1 + pick(3)],
            padding: (0..2).map(|_| (pick(5) as i64 - 2, pick(5) as i64 - 2)).collect(),
            input_dilation: vec![1 + pick(3), 1 + pick(2)],
            kernel_dilation: vec![1 + pick(2), 1 + pick(3)],
            groups,
            batch_groups,
        };
        let inner = 1 + pick(2);
        let dtype = [DType::F64, DType::F32][pick(2)];
        let x = Type::new(dtype, &[batch_groups * (1 + pick(2)), groups * inner, 2 + pick(4), 2 + pick(4)]);
        let w = Type::new(dtype, &[groups * batch_groups * (1 + pick(2)), inner, 1 + pick(3), 1 + pick(3)]);
        check_case(&op, [&x, &w], case % 10 == 0);
    }
}

#[test]
fn lanes_keep_to_their_groups() {
    for (groups, batch_groups) in [(1, 1), (2, 1), (1, 2), (3, 1), (1, 3)] {
        let op = Conv { groups, batch_groups, padding: vec![(1, 0)], stride: vec![2], ..Conv::new(1) };
        let x = integers(1, &Type::new(DType::F64, &[2 * batch_groups, 2 * groups, 4]));
        let w = integers(2, &Type::new(DType::F64, &[2 * groups * batch_groups, 2, 2]));
        let args = [x, w];
        check_lanes(&format!("{op:?}"), &program(op.clone(), &args), &args, &[0, 1, 3]);
    }
}

/// Padding and gaps are not zeros that an infinity could meet.
#[test]
fn what_is_outside_does_not_count() {
    let op = Conv { padding: vec![(1, 1)], input_dilation: vec![2], ..Conv::new(1) };
    let x = Array::new(&[1, 1, 2], vec![1.0, 2.0]);
    let w = Array::new(&[1, 1, 2], vec![f64::INFINITY, 1.0]);
    let out = op.eval(&[&x, &w]).unwrap();
    assert_eq!(out[0].to_f64(), [1.0, f64::INFINITY, 2.0, f64::INFINITY]);
}

#[test]
fn misfits_name_axis_channels_and_groups() {
    let why = |op: &Conv, x: &[usize], w: &[usize]| {
        op.infer(&[&Type::new(DType::F64, x), &Type::new(DType::F64, w)]).unwrap_err().0
    };
    let plain = Conv::new(1);
    let grouped = |groups, batch_groups| Conv { groups, batch_groups, ..Conv::new(1) };
    assert_eq!(why(&plain, &[1, 2, 3], &[1, 3, 2]), "the kernel takes 3 channels, and the input has 2 in 1 groups");
    assert_eq!(why(&plain, &[1, 2, 3], &[1, 2, 0]), "spatial axis 0 of the kernel is empty");
    assert_eq!(
        why(&plain, &[1, 2, 3], &[1, 2]),
        "input and kernel have 3 and 2 axes; it takes two and the spatial ones in both"
    );
    assert_eq!(why(&plain, &[1, 2, 3, 4], &[1, 2, 1, 1]), "stride has 1 entries for 2 spatial axes");
    let still = Conv { stride: vec![0], ..Conv::new(1) };
    assert_eq!(why(&still, &[1, 2, 3], &[1, 2, 1]), "stride of spatial axis 0 is 0");
    assert_eq!(why(&grouped(0, 1), &[1, 2, 3], &[1, 2, 1]), "there is at least one group, and one batch group");
    assert_eq!(why(&grouped(2, 2), &[2, 2, 3], &[2, 1, 1]), "it has 2 groups and 2 batch groups; one has to be 1");
    assert_eq!(why(&grouped(2, 1), &[1, 3, 3], &[2, 1, 1]), "3 channels of the input cannot be divided into 2 groups");
    assert_eq!(why(&grouped(2, 1), &[1, 4, 3], &[3, 2, 1]), "3 output channels cannot be divided into 2 groups");
    assert_eq!(why(&grouped(1, 2), &[3, 1, 3], &[2, 1, 1]), "a batch of 3 cannot be divided into 2 batch groups");
    for (low, dilation) in [(i64::MIN, 1), (i64::MAX, 1), (0, usize::MAX)] {
        let far = Conv { padding: vec![(low, 0)], input_dilation: vec![dilation], ..Conv::new(1) };
        assert_eq!(why(&far, &[1, 1, 3], &[1, 1, 1]), "spatial axis 0 is too long with its dilation and padding");
    }
    let x = Type::new(DType::I64, &[1, 1, 3]);
    assert!(plain.infer(&[&x, &x]).unwrap_err().0.starts_with("it takes real numbers"));
}

/// The extreme of every window by comparing everything with everything.
fn extremes_by_definition(op: &WindowArg, x: &Array, out: &[usize]) -> Vec<i64> {
    let spatial = op.window.len();
    let leading = out.len() - spatial;
    let lengths = &x.shape()[leading..];
    let area: usize = lengths.iter().product();
    let (elements, mut image, mut places) = (x.to_f64(), 0, Vec::new());
    for_each_index(out, |at| {
        let mut inside = Vec::new();
        let mut place = 0;
        for_each_index(lengths, |index| {
            let reached = (0..spatial).all(|axis| {
                let start = at[leading + axis] * op.stride[axis];
                let index = index[axis] + op.padding[axis].0;
                start <= index && index < start + op.window[axis]
            });
            if reached {
                inside.push((elements[image / area_of(&out[leading..]) * area + place], place as i64));
            }
            place += 1;
        });
        let sign = if op.extreme == Extreme::Max { 1.0 } else { -1.0 };
        let wins = |x: f64| inside.iter().all(|&(y, _)| x.is_nan() || (!y.is_nan() && sign * x >= sign * y));
        places.push(inside.iter().find(|&&(x, _)| wins(x)).expect("one wins").1);
        image += 1;
    });
    places
}

fn area_of(lengths: &[usize]) -> usize {
    lengths.iter().product()
}

#[test]
fn windows_give_the_first_extreme() {
    let overlapping = |extreme, low, high, stride| WindowArg {
        extreme,
        window: vec![2, 3],
        stride: vec![stride, 1],
        padding: vec![(low, high), (high, low)],
    };
    for extreme in [Extreme::Max, Extreme::Min] {
        for (low, high, stride) in [(0, 0, 1), (1, 1, 2), (1, 0, 3), (0, 1, 1)] {
            let op = overlapping(extreme, low, high, stride);
            // Small integers tie often.
            let mut x = integers(low as u64 + 5, &Type::new(DType::F64, &[2, 2, 4, 5]));
            x.elements_mut::<f64>().unwrap()[27] = f64::NAN;
            let args = [x];
            let program = program(op.clone(), &args);
            let out = program.run_reference(&args).unwrap();
            let expected = extremes_by_definition(&op, &args[0], out[0].shape());
            assert_eq!(out[0].known::<i64>(), expected, "{op:?}");
            check_lanes(&format!("{op:?}"), &program, &args, &[0, 1, 3]);
        }
    }
}

#[test]
fn samples_of_windows() {
    for sample in WindowArg::samples() {
        let Op::WindowArg(op) = &sample.op else { unreachable!("its own samples") };
        let program = program(sample.op.clone(), &sample.args);
        let out = program.run_reference(&sample.args).unwrap();
        assert_eq!(out[0].known::<i64>(), extremes_by_definition(op, &sample.args[0], out[0].shape()), "{op:?}");
        check_lanes(&format!("{op:?}"), &program, &sample.args, &[0, 2]);
    }
}

#[test]
fn padding_never_wins() {
    let op = WindowArg { extreme: Extreme::Max, window: vec![2], stride: vec![1], padding: vec![(1, 1)] };
    let x = Array::new(&[2], vec![f64::NEG_INFINITY; 2]);
    assert_eq!(op.eval(&[&x]).unwrap()[0].known::<i64>(), [0, 0, 1]);
    let why = |op: &WindowArg, shape: &[usize]| op.infer(&[&Type::new(DType::F64, shape)]).unwrap_err().0;
    let wholly = "a window lies wholly in the padding of spatial axis 0, ";
    for (padding, shape) in [((2, 0), 3), ((0, 2), 3), ((1, 1), 0)] {
        let op = WindowArg { padding: vec![padding], ..op.clone() };
        assert_eq!(why(&op, &[5, shape]), format!("{wholly}{shape} long"));
    }
    assert_eq!(why(&op, &[]), "the window has 1 axes, and the operand 0");
    assert_eq!(why(&WindowArg { window: vec![0], ..op.clone() }, &[3]), "window of spatial axis 0 is 0");
    assert_eq!(why(&WindowArg { stride: vec![0], ..op.clone() }, &[3]), "stride of spatial axis 0 is 0");
    assert_eq!(
        why(&WindowArg { stride: vec![], ..op.clone() }, &[3]),
        "stride and padding are needed for each of the 1 axes of the window"
    );
    assert_eq!(
        why(&WindowArg { padding: vec![(usize::MAX, 0)], ..op }, &[3]),
        "spatial axis 0 is too long with its window and padding"
    );
}
