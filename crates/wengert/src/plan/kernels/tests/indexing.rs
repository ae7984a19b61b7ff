//! Gathers, scatters and selections in every way that sizes choose.

use super::*;
use crate::primitives::{ArgSort, Fold, Gather, Literal, Scatter, ScatterReduce};

/// How index vectors are drawn.
#[derive(Clone, Copy, Debug)]
enum Drawn {
    Anywhere,
    Increasing,
    /// A few rows have nearly all.
    Crowded,
}

/// Indices for the first `axes` axes of a shape behind `batch` shared ones.
fn drawn(random: &mut Random, lengths: &[usize], vectors: usize, how: Drawn) -> Vec<i64> {
    let mut rows: Vec<Vec<i64>> = (0..vectors)
        .map(|_| {
            let near = |length: usize| if matches!(how, Drawn::Crowded) { length.min(3) } else { length };
            lengths.iter().map(|&length| random.below(near(length)) as i64).collect()
        })
        .collect();
    if matches!(how, Drawn::Increasing) {
        rows.sort_unstable();
    }
    rows.concat()
}

/// Gather and scatter agree with their definitions, the scatter also into one number everywhere, and so do extremes and products.
fn check_indexing(op: &Gather, x: &Array, indices: &Array, random: &mut Random, pools: &[Pool]) {
    check(&op.clone().into(), &[x.clone(), indices.clone()], pools);
    let updates = random.array(x.dtype(), &op.infer(&[x.ty(), indices.ty()]).expect("it fits")[0].shape);
    let folds = Fold::ALL.into_iter().zip([true, false, true]);
    for (fold, include) in folds.chain([(Fold::Max, false), (Fold::Mul, false)]) {
        if x.dtype() != DType::Bool {
            let fold = ScatterReduce { batch: op.batch, axes: op.axes.clone(), mode: op.mode, fold, include };
            check(&fold.into(), &[x.clone(), indices.clone(), updates.clone()], pools);
        }
    }
    if x.dtype() != DType::Bool {
        for fold in Fold::ALL {
            // What changes nothing, and what does, where it counts and where it does not.
            let neutral = match fold {
                Fold::Max => f64::NEG_INFINITY,
                Fold::Min => f64::INFINITY,
                Fold::Mul => 1.0,
            };
            for (fill, include) in [(neutral, false), (0.5, false), (0.5, true)] {
                let op = ScatterReduce { batch: op.batch, axes: op.axes.clone(), mode: op.mode, fold, include };
                let kernel =
                    |fill| super::super::scatter_reduce(&op, &[x.ty(), indices.ty(), updates.ty()], Some(fill));
                check_filled(&op.clone().into(), x, [indices, &updates], Literal::of(fill, x.dtype()), kernel, pools);
            }
        }
    }
    for write in [Write::Set, Write::Add] {
        if write == Write::Add && x.dtype() == DType::Bool {
            continue;
        }
        let scatter = Scatter { batch: op.batch, axes: op.axes.clone(), mode: op.mode, write };
        check(&scatter.clone().into(), &[x.clone(), indices.clone(), updates.clone()], pools);
        let kernel = |fill| super::super::scatter(&scatter, &[x.ty(), indices.ty(), updates.ty()], Some(fill));
        check_filled(&scatter.clone().into(), x, [indices, &updates], Literal::of(-0.0, x.dtype()), kernel, pools);
    }
}

/// A kernel that is given one number everywhere agrees with the definition, which is given an array of it.
fn check_filled(
    op: &Op,
    x: &Array,
    [indices, updates]: [&Array; 2],
    fill: Literal,
    kernel: impl Fn(Literal) -> Box<dyn Kernel>,
    pools: &[Pool],
) {
    let shape = x.shape();
    let full = match fill {
        Literal::Bool(x) => Array::full(shape, x),
        Literal::I64(x) => Array::full(shape, x),
        Literal::F32(x) => Array::full(shape, x),
        Literal::F64(x) => Array::full(shape, x),
    };
    let wanted = op.eval(&[&full, indices, updates]);
    for pool in pools {
        let kernel = kernel(fill);
        let mut out = Buffer::new(x.ty());
        let mut workspace = vec![Line([0xa5; 64]); kernel.workspace(pool.threads()).div_ceil(64)];
        let args = [slice(indices), slice(updates)];
        let call = KernelCall { args: &args, outs: &mut [out.slice()], workspace: &mut workspace, pool, start: 0 };
        match (&wanted, kernel.run(call)) {
            (Ok(wanted), Ok(())) => assert!(same(&out.array(shape), &wanted[0]), "{op:?} of {}", x.ty()),
            (wanted, done) => assert_eq!(done.err(), wanted.clone().err(), "{op:?}"),
        }
    }
}

#[test]
fn rows_of_every_length_agree_however_they_are_drawn() {
    let (pools, mut random) = (pools(), Random(31));
    // Rows, elements of each, updates: few, many and very many rows for the updates, short and long ones.
    let sizes: [([usize; 2], usize); 12] = [
        ([40_000, 1], 30_000),
        ([2000, 1], 5000),
        ([300, 1], 4000),
        ([50_000, 1], 40),
        ([9000, 3], 12_000),
        ([20_000, 2], 2500),
        ([900, 7], 1500),
        ([700, 16], 5000),
        ([50, 100], 1500),
        ([3000, 41], 400),
        ([6000, 9], 20),
        ([1, 8], 3000),
    ];
    for ([rows, size], updates) in sizes {
        for how in [Drawn::Anywhere, Drawn::Increasing, Drawn::Crowded] {
            for dtype in DType::ALL {
                let shape = if size == 1 { vec![rows] } else { vec![rows, size] };
                let x = random.array(dtype, &shape);
                let indices = Array::new(&[updates, 1], drawn(&mut random, &[rows], updates, how));
                check_indexing(&Gather::new(&[0], OutOfBounds::Error), &x, &indices, &mut random, &pools);
            }
        }
    }
}

#[test]
fn rows_of_several_axes_and_of_many_items_agree() {
    let (pools, mut random) = (pools(), Random(32));
    type Case<'a> = (usize, &'a [usize], &'a [usize], &'a [usize]);
    let cases: [Case<'_>; 7] = [
        (0, &[30, 40, 12], &[0, 1], &[3000, 2]),
        (0, &[130, 140], &[0, 1], &[9000, 2]),
        (0, &[2, 1, 3], &[0, 2], &[70, 2]),
        (1, &[60, 500], &[1], &[60, 400, 1]),
        (1, &[60, 500], &[1], &[60, 3, 1]),
        (1, &[3000, 5], &[1], &[3000, 1, 1]),
        (1, &[5, 90, 20], &[1], &[5, 300, 1]),
    ];
    for (batch, shape, axes, index_shape) in cases {
        for dtype in DType::ALL {
            let lengths: Vec<usize> = axes.iter().map(|&axis| shape[axis]).collect();
            let vectors = index_shape[..index_shape.len() - 1].iter().product();
            let indices = Array::new(index_shape, drawn(&mut random, &lengths, vectors, Drawn::Anywhere));
            let op = Gather { batch, axes: axes.to_vec(), mode: OutOfBounds::Error };
            check_indexing(&op, &random.array(dtype, shape), &indices, &mut random, &pools);
        }
    }
}

#[test]
fn indices_out_of_range_are_answered_in_every_way() {
    let (pools, mut random) = (pools(), Random(33));
    for ([rows, size], updates) in [([30_000, 1], 20_000), ([900, 1], 3000), ([400, 16], 3000), ([60, 100], 2000)] {
        for how in [Drawn::Anywhere, Drawn::Increasing] {
            for mode in OutOfBounds::ALL {
                for dtype in [DType::F32, DType::F64] {
                    let mut indices = drawn(&mut random, &[rows], updates, how);
                    (indices[updates / 2], indices[updates - 1]) = (-3, rows as i64);
                    let indices = Array::new(&[updates, 1], indices);
                    let x = random.array(dtype, &[rows, size]);
                    check_indexing(&Gather::new(&[0], mode), &x, &indices, &mut random, &pools);
                }
            }
        }
    }
}

#[test]
fn the_first_of_an_order_are_those_of_the_whole_order() {
    let (pools, mut random) = (pools(), Random(34));
    for shape in [vec![5000], vec![3, 2000], vec![1, 700, 3], vec![40, 300]] {
        let axis = usize::from(shape.len() > 1);
        for dtype in DType::ALL {
            let drawn = random.array(dtype, &shape);
            let count = shape.iter().product();
            let ranks = |f: &dyn Fn(usize) -> f64| match dtype {
                DType::Bool => Array::new(&shape, (0..count).map(|k| f(k) > 0.0).collect()),
                DType::I64 => Array::new(&shape, (0..count).map(|k| f(k) as i64).collect()),
                DType::F32 => Array::new(&shape, (0..count).map(|k| f(k) as f32).collect()),
                DType::F64 => Array::new(&shape, (0..count).map(f).collect()),
            };
            // Also orders in which every element, or none, is better than those before it, and nothing but NaN.
            for x in [drawn, ranks(&|k| k as f64), ranks(&|k| -(k as f64)), ranks(&|k| f64::NAN * k as f64)] {
                for (descending, count) in [(true, 1), (false, 1), (true, 10), (false, 33), (true, 100), (false, 299)] {
                    let op = ArgSort::new(axis, descending).first(count);
                    check(&op.into(), std::slice::from_ref(&x), &pools);
                }
            }
        }
    }
}
