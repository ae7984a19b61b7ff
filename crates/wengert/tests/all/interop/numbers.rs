//! The traits of `num-traits` and simba: every method gives the value that `f64` gives, and the
//! derivative of that value.

use num_traits::{Bounded, Float, FloatConst, FromPrimitive, Inv, Num, NumCast, One, Pow, Signed, ToPrimitive, Zero};
use wengert::prelude::*;

/// A method of one number, under each of the carriers.
struct Method {
    name: &'static str,
    plain: fn(f64) -> f64,
    var: fn(Var) -> Var,
    dual: fn(Dual) -> Dual,
}

/// The methods `$method` of `$trait`, and expressions of `x` for those that take more.
macro_rules! methods {
    ($bound:path; $($name:ident),* $(,)?; $($label:literal => |$x:ident| $body:expr),* $(,)?) => {
        [
            $({
                fn method<T: $bound + Copy>(x: T) -> T { x.$name() }
                Method { name: stringify!($name), plain: method::<f64>, var: method::<Var>, dual: method::<Dual> }
            },)*
            $({
                fn method<T: $bound + Copy>($x: T) -> T { $body }
                Method { name: $label, plain: method::<f64>, var: method::<Var>, dual: method::<Dual> }
            },)*
        ]
    };
}

/// Checks values and derivatives inside the domain, and the values at the edges.
#[track_caller]
fn check_methods(methods: &[Method]) {
    for &Method { name, plain, var, dual } in methods {
        // Inside the domain of every function but acosh, which asks for more than 1.
        for x in if name == "acosh" { [1.3, 2.6] } else { [0.3, 0.6] } {
            let (value, derivative) = value_and_grad(x, var);
            let forward = dual(Dual::variable(x));
            // A few functions are computed another way; none is off by more than 8 units.
            let near = |got: f64| (got - plain(x)).abs() <= 8.0 * f64::EPSILON * plain(x).abs();
            assert!(near(value) && near(forward.re()), "{name}({x}): {value} where f64 gives {}", plain(x));
            // Central differences: h^2 f'''/6 and ε f/h are below 1e-9 at these points.
            let h = 1e-5;
            let slope = (plain(x + h) - plain(x - h)) / (2.0 * h);
            let close = |got: f64| (got - slope).abs() <= 1e-8 * (1.0 + slope.abs());
            assert!(close(derivative) && close(forward.tangent()), "{name}'({x}): {derivative}, not {slope}");
        }
        for x in [0.0, -0.0, 0.5, -0.5, 1.5, 2.5, -2.5, 0.49999999999999994, f64::INFINITY, f64::NEG_INFINITY, f64::NAN]
        {
            let (wanted, got) = (plain(x), value_and_grad(x, var).0);
            let same = got == wanted && got.is_sign_negative() == wanted.is_sign_negative();
            let near = (got - wanted).abs() <= 8.0 * f64::EPSILON * wanted.abs();
            let both_nan = got.is_nan() && wanted.is_nan();
            assert!(same || near || both_nan, "{name}({x}): {got} where f64 gives {wanted}");
        }
    }
}

#[test]
fn floats_are_those_of_f64() {
    check_methods(&methods![Float;
        floor, ceil, round, trunc, fract, abs, signum, recip, sqrt, cbrt, exp, exp2, ln, log2, log10, sin, cos,
        tan, asin, acos, atan, sinh, cosh, tanh, asinh, acosh, atanh, exp_m1, ln_1p, to_degrees, to_radians;
        "powi" => |x| x.powi(3),
        "powf" => |x| x.powf(T::epsilon() + T::one()),
        "log" => |x| x.log(T::from(3.0).unwrap()),
        "hypot" => |x| x.hypot(T::one()),
        "atan2" => |x| x.atan2(T::one()),
        "copysign" => |x| x.copysign(-T::one()),
        "mul_add" => |x| x.mul_add(x, T::one()),
        "sin_cos" => |x| x.sin_cos().0 * x.sin_cos().1,
        "clamp" => |x| x.clamp(-T::one(), T::one()),
    ]);
}

#[test]
fn signed_numbers_are_those_of_f64() {
    check_methods(&methods![Signed; abs, signum; "abs_sub" => |x| x.abs_sub(&T::one())]);
}

/// The answers of `f64` and of both carriers to one question.
macro_rules! same_answers {
    ($x:expr; $($name:path),* $(,)?) => { $({
        let x: f64 = $x;
        let wanted = $name(x);
        let mut got = None;
        grad(x, |x| { got = Some($name(x)); x });
        assert_eq!(got, Some(wanted), "{}({x})", stringify!($name));
        assert_eq!($name(Dual::variable(x)), wanted, "{}({x}) of a Dual", stringify!($name));
    })* };
}

#[test]
fn questions_get_the_answers_of_f64() {
    let edges = [0.0, -0.0, 1.5, -2.5, 5e-324, 1e300, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, -f64::NAN];
    for x in edges {
        same_answers!(x;
            Float::is_nan, Float::is_finite, Float::is_infinite, Float::is_sign_negative,
            Float::is_sign_positive, Float::is_normal, Float::classify,
        );
        assert_eq!(Float::integer_decode(lift(x)), Float::integer_decode(x));
        // The sign of a zero or NaN is a question of bits to `f64`: these compare with 0.
        if x != 0.0 && !x.is_nan() {
            same_answers!(x; is_positive, is_negative);
        }
        same_answers!(x; is_zero, is_one);
    }
}

fn is_positive<T: Signed>(x: T) -> bool {
    x.is_positive()
}

fn is_negative<T: Signed>(x: T) -> bool {
    x.is_negative()
}

fn is_zero<T: Zero>(x: T) -> bool {
    x.is_zero()
}

fn is_one<T: One + PartialEq>(x: T) -> bool {
    x.is_one()
}

#[test]
fn conversions_go_in_as_constants_and_out_as_values() {
    assert_eq!(Var::from_str_radix("-2.5", 10).ok().map(Var::value), Some(-2.5));
    assert!(Var::from_str_radix("x", 10).is_err());
    assert_eq!(<Var as NumCast>::from(7u8).map(Var::value), Some(7.0));
    assert_eq!(Var::from_u64(1 << 60).map(Var::value), Some((1u64 << 60) as f64));
    assert_eq!(Dual::<f64>::from_i64(-3).map(Dual::re), Some(-3.0));
    assert_eq!((lift(-2.7).to_i32(), lift(-2.7).to_u32(), lift(1e30).to_i64()), (Some(-2), None, None));
    assert_eq!(lift(1e30).to_i128(), 1e30f64.to_i128());
    assert_eq!(<Var as Bounded>::max_value(), f64::MAX);
    assert_eq!(<Var as FloatConst>::PI(), std::f64::consts::PI);
    assert_eq!(grad(4.0, |x| x.inv() + Pow::pow(x, 2.5) + Pow::pow(x, 2) + Pow::pow(x, x)), {
        let power = 4f64.powf(4.0) * (4f64.ln() + 1.0);
        -1.0 / 16.0 + 2.5 * 8.0 + 8.0 + power
    });
    assert_eq!(format!("{} {:.1}", Dual::variable(2.5), Dual::<Dual>::constant(0.25)), "2.5 0.2");
    // What came out of a recording is a constant, so that it has to be asked for.
    assert_eq!(grad(3.0, |x| x * x.detach().to_f64().expect("a number")), 3.0);
}

#[test]
fn conversions_of_active_variables_name_the_line() {
    type Conversion = fn(Var) -> f64;
    let conversions: [Conversion; 7] = [
        |x| x.to_f64().expect("a number"),
        |x| x.to_f32().expect("a number").into(),
        |x| x.to_i32().expect("a number").into(),
        |x| x.to_usize().expect("a number") as f64,
        |x| x.to_u8().expect("a number").into(),
        |x| Float::integer_decode(x).0 as f64,
        |x| <f64 as NumCast>::from(x).expect("a number"),
    ];
    for (k, conversion) in conversions.into_iter().enumerate() {
        let panic = std::panic::catch_unwind(|| grad(3.0, |x| x * conversion(x))).expect_err("a number was taken out");
        let text = panic.downcast::<String>().expect("a message");
        assert!(text.starts_with("`to_f64` at") && text.contains("`detach()`"), "{k}: {text}");
        // `NumCast` is not ours, and calls for itself.
        let named = text.starts_with("`to_f64` at crates/wengert/tests/all/interop/numbers.rs:");
        assert!(k == 6 || named, "{k}: {text}");
        let steps = |x: Var| x * conversion(x.floor());
        assert_eq!(grad(3.0, steps), conversion(lift(3.0)), "{k}");
    }
}

#[test]
#[should_panic(expected = "takes a number out of a recorded function")]
fn a_conversion_inside_a_recording_is_refused() {
    record(3.0, |x: Var| x * x.to_f64().expect("a number"));
}

#[test]
fn questions_are_guards_of_a_recording() {
    let f = record(3.0, |x: Var| if Float::is_sign_negative(x) { -x } else { x * x });
    assert_eq!((f.grad(4.0), f.grad(-4.0), f.recordings()), (8.0, -1.0, 2));
}

mod real_fields {
    use nalgebra::RealField;
    use simba::scalar::{SubsetOf, SupersetOf};

    use super::*;

    #[test]
    fn real_fields_are_those_of_f64() {
        check_methods(&methods![RealField;
            floor, ceil, round, trunc, fract, abs, signum, recip, sqrt, cbrt, exp, exp2, ln, log2, log10, sin,
            cos, tan, asin, acos, atan, sinh, cosh, tanh, asinh, acosh, atanh, exp_m1, ln_1p, modulus, norm1,
            modulus_squared, argument, conjugate, real, imaginary;
            "powi" => |x| x.powi(3),
            "powf" => |x| x.powf(T::frac_pi_2()),
            "powc" => |x| x.powc(T::frac_pi_2()),
            "log" => |x| x.log(T::pi()),
            "hypot" => |x| x.hypot(T::one()),
            "atan2" => |x| x.atan2(T::one()),
            "copysign" => |x| x.copysign(-T::one()),
            "mul_add" => |x| x.mul_add(x, T::one()),
            "scale" => |x| x.scale(T::e()),
            "unscale" => |x| x.unscale(T::e()),
            "to_exp" => |x| x.to_exp().0 * x.to_exp().1,
            "to_polar" => |x| x.to_polar().0 + x.to_polar().1,
            "clamp" => |x| x.clamp(-T::one(), T::one()),
            "try_sqrt" => |x| x.try_sqrt().unwrap_or(T::zero()),
        ]);
    }

    #[test]
    fn cardinal_sines_have_their_derivatives_at_zero() {
        use nalgebra::ComplexField;
        let x: f64 = 0.7;
        let (sine, cosine) = (0.7f64.sin(), 0.7f64.cos());
        let close = |got: f64, wanted: f64| assert!((got - wanted).abs() < 8.0 * f64::EPSILON, "{got}, not {wanted}");
        for (name, f, plain, second) in [
            ("sinc", ComplexField::sinc as fn(Var) -> Var, sine / x, -1.0 / 3.0),
            ("sinhc", ComplexField::sinhc, 0.7f64.sinh() / x, 1.0 / 3.0),
        ] {
            close(value_and_grad(x, f).0, plain);
            assert_eq!(value_and_grad(0.0, f), (1.0, 0.0), "{name}");
            close(hessian(0.0, f), second);
        }
        let derivative = (cosine - sine / x) / x;
        close(grad(x, ComplexField::sinc), derivative);
        // Near zero, by their series.
        for x in [1e-300f64, 1e-8, -1e-5, 1e-3] {
            for (sign, f) in [(-1.0, ComplexField::sinc as fn(Var) -> Var), (1.0, ComplexField::sinhc)] {
                let slope = sign * x / 3.0 + x.powi(3) / 30.0 + sign * x.powi(5) / 840.0;
                let got = grad(x, f);
                assert!((got - slope).abs() <= 1e-14 * slope.abs(), "{x}: {got} instead of {slope}");
                close(hessian(x, f), sign / 3.0 + x * x / 10.0 + sign * x.powi(4) / 168.0);
            }
        }
        // On both sides of where the series ends, and far away.
        for x in [1.9f64, -1.9, 2.1, 5.0] {
            let (sine, cosine) = (x.sinh(), x.cosh());
            let slope = (cosine - sine / x) / x;
            let got = grad(x, ComplexField::sinhc);
            assert!((got - slope).abs() <= 1e-14 * slope.abs(), "{x}: {got} instead of {slope}");
            let second = sine / x - 2.0 * slope / x;
            let got = hessian(x, ComplexField::sinhc);
            assert!((got - second).abs() <= 1e-13 * second.abs(), "{x}: {got} instead of {second}");
        }
        for x in [1.9f64, 2.1, 1e8, 1e15] {
            let got = value_and_grad(x, ComplexField::sinc).0;
            assert!((got - x.sin() / x).abs() <= 4.0 * f64::EPSILON * got.abs(), "{x}: {got}");
        }
    }

    #[test]
    fn plain_numbers_are_a_subset() {
        let third: Dual = SupersetOf::from_subset(&3f32);
        assert_eq!((third.re(), third.tangent()), (3.0, 0.0));
        assert_eq!(<f64 as SubsetOf<Var>>::to_superset(&2.0).value(), 2.0);
        assert_eq!(SupersetOf::<f64>::to_subset(&Dual::variable(2.5)), Some(2.5));
        let converted = |x: Var| nalgebra::try_convert::<Var, f64>(x).expect("a number");
        assert_eq!(grad(2.0, |x| x * converted(x.detach())), 2.0);
        assert!(std::panic::catch_unwind(|| grad(2.0, |x| x * converted(x))).is_err());
    }

    #[test]
    fn approximate_comparisons_agree_with_f64() {
        use approx::{AbsDiffEq, RelativeEq, UlpsEq};
        let numbers =
            [0.0, 1.0, 1.0 + f64::EPSILON, 1.0 + 1e-9, -1.0, 1e300, f64::INFINITY, f64::NEG_INFINITY, f64::NAN];
        for x in numbers {
            for y in numbers {
                let (v, w) = (lift(x), lift(y));
                let (d, e) = (Dual::<f64>::variable(x), Dual::variable(y));
                let tolerance = 1e-10;
                let wanted = x.abs_diff_eq(&y, tolerance);
                assert_eq!((v.abs_diff_eq(&w, lift(tolerance)), d.abs_diff_eq(&e, tolerance.into())), (wanted, wanted));
                let wanted = x.relative_eq(&y, f64::EPSILON, tolerance);
                let of_dual = d.relative_eq(&e, f64::EPSILON.into(), tolerance.into());
                assert_eq!((v.relative_eq(&w, lift(f64::EPSILON), lift(tolerance)), of_dual), (wanted, wanted));
                let wanted = x.ulps_eq(&y, 0.0, 4);
                assert_eq!((v.ulps_eq(&w, lift(0.0), 4), d.ulps_eq(&e, 0.0.into(), 4)), (wanted, wanted));
            }
        }
    }
}
