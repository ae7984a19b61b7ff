//! Many slices of one array, with strides and overlaps: what flows back into the array is added up where slices meet,
//! whatever is joined on the way. Against a plain loop over the elements.

use wengert::ops::Binary;
use wengert::primitives::{Reduce, Reducer, Slice};
use wengert::{Array, Builder, DType, Type, Value};

use crate::support::Random;
use crate::support::nightly::seeds;

/// One slice: where it starts and ends along each axis, its steps, and what it is multiplied by.
struct Part {
    start: [usize; 2],
    limit: [usize; 2],
    stride: [usize; 2],
    factor: i64,
}

impl Part {
    /// A part of a matrix. Starts, lengths and steps are such that neighbours and interleaved parts are frequent.
    fn random(random: &mut Random, shape: [usize; 2]) -> Part {
        let axis = |random: &mut Random, length: usize| {
            if random.below(3) == 0 {
                return (0, length, 1);
            }
            let stride = 1 + random.below(3);
            let start = random.below(length);
            let count = 1 + random.below((length - start).div_ceil(stride));
            (start, (start + (count - 1) * stride + 1 + random.below(stride)).min(length), stride)
        };
        let (rows, columns) = (axis(random, shape[0]), axis(random, shape[1]));
        let factor = 1 + random.below(9) as i64;
        Part { start: [rows.0, columns.0], limit: [rows.1, columns.1], stride: [rows.2, columns.2], factor }
    }

    /// One that lies behind this one, as two halves or as every other element do.
    fn neighbour(&self, random: &mut Random, shape: [usize; 2]) -> Option<Part> {
        let axis = random.below(2);
        let count = (self.limit[axis] - self.start[axis]).div_ceil(self.stride[axis]);
        let step = [1, self.stride[axis], count, count * self.stride[axis]][random.below(4)];
        let (mut start, mut limit) = (self.start, self.limit);
        start[axis] += step;
        limit[axis] = start[axis] + (count - 1) * self.stride[axis] + 1;
        let factor = 10 + random.below(9) as i64;
        (limit[axis] <= shape[axis]).then_some(Part { start, limit, stride: self.stride, factor })
    }

    /// The parts of a box that is divided along one axis or the other, and its halves again: what some of them are joined to
    /// lies beside the others.
    fn divided(random: &mut Random, [start, limit]: [[usize; 2]; 2], parts: &mut Vec<Part>) {
        let axis = random.below(2);
        let length = limit[axis] - start[axis];
        if length < 2 || random.below(4) == 0 {
            parts.push(Part { start, limit, stride: [1, 1], factor: 1 + random.below(9) as i64 });
            return;
        }
        let (mut end, mut begin) = (limit, start);
        end[axis] = start[axis] + 1 + random.below(length - 1);
        begin[axis] = end[axis];
        let mut halves = [[start, end], [begin, limit]];
        if random.below(2) == 0 {
            halves.reverse();
        }
        halves.into_iter().for_each(|half| Part::divided(random, half, parts));
    }

    fn holds(&self, place: [usize; 2]) -> bool {
        (0..2).all(|axis| {
            let (start, limit) = (self.start[axis], self.limit[axis]);
            (start..limit).contains(&place[axis]) && (place[axis] - start).is_multiple_of(self.stride[axis])
        })
    }
}

/// `sum over parts of sum(factor part^2) / 2`, and its gradient by the engine and by the reference.
fn check(seed: u64) {
    let mut random = Random::new(seed);
    let shape = [1 + random.below(4), 2 + random.below(11)];
    let mut parts = Vec::new();
    match random.below(3) {
        0 => Part::divided(&mut random, [[0, 0], shape], &mut parts),
        _ => parts.push(Part::random(&mut random, shape)),
    }
    for _ in 0..1 + random.below(5) {
        let last = parts.last().and_then(|last| last.neighbour(&mut random, shape));
        let part = last.filter(|_| random.below(4) > 0).unwrap_or_else(|| Part::random(&mut random, shape));
        parts.push(part);
    }
    let mut b = Builder::new();
    let x = b.input("x", Type::new(DType::F64, &shape));
    let mut total: Option<Value> = None;
    for part in &parts {
        let slice = b.emit(Slice::new(&part.start, &part.limit, &part.stride), &[x]).expect("within the array")[0];
        let factor = b.full(part.factor as f64 / 2.0, &b.ty(slice).clone());
        let square = b.emit(Binary::Mul, &[slice, slice]).expect("one shape")[0];
        let scaled = b.emit(Binary::Mul, &[square, factor]).expect("one shape")[0];
        let sum = b.emit(Reduce::new(Reducer::Sum, &[0, 1]), &[scaled]).expect("two axes")[0];
        total = Some(total.map_or(sum, |total| b.emit(Binary::Add, &[total, sum]).expect("one shape")[0]));
    }
    let vjp = b.finish(&[total.expect("a part")]).vjp(&[true]).expect("it is smooth");
    let numbers: Vec<f64> = (0..shape[0] * shape[1]).map(|k| (k + 1) as f64).collect();
    // Whole numbers, so that every order of additions gives the same.
    let wanted = numbers.iter().enumerate().map(|(k, x)| {
        let place = [k / shape[1], k % shape[1]];
        parts.iter().filter(|part| part.holds(place)).map(|part| part.factor as f64 * x).sum::<f64>()
    });
    let wanted: Vec<f64> = wanted.collect();
    let args = [Array::new(&shape, numbers.clone()), Array::scalar(1.0)];
    for program in [&vjp, &vjp.optimize()] {
        let gradient = program.run(&args).expect("it runs").remove(1).to_f64();
        assert_eq!(gradient, wanted, "seed {seed}\n{program}");
    }
    crate::support::engine::check_engine(&vjp, &args, 1, crate::support::engine::Operands::Tame)
        .unwrap_or_else(|why| panic!("seed {seed}: {why}"));
}

#[test]
fn cotangents_of_slices_are_added_up_where_they_meet() {
    seeds(1_000, 20_000).for_each(check);
}
