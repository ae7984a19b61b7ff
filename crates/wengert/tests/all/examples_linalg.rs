//! The worked examples of linear algebra and Fourier transforms, checked: against published numbers, and the plain formulas.

#[path = "../../examples/deconvolution.rs"]
#[expect(dead_code, reason = "an example's `main` is not called here")]
pub mod deconvolution;
#[path = "../../examples/lqr.rs"]
#[expect(dead_code, reason = "an example's `main` is not called here")]
pub mod lqr;
#[path = "../../examples/relevance.rs"]
#[expect(dead_code, reason = "an example's `main` is not called here")]
pub mod relevance;

pub use relevance::kalman;

use wengert::prelude::*;

/// The gradient of a function of a few numbers agrees with central differences.
#[track_caller]
fn against_differences(at: &Tensor, f: impl Fn(&Tensor) -> Tensor) {
    let (slope, step) = (grad(at, |x| f(&x)).to_vec(), 1e-4);
    for (k, slope) in slope.into_iter().enumerate() {
        let beside = |by: f64| f(&(at + Tensor::eye(at.size()).slice(k) * by)).item();
        let wanted = (beside(step) - beside(-step)) / (2.0 * step);
        assert!((slope - wanted).abs() < 1e-6 * wanted.abs().max(1.0), "{slope} where {wanted} is expected");
    }
}

mod kalman_is_right {
    use super::kalman::*;
    use wengert::prelude::*;

    #[test]
    fn the_nile_has_its_published_variances() {
        let picture = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("nile.svg");
        let mut text = Vec::new();
        let variances = report(&mut text, &picture).unwrap();
        for (got, wanted) in variances.into_iter().zip(PUBLISHED) {
            assert!((got / wanted - 1.0).abs() < 1e-4, "{got} where {wanted} is expected");
        }
        let svg = std::fs::read_to_string(&picture).unwrap();
        for label in ["The flow of the Nile at Aswan", "level after the year", "1900"] {
            assert!(svg.contains(label), "{label} is missing");
        }
    }

    /// The recursion of the book for one state, on numbers.
    #[test]
    fn the_filter_is_that_of_the_book() {
        let (flows, logarithms) = (nile::flows(), [9.0f64, 7.0]);
        let [noise, drive] = logarithms.map(f64::exp);
        let (mut mean, mut variance, mut cost) = (flows[0], noise, 0.0);
        for y in &flows[1..] {
            variance += drive;
            let (surprise, expected) = (y - mean, variance + noise);
            cost += 0.5 * (std::f64::consts::TAU.ln() + expected.ln() + surprise * surprise / expected);
            mean += variance / expected * surprise;
            variance *= noise / expected;
        }
        let logarithms = Tensor::from(logarithms);
        let ((means, variances), got) = levels(&logarithms);
        let ends = [got.item(), means.slice((-1, 0)).item(), variances.slice((-1, 0, 0)).item()];
        for (got, wanted) in ends.into_iter().zip([cost, mean, variance]) {
            assert!((got / wanted - 1.0).abs() < 1e-12, "{got} where {wanted} is expected");
        }
        super::against_differences(&logarithms, |x| levels(x).1);
    }
}

mod relevance_is_right {
    use super::relevance::*;
    use wengert::prelude::*;

    /// Against the same model in NumPy, its parameters found by the method of Broyden, Fletcher, Goldfarb and Shanno.
    #[test]
    fn the_process_finds_what_matters() {
        let ([seen, held_out], unit) = load().unwrap();
        assert_eq!([seen.x.shape(), held_out.x.shape()], [[295, 10], [147, 10]]);
        let found = Tensor::from([
            1.502_401_76,
            1.342_079_83,
            1.480_955_01,
            1.614_151_95,
            2.113_612_7,
            2.069_280_17,
            1.727_760_78,
            2.146_925_59,
            0.888_738_43,
            2.241_860_94,
            -0.239_480_24,
            -0.378_918_8,
        ]);
        let (value, slope) = value_and_grad(&found, |x| cost(&x, &seen));
        assert!((value.item() - 58.591_434_046_956).abs() < 1e-8, "{}", value.item());
        assert!(slope.abs().max().item() < 1e-4, "{:?}", slope.to_vec());
        let [means, spread] = predict(&found, &seen, &held_out.x);
        let errors = [error(&means, &held_out.y), error(&linear(&seen, &held_out.x), &held_out.y)];
        for (got, wanted) in errors.into_iter().zip([51.9410, 54.0446]) {
            assert!((got * unit - wanted).abs() < 1e-3, "{} where {wanted} is expected", got * unit);
        }
        assert!(spread.min().item() > 0.68, "no less than the noise");
    }

    /// With few patients, so that the test is quick.
    #[test]
    fn the_second_order_search_ends() {
        let ([seen, _], _) = load().unwrap();
        let few = Patients { x: seen.x.slice((..40, ..3)), y: seen.y.slice(..40) };
        let found = fit(&few).unwrap();
        let last = found.course[found.course.len() - 1];
        assert!(last[1] < 1e-7 && found.course.len() < 40, "{:?}", found.course);
        let shifted = |k: usize, by: f64| cost(&(&found.point + Tensor::eye(5).slice(k) * by), &few).item();
        assert!((0..5).all(|k| shifted(k, 1e-3) > last[0] && shifted(k, -1e-3) > last[0]));
    }
}

mod lqr_is_right {
    use super::lqr::*;
    use wengert::prelude::*;

    #[test]
    fn the_weights_are_found_again() {
        let picture = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("pole.svg");
        let found = report(&mut Vec::new(), &picture).unwrap();
        for (got, wanted) in found.into_iter().zip(WEIGHTS) {
            assert!((got / wanted - 1.0).abs() < 1e-9, "{got} where {wanted} is expected");
        }
        assert!(std::fs::read_to_string(&picture).unwrap().contains("radians from upright"));
    }

    /// A regulator's gain makes the derivative of its cost by the gain vanish; the pole stays up.
    #[test]
    fn the_gain_is_optimal() {
        let logarithms = Tensor::from(WEIGHTS).ln();
        super::against_differences(&logarithms, |x| gain(x).square().sum());
        let (a, b) = plant();
        let cost = |k: &Tensor| {
            let k = k.reshape((1, 4));
            let (closed, weights) = (&a - b.matmul(&k), Tensor::eye(4) * logarithms.exp() + k.t().matmul(&k));
            wengert::linalg::lyapunov(&closed.t(), &-weights).trace()
        };
        let optimal = gain(&logarithms);
        let slope = grad(&optimal, |k| cost(&k));
        assert!(slope.abs().max().item() < 1e-8 * cost(&optimal).item(), "{:?}", slope.to_vec());
        let angles = course(&optimal, 500);
        assert!(angles[0] == 0.1 && angles[499].abs() < 1e-3, "{}", angles[499]);
    }
}

mod deconvolution_is_right {
    use super::deconvolution::*;
    use wengert::Tensor;

    /// Every pixel by its sum.
    #[test]
    fn a_blur_is_a_sum_over_neighbours() {
        let ([side, width], picture, blur) = (SIDES, chart(), stroke());
        let (x, k, got) = (picture.to_vec(), blur.to_vec(), blurred(&picture, &blur).to_vec());
        for place in (0..side * side).step_by(997) {
            let at = |i: usize, by: usize| (i + side + width / 2 - by) % side;
            let (row, column) = (place / side, place % side);
            let sum =
                |r: usize| (0..width).map(|c| k[r * width + c] * x[at(row, r) * side + at(column, c)]).sum::<f64>();
            let wanted: f64 = (0..width).map(sum).sum();
            assert!((got[place] - wanted).abs() < 1e-13, "{} where {wanted} is expected", got[place]);
        }
    }

    #[test]
    fn the_blur_is_found_and_taken_out() {
        let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("blur");
        let mut text = Vec::new();
        let [blur, seen, sharpened] = report(&mut text, &folder, 120).unwrap();
        let text = String::from_utf8(text).unwrap();
        assert!(blur < 0.15 && sharpened < 0.5 * seen, "{text}");
        assert!(folder.join("deconvolution.png").is_file());
        let whole: Tensor = stroke().sum();
        assert!((whole.item() - 1.0).abs() < 1e-14);
    }
}
