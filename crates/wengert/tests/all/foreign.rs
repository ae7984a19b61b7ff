//! Plain code as operations: derivatives, `vmap`, loops and branches through it, and what is refused.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use wengert::prelude::*;
use wengert::{Array, CustomRule, DType, Error, ForeignRule, RegisteredRule, Type, to_program};

fn near(what: &str, got: &[f64], want: &[f64]) {
    assert_eq!(got.len(), want.len(), "{what}");
    for (got, want) in got.iter().zip(want) {
        assert!((got - want).abs() <= 1e-12 * want.abs().max(1.0), "{what}: {got} instead of {want}");
    }
}

/// `y` with `y^3 + a y = x`, for positive `a`, element by element of `x`.
fn solve(x: f64, a: f64) -> f64 {
    (0..60).fold(x.cbrt(), |y, _| y - (y * y * y + a * y - x) / (3.0 * y * y + a))
}

fn solved(x: &[Array]) -> Result<Array, String> {
    let a = x[1].to_f64()[0];
    if a <= 0.0 {
        return Err(format!("there may be several roots where a = {a}"));
    }
    Ok(Array::new(x[0].shape(), x[0].to_f64().iter().map(|&x| solve(x, a)).collect::<Vec<f64>>()))
}

/// The same for every example at once.
fn all_solved(x: &[Array]) -> Array {
    let (a, own) = (x[1].to_f64(), x[0].to_f64());
    let size = own.len() / a.len().max(1);
    Array::new(x[0].shape(), own.iter().enumerate().map(|(k, &x)| solve(x, a[k / size])).collect::<Vec<f64>>())
}

fn rule() -> ForeignRule {
    CustomRule::foreign("cubic", |x| x[0].clone(), solved)
}

fn sample() -> [Tensor; 2] {
    [Tensor::from([0.5, -1.5, 2.0]), Tensor::from(0.8)]
}

fn registered(rule: ForeignRule) -> RegisteredRule {
    let [x, a] = sample();
    rule.register(&[&[x, a]]).unwrap()
}

/// On tensors: `y_dot = (x_dot - y a_dot) / (3 y^2 + a)`, and its transpose.
fn by_jvp() -> ForeignRule {
    rule().jvp(|x, y, dot| vec![(&dot[0] - &y[0] * &dot[1]) / (3.0 * y[0].square() + &x[1])])
}

fn by_vjp() -> ForeignRule {
    rule().vjp(|x, y, ct| {
        let pulled = &ct[0] / (3.0 * y[0].square() + &x[1]);
        vec![pulled.clone(), -(pulled * &y[0]).sum()]
    })
}

fn slope(x: &[Array], y: f64) -> f64 {
    1.0 / (3.0 * y * y + x[1].to_f64()[0])
}

fn plain_jvp(x: &[Array], y: &[Array], dot: &[Array]) -> Array {
    let (dot, a_dot) = (dot[0].to_f64(), dot[1].to_f64()[0]);
    let of = |(&y, dot): (&f64, &f64)| (dot - y * a_dot) * slope(x, y);
    Array::new(x[0].shape(), y[0].to_f64().iter().zip(&dot).map(of).collect::<Vec<f64>>())
}

fn plain_vjp(x: &[Array], y: &[Array], ct: &[Array]) -> Vec<Array> {
    let pulled: Vec<f64> = y[0].to_f64().iter().zip(ct[0].to_f64()).map(|(&y, ct)| ct * slope(x, y)).collect();
    let of_a = pulled.iter().zip(y[0].to_f64()).map(|(ct, y)| -ct * y).sum::<f64>();
    vec![Array::new(x[0].shape(), pulled), Array::scalar(of_a)]
}

/// The rule in each way in which its derivative can be given.
fn ways() -> Vec<(&'static str, RegisteredRule)> {
    let plain = || rule().foreign_jvp(plain_jvp).foreign_vjp(plain_vjp);
    vec![
        ("jvp", registered(by_jvp().one_by_one())),
        ("vjp", registered(by_vjp().one_by_one())),
        ("vjp, together", registered(by_vjp().together(all_solved))),
        ("plain", registered(plain().one_by_one())),
        ("plain, together", registered(plain().together(all_solved))),
    ]
}

/// What users write around it, on the code, and on tensors by as many steps of Newton's method.
fn on_tensors(x: &Tensor, a: &Tensor) -> Tensor {
    let start = x.detach().sign() * x.detach().abs().powf(1.0 / 3.0);
    (0..60).fold(start, |y, _| &y - (y.powi(3) + a * &y - x) / (3.0 * y.square() + a))
}

fn loss(y: Tensor, a: &Tensor) -> Tensor {
    (y.sin() * a + y.square()).sum()
}

#[test]
fn every_mode_agrees_with_the_same_on_tensors() {
    let [x, a] = sample();
    let (dx, da) = (Tensor::from([0.3, 1.0, -0.7]), Tensor::from(-0.4));
    let ct = Tensor::from([1.0, -2.0, 0.5]);
    for (what, rule) in ways() {
        let f = |(x, a): (Tensor, Tensor)| rule.call(&[&x, &a]).remove(0);
        let g = |(x, a): (Tensor, Tensor)| on_tensors(&x, &a);
        let (y, dot) = jvp((&x, &a), (&dx, &da), f);
        let (want, want_dot) = jvp((&x, &a), (&dx, &da), g);
        near(what, &y.to_vec(), &want.to_vec());
        near(what, &dot.to_vec(), &want_dot.to_vec());
        let pulled = vjp((&x, &a), f).1.pull(&ct);
        let wanted = vjp((&x, &a), g).1.pull(&ct);
        near(what, &pulled.0.to_vec(), &wanted.0.to_vec());
        near(what, &pulled.1.to_vec(), &wanted.1.to_vec());
        near(what, &jacobian((&x, &a), f).dense().to_vec(), &jacobian((&x, &a), g).dense().to_vec());
        // A severed operand has no derivative.
        near(what, &grad(&a, |a| f((x.clone(), a)).sum()).to_vec(), &grad(&a, |a| g((x.clone(), a)).sum()).to_vec());
    }
}

#[test]
fn second_and_third_order_where_the_derivative_is_tensor_operations() {
    let [x, a] = sample();
    for (what, rule) in &ways()[..3] {
        let f = |(x, a): (Tensor, Tensor)| loss(rule.call(&[&x, &a]).remove(0), &a);
        let g = |(x, a): (Tensor, Tensor)| loss(on_tensors(&x, &a), &a);
        let (value, gradient, h) = value_grad_and_hessian((&x, &a), f);
        let (want, slopes, curvature) = value_grad_and_hessian((&x, &a), g);
        near(what, &value.to_vec(), &want.to_vec());
        near(what, &gradient.0.to_vec(), &slopes.0.to_vec());
        near(what, &h.dense().to_vec(), &curvature.dense().to_vec());
        let third =
            |f: &dyn Fn((Tensor, Tensor)) -> Tensor| grad(&a, |a| grad(&a, |b| grad(&x, |x| f((x, b))).sum()).square());
        near(what, &third(&f).to_vec(), &third(&g).to_vec());
    }
}

/// A derivative that calls a rule of its own.
#[test]
fn a_derivative_may_be_plain_code_with_a_derivative() {
    let slope = CustomRule::foreign(
        "slope",
        |x| x[0].clone(),
        |x| Array::new(x[0].shape(), x[0].to_f64().iter().map(|x| x.cos()).collect::<Vec<f64>>()),
    )
    .vjp(|x, _, ct| vec![-(x[0].sin() * &ct[0])])
    .register(&[&[Tensor::from([0.2, 0.9])]])
    .unwrap();
    let sine = CustomRule::foreign(
        "sine",
        |x| x[0].clone(),
        |x| Array::new(x[0].shape(), x[0].to_f64().iter().map(|x| x.sin()).collect::<Vec<f64>>()),
    )
    .vjp(move |x, _, ct| vec![slope.call(&[&x[0]]).remove(0) * &ct[0]])
    .register(&[&[Tensor::from([0.2, 0.9])]])
    .unwrap();
    let x = Tensor::from([0.4, -1.1]);
    let h = hessian(&x, |x| sine.call(&[&x])[0].sum());
    near("hessian", &h.to_vec(), &[-0.4f64.sin(), 0.0, 0.0, 1.1f64.sin()]);
}

#[test]
fn inside_of_loops_branches_and_compiled_functions() {
    let [x, a] = sample();
    for (what, rule) in ways() {
        let one = |x: &Tensor, a: &Tensor| rule.call(&[x, a]).remove(0);
        type Step<'a> = &'a dyn Fn(&Tensor, &Tensor) -> Tensor;
        type Place<'a> = &'a dyn Fn(Step<'_>, Tensor) -> Tensor;
        let inside: [(&str, Place<'_>); 4] = [
            ("scan", &|f, x| {
                let steps = Tensor::from([0.5, 0.9, 1.4]);
                scan(x, &steps, |x, a| (f(&x, &a) * 1.5, x.sum())).0.sum()
            }),
            ("while", &|f, x| {
                let start = (Tensor::from(0i64), x);
                while_loop(start, |(n, _)| n.lt(3i64), |(n, x)| (n + 1i64, f(&x, &a) + 0.1)).1.sum()
            }),
            ("cond", &|f, x| cond(&x.sum().gt(0.0), &x, |x| f(&x, &a), |x| x.exp()).square().sum()),
            ("checkpoint", &|f, x| checkpoint(&x, |x| f(&x.sin(), &a)).sum()),
        ];
        for (place, inside) in inside {
            let (value, got) = value_and_grad(&x, |x| inside(&one, x));
            let (wanted, want) = value_and_grad(&x, |x| inside(&on_tensors, x));
            near(&format!("{what} in {place}"), &value.to_vec(), &wanted.to_vec());
            near(&format!("{what} in {place}"), &got.to_vec(), &want.to_vec());
        }
        let compiled = compile(|(x, a): (Tensor, Tensor)| grad((&x, &a), |(x, a)| loss(one(&x, &a), &a)));
        let want = grad((&x, &a), |(x, a)| loss(on_tensors(&x, &a), &a));
        for _ in 0..2 {
            let got = compiled.call((&x, &a));
            near(what, &got.0.to_vec(), &want.0.to_vec());
            near(what, &got.1.to_vec(), &want.1.to_vec());
        }
    }
}

#[test]
fn examples_of_vmap_are_those_one_after_the_other() {
    let xs = Tensor::from([[0.5, -1.5, 2.0], [0.1, 0.2, -0.3], [3.0, 1.0, -1.0], [0.0, 5.0, 0.7]]);
    let all = Tensor::from([0.8, 1.2, 0.3, 2.0]);
    for (what, rule) in ways() {
        let g = |x: &Tensor, a: &Tensor| grad((x, a), |(x, a)| loss(rule.call(&[&x, &a]).remove(0), &a));
        let (by_x, by_a) = vmap((&xs, &all), |(x, a)| g(&x, &a));
        let shared = Tensor::from(0.6);
        let (with_shared, _) = vmap(&xs, |x| g(&x, &shared));
        // Two levels: pairs of examples.
        let pairs = xs.reshape(&[2, 2, 3]);
        let nested = vmap(&pairs, |xs| vmap(&xs, |x| g(&x, &shared).0));
        for k in 0..4 {
            let (x, a) = (xs.slice(k), all.slice(k));
            let want = g(&x, &a);
            near(what, &by_x.slice(k).to_vec(), &want.0.to_vec());
            near(what, &by_a.slice(k).to_vec(), &want.1.to_vec());
            let want = g(&x, &shared).0.to_vec();
            near(what, &with_shared.slice(k).to_vec(), &want);
            near(what, &nested.slice(k / 2).slice(k % 2).to_vec(), &want);
        }
    }
}

#[test]
fn code_on_constants_is_called_in_its_turn() {
    let calls = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&calls);
    let value = move |x: &[Array]| {
        count.fetch_add(1, Ordering::Relaxed);
        Array::scalar(x[0].to_f64()[0].sqrt())
    };
    let rule = CustomRule::foreign("root", |x| x[0].clone(), value).vjp(|_, y, ct| vec![&ct[0] / (2.0 * &y[0])]);
    let rule = rule.register(&[&[Tensor::from(2.0)]]).unwrap();
    let f = move |x: Tensor| {
        let rule = rule.clone();
        let constant = Tensor::from(4.0);
        cond(&x.gt(1.0), (x, constant), move |(x, c)| x * rule.call(&[&c]).remove(0), |(x, _)| x.square())
    };
    let compiled = compile(f);
    calls.store(0, Ordering::Relaxed);
    assert_eq!(compiled.call(&Tensor::from(0.5)).item(), 0.25);
    assert_eq!(calls.load(Ordering::Relaxed), 0, "its branch is not taken");
    for run in 1..4 {
        assert_eq!(compiled.call(&Tensor::from(3.0)).item(), 6.0);
        assert_eq!(calls.load(Ordering::Relaxed), run);
    }
}

/// Where lanes take different branches, the code is called for those alone that take its branch; the others would fail.
#[test]
fn only_examples_that_count_are_called() {
    let calls = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&calls);
    let root = |x: &Array| -> Result<Array, String> {
        let numbers = x.to_f64();
        match numbers.iter().find(|&&x| x <= 0.0) {
            Some(x) => Err(format!("{x} has no root")),
            None => Ok(Array::new(x.shape(), numbers.iter().map(|x| x.sqrt()).collect::<Vec<f64>>())),
        }
    };
    let rule = || {
        let count = Arc::clone(&count);
        let value = move |x: &[Array]| {
            count.fetch_add(1, Ordering::Relaxed);
            root(&x[0])
        };
        CustomRule::foreign("root", |x| x[0].clone(), value).vjp(|_, y, ct| vec![&ct[0] / (2.0 * &y[0])])
    };
    let own = Tensor::from(2.0);
    let rules = [rule().one_by_one(), rule().together(move |x| root(&x[0]))];
    for (rule, wanted_calls) in
        rules.map(|rule| rule.register(&[std::slice::from_ref(&own)]).unwrap()).iter().zip([2, 0])
    {
        let f = |x: Tensor| cond(&x.gt(0.0), &x, |x| rule.call(&[&x]).remove(0), |x| x * 3.0);
        let x = Tensor::from([4.0, -1.0, 0.0, 9.0]);
        calls.store(0, Ordering::Relaxed);
        assert_eq!(vmap(&x, f).to_vec(), [2.0, -3.0, 0.0, 3.0]);
        assert_eq!(calls.load(Ordering::Relaxed), wanted_calls);
        assert_eq!(vmap(&x, |x| grad(&x, f)).to_vec(), [0.25, 3.0, 3.0, 1.0 / 6.0]);
        assert_eq!(vmap(&x, |x| hessian(&x, f)).to_vec(), [-0.03125, 0.0, 0.0, -0.25 / 27.0]);
        // The same root for all, of which one takes the branch; and none.
        let (good, bad) = (Tensor::from(16.0), Tensor::from(-16.0));
        let shared = |x: Tensor, y: &Tensor| cond(&x.gt(5.0), &x, |x| x + &rule.call(&[y])[0], |x| x);
        assert_eq!(vmap(&x, |x| shared(x, &good)).to_vec(), [4.0, -1.0, 0.0, 13.0]);
        assert_eq!(vmap(&(&x - 9.0), |x| shared(x, &bad)).to_vec(), [-5.0, -10.0, -9.0, 0.0]);
        let error = vmap_error(|| vmap(&x, |x| shared(x, &bad)).to_vec());
        assert!(error.contains("`root`") && error.contains("-16 has no root"), "{error}");
    }
}

/// Foreign pullbacks that are zero, negative or an error at 1, before a selection and behind other operations: nothing may be
/// concluded from what they give at points that are no operands.
#[test]
fn what_a_selection_leaves_is_reached_through_foreign_pullbacks() {
    type Number = fn(f64) -> f64;
    /// Its name, value and slope, and the same on tensors.
    type Case = (&'static str, Number, Number, fn(&Tensor) -> Tensor);
    let each = |x: &Array, f: &dyn Fn(usize, f64) -> f64| {
        Array::new(x.shape(), x.to_f64().iter().enumerate().map(|(k, &x)| f(k, x)).collect::<Vec<f64>>())
    };
    let cases: [Case; 3] = [
        ("tanh", f64::tanh, |x| 1.0 - x.tanh().powi(2), Tensor::tanh),
        ("cos", f64::cos, |x| -x.sin(), Tensor::cos),
        ("square", |x| (x - 1.0).powi(2), |x| 2.0 * (x - 1.0), |x| (x - 1.0).square()),
    ];
    let x = Tensor::from([0.3, 2.0, -0.4, 1.7]);
    let keep = Tensor::from([true, true, false, true]);
    for (name, value, slope, on_tensors) in cases {
        for elementwise in [false, true] {
            let (seen, points) = (x.sinh().asinh().to_vec(), Arc::new(AtomicUsize::new(0)));
            let counted = points.clone();
            let rule = CustomRule::foreign(name, |x| x[0].clone(), move |x| each(&x[0], &|_, x| value(x)))
                .foreign_vjp(move |x, _, ct| {
                    counted.fetch_add(1, Ordering::Relaxed);
                    let ct = ct[0].to_f64();
                    if x[0].to_f64().iter().any(|x| !seen.contains(x)) {
                        return Err("a point that is no operand".to_owned());
                    }
                    Ok(each(&x[0], &|k, x| slope(x) * ct[k]))
                })
                .one_by_one();
            let rule = if elementwise { rule.elementwise() } else { rule };
            let samples = [&x.slice(0..1).sinh().asinh(), &x.slice(0..2).sinh().asinh()].map(|x| [x.clone()]);
            let rule = rule.register(&[&samples[0], &samples[1]]).unwrap();
            let by_rule = |x: &Tensor| rule.call(&[x])[0].clone();
            let want = grad(&x, |x| keep.where_(on_tensors(&x.sinh().asinh()), 0.0).sum()).to_vec();
            let what = format!("{name}, elementwise: {elementwise}");
            let got = grad(&x, |x| keep.where_(by_rule(&x.sinh().asinh()), 0.0).sum());
            near(&what, &got.to_vec(), &want);
            let got = vmap((&x, &keep), |(x, k)| grad(&x, |x| k.where_(by_rule(&x.sinh().asinh()), 0.0)));
            near(&what, &got.to_vec(), &want);
            let before = points.load(Ordering::Relaxed);
            let got = grad(&x, |x| {
                let chosen = |(x, k): (Tensor, Tensor)| cond(&k, x, |x| by_rule(&x.sinh().asinh()), |x| x * 0.0);
                vmap((x, &keep), chosen).sum()
            });
            near(&what, &got.to_vec(), &want);
            assert_eq!(points.load(Ordering::Relaxed) - before, 3, "{what}: examples that do not count are not called");
        }
    }
}

/// Element by element, where nothing counts of an element its cotangent is zero, whatever the code gives.
#[test]
fn elements_that_are_left_out_stay_zero_through_foreign_pullbacks() {
    let slope = |x: f64, ct: f64| if x == 0.0 { f64::INFINITY } else { 0.5 / x.sqrt() * ct };
    let each = move |x: &Array, ct: &Array| {
        let pairs = x.to_f64().into_iter().zip(ct.to_f64());
        Array::new(x.shape(), pairs.map(|(x, ct)| slope(x, ct)).collect::<Vec<f64>>())
    };
    let root = |x: &[Array]| Array::new(x[0].shape(), x[0].to_f64().iter().map(|x| x.sqrt()).collect::<Vec<f64>>());
    let rule = CustomRule::foreign("root", |x| x[0].clone(), root).foreign_vjp(move |x, _, ct| each(&x[0], &ct[0]));
    let rule = rule.elementwise().register(&[&[Tensor::from([1.0, 4.0])]]).unwrap();
    let x = Tensor::from([4.0, 0.0, 1.0]);
    let slope = grad(&x, |x| x.gt(0.0).where_(&rule.call(&[&x])[0], 0.0).sum());
    assert_eq!(slope.to_vec(), [0.25, 0.0, 0.5]);
}

fn vmap_error<R: std::fmt::Debug>(f: impl FnOnce() -> R) -> String {
    let panic = std::panic::catch_unwind(std::panic::AssertUnwindSafe(f)).unwrap_err();
    match panic.downcast::<String>() {
        Ok(text) => *text,
        Err(panic) => panic.downcast_ref::<&str>().map_or_else(String::new, |text| (*text).to_owned()),
    }
}

/// An error of the code names the rule, the operands as they were given, and the line of the call.
#[test]
fn a_call_that_fails_is_an_error() {
    let f64s = |length: usize| Tensor::linspace(1.0, 2.0, length);
    type Value = fn(&[Array]) -> Result<Vec<Array>, String>;
    let values: [(Value, &str); 5] = [
        (|x| panic!("no room for {} numbers", x[0].size()), "its code panicked: no room for 4 numbers"),
        (|_| Err("it has not converged".to_owned()), "its code failed: it has not converged"),
        (|_| Ok(vec![Array::scalar(1.0)]), "its code has to give (f64[4]), and gives (f64[])"),
        (|_| Ok(Vec::new()), "its code has to give (f64[4]), and gives ()"),
        (
            |x| Ok(vec![Array::full(x[0].shape(), f64::NAN)]),
            "gives NaN where no operand is: element 0 of result 0, f64[4]",
        ),
    ];
    for (value, wanted) in values {
        let rule = CustomRule::foreign(
            "table",
            |x| x[0].clone(),
            move |x| {
                if x[0].size() == 3 { Ok(vec![x[0].clone()]) } else { value(x) }
            },
        )
        .vjp(|_, _, ct| vec![ct[0].clone()])
        .one_by_one()
        .register(&[&[f64s(3)]])
        .unwrap();
        let line = line!() + 1;
        let calls: [&dyn Fn() -> Vec<f64>; 3] = [
            &|| rule.call(&[&f64s(4)])[0].to_vec(),
            &|| grad(&f64s(4), |x| rule.call(&[&x])[0].square().sum()).to_vec(),
            &|| vmap(Tensor::stack(&[&f64s(4), &f64s(4)], 0), |x| rule.call(&[&x]).remove(0)).to_vec(),
        ];
        for call in calls {
            let error = vmap_error(call);
            for part in ["`table`", wanted, "foreign.rs:", "f64["] {
                assert!(error.contains(part), "{error} has no {part}");
            }
            assert!((line..line + 4).any(|line| error.contains(&format!("foreign.rs:{line}"))), "{error}, {line}");
        }
        // NaN in, NaN out.
        let rule = CustomRule::foreign("same", |x| x[0].clone(), |x| x[0].clone()).register(&[&[f64s(3)]]).unwrap();
        assert!(rule.call(&[&Tensor::from([1.0, f64::NAN])])[0].to_vec()[1].is_nan());
    }
}

#[test]
fn what_is_not_there_is_named() {
    let [x, a] = sample();
    let refused = |rule: ForeignRule, f: &dyn Fn(&RegisteredRule) -> Vec<f64>, wanted: &str| {
        let rule = registered(rule);
        let error = vmap_error(|| f(&rule));
        assert!(error.contains(wanted) && error.contains("cubic"), "{error} has no {wanted}");
    };
    let first = |rule: &RegisteredRule, x: &Tensor| rule.call(&[x, &a]).remove(0);
    refused(
        rule(),
        &|rule| grad(&x, |x| first(rule, &x).sum()).to_vec(),
        "has no derivative: give it one with `jvp` or `vjp`",
    );
    refused(
        by_jvp(),
        &|rule| vmap(Tensor::stack(&[&x, &x], 0), |x| first(rule, &x)).to_vec(),
        "allow a loop over the examples with `one_by_one`",
    );
    let plain = || rule().foreign_vjp(plain_vjp);
    refused(plain(), &|rule| jvp(&x, &x, |x| first(rule, &x)).1.to_vec(), "give it a `foreign_jvp` too");
    refused(
        rule().foreign_jvp(plain_jvp),
        &|rule| grad(&x, |x| first(rule, &x).sum()).to_vec(),
        "give it a `foreign_vjp` too",
    );
    refused(
        plain().foreign_jvp(plain_jvp),
        &|rule| hessian(&x, |x| first(rule, &x).square().sum()).to_vec(),
        "for second order give it as tensor operations",
    );
    // One mode is enough for that mode.
    let rule = registered(plain());
    near("vjp alone", &grad(&x, |x| first(&rule, &x).sum()).to_vec(), &grad(&x, |x| on_tensors(&x, &a).sum()).to_vec());
    // Detached, a rule without a derivative may stand in a gradient.
    let rule = registered(self::rule());
    assert_eq!(grad(&x, |x| (first(&rule, &x.detach()) * &x).sum()).to_vec(), first(&rule, &x).to_vec());
    {
        let (program, _) = to_program(&x, |x| first(&rule, &x));
        let error = program.to_string().parse::<wengert::Program>().unwrap_err().to_string();
        assert!(
            error.contains("`cubic` is plain code") && program.to_string().contains("foreign[name=cubic"),
            "{error}"
        );
    }
}

#[test]
fn a_rule_that_is_wrong_is_not_registered() {
    let count = Arc::new(AtomicUsize::new(0));
    let random = move |x: &[Array]| {
        let next = count.fetch_add(1, Ordering::Relaxed) as f64;
        Array::new(x[0].shape(), vec![next; x[0].size()])
    };
    let wrong = |x: &[Array], y: &[Array], ct: &[Array]| {
        let mut pulled = plain_vjp(x, y, ct);
        pulled[1] = Array::scalar(pulled[1].to_f64()[0] * 1.0001);
        pulled
    };
    let summed = |x: &[Array]| Array::new(x[0].shape(), vec![x[0].to_f64().iter().sum::<f64>(); x[0].size()]);
    // Elements 0 and 2 meet, which stand at even places both.
    let paired = |x: &[Array]| {
        let own = x[0].to_f64();
        Array::new(x[0].shape(), (0..own.len()).map(|k| own[k] * own[own.len() - 1 - k]).collect::<Vec<f64>>())
    };
    let same = |x: &[Array]| x[0].clone();
    let surrogate = |x: &[Array], _: &[Array], dot: &[Array]| Array::new(x[0].shape(), vec![dot[0].to_f64()[1]; 3]);
    let cases: Vec<(&str, ForeignRule)> = vec![
        ("disagrees with differences", rule().jvp(|x, y, dot| vec![&dot[0] / (3.001 * y[0].square() + &x[1])])),
        ("along operand 1 disagrees with differences", rule().foreign_vjp(wrong)),
        ("along operand 0 disagrees with differences", rule().foreign_jvp(surrogate)),
        ("is given twice", by_jvp().foreign_vjp(plain_vjp)),
        ("is given twice", by_jvp().vjp(|_, _, ct| vec![ct[0].clone()])),
        ("has to give (f64[3], f64[]), and gives (f64[3])", rule().vjp(|_, _, ct| vec![ct[0].clone()])),
        ("has to be linear", rule().jvp(|_, _, dot| vec![dot[0].square()])),
        ("another result 0 when it is called again", CustomRule::foreign("count", |x| x[0].clone(), random)),
        ("its code for examples together disagrees", rule().together(|x| x[0].clone())),
        ("its code has to give (f64[2,3])", rule().together(|x| Array::scalar(x[1].to_f64()[0]))),
        ("element 1 moves with others", CustomRule::foreign("sum", |x| x[0].clone(), summed).elementwise()),
        ("element 2 moves with others", CustomRule::foreign("pairs", |x| x[0].clone(), paired).elementwise()),
        ("it is said to work element by element, and one", rule().elementwise()),
        ("takes no such operands: no", CustomRule::foreign("no", |_| Err::<Type, &str>("no"), same)),
        ("its code failed: there may be several", rule()),
    ];
    for (k, (wanted, rule)) in cases.into_iter().enumerate() {
        let [x, a] = sample();
        let one = wanted.contains("element");
        let operands = if one && !wanted.contains("one") { vec![x] } else { vec![x, a] };
        let operands = if k == 14 { vec![operands[0].clone(), Tensor::from(-1.0)] } else { operands };
        let error: Error = rule.register(&[&operands]).unwrap_err();
        let error = error.to_string();
        assert!(error.contains(wanted) && error.contains("foreign.rs"), "{error} has no {wanted}");
    }
    let empty = Tensor::zeros(&[0]);
    let error = by_vjp().register(&[&[empty, Tensor::from(1.0)]]).unwrap_err().to_string();
    assert!(error.contains("compared with nothing"), "{error}");
    // On purpose.
    let rule = registered(rule().foreign_jvp(surrogate).surrogate());
    let [x, a] = sample();
    assert_eq!(jvp(&x, &Tensor::from([1.0, 7.0, 2.0]), |x| rule.call(&[&x, &a]).remove(0)).1.to_vec(), [7.0; 3]);
}

#[test]
fn other_types_and_several_results() {
    // A table of integers and a scale: the values, and how many there are.
    let look_up = |x: &[Array]| {
        let scale = x[1].elements::<f32>().unwrap()[0];
        let values: Vec<f32> = x[0].elements::<i64>().unwrap().iter().map(|&k| scale * (k * k) as f32).collect();
        vec![Array::new(x[0].shape(), values), Array::scalar(x[0].size() as i64)]
    };
    let types = |x: &[Type]| vec![x[0].with_dtype(DType::F32), Type::new(DType::I64, &[])];
    let rule = CustomRule::foreign("table", types, look_up)
        .vjp(|x, _, ct| vec![(x[0].convert(DType::F32).square() * &ct[0]).sum()])
        .one_by_one()
        .register(&[&[Tensor::from([1i64, 4]), Tensor::from(0.5f32)]])
        .unwrap();
    let (places, scale) = (Tensor::from([2i64, 3, 1]), Tensor::from(0.25f32));
    let y = rule.call(&[&places, &scale]);
    assert_eq!((y[0].to_vec(), y[1].to_array().elements::<i64>().unwrap()), (vec![1.0, 2.25, 0.25], &[3i64][..]));
    let g = grad(&scale, |scale| rule.call(&[&places, &scale])[0].sum());
    assert_eq!((g.dtype(), g.to_vec()), (DType::F32, vec![14.0]));
    let scales = Tensor::from([1.0f32, 2.0]);
    let g = vmap(&scales, |scale| grad(&scale, |scale| rule.call(&[&places, &scale])[0].square().sum()));
    assert_eq!(g.to_vec(), [196.0, 392.0]);
    // Through a scalar variable and back.
    let cubic = registered(by_vjp());
    let [x, a] = sample();
    let by_number = grad(0.8, |a| cubic.call(&[&x, &Tensor::from(a)])[0].sum().to_var() * a);
    let wanted = grad(&a, |a| cubic.call(&[&x, &a])[0].sum() * a);
    near("scalars", &[by_number], &wanted.to_vec());
}

/// What a selection leaves out is left out of a pullback in single precision too.
#[test]
fn rules_in_single_precision_stand_before_selections() {
    let half = |x: &Array| {
        let halves: Vec<f32> = x.elements::<f32>().unwrap().iter().map(|x| 0.5 * x).collect();
        Array::new(x.shape(), halves)
    };
    let x = Tensor::from([5.0f32, 3.0]);
    for elementwise in [false, true] {
        let rule = CustomRule::foreign("half", |x| x[0].clone(), move |x| half(&x[0]))
            .foreign_vjp(move |_, _, ct| half(&ct[0]))
            .one_by_one();
        let rule = if elementwise { rule.elementwise() } else { rule };
        let rule = rule.register(&[&[Tensor::from([0.5f32, 1.5])]]).unwrap();
        let chosen = |x: &Tensor| x.gt(4.0).where_(rule.call(&[x]).remove(0), x);
        let slopes = grad(&x, |x| chosen(&x).sum());
        assert_eq!((slopes.dtype(), slopes.to_vec()), (DType::F32, vec![0.5, 1.0]));
        let of_each = vmap(&x, |x| grad(&x, |x| cond(&x.gt(4.0), x, |x| rule.call(&[&x]).remove(0), |x| x)));
        assert_eq!(of_each.to_vec(), [0.5, 1.0]);
    }
}

#[test]
fn patterns_are_full_unless_stated() {
    let double = |x: &[Array]| Array::new(x[0].shape(), x[0].to_f64().iter().map(|x| x * x).collect::<Vec<f64>>());
    let rule = || CustomRule::foreign("square", |x| x[0].clone(), double).vjp(|x, _, ct| vec![2.0 * &x[0] * &ct[0]]);
    let x = Tensor::from([1.0, 2.0, 3.0]);
    for (rule, count) in [(rule(), 9), (rule().elementwise(), 3)] {
        let rule = rule.register(&[std::slice::from_ref(&x)]).unwrap();
        let (program, _) = to_program(&x, |x| rule.call(&[&x]).remove(0));
        assert_eq!(program.jacobian_pattern(&[true]).unwrap()[0].nnz(), count);
        let matrix = wengert::sparse_jacobian(&x, |x| rule.call(&[&x]).remove(0));
        assert_eq!(matrix.values().sum().item(), 12.0);
    }
}
