//! The tape itself: memory, threads, lifetimes, literals.

use wengert::prelude::*;
use wengert::tape_size;

/// The message of the panic that `f` ends in.
fn message(f: impl FnOnce() + std::panic::UnwindSafe) -> String {
    let panic = std::panic::catch_unwind(f).expect_err("it should panic");
    panic.downcast_ref::<String>().cloned().unwrap_or_default()
}

/// A number whose slope has to be positive, which it finds out where the gradient is put together.
struct Rising(f64);

impl Tree for Rising {
    type Leaf = f64;
    type Vars = Var;
    type Form = wengert::Several;
    type Grad = f64;
    type Each<U> = U;
    fn size(&self) -> usize {
        1
    }
    fn for_each_leaf(&self, visit: &mut impl FnMut(f64)) {
        visit(self.0);
    }
    fn vars(&self, lift: &mut impl FnMut(f64) -> Var) -> Var {
        lift(self.0)
    }
    fn grad(&self, next: &mut impl FnMut() -> f64) -> f64 {
        let slope = next();
        assert!(slope > 0.0, "it falls");
        slope
    }
    fn each<U>(&self, next: &mut impl FnMut() -> U) -> U {
        next()
    }
}

/// The next sweep on this thread adds to adjoints that have to be as before.
#[test]
fn a_panic_while_a_gradient_is_put_together_leaves_nothing_behind() {
    assert_eq!(grad(Rising(2.0), |x| x * x), 4.0);
    for _ in 0..2 {
        assert!(std::panic::catch_unwind(|| grad(Rising(2.0), |x| -x)).is_err());
        assert_eq!(grad(3.0, |x| x * x), 6.0);
        assert_eq!(grad([3.0, 2.0], |[x, y]| x * y * y), [4.0, 12.0]);
    }
}

#[test]
fn a_record_takes_24_bytes_with_its_adjoint() {
    let size = tape_size([1.0; 10], |x| x.iter().map(|&x| (1.0 - x).powi(2) + 100.0 * (x * x).sin()).sum::<Var>());
    assert_eq!(size.records, 10 + 10 * 6 + 9);
    // 1.0 and 100.0 are stored once.
    assert_eq!((size.constants, size.bytes), (2, size.records * 24 + 2 * 8));
}

#[test]
fn constants_and_what_depends_on_nothing_are_not_recorded() {
    let size = tape_size(3.0, |x| {
        let c = lift(2.0) * lift(5.0).sin() + 1.0;
        let unused = c.exp() / c;
        x * c + unused
    });
    assert_eq!(size.records, 3);
}

#[test]
fn literals_stand_on_both_sides_and_constants_are_exact() {
    let (v, g) = value_and_grad(3.0, |x| 1.0 - 2.0 * x + x / 3.0 - 6.0 / x + (x - 0.5) % 2.0);
    assert_eq!(v, 1.0 - 6.0 + 1.0 - 2.0 + 0.5);
    assert!(g.abs() < 1e-15, "-2 + 1/3 + 6/9 + 1 = 0, got {g}");
    // x / c is not x * (1/c): 5/49 differs in the last bit.
    assert_eq!(value_and_grad(5.0, |x| x / 49.0), (5.0 / 49.0, 1.0 / 49.0));
    let mut sum = lift(0.0);
    sum += 1.0;
    assert_eq!(sum.value(), 1.0);
    let product: f64 = grad(2.0, |x| [x, x, x].iter().product());
    assert_eq!(product, 12.0);
    assert!(grad(2.0, |x| if x > 1.0 && 3.0 >= x && x != lift(7.0) { x * 5.0 } else { x }) == 5.0);
}

#[test]
fn a_variable_on_another_thread_is_an_error_that_says_so() {
    let text = message(|| {
        grad(3.0, |x| {
            let result = std::thread::scope(|scope| scope.spawn(|| (x * 2.0).value()).join());
            match result {
                Ok(value) => lift(value),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        });
    });
    assert!(text.contains("`mul` at crates/wengert/tests/all/tape.rs"), "{text}");
    assert!(text.contains("belongs to another thread"), "{text}");
}

#[test]
fn a_variable_of_an_ended_inner_recording_is_an_error_on_the_outer_level() {
    let text = message(|| {
        grad(3.0, |x| {
            let mut leaked = x;
            grad(x, |y| {
                leaked = y * x;
                y
            });
            leaked + x
        });
    });
    assert!(text.contains("whose recording has ended"), "{text}");
}

#[test]
fn a_variable_of_an_ended_recording_is_an_error_beside_a_constant() {
    let uses: [fn(Var) -> Var; 5] =
        [|v| v * lift(2.0), |v| lift(2.0) + v, |v| v * lift(1.0), |v| lift(1.0) * v, |v| v - lift(0.0)];
    for (k, used) in uses.into_iter().enumerate() {
        let kept = || {
            let mut kept = lift(0.0);
            grad(3.0, |x| {
                kept = x * x;
                x
            });
            kept
        };
        let alone = message(|| {
            used(kept());
        });
        let inside = message(|| {
            let kept = kept();
            grad(3.0, |x| used(kept) + x);
        });
        for text in [alone, inside] {
            assert!(text.contains("whose recording has ended"), "{k}: {text}");
        }
    }
}

#[test]
fn threads_differentiate_independently() {
    let sums: Vec<f64> = std::thread::scope(|scope| {
        let threads: Vec<_> =
            (0..4).map(|k| scope.spawn(move || (0..200).map(|i| grad(f64::from(i + k), |x| x * x)).sum())).collect();
        threads.into_iter().map(|thread| thread.join().expect("no panic")).collect()
    });
    assert_eq!(sums, [39800.0, 40200.0, 40600.0, 41000.0]);
}

#[test]
fn taking_a_number_out_of_a_recorded_function_is_an_error() {
    let text = message(|| {
        record(3.0, |x| x * x.value());
    });
    assert!(text.contains("`value` at crates/wengert/tests/all/tape.rs") && text.contains("Real::select"), "{text}");
}

#[test]
fn a_direction_of_the_wrong_size_is_an_error_that_gives_both_sizes() {
    let text = message(|| {
        jvp(vec![1.0, 2.0], vec![1.0], |x| x[0] * x[1]);
    });
    assert_eq!(text, "`jvp`: the tangent has 1 numbers where 2 are needed");
}

#[test]
fn operations_that_are_not_reached_do_not_spoil_the_gradient() {
    // sqrt at 0 has an infinite derivative; nothing flows into it.
    let (v, g) = value_and_grad([0.0, 2.0], |[x, y]| {
        let _unused = x.sqrt();
        x * y
    });
    assert_eq!((v, g), (0.0, [2.0, 0.0]));
    // A reached zero is a zero: 0 * inf is NaN, and says so.
    assert!(grad(0.0, |x| 0.0 * x.ln()).is_nan());
    assert!(grad(0.0, |x| -0.0 * x.ln()).is_nan());
}

#[test]
fn many_gradients_in_one_process_keep_the_list_small() {
    for _ in 0..1000 {
        assert_eq!(grad(2.0, |x| (0..3000).fold(x, |y, _| y * 1.0 + 0.0 * x)), 1.0);
    }
    assert_eq!(tape_size(1.0, |x| x * x).records, 2);
}

#[test]
fn a_quotient_by_a_constant_is_divided_in_every_mode() {
    let mut state = 11u64;
    let mut next = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        0.5 + (state >> 11) as f64 / (1u64 << 52) as f64
    };
    let mut differing = 0;
    for _ in 0..200 {
        let (x, c, k) = (next(), next(), next());
        // The reciprocal, multiplied, would often be another number.
        differing += usize::from(k * (1.0 / c) != k / c && x * (1.0 / c) != x / c);
        let f = |x: Var| (x / c) * k;
        let (value, slope) = ((x / c) * k, k / c);
        assert_eq!(value_and_grad(x, f), (value, slope), "x / {c} * {k} at {x}");
        assert_eq!(jvp(x, k, |x| x / c), (x / c, k / c));
        assert_eq!(wengert::vjp(x, |x| x / c).1.pull(k), k / c);
        // Backwards by one result, and forwards by two inputs, where the slopes meet in the other order.
        assert_eq!(jacobian([x, x], |[x, _]| [f(x)]), [[slope, 0.0]]);
        let forward = (1.0 / c) * k;
        assert_eq!(jacobian([x, x], |[x, y]| [f(x), f(y), f(x)]), [[forward, 0.0], [0.0, forward], [forward, 0.0]]);
        // f f, of which the second derivative is two products of slopes.
        assert_eq!(hessian(x, |x| (x / c) * (x / c)), 2.0 * ((1.0 / c) / c), "(x / {c})^2");
        let recorded = record(1.0, f);
        assert_eq!((recorded.value(x), recorded.grad(x)), (value, slope));
        assert_eq!(recorded.jvp(x, 1.0), (value, (1.0 / c) * k));
        let many = recorded.value_and_grad_many(&[x; 9]);
        assert!(many.iter().all(|one| *one == (value, slope)), "{many:?}");
    }
    assert!(differing > 20, "{differing}");
}

/// An exponent that a record has no room for is one all the same.
#[test]
fn whole_powers_of_any_size_have_their_derivatives() {
    let x = 1.000_000_01_f64;
    for n in [5, -5, 134_217_726, 134_217_727, 134_217_728, 134_217_729, 268_435_456, 300_000_001, i32::MAX, i32::MIN] {
        for n in [n, n.saturating_neg()] {
            let power = |x: Var| x.powi(n);
            // n x^(n - 1), and n (n - 1) x^(n - 2)
            let n_real = f64::from(n);
            let wanted =
                [x.powf(n_real), n_real * x.powf(n_real - 1.0), n_real * (n_real - 1.0) * x.powf(n_real - 2.0)];
            let near = |what: &str, order: usize, got: f64| {
                // A power by squaring rounds n / 2 times.
                let error = (got - wanted[order]).abs();
                assert!(error <= 1e-7 * wanted[order].abs(), "{what} of x^{n}: {got}, not {}", wanted[order]);
            };
            let (value, slope) = value_and_grad(x, power);
            assert_eq!(value.to_bits(), wengert::Real::powi(x, n).to_bits(), "x^{n}");
            near("the value", 0, value);
            near("the derivative", 1, slope);
            near("the second derivative", 2, grad(x, |x| grad(x, power)));
            near("the derivative forwards", 1, jvp(x, 1.0, power).1);
            let recorded = record(2.0, power);
            near("the recorded value", 0, recorded.value(x));
            near("the recorded derivative", 1, recorded.grad(x));
            recorded
                .value_and_grad_many(&[x; 9])
                .iter()
                .for_each(|&(_, slope)| near("one of many derivatives", 1, slope));
        }
    }
}

#[test]
fn the_inverse_hyperbolic_cosine_is_a_number_from_1_on() {
    for x in [0.999, 0.0, -1.0, -5845.7, -1e5, -1_234_567.5, -5e7, -1e300, f64::NEG_INFINITY, f64::NAN] {
        assert!(x.acosh().is_nan() && wengert::Real::acosh(x).is_nan(), "{x}");
        assert!(value_and_grad(x, |x| x.acosh()).0.is_nan(), "{x}");
    }
    assert_eq!(value_and_grad(1.0, |x| x.acosh()), (0.0, f64::INFINITY));
}
