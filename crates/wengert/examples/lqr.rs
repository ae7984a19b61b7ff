//! What does a pilot care about? The weights of a regulator, from the way in which somebody balances a pole on a cart.
//!
//! The linear regulator (R. E. Kalman, 1960) minimises the integral of `x^T Q x + u^2` over the states x, which are the place of the
//! cart, its speed, the angle of the pole and its rate, and the force u. Its gain `K = B^T X` comes from the solution X of a Riccati
//! equation. Seen from outside is only the gain; what weighs the states is sought so that the regulator has that gain
//! ("When is a linear control system optimal?", R. E. Kalman, 1964), by Gauss-Newton steps. The Jacobian goes through the Riccati
//! equation: its derivative is a Lyapunov equation, not the iteration that solves it.
//!
//! The example knows the weights with which the gain was made, and finds them again to ten digits.
//!
//! Run it with `cargo run --release -p wengert --features linalg --example lqr`; the picture goes to `target/lqr.svg`, or to the file given
//! as argument.

use std::io::Write;
use std::path::{Path, PathBuf};

use plotters::prelude::*;
use wengert::linalg::riccati;
use wengert::prelude::*;

type Failure = Box<dyn std::error::Error>;

/// The weights of the squares of the states with which the gain was made.
pub const WEIGHTS: [f64; 4] = [4.0, 0.5, 30.0, 0.2];

/// The cart (1 kg) with a pole (0.2 kg, its middle 0.4 m above the joint), upright: `x' = A x + B u`.
pub fn plant() -> (Tensor, Tensor) {
    let (cart, pole, length, gravity) = (1.0, 0.2, 0.4, 9.81);
    let a = Tensor::from([
        [0.0, 1.0, 0.0, 0.0],
        [0.0, 0.0, -pole * gravity / cart, 0.0],
        [0.0, 0.0, 0.0, 1.0],
        [0.0, 0.0, (cart + pole) * gravity / (cart * length), 0.0],
    ]);
    let b = Tensor::from([[0.0], [1.0 / cart], [0.0], [-1.0 / (cart * length)]]);
    (a, b)
}

/// The gain of the regulator with weights of these logarithms: the force is `-K x`.
pub fn gain(logarithms: &Tensor) -> Tensor {
    let (a, b) = plant();
    let x = riccati(&a, &b, &(Tensor::eye(4) * logarithms.exp()), &Tensor::eye(1));
    b.t().matmul(&x).reshape(4)
}

/// The logarithms of the weights of the regulator with this gain, sought from 1 everywhere, and how far the gain was off before
/// each step, relative to itself.
///
/// # Errors
/// If the search does not end.
pub fn weights_of(observed: &Tensor) -> Result<(Tensor, Vec<f64>), Failure> {
    let gains = compile(|logarithms: Tensor| value_and_jacobian(&logarithms, |x| gain(&x)));
    let scale = observed.square().sum().item();
    let mut logarithms = Tensor::zeros(&[4]);
    let mut course = Vec::new();
    for _ in 0..50 {
        let (gain, jacobian) = gains.call(&logarithms);
        let off = gain - observed;
        course.push((off.square().sum().item() / scale).sqrt());
        if course[course.len() - 1] < 1e-14 {
            break;
        }
        let step = jacobian.solve(&off);
        // Weights change by no more than a factor of e at a time: the equation is far from linear in their logarithms.
        let longest = step.abs().max().item();
        logarithms -= step * longest.recip().min(1.0);
        if longest < 1e-12 {
            return Ok((logarithms, course));
        }
    }
    if course[course.len() - 1] < 1e-12 { Ok((logarithms, course)) } else { Err("the search does not end".into()) }
}

/// The angle of the pole over time, in steps of a hundredth of a second, after it was let go a tenth of a radian from upright.
pub fn course(gain: &Tensor, steps: i64) -> Vec<f64> {
    let (a, b) = plant();
    let closed = a - b.matmul(&gain.reshape((1, 4)));
    let step = (closed * 0.01).expm();
    let start = Tensor::from([0.0, 0.0, 0.1, 0.0]);
    let (_, angles) = scan(start, Tensor::iota(steps as usize), |x, _| (step.matmul(&x), x.slice(2)));
    angles.to_vec()
}

// ------------------------------------------------------------------------------------- picture

const COLORS: [RGBColor; 3] = [RGBColor(213, 94, 0), RGBColor(0, 114, 178), RGBColor(51, 51, 51)];
const INK: RGBColor = RGBColor(51, 51, 51);

/// Draws the angle over time for several gains.
fn draw(path: &Path, courses: &[(&str, Vec<f64>)]) -> Result<(), Failure> {
    let root = SVGBackend::new(path, (900, 440)).into_drawing_area();
    root.fill(&WHITE)?;
    let seconds = courses[0].1.len() as f64 * 0.01;
    let mut chart = ChartBuilder::on(&root)
        .caption("A pole that is balanced: its angle after it was let go", ("sans-serif", 20, &INK))
        .margin(14)
        .x_label_area_size(42)
        .y_label_area_size(60)
        .build_cartesian_2d(0.0..seconds, -0.06..0.11)?;
    chart
        .configure_mesh()
        .light_line_style(TRANSPARENT)
        .bold_line_style(INK.mix(0.12))
        .axis_style(INK)
        .x_desc("seconds")
        .y_desc("radians from upright")
        .label_style(("sans-serif", 13, &INK))
        .draw()?;
    for (k, (name, angles)) in courses.iter().enumerate() {
        let color = COLORS[k % COLORS.len()];
        let line = angles.iter().enumerate().map(|(k, &angle)| (k as f64 * 0.01, angle));
        // The gain that is found lies on the one observed: dots over a line.
        if k + 1 == courses.len() {
            chart
                .draw_series(line.step_by(8).map(|point| Circle::new(point, 3, color.filled())))?
                .label(*name)
                .legend(move |(x, y)| Circle::new((x + 9, y), 3, color.filled()));
        } else {
            chart
                .draw_series(LineSeries::new(line, color.stroke_width(2)))?
                .label(*name)
                .legend(move |(x, y)| PathElement::new([(x, y), (x + 18, y)], color.stroke_width(2)));
        }
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperRight)
        .label_font(("sans-serif", 14, &INK))
        .draw()?;
    root.present()?;
    Ok(())
}

// ----------------------------------------------------------------------------------------- run

/// Finds the weights, prints them, and draws what they do. Gives the weights.
///
/// # Errors
/// If the search does not end, or the picture cannot be written.
pub fn report(out: &mut impl Write, picture: &Path) -> Result<Vec<f64>, Failure> {
    let observed = gain(&Tensor::from(WEIGHTS).ln());
    let (logarithms, off) = weights_of(&observed)?;
    let numbers = |x: &Tensor| x.to_vec().iter().map(|x| format!("{x:>12.6}")).collect::<String>();
    writeln!(out, "{:>16}{:>12}{:>12}{:>12}{:>12}", "", "place", "speed", "angle", "rate")?;
    writeln!(out, "{:>16}{}", "gain observed", numbers(&observed))?;
    writeln!(out, "{:>16}{}", "weights found", numbers(&logarithms.exp()))?;
    writeln!(out, "{:>16}{}", "weights made with", numbers(&Tensor::from(WEIGHTS)))?;
    writeln!(out, "The gain was off by, before each step:")?;
    for (k, off) in off.iter().enumerate() {
        writeln!(out, "  {k:>3}  {off:.1e}")?;
    }
    if let Some(folder) = picture.parent() {
        std::fs::create_dir_all(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    }
    let begin = course(&gain(&Tensor::zeros(&[4])), 500);
    let seen = course(&observed, 500);
    let found = course(&gain(&logarithms), 500);
    draw(picture, &[("all weights 1", begin), ("observed", seen), ("with the weights found", found)])?;
    writeln!(out, "The picture is in {}.", picture.display())?;
    Ok(logarithms.exp().to_vec())
}

fn main() -> Result<(), Failure> {
    let picture = std::env::args_os().nth(1).map_or_else(|| PathBuf::from("target/lqr.svg"), PathBuf::from);
    report(&mut std::io::stdout().lock(), &picture).map(drop)
}
