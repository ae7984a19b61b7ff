//! Convolution, cosine and sine transforms, short-time and power spectra: against naive sums, inverses, derivatives.

use std::f64::consts::{PI, TAU};

use wengert::prelude::*;
use wengert::signal::{
    Convolved, Detrend, Edges, FourierNorm, PowerScale, Stft, Trigonometric, Welch, Window, circular_convolve, dct,
    dst, fft_convolve, fft_convolve_axes, idct, idst, periodogram,
};
use wengert::{Error, ErrorKind};

use crate::nn::support::{check_derivatives, check_single, close, points};

const NORMS: [FourierNorm; 3] = [FourierNorm::Inverse, FourierNorm::Unitary, FourierNorm::Forward];
const KINDS: [Trigonometric; 4] = [Trigonometric::I, Trigonometric::II, Trigonometric::III, Trigonometric::IV];

// ---- cosine and sine transforms -----------------------------------------------------------------

/// The sums of the table in the documentation.
fn cosine_sum(x: &[f64], kind: Trigonometric) -> Vec<f64> {
    let n = x.len();
    let (whole, double) = (n as f64, 2.0 * n as f64);
    let entry = |k: usize| {
        let term = |j: usize| {
            let (place, wave) = (j as f64, k as f64);
            match kind {
                Trigonometric::I => {
                    let weight = if j == 0 || j == n - 1 { 1.0 } else { 2.0 };
                    weight * (PI * place * wave / (whole - 1.0)).cos()
                }
                Trigonometric::II => 2.0 * (PI * (2.0 * place + 1.0) * wave / double).cos(),
                Trigonometric::III if j == 0 => 1.0,
                Trigonometric::III => 2.0 * (PI * place * (2.0 * wave + 1.0) / double).cos(),
                Trigonometric::IV => 2.0 * (PI * (2.0 * place + 1.0) * (2.0 * wave + 1.0) / (2.0 * double)).cos(),
            }
        };
        x.iter().enumerate().map(|(j, x)| x * term(j)).sum()
    };
    (0..n).map(entry).collect()
}

fn sine_sum(x: &[f64], kind: Trigonometric) -> Vec<f64> {
    let n = x.len();
    let (whole, double) = (n as f64, 2.0 * n as f64);
    let entry = |k: usize| {
        let term = |j: usize| {
            let (place, wave) = (j as f64, k as f64);
            match kind {
                Trigonometric::I => 2.0 * (PI * (place + 1.0) * (wave + 1.0) / (whole + 1.0)).sin(),
                Trigonometric::II => 2.0 * (PI * (2.0 * place + 1.0) * (wave + 1.0) / double).sin(),
                Trigonometric::III if j == n - 1 => [1.0, -1.0][k % 2],
                Trigonometric::III => 2.0 * (PI * (place + 1.0) * (2.0 * wave + 1.0) / double).sin(),
                Trigonometric::IV => 2.0 * (PI * (2.0 * place + 1.0) * (2.0 * wave + 1.0) / (2.0 * double)).sin(),
            }
        };
        x.iter().enumerate().map(|(j, x)| x * term(j)).sum()
    };
    (0..n).map(entry).collect()
}

#[test]
fn cosine_and_sine_transforms_are_their_sums() {
    for n in [1, 2, 3, 4, 5, 8, 9, 15] {
        let x = points(n as u64, &[n]);
        for kind in KINDS {
            close(&dst(&x, kind, 0, FourierNorm::Inverse).to_vec(), &sine_sum(&x.to_vec(), kind), 80.0);
            if n > 1 || kind != Trigonometric::I {
                close(&dct(&x, kind, 0, FourierNorm::Inverse).to_vec(), &cosine_sum(&x.to_vec(), kind), 80.0);
            }
        }
    }
}

#[test]
fn they_have_inverses_in_every_scale_and_unitary_ones_keep_lengths() {
    for n in [2, 3, 8, 9] {
        let x = points(20 + n as u64, &[2, n, 3]);
        for (kind, norm) in KINDS.into_iter().flat_map(|kind| NORMS.map(|norm| (kind, norm))) {
            close(&idct(&dct(&x, kind, 1, norm), kind, 1, norm).to_vec(), &x.to_vec(), 80.0);
            close(&dst(&idst(&x, kind, -2, norm), kind, -2, norm).to_vec(), &x.to_vec(), 80.0);
        }
        for kind in KINDS {
            for y in [dct(&x, kind, 1, FourierNorm::Unitary), dst(&x, kind, 1, FourierNorm::Unitary)] {
                close(&y.square().sum().to_vec(), &x.square().sum().to_vec(), 80.0);
            }
        }
    }
}

#[test]
fn derivatives_of_cosine_and_sine_transforms() {
    for shape in [[3, 5], [2, 6]] {
        let x = [points(31, &shape)];
        for (kind, axis) in KINDS.into_iter().flat_map(|kind| [0, 1].map(|axis| (kind, axis))) {
            check_derivatives(&x, |x| dct(&x[0].sin(), kind, axis, FourierNorm::Unitary).square());
            check_derivatives(&x, |x| dst(&x[0].sin(), kind, axis, FourierNorm::Inverse).square());
        }
        check_single(&x, 60.0, |x| dct(&x[0], Trigonometric::II, 1, FourierNorm::Unitary).square());
        check_single(&x, 60.0, |x| dst(&x[0], Trigonometric::IV, 1, FourierNorm::Unitary).square());
    }
}

// ---- convolution --------------------------------------------------------------------------------

fn convolution(x: &[f64], y: &[f64]) -> Vec<f64> {
    let mut sums = vec![0.0; x.len() + y.len() - 1];
    for (i, x) in x.iter().enumerate() {
        for (j, y) in y.iter().enumerate() {
            sums[i + j] += x * y;
        }
    }
    sums
}

#[test]
fn convolutions_are_their_sums() {
    for (m, n) in [(1, 1), (5, 3), (3, 5), (8, 1), (17, 9), (4, 4)] {
        let (x, y) = (points(40, &[m]), points(41, &[n]));
        let full = convolution(&x.to_vec(), &y.to_vec());
        close(&fft_convolve(&x, &y, Convolved::Full).to_vec(), &full, 20.0);
        let start = (n - 1) / 2;
        close(&fft_convolve(&x, &y, Convolved::Same).to_vec(), &full[start..start + m], 40.0);
        if m >= n {
            close(&fft_convolve(&x, &y, Convolved::Valid).to_vec(), &full[n - 1..m], 40.0);
        }
    }
    // Batches stretch to each other.
    let (x, y) = (points(42, &[2, 1, 6]), points(43, &[3, 4]));
    let all = fft_convolve(&x, &y, Convolved::Full);
    assert_eq!(all.shape(), [2, 3, 9]);
    let one = convolution(&x.slice((1, 0)).to_vec(), &y.slice(2).to_vec());
    close(&all.slice((1, 2)).to_vec(), &one, 20.0);
}

#[test]
fn pictures_convolve_along_both_axes() {
    let (x, y) = (points(44, &[5, 6]), points(45, &[3, 2]));
    let mut want = vec![0.0; 7 * 7];
    let (xs, ys) = (x.to_vec(), y.to_vec());
    for (i, j, k, l) in
        (0..5).flat_map(|i| (0..6).flat_map(move |j| (0..3).flat_map(move |k| (0..2).map(move |l| (i, j, k, l)))))
    {
        want[(i + k) * 7 + j + l] += xs[i * 6 + j] * ys[k * 2 + l];
    }
    close(&fft_convolve_axes(&x, &y, &[-2, -1], Convolved::Full).to_vec(), &want, 20.0);
    let same = fft_convolve_axes(&x, &y, &[0, 1], Convolved::Same);
    let middle: Vec<f64> = (1..6).flat_map(|i| want[i * 7..i * 7 + 6].to_vec()).collect();
    close(&same.to_vec(), &middle, 20.0);
}

#[test]
fn circular_convolution_goes_around() {
    for n in [1, 5, 8] {
        let (x, y) = (points(46, &[n]), points(47, &[n]));
        let mut want = vec![0.0; n];
        convolution(&x.to_vec(), &y.to_vec()).iter().enumerate().for_each(|(k, sum)| want[k % n] += sum);
        close(&circular_convolve(&x, &y).to_vec(), &want, 20.0);
    }
}

#[test]
fn derivatives_of_convolutions() {
    let x = [points(48, &[2, 6]), points(49, &[3])];
    for part in [Convolved::Full, Convolved::Same, Convolved::Valid] {
        check_derivatives(&x, |x| fft_convolve(&x[0], &x[1], part).square());
    }
    let x = [points(50, &[5]), points(51, &[2, 5])];
    check_derivatives(&x, |x| circular_convolve(&x[0], &x[1]).square());
    check_single(&x, 60.0, |x| circular_convolve(&x[0], &x[1]));
}

// ---- pieces -------------------------------------------------------------------------------------

#[test]
fn windows_are_their_formulas() {
    for n in [1, 2, 7, 8] {
        let turn = |k: usize| TAU * k as f64 / n as f64;
        close(
            &Window::Hann.periodic(n).to_vec(),
            &(0..n).map(|k| 0.5 - 0.5 * turn(k).cos()).collect::<Vec<f64>>(),
            4.0,
        );
        let hamming: Vec<f64> = (0..n).map(|k| 0.54 - 0.46 * turn(k).cos()).collect();
        close(&Window::Hamming.periodic(n).to_vec(), &hamming, 4.0);
        let blackman: Vec<f64> =
            (0..n).map(|k| (0.42 - 0.5 * turn(k).cos() + 0.08 * (2.0 * turn(k)).cos()).max(0.0)).collect();
        close(&Window::Blackman.periodic(n).to_vec(), &blackman, 8.0);
        assert_eq!(Window::Rectangular.periodic(n).to_vec(), vec![1.0; n]);
        for window in [Window::Hann, Window::Hamming, Window::Blackman] {
            let weights = window.symmetric(n).to_vec();
            assert_eq!(weights, weights.iter().rev().copied().collect::<Vec<f64>>(), "{window:?} {n}");
            close(&window.symmetric(n + 1).to_vec()[..n], &window.periodic(n).to_vec(), 4.0);
        }
    }
}

#[test]
fn spectra_of_pieces_are_their_sums() {
    let x = points(60, &[23]);
    let stft = Stft::new(6, 4).edges(Edges::Inside).window(Window::Hamming);
    let spectra = stft.forward(&x);
    assert_eq!(spectra.shape(), [5, 4]);
    let (signal, window) = (x.to_vec(), Window::Hamming.periodic(6).to_vec());
    for (piece, k) in (0..5).flat_map(|piece| (0..4).map(move |k| (piece, k))) {
        let terms = |part: fn(f64) -> f64| -> f64 {
            (0..6).map(|j| window[j] * signal[piece * 4 + j] * part(-TAU * (j * k) as f64 / 6.0)).sum()
        };
        let place = (piece as isize, k as isize);
        assert!((spectra.re.slice(place).item() - terms(f64::cos)).abs() < 1e-14);
        assert!((spectra.im.slice(place).item() - terms(f64::sin)).abs() < 1e-14);
    }
    // Padded, the first piece is centred at the first sample.
    let padded = Stft::new(6, 4).window(Window::Hamming);
    let zeros = Tensor::concat(&[&Tensor::zeros(&[3]), &x, &Tensor::zeros(&[6])], 0);
    let longer = stft.forward(&zeros);
    let spectra = padded.forward(&x);
    close(&spectra.re.to_vec(), &longer.re.slice(..spectra.shape()[0] as isize).to_vec(), 4.0);
}

#[test]
fn signals_come_back() {
    for (samples, length, hop) in [(50, 16, 4), (50, 16, 7), (31, 5, 2), (3, 8, 4), (1, 4, 1), (64, 64, 32)] {
        let x = points(61, &[2, samples]);
        for window in [Window::Hann, Window::Hamming, Window::Blackman] {
            let stft = Stft::new(length, hop).window(window);
            close(&stft.inverse(&stft.forward(&x), samples).to_vec(), &x.to_vec(), 200.0);
        }
    }
    let stft = Stft::new(8, 4).window(Window::Hamming).edges(Edges::Inside);
    let x = points(62, &[20]);
    close(&stft.inverse(&stft.forward(&x), 20).to_vec(), &x.to_vec(), 40.0);
    // What no piece reaches is 0.
    let x = points(63, &[22]);
    let back = stft.inverse(&stft.forward(&x), 22).to_vec();
    close(&back[..20], &x.to_vec()[..20], 40.0);
    assert_eq!(back[20..], [0.0, 0.0]);
}

#[test]
fn derivatives_of_pieces_and_spectra() {
    let x = [points(64, &[2, 13])];
    let stft = Stft::new(6, 3);
    check_derivatives(&x, |x| stft.forward(&x[0]).norm_sqr());
    check_derivatives(&x, |x| stft.inverse(&stft.forward(&x[0]).square(), 13));
    check_derivatives(&x, |x| Welch::new(6).power(&x[0]).1.log1p());
    check_derivatives(&x, |x| periodogram(&x[0], 2.0).1.log1p());
    check_single(&x, 60.0, |x| stft.forward(&x[0]).norm_sqr());
    check_single(&x, 60.0, |x| Welch::new(6).power(&x[0]).1);
}

/// The integral of a density over the frequencies is the variance.
#[test]
fn densities_integrate_to_mean_squares() {
    for n in [15, 16] {
        let x = points(70, &[n]);
        let (frequencies, power) = periodogram(&x, 4.0);
        let width = 4.0 / n as f64;
        close(&frequencies.to_vec(), &(0..=n / 2).map(|k| k as f64 * width).collect::<Vec<f64>>(), 4.0);
        let centred = &x - x.mean();
        close(&(power.sum() * width).to_vec(), &centred.square().mean().to_vec(), 40.0);
        let whole = Welch::new(n).overlap(0).window(Window::Rectangular).detrend(Detrend::Nothing).rate(4.0);
        close(&(whole.power(&x).1.sum() * width).to_vec(), &x.square().mean().to_vec(), 40.0);
    }
}

#[test]
fn welch_is_the_mean_over_pieces() {
    let x = points(71, &[20]);
    let welch = Welch::new(8).scale(PowerScale::Spectrum).rate(2.0);
    let pieces: Vec<Tensor> = [0, 4, 8, 12].map(|start| welch.power(&x.slice(start..start + 8)).1).to_vec();
    let mean = pieces.iter().skip(1).fold(pieces[0].clone(), |sum, piece| sum + piece) * 0.25;
    close(&welch.power(&x).1.to_vec(), &mean.to_vec(), 8.0);
    assert_eq!(welch.overlap(0).power(&Tensor::stack(&[&x, &x], 0)).1.shape(), [2, 5]);
}

// ---- what is refused ----------------------------------------------------------------------------

#[track_caller]
fn refused<T: std::fmt::Debug>(result: Result<T, Error>, words: &[&str]) {
    let text = result.expect_err("it has to be refused").to_string();
    for word in words.iter().chain(&["tests/all/signal.rs"]) {
        assert!(text.contains(word), "`{word}` is not in: {text}");
    }
}

/// The message of a panic.
fn panicked<T>(f: impl FnOnce() -> T) -> String {
    let Err(payload) = std::panic::catch_unwind(std::panic::AssertUnwindSafe(f)) else {
        panic!("it has to be refused")
    };
    payload.downcast_ref::<String>().cloned().expect("a panic with a text")
}

#[track_caller]
fn says(text: &str, words: &[&str]) {
    for word in words.iter().chain(&["tests/all/signal.rs"]) {
        assert!(text.contains(word), "`{word}` is not in: {text}");
    }
}

#[test]
fn what_does_not_fit_is_refused_with_a_reason() {
    let x = points(80, &[2, 6]);
    let stft = Stft::new(4, 2);
    refused(Stft::new(0, 1).try_forward(&x), &["`Stft::forward` of f64[2,6]", "both have to be at least 1"]);
    refused(Stft::new(4, 0).try_forward(&x), &["pieces of 4 samples that are 0 apart"]);
    refused(stft.clone().weights(&[1.0]).try_forward(&x), &["the window has 1 weights, and a piece 4 samples"]);
    refused(Stft::new(8, 1).edges(Edges::Inside).try_forward(&x), &["6 samples has no piece of 8"]);
    refused(stft.try_forward(&Tensor::from(1.0)), &["a single number is no signal"]);
    refused(stft.try_forward(&Tensor::iota(8)), &["`Stft::forward` of i64[8]", "real numbers"]);
    let spectra = stft.forward(&x);
    refused(
        stft.try_inverse(&spectra, 60),
        &["`Stft::inverse`", "a signal of 60 samples has spectra of the shape [31, 3]"],
    );
    let apart = Stft::new(4, 4);
    refused(apart.try_inverse(&apart.forward(&x), 6), &["add up to 0.0e0 at sample 2", "smaller hop"]);
    let largest = usize::MAX;
    let error = Stft::new(4, largest).try_forward(&x).expect_err("it is too long");
    assert_eq!((error.kind(), error.lacks_memory()), (ErrorKind::Unavailable, true));
    for hop in [largest, 1 << 45] {
        let padded = |samples| {
            format!("no memory for a signal of {samples} samples with its padding, in pieces of 4 that are {hop} apart")
        };
        refused(Stft::new(4, hop).try_forward(&x), &["`Stft::forward` of f64[2,6]", &padded(6)]);
        // Two pieces, as of a signal that long.
        let two = Complex::zeros(&[2, 3]);
        refused(Stft::new(4, hop).try_inverse(&two, 6), &["`Stft::inverse` of f64[2,3] and f64[2,3]", &padded(6)]);
    }
    refused(stft.try_inverse(&spectra, largest), &["`Stft::inverse`", "no memory for a signal of", "with its padding"]);
    refused(
        Stft::new(4, largest - 9).edges(Edges::Inside).try_inverse(&Complex::zeros(&[2, 3]), largest),
        &["`Stft::inverse`", "no memory for a signal of"],
    );
    for length in [largest, 1 << 45] {
        let window = format!("there is no memory for a window of {length} samples");
        refused(Stft::new(length, 2).try_forward(&x), &["`Stft::forward` of f64[2,6]", &window]);
        refused(Stft::new(length, 2).window(Window::Hamming).try_inverse(&spectra, 6), &["`Stft::inverse`", &window]);
        let room = format!("there is no memory for {length} weights");
        says(&panicked(|| Window::Hann.periodic(length)), &["`Window::periodic` at ", &room]);
        says(&panicked(|| Window::Blackman.symmetric(length)), &["`Window::symmetric` at ", &room]);
        let frequencies = |count: usize| format!("there is no memory for {count} frequencies");
        says(&panicked(|| wengert::signal::fftfreq(length, 1.0)), &["`fftfreq` at ", &frequencies(length)]);
        says(&panicked(|| wengert::signal::rfftfreq(length, 1.0)), &["`rfftfreq` at ", &frequencies(length / 2 + 1)]);
    }
    refused(Welch::new(9).try_power(&x), &["a piece of 9 samples", "which has 6"]);
    refused(Welch::new(4).overlap(4).try_power(&x), &["cannot overlap by 4"]);
    refused(Welch::new(4).rate(-1.0).try_power(&x), &["the rate is -1"]);
    let norm = FourierNorm::Inverse;
    says(&panicked(|| dct(&points(1, &[1]), Trigonometric::I, 0, norm)), &["`dct` of f64[1]", "at least 2 entries"]);
    says(&panicked(|| dst(&Tensor::zeros(&[0]), Trigonometric::II, 0, norm)), &["`dst`", "at least 1 entries"]);
    says(&panicked(|| idct(&x, Trigonometric::II, 2, norm)), &["`idct`", "no axis 2"]);
    says(&panicked(|| circular_convolve(&x, &points(1, &[5]))), &["`circular_convolve`", "6 and 5 long"]);
    let valid = || fft_convolve(&points(1, &[3]), &x, Convolved::Valid);
    says(&panicked(valid), &["`fft_convolve` of f64[3] and f64[2,6]", "6 long, and lies nowhere within the first"]);
    says(&panicked(|| fft_convolve(&x, &Tensor::zeros(&[0]), Convolved::Full)), &["axis -1 is empty"]);
    says(&panicked(|| fft_convolve(&x, &x.to_f32(), Convolved::Full)), &["f64 and f32 differ"]);
    says(&panicked(|| fft_convolve_axes(&x, &points(1, &[3]), &[0], Convolved::Full)), &["no axis -2 in one of them"]);
    says(&panicked(|| wengert::signal::fftfreq(0, 1.0)), &["`fftfreq`", "both have to be positive"]);
}
