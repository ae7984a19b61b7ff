//! Hand tracking: distances between observed points and a posed hand, and their narrow dense Jacobian, ADBench's HAND.
//!
//! Formula: Šrajer, Kukelova and Fitzgibbon (2018), after Taylor, Stebbing, Ramakrishna, Keskin, Shotton, Izadi,
//! Hertzmann and Fitzgibbon, "User-specific hand modeling from monocular depth sequences" (2014): a kinematic chain and
//! linear blend skinning.

use std::sync::Arc;

use wengert::prelude::*;
use wengert::{Compile, Error, Real};

/// Parameters of a pose: rotation (3), translation (3), four angles for each of five fingers.
pub const POSE: usize = 26;

/// Fingers, in the order thumb, index, middle, ring, pinky.
const FINGERS: usize = 5;
/// Angles of a finger, and the parameter that is the first of the first.
const ANGLES: usize = 4;
const FIRST_ANGLE: usize = 6;

/// Bones that the pose moves: the wrist, and four for each finger.
pub const MOVED: usize = 21;

/// The hand at rest.
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    /// The bone each one hangs on, which stands before it; none for a root.
    pub parents: Vec<Option<usize>>,
    /// Each bone relative to its parent: 4 × 4, row by row.
    pub base_relatives: Vec<[f64; 16]>,
    /// The inverse of where each one is at rest.
    pub inverse_base_absolutes: Vec<[f64; 16]>,
    /// Homogeneous coordinates of the vertices.
    pub vertices: Vec<[f64; 4]>,
    /// For every vertex the bones that move it, each with its weight.
    pub weights: Vec<Vec<(usize, f64)>>,
    /// The vertices of each triangle.
    pub triangles: Vec<[usize; 3]>,
}

/// The numbers of a problem.
#[derive(Clone, Debug, PartialEq)]
pub struct Data {
    /// The hand at rest.
    pub model: Model,
    /// What each observed point corresponds to: a vertex, or in the complicated case a triangle.
    pub correspondences: Vec<usize>,
    /// The observed points.
    pub points: Vec<[f64; 3]>,
    /// In the complicated case, the place of each point in its triangle.
    pub us: Option<Vec<[f64; 2]>>,
    /// The pose.
    pub theta: [f64; POSE],
}

impl Data {
    /// The places in the triangles, `[N, 2]`; of no use in the simple case, where there are none: `[0, 2]`.
    pub fn places(&self) -> Tensor {
        let us = self.us.as_deref().unwrap_or_default();
        Tensor::from_vec(&[us.len(), 2], us.concat())
    }
}

/// Where the bones take points at rest, as the first stage, of the pose alone: numbers, recorded once and run as
/// straight-line code. For every bone, every column `c` of its transform after the global rotation and every row `r` a
/// number: `4 bones` rows of 3.
///
/// The translation is left out: it is added to every vertex, whatever its weights sum up to.
pub fn bones<R: Real>(theta: &[R; POSE], model: &Model) -> Vec<R> {
    let whole = rotation(&[theta[0], theta[1], theta[2]]);
    let mut absolute: Vec<Affine<R>> = Vec::with_capacity(model.parents.len());
    let mut turned = Vec::with_capacity(12 * model.parents.len());
    for (bone, parent) in model.parents.iter().enumerate() {
        let own = relative(theta, bone, &model.base_relatives[bone]);
        let own = parent.map_or(own, |parent| absolute[parent].times(|k, c| own.0[k][c]));
        let back = &model.inverse_base_absolutes[bone];
        let placed = own.times(|k, c| R::constant(back[4 * k + c]));
        absolute.push(own);
        for c in 0..4 {
            turned.extend(whole.map(|row| dot(row, [placed.0[0][c], placed.0[1][c], placed.0[2][c]])));
        }
    }
    turned
}

/// The first three rows of an affine map.
#[derive(Clone, Copy)]
struct Affine<R>([[R; 4]; 3]);

impl<R: Real> Affine<R> {
    /// The product with another affine map, given by its entries in the first three rows.
    fn times(&self, other: impl Fn(usize, usize) -> R) -> Self {
        Affine(self.0.map(|row| {
            std::array::from_fn(|c| {
                let sum = dot([row[0], row[1], row[2]], [other(0, c), other(1, c), other(2, c)]);
                if c == 3 { sum + row[3] } else { sum }
            })
        }))
    }
}

fn dot<R: Real>(a: [R; 3], b: [R; 3]) -> R {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

/// A bone's base times `Rz Rx`; the angle about y is zero for every bone.
fn relative<R: Real>(theta: &[R; POSE], bone: usize, base: &[f64; 16]) -> Affine<R> {
    let (about_x, about_z) = angles(bone);
    Affine(std::array::from_fn(|r| {
        let b: [f64; 4] = std::array::from_fn(|c| base[4 * r + c]);
        let b = b.map(R::constant);
        let (turned, across) = match about_z.map(|k| (theta[k].sin(), theta[k].cos())) {
            Some((s, c)) => (b[0] * c + b[1] * s, b[1] * c - b[0] * s),
            None => (b[0], b[1]),
        };
        match about_x.map(|k| (theta[k].sin(), theta[k].cos())) {
            Some((s, c)) => [turned, across * c + b[2] * s, b[2] * c - across * s, b[3]],
            None => [turned, across, b[2], b[3]],
        }
    }))
}

/// The parameters that are the angles of a bone about x and z: only the last three bones of a finger have any.
fn angles(bone: usize) -> (Option<usize>, Option<usize>) {
    if bone == 0 || bone >= MOVED {
        return (None, None);
    }
    let first = FIRST_ANGLE + ANGLES * ((bone - 1) / 4);
    match (bone - 1) % 4 {
        0 => (None, None),
        1 => (Some(first), Some(first + 1)),
        2 => (Some(first + 2), None),
        _ => (Some(first + 3), None),
    }
}

/// The rotation about an axis by an angle, both given as `r`, of length `|r|`; none where that is below 1e-4.
fn rotation<R: Real>(r: &[R; 3]) -> [[R; 3]; 3] {
    let square = dot(*r, *r);
    let [zero, one] = [0.0, 1.0].map(R::constant);
    // Both sides are computed, and one is chosen, so that one recording serves all poses. The square root is never taken
    // of a zero: its derivative is infinite there.
    let turns = !square.less(R::constant(1e-8));
    let angle = R::select(turns, square, one).sqrt();
    let [x, y, z] = r.map(|r| r / angle);
    let (s, c) = (angle.sin(), angle.cos());
    let v = one - c;
    let rows = [
        [x * x * v + c, x * y * v - z * s, x * z * v + y * s],
        [x * y * v + z * s, y * y * v + c, y * z * v - x * s],
        [x * z * v - y * s, z * y * v + x * s, z * z * v + c],
    ];
    std::array::from_fn(|i| std::array::from_fn(|j| R::select(turns, rows[i][j], if i == j { one } else { zero })))
}

/// What is constant of the second stage, from the bones to the distances. Vertices that correspond to nothing are left out.
#[derive(Clone, Debug)]
struct Rig {
    /// Minus weight times coordinate, as distances are what was observed minus the vertices: `[vertices, 4 bones]`.
    skin: Tensor,
    /// The columns of the skin that belong to the bones that a finger's angles move, for every finger as many as for the one
    /// with most, `[5, vertices, 4 moved]`; the others are zero.
    fingers: Tensor,
    /// Where the derivatives of these bones by these angles stand among those of all bones by the pose,
    /// `[5, 4 moved, 4 angles, 3]`.
    by_finger: Tensor,
    /// The rows of the skin of the corners of each point's triangle, in the complicated case.
    corners: Option<[Tensor; 3]>,
    /// `[N, 3]`.
    points: Tensor,
    /// The derivatives by the translation, `[3, N, 3]`.
    by_translation: Tensor,
}

impl Rig {
    fn new(data: &Data) -> Self {
        let model = &data.model;
        let mut rows = Rows { known: vec![None; model.vertices.len()], used: vec![] };
        let (corners, used) = match &data.us {
            None => (None, data.correspondences.clone()),
            Some(_) => {
                let mut corner = |k: usize| {
                    let corner: Vec<i64> =
                        data.correspondences.iter().map(|&t| rows.row(model.triangles[t][k])).collect();
                    Tensor::from_vec(&[corner.len()], corner)
                };
                let corners = [corner(0), corner(1), corner(2)];
                (Some(corners), rows.used)
            }
        };
        let width = 4 * model.parents.len();
        let skin = skin(model, &used);
        let moved: Vec<Vec<usize>> = (0..FINGERS).map(|finger| moved_by(model, finger)).collect();
        let most = 4 * moved.iter().map(Vec::len).max().unwrap_or(0);
        let rows_of = |finger: usize| moved[finger].iter().flat_map(|bone| 4 * bone..4 * bone + 4);
        let mut fingers = vec![0.0; used.len() * FINGERS * most];
        let mut by_finger = vec![0; FINGERS * most * ANGLES * 3];
        for finger in 0..FINGERS {
            for (k, row) in rows_of(finger).enumerate() {
                let place = finger * most + k;
                (0..used.len()).for_each(|v| fingers[(finger * used.len() + v) * most + k] = skin[v * width + row]);
                for (angle, r) in (0..ANGLES).flat_map(|angle| (0..3).map(move |r| (angle, r))) {
                    let entry = (3 * row + r) * POSE + FIRST_ANGLE + ANGLES * finger + angle;
                    by_finger[(place * ANGLES + angle) * 3 + r] = entry as i64;
                }
            }
        }
        let skin = Tensor::from_vec(&[used.len(), width], skin);
        let fingers = Tensor::from_vec(&[FINGERS, used.len(), most], fingers);
        let by_finger = Tensor::from_vec(&[FINGERS, most, ANGLES, 3], by_finger);
        let count = data.points.len();
        let by_translation = -Tensor::eye(3).expand_dims(1).broadcast_to(&[3, count, 3]);
        let points = Tensor::from_vec(&[count, 3], data.points.concat());
        Rig { skin, fingers, by_finger, corners, points, by_translation }
    }

    /// What each point corresponds to, from numbers of the used vertices, `[vertices, any]`: `[N, any]`. In the complicated
    /// case that is `u1 a + u2 b + (1 - u1 - u2) c`.
    fn seen(&self, vertices: &Tensor, us: &Tensor) -> Tensor {
        let Some(corners) = &self.corners else { return vertices.clone() };
        let [a, b, c] = corners.each_ref().map(|rows| vertices.take(rows, 0));
        let (u1, u2) = (us.slice((.., ..1)), us.slice((.., 1..2)));
        &u1 * a + &u2 * b + (1.0 - &u1 - &u2) * c
    }

    /// Observed points minus those of the hand, `[N, 3]`, from the bones, `[4 bones, 3]`, and the translation, `[3]`.
    fn distances(&self, bones: &Tensor, translation: &Tensor, us: &Tensor) -> Tensor {
        &self.points + self.seen(&(self.skin.matmul(bones) - translation), us)
    }

    /// The columns of parameters, `[parameters, N, 3]`, from what they move the vertices by, `[vertices, 3 parameters]`.
    fn columns_of(&self, vertices: &Tensor, us: &Tensor) -> Tensor {
        let parameters = vertices.shape()[1] as isize / 3;
        self.seen(vertices, us).reshape(&[-1, parameters, 3]).permute(&[1, 0, 2])
    }

    /// The Jacobian column by column, `[columns, N, 3]`: in the complicated case first the derivatives of each point's
    /// distances by its own two places, then those by the pose. `by_pose` is the derivative of the bones,
    /// `[4 bones, 3, 26]`.
    fn columns(&self, bones: &Tensor, by_pose: &Tensor, translation: &Tensor, us: &Tensor) -> Tensor {
        let mut columns = Vec::new();
        if self.corners.is_some() {
            // Each point depends on its own places alone: one direction for the first of all points, one for the second.
            let places = Tensor::eye(2).expand_dims(1).broadcast_to(&[2, us.shape()[0], 2]);
            columns
                .push(vmap(&places, |direction| jvp(us, &direction, |us| self.distances(bones, translation, &us)).1));
        }
        // The vertices are linear in the bones, and so are their derivatives in those of the bones.
        let by_rotation = by_pose.slice((.., .., ..3)).permute(&[0, 2, 1]).reshape(&[-1, 9]);
        columns.push(self.columns_of(&self.skin.matmul(&by_rotation), us));
        columns.push(self.by_translation.clone());
        let by_angles = by_pose.flatten().take(&self.by_finger, 0);
        let vertices = Tensor::einsum("fvk,fkar->vfar", &[&self.fingers, &by_angles]);
        columns.push(self.columns_of(&vertices.reshape(&[-1, (3 * ANGLES * FINGERS) as isize]), us));
        Tensor::concat(&columns.iter().collect::<Vec<_>>(), 0)
    }
}

/// The vertices that are used, each once.
struct Rows {
    known: Vec<Option<i64>>,
    used: Vec<usize>,
}

impl Rows {
    fn row(&mut self, vertex: usize) -> i64 {
        *self.known[vertex].get_or_insert_with(|| {
            self.used.push(vertex);
            self.used.len() as i64 - 1
        })
    }
}

/// Minus weight times coordinate of these vertices, for every bone four numbers.
fn skin(model: &Model, vertices: &[usize]) -> Vec<f64> {
    let width = 4 * model.parents.len();
    let mut skin = vec![0.0; vertices.len() * width];
    for (row, &vertex) in skin.chunks_exact_mut(width).zip(vertices) {
        for &(bone, weight) in &model.weights[vertex] {
            for (c, x) in model.vertices[vertex].iter().enumerate() {
                row[4 * bone + c] -= weight * x;
            }
        }
    }
    skin
}

/// The bones that the angles of a finger move: those that have one, and all that hang on them.
fn moved_by(model: &Model, finger: usize) -> Vec<usize> {
    let first = 1 + 4 * finger;
    let mut moved = vec![false; model.parents.len()];
    for bone in 0..moved.len() {
        moved[bone] = (first + 1..first + 4).contains(&bone) || model.parents[bone].is_some_and(|parent| moved[parent]);
    }
    (0..moved.len()).filter(|&bone| moved[bone]).collect()
}

/// A function of the bones, the translation and the places.
type Distances = Box<dyn Fn(&Tensor, &Tensor, &Tensor) -> Result<Tensor, Error> + Send + Sync>;

/// A function of the bones, their derivatives, the translation and the places.
type Columns = Box<dyn Fn(&Tensor, &Tensor, &Tensor, &Tensor) -> Result<Tensor, Error> + Send + Sync>;

/// The bones of a pose, and their derivatives by it.
type Bones<T> = Box<dyn Fn(&[f64; POSE]) -> T + Send + Sync>;

/// The distances and their Jacobian, compiled for a model and its correspondences.
pub struct Compiled {
    bones: Bones<Vec<f64>>,
    by_pose: Bones<Vec<[f64; POSE]>>,
    distances: Distances,
    columns: Columns,
}

impl Compiled {
    /// For a problem, on this many threads.
    pub fn new(data: &Data, threads: usize) -> Self {
        Compiled::with(data, || Compile::new().threads(threads))
    }

    /// For a problem, with these options for both functions.
    pub fn with(data: &Data, compile: impl Fn() -> Compile) -> Self {
        let rig = Rig::new(data);
        let again = rig.clone();
        let distances = compile().function(move |(bones, translation, us): (Tensor, Tensor, Tensor)| {
            rig.distances(&bones, &translation, &us)
        });
        let columns = compile().function(move |(bones, by_pose, translation, us): (Tensor, Tensor, Tensor, Tensor)| {
            again.columns(&bones, &by_pose, &translation, &us)
        });
        let model = data.model.clone();
        let recorded = Arc::new(record([0.5; POSE], move |theta: [Var; POSE]| bones(&theta, &model)));
        let again = recorded.clone();
        Compiled {
            bones: Box::new(move |theta| recorded.value(*theta)),
            by_pose: Box::new(move |theta| again.jacobian(*theta)),
            distances: Box::new(move |bones, translation, us| distances.try_call((bones, translation, us))),
            columns: Box::new(move |bones, by_pose, translation, us| {
                columns.try_call((bones, by_pose, translation, us))
            }),
        }
    }

    /// Observed points minus those of the hand, `[N, 3]`: minus a vertex, or in the complicated case minus a place in a
    /// triangle, `u1 a + u2 b + (1 - u1 - u2) c`.
    ///
    /// # Errors
    /// If that needs more memory than the options allow.
    pub fn objective(&self, theta: &[f64; POSE], us: &Tensor) -> Result<Tensor, Error> {
        (self.distances)(&self.bones(theta), &translation(theta), us)
    }

    /// Their Jacobian column by column, `[columns, N, 3]`: in the complicated case first the derivatives of each point's
    /// distances by its own two places, then those by the pose.
    ///
    /// # Errors
    /// As [`Compiled::objective`].
    pub fn jacobian(&self, theta: &[f64; POSE], us: &Tensor) -> Result<Tensor, Error> {
        let by_pose = (self.by_pose)(theta).into_flattened();
        let rows = by_pose.len() / (3 * POSE);
        let by_pose = Tensor::from_vec(&[rows, 3, POSE], by_pose);
        (self.columns)(&self.bones(theta), &by_pose, &translation(theta), us)
    }

    fn bones(&self, theta: &[f64; POSE]) -> Tensor {
        let bones = (self.bones)(theta);
        Tensor::from_vec(&[bones.len() / 3, 3], bones)
    }
}

fn translation(theta: &[f64; POSE]) -> Tensor {
    Tensor::from_vec(&[3], theta[3..6].to_vec())
}
