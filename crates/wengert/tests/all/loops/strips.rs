//! Loops over so many lanes that they are taken in strips: the same results as for fewer lanes, and the same bits whatever the
//! threads and the memory.

use wengert::prelude::*;
use wengert::{Array, Compile, Scan, checkpoint};

const STEPS: usize = 24;

/// Paths of a simulation, with a payment at the end: a sum over all of them, its course, and the last states.
fn paths(z: &Tensor, by: Scan, is_again: bool, [price, width]: [Tensor; 2]) -> (Tensor, Tensor, Tensor) {
    let count = z.shape()[1];
    let step = |(s, sum): (Tensor, Tensor), z: Tensor| {
        let next = |(s, z, width): (Tensor, Tensor, Tensor)| s * (width * z - 0.02).exp();
        let s = if is_again { checkpoint((&s, &z, &width), next) } else { next((s, z, width.clone())) };
        ((s.clone(), sum + &s), s.mean())
    };
    let start = (price.broadcast_to(&[count]), Tensor::zeros(&[count]));
    let ((last, sum), course) = by.run(start, z, step);
    ((sum - 24.0).maximum(0.0).sum(), course * count as f64, last)
}

fn normals(count: usize) -> Tensor {
    let number = |i: usize| ((i * 7919 % 10_007) as f64 / 10_007.0 - 0.5) * 3.0;
    Tensor::from_array(Array::new(&[STEPS, count], (0..STEPS * count).map(number).collect::<Vec<f64>>()))
}

fn at() -> [Tensor; 2] {
    [Tensor::from(1.0), Tensor::from(0.2)]
}

type Outcome = (Vec<f64>, Vec<f64>, Vec<f64>);

/// Value and gradient of the payments, the course of the mean, and the last states.
fn outcome(z: &Tensor, how: &Compile, by: Scan, is_again: bool) -> Outcome {
    let both = |at: [Tensor; 2]| {
        let (value, [price, width]) = value_and_grad(&at, |at| paths(z, by, is_again, at).0);
        let (_, course, last) = paths(z, by, is_again, at);
        ([value, price, width], course, last)
    };
    let (sums, course, last) = how.clone().function(both).call(&at());
    (sums.iter().map(Tensor::item).collect(), course.to_vec(), last.to_vec())
}

#[test]
fn many_lanes_are_as_right_as_few() {
    // A number of lanes that strips do not divide; the halves are too few to be taken in strips.
    let (count, half) = (40_001, 20_000);
    let z = normals(count);
    let part = |from: usize, to: usize| z.slice((.., from as isize..to as isize));
    let how = Compile::new().threads(1);
    let (sums, course, last) = outcome(&z, &how, Scan::new(), false);
    let halves = [part(0, half), part(half, count)].map(|z| outcome(&z, &how, Scan::new(), false));
    let near = |one: f64, two: f64| assert!((one - two).abs() <= 1e-9 * two.abs().max(1.0), "{one} instead of {two}");
    for (k, &sum) in sums.iter().enumerate() {
        near(sum, halves[0].0[k] + halves[1].0[k]);
    }
    for (k, &mean) in course.iter().enumerate() {
        near(mean, halves[0].1[k] + halves[1].1[k]);
    }
    // What is no sum has the same bits.
    assert!(last == [&halves[0].2[..], &halves[1].2[..]].concat());
}

#[test]
fn strips_need_little_memory() {
    let z = normals(1 << 15);
    let plan = Compile::new()
        .threads(1)
        .function(|at: [Tensor; 2]| value_and_grad(&at, |at| paths(&z, Scan::new(), false, at).0));
    let peak = plan.plan(&at()).unwrap().peak_bytes();
    // One array of the carry would be 256 KiB; what is kept of all steps, 12 MiB.
    assert!(peak < 1 << 20, "{peak} bytes");
}

/// That two outcomes are the same to the bit.
#[track_caller]
fn same(what: &str, got: &Outcome, wanted: &Outcome) {
    assert_eq!(got.0, wanted.0, "{what}: value and gradient");
    assert_eq!(got.1, wanted.1, "{what}: the course");
    assert!(got.2 == wanted.2, "{what}: the last states");
}

#[test]
fn bits_depend_on_neither_threads_nor_memory() {
    let z = normals(40_001);
    let plain = outcome(&z, &Compile::new().threads(1), Scan::new(), false);
    for threads in [2, 3, 7] {
        let more = outcome(&z, &Compile::new().threads(threads), Scan::new(), false);
        same(&format!("{threads} threads"), &more, &plain);
    }
    let how = Compile::new().threads(1);
    same("every fifth step", &outcome(&z, &how, Scan::new().every(5), false), &plain);
    same("steps that are computed again", &outcome(&z, &how, Scan::new(), true), &plain);
    let backwards = outcome(&z, &how, Scan::new().reverse(), false);
    same("backwards", &outcome(&z, &Compile::new().threads(2), Scan::new().reverse(), false), &backwards);
}

#[test]
fn independent_steps_run_on_several_threads() {
    // A step is worth a thread's while, and each gives rows of its own; one of them fails.
    let xs = Tensor::linspace(0.1, 4.0, 96 * 4096).reshape(&[96, 4096]);
    let f = |x: Tensor| wengert::map(&x, |x| (x.sin().exp().sqrt().cos() + x.square(), x.sum()));
    let one = Compile::new().threads(1).function(f).call(&xs);
    for threads in [2, 3] {
        let more = Compile::new().threads(threads).function(f).call(&xs);
        assert_eq!((one.0.to_vec(), one.1.to_vec()), (more.0.to_vec(), more.1.to_vec()));
    }
    let places = Tensor::from_array(Array::new(
        &[96],
        (0..96).map(|k| if k == 40 || k == 90 { 5000 + k } else { k }).collect::<Vec<i64>>(),
    ));
    let broken = |(x, places): (Tensor, Tensor)| {
        wengert::map((&x, &places), |(x, place)| (x.sin().exp().cos() * x.sqrt()).take(&place.reshape(&[1]), 0))
    };
    for threads in [1, 2, 3] {
        let why = Compile::new().threads(threads).function(broken).try_call((&xs, &places)).unwrap_err().to_string();
        assert!(why.contains("5040"), "{threads} threads: {why}");
    }
}
