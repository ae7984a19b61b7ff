//! Loops over short vectors, whose steps are straight-line code over rows of numbers: the bits are those of the steps by hand.

use wengert::plan::Detail;
use wengert::prelude::*;
use wengert::{Compile, Scan, compile};

use super::{bits, near, numbers, rows, weighted};

/// A loop over the arrays of a point: the way in which it runs, and its results.
type Loop = fn(Scan, &[Tensor]) -> Vec<Tensor>;

/// Asserts that the steps of a loop are code over rows.
#[track_caller]
fn check_rows(what: &str, at: &[Tensor], looped: Loop) {
    let own = compile(move |at: Vec<Tensor>| looped(Scan::new(), &at));
    let table = own.plan(&at.to_vec()).expect("a plan").explain(Detail::Steps);
    assert!(table.contains(" times rows of "), "{what}: {table}");
}

/// Asserts that the steps of a loop have the bits of those by hand, whatever the threads and the memory.
#[track_caller]
fn check(what: &str, at: &[Tensor], looped: Loop, by_hand: fn(&[Tensor]) -> Vec<Tensor>) {
    let at = at.to_vec();
    let own = compile(move |at: Vec<Tensor>| looped(Scan::new(), &at));
    let want = compile(move |at: Vec<Tensor>| by_hand(&at)).call(&at);
    assert_eq!(bits(&own.call(&at)), bits(&want), "{what}");

    let gradient = |compile: Compile, loops: Scan| {
        compile.function(move |at: Vec<Tensor>| grad(&at, |at: Vec<Tensor>| weighted(&looped(loops, &at))))
    };
    let plain = gradient(Compile::new().threads(1), Scan::new()).call(&at);
    let want = grad(&at, |at: Vec<Tensor>| weighted(&by_hand(&at)));
    for (got, want) in plain.iter().zip(&want) {
        near(what, got, want, 4096.0);
    }
    let least = gradient(Compile::new().threads(1).memory(1), Scan::new()).plan(&at).unwrap_err();
    let least = Compile::new().threads(1).memory(least.enough_bytes().expect("a limit was set"));
    let others = [
        gradient(Compile::new().threads(3), Scan::new()).call(&at),
        gradient(Compile::new().threads(1), Scan::new().every(2)).call(&at),
        gradient(least, Scan::new()).call(&at),
    ];
    for other in &others {
        assert_eq!(bits(&plain), bits(other), "{what}");
    }
}

/// A step of an LSTM without products of matrices.
fn cell(h: &Tensor, s: &Tensor, w: &Tensor, x: &Tensor) -> (Tensor, Tensor) {
    let gate = |k: isize| (h * w.slice((0, k)) + w.slice((1, k))).sigmoid();
    let s = s * gate(0) + gate(1) * x.tanh();
    (gate(2) * s.tanh(), s)
}

fn cells(loops: Scan, at: &[Tensor]) -> Vec<Tensor> {
    let [start, w, x] = at else { unreachable!("three arrays") };
    let step = |(h, s): (Tensor, Tensor), x: Tensor| {
        let (h, s) = cell(&h, &s, w, &x);
        ((h.clone(), s), h)
    };
    let ((h, s), all) = loops.run(&(start.slice(0), start.slice(1)), x, step);
    vec![h, s, all]
}

fn cells_by_hand(at: &[Tensor]) -> Vec<Tensor> {
    let [start, w, x] = at else { unreachable!("three arrays") };
    let (mut h, mut s) = (start.slice(0), start.slice(1));
    let mut all = Vec::new();
    for x in rows(x) {
        (h, s) = cell(&h, &s, w, &x);
        all.push(h.clone());
    }
    let all = Tensor::stack(&all.iter().collect::<Vec<_>>(), 0);
    vec![h, s, all]
}

#[test]
fn a_cell_of_any_length() {
    for n in [3, 7, 8, 9, 14, 16, 33, 64, 200] {
        for steps in [1, 2, 9] {
            let of = |from: usize, shape: &[usize]| numbers(from, shape.iter().product()).reshape(shape);
            let at = [of(1, &[2, n]), of(500, &[2, 3, n]), of(40, &[steps, n])];
            let what = format!("{steps} steps of {n} numbers");
            // With more numbers it depends on how many the last vector lacks.
            if n <= 16 {
                check_rows(&what, &at, cells);
            }
            check(&what, &at, cells, cells_by_hand);
        }
    }
}

/// Rows that lie across, backwards and apart, a number for all, and a choice.
fn mixed(c: &Tensor, t: &Tensor, x: &Tensor) -> (Tensor, Tensor) {
    let across = x.slice((.., 0..2)).t();
    let single = x.slice((.., 2)).flip(0);
    let t = (t * 0.5).sin() + 0.25;
    let chosen = single.gt(0.0).where_(&single * &t, 0.5);
    let c = (c * across + chosen).tanh() * &t + Tensor::concat(&[&c.slice(1..), &c.slice(..1)], 0);
    (c, t)
}

fn mixtures(loops: Scan, at: &[Tensor]) -> Vec<Tensor> {
    let [c, t, x] = at else { unreachable!("three arrays") };
    let step = |(c, t): (Tensor, Tensor), x: Tensor| {
        let (c, t) = mixed(&c, &t, &x);
        ((c.clone(), t.clone()), (c.t(), t))
    };
    let ((c, t), (all, each)) = loops.run(&(c.clone(), t.clone()), x, step);
    vec![c, t, all, each]
}

fn mixtures_by_hand(at: &[Tensor]) -> Vec<Tensor> {
    let [c, t, x] = at else { unreachable!("three arrays") };
    let (mut c, mut t) = (c.clone(), t.clone());
    let (mut all, mut each) = (Vec::new(), Vec::new());
    for x in rows(x) {
        (c, t) = mixed(&c, &t, &x);
        all.push(c.t());
        each.push(t.clone());
    }
    let stack = |rows: &[Tensor]| Tensor::stack(&rows.iter().collect::<Vec<_>>(), 0);
    vec![c, t, stack(&all), stack(&each)]
}

#[test]
fn rows_lie_anyhow() {
    for n in [22, 32, 50] {
        let at = [numbers(3, 2 * n).reshape(&[2, n]), Tensor::from(0.3), numbers(70, 18 * n).reshape(&[6, n, 3])];
        check_rows(&format!("{n} numbers"), &at, mixtures);
        check(&format!("{n} numbers"), &at, mixtures, mixtures_by_hand);
    }
}

fn shifted(loops: Scan, at: &[Tensor]) -> Vec<Tensor> {
    let [h, a, v, x] = at else { unreachable!("four arrays") };
    let (h, all) = loops.run(h, x, |h: Tensor, x: Tensor| {
        let h = (h * 0.5 + a.matmul(v) + x).tanh();
        (h.clone(), h)
    });
    vec![h, all]
}

fn shifted_by_hand(at: &[Tensor]) -> Vec<Tensor> {
    let [h, a, v, x] = at else { unreachable!("four arrays") };
    let mut h = h.clone();
    let mut all = Vec::new();
    for x in rows(x) {
        h = (h * 0.5 + a.matmul(v) + x).tanh();
        all.push(h.clone());
    }
    let all = Tensor::stack(&all.iter().collect::<Vec<_>>(), 0);
    vec![h, all]
}

#[test]
fn a_product_that_is_moved_in_front_of_the_loop_keeps_the_bits() {
    let of = |from: usize, shape: &[usize]| numbers(from, shape.iter().product()).reshape(shape);
    let at = [of(3, &[2, 100]), of(20, &[2, 64]), of(9, &[64, 100]), of(70, &[4, 2, 100])];
    check("with a product", &at, shifted, shifted_by_hand);
}
