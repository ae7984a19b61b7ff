//! ADBench's bundle adjustment: the errors and the values of their sparse Jacobian.

use wengert_gradbench::problems::ba::{CAMERA, DEPENDS_ON, Data};

type Vector = [f64; 3];

/// All errors: two for each observation, then one for each weight.
pub(crate) fn objective(data: &Data, errors: &mut [f64]) {
    let (pairs, of_weights) = errors.split_at_mut(2 * data.p);
    for (i, pair) in pairs.as_chunks_mut::<2>().0.iter_mut().enumerate() {
        let (camera, point, weight, feature) = observation(data, i);
        let turned = Turned::new(&camera[..3], difference(point, &camera[3..6]));
        let projected = Projected::new(camera, &turned.x);
        for k in 0..2 {
            pair[k] = weight * (projected.place[k] - feature[k]);
        }
    }
    of_weights.iter_mut().zip(&data.weights).for_each(|(error, w)| *error = 1.0 - w * w);
}

/// The values in compressed rows, `31 p` numbers.
pub(crate) fn jacobian(data: &Data, values: &mut [f64]) {
    let (blocks, of_weights) = values.split_at_mut(2 * DEPENDS_ON * data.p);
    for (i, block) in blocks.as_chunks_mut::<{ 2 * DEPENDS_ON }>().0.iter_mut().enumerate() {
        let (camera, point, weight, feature) = observation(data, i);
        let turned = Turned::new(&camera[..3], difference(point, &camera[3..6]));
        let projected = Projected::new(camera, &turned.x);
        let by_rotation = turned.by_rotation();
        for (k, row) in block.as_chunks_mut::<DEPENDS_ON>().0.iter_mut().enumerate() {
            // By the point in the camera's frame.
            let g = projected.by_point(camera, k).map(|g| weight * g);
            for j in 0..3 {
                row[j] = dot(&g, &by_rotation[j]);
                let by_point = g[0] * turned.matrix[0][j] + g[1] * turned.matrix[1][j] + g[2] * turned.matrix[2][j];
                row[3 + j] = -by_point;
                row[CAMERA + j] = by_point;
            }
            let plane = weight * projected.plane[k];
            row[6] = projected.distortion * plane;
            row[7] = if k == 0 { weight } else { 0.0 };
            row[8] = if k == 1 { weight } else { 0.0 };
            row[9] = camera[6] * projected.rho * plane;
            row[10] = camera[6] * projected.rho * projected.rho * plane;
            row[CAMERA + 3] = projected.place[k] - feature[k];
        }
    }
    of_weights.iter_mut().zip(&data.weights).for_each(|(value, w)| *value = -2.0 * w);
}

fn observation(data: &Data, i: usize) -> (&[f64], &[f64], f64, &[f64]) {
    let camera = &data.cameras[CAMERA * data.camera_of[i]..][..CAMERA];
    let point = &data.points[3 * data.point_of[i]..][..3];
    (camera, point, data.weights[i], &data.features[2 * i..][..2])
}

/// A vector turned about an axis.
struct Turned {
    axis: Vector,
    angle: f64,
    sin: f64,
    cos: f64,
    /// Before.
    from: Vector,
    /// `axis × from` and `axis . from`.
    across: Vector,
    along: f64,
    x: Vector,
    /// Of the rotation.
    matrix: [Vector; 3],
}

impl Turned {
    #[inline]
    fn new(r: &[f64], from: Vector) -> Self {
        let square = r[0] * r[0] + r[1] * r[1] + r[2] * r[2];
        if square == 0.0 {
            let r = [r[0], r[1], r[2]];
            let across = cross(&r, &from);
            let x = std::array::from_fn(|k| from[k] + across[k]);
            let matrix = [[1.0, -r[2], r[1]], [r[2], 1.0, -r[0]], [-r[1], r[0], 1.0]];
            return Turned { axis: r, angle: 0.0, sin: 0.0, cos: 1.0, from, across, along: 0.0, x, matrix };
        }
        let angle = square.sqrt();
        let (sin, cos) = angle.sin_cos();
        let axis = [r[0] / angle, r[1] / angle, r[2] / angle];
        let (across, along) = (cross(&axis, &from), dot(&axis, &from));
        let x = std::array::from_fn(|k| from[k] * cos + across[k] * sin + axis[k] * along * (1.0 - cos));
        let [a, b, c] = axis.map(|a| a * sin);
        let outer: [Vector; 3] = std::array::from_fn(|i| std::array::from_fn(|j| axis[i] * axis[j] * (1.0 - cos)));
        let matrix = [
            [outer[0][0] + cos, outer[0][1] - c, outer[0][2] + b],
            [outer[1][0] + c, outer[1][1] + cos, outer[1][2] - a],
            [outer[2][0] - b, outer[2][1] + a, outer[2][2] + cos],
        ];
        Turned { axis, angle, sin, cos, from, across, along, x, matrix }
    }

    /// The derivative of the turned vector by each number of the rotation.
    #[inline]
    fn by_rotation(&self) -> [Vector; 3] {
        if self.angle == 0.0 {
            let [x, y, z] = self.from;
            return [[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]];
        }
        let versine = 1.0 - self.cos;
        let by_angle: Vector =
            std::array::from_fn(|k| (self.axis[k] * self.along - self.from[k]) * self.sin + self.across[k] * self.cos);
        std::array::from_fn(|j| {
            let axis: Vector = std::array::from_fn(|k| {
                let same = if k == j { 1.0 } else { 0.0 };
                (same - self.axis[k] * self.axis[j]) / self.angle
            });
            let (across, along) = (cross(&axis, &self.from), dot(&axis, &self.from));
            std::array::from_fn(|k| {
                let turning = (axis[k] * self.along + self.axis[k] * along) * versine;
                by_angle[k] * self.axis[j] + across[k] * self.sin + turning
            })
        })
    }
}

/// A point in the camera's frame, seen by the camera.
struct Projected {
    depth: f64,
    plane: [f64; 2],
    rho: f64,
    distortion: f64,
    place: [f64; 2],
}

impl Projected {
    #[inline]
    fn new(camera: &[f64], x: &Vector) -> Self {
        let plane = [x[0] / x[2], x[1] / x[2]];
        let rho = plane[0] * plane[0] + plane[1] * plane[1];
        let distortion = 1.0 + camera[9] * rho + camera[10] * rho * rho;
        let place = [0, 1].map(|k| camera[6] * distortion * plane[k] + camera[7 + k]);
        Projected { depth: x[2], plane, rho, distortion, place }
    }

    /// The derivative of coordinate `k` by the point.
    #[inline]
    fn by_point(&self, camera: &[f64], k: usize) -> Vector {
        let slope = 2.0 * camera[9] + 4.0 * camera[10] * self.rho;
        let by_plane: [f64; 2] = std::array::from_fn(|j| {
            let same = if j == k { self.distortion } else { 0.0 };
            camera[6] * (same + slope * self.plane[k] * self.plane[j]) / self.depth
        });
        [by_plane[0], by_plane[1], -(by_plane[0] * self.plane[0] + by_plane[1] * self.plane[1])]
    }
}

fn difference(a: &[f64], b: &[f64]) -> Vector {
    [a[0] - b[0], a[1] - b[1], a[2] - b[2]]
}

fn dot(a: &Vector, b: &Vector) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

fn cross(a: &Vector, b: &Vector) -> Vector {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}
