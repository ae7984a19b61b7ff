//! A shaken camera: the blur that it makes is found from a picture of something known, and taken out of a picture of something
//! unknown.
//!
//! Both pictures were blurred by the same stroke of the camera, 15 by 15 weights that are not negative and add up to one. The
//! weights are the softmax of what is sought: those with which the known chart looks as it was photographed. Blurring is a product
//! of Fourier transforms, and so is its derivative; the gradient by all 225 weights costs as much as a few transforms of the
//! picture. The unknown picture is then sharpened by N. Wiener's filter (*Extrapolation, Interpolation, and Smoothing of Stationary
//! Time Series*, 1949), `conj(K) Y / (|K|^2 + noise / signal)`.
//!
//! Run it with `cargo run --release -p wengert --features fft --example deconvolution`; the picture goes to `target/deconvolution.png`,
//! or into the folder given as argument.

#[path = "inverse_heat.rs"]
#[expect(dead_code, reason = "this example takes the picture to be found, and how it is drawn")]
pub mod inverse_heat;

use std::io::Write;
use std::path::{Path, PathBuf};

use inverse_heat::{before, draw, relative_error};
use wengert::optim::{Adam, Schedule};
use wengert::prelude::*;
use wengert::signal::{irfft2, rfft2};
use wengert::{Complex, Key};

type Failure = Box<dyn std::error::Error>;

/// Pixels of a side of the pictures, and of the blur.
pub const SIDES: [usize; 2] = [120, 15];
/// The deviation of the noise of a pixel; pictures are between 0 and 1.
pub const NOISE: f64 = 0.005;

/// The transform of a blur, whose middle is the place that is blurred.
pub fn spectrum(blur: &Tensor) -> Complex<Tensor> {
    let [side, width] = SIDES;
    let room = [(0, side - width), (0, side - width)];
    let half = -(width as isize / 2);
    rfft2(&blur.pad(&room, 0.0).roll(half, 0).roll(half, 1))
}

/// A picture as it looks through a blur; what leaves it on one side comes in on the other.
pub fn blurred(picture: &Tensor, blur: &Tensor) -> Tensor {
    irfft2(rfft2(picture) * spectrum(blur), [SIDES[0]; 2])
}

/// What was seen through a blur, by Wiener's filter.
pub fn sharpened(seen: &Tensor, blur: &Tensor) -> Tensor {
    let k = spectrum(blur);
    let power = k.norm_sqr() + NOISE;
    irfft2(rfft2(seen) * k.conj() / power, [SIDES[0]; 2])
}

/// The stroke of the camera: a bow, drawn ever more slowly.
pub fn stroke() -> Tensor {
    let width = SIDES[1];
    let mut weights = vec![0.0; width * width];
    for k in 0..600 {
        let t = f64::from(k) / 600.0;
        let (x, y) = (2.5 + 9.0 * t * (1.4 - 0.4 * t), 3.0 + 9.0 * t * t);
        // Shared by the four pixels around.
        let (left, top) = (x.floor(), y.floor());
        for (dx, dy) in [(0.0, 0.0), (1.0, 0.0), (0.0, 1.0), (1.0, 1.0)] {
            let share = (1.0 - (x - left - dx).abs()) * (1.0 - (y - top - dy).abs());
            weights[(top + dy) as usize * width + (left + dx) as usize] += share * (0.5 + t);
        }
    }
    let weights = Tensor::from_vec(&[width, width], weights);
    &weights / weights.sum()
}

/// What is known: squares of 4 by 4 pixels, each black or white.
pub fn chart() -> Tensor {
    let squares = SIDES[0] / 4;
    let white = Key::new(7).uniform(&[squares, squares]).gt(0.5).convert(wengert::DType::F64);
    white.reshape((squares, 1, squares, 1)).broadcast_to(&[squares, 4, squares, 4]).reshape((SIDES[0], SIDES[0]))
}

/// The weights of the blur of these logits.
fn weights(logits: &Tensor) -> Tensor {
    let width = SIDES[1];
    logits.reshape(-1).softmax(0).reshape((width, width))
}

/// The blur through which `known` looks like `seen`, and the misfit before each step.
pub fn find(known: &Tensor, seen: &Tensor, steps: usize) -> (Tensor, Vec<f64>) {
    let (known, seen) = (known.clone(), seen.clone());
    let gradient = compile(move |logits: Tensor| {
        value_and_grad(&logits, |logits| (blurred(&known, &weights(&logits)) - &seen).square().mean())
    });
    let mut logits = Tensor::zeros(&[SIDES[1], SIDES[1]]);
    let mut adam = Adam::new(Schedule::cosine(0.3, 0.0, steps as u64));
    let mut misfits = Vec::with_capacity(steps);
    for _ in 0..steps {
        let (misfit, slope) = gradient.call(&logits);
        misfits.push(misfit.item());
        logits = adam.step(logits, &slope);
    }
    (weights(&logits), misfits)
}

/// A blur as large as a picture, the largest weight white.
fn enlarged(blur: &Tensor) -> Tensor {
    let ([side, width], zoom) = (SIDES, SIDES[0] / SIDES[1]);
    let light = blur / blur.max();
    light.reshape((width, 1, width, 1)).broadcast_to(&[width, zoom, width, zoom]).reshape((side, side))
}

/// Finds the blur, sharpens the unknown picture, prints how well, and draws it. Gives the relative errors of the blur, and of the
/// picture before and after.
///
/// # Errors
/// If the picture cannot be written.
pub fn report(out: &mut impl Write, folder: &Path, steps: usize) -> Result<[f64; 3], Failure> {
    let ([side, width], truth, unknown) = (SIDES, stroke(), before(SIDES[0]));
    let noise = |key: u64| Key::new(key).normal(&[side, side]) * NOISE;
    let photographed = blurred(&chart(), &truth) + noise(1);
    let seen = blurred(&unknown, &truth) + noise(2);
    writeln!(out, "{side} x {side} pixels, a blur of {width} x {width}, noise of {NOISE}.")?;

    let begin = std::time::Instant::now();
    let (blur, misfits) = find(&chart(), &photographed, steps);
    writeln!(
        out,
        "{steps} steps of Adam in {:.1?}: misfit {:.1e} -> {:.1e}",
        begin.elapsed(),
        misfits[0],
        misfits[steps - 1]
    )?;
    let errors = [
        relative_error(&blur, &truth),
        relative_error(&seen, &unknown),
        relative_error(&sharpened(&seen, &blur), &unknown),
    ];
    writeln!(out, "  relative error of the blur           {:>6.2} %", 100.0 * errors[0])?;
    writeln!(out, "  of the picture as it was seen        {:>6.2} %", 100.0 * errors[1])?;
    writeln!(out, "  of the picture sharpened             {:>6.2} %", 100.0 * errors[2])?;
    let exact = relative_error(&sharpened(&seen, &truth), &unknown);
    writeln!(out, "  if the blur were known               {:>6.2} %", 100.0 * exact)?;

    std::fs::create_dir_all(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let picture = folder.join("deconvolution.png");
    draw(
        &picture,
        &[
            ("the blur", &enlarged(&truth)),
            ("the blur found", &enlarged(&blur)),
            ("seen", &seen),
            ("sharpened", &sharpened(&seen, &blur)),
        ],
    )?;
    writeln!(out, "The picture is {}.", picture.display())?;
    Ok(errors)
}

fn main() -> Result<(), Failure> {
    let folder = std::env::args_os().nth(1).map_or_else(|| PathBuf::from("target"), PathBuf::from);
    report(&mut std::io::stdout().lock(), &folder, 400).map(drop)
}
