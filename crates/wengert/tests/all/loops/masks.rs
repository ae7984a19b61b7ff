//! What is left out behind a loop of unknown length is left out in front of it: there its derivative may be infinite.

use wengert::prelude::*;
use wengert::{Compile, Ode, While, fori};

type Step = fn(&Tensor) -> Tensor;

/// Steps that keep their elements apart, move them, add neighbours, and multiply by what depends on the carry.
const STEPS: [(&str, Step); 5] = [
    ("halves", |c| c * 0.5),
    ("turns", |c| c.roll(1, 0) * 0.5),
    ("bent", |c| c.square() + c.sin()),
    ("joined", |c| Tensor::concat([&c.slice(1..), &c.slice(..1)], 0) * c),
    ("chosen", |c| c.gt(1.0).where_(c * 0.3, c.square())),
];

fn counted(by: While, start: &Tensor, step: Step) -> Tensor {
    by.run((start.clone(), Tensor::from(0i64)), |(_, i)| i.lt(3i64), |(c, i)| (step(&c), i + 1i64)).0
}

fn unrolled(start: &Tensor, step: Step) -> Tensor {
    fori(0..3, start.clone(), |_, c| step(&c))
}

#[track_caller]
fn same(what: &str, got: &Tensor, want: &Tensor) {
    assert_eq!(got.shape(), want.shape(), "{what}");
    for (got, want) in got.to_vec().iter().zip(want.to_vec()) {
        assert!(want.is_finite(), "{what}: {want} is no test");
        assert!((got - want).abs() <= 1e-13 * want.abs().max(1.0), "{what}: {got} instead of {want}");
    }
}

#[test]
fn elements_that_do_not_count() {
    let x = Tensor::from([4.0, 0.0, 0.25, 0.0]);
    // After three turns the third element is where the last one was.
    let kept = |name: &str| match name {
        "turns" => Tensor::from([false, true, false, true]),
        "joined" => Tensor::from([false, false, false, false]),
        _ => Tensor::from([true, false, true, false]),
    };
    for (name, step) in STEPS {
        let kept = kept(name);
        let loss = |y: Tensor| kept.where_(y, 0.0).square().sum();
        let want = grad(&x, |x| loss(unrolled(&x.sqrt(), step)));
        let ways = [("all", While::new()), ("two snapshots", While::new().snapshots(2))];
        for (way, by) in ways {
            let what = format!("{name}, {way}");
            same(&what, &grad(&x, |x| loss(counted(by, &x.sqrt(), step))), &want);
            let compiled = Compile::new().function(|x: Tensor| grad(&x, |x| loss(counted(by, &x.sqrt(), step))));
            same(&what, &compiled.call(&x), &want);
        }
        // Behind the choice of one element the slope at the others is infinite.
        let ones = Tensor::ones(&[4]);
        let cut = |y: Tensor| kept.where_(y, 0.0).sum();
        let forwards = jvp(&x, &kept.where_(&ones, 0.0), |x| cut(unrolled(&x.sqrt(), step))).1;
        let pulled = grad(&x, |x| cut(counted(While::new(), &x.sqrt(), step)));
        if name != "turns" && name != "joined" {
            same(name, &(pulled * kept.where_(&ones, 0.0)).sum(), &forwards);
        }
    }
}

#[test]
fn lanes_that_take_another_branch() {
    let x = Tensor::from([4.0, 0.0, 0.25]);
    for (name, step) in STEPS {
        let of = |f: &dyn Fn(&Tensor) -> Tensor| {
            let lanes = |x: Tensor, p: &Tensor| {
                cond(x.gt(0.0), &x, |x: Tensor| f(&(x * p).sqrt().reshape(&[1])).sum(), |_: Tensor| Tensor::from(0.0))
            };
            let by_p = grad(&Tensor::from(1.5), |p| vmap(&x, |x| lanes(x, &p)).sum());
            let by_x = grad(&x, |x| vmap(&x, |x| lanes(x, &Tensor::from(1.5))).sum());
            (by_p, by_x)
        };
        let (by_p, by_x) = of(&|start| counted(While::new(), start, step));
        let (want_p, want_x) = of(&|start| unrolled(start, step));
        same(name, &by_p, &want_p);
        same(name, &by_x, &want_x);
    }
}

/// Steps with a parameter that all elements share, in which those that do not count meet infinities step after step.
const SHARED: [(&str, Shared); 4] = [
    ("roots", |c, p| c.sqrt() * p),
    ("powers", |c, p| c.pow(p)),
    ("products", |c, p| c * p + c.sqrt().reshape(&[-1, 1]).matmul(&p.reshape(&[1, 1])).reshape(&[-1]) * 0.1),
    ("quotients", |c, p| c / (c.square() + c.sqrt() * p)),
];

type Shared = fn(&Tensor, &Tensor) -> Tensor;

fn shared(by: Option<While>, start: &Tensor, p: &Tensor, step: Shared) -> Tensor {
    let Some(by) = by else { return fori(0..3, start.clone(), |_, c| step(&c, p)) };
    by.run((start.clone(), Tensor::from(0i64)), |(_, i)| i.lt(3i64), |(c, i)| (step(&c, p), i + 1i64)).0
}

#[test]
fn parameters_that_all_elements_share() {
    let (x, p) = (Tensor::from([4.0, 0.0, 0.25, 0.0]), Tensor::from(1.25));
    let kept = Tensor::from([true, false, true, false]);
    for (name, step) in SHARED {
        let loss = |by, x: &Tensor, p: &Tensor| kept.where_(shared(by, x, p, step), 0.0).square().sum();
        for by in [While::new(), While::new().snapshots(2)] {
            let first = |by| grad((&x, &p), |(x, p)| loss(by, &x, &p));
            let ((got_x, got_p), (want_x, want_p)) = (first(Some(by)), first(None));
            same(name, &got_x, &want_x);
            same(name, &got_p, &want_p);
            // The slope of the slope, in every pair of arguments, in three orders of modes.
            let slopes = |by, x: &Tensor, p: &Tensor| {
                let (by_x, by_p) = grad((x, p), |(x, p)| loss(by, &x, &p));
                by_x.sum() + by_p
            };
            let reverse = |by| grad((&x, &p), |(x, p)| slopes(by, &x, &p));
            let ((got_x, got_p), (want_x, want_p)) = (reverse(Some(by)), reverse(None));
            same(&format!("{name}, twice backwards, x"), &got_x, &want_x);
            same(&format!("{name}, twice backwards, p"), &got_p, &want_p);
            let along = (kept.where_(0.5, 0.25), Tensor::from(2.0));
            let forward = |by| jvp((&x, &p), (&along.0, &along.1), |(x, p)| slopes(by, &x, &p)).1;
            same(&format!("{name}, forwards over backwards"), &forward(Some(by)), &forward(None));
            let other = |by| grad(&p, |p| jvp(&x, &along.0, |x| loss(by, &x, &p)).1);
            same(&format!("{name}, backwards over forwards"), &other(Some(by)), &other(None));
        }
    }
}

/// Contractions of what is carried, whose careful way asks whether it is finite: of the third order what is carried backwards.
#[test]
fn contractions_of_the_third_order() {
    let steps: [(&str, Step); 3] = [
        ("dot", |c| c * c.dot(c)),
        ("matmul", |c| c.outer(c).matmul(c) * 0.5),
        ("where", |c| c.gt(0.3).where_(c * c.dot(c), c * 0.5)),
    ];
    let (x, keep) = (Tensor::from([0.5, 0.25]), Tensor::from([true, false]));
    for (name, step) in steps {
        for masked in [true, false] {
            let loss = |by: Option<While>, x: &Tensor| {
                let y = match by {
                    Some(by) => {
                        by.run((x.clone(), Tensor::from(0i64)), |(_, i)| i.lt(2i64), |(c, i)| (step(&c), i + 1i64)).0
                    }
                    None => fori(0..2, x.clone(), |_, c| step(&c)),
                };
                if masked { keep.where_(y, 0.0).sum() } else { y.sum() }
            };
            let third = |by: Option<While>| {
                let first = |x: &Tensor| grad(x, |x| loss(by, &x)).square().sum();
                let second = |x: &Tensor| grad(x, |x| first(&x)).square().sum();
                grad(&x, |x| second(&x))
            };
            for by in [While::new(), While::new().limit(5).snapshots(1)] {
                same(&format!("{name}, masked: {masked}"), &third(Some(by)), &third(None));
            }
        }
    }
}

/// A part of the carry that every step overwrites counts behind the last step alone: before, its cotangent is none, and no zero.
#[test]
fn parts_that_are_overwritten() {
    let p = Tensor::from(0.0);
    let last = |p: &Tensor, by: While| {
        let start = (p.clone(), p * 0.0, Tensor::from(0i64));
        by.run(start, |(_, _, i)| i.lt(2i64), |(c, _, i)| (&c * 0.5 + 1.0, c.sqrt(), i + 1i64)).1
    };
    for by in [While::new(), While::new().snapshots(1)] {
        // sqrt(p / 2 + 1)
        assert_eq!(grad(&p, |p| last(&p, by)).item(), 0.25);
        assert_eq!(grad(&p, |p| grad(&p, |p| last(&p, by))).item(), -0.0625);
        assert_eq!(jvp(&p, &Tensor::from(1.0), |p| grad(&p, |p| last(&p, by))).1.item(), -0.0625);
    }
    // ln((2 p - 1)^2), of the last step alone.
    let once = |p: &Tensor| {
        let step = |(_, i): (Tensor, Tensor)| ((p * i.to_f64() - 1.0).square().ln(), i + 1i64);
        while_loop((Tensor::from(0.0), Tensor::from(0i64)), |(_, i)| i.lt(3i64), step).0
    };
    // At p = 1 the second step has an infinite slope, and is overwritten.
    assert_eq!(grad(&Tensor::from(1.0), |p| once(&p)).item(), 4.0);
}

#[test]
fn parameters_that_lanes_share() {
    let x = Tensor::from([4.0, 0.0, 0.25]);
    for (name, step) in SHARED {
        let of = |by: Option<While>| {
            let lanes = |x: Tensor, p: &Tensor| {
                let ends = |x: Tensor| shared(by, &x.reshape(&[1]), p, step).sum();
                cond(x.gt(0.0), &x, ends, |_: Tensor| Tensor::from(0.0))
            };
            let by_p = |p: &Tensor| grad(p, |p| vmap(&x, |x| lanes(x, &p)).sum());
            let p = Tensor::from(1.5);
            (by_p(&p), grad(&p, |p| by_p(&p)))
        };
        let ((first, second), (want_first, want_second)) = (of(Some(While::new())), of(None));
        same(name, &first, &want_first);
        same(name, &second, &want_second);
    }
}

#[test]
fn trajectories_with_a_rate_that_lanes_share() {
    let (x, times) = (Tensor::from([4.0, 1e200, f64::NAN, 0.0]), Tensor::from([0.0, 1.0]));
    let lanes = |by: Ode, p: &Tensor, x: &Tensor| {
        vmap(x, |x| {
            let ends = |x: Tensor| by.run(x, &times, |_, y| -(y.square() + y.sqrt()) * p).slice(1);
            cond(x.gt(0.0).where_(x.lt(1e100), false), &x, ends, |_: Tensor| Tensor::from(0.0))
        })
        .sum()
    };
    let p = Tensor::from(0.5);
    let alone = Tensor::from([4.0]);
    for by in [Ode::new(), Ode::new().rk4(20)] {
        let (got, want) = (grad(&p, |p| lanes(by, &p, &x)), grad(&p, |p| lanes(by, &p, &alone)));
        same("rate", &got, &want);
        let twice = |x: &Tensor| grad(&p, |p| grad(&p, |p| lanes(by, &p, x)));
        same("rate, twice", &twice(&x), &twice(&alone));
    }
}

#[test]
fn trajectories_that_do_not_count() {
    let (x, times) = (Tensor::from([4.0, 0.0]), Tensor::from([0.0, 1.0]));
    let lanes = |by: Ode, x: &Tensor| {
        vmap(x, |x| {
            let ends = |x: Tensor| by.run(x.sqrt(), &times, |_, y| -y).slice(1);
            cond(x.gt(0.0), &x, ends, |_: Tensor| Tensor::from(0.0))
        })
    };
    let slope = grad(&x, |x| lanes(Ode::new(), &x).sum()).to_vec();
    assert!((slope[0] - 0.25 * (-1.0f64).exp()).abs() < 1e-7, "{slope:?}");
    assert_eq!(slope[1], 0.0);
}
