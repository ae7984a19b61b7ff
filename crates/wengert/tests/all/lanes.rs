//! Functions of small arrays, mapped over many points: the engine runs them as scalar programs over lanes, with the
//! reference executor's numbers.

use wengert::plan::{Options, Plan};
use wengert::prelude::*;
use wengert::{Program, to_program};

const SIZE: usize = 12;

/// Points between -1 and 1, never 0.
fn points(count: usize) -> Tensor {
    let mut state = 7u64;
    let mut next = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        ((state >> 11) as f64 / (1u64 << 52) as f64) - 1.0 + 1e-9
    };
    Tensor::from_vec(&[count, SIZE], (0..count * SIZE).map(|_| next()).collect::<Vec<f64>>())
}

type Function = fn(&Tensor) -> Tensor;

/// Whether the numbers are those of the reference to the bit: so for `+ - * / sqrt` in lanes. Few points have no lanes,
/// and products of matrices have an order of their own.
#[derive(Clone, Copy, PartialEq)]
enum Agreement {
    Bits,
    Rounding,
}

/// Two matrices, one of them turned.
fn matrices(x: &Tensor) -> Tensor {
    let a = x.slice(0..9).reshape(&[3, 3]);
    let b = a.t() * 0.5 + x.slice(3..12).reshape(&[3, 3]);
    a.matmul(&b).matmul(&a).flatten()
}

/// The product of two quaternions of length 1, and its parts in another order.
fn quaternions(x: &Tensor) -> Tensor {
    let entry = |k: isize| x.slice(k);
    let one: [Tensor; 4] = std::array::from_fn(|k| entry(k as isize));
    let two: [Tensor; 4] = std::array::from_fn(|k| entry(4 + k as isize));
    let length = |q: &[Tensor; 4]| (q[0].square() + q[1].square() + q[2].square() + q[3].square()).sqrt();
    let scale = length(&one) * length(&two);
    let w = &one[0] * &two[0] - &one[1] * &two[1] - &one[2] * &two[2] - &one[3] * &two[3];
    let i = &one[0] * &two[1] + &one[1] * &two[0] + &one[2] * &two[3] - &one[3] * &two[2];
    let j = &one[0] * &two[2] - &one[1] * &two[3] + &one[2] * &two[0] + &one[3] * &two[1];
    let k = &one[0] * &two[3] + &one[1] * &two[2] - &one[2] * &two[1] + &one[3] * &two[0];
    let q = Tensor::stack(&[&w, &i, &j, &k], 0) / &scale;
    Tensor::concat(&[&q.flip(0), &(-&q), &x.slice(8..10)], 0)
}

/// Slices, sums, products, paddings, the larger and the smaller.
fn pieces(x: &Tensor) -> Tensor {
    let rows = x.reshape(&[3, 4]);
    let sums = rows.sum_over(1);
    let products = rows.slice((.., 1..3)).prod_over(0);
    let larger = rows.max_over(0).maximum(x.slice(4..8));
    let padded = sums.pad(&[(1, 0, 1)], 2.0);
    let chosen = x.slice(0..4).gt(0.25).where_(&larger, &(-&larger * 3.0));
    Tensor::concat(&[&padded, &(&products / &sums.slice(0..2)), &chosen], 0)
}

/// A step of a Kalman filter with two numbers of state.
fn kalman(x: &Tensor) -> Tensor {
    let state = x.slice(0..2);
    let half = x.slice(2..6).reshape(&[2, 2]);
    let p = half.matmul(&half.t()) + Tensor::eye(2);
    let f = Tensor::from([[1.0, 0.1], [0.0, 1.0]]) + x.slice(6..10).reshape(&[2, 2]) * 0.01;
    let (state, p) = (f.matmul(&state), f.matmul(&p).matmul(&f.t()) + 0.01 * Tensor::eye(2));
    let h = Tensor::from([1.0, 0.5]);
    let ph = p.matmul(&h);
    let gain = &ph / (h.dot(&ph) + 0.1);
    let surprise = x.slice(10) - h.dot(&state);
    let updated = &p - gain.expand_dims(1) * ph.expand_dims(0);
    Tensor::concat(&[&(state + &gain * surprise), &updated.flatten()], 0)
}

/// The end of an arm with three joints, which turn about different axes.
fn arm(x: &Tensor) -> Tensor {
    let rotation = |angle: &Tensor, axis: usize| {
        let (s, c, zero, one) = (angle.sin(), angle.cos(), Tensor::from(0.0), Tensor::from(1.0));
        let minus = -&s;
        let entries = match axis {
            0 => [&one, &zero, &zero, &zero, &c, &minus, &zero, &s, &c],
            1 => [&c, &zero, &s, &zero, &one, &zero, &minus, &zero, &c],
            _ => [&c, &minus, &zero, &s, &c, &zero, &zero, &zero, &one],
        };
        Tensor::stack(&entries, 0).reshape(&[3, 3])
    };
    let mut place = x.slice(3..6);
    for joint in (0..3).rev() {
        place = rotation(&x.slice(joint as isize), joint).matmul(&(place + x.slice(6 + joint as isize)));
    }
    place
}

/// A chain of 45 numbers, each masked, in another order: many are computed before their neighbours are. Some are fixed, and some stand
/// twice.
fn shuffled(x: &Tensor) -> Tensor {
    let at = |k: usize| x.slice((k % SIZE) as isize);
    let (high, fixed) = (at(0).gt(0.1), Tensor::from(0.5));
    let mut chain = vec![at(0)];
    for k in 1..45 {
        let next = &chain[k - 1] * at(k) + at(5 * k);
        chain.push(high.where_(&next, &(&next * at(7 * k))));
    }
    let entry = |place: usize| match place % 9 {
        4 => &fixed,
        7 => &chain[3],
        _ => &chain[19 * place % 45],
    };
    Tensor::stack(&(0..45).map(entry).collect::<Vec<_>>(), 0)
}

const FUNCTIONS: [(&str, Function, Agreement); 6] = [
    ("matrices", matrices, Agreement::Rounding),
    ("quaternions", quaternions, Agreement::Bits),
    ("pieces", pieces, Agreement::Bits),
    ("kalman", kalman, Agreement::Rounding),
    ("arm", arm, Agreement::Rounding),
    ("shuffled", shuffled, Agreement::Bits),
];

/// The values of a function of the points, by the engine at once and as one plan, and by the reference.
fn check(name: &str, agreement: Agreement, x: &Tensor, f: impl Fn(&Tensor) -> Tensor) {
    let (program, captures) = to_program(x, |x| f(&x));
    let inputs: Vec<wengert::Array> = std::iter::once(x).chain(&captures).map(Tensor::to_array).collect();
    let want = program.optimize().run_reference(&inputs).unwrap().remove(0).to_f64();
    let agreement = if x.shape()[0] < 64 { Agreement::Rounding } else { agreement };
    // At once, each part has a plan of its own; then one plan of all of it.
    let mut first: [Option<Vec<u64>>; 2] = [None, None];
    let mut compare = |way: usize, threads: usize, got: &[f64]| {
        let bits: Vec<u64> = got.iter().map(|x| x.to_bits()).collect();
        assert_eq!(got.len(), want.len());
        let scale = want.iter().fold(1.0f64, |most, x| most.max(x.abs()));
        for (k, (got, want)) in got.iter().zip(&want).enumerate() {
            let fits = match agreement {
                Agreement::Bits => got.to_bits() == want.to_bits(),
                Agreement::Rounding => (got - want).abs() <= 1e-14 * scale,
            };
            assert!(fits, "{name}, {threads} threads, {k}: {got} instead of {want}\n{program}");
        }
        assert_eq!(*first[way].get_or_insert_with(|| bits.clone()), bits, "{name}: {threads} threads change the bits");
    };
    for threads in [1, 2, 3] {
        wengert::set_threads(threads);
        compare(0, threads, &f(x).to_vec());
        compare(1, threads, &program.compile().unwrap().run(&inputs).unwrap()[0].to_f64());
    }
}

/// One number of a function, for gradients and Hessians: each entry counts differently.
fn loss(y: Tensor) -> Tensor {
    let n = y.shape()[0];
    let weights = Tensor::from_vec(&[n], (0..n).map(|k| 1.0 + 0.5 * k as f64).collect::<Vec<f64>>());
    (y.square() * weights).sum()
}

#[test]
fn mapped_functions_have_the_values_of_the_definition() {
    for count in [1, 63, 64, 65, 1000] {
        let x = points(count);
        for (name, f, agreement) in FUNCTIONS {
            check(name, agreement, &x, |x| vmap(x, |x| f(&x)));
        }
    }
}

/// Fewer than 64 points are not worth lanes.
#[test]
fn points_on_lanes_have_the_bits_of_few_points() {
    let x = points(200);
    for (name, f, _) in FUNCTIONS {
        let values = |x: &Tensor| vmap(x, |x| f(&x));
        let slopes = |x: &Tensor| vmap(x, |x| grad(&x, |x| loss(f(&x))));
        for few in [0, 70, 137].map(|first| first..first + 63) {
            let bits = |x: Tensor| x.to_vec().into_iter().map(f64::to_bits).collect::<Vec<u64>>();
            let (own, all) = (values(&x.slice(few.clone())), values(&x).slice(few.clone()));
            assert_eq!(bits(own), bits(all), "{name}, {few:?}");
            let (own, all) = (slopes(&x.slice(few.clone())), slopes(&x).slice(few.clone()));
            assert_eq!(bits(own), bits(all), "gradient of {name}, {few:?}");
        }
    }
}

#[test]
fn mapped_derivatives_have_the_values_of_the_definition() {
    for count in [1, 65, 200] {
        let x = points(count);
        for (name, f, agreement) in FUNCTIONS {
            let tangent = points(count) * 0.75;
            check(&format!("jvp of {name}"), agreement, &x, |x| vmap((x, &tangent), |(x, t)| jvp(&x, &t, |x| f(&x)).1));
            check(&format!("vjp of {name}"), agreement, &x, |x| vmap(x, |x| grad(&x, |x| loss(f(&x)))));
            check(&format!("jacobian of {name}"), agreement, &x, |x| vmap(x, |x| jacobian(&x, |x| f(&x))));
        }
    }
    let x = points(70);
    for (name, f, _) in FUNCTIONS {
        check(&format!("hessian of {name}"), Agreement::Rounding, &x, |x| vmap(x, |x| hessian(&x, |x| loss(f(&x)))));
    }
}

#[test]
fn single_precision_rounds_at_every_step() {
    let x = points(100);
    // Not the pieces, whose quotient has a divisor near 0, and not those that capture double precision.
    for (name, f, _) in [FUNCTIONS[0], FUNCTIONS[1]] {
        let single = vmap(x.to_f32(), |x| f(&x)).to_f64().to_vec();
        let double = vmap(&x, |x| f(&x)).to_vec();
        let scale = double.iter().fold(1.0f64, |most, x| most.max(x.abs()));
        for (single, double) in single.iter().zip(&double) {
            assert!((single - double).abs() <= 1e-4 * scale, "{name}: {single} instead of {double}");
        }
    }
}

/// That the plan of a function of the points has one step.
fn is_one_step(name: &str, x: &Tensor, f: impl Fn(&Tensor) -> Tensor) {
    let (program, _): (Program, _) = to_program(x, |x| f(&x));
    let program = program.optimize();
    let count = Plan::new(&program, &Options::default()).unwrap().step_count();
    assert_eq!(count, 1, "{name}\n{program}");
}

#[test]
fn a_small_function_of_many_points_is_one_step() {
    let x = points(256);
    for (name, f, _) in [FUNCTIONS[0], FUNCTIONS[1], FUNCTIONS[4]] {
        is_one_step(name, &x, |x| vmap(x, |x| f(&x)));
    }
}

#[test]
fn tangents_that_do_not_exist_are_not_multiplied() {
    // The first number is divided by 0 in its own term: the other columns know nothing of it.
    let x = Tensor::from_vec(&[64, 2], [0.0, 2.0].repeat(64));
    let columns = vmap(&x, |x| jacobian(&x, |x| x.slice(0).sqrt() + x.slice(1).square()));
    assert_eq!(columns.slice(5).to_vec(), [f64::INFINITY, 4.0]);
}

#[test]
fn what_others_need_of_a_part_is_stored_and_parts_wait_for_one_another() {
    let x = points(128);
    check("between", Agreement::Rounding, &x, |x| {
        let y = vmap(x, |x| quaternions(&x));
        // The order of the points is a step of its own, between two parts.
        let (order, _) = (Tensor::iota(128).flip(0), 0);
        let z = vmap(y.take(&order, 0), |y| matrices(&Tensor::concat(&[&y, &y.slice(0..2)], 0)));
        &z * y.slice((.., 0..9)) + z.sum_over(0)
    });
}

/// Two numbers of every point, made in a way that lanes are good at.
fn mixed(x: &Tensor) -> Tensor {
    let parts = Tensor::concat(&[&quaternions(&x.slice(..12)), &x.slice(..3).square()], 0);
    matrices(&Tensor::concat(&[&parts.slice(..9), &x.slice(..3)], 0))
}

/// Products and differences of two arrays of numbers at every point, which lanes are good at.
fn both(a: &Tensor, b: &Tensor) -> Tensor {
    let joined = vmap((a, b), |(a, b)| Tensor::concat(&[&(&a * &b), &(&a - &b).slice(..3)], 0));
    vmap(&joined, |x| mixed(&x))
}

#[test]
fn elements_of_another_point_are_those_of_that_point() {
    for count in [64, 65, 200] {
        let x = points(count);
        // The point across, the next one, and the next but of fewer.
        check("reversed points", Agreement::Rounding, &x, |x| {
            let y = vmap(x, |x| mixed(&x));
            both(&y, &y.flip(0))
        });
        check("shifted points", Agreement::Rounding, &x, |x| {
            let y = vmap(x, |x| mixed(&x));
            both(&y, &Tensor::concat(&[&y.slice(1..), &y.slice(..1)], 0))
        });
        check("some points of many", Agreement::Rounding, &x, |x| {
            let y = vmap(x, |x| mixed(&x));
            both(&y.slice(..count as isize - 1), &y.slice(1..))
        });
    }
}

#[test]
fn points_that_are_turned_into_numbers_are_not_points() {
    for count in [64, 100] {
        let x = points(count);
        check("points turned into numbers", Agreement::Rounding, &x, |x| {
            let y = vmap(x, |x| mixed(&x));
            let square = y.matmul(&y.t());
            let crossed = &square * 0.01 + square.t() * square.sin();
            both(&crossed.slice((.., ..9)), &crossed.t().slice((.., ..9)))
        });
    }
}

#[test]
fn a_slice_that_begins_in_the_middle_of_the_points_is_of_other_points() {
    for count in [64, 100, 200] {
        let x = points(count);
        check("points from the middle", Agreement::Rounding, &x, |x| {
            // The points lie last.
            let rows = x.t();
            let row = |k: isize| rows.slice(k);
            let sums: Vec<Tensor> = (0..9).map(|k| row(k) * row(k + 1) + row(k + 2).square() * row(0)).collect();
            let all = Tensor::stack(&sums.iter().collect::<Vec<_>>(), 0);
            let half = count as isize / 2;
            let crossing = all.flatten().slice(half..half + 4 * count as isize).reshape(&[4, count as isize]);
            let parts: Vec<Tensor> = (0..4).map(|k| crossing.slice(k) * &sums[k as usize] - row(k) * 0.5).collect();
            Tensor::stack(&parts.iter().collect::<Vec<_>>(), 0)
        });
    }
}

#[test]
fn rows_from_the_middle_of_two_arrays_are_of_other_points() {
    for count in [64, 65, 200] {
        let x = points(count);
        check("rows of both", Agreement::Rounding, &x, |x| {
            // One value with two numbers of the same kind for every point: its rows go on from the first to the second.
            let two = vmap(Tensor::stack(&[x, &(x * 0.5)], 0), |x| vmap(&x, |x| mixed(&x)));
            let half = count as isize / 2;
            let rows = two.reshape(&[2 * count as isize, 9]).slice(half..half + count as isize);
            both(&two.slice(0), &rows)
        });
    }
}
