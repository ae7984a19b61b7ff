//! ADBench's hand tracking: the distances and their Jacobian, column by column.

use wengert_gradbench::problems::hand::{Data, MOVED, POSE};

/// The first three rows of an affine map, row by row.
type Affine = [f64; 12];
type Vector = [f64; 3];

/// Numbers kept between calls.
#[derive(Default)]
pub(crate) struct Scratch {
    /// Where each bone takes a point at rest, and its derivative by the angles it depends on.
    bones: Vec<Bone>,
    /// The same without the inverse transform at rest.
    absolute: Vec<Bone>,
    /// Vertices that were posed in this call, if they are used more than once.
    posed: Vec<Posed>,
    /// For each vertex its place in `posed`, or `usize::MAX`.
    place: Vec<usize>,
}

#[derive(Clone, Default)]
struct Bone {
    map: Affine,
    by_angle: Vec<(usize, Affine)>,
}

/// A vertex before and after the global rotation, with its derivatives by the parameters it depends on.
#[derive(Clone)]
struct Posed {
    vertex: Vector,
    by_parameter: Vec<(usize, Vector)>,
}

/// The distances, three for each point.
pub(crate) fn objective(data: &Data, scratch: &mut Scratch, distances: &mut [f64]) {
    let whole = Rotation::new(&data.theta);
    chain(data, scratch, false);
    scratch.forget(data);
    for (k, distance) in distances.as_chunks_mut::<3>().0.iter_mut().enumerate() {
        let places = corners(data, k).map(|(vertex, weight)| (scratch.vertex(data, &whole, vertex, false), weight));
        for r in 0..3 {
            let seen: f64 = places.iter().map(|&(place, weight)| weight * scratch.posed[place].vertex[r]).sum();
            distance[r] = data.points[k][r] - seen - data.theta[3 + r];
        }
    }
}

/// The Jacobian column by column: for triangles first the two derivatives by each point's own place.
pub(crate) fn jacobian(data: &Data, scratch: &mut Scratch, columns: &mut [f64]) {
    let rows = 3 * data.points.len();
    let whole = Rotation::new(&data.theta);
    chain(data, scratch, true);
    scratch.forget(data);
    columns.fill(0.0);
    let own = if data.us.is_some() { 2 } else { 0 };
    let (by_place, by_pose) = columns.split_at_mut(own * rows);
    for r in 0..3 {
        by_pose[(3 + r) * rows..][..rows].iter_mut().skip(r).step_by(3).for_each(|entry| *entry = -1.0);
    }
    for k in 0..data.points.len() {
        let places = corners(data, k).map(|(vertex, weight)| (scratch.vertex(data, &whole, vertex, true), weight));
        for (place, weight) in places {
            for (parameter, by) in &scratch.posed[place].by_parameter {
                let column = &mut by_pose[parameter * rows + 3 * k..][..3];
                (0..3).for_each(|r| column[r] -= weight * by[r]);
            }
        }
        if own == 2 {
            let [a, b, c] = places.map(|(place, _)| scratch.posed[place].vertex);
            for r in 0..3 {
                by_place[3 * k + r] = c[r] - a[r];
                by_place[rows + 3 * k + r] = c[r] - b[r];
            }
        }
    }
}

/// The vertices that a point corresponds to, with their weights; one alone stands three times, with weights 1, 0, 0.
fn corners(data: &Data, k: usize) -> [(usize, f64); 3] {
    let target = data.correspondences[k];
    match &data.us {
        None => [(target, 1.0), (target, 0.0), (target, 0.0)],
        Some(us) => {
            let ([a, b, c], [u, v]) = (data.model.triangles[target], us[k]);
            [(a, u), (b, v), (c, 1.0 - u - v)]
        }
    }
}

impl Scratch {
    fn forget(&mut self, data: &Data) {
        self.posed.clear();
        self.place.clear();
        self.place.resize(data.model.vertices.len(), usize::MAX);
    }

    /// The place of a vertex in `posed`, where it is computed once.
    fn vertex(&mut self, data: &Data, whole: &Rotation, vertex: usize, derive: bool) -> usize {
        if self.place[vertex] == usize::MAX {
            self.place[vertex] = self.posed.len();
            let posed = self.pose(data, whole, vertex, derive);
            self.posed.push(posed);
        }
        self.place[vertex]
    }

    fn pose(&self, data: &Data, whole: &Rotation, vertex: usize, derive: bool) -> Posed {
        let rest = &data.model.vertices[vertex];
        let mut skinned = [0.0; 3];
        let mut by_angle = [[0.0; 3]; POSE];
        let mut depends = 0u32;
        for &(bone, weight) in &data.model.weights[vertex] {
            let bone = &self.bones[bone];
            add(&mut skinned, weight, &applied(&bone.map, rest));
            if derive {
                for (parameter, map) in &bone.by_angle {
                    add(&mut by_angle[*parameter], weight, &applied(map, rest));
                    depends |= 1 << parameter;
                }
            }
        }
        let mut by_parameter = Vec::new();
        if derive {
            by_parameter.extend((0..3).map(|k| (k, whole.by[k].map(|row| dot(&row, &skinned)))));
            let angles = (0..POSE).filter(|parameter| depends >> parameter & 1 == 1);
            by_parameter.extend(angles.map(|k| (k, whole.matrix.map(|row| dot(&row, &by_angle[k])))));
        }
        Posed { vertex: whole.matrix.map(|row| dot(&row, &skinned)), by_parameter }
    }
}

/// Where the bones are, and the derivatives by the angles of each and of those it hangs on.
fn chain(data: &Data, scratch: &mut Scratch, derive: bool) {
    let model = &data.model;
    scratch.bones.resize(model.parents.len(), Bone::default());
    scratch.absolute.resize(model.parents.len(), Bone::default());
    for bone in 0..model.parents.len() {
        let base = affine(&model.base_relatives[bone]);
        let back = affine(&model.inverse_base_absolutes[bone]);
        let (x, z) = parameters(bone);
        let angle = |parameter: Option<usize>| parameter.map_or(0.0, |k| data.theta[k]);
        let ((sx, cx), (sz, cz)) = (angle(x).sin_cos(), angle(z).sin_cos());
        let about = |a: [f64; 9]| [a[0], a[1], a[2], 0.0, a[3], a[4], a[5], 0.0, a[6], a[7], a[8], 0.0];
        let turn = about([cz, -sz * cx, sz * sx, sz, cz * cx, -cz * sx, 0.0, sx, cx]);
        let by_x = about([0.0, sz * sx, sz * cx, 0.0, -cz * sx, -cz * cx, 0.0, cx, -sx]);
        let by_z = about([-sz, -cz * cx, cz * sx, cz, -sz * cx, sz * sx, 0.0, 0.0, 0.0]);
        let (before, own) = scratch.absolute.split_at_mut(bone);
        let parent = model.parents[bone].map(|parent| &before[parent]);
        let hung = |map: &Affine| parent.map_or(*map, |parent| product(&parent.map, map, 0.0));
        let relative = product(&base, &turn, 1.0);
        let own = &mut own[0];
        own.by_angle.clear();
        own.map = parent.map_or(relative, |parent| product(&parent.map, &relative, 1.0));
        if derive {
            let inherited = parent.iter().flat_map(|parent| &parent.by_angle);
            own.by_angle.extend(inherited.map(|(k, map)| (*k, product(map, &relative, 1.0))));
            let of_own = [(x, by_x), (z, by_z)].into_iter().filter_map(|(k, map)| Some((k?, map)));
            own.by_angle.extend(of_own.map(|(k, map)| (k, hung(&product(&base, &map, 0.0)))));
        }
        let placed = &mut scratch.bones[bone];
        placed.map = product(&own.map, &back, 1.0);
        placed.by_angle.clear();
        placed.by_angle.extend(own.by_angle.iter().map(|(k, map)| (*k, product(map, &back, 1.0))));
    }
}

/// The parameters that are the angles of a bone about x and z.
fn parameters(bone: usize) -> (Option<usize>, Option<usize>) {
    if bone == 0 || bone >= MOVED {
        return (None, None);
    }
    let first = 6 + 4 * ((bone - 1) / 4);
    match (bone - 1) % 4 {
        0 => (None, None),
        1 => (Some(first), Some(first + 1)),
        2 => (Some(first + 2), None),
        _ => (Some(first + 3), None),
    }
}

/// A rotation about the axis and by the angle of the first three parameters, with its derivatives by them.
struct Rotation {
    matrix: [Vector; 3],
    by: [[Vector; 3]; 3],
}

impl Rotation {
    fn new(theta: &[f64]) -> Self {
        let angle = (theta[0] * theta[0] + theta[1] * theta[1] + theta[2] * theta[2]).sqrt();
        if angle < 1e-4 {
            let matrix = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
            return Rotation { matrix, by: [[[0.0; 3]; 3]; 3] };
        }
        let a: Vector = std::array::from_fn(|k| theta[k] / angle);
        let (s, c) = angle.sin_cos();
        let outer = |a: &Vector, b: &Vector| a.map(|a| b.map(|b| a * b));
        let turn = |a: &Vector| [[0.0, -a[2], a[1]], [a[2], 0.0, -a[0]], [-a[1], a[0], 0.0]];
        let (aa, across) = (outer(&a, &a), turn(&a));
        let same = |i: usize, j: usize| if i == j { 1.0 } else { 0.0 };
        let entries =
            |f: &dyn Fn(usize, usize) -> f64| std::array::from_fn::<Vector, 3, _>(|i| std::array::from_fn(|j| f(i, j)));
        let matrix = entries(&|i, j| aa[i][j] * (1.0 - c) + same(i, j) * c + across[i][j] * s);
        let by = std::array::from_fn(|k| {
            let axis: Vector = std::array::from_fn(|i| (same(i, k) - a[i] * a[k]) / angle);
            let (left, right, turned) = (outer(&axis, &a), outer(&a, &axis), turn(&axis));
            entries(&|i, j| {
                (left[i][j] + right[i][j]) * (1.0 - c)
                    + a[k] * ((aa[i][j] - same(i, j)) * s + across[i][j] * c)
                    + turned[i][j] * s
            })
        });
        Rotation { matrix, by }
    }
}

fn affine(matrix: &[f64; 16]) -> Affine {
    std::array::from_fn(|k| matrix[k])
}

/// The product of affine maps; `last` is the last entry of the second one's fourth row, 0 for a derivative.
fn product(a: &Affine, b: &Affine, last: f64) -> Affine {
    std::array::from_fn(|k| {
        let (row, column) = (k / 4 * 4, k % 4);
        let sum = a[row] * b[column] + a[row + 1] * b[4 + column] + a[row + 2] * b[8 + column];
        if column == 3 { sum + a[row + 3] * last } else { sum }
    })
}

fn applied(map: &Affine, x: &[f64; 4]) -> Vector {
    [0, 4, 8].map(|row| map[row] * x[0] + map[row + 1] * x[1] + map[row + 2] * x[2] + map[row + 3] * x[3])
}

fn add(sum: &mut Vector, weight: f64, x: &Vector) {
    (0..3).for_each(|k| sum[k] += weight * x[k]);
}

fn dot(a: &Vector, b: &Vector) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}
