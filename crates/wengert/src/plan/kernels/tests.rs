//! Every kernel against the definition of its operation: to the bit, for any number of threads.

mod indexing;
mod reductions;

use wengert_kernels::Pool;
use wengert_kernels::arena::{Line, bools_as_bytes};

use super::*;
use crate::array::{Array, DType, Data};
use crate::error::Misfit;
use crate::primitives::{self, Extreme, Form, OutOfBounds, Primitive, RandomKind, Reducer, Running, Sample, Write};

/// Numbers without a pattern (Vigna's splitmix64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let x = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }

    /// A number that is often equal to another, and now and then special.
    fn number(&mut self) -> f64 {
        match self.below(40) {
            0 => self.pick(&[f64::NAN, f64::INFINITY, f64::NEG_INFINITY]),
            1..=4 => self.pick(&[0.0, -0.0]),
            5..=15 => self.below(7) as f64 - 3.0,
            _ => (self.next() >> 11) as f64 * 0.5f64.powi(51) - 2.0,
        }
    }

    fn array(&mut self, dtype: DType, shape: &[usize]) -> Array {
        let size = shape.iter().product::<usize>();
        match dtype {
            DType::Bool => Array::new(shape, (0..size).map(|_| self.below(3) == 0).collect()),
            DType::I64 => Array::new(shape, (0..size).map(|_| self.below(9) as i64 - 4).collect()),
            DType::F32 => Array::new(shape, (0..size).map(|_| self.number() as f32).collect()),
            DType::F64 => Array::new(shape, (0..size).map(|_| self.number()).collect()),
        }
    }

    /// A shape of this rank: empty and single axes, primes, and longer than a tile.
    fn shape(&mut self, rank: usize) -> Vec<usize> {
        let mut shape: Vec<usize> =
            (0..rank).map(|_| self.pick(&[1, 1, 2, 3, 4, 5, 7, 13, 16, 17, 64, 67, 131])).collect();
        while shape.iter().product::<usize>() > 30_000 {
            let axis = self.below(rank);
            shape[axis] = shape[axis].div_ceil(2);
        }
        if rank > 0 && self.below(12) == 0 {
            let axis = self.below(rank);
            shape[axis] = 0;
        }
        shape
    }
}

/// What a kernel computes, on memory that is not clean.
fn computed(op: &Op, args: &[&Array], pool: &Pool) -> Result<Vec<Array>, Misfit> {
    let types: Vec<&Type> = args.iter().map(|arg| arg.ty()).collect();
    let outs = op.infer(&types).unwrap_or_else(|why| panic!("{op:?} of {types:?}: {}", why.0));
    let (kernel, start) = (kernel(&movable(op), &types, &outs), start(op, &types));
    let slices: Vec<Slice<'_>> = args.iter().map(|arg| slice(arg)).collect();
    let mut buffers: Vec<Buffer> = outs.iter().map(Buffer::new).collect();
    let mut workspace = vec![Line([0xa5; 64]); kernel.workspace(pool.threads()).div_ceil(64)];
    let mut places: Vec<SliceMut<'_>> = buffers.iter_mut().map(Buffer::slice).collect();
    kernel.run(KernelCall { args: &slices, outs: &mut places, workspace: &mut workspace, pool, start })?;
    Ok(outs.iter().zip(buffers).map(|(ty, buffer)| buffer.array(&ty.shape)).collect())
}

fn slice(array: &Array) -> Slice<'_> {
    match array.data() {
        Data::Bool(x) => Slice::U8(bools_as_bytes(x)),
        Data::I64(x) => Slice::I64(x),
        Data::F32(x) => Slice::F32(x),
        Data::F64(x) => Slice::F64(x),
    }
}

enum Buffer {
    U8(Vec<u8>),
    I64(Vec<i64>),
    F32(Vec<f32>),
    F64(Vec<f64>),
}

impl Buffer {
    fn new(ty: &Type) -> Self {
        match ty.dtype {
            DType::Bool => Buffer::U8(vec![0xa5; ty.size()]),
            DType::I64 => Buffer::I64(vec![-77; ty.size()]),
            DType::F32 => Buffer::F32(vec![-77.0; ty.size()]),
            DType::F64 => Buffer::F64(vec![-77.0; ty.size()]),
        }
    }

    /// With what an array has.
    fn of(array: &Array) -> Self {
        match array.data() {
            Data::Bool(x) => Buffer::U8(bools_as_bytes(x).to_vec()),
            Data::I64(x) => Buffer::I64(x.to_vec()),
            Data::F32(x) => Buffer::F32(x.to_vec()),
            Data::F64(x) => Buffer::F64(x.to_vec()),
        }
    }

    fn slice(&mut self) -> SliceMut<'_> {
        match self {
            Buffer::U8(x) => SliceMut::U8(x),
            Buffer::I64(x) => SliceMut::I64(x),
            Buffer::F32(x) => SliceMut::F32(x),
            Buffer::F64(x) => SliceMut::F64(x),
        }
    }

    fn array(self, shape: &[usize]) -> Array {
        match self {
            Buffer::U8(x) => {
                assert!(x.iter().all(|&x| x < 2), "truth values are 0 and 1");
                Array::new(shape, x.iter().map(|&x| x == 1).collect())
            }
            Buffer::I64(x) => Array::new(shape, x),
            Buffer::F32(x) => Array::new(shape, x),
            Buffer::F64(x) => Array::new(shape, x),
        }
    }
}

/// Whether types and bits agree; of NaN there is one.
fn same(x: &Array, y: &Array) -> bool {
    x.ty() == y.ty()
        && match (x.data(), y.data()) {
            (Data::F32(x), Data::F32(y)) => {
                x.iter().zip(y.iter()).all(|(x, y)| x.to_bits() == y.to_bits() || x.is_nan() && y.is_nan())
            }
            (Data::F64(x), Data::F64(y)) => {
                x.iter().zip(y.iter()).all(|(x, y)| x.to_bits() == y.to_bits() || x.is_nan() && y.is_nan())
            }
            _ => x.same_bits(y),
        }
}

fn pools() -> [Pool; 3] {
    [1, 2, 3].map(Pool::new)
}

/// Whether the definition adds real numbers one after the other, where the kernel has a tree.
fn is_tree(op: &Op, args: &[&Array]) -> bool {
    matches!(op, Op::Reduce(reduce) if reduce.reducer == Reducer::Sum) && args[0].dtype().is_float()
}

/// Whether sums agree with the definition's: that has an error of `n eps` times the sum of the sizes.
fn near(found: &Array, wanted: &Array, x: &Array) -> bool {
    let size: f64 = x.to_f64().iter().filter(|x| x.is_finite()).map(|x| x.abs()).sum();
    let eps = if x.dtype() == DType::F32 { f64::from(f32::EPSILON) } else { 2.0 * x.size() as f64 * f64::EPSILON };
    found.ty() == wanted.ty()
        && found.to_f64().iter().zip(wanted.to_f64()).all(|(found, wanted)| {
            found.is_nan() && wanted.is_nan() || *found == wanted || (found - wanted).abs() <= eps * size
        })
}

/// Whether a library may compute it, with errors of its own; the battery says how far they are from the definition's.
fn is_of_library(op: &Op) -> bool {
    let factors = matches!(op, Op::Cholesky(_) | Op::Lu(_) | Op::Qr(_) | Op::Eigh(_) | Op::Svd(_) | Op::Det(_));
    let slopes = matches!(op, Op::CholeskyTangent(_) | Op::LuTangent(_) | Op::Cofactor(_));
    factors || slopes || matches!(op, Op::TriangularSolve(_) | Op::SparseSolve(_) | Op::Fft(_))
}

/// Whether an element is a sum of products of the operands' elements, which the definition adds up in double precision.
fn is_of_products(op: &Op) -> bool {
    matches!(op, Op::SparseProduct(_) | Op::SparseOuter(_))
}

/// As [`near`], where the terms are products of elements of two operands.
fn near_products(found: &Array, wanted: &Array, args: &[&Array]) -> bool {
    let largest = args[1].to_f64().into_iter().fold(1.0, |largest: f64, x| largest.max(x.abs()));
    let scaled: Vec<f64> = args[0].to_f64().iter().map(|x| x * largest).collect();
    let scaled = match args[0].dtype() {
        DType::F32 => Array::new(args[0].shape(), scaled.into_iter().map(|x| x as f32).collect::<Vec<f32>>()),
        _ => Array::new(args[0].shape(), scaled),
    };
    near(found, wanted, &scaled)
}

/// A kernel gives what the definition gives, values or error, with any number of threads.
fn check(op: &Op, args: &[Array], pools: &[Pool]) {
    let args: Vec<&Array> = args.iter().collect();
    let wanted = op.eval(&args);
    let alone = computed(op, &args, &pools[0]);
    for pool in pools {
        let found = computed(op, &args, pool);
        match (&wanted, &found, &alone) {
            (Ok(wanted), Ok(found), Ok(alone)) => {
                for ((wanted, found), alone) in wanted.iter().zip(found).zip(alone) {
                    let types: Vec<String> = args.iter().map(|arg| arg.ty().to_string()).collect();
                    assert!(same(found, alone), "{op:?} of {types:?} differs with {} threads", pool.threads());
                    let agrees = match op {
                        op if is_tree(op, &args) => near(found, wanted, args[0]),
                        op if is_of_products(op) => near_products(found, wanted, &args),
                        op if is_of_library(op) => found.ty() == wanted.ty(),
                        _ => same(found, wanted),
                    };
                    assert!(agrees, "{op:?} of {types:?}:\n{found:?}\nis not\n{wanted:?}");
                }
            }
            _ => assert_eq!(found.err(), wanted.clone().err(), "{op:?}"),
        }
    }
}

/// Whether the operation has a kernel here.
fn has_kernel(op: &Op, args: &[Array]) -> bool {
    let types: Vec<&Type> = args.iter().map(Array::ty).collect();
    match op.form(&types) {
        Form::View | Form::ElementwiseKernel | Form::Reduction | Form::Kernel => true,
        Form::Planned => matches!(op, Op::Concat(_) | Op::Scatter(_) | Op::ScatterReduce(_)),
        Form::Number | Form::Elementwise | Form::Inlined => false,
    }
}

/// Whether there is no kernel but the definition.
fn runs_by_definition(sample: &Sample) -> bool {
    let types: Vec<&Type> = sample.args.iter().map(Array::ty).collect();
    let outs = sample.op.infer(&types).expect("it fits");
    kernel(&sample.op, &types, &outs).name().ends_with(", by its definition")
}

#[test]
fn samples_agree_with_the_definitions() {
    let pools = pools();
    let samples = primitives::samples();
    let checked = samples.iter().filter(|sample| has_kernel(&sample.op, &sample.args));
    let count = checked.inspect(|sample| check(&sample.op, &sample.args, &pools)).count();
    assert!(count > 200, "{count} samples");
}

#[test]
fn kernels_have_the_names_of_their_operations_and_cost_what_they_touch() {
    for sample in primitives::samples().iter().filter(|sample| has_kernel(&sample.op, &sample.args)) {
        let types: Vec<&Type> = sample.args.iter().map(Array::ty).collect();
        let outs = sample.op.infer(&types).expect("it fits");
        let kernel = kernel(&sample.op, &types, &outs);
        // A kernel for special sizes says so behind a comma.
        assert_eq!(kernel.name().split(',').next(), Some(&*sample.op.name()));
        let touched = match &sample.op {
            Op::Iota(_) => 0,
            // Over no axes there is nothing to compare.
            Op::WindowArg(op) if op.window.is_empty() => 0,
            Op::Scatter(_) | Op::ScatterReduce(_) => types[2].size(),
            Op::DynamicUpdate(_) | Op::Update(_) => types[1].size(),
            Op::Reduce(_) | Op::ArgReduce(_) => types[0].size(),
            _ => outs[0].size(),
        };
        assert!(kernel.operations() >= touched, "{sample:?}");
    }
}

#[test]
fn copies_agree_at_random_shapes() {
    let (pools, mut random) = (pools(), Random(1));
    for round in 0..250 {
        let dtype = DType::ALL[round % 4];
        let rank = round % 6;
        let shape = random.shape(rank);
        let x = random.array(dtype, &shape);
        let mut order: Vec<usize> = (0..rank).collect();
        order.sort_by_key(|_| random.next());
        check(&primitives::Permute::new(&order).into(), std::slice::from_ref(&x), &pools);
        let some: Vec<usize> = (0..rank).filter(|_| random.below(2) == 0).collect();
        check(&primitives::Reverse::new(&some).into(), std::slice::from_ref(&x), &pools);
        check(&primitives::Reshape::new(&[x.size()]).into(), std::slice::from_ref(&x), &pools);
        let kept: Vec<usize> = some.iter().map(|&axis| shape[axis]).collect();
        let small = random.array(dtype, &kept);
        check(&primitives::Broadcast::new(&shape, &some).into(), &[small], &pools);
        let start: Vec<usize> = shape.iter().map(|&length| random.below(length + 1)).collect();
        let limit: Vec<usize> =
            start.iter().zip(&shape).map(|(&start, &length)| start + random.below(length - start + 1)).collect();
        let stride: Vec<usize> = (0..rank).map(|_| 1 + random.below(3)).collect();
        check(&primitives::Slice::new(&start, &limit, &stride).into(), std::slice::from_ref(&x), &pools);
        let sizes: Vec<usize> = shape.iter().map(|&length| random.below(length + 1)).collect();
        let corner: Vec<i64> = shape.iter().map(|&length| random.below(length + 5) as i64 - 2).collect();
        let corner = Array::new(&[rank], corner);
        let block = random.array(dtype, &sizes);
        check(&primitives::DynamicSlice::new(&sizes).into(), &[x.clone(), corner.clone()], &pools);
        check(&primitives::DynamicUpdate.into(), &[x, block, corner], &pools);
    }
}

#[test]
fn transpositions_larger_than_a_tile_agree() {
    let (pools, mut random) = (pools(), Random(2));
    let orders: [&[usize]; 4] = [&[1, 0, 2, 3], &[2, 3, 0, 1], &[3, 2, 1, 0], &[0, 2, 3, 1]];
    for shape in [[3, 70, 5, 66], [1, 200, 1, 300], [65, 2, 130, 3], [16, 16, 16, 16]] {
        for order in orders {
            for dtype in DType::ALL {
                check(&primitives::Permute::new(order).into(), &[random.array(dtype, &shape)], &pools);
            }
        }
    }
}

#[test]
fn pads_and_joins_agree_at_random_shapes() {
    let (pools, mut random) = (pools(), Random(3));
    for round in 0..250 {
        let (dtype, rank) = (DType::ALL[round % 4], round % 5);
        let shape = random.shape(rank);
        let x = random.array(dtype, &shape);
        let mut pad = primitives::Pad::new(&vec![0; rank], &vec![0; rank]);
        for (axis, &length) in shape.iter().enumerate() {
            if random.below(3) > 0 {
                pad.interior[axis] = random.pick(&[0, 0, 1, 2, 3, 4]);
                let length = length + length.saturating_sub(1) * pad.interior[axis];
                pad.low[axis] = random.below(6) as i64 - 3;
                pad.high[axis] = (random.below(6) as i64 - 3).max(-(length as i64) - pad.low[axis]);
            }
        }
        check(&pad.into(), &[x.clone(), random.array(dtype, &[])], &pools);
        if rank > 0 {
            let axis = random.below(rank);
            let mut other = || {
                let mut shape = shape.clone();
                shape[axis] = random.below(9);
                random.array(dtype, &shape)
            };
            let others = [other(), x, other()];
            check(&primitives::Concat { axis }.into(), &others, &pools);
        }
    }
}

#[test]
fn lines_agree_at_random_shapes() {
    let (pools, mut random) = (pools(), Random(7));
    for round in 0..150 {
        let rank = 1 + round % 4;
        let shape = random.shape(rank);
        let axis = random.below(rank);
        for reverse in [false, true] {
            for dtype in [DType::I64, DType::F32, DType::F64] {
                let x = random.array(dtype, &shape);
                for running in Running::ALL {
                    let op = primitives::Cumulative::new(running, axis, reverse);
                    if op.infer(&[x.ty()]).is_ok() {
                        check(&op.into(), std::slice::from_ref(&x), &pools);
                    }
                }
                if dtype.is_float() {
                    let a = random.array(dtype, &shape);
                    check(&primitives::Recurrence { axis, reverse }.into(), &[a, x], &pools);
                }
            }
        }
    }
}

/// A gather with operands at random; now and then an index is out of range.
fn indexed(random: &mut Random, dtype: DType) -> (primitives::Gather, Array, Array) {
    let rank = 1 + random.below(4);
    let shape = random.shape(rank);
    let batch = random.below(rank);
    let axes: Vec<usize> = (batch..rank).filter(|_| random.below(2) == 0).collect();
    let mut index_shape = shape[..batch].to_vec();
    for _ in 0..random.below(3) {
        index_shape.push(random.pick(&[0, 1, 2, 3, 7]));
    }
    index_shape.push(axes.len());
    let mode = random.pick(&OutOfBounds::ALL);
    let far = random.below(3) == 0;
    let indices = (0..index_shape.iter().product()).map(|k: usize| {
        let length = axes.get(k % axes.len().max(1)).map_or(1, |&axis| shape[axis]);
        if far && random.below(9) == 0 {
            random.below(30) as i64 - 10 + length as i64 / 2
        } else {
            random.below(length.max(1)) as i64
        }
    });
    let indices: Vec<i64> = indices.collect();
    (primitives::Gather { batch, axes, mode }, random.array(dtype, &shape), Array::new(&index_shape, indices))
}

#[test]
fn gathers_and_scatters_agree_at_random_shapes() {
    let (pools, mut random) = (pools(), Random(8));
    let (mut checked, mut failed) = (0, 0);
    for round in 0..1200 {
        let dtype = DType::ALL[round % 4];
        let (op, x, indices) = indexed(&mut random, dtype);
        let Ok(out) = op.infer(&[x.ty(), indices.ty()]) else { continue };
        if out[0].size() > 200_000 {
            continue;
        }
        checked += 1;
        failed += usize::from(op.eval(&[&x, &indices]).is_err());
        check(&op.clone().into(), &[x.clone(), indices.clone()], &pools);
        let updates = random.array(dtype, &out[0].shape);
        for write in [Write::Set, Write::Add] {
            if write == Write::Set || dtype != DType::Bool {
                let scatter = primitives::Scatter { batch: op.batch, axes: op.axes.clone(), mode: op.mode, write };
                check(&scatter.into(), &[x.clone(), indices.clone(), updates.clone()], &pools);
            }
        }
    }
    assert!(checked > 500 && failed > 20, "{checked} checked, {failed} failed");
}

#[test]
fn scatters_of_many_and_of_few_updates_agree() {
    let (pools, mut random) = (pools(), Random(9));
    type Case<'a> = (usize, &'a [usize], &'a [usize], &'a [usize]);
    let cases: [Case<'_>; 7] = [
        (0, &[256, 128], &[0], &[1024, 1]),
        (0, &[3000, 40], &[0], &[17, 1]),
        (0, &[3000, 40], &[1], &[5, 1]),
        (1, &[300, 576], &[1], &[300, 144, 1]),
        (1, &[5, 6000], &[1], &[5, 9, 1]),
        (0, &[90_000], &[0], &[50, 1]),
        (0, &[40, 50, 20], &[0, 1], &[3, 6, 2]),
    ];
    for (batch, shape, axes, index_shape) in cases {
        for dtype in [DType::F32, DType::F64, DType::I64, DType::Bool] {
            let limits: Vec<usize> = axes.iter().map(|&axis| shape[axis].min(11)).collect();
            let count = index_shape.iter().product();
            let indices = (0..count).map(|k: usize| random.below(limits[k % limits.len()]) as i64).collect();
            let indices = Array::new(index_shape, indices);
            let op = primitives::Gather { batch, axes: axes.to_vec(), mode: OutOfBounds::Error };
            let x = random.array(dtype, shape);
            let out = op.infer(&[x.ty(), indices.ty()]).expect("it fits").remove(0);
            let updates = random.array(dtype, &out.shape);
            check(&op.clone().into(), &[x.clone(), indices.clone()], &pools);
            for write in [Write::Set, Write::Add] {
                if write == Write::Set || dtype != DType::Bool {
                    let op = primitives::Scatter { batch, axes: axes.to_vec(), mode: OutOfBounds::Error, write };
                    check(&op.into(), &[x.clone(), indices.clone(), updates.clone()], &pools);
                }
            }
        }
    }
}

#[test]
fn an_index_out_of_range_is_an_error_and_the_next_run_is_right() {
    let (pools, mut random) = (pools(), Random(10));
    let x = random.array(DType::F32, &[500, 40]);
    let mut indices: Vec<i64> = (0..3000).map(|k| k % 500).collect();
    let op: Op = primitives::Gather::new(&[0], OutOfBounds::Error).into();
    let right = Array::new(&[3000, 1], indices.clone());
    (indices[700], indices[2900]) = (500, -1);
    let wrong = Array::new(&[3000, 1], indices);
    for _ in 0..3 {
        check(&op, &[x.clone(), wrong.clone()], &pools);
        check(&op, &[x.clone(), right.clone()], &pools);
    }
    let why = computed(&op, &[&x, &wrong], &pools[1]).expect_err("two indices do not exist").0;
    assert_eq!(why, "the index 500 is out of range for an axis that is 500 long");
}

#[test]
fn integers_have_a_remainder_unless_divided_by_zero() {
    let (pools, op) = (pools(), Op::Binary(Binary::Rem));
    let x = Array::new(&[40_000], (0..40_000).map(|k| k * 7919 - 100_000_000).collect::<Vec<i64>>());
    let mut y: Vec<i64> = (0..40_000).map(|k| k % 23 - 30).collect();
    check(&op, &[x.clone(), Array::new(&[40_000], y.clone())], &pools);
    y[39_000] = 0;
    check(&op, &[x, Array::new(&[40_000], y)], &pools);
    let edge = [Array::new(&[2], vec![i64::MIN, i64::MIN]), Array::new(&[2], vec![-1i64, 3])];
    check(&op, &edge, &pools);
}

#[test]
fn random_bits_agree_wherever_a_part_begins() {
    let pools = pools();
    for kind in [RandomKind::Bits, RandomKind::Uniform(DType::F32), RandomKind::Uniform(DType::F64)] {
        for (keys, shape) in [(1, vec![40_001]), (7, vec![4999]), (20_001, vec![1]), (3, vec![33, 3]), (2, vec![0])] {
            let words = (0..2 * keys).map(|k| k * k * 77 - 5).collect::<Vec<i64>>();
            let key = Array::new(&[keys as usize, 2], words);
            check(&primitives::RandomBits::new(&shape, kind).into(), &[key], &pools);
        }
    }
}

#[test]
fn an_operand_may_lie_where_the_result_does() {
    let pool = Pool::new(2);
    let mut random = Random(11);
    let x = random.array(DType::F32, &[60, 70]);
    let rows = Array::new(&[3, 1], vec![5i64, 59, 5]);
    let updates = random.array(DType::F32, &[3, 70]);
    let add: Op = primitives::Scatter::new(&[0], OutOfBounds::Error, Write::Add).into();
    let set: Op = primitives::Scatter::new(&[0], OutOfBounds::Error, Write::Set).into();
    let (block, corner) = (random.array(DType::F32, &[2, 9]), Array::new(&[2], vec![58i64, 3]));
    let static_update = |write| Op::from(primitives::Update { start: vec![57, 1], stride: vec![2, 7], write });
    for (op, args) in [
        (add, vec![&x, &rows, &updates]),
        (set, vec![&x, &rows, &updates]),
        (primitives::DynamicUpdate.into(), vec![&x, &block, &corner]),
        (static_update(Write::Add), vec![&x, &block]),
        (static_update(Write::Set), vec![&x, &block]),
    ] {
        let wanted = op.eval(&args).expect("it runs");
        let types: Vec<&Type> = args.iter().map(|arg| arg.ty()).collect();
        let (kernel, start) = (kernel(&movable(&op), &types, std::slice::from_ref(x.ty())), start(&op, &types));
        assert_eq!(kernel.in_place(), [(0, 0)], "{op:?}");
        let mut out = Buffer::of(&x);
        let mut workspace = vec![Line([0xa5; 64]); kernel.workspace(2).div_ceil(64)];
        let mut args: Vec<Slice<'_>> = args.iter().map(|arg| slice(arg)).collect();
        args[0] = Slice::Output(0);
        let call = KernelCall { args: &args, outs: &mut [out.slice()], workspace: &mut workspace, pool: &pool, start };
        kernel.run(call).expect("it runs");
        assert!(same(&out.array(x.shape()), &wanted[0]), "{op:?}");
    }
}

#[test]
fn ranks_of_single_precision_fit_into_half_a_word() {
    let (pools, nan) = (pools(), f32::NAN);
    let edges = [f32::NEG_INFINITY, f32::MIN, -1e-45, -0.0, 0.0, 1e-45, f32::MAX, f32::INFINITY, nan, -nan];
    let x: Vec<f32> = (0..edges.len() * edges.len()).map(|k| edges[(k * 7 + k / 10) % 10]).collect();
    for descending in [false, true] {
        check(&primitives::ArgSort::new(0, descending).into(), &[Array::new(&[x.len()], x.clone())], &pools);
    }
}

#[test]
fn the_bits_of_an_extreme_do_not_depend_on_the_order() {
    let (pools, zeros) = (pools(), [0.0, -0.0]);
    for (first, second) in [(0, 1), (1, 0)] {
        let pair = vec![zeros[first], zeros[second]];
        for (reducer, positive) in [(Reducer::Max, true), (Reducer::Min, false)] {
            let op: Op = primitives::Reduce::new(reducer, &[0]).into();
            for x in [Array::new(&[2], pair.clone()), Array::new(&[2], pair.iter().map(|&x| x as f32).collect())] {
                let bits = op.eval(&[&x]).expect("it has two elements")[0].to_f64()[0];
                assert_eq!((bits, bits.is_sign_positive()), (0.0, positive), "{reducer:?} of {pair:?}");
                check(&op, &[x], &pools);
            }
        }
    }
}

#[test]
fn running_allocates_nothing() {
    let pool = Pool::new(2);
    let mut random = Random(12);
    // A definition makes its results. The factors of a sparse matrix are kept beside the plan, and how large they are is known
    // when its pivots are.
    let has_own = |sample: &&Sample| {
        let is_sparse = matches!(sample.op, Op::SparseSolve(_));
        has_kernel(&sample.op, &sample.args) && !runs_by_definition(sample) && !is_sparse
    };
    for sample in primitives::samples().iter().filter(has_own) {
        assert_runs_in_place(&sample.op, &sample.args, &pool);
    }
    let large = random.array(DType::F32, &[300, 500]);
    let rows = Array::new(&[900, 1], (0..900).map(|k| k % 300).collect::<Vec<i64>>());
    let few = Array::new(&[3, 1], vec![5i64, 299, 5]);
    let updates = |rows: usize| large_rows(&large, rows);
    let add = || Op::from(primitives::Scatter::new(&[0], OutOfBounds::Error, Write::Add));
    assert_runs_in_place(&primitives::Permute::new(&[1, 0]).into(), std::slice::from_ref(&large), &pool);
    assert_runs_in_place(&primitives::Reduce::new(Reducer::Sum, &[0, 1]).into(), std::slice::from_ref(&large), &pool);
    assert_runs_in_place(&primitives::ArgSort::new(1, true).into(), std::slice::from_ref(&large), &pool);
    assert_runs_in_place(&add(), &[large.clone(), rows.clone(), updates(900)], &pool);
    assert_runs_in_place(&add(), &[large.clone(), few, updates(3)], &pool);
}

fn large_rows(x: &Array, rows: usize) -> Array {
    let width = x.shape()[1];
    Array::new(&[rows, width], x.known::<f32>().iter().copied().cycle().take(rows * width).collect())
}

fn assert_runs_in_place(op: &Op, args: &[Array], pool: &Pool) {
    let types: Vec<&Type> = args.iter().map(Array::ty).collect();
    let outs = op.infer(&types).expect("it fits");
    let (kernel, start) = (kernel(&movable(op), &types, &outs), start(op, &types));
    let slices: Vec<Slice<'_>> = args.iter().map(slice).collect();
    let mut buffers: Vec<Buffer> = outs.iter().map(Buffer::new).collect();
    let mut workspace = vec![Line([0xa5; 64]); kernel.workspace(pool.threads()).div_ceil(64)];
    let mut places: Vec<SliceMut<'_>> = buffers.iter_mut().map(Buffer::slice).collect();
    let mut run = || {
        kernel
            .run(KernelCall { args: &slices, outs: &mut places, workspace: &mut workspace, pool, start })
            .expect("it runs");
    };
    // The first run of a pool starts its threads.
    run();
    let counted = allocation_counter::measure(run);
    assert_eq!(counted.count_total, 0, "{op:?}");
}
