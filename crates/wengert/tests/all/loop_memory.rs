//! Loops that keep few of their carries: the same bits in the memory that they are given.

use wengert::plan::Detail;
use wengert::prelude::*;
use wengert::{Array, Program, While, compile, to_program};

/// A logistic map, as long as its sum is small: how many steps it takes depends on the numbers.
fn logistic(loops: While, at: &Tensor, sum: f64) -> Tensor {
    let start = (Tensor::from([0.2, 0.3, 0.4]), Tensor::from(0.0));
    let step = |(x, s): (Tensor, Tensor)| {
        let next = &x * at * (1.0 - &x);
        let s = s + next.sum();
        (next, s)
    };
    let (x, s) = loops.run(start, |(_, s)| s.lt(sum), step);
    x.sin().sum() + s
}

#[test]
fn snapshots_do_not_change_the_bits() {
    let at = Tensor::from([3.1, 2.9, 2.5]);
    for sum in [0.0, 1.0, 1.5, 3.0, 20.0, 150.0] {
        let gradient = |loops: While| value_and_grad(&at, |at| logistic(loops, &at, sum));
        let (value, all) = gradient(While::new());
        for snapshots in [0, 1, 2, 3, 7, 1000] {
            // Without snapshots the time is quadratic.
            let (same, few) = gradient(While::new().snapshots(snapshots));
            assert_eq!((value.item(), all.to_vec()), (same.item(), few.to_vec()), "{snapshots} snapshots, to {sum}");
        }
        let gradient = |loops, at: &Tensor| grad(at, |at| logistic(loops, &at, sum));
        let one = Tensor::from([1.0, 0.0, -1.0]);
        let hessian = |loops: While| jvp(&at, &one, |at| gradient(loops, &at)).1.to_vec();
        assert_eq!(hessian(While::new()), hessian(While::new().snapshots(2)), "to {sum}");
    }
}

/// Also where a step changes a part of an array in place, and what it carries is an integer too.
#[test]
fn snapshots_of_what_is_changed_in_place() {
    let fill = |loops: While, x: &Tensor| {
        let start = (Tensor::from([1i64]), Tensor::zeros(&[40]));
        let step = |(n, p): (Tensor, Tensor)| {
            let before = p.dynamic_slice(&(&n - 1i64), &[1]);
            let p = p.dynamic_update_slice(&((before + x).sin() + 0.5), &n);
            (n + 1i64, p)
        };
        loops.run(start, |(n, _)| n.lt(40i64).reshape(()), step).1.square().sum()
    };
    let x = Tensor::from(0.3);
    let gradient = |loops: While| value_and_grad(&x, |x| fill(loops, &x));
    let (value, all) = gradient(While::new());
    assert!(all.item().is_finite() && all.item() != 0.0);
    for snapshots in [1, 4, 60] {
        let (same, few) = gradient(While::new().snapshots(snapshots));
        assert_eq!((value.item(), all.item()), (same.item(), few.item()), "{snapshots} snapshots");
    }
}

/// What a plan keeps is a part of its peak: a snapshot costs a carry, and the number of steps nothing.
#[test]
fn the_peak_counts_the_snapshots() {
    let peak = |snapshots: usize| {
        let gradient = |x: &Tensor| {
            grad(x, |x| {
                let loops = While::new().snapshots(snapshots);
                loops.run((Tensor::from(0i64), x), |(n, _)| n.lt(1000i64), |(n, x)| (n + 1i64, x.sin())).1.sum()
            })
        };
        let x = Tensor::from_array(Array::new(&[512], vec![0.5; 512]));
        compile(move |x: Tensor| gradient(&x)).plan(&x).expect("there is no limit").peak_bytes()
    };
    let each = (peak(60) - peak(10)) as f64 / 50.0;
    assert!((each / (8.0 * 513.0) - 1.0).abs() < 0.05, "a snapshot of 4,104 bytes takes {each}");
}

/// A limit of memory holds for loops of unknown length too: they keep as many carries as there is room for.
#[test]
fn a_budget_says_how_many_snapshots_there_are() {
    let x = Tensor::from_array(Array::new(&[64], (0..64).map(|k| 0.2 + 0.01 * f64::from(k)).collect::<Vec<f64>>()));
    let gradient = |x: Tensor| {
        grad(&x, |x| {
            let start = (Tensor::from(0i64), x.clone());
            let step = |(n, c): (Tensor, Tensor)| (n + 1i64, (&c * &x).sin() + 0.5);
            while_loop(start, |(n, c)| n.lt(300i64).and(c.sum().gt(1e-3)), step).1.sum()
        })
    };
    let plain = compile(gradient).call(&x);
    let with = |bytes: usize| wengert::Compile::new().threads(1).memory(bytes).function(gradient);
    let refused = with(1).plan(&x).expect_err("that is too little").to_string();
    let least: usize = refused.split_whitespace().rev().nth(2).and_then(|word| word.parse().ok()).expect(&refused);
    assert!(with(least - 1).plan(&x).is_err(), "{refused}");
    for budget in [least, least + 600, least + 6_000, 60_000, 1 << 20] {
        let compiled = with(budget);
        let peak = compiled.plan(&x).expect("it fits").peak_bytes();
        assert!(peak <= budget, "{peak} of {budget}");
        // Every place that fits is used, up to the most there can be.
        assert!(peak + 1_200 > budget.min(1 << 20), "{peak} of {budget}");
        assert_eq!(plain.to_vec(), compiled.call(&x).to_vec(), "{budget} bytes");
    }
}

#[test]
fn snapshots_are_written_and_read() {
    let (program, _) =
        to_program(Tensor::from(1.0), |x| While::new().limit(9).snapshots(3).run(x, |x| x.lt(100.0), |x| x * 3.0));
    let text = program.to_string();
    assert!(text.contains("limit=9, snapshots=3"), "{text}");
    assert_eq!(text.parse::<Program>().expect("it was written").to_string(), text);
}

/// The plan of the gradient of a function, in words.
fn gradient_plan(f: impl Fn(&Tensor) -> Tensor + Sync, at: &Tensor) -> String {
    let gradient = compile(|at: Tensor| value_and_grad(&at, |at| f(&at)));
    gradient.plan(at).expect("there is no limit").explain(Detail::Steps)
}

/// A loop forwards keeps on its way what the one backwards needs, so that no step forwards is taken twice.
#[test]
fn steps_forwards_are_taken_once() {
    let at = Tensor::from([3.1, 2.9, 2.5]);
    let plan = gradient_plan(|at| logistic(While::new(), at, 20.0), &at);
    assert!(plan.contains("back: "), "{plan}");
    // Two loops, one after the other, of the same steps and of others.
    let twice = |at: &Tensor| {
        let x = logistic(While::new(), at, 5.0);
        logistic(While::new(), &(at - 0.01 * &x), 5.0) * &x + logistic(While::new(), at, 7.0)
    };
    let plan = gradient_plan(twice, &at);
    assert_eq!(plan.matches("back: ").count(), 3, "{plan}");
    // A gradient alone has no loop forwards but its own.
    let gradient = compile(|at: Tensor| grad(&at, |at| logistic(While::new(), &at, 20.0)));
    let plan = gradient.plan(&at).expect("there is no limit").explain(Detail::Steps);
    assert_eq!([plan.matches("while: ").count(), plan.matches("back: ").count()], [1, 1], "{plan}");
    // With few snapshots there is nothing to keep on the way.
    let plan = gradient_plan(|at| logistic(While::new().snapshots(3), at, 20.0), &at);
    assert!(!plan.contains("back: "), "{plan}");
}

/// What is kept on the way is that of the same loop: of other operands, another limit, or another order of equal types it is not.
#[test]
fn each_loop_backwards_has_its_own_record() {
    let grow = |x: &Tensor, rate: &Tensor, most: f64| {
        let start = (x.clone(), Tensor::from(1.0));
        let (a, b) = while_loop(start, |(a, _)| a.lt(most), |(a, b)| (&a * rate + &b, &b + a.sin()));
        a * 2.0 + b
    };
    let (x, y, rate) = (Tensor::from(0.7), Tensor::from(0.9), Tensor::from(1.1));
    let f = |[x, y, rate]: [Tensor; 3]| {
        let first = grow(&x, &rate, 9.0);
        let second = grow(&y, &rate, 9.0);
        let third = grow(&x, &(&rate + 0.05), 9.0);
        let fourth = grow(&x, &rate, 11.0);
        &first * 1.0 + &second * 10.0 + &third * 100.0 + &fourth * 1000.0 + first * second
    };
    let point = [x, y, rate];
    let compiled = compile(|point: [Tensor; 3]| value_and_grad(&point, f));
    let together = compiled.call(&point).1.map(|ct| ct.item());
    let alone = |weights: [f64; 4], k: usize| {
        let [x, y, rate] = point.clone();
        let part = |[x, y, rate]: [Tensor; 3]| match k {
            0 => grow(&x, &rate, 9.0),
            1 => grow(&y, &rate, 9.0),
            2 => grow(&x, &(&rate + 0.05), 9.0),
            _ => grow(&x, &rate, 11.0),
        };
        let (value, ct) = value_and_grad(&[x, y, rate], part);
        (value.item(), ct.map(|ct| ct.item() * weights[k]))
    };
    let values = [0, 1].map(|k| alone([1.0; 4], k).0);
    let weights = [1.0 + values[1], 10.0 + values[0], 100.0, 1000.0];
    let parts: Vec<[f64; 3]> = (0..4).map(|k| alone(weights, k).1).collect();
    for (k, got) in together.into_iter().enumerate() {
        let want: f64 = parts.iter().map(|part| part[k]).sum();
        assert!((got - want).abs() <= 1e-12 * want.abs().max(1.0), "{k}: {got} instead of {want}");
    }
}
