//! Inverse kinematics of an arm with seven joints: nalgebra's rotations and isometries, differentiated.
//!
//! Where the hand is follows from the angles by multiplying nalgebra's isometries; the function is written for every
//! `RealField`, so that it runs over `f64` and over [`Var`]. Which angles put the hand at a pose is found by damped least squares
//! (C. W. Wampler, 1986; Y. Nakamura and H. Hanafusa, 1986): `q += Jᵀ (J Jᵀ + λ² I)⁻¹ e` with the error `e` of position and
//! orientation, whose Jacobian comes with it. The orientation's error is half the sum of cross products of the axes
//! (J. Luh, M. Walker and R. Paul, 1980): smooth where both agree, unlike an axis and an angle.
//!
//! Run it with `cargo run --release -p wengert --features nalgebra --example inverse_kinematics`.

use std::io::{self, Write};

use nalgebra::{Isometry3, RealField, SMatrix, SVector, Translation3, UnitQuaternion, Vector3, convert};
use wengert::prelude::*;

/// Angles of the joints.
pub type Angles<T> = SVector<T, 7>;

/// Lengths along the axis of each joint, in metres, and the angle from it to the next axis, in quarter turns: the shape of
/// an arm for laboratories.
const LINKS: [(f64, i8); 7] = [(0.34, -1), (0.0, 1), (0.4, 1), (0.0, -1), (0.4, -1), (0.0, 1), (0.126, 0)];

/// Where each joint is and how it stands, and last the hand; the axis of a joint is its z.
pub fn frames<T: RealField + Copy>(angles: &Angles<T>) -> Vec<Isometry3<T>> {
    let mut frames = vec![Isometry3::identity()];
    for (&angle, (length, quarters)) in angles.iter().zip(LINKS) {
        let turn = UnitQuaternion::from_axis_angle(&Vector3::z_axis(), angle);
        let tilt = UnitQuaternion::from_axis_angle(&Vector3::x_axis(), T::frac_pi_2() * convert(f64::from(quarters)));
        let along = Translation3::new(T::zero(), T::zero(), convert(length));
        frames.push(frames[frames.len() - 1] * turn * along * tilt);
    }
    frames
}

/// From the hand to where it shall be: three numbers of position, three of orientation.
pub fn error<T: RealField + Copy>(angles: &Angles<T>, target: &Isometry3<T>) -> SVector<T, 6> {
    let hand = *frames(angles).last().expect("the last frame is the hand");
    let [is, wanted] = [hand, *target].map(|frame| frame.rotation.to_rotation_matrix().into_inner());
    let turns = (0..3).map(|k| is.column(k).cross(&wanted.column(k)));
    let turn = turns.fold(Vector3::zeros(), |sum, one| sum + one) * convert::<f64, T>(0.5);
    let way = target.translation.vector - hand.translation.vector;
    SVector::from_iterator(way.iter().chain(turn.iter()).copied())
}

/// The error and its Jacobian by the angles.
pub fn error_and_jacobian(angles: &Angles<f64>, target: &Isometry3<f64>) -> (SVector<f64, 6>, SMatrix<f64, 6, 7>) {
    // The target is a constant of the function: its numbers are lifted.
    let wanted: Isometry3<Var> = convert(*target);
    let (error, rows) = value_and_jacobian(*angles, |angles| error(&angles, &wanted));
    (error, SMatrix::from_fn(|i, j| rows[i][j]))
}

/// The angles that put the hand where it shall be, and the error after every step.
pub fn reach(start: Angles<f64>, target: &Isometry3<f64>) -> (Angles<f64>, Vec<f64>) {
    let mut angles = start;
    let mut errors = Vec::new();
    for _ in 0..100 {
        let (error, jacobian) = error_and_jacobian(&angles, target);
        errors.push(error.norm());
        if error.norm() < 1e-14 {
            break;
        }
        // Less damping the closer it is: quadratic convergence, and no wild step near a singular pose.
        let damping = SMatrix::<f64, 6, 6>::identity() * (1e-2 * error.norm_squared());
        let normal = jacobian * jacobian.transpose() + damping;
        let Some(factor) = normal.cholesky() else { break };
        let step = jacobian.transpose() * factor.solve(&error);
        // The error falls by turning towards the target: its Jacobian is minus that of the hand.
        angles -= step * (0.5 / step.norm().max(0.5));
    }
    (angles, errors)
}

/// Reaches for a pose and prints the way there.
pub fn report(out: &mut impl Write) -> io::Result<f64> {
    let pose = UnitQuaternion::from_euler_angles(0.4, 2.6, -0.8);
    let target = Isometry3::from_parts(Translation3::new(0.42, -0.18, 0.55), pose);
    let (angles, errors) = reach(Angles::from_row_slice(&[0.1, 0.4, 0.1, -1.2, 0.1, 0.6, 0.1]), &target);
    writeln!(out, "error by step:")?;
    for (k, error) in errors.iter().enumerate() {
        writeln!(out, "{k:>3}  {error:.2e}")?;
    }
    let degrees: Vec<String> = angles.iter().map(|a| format!("{:.3}", a.to_degrees())).collect();
    writeln!(out, "angles in degrees: {}", degrees.join(", "))?;
    let hand = frames(&angles)[7].translation;
    writeln!(out, "the hand is at {:.12}, {:.12}, {:.12}", hand.x, hand.y, hand.z)?;
    Ok(errors[errors.len() - 1])
}

fn main() -> io::Result<()> {
    report(&mut io::stdout().lock()).map(|_| ())
}
