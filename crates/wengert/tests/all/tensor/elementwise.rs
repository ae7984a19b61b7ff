//! Operators and functions element by element.

use wengert::prelude::*;
use wengert::{DType, Tensor};

use crate::support::caught::caught;

fn matrix() -> Tensor {
    Tensor::from([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
}

#[test]
fn operators_take_tensors_references_and_numbers_on_both_sides() {
    let (x, y) = (Tensor::from([6.0, 8.0]), Tensor::from([4.0, 3.0]));
    assert_eq!((&x + &y).to_vec(), [10.0, 11.0]);
    assert_eq!((x.clone() - &y).to_vec(), [2.0, 5.0]);
    assert_eq!((&x * y.clone()).to_vec(), [24.0, 24.0]);
    assert_eq!((x.clone() / y.clone()).to_vec(), [1.5, 8.0 / 3.0]);
    assert_eq!((&x % &y).to_vec(), [2.0, 2.0]);
    assert_eq!((2.0 * &x - 1.0).to_vec(), [11.0, 15.0]);
    assert_eq!((1.0 / (x.clone() * 0.5)).to_vec(), [1.0 / 3.0, 0.25]);
    assert_eq!((-(-&x)).to_vec(), [6.0, 8.0]);
    // The result of an operator with a number has its methods at once.
    assert_eq!((x * 0.5).square().to_vec(), [9.0, 16.0]);
    let mut z = y;
    z += 1.0;
    z *= Tensor::from([2.0, 3.0]);
    z -= &Tensor::from(1.0);
    z /= 3.0;
    assert_eq!(z.to_vec(), [3.0, 11.0 / 3.0]);
}

#[test]
fn shapes_stretch_to_each_other() {
    let column = Tensor::from([[10.0], [20.0]]);
    let row = Tensor::from([1.0, 2.0, 3.0]);
    let sum = &column + &row;
    assert_eq!((sum.shape(), sum.to_vec()), (&[2, 3][..], vec![11.0, 12.0, 13.0, 21.0, 22.0, 23.0]));
    assert_eq!((&column - matrix()).to_vec(), [9.0, 8.0, 7.0, 16.0, 15.0, 14.0]);
    assert_eq!((Tensor::from(1.0) + matrix()).shape(), [2, 3]);
    assert_eq!((Tensor::zeros(&[0, 3]) + Tensor::zeros(&[1, 3])).shape(), [0, 3]);
    assert_eq!((Tensor::zeros(&[4, 1, 2]) * Tensor::ones(&[3, 1])).shape(), [4, 3, 2]);
}

#[test]
fn numbers_take_the_element_type_of_the_tensor() {
    let single = Tensor::from([1f32, 2.0]);
    assert_eq!((2.0 * &single).dtype(), DType::F32);
    assert_eq!(single.maximum(1.5f32).to_vec(), [1.5, 2.0]);
    let whole = Tensor::from([7i64, -7]);
    assert_eq!((2 * &whole + 1).to_vec(), [15.0, -13.0]);
    assert_eq!((&whole % 4).to_vec(), [3.0, -3.0]);
    assert_eq!((3 * single).to_vec(), [3.0, 6.0]);
    assert_eq!((&whole + i64::MAX).to_array().elements::<i64>(), Some(&[i64::MIN + 6, i64::MAX - 7][..]));
}

#[test]
fn comparisons_logic_and_choice() {
    let x = Tensor::from([-1.0, 0.0, f64::NAN, 2.0]);
    let positive = x.gt(0.0);
    assert_eq!(positive.to_array().elements::<bool>(), Some(&[false, false, false, true][..]));
    assert_eq!(x.is_nan().or(&positive).to_vec(), [0.0, 0.0, 1.0, 1.0]);
    assert_eq!(positive.not().and(x.le(0.0)).to_vec(), [1.0, 1.0, 0.0, 0.0]);
    assert_eq!(x.is_nan().where_(9.0, &x).to_vec(), [-1.0, 0.0, 9.0, 2.0]);
    assert_eq!(positive.where_(1, 0).dtype(), DType::I64);
    assert_eq!(positive.where_(1, 0.5).dtype(), DType::F64);
    assert_eq!(Tensor::from([[true], [false]]).where_(Tensor::from([1.0, 2.0]), 0.0).shape(), [2, 2]);
    assert_eq!(Tensor::from([-2.0, 0.5, 3.0]).clamp(0.0, 1.0).to_vec(), [0.0, 0.5, 1.0]);
    assert_eq!(Tensor::from([-2i64, 5]).clamp(0, 3).to_vec(), [0.0, 3.0]);
}

#[test]
fn functions_agree_with_those_of_numbers() {
    let points = [0.3, 0.9, 1.7];
    let x = Tensor::from(points);
    let map = |f: fn(f64) -> f64| points.map(f).to_vec();
    // The engine has vector functions of its own; theirs and the standard library's errors together are below four units
    // in the last place.
    let close = |got: Tensor, wanted: Vec<f64>| {
        for (got, wanted) in got.to_vec().into_iter().zip(wanted) {
            assert!((got - wanted).abs() <= 4.0 * f64::EPSILON * wanted.abs(), "{got} and {wanted}");
        }
    };
    close(x.tanh(), map(f64::tanh));
    close(x.powi(3), map(|x| x.powi(3)));
    assert_eq!(x.powi(1).to_vec(), points);
    close(x.powf(0.5), map(|x| x.powf(0.5)));
    assert_eq!((-&x).leaky_relu(0.1).to_vec(), map(|x| Real::leaky_relu(-x, 0.1)));
    close(x.log_sigmoid(), map(Real::log_sigmoid));
    assert_eq!(x.elu().to_vec(), points);
    assert_eq!((&x * 5.0).relu6().to_vec(), [1.5, 4.5, 6.0]);
    assert_eq!(x.lerp(&x + 2.0, 0.5).to_vec(), map(|x| x + 0.5 * (x + 2.0 - x)));
    close(x.hypot(2.0), map(|x| x.hypot(2.0)));
}

/// The message of an error, and whether it names this file.
fn message(error: wengert::Error) -> String {
    let text = error.to_string();
    let here = error.line().expect("the line is known");
    assert_eq!(here.file(), file!(), "{text}");
    text
}

#[test]
fn errors_name_the_operation_the_types_and_the_line() {
    let (x, y) = (matrix(), Tensor::zeros(&[4]));
    let line = line!() + 1;
    let error = x.try_add(&y).unwrap_err();
    assert_eq!(error.line().map(|line| line.line()), Some(line));
    let text = message(error);
    assert!(text.starts_with("`add` of f64[2,3] and f64[4] at "), "{text}");
    assert!(text.contains("3 long in one and 4 in the other"), "{text}");
    for error in [
        x.try_add(Tensor::from([1i64])).unwrap_err(),
        Tensor::from([1i64]).try_mul(0.5).unwrap_err(),
        Tensor::from([1i64]).try_sin().unwrap_err(),
        Tensor::from([1i64]).try_elu().unwrap_err(),
        x.try_where(1.0, 2.0).unwrap_err(),
        x.try_not().unwrap_err(),
        x.try_eq(true).unwrap_err(),
        x.try_sum_over(2).unwrap_err(),
        x.try_clamp(0.0, &y).unwrap_err(),
        Tensor::try_from_vec(&[3], vec![1.0]).unwrap_err(),
        Tensor::try_zeros(&[1 << 40, 1 << 40]).unwrap_err(),
    ] {
        message(error);
    }
}

#[test]
fn panics_carry_the_message_and_the_line() {
    let failed = std::panic::catch_unwind(|| matrix() + Tensor::zeros(&[4]));
    let text = failed.unwrap_err().downcast::<String>().expect("a message");
    assert!(text.starts_with("`add` of f64[2,3] and f64[4] at "), "{text}");
    assert!(text.contains(file!()), "{text}");
    let failed = std::panic::catch_unwind(|| 1.5 - Tensor::from([1i64]));
    let text = failed.unwrap_err().downcast::<String>().expect("a message");
    assert!(text.starts_with("`sub` of i64[1] at ") && text.contains(file!()), "{text}");
}

/// A function of several arguments on numbers, on variables, on tensors; whether the order of its arguments matters.
type Named = (&'static str, fn([f64; 3]) -> f64, fn([Var; 3]) -> Var, fn([Tensor; 3]) -> Tensor, bool);

/// The functions by their names on numbers and on tensors, called with the same arguments in the same order.
macro_rules! named {
    ($($number:ident $tensor:ident ($x:literal $(, $y:literal)+) $ordered:literal;)*) => { &[$((
        stringify!($number),
        |x: [f64; 3]| Real::$number(x[$x] $(, x[$y])+),
        |x: [Var; 3]| Real::$number(x[$x] $(, x[$y])+),
        |x: [Tensor; 3]| Tensor::$tensor(&x[$x] $(, &x[$y])+),
        $ordered,
    )),*] };
}

/// Functions of several arguments that numbers and tensors both have. The methods of those of two arguments come from one
/// list on both sides; these are cases of it.
const NAMED: &[Named] = named! {
    pow pow(0, 1) true;
    atan2 atan2(0, 1) true;
    hypot hypot(0, 1) false;
    max maximum(0, 1) false;
    min minimum(0, 1) false;
    copysign copysign(0, 1) true;
    logaddexp logaddexp(0, 1) false;
    xlogy xlogy(0, 1) true;
    xlog1py xlog1py(0, 1) true;
    betaln betaln(0, 1) false;
    clamp_to clamp(0, 1, 2) false;
    lerp lerp(0, 1, 2) true;
};

#[test]
fn arguments_have_one_order_on_numbers_and_tensors() {
    let orders = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];
    let close = |name: &str, got: f64, wanted: f64| {
        assert!((got - wanted).abs() <= 8.0 * f64::EPSILON * wanted.abs(), "{name}: {got}, not {wanted}");
    };
    for &(name, numbers, vars, tensors, ordered) in NAMED {
        let mut values = Vec::new();
        for order in orders {
            let x = order.map(|k| [0.7, 1.9, 2.3][k]);
            let (value, gradient) = value_and_grad(x, &vars);
            let (of_tensors, slopes) = value_and_grad(x.map(Tensor::from), &tensors);
            close(name, value, numbers(x));
            close(name, of_tensors.item(), numbers(x));
            for (slope, wanted) in slopes.iter().zip(gradient) {
                close(name, slope.item(), wanted);
            }
            values.push(value);
        }
        // The order of the first two matters where it is said to, so that a change of roles would show.
        let changes = [[0, 2], [1, 4], [3, 5]].iter().any(|&[k, swapped]| values[k] != values[swapped]);
        assert_eq!(changes, ordered, "{name}: {values:?}");
    }
    let [x, y] = [-7.25, 2.0];
    for (op, of_numbers, of_tensors) in [
        ("-", x - y, Tensor::from(x) - y),
        ("/", x / y, Tensor::from(x) / y),
        ("%", x % y, Tensor::from(x) % y),
        ("from the left -", y - x, y - Tensor::from(x)),
        ("from the left /", y / x, y / Tensor::from(x)),
        ("powf", Real::powf(-x, y), (-Tensor::from(x)).powf(y)),
        ("powi", Real::powi(x, 3), Tensor::from(x).powi(3)),
        ("polygamma", Real::polygamma(y, 1), Tensor::from(y).polygamma(1)),
        ("leaky_relu", Real::leaky_relu(x, 0.1), Tensor::from(x).leaky_relu(0.1)),
        ("select", Real::select(true, x, y), Tensor::from(true).where_(x, y)),
    ] {
        close(op, of_tensors.item(), of_numbers);
    }
}

#[test]
fn of_bounds_that_cross_the_upper_one_counts() {
    let (x, low, high) = ([-1.0, 0.2, 1.0, 3.0, f64::NAN], [0.0, 2.0, 1.5, 2.5, 2.0], [1.0, 0.5, 0.5, 2.5, 1.0]);
    // Which of the three is the result: inside, the lower bound, or the upper one.
    let expected = [(0.0, [0.0, 1.0, 0.0]), (0.5, [0.0, 0.0, 1.0]), (0.5, [0.0, 0.0, 1.0]), (2.5, [0.0, 0.0, 1.0])];
    let [xs, lows, highs] = [x, low, high].map(Tensor::from);
    let values = xs.clamp(&lows, &highs).to_vec();
    let slopes = grad((&xs, &lows, &highs), |(x, low, high)| x.clamp(low, high).sum());
    let slopes = [slopes.0.to_vec(), slopes.1.to_vec(), slopes.2.to_vec()];
    for (k, (value, slope)) in expected.into_iter().enumerate() {
        assert_eq!(values[k], value);
        assert_eq!([0, 1, 2].map(|of| slopes[of][k]), slope, "{k}");
        assert_eq!(grad([x[k], low[k], high[k]], |[x, low, high]: [Var; 3]| x.clamp(low, high)), slope, "{k}");
        assert_eq!(Real::clamp_to(x[k], low[k], high[k]), value);
    }
    assert!(values[4].is_nan() && Real::clamp_to(x[4], low[4], high[4]).is_nan());
    // Numbers are known when they are written.
    for (low, high) in [(1.5, 0.5), (f64::NAN, 1.0), (0.0, f64::NAN)] {
        let error = xs.try_clamp(low, high).unwrap_err().to_string();
        assert!(error.starts_with("`clamp` of f64[5] at ") && error.contains(file!()), "{error}");
        assert!(
            error.ends_with(&format!(
                "the bounds are {low:?} and {high:?}, and the lower one must not be above the other"
            ))
        );
        let message = caught("scalar", || grad(1.0, |x: Var| x.clamp(low, high))).unwrap_err();
        assert!(message.contains("clamp: the bounds are"), "{message}");
    }
    assert_eq!(xs.clamp(0.5, 0.5).to_vec()[..4], [0.5; 4]);
}
