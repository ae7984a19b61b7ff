//! All forms of convolution, forced and chosen, against the definition.

use wengert_kernels::Pool;
use wengert_kernels::arena::{Arena, bools_as_bytes};
use wengert_kernels::region::{Slice, SliceMut};

use super::*;
use crate::array::Array;
use crate::plan::view::View;
use crate::primitives::{Conv, Extreme, Family, Op, Permute, Primitive, WindowArg};
use crate::program::Value;

/// Numbers in -1..1 that follow from a state.
pub(super) struct Random(pub(super) u64);

impl Random {
    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 33
    }

    pub(super) fn pick(&mut self, count: usize) -> usize {
        self.next() as usize % count
    }

    pub(super) fn array(&mut self, dtype: DType, shape: &[usize]) -> Array {
        let numbers: Vec<f64> =
            (0..shape.iter().product()).map(|_| self.next() as f64 / f64::from(1u32 << 30) - 1.0).collect();
        match dtype {
            DType::F32 => Array::new(shape, numbers.into_iter().map(|x| x as f32).collect::<Vec<f32>>()),
            _ => Array::new(shape, numbers),
        }
    }
}

fn slice(array: &Array) -> Slice<'_> {
    match array.dtype() {
        DType::F32 => Slice::F32(array.known()),
        DType::F64 => Slice::F64(array.known()),
        DType::I64 => Slice::I64(array.known()),
        DType::Bool => Slice::U8(bools_as_bytes(array.known())),
    }
}

/// Runs a kernel with memory that holds NaN before.
pub(super) fn run(kernel: &dyn Kernel, args: &[&Array], out: &Type, threads: usize) -> Array {
    let args: Vec<Slice<'_>> = args.iter().map(|array| slice(array)).collect();
    let mut workspace = Arena::new(kernel.workspace(threads)).unwrap();
    workspace.as_lines_mut().fill(Line([255; 64]));
    let pool = Pool::new(threads);
    let mut result = Array::zeros(out);
    match out.dtype {
        DType::F32 => result.elements_mut::<f32>().unwrap().fill(f32::NAN),
        DType::F64 => result.elements_mut::<f64>().unwrap().fill(f64::NAN),
        _ => result.elements_mut::<i64>().unwrap().fill(-1),
    }
    let mut call = |out: SliceMut<'_>| {
        let call =
            KernelCall { args: &args, outs: &mut [out], workspace: workspace.as_lines_mut(), pool: &pool, start: 0 };
        kernel.run(call).unwrap();
    };
    match out.dtype {
        DType::F32 => call(SliceMut::F32(result.elements_mut().unwrap())),
        DType::F64 => call(SliceMut::F64(result.elements_mut().unwrap())),
        DType::I64 => call(SliceMut::I64(result.elements_mut().unwrap())),
        DType::Bool => unreachable!("no result is"),
    }
    result
}

/// The planes of a whole array.
fn whole(ty: &Type) -> Planes {
    Planes::of(&View::whole(Value(0), &ty.shape)).unwrap()
}

/// The same array with images and channels exchanged in memory, and where its planes are then.
fn exchanged(array: &Array) -> (Array, Planes) {
    let order = [1, 0].into_iter().chain(2..array.shape().len()).collect();
    let turned = Permute { order }.eval(&[array]).unwrap().swap_remove(0);
    let Planes { offset, strides: [first, second] } = whole(turned.ty());
    (turned, Planes { offset, strides: [second, first] })
}

/// All forms of a convolution.
fn forms<T: ConvNumber>(op: &Conv, args: &[&Type], places: [Planes; 2], out: &Type) -> Vec<Box<dyn Kernel>> {
    let geometry = Geometry::new(op, [&args[0].shape, &args[1].shape, &out.shape], places);
    let mut forms: Vec<Box<dyn Kernel>> = vec![Box::new(Convolution::<T>::new(op, args, places, out))];
    if out.shape.contains(&0) || geometry.operations() == 0 {
        return forms;
    }
    let both = [ConvForm::Positions(Positions::new::<T>(&geometry)), ConvForm::Channels(Channels::new::<T>(&geometry))];
    for form in both.into_iter().chain(Taps::new::<T>(&geometry).map(ConvForm::Taps)) {
        let direct = geometry.has_padding().then(|| DirectConv::new(&geometry));
        forms.push(Box::new(Convolution::<T> { geometry: geometry.clone(), form, direct, number: PhantomData }));
    }
    forms
}

/// Every form is within its bound of the definition, not finite where that is, and the same for 1, 2 and 3 threads.
fn check(op: &Conv, x: &Array, w: &Array) {
    let types = [x.ty(), w.ty()];
    let out = op.infer(&types).unwrap().swap_remove(0);
    let name = format!("{op:?} of {} and {}", types[0], types[1]);
    let expected = op.eval(&[x, w]).unwrap().swap_remove(0).to_f64();
    let magnitude =
        |array: &Array| Array::new(array.shape(), array.to_f64().into_iter().map(f64::abs).collect::<Vec<_>>());
    let sizes = op.eval(&[&magnitude(x), &magnitude(w)]).unwrap().swap_remove(0).to_f64();
    let terms = types[1].shape[1..].iter().product::<usize>() as f64;
    let forms = |places| match out.dtype {
        DType::F32 => forms::<f32>(op, &types, places, &out),
        _ => forms::<f64>(op, &types, places, &out),
    };
    let eps = if out.dtype == DType::F32 { f64::from(f32::EPSILON) / 2.0 } else { f64::EPSILON / 2.0 };
    let ((x_turned, x_place), (w_turned, w_place)) = (exchanged(x), exchanged(w));
    let elsewhere = forms([x_place, w_place]);
    for (kernel, elsewhere) in forms([whole(types[0]), whole(types[1])]).into_iter().zip(elsewhere) {
        let name = format!("{} {name}", kernel.name());
        let found = run(&*kernel, &[x, w], &out, 1);
        let same = |again: Array, what: &str| {
            let bits = |array: &Array| array.to_f64().into_iter().map(f64::to_bits).collect::<Vec<_>>();
            assert_eq!(bits(&again), bits(&found), "{what}, {name}");
        };
        same(run(&*kernel, &[x, w], &out, 2), "2 threads");
        same(run(&*kernel, &[x, w], &out, 3), "3 threads");
        same(run(&*elsewhere, &[&x_turned, &w_turned], &out, 2), "channels before images");
        let pairs = found.to_f64().into_iter().zip(&expected).zip(&sizes).enumerate();
        for (place, ((found, &expected), size)) in pairs {
            // In double precision the definition has rounded as often; in single precision once.
            let bound = (2.0 * terms + 2.0) * eps * size;
            let near = (found - expected).abs() <= bound || found == expected || (found.is_nan() && expected.is_nan());
            assert!(near, "{found} for {expected} at {place} of {name}");
        }
    }
}

#[test]
fn samples_of_convolution() {
    for sample in Conv::samples() {
        let Op::Conv(op) = &sample.op else { unreachable!("its own samples") };
        check(op, &sample.args[0], &sample.args[1]);
    }
}

/// A convolution with random options, and random operands for it.
fn random_case(random: &mut Random, spatial: usize, longest: usize) -> (Conv, Array, Array) {
    let (groups, batch_groups) = [(1, 1), (1, 1), (2, 1), (1, 2), (3, 1), (1, 3)][random.pick(6)];
    let mut each =
        |from: usize, count: usize| -> Vec<usize> { (0..spatial).map(|_| from + random.pick(count)).collect() };
    let (stride, input_dilation, kernel_dilation) = (each(1, 3), each(1, 3), each(1, 2));
    let (low, high, x, w) = (each(0, 5), each(0, 5), each(1, longest), each(1, 4));
    let padding = low.into_iter().zip(high).map(|(low, high)| (low as i64 - 2, high as i64 - 2)).collect();
    let op = Conv { stride, padding, input_dilation, kernel_dilation, groups, batch_groups };
    let (inner, outputs) = (1 + random.pick(5), groups * batch_groups * (1 + random.pick(9)));
    let batch = batch_groups * (1 + random.pick(3));
    let dtype = [DType::F32, DType::F64][random.pick(2)];
    let x = random.array(dtype, &[&[batch, groups * inner], &x[..]].concat());
    let w = random.array(dtype, &[&[outputs, inner], &w[..]].concat());
    (op, x, w)
}

#[test]
fn random_geometries() {
    let mut random = Random(3);
    for spatial in [0, 1, 2, 3] {
        let (cases, longest) = [(20, 1), (400, 70), (500, 12), (150, 6)][spatial];
        for _ in 0..cases {
            let (op, x, w) = random_case(&mut random, spatial, longest);
            check(&op, &x, &w);
        }
    }
}

/// Sizes at which there are several tiles, panels, parts, bands and blocks.
#[test]
fn large_geometries() {
    let mut random = Random(5);
    let padded = |low, high| Conv { padding: vec![(low, high); 2], ..Conv::new(2) };
    let strided = Conv { stride: vec![2, 2], padding: vec![(1, 1); 2], ..Conv::new(2) };
    let spread = Conv { input_dilation: vec![2, 2], padding: vec![(1, 2); 2], ..Conv::new(2) };
    let cases: [(Conv, &[usize], &[usize]); 9] = [
        (Conv::new(2), &[3, 16, 26, 26], &[13, 16, 3, 3]),
        (padded(2, 2), &[2, 13, 24, 24], &[8, 13, 3, 3]),
        (Conv::new(2), &[5, 40, 26, 26], &[37, 40, 24, 24]),
        (padded(1, 1), &[2, 70, 20, 20], &[5, 70, 18, 18]),
        (strided.clone(), &[2, 5, 120, 90], &[7, 5, 3, 3]),
        (padded(1, 1), &[1, 24, 130, 120], &[6, 24, 3, 3]),
        (spread, &[2, 6, 20, 21], &[9, 6, 3, 3]),
        (Conv { groups: 32, ..strided }, &[2, 32, 30, 30], &[32, 1, 3, 3]),
        (Conv::new(0), &[300, 70], &[50, 70]),
    ];
    for (op, x, w) in cases {
        for dtype in [DType::F32, DType::F64] {
            check(&op, &random.array(dtype, x), &random.array(dtype, w));
        }
    }
}

#[test]
fn infinities_meet_no_padding() {
    let mut random = Random(9);
    for case in 0..300 {
        let spatial = 1 + case % 2;
        let (op, mut x, mut w) = random_case(&mut random, spatial, 9);
        for array in [&mut x, &mut w] {
            let special = [f64::INFINITY, f64::NEG_INFINITY, f64::NAN][random.pick(3)];
            let place = random.pick(array.shape().iter().product());
            match array.dtype() {
                DType::F32 => array.elements_mut::<f32>().unwrap()[place] = special as f32,
                _ => array.elements_mut::<f64>().unwrap()[place] = special,
            }
        }
        check(&op, &x, &w);
    }
}

#[test]
fn empty_operands_give_empty_or_zero_results() {
    for (x, w) in [([0, 2, 3], [2, 2, 2]), ([2, 0, 3], [2, 0, 2]), ([1, 1, 2], [1, 1, 3]), ([1, 2, 0], [3, 2, 1])] {
        check(&Conv::new(1), &Array::zeros(&Type::new(DType::F64, &x)), &Array::zeros(&Type::new(DType::F64, &w)));
    }
    // Windows that lie wholly in the padding.
    let far = Conv { padding: vec![(5, 0)], ..Conv::new(1) };
    check(&far, &Array::new(&[1, 1, 2], vec![1.0, 2.0]), &Array::new(&[1, 1, 2], vec![f64::INFINITY, 1.0]));
    let outside = Conv { padding: vec![(5, -4)], ..Conv::new(1) };
    check(&outside, &Array::new(&[1, 1, 2], vec![1.0, 2.0]), &Array::new(&[1, 1, 2], vec![1.0, 1.0]));
}

#[test]
fn the_cheaper_form_is_chosen() {
    let chosen = |op: &Conv, x: &[usize], w: &[usize]| {
        let types = [Type::new(DType::F32, x), Type::new(DType::F32, w)];
        let types = [&types[0], &types[1]];
        conv(op, &types, types.map(whole), &op.infer(&types).unwrap()[0]).name()
    };
    let plain = Conv::new(2);
    assert_eq!(chosen(&plain, &[32, 64, 26, 26], &[64, 64, 24, 24]), "conv (channels)");
    let depthwise = Conv { groups: 64, padding: vec![(1, 1); 2], ..Conv::new(2) };
    assert_eq!(chosen(&depthwise, &[8, 64, 56, 56], &[64, 1, 3, 3]), "conv (positions)");
    assert_eq!(chosen(&plain, &[8, 3, 56, 56], &[2, 3, 3, 3]), "conv (positions)");
    assert_eq!(chosen(&plain, &[64, 512, 1, 1], &[1000, 512, 1, 1]), "conv (channels)");
}

fn check_window(op: &WindowArg, x: &Array) {
    let out = op.infer(&[x.ty()]).unwrap().swap_remove(0);
    let expected = op.eval(&[x]).unwrap().swap_remove(0);
    let kernel = window_arg(op, &[x.ty()], &out);
    for threads in [1, 2, 3] {
        let found = run(&*kernel, &[x], &out, threads);
        assert_eq!(found.known::<i64>(), expected.known::<i64>(), "{op:?} of {}, {threads} threads", x.ty());
    }
}

#[test]
fn samples_of_windows() {
    for sample in WindowArg::samples() {
        let Op::WindowArg(op) = &sample.op else { unreachable!("its own samples") };
        check_window(op, &sample.args[0]);
    }
}

/// Elements of few values tie often; some are NaN, infinite, or zeros of both signs.
fn tied(random: &mut Random, dtype: DType, shape: &[usize]) -> Array {
    let values = [-1.0, 2.0, 0.0, -0.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 3.0, 5.0, 1.0];
    let count = if random.pick(2) == 0 { 6 } else { 10 };
    let numbers: Vec<f64> = (0..shape.iter().product()).map(|_| values[random.pick(count)]).collect();
    match dtype {
        DType::F32 => Array::new(shape, numbers.into_iter().map(|x| x as f32).collect::<Vec<f32>>()),
        DType::F64 => Array::new(shape, numbers),
        DType::I64 => Array::new(shape, numbers.into_iter().map(|x| x as i64).collect::<Vec<i64>>()),
        DType::Bool => Array::new(shape, numbers.into_iter().map(|x| x > 0.0).collect::<Vec<bool>>()),
    }
}

#[test]
fn windows_of_every_kind() {
    let mut random = Random(11);
    for case in 0..600 {
        let spatial = case % 4;
        let extreme = [Extreme::Max, Extreme::Min][random.pick(2)];
        // Some windows have more taps in a row than are counted at a time; some are far from each other.
        let longest = if case % 5 == 0 { 40 } else { 4 };
        let window: Vec<usize> = (0..spatial).map(|_| 1 + random.pick(longest)).collect();
        let stride = (0..spatial).map(|_| 1 + random.pick(5)).collect();
        let padding = window.iter().map(|&window| (random.pick(window), random.pick(window))).collect();
        let op = WindowArg { extreme, window, stride, padding };
        let longest = [0, 200, 30, 8][spatial];
        let lengths: Vec<usize> = (0..spatial).map(|_| 1 + random.pick(longest)).collect();
        let dtype = [DType::Bool, DType::I64, DType::F32, DType::F64][random.pick(4)];
        let x = tied(&mut random, dtype, &[&[3], &lengths[..]].concat());
        if op.infer(&[x.ty()]).is_ok() {
            check_window(&op, &x);
        }
    }
}

#[test]
fn windows_of_pairs() {
    let mut random = Random(13);
    for case in 0..200 {
        let op = WindowArg::new([Extreme::Max, Extreme::Min][case % 2], &[2, 2]);
        let dtype = [DType::Bool, DType::I64, DType::F32, DType::F64][random.pick(4)];
        let shape = [1 + random.pick(40), 1 + random.pick(9), 1 + random.pick(60)];
        check_window(&op, &tied(&mut random, dtype, &shape));
    }
}

#[test]
fn windows_of_what_replaces_nothing() {
    // The first real element, not the padding that looks the same.
    for (extreme, number) in [(Extreme::Max, f64::NEG_INFINITY), (Extreme::Min, f64::INFINITY)] {
        for (stride, length) in [(1, 40), (2, 37), (3, 7), (7, 30)] {
            let op = WindowArg { extreme, window: vec![3, 3], stride: vec![2, stride], padding: vec![(1, 1), (2, 1)] };
            let mut numbers = vec![number; 2 * 5 * length];
            check_window(&op, &Array::new(&[2, 5, length], numbers.clone()));
            // One other number, which wins in its windows alone; and one that is none.
            for special in [0.0, f64::NAN] {
                numbers[3 * length + 5] = special;
                check_window(&op, &Array::new(&[2, 5, length], numbers.clone()));
            }
            let least = if extreme == Extreme::Max { i64::MIN } else { i64::MAX };
            check_window(&op, &Array::new(&[2, 5, length], vec![least; 2 * 5 * length]));
            check_window(&op, &Array::new(&[2, 5, length], vec![extreme == Extreme::Min; 2 * 5 * length]));
        }
    }
}
