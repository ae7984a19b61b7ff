//! Loops under `vmap`, compiled, and at their limits: laws that hold for every loop.

use wengert::prelude::*;
use wengert::{Map, Scan, Vmap, While, associative_scan, compile, cond, fori, map, scan, vmap, while_loop};

use super::{fold, near, numbers, rows};

/// Sums of at most some hundred products, every one with a few roundings.
const ROUNDINGS: f64 = 512.0;

/// Checks that a map over examples is the stack of what each gives alone: values, gradients, Hessians, and gradients of the map.
#[track_caller]
fn check(xs: &Tensor, f: impl Fn(&Tensor) -> Tensor) {
    let each = |g: &dyn Fn(&Tensor) -> Tensor| {
        let results: Vec<Tensor> = rows(xs).iter().map(g).collect();
        Tensor::stack(&results.iter().collect::<Vec<_>>(), 0)
    };
    let gradient = |x: &Tensor| grad(x, |x| f(&x));
    let curvature = |x: &Tensor| hessian(x, |x| f(&x));
    near("values", &vmap(xs, |x| f(&x)), &each(&f), ROUNDINGS);
    near("gradients", &vmap(xs, |x| gradient(&x)), &each(&gradient), ROUNDINGS);
    near("gradients of the map", &grad(xs, |xs| vmap(xs, |x| f(&x)).sum()), &each(&gradient), ROUNDINGS);
    near("hessians", &vmap(xs, |x| curvature(&x)), &each(&curvature), ROUNDINGS);
    near("compiled", &compile(|xs: Tensor| vmap(xs, |x| gradient(&x))).call(xs), &each(&gradient), ROUNDINGS);
    let row = |x: Tensor| grad(x, |x| f(&x));
    near("mapped one by one", &map(xs, row), &each(&gradient), ROUNDINGS);
    // Batches that divide the rows, that leave some, and that hold more.
    for rows in [1, 2, 5, 8] {
        near("mapped in batches", &Map::new().batch(rows).run(xs, row), &each(&gradient), ROUNDINGS);
    }
    let in_batches = |xs: &Tensor| Map::new().batch(2).run(xs, |x| f(&x)).sum();
    near("gradients of batches", &grad(xs, |xs| in_batches(&xs)), &each(&gradient), ROUNDINGS);
    // Two maps, the inner one over the same examples.
    let twice = vmap(xs, |x| vmap(xs, |y| gradient(&(&x * 0.25 + y * 0.75))));
    let wanted = each(&|x| each(&|y| gradient(&(x * 0.25 + y * 0.75))));
    near("pairs", &twice, &wanted, ROUNDINGS);
}

/// Five examples of two numbers, from small to large.
fn examples() -> Tensor {
    numbers(4, 10).reshape(&[5, 2]) * 0.25 + Tensor::from([0.4, 0.9, 1.5, 3.0, 9.0]).expand_dims(1)
}

#[test]
fn every_example_takes_steps_of_its_own() {
    check(&examples(), |x| while_loop(x.prod(), |y| y.lt(12.0), |y| y.square() * 0.1 + &y * x.sum() + 0.5));
    // Only a condition that depends on the example, only a carry, and neither.
    let x = Tensor::from([1.1, 1.7]);
    let counts = |n: &Tensor| while_loop((&x, n), |(_, n)| n.gt(0.0), |(y, n)| (y * &x, n - 1.0)).0.sum();
    let ns = Tensor::from([0.0, 3.0, 1.0]);
    let wanted: Vec<f64> = [1, 4, 2].map(|n| 1.1f64.powi(n) + 1.7f64.powi(n)).into();
    near("steps", &vmap(&ns, |n| counts(&n)), &Tensor::from(wanted), ROUNDINGS);
    check(&examples(), |y| fold_while(y, &x));
    let alone = |y: &Tensor| while_loop(x.sum(), |z| z.lt(9.0), |z| z * 1.5) * y.sum();
    check(&examples(), alone);
}

/// Three steps, whatever the example.
fn fold_while(y: &Tensor, x: &Tensor) -> Tensor {
    while_loop((y, Tensor::from(0i64)), |(_, n)| n.lt(3), |(y, n)| ((y * x).sin(), n + 1)).0.sum()
}

#[test]
fn examples_choose_branches_inside_loops_and_loops_inside_branches() {
    check(&examples(), |x| {
        fold(&x.sum(), x, |c, row| cond(&(&c * &row).gt(2.0), &c, |c| c.sqrt() * &row, |c| c * 1.5 + &row))
    });
    check(&examples(), |x| {
        let small = |x: Tensor| fori(0..3, x.sum(), |i, c| (c + i.to_f64()).sin() * x.prod());
        let large = |x: Tensor| while_loop(x.sum(), |c| c.gt(1.0), |c| (c * 0.5 + x.mean() * 0.01).sqrt() - 0.2);
        cond(&x.sum().lt(4.0), x, small, large)
    });
}

#[test]
fn an_example_that_has_ended_takes_part_in_nothing() {
    // Past its end, a step divides by zero, takes the root of a negative number or an entry that is not there.
    check(&examples(), |x| while_loop(x.sum(), |y| y.gt(0.5), |y| (&y - 0.4).sqrt() - 0.2));
    let table = Tensor::from([1.0, 2.0, 4.0]);
    let walk = |x: &Tensor| {
        let step = |(k, c): (Tensor, Tensor)| (&k + 1, c * table.take(&k, 0));
        let stays = |(k, c): (Tensor, Tensor)| k.lt(3).and(c.lt(7.0));
        while_loop((Tensor::from(0i64), x.sum()), stays, step).1
    };
    check(&examples(), walk);
}

#[test]
fn batches_of_rows_give_what_rows_give() {
    let (xs, flags) = (numbers(3, 14).reshape(&[7, 2]), Tensor::from(vec![1i64, 0, 1, 1, 0, 0, 1]));
    let w = numbers(50, 6).reshape(&[2, 3]);
    // A tree of rows, a result of another type, one that does not depend on the row, and one of no row at all.
    let f = |(x, flag): (Tensor, Tensor)| (x.matmul(&w).tanh(), flag.gt(0), w.square(), Tensor::from(2.0));
    let want = map((&xs, &flags), f);
    for rows in [1, 2, 3, 4, 7, 9] {
        let got = Map::new().batch(rows).run((&xs, &flags), f);
        near("products", &got.0, &want.0, ROUNDINGS);
        assert_eq!(got.1.to_array().to_f64(), want.1.to_array().to_f64());
        assert_eq!(got.1.dtype(), want.1.dtype());
        near("the same for all", &got.2, &want.2, 1.0);
        near("constants", &got.3, &want.3, 1.0);
    }
    let none = Map::new().batch(3).run(Tensor::zeros(&[0, 2]), |x| x.matmul(&w));
    assert_eq!(none.shape(), [0, 3]);
    let slope = |rows: Map| grad(&w, |w| rows.run(&xs, |x| x.matmul(&w).sin()).square().sum());
    near("gradients by what is captured", &slope(Map::new().batch(3)), &slope(Map::new()), ROUNDINGS);
    let second = |rows: Map| hessian(xs.slice(0), |y| rows.run(&xs, |x| (&x * &y).sin().prod()).sum());
    near("curvature by what is captured", &second(Map::new().batch(3)), &second(Map::new()), ROUNDINGS);
    let over_numbers = |rows: Map| jacobian(0.5, |a: Var| rows.run([1.0, 2.0, 3.0], |x: Var| (a * x).sin()));
    assert_eq!(over_numbers(Map::new().batch(2)), over_numbers(Map::new()));
}

#[test]
fn loops_of_examples_along_other_axes() {
    let (a, x) = (numbers(2, 12).reshape(&[2, 3, 2]), numbers(20, 2));
    let f = |a: Tensor, x: Tensor| {
        let (c, ys) = Scan::new().reverse().run(&x, &a, |c, row| ((&c * &row + &x).sin(), row.dot(&c)));
        (c, ys)
    };
    let (cs, ys) =
        Vmap::new().inputs(&[Some(2), None]).outputs(&[1, 0]).run((&a, x.sum()), |(a, x)| f(a, x * Tensor::ones(&[3])));
    assert_eq!((cs.shape(), ys.shape()), (&[3, 2][..], &[2, 2][..]));
    for k in 0..2 {
        let own = a.take(&Tensor::from(k), 2);
        let (c, y) = f(own, x.sum() * Tensor::ones(&[3]));
        near("carry", &cs.take(&Tensor::from(k), 1), &c, ROUNDINGS);
        near("rows", &ys.take(&Tensor::from(k), 0), &y, ROUNDINGS);
    }
    // Examples along the axis of the steps: the axes are side by side.
    let course = |x: &Tensor| scan(x.sum(), x, |c, row| (&c * &row, c)).1.square().sum();
    near(
        "columns",
        &Vmap::new().inputs(&[Some(1)]).run(a.slice(0), |x| course(&x)),
        &{
            let columns = rows(&a.slice(0).t());
            let results: Vec<Tensor> = columns.iter().map(course).collect();
            Tensor::stack(&results.iter().collect::<Vec<_>>(), 0)
        },
        ROUNDINGS,
    );
}

#[test]
fn prefixes_have_the_derivatives_of_a_scan() {
    for n in [1, 2, 3, 5, 8, 13] {
        let (a, b) = (numbers(1, n) * 0.5 + 1.0, numbers(40, n));
        let by_scan = |(a, b): (Tensor, Tensor)| {
            scan(Tensor::from(0.0), (a, b), |h, (a, b)| {
                let h = h * a + b;
                (h.clone(), h)
            })
            .1
        };
        let by_prefixes =
            |(a, b): (Tensor, Tensor)| associative_scan((&a, &b), |(a, b), (c, d)| (&a * &c, &c * &b + d)).1;
        near("values", &by_prefixes((a.clone(), b.clone())), &by_scan((a.clone(), b.clone())), ROUNDINGS);
        let loss = |h: Tensor| h.square().sum();
        let want = hessian((&a, &b), |x| loss(by_scan(x)));
        near("hessian", &hessian((&a, &b), |x| loss(by_prefixes(x))).dense(), &want.dense(), ROUNDINGS);
    }
}

#[test]
fn a_compiled_function_takes_as_many_steps_as_its_arguments_ask_for() {
    let doubled = compile(|x: Tensor| value_and_grad(&x, |x| while_loop(&x, |y| y.lt(100.0), |y| y * 2.0)));
    for (x, factor) in [(60.0, 2.0), (1.0, 128.0), (200.0, 1.0), (0.01, 16384.0)] {
        let (y, slope) = doubled.call(Tensor::from(x));
        assert_eq!((y.item(), slope.item()), (x * factor, factor));
    }
    assert_eq!(doubled.trace_count(), 1);
}

#[test]
fn a_limit_counts_the_steps_of_every_example() {
    let f = |limit: usize, x: &Tensor| While::new().limit(limit).try_run(x, |y| y.lt(10.0), |y| y * 2.0);
    assert_eq!(f(4, &Tensor::from(1.0)).unwrap().item(), 16.0);
    assert!(f(3, &Tensor::from(1.0)).is_err());
    let xs = Tensor::from([20.0, 1.0, 6.0]);
    let mapped = |limit| compile(move |xs: Tensor| vmap(xs, |x| f(limit, &x).unwrap())).try_call(&xs);
    assert_eq!(mapped(4).unwrap().to_vec(), [20.0, 16.0, 12.0]);
    assert!(mapped(3).unwrap_err().to_string().contains("after 3 steps"));
}

#[test]
fn many_steps_are_differentiated() {
    // x (1 + x / n)^n, n = 10,000: neither the recording nor the stack grows with the steps.
    let n = 10_000;
    let f = |x: &Tensor| fori(0..n, x, |_, c| c * (1.0 + x / n as f64));
    let x = Tensor::from(0.7);
    let (base, n) = (1.0 + 0.7 / n as f64, n as f64);
    let (first, second) =
        (base.powf(n) + 0.7 * base.powf(n - 1.0), 2.0 * base.powf(n - 1.0) + 0.7 * (n - 1.0) / n * base.powf(n - 2.0));
    near("gradient", &grad(&x, |x| f(&x)), &Tensor::from(first), 4.0 * n);
    near("second", &grad(&x, |x| grad(&x, |x| f(&x))), &Tensor::from(second), 4.0 * n);
    near("forward", &jvp(&x, Tensor::from(1.0), |x| grad(&x, |x| f(&x))).1, &Tensor::from(second), 4.0 * n);
    let by_while =
        |x: &Tensor| while_loop((x, Tensor::from(0i64)), |(_, k)| k.lt(10_000), |(c, k)| (c * (1.0 + x / n), k + 1)).0;
    near("while", &grad(&x, |x| grad(&x, |x| by_while(&x))), &Tensor::from(second), 4.0 * n);
}
