//! Bundle adjustment: cameras and points from where the points are seen, by many small Jacobians at once.
//!
//! A camera has nine numbers (rotation vector, translation, focal length, two coefficients of radial distortion, as in S.
//! Agarwal, N. Snavely, S. Seitz and R. Szeliski, *Bundle adjustment in the large*, 2010), a point three. One observation
//! depends on one camera and one point: the function is recorded once, and `jacobian_many` evaluates it with its Jacobian for
//! all observations on the lanes of the processor. The normal equations of Levenberg and Marquardt are solved by eliminating
//! the points first, whose blocks are 3 x 3 (D. C. Brown's reduced camera system, 1958).
//!
//! The scene is made up and seen without noise, so that the errors have to vanish.
//!
//! Run it with `cargo run --release -p wengert --features nalgebra --example bundle_adjustment`.

use std::io::{self, Write};

use nalgebra::{DMatrix, DVector, Matrix2x3, Matrix3, SMatrix, Vector2, Vector3};
use wengert::prelude::*;

/// Rotation vector, translation, focal length, distortion.
pub type Camera<T> = [T; 9];
/// Coordinates.
pub type Point<T> = [T; 3];

/// Where a camera sees a point. The rotation is the formula of O. Rodrigues (1840).
pub fn project<R: Real>(camera: Camera<R>, point: Point<R>) -> [R; 2] {
    let [a, b, c, tx, ty, tz, focal, k1, k2] = camera;
    let [x, y, z] = point;
    let square = a * a + b * b + c * c;
    // sin t / t and (1 - cos t) / t^2, by their series where t is next to nothing.
    let (sine, cosine) = if square > 1e-12 {
        let angle = square.sqrt();
        (angle.sin() / angle, (lit(1.0) - angle.cos()) / square)
    } else {
        (lit(1.0) - square / 6.0, lit(0.5) - square / 24.0)
    };
    let cross = [b * z - c * y, c * x - a * z, a * y - b * x];
    let along = (a * x + b * y + c * z) * cosine;
    let cos = lit(1.0) - square * cosine;
    let turned = [
        x * cos + cross[0] * sine + a * along + tx,
        y * cos + cross[1] * sine + b * along + ty,
        z * cos + cross[2] * sine + c * along + tz,
    ];
    // The camera looks along -z.
    let [u, v] = [-turned[0] / turned[2], -turned[1] / turned[2]];
    let r2 = u * u + v * v;
    let scale = focal * (lit(1.0) + r2 * (k1 + r2 * k2));
    [u * scale, v * scale]
}

/// Which camera sees which point where.
pub type Observation = (usize, usize, [f64; 2]);

/// A scene: what is estimated, and what is known.
#[derive(Clone)]
pub struct Scene {
    /// The cameras.
    pub cameras: Vec<Camera<f64>>,
    /// The points.
    pub points: Vec<Point<f64>>,
    /// What was seen.
    pub observations: Vec<Observation>,
}

impl Scene {
    /// Cameras on an arc around a cloud of points; everything sees everything.
    pub fn made_up(cameras: usize, points: usize) -> Scene {
        let wave = |k: usize, step: f64| (k as f64 * step + 0.5).sin();
        let camera = |k| {
            [
                0.1 * wave(k, 0.7),
                0.3 * wave(k, 1.3),
                0.05 * wave(k, 2.1),
                wave(k, 1.1),
                wave(k, 0.3),
                -8.0,
                500.0,
                -0.02,
                0.003,
            ]
        };
        let cameras: Vec<_> = (0..cameras).map(camera).collect();
        let points: Vec<_> = (0..points).map(|k| [2.0 * wave(k, 1.7), 2.0 * wave(k, 2.9), wave(k, 0.9)]).collect();
        let pairs = (0..points.len()).flat_map(|p| (0..cameras.len()).map(move |c| (c, p)));
        let observations = pairs.map(|(c, p)| (c, p, project(cameras[c], points[p]))).collect();
        Scene { cameras, points, observations }
    }

    /// The same observations, and everything else not quite right.
    pub fn disturbed(&self) -> Scene {
        let mut scene = self.clone();
        let shift = |k: usize| 0.02 * (k as f64 * 12.9898).sin();
        for (k, camera) in scene.cameras.iter_mut().enumerate() {
            (0..6).for_each(|i| camera[i] += shift(6 * k + i));
            camera[6] *= 1.0 + shift(k);
        }
        for (k, x) in scene.points.iter_mut().flatten().enumerate() {
            *x += 2.0 * shift(3 * k + 1);
        }
        scene
    }

    /// Half the sum of squares of the distances in the pictures.
    pub fn cost(&self) -> f64 {
        0.5 * self.observations.iter().map(|seen| self.misfit(seen).norm_squared()).sum::<f64>()
    }

    fn misfit(&self, &(c, p, seen): &Observation) -> Vector2<f64> {
        Vector2::from(project(self.cameras[c], self.points[p])) - Vector2::from(seen)
    }

    fn moved(&self, by_cameras: &DVector<f64>, by_points: &[Vector3<f64>]) -> Scene {
        let mut scene = self.clone();
        for (x, step) in scene.cameras.iter_mut().flatten().zip(by_cameras.iter()) {
            *x -= step;
        }
        for (x, step) in scene.points.iter_mut().flatten().zip(by_points.iter().flatten()) {
            *x -= step;
        }
        scene
    }
}

/// The Jacobians of one observation by its camera and by its point.
pub type Blocks = (SMatrix<f64, 2, 9>, Matrix2x3<f64>);

/// Adjusts the scene, and says what it costs after every accepted step.
pub fn adjust(scene: &Scene) -> (Scene, Vec<f64>) {
    let seen = record((scene.cameras[0], scene.points[0]), |(camera, point)| project(camera, point));
    let mut scene = scene.clone();
    let mut costs = vec![scene.cost()];
    let mut damping = 1e-3;
    while costs.len() < 50 && damping < 1e8 {
        let pairs: Vec<_> = scene.observations.iter().map(|&(c, p, _)| (scene.cameras[c], scene.points[p])).collect();
        let blocks = seen
            .jacobian_many(&pairs)
            .into_iter()
            .map(|rows| (SMatrix::from_fn(|i, j| rows[i].0[j]), Matrix2x3::from_fn(|i, j| rows[i].1[j])));
        let blocks: Vec<Blocks> = blocks.collect();
        let (by_cameras, by_points) = step(&scene, &blocks, damping);
        let tried = scene.moved(&by_cameras, &by_points);
        let (now, then) = (costs[costs.len() - 1], tried.cost());
        if then < now {
            (scene, damping) = (tried, damping * 0.1);
            costs.push(then);
            if then < 1e-20 || then > 0.999_999 * now {
                break;
            }
        } else {
            damping *= 10.0;
        }
    }
    (scene, costs)
}

/// The damped step of the method of Gauss and Newton, points eliminated.
fn step(scene: &Scene, blocks: &[Blocks], damping: f64) -> (DVector<f64>, Vec<Vector3<f64>>) {
    let n = 9 * scene.cameras.len();
    let (mut cameras, mut right) = (DMatrix::zeros(n, n), DVector::zeros(n));
    let mut points = vec![(Matrix3::zeros(), Vector3::zeros()); scene.points.len()];
    let mut mixed = vec![DMatrix::zeros(n, 3); scene.points.len()];
    for (seen, (by_camera, by_point)) in scene.observations.iter().zip(blocks) {
        let (misfit, at, point) = (scene.misfit(seen), 9 * seen.0, seen.1);
        let mut block = cameras.view_mut((at, at), (9, 9));
        block += by_camera.transpose() * by_camera;
        let mut block = right.rows_mut(at, 9);
        block += by_camera.transpose() * misfit;
        let mut block = mixed[point].view_mut((at, 0), (9, 3));
        block += by_camera.transpose() * by_point;
        points[point].0 += by_point.transpose() * by_point;
        points[point].1 += by_point.transpose() * misfit;
    }
    // Marquardt's scaling: damped as the diagonal is long.
    (0..n).for_each(|k| cameras[(k, k)] *= 1.0 + damping);
    let factors: Vec<_> = points
        .iter()
        .map(|(block, _)| (block + Matrix3::from_diagonal(&(block.diagonal() * damping))).cholesky().expect("positive"))
        .collect();
    for ((mixed, factor), (_, of_point)) in mixed.iter().zip(&factors).zip(&points) {
        let solved = factor.solve(&mixed.transpose());
        cameras -= mixed * solved;
        right -= mixed * factor.solve(of_point);
    }
    // Moving, turning and scaling everything together changes nothing that is seen: a small number in those directions.
    let tiny = 1e-12 * cameras.diagonal().max();
    (0..n).for_each(|k| cameras[(k, k)] += tiny);
    let by_cameras = cameras.cholesky().expect("positive").solve(&right);
    let parts = mixed.iter().zip(&factors).zip(&points);
    let by_points =
        parts.map(|((mixed, factor), (_, right))| factor.solve(&(right - mixed.transpose() * &by_cameras))).collect();
    (by_cameras, by_points)
}

/// Adjusts a scene and prints the costs.
pub fn report(out: &mut impl Write, cameras: usize, points: usize) -> io::Result<f64> {
    let scene = Scene::made_up(cameras, points).disturbed();
    let seen = scene.observations.len();
    writeln!(out, "{cameras} cameras, {points} points, {seen} observations")?;
    let (_, costs) = adjust(&scene);
    for (k, cost) in costs.iter().enumerate() {
        writeln!(out, "{k:>3}  cost {cost:.3e}   {:.1e} pixels", (2.0 * cost / seen as f64).sqrt())?;
    }
    Ok(costs[costs.len() - 1])
}

fn main() -> io::Result<()> {
    report(&mut io::stdout().lock(), 8, 200).map(|_| ())
}
