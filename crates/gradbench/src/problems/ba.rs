//! Bundle adjustment: errors of reprojection, and their sparse Jacobian, ADBench's BA.
//!
//! Formula: Šrajer, Kukelova and Fitzgibbon (2018), after Agarwal, Snavely, Seitz and Szeliski, "Bundle adjustment in the
//! large" (2010), with the camera model of Bundler.

use wengert::Compile;
use wengert::prelude::*;

/// Numbers of a camera: rotation (3), centre (3), focal length, principal point (2), radial distortion (2).
pub const CAMERA: usize = 11;

/// What an observation depends on: a camera, a point (3) and a weight.
pub const DEPENDS_ON: usize = CAMERA + 3 + 1;

/// The numbers of a problem: `n` cameras, `m` points, `p` observations.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Data {
    /// Cameras.
    pub n: usize,
    /// Points.
    pub m: usize,
    /// Observations.
    pub p: usize,
    /// `n` rows of 11.
    pub cameras: Vec<f64>,
    /// `m` rows of 3.
    pub points: Vec<f64>,
    /// `p` numbers.
    pub weights: Vec<f64>,
    /// What was seen: `p` rows of 2.
    pub features: Vec<f64>,
    /// The camera of each observation.
    pub camera_of: Vec<usize>,
    /// The point of each observation.
    pub point_of: Vec<usize>,
}

/// What the errors are differentiated by.
#[derive(Tree, Clone, Debug)]
pub struct Parameters {
    /// `[n, 11]`.
    pub cameras: Tensor,
    /// `[m, 3]`.
    pub points: Tensor,
    /// `[p]`.
    pub weights: Tensor,
}

impl Data {
    /// Observation `i` is seen by camera `i mod n` and shows point `i mod m`: the form of ADBench's files, in which all
    /// cameras, points, weights and features start equal.
    pub fn replicated(
        [n, m, p]: [usize; 3],
        camera: &[f64; CAMERA],
        point: &[f64; 3],
        weight: f64,
        feature: [f64; 2],
    ) -> Self {
        Data {
            n,
            m,
            p,
            cameras: camera.repeat(n),
            points: point.repeat(m),
            weights: vec![weight; p],
            features: feature.repeat(p),
            camera_of: (0..p).map(|i| i % n).collect(),
            point_of: (0..p).map(|i| i % m).collect(),
        }
    }

    /// The point at which the errors are differentiated.
    pub fn parameters(&self) -> Parameters {
        Parameters {
            cameras: Tensor::from_vec(&[self.n, CAMERA], self.cameras.clone()),
            points: Tensor::from_vec(&[self.m, 3], self.points.clone()),
            weights: Tensor::from_vec(&[self.p], self.weights.clone()),
        }
    }

    /// What is constant.
    pub fn observations(&self) -> Observations {
        let indices = |of: &[usize]| Tensor::from_vec(&[self.p], of.iter().map(|&i| i as i64).collect());
        Observations {
            features: Tensor::from_vec(&[self.p, 2], self.features.clone()),
            camera_of: indices(&self.camera_of),
            point_of: indices(&self.point_of),
        }
    }
}

/// What is constant: who saw which point, and where.
#[derive(Clone, Debug)]
pub struct Observations {
    features: Tensor,
    camera_of: Tensor,
    point_of: Tensor,
}

/// The two errors of reprojection of one observation, `w (project(camera, point) - feature)`.
///
/// `z` is `[15]`: the camera, the point and the weight.
pub fn reprojection(z: &Tensor, feature: &Tensor) -> Tensor {
    let at = |k: usize| z.slice(k as isize);
    let r: [Tensor; 3] = std::array::from_fn(at);
    let from_centre: [Tensor; 3] = std::array::from_fn(|k| at(CAMERA + k) - at(3 + k));
    let x = rotated(&r, &from_centre);
    let (u, v) = (&x[0] / &x[2], &x[1] / &x[2]);
    let rho = u.square() + v.square();
    let scale = at(6) * (1.0 + at(9) * &rho + at(10) * rho.square());
    let weight = at(CAMERA + 3);
    let error = |p: Tensor, k: isize| &weight * (&scale * p + at(7 + k as usize) - feature.slice(k));
    Tensor::stack(&[&error(u, 0), &error(v, 1)], 0)
}

/// `x` turned about the axis `r` by the angle `|r|` (Rodrigues' formula); where `r` is zero, its limit to first order,
/// `x + r × x`, which has the right derivative.
fn rotated(r: &[Tensor; 3], x: &[Tensor; 3]) -> [Tensor; 3] {
    let dot = |a: &[Tensor; 3], b: &[Tensor; 3]| &a[0] * &b[0] + &a[1] * &b[1] + &a[2] * &b[2];
    let square = dot(r, r);
    let turns = square.ne(0.0);
    // The square root is never taken of the zero: its derivative is infinite there.
    let angle = turns.where_(&square, 1.0).sqrt();
    let axis = r.each_ref().map(|r| r / &angle);
    let (sin, cos) = (angle.sin(), angle.cos());
    let along = dot(&axis, x) * (1.0 - &cos);
    let across = |a: &[Tensor; 3], k: usize| &a[(k + 1) % 3] * &x[(k + 2) % 3] - &a[(k + 2) % 3] * &x[(k + 1) % 3];
    std::array::from_fn(|k| {
        let far = &x[k] * &cos + across(&axis, k) * &sin + &axis[k] * &along;
        turns.where_(far, &x[k] + across(r, k))
    })
}

/// The errors of all observations, two each and observation by observation, `[2 p]`, and those of the weights, `1 - w²`, `[p]`.
pub fn errors(p: &Parameters, seen: &Observations) -> (Tensor, Tensor) {
    let pairs = vmap((&depends_on(p, seen), &seen.features), |(z, feature)| reprojection(&z, &feature));
    (pairs.flatten(), 1.0 - p.weights.square())
}

/// The numbers on which each observation depends, `[p, 15]`.
fn depends_on(p: &Parameters, seen: &Observations) -> Tensor {
    let (cameras, points) = (p.cameras.take(&seen.camera_of, 0), p.points.take(&seen.point_of, 0));
    Tensor::concat(&[&cameras, &points, &p.weights.expand_dims(1)], 1)
}

/// The values of the Jacobian in compressed rows: a full block of 2 rows and 15 columns for every observation, `[p, 2, 15]`,
/// then the derivative of the error of its weight, `-2 w`, `[p]`.
pub fn jacobian_values(p: &Parameters, seen: &Observations) -> Tensor {
    let blocks =
        vmap((&depends_on(p, seen), &seen.features), |(z, feature)| jacobian(&z, |z| reprojection(&z, &feature)));
    let by_weight = vmap(&p.weights, |w| grad(&w, |w| 1.0 - w.square()));
    Tensor::concat(&[&blocks.flatten(), &by_weight], 0)
}

/// The pattern of the Jacobian: `3 p + 1` starts of rows, and the columns of `31 p` entries.
pub fn pattern(data: &Data) -> (Vec<usize>, Vec<usize>) {
    let (n, m, p) = (data.n, data.m, data.p);
    let starts = (0..=2 * p).map(|row| DEPENDS_ON * row).chain((1..=p).map(|i| 2 * DEPENDS_ON * p + i)).collect();
    let of_weight = |i: usize| CAMERA * n + 3 * m + i;
    let mut columns = Vec::with_capacity((2 * DEPENDS_ON + 1) * p);
    for (i, (&camera, &point)) in data.camera_of.iter().zip(&data.point_of).enumerate() {
        for _ in 0..2 {
            columns.extend((0..CAMERA).map(|k| CAMERA * camera + k));
            columns.extend((0..3).map(|k| CAMERA * n + 3 * point + k));
            columns.push(of_weight(i));
        }
    }
    columns.extend((0..p).map(of_weight));
    (starts, columns)
}

/// A function of the parameters.
type Function<T> = Box<dyn Fn(&Parameters) -> T + Send + Sync>;

/// The errors and the values of their Jacobian, compiled for these observations.
pub struct Compiled {
    objective: Function<(Tensor, Tensor)>,
    jacobian: Function<Tensor>,
}

impl Compiled {
    /// For the observations of a problem, on this many threads.
    pub fn new(data: &Data, threads: usize) -> Self {
        let (seen, again) = (data.observations(), data.observations());
        let objective = Compile::new().threads(threads).function(move |p: Parameters| errors(&p, &seen));
        let jacobian = Compile::new().threads(threads).function(move |p: Parameters| jacobian_values(&p, &again));
        Compiled { objective: Box::new(move |p| objective.call(p)), jacobian: Box::new(move |p| jacobian.call(p)) }
    }

    /// The errors of reprojection, `[2 p]`, and those of the weights, `[p]`.
    pub fn objective(&self, p: &Parameters) -> (Tensor, Tensor) {
        (self.objective)(p)
    }

    /// The values of the Jacobian, `[31 p]`, in the order of [`pattern`].
    pub fn jacobian(&self, p: &Parameters) -> Tensor {
        (self.jacobian)(p)
    }
}
