//! Fourier transforms of tensors: against naive sums, derivatives of every mode and order, round trips, what is refused.

use std::f64::consts::TAU;

use wengert::prelude::*;
use wengert::signal::{
    Fourier, FourierNorm, fft, fft2, fftfreq, fftn, fftshift, ifft, ifft2, ifftn, ifftshift, irfft, irfft2, irfftn,
    rfft, rfft2, rfftfreq, rfftn,
};
use wengert::{DType, Error, ErrorKind};

use crate::nn::support::{check_derivatives, check_single, close, points};

const NORMS: [FourierNorm; 3] = [FourierNorm::Inverse, FourierNorm::Unitary, FourierNorm::Forward];

fn complex(seed: u64, shape: &[usize]) -> Complex<Tensor> {
    Complex::new(points(seed, shape), points(seed + 1, shape))
}

fn pair(x: &[Tensor]) -> Complex<Tensor> {
    Complex::new(x[0].clone(), x[1].clone())
}

fn near(got: &Complex<Tensor>, want: &Complex<Tensor>, ulps: f64) {
    close(&[got.re.to_vec(), got.im.to_vec()].concat(), &[want.re.to_vec(), want.im.to_vec()].concat(), ulps);
}

/// The transform of a line by its sum.
fn naive(z: &[(f64, f64)], n: usize, sign: f64) -> Vec<(f64, f64)> {
    let entry = |k: usize| {
        z.iter().take(n).enumerate().fold((0.0, 0.0), |(re, im), (j, &(x, y))| {
            let (sin, cos) = (sign * TAU * (j * k % n) as f64 / n as f64).sin_cos();
            (re + x * cos - y * sin, im + x * sin + y * cos)
        })
    };
    (0..n).map(entry).collect()
}

fn lines(z: &Complex<Tensor>) -> Vec<(f64, f64)> {
    z.re.to_vec().into_iter().zip(z.im.to_vec()).collect()
}

#[test]
fn lines_are_their_sums_at_any_length() {
    for n in [1, 2, 3, 4, 5, 6, 7, 8, 12, 13, 16, 30, 31, 64, 97] {
        let z = complex(n as u64, &[n]);
        for (got, sign, factor) in [(fft(&z), -1.0, 1.0), (ifft(&z), 1.0, 1.0 / n as f64)] {
            let want = naive(&lines(&z), n, sign);
            let want: Vec<f64> = want.into_iter().flat_map(|(re, im)| [re * factor, im * factor]).collect();
            close(&lines(&got).into_iter().flat_map(|(re, im)| [re, im]).collect::<Vec<f64>>(), &want, 60.0);
        }
        let half = rfft(&z.re);
        near(&half, &fft(&z.re).slice(..(n / 2 + 1) as isize), 20.0);
        assert_eq!(half.im.slice(0).item(), 0.0);
        if n % 2 == 0 {
            assert_eq!(half.im.slice(-1).item(), 0.0, "{n}");
        }
        close(&irfft(&half, n).to_vec(), &z.re.to_vec(), 20.0);
    }
}

#[test]
fn there_and_back_in_every_scale_along_any_axes() {
    let z = complex(1, &[3, 4, 5]);
    for norm in NORMS {
        for axes in [&[0isize][..], &[1], &[-1], &[0, 2], &[2, 0], &[0, 1, 2]] {
            let way = Fourier::new().axes(axes).norm(norm);
            near(&way.ifft(way.fft(&z)), &z, 20.0);
            near(&way.fft(way.ifft(&z)), &z, 20.0);
            let lengths: Vec<usize> = axes.iter().map(|&axis| z.shape()[axis.rem_euclid(3) as usize]).collect();
            close(&way.clone().lengths(&lengths).irfft(way.rfft(&z.re)).to_vec(), &z.re.to_vec(), 20.0);
        }
    }
    near(&ifft2(fft2(&z)), &z, 20.0);
    near(&ifftn(fftn(&z)), &z, 20.0);
    close(&irfft2(rfft2(&z.re), [4, 5]).to_vec(), &z.re.to_vec(), 20.0);
    close(&irfftn(rfftn(&z.re), &[3, 4, 5]).to_vec(), &z.re.to_vec(), 20.0);
}

#[test]
fn several_axes_are_one_after_the_other() {
    let z = complex(5, &[3, 4, 2]);
    let one_by_one = Fourier::new().axes(&[0]).fft(Fourier::new().axes(&[1]).fft(&z));
    near(&Fourier::new().axes(&[1, 0]).fft(&z), &one_by_one, 20.0);
    near(&Fourier::new().axes(&[0, 1]).rfft(&z.re), &Fourier::new().axes(&[0, 1]).fft(&z.re).slice((.., ..3)), 20.0);
}

/// `sum |x|^2` is `sum |X|^2` if the transform is unitary; twice what half a spectrum has, less what stands for itself.
#[test]
fn sums_of_squares_are_kept() {
    for n in [7, 8] {
        let z = complex(n as u64, &[4, n]);
        let unitary = Fourier::new().norm(FourierNorm::Unitary);
        close(&unitary.fft(&z).norm_sqr().sum().to_vec(), &z.norm_sqr().sum().to_vec(), 20.0);
        let half = unitary.rfft(&z.re).norm_sqr();
        let weights = (0..=n / 2).map(|k| if k == 0 || 2 * k == n { 1.0 } else { 2.0 }).collect::<Vec<f64>>();
        close(&(half * Tensor::from(weights)).sum().to_vec(), &z.re.square().sum().to_vec(), 20.0);
    }
}

#[test]
fn shorter_operands_are_padded_and_longer_ones_cut() {
    let z = complex(8, &[2, 5]);
    let padded = z.each_part(|x| x.pad(&[(0, 0, 0), (0, 3, 0)], 0.0));
    near(&Fourier::new().lengths(&[8]).fft(&z), &fft(&padded), 8.0);
    near(&Fourier::new().lengths(&[3]).fft(&z), &fft(z.slice((.., ..3))), 8.0);
    near(&Fourier::new().lengths(&[8]).rfft(&z.re), &rfft(&padded.re), 8.0);
    near(&Fourier::new().lengths(&[3, 7]).ifft(&z), &ifft2(z.each_part(|x| x.pad(&[(0, 1, 0), (0, 2, 0)], 0.0))), 8.0);
    assert_eq!(Fourier::new().lengths(&[4]).fft(Complex::zeros(&[2, 0])).norm_sqr().sum().item(), 0.0);
    assert_eq!(fft(Complex::zeros(&[0, 3])).shape(), [0, 3]);
}

#[test]
fn derivatives() {
    let shapes: [&[usize]; 4] = [&[1], &[5], &[2, 6], &[3, 2, 4]];
    for shape in shapes {
        let z = [points(11, shape), points(12, shape)];
        check_derivatives(&z, |x| fft(pair(x).square()).norm_sqr());
        check_derivatives(&z, |x| ifft(pair(x).exp()).re);
        check_derivatives(&z[..1], |x| rfft(&x[0].sin()).norm_sqr());
        check_derivatives(&z[..1], |x| rfft(&x[0].exp()).im.exp());
        let n = 2 * shape[shape.len() - 1];
        for n in [n - 1, n - 2].into_iter().filter(|n| *n > 0) {
            check_derivatives(&z, |x| irfft(pair(x).square(), n).sin());
        }
    }
    let z = [points(13, &[3, 4]), points(14, &[3, 4])];
    check_derivatives(&z, |x| Fourier::new().axes(&[1, 0]).norm(FourierNorm::Unitary).fft(pair(x).square()).re.exp());
    check_derivatives(&z, |x| irfft2(pair(x).square(), [3, 7]).sin());
    check_derivatives(&z[..1], |x| rfft2(&x[0].square()).norm_sqr());
    check_derivatives(&z, |x| Fourier::new().lengths(&[7]).fft(pair(x)).norm_sqr().square());
    check_derivatives(&z[..1], |x| Fourier::new().lengths(&[3]).rfft(&x[0]).norm_sqr().square());
    check_single(&z, 40.0, |x| fft2(pair(x).square()).norm_sqr());
    check_single(&z, 40.0, |x| irfft(pair(x), 6));
}

/// `d^3/dt^3` of the power of `fft(x + t v)^2`, by nested drivers, against that of the polynomial in t.
#[test]
fn third_derivatives() {
    let (x, v) = (points(21, &[5]), points(22, &[5]));
    let f = |t: &Tensor| rfft(&(&x + t * &v)).norm_sqr().square().sum();
    let third = grad(&Tensor::from(0.3), |t| grad(&t, |t| grad(&t, |t| f(&t)))).item();
    // Along a line it is a polynomial of degree 4: the third difference is the third derivative at its centre, less nothing
    // of odd order above it.
    let at = |t: f64| f(&Tensor::from(t)).item();
    let (h, t) = (0.5, 0.3);
    let differences = (at(t + 2.0 * h) - 2.0 * at(t + h) + 2.0 * at(t - h) - at(t - 2.0 * h)) / (2.0 * h * h * h);
    assert!(
        (third - differences).abs() <= 1e-12 * at(t + 2.0 * h).abs().max(third.abs()) / h.powi(3),
        "{third} {differences}"
    );
}

/// The transpose of the map of pairs of real numbers: `<c, F z> = <F' c, z>`, through every form.
#[test]
fn the_pullback_is_the_transpose() {
    let inner = |x: &Complex<Tensor>, y: &Complex<Tensor>| (x.re.vdot(&y.re) + x.im.vdot(&y.im)).item();
    for n in [1, 2, 5, 8] {
        let (z, c) = (complex(30, &[3, n]), complex(40, &[3, n]));
        let (_, back) = vjp(&z, |z| fft(z));
        let pulled: Complex<Tensor> = back.pull(&c);
        let (left, right) = (inner(&c, &fft(&z)), inner(&pulled, &z));
        assert!((left - right).abs() < 1e-13 * (1.0 + left.abs()), "{n}: {left} {right}");
        // n times the inverse transform is the transpose.
        near(&pulled, &(ifft(&c) * n as f64), 20.0);
    }
}

/// What a real signal has no use for is ignored, and has derivative 0: also NaN.
#[test]
fn imaginary_parts_that_irfft_ignores_do_nothing() {
    for (n, ignored) in [(1, &[0][..]), (5, &[0]), (6, &[0, 3]), (2, &[0, 1])] {
        let z = complex(50, &[n / 2 + 1]);
        let slope = grad(&z, |z| irfft(z, n).sin().sum());
        for k in 0..=n / 2 {
            assert_eq!(slope.im.slice(k as isize).item() == 0.0, ignored.contains(&k), "{n}: {slope:?}");
        }
        let mut spoilt = z.clone();
        ignored.iter().for_each(|&k| spoilt.im.slice_mut(k as isize).assign(f64::NAN));
        close(&irfft(&spoilt, n).to_vec(), &irfft(&z, n).to_vec(), 0.0);
        let again = grad(&spoilt, |z| irfft(z, n).sin().sum());
        near(&again, &slope, 0.0);
    }
}

/// A cotangent that a `select` masks stays out of the way of what is infinite behind the transform.
#[test]
fn masks_come_through() {
    let x = Tensor::from([[0.0, 4.0], [1.0, 9.0]]);
    let keep = Tensor::from([[false, false], [true, true]]);
    // The square root has an infinite slope at 0, in the row whose transform does not count.
    let slope = grad(&x, |x| {
        let spectrum = rfft(&x.sqrt());
        keep.where_(spectrum.re, 0.0).sum()
    });
    let want = [0.0, 0.0, 1.0, 0.0];
    close(&slope.to_vec(), &want, 4.0);
    let one = Tensor::from([[true, false], [false, false]]);
    let slope = grad(&x, |x| one.where_(rfft(&x.sqrt()).re, 0.0).sum());
    assert_eq!(
        (slope.to_vec()[0], slope.to_vec()[2]),
        (f64::INFINITY, 0.0),
        "every entry of a line reaches the others"
    );
}

#[test]
fn mapped_is_one_by_one() {
    let z = complex(60, &[3, 4, 5]);
    let mapped = vmap(&z, |z| fft2(z));
    near(&mapped, &fft2(&z), 8.0);
    let mapped = vmap(&z.re, |x| grad(&x, |x| rfft(&x).norm_sqr().sum()));
    near(&Complex::from(mapped), &Complex::from(grad(&z.re, |x| rfft(&x).norm_sqr().sum())), 8.0);
    let spectra = vmap(&z.re, |x| Fourier::new().axes(&[0]).rfft(&x));
    near(&spectra, &Fourier::new().axes(&[1]).rfft(&z.re), 8.0);
}

#[test]
fn frequencies_and_their_order() {
    assert_eq!(fftfreq(1, 2.0).to_vec(), [0.0]);
    assert_eq!(fftfreq(6, 0.5).to_vec(), [0.0, 1.0 / 3.0, 2.0 / 3.0, -1.0, -2.0 / 3.0, -1.0 / 3.0]);
    assert_eq!(rfftfreq(6, 0.5).to_vec(), [0.0, 1.0 / 3.0, 2.0 / 3.0, 1.0]);
    assert_eq!(rfftfreq(5, 0.2).to_vec(), [0.0, 1.0, 2.0]);
    for shape in [[4, 5], [1, 0]] {
        let x = points(70, &shape);
        assert_eq!(ifftshift(&fftshift(&x, ..), ..).to_vec(), x.to_vec());
        assert_eq!(fftshift(&ifftshift(&x, -1), -1).to_vec(), x.to_vec());
    }
    assert_eq!(fftshift(&Tensor::iota(4), 0).to_vec(), [2.0, 3.0, 0.0, 1.0]);
    assert_eq!(fftshift(&Tensor::from([[1.0, 2.0], [3.0, 4.0]]), [0, 1]).to_vec(), [4.0, 3.0, 2.0, 1.0]);
}

#[track_caller]
fn refused<T: std::fmt::Debug>(result: Result<T, Error>, words: &[&str]) {
    let text = result.expect_err("it has to be refused").to_string();
    for word in words.iter().chain(&["tests/all/fourier.rs"]) {
        assert!(text.contains(word), "`{word}` is not in: {text}");
    }
}

#[test]
fn what_does_not_fit_is_refused_with_a_reason() {
    let x = points(80, &[3, 4]);
    let z = Complex::from(x.clone());
    let way = Fourier::new();
    refused(way.try_fft(Tensor::from(1.0)), &["`fft` of f64[]", "a single number"]);
    refused(way.try_fft(Tensor::zeros(&[2, 0])), &["`fft`", "a transform of length 0 along axis 1 does not exist"]);
    refused(way.clone().lengths(&[0]).try_rfft(&x), &["`rfft` of f64[3,4]", "length 0"]);
    refused(way.clone().lengths(&[1_000_003]).try_rfft(&x), &["prime factor 1000003", "pad to a length"]);
    for (n, way) in [1 << 45, usize::MAX].map(|n| (n, way.clone().lengths(&[n]))) {
        let room = format!("there is no memory for the factors and one line of a transform of length {n}");
        refused(way.try_rfft(&x), &["`rfft` of f64[3,4]", &room]);
        refused(way.try_fft(x.to_f32()), &["`fft` of f32[3,4] and f32[3,4]", &room]);
        refused(way.try_ifft(&z), &["`ifft` of f64[3,4] and f64[3,4]", &room]);
        let error = way.try_rfft(&x).expect_err("it is too long");
        assert_eq!((error.kind(), error.lacks_memory()), (ErrorKind::Unavailable, true));
        // Half a spectrum has to be there.
        refused(way.try_irfft(&z), &["`irfft`", "axis 1 has 4 entries"]);
        refused(way.axes(&[0]).lengths(&[n]).try_fft(&z), &["`fft`", &room]);
    }
    refused(way.clone().lengths(&[1 << 45, 6]).try_irfft(&z), &["`irfft`", "no memory", "35184372088832"]);
    refused(way.clone().axes(&[2]).try_fft(&z), &["`fft` of f64[3,4] and f64[3,4]", "no axis 2 among 2"]);
    refused(way.clone().axes(&[1, -1]).try_fft(&z), &["axis 1 is named twice"]);
    refused(way.clone().axes(()).try_fft(&z), &["at least one axis"]);
    refused(way.clone().axes(&[0]).lengths(&[2, 2]).try_fft(&z), &["2 lengths for 1 axes"]);
    refused(way.clone().lengths(&[2, 2, 2]).try_fft(&z), &["no axis -3"]);
    refused(way.try_rfft(&Tensor::iota(3)), &["`rfft` of i64[3]", "real numbers"]);
    refused(
        way.clone().lengths(&[9]).try_irfft(&z),
        &[
            "`irfft`",
            "axis 1 has 4 entries, and the half spectrum of 9 real numbers has 5: 4 entries are those of 6 and 7",
        ],
    );
    refused(way.try_irfft(Complex::zeros(&[1])), &["length 0"]);
    refused(way.try_fft(Complex::new(x.clone(), points(1, &[3]))), &["do not broadcast"]);
    refused(way.try_fft(Complex::new(x.clone(), x.to_f32())), &["f64 and f32 differ"]);
    assert_eq!(way.fft(x.to_f32()).dtype(), DType::F32);
}
