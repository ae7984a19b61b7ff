//! Drivers at points of tensors: against closed forms, nested, and with captures of every kind.

use wengert::prelude::*;
use wengert::{Program, to_program};

#[track_caller]
fn near(got: &Tensor, want: &[f64]) {
    let got = got.to_vec();
    assert_eq!(got.len(), want.len());
    for (got, want) in got.iter().zip(want) {
        assert!((got - want).abs() <= 1e-13 * want.abs().max(1.0), "{got} instead of {want}");
    }
}

fn x() -> Tensor {
    Tensor::from([0.1, 0.2, 0.3])
}

#[test]
fn a_program_in_text_is_differentiated() {
    let p: Program =
        "program(v0: f64[3]) { v1: f64[3] = sin v0; v2: f64[] = sum[axes=[0]] v1; return v2 }".parse().unwrap();
    let out = p.vjp(&[true]).unwrap().run(&[x().to_array(), Tensor::from(1.0).to_array()]).unwrap();
    assert_eq!(out[1].to_f64(), [0.1f64.cos(), 0.2f64.cos(), 0.3f64.cos()]);
}

#[test]
fn every_driver_gives_the_closed_form() {
    let f = |x: Tensor| (x.sin() * &x).sum();
    let slope = |x: f64| x.sin() + x * x.cos();
    let curve = |x: f64| 2.0 * x.cos() - x * x.sin();
    let points = [0.1, 0.2, 0.3];
    let (value, gradient) = value_and_grad(&x(), f);
    near(&value, &[points.iter().map(|x| x * x.sin()).sum()]);
    near(&gradient, &points.map(slope));
    near(&grad(&x(), f), &points.map(slope));
    let v = Tensor::from([1.0, -1.0, 2.0]);
    let (_, dot) = jvp(&x(), &v, f);
    near(&dot, &[slope(0.1) - slope(0.2) + 2.0 * slope(0.3)]);
    let (_, pullback) = vjp(x(), |x| x.sin());
    near(&pullback.pull(&v), &[0.1f64.cos(), -0.2f64.cos(), 2.0 * 0.3f64.cos()]);
    near(&hvp(&x(), &v, f), &[curve(0.1), -curve(0.2), 2.0 * curve(0.3)]);
    let diagonal = [curve(0.1), 0.0, 0.0, 0.0, curve(0.2), 0.0, 0.0, 0.0, curve(0.3)];
    near(&hessian(&x(), f), &diagonal);
    near(&jacobian(&x(), |x| x.sin() * &x), &[slope(0.1), 0.0, 0.0, 0.0, slope(0.2), 0.0, 0.0, 0.0, slope(0.3)]);
    let (value, aux, gradient) = value_and_grad_aux(&x(), |x| (f(x.clone()), x.exp()));
    near(&value, &[points.iter().map(|x| x * x.sin()).sum()]);
    near(&aux, &points.map(f64::exp));
    near(&gradient, &points.map(slope));
}

#[test]
fn jacobians_are_made_of_blocks() {
    let (a, b) = (Tensor::from([1.0, 2.0]), Tensor::from(3.0));
    let j = jacobian((&a, &b), |(a, b)| (&a * &b, a.sum()));
    assert_eq!(j.count(), (2, 2));
    near(j.block(0, 0), &[3.0, 0.0, 0.0, 3.0]);
    near(j.block(0, 1), &[1.0, 2.0]);
    near(j.block(1, 0), &[1.0, 1.0]);
    near(j.block(1, 1), &[0.0]);
    near(&j.dense(), &[3.0, 0.0, 1.0, 0.0, 3.0, 2.0, 1.0, 1.0, 0.0]);
    // More numbers in than out: backward.
    near(&jacobian((&a, &b), |(a, b)| a.sum() * b).dense(), &[3.0, 3.0, 3.0]);
    let h = hessian((&a, &b), |(a, b)| (&a * &a).sum() * b);
    near(&h.dense(), &[6.0, 0.0, 2.0, 0.0, 6.0, 4.0, 2.0, 4.0, 0.0]);
}

#[test]
fn drivers_nest_to_third_order() {
    // d^3/dx^3 of x^4 = 24 x
    let third = grad(&Tensor::from(2.0), |x| grad(&x, |x| grad(&x, |x| x.powi(4))));
    near(&third, &[48.0]);
    let third = jvp(&Tensor::from(2.0), &Tensor::from(1.0), |x| {
        jvp(&x, &Tensor::from(1.0), |x| jvp(&x, &Tensor::from(1.0), |x| x.powi(4)).1).1
    });
    near(&third.1, &[48.0]);
    // D(x * D(x + y)) = 1
    near(&grad(&Tensor::from(2.0), |x| &x * grad(&x, |y| &x + y)), &[1.0]);
}

/// Every driver's derivative of order one of `f` at 2, as a number.
type Driver = fn(&dyn Fn(Tensor) -> Tensor, Tensor) -> Tensor;

const DRIVERS: [(&str, Driver); 6] = [
    ("grad", |f, x| grad(&x, f)),
    ("value_and_grad", |f, x| value_and_grad(&x, f).1),
    ("jvp", |f, x| jvp(&x, &Tensor::from(1.0), f).1),
    ("vjp", |f, x| vjp(&x, f).1.pull(&Tensor::from(1.0))),
    ("jacobian", |f, x| jacobian(&x, f)),
    ("vmap of grad", |f, x| vmap(x.reshape(&[1]), |x| grad(&x, f)).reshape(())),
];

/// d/dx d/dy d/dz of x y^2 z^3 k at (2, 3, 5) is 2 y 3 z^2 k = 450 k, by every driver at every level.
#[test]
fn captures_of_every_kind_at_depth_three() {
    let k = 1.5;
    let k_tensor = Tensor::from(k);
    for (outer_name, outer) in DRIVERS {
        for (middle_name, middle) in DRIVERS {
            for (inner_name, inner) in DRIVERS {
                let with = |k: &dyn Fn(Tensor) -> Tensor| {
                    outer(
                        &|x| {
                            middle(&|y| inner(&|z| k(&x * y.powi(2) * z.powi(3)), Tensor::from(5.0)), Tensor::from(3.0))
                        },
                        Tensor::from(2.0),
                    )
                };
                let name = format!("{outer_name} of {middle_name} of {inner_name}");
                assert!((with(&|t| t * k).item() - 450.0 * k).abs() < 1e-9, "f64: {name}");
                assert!((with(&|t| t * &k_tensor).item() - 450.0 * k).abs() < 1e-9, "Tensor: {name}");
                // A variable around: d/dk of the whole is 450.
                let by_var = grad(k, |k: Var| with(&|t| t * Tensor::from(k)).to_var());
                assert!((by_var - 450.0).abs() < 1e-9, "Var: {name}: {by_var}");
            }
        }
    }
}

#[test]
fn tensors_and_variables_mix() {
    let data = Tensor::from([1.0, 2.0, 3.0]);
    // x sum(x data) = 6 x^2
    let f = |x: Var| x * (Tensor::from(x) * &data).sum().to_var();
    assert_eq!(value_and_grad(2.0, f), (24.0, 24.0));
    assert_eq!(jvp(2.0, 1.0, f), (24.0, 24.0));
    assert_eq!(hessian(2.0, f), 12.0);
    assert_eq!(hvp(2.0, 2.0, f), 24.0);
    let (_, pullback) = vjp(2.0, f);
    assert_eq!(pullback.pull(2.0), 48.0);
    assert_eq!(jacobian([2.0, 3.0], |[x, y]| [f(x) * y, y]), [[72.0, 24.0], [0.0, 1.0]]);
    // Scalars inside a function of tensors.
    let g = grad(&data, |t| {
        let s = t.sum().to_var();
        Tensor::from(s * s) * &t.sum()
    });
    assert_eq!(g.to_vec(), [108.0; 3]);
    // A scalar driver inside a function of tensors, at a captured point: d/ds (s^3)' = 6 s.
    let g = grad(&data, |t| {
        let s = t.sum().to_var();
        Tensor::from(grad(s, |y| y.powi(3)))
    });
    assert_eq!(g.to_vec(), [36.0; 3]);
    // A function of tensors inside a scalar driver, and around it another one.
    let third = grad(2.0, |x: Var| grad(x, |y: Var| grad(&Tensor::from(y), |t| t.powi(4)).to_var()));
    assert_eq!(third, 48.0);
}

#[test]
#[should_panic(expected = "it would be a constant there")]
fn a_plain_result_that_depends_on_an_outer_tensor_is_refused() {
    let _ = grad(&Tensor::from(2.0), |t| {
        let inner: f64 = grad(3.0, |y: Var| y * (&t * Tensor::from(y)).to_var());
        t * inner
    });
}

#[test]
fn reading_a_value_works_define_by_run() {
    let f = |x: Tensor| if x.sum().gt(0.0).test() { x.square().sum() } else { x.sum() };
    near(&grad(&x(), f), &[0.2, 0.4, 0.6]);
    near(&grad(&-x(), f), &[1.0; 3]);
}

#[test]
#[should_panic(expected = "inside `vmap` a Tensor stands for many values")]
fn reading_a_value_inside_vmap_is_an_error() {
    let _ = vmap(x(), |x| x.clone() * x.item());
}

#[test]
#[should_panic(expected = "recording has ended")]
fn a_tensor_of_an_ended_recording_is_an_error() {
    let mut kept = None;
    let _ = grad(&x(), |x| {
        kept = Some(x.clone());
        x.sum()
    });
    let _ = kept.unwrap() + 1.0;
}

#[test]
#[should_panic(expected = "has to be a single real number")]
fn a_loss_of_several_numbers_is_an_error() {
    let _ = grad(&x(), |x| x.sin());
}

#[test]
#[should_panic(expected = "no derivative by integers")]
fn a_gradient_by_integers_is_an_error() {
    let _ = grad(&Tensor::from([1i64, 2]), |x| x.to_f64().sum());
}

#[test]
fn branches_are_chosen_per_example() {
    let xs = Tensor::from([-1.0, 4.0]);
    let g = vmap(&xs, |x| grad(&x, |x| cond(&x.gt(0.0), &x, |x| x.sqrt(), |x| x.square())));
    assert_eq!(g.to_vec(), [-2.0, 0.25]);
    // One branch for all, recorded.
    let g = grad(&xs, |x| cond(&x.sum().gt(0.0), &x, |x| x.square().sum(), |x| x.sum()));
    assert_eq!(g.to_vec(), [-2.0, 8.0]);
    let h = hessian(&Tensor::from(3.0), |x| cond(&x.gt(0.0), &x, |x| x.powi(3), |x| x));
    assert_eq!(h.to_vec(), [18.0]);
}

#[test]
fn a_checkpoint_changes_no_number() {
    let layer = |x: Tensor| (x.sin() * 1.5).exp().tanh();
    let plain = grad(&x(), |x| layer(layer(layer(x))).sum());
    let saving = grad(&x(), |x| checkpoint(&x, |x| layer(checkpoint(&x, |x| layer(layer(x))))).sum());
    assert_eq!(plain.to_vec(), saving.to_vec());
    let plain = hessian(&x(), |x| layer(layer(x)).sum());
    let saving = hessian(&x(), |x| checkpoint(&x, |x| layer(layer(x))).sum());
    assert_eq!(plain.to_vec(), saving.to_vec());
}

#[test]
fn the_jacobian_of_a_product_has_the_matrix_and_the_slopes() {
    let a = Tensor::from([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]);
    let j = jacobian(&x(), |x| (&a * x.sin()).sum_over(1));
    near(
        &j,
        &[
            0.1f64.cos(),
            2.0 * 0.2f64.cos(),
            3.0 * 0.3f64.cos(),
            4.0 * 0.1f64.cos(),
            5.0 * 0.2f64.cos(),
            6.0 * 0.3f64.cos(),
        ],
    );
    let (program, captures) = to_program(x(), |x| (&a * x).sum_over(1));
    assert_eq!((program.input_types().len(), captures.len()), (2, 1));
}

#[test]
fn a_rule_that_is_not_linear_is_refused() {
    let square = |ct: &[Tensor]| vec![&ct[0] * &ct[0]];
    let rule = wengert::CustomRule::vjp("bent", |x| vec![x[0].sin()], move |_, _, ct| square(ct));
    let error = rule.register(&[&[x()]]).unwrap_err().to_string();
    assert!(
        error.contains("`bent`") && error.contains("linear in the cotangent") && error.contains("`mul`"),
        "{error}"
    );
    // One that is right in form and wrong in value.
    let rule = wengert::CustomRule::vjp("sine", |x| vec![x[0].sin()], |x, _, ct| vec![x[0].sin() * &ct[0]]);
    let error = rule.register(&[&[x()]]).unwrap_err().to_string();
    assert!(error.contains("disagrees with differences"), "{error}");
    // In a Program that was read from text there is no registration: the transpose refuses.
    let text = "program(v0: f64[]) { v1: f64[] = custom[name=bent, rule=exact, value=program(v0: f64[]) { v1: f64[] = sin v0
        return v1 }, vjp=program(v0: f64[], v1: f64[], v2: f64[]) { v3: f64[] = mul v2 v2; return v3 }] v0; return v1 }";
    let error = text.parse::<Program>().unwrap().vjp(&[true]).unwrap_err().to_string();
    assert!(error.contains("not linear"), "{error}");
}

#[test]
fn a_rule_is_compared_in_the_units_of_its_samples() {
    let cube = |factor: f64| {
        wengert::CustomRule::vjp("cube", |x| vec![x[0].powi(3)], move |x, _, ct| vec![x[0].square() * factor * &ct[0]])
    };
    for size in [1e-60, 1e-6, 1.0, 1e6, 1e12] {
        let sample = Tensor::from([1.5, -0.7, 0.0]) * size;
        assert!(cube(3.0).register(&[std::slice::from_ref(&sample)]).is_ok(), "{size}");
        let why = cube(2.9).register(&[&[sample]]).unwrap_err().to_string();
        assert!(why.contains("disagrees with differences"), "{size}: {why}");
    }
    let single = (Tensor::from([1.5, -0.7]) * 1e6).to_f32();
    assert!(cube(3.0).register(&[std::slice::from_ref(&single)]).is_ok());
    assert!(cube(2.0).register(&[&[single]]).is_err());
    // No step is so short that nothing moves: a derivative of 0 would agree with that.
    let none = wengert::CustomRule::vjp("none", |x| vec![x[0].exp()], |_, _, ct| vec![&ct[0] * 0.0]);
    assert!(none.register(&[&[Tensor::from([0.5, 1.5]).to_f32()]]).is_err());
    // Where the value and its derivative are 0 it is as small as the steps make it.
    let fifth = wengert::CustomRule::vjp("fifth", |x| vec![x[0].powi(5)], |x, _, ct| vec![x[0].powi(4) * 5.0 * &ct[0]]);
    assert!(fifth.register(&[&[Tensor::zeros(&[2])]]).is_ok());
}

#[test]
fn a_rule_is_compared_at_operands_that_have_elements() {
    let wrong = || wengert::CustomRule::vjp("wrong", |x| vec![x[0].sin()], |x, _, ct| vec![x[0].sin() * &ct[0]]);
    let refused = |samples: &[&[Tensor]]| wrong().register(samples).unwrap_err().to_string();
    let empty = Tensor::zeros(&[0]);
    for samples in [&[std::slice::from_ref(&empty)][..], &[std::slice::from_ref(&empty), &[Tensor::zeros(&[2, 0])]]] {
        let error = refused(samples);
        assert!(error.contains("`wrong`") && error.contains("compared with nothing"), "{error}");
    }
    assert!(refused(&[&[]]).contains("has no operands"));
    // An empty sample beside another one is compared in its types.
    assert!(refused(&[std::slice::from_ref(&empty), &[x()]]).contains("disagrees with differences"));
    let right = wengert::CustomRule::vjp("right", |x| vec![x[0].sin()], |x, _, ct| vec![x[0].cos() * &ct[0]]);
    assert!(right.register(&[std::slice::from_ref(&empty), &[x()]]).is_ok());
    // An operand that is empty wherever the others are not leaves its derivative unseen.
    let joined = |x: &[Tensor]| vec![Tensor::concat(&[&x[0], &x[1]], 0)];
    let pull = |x: &[Tensor], _: &[Tensor], ct: &[Tensor]| {
        let n = x[0].shape()[0] as isize;
        vec![ct[0].slice((..n,)), ct[0].slice((n..,)) * 2.0]
    };
    let error = wengert::CustomRule::vjp("joined", joined, pull).register(&[&[x(), empty]]).unwrap_err().to_string();
    assert!(error.contains("compared with nothing"), "{error}");
}

#[test]
fn a_tensor_of_another_threads_recording_is_an_error() {
    let _ = grad(x(), |x| {
        let message = std::thread::scope(|scope| {
            let used = scope.spawn(|| x.try_add(1.0).unwrap_err().to_string());
            let recorded = scope.spawn(|| {
                grad(Tensor::from(1.0), |y| {
                    let error = x.try_mul(&y).unwrap_err().to_string();
                    assert!(error.contains("another thread"), "{error}");
                    y
                })
            });
            recorded.join().unwrap();
            used.join().unwrap()
        });
        assert!(message.contains("another thread") && message.contains("array_drivers.rs"), "{message}");
        x.sum()
    });
}

#[test]
fn a_loop_may_read_a_value_in_every_step() {
    // Newton's method for the square root, until it stands still; then 1 / (2 sqrt a).
    let root = |a: Tensor| {
        let mut x = a.clone();
        for _ in 0..2_000 {
            let next = (&x + &a / &x) * 0.5;
            if (&next - &x).abs().lt(1e-300).test() {
                break;
            }
            x = next;
        }
        x
    };
    near(&grad(&Tensor::from(2.0), root), &[0.5 / 2f64.sqrt()]);
    // Two thousand readings of a list of four thousand equations.
    let walk = |x: Tensor| (0..2_000).fold(x.clone(), |y, _| if y.gt(1.0).test() { y * 0.5 } else { y + &x });
    let _ = grad(&Tensor::from(0.75), walk);
}

#[test]
fn the_least_whole_power_has_a_derivative() {
    let x = Tensor::from([1.000_000_01, 0.999_999_99, 2.0]);
    let slope = grad(&x, |x| x.powi(i32::MIN).sum()).to_vec();
    for (x, slope) in x.to_vec().into_iter().zip(slope) {
        let n = f64::from(i32::MIN);
        let wanted = n * x.powf(n - 1.0);
        assert!((slope - wanted).abs() <= 1e-6 * wanted.abs(), "{slope} at {x}, not {wanted}");
    }
}
