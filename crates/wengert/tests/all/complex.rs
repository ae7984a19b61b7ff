//! Complex numbers and tensors: values against identities and tables, cuts, derivatives of every mode and order, conventions.

mod cancelled;
mod edges;

use std::f64::consts::{FRAC_PI_2, FRAC_PI_4, PI};

use wengert::prelude::*;
use wengert::{ComplexProducts, DType, Error, holomorphic_grad, try_holomorphic_grad};

use crate::nn::support::{check_derivatives, check_single, close, points};
use crate::support::caught::caught;

/// A function of one complex number, over any carrier and over tensors.
macro_rules! both {
    ($name:ident) => {
        (stringify!($name), |z: Complex<f64>| z.$name(), |z: Complex<Var>| z.$name(), |z: &Complex<Tensor>| z.$name())
    };
}

type Functions = (
    &'static str,
    fn(Complex<f64>) -> Complex<f64>,
    fn(Complex<Var>) -> Complex<Var>,
    fn(&Complex<Tensor>) -> Complex<Tensor>,
);

fn functions() -> [Functions; 18] {
    [
        both!(square),
        both!(recip),
        both!(exp),
        both!(ln),
        both!(sqrt),
        both!(sin),
        both!(cos),
        both!(tan),
        both!(sinh),
        both!(cosh),
        both!(tanh),
        both!(asin),
        both!(acos),
        both!(atan),
        both!(asinh),
        both!(acosh),
        both!(atanh),
        ("powf", |z| z.powf(0.7), |z| z.powf(0.7), |z| z.powf(0.7)),
    ]
}

/// Points in every quadrant, inside and outside of the unit circle, none on a cut.
fn samples() -> Vec<Complex<f64>> {
    let parts = [0.3, 0.9, 1.7];
    let signs = [1.0, -1.0];
    let mut points = Vec::new();
    for (re, im) in parts.into_iter().flat_map(|re| [0.2, 1.4].map(|im| (re, im))) {
        points.extend(signs.into_iter().flat_map(|a| signs.map(|b| Complex::new(a * re, b * im))));
    }
    points
}

fn tensor(points: &[Complex<f64>]) -> Complex<Tensor> {
    let part = |f: fn(&Complex<f64>) -> f64| Tensor::from(points.iter().map(f).collect::<Vec<f64>>());
    Complex::new(part(|z| z.re), part(|z| z.im))
}

fn list(z: &Complex<Tensor>) -> Vec<Complex<f64>> {
    z.re.to_vec().into_iter().zip(z.im.to_vec()).map(|(re, im)| Complex::new(re, im)).collect()
}

#[track_caller]
fn near(got: Complex<f64>, want: Complex<f64>, ulps: f64, what: &str) {
    assert!((got - want).abs() <= ulps * f64::EPSILON * want.abs(), "{what}: {got} is not {want}");
}

fn pair(x: &[Tensor]) -> Complex<Tensor> {
    Complex::new(x[0].clone(), x[1].clone())
}

// ---- values -------------------------------------------------------------------------------------

/// `f(g(z)) = z` on the sheet of g, with the conditioning of f as it is.
#[test]
fn inverses_undo_functions() {
    type Function = fn(Complex<f64>) -> Complex<f64>;
    let pairs: [(&str, Function, Function); 8] = [
        ("sin asin", |z| z.sin(), |z| z.asin()),
        ("cos acos", |z| z.cos(), |z| z.acos()),
        ("tan atan", |z| z.tan(), |z| z.atan()),
        ("sinh asinh", |z| z.sinh(), |z| z.asinh()),
        ("cosh acosh", |z| z.cosh(), |z| z.acosh()),
        ("tanh atanh", |z| z.tanh(), |z| z.atanh()),
        ("exp ln", |z| z.exp(), |z| z.ln()),
        ("square sqrt", |z| z.square(), |z| z.sqrt()),
    ];
    for (name, f, g) in pairs {
        for z in samples() {
            near(f(g(z)), z, 40.0, &format!("{name} at {z}"));
        }
    }
}

#[test]
fn identities() {
    for z in samples() {
        let i = Complex::<f64>::i();
        // Left of the imaginary axis the sum cancels: it is as good as its terms.
        assert!((z.cosh() + z.sinh() - z.exp()).abs() <= 8.0 * f64::EPSILON * (z.cosh().abs() + z.sinh().abs()), "exp");
        near(z.sin().square() + z.cos().square(), Complex::new(1.0, 0.0), 80.0, "sine and cosine");
        near((i * z).exp(), z.cos() + i * z.sin(), 40.0, "Euler");
        near(z.tan(), z.sin() / z.cos(), 40.0, "tan");
        near(z.tanh(), z.sinh() / z.cosh(), 40.0, "tanh");
        near(z.recip() * z, Complex::new(1.0, 0.0), 4.0, "recip");
        near(z.powi(5), z * z * z * z * z, 20.0, "powi");
        near(z.powi(-3), (z * z * z).recip(), 20.0, "powi");
        near(z.powf(3.0), z * z * z, 20.0, "powf of a whole number");
        near(z.powf(0.5), z.sqrt(), 20.0, "powf");
        near(z.powc(Complex::new(0.5, 0.0)), z.sqrt(), 20.0, "powc");
        near(Complex::<f64>::from_polar(z.abs(), z.arg()), z, 8.0, "polar form");
        near(z.conj() * z, Complex::from(z.norm_sqr()), 4.0, "norm");
        near(z / (3.0 - 2.0 * z), z * (3.0 - 2.0 * z).recip(), 8.0, "quotient");
    }
    assert_eq!(Complex::new(0.0, 0.0).powi(0), Complex::new(1.0, 0.0));
    assert_eq!([1.0, 2.0].map(|x| Complex::new(x, 1.0)).into_iter().sum::<Complex<f64>>(), Complex::new(3.0, 2.0));
    assert_eq!([1.0, 2.0].map(|x| Complex::new(0.0, x)).into_iter().product::<Complex<f64>>(), Complex::new(-2.0, 0.0));
}

/// On a cut the sign of a zero names the side (C99, annex G.6): values at both sides.
#[test]
fn branch_cuts_are_continuous_from_the_side_of_the_zero() {
    let tiny = 1e-14;
    let i = Complex::<f64>::i();
    type Function = fn(Complex<f64>) -> Complex<f64>;
    let real: [(&str, Function, &[f64]); 6] = [
        ("ln", |z| z.ln(), &[-2.0]),
        ("sqrt", |z| z.sqrt(), &[-2.0]),
        ("asin", |z| z.asin(), &[-2.0, 2.0]),
        ("acos", |z| z.acos(), &[-2.0, 2.0]),
        ("acosh", |z| z.acosh(), &[-2.0, 0.5]),
        ("atanh", |z| z.atanh(), &[-2.0, 2.0]),
    ];
    for (name, f, places) in real {
        for (&x, side) in places.iter().flat_map(|x| [1.0, -1.0].map(|side| (x, side))) {
            let (on, beside) = (f(Complex::new(x, side * 0.0)), f(Complex::new(x, side * tiny)));
            assert!((on - beside).abs() < 1e-13, "{name} at {x}, side {side}: {on} and {beside}");
            let other = f(Complex::new(x, -side * 0.0));
            assert!((on - other).abs() > 0.5, "{name} at {x} has a cut: {on} and {other}");
            assert!((on - other.conj()).abs() < 1e-15, "{name} at {x}: {on} and {other} are conjugates");
        }
    }
    let imaginary: [(&str, Function); 2] = [("atan", |z| z.atan()), ("asinh", |z| z.asinh())];
    for (name, f) in imaginary {
        for (y, side) in [-2.0, 2.0].into_iter().flat_map(|y| [1.0, -1.0].map(|side| (y, side))) {
            let (on, beside) = (f(Complex::new(side * 0.0, y)), f(Complex::new(side * tiny, y)));
            assert!((on - beside).abs() < 1e-13, "{name} at {y}i, side {side}: {on} and {beside}");
            assert!((on - f(Complex::new(-side * 0.0, y))).abs() > 0.5, "{name} at {y}i has a cut");
        }
    }
    assert_eq!(Complex::new(-1.0, 0.0).arg(), PI);
    assert_eq!(Complex::new(-1.0, -0.0).arg(), -PI);
    assert_eq!(Complex::new(0.0, -0.0).sqrt().im.to_bits(), (-0.0f64).to_bits());
    assert_eq!(Complex::new(2.0, 0.0).asin().re, FRAC_PI_2);
    near(Complex::new(2.0, -0.0).asin(), Complex::new(FRAC_PI_2, -(2.0 + 3f64.sqrt()).ln()), 4.0, "asin below its cut");
    near(i.asinh(), Complex::new(0.0, FRAC_PI_2), 4.0, "asinh i");
}

#[test]
fn nothing_overflows_that_need_not() {
    let (large, small) = (Complex::new(3e300, -4e300), Complex::new(3e-310, 4e-310));
    assert_eq!(large.abs(), 5e300);
    assert!((small.abs() / 5e-310 - 1.0).abs() < 1e-12);
    near(large / large, Complex::new(1.0, 0.0), 2.0, "quotient");
    near(large.recip() * 1e300, Complex::new(0.12, 0.16), 4.0, "recip");
    near(large.sqrt().square() * 1e-300, large * 1e-300, 8.0, "sqrt");
    near(large.ln(), Complex::new(5e300f64.ln(), -(4f64.atan2(3.0))), 4.0, "ln");
    for x in [800.0, -800.0] {
        assert_eq!(Complex::new(x, 0.5).tanh().re, x.signum());
        assert_eq!(Complex::new(0.5, x).tan().im, x.signum());
    }
    // An inverse of a large number is a logarithm of it.
    assert!((Complex::new(1e10, 1.0).asinh().re - (2e10f64).ln()).abs() < 1e-14);
}

/// Numbers of mpmath: the argument, the value, the first and the second derivative.
type Row = [(f64, f64); 4];

#[track_caller]
fn each_near(got: Complex<f64>, want: (f64, f64), what: &str) {
    for (got, want) in [(got.re, want.0), (got.im, want.1)] {
        // Below the normal numbers digits are few.
        assert!((got - want).abs() <= 32.0 * f64::EPSILON * want.abs() + 1e-322, "{what}: {got:e} is not {want:e}");
    }
}

/// Real and imaginary part apart, each to its own digits: far out a derivative by the imaginary part is as small as that by the
/// real one.
#[test]
fn tanh_and_tan_keep_their_digits_far_from_the_poles() {
    let rows: [Row; 5] = [
        [
            (19.0, 0.5),
            (1.0, 5.282978323934834e-17),
            (6.784322743879368e-17, -1.0565956647869668e-16),
            (-1.3568645487758736e-16, 2.1131913295739335e-16),
        ],
        [
            (20.0, 0.5),
            (1.0, 7.149733678026063e-18),
            (9.181582401115077e-18, -1.4299467356052125e-17),
            (-1.8363164802230153e-17, 2.859893471210425e-17),
        ],
        [
            (-20.0, 1.25),
            (-1.0, 5.0850433601550496e-18),
            (-1.3614167552834018e-17, 1.0170086720310099e-17),
            (-2.7228335105668037e-17, 2.0340173440620198e-17),
        ],
        [
            (1e-3, 1.5),
            (0.1998102456600794, 14.09860233992712),
            (199.73066380512776, -5.634090394009217),
            (-238.68206602618514, -5629.5949101849465),
        ],
        [
            (0.75, 1.5),
            (1.5628689818694737, 0.10358061868779705),
            (-1.431830509921978, -0.3237658721400151),
            (4.408455243810308, 1.3086270580586599),
        ],
    ];
    for [(re, im), value, slope, second] in rows {
        let z = Complex::new(re, im);
        let what = format!("tanh {z}");
        each_near(z.tanh(), value, &what);
        // Each part by each part: du/dre, du/dim, dv/dre, dv/dim.
        each_near(grad(z, |z| z.tanh().re), (slope.0, -slope.1), &what);
        each_near(grad(z, |z| z.tanh().im), (slope.1, slope.0), &what);
        let forward = |direction| jvp(z, direction, |z| z.tanh()).1;
        each_near(forward(Complex::new(1.0, 0.0)), slope, &what);
        each_near(forward(Complex::new(0.0, 1.0)), (-slope.1, slope.0), &what);
        each_near(holomorphic_grad(z, |z| z.tanh()), slope, &what);
        each_near(holomorphic_grad(z, |z| holomorphic_grad(z, |z| z.tanh())), second, &what);
        let array = tensor(&[z]);
        each_near(list(&array.tanh())[0], value, &what);
        each_near(list(&grad(&array, |z| z.tanh().re.sum()))[0], (slope.0, -slope.1), &what);
        // tan (z / i) = tanh z / i, with the same derivative.
        let turned = Complex::new(im, -re);
        each_near(turned.tan(), (value.1, -value.0), &what);
        each_near(holomorphic_grad(turned, |z| z.tan()), slope, &what);
    }
    for x in [400.0, 1e10, 1e300, f64::INFINITY] {
        let z = Complex::new(-x, 0.5);
        assert_eq!((z.tanh().re, z.tanh().im.abs()), (-1.0, 0.0));
        assert!(holomorphic_grad(z, |z| z.tanh()).abs() == 0.0);
    }
    let signs = |z: Complex<f64>| (z.tanh().re.is_sign_negative(), z.tanh().im.is_sign_negative());
    assert_eq!(signs(Complex::new(-0.0, 0.5)), (true, false));
    assert_eq!(signs(Complex::new(0.5, -0.0)), (false, true));
}

/// The value and the derivative of `atanh`, and those of `atan`, where squares overflow or underflow.
#[test]
fn atanh_and_atan_at_the_ends_of_the_range() {
    let rows: [[(f64, f64); 3]; 11] = [
        [(1e160, 1.0), (1e-160, FRAC_PI_2), (-1e-320, 0.0)],
        [(1.0, 1e160), (1e-320, FRAC_PI_2), (1e-320, 0.0)],
        [(-1e155, 3e154), (-9.174311926605505e-156, FRAC_PI_2), (-7.659287938726e-311, -5.0500799595993e-311)],
        [(3e300, -4e300), (1.2e-301, -FRAC_PI_2), (0.0, 0.0)],
        // At the seam, where the digits of the smaller part are those of the larger one.
        [(5e8, 5e8), (1e-9, 1.5707963257948967), (0.0, 2e-18)],
        [(2e9, -1.0), (5e-10, -FRAC_PI_2), (-2.5e-19, -2.5e-28)],
        [(1.0, 1e-300), (345.73433753938684, FRAC_PI_4), (0.25, 4.9999999999999995e299)],
        [(-1.0, 1e-200), (-230.60508288968455, FRAC_PI_4), (0.25, -5e199)],
        [
            (1.0 - 1.0 / (1u64 << 40) as f64, -1e-30),
            (14.20951720147865, -5.4975581388825e-19),
            (549755813888.25, -6.044629098073146e-7),
        ],
        [(1.25, 0.25), (0.928393016676077, 1.2334258556831204), (-0.7804878048780488, 0.975609756097561)],
        [(1e-300, 1.0), (5e-301, FRAC_PI_4), (0.5, 0.0)],
    ];
    let near = |got: Complex<f64>, want: (f64, f64), what: &str| {
        let want = Complex::new(want.0, want.1);
        let off = (got - want).abs();
        assert!(off <= 16.0 * f64::EPSILON * want.abs() + 1e-322, "{what}: {got:?} is not {want:?}");
    };
    for [(re, im), value, slope] in rows {
        let (z, turned) = (Complex::new(re, im), Complex::new(im, -re));
        let what = format!("atanh {re:e} + {im:e} i");
        each_near(z.atanh(), value, &what);
        each_near(turned.atan(), (value.1, -value.0), &what);
        near(holomorphic_grad(z, |z| z.atanh()), slope, &what);
        near(holomorphic_grad(turned, |z| z.atan()), slope, &what);
        near(jvp(z, Complex::new(1.0, 0.0), |z| z.atanh()).1, slope, &what);
        near(jvp(turned, Complex::new(1.0, 0.0), |z| z.atan()).1, slope, &what);
        let array = tensor(&[z, turned]);
        each_near(list(&array.atanh())[0], value, &what);
        each_near(list(&array.atan())[1], (value.1, -value.0), &what);
        near(list(&grad(&array, |z| z.atanh().re.slice(0)))[0], (slope.0, -slope.1), &what);
        near(list(&grad(&array, |z| z.atan().re.slice(1)))[1], (slope.0, -slope.1), &what);
    }
    near(Complex::new(1e-300, 1.0).atan(), (FRAC_PI_4, 345.73433753938684), "atan");
    assert_eq!(Complex::new(1.0, 0.0).atanh(), Complex::new(f64::INFINITY, 0.0));
    let infinite = f64::INFINITY;
    for z in [Complex::new(infinite, 1.0), Complex::new(1.0, infinite), Complex::new(1e308, 1e308)] {
        assert_eq!(z.atanh().im, FRAC_PI_2);
        assert!(z.atanh().re >= 0.0 && z.atanh().re < 1e-307);
        assert_eq!(z.conj().atanh().im, -FRAC_PI_2);
    }
    // Far out too, the sign of a zero is kept, and names the side of a cut.
    assert!(Complex::new(-0.0, 1e10).atanh().re.is_sign_negative());
    assert!(Complex::new(0.0, 1e10).atanh().re.is_sign_positive());
    assert_eq!(Complex::new(1e10, -0.0).atanh().im, -FRAC_PI_2);
    assert_eq!(Complex::new(-1e10, 0.0).atanh().im, FRAC_PI_2);
}

#[test]
fn tensors_have_the_values_of_numbers() {
    let (points, z) = (samples(), tensor(&samples()));
    for (name, number, _, array) in functions() {
        for (got, z) in list(&array(&z)).into_iter().zip(&points) {
            near(got, number(*z), 16.0, &format!("{name} of {z}"));
        }
    }
    close(&z.abs().to_vec(), &points.iter().map(|z| z.abs()).collect::<Vec<f64>>(), 4.0);
    close(&z.arg().to_vec(), &points.iter().map(|z| z.arg()).collect::<Vec<f64>>(), 4.0);
    let w = Complex::new(0.3, -0.8);
    for (got, z) in list(&z.powc(w)).into_iter().zip(&points) {
        near(got, z.powc(w), 16.0, "powc");
    }
}

/// Every combination of operands, against numbers.
#[test]
fn operators_take_numbers_and_tensors_on_both_sides() {
    let (a, b) = (Complex::new(1.5, -0.5), Complex::new(0.25, 2.0));
    let (z, w) = (tensor(&[a, b]), tensor(&[b, a]));
    let (x, k) = (Tensor::from([2.0, -3.0]), Complex::new(0.5, 0.75));
    macro_rules! check {
        ($op:tt) => {
            let numbers = |f: &dyn Fn(Complex<f64>, Complex<f64>, f64) -> Complex<f64>| [f(a, b, 2.0), f(b, a, -3.0)];
            let cases = [
                (&z $op &w, numbers(&|z, w, _| z $op w)),
                (z.clone() $op w.clone(), numbers(&|z, w, _| z $op w)),
                (&z $op &x, numbers(&|z, _, x| z $op x)),
                (&x $op &z, numbers(&|z, _, x| x $op z)),
                (x.clone() $op z.clone(), numbers(&|z, _, x| x $op z)),
                (&z $op k, numbers(&|z, _, _| z $op k)),
                (k $op &z, numbers(&|z, _, _| k $op z)),
                (&z $op 2.5, numbers(&|z, _, _| z $op 2.5)),
                (2.5 $op z.clone(), numbers(&|z, _, _| 2.5 $op z)),
            ];
            for (number, (got, want)) in cases.into_iter().enumerate() {
                for (got, want) in list(&got).into_iter().zip(want) {
                    near(got, want, 4.0, &format!("case {number} of {}", stringify!($op)));
                }
            }
        };
    }
    check!(+);
    check!(-);
    check!(*);
    check!(/);
    let mut sum = z.clone();
    sum += &w;
    sum -= 1.0;
    sum *= k;
    sum /= &x;
    let want = (a + b - 1.0) * k / 2.0;
    near(list(&sum)[0], want, 4.0, "assigning");
    near(list(&-&z)[0], -a, 0.0, "neg");
    // Real operands of other shapes stretch.
    assert_eq!((&z * Tensor::ones(&[3, 1])).shape(), [3, 2]);
    // A real factor is not multiplied by an imaginary part that is not there.
    let infinite = Tensor::from([f64::INFINITY, 1.0]);
    assert_eq!(list(&(Complex::new(x.clone(), x) * infinite))[0], Complex::new(f64::INFINITY, f64::INFINITY));
}

// ---- products and layout ------------------------------------------------------------------------

fn matrices() -> [Complex<Tensor>; 2] {
    [
        Complex::new(points(1, &[2, 3, 4]), points(2, &[2, 3, 4])),
        Complex::new(points(3, &[2, 4, 5]), points(4, &[2, 4, 5])),
    ]
}

#[test]
fn matrix_products_are_sums_of_products() {
    let [z, w] = matrices();
    let product = z.matmul(&w);
    let (left, right, got) = (list(&z), list(&w), list(&product));
    for batch in 0..2 {
        for (i, j) in (0..3).flat_map(|i| (0..5).map(move |j| (i, j))) {
            let terms = (0..4).map(|k| left[(batch * 3 + i) * 4 + k] * right[(batch * 4 + k) * 5 + j]);
            let want: Complex<f64> = terms.sum();
            assert!((got[(batch * 3 + i) * 5 + j] - want).abs() < 1e-14);
        }
    }
    let three = z.matmul_by(&w, ComplexProducts::Three);
    close(&three.re.to_vec(), &product.re.to_vec(), 16.0);
    close(&three.im.to_vec(), &product.im.to_vec(), 32.0);
    let labelled = Complex::einsum("bij,bjk->bik", &[&z, &w]);
    close(&labelled.re.to_vec(), &product.re.to_vec(), 8.0);
    close(&labelled.im.to_vec(), &product.im.to_vec(), 8.0);
    let real = z.matmul(&w.re);
    close(&real.im.to_vec(), &z.im.matmul(&w.re).to_vec(), 0.0);
    let chain = Complex::einsum("bij,bjk,bkl->bil", &[&z, &w, &w.swap_axes(-1, -2)]);
    let steps = product.matmul(w.swap_axes(-1, -2));
    close(&chain.re.to_vec(), &steps.re.to_vec(), 16.0);
    close(&chain.im.to_vec(), &steps.im.to_vec(), 16.0);
    let inner = z.vdot(&z);
    close(&[inner.re.item(), inner.im.item()], &[z.norm_sqr().sum().item(), 0.0], 8.0);
}

#[test]
fn layout_is_that_of_both_parts() {
    let [z, _] = matrices();
    assert_eq!((z.shape(), z.rank(), z.size(), z.dtype()), (&[2, 3, 4][..], 3, 24, DType::F64));
    assert_eq!(z.reshape(&[6, -1]).shape(), [6, 4]);
    assert_eq!(z.slice((1, .., 1..)).im.to_vec(), z.im.slice((1, .., 1..)).to_vec());
    assert_eq!(z.h().shape(), [2, 4, 3]);
    assert_eq!(z.h().im.to_vec(), (-z.im.swap_axes(1, 2)).to_vec());
    assert_eq!(z.sum_over(1).re.to_vec(), z.re.sum_over(1).to_vec());
    assert_eq!(z.mean().im.item(), z.im.mean().item());
    assert_eq!(Complex::stack(&[&z, &z], 0).shape(), [2, 2, 3, 4]);
    assert_eq!(Complex::concat(&[&z, &z], -1).im.shape(), [2, 3, 8]);
    assert_eq!(list(&Complex::from_interleaved(&z.to_interleaved())), list(&z));
    // Parts of different shapes stretch to each other.
    let mixed = Complex::new(Tensor::from([1.0, 2.0]), Tensor::from(3.0));
    assert_eq!(list(&mixed.sum()), [Complex::new(3.0, 6.0)]);
    assert_eq!(Complex::from(Tensor::from([1.0f32])).im.dtype(), DType::F32);
}

// ---- derivatives --------------------------------------------------------------------------------

#[test]
fn derivatives_of_functions() {
    let z = tensor(&samples());
    let x = [z.re, z.im];
    for (_, _, _, f) in functions() {
        check_derivatives(&x, |x| f(&pair(x)).norm_sqr().log1p());
    }
    check_derivatives(&x, |x| pair(x).abs().sin());
    check_derivatives(&x, |x| pair(x).arg().sin());
    check_derivatives(&x, |x| pair(x).powi(-3).re);
    let y = [points(5, &[24]), points(6, &[24]), x[0].clone(), x[1].clone()];
    check_derivatives(&y, |x| (pair(x) / pair(&x[2..])).norm_sqr());
    check_derivatives(&y, |x| pair(&x[2..]).powc(pair(x)).re);
    check_single(&x, 40.0, |x| pair(x).sqrt().im);
    check_single(&x, 40.0, |x| pair(x).tanh().norm_sqr());
}

#[test]
fn derivatives_of_products() {
    let x = [points(7, &[2, 3]), points(8, &[2, 3]), points(9, &[3, 4]), points(10, &[3, 4])];
    check_derivatives(&x, |x| pair(x).matmul(pair(&x[2..])).norm_sqr());
    check_derivatives(&x, |x| pair(x).matmul_by(pair(&x[2..]), ComplexProducts::Three).norm_sqr());
    check_derivatives(&x, |x| Complex::einsum("ij,jk->k", &[&pair(x), &pair(&x[2..])]).abs());
}

/// The gradient of a real loss is `dL/dre + i dL/dim`, of numbers as of tensors; the complex derivative is that of the limit.
#[test]
fn numbers_and_tensors_agree_on_gradients_and_complex_derivatives() {
    for (name, number, variable, array) in functions() {
        for z in samples() {
            let slope = holomorphic_grad(z, variable);
            let step = Complex::new(1e-5, 1e-5);
            let difference = (number(z + step) - number(z - step)) / (step * 2.0);
            assert!(
                (slope - difference).abs() < 1e-7 * (1.0 + slope.abs().powi(3)),
                "{name} at {z}: {slope} {difference}"
            );
            // Of a real part: the conjugate of the complex derivative.
            near(grad(z, |z| variable(z).re), slope.conj(), 64.0, name);
            let one = Complex::new(Tensor::from(z.re), Tensor::from(z.im));
            let of_tensor = grad(&one, |z| array(&z).re);
            near(list(&of_tensor)[0], slope.conj(), 64.0, name);
        }
    }
}

/// Derivatives on a cut are those of the side that the sign of the zero names.
#[test]
fn derivatives_on_cuts() {
    for (x, side) in [-2.0, 2.0, -0.5].into_iter().flat_map(|x| [0.0, -0.0].map(|side| (x, side))) {
        let z = Complex::new(x, side);
        let root: Complex<f64> = holomorphic_grad(z, |z| z.sqrt());
        near(root, (z.sqrt() * 2.0).recip(), 8.0, "sqrt");
        near(holomorphic_grad(z, |z| z.ln()), Complex::from(1.0 / x), 4.0, "ln");
        let beside = |sign: f64| Complex::new(x, sign * 1e-9);
        let sign = if side.is_sign_negative() { -1.0 } else { 1.0 };
        for (name, f) in [("asin", (|z| z.asin()) as fn(Complex<Var>) -> Complex<Var>), ("acosh", |z| z.acosh())] {
            let (on, off) = (holomorphic_grad(z, f), holomorphic_grad(beside(sign), f));
            assert!((on - off).abs() < 1e-7, "{name} at {z}: {on} {off}");
        }
    }
}

#[test]
fn conventions_at_zero() {
    let origin = Complex::new(0.0, 0.0);
    assert_eq!(grad(origin, |z| z.abs()), origin);
    assert_eq!(grad(origin, |z| z.norm_sqr()), origin);
    let zeros = Complex::zeros(&[2]);
    let slope = grad(&zeros, |z| z.abs().sum());
    assert_eq!((slope.re.to_vec(), slope.im.to_vec()), (vec![0.0; 2], vec![0.0; 2]));
    let curved = hvp(&zeros, &zeros, |z| z.abs().sum());
    assert!(curved.re.is_finite().to_vec().iter().all(|x| *x == 1.0));
    assert_eq!(holomorphic_grad(origin, |z| z.powf(2.5)), origin);
    assert_eq!(holomorphic_grad(origin, |z| z.powi(2)), origin);
    assert_eq!(holomorphic_grad(origin, |z| z.powi(1)), Complex::new(1.0, 0.0));
    assert_eq!(grad(origin, |z| z.sqrt().re).re, f64::INFINITY);
}

#[test]
fn duals_series_and_nested_derivatives() {
    // (e^z)'' along the real axis, as a dual of a dual and as a series.
    let f = |z: Complex<Dual<f64>>| z.exp() / (z + Dual::from(1.0));
    let z = Complex::new(Dual::variable(0.3), Dual::from(0.4));
    let plain = |z: Complex<f64>| z.exp() / (z + 1.0);
    let slope = plain(Complex::new(0.3, 0.4)) * (1.0 - Complex::new(1.3, 0.4).recip());
    let y = f(z);
    near(Complex::new(y.re.tangent(), y.im.tangent()), slope, 8.0, "dual");
    // A third derivative, by a complex derivative of a complex derivative of one.
    let third =
        holomorphic_grad(Complex::new(0.3, 0.4), |z| holomorphic_grad(z, |z| holomorphic_grad(z, |z| (z * z).sin())));
    let z = Complex::new(0.3, 0.4);
    let s = z * z;
    near(third, z * s.sin() * -12.0 - z * z * z * s.cos() * 8.0, 64.0, "third derivative");
    // In a recorded function, whose points may lie on either side of a formula's fork.
    let recorded = record(Complex::new(1.0, 2.0), |z| (1.0 / z).sqrt().re);
    for z in samples() {
        near(recorded.grad(z), holomorphic_grad(z, |z| z.recip().sqrt()).conj(), 16.0, "recorded");
    }
}

#[test]
fn mapped_is_one_by_one() {
    let z = tensor(&samples());
    let slopes = vmap(&z, |z| grad(&z, |z| z.asin().abs()));
    let want = grad(&z, |z| z.asin().abs().sum());
    close(&slopes.re.to_vec(), &want.re.to_vec(), 8.0);
    close(&slopes.im.to_vec(), &want.im.to_vec(), 8.0);
}

// ---- what is refused ----------------------------------------------------------------------------

#[test]
fn functions_that_are_not_holomorphic_are_refused() {
    let z = Complex::new(0.5, -1.0);
    type Function = fn(Complex<Var>) -> Complex<Var>;
    let functions: [Function; 3] = [|z| z.conj(), |z| Complex::from(z.abs()), |z| z * z.conj()];
    for f in functions {
        let error = try_holomorphic_grad(z, f).expect_err("it has no complex derivative").to_string();
        assert!(error.contains("not holomorphic: du/dre = ") && error.contains("`grad`"), "{error}");
    }
    let z = tensor(&[Complex::new(1.0, 0.0), z]);
    let error =
        try_holomorphic_grad(z.clone(), |z| z.square() + z.im.clone() * z.re.clone()).expect_err("neither has it");
    assert!(error.to_string().contains("in element 0"), "{error}");
    let slope = holomorphic_grad(z.convert(DType::F32), |z| z.exp());
    assert_eq!(slope.dtype(), DType::F32);
}

#[track_caller]
fn refused<T: std::fmt::Debug>(result: Result<T, Error>, words: &[&str]) {
    let text = result.expect_err("it has to be refused").to_string();
    for word in words.iter().chain(&["tests/all/complex.rs"]) {
        assert!(text.contains(word), "`{word}` is not in: {text}");
    }
}

#[test]
fn what_does_not_fit_is_refused_with_a_reason() {
    let z = Complex::new(points(1, &[3]), points(2, &[3]));
    refused(z.try_mul(Tensor::zeros(&[2])), &["`mul` of f64[3], f64[3] and f64[2]", "do not broadcast"]);
    refused(z.try_add(z.convert(DType::F32)), &["`add`", "f64 and f32 differ"]);
    refused(
        Complex::new(points(1, &[3]), points(1, &[2])).try_exp(),
        &["`exp` of f64[3] and f64[2]", "do not broadcast"],
    );
    refused(Complex::new(Tensor::iota(2), Tensor::iota(2)).try_abs(), &["`abs`", "real numbers"]);
    refused(z.try_matmul_by(2.0, ComplexProducts::Four), &["`matmul`", "multiply with `*`"]);
    refused(z.try_matmul_by(Tensor::zeros(&[2, 2]), ComplexProducts::Four), &["`matmul`", "3 long", "2"]);
    refused(Complex::try_einsum("i,j->k", &[&z, &z]), &["`einsum`"]);
    refused(Complex::try_einsum("", &[]), &["1 to 16 complex tensors, and got 0"]);
    refused(z.try_reshape(&[2]), &["`reshape`"]);
    let parts = Complex::new(points(1, &[2]), points(2, &[2]));
    let text = caught("slice", || parts.slice(5)).expect_err("there is no position 5");
    for word in ["`slice` of f64[2] at ", "tests/all/complex.rs", "position 5 is out of range"] {
        assert!(text.contains(word), "`{word}` is not in: {text}");
    }
    let parts = Complex::new(points(1, &[2]), points(2, &[3]));
    let text = caught("slice", || parts.slice(0)).expect_err("the parts do not fit");
    assert!(text.contains("`slice` of f64[2] and f64[3] at ") && text.contains("tests/all/complex.rs"), "{text}");
}
